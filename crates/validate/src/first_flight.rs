//! First-flight windows and acknowledgement policies that the observer infers, beside those that the ends of simulated connections had
//! (methods A.13.2 and A.13.3).

use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::path::{Reorder, Reordering};
use flowloom_core::play::{ReplayModel, Waits};
use flowloom_core::queue::Discipline;
use flowloom_core::record::{Record, Recorder};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::{Config, InitialWindow, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Probability, Rate};
use flowloom_core::workload::{AckPolicy, Adu, Close, ConnectionVector, Endpoint, PerSide, Repeated, Segments, Side};

use crate::check::{Effort, Expected, Row};
use crate::profiles::payload;

const GROUP: &str = "First flights";
const MSS: u16 = 1_460;
/// Initial windows in segments.
const WINDOWS: [u16; 6] = [1, 2, 3, 4, 10, 30];
/// Round-trip times in milliseconds.
const ROUND_TRIPS: [u64; 6] = [1, 3, 10, 30, 100, 300];
const PROFILES: [(&str, Profile); 4] =
    [("plain", Profile::Plain), ("rfc", Profile::Rfc), ("linux", Profile::Linux), ("bsd-2008", Profile::Bsd2008)];

/// What is done to the network of a run.
type Change = fn(&mut flowloom_sim::Config);

/// What was inferred of the acceptors, beside the truth.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// Connections whose response has two segments or more behind its window.
    large: u64,
    /// Windows of them that are known, and those that are exact.
    known: u64,
    exact: u64,
    /// Windows that are known although the response is no larger.
    of_small: u64,
}

impl Found {
    fn add(&mut self, other: Found) {
        self.large += other.large;
        self.known += other.known;
        self.exact += other.exact;
        self.of_small += other.of_small;
    }

