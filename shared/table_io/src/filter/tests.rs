//! What a predicate lets pass, and what it refuses.

use std::collections::HashMap;

use iceberg::spec::{DataContentType, Literal, Struct};
use serde_json::{Value, json};

use super::*;
use crate::{
    error::Error,
    fixture::{field, file, table},
};

/// Whether a file with `tuple` under `spec` and no metrics may match.
fn partition_matches(sql: &str, spec: Value, tuple: Option<Literal>) -> bool {
    let table = table(2, json!([spec]));
    let filter = Filter::parse(sql, table.metadata.current_schema()).unwrap();
    let file = file("f", DataContentType::Data, Struct::from_iter([tuple])).build().unwrap();
    filter.may_match(table.metadata.default_partition_spec(), &file)
}

/// Whether a file of ten rows with these bounds and nulls in column `id` may match.
fn bounds_match(sql: &str, id: i32, lower: Datum, upper: Datum, nulls: u64) -> bool {
    let table = table(2, json!([]));
    let filter = Filter::parse(sql, table.metadata.current_schema()).unwrap();
    let mut file = file("f", DataContentType::Data, Struct::empty());
    file.value_counts(HashMap::from([(id, 10)])).null_value_counts(HashMap::from([(id, nulls)]));
    file.lower_bounds(HashMap::from([(id, lower)])).upper_bounds(HashMap::from([(id, upper)]));
    filter.may_match(table.metadata.default_partition_spec(), &file.build().unwrap())
}

fn ids_match(sql: &str) -> bool {
    bounds_match(sql, 1, Datum::long(10), Datum::long(20), 0)
}

fn error(sql: &str) -> String {
    match Filter::parse(sql, table(2, json!([])).metadata.current_schema()) {
        Err(Error::Invalid(reason)) => reason,
        other => panic!("{sql}: {other:?}"),
    }
}

#[test]
fn comparisons_are_answered_by_bounds() {
    for sql in [
        "id = 10",
        "id = 20",
        "id < 11",
        "id <= 10",
        "id > 19",
        "id >= 20",
        "id <> 10",
        "10 >= id",
        "21 > id",
        "id IN (1, 15)",
        "id NOT IN (10, 20)",
        "id BETWEEN 1 AND 10",
        "id NOT BETWEEN 11 AND 30",
        "NOT id < 20",
        "NOT (id < 10 OR id > 19)",
        "id = 15 AND name = 'x'",
        "id = 1 OR id = 11",
        "\"id\" = 11",
        "ID = 11",
        "id IS NOT NULL",
        "NOT id IS NULL",
        "TRUE",
        "NOT FALSE",
        "id = '15'",
        "id > -5",
        "id = CAST('15' AS BIGINT)",
    ] {
        assert!(ids_match(sql), "{sql}");
    }
    for sql in [
        "id = 9",
        "id = 21",
        "id < 10",
        "id <= 9",
        "id > 20",
        "id >= 21",
        "9 >= id",
        "20 < id",
        "id IN (9, 21)",
        "id BETWEEN 21 AND 30",
        "NOT (id < 21)",
        "NOT (id >= 10 OR id = 3)",
        "id = 1 AND name = 'x'",
        "id = 1 OR id = 31",
        "id IS NULL",
        "FALSE",
        "NOT TRUE",
        "id > +20",
    ] {
        assert!(!ids_match(sql), "{sql}");
    }
}

#[test]
fn a_comparison_with_null_is_never_true() {
    for sql in ["id = NULL", "id <> NULL", "NOT id = NULL", "id NOT IN (1, NULL)", "id IN (NULL)"] {
        assert!(!ids_match(sql), "{sql}");
    }
    assert!(ids_match("id IN (NULL, 11)"));
}

#[test]
fn a_column_of_nulls_passes_only_the_null_test() {
    let all_null = |sql: &str| bounds_match(sql, 1, Datum::long(10), Datum::long(20), 10);
    assert!(all_null("id IS NULL"));
    for sql in ["id = 15", "id <> 1", "id IS NOT NULL", "id NOT IN (1)", "NOT id = 1"] {
        assert!(!all_null(sql), "{sql}");
    }
}

#[test]
fn a_file_without_metrics_may_match_anything() {
    for sql in ["id = 1", "id IS NULL", "name LIKE 'a%'", "score > 1", "part.zone = 'x'"] {
        assert!(partition_matches(sql, field(3, 1000, "d", "day"), Some(Literal::date(0))), "{sql}");
    }
}

