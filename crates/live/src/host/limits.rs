//! How much of a run this host can hold, and how busy it is with other things.

use std::fs;
use std::io;
use std::thread;

use flowloom_core::time::Duration;
use nix::sys::prctl::set_timerslack;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use serde::{Deserialize, Serialize};

use crate::clock::Clock;
use crate::lateness::Lateness;

/// Descriptors of a worker that are no connections: pipes, listeners, polls, and those that close late.
const OTHER_DESCRIPTORS: u64 = 1_000;

/// The most connections of a worker: one that has more is late for its timers before it is short of descriptors.
const MOST_OF_A_WORKER: u64 = 19_000;

/// The most workers of a side: each has a process, and listens on a port below those of initiators.
pub const MOST_WORKERS: u16 = 100;

/// Memory of a connection in bytes, both ends with their programs, idle: measured over 80,000, with what their socket buffers
/// held at a run of 60,000.
const BYTES_PER_CONNECTION: u64 = 20_000;

/// Memory of a connection in TIME-WAIT, in bytes.
const BYTES_PER_TIME_WAIT: u64 = 256;

/// What does not change while a run goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Descriptors that a process may have at most (the hard limit of RLIMIT_NOFILE).
    pub descriptors: u64,
    /// Descriptors that all processes may have (fs.file-max).
    pub files: Option<u64>,
    /// Processors.
    pub processors: usize,
    /// Memory that is to be had, in bytes.
    pub memory: Option<u64>,
}

impl Limits {
    /// Those of this host, for this process.
    pub fn of_this_host() -> Limits {
        let descriptors = getrlimit(Resource::RLIMIT_NOFILE).map_or(1_024, |(_, hard)| hard);
        let files = fs::read_to_string("/proc/sys/fs/file-max").ok().and_then(|text| text.trim().parse().ok());
        let memory = fs::read_to_string("/proc/meminfo").ok().and_then(|text| memory_available(&text));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Limits { descriptors, files, processors, memory }
    }

    /// How many connections a worker can have at once.
    pub fn connections_of_a_worker(&self) -> u64 {
        self.descriptors.saturating_sub(OTHER_DESCRIPTORS).min(MOST_OF_A_WORKER)
    }

    /// How many workers each side needs for so many connections at once; `None` if processes may have too few descriptors for
    /// any, or so many workers would be too many.
    pub fn workers(&self, connections: u64) -> Option<u16> {
        let of_a_worker = self.connections_of_a_worker();
        if of_a_worker == 0 {
            return None;
        }
        u16::try_from(connections.div_ceil(of_a_worker).max(1)).ok().filter(|workers| *workers <= MOST_WORKERS)
    }

    /// How many connections can be open at once: as descriptors allow, and memory, with as many more in TIME-WAIT as are to be
    /// expected beside them.
    pub fn connections(&self) -> u64 {
        let by_descriptors = self.connections_of_a_worker() * u64::from(MOST_WORKERS);
        // Each has a descriptor at either end.
        let by_files = self.files.map_or(u64::MAX, |files| files / 2);
        let by_memory = self.memory.map_or(u64::MAX, |bytes| bytes / (BYTES_PER_CONNECTION + 2 * BYTES_PER_TIME_WAIT));
        by_descriptors.min(by_files).min(by_memory)
    }
}

/// What memory is to be had, in bytes, by the text of /proc/meminfo.
fn memory_available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? * 1_024)
}

/// CPU time of the whole host since it started, in ticks of 10 ms, over all processors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    /// All of it.
    pub total: u64,
    /// Doing nothing, or waiting for a disk.
    pub idle: u64,
    /// Given to other guests of the same machine when it was wanted here.
    pub stolen: u64,
}

impl CpuTimes {
    /// Up to now.
    ///
    /// # Errors
    /// There is no /proc.
    pub fn now() -> io::Result<CpuTimes> {
        let text = fs::read_to_string("/proc/stat")?;
        CpuTimes::read(&text).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the first line of /proc/stat"))
    }

