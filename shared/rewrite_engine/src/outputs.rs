//! The output files of one group: one open file per output partition, closed at the target size.

use std::{collections::HashMap, sync::Arc};

use arrow_array::RecordBatch;
use iceberg::{
    arrow::RecordBatchPartitionSplitter,
    spec::{PartitionSpecRef, Struct},
};
use ports::LoadedTable;
use table_io::WrittenFile;

use crate::{
    error::{Error, Result},
    read::arrow_schema,
    rewrite::{RewriteInput, RewriteJob},
    write::{DataFileWriter, Layout, Settings, WriteError},
};

/// Files open at once. A group that fans out to more partitions closes its largest one early.
const OPEN_FILES_MAX: usize = 64;
/// Rows between two looks at a file's size.
const ROWS_PER_LOOK: usize = 1_024;

/// The files of one rewrite.
pub(crate) struct Outputs<'a> {
    table: &'a LoadedTable,
    job: &'a RewriteJob,
    pub(crate) layout: Layout,
    spec: PartitionSpecRef,
    /// Made by the first rows that change their spec.
    splitter: Option<RecordBatchPartitionSplitter>,
    goal_bytes: u64,
    open: HashMap<Struct, DataFileWriter>,
    closed: Vec<WrittenFile>,
    /// Every path that was begun, for whoever cleans up.
    begun: Vec<String>,
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
        let even = job.expected_output_bytes / job.expected_output_files.max(1);
        let goal_bytes = even.max(job.target_file_size_bytes);
        let (open, closed, begun) = (HashMap::new(), Vec::new(), Vec::new());
        Ok(Self { table, job, layout, spec, splitter: None, goal_bytes, open, closed, begun })
    }

    /// Writes rows of `input` to the files of their partitions.
    pub(crate) fn write(&mut self, batch: &RecordBatch, input: &RewriteInput) -> Result<()> {
        if input.file.partition.spec_id == self.job.output_spec_id {
            return self.write_to(input.file.tuple.as_ref(), batch);
        }
        if self.spec.is_unpartitioned() {
            return self.write_to(&Struct::empty(), batch);
        }
        let wrong = |error: iceberg::Error| Error::Corrupt {
            path: input.file.path.to_string(),
            reason: format!("its rows have no place in partition spec {}: {error}", self.job.output_spec_id),
        };
        let splitter = match self.splitter.take() {
            Some(splitter) => splitter,
            None => self.new_splitter().map_err(wrong)?,
        };
        let parts = splitter.split(batch).map_err(wrong)?;
        self.splitter = Some(splitter);
        for (key, part) in parts {
            self.write_to(key.data(), &part)?;
        }
        Ok(())
    }

    fn new_splitter(&self) -> iceberg::Result<RecordBatchPartitionSplitter> {
        let schema = Arc::clone(&self.layout.schema);
        RecordBatchPartitionSplitter::try_new_with_computed_values(schema, Arc::clone(&self.spec))
    }

    fn write_to(&mut self, tuple: &Struct, batch: &RecordBatch) -> Result<()> {
        let mut start = 0;
        while start < batch.num_rows() {
            let length = (batch.num_rows() - start).min(ROWS_PER_LOOK);
            self.write_some(tuple, &batch.slice(start, length))?;
            start += length;
        }
        Ok(())
    }

    fn write_some(&mut self, tuple: &Struct, batch: &RecordBatch) -> Result<()> {
        if self.open.get(tuple).is_some_and(|file| file.size_bytes() >= self.goal_bytes) {
            self.close(tuple)?;
        }
        if !self.open.contains_key(tuple) {
            self.make_room()?;
            let path = self.next_path(tuple);
            self.begun.push(path.clone());
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

    fn make_room(&mut self) -> Result<()> {
        if self.open.len() < OPEN_FILES_MAX {
            return Ok(());
        }
        let largest = self.open.iter().max_by_key(|(_, file)| file.size_bytes()).map(|(tuple, _)| tuple.clone());
        largest.map_or(Ok(()), |tuple| self.close(&tuple))
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
        let tuples: Vec<Struct> = self.open.keys().cloned().collect();
        for tuple in tuples {
            self.close(&tuple)?;
        }
        self.closed.sort_by(|a, b| a.file.file_path().cmp(b.file.file_path()));
        Ok(std::mem::take(&mut self.closed))
    }

    /// Removes everything that was begun. What cannot be removed is an orphan, and no harm.
    pub(crate) fn remove(&mut self) {
        self.open.clear();
        for path in self.begun.drain(..) {
            if let Err(error) = futures::executor::block_on(self.table.file_io.delete(&path)) {
                tracing::warn!(path, %error, "an output of a failed rewrite stays as an orphan");
            }
        }
    }

    /// `<data>/<partition>/<group>-<attempt>-firn<target>-<number>.parquet`: the stamp tells the planner what it need not
    /// rewrite again.
    fn next_path(&self, tuple: &Struct) -> String {
        let group: String = self.job.group_id.chars().take(8).collect();
        let (attempt, target) = (&self.job.attempt_id, self.job.target_file_size_bytes);
        let name = format!("{group}-{attempt}-firn{target}-{:05}.parquet", self.begun.len());
        let relative = if self.spec.is_unpartitioned() || self.spec.fields().is_empty() {
            name
        } else {
            format!("{}/{name}", self.spec.partition_to_path(tuple, Arc::clone(&self.layout.schema)))
        };
        let data = &self.layout.settings.data_location;
        if self.layout.settings.object_storage {
            format!("{data}/{}/{relative}", hash_folders(&relative))
        } else {
            format!("{data}/{relative}")
        }
    }
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
