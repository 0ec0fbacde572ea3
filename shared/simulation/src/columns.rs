//! Parquet files of the world's tables, written and read with the `parquet` crate, columns found by field id.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, cast::AsArray, types::Int64Type};
use arrow_schema::{Field, Schema};
use bytes::Bytes;
use parquet::arrow::{ArrowWriter, arrow_reader::ParquetRecordBatchReaderBuilder};

use crate::rows::Row;

/// Field ids of the table's columns.
pub(crate) const ID: i32 = 1;
pub(crate) const TEXT: i32 = 2;
pub(crate) const PART: i32 = 3;
/// Reserved field ids (Iceberg spec, "Reserved Field IDs").
const FILE_PATH: i32 = 2_147_483_546;
const POS: i32 = 2_147_483_545;
const ROW_ID: i32 = 2_147_483_540;
const LAST_UPDATED: i32 = 2_147_483_539;

fn column(id: i32, name: &str, is_nullable: bool, values: ArrayRef) -> (Field, ArrayRef) {
    let field = Field::new(name, values.data_type().clone(), is_nullable);
    (field.with_metadata([("PARQUET:field_id".to_owned(), id.to_string())].into()), values)
}

fn file(columns: Vec<(Field, ArrayRef)>) -> Vec<u8> {
    let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).unwrap();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

fn longs(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

fn texts<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// A data file.
pub(crate) fn data(rows: &[Row]) -> Vec<u8> {
    file(vec![
        column(ID, "id", false, longs(rows.iter().map(|row| row.id))),
        column(TEXT, "text", true, texts(rows.iter().map(|row| row.text.as_str()))),
        column(PART, "part", true, texts(rows.iter().map(|row| row.part.as_str()))),
    ])
}

/// A position delete file.
pub(crate) fn positions(path: &str, positions: &[u64]) -> Vec<u8> {
    file(vec![
        column(FILE_PATH, "file_path", false, texts(positions.iter().map(|_| path))),
        column(POS, "pos", false, longs(positions.iter().map(|it| i64::try_from(*it).unwrap()))),
    ])
}

/// An equality delete file on `id`.
pub(crate) fn keys(ids: &[i64]) -> Vec<u8> {
    file(vec![column(ID, "id", false, longs(ids.iter().copied()))])
}

/// The batches of a file, and a way to find their columns.
struct Columns(Vec<RecordBatch>);

impl Columns {
    fn of(bytes: Bytes) -> Self {
        let reader = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap().build().unwrap();
        Self(reader.map(Result::unwrap).collect())
    }

    fn arrays(&self, id: i32) -> Vec<ArrayRef> {
        let found = |batch: &RecordBatch| {
            let has_id = |field: &&Arc<Field>| field.metadata().get("PARQUET:field_id") == Some(&id.to_string());
            let schema = batch.schema();
            let at = schema.fields().iter().position(|field| has_id(&field))?;
            Some(Arc::clone(batch.column(at)))
        };
        self.0.iter().filter_map(found).collect()
    }

    /// The values of a column of longs; nothing where the file has no such column.
    fn longs(&self, id: i32) -> Vec<Option<i64>> {
        self.arrays(id).iter().flat_map(|array| array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>()).collect()
    }

    fn texts(&self, id: i32) -> Vec<String> {
        let text =
            |array: &ArrayRef| array.as_string::<i32>().iter().map(|it| it.unwrap().to_owned()).collect::<Vec<_>>();
        self.arrays(id).iter().flat_map(text).collect()
    }
}

/// What a data file stores of a row's lineage: `_row_id` and `_last_updated_sequence_number`, each where it has one.
pub(crate) type StoredLineage = (Option<i64>, Option<i64>);

/// The rows of a data file, without lineage, and what it stores of that.
pub(crate) fn read_data(bytes: Bytes) -> Vec<(Row, StoredLineage)> {
    let columns = Columns::of(bytes);
    let (ids, texts, parts) = (columns.longs(ID), columns.texts(TEXT), columns.texts(PART));
    let (row_ids, updates) = (columns.longs(ROW_ID), columns.longs(LAST_UPDATED));
    let stored = |values: &[Option<i64>], at: usize| values.get(at).copied().flatten();
    let row = |(at, ((id, text), part)): (usize, ((Option<i64>, String), String))| {
        let row = Row { id: id.unwrap(), text, part, lineage: None };
        (row, (stored(&row_ids, at), stored(&updates, at)))
    };
    ids.into_iter().zip(texts).zip(parts).enumerate().map(row).collect()
}

/// The (path, position) pairs of a position delete file.
pub(crate) fn read_positions(bytes: Bytes) -> Vec<(String, u64)> {
    let columns = Columns::of(bytes);
    let positions = columns.longs(POS).into_iter().map(|it| u64::try_from(it.unwrap()).unwrap());
    columns.texts(FILE_PATH).into_iter().zip(positions).collect()
}

/// The ids of an equality delete file.
pub(crate) fn read_keys(bytes: Bytes) -> Vec<i64> {
    Columns::of(bytes).longs(ID).into_iter().map(Option::unwrap).collect()
}
