//! Iceberg catalogs: the `iceberg_tables` layout in SQLite, and single tables by their metadata location.

mod metadata;
mod namesakes;
mod new_metadata;
mod sqlite;

pub use metadata::open_metadata;
pub use sqlite::SqliteCatalog;
