//! Rows by partition: the values that a spec gives them, and the folders these are written to.

use std::collections::HashMap;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_select::take::take_record_batch;
use iceberg::{
    arrow::arrow_primitive_to_literal,
    spec::{Literal, PartitionField, PartitionSpec, PrimitiveLiteral, PrimitiveType, Schema, Struct, Transform, Type},
    transform::{BoxedTransformFunction, create_transform_function},
};
use serde_json::Value;

use crate::{
    read::{Columns, KeyEncoder, arrow_type, with_id},
    transform::apply,
};

/// Reasons go to whoever knows the file.
type Described<T> = std::result::Result<T, String>;

/// One field of a spec, ready to compute.
struct Computed {
    source: arrow_schema::Field,
    transform: Transform,
    function: BoxedTransformFunction,
    result: Type,
}

impl Computed {
    fn values(&self, source: ArrayRef) -> Described<ArrayRef> {
        apply(self.transform, &self.function, source)
    }
}

/// Splits rows by the partition tuples of a spec.
pub(crate) struct Splitter {
    /// `None` for void fields, which compute nothing: their source may be gone from the schema.
    fields: Vec<Option<Computed>>,
}

impl Splitter {
    /// # Errors
    /// The field whose source column the schema lacks, or whose transform is not known.
    pub(crate) fn new(spec: &PartitionSpec, schema: &Schema) -> Described<Self> {
        let fields = spec.fields().iter().map(|field| {
            if field.transform == Transform::Void {
                return Ok(None);
            }
            let wrong = |error: &dyn std::fmt::Display| format!("partition field {}: {error}", field.name);
            let source = schema.field_by_id(field.source_id);
            let source = source.ok_or_else(|| wrong(&"its source column is gone from the schema"))?;
            let result = field.transform.result_type(&source.field_type).map_err(|error| wrong(&error))?;
            let function = create_transform_function(&field.transform).map_err(|error| wrong(&error))?;
            let data_type = arrow_type(&source.field_type)?;
            let source = with_id(&source.name, data_type, source.id);
            Ok(Some(Computed { source, transform: field.transform, function, result }))
        });
        Ok(Self { fields: fields.collect::<Described<_>>()? })
    }

    /// The tuples of `batch`, each with its rows in their order.
    pub(crate) fn split(&self, batch: &RecordBatch) -> Described<Vec<(Struct, RecordBatch)>> {
        let columns = Columns::of(batch);
        let compute = |field: &Option<Computed>| {
            let Some(field) = field else { return Ok(None) };
            field.values(columns.key(batch, &field.source)?).map(Some)
        };
        let values: Vec<Option<ArrayRef>> = self.fields.iter().map(compute).collect::<Described<_>>()?;
        let groups = groups(&values.iter().flatten().cloned().collect::<Vec<_>>(), batch.num_rows())?;
        if let [(first, _)] = groups.as_slice() {
            return Ok(vec![(self.tuple(&values, *first)?, batch.clone())]);
        }
        let part = |(first, rows): (usize, Vec<u32>)| {
            let part = take_record_batch(batch, &UInt32Array::from(rows)).map_err(|error| error.to_string())?;
            Ok((self.tuple(&values, first)?, part))
        };
        groups.into_iter().map(part).collect()
    }

    fn tuple(&self, values: &[Option<ArrayRef>], row: usize) -> Described<Struct> {
        let value = |(field, values): (&Option<Computed>, &Option<ArrayRef>)| match (field, values) {
            (Some(Computed { result, .. }), Some(values)) => {
                let literals = arrow_primitive_to_literal(&values.slice(row, 1), result);
                Ok(literals.map_err(|error| error.to_string())?.into_iter().next().flatten())
            }
            _ => Ok(None),
        };
        self.fields.iter().zip(values).map(value).collect()
    }
}

