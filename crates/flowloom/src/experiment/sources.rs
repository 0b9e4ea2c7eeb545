//! `[[sources]]`: what sends beside the workload, or without one (`docs/reference/sources.md`), and `measure.tcp-trace`.

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use flowloom_core::distribution::Distribution;
use flowloom_core::keys::{Drawn, KeyError, Quantity, Size, Span};
use flowloom_core::play::{Datagrams, Pacing, Run};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::keys::{Tcp, TcpKeys, WithoutClasses};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::{Adu, Close, ConnectionVector, Evidence, LinkSide, PerSide, Protocol, Side};
use flowloom_sim::keys::Shape;
use flowloom_sim::topology::Node;
use flowloom_sim::{Classed, Config, DatagramFlow, LinkNumber, Origin, Traced, Way};

/// The first number of a flow of a source; connections of a workload beside sources have smaller ones.
pub const FIRST_FLOW: u64 = 1 << 31;

/// What a flow may draw to send, at most: a pebibyte.
const MOST_BYTES: u64 = 1 << 50;

/// Shortest time between datagrams: 11.8 Gbit/s of the largest. Times are whole nanoseconds, of which this has enough.
const LEAST_GAP: Duration = Duration::from_micros(1);

/// What a datagram takes of a link beside its payload, in bytes: UDP, IPv4, Ethernet.
const ON_TOP: u64 = 28 + 14;

/// A rate that holds for longer is several runs of datagrams, in seconds.
const LONGEST_RUN_S: f64 = 1_000.0;

/// Datagrams of a source that may be on their way at once.
const MOST_ON_THE_WAY: f64 = 1e7;

/// What results call the connections of the workload that are in no class of their own.
pub const WORKLOAD: &str = "workload";

/// Segment sizes of bulk transfers: what an end of the simulator sends at least, and what fits an IPv4 datagram.
const SEGMENT_SIZES: RangeInclusive<u32> = 48..=65_495;

/// The largest segments that the devices of a live run carry.
const MOST_LIVE_SEGMENT: u32 = 1_460;

/// The receive window of bulk transfers.
const WINDOW: &str = "4m";

/// `[[sources]]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = of_kinds)]
pub struct Source {
    /// Name of the source in results.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub name: String,
    /// Kind of traffic.
    pub kind: Kind,
    /// Node of its senders; default: left.
    #[serde(default = "left")]
    from: String,
    /// Node of its receivers; default: right.
    #[serde(default = "right")]
    to: String,
    /// Number of flows, each with its own start, round-trip time and size; default: 1.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1000000))]
    count: u32,
    /// When each flow begins; default: 0s.
    #[serde(default = "at_once")]
    start: Drawn<Span>,
    /// When flows without an end of their own stop; default: with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    stop: Option<Quantity<Duration>>,
    /// Round-trip time of each flow beside that of the links; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rtt: Option<Drawn<Duration>>,
    /// `bulk`: bytes of each flow; default: no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1b", "most" = "1048576g"))]
    bytes: Option<Drawn<Size>>,
    /// `bulk`: receive window; default: 4m.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1b", "most" = "1g"))]
    window: Option<Quantity<Size>>,
    /// `bulk`: maximum segment size that both ends announce, in bytes; default: 1460.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 48, max = 65495))]
    mss: Option<u32>,
    /// `bulk`: keys that differ from `[tcp]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<WithoutClasses>")]
    pub(super) tcp: Option<TcpKeys>,
    /// Datagrams: payload per second while the source is on; not more than leaves a microsecond from one datagram to the next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("most" = "11776mbit", "allOf" = [{ "not": { "const": "unlimited" } }]))]
    rate: Option<Quantity<Rate>>,
    /// Datagrams: time from one to the next, instead of `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1us"))]
    gap: Option<Quantity<Duration>>,
    /// `cbr`: rates over time instead of `rate`: a file with `seconds,bits_per_second`, relative to the experiment file; bits on the link, IP
    /// bytes + 14.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rates: Option<PathBuf>,
    /// Datagrams: payload of each; default: 1000b.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("least" = "1b", "most" = "1472b"))]
    payload: Option<Drawn<Size>>,
    /// `on-off`: length of each busy time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    on: Option<Drawn<Span>>,
    /// `on-off`: length of each silent time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    off: Option<Drawn<Span>>,
}

