//! The manifests and the manifest list of a rewrite (rewrite rules D.2, D.5, D.6).

mod family;
mod leaving;
mod policy;

use std::{collections::BTreeMap, sync::Arc};

use iceberg::spec::{
    DataFile, FormatVersion, ManifestContentType, ManifestFile, ManifestListWriter, ManifestWriter,
    ManifestWriterBuilder, PartitionSpec, SchemaRef,
};
use ports::LoadedTable;

use self::{family::Families, leaving::Leaving, policy::MergePolicy};
use super::{Change, Rewrite, identity, validate::output_sequence_number};
use crate::error::{Error, Result};

/// Entries in one manifest, at most. An entry of a table with many columns takes about 2 KB, so that a manifest stays near
/// Iceberg's default target of 8 MiB, and little memory is needed to write one.
const ENTRIES_MAX: usize = 4_000;

/// A manifest list that was written.
pub(super) struct WrittenList {
    pub(super) path: String,
    pub(super) sequence_number: i64,
    /// v3: first row id of the snapshot, and rows that got one.
    pub(super) row_range: Option<(u64, u64)>,
}

/// Writes every manifest that changes and the list; `written` names them as they come, for whoever cleans up.
pub(super) async fn write(
    table: &LoadedTable,
    rewrite: &Rewrite,
    change: &Change,
    written: &mut Vec<String>,
) -> Result<WrittenList> {
    let mut manifests = Manifests { table, rewrite, written, number: 0 };
    let mut list = manifests.added().await?;
    let leaving = Leaving::of(change);
    let (again, kept) = sort_out(table, change, &leaving, &list);
    list.extend(manifests.rewritten(&leaving, &again).await?);
    list.extend(kept);
    manifests.list(change, list).await
}

/// Manifests that are written again, because something leaves them or to merge them, and those that stay as they are.
/// Manifests without live entries are dropped.
fn sort_out(
    table: &LoadedTable,
    change: &Change,
    leaving: &Leaving<'_>,
    added: &[ManifestFile],
) -> (Vec<ManifestFile>, Vec<ManifestFile>) {
    let live = change.live.by_manifest().filter(|(_, data, deletes)| !(data.is_empty() && deletes.is_empty()));
    let (mut again, mut kept) = (Vec::new(), Vec::new());
    for (manifest, data, deletes) in live {
        let loses = data.iter().any(|file| leaving.has_data(&file.path))
            || deletes.iter().any(|delete| leaving.has_delete(&identity(delete)));
        if loses { again.push(manifest.clone()) } else { kept.push(manifest.clone()) }
    }
    let policy = MergePolicy::of(table.metadata.properties());
    let (merged, kept) = policy.merge(kept, added.len() + again.len());
    again.extend(merged);
    (again, kept)
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

    /// What the manifests `again` hold, written again: those of one content, schema and spec together, so that their number
    /// shrinks with every commit. One is in memory at a time.
    async fn rewritten(&mut self, leaving: &Leaving<'_>, again: &[ManifestFile]) -> Result<Vec<ManifestFile>> {
        let mut families = Families::default();
        for file in again {
            families.copy(self, leaving, file).await?;
        }
        families.close().await
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

/// Where metadata files go: `write.metadata.path`, else `metadata` under the table's location.
fn metadata_folder(table: &LoadedTable) -> String {
    let metadata = &table.metadata;
    match metadata.properties().get("write.metadata.path") {
        Some(path) => path.trim_end_matches('/').to_owned(),
        None => format!("{}/metadata", metadata.location().trim_end_matches('/')),
    }
}
