//! What goes wrong in metadata: which file, and why.

/// A metadata, manifest or delete-index failure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A metadata file cannot be read.
    #[error("cannot read {path}")]
    Read {
        /// Its location.
        path: String,
        /// The storage's or parser's own error.
        #[source]
        source: Box<iceberg::Error>,
    },
    /// A metadata file cannot be written.
    #[error("cannot write {path}")]
    Write {
        /// Its location.
        path: String,
        /// The storage's own error.
        #[source]
        source: Box<iceberg::Error>,
    },
    /// The table contradicts the Iceberg spec; touching it could lose rows.
    #[error("{path}: {reason}")]
    Corrupt {
        /// The file that shows it.
        path: String,
        /// What is wrong, in the terms of the spec.
        reason: String,
    },
    /// The caller asked for something the table does not have.
    #[error("{0}")]
    Invalid(String),
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn read(path: impl Into<String>, source: iceberg::Error) -> Self {
        Self::Read { path: path.into(), source: Box::new(source) }
    }

    pub(crate) fn write(path: impl Into<String>, source: iceberg::Error) -> Self {
        Self::Write { path: path.into(), source: Box::new(source) }
    }

    pub(crate) fn corrupt(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Corrupt { path: path.into(), reason: reason.into() }
    }
}
