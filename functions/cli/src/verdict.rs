//! What a compaction comes to, in words: one sentence on standard output; on standard error, what went wrong.

use model::{Evidence, GroupNote, Outcome};

/// How a compaction ended, in one sentence.
pub(crate) fn verdict(evidence: &Evidence) -> String {
    let changed = !evidence.snapshot_ids.is_empty();
    match evidence.outcome {
        Outcome::Committed => format!("Committed as {}{}.", snapshots(evidence), unfinished(evidence)),
        Outcome::NothingToDo => "Nothing to do.".to_owned(),
        Outcome::Refused => "Refused; the table is unchanged.".to_owned(),
        Outcome::Conflicted => {
            "Another writer changed what the plan rests on; the table has none of it. Plan again.".to_owned()
        }
        Outcome::Failed => "Failed; the table is unchanged.".to_owned(),
        Outcome::Unknown if changed => format!(
            "Committed as {}; then the catalog's answer was lost, and every file is kept. Look at the table's history.",
            snapshots(evidence)
        ),
        Outcome::Unknown => {
            "The catalog's answer was lost; every file is kept. Look at the table's history.".to_owned()
        }
    }
}

fn snapshots(evidence: &Evidence) -> String {
    let ids: Vec<String> = evidence.snapshot_ids.iter().map(ToString::to_string).collect();
    format!("{} {}", if ids.len() == 1 { "snapshot" } else { "snapshots" }, ids.join(", "))
}

/// What of the plan is not in the committed snapshots.
fn unfinished(evidence: &Evidence) -> String {
    let groups = &evidence.groups;
    let (failed, skipped) = (groups.failed.len(), groups.skipped.len());
    if failed + skipped == 0 {
        return String::new();
    }
    format!(
        ", in part: of {} planned groups {} are done, {failed} failed, {skipped} were left; those keep their files as they were",
        groups.planned, groups.committed
    )
}

/// What went wrong, where, and what to do: the lines for standard error of a run that did not end with exit code 0.
pub(crate) fn complaints(evidence: &Evidence) -> Vec<String> {
    let table = &evidence.table;
    let failed = &evidence.groups.failed;
    let mut lines: Vec<String> = failed.iter().map(|note| format!("{table}: {}", failure(note))).collect();
    if lines.is_empty() {
        lines.extend(evidence.reasons.last().map(|reason| format!("{table}: {reason}")));
    }
    lines.push(format!("{table}: {}", advice(evidence)));
    lines
}

fn failure(note: &GroupNote) -> String {
    let partition = match note.partition.is_empty() {
        true => String::new(),
        false => format!(" of partition {}", serde_json::to_string(&note.partition).unwrap_or_default()),
    };
    format!("group {}{partition} failed: {}", note.group_id, note.reason)
}

fn advice(evidence: &Evidence) -> &'static str {
    match (evidence.outcome, evidence.groups.failed.is_empty(), evidence.snapshot_ids.is_empty()) {
        (Outcome::Unknown, ..) => {
            "look at the table's history before anything is removed; `firn compact` again is safe"
        }
        (Outcome::Conflicted, ..) => "nothing was committed; run `firn compact` again, it plans from what is there now",
        (Outcome::Refused, ..) => "the table is unchanged; it stays so until what is refused has been put right",
        (_, false, true) => {
            "the table is unchanged; repair or restore the file named above, leave its partition out with --where, or pass \
             -o partial-progress.enabled=true to commit the other groups"
        }
        (_, false, false) => {
            "the other groups are committed; repair or restore the file named above, then run `firn compact` again"
        }
        (_, true, true) => "the table is unchanged; run `firn compact` again once the cause is gone",
        (_, true, false) => "what is committed stays; run `firn compact` again for the rest",
    }
}

#[cfg(test)]
mod tests;
