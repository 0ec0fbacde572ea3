//! Commits whose answer is lost, races for the head, and how often either is tried (rewrite rules D.8, invariant C-5).

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use ports::CommitOutcome;
use simulation::{Fault, Fuse, Writer, rows};

use crate::{
    check,
    job::{Outcome, Ran, compact, table_name},
    shapes::{self, Given},
};

const COMMIT: &str = "catalog.commit";

/// A job that met faults, and its table.
struct Met {
    given: Given,
    ran: Ran,
    before: BTreeSet<String>,
}

impl Met {
    /// The table is whole, holds what it must, and no file is left behind.
    fn is_whole(&self) {
        check::truth(&self.given, &self.ran, "at the end");
        check::table(&self.given, &self.before, "at the end");
        let orphans = check::orphans(&self.given, &self.before);
        assert!(orphans.is_empty(), "{:?} left {orphans:?} behind", self.ran.outcome);
        assert_eq!(self.ran.warnings, Vec::<String>::new());
        check::restarts(&self.given, "after it");
    }

    fn requests(&self) -> usize {
        // Writers' own commits go to the same catalog.
        let ours = |it: &simulation::Request| format!("{:?}", it.updates).contains("firn.plan-id");
        self.given.world.requests().iter().filter(|it| ours(it)).count()
    }

    fn commits(&self) -> usize {
        check::commits(&self.given).values().map(Vec::len).sum()
    }
}

type Action = Box<dyn FnOnce(&mut Writer) + Send>;

/// Something that breaks, or somebody who acts.
enum Event {
    Breaks(Fault),
    Acts(Action),
}

