//! Another writer between any two steps of a job (rewrite rules D.2, D.3, D.9).
//!
//! Files never change, so all that a writer can do to a job goes through the catalog: it acts after the job has loaded the
//! table to plan, after it has rewritten, or between its last look at the table and its commit.

use std::sync::{Arc, Mutex};

use committer::Ending;
use simulation::{Content, Fault, Fuse, Shape, World, Writer, rows};

use crate::{
    check,
    job::{Outcome, Ran, committed_twice, compact, run, table_name},
    shapes::{self, Given},
};

/// When the other writer acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Planned,
    Rewritten,
    Swap,
}

const MOMENTS: [Moment; 3] = [Moment::Planned, Moment::Rewritten, Moment::Swap];

/// A job during which somebody acts.
struct Met {
    given: Given,
    ran: Ran,
    at: String,
}

type Action = fn(&mut Writer, &World);

/// Runs the job on `given` with `action` at `moment`; checks what must hold however it ends, and that the next job is right.
fn meets(given: &Given, moment: Moment, action: Action) -> Met {
    let (given, before) = (given.copy(), given.world.locations());
    let at = format!("{}, {moment:?}", given.name);
    let writer = Arc::new(Mutex::new(given.writer.clone()));
    let act = || {
        let (writer, world) = (Arc::clone(&writer), given.world.clone());
        move || action(&mut writer.lock().unwrap(), &world)
    };
    let fuse = match moment {
        Moment::Swap => Fuse::at_operations(vec![("catalog.commit", 0, Fault::Interruption(Box::new(act())))]),
        _ => Fuse::whole(),
    };
    let hook = |wanted: Moment| {
        let action = (moment == wanted).then(act);
        // On a thread of its own, as everybody else's work is.
        move || action.into_iter().for_each(|action| std::thread::spawn(action).join().unwrap())
    };
    let catalog = given.world.catalog(&fuse);
    let ran = run(&catalog, given.options, "job", hook(Moment::Planned), hook(Moment::Rewritten));
    assert!(fuse.has_blown(), "{at}: nobody acted");
    let given = Given { writer: writer.lock().unwrap().clone(), ..given };
    if given.world.has_table(&table_name()) {
        check::truth(&given, &ran, &at);
        check::table(&given, &before, &at);
        let orphans = check::orphans(&given, &before);
        assert!(orphans.is_empty(), "{at}: {:?} left {orphans:?} behind", ran.outcome);
        check::restarts(&given, &at);
    }
    Met { given, ran, at }
}

/// The job commits; after a race for the head it has tried again.
fn commits(given: &Given, moves_head: bool, action: Action) {
    for moment in MOMENTS {
        let Met { ran, at, .. } = meets(given, moment, action);
        assert!(matches!(ran.outcome, Outcome::Committed(_)), "{at}: {:?}", ran.outcome);
        assert_eq!(ran.retries, u64::from(moves_head && moment == Moment::Swap), "{at}");
    }
}

/// The job ends in a conflict whose reason says `cause`, and leaves no commit.
fn conflicts(given: &Given, cause: &str, action: Action) {
    for moment in MOMENTS {
        let Met { ran, at, .. } = meets(given, moment, action);
        assert!(ran.outcome.conflict().contains(cause), "{at}: {:?}", ran.outcome);
    }
}

#[test]
fn an_append_does_not_stop_a_rewrite() {
    for given in [shapes::v1_plain(), shapes::v2_plain(), shapes::v3_vectors()] {
        commits(&given, true, |writer, _| assert!(writer.append(&[rows(100..105, "a")])));
    }
}

#[test]
fn a_new_equality_delete_does_not_stop_a_rewrite_and_applies_to_its_outputs() {
    for given in [shapes::v2_plain(), shapes::v3_vectors()] {
        commits(&given, true, |writer, _| assert!(writer.delete_keys(&[6, 24], "a")));
    }
}

