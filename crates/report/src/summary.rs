//! One run in numbers: the object that `run --json` prints.

use serde::Serialize;

use flowloom_core::record::QueueFate;
use flowloom_core::workload::LinkSide;
use flowloom_store::run_folder::Point;

use crate::beside_link::BesideRealLink;
use crate::compare::Comparison;
use crate::connections::Connections;
use crate::dependence::HurstFit;
use crate::gates::{Gate, gates, warnings};
use crate::loops::Feedback;
use crate::marginals::{Marginal, marginals};
use crate::metric::Metric;
use crate::plausibility::Plausibility;
use crate::probes::ProbesOfKind;
use crate::quantities::Quantities;
use crate::run::{Measurements, Run};
use crate::sojourn::class_name;
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

/// The packets of one class in the queue of one direction, within the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct QueueClass {
    /// `sequential`, `concurrent`, `datagram`, `source`, `other` or `probe`, as in `sojourn.parquet`.
    pub class: &'static str,
    /// Packets whose transmission started.
    pub transmitted_packets: u64,
    /// Of them, packets that the queue marked.
    pub marked_packets: u64,
    /// Packets that the queue dropped.
    pub dropped_packets: u64,
    /// Dropped packets over transmitted and dropped ones.
    pub loss_share: Option<f64>,
    /// Marked packets over transmitted and dropped ones.
    pub mark_share: Option<f64>,
    /// Sojourn time of the transmitted ones.
    pub queue_delay_ns: Quantities,
}

/// The queue of one direction of the bottleneck, within the window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueDelays {
    /// Sojourn time of the transmitted packets, from acceptance to the start of transmission, each counted once.
    pub per_packet_ns: Quantities,
    /// The same, each counted for as long as it was the last that the line had taken, and 0 while the link was idle; `n` is the window in
    /// nanoseconds.
    pub over_time_ns: Quantities,
    /// How long packets had waited that were dropped after they were accepted.
    pub before_drop_ns: Quantities,
    /// Packets whose transmission started.
    pub transmitted_packets: u64,
    /// Of them, packets that the queue marked.
    pub marked_packets: u64,
    /// Packets dropped at the instant at which they arrived.
    pub dropped_at_arrival_packets: u64,
    /// Packets dropped after they had waited.
    pub dropped_from_queue_packets: u64,
    /// Dropped packets over transmitted and dropped ones; null without any.
    pub loss_share: Option<f64>,
    /// Marked packets over transmitted and dropped ones; null without any.
    pub mark_share: Option<f64>,
    /// The same by what packets belong to, classes without packets left out.
    pub classes: Vec<QueueClass>,
}

impl QueueDelays {
    /// Those of packets from `from`; `None` where nobody measured them.
    pub fn of(measured: &Measurements, from: LinkSide) -> Option<QueueDelays> {
        let times = &measured.sojourns;
        if times.is_empty() {
            return None;
        }
        let counts = times.counts(from, None);
        let quantities = |class, fate| Quantities::of(&times.per_packet(from, class, fate));
        let class = |class| {
            let counts = times.counts(from, Some(class));
            QueueClass {
                class: class_name(class),
                transmitted_packets: counts.transmitted,
                marked_packets: counts.marked,
                dropped_packets: counts.dropped(),
                loss_share: counts.loss_share(),
                mark_share: counts.mark_share(),
                queue_delay_ns: quantities(Some(class), QueueFate::Transmitted),
            }
        };
        Some(QueueDelays {
            per_packet_ns: quantities(None, QueueFate::Transmitted),
            over_time_ns: Quantities::of(&measured.queue_delay_over_time(from)),
            before_drop_ns: quantities(None, QueueFate::DroppedFromQueue),
            transmitted_packets: counts.transmitted,
            marked_packets: counts.marked,
            dropped_at_arrival_packets: counts.dropped_at_arrival,
            dropped_from_queue_packets: counts.dropped_from_queue,
            loss_share: counts.loss_share(),
            mark_share: counts.mark_share(),
            classes: times.classes(from).map(class).collect(),
        })
    }
}

