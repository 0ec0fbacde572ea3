//! The SQLite catalog against real files in both layouts.

use std::{collections::HashMap, fs, io::Read};

use futures::executor::block_on;
use iceberg::{
    TableCreation,
    spec::{
        NestedField, Operation, PrimitiveType, Schema, Snapshot, SnapshotReference, SnapshotRetention, Summary,
        TableMetadata, TableMetadataBuilder, Type,
    },
};

use super::*;

const LAYOUT: &str = "CREATE TABLE iceberg_tables (
    catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,
    metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),
    PRIMARY KEY (catalog_name, table_namespace, table_name))";

struct World {
    dir: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        let world = Self { dir: tempfile::tempdir().unwrap() };
        world.sql(LAYOUT);
        world
    }

    fn db(&self) -> PathBuf {
        self.dir.path().join("catalog.db")
    }

    fn sql(&self, sql: &str) {
        Connection::open(self.db()).unwrap().execute(sql, []).unwrap();
    }

    fn open(&self) -> SqliteCatalog {
        SqliteCatalog::open(&self.db(), None, FileIO::new_with_fs()).unwrap()
    }

    fn location(&self) -> String {
        format!("file:{}/db/orders", self.dir.path().display())
    }

    /// Creates `db.orders` with `properties`.
    fn create(&self, properties: &[(&str, &str)]) -> LoadedTable {
        let column = NestedField::required(1, "id", Type::Primitive(PrimitiveType::Long)).into();
        let creation = TableCreation::builder()
            .name("orders".to_owned())
            .location(self.location())
            .schema(Schema::builder().with_fields([column]).build().unwrap())
            .properties(properties.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<HashMap<_, _>>())
            .build();
        let metadata = TableMetadataBuilder::from_table_creation(creation).unwrap().build().unwrap().metadata;
        let location = format!("{}/metadata/00007-0.metadata.json", self.location());
        let output = FileIO::new_with_fs().new_output(&location).unwrap();
        block_on(output.write(serde_json::to_vec(&metadata).unwrap().into())).unwrap();
        self.sql(&format!(
            "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location)
             VALUES ('main', 'db', 'orders', '{location}')"
        ));
        block_on(self.open().load_table(&orders())).unwrap()
    }

    fn metadata_files(&self) -> Vec<String> {
        let folder = self.dir.path().join("db/orders/metadata");
        let mut names: Vec<_> =
            fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn orders() -> TableName {
    "db.orders".parse().unwrap()
}

fn set(key: &str, value: &str) -> Vec<TableUpdate> {
    vec![TableUpdate::SetProperties { updates: HashMap::from([(key.to_owned(), value.to_owned())]) }]
}

fn committed(outcome: CommitOutcome) -> String {
    match outcome {
        CommitOutcome::Committed { metadata_location } => metadata_location,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_missing_file_is_not_found_and_not_created() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("none.db");
    let error = SqliteCatalog::open(&path, None, FileIO::new_with_fs()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
    assert!(!path.exists());
}

#[test]
fn a_file_that_is_no_catalog_is_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.db");
    fs::write(
        &path,
        "not a database, but long enough to have a header of one hundred bytes, which SQLite looks at ...",
    )
    .unwrap();
    assert_eq!(SqliteCatalog::open(&path, None, FileIO::new_with_fs()).unwrap_err().kind, ErrorKind::Corrupt);
    fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute("CREATE TABLE t (a)", []).unwrap();
    assert_eq!(SqliteCatalog::open(&path, None, FileIO::new_with_fs()).unwrap_err().kind, ErrorKind::Invalid);
}

#[test]
fn several_catalogs_in_one_file_need_a_name() {
    let world = World::new();
    for name in ["b", "a"] {
        world.sql(&format!("INSERT INTO iceberg_tables VALUES ('{name}', 'db', 't{name}', 'x', NULL)"));
    }
    let open = |name| SqliteCatalog::open(&world.db(), name, FileIO::new_with_fs());
    let error = open(None).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert!(error.source.to_string().ends_with(": a, b"), "{}", error.source);
    assert_eq!(open(Some("c")).unwrap_err().kind, ErrorKind::NotFound);
    let tables = block_on(open(Some("b")).unwrap().list_tables()).unwrap();
    assert_eq!(tables, ["db.tb".parse().unwrap()]);
}

#[test]
fn a_view_is_not_a_table() {
    let world = World::new();
    world.create(&[]);
    world.sql("ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)");
    world.sql("INSERT INTO iceberg_tables VALUES ('main', 'db', 'seen', 'x', NULL, 'VIEW')");
    let catalog = world.open();
    assert_eq!(block_on(catalog.list_tables()).unwrap(), [orders()]);
    assert_eq!(block_on(catalog.load_table(&"db.seen".parse().unwrap())).unwrap_err().kind, ErrorKind::NotFound);
    assert_eq!(block_on(catalog.load_table(&orders())).unwrap().name, orders());
}

#[test]
fn a_commit_moves_the_pointer_and_keeps_style_sequence_and_log() {
    let world = World::new();
    let base = world.create(&[("owner", "someone")]);
    let catalog = world.open();
    let uuid = TableRequirement::UuidMatch { uuid: base.metadata.uuid() };
    let location = committed(block_on(catalog.commit(&base, vec![uuid], set("a", "1"))).unwrap());
    assert!(location.starts_with(&format!("{}/metadata/00008-", world.location())), "{location}");
    assert!(location.ends_with(".metadata.json"), "{location}");
    let table = block_on(catalog.load_table(&orders())).unwrap();
    assert_eq!(table.metadata_location, location);
    assert_eq!(table.metadata.properties()["owner"], "someone");
    assert_eq!(table.metadata.properties()["a"], "1");
    assert_eq!(table.metadata.metadata_log().last().unwrap().metadata_file, base.metadata_location);
    let previous: String = Connection::open(world.db())
        .unwrap()
        .query_row("SELECT previous_metadata_location FROM iceberg_tables", [], |row| row.get(0))
        .unwrap();
    assert_eq!(previous, base.metadata_location);
}

#[test]
fn an_unmet_requirement_or_a_stale_base_conflicts_and_leaves_no_file() {
    let world = World::new();
    let base = world.create(&[]);
    let catalog = world.open();
    let gone = TableRequirement::RefSnapshotIdMatch { r#ref: "main".to_owned(), snapshot_id: Some(5) };
    let outcome = block_on(catalog.commit(&base, vec![gone], set("a", "1"))).unwrap();
    assert!(matches!(outcome, CommitOutcome::Conflicted { .. }), "{outcome:?}");
    committed(block_on(catalog.commit(&base, Vec::new(), set("a", "1"))).unwrap());
    let files = world.metadata_files();
    let outcome = block_on(catalog.commit(&base, Vec::new(), set("a", "2"))).unwrap();
    assert!(matches!(outcome, CommitOutcome::Conflicted { .. }), "{outcome:?}");
    assert_eq!(world.metadata_files(), files);
    assert_eq!(block_on(catalog.load_table(&orders())).unwrap().metadata.properties()["a"], "1");
}

#[test]
fn losing_the_race_between_check_and_swap_conflicts_and_removes_the_new_file() {
    let world = World::new();
    let base = world.create(&[]);
    let catalog = world.open();
    world.sql("UPDATE iceberg_tables SET metadata_location = 'elsewhere'");
    assert_eq!(catalog.swap(&base, "mine").unwrap(), 0);
    // A trigger moves the pointer under the running statement's feet: the swap itself must notice.
    world.sql(&format!("UPDATE iceberg_tables SET metadata_location = '{}'", base.metadata_location));
    world.sql("CREATE TRIGGER race BEFORE UPDATE ON iceberg_tables BEGIN SELECT RAISE(IGNORE); END");
    let outcome = block_on(catalog.commit(&base, Vec::new(), set("a", "1"))).unwrap();
    assert!(matches!(outcome, CommitOutcome::Conflicted { .. }), "{outcome:?}");
    assert_eq!(world.metadata_files(), ["00007-0.metadata.json"]);
}

#[test]
fn a_statement_that_fails_changes_nothing_and_removes_the_new_file() {
    let world = World::new();
    let base = world.create(&[]);
    world.sql("CREATE TRIGGER no BEFORE UPDATE ON iceberg_tables BEGIN SELECT RAISE(ABORT, 'no'); END");
    assert!(block_on(world.open().commit(&base, Vec::new(), set("a", "1"))).is_err());
    assert_eq!(world.metadata_files(), ["00007-0.metadata.json"]);
}

#[test]
fn an_answer_that_cannot_be_settled_is_unknown() {
    let world = World::new();
    let base = world.create(&[]);
    let catalog = world.open();
    fs::write(world.db(), vec![7; 4096]).unwrap();
    let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR), None);
    let outcome = catalog.settle(&base, "new", error).unwrap();
    assert!(matches!(outcome, CommitOutcome::Unknown { .. }), "{outcome:?}");
}

#[test]
fn a_vanished_table_is_not_found() {
    let world = World::new();
    let base = world.create(&[]);
    let catalog = world.open();
    world.sql("DELETE FROM iceberg_tables");
    let error = block_on(catalog.commit(&base, Vec::new(), set("a", "1"))).unwrap_err();
    assert_eq!(error.kind, ErrorKind::NotFound);
}

#[test]
fn updates_that_do_not_fit_are_invalid_and_change_nothing() {
    let world = World::new();
    let base = world.create(&[]);
    let wrong = vec![TableUpdate::SetDefaultSpec { spec_id: 77 }];
    let error = block_on(world.open().commit(&base, Vec::new(), wrong)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Invalid);
    assert_eq!(world.metadata_files(), ["00007-0.metadata.json"]);
}

#[test]
fn gzip_metadata_is_written_and_read_under_its_own_suffix() {
    let world = World::new();
    let base = world.create(&[("write.metadata.compression-codec", "GZIP")]);
    let catalog = world.open();
    let location = committed(block_on(catalog.commit(&base, Vec::new(), set("a", "1"))).unwrap());
    assert!(location.ends_with(".gz.metadata.json"), "{location}");
    let bytes = fs::read(location.strip_prefix("file:").unwrap()).unwrap();
    let mut json = String::new();
    flate2::read::GzDecoder::new(&*bytes).read_to_string(&mut json).unwrap();
    assert!(serde_json::from_str::<TableMetadata>(&json).is_ok());
    assert_eq!(block_on(catalog.load_table(&orders())).unwrap().metadata.properties()["a"], "1");
}

#[test]
fn metadata_goes_where_the_table_wants_it_and_old_files_leave_when_it_says_so() {
    let world = World::new();
    let elsewhere = format!("file:{}/elsewhere/", world.dir.path().display());
    let mut table = world.create(&[
        ("write.metadata.path", elsewhere.as_str()),
        ("write.metadata.previous-versions-max", "2"),
        ("write.metadata.delete-after-commit.enabled", "true"),
    ]);
    let catalog = world.open();
    for round in 0..4 {
        committed(block_on(catalog.commit(&table, Vec::new(), set("round", &round.to_string()))).unwrap());
        table = block_on(catalog.load_table(&orders())).unwrap();
    }
    let folder = world.dir.path().join("elsewhere");
    // Files 8 to 11 were written after file 7; the newest and the two before it stay.
    let mut versions: Vec<_> =
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_str().unwrap()[..5].to_owned()).collect();
    versions.sort();
    assert_eq!(versions, ["00009", "00010", "00011"]);
    assert!(world.metadata_files().is_empty());
    assert_eq!(table.metadata.metadata_log().len(), 2);
}

