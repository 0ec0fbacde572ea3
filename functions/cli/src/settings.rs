//! The configuration: found, read, and `firn check-config`.

use std::path::{Path, PathBuf};

use contracts::{
    config::{CatalogUri, CatalogUriError, Config, Parsed, Problem, Severity},
    env,
};
use serde::Serialize;

use crate::{
    args::Args,
    failure::{Failure, USAGE},
    render,
};

/// Read when nothing else is named.
const FILE: &str = "firn.toml";

/// What `firn check-config --json` prints.
#[derive(Serialize)]
pub(crate) struct Report {
    /// The file.
    pub(crate) path: String,
    /// Whether Firn starts with it.
    pub(crate) ok: bool,
    /// What is wrong or doubtful, by line.
    pub(crate) problems: Vec<Problem>,
    /// Every setting, secrets as `***`; none when there are errors.
    pub(crate) effective: Option<Config>,
}

/// The settings that `args` ask for: of `--config`, `$FIRN_CONFIG` or `./firn.toml`, else the defaults. `--catalog` goes before
/// the file's.
pub(crate) fn load(args: &Args) -> Result<Config, Failure> {
    let catalog = catalog(args)?;
    let Some(path) = find(args) else { return Ok(Config::without_file(catalog)) };
    match parse(&path, catalog.as_ref())? {
        Ok(parsed) => Ok(parsed.config),
        Err(problems) => Err(Failure::usage(format!("{} cannot be used:{}", path.display(), list(&problems)))),
    }
}

/// Every problem of the configuration.
pub(crate) fn check(args: &Args) -> Result<u8, Failure> {
    let catalog = catalog(args)?;
    let path = find(args).ok_or_else(|| {
        Failure::usage("no configuration to check: pass --config FILE, set FIRN_CONFIG, or write ./firn.toml")
    })?;
    let (problems, effective) = match parse(&path, catalog.as_ref())? {
        Ok(Parsed { config, warnings }) => (warnings, Some(config)),
        Err(problems) => (problems, None),
    };
    let report = Report { path: path.display().to_string(), ok: effective.is_some(), problems, effective };
    if args.json {
        render::json(&report)?;
    } else {
        render::problems(&report)?;
    }
    Ok(if report.ok { 0 } else { USAGE })
}

/// Problems as the lines below a sentence.
pub(crate) fn list(problems: &[Problem]) -> String {
    let line = |problem: &Problem| {
        let mark = if problem.severity == Severity::Warning { "warning: " } else { "" };
        format!("\n  {mark}{problem}")
    };
    problems.iter().map(line).collect()
}

/// The catalog of the command line.
fn catalog(args: &Args) -> Result<Option<CatalogUri>, Failure> {
    let parse = |uri: &String| {
        uri.parse().map_err(|error: CatalogUriError| match error {
            // It may hold a password.
            CatalogUriError::Scheme | CatalogUriError::Rest => Failure::usage(format!("--catalog: {error}")),
            _ => Failure::usage(format!("--catalog {uri}: {error}")),
        })
    };
    args.catalog.as_ref().map(parse).transpose()
}

/// The file. One that is named must exist; `./firn.toml` may be absent.
fn find(args: &Args) -> Option<PathBuf> {
    let here = || Some(PathBuf::from(FILE)).filter(|path| path.exists());
    args.config.clone().or_else(env::config_file).or_else(here)
}

fn parse(path: &Path, catalog: Option<&CatalogUri>) -> Result<Result<Parsed, Vec<Problem>>, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::usage(format!("{}: the configuration cannot be read: {error}; --config names another", path.display()))
    })?;
    Ok(Config::parse(&text, &env::lookup, catalog))
}
