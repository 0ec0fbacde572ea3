//! The rules of ARCHITECTURE.md that the compiler cannot express.

#![allow(clippy::unwrap_used, reason = "a check that cannot look must fail")]

mod dependencies;
mod sources;

use std::path::PathBuf;

/// The repository's root.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}
