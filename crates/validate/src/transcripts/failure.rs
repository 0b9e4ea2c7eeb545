//! A transcript that does not hold.

use std::fmt;

use super::lexer::Position;

/// What was expected, what happened instead, and all packets up to there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file of the script.
    pub file: String,
    /// The line of the script that does not hold.
    pub at: Position,
    /// What the script expects.
    pub expected: String,
    /// What the endpoint did.
    pub found: String,
    /// The packets so far, each with its time, as a script writes them.
    pub log: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}:{}: expected {}", self.file, self.at, self.expected)?;
        write!(f, "  found {}", self.found)?;
        if !self.log.is_empty() {
            write!(f, "\n  packets so far:")?;
        }
        self.log.iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl std::error::Error for Failure {}
