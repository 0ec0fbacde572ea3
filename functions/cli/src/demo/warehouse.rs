//! The demo's warehouse: one table of clicks by day, as a stream with late corrections leaves it.

use std::{path::Path, sync::Arc};

use catalog_io::SqliteCatalog;
use local_io::file_io;
use model::TableName;
use simulation::{Shape, Writer, rows};

use super::cannot_write;
use crate::failure::{Failure, OUTSIDE};

/// The table's name.
pub(super) const TABLE: &str = "demo.clicks";
const DAYS: [&str; 3] = ["2026-11-01", "2026-11-02", "2026-11-03"];
/// Commits of the stream, each with a small file in every partition.
const COMMITS: i64 = 16;
const ROWS_PER_FILE: i64 = 400;
const SHAPE: Shape = Shape { version: 2, is_partitioned: true, properties: &[("firn.enabled", "true")] };

/// Builds it in `dir`, with its catalog at `catalog`.
pub(super) async fn build(dir: &Path, catalog: &Path) -> Result<(), Failure> {
    let location = format!("file:{}/warehouse/demo/clicks", dir.display());
    let uuid = uuid::Uuid::now_v7().to_string();
    let folder = dir.join("warehouse/demo/clicks/metadata");
    let first = folder.join("00000-first.metadata.json");
    let metadata = serde_json::to_vec(&SHAPE.metadata(&location, &uuid)).map_err(|error| Failure::bug(&error))?;
    std::fs::create_dir_all(&folder).map_err(|error| cannot_write(&folder, &error))?;
    std::fs::write(&first, metadata).map_err(|error| cannot_write(&first, &error))?;
    let name: TableName = TABLE.parse().map_err(|error: model::TableNameError| Failure::bug(&error))?;
    let catalog = SqliteCatalog::create(catalog, "demo", file_io())?;
    catalog.register(&name, &format!("{location}/metadata/00000-first.metadata.json"))?;
    let writer = Writer::of(Arc::new(catalog), name);
    // The writer is made for tests: it panics when the world fails it.
    let written = tokio::task::spawn_blocking(move || write(writer)).await;
    let cannot = || format!("cannot write the demo's table to {}; choose another place with --dir", dir.display());
    if written.unwrap_or(false) { Ok(()) } else { Err(Failure { code: OUTSIDE, message: cannot() }) }
}

/// Small files in every partition, then corrections. Whether every commit happened.
fn write(mut writer: Writer) -> bool {
    let mut ok = true;
    for commit in 0..COMMITS {
        let file = |(index, day): (i64, &&str)| {
            let start = (index * COMMITS + commit) * ROWS_PER_FILE;
            rows(start..start + ROWS_PER_FILE, day)
        };
        let files: Vec<_> = (0..).zip(&DAYS).map(file).collect();
        ok &= writer.append(&files);
    }
    for path in writer.data_files().iter().step_by(5) {
        ok &= writer.delete_positions(path, &[1, 2, 3, 100], true);
    }
    // Ids of the first and the second day.
    ok &= writer.delete_keys(&[7, 8, 9], DAYS[0]);
    ok & writer.delete_keys(&[COMMITS * ROWS_PER_FILE + 11], DAYS[1])
}
