//! The output files of one group: one open file per output partition, closed at the target size.

use std::{collections::HashMap, sync::Arc};

use arrow_array::RecordBatch;
use arrow_select::concat::concat_batches;
use iceberg::spec::{PartitionSpecRef, Struct};
use ports::LoadedTable;
use table_io::WrittenFile;

use crate::{
    error::{Error, Result},
    partition::{Splitter, folders, widened},
    read::arrow_schema,
    rewrite::{RewriteInput, RewriteJob},
    write::{DataFileWriter, Layout, Settings, WriteError},
};

/// Files open at once. A group that fans out to more partitions closes its largest one early.
const OPEN_FILES_MAX: usize = 64;
/// Memory of the open row groups of all files together; the largest is written out when they need more.
const BUFFER_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// Rows between two looks at a file's size, at most.
const ROWS_PER_LOOK_MAX: usize = 8_192;
/// Rows that are gathered from small files before they are written: encoding a few at a time costs more than the rows.
const ROWS_GATHERED: usize = 8_192;

/// The files of one rewrite.
pub(crate) struct Outputs<'a> {
    table: &'a LoadedTable,
    job: &'a RewriteJob,
    pub(crate) layout: Layout,
    spec: PartitionSpecRef,
    /// Made by the first rows that change their spec.
    splitter: Option<Splitter>,
    gathered: Gathered,
    open: HashMap<Struct, DataFileWriter>,
    begun: u64,
    closed: Vec<WrittenFile>,
    /// Of all inputs, before deletes.
    records: u64,
    rows_per_look: usize,
}

impl<'a> Outputs<'a> {
    pub(crate) fn new(table: &'a LoadedTable, job: &'a RewriteJob) -> Result<Self> {
        let metadata = &table.metadata;
        let unsupported = |reason: String| Error::Unsupported { path: metadata.location().to_owned(), reason };
        if metadata.properties().contains_key("encryption.key-id") {
            return Err(unsupported("the table is encrypted (encryption.key-id is set)".to_owned()));
        }
        let schema = Arc::clone(metadata.current_schema());
        let with_lineage = metadata.format_version() >= iceberg::spec::FormatVersion::V3;
        let settings = Settings::new(metadata).map_err(unsupported)?;
        let layout = Layout::new(arrow_schema(&schema, with_lineage)?, schema, settings)
            .map_err(|e| unsupported(e.to_string()))?;
        let spec = metadata.partition_spec_by_id(job.output_spec_id).cloned();
        let spec =
            spec.ok_or_else(|| unsupported(format!("the table has no partition spec {}", job.output_spec_id)))?;
        let (splitter, gathered, open, begun, closed) = (None, Gathered::default(), HashMap::new(), 0, Vec::new());
        let (records, rows_per_look) = (records(job), rows_per_look(job));
        Ok(Self { table, job, layout, spec, splitter, gathered, open, begun, closed, records, rows_per_look })
    }

    /// Writes rows of `input` to the files of their partitions.
    pub(crate) fn write(&mut self, batch: RecordBatch, input: &RewriteInput) -> Result<()> {
        if !self.gathered.is_like(input) {
            self.write_gathered()?;
            self.gathered.input = Some(input.clone());
        }
        self.gathered.rows += batch.num_rows();
        self.gathered.batches.push(batch);
        if self.gathered.rows >= ROWS_GATHERED { self.write_gathered() } else { Ok(()) }
    }

    fn write_gathered(&mut self) -> Result<()> {
        let Gathered { input: Some(input), batches, .. } = std::mem::take(&mut self.gathered) else { return Ok(()) };
        let wrong = |reason: String| Error::Corrupt {
            path: input.file.path.to_string(),
            reason: format!("its rows have no place in partition spec {}: {reason}", self.job.output_spec_id),
        };
        let batch = concat_batches(&self.layout.arrow, &batches).map_err(|error| wrong(error.to_string()))?;
        let tuned = self.layout.tune(&batch, self.records);
        tuned.map_err(|error| write_error(&self.layout.settings.data_location, error))?;
        if input.file.partition.spec_id == self.job.output_spec_id {
            let tuple = widened(&input.file.tuple, &self.spec, &self.layout.schema);
            return self.write_to(&tuple, &batch);
        }
        if self.splitter.is_none() {
            self.splitter = Some(Splitter::new(&self.spec, &self.layout.schema).map_err(wrong)?);
        }
        let parts = self.splitter.as_ref().map_or(Ok(Vec::new()), |it| it.split(&batch)).map_err(wrong)?;
        parts.iter().try_for_each(|(tuple, part)| self.write_to(tuple, part))
    }

    fn write_to(&mut self, tuple: &Struct, batch: &RecordBatch) -> Result<()> {
        let mut start = 0;
        while start < batch.num_rows() {
            let length = (batch.num_rows() - start).min(self.rows_per_look);
            self.write_some(tuple, &batch.slice(start, length))?;
            start += length;
        }
        self.limit_memory()
    }

    fn write_some(&mut self, tuple: &Struct, batch: &RecordBatch) -> Result<()> {
        let goal_bytes = self.goal_bytes();
        if self.open.get(tuple).is_some_and(|file| file.size_bytes() >= goal_bytes) {
            self.close(tuple)?;
        }
        if !self.open.contains_key(tuple) {
            self.make_room()?;
            let path = self.next_path(tuple)?;
            self.begun += 1;
            let file =
                DataFileWriter::create(&self.table.file_io, &path, &self.layout).map_err(|e| write_error(&path, e))?;
            self.open.insert(tuple.clone(), file);
        }
        match self.open.get_mut(tuple) {
            Some(file) => {
                let result = file.write(batch, &self.layout);
                result.map_err(|error| write_error(file.path(), error))
            }
            None => Ok(()),
        }
    }

