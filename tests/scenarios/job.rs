//! One job as `firn compact` runs it: plan, rewrite every group, commit.

use committer::{Ending, Job, RewrittenGroup};
use model::{Group, Plan};
use planner::plan_table;
use ports::{Catalog, Clock, LoadedTable};
use rewrite_engine::{Control, GroupOutput, Limits};
use rewriter::Source;

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// With these snapshots.
    Committed(Vec<i64>),
    NothingToDo,
    Conflicted(String),
    Unknown(String),
    Failed(String),
}

impl Outcome {
    /// The reason of a conflict.
    pub(crate) fn conflict(&self) -> &str {
        match self {
            Self::Conflicted(reason) => reason,
            other => panic!("no conflict: {other:?}"),
        }
    }
}

/// A job that ended, with the plan if there was one.
pub(crate) struct Ran {
    pub(crate) plan: Option<Plan>,
    pub(crate) attempt_id: String,
    pub(crate) outcome: Outcome,
    /// Attempts at the commit after the first.
    pub(crate) retries: u64,
    /// Files that could not be cleaned up.
    pub(crate) warnings: Vec<String>,
}

impl Ran {
    fn committed(&mut self, snapshot_id: i64) {
        match &mut self.outcome {
            Outcome::Committed(snapshots) => snapshots.push(snapshot_id),
            outcome => *outcome = Outcome::Committed(vec![snapshot_id]),
        }
    }
}

/// The time of this machine.
struct Now;

impl Clock for Now {
    fn now_ms(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        i64::try_from(since.as_millis()).unwrap()
    }
}

/// The name that every world gives its table.
pub(crate) fn table_name() -> model::TableName {
    "db.t".parse().unwrap()
}

/// Compacts the table with `options` as the job `attempt_id`, a name that no other job of the world has.
pub(crate) fn compact(catalog: &dyn Catalog, options: &[(&str, &str)], attempt_id: &str) -> Ran {
    run(catalog, options, attempt_id, || {}, || {})
}

/// The same, with something that happens once there is a plan, and something once every group is rewritten.
pub(crate) fn run(
    catalog: &dyn Catalog,
    options: &[(&str, &str)],
    attempt_id: &str,
    planned: impl FnOnce(),
    rewritten: impl FnOnce(),
) -> Ran {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (attempt, outcome) = (attempt_id.to_owned(), Outcome::NothingToDo);
    let mut ran = Ran { plan: None, attempt_id: attempt, outcome, retries: 0, warnings: Vec::new() };
    if let Err(reason) = runtime.block_on(steps(catalog, options, attempt_id, planned, rewritten, &mut ran)) {
        ran.outcome = Outcome::Failed(reason);
    }
    ran
}

/// Plans and rewrites, and has the job delivered to the committer twice, as queues may: both endings.
pub(crate) fn committed_twice(catalog: &dyn Catalog, options: &[(&str, &str)]) -> (Ending, Ending) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        let pairs: Vec<_> = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let table = catalog.load_table(&table_name()).await.unwrap();
        let plan = plan_table(&table, "main", &pairs).await.unwrap().plan;
        let source = Source::open(&table, plan.base_snapshot_id.unwrap().0).await.unwrap();
        let groups = rewrite(&source, &plan, &plan.groups, "job").await.unwrap();
        let job = Job { plan: &plan, groups: &groups, batch: 0, attempt_id: "job" };
        let first = committer::commit(catalog, &Now, job).await.unwrap();
        let again = committer::commit(catalog, &Now, Job { attempt_id: "again", ..job }).await.unwrap();
        assert_eq!(again.warnings, Vec::<String>::new());
        (first.ending, again.ending)
    })
}

async fn steps(
    catalog: &dyn Catalog,
    options: &[(&str, &str)],
    attempt_id: &str,
    planned: impl FnOnce(),
    rewritten: impl FnOnce(),
    ran: &mut Ran,
) -> Result<(), String> {
    let pairs: Vec<_> = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let table = catalog.load_table(&table_name()).await.map_err(|e| e.to_string())?;
    let plan = plan_table(&table, "main", &pairs).await.map_err(|e| e.to_string())?.plan;
    ran.plan = Some(plan.clone());
    planned();
    if plan.groups.is_empty() && plan.dangling_delete_files == 0 {
        return Ok(());
    }
    let source = Source::open(&table, plan.base_snapshot_id.unwrap().0).await.map_err(|e| e.to_string())?;
    let commits = if plan.options.partial_progress_enabled { plan.options.partial_progress_max_commits } else { 1 };
    let size = plan.groups.len().div_ceil(usize::try_from(commits).unwrap()).max(1);
    let mut rewritten = Some(rewritten);
    // A plan without groups is one batch without groups: its commit removes dangling deletes.
    for (batch, start) in (0..).zip((0..plan.groups.len().max(1)).step_by(size)) {
        let groups = &plan.groups[start..(start + size).min(plan.groups.len())];
        let groups = rewrite(&source, &plan, groups, attempt_id).await?;
        rewritten.take().into_iter().for_each(|happens| happens());
        let job = Job { plan: &plan, groups: &groups, batch, attempt_id };
        let report = committer::commit(catalog, &Now, job).await.map_err(|e| e.to_string())?;
        ran.retries += report.retries;
        ran.warnings.extend(report.warnings);
        match report.ending {
            Ending::Committed(committed) => ran.committed(committed.snapshot_id.0),
            Ending::Conflicted { reason } => ran.outcome = Outcome::Conflicted(reason),
            Ending::Unknown { reason } => ran.outcome = Outcome::Unknown(reason),
        }
        if !matches!(ran.outcome, Outcome::Committed(_)) {
            break;
        }
    }
    Ok(())
}

/// Rewrites every group; after a failure the outputs of the others go.
async fn rewrite(
    source: &Source,
    plan: &Plan,
    groups: &[Group],
    attempt_id: &str,
) -> Result<Vec<RewrittenGroup>, String> {
    let mut done: Vec<RewrittenGroup> = Vec::new();
    for group in groups {
        match rewriter::rewrite(source, plan, group, attempt_id, Limits::default(), &Control::default()) {
            Ok(output) => done.push(rewritten_group(group, output)),
            Err(error) => {
                discard(source.table(), &done).await;
                return Err(error.to_string());
            }
        }
    }
    Ok(done)
}

async fn discard(table: &LoadedTable, done: &[RewrittenGroup]) {
    for written in done.iter().flat_map(|group| &group.files) {
        let _ = table.file_io.delete(written.file.file_path()).await;
    }
}

fn rewritten_group(group: &Group, output: GroupOutput) -> RewrittenGroup {
    RewrittenGroup {
        group_id: group.group_id.clone(),
        files: output.files,
        records_read: output.records_read,
        records_deleted: output.records_deleted,
        records_written: output.records_written,
    }
}
