//! The scope of deletes, rule by rule.

use model::Partition;
use serde_json::json;

use super::*;
use crate::fixture::{live_data, live_delete, partition};

fn position(referenced: Option<&str>) -> LiveDeletes {
    LiveDeletes::Position { referenced: referenced.map(Into::into) }
}

fn equality() -> LiveDeletes {
    LiveDeletes::Equality { field_ids: vec![1] }
}

fn vector(referenced: &str) -> LiveDeletes {
    LiveDeletes::DeletionVector { referenced: referenced.into(), offset: 4, size: 40 }
}

fn index(deletes: impl IntoIterator<Item = LiveDeleteFile>) -> DeleteIndex {
    DeleteIndex::new(&deletes.into_iter().map(Arc::new).collect::<Vec<_>>()).unwrap()
}

/// Paths of the deletes that apply; checks that the counts agree.
fn applied(index: &DeleteIndex, file: &LiveDataFile) -> Vec<String> {
    let found = index.for_data_file(file);
    let all = found.deletion_vector.iter().chain(&found.positions).chain(&found.equalities);
    let mut paths: Vec<_> = all.map(|delete| delete.path.to_string()).collect();
    assert_eq!(index.count_for_data_file(file).files as usize, paths.len());
    paths.sort();
    paths
}

fn dangling(index: &DeleteIndex, data: &[LiveDataFile]) -> Vec<String> {
    let data: Vec<_> = data.iter().cloned().map(Arc::new).collect();
    let mut paths: Vec<_> = index.dangling(&data).iter().map(|delete| delete.path.to_string()).collect();
    paths.sort();
    paths
}

fn day(spec_id: i32, day: &str) -> Arc<Partition> {
    partition(spec_id, &[("day", json!(day))])
}

#[test]
fn a_position_delete_reaches_its_partition_up_to_its_own_sequence_number() {
    let index = index([
        live_delete("old", position(None), &day(0, "a"), 4),
        live_delete("same", position(None), &day(0, "a"), 5),
        live_delete("new", position(None), &day(0, "a"), 6),
        live_delete("elsewhere", position(None), &day(0, "b"), 6),
        live_delete("other spec", position(None), &day(1, "a"), 6),
    ]);
    assert_eq!(applied(&index, &live_data("f", &day(0, "a"), 5)), ["new", "same"]);
}

#[test]
fn a_position_delete_of_an_unpartitioned_spec_stays_within_that_spec() {
    let index = index([live_delete("d", position(None), &partition(0, &[]), 9)]);
    assert_eq!(applied(&index, &live_data("f", &partition(0, &[]), 5)), ["d"]);
    assert!(applied(&index, &live_data("f", &partition(1, &[]), 5)).is_empty());
    assert!(applied(&index, &live_data("f", &day(1, "a"), 5)).is_empty());
}

#[test]
fn a_position_delete_that_names_a_file_reaches_that_file_alone_in_its_partition() {
    let index = index([live_delete("d", position(Some("f")), &day(0, "a"), 5)]);
    assert_eq!(applied(&index, &live_data("f", &day(0, "a"), 5)), ["d"]);
    assert!(applied(&index, &live_data("g", &day(0, "a"), 5)).is_empty());
    assert!(applied(&index, &live_data("f", &day(0, "b"), 5)).is_empty());
    assert!(applied(&index, &live_data("f", &day(0, "a"), 6)).is_empty());
}

#[test]
fn an_equality_delete_reaches_strictly_older_files() {
    let index = index([
        live_delete("below", equality(), &day(0, "a"), 4),
        live_delete("same", equality(), &day(0, "a"), 5),
        live_delete("above", equality(), &day(0, "a"), 6),
        live_delete("elsewhere", equality(), &day(0, "b"), 6),
    ]);
    assert_eq!(applied(&index, &live_data("f", &day(0, "a"), 5)), ["above"]);
}

#[test]
fn an_equality_delete_of_an_unpartitioned_spec_reaches_every_spec() {
    let mut void = live_delete("void", equality(), &partition(3, &[("day", json!(null))]), 6);
    void.global = true;
    let index = index([live_delete("none", equality(), &partition(0, &[]), 6), void]);
    assert_eq!(applied(&index, &live_data("f", &day(1, "a"), 5)), ["none", "void"]);
}

#[test]
fn an_equality_delete_in_the_null_partition_is_not_global() {
    let index = index([live_delete("d", equality(), &partition(0, &[("day", json!(null))]), 6)]);
    assert!(applied(&index, &live_data("f", &day(0, "a"), 5)).is_empty());
}

