//! The rules by their worked examples, and the fixed point.

use std::{collections::BTreeMap, sync::Arc};

use model::{CompactionOptions, DataFile, DeletesOnFile, FileFormat, Inventory, Partition, SnapshotId, parse_options};
use proptest::prelude::*;

use crate::{expected_output_files, health, plan, plan_id};

const MB: u64 = 1024 * 1024;
const GB: u64 = 1024 * MB;

fn options(pairs: &[(&str, &str)]) -> CompactionOptions {
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    parse_options(&BTreeMap::new(), &pairs).unwrap()
}

fn target(bytes: u64) -> CompactionOptions {
    options(&[("target-file-size-bytes", &bytes.to_string())])
}

fn file(path: &str, size_bytes: u64) -> DataFile {
    DataFile {
        path: path.into(),
        format: FileFormat::Parquet,
        partition: Arc::new(Partition { spec_id: 0, values: BTreeMap::new() }),
        size_bytes,
        records: 1_000,
        data_sequence_number: 1,
        deletes: DeletesOnFile::default(),
        matches_filter: true,
        unsupported: None,
    }
}

fn inventory(data_files: Vec<DataFile>) -> Inventory {
    Inventory {
        table: "db.t".parse().unwrap(),
        table_uuid: "u".to_owned(),
        branch: "main".to_owned(),
        snapshot_id: Some(SnapshotId(7)),
        sequence_number: 3,
        format_version: 2,
        schema_id: 0,
        default_spec_id: 0,
        properties: BTreeMap::new(),
        data_files,
        delete_files: BTreeMap::new(),
        dangling_delete_files: BTreeMap::new(),
        observed_output_ratio: None,
    }
}

fn groups_of(sizes: &[u64], options: &CompactionOptions) -> Vec<(usize, u64)> {
    let files = sizes.iter().enumerate().map(|(at, size)| file(&format!("f{at}"), *size)).collect();
    let plan = plan(&inventory(files), &[0], options).unwrap();
    plan.groups.iter().map(|group| (group.data_files.len(), group.expected_output_files)).collect()
}

#[test]
fn b5_worked_examples_at_512_mb() {
    let options = target(512 * MB);
    let expected = |size: u64| expected_output_files(size * MB, &options);
    assert_eq!([580, 900, 890, 550, 511, 512, 1024, 0].map(expected), [2, 2, 2, 1, 1, 1, 2, 1]);
}

#[test]
fn b5_ten_gigabytes_and_a_bit_make_ten_files() {
    assert_eq!(expected_output_files(10 * GB + GB / 10, &target(GB)), 10);
}

#[test]
fn b5_a_remainder_above_the_minimum_gets_its_own_file() {
    let options = target(100);
    assert_eq!(expected_output_files(275, &options), 3, "75 is no more than m = 75, and 137 is not below 1.1 T");
    assert_eq!(expected_output_files(276, &options), 3);
    assert_eq!(expected_output_files(1_050, &options), 10, "105 each");
}

#[test]
fn three_files_of_120_mb_at_128_mb_are_left_alone() {
    assert_eq!(groups_of(&[120 * MB; 3], &target(128 * MB)), []);
}

#[test]
fn four_files_of_145_mb_at_512_mb_become_two() {
    assert_eq!(groups_of(&[145 * MB; 4], &target(512 * MB)), [(4, 2)], "580 MB are over the target in sum");
}

#[test]
fn a_file_of_900_mb_at_512_mb_is_no_candidate() {
    assert_eq!(groups_of(&[900 * MB], &target(512 * MB)), []);
    assert_eq!(groups_of(&[922 * MB], &target(512 * MB)), [(1, 2)], "1.8 T is 921.6 MB");
}

#[test]
fn b4_an_oversized_file_among_small_ones_is_cut_even_when_their_number_stays() {
    assert_eq!(groups_of(&[950 * MB, 50 * MB], &target(512 * MB)), [(2, 2)], "1000 MB are 512 + 488");
}

#[test]
fn b5_the_tolerance_of_a_tenth_is_exact() {
    // T = 5: 1.1 T is 5.5, so a share of 5 stays and a share of 6 does not; m = 3.
    let options = target(5);
    assert_eq!([11, 12, 13].map(|size| expected_output_files(size, &options)), [2, 3, 3], "11 is 5 + 6, share 5");
}

