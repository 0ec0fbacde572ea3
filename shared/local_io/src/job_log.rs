//! The job log as one file of JSON lines.
//!
//! A record is one line; it counts once its newline is there. A process killed while appending leaves a line without
//! one: readers ignore it, the next append cuts it off. Appends of several processes take turns by a lock on the file.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::PathBuf,
};

use async_trait::async_trait;
use model::Evidence;
use ports::{Error, ErrorKind, JobLog};
use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Record<E> {
    finished_at_ms: i64,
    evidence: E,
}

/// The evidence of past jobs in one file.
#[derive(Clone, Debug)]
pub struct FileJobLog {
    path: PathBuf,
}

impl FileJobLog {
    /// The log kept at `path`; the file and its folder are created by the first append.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    fn error(&self, operation: &'static str, source: io::Error) -> Error {
        let kind = match source.kind() {
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::Denied,
            io::ErrorKind::InvalidData => ErrorKind::Corrupt,
            _ => ErrorKind::Unavailable,
        };
        Error::new(kind, operation, self.path.display().to_string(), source)
    }

    fn append_line(&self, line: &[u8]) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&self.path)?;
        flock(&file, FlockOperation::LockExclusive)?;
        let end = end_of_whole_lines(&mut file)?;
        file.set_len(end)?;
        let written = file.write_all(line).and_then(|()| file.sync_all());
        if written.is_err() {
            file.set_len(end)?;
        }
        written
    }

    fn read_records(&self) -> io::Result<Vec<(i64, Evidence)>> {
        let text = match std::fs::read(&self.path) {
            Ok(text) => text,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(e) => return Err(e),
        };
        let mut lines: Vec<_> = text.split(|byte| *byte == b'\n').collect();
        // What follows the last newline: nothing, or a torn record.
        lines.pop();
        lines.iter().enumerate().map(|(index, line)| parse(index, line)).collect()
    }
}

fn parse(index: usize, line: &[u8]) -> io::Result<(i64, Evidence)> {
    let record: Record<Evidence> = serde_json::from_slice(line)
        .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, format!("line {} is no job record: {e}", index + 1)))?;
    Ok((record.finished_at_ms, record.evidence))
}

/// The offset after the last newline, searched from the end.
fn end_of_whole_lines(file: &mut File) -> io::Result<u64> {
    const BLOCK_BYTES: u64 = 64 * 1024;
    let mut end = file.metadata()?.len();
    while end > 0 {
        let start = end.saturating_sub(BLOCK_BYTES);
        let mut block = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        Read::by_ref(file).take(end - start).read_to_end(&mut block)?;
        if let Some(newline) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(start + newline as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[async_trait]
impl JobLog for FileJobLog {
    async fn append(&self, finished_at_ms: i64, evidence: &Evidence) -> Result<(), Error> {
        let line = serde_json::to_vec(&Record { finished_at_ms, evidence });
        let mut line = line.map_err(|e| self.error("job_log.append", e.into()))?;
        line.push(b'\n');
        self.append_line(&line).map_err(|e| self.error("job_log.append", e))
    }

    async fn records(&self) -> Result<Vec<(i64, Evidence)>, Error> {
        self.read_records().map_err(|e| self.error("job_log.records", e))
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use model::Outcome;

    use super::*;

    fn evidence(reason: &str) -> Evidence {
        Evidence {
            table: "db.orders".parse().unwrap(),
            plan_id: None,
            outcome: Outcome::NothingToDo,
            base_snapshot_id: None,
            snapshot_ids: Vec::new(),
            groups: Default::default(),
            data_files: Default::default(),
            delete_files: Default::default(),
            records: Default::default(),
            bytes: Default::default(),
            conflicts: 0,
            retries: 0,
            duration_ms: 1,
            cpu_ms: 1,
            peak_memory_bytes: 1,
            cost_usd: 0.5,
            effect: None,
            reasons: vec![reason.to_owned()],
        }
    }

    fn log() -> (tempfile::TempDir, FileJobLog) {
        let dir = tempfile::tempdir().unwrap();
        let log = FileJobLog::new(dir.path().join("state/jobs.jsonl"));
        (dir, log)
    }

    #[test]
    fn records_come_back_oldest_first_and_a_missing_log_is_empty() {
        let (_dir, log) = log();
        assert_eq!(block_on(log.records()).unwrap(), []);
        block_on(log.append(2, &evidence("a\nb"))).unwrap();
        block_on(log.append(3, &evidence("c"))).unwrap();
        assert_eq!(block_on(log.records()).unwrap(), [(2, evidence("a\nb")), (3, evidence("c"))]);
    }

    #[test]
    fn a_torn_last_line_is_ignored_and_repaired_by_the_next_append() {
        let (_dir, log) = log();
        block_on(log.append(2, &evidence("a"))).unwrap();
        let mut file = OpenOptions::new().append(true).open(&log.path).unwrap();
        file.write_all(&vec![b'{'; 100_000]).unwrap();
        assert_eq!(block_on(log.records()).unwrap(), [(2, evidence("a"))]);
        block_on(log.append(3, &evidence("b"))).unwrap();
        assert_eq!(block_on(log.records()).unwrap(), [(2, evidence("a")), (3, evidence("b"))]);
    }

    #[test]
    fn a_broken_line_in_the_middle_is_corrupt_and_named() {
        let (_dir, log) = log();
        block_on(log.append(2, &evidence("a"))).unwrap();
        OpenOptions::new().append(true).open(&log.path).unwrap().write_all(b"{oops\n").unwrap();
        block_on(log.append(3, &evidence("b"))).unwrap();
        let error = block_on(log.records()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Corrupt);
        assert!(error.source.to_string().contains("line 2"), "{}", error.source);
    }
}
