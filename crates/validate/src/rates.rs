//! Sender rates (methods A.13.5): none is found of ends that send as fast as their TCP lets them, over links that are full, and those of ends
//! that hold back are.
//!
//! A link that is full spaces packets as evenly as a sender that paces them, and a sender that follows its acknowledgements is as even as
//! they are. A rate that is the link's would be replayed beside the link, and would stay when an experiment has a faster one.

use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::distribution::Distribution;
use flowloom_core::path::{BucketConfig, Rule, Rules};
use flowloom_core::queue::{Discipline, FqCodelParams, PieParams};
use flowloom_core::record::{Record, Recorder};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::congestion::{Algorithm, CubicParameters};
use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};
use flowloom_core::workload::{Adu, Close, ConnectionVector, Endpoint, LinkSide, Pattern, PerSide, Side};
use flowloom_sim::{Class, Config, LinkConfig, LinkNumber, Way};

use crate::check::{Effort, Expected, Row};
use crate::writes::{LARGE, PLACES, log_uniform};

const GROUP: &str = "Sender rates";

const SOURCE: &str = "methods A.13.5";

/// What the full link carries, in bit/s.
const FULL: u64 = 10_000_000;

/// What links carry that are not full.
const FREE: u64 = 1_000_000_000;

/// What the path of ends that hold back carries.
const PATH: u64 = 50_000_000;

/// ADUs of one connection over full links.
const ADUS: u64 = 3;

/// What senders over a full link want to send.
struct Load {
    name: &'static str,
    /// The share of what the link carries: all of it and more, or so little that most of them have it for themselves.
    share: f64,
    /// Sizes of their ADUs, in bytes.
    sizes: [f64; 2],
    /// One of so many ADUs is played.
    one_of: u64,
}

const LOADS: [Load; 3] = [
    Load { name: "many at once", share: 1.05, sizes: [15e3, 2e6], one_of: 1 },
    Load { name: "one at a time", share: 0.3, sizes: [15e3, 2e6], one_of: 1 },
    Load { name: "one at a time for up to a minute", share: 0.3, sizes: [5e6, 60e6], one_of: 100 },
];

impl Load {
    /// The mean size of an ADU, in bytes.
    fn mean(&self) -> f64 {
        let [least, most] = self.sizes;
        (most - least) / libm::log(most / least)
    }
}

/// Who is held back sends for so many seconds at most.
const LONGEST: f64 = 6.0;

/// A rate is right if it is off by no more than this share.
const EXACT: f64 = 0.05;

/// Where the full link is, seen from the sender.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Position {
    Before,
    At,
    Behind,
}

const POSITIONS: [(&str, Position); 3] = [
    ("before the monitor", Position::Before),
    ("at the monitor", Position::At),
    ("behind the monitor", Position::Behind),
];

fn queues() -> [(&'static str, Discipline); 3] {
    [
        ("drop-tail", Discipline::DropTail(Limit::Packets(100))),
        ("PIE", Discipline::Pie(PieParams::default())),
        ("FQ-CoDel", Discipline::FqCodel(FqCodelParams::default())),
    ]
}

/// Every TCP that senders over full links have.
fn senders() -> Vec<tcp::Config> {
    let algorithms = [Algorithm::Cubic(CubicParameters::default()), Algorithm::NewReno, Algorithm::Bbr];
    let profiles = [Profile::Linux, Profile::Rfc, Profile::Bsd2008];
    let with = |profile| algorithms.clone().map(|congestion| tcp::Config { congestion, ..tcp::Config::of(profile) });
    profiles.into_iter().flat_map(with).collect()
}

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).unwrap_or(Rate::UNLIMITED)
}

/// A network whose link `queue` fills, for senders on the left.
fn full(position: Position, queue: &Discipline, tcp: &tcp::Config, seconds: f64) -> Config {
    let slow = LinkConfig { queue: queue.clone(), ..LinkConfig::new(rate(FULL)) };
    let mut config = Config::new(rate(FREE), Duration::from_secs_f64(seconds));
    config.classes = vec![Class { tcp: tcp.clone(), ..Class::default() }];
    let own = LinkNumber::bottleneck(LinkSide::Left);
    let other = LinkNumber::other(0);
    let there = match position {
        Position::At => {
            config.bottleneck = slow;
            return config;
        }
        Position::Before => [other, own],
        Position::Behind => [own, other],
    };
    config.links = vec![slow];
    config.classes[0].way = Way { there: there.into(), back: [LinkNumber::bottleneck(LinkSide::Right)].into() };
    config
}

/// The end of a program with this share of a round trip.
fn end(rtt: f64, share: f64) -> Endpoint {
    Endpoint {
        syn_seen: true,
        mss: Some(1_460),
        window_scale: Some(9),
        max_window: Some(8 << 20),
        min_transit: Some(Duration::from_nanos((rtt * share) as u64)),
        timestamps: Some(true),
        sack: Some(true),
        ..Endpoint::default()
    }
}