/// Kinds of sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// TCP connections that send in one direction, as FTP does.
    Bulk,
    /// Datagrams at a constant rate.
    Cbr,
    /// Datagrams with exponential gaps.
    Poisson,
    /// Datagrams at a constant rate in busy times, and none in silent ones.
    OnOff,
}

/// Keys of all kinds.
const COMMON_KEYS: [&str; 8] = ["name", "kind", "from", "to", "count", "start", "stop", "rtt"];

impl Kind {
    /// All of them.
    const ALL: [Kind; 4] = [Kind::Bulk, Kind::Cbr, Kind::Poisson, Kind::OnOff];

    /// As it is written.
    const fn name(self) -> &'static str {
        match self {
            Kind::Bulk => "bulk",
            Kind::Cbr => "cbr",
            Kind::Poisson => "poisson",
            Kind::OnOff => "on-off",
        }
    }

    /// Its keys beside those that all kinds have.
    const fn keys(self) -> &'static [&'static str] {
        match self {
            Kind::Bulk => &["bytes", "window", "mss", "tcp"],
            Kind::Cbr => &["rate", "gap", "rates", "payload"],
            Kind::Poisson => &["rate", "gap", "payload"],
            Kind::OnOff => &["rate", "gap", "payload", "on", "off"],
        }
    }
}

/// Says in the schema which keys each kind has.
fn of_kinds(schema: &mut Schema) {
    let rules = Kind::ALL.map(|kind| {
        let keys: Vec<&str> = COMMON_KEYS.iter().chain(kind.keys()).copied().collect();
        json!({
            "if": { "properties": { "kind": { "const": kind.name() } }, "required": ["kind"] },
            "then": { "propertyNames": { "enum": keys } },
        })
    });
    schema.insert("allOf".to_owned(), rules.into_iter().collect());
}

fn left() -> String {
    "left".to_owned()
}

fn right() -> String {
    "right".to_owned()
}

fn one() -> u32 {
    1
}

fn at_once() -> Drawn<Span> {
    Drawn::Constant(Quantity::of("0s"))
}

/// The flows of a source, once its place in the network and its class are known.
pub struct Placed<'a> {
    /// The source.
    pub source: &'a Source,
    /// Its class.
    pub class: u16,
    /// The side of the bottleneck that its senders count as.
    pub from: LinkSide,
    /// The number of its first flow.
    pub first: u64,
    /// What each flow sends, if that follows a file of rates.
    pub runs: Option<Arc<[Run]>>,
}

/// In words: `20 x bulk transfer without end`, `datagrams at a constant rate, 64kbit`.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count > 1 {
            write!(f, "{} x ", self.count)?;
        }
        f.write_str(match self.kind {
            Kind::Bulk if self.bytes.is_some() => "bulk transfer",
            Kind::Bulk => "bulk transfer without end",
            Kind::Cbr if self.rates.is_some() => "datagrams",
            Kind::Cbr => "datagrams at a constant rate",
            Kind::Poisson => "Poisson datagrams",
            Kind::OnOff => "on-off datagrams",
        })?;
        if self.rates.is_some() {
            return f.write_str(", whose rate changes by a file");
        }
        match (&self.rate, &self.gap) {
            (Some(rate), _) => write!(f, ", {rate}"),
            (None, Some(gap)) => write!(f, ", every {gap}"),
            (None, None) => Ok(()),
        }
    }
}

/// What the sources of an experiment send.
#[derive(Clone, Debug, Default)]
pub struct Flows {
    /// TCP connections, by start.
    pub connections: Vec<Classed>,
    /// Flows of datagrams.
    pub datagrams: Vec<DatagramFlow>,
}

