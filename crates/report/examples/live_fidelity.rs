//! Whether a live run did what its workload asks for: sizes, vectors found again, round-trip times, waits, windows.
//!
//! `cargo run --release -p flowloom-report --example live_fidelity LIVE SIM WORKLOAD.parquet AGAIN.parquet [loose]`
//!
//! LIVE and SIM are run folders of one experiment, through the kernel and through the simulator, of WORKLOAD (of a capture,
//! workload.parquet in the run folder). AGAIN is what `flowloom extract
//! --hosts captured` makes of the packets of the live run (`run --pcap`, link.pcap). Prints a table; exits with 1 if a bound is
//! missed. `loose` is for busy hosts: of what depends on time nothing is asked but that it is found.

use std::collections::BTreeMap;
use std::error::Error;
use std::net::IpAddr;
use std::path::Path;
use std::process::ExitCode;

use flowloom_core::record::Outcome;
use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, Host, LinkSide, Pattern, Side};
use flowloom_store::run_folder::{ConnectionRow, Point, RunFolder};
use flowloom_store::workload::WorkloadReader;

const HELP: &str = "usage: live_fidelity LIVE SIM WORKLOAD.parquet AGAIN.parquet [loose]";
/// A round-trip time may be off by the larger of these.
const RTT: (Duration, f64) = (Duration::from_micros(500), 0.02);
/// A wait may be off by their sum, in 95 of 100 cases.
const WAIT: (Duration, f64) = (Duration::from_millis(1), 0.01);
/// Connections whose data units a monitor need not find: it takes a pause of the network for one of a program, or two waits
/// for none.
const NOT_FOUND: f64 = 0.03;
/// The window that kernels offer first: larger ones grow with what is received.
const FIRST_WINDOW: u64 = 65_535;
/// And in whole segments, until the first one arrives.
const SEGMENT: u64 = 1_460;

/// Sizes of one end's data units in their order, initiator first.
type Units = [Vec<u64>; 2];

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (live, sim, workload, again, is_loose) = match &arguments[..] {
        [live, sim, workload, again] => (live, sim, workload, again, false),
        [live, sim, workload, again, loose] if loose == "loose" => (live, sim, workload, again, true),
        _ => return Err(HELP.into()),
    };
    let asked = vectors(workload, |vector| Some(vector.id))?;
    let (live, sim) = (Run::open(live, &asked)?, Run::open(sim, &asked)?);
    let again = vectors(again, captured_id)?;
    let mut told = Told::default();
    told.sizes(&live);
    told.units(&live, &sim);
    told.vectors(&live, &again);
    told.round_trips(&live, is_loose);
    told.waits(&live, &sim, is_loose);
    told.windows(&live, &again);
    Ok(ExitCode::from(u8::from(told.missed)))
}

/// What is looked at of a run folder.
struct Run<'a> {
    connections: BTreeMap<u64, ConnectionRow>,
    asked: &'a BTreeMap<u64, ConnectionVector>,
    /// By the monitor: data units, and the waits after them by their places.
    units: BTreeMap<u64, Units>,
    waits: BTreeMap<(u64, u32), Duration>,
}

