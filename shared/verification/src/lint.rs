//! Lint of a plan: by itself, and against the inventory that it was made of.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use model::{DataFile, Group, Inventory, Plan};

use crate::finding::{Finding, Findings, Rule};

/// What is wrong with `plan`; with `inventory`, also whether it is true of those live files.
#[must_use]
pub fn lint_plan(plan: &Plan, inventory: Option<&Inventory>) -> Vec<Finding> {
    let mut findings = Findings::default();
    identity(plan, &mut findings);
    options(plan, &mut findings);
    named_once(plan, &mut findings);
    reasons(plan, &mut findings);
    limits(plan, &mut findings);
    if let Some(inventory) = inventory {
        same_table(plan, inventory, &mut findings);
        files(plan, inventory, &mut findings);
    }
    findings.into_vec()
}

fn identity(plan: &Plan, findings: &mut Findings) {
    let empty = |text: &str| text.trim().is_empty();
    findings.check(Rule::Identity, !empty(&plan.plan_id.0), || "the plan has no id".to_owned());
    findings.check(Rule::Identity, !empty(&plan.table_uuid), || "the plan has no table uuid".to_owned());
    let has_base = plan.base_snapshot_id.is_some() || plan.groups.is_empty();
    findings.check(Rule::Identity, has_base, || "groups without a base snapshot".to_owned());
    let mut seen = BTreeSet::new();
    for group in &plan.groups {
        let id = &group.group_id;
        findings.check(Rule::Identity, !empty(&id.0), || format!("a group of {} has no id", place(group)));
        findings.check(Rule::Identity, seen.insert(id), || format!("group id {id} is there twice"));
    }
}

fn options(plan: &Plan, findings: &mut Findings) {
    let options = &plan.options;
    let (min, target, max) = (options.min_file_size_bytes, options.target_file_size_bytes, options.max_file_size_bytes);
    findings.check(Rule::Options, min < target && target < max, || {
        format!("minimum {min}, target {target}, maximum {max} do not ascend")
    });
    let ratio = options.delete_ratio_threshold;
    findings.check(Rule::Options, ratio > 0.0 && ratio <= 1.0, || {
        format!("delete-ratio-threshold {ratio} is not in (0, 1]")
    });
    let positive = [
        ("min-input-files", options.min_input_files),
        ("max-file-group-size-bytes", options.max_file_group_size_bytes),
        ("max-file-group-input-files", options.max_file_group_input_files),
        ("max-concurrent-file-group-rewrites", u64::from(options.max_concurrent_file_group_rewrites)),
        ("partial-progress.max-commits", u64::from(options.partial_progress_max_commits)),
        ("max-files-to-rewrite", options.max_files_to_rewrite.unwrap_or(1)),
    ];
    for (name, value) in positive {
        findings.check(Rule::Options, value > 0, || format!("{name} is 0"));
    }
    let wanted = options.output_spec_id.unwrap_or(plan.output_spec_id);
    findings.check(Rule::Options, wanted == plan.output_spec_id, || {
        format!("output-spec-id is {wanted}, and the plan writes spec {}", plan.output_spec_id)
    });
    let removes = options.remove_dangling_deletes || plan.dangling_delete_files == 0;
    findings.check(Rule::Options, removes, || {
        "dangling deletes to remove, and remove-dangling-deletes is false".to_owned()
    });
}

fn named_once(plan: &Plan, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    let inputs = plan.groups.iter().flat_map(|group| group.data_files.iter());
    for path in inputs.chain(plan.skipped.iter().map(|it| &it.path)) {
        findings.check(Rule::NamedOnce, seen.insert(path), || format!("{path} is named twice"));
    }
}

fn reasons(plan: &Plan, findings: &mut Findings) {
    for group in &plan.groups {
        let given = !group.reason.trim().is_empty();
        findings.check(Rule::Reason, given, || format!("group {} has no reason", group.group_id));
    }
    for skipped in &plan.skipped {
        findings.check(Rule::Reason, !skipped.reason.trim().is_empty(), || format!("{} has no reason", skipped.path));
    }
}

