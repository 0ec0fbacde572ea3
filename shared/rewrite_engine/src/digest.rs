//! An order-free digest of the rows of a set of files, deletes applied: the proof behind `firn verify`.

use ports::LoadedTable;

use crate::{control::Control, error::Result, rewrite::RewriteInput};

/// The digest of the rows of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionDigest {
    /// The partition: rows are assigned by the table's default spec, whatever spec their file has.
    pub partition: model::Partition,
    /// Rows.
    pub rows: u64,
    /// Sum modulo 2¹²⁸ of a 128-bit hash of each row's canonical bytes.
    pub sum: u128,
}

/// The digest of a set of rows: equal multisets have equal digests; different ones differ but for a chance of about 2⁻¹²⁸.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    /// By partition key.
    pub partitions: std::collections::BTreeMap<String, PartitionDigest>,
}

/// Digests the live rows of `inputs` in the table's current schema, v3 row lineage included when `with_lineage`. Blocking.
///
/// # Errors
/// Any [`crate::Error`].
pub fn digest(
    _table: &LoadedTable,
    _inputs: &[RewriteInput],
    _with_lineage: bool,
    _control: &Control,
) -> Result<Digest> {
    todo!()
}
