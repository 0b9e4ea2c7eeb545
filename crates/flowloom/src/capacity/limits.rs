//! The most that a host can do of a load, and what runs came to that were made to find it.

use serde::{Deserialize, Serialize};

use super::load::Load;
use super::part::{Failure, Part};

/// The most that this host can do of one kind of load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// The most that a VALID run had; 0 if none was VALID.
    pub most: f64,
    /// The least level that failed twice; `None` if no level did.
    pub failed: Option<f64>,
    /// The part that failed there first, if that is known.
    pub part: Option<Part>,
    /// What failed there, in words.
    pub why: Option<String>,
    /// Runs that were made.
    pub runs: u32,
    /// Share of the host's cores that was busy with other work, in the run in which that was least.
    pub other_busy: f64,
    /// When it was measured (UTC).
    pub date: String,
}

impl Limit {
    /// Whether nothing failed: the host may be able to do more.
    pub fn is_at_least(&self) -> bool {
        self.failed.is_none()
    }

    /// In words: `at least 25,600 starts/s`, `3,700 starts/s (the emulator fails first)`, `less than 50 starts/s`.
    pub fn words(&self, load: Load) -> String {
        let part = self.part.map_or_else(String::new, |part| format!(" ({} first)", part.fails()));
        match self.failed {
            None => format!("at least {}", load.show(self.most)),
            Some(failed) if self.most == 0.0 => format!("less than {}{part}", load.show(failed)),
            Some(_) => format!("{}{part}", load.show(self.most)),
        }
    }
}

/// What the run of a load at a level came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Tried {
    /// Which kind of load was run.
    pub load: Load,
    /// How much was asked for, in the unit of the load.
    pub level: f64,
    /// How much the run had.
    pub reached: f64,
    /// Share of the host's cores that was busy with other work: of the kernel for all packets, too.
    pub other_busy: f64,
    /// What failed, if the run was not VALID or had less than was asked for.
    pub failure: Option<Failure>,
}

impl Tried {
    /// In words: `400 starts/s: kept up`.
    pub fn words(&self) -> String {
        let load = self.load.words();
        let level = self.load.show(self.level);
        match &self.failure {
            None => format!("{load}, {level}: kept up"),
            Some(Failure { part: Some(part), why }) => format!("{load}, {level}: {} ({why})", part.fails()),
            Some(Failure { part: None, why }) => format!("{load}, {level}: failed ({why})"),
        }
    }
}
