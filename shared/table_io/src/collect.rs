//! From manifest entries to live files: inheritance, identity checks, and one copy of every partition tuple.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use iceberg::spec::{
    DataContentType, DataFile, DataFileFormat, ManifestContentType, ManifestEntry, ManifestFile, ManifestStatus,
    PartitionSpec, PrimitiveLiteral, Struct,
};
use model::{FileFormat, Partition};
use ports::LoadedTable;

use crate::{
    error::{Error, Result},
    filter::Filter,
    manifest::{load_entries, spec_of},
    partition::to_partition,
    scan::{LiveDataFile, LiveDeleteFile, LiveDeletes, LiveFiles},
};

/// Field id of `file_path` in position delete files (Iceberg spec, "Reserved field ids").
const DELETE_FILE_PATH_ID: i32 = 2_147_483_546;

/// Gathers the live files of one snapshot, manifest by manifest.
pub(crate) struct Collector<'a> {
    table: &'a LoadedTable,
    filter: Option<&'a Filter>,
    wanted: BTreeSet<i32>,
    partitions: HashMap<String, (Arc<Partition>, Arc<Struct>)>,
    data: Vec<Arc<LiveDataFile>>,
    deletes: Vec<LiveDeleteFile>,
    /// Position deletes whose bounds name one path, by their index in `deletes`.
    bounded: Vec<(usize, String)>,
    /// `LiveFiles::ends`.
    ends: Vec<(usize, usize)>,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(table: &'a LoadedTable, filter: Option<&'a Filter>) -> Self {
        Self {
            table,
            filter,
            wanted: filter.map(|filter| filter.columns().clone()).unwrap_or_default(),
            partitions: HashMap::new(),
            data: Vec::new(),
            deletes: Vec::new(),
            bounded: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Adds the live entries of `manifest`.
    pub(crate) async fn add_manifest(&mut self, manifest: &ManifestFile) -> Result<()> {
        let spec = spec_of(&self.table.metadata, manifest)?;
        let mut next_row_id = match manifest.first_row_id.map(i64::try_from) {
            Some(Err(_)) => return Err(Error::corrupt(&manifest.manifest_path, "has a first_row_id beyond 63 bits")),
            Some(Ok(id)) => Some(id),
            None => None,
        };
        for entry in load_entries(self.table, manifest, &self.wanted).await? {
            if entry.status() == ManifestStatus::Deleted {
                continue;
            }
            match manifest.content {
                ManifestContentType::Data => self.add_data(manifest, spec, &entry, &mut next_row_id)?,
                ManifestContentType::Deletes => self.add_deletes(manifest, spec, &entry)?,
            }
        }
        self.ends.push((self.data.len(), self.deletes.len()));
        Ok(())
    }

    /// Everything gathered; `manifests` is the list it came from.
    pub(crate) fn finish(mut self, manifests: Vec<ManifestFile>) -> LiveFiles {
        let paths: HashSet<Arc<str>> = match self.bounded.is_empty() {
            true => HashSet::new(),
            false => self.data.iter().map(|file| file.path.clone()).collect(),
        };
        for (index, bound) in self.bounded {
            if let Some(path) = complete_path(&paths, bound)
                && let Some(LiveDeletes::Position { referenced }) = self.deletes.get_mut(index).map(|f| &mut f.deletes)
            {
                *referenced = Some(path);
            }
        }
        let deletes = self.deletes.into_iter().map(Arc::new).collect();
        LiveFiles { manifests, data: self.data, deletes, ends: self.ends }
    }

    fn add_data(
        &mut self,
        manifest: &ManifestFile,
        spec: &PartitionSpec,
        entry: &ManifestEntry,
        next_row_id: &mut Option<i64>,
    ) -> Result<()> {
        let file = entry.data_file();
        if file.content_type() != DataContentType::Data {
            return Err(misplaced(manifest, file));
        }
        let (data_sequence_number, file_sequence_number) = sequence_numbers(manifest, entry)?;
        let (partition, tuple) = self.partition(spec, file)?;
        let matches_filter = self.filter.is_none_or(|filter| filter.may_match(spec, file));
        self.data.push(Arc::new(LiveDataFile {
            path: file.file_path().into(),
            format: format(file.file_format()),
            partition,
            tuple,
            size_bytes: file.file_size_in_bytes(),
            records: file.record_count(),
            data_sequence_number,
            file_sequence_number,
            first_row_id: first_row_id(manifest, file, next_row_id)?,
            sort_order_id: file.sort_order_id(),
            encrypted: file.key_metadata().is_some(),
            matches_filter,
        }));
        Ok(())
    }

    fn add_deletes(&mut self, manifest: &ManifestFile, spec: &PartitionSpec, entry: &ManifestEntry) -> Result<()> {
        let file = entry.data_file();
        let deletes = match file.content_type() {
            DataContentType::Data => return Err(misplaced(manifest, file)),
            DataContentType::PositionDeletes if file.file_format() == DataFileFormat::Puffin => deletion_vector(file)?,
            DataContentType::PositionDeletes => {
                let referenced: Option<Arc<str>> = file.referenced_data_file().map(Into::into);
                if referenced.is_none()
                    && let Some(path) = equal_path_bounds(file)
                {
                    self.bounded.push((self.deletes.len(), path));
                }
                LiveDeletes::Position { referenced }
            }
            DataContentType::EqualityDeletes => equality(file)?,
        };
        let (partition, _) = self.partition(spec, file)?;
        self.deletes.push(LiveDeleteFile {
            path: file.file_path().into(),
            format: format(file.file_format()),
            deletes,
            partition,
            global: spec.is_unpartitioned(),
            size_bytes: file.file_size_in_bytes(),
            records: file.record_count(),
            data_sequence_number: sequence_numbers(manifest, entry)?.0,
            encrypted: file.key_metadata().is_some(),
        });
        Ok(())
    }

    fn partition(&mut self, spec: &PartitionSpec, file: &DataFile) -> Result<(Arc<Partition>, Arc<Struct>)> {
        // By the JSON form: the typed one takes -0.0 and 0.0 for the same partition.
        let partition = to_partition(spec, self.table.metadata.current_schema(), file.partition())?;
        let shared = self.partitions.entry(partition.key());
        Ok(shared.or_insert_with(|| (Arc::new(partition), Arc::new(file.partition().clone()))).clone())
    }
}

/// Data and file sequence number (Iceberg spec, "Sequence number inheritance").
pub(crate) fn sequence_numbers(manifest: &ManifestFile, entry: &ManifestEntry) -> Result<(i64, i64)> {
    let inherits = entry.status() == ManifestStatus::Added || manifest.sequence_number == 0;
    let inherited = inherits.then_some(manifest.sequence_number);
    let data = entry.sequence_number().or(inherited).ok_or_else(|| {
        let path = entry.data_file().file_path();
        Error::corrupt(&manifest.manifest_path, format!("has an existing entry without a sequence number: {path}"))
    })?;
    // Writers older than the field left it out when they copied entries; the data sequence number is never above it.
    Ok((data, entry.file_sequence_number.or(inherited).unwrap_or(data)))
}

/// The file's own first row id, or the next of its manifest (Iceberg spec, "First row id inheritance").
fn first_row_id(manifest: &ManifestFile, file: &DataFile, next: &mut Option<i64>) -> Result<Option<i64>> {
    if let Some(own) = file.first_row_id() {
        return Ok(Some(own));
    }
    let Some(id) = *next else { return Ok(None) };
    let after = i64::try_from(file.record_count()).ok().and_then(|records| id.checked_add(records));
    *next = Some(after.ok_or_else(|| Error::corrupt(&manifest.manifest_path, "assigns row ids beyond 63 bits"))?);
    Ok(Some(id))
}

fn deletion_vector(file: &DataFile) -> Result<LiveDeletes> {
    let part = |value: Option<i64>, name: &str| {
        let value = value.and_then(|value| u64::try_from(value).ok());
        value.ok_or_else(|| Error::corrupt(file.file_path(), format!("is a deletion vector without a valid {name}")))
    };
    let referenced = file
        .referenced_data_file()
        .map(Into::into)
        .ok_or_else(|| Error::corrupt(file.file_path(), "is a deletion vector without a referenced_data_file"))?;
    let offset = part(file.content_offset(), "content_offset")?;
    let size = part(file.content_size_in_bytes(), "content_size_in_bytes")?;
    Ok(LiveDeletes::DeletionVector { referenced, offset, size })
}

fn equality(file: &DataFile) -> Result<LiveDeletes> {
    let mut field_ids = file.equality_ids().unwrap_or_default();
    if field_ids.is_empty() {
        return Err(Error::corrupt(file.file_path(), "is an equality delete file without equality_ids"));
    }
    field_ids.sort_unstable();
    field_ids.dedup();
    Ok(LiveDeletes::Equality { field_ids })
}

fn equal_path_bounds(file: &DataFile) -> Option<String> {
    let lower = file.lower_bounds().get(&DELETE_FILE_PATH_ID)?;
    let upper = file.upper_bounds().get(&DELETE_FILE_PATH_ID)?;
    match (lower.literal(), upper.literal()) {
        (PrimitiveLiteral::String(lower), PrimitiveLiteral::String(upper)) if lower == upper => Some(lower.clone()),
        _ => None,
    }
}

/// The data file that equal bounds name. Some writers cut both bounds short alike, so the value counts only when it is
/// a live data file's path or, for a file that is gone, ends as data files do.
fn complete_path(live: &HashSet<Arc<str>>, bound: String) -> Option<Arc<str>> {
    match live.get(bound.as_str()) {
        Some(path) => Some(path.clone()),
        None => [".parquet", ".avro", ".orc"].iter().any(|end| bound.ends_with(end)).then(|| bound.into()),
    }
}

fn misplaced(manifest: &ManifestFile, file: &DataFile) -> Error {
    let reason =
        format!("is a {} manifest, but lists {:?} file {}", manifest.content, file.content_type(), file.file_path());
    Error::corrupt(&manifest.manifest_path, reason)
}

fn format(format: DataFileFormat) -> FileFormat {
    match format {
        DataFileFormat::Parquet => FileFormat::Parquet,
        DataFileFormat::Avro => FileFormat::Avro,
        DataFileFormat::Orc => FileFormat::Orc,
        DataFileFormat::Puffin => FileFormat::Puffin,
    }
}
