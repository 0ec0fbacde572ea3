//! What the checks report.

use std::fmt;

/// A rule that something breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// The plan and its groups have ids, no id twice, and a base snapshot when there is something to do.
    Identity,
    /// Sizes and thresholds of the options agree with each other, and the output spec with the one asked for.
    Options,
    /// No file is named twice, in groups or among the skipped.
    NamedOnce,
    /// Every group has inputs.
    GroupNotEmpty,
    /// Groups keep to the limits of the options.
    Limits,
    /// A group with records expects an output.
    ExpectedFiles,
    /// Groups and skipped files have a reason.
    Reason,
    /// The plan is of the table, snapshot, branch and schema of the inventory.
    SameTable,
    /// Every file that the plan names is live.
    Live,
    /// Every live file is in a group or among the skipped.
    Accounted,
    /// Inputs are of their group's spec and partition.
    Partition,
    /// A group's bytes and records are the sums over its inputs.
    Totals,
    /// No input is one that a rewrite cannot take.
    Supported,
    /// No input is outside the filter.
    Filter,
    /// A group of one file has something to improve.
    WorthIt,
    /// Results are of groups that the plan has (C-2).
    PlannedGroup,
    /// A group has one result (C-2).
    GroupOnce,
    /// Records read are those of the inputs (C-3).
    RecordsRead,
    /// Records written = records read − records deleted = the outputs' records (C-3).
    RecordsBalance,
    /// Outputs are new files, each once.
    NewOutput,
    /// No output is empty.
    OutputNotEmpty,
    /// Outputs are of the plan's output spec.
    OutputSpec,
    /// A rewrite does not shred: no more outputs than inputs unless their size explains it.
    OutputCount,
}

/// One broken rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// What breaks it, and where.
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.rule, self.detail)
    }
}

/// Gathers findings.
#[derive(Default)]
pub(crate) struct Findings(Vec<Finding>);

impl Findings {
    /// Reports `detail` unless `holds`.
    pub(crate) fn check(&mut self, rule: Rule, holds: bool, detail: impl FnOnce() -> String) {
        if !holds {
            self.0.push(Finding { rule, detail: detail() });
        }
    }

    pub(crate) fn into_vec(self) -> Vec<Finding> {
        self.0
    }
}
