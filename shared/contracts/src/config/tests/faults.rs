//! What is wrong is said, all of it, with its line.

use super::*;

/// Fourteen faults of as many kinds, each on the line that says its number.
const FAULTS: &str = r#"[catalog]
uri = "https://catalog.example.com/iceberg"
auth = "oauth3" # 3
[storage]
pathstyle = true # 5
[maintenance]
mode = 1 # 7
[maintenance.scheduler]
schedule = "0 25 * * *" # 9
time_zone = "Europe/Bärlin" # 10
[maintenance.compaction]
target_file_size_bytes = 1048576
min_file_size_bytes = 2097152 # 13
min_input_file = 3 # 14
strategy = "zorder()" # 15
[maintenance.budget]
usd_per_day = -1 # 17
groups_per_job = "many" # 18
[maintenance.windows]
writer = [
  { cron = "0 1 * * *", duration_s = 3600 },
  { cron = "0 2 * * *", duration_s = 0 }, # 22
]
[maintenance.tables."sales.[ab]".budget] # 24
commits_per_job = 2.5 # 25
[interactive]
client_ids = ["${NOBODY_SET_THIS}"] # 27
"#;

#[test]
fn every_problem_is_reported_at_once_with_its_line_and_what_to_do() {
    let found = parse(FAULTS).unwrap_err();
    let lines: Vec<usize> = found.iter().map(|it| it.line.unwrap()).collect();
    let marked = |(at, line): (usize, &str)| line.contains(&format!("# {}", at + 1)).then_some(at + 1);
    let expected: Vec<usize> = FAULTS.lines().enumerate().filter_map(marked).collect();
    assert_eq!(lines, expected, "{found:#?}");
    assert_eq!(expected.len(), 14);
    for problem in &found {
        let line = FAULTS.lines().nth(problem.line.unwrap() - 1).unwrap();
        let key = problem.key.rsplit('.').next().unwrap();
        assert!(line.contains(key.trim_end_matches('"')), "{problem}");
        assert!(!problem.problem.is_empty() && !problem.help.is_empty(), "{problem:?}");
    }
}

#[test]
fn what_is_no_toml_is_the_only_problem() {
    let found = parse("[catalog]\nuri = \n[maintenance]\nmood = 'x'\n").unwrap_err();
    let [problem] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!(problem.line, Some(2));
    assert!(problem.problem.contains("no TOML"), "{problem}");
}

#[test]
fn a_key_written_twice_is_no_toml() {
    let found = problems("[maintenance]\nmode = 'off'\nmode = 'off'\n");
    assert_eq!(found.iter().map(|it| it.line).collect::<Vec<_>>(), [Some(5)], "{found:#?}");
}

#[test]
fn an_unknown_key_comes_with_the_near_ones() {
    assert_problem("[maintenance.budget]\nbyte_per_day = 1\n", "maintenance.budget.byte_per_day", "bytes_per_day");
    assert_problem("[maintanance]\nmode = 'off'\n", "maintanance", "near are maintenance");
    assert_problem(
        "[maintenance.compaction]\nmin-input-files = 2\n",
        "maintenance.compaction.min-input-files",
        "min_input_files",
    );
    assert_problem(
        "[maintenance.tables.'a.*'.principal]\nx = 1\n",
        "maintenance.tables.\"a.*\".principal",
        "scheduler",
    );
}

#[test]
fn a_value_of_another_type_says_which_is_wanted() {
    assert_problem(
        "[maintenance.budget]\ngroups_per_job = '5'\n",
        "maintenance.budget.groups_per_job",
        "without quotes",
    );
    assert_problem("[maintenance.budget]\ngroups_per_job = 5.0\n", "maintenance.budget.groups_per_job", "whole number");
    assert_problem("[maintenance]\nscheduler = 5\n", "maintenance.scheduler", "must be a table");
    assert_problem(
        "[maintenance.compaction]\nmin_input_files = '5'\n",
        "maintenance.compaction.min_input_files",
        "without quotes",
    );
    assert_problem("[storage]\nregion = 1979-05-27\n", "storage.region", "date");
    assert_problem("[interactive]\nclient_ids = 'a'\n", "interactive.client_ids", "a list");
    assert_problem("[maintenance.windows]\nwriter = ['x']\n", "maintenance.windows.writer", "must be a table");
}

#[test]
fn impossible_numbers_are_refused() {
    let compaction = "maintenance.compaction.target_file_size_bytes";
    assert_problem("[maintenance.compaction]\ntarget_file_size_bytes = 0\n", compaction, "above 0");
    assert_problem("[maintenance.budget]\nbytes_per_day = -1\n", "maintenance.budget.bytes_per_day", "out of range");
    assert_problem("[maintenance.budget]\nusd_per_day = nan\n", "maintenance.budget.usd_per_day", "out of range");
    assert_problem("[maintenance.budget]\nusd_per_day = inf\n", "maintenance.budget.usd_per_day", "out of range");
    assert_problem(
        "[maintenance.budget]\nbytes_per_day = 9223372036854775808\n",
        "maintenance.budget.bytes_per_day",
        "too large",
    );
    assert_problem(
        "[maintenance.scoring]\ndelete_ratio_limit = 1.5\n",
        "maintenance.scoring.delete_ratio_limit",
        "between 0 and 1",
    );
}

