//! Scans of manifests as different engines leave them.

use std::collections::HashMap;

use futures::executor::block_on;
use iceberg::spec::{DataContentType, DataFileFormat, Datum, Literal, Struct};
use serde_json::json;

use super::*;
use crate::{
    avro::Header,
    fixture::{SNAPSHOT, data, field, fields, file, finish, list, manifest, table, table_of},
};

fn scanned(table: &LoadedTable) -> Result<LiveFiles> {
    block_on(scan(table, Some(SNAPSHOT), None))
}

#[test]
fn a_table_without_snapshots_is_empty_and_an_unknown_snapshot_is_an_error() {
    let table = table(2, json!([]));
    assert!(block_on(scan(&table, None, None)).unwrap().data.is_empty());
    let error = block_on(scan(&table, Some(5), None)).unwrap_err();
    assert!(matches!(&error, Error::Invalid(reason) if reason.contains("db.t") && reason.contains('5')), "{error}");
}

#[test]
fn sequence_numbers_are_inherited_by_added_files_and_kept_by_existing_ones() {
    let table = table(2, json!([]));
    let mut writer = manifest(&table, "memory:/m1.avro", 0).build_v2_data();
    writer.add_file(data("added"), -1).unwrap();
    writer.add_file(data("rewritten"), 3).unwrap();
    writer.add_existing_file(data("existing"), 1, 2, Some(4)).unwrap();
    writer.add_delete_file(data("deleted"), 1, Some(1)).unwrap();
    list(&table, [finish(writer, 6)]);
    let live = scanned(&table).unwrap();
    let found: Vec<_> = live.data.iter().map(|f| (&*f.path, f.data_sequence_number, f.file_sequence_number)).collect();
    assert_eq!(found, [("added", 6, 6), ("rewritten", 3, 6), ("existing", 2, 4)]);
    assert_eq!(live.manifests.len(), 1);
}

#[test]
fn files_of_v1_manifests_have_sequence_number_zero() {
    let table = table(1, json!([]));
    let mut writer = manifest(&table, "memory:/m1.avro", 0).build_v1();
    writer.add_file(data("old"), -1).unwrap();
    list(&table, [finish(writer, 0)]);
    let live = scanned(&table).unwrap();
    assert_eq!((live.data[0].data_sequence_number, live.data[0].file_sequence_number), (0, 0));
}

#[test]
fn row_ids_follow_the_manifest_for_live_files_without_their_own() {
    let table = table(3, json!([]));
    let mut writer = manifest(&table, "memory:/m1.avro", 0).build_v3_data();
    let with_id = file("own", DataContentType::Data, Struct::empty()).first_row_id(Some(7)).build().unwrap();
    writer.add_file(data("a"), -1).unwrap();
    writer.add_delete_file(data("gone"), 1, Some(1)).unwrap();
    writer.add_file(with_id, -1).unwrap();
    writer.add_file(data("b"), -1).unwrap();
    let mut first = finish(writer, 6);
    first.first_row_id = Some(1_000);
    list(&table, [first]);
    let live = scanned(&table).unwrap();
    // Ten records each.
    let ids: Vec<_> = live.data.iter().map(|file| (&*file.path, file.first_row_id)).collect();
    assert_eq!(ids, [("a", Some(1_000)), ("own", Some(7)), ("b", Some(1_010))]);
}

#[test]
fn files_of_one_partition_share_one_tuple() {
    let table = table(2, json!([field(2, 1000, "name", "identity")]));
    let mut writer = manifest(&table, "memory:/m1.avro", 0).build_v2_data();
    for (path, value) in [("a", Some("x")), ("b", None), ("c", Some("x"))] {
        let tuple = Struct::from_iter([value.map(Literal::string)]);
        writer.add_file(file(path, DataContentType::Data, tuple).build().unwrap(), -1).unwrap();
    }
    list(&table, [finish(writer, 6)]);
    let live = scanned(&table).unwrap();
    assert!(Arc::ptr_eq(&live.data[0].partition, &live.data[2].partition));
    assert_eq!(live.data[0].partition.values["name"], "x");
    assert_eq!(live.data[1].partition.values["name"], json!(null));
}

/// Replaces `key` in the header of the manifest at `path`, as an engine with another view of the table writes it.
fn rewrite_header(table: &LoadedTable, path: &str, key: &str, value: &str) {
    let bytes = block_on(table.file_io.new_input(path).unwrap().read()).unwrap();
    let mut header = Header::parse(&bytes).unwrap();
    header.metadata.insert(key.to_owned(), value.as_bytes().to_vec());
    block_on(table.file_io.new_output(path).unwrap().write(header.to_file().into())).unwrap();
}

