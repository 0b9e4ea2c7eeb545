//! `queue = { kind = "red", min = "50p", ... }`: the discipline of a link and its parameters (docs/reference/queues.md).

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use flowloom_core::queue;
use flowloom_core::queue::{Discipline, FqCodelParams, ParameterError, discipline::FULL_PACKET_BYTES};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, ParseQuantityError, Rate};
use flowloom_sim::Flows;

use super::Quantity;
use crate::error::KeyError;

/// `queue = { ... }`. Which of the keys apply is said by the kind; a default stands where one is not given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Queue {
    /// The discipline.
    pub kind: QueueKind,
    /// How much may wait; the packet in transmission does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Quantity<Limit>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) min: Option<Quantity<Limit>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max: Option<Quantity<Limit>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) weight: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gentle: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mean_packet: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) target: Option<Quantity<Target>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) interval: Option<Quantity<Duration>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) threshold: Option<Quantity<Limit>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) freeze_time: Option<Quantity<Duration>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) increment: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decrement: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) decrease: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) a: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) b: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) frequency: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) alpha: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) beta: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) gamma: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) phi: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) max_burst: Option<Quantity<Duration>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) estimator: Option<Estimator>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) derandomise: Option<bool>,
    pub(super) rest: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) mtu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) memory: Option<Quantity<Limit>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) flows: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) quantum: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) per: Option<Per>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bands: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ecn: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ecn_threshold: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) above_max: Option<AboveMax>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ce_threshold: Option<Quantity<Duration>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) at: Option<StepPoint>,
}

/// What RED with `ecn` does with ECN-capable packets above its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AboveMax {
    /// Goes on marking.
    Mark,
    /// Drops.
    Drop,
}

/// When step marking compares the queue with its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepPoint {
    /// When a packet arrives.
    Enqueue,
    /// When a packet leaves.
    Dequeue,
}

impl From<AboveMax> for queue::AboveMax {
    fn from(above_max: AboveMax) -> queue::AboveMax {
        match above_max {
            AboveMax::Mark => queue::AboveMax::Mark,
            AboveMax::Drop => queue::AboveMax::Drop,
        }
    }
}

impl From<queue::AboveMax> for AboveMax {
    fn from(above_max: queue::AboveMax) -> AboveMax {
        match above_max {
            queue::AboveMax::Mark => AboveMax::Mark,
            queue::AboveMax::Drop => AboveMax::Drop,
        }
    }
}

impl From<StepPoint> for queue::StepPoint {
    fn from(point: StepPoint) -> queue::StepPoint {
        match point {
            StepPoint::Enqueue => queue::StepPoint::Enqueue,
            StepPoint::Dequeue => queue::StepPoint::Dequeue,
        }
    }
}

impl From<queue::StepPoint> for StepPoint {
    fn from(point: queue::StepPoint) -> StepPoint {
        match point {
            queue::StepPoint::Enqueue => StepPoint::Enqueue,
            queue::StepPoint::Dequeue => StepPoint::Dequeue,
        }
    }
}

/// What has a queue of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Each connection.
    #[default]
    Connection,
    /// Each class of connections.
    Class,
}

/// Queue disciplines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueKind {
    /// First in, first out; arrivals at a full queue are dropped.
    #[default]
    DropTail,
    /// First in, first out; arrivals at a full queue push out its head.
    HeadDrop,
    /// Drop-tail that marks beyond a threshold.
    Step,
    /// Random early detection.
    Red,
    /// RED whose probability adapts.
    AdaptiveRed,
    /// Probability by loss and idleness.
    Blue,
    /// Proportional-integral control of the length.
    Pi,
    /// Random exponential marking.
    Rem,
    /// Proportional-integral control of the delay.
    Pie,
    /// Controlled delay.
    Codel,
    /// CoDel per flow.
    FqCodel,
    /// Deficit round robin.
    Drr,
    /// Round robin.
    RoundRobin,
    /// Strict priority.
    Priority,
}

/// How PIE knows its delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Estimator {
    /// From the wait of the packet that left last.
    Timestamp,
    /// From length and departure rate.
    DepartureRate,
}

