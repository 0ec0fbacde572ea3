//! The evidence of one execution, filled in as things happen.

use std::time::Instant;

use committer::{Counts, Report};
use model::{Evidence, FileCounts, Group, GroupCounts, GroupId, Outcome, Plan, RecordCounts, SnapshotId};
use rewrite_engine::GroupOutput;
use verification::{GroupResult, OutputFile};

use crate::{compact::note, resources};

/// What a second of a function costs: AWS Lambda on arm64 in us-east-1, US dollars per GB-second, as published in 2025.
const USD_PER_GB_SECOND: f64 = 0.000_013_333_4;

/// An evidence in the making.
pub(crate) struct Record {
    pub(crate) evidence: Evidence,
    started: Instant,
    committed: Vec<GroupId>,
}

impl Record {
    pub(crate) fn new(plan: &Plan) -> Self {
        let evidence = Evidence {
            table: plan.table.clone(),
            plan_id: Some(plan.plan_id.clone()),
            outcome: Outcome::NothingToDo,
            base_snapshot_id: plan.base_snapshot_id,
            snapshot_ids: Vec::new(),
            groups: GroupCounts { planned: plan.groups.len() as u64, ..GroupCounts::default() },
            data_files: FileCounts::default(),
            delete_files: model::RemovedFiles::default(),
            records: RecordCounts::default(),
            bytes: model::ByteCounts::default(),
            conflicts: 0,
            retries: 0,
            duration_ms: 0,
            cpu_ms: 0,
            peak_memory_bytes: 0,
            cost_usd: 0.0,
            effect: None,
            reasons: plan.reasons.clone(),
        };
        Self { evidence, started: Instant::now(), committed: Vec::new() }
    }

    pub(crate) fn end(&mut self, outcome: Outcome, reason: impl Into<String>) {
        self.evidence.outcome = outcome;
        self.evidence.reasons.push(reason.into());
    }

    pub(crate) fn fail(&mut self, group: Option<&Group>, reason: &str) {
        self.evidence.reasons.push(reason.to_owned());
        self.evidence.groups.failed.extend(group.map(|group| note(group, reason)));
    }

    pub(crate) fn attempts(&mut self, report: &Report) {
        self.evidence.conflicts += report.conflicts;
        self.evidence.retries += report.retries;
    }

    pub(crate) fn committed(&mut self, snapshot_id: SnapshotId, counts: Counts, groups: &[(&Group, &GroupOutput)]) {
        let evidence = &mut self.evidence;
        evidence.outcome = Outcome::Committed;
        evidence.snapshot_ids.push(snapshot_id);
        evidence.groups.committed += groups.len() as u64;
        evidence.delete_files.removed += counts.removed_delete_files;
        evidence.records.removed += counts.removed_records;
        evidence.records.added += counts.added_records;
        for (group, output) in groups {
            evidence.data_files.removed += group.data_files.len() as u64;
            evidence.data_files.added += output.files.len() as u64;
            evidence.records.deleted += output.records_deleted;
            evidence.bytes.read += output.bytes_read;
            evidence.bytes.written += output.bytes_written;
            evidence.bytes.copied += output.bytes_copied;
            self.committed.push(group.group_id.clone());
        }
    }

    pub(crate) fn committed_groups(&self) -> Vec<GroupId> {
        self.committed.clone()
    }

    /// What the preflight of a commit looks at.
    pub(crate) fn results(groups: &[(&Group, &GroupOutput)]) -> Vec<GroupResult> {
        let output = |written: &table_io::WrittenFile| OutputFile {
            path: written.file.file_path().to_owned(),
            size_bytes: written.file.file_size_in_bytes(),
            records: written.file.record_count(),
            spec_id: written.spec_id,
        };
        let result = |(group, it): &(&Group, &GroupOutput)| GroupResult {
            group_id: group.group_id.clone(),
            outputs: it.files.iter().map(output).collect(),
            records_read: it.records_read,
            records_deleted: it.records_deleted,
            records_written: it.records_written,
        };
        groups.iter().map(result).collect()
    }

    pub(crate) fn finish(self) -> Evidence {
        let mut evidence = self.evidence;
        if !evidence.snapshot_ids.is_empty() && evidence.outcome != Outcome::Unknown {
            evidence.outcome = Outcome::Committed;
        }
        evidence.duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        evidence.cpu_ms = resources::cpu_ms();
        evidence.peak_memory_bytes = resources::peak_memory_bytes();
        #[allow(clippy::cast_precision_loss, reason = "an estimate in dollars")]
        let gb_seconds = evidence.peak_memory_bytes as f64 / 1e9 * evidence.duration_ms as f64 / 1e3;
        evidence.cost_usd = gb_seconds * USD_PER_GB_SECOND;
        evidence
    }
}
