//! What self-configuration of Harpoon found (methods K.1), as JSON and in words.

use std::fmt::{self, Write as _};

use flowloom_core::workload::LinkSide;
use flowloom_models::generate::harpoon::configure::{Configuration, Configured, Options, Unconfigured};
use serde::{Serialize, Serializer};

use crate::metric::Unit;
use crate::words::{counted, thousands};

/// Sessions that transfer nothing are a fault of the interval from this share on (methods K.1).
const MOST_IDLE: f64 = 0.1;

/// The object that `fit --model harpoon --json` prints.
#[derive(Clone, Debug, Serialize)]
pub struct HarpoonFit {
    /// Always `harpoon`.
    pub model: &'static str,
    /// The file, as given; `None` if names are to be left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// From the first connection to the end of the last, in nanoseconds.
    pub length_ns: u64,
    /// How long an interval is.
    pub interval_ns: u64,
    /// Flows of two hosts this far apart are of different sessions.
    pub session_gap_ns: u64,
    /// Vectors that were read.
    pub vectors: u64,
    /// Of them, flows of datagrams: Harpoon's transfers are TCP's.
    pub datagram_flows: u64,
    /// Of them, connections without a beginning or an end.
    pub incomplete: u64,
    /// Of them, connections without hosts.
    pub without_hosts: u64,
    /// Directions of fewer than 100 bytes.
    pub small_directions: u64,
    /// What each direction came to.
    pub directions: Vec<Direction>,
    /// Directions that have flows and no model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
    /// What the user should know.
    pub warnings: Vec<HarpoonWarning>,
}

/// What the user should know about a fitted Harpoon model. In JSON it is its text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HarpoonWarning {
    /// Many sessions transfer nothing in their interval.
    IdleSessions {
        /// The side of the link that the bytes come from.
        from: &'static str,
        /// The share of these sessions.
        share: f64,
        /// The interval.
        interval_ns: u64,
    },
    /// The pools have too few addresses.
    FewAddresses {
        /// The side of the link that the bytes come from.
        from: &'static str,
        /// Hosts that have none.
        hosts: u64,
    },
    /// A direction has flows and no model.
    NoModel(LeftOut),
    /// Connections without hosts are not in the model.
    WithoutHosts {
        /// How many.
        connections: u64,
    },
}

impl fmt::Display for HarpoonWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HarpoonWarning::IdleSessions { from, share, interval_ns } => write!(
                f,
                "from {from}: {} of the sessions transfer nothing: gaps are long for an interval of {}",
                Unit::Share.show(*share),
                Unit::Time.show(*interval_ns as f64)
            ),
            HarpoonWarning::FewAddresses { from, hosts } => write!(
                f,
                "from {from}: the pools have no address for the {} with the fewest sessions",
                counted(*hosts, "host")
            ),
            HarpoonWarning::NoModel(LeftOut { flows, from, reason }) => {
                let have = if *flows == 1 { "has" } else { "have" };
                write!(f, "{} from {from} {have} no model: {reason}", counted(*flows, "flow"))
            }
            HarpoonWarning::WithoutHosts { connections } => {
                write!(f, "{} without hosts are left out", counted(*connections, "connection"))
            }
        }
    }
}

impl Serialize for HarpoonWarning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The model of a direction.
#[derive(Clone, Debug, Serialize)]
pub struct Direction {
    /// The side of the link that the bytes come from: `left` or `right`.
    pub from: &'static str,
    /// Flows.
    pub flows: u64,
    /// Sessions.
    pub sessions: u64,
    /// Files, in bytes.
    pub file_bytes: Values,
    /// Times between the starts of a session's flows, in nanoseconds.
    pub gap_ns: Values,
    /// Hosts that send.
    pub senders: usize,
    /// Hosts that receive.
    pub receivers: usize,
    /// Of them, those that the pools have no address for.
    pub without_address: usize,
    /// Share of Harpoon's sessions that transfer nothing.
    pub idle_share: f64,
    /// The whole intervals.
    pub intervals: Vec<Interval>,
}

/// Values of a variable in numbers.
#[derive(Clone, Debug, Serialize)]
pub struct Values {
    /// How many.
    pub n: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// Quantile 0.99.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// An interval.
#[derive(Clone, Debug, Serialize)]
pub struct Interval {
    /// Bytes that flows carried in it.
    pub bytes: f64,
    /// Flows that began in it.
    pub flows: u64,
    /// Sessions of Harpoon that make these bytes: the mean of the trials, of which the configuration has the nearest whole number.
    pub sessions: f64,
}

/// A direction without a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// The side of the link that the bytes come from.
    pub from: &'static str,
    /// Its flows.
    pub flows: u64,
    /// Why.
    pub reason: String,
}

impl Values {
    /// Of values that rise.
    fn of(sorted: impl ExactSizeIterator<Item = f64> + Clone) -> Values {
        let n = sorted.len();
        let quantile = |p: f64| {
            let at = (p * n as f64).ceil() as usize;
            sorted.clone().nth(at.clamp(1, n.max(1)) - 1).unwrap_or_default()
        };
        let mean = sorted.clone().sum::<f64>() / n.max(1) as f64;
        Values { n: n as u64, mean, median: quantile(0.5), p99: quantile(0.99), max: quantile(1.0) }
    }
}

