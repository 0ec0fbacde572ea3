//! What must hold of a table after any job, however it ended (invariants C-1 … C-8).

use std::collections::{BTreeMap, BTreeSet};

use iceberg::spec::{Operation, Snapshot, SnapshotRef};
use ports::LoadedTable;
use simulation::{Content, Reading, Row, read};

use crate::{
    job::{Outcome, Ran, compact},
    shapes::Given,
};

/// The property that names the plan of a snapshot.
const PLAN_ID: &str = "firn.plan-id";

/// Checks the table and returns the reading of its head.
pub(crate) fn table(given: &Given, before: &BTreeSet<String>, at: &str) -> Reading {
    let now = given.world.locations();
    let gone: Vec<_> = before.difference(&now).collect();
    assert!(gone.is_empty(), "{at}: deleted: {gone:?}");
    let table = given.writer.table();
    let head = head(&table);
    let reading = read(&table, head.snapshot_id());
    same_rows(&reading.rows, &given.writer.expected(), at);
    for snapshot in table.metadata.snapshots().filter(|it| plan_id(it).is_some()) {
        let parent = snapshot.parent_snapshot_id().filter(|id| table.metadata.snapshot_by_id(*id).is_some());
        if let Some(parent) = parent {
            let own = (*snapshot.as_ref() != head).then(|| read(&table, snapshot.snapshot_id()));
            replaced(snapshot, &read(&table, parent), own.as_ref().unwrap_or(&reading), at);
        }
    }
    reading
}

/// C-1 and, where rows have a lineage, C-7.
pub(crate) fn same_rows(found: &[Row], expected: &[Row], at: &str) {
    let count = |rows: &[Row]| {
        let mut counts: BTreeMap<Row, i32> = BTreeMap::new();
        rows.iter().for_each(|row| *counts.entry(row.clone()).or_default() += 1);
        counts
    };
    let (found, expected) = (count(found), count(expected));
    let lost: Vec<_> = expected.iter().filter(|(row, n)| found.get(row) != Some(n)).collect();
    let new: Vec<_> = found.iter().filter(|(row, n)| expected.get(row) != Some(n)).collect();
    assert!(lost.is_empty() && new.is_empty(), "{at}: lost {lost:?}, gained {new:?}");
}

/// Firn's snapshot against its parent: the operation, the rows, and a summary that is true (rule D.7).
pub(crate) fn replaced(snapshot: &Snapshot, before: &Reading, after: &Reading, at: &str) {
    assert_eq!(snapshot.summary().operation, Operation::Replace, "{at}");
    same_rows(&after.rows, &before.rows, at);
    let said = &snapshot.summary().additional_properties;
    let said = |name: &str| said.get(name).map_or(0, |value| value.parse::<u64>().unwrap());
    for (name, value) in counted(before, after) {
        assert_eq!(said(name), value, "{at}: {name} of snapshot {}", snapshot.snapshot_id());
    }
}

/// What a summary must say (Iceberg spec, "Optional Snapshot Summary Fields").
fn counted(before: &Reading, after: &Reading) -> Vec<(&'static str, u64)> {
    let only = |these: &Reading, those: &Reading, wanted: Content| {
        let known: BTreeSet<&str> = those.of(wanted).map(|it| it.path.as_str()).collect();
        let fresh: Vec<_> = these.of(wanted).filter(|it| !known.contains(it.path.as_str())).cloned().collect();
        (fresh.len() as u64, fresh.iter().map(|it| it.records).sum::<u64>())
    };
    let total = |wanted: Content| (after.of(wanted).count() as u64, after.of(wanted).map(|it| it.records).sum::<u64>());
    let (added, removed) = (only(after, before, Content::Data), only(before, after, Content::Data));
    let positions = only(before, after, Content::Positions);
    let vectors = only(before, after, Content::Vector);
    let keys = only(before, after, Content::Keys);
    vec![
        ("added-data-files", added.0),
        ("added-records", added.1),
        ("deleted-data-files", removed.0),
        ("deleted-records", removed.1),
        ("removed-position-delete-files", positions.0),
        ("removed-position-deletes", positions.1 + vectors.1),
        ("removed-equality-delete-files", keys.0),
        ("removed-equality-deletes", keys.1),
        ("removed-dvs", vectors.0),
        ("removed-delete-files", positions.0 + vectors.0 + keys.0),
        ("total-data-files", total(Content::Data).0),
        ("total-records", total(Content::Data).1),
        ("total-delete-files", total(Content::Positions).0 + total(Content::Vector).0 + total(Content::Keys).0),
        ("total-position-deletes", total(Content::Positions).1 + total(Content::Vector).1),
        ("total-equality-deletes", total(Content::Keys).1),
        ("total-files-size", after.entries.iter().map(|it| it.size_bytes).sum()),
    ]
}

