//! A second opinion on plans, commits and effects. Shares no code with planning: a rule that both break alike is not checked.
//!
//! Pure. An empty list of findings is the good answer; a finding names the rule and what breaks it.

mod effect;
mod finding;
mod lint;
mod preflight;

#[cfg(test)]
mod samples;

pub use effect::check_effect;
pub use finding::{Finding, Rule};
pub use lint::lint_plan;
pub use preflight::{GroupResult, OutputFile, preflight};
