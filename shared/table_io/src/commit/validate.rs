//! Whether the head can take a rewrite (rewrite rules D.1–D.4, D.9).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use iceberg::spec::FormatVersion;
use model::FileFormat;
use ports::LoadedTable;

use super::{Change, CommitConflict, Rewrite, identity};
use crate::{
    delete_index::DeleteIndex,
    error::{Error, Result},
    partition::to_partition,
    scan::{LiveDataFile, LiveDeleteFile, LiveDeletes, LiveFiles, scan},
};

pub(super) async fn validate(
    table: &LoadedTable,
    rewrite: &Rewrite,
) -> Result<std::result::Result<Change, CommitConflict>> {
    if let Some(conflict) = metadata_conflict(table, rewrite) {
        return Ok(Err(conflict));
    }
    let Some(head) = table.metadata.snapshot_for_ref(&rewrite.branch) else {
        return Ok(Err(CommitConflict::BranchGone(rewrite.branch.clone())));
    };
    let live = scan(table, Some(head.snapshot_id()), None).await?;
    let removed = match removed(&live, rewrite) {
        Ok(removed) => removed,
        Err(path) => return Ok(Err(CommitConflict::InputGone { path })),
    };
    let added = added(table, rewrite)?;
    if head.snapshot_id() != rewrite.base_snapshot_id {
        let base = scan(table, Some(rewrite.base_snapshot_id), None).await?;
        if let Some(conflict) = new_row_ids(&base, &removed) {
            return Ok(Err(conflict));
        }
        if let Some(conflict) = new_deletes(&base, &live, &Files { removed: &removed, added: &added }, rewrite)? {
            return Ok(Err(conflict));
        }
    }
    check_records(table, rewrite, &removed, &added)?;
    let dead = dead(&live, &removed, &added, rewrite.remove_dangling_deletes)?;
    Ok(Ok(Change { head: Arc::clone(head), live, removed, added, dead }))
}

fn metadata_conflict(table: &LoadedTable, rewrite: &Rewrite) -> Option<CommitConflict> {
    let metadata = &table.metadata;
    let found = metadata.uuid().to_string();
    if found != rewrite.table_uuid {
        return Some(CommitConflict::TableReplaced { planned: rewrite.table_uuid.clone(), found });
    }
    let Some(head) = metadata.snapshot_for_ref(&rewrite.branch) else {
        return Some(CommitConflict::BranchGone(rewrite.branch.clone()));
    };
    // A missing link in the chain proves nothing, and is therefore a conflict.
    let mut ancestor = Some(head);
    while let Some(snapshot) = ancestor {
        if snapshot.snapshot_id() == rewrite.base_snapshot_id {
            let known = |spec_id: i32| metadata.partition_spec_by_id(spec_id).is_some();
            let gone = rewrite.added.iter().find(|written| !known(written.spec_id));
            return gone.map(|written| CommitConflict::SpecGone(written.spec_id));
        }
        ancestor = snapshot.parent_snapshot_id().and_then(|id| metadata.snapshot_by_id(id));
    }
    Some(CommitConflict::BaseNotAncestor {
        base: rewrite.base_snapshot_id,
        head: head.snapshot_id(),
        branch: rewrite.branch.clone(),
    })
}

/// The live entries of the inputs, or the path of one that is gone (C-2).
fn removed(live: &LiveFiles, rewrite: &Rewrite) -> std::result::Result<Vec<Arc<LiveDataFile>>, String> {
    let by_path: HashMap<&str, &Arc<LiveDataFile>> = live.data.iter().map(|file| (file.path.as_ref(), file)).collect();
    let find =
        |path: &Arc<str>| by_path.get(path.as_ref()).map(|file| Arc::clone(file)).ok_or_else(|| path.to_string());
    rewrite.removed.iter().map(find).collect()
}

/// The first commit after an upgrade to v3 gives older rows their ids (Iceberg spec, "Row Lineage for Upgraded Tables"). Outputs made
/// before it do not have them (C-7).
fn new_row_ids(base: &LiveFiles, removed: &[Arc<LiveDataFile>]) -> Option<CommitConflict> {
    let unnumbered = base.data.iter().filter(|file| file.first_row_id.is_none()).map(|file| file.path.as_ref());
    let unnumbered: HashSet<&str> = unnumbered.collect();
    let found = removed.iter().find(|file| file.first_row_id.is_some() && unnumbered.contains(file.path.as_ref()));
    found.map(|file| CommitConflict::NewRowIds { path: file.path.to_string() })
}

struct Files<'a> {
    removed: &'a [Arc<LiveDataFile>],
    added: &'a [Arc<LiveDataFile>],
}

impl Files<'_> {
    /// Whether rows move between partition specs, and so out of the scope of some equality deletes and into that of others.
    fn change_spec(&self) -> bool {
        let mut specs = self.removed.iter().chain(self.added).map(|file| file.partition.spec_id);
        specs.next().is_some_and(|first| specs.any(|spec| spec != first))
    }
}

