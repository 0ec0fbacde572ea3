//! What went wrong, for people and for scripts: text on standard error and an exit code.

use std::io::Write;

/// The command line or the configuration is wrong.
pub(crate) const USAGE: u8 = 2;
/// A gate or a safety rule said no.
pub(crate) const REFUSED: u8 = 3;
/// Failed groups or a conflict are left.
pub(crate) const UNFINISHED: u8 = 4;
/// The catalog or the storage failed.
pub(crate) const OUTSIDE: u8 = 5;

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The exit code.
    pub(crate) code: u8,
    /// What, where, and what to do.
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: USAGE, message: message.into() }
    }

    pub(crate) fn outside(error: &dyn std::error::Error) -> Self {
        Self { code: OUTSIDE, message: chain(error) }
    }

    pub(crate) fn bug(error: &dyn std::error::Error) -> Self {
        Self { code: 1, message: format!("this is a bug in firn, please report it: {}", chain(error)) }
    }

    pub(crate) fn report(&self) {
        complain(&self.message);
    }
}

/// Prints `message` on standard error; when nobody listens there, the exit code still tells.
pub(crate) fn complain(message: &str) {
    let _ = writeln!(std::io::stderr().lock(), "firn: {message}");
}

/// An error with its causes.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}

impl From<ports::Error> for Failure {
    fn from(error: ports::Error) -> Self {
        use ports::ErrorKind::{Corrupt, Invalid, NotFound};
        // A file that the catalog points at and storage does not have is no mistake of the caller's.
        let is_file = error.operation == "catalog.load_table" && error.subject.contains('/');
        let code = match error.kind {
            NotFound if is_file => OUTSIDE,
            Invalid | NotFound => USAGE,
            Corrupt => REFUSED,
            _ => OUTSIDE,
        };
        Self { code, message: chain(&error) }
    }
}

impl From<table_io::Error> for Failure {
    fn from(error: table_io::Error) -> Self {
        let code = match error {
            table_io::Error::Invalid(_) => USAGE,
            table_io::Error::Corrupt { .. } => REFUSED,
            _ => OUTSIDE,
        };
        Self { code, message: chain(&error) }
    }
}

impl From<planner::Error> for Failure {
    fn from(error: planner::Error) -> Self {
        let code = match error {
            planner::Error::Table(error) => return error.into(),
            planner::Error::Lint(_) | planner::Error::Tampered(_) => REFUSED,
            planner::Error::Outdated(_) => UNFINISHED,
            _ => USAGE,
        };
        Self { code, message: chain(&error) }
    }
}

impl From<rewriter::Error> for Failure {
    fn from(error: rewriter::Error) -> Self {
        match error {
            rewriter::Error::Table(error) => error.into(),
            rewriter::Error::Rewrite(error) => error.into(),
            _ => Self { code: UNFINISHED, message: chain(&error) },
        }
    }
}

impl From<rewrite_engine::Error> for Failure {
    fn from(error: rewrite_engine::Error) -> Self {
        use rewrite_engine::Error::{Corrupt, Stopped, Unsupported};
        let code = match error {
            Corrupt { .. } | Unsupported { .. } => REFUSED,
            Stopped => UNFINISHED,
            _ => OUTSIDE,
        };
        Self { code, message: chain(&error) }
    }
}

impl From<committer::Error> for Failure {
    fn from(error: committer::Error) -> Self {
        match error {
            committer::Error::Catalog(error) => error.into(),
            committer::Error::Table(error) => error.into(),
            _ => Self { code: REFUSED, message: chain(&error) },
        }
    }
}
