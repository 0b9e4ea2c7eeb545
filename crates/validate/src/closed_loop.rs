//! The closed-loop check (methods A.13.11): a program and its replay change alike when the network does.
//!
//! Programs whose behaviour is known play in the simulator. What the extractor makes of them at the monitor is replayed. Then both run over
//! the same network, with round trips doubled, over a link four times as fast, and over one a quarter as fast, and the monitor's response
//! times and durations of both are set beside each other. A behaviour of the network that is taken for the program's, or one of the program
//! that is not found, shows in one of them.

use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::play::{Correction, ReplayModel, Waits, clocked_bytes};
use flowloom_core::queue::Discipline;
use flowloom_core::record::{Record, Recorder};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};
use flowloom_core::workload::{AckPolicy, Adu, Close, ConnectionVector, Endpoint, Pattern, Pause, PerSide, Side};
use flowloom_models::{settle, unsettle};
use flowloom_report::metric::Metric;
use flowloom_report::statistics::{Sample, tolerant_ks};
use flowloom_sim::{AsCaptured, Class, Config, LinkConfig};

use crate::check::{Effort, Expected, Row, Verdict};
use crate::profiles::payload;

const GROUP: &str = "Closed loop";
const SOURCE: &str = "methods A.13.11";
const MSS: u16 = 1_460;

/// Rate of the link, in bit/s, and the share of it that the programs of a run take.
const RATE: u64 = 20_000_000;
const LOAD: f64 = 0.15;

/// The largest distance; with a little slack, so that a distance of exactly one value in twenty is not lost to rounding.
const BAR: f64 = 0.05 + 1e-9;

/// Packets that wait at the link at most.
const DEEP: u64 = 2_000;
const SHORT: u64 = 60;

const PROFILES: [(&str, Profile); 3] =
    [("plain", Profile::Plain), ("linux", Profile::Linux), ("bsd-2008", Profile::Bsd2008)];

/// Where the monitor stands: the initiator's share of the round trip.
const PLACES: [(&str, f64); 3] = [("at the initiator", 0.02), ("in the middle", 0.5), ("at the acceptor", 0.98)];

/// What is done to the network, with what multiplies round trips and the rate of the link.
const NETWORKS: [(&str, u64, f64); 4] = [
    ("same network", 1, 1.0),
    ("round trips doubled", 2, 1.0),
    ("link four times as fast", 1, 4.0),
    ("link a quarter as fast", 1, 0.25),
];

/// What programs do.
struct Kind {
    name: &'static str,
    /// Adds what the ends do after the handshake.
    act: fn(&mut Program),
    /// Connections of a full check.
    connections: u64,
    queue: u64,
    /// Why rows may depart; nothing if they may not.
    why: &'static str,
}

impl Kind {
    const fn new(name: &'static str, act: fn(&mut Program)) -> Kind {
        Kind { name, act, connections: 1_000, queue: DEEP, why: "" }
    }

    const fn departs(self, why: &'static str) -> Kind {
        Kind { why, ..self }
    }
}

const ON_THE_WAY: &str = "a pause is not found that ends before what was sent is acknowledged, nor one behind a full segment without timestamps";
const TOO_SMALL: &str = "a window is not known if no response has two segments more, and is then the profile's";
const ALONE: &str =
    "without timestamps a message of one segment, larger than those before, is not told from a full segment";
const ALWAYS_WAITS: &str = "of a receiver whose acknowledgements all wait for its timer it is not known how many segments it acknowledges at once";

const KINDS: [Kind; 16] = [
    Kind::new("request and response", |program| program.take_turns(1e2, 1e5, |_, _| {})),
    Kind::new("writers in pieces of four segments", |program| program.take_turns(2e4, 2e5, Program::in_pieces))
        .departs(ON_THE_WAY),
    Kind::new("writers that pause for 5 to 480 ms", |program| program.take_turns(2e4, 2e5, Program::with_a_pause))
        .departs(ON_THE_WAY),
    Kind::new("writers that answer each other", Program::answer).departs(ALONE),
    Kind::new("both ways at once", Program::both_ways),
    Kind::new("first flights of 1 segment", |program| program.with_window(1)).departs(TOO_SMALL),
    Kind::new("first flights of 2 segments", |program| program.with_window(2)).departs(TOO_SMALL),
    Kind::new("first flights of 4 segments", |program| program.with_window(4)).departs(TOO_SMALL),
    Kind::new("first flights of 10 segments", |program| program.with_window(10)).departs(TOO_SMALL),
    Kind::new("first flights of 30 segments", |program| program.with_window(30)).departs(TOO_SMALL),
    Kind::new("every segment acknowledged", |program| program.acknowledge(1, None)),
    Kind::new("acknowledgements delayed by 40 ms", |program| program.acknowledge(2, Some(40))),
    Kind::new("acknowledgements delayed by 200 ms", |program| program.acknowledge(2, Some(200))),
    Kind::new("eight segments an acknowledgement", |program| program.acknowledge(8, None)).departs(ALWAYS_WAITS),
    Kind { connections: 400, ..Kind::new("bulk transfers", Program::bulk) },
    Kind { connections: 400, queue: SHORT, ..Kind::new("bulk transfers over a short queue", Program::bulk) },
];

