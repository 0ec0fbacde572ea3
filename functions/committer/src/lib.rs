//! committer
