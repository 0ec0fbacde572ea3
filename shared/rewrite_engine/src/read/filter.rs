//! Which rows of one data file its deletes take out (rewrite rules A.1–A.4).

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Field;
use iceberg::spec::Type;
use ports::LoadedTable;
use roaring::RoaringTreemap;

use super::{
    keys::{KeyEncoder, Keys},
    resolve::{Columns, arrow_type, field_id, known_fields, with_id},
};

/// Reasons go to whoever knows the file.
type Described<T> = std::result::Result<T, String>;

/// Equality keys over the same columns.
pub(super) struct Lookup {
    fields: Vec<Field>,
    encoder: KeyEncoder,
    keys: Arc<Keys>,
}

impl Lookup {
    pub(super) fn new(table: &LoadedTable, ids: &[i32], keys: Arc<Keys>) -> Described<Self> {
        let fields = key_fields(table, ids)?;
        Ok(Self { encoder: encoder(&fields)?, fields, keys })
    }
}

/// The key columns by the newest type that each had: dropped columns still apply.
pub(super) fn key_fields(table: &LoadedTable, ids: &[i32]) -> Described<Vec<Field>> {
    let known = known_fields(&table.metadata);
    let field = |id: &i32| {
        let field = known.get(id).ok_or_else(|| format!("equality deletes on column {id}, which no schema has"))?;
        let Type::Primitive(_) = field.field_type.as_ref() else {
            return Err(format!("equality deletes on column {}, which is no primitive", field.name));
        };
        Ok(with_id(&field.name, arrow_type(&field.field_type)?, *id))
    };
    ids.iter().map(field).collect()
}

pub(super) fn encoder(fields: &[Field]) -> Described<KeyEncoder> {
    KeyEncoder::new(fields.iter().map(|field| field.data_type().clone()))
}

/// What deletes rows of one data file.
pub(super) struct FileFilter {
    pub(super) positions: RoaringTreemap,
    pub(super) lookups: Vec<Lookup>,
    /// The data file's own.
    pub(super) sequence_number: i64,
}

impl FileFilter {
    /// Whether no row can be deleted.
    pub(super) fn is_empty(&self) -> bool {
        self.lookups.is_empty() && self.positions.is_empty()
    }

    /// Ids of the columns that the keys are made of.
    pub(super) fn key_ids(&self) -> Vec<i32> {
        self.lookups.iter().flat_map(|lookup| lookup.fields.iter().filter_map(field_id)).collect()
    }

    /// A flag for each row of a raw batch that is deleted; `position` is that of its first row in the file.
    pub(super) fn deleted(&self, raw: &RecordBatch, columns: &Columns, position: u64) -> Described<Vec<bool>> {
        let mut deleted = vec![false; raw.num_rows()];
        let end = position.saturating_add(raw.num_rows() as u64);
        let mut hits = self.positions.iter();
        hits.advance_to(position);
        for hit in hits.take_while(|hit| *hit < end) {
            if let Some(flag) = usize::try_from(hit - position).ok().and_then(|row| deleted.get_mut(row)) {
                *flag = true;
            }
        }
        for lookup in &self.lookups {
            let arrays: Described<Vec<ArrayRef>> = lookup.fields.iter().map(|field| columns.key(raw, field)).collect();
            let keys = lookup.encoder.encode(&arrays?)?;
            for (key, flag) in keys.iter().zip(&mut deleted) {
                *flag |= lookup.keys.newest(key.as_ref()).is_some_and(|newest| newest > self.sequence_number);
            }
        }
        Ok(deleted)
    }
}
