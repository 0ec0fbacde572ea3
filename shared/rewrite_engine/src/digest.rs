//! An order-free digest of the rows of a set of files, deletes applied: the proof behind `firn verify`.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StructArray, cast::AsArray};
use arrow_schema::{DataType, Field, FieldRef, Fields};
use ports::LoadedTable;
use table_io::to_partition;
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    control::Control,
    error::{Error, Result},
    partition::Splitter,
    read::{FileRows, GroupDeletes, KeyEncoder, arrow_schema, one_nan},
    rewrite::{Limits, RewriteInput},
};

/// The digest of the rows of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionDigest {
    /// The partition: rows are assigned by the table's default spec, whatever spec their file has.
    pub partition: model::Partition,
    /// Rows.
    pub rows: u64,
    /// Sum modulo 2¹²⁸ of a 128-bit hash of each row's canonical bytes.
    pub sum: u128,
}

/// The digest of a set of rows: equal multisets have equal digests; different ones differ but for a chance of about 2⁻¹²⁸.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// By partition key.
    pub partitions: std::collections::BTreeMap<String, PartitionDigest>,
}

/// Digests the live rows of `inputs` in the table's current schema, v3 row lineage included when `with_lineage`. Blocking.
///
/// # Errors
/// Any [`crate::Error`].
pub fn digest(table: &LoadedTable, inputs: &[RewriteInput], with_lineage: bool, control: &Control) -> Result<Digest> {
    let metadata = &table.metadata;
    let schema = arrow_schema(metadata.current_schema(), with_lineage)?;
    let unsupported = |reason: String| Error::Unsupported { path: metadata.location().to_owned(), reason };
    let splitter = Splitter::new(metadata.default_partition_spec(), metadata.current_schema()).map_err(unsupported)?;
    let deletes = GroupDeletes::load(table, inputs, Limits::default(), control)?;
    let mut digest = Digest::default();
    for input in inputs {
        for batch in FileRows::open(table, Arc::clone(&schema), input, &deletes, control)? {
            control.check()?;
            let batch = batch?;
            let wrong = |reason: String| Error::Corrupt { path: input.file.path.to_string(), reason };
            for (tuple, rows) in splitter.split(&batch).map_err(wrong)? {
                let partition = to_partition(metadata.default_partition_spec(), metadata.current_schema(), &tuple)?;
                let (rows, sum) = (rows.num_rows() as u64, sum(&rows).map_err(wrong)?);
                let empty = || PartitionDigest { partition: partition.clone(), rows: 0, sum: 0 };
                let entry = digest.partitions.entry(partition.key()).or_insert_with(empty);
                entry.rows += rows;
                entry.sum = entry.sum.wrapping_add(sum);
            }
        }
    }
    Ok(digest)
}

/// The sum of the hashes of all rows.
fn sum(batch: &RecordBatch) -> std::result::Result<u128, String> {
    let columns: Vec<ArrayRef> = batch.columns().iter().map(canonical).collect();
    let rows = KeyEncoder::new(columns.iter().map(|it| it.data_type().clone()))?.encode(&columns)?;
    Ok(rows.iter().map(|row| xxh3_128(row.as_ref())).fold(0, u128::wrapping_add))
}

/// One form for equal values: one NaN, and maps as the lists of pairs that they are.
fn canonical(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Map(entries, _) => {
            let map = array.as_map();
            let pairs: ArrayRef = Arc::new(map.entries().clone());
            let list = ListArray::try_new(Arc::clone(entries), map.offsets().clone(), pairs, map.nulls().cloned());
            list.map_or_else(|_| Arc::clone(array), |list| canonical(&(Arc::new(list) as ArrayRef)))
        }
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let values = canonical(list.values());
            let field = Arc::new(Field::new("element", values.data_type().clone(), true));
            let made = ListArray::try_new(field, list.offsets().clone(), values, list.nulls().cloned());
            made.map_or_else(|_| Arc::clone(array), |list| Arc::new(list) as ArrayRef)
        }
        DataType::Struct(fields) => {
            let parent = array.as_struct();
            let columns: Vec<ArrayRef> = parent.columns().iter().map(canonical).collect();
            let make =
                |(field, column): (&FieldRef, &ArrayRef)| Field::new(field.name(), column.data_type().clone(), true);
            let fields: Fields = fields.iter().zip(&columns).map(make).collect();
            let made = StructArray::try_new_with_length(fields, columns, parent.nulls().cloned(), parent.len());
            made.map_or_else(|_| Arc::clone(array), |made| Arc::new(made) as ArrayRef)
        }
        _ => one_nan(array),
    }
}
