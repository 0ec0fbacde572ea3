//! What every command needs: the catalog, tables by name or location, the job log.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use catalog_io::{SqliteCatalog, open_metadata};
use local_io::{FileJobLog, file_io};
use model::TableName;
use ports::{Catalog, LoadedTable};

use crate::{
    args::{Args, Options},
    failure::Failure,
};

/// The table property that lets Firn work on its own, unless configured.
const OPT_IN_PROPERTY: &str = "firn.enabled";
/// The branch that every table has (Iceberg spec, "Snapshot References").
pub(crate) const MAIN_BRANCH: &str = "main";

pub(crate) struct Session {
    catalog_uri: Option<String>,
    pub(crate) json: bool,
    pub(crate) quiet: bool,
    /// The table property that lets Firn work on its own.
    pub(crate) opt_in_property: String,
    /// Configured options; those of the command line come after them and win.
    pub(crate) pairs: Vec<(String, String)>,
}

impl Session {
    pub(crate) fn new(args: &Args) -> Result<Self, Failure> {
        Ok(Self {
            catalog_uri: args.catalog.clone(),
            json: args.json,
            quiet: args.quiet || args.json,
            opt_in_property: OPT_IN_PROPERTY.to_owned(),
            pairs: Vec::new(),
        })
    }

    pub(crate) fn catalog(&self) -> Result<Arc<dyn Catalog>, Failure> {
        let missing = || Failure::usage("no catalog: pass --catalog sqlite:///abs/path/catalog.db");
        open_catalog(self.catalog_uri.as_deref().ok_or_else(missing)?)
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

fn open_catalog(uri: &str) -> Result<Arc<dyn Catalog>, Failure> {
    let Some(path) = uri.strip_prefix("sqlite://") else {
        return Err(Failure::usage(format!(
            "catalog {uri}: REST catalogs are not built yet; sqlite:///abs/path/catalog.db is"
        )));
    };
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let name = match query.map(|it| it.split_once('=')) {
        None => None,
        Some(Some(("name", name))) => Some(name),
        Some(_) => return Err(Failure::usage(format!("catalog {uri}: the only parameter is name=CATALOG_NAME"))),
    };
    if !path.starts_with('/') {
        return Err(Failure::usage(format!("catalog {uri}: the path must be absolute, with three slashes")));
    }
    Ok(Arc::new(SqliteCatalog::open(Path::new(path), name, file_io())?))
}

impl Options {
    /// The branch that was asked for.
    pub(crate) fn branch(&self) -> &str {
        self.branch.as_deref().unwrap_or(MAIN_BRANCH)
    }

    /// The options as pairs, by the names of the Spark procedure.
    pub(crate) fn pairs(&self, session: &Session) -> Result<Vec<(String, String)>, Failure> {
        if let Some(strategy) = self.strategy.as_deref().filter(|it| !it.eq_ignore_ascii_case("binpack")) {
            return Err(Failure::usage(format!("--strategy {strategy}: only binpack is built yet")));
        }
        if let Some(order) = &self.sort_order {
            return Err(Failure::usage(format!("--sort-order {order:?}: only the strategy binpack is built yet")));
        }
        let mut pairs = session.pairs.clone();
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
}