impl Placed<'_> {
    /// Adds its flows under a seed in a run that starts connections until `window`.
    pub fn add_to(&self, flows: &mut Flows, seed: u64, window: Duration) {
        let Placed { source, class, from, first, .. } = *self;
        let end = Time::ZERO + window;
        let stop = source.stop.as_ref().map_or(end, |stop| (Time::ZERO + stop.value).min(end));
        for id in first..first + u64::from(source.count) {
            let drawn = |distribution: Distribution, purpose| {
                let nanos = distribution.sample(&mut Stream::new(seed, purpose, id)).round();
                Duration::from_nanos(nanos as u64)
            };
            let start = drawn(source.start.checked(), Purpose::Starts);
            if start >= window {
                // It would begin when the run is over.
                continue;
            }
            let start = Time::ZERO + start;
            // No path takes no time at all.
            let rtt =
                source.rtt.as_ref().map(|rtt| drawn(rtt.checked(), Purpose::Delays).max(Duration::from_micros(1)));
            let rtt = rtt.unwrap_or_default().min(Config::MAX_DELAY);
            let by_file = self.runs.as_ref().map(|runs| Pacing::Runs(Arc::clone(runs)));
            match by_file.or_else(|| source.pacing()) {
                None => flows.connections.push(source.transfer(id, seed, start, rtt, from, class, stop)),
                Some(pacing) => flows.datagrams.push(DatagramFlow {
                    id,
                    class,
                    from,
                    rtt,
                    ip_version: None,
                    datagrams: Datagrams {
                        pacing,
                        gap: source.gap(),
                        payload: source.payload().checked(),
                        start,
                        stop,
                        answered: false,
                    },
                }),
            }
        }
    }
}

impl Source {
    /// One that sends datagrams from the first node to the second so often and so large, as probes do.
    pub(super) fn of_probes(
        name: &str,
        [from, to]: [&str; 2],
        is_poisson: bool,
        (every, payload): (&Quantity<Duration>, &Quantity<Size>),
    ) -> Source {
        Source {
            name: name.to_owned(),
            kind: if is_poisson { Kind::Poisson } else { Kind::Cbr },
            from: from.to_owned(),
            to: to.to_owned(),
            count: 1,
            start: at_once(),
            stop: None,
            rtt: None,
            bytes: None,
            window: None,
            mss: None,
            tcp: None,
            rate: None,
            gap: Some(every.clone()),
            rates: None,
            payload: Some(Drawn::Constant(payload.clone())),
            on: None,
            off: None,
        }
    }

    /// Its datagrams between two times, if they are probes; each is answered.
    pub(super) fn probes(&self, start: Time, stop: Time) -> Datagrams {
        let pacing = self.pacing().unwrap_or(Pacing::Constant);
        Datagrams { pacing, gap: self.gap(), payload: self.payload().checked(), start, stop, answered: true }
    }

    /// The file of its rates over time.
    pub fn rates(&self) -> Option<&Path> {
        self.rates.as_deref()
    }

