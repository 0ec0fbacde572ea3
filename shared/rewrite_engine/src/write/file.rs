//! One data file: row groups put together from column chunks, streamed to storage.

use std::{collections::HashMap, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use iceberg::{
    io::FileIO,
    spec::{DataContentType, DataFile, DataFileBuilder, DataFileFormat, Schema, Struct},
};
use parquet::{
    arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves},
    errors::ParquetError,
    file::{properties::WriterProperties, writer::SerializedFileWriter},
    schema::types::TypePtr,
};

use super::{
    floats::{self, FloatStats},
    metrics::{Metrics, metrics},
    schema::parquet_schema,
    settings::Settings,
    sink::Sink,
    tune::tuned,
};

/// A write failed.
pub(crate) type WriteError = Box<dyn std::error::Error + Send + Sync>;

/// What all files of one rewrite share.
pub(crate) struct Layout {
    pub(crate) arrow: SchemaRef,
    pub(crate) schema: Arc<Schema>,
    parquet: TypePtr,
    pub(crate) settings: Settings,
    /// Set by the first rows.
    tuned: Option<Arc<WriterProperties>>,
}

impl Layout {
    pub(crate) fn new(arrow: SchemaRef, schema: Arc<Schema>, settings: Settings) -> Result<Self, WriteError> {
        let parquet = parquet_schema(&arrow, &schema)?;
        Ok(Self { arrow, schema, parquet, settings, tuned: None })
    }

    /// Chooses codec levels and dictionaries by the first rows of about `rows`; later calls change nothing.
    pub(crate) fn tune(&mut self, sample: &RecordBatch, rows: u64) -> Result<(), WriteError> {
        if self.tuned.is_none() {
            self.tuned = Some(Arc::new(tuned(&self.settings, sample, rows)?));
        }
        Ok(())
    }

    fn properties(&self) -> Arc<WriterProperties> {
        self.tuned.clone().unwrap_or_else(|| Arc::new(self.settings.properties.clone()))
    }
}

/// A data file in the making.
pub(crate) struct DataFileWriter {
    path: String,
    file: SerializedFileWriter<Sink>,
    factory: ArrowRowGroupWriterFactory,
    columns: Vec<ArrowColumnWriter>,
    floats: HashMap<i32, FloatStats>,
    row_groups: usize,
    /// Of the row group that is open.
    open_rows: u64,
    rows: u64,
}

impl DataFileWriter {
    pub(crate) fn create(file_io: &FileIO, path: &str, layout: &Layout) -> Result<Self, WriteError> {
        let output = file_io.new_output(path)?;
        let sink = Sink::new(futures::executor::block_on(output.writer())?);
        let file = SerializedFileWriter::new(sink, Arc::clone(&layout.parquet), layout.properties())?;
        let factory = ArrowRowGroupWriterFactory::new(&file, Arc::clone(&layout.arrow));
        let columns = factory.create_column_writers(0)?;
        let (path, floats) = (path.to_owned(), HashMap::new());
        Ok(Self { path, file, factory, columns, floats, row_groups: 0, open_rows: 0, rows: 0 })
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch, layout: &Layout) -> Result<(), WriteError> {
        let mut writers = self.columns.iter_mut();
        for (field, column) in layout.arrow.fields().iter().zip(batch.columns()) {
            for leaf in compute_leaves(field, column)? {
                let writer =
                    writers.next().ok_or_else(|| ParquetError::General("more leaves than columns".to_owned()))?;
                writer.write(&leaf)?;
            }
        }
        floats::add(&mut self.floats, batch);
        self.rows += batch.num_rows() as u64;
        self.open_rows += batch.num_rows() as u64;
        if self.encoded_bytes() >= layout.settings.row_group_size_bytes {
            self.close_row_group()?;
        }
        Ok(())
    }

    /// Bytes of the file so far, those of the open row group estimated.
    pub(crate) fn size_bytes(&self) -> u64 {
        self.file.bytes_written() as u64 + self.encoded_bytes()
    }

    fn encoded_bytes(&self) -> u64 {
        self.columns.iter().map(|it| it.get_estimated_total_bytes() as u64).sum()
    }

    /// Memory that the open row group takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.columns.iter().map(|it| it.memory_size() as u64).sum()
    }

    /// Writes out the open row group and starts the next.
    pub(crate) fn close_row_group(&mut self) -> Result<(), WriteError> {
        self.end_row_group()?;
        self.columns = self.factory.create_column_writers(self.row_groups)?;
        Ok(())
    }

    fn end_row_group(&mut self) -> Result<(), WriteError> {
        if self.open_rows == 0 {
            self.columns.clear();
            return Ok(());
        }
        let mut row_group = self.file.next_row_group()?;
        for column in self.columns.drain(..) {
            column.close()?.append_to_row_group(&mut row_group)?;
        }
        row_group.close()?;
        self.row_groups += 1;
        self.open_rows = 0;
        Ok(())
    }

    /// Ends the file; its manifest entry for partition `tuple` of `spec_id`.
    pub(crate) fn close(mut self, layout: &Layout, tuple: &Struct, spec_id: i32) -> Result<DataFile, WriteError> {
        self.end_row_group()?;
        let footer = self.file.finish()?;
        let size_bytes = self.file.bytes_written() as u64;
        self.file.inner_mut().close()?;
        let Metrics { column_sizes, value_counts, null_value_counts, nan_value_counts, lower_bounds, upper_bounds } =
            metrics(&footer, &self.floats, &layout.schema, &layout.settings);
        let offset = |group: &parquet::file::metadata::RowGroupMetaData| {
            group.columns().iter().map(|it| i64::try_from(it.byte_range().0).unwrap_or(i64::MAX)).min().unwrap_or(4)
        };
        let file = DataFileBuilder::default()
            .content(DataContentType::Data)
            .file_path(self.path)
            .file_format(DataFileFormat::Parquet)
            .partition(tuple.clone())
            .partition_spec_id(spec_id)
            .record_count(self.rows)
            .file_size_in_bytes(size_bytes)
            .column_sizes(column_sizes)
            .value_counts(value_counts)
            .null_value_counts(null_value_counts)
            .nan_value_counts(nan_value_counts)
            .lower_bounds(lower_bounds)
            .upper_bounds(upper_bounds)
            .split_offsets(Some(footer.row_groups().iter().map(offset).collect()))
            .build()?;
        Ok(file)
    }
}
