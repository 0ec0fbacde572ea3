//! Settings of one table: the file's, those of the globs that match its name, and its own properties, the last winning.

use std::collections::BTreeMap;

use model::{TARGET_FILE_SIZE_PROPERTY, TableName};
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value as Json;
use wildmatch::WildMatch;

use super::{
    block::{Origins, known},
    node::{Node, Table, Value, from_property},
    policy::{self, BLOCKS, Policy},
    problem::{Problem, Report},
};

/// What the properties of a table begin with that set a setting: `firn.compaction.min-input-files` is `min_input_files` of
/// `[maintenance.compaction]`.
const PROPERTY_PREFIX: &str = "firn.";
/// The table property that is `scans_per_day` of `[maintenance.scoring]`.
const HEAT_PROPERTY: &str = "firn.heat";

/// `[maintenance.tables."GLOB"]`: settings of the tables whose name matches.
#[derive(Clone, Debug)]
pub struct TableOverride {
    /// The pattern of `namespace.table`: `*` stands for any characters, dots among them, `?` for one.
    pub glob: String,
    pub(super) blocks: Table,
}

impl TableOverride {
    fn matches(&self, table: &str) -> bool {
        WildMatch::new(&self.glob).matches(table)
    }

    /// How much of a name the pattern says: characters, then fewest wildcards, then the pattern itself to settle ties.
    fn specificity(&self) -> (usize, usize, &str) {
        let wildcards = self.glob.chars().filter(|it| matches!(it, '*' | '?')).count();
        (self.glob.chars().count() - wildcards, usize::MAX - wildcards, &self.glob)
    }
}

impl Serialize for TableOverride {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.blocks.len() + 1))?;
        map.serialize_entry("glob", &self.glob)?;
        for (name, node) in &self.blocks {
            map.serialize_entry(name, &json(node))?;
        }
        map.end()
    }
}

fn json(node: &Node) -> Json {
    match &node.value {
        Value::Flag(flag) => (*flag).into(),
        Value::Integer(number) => (*number).into(),
        Value::Decimal(number) => (*number).into(),
        Value::Text(text) => text.written.clone().into(),
        Value::List(list) => list.iter().map(json).collect(),
        Value::Table(table) => table.iter().map(|(key, node)| (key.clone(), json(node))).collect(),
        Value::Time | Value::Broken => Json::Null,
    }
}

/// The settings of one table.
#[derive(Clone, Debug, Serialize)]
pub struct Effective {
    /// The settings.
    pub policy: Policy,
    /// Where each comes from that is not its default, by `block.key`.
    pub origins: Origins,
}

/// Reads `[maintenance.tables]` and checks each override on top of the file's own settings, `base`.
pub(super) fn read(tables: &Node, base: &Table, report: &mut Report) -> Vec<TableOverride> {
    let Value::Table(globs) = &tables.value else {
        let help = "write the settings of tables below [maintenance.tables.\"namespace.*\"]";
        report.error(tables, format!("is {}, and must be a table", tables.kind()), help);
        return Vec::new();
    };
    globs.iter().filter_map(|(glob, node)| read_one(glob, node, base, report)).collect()
}

fn read_one(glob: &str, node: &Node, base: &Table, report: &mut Report) -> Option<TableOverride> {
    if let Some((problem, help)) = glob_problem(glob) {
        report.error(node, problem, help);
    }
    let Value::Table(blocks) = &node.value else {
        report.error(
            node,
            format!("is {}, and must be a table", node.kind()),
            "write blocks such as compaction below it",
        );
        return None;
    };
    for (key, block) in blocks.iter().filter(|(key, _)| !BLOCKS.contains(&key.as_str())) {
        let help = format!("tables have blocks of their own, and {}", known(key, BLOCKS.iter().copied()));
        report.error(block, "is no known key", help);
    }
    let mut own = Report::default();
    policy::read(&[blocks, base], &mut own);
    for problem in own.into_problems().into_iter().filter(|problem| !report.contains(problem)).collect::<Vec<_>>() {
        let is_own = problem.key.starts_with(&node.key);
        let text = if is_own { problem.problem } else { format!("for tables {glob:?}: {}", problem.problem) };
        report.add(Problem { problem: text, ..problem });
    }
    Some(TableOverride { glob: glob.to_owned(), blocks: blocks.clone() })
}