/// Rows with equal values, each group with its first row.
fn groups(values: &[ArrayRef], rows: usize) -> Described<Vec<(usize, Vec<u32>)>> {
    if values.is_empty() {
        return Ok(if rows == 0 { Vec::new() } else { vec![(0, Vec::new())] });
    }
    let keys = KeyEncoder::new(values.iter().map(|it| it.data_type().clone()))?.encode(values)?;
    let mut places: HashMap<&[u8], usize> = HashMap::new();
    let mut groups: Vec<(usize, Vec<u32>)> = Vec::new();
    let keys: Vec<_> = keys.iter().collect();
    for (at, key) in keys.iter().enumerate() {
        let place = *places.entry(key.as_ref()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((at, Vec::new()));
        }
        if let Some((_, rows)) = groups.get_mut(place) {
            rows.push(u32::try_from(at).map_err(|error| error.to_string())?);
        }
    }
    Ok(groups)
}

/// `tuple`, its values as the spec's source columns have them now: a column may have been widened since.
pub(crate) fn widened(tuple: &Struct, spec: &PartitionSpec, schema: &Schema) -> Struct {
    let value = |(field, value): (&PartitionField, Option<&Literal>)| {
        let source =
            schema.field_by_id(field.source_id).and_then(|it| field.transform.result_type(&it.field_type).ok());
        Some(match (value?, source) {
            (Literal::Primitive(PrimitiveLiteral::Int(it)), Some(Type::Primitive(PrimitiveType::Long))) => {
                Literal::long(i64::from(*it))
            }
            (Literal::Primitive(PrimitiveLiteral::Float(it)), Some(Type::Primitive(PrimitiveType::Double))) => {
                Literal::double(f64::from(it.0))
            }
            (other, _) => other.clone(),
        })
    };
    spec.fields().iter().zip(tuple.iter()).map(value).collect()
}

/// The folders of a partition, `name=value/…`, encoded as Java's `PartitionSpec.partitionToPath` does. Readers never parse
/// them; that no value can leave the data folder is what matters.
pub(crate) fn folders(spec: &PartitionSpec, schema: &Schema, tuple: &Struct) -> table_io::Result<String> {
    let partition = table_io::to_partition(spec, schema, tuple)?;
    let folder = |field: &PartitionField| {
        let value = partition.values.get(&field.name).unwrap_or(&Value::Null);
        format!("{}={}", encoded(&field.name), encoded(&human(field.transform, value)))
    };
    Ok(spec.fields().iter().map(folder).collect::<Vec<_>>().join("/"))
}

fn human(transform: Transform, value: &Value) -> String {
    match (transform, value, value.as_i64()) {
        (Transform::Year, _, Some(years)) => format!("{:04}", years.saturating_add(1970)),
        (Transform::Month, _, Some(months)) => {
            format!("{:04}-{:02}", months.div_euclid(12).saturating_add(1970), months.rem_euclid(12) + 1)
        }
        (Transform::Hour, _, Some(hours)) => {
            format!("{}-{:02}", table_io::date_text(hours.div_euclid(24)), hours.rem_euclid(24))
        }
        (_, Value::String(text), _) => text.clone(),
        (_, other, _) => other.to_string(),
    }
}

