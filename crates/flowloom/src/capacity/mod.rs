//! The capacity of this host: how much it can do in live runs, measured by live runs of made-up loads that grow until a run is not
//! VALID (`flowloom doctor --calibrate`).
//!
//! This is another thing than `calibrate`, which finds the rates of a source model, and than the pings before each live run.
//!
//! | file | holds |
//! |---|---|
//! | `ramp` | the search for a limit, without a network |
//! | `load` | the four kinds of load, and the experiments that make them |
//! | `part` | the part that failed first |
//! | `this_host` | loads run on this host |
//! | `saved` | the file with the limits of a host |
//! | `check` | what a run needs beside what the host can do |

mod check;
mod load;
mod part;
mod ramp;
mod saved;
mod this_host;

use std::path::PathBuf;

use flowloom_core::time::Duration;
use flowloom_report::words::thousands;
use serde::{Deserialize, Serialize};

use crate::clock;
use crate::context::{Context, Step};
use crate::error::Error;

pub use check::{HostCheck, LoadCheck, LoadNeeds};
pub use load::Load;
pub use part::Part;
pub use saved::{Capacity, FILE, HostIdentity, Known, known};

use this_host::ThisHost;

/// Time that a measurement of all loads takes, about.
pub const TIME: Duration = Duration::from_secs(280);

/// A host that is busier than this with other work can do more than is measured.
const OTHER_WORK: f64 = 0.2;

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
    /// The load.
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

/// What failed in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The part that failed first, if that is known.
    pub part: Option<Part>,
    /// What failed, in words.
    pub why: String,
}

/// How the capacity of a host is measured.
#[derive(Clone, Debug)]
pub struct CapacityOptions {
    /// The `flowloom` command, which live runs start as their workers.
    pub program: PathBuf,
    /// The loads, in their order. The one of open connections goes faster after that of starts.
    pub loads: Vec<Load>,
    /// Time that it may take, about: each load has at least one run.
    pub time: Duration,
    /// The folder of the file that keeps the limits; `None`: nothing is kept.
    pub cache: Option<PathBuf>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredCapacity {
    /// The limits of this host: those of now, and of other loads those that were measured before.
    pub capacity: Capacity,
    /// Whether it was stopped before its end.
    pub is_interrupted: bool,
    /// Share of the host's cores that other work took meanwhile, if that made the limits lower than they are.
    pub other_work: Option<f64>,
    /// The file that has the limits.
    pub file: Option<PathBuf>,
}

/// Measures how much this host can do in live runs: it runs each load at levels that grow until a run is not VALID, and then at levels
/// between. A requested stop keeps what is known.
///
/// # Errors
/// Live runs are not possible here; the file cannot be written.
pub fn measure_capacity(options: &CapacityOptions, context: Context<'_>) -> Result<MeasuredCapacity, Error> {
    let total = options.time.as_nanos() / 1_000_000;
    let progress = context.begin(Step::MeasuringHost, Some(total));
    let mut host = ThisHost::new(options, &progress, context)?;
    let (limits, is_whole) = ramp::ramps(&mut host, &options.loads, options.time)?;
    drop(host);
    drop(progress);
    let date = clock::iso();
    let mut capacity = Capacity::of_this_host();
    if let Some(Known::Measured(before)) = options.cache.as_deref().map(known) {
        capacity.limits = before.limits;
    }
    let is_empty = limits.is_empty();
    let other_work = limits.iter().map(|(_, limit)| limit.other_busy).max_by(f64::total_cmp);
    let other_work = other_work.filter(|share| *share > OTHER_WORK);
    for (load, limit) in limits {
        // What was stopped says less than a measurement that came to its end.
        let is_rough = !is_whole && limit.is_at_least();
        if !(is_rough && capacity.limits.contains_key(&load)) {
            capacity.limits.insert(load, Limit { date: date.clone(), ..limit });
        }
    }
    let file = options.cache.as_deref().filter(|_| !is_empty).map(|folder| capacity.write(folder)).transpose()?;
    Ok(MeasuredCapacity { capacity, is_interrupted: !is_whole, other_work, file })
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

/// A count with its thousands parted.
fn whole(value: f64) -> String {
    thousands(value.round() as u64)
}
