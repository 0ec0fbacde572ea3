//! What went wrong, for people and for scripts: text on standard error and an exit code.

/// A failed command.
#[derive(Debug)]
pub(crate) struct Failure {
    /// 2 usage or configuration, 3 refused, 4 failed groups or a conflict left, 5 the outside failed.
    pub(crate) code: u8,
    message: String,
}

impl Failure {
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { code: 2, message: message.into() }
    }

    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self { code: 3, message: message.into() }
    }

    pub(crate) fn outside(error: &dyn std::error::Error) -> Self {
        Self { code: 5, message: chain(error) }
    }

    #[allow(clippy::print_stderr, reason = "the command line speaks to people here")]
    pub(crate) fn report(&self) {
        eprintln!("firn: {}", self.message);
    }
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
        use ports::ErrorKind::{Denied, Invalid, NotFound};
        let code = match error.kind {
            Invalid | NotFound => 2,
            Denied => 3,
            _ => 5,
        };
        Self { code, message: chain(&error) }
    }
}

impl From<planner::Error> for Failure {
    fn from(error: planner::Error) -> Self {
        match &error {
            planner::Error::Table(inner) => Self { code: table_code(inner), message: chain(&error) },
            _ => Self::usage(chain(&error)),
        }
    }
}

impl From<rewriter::Error> for Failure {
    fn from(error: rewriter::Error) -> Self {
        match &error {
            rewriter::Error::BaseExpired(_) | rewriter::Error::NotLive { .. } => Self::usage(chain(&error)),
            _ => Self::outside(&error),
        }
    }
}

fn table_code(error: &table_io::Error) -> u8 {
    match error {
        table_io::Error::Invalid(_) => 2,
        table_io::Error::Corrupt { .. } => 3,
        _ => 5,
    }
}