#[test]
fn a_manifest_whose_source_column_was_dropped_still_reads() {
    let old = json!({"type": "struct", "schema-id": 0, "fields": fields()});
    let new = json!({"type": "struct", "schema-id": 1, "fields": [fields()[0]]});
    let spec = json!([field(2, 1000, "name", "identity"), field(3, 1001, "day_day", "day")]);
    let specs = json!([{"spec-id": 1, "fields": spec}, {"spec-id": 0, "fields": []}]);
    let table = table_of(2, json!([old, new]), specs);
    let mut writer = manifest(&table, "memory:/m1.avro", 1).build_v2_data();
    let tuple = Struct::from_iter([Some(Literal::string("x")), Some(Literal::date(1))]);
    writer.add_file(file("a", DataContentType::Data, tuple).build().unwrap(), -1).unwrap();
    list(&table, [finish(writer, 6)]);
    rewrite_header(
        &table,
        "memory:/m1.avro",
        "schema",
        &serde_json::to_string(table.metadata.current_schema()).unwrap(),
    );
    let live = scanned(&table).unwrap();
    let partition = &live.data[0].partition;
    assert_eq!(partition.spec_id, 1);
    assert_eq!(json!(partition.values), json!({"name": "x", "day_day": "1970-01-02"}));
}

#[test]
fn a_column_named_like_a_partition_field_does_not_hide_the_manifest() {
    let table = table(2, json!([field(2, 1000, "kind", "identity")]));
    let mut writer = manifest(&table, "memory:/m1.avro", 0).build_v2_data();
    let tuple = Struct::from_iter([Some(Literal::string("x"))]);
    writer.add_file(file("a", DataContentType::Data, tuple).build().unwrap(), -1).unwrap();
    list(&table, [finish(writer, 6)]);
    let renamed = serde_json::to_string(table.metadata.current_schema())
        .unwrap()
        .replace("\"id\":1,\"name\":\"id\"", "\"id\":1,\"name\":\"kind\"");
    rewrite_header(&table, "memory:/m1.avro", "schema", &renamed);
    assert_eq!(scanned(&table).unwrap().data[0].partition.values["kind"], "x");
}

#[test]
fn a_manifest_that_contradicts_its_list_is_corrupt() {
    let table = table(2, json!([]));
    let mut writer = manifest(&table, "memory:/m1.avro", 0).build_v2_data();
    writer.add_file(data("a"), -1).unwrap();
    let mut entry = finish(writer, 6);
    entry.content = iceberg::spec::ManifestContentType::Deletes;
    list(&table, [entry]);
    assert!(matches!(scanned(&table), Err(Error::Corrupt { path, .. }) if path == "memory:/m1.avro"));
}

#[test]
fn a_missing_manifest_is_named() {
    let table = table(2, json!([]));
    let mut writer = manifest(&table, "memory:/m1.avro", 0).build_v2_data();
    writer.add_file(data("a"), -1).unwrap();
    list(&table, [finish(writer, 6)]);
    block_on(table.file_io.delete("memory:/m1.avro")).unwrap();
    assert!(matches!(scanned(&table), Err(Error::Read { path, .. }) if path == "memory:/m1.avro"));
}

#[test]
fn an_encrypted_manifest_is_refused() {
    let table = table(2, json!([]));
    let mut writer = manifest(&table, "memory:/m1.avro", 0).build_v2_data();
    writer.add_file(data("a"), -1).unwrap();
    let mut entry = finish(writer, 6);
    entry.key_metadata = Some(vec![1]);
    list(&table, [entry]);
    assert!(matches!(scanned(&table), Err(Error::Invalid(reason)) if reason.contains("encrypted")));
}

/// The deletes of one delete file as a scan sees them, beside the live data file `memory:/data/a.parquet`.
fn scan_delete(version: u8, delete: iceberg::spec::DataFile) -> Result<LiveDeletes> {
    let table = table(version, json!([]));
    let data_manifest = manifest(&table, "memory:/m1.avro", 0);
    let delete_manifest = manifest(&table, "memory:/m2.avro", 0);
    let (mut data_writer, mut deletes) = match version {
        2 => (data_manifest.build_v2_data(), delete_manifest.build_v2_deletes()),
        _ => (data_manifest.build_v3_data(), delete_manifest.build_v3_deletes()),
    };
    data_writer.add_file(data("memory:/data/a.parquet"), -1).unwrap();
    deletes.add_file(delete, -1).unwrap();
    // The data manifest comes last: what a delete names is settled once everything is known.
    list(&table, [finish(deletes, 6), finish(data_writer, 5)]);
    Ok(scanned(&table)?.deletes[0].deletes.clone())
}

