//! Rows of Parquet data files, resolved by field id into the table's current schema, deletes applied.

mod deletes;
mod keys;
mod literal;
mod resolve;
mod vector;

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, cast::AsArray, types::Int64Type,
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use bytes::Bytes;
use iceberg::spec::Schema;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use ports::LoadedTable;

use deletes::FileFilter;
pub use deletes::GroupDeletes;
pub(crate) use keys::{KeyEncoder, one_nan};
pub(crate) use resolve::field_id;
use resolve::{Absent, Columns};

use crate::{
    control::Control,
    error::{Error, Result},
    rewrite::RewriteInput,
};

/// Field id of `_row_id` (Iceberg spec, "Reserved field ids").
pub(crate) const ROW_ID: i32 = 2_147_483_540;
/// Field id of `_last_updated_sequence_number`.
pub(crate) const LAST_UPDATED_SEQUENCE_NUMBER: i32 = 2_147_483_539;
/// Rows of one batch, at most.
const BATCH_ROWS_MAX: usize = 8_192;
/// Uncompressed bytes that one batch should stay below.
const BATCH_BYTES: u64 = 8 * 1024 * 1024;

/// The Arrow schema of every batch: the table's current schema with field ids (`PARQUET:field_id`) at every depth, and for v3
/// tables `_row_id` (2147483540) and `_last_updated_sequence_number` (2147483539) as the last two columns.
///
/// int → Int32, long → Int64, float, double, boolean, decimal(p,s) → Decimal128, date → Date32, time → Time64(µs),
/// timestamp[tz] → Timestamp(µs, None | "+00:00"), timestamp[tz]_ns → Timestamp(ns, …), string → Utf8, binary → LargeBinary,
/// uuid → FixedSizeBinary(16), fixed(L) → FixedSizeBinary(L), struct, list, map. Nullability as the schema says.
///
/// # Errors
/// [`crate::Error::Unsupported`] for a type that no rewrite carries.
pub fn arrow_schema(schema: &Schema, with_lineage: bool) -> Result<SchemaRef> {
    let converted = iceberg::arrow::schema_to_arrow_schema(schema);
    let converted = converted
        .map_err(|error| Error::Unsupported { path: "the table's schema".to_owned(), reason: error.to_string() })?;
    let mut fields: Vec<Arc<Field>> = converted.fields().iter().cloned().collect();
    if with_lineage {
        for (name, id) in [("_row_id", ROW_ID), ("_last_updated_sequence_number", LAST_UPDATED_SEQUENCE_NUMBER)] {
            let id = [(resolve::FIELD_ID.to_owned(), id.to_string())].into();
            fields.push(Arc::new(Field::new(name, DataType::Int64, true).with_metadata(id)));
        }
    }
    Ok(Arc::new(ArrowSchema::new(fields)))
}

/// A whole file. Storage futures are driven here: callers are on a blocking thread.
pub(crate) fn read_file(table: &LoadedTable, path: &str) -> Result<Bytes> {
    let read = async { table.file_io.new_input(path)?.read().await };
    futures::executor::block_on(read).map_err(|error| Error::Read { path: path.to_owned(), source: error.into() })
}

pub(crate) fn corrupt(path: &str, reason: impl ToString) -> Error {
    Error::Corrupt { path: path.to_owned(), reason: reason.to_string() }
}

/// An open Parquet file.
pub(crate) struct ParquetFile {
    bytes: Bytes,
    metadata: ArrowReaderMetadata,
    /// The file's schema, every field with its id.
    pub(crate) schema: SchemaRef,
}

impl ParquetFile {
    pub(crate) fn open(table: &LoadedTable, path: &str) -> Result<Self> {
        let bytes = read_file(table, path)?;
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let metadata = ArrowReaderMetadata::load(&bytes, options.clone()).map_err(|error| match error {
            parquet::errors::ParquetError::General(text) if text.contains("encrypt") => {
                Error::Unsupported { path: path.to_owned(), reason: text }
            }
            other => corrupt(path, format!("is no readable Parquet file: {other}")),
        })?;
        let metadata = match resolve::without_int96(metadata.parquet_schema(), metadata.schema()) {
            None => metadata,
            Some(schema) => {
                ArrowReaderMetadata::load(&bytes, options.with_schema(schema)).map_err(|e| corrupt(path, e))?
            }
        };
        let schema = resolve::with_ids(metadata.schema(), &table.metadata).map_err(|reason| corrupt(path, reason))?;
        Ok(Self { bytes, metadata, schema })
    }

    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Decodes the first row group, every column.
    pub(crate) fn check_first_row_group(&self, path: &str) -> Result<()> {
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone());
        let first: Vec<usize> = (0..builder.metadata().num_row_groups()).take(1).collect();
        let reader = builder.with_row_groups(first).with_limit(BATCH_ROWS_MAX).build().map_err(|e| corrupt(path, e))?;
        for batch in reader {
            batch.map_err(|error| corrupt(path, error))?;
        }
        Ok(())
    }

    /// Reads the top-level columns at `roots`.
    pub(crate) fn reader(&self, roots: &[usize], path: &str) -> Result<ParquetRecordBatchReader> {
        let mask = parquet::arrow::ProjectionMask::roots(self.metadata.parquet_schema(), roots.iter().copied());
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.bytes.clone(), self.metadata.clone());
        builder.with_projection(mask).with_batch_size(self.batch_rows()).build().map_err(|e| corrupt(path, e))
    }

    fn batch_rows(&self) -> usize {
        let groups = self.metadata.metadata().row_groups();
        let bytes: u64 = groups.iter().map(|group| u64::try_from(group.total_byte_size()).unwrap_or(0)).sum();
        let per_row = (bytes / self.rows().max(1)).max(1);
        usize::try_from(BATCH_BYTES / per_row).unwrap_or(BATCH_ROWS_MAX).clamp(64, BATCH_ROWS_MAX)
    }
}

