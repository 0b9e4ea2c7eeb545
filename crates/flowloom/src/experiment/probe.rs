//! `[probe]`: the latency that users meet under load, measured beside the traffic (`docs/reference/probes.md`).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flowloom_core::keys::{KeyError, Quantity, Size};
use flowloom_core::play::{DatagramSource, Datagrams};
use flowloom_core::record::ProbeRecord;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, Evidence, LinkSide, PerSide, Protocol, Side};
use flowloom_sim::keys::Shape;
use flowloom_sim::{Classed, Config, DatagramFlow, Origin, Way};

use super::sources::{Flows, Source};

/// What results call the flows of probes.
pub const PROBE: &str = "probe";

/// Shortest time between probes: more often they would be a load of their own.
const LEAST_EVERY: Duration = Duration::from_millis(1);

/// The smallest probe: it has room for its number and its time.
const LEAST_BYTES: u64 = 16;

/// Probes of a kind in a run, at most: results have a row of each.
const MOST_PROBES: u64 = 1_000_000;

/// The receive window of requests.
const WINDOW: u64 = 65_535;

/// By this number the times of requests are drawn; no connection has it.
const REQUEST_TIMES: u64 = ProbeRecord::FIRST + (1 << 31);

/// `[probe]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Probe {
    /// Kind of probes; default: datagrams.
    pub kind: ProbeKinds,
    /// From one probe to the next, in the mean; default: 100ms.
    #[schemars(extend("least" = "1ms"))]
    every: Quantity<Duration>,
    /// When probes are sent; default: periodic.
    schedule: Schedule,
    /// Payload of each datagram and of its answer, or of each request and of its response; default: 64b.
    #[schemars(extend("least" = "16b", "most" = "1472b"))]
    payload: Quantity<Size>,
    /// Node that sends probes; default: left.
    from: String,
    /// Node that answers them; default: right.
    to: String,
    /// Round-trip time of probes, the links on their way included; default: what the links take.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("most" = "1h"))]
    rtt: Option<Quantity<Duration>>,
}

/// `probe.kind`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeKinds {
    /// Datagrams that the far end answers at once.
    #[default]
    Datagrams,
    /// Requests and responses, each over a TCP connection of its own.
    Requests,
    /// Both, half an interval apart.
    Both,
}

/// `probe.schedule`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// At equal gaps, the first at once.
    #[default]
    Periodic,
    /// At exponential gaps, so that probes see queues as they are over time.
    Poisson,
}

impl Default for Probe {
    fn default() -> Probe {
        Probe {
            kind: ProbeKinds::default(),
            every: Quantity::of("100ms"),
            schedule: Schedule::default(),
            payload: Quantity::of("64b"),
            from: "left".to_owned(),
            to: "right".to_owned(),
            rtt: None,
        }
    }
}

impl Probe {
    /// Whether seeds make a difference.
    pub fn draws(&self) -> bool {
        self.schedule == Schedule::Poisson
    }

    /// What sends the datagrams of one kind.
    fn source(&self) -> Source {
        let is_poisson = self.schedule == Schedule::Poisson;
        Source::of_probes(PROBE, [&self.from, &self.to], is_poisson, (&self.every, &self.payload))
    }

    /// What probes cross, and the side of the bottleneck that their sender counts as.
    ///
    /// # Errors
    /// All that is wrong: no such nodes, no links that lead there or back, or they cross the bottleneck in the wrong direction.
    pub fn way(&self, shape: &Shape) -> Result<(Way, LinkSide), Vec<KeyError>> {
        let within = |problems: Vec<KeyError>| problems.into_iter().map(|error| error.within("probe")).collect();
        self.source().way(shape).map_err(within)
    }

