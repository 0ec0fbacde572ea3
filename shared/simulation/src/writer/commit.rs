//! One snapshot of another writer.

use std::{collections::HashMap, sync::Arc};

use futures::executor::block_on;
use iceberg::{
    TableRequirement, TableUpdate,
    spec::{
        DataFile, FormatVersion, MAIN_BRANCH, ManifestContentType, ManifestFile, ManifestListWriter, ManifestStatus,
        ManifestWriter, ManifestWriterBuilder, Operation, Snapshot, Summary,
    },
};
use ports::{Catalog, CommitOutcome, LoadedTable};

use super::main_at;
use crate::reader::manifests;

/// What a snapshot changes.
pub(super) struct Change {
    pub(super) operation: Operation,
    /// Spec of what comes.
    pub(super) spec_id: i32,
    pub(super) data: Vec<DataFile>,
    pub(super) deletes: Vec<DataFile>,
    /// Locations of what goes.
    pub(super) removed: Vec<String>,
}

/// Commits `change` as the snapshot `snapshot_id` on `main`.
pub(super) fn commit(catalog: &dyn Catalog, table: &LoadedTable, snapshot_id: i64, change: &Change) {
    let metadata = &table.metadata;
    let head = metadata.current_snapshot();
    let mut manifests = Manifests { table, snapshot_id, number: 0 };
    let mut list: Vec<ManifestFile> = Vec::new();
    for (content, files) in [(ManifestContentType::Data, &change.data), (ManifestContentType::Deletes, &change.deletes)]
    {
        if !files.is_empty() {
            list.push(manifests.of(content, change.spec_id, files));
        }
    }
    for manifest in head.into_iter().flat_map(|head| self::manifests(table, head)) {
        list.extend(manifests.without(manifest, &change.removed));
    }
    let snapshot = manifests.snapshot(head.map(|it| it.snapshot_id()), list, change.operation.clone());
    let requirement = TableRequirement::RefSnapshotIdMatch {
        r#ref: MAIN_BRANCH.to_owned(),
        snapshot_id: head.map(|it| it.snapshot_id()),
    };
    let updates = vec![TableUpdate::AddSnapshot { snapshot }, main_at(snapshot_id)];
    let outcome = block_on(catalog.commit(table, vec![requirement], updates)).unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed { .. }), "{outcome:?}");
}

struct Manifests<'a> {
    table: &'a LoadedTable,
    snapshot_id: i64,
    number: u32,
}

impl Manifests<'_> {
    fn writer(&mut self, content: ManifestContentType, spec_id: i32) -> ManifestWriter {
        let metadata = &self.table.metadata;
        let path = format!("{}/metadata/w{}-m{}.avro", metadata.location(), self.snapshot_id, self.number);
        self.number += 1;
        let output = self.table.file_io.new_output(path).unwrap();
        let schema = Arc::clone(metadata.current_schema());
        let spec = metadata.partition_spec_by_id(spec_id).unwrap().as_ref().clone();
        let builder = ManifestWriterBuilder::new(output, Some(self.snapshot_id), schema, spec);
        match (metadata.format_version(), content) {
            (FormatVersion::V1, _) => builder.build_v1(),
            (FormatVersion::V2, ManifestContentType::Data) => builder.build_v2_data(),
            (FormatVersion::V2, ManifestContentType::Deletes) => builder.build_v2_deletes(),
            (FormatVersion::V3, ManifestContentType::Data) => builder.build_v3_data(),
            (FormatVersion::V3, ManifestContentType::Deletes) => builder.build_v3_deletes(),
        }
    }

    fn of(&mut self, content: ManifestContentType, spec_id: i32, files: &[DataFile]) -> ManifestFile {
        let mut writer = self.writer(content, spec_id);
        files.iter().for_each(|file| writer.add_file(file.clone(), -1).unwrap());
        block_on(writer.write_manifest_file()).unwrap()
    }

    /// `manifest` without the files `removed`: as it is when it has none of them.
    fn without(&mut self, manifest: ManifestFile, removed: &[String]) -> Option<ManifestFile> {
        let loaded = block_on(manifest.load_manifest(&self.table.file_io)).unwrap();
        let live: Vec<_> = loaded.entries().iter().filter(|it| it.status() != ManifestStatus::Deleted).collect();
        let goes = |path: &str| removed.iter().any(|it| it == path);
        if !live.iter().any(|entry| goes(entry.file_path())) {
            return Some(manifest);
        }
        let is_kept_whole = self.table.metadata.format_version() < FormatVersion::V3;
        let mut writer = self.writer(manifest.content, manifest.partition_spec_id);
        for entry in live {
            let (file, sequence_number) = (entry.data_file().clone(), entry.sequence_number().unwrap());
            if goes(entry.file_path()) {
                writer.add_delete_file(file, sequence_number, entry.file_sequence_number).unwrap();
            } else {
                assert!(is_kept_whole, "row ids would be lost: give the file a manifest of its own");
                let snapshot_id = entry.snapshot_id().unwrap();
                writer.add_existing_file(file, snapshot_id, sequence_number, entry.file_sequence_number).unwrap();
            }
        }
        Some(block_on(writer.write_manifest_file()).unwrap())
    }

    fn snapshot(&self, parent: Option<i64>, list: Vec<ManifestFile>, operation: Operation) -> Snapshot {
        let metadata = &self.table.metadata;
        let path = format!("{}/metadata/w{}-list.avro", metadata.location(), self.snapshot_id);
        let (next, first_row_id) = (metadata.next_sequence_number(), metadata.next_row_id());
        let file = block_on(self.table.file_io.new_output(&path).unwrap().writer()).unwrap();
        let mut writer = match metadata.format_version() {
            FormatVersion::V1 => ManifestListWriter::v1(file, self.snapshot_id, parent),
            FormatVersion::V2 => ManifestListWriter::v2(file, self.snapshot_id, parent, next),
            FormatVersion::V3 => ManifestListWriter::v3(file, self.snapshot_id, parent, next, Some(first_row_id)),
        };
        writer.add_manifests(list.into_iter()).unwrap();
        let row_range = writer.next_row_id().map(|after| (first_row_id, after - first_row_id));
        block_on(writer.close()).unwrap();
        let is_v1 = metadata.format_version() == FormatVersion::V1;
        let builder = Snapshot::builder()
            .with_snapshot_id(self.snapshot_id)
            .with_parent_snapshot_id(parent)
            .with_sequence_number(if is_v1 { 0 } else { next })
            .with_timestamp_ms(metadata.last_updated_ms() + 1)
            .with_manifest_list(path)
            .with_summary(Summary { operation, additional_properties: HashMap::new() })
            .with_schema_id(metadata.current_schema_id());
        match row_range {
            Some((first, rows)) => builder.with_row_range(first, rows).build(),
            None => builder.build(),
        }
    }
}
