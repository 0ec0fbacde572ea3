//! The metrics of a manifest entry, over all row groups (rewrite rules C.2).

use std::collections::{HashMap, HashSet};

use iceberg::spec::{Datum, PrimitiveType, Schema, Type};
use parquet::{
    file::{
        metadata::{ColumnChunkMetaData, ParquetMetaData},
        statistics::Statistics,
    },
    schema::types::{ColumnDescriptor, Type as ParquetType},
};

use super::{
    floats::FloatStats,
    settings::{MetricsMode, Settings},
};

/// Column metrics by field id (Iceberg spec, "Data File Fields").
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    pub(crate) column_sizes: HashMap<i32, u64>,
    pub(crate) value_counts: HashMap<i32, u64>,
    pub(crate) null_value_counts: HashMap<i32, u64>,
    pub(crate) nan_value_counts: HashMap<i32, u64>,
    pub(crate) lower_bounds: HashMap<i32, Datum>,
    pub(crate) upper_bounds: HashMap<i32, Datum>,
}

/// The metrics of a file from its footer and from what was seen of its floats.
pub(crate) fn metrics(
    footer: &ParquetMetaData,
    floats: &HashMap<i32, FloatStats>,
    schema: &Schema,
    settings: &Settings,
) -> Metrics {
    let mut metrics = Metrics::default();
    let descriptor = footer.file_metadata().schema_descr_ptr();
    let nested = repeated_ids(descriptor.root_schema());
    for (at, column) in descriptor.columns().iter().enumerate() {
        let Some((id, primitive)) = leaf(column, schema) else { continue };
        let mode = settings.mode(id);
        let chunks: Vec<&ColumnChunkMetaData> =
            footer.row_groups().iter().filter_map(|it| it.columns().get(at)).collect();
        let size = chunks.iter().map(|it| unsigned(it.compressed_size())).sum();
        metrics.column_sizes.insert(id, size);
        if mode == MetricsMode::None {
            continue;
        }
        metrics.value_counts.insert(id, chunks.iter().map(|it| unsigned(it.num_values())).sum());
        let nulls: Option<u64> = chunks.iter().map(|it| it.statistics()?.null_count_opt()).sum();
        metrics.null_value_counts.extend(nulls.map(|it| (id, it)));
        let is_float = matches!(primitive, PrimitiveType::Float | PrimitiveType::Double);
        if nested.contains(&id) {
            continue;
        }
        if is_float {
            metrics.nan_value_counts.insert(id, floats.get(&id).map_or(0, |it| it.nan_count));
        }
        if mode != MetricsMode::Counts {
            let bounds = if is_float {
                float_bounds(floats.get(&id), &primitive)
            } else {
                bounds(&chunks, column, &primitive, mode)
            };
            metrics.lower_bounds.extend(bounds.0.map(|it| (id, it)));
            metrics.upper_bounds.extend(bounds.1.map(|it| (id, it)));
        }
    }
    metrics
}

fn unsigned(value: i64) -> u64 {
    u64::try_from(value).unwrap_or(0)
}

fn leaf(column: &ColumnDescriptor, schema: &Schema) -> Option<(i32, PrimitiveType)> {
    let info = column.self_type().get_basic_info();
    let field = schema.field_by_id(info.has_id().then(|| info.id())?)?;
    match field.field_type.as_ref() {
        Type::Primitive(primitive) => Some((field.id, primitive.clone())),
        _ => None,
    }
}

/// Ids of leaves inside lists and maps: bounds of repeated values say nothing about rows.
fn repeated_ids(root: &ParquetType) -> HashSet<i32> {
    let mut ids = HashSet::new();
    let mut pending: Vec<(&ParquetType, bool)> = vec![(root, false)];
    while let Some((node, repeated)) = pending.pop() {
        let info = node.get_basic_info();
        let repeated = repeated || (info.has_repetition() && info.repetition() == parquet::basic::Repetition::REPEATED);
        match node {
            ParquetType::GroupType { fields, .. } => pending.extend(fields.iter().map(|it| (it.as_ref(), repeated))),
            ParquetType::PrimitiveType { .. } if repeated && info.has_id() => _ = ids.insert(info.id()),
            ParquetType::PrimitiveType { .. } => {}
        }
    }
    ids
}

type Bounds = (Option<Datum>, Option<Datum>);

fn float_bounds(stats: Option<&FloatStats>, primitive: &PrimitiveType) -> Bounds {
    let Some((low, high)) = stats.and_then(|it| it.bounds) else { return (None, None) };
    #[allow(clippy::cast_possible_truncation, reason = "the values were 32-bit floats")]
    let datum = |value: f64| match primitive {
        PrimitiveType::Float => Datum::float(value as f32),
        _ => Datum::double(value),
    };
    (Some(datum(low)), Some(datum(high)))
}