/// A program whose initiator sends an ADU of these sizes after each other, for 300 bytes each.
fn program(id: u64, start: f64, place: f64, rtt: f64, stream: &mut Stream, sizes: &[u64]) -> ConnectionVector {
    let mut vector = ConnectionVector {
        id,
        start: Time::ZERO + Duration::from_secs_f64(start),
        pattern: Pattern::Sequential,
        complete: true,
        ends: PerSide { initiator: end(rtt, place), acceptor: end(rtt, 1.0 - place) },
        close: Close::Fin(Side::Initiator),
        ..ConnectionVector::default()
    };
    for size in sizes {
        for (side, bytes) in [(Side::Initiator, *size), (Side::Acceptor, 300)] {
            let wait = Some(Duration::from_secs_f64(log_uniform(stream, 1e-3, 2.0)));
            let (waiter, seen, packets) = (side.other(), None, None);
            vector.adus.push(Adu { side, bytes, missing_bytes: 0, wait, waiter, seen, packets });
        }
    }
    vector
}

/// Programs without a rate, and how long they take.
fn unlimited(place: f64, connections: u64, load: &Load) -> (Vec<ConnectionVector>, f64) {
    let per_second = load.share * FULL as f64 / 8.0 / load.mean() / ADUS as f64;
    let [least, most] = load.sizes;
    let make = |id: u64| {
        let mut stream = Stream::new(13, Purpose::Sizes, id);
        let rtt = log_uniform(&mut stream, 1e6, 300e6);
        let sizes = [(); ADUS as usize].map(|()| log_uniform(&mut stream, least, most) as u64);
        program(id, id as f64 / per_second, place, rtt, &mut stream, &sizes)
    };
    ((0..connections).map(make).collect(), connections as f64 / per_second + 120.0)
}

/// How the senders of [`held_back`] are held back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// They pace what they send.
    Paced,
    /// A bucket of 40 kB drops what is faster.
    Policed,
    /// Each has a link of its own before the monitor.
    BehindALink,
}

/// Programs that are held back to 0.2 to 0.8 of what the path carries, one after the other, and how long they take: an ADU takes 20 to 400 round
/// trips, and [`LONGEST`] seconds at most.
fn held_back(place: f64, connections: u64) -> (Vec<ConnectionVector>, f64) {
    let mut start = 0.0;
    let make = |id: u64| {
        let mut stream = Stream::new(14, Purpose::Sizes, id);
        let rtt = log_uniform(&mut stream, 10e6, 200e6);
        let bits = PATH as f64 * (0.2 + 0.6 * stream.uniform());
        let took = f64::min(log_uniform(&mut stream, 20.0, 400.0) * rtt / 1e9, LONGEST);
        let mut vector = program(id, start, place, rtt, &mut stream, &[(bits / 8.0 * took) as u64]);
        vector.ends.initiator.rate = Some(bits as u64);
        start += 1.2 * took + 2.0;
        vector
    };
    let vectors = (0..connections).map(make).collect();
    (vectors, start + 120.0)
}

/// What was found of what there was.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// Large ADUs, and rates of ends that have none.
    large: u64,
    wrong: u64,
    /// Ends that are held back, those whose rate is known, and those of them whose rate is right.
    held: u64,
    known: u64,
    exact: u64,
    /// Those that sent for 100 round trips and two seconds, and those of them whose rate is right.
    long: u64,
    long_exact: u64,
}

impl Recorder for Found {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        let Record::Connection { original, ended, monitor: Some(seen), .. } = record else { return Ok(()) };
        self.large += seen.adus.iter().filter(|adu| adu.bytes > LARGE).count() as u64;
        for side in Side::BOTH {
            let found = seen.ends[side].rate;
            let Some(rate) = original.ends[side].rate else {
                self.wrong += u64::from(found.is_some());
                continue;
            };
            let took = seen.bytes(side) as f64 * 8.0 / rate as f64;
            let is_long = took >= 100.0 * ended.rtt.as_secs_f64() && took >= 2.0;
            let is_exact = found.is_some_and(|found| (found as f64 / rate as f64 - 1.0).abs() <= EXACT);
            self.held += 1;
            self.known += u64::from(found.is_some());
            self.exact += u64::from(is_exact);
            self.long += u64::from(is_long);
            self.long_exact += u64::from(is_long && is_exact);
        }
        Ok(())
    }
}

impl Found {
    fn add(&mut self, other: Found) {
        let Found { large, wrong, held, known, exact, long, long_exact } = other;
        self.large += large;
        self.wrong = self.wrong.saturating_add(wrong);
        self.held += held;
        self.known += known;
        self.exact += exact;
        self.long += long;
        self.long_exact += long_exact;
    }
}