fn limits(plan: &Plan, findings: &mut Findings) {
    let options = &plan.options;
    for group in &plan.groups {
        let (id, count) = (&group.group_id, group.data_files.len() as u64);
        findings.check(Rule::GroupNotEmpty, count > 0, || format!("group {id} has no inputs"));
        findings.check(Rule::Limits, count <= options.max_file_group_input_files, || {
            format!("group {id} has {count} files, above {}", options.max_file_group_input_files)
        });
        let fits = count <= 1 || group.input_bytes <= options.max_file_group_size_bytes;
        findings.check(Rule::Limits, fits, || {
            format!("group {id} has {} bytes, above {}", group.input_bytes, options.max_file_group_size_bytes)
        });
        let expects = group.expected_output_files > 0 || group.input_records == 0;
        findings.check(Rule::ExpectedFiles, expects, || format!("group {id} has records and expects no output"));
    }
    let planned = plan.groups.iter().fold(0, |sum, group| sum + group.data_files.len() as u64);
    let cap = options.max_files_to_rewrite.unwrap_or(u64::MAX);
    findings
        .check(Rule::Limits, planned <= cap, || format!("{planned} files planned, above max-files-to-rewrite {cap}"));
}

fn same_table(plan: &Plan, inventory: &Inventory, findings: &mut Findings) {
    let mut same = |what: &str, planned: String, found: String| {
        findings.check(Rule::SameTable, planned == found, || {
            format!("{what} is {planned} in the plan and {found} in the table")
        });
    };
    same("the uuid", plan.table_uuid.clone(), inventory.table_uuid.clone());
    same("the branch", plan.branch.clone(), inventory.branch.clone());
    same("the snapshot", format!("{:?}", plan.base_snapshot_id), format!("{:?}", inventory.snapshot_id));
    same("the sequence number", plan.base_sequence_number.to_string(), inventory.sequence_number.to_string());
    same("the schema", plan.schema_id.to_string(), inventory.schema_id.to_string());
    if plan.options.output_spec_id.is_none() {
        same("the output spec", plan.output_spec_id.to_string(), inventory.default_spec_id.to_string());
    }
}

fn files(plan: &Plan, inventory: &Inventory, findings: &mut Findings) {
    let live: BTreeMap<&str, &DataFile> = inventory.data_files.iter().map(|file| (file.path.as_ref(), file)).collect();
    let mut unnamed: BTreeSet<&str> = live.keys().copied().collect();
    for group in &plan.groups {
        let mut inputs = Vec::new();
        for path in &group.data_files {
            unnamed.remove(path.as_ref());
            let file = live.get(path.as_ref());
            findings.check(Rule::Live, file.is_some(), || format!("input {path} is not live"));
            inputs.extend(file.copied());
        }
        self::group(plan, group, &inputs, findings);
    }
    for skipped in &plan.skipped {
        unnamed.remove(skipped.path.as_ref());
        let is_live = live.contains_key(skipped.path.as_ref());
        findings.check(Rule::Live, is_live, || format!("skipped file {} is not live", skipped.path));
    }
    for path in unnamed {
        findings.check(Rule::Accounted, false, || format!("{path} is live and neither planned nor skipped"));
    }
}

fn group(plan: &Plan, group: &Group, inputs: &[&DataFile], findings: &mut Findings) {
    let id = &group.group_id;
    for file in inputs {
        let path = &file.path;
        let at_home = file.partition.spec_id == group.spec_id && file.partition.values == group.partition;
        findings.check(Rule::Partition, at_home, || {
            format!("{path} is of {}, its group {id} of {}", file.partition.key(), place(group))
        });
        findings.check(Rule::Supported, file.unsupported.is_none(), || format!("{path} cannot be rewritten"));
        findings.check(Rule::Filter, file.matches_filter, || format!("{path} is outside the filter"));
    }
    let sum = |of: fn(&DataFile) -> u64| inputs.iter().fold(0_u64, |sum, file| sum.saturating_add(of(file)));
    let (bytes, records) = (sum(|file| file.size_bytes), sum(|file| file.records));
    findings.check(Rule::Totals, (bytes, records) == (group.input_bytes, group.input_records), || {
        let (said_bytes, said_records) = (group.input_bytes, group.input_records);
        format!("group {id} says {said_bytes} bytes, {said_records} records; its inputs have {bytes}, {records}")
    });
    if let [file] = inputs {
        findings.check(Rule::WorthIt, can_improve(plan, file), || format!("{} would come out as it is", file.path));
    }
}

fn can_improve(plan: &Plan, file: &DataFile) -> bool {
    let deletes = &file.deletes;
    deletes.files > 0
        || deletes.file_scoped_records > 0
        || file.records == 0
        || file.size_bytes > plan.options.max_file_size_bytes
        || file.partition.spec_id != plan.output_spec_id
}

fn place(group: &Group) -> String {
    let values: Vec<String> = group.partition.iter().map(|(name, value)| format!("{name}={value}")).collect();
    format!("spec {} [{}]", group.spec_id, values.join(", "))
}
