//! Reads a snapshot by the letter of the Iceberg spec ("Scan Planning", "Row lineage"), slowly and without Firn's code.

use std::{collections::HashSet, sync::Arc};

use bytes::Bytes;
use futures::executor::block_on;
use iceberg::{
    io::FileIO,
    spec::{
        DataContentType, DataFile, ManifestFile, ManifestList, ManifestStatus, PartitionSpec, PrimitiveLiteral,
        Snapshot, TableMetadata,
    },
};
use ports::LoadedTable;

use crate::{columns, puffin, rows::Row};

/// What a live file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Rows.
    Data,
    /// Position deletes.
    Positions,
    /// A deletion vector.
    Vector,
    /// Equality deletes.
    Keys,
}

/// A live file.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its location.
    pub path: String,
    /// What it is.
    pub content: Content,
    /// Spec it was written with.
    pub spec_id: i32,
    /// Value of the partition field `part`; `None` in a spec without fields.
    pub part: Option<String>,
    /// Data sequence number.
    pub sequence_number: i64,
    /// `record_count`.
    pub records: u64,
    /// Bytes that summaries count: of a vector its own, of any other file all.
    pub size_bytes: u64,
    first_row_id: Option<i64>,
    is_global: bool,
    file: DataFile,
}

/// A snapshot, read.
#[derive(Clone, Debug)]
pub struct Reading {
    /// Its rows, sorted.
    pub rows: Vec<Row>,
    /// Its live files.
    pub entries: Vec<Entry>,
    /// Every file it needs: the manifest list, manifests, data and delete files.
    pub needed: Vec<String>,
}

impl Reading {
    /// The live files of one kind.
    pub fn of(&self, content: Content) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.content == content)
    }
}

/// Reads snapshot `snapshot_id` of `table` with everything in it.
///
/// # Panics
/// When a file is missing or broken, or metadata is not true: a size, a count, a partition.
#[must_use]
pub fn read(table: &LoadedTable, snapshot_id: i64) -> Reading {
    let (metadata, io) = (&table.metadata, &table.file_io);
    let snapshot = metadata.snapshot_by_id(snapshot_id).expect("no such snapshot");
    let mut needed = vec![snapshot.manifest_list().to_owned()];
    let mut entries = Vec::new();
    for manifest in &manifests(table, snapshot) {
        needed.push(manifest.manifest_path.clone());
        entries.extend(entries_of(metadata, io, manifest));
    }
    needed.extend(entries.iter().map(|entry| entry.path.clone()));
    let deletes: Vec<Deletes> =
        entries.iter().filter(|it| it.content != Content::Data).map(|it| Deletes::of(io, it)).collect();
    let data = entries.iter().filter(|entry| entry.content == Content::Data);
    let mut rows: Vec<Row> = data.flat_map(|entry| live_rows(io, entry, &deletes)).collect();
    rows.sort();
    Reading { rows, entries, needed }
}

/// The manifests of `snapshot`.
pub(crate) fn manifests(table: &LoadedTable, snapshot: &Snapshot) -> Vec<ManifestFile> {
    let bytes = fetch(&table.file_io, snapshot.manifest_list());
    let list = ManifestList::parse_with_version(&bytes, table.metadata.format_version()).unwrap();
    list.consume_entries().into_iter().collect()
}

