//! The vocabulary every other crate speaks: tables, files, policy, plan, group, evidence.
//!
//! Pure: no I/O, no clock, no randomness, no logging. Everything here is plain data that serialises to the JSON of the
//! command line; the words are those of the Iceberg table spec and of Spark's `rewrite_data_files` procedure.

mod evidence;
mod files;
mod health;
mod ids;
mod near_names;
mod options;
mod parse_options;
mod plan;
mod total;

pub use evidence::{
    ByteCounts, Effect, Evidence, FileCounts, GroupCounts, GroupNote, Outcome, RecordCounts, RemovedFiles, Verdict,
};
pub use files::{DataFile, DeleteKind, DeletesOnFile, FileFormat, Inventory, Partition};
pub use health::{Decision, PartitionHealth, TableHealth};
pub use ids::{GroupId, PlanId, SnapshotId, TableName, TableNameError};
pub use near_names::near_names;
pub use options::{
    CompactionOptions, JobOrder, MANIFEST_TARGET_SIZE_BYTES_DEFAULT, Strategy, TARGET_FILE_SIZE_BYTES_DEFAULT,
};
pub use parse_options::{OPTION_NAMES, OptionError, TARGET_FILE_SIZE_PROPERTY, parse_options};
pub use plan::{Group, PLANNER_VERSION, Plan, Skipped};
pub use total::total;
