//! The data plane: Parquet in, deletes applied, Parquet out.
//!
//! Blocking on purpose: callers run it on a blocking thread inside a Tokio runtime, and storage futures are driven from
//! there. Rows are resolved by field id into the table's current schema ([`read`]), and every output row group is put
//! together from column chunks ([`write`]), so that a chunk may one day be copied instead of decoded.

mod control;
mod digest;
mod error;
mod outputs;
mod partition;
pub mod read;
mod rewrite;
#[cfg(test)]
mod testing;
pub mod transform;
mod write;

pub use control::Control;
pub use digest::{Digest, PartitionDigest, digest};
pub use error::{Error, Result};
pub use rewrite::{GroupOutput, Limits, RewriteInput, RewriteJob, rewrite_group};
