//! What every command needs: the catalog, tables by name or location, the job log.

use std::{path::PathBuf, sync::Arc};

use catalog_io::{SqliteCatalog, open_metadata};
use contracts::config::{Arrangement, CatalogUri, Config, Effective};
use local_io::{FileJobLog, file_io};
use model::TableName;
use ports::{Catalog, LoadedTable};

use crate::{
    args::{Args, Options},
    failure::Failure,
    settings,
};

/// The branch that every table has (Iceberg spec, "Snapshot References").
pub(crate) const MAIN_BRANCH: &str = "main";

pub(crate) struct Session {
    pub(crate) config: Config,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

impl Session {
    pub(crate) fn new(args: &Args) -> Result<Self, Failure> {
        Ok(Self { config: settings::load(args)?, json: args.json, quiet: args.quiet || args.json })
    }

    pub(crate) fn catalog(&self) -> Result<Arc<dyn Catalog>, Failure> {
        match &self.config.catalog.uri {
            Some(CatalogUri::Sqlite { path, name }) => {
                Ok(Arc::new(SqliteCatalog::open(path, name.as_deref(), file_io())?))
            }
            Some(CatalogUri::Rest(uri)) => Err(Failure::usage(format!(
                "catalog {uri}: REST catalogs are not built yet; sqlite:///abs/path/catalog.db is"
            ))),
            None => {
                Err(Failure::usage("no catalog: pass --catalog sqlite:///abs/path/catalog.db, or write a firn.toml"))
            }
        }
    }

    /// The settings of `table`: its own properties over the configuration.
    pub(crate) fn settings(&self, table: &LoadedTable) -> Result<Effective, Failure> {
        let properties = table.metadata.properties().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        self.config.for_table(&table.name, &properties).map_err(|problems| {
            Failure::usage(format!("table {}: its settings cannot be used:{}", table.name, settings::list(&problems)))
        })
    }

    /// A table to read: by name from the catalog, or by the location of its metadata.
    pub(crate) async fn table(&self, table: &str) -> Result<LoadedTable, Failure> {
        if is_location(table) {
            return Ok(open_metadata(table, file_io()).await?);
        }
        Ok(self.catalog()?.load_table(&name(table)?).await?)
    }

    pub(crate) fn job_log(&self) -> FileJobLog {
        let state = contracts::env::state_home().unwrap_or_else(|| PathBuf::from("."));
        FileJobLog::new(state.join("firn").join("jobs.jsonl"))
    }
}

fn is_location(table: &str) -> bool {
    table.ends_with(".metadata.json")
}

/// A table of the catalog, by name alone.
pub(crate) fn name(table: &str) -> Result<TableName, Failure> {
    if is_location(table) {
        return Err(Failure::usage(format!(
            "{table} is the location of a metadata file, which only reading commands take: name the table as \
             namespace.table and its catalog with --catalog"
        )));
    }
    table.parse().map_err(|error: model::TableNameError| Failure::usage(error.to_string()))
}

impl Options {
    /// The branch that was asked for.
    pub(crate) fn branch(&self) -> &str {
        self.branch.as_deref().unwrap_or(MAIN_BRANCH)
    }

    /// The options given, by the names of the Spark procedure.
    pub(crate) fn pairs(&self) -> Result<Vec<(String, String)>, Failure> {
        if let Some(strategy) = self.strategy.as_deref().filter(|it| !it.eq_ignore_ascii_case("binpack")) {
            return Err(Failure::usage(format!("--strategy {strategy}: only binpack is built yet")));
        }
        if let Some(order) = &self.sort_order {
            return Err(Failure::usage(format!("--sort-order {order:?}: only the strategy binpack is built yet")));
        }
        let mut pairs = Vec::new();
        for option in &self.options {
            match option.split_once('=') {
                Some(("where", _)) => return Err(Failure::usage("-o where=…: use --where")),
                Some((key, value)) => pairs.push((key.trim().to_owned(), value.to_owned())),
                None => return Err(Failure::usage(format!("-o {option}: must be KEY=VALUE"))),
            }
        }
        pairs.extend(self.filter.clone().map(|filter| ("where".to_owned(), filter)));
        Ok(pairs)
    }

    /// The options of one run on `table`: those given, over the table's settings.
    pub(crate) fn over_settings(
        &self,
        session: &Session,
        table: &LoadedTable,
    ) -> Result<Vec<(String, String)>, Failure> {
        let compaction = session.settings(table)?.policy.compaction;
        // A strategy without `!` may be used once it has shown a gain; until then a run packs.
        if compaction.strategy.always
            && compaction.strategy.arrangement != Arrangement::Binpack
            && self.strategy.is_none()
        {
            return Err(Failure::usage(format!(
                "table {}: its strategy is {}, and only binpack is built yet; --strategy binpack packs it",
                table.name, compaction.strategy
            )));
        }
        let mut pairs = compaction.set;
        pairs.extend(self.pairs()?);
        Ok(pairs)
    }
}
