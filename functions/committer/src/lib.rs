//! The committing handler: rewritten groups of a plan in, one snapshot of operation `replace` out, at most once.
//!
//! Every attempt loads the table afresh and validates against its head. Files are removed only when it is proven that no
//! snapshot has them: after a lost answer that proof is looked for in the table's history, and without it every file stays.

mod attempt;
mod error;
mod ids;
mod retry;

use model::{GroupId, Plan, SnapshotId};
use ports::{Catalog, Clock};
use table_io::WrittenFile;

pub use error::{Error, Result};
pub use ids::snapshot_id;

/// A group as a rewriter reports it.
#[derive(Clone, Debug)]
pub struct RewrittenGroup {
    /// The group.
    pub group_id: GroupId,
    /// Its outputs.
    pub files: Vec<WrittenFile>,
    /// Records read, before deletes.
    pub records_read: u64,
    /// Records that deletes took out.
    pub records_deleted: u64,
    /// Records written.
    pub records_written: u64,
}

/// What one commit is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// The plan.
    pub plan: &'a Plan,
    /// Groups to commit together; none at all is a commit that only removes dangling deletes.
    pub groups: &'a [RewrittenGroup],
    /// Which of the plan's commits this is, from 0.
    pub batch: u32,
    /// Unique per run of the plan.
    pub attempt_id: &'a str,
}

/// How a commit ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The snapshot is in the table.
    Committed(Committed),
    /// The head cannot take it, and never will. Its files are removed.
    Conflicted {
        /// Why.
        reason: String,
    },
    /// The answer was lost and history does not tell. Every file is kept.
    Unknown {
        /// What went wrong.
        reason: String,
    },
}

/// What a commit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The snapshot.
    pub snapshot_id: SnapshotId,
    /// Delete files (each DV one) that left.
    pub removed_delete_files: u64,
    /// Records of the removed data files.
    pub removed_records: u64,
    /// Records of the added data files.
    pub added_records: u64,
}

/// A commit's ending and what it took to get there.
#[must_use]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitReport {
    /// How it ended.
    pub ending: Ending,
    /// Attempts after the first.
    pub retries: u64,
    /// Conflicts met, those a retry overcame included.
    pub conflicts: u64,
    /// Files that could not be cleaned up, with the reason.
    pub warnings: Vec<String>,
}

/// Commits `job`, retrying as the table's `commit.retry.*` properties say.
///
/// # Errors
/// [`Error::Refused`] when what the rewriters report is not what the plan promised; [`Error::Catalog`] and [`Error::Table`] for
/// failures that prove that nothing was committed. The outputs are removed in each case.
pub async fn commit(catalog: &dyn Catalog, clock: &dyn Clock, job: Job<'_>) -> Result<CommitReport> {
    let findings = verification::preflight(job.plan, &ids::results(job.groups));
    let mut committer = attempt::Committer::new(catalog, clock, job);
    let ended = if findings.is_empty() { committer.run().await } else { Err(Error::Refused(findings)) };
    committer.finish(ended).await
}
