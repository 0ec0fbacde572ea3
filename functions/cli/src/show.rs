//! The commands that never change a table.
#![allow(clippy::print_stdout, reason = "standard output is what a command line is for")]

use std::{collections::BTreeSet, path::Path};

use planner::{plan_table, table_health};
use ports::JobLog;
use rewrite_engine::{Control, Digest, digest};
use rewriter::Source;
use serde_json::{Value, json};

use crate::{
    args::Options,
    failure::Failure,
    render,
    session::{OPT_IN_PROPERTY, Session},
};

pub(crate) async fn health(session: &Session, tables: &[String]) -> Result<u8, Failure> {
    let names = if tables.is_empty() {
        session.catalog()?.list_tables().await?.iter().map(ToString::to_string).collect()
    } else {
        tables.to_vec()
    };
    let mut found = Vec::new();
    for name in names {
        let table = session.table(&name).await?;
        found.push(table_health(&table, "main", &[], OPT_IN_PROPERTY).await?);
    }
    render::health(session, &found)?;
    Ok(0)
}

pub(crate) async fn plan(session: &Session, table: &str, options: &Options, out: Option<&Path>) -> Result<u8, Failure> {
    let table = session.table(table).await?;
    let plan = plan_table(&table, options.branch(), &options.pairs()?).await?.plan;
    if let Some(out) = out {
        let text = serde_json::to_string_pretty(&plan).map_err(|error| Failure::outside(&error))?;
        std::fs::write(out, text).map_err(|error| Failure::usage(format!("--out {}: {error}", out.display())))?;
    }
    render::plan(session, &plan)?;
    Ok(0)
}

pub(crate) async fn jobs(session: &Session) -> Result<u8, Failure> {
    render::jobs(session, &Session::job_log().records().await?)?;
    Ok(0)
}

pub(crate) async fn verify(session: &Session, table: &str, from: i64, to: i64) -> Result<u8, Failure> {
    let table = session.table(table).await?;
    let before = digest_of(&table, from).await?;
    let after = digest_of(&table, to).await?;
    let differences = differences(&before, &after);
    let rows: u64 = after.partitions.values().map(|it| it.rows).sum();
    let sum = after.partitions.values().fold(0_u128, |sum, it| sum.wrapping_add(it.sum));
    let equal = differences.is_empty();
    if session.json {
        render::json(
            &json!({"equal": equal, "rows": rows, "digest": format!("{sum:032x}"), "differences": differences}),
        )?;
    } else {
        differences.iter().for_each(|it| println!("  {it}"));
        let verdict = if equal { "the same rows" } else { "different rows" };
        println!("Snapshots {from} and {to} hold {verdict} ({rows} in the second).");
    }
    Ok(if equal { 0 } else { 4 })
}

async fn digest_of(table: &ports::LoadedTable, snapshot_id: i64) -> Result<Digest, Failure> {
    if table.metadata.snapshot_by_id(snapshot_id).is_none() {
        return Err(Failure::usage(format!("{} has no snapshot {snapshot_id}", table.name)));
    }
    let source = Source::open(table, snapshot_id).await?;
    let with_lineage = table.metadata.format_version() as u8 >= 3;
    let task = tokio::task::spawn_blocking(move || {
        digest(source.table(), &source.inputs(), with_lineage, &Control::default())
    });
    match task.await {
        Ok(result) => result.map_err(|error| Failure::outside(&error)),
        Err(error) => Err(Failure::outside(&error)),
    }
}

fn differences(before: &Digest, after: &Digest) -> Vec<Value> {
    let keys: BTreeSet<&String> = before.partitions.keys().chain(after.partitions.keys()).collect();
    let differing = keys.into_iter().filter(|key| {
        let of = |digest: &Digest| digest.partitions.get(*key).map_or((0, 0), |it| (it.rows, it.sum));
        of(before) != of(after)
    });
    let describe = |key: &String| {
        let rows = |digest: &Digest| digest.partitions.get(key).map_or(0, |it| it.rows);
        let partition = before.partitions.get(key).or_else(|| after.partitions.get(key)).map(|it| &it.partition.values);
        json!({"partition": partition, "rows_from": rows(before), "rows_to": rows(after)})
    };
    differing.map(describe).collect()
}