fn fetch(io: &FileIO, path: &str) -> Bytes {
    block_on(io.new_input(path).unwrap().read()).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn entries_of(metadata: &TableMetadata, io: &FileIO, manifest: &ManifestFile) -> Vec<Entry> {
    let spec = metadata.partition_spec_by_id(manifest.partition_spec_id).expect("no such spec");
    let loaded = block_on(manifest.load_manifest(io)).unwrap();
    let mut next_row_id = manifest.first_row_id.map(|id| i64::try_from(id).unwrap());
    let mut counts = [0_u32; 3];
    let mut found = Vec::new();
    for entry in loaded.entries() {
        counts[entry.status() as usize] += 1;
        if entry.status() == ManifestStatus::Deleted {
            continue;
        }
        let mut entry = live(spec, entry.data_file(), entry.sequence_number().expect("no sequence number"));
        if entry.content == Content::Data && entry.first_row_id.is_none() {
            entry.first_row_id = next_row_id;
            next_row_id = next_row_id.map(|id| id + i64::try_from(entry.records).unwrap());
        }
        found.push(entry);
    }
    let claimed = [manifest.existing_files_count, manifest.added_files_count, manifest.deleted_files_count];
    assert_eq!(claimed, counts.map(Some), "file counts of {}", manifest.manifest_path);
    found
}

fn live(spec: &Arc<PartitionSpec>, file: &DataFile, sequence_number: i64) -> Entry {
    let content = match file.content_type() {
        DataContentType::Data => Content::Data,
        DataContentType::EqualityDeletes => Content::Keys,
        DataContentType::PositionDeletes if file.content_offset().is_some() => Content::Vector,
        DataContentType::PositionDeletes => Content::Positions,
    };
    let part = file.partition().iter().next().flatten().map(|value| match value.as_primitive_literal() {
        Some(PrimitiveLiteral::String(text)) => text,
        other => panic!("partition value {other:?}"),
    });
    let own_bytes = file.content_size_in_bytes().map(|it| u64::try_from(it).unwrap());
    Entry {
        path: file.file_path().to_owned(),
        content,
        spec_id: spec.spec_id(),
        part,
        sequence_number,
        records: file.record_count(),
        size_bytes: own_bytes.unwrap_or(file.file_size_in_bytes()),
        first_row_id: file.first_row_id(),
        is_global: spec.is_unpartitioned(),
        file: file.clone(),
    }
}

/// A delete file with what it deletes.
struct Deletes<'a> {
    entry: &'a Entry,
    positions: HashSet<(String, u64)>,
    keys: HashSet<i64>,
}

impl<'a> Deletes<'a> {
    fn of(io: &FileIO, entry: &'a Entry) -> Self {
        let bytes = fetch(io, &entry.path);
        let (mut positions, mut keys) = (HashSet::new(), HashSet::new());
        match entry.content {
            Content::Vector => {
                let offset = usize::try_from(entry.file.content_offset().unwrap()).unwrap();
                let blob = &bytes[offset..offset + usize::try_from(entry.size_bytes).unwrap()];
                let path = entry.file.referenced_data_file().expect("a vector without its data file");
                positions.extend(puffin::positions(blob).into_iter().map(|at| (path.clone(), at)));
            }
            Content::Positions => positions.extend(columns::read_positions(bytes)),
            Content::Keys => keys.extend(columns::read_keys(bytes)),
            Content::Data => {}
        }
        Self { entry, positions, keys }
    }

    fn has_scope(&self, data: &Entry) -> bool {
        self.entry.spec_id == data.spec_id && self.entry.part == data.part
    }

    /// Whether it deletes the row `id` at `position` of `data`.
    fn takes(&self, data: &Entry, position: u64, id: i64) -> bool {
        let (own, of_data) = (self.entry.sequence_number, data.sequence_number);
        let names = || self.positions.contains(&(data.path.clone(), position));
        match self.entry.content {
            Content::Vector => of_data <= own && names(),
            Content::Positions => of_data <= own && self.has_scope(data) && names(),
            Content::Keys => of_data < own && (self.entry.is_global || self.has_scope(data)) && self.keys.contains(&id),
            Content::Data => false,
        }
    }
}

fn live_rows(io: &FileIO, entry: &Entry, deletes: &[Deletes<'_>]) -> Vec<Row> {
    let bytes = fetch(io, &entry.path);
    assert_eq!(bytes.len() as u64, entry.file.file_size_in_bytes(), "size of {}", entry.path);
    let stored = columns::read_data(bytes);
    assert_eq!(stored.len() as u64, entry.records, "record_count of {}", entry.path);
    let mut found = Vec::new();
    for (position, (mut row, (row_id, updated))) in (0_i64..).zip(stored) {
        if let Some(part) = &entry.part {
            assert_eq!(*part, row.part, "partition of {}", entry.path);
        }
        let row_id = row_id.or(entry.first_row_id.map(|first| first + position));
        row.lineage = row_id.map(|id| (id, updated.unwrap_or(entry.sequence_number)));
        let is_deleted = |delete: &Deletes<'_>| delete.takes(entry, u64::try_from(position).unwrap(), row.id);
        if !deletes.iter().any(is_deleted) {
            found.push(row);
        }
    }
    found
}