#[test]
fn literals_are_read_as_their_column_is_typed() {
    let day = |sql: &str| bounds_match(sql, 3, Datum::date(10), Datum::date(20), 0);
    assert!(day("day = '1970-01-11'") && day("day <= DATE '1970-01-11'") && !day("day < DATE '1970-01-11'"));
    let price = |sql: &str| {
        let bound = |unscaled: i128| {
            let decimal = PrimitiveType::Decimal { precision: 9, scale: 2 };
            Datum::try_from_bytes(&unscaled.to_be_bytes(), decimal).unwrap()
        };
        bounds_match(sql, 4, bound(-150), bound(1_050), 0)
    };
    assert!(price("price = 10.5") && price("price = 10.50") && price("price = -1.500") && price("price < -1"));
    assert!(!price("price > 10.5") && !price("price < -1.50") && !price("price = '10.51'"));
    let hour = 3_600_000_000;
    let at = |sql: &str| bounds_match(sql, 6, Datum::timestamp_micros(hour), Datum::timestamp_micros(2 * hour), 0);
    assert!(at("at = '1970-01-01 01:00:00'") && at("at < TIMESTAMP '1970-01-01T01:00:00.000001'"));
    assert!(!at("at = '1970-01-01'") && !at("at > '1970-01-01 02:00:00'"));
    let ok = |sql: &str| bounds_match(sql, 9, Datum::bool(true), Datum::bool(true), 0);
    assert!(ok("ok") && ok("ok = true") && !ok("NOT ok") && !ok("ok = FALSE"));
}

#[test]
fn nan_counts_as_above_every_number() {
    let score = |sql: &str| bounds_match(sql, 5, Datum::double(1.0), Datum::double(2.0), 0);
    assert!(score("score > 5") && score("score >= 5"));
    assert!(!score("score < 1") && !score("score = 5") && !score("score IN (0, 5)"));
}

#[test]
fn zero_equals_negative_zero() {
    assert!(bounds_match("score = 0", 5, Datum::double(-0.0), Datum::double(-0.0), 0));
}

#[test]
fn prefixes_are_answered_by_bounds() {
    let name = |sql: &str| bounds_match(sql, 2, Datum::string("banana"), Datum::string("cherry"), 0);
    for sql in [
        "name LIKE 'b%'",
        "name LIKE 'c%'",
        "name LIKE 'banana%'",
        "name LIKE 'bz%'",
        "name LIKE '%'",
        "name LIKE 'bb'",
    ] {
        assert!(name(sql), "{sql}");
    }
    for sql in [
        "name LIKE 'a%'",
        "name LIKE 'd%'",
        "name LIKE 'cherryx%'",
        "name LIKE 'ba%' AND name LIKE 'x%'",
        "name LIKE 'a'",
    ] {
        assert!(!name(sql), "{sql}");
    }
    // What lacks a prefix cannot be told from bounds.
    assert!(name("name NOT LIKE 'b%'"));
}

#[test]
fn identity_partitions_are_exact() {
    let name = |sql: &str, value: Option<&str>| {
        partition_matches(sql, field(2, 1000, "name", "identity"), value.map(Literal::string))
    };
    assert!(name("name = 'a'", Some("a")) && name("name LIKE 'a%'", Some("ab")) && name("name IS NULL", None));
    assert!(!name("name = 'a'", Some("b")) && !name("name LIKE 'a%'", Some("b")) && !name("name IS NULL", Some("a")));
    assert!(!name("name = 'a'", None) && !name("name IS NOT NULL", None) && !name("name <> 'a'", None));
    assert!(name("name < 'b'", Some("a")) && !name("name < 'b'", Some("b")));
}

#[test]
fn an_int_written_before_its_column_became_long_compares() {
    let id = |sql: &str| partition_matches(sql, field(1, 1000, "id", "identity"), Some(Literal::int(5)));
    assert!(id("id = 5") && !id("id = 6"));
}

#[test]
fn bucket_partitions_answer_equality() {
    // Appendix B of the spec: the hash of 34 is 2017239379; modulo 16 that is 3.
    let bucket =
        |sql: &str, value| partition_matches(sql, field(1, 1000, "b", "bucket[16]"), Some(Literal::int(value)));
    assert!(bucket("id = 34", 3) && bucket("id IN (1, 34)", 3) && bucket("id > 34", 9) && bucket("id <> 34", 3));
    assert!(!bucket("id = 34", 4) && !bucket("id IS NULL", 3));
}

