//! The evidence of one run, filled in as things happen.

use std::time::Instant;

use committer::{CommitReport, Committed};
use model::{
    ByteCounts, Evidence, FileCounts, Group, GroupCounts, GroupId, GroupNote, Outcome, Plan, RecordCounts,
    RemovedFiles, TableName,
};
use rewrite_engine::GroupOutput;

use crate::{
    failure::{Failure, REFUSED, UNFINISHED},
    resources,
};

/// What a second of a function costs: AWS Lambda on arm64 in us-east-1, US dollars per GB-second, as published in 2025.
const USD_PER_GB_SECOND: f64 = 0.000_013_333_4;

/// An evidence in the making, with the exit code that goes with it.
pub(crate) struct Record {
    pub(crate) evidence: Evidence,
    code: u8,
    started: Instant,
    committed: Vec<GroupId>,
}

impl Record {
    pub(crate) fn new(table: TableName, started: Instant) -> Self {
        let evidence = Evidence {
            table,
            plan_id: None,
            outcome: Outcome::NothingToDo,
            base_snapshot_id: None,
            snapshot_ids: Vec::new(),
            groups: GroupCounts::default(),
            data_files: FileCounts::default(),
            delete_files: RemovedFiles::default(),
            records: RecordCounts::default(),
            bytes: ByteCounts::default(),
            conflicts: 0,
            retries: 0,
            duration_ms: 0,
            cpu_ms: 0,
            peak_memory_bytes: 0,
            cost_usd: 0.0,
            effect: None,
            reasons: Vec::new(),
        };
        Self { evidence, code: 0, started, committed: Vec::new() }
    }

    /// Starts over with `plan`: an earlier one of this run left nothing in the table.
    pub(crate) fn begin(&mut self, plan: &Plan) {
        self.code = 0;
        let evidence = &mut self.evidence;
        evidence.plan_id = Some(plan.plan_id.clone());
        evidence.outcome = Outcome::NothingToDo;
        evidence.base_snapshot_id = plan.base_snapshot_id;
        evidence.groups = GroupCounts { planned: plan.groups.len() as u64, ..GroupCounts::default() };
        evidence.reasons.extend(plan.reasons.iter().cloned());
    }

    pub(crate) fn end(&mut self, outcome: Outcome, code: u8, reason: impl Into<String>) {
        self.evidence.outcome = outcome;
        self.code = code;
        self.say(reason);
    }

    /// Ends the run as `failure` says.
    pub(crate) fn fail(&mut self, failure: &Failure) {
        let outcome = match failure.code {
            REFUSED => Outcome::Refused,
            UNFINISHED => Outcome::Conflicted,
            _ => Outcome::Failed,
        };
        self.end(outcome, failure.code, failure.message.clone());
    }

    pub(crate) fn say(&mut self, reason: impl Into<String>) {
        let reason = reason.into();
        if !self.evidence.reasons.contains(&reason) {
            self.evidence.reasons.push(reason);
        }
    }

    pub(crate) fn group_failed(&mut self, group: &Group, reason: &str) {
        self.evidence.groups.failed.push(note(group, reason));
    }

    pub(crate) fn group_skipped(&mut self, group: &Group, reason: &str) {
        self.evidence.groups.skipped.push(note(group, reason));
    }

    pub(crate) fn attempts(&mut self, report: &CommitReport) {
        self.evidence.conflicts += report.conflicts;
        self.evidence.retries += report.retries;
        self.evidence.reasons.extend(report.warnings.iter().cloned());
    }

    pub(crate) fn read(&mut self, output: &GroupOutput) {
        self.evidence.bytes.read += output.bytes_read;
        self.evidence.bytes.written += output.bytes_written;
        self.evidence.bytes.copied += output.bytes_copied;
    }

    pub(crate) fn committed(&mut self, committed: &Committed, groups: &[(&Group, &GroupOutput)]) {
        let evidence = &mut self.evidence;
        evidence.snapshot_ids.push(committed.snapshot_id);
        evidence.groups.committed += groups.len() as u64;
        evidence.delete_files.removed += committed.removed_delete_files;
        evidence.records.removed += committed.removed_records;
        evidence.records.added += committed.added_records;
        for (group, output) in groups {
            evidence.data_files.removed += group.data_files.len() as u64;
            evidence.data_files.added += output.files.len() as u64;
            evidence.records.deleted += output.records_deleted;
            self.committed.push(group.group_id.clone());
        }
    }

    pub(crate) fn committed_groups(&self) -> &[GroupId] {
        &self.committed
    }

    /// The finished evidence and the exit code.
    pub(crate) fn finish(mut self) -> (Evidence, u8) {
        let evidence = &mut self.evidence;
        if !evidence.snapshot_ids.is_empty() && evidence.outcome != Outcome::Unknown {
            evidence.outcome = Outcome::Committed;
        }
        if self.code == 0 && !evidence.groups.failed.is_empty() {
            self.code = UNFINISHED;
        }
        evidence.duration_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        evidence.cpu_ms = resources::cpu_ms();
        evidence.peak_memory_bytes = resources::peak_memory_bytes();
        #[allow(clippy::cast_precision_loss, reason = "an estimate in dollars")]
        let gb_seconds = evidence.peak_memory_bytes as f64 / 1e9 * evidence.duration_ms as f64 / 1e3;
        evidence.cost_usd = gb_seconds * USD_PER_GB_SECOND;
        (self.evidence, self.code)
    }
}

fn note(group: &Group, reason: &str) -> GroupNote {
    GroupNote { group_id: group.group_id.clone(), partition: group.partition.clone(), reason: reason.to_owned() }
}
