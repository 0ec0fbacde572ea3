//! One execution of one plan: batches of groups, each rewritten and committed, and the effect of it all.

use std::{ops::Range, sync::Arc};

use committer::{Ending, Job, RewrittenGroup};
use indicatif::ProgressBar;
use model::{Effect, Group, Inventory, Outcome, Plan, Verdict, total};
use planner::plan_with;
use ports::{Catalog, LoadedTable};
use rewrite_engine::GroupOutput;
use rewriter::Source;

use super::{
    Stop,
    rewrite::{Fate, rewrite},
};
use crate::{
    evidence::Record,
    failure::{Failure, OUTSIDE, UNFINISHED},
    render,
    session::Session,
};

/// One execution of one plan.
pub(super) struct Run<'a> {
    pub(super) session: &'a Session,
    pub(super) catalog: &'a dyn Catalog,
    pub(super) stop: &'a Stop,
    pub(super) plan: &'a Arc<Plan>,
    /// The live files that were planned.
    pub(super) before: &'a Inventory,
}

/// A batch under way.
struct Batch<'a> {
    number: u32,
    groups: Range<usize>,
    attempt_id: &'a str,
    source: &'a Arc<Source>,
    bar: &'a ProgressBar,
}

/// What a batch means for the ones after it.
#[derive(PartialEq, Eq)]
enum Next {
    GoOn,
    /// A commit failed: `partial-progress.max-failed-commits` says how many may.
    FailedCommit,
    Stop,
}

