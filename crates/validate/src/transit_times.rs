//! Transit times above the minimum (methods A.13.9): their distribution, and delays before the monitor that the sender's clock tells.
//!
//! Connections cross paths whose delays are known, the extractor watches them at the monitor, and what it finds is set beside the truth.

use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::path::Jitter;
use flowloom_core::record::{Record, Recorder};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::transits::{Ends, TransitModel, delay_of};
use flowloom_core::units::Rate;
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, Endpoint, ExtraDelay, LinkSide, PerSide, Side, TransitQuantiles,
};
use flowloom_sim::{Class, Config};

use crate::check::{Effort, Expected, Row};

const GROUP: &str = "Transit times";

const SOURCE: &str = "methods A.13.9";

/// Where the monitor stands: the initiator's share of the round trip.
const PLACES: [(&str, f64); 3] = [("at the initiator", 0.02), ("in the middle", 0.5), ("at the acceptor", 0.98)];

const MSS: u16 = 1_460;

/// The tick of timestamps in the simulator.
const TICK: Duration = Duration::from_millis(1);

/// What the drift of two clocks may hide in the second between two responses, of which the first data did not wait: 200 ppm.
const HIDDEN: Duration = Duration::from_micros(200);

/// Exchanges of one connection.
const EXCHANGES: u64 = 30;

/// What the monitor made of the connections of a run.
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

/// Payload of full segments with timestamps.
const SEGMENT: u64 = MSS as u64 - 12;

/// A request for a response of so many full `segments`, again and again, over round trips of 5 to 150 ms. Each response has been acknowledged
/// long before the next.
fn exchanges(connections: u64, place: f64, segments: u64) -> Vec<ConnectionVector> {
    let connection = |id: u64| {
        let mut stream = Stream::new(17, Purpose::Sizes, id);
        let rtt = 5e6 * libm::pow(30.0, stream.uniform());
        let transit = |share: f64| Duration::from_nanos((rtt * share) as u64);
        let transits = PerSide { initiator: transit(place), acceptor: transit(1.0 - place) };
        let end = |transit| Endpoint {
            syn_seen: true,
            mss: Some(MSS),
            max_window: Some(1 << 20),
            window_scale: Some(7),
            min_transit: Some(transit),
            ..Endpoint::default()
        };
        let adu = |side: Side, bytes, wait| Adu {
            side,
            bytes,
            missing_bytes: 0,
            wait: Some(wait),
            waiter: side.other(),
            seen: None,
            packets: None,
        };
        let mut adus = Vec::new();
        for _ in 0..EXCHANGES {
            let thinks = Duration::from_secs_f64(1.0 + 0.1 * stream.uniform());
            adus.push(adu(Side::Initiator, 300, transits.acceptor));
            adus.push(adu(Side::Acceptor, segments * SEGMENT, transits.initiator + thinks));
        }
        ConnectionVector {
            id,
            start: Time::ZERO + Duration::from_micros(137_300 * id),
            ends: transits.map(end),
            close: Close::Fin(Side::Initiator),
            adus,
            ..ConnectionVector::default()
        }
    };
    (0..connections).map(connection).collect()
}

/// Lets the data of the acceptors wait before the monitor: of each response longer and longer, 12 to 60 ms more each time. The first part of a
/// share of `prompt` of the responses does not wait.
fn hold(vectors: &mut [ConnectionVector], segments: u64, prompt: f64) {
    for vector in vectors {
        let mut stream = Stream::new(18, Purpose::Sizes, vector.id);
        let mut delays = vec![ExtraDelay::default()];
        for response in 0..EXCHANGES {
            let mut delay = Duration::ZERO;
            for part in [0, segments / 4, segments / 2] {
                let longer = Duration::from_nanos(12_000_000 + (48e6 * stream.uniform()) as u64);
                delay += if part == 0 && stream.uniform() < prompt { Duration::ZERO } else { longer };
                let from_bytes = (response * segments + part) * SEGMENT;
                match delays.last_mut() {
                    Some(last) if last.from_bytes == from_bytes => last.delay = delay,
                    _ => delays.push(ExtraDelay { from_bytes, delay }),
                }
            }
        }
        vector.delays.acceptor = delays;
    }
}