/// A program at each end of a connection, in the making.
struct Program {
    vector: ConnectionVector,
    stream: Stream,
    /// Payload of a full segment.
    segment: u64,
}

impl Program {
    /// That of a connection over a round trip of 1 to 300 ms.
    fn new(id: u64, place: f64, tcp: &tcp::Config) -> Program {
        let mut stream = Stream::new(13, Purpose::Sizes, id);
        let rtt = log_uniform(&mut stream, 1e6, 300e6);
        let end = |share: f64| Endpoint {
            syn_seen: true,
            mss: Some(MSS),
            window_scale: Some(7),
            max_window: Some(1 << 20),
            min_transit: Some(Duration::from_nanos((rtt * share) as u64)),
            ..Endpoint::default()
        };
        let vector = ConnectionVector {
            id,
            complete: true,
            ends: PerSide { initiator: end(place), acceptor: end(1.0 - place) },
            close: Close::Fin(Side::Initiator),
            ..ConnectionVector::default()
        };
        Program { vector, stream, segment: payload(tcp, MSS.into()).into() }
    }

    fn log_uniform(&mut self, least: f64, most: f64) -> u64 {
        log_uniform(&mut self.stream, least, most) as u64
    }

    fn nanos(&mut self, least: f64, most: f64) -> Duration {
        Duration::from_nanos(self.log_uniform(least * 1e9, most * 1e9))
    }

    /// `side` sends a data unit. What comes next waits for so long: its other end in a connection that takes turns, else its own.
    fn send(&mut self, side: Side, bytes: u64, wait: Duration) {
        let waiter = if self.vector.pattern == Pattern::Sequential { side.other() } else { side };
        let adu = Adu { side, bytes, missing_bytes: 0, wait: Some(wait), waiter, seen: None, packets: None };
        self.vector.adus.push(adu);
    }

    /// One to five exchanges of requests and responses, with responses of so many bytes. `write` says how each is written.
    fn take_turns(&mut self, least: f64, most: f64, write: fn(&mut Program, u64)) {
        for _ in 0..1 + self.stream.below(5) {
            let (request, response) = (self.log_uniform(200.0, 2e3), self.log_uniform(least, most));
            let (server, user) = (self.nanos(1e-3, 0.3), self.nanos(0.01, 2.0));
            self.send(Side::Initiator, request, server);
            write(self, response);
            self.send(Side::Acceptor, response, user);
        }
    }

    /// A response of so many bytes, about to be sent, is written by four segments every 140 to 260 ms.
    fn in_pieces(&mut self, bytes: u64) {
        let (before, piece) = (self.vector.bytes(Side::Acceptor), 4 * self.segment);
        for at in 1..=(bytes - 1) / piece {
            let length = Duration::from_nanos((2e8 * (0.7 + 0.6 * self.stream.uniform())) as u64);
            self.vector.pauses.acceptor.push(Pause { after_bytes: before + at * piece, length, heard: None });
        }
    }

    /// It is written with one pause.
    fn with_a_pause(&mut self, bytes: u64) {
        let written = (bytes as f64 * (0.1 + 0.8 * self.stream.uniform())) as u64;
        let after_bytes = self.vector.bytes(Side::Acceptor) + written;
        let length = self.nanos(5e-3, 0.48);
        self.vector.pauses.acceptor.push(Pause { after_bytes, length, heard: None });
    }

    /// Both ends send a greeting at once, and then take turns.
    fn answer(&mut self) {
        self.vector.pattern = Pattern::Concurrent;
        let greeting = |program: &mut Program| program.log_uniform(50.0, 1e3);
        let mut sent = PerSide { initiator: greeting(self), acceptor: greeting(self) };
        for _ in 0..2 + self.stream.below(7) {
            for (side, most) in [(Side::Initiator, 2e3), (Side::Acceptor, 5e4)] {
                let pause =
                    Pause { after_bytes: sent[side], length: self.nanos(2e-3, 0.3), heard: Some(sent[side.other()]) };
                self.vector.pauses[side].push(pause);
                sent[side] += self.log_uniform(100.0, most);
            }
        }
        Side::BOTH.into_iter().for_each(|side| self.send(side, sent[side], Duration::ZERO));
    }

