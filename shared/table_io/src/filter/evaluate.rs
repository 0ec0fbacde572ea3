//! Whether rows of a file may match: its partition tuple first, then its counts and bounds.

use std::cmp::Ordering;

use iceberg::{
    spec::{DataFile, Datum, Literal, PartitionField, PartitionSpec, PrimitiveLiteral, PrimitiveType, Transform},
    transform::create_transform_function,
};

use super::{Column, Comparison, Predicate, Test};

pub(super) fn may_match(predicate: &Predicate, spec: &PartitionSpec, file: &DataFile) -> bool {
    match predicate {
        Predicate::Constant(value) => *value,
        Predicate::All(parts) => parts.iter().all(|part| may_match(part, spec, file)),
        Predicate::Any(parts) => parts.iter().any(|part| may_match(part, spec, file)),
        Predicate::Test(column, test) => {
            let fields = spec.fields().iter().zip(file.partition().fields());
            let mut of_column = fields.filter(|(field, _)| field.source_id == column.id);
            of_column.all(|(field, value)| partition_may_match(field, value.as_ref(), test))
                && metrics_may_match(column, test, file)
        }
    }
}

/// Whether a source value that became `value` can pass `test`.
fn partition_may_match(field: &PartitionField, value: Option<&Literal>, test: &Test) -> bool {
    if matches!(field.transform, Transform::Void | Transform::Unknown) {
        return true;
    }
    // Every other transform keeps NULL, and only NULL, as NULL.
    let value = match value {
        None => return matches!(test, Test::IsNull),
        Some(Literal::Primitive(value)) => value,
        Some(_) => return true,
    };
    match test {
        Test::IsNull => false,
        Test::NotNull => true,
        Test::Compare(comparison, datum) => transformed_may_match(field.transform, value, *comparison, datum),
        Test::In(data) => {
            data.iter().any(|datum| transformed_may_match(field.transform, value, Comparison::Equal, datum))
        }
        Test::StartsWith(prefix) => match (field.transform, value) {
            (Transform::Identity, PrimitiveLiteral::String(value)) => value.starts_with(prefix.as_str()),
            (Transform::Truncate(width), PrimitiveLiteral::String(value)) => {
                let shared: String = prefix.chars().take(width as usize).collect();
                value.starts_with(&shared)
            }
            _ => true,
        },
    }
}

fn transformed_may_match(
    transform: Transform,
    value: &PrimitiveLiteral,
    comparison: Comparison,
    datum: &Datum,
) -> bool {
    if transform == Transform::Identity {
        return compare(value, datum).is_none_or(|ordering| holds(comparison, ordering));
    }
    let Some(limit) = transformed(transform, datum) else { return true };
    let Some(ordering) = compare(value, &limit) else { return true };
    if matches!(transform, Transform::Bucket(_)) {
        return comparison != Comparison::Equal || ordering == Ordering::Equal;
    }
    // Old writers rounded times before 1970 towards zero, which is one above.
    let one_above = is_temporal(transform) && is_one_above_negative(value, limit.literal());
    // The others keep the order but merge neighbours: x < v leaves f(x) ≤ f(v).
    match comparison {
        Comparison::Less | Comparison::LessOrEqual => ordering != Ordering::Greater || one_above,
        Comparison::Equal => ordering == Ordering::Equal || one_above,
        Comparison::Greater | Comparison::GreaterOrEqual => ordering != Ordering::Less,
    }
}

fn is_temporal(transform: Transform) -> bool {
    matches!(transform, Transform::Year | Transform::Month | Transform::Day | Transform::Hour)
}

fn is_one_above_negative(value: &PrimitiveLiteral, limit: &PrimitiveLiteral) -> bool {
    match (value, limit) {
        (PrimitiveLiteral::Int(value), PrimitiveLiteral::Int(limit)) => *limit < 0 && *value == limit + 1,
        _ => false,
    }
}

fn transformed(transform: Transform, datum: &Datum) -> Option<Datum> {
    // The library's truncation overflows within one width of the smallest integer.
    let overflows = match (transform, datum.literal()) {
        (Transform::Truncate(width), PrimitiveLiteral::Int(value)) => {
            i64::from(*value) - i64::from(width) < i64::from(i32::MIN)
        }
        (Transform::Truncate(width), PrimitiveLiteral::Long(value)) => value.checked_sub(i64::from(width)).is_none(),
        _ => false,
    };
    if overflows {
        return None;
    }
    create_transform_function(&transform).ok()?.transform_literal(datum).ok()?
}

