//! Which deletes apply to which data file (rewrite rules A.1–A.3).

use std::sync::Arc;

use crate::{
    error::Result,
    scan::{LiveDataFile, LiveDeleteFile},
};

/// Delete files by scope and sequence number.
#[derive(Debug, Default)]
pub struct DeleteIndex {
    _private: (),
}

/// The deletes that apply to one data file.
#[derive(Clone, Debug, Default)]
pub struct FileDeletes {
    /// Its deletion vector; position deletes are then empty (rule A.1).
    pub deletion_vector: Option<Arc<LiveDeleteFile>>,
    /// Position delete files that may name it.
    pub positions: Vec<Arc<LiveDeleteFile>>,
    /// Equality delete files with a data sequence number above the file's own.
    pub equalities: Vec<Arc<LiveDeleteFile>>,
}

impl DeleteIndex {
    /// Indexes `deletes`.
    ///
    /// # Errors
    /// [`crate::Error::Corrupt`] for two deletion vectors on one data file.
    pub fn new(_deletes: &[Arc<LiveDeleteFile>]) -> Result<Self> {
        todo!()
    }

    /// The deletes that apply to `file`. Fast with thousands of delete files.
    #[must_use]
    pub fn for_data_file(&self, _file: &LiveDataFile) -> FileDeletes {
        todo!()
    }
}
