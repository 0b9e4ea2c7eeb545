//! One run in numbers: the object that `run --json` prints.

use serde::Serialize;

use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;

use crate::compare::Comparison;
use crate::connections::Connections;
use crate::gates::{Gate, gates, warnings};
use crate::loops::Feedback;
use crate::metric::Metric;
use crate::plausibility::Plausibility;
use crate::quantities::Quantities;
use crate::run::{Measurements, Run};
use crate::verdict::Verdict;
use crate::warning::Warning;

/// A series over time in a few numbers; the deviation means nothing without the bin (methods C.6).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SeriesQuantities {
    /// Bins.
    pub n: usize,
    /// Width of a bin.
    pub bin_ns: u64,
    /// Mean over the bins.
    pub mean: Option<f64>,
    /// Standard deviation over the bins, with n - 1.
    pub sd: Option<f64>,
    /// Median bin.
    pub p50: Option<f64>,
    /// The largest bin.
    pub max: Option<f64>,
}

/// Throughput of each direction of the link, in bit/s of IP bytes + 14 (methods C.6).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// Packets from the left side (the inside).
    pub left_to_right_bits_per_second: SeriesQuantities,
    /// Packets from the right side.
    pub right_to_left_bits_per_second: SeriesQuantities,
    /// Payload seen for the first time, both directions.
    pub goodput_bits_per_second: SeriesQuantities,
}

/// One direction of the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Direction {
    /// Packets offered to the queue, drain included.
    pub offered_packets: u64,
    /// Packets dropped.
    pub dropped_packets: u64,
    /// Packets waiting at the sampling instants, empty ones included.
    pub queue_packets: Quantities,
    /// Share of the sampling instants at which the queue was empty; null without samples.
    pub queue_empty_share: Option<f64>,
}

/// What a run measured at its own ends and on its link. Fields without a unit in their name count things.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Which bytes were replayed in a closed loop, in an open one, and left out.
    pub feedback: Feedback,
    /// How far the result can be trusted.
    pub verdict: Verdict,
    /// What was checked of the accounts.
    pub gates: Vec<Gate>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
    /// What bears on its plausibility; null where that is not known.
    pub plausibility: Option<Plausibility>,
    /// How connections ended.
    pub connections: Connections,
    /// Connection duration (methods C.2) of those that sent data.
    pub duration_ns: Quantities,
    /// Response time (methods C.3) of the exchanges that began.
    pub response_time_ns: Quantities,
    /// From when a request should have been sent to the last byte of its response; of live runs, else empty. An end that was
    /// held up does not hide that its exchanges were.
    pub intended_response_time_ns: Quantities,
    /// Queue length of the busier direction (methods C.5).
    pub queue_packets: Quantities,
    /// Throughput on the link.
    pub throughput: Throughput,
    /// Active connections, their mean number in each bin (methods C.4).
    pub active_connections: SeriesQuantities,
    /// From left to right.
    pub left_to_right: Direction,
    /// From right to left.
    pub right_to_left: Direction,
    /// Payload bytes the applications had to send; of sources, what they sent.
    pub payload_bytes: u64,
    /// Payload bytes that arrived.
    pub delivered_bytes: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Packets offered to the link, both directions, drain included (methods M.10).
    pub packets: u64,
    /// Rate of the link of the results, as resolved; null where it has no limit.
    pub rate_bits_per_second: Option<u64>,
    /// The most that passed from one side in a second of the original; null where nobody saw packets.
    pub busiest_second_bits_per_second: Option<u64>,
    /// Events the simulator served; null where there is no simulator.
    pub events: Option<u64>,
    /// How long the run took on this machine; null if not recorded.
    pub wall_ns: Option<u64>,
}

impl Summary {
    /// That of a run; `with_original` is it beside its original, where it has one.
    pub(crate) fn of(run: &Run, with_original: Option<&Comparison>) -> Summary {
        let measured = &run.measurements;
        let sample = |metric| measured.sample(metric, Point::Endpoint, |_| true);
        let series = |metric| series_quantities(measured, metric, Point::Monitor);
        let gates = gates(run);
        let warnings = warnings(run, &gates, with_original);
        let totals = measured.all_totals();
        let [left_to_right, right_to_left] = [LinkSide::Left, LinkSide::Right].map(|from| direction(measured, from));
        let busier = if measured.busier_side() == LinkSide::Left { left_to_right } else { right_to_left };
        Summary {
            feedback: Feedback::of(&run.facts),
            verdict: Verdict::new(run, &gates, &warnings, with_original),
            warnings,
            gates,
            plausibility: run.facts.plausibility.clone(),
            connections: run.connections(),
            duration_ns: Quantities::of(&sample(Metric::Duration)),
            response_time_ns: Quantities::of(&sample(Metric::ResponseTime)),
            intended_response_time_ns: Quantities::of(&measured.intended_response_times()),
            queue_packets: busier.queue_packets,
            throughput: Throughput {
                left_to_right_bits_per_second: series(Metric::ThroughputFromLeft),
                right_to_left_bits_per_second: series(Metric::ThroughputFromRight),
                goodput_bits_per_second: series(Metric::Goodput),
            },
            active_connections: series(Metric::ActiveConnections),
            left_to_right,
            right_to_left,
            payload_bytes: totals.payload_bytes,
            delivered_bytes: totals.delivered_bytes,
            retransmissions: totals.retransmissions,
            timeouts: totals.timeouts,
            packets: measured.offered_packets.iter().sum(),
            rate_bits_per_second: run
                .facts
                .topology
                .as_ref()
                .and_then(|found| found.links.first()?.rate_bits_per_second),
            busiest_second_bits_per_second: (run.facts.original.as_ref())
                .and_then(|original| original.busiest_second_bits_per_second),
            events: run.facts.events,
            wall_ns: run.host.wall_ns,
        }
    }
}

fn direction(measured: &Measurements, from: LinkSide) -> Direction {
    let metric = if from == LinkSide::Left { Metric::QueueFromLeft } else { Metric::QueueFromRight };
    let queue = measured.sample(metric, Point::Monitor, |_| true);
    Direction {
        offered_packets: measured.offered_packets[from as usize],
        dropped_packets: measured.dropped_from(from),
        queue_packets: Quantities::of(&queue),
        queue_empty_share: queue.cdf(0.0),
    }
}

/// A series of the run in numbers.
pub fn series_quantities(measured: &Measurements, metric: Metric, point: Point) -> SeriesQuantities {
    let sample = measured.sample(metric, point, |_| true);
    SeriesQuantities {
        n: sample.len(),
        bin_ns: measured.series_bin(metric).as_nanos(),
        mean: sample.mean(),
        sd: sample.standard_deviation(),
        p50: sample.quantile(0.5),
        max: sample.max(),
    }
}
