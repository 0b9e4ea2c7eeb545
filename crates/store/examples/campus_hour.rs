//! Makes the workload of a busy campus link out of published statistics: an hour of it, or less, or a part of its load.
//!
//! `cargo run --release -p flowloom-store --example campus_hour OUT.parquet [SECONDS [SCALE [SEED]]]`
//!
//! The link is the one of a university of 2008: 4,683,892 connections an hour, 471 Mbit/s from the right and 202 from the
//! left, some 45,000 connections open at once (Aikat 2010). What is published of it is kept, value by value in
//! `docs/evidence/headline.md`; what is not is chosen here and named there. Connections are independent of each other and come
//! as a Poisson process, so that neither the bursts of their arrivals nor the likeness of one's exchanges is in it.
//!
//! Each connection is drawn by itself, in order of start, so that memory does not grow with the hour. Equal arguments
//! make equal vectors. Prints what came out as one JSON object.

use std::error::Error;
use std::path::Path;

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::sketch::Sketch;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, Endpoint, Evidence, LinkSide, Pattern, Side};
use flowloom_store::formats::Tally;
use flowloom_store::workload::{Provenance, TrafficFacts, WorkloadWriter};

const HELP: &str = "usage: campus_hour OUT.parquet [SECONDS [SCALE [SEED]]]";

/// Connections a second: 4,683,892 in an hour.
const ARRIVALS: f64 = 4_683_892.0 / 3_600.0;
/// Of them, concurrent ones: 115,045; and of all, concurrent ones without an end: 0.37 %.
const CONCURRENT: f64 = 115_045.0 / 4_683_892.0;
const CONCURRENT_OPEN: f64 = 0.0037;
/// Connections opened from the left, which makes 471 Mbit/s one way and 202 the other.
const FROM_LEFT: f64 = 0.83;
/// Sequential connections of a single epoch; the others have two and more, so that mean and deviation are 4 and 22.
const SINGLE: f64 = 0.6;
/// Largest segments, and how many ends take them: chosen so that there are 4.3e8 packets in an hour.
const SEGMENTS: [(f64, u16); 3] = [(0.07, 536), (0.15, 1_380), (1.0, 1_460)];
/// Link bytes of a packet without payload.
const HEADERS: u64 = 54;

/// Quantiles, and the bounded Pareto law that goes on behind the last of them.
struct Quantiles {
    /// (share at or below, value); between them the logarithm of the value is linear.
    points: &'static [(f64, f64)],
    shape: f64,
    largest: f64,
}

/// Bytes of a response: median 420, 20 % above 4 kB, 10 % above 13 kB, mean 11 kB.
const RESPONSES: Quantiles =
    Quantiles { points: &[(0.0, 20.0), (0.5, 420.0), (0.8, 4_000.0), (0.9, 13_000.0)], shape: 1.07, largest: 6.4e7 };
/// Bytes of a concurrent connection's ADU: median 208, 20 % above 1,400, 10 % above 6.8 kB, mean 5.9 kB.
const CONCURRENT_ADUS: Quantiles =
    Quantiles { points: &[(0.0, 10.0), (0.5, 208.0), (0.8, 1_400.0), (0.9, 6_800.0)], shape: 1.02, largest: 3.2e7 };
/// Bytes of a request: not published; as browsers of that time sent them.
const REQUESTS: Quantiles =
    Quantiles { points: &[(0.0, 40.0), (0.1, 150.0), (0.5, 400.0), (0.9, 900.0)], shape: 2.0, largest: 1e6 };
/// Milliseconds of the round trip: the thirty values of the DA model, each the mean of a thirtieth of what is left without
/// the first and the last hundredth; then what is known of the end: 3 % above 429, mean 80, deviation 210.
const ROUND_TRIPS: Quantiles = Quantiles {
    points: &[
        (0.0, 1.0),
        (0.026, 8.0),
        (0.092, 10.0),
        (0.157, 12.0),
        (0.206, 14.0),
        (0.255, 16.0),
        (0.288, 18.0),
        (0.320, 20.0),
        (0.353, 22.0),
        (0.386, 24.0),
        (0.418, 26.0),
        (0.451, 30.0),
        (0.484, 34.0),
        (0.516, 38.0),
        (0.549, 42.0),
        (0.582, 48.0),
        (0.614, 52.0),
        (0.647, 60.0),
        (0.680, 74.0),
        (0.712, 80.0),
        (0.745, 82.0),
        (0.778, 86.0),
        (0.810, 92.0),
        (0.843, 98.0),
        (0.876, 124.0),
        (0.908, 172.0),
        (0.941, 258.0),
        (0.970, 429.0),
        (0.990, 800.0),
    ],
    shape: 1.2,
    largest: 3_000.0,
};
/// Seconds: 16 % of the waits for a response, 44 % of those for the next request and 99 % of those of concurrent
/// connections last 500 ms and more. How long they are is chosen for a mean response time of 2.6 s and a mean duration of 33 s.
const SERVER_WAITS: Quantiles =
    Quantiles { points: &[(0.0, 0.0005), (0.42, 0.03), (0.84, 0.5)], shape: 0.55, largest: 900.0 };
