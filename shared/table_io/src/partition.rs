//! Partition tuples: from Iceberg's typed form to the planner's JSON form.

use iceberg::spec::{Literal, PartitionField, PartitionSpec, PrimitiveType, Schema, Struct, Transform, Type};
use serde_json::Value;

use crate::{
    error::{Error, Result},
    single_value::to_json,
};

/// The tuple as JSON single values by partition field name. Works for specs whose source columns are gone from `schema`.
///
/// # Errors
/// [`crate::Error::Corrupt`] when tuple and spec differ in length.
pub fn to_partition(spec: &PartitionSpec, schema: &Schema, tuple: &Struct) -> Result<model::Partition> {
    let corrupt = |reason: String| Error::corrupt(format!("partition spec {}", spec.spec_id()), reason);
    let (fields, values) = (spec.fields(), tuple.fields());
    if fields.len() != values.len() {
        return Err(corrupt(format!("has {} fields, the partition tuple of a file {}", fields.len(), values.len())));
    }
    let value_of = |field: &PartitionField, value: &Option<Literal>| match value {
        None => Some(Value::Null),
        Some(Literal::Primitive(literal)) => to_json(result_type(field, schema).as_ref(), literal),
        Some(_) => None,
    };
    let values = fields.iter().zip(values).map(|(field, value)| {
        let json =
            value_of(field, value).ok_or_else(|| corrupt(format!("the value of {} is no single value", field.name)));
        Ok((field.name.clone(), json?))
    });
    Ok(model::Partition { spec_id: spec.spec_id(), values: values.collect::<Result<_>>()? })
}

/// The type of a field's values; `None` when only its dropped source column could tell.
fn result_type(field: &PartitionField, schema: &Schema) -> Option<PrimitiveType> {
    match field.transform {
        Transform::Day => Some(PrimitiveType::Date),
        Transform::Bucket(_) | Transform::Year | Transform::Month | Transform::Hour => Some(PrimitiveType::Int),
        _ => match field.transform.result_type(&schema.field_by_id(field.source_id)?.field_type).ok()? {
            Type::Primitive(data_type) => Some(data_type),
            _ => None,
        },
    }
}
