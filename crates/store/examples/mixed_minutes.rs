//! Makes a workload of many kinds of connections, for live runs that are to be looked at closely: `make bench-live`.
//!
//! `cargo run --release -p flowloom-store --example mixed_minutes OUT.parquet [SECONDS [STARTS_A_SECOND [SEED]]]`
//!
//! Nothing in it is measured. It has every kind of vector in numbers that tell: exchanges of small and large data units, bulk either
//! way, typing, concurrent ends; closed by either end, aborted, left open; windows of 8 KiB to 1 MiB; segments of 536 to
//! 1,460 bytes; round trips of 10 to 250 ms. Ends that do not take turns wait longer than the quiet time by which a monitor tells
//! their data units apart. Five minutes and 15 starts a second by default.

use std::error::Error;
use std::path::Path;

use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, Endpoint, Evidence, LinkSide, Pattern, Side};
use flowloom_store::formats::Tally;
use flowloom_store::workload::{Provenance, TrafficFacts, WorkloadWriter};

const HELP: &str = "usage: mixed_minutes OUT.parquet [SECONDS [STARTS_A_SECOND [SEED]]]";

const ROUND_TRIPS_MS: [u64; 8] = [10, 12, 16, 24, 40, 70, 120, 250];
const SEGMENTS: [u16; 5] = [536, 1_000, 1_380, 1_460, 1_460];
/// The last one takes scaling.
const WINDOWS: [u64; 5] = [8 << 10, 16 << 10, 32 << 10, 65_535, 1 << 20];

/// What the ends of a connection do.
#[derive(Clone, Copy)]
enum Kind {
    /// A few exchanges of a request and a response of some kilobytes.
    Exchanges,
    /// One request, and a large response.
    Down,
    /// One large request, and a short response.
    Up,
    /// Many exchanges of some bytes.
    Typing,
    /// Both ends by themselves.
    Concurrent,
}

/// Of 20 connections, how many are of which kind.
const KINDS: [(Kind, usize); 5] =
    [(Kind::Exchanges, 10), (Kind::Down, 4), (Kind::Up, 2), (Kind::Typing, 2), (Kind::Concurrent, 2)];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, numbers @ ..] = &arguments[..] else { return Err(HELP.into()) };
    let number = |at: usize, otherwise: f64| numbers.get(at).map_or(Ok(otherwise), |text| text.parse::<f64>());
    let (seconds, rate) = (number(0, 300.0)?, number(1, 15.0)?);
    let seed = numbers.get(2).map_or(Ok(1), |text| text.parse())?;
    if !(seconds > 0.0 && rate > 0.0) || numbers.len() > 3 {
        return Err(HELP.into());
    }
    let mut writer = WorkloadWriter::create(Path::new(path))?;
    let (mut tally, mut arrivals) = (Tally::default(), Stream::new(seed, Purpose::Arrivals, 0));
    let mut at = arrivals.exponential(1.0 / rate);
    for id in 0.. {
        if at >= seconds {
            break;
        }
        let vector = Maker { random: Stream::new(seed, Purpose::Sizes, id) }.vector(id, at);
        tally.add(&vector);
        writer.write_owned(vector)?;
        at += arrivals.exponential(1.0 / rate);
    }
    let provenance = Provenance {
        tool: concat!("mixed_minutes ", env!("CARGO_PKG_VERSION")).to_owned(),
        options: [("seconds", seconds), ("starts_a_second", rate), ("seed", seed as f64)]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect(),
        ..Provenance::default()
    };
    let mut capture = tally.facts(Time::ZERO, Provenance::default(), &[]).capture;
    capture.duration_ns = Duration::from_secs_f64(seconds).as_nanos();
    writer.finish(provenance, capture, &TrafficFacts::default())?;
    Ok(())
}

/// Draws one connection.
struct Maker {
    random: Stream,
}