/// What a controller holds: a delay or a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// For PIE, CoDel, FQ-CoDel and Adaptive RED.
    Delay(Duration),
    /// For PI and REM.
    Packets(u64),
}

impl FromStr for Target {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Target, ParseQuantityError> {
        let packets = text.strip_suffix('p').and_then(|count| count.parse().ok());
        packets.map(Target::Packets).map_or_else(|| text.parse().map(Target::Delay), Ok).map_err(|_| {
            ParseQuantityError {
                text: text.to_owned(),
                expected: "a delay or a number of packets",
                example: "15ms or 200p",
            }
        })
    }
}

impl QueueKind {
    /// Whether it decides by chance, so that seeds differ.
    pub const fn draws(self) -> bool {
        match self {
            QueueKind::Red
            | QueueKind::AdaptiveRed
            | QueueKind::Blue
            | QueueKind::Pi
            | QueueKind::Rem
            | QueueKind::Pie
            // The hash of flows.
            | QueueKind::FqCodel => true,
            QueueKind::DropTail
            | QueueKind::HeadDrop
            | QueueKind::Step
            | QueueKind::Codel
            | QueueKind::Drr
            | QueueKind::RoundRobin
            | QueueKind::Priority => false,
        }
    }

    /// As it is written.
    pub(super) const fn name(self) -> &'static str {
        match self {
            QueueKind::DropTail => "drop-tail",
            QueueKind::HeadDrop => "head-drop",
            QueueKind::Step => "step",
            QueueKind::Red => "red",
            QueueKind::AdaptiveRed => "adaptive-red",
            QueueKind::Blue => "blue",
            QueueKind::Pi => "pi",
            QueueKind::Rem => "rem",
            QueueKind::Pie => "pie",
            QueueKind::Codel => "codel",
            QueueKind::FqCodel => "fq-codel",
            QueueKind::Drr => "drr",
            QueueKind::RoundRobin => "round-robin",
            QueueKind::Priority => "priority",
        }
    }

    /// Its keys beside `kind` and `limit`.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            QueueKind::DropTail | QueueKind::HeadDrop => &[],
            QueueKind::RoundRobin => &["per"],
            QueueKind::Step => &["threshold", "at"],
            QueueKind::Red => &["min", "max", "max-p", "weight", "gentle", "mean-packet", "ecn", "above-max"],
            QueueKind::AdaptiveRed => &[
                "target",
                "min",
                "weight",
                "max-p",
                "interval",
                "increment",
                "decrease",
                "mean-packet",
                "ecn",
                "above-max",
            ],
            QueueKind::Blue => &["threshold", "freeze-time", "increment", "decrement", "ecn"],
            QueueKind::Pi => &["target", "a", "b", "frequency", "ecn"],
            QueueKind::Rem => &["target", "gamma", "alpha", "phi", "interval", "ecn"],
            QueueKind::Pie => &[
                "target",
                "interval",
                "alpha",
                "beta",
                "max-burst",
                "estimator",
                "derandomise",
                "rest",
                "ecn",
                "ecn-threshold",
            ],
            QueueKind::Codel => &["target", "interval", "mtu", "ecn", "ce-threshold"],
            QueueKind::FqCodel => {
                &["memory", "flows", "quantum", "target", "interval", "mtu", "ecn", "ce-threshold", "per"]
            }
            QueueKind::Drr => &["quantum", "per"],
            QueueKind::Priority => &["bands"],
        }
    }
}

/// A parameter of the core's disciplines has the name of its key.
fn of_parameter(error: ParameterError) -> KeyError {
    KeyError::new(error.key, error.problem)
}

impl Queue {
    /// How much may wait, as written or by default.
    pub fn limit(&self) -> Quantity<Limit> {
        let default = || match self.kind {
            QueueKind::FqCodel => Quantity::of(FqCodelParams::default().limit),
            _ => Quantity::of("65000p"),
        };
        self.limit.clone().unwrap_or_else(default)
    }

    /// What has a queue of its own, where the discipline has several.
    pub fn flows(&self) -> Flows {
        match self.per.unwrap_or_default() {
            Per::Connection => Flows::Connections,
            Per::Class => Flows::Classes,
        }
    }

