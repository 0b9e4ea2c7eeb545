//! SYNs that were sent again and segments that were lost, as the observer infers them, beside those that there were (methods A.13.6 and
//! A.13.7).
//!
//! The truth is what the simulator was told to lose: by segment, transmission and side of the monitor, or at random.

use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::path::LossModel;
use flowloom_core::record::{DropRecord, Record, Recorder};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::{Config, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Probability, Rate};
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, Endpoint, LostSegment, PerSide, Side, SynAnswer, SynRepeat,
};

use crate::check::{Effort, Expected, Row};
use crate::profiles::payload;

const GROUP: &str = "SYNs and losses";
const MSS: u16 = 1_460;
/// Round-trip times in milliseconds.
const ROUND_TRIPS: [u64; 6] = [1, 3, 10, 30, 100, 300];
const PROFILES: [(&str, Profile); 4] =
    [("plain", Profile::Plain), ("rfc", Profile::Rfc), ("linux", Profile::Linux), ("bsd-2008", Profile::Bsd2008)];

/// Where the monitor stands: twentieths of the round trip on the initiator's side.
const PLACES: [(&str, u64); 3] = [("beside the initiator", 0), ("in the middle", 10), ("beside the acceptor", 20)];

/// The segments of a response.
const SEGMENTS: u64 = 150;

/// A connection of one request and a response of [`SEGMENTS`] segments.
fn connection(id: u64, rtt: u64, place: u64, segment: u64) -> ConnectionVector {
    let end = |twentieths: u64| Endpoint {
        syn_seen: true,
        mss: Some(MSS),
        max_window: Some(1 << 20),
        window_scale: Some(5),
        min_transit: Some(Duration::from_micros(rtt * 50 * twentieths)),
        ..Endpoint::default()
    };
    let adu = |side, bytes| Adu { side, bytes, missing_bytes: 0, wait: None, waiter: side, seen: None, packets: None };
    ConnectionVector {
        id,
        // Apart from each other: a SYN that waits behind another connection's packet passes later than it was sent.
        start: Time::ZERO + Duration::from_secs(30 * id),
        ends: PerSide { initiator: end(place), acceptor: end(20 - place) },
        close: Close::Fin(Side::Acceptor),
        adus: vec![adu(Side::Initiator, 300), adu(Side::Acceptor, SEGMENTS * segment)],
        ..ConnectionVector::default()
    }
}

/// Up to three segments of the response: each lost before the monitor or behind it, one in five behind it and then again.
fn lose_some(vector: &mut ConnectionVector, segment: u64) {
    let mut stream = Stream::new(7, Purpose::Loss, vector.id);
    for _ in 0..1 + stream.below(3) {
        // The last ones are not asked for: no segment behind them shows that they are missing.
        let after_bytes = segment * stream.below(SEGMENTS - 10);
        let is_last = vector.losses.acceptor.last().is_some_and(|last| last.after_bytes >= after_bytes);
        if is_last {
            continue;
        }
        let (before_monitor, again) = (stream.below(2) == 0, stream.below(5) == 0);
        let lost = LostSegment { after_bytes, bytes: segment, copy: 0, before_monitor, repaired: Duration::ZERO };
        vector.losses.acceptor.push(lost);
        if again && !before_monitor {
            vector.losses.acceptor.push(LostSegment { copy: 1, ..lost });
        }
    }
}

/// Up to three SYNs in vain, and SYN/ACKs.
fn repeat_some(vector: &mut ConnectionVector) {
    let mut stream = Stream::new(8, Purpose::Loss, vector.id);
    let mut wait = 1_000 + stream.below(60);
    for _ in 0..1 + stream.below(3) {
        let answer = [SynAnswer::None, SynAnswer::None, SynAnswer::Reset, SynAnswer::Syn][stream.below(4) as usize];
        let wait_now = Duration::from_millis(if answer == SynAnswer::Reset { 500 } else { wait });
        vector.syn_repeats.push(SynRepeat { side: Side::Initiator, wait: wait_now, answer });
        if answer == SynAnswer::Syn {
            // From then on the acceptor's timer runs.
            vector.syn_repeats.push(SynRepeat { side: Side::Acceptor, wait: wait_now, answer });
            break;
        }
        wait *= 2;
    }
}

/// What a run reports of connections and losses.
#[derive(Default)]
struct Seen {
    connections: Vec<(ConnectionVector, ConnectionVector)>,
    dropped: u64,
}

impl Recorder for Seen {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        match record {
            Record::Connection { original, monitor: Some(seen), .. } => {
                self.connections.push((original.clone(), seen.clone()));
            }
            Record::Dropped { packet: DropRecord { bytes: 200.., .. } } => self.dropped += 1,
            _ => {}
        }
        Ok(())
    }
}

