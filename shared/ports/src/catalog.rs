//! The Iceberg catalog.

use std::sync::Arc;

use async_trait::async_trait;
use iceberg::{TableRequirement, TableUpdate, io::FileIO, spec::TableMetadata};
use model::TableName;

use crate::error::Error;

/// A table as a catalog names it at one moment.
#[derive(Clone, Debug)]
pub struct LoadedTable {
    /// The table's name; for a table opened by its metadata location, the last parts of its location.
    pub name: TableName,
    /// Where the metadata was read.
    pub metadata_location: String,
    /// The metadata.
    pub metadata: Arc<TableMetadata>,
    /// Storage that can read (and, for a writer, write) the table's files.
    pub file_io: FileIO,
}

/// What became of a commit. Losing a race is an answer, not an error.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitOutcome {
    /// The catalog points at the new metadata.
    Committed {
        /// Location of the new metadata.
        metadata_location: String,
    },
    /// A requirement does not hold any more, or another writer was faster. Nothing changed.
    Conflicted {
        /// Which requirement, and what was found.
        reason: String,
    },
    /// The answer was lost: the commit may or may not have happened.
    Unknown {
        /// What went wrong.
        reason: String,
    },
}

/// The table catalog.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// The table as it is now.
    ///
    /// # Errors
    /// `NotFound` when there is no such table (a view is none), `Corrupt` when its metadata does not parse.
    async fn load_table(&self, name: &TableName) -> Result<LoadedTable, Error>;

    /// Every table the principal may see, by name.
    ///
    /// # Errors
    /// As the service reports.
    async fn list_tables(&self) -> Result<Vec<TableName>, Error>;

    /// Applies `updates` to the table if every requirement holds, as one atomic step. `base` is what the caller loaded:
    /// a catalog that swaps a pointer compares against its location, one that checks requirements ignores it.
    ///
    /// # Errors
    /// Failures that prove that nothing changed; whatever leaves that open is [`CommitOutcome::Unknown`].
    async fn commit(
        &self,
        base: &LoadedTable,
        requirements: Vec<TableRequirement>,
        updates: Vec<TableUpdate>,
    ) -> Result<CommitOutcome, Error>;
}
