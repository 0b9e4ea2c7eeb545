//! `queue = { kind = "red", min = "50p", ... }`: the discipline of a link and its parameters (docs/reference/queues.md).

mod stated;

use std::fmt::{self, Display};
use std::str::FromStr;

use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::discipline::Discipline;
use super::fq_codel::FqCodelParams;
use super::parameters::{FULL_PACKET_BYTES, ParameterError};
use super::pie::Estimator;
use super::red::AboveMax;
use super::step::StepPoint;
use crate::keys::{Amount, KeyError, Quantity, Size, Written};
use crate::rng::{Purpose, Stream};
use crate::time::Duration;
use crate::units::{Limit, ParseQuantityError, Rate};

/// `queue = { ... }`. Which of the keys apply is said by the kind; a default stands where one is not given.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[schemars(transform = of_kinds)]
pub struct Queue {
    /// Queue discipline; default: drop-tail.
    pub kind: QueueKind,
    /// How much may wait, in packets (`"200p"`) or bytes of the link (`"64k"`); the packet in transmission does not count.
    /// Default: 65000p, of `fq-codel` 10240p.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = ["1p", "1514b"]))]
    pub limit: Option<Quantity<Limit>>,
    /// `red`: average queue above which packets are marked or dropped early; default 5p. `adaptive-red`: the same in
    /// packets; default: half of `target` at the rate of the link, at least 5p.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = ["1p", "1b"]))]
    pub min: Option<Quantity<Limit>>,
    /// `red`: average queue at which the probability reaches `max-p`; default 15p.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = ["1p", "1b"]))]
    pub max: Option<Quantity<Limit>>,
    /// `red`, `adaptive-red`: probability of an early mark or drop at `max`; default 0.1.
    /// `adaptive-red` begins with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub max_p: Option<f64>,
    /// `red`, `adaptive-red`: weight of a new sample in the average queue. Default: `red` 0.002,
    /// `adaptive-red` 1 - exp(-1 / packets per second of the link).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub weight: Option<f64>,
    /// `red`: let the probability rise from `max-p` to 1 between `max` and twice `max`, instead of dropping everything
    /// above `max`; default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gentle: Option<bool>,
    /// `red`, `adaptive-red`: bytes of the packets that are assumed to leave while the link is idle; default 500.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub mean_packet: Option<u32>,
    /// `pie`, `codel`, `fq-codel`, `adaptive-red`: delay that the queue is held at (`"5ms"`). `pi`, `rem`: length that the
    /// queue is held at (`"200p"`). Default: `pie` 15ms, `codel`, `fq-codel` and `adaptive-red` 5ms, `pi` 200p, `rem` 20p.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = ["1ns", "1p"]))]
    pub target: Option<Quantity<Target>>,
    /// `codel`, `fq-codel`: time above `target` after which packets are dropped; default 100ms. `pie`, `rem`,
    /// `adaptive-red`: time between updates; default 15ms, 2ms, 500ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1us"))]
    pub interval: Option<Quantity<Duration>>,
    /// `step`: queue above which ECN-capable packets are marked; default 20p. `blue`: queue that counts as a loss; default
    /// none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = ["1p", "1b"]))]
    pub threshold: Option<Quantity<Limit>>,
    /// `blue`: shortest time between two changes of the probability, above zero; default 100ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1ns"))]
    pub freeze_time: Option<Quantity<Duration>>,
    /// `blue`: how much a loss adds to the probability; default 0.02. `adaptive-red`: how much an update adds to `max-p`;
    /// default 0.01.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub increment: Option<f64>,
    /// `blue`: how much an idle link takes off the probability; default 0.002.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub decrement: Option<f64>,
    /// `adaptive-red`: factor by which an update lowers `max-p`; default 0.9.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub decrease: Option<f64>,
    /// `pi`: coefficient of the present difference from `target`, per packet, above 0; default 1.822e-5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000000), extend("exclusiveMinimum" = 0))]
    pub a: Option<f64>,
    /// `pi`: coefficient of the previous difference from `target`, per packet, above 0; default 1.816e-5.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000000), extend("exclusiveMinimum" = 0))]
    pub b: Option<f64>,
    /// `pi`: updates per second; default 170.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000000), extend("exclusiveMinimum" = 0))]
    pub frequency: Option<f64>,
    /// `pie`: weight of the difference from `target`, per second; default 0.125. `rem`: weight of the backlog in the price;
    /// default 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000000), extend("exclusiveMinimum" = 0))]
    pub alpha: Option<f64>,
    /// `pie`: weight of the change of the delay, per second; default 1.25.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000000), extend("exclusiveMinimum" = 0))]
    pub beta: Option<f64>,
    /// `rem`: step size of the price; default 0.001.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000000), extend("exclusiveMinimum" = 0))]
    pub gamma: Option<f64>,
    /// `rem`: base of the probability 1 - phi^-price; default 1.001.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 10), extend("exclusiveMinimum" = 1))]
    pub phi: Option<f64>,
    /// `pie`: time after idleness in which nothing is dropped early; default 150ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<Quantity<Duration>>,
    /// `pie`: where the queueing delay comes from; default `timestamp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub estimator: Option<Estimator>,
    /// `pie`: avoid early drops that are too close or too far apart (RFC 8033 section 5.4); default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derandomise: Option<bool>,
    /// `pie`: turn off while the queue is short (RFC 8033 section 5.3); default false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<bool>,
    /// `codel`, `fq-codel`: bytes; a queue with no more than this behind a packet is not dropped from; default 1514.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// `fq-codel`: bytes that may wait in all queues; default 32m.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1514b"))]
    pub memory: Option<Quantity<Size>>,
    /// `fq-codel`: number of queues that flows are hashed to; default 1024.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1048576))]
    pub flows: Option<u32>,
    /// `fq-codel`, `drr`: bytes that a flow may send in a round; default 1514.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub quantum: Option<u32>,
    /// `fq-codel`, `drr`, `round-robin`: what has a queue of its own; default `connection`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per: Option<Per>,
    /// `priority`: number of bands, each with `limit`; default 3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub bands: Option<u8>,
    /// Mark ECN-capable packets where others are dropped early. Default: `fq-codel` true, others false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// `pie`: probability up to which packets are marked instead of dropped; default 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1), extend("exclusiveMinimum" = 0))]
    pub ecn_threshold: Option<f64>,
    /// `red`, `adaptive-red` with `ecn`: what happens to ECN-capable packets above the range; default `mark`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub above_max: Option<AboveMax>,
    /// `codel`, `fq-codel`: waiting time above which ECN-capable packets are marked; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1ns"))]
    pub ce_threshold: Option<Quantity<Duration>>,
    /// `step`: when the queue is compared with `threshold`; default `enqueue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<StepPoint>,
}

