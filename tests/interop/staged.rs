//! Tables that other writers changed between plan and commit.

use serde_json::Value;

use crate::{
    firn::firn,
    readers::verify,
    set::{Set, name, outcomes},
};

/// Plans on the first state, executes on the second; a conflict leaves the table as the other writers left it.
#[test]
fn a_plan_meets_what_other_writers_did_meanwhile() {
    let set = Set::fresh("given");
    let staged: Vec<&Value> = set.tables.iter().filter(|it| it["later"].is_object()).collect();
    assert!(!staged.is_empty());
    for table in &staged {
        let out = plan_file(&set, table);
        let ran = firn(&set.catalog(), &["plan", &identifier(table), "-o", "min-input-files=2", "--out", &out]);
        assert_eq!(ran.code, 0, "{ran}");
        assert!(!ran.json()["groups"].as_array().unwrap().is_empty(), "{ran}");
    }
    std::fs::copy(set.later(), set.catalog()).unwrap();
    let mut problems: Vec<String> = staged.iter().filter_map(|table| execute(&set, table)).collect();
    let names: Vec<&str> = staged.iter().map(|table| name(table)).collect();
    if let Err(report) = verify(&set, &["--state", "2", "--tables", &names.join(",")]) {
        problems.push(report);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn execute(set: &Set, table: &Value) -> Option<String> {
    let ran = firn(&set.catalog(), &["compact", &identifier(table), "--plan", &plan_file(set, table)]);
    let outcome = ran.outcome();
    let code = if outcome == "committed" { 0 } else { 4 };
    let is_right = outcomes(&table["later"]).contains(&outcome.as_str()) && ran.code == code;
    (!is_right).then(|| format!("{}: {} expected: {ran}", name(table), table["later"]["outcomes"]))
}

fn identifier(table: &Value) -> String {
    format!("db.{}", name(table))
}

fn plan_file(set: &Set, table: &Value) -> String {
    set.root.join(format!("{}.plan.json", name(table))).display().to_string()
}