#[test]
fn absurd_sizes_and_counts_are_planned_without_overflow() {
    let mut files: Vec<_> = (0..6).map(|at| file(&format!("f{at}"), u64::MAX)).collect();
    files.iter_mut().for_each(|file| file.records = u64::MAX);
    let options = options(&[("rewrite-all", "true"), ("max-file-group-size-bytes", &u64::MAX.to_string())]);
    let inventory = inventory(files);
    let plan = plan(&inventory, &[0], &options).unwrap();
    assert_eq!(plan.groups.iter().map(|group| group.data_files.len()).sum::<usize>(), 6);
    assert_eq!(health(&inventory, "m", &options, &plan, "firn.enabled").records, u64::MAX);
}

#[test]
fn b4_fewer_than_min_input_files_wait() {
    assert_eq!(groups_of(&[MB; 4], &target(512 * MB)), []);
    assert_eq!(groups_of(&[MB; 5], &target(512 * MB)), [(5, 1)]);
}

#[test]
fn b1_693_tiny_position_delete_files_make_their_files_candidates() {
    let mut file = file("f", 512 * MB);
    file.deletes = DeletesOnFile { files: 693, file_scoped_records: 693, bytes: 693 };
    file.records = 1_000_000;
    let of = |pairs: &[(&str, &str)]| plan(&inventory(vec![file.clone()]), &[0], &options(pairs)).unwrap().groups.len();
    assert_eq!(of(&[]), 0, "0.07 % of the rows, and Spark's delete-file-threshold is out of reach");
    assert_eq!(of(&[("delete-file-threshold", "100")]), 1);
}

#[test]
fn b1_the_delete_ratio_bypasses_min_input_files() {
    let ratio = |deleted| {
        let mut file = file("f", 512 * MB);
        file.deletes = DeletesOnFile { files: 1, file_scoped_records: deleted, bytes: 1 };
        plan(&inventory(vec![file]), &[0], &options(&[])).unwrap().groups.len()
    };
    assert_eq!((ratio(299), ratio(300)), (0, 1));
}

#[test]
fn b1_a_file_without_rows_is_rewritten_away() {
    let mut empty = file("f", 512 * MB);
    empty.records = 0;
    assert_eq!(plan(&inventory(vec![empty]), &[0], &options(&[])).unwrap().groups.len(), 1);
}

#[test]
fn b3_packing_keeps_the_order_and_the_limits() {
    let files = (0..7).map(|at| file(&format!("f{at}"), 10)).collect();
    let options = options(&[("max-file-group-size-bytes", "30"), ("min-input-files", "2")]);
    let plan = plan(&inventory(files), &[0], &options).unwrap();
    let paths: Vec<Vec<&str>> =
        plan.groups.iter().map(|it| it.data_files.iter().map(AsRef::as_ref).collect()).collect();
    assert_eq!(paths, [["f0", "f1", "f2"], ["f3", "f4", "f5"]]);
    assert_eq!(plan.skipped.len(), 1, "f6 is alone in its group");
}

#[test]
fn b2_partitions_and_specs_never_mix() {
    let mut files: Vec<_> = (0..4).map(|at| file(&format!("f{at}"), 10)).collect();
    files[1].partition = Arc::new(Partition { spec_id: 1, values: BTreeMap::new() });
    files[3].partition = Arc::clone(&files[1].partition);
    let plan = plan(&inventory(files), &[0, 1], &options(&[("min-input-files", "2")])).unwrap();
    assert_eq!(plan.groups.iter().map(|it| (it.spec_id, it.data_files.len())).collect::<Vec<_>>(), [(0, 2), (1, 2)]);
    assert_eq!(plan.output_spec_id, 0);
}

#[test]
fn b7_max_files_to_rewrite_cuts_groups() {
    let files = (0..9).map(|at| file(&format!("f{at}"), 10)).collect();
    let plan = plan(&inventory(files), &[0], &options(&[("max-files-to-rewrite", "6")])).unwrap();
    assert_eq!((plan.groups.len(), plan.groups[0].data_files.len(), plan.skipped.len()), (1, 6, 3));
}

