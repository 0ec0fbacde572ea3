//! Manifest lists and manifests, as other engines wrote them.
//!
//! The library reads a manifest by the schema and spec in its header, and fails where the spec's source column has been
//! dropped, a partition field shares its name with a column, or a name is not a valid Avro name. None of that matters
//! for reading: values are found by position and Avro name. So the header is replaced before parsing: one made-up
//! column per partition field, and the columns whose bounds are wanted.

use std::{collections::BTreeSet, sync::Arc};

use iceberg::spec::{
    FormatVersion, Manifest, ManifestEntryRef, ManifestFile, ManifestList, PartitionSpec, SchemaRef, Snapshot,
    TableMetadata, Type,
};
use ports::LoadedTable;
use serde_json::{Value, json};

use crate::{
    avro::Header,
    error::{Error, Result},
};

/// The first id of the made-up columns; table columns and reserved ones are far away on either side.
const MADE_UP_COLUMN_ID: i32 = 1_900_000_000;

/// The manifest list of `snapshot`, in its order.
///
/// # Errors
/// [`Error::Read`] when it is missing or broken, [`Error::Invalid`] when it is encrypted.
pub(crate) async fn load_manifest_list(table: &LoadedTable, snapshot: &Snapshot) -> Result<Vec<ManifestFile>> {
    let path = snapshot.manifest_list();
    if snapshot.encryption_key_id().is_some() {
        return Err(encrypted(path));
    }
    let bytes = read(table, path).await?;
    let version = list_version(&bytes).ok_or_else(|| Error::corrupt(path, "is not an Avro file"))?;
    let list = ManifestList::parse_with_version(&bytes, version).map_err(|e| Error::read(path, e))?;
    Ok(list.consume_entries().into_iter().collect())
}

/// The entries of a manifest as they are stored, nothing inherited. Bounds are kept for the columns `wanted` and the
/// reserved ones.
///
/// # Errors
/// [`Error::Read`] when it is missing or broken, [`Error::Corrupt`] when it contradicts the table or its list,
/// [`Error::Invalid`] when it is encrypted.
pub(crate) async fn load_entries(
    table: &LoadedTable,
    manifest: &ManifestFile,
    wanted: &BTreeSet<i32>,
) -> Result<Vec<ManifestEntryRef>> {
    let path = &manifest.manifest_path;
    let spec = spec_of(&table.metadata, manifest)?;
    let bytes = read_plain(table, manifest).await?;
    let mut header = Header::parse(&bytes).ok_or_else(|| Error::corrupt(path, "is not an Avro file"))?;
    replace_schema(&mut header, &table.metadata, spec, wanted).map_err(|reason| Error::corrupt(path, reason))?;
    let parsed = Manifest::parse_avro(&header.to_file()).map_err(|e| Error::read(path, e))?;
    let (entries, metadata) = parsed.into_parts();
    if metadata.content != manifest.content {
        let reason = format!("holds {}, but its manifest list says {}", metadata.content, manifest.content);
        return Err(Error::corrupt(path, reason));
    }
    Ok(entries)
}

/// The entries of a manifest with everything that they hold, and the schema in its header.
///
/// # Errors
/// As [`load_entries`].
pub(crate) async fn load_whole(
    table: &LoadedTable,
    manifest: &ManifestFile,
) -> Result<(Vec<ManifestEntryRef>, SchemaRef)> {
    let path = &manifest.manifest_path;
    let bytes = read_plain(table, manifest).await?;
    let mut header = Header::parse(&bytes).ok_or_else(|| Error::corrupt(path, "is not an Avro file"))?;
    let schema = rename_namesakes(&mut header).map_err(|reason| Error::corrupt(path, reason))?;
    let parsed = Manifest::parse_avro(&header.to_file()).map_err(|e| Error::read(path, e))?;
    Ok((parsed.into_parts().0, schema))
}

