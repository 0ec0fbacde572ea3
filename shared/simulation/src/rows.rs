//! Rows of the world's tables.

use std::ops::Range;

/// One row: an id, a text that follows from it, the partition it belongs to, and in format version 3 its lineage.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Column `id`.
    pub id: i64,
    /// Column `text`.
    pub text: String,
    /// Column `part`.
    pub part: String,
    /// `_row_id` and `_last_updated_sequence_number` (Iceberg spec, "Row lineage"); `None` before version 3.
    pub lineage: Option<(i64, i64)>,
}

/// Rows with the ids of `range`, all of the partition `part`.
#[must_use]
pub fn rows(range: Range<i64>, part: &str) -> Vec<Row> {
    let row = |id| Row { id, text: format!("row {id} of {part}"), part: part.to_owned(), lineage: None };
    range.map(row).collect()
}
