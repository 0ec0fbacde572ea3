//! Another writer of a table, who knows which rows it has written and deleted.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use futures::executor::block_on;
use iceberg::{
    TableUpdate,
    spec::{
        DataContentType, DataFile, DataFileBuilder, DataFileFormat, FormatVersion, Literal, MAIN_BRANCH, Operation,
        PartitionSpec, Schema, SnapshotReference, SnapshotRetention, Struct, TableMetadata, UnboundPartitionSpec,
    },
};
use model::TableName;
use ports::{Catalog, CommitOutcome, LoadedTable};
use serde_json::{Value, json};

use crate::{
    columns,
    columns::{ID, PART, TEXT},
    fuse::Fuse,
    puffin,
    reader::read,
    rows::Row,
    world::World,
};

mod commit;

use commit::{Change, commit};

/// What a table is like when it is made.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Format version: 1, 2 or 3.
    pub version: u8,
    /// Whether it is partitioned by `part`.
    pub is_partitioned: bool,
    /// Table properties.
    pub properties: &'static [(&'static str, &'static str)],
}

impl Shape {
    /// The metadata of an empty table at `location`.
    ///
    /// # Panics
    /// For a format version that does not exist.
    #[must_use]
    pub fn metadata(&self, location: &str, uuid: &str) -> TableMetadata {
        let field = |id: i32, name: &str, data_type: &str, required: bool| json!({"id": id, "name": name, "required": required, "type": data_type});
        let fields =
            [field(ID, "id", "long", true), field(TEXT, "text", "string", false), field(PART, "part", "string", false)];
        let schema = json!({"type": "struct", "schema-id": 0, "fields": fields});
        let by_part: &[Value] = if self.is_partitioned { &[by_part()] } else { &[] };
        let properties: HashMap<&str, &str> = self.properties.iter().copied().collect();
        let mut metadata = json!({
            "format-version": self.version, "table-uuid": uuid, "location": location, "last-sequence-number": 0,
            "last-updated-ms": 1_700_000_000_000_i64, "last-column-id": PART, "schemas": [schema], "current-schema-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": by_part}], "default-spec-id": 0, "last-partition-id": 1000,
            "properties": properties, "sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0,
            "schema": schema, "partition-spec": by_part,
        });
        if self.version == 3 {
            metadata["next-row-id"] = json!(0);
        }
        serde_json::from_value(metadata).unwrap()
    }
}

fn by_part() -> Value {
    json!({"source-id": PART, "field-id": 1000, "name": "part", "transform": "identity"})
}

/// A data file that was written, with the rows that are left of it.
#[derive(Clone, Debug)]
struct Written {
    path: String,
    spec_id: i32,
    part: Option<String>,
    sequence_number: i64,
    rows: Vec<Option<Row>>,
    /// Its deletion vector's file.
    vector: Option<String>,
}

/// A writer of one table. Every method is one commit; it says whether that happened, or found its file gone.
#[derive(Clone)]
pub struct Writer {
    catalog: Arc<dyn Catalog>,
    name: TableName,
    commits: i64,
    files: Vec<Written>,
    /// What the table held at each snapshot of this writer.
    history: BTreeMap<i64, Vec<Written>>,
}

impl Writer {
    /// Makes `name` in `world`, in place of any table of that name.
    #[must_use]
    pub fn create(world: &World, name: &TableName, shape: &Shape, uuid: &str) -> Self {
        let catalog = world.catalog(&Fuse::whole());
        catalog.put(name, &shape.metadata(&format!("memory:/{name}/{uuid}"), uuid));
        Self::of(Arc::new(catalog), name.clone())
    }

    /// A writer of a table that is empty.
    #[must_use]
    pub fn of(catalog: Arc<dyn Catalog>, name: TableName) -> Self {
        Self { catalog, name, commits: 0, files: Vec::new(), history: BTreeMap::new() }
    }

    /// The same writer in a copy of its world.
    #[must_use]
    pub fn moved_to(&self, world: &World) -> Self {
        Self { catalog: Arc::new(world.catalog(&Fuse::whole())), ..self.clone() }
    }