/// One direction of the link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Direction {
    /// Packets offered to the queue, drain included.
    pub offered_packets: u64,
    /// Packets dropped.
    pub dropped_packets: u64,
    /// Packets waiting at the sampling instants, empty ones included.
    pub queue_packets: Quantities,
    /// Standard deviation of the packets waiting, with n - 1; null without samples.
    pub queue_packets_sd: Option<f64>,
    /// Share of the sampling instants at which the queue was empty; null without samples.
    pub queue_empty_share: Option<f64>,
    /// How long packets waited, and what was dropped and marked; null where nobody measured it.
    pub queue_delay: Option<QueueDelays>,
    /// Share of the window in which the link was sending; null where there is no simulated or emulated link.
    pub utilisation: Option<f64>,
    /// Rates of bytes and packets on the link, by the width of the bins, 10 ms and wider; empty if nothing was counted.
    pub rates: Vec<Marginal>,
    /// The Hurst parameter of the numbers of packets; null if there are too few bins.
    pub hurst_packets: Option<HurstFit>,
    /// The same of the bytes.
    pub hurst_bytes: Option<HurstFit>,
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
    /// Time from the SYN of a connection to its last byte (methods C.2), of those that had data to send; empty of runs of version 1.
    pub time_to_last_byte_ns: Quantities,
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
    /// Active connections at whole seconds (*instants*, methods C.4).
    pub active_connections_at_seconds: Quantities,
    /// Connections that are open at any moment of a second (*presence*, methods C.4).
    pub active_connections_in_seconds: Quantities,
    /// Latency under load, by the kind of probes; left out where none were sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbesOfKind>,
    /// A real link beside the run; left out where none was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub real_link: Option<BesideRealLink>,
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
        let [left_to_right, right_to_left] = [LinkSide::Left, LinkSide::Right].map(|from| direction(run, from));
        let busier = if measured.busier_side() == LinkSide::Left { &left_to_right } else { &right_to_left };
        Summary {
            feedback: Feedback::of(&run.facts),
            verdict: Verdict::new(run, &gates, &warnings, with_original),
            warnings,
            gates,
            plausibility: run.facts.plausibility.clone(),
            connections: run.connections(),
            duration_ns: Quantities::of(&sample(Metric::Duration)),
            time_to_last_byte_ns: Quantities::of(&measured.times_to_last_byte()),
            response_time_ns: Quantities::of(&sample(Metric::ResponseTime)),
            intended_response_time_ns: Quantities::of(&measured.intended_response_times()),
            queue_packets: busier.queue_packets,
            throughput: Throughput {
                left_to_right_bits_per_second: series(Metric::ThroughputFromLeft),
                right_to_left_bits_per_second: series(Metric::ThroughputFromRight),
                goodput_bits_per_second: series(Metric::Goodput),
            },
            active_connections: series(Metric::ActiveConnections),
            active_connections_at_seconds: Quantities::of(&measured.active_at_seconds()),
            active_connections_in_seconds: Quantities::of(&measured.active_in_seconds()),
            probes: ProbesOfKind::of(&measured.probes),
            real_link: BesideRealLink::of(run),
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

fn direction(run: &Run, from: LinkSide) -> Direction {
    let measured = &run.measurements;
    let arrivals = measured.arrivals_from(from);
    let metric = if from == LinkSide::Left { Metric::QueueFromLeft } else { Metric::QueueFromRight };
    let queue = measured.sample(metric, Point::Monitor, |_| true);
    Direction {
        offered_packets: measured.offered_packets[from as usize],
        dropped_packets: measured.dropped_from(from),
        queue_packets: Quantities::of(&queue),
        queue_packets_sd: queue.standard_deviation(),
        queue_empty_share: queue.cdf(0.0),
        queue_delay: QueueDelays::of(measured, from),
        utilisation: run.facts.utilisation(from),
        rates: arrivals.map_or(Vec::new(), marginals),
        hurst_packets: arrivals.and_then(|arrivals| arrivals.hurst_of_packets(run.facts.hurst)),
        hurst_bytes: arrivals.and_then(|arrivals| arrivals.hurst_of_bytes(run.facts.hurst)),
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