#[test]
fn truncated_partitions_keep_the_order() {
    let ten =
        |sql: &str, value| partition_matches(sql, field(1, 1000, "t", "truncate[10]"), Some(Literal::long(value)));
    assert!(ten("id = 15", 10) && ten("id < 15", 10) && ten("id > 15", 10) && ten("id < 21", 20));
    assert!(!ten("id = 15", 20) && !ten("id < 15", 20) && !ten("id > 15", 0));
    assert!(ten("id = -9223372036854775808", 0), "an overflow decides nothing");
    let three = |sql: &str, value: &str| {
        partition_matches(sql, field(2, 1000, "t", "truncate[3]"), Some(Literal::string(value)))
    };
    assert!(three("name LIKE 'ab%'", "abc") && three("name LIKE 'abcd%'", "abc") && three("name = 'abcd'", "abc"));
    assert!(!three("name LIKE 'ab%'", "ac") && !three("name LIKE 'abcd%'", "ab") && !three("name = 'abcd'", "abd"));
}

#[test]
fn time_partitions_keep_the_order() {
    let month = |sql: &str, value| partition_matches(sql, field(3, 1000, "m", "month"), Some(Literal::int(value)));
    assert!(month("day = '1970-03-31'", 2) && month("day < '1970-03-31'", 2) && month("day > '1970-03-01'", 2));
    assert!(!month("day = '1970-03-31'", 3) && !month("day < '1970-03-31'", 3) && !month("day > '1970-03-01'", 1));
    let day = |sql: &str, value| partition_matches(sql, field(6, 1000, "d", "day"), Some(Literal::date(value)));
    assert!(day("at >= '1970-01-03 12:00:00'", 2) && !day("at >= '1970-01-03 12:00:00'", 1));
    let hour = |sql: &str, value| partition_matches(sql, field(6, 1000, "h", "hour"), Some(Literal::int(value)));
    assert!(hour("at = '1970-01-01 05:59:59'", 5) && !hour("at = '1970-01-01 05:59:59'", 6));
    // Writers that rounded towards zero put the last month of 1969 into month 0.
    assert!(month("day = '1969-12-15'", -1) && month("day = '1969-12-15'", 0) && !month("day = '1969-12-15'", 1));
}

#[test]
fn void_and_unknown_transforms_decide_nothing() {
    for transform in ["void", "unknown"] {
        assert!(partition_matches("id = 5", field(1, 1000, "x", transform), None), "{transform}");
    }
}

#[test]
fn errors_name_the_column_the_literal_or_the_construct() {
    for (sql, parts) in [
        ("nope = 1", ["nope", "there are id, name"]),
        ("part = 1", ["part", "nested"]),
        ("part.nope = 1", ["part.nope", "there are zone"]),
        ("id.x = 1", ["id", "x"]),
        ("id = 'x'", ["'x'", "column id"]),
        ("id = 1.5", ["1.5", "column id"]),
        ("name = 5", ["5", "column name"]),
        ("day = '2024-13-01'", ["'2024-13-01'", "column day"]),
        ("price = 1.234", ["1.234", "column price"]),
        ("at = '2024-01-01 00:00:00Z'", ["'2024-01-01 00:00:00Z'", "column at"]),
        ("id = name", ["id", "name"]),
        ("upper(name) = 'A'", ["upper(name)", "literal"]),
        ("name LIKE '%a'", ["'%a'", "prefix"]),
        ("id LIKE '1%'", ["id", "LIKE"]),
        ("id + 1", ["+", "operator"]),
        ("id IN (SELECT 1)", ["IN (SELECT 1)", "not supported"]),
        ("id", ["id", "not a predicate"]),
        ("id = 1 id", ["id", "after its end"]),
        ("id =", ["id =", "not an SQL predicate"]),
        ("", ["where", "not an SQL predicate"]),
    ] {
        let reason = error(sql);
        assert!(parts.iter().all(|part| reason.contains(part)), "{sql}: {reason}");
    }
}

#[test]
fn nested_fields_and_letter_case_are_resolved() {
    let schema = table(2, json!([])).metadata.current_schema().clone();
    for sql in ["part.zone = 'x'", "PART.Zone = 'x'"] {
        assert_eq!(Filter::parse(sql, &schema).unwrap().columns, BTreeSet::from([8]), "{sql}");
    }
}

#[test]
fn long_chains_do_not_exhaust_the_stack() {
    let schema = table(2, json!([])).metadata.current_schema().clone();
    let sql = vec!["id = 1"; 5_000].join(" OR ");
    assert!(Filter::parse(&sql, &schema).is_ok());
}
