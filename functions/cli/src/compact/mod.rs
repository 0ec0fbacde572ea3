//! `firn compact`: plan, rewrite, validate, commit, check the effect.

mod rewrite;
mod run;

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use model::{Evidence, Outcome, Plan, TableName};
use planner::{Planned, plan_table, plan_with, take_up};
use ports::{Catalog, Clock, JobLog, LoadedTable};
use rewrite_engine::Control;

use crate::{
    args::Compact,
    evidence::Record,
    failure::{Failure, USAGE, complain},
    render,
    session::{Session, name},
    verdict::complaints,
};
use run::Run;

/// Plans made afresh after a conflict, at most: a table that changes faster than this needs a quieter hour.
const REPLANS_MAX: u32 = 3;

/// The request to stop, shared with every rewrite.
#[derive(Clone, Default)]
pub(crate) struct Stop {
    pub(crate) control: Arc<Control>,
    on_request: Arc<AtomicBool>,
}

impl Stop {
    fn on_interrupt() -> Self {
        let stop = Self::default();
        let requested = stop.clone();
        tokio::spawn(async move {
            if tokio::signal::ctrl_c().await.is_ok() {
                requested.on_request.store(true, Ordering::Relaxed);
                requested.control.stop();
            }
        });
        stop
    }

    /// Whether a person asked to stop, rather than a failed group.
    pub(crate) fn is_requested(&self) -> bool {
        self.on_request.load(Ordering::Relaxed)
    }
}

pub(crate) async fn compact(session: &Session, args: &Compact) -> Result<u8, Failure> {
    let (evidence, code) = run(session, args).await?;
    render::evidence(session, &evidence)?;
    Ok(code)
}

/// The same without its output: the evidence, which is in the job log too, and the exit code.
pub(crate) async fn run(session: &Session, args: &Compact) -> Result<(Evidence, u8), Failure> {
    let name = name(&args.table)?;
    let catalog = session.catalog()?;
    let mut record = Record::new(name.clone(), Instant::now());
    match plan_and_run(session, &*catalog, args, &name, &mut record).await {
        Err(failure) if failure.code == USAGE => return Err(failure),
        Err(failure) => record.fail(&failure),
        Ok(()) => {}
    }
    let (evidence, code) = record.finish();
    if code != 0 {
        complaints(&evidence).iter().for_each(|line| complain(line));
    }
    if let Err(error) = session.job_log().append(local_io::SystemClock.now_ms(), &evidence).await {
        // The table is as the evidence says, whether or not the log has it.
        Failure::outside(&error).report();
    }
    Ok((evidence, code))
}

async fn plan_and_run(
    session: &Session,
    catalog: &dyn Catalog,
    args: &Compact,
    name: &TableName,
    record: &mut Record,
) -> Result<(), Failure> {
    let stop = Stop::on_interrupt();
    let mut replans_left = if args.replan { REPLANS_MAX } else { 0 };
    let mut table = catalog.load_table(name).await?;
    let mut planned = first_plan(session, args, &table).await?;
    loop {
        let Planned { plan, inventory } = planned;
        record.begin(&plan);
        let plan = Arc::new(plan);
        Run { session, catalog, stop: &stop, plan: &plan, before: &inventory }.execute(&table, record).await;
        let is_conflict = record.evidence.outcome == Outcome::Conflicted && record.evidence.snapshot_ids.is_empty();
        if !is_conflict || replans_left == 0 {
            return Ok(());
        }
        replans_left -= 1;
        table = catalog.load_table(name).await?;
        planned = plan_with(&table, &plan.branch, &plan.options).await?;
    }
}

async fn first_plan(session: &Session, args: &Compact, table: &LoadedTable) -> Result<Planned, Failure> {
    let Some(file) = &args.plan else {
        let pairs = args.options.over_settings(session, table)?;
        return Ok(plan_table(table, args.options.branch(), &pairs).await?);
    };
    let saved = read_plan(file, table)?;
    let (branch, options) = (saved.branch.clone(), saved.options.clone());
    match take_up(table, saved).await {
        Err(planner::Error::Outdated(_)) if args.replan => Ok(plan_with(table, &branch, &options).await?),
        planned => Ok(planned?),
    }
}

fn read_plan(file: &Path, table: &LoadedTable) -> Result<Plan, Failure> {
    let fail = |reason: String| Failure::usage(format!("--plan {}: {reason}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| fail(error.to_string()))?;
    let plan: Plan = serde_json::from_str(&text).map_err(|error| fail(format!("is no saved plan: {error}")))?;
    if plan.table != table.name {
        return Err(fail(format!("is a plan for {}, not for {}", plan.table, table.name)));
    }
    Ok(plan)
}
