//! A job whose process dies, or whose call fails, at every call of storage and catalog.

use simulation::{Fault, Fuse};

use crate::{
    check,
    job::{Outcome, compact},
    shapes::{self, Given},
};

/// The calls of an undisturbed job, which must commit.
fn calls(given: &Given) -> Vec<String> {
    let given = given.copy();
    let (fuse, before) = (Fuse::whole(), given.world.locations());
    let ran = compact(&given.world.catalog(&fuse), given.options, "job");
    assert!(matches!(ran.outcome, Outcome::Committed(_)), "{}: {:?}", given.name, ran.outcome);
    check::truth(&given, &ran, given.name);
    check::table(&given, &before, given.name);
    assert_eq!(check::orphans(&given, &before).len(), 0, "{}", given.name);
    check::restarts(&given, given.name);
    fuse.calls()
}

/// Whether a call changes the world: a death before one that does not leaves what the death before the last change left,
/// and its lost answer is a failure like any other.
fn has_effect(call: &str) -> bool {
    ["put ", "close ", "delete ", "catalog.commit "].iter().any(|it| call.starts_with(it))
}

/// Most commits of one plan (C-5).
fn commits_max(given: &Given) -> usize {
    if given.name == "v2_two_commits" { 2 } else { 1 }
}

/// A process that dies at any call leaves the table unchanged or committed, and a fresh one finishes the work.
fn dies_anywhere(given: &Given) {
    let mut last = given.world.copy();
    for (number, call) in calls(given).iter().enumerate().filter(|(_, call)| has_effect(call)) {
        let at = format!("{}, death before call {number}: {call}", given.name);
        let given = given.copy();
        let before = given.world.locations();
        let ran = compact(&given.world.catalog(&Fuse::at(number, Fault::Death)), given.options, "job");
        assert!(!matches!(ran.outcome, Outcome::NothingToDo), "{at}");
        last = given.world.copy();
        check::table(&given, &before, &at);
        check::restarts(&given, &at);
        let commits = check::commits(&given);
        assert!(commits.values().all(|it| it.len() <= commits_max(&given)), "{at}: {commits:?} (C-5)");
    }
    assert!(!last.is_like(&given.world), "{}: no death left a trace", given.name);
}

#[test]
fn a_process_that_dies_at_any_call_leaves_a_table_as_it_was_or_committed() {
    for given in [shapes::v1_plain(), shapes::v2_plain(), shapes::v2_dangling(), shapes::v2_two_commits()] {
        dies_anywhere(&given);
    }
}

#[test]
fn a_process_that_dies_at_any_call_leaves_a_table_of_partitions_as_it_was_or_committed() {
    for given in [shapes::v2_partitioned(), shapes::v3_vectors(), shapes::v2_other_spec()] {
        dies_anywhere(&given);
    }
}

/// A call that fails once, in a process that lives on: the job says what became of it, and cleans up after itself.
fn fails_anywhere(given: &Given, fault: fn() -> Fault, kind: &str) {
    let calls = calls(given);
    let is_wanted = |number: &usize| matches!(fault(), Fault::Failure) || has_effect(&calls[*number]);
    for number in (0..calls.len()).filter(is_wanted) {
        let (start, given, fuse) = (&given.world, given.copy(), Fuse::at(number, fault()));
        let before = given.world.locations();
        let ran = compact(&given.world.catalog(&fuse), given.options, "job");
        let call = fuse.calls()[number].clone();
        let at = format!("{}, {kind} at call {number}: {call}", given.name);
        check::truth(&given, &ran, &at);
        if given.world.is_like(start) {
            continue;
        }
        check::table(&given, &before, &at);
        assert!(!matches!(ran.outcome, Outcome::Unknown(_)), "{at}: history tells, but {:?}", ran.outcome);
        // Whoever is told that closing failed cannot know whose file has that name, and must not remove it.
        let mut orphans = check::orphans(&given, &before);
        orphans.retain(|path| call != format!("close {path}") && call != format!("delete {path}"));
        assert!(orphans.is_empty(), "{at}: {:?} left {orphans:?} behind", ran.outcome);
        if call.starts_with("catalog.commit") {
            assert!(matches!(ran.outcome, Outcome::Committed(_)), "{at}: {:?}", ran.outcome);
        }
    }
}

#[test]
fn a_call_that_fails_leaves_no_file_behind_that_no_snapshot_has() {
    for given in shapes::all() {
        fails_anywhere(&given, || Fault::Failure, "failure");
    }
}

#[test]
fn a_call_whose_answer_is_lost_leaves_no_file_behind_that_no_snapshot_has() {
    for given in shapes::all() {
        fails_anywhere(&given, || Fault::LostAnswer, "lost answer");
    }
}
