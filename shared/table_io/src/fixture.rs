//! Small tables in memory for this crate's tests, written by the library's own writers.

use std::{collections::BTreeMap, sync::Arc};

use futures::executor::block_on;
use iceberg::{
    io::FileIO,
    spec::{
        DataContentType, DataFile, DataFileBuilder, DataFileFormat, ManifestFile, ManifestListWriter, ManifestWriter,
        ManifestWriterBuilder, Struct, TableMetadata,
    },
};
use model::{FileFormat, Partition};
use ports::LoadedTable;
use serde_json::{Value, json};

use crate::scan::{LiveDataFile, LiveDeleteFile, LiveDeletes};

pub(crate) const SNAPSHOT: i64 = 77;
pub(crate) const SEQUENCE: i64 = 9;
pub(crate) const NEXT: i64 = 78;

/// `id long, name string, day date, price decimal(9,2), score double, at timestamp, ok boolean, part.zone string`.
pub(crate) fn fields() -> Value {
    let zone = json!({"id": 8, "name": "zone", "required": false, "type": "string"});
    json!([
        {"id": 1, "name": "id", "required": false, "type": "long"},
        {"id": 2, "name": "name", "required": false, "type": "string"},
        {"id": 3, "name": "day", "required": false, "type": "date"},
        {"id": 4, "name": "price", "required": false, "type": "decimal(9,2)"},
        {"id": 5, "name": "score", "required": false, "type": "double"},
        {"id": 6, "name": "at", "required": false, "type": "timestamp"},
        {"id": 9, "name": "ok", "required": false, "type": "boolean"},
        {"id": 7, "name": "part", "required": false, "type": {"type": "struct", "fields": [zone]}},
    ])
}

pub(crate) fn field(source_id: i32, field_id: i32, name: &str, transform: &str) -> Value {
    json!({"source-id": source_id, "field-id": field_id, "name": name, "transform": transform})
}

/// A table of spec 0 with one snapshot on `main`, its manifest list at `memory:/list.avro`.
pub(crate) fn table(version: u8, spec: Value) -> LoadedTable {
    let schema = json!({"type": "struct", "schema-id": 0, "fields": fields()});
    table_of(version, json!([schema]), json!([{"spec-id": 0, "fields": spec}]))
}

/// The same with several schemas, the last one current, and several specs.
pub(crate) fn table_of(version: u8, schemas: Value, specs: Value) -> LoadedTable {
    let current = schemas.as_array().unwrap().last().unwrap()["schema-id"].clone();
    let mut snapshot = json!({"snapshot-id": SNAPSHOT, "sequence-number": SEQUENCE, "timestamp-ms": 1_700_000_000_000_i64,
        "manifest-list": "memory:/list.avro", "summary": {"operation": "append"}, "schema-id": current});
    if version == 3 {
        snapshot["first-row-id"] = json!(0);
        snapshot["added-rows"] = json!(0);
    }
    let metadata = json!({
        "format-version": version, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "memory:/t",
        "last-sequence-number": SEQUENCE, "last-updated-ms": 1_700_000_000_000_i64, "last-column-id": 9,
        "schemas": schemas, "current-schema-id": current, "partition-specs": specs, "default-spec-id": 0,
        "last-partition-id": 1100, "properties": {}, "current-snapshot-id": SNAPSHOT, "snapshots": [snapshot],
        "snapshot-log": [], "metadata-log": [], "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0, "next-row-id": 5000,
        "refs": {"main": {"snapshot-id": SNAPSHOT, "type": "branch"}, "v1": {"snapshot-id": SNAPSHOT, "type": "tag"}},
    });
    loaded(metadata)
}

pub(crate) fn loaded(metadata: Value) -> LoadedTable {
    let metadata: TableMetadata = serde_json::from_value(metadata).unwrap();
    LoadedTable {
        name: "db.t".parse().unwrap(),
        metadata_location: "memory:/t/metadata/v1.metadata.json".to_owned(),
        metadata: Arc::new(metadata),
        file_io: FileIO::new_with_memory(),
    }
}

pub(crate) fn file(path: &str, content: DataContentType, tuple: Struct) -> DataFileBuilder {
    let mut file = DataFileBuilder::default();
    file.content(content).file_path(path.to_owned()).file_format(DataFileFormat::Parquet);
    file.partition(tuple).record_count(10).file_size_in_bytes(100);
    file
}

pub(crate) fn data(path: &str) -> DataFile {
    file(path, DataContentType::Data, Struct::empty()).build().unwrap()
}

/// A writer of a manifest at `path` with schema 0 and spec `spec_id` of `table`.
pub(crate) fn manifest(table: &LoadedTable, path: &str, spec_id: i32) -> ManifestWriterBuilder {
    manifest_of(table, path, spec_id, Some(SNAPSHOT))
}