#[test]
fn sizes_that_exclude_each_other_are_refused() {
    let sizes = "target_file_size_bytes = 100\nmax_file_size_bytes = 90\n";
    let key = "maintenance.compaction.max_file_size_bytes";
    assert_problem(&format!("[maintenance.compaction]\n{sizes}"), key, "above");
    let near_line = "[maintenance.compaction]\ntarget_file_size_bytes = 100\nnear_line_target_file_size_bytes = 101\n";
    assert_problem(
        near_line,
        "maintenance.compaction.near_line_target_file_size_bytes",
        "above target_file_size_bytes",
    );
}

#[test]
fn times_that_never_come_and_zones_that_do_not_exist_are_refused() {
    let schedule = "maintenance.scheduler.schedule";
    for (cron, says) in [
        ("0 0 30 2 *", "never comes"),
        ("* * * *", "five fields"),
        ("0 0 2 * * *", "five fields"),
        ("61 * * * *", "no cron expression"),
        ("every night", "no cron expression"),
    ] {
        assert_problem(&format!("[maintenance.scheduler]\nschedule = '{cron}'\n"), schedule, says);
    }
    assert_problem(
        "[maintenance.windows]\ntime_zone = 'CET/Berlin'\n",
        "maintenance.windows.time_zone",
        "no time zone",
    );
}

#[test]
fn jitter_is_no_longer_than_the_pause_between_two_runs() {
    let key = "maintenance.scheduler.jitter_s";
    // Every ten minutes is every 600 s.
    assert_problem("[maintenance.scheduler]\nschedule = '*/10 * * * *'\njitter_s = 601\n", key, "600 s");
    assert_eq!(problems("[maintenance.scheduler]\nschedule = '*/10 * * * *'\njitter_s = 600\n"), []);
    // Daily at 2:00 and 2:05.
    assert_problem("[maintenance.scheduler]\nschedule = '0,5 2 * * *'\njitter_s = 301\n", key, "300 s");
    assert_eq!(problems("[maintenance.scheduler]\nschedule = '* * * * *'\n"), []);
    assert_eq!(problems("[maintenance.scheduler]\nschedule = 'off'\njitter_s = 90000\n"), []);
}

#[test]
fn a_window_closes_before_it_opens_again_and_has_both_its_keys() {
    let window = |inner: &str| format!("[maintenance.windows]\nmaintenance = [{{ {inner} }}]\n");
    let key = "maintenance.windows.maintenance";
    assert_problem(&window("cron = '0 * * * *', duration_s = 3601"), &format!("{key}.duration_s"), "3600 s");
    assert_problem(&window("cron = '0 * * * *'"), &format!("{key}.duration_s"), "is missing");
    assert_problem(&window("duration_s = 60"), &format!("{key}.cron"), "is missing");
    assert_problem(
        &window("cron = '0 * * * *', duration_s = 60, zone = 'UTC'"),
        &format!("{key}.zone"),
        "no known key",
    );
}

#[test]
fn one_run_has_no_larger_budget_than_a_day() {
    assert_problem(
        "[maintenance.budget]\nusd_per_day = 1\nusd_per_run = 2\n",
        "maintenance.budget.usd_per_run",
        "usd_per_day",
    );
}

#[test]
fn where_belongs_to_a_run_and_not_to_the_configuration() {
    assert_problem("[maintenance.compaction]\nwhere = 'a = 1'\n", "maintenance.compaction.where", "--where");
}

#[test]
fn an_sqlite_catalog_authorises_nobody() {
    for auth in ["oauth2", "sigv4"] {
        let found = parse(&format!("{SQLITE}auth = '{auth}'\n")).unwrap_err();
        assert_eq!((found[0].key.as_str(), found[0].line), ("catalog.auth", Some(3)));
        assert!(found[0].problem.contains("SQLite"));
    }
}

#[test]
fn active_needs_a_principal_where_the_catalog_wants_one() {
    let with = |auth: &str, mode: &str| {
        format!("[catalog]\nuri = 'https://h/i'\nauth = '{auth}'\n[maintenance]\nmode = '{mode}'\n")
    };
    let found = parse(&with("oauth2", "active")).unwrap_err();
    assert_eq!((found[0].key.as_str(), found[0].line, found.len()), ("maintenance.mode", Some(5), 1));
    for (auth, mode) in [("oauth2", "advisory"), ("none", "active"), ("sigv4", "active"), ("oauth2", "off")] {
        assert_eq!(parse(&with(auth, mode)).unwrap().warnings, [], "{auth} {mode}");
    }
    assert_eq!(problems("[maintenance]\nmode = 'active'\n"), []);
}

