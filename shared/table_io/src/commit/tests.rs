//! Commits against heads that other writers moved: every rule of D that one table's metadata can show.

use futures::executor::block_on;
use iceberg::spec::{
    DataContentType, Datum, Literal, ManifestEntryRef, ManifestFile, SchemaRef, Struct, TableMetadata,
};
use serde_json::json;

use super::*;
use crate::{
    fixture::{
        NEXT, SEQUENCE, SNAPSHOT, data, field, file, finish, list, manifest, manifest_of, next, table, table_of,
    },
    scan::scan,
};

/// The spec that old files have, and the one that outputs have after the table's partitioning changed.
const BY_NAME: i32 = 0;
const BY_ID: i32 = 1;

/// Files `x1`, `x2` (partition `name = x`) and `y1`, 10 records each, of sequence numbers 1, 2 and 3.
fn partitioned() -> LoadedTable {
    let specs = json!([
        {"spec-id": BY_NAME, "fields": [field(2, 1000, "name", "identity")]},
        {"spec-id": BY_ID, "fields": [field(1, 1001, "id", "identity")]},
    ]);
    let schema = json!({"type": "struct", "schema-id": 0, "fields": crate::fixture::fields()});
    let table = table_of(2, json!([schema]), specs);
    list(&table, [base(&table)]);
    table
}

fn base(table: &LoadedTable) -> ManifestFile {
    let mut writer = manifest(table, "memory:/base.avro", BY_NAME).build_v2_data();
    for (path, name, sequence_number) in [("x1", "x", 1), ("x2", "x", 2), ("y1", "y", 3)] {
        let entry = file(path, DataContentType::Data, by_name(name)).build().unwrap();
        writer.add_existing_file(entry, 5, sequence_number, Some(sequence_number)).unwrap();
    }
    finish(writer, SEQUENCE)
}

fn by_name(name: &str) -> Struct {
    Struct::from_iter([Some(Literal::string(name))])
}

fn by_id(id: i64) -> Struct {
    Struct::from_iter([Some(Literal::long(id))])
}

/// A manifest with one delete file that the head's commit added.
fn deletes(table: &LoadedTable, spec_id: i32, delete: iceberg::spec::DataFileBuilder) -> ManifestFile {
    let path = format!("memory:/deletes-{spec_id}.avro");
    let mut writer = manifest(table, &path, spec_id).build_v2_deletes();
    writer.add_file(delete.build().unwrap(), -1).unwrap();
    finish(writer, SEQUENCE + 1)
}

fn equality(tuple: Struct) -> iceberg::spec::DataFileBuilder {
    let mut delete = file("eq", DataContentType::EqualityDeletes, tuple);
    delete.equality_ids(Some(vec![1]));
    delete
}

fn position(tuple: Struct, referenced: Option<&str>) -> iceberg::spec::DataFileBuilder {
    let mut delete = file("pos", DataContentType::PositionDeletes, tuple);
    delete.referenced_data_file(referenced.map(str::to_owned));
    delete
}

/// `x1` and `x2` become `out`.
fn rewrite(table: &LoadedTable, spec_id: i32, tuple: Struct) -> Rewrite {
    let mut out = file("memory:/t/out.parquet", DataContentType::Data, tuple);
    let out = out.record_count(20).build().unwrap();
    Rewrite {
        plan_id: "p".to_owned(),
        table_uuid: table.metadata.uuid().to_string(),
        branch: "main".to_owned(),
        base_snapshot_id: SNAPSHOT,
        base_sequence_number: SEQUENCE,
        use_starting_sequence_number: true,
        snapshot_id: 99,
        attempt_id: "a".to_owned(),
        now_ms: 1_800_000_000_000,
        removed: vec!["x1".into(), "x2".into()],
        added: vec![WrittenFile { spec_id, file: out }],
        deleted_records: 0,
        remove_dangling_deletes: true,
        summary: BTreeMap::new(),
    }
}

fn prepared(table: &LoadedTable, rewrite: &Rewrite) -> std::result::Result<PreparedCommit, CommitConflict> {
    block_on(prepare_commit(table, rewrite)).unwrap()
}

