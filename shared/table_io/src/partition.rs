//! Partition tuples: from Iceberg's typed form to the planner's JSON form.

use iceberg::spec::{PartitionSpec, Schema, Struct};

use crate::error::Result;

/// The tuple as JSON single values by partition field name. Works for specs whose source columns are gone from `schema`.
///
/// # Errors
/// [`crate::Error::Corrupt`] when tuple and spec differ in length.
pub fn to_partition(_spec: &PartitionSpec, _schema: &Schema, _tuple: &Struct) -> Result<model::Partition> {
    todo!()
}