    /// Each end sends two to six data units of its own accord.
    fn both_ways(&mut self) {
        self.vector.pattern = Pattern::Concurrent;
        for _ in 0..2 + self.stream.below(5) {
            for side in Side::BOTH {
                let (bytes, wait) = (self.log_uniform(500.0, 1e5), self.nanos(0.01, 2.0));
                self.send(side, bytes, wait);
            }
        }
    }

    /// Responses of up to three initial windows and ten segments, where that of the acceptor is so many segments.
    fn with_window(&mut self, segments: u64) {
        self.vector.ends.acceptor.first_flight = Some(segments * self.segment);
        let most = (3 * segments + 10) * self.segment;
        self.take_turns(1e2, most as f64, |_, _| {});
    }

    /// The initiator acknowledges so many segments at once, and a last one after so many milliseconds.
    fn acknowledge(&mut self, segments: u32, millis: Option<u64>) {
        let delay = millis.map(Duration::from_millis);
        let policy = AckPolicy { prompt: 1, prompt_segments: segments, delay, ..AckPolicy::default() };
        self.vector.ends.initiator.acks = Some(policy);
        self.take_turns(1e3, 2e5, |_, _| {});
    }

    /// A transfer of 0.5 to 5 MB by either end.
    fn bulk(&mut self) {
        let (bytes, server) = (self.log_uniform(5e5, 5e6), self.nanos(1e-3, 0.3));
        let sizes = if self.vector.id.is_multiple_of(2) { [300, bytes] } else { [bytes, 300] };
        self.send(Side::Initiator, sizes[0], server);
        self.send(Side::Acceptor, sizes[1], Duration::ZERO);
    }
}

/// Between `least` and `most`, evenly by logarithm.
fn log_uniform(stream: &mut Stream, least: f64, most: f64) -> f64 {
    least * libm::pow(most / least, stream.uniform())
}

/// So many connections of a kind, that start at random and send what takes [`LOAD`] of the link.
fn programs(kind: &Kind, tcp: &tcp::Config, place: f64, connections: u64) -> Vec<ConnectionVector> {
    let make = |id: u64| {
        let mut program = Program::new(id, place, tcp);
        (kind.act)(&mut program);
        program.vector
    };
    let mut vectors: Vec<_> = (0..connections).map(make).collect();
    let bytes: u64 = vectors.iter().flat_map(|vector| Side::BOTH.map(|side| vector.bytes(side))).sum();
    let seconds = bytes as f64 * 8.0 / (LOAD * RATE as f64);
    let mut arrivals = Stream::new(13, Purpose::Arrivals, 0);
    let mut starts: Vec<_> = vectors.iter().map(|_| Duration::from_secs_f64(seconds * arrivals.uniform())).collect();
    starts.sort_unstable();
    for (vector, start) in vectors.iter_mut().zip(starts) {
        vector.start = Time::ZERO + start;
    }
    vectors
}

/// Keeps what the monitor saw.
#[derive(Default)]
struct Monitored(Vec<ConnectionVector>);

impl Recorder for Monitored {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        if let Record::Connection { monitor: Some(vector), .. } = record {
            self.0.push(vector.clone());
        }
        Ok(())
    }
}

/// What the monitor sees of `vectors` over a network, by start. Nothing if they cannot be played.
fn play(
    vectors: &[ConnectionVector],
    waits: Waits,
    tcp: &tcp::Config,
    queue: u64,
    (_, round_trips, rate): (&str, u64, f64),
) -> Vec<ConnectionVector> {
    let rate = Rate::from_bits_per_second((RATE as f64 * rate) as u64).unwrap_or(Rate::UNLIMITED);
    let mut config = Config::new(rate, Duration::from_secs(1_000_000));
    let queue = Discipline::DropTail(Limit::Packets(queue));
    config.bottleneck = LinkConfig { queue, ..LinkConfig::new(rate) };
    config.classes = vec![Class { tcp: tcp.clone(), as_captured: AsCaptured::ALL, ..Class::default() }];
    config.replay = ReplayModel::with_waits(waits);
    let changed = vectors.iter().map(|vector| {
        let mut vector = vector.clone();
        if round_trips > 1 {
            // Waits are of the program: transits in them are those of the monitored network.
            settle(&mut vector, waits);
            for side in Side::BOTH {
                let end = &mut vector.ends[side];
                end.min_transit = end.min_transit.map(|transit| transit * round_trips);
            }
            if waits == Waits::CORRECTED {
                unsettle(&mut vector);
            }
        }
        Ok::<_, Infallible>(vector)
    });
    let mut seen = Monitored::default();
    match flowloom_sim::run(changed, &config, &mut seen, |_| ControlFlow::Continue(())) {
        Ok(_) => {
            seen.0.sort_by_key(|vector| (vector.start, vector.id));
            seen.0
        }
        Err(_) => Vec::new(),
    }
}

