//! A catalog in one SQLite file: the `iceberg_tables` layout that Iceberg's JDBC catalog and PyIceberg's SQL catalog share.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use async_trait::async_trait;
use iceberg::{TableRequirement, TableUpdate, io::FileIO};
use model::TableName;
use ports::{Catalog, CommitOutcome, Error, ErrorKind, LoadedTable};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, ffi, params};

use crate::{
    metadata::{kind_of, load_metadata},
    new_metadata::NewMetadata,
};

/// How long a statement waits for another process's lock. Catalog statements take milliseconds; a lock held this long
/// belongs to something that hangs.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The layout that PyIceberg's SqlCatalog and Iceberg's JdbcCatalog share.
const LAYOUT: &str = "CREATE TABLE iceberg_tables (
    catalog_name VARCHAR(255) NOT NULL, table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL,
    metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000),
    PRIMARY KEY (catalog_name, table_namespace, table_name))";

/// One named catalog of a SQLite file. Every call opens its own connection, so that nothing is locked in between.
#[derive(Clone, Debug)]
pub struct SqliteCatalog {
    path: PathBuf,
    catalog_name: String,
    /// Keeps views out; empty where the layout is older than the column.
    only_tables: &'static str,
    file_io: FileIO,
}

impl SqliteCatalog {
    /// Opens the catalog `catalog_name` of the file at `path`; a file that holds a single catalog needs no name. The
    /// file is never created.
    ///
    /// # Errors
    /// `NotFound` for a missing file or an unknown name, `Invalid` when a name is needed (the error lists them) or the
    /// file has no `iceberg_tables`, `Corrupt` for a file that is not SQLite.
    pub fn open(path: &Path, catalog_name: Option<&str>, file_io: FileIO) -> Result<Self, Error> {
        let fail = |kind, reason: String| Error::new(kind, "catalog.open", path.display().to_string(), reason);
        if let Err(e) = std::fs::metadata(path) {
            let kind = match e.kind() {
                std::io::ErrorKind::NotFound => ErrorKind::NotFound,
                std::io::ErrorKind::PermissionDenied => ErrorKind::Denied,
                _ => ErrorKind::Unavailable,
            };
            return Err(fail(kind, e.to_string()));
        }
        let (names, columns) = describe(path).map_err(|e| sqlite_error("catalog.open", path.display(), e))?;
        if columns.is_empty() {
            return Err(fail(ErrorKind::Invalid, "is no Iceberg catalog: it has no table iceberg_tables".to_owned()));
        }
        let catalog_name = match (catalog_name, names.as_slice()) {
            (Some(name), _) if names.is_empty() || names.iter().any(|known| known == name) => name.to_owned(),
            (Some(name), _) => {
                let reason = format!("has no catalog {name}; it has {}", names.join(", "));
                return Err(fail(ErrorKind::NotFound, reason));
            }
            (None, []) => String::new(),
            (None, [name]) => name.clone(),
            (None, _) => {
                let reason = format!("holds several catalogs, name one of them: {}", names.join(", "));
                return Err(fail(ErrorKind::Invalid, reason));
            }
        };
        let has_type = columns.iter().any(|column| column == "iceberg_type");
        let only_tables = if has_type { " AND (iceberg_type IS NULL OR iceberg_type = 'TABLE')" } else { "" };
        Ok(Self { path: path.to_owned(), catalog_name, only_tables, file_io })
    }

    /// Makes a catalog file at `path` that holds no table yet.
    ///
    /// # Errors
    /// `Unavailable` when the file cannot be made, or is there already with another layout.
    pub fn create(path: &Path, catalog_name: &str, file_io: FileIO) -> Result<Self, Error> {
        let fail = |e| sqlite_error("catalog.create", path.display(), e);
        let connection = Connection::open(path).map_err(fail)?;
        connection.execute(LAYOUT, []).map_err(fail)?;
        Self::open(path, Some(catalog_name), file_io)
    }

    /// Gives a table that is not in the catalog yet the name `table`.
    ///
    /// # Errors
    /// `Unavailable` when the file cannot be written, or has a table of that name.
    pub fn register(&self, table: &TableName, metadata_location: &str) -> Result<(), Error> {
        let fail = |e| sqlite_error("catalog.register", table, e);
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(fail)?;
        let row = params![self.catalog_name, table.namespace, table.name, metadata_location];
        connection.execute("INSERT INTO iceberg_tables VALUES (?1, ?2, ?3, ?4, NULL)", row).map_err(fail)?;
        Ok(())
    }