fn head_with(table: &LoadedTable, spec_id: i32, delete: iceberg::spec::DataFileBuilder) -> LoadedTable {
    next(table, Some(SNAPSHOT), [base(table), deletes(table, spec_id, delete)])
}

/// What the table holds once `prepared` is its head.
fn committed(table: &LoadedTable, prepared: PreparedCommit) -> LoadedTable {
    let mut builder = TableMetadata::clone(&table.metadata).into_builder(Some(table.metadata_location.clone()));
    for update in prepared.updates {
        builder = update.apply(builder).unwrap();
    }
    LoadedTable { metadata: Arc::new(builder.build().unwrap().metadata), ..table.clone() }
}

fn live(table: &LoadedTable) -> LiveFiles {
    block_on(scan(table, table.metadata.current_snapshot_id(), None)).unwrap()
}

#[test]
fn d2_an_equality_delete_that_arrives_on_inputs_applies_to_their_outputs_and_stays() {
    let table = partitioned();
    let head = head_with(&table, BY_NAME, equality(by_name("x")));
    let rewrite = rewrite(&table, BY_NAME, by_name("x"));
    let after = live(&committed(&head, prepared(&head, &rewrite).unwrap()));
    let out = after.data.iter().find(|file| file.path.ends_with("out.parquet")).unwrap();
    assert_eq!((out.data_sequence_number, out.file_sequence_number), (SEQUENCE, SEQUENCE + 2));
    assert_eq!(after.deletes.iter().map(|delete| delete.data_sequence_number).collect::<Vec<_>>(), [SEQUENCE + 1]);
}

#[test]
fn d3_an_equality_delete_that_arrives_in_a_partition_whose_rows_move_to_another_spec_is_a_conflict() {
    let table = partitioned();
    let head = head_with(&table, BY_NAME, equality(by_name("x")));
    let conflict = prepared(&head, &rewrite(&table, BY_ID, by_id(7))).unwrap_err();
    assert_eq!(conflict, CommitConflict::NewDeletes { delete_path: "eq".to_owned(), path: "x1".to_owned() });
    // In a partition that nobody rewrites it is none.
    let head = head_with(&table, BY_NAME, equality(by_name("y")));
    assert!(prepared(&head, &rewrite(&table, BY_ID, by_id(7))).is_ok());
}

#[test]
fn d3_an_equality_delete_that_arrives_where_rows_of_another_spec_are_moved_to_is_a_conflict() {
    let table = partitioned();
    let head = head_with(&table, BY_ID, equality(by_id(7)));
    let conflict = prepared(&head, &rewrite(&table, BY_ID, by_id(7))).unwrap_err();
    assert!(matches!(conflict, CommitConflict::NewDeletesOnOutput { .. }), "{conflict}");
    let head = head_with(&table, BY_ID, equality(by_id(8)));
    assert!(prepared(&head, &rewrite(&table, BY_ID, by_id(7))).is_ok());
}

#[test]
fn d3_an_equality_delete_of_the_whole_table_is_fine_even_when_rows_change_their_spec() {
    let specs = json!([{"spec-id": 0, "fields": []}, {"spec-id": BY_ID, "fields": [field(1, 1001, "id", "identity")]}]);
    let schema = json!({"type": "struct", "schema-id": 0, "fields": crate::fixture::fields()});
    let table = table_of(2, json!([schema]), specs);
    let mut writer = manifest(&table, "memory:/base.avro", 0).build_v2_data();
    for path in ["x1", "x2"] {
        writer.add_existing_file(data(path), 5, 1, Some(1)).unwrap();
    }
    let base = finish(writer, SEQUENCE);
    list(&table, [base.clone()]);
    let head = next(&table, Some(SNAPSHOT), [base, deletes(&table, 0, equality(Struct::empty()))]);
    let after = live(&committed(&head, prepared(&head, &rewrite(&table, BY_ID, by_id(7))).unwrap()));
    assert_eq!(after.deletes.len(), 1);
}

