//! The `firn` binary, built once and run as a person would run it.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use serde_json::Value;

/// What a run of `firn --json` left behind.
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// The record that was printed.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("no JSON ({error}): {self}"))
    }

    /// The outcome that the evidence names.
    pub(crate) fn outcome(&self) -> String {
        self.json()["outcome"].as_str().unwrap_or_else(|| panic!("no outcome: {self}")).to_owned()
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "exit code {}\n{}\n{}", self.code, self.stdout.trim_end(), self.stderr.trim_end())
    }
}

/// Runs `firn --json` on the SQLite catalog at `catalog`.
pub(crate) fn firn(catalog: &Path, arguments: &[&str]) -> Ran {
    run(command(binary(), catalog, arguments))
}

/// `binary` as a command on the SQLite catalog at `catalog`.
pub(crate) fn command(binary: &Path, catalog: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(["--json", "--catalog", &format!("sqlite://{}", catalog.display())]).args(arguments);
    command
}

/// Runs a command of `firn` with a state folder of its own.
pub(crate) fn run(mut command: Command) -> Ran {
    let state = tempfile::tempdir().unwrap();
    let output = command.env("XDG_STATE_HOME", state.path()).env_remove("FIRN_CONFIG").output().unwrap();
    Ran {
        code: output.status.code().unwrap_or_else(|| panic!("firn was killed: {}", output.status)),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The binary of this workspace, of the profile that this test was built with. The tests' package cannot depend on a
/// binary, so Cargo is asked for it; selecting the whole workspace keeps the features, and with them the build, the same.
pub(crate) fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let test = std::env::current_exe().unwrap();
        let built = test.parent().and_then(Path::parent).unwrap();
        let release: &[&str] = if built.ends_with("release") { &["--release"] } else { &[] };
        let status = Command::new(env!("CARGO"))
            .args(["build", "--workspace", "--bin", "firn", "--locked", "--quiet", "--target-dir"])
            .arg(built.parent().unwrap())
            .args(release)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .unwrap();
        assert!(status.success(), "firn does not build");
        built.join("firn")
    })
}
