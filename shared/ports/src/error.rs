//! One error type for every port: what a caller can do about it is its kind.

/// What a caller can do about a failure. Decides between retry and giving up in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The service cannot be reached or broke off: the same call may succeed later.
    Unavailable,
    /// The service asks for fewer calls: retry with back-off.
    Throttled,
    /// The named thing does not exist.
    NotFound,
    /// The principal may not do this.
    Denied,
    /// The request can never succeed as written.
    Invalid,
    /// What was read contradicts its own format.
    Corrupt,
}

/// A port failed.
#[derive(Debug, thiserror::Error)]
#[error("{operation} of {subject} failed ({kind:?})")]
pub struct Error {
    /// What the caller can do about it.
    pub kind: ErrorKind,
    /// The port and method, as `port.method`.
    pub operation: &'static str,
    /// What it was asked about: a table, a location.
    pub subject: String,
    /// The adapter's own error.
    #[source]
    pub source: Box<dyn std::error::Error + Send + Sync>,
}

impl Error {
    /// An error of `kind` in `operation` on `subject`.
    pub fn new(
        kind: ErrorKind,
        operation: &'static str,
        subject: impl Into<String>,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self { kind, operation, subject: subject.into(), source: source.into() }
    }
}