/// What has a queue of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Each connection.
    #[default]
    Connection,
    /// Each class of connections.
    Class,
}

/// Queue disciplines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
        let packets = text.strip_suffix('p').and_then(|count| count.parse().ok()).map(Target::Packets);
        let target = packets.or_else(|| text.parse().ok().map(Target::Delay));
        let is_zero = |target: &Target| matches!(target, Target::Delay(Duration::ZERO) | Target::Packets(0));
        target.filter(|target| !is_zero(target)).ok_or_else(|| ParseQuantityError::Form {
            text: text.to_owned(),
            expected: "a delay or a number of packets above zero",
            example: "15ms or 200p",
        })
    }
}

/// A number of packets.
const PACKETS: &str = r"^\+?[0-9]+p$";

/// Says in the schema which keys each kind has.
fn of_kinds(schema: &mut Schema) {
    let rules = QueueKind::ALL.map(|kind| {
        let keys: Vec<&str> = ["kind", "limit"].iter().chain(kind.keys()).copied().collect();
        let mut then = json!({ "propertyNames": { "enum": keys } });
        let packets = json!({ "pattern": PACKETS });
        let time = json!({ "pattern": format!("^({})$", Duration::pattern()) });
        // Keys of several kinds that are not the same for all of them.
        match kind {
            QueueKind::AdaptiveRed => then["properties"] = json!({ "min": packets, "target": time }),
            QueueKind::Pi => then["properties"] = json!({ "target": packets }),
            QueueKind::Rem => then["properties"] = json!({ "target": packets, "alpha": { "maximum": 1 } }),
            QueueKind::Pie | QueueKind::Codel | QueueKind::FqCodel => then["properties"] = json!({ "target": time }),
            _ => {}
        }
        json!({ "if": { "properties": { "kind": { "const": kind.name() } }, "required": ["kind"] }, "then": then })
    });
    let without = json!({
        "if": { "not": { "required": ["kind"] } },
        "then": { "propertyNames": { "enum": ["limit"] } },
    });
    schema.insert("allOf".to_owned(), rules.into_iter().chain([without]).collect());
}

impl Written for Target {
    const FORMAT: &'static str = "target";
    const MEANING: &'static str = "a delay or a number of packets above zero";
    const EXAMPLES: &'static [&'static str] = &["15ms", "200p"];

    fn pattern() -> String {
        format!(r"\+?[0-9]+p|{}", Duration::pattern())
    }

    fn amount(&self) -> Option<Amount> {
        Some(match *self {
            Target::Delay(delay) => delay.into(),
            Target::Packets(packets) => Amount::Packets(packets),
        })
    }
}