#[test]
fn old_metadata_stays_unless_the_table_wants_it_deleted() {
    let world = World::new();
    let mut table = world.create(&[("write.metadata.previous-versions-max", "1")]);
    let catalog = world.open();
    for _ in 0..3 {
        committed(block_on(catalog.commit(&table, Vec::new(), set("a", "1"))).unwrap());
        table = block_on(catalog.load_table(&orders())).unwrap();
    }
    assert_eq!(world.metadata_files().len(), 4);
}

#[test]
fn a_snapshot_commit_keeps_refs_and_the_snapshot_time() {
    let world = World::new();
    let base = world.create(&[]);
    let catalog = world.open();
    let timestamp_ms = base.metadata.last_updated_ms() + 5_000;
    let snapshot = Snapshot::builder()
        .with_snapshot_id(11)
        .with_sequence_number(1)
        .with_timestamp_ms(timestamp_ms)
        .with_manifest_list("file:/list.avro")
        .with_summary(Summary { operation: Operation::Append, additional_properties: HashMap::new() })
        .with_schema_id(0)
        .build();
    let branch = || SnapshotReference::new(11, SnapshotRetention::branch(Some(3), None, None));
    let to = |name: &str| TableUpdate::SetSnapshotRef { ref_name: name.to_owned(), reference: branch() };
    let updates = vec![TableUpdate::AddSnapshot { snapshot }, to("main"), to("audit")];
    let fresh = TableRequirement::RefSnapshotIdMatch { r#ref: "main".to_owned(), snapshot_id: None };
    committed(block_on(catalog.commit(&base, vec![fresh], updates)).unwrap());
    let table = block_on(catalog.load_table(&orders())).unwrap();
    committed(block_on(catalog.commit(&table, Vec::new(), set("a", "1"))).unwrap());
    let table = block_on(catalog.load_table(&orders())).unwrap();
    assert_eq!(table.metadata.current_snapshot_id(), Some(11));
    assert_eq!(table.metadata.snapshot_for_ref("audit").unwrap().snapshot_id(), 11);
    assert_eq!(table.metadata.history().last().unwrap().timestamp_ms(), timestamp_ms);
}

#[test]
fn a_read_only_catalog_denies_a_commit_before_anything_is_written() {
    let world = World::new();
    let base = world.create(&[]);
    let mut permissions = fs::metadata(world.db()).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(world.db(), permissions).unwrap();
    let outcome = block_on(world.open().commit(&base, Vec::new(), set("a", "1")));
    // Root may write to any file, so there is nothing to deny.
    if fs::OpenOptions::new().append(true).open(world.db()).is_err() {
        assert_eq!(outcome.unwrap_err().kind, ErrorKind::Denied);
        assert_eq!(world.metadata_files(), ["00007-0.metadata.json"]);
    }
}

#[test]
fn metadata_that_is_missing_broken_or_too_new_says_which() {
    let world = World::new();
    let base = world.create(&[]);
    let path = base.metadata_location.strip_prefix("file:").unwrap();
    let load = || block_on(world.open().load_table(&orders())).unwrap_err();
    fs::write(path, r#"{"format-version": 9}"#).unwrap();
    assert_eq!(load().kind, ErrorKind::Invalid);
    fs::write(path, "{").unwrap();
    assert_eq!(load().kind, ErrorKind::Corrupt);
    assert_eq!(load().subject, base.metadata_location);
    world.sql("UPDATE iceberg_tables SET metadata_location = NULL");
    assert_eq!(load().kind, ErrorKind::Corrupt);
}

#[test]
fn a_transaction_that_a_killed_writer_left_half_done_is_rolled_back_by_reading() {
    let world = World::new();
    let table = world.create(&[]);
    let writer = Connection::open(world.db()).unwrap();
    let fill =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) SELECT randomblob(1000) FROM n";
    let half = format!("PRAGMA cache_size = 1; BEGIN; CREATE TABLE filler (a); INSERT INTO filler {fill}");
    writer.execute_batch(&half).unwrap();
    // What a kill leaves: the files as they are, and nobody who holds a lock on them.
    let left = tempfile::tempdir().unwrap();
    for name in ["catalog.db", "catalog.db-journal"] {
        fs::copy(world.dir.path().join(name), left.path().join(name)).unwrap();
    }
    let catalog = SqliteCatalog::open(&left.path().join("catalog.db"), None, FileIO::new_with_fs()).unwrap();
    assert_eq!(block_on(catalog.load_table(&orders())).unwrap().metadata_location, table.metadata_location);
}
