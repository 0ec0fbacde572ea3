//! Why there is no plan.

use model::{OptionError, PlanId};
use planning::PlanError;
use verification::Finding;

/// Planning failed; nothing has changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Options that cannot be used, every one of them.
    #[error("{}", join(.0))]
    Options(Vec<OptionError>),
    /// The plan cannot be made as asked.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The table's metadata cannot be read, or contradicts the Iceberg spec.
    #[error(transparent)]
    Table(#[from] table_io::Error),
    /// The plan breaks rules of the linter.
    #[error("the plan breaks a rule and must not run: {}", join(.0))]
    Lint(Vec<Finding>),
    /// A saved plan says something else than when its id was made.
    #[error("plan {0} was changed after it was made: plan again")]
    Tampered(PlanId),
    /// The table has lost what a saved plan rests on.
    #[error("{0}")]
    Outdated(String),
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

fn join<T: ToString>(problems: &[T]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