/// What is wrong with a pattern of table names, and what to do.
fn glob_problem(glob: &str) -> Option<(&'static str, &'static str)> {
    let help = "write namespace.table with * for any characters and ? for one, such as \"sales.*\"";
    if glob.contains(['[', ']', '{', '}', '\\', '!']) {
        return Some(("is no pattern of table names: * and ? are its only wildcards", help));
    }
    if glob.is_empty() || glob.contains(char::is_whitespace) {
        return Some(("is no pattern of table names: it is empty or has spaces", help));
    }
    let has_dot = glob.contains('.') || glob.contains('*');
    (!has_dot).then_some(("can match no table: their names have a namespace and a dot", help))
}

/// The settings of `table`: its `properties` over the matching overrides, the most specific first, over `base`.
pub(super) fn effective(
    base: &Table,
    overrides: &[TableOverride],
    opt_in_property: &str,
    table: &TableName,
    properties: &BTreeMap<String, String>,
) -> Result<Effective, Vec<Problem>> {
    let mut report = Report::default();
    let own = from_properties(properties, opt_in_property, &mut report);
    let name = table.to_string();
    let mut matching: Vec<&TableOverride> = overrides.iter().filter(|it| it.matches(&name)).collect();
    matching.sort_unstable_by(|a, b| b.specificity().cmp(&a.specificity()));
    let mut layers = vec![&own];
    layers.extend(matching.iter().map(|it| &it.blocks));
    layers.push(base);
    let (policy, origins) = policy::read(&layers, &mut report);
    if report.has_errors() { Err(report.into_problems()) } else { Ok(Effective { policy, origins }) }
}

/// The layer that a table's own properties make.
fn from_properties(properties: &BTreeMap<String, String>, opt_in_property: &str, report: &mut Report) -> Table {
    let mut layer = Table::new();
    // First, so that `firn.compaction.target-file-size-bytes` goes before Iceberg's own property.
    if let Some(text) = properties.get(TARGET_FILE_SIZE_PROPERTY) {
        let node = from_property(TARGET_FILE_SIZE_PROPERTY, text, report);
        insert(&mut layer, "compaction", "target_file_size_bytes", node);
    }
    let is_opt_in = |name: &str| name == opt_in_property || name == super::OPT_IN_PROPERTY_DEFAULT;
    for (name, text) in properties {
        let Some(setting) = name.strip_prefix(PROPERTY_PREFIX).filter(|_| !is_opt_in(name)) else { continue };
        let node = from_property(name, text, report);
        match setting.split_once('.') {
            _ if name == HEAT_PROPERTY => insert(&mut layer, "scoring", "scans_per_day", node),
            Some((block, key)) if BLOCKS.contains(&block) => {
                insert(&mut layer, block, &super::compaction::snake_case(key), node);
            }
            _ => {
                let blocks = BLOCKS.iter().map(|block| format!("firn.{block}.…")).collect::<Vec<_>>().join(", ");
                let help = format!("known are {opt_in_property}, {HEAT_PROPERTY}, {blocks}");
                report.error(&node, "is no property that Firn knows", help);
            }
        }
    }
    layer
}

fn insert(layer: &mut Table, block: &str, key: &str, node: Node) {
    let empty = || Node { line: None, key: format!("{PROPERTY_PREFIX}{block}"), value: Value::Table(Table::new()) };
    if let Value::Table(table) = &mut layer.entry(block.to_owned()).or_insert_with(empty).value {
        table.insert(key.to_owned(), node);
    }
}