#[test]
fn a_deletion_vector_replaces_the_position_deletes_of_its_file_only() {
    let all = [
        live_delete("v", vector("f"), &day(0, "a"), 6),
        live_delete("p", position(None), &day(0, "a"), 6),
        live_delete("named", position(Some("f")), &day(0, "a"), 6),
        live_delete("e", equality(), &day(0, "a"), 6),
    ];
    let index = index(all);
    assert_eq!(applied(&index, &live_data("f", &day(0, "a"), 5)), ["e", "v"]);
    assert_eq!(applied(&index, &live_data("g", &day(0, "a"), 5)), ["e", "p"]);
    // A file written after the vector is not its file any more.
    assert!(applied(&index, &live_data("f", &day(0, "a"), 7)).is_empty());
}

#[test]
fn two_deletion_vectors_on_one_file_are_corrupt() {
    let all = ["one", "two"].map(|path| Arc::new(live_delete(path, vector("f"), &day(0, "a"), 6)));
    let error = DeleteIndex::new(&all).unwrap_err().to_string();
    assert!(["f", "one", "two"].iter().all(|name| error.contains(name)), "{error}");
}

#[test]
fn counts_tell_the_records_that_name_the_file_and_all_bytes() {
    let index = index([
        live_delete("named", position(Some("f")), &day(0, "a"), 6),
        live_delete("shared", position(None), &day(0, "a"), 6),
        live_delete("e", equality(), &day(0, "a"), 6),
        live_delete("old", equality(), &day(0, "a"), 1),
        live_delete("v", vector("g"), &day(0, "a"), 6),
    ]);
    // Delete files have 5 records and 50 bytes; the vector is 40 bytes of its Puffin file.
    let counts = index.count_for_data_file(&live_data("f", &day(0, "a"), 5));
    assert_eq!(counts, DeletesOnFile { files: 3, file_scoped_records: 5, bytes: 150 });
    let counts = index.count_for_data_file(&live_data("g", &day(0, "a"), 5));
    assert_eq!(counts, DeletesOnFile { files: 2, file_scoped_records: 5, bytes: 90 });
}

#[test]
fn deletes_that_reach_no_live_file_dangle() {
    let index = index([
        live_delete("v gone", vector("gone"), &day(0, "a"), 6),
        live_delete("v live", vector("f"), &day(0, "a"), 6),
        live_delete("p gone", position(Some("gone")), &day(0, "a"), 6),
        live_delete("p old", position(None), &day(0, "a"), 4),
        live_delete("p live", position(None), &day(0, "a"), 5),
        live_delete("e same", equality(), &day(0, "a"), 5),
        live_delete("e live", equality(), &day(0, "a"), 6),
        live_delete("e empty partition", equality(), &day(0, "z"), 9),
        live_delete("global same", equality(), &partition(7, &[]), 3),
        live_delete("global live", equality(), &partition(7, &[]), 4),
    ]);
    let data = [live_data("f", &day(0, "a"), 5), live_data("g", &day(1, "a"), 3)];
    assert_eq!(dangling(&index, &data), ["e empty partition", "e same", "global same", "p gone", "p old", "v gone"]);
    assert_eq!(dangling(&index, &[]).len(), 10);
}

#[test]
fn what_dangles_is_what_applies_to_nothing() {
    let days = ["a", "b"].map(|name| day(0, name));
    let mut deletes = Vec::new();
    for sequence_number in 0..4 {
        for (number, partition) in days.iter().chain([&partition(1, &[])]).enumerate() {
            let path = |kind: &str| format!("{kind} {sequence_number} {number}");
            deletes.push(live_delete(&path("p"), position(None), partition, sequence_number));
            deletes.push(live_delete(&path("n"), position(Some("f2a")), partition, sequence_number));
            deletes.push(live_delete(&path("e"), equality(), partition, sequence_number));
        }
    }
    let index = index(deletes.clone());
    let data = [live_data("f2a", &days[0], 2), live_data("f1b", &days[1], 1)];
    let reached: Vec<_> = data.iter().flat_map(|file| applied(&index, file)).collect();
    let unreached = deletes.iter().map(|delete| delete.path.to_string()).filter(|path| !reached.contains(path));
    let mut unreached: Vec<_> = unreached.collect();
    unreached.sort();
    assert_eq!(dangling(&index, &data), unreached);
}

#[test]
fn c8_position_deletes_older_than_an_output_count_for_nothing_on_it() {
    let index = index([live_delete("p", position(None), &day(0, "a"), 7)]);
    // An output of a rewrite keeps the sequence number of the planned snapshot, and was written by a later one.
    let output = LiveDataFile { file_sequence_number: 8, ..live_data("f", &day(0, "a"), 7) };
    assert_eq!(index.count_for_data_file(&output).files, 0);
    let of_another_writer = live_data("f", &day(0, "a"), 7);
    assert_eq!(index.count_for_data_file(&of_another_writer).files, 1);
}
