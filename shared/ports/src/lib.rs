//! Everything Firn asks of the outside world, as traits with written contracts.
//!
//! Storage is Iceberg's own port: [`iceberg::io::FileIO`] over an [`iceberg::io::Storage`] that an adapter provides.

mod catalog;
mod clock;
mod error;
mod job_log;

pub use catalog::{Catalog, CommitOutcome, LoadedTable};
pub use clock::Clock;
pub use error::{Error, ErrorKind};
pub use job_log::JobLog;
