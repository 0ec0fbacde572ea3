//! The `where` filter: an SQL predicate over columns, evaluated against partitions and bounds.
//!
//! Inclusive: a file is left out only when none of its rows can match. Whatever a file does not say counts as a match.

mod evaluate;
mod literal;
mod parse;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use iceberg::spec::{DataFile, Datum, PartitionSpec, PrimitiveType, Schema};

use crate::error::Result;

/// A parsed predicate, bound to a table schema.
#[derive(Clone, Debug)]
pub struct Filter {
    predicate: Predicate,
    columns: BTreeSet<i32>,
}

impl Filter {
    /// Parses an SQL boolean expression: comparisons, `AND`, `OR`, `NOT`, `IN`, `BETWEEN`, `IS [NOT] NULL`, `LIKE 'prefix%'`.
    ///
    /// Columns are found by name, and by name regardless of case when that is clear; `a.b` is field `b` of struct `a`.
    /// Literals are read as values of their column; a timestamp without a zone is UTC.
    ///
    /// # Errors
    /// [`crate::Error::Invalid`] naming the column, literal or construct that does not fit.
    pub fn parse(sql: &str, schema: &Schema) -> Result<Self> {
        let predicate = parse::parse(sql, schema)?;
        let mut columns = BTreeSet::new();
        predicate.collect_columns(&mut columns);
        Ok(Self { predicate, columns })
    }

    /// The columns whose bounds and counts decide.
    pub(crate) fn columns(&self) -> &BTreeSet<i32> {
        &self.columns
    }

    /// Whether rows of `file`, whose tuple belongs to `spec`, may match.
    pub(crate) fn may_match(&self, spec: &PartitionSpec, file: &DataFile) -> bool {
        evaluate::may_match(&self.predicate, spec, file)
    }
}

/// A predicate in negation normal form: a row matches where it is true, not where it is unknown.
#[derive(Clone, Debug)]
enum Predicate {
    Constant(bool),
    All(Vec<Predicate>),
    Any(Vec<Predicate>),
    Test(Column, Test),
}

impl Predicate {
    fn collect_columns(&self, columns: &mut BTreeSet<i32>) {
        match self {
            Self::Constant(_) => {}
            Self::All(parts) | Self::Any(parts) => parts.iter().for_each(|part| part.collect_columns(columns)),
            Self::Test(column, _) => {
                columns.insert(column.id);
            }
        }
    }
}

/// A column of primitive type.
#[derive(Clone, Debug)]
struct Column {
    id: i32,
    name: String,
    data_type: PrimitiveType,
}

/// What is asked of one column.
#[derive(Clone, Debug)]
enum Test {
    IsNull,
    NotNull,
    Compare(Comparison, Datum),
    /// Equal to one of them.
    In(Vec<Datum>),
    StartsWith(String),
}

/// Comparisons; what is *not* equal, not in a list or without a prefix is [`Test::NotNull`], which every file that has
/// such a row passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    LessOrEqual,
    Equal,
    GreaterOrEqual,
    Greater,
}
