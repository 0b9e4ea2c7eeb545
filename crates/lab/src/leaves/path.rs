//! A leaf that is a path: what passes between two network interfaces of this host goes through the emulator of live runs, with the
//! same links, queues, delays and losses.
//!
//! It carries from when it is opened, so that others can connect across it, until it is closed; its table is of the run alone.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path as Folder;

use flowloom_core::path::CellCounts;
use flowloom_core::record::DropReason;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_live::clock::Clock;
use flowloom_live::emulator::bridge::{Series, carry};
use flowloom_live::emulator::{EmulatorReport, Settings};
use flowloom_live::host::port::{HEADER, Port, Refused};
use flowloom_sim::Config;
use serde::{Deserialize, Serialize};

use super::error::WorkError;
use super::order::{Order, Todo};
use crate::report::Report;
use crate::script::leaf::Path;

/// A path that is ready to carry.
#[derive(Debug)]
pub struct Carrying {
    config: Config,
    settings: Settings,
    ports: [Port; 2],
}

/// What a path carried.
#[derive(Debug)]
pub struct Carried {
    report: EmulatorReport,
    series: Series,
    refused: [Refused; 2],
    /// How long it was open.
    open: Duration,
}

/// What a path found, from when it was opened until it was closed. Frames that came in are `came`, and each of them is one of what follows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PathResults {
    /// How long that was, in nanoseconds.
    pub open_ns: u64,
    /// Of frames that came in at the left, and at the right.
    pub from_left: DirectionResults,
    /// The same from the right.
    pub from_right: DirectionResults,
    /// Frames of which it is not known what became of them: 0, or this is a defect.
    pub unaccounted: u64,
    /// How much later than due frames were sent.
    pub lateness: LatenessResults,
    /// How the path's thread came to run: real time, favoured or ordinary.
    pub turns: String,
    /// CPU time of its thread, in nanoseconds.
    pub cpu_ns: u64,
    /// Why it ended before it was closed.
    pub failure: Option<String>,
}

/// What became of the frames of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DirectionResults {
    /// Frames that came in.
    pub came: u64,
    /// Their bytes, headers of Ethernet included.
    pub came_bytes: u64,
    /// Copies that the path made of some of them.
    pub duplicated: u64,
    /// Frames that were sent at the other interface.
    pub sent: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Frames that a model of loss took.
    pub lost: u64,
    /// Frames that the queue dropped.
    pub dropped: u64,
    /// The same by reason: `queue-full`, `early`, `overflow`, `spoilt`.
    pub dropped_by_reason: Vec<(String, u64)>,
    /// Frames too short to be any.
    pub malformed: u64,
    /// Frames on their way when it was closed.
    pub in_flight: u64,
    /// Frames that the other interface had not taken when it was closed.
    pub unsent: u64,
    /// The queue over that time: its mean length in packets, the one in transmission not counted.
    pub queue_mean_packets: f64,
    /// Its greatest length.
    pub queue_max_packets: u64,
    /// What became of the cells of the bottleneck; absent where it carries packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellCounts>,
    /// Frames that never came in, because nothing could carry them.
    pub refused: Refused,
}

/// How late frames were, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatenessResults {
    /// Half of them were not later.
    pub p50_ns: u64,
    /// 99 of 100 were not later.
    pub p99_ns: u64,
    /// None was later.
    pub max_ns: u64,
}

impl Carrying {
    /// Opens both interfaces, which it has to itself from now on. With it comes a sentence for the user, or none.
    ///
    /// # Errors
    /// Which interface cannot be had, and why.
    pub fn open(asked: &Path) -> Result<(Carrying, String), WorkError> {
        let port = |name: &String| {
            Port::open(name).map_err(|cause| match cause.kind() {
                io::ErrorKind::PermissionDenied => WorkError::NotPermitted { name: name.clone(), cause },
                _ => WorkError::Named { name: name.clone(), cause },
            })
        };
        let [left, right] = &asked.interfaces;
        let ports = [port(left)?, port(right)?];
        let mut room = usize::MAX;
        for (port, name) in ports.iter().zip(&asked.interfaces) {
            let mtu = port.mtu().map_err(|cause| WorkError::Named { name: name.clone(), cause })?;
            room = room.min(mtu as usize + HEADER);
        }
        let merging: Vec<&str> = ports
            .iter()
            .zip(&asked.interfaces)
            .filter(|(port, _)| port.merges())
            .map(|(_, name)| name.as_str())
            .collect();
        let said = match merging.as_slice() {
            [] => String::new(),
            names => format!(
                "{} may merge segments (GRO), which cannot be carried: turn that off, or give the agent CAP_NET_ADMIN",
                names.join(" and ")
            ),
        };
        // Its clock begins before the run does, and may go on longer.
        let config = Config { window: Config::MAX_WINDOW, ..Series::measured(asked.config()?) };
        Ok((Carrying { config, settings: Settings { room, ..Settings::default() }, ports }, said))
    }