#[test]
fn unsupported_and_filtered_files_are_left_with_their_reason() {
    let mut files: Vec<_> = (0..6).map(|at| file(&format!("f{at}"), 10)).collect();
    files[0].unsupported = Some("avro".to_owned());
    files[1].matches_filter = false;
    let plan = plan(&inventory(files), &[0], &options(&[("rewrite-all", "true")])).unwrap();
    assert_eq!((plan.groups[0].data_files.len(), plan.skipped.len()), (4, 2));
    assert_eq!(plan.skipped[0].reason, "avro");
}

#[test]
fn c8_rewriting_one_clean_file_is_refused_even_by_rewrite_all() {
    let plan = plan(&inventory(vec![file("f", 10)]), &[0], &options(&[("rewrite-all", "true")])).unwrap();
    assert_eq!((plan.groups.len(), plan.skipped.len()), (0, 1));
}

#[test]
fn a_hand_changed_plan_has_another_id() {
    let files = (0..6).map(|at| file(&format!("f{at}"), 10)).collect();
    let mut plan = plan(&inventory(files), &[0], &options(&[])).unwrap();
    assert_eq!(plan_id(&plan), plan.plan_id);
    plan.groups[0].data_files.pop();
    assert_ne!(plan_id(&plan), plan.plan_id);
}

#[test]
fn every_problem_of_the_options_is_reported_at_once() {
    let pairs = [
        ("rewrite-al", "true"),
        ("min-input-files", "many"),
        ("delete-ratio-threshold", "NaN"),
        ("compression-factor", "2"),
    ];
    let pairs: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let errors = parse_options(&BTreeMap::new(), &pairs).unwrap_err();
    assert_eq!(errors.len(), 4, "{errors:?}");
    assert!(errors[0].reason.contains("rewrite-all"), "{errors:?}");
}

#[test]
fn sizes_derive_from_the_table_property() {
    let properties = BTreeMap::from([("write.target-file-size-bytes".to_owned(), "1000".to_owned())]);
    let options = parse_options(&properties, &[]).unwrap();
    assert_eq!((options.min_file_size_bytes, options.max_file_size_bytes), (750, 1_800));
    let broken = BTreeMap::from([("write.target-file-size-bytes".to_owned(), "big".to_owned())]);
    assert_eq!(parse_options(&broken, &[]).unwrap_err()[0].name, "write.target-file-size-bytes");
    let overridden = [("target-file-size-bytes".to_owned(), "1000".to_owned())];
    assert_eq!(parse_options(&broken, &overridden).unwrap().target_file_size_bytes, 1_000);
    assert!(parse_options(&properties, &[("min-file-size-bytes".to_owned(), "1000".to_owned())]).is_err());
}

#[test]
fn health_counts_and_decides() {
    let mut inventory = inventory((0..6).map(|at| file(&format!("f{at}"), 10)).collect());
    let options = options(&[]);
    let decide = |inventory: &Inventory| {
        let plan = plan(inventory, &[0], &options).unwrap();
        health(inventory, "m", &options, &plan, "firn.enabled")
    };
    let advice = decide(&inventory);
    assert_eq!((advice.data_files, advice.small_files, advice.records, advice.eligible_groups), (6, 6, 6_000, 1));
    assert_eq!(advice.decision, model::Decision::Advise);
    inventory.properties.insert("firn.enabled".to_owned(), "true".to_owned());
    assert_eq!(decide(&inventory).decision, model::Decision::Compact);
    inventory.data_files.clear();
    assert_eq!(decide(&inventory).decision, model::Decision::Leave);
}

/// Size, records, delete files, deleted records, partition, data sequence number.
type FileNumbers = (u64, u64, u32, u64, i32, i64);

