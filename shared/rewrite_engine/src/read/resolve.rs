//! Columns by field id, at every nesting depth (rewrite rules A.5, A.6).

use std::{collections::HashMap, sync::Arc};

use arrow_array::{Array, ArrayRef, ListArray, MapArray, RecordBatch, StructArray, cast::AsArray, new_null_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field, FieldRef, Fields, Schema as ArrowSchema, SchemaRef, TimeUnit};
use iceberg::spec::{Literal, MappedField, NameMapping, NestedField, TableMetadata, Transform, Type};
use parquet::{basic::Type as Physical, schema::types::SchemaDescriptor};
use ports::LoadedTable;
use table_io::LiveDataFile;

use super::{literal::repeated, promote::promote};
use crate::error::{Error, Result};

/// The Arrow metadata key of a Parquet field id.
pub(crate) const FIELD_ID: &str = "PARQUET:field_id";

pub(crate) fn field_id(field: &Field) -> Option<i32> {
    field.metadata().get(FIELD_ID)?.parse().ok()
}

/// A nullable column of `data_type` with field id `id`.
pub(crate) fn with_id(name: &str, data_type: DataType, id: i32) -> Field {
    Field::new(name, data_type, true).with_metadata([(FIELD_ID.to_owned(), id.to_string())].into())
}

/// The Arrow type of an Iceberg type.
pub(crate) fn arrow_type(data_type: &Type) -> Resolved<DataType> {
    iceberg::arrow::type_to_arrow_type(data_type).map_err(|error| error.to_string())
}

/// Reasons go to whoever knows the file.
type Resolved<T> = std::result::Result<T, String>;

/// What a column that a file lacks reads as: its partition's constant, its initial default, or NULL.
pub(crate) struct Absent {
    /// By source column; a NULL partition value is a constant too.
    constants: HashMap<i32, Option<Literal>>,
    fields: HashMap<i32, Arc<NestedField>>,
    /// Field → the struct, list or map around it.
    parents: HashMap<i32, i32>,
}

impl Absent {
    pub(crate) fn of(table: &LoadedTable, file: &LiveDataFile) -> Result<Self> {
        let metadata = &table.metadata;
        let spec = metadata.partition_spec_by_id(file.partition.spec_id).ok_or_else(|| Error::Corrupt {
            path: file.path.to_string(),
            reason: format!("has partition spec {}, which the table lacks", file.partition.spec_id),
        })?;
        let tuple = spec.fields().iter().zip(file.tuple.iter());
        let identity = tuple.filter(|(field, _)| field.transform == Transform::Identity);
        let constants = identity.map(|(field, value)| (field.source_id, value.cloned())).collect();
        let fields = known_fields(metadata);
        let parents = fields.values().flat_map(|it| children(it).into_iter().map(|child| (child.id, it.id))).collect();
        Ok(Self { constants, fields, parents })
    }

    /// For files that lack nothing.
    pub(crate) fn nothing() -> Self {
        Self { constants: HashMap::new(), fields: HashMap::new(), parents: HashMap::new() }
    }

    /// `id` and everything around it, innermost first.
    fn ancestry(&self, id: i32) -> impl Iterator<Item = i32> {
        std::iter::successors(Some(id), |id| self.parents.get(id).copied())
    }

    fn array(&self, target: &Field, rows: usize) -> Resolved<ArrayRef> {
        let field = field_id(target).and_then(|id| self.fields.get(&id));
        let constant = field_id(target).and_then(|id| self.constants.get(&id));
        let value = match constant {
            Some(value) => value.as_ref(),
            None => field.and_then(|it| it.initial_default.as_ref()),
        };
        if let Some(literal) = value {
            return repeated(literal, target.data_type(), rows)
                .map_err(|reason| format!("lacks column {}, whose default {reason}", target.name()));
        }
        if !target.is_nullable() {
            return Err(format!("lacks the required column {}, which has no default", target.name()));
        }
        Ok(new_null_array(target.data_type(), rows))
    }
}

