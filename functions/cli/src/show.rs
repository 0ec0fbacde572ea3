//! The commands that look at plans and past jobs and never change a table.

use std::path::Path;

use model::Plan;
use planner::{plan_table, table_health};
use ports::JobLog;

use crate::{
    args::Options,
    failure::Failure,
    render,
    session::{MAIN_BRANCH, Session},
};

pub(crate) async fn health(session: &Session, tables: &[String]) -> Result<u8, Failure> {
    let names = if tables.is_empty() {
        session.catalog()?.list_tables().await?.iter().map(ToString::to_string).collect()
    } else {
        tables.to_vec()
    };
    let mut found = Vec::new();
    let mut first_failure = None;
    for name in names {
        match health_of(session, &name).await {
            Ok(health) => found.push(health),
            // One table that cannot be read says nothing about the others.
            Err(failure) if tables.len() != 1 => {
                failure.report();
                first_failure.get_or_insert(failure.code);
            }
            Err(failure) => return Err(failure),
        }
    }
    render::health(session, &found)?;
    Ok(first_failure.unwrap_or(0))
}

pub(crate) async fn health_of(session: &Session, name: &str) -> Result<model::TableHealth, Failure> {
    let table = session.table(name).await?;
    let set = session.settings(&table)?.policy.compaction.set;
    Ok(table_health(&table, MAIN_BRANCH, &set, &session.config.maintenance.property).await?)
}

pub(crate) async fn plan(session: &Session, table: &str, options: &Options, out: Option<&Path>) -> Result<u8, Failure> {
    // Mistakes of the command line before any of the outside world.
    options.pairs()?;
    let table = session.table(table).await?;
    let pairs = options.over_settings(session, &table)?;
    let plan = plan_table(&table, options.branch(), &pairs).await?.plan;
    if let Some(out) = out {
        save(&plan, out)?;
    }
    render::plan(session, &plan)?;
    Ok(0)
}

/// Saves `plan` at `out`. An earlier plan there gives way; any other file stays.
fn save(plan: &Plan, out: &Path) -> Result<(), Failure> {
    let fail = |error: &dyn std::error::Error| Failure::usage(format!("--out {}: {error}", out.display()));
    if out.exists() {
        let text = std::fs::read_to_string(out).map_err(|error| fail(&error))?;
        serde_json::from_str::<Plan>(&text)
            .map_err(|_| Failure::usage(format!("--out {}: the file exists and is no plan", out.display())))?;
    }
    let text = serde_json::to_string_pretty(plan).map_err(|error| Failure::bug(&error))?;
    std::fs::write(out, text).map_err(|error| fail(&error))
}

pub(crate) async fn jobs(session: &Session) -> Result<u8, Failure> {
    render::jobs(session, &session.job_log().records().await?)?;
    Ok(0)
}
