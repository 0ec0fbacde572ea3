//! Local twins of the cloud adapters: Iceberg storage on the filesystem, the system clock, a job log in one file.
//!
//! Files that belong to a table are never overwritten, and a file appears under its name whole or not at all.

mod clock;
mod job_log;
mod location;
mod storage;
mod write;

pub use clock::SystemClock;
pub use job_log::FileJobLog;
pub use storage::file_io;
