//! Rows of Parquet data files, resolved by field id into the table's current schema, deletes applied.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use iceberg::spec::Schema;
use ports::LoadedTable;

use crate::{
    control::Control,
    error::Result,
    rewrite::{Limits, RewriteInput},
};

/// The Arrow schema of every batch: the table's current schema with field ids (`PARQUET:field_id`) at every depth, and for v3
/// tables `_row_id` (2147483540) and `_last_updated_sequence_number` (2147483539) as the last two columns.
///
/// int → Int32, long → Int64, float, double, boolean, decimal(p,s) → Decimal128, date → Date32, time → Time64(µs),
/// timestamp[tz] → Timestamp(µs, None | "+00:00"), timestamp[tz]_ns → Timestamp(ns, …), string → Utf8, binary → Binary,
/// uuid → FixedSizeBinary(16), fixed(L) → FixedSizeBinary(L), struct, list, map. Nullability as the schema says.
///
/// # Errors
/// [`crate::Error::Unsupported`] for a type that no rewrite carries.
pub fn arrow_schema(_schema: &Schema, _with_lineage: bool) -> Result<SchemaRef> {
    todo!()
}

/// The loaded deletes of a group: positions by file, equality keys by scope, each delete file read once.
#[derive(Debug, Default)]
pub struct GroupDeletes {
    _private: (),
}

impl GroupDeletes {
    /// Loads every delete file that `inputs` name, each once.
    ///
    /// # Errors
    /// [`crate::Error::DeletesTooLarge`] beyond the limit; [`crate::Error::Corrupt`] or [`crate::Error::Read`] naming the delete file.
    pub fn load(_table: &LoadedTable, _inputs: &[RewriteInput], _limits: Limits) -> Result<Self> {
        todo!()
    }
}

/// The live rows of one file, batch by batch.
///
/// A column whose schema type is Utf8 or Binary may arrive as a dictionary or view array of the same values.
pub struct FileRows {
    _private: (),
}

impl std::fmt::Debug for FileRows {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileRows").finish_non_exhaustive()
    }
}

impl FileRows {
    /// Opens `input`: reads its footer, checks its row count against the manifest, resolves its columns.
    ///
    /// # Errors
    /// Any [`crate::Error`], naming the file.
    pub fn open(
        _table: &LoadedTable,
        _schema: SchemaRef,
        _input: &RewriteInput,
        _deletes: &GroupDeletes,
        _control: &Control,
    ) -> Result<Self> {
        todo!()
    }

    /// Rows that deletes have taken out so far; exact once the iterator is exhausted.
    #[must_use]
    pub fn deleted(&self) -> u64 {
        todo!()
    }
}

impl Iterator for FileRows {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        todo!()
    }
}