#[test]
fn d3_without_the_starting_sequence_number_an_equality_delete_on_an_input_is_a_conflict() {
    let table = partitioned();
    let head = head_with(&table, BY_NAME, equality(by_name("x")));
    let rewrite = Rewrite { use_starting_sequence_number: false, ..rewrite(&table, BY_NAME, by_name("x")) };
    let conflict = prepared(&head, &rewrite).unwrap_err();
    assert_eq!(conflict, CommitConflict::NewDeletes { delete_path: "eq".to_owned(), path: "x1".to_owned() });
}

#[test]
fn d3_position_deletes_that_arrive_on_an_input_are_a_conflict_and_on_others_are_not() {
    let table = partitioned();
    for (name, referenced, conflicts) in
        [("x", Some("x2"), true), ("x", None, true), ("y", None, false), ("y", Some("y1"), false)]
    {
        let head = head_with(&table, BY_NAME, position(by_name(name), referenced));
        let result = prepared(&head, &rewrite(&table, BY_NAME, by_name("x")));
        assert_eq!(matches!(result, Err(CommitConflict::NewDeletes { .. })), conflicts, "{name} {referenced:?}");
        assert_eq!(result.is_ok(), !conflicts, "{name} {referenced:?}");
    }
}

#[test]
fn d3_a_base_that_is_no_ancestor_of_the_head_is_a_conflict() {
    let table = partitioned();
    let head = next(&table, None, [base(&table)]);
    let conflict = prepared(&head, &rewrite(&table, BY_NAME, by_name("x"))).unwrap_err();
    let expected = CommitConflict::BaseNotAncestor { base: SNAPSHOT, head: NEXT, branch: "main".to_owned() };
    assert_eq!(conflict, expected);
}

#[test]
fn d1_an_input_that_another_writer_removed_is_a_conflict() {
    let table = partitioned();
    let mut writer = manifest(&table, "memory:/less.avro", BY_NAME).build_v2_data();
    writer.add_existing_file(file("x1", DataContentType::Data, by_name("x")).build().unwrap(), 5, 1, Some(1)).unwrap();
    let head = next(&table, Some(SNAPSHOT), [finish(writer, SEQUENCE)]);
    let conflict = prepared(&head, &rewrite(&table, BY_NAME, by_name("x"))).unwrap_err();
    assert_eq!(conflict, CommitConflict::InputGone { path: "x2".to_owned() });
}

#[test]
fn d9_another_table_under_the_name_and_a_branch_that_is_gone_are_conflicts_by_name() {
    let table = partitioned();
    let replaced = Rewrite { table_uuid: "other".to_owned(), ..rewrite(&table, BY_NAME, by_name("x")) };
    let conflict = prepared(&table, &replaced).unwrap_err();
    assert!(matches!(conflict, CommitConflict::TableReplaced { .. }), "{conflict}");
    let branch = Rewrite { branch: "audit".to_owned(), ..rewrite(&table, BY_NAME, by_name("x")) };
    assert_eq!(prepared(&table, &branch).unwrap_err(), CommitConflict::BranchGone("audit".to_owned()));
    let spec = rewrite(&table, 5, by_name("x"));
    assert_eq!(prepared(&table, &spec).unwrap_err(), CommitConflict::SpecGone(5));
}

#[test]
fn c3_a_rewrite_that_loses_or_invents_a_record_is_refused() {
    let table = partitioned();
    for deleted_records in [1, u64::MAX] {
        let rewrite = Rewrite { deleted_records, ..rewrite(&table, BY_NAME, by_name("x")) };
        let error = block_on(prepare_commit(&table, &rewrite)).unwrap_err();
        assert!(error.to_string().contains("C-3"), "{error}");
    }
    let mut twice = rewrite(&table, BY_NAME, by_name("x"));
    twice.removed = vec!["x1".into(), "x1".into()];
    assert!(block_on(prepare_commit(&table, &twice)).unwrap_err().to_string().contains("C-2"));
}

