//! `firn compact`: plan, rewrite, validate, commit, check the effect.

use std::{collections::BTreeMap, path::Path, sync::Arc, time::Duration};

use committer::{Batch, Outcome as CommitOutcome};
use model::{Effect, GroupNote, Inventory, Outcome, Plan, Verdict};
use planner::{Planned, plan_table, plan_with};
use ports::{Catalog, Clock, JobLog, LoadedTable};
use rewrite_engine::{Control, GroupOutput, Limits};
use rewriter::Source;

use crate::{
    args::Compact,
    evidence::Record,
    failure::{Failure, chain},
    render,
    session::{Session, name},
};

/// Plans made afresh after a conflict, at most.
const REPLANS_MAX: u32 = 3;

pub(crate) async fn compact(session: &Session, args: &Compact) -> Result<u8, Failure> {
    let control = Arc::new(Control::default());
    let on_interrupt = Arc::clone(&control);
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            on_interrupt.stop();
        }
    });
    let mut replans = if args.replan { REPLANS_MAX } else { 0 };
    let catalog = session.catalog()?;
    let mut table = catalog.load_table(&name(&args.table)?).await?;
    let mut plan = match &args.plan {
        Some(file) => saved_plan(file, &table)?,
        None => plan_table(&table, args.options.branch(), &args.options.pairs()?).await?.plan,
    };
    loop {
        let run = Run { session, catalog: Arc::clone(&catalog), control: Arc::clone(&control), plan: Arc::new(plan) };
        let evidence = run.execute(&table).await.finish();
        if evidence.outcome == Outcome::Conflicted && evidence.snapshot_ids.is_empty() && replans > 0 {
            replans -= 1;
            table = catalog.load_table(&run.plan.table).await?;
            plan = plan_with(&table, &run.plan.branch, &run.plan.options).await?.plan;
            continue;
        }
        if let Err(error) = Session::job_log().append(local_io::SystemClock.now_ms(), &evidence).await {
            Failure::outside(&error).report();
        }
        render::evidence(session, &evidence)?;
        return Ok(exit_code(evidence.outcome, !evidence.groups.failed.is_empty()));
    }
}

fn exit_code(outcome: Outcome, has_failed_groups: bool) -> u8 {
    match outcome {
        Outcome::Committed | Outcome::NothingToDo if !has_failed_groups => 0,
        Outcome::Refused => 3,
        Outcome::Unknown => 5,
        _ => 4,
    }
}

fn saved_plan(file: &Path, table: &LoadedTable) -> Result<Plan, Failure> {
    let text =
        std::fs::read_to_string(file).map_err(|error| Failure::usage(format!("--plan {}: {error}", file.display())))?;
    let plan: Plan = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("--plan {}: no saved plan: {error}", file.display())))?;
    if planning::plan_id(&plan) != plan.plan_id {
        return Err(Failure::refused(format!(
            "--plan {}: the plan was changed after it was made; plan again",
            file.display()
        )));
    }
    if plan.table != table.name {
        return Err(Failure::usage(format!(
            "--plan {}: it is a plan for {}, not {}",
            file.display(),
            plan.table,
            table.name
        )));
    }
    Ok(plan)
}

/// One execution of one plan.
struct Run<'a> {
    session: &'a Session,
    catalog: Arc<dyn Catalog>,
    control: Arc<Control>,
    plan: Arc<Plan>,
}

type GroupResult = Result<GroupOutput, String>;