/// Exchanges of all kinds, and delays of the acceptors' data that come and go at any segment: responses of 1 to 40 segments, 20 ms to 3 s
/// apart, over round trips of 2 to 250 ms, and delays that are exponential with a mean of 30 ms. These conditions and their bars were set
/// before the first look at what is found, with the rules as they stood; places where data wait behind other data were taken out after it.
fn at_random(connections: u64, place: f64) -> Vec<ConnectionVector> {
    let mut vectors = exchanges(connections, place, 1);
    for vector in &mut vectors {
        let mut stream = Stream::new(29, Purpose::Sizes, vector.id);
        let mut places = Stream::new(30, Purpose::Sizes, vector.id);
        let mut between = |least: f64, most: f64| least * libm::pow(most / least, stream.uniform());
        let rtt = between(2e6, 250e6);
        let transit = |share: f64| Duration::from_nanos((rtt * share) as u64);
        let transits = PerSide { initiator: transit(place), acceptor: transit(1.0 - place) };
        for side in Side::BOTH {
            vector.ends[side].min_transit = Some(transits[side]);
        }
        let (mut sent, mut delays) = (0, vec![ExtraDelay::default()]);
        for adu in &mut vector.adus {
            if adu.side == Side::Initiator {
                adu.wait = Some(transits.acceptor);
                continue;
            }
            let segments = between(1.0, 41.0) as u64;
            adu.bytes = segments * SEGMENT;
            adu.wait = Some(transits.initiator + Duration::from_secs_f64(between(0.02, 3.0)));
            let [from, to] = [(); 2].map(|()| sent + (places.uniform() * segments as f64) as u64 * SEGMENT);
            let delay = Duration::from_nanos((-30e6 * libm::log(1.0 - places.uniform())) as u64);
            for (from_bytes, delay) in [(from, delay), (to, Duration::ZERO)] {
                match delays.last_mut() {
                    Some(last) if last.from_bytes == from_bytes => last.delay = delay,
                    Some(last) if last.from_bytes < from_bytes => delays.push(ExtraDelay { from_bytes, delay }),
                    _ => {}
                }
            }
            sent += adu.bytes;
        }
        vector.delays.acceptor = delays;
    }
    vectors
}

/// What the monitor makes of a workload.
fn monitored(
    vectors: Vec<ConnectionVector>,
    profile: Profile,
    change: impl FnOnce(&mut Config),
) -> Vec<ConnectionVector> {
    let rate = Rate::from_bits_per_second(10_000_000_000).unwrap_or(Rate::UNLIMITED);
    let mut config = Config::new(rate, Duration::from_secs(100_000));
    config.classes = vec![Class { tcp: tcp::Config::of(profile), ..Class::default() }];
    change(&mut config);
    let mut seen = Monitored::default();
    let run = flowloom_sim::run(vectors.into_iter().map(Ok::<_, Infallible>), &config, &mut seen, |_| {
        ControlFlow::Continue(())
    });
    if run.is_err() {
        return Vec::new();
    }
    seen.0.sort_unstable_by_key(|vector| vector.id);
    seen.0
}

/// Delays found of the acceptors' data: all true ones, those found within a tick, those found within three ticks and a twentieth of the transit, and
/// those found where there is none.
#[derive(Default)]
struct Found {
    all: u64,
    within_tick: u64,
    near: u64,
    wrong: u64,
}

fn found(truth: &[ConnectionVector], seen: &[ConnectionVector]) -> Found {
    found_at(truth, seen, |vector| vector.delays.acceptor.clone())
}

