//! Broken inputs: Firn names the file, exits with the right code and leaves everything as it was.

use std::{
    collections::BTreeMap,
    os::unix::{
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
};

use serde_json::Value;

use crate::{
    firn::{Ran, command, firn, run},
    set::Set,
};

/// A table of a fresh set that one test breaks.
struct Victim {
    set: Set,
    name: &'static str,
}

impl Victim {
    fn new(name: &'static str) -> Self {
        Self { set: Set::fresh("given"), name }
    }

    fn folder(&self) -> PathBuf {
        self.set.root.join("warehouse/db").join(self.name)
    }

    /// The first file, by path, below the table's folder whose path ends so.
    fn file(&self, ending: &str) -> PathBuf {
        let found = self.files(ending).into_iter().next();
        found.unwrap_or_else(|| panic!("{} has no file …{ending}", self.name))
    }

    fn files(&self, ending: &str) -> Vec<PathBuf> {
        let all = contents(&self.folder()).into_keys();
        all.filter(|path| path.to_string_lossy().ends_with(ending)).collect()
    }

    /// The table's metadata location in the catalog.
    fn pointer(&self) -> String {
        let catalog = rusqlite::Connection::open(self.set.catalog()).unwrap();
        let query = "select metadata_location from iceberg_tables where table_name = ?";
        catalog.query_row(query, [self.name], |row| row.get(0)).unwrap()
    }

    fn metadata_file(&self) -> PathBuf {
        PathBuf::from(self.pointer().trim_start_matches("file:"))
    }

    fn metadata(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.metadata_file()).unwrap()).unwrap()
    }

    /// The manifest list of the current snapshot.
    fn manifest_list(&self) -> PathBuf {
        let metadata = self.metadata();
        let snapshots = metadata["snapshots"].as_array().unwrap();
        let head = snapshots.iter().find(|it| it["snapshot-id"] == metadata["current-snapshot-id"]).unwrap();
        PathBuf::from(head["manifest-list"].as_str().unwrap().trim_start_matches("file:"))
    }

    fn compact(&self) -> Ran {
        firn(&self.set.catalog(), &["compact", &format!("db.{}", self.name), "-o", "rewrite-all=true"])
    }

    /// Compacts, and checks the exit code, that `culprit` is named, and that nothing else happened.
    fn fails(&self, code: i32, culprit: &Path) {
        self.unchanged_by(code, culprit.file_name().unwrap().to_str().unwrap(), || self.compact());
    }

    fn unchanged_by(&self, code: i32, named: &str, run: impl FnOnce() -> Ran) {
        let (pointer, before) = (self.pointer(), contents(&self.set.root.join("warehouse")));
        let ran = run();
        assert_eq!(ran.code, code, "{ran}");
        assert!(ran.to_string().contains(named), "{named} is not named: {ran}");
        assert_eq!(self.pointer(), pointer, "the catalog's pointer moved: {ran}");
        let after = contents(&self.set.root.join("warehouse"));
        let gone: Vec<_> = before.keys().filter(|path| !after.contains_key(*path)).collect();
        let left: Vec<_> = after.keys().filter(|path| !before.contains_key(*path)).collect();
        assert!(gone.is_empty() && left.is_empty(), "deleted: {gone:?}; left behind: {left:?}; {ran}");
        assert!(before == after, "a file was changed: {ran}");
    }
}

/// Every file below `folder` with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            found.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
    found
}

/// `donor` made as long as `length`: what is put before the footer is never read, as pages are found by absolute offset
/// (Parquet format, "File format").
fn stretched(donor: &[u8], length: usize) -> Vec<u8> {
    let tail = donor.len() - 8;
    let footer = u32::from_le_bytes(donor[tail..tail + 4].try_into().unwrap()) as usize;
    let (pages, end) = donor.split_at(tail - footer);
    [pages, &vec![0; length - donor.len()], end].concat()
}

#[test]
fn a_truncated_data_file_fails_its_group() {
    let victim = Victim::new("v2_plain");
    let file = victim.file(".parquet");
    let bytes = std::fs::read(&file).unwrap();
    std::fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    victim.fails(4, &file);
}

#[test]
fn bytes_that_are_no_parquet_fail_their_group() {
    let victim = Victim::new("v2_plain");
    let file = victim.file(".parquet");
    let length = std::fs::read(&file).unwrap().len();
    std::fs::write(&file, b"not a Parquet file. ".repeat(length / 20 + 1).split_at(length).0).unwrap();
    victim.fails(4, &file);
}

#[test]
fn a_damaged_page_fails_its_group() {
    let victim = Victim::new("v2_plain");
    let file = victim.file(".parquet");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[4..200].fill(0xff);
    std::fs::write(&file, bytes).unwrap();
    victim.fails(4, &file);
}

#[test]
fn a_missing_data_file_fails_its_group() {
    let victim = Victim::new("v2_plain");
    let file = victim.file(".parquet");
    std::fs::remove_file(&file).unwrap();
    victim.fails(4, &file);
}

