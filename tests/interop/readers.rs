//! The other engines: a Python environment, made when it is missing, and the verifier that runs in it.

use std::{path::PathBuf, process::Command, sync::OnceLock};

use crate::{folder, set::Set};

/// Whether Iceberg Java reads too. It takes minutes instead of seconds, so a plain `cargo test` goes without.
fn with_spark() -> bool {
    std::env::var_os("FIRN_INTEROP_SPARK").is_some_and(|it| it == "1")
}

/// Where `setup.sh` keeps what it made.
fn home() -> &'static PathBuf {
    static HOME: OnceLock<PathBuf> = OnceLock::new();
    HOME.get_or_init(|| {
        let mut setup = Command::new(folder().join("setup.sh"));
        if with_spark() {
            setup.arg("--spark");
        }
        let status = setup.status().expect("bash is missing");
        assert!(status.success(), "tests/interop/setup.sh failed: {status}; its message says what is missing");
        let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let cache = cache.unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache"));
        cache.join("firn").join("interop")
    })
}

/// The interpreter that has the other engines.
pub(crate) fn python() -> PathBuf {
    home().join("venv/bin/python")
}

/// Runs the verifier over `set` and returns what it printed, as an error when a table has a problem.
pub(crate) fn verify(set: &Set, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(python());
    command.arg(folder().join("verify").join("verify.py")).arg(&set.root);
    command.args(["--engines", "pyiceberg,duckdb"]).args(arguments).env("PYTHONDONTWRITEBYTECODE", "1");
    if with_spark() {
        command.arg("--spark").arg(home());
    }
    let output = command.output().unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() { Ok(text) } else { Err(text) }
}
