//! From live files to the planner's inventory.

use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
};

use iceberg::spec::{MAIN_BRANCH, Snapshot, TableMetadata};
use model::{DataFile, DeleteKind, FileFormat, Inventory, SnapshotId};
use ports::LoadedTable;

use crate::{
    commit::PLAN_ID,
    delete_index::DeleteIndex,
    error::{Error, Result},
    reference::reference,
    scan::{LiveDataFile, LiveDeleteFile, LiveDeletes, LiveFiles},
};

/// Summary property of a rewrite: output bytes per 100 input bytes.
const OUTPUT_RATIO: &str = "firn.output-ratio-percent";

/// What planning needs of `live`, the files of the head of `branch`.
///
/// Marks as unsupported: formats other than Parquet, encrypted files and tables, files listed more than once, and files
/// whose applicable deletes are unsupported. Tables with a type that no rewrite carries do not load in the first place.
///
/// # Errors
/// [`crate::Error::Invalid`] for a branch that does not exist.
pub fn inventory(table: &LoadedTable, branch: &str, live: &LiveFiles, index: &DeleteIndex) -> Result<Inventory> {
    let metadata = &table.metadata;
    let snapshot = head(table, branch)?;
    let unsupported = Unsupported::new(metadata, live)?;
    let data_files = live.data.iter().map(|file| DataFile {
        path: file.path.clone(),
        format: file.format,
        partition: file.partition.clone(),
        size_bytes: file.size_bytes,
        records: file.records,
        data_sequence_number: file.data_sequence_number,
        deletes: index.count_for_data_file(file),
        matches_filter: file.matches_filter,
        unsupported: unsupported.reason(file),
    });
    Ok(Inventory {
        table: table.name.clone(),
        table_uuid: metadata.uuid().to_string(),
        branch: branch.to_owned(),
        snapshot_id: snapshot.map(|snapshot| SnapshotId(snapshot.snapshot_id())),
        sequence_number: snapshot.map_or(0, Snapshot::sequence_number),
        format_version: metadata.format_version() as u8,
        schema_id: metadata.current_schema_id(),
        default_spec_id: metadata.default_partition_spec_id(),
        properties: metadata.properties().clone().into_iter().collect(),
        data_files: data_files.collect(),
        delete_files: by_kind(&live.deletes),
        dangling_delete_files: by_kind(&index.dangling(&live.data)),
        observed_output_ratio: snapshot.and_then(|head| observed_output_ratio(metadata, head)),
    })
}

/// The head of `branch`; a table without snapshots has a `main` without one.
fn head<'a>(table: &'a LoadedTable, branch: &str) -> Result<Option<&'a Snapshot>> {
    let metadata = &table.metadata;
    match metadata.snapshot_for_ref(branch) {
        Some(_) if branch != MAIN_BRANCH && is_tag(metadata, branch) => {
            Err(Error::Invalid(format!("{branch} of table {} is a tag; only a branch can be rewritten", table.name)))
        }
        Some(snapshot) => Ok(Some(snapshot)),
        None if branch == MAIN_BRANCH => Ok(None),
        None => Err(Error::Invalid(format!("table {} has no branch {branch}", table.name))),
    }
}

fn is_tag(metadata: &TableMetadata, name: &str) -> bool {
    reference(metadata, name).is_some_and(|it| !it.is_branch())
}

fn by_kind(deletes: &[Arc<LiveDeleteFile>]) -> BTreeMap<DeleteKind, u64> {
    let mut counts = BTreeMap::new();
    for file in deletes {
        let kind = match file.deletes {
            LiveDeletes::Position { .. } => DeleteKind::Position,
            LiveDeletes::DeletionVector { .. } => DeleteKind::DeletionVector,
            LiveDeletes::Equality { .. } => DeleteKind::Equality,
        };
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

/// The mean over the head's ancestors. Rewrites that no other writer has followed yet do not count: what they showed must not
/// be the reason to take up their own work again (invariant C-8).
fn observed_output_ratio(metadata: &TableMetadata, head: &Snapshot) -> Option<u32> {
    let parent = |snapshot: &&Snapshot| Some(metadata.snapshot_by_id(snapshot.parent_snapshot_id()?)?.as_ref());
    let property = |snapshot: &Snapshot, name| snapshot.summary().additional_properties.get(name).cloned();
    let settled = std::iter::successors(Some(head), parent).skip_while(|it| property(it, PLAN_ID).is_some());
    let ratios: Vec<u64> =
        settled.filter_map(|it| property(it, OUTPUT_RATIO)?.parse::<u32>().ok()).map(u64::from).collect();
    let mean = ratios.iter().sum::<u64>().checked_div(ratios.len() as u64)?;
    u32::try_from(mean).ok()
}

/// What no rewrite can take.
struct Unsupported<'a> {
    table: Option<String>,
    /// The delete files that cannot be read (most tables have none), and the deletion vectors that overrule some of them.
    deletes: DeleteIndex,
    repeated: HashSet<&'a str>,
}

impl<'a> Unsupported<'a> {
    fn new(metadata: &TableMetadata, live: &'a LiveFiles) -> Result<Self> {
        let key = metadata.properties().get("encryption.key-id");
        let unreadable = live.deletes.iter().filter(|delete| {
            delete_reason(delete).is_some() || matches!(delete.deletes, LiveDeletes::DeletionVector { .. })
        });
        let mut seen = HashSet::new();
        Ok(Self {
            table: key.map(|_| "the table is encrypted (encryption.key-id)".to_owned()),
            deletes: DeleteIndex::new(&unreadable.cloned().collect::<Vec<_>>())?,
            repeated: live.data.iter().map(|file| &*file.path).filter(|path| !seen.insert(*path)).collect(),
        })
    }

    fn reason(&self, file: &LiveDataFile) -> Option<String> {
        if self.table.is_some() {
            return self.table.clone();
        }
        if file.format != FileFormat::Parquet {
            return Some(format!("its format is {:?}; only Parquet is rewritten", file.format));
        }
        if file.encrypted {
            return Some("it is encrypted".to_owned());
        }
        if self.repeated.contains(&*file.path) {
            return Some("the table lists it more than once".to_owned());
        }
        let deletes = self.deletes.for_data_file(file);
        deletes.all().find_map(|delete| {
            Some(format!("delete file {} applies to it, and {}", delete.path, delete_reason(delete)?))
        })
    }
}

fn delete_reason(delete: &LiveDeleteFile) -> Option<String> {
    if delete.encrypted {
        return Some("is encrypted".to_owned());
    }
    match (&delete.deletes, delete.format) {
        (LiveDeletes::DeletionVector { .. }, _) | (_, FileFormat::Parquet) => None,
        (_, format) => Some(format!("has format {format:?}; only Parquet is read")),
    }
}

#[cfg(test)]
mod tests;
