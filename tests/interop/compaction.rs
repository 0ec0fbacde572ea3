//! Every table of every set, compacted with two options: rows, metadata and reports are right.

use serde_json::Value;

use crate::{
    firn::{Ran, firn},
    readers::verify,
    set::{Set, name, outcomes},
};

#[test]
fn every_table_reads_the_same_after_all_its_files_were_rewritten() {
    compact_everything("given", "rewrite-all=true");
    compact_everything("own", "rewrite-all=true");
}

#[test]
fn every_table_reads_the_same_after_its_small_files_were_merged() {
    compact_everything("given", "min-input-files=2");
    compact_everything("own", "min-input-files=2");
}

/// Guards the guard: the verifier passes the untouched set, and fails a table whose rows are not the expected ones.
#[test]
fn the_verifier_tells_right_from_wrong() {
    let set = Set::fresh("given");
    verify(&set, &[]).unwrap();
    let expect = set.root.join("expect");
    std::fs::copy(expect.join("s_append.later.parquet"), expect.join("s_append.parquet")).unwrap();
    let report = verify(&set, &["--tables", "s_append"]).unwrap_err();
    assert!(report.contains("FAIL s_append"), "{report}");
}

fn compact_everything(set: &str, option: &str) {
    let set = Set::fresh(set);
    let mut problems = Vec::new();
    for table in &set.tables {
        problems.extend(compact(&set, table, option).into_iter().map(|it| format!("{}: {it}", name(table))));
    }
    if let Err(report) = verify(&set, &["--after", option]) {
        problems.push(report);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Compacts one table and returns what is wrong with the reports.
fn compact(set: &Set, table: &Value, option: &str) -> Vec<String> {
    let catalog = set.catalog();
    let identifier = format!("db.{}", name(table));
    let ran = firn(&catalog, &["compact", &identifier, "-o", option]);
    let outcome = ran.outcome();
    let mut problems = Vec::new();
    if !outcomes(table).contains(&outcome.as_str()) {
        problems.push(format!("outcome {outcome} is not allowed: {ran}"));
    }
    if !code_fits(&ran, &outcome) {
        problems.push(format!("exit code {} does not fit {outcome}: {ran}", ran.code));
    }
    if outcome == "committed" {
        problems.extend(committed_problems(&ran.json()));
        problems.extend(different_rows(&catalog, &identifier, &ran.json()));
        problems.extend(work_left(&firn(&catalog, &["plan", &identifier, "-o", option])));
        problems.extend(work_left(&firn(&catalog, &["plan", &identifier])));
    }
    problems
}

fn code_fits(ran: &Ran, outcome: &str) -> bool {
    match outcome {
        "committed" | "nothing_to_do" => ran.code == 0,
        "refused" => ran.code == 3,
        "failed" => matches!(ran.code, 3..=5),
        _ => ran.code == 4,
    }
}

/// C-3, and the effect that a plan promised.
fn committed_problems(evidence: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    let records = |key: &str| evidence["records"][key].as_i64().unwrap();
    if records("added") != records("removed") - records("deleted") {
        problems.push(format!("records do not add up: {}", evidence["records"]));
    }
    if evidence["effect"]["verdict"] != "as_planned" {
        problems.push(format!("the effect is not as planned: {evidence}"));
    }
    problems
}

/// C-1, by Firn's own digest.
fn different_rows(catalog: &std::path::Path, table: &str, evidence: &Value) -> Option<String> {
    let from = evidence["base_snapshot_id"].to_string();
    let to = evidence["snapshot_ids"].as_array().unwrap().last().unwrap().to_string();
    let ran = firn(catalog, &["verify", table, "--from", &from, "--to", &to]);
    let is_equal = ran.code == 0 && ran.json()["equal"] == true;
    (!is_equal).then(|| format!("firn verify: {ran}"))
}

/// C-8.
fn work_left(plan: &Ran) -> Option<String> {
    let is_empty = plan.code == 0 && plan.json()["groups"].as_array().is_some_and(Vec::is_empty);
    (!is_empty).then(|| format!("planned again right after the commit: {plan}"))
}