    /// The table as it is now.
    ///
    /// # Panics
    /// When it cannot be loaded.
    #[must_use]
    pub fn table(&self) -> LoadedTable {
        block_on(self.catalog.load_table(&self.name)).unwrap()
    }

    /// The rows that the table must have, sorted.
    #[must_use]
    pub fn expected(&self) -> Vec<Row> {
        let mut rows: Vec<Row> = self.files.iter().flat_map(|file| file.rows.iter().flatten().cloned()).collect();
        rows.sort();
        rows
    }

    /// The locations of the data files that were written and not overwritten, oldest first.
    #[must_use]
    pub fn data_files(&self) -> Vec<String> {
        self.files.iter().map(|file| file.path.clone()).collect()
    }

    /// Appends one data file per element of `files`, each of one partition, in one snapshot.
    pub fn append(&mut self, files: &[Vec<Row>]) -> bool {
        let table = self.table();
        let mut added = Vec::new();
        // Row ids are assigned in the order of the manifest (Iceberg spec, "First Row ID Assignment").
        let mut row_id = i64::try_from(table.metadata.next_row_id()).unwrap();
        for rows in files {
            added.push(self.written(&table, added.len(), row_id, rows));
            row_id += i64::try_from(rows.len()).unwrap();
        }
        let data = added.iter().zip(files).map(|(file, rows)| data_file(&table, file, rows)).collect();
        let spec_id = table.metadata.default_partition_spec_id();
        let change = Change { operation: Operation::Append, spec_id, data, deletes: Vec::new(), removed: Vec::new() };
        self.finish(&table, &change, added)
    }

    /// Puts `rows` in the place of the file at `path`.
    pub fn overwrite(&mut self, path: &str, rows: &[Row]) -> bool {
        let table = self.table();
        if !is_live(&table, path) {
            return false;
        }
        let file = self.written(&table, 0, i64::try_from(table.metadata.next_row_id()).unwrap(), rows);
        let change = Change {
            operation: Operation::Overwrite,
            spec_id: file.spec_id,
            data: vec![data_file(&table, &file, rows)],
            deletes: Vec::new(),
            removed: vec![path.to_owned()],
        };
        self.files.retain(|file| file.path != path);
        self.finish(&table, &change, vec![file])
    }

    /// Deletes rows of the file at `path` with a position delete file, which names its data file when `is_scoped`.
    pub fn delete_positions(&mut self, path: &str, positions: &[u64], is_scoped: bool) -> bool {
        let table = self.table();
        if !is_live(&table, path) {
            return false;
        }
        let bytes = columns::positions(path, positions);
        let mut delete = self.delete_file(&table, "pos.parquet", DataContentType::PositionDeletes, path, &bytes);
        delete.record_count(positions.len() as u64).referenced_data_file(is_scoped.then(|| path.to_owned()));
        let spec_id = self.take(path, positions);
        self.finish_deletes(&table, spec_id, &delete, Vec::new())
    }

    /// Deletes rows of the file at `path` with a deletion vector, which takes the place of the one it has.
    pub fn delete_vector(&mut self, path: &str, positions: &[u64]) -> bool {
        let table = self.table();
        if !is_live(&table, path) {
            return false;
        }
        let file = self.files.iter().find(|file| file.path == path).unwrap();
        let gone = |(at, row): (u64, &Option<Row>)| row.is_none().then_some(at);
        let mut all: Vec<u64> = (0..).zip(&file.rows).filter_map(gone).collect();
        let removed = file.vector.iter().cloned().collect();
        all.extend(positions);
        let (bytes, (offset, size)) = puffin::file(&all, path);
        let mut delete = self.delete_file(&table, "dv.puffin", DataContentType::PositionDeletes, path, &bytes);
        delete.file_format(DataFileFormat::Puffin).record_count(all.len() as u64);
        delete.referenced_data_file(Some(path.to_owned()));
        delete.content_offset(i64::try_from(offset).ok()).content_size_in_bytes(i64::try_from(size).ok());
        let spec_id = self.take(path, positions);
        let vector = self.location(&table, "dv.puffin");
        self.files.iter_mut().filter(|file| file.path == path).for_each(|file| file.vector = Some(vector.clone()));
        self.finish_deletes(&table, spec_id, &delete, removed)
    }

