//! A plan: an immutable value that leaves its executor no choice to make.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    ids::{GroupId, PlanId, SnapshotId, TableName},
    options::CompactionOptions,
};

/// Version of the planning rules; part of every plan id.
pub const PLANNER_VERSION: u32 = 1;

/// Files of one partition that are rewritten together: the unit of resource and of failure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Hash of the inputs.
    pub group_id: GroupId,
    /// Partition tuple of the inputs, by partition field name.
    pub partition: BTreeMap<String, serde_json::Value>,
    /// Spec of the inputs.
    pub spec_id: i32,
    /// Locations of the inputs, in the order in which their rows are written.
    pub data_files: Vec<Arc<str>>,
    /// Distinct delete files that apply to the inputs. Equality deletes that many files share are counted per group.
    pub delete_files: u32,
    /// Bytes of the inputs.
    pub input_bytes: u64,
    /// Records of the inputs before deletes.
    pub input_records: u64,
    /// Bytes that the outputs should have: the inputs' bytes by the output/input ratio that the table's rewrites showed.
    pub expected_output_bytes: u64,
    /// Output files expected for a group of one output partition (rewrite rules B.5).
    pub expected_output_files: u64,
    /// Why the group is worth rewriting.
    pub reason: String,
}

/// A file that the plan leaves alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// Its location.
    pub path: Arc<str>,
    /// Why.
    pub reason: String,
}

/// What one compaction will do, and against which state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Hash of table uuid, base snapshot, options, planner version and inputs.
    pub plan_id: PlanId,
    /// The table.
    pub table: TableName,
    /// Its uuid: a table replaced under the same name is another table.
    pub table_uuid: String,
    /// The snapshot that was planned; `None` when the branch has none.
    pub base_snapshot_id: Option<SnapshotId>,
    /// Its sequence number: the data sequence number of every output (rewrite rules D.2).
    pub base_sequence_number: i64,
    /// The branch that is rewritten.
    pub branch: String,
    /// How rows are arranged, as the command line spells it.
    pub strategy: String,
    /// Spec of the outputs.
    pub output_spec_id: i32,
    /// Schema of the outputs.
    pub schema_id: i32,
    /// [`PLANNER_VERSION`] of the planner that made it.
    pub planner_version: u32,
    /// Every option, defaults resolved.
    pub options: CompactionOptions,
    /// What to rewrite, in the order to run it.
    pub groups: Vec<Group>,
    /// Every live data file that no group takes, with the reason.
    pub skipped: Vec<Skipped>,
    /// Findings about the table as a whole (nothing to do and why, live dangling deletes, …).
    pub reasons: Vec<String>,
    /// Dangling delete files that a commit should remove even when no group is planned.
    pub dangling_delete_files: u64,
}
