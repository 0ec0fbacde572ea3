//! The deletes of a group, loaded once and looked up per row (rewrite rules A.1–A.4).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arrow_array::{BooleanArray, RecordBatch, cast::AsArray, types::Int64Type};
use arrow_schema::Field;
use iceberg::spec::Type;
use ports::LoadedTable;
use roaring::RoaringTreemap;
use table_io::{LiveDeleteFile, LiveDeletes};
use xxhash_rust::xxh3::Xxh3DefaultBuilder;

use super::{
    ParquetFile, corrupt, keep_mask,
    keys::KeyEncoder,
    read_file,
    resolve::{Absent, Columns, FIELD_ID, field_id, has_id, known_fields},
    vector,
};
use crate::{
    error::{Error, Result},
    rewrite::{Limits, RewriteInput},
};

const FILE_PATH_ID: i32 = 2_147_483_546;
const POS_ID: i32 = 2_147_483_545;
/// What a key costs beside its bytes: hash table slot, allocation and sequence number.
const KEY_OVERHEAD_BYTES: u64 = 48;

/// Key bytes → the highest data sequence number of a delete file with that key.
type Keys = HashMap<Box<[u8]>, i64, Xxh3DefaultBuilder>;
/// Field ids and scope of equality deletes: the partition key, or nothing for the whole table.
type KeySet = (Vec<i32>, Option<String>);

/// The loaded deletes of a group: positions by file, equality keys by scope, each delete file read once.
#[derive(Debug, Default)]
pub struct GroupDeletes {
    /// Delete file → data file → positions.
    positions: HashMap<Arc<str>, HashMap<Arc<str>, RoaringTreemap>>,
    /// Data file → its deletion vector.
    vectors: HashMap<Arc<str>, RoaringTreemap>,
    keys: HashMap<KeySet, Arc<Keys>>,
}

impl GroupDeletes {
    /// Loads every delete file that `inputs` name, each once.
    ///
    /// # Errors
    /// [`crate::Error::DeletesTooLarge`] beyond the limit; [`crate::Error::Corrupt`] or [`crate::Error::Read`] naming the delete file.
    pub fn load(table: &LoadedTable, inputs: &[RewriteInput], limits: Limits) -> Result<Self> {
        let mut loader = Loader {
            table,
            paths: inputs.iter().map(|input| Arc::clone(&input.file.path)).collect(),
            budget: limits.deletes_bytes,
            limit: limits.deletes_bytes,
            keys: HashMap::new(),
            loaded: Self::default(),
            seen: HashSet::new(),
            puffins: HashMap::new(),
        };
        for input in inputs {
            loader.add(input)?;
        }
        let Loader { mut loaded, keys, .. } = loader;
        loaded.keys = keys.into_iter().map(|(set, keys)| (set, Arc::new(keys))).collect();
        Ok(loaded)
    }

    /// What deletes rows of one input.
    pub(super) fn filter(&self, table: &LoadedTable, input: &RewriteInput) -> Result<FileFilter> {
        let mut positions = self.vectors.get(&input.file.path).cloned().unwrap_or_default();
        for delete in &input.deletes.positions {
            if let Some(found) = self.positions.get(&delete.path).and_then(|files| files.get(&input.file.path)) {
                positions |= found;
            }
        }
        let mut sets: Vec<KeySet> = input.deletes.equalities.iter().filter_map(|delete| key_set(delete)).collect();
        sets.sort();
        sets.dedup();
        let mut lookups = Vec::new();
        for set in sets {
            let Some(keys) = self.keys.get(&set) else { continue };
            let fields = key_fields(table, &set.0).map_err(|reason| corrupt(&input.file.path, reason))?;
            let encoder = encoder(&fields).map_err(|reason| corrupt(&input.file.path, reason))?;
            lookups.push(Lookup { fields, encoder, keys: Arc::clone(keys) });
        }
        Ok(FileFilter { positions, lookups, sequence_number: input.file.data_sequence_number })
    }
}

fn key_set(delete: &LiveDeleteFile) -> Option<KeySet> {
    match &delete.deletes {
        LiveDeletes::Equality { field_ids } => {
            Some((field_ids.clone(), (!delete.global).then(|| delete.partition.key())))
        }
        _ => None,
    }
}

