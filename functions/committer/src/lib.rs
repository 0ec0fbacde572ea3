//! Committer: the outputs of a plan become one snapshot of operation `replace`, or nothing.
//!
//! Trigger: the finished groups of a plan. Reads: the table as it is now. Writes: manifests, a manifest list, one catalog commit.
//! Idempotent by snapshot id: the id is a hash of plan and batch, so a redelivered or lost commit is found by looking (C-5).

use std::{collections::BTreeMap, future::Future, sync::Arc, time::Duration};

use model::{Plan, SnapshotId};
use ports::{Catalog, CommitOutcome, LoadedTable};
use sha2::{Digest, Sha256};
use table_io::{PreparedCommit, Rewrite, WrittenFile, find_plan, prepare_commit};

/// Commits tried again after a lost pointer race: Iceberg's default of `commit.retry.num-retries`.
pub const RETRIES_MAX: u32 = 4;
const BACK_OFF_MS: u64 = 100;

/// A commit failed; the table is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Metadata could not be read or written, or the rewrite breaks an invariant.
    #[error(transparent)]
    Table(#[from] table_io::Error),
    /// The catalog failed, and certainly did not commit.
    #[error(transparent)]
    Catalog(#[from] ports::Error),
}

/// What one commit replaces: groups of a plan with their outputs.
#[derive(Clone, Debug)]
pub struct Batch {
    /// Number of the batch within its plan; a plan without partial progress has one, 0.
    pub number: u32,
    /// Unique per try; names the metadata files.
    pub attempt_id: String,
    /// Locations of the inputs.
    pub removed: Vec<Arc<str>>,
    /// Outputs.
    pub added: Vec<WrittenFile>,
    /// Records that deletes took out.
    pub deleted_records: u64,
    /// Further summary properties.
    pub summary: BTreeMap<String, String>,
}

/// What a commit changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Delete files that left (each deletion vector is one).
    pub removed_delete_files: u64,
    /// Records of the removed data files.
    pub removed_records: u64,
    /// Records of the added data files.
    pub added_records: u64,
}

/// How a commit ended.
#[must_use]
#[derive(Debug)]
pub enum Outcome {
    /// The snapshot is in the table.
    Committed {
        /// It.
        snapshot_id: SnapshotId,
        /// What it changed.
        counts: Counts,
    },
    /// Another writer changed what the plan rests on; the table has none of this batch.
    Conflicted {
        /// The cause.
        reason: String,
    },
    /// It cannot be told whether the snapshot is in the table: every file must be kept.
    Unknown {
        /// What went wrong.
        reason: String,
    },
}

/// How a commit ended, and what it took.
#[derive(Debug)]
pub struct Report {
    /// The end.
    pub outcome: Outcome,
    /// Pointer races and conflicts met.
    pub conflicts: u64,
    /// Attempts after the first.
    pub retries: u64,
}

/// The id of the snapshot that commits batch `number` of a plan: positive, and the same on every try.
#[must_use]
pub fn snapshot_id(plan: &Plan, number: u32) -> i64 {
    let hash = Sha256::digest(format!("{}/{number}", plan.plan_id));
    let bytes = hash.iter().take(8).fold(0_i64, |id, byte| (id << 8) | i64::from(*byte));
    (bytes & i64::MAX).max(1)
}

/// Commits `batch` against the table as it is now, again after each lost race, up to [`RETRIES_MAX`] times. `now_ms` asks for the
/// time, `sleep` waits.
///
/// # Errors
/// Any [`Error`]; the table is then unchanged.
pub async fn commit<S: Future<Output = ()>>(
    catalog: &dyn Catalog,
    plan: &Plan,
    batch: &Batch,
    now_ms: impl Fn() -> i64,
    sleep: impl Fn(Duration) -> S,
) -> Result<Report, Error> {
    let mut report = Report { outcome: Outcome::Unknown { reason: String::new() }, conflicts: 0, retries: 0 };
    let mut lost_answer = None;
    for attempt in 0..=RETRIES_MAX {
        if attempt > 0 {
            report.retries += 1;
            sleep(Duration::from_millis(BACK_OFF_MS << attempt)).await;
        }
        match attempt_once(catalog, &rewrite(plan, batch, attempt, now_ms()), plan).await {
            Ok(Attempt::Done(outcome)) => {
                report.conflicts += u64::from(matches!(outcome, Outcome::Conflicted { .. }));
                report.outcome = outcome;
                return Ok(report);
            }
            Ok(Attempt::LostRace(reason)) => {
                report.conflicts += 1;
                report.outcome =
                    Outcome::Conflicted { reason: format!("another writer was faster each time: {reason}") };
            }
            // The lost commit and a repeated one have the same snapshot id: the catalog can take only one of them.
            Ok(Attempt::LostAnswer(reason)) => lost_answer = Some(reason),
            Err(error) if lost_answer.is_none() => return Err(error),
            Err(error) => lost_answer = Some(error.to_string()),
        }
    }
    if let Some(reason) = lost_answer {
        report.outcome = settle(catalog, plan, batch, reason).await;
    }
    Ok(report)
}

