//! Preflight of a commit: what the rewriters report against what the plan promised.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use model::{Group, GroupId, Plan};

use crate::finding::{Finding, Findings, Rule};

/// A quarter of the target: a writer that closes files below it on average is broken, whatever its estimates.
const SHRED_DIVISOR: u64 = 4;

/// A data file that a rewrite wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    /// Its location.
    pub path: String,
    /// Its size.
    pub size_bytes: u64,
    /// Its records.
    pub records: u64,
    /// The partition spec of its tuple.
    pub spec_id: i32,
}

/// What the rewrite of one group reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupResult {
    /// The group.
    pub group_id: GroupId,
    /// The files written.
    pub outputs: Vec<OutputFile>,
    /// Records read, before deletes.
    pub records_read: u64,
    /// Records that deletes took out.
    pub records_deleted: u64,
    /// Records written.
    pub records_written: u64,
}

/// What forbids committing `results`, rewrites of groups of `plan`. Groups without a result are not committed.
#[must_use]
pub fn preflight(plan: &Plan, results: &[GroupResult]) -> Vec<Finding> {
    let mut findings = Findings::default();
    let groups: BTreeMap<&GroupId, &Group> = plan.groups.iter().map(|group| (&group.group_id, group)).collect();
    let mut done = BTreeSet::new();
    let mut taken = named(plan);
    for result in results {
        let id = &result.group_id;
        findings.check(Rule::GroupOnce, done.insert(id), || format!("group {id} has two results"));
        let group = groups.get(id);
        findings.check(Rule::PlannedGroup, group.is_some(), || format!("group {id} is not of the plan"));
        if let Some(group) = group {
            findings.check(Rule::RecordsRead, result.records_read == group.input_records, || {
                format!("group {id} read {} records of {}", result.records_read, group.input_records)
            });
            count(plan, group, result, &mut findings);
        }
        balance(result, &mut findings);
        for output in &result.outputs {
            self::output(plan, output, &mut findings);
            let is_new = taken.insert(&output.path);
            findings.check(Rule::NewOutput, is_new, || format!("{} is there already", output.path));
        }
    }
    findings.into_vec()
}

/// Every file that the plan knows to exist.
fn named(plan: &Plan) -> BTreeSet<&str> {
    let inputs = plan.groups.iter().flat_map(|group| group.data_files.iter());
    inputs.chain(plan.skipped.iter().map(|it| &it.path)).map(AsRef::as_ref).collect()
}

fn balance(result: &GroupResult, findings: &mut Findings) {
    let (id, written) = (&result.group_id, result.records_written);
    let left = result.records_read.checked_sub(result.records_deleted);
    findings.check(Rule::RecordsBalance, left == Some(written), || {
        let (read, deleted) = (result.records_read, result.records_deleted);
        format!("group {id} wrote {written} records: {read} read and {deleted} deleted")
    });
    let held = result.outputs.iter().fold(0_u64, |sum, output| sum.saturating_add(output.records));
    findings.check(Rule::RecordsBalance, held == written, || {
        format!("group {id} wrote {written} records, and its outputs hold {held}")
    });
}

fn output(plan: &Plan, output: &OutputFile, findings: &mut Findings) {
    let path = &output.path;
    findings.check(Rule::OutputNotEmpty, output.size_bytes > 0 && output.records > 0, || {
        format!("{path} has {} bytes and {} records", output.size_bytes, output.records)
    });
    findings.check(Rule::OutputSpec, output.spec_id == plan.output_spec_id, || {
        format!("{path} is of spec {}, the plan writes spec {}", output.spec_id, plan.output_spec_id)
    });
}

/// Rows of another spec fan out to as many partitions as they have values for: only rows that stay in theirs can be counted.
fn count(plan: &Plan, group: &Group, result: &GroupResult, findings: &mut Findings) {
    let outputs = result.outputs.len() as u64;
    let bytes = result.outputs.iter().fold(0_u64, |sum, output| sum.saturating_add(output.size_bytes));
    let by_size = bytes / (plan.options.target_file_size_bytes / SHRED_DIVISOR).max(1) + 1;
    let most = by_size.max(group.data_files.len() as u64).max(group.expected_output_files);
    findings.check(Rule::OutputCount, group.spec_id != plan.output_spec_id || outputs <= most, || {
        format!("group {} made {outputs} files of {bytes} bytes, at most {most} are sensible", group.group_id)
    });
}
