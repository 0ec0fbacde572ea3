//! How a table wants its Parquet files (Iceberg table properties, "Write properties").

use std::{collections::HashMap, str::FromStr};

use iceberg::spec::{Schema, TableMetadata};
use parquet::{
    basic::{BrotliLevel, Compression, GzipLevel, ZstdLevel},
    file::{
        metadata::KeyValue,
        properties::{EnabledStatistics, WriterProperties},
    },
    schema::types::ColumnPath,
};

const LEVEL: &str = "write.parquet.compression-level";

/// How much a manifest entry says about a column (`write.metadata.metrics.*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MetricsMode {
    None,
    Counts,
    /// Bounds of text and binary cut to so many code points or bytes.
    Truncate(usize),
    Full,
}

/// The parsed properties.
pub(crate) struct Settings {
    /// Everything but what is chosen per column.
    pub(crate) properties: WriterProperties,
    pub(crate) compression: Compression,
    /// Whether the codec is zstd and the table leaves its level open.
    pub(crate) may_choose_level: bool,
    pub(crate) dictionary_bytes_max: u64,
    pub(crate) row_group_size_bytes: u64,
    pub(crate) data_location: String,
    pub(crate) object_storage: bool,
    modes: HashMap<i32, MetricsMode>,
}

impl Settings {
    /// # Errors
    /// The property that does not parse, and what it should be.
    pub(crate) fn new(metadata: &TableMetadata) -> Result<Self, String> {
        let table = metadata.properties();
        let get = |name: &str| table.get(name).map(String::as_str);
        let row_group_size_bytes = number(table, "write.parquet.row-group-size-bytes", 128 * 1024 * 1024)?;
        let dictionary_bytes_max: u64 = number(table, "write.parquet.dict-size-bytes", 2 * 1024 * 1024)?;
        let compression = compression(table)?;
        let schema = serde_json::to_string(metadata.current_schema().as_ref()).map_err(|error| error.to_string())?;
        let mut builder = WriterProperties::builder()
            .set_compression(compression)
            .set_key_value_metadata(Some(vec![KeyValue::new("iceberg.schema".to_owned(), schema)]))
            .set_created_by(concat!("firn version ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_data_page_size_limit(number(table, "write.parquet.page-size-bytes", 1024 * 1024)?)
            .set_data_page_row_count_limit(number(table, "write.parquet.page-row-limit", 20_000)?)
            .set_dictionary_page_size_limit(usize::try_from(dictionary_bytes_max).unwrap_or(usize::MAX))
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_statistics_truncate_length(None)
            .set_max_row_group_row_count(None);
        for (name, value) in table {
            if let Some(column) = name.strip_prefix("write.parquet.bloom-filter-enabled.column.") {
                builder =
                    builder.set_column_bloom_filter_enabled(column_path(column), parsed(name, value, "true or false")?);
            }
            if let Some(column) = name.strip_prefix("write.parquet.bloom-filter-fpp.column.") {
                let fpp: f64 = parsed(name, value, "a number between 0 and 1")?;
                if !(fpp > 0.0 && fpp < 1.0) {
                    return Err(format!("table property {name}: {value:?} is not a number between 0 and 1"));
                }
                builder = builder.set_column_bloom_filter_fpp(column_path(column), fpp);
            }
        }
        let location = metadata.location().trim_end_matches('/');
        let object_storage = get("write.object-storage.enabled").is_some_and(|it| it.eq_ignore_ascii_case("true"));
        // In the order of Java's location providers; the last two are deprecated names.
        let data_location = get("write.data.path")
            .or_else(|| get("write.object-storage.path").filter(|_| object_storage))
            .or_else(|| get("write.folder-storage.path"));
        Ok(Self {
            properties: builder.build(),
            compression,
            may_choose_level: matches!(compression, Compression::ZSTD(_))
                && get(LEVEL).is_none_or(|it| it.eq_ignore_ascii_case("null")),
            dictionary_bytes_max,
            row_group_size_bytes,
            data_location: data_location
                .map_or_else(|| format!("{location}/data"), |it| it.trim_end_matches('/').to_owned()),
            object_storage,
            modes: modes(table, metadata.current_schema())?,
        })
    }

    pub(crate) fn mode(&self, field_id: i32) -> MetricsMode {
        self.modes.get(&field_id).copied().unwrap_or(MetricsMode::None)
    }
}

fn number<T: FromStr>(table: &HashMap<String, String>, name: &str, default: T) -> Result<T, String> {
    table.get(name).map_or(Ok(default), |text| parsed(name, text, "a whole number"))
}

fn parsed<T: FromStr>(name: &str, text: &str, what: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("table property {name}: {text:?} is not {what}"))
}

fn column_path(name: &str) -> ColumnPath {
    ColumnPath::new(name.split('.').map(str::to_owned).collect())
}

fn compression(table: &HashMap<String, String>) -> Result<Compression, String> {
    const CODEC: &str = "write.parquet.compression-codec";
    let codec = table.get(CODEC).map_or_else(|| "zstd".to_owned(), |it| it.to_lowercase());
    let level = table.get(LEVEL).filter(|it| !it.eq_ignore_ascii_case("null"));
    let wrong = |error: &dyn std::fmt::Display| format!("table property {LEVEL}: {error}");
    let level: Option<i32> = level.map(|it| it.parse().map_err(|error| wrong(&error))).transpose()?;
    let unsigned = level.map(|it| u32::try_from(it).map_err(|error| wrong(&error))).transpose()?;
    Ok(match codec.as_str() {
        "uncompressed" | "none" => Compression::UNCOMPRESSED,
        "snappy" => Compression::SNAPPY,
        "gzip" => Compression::GZIP(GzipLevel::try_new(unsigned.unwrap_or(6)).map_err(|error| wrong(&error))?),
        "brotli" => Compression::BROTLI(BrotliLevel::try_new(unsigned.unwrap_or(1)).map_err(|error| wrong(&error))?),
        "lz4" | "lz4_raw" => Compression::LZ4_RAW,
        "zstd" => Compression::ZSTD(ZstdLevel::try_new(level.unwrap_or(3)).map_err(|error| wrong(&error))?),
        other => {
            return Err(format!(
                "table property {CODEC}: {other:?} is none of zstd, snappy, gzip, lz4, brotli, uncompressed"
            ));
        }
    })
}

fn modes(table: &HashMap<String, String>, schema: &Schema) -> Result<HashMap<i32, MetricsMode>, String> {
    const DEFAULT: &str = "write.metadata.metrics.default";
    let inferred: usize = number(table, "write.metadata.metrics.max-inferred-column-defaults", 100)?;
    let default = table.get(DEFAULT).map(|text| mode(DEFAULT, text)).transpose()?;
    let is_primitive = |id: &i32| schema.field_by_id(*id).is_some_and(|it| it.field_type.is_primitive());
    let mut ids: Vec<i32> = schema.field_id_to_name_map().keys().copied().filter(is_primitive).collect();
    ids.sort_unstable();
    let mut modes = HashMap::new();
    for (at, id) in ids.into_iter().enumerate() {
        let name = format!("write.metadata.metrics.column.{}", schema.name_by_field_id(id).unwrap_or(""));
        let own = table.get(&name).map(|text| mode(&name, text)).transpose()?;
        let otherwise = if at < inferred { MetricsMode::Truncate(16) } else { MetricsMode::None };
        modes.insert(id, own.or(default).unwrap_or(otherwise));
    }
    Ok(modes)
}

fn mode(name: &str, text: &str) -> Result<MetricsMode, String> {
    let lower = text.to_lowercase();
    let length =
        lower.strip_prefix("truncate(").and_then(|it| it.strip_suffix(')')).and_then(|it| it.trim().parse().ok());
    match (lower.as_str(), length) {
        ("none", _) => Ok(MetricsMode::None),
        ("counts", _) => Ok(MetricsMode::Counts),
        ("full", _) => Ok(MetricsMode::Full),
        (_, Some(length)) if length > 0 => Ok(MetricsMode::Truncate(length)),
        _ => Err(format!("table property {name}: {text:?} is none of none, counts, truncate(LENGTH), full")),
    }
}