#[test]
fn a_new_position_delete_on_an_input_is_a_conflict() {
    for given in [shapes::v2_plain(), shapes::v2_partitioned()] {
        conflicts(&given, "apply to input", |writer, _| {
            let input = writer.data_files()[0].clone();
            assert!(writer.delete_positions(&input, &[7], false));
        });
        conflicts(&given, "apply to input", |writer, _| {
            let input = writer.data_files()[1].clone();
            assert!(writer.delete_positions(&input, &[7], true));
        });
    }
}

#[test]
fn a_new_deletion_vector_on_an_input_is_a_conflict() {
    // One that had a vector, and one that had none.
    conflicts(&shapes::v3_vectors(), "apply to input", |writer, _| {
        let input = writer.data_files()[0].clone();
        assert!(writer.delete_vector(&input, &[7]));
    });
    conflicts(&shapes::v3_vectors(), "apply to input", |writer, _| {
        let input = writer.data_files()[1].clone();
        assert!(writer.delete_vector(&input, &[7]));
    });
}

#[test]
fn an_input_that_another_writer_overwrites_is_a_conflict() {
    for given in [shapes::v1_plain(), shapes::v2_plain(), shapes::v2_partitioned()] {
        conflicts(&given, "is no longer live", |writer, _| {
            let input = writer.data_files()[0].clone();
            assert!(writer.overwrite(&input, &rows(200..203, "a")));
        });
    }
}

#[test]
fn an_input_that_another_compaction_replaces_is_a_conflict() {
    for given in [shapes::v1_plain(), shapes::v2_plain(), shapes::v3_vectors(), shapes::v2_other_spec()] {
        conflicts(&given, "is no longer live", |_, world| {
            let options = [("min-input-files", "2"), ("delete-file-threshold", "1")];
            let ran = compact(&world.catalog(&Fuse::whole()), &options, "other");
            assert!(matches!(ran.outcome, Outcome::Committed(_)));
        });
    }
}

#[test]
fn the_same_plan_twice_at_once_is_committed_once() {
    for given in shapes::all() {
        for moment in MOMENTS {
            let options = given.options;
            let Met { given, ran, at } = meets_itself(&given, moment, options);
            if given.name == "v2_dangling" {
                assert!(matches!(ran.outcome, Outcome::Committed(_)), "{at}: {:?}", ran.outcome);
            } else {
                assert!(ran.outcome.conflict().contains("another run of it"), "{at}: {:?}", ran.outcome);
            }
            let most = if given.name == "v2_two_commits" { 2 } else { 1 };
            assert!(check::commits(&given).values().all(|it| it.len() == most), "{at} (C-5)");
        }
    }
}

#[test]
fn the_same_groups_delivered_again_are_the_same_commit_and_lose_nothing() {
    for given in shapes::all() {
        let before = given.world.locations();
        let (first, again) = committed_twice(&given.world.catalog(&Fuse::whole()), given.options);
        assert!(matches!(first, Ending::Committed(_)), "{}: {first:?}", given.name);
        assert_eq!(first, again, "{}", given.name);
        check::table(&given, &before, given.name);
        assert!(check::orphans(&given, &before).is_empty(), "{}", given.name);
    }
}

/// The job's twin runs to its end at `moment`.
fn meets_itself(given: &Given, moment: Moment, options: &'static [(&'static str, &'static str)]) -> Met {
    let twin: Action = if options.len() == 1 {
        |_, world| {
            let _ = compact(&world.catalog(&Fuse::whole()), shapes::v2_plain().options, "twin");
        }
    } else {
        |_, world| {
            let _ = compact(&world.catalog(&Fuse::whole()), shapes::v2_two_commits().options, "twin");
        }
    };
    meets(given, moment, twin)
}

#[test]
fn a_schema_change_does_not_stop_a_rewrite() {
    for given in [shapes::v1_plain(), shapes::v2_plain(), shapes::v3_vectors()] {
        commits(&given, false, |writer, _| assert!(writer.add_column("note")));
    }
}

