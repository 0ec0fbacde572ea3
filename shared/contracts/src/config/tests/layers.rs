//! A table's settings come from its properties, the globs that match its name and the file, in this order.

use std::collections::BTreeMap;

use super::*;
use crate::config::{Effective, Origin};

const LAYERS: &str = "[maintenance.compaction]
min_input_files = 9
delete_ratio_threshold = 0.9
target_file_size_bytes = 900
[maintenance.tables.'*'.compaction]
min_input_files = 8
[maintenance.tables.'sales.*'.compaction]
min_input_files = 7
delete_ratio_threshold = 0.7
[maintenance.tables.'sales.orders'.compaction]
min_input_files = 6
";

fn properties(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn effective(file: &str, table: &str, pairs: &[(&str, &str)]) -> Result<Effective, Vec<Problem>> {
    config(file).for_table(&table.parse().unwrap(), &properties(pairs))
}

fn min_input_files(table: &str, pairs: &[(&str, &str)]) -> u64 {
    effective(LAYERS, table, pairs).unwrap().policy.compaction.options.min_input_files
}

#[test]
fn the_most_specific_pattern_wins_and_the_others_fill_in() {
    assert_eq!(min_input_files("hr.people", &[]), 8);
    assert_eq!(min_input_files("sales.items", &[]), 7);
    assert_eq!(min_input_files("sales.orders", &[]), 6);
    let orders = effective(LAYERS, "sales.orders", &[]).unwrap().policy.compaction;
    assert!((orders.options.delete_ratio_threshold - 0.7).abs() < 1e-9);
    assert_eq!(orders.options.target_file_size_bytes, 900);
}

#[test]
fn a_pattern_spans_dots_and_matches_whole_names() {
    assert_eq!(min_input_files("sales.eu.items", &[]), 7);
    assert_eq!(min_input_files("presales.items", &[]), 8);
}

#[test]
fn a_tables_own_properties_win_over_all() {
    assert_eq!(min_input_files("sales.orders", &[("firn.compaction.min-input-files", "2")]), 2);
    let own = effective(
        LAYERS,
        "sales.orders",
        &[
            ("firn.compaction.partial-progress.enabled", "true"),
            ("firn.compaction.strategy", "sort!"),
            ("firn.windows.writer", "[{ cron = '0 1 * * *', duration_s = 60 }]"),
            ("firn.budget.usd-per-day", "3"),
            ("firn.heat", "24"),
            ("firn.enabled", "true"),
            ("owner", "me"),
        ],
    )
    .unwrap()
    .policy;
    assert!(own.compaction.options.partial_progress_enabled);
    assert_eq!(own.compaction.strategy.to_string(), "sort!");
    assert_eq!(own.windows.writer.len(), 1);
    assert!((own.budget.usd_per_day - 3.0).abs() < 1e-9);
    assert!((own.scoring.scans_per_day - 24.0).abs() < 1e-9);
}

#[test]
fn icebergs_target_size_wins_over_the_file_and_gives_way_to_firns_own() {
    let target = |pairs: &[(&str, &str)]| {
        effective(LAYERS, "sales.orders", pairs).unwrap().policy.compaction.options.target_file_size_bytes
    };
    assert_eq!(target(&[("write.target-file-size-bytes", "800")]), 800);
    let both = [("write.target-file-size-bytes", "800"), ("firn.compaction.target-file-size-bytes", "700")];
    assert_eq!(target(&both), 700);
}

#[test]
fn every_setting_knows_where_it_comes_from() {
    let effective = effective(LAYERS, "sales.orders", &[("firn.heat", "2")]).unwrap();
    let origin = |key: &str, line| Some(Origin { key: key.to_owned(), line });
    let of = |key: &str| effective.origins.get(key).cloned();
    let orders = "maintenance.tables.\"sales.orders\".compaction.min_input_files";
    // The catalog takes two lines before these.
    assert_eq!(of("compaction.min_input_files"), origin(orders, Some(13)));
    let target = "maintenance.compaction.target_file_size_bytes";
    assert_eq!(of("compaction.target_file_size_bytes"), origin(target, Some(6)));
    assert_eq!(of("scoring.scans_per_day"), origin("firn.heat", None));
    assert_eq!(of("budget.usd_per_day"), None);
}

#[test]
fn what_is_set_is_handed_to_the_planner_by_the_names_of_the_procedure() {
    let set = effective("", "a.b", &[("firn.compaction.rewrite-all", "true")]).unwrap().policy.compaction.set;
    assert_eq!(set, [("rewrite-all".to_owned(), "true".to_owned())]);
}

#[test]
fn properties_that_cannot_be_used_are_all_reported_by_their_names() {
    let wrong = [
        ("firn.compaction.min-input-file", "2"),
        ("firn.budget.usd-per-day", "much"),
        ("firn.colour", "blue"),
        ("write.target-file-size-bytes", "-1"),
    ];
    let found = effective("", "a.b", &wrong).unwrap_err();
    let keys: Vec<&str> = found.iter().map(|it| it.key.as_str()).collect();
    let mut expected: Vec<&str> = wrong.iter().map(|it| it.0).collect();
    expected.sort_unstable();
    assert_eq!(keys, expected, "{found:#?}");
}

#[test]
fn an_override_is_checked_on_top_of_the_file() {
    let file = "[maintenance.compaction]\nmax_file_size_bytes = 1000\ntarget_file_size_bytes = 900\n\
                [maintenance.tables.'a.*'.compaction]\ntarget_file_size_bytes = 2000\n";
    let found = problems(file);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].problem.contains("a.*") && found[0].line == Some(4), "{}", found[0]);
}

#[test]
fn owners_of_tables_do_not_read_the_environment() {
    let found = effective("", "a.b", &[("firn.windows.time-zone", "${ZONE}")]).unwrap_err();
    let said = format!("{found:?}");
    assert!(said.contains("${ZONE}") && !said.contains("Tokyo"), "{said}");
}
