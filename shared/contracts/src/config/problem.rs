//! What is wrong with a configuration, collected so that all of it is told at once.

use std::{collections::BTreeSet, fmt};

use serde::Serialize;

use super::node::Node;

/// Whether Firn starts in spite of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Firn does not start.
    Error,
    /// Firn starts, and does perhaps not what was meant.
    Warning,
}

/// One thing that is wrong. No text of it ever holds a secret or the value of an environment variable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The line of the file, from 1; `None` for table properties and for what the file does not have.
    pub line: Option<usize>,
    /// The path of the key (`maintenance.budget.usd_per_day`), or the name of the table property.
    pub key: String,
    /// Whether Firn starts in spite of it.
    pub severity: Severity,
    /// What is wrong.
    pub problem: String,
    /// What to do.
    pub help: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{}; {}", self.problem, self.help)
    }
}

/// Problems as they are found: each once, in the order of lines.
#[derive(Default)]
pub(super) struct Report {
    problems: BTreeSet<Problem>,
}

impl Report {
    pub(super) fn add(&mut self, problem: Problem) {
        self.problems.insert(problem);
    }

    /// An error at `node`.
    pub(super) fn error(&mut self, node: &Node, problem: impl Into<String>, help: impl Into<String>) {
        self.at(node, Severity::Error, problem, help);
    }

    /// A warning at `node`.
    pub(super) fn warn(&mut self, node: &Node, problem: impl Into<String>, help: impl Into<String>) {
        self.at(node, Severity::Warning, problem, help);
    }

    fn at(&mut self, node: &Node, severity: Severity, problem: impl Into<String>, help: impl Into<String>) {
        let (line, key) = (node.line, node.key.clone());
        self.add(Problem { line, key, severity, problem: problem.into(), help: help.into() });
    }

    pub(super) fn has_errors(&self) -> bool {
        self.problems.iter().any(|it| it.severity == Severity::Error)
    }

    /// Whether the value at `key` is wrong, so that its default stands for it and nothing should be concluded from that.
    pub(super) fn has_error_at(&self, key: &str) -> bool {
        self.problems.iter().any(|it| it.severity == Severity::Error && it.key == key)
    }

    pub(super) fn contains(&self, problem: &Problem) -> bool {
        self.problems.contains(problem)
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems.into_iter().collect()
    }
}
