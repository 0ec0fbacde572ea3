//! The rules of `firn.toml`, each by its name.

mod faults;
mod layers;
mod secrets;

use super::{CatalogUri, Config, Parsed, Problem, Severity};

/// The secret of every test.
const SECRET: &str = "hunter2-Q7x";
const SQLITE: &str = "[catalog]\nuri = 'sqlite:///w/catalog.db'\n";

fn variables(name: &str) -> Option<String> {
    match name {
        "FIRN_MAINTENANCE_CLIENT_SECRET" => Some(SECRET.to_owned()),
        "EMPTY" => Some(String::new()),
        "ZONE" => Some("Asia/Tokyo".to_owned()),
        _ => None,
    }
}

fn parse(text: &str) -> Result<Parsed, Vec<Problem>> {
    Config::parse(text, &variables, None)
}

fn config(text: &str) -> Config {
    parse(&format!("{SQLITE}{text}")).unwrap().config
}

/// The problems of `text` after a good catalog of two lines.
fn problems(text: &str) -> Vec<Problem> {
    match parse(&format!("{SQLITE}{text}")) {
        Ok(parsed) => parsed.warnings,
        Err(problems) => problems,
    }
}

/// Asserts that `text` has one problem, at `key`, that says `says`.
fn assert_problem(text: &str, key: &str, says: &str) {
    let found = problems(text);
    let [problem] = found.as_slice() else { panic!("{text}: {found:#?}") };
    assert_eq!(problem.key, key, "{problem}");
    assert!(problem.to_string().contains(says), "{problem}");
    assert_eq!(problem.severity, Severity::Error);
}

const EXAMPLE: &str = include_str!("../../../../firn.example.toml");

/// `firn.example.toml` with every key that it shows as commented out.
fn uncommented() -> String {
    let setting = |line: &str| {
        let rest = line.strip_prefix("# ")?;
        let (key, _) = rest.split_once(" = ")?;
        key.chars().all(|it| it.is_ascii_lowercase() || it == '_').then(|| rest.to_owned())
    };
    EXAMPLE.lines().map(|line| setting(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

#[test]
fn the_example_file_has_no_problems() {
    assert_eq!(parse(EXAMPLE).unwrap().warnings, []);
}

#[test]
fn the_example_file_shows_every_setting_and_its_default() {
    let (as_is, shown) = (parse(EXAMPLE).unwrap(), parse(&uncommented()).unwrap());
    assert_eq!(shown.warnings, []);
    let (defaults, shown) = (json(&as_is.config), json(&shown.config));
    // No limit has no number that could be shown, and these are the AWS SDK's or the table's own.
    let unlimited = [
        "/maintenance/budget/gb_seconds_per_day",
        "/maintenance/budget/gb_seconds_per_run",
        "/maintenance/compaction/max_file_group_input_files",
        "/maintenance/compaction/max_files_to_rewrite",
        "/maintenance/compaction/output_spec_id",
        "/storage/endpoint",
        "/storage/region",
    ];
    let mut different = Vec::new();
    compare("", &defaults, &shown, &mut different);
    assert_eq!(different, unlimited);
    for path in leaves("", &defaults) {
        let key = path.rsplit('/').next().unwrap();
        assert!(EXAMPLE.contains(&format!("{key} = ")), "{path} is not in the example");
    }
}

fn json(config: &Config) -> serde_json::Value {
    serde_json::to_value(config).unwrap()
}

fn leaves(path: &str, value: &serde_json::Value) -> Vec<String> {
    match value.as_object() {
        Some(map) => map.iter().flat_map(|(key, value)| leaves(&format!("{path}/{key}"), value)).collect(),
        None if path.contains("/tables") => Vec::new(),
        None => vec![path.to_owned()],
    }
}

fn compare(path: &str, left: &serde_json::Value, right: &serde_json::Value, different: &mut Vec<String>) {
    match (left.as_object(), right.as_object()) {
        (Some(left), Some(right)) => {
            assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
            left.iter().for_each(|(key, value)| compare(&format!("{path}/{key}"), value, &right[key], different));
        }
        _ if left != right => different.push(path.to_owned()),
        _ => {}
    }
}

#[test]
fn the_file_of_the_design_has_no_problems() {
    let parsed = parse(include_str!("tests/full.toml")).unwrap();
    assert_eq!(parsed.warnings, []);
    let config = parsed.config;
    assert_eq!(config.catalog.uri, Some(CatalogUri::Rest("https://catalog.example.com/iceberg".to_owned())));
    assert_eq!(config.maintenance.policy.compaction.options.target_file_size_bytes, 268_435_456);
    assert_eq!(config.maintenance.policy.budget.groups_per_job, 50);
    let effective = config.for_table(&"sales.orders".parse().unwrap(), &[].into()).unwrap();
    assert_eq!(effective.policy.compaction.options.min_input_files, 2);
}

#[test]
fn a_file_must_name_a_catalog_and_the_command_line_may_stand_for_it() {
    let found = parse("[maintenance]\nmode = 'off'\n").unwrap_err();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].key.as_str(), found[0].line), ("catalog.uri", None));
    let uri: CatalogUri = "sqlite:///w/c.db".parse().unwrap();
    let config = Config::parse("", &variables, Some(&uri)).unwrap().config;
    assert_eq!(config.catalog.uri, Some(uri));
}

#[test]
fn everything_but_the_catalog_has_a_default() {
    let (empty, none) = (config(""), Config::without_file(Some("sqlite:///w/catalog.db".parse().unwrap())));
    assert_eq!(json(&empty), json(&none));
    assert_eq!(none.maintenance.property, "firn.enabled");
    assert_eq!(json(&none)["maintenance"]["mode"], "off");
    // Spark's defaults: 512 MiB, and files below 75 % of it are small.
    assert_eq!(json(&none)["maintenance"]["compaction"]["min_file_size_bytes"], 402_653_184);
}

#[test]
fn a_variable_stands_for_its_value_wherever_it_is_written() {
    let config = config("[maintenance.windows]\ntime_zone = '${ZONE}'\n");
    assert_eq!(config.maintenance.policy.windows.time_zone.name(), "Asia/Tokyo");
    let plain = self::config("[maintenance]\nproperty = 'a$${b}$c'\n");
    assert_eq!(plain.maintenance.property, "a${b}$c");
}

#[test]
fn strategies_are_read_as_they_are_written() {
    for text in ["binpack", "sort", "sort!", "zorder(a,b)", "zorder(a,b)!"] {
        let config = config(&format!("[maintenance.compaction]\nstrategy = '{text}'\n"));
        assert_eq!(config.maintenance.policy.compaction.strategy.to_string(), text);
    }
    let spaced = config("[maintenance.compaction]\nstrategy = ' zorder( a , b.c ) ! '\n");
    assert_eq!(spaced.maintenance.policy.compaction.strategy.to_string(), "zorder(a,b.c)!");
}
