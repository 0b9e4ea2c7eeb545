//! What is compared, in which unit and with which tolerance.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use flowloom_core::record::ProbeKind;
use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;
use flowloom_core::workload::LinkSide;

use crate::statistics::{Quantile, Tolerance};

/// A quantity of methods C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// First data byte to last data byte of a connection (methods C.2).
    Duration,
    /// First byte of a request to last byte of its response (methods C.3).
    ResponseTime,
    /// Connections between SYN and first FIN or RST, their mean number in each bin (methods C.4).
    ActiveConnections,
    /// Bytes on the link from left to right, per bin (methods C.6).
    ThroughputFromLeft,
    /// Bytes on the link from right to left, per bin.
    ThroughputFromRight,
    /// Packets on the link, both directions, per bin (methods C.6).
    PacketArrivals,
    /// Payload bytes seen for the first time, both directions, per bin (methods C.6).
    Goodput,
    /// Minimum round-trip time of a connection (methods A.6).
    RoundTripTime,
    /// Payload bytes of an ADU (methods A.5).
    AduSize,
    /// Packets waiting at a sampling instant, left to right (methods C.5).
    QueueFromLeft,
    /// Packets waiting at a sampling instant, right to left.
    QueueFromRight,
    /// Sojourn time of a packet that the link transmitted, left to right: from acceptance to the start of transmission (methods C.5).
    QueueDelayFromLeft,
    /// The same from right to left.
    QueueDelayFromRight,
    /// Cells of packets that died / cells that the bottleneck sent, left to right: one value of each run (methods G.8).
    DeadCellsFromLeft,
    /// The same from right to left.
    DeadCellsFromRight,
    /// From a probe's datagram to its answer (methods C.11).
    ProbeRoundTrip,
    /// From the SYN of a probe to the last byte of its response (methods C.11).
    ProbeRequest,
}

/// What values of a metric are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bit/s.
    Rate,
    /// Connections or packets.
    Count,
    /// Packets per second.
    PacketRate,
    /// A part of a whole, 0 to 1.
    Share,
}

impl Metric {
    /// All that can be compared, in the order of the report.
    pub const ALL: [Metric; 17] = [
        Metric::Duration,
        Metric::ResponseTime,
        Metric::ActiveConnections,
        Metric::ThroughputFromLeft,
        Metric::ThroughputFromRight,
        Metric::PacketArrivals,
        Metric::Goodput,
        Metric::RoundTripTime,
        Metric::AduSize,
        Metric::QueueFromLeft,
        Metric::QueueFromRight,
        Metric::QueueDelayFromLeft,
        Metric::QueueDelayFromRight,
        Metric::DeadCellsFromLeft,
        Metric::DeadCellsFromRight,
        Metric::ProbeRoundTrip,
        Metric::ProbeRequest,
    ];