/// The same, with entries that store `snapshot_id`; `None` leaves it to inheritance.
pub(crate) fn manifest_of(
    table: &LoadedTable,
    path: &str,
    spec_id: i32,
    snapshot_id: Option<i64>,
) -> ManifestWriterBuilder {
    let output = table.file_io.new_output(path).unwrap();
    let schema = table.metadata.schema_by_id(0).unwrap().clone();
    let spec = table.metadata.partition_spec_by_id(spec_id).unwrap().as_ref().clone();
    ManifestWriterBuilder::new(output, snapshot_id, schema, spec)
}

/// Writes the manifest as one that the list gives sequence number `sequence_number`.
pub(crate) fn finish(writer: ManifestWriter, sequence_number: i64) -> ManifestFile {
    let mut manifest = block_on(writer.write_manifest_file()).unwrap();
    manifest.sequence_number = sequence_number;
    manifest.min_sequence_number = sequence_number;
    manifest
}

/// Writes the manifest list of the table's snapshot.
pub(crate) fn list(table: &LoadedTable, manifests: impl IntoIterator<Item = ManifestFile>) {
    list_of(table, version(table), "memory:/list.avro", (SNAPSHOT, SEQUENCE), manifests);
}

fn version(table: &LoadedTable) -> u8 {
    table.metadata.format_version() as u8
}

/// The same as a table of v2 has it, whatever the version of this one: without row ids.
pub(crate) fn list_v2(table: &LoadedTable, manifests: impl IntoIterator<Item = ManifestFile>) {
    list_of(table, 2, "memory:/list.avro", (SNAPSHOT, SEQUENCE), manifests);
}

fn list_of(
    table: &LoadedTable,
    version: u8,
    path: &str,
    (snapshot_id, sequence_number): (i64, i64),
    manifests: impl IntoIterator<Item = ManifestFile>,
) {
    let output = block_on(table.file_io.new_output(path).unwrap().writer()).unwrap();
    let mut writer = match version {
        1 => ManifestListWriter::v1(output, snapshot_id, None),
        2 => ManifestListWriter::v2(output, snapshot_id, None, sequence_number),
        _ => ManifestListWriter::v3(output, snapshot_id, None, sequence_number, Some(1000)),
    };
    writer.add_manifests(manifests.into_iter()).unwrap();
    block_on(writer.close()).unwrap();
}

/// The table after another writer's commit on `main`, whose snapshot has the id [`NEXT`], the next sequence number, and `manifests`.
pub(crate) fn next(
    table: &LoadedTable,
    parent: Option<i64>,
    manifests: impl IntoIterator<Item = ManifestFile>,
) -> LoadedTable {
    list_of(table, version(table), "memory:/next.avro", (NEXT, SEQUENCE + 1), manifests);
    let mut metadata = serde_json::to_value(&*table.metadata).unwrap();
    let mut snapshot = metadata["snapshots"][0].clone();
    snapshot["snapshot-id"] = json!(NEXT);
    snapshot["sequence-number"] = json!(SEQUENCE + 1);
    snapshot["manifest-list"] = json!("memory:/next.avro");
    if let Some(parent) = parent {
        snapshot["parent-snapshot-id"] = json!(parent);
    }
    metadata["snapshots"].as_array_mut().unwrap().push(snapshot);
    metadata["last-sequence-number"] = json!(SEQUENCE + 1);
    metadata["current-snapshot-id"] = json!(NEXT);
    metadata["refs"]["main"]["snapshot-id"] = json!(NEXT);
    metadata["snapshot-log"] = json!([]);
    LoadedTable { file_io: table.file_io.clone(), ..loaded(metadata) }
}

pub(crate) fn partition(spec_id: i32, values: &[(&str, Value)]) -> Arc<Partition> {
    let values: BTreeMap<_, _> = values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    Arc::new(Partition { spec_id, values })
}

pub(crate) fn live_data(path: &str, partition: &Arc<Partition>, sequence_number: i64) -> LiveDataFile {
    LiveDataFile {
        path: path.into(),
        format: FileFormat::Parquet,
        partition: partition.clone(),
        tuple: Arc::new(Struct::empty()),
        size_bytes: 1_000,
        records: 100,
        data_sequence_number: sequence_number,
        file_sequence_number: sequence_number,
        first_row_id: None,
        sort_order_id: None,
        encrypted: false,
        matches_filter: true,
    }
}

pub(crate) fn live_delete(
    path: &str,
    deletes: LiveDeletes,
    partition: &Arc<Partition>,
    sequence_number: i64,
) -> LiveDeleteFile {
    LiveDeleteFile {
        path: path.into(),
        format: FileFormat::Parquet,
        deletes,
        partition: partition.clone(),
        global: partition.values.is_empty(),
        size_bytes: 50,
        records: 5,
        data_sequence_number: sequence_number,
        encrypted: false,
    }
}