    /// Datagrams that load a link at these rates (bit/s of IP bytes + 14), each for so many seconds. What is less than a datagram is sent with
    /// the next one.
    ///
    /// # Errors
    /// A rate leaves too little time from one datagram to the next, or keeps too many on their way.
    pub fn runs(&self, rates: &[(f64, f64)]) -> Result<Arc<[Run]>, KeyError> {
        let Drawn::Constant(payload) = self.payload() else { return Ok(Arc::default()) };
        let payload = payload.value.0;
        let bits_each = 8.0 * (payload + ON_TOP) as f64;
        let mut runs = Vec::new();
        let (mut time, mut bits, mut sent) = (0.0_f64, 0.0_f64, 0_u64);
        for &(seconds, rate) in rates {
            if rate * LEAST_GAP.as_secs_f64() > bits_each {
                let problem = format_args!(
                    "has {rate} bit/s at {time} s, which leaves less than {LEAST_GAP} between datagrams (several flows send more: count)"
                );
                return Err(KeyError::new("rates", problem));
            }
            // Runs count in 32 bits.
            let parts = (seconds / LONGEST_RUN_S).ceil().max(1.0);
            for part in 0..parts as u64 {
                let (begin, length) = (time + seconds * part as f64 / parts, seconds / parts);
                bits += rate * length;
                // A sum of many rates misses a whole number by rounding.
                let packets = (bits / bits_each + 1e-9).floor() as u64 - sent;
                if packets == 0 {
                    continue;
                }
                let gap = length / packets as f64;
                let (first, span) = (Duration::from_secs_f64(begin + gap / 2.0), Duration::from_secs_f64(length - gap));
                runs.extend(Run::new(first, span, u32::try_from(packets).unwrap_or(u32::MAX), packets * payload));
                sent += packets;
            }
            time += seconds;
        }
        let highest = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
        if let Some(Drawn::Constant(rtt)) = &self.rtt
            && rtt.value.as_secs_f64() * highest / bits_each * f64::from(self.count) > MOST_ON_THE_WAY
        {
            let problem =
                format_args!("of {rtt} keeps more than {MOST_ON_THE_WAY:.0} datagrams on their way at {highest} bit/s");
            return Err(KeyError::new("rtt", problem));
        }
        Ok(runs.into())
    }

    /// How many flows it has.
    pub fn flows(&self) -> u64 {
        self.count.into()
    }

    /// Its TCP beside an experiment's.
    pub fn tcp(&self, tcp: &Tcp) -> Tcp {
        self.tcp.as_ref().map_or_else(|| tcp.clone(), |keys| tcp.with(keys))
    }

    /// Whether it is TCP.
    pub fn is_tcp(&self) -> bool {
        self.kind == Kind::Bulk
    }

    /// Whether each of its flows has a number of bytes to send, and is over when they have arrived.
    pub fn is_transfer(&self) -> bool {
        self.kind == Kind::Bulk && self.bytes.is_some()
    }

    /// Whether its flows have a round-trip time beside that of the links.
    pub fn has_rtt(&self) -> bool {
        match &self.rtt {
            Some(Drawn::Constant(rtt)) => !rtt.value.is_zero(),
            Some(Drawn::Law(_)) => true,
            None => false,
        }
    }

    /// When its flows begin, if it is the same for all.
    pub fn starts_at(&self) -> Option<Duration> {
        match &self.start {
            Drawn::Constant(start) => Some(start.value.0),
            Drawn::Law(_) => None,
        }
    }

    /// A bulk transfer.
    #[expect(clippy::too_many_arguments, reason = "what a flow is, once")]
    fn transfer(
        &self,
        id: u64,
        seed: u64,
        start: Time,
        rtt: Duration,
        initiator_side: LinkSide,
        class: u16,
        stop: Time,
    ) -> Classed {
        let bytes = self.bytes.as_ref().map(|bytes| {
            let drawn = bytes.checked().sample(&mut Stream::new(seed, Purpose::Sizes, id));
            (drawn.round() as u64).clamp(1, MOST_BYTES)
        });
        let mut ends: PerSide<flowloom_core::workload::Endpoint> = PerSide::default();
        let window = self.window.as_ref().map_or_else(|| Quantity::<Size>::of(WINDOW).value, |window| window.value);
        for side in Side::BOTH {
            ends[side].max_window = Some(window.0);
            ends[side].mss = self.mss.map(|mss| mss as u16);
        }
        let adu = |bytes| Adu {
            side: Side::Initiator,
            bytes,
            missing_bytes: 0,
            wait: None,
            waiter: Side::Initiator,
            seen: None,
            packets: None,
        };
        let vector = ConnectionVector {
            id,
            protocol: Protocol::Tcp,
            // Its window is stated, not a field of a header.
            evidence: Evidence::VectorFile,
            start,
            initiator_side,
            stated_rtt: Some(rtt),
            ends,
            adus: bytes.map(adu).into_iter().collect(),
            close: Close::Fin(Side::Initiator),
            ..ConnectionVector::default()
        };
        Classed { vector, class, origin: Origin::Source { endless_until: bytes.is_none().then_some(stop) } }
    }