    /// The simulator's.
    ///
    /// # Errors
    /// The first key that is wrong or belongs to other kinds, and what is wrong with it.
    pub fn discipline(&self) -> Result<Discipline, KeyError> {
        let known = self.kind.keys();
        if let Some(key) = self.keys().into_iter().find(|key| !known.contains(&key.as_str())) {
            let known = if known.is_empty() { String::new() } else { format!(" and {}", known.join(", ")) };
            let problem = format!("is not a key of {}, which has limit{known}", self.kind.name());
            return Err(KeyError::new(key, problem));
        }
        let discipline = self.stated()?;
        let limit = self.limit();
        if matches!(limit.value, Limit::Packets(0))
            || matches!(limit.value, Limit::Bytes(bytes) if bytes < FULL_PACKET_BYTES.into())
        {
            return Err(KeyError::new(
                "limit",
                format_args!("must hold at least one packet of {FULL_PACKET_BYTES} bytes"),
            ));
        }
        // What is computed from the rate is checked when that is known: the slowest line asks for the least.
        let rate = Rate::from_bits_per_second(Rate::SLOWEST).unwrap_or(Rate::UNLIMITED);
        discipline.build(rate, Stream::new(0, Purpose::Queue, 0)).map_err(of_parameter)?;
        Ok(discipline)
    }

    /// The simulator's, in front of a link of this rate.
    ///
    /// # Errors
    /// As [`Self::discipline`], and what is wrong with what is computed from the rate.
    pub fn discipline_at(&self, rate: Rate) -> Result<Discipline, KeyError> {
        let discipline = self.discipline()?;
        let built = discipline.build(rate, Stream::new(0, Purpose::Queue, 0));
        built.map_err(|error| KeyError::new(error.key, format_args!("{} (at {rate})", error.problem)))?;
        Ok(discipline)
    }

    /// The keys that were given beside `kind` and `limit`, and their values.
    fn table(&self) -> toml::Table {
        let mut table = toml::Table::try_from(self).unwrap_or_else(|error| unreachable!("plain data: {error}"));
        ["kind", "limit"].into_iter().for_each(|key| _ = table.remove(key));
        table
    }

    fn keys(&self) -> Vec<String> {
        self.table().keys().cloned().collect()
    }

