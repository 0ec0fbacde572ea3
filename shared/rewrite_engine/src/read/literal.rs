//! Constants of a column: partition values and initial defaults as Arrow arrays.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, FixedSizeBinaryArray, Float32Array, Float64Array,
    Int32Array, Int64Array, LargeBinaryArray, StringArray, new_null_array,
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::DataType;
use iceberg::spec::{Literal, PrimitiveLiteral};

/// `literal`, `rows` times, as `data_type`. Dates, times and timestamps are numbers in the unit of their type.
pub(crate) fn repeated(literal: &Literal, data_type: &DataType, rows: usize) -> Result<ArrayRef, String> {
    let Literal::Primitive(value) = literal else {
        return if rows == 0 {
            Ok(new_null_array(data_type, 0))
        } else {
            Err("is nested: no Iceberg type has such a default".to_owned())
        };
    };
    let array: ArrayRef = match value {
        PrimitiveLiteral::Boolean(it) => Arc::new(BooleanArray::from(vec![*it; rows])),
        // A date, of a column that has become a timestamp since.
        PrimitiveLiteral::Int(it) if matches!(data_type, DataType::Timestamp(_, _)) => {
            Arc::new(Date32Array::from(vec![*it; rows]))
        }
        PrimitiveLiteral::Int(it) => Arc::new(Int32Array::from(vec![*it; rows])),
        PrimitiveLiteral::Long(it) => Arc::new(Int64Array::from(vec![*it; rows])),
        PrimitiveLiteral::Float(it) => Arc::new(Float32Array::from(vec![it.0; rows])),
        PrimitiveLiteral::Double(it) => Arc::new(Float64Array::from(vec![it.0; rows])),
        PrimitiveLiteral::String(it) => Arc::new(StringArray::from(vec![it.as_str(); rows])),
        PrimitiveLiteral::Binary(it) => match data_type {
            DataType::FixedSizeBinary(_) => fixed(it, rows)?,
            _ => Arc::new(LargeBinaryArray::from(vec![it.as_slice(); rows])),
        },
        PrimitiveLiteral::UInt128(it) => fixed(&it.to_be_bytes(), rows)?,
        PrimitiveLiteral::Int128(it) => {
            let DataType::Decimal128(precision, scale) = *data_type else {
                return Err(format!("a decimal value cannot be {data_type}"));
            };
            let array = Decimal128Array::from(vec![*it; rows]).with_precision_and_scale(precision, scale);
            Arc::new(array.map_err(|error| error.to_string())?)
        }
        PrimitiveLiteral::AboveMax | PrimitiveLiteral::BelowMin => return Err("a bound is no value".to_owned()),
    };
    if array.data_type() == data_type {
        return Ok(array);
    }
    cast_with_options(&array, data_type, &CastOptions { safe: false, ..CastOptions::default() })
        .map_err(|error| error.to_string())
}

fn fixed(bytes: &[u8], rows: usize) -> Result<ArrayRef, String> {
    if rows == 0 {
        let size = i32::try_from(bytes.len()).map_err(|error| error.to_string())?;
        return Ok(new_null_array(&DataType::FixedSizeBinary(size), 0));
    }
    let array = FixedSizeBinaryArray::try_from_iter(std::iter::repeat_n(bytes, rows));
    Ok(Arc::new(array.map_err(|error| error.to_string())?))
}