    /// When datagrams are sent; `None` of bulk transfers.
    fn pacing(&self) -> Option<Pacing> {
        let drawn = |drawn: &Option<Drawn<Span>>| drawn.as_ref().map(Drawn::checked);
        match self.kind {
            Kind::Bulk => None,
            Kind::Cbr => Some(Pacing::Constant),
            Kind::Poisson => Some(Pacing::Poisson),
            Kind::OnOff => Some(Pacing::OnOff { on: drawn(&self.on)?, off: drawn(&self.off)? }),
        }
    }

    fn payload(&self) -> Drawn<Size> {
        self.payload.clone().unwrap_or_else(|| Drawn::Constant(Quantity::of("1000b")))
    }

    /// From one datagram to the next, in the mean.
    fn gap(&self) -> Duration {
        if let Some(gap) = &self.gap {
            return gap.value;
        }
        if self.rates.is_some() {
            // The file says when datagrams are sent; none is a gap of nothing.
            return Duration::from_nanos(1);
        }
        let Drawn::Constant(payload) = self.payload() else { return Duration::ZERO };
        let bits = self.rate.as_ref().and_then(|rate| rate.value.bits_per_second());
        bits.map_or(Duration::ZERO, |bits| Duration::from_secs_f64(8.0 * payload.value.0 as f64 / bits as f64))
    }

    /// Whether seeds make a difference, beside an experiment's TCP.
    pub(super) fn draws(&self, tcp: &Tcp) -> bool {
        let times = [&self.on, &self.off].into_iter().flatten().chain([&self.start]);
        self.kind == Kind::Poisson
            || (self.is_tcp() && self.tcp(tcp).draws())
            || self.rtt.as_ref().is_some_and(Drawn::is_law)
            || times.into_iter().any(Drawn::is_law)
            || [&self.bytes, &self.payload].into_iter().flatten().any(Drawn::is_law)
    }

    /// Its nodes: of the senders, of the receivers.
    ///
    /// # Errors
    /// All that is wrong with them.
    pub(super) fn nodes(&self, shape: &Shape) -> Result<[Node; 2], Vec<KeyError>> {
        let node = |name: &String| match name.as_str() {
            "left" if shape.graph.node(name).is_err() => Ok(shape.ends[0]),
            "right" if shape.graph.node(name).is_err() => Ok(shape.ends[1]),
            _ => shape.graph.node(name),
        };
        match (node(&self.from), node(&self.to)) {
            (Ok(from), Ok(to)) if from == to => {
                Err(vec![KeyError::new("to", format_args!("is {}, where it comes from", self.to))])
            }
            (Ok(from), Ok(to)) => Ok([from, to]),
            (from, to) => {
                let unknown = [("from", from), ("to", to)].into_iter();
                Err(unknown.filter_map(|(key, node)| Some(KeyError::saying(key, node.err()?))).collect())
            }
        }
    }

    /// What its flows cross, and the side of the bottleneck that its senders count as.
    ///
    /// # Errors
    /// All that is wrong: no such nodes, no links that lead there or back, or they cross the bottleneck in the wrong direction.
    pub fn way(&self, shape: &Shape) -> Result<(Way, LinkSide), Vec<KeyError>> {
        let [from, to] = self.nodes(shape)?;
        let Way { there, back } = shape.way(from, to).map_err(|error| vec![KeyError::saying("to", error)])?;
        let crosses = |way: &[LinkNumber], from| way.contains(&LinkNumber::bottleneck(from));
        let turned = crosses(&there, LinkSide::Right) || crosses(&back, LinkSide::Left);
        let (way, side) = match turned {
            true => (Way { there: back, back: there }, LinkSide::Right),
            false => (Way { there, back }, LinkSide::Left),
        };
        if crosses(&way.there, LinkSide::Right) || crosses(&way.back, LinkSide::Left) {
            let problem = "its packets cross the bottleneck the same way there and back";
            return Err(vec![KeyError::saying("to", problem)]);
        }
        Ok((way, side))
    }

