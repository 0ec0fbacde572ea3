//! A catalog that checks requirements, as the REST catalog does (Iceberg REST specification, "Commit updates to a table").

use std::sync::Arc;

use async_trait::async_trait;
use iceberg::{TableRequirement, TableUpdate, spec::TableMetadata};
use model::TableName;
use ports::{CommitOutcome, Error, ErrorKind, LoadedTable};

use crate::{
    fuse::{Blown, Fuse, Pass},
    world::{Request, World},
};

/// The catalog of a [`World`] as one process sees it.
#[derive(Clone, Debug)]
pub struct SimulatedCatalog {
    world: World,
    fuse: Arc<Fuse>,
}

impl SimulatedCatalog {
    pub(crate) fn new(world: World, fuse: Arc<Fuse>) -> Self {
        Self { world, fuse }
    }

    fn enter(&self, operation: &'static str, subject: &str) -> Result<Pass, Error> {
        let failed = |_: Blown| Error::new(ErrorKind::Unavailable, operation, subject, "the catalog is not reached");
        self.fuse.enter(operation, subject).map_err(failed)
    }

    fn load(&self, name: &TableName) -> Result<LoadedTable, Error> {
        let location = self.world.lock().pointers.get(name).cloned();
        let missing = || Error::new(ErrorKind::NotFound, "catalog.load_table", name.to_string(), "no such table");
        let metadata_location = location.ok_or_else(missing)?;
        let bytes = self.world.files.lock().get(&metadata_location).cloned();
        let metadata: TableMetadata = serde_json::from_slice(&bytes.expect("metadata file is gone")).unwrap();
        let file_io = self.world.file_io(&self.fuse);
        Ok(LoadedTable { name: name.clone(), metadata_location, metadata: Arc::new(metadata), file_io })
    }

    /// Puts `metadata` under `name`, whatever was there.
    pub(crate) fn put(&self, name: &TableName, metadata: &TableMetadata) -> String {
        let mut catalog = self.world.lock();
        catalog.version += 1;
        let location = format!("{}/metadata/{:05}.metadata.json", metadata.location(), catalog.version);
        let bytes = serde_json::to_vec(metadata).unwrap();
        self.world.files.lock().insert(location.clone(), bytes.into());
        catalog.pointers.insert(name.clone(), location.clone());
        location
    }

    /// Does what `request` asks for if its requirements hold.
    ///
    /// # Errors
    /// `NotFound` when there is no such table.
    pub fn apply(&self, request: Request) -> Result<CommitOutcome, Error> {
        let current = self.load(&request.name)?;
        let unmet = request.requirements.iter().find_map(|wanted| wanted.check(Some(&current.metadata)).err());
        if let Some(unmet) = unmet {
            return Ok(CommitOutcome::Conflicted { reason: unmet.to_string() });
        }
        let mut builder = TableMetadata::clone(&current.metadata).into_builder(Some(current.metadata_location));
        for update in request.updates {
            builder = update.apply(builder).unwrap();
        }
        let metadata_location = self.put(&request.name, &builder.build().unwrap().metadata);
        Ok(CommitOutcome::Committed { metadata_location })
    }
}

#[async_trait]
impl ports::Catalog for SimulatedCatalog {
    async fn load_table(&self, name: &TableName) -> Result<LoadedTable, Error> {
        match self.enter("catalog.load_table", &name.to_string())? {
            Pass::Through => self.load(name),
            _ => Err(Error::new(ErrorKind::Unavailable, "catalog.load_table", name.to_string(), "the answer was lost")),
        }
    }

    async fn list_tables(&self) -> Result<Vec<TableName>, Error> {
        self.enter("catalog.list_tables", "")?;
        Ok(self.world.lock().pointers.keys().cloned().collect())
    }

    async fn commit(
        &self,
        base: &LoadedTable,
        requirements: Vec<TableRequirement>,
        updates: Vec<TableUpdate>,
    ) -> Result<CommitOutcome, Error> {
        let request = Request { name: base.name.clone(), requirements, updates };
        let pass = self.enter("catalog.commit", &base.name.to_string())?;
        self.world.lock().requests.push(request.clone());
        let lost = CommitOutcome::Unknown { reason: "the catalog's answer was lost".to_owned() };
        match pass {
            Pass::Through => self.apply(request),
            Pass::Nowhere => Ok(lost),
            Pass::Answerless => {
                let _ = self.apply(request)?;
                Ok(lost)
            }
        }
    }
}