    /// Carries from the beginning of `clock` until it is told to end.
    ///
    /// # Errors
    /// What it did does not add up, or its thread cannot wait.
    pub fn carry(self, clock: &Clock, order: &Order) -> Result<Carried, WorkError> {
        let Carrying { config, settings, mut ports } = self;
        let carried = carry(&config, settings, &mut ports, clock, || order.todo() != Todo::GoOn);
        let (report, series) = carried?;
        let mut refused = [Refused::default(); 2];
        for (port, refused) in ports.iter_mut().zip(&mut refused) {
            *refused = port.refused().unwrap_or_default();
        }
        Ok(Carried { report, series, refused, open: clock.now().since(Time::ZERO) })
    }
}

impl Carried {
    /// Why it ended before it was told to.
    pub fn failure(&self) -> Option<&str> {
        self.report.failed.as_deref()
    }

    /// What the user has to know.
    pub fn words(&self) -> String {
        let sum = |of: fn(&Refused) -> u64| self.refused.iter().map(of).sum::<u64>();
        let mut said = Vec::new();
        let merged = sum(|refused| refused.merged);
        if merged > 0 {
            said.push(format!(
                "{merged} frames were of several segments, and not carried: turn segmentation offload off where they come from"
            ));
        }
        let too_long = sum(|refused| refused.too_long);
        if too_long > 0 {
            said.push(format!("{too_long} frames were longer than both interfaces take, and not carried"));
        }
        let dropped = sum(|refused| refused.dropped);
        if dropped > 0 {
            said.push(format!("the kernel lost {dropped} frames before they were read"));
        }
        said.join("; ")
    }

    /// What it found, with a table of what happened from `start` to `end`, whose file is in `room` and has no name.
    ///
    /// # Errors
    /// There is no room for the table.
    pub fn report(&self, (start, end): (Time, Time), room: &Folder) -> io::Result<Report> {
        let file = tempfile::tempfile_in(room)?;
        self.write(start, end, &file)?;
        Ok(Report::new("path", &self.results()).with_file("csv", file))
    }

    fn write(&self, start: Time, end: Time, file: &File) -> io::Result<()> {
        let mut out = BufWriter::new(file);
        writeln!(
            out,
            "time_ns,from,offered_packets,offered_bytes,carried_packets,carried_bytes,dropped_packets,queue_mean_packets,queue_max_packets"
        )?;
        for (time, bins) in self.series.bins.range(start..end) {
            for (from, bin) in ["left", "right"].into_iter().zip(bins) {
                let mean = bin.queue_sum_packets as f64 / Series::SAMPLES as f64;
                let time = time.since(start).as_nanos();
                let (offered, carried) = (bin.offered_packets, bin.carried_packets);
                write!(out, "{time},{from},{offered},{},{carried},{},", bin.offered_bytes, bin.carried_bytes)?;
                writeln!(out, "{},{mean},{}", bin.dropped_packets, bin.queue_max_packets)?;
            }
        }
        out.flush()
    }

    fn results(&self) -> PathResults {
        let Carried { report, open, .. } = self;
        let late = |share| report.lateness.quantile(share).as_nanos();
        PathResults {
            open_ns: open.as_nanos(),
            from_left: self.direction(LinkSide::Left),
            from_right: self.direction(LinkSide::Right),
            unaccounted: report.unaccounted(),
            lateness: LatenessResults {
                p50_ns: late(0.5),
                p99_ns: late(0.99),
                max_ns: report.lateness.max().as_nanos(),
            },
            turns: report.turns.to_string(),
            cpu_ns: report.cpu.as_nanos(),
            failure: report.failed.clone(),
        }
    }

    fn direction(&self, from: LinkSide) -> DirectionResults {
        let (here, there) = (&self.report.devices[from as usize], &self.report.devices[from.other() as usize]);
        let direction = &self.report.network.directions[from as usize];
        let by_reason = self.series.dropped[from as usize].iter().filter(|(reason, _)| reason.is_at_queue());
        DirectionResults {
            came: here.read_packets,
            came_bytes: here.read_bytes,
            duplicated: direction.duplicated,
            sent: there.written_packets,
            sent_bytes: there.written_bytes,
            lost: direction.lost.total(),
            dropped: direction.dropped.total(),
            dropped_by_reason: by_reason.map(|(reason, count)| (name(*reason).to_owned(), *count)).collect(),
            malformed: here.malformed,
            in_flight: direction.in_flight,
            unsent: there.unwritten,
            queue_mean_packets: direction.link.mean_packets(),
            queue_max_packets: direction.link.max().packets,
            cells: direction.link.cells().copied(),
            refused: self.refused[from as usize],
        }
    }
}

/// As the tables of runs have it.
fn name(reason: DropReason) -> &'static str {
    match reason {
        DropReason::QueueFull => "queue-full",
        DropReason::Loss => "loss",
        DropReason::Policed => "policed",
        DropReason::Early => "early",
        DropReason::Overflow => "overflow",
        DropReason::Spoilt => "spoilt",
    }
}
