//! Payload bytes of each bin.

use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::TrafficPoint;

use crate::run::Measurements;

/// Payload bytes that passed for the first time in each bin of the window, from a side: what tools that read sockets count.
pub(super) fn payload(measured: &Measurements, from: LinkSide) -> Vec<u64> {
    let bins = measured.traffic.get(&(TrafficPoint::ReplayCarried, from));
    bins.map_or(Vec::new(), |bins| bins.iter().map(|bin| bin.payload_bytes).collect())
}
