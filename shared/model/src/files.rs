//! What the planner sees of a table: its live files at one snapshot, and nothing that takes I/O to learn.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::ids::{SnapshotId, TableName};

/// A partition tuple under one partition spec.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// The partition spec that gives the tuple its meaning.
    pub spec_id: i32,
    /// Partition field name → value in the JSON single-value form of the Iceberg spec (Appendix D). Values that JSON
    /// numbers cannot carry (NaN, infinities, −0.0) are strings.
    pub values: BTreeMap<String, serde_json::Value>,
}

impl Partition {
    /// A text that is equal exactly when spec and tuple are: the grouping key.
    #[must_use]
    pub fn key(&self) -> String {
        let values = serde_json::Value::Object(self.values.clone().into_iter().collect());
        format!("{}:{values}", self.spec_id)
    }
}

/// The format of a data or delete file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    /// Apache Parquet, the only one that is rewritten.
    Parquet,
    /// Apache Avro.
    Avro,
    /// Apache ORC.
    Orc,
    /// Puffin, the container of deletion vectors.
    Puffin,
}

/// The three kinds of row-level deletes (Iceberg spec, "Row-level deletes").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeleteKind {
    /// A v2 position delete file.
    Position,
    /// An equality delete file.
    Equality,
    /// A v3 deletion vector: one blob of a Puffin file.
    DeletionVector,
}

/// What the live delete files do to one data file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeletesOnFile {
    /// Delete files that apply to the data file, each counted once (a deletion vector is one).
    pub files: u32,
    /// Rows of deletes that name this data file alone: DV cardinality, or records of position delete files whose
    /// `referenced_data_file` or equal `file_path` bounds name it.
    pub file_scoped_records: u64,
    /// Bytes of the delete files that apply (shared ones are counted for each data file).
    pub bytes: u64,
}

/// One live data file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataFile {
    /// The location exactly as the manifest has it: the file's identity.
    pub path: Arc<str>,
    /// Its format.
    pub format: FileFormat,
    /// Spec id and partition tuple.
    pub partition: Arc<Partition>,
    /// `file_size_in_bytes`.
    pub size_bytes: u64,
    /// `record_count`, before deletes.
    pub records: u64,
    /// Data sequence number, inheritance resolved.
    pub data_sequence_number: i64,
    /// Deletes that apply to it.
    pub deletes: DeletesOnFile,
    /// Whether the `where` filter may match rows of it; true without a filter.
    pub matches_filter: bool,
    /// Why no rewrite can take this file (its format, a type, encryption), whatever the policy says.
    pub unsupported: Option<String>,
}

/// The live files of one branch head, as far as planning needs them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inventory {
    /// The table.
    pub table: TableName,
    /// `table-uuid`.
    pub table_uuid: String,
    /// The branch whose head this is.
    pub branch: String,
    /// The head of the branch; `None` for a table (or branch) without snapshots.
    pub snapshot_id: Option<SnapshotId>,
    /// Sequence number of that snapshot; 0 without one.
    pub sequence_number: i64,
    /// `format-version`.
    pub format_version: u8,
    /// `current-schema-id`.
    pub schema_id: i32,
    /// `default-spec-id`.
    pub default_spec_id: i32,
    /// All table properties.
    pub properties: BTreeMap<String, String>,
    /// Live data files, in manifest order.
    pub data_files: Vec<DataFile>,
    /// Live delete files by kind.
    pub delete_files: BTreeMap<DeleteKind, u64>,
    /// Live delete files that apply to no live data file (dangling), by kind.
    pub dangling_delete_files: BTreeMap<DeleteKind, u64>,
    /// Mean ratio of output to input bytes that past rewrites of this table showed
    /// (the `firn.output-ratio-percent` summary values of its snapshots); `None` before the first.
    pub observed_output_ratio: Option<u32>,
}