    fn read(text: &str) -> Option<CpuTimes> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let times: Vec<u64> = line.split_whitespace().map_while(|word| word.parse().ok()).collect();
        // user, nice, system, idle, iowait, irq, softirq, steal; what guests had is in user already.
        let [_, _, _, idle, waiting, _, _, stolen] = times.first_chunk()?;
        Some(CpuTimes { total: times[..8].iter().sum(), idle: idle + waiting, stolen: *stolen })
    }

    /// What was used since `earlier`.
    pub fn since(&self, earlier: &CpuTimes) -> CpuTimes {
        CpuTimes {
            total: self.total.saturating_sub(earlier.total),
            idle: self.idle.saturating_sub(earlier.idle),
            stolen: self.stolen.saturating_sub(earlier.stolen),
        }
    }

    /// The share that was busy, ourselves included.
    pub fn busy(&self) -> f64 {
        self.share(self.total.saturating_sub(self.idle))
    }

    /// The share that others of the same machine took.
    pub fn steal(&self) -> f64 {
        self.share(self.stolen)
    }

    fn share(&self, ticks: u64) -> f64 {
        if self.total == 0 { 0.0 } else { ticks as f64 / self.total as f64 }
    }
}

/// How many processes wanted to run, on average over the last minute; `None` without /proc.
pub fn load_average() -> Option<f64> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().next()?.parse().ok()
}

/// What tells the kernel the time, as it calls it ("tsc"); `None` if it does not say.
pub fn clock_source() -> Option<String> {
    let name = fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource").ok()?;
    Some(name.trim().to_owned())
}

/// How late a thread wakes up here: of `samples` sleeps of 100 us each, with timers as exact as those of the emulator.
pub fn sleep_latency(samples: usize) -> Lateness {
    // In a thread of its own, whose timers are nobody else's.
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            // Without it, the kernel joins timers that are 50 us apart; it has been there since Linux 2.6.28.
            let _as_it_is = set_timerslack(1);
            sleep(samples)
        });
        sleeper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn sleep(samples: usize) -> Lateness {
    const ASKED: Duration = Duration::from_micros(100);
    let mut lateness = Lateness::default();
    let clock = Clock::starting_in(Duration::ZERO);
    let span = TimeSpec::new(0, ASKED.as_nanos() as i64);
    for _ in 0..samples {
        let before = clock.now();
        // A signal ends it early, and then it was not late.
        let _ended = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &span);
        lateness.record(clock.now().since(before).saturating_sub(ASKED));
    }
    lateness
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits() -> Limits {
        Limits { descriptors: 20_000, files: Some(1_000_000), processors: 2, memory: Some(8 << 30) }
    }

    #[test]
    fn workers_follow_from_descriptors() {
        assert_eq!(limits().workers(0), Some(1));
        assert_eq!(limits().workers(19_000), Some(1));
        assert_eq!(limits().workers(45_000), Some(3));
        assert_eq!(limits().workers(10_000_000), None);
        assert_eq!(Limits { descriptors: 1_024, ..limits() }.workers(45_000), None);
        assert_eq!(Limits { descriptors: 4_096, ..limits() }.workers(45_000), Some(15));
        assert_eq!(Limits { descriptors: 256, ..limits() }.workers(1), None);
        assert_eq!(Limits { descriptors: 1 << 20, ..limits() }.workers(38_000), Some(2));
    }

    #[test]
    fn the_scarcest_thing_limits_connections() {
        assert_eq!(limits().connections(), (8 << 30) / 20_512);
        assert_eq!(Limits { files: Some(10_000), ..limits() }.connections(), 5_000);
        assert_eq!(Limits { descriptors: 1_100, ..limits() }.connections(), 10_000);
    }

    #[test]
    fn cpu_times_are_read() {
        let earlier = CpuTimes::read("cpu  100 0 50 800 50 0 0 0 0 0\ncpu0 ...").unwrap();
        let later = CpuTimes::read("cpu  150 0 70 810 50 0 10 10 7 0\ncpu0 ...").unwrap();
        let used = later.since(&earlier);
        assert_eq!(used, CpuTimes { total: 100, idle: 10, stolen: 10 });
        assert_eq!((used.busy(), used.steal()), (0.9, 0.1));
        assert_eq!(CpuTimes::read("intr 1 2"), None);
        assert_eq!(CpuTimes::default().busy(), 0.0);
    }

    #[test]
    fn memory_is_read() {
        let text = "MemTotal:  100 kB\nMemAvailable:   2048 kB\n";
        assert_eq!(memory_available(text), Some(2 << 20));
        assert_eq!(memory_available("MemTotal: 5 kB"), None);
    }

    #[test]
    fn this_host_says_what_it_is() {
        let limits = Limits::of_this_host();
        assert!(limits.descriptors > 0 && limits.processors > 0 && limits.memory.is_some());
        assert!(CpuTimes::now().unwrap().total > 0);
        assert!(load_average().is_some());
        assert_eq!(sleep_latency(3).count(), 3);
    }
}
