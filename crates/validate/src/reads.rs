//! Pauses of readers (methods A.13.12): those that closed a window are found at the monitor, and none where a program always reads.
//!
//! As for [`writes`](crate::writes), programs whose behaviour is known play in the simulator over paths that delay, lose and reorder what
//! they send and acknowledge.

use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::record::{Record, Recorder};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, Endpoint, Pattern, Pause, PerSide, Side};

use crate::check::{Effort, Expected, Row};
use crate::writes::{CONDITIONS, CONGESTED, Condition, LARGE, PLACES, PROFILES, log_uniform};

const GROUP: &str = "Pauses of readers";

const SOURCE: &str = "methods A.13.12";

/// The condition under which much is not told, and why.
const UNTOLD: &str = "four of ten acknowledgements lost: of";
const WHY_UNTOLD: &str = "Of a window that closes one acknowledgement tells, and of its opening one more: where the first is lost the pause is \
    not known before the next probe, and where the second is lost it counts up to the last acknowledgement that told of the closed window.";

/// Large ADUs of one connection.
const ADUS: u64 = 5;

const MSS: u64 = 1_460;

/// The place of a pause is found if it is not farther off than a window field of these connections can say.
const PLACE: u64 = 1 << SCALE;
const SCALE: u8 = 7;

/// Windows of the readers, in bytes: less than a segment, up to less than two, and more.
const WINDOWS: [(&str, [f64; 2]); 3] =
    [("500 to 1,000", [500.0, 1e3]), ("1 to 3 KB", [1e3, 3e3]), ("6 to 64 KB", [6e3, 64e3])];

