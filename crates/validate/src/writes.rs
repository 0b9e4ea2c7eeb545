//! Writes inside data units (methods A.13.1): no pause is found that the network or TCP made, and those of programs are.
//!
//! Programs whose behaviour is known play in the simulator, the extractor watches them at the monitor, and what it takes for pauses
//! is set beside what they did. A false pause would make a replay send by the clock what it should send by acknowledgements, and the
//! closed loop would be lost without any distance showing it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::path::{BucketConfig, Impairments, LossModel, Reorder, Reordering};
use flowloom_core::queue::{CodelParams, Discipline, FqCodelParams, PieParams};
use flowloom_core::record::{Record, Recorder};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::congestion::{Algorithm, CubicParameters};
use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Probability, Rate};
use flowloom_core::workload::{Adu, Close, ConnectionVector, Endpoint, LinkSide, Pattern, Pause, PerSide, Side};
use flowloom_sim::{Class, Config, LinkConfig, LinkNumber, Way};

use crate::check::{Effort, Expected, Row, Verdict};

const GROUP: &str = "Writes inside data units";

/// An ADU is large if it takes more segments than this: smaller ones leave in one flight.
pub(crate) const LARGE: u64 = 10 * 1_460;

/// ADUs of one connection.
const ADUS: u64 = 5;

const NAGLE: &str = "Nagle's algorithm";

const BBR_OVER_FULL: &str = "BBR over full drop-tail";

/// How programs write large ADUs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    AtOnce,
    /// The same at both ends at the same time, neither waiting for the other.
    BothAtOnce,
    /// With one pause of 5 to 480 ms.
    WithAPause,
    /// By [`PIECE`], every 140 to 260 ms: most are over before the next begins, and no window is ever full.
    InPieces,
    /// By 20 to 1,000 bytes, every 0.1 to 100 ms.
    Small,
}

/// Four segments.
const PIECE: u64 = 4 * 1_448;

/// Where the monitor stands: the initiator's share of the round trip.
pub(crate) const PLACES: [(&str, f64); 3] =
    [("at the initiator", 0.02), ("in the middle", 0.5), ("at the acceptor", 0.98)];

/// A path and its hosts.
pub(crate) struct Condition {
    pub(crate) name: &'static str,
    /// Changes the usual path.
    make: fn(&mut Config),
    /// Only the initiators, on the left, send much: what lies to the right of the monitor is then behind it.
    pub(crate) up_only: bool,
}

fn mbit(rate: u64) -> Rate {
    Rate::from_bits_per_second(rate * 1_000_000).unwrap_or(Rate::UNLIMITED)
}

/// What the congested link carries: 95 % of what the programs want to send.
pub(crate) const CONGESTED: u64 = 50;

fn queue_before(config: &mut Config, queue: Discipline) {
    config.bottleneck = LinkConfig { queue, ..LinkConfig::new(mbit(CONGESTED)) };
}

fn queue_behind(config: &mut Config, queue: Discipline) {
    let slow = LinkConfig { queue, ..LinkConfig::new(mbit(CONGESTED)) };
    config.links = vec![slow, LinkConfig::new(mbit(1_000))];
    let there = [LinkNumber::bottleneck(LinkSide::Left), LinkNumber::other(0)].into();
    let back = [LinkNumber::other(1), LinkNumber::bottleneck(LinkSide::Right)].into();
    config.classes[0].way = Way { there, back };
}

fn losses(config: &mut Config, sides: &[LinkSide], share: f64) {
    for side in sides {
        config.path[*side as usize].loss = Probability::new(share).map_or(LossModel::None, LossModel::Bernoulli);
    }
}

fn lossy_link(config: &mut Config, share: f64) {
    losses(config, &[LinkSide::Left, LinkSide::Right], share);
}

fn acks(config: &mut Config, delay: u64) {
    config.classes[0].tcp.delayed_ack = Some(Duration::from_millis(delay));
}

fn bucket(rate: u64) -> Option<BucketConfig> {
    BucketConfig::new(mbit(rate), 40_000).ok()
}

const FULL: Limit = Limit::Packets(200);

