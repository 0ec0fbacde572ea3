//! Names and numbers of a commit, all of them functions of what is committed.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use model::{Group, Plan, SnapshotId};
use sha2::{Digest, Sha256};
use table_io::Rewrite;
use verification::{GroupResult, OutputFile};

use crate::{Job, RewrittenGroup};

/// The id of the snapshot that commit number `batch` of `plan` makes: the same however often it is tried, so that a lost
/// answer can be settled by looking for it. Positive, as every engine's ids are.
#[must_use]
pub fn snapshot_id(plan: &Plan, batch: u32) -> SnapshotId {
    let hash = Sha256::new()
        .chain_update(b"firn-snapshot\0")
        .chain_update(plan.plan_id.0.as_bytes())
        .chain_update(batch.to_be_bytes())
        .finalize();
    let bytes = hash.iter().take(8).fold(0_i64, |id, byte| (id << 8) | i64::from(*byte));
    SnapshotId((bytes & i64::MAX).max(1))
}

/// The groups as the preflight wants them.
pub(crate) fn results(groups: &[RewrittenGroup]) -> Vec<GroupResult> {
    let output = |it: &table_io::WrittenFile| OutputFile {
        path: it.file.file_path().to_owned(),
        size_bytes: it.file.file_size_in_bytes(),
        records: it.file.record_count(),
        spec_id: it.spec_id,
    };
    let result = |group: &RewrittenGroup| GroupResult {
        group_id: group.group_id.clone(),
        outputs: group.files.iter().map(output).collect(),
        records_read: group.records_read,
        records_deleted: group.records_deleted,
        records_written: group.records_written,
    };
    groups.iter().map(result).collect()
}

/// What the attempt `attempt_id` of `job` asks of the table, at `now_ms`.
pub(crate) fn rewrite(job: Job<'_>, attempt_id: String, now_ms: i64) -> Rewrite {
    let (plan, groups) = (job.plan, planned(job));
    Rewrite {
        plan_id: plan.plan_id.0.clone(),
        table_uuid: plan.table_uuid.clone(),
        branch: plan.branch.clone(),
        base_snapshot_id: plan.base_snapshot_id.map_or(-1, |id| id.0),
        base_sequence_number: plan.base_sequence_number,
        use_starting_sequence_number: plan.options.use_starting_sequence_number,
        snapshot_id: snapshot_id(plan, job.batch).0,
        attempt_id,
        now_ms,
        removed: groups.iter().flat_map(|group| group.data_files.iter().map(Arc::clone)).collect(),
        added: job.groups.iter().flat_map(|group| group.files.iter().cloned()).collect(),
        deleted_records: job.groups.iter().fold(0, |sum, group| sum.saturating_add(group.records_deleted)),
        remove_dangling_deletes: plan.options.remove_dangling_deletes,
        summary: summary(job, &groups),
    }
}

fn planned<'a>(job: Job<'a>) -> Vec<&'a Group> {
    let wanted: BTreeSet<&str> = job.groups.iter().map(|group| group.group_id.0.as_str()).collect();
    job.plan.groups.iter().filter(|group| wanted.contains(group.group_id.0.as_str())).collect()
}

fn summary(job: Job<'_>, groups: &[&Group]) -> BTreeMap<String, String> {
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut summary = BTreeMap::from([
        ("firn.version".to_owned(), version.clone()),
        ("engine-name".to_owned(), "firn".to_owned()),
        ("engine-version".to_owned(), version),
    ]);
    if let Some(percent) = output_ratio_percent(job.groups, groups) {
        summary.insert("firn.output-ratio-percent".to_owned(), percent.to_string());
    }
    summary
}

/// Output bytes per 100 input bytes of the rows that stayed: what the next plan may expect of files without deletes.
fn output_ratio_percent(done: &[RewrittenGroup], groups: &[&Group]) -> Option<u64> {
    let files = done.iter().flat_map(|group| &group.files);
    let output_bytes: u128 = files.map(|it| u128::from(it.file.file_size_in_bytes())).sum();
    let input_bytes: u128 = groups.iter().map(|group| u128::from(group.input_bytes)).sum();
    let read: u128 = done.iter().map(|group| u128::from(group.records_read)).sum();
    let written: u128 = done.iter().map(|group| u128::from(group.records_written)).sum();
    let base = input_bytes.checked_mul(written).filter(|base| *base > 0)?;
    u64::try_from(output_bytes.checked_mul(read)?.checked_mul(100)?.checked_div(base)?).ok()
}