/// Every field that any schema of the table has had, the newest definition of each; the current schema wins.
pub(crate) fn known_fields(metadata: &TableMetadata) -> HashMap<i32, Arc<NestedField>> {
    let mut schemas: Vec<_> = metadata.schemas_iter().collect();
    let current = metadata.current_schema_id();
    schemas.sort_by_key(|schema| (schema.schema_id() == current, schema.schema_id()));
    let mut known = HashMap::new();
    for schema in schemas {
        let mut pending: Vec<Arc<NestedField>> = schema.as_struct().fields().to_vec();
        while let Some(field) = pending.pop() {
            pending.extend(children(&field));
            known.insert(field.id, field);
        }
    }
    known
}

fn children(field: &NestedField) -> Vec<Arc<NestedField>> {
    match field.field_type.as_ref() {
        Type::Struct(inner) => inner.fields().to_vec(),
        Type::List(list) => vec![Arc::clone(&list.element_field)],
        Type::Map(map) => vec![Arc::clone(&map.key_field), Arc::clone(&map.value_field)],
        Type::Primitive(_) => Vec::new(),
    }
}

/// The columns of one file that are wanted.
pub(crate) struct Columns {
    roots: Vec<usize>,
    fields: Vec<FieldRef>,
    absent: Absent,
}

impl Columns {
    pub(crate) fn new(file: &SchemaRef, key_ids: &[i32], target: &SchemaRef, absent: Absent) -> Self {
        let top: Vec<i32> = target.fields().iter().filter_map(|field| field_id(field)).collect();
        let keys: Vec<i32> = key_ids.iter().flat_map(|id| absent.ancestry(*id)).collect();
        let wanted = |field: &FieldRef| {
            field_id(field).is_some_and(|id| top.contains(&id)) || keys.iter().any(|id| has_id(field, *id))
        };
        let roots: Vec<usize> =
            file.fields().iter().enumerate().filter(|(_, it)| wanted(it)).map(|(at, _)| at).collect();
        let fields = roots.iter().filter_map(|at| file.fields().get(*at).cloned()).collect();
        Self { roots, fields, absent }
    }

    /// The columns of a batch that was resolved before.
    pub(crate) fn of(batch: &RecordBatch) -> Self {
        let fields: Vec<FieldRef> = batch.schema_ref().fields().iter().cloned().collect();
        Self { roots: (0..fields.len()).collect(), fields, absent: Absent::nothing() }
    }

    pub(crate) fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// A column of a raw batch as `target` has it.
    pub(crate) fn column(&self, raw: &RecordBatch, target: &Field) -> Resolved<ArrayRef> {
        let found = self.fields.iter().zip(raw.columns()).find(|(field, _)| field_id(field) == field_id(target));
        match found {
            Some((field, array)) => self.convert(array, field, target),
            None => self.absent.array(target, raw.num_rows()),
        }
    }

    /// A column at any depth of structs, dropped ones too, as `target` has it; NULL where a parent is.
    pub(crate) fn key(&self, raw: &RecordBatch, target: &Field) -> Resolved<ArrayRef> {
        let id = field_id(target).unwrap_or(0);
        let fields: Fields = self.fields.iter().cloned().collect();
        let find = |id: i32| by_id(&fields, raw.columns(), id);
        if let Some((field, array)) = find(id) {
            return self.convert(&array, &field, target);
        }
        let ancestors: Vec<i32> = self.absent.ancestry(id).skip(1).collect();
        match ancestors.iter().find_map(|id| find(*id)) {
            Some((_, parent)) => Ok(masked(&self.absent.array(target, raw.num_rows())?, parent.nulls())),
            None if ancestors.is_empty() => self.absent.array(target, raw.num_rows()),
            // The whole struct is absent, and no struct has a default but NULL.
            None => Ok(new_null_array(target.data_type(), raw.num_rows())),
        }
    }