#[test]
fn a_spec_change_does_not_stop_a_rewrite_into_the_planned_spec() {
    for given in [shapes::v2_plain(), shapes::v2_partitioned(), shapes::v3_vectors()] {
        let is_partitioned = given.name != "v2_plain";
        let change: Action = if is_partitioned {
            |writer, _| assert!(writer.change_spec(false))
        } else {
            |writer, _| assert!(writer.change_spec(true))
        };
        commits(&given, false, change);
    }
}

#[test]
fn a_base_snapshot_that_expired_is_a_conflict_and_never_taken_for_clean() {
    for given in [shapes::v1_plain(), shapes::v2_plain(), shapes::v3_vectors()] {
        conflicts(&given, "expired or rolled back", |writer, _| {
            assert!(writer.append(&[rows(100..105, "a")]));
            assert!(writer.expire());
        });
    }
}

#[test]
fn a_branch_that_was_rolled_back_is_a_conflict() {
    for given in [shapes::v1_plain(), shapes::v2_plain(), shapes::v3_vectors()] {
        conflicts(&given, "expired or rolled back", |writer, _| assert!(writer.roll_back()));
    }
}

#[test]
fn a_table_that_vanished_is_a_conflict_and_keeps_its_files() {
    for given in [shapes::v1_plain(), shapes::v2_plain(), shapes::v3_vectors()] {
        for moment in MOMENTS {
            let before = given.world.locations();
            let met = meets(&given, moment, |_, world| world.drop_table(&table_name()));
            let reason = met.ran.outcome.conflict();
            assert!(reason.contains("does not exist any more"), "{}: {reason}", met.at);
            // Without the table nothing says where its files are: each output that stays is named.
            let now = met.given.world.locations();
            assert!(now.is_superset(&before), "{}", met.at);
            let unnamed = |path: &&String| !met.ran.warnings.iter().any(|warning| warning.contains(path.as_str()));
            assert_eq!(now.difference(&before).find(unnamed), None, "{}", met.at);
        }
    }
}

#[test]
fn a_table_that_was_replaced_under_its_name_is_a_conflict_and_untouched() {
    conflicts(&shapes::v2_plain(), "was replaced", |writer, world| {
        let shape = Shape { version: 2, is_partitioned: false, properties: &[] };
        *writer = Writer::create(world, &table_name(), &shape, "0198f2a0-0000-7000-8000-000000000001");
        assert!(writer.append(&[rows(0..5, "a")]));
    });
}

#[test]
fn dead_deletes_leave_with_the_files_they_applied_to_and_live_ones_stay() {
    let Met { given, .. } = meets(&shapes::v2_plain(), Moment::Rewritten, |writer, _| {
        assert!(writer.delete_keys(&[6, 24], "a"));
    });
    let table = given.writer.table();
    let ours = check::commits(&given).into_values().flatten().next().unwrap();
    let reading = simulation::read(&table, ours);
    // The one that arrived during the rewrite: the outputs are as old as the planned snapshot.
    let ids: Vec<_> = reading.of(Content::Keys).map(|entry| entry.records).collect();
    assert_eq!(ids, [2]);
    assert_eq!(reading.of(Content::Positions).count(), 0);
}

#[test]
fn a_delete_in_the_output_spec_during_a_fan_out_must_not_reach_rows_it_never_applied_to() {
    // In the new spec's partition a there is one file; rows 0 to 4 are in a file of the old spec, which the delete spares.
    let given = shapes::v2_other_spec();
    for moment in MOMENTS {
        let met = meets(&given, moment, |writer, _| assert!(writer.delete_keys(&[1, 31], "a")));
        let rows = met.given.writer.expected();
        assert!(rows.iter().any(|row| row.id == 1) && !rows.iter().any(|row| row.id == 31), "{}", met.at);
    }
}
