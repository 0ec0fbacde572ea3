//! Why a commit failed, provably without effect.

/// A commit failure; the table is unchanged by this commit.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The rewritten groups break rules of the preflight.
    #[error("the rewritten groups are not what the plan promised: {}", join(.0))]
    Refused(Vec<verification::Finding>),
    /// The catalog failed.
    #[error(transparent)]
    Catalog(#[from] ports::Error),
    /// Metadata cannot be read or written, or the rewrite breaks an invariant.
    #[error(transparent)]
    Table(#[from] table_io::Error),
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

fn join<T: ToString>(problems: &[T]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
