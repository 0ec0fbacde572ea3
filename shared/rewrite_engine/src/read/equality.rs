//! Equality deletes of a group: their keys in memory, or, where they do not fit, the positions they hit.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::Arc,
};

use ports::LoadedTable;
use roaring::RoaringTreemap;
use table_io::{LiveDeleteFile, LiveDeletes};

use super::{
    ParquetFile, corrupt,
    deletes::check_format,
    filter::{FileFilter, Lookup, encoder, key_fields},
    keys::{Keys, Part},
    resolve::{Absent, Columns, field_id, has_id},
};
use crate::{
    control::Control,
    error::{Error, Result},
    rewrite::{Limits, RewriteInput},
};

/// Keys are loaded in up to this many parts: 4,096 times the memory limit, some hundred billion keys.
const PARTS_MAX: u64 = 4_096;

/// Field ids and scope of equality deletes: the partition key, or nothing for the whole table.
type KeySet = (Vec<i32>, Option<String>);

/// The equality keys of a group, each delete file read once.
#[derive(Debug, Default)]
pub(super) struct EqualityKeys(HashMap<KeySet, Arc<Keys>>);

impl EqualityKeys {
    /// Loads the keys of `part`.
    pub(super) fn load(table: &LoadedTable, inputs: &[RewriteInput], limits: Limits, part: Part) -> Result<Self> {
        let mut sets: HashMap<KeySet, Keys> = HashMap::new();
        let mut budget = limits.deletes_bytes;
        let mut seen = HashSet::new();
        for delete in inputs.iter().flat_map(|input| &input.deletes.equalities) {
            if let Some(set) = key_set(delete)
                && seen.insert(Arc::clone(&delete.path))
            {
                let ids = set.0.clone();
                let spent = add(table, delete, &ids, part, sets.entry(set).or_default(), budget)?;
                budget = spent.ok_or(Error::DeletesTooLarge { limit_bytes: limits.deletes_bytes })?;
            }
        }
        sets.values_mut().for_each(Keys::seal);
        Ok(Self(sets.into_iter().map(|(set, keys)| (set, Arc::new(keys))).collect()))
    }

    /// The keys that may delete rows of `input`.
    pub(super) fn lookups(&self, table: &LoadedTable, input: &RewriteInput) -> Result<Vec<Lookup>> {
        let sets: BTreeMap<KeySet, &Arc<Keys>> = input
            .deletes
            .equalities
            .iter()
            .filter_map(|delete| key_set(delete))
            .filter_map(|set| self.0.get(&set).map(|keys| (set, keys)))
            .collect();
        let lookup = |((ids, _), keys): (KeySet, &Arc<Keys>)| Lookup::new(table, &ids, Arc::clone(keys));
        let lookups: std::result::Result<_, String> = sets.into_iter().map(lookup).collect();
        lookups.map_err(|reason| corrupt(&input.file.path, reason))
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

/// Adds the keys of one delete file; what is left of `budget`, `None` when it is overdrawn.
fn add(
    table: &LoadedTable,
    delete: &LiveDeleteFile,
    ids: &[i32],
    part: Part,
    keys: &mut Keys,
    mut budget: u64,
) -> Result<Option<u64>> {
    let wrong = |reason: String| corrupt(&delete.path, reason);
    check_format(delete)?;
    let file = ParquetFile::open(table, &delete.path, delete.size_bytes)?;
    let fields = key_fields(table, ids).map_err(wrong)?;
    for field in &fields {
        let id = field_id(field).unwrap_or(0);
        if !file.schema.fields().iter().any(|it| has_id(it, id)) {
            return Err(wrong(format!("is an equality delete file without its column {}", field.name())));
        }
    }
    let target = Arc::new(arrow_schema::Schema::empty());
    let columns = Columns::new(&file.schema, ids, &target, Absent::nothing());
    let encoder = encoder(&fields).map_err(wrong)?;
    for batch in file.batches(columns.roots())? {
        let batch = batch?;
        let arrays: std::result::Result<Vec<_>, _> = fields.iter().map(|field| columns.key(&batch, field)).collect();
        for row in &encoder.encode(&arrays.map_err(wrong)?).map_err(wrong)? {
            let spent = keys.insert(row.as_ref(), delete.data_sequence_number, part);
            match spent.and_then(|spent| budget.checked_sub(spent)) {
                Some(left) => budget = left,
                None => return Ok(None),
            }
        }
    }
    Ok(Some(budget))
}

/// What equality deletes whose keys do not fit memory delete: data file → positions. The keys are loaded part by part, and
/// the key columns of every input are read once for each: slower, but within the limit whatever the number of keys.
pub(super) fn positions_by_parts(
    table: &LoadedTable,
    inputs: &[RewriteInput],
    limits: Limits,
    control: &Control,
) -> Result<HashMap<Arc<str>, RoaringTreemap>> {
    let mut of = 2;
    loop {
        match positions_by(table, inputs, limits, control, of) {
            Err(Error::DeletesTooLarge { .. }) if of < PARTS_MAX => of *= 2,
            other => return other,
        }
    }
}

fn positions_by(
    table: &LoadedTable,
    inputs: &[RewriteInput],
    limits: Limits,
    control: &Control,
    of: u64,
) -> Result<HashMap<Arc<str>, RoaringTreemap>> {
    let mut found: HashMap<Arc<str>, RoaringTreemap> = HashMap::new();
    for index in 0..of {
        let keys = EqualityKeys::load(table, inputs, limits, Part { index, of })?;
        for input in inputs {
            *found.entry(Arc::clone(&input.file.path)).or_default() |= hits(table, input, &keys, control)?;
        }
    }
    Ok(found)
}

fn hits(table: &LoadedTable, input: &RewriteInput, keys: &EqualityKeys, control: &Control) -> Result<RoaringTreemap> {
    let lookups = keys.lookups(table, input)?;
    let mut hits = RoaringTreemap::new();
    if lookups.is_empty() {
        return Ok(hits);
    }
    let filter =
        FileFilter { positions: RoaringTreemap::new(), lookups, sequence_number: input.file.data_sequence_number };
    let file = ParquetFile::open_data(table, input)?;
    let target = Arc::new(arrow_schema::Schema::empty());
    let columns = Columns::new(&file.schema, &filter.key_ids(), &target, Absent::of(table, &input.file)?);
    let mut position = 0;
    for batch in file.batches(columns.roots())? {
        control.check()?;
        let batch = batch?;
        let deleted = filter.deleted(&batch, &columns, position);
        let deleted = deleted.map_err(|reason| corrupt(&input.file.path, reason))?;
        hits.extend(deleted.iter().zip(position..).filter(|(deleted, _)| **deleted).map(|(_, at)| at));
        position += batch.num_rows() as u64;
    }
    Ok(hits)
}