/// The key columns by the newest type that each had: dropped columns still apply.
fn key_fields(table: &LoadedTable, ids: &[i32]) -> std::result::Result<Vec<Field>, String> {
    let known = known_fields(&table.metadata);
    let field = |id: &i32| {
        let field = known.get(id).ok_or_else(|| format!("equality deletes on column {id}, which no schema has"))?;
        let Type::Primitive(_) = field.field_type.as_ref() else {
            return Err(format!("equality deletes on column {}, which is no primitive", field.name));
        };
        let data_type = iceberg::arrow::type_to_arrow_type(&field.field_type).map_err(|error| error.to_string())?;
        let metadata = [(FIELD_ID.to_owned(), id.to_string())].into();
        Ok(Field::new(&field.name, data_type, true).with_metadata(metadata))
    };
    ids.iter().map(field).collect()
}

fn encoder(fields: &[Field]) -> std::result::Result<KeyEncoder, String> {
    KeyEncoder::new(fields.iter().map(|field| field.data_type().clone()))
}

struct Loader<'a> {
    table: &'a LoadedTable,
    paths: HashSet<Arc<str>>,
    budget: u64,
    limit: u64,
    keys: HashMap<KeySet, Keys>,
    loaded: GroupDeletes,
    seen: HashSet<Arc<str>>,
    puffins: HashMap<Arc<str>, bytes::Bytes>,
}

impl Loader<'_> {
    fn add(&mut self, input: &RewriteInput) -> Result<()> {
        if let Some(delete) = &input.deletes.deletion_vector {
            self.vector(delete, input)?;
        }
        for delete in &input.deletes.positions {
            if self.seen.insert(Arc::clone(&delete.path)) {
                self.positions(delete)?;
            }
        }
        for delete in &input.deletes.equalities {
            if self.seen.insert(Arc::clone(&delete.path)) {
                self.equality(delete)?;
            }
        }
        Ok(())
    }

    fn spend(&mut self, bytes: u64) -> Result<()> {
        match self.budget.checked_sub(bytes) {
            Some(left) => {
                self.budget = left;
                Ok(())
            }
            None => Err(Error::DeletesTooLarge { limit_bytes: self.limit }),
        }
    }

    fn vector(&mut self, delete: &LiveDeleteFile, input: &RewriteInput) -> Result<()> {
        let LiveDeletes::DeletionVector { offset, size, .. } = delete.deletes else { return Ok(()) };
        if !self.puffins.contains_key(&delete.path) {
            self.puffins.insert(Arc::clone(&delete.path), read_file(self.table, &delete.path)?);
        }
        let file = self.puffins.get(&delete.path).cloned().unwrap_or_default();
        let range = usize::try_from(offset)
            .ok()
            .zip(usize::try_from(size).ok())
            .and_then(|(start, size)| Some(start..start.checked_add(size)?));
        let blob = range.and_then(|range| file.get(range));
        let blob = blob.ok_or_else(|| corrupt(&delete.path, format!("has no blob of {size} bytes at {offset}")))?;
        let positions =
            vector::parse(blob, delete.records, input.file.records).map_err(|reason| corrupt(&delete.path, reason))?;
        self.spend(size)?;
        self.loaded.vectors.insert(Arc::clone(&input.file.path), positions);
        Ok(())
    }

    fn positions(&mut self, delete: &LiveDeleteFile) -> Result<()> {
        let file = ParquetFile::open(self.table, &delete.path)?;
        let root = |id: i32| file.schema.fields().iter().position(|field| field_id(field) == Some(id));
        let (Some(path_at), Some(pos_at)) = (root(FILE_PATH_ID), root(POS_ID)) else {
            return Err(corrupt(&delete.path, "is no position delete file: it lacks the columns file_path and pos"));
        };
        let mut found: HashMap<Arc<str>, RoaringTreemap> = HashMap::new();
        for batch in file.reader(&[path_at, pos_at], &delete.path)? {
            let batch = batch.map_err(|error| corrupt(&delete.path, error))?;
            let (first, second) = (batch.column(0), batch.column(1));
            let (paths, positions) = if path_at < pos_at { (first, second) } else { (second, first) };
            let (Some(paths), Some(positions)) =
                (paths.as_string_opt::<i32>(), positions.as_primitive_opt::<Int64Type>())
            else {
                return Err(corrupt(&delete.path, "has columns file_path and pos of other types"));
            };
            for (path, position) in paths.iter().zip(positions.iter()) {
                let (Some(path), Some(position)) = (path, position) else {
                    return Err(corrupt(&delete.path, "has a NULL path or position"));
                };
                let position = u64::try_from(position).map_err(|_| corrupt(&delete.path, "has a negative position"))?;
                if let Some(known) = self.paths.get(path) {
                    match found.get_mut(path) {
                        Some(positions) => _ = positions.insert(position),
                        None => _ = found.entry(Arc::clone(known)).or_default().insert(position),
                    }
                }
            }
        }
        self.spend(found.values().map(|it| u64::try_from(it.serialized_size()).unwrap_or(u64::MAX)).sum())?;
        self.loaded.positions.insert(Arc::clone(&delete.path), found);
        Ok(())
    }

    fn equality(&mut self, delete: &LiveDeleteFile) -> Result<()> {
        let Some(set) = key_set(delete) else { return Ok(()) };
        let wrong = |reason: String| corrupt(&delete.path, reason);
        let file = ParquetFile::open(self.table, &delete.path)?;
        let fields = key_fields(self.table, &set.0).map_err(wrong)?;
        for field in &fields {
            let id = field_id(field).unwrap_or(0);
            if !file.schema.fields().iter().any(|it| has_id(it, id)) {
                return Err(wrong(format!("is an equality delete file without its column {}", field.name())));
            }
        }
        let target = Arc::new(arrow_schema::Schema::empty());
        let columns = Columns::new(&file.schema, &set.0, &target, Absent::nothing());
        let encoder = encoder(&fields).map_err(wrong)?;
        for batch in file.reader(columns.roots(), &delete.path)? {
            let batch = batch.map_err(|error| corrupt(&delete.path, error))?;
            let arrays: std::result::Result<Vec<_>, _> =
                fields.iter().map(|field| columns.key(&batch, field)).collect();
            let rows = encoder.encode(&arrays.map_err(wrong)?).map_err(wrong)?;
            let bytes: u64 = rows.iter().map(|row| row.as_ref().len() as u64 + KEY_OVERHEAD_BYTES).sum();
            self.spend(bytes)?;
            let keys = self.keys.entry(set.clone()).or_default();
            for row in &rows {
                let newest = keys.entry(row.as_ref().into()).or_insert(i64::MIN);
                *newest = (*newest).max(delete.data_sequence_number);
            }
        }
        Ok(())
    }
}

