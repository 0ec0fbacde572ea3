//! Output: JSON for scripts; a table and one sentence of verdict for people.
#![allow(clippy::print_stdout, reason = "standard output is what a command line is for")]

use std::io::IsTerminal;

use comfy_table::Table;
use indicatif::{ProgressBar, ProgressStyle};
use model::{Evidence, Outcome, Plan, TableHealth};
use serde::Serialize;

use crate::{failure::Failure, session::Session};

/// A progress bar over input bytes: on a terminal only.
pub(crate) fn progress(session: &Session, bytes: u64) -> ProgressBar {
    if session.quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:40} {bytes}/{total_bytes} {bytes_per_sec}, {eta} left");
    let bar = ProgressBar::new(bytes);
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar
}

pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    println!("{}", serde_json::to_string_pretty(value).map_err(|error| Failure::outside(&error))?);
    Ok(())
}

fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
    let mut table = Table::new();
    table.set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    println!("{table}");
}

fn say(lines: &[String]) {
    for line in lines {
        println!("  {line}");
    }
}

pub(crate) fn evidence(session: &Session, evidence: &Evidence) -> Result<(), Failure> {
    if session.json {
        return json(evidence);
    }
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    table(
        &["compact", &evidence.table.to_string()],
        [
            row("groups committed / planned", format!("{} / {}", evidence.groups.committed, evidence.groups.planned)),
            row(
                "data files removed / added",
                format!("{} / {}", evidence.data_files.removed, evidence.data_files.added),
            ),
            row("delete files removed", evidence.delete_files.removed.to_string()),
            row("records removed / deleted / added", {
                let records = evidence.records;
                format!("{} / {} / {}", records.removed, records.deleted, records.added)
            }),
            row("bytes read / written", format!("{} / {}", evidence.bytes.read, evidence.bytes.written)),
            row("CPU / wall", format!("{} ms / {} ms", evidence.cpu_ms, evidence.duration_ms)),
            row("peak memory", format!("{} MB", evidence.peak_memory_bytes / 1_000_000)),
        ],
    );
    say(&evidence.reasons);
    println!("{}", verdict(evidence));
    Ok(())
}

fn verdict(evidence: &Evidence) -> String {
    let ids: Vec<String> = evidence.snapshot_ids.iter().map(ToString::to_string).collect();
    match evidence.outcome {
        Outcome::Committed => format!("Committed as snapshot {}.", ids.join(", ")),
        Outcome::NothingToDo => "Nothing to do.".to_owned(),
        Outcome::Refused => "Refused; the table is unchanged.".to_owned(),
        Outcome::Conflicted => {
            "Another writer changed what the plan rests on; the table has none of it. Plan again.".to_owned()
        }
        Outcome::Failed => "Failed; the table is unchanged.".to_owned(),
        Outcome::Unknown => {
            "The catalog's answer was lost; every file is kept. Look at the table's history.".to_owned()
        }
    }
}

pub(crate) fn plan(session: &Session, plan: &Plan) -> Result<(), Failure> {
    if session.json {
        return json(plan);
    }
    let tuple = |group: &model::Group| serde_json::to_string(&group.partition).unwrap_or_default();
    let row = |group: &model::Group| {
        let (files, deletes) = (group.data_files.len(), group.delete_files);
        vec![tuple(group), files.to_string(), deletes.to_string(), group.input_bytes.to_string(), group.reason.clone()]
    };
    table(&["partition", "data files", "delete files", "bytes", "why"], plan.groups.iter().map(row));
    say(&plan.reasons);
    println!(
        "{} groups; {} files left alone (--json lists each with its reason).",
        plan.groups.len(),
        plan.skipped.len()
    );
    Ok(())
}

pub(crate) fn health(session: &Session, tables: &[TableHealth]) -> Result<(), Failure> {
    if session.json {
        return json(&tables);
    }
    let row = |it: &TableHealth| {
        let deletes = it.position_delete_files + it.equality_delete_files + it.deletion_vectors;
        vec![
            it.table.to_string(),
            it.data_files.to_string(),
            it.small_files.to_string(),
            format!("{:.1}", it.avg_file_mb),
            deletes.to_string(),
            format!("{:.2}", it.delete_ratio),
            it.eligible_groups.to_string(),
            format!("{:?}", it.decision).to_lowercase(),
        ]
    };
    table(
        &["table", "data files", "small", "avg MB", "delete files", "delete ratio", "groups", "decision"],
        tables.iter().map(row),
    );
    let work = tables.iter().filter(|it| it.eligible_groups > 0).count();
    println!("{work} of {} tables have work that pays.", tables.len());
    Ok(())
}

pub(crate) fn jobs(session: &Session, records: &[(i64, Evidence)]) -> Result<(), Failure> {
    if session.json {
        let all: Vec<&Evidence> = records.iter().map(|(_, evidence)| evidence).collect();
        return json(&all);
    }
    let row = |(at, it): &(i64, Evidence)| {
        let outcome = format!("{:?}", it.outcome).to_lowercase();
        vec![
            at.to_string(),
            it.table.to_string(),
            outcome,
            it.data_files.removed.to_string(),
            it.data_files.added.to_string(),
        ]
    };
    table(&["finished (ms)", "table", "outcome", "removed", "added"], records.iter().map(row));
    println!("{} jobs.", records.len());
    Ok(())
}