#[test]
fn d5_survivors_of_a_manifest_that_is_written_again_keep_snapshot_and_sequence_numbers() {
    let table = partitioned();
    let after = committed(&table, prepared(&table, &rewrite(&table, BY_NAME, by_name("x"))).unwrap());
    let live = live(&after);
    let survivor = live.data.iter().find(|file| &*file.path == "y1").unwrap();
    assert_eq!((survivor.data_sequence_number, survivor.file_sequence_number), (3, 3));
    let manifests: Vec<_> =
        live.manifests.iter().map(|it| block_on(it.load_manifest(&after.file_io)).unwrap()).collect();
    let entries = manifests.iter().flat_map(|manifest| manifest.entries());
    let of_survivor = entries.filter(|entry| entry.file_path() == "y1").map(|entry| entry.snapshot_id());
    assert_eq!(of_survivor.collect::<Vec<_>>(), [Some(5)]);
}

#[test]
fn d7_totals_go_on_from_the_parents_summary_or_are_counted() {
    let table = partitioned();
    let after = committed(&table, prepared(&table, &rewrite(&table, BY_NAME, by_name("x"))).unwrap());
    let summary = &after.metadata.current_snapshot().unwrap().summary().additional_properties;
    // Three files of 10 records and 100 bytes; two leave, one of 20 records comes.
    let expected = [
        ("added-data-files", "1"),
        ("deleted-data-files", "2"),
        ("added-records", "20"),
        ("deleted-records", "20"),
        ("added-files-size", "100"),
        ("removed-files-size", "200"),
        ("total-data-files", "2"),
        ("total-records", "30"),
        ("total-files-size", "200"),
        ("total-delete-files", "0"),
        ("firn.plan-id", "p"),
    ];
    for (name, value) in expected {
        assert_eq!(summary.get(name).map(String::as_str), Some(value), "{name}");
    }
}

