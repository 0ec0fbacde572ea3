//! Codec level and dictionary per column, chosen on a sample of the rows that will be written.
//!
//! zstd level 3 is not always smaller than level 1 and always dearer; a dictionary of values that hardly repeat costs a hash
//! table and saves nothing. Only what the table's properties leave open is chosen.

use std::collections::HashMap;

use arrow_array::{ArrayRef, RecordBatch};
use parquet::{
    arrow::ArrowWriter,
    basic::{Compression, ZstdLevel},
    errors::Result,
    file::properties::{WriterProperties, WriterPropertiesBuilder},
    schema::types::ColumnPath,
};

use super::settings::Settings;
use crate::read::KeyEncoder;

/// Rows of the sample, at most: about one data page.
const SAMPLE_ROWS_MAX: usize = 20_000;
/// Sampled values below this say nothing about how often values repeat.
const SAMPLE_ROWS_MIN: usize = 256;

/// The properties of files that will hold about `rows` rows like those of `sample`, in row groups.
pub(crate) fn tuned(settings: &Settings, sample: &RecordBatch, rows: u64) -> Result<WriterProperties> {
    let sample = sample.slice(0, sample.num_rows().min(SAMPLE_ROWS_MAX));
    let mut builder = settings.properties.clone().into_builder();
    if sample.num_rows() < SAMPLE_ROWS_MIN {
        return Ok(builder.build());
    }
    let usual = column_bytes(settings, &sample, settings.compression)?;
    if settings.may_choose_level {
        let fast = Compression::ZSTD(ZstdLevel::try_new(1)?);
        for path in cheaper(&usual, &column_bytes(settings, &sample, fast)?) {
            builder = builder.set_column_compression(path, fast);
        }
    }
    let sampled_bytes = usual.values().sum::<u64>().max(1);
    let rows = rows.min(settings.row_group_size_bytes.saturating_mul(sample.num_rows() as u64) / sampled_bytes);
    for (field, column) in sample.schema_ref().fields().iter().zip(sample.columns()) {
        let path = ColumnPath::from(field.name().as_str());
        let Some(plain) = usual.get(&path).filter(|_| !field.data_type().is_nested()) else { continue };
        if !dictionary_pays(column, *plain, rows, settings) {
            builder = builder.set_column_dictionary_enabled(path, false);
        }
    }
    Ok(builder.build())
}

/// The columns that may have the fast level: as many as keep the whole no larger than at the usual one, those first that
/// lose least.
fn cheaper(usual: &HashMap<ColumnPath, u64>, fast: &HashMap<ColumnPath, u64>) -> Vec<ColumnPath> {
    let mut saved = 0_i128;
    let mut columns: Vec<(i128, &ColumnPath)> = fast
        .iter()
        .map(|(path, fast)| (i128::from(*fast) - usual.get(path).map_or(0, |it| i128::from(*it)), path))
        .collect();
    columns.sort_by_key(|(loss, path)| (*loss, path.string()));
    let within = columns.into_iter().take_while(|(loss, _)| {
        saved -= loss;
        saved >= 0
    });
    within.map(|(_, path)| path.clone()).collect()
}

/// Compressed bytes of every column of `sample`, without dictionaries.
fn column_bytes(settings: &Settings, sample: &RecordBatch, codec: Compression) -> Result<HashMap<ColumnPath, u64>> {
    let builder: WriterPropertiesBuilder = settings.properties.clone().into_builder();
    let properties = builder.set_compression(codec).set_dictionary_enabled(false).build();
    let mut writer = ArrowWriter::try_new(std::io::sink(), sample.schema(), Some(properties))?;
    writer.write(sample)?;
    let footer = writer.close()?;
    let columns = footer.row_groups().iter().flat_map(|group| group.columns());
    let bytes = |it: i64| u64::try_from(it).unwrap_or(0);
    Ok(columns.map(|it| (it.column_path().clone(), bytes(it.compressed_size()))).collect())
}

/// Whether a dictionary makes a row group of `rows` rows smaller, judged by `sample`, whose values take `plain_bytes` without.
fn dictionary_pays(sample: &ArrayRef, plain_bytes: u64, rows: u64, settings: &Settings) -> bool {
    let sampled = (sample.len() - sample.null_count()) as u64;
    let Some(distinct) = distinct(sample).map(|it| it.min(rows)) else { return true };
    if sampled == 0 {
        return true;
    }
    let value_bytes = (sample.get_buffer_memory_size() as u64).div_ceil(sample.len() as u64).max(1);
    if distinct.saturating_mul(value_bytes) > settings.dictionary_bytes_max {
        return false;
    }
    let plain = plain_bytes.saturating_mul(rows) / sampled;
    let index_bits = u64::from(u64::BITS - distinct.saturating_sub(1).leading_zeros());
    let dictionary = distinct.saturating_mul(plain_bytes) / sampled + rows.saturating_mul(index_bits) / 8;
    dictionary < plain
}

/// An estimate of how many values differ in all rows, from those that a sample has once and twice (Chao 1984, bias-corrected).
fn distinct(sample: &ArrayRef) -> Option<u64> {
    let rows =
        KeyEncoder::new(std::iter::once(sample.data_type().clone())).ok()?.encode(std::slice::from_ref(sample)).ok()?;
    let mut counts: HashMap<&[u8], u64> = HashMap::new();
    let keys: Vec<_> = rows.iter().collect();
    for key in &keys {
        *counts.entry(key.as_ref()).or_default() += 1;
    }
    let of = |times: u64| counts.values().filter(|it| **it == times).count() as u64;
    let (once, twice) = (of(1), of(2));
    Some(counts.len() as u64 + once * once.saturating_sub(1) / (2 * (twice + 1)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::Arc;

    use arrow_array::Int64Array;

    use super::*;

    fn numbers(values: impl Iterator<Item = i64>) -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(values))
    }

    #[test]
    fn the_fast_level_never_makes_the_whole_larger() {
        let bytes = |of: &[(&str, u64)]| of.iter().map(|(name, bytes)| (ColumnPath::from(*name), *bytes)).collect();
        let names =
            |usual, fast| cheaper(&bytes(usual), &bytes(fast)).iter().map(ColumnPath::string).collect::<Vec<_>>();
        let usual = [("a", 100), ("b", 100), ("c", 100)];
        assert_eq!(
            names(&usual, &[("a", 90), ("b", 108), ("c", 103)]),
            ["a", "c"],
            "90 + 100 + 103 fits 300, + 8 does not"
        );
        assert_eq!(names(&usual, &[("a", 101), ("b", 101), ("c", 101)]), [""; 0]);
    }

    #[test]
    fn values_that_all_differ_are_estimated_to_go_on_differing() {
        // 1,000 values seen once: 1,000 + 1,000 · 999 / 2.
        assert_eq!(distinct(&numbers(0..1_000)), Some(500_500));
    }

    #[test]
    fn values_that_all_repeat_are_estimated_to_be_all_there_are() {
        assert_eq!(distinct(&numbers((0..1_000).map(|it| it % 10))), Some(10));
        // 10 values seen twice and none once: nothing is left to be seen.
        assert_eq!(distinct(&numbers((0..20).map(|it| it % 10))), Some(10));
    }
}
