//! The four kinds of load, and the experiments that make them.

use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;
use flowloom_report::words::thousands;
use serde::{Deserialize, Serialize};

/// A kind of load of a live run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Many short connections, in starts a second.
    #[serde(rename = "starts_per_second")]
    Starts,
    /// Many open connections that do nothing, in connections.
    #[serde(rename = "open_connections")]
    Open,
    /// Many small packets, in packets a second of both directions.
    #[serde(rename = "packets_per_second")]
    Packets,
    /// Few large flows, in bit/s of both directions.
    #[serde(rename = "bits_per_second")]
    Bits,
}

/// Length of a run of all loads but that of open connections.
const LENGTH: Duration = Duration::from_secs(2);
/// Flows of sources start within this, when workers are awake.
const FLOWS_START: [f64; 2] = [0.05, 0.15];
/// Starts a second of connections that stay open, at most, where nobody knows better.
const USUAL_OPENING: f64 = 400.0;
/// See [`USUAL_OPENING`]; where the limit of starts is known half of it is taken.
const FASTEST_OPENING: f64 = 2_500.0;
/// Packets a second of one flow of small packets.
const PACKETS_OF_A_FLOW: f64 = 500.0;
/// Flows of the load of few large flows.
const LARGE_FLOWS: f64 = 4.0;

impl Load {
    /// All, in the order in which they are measured.
    pub const ALL: [Load; 4] = [Load::Starts, Load::Open, Load::Packets, Load::Bits];

    /// What it is called in answers: `many short connections`.
    pub const fn words(self) -> &'static str {
        match self {
            Load::Starts => "many short connections",
            Load::Open => "many open connections",
            Load::Packets => "many small packets",
            Load::Bits => "few large flows",
        }
    }

    /// A value with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Load::Starts => format!("{} starts/s", whole(value)),
            Load::Open => format!("{} open connections", whole(value)),
            Load::Packets => format!("{} packets/s", whole(value)),
            Load::Bits => {
                format!("{} Mbit/s", if value < 1e9 { three_digits(value / 1e6) } else { whole(value / 1e6) })
            }
        }
    }

    /// The least level that is tried, the first, and the highest, in the unit of the load.
    pub const fn levels(self) -> [f64; 3] {
        match self {
            Load::Starts => [50.0, 400.0, 25_600.0],
            Load::Open => [125.0, 500.0, 32_000.0],
            Load::Packets => [500.0, 4_000.0, 256_000.0],
            Load::Bits => [6.25e6, 50e6, 6.4e9],
        }
    }

    /// From one level to the next, until one fails.
    pub const fn growth(self) -> f64 {
        match self {
            Load::Open => 4.0,
            Load::Starts | Load::Packets | Load::Bits => 2.0,
        }
    }

    /// How long a run of this level sends; `starts` is the limit of starts a second, if that is known.
    pub fn length(self, level: f64, starts: Option<f64>) -> Duration {
        match self {
            Load::Open => {
                let opening = starts.map_or(USUAL_OPENING, |starts| (starts / 2.0).clamp(25.0, FASTEST_OPENING));
                LENGTH.max(Duration::from_secs_f64(level / opening))
            }
            Load::Starts | Load::Packets | Load::Bits => LENGTH,
        }
    }

    /// The experiment that makes this much of the load in a run of this length.
    pub fn experiment(self, level: f64, length: Duration) -> String {
        let seconds = length.as_secs_f64();
        let [from, to] = FLOWS_START.map(|seconds| 1e3 * seconds);
        let start = format!("{{ kind = \"uniform\", min = \"{from}ms\", max = \"{to}ms\" }}");
        let exchanges = |rate: f64, think: &str| {
            format!(
                "[workload.model]\nkind = \"exchanges\"\nconnections-per-second = {rate:?}\nrequest-bytes = 100.0\n\
                 response-bytes = 1000.0\nrtt-ms = 10.0\n{think}"
            )
        };
        let (rate, limit, drain, traffic) = match self {
            Load::Starts => ("10gbit".to_owned(), 1_000, "300ms", exchanges(level, "")),
            // They wait for an hour, and the end of the run cuts them.
            Load::Open => ("10gbit".to_owned(), 1_000, "0s", exchanges(level / seconds, "think-ms = 3600000.0\n")),
            Load::Packets => {
                let count = (level / PACKETS_OF_A_FLOW).round().max(1.0);
                let gap = 1e9 * count / level;
                let flows = format!(
                    "[[sources]]\nname = \"small\"\nkind = \"cbr\"\ncount = {count}\ngap = \"{gap:.0}ns\"\npayload = \"100b\"\n\
                     rtt = \"10ms\"\nstart = {start}\n"
                );
                ("10gbit".to_owned(), 1_000, "300ms", flows)
            }
            Load::Bits => {
                // Together one and a half times what is on the way: the link is full, and its queue drops nothing.
                let window = (1.5 * level / 8.0 * 0.010 / LARGE_FLOWS).max(15_000.0);
                let limit = (2.0 * LARGE_FLOWS * window / 1_514.0).ceil() as u64 + 100;
                let flows = format!(
                    "[[sources]]\nname = \"large\"\nkind = \"bulk\"\ncount = {LARGE_FLOWS}\nwindow = \"{window:.0}b\"\n\
                     rtt = \"10ms\"\nstart = {start}\n"
                );
                (format!("{level:.0}bit"), limit, "300ms", flows)
            }
        };
        format!(
            "[network]\nbottleneck = {{ rate = \"{rate}\", delay = \"1ms\", queue = {{ kind = \"drop-tail\", limit = \"{limit}p\" }} }}\n\
             [measure]\nduration = \"{seconds}s\"\ndrain = \"{drain}\"\n{traffic}"
        )
    }

    /// How much of this load a run had that carried so much in `length`.
    pub fn reached(self, carried: &Carried, length: Duration) -> f64 {
        let seconds = length.as_secs_f64();
        let sending = seconds - FLOWS_START.iter().sum::<f64>() / 2.0;
        match self {
            Load::Starts => carried.started as f64 / seconds,
            Load::Open => carried.started as f64,
            Load::Packets => carried.packets as f64 / sending,
            Load::Bits => carried.bits / sending,
        }
    }
}

/// What a run carried.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// Connections that started.
    pub started: u64,
    /// Packets of both directions.
    pub packets: u64,
    /// Bits on the link of both directions.
    pub bits: f64,
}

/// A count with its thousands parted.
fn whole(value: f64) -> String {
    thousands(value.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    #[test]
    fn experiments_of_all_levels_are_possible() {
        for load in Load::ALL {
            for level in load.levels().into_iter().chain([load.levels()[1] * 2f64.sqrt()]) {
                let text = load.experiment(level, load.length(level, Some(300.0)));
                let experiment = Experiment::parse(&text, "load").unwrap_or_else(|error| panic!("{error}\n{text}"));
                experiment.check().unwrap_or_else(|error| panic!("{error}\n{text}"));
            }
        }
    }

    #[test]
    fn values_have_units() {
        assert_eq!(Load::Starts.show(25_600.0), "25,600 starts/s");
        assert_eq!(Load::Bits.show(48.63e6), "48.6 Mbit/s");
        assert_eq!(Load::Bits.show(2_345.6e6), "2,346 Mbit/s");
    }
}
