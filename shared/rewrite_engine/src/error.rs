//! What goes wrong in the data plane: which file, and why.

/// A rewrite failure. It costs its group; nothing in the table has changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file cannot be read from storage.
    #[error("cannot read {path}")]
    Read {
        /// Its location.
        path: String,
        /// The storage's own error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file cannot be written to storage.
    #[error("cannot write {path}")]
    Write {
        /// Its location.
        path: String,
        /// The storage's own error.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A file's content contradicts its format or its manifest entry.
    #[error("{path}: {reason}")]
    Corrupt {
        /// Its location.
        path: String,
        /// What is wrong.
        reason: String,
    },
    /// The file is sound but holds something that no rewrite carries.
    #[error("{path}: {reason}")]
    Unsupported {
        /// Its location.
        path: String,
        /// What it holds.
        reason: String,
    },
    /// The equality deletes of the group do not fit the memory limit, not even part by part.
    #[error(
        "one part of the equality deletes of this group needs more than {limit_bytes} bytes of memory; raise the limit"
    )]
    DeletesTooLarge {
        /// The limit.
        limit_bytes: u64,
    },
    /// Iceberg metadata contradicts itself.
    #[error(transparent)]
    Table(#[from] table_io::Error),
    /// The caller asked to stop.
    #[error("stopped on request")]
    Stopped,
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;
