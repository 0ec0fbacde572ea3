//! One snapshot of operation `replace` (rewrite rules D).

mod manifests;
mod summary;
mod validate;

use std::{collections::BTreeMap, sync::Arc};

use iceberg::{
    TableRequirement, TableUpdate,
    spec::{DataFile, FormatVersion, Operation, Snapshot, SnapshotReference, SnapshotRetention, Summary},
};
use model::total;
use ports::LoadedTable;

pub(crate) use summary::PLAN_ID;

use crate::{
    error::Result,
    reference::reference,
    scan::{LiveDataFile, LiveDeleteFile, LiveDeletes, LiveFiles},
};

/// A data file that a rewrite wrote, with the spec its partition tuple belongs to.
#[derive(Clone, Debug)]
pub struct WrittenFile {
    /// Spec of the tuple.
    pub spec_id: i32,
    /// The manifest entry's data file.
    pub file: DataFile,
}

/// What one commit replaces.
#[derive(Clone, Debug)]
pub struct Rewrite {
    /// `firn.plan-id` of the summary.
    pub plan_id: String,
    /// Uuid of the planned table.
    pub table_uuid: String,
    /// Branch whose head is replaced.
    pub branch: String,
    /// The planned snapshot.
    pub base_snapshot_id: i64,
    /// Its sequence number: data sequence number of `added` when `use_starting_sequence_number`.
    pub base_sequence_number: i64,
    /// `use-starting-sequence-number`.
    pub use_starting_sequence_number: bool,
    /// Id of the snapshot to make, fixed per plan and batch so that an unknown outcome can be settled by looking.
    pub snapshot_id: i64,
    /// Names this attempt's metadata files; unique per process and try.
    pub attempt_id: String,
    /// Commit time, milliseconds since the epoch.
    pub now_ms: i64,
    /// Locations of the data files to remove: exactly the scanned inputs.
    pub removed: Vec<Arc<str>>,
    /// Data files to add.
    pub added: Vec<WrittenFile>,
    /// Records that the applied deletes took out: `added = removed − deleted` is checked (C-3).
    pub deleted_records: u64,
    /// Whether delete files that apply to nothing any more leave in this commit (rule D.4).
    pub remove_dangling_deletes: bool,
    /// Further summary properties (`firn.version`, `engine-name`, `firn.output-ratio-percent`, …).
    pub summary: BTreeMap<String, String>,
}

/// A commit ready for the catalog.
#[derive(Debug)]
pub struct PreparedCommit {
    /// Requirements for the catalog: table uuid, the branch's snapshot id.
    pub requirements: Vec<TableRequirement>,
    /// Add the snapshot, move the branch.
    pub updates: Vec<TableUpdate>,
    /// Manifests and the manifest list written for it: garbage if the commit provably did not happen.
    pub written: Vec<String>,
    /// What it changes.
    pub replaced: Replaced,
}

/// What a commit changes, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Delete files (each DV one) that leave.
    pub delete_files: u64,
    /// Records of the removed data files.
    pub removed_records: u64,
    /// Records of the added data files.
    pub added_records: u64,
}

/// A commit found in the table's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Landed {
    /// Location of its manifest list, by which an attempt knows its own.
    pub manifest_list: String,
    /// What it changed, from its summary.
    pub replaced: Replaced,
}

/// Why the head cannot take this rewrite (rewrite rules D.1, D.3, D.9), one variant per cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CommitConflict {
    /// The table under this name is another one.
    #[error("the table was replaced: its uuid was {planned} when planned and is {found} now")]
    TableReplaced {
        /// Planned.
        planned: String,
        /// Found.
        found: String,
    },
    /// The branch is gone.
    #[error("branch {0} does not exist any more")]
    BranchGone(String),
    /// The planned snapshot is no ancestor of the head: expired or rolled back.
    #[error("the planned snapshot {base} is no ancestor of {branch}'s head {head} any more (expired or rolled back)")]
    BaseNotAncestor {
        /// Planned snapshot.
        base: i64,
        /// Head found.
        head: i64,
        /// Branch.
        branch: String,
    },
    /// An input is no longer live.
    #[error("input {path} is no longer live: another writer removed it")]
    InputGone {
        /// Its location.
        path: String,
    },
    /// A delete arrived on an input, and would not apply to its rows in the outputs.
    #[error("new deletes in {delete_path} apply to input {path}")]
    NewDeletes {
        /// The delete file.
        delete_path: String,
        /// The input.
        path: String,
    },
    /// The dangling deletes that the rewrite was to remove are gone, and it has no files.
    #[error("another writer removed the dangling deletes already")]
    NothingLeft,
    /// An equality delete arrived in the partition that rows of another partition spec were written to: it never applied to them.
    #[error(
        "new equality deletes in {delete_path} would apply to output {path}, whose rows come from another partition spec"
    )]
    NewDeletesOnOutput {
        /// The delete file.
        delete_path: String,
        /// The output.
        path: String,
    },
    /// The rows of an input got row ids that the outputs do not have.
    #[error("the rows of input {path} got their row ids after it was planned: the first commit after an upgrade to v3")]
    NewRowIds {
        /// The input.
        path: String,
    },
    /// The spec of the outputs is gone.
    #[error("partition spec {0} of the outputs does not exist any more")]
    SpecGone(i32),
}

