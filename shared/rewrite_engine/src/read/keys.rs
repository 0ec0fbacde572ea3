//! Equality keys as bytes that are equal exactly when the keys are (rewrite rule A.4).

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Float32Array, Float64Array,
    cast::AsArray,
    types::{Float32Type, Float64Type},
};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::DataType;

/// One NaN for all of them: NaN equals NaN. −0.0 and 0.0 stay apart, as their ordering says.
pub(crate) fn one_nan(array: &ArrayRef) -> ArrayRef {
    match array.data_type() {
        DataType::Float32 => {
            let values = array.as_primitive::<Float32Type>();
            let made: Float32Array = values.unary(|it| if it.is_nan() { f32::NAN } else { it });
            Arc::new(made)
        }
        DataType::Float64 => {
            let values = array.as_primitive::<Float64Type>();
            let made: Float64Array = values.unary(|it| if it.is_nan() { f64::NAN } else { it });
            Arc::new(made)
        }
        _ => Arc::clone(array),
    }
}

/// Encodes rows of columns of fixed types.
pub(crate) struct KeyEncoder(RowConverter);

impl KeyEncoder {
    pub(crate) fn new(types: impl Iterator<Item = DataType>) -> Result<Self, String> {
        let fields = types.map(SortField::new).collect();
        Ok(Self(RowConverter::new(fields).map_err(|error| error.to_string())?))
    }

    pub(crate) fn encode(&self, columns: &[ArrayRef]) -> Result<Rows, String> {
        let columns: Vec<ArrayRef> = columns.iter().map(one_nan).collect();
        self.0.convert_columns(&columns).map_err(|error| error.to_string())
    }
}
