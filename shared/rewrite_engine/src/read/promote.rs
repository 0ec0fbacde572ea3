//! Values of a file in the type the table has now (Iceberg spec, "Schema Evolution"; rewrite rule A.6).
//!
//! Beside Iceberg's promotions, what other writers do inside one Iceberg type is read: narrow integers, other units of time,
//! text without its annotation. Whatever could lose or bend a value is refused.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef,
    cast::AsArray,
    types::{Int64Type, Time64NanosecondType, TimestampNanosecondType},
};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{
    DataType::{
        self, Binary, Date32, Decimal128, Float16, Float32, Float64, Int8, Int16, Int32, Int64, LargeBinary, Time32,
        Time64, Timestamp, UInt8, UInt16, UInt32, Utf8, Utf8View,
    },
    TimeUnit::{Microsecond, Nanosecond},
};

/// `array` as `want`.
pub(crate) fn promote(array: &ArrayRef, want: &DataType) -> Result<ArrayRef, String> {
    let have = array.data_type();
    if have == want {
        return Ok(Arc::clone(array));
    }
    let array = match (have, want) {
        (Timestamp(Nanosecond, _), Timestamp(Microsecond, _)) => {
            &micros(array.as_primitive::<TimestampNanosecondType>())
        }
        (Time64(Nanosecond), Time64(Microsecond)) => &micros(array.as_primitive::<Time64NanosecondType>()),
        _ if is_lossless(have, want) => array,
        _ => return Err(format!("is {have} in the file and {want} in the table, and no type promotion leads there")),
    };
    cast_with_options(array, want, &CastOptions { safe: false, ..CastOptions::default() }).map_err(|e| e.to_string())
}

/// Whole microseconds, those before the epoch rounded down like all others.
fn micros<T: arrow_array::ArrowPrimitiveType<Native = i64>>(nanos: &arrow_array::PrimitiveArray<T>) -> ArrayRef {
    Arc::new(nanos.unary::<_, Int64Type>(|it| it.div_euclid(1_000)))
}

fn is_lossless(have: &DataType, want: &DataType) -> bool {
    match (have, want) {
        (Int8 | Int16 | UInt8 | UInt16, Int32 | Int64)
        | (Int32 | UInt32, Int64)
        | (Float16, Float32 | Float64)
        | (Float32, Float64)
        | (Date32 | Timestamp(_, _), Timestamp(_, _))
        | (Time32(_), Time64(Microsecond))
        | (Utf8 | Utf8View | Binary, LargeBinary)
        | (Utf8 | Utf8View | Binary | LargeBinary, Utf8 | Utf8View) => true,
        (Decimal128(precision, scale), Decimal128(wider, same)) => scale == same && wider >= precision,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use arrow_array::{
        BinaryArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int32Array, Int64Array, StringArray,
        TimestampMicrosecondArray, TimestampNanosecondArray,
    };

    use super::*;

    fn check(have: impl Array + 'static, want: impl Array + 'static) {
        let have: ArrayRef = Arc::new(have);
        let want: ArrayRef = Arc::new(want);
        assert_eq!(&promote(&have, want.data_type()).unwrap(), &want);
    }

    #[test]
    fn a6_promotions_of_the_spec_keep_every_value() {
        check(Int32Array::from(vec![Some(i32::MIN), None]), Int64Array::from(vec![Some(-2_147_483_648), None]));
        check(Float32Array::from(vec![-0.0, 0.5]), Float64Array::from(vec![-0.0, 0.5]));
        let decimal = |p| Decimal128Array::from(vec![-1_420]).with_precision_and_scale(p, 2).unwrap();
        check(decimal(9), decimal(20));
        // A day has 86,400 s: 1969-12-31 is day -1.
        check(Date32Array::from(vec![-1, 1]), TimestampMicrosecondArray::from(vec![-86_400_000_000, 86_400_000_000]));
    }

    #[test]
    fn a6_nanoseconds_before_the_epoch_are_rounded_down() {
        check(
            TimestampNanosecondArray::from(vec![-1, -1_000, -1_001, 1_999]),
            TimestampMicrosecondArray::from(vec![-1, -1, -2, 1]),
        );
    }

    #[test]
    fn a6_a_type_that_is_no_promotion_is_refused() {
        let refused: [(ArrayRef, DataType); 5] = [
            (Arc::new(StringArray::from(vec!["1"])), Int32),
            (Arc::new(Int64Array::from(vec![1])), Int32),
            (Arc::new(Float64Array::from(vec![1.0])), Float32),
            (Arc::new(Decimal128Array::from(vec![1]).with_precision_and_scale(9, 2).unwrap()), Decimal128(9, 1)),
            (Arc::new(Decimal128Array::from(vec![1]).with_precision_and_scale(9, 2).unwrap()), Decimal128(8, 2)),
        ];
        for (array, want) in refused {
            assert!(promote(&array, &want).is_err(), "{} to {want}", array.data_type());
        }
    }

    #[test]
    fn a6_text_without_its_annotation_must_be_utf8() {
        check(BinaryArray::from(vec!["é".as_bytes()]), StringArray::from(vec!["é"]));
        let broken: ArrayRef = Arc::new(BinaryArray::from(vec![[0xFF_u8].as_slice()]));
        assert!(promote(&broken, &Utf8).is_err());
    }
}
