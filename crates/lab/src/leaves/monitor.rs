//! A leaf that reads counters: what the kernel counted for the host and a network interface, again and again, as a table.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flowloom_core::time::{Duration, Time};
use flowloom_live::clock::Clock;
use flowloom_live::host::counters::KernelFiles;
use flowloom_live::host::limits::CpuTimes;
use flowloom_live::host::netlink::Netlink;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::error::WorkError;
use super::order::{GLANCE, Order, Todo};
use super::work::{Work, wait_for_start};
use crate::report::Report;
use crate::script::leaf::Monitor;

/// A monitor, before, while and after it runs.
pub struct Monitoring {
    asked: Monitor,
    room: PathBuf,
    counters: Option<Counters>,
    file: Option<File>,
    results: MonitorResults,
}

/// What a monitor did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MonitorResults {
    /// Rows of its table.
    pub samples: u64,
    /// Samples that were not taken because the host was late by more than a period.
    pub missed: u64,
    /// How much later than it should have been a sample was taken, at most, in nanoseconds.
    pub latest_ns: u64,
}

/// Where counters are read.
struct Counters {
    kernel: KernelFiles,
    interface: Option<(String, Netlink)>,
}

impl Counters {
    fn open(interface: Option<&str>) -> io::Result<Counters> {
        let interface = match interface {
            Some(name) => {
                let mut netlink = Netlink::open()?;
                netlink.link(name).map_err(|error| io::Error::new(error.kind(), format!("{name}: {error}")))?;
                Some((name.to_owned(), netlink))
            }
            None => None,
        };
        Ok(Counters { kernel: KernelFiles::open()?, interface })
    }

    /// Everything, by the names of columns.
    fn read(&mut self) -> io::Result<Map<String, Value>> {
        let mut all = Map::new();
        let mut add = |prefix: &str, counts: Value| {
            if let Value::Object(counts) = counts {
                all.extend(counts.into_iter().map(|(name, count)| (format!("{prefix}_{name}"), count)));
            }
        };
        if let Some((name, netlink)) = &mut self.interface {
            add("interface", serde_json::to_value(netlink.link(name)?.counts)?);
        }
        add("kernel", serde_json::to_value(self.kernel.read()?)?);
        // Jiffies are hundredths of a second wherever Linux shows them.
        let CpuTimes { total, idle, stolen } = CpuTimes::now()?;
        add(
            "cpu",
            serde_json::json!({ "total_centiseconds": total, "idle_centiseconds": idle, "stolen_centiseconds": stolen }),
        );
        Ok(all)
    }
}

impl Monitoring {
    /// A monitor whose table is nowhere else and has no name.
    pub fn new(asked: Monitor, room: &Path) -> Monitoring {
        let room = room.to_owned();
        Monitoring { asked, room, counters: None, file: None, results: MonitorResults::default() }
    }

    fn sample(&mut self, clock: &Clock, order: &Order) -> io::Result<()> {
        let (Some(counters), Some(file)) = (&mut self.counters, &self.file) else { return Ok(()) };
        let Monitor { period, duration, .. } = self.asked;
        let results = &mut self.results;
        let mut out = BufWriter::new(file);
        if !wait_for_start(clock, order) {
            return Ok(());
        }
        let mut due = Duration::ZERO;
        while due <= duration {
            while clock.now() < Time::ZERO + due && order.todo() == Todo::GoOn {
                clock.doze(Time::ZERO + due, GLANCE);
            }
            if order.todo() != Todo::GoOn {
                break;
            }
            let at = clock.now().since(Time::ZERO);
            let counts = counters.read()?;
            if results.samples == 0 {
                let names: Vec<&str> = counts.keys().map(String::as_str).collect();
                writeln!(out, "time_ns,{}", names.join(","))?;
            }
            let values: Vec<String> = counts.values().map(Value::to_string).collect();
            writeln!(out, "{},{}", at.as_nanos(), values.join(","))?;
            results.samples += 1;
            results.latest_ns = results.latest_ns.max((at - due).as_nanos());
            let periods = (clock.now().since(Time::ZERO) - due).as_nanos() / period.as_nanos();
            results.missed += periods;
            due += period * (periods + 1);
        }
        out.flush()
    }
}

impl Work for Monitoring {
    fn prepare(&mut self) -> Result<String, WorkError> {
        let counters = Counters::open(self.asked.interface.as_deref());
        self.counters = Some(counters.map_err(WorkError::Counters)?);
        let made = tempfile::tempfile_in(&self.room);
        self.file = Some(made.map_err(|cause| WorkError::NoRoom { what: "table", cause })?);
        Ok(String::new())
    }

    fn run(&mut self, clock: &Clock, order: &Arc<Order>) -> Result<String, WorkError> {
        self.sample(clock, order).map_err(WorkError::Sample)?;
        let missed = self.results.missed;
        Ok(if missed > 0 { format!("{missed} samples were not taken: the host was late") } else { String::new() })
    }

    fn report(&mut self) -> io::Result<Report> {
        let report = Report::new("monitor", &self.results);
        Ok(match &self.file {
            Some(file) => report.with_file("csv", file.try_clone()?),
            None => report,
        })
    }
}