    /// What no type can refuse.
    pub(super) fn problems(&self) -> Vec<KeyError> {
        let mut found = self.keys_of_others();
        found.extend(self.impossible_values());
        if self.kind != Kind::Bulk {
            found.extend(self.impossible_datagrams());
        }
        found
    }

    /// Checks what the devices of a live run carry although a simulation carries more.
    pub(super) fn check_live(&self) -> Result<(), KeyError> {
        self.mss.filter(|mss| *mss > MOST_LIVE_SEGMENT).map_or(Ok(()), |mss| {
            let problem = "does not fit the devices of a live run";
            Err(KeyError::new("mss", format_args!("of {mss} {problem} (at most {MOST_LIVE_SEGMENT} bytes)")))
        })
    }

    /// Keys of other kinds of sources.
    fn keys_of_others(&self) -> Vec<KeyError> {
        let given = serde_json::to_value(self).unwrap_or_default();
        let known = self.kind.keys();
        let is_known = |key: &str| COMMON_KEYS.contains(&key) || known.contains(&key);
        let others = given.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).filter(|key| !is_known(key));
        let problem = format!("is not a key of {}, which has {}", self.kind.name(), known.join(", "));
        others.map(|key| KeyError::new(key, &problem)).collect()
    }

    /// Values that cannot be, of keys that several kinds have.
    fn impossible_values(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        let mut wrong = |key: &str, problem: fmt::Arguments<'_>| found.push(KeyError::new(key, problem));
        if self.count == 0 {
            wrong("count", format_args!("of 0 sends nothing"));
        }
        let zero = |size: &Option<Drawn<Size>>| matches!(size, Some(Drawn::Constant(size)) if size.value.0 == 0);
        if let Some(Drawn::Constant(bytes)) = &self.bytes
            && bytes.value.0 > MOST_BYTES
        {
            wrong("bytes", format_args!("of {bytes} is too much (at most {MOST_BYTES}b)"));
        }
        for (key, _) in [("bytes", &self.bytes), ("payload", &self.payload)].iter().filter(|(_, size)| zero(size)) {
            wrong(key, format_args!("must be above zero"));
        }
        if self.window.as_ref().is_some_and(|window| !(1..=1 << 30).contains(&window.value.0)) {
            wrong("window", format_args!("must be between 1b and 1g, the largest that TCP can say"));
        }
        if let Some(mss) = self.mss.filter(|mss| !SEGMENT_SIZES.contains(mss)) {
            let (least, most) = (SEGMENT_SIZES.start(), SEGMENT_SIZES.end());
            wrong("mss", format_args!("of {mss} must be between {least} and {most} bytes"));
        }
        if let Some(stop) = &self.stop
            && let Drawn::Constant(start) = &self.start
            && stop.value <= start.value.0
        {
            wrong("stop", format_args!("of {stop} is not after its start at {start}"));
        }
        found
    }

    /// The same of keys that say when datagrams are sent.
    fn impossible_datagrams(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        if let Drawn::Constant(payload) = self.payload()
            && payload.value.0 > u64::from(Datagrams::MOST_BYTES)
        {
            let most = Datagrams::MOST_BYTES;
            let problem = format_args!("of {payload} does not fit into a packet (at most {most}b)");
            found.push(KeyError::new("payload", problem));
        }
        if self.rates.is_some() {
            let both = [("rate", self.rate.is_some()), ("gap", self.gap.is_some())];
            let twice = both.into_iter().filter(|(_, is_given)| *is_given);
            found.extend(twice.map(|(key, _)| KeyError::new(key, "and rates say the same: leave out one")));
            if self.payload().is_law() {
                found.push(KeyError::new("rates", "needs a payload that is always the same"));
            }
            return found;
        }
        match (&self.rate, &self.gap) {
            (Some(_), Some(_)) => found.push(KeyError::new("gap", "and rate say the same: leave out one")),
            (None, None) => {
                found.push(KeyError::new("rate", "is missing: as in rate = \"1mbit\", or gap = \"8ms\""));
            }
            (Some(_), None) if self.payload().is_law() => {
                let problem = "needs a payload that is always the same: say gap = \"8ms\"";
                found.push(KeyError::new("rate", problem));
            }
            _ => found.extend(self.impossible_gap()),
        }
        if self.kind == Kind::OnOff {
            let missing = [("on", &self.on), ("off", &self.off)].into_iter().filter(|(_, time)| time.is_none());
            let problem = |key| format!("is missing: as in {key} = \"500ms\"");
            found.extend(missing.map(|(key, _)| KeyError::new(key, problem(key))));
        }
        found
    }

    /// A gap that cannot be, and a round-trip time that is too long for it.
    fn impossible_gap(&self) -> Option<KeyError> {
        let gap = self.gap();
        if gap < LEAST_GAP {
            let key = if self.gap.is_some() { "gap" } else { "rate" };
            let problem =
                format_args!("leaves {gap} between datagrams (at least {LEAST_GAP}; several flows send more: count)");
            return Some(KeyError::new(key, problem));
        }
        let Some(Drawn::Constant(rtt)) = &self.rtt else { return None };
        let on_the_way = rtt.value.as_secs_f64() / gap.as_secs_f64() * f64::from(self.count);
        let problem = format_args!("of {rtt} keeps more than {MOST_ON_THE_WAY:.0} datagrams on their way, each {gap}");
        (on_the_way > MOST_ON_THE_WAY).then(|| KeyError::new("rtt", problem))
    }
}

