//! Iceberg metadata and manifests: what is live at a snapshot, which deletes apply to what, and the commit of a rewrite.
//!
//! Reads and writes metadata only; rows are the business of `rewrite_engine`.

mod avro;
mod collect;
mod commit;
mod delete_index;
mod error;
mod filter;
#[cfg(test)]
mod fixture;
mod inventory;
mod manifest;
mod partition;
mod reference;
mod scan;
mod single_value;

pub use commit::{
    CommitConflict, Landed, PreparedCommit, Replaced, Rewrite, WrittenFile, commit_gives_first_row_ids, find_plan,
    prepare_commit,
};
pub use delete_index::{DeleteIndex, FileDeletes};
pub use error::{Error, Result};
pub use filter::Filter;
pub use inventory::inventory;
pub use partition::to_partition;
pub use scan::{LiveDataFile, LiveDeleteFile, LiveDeletes, LiveFiles, scan};
pub use single_value::date as date_text;
