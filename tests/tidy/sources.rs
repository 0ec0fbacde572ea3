//! Rules about the text of the repository: what `git ls-files` names.

use std::process::Command;

use super::root;

const LINES_MAX: usize = 500;

/// What a pure crate must not even name.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "SystemTime",
    "Instant",
    "::now(",
    "async fn",
    "tracing::",
    "println!",
    "thread::",
];

/// Every tracked or new file that is not ignored, as (path, text), of one of the extensions.
fn files(extensions: &[&str]) -> Vec<(String, String)> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).unwrap();
    let wanted = |path: &&str| extensions.iter().any(|extension| path.ends_with(extension));
    let read = |path: &str| Some((path.to_owned(), std::fs::read_to_string(root().join(path)).ok()?));
    let files: Vec<_> = listed.lines().filter(wanted).filter_map(read).collect();
    assert!(!files.is_empty(), "no files with {extensions:?}");
    files
}

/// Lines of `text` outside comments, with their numbers.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(at, line)| (at + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

fn assert_none(found: &[String], rule: &str) {
    assert!(found.is_empty(), "{rule}:\n{}", found.join("\n"));
}

#[test]
fn files_stay_short() {
    let long = |(path, text): (String, String)| {
        let lines = text.lines().count();
        (lines > LINES_MAX).then(|| format!("{path} has {lines} lines"))
    };
    let found: Vec<_> = files(&[".rs", ".py", ".java"]).into_iter().filter_map(long).collect();
    assert_none(&found, "a file has at most 500 lines");
}

#[test]
fn every_source_file_says_what_it_is_for() {
    let silent = |(path, text): (String, String)| (!text.starts_with("//!")).then_some(path);
    assert_none(&files(&[".rs"]).into_iter().filter_map(silent).collect::<Vec<_>>(), "a file starts with its contract");
}

#[test]
fn pure_crates_do_no_io() {
    let pure = ["shared/model/", "shared/contracts/", "shared/planning/", "shared/verification/"];
    let mut found = Vec::new();
    for (path, text) in files(&[".rs"]) {
        if !pure.iter().any(|it| path.starts_with(it)) || path == "shared/contracts/src/env.rs" {
            continue;
        }
        for (number, line) in code(&text) {
            found.extend(IMPURE.iter().filter(|it| line.contains(*it)).map(|it| format!("{path}:{number} names {it}")));
        }
    }
    assert_none(&found, "model, contracts, planning and verification are pure");
}

#[test]
fn the_environment_is_read_in_one_file() {
    let mut found = Vec::new();
    for (path, text) in files(&[".rs"]) {
        if path == "shared/contracts/src/env.rs" || path.starts_with("tests/") {
            continue;
        }
        found.extend(code(&text).filter(|(_, line)| line.contains("env::var")).map(|(at, _)| format!("{path}:{at}")));
    }
    assert_none(&found, "environment variables are read in shared/contracts/src/env.rs alone");
}

#[test]
fn no_test_is_switched_off_and_no_code_is_missing() {
    let forbidden =
        [concat!("#[ign", "ore"), concat!("to", "do!("), concat!("unimpl", "emented!("), concat!("assert!(", "true)")];
    let mut found = Vec::new();
    for (path, text) in files(&[".rs"]) {
        for (number, line) in code(&text) {
            found.extend(forbidden.iter().filter(|it| line.contains(*it)).map(|it| format!("{path}:{number}: {it}")));
        }
    }
    assert_none(&found, "nothing is switched off or left out");
}

#[test]
fn no_path_of_one_machine_is_tracked() {
    let homes = [concat!("/ho", "me/"), concat!("/ro", "ot/"), concat!("/Us", "ers/")];
    let mut found = Vec::new();
    for (path, text) in files(&[".rs", ".py", ".sh", ".md", ".toml", ".json", ".java", ".yaml", ".yml"]) {
        for (at, line) in text.lines().enumerate() {
            found.extend(homes.iter().filter(|it| line.contains(*it)).map(|it| format!("{path}:{} has {it}", at + 1)));
        }
    }
    assert_none(&found, "the repository knows no machine");
}

#[test]
fn the_map_names_every_crate() {
    let map = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let mut missing = Vec::new();
    for folder in ["shared", "functions"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().to_string_lossy().into_owned();
            let named = map.contains(&format!("`{folder}/{name}`")) || map.contains(&format!("`{name}`"));
            missing.extend((!named).then(|| format!("{folder}/{name}")));
        }
    }
    assert_none(&missing, "ARCHITECTURE.md says where everything is");
}
