//! What Parquet's statistics do not tell of floats: NaN counts, and bounds by total order (−0.0 below 0.0).

use std::collections::HashMap;

use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, RecordBatch, StructArray,
    cast::AsArray,
    types::{Float32Type, Float64Type},
};
use arrow_schema::{DataType, Fields};

use crate::read::field_id;

/// One float column, seen so far. Bounds of 32-bit columns are exact in 64 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct FloatStats {
    pub(crate) nan_count: u64,
    pub(crate) bounds: Option<(f64, f64)>,
}

impl FloatStats {
    fn add(&mut self, value: f64) {
        if value.is_nan() {
            self.nan_count += 1;
            return;
        }
        let less = |a: f64, b: f64| a.total_cmp(&b).is_lt();
        self.bounds = Some(match self.bounds {
            None => (value, value),
            Some((low, high)) => {
                (if less(value, low) { value } else { low }, if less(high, value) { value } else { high })
            }
        });
    }
}

/// Adds the float columns of `batch` that no list or map repeats, by field id.
pub(crate) fn add(stats: &mut HashMap<i32, FloatStats>, batch: &RecordBatch) {
    add_columns(stats, batch.schema_ref().fields(), batch.columns(), &|_| true);
}

fn add_columns(
    stats: &mut HashMap<i32, FloatStats>,
    fields: &Fields,
    columns: &[ArrayRef],
    valid: &dyn Fn(usize) -> bool,
) {
    for (field, column) in fields.iter().zip(columns) {
        let Some(id) = field_id(field) else { continue };
        match field.data_type() {
            DataType::Float32 => add_values::<Float32Type>(stats.entry(id).or_default(), column, valid),
            DataType::Float64 => add_values::<Float64Type>(stats.entry(id).or_default(), column, valid),
            DataType::Struct(inner) => {
                let parent: &StructArray = column.as_struct();
                add_columns(stats, inner, parent.columns(), &|row| valid(row) && parent.is_valid(row));
            }
            _ => {}
        }
    }
}

fn add_values<T: ArrowPrimitiveType>(stats: &mut FloatStats, column: &ArrayRef, valid: &dyn Fn(usize) -> bool)
where
    T::Native: Into<f64>,
{
    let values = column.as_primitive::<T>().iter().enumerate().filter(|(row, _)| valid(*row));
    values.filter_map(|(_, value)| value).for_each(|value| stats.add(value.into()));
}
