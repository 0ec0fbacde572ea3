//! From live files to the planner's inventory.

use model::Inventory;
use ports::LoadedTable;

use crate::{delete_index::DeleteIndex, error::Result, scan::LiveFiles};

/// What planning needs of `live`, the files of the head of `branch`.
///
/// Marks as unsupported: formats other than Parquet, encrypted files, every file of a table whose schema has a type
/// that no rewrite carries (variant, geometry, geography, unknown), and files whose applicable deletes are unsupported.
///
/// # Errors
/// [`crate::Error::Invalid`] for a branch that does not exist.
pub fn inventory(_table: &LoadedTable, _branch: &str, _live: &LiveFiles, _index: &DeleteIndex) -> Result<Inventory> {
    todo!()
}
