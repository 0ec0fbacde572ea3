//! Who may know whom, read from `cargo metadata`.

use std::{
    collections::{BTreeMap, BTreeSet},
    process::Command,
};

use serde_json::Value;

/// What each crate without a `main` may depend on inside the workspace.
const INWARD: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("contracts", &["model"]),
    ("planning", &["model"]),
    ("verification", &["model"]),
    ("ports", &["model"]),
    ("table_io", &["model", "ports"]),
    ("catalog_io", &["model", "ports"]),
    ("local_io", &["model", "ports"]),
    ("rewrite_engine", &["model", "ports", "table_io"]),
    ("planner", &["model", "planning", "verification", "ports", "table_io"]),
    ("rewriter", &["model", "ports", "table_io", "rewrite_engine"]),
    ("committer", &["model", "verification", "ports", "table_io"]),
];

/// What the pure crates may use of crates.io: data structures, text and hashes, nothing that reaches outside the process.
/// Calendars are among it; `sources` sees to it that nobody asks them what time it is.
const PURE_EXTERNAL: &[&str] =
    &["chrono", "chrono-tz", "croner", "serde", "serde_json", "sha2", "thiserror", "toml", "wildmatch"];

const PURE: &[&str] = &["model", "contracts", "planning", "verification"];

/// The world that tests and the demo live in: it may use every adapter.
const TEST_WORLD: &[&str] = &["simulation", "tests"];

const BINARIES: &[&str] = &["cli"];

fn metadata(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--locked"])
        .args(arguments)
        .current_dir(super::root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Normal (not development) dependencies by package: (inside the workspace, outside).
fn direct_dependencies() -> BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)> {
    let metadata = metadata(&["--no-deps"]);
    let packages = metadata["packages"].as_array().unwrap();
    packages.iter().map(|package| (text(&package["name"]), split(&package["dependencies"]))).collect()
}

fn split(dependencies: &Value) -> (BTreeSet<String>, BTreeSet<String>) {
    let normal = dependencies.as_array().unwrap().iter().filter(|it| it["kind"].is_null());
    let (inside, outside): (Vec<_>, Vec<_>) = normal.partition(|it| it.get("path").is_some());
    let names = |list: Vec<&Value>| list.into_iter().map(|it| text(&it["name"])).collect();
    (names(inside), names(outside))
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn dependencies_point_inward() {
    let packages = direct_dependencies();
    for (name, allowed) in INWARD {
        for dependency in &packages[*name].0 {
            assert!(allowed.contains(&dependency.as_str()), "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn every_crate_has_a_place_in_the_rules() {
    for name in direct_dependencies().keys() {
        let ruled = INWARD.iter().any(|(it, _)| it == name);
        let free = BINARIES.contains(&name.as_str()) || TEST_WORLD.contains(&name.as_str());
        assert!(ruled || free, "say in tests/tidy what {name} may depend on");
    }
}

#[test]
fn pure_crates_link_nothing_that_reaches_outside() {
    let packages = direct_dependencies();
    for name in PURE {
        for dependency in &packages[*name].1 {
            assert!(PURE_EXTERNAL.contains(&dependency.as_str()), "{name} is pure: it must not use {dependency}");
        }
    }
}

/// The identity boundary: whatever a rewriter is told, it has no code to speak to a catalog with.
#[test]
fn the_rewriter_links_no_catalog_code() {
    let reachable = reachable_from("rewriter");
    for forbidden in ["catalog_io", "local_io", "rusqlite", "libsqlite3-sys", "iceberg-catalog-rest", "aws-sigv4"] {
        assert!(!reachable.contains(forbidden), "rewriter links {forbidden}");
    }
    assert!(reachable.contains("rewrite_engine"), "the walk over the dependency graph finds nothing");
}

fn reachable_from(name: &str) -> BTreeSet<String> {
    let metadata = metadata(&[]);
    let names: BTreeMap<String, String> =
        metadata["packages"].as_array().unwrap().iter().map(|it| (text(&it["id"]), text(&it["name"]))).collect();
    let edges: BTreeMap<String, Vec<String>> = metadata["resolve"]["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (text(&node["id"]), normal_edges(&node["deps"])))
        .collect();
    let mut pending: Vec<&String> = names.iter().filter(|(_, it)| *it == name).map(|(id, _)| id).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if seen.insert(id) {
            pending.extend(&edges[id]);
        }
    }
    seen.into_iter().map(|id| names[id].clone()).collect()
}

fn normal_edges(dependencies: &Value) -> Vec<String> {
    let is_normal = |it: &&Value| it["dep_kinds"].as_array().unwrap().iter().any(|kind| kind["kind"].is_null());
    dependencies.as_array().unwrap().iter().filter(is_normal).map(|it| text(&it["pkg"])).collect()
}

#[test]
fn folder_and_package_have_one_name() {
    for package in metadata(&["--no-deps"])["packages"].as_array().unwrap() {
        let manifest = std::path::PathBuf::from(text(&package["manifest_path"]));
        let folder = manifest.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(folder, text(&package["name"]));
    }
}
