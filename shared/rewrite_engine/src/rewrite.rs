//! One group: inputs read with their deletes, rows written to the output spec's partitions, outputs re-opened and checked.

use std::sync::Arc;

use ports::LoadedTable;
use table_io::{FileDeletes, LiveDataFile, WrittenFile};

use crate::{
    control::Control,
    error::{Error, Result},
    outputs::Outputs,
    read::{FileRows, GroupDeletes, ParquetFile},
    write::Layout,
};

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
    /// Memory for the equality keys of one group, in bytes; what does not fit is applied part by part.
    pub deletes_bytes: u64,
}

impl Default for Limits {
    /// 64 MiB: a key of one number takes about 50 bytes, so this holds some 1.3 million of them.
    fn default() -> Self {
        Self { deletes_bytes: 64 * 1024 * 1024 }
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
pub fn rewrite_group(table: &LoadedTable, job: &RewriteJob, limits: Limits, control: &Control) -> Result<GroupOutput> {
    let mut outputs = Outputs::new(table, job)?;
    let result =
        fill(&mut outputs, table, job, limits, control).and_then(|output| check(table, &outputs.layout, output));
    if result.is_err() {
        outputs.remove();
    }
    result
}

fn fill(
    outputs: &mut Outputs<'_>,
    table: &LoadedTable,
    job: &RewriteJob,
    limits: Limits,
    control: &Control,
) -> Result<GroupOutput> {
    let deletes = GroupDeletes::load(table, &job.inputs, limits, control)?;
    let mut output = GroupOutput::default();
    for input in &job.inputs {
        let mut rows = FileRows::open(table, Arc::clone(&outputs.layout.arrow), input, &deletes, control)?;
        for batch in rows.by_ref() {
            control.check()?;
            outputs.write(batch?, input)?;
        }
        output.records_read += input.file.records;
        output.records_deleted += rows.deleted();
        output.bytes_read += input.file.size_bytes;
    }
    output.files = outputs.finish()?;
    output.records_written = output.files.iter().map(|it| it.file.record_count()).sum();
    output.bytes_written = output.files.iter().map(|it| it.file.file_size_in_bytes()).sum();
    if output.records_read != output.records_deleted + output.records_written {
        return Err(Error::Corrupt {
            path: format!("group {}", job.group_id),
            reason: format!(
                "read {} records, deleted {} and wrote {} (invariant C-3)",
                output.records_read, output.records_deleted, output.records_written
            ),
        });
    }
    Ok(output)
}

/// Opens every output again: size, row count, and one row group decodes (rule C.6).
fn check(table: &LoadedTable, layout: &Layout, output: GroupOutput) -> Result<GroupOutput> {
    for written in &output.files {
        let path = written.file.file_path();
        let file = ParquetFile::open(table, path, written.file.file_size_in_bytes())?;
        let wrong = |reason: String| Error::Corrupt { path: path.to_owned(), reason };
        if file.size_bytes() != written.file.file_size_in_bytes() || file.rows() != written.file.record_count() {
            return Err(wrong("storage holds other bytes than were written".to_owned()));
        }
        file.check_first_row_group()?;
        if file.schema.fields().len() != layout.arrow.fields().len() {
            return Err(wrong("the file lost a column".to_owned()));
        }
    }
    Ok(output)
}

#[cfg(test)]
mod tests;
