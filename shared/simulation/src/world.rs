//! Everything outside a process: files, and the catalog's pointers.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use iceberg::{TableRequirement, TableUpdate, io::FileIO};
use model::TableName;

use crate::{
    catalog::SimulatedCatalog,
    fuse::Fuse,
    storage::{Files, Process},
};

/// A commit as it reached the catalog.
#[derive(Clone, Debug)]
pub struct Request {
    /// The table.
    pub name: TableName,
    /// What has to hold.
    pub requirements: Vec<TableRequirement>,
    /// What to change.
    pub updates: Vec<TableUpdate>,
}

/// Storage and catalog of one run. Clones are the same world.
#[derive(Clone, Debug, Default)]
pub struct World {
    pub(crate) files: Files,
    catalog: Arc<Mutex<Catalog>>,
}

/// What the catalog service keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalog {
    /// Metadata locations by table.
    pub(crate) pointers: BTreeMap<TableName, String>,
    /// Every commit that was asked for, in order.
    pub(crate) requests: Vec<Request>,
    /// Numbers the metadata files.
    pub(crate) version: u64,
}

impl World {
    /// An empty world.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A world that starts as this one is now, and goes its own way.
    #[must_use]
    pub fn copy(&self) -> Self {
        Self { files: self.files.copy(), catalog: Arc::new(Mutex::new(self.lock().clone())) }
    }

    /// Whether `other` has the same files and tables.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        *self.files.lock() == *other.files.copy().lock() && self.lock().pointers == other.lock().clone().pointers
    }

    /// Storage as the process behind `fuse` sees it.
    #[must_use]
    pub fn file_io(&self, fuse: &Arc<Fuse>) -> FileIO {
        Process::file_io(&self.files, fuse)
    }

    /// The catalog as the process behind `fuse` sees it.
    #[must_use]
    pub fn catalog(&self, fuse: &Arc<Fuse>) -> SimulatedCatalog {
        SimulatedCatalog::new(self.clone(), Arc::clone(fuse))
    }

    /// The locations of all files.
    #[must_use]
    pub fn locations(&self) -> BTreeSet<String> {
        self.files.lock().keys().cloned().collect()
    }

    /// Whether the catalog has a table of this name.
    #[must_use]
    pub fn has_table(&self, name: &TableName) -> bool {
        self.lock().pointers.contains_key(name)
    }

    /// The table's name disappears from the catalog; its files stay.
    pub fn drop_table(&self, name: &TableName) {
        self.lock().pointers.remove(name);
    }

    /// The commits that were asked for, in order.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.lock().requests.clone()
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Catalog> {
        self.catalog.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