    /// What no type can refuse, in a network of this shape, if it has one.
    pub(super) fn problems(&self, shape: &Result<Shape, Option<Shape>>) -> Vec<KeyError> {
        let mut found = match shape {
            Ok(shape) => self.way(shape).err().unwrap_or_default(),
            // Ways may be missing because links are.
            Err(Some(shape)) => {
                let problems = self.source().nodes(shape).err().unwrap_or_default();
                problems.into_iter().map(|error| error.within("probe")).collect()
            }
            Err(None) => Vec::new(),
        };
        if self.every.value < LEAST_EVERY {
            let problem = format_args!("of {} is too short (at least {})", self.every, LEAST_EVERY.written());
            found.push(KeyError::new("probe.every", problem));
        }
        let most = u64::from(Datagrams::MOST_BYTES);
        if !(LEAST_BYTES..=most).contains(&self.payload.value.0) {
            let problem =
                format_args!("of {} must be between {LEAST_BYTES}b and {most}b, which is a packet", self.payload);
            found.push(KeyError::new("probe.payload", problem));
        }
        if let Some(rtt) = self.rtt.as_ref().filter(|rtt| rtt.value > Config::MAX_DELAY) {
            let problem = format_args!("of {rtt} is too long (at most {})", Config::MAX_DELAY.written());
            found.push(KeyError::new("probe.rtt", problem));
        }
        found
    }

    /// Refuses more probes than results can have in a run that lasts for `window`.
    ///
    /// # Errors
    /// There are too many.
    pub fn check(&self, window: Duration) -> Result<(), KeyError> {
        let probes = window.as_nanos() / self.every.value.as_nanos().max(1);
        if probes <= MOST_PROBES {
            return Ok(());
        }
        let least = Duration::from_nanos(window.as_nanos().div_ceil(MOST_PROBES));
        let problem = format_args!(
            "of {} makes {probes} probes in {window} (at most {MOST_PROBES}): give {} or more",
            self.every,
            least.written()
        );
        Err(KeyError::new("probe.every", problem))
    }

    /// What probes offer to a link in one direction, in bits per second, with headers.
    pub fn offers(&self) -> f64 {
        /// Of a datagram: Ethernet, IPv4, UDP.
        const DATAGRAM: u64 = 14 + 20 + 8;
        /// Of a segment, and how many segments of a request go either way: SYN, acknowledgement, data, FIN.
        const SEGMENT: u64 = 14 + 20 + 20;
        const SEGMENTS: u64 = 4;
        let payload = self.payload.value.0;
        let (datagram, request) = (payload + DATAGRAM, payload + SEGMENTS * SEGMENT);
        let bytes = match self.kind {
            ProbeKinds::Datagrams => datagram,
            ProbeKinds::Requests => request,
            ProbeKinds::Both => datagram + request,
        };
        8.0 * bytes as f64 / self.every.value.as_secs_f64()
    }

    /// Adds the flows of probes under a seed, of this class, whose sender is on `from`, in a run that lasts for `window`.
    pub fn add_to(&self, flows: &mut Flows, (class, from): (u16, LinkSide), seed: u64, window: Duration) {
        let rtt = self.rtt.as_ref().map_or(Duration::ZERO, |rtt| rtt.value);
        let source = self.source();
        let datagrams = |start| source.probes(start, Time::ZERO + window);
        if self.kind != ProbeKinds::Requests {
            let (id, datagrams) = (ProbeRecord::FIRST, datagrams(Time::ZERO));
            flows.datagrams.push(DatagramFlow { id, class, from, rtt, ip_version: None, datagrams });
        }
        if self.kind != ProbeKinds::Datagrams {
            let half = Duration::from_nanos(self.every.value.as_nanos() / 2);
            let start = if self.kind == ProbeKinds::Both { Time::ZERO + half } else { Time::ZERO };
            let mut times = DatagramSource::new(datagrams(start), seed, REQUEST_TIMES);
            let starts = std::iter::from_fn(|| {
                let due = times.next_timeout()?;
                times.handle_timeout(due);
                times.poll().map(|due| due.sent)
            });
            let request =
                |(id, start)| Classed { vector: self.request(id, start, from, rtt), class, origin: Origin::Probe };
            flows.connections.extend((ProbeRecord::FIRST + 1..).zip(starts).map(request));
        }
    }