/// As `application/x-www-form-urlencoded`.
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => encoded.push(char::from(byte)),
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::Arc;

    use arrow_array::{Date32Array, Int64Array, StringViewArray};
    use serde_json::json;

    use super::*;
    use crate::read::arrow_schema;

    fn schema() -> Arc<Schema> {
        Arc::new(
            serde_json::from_value(json!({"type": "struct", "schema-id": 0, "fields": [
                {"id": 1, "name": "id", "required": false, "type": "long"},
                {"id": 2, "name": "name", "required": false, "type": "string"},
                {"id": 3, "name": "day", "required": false, "type": "date"},
            ]}))
            .unwrap(),
        )
    }

    fn spec(fields: &[(i32, &str, &str)]) -> PartitionSpec {
        let field = |(at, (source, name, transform)): (usize, &(i32, &str, &str))| {
            json!({"source-id": source,
            "field-id": 1000 + at, "name": name, "transform": transform})
        };
        let fields: Vec<Value> = fields.iter().enumerate().map(field).collect();
        serde_json::from_value(json!({"spec-id": 7, "fields": fields})).unwrap()
    }

    fn batch() -> RecordBatch {
        let ids = Arc::new(Int64Array::from(vec![Some(1), Some(2), None, Some(4)]));
        let names = Arc::new(StringViewArray::from(vec![Some("b"), Some("a"), Some("b"), None]));
        let days = Arc::new(Date32Array::from(vec![-1, -1, 0, 31]));
        RecordBatch::try_new(arrow_schema(&schema(), false).unwrap(), vec![ids, names, days]).unwrap()
    }

    #[test]
    fn rows_go_to_the_tuple_of_their_values() {
        let splitter = Splitter::new(&spec(&[(2, "name", "identity"), (3, "m", "month")]), &schema()).unwrap();
        let parts = splitter.split(&batch()).unwrap();
        let found: Vec<_> = parts.iter().map(|(tuple, rows)| (tuple.clone(), rows.num_rows())).collect();
        // Months since 1970-01: day -1 is in month -1, day 0 in month 0, day 31 in month 1.
        let tuple =
            |name: Option<&str>, month| Struct::from_iter([name.map(Literal::string), Some(Literal::int(month))]);
        assert_eq!(
            found,
            [(tuple(Some("b"), -1), 1), (tuple(Some("a"), -1), 1), (tuple(Some("b"), 0), 1), (tuple(None, 1), 1)]
        );
    }

    #[test]
    fn a_void_field_whose_source_is_gone_is_null() {
        let splitter = Splitter::new(&spec(&[(99, "old", "void"), (1, "b", "bucket[1]")]), &schema()).unwrap();
        let parts = splitter.split(&batch()).unwrap();
        let tuples: Vec<_> = parts.into_iter().map(|(tuple, rows)| (tuple, rows.num_rows())).collect();
        assert_eq!(
            tuples,
            [(Struct::from_iter([None, Some(Literal::int(0))]), 3), (Struct::from_iter([None, None]), 1)],
            "bucket of NULL is NULL"
        );
        let all_void = Splitter::new(&spec(&[(99, "old", "void")]), &schema()).unwrap();
        assert_eq!(all_void.split(&batch()).unwrap(), [(Struct::from_iter([None]), batch())]);
    }

    #[test]
    fn no_partition_value_leaves_the_data_folder() {
        let spec = spec(&[(2, "na/me", "identity")]);
        let path = |text: &str| folders(&spec, &schema(), &Struct::from_iter([Some(Literal::string(text))])).unwrap();
        assert_eq!(path("../../etc"), "na%2Fme=..%2F..%2Fetc");
        assert_eq!(path("a b=c%é"), "na%2Fme=a+b%3Dc%25%C3%A9");
        assert_eq!(folders(&spec, &schema(), &Struct::from_iter([None])).unwrap(), "na%2Fme=null");
    }

    #[test]
    fn folders_of_time_are_written_as_java_writes_them() {
        let spec = spec(&[(3, "y", "year"), (3, "m", "month"), (3, "d", "day"), (3, "h", "hour")]);
        let tuple = Struct::from_iter([-1, -1, -1, -1].map(|it| Some(Literal::int(it))));
        assert_eq!(folders(&spec, &schema(), &tuple).unwrap(), "y=1969/m=1969-12/d=1969-12-31/h=1969-12-31-23");
    }

    #[test]
    fn a_tuple_follows_the_widening_of_its_column() {
        let spec = spec(&[(1, "id", "identity"), (1, "b", "bucket[4]")]);
        let tuple = Struct::from_iter([Some(Literal::int(5)), Some(Literal::int(3))]);
        let wide = Struct::from_iter([Some(Literal::long(5)), Some(Literal::int(3))]);
        assert_eq!(widened(&tuple, &spec, &schema()), wide);
    }
}