/// The delays at the first byte of each response, and where they grow inside one. Where they fall, data wait behind others that wait longer.
fn undisturbed(vector: &ConnectionVector) -> Vec<ExtraDelay> {
    let delays = &vector.delays.acceptor;
    let responses = vector.adus.iter().filter(|adu| adu.side == Side::Acceptor);
    let starts = responses.scan(0, |sent, adu| Some(std::mem::replace(sent, *sent + adu.bytes)));
    let starts = starts.map(|from_bytes| ExtraDelay { from_bytes, delay: delay_of(delays, from_bytes) });
    let grown = delays.windows(2).filter(|pair| pair[1].delay > pair[0].delay).map(|pair| pair[1]);
    let mut places: Vec<ExtraDelay> = starts.chain(grown).collect();
    places.sort_unstable_by_key(|place| place.from_bytes);
    places.dedup_by_key(|place| place.from_bytes);
    places
}

/// What is found at these `places` of each connection.
fn found_at(
    truth: &[ConnectionVector],
    seen: &[ConnectionVector],
    places: impl Fn(&ConnectionVector) -> Vec<ExtraDelay>,
) -> Found {
    let mut found = Found::default();
    for (truth, seen) in truth.iter().zip(seen) {
        let transit = truth.ends.acceptor.min_transit.unwrap_or_default();
        for delay in &places(truth) {
            let seen = delay_of(&seen.delays.acceptor, delay.from_bytes);
            let off = seen.saturating_sub(delay.delay).max(delay.delay.saturating_sub(seen));
            found.all += u64::from(!delay.delay.is_zero());
            found.within_tick += u64::from(!delay.delay.is_zero() && off <= TICK + HIDDEN);
            found.near += u64::from(!delay.delay.is_zero() && off <= TICK * 3 + transit / 20);
            found.wrong += u64::from(delay.delay.is_zero() && !seen.is_zero());
        }
        found.wrong += seen.delays.initiator.iter().filter(|delay| !delay.delay.is_zero()).count() as u64;
    }
    found
}

/// Mean of the jitter on the way from the initiator to the monitor, which is exponential.
const JITTER_MILLIS: f64 = 10.0;

/// The expected point at `share` of the samples of a connection that have an exponential distribution of mean 1: k-th of n is the sum of 1/n to
/// 1/(n - k + 1) (Rényi 1953). There is a sample of each response, of the handshake and of the close.
fn exponential_point(share: f64) -> f64 {
    let samples = EXCHANGES + 2;
    let smaller = |below: u64| (0..=below).map(|place| 1.0 / (samples - place) as f64).sum::<f64>();
    let place = share * (samples - 1) as f64;
    let below = place.floor() as u64;
    smaller(below) + (smaller(below + 1) - smaller(below)) * place.fract()
}