/// Renames the columns that share their name with a partition field, and returns the schema as it was. The library takes such a
/// field for a mistake unless its transform is identity; in v1 a dropped field stays under its name as void.
fn rename_namesakes(header: &mut Header<'_>) -> std::result::Result<SchemaRef, String> {
    let schema = json_of(header, "schema")?;
    let spec = json_of(header, "partition-spec")?;
    let original = serde_json::from_value(schema.clone()).map_err(|e| format!("the schema of its header: {e}"))?;
    let fields: Vec<&str> = spec.as_array().into_iter().flatten().filter_map(|it| it.get("name")?.as_str()).collect();
    let mut renamed = schema;
    for column in renamed.get_mut("fields").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(Value::String(name)) = column.get_mut("name")
            && fields.contains(&name.as_str())
        {
            name.push('#');
        }
    }
    header.metadata.insert("schema".to_owned(), renamed.to_string().into_bytes());
    Ok(Arc::new(original))
}

/// The partition spec that `manifest` was written with.
///
/// # Errors
/// [`Error::Corrupt`] when the table has no such spec.
pub(crate) fn spec_of<'a>(metadata: &'a TableMetadata, manifest: &ManifestFile) -> Result<&'a PartitionSpec> {
    let id = manifest.partition_spec_id;
    let spec = metadata.partition_spec_by_id(id).map(AsRef::as_ref);
    spec.ok_or_else(|| {
        Error::corrupt(&manifest.manifest_path, format!("uses partition spec {id}, which the table lacks"))
    })
}

async fn read_plain(table: &LoadedTable, manifest: &ManifestFile) -> Result<bytes::Bytes> {
    if manifest.key_metadata.as_ref().is_some_and(|key| !key.is_empty()) {
        return Err(encrypted(&manifest.manifest_path));
    }
    read(table, &manifest.manifest_path).await
}

async fn read(table: &LoadedTable, path: &str) -> Result<bytes::Bytes> {
    let read = async { table.file_io.new_input(path)?.read().await };
    read.await.map_err(|e| Error::read(path, e))
}

fn encrypted(path: &str) -> Error {
    Error::Invalid(format!("{path} is encrypted; encrypted tables are not supported"))
}

/// The format of a manifest list, which may be older than the table's. Lists that do not name it are told by a field
/// that v1 lacks.
fn list_version(file: &[u8]) -> Option<FormatVersion> {
    let header = Header::parse(file)?;
    match header.metadata.get("format-version").map(Vec::as_slice) {
        Some(b"1") => Some(FormatVersion::V1),
        Some(b"2") => Some(FormatVersion::V2),
        Some(_) => Some(FormatVersion::V3),
        None => {
            let schema = String::from_utf8_lossy(header.metadata.get("avro.schema")?);
            Some(if schema.contains("\"min_sequence_number\"") { FormatVersion::V2 } else { FormatVersion::V1 })
        }
    }
}

fn json_of(header: &Header<'_>, key: &str) -> std::result::Result<Value, String> {
    let text = header.metadata.get(key).ok_or_else(|| format!("its header has no {key}"))?;
    serde_json::from_slice(text).map_err(|e| format!("the {key} of its header does not parse: {e}"))
}

