//! The command line: names, options and examples.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

/// Exact, cheap compaction of Apache Iceberg tables.
#[derive(Debug, Parser)]
#[command(version, after_help = "Example:\n  firn --catalog sqlite:///abs/path/catalog.db compact sales.orders")]
pub(crate) struct Args {
    /// The configuration; $FIRN_CONFIG or ./firn.toml when it is not given
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// The catalog: sqlite:///abs/path/catalog.db[?name=CATALOG_NAME]; goes before the configuration's
    #[arg(long, global = true, value_name = "URI")]
    pub(crate) catalog: Option<String>,
    /// Print JSON on standard output
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// No progress bars
    #[arg(long, global = true)]
    pub(crate) quiet: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Builds a small streaming table, compacts it, proves that no row changed, and writes report.html; needs nothing else
    #[command(after_help = "Example:\n  firn demo --dir /tmp/firn-demo")]
    Demo {
        /// Where to build the warehouse: a folder that is empty or not there; a new one in this folder when it is not given
        #[arg(long, value_name = "DIR")]
        dir: Option<PathBuf>,
    },
    /// Table health, never a change; all tables when none is named
    #[command(after_help = "Example:\n  firn --catalog sqlite:///abs/path/catalog.db health sales.orders --json")]
    Health {
        /// namespace.table, or the location of a …metadata.json
        tables: Vec<String>,
    },
    /// The plan that `compact` would run, with a reason for every file left alone
    #[command(after_help = "Example:\n  firn --catalog … plan sales.orders -o min-input-files=2 --out plan.json")]
    Plan {
        /// namespace.table, or the location of a …metadata.json
        table: String,
        #[command(flatten)]
        options: Options,
        /// Save the plan for `compact --plan`
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Plan, rewrite, validate, commit; prints the evidence
    #[command(
        after_help = "Example:\n  firn --catalog … compact sales.orders --where \"day >= '2026-11-01'\" -o rewrite-all=true"
    )]
    Compact(Compact),
    /// Proves that two snapshots hold the same multiset of rows, or shows where they differ
    #[command(after_help = "Example:\n  firn --catalog … verify sales.orders --from 11 --to 12")]
    Verify {
        /// namespace.table, or the location of a …metadata.json
        table: String,
        /// Snapshot id before
        #[arg(long, value_name = "SNAPSHOT", allow_negative_numbers = true)]
        from: i64,
        /// Snapshot id after
        #[arg(long, value_name = "SNAPSHOT", allow_negative_numbers = true)]
        to: i64,
    },
    /// Evidence of past jobs, oldest first
    #[command(after_help = "Example:\n  firn jobs --json")]
    Jobs,
    /// Lists every problem of the configuration at once; never prints a secret
    #[command(after_help = "Example:\n  firn check-config --config firn.toml")]
    CheckConfig,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Compact {
    /// namespace.table
    pub(crate) table: String,
    #[command(flatten)]
    pub(crate) options: Options,
    /// Execute a saved plan as it stands
    #[arg(long, value_name = "FILE", conflicts_with_all = ["where", "option", "branch", "strategy", "sort_order"])]
    pub(crate) plan: Option<PathBuf>,
    /// Plan afresh when the saved plan conflicts
    #[arg(long, requires = "plan")]
    pub(crate) replan: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Options {
    /// How rows are arranged: binpack, the default; sort and zorder are not built yet
    #[arg(long)]
    pub(crate) strategy: Option<String>,
    /// The order of a sort strategy; not built yet
    #[arg(long, value_name = "ORDER")]
    pub(crate) sort_order: Option<String>,
    /// Rewrite only files that may hold rows of this SQL predicate
    #[arg(long = "where", id = "where", value_name = "PREDICATE")]
    pub(crate) filter: Option<String>,
    /// The branch to rewrite
    #[arg(long)]
    pub(crate) branch: Option<String>,
    /// An option of rewrite_data_files, such as min-input-files=2
    #[arg(short = 'o', id = "option", value_name = "KEY=VALUE")]
    pub(crate) options: Vec<String>,
}