/// Everything that looks like a pause and is none.
pub(crate) const CONDITIONS: [Condition; 25] = [
    Condition { name: "free", make: |_| {}, up_only: false },
    Condition { name: "1 % loss", make: |config| lossy_link(config, 0.01), up_only: false },
    Condition { name: "3 % loss", make: |config| lossy_link(config, 0.03), up_only: false },
    Condition {
        name: "5 % reordered",
        make: |config| {
            let manner = Reordering::Late(Duration::from_millis(4));
            let share = Probability::new(0.05).unwrap_or(Probability::ZERO);
            let reorder = Some(Reorder { share, gap: 1, manner });
            config.path = [(); 2].map(|()| Impairments { reorder, ..Impairments::default() });
        },
        up_only: false,
    },
    Condition {
        name: "full drop-tail before the monitor",
        make: |config| queue_before(config, Discipline::DropTail(FULL)),
        up_only: false,
    },
    Condition {
        name: "full drop-tail behind the monitor",
        make: |config| queue_behind(config, Discipline::DropTail(FULL)),
        up_only: true,
    },
    Condition {
        name: "drop-tail of 2,000 packets before the monitor",
        make: |config| queue_before(config, Discipline::DropTail(Limit::Packets(2_000))),
        up_only: false,
    },
    Condition {
        name: "drop-tail of 2,000 packets behind the monitor",
        make: |config| queue_behind(config, Discipline::DropTail(Limit::Packets(2_000))),
        up_only: true,
    },
    Condition {
        name: "PIE before the monitor",
        make: |config| queue_before(config, Discipline::Pie(PieParams::default())),
        up_only: false,
    },
    Condition {
        name: "PIE behind the monitor",
        make: |config| queue_behind(config, Discipline::Pie(PieParams::default())),
        up_only: true,
    },
    Condition {
        name: "CoDel before the monitor",
        make: |config| queue_before(config, Discipline::Codel(CodelParams::default())),
        up_only: false,
    },
    Condition {
        name: "FQ-CoDel before the monitor",
        make: |config| queue_before(config, Discipline::FqCodel(FqCodelParams::default())),
        up_only: false,
    },
    Condition {
        name: "FQ-CoDel behind the monitor",
        make: |config| queue_behind(config, Discipline::FqCodel(FqCodelParams::default())),
        up_only: true,
    },
    Condition { name: "paced", make: |config| config.classes[0].tcp.pacing = true, up_only: false },
    Condition { name: "BBR", make: |config| config.classes[0].tcp.congestion = Algorithm::Bbr, up_only: false },
    Condition {
        name: BBR_OVER_FULL,
        make: |config| {
            config.classes[0].tcp.congestion = Algorithm::Bbr;
            queue_before(config, Discipline::DropTail(FULL));
        },
        up_only: false,
    },
    Condition {
        name: "CUBIC over full drop-tail",
        make: |config| {
            config.classes[0].tcp.congestion = Algorithm::Cubic(CubicParameters::default());
            queue_before(config, Discipline::DropTail(FULL));
        },
        up_only: false,
    },
    Condition { name: "a policer", make: |config| config.bottleneck.policer = bucket(CONGESTED), up_only: false },
    Condition { name: "a shaper", make: |config| config.bottleneck.shaper = bucket(CONGESTED), up_only: false },
    Condition { name: "acknowledgements delayed by 40 ms", make: |config| acks(config, 40), up_only: false },
    Condition { name: "acknowledgements delayed by 200 ms", make: |config| acks(config, 200), up_only: false },
    Condition {
        name: "four of ten acknowledgements lost",
        make: |config| losses(config, &[LinkSide::Right], 0.4),
        up_only: true,
    },
    Condition { name: "windows of 8 KB", make: |_| {}, up_only: false },
    Condition { name: NAGLE, make: |_| {}, up_only: false },
    Condition {
        name: "bursts of Linux over full drop-tail",
        make: |config| {
            config.classes[0].tcp.bursts = true;
            queue_before(config, Discipline::DropTail(FULL));
        },
        up_only: false,
    },
];