enum Attempt {
    Done(Outcome),
    LostRace(String),
    LostAnswer(String),
}

async fn attempt_once(catalog: &dyn Catalog, rewrite: &Rewrite, plan: &Plan) -> Result<Attempt, Error> {
    let table = catalog.load_table(&plan.table).await?;
    if let Some(outcome) = committed_before(&table, &rewrite.plan_id, rewrite.snapshot_id) {
        return Ok(Attempt::Done(outcome));
    }
    let prepared = match prepare_commit(&table, rewrite).await? {
        Ok(prepared) => prepared,
        Err(conflict) => return Ok(Attempt::Done(Outcome::Conflicted { reason: conflict.to_string() })),
    };
    let counts = counts(&prepared);
    let PreparedCommit { requirements, updates, written, .. } = prepared;
    match catalog.commit(&table, requirements, updates).await {
        Ok(CommitOutcome::Committed { .. }) => {
            Ok(Attempt::Done(Outcome::Committed { snapshot_id: SnapshotId(rewrite.snapshot_id), counts }))
        }
        Ok(CommitOutcome::Conflicted { reason }) => {
            remove(&table, &written).await;
            Ok(Attempt::LostRace(reason))
        }
        Ok(CommitOutcome::Unknown { reason }) => Ok(Attempt::LostAnswer(reason)),
        Err(error) => {
            remove(&table, &written).await;
            Err(error.into())
        }
    }
}

/// A last look at the table's history, after an answer was lost.
async fn settle(catalog: &dyn Catalog, plan: &Plan, batch: &Batch, reason: String) -> Outcome {
    match catalog.load_table(&plan.table).await {
        Ok(table) => committed_before(&table, &plan.plan_id.0, snapshot_id(plan, batch.number))
            .unwrap_or(Outcome::Unknown { reason }),
        Err(error) => Outcome::Unknown { reason: format!("{reason}; then {error}") },
    }
}

/// The outcome of an earlier try, from the snapshot it left in the table.
fn committed_before(table: &LoadedTable, plan_id: &str, snapshot_id: i64) -> Option<Outcome> {
    let id = find_plan(table, plan_id, snapshot_id)?;
    let snapshot = table.metadata.snapshot_by_id(id);
    let total = |name: &str| {
        let value = snapshot.and_then(|it| it.summary().additional_properties.get(name));
        value.and_then(|it| it.parse().ok()).unwrap_or(0)
    };
    let counts = Counts {
        removed_delete_files: total("removed-delete-files"),
        removed_records: total("deleted-records"),
        added_records: total("added-records"),
    };
    Some(Outcome::Committed { snapshot_id: SnapshotId(id), counts })
}

fn counts(prepared: &PreparedCommit) -> Counts {
    Counts {
        removed_delete_files: prepared.removed_delete_files,
        removed_records: prepared.removed_records,
        added_records: prepared.added_records,
    }
}

fn rewrite(plan: &Plan, batch: &Batch, attempt: u32, now_ms: i64) -> Rewrite {
    Rewrite {
        plan_id: plan.plan_id.to_string(),
        table_uuid: plan.table_uuid.clone(),
        branch: plan.branch.clone(),
        base_snapshot_id: plan.base_snapshot_id.map_or(-1, |id| id.0),
        base_sequence_number: plan.base_sequence_number,
        use_starting_sequence_number: plan.options.use_starting_sequence_number,
        snapshot_id: snapshot_id(plan, batch.number),
        attempt_id: format!("{}-{}-{attempt}", batch.attempt_id, batch.number),
        now_ms,
        removed: batch.removed.clone(),
        added: batch.added.clone(),
        deleted_records: batch.deleted_records,
        remove_dangling_deletes: plan.options.remove_dangling_deletes,
        summary: batch.summary.clone(),
    }
}

/// Removes metadata of a commit that provably did not happen. What cannot be removed is an orphan, and no harm.
async fn remove(table: &LoadedTable, written: &[String]) {
    for path in written {
        if let Err(error) = table.file_io.delete(path).await {
            tracing::warn!(path, %error, "metadata of a lost commit stays as an orphan");
        }
    }
}