/// Deletes that arrived since the base and apply to an input, or would apply to an output but did not to its rows.
///
/// Equality deletes are fine as long as they apply to the outputs as they did to the inputs (C-4): the outputs keep the base's
/// sequence number (rule D.2), and the scope is the whole table or no row changes its spec.
fn new_deletes(
    base: &LiveFiles,
    live: &LiveFiles,
    files: &Files<'_>,
    rewrite: &Rewrite,
) -> Result<Option<CommitConflict>> {
    let known: HashSet<_> = base.deletes.iter().map(|delete| identity(delete)).collect();
    let keeps_scope = |delete: &LiveDeleteFile| delete.global || !files.change_spec();
    let is_harmless =
        |delete: &LiveDeleteFile| rewrite.use_starting_sequence_number && is_equality(delete) && keeps_scope(delete);
    let matters = |delete: &&Arc<LiveDeleteFile>| !known.contains(&identity(delete)) && !is_harmless(delete);
    let fresh: Vec<Arc<LiveDeleteFile>> = live.deletes.iter().filter(matters).cloned().collect();
    let index = DeleteIndex::new(&fresh)?;
    for file in files.removed {
        if let Some(delete) = index.for_data_file(file).all().next() {
            let (delete_path, path) = (delete.path.to_string(), file.path.to_string());
            return Ok(Some(CommitConflict::NewDeletes { delete_path, path }));
        }
    }
    for file in files.added {
        if let Some(delete) = index.for_data_file(file).equalities.first() {
            let (delete_path, path) = (delete.path.to_string(), file.path.to_string());
            return Ok(Some(CommitConflict::NewDeletesOnOutput { delete_path, path }));
        }
    }
    Ok(None)
}

fn is_equality(delete: &LiveDeleteFile) -> bool {
    matches!(delete.deletes, LiveDeletes::Equality { .. })
}

/// The outputs as they will be live.
fn added(table: &LoadedTable, rewrite: &Rewrite) -> Result<Vec<Arc<LiveDataFile>>> {
    let metadata = &table.metadata;
    let data_sequence_number = output_sequence_number(table, rewrite);
    let mut added = Vec::with_capacity(rewrite.added.len());
    for written in &rewrite.added {
        let file = &written.file;
        let spec = metadata
            .partition_spec_by_id(written.spec_id)
            .ok_or_else(|| Error::Invalid(format!("the table has no partition spec {}", written.spec_id)))?;
        added.push(Arc::new(LiveDataFile {
            path: file.file_path().into(),
            format: FileFormat::Parquet,
            partition: Arc::new(to_partition(spec, metadata.current_schema(), file.partition())?),
            tuple: Arc::new(file.partition().clone()),
            size_bytes: file.file_size_in_bytes(),
            records: file.record_count(),
            data_sequence_number,
            file_sequence_number: data_sequence_number,
            first_row_id: None,
            sort_order_id: file.sort_order_id(),
            encrypted: false,
            matches_filter: true,
        }));
    }
    Ok(added)
}

/// The data sequence number of the outputs (rule D.2). Format version 1 has none: 0.
pub(super) fn output_sequence_number(table: &LoadedTable, rewrite: &Rewrite) -> i64 {
    if table.metadata.format_version() == FormatVersion::V1 {
        0
    } else if rewrite.use_starting_sequence_number {
        rewrite.base_sequence_number
    } else {
        table.metadata.next_sequence_number()
    }
}

/// C-2 and C-3: no file twice, no row unaccounted for.
fn check_records(
    table: &LoadedTable,
    rewrite: &Rewrite,
    removed: &[Arc<LiveDataFile>],
    added: &[Arc<LiveDataFile>],
) -> Result<()> {
    let distinct =
        |files: &[Arc<LiveDataFile>]| files.iter().map(|file| Arc::clone(&file.path)).collect::<HashSet<_>>();
    let (old, new) = (distinct(removed), distinct(added));
    if old.len() != removed.len() || new.len() != added.len() || !old.is_disjoint(&new) {
        return Err(Error::Invalid(format!("the rewrite of {} names a file twice (invariant C-2)", table.name)));
    }
    let records = |files: &[Arc<LiveDataFile>]| files.iter().map(|file| u128::from(file.records)).sum::<u128>();
    let (before, after) = (records(removed), records(added));
    if before != after + u128::from(rewrite.deleted_records) {
        return Err(Error::Invalid(format!(
            "the rewrite of {} removes {before} records, deletes {} and adds {after} (invariant C-3)",
            table.name, rewrite.deleted_records
        )));
    }
    Ok(())
}

/// Delete files that apply to nothing any more (rule D.4). Equality deletes are decided over the survivors and the new files.
/// Position deletes name paths, and none can name a new one: the survivors decide. A removed file's own deletion vector leaves
/// whatever the option says.
fn dead(
    live: &LiveFiles,
    removed: &[Arc<LiveDataFile>],
    added: &[Arc<LiveDataFile>],
    remove_dangling: bool,
) -> Result<Vec<Arc<LiveDeleteFile>>> {
    let gone: HashSet<&str> = removed.iter().map(|file| file.path.as_ref()).collect();
    let mut files: Vec<_> = live.data.iter().filter(|file| !gone.contains(file.path.as_ref())).cloned().collect();
    let index = DeleteIndex::new(&live.deletes)?;
    let mut dead = index.dangling(&files);
    dead.retain(|delete| !is_equality(delete));
    files.extend(added.iter().cloned());
    dead.extend(index.dangling(&files).into_iter().filter(|delete| is_equality(delete)));
    if !remove_dangling {
        dead.retain(|delete| match &delete.deletes {
            LiveDeletes::DeletionVector { referenced, .. } => gone.contains(referenced.as_ref()),
            _ => false,
        });
    }
    Ok(dead)
}
