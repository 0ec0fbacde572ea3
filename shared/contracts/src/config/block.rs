//! Reads one block of settings from its layers. Asking for a key makes it known; what nobody asked for is an unknown key.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Display,
    ops::RangeInclusive,
};

use model::near_names;
use serde::Serialize;

use super::{
    node::{Node, Table, Text, Value, join},
    problem::{Problem, Report, Severity},
};

/// Where an effective setting comes from: a key of the file or a table property. Settings without one have their default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Origin {
    /// The path of the key, or the name of the table property.
    pub key: String,
    /// The line of the file; none for table properties.
    pub line: Option<usize>,
}

/// Origins by `block.key`.
pub type Origins = BTreeMap<String, Origin>;

/// One block, such as `[maintenance.budget]`, with the layers that have it.
pub(super) struct Block<'a> {
    name: &'static str,
    /// The block in each layer that has it, the one that wins first.
    layers: Vec<&'a Node>,
    asked: Vec<String>,
    pub(super) report: &'a mut Report,
    origins: Option<&'a mut Origins>,
}

impl<'a> Block<'a> {
    /// The block `name` of `layers`, which come with the one that wins first.
    pub(super) fn layered(
        name: &'static str,
        layers: &[&'a Table],
        report: &'a mut Report,
        origins: &'a mut Origins,
    ) -> Self {
        let layers = layers.iter().filter_map(|layer| layer.get(name)).collect();
        Self::of(name, layers, report, Some(origins))
    }

    /// The block at `node`, which no other layer has.
    pub(super) fn single(name: &'static str, node: Option<&'a Node>, report: &'a mut Report) -> Self {
        Self::of(name, node.into_iter().collect(), report, None)
    }

    fn of(
        name: &'static str,
        mut layers: Vec<&'a Node>,
        report: &'a mut Report,
        origins: Option<&'a mut Origins>,
    ) -> Self {
        for node in &layers {
            if !matches!(node.value, Value::Table(_) | Value::Broken) {
                let help = format!("write its settings below [{}]", node.key);
                report.error(node, format!("is {}, and must be a table", node.kind()), help);
            }
        }
        layers.retain(|node| matches!(node.value, Value::Table(_)));
        Self { name, layers, asked: Vec::new(), report, origins }
    }

    pub(super) fn exists(&self) -> bool {
        !self.layers.is_empty()
    }

    /// The value that wins.
    pub(super) fn find(&mut self, key: &str) -> Option<&'a Node> {
        self.asked.push(key.to_owned());
        let found = self.layers.iter().find_map(|layer| table(layer).and_then(|table| table.get(key)))?;
        if let Some(origins) = &mut self.origins {
            origins.insert(format!("{}.{key}", self.name), Origin { key: found.key.clone(), line: found.line });
        }
        (!matches!(found.value, Value::Broken)).then_some(found)
    }

    /// A whole number within `range`.
    pub(super) fn number(&mut self, key: &str, default: u64, range: RangeInclusive<u64>) -> u64 {
        self.optional_number(key, range).unwrap_or(default)
    }

    pub(super) fn optional_number(&mut self, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let node = self.find(key)?;
        let Value::Integer(number) = node.value else {
            return self.wrong_kind(node, "a whole number");
        };
        let within = u64::try_from(number).ok().filter(|number| range.contains(number));
        if within.is_none() {
            self.out_of_range(node, number, range.start(), Some(range.end()).filter(|end| **end < u64::MAX));
        }
        within
    }

    /// A number of at least `min` and at most `max`.
    pub(super) fn decimal(&mut self, key: &str, default: f64, range: RangeInclusive<f64>) -> f64 {
        self.optional_decimal(key, range).unwrap_or(default)
    }

    pub(super) fn optional_decimal(&mut self, key: &str, range: RangeInclusive<f64>) -> Option<f64> {
        let node = self.find(key)?;
        let number = match node.value {
            Value::Decimal(number) => number,
            #[allow(clippy::cast_precision_loss, reason = "prices and rates are far below 2^53")]
            Value::Integer(number) => number as f64,
            _ => return self.wrong_kind(node, "a number"),
        };
        if number.is_finite() && range.contains(&number) {
            return Some(number);
        }
        self.out_of_range(node, number, range.start(), Some(range.end()).filter(|end| **end < f64::MAX));
        None
    }

    pub(super) fn flag(&mut self, key: &str, default: bool) -> bool {
        let Some(node) = self.find(key) else { return default };
        let Value::Flag(flag) = node.value else {
            return self.wrong_kind(node, "true or false").unwrap_or(default);
        };
        flag
    }

