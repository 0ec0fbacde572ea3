//! The manifests and the manifest list of a rewrite (rewrite rules D.2, D.5, D.6).

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use iceberg::spec::{
    DataFile, DataFileBuilder, FormatVersion, Manifest, ManifestContentType, ManifestEntry, ManifestEntryRef,
    ManifestFile, ManifestListWriter, ManifestMetadata, ManifestStatus, ManifestWriter, ManifestWriterBuilder,
    PartitionSpec, SchemaRef,
};
use ports::LoadedTable;

use super::{Change, Rewrite, identity, validate::output_sequence_number};
use crate::{
    error::{Error, Result},
    manifest::load_entries,
    scan::LiveDataFile,
};

/// Entries in one manifest, at most. An entry of a table with many columns takes about 2 KB, so that a manifest stays near
/// Iceberg's default target of 8 MiB.
const ENTRIES_MAX: usize = 4_000;

/// A manifest list that was written.
pub(super) struct WrittenList {
    pub(super) path: String,
    pub(super) sequence_number: i64,
    /// v3: first row id of the snapshot, and rows that got one.
    pub(super) row_range: Option<(u64, u64)>,
}

type DeleteIdentity = (Arc<str>, Option<(u64, u64)>);

/// Writes every manifest that changes and the list; `written` names them as they come, for whoever cleans up.
pub(super) async fn write(
    table: &LoadedTable,
    rewrite: &Rewrite,
    change: &Change,
    written: &mut Vec<String>,
) -> Result<WrittenList> {
    let mut writer = Manifests { table, rewrite, written, number: 0 };
    let mut list = writer.added().await?;
    let (affected, kept) = affected(table, change).await?;
    list.extend(writer.rewritten(change, affected).await?);
    list.extend(kept);
    writer.list(change, list).await
}

/// Manifests that hold something that leaves, and those that stay as they are. Manifests without live entries are dropped.
async fn affected(table: &LoadedTable, change: &Change) -> Result<(Vec<ManifestFile>, Vec<ManifestFile>)> {
    let data: HashSet<&str> = change.removed.iter().map(|file| file.path.as_ref()).collect();
    let deletes: HashSet<&str> = change.dead.iter().map(|file| file.path.as_ref()).collect();
    let (mut affected, mut kept) = (Vec::new(), Vec::new());
    for manifest in &change.live.manifests {
        let leaving = if manifest.content == ManifestContentType::Data { &data } else { &deletes };
        if manifest.added_files_count == Some(0) && manifest.existing_files_count == Some(0) {
            continue;
        }
        let entries =
            if leaving.is_empty() { Vec::new() } else { load_entries(table, manifest, &BTreeSet::new()).await? };
        if entries.iter().any(|entry| entry.is_alive() && leaving.contains(entry.file_path())) {
            affected.push(manifest.clone());
        } else {
            kept.push(manifest.clone());
        }
    }
    Ok((affected, kept))
}

struct Manifests<'a> {
    table: &'a LoadedTable,
    rewrite: &'a Rewrite,
    written: &'a mut Vec<String>,
    number: usize,
}

