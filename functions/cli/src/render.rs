//! Output: JSON for scripts; a table and one sentence of verdict for people.

use std::io::{ErrorKind, IsTerminal, Write};

use chrono::{DateTime, SecondsFormat};

use comfy_table::{ContentArrangement, Table};
use contracts::config::{Problem, Severity};
use indicatif::{ProgressBar, ProgressStyle};
use model::{Evidence, Outcome, Plan, TableHealth};
use serde::Serialize;

use crate::{
    failure::{Failure, OUTSIDE},
    session::Session,
    settings::Report,
    verdict::verdict,
};

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

/// Prints `text` and a newline on standard output. A reader that has left (`| head`) has seen enough, and the command's own
/// exit code stands.
pub(crate) fn line(text: impl std::fmt::Display) -> Result<(), Failure> {
    match writeln!(std::io::stdout().lock(), "{text}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(Failure {
            code: OUTSIDE,
            message: format!("cannot write to standard output: {error}; make room where it goes, and ask again"),
        }),
        _ => Ok(()),
    }
}

pub(crate) fn json(value: &impl Serialize) -> Result<(), Failure> {
    line(serde_json::to_string_pretty(value).map_err(|error| Failure::bug(&error))?)
}

fn table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Result<(), Failure> {
    let mut table = Table::new();
    table.set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    line(table)
}

fn say(reasons: &[String]) -> Result<(), Failure> {
    reasons.iter().try_for_each(|reason| line(format_args!("  {reason}")))
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
    )?;
    say(&evidence.reasons)?;
    line(verdict(evidence))
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
    table(&["partition", "data files", "delete files", "bytes", "why"], plan.groups.iter().map(row))?;
    say(&plan.reasons)?;
    let (groups, left) = (plan.groups.len(), plan.skipped.len());
    line(format_args!("{groups} groups; {left} files left alone (--json lists each with its reason)."))
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
    )?;
    let work = tables.iter().filter(|it| it.eligible_groups > 0).count();
    line(format_args!("{work} of {} tables have work that pays.", tables.len()))
}

/// A job as scripts see it: its evidence and when it ended.
#[derive(Serialize)]
struct Job<'a> {
    finished_at_ms: i64,
    #[serde(flatten)]
    evidence: &'a Evidence,
}

pub(crate) fn jobs(session: &Session, records: &[(i64, Evidence)]) -> Result<(), Failure> {
    if session.json {
        let job = |(at, evidence)| Job { finished_at_ms: at, evidence };
        return json(&records.iter().map(|(at, evidence)| job((*at, evidence))).collect::<Vec<_>>());
    }
    let row = |(at, it): &(i64, Evidence)| {
        let outcome = name_of(it.outcome);
        let (removed, added) = (it.data_files.removed.to_string(), it.data_files.added.to_string());
        vec![utc(*at), it.table.to_string(), outcome, removed, added]
    };
    table(&["finished (UTC)", "table", "outcome", "files removed", "added"], records.iter().map(row))?;
    line(format_args!("{} jobs.", records.len()))
}

/// Columns of the table of problems, whose texts are long.
const PROBLEMS_WIDTH: u16 = 140;

/// The problems of a configuration, and whether it can be used.
pub(crate) fn problems(report: &Report) -> Result<(), Failure> {
    let count = |severity| report.problems.iter().filter(|it| it.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if !report.problems.is_empty() {
        let mut table = Table::new();
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(PROBLEMS_WIDTH);
        table.set_header(["line", "key", "severity", "problem", "what to do"]);
        table.add_rows(report.problems.iter().map(problem_row));
        line(table)?;
    }
    let verdict = if report.ok { "can be used" } else { "cannot be used" };
    line(format_args!("{} {verdict}: {}, {}.", report.path, counted(errors, "error"), counted(warnings, "warning")))
}

fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn problem_row(problem: &Problem) -> [String; 5] {
    let line = problem.line.map(|line| line.to_string()).unwrap_or_default();
    let severity = format!("{:?}", problem.severity).to_lowercase();
    [line, problem.key.clone(), severity, problem.problem.clone(), problem.help.clone()]
}

/// RFC 3339 to the second; a time beyond the calendar as the milliseconds it is.
fn utc(at_ms: i64) -> String {
    let time = DateTime::from_timestamp_millis(at_ms);
    time.map_or_else(|| format!("{at_ms} ms"), |time| time.to_rfc3339_opts(SecondsFormat::Secs, true))
}

/// The name that JSON has for `outcome`.
fn name_of(outcome: Outcome) -> String {
    serde_json::to_value(outcome).ok().and_then(|it| it.as_str().map(str::to_owned)).unwrap_or_default()
}
