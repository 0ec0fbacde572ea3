//! `firn`: the handlers of the functions on a laptop, over an SQLite catalog and local files.

mod args;
mod compact;
mod demo;
mod evidence;
mod failure;
mod render;
mod resources;
mod session;
mod settings;
mod show;
mod verdict;
mod verify;

use clap::Parser;

use args::{Args, Command};
use failure::Failure;
use session::Session;

#[tokio::main]
async fn main() -> std::process::ExitCode {
    let args = Args::parse();
    // On a task of its own, so that a panic becomes an exit code that scripts can tell from a refusal.
    let result = match tokio::spawn(async move { run(&args).await }).await {
        Ok(result) => result,
        Err(error) => Err(Failure::bug(&error)),
    };
    match result {
        Ok(code) => code.into(),
        Err(failure) => {
            failure.report();
            failure.code.into()
        }
    }
}

async fn run(args: &Args) -> Result<u8, Failure> {
    let session = || Session::new(args);
    match &args.command {
        Command::Demo { dir } => demo::demo(args, dir.as_deref()).await,
        Command::Health { tables } => show::health(&session()?, tables).await,
        Command::Plan { table, options, out } => show::plan(&session()?, table, options, out.as_deref()).await,
        Command::Compact(compact) => compact::compact(&session()?, compact).await,
        Command::Verify { table, from, to } => verify::verify(&session()?, table, *from, *to).await,
        Command::Jobs => show::jobs(&session()?).await,
        Command::CheckConfig => settings::check(args),
    }
}
