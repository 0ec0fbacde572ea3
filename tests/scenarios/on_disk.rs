//! A table in real files and a real SQLite catalog, for the `firn` binary.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use catalog_io::SqliteCatalog;
use local_io::file_io;
use ports::LoadedTable;
use simulation::{Shape, Writer, read};

use crate::{check, firn, job::table_name};

/// A warehouse of one table.
pub(crate) struct OnDisk {
    folder: tempfile::TempDir,
    pub(crate) writer: Writer,
    /// Where the table was when it was last read, and the files that it needs.
    seen: (String, BTreeSet<String>),
}

impl OnDisk {
    pub(crate) fn new(shape: &Shape) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = format!("file:{}/db/t", folder.path().display());
        let metadata = shape.metadata(&location, "9c12d441-03fe-4693-9a96-a0705ddf69c1");
        let metadata_path = folder.path().join("db/t/metadata/00000-0.metadata.json");
        std::fs::create_dir_all(metadata_path.parent().unwrap()).unwrap();
        std::fs::write(&metadata_path, serde_json::to_vec(&metadata).unwrap()).unwrap();
        let database = folder.path().join("catalog.db");
        let catalog = SqliteCatalog::create(&database, "main", file_io()).unwrap();
        catalog.register(&table_name(), &format!("{location}/metadata/00000-0.metadata.json")).unwrap();
        let writer = Writer::of(Arc::new(catalog), table_name());
        Self { folder, writer, seen: (String::new(), BTreeSet::new()) }
    }

    /// `firn compact` on the table with `options`.
    pub(crate) fn compact(&self, options: &[&str]) -> Command {
        let mut arguments = vec!["compact", "db.t"];
        options.iter().for_each(|option| arguments.extend(["-o", option]));
        firn::command(firn::binary(), &self.folder.path().join("catalog.db"), &arguments)
    }

    /// Every file of the warehouse.
    pub(crate) fn files(&self) -> BTreeSet<PathBuf> {
        files_below(&self.folder.path().join("db"))
    }

    /// Reads the table if its pointer has moved; otherwise nothing that it needs may be gone.
    pub(crate) fn check(&mut self, at: &str) {
        let table = self.writer.table();
        if table.metadata_location == self.seen.0 {
            let gone: Vec<_> =
                self.seen.1.iter().filter(|path| !Path::new(path.trim_start_matches("file:")).exists()).collect();
            assert!(gone.is_empty(), "{at}: deleted: {gone:?}");
            return;
        }
        self.read(&table, at);
    }

    fn read(&mut self, table: &LoadedTable, at: &str) {
        let head = check::head(table);
        let reading = read(table, head.snapshot_id());
        check::same_rows(&reading.rows, &self.writer.expected(), at);
        // Firn's commits since the last look, newest first.
        let (mut after, mut snapshot) = (reading.clone(), Some(head));
        while let Some(current) =
            snapshot.filter(|it| check::plan_id(it).is_some() && !self.seen.1.contains(it.manifest_list()))
        {
            let parent = table.metadata.snapshot_by_id(current.parent_snapshot_id().unwrap()).unwrap();
            let before = read(table, parent.snapshot_id());
            check::replaced(&current, &before, &after, at);
            (after, snapshot) = (before, Some(parent.as_ref().clone()));
        }
        self.seen = (table.metadata_location.clone(), reading.needed.into_iter().collect());
    }
}

fn files_below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files_below(&path));
        } else {
            found.insert(path);
        }
    }
    found
}
