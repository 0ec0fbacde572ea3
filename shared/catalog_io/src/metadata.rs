//! Reading table metadata files, and saying what is wrong with those that cannot be read.

use std::{io, sync::Arc};

use iceberg::{
    io::FileIO,
    spec::{TableMetadata, Transform},
};
use model::TableName;
use ports::{Error, ErrorKind, LoadedTable};
use serde_json::Value;

/// Types of format version 3 that Firn does not carry (Iceberg spec, "Primitive types", "Semi-structured types").
const UNSUPPORTED_TYPES: [&str; 4] = ["variant", "geometry", "geography", "unknown"];

/// The namespace of a table whose location has no folder above the table's own.
const NO_NAMESPACE: &str = "local";

/// The table described by the metadata file at `location`, named by the last two parts of its location.
///
/// # Errors
/// `NotFound` for a missing file, `Invalid` for a format version or type that is not supported, `Corrupt` for a file
/// that is not Iceberg table metadata.
pub async fn open_metadata(location: &str, file_io: FileIO) -> Result<LoadedTable, Error> {
    let metadata = load_metadata(&file_io, location).await?;
    let name = name_of(metadata.location());
    Ok(LoadedTable { name, metadata_location: location.to_owned(), metadata: Arc::new(metadata), file_io })
}

/// Reads `…metadata.json`, gzip-compressed or not: told by its first bytes, since file names lie.
pub(crate) async fn load_metadata(file_io: &FileIO, location: &str) -> Result<TableMetadata, Error> {
    match TableMetadata::read_from(file_io, location).await {
        Ok(metadata) => Ok(metadata),
        Err(e) => match unsupported(file_io, location).await {
            Some(reason) => Err(Error::new(ErrorKind::Invalid, "catalog.load_table", location, reason)),
            None => Err(Error::new(kind_of(&e), "catalog.load_table", location, e)),
        },
    }
}

/// What a caller can do about a failed access to storage.
pub(crate) fn kind_of(error: &iceberg::Error) -> ErrorKind {
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        if let Some(io) = inner.downcast_ref::<io::Error>() {
            return match io.kind() {
                io::ErrorKind::NotFound => ErrorKind::NotFound,
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Denied,
                io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => ErrorKind::Corrupt,
                _ => ErrorKind::Unavailable,
            };
        }
        cause = inner.source();
    }
    match error.kind() {
        iceberg::ErrorKind::DataInvalid => ErrorKind::Corrupt,
        iceberg::ErrorKind::FeatureUnsupported => ErrorKind::Invalid,
        _ => ErrorKind::Unavailable,
    }
}

/// What the metadata uses that the library cannot parse; its own error for that says nothing.
async fn unsupported(file_io: &FileIO, location: &str) -> Option<String> {
    let bytes = file_io.new_input(location).ok()?.read().await.ok()?;
    let metadata: Value = if bytes.starts_with(&[0x1f, 0x8b]) {
        serde_json::from_reader(flate2::read::GzDecoder::new(&*bytes)).ok()?
    } else {
        serde_json::from_slice(&bytes).ok()?
    };
    let version = metadata.get("format-version")?.as_u64()?;
    if version > 3 {
        return Some(format!("format version {version} is not supported (1, 2 and 3 are)"));
    }
    let all = |key: &str| metadata.get(key).and_then(Value::as_array).into_iter().flatten();
    if let Some((column, data_type)) = all("schemas").find_map(unsupported_column) {
        return Some(format!("column {column} has type {data_type}, which is not supported"));
    }
    let (field, transform) = all("partition-specs").find_map(unsupported_transform)?;
    Some(format!("partition field {field} has transform {transform}, which is not supported"))
}

fn unsupported_transform(spec: &Value) -> Option<(String, String)> {
    spec.get("fields")?.as_array()?.iter().find_map(|field| {
        let text = |key: &str| field.get(key).and_then(Value::as_str).map(str::to_owned);
        let transform = text("transform")?;
        transform.parse::<Transform>().is_err().then_some((text("name")?, transform))
    })
}

fn unsupported_column(schema: &Value) -> Option<(String, String)> {
    let fields = schema.get("fields").and_then(Value::as_array);
    fields.into_iter().flatten().find_map(|field| {
        let name = field.get("name")?.as_str()?;
        ["type", "element", "key", "value"].iter().filter_map(|key| field.get(key)).find_map(|data_type| {
            unsupported_type(data_type).map(|found| match found.0.as_str() {
                "" => (name.to_owned(), found.1),
                inner => (format!("{name}.{inner}"), found.1),
            })
        })
    })
}

/// The path below a column and the type, when it is or contains one that is not supported.
fn unsupported_type(data_type: &Value) -> Option<(String, String)> {
    if let Some(name) = data_type.as_str() {
        let base = name.split(['(', ' ']).next()?;
        return UNSUPPORTED_TYPES.contains(&base).then(|| (String::new(), name.to_owned()));
    }
    let parts = ["element", "key", "value"].iter().filter_map(|key| data_type.get(key));
    unsupported_column(data_type).or_else(|| parts.into_iter().find_map(unsupported_type))
}

fn name_of(table_location: &str) -> TableName {
    let mut parts = table_location.rsplit('/').filter(|part| !part.is_empty() && !part.ends_with(':'));
    let name = parts.next().unwrap_or(NO_NAMESPACE).to_owned();
    TableName { namespace: parts.next().unwrap_or(NO_NAMESPACE).to_owned(), name }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_is_named_by_the_last_parts_of_its_location() {
        for (location, name) in [
            ("file:/data/warehouse/db/orders", "db.orders"),
            ("/w/sales.db/orders/", "sales.db.orders"),
            ("file:/orders", "local.orders"),
            ("s3://bucket/orders", "bucket.orders"),
        ] {
            assert_eq!(name_of(location).to_string(), name);
        }
    }

    #[test]
    fn a_transform_that_is_not_known_is_named() {
        let spec = |transform: &str| json!({"spec-id": 0, "fields": [{"name": "z", "transform": transform}]});
        assert_eq!(unsupported_transform(&spec("zorder")), Some(("z".to_owned(), "zorder".to_owned())));
        for known in ["identity", "void", "bucket[16]", "truncate[4]", "year", "month", "day", "hour"] {
            assert_eq!(unsupported_transform(&spec(known)), None, "{known}");
        }
    }

    #[test]
    fn a_type_that_no_rewrite_carries_is_named_at_any_depth() {
        let list = json!({"type": "list", "element-id": 3, "element": "geometry(srid:4326)"});
        let inner = json!({"type": "struct", "fields": [{"id": 2, "name": "shape", "type": list}]});
        let schema = json!({"fields": [
            {"id": 1, "name": "a", "type": "long"},
            {"id": 4, "name": "b", "type": {"type": "map", "key": "string", "value": inner}},
        ]});
        assert_eq!(unsupported_column(&schema), Some(("b.shape".to_owned(), "geometry(srid:4326)".to_owned())));
        assert_eq!(unsupported_column(&json!({"fields": [{"name": "unknown", "type": "string"}]})), None);
    }
}
