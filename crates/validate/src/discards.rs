//! TCP over a narrow line of cells with a short buffer: tail drop, partial and early discard (Romanow and Floyd 1995), as hosts send and as
//! their adapters pace the cells of each circuit (Ewy, Evans, Frost and Minden 1995; Frost et al. 1998).

use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::cell::{Discard, Mapping, Order};
use flowloom_core::path::cell_keys::Paced;
use flowloom_core::path::{CellFraming, CellParams};
use flowloom_core::record::{Record, Recorder};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, LinkSide, Pattern, Side};
use flowloom_report::statistics::Estimate;
use flowloom_sim::{Classed, Config, Grouping, Origin};

use crate::check::{Effort, Expected, Row};

const GROUP: &str = "Discards of cells";
const DISCARDING: &str = "Romanow and Floyd 1995";
const PACING: &str = "Ewy et al. 1995; Frost et al. 1998";
const TRANSFERS: u64 = 30;
/// Bit/s of the line.
const LINE: u64 = 20_000_000;
/// Bit/s of a host's line: an OC-3.
const ACCESS: u64 = 149_760_000;
/// Bit/s of a paced transfer: its share of the line.
const PACE: u64 = LINE / TRANSFERS;
/// Cells that may wait.
const ROOM: u32 = 500;
/// Cells from which on early discard refuses whole packets: half of the buffer, as the key has it by default.
const THRESHOLD: u32 = ROOM / 2;
const MSS: u16 = 9_140;
/// The default, and those that stand for standards, for the time of the studies and for today.
const PROFILES: [(&str, Profile); 4] =
    [("plain", Profile::Plain), ("rfc", Profile::Rfc), ("bsd-2008", Profile::Bsd2008), ("linux", Profile::Linux)];
const DISCARDS: [(&str, Discard); 3] =
    [("tail drop", Discard::Tail), ("partial discard", Discard::Partial), ("early discard", Discard::Early(THRESHOLD))];

/// Payload that the line carried for the first time, from a moment on.
struct Carried {
    from: Time,
    bytes: u64,
}

impl Recorder for Carried {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        if let Record::Throughput { bin } = record
            && bin.from == LinkSide::Left
            && bin.start >= self.from
        {
            self.bytes += bin.carried.payload_bytes;
        }
        Ok(())
    }
}

/// Transfers without end that begin within 200 ms.
fn transfers(seed: u64, until: Time) -> Vec<Classed> {
    let mut starts = Stream::new(seed, Purpose::Starts, 0);
    let transfer = |id| {
        let start = Time::ZERO + Duration::from_secs_f64(0.2 * starts.uniform());
        let mut vector = ConnectionVector { id, start, pattern: Pattern::Sequential, ..ConnectionVector::default() };
        for side in Side::BOTH {
            let end = &mut vector.ends[side];
            (end.mss, end.min_transit) = (Some(MSS), Some(Duration::from_millis(3)));
        }
        Classed { vector, class: 0, origin: Origin::Source { endless_until: Some(until) } }
    };
    (0..TRANSFERS).map(transfer).collect()
}

/// Goodput in Mbit/s, and the share of the cells on the line that were of packets that died; `None` if the run fails.
fn run(profile: Profile, discard: Discard, paced: bool, seed: u64, seconds: u64) -> Option<[f64; 2]> {
    let [first, last] = [1, seconds].map(|second| Time::ZERO + Duration::from_secs(second));
    let mut config = Config::new(Rate::from_bits_per_second(LINE)?, last.since(Time::ZERO));
    let mut cells = CellParams::new("aal5+atm".parse::<CellFraming>().ok()?);
    (cells.order, cells.room, cells.discard) = (Order::Fifo, Some(ROOM), discard);
    cells.access = Rate::from_bits_per_second(ACCESS)?;
    if paced {
        cells.peak = Rate::from_bits_per_second(PACE)?;
    }
    config.bottleneck.cells = Some(cells);
    config.bottleneck.per = Grouping::Circuit(Mapping::PerConversation, Paced::Both);
    config.bottleneck.delay = Duration::from_millis(1);
    config.classes[0].tcp = tcp::Config::of(profile);
    (config.results, config.drain, config.seed) = (Some([first, last]), Duration::ZERO, seed);
    let mut carried = Carried { from: first, bytes: 0 };
    let flows = transfers(seed, last).into_iter().map(Ok::<_, Infallible>);
    let summary = flowloom_sim::run(flows, &config, &mut carried, |_| ControlFlow::Continue(())).ok()?;
    let cells = summary.directions[LinkSide::Left as usize].link.cells()?;
    let goodput = carried.bytes as f64 * 8e-6 / last.since(first).as_secs_f64();
    Some([goodput, cells.dead as f64 / cells.sent.max(1) as f64])
}

/// The lower end of the 95 % interval of the mean difference, seed by seed; NaN if there is none.
fn least_more(other: &[f64], reference: &[f64]) -> f64 {
    Estimate::paired(reference, other).map_or(f64::NAN, |estimate| estimate.interval(0.95).low)
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let (profiles, seeds, seconds) = if effort == Effort::Full { (4, 10, 20) } else { (1, 5, 6) };
    PROFILES[..profiles].iter().flat_map(|(name, profile)| rows_of(name, *profile, seeds, seconds)).collect()
}

fn rows_of(profile_name: &str, profile: Profile, seeds: u64, seconds: u64) -> Vec<Row> {
    // By manner of sending and discard: goodput and dead cells of each seed.
    let of = |paced: bool, discard: Discard| -> [Vec<f64>; 2] {
        let run = |seed| run(profile, discard, paced, seed, seconds).unwrap_or([f64::NAN; 2]);
        let runs: Vec<[f64; 2]> = (1..=seeds).map(run).collect();
        [0, 1].map(|which| runs.iter().map(|run| run[which]).collect())
    };
    let [unpaced, paced] = [false, true].map(|paced| DISCARDS.map(|(_, discard)| of(paced, discard)));
    let row = |name: String, source: &str, expected: Expected, ours: f64| {
        Row::new(GROUP, format!("{profile_name}: {name}"), source, expected, ours)
    };
    let above_zero = Expected::AtLeast(f64::MIN_POSITIVE);
    let mut rows = Vec::new();
    for (worse, better) in [(0, 1), (1, 2)] {
        let [(worse_name, _), (better_name, _)] = [DISCARDS[worse], DISCARDS[better]];
        let more = least_more(&unpaced[better][0], &unpaced[worse][0]);
        let name = format!("goodput of {better_name} above that of {worse_name}, Mbit/s, lower end");
        rows.push(row(name, DISCARDING, above_zero, more));
        let fewer = least_more(&unpaced[worse][1], &unpaced[better][1]);
        let name = format!("share of cells of dead packets, {worse_name} above {better_name}, lower end");
        rows.push(row(name, DISCARDING, above_zero, fewer));
    }
    for ((name, _), (paced, unpaced)) in DISCARDS.iter().zip(paced.iter().zip(&unpaced)) {
        let more = least_more(&paced[0], &unpaced[0]);
        rows.push(row(format!("goodput of {name} paced above unpaced, Mbit/s, lower end"), PACING, above_zero, more));
        let dead = paced[1].iter().copied().fold(0.0, f64::max);
        let name = format!("share of cells of dead packets of {name} paced, most of the seeds");
        rows.push(row(name, PACING, Expected::Exactly(0.0), dead));
    }
    rows
}
