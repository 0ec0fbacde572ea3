//! The demo's story as one self-contained page.

use std::fmt::Write;

use model::{Outcome, TableHealth};

use super::Story;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#1b2733}\
table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid #d5dde5}\
td.number{text-align:right}.bar{background:#3f7cac;height:.8rem}.scroll{overflow-x:auto}";

/// The page. Everything in it comes from the health and the evidence that the command printed.
pub(super) fn html(story: &Story) -> String {
    let name = escaped(&story.before.table.to_string());
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>Firn: {name}</title><style>{STYLE}</style></head><body><h1>{name}</h1>"
    );
    let _ = write!(page, "<p>{}</p>", escaped(&verdict(story)));
    page.push_str("<div class=\"scroll\"><table><tr><th></th><th>before</th><th>after</th></tr>");
    for (what, of) in LINES {
        let (before, after) = (of(&story.before), of(&story.after));
        let _ =
            write!(page, "<tr><td>{what}</td><td class=\"number\">{before}</td><td class=\"number\">{after}</td></tr>");
    }
    page.push_str("</table></div>");
    for (title, health) in [("Files by partition, before", &story.before), ("Files by partition, after", &story.after)]
    {
        let _ = write!(page, "<h2>{title}</h2>{}", partitions(health, &story.before));
    }
    page.push_str("</body></html>\n");
    page
}

type Figure = fn(&TableHealth) -> u64;

const LINES: [(&str, Figure); 6] = [
    ("data files", |health| health.data_files),
    ("small files", |health| health.small_files),
    ("position delete files", |health| health.position_delete_files),
    ("equality delete files", |health| health.equality_delete_files),
    ("records in data files", |health| health.records),
    ("groups worth rewriting", |health| health.eligible_groups),
];

fn verdict(story: &Story) -> String {
    let rows = if story.is_equal { "the same rows" } else { "DIFFERENT rows" };
    match story.evidence.outcome {
        Outcome::Committed => format!(
            "{} data files and {} delete files became {} data files in one snapshot; both snapshots hold {rows} ({}).",
            story.evidence.data_files.removed,
            story.evidence.delete_files.removed,
            story.evidence.data_files.added,
            story.rows
        ),
        _ => format!("Nothing was committed: {}", story.evidence.reasons.join("; ")),
    }
}

/// A bar for each partition, as long as its number of files; the longest of `scale` is full.
fn partitions(health: &TableHealth, scale: &TableHealth) -> String {
    let most = scale.partitions.iter().map(|it| it.data_files).max().unwrap_or(1).max(1);
    let mut table = String::from("<div class=\"scroll\"><table>");
    for partition in &health.partitions {
        let values: Vec<String> = partition.partition.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let width = (partition.data_files.saturating_mul(100) / most).clamp(1, 100);
        let _ = write!(
            table,
            "<tr><td>{}</td><td class=\"number\">{}</td><td style=\"width:60%\"><div class=\"bar\" style=\"width:{width}%\"></div></td></tr>",
            escaped(&values.join(", ")),
            partition.data_files
        );
    }
    table.push_str("</table></div>");
    table
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
