//! Which deletes apply to which data file (rewrite rules A.1–A.3).

use std::{collections::HashMap, sync::Arc};

use model::DeletesOnFile;

use crate::{
    error::{Error, Result},
    scan::{LiveDataFile, LiveDeleteFile, LiveDeletes},
};

/// Delete files by scope and sequence number.
#[derive(Debug, Default)]
pub struct DeleteIndex {
    deletion_vectors: HashMap<Arc<str>, Arc<LiveDeleteFile>>,
    /// Position deletes that name one data file, by its path.
    positions_by_path: HashMap<Arc<str>, BySequence>,
    /// Further position deletes, by partition key.
    positions: HashMap<String, BySequence>,
    /// Equality deletes of partitioned specs, by partition key.
    equalities: HashMap<String, BySequence>,
    /// Equality deletes of unpartitioned specs.
    global_equalities: BySequence,
}

/// The deletes that apply to one data file.
#[derive(Clone, Debug, Default)]
pub struct FileDeletes {
    /// Its deletion vector; position deletes are then empty (rule A.1).
    pub deletion_vector: Option<Arc<LiveDeleteFile>>,
    /// Position delete files that may name it.
    pub positions: Vec<Arc<LiveDeleteFile>>,
    /// Equality delete files with a data sequence number above the file's own.
    pub equalities: Vec<Arc<LiveDeleteFile>>,
}

impl FileDeletes {
    /// Every delete file that applies, of whatever kind.
    pub fn all(&self) -> impl Iterator<Item = &Arc<LiveDeleteFile>> {
        self.deletion_vector.iter().chain(&self.positions).chain(&self.equalities)
    }
}

/// Delete files of one scope in order of their data sequence number.
#[derive(Debug, Default)]
struct BySequence {
    files: Vec<Arc<LiveDeleteFile>>,
    /// Bytes of the file at the same index and of all after it.
    bytes_from: Vec<u64>,
}

impl BySequence {
    fn sort(&mut self) {
        self.files.sort_by_key(|file| file.data_sequence_number);
        self.bytes_from = vec![0; self.files.len()];
        let mut bytes = 0_u64;
        for (from, file) in self.bytes_from.iter_mut().zip(&self.files).rev() {
            bytes = bytes.saturating_add(file.size_bytes);
            *from = bytes;
        }
    }

    /// The files with a sequence number of at least `sequence_number`.
    fn from(&self, sequence_number: i64) -> &[Arc<LiveDeleteFile>] {
        let start = self.files.partition_point(|file| file.data_sequence_number < sequence_number);
        self.files.get(start..).unwrap_or_default()
    }

    /// The files that reach no data file when the oldest in their scope has the sequence number `oldest`: a delete must
    /// be at least `above` above it.
    fn before(&self, oldest: Option<i64>, above: i64) -> Vec<Arc<LiveDeleteFile>> {
        let alive = oldest.map_or(0, |oldest| self.from(oldest.saturating_add(above)).len());
        self.files.get(..self.files.len() - alive).unwrap_or_default().to_vec()
    }

    fn bytes_of_last(&self, count: usize) -> u64 {
        self.files.len().checked_sub(count).and_then(|start| self.bytes_from.get(start)).copied().unwrap_or_default()
    }
}

/// The lowest data sequence numbers, by scope.
struct Oldest<'a> {
    of_table: Option<i64>,
    by_partition: HashMap<String, i64>,
    /// The data files that some delete names.
    by_path: HashMap<&'a Arc<str>, &'a LiveDataFile>,
}

impl<'a> Oldest<'a> {
    fn new(index: &DeleteIndex, data: &'a [Arc<LiveDataFile>]) -> Self {
        let mut oldest = Self { of_table: None, by_partition: HashMap::new(), by_path: HashMap::new() };
        let needs_key = !(index.positions.is_empty() && index.equalities.is_empty());
        for file in data {
            let sequence_number = file.data_sequence_number;
            oldest.of_table = Some(oldest.of_table.map_or(sequence_number, |lowest| lowest.min(sequence_number)));
            if needs_key {
                let lowest = oldest.by_partition.entry(file.partition.key()).or_insert(sequence_number);
                *lowest = sequence_number.min(*lowest);
            }
            if index.deletion_vectors.contains_key(&file.path) || index.positions_by_path.contains_key(&file.path) {
                oldest.by_path.insert(&file.path, file);
            }
        }
        oldest
    }

    fn of_partition(&self, key: &str) -> Option<i64> {
        self.by_partition.get(key).copied()
    }
}