impl Run<'_> {
    async fn execute(&self, table: &LoadedTable) -> Record {
        let plan = &self.plan;
        let mut record = Record::new(plan);
        if table.metadata.uuid().to_string() != plan.table_uuid {
            record.end(Outcome::Conflicted, "the table was replaced: its uuid is not the planned one");
            return record;
        }
        let findings = verification::lint_plan(plan, None);
        if !findings.is_empty() {
            let text: Vec<String> = findings.iter().map(ToString::to_string).collect();
            record.end(Outcome::Refused, format!("the plan breaks a rule: {}", text.join("; ")));
            return record;
        }
        let Some(base) = plan.base_snapshot_id.filter(|_| !plan.groups.is_empty() || plan.dangling_delete_files > 0)
        else {
            record.end(Outcome::NothingToDo, "nothing to do");
            return record;
        };
        let attempt_id = uuid::Uuid::now_v7().simple().to_string();
        match Source::open(table, base.0).await {
            Ok(source) => self.batches(Arc::new(source), &attempt_id, &mut record).await,
            Err(error @ rewriter::Error::BaseExpired(_)) => record.end(Outcome::Conflicted, chain(&error)),
            Err(error) => record.end(Outcome::Failed, chain(&error)),
        }
        if !record.evidence.snapshot_ids.is_empty() {
            self.check_effect(table, &mut record).await;
        }
        record
    }

    async fn batches(&self, source: Arc<Source>, attempt_id: &str, record: &mut Record) {
        let groups = self.plan.groups.len();
        let options = &self.plan.options;
        let commits = if options.partial_progress_enabled { options.partial_progress_max_commits } else { 1 };
        let size = groups.div_ceil(usize::try_from(commits).unwrap_or(1).max(1)).max(1);
        let bar = render::progress(self.session, self.plan.groups.iter().map(|it| it.input_bytes).sum());
        let mut failed_commits = 0;
        for (number, start) in (0..groups.max(1)).step_by(size).enumerate() {
            let range = start..(start + size).min(groups);
            let results = self.rewrite(&source, range.clone(), attempt_id, &bar).await;
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            failed_commits +=
                u32::from(!self.commit_batch(&source, range.clone(), results, number, attempt_id, record).await);
            let give_up =
                !options.partial_progress_enabled || failed_commits > options.partial_progress_max_failed_commits;
            if self.control.is_stopped() || (failed_commits > 0 && give_up) {
                self.skip_rest(range.end, record);
                break;
            }
        }
        bar.finish_and_clear();
    }

    fn skip_rest(&self, from: usize, record: &mut Record) {
        let rest = self.plan.groups.iter().skip(from);
        record.evidence.groups.skipped.extend(rest.map(|group| note(group, "an earlier batch was not committed")));
    }

    /// Rewrites groups on blocking threads, `max-concurrent-file-group-rewrites` at a time, but no more than there are cores.
    async fn rewrite(
        &self,
        source: &Arc<Source>,
        range: std::ops::Range<usize>,
        attempt_id: &str,
        bar: &indicatif::ProgressBar,
    ) -> Vec<(usize, GroupResult)> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let wanted = usize::try_from(self.plan.options.max_concurrent_file_group_rewrites).unwrap_or(1);
        let mut pending = range;
        let mut running = tokio::task::JoinSet::new();
        let mut results = Vec::new();
        loop {
            while running.len() < wanted.clamp(1, cores) {
                let Some(at) = pending.next() else { break };
                running.spawn_blocking(self.job(source, at, attempt_id));
            }
            match running.join_next().await {
                None => break,
                Some(Ok((at, result))) => {
                    bar.inc(self.plan.groups.get(at).map_or(0, |group| group.input_bytes));
                    results.push((at, result));
                }
                Some(Err(error)) => results.push((usize::MAX, Err(format!("a rewrite broke off: {error}")))),
            }
        }
        results.sort_by_key(|(at, _)| *at);
        results
    }

    fn job(
        &self,
        source: &Arc<Source>,
        at: usize,
        attempt_id: &str,
    ) -> impl FnOnce() -> (usize, GroupResult) + Send + 'static {
        let (plan, control) = (Arc::clone(&self.plan), Arc::clone(&self.control));
        let (source, attempt_id) = (Arc::clone(source), attempt_id.to_owned());
        move || {
            let Some(group) = plan.groups.get(at) else { return (at, Err("no such group".to_owned())) };
            let result = rewriter::rewrite(&source, &plan, group, &attempt_id, Limits::default(), &control);
            (at, result.map_err(|error| chain(&error)))
        }
    }

    /// Commits what was rewritten of one batch; true when it is in the table (or had nothing to commit).
    async fn commit_batch(
        &self,
        source: &Source,
        range: std::ops::Range<usize>,
        results: Vec<(usize, GroupResult)>,
        number: u32,
        attempt_id: &str,
        record: &mut Record,
    ) -> bool {
        let partial = self.plan.options.partial_progress_enabled;
        let (done, failed): (Vec<_>, Vec<_>) = results.into_iter().partition(|(_, result)| result.is_ok());
        let done: Vec<(usize, GroupOutput)> =
            done.into_iter().filter_map(|(at, it)| it.ok().map(|it| (at, it))).collect();
        for (at, result) in &failed {
            let reason = result.as_ref().err().cloned().unwrap_or_default();
            record.fail(self.plan.groups.get(*at), &reason);
        }
        let stopped = self.control.is_stopped();
        if (!failed.is_empty() && (!partial || done.is_empty())) || stopped {
            self.discard(
                source,
                &done,
                record,
                if stopped { "stopped on request" } else { "another group of the plan failed" },
            )
            .await;
            let why =
                if stopped { "stopped on request; the table is unchanged by this batch" } else { "a group failed" };
            record.end(Outcome::Failed, why);
            return false;
        }
        let groups: Vec<_> =
            done.iter().filter_map(|(at, output)| Some((self.plan.groups.get(*at)?, output))).collect();
        if !range.is_empty() {
            let findings = verification::preflight(&self.plan, &Record::results(&groups));
            if !findings.is_empty() {
                let text: Vec<String> = findings.iter().map(ToString::to_string).collect();
                self.discard(source, &done, record, "the outputs break an invariant").await;
                record.end(Outcome::Failed, format!("the outputs break an invariant: {}", text.join("; ")));
                return false;
            }
        }
        let batch = batch(&groups, number, attempt_id);
        let clock = local_io::SystemClock;
        let committed = committer::commit(&*self.catalog, &self.plan, &batch, || clock.now_ms(), pause).await;
        match committed {
            Ok(report) => {
                record.attempts(&report);
                match report.outcome {
                    CommitOutcome::Committed { snapshot_id, counts } => {
                        record.committed(snapshot_id, counts, &groups);
                        return true;
                    }
                    CommitOutcome::Conflicted { reason } => {
                        self.discard(source, &done, record, &reason).await;
                        record.end(Outcome::Conflicted, reason);
                    }
                    CommitOutcome::Unknown { reason } => {
                        let text = format!("whether the commit happened cannot be told, every file is kept: {reason}");
                        record.end(Outcome::Unknown, text);
                    }
                }
            }
            Err(error) => {
                self.discard(source, &done, record, "the commit failed").await;
                record.end(Outcome::Failed, chain(&error));
            }
        }
        false
    }

    /// Removes outputs that no snapshot will ever name. What cannot be removed is an orphan, and no harm.
    async fn discard(&self, source: &Source, done: &[(usize, GroupOutput)], record: &mut Record, reason: &str) {
        for (at, output) in done {
            if let Some(group) = self.plan.groups.get(*at) {
                record.evidence.groups.skipped.push(note(group, reason));
            }
            for written in &output.files {
                if let Err(error) = source.table().file_io.delete(written.file.file_path()).await {
                    record.evidence.reasons.push(format!("{} stays as an orphan: {error}", written.file.file_path()));
                }
            }
        }
    }

    async fn check_effect(&self, before: &LoadedTable, record: &mut Record) {
        match self.effect(before, &record.committed_groups()).await {
            Ok((effect, reasons)) => {
                if effect.verdict == Verdict::Broken {
                    record.evidence.reasons.push("the table is not what the plan promised".to_owned());
                }
                record.evidence.reasons.extend(reasons);
                record.evidence.effect = Some(effect);
            }
            Err(failure) => record.evidence.reasons.push(format!("the effect could not be checked: {failure:?}")),
        }
    }

    async fn effect(&self, before: &LoadedTable, groups: &[model::GroupId]) -> Result<(Effect, Vec<String>), Failure> {
        let plan = &self.plan;
        let before = plan_with(before, &plan.branch, &plan.options).await?.inventory;
        let now = self.catalog.load_table(&plan.table).await?;
        let Planned { plan: next, inventory: after } = plan_with(&now, &plan.branch, &plan.options).await?;
        Ok(verification::check_effect(plan, &before, &after, groups, !has_work(&next, &after)))
    }
}

