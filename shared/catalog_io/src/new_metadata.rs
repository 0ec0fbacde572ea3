//! The next metadata file of a table: its content, its name, and which older ones fall off the log.

use std::io::Write;

use iceberg::{
    TableUpdate,
    compression::CompressionCodec,
    spec::{TableMetadata, TableMetadataBuildResult},
};
use ports::LoadedTable;
use serde_json::Value;
use uuid::Uuid;

use crate::namesakes::Namesakes;

/// A new metadata file, not written yet.
#[derive(Debug)]
pub(crate) struct NewMetadata {
    /// Where it belongs.
    pub(crate) location: String,
    /// Its bytes, compressed as the table asks for.
    pub(crate) bytes: Vec<u8>,
    /// Metadata files that the new log does not list any more, when the table wants them deleted.
    pub(crate) expired: Vec<String>,
}

impl NewMetadata {
    /// The metadata of `base` with `updates` applied.
    ///
    /// # Errors
    /// `DataInvalid` when the updates do not fit the table.
    pub(crate) fn build(base: &LoadedTable, updates: Vec<TableUpdate>) -> iceberg::Result<Self> {
        let namesakes = Namesakes::of(&base.metadata);
        let previous = namesakes.hidden(&base.metadata)?;
        let mut builder = previous.into_builder(Some(base.metadata_location.clone()));
        for update in updates {
            builder = update.apply(builder)?;
        }
        let TableMetadataBuildResult { metadata, expired_metadata_logs, .. } = builder.build()?;
        let codec = metadata.metadata_compression_codec()?;
        let location = next_location(&metadata, &base.metadata_location, codec);
        let delete = is_true(&metadata, "write.metadata.delete-after-commit.enabled");
        let mut expired: Vec<_> = expired_metadata_logs.into_iter().map(|log| log.metadata_file).collect();
        expired.retain(|old| {
            delete
                && *old != base.metadata_location
                && metadata.metadata_log().iter().all(|log| log.metadata_file != *old)
        });
        Ok(Self { location, bytes: to_bytes(&namesakes.shown(&metadata)?, codec)?, expired })
    }
}

fn is_true(metadata: &TableMetadata, property: &str) -> bool {
    metadata.properties().get(property).is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

fn to_bytes(metadata: &Value, codec: CompressionCodec) -> iceberg::Result<Vec<u8>> {
    let json = serde_json::to_vec(metadata)?;
    if !matches!(codec, CompressionCodec::Gzip(_)) {
        return Ok(json);
    }
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&json)?;
    Ok(encoder.finish()?)
}

/// `<folder>/<version>-<uuid>.metadata.json`: the folder of `write.metadata.path` or of the table's location, the
/// version after the current file's.
fn next_location(metadata: &TableMetadata, current: &str, codec: CompressionCodec) -> String {
    let folder = match metadata.properties().get("write.metadata.path") {
        Some(path) => path.trim_end_matches('/').to_owned(),
        None => format!("{}/metadata", metadata.location().trim_end_matches('/')),
    };
    let suffix = if matches!(codec, CompressionCodec::Gzip(_)) { ".gz" } else { "" };
    let version = version_of(current).map_or(0, |version| version.saturating_add(1));
    format!("{folder}/{version:05}-{}{suffix}.metadata.json", Uuid::now_v7())
}

/// The number in `00012-<uuid>.metadata.json` or Hadoop's `v12.metadata.json`.
fn version_of(location: &str) -> Option<u64> {
    let name = location.rsplit('/').next()?;
    let name = name.strip_prefix('v').unwrap_or(name);
    let (digits, _) = name.split_once(['-', '.'])?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_follows_the_current_file_name() {
        for (location, version) in [
            ("file:/t/metadata/00012-2cd22b57-5127-4198-92ba-e4e67c79821b.metadata.json", Some(12)),
            ("/t/metadata/123456-x.gz.metadata.json", Some(123_456)),
            ("/t/metadata/v7.metadata.json", Some(7)),
            ("/t/metadata/v7.gz.metadata.json", Some(7)),
            ("/t/metadata/current.json", None),
        ] {
            assert_eq!(version_of(location), version, "{location}");
        }
    }
}
