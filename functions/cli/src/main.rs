//! `firn`: the handlers of the functions on a laptop, over an SQLite catalog and local files.

mod args;
mod compact;
mod evidence;
mod failure;
mod render;
mod resources;
mod session;
mod show;

use clap::Parser;

use args::{Args, Command};
use failure::Failure;
use session::Session;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let args = Args::parse();
    match run(&args).await {
        Ok(code) => code.into(),
        Err(failure) => {
            failure.report();
            failure.code.into()
        }
    }
}

async fn run(args: &Args) -> Result<u8, Failure> {
    let session = Session::new(args)?;
    match &args.command {
        Command::Health { tables } => show::health(&session, tables).await,
        Command::Plan { table, options, out } => show::plan(&session, table, options, out.as_deref()).await,
        Command::Compact(compact) => compact::compact(&session, compact).await,
        Command::Verify { table, from, to } => show::verify(&session, table, *from, *to).await,
        Command::Jobs => show::jobs(&session).await,
    }
}