fn has_work(next: &Plan, _after: &Inventory) -> bool {
    !next.groups.is_empty()
}

async fn pause(duration: Duration) {
    tokio::time::sleep(duration).await;
}

pub(crate) fn note(group: &model::Group, reason: &str) -> GroupNote {
    GroupNote { group_id: group.group_id.clone(), partition: group.partition.clone(), reason: reason.to_owned() }
}

fn batch(groups: &[(&model::Group, &GroupOutput)], number: u32, attempt_id: &str) -> Batch {
    let (read, written) =
        groups.iter().fold((0, 0), |(read, written), (_, it)| (read + it.bytes_read, written + it.bytes_written));
    let mut summary = BTreeMap::from([
        ("firn.version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
        ("engine-name".to_owned(), "firn".to_owned()),
        ("engine-version".to_owned(), env!("CARGO_PKG_VERSION").to_owned()),
    ]);
    if read > 0 {
        let percent: u64 = written * 100 / read;
        summary.insert("firn.output-ratio-percent".to_owned(), percent.max(1).to_string());
    }
    Batch {
        number,
        attempt_id: attempt_id.to_owned(),
        removed: groups.iter().flat_map(|(group, _)| group.data_files.clone()).collect(),
        added: groups.iter().flat_map(|(_, output)| output.files.clone()).collect(),
        deleted_records: groups.iter().map(|(_, output)| output.records_deleted).sum(),
        summary,
    }
}
