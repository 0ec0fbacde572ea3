//! Partition transforms where the library's do not serve: `truncate[W]` of the smallest integers (it overflows) and of binary (it
//! takes no large arrays), and everything on nanoseconds.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, Int32Array, Int64Array, LargeBinaryArray, TimestampMicrosecondArray, cast::AsArray, types,
};
use iceberg::{spec::Transform, transform::BoxedTransformFunction};

/// `values` under `transform`, whose function in the library is `function`.
///
/// # Errors
/// What the library says to a type that the transform does not take.
pub(crate) fn apply(
    transform: Transform,
    function: &BoxedTransformFunction,
    values: ArrayRef,
) -> std::result::Result<ArrayRef, String> {
    if let Some(truncated) = truncate(transform, &values) {
        return Ok(truncated);
    }
    let values = if transform == Transform::Identity { values } else { in_microseconds(values) };
    function.transform(values).map_err(|error| error.to_string())
}

/// Nanoseconds as the microseconds they lie in: hashes and parts of time are defined by these (Iceberg spec, Appendix B).
fn in_microseconds(values: ArrayRef) -> ArrayRef {
    match values.as_primitive_opt::<types::TimestampNanosecondType>() {
        None => values,
        Some(nanos) => {
            let micros: TimestampMicrosecondArray = nanos.unary(|nanos| nanos.div_euclid(1_000));
            Arc::new(micros.with_timezone_opt(nanos.timezone()))
        }
    }
}

/// `values` under `transform` (Iceberg spec, "Truncate Transform Details"); `None`: the library's transform serves.
///
/// `v - (v % W)` with a remainder that is never negative wraps around below the smallest integer, as it does in Java.
fn truncate(transform: Transform, values: &dyn Array) -> Option<ArrayRef> {
    let Transform::Truncate(width) = transform else { return None };
    if let Some(values) = values.as_primitive_opt::<types::Int32Type>() {
        let width = i32::try_from(width).ok().filter(|width| *width > 0)?;
        let truncated: Int32Array = values.unary(|value| value.wrapping_sub(value.rem_euclid(width)));
        return Some(Arc::new(truncated));
    }
    if let Some(values) = values.as_primitive_opt::<types::Int64Type>() {
        let width = Some(i64::from(width)).filter(|width| *width > 0)?;
        let truncated: Int64Array = values.unary(|value| value.wrapping_sub(value.rem_euclid(width)));
        return Some(Arc::new(truncated));
    }
    let values = values.as_binary_opt::<i64>()?;
    let width = usize::try_from(width).ok()?;
    let first = |value: Option<&[u8]>| value.map(|value| value.get(..width).unwrap_or(value).to_vec());
    Some(Arc::new(values.iter().map(first).collect::<LargeBinaryArray>()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn integers_round_down_and_wrap_below_the_smallest_as_in_java() {
        let ints = Int32Array::from(vec![Some(1), Some(-1), None, Some(i32::MIN)]);
        // Java: -2147483648 - (((-2147483648 % 10) + 10) % 10) = -2147483648 - 2, which wraps to 2147483646.
        let expected = Int32Array::from(vec![Some(0), Some(-10), None, Some(2_147_483_646)]);
        assert_eq!(truncate(Transform::Truncate(10), &ints).unwrap().as_primitive::<types::Int32Type>(), &expected);
        let longs = Int64Array::from(vec![i64::MIN, i64::MAX, -7]);
        // -9223372036854775808 mod 10 is 2; 9223372036854775807 mod 10 is 7.
        let expected = Int64Array::from(vec![9_223_372_036_854_775_806, 9_223_372_036_854_775_800, -10]);
        assert_eq!(truncate(Transform::Truncate(10), &longs).unwrap().as_primitive::<types::Int64Type>(), &expected);
    }

    #[test]
    fn binary_keeps_its_first_bytes() {
        let values = LargeBinaryArray::from_opt_vec(vec![Some(b"abc"), Some(b"a"), None, Some(b"")]);
        let expected = LargeBinaryArray::from_opt_vec(vec![Some(b"ab"), Some(b"a"), None, Some(b"")]);
        assert_eq!(truncate(Transform::Truncate(2), &values).unwrap().as_binary::<i64>(), &expected);
    }

    #[test]
    fn nanoseconds_before_1970_are_in_the_hour_before() {
        use arrow_array::TimestampNanosecondArray;
        use iceberg::transform::create_transform_function;
        // One nanosecond before the epoch, and one hour after it.
        let values: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(-1), Some(3_600_000_000_000), None]));
        let of = |transform: Transform| {
            let function = create_transform_function(&transform).unwrap();
            apply(transform, &function, Arc::clone(&values)).unwrap()
        };
        let hours = Int32Array::from(vec![Some(-1), Some(1), None]);
        assert_eq!(of(Transform::Hour).as_primitive::<types::Int32Type>(), &hours);
        let years = Int32Array::from(vec![Some(-1), Some(0), None]);
        assert_eq!(of(Transform::Year).as_primitive::<types::Int32Type>(), &years);
    }

    #[test]
    fn other_transforms_are_the_librarys() {
        assert!(truncate(Transform::Identity, &Int32Array::from(vec![1])).is_none());
        assert!(truncate(Transform::Truncate(0), &Int32Array::from(vec![1])).is_none());
    }
}
