//! Manifests of one content, schema and spec, written again as few.

use std::{collections::BTreeMap, sync::Arc};

use iceberg::spec::{ManifestFile, ManifestWriter};

use super::{ENTRIES_MAX, Leaving, Manifests, close};
use crate::{
    error::Result,
    manifest::{load_whole, spec_of},
};

/// The open manifest of each family, and those that are full.
#[derive(Default)]
pub(super) struct Families {
    open: BTreeMap<String, Open>,
    full: Vec<ManifestFile>,
}

struct Open {
    path: String,
    writer: ManifestWriter,
    entries: usize,
}

impl Families {
    /// Copies the live entries of `file`.
    pub(super) async fn copy(
        &mut self,
        manifests: &mut Manifests<'_>,
        leaving: &Leaving<'_>,
        file: &ManifestFile,
    ) -> Result<()> {
        let spec = spec_of(&manifests.table.metadata, file)?;
        let (entries, schema) = load_whole(manifests.table, file).await?;
        let family = format!("{:?}/{}/{schema:?}", file.content, file.partition_spec_id);
        for entry in entries.iter().filter(|entry| entry.is_alive()) {
            if self.open.get(&family).is_some_and(|open| open.entries >= ENTRIES_MAX)
                && let Some(open) = self.open.remove(&family)
            {
                self.full.push(close(&open.path, open.writer).await?);
            }
            if !self.open.contains_key(&family) {
                let (path, writer) = manifests.writer(Arc::clone(&schema), spec.clone(), file.content)?;
                self.open.insert(family.clone(), Open { path, writer, entries: 0 });
            }
            if let Some(open) = self.open.get_mut(&family) {
                leaving.write(&mut open.writer, file, entry, &open.path)?;
                open.entries += 1;
            }
        }
        Ok(())
    }

    pub(super) async fn close(self) -> Result<Vec<ManifestFile>> {
        let mut manifests = self.full;
        for open in self.open.into_values() {
            manifests.push(close(&open.path, open.writer).await?);
        }
        Ok(manifests)
    }
}