/// The live rows of one file, batch by batch.
///
/// A column whose schema type is Utf8 or Binary may arrive as a dictionary or view array of the same values.
pub struct FileRows {
    path: String,
    reader: ParquetRecordBatchReader,
    columns: Columns,
    schema: SchemaRef,
    filter: FileFilter,
    lineage: Option<Lineage>,
    position: u64,
    deleted: u64,
}

impl std::fmt::Debug for FileRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileRows").field("path", &self.path).finish_non_exhaustive()
    }
}

impl FileRows {
    /// Opens `input`: reads its footer, checks its row count against the manifest, resolves its columns.
    ///
    /// # Errors
    /// Any [`crate::Error`], naming the file.
    pub fn open(
        table: &LoadedTable,
        schema: SchemaRef,
        input: &RewriteInput,
        deletes: &GroupDeletes,
        control: &Control,
    ) -> Result<Self> {
        let path = input.file.path.to_string();
        let file = ParquetFile::open(table, &path)?;
        if file.rows() != input.file.records {
            let reason = format!("has {} rows, but its manifest entry says {}", file.rows(), input.file.records);
            return Err(corrupt(&path, reason));
        }
        let filter = deletes.filter(table, input)?;
        let absent = Absent::of(table, &input.file)?;
        let columns = Columns::new(&file.schema, &filter.key_ids(), &schema, absent);
        let reader = file.reader(columns.roots(), &path)?;
        control.add_bytes_read(input.file.size_bytes);
        let has_lineage = schema.fields().iter().any(|field| field_id(field) == Some(ROW_ID));
        let lineage = has_lineage.then(|| Lineage {
            first_row_id: input.file.first_row_id,
            sequence_number: input.file.data_sequence_number,
        });
        Ok(Self { path, reader, columns, schema, filter, lineage, position: 0, deleted: 0 })
    }

    /// Rows that deletes have taken out so far; exact once the iterator is exhausted.
    #[must_use]
    pub fn deleted(&self) -> u64 {
        self.deleted
    }

    fn resolve(&mut self, raw: &RecordBatch) -> Result<RecordBatch> {
        let rows = raw.num_rows();
        let keep = self.filter.keep(raw, &self.columns, self.position).map_err(|reason| corrupt(&self.path, reason))?;
        let mut arrays = Vec::with_capacity(self.schema.fields().len());
        for field in self.schema.fields() {
            let array = self.columns.column(raw, field).map_err(|reason| corrupt(&self.path, reason))?;
            arrays.push(match &self.lineage {
                Some(lineage) => lineage.fill(field, array, self.position),
                None => array,
            });
        }
        self.position += rows as u64;
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options);
        let batch = batch.map_err(|error| corrupt(&self.path, error))?;
        let Some(keep) = keep else { return Ok(batch) };
        let kept = keep.true_count();
        self.deleted += (rows - kept) as u64;
        filter_record_batch(&batch, &keep).map_err(|error| corrupt(&self.path, error))
    }
}

impl Iterator for FileRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let batch = match self.reader.next()? {
                Ok(raw) => self.resolve(&raw),
                Err(error) => Err(corrupt(&self.path, error)),
            };
            match batch {
                Ok(batch) if batch.num_rows() == 0 => {}
                other => return Some(other),
            }
        }
    }
}

/// Row lineage of one file (rule C.4): what is not stored is inherited.
struct Lineage {
    first_row_id: Option<i64>,
    sequence_number: i64,
}

impl Lineage {
    fn fill(&self, field: &Field, array: ArrayRef, position: u64) -> ArrayRef {
        let inherited: Box<dyn Fn(usize) -> Option<i64>> = match field_id(field) {
            Some(ROW_ID) => {
                let first = self.first_row_id.map(|id| id.saturating_add(i64::try_from(position).unwrap_or(i64::MAX)));
                Box::new(move |row| first.map(|id| id.saturating_add(row as i64)))
            }
            Some(LAST_UPDATED_SEQUENCE_NUMBER) => {
                let number = self.first_row_id.map(|_| self.sequence_number);
                Box::new(move |_| number)
            }
            _ => return array,
        };
        let Some(stored) = array.as_primitive_opt::<Int64Type>() else { return array };
        Arc::new(stored.iter().enumerate().map(|(row, value)| value.or_else(|| inherited(row))).collect::<Int64Array>())
    }
}

/// A filter that keeps what is not deleted, or `None` when everything stays.
pub(crate) fn keep_mask(deleted: &[bool]) -> Option<BooleanArray> {
    deleted.contains(&true).then(|| deleted.iter().map(|it| Some(!it)).collect())
}
