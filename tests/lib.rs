//! Tests live in the binaries beside this file.
