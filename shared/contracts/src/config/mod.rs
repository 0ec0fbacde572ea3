//! `firn.toml`: every setting with its default, parsed once at start, every problem reported at once.
//!
//! Text and environment are arguments: nothing here reads a file or a variable. `firn check-config` and every function use
//! [`Config::parse`]. Settings of one table come from [`Config::for_table`].

mod block;
mod budget;
mod catalog;
mod compaction;
mod node;
mod policy;
mod principal;
mod problem;
mod schedule;
mod scheduler;
mod scoring;
mod secret;
mod storage;
mod strategy;
mod tables;
mod variables;
mod windows;

use std::collections::BTreeMap;

use model::TableName;
use serde::Serialize;

use block::Block;
use node::{Node, Table, Value};
use policy::BLOCKS;
use problem::Report;

pub use block::{Origin, Origins};
pub use budget::Budget;
pub use catalog::{Auth, Catalog, CatalogUri, CatalogUriError};
pub use compaction::Compaction;
pub use policy::Policy;
pub use principal::{ClientSecret, Principal};
pub use problem::{Problem, Severity};
pub use schedule::{Schedule, ScheduleError};
pub use scheduler::{Lease, Scheduler};
pub use scoring::Scoring;
pub use secret::Secret;
pub use storage::Storage;
pub use strategy::{Arrangement, StrategyError, StrategySetting};
pub use tables::{Effective, TableOverride};
pub use variables::Variables;
pub use windows::{Window, Windows};

/// The table property that opts a table in, unless configured.
const OPT_IN_PROPERTY_DEFAULT: &str = "firn.enabled";

/// Everything that Firn is configured with. Serialises with secrets as `***`.
#[derive(Clone, Debug, Serialize)]
pub struct Config {
    /// `[catalog]`.
    pub catalog: Catalog,
    /// `[storage]`.
    pub storage: Storage,
    /// `[maintenance]`.
    pub maintenance: Maintenance,
    /// `[interactive]`.
    pub interactive: Interactive,
}

/// `[maintenance]`.
#[derive(Clone, Debug, Serialize)]
pub struct Maintenance {
    /// `mode`: how far Firn goes on its own; `off` unless set.
    pub mode: Mode,
    /// `property`: the table property that opts a table in when it is `true`; `firn.enabled` unless set.
    pub property: String,
    /// `[maintenance.principal]`.
    pub principal: Option<Principal>,
    /// The settings that tables may have of their own.
    #[serde(flatten)]
    pub policy: Policy,
    /// `[maintenance.tables."GLOB"]`.
    pub tables: Vec<TableOverride>,
    /// What the file says of the policy.
    #[serde(skip)]
    base: Table,
}

/// How far Firn goes on its own. Commands that a person gives do what they say in every mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// It does nothing.
    #[default]
    Off,
    /// It says what it would do.
    Advisory,
    /// It maintains tables that opted in and that its principal may write.
    Active,
}

/// `[interactive]`.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Interactive {
    /// `client_ids`: ids of people and engines; the principal must be none of them.
    pub client_ids: Vec<String>,
}

/// A configuration that was read, with warnings about it.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The settings.
    pub config: Config,
    /// What is doubtful, by line.
    pub warnings: Vec<Problem>,
}

impl Config {
    /// Parses the text of a `firn.toml`. `variables` gives the values of `${NAME}`; `catalog` stands for `[catalog] uri` when
    /// it is given.
    ///
    /// # Errors
    /// Everything that is wrong, warnings among it, by line. When the text is no TOML, nothing but that.
    pub fn parse(text: &str, variables: Variables<'_>, catalog: Option<&CatalogUri>) -> Result<Parsed, Vec<Problem>> {
        let mut report = Report::default();
        let Some(table) = node::parse(text, variables, &mut report) else {
            return Err(report.into_problems());
        };
        let config = read(table, catalog, &mut report);
        if report.has_errors() {
            Err(report.into_problems())
        } else {
            Ok(Parsed { config, warnings: report.into_problems() })
        }
    }