impl Condition {
    pub(crate) fn config(&self, tcp: &tcp::Config, seconds: f64, seed: u64) -> Config {
        let mut config = Config::new(mbit(1_000), Duration::from_secs_f64(seconds));
        config.classes = vec![Class { tcp: tcp.clone(), ..Class::default() }];
        config.seed = seed;
        (self.make)(&mut config);
        config
    }

    fn window(&self) -> u64 {
        if self.name.starts_with("windows") { 8 << 10 } else { 1 << 20 }
    }
}

/// Between `least` and `most`, evenly by logarithm.
pub(crate) fn log_uniform(stream: &mut Stream, least: f64, most: f64) -> f64 {
    least * libm::pow(most / least, stream.uniform())
}

/// Programs that exchange large ADUs for small ones, over round trips of 1 to 300 ms: `connections` of them, so many a second.
/// `pauses` is whether they write in pieces.
fn programs(
    condition: &Condition,
    place: f64,
    connections: u64,
    per_second: f64,
    writing: Writing,
) -> Vec<ConnectionVector> {
    let program = |id: u64| {
        let mut stream = Stream::new(11, Purpose::Sizes, id);
        let rtt = log_uniform(&mut stream, 1e6, 300e6);
        let transit = |share: f64| Duration::from_nanos((rtt * share) as u64);
        let end = |transit| Endpoint {
            syn_seen: true,
            mss: Some(1_460),
            window_scale: Some(7),
            max_window: Some(condition.window()),
            min_transit: Some(transit),
            nagle: (condition.name == NAGLE).then_some(true),
            ..Endpoint::default()
        };
        let large = if condition.up_only || id.is_multiple_of(2) { Side::Initiator } else { Side::Acceptor };
        let both = writing == Writing::BothAtOnce;
        let mut vector = ConnectionVector {
            id,
            start: Time::ZERO + Duration::from_secs_f64(id as f64 / per_second),
            pattern: if both { Pattern::Concurrent } else { Pattern::Sequential },
            complete: true,
            ends: PerSide { initiator: end(transit(place)), acceptor: end(transit(1.0 - place)) },
            close: Close::Fin(Side::Initiator),
            ..ConnectionVector::default()
        };
        for _ in 0..ADUS {
            for side in Side::BOTH {
                let [least, most] = if writing == Writing::Small { [2e3, 20e3] } else { [15e3, 400e3] };
                let bytes = if side == large || both { log_uniform(&mut stream, least, most) as u64 } else { 300 };
                let wait = Some(Duration::from_secs_f64(log_uniform(&mut stream, 1e-3, 2.0)));
                let before = vector.bytes(side);
                if side == large && writing == Writing::WithAPause {
                    let after_bytes = before + (bytes as f64 * (0.1 + 0.8 * stream.uniform())) as u64;
                    let length = Duration::from_nanos(log_uniform(&mut stream, 5e6, 480e6) as u64);
                    vector.pauses[side].push(Pause { after_bytes, length, heard: None });
                }
                if side == large && writing == Writing::InPieces {
                    for piece in 1..=(bytes - 1) / PIECE {
                        let length = Duration::from_nanos((2e8 * (0.7 + 0.6 * stream.uniform())) as u64);
                        vector.pauses[side].push(Pause { after_bytes: before + piece * PIECE, length, heard: None });
                    }
                }
                if side == large && writing == Writing::Small {
                    let mut at = log_uniform(&mut stream, 20.0, 1e3) as u64;
                    while at < bytes {
                        let length = Duration::from_nanos(log_uniform(&mut stream, 1e5, 1e8) as u64);
                        vector.pauses[side].push(Pause { after_bytes: before + at, length, heard: None });
                        at += log_uniform(&mut stream, 20.0, 1e3) as u64;
                    }
                }
                vector.adus.push(Adu {
                    side,
                    bytes,
                    missing_bytes: 0,
                    wait,
                    waiter: if both { side } else { side.other() },
                    seen: None,
                    packets: None,
                });
            }
        }
        vector
    };
    (0..connections).map(program).collect()
}

