//! `firn check-config`, and what the configuration does to the other commands, by the binary.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::{
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

const SECRET: &str = "hunter2-Q7x";
const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firn.example.toml");
const SQLITE: &str = "[catalog]\nuri = 'sqlite:///nowhere/catalog.db'\n";

/// A folder that commands run in, with its own state.
struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firn"));
        command.args(arguments).env("XDG_STATE_HOME", self.0.path()).current_dir(self.0.path());
        command.env_remove("FIRN_CONFIG").env_remove("FIRN_MAINTENANCE_CLIENT_SECRET");
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// The plan of a table `sales.orders` without snapshots that has `properties`.
    fn plan(&self, properties: &Value, arguments: &[&str]) -> Output {
        let metadata = self.write("v1.metadata.json", &metadata(properties).to_string());
        self.run(&[&["plan", &metadata, "--json"], arguments].concat())
    }

    /// The options of that plan.
    fn options(&self, properties: &Value, arguments: &[&str]) -> Value {
        json_of(&self.plan(properties, arguments))["options"].clone()
    }
}

fn metadata(properties: &Value) -> Value {
    json!({
        "format-version": 2, "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1", "location": "/w/sales/orders",
        "last-sequence-number": 0, "last-updated-ms": 1, "last-column-id": 1, "current-schema-id": 0,
        "schemas": [{"type": "struct", "schema-id": 0, "fields": [{"id": 1, "name": "id", "required": true, "type": "long"}]}],
        "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
        "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}], "properties": properties,
    })
}

fn json_of(output: &Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn the_example_can_be_used_once_its_secret_is_set_and_the_secret_is_not_printed() {
    let world = World::new();
    let check = |arguments: &[&str]| {
        let arguments = [&["check-config", "--config", EXAMPLE], arguments].concat();
        world.command(&arguments).env("FIRN_MAINTENANCE_CLIENT_SECRET", SECRET).output().unwrap()
    };
    let (text, json) = (check(&[]), check(&["--json"]));
    assert!(stdout(&text).contains("can be used: 0 errors, 0 warnings."), "{}", stdout(&text));
    let report = json_of(&json);
    assert_eq!((&report["path"], &report["ok"], &report["problems"]), (&json!(EXAMPLE), &json!(true), &json!([])));
    assert_eq!(report["effective"]["maintenance"]["principal"]["client_secret"], "***");
    assert_eq!(report["effective"]["maintenance"]["mode"], "active");
    assert!(![text, json].iter().any(|it| (stdout(it) + &stderr(it)).contains(SECRET)));
}

#[test]
fn a_file_that_cannot_be_used_lists_its_problems_and_ends_with_2() {
    let world = World::new();
    let path = world.write("firn.toml", "[catalog]\nuri = 'ftp://x'\n[maintenance]\nmood = 'off'\n");
    let output = world.run(&["check-config", "--json"]);
    assert_eq!(output.status.code(), Some(2));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&report["path"], &report["ok"], &report["effective"]),
        (&json!("firn.toml"), &json!(false), &json!(null))
    );
    let problems = report["problems"].as_array().unwrap();
    let places: Vec<_> = problems.iter().map(|it| (it["line"].clone(), it["key"].clone())).collect();
    assert_eq!(places, [(json!(2), json!("catalog.uri")), (json!(4), json!("maintenance.mood"))]);
    for problem in problems {
        let keys: Vec<&str> = problem.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(keys, ["help", "key", "line", "problem", "severity"]);
        assert_eq!(problem["severity"], "error");
    }
    let text = world.run(&["check-config", "--config", &path]);
    assert_eq!(text.status.code(), Some(2));
    let shown = stdout(&text);
    assert!(["maintenance.mood", "cannot be used: 2 errors"].iter().all(|it| shown.contains(it)), "{shown}");
}

