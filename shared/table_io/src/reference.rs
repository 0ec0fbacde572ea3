//! Snapshot references (Iceberg spec, "Snapshot References").

use iceberg::spec::{SnapshotReference, TableMetadata};

/// The branch or tag `name` with its kind and retention settings, which the library gives away in JSON only.
pub(crate) fn reference(metadata: &TableMetadata, name: &str) -> Option<SnapshotReference> {
    let mut json = serde_json::to_value(metadata).ok()?;
    serde_json::from_value(json.get_mut("refs")?.get_mut(name)?.take()).ok()
}