const THINK_TIMES: Quantiles = Quantiles { points: &[(0.0, 0.005), (0.56, 0.5)], shape: 0.55, largest: 900.0 };
const CONCURRENT_WAITS: Quantiles = Quantiles { points: &[(0.0, 0.1), (0.01, 0.5)], shape: 1.3, largest: 60.0 };
/// Largest windows in KiB, which cluster at these values, and how many ends have them: the shares are not published.
const WINDOWS: [(f64, u64); 6] = [(0.02, 4), (0.06, 8), (0.14, 16), (0.20, 32), (0.24, 48), (1.0, 64)];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, numbers @ ..] = &arguments[..] else { return Err(HELP.into()) };
    let number = |at: usize, otherwise: f64| numbers.get(at).map_or(Ok(otherwise), |text| text.parse::<f64>());
    let (seconds, scale) = (number(0, 3_600.0)?, number(1, 1.0)?);
    let seed = numbers.get(2).map_or(Ok(1), |text| text.parse())?;
    if !(seconds > 0.0 && scale > 0.0) || numbers.len() > 3 {
        return Err(HELP.into());
    }
    let mut campus = Campus::new(seed, ARRIVALS * scale)?;
    let mut writer = WorkloadWriter::create(Path::new(path))?;
    let (mut tally, mut told) = (Tally::default(), Told::default());
    while let Some(vector) = campus.next_before(seconds) {
        tally.add(&vector);
        told.add(&vector);
        writer.write_owned(vector)?;
    }
    let provenance = Provenance {
        tool: concat!("campus_hour ", env!("CARGO_PKG_VERSION")).to_owned(),
        options: [("seconds", seconds), ("scale", scale), ("seed", seed as f64)]
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect(),
        ..Provenance::default()
    };
    let mut capture = tally.facts(Time::ZERO, Provenance::default(), &[]).capture;
    capture.duration_ns = Duration::from_secs_f64(seconds).as_nanos();
    writer.finish(provenance, capture, &TrafficFacts::default())?;
    println!("{}", told.to_json(seconds));
    Ok(())
}

/// The connections of the link, one after the other.
struct Campus {
    seed: u64,
    arrivals: Stream,
    /// Mean time between two, seconds.
    gap: f64,
    next: f64,
    id: u64,
    /// Epochs beyond the second of a connection with more than one.
    further: Distribution,
    /// ADUs beyond the first of each end of a concurrent connection, with and without an end.
    concurrent: [Distribution; 2],
}

impl Campus {
    fn new(seed: u64, rate: f64) -> Result<Campus, Box<dyn Error>> {
        let lognormal = |median, mean| Distribution::new(Law::Lognormal { median, mean });
        let mut arrivals = Stream::new(seed, Purpose::Arrivals, 0);
        let next = arrivals.exponential(1.0 / rate);
        Ok(Campus {
            seed,
            arrivals,
            gap: 1.0 / rate,
            next,
            id: 0,
            // Mean 7, of which half a one is lost when it is cut to whole numbers, and a deviation of 34.
            further: lognormal(1.35, 7.0)?,
            // 63 on average, so that 28 % of the bytes are theirs; most where nothing ends.
            concurrent: [lognormal(6.0, 19.0)?, lognormal(150.0, 300.0)?],
        })
    }