    /// A connection with one request and its response, closed by who asked.
    fn request(&self, id: u64, start: Time, initiator_side: LinkSide, rtt: Duration) -> ConnectionVector {
        let bytes = self.payload.value.0;
        let adu = |side| Adu { side, bytes, missing_bytes: 0, wait: None, waiter: side, seen: None, packets: None };
        let mut ends: PerSide<flowloom_core::workload::Endpoint> = PerSide::default();
        for side in Side::BOTH {
            (ends[side].syn_seen, ends[side].max_window) = (true, Some(WINDOW));
        }
        ConnectionVector {
            id,
            protocol: Protocol::Tcp,
            // Its window is stated, not a field of a header.
            evidence: Evidence::Model,
            start,
            initiator_side,
            complete: true,
            stated_rtt: Some(rtt),
            ends,
            adus: vec![adu(Side::Initiator), adu(Side::Acceptor)],
            close: Close::Fin(Side::Initiator),
            ..ConnectionVector::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::by_line;
    use crate::experiment::Experiment;

    fn probe(text: &str) -> Probe {
        toml::from_str(text).unwrap()
    }

    /// Of 64 bytes, by hand: 106 on the link as a datagram; 54 each as SYN, acknowledgement and FIN and 118 with data as a request.
    #[test]
    fn probes_offer_their_packets_with_headers() {
        for (text, bytes_each) in [("", 106.0), ("kind = \"requests\"", 280.0), ("kind = \"both\"", 386.0)] {
            assert_eq!(probe(text).offers(), 8.0 * bytes_each / 0.1, "{text}");
            assert_eq!(probe(&format!("{text}\nevery = \"10ms\"")).offers(), 8.0 * bytes_each / 0.01, "{text}");
        }
    }

    /// Each with its line, and all at once.
    #[test]
    fn errors_of_keys_name_key_and_bound() {
        let told = |keys: &str| match Experiment::parse(&format!("[probe]\n{keys}\n"), "x.toml") {
            Ok(_) => String::new(),
            Err(error) => by_line(error),
        };
        for (keys, wanted) in [
            ("every = \"0.5ms\"", "x.toml:2: probe.every"),
            ("every = \"0.5ms\"", "1ms"),
            ("payload = \"15b\"", "x.toml:2: probe.payload"),
            ("payload = \"1473b\"", "1472b"),
            ("rtt = \"2h\"", "x.toml:2: probe.rtt"),
            ("from = \"middle\"", "probe.from"),
            ("to = \"left\"", "x.toml"),
            ("kind = \"both-ways\"", "both-ways"),
            ("schedule = \"poison\"", "did you mean \"poisson\"?"),
            ("ever = \"1s\"", "did you mean \"every\"?"),
        ] {
            let told = told(keys);
            assert!(told.contains(wanted), "{keys}: {told:?}");
        }
        let all = told("every = \"0.5ms\"\npayload = \"15b\"\nrtt = \"2h\"");
        assert!([2, 3, 4].iter().all(|line| all.contains(&format!("x.toml:{line}: "))), "{all}");
        for keys in ["every = \"1ms\"", "payload = \"16b\"", "payload = \"1472b\"", "from = \"right\"\nto = \"left\""] {
            assert_eq!(told(keys), "", "{keys}");
        }
    }

    #[test]
    fn what_is_said_of_too_many_probes_is_enough() {
        let window = Duration::from_secs(1_001);
        let told = probe("every = \"1ms\"").check(window).unwrap_err().to_string();
        assert!(told.contains("1001000 probes") && told.ends_with("give 1001us or more"), "{told}");
        assert!(probe("every = \"1001us\"").check(window).is_ok());
    }
}