    /// Deletes the rows with these ids by an equality delete file: of the partition `part` when the table is partitioned.
    pub fn delete_keys(&mut self, ids: &[i64], part: &str) -> bool {
        let table = self.table();
        let spec = table.metadata.default_partition_spec();
        let part = (!spec.is_unpartitioned()).then(|| part.to_owned());
        let path = self.location(&table, "eq.parquet");
        let bytes = columns::keys(ids);
        let mut delete = entry(DataContentType::EqualityDeletes, &path, tuple(spec, part.as_deref()), &bytes);
        delete.record_count(ids.len() as u64).equality_ids(Some(vec![ID])).partition_spec_id(spec.spec_id());
        store(&table, &path, bytes);
        let sequence_number = table.metadata.next_sequence_number();
        for file in &mut self.files {
            let is_in_scope = part.is_none() || (file.spec_id == spec.spec_id() && file.part == part);
            if is_in_scope && file.sequence_number < sequence_number {
                for row in &mut file.rows {
                    row.take_if(|row| ids.contains(&row.id));
                }
            }
        }
        self.finish_deletes(&table, spec.spec_id(), &delete, Vec::new())
    }

    /// Adds an optional column, which no row has a value of.
    pub fn add_column(&mut self, name: &str) -> bool {
        let table = self.table();
        let mut schema = serde_json::to_value(table.metadata.current_schema().as_ref()).unwrap();
        let fields = schema["fields"].as_array_mut().unwrap();
        fields.push(json!({"id": fields.len() + 1, "name": name, "required": false, "type": "string"}));
        let schema: Schema = serde_json::from_value(schema).unwrap();
        self.update(&table, vec![TableUpdate::AddSchema { schema }, TableUpdate::SetCurrentSchema { schema_id: -1 }])
    }

    /// New files are partitioned by `part`, or not at all.
    pub fn change_spec(&mut self, is_partitioned: bool) -> bool {
        let fields = if is_partitioned { vec![by_part()] } else { Vec::new() };
        let spec: UnboundPartitionSpec = serde_json::from_value(json!({"fields": fields})).unwrap();
        self.update(&self.table(), vec![TableUpdate::AddSpec { spec }, TableUpdate::SetDefaultSpec { spec_id: -1 }])
    }

    /// Expires every snapshot of `main` but its head.
    pub fn expire(&mut self) -> bool {
        let table = self.table();
        let head = table.metadata.current_snapshot_id();
        let old = table.metadata.snapshots().map(|it| it.snapshot_id()).filter(|id| Some(*id) != head);
        self.update(&table, vec![TableUpdate::RemoveSnapshots { snapshot_ids: old.collect() }])
    }

    /// Takes `main` back to what it was before this writer's last commit.
    ///
    /// # Panics
    /// When there were fewer than two.
    pub fn roll_back(&mut self) -> bool {
        let (snapshot_id, files) = self.history.iter().rev().nth(1).unwrap();
        let (snapshot_id, files) = (*snapshot_id, files.clone());
        self.files = files;
        self.update(&self.table(), vec![main_at(snapshot_id)])
    }

    fn update(&self, table: &LoadedTable, updates: Vec<TableUpdate>) -> bool {
        let outcome = block_on(self.catalog.commit(table, Vec::new(), updates)).unwrap();
        matches!(outcome, CommitOutcome::Committed { .. })
    }

    /// The model of a new data file of the default spec, its rows' ids starting at `row_id`.
    fn written(&self, table: &LoadedTable, number: usize, row_id: i64, rows: &[Row]) -> Written {
        let metadata = &table.metadata;
        let spec = metadata.default_partition_spec();
        let has_lineage = metadata.format_version() == FormatVersion::V3;
        let sequence_number = metadata.next_sequence_number();
        let row = |(row_id, row): (i64, &Row)| {
            Some(Row { lineage: has_lineage.then_some((row_id, sequence_number)), ..row.clone() })
        };
        Written {
            path: self.location(table, &format!("{number}.parquet")),
            spec_id: spec.spec_id(),
            part: (!spec.is_unpartitioned()).then(|| rows[0].part.clone()),
            sequence_number,
            rows: (row_id..).zip(rows).map(row).collect(),
            vector: None,
        }
    }