impl QueueKind {
    /// All of them.
    pub const ALL: [QueueKind; 14] = [
        QueueKind::DropTail,
        QueueKind::HeadDrop,
        QueueKind::Step,
        QueueKind::Red,
        QueueKind::AdaptiveRed,
        QueueKind::Blue,
        QueueKind::Pi,
        QueueKind::Rem,
        QueueKind::Pie,
        QueueKind::Codel,
        QueueKind::FqCodel,
        QueueKind::Drr,
        QueueKind::RoundRobin,
        QueueKind::Priority,
    ];

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
    pub const fn name(self) -> &'static str {
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
    pub const fn keys(self) -> &'static [&'static str] {
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
    /// Whether nothing but its limit makes it drop: it does not hold down delays.
    pub fn is_held_by_limit(&self) -> bool {
        use QueueKind::{DropTail, Drr, HeadDrop, Priority, RoundRobin};
        matches!(self.kind, DropTail | HeadDrop | Drr | RoundRobin | Priority)
    }

    /// How much may wait, as written or by default.
    pub fn limit(&self) -> Quantity<Limit> {
        let default = || match self.kind {
            QueueKind::FqCodel => Quantity::of(FqCodelParams::default().limit),
            _ => Quantity::of("65000p"),
        };
        self.limit.clone().unwrap_or_else(default)
    }

    /// What has a queue of its own, where the discipline has several.
    pub fn per(&self) -> Per {
        self.per.unwrap_or_default()
    }

    /// The simulator's.
    ///
    /// # Errors
    /// The first of [`Self::problems`].
    pub fn discipline(&self) -> Result<Discipline, KeyError> {
        match self.problems().into_iter().next() {
            Some(problem) => Err(problem),
            None => self.stated(),
        }
    }

    /// What is wrong with the keys: of RED and PI everything; of other kinds, whose keys depend less on each other, the first.
    pub fn problems(&self) -> Vec<KeyError> {
        let known = self.kind.keys();
        if let Some(key) = self.keys().into_iter().find(|key| !known.contains(&key.as_str())) {
            let known = if known.is_empty() { String::new() } else { format!(" and {}", known.join(", ")) };
            let problem = format!("is not a key of {}, which has limit{known}", self.kind.name());
            return vec![KeyError::new(key, problem)];
        }
        let discipline = match self.stated() {
            Ok(discipline) => discipline,
            Err(problem) => return vec![problem],
        };
        // What is computed from the rate is checked when that is known: the slowest line asks for the least.
        let rate = Rate::from_bits_per_second(Rate::SLOWEST).unwrap_or(Rate::UNLIMITED);
        let mut found: Vec<KeyError> = discipline.problems(rate).into_iter().map(of_parameter).collect();
        let limit = self.limit();
        let is_below_a_packet = match limit.value {
            Limit::Packets(packets) => packets == 0,
            Limit::Bytes(bytes) => bytes < FULL_PACKET_BYTES.into(),
        };
        if is_below_a_packet && !found.iter().any(|problem| problem.key == "limit") {
            let problem = format_args!("must hold at least one packet of {FULL_PACKET_BYTES} bytes");
            found.insert(0, KeyError::new("limit", problem));
        }
        found
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
    fn table(&self) -> serde_json::Map<String, serde_json::Value> {
        let mut table = match serde_json::to_value(self) {
            Ok(serde_json::Value::Object(table)) => table,
            _ => unreachable!("plain data with keys"),
        };
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
                queue.at = Some(step.at);
            }
            Discipline::Red(red) => {
                limit_or(&mut queue.min, red.min);
                limit_or(&mut queue.max, red.max);
                queue.max_p = Some(red.max_p);
                queue.weight = Some(red.weight);
                queue.gentle = Some(red.gentle);
                queue.mean_packet = Some(red.mean_packet);
                queue.ecn = Some(red.ecn);
                queue.above_max = Some(red.above_max);
            }
            Discipline::AdaptiveRed(red) => {
                delay_or(&mut queue.target, red.target_delay);
                queue.max_p = Some(red.max_p);
                time_or(&mut queue.interval, red.interval);
                queue.increment = Some(red.increment);
                queue.decrease = Some(red.decrease);
                queue.mean_packet = Some(red.mean_packet);
                queue.ecn = Some(red.ecn);
                queue.above_max = Some(red.above_max);
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
                queue.estimator = Some(pie.estimator);
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
                queue.memory.get_or_insert_with(|| Quantity::of(Limit::Bytes(fq.memory)));
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