/// The table's current snapshot.
pub(crate) fn head(table: &LoadedTable) -> Snapshot {
    table.metadata.current_snapshot().unwrap().as_ref().clone()
}

pub(crate) fn plan_id(snapshot: &Snapshot) -> Option<&String> {
    snapshot.summary().additional_properties.get(PLAN_ID)
}

/// Firn's snapshots in the table's metadata, by plan.
pub(crate) fn commits(given: &Given) -> BTreeMap<String, Vec<i64>> {
    let mut found: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    for snapshot in given.writer.table().metadata.snapshots() {
        if let Some(plan) = plan_id(snapshot) {
            found.entry(plan.clone()).or_default().push(snapshot.snapshot_id());
        }
    }
    found
}

/// What a job said is what happened: its snapshots are there, or none is.
pub(crate) fn truth(given: &Given, ran: &Ran, at: &str) {
    let table = given.writer.table();
    // Every attempt names its manifest lists after itself.
    let is_own = |snapshot: &&SnapshotRef| snapshot.manifest_list().contains(&format!("-{}-", ran.attempt_id));
    let own: BTreeSet<i64> = table.metadata.snapshots().filter(is_own).map(|it| it.snapshot_id()).collect();
    let has_batches = ran.plan.as_ref().is_some_and(|plan| plan.options.partial_progress_enabled);
    let has_outputs = ran.plan.as_ref().is_some_and(|plan| !plan.groups.is_empty());
    match &ran.outcome {
        // Without outputs nothing tells one run of a plan from another: both did it.
        Outcome::Committed(snapshots) if !has_outputs => {
            assert!(snapshots.iter().all(|id| table.metadata.snapshot_by_id(*id).is_some()), "{at}: {snapshots:?}");
        }
        Outcome::Committed(snapshots) => assert_eq!(own, snapshots.iter().copied().collect(), "{at}"),
        Outcome::NothingToDo => assert!(own.is_empty(), "{at}: {own:?}"),
        // Of several commits some may have come first.
        Outcome::Conflicted(_) | Outcome::Failed(_) if has_batches => {}
        Outcome::Conflicted(reason) | Outcome::Failed(reason) => {
            assert!(own.is_empty(), "{at}: said {reason}, and committed");
        }
        Outcome::Unknown(_) => {}
    }
}

/// Files that Firn made and no snapshot needs.
pub(crate) fn orphans(given: &Given, before: &BTreeSet<String>) -> BTreeSet<String> {
    let table = given.writer.table();
    // Older snapshots need older files.
    let fresh = table.metadata.snapshots().filter(|it| !before.contains(it.manifest_list()));
    let snapshots = fresh.map(|it| read(&table, it.snapshot_id()).needed);
    let needed: BTreeSet<String> = snapshots.flatten().collect();
    // Other writers' files start with a w, which no hash of Firn's does.
    let is_firns = |path: &String| !path.ends_with(".metadata.json") && !path.contains("/w");
    let is_new = |path: &String| !before.contains(path) && is_firns(path);
    given.world.locations().into_iter().filter(is_new).filter(|path| !needed.contains(path)).collect()
}

/// A fresh job after whatever happened ends in one commit or has nothing to do; one more has nothing to do (C-8).
pub(crate) fn restarts(given: &Given, at: &str) {
    let catalog = given.world.catalog(&simulation::Fuse::whole());
    for turn in ["restart", "replan"] {
        let before = given.world.copy();
        let ran = compact(&catalog, given.options, turn);
        let at = format!("{at}, {turn}");
        truth(given, &ran, &at);
        if !given.world.is_like(&before) {
            table(given, &before.locations(), &at);
        }
        let settled = matches!(ran.outcome, Outcome::NothingToDo);
        let committed = matches!(ran.outcome, Outcome::Committed(_)) && turn == "restart";
        assert!(settled || committed, "{at}: {:?}", ran.outcome);
    }
}
