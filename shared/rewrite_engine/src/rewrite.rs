//! One group: inputs read with their deletes, rows written to the output spec's partitions, outputs re-opened and checked.

use std::sync::Arc;

use ports::LoadedTable;
use table_io::{FileDeletes, LiveDataFile, WrittenFile};

use crate::{control::Control, error::Result};

/// An input file with the deletes that apply to it.
#[derive(Clone, Debug)]
pub struct RewriteInput {
    /// The file.
    pub file: Arc<LiveDataFile>,
    /// Its deletes, derived from the table's manifests by the rewriter itself.
    pub deletes: FileDeletes,
}

/// What to rewrite and how. The table's properties give codec, row-group size, metrics modes and data location.
#[derive(Clone, Debug)]
pub struct RewriteJob {
    /// Names the outputs together with `attempt_id`.
    pub group_id: String,
    /// Unique per try, so that a lost attempt's files are never overwritten.
    pub attempt_id: String,
    /// The inputs, in the order of their rows.
    pub inputs: Vec<RewriteInput>,
    /// Spec of the outputs.
    pub output_spec_id: i32,
    /// T.
    pub target_file_size_bytes: u64,
    /// Sum of input bytes times the table's observed output/input ratio.
    pub expected_output_bytes: u64,
    /// Files that this many bytes should make (rewrite rules B.5); a file closes at `expected_output_bytes / this`, never below T
    /// unless the rest is spread evenly over one file fewer.
    pub expected_output_files: u64,
}

/// Bounds on what one group may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Memory for the loaded deletes of one group, in bytes.
    pub deletes_bytes: u64,
}

impl Default for Limits {
    /// 128 MiB of deletes: a position takes about a byte, an equality key of a few columns about 40, so this holds some three million keys.
    fn default() -> Self {
        Self { deletes_bytes: 128 * 1024 * 1024 }
    }
}

/// What a group's rewrite produced.
#[derive(Clone, Debug, Default)]
pub struct GroupOutput {
    /// The files, closed, re-opened and checked; empty when every row was deleted.
    pub files: Vec<WrittenFile>,
    /// Records read before deletes.
    pub records_read: u64,
    /// Records that deletes took out.
    pub records_deleted: u64,
    /// Records written: read − deleted.
    pub records_written: u64,
    /// Bytes of input data files.
    pub bytes_read: u64,
    /// Bytes of output data files.
    pub bytes_written: u64,
    /// Of those, copied without decoding.
    pub bytes_copied: u64,
}

/// Rewrites one group. Blocking: call it on a blocking thread of a Tokio runtime. On failure it removes the outputs it had written.
///
/// # Errors
/// Any [`crate::Error`]; the table is unchanged in every case.
pub fn rewrite_group(
    _table: &LoadedTable,
    _job: &RewriteJob,
    _limits: Limits,
    _control: &Control,
) -> Result<GroupOutput> {
    todo!()
}
