//! The live files of one snapshot, compact enough for hundreds of thousands of them.

use std::sync::Arc;

use iceberg::spec::{ManifestFile, Struct};
use model::{FileFormat, Partition};
use ports::LoadedTable;

use crate::{
    collect::Collector,
    error::{Error, Result},
    manifest::load_manifest_list,
};

/// A live data file, inheritance resolved (Iceberg spec, "Sequence number inheritance", "First row id inheritance").
#[derive(Clone, Debug)]
pub struct LiveDataFile {
    /// Location as the manifest has it.
    pub path: Arc<str>,
    /// Format.
    pub format: FileFormat,
    /// Spec id and tuple in JSON form.
    pub partition: Arc<Partition>,
    /// The typed tuple.
    pub tuple: Arc<Struct>,
    /// `file_size_in_bytes`.
    pub size_bytes: u64,
    /// `record_count`.
    pub records: u64,
    /// Data sequence number.
    pub data_sequence_number: i64,
    /// File sequence number.
    pub file_sequence_number: i64,
    /// `first_row_id`; `None` in v1 and v2 tables and for files that never got one.
    pub first_row_id: Option<i64>,
    /// `sort_order_id`.
    pub sort_order_id: Option<i32>,
    /// Whether the file is encrypted (`key_metadata` is set).
    pub encrypted: bool,
    /// Whether the filter given to [`scan`](fn@scan) may match rows of the file.
    pub matches_filter: bool,
}

/// What a delete file does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveDeletes {
    /// v2 position deletes; `referenced` is the one data file it names, from `referenced_data_file` or equal `file_path` bounds.
    Position {
        /// The only data file it can apply to.
        referenced: Option<Arc<str>>,
    },
    /// A deletion vector: a blob of a Puffin file.
    DeletionVector {
        /// The data file it applies to.
        referenced: Arc<str>,
        /// `content_offset`.
        offset: u64,
        /// `content_size_in_bytes`.
        size: u64,
    },
    /// Equality deletes on these field ids.
    Equality {
        /// `equality_ids`, sorted.
        field_ids: Vec<i32>,
    },
}

/// A live delete file. Its identity is path, and for DVs path + offset + size (rewrite rules D.1).
#[derive(Clone, Debug)]
pub struct LiveDeleteFile {
    /// Location as the manifest has it.
    pub path: Arc<str>,
    /// Format.
    pub format: FileFormat,
    /// What it deletes.
    pub deletes: LiveDeletes,
    /// Spec id and tuple in JSON form.
    pub partition: Arc<Partition>,
    /// Whether its own spec is unpartitioned (no fields, or all void): an equality delete then applies to the whole table.
    pub global: bool,
    /// `file_size_in_bytes`.
    pub size_bytes: u64,
    /// `record_count`.
    pub records: u64,
    /// Data sequence number.
    pub data_sequence_number: i64,
    /// Whether the file is encrypted.
    pub encrypted: bool,
}

/// Everything live at one snapshot.
#[derive(Clone, Debug, Default)]
pub struct LiveFiles {
    /// The snapshot's manifest list, in its order.
    pub manifests: Vec<ManifestFile>,
    /// Data files in manifest order.
    pub data: Vec<Arc<LiveDataFile>>,
    /// Delete files in manifest order.
    pub deletes: Vec<Arc<LiveDeleteFile>>,
    /// For each manifest, how many of `data` and `deletes` it and those before it hold.
    pub(crate) ends: Vec<(usize, usize)>,
}

impl LiveFiles {
    /// The manifests, each with its live files.
    pub(crate) fn by_manifest(
        &self,
    ) -> impl Iterator<Item = (&ManifestFile, &[Arc<LiveDataFile>], &[Arc<LiveDeleteFile>])> {
        let starts = std::iter::once(&(0, 0)).chain(&self.ends);
        self.manifests.iter().zip(starts.zip(&self.ends)).map(|(manifest, (start, end))| {
            let data = self.data.get(start.0..end.0).unwrap_or_default();
            (manifest, data, self.deletes.get(start.1..end.1).unwrap_or_default())
        })
    }
}

/// Reads the manifests of `snapshot_id`, one at a time. An absent snapshot id (a table without snapshots) has no files.
///
/// # Errors
/// [`crate::Error::Read`] naming the manifest or list that is missing or broken; [`crate::Error::Invalid`] for an unknown snapshot.
pub async fn scan(table: &LoadedTable, snapshot_id: Option<i64>, filter: Option<&crate::Filter>) -> Result<LiveFiles> {
    let Some(snapshot_id) = snapshot_id else { return Ok(LiveFiles::default()) };
    let snapshot = table.metadata.snapshot_by_id(snapshot_id).ok_or_else(|| {
        Error::Invalid(format!("table {} has no snapshot {snapshot_id} (expired, or never existed)", table.name))
    })?;
    let manifests = load_manifest_list(table, snapshot).await?;
    let mut collector = Collector::new(table, filter);
    for manifest in &manifests {
        collector.add_manifest(manifest).await?;
    }
    Ok(collector.finish(manifests))
}

#[cfg(test)]
mod tests;