#[test]
fn a_principal_has_an_endpoint_an_id_and_a_secret() {
    let found = problems("[maintenance.principal]\nscope = 's'\n");
    let keys: Vec<&str> = found.iter().map(|it| it.key.as_str()).collect();
    let expected = ["client_id", "client_secret", "token_endpoint"].map(|key| format!("maintenance.principal.{key}"));
    assert_eq!(keys, expected);
    assert!(found.iter().all(|it| it.line == Some(3)));
}

#[test]
fn nothing_is_concluded_from_a_value_that_cannot_be_read() {
    let principal = "[maintenance.principal]\nclient_id = 'a'\nclient_secret = '${FIRN_MAINTENANCE_CLIENT_SECRET}'\n\
                     token_endpoint = 'https://idp/t'\n";
    let with = |auth: &str| format!("[catalog]\nuri = 'https://h/i'\nauth = '{auth}'\n{principal}");
    let found = parse(&with("oauth3")).unwrap_err();
    assert_eq!(found.iter().map(|it| it.key.as_str()).collect::<Vec<_>>(), ["catalog.auth"]);
    // A principal that nobody asks for is doubtful only where that is certain.
    assert_eq!(parse(&with("none")).unwrap().warnings.len(), 1);
    assert_eq!(parse(&with("oauth2")).unwrap().warnings, []);
}

#[test]
fn tokens_and_secrets_travel_encrypted() {
    let principal = "[maintenance.principal]\nclient_id = 'a'\nclient_secret = '${FIRN_MAINTENANCE_CLIENT_SECRET}'\n";
    let key = "maintenance.principal.token_endpoint";
    assert_problem(&format!("{principal}token_endpoint = 'http://idp/t'\n"), key, "unencrypted");
    assert_eq!(problems(&format!("{principal}token_endpoint = 'http://localhost:8080/t'\n")), []);
    let found = parse("[catalog]\nuri = 'http://h/i'\nauth = 'oauth2'\n").unwrap_err();
    assert_eq!((found[0].key.as_str(), found[0].line), ("catalog.auth", Some(3)));
}

#[test]
fn a_principal_that_is_a_person_or_an_engine_is_warned_about() {
    let principal = "[maintenance.principal]\ntoken_endpoint = 'https://idp/t'\nclient_id = 'spark'\n\
                     client_secret = '${FIRN_MAINTENANCE_CLIENT_SECRET}'\n[interactive]\nclient_ids = ['trino', 'spark']\n";
    let found = problems(principal);
    assert_eq!((found[0].severity, found[0].line, found.len()), (Severity::Warning, Some(5), 1));
    assert!(found[0].problem.contains("[interactive] client_ids"));
    assert!(parse(&format!("{SQLITE}{principal}")).is_ok());
}

#[test]
fn catalog_addresses_are_read_as_the_command_line_reads_them() {
    for (uri, says) in [
        ("sqlite://w/c.db", "three slashes"),
        ("sqlite:///w/c.db?nome=x", "name=CATALOG_NAME"),
        ("ftp://h/c", "sqlite:///"),
        ("https://", "without credentials"),
        ("https://h/i?token=t", "without credentials"),
    ] {
        let found = parse(&format!("[catalog]\nuri = '{uri}'\n")).unwrap_err();
        assert_eq!((found[0].line, found.len()), (Some(2), 1), "{found:?}");
        assert!(found[0].to_string().contains(says), "{}", found[0]);
    }
    let named: CatalogUri = "sqlite:///w/c.db?name=prod".parse().unwrap();
    assert_eq!(named, CatalogUri::Sqlite { path: "/w/c.db".into(), name: Some("prod".to_owned()) });
    assert_eq!(named.to_string(), "sqlite:///w/c.db?name=prod");
}

#[test]
fn a_variable_that_is_not_set_is_named() {
    assert_problem("[maintenance]\nproperty = '${NOPE}'\n", "maintenance.property", "set NOPE");
    assert_problem("[maintenance]\nproperty = '${EMPTY}'\n", "maintenance.property", "EMPTY");
    assert_problem("[maintenance]\nproperty = '${not a name}'\n", "maintenance.property", "$${");
    assert_problem("[maintenance]\nproperty = 'x${'\n", "maintenance.property", "closing brace");
}

#[test]
fn strategies_that_do_not_exist_are_refused() {
    let key = "maintenance.compaction.strategy";
    for (text, says) in
        [("zsort", "no strategy"), ("zorder", "columns"), ("zorder(a,)", "columns"), ("zorder(a,a)", "twice")]
    {
        assert_problem(&format!("[maintenance.compaction]\nstrategy = '{text}'\n"), key, says);
    }
}

#[test]
fn patterns_of_table_names_have_two_wildcards() {
    for glob in ["sales.{a,b}", "sales", "", "a b.c"] {
        let found = problems(&format!("[maintenance.tables.'{glob}'.budget]\n"));
        assert_eq!((found.len(), found[0].line), (1, Some(3)), "{glob}: {found:?}");
    }
    assert_eq!(problems("[maintenance.tables.'*']\n[maintenance.tables.'?.orders']\n"), []);
}
