//! A fixture set in the one place it can be in.

use std::{
    fs::{File, remove_dir_all},
    path::{Path, PathBuf},
    process::Command,
};

use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::folder;

/// A freshly unpacked set of tables, exclusively ours until dropped: Iceberg metadata holds absolute paths, so every
/// run on a machine works in the same folder, one after the other.
pub(crate) struct Set {
    /// The set's folder: catalogs, warehouse, expected rows and `zoo.json`.
    pub(crate) root: PathBuf,
    /// What `zoo.json` says of each table.
    pub(crate) tables: Vec<Value>,
    _lock: File,
}

impl Set {
    /// The tables of `fixtures/NAME.tar.gz`, as they were written.
    pub(crate) fn fresh(name: &str) -> Self {
        let home = Path::new("/tmp/firn-zoo");
        std::fs::create_dir_all(home).unwrap();
        let lock = File::create(home.join("lock")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        let root = home.join(name);
        if root.exists() {
            remove_dir_all(&root).unwrap();
        }
        let archive = folder().join("fixtures").join(format!("{name}.tar.gz"));
        let status =
            Command::new("tar").arg("-xzf").arg(archive).args(["-C", "/tmp"]).status().expect("tar is missing");
        assert!(status.success(), "tar: {status}");
        let zoo: Value = serde_json::from_slice(&std::fs::read(root.join("zoo.json")).unwrap()).unwrap();
        let tables = zoo["tables"].as_array().unwrap().clone();
        Self { root, tables, _lock: lock }
    }

    pub(crate) fn catalog(&self) -> PathBuf {
        self.root.join("catalog.db")
    }

    /// The catalog after other writers were at the staged tables.
    pub(crate) fn later(&self) -> PathBuf {
        self.root.join("later.db")
    }
}

/// A table's name within the namespace.
pub(crate) fn name(table: &Value) -> &str {
    table["name"].as_str().unwrap()
}

/// The outcomes that a compaction of `table` may report.
pub(crate) fn outcomes(table: &Value) -> Vec<&str> {
    table["outcomes"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect()
}
