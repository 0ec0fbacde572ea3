//! Every environment variable, read here and nowhere else.
#![allow(clippy::disallowed_methods, reason = "this file is where the environment is read")]

use std::path::PathBuf;

/// Where state is kept between runs: `XDG_STATE_HOME`, else `HOME`/.local/state (XDG Base Directory Specification).
#[must_use]
pub fn state_home() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute("XDG_STATE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
}

/// The configuration file: `FIRN_CONFIG`. Empty counts as unset.
#[must_use]
pub fn config_file() -> Option<PathBuf> {
    std::env::var_os("FIRN_CONFIG").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// What a `${NAME}` in the configuration stands for; `None` when it is unset or no text.
#[must_use]
pub fn lookup(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