#[test]
fn d8_a_commit_requires_the_table_and_the_head_it_was_validated_on() {
    let table = partitioned();
    let head = head_with(&table, BY_NAME, position(by_name("y"), None));
    let requirements = prepared(&head, &rewrite(&table, BY_NAME, by_name("x"))).unwrap().requirements;
    let expected = [
        TableRequirement::UuidMatch { uuid: table.metadata.uuid() },
        TableRequirement::RefSnapshotIdMatch { r#ref: "main".to_owned(), snapshot_id: Some(NEXT) },
    ];
    assert_eq!(requirements, expected);
}

/// A table whose files `x1`, `x2` (sequence numbers 1, 2) and `deletes` (sequence number 4) are all in the planned snapshot.
fn with_deletes(deletes: iceberg::spec::DataFileBuilder) -> LoadedTable {
    let table = table(2, json!([]));
    let mut writer = manifest(&table, "memory:/base.avro", 0).build_v2_data();
    for (path, sequence_number) in [("x1", 1), ("x2", 2)] {
        writer.add_existing_file(data(path), 5, sequence_number, Some(sequence_number)).unwrap();
    }
    let data = finish(writer, SEQUENCE);
    let mut writer = manifest(&table, "memory:/deletes.avro", 0).build_v2_deletes();
    writer.add_existing_file(deletes.build().unwrap(), 5, 4, Some(4)).unwrap();
    list(&table, [data, finish(writer, SEQUENCE)]);
    table
}

#[test]
fn d4_deletes_leave_with_the_last_file_they_apply_to_and_not_before() {
    for (what, delete) in [
        ("equality", equality(Struct::empty())),
        ("position", position(Struct::empty(), None)),
        ("named", position(Struct::empty(), Some("x1"))),
    ] {
        let table = with_deletes(delete);
        let all = rewrite(&table, 0, Struct::empty());
        assert_eq!(prepared(&table, &all).unwrap().replaced.delete_files, 1, "{what}");
        let kept = Rewrite { remove_dangling_deletes: false, ..all.clone() };
        assert_eq!(prepared(&table, &kept).unwrap().replaced.delete_files, 0, "{what}");
        let mut other = all;
        other.removed = vec!["x2".into()];
        other.deleted_records = 0;
        other.added[0].file = {
            let mut out = file("memory:/t/out.parquet", DataContentType::Data, Struct::empty());
            out.record_count(10).build().unwrap()
        };
        assert_eq!(prepared(&table, &other).unwrap().replaced.delete_files, 0, "{what}");
    }
}

#[test]
fn c7_an_input_whose_rows_got_their_row_ids_after_the_plan_is_a_conflict() {
    let table = table(3, json!([]));
    let manifest_of = |path: &str, first_row_id| {
        let mut writer = manifest(&table, path, 0).build_v3_data();
        for (path, sequence_number) in [("x1", 1), ("x2", 2)] {
            writer.add_existing_file(data(path), 5, sequence_number, Some(sequence_number)).unwrap();
        }
        let mut file = finish(writer, SEQUENCE);
        file.first_row_id = first_row_id;
        file
    };
    // The planned snapshot was made while the table was v2.
    crate::fixture::list_v2(&table, [manifest_of("memory:/base.avro", None)]);
    let head = next(&table, Some(SNAPSHOT), [manifest_of("memory:/head.avro", Some(500))]);
    let conflict = prepared(&head, &rewrite(&table, 0, Struct::empty())).unwrap_err();
    assert_eq!(conflict, CommitConflict::NewRowIds { path: "x1".to_owned() });
}

/// The entry of `y1` as the commit stored it, nothing inherited, and the schema of its manifest.
fn stored_survivor(table: &LoadedTable, tuple: Struct) -> (ManifestEntryRef, SchemaRef) {
    let prepared = prepared(table, &rewrite(table, 0, tuple)).unwrap();
    let TableUpdate::AddSnapshot { snapshot } = &prepared.updates[0] else { panic!("{:?}", prepared.updates) };
    let manifests = block_on(crate::manifest::load_manifest_list(table, snapshot)).unwrap();
    let manifest = manifests.iter().find(|it| it.existing_files_count == Some(1)).unwrap();
    let (entries, schema) = block_on(crate::manifest::load_whole(table, manifest)).unwrap();
    (entries.into_iter().find(|entry| entry.file_path() == "y1").unwrap(), schema)
}

#[test]
fn d5_a_void_field_that_shares_its_columns_name_is_copied_with_all_bounds() {
    // What Java leaves of an identity field that a v1 table dropped.
    let table = table(2, json!([field(2, 1000, "name", "void")]));
    let void = || Struct::from_iter([None]);
    let mut writer = manifest(&table, "memory:/base.avro", 0).build_v2_data();
    for (path, name) in [("x1", "a"), ("x2", "b"), ("y1", "c")] {
        let mut entry = file(path, DataContentType::Data, void());
        entry.lower_bounds([(2, Datum::string(name))].into()).upper_bounds([(2, Datum::string(name))].into());
        writer.add_existing_file(entry.build().unwrap(), 5, 1, Some(1)).unwrap();
    }
    list(&table, [finish(writer, SEQUENCE)]);
    let (survivor, schema) = stored_survivor(&table, void());
    assert_eq!(survivor.data_file().lower_bounds().get(&2), Some(&Datum::string("c")));
    assert_eq!(schema.field_by_id(2).unwrap().name, "name");
}

#[test]
fn d5_a_copied_entry_keeps_the_sequence_numbers_and_snapshot_that_it_inherited() {
    let table = table(2, json!([]));
    let mut writer = manifest_of(&table, "memory:/base.avro", 0, None).build_v2_data();
    for path in ["x1", "x2", "y1"] {
        writer.add_file(file(path, DataContentType::Data, Struct::empty()).build().unwrap(), -1).unwrap();
    }
    let base = ManifestFile { added_snapshot_id: SNAPSHOT, ..finish(writer, SEQUENCE) };
    list(&table, [base]);
    let (survivor, _) = stored_survivor(&table, Struct::empty());
    assert_eq!((survivor.sequence_number(), survivor.file_sequence_number), (Some(SEQUENCE), Some(SEQUENCE)));
    assert_eq!(survivor.snapshot_id(), Some(SNAPSHOT));
}
