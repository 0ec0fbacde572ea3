//! The policy of one compaction: names and meanings of Spark's `rewrite_data_files` procedure.

use serde::{Deserialize, Serialize};

/// Iceberg's `write.target-file-size-bytes` when a table does not set it: 512 MiB.
pub const TARGET_FILE_SIZE_BYTES_DEFAULT: u64 = 512 * 1024 * 1024;
/// Iceberg's `commit.manifest.target-size-bytes` when a table does not set it: 8 MiB.
pub const MANIFEST_TARGET_SIZE_BYTES_DEFAULT: u64 = 8 * 1024 * 1024;

/// How rows are arranged in the outputs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Sizes and deletes only; rows keep their order within a file.
    #[default]
    Binpack,
}

/// The order in which groups are run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobOrder {
    /// As planned.
    #[default]
    None,
    /// Fewest input bytes first.
    BytesAsc,
    /// Most input bytes first.
    BytesDesc,
    /// Fewest input files first.
    FilesAsc,
    /// Most input files first.
    FilesDesc,
}

/// Every option of one run, defaults resolved against the table's properties. Sizes are bytes.
///
/// Defaults of the sizes derive from the target T: minimum 0.75 T, maximum 1.8 T (rewrite rules B).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct CompactionOptions {
    /// `target-file-size-bytes`: T.
    pub target_file_size_bytes: u64,
    /// `min-file-size-bytes`: smaller files are candidates.
    pub min_file_size_bytes: u64,
    /// `max-file-size-bytes`: larger files are candidates.
    pub max_file_size_bytes: u64,
    /// `min-input-files`: a group of at least this many files is worth rewriting.
    pub min_input_files: u64,
    /// `delete-file-threshold`: a file with at least this many delete files is a candidate.
    pub delete_file_threshold: u64,
    /// `delete-ratio-threshold`: a file with at least this share of its rows deleted is a candidate.
    pub delete_ratio_threshold: f64,
    /// `rewrite-all`: every file is a candidate and every group worth it.
    pub rewrite_all: bool,
    /// `max-file-group-size-bytes`.
    pub max_file_group_size_bytes: u64,
    /// `max-file-group-input-files`.
    pub max_file_group_input_files: u64,
    /// `max-files-to-rewrite`.
    pub max_files_to_rewrite: Option<u64>,
    /// `rewrite-job-order`.
    pub rewrite_job_order: JobOrder,
    /// `output-spec-id`: the spec of the outputs; `None` is the table's default spec.
    pub output_spec_id: Option<i32>,
    /// `remove-dangling-deletes`: true here, false in Spark (rewrite rules D.4).
    pub remove_dangling_deletes: bool,
    /// `partial-progress.enabled`.
    pub partial_progress_enabled: bool,
    /// `partial-progress.max-commits`.
    pub partial_progress_max_commits: u32,
    /// `partial-progress.max-failed-commits`.
    pub partial_progress_max_failed_commits: u32,
    /// `use-starting-sequence-number`.
    pub use_starting_sequence_number: bool,
    /// `max-concurrent-file-group-rewrites`.
    pub max_concurrent_file_group_rewrites: u32,
    /// How rows are arranged.
    pub strategy: Strategy,
    /// The `where` filter as its author wrote it; rewriting takes whole files that may match.
    #[serde(rename = "where")]
    pub filter: Option<String>,
}