    /// With the defaults of its kind where nothing is given, except where they are computed from the rate.
    pub fn resolved(&self) -> Queue {
        let mut queue = Queue { limit: Some(self.limit()), ..self.clone() };
        let Ok(discipline) = self.stated() else { return queue };
        match discipline {
            Discipline::Step(step) => {
                limit_or(&mut queue.threshold, step.threshold);
                queue.at = Some(step.at.into());
            }
            Discipline::Red(red) => {
                limit_or(&mut queue.min, red.min);
                limit_or(&mut queue.max, red.max);
                queue.max_p = Some(red.max_p);
                queue.weight = Some(red.weight);
                queue.gentle = Some(red.gentle);
                queue.mean_packet = Some(red.mean_packet);
                queue.ecn = Some(red.ecn);
                queue.above_max = Some(red.above_max.into());
            }
            Discipline::AdaptiveRed(red) => {
                delay_or(&mut queue.target, red.target_delay);
                queue.max_p = Some(red.max_p);
                time_or(&mut queue.interval, red.interval);
                queue.increment = Some(red.increment);
                queue.decrease = Some(red.decrease);
                queue.mean_packet = Some(red.mean_packet);
                queue.ecn = Some(red.ecn);
                queue.above_max = Some(red.above_max.into());
            }
            Discipline::Blue(blue) => {
                time_or(&mut queue.freeze_time, blue.freeze_time);
                queue.increment = Some(blue.increment);
                queue.decrement = Some(blue.decrement);
                queue.ecn = Some(blue.ecn);
            }
            Discipline::Pi(pi) => {
                queue.target.get_or_insert_with(|| Quantity::of(format_args!("{}p", pi.target)));
                queue.a = Some(pi.a);
                queue.b = Some(pi.b);
                queue.frequency = Some(pi.frequency);
                queue.ecn = Some(pi.ecn);
            }
            Discipline::Rem(rem) => {
                queue.target.get_or_insert_with(|| Quantity::of(format_args!("{}p", rem.target)));
                queue.gamma = Some(rem.gamma);
                queue.alpha = Some(rem.alpha);
                queue.phi = Some(rem.phi);
                time_or(&mut queue.interval, rem.interval);
                queue.ecn = Some(rem.ecn);
            }
            Discipline::Pie(pie) => {
                delay_or(&mut queue.target, pie.target);
                time_or(&mut queue.interval, pie.interval);
                queue.alpha = Some(pie.alpha);
                queue.beta = Some(pie.beta);
                time_or(&mut queue.max_burst, pie.max_burst);
                queue.estimator = Some(match pie.estimator {
                    flowloom_core::queue::Estimator::Timestamp => Estimator::Timestamp,
                    flowloom_core::queue::Estimator::DepartureRate => Estimator::DepartureRate,
                });
                queue.derandomise = Some(pie.derandomise);
                queue.rest = Some(pie.rest);
                queue.ecn = Some(pie.ecn);
                queue.ecn_threshold = Some(pie.ecn_threshold);
            }
            Discipline::Codel(codel) => {
                delay_or(&mut queue.target, codel.target);
                time_or(&mut queue.interval, codel.interval);
                queue.mtu = Some(codel.mtu);
                queue.ecn = Some(codel.ecn);
            }
            Discipline::FqCodel(fq) => {
                limit_or(&mut queue.memory, Limit::Bytes(fq.memory));
                queue.flows = Some(fq.flows);
                queue.quantum = Some(fq.quantum);
                delay_or(&mut queue.target, fq.target);
                time_or(&mut queue.interval, fq.interval);
                queue.mtu = Some(fq.mtu);
                queue.ecn = Some(fq.ecn);
                queue.per.get_or_insert_default();
            }
            Discipline::DeficitRoundRobin { quantum, .. } => {
                queue.quantum = Some(quantum);
                queue.per.get_or_insert_default();
            }
            Discipline::RoundRobin(_) => drop(queue.per.get_or_insert_default()),
            Discipline::Priority { bands, .. } => queue.bands = Some(bands),
            Discipline::DropTail(_) | Discipline::HeadDrop(_) | Discipline::Custom(_) => {}
        }
        queue
    }
}

fn limit_or(quantity: &mut Option<Quantity<Limit>>, value: Limit) {
    quantity.get_or_insert_with(|| Quantity::of(value));
}

fn time_or(quantity: &mut Option<Quantity<Duration>>, value: Duration) {
    quantity.get_or_insert_with(|| Quantity::of(format_args!("{}us", value.as_nanos() as f64 / 1e3)));
}

fn delay_or(quantity: &mut Option<Quantity<Target>>, value: Duration) {
    quantity.get_or_insert_with(|| Quantity::of(format_args!("{}us", value.as_nanos() as f64 / 1e3)));
}