/// What applies to one data file, as slices of the index.
struct Applicable<'a> {
    deletion_vector: Option<&'a Arc<LiveDeleteFile>>,
    named: Vec<&'a Arc<LiveDeleteFile>>,
    /// A scope and how many of its last files apply.
    scopes: [(&'a BySequence, usize); 3],
}

impl DeleteIndex {
    /// Indexes `deletes`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for two deletion vectors on one data file.
    pub fn new(deletes: &[Arc<LiveDeleteFile>]) -> Result<Self> {
        let mut index = Self::default();
        for file in deletes {
            index.insert(file)?;
        }
        let scopes = [&mut index.positions, &mut index.equalities].into_iter().flat_map(HashMap::values_mut);
        scopes.chain(index.positions_by_path.values_mut()).for_each(BySequence::sort);
        index.global_equalities.sort();
        Ok(index)
    }

    fn insert(&mut self, file: &Arc<LiveDeleteFile>) -> Result<()> {
        let scope = match &file.deletes {
            LiveDeletes::DeletionVector { referenced, .. } => {
                if let Some(other) = self.deletion_vectors.insert(referenced.clone(), file.clone()) {
                    let reason = format!("has two deletion vectors, in {} and {}", other.path, file.path);
                    return Err(Error::corrupt(&**referenced, reason));
                }
                return Ok(());
            }
            LiveDeletes::Position { referenced: Some(path) } => self.positions_by_path.entry(path.clone()).or_default(),
            LiveDeletes::Position { referenced: None } => self.positions.entry(file.partition.key()).or_default(),
            LiveDeletes::Equality { .. } if file.global => &mut self.global_equalities,
            LiveDeletes::Equality { .. } => self.equalities.entry(file.partition.key()).or_default(),
        };
        scope.files.push(file.clone());
        Ok(())
    }

    /// The deletes that apply to `file`. Fast with thousands of delete files.
    #[must_use]
    pub fn for_data_file(&self, file: &LiveDataFile) -> FileDeletes {
        let found = self.applicable(file, file.data_sequence_number);
        let [positions, equalities, global] = found.scopes.map(|(scope, count)| last(&scope.files, count));
        FileDeletes {
            deletion_vector: found.deletion_vector.cloned(),
            positions: found.named.into_iter().chain(positions).cloned().collect(),
            equalities: global.iter().chain(equalities).cloned().collect(),
        }
    }

    /// What [`for_data_file`](Self::for_data_file) would find, counted without listing it, and without the position deletes of the
    /// file's partition that are older than the file itself: they cannot name an output that got its inputs' sequence number.
    #[must_use]
    pub fn count_for_data_file(&self, file: &LiveDataFile) -> DeletesOnFile {
        let found = self.applicable(file, file.file_sequence_number);
        let named = || found.deletion_vector.into_iter().chain(found.named.iter().copied());
        let files = named().count() + found.scopes.iter().map(|(_, count)| count).sum::<usize>();
        let bytes = found.scopes.iter().map(|(scope, count)| scope.bytes_of_last(*count));
        DeletesOnFile {
            files: u32::try_from(files).unwrap_or(u32::MAX),
            file_scoped_records: named().map(|file| file.records).fold(0, u64::saturating_add),
            bytes: named().map(|file| bytes_of(file)).chain(bytes).fold(0, u64::saturating_add),
        }
    }

    /// The delete files that apply to none of `data` (rewrite rules D.4), in no particular order.
    #[must_use]
    pub fn dangling(&self, data: &[Arc<LiveDataFile>]) -> Vec<Arc<LiveDeleteFile>> {
        let oldest = Oldest::new(self, data);
        let dead_by_key = |scopes: &HashMap<String, BySequence>, above: i64| -> Vec<Arc<LiveDeleteFile>> {
            let scope_dead = |(key, scope): (&String, &BySequence)| scope.before(oldest.of_partition(key), above);
            scopes.iter().flat_map(scope_dead).collect()
        };
        let by_path = |(path, scope): (&Arc<str>, &BySequence)| {
            let names = |delete: &Arc<LiveDeleteFile>| {
                let found = oldest.by_path.get(path).filter(|file| file.partition == delete.partition);
                found.is_none_or(|file| file.data_sequence_number > delete.data_sequence_number)
            };
            scope.files.iter().filter(|delete| names(delete)).cloned().collect::<Vec<_>>()
        };
        let vectors = self.deletion_vectors.iter().filter(|(path, vector)| {
            oldest.by_path.get(*path).is_none_or(|file| file.data_sequence_number > vector.data_sequence_number)
        });
        let mut dangling: Vec<_> = vectors.map(|(_, vector)| vector.clone()).collect();
        dangling.extend(self.positions_by_path.iter().flat_map(by_path));
        dangling.extend(dead_by_key(&self.positions, 0));
        dangling.extend(dead_by_key(&self.equalities, 1));
        dangling.extend(self.global_equalities.before(oldest.of_table, 1));
        dangling
    }

    /// `positions_from` is the lowest sequence number of position deletes that name no file.
    fn applicable(&self, file: &LiveDataFile, positions_from: i64) -> Applicable<'_> {
        let sequence_number = file.data_sequence_number;
        let vector = self.deletion_vectors.get(&file.path).filter(|v| sequence_number <= v.data_sequence_number);
        let needs_key = !(self.positions.is_empty() && self.equalities.is_empty());
        let key = if needs_key { file.partition.key() } else { String::new() };
        let at_least = |scope: Option<&'_ BySequence>, from: i64| scope.map_or(0, |scope| scope.from(from).len());
        static NOTHING: BySequence = BySequence { files: Vec::new(), bytes_from: Vec::new() };
        let (mut named, mut positions) = (Vec::new(), None);
        if vector.is_none() {
            let by_path = self.positions_by_path.get(&file.path).map_or(&[][..], |scope| scope.from(sequence_number));
            named.extend(by_path.iter().filter(|delete| delete.partition == file.partition));
            positions = self.positions.get(&key);
        }
        let equalities = self.equalities.get(&key);
        // Strictly above: a row written together with the delete stays.
        let above = sequence_number.saturating_add(1);
        Applicable {
            deletion_vector: vector,
            named,
            scopes: [
                (positions.unwrap_or(&NOTHING), at_least(positions, positions_from.max(sequence_number))),
                (equalities.unwrap_or(&NOTHING), at_least(equalities, above)),
                (&self.global_equalities, self.global_equalities.from(above).len()),
            ],
        }
    }
}

fn last<T>(all: &[T], count: usize) -> &[T] {
    all.len().checked_sub(count).and_then(|start| all.get(start..)).unwrap_or_default()
}

/// The bytes of the file that hold its deletes: a deletion vector shares its Puffin file with others.
fn bytes_of(file: &LiveDeleteFile) -> u64 {
    match file.deletes {
        LiveDeletes::DeletionVector { size, .. } => size,
        _ => file.size_bytes,
    }
}

#[cfg(test)]
mod tests;