fn play(tcp: &Config, vectors: Vec<ConnectionVector>, change: impl FnOnce(&mut flowloom_sim::Config)) -> Seen {
    let rate = Rate::from_bits_per_second(1_000_000_000).unwrap_or(Rate::UNLIMITED);
    let mut config = flowloom_sim::Config::new(rate, Duration::from_secs(100_000));
    config.classes[0].tcp = tcp.clone();
    change(&mut config);
    let mut seen = Seen::default();
    let ran = flowloom_sim::run(vectors.into_iter().map(Ok::<_, Infallible>), &config, &mut seen, |_| {
        ControlFlow::Continue(())
    });
    if ran.is_ok() { seen } else { Seen::default() }
}

/// What was found of losses.
#[derive(Clone, Copy, Default)]
struct Found {
    made: u64,
    /// With range, transmission and side of the monitor.
    exact: u64,
    told: u64,
}

/// Losses at known places, and what was found of them.
fn at_places(tcp: &Config, place: u64, each: u64) -> Found {
    let segment = u64::from(payload(tcp, MSS.into()));
    let mut vectors = Vec::new();
    for rtt in ROUND_TRIPS {
        for _ in 0..each {
            let mut vector = connection(vectors.len() as u64, rtt, place, segment);
            lose_some(&mut vector, segment);
            vectors.push(vector);
        }
    }
    let mut found = Found::default();
    for (truth, seen) in play(tcp, vectors, |config| config.replay.losses = true).connections {
        let (truth, seen) = (&truth.losses.acceptor, &seen.losses.acceptor);
        found.made += truth.len() as u64;
        found.told += seen.len() as u64;
        let place = |lost: &LostSegment| LostSegment { repaired: Duration::ZERO, ..*lost };
        found.exact += truth.iter().filter(|lost| seen.iter().any(|seen| place(seen) == **lost)).count() as u64;
    }
    found
}

/// One in a hundred packets lost before the monitor or behind it: made, found.
fn at_random(tcp: &Config, place: u64, each: u64) -> Found {
    let segment = u64::from(payload(tcp, MSS.into()));
    let rounds = (0..each).flat_map(|_| ROUND_TRIPS);
    let vectors = (0..).zip(rounds).map(|(id, rtt)| connection(id, rtt, place, segment)).collect();
    let seen = play(tcp, vectors, |config| {
        config.path[1].loss = Probability::new(0.01).map_or(LossModel::None, LossModel::Bernoulli);
    });
    let told = seen.connections.iter().map(|(_, seen)| seen.losses.acceptor.len() as u64).sum();
    Found { made: seen.dropped, exact: 0, told }
}

/// Connections whose SYNs were sent again, and those of which the monitor saw the same.
fn repeats(tcp: &Config, place: u64, each: u64) -> [u64; 2] {
    let rounds = (0..each).flat_map(|_| ROUND_TRIPS);
    let mut vectors: Vec<_> = (0..).zip(rounds).map(|(id, rtt)| connection(id, rtt, place, 100)).collect();
    vectors.iter_mut().for_each(repeat_some);
    // Of the two ends of a connection, repetitions stand in the order in which they passed.
    let of = |vector: &ConnectionVector, side| {
        let own = vector.syn_repeats.iter().filter(|repeat| repeat.side == side);
        own.copied().collect::<Vec<_>>()
    };
    let seen = play(tcp, vectors, |_| {}).connections;
    let is_same = |(truth, seen): &&(ConnectionVector, ConnectionVector)| {
        Side::BOTH.into_iter().all(|side| of(truth, side) == of(seen, side))
    };
    let same = seen.iter().filter(is_same).count();
    [seen.len() as u64, same as u64]
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let each = if effort == Effort::Full { 100 } else { 5 };
    let ratio = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
    let mut rows = Vec::new();
    let mut row = |name: String, source: &str, expected: Expected, ours: f64| {
        rows.push(Row::new(GROUP, name, source, expected, ours));
    };
    for (name, profile) in PROFILES {
        let tcp = Config::of(profile);
        for (where_, place) in PLACES {
            let what = format!("{name}, monitor {where_}");
            let [all, same] = repeats(&tcp, place, each);
            let found = format!("{what}: all times and answers of SYNs found again, of {all} connections");
            row(found, "methods A.13.6", Expected::AtLeast(0.99), ratio(same, all));
            let Found { made, exact, told } = at_places(&tcp, place, each);
            let found = format!("{what}: losses found by range, transmission and side of the monitor, of {made}");
            row(found, "methods A.13.7", Expected::AtLeast(0.95), ratio(exact, made));
            let wrong = format!("{what}: losses told that are none, of {told}");
            row(wrong, "methods A.13.7", Expected::AtMost(0.02 * told as f64), (told - exact) as f64);
            let Found { made, told, .. } = at_random(&tcp, place, each);
            let counted = format!("{what}: losses told, over {made} made at random before the monitor");
            row(counted, "methods A.13.7", Expected::Within { value: 1.0, by: 0.1 }, ratio(told, made));
        }
    }
    rows
}