/// Validates `rewrite` against the head of `table` as it is now and writes the manifests of its snapshot.
///
/// # Errors
/// Outer: reading or writing metadata failed, or the rewrite breaks an invariant (C-2, C-3). Inner: the head conflicts;
/// nothing was written.
pub async fn prepare_commit(
    table: &LoadedTable,
    rewrite: &Rewrite,
) -> Result<std::result::Result<PreparedCommit, CommitConflict>> {
    let change = match validate::validate(table, rewrite).await? {
        Ok(change) => change,
        Err(conflict) => return Ok(Err(conflict)),
    };
    if change.removed.is_empty() && change.added.is_empty() && change.dead.is_empty() {
        return Ok(Err(CommitConflict::NothingLeft));
    }
    let mut written = Vec::new();
    match manifests::write(table, rewrite, &change, &mut written).await {
        Ok(list) => Ok(Ok(prepared(table, rewrite, &change, list, written))),
        Err(error) => {
            for path in &written {
                // What cannot be removed is an orphan; the first failure is what people need to see.
                let _ = table.file_io.delete(path).await;
            }
            Err(error)
        }
    }
}

/// A validated rewrite: what leaves and what comes, as the head has it.
pub(crate) struct Change {
    /// The branch head.
    pub(crate) head: Arc<Snapshot>,
    /// Everything live there.
    pub(crate) live: LiveFiles,
    /// Data files that leave.
    pub(crate) removed: Vec<Arc<LiveDataFile>>,
    /// Data files that come, as they will be live.
    pub(crate) added: Vec<Arc<LiveDataFile>>,
    /// Delete files that leave.
    pub(crate) dead: Vec<Arc<LiveDeleteFile>>,
}

/// The identity of a delete file: its path, and for a deletion vector its place in the Puffin file (rule D.1).
pub(crate) fn identity(delete: &LiveDeleteFile) -> (Arc<str>, Option<(u64, u64)>) {
    let place = match delete.deletes {
        LiveDeletes::DeletionVector { offset, size, .. } => Some((offset, size)),
        _ => None,
    };
    (Arc::clone(&delete.path), place)
}

fn prepared(
    table: &LoadedTable,
    rewrite: &Rewrite,
    change: &Change,
    list: manifests::WrittenList,
    written: Vec<String>,
) -> PreparedCommit {
    let metadata = &table.metadata;
    let builder = Snapshot::builder()
        .with_snapshot_id(rewrite.snapshot_id)
        .with_parent_snapshot_id(Some(change.head.snapshot_id()))
        .with_sequence_number(list.sequence_number)
        .with_timestamp_ms(rewrite.now_ms.max(metadata.last_updated_ms()))
        .with_manifest_list(list.path)
        .with_summary(Summary {
            operation: Operation::Replace,
            additional_properties: summary::summary(rewrite, change),
        })
        .with_schema_id(metadata.current_schema_id());
    let snapshot = match list.row_range {
        Some((first, rows)) => builder.with_row_range(first, rows).build(),
        None => builder.build(),
    };
    let reference = SnapshotReference::new(rewrite.snapshot_id, retention(table, &rewrite.branch));
    PreparedCommit {
        requirements: vec![
            TableRequirement::UuidMatch { uuid: metadata.uuid() },
            TableRequirement::RefSnapshotIdMatch {
                r#ref: rewrite.branch.clone(),
                snapshot_id: Some(change.head.snapshot_id()),
            },
        ],
        updates: vec![
            TableUpdate::AddSnapshot { snapshot },
            TableUpdate::SetSnapshotRef { ref_name: rewrite.branch.clone(), reference },
        ],
        written,
        replaced: Replaced {
            delete_files: change.dead.len() as u64,
            removed_records: total(change.removed.iter().map(|file| file.records)),
            added_records: total(change.added.iter().map(|file| file.records)),
        },
    }
}

/// The branch's own retention settings.
fn retention(table: &LoadedTable, branch: &str) -> SnapshotRetention {
    reference(&table.metadata, branch).map_or(
        SnapshotRetention::Branch { min_snapshots_to_keep: None, max_snapshot_age_ms: None, max_ref_age_ms: None },
        |it| it.retention,
    )
}

/// Whether the next commit gives the rows of all live files their first row ids: the first one after an upgrade to v3 (Iceberg
/// spec, "Row Lineage for Upgraded Tables"). Outputs made before it cannot be committed after it (C-7).
#[must_use]
pub fn commit_gives_first_row_ids(table: &LoadedTable) -> bool {
    table.metadata.format_version() >= FormatVersion::V3 && table.metadata.next_row_id() == 0
}

/// The snapshot in the table's history that carries `firn.plan-id` = `plan_id` and the id `snapshot_id`: proof that a commit
/// happened.
#[must_use]
pub fn find_plan(table: &LoadedTable, plan_id: &str, snapshot_id: i64) -> Option<Landed> {
    let snapshot = table.metadata.snapshot_by_id(snapshot_id)?;
    let summary = &snapshot.summary().additional_properties;
    if summary.get(summary::PLAN_ID)? != plan_id {
        return None;
    }
    Some(Landed { manifest_list: snapshot.manifest_list().to_owned(), replaced: summary::replaced(summary) })
}

#[cfg(test)]
mod tests;
