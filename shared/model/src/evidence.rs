//! The record that a compaction leaves behind: the JSON of `firn compact` and of the job log.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{GroupId, PlanId, SnapshotId, TableName};

/// How a compaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// At least one snapshot was committed.
    Committed,
    /// The table has no work that pays.
    NothingToDo,
    /// A gate or a safety rule said no; the table is unchanged.
    Refused,
    /// Another writer changed what the plan rests on; the table has none of this plan's work (unless `snapshot_ids` lists commits).
    Conflicted,
    /// A group or the commit failed; the table is unchanged (unless `snapshot_ids` lists commits).
    Failed,
    /// The catalog's answer was lost and history could not settle it; every file is kept.
    Unknown,
}

/// A group that was not committed, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupNote {
    /// The group.
    pub group_id: GroupId,
    /// Its partition tuple.
    pub partition: BTreeMap<String, serde_json::Value>,
    /// Why.
    pub reason: String,
}

/// Groups by what became of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupCounts {
    /// Groups of the plan.
    pub planned: u64,
    /// Groups in a committed snapshot.
    pub committed: u64,
    /// Groups that failed.
    pub failed: Vec<GroupNote>,
    /// Groups that were not tried or not committed for another's sake.
    pub skipped: Vec<GroupNote>,
}

/// Files removed and added by the committed snapshots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCounts {
    /// Removed.
    pub removed: u64,
    /// Added.
    pub added: u64,
}

/// Delete files removed by the committed snapshots (each deletion vector is one).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedFiles {
    /// Removed.
    pub removed: u64,
}

/// Records of the committed snapshots: `added = removed − deleted` (invariant C-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordCounts {
    /// Records of the removed files.
    pub removed: u64,
    /// Records that the applied deletes took out.
    pub deleted: u64,
    /// Records of the added files.
    pub added: u64,
}

/// Bytes of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteCounts {
    /// Read from data and delete files.
    pub read: u64,
    /// Written to data files.
    pub written: u64,
    /// Of those written, copied without decoding.
    pub copied: u64,
}

/// Whether the table is now what the plan promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Sizes, delete files and the fixed point match the plan.
    AsPlanned,
    /// They do not: `reasons` of the evidence say what is off.
    Broken,
}

/// What changed, checked against the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effect {
    /// The judgement.
    pub verdict: Verdict,
    /// Live data files below 0.75 of the target, before.
    pub small_files_before: u64,
    /// The same, after.
    pub small_files_after: u64,
    /// Live delete files, before.
    pub delete_files_before: u64,
    /// The same, after.
    pub delete_files_after: u64,
}

/// The evidence of one compaction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The table.
    pub table: TableName,
    /// The plan, when one was made.
    pub plan_id: Option<PlanId>,
    /// How it ended.
    pub outcome: Outcome,
    /// The snapshot that was planned.
    pub base_snapshot_id: Option<SnapshotId>,
    /// Snapshots committed, oldest first.
    pub snapshot_ids: Vec<SnapshotId>,
    /// Groups.
    pub groups: GroupCounts,
    /// Data files.
    pub data_files: FileCounts,
    /// Delete files.
    pub delete_files: RemovedFiles,
    /// Records.
    pub records: RecordCounts,
    /// Bytes.
    pub bytes: ByteCounts,
    /// Conflicts met, those a retry overcame included.
    pub conflicts: u64,
    /// Commit attempts after the first.
    pub retries: u64,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// CPU time (user + system) in milliseconds.
    pub cpu_ms: u64,
    /// Largest resident set of the process in bytes.
    pub peak_memory_bytes: u64,
    /// Estimated price of the run in US dollars, from the configured rates.
    pub cost_usd: f64,
    /// The effect; `None` unless something was committed.
    pub effect: Option<Effect>,
    /// Everything worth saying, in order.
    pub reasons: Vec<String>,
}
