//! `firn demo`, as a newcomer runs it.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::{path::Path, process::Command};

use serde_json::Value;

fn demo(arguments: &[&str], state: &Path) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_firn"));
    let output = command.args(arguments).env("XDG_STATE_HOME", state).env_remove("FIRN_CONFIG").output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_demo_compacts_its_table_proves_the_rows_and_writes_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("new/demo");
    let (code, stdout, stderr) = demo(&["--json", "demo", "--dir", dir.to_str().unwrap()], folder.path());
    assert_eq!(code, 0, "{stdout}{stderr}");
    let told: Value = serde_json::from_str(&stdout).unwrap();
    // 16 commits of a file in each of 3 partitions; every fifth of the 48 files has a position delete file; two keyed ones.
    assert_eq!((&told["before"]["data_files"], &told["after"]["data_files"]), (&48.into(), &3.into()), "{told}");
    assert_eq!(told["before"]["position_delete_files"], 10);
    assert_eq!(told["before"]["equality_delete_files"], 2);
    let left =
        ["position_delete_files", "equality_delete_files", "eligible_groups"].map(|it| told["after"][it].clone());
    assert_eq!(left, [0, 0, 0].map(Value::from), "{told}");
    assert_eq!(told["verify"]["equal"], true);
    // 48 files of 400 rows; 10 × 4 by position; 4 by key, of which ids 1 to 3 of the first file are others than 7, 8, 9.
    assert_eq!(told["verify"]["rows"], 48 * 400 - 40 - 4);
    let page = std::fs::read_to_string(dir.join("report.html")).unwrap();
    assert!(page.contains("demo.clicks") && page.contains("the same rows") && !page.contains("http"), "{page}");
}

#[test]
fn the_demo_touches_no_folder_that_holds_something() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine"), "precious").unwrap();
    let (code, _, stderr) = demo(&["demo", "--dir", folder.path().to_str().unwrap()], folder.path());
    assert_eq!((code, stderr.contains("not empty")), (2, true), "{stderr}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
