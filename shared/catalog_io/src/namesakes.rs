//! Partition fields that share their name with a column and are no identity of it.
//!
//! In format version 1 a dropped partition field stays in the spec, under its name, as void (Iceberg spec, "Partition Evolution").
//! The library's builder takes such a spec for a mistake, so it sees other names for the time of a commit.

use std::collections::BTreeSet;

use iceberg::spec::{TableMetadata, Transform};
use serde_json::Value;

/// What is appended to a name; no column name has it by accident, and none of these names is ever written.
const MARK: &str = "#firn-hidden";

/// The names that the library must not see.
pub(crate) struct Namesakes(BTreeSet<String>);

impl Namesakes {
    pub(crate) fn of(metadata: &TableMetadata) -> Self {
        let columns = metadata.current_schema();
        let fields = metadata.default_partition_spec().fields().iter();
        let hidden =
            fields.filter(|it| it.transform != Transform::Identity && columns.field_by_name(&it.name).is_some());
        Self(hidden.map(|field| field.name.clone()).collect())
    }

    /// `metadata` with other names in their place.
    ///
    /// # Errors
    /// The library does not take its own metadata back.
    pub(crate) fn hidden(&self, metadata: &TableMetadata) -> iceberg::Result<TableMetadata> {
        if self.0.is_empty() {
            return Ok(metadata.clone());
        }
        let mut json = serde_json::to_value(metadata)?;
        each_name(&mut json, |name| {
            if self.0.contains(name) {
                name.push_str(MARK);
            }
        });
        Ok(serde_json::from_value(json)?)
    }

    /// The JSON of `metadata` with the names as they were.
    ///
    /// # Errors
    /// The metadata has no JSON form.
    pub(crate) fn shown(&self, metadata: &TableMetadata) -> iceberg::Result<Value> {
        let mut json = serde_json::to_value(metadata)?;
        if !self.0.is_empty() {
            each_name(&mut json, |name| {
                if let Some(own) = name.strip_suffix(MARK) {
                    *name = own.to_owned();
                }
            });
        }
        Ok(json)
    }
}

/// Calls `rename` on the name of every partition field of every spec; version 1 has the default one twice.
fn each_name(metadata: &mut Value, rename: impl Fn(&mut String)) {
    let each = |fields: Option<&mut Value>| {
        for field in fields.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::String(name)) = field.get_mut("name") {
                rename(name);
            }
        }
    };
    each(metadata.get_mut("partition-spec"));
    for spec in metadata.get_mut("partition-specs").and_then(Value::as_array_mut).into_iter().flatten() {
        each(spec.get_mut("fields"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn table(fields: Value) -> TableMetadata {
        serde_json::from_value(json!({
            "format-version": 1, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "memory:/t",
            "last-updated-ms": 1, "last-column-id": 2, "current-schema-id": 0, "schemas": [{"type": "struct", "schema-id": 0,
                "fields": [{"id": 1, "name": "id", "required": false, "type": "long"},
                           {"id": 2, "name": "city", "required": false, "type": "string"}]}],
            "schema": {"type": "struct", "schema-id": 0, "fields": [
                {"id": 1, "name": "id", "required": false, "type": "long"},
                {"id": 2, "name": "city", "required": false, "type": "string"}]},
            "partition-spec": fields, "partition-specs": [{"spec-id": 0, "fields": fields}], "default-spec-id": 0,
            "last-partition-id": 1001, "properties": {},
        }))
        .unwrap()
    }

    #[test]
    fn a_void_field_named_like_its_column_passes_the_library_and_keeps_its_name() {
        let metadata = table(json!([
            {"source-id": 2, "field-id": 1000, "name": "city", "transform": "void"},
            {"source-id": 1, "field-id": 1001, "name": "id_bucket", "transform": "bucket[2]"},
        ]));
        assert!(metadata.clone().into_builder(None).build().is_err(), "if the library takes it, all of this can go");
        let namesakes = Namesakes::of(&metadata);
        let built = namesakes.hidden(&metadata).unwrap().into_builder(None).build().unwrap().metadata;
        let shown = namesakes.shown(&built).unwrap();
        let names: Vec<_> =
            shown["partition-specs"][0]["fields"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
        assert_eq!(names, ["city", "id_bucket"]);
        assert_eq!(
            serde_json::from_value::<TableMetadata>(shown).unwrap().default_partition_spec(),
            metadata.default_partition_spec()
        );
    }

    #[test]
    fn an_identity_field_named_like_its_column_is_left_alone() {
        let metadata = table(json!([{"source-id": 2, "field-id": 1000, "name": "city", "transform": "identity"}]));
        assert!(Namesakes::of(&metadata).0.is_empty());
    }
}