/// Whether the file's counts and bounds leave room for a row that passes `test`.
fn metrics_may_match(column: &Column, test: &Test, file: &DataFile) -> bool {
    let nulls = file.null_value_counts().get(&column.id);
    let all_null = nulls.is_some() && nulls == file.value_counts().get(&column.id);
    let lower = file.lower_bounds().get(&column.id).filter(|bound| !bound.is_nan()).map(Datum::literal);
    let upper = file.upper_bounds().get(&column.id).filter(|bound| !bound.is_nan()).map(Datum::literal);
    match test {
        Test::IsNull => nulls != Some(&0),
        _ if all_null => false,
        Test::NotNull => true,
        Test::Compare(comparison, datum) => {
            bounds_may_match(lower, upper, *comparison, datum) || nan_may_match(column, *comparison, file)
        }
        Test::In(data) => data.iter().any(|datum| bounds_may_match(lower, upper, Comparison::Equal, datum)),
        Test::StartsWith(prefix) => prefix_may_match(lower, upper, prefix),
    }
}

fn bounds_may_match(
    lower: Option<&PrimitiveLiteral>,
    upper: Option<&PrimitiveLiteral>,
    comparison: Comparison,
    datum: &Datum,
) -> bool {
    let lower = lower.and_then(|bound| compare(bound, datum));
    let upper = upper.and_then(|bound| compare(bound, datum));
    match comparison {
        Comparison::Less => lower.is_none_or(|lower| lower == Ordering::Less),
        Comparison::LessOrEqual => lower != Some(Ordering::Greater),
        Comparison::Equal => lower != Some(Ordering::Greater) && upper != Some(Ordering::Less),
        Comparison::GreaterOrEqual => upper != Some(Ordering::Less),
        Comparison::Greater => upper.is_none_or(|upper| upper == Ordering::Greater),
    }
}

/// Engines sort NaN above every number, and bounds leave it out.
fn nan_may_match(column: &Column, comparison: Comparison, file: &DataFile) -> bool {
    matches!(column.data_type, PrimitiveType::Float | PrimitiveType::Double)
        && matches!(comparison, Comparison::Greater | Comparison::GreaterOrEqual)
        && file.nan_value_counts().get(&column.id) != Some(&0)
}

fn prefix_may_match(lower: Option<&PrimitiveLiteral>, upper: Option<&PrimitiveLiteral>, prefix: &str) -> bool {
    let against = |bound: Option<&PrimitiveLiteral>| match bound {
        Some(PrimitiveLiteral::String(bound)) => {
            let shared = bound.as_bytes().get(..prefix.len()).unwrap_or(bound.as_bytes());
            Some(shared.cmp(prefix.as_bytes()))
        }
        _ => None,
    };
    against(lower) != Some(Ordering::Greater) && against(upper) != Some(Ordering::Less)
}

fn holds(comparison: Comparison, ordering: Ordering) -> bool {
    match comparison {
        Comparison::Less => ordering == Ordering::Less,
        Comparison::LessOrEqual => ordering != Ordering::Greater,
        Comparison::Equal => ordering == Ordering::Equal,
        Comparison::GreaterOrEqual => ordering != Ordering::Less,
        Comparison::Greater => ordering == Ordering::Greater,
    }
}

/// `value`, which may be older than a promotion of its column, against `datum`; `None` when they do not compare.
fn compare(value: &PrimitiveLiteral, datum: &Datum) -> Option<Ordering> {
    use PrimitiveLiteral::{Binary, Boolean, Double, Float, Int, Int128, Long, String, UInt128};
    match (value, datum.literal()) {
        (Boolean(value), Boolean(other)) => Some(value.cmp(other)),
        (Int(value), Int(other)) => Some(value.cmp(other)),
        (Int(value), Long(other)) if *datum.data_type() == PrimitiveType::Long => Some(i64::from(*value).cmp(other)),
        (Long(value), Long(other)) => Some(value.cmp(other)),
        (Float(value), Float(other)) => value.0.partial_cmp(&other.0),
        (Float(value), Double(other)) => f64::from(value.0).partial_cmp(&other.0),
        (Double(value), Double(other)) => value.0.partial_cmp(&other.0),
        (String(value), String(other)) => Some(value.cmp(other)),
        (Binary(value), Binary(other)) => Some(value.cmp(other)),
        (Int128(value), Int128(other)) => Some(value.cmp(other)),
        (UInt128(value), UInt128(other)) => Some(value.cmp(other)),
        _ => None,
    }
}