    /// Its name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Duration => "duration",
            Metric::ResponseTime => "response_time",
            Metric::ActiveConnections => "active_connections",
            Metric::ThroughputFromLeft => "throughput_from_left",
            Metric::ThroughputFromRight => "throughput_from_right",
            Metric::PacketArrivals => "packet_arrivals",
            Metric::Goodput => "goodput",
            Metric::RoundTripTime => "round_trip_time",
            Metric::AduSize => "adu_size",
            Metric::QueueFromLeft => "queue_from_left",
            Metric::QueueFromRight => "queue_from_right",
            Metric::QueueDelayFromLeft => "queue_delay_from_left",
            Metric::QueueDelayFromRight => "queue_delay_from_right",
            Metric::DeadCellsFromLeft => "dead_cells_from_left",
            Metric::DeadCellsFromRight => "dead_cells_from_right",
            Metric::ProbeRoundTrip => "probe_round_trip",
            Metric::ProbeRequest => "probe_request",
        }
    }

    /// Its name within a sentence, plural.
    pub fn plural(self) -> &'static str {
        match self {
            Metric::Duration => "connection durations",
            Metric::ResponseTime => "response times",
            Metric::ActiveConnections => "active connections",
            Metric::ThroughputFromLeft => "throughput from left to right",
            Metric::ThroughputFromRight => "throughput from right to left",
            Metric::PacketArrivals => "packet arrivals",
            Metric::Goodput => "goodput",
            Metric::RoundTripTime => "round-trip times",
            Metric::AduSize => "ADU sizes",
            Metric::QueueFromLeft => "queue lengths from left to right",
            Metric::QueueFromRight => "queue lengths from right to left",
            Metric::QueueDelayFromLeft => "queue delays from left to right",
            Metric::QueueDelayFromRight => "queue delays from right to left",
            Metric::DeadCellsFromLeft => "cells of dead packets from left to right",
            Metric::DeadCellsFromRight => "cells of dead packets from right to left",
            Metric::ProbeRoundTrip => "round trips of probes",
            Metric::ProbeRequest => "requests of probes",
        }
    }

    /// The throughput of packets from `from`.
    pub fn throughput(from: LinkSide) -> Metric {
        if from == LinkSide::Left { Metric::ThroughputFromLeft } else { Metric::ThroughputFromRight }
    }

    /// The side of the link that its packets come from; `None` where it is not about a direction.
    pub fn from(self) -> Option<LinkSide> {
        match self {
            Metric::ThroughputFromLeft
            | Metric::QueueFromLeft
            | Metric::QueueDelayFromLeft
            | Metric::DeadCellsFromLeft => Some(LinkSide::Left),
            Metric::ThroughputFromRight
            | Metric::QueueFromRight
            | Metric::QueueDelayFromRight
            | Metric::DeadCellsFromRight => Some(LinkSide::Right),
            _ => None,
        }
    }

    /// [`Self::plural`] without its direction.
    pub fn quantity(self) -> &'static str {
        let whole = self.plural();
        whole.split_once(" from ").map_or(whole, |(quantity, _)| quantity)
    }

    /// Its unit.
    pub fn unit(self) -> Unit {
        match self {
            Metric::Duration
            | Metric::ResponseTime
            | Metric::RoundTripTime
            | Metric::QueueDelayFromLeft
            | Metric::QueueDelayFromRight
            | Metric::ProbeRoundTrip
            | Metric::ProbeRequest => Unit::Time,
            Metric::ThroughputFromLeft | Metric::ThroughputFromRight | Metric::Goodput => Unit::Rate,
            Metric::ActiveConnections | Metric::QueueFromLeft | Metric::QueueFromRight => Unit::Count,
            Metric::PacketArrivals => Unit::PacketRate,
            Metric::AduSize => Unit::Bytes,
            Metric::DeadCellsFromLeft | Metric::DeadCellsFromRight => Unit::Share,
        }
    }

    /// How far a value may move and still be the same (methods M.6).
    pub fn tolerance(self) -> Tolerance {
        match self.unit() {
            Unit::Time => Tolerance::TIME_NS,
            Unit::Count => Tolerance::COUNT,
            Unit::Bytes | Unit::Rate | Unit::PacketRate | Unit::Share => Tolerance::RELATIVE,
        }
    }

    /// Whether it is of the queues of the bottleneck, which nobody sees in an original.
    pub fn is_of_queue(self) -> bool {
        match self {
            Metric::QueueFromLeft
            | Metric::QueueFromRight
            | Metric::QueueDelayFromLeft
            | Metric::QueueDelayFromRight
            | Metric::DeadCellsFromLeft
            | Metric::DeadCellsFromRight => true,
            Metric::ProbeRoundTrip
            | Metric::ProbeRequest
            | Metric::Duration
            | Metric::ResponseTime
            | Metric::ActiveConnections
            | Metric::ThroughputFromLeft
            | Metric::ThroughputFromRight
            | Metric::PacketArrivals
            | Metric::Goodput
            | Metric::RoundTripTime
            | Metric::AduSize => false,
        }
    }

    /// Whether it is of cells, which most links carry none of.
    pub fn is_of_cells(self) -> bool {
        matches!(self, Metric::DeadCellsFromLeft | Metric::DeadCellsFromRight)
    }

    /// Whether its mean says most: it is a series over time, or one value of each run.
    pub fn is_of_means(self) -> bool {
        self.is_series() || self.is_of_cells()
    }

    /// Whether it is of probes, which an original has none of.
    pub fn is_of_probes(self) -> bool {
        self.probe_kind().is_some()
    }

    /// The kind of probes that it is of.
    pub(crate) fn probe_kind(self) -> Option<ProbeKind> {
        match self {
            Metric::ProbeRoundTrip => Some(ProbeKind::Datagram),
            Metric::ProbeRequest => Some(ProbeKind::Request),
            _ => None,
        }
    }

    /// Whether its values are one series over time, of which the mean says most.
    pub fn is_series(self) -> bool {
        match self {
            Metric::Duration
            | Metric::ResponseTime
            | Metric::RoundTripTime
            | Metric::AduSize
            | Metric::QueueDelayFromLeft
            | Metric::QueueDelayFromRight
            | Metric::DeadCellsFromLeft
            | Metric::DeadCellsFromRight
            | Metric::ProbeRoundTrip
            | Metric::ProbeRequest => false,
            Metric::ActiveConnections
            | Metric::ThroughputFromLeft
            | Metric::ThroughputFromRight
            | Metric::PacketArrivals
            | Metric::Goodput
            | Metric::QueueFromLeft
            | Metric::QueueFromRight => true,
        }
    }
}

