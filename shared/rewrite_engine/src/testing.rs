//! Small tables in memory for this crate's tests, their files written by the `parquet` crate directly.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use bytes::Bytes;
use futures::executor::block_on;
use iceberg::{io::FileIO, spec::Struct};
use model::{FileFormat, Partition};
use parquet::{arrow::ArrowWriter, file::properties::WriterProperties};
use ports::LoadedTable;
use serde_json::{Value, json};
use table_io::{FileDeletes, LiveDataFile, LiveDeleteFile, LiveDeletes};

use crate::{Control, GroupOutput, Limits, Result, RewriteInput, RewriteJob, rewrite_group};

/// A table at `memory:/t` with the given schemas (the last one is current), specs (the last one is default) and properties.
pub(crate) fn table(version: u8, schemas: &[Value], specs: &[Value], properties: &[(&str, &str)]) -> LoadedTable {
    let schemas: Vec<Value> = schemas
        .iter()
        .enumerate()
        .map(|(id, fields)| json!({"type": "struct", "schema-id": id, "fields": fields}))
        .collect();
    let specs: Vec<Value> =
        specs.iter().enumerate().map(|(id, fields)| json!({"spec-id": id, "fields": fields})).collect();
    let properties: HashMap<&str, &str> = properties.iter().copied().collect();
    let metadata = json!({
        "format-version": version, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "memory:/t",
        "last-sequence-number": 9, "last-updated-ms": 1_700_000_000_000_i64, "last-column-id": 99,
        "schemas": schemas, "current-schema-id": schemas.len() - 1, "partition-specs": specs,
        "default-spec-id": specs.len() - 1, "last-partition-id": 1100, "properties": properties, "next-row-id": 5000,
        "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0,
    });
    LoadedTable {
        name: "db.t".parse().unwrap(),
        metadata_location: "memory:/t/metadata/v1.metadata.json".to_owned(),
        metadata: Arc::new(serde_json::from_value(metadata).unwrap()),
        file_io: FileIO::new_with_memory(),
    }
}

/// An unpartitioned table of one schema.
pub(crate) fn plain_table(version: u8, fields: Value) -> LoadedTable {
    table(version, &[fields], &[json!([])], &[])
}

pub(crate) fn optional(id: i32, name: &str, data_type: impl Into<Value>) -> Value {
    json!({"id": id, "name": name, "required": false, "type": data_type.into()})
}

/// A nullable column with a field id.
pub(crate) fn column(id: i32, name: &str, values: impl arrow_array::Array + 'static) -> (Field, ArrayRef) {
    let field = Field::new(name, values.data_type().clone(), true);
    (with_id(field, id), Arc::new(values))
}

pub(crate) fn with_id(field: Field, id: i32) -> Field {
    field.with_metadata([("PARQUET:field_id".to_owned(), id.to_string())].into())
}

pub(crate) fn batch(columns: Vec<(Field, ArrayRef)>) -> RecordBatch {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    RecordBatch::try_new(Arc::new(ArrowSchema::new(fields)), arrays).unwrap()
}

pub(crate) fn store(table: &LoadedTable, path: &str, bytes: impl Into<Bytes>) {
    block_on(table.file_io.new_output(path).unwrap().write(bytes.into())).unwrap();
}

pub(crate) fn fetch(table: &LoadedTable, path: &str) -> Bytes {
    block_on(table.file_io.new_input(path).unwrap().read()).unwrap()
}

pub(crate) fn parquet_bytes(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

/// Writes `batch` as the data file `path` of spec 0 with data sequence number `sequence_number`.
pub(crate) fn data_file(table: &LoadedTable, path: &str, batch: &RecordBatch, sequence_number: i64) -> RewriteInput {
    let bytes = parquet_bytes(batch, WriterProperties::default());
    let size_bytes = bytes.len() as u64;
    store(table, path, bytes);
    let file = LiveDataFile {
        path: path.into(),
        format: FileFormat::Parquet,
        partition: partition(0),
        tuple: Arc::new(Struct::empty()),
        size_bytes,
        records: batch.num_rows() as u64,
        data_sequence_number: sequence_number,
        file_sequence_number: sequence_number,
        first_row_id: None,
        sort_order_id: None,
        encrypted: false,
        matches_filter: true,
    };
    RewriteInput { file: Arc::new(file), deletes: FileDeletes::default() }
}

pub(crate) fn partition(spec_id: i32) -> Arc<Partition> {
    Arc::new(Partition { spec_id, values: Default::default() })
}

/// Writes `batch` as the delete file `path`.
pub(crate) fn delete_file(
    table: &LoadedTable,
    path: &str,
    batch: &RecordBatch,
    deletes: LiveDeletes,
    sequence_number: i64,
) -> Arc<LiveDeleteFile> {
    let bytes = parquet_bytes(batch, WriterProperties::default());
    let size_bytes = bytes.len() as u64;
    store(table, path, bytes);
    Arc::new(LiveDeleteFile {
        path: path.into(),
        format: FileFormat::Parquet,
        deletes,
        partition: partition(0),
        global: true,
        size_bytes,
        records: batch.num_rows() as u64,
        data_sequence_number: sequence_number,
        encrypted: false,
    })
}

/// Equality deletes on the columns of `batch`.
pub(crate) fn equality_deletes(
    table: &LoadedTable,
    path: &str,
    ids: &[i32],
    batch: &RecordBatch,
    sequence_number: i64,
) -> Arc<LiveDeleteFile> {
    delete_file(table, path, batch, LiveDeletes::Equality { field_ids: ids.to_vec() }, sequence_number)
}

pub(crate) fn job(inputs: Vec<RewriteInput>) -> RewriteJob {
    RewriteJob {
        group_id: "g".to_owned(),
        attempt_id: "a".to_owned(),
        inputs,
        output_spec_id: 0,
        target_file_size_bytes: 512 * 1024 * 1024,
        expected_output_bytes: 1,
        expected_output_files: 1,
    }
}

pub(crate) fn rewritten(table: &LoadedTable, job: &RewriteJob) -> Result<GroupOutput> {
    rewrite_group(table, job, Limits::default(), &Control::default())
}

/// The rows of a file as the `parquet` crate reads it, in one batch.
pub(crate) fn rows_of(table: &LoadedTable, path: &str) -> RecordBatch {
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(fetch(table, path)).unwrap();
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader.with_batch_size(1 << 20).build().unwrap().map(|it| it.unwrap()).collect();
    arrow_select::concat::concat_batches(&schema, &batches).unwrap()
}

/// The rows of all outputs of a group, file after file.
pub(crate) fn output_rows(table: &LoadedTable, output: &GroupOutput) -> RecordBatch {
    let batches: Vec<RecordBatch> = output.files.iter().map(|it| rows_of(table, it.file.file_path())).collect();
    arrow_select::concat::concat_batches(&batches[0].schema(), &batches).unwrap()
}

/// A column of longs as options.
pub(crate) fn longs(batch: &RecordBatch, name: &str) -> Vec<Option<i64>> {
    let column = batch.column_by_name(name).unwrap();
    assert_eq!(column.data_type(), &DataType::Int64);
    arrow_array::cast::AsArray::as_primitive::<arrow_array::types::Int64Type>(column).iter().collect()
}
