//! What a table looks like now: the JSON of `firn health`. Never a decision to change anything.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::ids::{SnapshotId, TableName};

/// What Firn would do about a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// There is work that pays, and the table has not opted in.
    Advise,
    /// There is work that pays, and the table has opted in.
    Compact,
    /// Nothing pays.
    Leave,
}

/// One partition's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartitionHealth {
    /// Spec of the tuple.
    pub spec_id: i32,
    /// Partition field name → value.
    pub partition: BTreeMap<String, serde_json::Value>,
    /// Live data files.
    pub data_files: u64,
    /// Of those, below 0.75 of the target.
    pub small_files: u64,
    /// Bytes of the data files.
    pub bytes: u64,
    /// Delete files that apply, summed over the data files' distinct ones.
    pub delete_files: u64,
    /// File-scoped deleted rows over records, between 0 and 1.
    pub delete_ratio: f64,
}

/// One table's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TableHealth {
    /// The table.
    pub table: TableName,
    /// Where its metadata was read.
    pub metadata_location: String,
    /// Head of the branch.
    pub snapshot_id: Option<SnapshotId>,
    /// `format-version`.
    pub format_version: u8,
    /// Live data files.
    pub data_files: u64,
    /// Of those, below 0.75 of the target.
    pub small_files: u64,
    /// Mean data file size in megabytes (10⁶ bytes).
    pub avg_file_mb: f64,
    /// Records before deletes.
    pub records: u64,
    /// Live position delete files.
    pub position_delete_files: u64,
    /// Live equality delete files.
    pub equality_delete_files: u64,
    /// Live deletion vectors.
    pub deletion_vectors: u64,
    /// File-scoped deleted rows over records, between 0 and 1.
    pub delete_ratio: f64,
    /// Groups that a plan with default options would rewrite.
    pub eligible_groups: u64,
    /// Whether the opt-in property is `true`.
    pub opted_in: bool,
    /// What Firn would do.
    pub decision: Decision,
    /// Why.
    pub reasons: Vec<String>,
    /// Every partition, by spec and tuple.
    pub partitions: Vec<PartitionHealth>,
}
