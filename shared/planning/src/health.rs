//! What a table looks like now, and whether a plan with these options would find work.

use std::collections::BTreeMap;

use model::{CompactionOptions, DataFile, Decision, DeleteKind, Inventory, PartitionHealth, Plan, TableHealth, total};

/// The health of `inventory`, judged by `plan`, the plan that these `options` give. `opt_in_property` is the table property that
/// lets Firn work on its own.
#[must_use]
pub fn health(
    inventory: &Inventory,
    metadata_location: &str,
    options: &CompactionOptions,
    plan: &Plan,
    opt_in_property: &str,
) -> TableHealth {
    let is_small = |file: &&DataFile| file.size_bytes < options.min_file_size_bytes;
    let files = &inventory.data_files;
    let records = total(files.iter().map(|file| file.records));
    let bytes = total(files.iter().map(|file| file.size_bytes));
    let opted_in = inventory.properties.get(opt_in_property).is_some_and(|it| it.eq_ignore_ascii_case("true"));
    let has_work = !plan.groups.is_empty() || plan.dangling_delete_files > 0;
    let deletes = |kind| inventory.delete_files.get(&kind).copied().unwrap_or(0);
    TableHealth {
        table: inventory.table.clone(),
        metadata_location: metadata_location.to_owned(),
        snapshot_id: inventory.snapshot_id,
        format_version: inventory.format_version,
        data_files: len(files.len()),
        small_files: len(files.iter().filter(is_small).count()),
        avg_file_mb: ratio(bytes, len(files.len())) / 1e6,
        records,
        position_delete_files: deletes(DeleteKind::Position),
        equality_delete_files: deletes(DeleteKind::Equality),
        deletion_vectors: deletes(DeleteKind::DeletionVector),
        delete_ratio: delete_ratio(files.iter()),
        eligible_groups: len(plan.groups.len()),
        opted_in,
        decision: match (has_work, opted_in) {
            (false, _) => Decision::Leave,
            (true, true) => Decision::Compact,
            (true, false) => Decision::Advise,
        },
        reasons: reasons(plan, has_work, opted_in, opt_in_property),
        partitions: partitions(files, options),
    }
}

fn reasons(plan: &Plan, has_work: bool, opted_in: bool, opt_in_property: &str) -> Vec<String> {
    let mut reasons = plan.reasons.clone();
    if !plan.groups.is_empty() {
        let inputs: usize = plan.groups.iter().map(|group| group.data_files.len()).sum();
        let outputs = total(plan.groups.iter().map(|group| group.expected_output_files));
        reasons.push(format!("{inputs} data files in {} groups would become about {outputs}", plan.groups.len()));
    }
    if has_work && !opted_in {
        reasons
            .push(format!("table property {opt_in_property} is not true: Firn advises and changes nothing on its own"));
    }
    reasons
}

fn partitions(files: &[DataFile], options: &CompactionOptions) -> Vec<PartitionHealth> {
    let mut by_key: BTreeMap<String, Vec<&DataFile>> = BTreeMap::new();
    for file in files {
        by_key.entry(file.partition.key()).or_default().push(file);
    }
    by_key.into_values().filter_map(|files| partition(&files, options)).collect()
}

fn partition(files: &[&DataFile], options: &CompactionOptions) -> Option<PartitionHealth> {
    let first = files.first()?;
    Some(PartitionHealth {
        spec_id: first.partition.spec_id,
        partition: first.partition.values.clone(),
        data_files: len(files.len()),
        small_files: len(files.iter().filter(|file| file.size_bytes < options.min_file_size_bytes).count()),
        bytes: total(files.iter().map(|file| file.size_bytes)),
        delete_files: total(files.iter().map(|file| u64::from(file.deletes.files))),
        delete_ratio: delete_ratio(files.iter().copied()),
    })
}

fn delete_ratio<'a>(files: impl Iterator<Item = &'a DataFile>) -> f64 {
    let (mut deleted, mut records) = (0_u64, 0_u64);
    for file in files {
        deleted = total([deleted, file.deletes.file_scoped_records.min(file.records)]);
        records = total([records, file.records]);
    }
    ratio(deleted, records)
}

#[allow(clippy::cast_precision_loss, reason = "a figure for people")]
fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn len(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
