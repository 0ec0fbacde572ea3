//! `firn demo`: a streaming table, and what Firn does to it, in one process.

mod report;
mod warehouse;

use std::path::{Path, PathBuf};

use contracts::config::{CatalogUri, Config};
use model::{Evidence, TableHealth};
use serde_json::json;

use crate::{
    args::{Args, Compact, Options},
    compact,
    failure::{Failure, OUTSIDE, UNFINISHED},
    render,
    session::Session,
    show, verify,
};

/// Everything that the demo found out.
struct Story {
    before: TableHealth,
    after: TableHealth,
    evidence: Evidence,
    is_equal: bool,
    rows: u64,
}

pub(crate) async fn demo(args: &Args, dir: Option<&Path>) -> Result<u8, Failure> {
    let dir = folder(dir)?;
    let path = dir.join("catalog.db");
    let uri = CatalogUri::Sqlite { path: path.clone(), name: None };
    let session = Session { config: Config::without_file(Some(uri)), json: args.json, quiet: args.quiet || args.json };
    say(&session, "Writing a table as a stream leaves it: many small files, position and equality deletes …")?;
    warehouse::build(&dir, &path).await?;
    let before = show::health_of(&session, warehouse::TABLE).await?;
    if !session.json {
        render::health(&session, std::slice::from_ref(&before))?;
    }
    say(&session, "Planning, rewriting, committing one snapshot, checking its effect …")?;
    let (evidence, code) = compact::run(&session, &whole_table()).await?;
    if !session.json {
        render::evidence(&session, &evidence)?;
    }
    let story = story(&session, before, evidence).await?;
    let report = dir.join("report.html");
    std::fs::write(&report, report::html(&story)).map_err(|error| cannot_write(&report, &error))?;
    tell(&session, &story, &dir, &report)?;
    Ok(if code == 0 && !story.is_equal { UNFINISHED } else { code })
}

async fn story(session: &Session, before: TableHealth, evidence: Evidence) -> Result<Story, Failure> {
    let after = show::health_of(session, warehouse::TABLE).await?;
    let table = session.table(warehouse::TABLE).await?;
    let ends = before.snapshot_id.zip(after.snapshot_id);
    let (from, to) = ends.ok_or_else(|| Failure { code: 1, message: "the demo's table has no snapshot".to_owned() })?;
    let compared = verify::compare(&table, from.0, to.0).await?;
    Ok(Story { before, after, evidence, is_equal: compared.differences.is_empty(), rows: compared.rows })
}

fn tell(session: &Session, story: &Story, dir: &Path, report: &Path) -> Result<(), Failure> {
    if session.json {
        return render::json(&json!({
            "dir": dir, "report": report, "before": story.before, "after": story.after, "evidence": story.evidence,
            "verify": {"equal": story.is_equal, "rows": story.rows},
        }));
    }
    render::health(session, std::slice::from_ref(&story.after))?;
    let verdict = if story.is_equal { "the same" } else { "DIFFERENT" };
    render::line(format_args!(
        "Both snapshots hold {verdict} {} rows. The whole as a page: {}",
        story.rows,
        report.display()
    ))?;
    render::line(format_args!(
        "Look around: firn --catalog sqlite://{}/catalog.db plan {}",
        dir.display(),
        warehouse::TABLE
    ))
}

fn say(session: &Session, text: &str) -> Result<(), Failure> {
    if session.json { Ok(()) } else { render::line(text) }
}

fn whole_table() -> Compact {
    Compact {
        table: warehouse::TABLE.to_owned(),
        options: Options { strategy: None, sort_order: None, filter: None, branch: None, options: Vec::new() },
        plan: None,
        replan: false,
    }
}

/// The absolute path of an empty folder.
fn folder(dir: Option<&Path>) -> Result<PathBuf, Failure> {
    let free = |path: &PathBuf| !path.exists();
    let numbered = || (1..).map(|number| PathBuf::from(format!("firn-demo-{number}"))).find(free);
    let dir = match dir {
        Some(dir) => dir.to_owned(),
        None => numbered().unwrap_or_else(|| PathBuf::from("firn-demo")),
    };
    std::fs::create_dir_all(&dir).map_err(|error| cannot_write(&dir, &error))?;
    let mut entries = std::fs::read_dir(&dir).map_err(|error| cannot_write(&dir, &error))?;
    if entries.next().is_some() {
        let message = format!("--dir {}: is not empty; name a folder that is empty or does not exist", dir.display());
        return Err(Failure::usage(message));
    }
    std::fs::canonicalize(&dir).map_err(|error| cannot_write(&dir, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> Failure {
    let message = format!("cannot write {}: {error}; choose another place with --dir", path.display());
    Failure { code: OUTSIDE, message }
}
