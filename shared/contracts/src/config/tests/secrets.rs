//! No secret is ever seen, and no text makes the parser fall over.

use proptest::prelude::*;

use super::*;
use crate::config::ClientSecret;

/// Everything that can be printed of what `text` parses to.
fn seen(text: &str) -> String {
    match parse(text) {
        Ok(parsed) => {
            let json = serde_json::to_string(&parsed.config).unwrap();
            let effective = parsed.config.for_table(&"a.b".parse().unwrap(), &[].into());
            format!("{parsed:?} {json} {effective:?}")
        }
        Err(problems) => {
            let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
            format!("{problems:?} {texts:?} {}", serde_json::to_string(&problems).unwrap())
        }
    }
}

#[test]
fn a_secret_shows_as_three_stars_and_is_there_for_who_asks() {
    let parsed = parse(EXAMPLE).unwrap();
    assert_eq!(json(&parsed.config)["maintenance"]["principal"]["client_secret"], "***");
    let shown = seen(EXAMPLE);
    assert!(shown.contains("***") && !shown.contains(SECRET), "{shown}");
    let ClientSecret::Value(secret) = parsed.config.maintenance.principal.unwrap().client_secret else { panic!() };
    assert_eq!((secret.expose(), format!("{secret} {secret:?}").as_str()), (SECRET, "*** ***"));
}

#[test]
fn a_secret_that_is_not_set_is_the_only_problem_of_its_file() {
    let found = Config::parse(EXAMPLE, &|_| None, None).unwrap_err();
    let [problem] = found.as_slice() else { panic!("{found:#?}") };
    assert_eq!(problem.key, "maintenance.principal.client_secret");
    assert!(problem.help.contains("set FIRN_MAINTENANCE_CLIENT_SECRET"), "{problem}");
}

#[test]
fn a_secret_in_the_file_is_warned_about_and_not_shown() {
    let text = EXAMPLE.replace("${FIRN_MAINTENANCE_CLIENT_SECRET}", SECRET);
    let warnings = parse(&text).unwrap().warnings;
    assert_eq!(warnings.len(), 1);
    assert!(warnings[0].help.contains("${NAME}"));
    assert!(!seen(&text).contains(SECRET));
}

#[test]
fn a_secret_of_secrets_manager_is_a_reference() {
    let arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:firn-AbCdEf";
    let parsed = parse(&EXAMPLE.replace("${FIRN_MAINTENANCE_CLIENT_SECRET}", arn)).unwrap();
    assert_eq!(parsed.warnings, []);
    assert_eq!(json(&parsed.config)["maintenance"]["principal"]["client_secret"], arn);
}

#[test]
fn a_password_in_an_address_is_refused_and_not_shown() {
    for line in [
        format!("uri = 'https://me:{SECRET}@h/i'"),
        format!("uri = 'https//me:{SECRET}@h/i'"),
        format!("uri = 'https://h/i?token={SECRET}'"),
    ] {
        let text = format!("[catalog]\n{line}\n[storage]\nendpoint = 'https://me:{SECRET}@s3'\n");
        let found = parse(&text).unwrap_err();
        assert_eq!(found.iter().map(|it| it.line).collect::<Vec<_>>(), [Some(2), Some(4)]);
        assert!(!seen(&text).contains(SECRET));
    }
}

#[test]
fn a_line_that_is_no_toml_is_not_quoted() {
    for line in [
        format!("client_secret = {SECRET}"),
        format!("client_secret = \"{SECRET}"),
        format!("client_secret = '{SECRET}' x"),
        format!("client_secret '{SECRET}'"),
        format!("client_secret = \"{SECRET}\\q\""),
        format!("client_secret = '{SECRET}'\nclient_secret = '{SECRET}'"),
    ] {
        let text = format!("[maintenance.principal]\n{line}\n");
        assert!(parse(&text).is_err());
        assert!(!seen(&text).contains(SECRET), "{}", seen(&text));
    }
}

/// Some part of a line of the example gives way to something else.
fn mutated() -> impl Strategy<Value = String> {
    let lines = uncommented().lines().count();
    let change = (0..lines, 0..80_usize, 0..12_usize, r#"[ \[\]{}"'=.,#$!()*\\a-z0-9_-]{0,6}|\PC{0,3}"#);
    prop::collection::vec(change, 1..6).prop_map(|changes| {
        let mut lines: Vec<String> = uncommented().lines().map(str::to_owned).collect();
        for (at, start, length, text) in changes {
            let line: Vec<char> = lines[at].chars().collect();
            let (start, end) = (start.min(line.len()), (start + length).min(line.len()));
            lines[at] = line[..start].iter().chain(&text.chars().collect::<Vec<_>>()).chain(&line[end..]).collect();
        }
        lines.join("\n")
    })
}

/// A setting of the principal whose value is wrong, or whose variable holds the secret in the wrong place.
fn misplaced() -> impl Strategy<Value = String> {
    let keys = prop::sample::select(uncommented().lines().filter_map(key_of).collect::<Vec<_>>());
    (keys, any::<bool>()).prop_map(|(key, in_list)| {
        let value =
            if in_list { "[\"${FIRN_MAINTENANCE_CLIENT_SECRET}\"]" } else { "\"${FIRN_MAINTENANCE_CLIENT_SECRET}\"" };
        let replace = |line: &str| {
            if key_of(line) == Some(key.clone()) { format!("{key} = {value}\n") } else { format!("{line}\n") }
        };
        uncommented().lines().map(replace).collect()
    })
}

fn key_of(line: &str) -> Option<String> {
    line.split_once(" = ").map(|(key, _)| key.to_owned()).filter(|key| !key.starts_with('#'))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_change_of_the_example_panics_or_shows_the_secret(text in mutated()) {
        prop_assert!(!seen(&text).contains(SECRET));
    }

    /// Settings that are no secret may be shown, so only problems are looked at.
    #[test]
    fn problems_never_show_the_value_of_a_variable(text in misplaced()) {
        if let Err(problems) = parse(&text) {
            let shown = format!("{problems:?}");
            prop_assert!(!shown.contains(SECRET), "{}", shown);
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,200}", cron in "[ 0-9*/,#LWa-z-]{0,30}", glob in "[^']{0,12}", property in "\\PC{0,20}") {
        let _ = seen(&text);
        let _ = cron.parse::<crate::config::Schedule>().map(|it| it.shortest_pause_s());
        let _ = seen(&format!("{SQLITE}[maintenance.tables.'{glob}']\n"));
        let config = config("[maintenance.tables.'*.b']\n");
        for name in ["firn.scheduler.schedule", "firn.windows.writer", "firn.compaction.strategy"] {
            let _ = config.for_table(&"a.b".parse().unwrap(), &[(name.to_owned(), property.clone())].into());
        }
    }
}