    /// The defaults, with the catalog of the command line if there is one.
    #[must_use]
    pub fn without_file(catalog: Option<CatalogUri>) -> Self {
        let mut config = read(Table::new(), catalog.as_ref(), &mut Report::default());
        config.catalog.uri = catalog;
        config
    }

    /// The settings of `table`: the table's own `properties` over the overrides whose glob matches, the most specific first,
    /// over `[maintenance]`, over the defaults. `firn.BLOCK.KEY` with dashes for underscores sets a key, `firn.heat` sets
    /// `scoring.scans_per_day`, and Iceberg's `write.target-file-size-bytes` sets `compaction.target_file_size_bytes`.
    ///
    /// # Errors
    /// Everything that is wrong with the properties, or with how the layers go together.
    pub fn for_table(
        &self,
        table: &TableName,
        properties: &BTreeMap<String, String>,
    ) -> Result<Effective, Vec<Problem>> {
        let Maintenance { base, tables, property, .. } = &self.maintenance;
        tables::effective(base, tables, property, table, properties)
    }
}

/// Reads a whole file; `uri` stands for the file's when it is given.
fn read(file: Table, uri: Option<&CatalogUri>, report: &mut Report) -> Config {
    let root = Node { line: None, key: String::new(), value: Value::Table(file) };
    let mut root = Block::single("", Some(&root), report);
    let catalog = catalog::read(root.child("catalog"), uri);
    let storage = storage::read(root.child("storage"));
    let mut interactive = root.child("interactive");
    let client_ids = interactive.strings("client_ids");
    interactive.finish();
    let maintenance = maintenance(root.child("maintenance"), &catalog, &client_ids);
    root.finish();
    Config { catalog, storage, maintenance, interactive: Interactive { client_ids } }
}

fn maintenance(mut block: Block<'_>, catalog: &Catalog, interactive: &[String]) -> Maintenance {
    let modes = [("off", Mode::Off), ("advisory", Mode::Advisory), ("active", Mode::Active)];
    let mode = block.choice("mode", Mode::Off, &modes);
    let property = block.string("property").unwrap_or_else(|| OPT_IN_PROPERTY_DEFAULT.to_owned());
    let principal = principal::read(block.child("principal"));
    principal::check_interactive(block.child("principal"), interactive);
    check_principal(&mut block, catalog, mode);
    let base: Table = BLOCKS.iter().filter_map(|name| Some(((*name).to_owned(), block.find(name)?.clone()))).collect();
    let (policy, _) = policy::read(&[&base], block.report);
    let tables = block.find("tables").map_or_else(Vec::new, |tables| tables::read(tables, &base, block.report));
    block.finish();
    Maintenance { mode, property, principal, policy, tables, base }
}

/// Whether the catalog wants a principal where there is none, or has no use for the one there is.
fn check_principal(block: &mut Block<'_>, catalog: &Catalog, mode: Mode) {
    if !matches!(catalog.uri, Some(CatalogUri::Rest(_))) || block.report.has_error_at("catalog.auth") {
        return;
    }
    let principal = block.find("principal");
    let mode_node = block.find("mode").filter(|_| mode == Mode::Active);
    match (catalog.auth, principal, mode_node) {
        (Auth::Oauth2, None, Some(node)) if !block.has("principal") => {
            let help = "add [maintenance.principal] with token_endpoint, client_id and client_secret, or stay advisory";
            block.report.error(node, "\"active\" needs a principal on a catalog with auth = \"oauth2\"", help);
        }
        (Auth::None | Auth::Sigv4, Some(node), _) => {
            let help = "write auth = \"oauth2\" below [catalog], or remove the principal";
            block.report.warn(node, "is never used: the catalog's auth is not \"oauth2\"", help);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
