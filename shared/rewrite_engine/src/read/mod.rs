//! Rows of Parquet data files, resolved by field id into the table's current schema, deletes applied.

mod deletes;
mod equality;
mod filter;
mod keys;
mod literal;
mod promote;
mod resolve;
mod source;
mod vector;

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Int64Array, RecordBatch, RecordBatchOptions, cast::AsArray, types::Int64Type,
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use arrow_select::filter::filter_record_batch;
use iceberg::spec::Schema;
use parquet::{
    arrow::{
        ProjectionMask,
        arrow_reader::{
            ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
        },
    },
    errors::ParquetError,
    file::reader::Length,
};
use ports::LoadedTable;

pub use deletes::GroupDeletes;
use filter::FileFilter;
pub(crate) use keys::{KeyEncoder, one_nan};
use resolve::Absent;
pub(crate) use resolve::{Columns, arrow_type, field_id, with_id};
use source::Source;

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
/// timestamp[tz] → Timestamp(µs, None | "+00:00"), timestamp[tz]_ns → Timestamp(ns, …), string → Utf8View (Utf8 inside other types), binary → LargeBinary,
/// uuid → FixedSizeBinary(16), fixed(L) → FixedSizeBinary(L), struct, list, map. Nullability as the schema says.
///
/// # Errors
/// [`crate::Error::Unsupported`] for a type that no rewrite carries.
pub fn arrow_schema(schema: &Schema, with_lineage: bool) -> Result<SchemaRef> {
    let converted = iceberg::arrow::schema_to_arrow_schema(schema);
    let converted = converted
        .map_err(|error| Error::Unsupported { path: "the table's schema".to_owned(), reason: error.to_string() })?;
    let mut fields: Vec<Arc<Field>> = converted.fields().iter().map(|it| Arc::new(resolve::as_view(it))).collect();
    if with_lineage {
        for (name, id) in [("_row_id", ROW_ID), ("_last_updated_sequence_number", LAST_UPDATED_SEQUENCE_NUMBER)] {
            fields.push(Arc::new(with_id(name, DataType::Int64, id)));
        }
    }
    Ok(Arc::new(ArrowSchema::new(fields)))
}

pub(crate) fn corrupt(path: &str, reason: impl ToString) -> Error {
    Error::Corrupt { path: path.to_owned(), reason: reason.to_string() }
}

/// Runs a step of a decoder, which bad bytes may make fail in any way: a panic is the file's fault too.
fn decoded<T, E: std::fmt::Display>(
    path: &str,
    step: impl FnOnce() -> std::result::Result<T, E>,
) -> std::result::Result<T, Error> {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(step)) {
        Ok(result) => result.map_err(|error| corrupt(path, format!("is no readable Parquet file: {error}"))),
        Err(_) => Err(corrupt(path, "is no readable Parquet file: decoding it panicked")),
    }
}

/// An open Parquet file.
pub(crate) struct ParquetFile {
    path: String,
    source: Source,
    metadata: ArrowReaderMetadata,
    /// The file's schema, every field with its id.
    pub(crate) schema: SchemaRef,
}

impl ParquetFile {
    /// Opens the file at `path`; `size_bytes` is what its manifest entry says.
    pub(crate) fn open(table: &LoadedTable, path: &str, size_bytes: u64) -> Result<Self> {
        Self::new(table, path, Source::open(table, path, size_bytes)?)
    }

    /// Opens a data file and checks its row count against the manifest.
    pub(crate) fn open_data(table: &LoadedTable, input: &RewriteInput) -> Result<Self> {
        let file = Self::open(table, &input.file.path, input.file.size_bytes)?;
        if file.rows() == input.file.records {
            return Ok(file);
        }
        let reason = format!("has {} rows, but its manifest entry says {}", file.rows(), input.file.records);
        Err(corrupt(&input.file.path, reason))
    }

    fn new(table: &LoadedTable, path: &str, source: Source) -> Result<Self> {
        let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
        let load = |options: ArrowReaderOptions| match ArrowReaderMetadata::load(&source, options) {
            Err(ParquetError::General(text)) if text.contains("encrypt") => Ok(Err(text)),
            other => other.map(Ok),
        };
        let unsupported = |reason: String| Error::Unsupported { path: path.to_owned(), reason };
        let metadata = decoded(path, || load(options.clone()))?.map_err(unsupported)?;
        let options = options.with_schema(resolve::to_read(metadata.parquet_schema(), metadata.schema()));
        let metadata = Arc::clone(metadata.metadata());
        let metadata = decoded(path, || ArrowReaderMetadata::try_new(metadata, options))?;
        let schema = resolve::with_ids(metadata.schema(), &table.metadata).map_err(unsupported)?;
        Ok(Self { path: path.to_owned(), source, metadata, schema })
    }