    fn location(&self, table: &LoadedTable, name: &str) -> String {
        format!("{}/data/w{}-{name}", table.metadata.location(), self.commits)
    }

    /// A delete file for the partition of the data file at `path`.
    fn delete_file(
        &self,
        table: &LoadedTable,
        name: &str,
        content: DataContentType,
        path: &str,
        bytes: &[u8],
    ) -> DataFileBuilder {
        let data = self.files.iter().find(|file| file.path == path).unwrap();
        let spec = table.metadata.partition_spec_by_id(data.spec_id).unwrap();
        let location = self.location(table, name);
        store(table, &location, bytes.to_vec());
        let mut file = entry(content, &location, tuple(spec, data.part.as_deref()), bytes);
        file.partition_spec_id(data.spec_id);
        file
    }

    /// Takes rows out of the model of the file at `path`, whose spec it returns.
    fn take(&mut self, path: &str, positions: &[u64]) -> i32 {
        let file = self.files.iter_mut().find(|file| file.path == path).unwrap();
        positions.iter().for_each(|at| file.rows[usize::try_from(*at).unwrap()] = None);
        file.spec_id
    }

    fn finish_deletes(
        &mut self,
        table: &LoadedTable,
        spec_id: i32,
        delete: &DataFileBuilder,
        removed: Vec<String>,
    ) -> bool {
        let deletes = vec![delete.build().unwrap()];
        let change = Change { operation: Operation::Delete, spec_id, data: Vec::new(), deletes, removed };
        self.finish(table, &change, Vec::new())
    }

    fn finish(&mut self, table: &LoadedTable, change: &Change, added: Vec<Written>) -> bool {
        self.commits += 1;
        let snapshot_id = 1_000 + self.commits;
        commit(&*self.catalog, table, snapshot_id, change);
        self.files.extend(added);
        self.history.insert(snapshot_id, self.files.clone());
        true
    }
}

fn is_live(table: &LoadedTable, path: &str) -> bool {
    let head = table.metadata.current_snapshot_id().unwrap();
    read(table, head).entries.iter().any(|entry| entry.path == path)
}

fn main_at(snapshot_id: i64) -> TableUpdate {
    let retention =
        SnapshotRetention::Branch { min_snapshots_to_keep: None, max_snapshot_age_ms: None, max_ref_age_ms: None };
    TableUpdate::SetSnapshotRef {
        ref_name: MAIN_BRANCH.to_owned(),
        reference: SnapshotReference::new(snapshot_id, retention),
    }
}

fn tuple(spec: &PartitionSpec, part: Option<&str>) -> Struct {
    spec.fields().iter().map(|_| part.map(Literal::string)).collect()
}

fn entry(content: DataContentType, path: &str, tuple: Struct, bytes: &[u8]) -> DataFileBuilder {
    let mut file = DataFileBuilder::default();
    file.content(content).file_path(path.to_owned()).file_format(DataFileFormat::Parquet).partition(tuple);
    file.file_size_in_bytes(bytes.len() as u64);
    file
}

fn store(table: &LoadedTable, path: &str, bytes: Vec<u8>) {
    block_on(table.file_io.new_output(path).unwrap().write(bytes.into())).unwrap();
}

/// Writes `rows` as `file` and returns its manifest entry.
fn data_file(table: &LoadedTable, file: &Written, rows: &[Row]) -> DataFile {
    let bytes = columns::data(rows);
    let spec = table.metadata.partition_spec_by_id(file.spec_id).unwrap();
    let mut entry = entry(DataContentType::Data, &file.path, tuple(spec, file.part.as_deref()), &bytes);
    store(table, &file.path, bytes);
    entry.record_count(rows.len() as u64).partition_spec_id(file.spec_id).build().unwrap()
}
