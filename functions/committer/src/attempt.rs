//! Attempts at one commit, until one is proven to be in the table or none can be.

use std::{collections::HashSet, sync::Arc};

use iceberg::spec::TableMetadata;
use model::SnapshotId;
use ports::{Catalog, Clock, CommitOutcome, ErrorKind, LoadedTable};
use table_io::{Landed, PreparedCommit, Replaced, find_plan, prepare_commit};

use crate::{CommitReport, Committed, Ending, Error, Job, Result, ids, retry::Policy};

/// One commit under way.
pub(crate) struct Committer<'a> {
    catalog: &'a dyn Catalog,
    clock: &'a dyn Clock,
    job: Job<'a>,
    snapshot_id: SnapshotId,
    attempts: u64,
    conflicts: u64,
    /// The table as last seen: its storage does the cleaning up.
    table: Option<LoadedTable>,
    /// Attempts whose answer was lost and that the table may still take.
    in_doubt: Vec<Doubt>,
    /// Metadata files of attempts that are proven to be in no snapshot.
    garbage: Vec<String>,
    /// Data files of the snapshot that this plan, delivered before, already has in the table: never garbage.
    landed: HashSet<Arc<str>>,
}

/// An attempt whose answer was lost.
struct Doubt {
    prepared: PreparedCommit,
    head: Option<i64>,
    reason: String,
}

/// Whether `branch` has gone on from the snapshot `from`. A commit requires the head it was made on: once the branch shows
/// another successor of it, the commit cannot happen any more. A broken chain shows nothing: the commit may have happened,
/// been built upon and expired.
fn has_gone_on(metadata: &TableMetadata, branch: &str, from: Option<i64>) -> bool {
    let mut snapshot = metadata.snapshot_for_ref(branch);
    while let Some(parent) = snapshot.map(|it| it.parent_snapshot_id()) {
        if parent.is_some() && parent == from {
            return true;
        }
        snapshot = parent.and_then(|id| metadata.snapshot_by_id(id));
    }
    false
}

/// What an attempt, or a look at the table, leads to.
enum Step {
    End(Ending),
    /// Again, for this reason.
    Again(String),
}

impl<'a> Committer<'a> {
    pub(crate) fn new(catalog: &'a dyn Catalog, clock: &'a dyn Clock, job: Job<'a>) -> Self {
        Self {
            catalog,
            clock,
            job,
            snapshot_id: ids::snapshot_id(job.plan, job.batch),
            attempts: 0,
            conflicts: 0,
            table: None,
            in_doubt: Vec::new(),
            garbage: Vec::new(),
            landed: HashSet::new(),
        }
    }

    /// Attempts until something ends it. An error proves that nothing was committed.
    pub(crate) async fn run(&mut self) -> Result<Ending> {
        loop {
            let table = match self.load().await {
                Ok(table) => table,
                Err(e) => return self.without_table(e),
            };
            let policy = Policy::of(table.metadata.properties());
            self.table = Some(table.clone());
            if let Some(ending) = self.settle(&table).await {
                return Ok(ending);
            }
            if self.attempts > policy.retries_max {
                return Ok(self.give_up());
            }
            if self.attempts > 0 {
                tokio::time::sleep(policy.wait(self.attempts)).await;
            }
            self.attempts += 1;
            match self.attempt(&table).await {
                Ok(Step::End(ending)) => return Ok(ending),
                Ok(Step::Again(reason)) => tracing::info!(attempt = self.attempts, reason, "commit is tried again"),
                Err(e) if self.in_doubt.is_empty() => return Err(e),
                Err(e) => return Ok(self.unknown(&e.to_string())),
            }
        }
    }

    async fn load(&self) -> std::result::Result<LoadedTable, ports::Error> {
        self.catalog.load_table(&self.job.plan.table).await
    }

    /// The table cannot be loaded: gone is an answer unless an earlier attempt may have gone with it.
    fn without_table(&mut self, error: ports::Error) -> Result<Ending> {
        if !self.in_doubt.is_empty() {
            return Ok(self.unknown(&error.to_string()));
        }
        if error.kind == ErrorKind::NotFound {
            let reason = format!("table {} does not exist any more (dropped or renamed): {error}", self.job.plan.table);
            return Ok(self.conflicted(reason));
        }
        Err(Error::Catalog(error))
    }

    /// What the table's history says about this plan, and about attempts whose answer was lost.
    async fn settle(&mut self, table: &LoadedTable) -> Option<Ending> {
        let metadata = &table.metadata;
        if let Some(landed) = find_plan(table, &self.job.plan.plan_id.0, self.snapshot_id.0) {
            let ours = |doubt: &Doubt| doubt.prepared.written.contains(&landed.manifest_list);
            let Some(index) = self.in_doubt.iter().position(ours) else {
                return Some(self.landed_before(table, &landed).await);
            };
            self.in_doubt.swap_remove(index);
            self.discard_doubts();
            return Some(self.committed(landed.replaced));
        }
        let (dead, open): (Vec<Doubt>, Vec<Doubt>) =
            self.in_doubt.drain(..).partition(|doubt| has_gone_on(metadata, &self.job.plan.branch, doubt.head));
        self.conflicts += dead.len() as u64;
        self.garbage.extend(dead.into_iter().flat_map(|doubt| doubt.prepared.written));
        self.in_doubt = open;
        None
    }

