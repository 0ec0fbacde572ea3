//! Rewriter: one group of a plan becomes better files, and the table does not notice.
//!
//! Trigger: a planned group. Reads: the manifests of the plan's base snapshot, the group's data and delete files. Writes: data
//! files under new names. It holds no catalog: deletes are derived from the manifests again, never taken from the plan.
//! Idempotent: a redelivered group writes other names; the outputs of a lost attempt are orphans.

use std::{collections::HashMap, sync::Arc};

use model::{Group, Plan};
use ports::LoadedTable;
use rewrite_engine::{Control, GroupOutput, Limits, RewriteInput, RewriteJob, rewrite_group};
use table_io::{DeleteIndex, LiveDataFile, scan};

/// A group cannot be rewritten; the table is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The table's metadata cannot be read.
    #[error(transparent)]
    Table(#[from] table_io::Error),
    /// The data plane failed.
    #[error(transparent)]
    Rewrite(#[from] rewrite_engine::Error),
    /// The plan names a file that its base snapshot does not have.
    #[error("{path} is not live at snapshot {snapshot_id}, the base of the plan: plan again")]
    NotLive {
        /// The planned input.
        path: Arc<str>,
        /// The base.
        snapshot_id: i64,
    },
    /// The base snapshot is not in the table's metadata any more.
    #[error("snapshot {0}, the base of the plan, has expired: plan again")]
    BaseExpired(i64),
}

/// The live files of a plan's base snapshot with their deletes, read once for all its groups.
#[derive(Debug)]
pub struct Source {
    table: LoadedTable,
    snapshot_id: i64,
    files: HashMap<Arc<str>, Arc<LiveDataFile>>,
    index: DeleteIndex,
}

impl Source {
    /// Reads the manifests of `snapshot_id`.
    ///
    /// # Errors
    /// [`Error::BaseExpired`], or [`Error::Table`] naming what cannot be read.
    pub async fn open(table: &LoadedTable, snapshot_id: i64) -> Result<Self, Error> {
        if table.metadata.snapshot_by_id(snapshot_id).is_none() {
            return Err(Error::BaseExpired(snapshot_id));
        }
        let live = scan(table, Some(snapshot_id), None).await?;
        let index = DeleteIndex::new(&live.deletes)?;
        let files = live.data.into_iter().map(|file| (Arc::clone(&file.path), file)).collect();
        Ok(Self { table: table.clone(), snapshot_id, files, index })
    }

    /// Every live file with its deletes, in no order: what a digest reads.
    #[must_use]
    pub fn inputs(&self) -> Vec<RewriteInput> {
        self.files.values().map(|file| self.input(file)).collect()
    }

    /// The table the files belong to.
    #[must_use]
    pub fn table(&self) -> &LoadedTable {
        &self.table
    }

    fn input(&self, file: &Arc<LiveDataFile>) -> RewriteInput {
        RewriteInput { file: Arc::clone(file), deletes: self.index.for_data_file(file) }
    }
}

/// Rewrites `group`. Blocking: call it on a blocking thread of a Tokio runtime.
///
/// # Errors
/// Any [`Error`]; outputs that were written are removed.
pub fn rewrite(
    source: &Source,
    plan: &Plan,
    group: &Group,
    attempt_id: &str,
    limits: Limits,
    control: &Control,
) -> Result<GroupOutput, Error> {
    let live = |path: &Arc<str>| match source.files.get(path) {
        Some(file) => Ok(source.input(file)),
        None => Err(Error::NotLive { path: Arc::clone(path), snapshot_id: source.snapshot_id }),
    };
    let job = RewriteJob {
        group_id: group.group_id.to_string(),
        attempt_id: attempt_id.to_owned(),
        inputs: group.data_files.iter().map(live).collect::<Result<_, _>>()?,
        output_spec_id: plan.output_spec_id,
        target_file_size_bytes: plan.options.target_file_size_bytes,
        expected_output_bytes: group.expected_output_bytes,
        expected_output_files: group.expected_output_files,
    };
    Ok(rewrite_group(&source.table, &job, limits, control)?)
}
