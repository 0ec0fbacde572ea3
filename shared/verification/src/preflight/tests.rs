//! Every rule fires on results that break it, and none on results that do not.

use super::*;
use crate::samples::{output, plan, results};

#[track_caller]
fn breaks(rule: Rule, spoil: impl Fn(&mut Plan, &mut Vec<GroupResult>)) {
    let (mut plan, mut results) = (plan(), results());
    spoil(&mut plan, &mut results);
    let rules: BTreeSet<Rule> = preflight(&plan, &results).into_iter().map(|it| it.rule).collect();
    assert_eq!(rules, BTreeSet::from([rule]));
}

#[test]
fn valid_results_have_no_findings() {
    assert_eq!(preflight(&plan(), &results()), []);
    assert_eq!(preflight(&plan(), &results()[..1]), []);
    assert_eq!(preflight(&plan(), &[]), []);
}

#[test]
fn a_group_whose_rows_are_all_deleted_has_no_output() {
    let mut results = results();
    results[1] = GroupResult { outputs: Vec::new(), records_deleted: 10, records_written: 0, ..results[1].clone() };
    assert_eq!(preflight(&plan(), &results), []);
}

#[test]
fn only_planned_groups_are_committed_each_once() {
    breaks(Rule::PlannedGroup, |_, results| results[0].group_id = GroupId("other".to_owned()));
    breaks(Rule::GroupOnce, |_, results| {
        let mut again = results[0].clone();
        again.outputs[0].path = "ga-y-firn1000-00000.parquet".to_owned();
        results.push(again);
    });
}

#[test]
fn records_read_are_the_inputs_records() {
    breaks(Rule::RecordsRead, |plan, _| plan.groups[0].input_records += 1);
}

#[test]
fn records_written_are_records_read_less_records_deleted() {
    breaks(Rule::RecordsBalance, |_, results| results[1].records_deleted = 4);
    breaks(Rule::RecordsBalance, |_, results| results[1].records_deleted = 11);
    breaks(Rule::RecordsBalance, |_, results| results[1].outputs[0].records = 4);
    breaks(Rule::RecordsBalance, |_, results| results[0].outputs.clear());
}

#[test]
fn outputs_are_new_files_each_once() {
    breaks(Rule::NewOutput, |_, results| results[0].outputs[0].path = "a1".to_owned());
    breaks(Rule::NewOutput, |_, results| results[0].outputs[0].path = "c1".to_owned());
    breaks(Rule::NewOutput, |_, results| results[0].outputs[0].path = results[1].outputs[0].path.clone());
}

#[test]
fn no_output_is_empty() {
    breaks(Rule::OutputNotEmpty, |_, results| results[0].outputs[0].size_bytes = 0);
    breaks(Rule::OutputNotEmpty, |_, results| results[0].outputs.push(output("ga-x-firn1000-00001.parquet", 9, 0)));
}

#[test]
fn outputs_are_of_the_output_spec() {
    breaks(Rule::OutputSpec, |_, results| results[0].outputs[0].spec_id = 1);
}

fn shredded(results: &mut [GroupResult]) {
    results[0].outputs = (0..6).map(|at| output(&format!("ga-x-firn1000-{at:05}.parquet"), 50, 5)).collect();
}

#[test]
fn a_rewrite_does_not_shred() {
    breaks(Rule::OutputCount, |_, results| shredded(results));
}

#[test]
fn rows_of_another_spec_may_fan_out() {
    let (mut plan, mut results) = (plan(), results());
    shredded(&mut results);
    plan.groups[0].spec_id = 1;
    assert_eq!(preflight(&plan, &results), []);
}