impl<'a> Run<'a> {
    fn open(path: &str, asked: &'a BTreeMap<u64, ConnectionVector>) -> Result<Run<'a>, Box<dyn Error>> {
        let folder = RunFolder::open(Path::new(path))?;
        let (mut units, mut waits): (BTreeMap<u64, Units>, _) = (BTreeMap::new(), BTreeMap::new());
        for row in folder.adus()? {
            let row = row?;
            if row.point == Point::Monitor {
                units.entry(row.connection).or_default()[row.side as usize].push(row.bytes);
                waits.extend(row.wait.map(|wait| ((row.connection, row.index), wait)));
            }
        }
        let connections = folder.connections()?.map(|row| row.map(|row| (row.id, row))).collect::<Result<_, _>>()?;
        Ok(Run { connections, asked, units, waits })
    }

    fn completed(&self) -> impl Iterator<Item = &ConnectionRow> {
        self.connections.values().filter(|row| row.outcome == Outcome::Completed)
    }

    /// Whether the monitor found the data units of this connection as they were asked for.
    fn found(&self, id: u64) -> bool {
        self.asked.get(&id).map(units) == self.units.get(&id).cloned()
    }
}

/// The vectors of a workload file under what `id` calls them; those that it does not are left out.
fn vectors(
    path: impl AsRef<Path>,
    id: impl Fn(&ConnectionVector) -> Option<u64>,
) -> Result<BTreeMap<u64, ConnectionVector>, Box<dyn Error>> {
    let mut found = BTreeMap::new();
    for vector in WorkloadReader::open(path.as_ref())? {
        let vector = vector?;
        found.extend(id(&vector).map(|id| (id, vector)));
    }
    Ok(found)
}

/// The number of a connection, by the addresses and ports that captures of a run have.
fn captured_id(vector: &ConnectionVector) -> Option<u64> {
    let side = if vector.initiator_side == LinkSide::Left { Side::Initiator } else { Side::Acceptor };
    let Some(Host::Address(IpAddr::V4(left))) = vector.ends[side].host else { return None };
    let port = u64::from(vector.ends.initiator.port?.checked_sub(32_768)?);
    Some(u64::from(left.to_bits().checked_sub(0x0a00_0001)?) + (port << 17))
}

fn units(vector: &ConnectionVector) -> Units {
    Side::BOTH
        .map(|side| vector.adus.iter().filter(|adu| adu.side == side && adu.bytes > 0).map(|adu| adu.bytes).collect())
}

/// By how much two times are apart.
fn apart(one: Duration, other: Duration) -> Duration {
    one.max(other).saturating_sub(one.min(other))
}

/// The value behind this share of the others.
fn quantile<T: Copy + Ord + Default>(values: &mut [T], share: f64) -> T {
    values.sort_unstable();
    let last = values.len().saturating_sub(1);
    values.get((share * last as f64).round() as usize).copied().unwrap_or_default()
}

/// So much of a time.
fn share(duration: Duration, of: f64) -> Duration {
    Duration::from_secs_f64(of * duration.as_secs_f64())
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[derive(Default)]
struct Told {
    missed: bool,
}

impl Told {
    fn say(&mut self, what: &str, found: &str, is_good: bool) {
        self.missed |= !is_good;
        println!("{what:<46} {found}{}", if is_good { "" } else { "  MISSED" });
    }

    fn sizes(&mut self, live: &Run<'_>) {
        let (mut completed, mut exact) = (0, 0);
        for row in live.completed() {
            completed += 1;
            let arrived = (row.delivered_to_acceptor_bytes, row.delivered_to_initiator_bytes);
            exact += u64::from(arrived == (row.initiator_bytes, row.acceptor_bytes));
        }
        let all = live.connections.len();
        self.say("connections completed", &format!("{completed} of {all}"), completed > 0);
        self.say("  with every byte, and no other", &format!("{exact}"), exact == completed);
    }

    fn units(&mut self, live: &Run<'_>, sim: &Run<'_>) {
        let completed: Vec<u64> = live.completed().map(|row| row.id).collect();
        let found = |run: &Run<'_>| completed.iter().filter(|id| run.found(**id)).count();
        let (there, here) = (found(live), found(sim));
        let other: Vec<u64> =
            completed.iter().copied().filter(|id| !live.found(*id) && sim.found(*id)).take(10).collect();
        let enough = there as f64 >= (1.0 - NOT_FOUND) * completed.len() as f64;
        self.say(
            "  whose data units the monitor found",
            &format!("{there}; in the simulator {here}; only there: {other:?}"),
            enough,
        );
    }

    fn vectors(&mut self, live: &Run<'_>, again: &BTreeMap<u64, ConnectionVector>) {
        let (mut same, mut of, mut unlike) = (0, 0, Vec::new());
        // Ends that send by themselves are seen to do so where they happened to send at once.
        let (mut concurrent, mut overlapping) = (0, 0);
        let (mut half_closes, mut again_half) = (0, 0);
        for row in live.completed() {
            let (Some(asked), Some(found)) = (live.asked.get(&row.id), again.get(&row.id)) else { continue };
            of += 1;
            if asked.pattern == Pattern::Concurrent {
                concurrent += 1;
                overlapping += u32::from(found.pattern == Pattern::Concurrent);
            }
            let half_closed = asked.half_close().map(|half| half.0);
            half_closes += u32::from(half_closed.is_some());
            again_half += u32::from(half_closed.is_some() && found.half_close().map(|half| half.0) == half_closed);
            let is_same = units(asked) == units(found)
                && (asked.pattern == Pattern::Concurrent || found.pattern == Pattern::Sequential)
                && asked.close == found.close;
            if is_same { same += 1 } else { unlike.push(row.id) }
        }
        unlike.truncate(10);
        let enough = of > 0 && f64::from(same) >= (1.0 - NOT_FOUND) * f64::from(of);
        self.say("vectors found again in the live capture", &format!("{same} of {of}; not {unlike:?}"), enough);
        println!("  {:<44} {overlapping} of {concurrent}", "concurrent ones that overlapped again");
        println!("  {:<44} {again_half} of {half_closes}", "half-closes that were some again");
    }

    fn round_trips(&mut self, live: &Run<'_>, is_loose: bool) {
        let (mut within, mut errors) = (0_usize, Vec::new());
        for row in live.completed() {
            let Some(found) = row.monitor_rtt else { continue };
            let error = apart(found, row.path_rtt);
            within += usize::from(error <= RTT.0.max(share(row.path_rtt, RTT.1)));
            errors.push(error);
        }
        let found = format!(
            "{within} of {}; median off by {:.3} ms, 95 % {:.3} ms",
            errors.len(),
            millis(quantile(&mut errors, 0.5)),
            millis(quantile(&mut errors, 0.95))
        );
        let good = within as f64 >= 0.99 * errors.len() as f64;
        self.say("round-trip times within 0.5 ms or 2 %", &found, is_loose || good);
    }

    fn waits(&mut self, live: &Run<'_>, sim: &Run<'_>, is_loose: bool) {
        let mut beyond = Vec::new();
        for (place @ (id, _), wait) in &live.waits {
            // What a wait is of a concurrent connection depends on whether the monitor saw that it was one.
            let is_sequential = live.asked.get(id).is_some_and(|asked| asked.pattern == Pattern::Sequential);
            let same = is_sequential && live.units.get(id) == sim.units.get(id);
            let Some(asked) = sim.waits.get(place).filter(|_| same) else { continue };
            beyond.push(apart(*wait, *asked).saturating_sub(share(*asked, WAIT.1)));
        }
        let late = quantile(&mut beyond, 0.95);
        let found = format!("{:.3} ms + 1 % at 95 % of {}", millis(late), beyond.len());
        self.say(
            "waits of sequential ones, as in the simulator",
            &found,
            !beyond.is_empty() && (is_loose || late <= WAIT.0),
        );
    }

    fn windows(&mut self, live: &Run<'_>, again: &BTreeMap<u64, ConnectionVector>) {
        let (mut exact, mut near, mut of, mut grew, mut large, mut above) = (0, 0, 0, 0, 0, 0);
        for row in live.completed() {
            let (Some(asked), Some(found)) = (live.asked.get(&row.id), again.get(&row.id)) else { continue };
            for side in Side::BOTH {
                // One that has room for all that came was in nobody's way, however large it would have grown.
                let came: u64 = asked.adus.iter().filter(|adu| adu.side != side).map(|adu| adu.bytes).sum();
                let (Some(asked), Some(found)) = (asked.window(side), found.window(side)) else { continue };
                let has_room = came <= found;
                above += u32::from(found > asked);
                if asked <= FIRST_WINDOW {
                    of += 1;
                    exact += u32::from(found == asked);
                    near += u32::from(found + SEGMENT >= asked || has_room);
                } else {
                    large += 1;
                    grew += u32::from(found + SEGMENT >= FIRST_WINDOW || has_room);
                }
            }
        }
        let found = format!("{exact} of {of}; less, with room for all that came, {}", near - exact);
        self.say("windows up to 65,535 bytes as asked for", &found, near == of);
        let found = format!("{grew} of {large}; above what was asked for {above}");
        self.say("larger ones grown from there, or with room", &found, grew == large && above == 0);
    }
}