/// What was found of what there was.
#[derive(Clone, Copy, Debug, Default)]
struct Found {
    /// Large ADUs at the monitor.
    large: u64,
    /// Pauses of programs that are longer than 1.5 round trips and 20 ms, and those of them that were found.
    long: [u64; 2],
    /// Shorter ones.
    short: [u64; 2],
    /// Pauses found where no program paused.
    wrong: u64,
    /// Ends that are found to have Nagle's algorithm, and not to have it.
    nagle: [u64; 2],
}

impl Recorder for Found {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        let Record::Connection { original, ended, monitor: Some(seen), .. } = record else { return Ok(()) };
        for side in Side::BOTH {
            for (count, is_on) in self.nagle.iter_mut().zip([true, false]) {
                *count += u64::from(seen.ends[side].nagle == Some(is_on));
            }
            let mut end = 0;
            let mut found: BTreeMap<u64, Duration> = BTreeMap::new();
            let mut pauses = seen.pauses[side].iter().peekable();
            for adu in seen.adus.iter().filter(|adu| adu.side == side) {
                end += adu.bytes;
                let is_large = adu.bytes > LARGE;
                self.large += u64::from(is_large);
                while let Some(pause) = pauses.next_if(|pause| pause.after_bytes < end) {
                    if is_large {
                        found.insert(pause.after_bytes, pause.length);
                    }
                }
            }
            for pause in &original.pauses[side] {
                // A write that follows at once is no pause.
                let is_found = found.remove(&pause.after_bytes).is_some_and(|length| length > Duration::ZERO);
                let is_long = pause.length > ended.rtt + ended.rtt / 2 + Duration::from_millis(20);
                let class = if is_long { &mut self.long } else { &mut self.short };
                class[0] += 1;
                class[1] += u64::from(is_found);
            }
            // Ends that do not take turns have ADUs of what no silence of half a second separates.
            let mut end = 0;
            found.remove(&end);
            for adu in original.adus.iter().filter(|adu| adu.side == side) {
                end += adu.bytes;
                found.remove(&end);
            }
            self.wrong += found.len() as u64;
        }
        Ok(())
    }
}

/// Plays programs under `condition`.
fn play(condition: &Condition, tcp: &tcp::Config, place: f64, adus: u64, writing: Writing) -> Found {
    // What 105 % of the congested link carries, an ADU being 117 kB on average.
    let per_second = 1.05 * CONGESTED as f64 * 1e6 / 8.0 / 117e3 / ADUS as f64;
    let connections = adus / ADUS;
    let config = condition.config(tcp, connections as f64 / per_second + 60.0, 1);
    let vectors = programs(condition, place, connections, per_second, writing);
    let mut found = Found::default();
    let run = flowloom_sim::run(vectors.into_iter().map(Ok::<_, Infallible>), &config, &mut found, |_| {
        ControlFlow::Continue(())
    });
    if run.is_err() {
        return Found { wrong: u64::MAX, ..Found::default() };
    }
    found
}

/// The first is without timestamps.
pub(crate) const PROFILES: [(&str, Profile); 3] =
    [("plain", Profile::Plain), ("linux", Profile::Linux), ("bsd-2008", Profile::Bsd2008)];

const SOURCE: &str = "methods A.13.1";