fn arbitrary_inventory() -> impl Strategy<Value = Inventory> {
    let file = (0_u64..3_000, 0_u64..200, 0_u32..3, 0_u64..200, 0_i32..3, 0_i64..4);
    (proptest::collection::vec(file, 0..40), proptest::option::of(10_u32..300)).prop_map(|(files, ratio)| {
        let build =
            |(at, (size_bytes, records, deletes, deleted, partition, data_sequence_number)): (usize, FileNumbers)| {
                DataFile {
                    size_bytes,
                    records,
                    data_sequence_number,
                    deletes: DeletesOnFile {
                        files: deletes,
                        file_scoped_records: if deletes == 0 { 0 } else { deleted },
                        bytes: 1,
                    },
                    partition: Arc::new(Partition {
                        spec_id: 0,
                        values: BTreeMap::from([("p".to_owned(), partition.into())]),
                    }),
                    ..self::file(&format!("f{at}"), size_bytes)
                }
            };
        Inventory { observed_output_ratio: ratio, ..inventory(files.into_iter().enumerate().map(build).collect()) }
    })
}

fn arbitrary_options() -> impl Strategy<Value = CompactionOptions> {
    (1_u64..8, any::<bool>(), 1_u64..4_000, 1_u64..20).prop_map(|(min_input, all, group_bytes, group_files)| {
        options(&[
            ("target-file-size-bytes", "1000"),
            ("min-input-files", &min_input.to_string()),
            ("rewrite-all", &all.to_string()),
            ("max-file-group-size-bytes", &group_bytes.to_string()),
            ("max-file-group-input-files", &group_files.to_string()),
        ])
    })
}

/// The inventory after the plan was carried out by a writer that closes a file at the target, `percent` of the input's size.
fn carried_out(inventory: &Inventory, plan: &model::Plan, percent: u64) -> Inventory {
    let mut after = inventory.clone();
    for (number, group) in plan.groups.iter().enumerate() {
        after.data_files.retain(|file| !group.data_files.contains(&file.path));
        let goal = plan.options.target_file_size_bytes;
        let mut left = group.input_bytes * percent / 100;
        for part in 0.. {
            let size = left.min(goal);
            let mut output = file(&format!("g{number}-firn{goal}-{part:05}.parquet"), size);
            output.partition = Arc::new(Partition { spec_id: 0, values: group.partition.clone() });
            output.data_sequence_number = inventory.sequence_number;
            after.data_files.push(output);
            left -= size;
            if left == 0 {
                break;
            }
        }
    }
    after
}

proptest! {
    #[test]
    fn every_file_is_in_one_group_or_skipped(inventory in arbitrary_inventory(), options in arbitrary_options()) {
        let plan = plan(&inventory, &[0], &options).unwrap();
        let mut seen: Vec<_> = plan.groups.iter().flat_map(|it| it.data_files.clone()).collect();
        seen.extend(plan.skipped.iter().map(|it| Arc::clone(&it.path)));
        seen.sort();
        let mut all: Vec<_> = inventory.data_files.iter().map(|it| Arc::clone(&it.path)).collect();
        all.sort();
        prop_assert_eq!(seen, all);
        for group in &plan.groups {
            prop_assert!(group.data_files.len() == 1 || group.input_bytes <= options.max_file_group_size_bytes);
            prop_assert!(group.data_files.len() as u64 <= options.max_file_group_input_files);
        }
    }

    #[test]
    fn c8_planning_after_the_plan_was_carried_out_finds_nothing(
        inventory in arbitrary_inventory(), options in arbitrary_options(), percent in 20_u64..300,
    ) {
        let first = plan(&inventory, &[0], &options).unwrap();
        let after = carried_out(&inventory, &first, percent);
        let second = plan(&after, &[0], &options).unwrap();
        prop_assert!(second.groups.is_empty(), "{:?}", second.groups);
    }

    #[test]
    fn the_plan_does_not_depend_on_the_order_of_the_manifests(
        (inventory, shuffled) in arbitrary_inventory().prop_flat_map(|inventory| {
            let files = Just(inventory.data_files.clone()).prop_shuffle();
            (Just(inventory), files)
        }),
        options in arbitrary_options(),
    ) {
        let listed = plan(&inventory, &[0], &options).unwrap();
        let other = plan(&Inventory { data_files: shuffled, ..inventory }, &[0], &options).unwrap();
        prop_assert_eq!(listed.plan_id, other.plan_id);
        prop_assert_eq!(listed.groups, other.groups);
    }
}
