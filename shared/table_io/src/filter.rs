//! The `where` filter: an SQL predicate over columns, evaluated against partitions and bounds.

use std::collections::BTreeSet;

use iceberg::spec::{DataFile, PartitionSpec, Schema};

use crate::error::Result;

/// A parsed predicate, bound to a table schema.
#[derive(Clone, Debug)]
pub struct Filter {
    columns: BTreeSet<i32>,
}

impl Filter {
    /// Parses an SQL boolean expression: comparisons, `AND`, `OR`, `NOT`, `IN`, `BETWEEN`, `IS [NOT] NULL`, `LIKE 'prefix%'`.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] naming the column, literal or construct that does not fit.
    pub fn parse(_sql: &str, _schema: &Schema) -> Result<Self> {
        todo!()
    }

    /// The columns whose bounds and counts decide.
    pub(crate) fn columns(&self) -> &BTreeSet<i32> {
        &self.columns
    }

    /// Whether rows of `file` may match.
    pub(crate) fn may_match(&self, _spec: &PartitionSpec, _schema: &Schema, _file: &DataFile) -> bool {
        true
    }
}