/// Programs that send large ADUs for small ones, over round trips of 1 to 300 ms, to readers with such windows; `pauses` is whether these
/// pause in each of them.
fn programs(
    condition: &Condition,
    windows: [f64; 2],
    place: f64,
    connections: u64,
    per_second: f64,
    pauses: bool,
) -> Vec<ConnectionVector> {
    let program = |id: u64| {
        let mut stream = Stream::new(12, Purpose::Sizes, id);
        let rtt = log_uniform(&mut stream, 1e6, 300e6);
        let window = log_uniform(&mut stream, windows[0], windows[1]) as u64;
        let end = |share: f64| Endpoint {
            syn_seen: true,
            mss: Some(MSS as u16),
            window_scale: Some(SCALE),
            max_window: Some(window),
            min_transit: Some(Duration::from_nanos((rtt * share) as u64)),
            ..Endpoint::default()
        };
        let large = if condition.up_only || id.is_multiple_of(2) { Side::Initiator } else { Side::Acceptor };
        let mut vector = ConnectionVector {
            id,
            start: Time::ZERO + Duration::from_secs_f64(id as f64 / per_second),
            pattern: Pattern::Sequential,
            complete: true,
            ends: PerSide { initiator: end(place), acceptor: end(1.0 - place) },
            close: Close::Fin(Side::Initiator),
            ..ConnectionVector::default()
        };
        for _ in 0..ADUS {
            for side in Side::BOTH {
                // A window of 500 bytes takes its time.
                let most = f64::min(400e3, 12.0 * window as f64);
                let bytes = if side == large { log_uniform(&mut stream, 15e3, most.max(20e3)) as u64 } else { 300 };
                let wait = Some(Duration::from_secs_f64(log_uniform(&mut stream, 1e-3, 2.0)));
                if side == large && pauses {
                    let after_bytes = vector.bytes(side) + (bytes as f64 * (0.1 + 0.7 * stream.uniform())) as u64;
                    let length = Duration::from_nanos(log_uniform(&mut stream, 5e6, 3e9) as u64);
                    vector.read_pauses[side.other()].push(Pause { after_bytes, length, heard: None });
                }
                let (waiter, seen, packets) = (side.other(), None, None);
                vector.adus.push(Adu { side, bytes, missing_bytes: 0, wait, waiter, seen, packets });
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
    /// Pauses of programs, those found, and those of them that lasted as long but for 10 % and 10 ms.
    pauses: u64,
    placed: u64,
    as_long: u64,
    /// Pauses found where no program made one.
    wrong: u64,
}

impl Recorder for Found {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        let Record::Connection { original, monitor: Some(seen), .. } = record else { return Ok(()) };
        self.large += seen.adus.iter().filter(|adu| adu.bytes > LARGE).count() as u64;
        for side in Side::BOTH {
            let mut found = seen.read_pauses[side].clone();
            for pause in &original.read_pauses[side] {
                self.pauses += 1;
                let place = found.iter().position(|found| pause.after_bytes.abs_diff(found.after_bytes) <= PLACE);
                if let Some(found) = place.map(|place| found.remove(place)) {
                    self.placed += 1;
                    let off = pause.length.as_secs_f64() - found.length.as_secs_f64();
                    self.as_long += u64::from(off.abs() <= 0.1 * pause.length.as_secs_f64() + 0.01);
                }
            }
            self.wrong += found.len() as u64;
        }
        Ok(())
    }
}

impl Found {
    fn add(&mut self, other: Found) {
        let Found { large, pauses, placed, as_long, wrong } = other;
        self.large += large;
        self.pauses += pauses;
        self.placed += placed;
        self.as_long += as_long;
        self.wrong = self.wrong.saturating_add(wrong);
    }
}

/// Plays programs under `condition`.
fn play(condition: &Condition, windows: [f64; 2], tcp: &tcp::Config, place: f64, adus: u64, pauses: bool) -> Found {
    // What 105 % of the congested link carries, an ADU being 100 kB on average.
    let per_second = 1.05 * CONGESTED as f64 * 1e6 / 8.0 / 100e3 / ADUS as f64;
    let connections = adus / ADUS;
    let config = condition.config(tcp, connections as f64 / per_second + 120.0, 1);
    let vectors = programs(condition, windows, place, connections, per_second, pauses);
    let mut found = Found::default();
    let run = flowloom_sim::run(vectors.into_iter().map(Ok::<_, Infallible>), &config, &mut found, |_| {
        ControlFlow::Continue(())
    });
    match run {
        Ok(_) => found,
        Err(_) => Found { wrong: u64::MAX, ..Found::default() },
    }
}

/// All profiles and places of the monitor together.
fn play_all(condition: &Condition, windows: [f64; 2], places: &[(&str, f64)], adus: u64, pauses: bool) -> Found {
    let mut all = Found::default();
    for (_, profile) in PROFILES {
        for (_, place) in places {
            all.add(play(condition, windows, &tcp::Config::of(profile), *place, adus, pauses));
        }
    }
    all
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let (adus, places) = if full { (1_500, &PLACES[..]) } else { (200, &PLACES[1..2]) };
    let mut rows = Vec::new();
    let mut row = |name: String, expected: Expected, ours: f64| {
        let row = Row::new(GROUP, name, SOURCE, expected, ours);
        let departs = row.name.contains(UNTOLD);
        rows.push(Row { departs: departs.then(|| WHY_UNTOLD.to_owned()), ..row });
    };
    let [_, _, (_, wide)] = WINDOWS;
    for condition in &CONDITIONS {
        let found = play_all(condition, wide, places, adus, false);
        let name = format!(
            "{}: pauses found in 1,000 of {} large data units to programs that read",
            condition.name, found.large
        );
        row(name, Expected::AtMost(1.0), found.wrong as f64 * 1e3 / found.large as f64);
    }
    for (name, windows) in WINDOWS {
        let lossy =
            CONDITIONS.iter().filter(|condition| ["free", "1 % loss", "5 % reordered"].contains(&condition.name));
        for condition in lossy {
            let found = play_all(condition, windows, places, adus / 5, false);
            let name = format!(
                "windows of {name} bytes, {}: pauses found in {} large data units to programs that read",
                condition.name, found.large
            );
            row(name, Expected::AtMost(0.0), found.wrong as f64);
        }
    }
    for condition in &CONDITIONS {
        let found = play_all(condition, wide, places, adus / 3, true);
        let share = |of: u64, all: u64| of as f64 / all as f64;
        let of = format!("{}: of {} pauses that closed a window, share", condition.name, found.pauses);
        row(format!("{of} found"), Expected::AtLeast(0.95), share(found.placed, found.pauses));
        row(format!("{of} found and as long"), Expected::AtLeast(0.9), share(found.as_long, found.pauses));
        let name = format!(
            "{}: pauses found where no program made one, in 1,000 of {} large data units",
            condition.name, found.large
        );
        row(name, Expected::AtMost(1.0), found.wrong as f64 * 1e3 / found.large as f64);
    }
    rows
}