/// Programs that write by little: which ends are found to hold small segments back.
fn small_writes(adus: u64, places: &[(&str, f64)]) -> Vec<Row> {
    let mut rows = Vec::new();
    let of = |name: &str| CONDITIONS.iter().find(|condition| condition.name == name);
    for (name, profile) in PROFILES {
        let (mut with, mut without) = ([0; 2], [0; 2]);
        for (_, share) in places {
            let play = |condition: &Condition| play(condition, &tcp::Config::of(profile), *share, adus, Writing::Small);
            for (sum, condition) in [(&mut with, of(NAGLE)), (&mut without, of("free"))] {
                let found = condition.map(play).unwrap_or_default();
                sum.iter_mut().zip(found.nagle).for_each(|(sum, found)| *sum += found);
            }
        }
        let all = adus / ADUS * places.len() as u64;
        let share = |part: u64| part as f64 / all as f64;
        let what = format!("{name}, {all} ends that write by little with Nagle's algorithm: share found to have it");
        rows.push(Row::new(GROUP, what, SOURCE, Expected::AtLeast(0.9), share(with[0])));
        let what = format!("{name}, the same ends: found not to have it");
        rows.push(Row::new(GROUP, what, SOURCE, Expected::Exactly(0.0), with[1] as f64));
        let what = format!("{name}, {all} ends that write by little without it: found to have it");
        rows.push(Row::new(GROUP, what, SOURCE, Expected::Exactly(0.0), without[0] as f64));
        let what = format!("{name}, the same ends: share found not to have it");
        rows.push(Row::new(GROUP, what, "no bar", Expected::AtLeast(0.5), share(without[1])));
    }
    rows
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let (adus, places) = if full { (4_000, &PLACES[..]) } else { (300, &PLACES[1..2]) };
    let mut rows = Vec::new();
    let mut nagle = 0;
    let both =
        CONDITIONS.iter().filter(|condition| !condition.up_only).map(|condition| (condition, Writing::BothAtOnce));
    let conditions = CONDITIONS.iter().map(|condition| (condition, Writing::AtOnce)).chain(both);
    for (condition, writing) in conditions {
        let mut all = Found::default();
        // Without timestamps nothing that is written at once can be taken for more.
        for (_, profile) in &PROFILES[1..] {
            for (_, share) in places {
                let found = play(condition, &tcp::Config::of(*profile), *share, adus, writing);
                all.large += found.large;
                all.wrong = all.wrong.saturating_add(found.wrong);
                nagle += if condition.name == NAGLE { 0 } else { found.nagle[0] };
            }
        }
        let ours = all.wrong as f64 * 1e3 / all.large as f64;
        let (is_both, large) = (writing == Writing::BothAtOnce, all.large);
        let ways = if is_both { ", two ways" } else { "" };
        let name =
            format!("{}{ways}: pauses found in 1,000 of {large} large data units written at once", condition.name);
        // Of a few hundred, two may be by chance.
        let bar = f64::max(1.0, 2e3 / all.large as f64);
        let row = Row::new(GROUP, name, SOURCE, Expected::AtMost(bar), ours);
        let departs = (row.verdict() == Verdict::Fails && is_both && condition.name == BBR_OVER_FULL).then(|| {
            "BBR paces single segments 4 to 60 ms apart there, as a program that writes one at a time does".to_owned()
        });
        rows.push(Row { departs, ..row });
    }
    let name = "ends without Nagle's algorithm that write at once, under all conditions: found to have it";
    rows.push(Row::new(GROUP, name, SOURCE, Expected::Exactly(0.0), nagle as f64));
    rows.extend(small_writes(if full { adus / 4 } else { adus / 10 }, places));
    let free = &CONDITIONS[0];
    let writings = [(Writing::WithAPause, "", adus), (Writing::InPieces, " in pieces", adus / 10)];
    for (writing, how, adus) in writings {
        for (name, profile) in PROFILES {
            for (place, share) in places {
                let found = play(free, &tcp::Config::of(profile), *share, adus, writing);
                let of = |[all, found]: [u64; 2]| found as f64 / all as f64;
                let what = format!("{name}{how}, monitor {place}: share found of {}", found.long[0]);
                let longer = format!("{what} pauses over 1.5 round trips and 20 ms");
                let row = Row::new(GROUP, longer, SOURCE, Expected::AtLeast(0.95), of(found.long));
                let departs = (row.verdict() == Verdict::Fails && profile == Profile::Plain)
                    .then(|| "without timestamps a pause behind a full segment is not told from waiting".to_owned());
                rows.push(Row { departs, ..row });
                if writing == Writing::WithAPause {
                    let what = format!("{name}, monitor {place}: share found of {} shorter pauses", found.short[0]);
                    rows.push(Row::new(GROUP, what, "no bar", Expected::AtLeast(0.15), of(found.short)));
                }
                let name = format!("{name}{how}, monitor {place}: pauses found where no program made one");
                rows.push(Row::new(
                    GROUP,
                    name,
                    SOURCE,
                    Expected::AtMost(found.large as f64 / 1e3),
                    found.wrong as f64,
                ));
            }
        }
    }
    rows
}