    /// The next one, if it starts before `end`.
    fn next_before(&mut self, end: f64) -> Option<ConnectionVector> {
        if self.next >= end {
            return None;
        }
        // One stream per connection: a longer hour begins with the shorter one.
        let mut random = Stream::new(self.seed, Purpose::Sizes, self.id);
        let mut vector = ConnectionVector {
            id: self.id,
            start: Time::ZERO + Duration::from_secs_f64(self.next),
            evidence: Evidence::VectorFile,
            initiator_side: if random.uniform() < FROM_LEFT { LinkSide::Left } else { LinkSide::Right },
            complete: true,
            stated_rtt: Some(Duration::from_secs_f64(ROUND_TRIPS.draw(&mut random) / 1e3)),
            ..ConnectionVector::default()
        };
        for side in Side::BOTH {
            vector.ends[side] = Endpoint {
                syn_seen: true,
                mss: Some(*among(&SEGMENTS, &mut random)),
                // Without window scaling the largest is 65,535.
                max_window: Some((*among(&WINDOWS, &mut random) << 10).min(65_535)),
                ..Endpoint::default()
            };
        }
        if random.uniform() < CONCURRENT {
            self.concurrent(&mut random, &mut vector)
        } else {
            self.sequential(&mut random, &mut vector)
        }
        self.id += 1;
        self.next += self.arrivals.exponential(self.gap);
        Some(vector)
    }

    fn sequential(&self, random: &mut Stream, vector: &mut ConnectionVector) {
        let epochs = if random.uniform() < SINGLE { 1 } else { 2 + self.further.sample(random) as usize };
        for epoch in 1..=epochs {
            let request = REQUESTS.bytes(random);
            let wait = SERVER_WAITS.wait(random);
            vector.adus.push(adu(Side::Initiator, request, Some(wait), Side::Acceptor));
            let response = RESPONSES.bytes(random);
            let wait = (epoch < epochs).then(|| THINK_TIMES.wait(random));
            let waiter = if wait.is_some() { Side::Initiator } else { Side::Acceptor };
            vector.adus.push(adu(Side::Acceptor, response, wait, waiter));
        }
        vector.close = Close::Fin(Side::Acceptor);
        vector.t_close = Some(Duration::ZERO);
    }

    fn concurrent(&self, random: &mut Stream, vector: &mut ConnectionVector) {
        let open = random.uniform() < CONCURRENT_OPEN / CONCURRENT;
        vector.pattern = Pattern::Concurrent;
        vector.complete = !open;
        let mut ends: Vec<(Duration, Adu)> = Vec::new();
        for side in Side::BOTH {
            let count = 1 + self.concurrent[usize::from(open)].sample(random) as usize;
            let mut at = Duration::ZERO;
            for place in 1..=count {
                let wait = (place < count).then(|| CONCURRENT_WAITS.wait(random));
                ends.push((at, adu(side, CONCURRENT_ADUS.bytes(random), wait, side)));
                at += wait.unwrap_or_default();
            }
        }
        // In the order of their starts, as a monitor would tell them.
        ends.sort_by_key(|(at, _)| *at);
        let last = ends.last().map_or(Side::Initiator, |(_, adu)| adu.side);
        vector.adus = ends.into_iter().map(|(_, adu)| adu).collect();
        if !open {
            vector.close = Close::Fin(last);
            vector.t_close = Some(Duration::ZERO);
        }
    }
}

impl Quantiles {
    fn draw(&self, random: &mut Stream) -> f64 {
        let u = random.uniform();
        let behind = self.points.partition_point(|(share, _)| *share <= u);
        match (self.points.get(behind.wrapping_sub(1)), self.points.get(behind)) {
            (Some(&(below, from)), Some(&(above, to))) => from * libm::pow(to / from, (u - below) / (above - below)),
            (Some(&(below, from)), None) => {
                // By inversion of the law cut off at the largest value.
                let rest = (1.0 - u) / (1.0 - below);
                let cut = libm::pow(from / self.largest, self.shape);
                from * libm::pow(rest * (1.0 - cut) + cut, -1.0 / self.shape)
            }
            (None, _) => 0.0,
        }
    }

    fn bytes(&self, random: &mut Stream) -> u64 {
        self.draw(random).max(1.0) as u64
    }

    fn wait(&self, random: &mut Stream) -> Duration {
        // Whole microseconds, as in files of vectors.
        Duration::from_micros((self.draw(random) * 1e6) as u64)
    }
}

/// One of `values`, each behind the share of those up to it; the last share is 1.
fn among<'a, T>(values: &'a [(f64, T)], random: &mut Stream) -> &'a T {
    let u = random.uniform();
    &values[values.partition_point(|(share, _)| *share <= u)].1
}

fn adu(side: Side, bytes: u64, wait: Option<Duration>, waiter: Side) -> Adu {
    Adu { side, bytes, missing_bytes: 0, wait, waiter, seen: None, packets: None }
}