struct Lookup {
    fields: Vec<Field>,
    encoder: KeyEncoder,
    keys: Arc<Keys>,
}

/// What deletes rows of one data file.
pub(super) struct FileFilter {
    positions: RoaringTreemap,
    lookups: Vec<Lookup>,
    sequence_number: i64,
}

impl FileFilter {
    /// Ids of the columns that the keys are made of.
    pub(super) fn key_ids(&self) -> Vec<i32> {
        self.lookups.iter().flat_map(|lookup| lookup.fields.iter().filter_map(field_id)).collect()
    }

    /// Which rows of a raw batch stay; `position` is that of its first row in the file.
    pub(super) fn keep(
        &self,
        raw: &RecordBatch,
        columns: &Columns,
        position: u64,
    ) -> std::result::Result<Option<BooleanArray>, String> {
        if self.lookups.is_empty() && self.positions.is_empty() {
            return Ok(None);
        }
        let rows = raw.num_rows();
        let mut deleted = vec![false; rows];
        let end = position.saturating_add(rows as u64);
        let mut hits = self.positions.iter();
        hits.advance_to(position);
        for hit in hits.take_while(|hit| *hit < end) {
            if let Some(flag) = usize::try_from(hit - position).ok().and_then(|row| deleted.get_mut(row)) {
                *flag = true;
            }
        }
        for lookup in &self.lookups {
            let arrays: std::result::Result<Vec<_>, _> =
                lookup.fields.iter().map(|field| columns.key(raw, field)).collect();
            let keys = lookup.encoder.encode(&arrays?)?;
            for (key, flag) in keys.iter().zip(&mut deleted) {
                *flag |= lookup.keys.get(key.as_ref()).is_some_and(|newest| *newest > self.sequence_number);
            }
        }
        Ok(keep_mask(&deleted))
    }
}
