//! The `where` filter: an SQL predicate over columns, evaluated against partitions and bounds.

use iceberg::spec::Schema;

use crate::error::Result;

/// A parsed predicate, bound to a table schema.
#[derive(Clone, Debug)]
pub struct Filter {
    _private: (),
}

impl Filter {
    /// Parses an SQL boolean expression: comparisons, `AND`, `OR`, `NOT`, `IN`, `BETWEEN`, `IS [NOT] NULL`, `LIKE 'prefix%'`.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] naming the column, literal or construct that does not fit.
    pub fn parse(_sql: &str, _schema: &Schema) -> Result<Self> {
        todo!()
    }
}