/// What the published statistics are of the vectors made.
#[derive(Default)]
struct Told {
    connections: [u64; 2],
    /// By the side of the link they come from: payload, and bytes on the link without loss, acknowledgements for every
    /// second segment.
    payload: [u64; 2],
    link: [u64; 2],
    packets: u64,
    /// Payload of sequential and concurrent connections.
    of_pattern: [u64; 2],
    epochs: u64,
    epochs_squared: u64,
    single: u64,
    /// Responses, ADUs of concurrent connections.
    sizes: [Sizes; 2],
    /// Of responses, of requests, of concurrent connections: all, and those of 500 ms and more.
    waits: [(u64, u64); 3],
    round_trips: Sizes,
}

#[derive(Default)]
struct Sizes {
    sum: f64,
    sketch: Sketch,
}

impl Sizes {
    fn add(&mut self, value: u64) {
        self.sum += value as f64;
        self.sketch.add(value);
    }

    fn to_json(&self, unit: f64) -> String {
        let distribution = self.sketch.empirical();
        let quantile = |p| distribution.quantile(p).map_or(0.0, |value| value as f64 / unit);
        format!(
            "{{\"median\": {:.1}, \"q80\": {:.1}, \"q90\": {:.1}, \"q97\": {:.1}, \"mean\": {:.1}}}",
            quantile(0.5),
            quantile(0.8),
            quantile(0.9),
            quantile(0.97),
            self.sum / unit / self.sketch.count().max(1) as f64
        )
    }
}

impl Told {
    fn add(&mut self, vector: &ConnectionVector) {
        let concurrent = usize::from(vector.pattern == Pattern::Concurrent);
        self.connections[concurrent] += 1;
        self.round_trips.add(vector.stated_rtt.unwrap_or_default().as_nanos());
        // The handshake, and two FINs with their acknowledgements.
        let sides = [vector.initiator_side, vector.initiator_side.other()].map(|side| side as usize);
        self.link[sides[0]] += 62 + 3 * HEADERS;
        self.link[sides[1]] += 62 + 2 * HEADERS;
        self.packets += 7;
        for (at, adu) in vector.adus.iter().enumerate() {
            let (from, to) = if adu.side == Side::Initiator { (sides[0], sides[1]) } else { (sides[1], sides[0]) };
            let segments = adu.bytes.div_ceil(vector.ends[adu.side.other()].mss.map_or(1_460, u64::from));
            let acknowledgements = segments / 2;
            self.payload[from] += adu.bytes;
            self.of_pattern[concurrent] += adu.bytes;
            self.link[from] += adu.bytes + HEADERS * segments;
            self.link[to] += HEADERS * acknowledgements;
            self.packets += segments + acknowledgements;
            if concurrent == 1 || adu.side == Side::Acceptor {
                self.sizes[concurrent].add(adu.bytes);
            }
            if let Some(wait) = adu.wait {
                let (all, long) = &mut self.waits[if concurrent == 1 { 2 } else { at % 2 }];
                *all += 1;
                *long += u64::from(wait >= Duration::from_millis(500));
            }
        }
        if concurrent == 0 {
            let epochs = vector.adus.len() as u64 / 2;
            self.epochs += epochs;
            self.epochs_squared += epochs * epochs;
            self.single += u64::from(epochs == 1);
        }
    }

    fn to_json(&self, seconds: f64) -> String {
        let megabits = |bytes: [u64; 2]| bytes.map(|bytes| (8e-5 * bytes as f64 / seconds).round() / 10.0);
        let [sequential, concurrent] = self.connections.map(|count| count as f64);
        let mean = self.epochs as f64 / sequential;
        let long = self.waits.map(|(all, long)| (1e3 * long as f64 / all.max(1) as f64).round() / 10.0);
        format!(
            "{{\"sequential\": {sequential}, \"concurrent\": {concurrent}, \"link_mbit_per_s_from_left_right\": {:?}, \
             \"payload_mbit_per_s\": {:?}, \"gigabytes_sequential_concurrent\": {:?}, \"packets\": {}, \"epochs_mean\": {mean:.2}, \
             \"epochs_sd\": {:.1}, \"single_epoch_percent\": {:.1}, \"response_bytes\": {}, \
             \"concurrent_adu_bytes\": {}, \"rtt_ms\": {}, \"waits_of_500_ms_percent\": {long:?}}}",
            megabits(self.link),
            megabits(self.payload),
            self.of_pattern.map(|bytes| (bytes as f64 / 1e8).round() / 10.0),
            self.packets,
            (self.epochs_squared as f64 / sequential - mean * mean).sqrt(),
            100.0 * self.single as f64 / sequential,
            self.sizes[0].to_json(1.0),
            self.sizes[1].to_json(1.0),
            self.round_trips.to_json(1e6),
        )
    }
}
