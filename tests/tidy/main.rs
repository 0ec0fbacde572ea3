//! The rules of ARCHITECTURE.md that the compiler cannot express.

mod dependencies;
mod sources;

use std::path::PathBuf;

/// The repository's root.
fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}
