//! Tables that other engines wrote, compacted by the `firn` binary and read again by those engines.
//!
//! The expected rows were written by Iceberg Java before any compaction. See `README.md` beside this file.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "a check that cannot look must fail; tests read the environment they run in"
)]

mod bad_input;
mod compaction;
mod differential;
mod firn;
mod readers;
mod set;
mod staged;

use std::path::PathBuf;

/// This folder.
fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("interop")
}
