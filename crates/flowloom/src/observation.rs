//! The first observation of a run or a script, before anything is known of it.

use std::path::Path;

use flowloom_report::Accounted;
use flowloom_store::running::{Observation, ObservedConnections, Phase, VERSION};
use flowloom_store::staged::finished_name;

use crate::clock::unix_nanos;
use crate::workload::source::file_name;

/// The time between two observations, in nanoseconds of real time.
pub(crate) const EVERY_NANOS: u64 = 1_000_000_000;

/// What is said first of a run by `driver` whose results will be in `target`. Its name is that of the folder `named`, which is another than
/// `target` for cells of sweeps.
pub(crate) fn begun(target: &Path, named: &Path, driver: &str) -> Observation {
    Observation {
        version: VERSION,
        run: finished_name(&file_name(named)).to_owned(),
        target: target.display().to_string(),
        driver: driver.to_owned(),
        seed: 0,
        process: std::process::id(),
        phase: Phase::Running,
        begun_unix_ns: unix_nanos(),
        observed_unix_ns: 0,
        time_ns: 0,
        links_time_ns: 0,
        window_ns: 0,
        at_most_ns: 0,
        share_done: 0.0,
        events: None,
        connections: ObservedConnections::default(),
        links: Vec::new(),
        lateness: None,
        lab: None,
        verdict: Accounted::Valid.to_string(),
        reasons: Vec::new(),
        log: Vec::new(),
    }
}
