//! The deletes of a group, loaded once and looked up per row (rewrite rules A.1–A.4).

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use arrow_array::{StringViewArray, cast::AsArray, types::Int64Type};
use bytes::Bytes;
use futures::executor::block_on;
use model::FileFormat;
use ports::LoadedTable;
use roaring::RoaringTreemap;
use table_io::{LiveDeleteFile, LiveDeletes};

use super::{
    ParquetFile, corrupt,
    equality::{EqualityKeys, positions_by_parts},
    filter::FileFilter,
    keys::Part,
    resolve::field_id,
    vector,
};
use crate::{
    control::Control,
    error::{Error, Result},
    rewrite::{Limits, RewriteInput},
};

const FILE_PATH_ID: i32 = 2_147_483_546;
const POS_ID: i32 = 2_147_483_545;

/// Data file → deleted positions. At most a bit or so per row, so no limit counts them.
type Positions = HashMap<Arc<str>, RoaringTreemap>;

/// The loaded deletes of a group: positions by file, equality keys by scope, each delete file read once.
#[derive(Debug, Default)]
pub struct GroupDeletes {
    /// By position delete file: which of them apply to a data file is the delete index's word.
    positions: HashMap<Arc<str>, Positions>,
    vectors: Positions,
    keys: EqualityKeys,
    /// What equality deletes hit whose keys do not fit memory.
    hits: Positions,
}

impl GroupDeletes {
    /// Loads every delete file that `inputs` name.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`], [`crate::Error::Unsupported`] or [`crate::Error::Read`] naming the delete file;
    /// [`crate::Error::DeletesTooLarge`] when not even a 4,096th of the equality keys fits the limit.
    pub fn load(table: &LoadedTable, inputs: &[RewriteInput], limits: Limits, control: &Control) -> Result<Self> {
        let paths: HashSet<Arc<str>> = inputs.iter().map(|input| Arc::clone(&input.file.path)).collect();
        let mut loaded = Self::default();
        for input in inputs {
            control.check()?;
            if let Some(delete) = &input.deletes.deletion_vector {
                let positions = deletion_vector(table, delete, input.file.records)?;
                loaded.vectors.insert(Arc::clone(&input.file.path), positions);
            }
            for delete in &input.deletes.positions {
                if !loaded.positions.contains_key(&delete.path) {
                    loaded.positions.insert(Arc::clone(&delete.path), positions(table, delete, &paths)?);
                }
            }
        }
        match EqualityKeys::load(table, inputs, limits, Part::ALL) {
            Ok(keys) => loaded.keys = keys,
            Err(Error::DeletesTooLarge { .. }) => loaded.hits = positions_by_parts(table, inputs, limits, control)?,
            Err(error) => return Err(error),
        }
        Ok(loaded)
    }

    /// What deletes rows of one input.
    pub(super) fn filter(&self, table: &LoadedTable, input: &RewriteInput) -> Result<FileFilter> {
        let path = &input.file.path;
        let files = input.deletes.positions.iter().filter_map(|delete| self.positions.get(&delete.path)?.get(path));
        let mut positions = self.vectors.get(path).cloned().unwrap_or_default();
        for found in files.chain(self.hits.get(path)) {
            positions |= found;
        }
        let lookups = self.keys.lookups(table, input)?;
        Ok(FileFilter { positions, lookups, sequence_number: input.file.data_sequence_number })
    }
}

/// Delete files of other formats than Parquet are left alone, and so is what they apply to.
pub(super) fn check_format(delete: &LiveDeleteFile) -> Result<()> {
    if delete.format == FileFormat::Parquet {
        return Ok(());
    }
    let reason = format!("is a delete file in {:?}: only Parquet and deletion vectors are read", delete.format);
    Err(Error::Unsupported { path: delete.path.to_string(), reason })
}

fn deletion_vector(table: &LoadedTable, delete: &LiveDeleteFile, rows: u64) -> Result<RoaringTreemap> {
    let LiveDeletes::DeletionVector { offset, size, .. } = delete.deletes else { return Ok(RoaringTreemap::new()) };
    let no_blob = || corrupt(&delete.path, format!("has no blob of {size} bytes at {offset}"));
    let end = offset.checked_add(size).filter(|end| *end <= delete.size_bytes).ok_or_else(no_blob)?;
    let read = async { table.file_io.new_input(&delete.path)?.reader().await?.read(offset..end).await };
    let blob: Result<Bytes> =
        block_on(read).map_err(|error| Error::Read { path: delete.path.to_string(), source: error.into() });
    vector::parse(&blob?, delete.records, rows).map_err(|reason| corrupt(&delete.path, reason))
}

/// The positions that one position delete file has for the data files at `paths`.
fn positions(table: &LoadedTable, delete: &LiveDeleteFile, paths: &HashSet<Arc<str>>) -> Result<Positions> {
    check_format(delete)?;
    let file = ParquetFile::open(table, &delete.path, delete.size_bytes)?;
    let root = |id: i32| file.schema.fields().iter().position(|field| field_id(field) == Some(id));
    let (Some(path_at), Some(pos_at)) = (root(FILE_PATH_ID), root(POS_ID)) else {
        return Err(corrupt(&delete.path, "is no position delete file: it lacks the columns file_path and pos"));
    };
    let mut found = Positions::new();
    for batch in file.batches(&[path_at, pos_at])? {
        let batch = batch?;
        let (first, second) = (batch.column(0), batch.column(1));
        let (paths_column, positions) = if path_at < pos_at { (first, second) } else { (second, first) };
        let (Some(names), Some(positions)) =
            (paths_column.as_string_view_opt(), positions.as_primitive_opt::<Int64Type>())
        else {
            return Err(corrupt(&delete.path, "has columns file_path and pos of other types"));
        };
        for (name, run) in runs(names) {
            let Some(name) = name else { return Err(corrupt(&delete.path, "has a NULL path")) };
            let Some(path) = paths.get(name) else { continue };
            let into = found.entry(Arc::clone(path)).or_default();
            for position in positions.slice(run.start, run.len()).iter() {
                let position = position.and_then(|it| u64::try_from(it).ok());
                into.insert(position.ok_or_else(|| corrupt(&delete.path, "has a NULL or negative position"))?);
            }
        }
    }
    Ok(found)
}

/// Runs of equal paths: the spec has position deletes sorted by path.
fn runs(paths: &StringViewArray) -> Vec<(Option<&str>, std::ops::Range<usize>)> {
    let mut runs: Vec<(Option<&str>, std::ops::Range<usize>)> = Vec::new();
    for (at, path) in paths.iter().enumerate() {
        match runs.last_mut() {
            Some((last, run)) if *last == path => run.end = at + 1,
            _ => runs.push((path, at..at + 1)),
        }
    }
    runs
}
