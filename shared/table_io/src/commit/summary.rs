//! The snapshot summary (Iceberg spec, Appendix F; rewrite rules D.7).

use std::collections::{BTreeSet, HashMap};

use model::total;

use super::{Change, Replaced, Rewrite};
use crate::scan::{LiveDataFile, LiveDeleteFile, LiveDeletes};

/// The summary property that names the plan.
pub(crate) const PLAN_ID: &str = "firn.plan-id";

pub(super) fn summary(rewrite: &Rewrite, change: &Change) -> HashMap<String, String> {
    let mut counts = Counts::default();
    let (added, removed) = (Totals::of(&change.added, &[]), Totals::of(&change.removed, &change.dead));
    counts.nonzero("added-data-files", added.data_files);
    counts.nonzero("deleted-data-files", removed.data_files);
    counts.nonzero("added-records", added.records);
    counts.nonzero("deleted-records", removed.records);
    counts.nonzero("added-files-size", added.bytes);
    counts.nonzero("removed-files-size", removed.bytes);
    counts.nonzero("removed-delete-files", removed.delete_files());
    counts.nonzero("removed-position-delete-files", removed.position_files);
    counts.nonzero("removed-position-deletes", removed.position_deletes);
    counts.nonzero("removed-equality-delete-files", removed.equality_files);
    counts.nonzero("removed-equality-deletes", removed.equality_deletes);
    counts.nonzero("removed-dvs", removed.vectors);
    let changed: BTreeSet<String> =
        change.added.iter().chain(&change.removed).map(|file| file.partition.key()).collect();
    counts.set("changed-partition-count", changed.len() as u64);
    counts.totals(change, added, removed);
    let mut summary = counts.0;
    summary.extend(rewrite.summary.clone());
    summary.insert(PLAN_ID.to_owned(), rewrite.plan_id.clone());
    summary
}

/// The numbers of a commit, as its own summary has them: absent means none.
pub(super) fn replaced(summary: &HashMap<String, String>) -> Replaced {
    let count = |name| summary.get(name).and_then(|it| it.parse().ok()).unwrap_or(0);
    Replaced {
        delete_files: count("removed-delete-files"),
        removed_records: count("deleted-records"),
        added_records: count("added-records"),
    }
}

#[derive(Default)]
struct Counts(HashMap<String, String>);

impl Counts {
    fn set(&mut self, name: &str, value: u64) {
        self.0.insert(name.to_owned(), value.to_string());
    }

    fn nonzero(&mut self, name: &str, value: u64) {
        if value > 0 {
            self.set(name, value);
        }
    }

    /// Totals go on from the parent's; where it has none, they are counted.
    fn totals(&mut self, change: &Change, added: Totals, removed: Totals) {
        let live = Totals::of(&change.live.data, &change.live.deletes);
        let parent = &change.head.summary().additional_properties;
        let fields = added.named().into_iter().zip(removed.named()).zip(live.named());
        for (((name, added), (_, removed)), (_, counted)) in fields {
            let before = parent.get(name).and_then(|it| it.parse().ok()).unwrap_or(counted);
            self.set(name, before.saturating_add(added).saturating_sub(removed));
        }
    }
}

#[derive(Clone, Copy, Default)]
struct Totals {
    data_files: u64,
    records: u64,
    bytes: u64,
    position_files: u64,
    position_deletes: u64,
    equality_files: u64,
    equality_deletes: u64,
    vectors: u64,
}

impl Totals {
    fn of(data: &[std::sync::Arc<LiveDataFile>], deletes: &[std::sync::Arc<LiveDeleteFile>]) -> Self {
        let mut totals = Self::default();
        for file in data {
            totals.data_files += 1;
            totals.records = total([totals.records, file.records]);
            totals.bytes = total([totals.bytes, file.size_bytes]);
        }
        for file in deletes {
            match file.deletes {
                LiveDeletes::Position { .. } => {
                    totals.position_files += 1;
                    totals.position_deletes = total([totals.position_deletes, file.records]);
                    totals.bytes = total([totals.bytes, file.size_bytes]);
                }
                // A Puffin file is shared: only the vector's own bytes count.
                LiveDeletes::DeletionVector { size, .. } => {
                    totals.vectors += 1;
                    totals.position_deletes = total([totals.position_deletes, file.records]);
                    totals.bytes = total([totals.bytes, size]);
                }
                LiveDeletes::Equality { .. } => {
                    totals.equality_files += 1;
                    totals.equality_deletes = total([totals.equality_deletes, file.records]);
                    totals.bytes = total([totals.bytes, file.size_bytes]);
                }
            }
        }
        totals
    }

    /// By the names of the summary.
    fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("total-data-files", self.data_files),
            ("total-delete-files", self.delete_files()),
            ("total-records", self.records),
            ("total-files-size", self.bytes),
            ("total-position-deletes", self.position_deletes),
            ("total-equality-deletes", self.equality_deletes),
        ]
    }

    fn delete_files(&self) -> u64 {
        self.position_files + self.equality_files + self.vectors
    }
}