    fn convert(&self, array: &ArrayRef, from: &Field, to: &Field) -> Resolved<ArrayRef> {
        match (from.data_type(), to.data_type()) {
            (DataType::Struct(have), DataType::Struct(want)) => self.convert_struct(array.as_struct(), have, want),
            (DataType::List(have), DataType::List(want)) => {
                let list = array.as_list::<i32>();
                let values = self.convert(list.values(), have, want)?;
                let list = ListArray::try_new(Arc::clone(want), list.offsets().clone(), values, list.nulls().cloned());
                Ok(Arc::new(list.map_err(|error| error.to_string())?))
            }
            (DataType::Map(have, _), DataType::Map(want, sorted)) => {
                let (DataType::Struct(have), DataType::Struct(pair)) = (have.data_type(), want.data_type()) else {
                    return Err(format!("{} is no map of pairs", from.name()));
                };
                let map = array.as_map();
                let entries = self.convert_pairs(map.entries(), have, pair)?;
                let map =
                    MapArray::try_new(Arc::clone(want), map.offsets().clone(), entries, map.nulls().cloned(), *sorted);
                Ok(Arc::new(map.map_err(|error| error.to_string())?))
            }
            (_, want) => promote(array, want).map_err(|reason| format!("column {} {reason}", from.name())),
        }
    }

    fn convert_struct(&self, array: &StructArray, have: &Fields, want: &Fields) -> Resolved<ArrayRef> {
        let mut columns = Vec::with_capacity(want.len());
        for target in want {
            let found = have.iter().zip(array.columns()).find(|(field, _)| field_id(field) == field_id(target));
            columns.push(match found {
                Some((field, column)) => self.convert(column, field, target)?,
                None => self.absent.array(target, array.len())?,
            });
        }
        let made = StructArray::try_new_with_length(want.clone(), columns, array.nulls().cloned(), array.len());
        Ok(Arc::new(made.map_err(|error| error.to_string())?))
    }

    /// Keys and values stand by position: there is nothing else in an entry.
    fn convert_pairs(&self, array: &StructArray, have: &Fields, want: &Fields) -> Resolved<StructArray> {
        let mut columns = Vec::with_capacity(want.len());
        for ((field, column), target) in have.iter().zip(array.columns()).zip(want) {
            columns.push(self.convert(column, field, target)?);
        }
        StructArray::try_new(want.clone(), columns, array.nulls().cloned()).map_err(|error| error.to_string())
    }
}

/// Whether `field` is the column `id`, or holds it inside its structs.
pub(crate) fn has_id(field: &Field, id: i32) -> bool {
    field_id(field) == Some(id)
        || matches!(field.data_type(), DataType::Struct(inner) if inner.iter().any(|it| has_id(it, id)))
}

/// The column `id` among `fields` or inside their structs, NULL where a parent is.
fn by_id(fields: &Fields, columns: &[ArrayRef], id: i32) -> Option<(FieldRef, ArrayRef)> {
    for (field, column) in fields.iter().zip(columns) {
        if field_id(field) == Some(id) {
            return Some((Arc::clone(field), Arc::clone(column)));
        }
        if let DataType::Struct(inner) = field.data_type() {
            let parent = column.as_struct();
            if let Some((field, child)) = by_id(inner, parent.columns(), id) {
                return Some((field, masked(&child, parent.nulls())));
            }
        }
    }
    None
}

/// `child`, NULL where its parent is.
fn masked(child: &ArrayRef, parent: Option<&NullBuffer>) -> ArrayRef {
    let nulls = NullBuffer::union(child.nulls(), parent);
    let data = child.to_data().into_builder().nulls(nulls).build();
    data.map_or_else(|_| Arc::clone(child), arrow_array::make_array)
}

/// The file's schema with ids: its own, by the table's name mapping, or by position as Java assigns them. Java gives
/// nested fields none and so reads them as NULL; here such a file is refused.
pub(crate) fn with_ids(file: &SchemaRef, metadata: &TableMetadata) -> Resolved<SchemaRef> {
    if file.fields().iter().any(|field| has_any_id(field)) {
        return Ok(Arc::clone(file));
    }
    if let Some(text) = metadata.properties().get("schema.name-mapping.default") {
        let mapping: NameMapping = serde_json::from_str(text)
            .map_err(|error| format!("has no field ids, and schema.name-mapping.default does not parse: {error}"))?;
        let mapped: Vec<&MappedField> = mapping.fields().iter().collect();
        return Ok(Arc::new(ArrowSchema::new(mapped_fields(file.fields(), &mapped))));
    }
    if file.fields().iter().any(|field| field.data_type().is_nested()) {
        return Err(
            "has nested columns without field ids; set the table property schema.name-mapping.default".to_owned()
        );
    }
    let numbered =
        file.fields().iter().zip(1..).map(|(field, id): (_, i32)| give_id(field, Some(id), field.data_type().clone()));
    Ok(Arc::new(ArrowSchema::new(numbered.collect::<Vec<_>>())))
}

