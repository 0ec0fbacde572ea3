//! Random tables, compacted with random options, read before and after by a reader that shares no code with Firn.
//!
//! `FIRN_DIFFERENTIAL_SEEDS=1000 FIRN_DIFFERENTIAL_START=5` runs other seeds than the default ones; a failure prints its seed.

use std::process::Command;

use crate::{firn, folder, readers};

/// Seeds of a plain run, and the seconds after which it stops early on a slow machine.
const SEEDS: &str = "250";
const SECONDS: &str = "90";

#[test]
fn random_tables_read_the_same_after_compaction() {
    let given = |name: &str| std::env::var(name).ok();
    let seeds = given("FIRN_DIFFERENTIAL_SEEDS");
    let seconds = if seeds.is_some() { "inf" } else { SECONDS };
    let output = Command::new(readers::python())
        .arg(folder().join("differential").join("differential.py"))
        .arg("--firn")
        .arg(firn::binary())
        .args(["--seeds", seeds.as_deref().unwrap_or(SEEDS), "--seconds", seconds])
        .args(["--start", given("FIRN_DIFFERENTIAL_START").as_deref().unwrap_or("0")])
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .unwrap();
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    println!("{text}");
}
