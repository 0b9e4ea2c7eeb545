//! What is measured of a run folder: the same columns of both worlds.

use std::path::Path;

use flowloom_core::record::DropReason;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::{Point, RunFolder, TrafficPoint};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Problem;
use super::cells::{ACCESS, Cell, Load};
use super::flight;

/// Values that stand for the distribution of a queue.
const QUEUE_VALUES: usize = 100;
/// Values that stand for a distribution of times.
const TIME_VALUES: usize = 200;

/// What one run came to. Counts and the queue are of the directions that the cell compares, within the run's window.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Payload that crossed the bottleneck for the first time, in Mbit/s.
    pub goodput_mbit: f64,
    /// Packets that were sent: those that reached the bottleneck's queue, and those that the path lost before it.
    pub offered_packets: u64,
    /// Packets dropped, wherever and whatever they were.
    pub dropped_packets: u64,
    /// Packets waiting, mean over time.
    pub queue_mean_packets: f64,
    /// Packets waiting, 90 % quantile of samples every 10 ms.
    pub queue_p90_packets: f64,
    /// Time to send what waits, mean over the samples.
    pub queue_mean_ms: f64,
    /// The 90 % quantile of the queue, in milliseconds.
    pub queue_p90_ms: f64,
    /// Retransmission timeouts of all ends.
    pub timeouts: u64,
    /// Retransmissions of all ends, in parts of `offered_packets`.
    pub retransmitted_share: f64,
    /// Most segments of 1,448 bytes that were sent and not acknowledged, over all flows from the left, as seen at
    /// the sender.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_flight_segments: Option<f64>,
    /// Packets waiting: the values in the middle of each 1 % of the samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queue_packets: Vec<u64>,
    /// Durations of the connections that completed, at the ends, in microseconds: all, or the middle of each 0.5 %.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub durations_us: Vec<u64>,
    /// Response times at the ends, as durations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub responses_us: Vec<u64>,
}

impl Measured {
    /// How many packets a queue of one millisecond holds; 0 where nothing waited.
    pub fn packets_in_a_millisecond(&self) -> f64 {
        if self.queue_mean_ms > 0.0 { self.queue_mean_packets / self.queue_mean_ms } else { 0.0 }
    }
}

/// Returns the number at `keys` in `run.json`.
fn number(value: &Value, keys: &[&str]) -> Option<f64> {
    keys.iter().try_fold(value, |value, key| value.get(key)).and_then(Value::as_f64)
}

/// Rounded to six significant digits, so that the file of repetitions can be read.
fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The values in the middle of `most` equal shares of `values`; all of them where they are no more than that.
fn thinned(mut values: Vec<u64>, most: usize) -> Vec<u64> {
    values.sort_unstable();
    if values.len() <= most {
        return values;
    }
    (0..most).map(|share| values[(2 * share + 1) * values.len() / (2 * most)]).collect()
}