fn has_any_id(field: &Field) -> bool {
    let inner = match field.data_type() {
        DataType::Struct(fields) => fields.iter().any(|it| has_any_id(it)),
        DataType::List(inner) | DataType::Map(inner, _) => has_any_id(inner),
        _ => false,
    };
    inner || field_id(field).is_some()
}

fn give_id(field: &Field, id: Option<i32>, data_type: DataType) -> Field {
    let metadata = id.map(|id| (FIELD_ID.to_owned(), id.to_string())).into_iter().collect();
    Field::new(field.name(), data_type, field.is_nullable()).with_metadata(metadata)
}

fn mapped_fields(fields: &Fields, mapping: &[&MappedField]) -> Vec<Field> {
    let find = |name: &str| mapping.iter().find(|it| it.names().iter().any(|known| known == name));
    fields.iter().map(|field| mapped_field(field, find(field.name()).copied())).collect()
}

fn mapped_field(field: &Field, mapped: Option<&MappedField>) -> Field {
    let inner: Vec<&MappedField> = mapped.map(|it| it.fields().iter().map(AsRef::as_ref).collect()).unwrap_or_default();
    let named = |name: &str| inner.iter().find(|it| it.names().iter().any(|known| known == name)).copied();
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(mapped_fields(fields, &inner).into()),
        DataType::List(element) => DataType::List(Arc::new(mapped_field(element, named("element")))),
        DataType::Map(entries, sorted) => match entries.data_type() {
            DataType::Struct(pair) => {
                let parts = pair.iter().zip(["key", "value"]).map(|(part, name)| mapped_field(part, named(name)));
                let pair = DataType::Struct(parts.collect::<Vec<_>>().into());
                DataType::Map(Arc::new(give_id(entries, None, pair)), *sorted)
            }
            _ => field.data_type().clone(),
        },
        other => other.clone(),
    };
    give_id(field, mapped.and_then(MappedField::field_id), data_type)
}

/// The schema to ask a file's reader for: INT96 timestamps in microseconds, which cannot overflow, and top-level strings as
/// views, which are filtered and written without copying their bytes.
pub(crate) fn to_read(parquet: &SchemaDescriptor, arrow: &SchemaRef) -> SchemaRef {
    let is_int96 = |leaf: usize| parquet.columns().get(leaf).is_some_and(|it| it.physical_type() == Physical::INT96);
    let mut leaf = 0;
    let fields: Vec<Field> = arrow.fields().iter().map(|field| in_micros(field, &mut leaf, &is_int96)).collect();
    Arc::new(ArrowSchema::new(fields.into_iter().map(|field| as_view(&field)).collect::<Vec<_>>()))
}

/// A top-level string as a view.
pub(crate) fn as_view(field: &Field) -> Field {
    match field.data_type() {
        DataType::Utf8 => field.clone().with_data_type(DataType::Utf8View),
        _ => field.clone(),
    }
}

fn in_micros(field: &Field, leaf: &mut usize, is_int96: &impl Fn(usize) -> bool) -> Field {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().map(|it| in_micros(it, leaf, is_int96)).collect::<Vec<_>>().into())
        }
        DataType::List(inner) => DataType::List(Arc::new(in_micros(inner, leaf, is_int96))),
        DataType::Map(inner, sorted) => DataType::Map(Arc::new(in_micros(inner, leaf, is_int96)), *sorted),
        other => {
            let at = *leaf;
            *leaf += 1;
            if is_int96(at) { DataType::Timestamp(TimeUnit::Microsecond, None) } else { other.clone() }
        }
    };
    field.clone().with_data_type(data_type)
}
