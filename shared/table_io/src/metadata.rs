//! Table metadata files.

use iceberg::{io::FileIO, spec::TableMetadata};

use crate::error::{Error, Result};

/// Reads `…metadata.json`, gzip-compressed or not (told by its first bytes, since file names lie).
///
/// # Errors
/// [`crate::Error::Read`] when the file is missing or not Iceberg table metadata.
pub async fn load_metadata(file_io: &FileIO, location: &str) -> Result<TableMetadata> {
    TableMetadata::read_from(file_io, location).await.map_err(|e| Error::read(location, e))
}