    /// The plan is in the table by no attempt of this committer. The same outputs delivered again are what was committed; those
    /// of another run of the plan are not.
    async fn landed_before(&mut self, table: &LoadedTable, landed: &Landed) -> Ending {
        let snapshot = self.snapshot_id.0;
        match table_io::scan(table, Some(snapshot), None).await {
            Ok(files) => self.landed = files.data.iter().map(|file| Arc::clone(&file.path)).collect(),
            Err(e) => return self.unknown(&format!("the plan is in snapshot {snapshot}, which cannot be read: {e}")),
        }
        self.discard_doubts();
        if self.outputs().all(|path| self.landed.contains(path)) {
            return self.committed(landed.replaced);
        }
        self.conflicted(format!(
            "the plan was committed by another run of it: snapshot {snapshot}; if that was rolled back, expire it and plan again"
        ))
    }

    /// Locations of the data files to add.
    fn outputs(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.job.groups.iter().flat_map(|group| &group.files).map(|it| it.file.file_path())
    }

    /// One attempt on `table`. While an earlier one is in doubt, both want the same snapshot on the same head: at most one can win.
    async fn attempt(&mut self, table: &LoadedTable) -> Result<Step> {
        let attempt_id = format!("{}-{}-{}", self.job.attempt_id, self.job.batch, self.attempts);
        let rewrite = ids::rewrite(self.job, attempt_id, self.clock.now_ms());
        let prepared = match prepare_commit(table, &rewrite).await? {
            Ok(prepared) => prepared,
            Err(conflict) if self.in_doubt.is_empty() => return Ok(Step::End(self.conflicted(conflict.to_string()))),
            Err(conflict) => return Ok(Step::End(self.unknown(&conflict.to_string()))),
        };
        let (requirements, updates) = (prepared.requirements.clone(), prepared.updates.clone());
        match self.catalog.commit(table, requirements, updates).await {
            Ok(CommitOutcome::Committed { .. }) => {
                self.discard_doubts();
                Ok(Step::End(self.committed(prepared.replaced)))
            }
            Ok(CommitOutcome::Conflicted { reason }) => {
                self.conflicts += 1;
                self.garbage.extend(prepared.written);
                Ok(Step::Again(reason))
            }
            Ok(CommitOutcome::Unknown { reason }) => {
                let head = table.metadata.snapshot_for_ref(&self.job.plan.branch).map(|it| it.snapshot_id());
                self.in_doubt.push(Doubt { prepared, head, reason: reason.clone() });
                Ok(Step::Again(reason))
            }
            Err(e) => {
                self.garbage.extend(prepared.written);
                match e.kind {
                    // The table is gone, or another one has its name by now: the next look tells.
                    ErrorKind::NotFound => Ok(Step::Again(e.to_string())),
                    ErrorKind::Unavailable | ErrorKind::Throttled if self.may_retry(table) => {
                        Ok(Step::Again(e.to_string()))
                    }
                    _ => Err(Error::Catalog(e)),
                }
            }
        }
    }

    fn may_retry(&self, table: &LoadedTable) -> bool {
        self.attempts <= Policy::of(table.metadata.properties()).retries_max
    }

    fn committed(&self, replaced: Replaced) -> Ending {
        Ending::Committed(Committed {
            snapshot_id: self.snapshot_id,
            removed_delete_files: replaced.delete_files,
            removed_records: replaced.removed_records,
            added_records: replaced.added_records,
        })
    }

    fn conflicted(&mut self, reason: String) -> Ending {
        self.conflicts += 1;
        Ending::Conflicted { reason }
    }

    fn unknown(&self, reason: &str) -> Ending {
        let first = self.in_doubt.first().map_or(String::new(), |doubt| format!("{}; ", doubt.reason));
        Ending::Unknown { reason: format!("{first}{reason}") }
    }

    fn give_up(&mut self) -> Ending {
        let attempts = self.attempts;
        if self.in_doubt.is_empty() {
            Ending::Conflicted { reason: format!("other writers were faster in each of {attempts} attempts") }
        } else {
            self.unknown(&format!("the table does not show the commit after {attempts} attempts"))
        }
    }

    fn discard_doubts(&mut self) {
        self.garbage.extend(self.in_doubt.drain(..).flat_map(|doubt| doubt.prepared.written));
    }

    /// Cleans up what is proven to be in no snapshot, and reports.
    pub(crate) async fn finish(mut self, ended: Result<Ending>) -> Result<CommitReport> {
        if matches!(ended, Ok(Ending::Conflicted { .. }) | Err(_)) {
            let outputs = self.outputs().filter(|path| !self.landed.contains(*path));
            self.garbage.extend(outputs.map(str::to_owned));
        }
        let table = match self.table.take() {
            None if !self.garbage.is_empty() => self.load().await.ok(),
            table => table,
        };
        let mut warnings = Vec::new();
        for path in &self.garbage {
            match &table {
                Some(table) => {
                    if let Err(e) = table.file_io.delete(path).await {
                        warnings.push(format!("cannot remove {path}, which no snapshot has: {e}"));
                    }
                }
                None => {
                    warnings.push(format!("{path} is left over: the table that it was written for cannot be loaded"))
                }
            }
        }
        let retries = self.attempts.saturating_sub(1);
        ended.map(|ending| CommitReport { ending, retries, conflicts: self.conflicts, warnings })
    }
}
