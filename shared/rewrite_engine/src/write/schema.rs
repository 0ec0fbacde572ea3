//! The Parquet schema of a data file (Iceberg spec, Appendix A, "Parquet").

use std::{collections::HashSet, sync::Arc};

use arrow_schema::Schema as ArrowSchema;
use iceberg::spec::{PrimitiveType, Schema, Type};
use parquet::{
    arrow::ArrowSchemaConverter,
    basic::LogicalType,
    errors::Result,
    schema::types::{Type as ParquetType, TypePtr},
};

/// `arrow` as Parquet, with the logical type UUID that Arrow does not know.
pub(crate) fn parquet_schema(arrow: &ArrowSchema, schema: &Schema) -> Result<TypePtr> {
    let uuids: HashSet<i32> = schema.field_id_to_name_map().keys().copied().filter(|id| is_uuid(schema, *id)).collect();
    let converted = ArrowSchemaConverter::new().schema_root("table").convert(arrow)?;
    annotated(&converted.root_schema_ptr(), &uuids)
}

fn is_uuid(schema: &Schema, id: i32) -> bool {
    schema.field_by_id(id).is_some_and(|it| matches!(it.field_type.as_ref(), Type::Primitive(PrimitiveType::Uuid)))
}

fn annotated(node: &TypePtr, uuids: &HashSet<i32>) -> Result<TypePtr> {
    let info = node.get_basic_info();
    let id = info.has_id().then(|| info.id());
    match node.as_ref() {
        ParquetType::GroupType { fields, .. } => {
            let fields = fields.iter().map(|field| annotated(field, uuids)).collect::<Result<Vec<_>>>()?;
            let mut builder = ParquetType::group_type_builder(info.name())
                .with_fields(fields)
                .with_converted_type(info.converted_type())
                .with_logical_type(info.logical_type_ref().cloned())
                .with_id(id);
            if info.has_repetition() {
                builder = builder.with_repetition(info.repetition());
            }
            Ok(Arc::new(builder.build()?))
        }
        ParquetType::PrimitiveType { physical_type, type_length, .. } if id.is_some_and(|id| uuids.contains(&id)) => {
            let builder = ParquetType::primitive_type_builder(info.name(), *physical_type)
                .with_repetition(info.repetition())
                .with_length(*type_length)
                .with_logical_type(Some(LogicalType::Uuid))
                .with_id(id);
            Ok(Arc::new(builder.build()?))
        }
        ParquetType::PrimitiveType { .. } => Ok(Arc::clone(node)),
    }
}
