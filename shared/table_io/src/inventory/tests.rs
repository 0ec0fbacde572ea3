//! What planning sees of a table.

use serde_json::json;

use super::*;
use crate::fixture::{SEQUENCE, SNAPSHOT, live_data, live_delete, loaded, partition, table};

fn live(data: Vec<LiveDataFile>, deletes: Vec<LiveDeleteFile>) -> (LiveFiles, DeleteIndex) {
    let deletes: Vec<_> = deletes.into_iter().map(Arc::new).collect();
    let index = DeleteIndex::new(&deletes).unwrap();
    let data = data.into_iter().map(Arc::new).collect();
    (LiveFiles { data, deletes, ..LiveFiles::default() }, index)
}

fn of(table: &LoadedTable, data: Vec<LiveDataFile>, deletes: Vec<LiveDeleteFile>) -> Inventory {
    let (live, index) = live(data, deletes);
    inventory(table, "main", &live, &index).unwrap()
}

fn position() -> LiveDeletes {
    LiveDeletes::Position { referenced: None }
}

#[test]
fn the_head_of_the_branch_and_the_table_are_described() {
    let table = table(2, json!([]));
    let none = partition(0, &[]);
    let deletes = vec![live_delete("d", position(), &none, 6), live_delete("old", position(), &none, 4)];
    let found = of(&table, vec![live_data("f", &none, 5)], deletes);
    assert_eq!((found.snapshot_id, found.sequence_number), (Some(SnapshotId(SNAPSHOT)), SEQUENCE));
    assert_eq!((found.format_version, found.default_spec_id, found.schema_id), (2, 0, 0));
    assert_eq!(found.table_uuid, "9c12d441-03fe-4693-9a96-a0705ddf69c1");
    assert_eq!(found.delete_files, BTreeMap::from([(DeleteKind::Position, 2)]));
    assert_eq!(found.dangling_delete_files, BTreeMap::from([(DeleteKind::Position, 1)]));
    assert_eq!((found.data_files[0].deletes.files, &found.data_files[0].unsupported), (1, &None));
}

#[test]
fn only_a_branch_that_exists_has_an_inventory() {
    let table = table(2, json!([]));
    let (live, index) = live(Vec::new(), Vec::new());
    for (branch, reason) in [("audit", "no branch audit"), ("v1", "v1 of table db.t is a tag")] {
        let error = inventory(&table, branch, &live, &index).unwrap_err();
        assert!(matches!(&error, Error::Invalid(text) if text.contains(reason)), "{error}");
    }
}

#[test]
fn a_table_without_snapshots_has_an_empty_main() {
    let mut metadata = serde_json::to_value(&*table(2, json!([])).metadata).unwrap();
    let removed = ["refs", "snapshots", "current-snapshot-id"].map(|key| metadata.as_object_mut().unwrap().remove(key));
    assert!(removed.iter().all(Option::is_some));
    let found = of(&loaded(metadata), Vec::new(), Vec::new());
    assert_eq!((found.snapshot_id, found.sequence_number), (None, 0));
}

#[test]
fn files_that_no_rewrite_can_take_say_why() {
    let table = table(2, json!([]));
    let none = partition(0, &[]);
    let file = |path: &str, sequence_number| live_data(path, &none, sequence_number);
    let orc = LiveDataFile { format: FileFormat::Orc, ..file("orc", 9) };
    let encrypted = LiveDataFile { encrypted: true, ..file("locked", 9) };
    let avro = LiveDeleteFile { format: FileFormat::Avro, ..live_delete("d.avro", position(), &none, 8) };
    let data = vec![orc, encrypted, file("twice", 9), file("deleted", 7), file("twice", 9), file("fine", 9)];
    let found = of(&table, data, vec![avro]);
    let reasons: Vec<_> = found.data_files.iter().map(|file| file.unsupported.as_deref().unwrap_or("")).collect();
    for (reason, part) in reasons.iter().zip(["Orc", "encrypted", "more than once", "d.avro", "more than once", ""]) {
        assert!(reason.contains(part) && reason.is_empty() == part.is_empty(), "{reason}");
    }
}

#[test]
fn a_deletion_vector_overrules_position_deletes_that_cannot_be_read() {
    let table = table(3, json!([]));
    let none = partition(0, &[]);
    let avro = LiveDeleteFile { format: FileFormat::Avro, ..live_delete("d.avro", position(), &none, 8) };
    let vector = LiveDeletes::DeletionVector { referenced: "f".into(), offset: 4, size: 40 };
    let vector = LiveDeleteFile { format: FileFormat::Puffin, ..live_delete("v", vector, &none, 8) };
    let found = of(&table, vec![live_data("f", &none, 7), live_data("g", &none, 7)], vec![avro, vector]);
    let unsupported: Vec<_> = found.data_files.iter().map(|file| file.unsupported.is_some()).collect();
    assert_eq!(unsupported, [false, true]);
}

#[test]
fn an_encrypted_table_supports_no_rewrite() {
    let mut metadata = serde_json::to_value(&*table(3, json!([])).metadata).unwrap();
    metadata["properties"] = json!({"encryption.key-id": "k"});
    let found = of(&loaded(metadata), vec![live_data("f", &partition(0, &[]), 7)], Vec::new());
    assert!(found.data_files[0].unsupported.as_ref().unwrap().contains("encryption.key-id"));
}

#[test]
fn c8_the_output_ratio_is_the_mean_of_rewrites_that_another_commit_followed() {
    let rewrite =
        |ratio: &str| json!({"operation": "replace", "firn.plan-id": "p", "firn.output-ratio-percent": ratio});
    let append = json!({"operation": "append"});
    let ratio = |summaries: &[&serde_json::Value]| {
        let mut metadata = serde_json::to_value(&*table(2, json!([])).metadata).unwrap();
        let mut snapshots = Vec::new();
        for (at, summary) in summaries.iter().enumerate() {
            let mut snapshot = metadata["snapshots"][0].clone();
            snapshot["snapshot-id"] = json!(at + 1);
            snapshot["summary"] = (*summary).clone();
            if at > 0 {
                snapshot["parent-snapshot-id"] = json!(at);
            }
            snapshots.push(snapshot);
        }
        metadata["snapshots"] = json!(snapshots);
        metadata["current-snapshot-id"] = json!(summaries.len());
        metadata["refs"] = json!({"main": {"snapshot-id": summaries.len(), "type": "branch"}});
        of(&loaded(metadata), Vec::new(), Vec::new()).observed_output_ratio
    };
    let rewrites = [rewrite("80"), rewrite("not a number"), rewrite("91")];
    assert_eq!(ratio(&[&rewrites[0], &rewrites[1], &rewrites[2], &append]), Some(85));
    assert_eq!(ratio(&[&rewrites[0], &append, &rewrites[1], &rewrites[2]]), Some(80));
    assert_eq!(ratio(&[&append, &rewrites[0], &rewrites[2]]), None);
    assert_eq!(ratio(&[&append]), None);
}