/// Response times or durations, in nanoseconds.
fn sample(metric: Metric, vectors: &[ConnectionVector]) -> Sample {
    let nanos = |time: Duration| time.as_nanos() as f64;
    if metric == Metric::Duration {
        return vectors.iter().filter_map(ConnectionVector::duration).map(nanos).collect();
    }
    vectors.iter().flat_map(ConnectionVector::epochs).filter_map(|epoch| epoch.response_time()).map(nanos).collect()
}

/// How far a replay is from its program.
struct Distance {
    connections: usize,
    exchanges: usize,
    /// Share of the bytes that the clock releases in the replay.
    clocked: f64,
    /// The largest over all networks and both metrics, and where it is.
    largest: f64,
    at: String,
}

/// Plays programs and replays what the monitor makes of them.
fn distance(kind: &Kind, profile: Profile, place: f64, connections: u64) -> Distance {
    let tcp = tcp::Config::of(profile);
    // A program waits for as long as it is told to.
    let exactly = Waits { correct: Correction::None, ..Waits::CORRECTED };
    let programs = programs(kind, &tcp, place, connections);
    let inferred = play(&programs, exactly, &tcp, kind.queue, NETWORKS[0]);
    let model = ReplayModel::with_waits(Waits::CORRECTED);
    let clocked: u64 = inferred.iter().map(|vector| clocked_bytes(vector, &model)).sum();
    let bytes: u64 = inferred.iter().flat_map(|vector| Side::BOTH.map(|side| vector.bytes(side))).sum();
    let mut found = Distance {
        connections: inferred.len(),
        exchanges: sample(Metric::ResponseTime, &inferred).len(),
        clocked: clocked as f64 / bytes.max(1) as f64,
        largest: 0.0,
        at: String::new(),
    };
    for network in NETWORKS {
        let original = play(&programs, exactly, &tcp, kind.queue, network);
        let replay = play(&inferred, Waits::CORRECTED, &tcp, kind.queue, network);
        for metric in [Metric::ResponseTime, Metric::Duration] {
            let samples = [&original, &replay].map(|vectors| sample(metric, vectors));
            // A program whose ends do not take turns has no response times.
            if samples[0].is_empty() {
                continue;
            }
            // A sample that is missing is as far away as can be.
            let ks = tolerant_ks(&samples[0], &samples[1], metric.tolerance()).unwrap_or(1.0);
            if ks > found.largest || found.at.is_empty() {
                (found.largest, found.at) = (ks, format!("{}, {}", metric.plural(), network.0));
            }
        }
    }
    if found.at.is_empty() {
        found.largest = f64::NAN;
    }
    found
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = Vec::new();
    for (number, kind) in KINDS.iter().enumerate() {
        for (at, (profile_name, profile)) in PROFILES.into_iter().enumerate() {
            for (where_, (place_name, place)) in PLACES.into_iter().enumerate() {
                // The quick form looks at another corner of each kind.
                if !full && (at, where_) != (number % PROFILES.len(), (number / PROFILES.len()) % PLACES.len()) {
                    continue;
                }
                let connections = if full { kind.connections } else { kind.connections / 5 };
                let found = distance(kind, profile, place, connections);
                let name = format!(
                    "{}, {profile_name}, monitor {place_name}: {} connections, {} exchanges, {:.0} % by the clock: largest distance \
                     ({})",
                    kind.name,
                    found.connections,
                    found.exchanges,
                    100.0 * found.clocked,
                    found.at
                );
                let row = Row::new(GROUP, name, SOURCE, Expected::AtMost(BAR), found.largest);
                let departs = (row.verdict() == Verdict::Fails && !kind.why.is_empty()).then(|| kind.why.to_owned());
                rows.push(Row { departs, ..row });
            }
        }
    }
    rows
}