impl Maker {
    fn vector(&mut self, id: u64, at: f64) -> ConnectionVector {
        let kinds: Vec<Kind> = KINDS.iter().flat_map(|&(kind, count)| std::iter::repeat_n(kind, count)).collect();
        let kind = self.among(&kinds);
        let mut vector = ConnectionVector {
            id,
            start: Time::ZERO + Duration::from_secs_f64(at),
            evidence: Evidence::VectorFile,
            initiator_side: self.among(&[LinkSide::Left, LinkSide::Left, LinkSide::Right]),
            complete: true,
            stated_rtt: Some(Duration::from_millis(self.among(&ROUND_TRIPS_MS))),
            ..ConnectionVector::default()
        };
        for side in Side::BOTH {
            vector.ends[side] = Endpoint {
                syn_seen: true,
                mss: Some(self.among(&SEGMENTS)),
                max_window: Some(self.among(&WINDOWS)),
                ..Endpoint::default()
            };
        }
        match kind {
            Kind::Exchanges => {
                let exchanges = self.between(1, 8);
                self.exchanges(&mut vector, exchanges, (100, 1_500), (200, 20_000));
            }
            Kind::Down => self.exchanges(&mut vector, 1, (100, 800), (50_000, 1_000_000)),
            Kind::Up => self.exchanges(&mut vector, 1, (50_000, 500_000), (20, 300)),
            Kind::Typing => {
                let exchanges = self.between(10, 40);
                self.exchanges(&mut vector, exchanges, (1, 60), (1, 200));
            }
            Kind::Concurrent => self.concurrent(&mut vector),
        }
        vector.close = match self.between(1, 20) {
            1 => Close::NotSeen,
            2 | 3 => Close::Rst(Side::Initiator),
            4 => Close::Rst(Side::Acceptor),
            5..=11 => Close::Fin(Side::Initiator),
            _ => Close::Fin(Side::Acceptor),
        };
        vector.complete = vector.close != Close::NotSeen;
        vector.t_close = vector.complete.then(|| Duration::from_millis(100));
        vector
    }

    fn exchanges(&mut self, vector: &mut ConnectionVector, count: u64, request: (u64, u64), response: (u64, u64)) {
        for exchange in 1..=count {
            let (bytes, wait) = (self.spread(request), self.wait());
            vector.adus.push(adu(Side::Initiator, bytes, Some(wait), Side::Acceptor));
            let wait = (exchange < count).then(|| self.wait());
            let waiter = if wait.is_some() { Side::Initiator } else { Side::Acceptor };
            vector.adus.push(adu(Side::Acceptor, self.spread(response), wait, waiter));
        }
    }

    fn concurrent(&mut self, vector: &mut ConnectionVector) {
        vector.pattern = Pattern::Concurrent;
        let mut units: Vec<(Duration, Adu)> = Vec::new();
        for side in Side::BOTH {
            let (count, mut at) = (self.between(3, 8), Duration::ZERO);
            for place in 1..=count {
                // Longer than any round trip, and than what it takes to send a unit.
                let wait = (place < count).then(|| Duration::from_millis(self.between(700, 2_000)));
                units.push((at, adu(side, self.spread((100, 8_000)), wait, side)));
                at += wait.unwrap_or_default();
            }
        }
        units.sort_by_key(|(at, _)| *at);
        vector.adus = units.into_iter().map(|(_, adu)| adu).collect();
    }

    fn wait(&mut self) -> Duration {
        Duration::from_millis(self.spread((60, 3_000)))
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + (self.random.uniform() * (most - least + 1) as f64) as u64
    }

    /// Between these, the logarithm uniform.
    fn spread(&mut self, (least, most): (u64, u64)) -> u64 {
        (least as f64 * libm::pow(most as f64 / least as f64, self.random.uniform())) as u64
    }

    fn among<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.between(1, values.len() as u64) as usize - 1]
    }
}

fn adu(side: Side, bytes: u64, wait: Option<Duration>, waiter: Side) -> Adu {
    Adu { side, bytes, missing_bytes: 0, wait, waiter, seen: None, packets: None }
}