/// Runs the job on `given` with events at calls of these operations.
fn meets(given: &Given, events: Vec<(&'static str, usize, Event)>) -> Met {
    let given = given.copy();
    let before = given.world.locations();
    let writer = Arc::new(Mutex::new(given.writer.clone()));
    let fault = |event: Event| match event {
        Event::Breaks(fault) => fault,
        Event::Acts(action) => {
            let writer = Arc::clone(&writer);
            Fault::Interruption(Box::new(move || action(&mut writer.lock().unwrap())))
        }
    };
    let faults = events.into_iter().map(|(name, at, event)| (name, at, fault(event))).collect();
    let ran = compact(&given.world.catalog(&Fuse::at_operations(faults)), given.options, "job");
    let writer = writer.lock().unwrap().clone();
    Met { given: Given { writer, ..given }, ran, before }
}

fn acts(action: impl FnOnce(&mut Writer) + Send + 'static) -> Event {
    Event::Acts(Box::new(action))
}

fn appends(start: i64) -> Event {
    acts(move |writer| assert!(writer.append(&[rows(start..start + 5, "a")])))
}

#[test]
fn a_lost_answer_is_settled_by_looking_and_committed_once() {
    let met = meets(&shapes::v2_plain(), vec![(COMMIT, 0, Event::Breaks(Fault::LostAnswer))]);
    assert!(matches!(met.ran.outcome, Outcome::Committed(_)), "{:?}", met.ran.outcome);
    assert_eq!((met.requests(), met.commits()), (1, 1));
    met.is_whole();
}

#[test]
fn a_lost_answer_is_settled_after_another_writer_went_on_from_it() {
    // Loads: to plan, to commit, to look.
    let events = vec![(COMMIT, 0, Event::Breaks(Fault::LostAnswer)), ("catalog.load_table", 2, appends(100))];
    let met = meets(&shapes::v2_plain(), events);
    assert!(matches!(met.ran.outcome, Outcome::Committed(_)), "{:?}", met.ran.outcome);
    assert_eq!((met.requests(), met.commits()), (1, 1));
    met.is_whole();
}

#[test]
fn a_lost_request_is_sent_again_and_committed_once() {
    let met = meets(&shapes::v2_plain(), vec![(COMMIT, 0, Event::Breaks(Fault::LostRequest))]);
    assert!(matches!(met.ran.outcome, Outcome::Committed(_)), "{:?}", met.ran.outcome);
    assert_eq!((met.requests(), met.commits()), (2, 1));
    met.is_whole();
}

#[test]
fn a_lost_request_whose_head_has_moved_is_dead_and_its_files_go() {
    let events = vec![(COMMIT, 0, Event::Breaks(Fault::LostRequest)), ("catalog.load_table", 2, appends(100))];
    let met = meets(&shapes::v2_plain(), events);
    assert!(matches!(met.ran.outcome, Outcome::Committed(_)), "{:?}", met.ran.outcome);
    assert_eq!((met.requests(), met.commits()), (2, 1));
    met.is_whole();
}

#[test]
fn a_request_that_arrives_late_wins_or_loses_but_never_twice() {
    let given = shapes::v2_plain();
    let world = given.copy().world;
    let given = Given { writer: given.writer.moved_to(&world), world: world.clone(), ..given };
    // The world is the job's own, so that its first request can be delivered just before the second.
    let late = Fault::Interruption(Box::new(move || {
        let request = world.requests().pop().unwrap();
        let outcome = world.catalog(&Fuse::whole()).apply(request).unwrap();
        assert!(matches!(outcome, CommitOutcome::Committed { .. }));
    }));
    let before = given.world.locations();
    let fuse = Fuse::at_operations(vec![(COMMIT, 0, Fault::LostRequest), (COMMIT, 1, late)]);
    let ran = compact(&given.world.catalog(&fuse), given.options, "job");
    assert!(fuse.has_blown());
    assert!(matches!(ran.outcome, Outcome::Committed(_)), "{:?}", ran.outcome);
    let met = Met { given, ran, before };
    assert_eq!((met.requests(), met.commits()), (2, 1));
    met.is_whole();
}

#[test]
fn requests_that_are_all_lost_leave_the_outcome_unknown_and_every_file_in_place() {
    let lost = (0..5).map(|number| (COMMIT, number, Event::Breaks(Fault::LostRequest))).collect();
    let met = meets(&shapes::v2_plain(), lost);
    assert!(matches!(met.ran.outcome, Outcome::Unknown(_)), "{:?}", met.ran.outcome);
    assert_eq!((met.requests(), met.commits()), (5, 0));
    // Any of them may still arrive: whichever does finds its files.
    for request in met.given.world.requests().into_iter().rev().take(5) {
        let given = met.given.copy();
        let outcome = given.world.catalog(&Fuse::whole()).apply(request).unwrap();
        assert!(matches!(outcome, CommitOutcome::Committed { .. }), "{outcome:?}");
        check::table(&given, &met.before, "a late request");
    }
}

#[test]
fn a_lost_answer_whose_snapshot_has_expired_is_unknown_and_every_file_stays() {
    for given in [shapes::v2_plain(), shapes::v3_vectors()] {
        let expires = acts(|writer| {
            assert!(writer.append(&[rows(100..105, "a")]));
            assert!(writer.expire());
        });
        let events = vec![(COMMIT, 0, Event::Breaks(Fault::LostAnswer)), ("catalog.load_table", 2, expires)];
        let met = meets(&given, events);
        check::table(&met.given, &met.before, given.name);
        assert!(matches!(met.ran.outcome, Outcome::Unknown(_)), "{:?}", met.ran.outcome);
        check::restarts(&met.given, given.name);
    }
}

#[test]
fn a_lost_answer_and_then_a_vanished_table_is_unknown_and_every_file_stays() {
    let given = shapes::v2_plain().copy();
    let world = given.world.clone();
    let vanishes = Fault::Interruption(Box::new(move || world.drop_table(&table_name())));
    let fuse = Fuse::at_operations(vec![(COMMIT, 0, Fault::LostAnswer), ("catalog.load_table", 2, vanishes)]);
    let ran = compact(&given.world.catalog(&fuse), given.options, "job");
    assert!(matches!(ran.outcome, Outcome::Unknown(_)), "{:?}", ran.outcome);
    assert!(!fuse.calls().iter().any(|call| call.starts_with("delete")), "a file was removed");
}

#[test]
fn races_for_the_head_are_lost_a_bounded_number_of_times() {
    // `commit.retry.num-retries` is 4 by default: five attempts.
    let races = (0..5).map(|number| (COMMIT, number, appends(100 + 10 * i64::try_from(number).unwrap()))).collect();
    let met = meets(&shapes::v2_plain(), races);
    assert!(met.ran.outcome.conflict().contains("5 attempts"), "{:?}", met.ran.outcome);
    assert_eq!((met.requests(), met.commits(), met.ran.retries), (5, 0, 4));
    met.is_whole();
}

#[test]
fn a_race_that_brings_a_position_delete_is_told_from_one_that_brings_rows() {
    let delete = acts(|writer| {
        let input = writer.data_files()[0].clone();
        assert!(writer.delete_positions(&input, &[7], true));
    });
    let met = meets(&shapes::v2_plain(), vec![(COMMIT, 0, appends(100)), (COMMIT, 1, delete)]);
    assert!(met.ran.outcome.conflict().contains("apply to input"), "{:?}", met.ran.outcome);
    assert_eq!((met.requests(), met.commits()), (2, 0));
    met.is_whole();
}

#[test]
fn a_catalog_that_cannot_be_reached_is_asked_a_bounded_number_of_times() {
    let failures = (0..5).map(|number| (COMMIT, number, Event::Breaks(Fault::Failure))).collect();
    let met = meets(&shapes::v2_plain(), failures);
    assert!(matches!(&met.ran.outcome, Outcome::Failed(reason) if reason.contains("catalog")), "{:?}", met.ran.outcome);
    assert_eq!((met.requests(), met.commits()), (0, 0));
    met.is_whole();
}
