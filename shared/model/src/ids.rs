//! Identifiers that could be confused with one another.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A snapshot id, unique within one table (Iceberg spec, "Snapshots").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SnapshotId(pub i64);

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a plan: a hash of what the plan says, in lower-case hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(pub String);

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a group: a hash of its inputs, in lower-case hex.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GroupId(pub String);

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A table by namespace and name, written `namespace.table`; the namespace may have dots of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TableName {
    /// The levels of the namespace joined by dots, as the `iceberg_tables` layout stores them.
    pub namespace: String,
    /// The table's own name.
    pub name: String,
}

impl fmt::Display for TableName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.namespace, self.name)
    }
}

impl From<TableName> for String {
    fn from(name: TableName) -> Self {
        name.to_string()
    }
}

/// The text is not `namespace.table`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("table {0:?} is not of the form namespace.table")]
pub struct TableNameError(pub String);

impl FromStr for TableName {
    type Err = TableNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.rsplit_once('.') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() => {
                Ok(Self { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(TableNameError(text.to_owned())),
        }
    }
}

impl TryFrom<String> for TableName {
    type Error = TableNameError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_dot_separates_namespace_and_table() {
        let name: TableName = "a.b.c".parse().unwrap();
        assert_eq!((name.namespace.as_str(), name.name.as_str()), ("a.b", "c"));
        assert!("orders".parse::<TableName>().is_err());
        assert!(".orders".parse::<TableName>().is_err());
    }
}