/// The smallest value that so large a share of sorted `values` does not exceed.
fn quantile(values: &[f64], share: f64) -> f64 {
    let place = (share * values.len() as f64).ceil() as usize;
    values.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Measures the run of `cell` in the folder at `path`.
///
/// # Errors
/// The folder cannot be read, or lacks what every run has.
pub fn measure(cell: &Cell, path: &Path) -> Result<Measured, Problem> {
    let folder = RunFolder::open(path).map_err(Problem::new)?;
    let run = folder.run();
    let lacks = |what: &str| Problem::new(format_args!("{}: run.json has no {what}", path.display()));
    let window = run.get("window_ns").and_then(Value::as_array).ok_or_else(|| lacks("window_ns"))?;
    let [start, end] = [0, 1].map(|at| window.get(at).and_then(Value::as_u64).unwrap_or(0)).map(Time::from_nanos);
    let topology = run.get("topology").ok_or_else(|| lacks("topology"))?;
    let link = |way: LinkSide| topology.get("links").and_then(|links| links.get(way as usize)).unwrap_or(&Value::Null);
    let ways = &cell.ways;
    let is_way = |side: LinkSide| ways.contains(&side);
    let within = |time: Time| start <= time && time < end;

    let mut measured = Measured::default();
    let mut payload = 0;
    for row in folder.throughput().map_err(Problem::new)? {
        let row = row.map_err(Problem::new)?;
        if row.link > 1 || !is_way(row.from) || !within(row.start) {
            continue;
        }
        match row.point {
            TrafficPoint::ReplayCarried => payload += row.traffic.payload_bytes,
            TrafficPoint::ReplayOffered => measured.offered_packets += row.traffic.packets,
            _ => {}
        }
    }
    measured.goodput_mbit = rounded(8e-6 * payload as f64 / end.since(start).as_secs_f64());
    for drop in folder.drops().map_err(Problem::new)? {
        let drop = drop.map_err(Problem::new)?;
        if within(drop.time) {
            measured.dropped_packets += 1;
            measured.offered_packets += u64::from(drop.reason == DropReason::Loss && is_way(drop.from));
        }
    }
    let mean = |way: &LinkSide| number(link(*way), &["queue_mean_packets"]).unwrap_or(0.0);
    measured.queue_mean_packets = rounded(ways.iter().map(mean).sum::<f64>() / ways.len() as f64);
    measure_queue(&mut measured, cell, &folder, [start, end], |way| number(link(way), &["rate_bits_per_second"]))?;
    let retransmissions = measure_ends(&mut measured, cell, &folder)?;
    measured.retransmitted_share = rounded(retransmissions as f64 / measured.offered_packets.max(1) as f64);
    let capture = path.join(format!("link-{ACCESS}.pcap"));
    if cell.captures && capture.exists() {
        measured.peak_flight_segments = Some(rounded(flight::peak(&capture)? as f64 / 1448.0));
    }
    Ok(measured)
}

/// The queue as it was sampled, the instants at which it was empty included.
fn measure_queue(
    measured: &mut Measured,
    cell: &Cell,
    folder: &RunFolder,
    [start, end]: [Time; 2],
    rate: impl Fn(LinkSide) -> Option<f64>,
) -> Result<(), Problem> {
    let every = folder.queue_interval().map_err(Problem::new)?;
    let (mut packets, mut ms) = (Vec::new(), Vec::new());
    for sample in folder.queue().map_err(Problem::new)? {
        let sample = sample.map_err(Problem::new)?;
        if sample.link > 1 || !cell.ways.contains(&sample.from) || !(start..end).contains(&sample.time) {
            continue;
        }
        packets.push(sample.packets);
        ms.push(8e3 * sample.bytes as f64 / rate(sample.from).unwrap_or(f64::INFINITY));
    }
    let instants = cell.ways.len() * (end.since(start).as_nanos() / every.as_nanos().max(1)) as usize;
    packets.resize(packets.len().max(instants), 0);
    ms.resize(packets.len(), 0.0);
    ms.sort_unstable_by(f64::total_cmp);
    packets.sort_unstable();
    measured.queue_mean_ms = rounded(ms.iter().sum::<f64>() / ms.len().max(1) as f64);
    measured.queue_p90_ms = rounded(quantile(&ms, 0.9));
    measured.queue_p90_packets = quantile(&packets.iter().map(|packets| *packets as f64).collect::<Vec<f64>>(), 0.9);
    measured.queue_packets = thinned(packets, QUEUE_VALUES);
    Ok(())
}

/// What the ends count, and how long their exchanges took; gives their retransmissions.
fn measure_ends(measured: &mut Measured, cell: &Cell, folder: &RunFolder) -> Result<u64, Problem> {
    let mut retransmissions = 0;
    for flow in folder.sources().map_err(Problem::new)? {
        let flow = flow.map_err(Problem::new)?;
        measured.timeouts += flow.timeouts.unwrap_or(0);
        retransmissions += flow.retransmissions.unwrap_or(0);
    }
    let micros = |duration: Duration| duration.as_nanos().div_ceil(1000);
    let mut durations = Vec::new();
    for connection in folder.connections().map_err(Problem::new)? {
        let connection = connection.map_err(Problem::new)?;
        measured.timeouts += connection.timeouts;
        retransmissions += connection.retransmissions;
        durations.extend(connection.endpoint_duration.map(micros));
    }
    if cell.load == Load::Exchanges {
        let mut responses = Vec::new();
        for epoch in folder.epochs().map_err(Problem::new)? {
            let epoch = epoch.map_err(Problem::new)?;
            responses.extend(epoch.response.filter(|_| epoch.point == Point::Endpoint).map(micros));
        }
        measured.durations_us = thinned(durations, TIME_VALUES);
        measured.responses_us = thinned(responses, TIME_VALUES);
    }
    Ok(retransmissions)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_the_middle_of_each_share() {
        // 400 values in four shares of 100: the 51st of each, counted from zero.
        assert_eq!(thinned((0..400).rev().collect(), 4), [50, 150, 250, 350]);
        assert_eq!(thinned(vec![3, 1, 2], 4), [1, 2, 3]);
    }

    #[test]
    fn quantiles_are_values_of_the_sample() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.9), 9.0);
        assert_eq!(quantile(&values, 0.91), 10.0);
        assert_eq!(quantile(&[], 0.9), 0.0);
    }

    #[test]
    fn numbers_are_kept_to_six_digits() {
        assert_eq!(rounded(18.786_543_21), 18.7865);
        assert_eq!(rounded(0.0), 0.0);
        assert_eq!(rounded(123_456.7), 123_457.0);
    }
}