/// `measure.tcp-trace`
#[derive(Clone, Debug, Default, PartialEq)]
pub enum TcpTrace {
    /// `"off"`
    #[default]
    Off,
    /// `"sources"`
    Sources,
    /// `"all"`
    All,
    /// Connections by id: `[3, 17]`.
    Connections(Vec<u64>),
}

impl TcpTrace {
    /// Whether nothing is traced.
    pub fn is_off(&self) -> bool {
        *self == TcpTrace::Off
    }

    /// As the simulator takes it.
    pub fn traced(&self) -> Traced {
        match self {
            TcpTrace::Off => Traced::None,
            TcpTrace::Sources => Traced::Sources,
            TcpTrace::All => Traced::All,
            TcpTrace::Connections(ids) => Traced::Connections(ids.iter().copied().collect()),
        }
    }
}

impl JsonSchema for TcpTrace {
    fn schema_name() -> Cow<'static, str> {
        "tcp-trace".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let words = json_schema!({ "enum": ["off", "sources", "all"] });
        json_schema!({
            "description": "Whose congestion windows are traced: of no connections, of those of sources, of all, or of those with these ids.",
            "anyOf": [words, generator.subschema_for::<Vec<u64>>()],
        })
    }
}

impl<'de> Deserialize<'de> for TcpTrace {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct WordOrIds;

        impl<'de> Visitor<'de> for WordOrIds {
            type Value = TcpTrace;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"off\", \"sources\", \"all\", or a list of connections by id")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<TcpTrace, E> {
                match word {
                    "off" => Ok(TcpTrace::Off),
                    "sources" => Ok(TcpTrace::Sources),
                    "all" => Ok(TcpTrace::All),
                    _ => Err(E::unknown_variant(word, &["off", "sources", "all"])),
                }
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TcpTrace, A::Error> {
                let mut ids = Vec::new();
                while let Some(id) = list.next_element()? {
                    ids.push(id);
                }
                Ok(TcpTrace::Connections(ids))
            }
        }

        deserializer.deserialize_any(WordOrIds)
    }
}

impl Serialize for TcpTrace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TcpTrace::Off => serializer.serialize_str("off"),
            TcpTrace::Sources => serializer.serialize_str("sources"),
            TcpTrace::All => serializer.serialize_str("all"),
            TcpTrace::Connections(ids) => ids.serialize(serializer),
        }
    }
}