#[test]
fn a_warning_is_listed_and_stops_nothing() {
    let world = World::new();
    world.write("firn.toml", &format!("{SQLITE}warehouse = 'w'\n"));
    let output = world.run(&["check-config"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(stdout(&output).contains("0 errors, 1 warning."), "{}", stdout(&output));
    assert_eq!(world.run(&["jobs"]).status.code(), Some(0));
}

#[test]
fn every_command_stops_at_a_broken_file_with_all_its_problems() {
    let world = World::new();
    world.write("firn.toml", "[catalogue]\n[maintenance.budget]\nusd_per_day = 0\n");
    for arguments in [
        &["jobs"][..],
        &["health"],
        &["plan", "a.b"],
        &["compact", "a.b"],
        &["verify", "a.b", "--from", "1", "--to", "2"],
        &["health", "/x/v1.metadata.json"],
    ] {
        let output = world.run(arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        for part in
            ["firn.toml cannot be used", "catalog.uri", "line 1: catalogue", "line 3: maintenance.budget.usd_per_day"]
        {
            assert!(said.contains(part), "{arguments:?}: {said}");
        }
    }
}

#[test]
fn the_option_goes_before_the_variable_and_that_before_the_folder() {
    let world = World::new();
    let with = |name: &str, files: u32| {
        world.write(name, &format!("{SQLITE}[maintenance.compaction]\nmin_input_files = {files}\n"))
    };
    let (option, variable) = (with("option.toml", 11), with("variable.toml", 12));
    with("firn.toml", 13);
    let min_input_files = |arguments: &[&str], variable: Option<&str>| {
        let arguments = [&["check-config", "--json"], arguments].concat();
        let output = world.command(&arguments).envs(variable.map(|it| ("FIRN_CONFIG", it))).output().unwrap();
        json_of(&output)["effective"]["maintenance"]["compaction"]["min_input_files"].clone()
    };
    assert_eq!(min_input_files(&["--config", &option], Some(&variable)), 11);
    assert_eq!(min_input_files(&[], Some(&variable)), 12);
    assert_eq!(min_input_files(&[], None), 13);
}

#[test]
fn a_file_that_is_named_must_exist_and_one_is_needed_to_check() {
    let world = World::new();
    for (arguments, says) in
        [(&["jobs", "--config", "absent.toml"][..], "absent.toml"), (&["check-config"], "no configuration to check")]
    {
        let output = world.run(arguments);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(says), "{}", stderr(&output));
    }
    assert_eq!(world.run(&["jobs"]).status.code(), Some(0));
}

#[test]
fn the_catalog_of_the_command_line_goes_before_the_files() {
    let world = World::new();
    world.write("firn.toml", &format!("{SQLITE}\n[maintenance]\n"));
    let uri = |arguments: &[&str]| {
        json_of(&world.run(&[&["check-config", "--json"], arguments].concat()))["effective"]["catalog"]["uri"].clone()
    };
    assert_eq!(uri(&[]), "sqlite:///nowhere/catalog.db");
    assert_eq!(uri(&["--catalog", "sqlite:///other.db?name=x"]), "sqlite:///other.db?name=x");
}

#[test]
fn a_rest_catalog_is_said_to_be_missing_and_its_password_is_not_printed() {
    let world = World::new();
    let output = world.run(&["health", "--catalog", "https://host/iceberg"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("REST catalogs are not built yet"), "{}", stderr(&output));
    let output = world.run(&["health", "--catalog", &format!("https://me:{SECRET}@host/iceberg")]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("without credentials") && !stderr(&output).contains(SECRET));
}

#[test]
fn without_a_file_a_plan_has_sparks_defaults() {
    let options = World::new().options(&json!({}), &[]);
    assert_eq!((&options["min-input-files"], &options["target-file-size-bytes"]), (&json!(5), &json!(536_870_912)));
}

#[test]
fn the_command_line_goes_before_properties_and_they_before_overrides_and_those_before_the_file() {
    let world = World::new();
    let file = |text: &str| {
        world.write("firn.toml", &format!("{SQLITE}[maintenance.compaction]\nmin_input_files = 9\n{text}"))
    };
    let property = json!({"firn.compaction.min-input-files": "7"});
    let of = |properties: &Value, arguments: &[&str]| world.options(properties, arguments)["min-input-files"].clone();
    file("");
    assert_eq!(of(&json!({}), &[]), 9);
    file("[maintenance.tables.'sales.*'.compaction]\nmin_input_files = 8\n");
    assert_eq!(of(&json!({}), &[]), 8);
    assert_eq!(of(&property, &[]), 7);
    assert_eq!(of(&property, &["-o", "min-input-files=6"]), 6);
}

#[test]
fn icebergs_target_size_goes_before_the_file() {
    let world = World::new();
    world.write("firn.toml", &format!("{SQLITE}[maintenance.compaction]\ntarget_file_size_bytes = 1000\n"));
    assert_eq!(world.options(&json!({}), &[])["target-file-size-bytes"], 1000);
    let options = world.options(&json!({"write.target-file-size-bytes": "2000"}), &[]);
    // 75 % of 2000.
    assert_eq!((&options["target-file-size-bytes"], &options["min-file-size-bytes"]), (&json!(2000), &json!(1500)));
}

#[test]
fn a_property_that_cannot_be_used_is_named_with_its_table() {
    let output = World::new().plan(&json!({"firn.compaction.min-input-file": "2"}), &[]);
    assert_eq!(output.status.code(), Some(2));
    let said = stderr(&output);
    for part in ["sales.orders", "firn.compaction.min-input-file", "min_input_files"] {
        assert!(said.contains(part), "{said}");
    }
}

#[test]
fn a_strategy_that_is_always_wanted_and_not_built_is_refused_unless_another_is_asked_for() {
    let world = World::new();
    let file = |strategy: &str| {
        world.write("firn.toml", &format!("{SQLITE}[maintenance.compaction]\nstrategy = '{strategy}'\n"))
    };
    file("sort!");
    let refused = world.plan(&json!({}), &[]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("sort!"), "{}", stderr(&refused));
    assert_eq!(world.plan(&json!({}), &["--strategy", "binpack"]).status.code(), Some(0));
    file("sort");
    assert_eq!(world.plan(&json!({}), &[]).status.code(), Some(0));
}

#[test]
fn the_configured_property_opts_a_table_in() {
    let world = World::new();
    world.write("firn.toml", &format!("{SQLITE}[maintenance]\nproperty = 'care.on'\n"));
    let opted_in = |property: &str| {
        let metadata = world.write("v1.metadata.json", &metadata(&json!({ property: "true" })).to_string());
        json_of(&world.run(&["health", &metadata, "--json"]))[0]["opted_in"].clone()
    };
    assert_eq!((opted_in("care.on"), opted_in("firn.enabled")), (json!(true), json!(false)));
    std::fs::remove_file(Path::new(&world.0.path().join("firn.toml"))).unwrap();
    assert_eq!(opted_in("firn.enabled"), true);
}