    fn connect(&self, access: OpenFlags) -> rusqlite::Result<Connection> {
        connect(&self.path, access)
    }

    /// The table's row: its metadata location, which may be NULL.
    fn find(&self, name: &TableName) -> rusqlite::Result<Option<Option<String>>> {
        let sql = format!(
            "SELECT metadata_location FROM iceberg_tables
             WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3{}",
            self.only_tables
        );
        let key = params![self.catalog_name, name.namespace, name.name];
        self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?.query_row(&sql, key, |row| row.get(0)).optional()
    }

    fn location(&self, name: &TableName) -> Result<String, Error> {
        let fail = |kind, reason: String| Error::new(kind, "catalog.load_table", name.to_string(), reason);
        match self.find(name).map_err(|e| sqlite_error("catalog.load_table", name, e))? {
            Some(Some(location)) => Ok(location),
            Some(None) => Err(fail(ErrorKind::Corrupt, "its row has no metadata_location".to_owned())),
            None => Err(fail(ErrorKind::NotFound, format!("catalog {} has no such table", self.path.display()))),
        }
    }

    fn list(&self) -> rusqlite::Result<Vec<TableName>> {
        let sql = format!(
            "SELECT table_namespace, table_name FROM iceberg_tables WHERE catalog_name = ?1{}
             ORDER BY table_namespace, table_name",
            self.only_tables
        );
        let connection = self.connect(OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut statement = connection.prepare(&sql)?;
        let names = statement
            .query_map([&self.catalog_name], |row| Ok(TableName { namespace: row.get(0)?, name: row.get(1)? }))?;
        names.collect()
    }

    /// Moves the table's pointer if it still is where `base` was loaded; the number of rows changed.
    fn swap(&self, base: &LoadedTable, location: &str) -> rusqlite::Result<usize> {
        let sql = format!(
            "UPDATE iceberg_tables SET metadata_location = ?1, previous_metadata_location = ?2
             WHERE catalog_name = ?3 AND table_namespace = ?4 AND table_name = ?5 AND metadata_location = ?2{}",
            self.only_tables
        );
        let TableName { namespace, name } = &base.name;
        let values = params![location, base.metadata_location, self.catalog_name, namespace, name];
        self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE)?.execute(&sql, values)
    }

    /// Whether the pointer can be moved at all, asked before anything is written.
    fn check_writable(&self) -> Result<(), Error> {
        let subject = self.path.display();
        let read_only = self.connect(OpenFlags::SQLITE_OPEN_READ_WRITE).and_then(|c| c.is_readonly("main"));
        match read_only.map_err(|e| sqlite_error("catalog.commit", &subject, e))? {
            true => Err(Error::new(ErrorKind::Denied, "catalog.commit", subject.to_string(), "the file is read-only")),
            false => Ok(()),
        }
    }

    /// What became of a swap whose statement failed with `error`: SQLite undoes a failed statement, but a disk that
    /// fails may hide that it was done.
    fn settle(&self, base: &LoadedTable, location: &str, error: rusqlite::Error) -> Result<CommitOutcome, Error> {
        let undone = matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::ReadOnly | ErrorCode::CannotOpen)
        );
        if undone {
            return Err(sqlite_error("catalog.commit", &base.name, error));
        }
        match self.find(&base.name) {
            Ok(Some(Some(found))) if found == location => {
                Ok(CommitOutcome::Committed { metadata_location: location.to_owned() })
            }
            Ok(Some(Some(found))) if found == base.metadata_location => {
                Err(sqlite_error("catalog.commit", &base.name, error))
            }
            _ => Ok(CommitOutcome::Unknown { reason: format!("the catalog's answer was lost: {error}") }),
        }
    }

    async fn remove(&self, location: &str) {
        if let Err(error) = self.file_io.delete(location).await {
            tracing::warn!(location, %error, "metadata file not removed");
        }
    }
}

