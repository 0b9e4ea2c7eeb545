//! The capacity of this host measured.

use std::path::PathBuf;

use flowloom_core::time::Duration;

use crate::clock;
use crate::context::{Context, Step};
use crate::error::Error;

use super::limits::Limit;
use super::ramp;
use super::saved::{Capacity, Known, known};
use super::this_host::{CapacityOptions, ThisHost};

/// Time that a measurement of all loads takes, about.
pub const TIME: Duration = Duration::from_secs(280);

/// A host that is busier than this with other work can do more than is measured.
const OTHER_WORK: f64 = 0.2;

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
