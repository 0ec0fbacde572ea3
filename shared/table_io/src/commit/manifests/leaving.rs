//! What leaves the table, told by the entries of its manifests.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use iceberg::spec::{DataFile, DataFileBuilder, ManifestEntry, ManifestFile, ManifestStatus, ManifestWriter};

use super::super::{Change, identity};
use crate::{
    collect::sequence_numbers,
    error::{Error, Result},
    scan::LiveDataFile,
};

/// Path, and for a deletion vector offset and size (rule D.1).
pub(super) type DeleteIdentity = (Arc<str>, Option<(u64, u64)>);

/// The data and delete files that leave, and what the files that stay inherit.
pub(super) struct Leaving<'a> {
    data: HashSet<&'a str>,
    deletes: HashSet<DeleteIdentity>,
    live: HashMap<&'a str, &'a LiveDataFile>,
}

impl<'a> Leaving<'a> {
    pub(super) fn of(change: &'a Change) -> Self {
        Self {
            data: change.removed.iter().map(|file| file.path.as_ref()).collect(),
            deletes: change.dead.iter().map(|delete| identity(delete)).collect(),
            live: change.live.data.iter().map(|file| (file.path.as_ref(), file.as_ref())).collect(),
        }
    }

    pub(super) fn has_data(&self, path: &str) -> bool {
        self.data.contains(path)
    }

    pub(super) fn has_delete(&self, identity: &DeleteIdentity) -> bool {
        self.deletes.contains(identity)
    }

    fn takes(&self, file: &DataFile) -> bool {
        if self.live.contains_key(file.file_path()) {
            return self.has_data(file.file_path());
        }
        let unsigned = |value: Option<i64>| value.and_then(|it| u64::try_from(it).ok());
        let place = unsigned(file.content_offset()).zip(unsigned(file.content_size_in_bytes()));
        self.has_delete(&(file.file_path().into(), place)) || self.has_delete(&(file.file_path().into(), None))
    }

    /// Writes a live entry of the manifest `source` again: as deleted if it leaves, else with everything that it inherits there.
    pub(super) fn write(
        &self,
        writer: &mut ManifestWriter,
        source: &ManifestFile,
        entry: &ManifestEntry,
        path: &str,
    ) -> Result<()> {
        let (sequence_number, file_sequence_number) = sequence_numbers(source, entry)?;
        let file_sequence_number = Some(file_sequence_number);
        let snapshot_id = entry.snapshot_id().unwrap_or(source.added_snapshot_id);
        let file = self.with_row_id(entry.data_file()).map_err(|reason| Error::corrupt(path, reason))?;
        let result = if self.takes(&file) {
            writer.add_delete_file(file, sequence_number, file_sequence_number)
        } else {
            debug_assert_ne!(entry.status(), ManifestStatus::Deleted);
            writer.add_existing_file(file, snapshot_id, sequence_number, file_sequence_number)
        };
        result.map_err(|e| Error::write(path, e))
    }

    /// The entry's file with its inherited `first_row_id` written out: its place in the manifest changes.
    fn with_row_id(&self, file: &DataFile) -> std::result::Result<DataFile, String> {
        let inherited = self.live.get(file.file_path()).and_then(|live| live.first_row_id);
        if file.first_row_id() == inherited || inherited.is_none() {
            return Ok(file.clone());
        }
        let mut builder = DataFileBuilder::default();
        builder
            .content(file.content_type())
            .file_path(file.file_path().to_owned())
            .file_format(file.file_format())
            .partition(file.partition().clone())
            .record_count(file.record_count())
            .file_size_in_bytes(file.file_size_in_bytes())
            .column_sizes(file.column_sizes().clone())
            .value_counts(file.value_counts().clone())
            .null_value_counts(file.null_value_counts().clone())
            .nan_value_counts(file.nan_value_counts().clone())
            .lower_bounds(file.lower_bounds().clone())
            .upper_bounds(file.upper_bounds().clone())
            .key_metadata(file.key_metadata().map(<[u8]>::to_vec))
            .split_offsets(file.split_offsets().map(<[i64]>::to_vec))
            .equality_ids(file.equality_ids())
            .first_row_id(inherited)
            .referenced_data_file(file.referenced_data_file())
            .content_offset(file.content_offset())
            .content_size_in_bytes(file.content_size_in_bytes());
        if let Some(order) = file.sort_order_id() {
            builder.sort_order_id(order);
        }
        builder.build().map_err(|error| format!("{}: {error}", file.file_path()))
    }
}