    fn wrong(&self) -> f64 {
        (self.known - self.exact + self.of_small) as f64
    }
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

/// Connections of one request and one response of up to three windows, whose monitor stands beside either end or in the middle.
fn workload(tcp: &Config, window: u16, each: u64) -> Vec<ConnectionVector> {
    let segment = u64::from(payload(tcp, MSS.into()));
    let mut sizes = Stream::new(1, Purpose::ResponseSizes, u64::from(window));
    let mut vectors = Vec::new();
    for rtt in ROUND_TRIPS {
        for shares in [[0, 2], [1, 1], [2, 0]] {
            for _ in 0..each {
                let id = vectors.len() as u64;
                let [initiator, acceptor] = shares.map(|share| Duration::from_micros(rtt * 500 * share));
                let end = |transit| Endpoint {
                    syn_seen: true,
                    mss: Some(MSS),
                    max_window: Some(1 << 20),
                    window_scale: Some(5),
                    min_transit: Some(transit),
                    segments: Some(losses()),
                    ..Endpoint::default()
                };
                let adu = |side, bytes| Adu {
                    side,
                    bytes,
                    missing_bytes: 0,
                    wait: None,
                    waiter: side,
                    seen: None,
                    packets: None,
                };
                let response = 1 + sizes.below(3 * segment * u64::from(window) + 4 * segment);
                vectors.push(ConnectionVector {
                    id,
                    start: Time::ZERO + Duration::from_millis(200 * id),
                    ends: PerSide { initiator: end(initiator), acceptor: end(acceptor) },
                    close: Close::Fin(Side::Acceptor),
                    adus: vec![
                        Adu { wait: Some(acceptor), waiter: Side::Acceptor, ..adu(Side::Initiator, 300) },
                        adu(Side::Acceptor, response),
                    ],
                    ..ConnectionVector::default()
                });
            }
        }
    }
    vectors
}

/// Two percent before the monitor and as many behind it, where losses are replayed.
fn losses() -> Segments {
    let repeated = Repeated { timeout: 20, ..Repeated::default() };
    Segments { data: 1_020, duplicates: 20, late: 20, lost_before: 20, repeated, ..Segments::default() }
}

/// What the monitor makes of a workload.
fn monitored(tcp: &Config, vectors: Vec<ConnectionVector>, change: Change) -> Vec<ConnectionVector> {
    let rate = Rate::from_bits_per_second(1_000_000_000).unwrap_or(Rate::UNLIMITED);
    let mut config = flowloom_sim::Config::new(rate, Duration::from_secs(100_000));
    config.replay = ReplayModel::with_waits(Waits::CORRECTED);
    config.classes[0].tcp = tcp.clone();
    change(&mut config);
    let mut seen = Monitored::default();
    let ran = flowloom_sim::run(vectors.into_iter().map(Ok::<_, Infallible>), &config, &mut seen, |_| {
        ControlFlow::Continue(())
    });
    if ran.is_err() {
        return Vec::new();
    }
    seen.0
}

/// Windows found of connections with this initial window.
fn found(tcp: &Config, window: u16, each: u64, change: Change) -> Found {
    let tcp = Config { initial_window: InitialWindow::Segments(window), ..tcp.clone() };
    let truth = u64::from(window) * u64::from(payload(&tcp, MSS.into()));
    let enough = truth + u64::from(payload(&tcp, MSS.into())) + 1;
    let mut found = Found::default();
    for vector in monitored(&tcp, workload(&tcp, window, each), change) {
        let (response, seen) = (vector.bytes(Side::Acceptor), vector.ends.acceptor.first_flight);
        if response <= truth {
            found.of_small += u64::from(seen.is_some());
        } else {
            found.large += u64::from(response >= enough);
            found.known += u64::from(seen.is_some());
            found.exact += u64::from(seen == Some(truth));
        }
    }
    found
}

/// Of all windows, or of those above so many segments.
fn of_all(tcp: &Config, above: u16, each: u64, change: Change) -> Found {
    let mut sum = Found::default();
    for window in WINDOWS.into_iter().filter(|window| *window > above) {
        sum.add(found(tcp, window, each, change));
    }
    sum
}

/// Connections replayed with windows and acknowledgements of their own, of which the monitor should find the same: all of them, those with
/// their window, and those with their segments per acknowledgement.
fn again(tcp: &Config, each: u64) -> [u64; 3] {
    let segment = u64::from(payload(tcp, MSS.into()));
    let mut vectors = workload(tcp, 1, each);
    let habits = |id: u64| (u64::from(WINDOWS[id as usize % WINDOWS.len()]), 1 + (id / 6 % 3) as u32);
    for vector in &mut vectors {
        let (window, every) = habits(vector.id);
        vector.adus[1].bytes = (window + 10) * segment;
        vector.ends.acceptor.first_flight = Some(window * segment);
        vector.ends.initiator.acks = Some(AckPolicy { prompt: 1, prompt_segments: every, ..AckPolicy::default() });
    }
    let mut counts = [0; 3];
    for vector in monitored(tcp, vectors, |_| {}) {
        let (window, every) = habits(vector.id);
        counts[0] += 1;
        counts[1] += u64::from(vector.ends.acceptor.first_flight == Some(window * segment));
        let AckPolicy { quick, prompt, prompt_segments, .. } = vector.ends.initiator.acks.unwrap_or_default();
        // One at a time they are all quick.
        let seen = (prompt_segments + prompt / 2).checked_div(prompt).unwrap_or(u32::from(quick > 0));
        counts[2] += u64::from(seen == every);
    }
    counts
}

fn share(share: f64) -> Probability {
    Probability::new(share).unwrap_or(Probability::ZERO)
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let each = if effort == Effort::Full { 20 } else { 1 };
    let mut rows = Vec::new();
    let row = |rows: &mut Vec<Row>, name: String, source: &str, expected: Expected, ours: f64| {
        rows.push(Row::new(GROUP, name, source, expected, ours));
    };
    for (name, profile) in PROFILES {
        for (delayed, words) in [(true, "delayed ACKs"), (false, "every segment acknowledged")] {
            let mut tcp = Config::of(profile);
            if !delayed {
                (tcp.delayed_ack, tcp.quick_acks) = (None, 0);
            }
            let clear = of_all(&tcp, 0, each, |_| {});
            let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
            let what = format!("{name}, {words}");
            let exact = format!("{what}: windows of 1 to 30 segments found exactly, of {} known", clear.known);
            row(&mut rows, exact, "methods A.13.2", Expected::AtLeast(0.99), ratio(clear.exact, clear.known));
            let known = format!("{what}: windows known, of {} responses that are larger", clear.large);
            row(&mut rows, known, "methods A.13.2", Expected::AtLeast(0.8), ratio(clear.known, clear.large));
            row(
                &mut rows,
                format!("{what}: windows known of smaller responses"),
                "methods A.13.2",
                Expected::Exactly(0.0),
                clear.of_small as f64,
            );
        }
        for (words, change) in ROUGH {
            let rough = of_all(&Config::of(profile), 0, each, change);
            let what = format!("{name}, {words}: wrong windows, of {} known", rough.known);
            row(&mut rows, what, "methods A.13.2", Expected::AtMost(0.01 * rough.known as f64), rough.wrong());
        }
    }
    for (name, profile) in PROFILES {
        let [all, windows, acks] = again(&Config::of(profile), 2 * each);
        let ratio = |part: u64| part as f64 / all.max(1) as f64;
        let what = format!("{name}, replayed: windows found again, of {all}");
        row(&mut rows, what, "methods A.13.2", Expected::AtLeast(0.9), ratio(windows));
        let what = format!("{name}, replayed: segments per acknowledgement found again, of {all}");
        let again = Row::new(GROUP, what, "methods A.13.3", Expected::AtLeast(0.9), ratio(acks));
        let departs = (profile == Profile::Linux)
            .then(|| "what a Linux receiver acknowledges beside its policy is not told from it yet".to_owned());
        rows.push(Row { departs, ..again });
    }
    let paced = Config { pacing: true, ..Config::of(Profile::Linux) };
    let found = of_all(&paced, 0, each, |_| {});
    let name = format!("linux, paced from the first round trip on: wrong windows, of {} known", found.known);
    row(&mut rows, name, "methods A.13.2", Expected::AtMost(0.01 * found.known as f64), found.wrong());
    rows
}

/// Networks that lose, overtake and hold up.
const ROUGH: [(&str, Change); 4] = [
    ("2 % lost before the monitor and behind it", |config| {
        config.rules = config.rules.clone().with_measured_loss(true);
    }),
    ("5 % overtaken", |config| {
        for path in &mut config.path {
            let manner = Reordering::Late(Duration::from_millis(2));
            path.reorder = Some(Reorder { share: share(0.05), gap: 1, manner });
        }
    }),
    ("5 Mbit/s", |config| {
        config.bottleneck.rate = Rate::from_bits_per_second(5_000_000).unwrap_or(Rate::UNLIMITED);
    }),
    ("5 Mbit/s, full queue of 20 packets", |config| {
        config.bottleneck.rate = Rate::from_bits_per_second(5_000_000).unwrap_or(Rate::UNLIMITED);
        config.bottleneck.queue = Discipline::DropTail(Limit::Packets(20));
    }),
];