fn bounds(
    chunks: &[&ColumnChunkMetaData],
    column: &ColumnDescriptor,
    primitive: &PrimitiveType,
    mode: MetricsMode,
) -> Bounds {
    let mut found: Option<(Datum, Datum)> = None;
    for chunk in chunks {
        let Some(statistics) = chunk.statistics() else { return (None, None) };
        let Some((low, high)) = chunk_bounds(statistics, column, primitive) else {
            // A chunk of NULLs alone has no bounds and changes none.
            if statistics.null_count_opt() == Some(unsigned(chunk.num_values())) {
                continue;
            }
            return (None, None);
        };
        found = Some(match found {
            None => (low, high),
            Some((lowest, highest)) => {
                (if low < lowest { low } else { lowest }, if high > highest { high } else { highest })
            }
        });
    }
    let Some((low, high)) = found else { return (None, None) };
    match (mode, primitive) {
        (MetricsMode::Truncate(length), PrimitiveType::String) => {
            (cut_string(&low, length, false), cut_string(&high, length, true))
        }
        (MetricsMode::Truncate(length), PrimitiveType::Binary) => {
            (cut_binary(&low, length, false), cut_binary(&high, length, true))
        }
        _ => (Some(low), Some(high)),
    }
}

fn chunk_bounds(
    statistics: &Statistics,
    column: &ColumnDescriptor,
    primitive: &PrimitiveType,
) -> Option<(Datum, Datum)> {
    let datum = |bytes: &[u8]| {
        let is_little_endian_decimal = matches!(primitive, PrimitiveType::Decimal { .. })
            && matches!(column.physical_type(), parquet::basic::Type::INT32 | parquet::basic::Type::INT64);
        let bytes: Vec<u8> =
            if is_little_endian_decimal { bytes.iter().rev().copied().collect() } else { bytes.to_vec() };
        Datum::try_from_bytes(&bytes, primitive.clone()).ok()
    };
    Some((datum(statistics.min_bytes_opt()?)?, datum(statistics.max_bytes_opt()?)?))
}

/// The first `length` code points; an upper bound that lost some is rounded up, or omitted where nothing is above it.
fn cut_string(datum: &Datum, length: usize, upper: bool) -> Option<Datum> {
    let bytes = datum.to_bytes().ok()?;
    let text = std::str::from_utf8(&bytes).ok()?;
    if text.chars().count() <= length {
        return Some(datum.clone());
    }
    let mut cut: Vec<char> = text.chars().take(length).collect();
    if !upper {
        return Some(Datum::string(cut.into_iter().collect::<String>()));
    }
    while let Some(last) = cut.pop() {
        if let Some(next) = next_code_point(last) {
            cut.push(next);
            return Some(Datum::string(cut.into_iter().collect::<String>()));
        }
    }
    None
}

/// The next Unicode scalar value: surrogates are none.
fn next_code_point(c: char) -> Option<char> {
    match c {
        '\u{D7FF}' => Some('\u{E000}'),
        _ => char::from_u32(u32::from(c) + 1),
    }
}

fn cut_binary(datum: &Datum, length: usize, upper: bool) -> Option<Datum> {
    let bytes = datum.to_bytes().ok()?;
    if bytes.len() <= length {
        return Some(datum.clone());
    }
    let mut cut: Vec<u8> = bytes.iter().take(length).copied().collect();
    if !upper {
        return Some(Datum::binary(cut));
    }
    while let Some(last) = cut.pop() {
        if let Some(next) = last.checked_add(1) {
            cut.push(next);
            return Some(Datum::binary(cut));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn string(text: &str, length: usize, upper: bool) -> Option<String> {
        let datum = cut_string(&Datum::string(text), length, upper)?;
        Some(String::from_utf8(datum.to_bytes().unwrap().to_vec()).unwrap())
    }

    #[test]
    fn c2_string_bounds_are_cut_at_code_points_and_upper_ones_rounded_up() {
        assert_eq!(string("añbc", 2, false).as_deref(), Some("añ"));
        assert_eq!(string("añbc", 2, true).as_deref(), Some("aò"));
        assert_eq!(string("ab", 2, true).as_deref(), Some("ab"), "nothing was cut");
        assert_eq!(string("a\u{D7FF}x", 2, true).as_deref(), Some("a\u{E000}"));
        assert_eq!(string("a\u{10FFFF}x", 2, true).as_deref(), Some("b"));
        assert_eq!(string("\u{10FFFF}x", 1, true), None, "no text is above");
    }

    #[test]
    fn c2_binary_bounds_are_cut_at_bytes_and_upper_ones_rounded_up() {
        let cut = |bytes: &[u8], upper| {
            cut_binary(&Datum::binary(bytes.to_vec()), 2, upper).map(|it| it.to_bytes().unwrap().to_vec())
        };
        assert_eq!(cut(&[1, 2, 3], false), Some(vec![1, 2]));
        assert_eq!(cut(&[1, 255, 3], true), Some(vec![2]));
        assert_eq!(cut(&[255, 255, 3], true), None);
    }
}
