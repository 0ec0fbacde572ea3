//! When manifests are merged (rewrite rules D.6), by the table properties that Iceberg's own writers obey.

use std::collections::{BTreeMap, HashMap};

use iceberg::spec::{ManifestContentType, ManifestFile};
use model::MANIFEST_TARGET_SIZE_BYTES_DEFAULT;

/// `commit.manifest-merge.enabled`, `commit.manifest.min-count-to-merge` and `commit.manifest.target-size-bytes`.
pub(super) struct MergePolicy {
    enabled: bool,
    count_min: usize,
    target_bytes: u64,
}

impl MergePolicy {
    pub(super) fn of(properties: &HashMap<String, String>) -> Self {
        let value = |name: &str| properties.get(name).map(|text| text.trim());
        Self {
            enabled: value("commit.manifest-merge.enabled").is_none_or(|text| !text.eq_ignore_ascii_case("false")),
            count_min: value("commit.manifest.min-count-to-merge").and_then(|it| it.parse().ok()).unwrap_or(100),
            target_bytes: value("commit.manifest.target-size-bytes")
                .and_then(|it| it.parse().ok())
                .unwrap_or(MANIFEST_TARGET_SIZE_BYTES_DEFAULT),
        }
    }

    /// Splits `kept` into manifests to merge and those that stay. `others` manifests of the commit count towards the minimum.
    pub(super) fn merge(&self, kept: Vec<ManifestFile>, others: usize) -> (Vec<ManifestFile>, Vec<ManifestFile>) {
        if !self.enabled || kept.len() + others < self.count_min {
            return (Vec::new(), kept);
        }
        let family = |file: &ManifestFile| (file.content == ManifestContentType::Data, file.partition_spec_id);
        let is_small = |file: &ManifestFile| file.manifest_length.unsigned_abs() < self.target_bytes / 2;
        let mut small: BTreeMap<(bool, i32), usize> = BTreeMap::new();
        for file in kept.iter().filter(|file| is_small(file)) {
            *small.entry(family(file)).or_default() += 1;
        }
        kept.into_iter().partition(|file| is_small(file) && small.get(&family(file)).is_some_and(|count| *count > 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(content: ManifestContentType, partition_spec_id: i32, manifest_length: i64) -> ManifestFile {
        ManifestFile {
            manifest_path: "m".to_owned(),
            manifest_length,
            partition_spec_id,
            content,
            sequence_number: 1,
            min_sequence_number: 1,
            added_snapshot_id: 1,
            added_files_count: Some(1),
            existing_files_count: Some(0),
            deleted_files_count: Some(0),
            added_rows_count: Some(1),
            existing_rows_count: Some(0),
            deleted_rows_count: Some(0),
            partitions: None,
            key_metadata: None,
            first_row_id: None,
        }
    }

    fn policy(pairs: &[(&str, &str)]) -> MergePolicy {
        MergePolicy::of(&pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn d6_a_hundred_small_manifests_are_merged_by_content_and_spec() {
        let data = |spec_id, length| manifest(ManifestContentType::Data, spec_id, length);
        let mut all: Vec<_> = (0..97).map(|_| data(0, 1_000)).collect();
        all.extend([data(0, 5 * 1024 * 1024), data(1, 1_000), manifest(ManifestContentType::Deletes, 0, 1_000)]);
        let (merged, kept) = policy(&[]).merge(all.clone(), 0);
        assert_eq!((merged.len(), kept.len()), (97, 3), "large ones and only ones of their kind stay");
        assert_eq!(policy(&[]).merge(all[..99].to_vec(), 0).0.len(), 0);
        assert_eq!(policy(&[]).merge(all[..99].to_vec(), 1).0.len(), 97);
    }

    #[test]
    fn d6_the_tables_properties_decide() {
        let all = vec![manifest(ManifestContentType::Data, 0, 1_000); 3];
        let merged = |pairs: &[(&str, &str)]| policy(pairs).merge(all.clone(), 0).0.len();
        assert_eq!(merged(&[("commit.manifest.min-count-to-merge", "3")]), 3);
        assert_eq!(merged(&[("commit.manifest.min-count-to-merge", "4")]), 0);
        let off = [("commit.manifest.min-count-to-merge", "3"), ("commit.manifest-merge.enabled", "false")];
        assert_eq!(merged(&off), 0);
        let tiny = [("commit.manifest.min-count-to-merge", "3"), ("commit.manifest.target-size-bytes", "1500")];
        assert_eq!(merged(&tiny), 0, "1000 bytes are more than half of the target");
    }
}