fn play(vectors: Vec<ConnectionVector>, config: &Config) -> Found {
    let mut found = Found::default();
    let run = flowloom_sim::run(vectors.into_iter().map(Ok::<_, Infallible>), config, &mut found, |_| {
        ControlFlow::Continue(())
    });
    match run {
        Ok(_) => found,
        Err(_) => Found { wrong: u64::MAX, ..Found::default() },
    }
}

/// Senders without a rate over a full link, so many of each TCP.
fn over_full(position: Position, queue: &Discipline, load: &Load, adus: u64, places: &[(&str, f64)]) -> Found {
    let mut all = Found::default();
    for (number, tcp) in senders().iter().enumerate() {
        let (_, place) = places[number % places.len()];
        let (vectors, seconds) = unlimited(place, (adus / ADUS / load.one_of).max(1), load);
        all.add(play(vectors, &full(position, queue, tcp, seconds)));
    }
    all
}

/// Senders that are held back, so many at each place.
fn of_held(held: Held, profile: Profile, connections: u64, places: &[(&str, f64)]) -> Found {
    let mut all = Found::default();
    for (_, place) in places {
        let (mut vectors, seconds) = held_back(*place, connections);
        let mut config = Config::new(rate(PATH), Duration::from_secs_f64(seconds));
        config.classes = vec![Class { tcp: tcp::Config::of(profile), ..Class::default() }];
        config.replay.rate = held == Held::Paced;
        let slowest = vectors.iter().filter_map(|vector| vector.ends.initiator.rate).min().unwrap_or(PATH);
        match held {
            Held::Paced => {}
            // One bucket and one link for all: these have one rate.
            Held::Policed => config.bottleneck.policer = BucketConfig::new(rate(slowest), 40_000).ok(),
            Held::BehindALink => {
                let own = Rule { rate: Distribution::constant(slowest as f64).ok(), ..Rule::default() };
                config.rules = Rules::new(vec![own]);
            }
        }
        if held != Held::Paced {
            vectors.iter_mut().for_each(|vector| vector.ends.initiator.rate = Some(slowest));
        }
        all.add(play(vectors, &config));
    }
    all
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let is_full = effort == Effort::Full;
    let (adus, connections, places) = if is_full { (1_200, 60, &PLACES[..]) } else { (3, 4, &PLACES[1..2]) };
    let mut rows = Vec::new();
    for (queue, discipline) in queues() {
        for (where_, position) in POSITIONS {
            for load in LOADS.iter().filter(|load| is_full || load.one_of == 1) {
                let found = over_full(position, &discipline, load, adus, places);
                let how = load.name;
                let name = format!(
                    "full {queue} {where_}, {how}: rates found in 1,000 of {} large data units of unlimited senders",
                    found.large
                );
                let ours = found.wrong as f64 * 1e3 / found.large as f64;
                rows.push(Row::new(GROUP, name, SOURCE, Expected::AtMost(1.0), ours));
            }
        }
    }
    for (name, profile) in [("linux", Profile::Linux), ("rfc", Profile::Rfc), ("bsd-2008", Profile::Bsd2008)] {
        let found = of_held(Held::Paced, profile, connections, places);
        let share = |part: u64, whole: u64| part as f64 / whole as f64;
        let what = format!("{name}, paced at 0.2 to 0.8 of the path's rate: of {}", found.long);
        let long = format!("{what} that send for 100 round trips and 2 s, share found within 5 %");
        rows.push(Row::new(GROUP, long, SOURCE, Expected::AtLeast(0.9), share(found.long_exact, found.long)));
        let what = format!("{name}, paced, 20 to 400 round trips: of {}, share found within 5 %", found.held);
        rows.push(Row::new(GROUP, what, "no bar", Expected::AtLeast(0.0), share(found.exact, found.held)));
        let what = format!("{name}, paced: of {} rates found, wrong by more than 5 %", found.known);
        rows.push(Row::new(GROUP, what, SOURCE, Expected::Exactly(0.0), (found.known - found.exact) as f64));
    }
    for (name, held) in [("a policer that drops", Held::Policed), ("a slow link before the monitor", Held::BehindALink)]
    {
        let found = of_held(held, Profile::Linux, connections / 4, places);
        let what = format!("{name}: of {} senders, rates found that are wrong by more than 5 %", found.held);
        rows.push(Row::new(GROUP, what, SOURCE, Expected::Exactly(0.0), (found.known - found.exact) as f64));
        let what = format!("{name}: share found within 5 %");
        let ours = found.exact as f64 / found.held as f64;
        rows.push(Row::new(GROUP, what, "no bar", Expected::AtLeast(0.0), ours));
    }
    rows
}
