//! The documented exit codes.

use std::process::ExitCode;

use flowloom::ErrorKind;

/// Exit codes, as `flowloom --help` documents them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The command did what it was asked for.
    Done,
    /// The command could not do it.
    CouldNot,
    /// Wrong usage: options or an experiment file that cannot mean anything.
    Usage,
    /// Ran, but the result is INVALID or was interrupted.
    Invalid,
    /// `compare --check` and `lab format --check`: different.
    Different,
    /// What the program of `shell` ended with.
    OfProgram(u8),
}

impl From<ErrorKind> for Exit {
    fn from(kind: ErrorKind) -> Exit {
        match kind {
            ErrorKind::Failed => Exit::CouldNot,
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Interrupted => Exit::Invalid,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::CouldNot => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Different => 4,
            Exit::OfProgram(code) => code,
        })
    }
}
