//! The log of past jobs.

use async_trait::async_trait;
use model::Evidence;

use crate::error::Error;

/// Keeps the evidence of every job.
#[async_trait]
pub trait JobLog: Send + Sync {
    /// Appends one record. A record is whole or absent, whatever happens to the process.
    ///
    /// # Errors
    /// `Unavailable` or `Denied` when the record could not be stored.
    async fn append(&self, finished_at_ms: i64, evidence: &Evidence) -> Result<(), Error>;

    /// Every record as (finished at, evidence), oldest first.
    ///
    /// # Errors
    /// `Unavailable` or `Denied` when the log cannot be read, `Corrupt` when a record in its middle does not parse.
    async fn records(&self) -> Result<Vec<(i64, Evidence)>, Error>;
}
