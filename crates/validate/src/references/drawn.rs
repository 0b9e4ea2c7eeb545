//! What drawn connections of a reference workload have: sizes, waits, times to the last byte, and how many are active.

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Pattern, PerSide, Side};
use flowloom_models::generate::Reference;
use flowloom_models::generate::reference::Trace;

/// Connections that are drawn.
const CONNECTIONS: usize = 1_000_000;

/// Windows of both ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Model {
    Fixed(u64),
    Measured,
}

impl Model {
    pub(super) const ALL: [Model; 4] =
        [Model::Fixed(8 << 10), Model::Fixed(16 << 10), Model::Fixed(64 << 10), Model::Measured];
    /// The place of 64 KB among them.
    pub(super) const KB64: usize = 2;

    pub(super) fn name(self) -> String {
        match self {
            Model::Fixed(bytes) => format!("{} KB", bytes >> 10),
            Model::Measured => "measured".to_owned(),
        }
    }
}

/// A connection as a whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    pub(super) bytes: f64,
    /// Seconds from its SYN to its last byte with each window model.
    pub(super) last_byte: [f64; 4],
}

/// What they have, in order of size.
#[derive(Default)]
pub(super) struct Drawn {
    pub(super) rtts: Vec<f64>,
    /// Means: within epochs, between epochs, of concurrent connections.
    pub(super) waits: [f64; 3],
    /// By their sizes.
    pub(super) connections: Vec<Connection>,
    /// Shares of complete ones among sequential connections, and of their bytes.
    pub(super) complete: [f64; 2],
    /// Active connections by presence, at scale 1: in the first 32 minutes of the hour, and after.
    pub(super) active: [f64; 2],
}

impl Drawn {
    pub(super) fn new(trace: &Trace) -> Drawn {
        let mut drawn = Drawn { active: active(trace), ..Drawn::default() };
        let (mut all, mut complete, mut waits) = ([0.0; 2], [0.0; 2], [(0.0, 0.0); 3]);
        let hour = Duration::from_secs(3_600);
        for vector in (Reference { scale: 1.0 }).vectors(trace, 1, Duration::ZERO, hour).take(CONNECTIONS) {
            drawn.rtts.push(1e3 * vector.min_rtt().unwrap_or_default().as_secs_f64());
            add_waits(&vector, &mut waits);
            let bytes: f64 = vector.adus.iter().map(|adu| adu.bytes as f64).sum();
            let last_byte = Model::ALL.map(|model| last_byte(&vector, model));
            drawn.connections.push(Connection { bytes, last_byte });
            if vector.pattern == Pattern::Sequential {
                all = [all[0] + 1.0, all[1] + bytes];
                if vector.complete {
                    complete = [complete[0] + 1.0, complete[1] + bytes];
                }
            }
        }
        drawn.complete = [complete[0] / all[0], complete[1] / all[1]];
        drawn.waits = waits.map(|(count, sum)| sum / count);
        let Drawn { rtts, connections, .. } = &mut drawn;
        rtts.sort_unstable_by(f64::total_cmp);
        connections.sort_unstable_by(|one, other| one.bytes.total_cmp(&other.bytes));
        drawn
    }
}

/// Counts and adds up the waits of `vector`.
fn add_waits(vector: &ConnectionVector, waits: &mut [(f64, f64); 3]) {
    for adu in &vector.adus {
        let Some(wait) = adu.wait else { continue };
        let which = match vector.pattern {
            Pattern::Concurrent => 2,
            Pattern::Sequential => usize::from(adu.waiter == Side::Initiator),
        };
        let (count, sum) = &mut waits[which];
        (*count, *sum) = (*count + 1.0, *sum + wait.as_secs_f64());
    }
}

/// Seconds from the SYN of `vector` to its last byte under the published rule of waits, on a network that is never full: the
/// handshake, a round trip for each exchange, one more for each further flight of an ADU (slow start from 4,380 bytes or so, by half
/// in each flight as with delayed acknowledgements, up to the window), and waits of 500 ms and more.
fn last_byte(vector: &ConnectionVector, model: Model) -> f64 {
    let rtt = vector.min_rtt().unwrap_or_default().as_secs_f64();
    let mut sent: PerSide<f64> = PerSide::default();
    let mut took: PerSide<f64> = PerSide::default();
    for adu in &vector.adus {
        let mss = f64::from(vector.ends[adu.side].mss.unwrap_or(1_460));
        let window = match model {
            Model::Fixed(bytes) => bytes,
            Model::Measured => vector.window(adu.side.other()).unwrap_or(1 << 16),
        } as f64;
        let initial = (4.0 * mss).min(4_380.0_f64.max(2.0 * mss));
        let flights = flights(adu.bytes as f64, (initial + 0.5 * sent[adu.side]).min(window), window);
        sent[adu.side] += adu.bytes as f64;
        let wait = adu.wait.map_or(0.0, Duration::as_secs_f64);
        took[adu.side] += (flights - 0.5) * rtt + if wait >= 0.5 { wait } else { 0.0 };
    }
    rtt + match vector.pattern {
        Pattern::Sequential => took.initiator + took.acceptor,
        Pattern::Concurrent => took.initiator.max(took.acceptor),
    }
}

/// Flights that `bytes` take from a congestion window of `first` bytes on.
fn flights(bytes: f64, first: f64, window: f64) -> f64 {
    let (mut left, mut size, mut flights) = (bytes, first, 0.0);
    while left > 0.0 {
        if size >= window {
            return flights + (left / window).ceil();
        }
        (left, size, flights) = (left - size, (1.5 * size).min(window), flights + 1.0);
    }
    flights
}

/// Mean numbers of active connections by presence (methods C.4), at scale 1, before and after 32 minutes of the hour, with an hour
/// before it: a twentieth of the connections, and as they are in `last_byte`.
fn active(trace: &Trace) -> [f64; 2] {
    const SCALE: f64 = 0.05;
    const BEGIN: i64 = 3_600;
    const FALL: i64 = BEGIN + 32 * 60;
    const END: i64 = 2 * BEGIN;
    let lead_in = Duration::from_secs(BEGIN as u64);
    let mut seconds = [0i64; 2];
    for vector in (Reference { scale: SCALE }).vectors(trace, 1, lead_in, lead_in + lead_in) {
        let start = vector.start.since(Time::ZERO).as_secs_f64();
        let (from, to) = (start as i64, (start + last_byte(&vector, Model::Measured)) as i64 + 1);
        for (period, [begin, end]) in [[BEGIN, FALL], [FALL, END]].into_iter().enumerate() {
            seconds[period] += (to.min(end) - from.max(begin)).max(0);
        }
    }
    [seconds[0] as f64 / (FALL - BEGIN) as f64 / SCALE, seconds[1] as f64 / (END - FALL) as f64 / SCALE]
}
