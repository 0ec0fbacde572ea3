//! The words for each ending.

use std::time::Instant;

use model::{GroupId, GroupNote, SnapshotId};
use serde_json::json;

use super::*;
use crate::evidence::Record;

fn evidence(outcome: Outcome, snapshots: &[i64], failed: usize, skipped: usize) -> Evidence {
    let note = |number: usize| GroupNote {
        group_id: GroupId(format!("g{number}")),
        partition: [("day".to_owned(), json!("2026-11-02"))].into(),
        reason: "file:/w/t/data/x.parquet: the footer is cut off".to_owned(),
    };
    let mut evidence = Record::new("db.orders".parse().unwrap(), Instant::now()).evidence;
    evidence.outcome = outcome;
    evidence.snapshot_ids = snapshots.iter().map(|id| SnapshotId(*id)).collect();
    evidence.groups.planned = 3;
    evidence.groups.committed = 3 - (failed + skipped) as u64;
    evidence.groups.failed = (0..failed).map(note).collect();
    evidence.groups.skipped = (0..skipped).map(note).collect();
    evidence
}

#[test]
fn a_commit_of_some_groups_says_that_it_is_in_part() {
    assert_eq!(verdict(&evidence(Outcome::Committed, &[7], 0, 0)), "Committed as snapshot 7.");
    let sentence = verdict(&evidence(Outcome::Committed, &[7, 8], 1, 1));
    assert!(sentence.starts_with("Committed as snapshots 7, 8, in part"), "{sentence}");
    assert!(sentence.contains("of 3 planned groups 1 are done, 1 failed, 1 were left"), "{sentence}");
}

#[test]
fn a_lost_answer_does_not_hide_what_was_committed_before_it() {
    assert!(verdict(&evidence(Outcome::Unknown, &[7], 0, 1)).starts_with("Committed as snapshot 7"));
    assert!(!verdict(&evidence(Outcome::Unknown, &[], 0, 1)).contains("Committed"));
}

#[test]
fn a_failed_group_names_the_table_the_group_the_file_and_a_remedy() {
    let lines = complaints(&evidence(Outcome::Failed, &[], 1, 2));
    let [what, remedy] = lines.as_slice() else { panic!("{lines:?}") };
    for part in ["db.orders", "g0", "2026-11-02", "file:/w/t/data/x.parquet"] {
        assert!(what.contains(part), "{part} is missing in {what}");
    }
    assert!(remedy.contains("unchanged") && remedy.contains("--where"), "{remedy}");
}

#[test]
fn without_a_failed_group_the_last_reason_is_the_complaint() {
    let mut conflicted = evidence(Outcome::Conflicted, &[], 0, 3);
    conflicted.reasons = vec!["earlier".to_owned(), "an input is gone".to_owned()];
    assert!(complaints(&conflicted).first().unwrap().ends_with("an input is gone"));
}
