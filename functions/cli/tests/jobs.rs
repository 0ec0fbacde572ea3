//! `firn jobs`, and commands that must not become jobs, by the binary.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    io::Read,
    path::Path,
    process::{Command, Stdio},
};

use serde_json::{Value, json};

fn firn(state: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firn"));
    command.args(arguments).env("XDG_STATE_HOME", state).current_dir(state).env_remove("FIRN_CONFIG");
    command
}

/// A log of `count` jobs that ended at 2026-11-30T12:34:56.789Z: 1 796 042 096 789 ms, by `date -u -d @1796042096`.
fn log_jobs(state: &Path, count: usize) {
    let evidence = json!({
        "table": "db.orders", "plan_id": null, "outcome": "nothing_to_do", "base_snapshot_id": null, "snapshot_ids": [],
        "groups": {"planned": 0, "committed": 0, "failed": [], "skipped": []}, "data_files": {"removed": 0, "added": 0},
        "delete_files": {"removed": 0}, "records": {"removed": 0, "deleted": 0, "added": 0},
        "bytes": {"read": 0, "written": 0, "copied": 0}, "conflicts": 0, "retries": 0, "duration_ms": 1, "cpu_ms": 1,
        "peak_memory_bytes": 1, "cost_usd": 0.0, "effect": null, "reasons": [],
    });
    let line = json!({"finished_at_ms": 1_796_042_096_789_i64, "evidence": evidence}).to_string() + "\n";
    std::fs::create_dir_all(state.join("firn")).unwrap();
    std::fs::write(state.join("firn/jobs.jsonl"), line.repeat(count)).unwrap();
}

#[test]
fn a_reader_that_leaves_early_ends_the_output_quietly() {
    let state = tempfile::tempdir().unwrap();
    log_jobs(state.path(), 2_000);
    for arguments in [&["jobs", "--json"][..], &["jobs"]] {
        let mut child = firn(state.path(), arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdout.take().unwrap().read_exact(&mut [0; 1]).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_job_says_when_it_finished_to_scripts_and_to_people() {
    let state = tempfile::tempdir().unwrap();
    log_jobs(state.path(), 1);
    let output = firn(state.path(), &["jobs", "--json"]).output().unwrap();
    let jobs: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(jobs[0]["finished_at_ms"], 1_796_042_096_789_i64);
    assert_eq!(jobs[0]["outcome"], "nothing_to_do");
    let text = String::from_utf8(firn(state.path(), &["jobs"]).output().unwrap().stdout).unwrap();
    assert!(text.contains("2026-11-30T12:34:56Z") && text.contains("nothing_to_do"), "{text}");
}

#[test]
fn compacting_a_metadata_location_is_a_mistake_of_usage_and_no_job() {
    let state = tempfile::tempdir().unwrap();
    let output = firn(state.path(), &["compact", "/w/t/metadata/v3.metadata.json"]).output().unwrap();
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("/w/t/metadata/v3.metadata.json") && complaint.contains("namespace.table"));
    assert!(!state.path().join("firn").exists());
}