    /// Where a file ends: at an even share of the group, never below the target. The last planned file takes what is left
    /// up to W (rewrite rules B), so that no estimate leaves a tiny one behind it.
    fn goal_bytes(&self) -> u64 {
        let (job, target) = (self.job, self.job.target_file_size_bytes);
        let even = (job.expected_output_bytes / job.expected_output_files.max(1)).max(target);
        let is_last = self.begun >= job.expected_output_files;
        if is_last { even.max(target.saturating_mul(7) / 5) } else { even }
    }

    fn make_room(&mut self) -> Result<()> {
        if self.open.len() < OPEN_FILES_MAX {
            return Ok(());
        }
        let largest = self.open.iter().max_by_key(|(_, file)| file.size_bytes()).map(|(tuple, _)| tuple.clone());
        largest.map_or(Ok(()), |tuple| self.close(&tuple))
    }

    fn limit_memory(&mut self) -> Result<()> {
        while self.open.values().map(DataFileWriter::memory_bytes).sum::<u64>() > BUFFER_BYTES_MAX {
            let Some(file) = self.open.values_mut().max_by_key(|file| file.memory_bytes()) else { break };
            file.close_row_group().map_err(|error| write_error(file.path(), error))?;
        }
        Ok(())
    }

    fn close(&mut self, tuple: &Struct) -> Result<()> {
        let Some(file) = self.open.remove(tuple) else { return Ok(()) };
        let path = file.path().to_owned();
        let file =
            file.close(&self.layout, tuple, self.job.output_spec_id).map_err(|error| write_error(&path, error))?;
        self.closed.push(WrittenFile { spec_id: self.job.output_spec_id, file });
        Ok(())
    }

    /// Closes what is open; every file in the order of its name.
    pub(crate) fn finish(&mut self) -> Result<Vec<WrittenFile>> {
        self.write_gathered()?;
        let tuples: Vec<Struct> = self.open.keys().cloned().collect();
        for tuple in tuples {
            self.close(&tuple)?;
        }
        self.closed.sort_by(|a, b| a.file.file_path().cmp(b.file.file_path()));
        Ok(self.closed.clone())
    }

    /// Removes every file that was closed; one that was not, its writer takes back. A file that this rewrite did not make is
    /// never touched, and what cannot be removed is an orphan and no harm.
    pub(crate) fn remove(&mut self) {
        self.open.clear();
        for written in self.closed.drain(..) {
            let path = written.file.file_path();
            if let Err(error) = futures::executor::block_on(self.table.file_io.delete(path)) {
                tracing::warn!(path, %error, "an output of a failed rewrite stays as an orphan");
            }
        }
    }

    /// `<data>/<partition>/<group>-<attempt>-firn<target>-<number>.parquet`: the stamp tells the planner what it need not
    /// rewrite again.
    fn next_path(&self, tuple: &Struct) -> Result<String> {
        let group: String = self.job.group_id.chars().take(8).collect();
        let (attempt, target) = (&self.job.attempt_id, self.job.target_file_size_bytes);
        let name = format!("{group}-{attempt}-firn{target}-{:05}.parquet", self.begun);
        let relative = if self.spec.fields().is_empty() {
            name
        } else {
            format!("{}/{name}", folders(&self.spec, &self.layout.schema, tuple)?)
        };
        let data = &self.layout.settings.data_location;
        Ok(if self.layout.settings.object_storage {
            format!("{data}/{}/{relative}", hash_folders(&relative))
        } else {
            format!("{data}/{relative}")
        })
    }
}

/// Rows of inputs of one partition that wait to be written together.
#[derive(Default)]
struct Gathered {
    /// The first of those inputs.
    input: Option<RewriteInput>,
    batches: Vec<RecordBatch>,
    rows: usize,
}

impl Gathered {
    fn is_like(&self, input: &RewriteInput) -> bool {
        self.input.as_ref().is_some_and(|it| it.file.partition == input.file.partition)
    }
}

fn records(job: &RewriteJob) -> u64 {
    job.inputs.iter().fold(0, |sum, it| sum.saturating_add(it.file.records))
}

/// So that no file passes its target by much: a hundredth of it in input rows.
fn rows_per_look(job: &RewriteJob) -> usize {
    let bytes = job.inputs.iter().fold(0_u64, |sum, it| sum.saturating_add(it.file.size_bytes));
    let row_bytes = (bytes / records(job).max(1)).max(1);
    usize::try_from(job.target_file_size_bytes / 100 / row_bytes)
        .unwrap_or(ROWS_PER_LOOK_MAX)
        .clamp(1, ROWS_PER_LOOK_MAX)
}

/// Folders that spread files over a bucket's prefixes: 20 bits of a hash as 4/4/4/8, the shape of Iceberg's
/// `ObjectStoreLocationProvider`. Any hash serves.
fn hash_folders(name: &str) -> String {
    let bits = format!("{:020b}", xxhash_rust::xxh3::xxh3_64(name.as_bytes()) & 0xF_FFFF);
    let part = |from: usize, to: usize| bits.get(from..to).unwrap_or("").to_owned();
    format!("{}/{}/{}/{}", part(0, 4), part(4, 8), part(8, 12), part(12, 20))
}

fn write_error(path: &str, source: WriteError) -> Error {
    Error::Write { path: path.to_owned(), source }
}
