//! Every rule fires on a plan that breaks it, and none on one that does not.

use model::{GroupId, PlanId, Skipped, SnapshotId};

use super::*;
use crate::samples::{inventory, plan};

/// Rules that `spoil` breaks in a valid plan of a valid inventory.
fn broken_by(spoil: impl Fn(&mut Plan, &mut Inventory)) -> BTreeSet<Rule> {
    let (mut plan, mut inventory) = (plan(), inventory());
    spoil(&mut plan, &mut inventory);
    lint_plan(&plan, Some(&inventory)).into_iter().map(|it| it.rule).collect()
}

#[track_caller]
fn breaks(rule: Rule, spoil: impl Fn(&mut Plan, &mut Inventory)) {
    assert_eq!(broken_by(spoil), BTreeSet::from([rule]));
}

#[test]
fn a_valid_plan_has_no_findings() {
    assert_eq!(lint_plan(&plan(), Some(&inventory())), []);
    assert_eq!(lint_plan(&plan(), None), []);
}

#[test]
fn ids_are_there_and_unique() {
    breaks(Rule::Identity, |plan, _| plan.plan_id = PlanId(String::new()));
    breaks(Rule::Identity, |plan, inventory| {
        plan.table_uuid.clear();
        inventory.table_uuid.clear();
    });
    breaks(Rule::Identity, |plan, _| plan.groups[0].group_id = GroupId(" ".to_owned()));
    breaks(Rule::Identity, |plan, _| plan.groups[1].group_id = plan.groups[0].group_id.clone());
    breaks(Rule::Identity, |plan, inventory| {
        plan.base_snapshot_id = None;
        inventory.snapshot_id = None;
    });
}

#[test]
fn options_do_not_contradict_each_other() {
    breaks(Rule::Options, |plan, _| plan.options.min_file_size_bytes = 1_000);
    breaks(Rule::Options, |plan, _| plan.options.max_file_size_bytes = 1_000);
    breaks(Rule::Options, |plan, _| plan.options.delete_ratio_threshold = f64::NAN);
    breaks(Rule::Options, |plan, _| plan.options.delete_ratio_threshold = 0.0);
    breaks(Rule::Options, |plan, _| plan.options.min_input_files = 0);
    breaks(Rule::Options, |plan, _| plan.options.output_spec_id = Some(9));
    breaks(Rule::Options, |plan, _| {
        plan.options.remove_dangling_deletes = false;
        plan.dangling_delete_files = 1;
    });
}

#[test]
fn no_file_is_named_twice() {
    breaks(Rule::NamedOnce, |plan, _| plan.skipped.push(plan.skipped[0].clone()));
    breaks(Rule::NamedOnce, |plan, _| plan.skipped.push(Skipped { path: "a1".into(), reason: "both".to_owned() }));
    breaks(Rule::NamedOnce, |plan, _| {
        let group = &mut plan.groups[0];
        group.data_files.push("a1".into());
        group.input_bytes += 100;
        group.input_records += 10;
    });
    assert!(broken_by(|plan, _| plan.groups[1].data_files.push("a1".into())).contains(&Rule::NamedOnce));
}

#[test]
fn groups_have_inputs_and_keep_to_their_limits() {
    assert!(broken_by(|plan, _| plan.groups[0].data_files.clear()).contains(&Rule::GroupNotEmpty));
    breaks(Rule::Limits, |plan, _| plan.options.max_file_group_input_files = 2);
    breaks(Rule::Limits, |plan, _| plan.options.max_file_group_size_bytes = 299);
    breaks(Rule::Limits, |plan, _| plan.options.max_files_to_rewrite = Some(3));
    // A file above the limit is a group of its own.
    assert!(broken_by(|plan, _| plan.options.max_file_group_size_bytes = 300).is_empty());
}

#[test]
fn records_make_files() {
    breaks(Rule::ExpectedFiles, |plan, _| plan.groups[0].expected_output_files = 0);
}

#[test]
fn everything_has_a_reason() {
    breaks(Rule::Reason, |plan, _| plan.groups[0].reason.clear());
    breaks(Rule::Reason, |plan, _| plan.skipped[0].reason = " ".to_owned());
}

#[test]
fn the_plan_is_of_this_table_and_snapshot() {
    breaks(Rule::SameTable, |_, inventory| inventory.table_uuid = "another".to_owned());
    breaks(Rule::SameTable, |_, inventory| inventory.branch = "audit".to_owned());
    breaks(Rule::SameTable, |_, inventory| inventory.snapshot_id = Some(SnapshotId(41)));
    breaks(Rule::SameTable, |_, inventory| inventory.sequence_number = 5);
    breaks(Rule::SameTable, |_, inventory| inventory.schema_id = 1);
    breaks(Rule::SameTable, |_, inventory| inventory.default_spec_id = 1);
}

#[test]
fn files_are_live_and_live_files_are_accounted_for() {
    assert!(broken_by(|_, inventory| drop(inventory.data_files.remove(0))).contains(&Rule::Live));
    breaks(Rule::Live, |_, inventory| drop(inventory.data_files.pop()));
    breaks(Rule::Accounted, |plan, _| plan.skipped.clear());
}

#[test]
fn inputs_are_of_their_group_s_partition() {
    breaks(Rule::Partition, |plan, _| plan.groups[0].partition = plan.groups[1].partition.clone());
    breaks(Rule::Partition, |plan, _| plan.groups[0].spec_id = 1);
}

#[test]
fn totals_are_sums() {
    breaks(Rule::Totals, |plan, _| plan.groups[0].input_bytes += 1);
    breaks(Rule::Totals, |plan, _| plan.groups[0].input_records -= 1);
}

#[test]
fn inputs_can_be_rewritten_and_are_asked_for() {
    breaks(Rule::Supported, |_, inventory| inventory.data_files[0].unsupported = Some("orc".to_owned()));
    breaks(Rule::Filter, |_, inventory| inventory.data_files[0].matches_filter = false);
}

#[test]
fn one_clean_file_is_no_group() {
    breaks(Rule::WorthIt, |_, inventory| inventory.data_files[3].deletes = model::DeletesOnFile::default());
}