    pub(crate) fn rows(&self) -> u64 {
        u64::try_from(self.metadata.metadata().file_metadata().num_rows()).unwrap_or(0)
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.source.len()
    }

    /// Decodes the start of the first row group, every column.
    pub(crate) fn check_first_row_group(&self) -> Result<()> {
        self.batches(&(0..self.schema.fields().len()).collect::<Vec<_>>())?.next().map_or(Ok(()), |it| it.map(|_| ()))
    }

    /// Reads the top-level columns at `roots`.
    pub(crate) fn batches(&self, roots: &[usize]) -> Result<Batches> {
        let mask = ProjectionMask::roots(self.metadata.parquet_schema(), roots.iter().copied());
        let leaves = (0..self.metadata.parquet_schema().num_columns()).filter(|at| mask.leaf_included(*at)).count();
        self.source.expect_columns(leaves);
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.source.clone(), self.metadata.clone());
        let reader = decoded(&self.path, || builder.with_projection(mask).with_batch_size(self.batch_rows()).build())?;
        Ok(Batches { path: self.path.clone(), reader })
    }

    fn batch_rows(&self) -> usize {
        let groups = self.metadata.metadata().row_groups();
        let bytes: u64 = groups.iter().map(|group| u64::try_from(group.total_byte_size()).unwrap_or(0)).sum();
        let per_row = (bytes / self.rows().max(1)).max(1);
        usize::try_from(BATCH_BYTES / per_row).unwrap_or(BATCH_ROWS_MAX).clamp(64, BATCH_ROWS_MAX)
    }
}

/// Raw batches of a Parquet file.
pub(crate) struct Batches {
    path: String,
    reader: ParquetRecordBatchReader,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        decoded(&self.path, || self.reader.next().transpose()).transpose()
    }
}

/// The live rows of one file, batch by batch.
pub struct FileRows {
    path: String,
    batches: Batches,
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
        let file = ParquetFile::open_data(table, input)?;
        let filter = deletes.filter(table, input)?;
        let absent = Absent::of(table, &input.file)?;
        let columns = Columns::new(&file.schema, &filter.key_ids(), &schema, absent);
        let batches = file.batches(columns.roots())?;
        control.add_bytes_read(input.file.size_bytes);
        let has_lineage = schema.fields().iter().any(|field| field_id(field) == Some(ROW_ID));
        let lineage = has_lineage.then(|| Lineage {
            first_row_id: input.file.first_row_id,
            sequence_number: input.file.data_sequence_number,
        });
        let path = input.file.path.to_string();
        Ok(Self { path, batches, columns, schema, filter, lineage, position: 0, deleted: 0 })
    }

    /// Rows that deletes have taken out so far; exact once the iterator is exhausted.
    #[must_use]
    pub fn deleted(&self) -> u64 {
        self.deleted
    }

    fn resolve(&mut self, raw: &RecordBatch) -> Result<RecordBatch> {
        let rows = raw.num_rows();
        let keep = self.keep(raw)?;
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

    /// A filter that keeps what is not deleted, or `None` when everything stays.
    fn keep(&self, raw: &RecordBatch) -> Result<Option<BooleanArray>> {
        if self.filter.is_empty() {
            return Ok(None);
        }
        let deleted = self.filter.deleted(raw, &self.columns, self.position);
        let deleted = deleted.map_err(|reason| corrupt(&self.path, reason))?;
        Ok(deleted.contains(&true).then(|| BooleanArray::from_iter(deleted.iter().map(|it| Some(!it)))))
    }
}

impl Iterator for FileRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let batch = self.batches.next()?.and_then(|raw| self.resolve(&raw));
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
    /// `array`, what it lacks inherited; `position` is that of its first row in the file.
    fn fill(&self, field: &Field, array: ArrayRef, position: u64) -> ArrayRef {
        let Some(first_row_id) = self.first_row_id else { return array };
        let rows = array.len() as i64;
        let inherited: Int64Array = match field_id(field) {
            Some(ROW_ID) => {
                let first = first_row_id.saturating_add(i64::try_from(position).unwrap_or(i64::MAX));
                (first..first.saturating_add(rows)).collect::<Vec<i64>>().into()
            }
            Some(LAST_UPDATED_SEQUENCE_NUMBER) => vec![self.sequence_number; array.len()].into(),
            _ => return array,
        };
        match array.as_primitive_opt::<Int64Type>() {
            Some(stored) if stored.null_count() == stored.len() => Arc::new(inherited),
            Some(stored) if stored.null_count() > 0 => {
                let pairs = stored.iter().zip(inherited.values());
                Arc::new(pairs.map(|(stored, inherited)| stored.unwrap_or(*inherited)).collect::<Int64Array>())
            }
            _ => array,
        }
    }
}

#[cfg(test)]
mod tests;