fn position_delete(lower: &str, upper: &str) -> iceberg::spec::DataFile {
    let bound = |path: &str| HashMap::from([(2_147_483_546, Datum::string(path))]);
    let mut delete = file("d.parquet", DataContentType::PositionDeletes, Struct::empty());
    delete.lower_bounds(bound(lower)).upper_bounds(bound(upper)).build().unwrap()
}

#[test]
fn equal_path_bounds_name_the_data_file_unless_they_were_cut_short() {
    for (lower, upper, referenced) in [
        ("memory:/data/a.parquet", "memory:/data/a.parquet", Some("memory:/data/a.parquet")),
        ("memory:/data/gone.parquet", "memory:/data/gone.parquet", Some("memory:/data/gone.parquet")),
        ("memory:/data/a.p", "memory:/data/a.p", None),
        ("memory:/data/a.parquet", "memory:/data/b.parquet", None),
    ] {
        let found = scan_delete(2, position_delete(lower, upper)).unwrap();
        assert_eq!(found, LiveDeletes::Position { referenced: referenced.map(Into::into) }, "{lower} {upper}");
    }
}

#[test]
fn a_referenced_data_file_is_taken_as_it_stands() {
    let mut delete = file("d.parquet", DataContentType::PositionDeletes, Struct::empty());
    let delete = delete.referenced_data_file(Some("x".to_owned())).build().unwrap();
    assert_eq!(scan_delete(2, delete).unwrap(), LiveDeletes::Position { referenced: Some("x".into()) });
}

#[test]
fn equality_ids_are_sorted_and_required() {
    let equality = |ids: Option<Vec<i32>>| {
        file("d.parquet", DataContentType::EqualityDeletes, Struct::empty()).equality_ids(ids).build().unwrap()
    };
    let found = scan_delete(2, equality(Some(vec![4, 1]))).unwrap();
    assert_eq!(found, LiveDeletes::Equality { field_ids: vec![1, 4] });
    for broken in [None, Some(Vec::new())] {
        assert!(matches!(scan_delete(2, equality(broken)), Err(Error::Corrupt { path, .. }) if path == "d.parquet"));
    }
}

#[test]
fn a_deletion_vector_needs_its_file_offset_and_size() {
    let vector = |referenced: Option<&str>, offset, size| {
        let mut file = file("d.puffin", DataContentType::PositionDeletes, Struct::empty());
        file.file_format(DataFileFormat::Puffin).referenced_data_file(referenced.map(str::to_owned));
        file.content_offset(offset).content_size_in_bytes(size).build().unwrap()
    };
    let found = scan_delete(3, vector(Some("a"), Some(4), Some(40))).unwrap();
    assert_eq!(found, LiveDeletes::DeletionVector { referenced: "a".into(), offset: 4, size: 40 });
    for broken in [(None, Some(4), Some(40)), (Some("a"), None, Some(40)), (Some("a"), Some(4), Some(-1))] {
        let result = scan_delete(3, vector(broken.0, broken.1, broken.2));
        assert!(matches!(result, Err(Error::Corrupt { path, .. }) if path == "d.puffin"), "{broken:?}");
    }
}

#[test]
fn a_delete_file_of_an_all_void_spec_is_global() {
    let table = table(2, json!([field(2, 1000, "name", "void")]));
    let mut writer = manifest(&table, "memory:/m1.avro", 0).build_v2_deletes();
    let mut delete = file("d", DataContentType::EqualityDeletes, Struct::from_iter([None]));
    writer.add_file(delete.equality_ids(Some(vec![1])).build().unwrap(), -1).unwrap();
    list(&table, [finish(writer, 6)]);
    assert!(scanned(&table).unwrap().deletes[0].global);
}

#[test]
fn a_filter_marks_files_by_their_bounds() {
    let table = table(2, json!([]));
    let mut writer = manifest(&table, "memory:/m1.avro", 0).build_v2_data();
    for (path, low, high) in [("a", 0, 9), ("b", 10, 19)] {
        let bound = |value: i64| HashMap::from([(1, Datum::long(value))]);
        let mut file = file(path, DataContentType::Data, Struct::empty());
        writer.add_file(file.lower_bounds(bound(low)).upper_bounds(bound(high)).build().unwrap(), -1).unwrap();
    }
    list(&table, [finish(writer, 6)]);
    let filter = crate::Filter::parse("id >= 10", table.metadata.current_schema()).unwrap();
    let live = block_on(scan(&table, Some(SNAPSHOT), Some(&filter))).unwrap();
    let marks: Vec<_> = live.data.iter().map(|file| file.matches_filter).collect();
    assert_eq!(marks, [false, true]);
}