impl Manifests<'_> {
    /// Manifests of the outputs, by spec.
    async fn added(&mut self) -> Result<Vec<ManifestFile>> {
        let mut by_spec: BTreeMap<i32, Vec<DataFile>> = BTreeMap::new();
        for output in &self.rewrite.added {
            by_spec.entry(output.spec_id).or_default().push(output.file.clone());
        }
        let sequence_number = output_sequence_number(self.table, self.rewrite);
        let mut manifests = Vec::new();
        for (spec_id, files) in by_spec {
            let spec = self.table.metadata.partition_spec_by_id(spec_id);
            let spec = spec.ok_or_else(|| Error::Invalid(format!("no partition spec {spec_id}")))?.as_ref().clone();
            let schema = Arc::clone(self.table.metadata.current_schema());
            for part in files.chunks(ENTRIES_MAX) {
                let (path, mut writer) = self.writer(schema.clone(), spec.clone(), ManifestContentType::Data)?;
                for file in part {
                    writer.add_file(file.clone(), sequence_number).map_err(|e| Error::write(&path, e))?;
                }
                manifests.push(close(&path, writer).await?);
            }
        }
        Ok(manifests)
    }

    /// What the affected manifests hold, written again: those of one content, schema and spec together, so that their number
    /// shrinks with every commit.
    async fn rewritten(&mut self, change: &Change, affected: Vec<ManifestFile>) -> Result<Vec<ManifestFile>> {
        let mut families: BTreeMap<String, (ManifestMetadata, Vec<ManifestEntryRef>)> = BTreeMap::new();
        for file in affected {
            let path = &file.manifest_path;
            let manifest = file.load_manifest(&self.table.file_io).await.map_err(|e| Error::read(path, e))?;
            let (entries, metadata) = Manifest::into_parts(manifest);
            let family = format!("{:?}/{}/{:?}", file.content, file.partition_spec_id, metadata);
            families.entry(family).or_insert_with(|| (metadata, Vec::new())).1.extend(entries);
        }
        let leaving = Leaving::of(change);
        let mut manifests = Vec::new();
        for (metadata, mut entries) in families.into_values() {
            entries.retain(|entry| entry.is_alive());
            for part in entries.chunks(ENTRIES_MAX) {
                let (schema, spec) = (Arc::clone(metadata.schema()), metadata.partition_spec().clone());
                let (path, mut writer) = self.writer(schema, spec, *metadata.content())?;
                for entry in part {
                    leaving.write(&mut writer, entry, &path)?;
                }
                manifests.push(close(&path, writer).await?);
            }
        }
        Ok(manifests)
    }

    fn writer(
        &mut self,
        schema: SchemaRef,
        spec: PartitionSpec,
        content: ManifestContentType,
    ) -> Result<(String, ManifestWriter)> {
        let path = format!("{}/{}-m{}.avro", metadata_folder(self.table), self.rewrite.attempt_id, self.number);
        self.number += 1;
        let output = self.table.file_io.new_output(&path).map_err(|e| Error::write(&path, e))?;
        self.written.push(path.clone());
        let builder = ManifestWriterBuilder::new(output, Some(self.rewrite.snapshot_id), schema, spec);
        let writer = match (self.table.metadata.format_version(), content) {
            (FormatVersion::V1, _) => builder.build_v1(),
            (FormatVersion::V2, ManifestContentType::Data) => builder.build_v2_data(),
            (FormatVersion::V2, ManifestContentType::Deletes) => builder.build_v2_deletes(),
            (FormatVersion::V3, ManifestContentType::Data) => builder.build_v3_data(),
            (FormatVersion::V3, ManifestContentType::Deletes) => builder.build_v3_deletes(),
        };
        Ok((path, writer))
    }

    async fn list(&mut self, change: &Change, manifests: Vec<ManifestFile>) -> Result<WrittenList> {
        let metadata = &self.table.metadata;
        let snapshot_id = self.rewrite.snapshot_id;
        let path = format!("{}/snap-{snapshot_id}-{}.avro", metadata_folder(self.table), self.rewrite.attempt_id);
        let output = self.table.file_io.new_output(&path).map_err(|e| Error::write(&path, e))?;
        self.written.push(path.clone());
        let sequence_number = metadata.next_sequence_number();
        let parent = Some(change.head.snapshot_id());
        let first_row_id = metadata.next_row_id();
        let file = output.writer().await.map_err(|e| Error::write(&path, e))?;
        let mut writer = match metadata.format_version() {
            FormatVersion::V1 => ManifestListWriter::v1(file, snapshot_id, parent),
            FormatVersion::V2 => ManifestListWriter::v2(file, snapshot_id, parent, sequence_number),
            FormatVersion::V3 => ManifestListWriter::v3(file, snapshot_id, parent, sequence_number, Some(first_row_id)),
        };
        writer.add_manifests(manifests.into_iter()).map_err(|e| Error::write(&path, e))?;
        let row_range = writer.next_row_id().map(|next| (first_row_id, next.saturating_sub(first_row_id)));
        writer.close().await.map_err(|e| Error::write(&path, e))?;
        let is_v1 = metadata.format_version() == FormatVersion::V1;
        Ok(WrittenList { path, sequence_number: if is_v1 { 0 } else { sequence_number }, row_range })
    }
}