impl FromStr for Metric {
    type Err = String;

    fn from_str(text: &str) -> Result<Metric, String> {
        Metric::ALL.into_iter().find(|metric| metric.name() == text).ok_or_else(|| {
            let known: Vec<&str> = Metric::ALL.into_iter().map(Metric::name).collect();
            format!("unknown metric {text:?}; known: {}", known.join(", "))
        })
    }
}

/// A day, and from where on times are shown in days.
const DAY_NS: f64 = 86_400e9;
const LONG_NS: f64 = 100_000e9;

impl Unit {
    /// A quantile as [`Self::show`] has it: `38.2 ms`, or `> 1.20 s` where it is of an unfinished value.
    pub fn show_quantile(self, quantile: Quantile) -> String {
        match quantile {
            Quantile::Is(value) => self.show(value),
            Quantile::Above(bound) => format!("> {}", self.show(bound)),
        }
    }

    /// `value` with three significant digits and the multiple of the unit that fits.
    pub fn show(self, value: f64) -> String {
        const DECIMAL: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];
        let scaled = |name: &str| {
            let (scale, prefix) = DECIMAL.iter().find(|(scale, _)| value.abs() >= *scale).copied().unwrap_or((1.0, ""));
            format!("{} {prefix}{name}", three_digits(value / scale))
        };
        match self {
            Unit::Time if value >= LONG_NS => format!("{} d", three_digits(value / DAY_NS)),
            Unit::Time => Duration::from_nanos(value.round().max(0.0) as u64).to_string(),
            Unit::Bytes if value.fract() == 0.0 && value.abs() < 1e3 => format!("{value:.0} B"),
            Unit::Bytes => scaled("B"),
            Unit::Rate => scaled("bit/s"),
            Unit::PacketRate => scaled("packets/s"),
            Unit::Share => format!("{} %", three_digits(100.0 * value)),
            Unit::Count if value.fract() == 0.0 => format!("{value:.0}"),
            Unit::Count => three_digits(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        for metric in Metric::ALL {
            assert_eq!(serde_json::to_value(metric).unwrap(), metric.name());
            assert_eq!(metric.name().parse(), Ok(metric));
        }
        assert!("goodputs".parse::<Metric>().unwrap_err().contains("known: duration, "));
    }

    #[test]
    fn values_have_three_digits_and_a_unit() {
        assert_eq!(Unit::Time.show(38.249e6), "38.2 ms");
        assert_eq!(Unit::Time.show_quantile(Quantile::Above(38.249e6)), "> 38.2 ms");
        assert_eq!(Unit::Time.show(99_999e9), "99999 s");
        assert_eq!(Unit::Time.show(184_280_863e9), "2133 d");
        assert_eq!(Unit::Rate.show(38_412_345.0), "38.4 Mbit/s");
        assert_eq!(Unit::Bytes.show(512.0), "512 B");
        assert_eq!(Unit::Count.show(1041.0), "1041");
        assert_eq!(Unit::Count.show(41.25), "41.2");
        assert_eq!(Unit::Bytes.show(12.0), "12 B");
        assert_eq!(Unit::Share.show(0.125), "12.5 %");
        assert_eq!(Unit::PacketRate.show(12_500.0), "12.5 kpackets/s");
    }
}