    /// A text that is not empty, with where it stands.
    pub(super) fn text(&mut self, key: &str) -> Option<(&'a Node, &'a Text)> {
        let node = self.find(key)?;
        let Value::Text(text) = &node.value else {
            return self.wrong_kind(node, "text in quotes");
        };
        if text.meant.trim().is_empty() {
            self.report.error(node, "is empty", "write a value, or leave the key out for its default");
            return None;
        }
        Some((node, text))
    }

    /// A text that is not empty, as it is meant.
    pub(super) fn string(&mut self, key: &str) -> Option<String> {
        self.text(key).map(|(_, text)| text.meant.clone())
    }

    /// A text that `read` understands; what it says otherwise is (problem, help), and only the problem may quote the text.
    pub(super) fn parsed<T>(&mut self, key: &str, read: impl FnOnce(&str) -> Result<T, (String, String)>) -> Option<T> {
        let (node, text) = self.text(key)?;
        match read(&text.meant) {
            Ok(value) => Some(value),
            Err((problem, help)) => {
                // What a variable stands for may be secret: the reader's own words about it are not for show.
                let problem = if text.written == text.meant { problem } else { "stands for nothing usable".to_owned() };
                self.report.error(node, format!("{:?} {problem}", text.written), help);
                None
            }
        }
    }

    /// One of a few words.
    pub(super) fn choice<T: Copy>(&mut self, key: &str, default: T, choices: &[(&str, T)]) -> T {
        let read = |text: &str| {
            let words: Vec<&str> = choices.iter().map(|it| it.0).collect();
            let found = choices.iter().find(|(word, _)| *word == text).map(|it| it.1);
            found.ok_or_else(|| ("is none of its values".to_owned(), format!("write one of {}", words.join(", "))))
        };
        self.parsed(key, read).unwrap_or(default)
    }

    pub(super) fn list(&mut self, key: &str) -> &'a [Node] {
        match self.find(key) {
            None => &[],
            Some(Node { value: Value::List(list), .. }) => list,
            Some(node) => {
                self.wrong_kind::<()>(node, "a list in brackets");
                &[]
            }
        }
    }

    /// A list of texts.
    pub(super) fn strings(&mut self, key: &str) -> Vec<String> {
        let mut strings = Vec::new();
        for node in self.list(key) {
            match &node.value {
                Value::Text(text) => strings.push(text.meant.clone()),
                Value::Broken => {}
                _ => self.report.error(node, format!("is {}, and must be text", node.kind()), "write it in quotes"),
            }
        }
        strings
    }

    /// The block below this one.
    pub(super) fn child(&mut self, key: &'static str) -> Block<'_> {
        let node = self.find(key);
        Block::single(key, node, self.report)
    }

    /// Says that `key` is missing.
    pub(super) fn missing(&mut self, key: &str, help: &str) {
        let block = self.layers.first();
        let path = block.map_or_else(|| join(self.name, key), |block| join(&block.key, key));
        self.report.add(Problem {
            line: block.and_then(|block| block.line),
            key: path,
            severity: Severity::Error,
            problem: "is missing".to_owned(),
            help: help.to_owned(),
        });
    }

    /// Whether `key` stands there, readable or not.
    pub(super) fn has(&self, key: &str) -> bool {
        self.layers.iter().any(|layer| table(layer).is_some_and(|table| table.contains_key(key)))
    }

    /// Reports every key that nobody asked for.
    pub(super) fn finish(self) {
        for (key, node) in self.layers.iter().filter_map(|layer| table(layer)).flatten() {
            if !self.asked.contains(key) {
                self.report.error(node, "is no known key", known(key, self.asked.iter().map(String::as_str)));
            }
        }
    }

    fn wrong_kind<T>(&mut self, node: &Node, wanted: &str) -> Option<T> {
        let quotes = if matches!(node.value, Value::Text(_)) { ", without quotes" } else { "" };
        let help = format!("write {wanted}{quotes}");
        self.report.error(node, format!("is {}, and must be {wanted}", node.kind()), help);
        None
    }

    fn out_of_range(&mut self, node: &Node, number: impl Display, min: impl Display, max: Option<impl Display>) {
        let help = max.map_or_else(|| format!("at least {min}"), |max| format!("between {min} and {max}"));
        self.report.error(node, format!("{number} is out of range"), help);
    }
}

fn table(node: &Node) -> Option<&Table> {
    if let Value::Table(table) = &node.value { Some(table) } else { None }
}

/// What `key` may have been meant to be, among `known`.
pub(super) fn known<'a>(key: &str, known: impl Iterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.collect::<BTreeSet<_>>().into_iter().collect();
    let near = near_names(key, &known);
    if near.is_empty() {
        format!("known here are {}", known.join(", "))
    } else {
        format!("near are {}", near.join(", "))
    }
}