#[test]
fn a_missing_delete_file_fails_its_group() {
    for (name, ending) in [("v2_pos_multi", "-deletes.parquet"), ("v3_dv", ".puffin")] {
        let victim = Victim::new(name);
        let file = victim.file(ending);
        std::fs::remove_file(&file).unwrap();
        victim.fails(4, &file);
    }
}

/// The blob of a deletion vector carries a checksum (Puffin spec, "deletion-vector-v1"): one flipped bit is enough.
#[test]
fn a_corrupt_deletion_vector_fails_its_group() {
    let victim = Victim::new("v3_dv");
    let file = victim.file(".puffin");
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[20] ^= 1; // Within the bitmap of the first blob: 4 bytes magic, 4 of length, 4 of magic come before it.
    std::fs::write(&file, bytes).unwrap();
    victim.fails(4, &file);
}

#[test]
fn a_file_with_other_rows_than_its_manifest_says_fails_its_group() {
    let victim = Victim::new("v2_mixed");
    let by_size = |it: &PathBuf| std::fs::metadata(it).unwrap().len();
    let mut files: Vec<_> =
        victim.files(".parquet").into_iter().filter(|it| !it.to_string_lossy().contains("deletes")).collect();
    files.sort_by_key(by_size);
    let (small, large) = (&files[0], files.last().unwrap());
    let length = std::fs::read(large).unwrap().len();
    std::fs::write(large, stretched(&std::fs::read(small).unwrap(), length)).unwrap();
    victim.fails(4, large);
}

#[test]
fn missing_metadata_is_a_failure_of_the_outside() {
    let choices: [fn(&Victim) -> PathBuf; 3] =
        [Victim::manifest_list, |victim| victim.file("-m0.avro"), Victim::metadata_file];
    for choice in choices {
        let victim = Victim::new("v2_plain");
        let file = choice(&victim);
        std::fs::remove_file(&file).unwrap();
        victim.fails(5, &file);
    }
}

#[test]
fn a_read_only_warehouse_fails_without_a_trace() {
    let victim = Victim::new("v2_plain");
    let root = &victim.set.root;
    let mode = |path: &Path, bits| std::fs::set_permissions(path, PermissionsExt::from_mode(bits)).unwrap();
    mode(root, 0o777);
    mode(&victim.set.catalog(), 0o666);
    mode(&victim.folder().join("data"), 0o555);
    mode(&victim.folder().join("metadata"), 0o555);
    let binary = root.join("firn");
    std::fs::copy(crate::firn::binary(), &binary).unwrap();
    let mut command = command(&binary, &victim.set.catalog(), &["compact", "db.v2_plain", "-o", "rewrite-all=true"]);
    if std::fs::metadata("/proc/self").unwrap().uid() == 0 {
        command.uid(65534).gid(65534); // Permissions mean nothing to the superuser: run as nobody.
    }
    victim.unchanged_by(4, "v2_plain/data", || run(command));
    mode(&victim.folder().join("data"), 0o755);
    mode(&victim.folder().join("metadata"), 0o755);
}

#[test]
fn what_nobody_can_run_is_a_usage_error() {
    let victim = Victim::new("v2_plain");
    let catalog = victim.set.catalog();
    let unknown_option = || firn(&catalog, &["compact", "db.v2_plain", "-o", "min-input-file=2"]);
    victim.unchanged_by(2, "min-input-files", unknown_option);
    victim
        .unchanged_by(2, "min-input-files", || firn(&catalog, &["compact", "db.v2_plain", "-o", "min-input-files=x"]));
    victim.unchanged_by(2, "db.absent", || firn(&catalog, &["compact", "db.absent"]));
    let absent = victim.set.root.join("absent.db");
    victim.unchanged_by(2, "absent.db", || firn(&absent, &["compact", "db.v2_plain"]));
    assert!(!absent.exists(), "a catalog came into being");
}

#[test]
fn a_table_without_snapshots_leaves_nothing_to_do() {
    let victim = Victim::new("v2_plain");
    let mut metadata = victim.metadata();
    for (key, value) in [("snapshots", "[]"), ("snapshot-log", "[]"), ("refs", "{}"), ("current-snapshot-id", "null")] {
        metadata[key] = serde_json::from_str(value).unwrap();
    }
    std::fs::write(victim.metadata_file(), metadata.to_string()).unwrap();
    victim.unchanged_by(0, "", || victim.compact());
    assert_eq!(victim.compact().outcome(), "nothing_to_do");
}

#[test]
fn a_table_without_files_leaves_nothing_to_do() {
    let victim = Victim::new("v2_plain");
    // An Avro file ends with its sync marker, and its header ends with the first one (Avro spec, "Object Container Files").
    let list = victim.manifest_list();
    let bytes = std::fs::read(&list).unwrap();
    let marker = &bytes[bytes.len() - 16..];
    let header = bytes.windows(16).position(|it| it == marker).unwrap() + 16;
    std::fs::write(&list, &bytes[..header]).unwrap();
    victim.unchanged_by(0, "", || victim.compact());
    assert_eq!(victim.compact().outcome(), "nothing_to_do");
}