/// Points of the distribution of transit times beside those of the paths.
fn quantiles(rows: &mut Vec<Row>, place: &str, vectors: Vec<ConnectionVector>) {
    let mean = JITTER_MILLIS * 1e6;
    let Ok(distribution) = Distribution::new(Law::Exponential { mean }) else {
        rows.push(Row::unmade(GROUP, format!("monitor {place}: jitter"), SOURCE));
        return;
    };
    let least: Vec<Duration> =
        vectors.iter().map(|vector| vector.ends.initiator.min_transit.unwrap_or_default()).collect();
    // One acknowledgement of two segments at a time, which does not wait for another.
    let seen = monitored(vectors, Profile::Bsd2008, |config| {
        config.path[LinkSide::Left as usize].jitter = Some(Jitter { distribution, keeps_order: true });
    });
    type Point = fn(TransitQuantiles) -> Duration;
    let points: [(&str, f64, Point); 3] =
        [("10", 0.1, |points| points.q10), ("50", 0.5, |points| points.q50), ("90", 0.9, |points| points.q90)];
    for (percent, share, point) in points {
        let off = seen.iter().zip(&least).filter_map(|(seen, least)| {
            Some(point(seen.ends.initiator.transits?).saturating_sub(*least).as_secs_f64() * 1e3)
        });
        let off: Vec<f64> = off.collect();
        let name = format!(
            "monitor {place}: {percent} % point of transit times above the shortest, exponential jitter of 10 ms, mean of {} connections in ms",
            off.len()
        );
        let expected = Expected::Within { value: JITTER_MILLIS * exponential_point(share), by: 1.0 };
        rows.push(Row::new(GROUP, name, SOURCE, expected, off.iter().sum::<f64>() / off.len().max(1) as f64));
    }
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let (connections, places) = if full { (200, &PLACES[..]) } else { (60, &PLACES[1..2]) };
    let mut rows = Vec::new();
    for (place, share) in places {
        quantiles(&mut rows, place, exchanges(connections, *share, 2));
        for (name, profile) in [("linux", Profile::Linux), ("bsd-2008", Profile::Bsd2008)] {
            let what = format!("{name}, monitor {place}");
            let free = exchanges(connections, *share, 20);
            let seen = monitored(free.clone(), profile, |_| {});
            let delays = |vector: &ConnectionVector| vector.delays.initiator.len() + vector.delays.acceptor.len();
            // Two ends begin with a delay of zero each.
            let changes = seen.iter().map(|vector| delays(vector).abs_diff(2) as u64).sum::<u64>();
            let row = format!("{what}: delays found where there are none, of {} connections", seen.len());
            rows.push(Row::new(GROUP, row, SOURCE, Expected::Exactly(0.0), changes as f64));
            let mut held = free;
            hold(&mut held, 20, 1.0);
            let as_seen = |config: &mut Config| config.replay.transits = TransitModel::AsSeen(Ends::Both);
            let seen = monitored(held.clone(), profile, as_seen);
            let Found { all, within_tick, wrong, .. } = found(&held, &seen);
            let row = format!("{what}: share of {all} delays before the monitor found within a tick and 0.2 ms");
            rows.push(Row::new(GROUP, row, SOURCE, Expected::AtLeast(0.99), within_tick as f64 / all.max(1) as f64));
            let row = format!("{what}: delays found of data that did not wait, beside them");
            rows.push(Row::new(GROUP, row, SOURCE, Expected::AtMost(0.01 * all as f64), wrong as f64));
            let again = monitored(seen.clone(), profile, as_seen);
            let Found { all, within_tick, .. } = found(&seen, &again);
            let row = format!("{what}, replayed: share of {all} delays found again within a tick and 0.2 ms");
            rows.push(Row::new(GROUP, row, SOURCE, Expected::AtLeast(0.99), within_tick as f64 / all.max(1) as f64));
            let mut standing = exchanges(connections, *share, 20);
            hold(&mut standing, 20, 0.3);
            let seen = monitored(standing.clone(), profile, as_seen);
            let Found { all, near, .. } = found(&standing, &seen);
            let row = format!(
                "{what}, most responses wait from the first byte on: share of {all} delays found within three ticks and a twentieth of the transit"
            );
            rows.push(Row::new(GROUP, row, SOURCE, Expected::AtLeast(0.99), near as f64 / all.max(1) as f64));
            let random = at_random(connections, *share);
            let seen = monitored(random.clone(), profile, as_seen);
            let Found { all, near, wrong, .. } = found_at(&random, &seen, undisturbed);
            let row = format!(
                "{what}, delays at random places: share of {all} found within three ticks and a twentieth of the transit"
            );
            rows.push(Row::new(GROUP, row, SOURCE, Expected::AtLeast(0.95), near as f64 / all.max(1) as f64));
            let row = format!("{what}, delays at random places: delays found of data that did not wait, beside them");
            rows.push(Row::new(GROUP, row, SOURCE, Expected::AtMost(0.05 * all as f64), wrong as f64));
        }
    }
    rows
}