/// Puts a schema and spec into `header` that read every value where it is.
fn replace_schema(
    header: &mut Header<'_>,
    metadata: &TableMetadata,
    spec: &PartitionSpec,
    wanted: &BTreeSet<i32>,
) -> std::result::Result<(), String> {
    let schema = json_of(header, "schema")?;
    let stored = json_of(header, "partition-spec")?;
    let stored = stored.as_array().ok_or("the partition-spec of its header is not a list")?;
    if stored.len() != spec.fields().len() {
        return Err(format!(
            "its partition spec has {} fields, spec {} of the table {}",
            stored.len(),
            spec.spec_id(),
            spec.fields().len()
        ));
    }
    let type_of = |id: i32| primitive_type(&schema, id).or_else(|| table_type(metadata, id));
    let mut columns = Vec::new();
    let mut fields = Vec::new();
    for ((field, stored), id) in spec.fields().iter().zip(stored).zip(MADE_UP_COLUMN_ID..) {
        let name = stored.get("name").and_then(Value::as_str).unwrap_or(&field.name);
        let source_type = type_of(field.source_id).ok_or_else(|| {
            format!("no schema of the table has column {}, the source of partition field {name}", field.source_id)
        })?;
        columns.push(json!({"id": id, "name": format!("#{id}"), "required": false, "type": source_type}));
        fields.push(
            json!({"source-id": id, "field-id": field.field_id, "name": avro_name(name), "transform": field.transform}),
        );
    }
    for id in wanted {
        if let Some(data_type) = type_of(*id) {
            columns.push(json!({"id": id, "name": format!("#{id}"), "required": false, "type": data_type}));
        }
    }
    let schema = json!({"type": "struct", "schema-id": 0, "fields": columns});
    header.metadata.insert("schema".to_owned(), schema.to_string().into_bytes());
    header.metadata.insert("partition-spec".to_owned(), Value::Array(fields).to_string().into_bytes());
    Ok(())
}

/// The primitive type of column `id` anywhere in a schema's JSON.
fn primitive_type(schema: &Value, id: i32) -> Option<Value> {
    let nested = |key: &str| schema.get(key);
    for (id_key, type_key) in [("id", "type"), ("element-id", "element"), ("key-id", "key"), ("value-id", "value")] {
        if nested(id_key).and_then(Value::as_i64) == Some(i64::from(id)) {
            return nested(type_key).filter(|data_type| data_type.is_string()).cloned();
        }
    }
    if let Some(fields) = nested("fields").and_then(Value::as_array) {
        return fields.iter().find_map(|field| primitive_type(field, id));
    }
    ["type", "element", "key", "value"].iter().filter_map(|key| nested(key)).find_map(|inner| primitive_type(inner, id))
}

/// The primitive type of column `id` in the newest schema of the table that has it.
fn table_type(metadata: &TableMetadata, id: i32) -> Option<Value> {
    let mut schemas: Vec<_> = metadata.schemas_iter().collect();
    schemas.sort_by_key(|schema| std::cmp::Reverse(schema.schema_id()));
    let field = schemas.iter().find_map(|schema| schema.field_by_id(id))?;
    match field.field_type.as_ref() {
        Type::Primitive(data_type) => serde_json::to_value(data_type).ok(),
        _ => None,
    }
}

/// The name under which Iceberg's writers store a field whose own name is not a valid Avro name: every character that
/// Avro does not allow becomes `_x` and its code in hex, a leading digit gets an underscore.
fn avro_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (index, c) in name.chars().enumerate() {
        match c {
            '_' | 'a'..='z' | 'A'..='Z' => out.push(c),
            '0'..='9' if index > 0 => out.push(c),
            '0'..='9' => out.extend(['_', c]),
            // Java counts in UTF-16 units.
            _ => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("_x{unit:X}"))),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_stored_as_java_writers_store_them() {
        for (name, stored) in
            [("day", "day"), ("a-b", "a_x2Db"), ("1st", "_1st"), ("é_1", "_xE9_1"), ("😀", "_xD83D_xDE00")]
        {
            assert_eq!(avro_name(name), stored);
        }
    }

    #[test]
    fn the_type_of_a_column_is_found_at_any_depth() {
        let schema = json!({"fields": [
            {"id": 1, "name": "l", "type": {"type": "list", "element-id": 2, "element": {"type": "struct", "fields": [
                {"id": 3, "name": "m", "type": {"type": "map", "key-id": 4, "key": "string", "value-id": 5, "value": "long"}},
            ]}}},
        ]});
        assert_eq!(primitive_type(&schema, 4), Some(json!("string")));
        assert_eq!(primitive_type(&schema, 5), Some(json!("long")));
        assert_eq!(primitive_type(&schema, 2), None);
        assert_eq!(primitive_type(&schema, 9), None);
    }
}