impl HarpoonFit {
    /// What was found in the file called `name`; `without_address` says how many hosts of a direction get no address.
    pub fn new(
        name: Option<String>,
        found: &Configuration,
        options: &Options,
        without_address: impl Fn(&Configured) -> usize,
    ) -> HarpoonFit {
        let counts = found.counts;
        let directions: Vec<Direction> = found
            .directions
            .iter()
            .map(|direction| Direction {
                from: direction.from.word(),
                flows: direction.flows,
                sessions: direction.sessions,
                file_bytes: Values::of(direction.sizes.iter().map(|size| *size as f64)),
                gap_ns: Values::of(direction.gaps.iter().map(|gap| gap.as_nanos() as f64)),
                senders: direction.senders.len(),
                receivers: direction.receivers.len(),
                without_address: without_address(direction),
                idle_share: direction.idle,
                intervals: direction
                    .intervals
                    .iter()
                    .map(|interval| Interval {
                        bytes: interval.bytes,
                        flows: interval.flows,
                        sessions: interval.sessions,
                    })
                    .collect(),
            })
            .collect();
        let interval = found.directions.first().map(|direction| direction.interval).unwrap_or_default();
        let left_out = found.left_out.iter().map(|(from, flows, reason): &(LinkSide, u64, Unconfigured)| LeftOut {
            from: from.word(),
            flows: *flows,
            reason: reason.to_string(),
        });
        let mut fit = HarpoonFit {
            model: "harpoon",
            name,
            length_ns: found.length.as_nanos(),
            interval_ns: interval.as_nanos(),
            session_gap_ns: options.session_gap.as_nanos(),
            vectors: counts.vectors,
            datagram_flows: counts.datagrams,
            incomplete: counts.incomplete,
            without_hosts: counts.without_hosts,
            small_directions: counts.small,
            directions,
            left_out: left_out.collect(),
            warnings: Vec::new(),
        };
        fit.warnings = fit.told();
        fit
    }

    fn told(&self) -> Vec<HarpoonWarning> {
        let mut told = Vec::new();
        for &Direction { from, idle_share, without_address, .. } in &self.directions {
            if idle_share > MOST_IDLE {
                told.push(HarpoonWarning::IdleSessions { from, share: idle_share, interval_ns: self.interval_ns });
            }
            if without_address > 0 {
                told.push(HarpoonWarning::FewAddresses { from, hosts: without_address as u64 });
            }
        }
        told.extend(self.left_out.iter().cloned().map(HarpoonWarning::NoModel));
        if self.without_hosts > 0 {
            told.push(HarpoonWarning::WithoutHosts { connections: self.without_hosts });
        }
        told
    }

    /// In words.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let time = |ns: f64| Unit::Time.show(ns);
        let flows: u64 = self.directions.iter().map(|direction| direction.flows).sum();
        let _ = writeln!(
            text,
            "{} in {}, intervals of {}",
            counted(flows, "flow"),
            time(self.length_ns as f64),
            time(self.interval_ns as f64)
        );
        let aside = [
            (self.incomplete, "incomplete connection", ""),
            (self.datagram_flows, "flow", " of datagrams"),
            (self.small_directions, "direction", " of fewer than 100 bytes"),
        ];
        let aside: Vec<String> = aside
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, what, of)| counted(count, what) + of)
            .collect();
        if !aside.is_empty() {
            let _ = writeln!(text, "  left out      {}", aside.join(", "));
        }
        for direction in &self.directions {
            let line = |values: &Values, show: &dyn Fn(f64) -> String| {
                format!(
                    "mean {}, median {}, 99 % at most {}, largest {}",
                    show(values.mean),
                    show(values.median),
                    show(values.p99),
                    show(values.max)
                )
            };
            let intervals = &direction.intervals;
            let n = intervals.len().max(1) as f64;
            let mean = |of: fn(&Interval) -> f64| intervals.iter().map(of).sum::<f64>() / n;
            let sessions = |pick: fn(f64, f64) -> f64| {
                intervals.iter().map(|interval| interval.sessions.round()).reduce(pick).unwrap_or_default()
            };
            let _ = writeln!(
                text,
                "from {}\n  flows         {} in {}\n  files         {}\n  gaps          {}\n  hosts         {} send, {} receive",
                direction.from,
                thousands(direction.flows),
                counted(direction.sessions, "session"),
                line(&direction.file_bytes, &|bytes| Unit::Bytes.show(bytes)),
                line(&direction.gap_ns, &time),
                thousands(direction.senders as u64),
                thousands(direction.receivers as u64),
            );
            let _ = writeln!(
                text,
                "  {}: {} and {} flows each, which {} sessions make ({} to {})",
                counted(intervals.len() as u64, "interval"),
                Unit::Bytes.show(mean(|interval| interval.bytes)),
                Unit::Count.show(mean(|interval| interval.flows as f64)),
                Unit::Count.show(mean(|interval| interval.sessions)),
                sessions(f64::min),
                sessions(f64::max),
            );
        }
        text
    }
}