/// As a reader of reports wants to see it: `drop-tail 200p`, `red 65000p, max 150p, min 50p`.
impl Display for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.limit())?;
        self.table().iter().try_for_each(|(key, value)| match value.as_str() {
            Some(text) => write!(f, ", {key} {text}"),
            None => write!(f, ", {key} {value}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Experiment;
    use super::*;

    fn queue(keys: &str) -> Result<Queue, String> {
        let text = format!("[network.bottleneck]\nrate = \"10mbit\"\n\n[network.bottleneck.queue]\n{keys}\n");
        Experiment::parse(&text, "x.toml").map(|e| e.network.bottleneck.queue).map_err(|failure| failure.to_string())
    }

    #[test]
    fn every_kind_reads_with_its_keys_and_is_written_with_its_defaults() {
        for (keys, shown) in [
            ("kind = \"drop-tail\"", "drop-tail 65000p"),
            ("kind = \"head-drop\"\nlimit = \"64k\"", "head-drop 64k"),
            (
                "kind = \"red\"\nmin = \"50p\"\nmax = \"150p\"\nmax-p = 0.1\nweight = 0.002\ngentle = true\necn = true",
                "red 65000p",
            ),
            (
                "kind = \"red\"\nmin = \"20p\"\nmax = \"20p\"\nweight = 1\necn = true\nabove-max = \"drop\"",
                "red 65000p, above-max drop",
            ),
            ("kind = \"step\"", "step 65000p"),
            ("kind = \"step\"\nthreshold = \"40p\"\nlimit = \"200p\"", "step 200p, threshold 40p"),
            ("kind = \"step\"\nthreshold = \"64k\"\nat = \"dequeue\"", "step 65000p, at dequeue, threshold 64k"),
            ("kind = \"codel\"\nce-threshold = \"1ms\"", "codel 65000p, ce-threshold 1ms"),
            ("kind = \"fq-codel\"\nce-threshold = \"80us\"\necn = false", "fq-codel 10240p, ce-threshold 80us"),
            ("kind = \"adaptive-red\"\nabove-max = \"mark\"", "adaptive-red 65000p, above-max mark"),
            ("kind = \"adaptive-red\"\ntarget = \"5ms\"\ninterval = \"0.5s\"\nmin = \"9p\"", "adaptive-red 65000p"),
            ("kind = \"blue\"\nfreeze-time = \"10ms\"\nthreshold = \"90p\"", "blue 65000p"),
            ("kind = \"pi\"\ntarget = \"50p\"", "pi 65000p, target 50p"),
            ("kind = \"rem\"\ninterval = \"1ms\"", "rem 65000p, interval 1ms"),
            (
                "kind = \"pie\"\nestimator = \"departure-rate\"\nlimit = \"1000p\"",
                "pie 1000p, estimator departure-rate",
            ),
            ("kind = \"codel\"\ntarget = \"10ms\"\necn = true", "codel 65000p"),
            ("kind = \"fq-codel\"", "fq-codel 10240p"),
            ("kind = \"drr\"\nquantum = 500", "drr 65000p, quantum 500"),
            ("kind = \"round-robin\"", "round-robin 65000p"),
            ("kind = \"priority\"\nbands = 2", "priority 65000p, bands 2"),
        ] {
            let read = queue(keys).unwrap();
            assert!(read.to_string().starts_with(shown), "{read}");
            let resolved = read.resolved();
            assert_eq!(resolved.discipline(), read.discipline(), "{keys}");
            let written = toml::to_string(&resolved).unwrap();
            assert_eq!(queue(&written).as_ref(), Ok(&resolved), "{written}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_key_and_line() {
        for (keys, wanted) in [
            ("kind = \"rde\"", "x.toml:5: network.bottleneck.queue.kind: unknown word \"rde\""),
            ("kind = \"red\"\nmni = \"5p\"", "x.toml:6: unknown key \"mni\""),
            ("kind = \"red\"\nmin = \"5\"", "x.toml:6: network.bottleneck.queue.min: \"5\" is not a queue limit"),
            (
                "kind = \"red\"\nmax = \"50p\"\nmin = \"150p\"",
                "x.toml:7: network.bottleneck.queue.min of 150p must not be above max of 50p",
            ),
            (
                "kind = \"red\"\nmax = \"9k\"",
                "x.toml:6: network.bottleneck.queue.max of 9216b has not the unit of min, 5p",
            ),
            (
                "kind = \"red\"\nmax-p = 1.5",
                "x.toml:6: network.bottleneck.queue.max-p of 1.5 must be above 0 and at most 1",
            ),
            ("kind = \"red\"\nweight = 0", "x.toml:6"),
            (
                "kind = \"red\"\nlimit = \"0p\"",
                "x.toml:6: network.bottleneck.queue.limit must hold at least one packet",
            ),
            ("limit = \"1000b\"", "x.toml:5: network.bottleneck.queue.limit must hold at least one packet"),
            (
                "kind = \"codel\"\nmin = \"5p\"",
                "x.toml:6: network.bottleneck.queue.min is not a key of codel, which has limit and target, interval",
            ),
            (
                "kind = \"drop-tail\"\necn = true",
                "x.toml:6: network.bottleneck.queue.ecn is not a key of drop-tail, which has limit",
            ),
            (
                "kind = \"pi\"\ntarget = \"5ms\"",
                "x.toml:6: network.bottleneck.queue.target of pi is a number of packets, like 200p",
            ),
            (
                "kind = \"pie\"\ntarget = \"5p\"",
                "x.toml:6: network.bottleneck.queue.target of pie is a delay, like 15ms",
            ),
            (
                "kind = \"pie\"\ntarget = \"soon\"",
                "x.toml:6: network.bottleneck.queue.target: \"soon\" is not a delay or a number of packets",
            ),
            (
                "kind = \"codel\"\ntarget = \"1s\"",
                "x.toml:6: network.bottleneck.queue.target of 1.00 s must be below interval",
            ),
            ("kind = \"fq-codel\"\nmemory = \"9p\"", "x.toml:6: network.bottleneck.queue.memory is a number of bytes"),
            ("kind = \"fq-codel\"\nflows = 0", "x.toml:6: network.bottleneck.queue.flows of 0"),
            (
                "kind = \"step\"\nthreshold = \"40p\"\nlimit = \"40p\"",
                "x.toml:7: network.bottleneck.queue.limit of 40p is too short for threshold, which is 40p: the queue never",
            ),
            (
                "kind = \"step\"\nthreshold = \"40p\"\nlimit = \"41p\"\nat = \"dequeue\"",
                "x.toml:7: network.bottleneck.queue.limit of 41p is too short for threshold, which is 40p: no packet",
            ),
            ("kind = \"step\"\nthreshold = \"0p\"", "x.toml:6: network.bottleneck.queue.threshold must be above zero"),
            (
                "kind = \"step\"\nthreshold = \"1ms\"",
                "x.toml:6: network.bottleneck.queue.threshold: \"1ms\" is not a queue limit",
            ),
            ("kind = \"step\"\nat = \"arrival\"", "x.toml:6: network.bottleneck.queue.at: unknown word \"arrival\""),
            (
                "kind = \"step\"\necn = true",
                "x.toml:6: network.bottleneck.queue.ecn is not a key of step, which has limit and threshold, at",
            ),
            (
                "kind = \"drop-tail\"\nthreshold = \"9p\"",
                "x.toml:6: network.bottleneck.queue.threshold is not a key of drop-tail",
            ),
            (
                "kind = \"codel\"\nce-threshold = \"0ms\"",
                "x.toml:6: network.bottleneck.queue.ce-threshold must be above zero",
            ),
            (
                "kind = \"fq-codel\"\nce-threshold = \"5p\"",
                "x.toml:6: network.bottleneck.queue.ce-threshold: \"5p\" is not a",
            ),
            (
                "kind = \"pie\"\nce-threshold = \"1ms\"",
                "x.toml:6: network.bottleneck.queue.ce-threshold is not a key of pie",
            ),
            (
                "kind = \"red\"\nabove-max = \"keep\"",
                "x.toml:6: network.bottleneck.queue.above-max: unknown word \"keep\"",
            ),
            (
                "kind = \"blue\"\nabove-max = \"drop\"",
                "x.toml:6: network.bottleneck.queue.above-max is not a key of blue",
            ),
            ("kind = \"drr\"\nquantum = -1", "x.toml:6"),
            ("kind = \"priority\"\nbands = 0", "x.toml:6: network.bottleneck.queue.bands must be above zero"),
            (
                "kind = \"red\"\nlimit = \"12p\"",
                "x.toml:6: network.bottleneck.queue.limit of 12p is below max, which is 15p",
            ),
        ] {
            let message = queue(keys).unwrap_err();
            assert!(message.contains(wanted), "{keys:?} gave {message}");
        }
        let inline = "[network]\nbottleneck = { rate = \"1mbit\",\n  queue = { kind = \"red\",\n  min = \"20p\" } }\n";
        let message = Experiment::parse(inline, "x.toml").unwrap_err().to_string();
        assert!(message.contains("x.toml:4: network.bottleneck.queue.min of 20p"), "{message}");
    }
}