impl Run<'_> {
    pub(super) async fn execute(&self, table: &LoadedTable, record: &mut Record) {
        let plan = self.plan;
        let has_work = !plan.groups.is_empty() || plan.dangling_delete_files > 0;
        let Some(base) = plan.base_snapshot_id.filter(|_| has_work) else { return };
        match Source::open(table, base.0).await {
            Ok(source) => self.batches(table, &Arc::new(source), record).await,
            Err(error) => record.fail(&error.into()),
        }
        if !record.evidence.snapshot_ids.is_empty() {
            self.check_effect(record).await;
        }
    }

    /// How many commits the groups are cut into.
    fn commits(&self, table: &LoadedTable, record: &mut Record) -> u32 {
        let options = &self.plan.options;
        if !options.partial_progress_enabled {
            return 1;
        }
        if table_io::commit_gives_first_row_ids(table) {
            // The first commit would change the inputs of the others (invariant C-7).
            let reason =
                "one commit without partial progress: the first one after an upgrade to v3 gives rows their ids";
            record.evidence.reasons.push(reason.to_owned());
            return 1;
        }
        options.partial_progress_max_commits.max(1)
    }

    async fn batches(&self, table: &LoadedTable, source: &Arc<Source>, record: &mut Record) {
        let groups = self.plan.groups.len();
        let commits = self.commits(table, record);
        let size = groups.div_ceil(usize::try_from(commits).unwrap_or(1)).max(1);
        let bar = render::progress(self.session, total(self.plan.groups.iter().map(|it| it.input_bytes)));
        let attempt_id = uuid::Uuid::now_v7().simple().to_string();
        let mut failed_commits = 0;
        // A plan without groups is one batch without groups: its commit removes dangling deletes.
        for (number, start) in (0..groups.max(1)).step_by(size).enumerate() {
            let end = (start + size).min(groups);
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            let batch = Batch { number, groups: start..end, attempt_id: &attempt_id, source, bar: &bar };
            let next = self.batch(&batch, record).await;
            failed_commits += u32::from(next == Next::FailedCommit);
            if next == Next::Stop || failed_commits > self.plan.options.partial_progress_max_failed_commits {
                let rest = self.plan.groups.iter().skip(end);
                rest.for_each(|group| record.group_skipped(group, "not tried: the run ended before"));
                break;
            }
        }
        bar.finish_and_clear();
    }

    /// Rewrites one batch and commits what is whole.
    async fn batch(&self, batch: &Batch<'_>, record: &mut Record) -> Next {
        let Batch { source, attempt_id, bar, .. } = batch;
        let fates = rewrite(self.plan, source, batch.groups.clone(), attempt_id, self.stop, bar).await;
        let mut done = Vec::new();
        let mut has_failed = false;
        for (at, fate) in fates {
            let Some(group) = self.plan.groups.get(at) else { continue };
            match fate {
                Fate::Done(output) => {
                    record.read(&output);
                    done.push((group, output));
                }
                Fate::Failed(reason) => {
                    has_failed = true;
                    record.say(&reason);
                    record.group_failed(group, &reason);
                }
                Fate::Stopped => record.group_skipped(group, "stopped before it was done"),
            }
        }
        if self.stop.is_requested() {
            self.discard(source, &done, "stopped on request", record).await;
            record.end(Outcome::Failed, UNFINISHED, "stopped on request; nothing of this batch was committed");
            return Next::Stop;
        }
        if has_failed && !self.plan.options.partial_progress_enabled {
            self.discard(source, &done, "another group failed, and partial progress is off", record).await;
            record.end(Outcome::Failed, UNFINISHED, "a group failed; the table is unchanged");
            return Next::Stop;
        }
        if has_failed && done.is_empty() {
            record.end(Outcome::Failed, UNFINISHED, "every group of a batch failed");
            return Next::GoOn;
        }
        self.commit(batch, &done, record).await
    }

    async fn commit(&self, batch: &Batch<'_>, done: &[(&Group, GroupOutput)], record: &mut Record) -> Next {
        let groups: Vec<RewrittenGroup> = done.iter().map(|(group, output)| rewritten(group, output)).collect();
        let job = Job { plan: self.plan, groups: &groups, batch: batch.number, attempt_id: batch.attempt_id };
        let (outcome, code, reason) = match committer::commit(self.catalog, &local_io::SystemClock, job).await {
            Ok(report) => {
                record.attempts(&report);
                match report.ending {
                    Ending::Committed(committed) => {
                        let groups: Vec<_> = done.iter().map(|(group, output)| (*group, output)).collect();
                        record.committed(&committed, &groups);
                        return Next::GoOn;
                    }
                    Ending::Conflicted { reason } => (Outcome::Conflicted, UNFINISHED, reason),
                    Ending::Unknown { reason } => {
                        let reason = format!("the commit's outcome cannot be told, every file is kept: {reason}");
                        record.end(Outcome::Unknown, OUTSIDE, reason);
                        return Next::Stop;
                    }
                }
            }
            Err(error) => {
                let failure = Failure::from(error);
                (Outcome::Failed, failure.code, failure.message)
            }
        };
        done.iter().for_each(|(group, _)| record.group_skipped(group, &format!("not committed: {reason}")));
        record.end(outcome, code, reason);
        if self.plan.options.partial_progress_enabled { Next::FailedCommit } else { Next::Stop }
    }

    /// Removes outputs that no snapshot will ever name. What cannot be removed is an orphan, and no harm.
    async fn discard(&self, source: &Source, done: &[(&Group, GroupOutput)], reason: &str, record: &mut Record) {
        for (group, output) in done {
            record.group_skipped(group, reason);
            for path in output.files.iter().map(|written| written.file.file_path()) {
                if let Err(error) = source.table().file_io.delete(path).await {
                    record.say(format!("{path} stays as an orphan: {error}"));
                }
            }
        }
    }

    async fn check_effect(&self, record: &mut Record) {
        match self.effect(record).await {
            Ok((effect, reasons)) => {
                if effect.verdict == Verdict::Broken {
                    record.say("the table is not what the plan promised");
                }
                reasons.into_iter().for_each(|reason| record.say(reason));
                record.evidence.effect = Some(effect);
            }
            Err(failure) => record.say(format!("the effect could not be checked: {}", failure.message)),
        }
    }

    async fn effect(&self, record: &Record) -> Result<(Effect, Vec<String>), Failure> {
        let now = self.catalog.load_table(&self.plan.table).await?;
        let after = plan_with(&now, &self.plan.branch, &self.plan.options).await?;
        let is_settled = after.plan.groups.is_empty();
        let groups = record.committed_groups();
        Ok(verification::check_effect(self.plan, self.before, &after.inventory, groups, is_settled))
    }
}

fn rewritten(group: &Group, output: &GroupOutput) -> RewrittenGroup {
    RewrittenGroup {
        group_id: group.group_id.clone(),
        files: output.files.clone(),
        records_read: output.records_read,
        records_deleted: output.records_deleted,
        records_written: output.records_written,
    }
}
