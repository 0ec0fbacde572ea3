//! An order-free digest of the rows of a set of files, deletes applied: the proof behind `firn verify`.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StructArray, cast::AsArray};
use arrow_cast::display::array_value_to_string;
use arrow_schema::{DataType, Field, FieldRef, Fields};
use iceberg::arrow::PartitionValueCalculator;
use model::Partition;
use ports::LoadedTable;
use xxhash_rust::xxh3::xxh3_128;

use crate::{
    control::Control,
    error::{Error, Result},
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
    let schema = arrow_schema(table.metadata.current_schema(), with_lineage)?;
    let deletes = GroupDeletes::load(table, inputs, Limits::default())?;
    let mut digest = Digest::default();
    for input in inputs {
        for batch in FileRows::open(table, Arc::clone(&schema), input, &deletes, control)? {
            let batch = batch?;
            let wrong = |reason: String| Error::Corrupt { path: input.file.path.to_string(), reason };
            add(&mut digest, table, &batch).map_err(wrong)?;
        }
    }
    Ok(digest)
}

fn add(digest: &mut Digest, table: &LoadedTable, batch: &RecordBatch) -> std::result::Result<(), String> {
    let spec = table.metadata.default_partition_spec();
    if spec.is_unpartitioned() || spec.fields().is_empty() {
        return add_rows(digest, spec.spec_id(), &[], batch);
    }
    let schema = table.metadata.current_schema();
    let calculator = PartitionValueCalculator::try_new(spec, schema).map_err(|error| error.to_string())?;
    let values = calculator.calculate(batch).map_err(|error| error.to_string())?;
    let columns = values.as_struct().columns().to_vec();
    let names: Vec<(&str, ArrayRef)> = spec.fields().iter().map(|field| field.name.as_str()).zip(columns).collect();
    add_rows(digest, spec.spec_id(), &names, batch)
}

fn add_rows(
    digest: &mut Digest,
    spec_id: i32,
    tuple: &[(&str, ArrayRef)],
    batch: &RecordBatch,
) -> std::result::Result<(), String> {
    let columns: Vec<ArrayRef> = batch.columns().iter().map(canonical).collect();
    let encoder = KeyEncoder::new(columns.iter().map(|it| it.data_type().clone()))?;
    let rows = encoder.encode(&columns)?;
    for (at, row) in rows.iter().enumerate() {
        let value = |(name, array): &(&str, ArrayRef)| {
            let text = (!array.is_null(at)).then(|| array_value_to_string(array, at)).transpose();
            Ok(((*name).to_owned(), text.map_err(|error| error.to_string())?.into()))
        };
        let values = tuple.iter().map(value).collect::<std::result::Result<_, String>>()?;
        let partition = Partition { spec_id, values };
        let entry = digest.partitions.entry(partition.key());
        let entry = entry.or_insert(PartitionDigest { partition, rows: 0, sum: 0 });
        entry.rows += 1;
        entry.sum = entry.sum.wrapping_add(xxh3_128(row.as_ref()));
    }
    Ok(())
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