#[async_trait]
impl Catalog for SqliteCatalog {
    async fn load_table(&self, name: &TableName) -> Result<LoadedTable, Error> {
        let metadata_location = self.location(name)?;
        let metadata = load_metadata(&self.file_io, &metadata_location).await?;
        Ok(LoadedTable {
            name: name.clone(),
            metadata_location,
            metadata: Arc::new(metadata),
            file_io: self.file_io.clone(),
        })
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, Error> {
        self.list().map_err(|e| sqlite_error("catalog.list_tables", self.path.display(), e))
    }

    async fn commit(
        &self,
        base: &LoadedTable,
        requirements: Vec<TableRequirement>,
        updates: Vec<TableUpdate>,
    ) -> Result<CommitOutcome, Error> {
        let current = self.load_table(&base.name).await?;
        if let Some(unmet) = requirements.iter().find_map(|wanted| wanted.check(Some(&current.metadata)).err()) {
            return Ok(CommitOutcome::Conflicted { reason: unmet.to_string() });
        }
        if current.metadata_location != base.metadata_location {
            return Ok(CommitOutcome::Conflicted { reason: moved(base, &current.metadata_location) });
        }
        let new = NewMetadata::build(&current, updates)
            .map_err(|e| Error::new(ErrorKind::Invalid, "catalog.commit", base.name.to_string(), e))?;
        self.check_writable()?;
        let written = async { self.file_io.new_output(&new.location)?.write(new.bytes.into()).await };
        written.await.map_err(|e| Error::new(kind_of(&e), "catalog.commit", &new.location, e))?;
        let outcome = match self.swap(base, &new.location) {
            Ok(0) => {
                let found = self.find(&base.name).ok().flatten().flatten().unwrap_or_else(|| "nowhere".to_owned());
                Ok(CommitOutcome::Conflicted { reason: moved(base, &found) })
            }
            Ok(_) => Ok(CommitOutcome::Committed { metadata_location: new.location.clone() }),
            Err(e) => self.settle(base, &new.location, e),
        };
        match &outcome {
            Ok(CommitOutcome::Committed { .. }) => {
                for location in &new.expired {
                    self.remove(location).await;
                }
            }
            Ok(CommitOutcome::Unknown { .. }) => {}
            Ok(CommitOutcome::Conflicted { .. }) | Err(_) => self.remove(&new.location).await,
        }
        outcome
    }
}

fn moved(base: &LoadedTable, found: &str) -> String {
    format!("another writer moved {} from {} to {found}", base.name, base.metadata_location)
}

fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let open = |access| {
        let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(connection)
    };
    let connection = open(access)?;
    // A writer that was killed leaves a journal, and until it is rolled back nobody reads: SQLite does so when it may write.
    if needs_recovery(&connection) { open(OpenFlags::SQLITE_OPEN_READ_WRITE) } else { Ok(connection) }
}

/// Whether a read-only connection finds what a killed writer left half done (SQLite, "Result and Error Codes").
fn needs_recovery(connection: &Connection) -> bool {
    let looked = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
    let code = looked.err().and_then(|error| error.sqlite_error().map(|it| it.extended_code));
    matches!(code, Some(ffi::SQLITE_READONLY_ROLLBACK | ffi::SQLITE_READONLY_RECOVERY))
}

/// The catalog names of the file at `path`, and the columns of `iceberg_tables`: none where that table is missing.
fn describe(path: &Path) -> rusqlite::Result<(Vec<String>, Vec<String>)> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let texts = |sql: &str| -> rusqlite::Result<Vec<String>> {
        connection.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
    };
    let columns = texts("SELECT name FROM pragma_table_info('iceberg_tables')")?;
    let names = match columns.is_empty() {
        true => Vec::new(),
        false => texts("SELECT DISTINCT catalog_name FROM iceberg_tables ORDER BY catalog_name")?,
    };
    Ok((names, columns))
}

fn sqlite_error(operation: &'static str, subject: impl ToString, error: rusqlite::Error) -> Error {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => ErrorKind::Denied,
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => ErrorKind::Corrupt,
        None => ErrorKind::Corrupt,
        Some(_) => ErrorKind::Unavailable,
    };
    Error::new(kind, operation, subject.to_string(), error)
}

#[cfg(test)]
mod tests;