async fn close(path: &str, writer: ManifestWriter) -> Result<ManifestFile> {
    writer.write_manifest_file().await.map_err(|e| Error::write(path, e))
}

/// What leaves, for the entries of a manifest that is written again.
struct Leaving<'a> {
    data: HashSet<&'a str>,
    deletes: HashSet<DeleteIdentity>,
    live: HashMap<&'a str, &'a LiveDataFile>,
}

impl<'a> Leaving<'a> {
    fn of(change: &'a Change) -> Self {
        Self {
            data: change.removed.iter().map(|file| file.path.as_ref()).collect(),
            deletes: change.dead.iter().map(|delete| identity(delete)).collect(),
            live: change.live.data.iter().map(|file| (file.path.as_ref(), file.as_ref())).collect(),
        }
    }

    fn takes(&self, file: &DataFile) -> bool {
        match self.live.get(file.file_path()) {
            Some(live) => self.data.contains(live.path.as_ref()),
            None => {
                let unsigned = |value: Option<i64>| value.and_then(|it| u64::try_from(it).ok());
                let place = unsigned(file.content_offset()).zip(unsigned(file.content_size_in_bytes()));
                self.deletes.contains(&(file.file_path().into(), place))
                    || self.deletes.contains(&(file.file_path().into(), None))
            }
        }
    }

    fn write(&self, writer: &mut ManifestWriter, entry: &ManifestEntry, path: &str) -> Result<()> {
        let sequence_number = entry.sequence_number().unwrap_or(0);
        let file_sequence_number = Some(entry.file_sequence_number.unwrap_or(sequence_number));
        let file = self.with_row_id(entry.data_file()).map_err(|reason| Error::corrupt(path, reason))?;
        let result = if self.takes(&file) {
            writer.add_delete_file(file, sequence_number, file_sequence_number)
        } else {
            debug_assert_ne!(entry.status(), ManifestStatus::Deleted);
            writer.add_existing_file(file, entry.snapshot_id().unwrap_or(0), sequence_number, file_sequence_number)
        };
        result.map_err(|e| Error::write(path, e))
    }

    /// The entry's file with its inherited `first_row_id` written out: its place in the manifest changes.
    fn with_row_id(&self, file: &DataFile) -> std::result::Result<DataFile, String> {
        let inherited = self.live.get(file.file_path()).and_then(|live| live.first_row_id);
        if file.first_row_id() == inherited || inherited.is_none() {
            return Ok(file.clone());
        }
        let mut builder = DataFileBuilder::default();
        builder
            .content(file.content_type())
            .file_path(file.file_path().to_owned())
            .file_format(file.file_format())
            .partition(file.partition().clone())
            .record_count(file.record_count())
            .file_size_in_bytes(file.file_size_in_bytes())
            .column_sizes(file.column_sizes().clone())
            .value_counts(file.value_counts().clone())
            .null_value_counts(file.null_value_counts().clone())
            .nan_value_counts(file.nan_value_counts().clone())
            .lower_bounds(file.lower_bounds().clone())
            .upper_bounds(file.upper_bounds().clone())
            .key_metadata(file.key_metadata().map(<[u8]>::to_vec))
            .split_offsets(file.split_offsets().map(<[i64]>::to_vec))
            .equality_ids(file.equality_ids())
            .first_row_id(inherited)
            .referenced_data_file(file.referenced_data_file())
            .content_offset(file.content_offset())
            .content_size_in_bytes(file.content_size_in_bytes());
        if let Some(order) = file.sort_order_id() {
            builder.sort_order_id(order);
        }
        builder.build().map_err(|error| format!("{}: {error}", file.file_path()))
    }
}

/// Where metadata files go: `write.metadata.path`, else `metadata` under the table's location.
fn metadata_folder(table: &LoadedTable) -> String {
    let metadata = &table.metadata;
    match metadata.properties().get("write.metadata.path") {
        Some(path) => path.trim_end_matches('/').to_owned(),
        None => format!("{}/metadata", metadata.location().trim_end_matches('/')),
    }
}
