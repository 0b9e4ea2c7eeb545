//! A run while it goes on, as a small file in its unfinished folder: for those who watch it from another process.
//!
//! The process of the run holds a lock on the folder and replaces `running.json` in one step, about once a second. A reader that finds the
//! file without the lock knows that the run was killed. Whoever may write into the folder may ask the run to stop. When a run ends both
//! files are gone before the folder gets its name.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use serde::{Deserialize, Serialize};

use crate::regular;

/// What the run says of itself.
pub const RUNNING_FILE: &str = "running.json";
/// Present once somebody asks the run to stop.
pub const STOP_FILE: &str = "stop.json";
/// The next [`RUNNING_FILE`] while it is written.
const NEXT_FILE: &str = "running-next.json";

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;
/// Folders below the one in which runs are looked for: that of several seeds or of a sweep, its cells, the run.
const DEPTH: usize = 3;
/// Names that are looked at in one folder.
const MOST_NAMES: usize = 100_000;

/// The version of [`Observation`].
pub const VERSION: u64 = 1;

/// What a run says of itself about once a second while it goes on. Counts are from its start on; rates and mean delays are of the time since
/// the observation before, in the time of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// [`VERSION`].
    pub version: u64,
    /// The name of the run: the last part of `target`.
    pub run: String,
    /// The folder that the run will be in.
    pub target: String,
    /// What runs it: `sim`, `live` or `lab`.
    pub driver: String,
    /// Its seed.
    pub seed: u64,
    /// The process that it runs in.
    pub process: u32,
    /// What it does now.
    pub phase: Phase,
    /// When it began, in nanoseconds since 1970 UTC.
    pub begun_unix_ns: u64,
    /// When this was so, in nanoseconds since 1970 UTC.
    pub observed_unix_ns: u64,
    /// Time of the run, in nanoseconds from its start: simulated, or real in live runs.
    pub time_ns: u64,
    /// The time of the run of which links are, in nanoseconds: in live runs up to a quarter of a second before `time_ns`.
    pub links_time_ns: u64,
    /// Connections start until this time of the run.
    pub window_ns: u64,
    /// The run ends at this time of the run at the latest.
    pub at_most_ns: u64,
    /// The share of the window that is over; 1 while open connections are waited for.
    pub share_done: f64,
    /// Events of the simulator.
    pub events: Option<u64>,
    /// Connections of the workload.
    pub connections: ObservedConnections,
    /// Links, each in one direction; the two of the bottleneck come first.
    pub links: Vec<ObservedLink>,
    /// How late packets were handed on in a live run.
    pub lateness: Option<ObservedLateness>,
    /// How far agents are, if a script of a lab runs; it has no links and no connections of a workload.
    pub lab: Option<ObservedScript>,
    /// What is known of the verdict until now: `VALID`, `DEGRADED` or `INVALID`.
    pub verdict: String,
    /// Why it is not `VALID`.
    pub reasons: Vec<String>,
    /// The last warnings and notes, oldest first.
    pub log: Vec<LogLine>,
}

/// What a run does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// It goes on.
    Running,
    /// It is over, and its results are computed.
    Finishing,
    /// Nothing more comes of it.
    Ended,
}

/// Connections of the workload until now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedConnections {
    /// Sent their SYN.
    pub started: u64,
    /// Open now, with flows of sources and probes.
    pub active: u64,
    /// All their data arrived.
    pub completed: u64,
    /// Reset before that.
    pub reset: u64,
    /// Given up by TCP before that.
    pub gave_up: u64,
}

/// One direction of a link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedLink {
    /// The name of the link that it is a direction of.
    pub name: String,
    /// The node it begins at.
    pub from: String,
    /// The node it leads to.
    pub to: String,
    /// Whether it is the bottleneck, of which the results are.
    pub bottleneck: bool,
    /// Its rate in bit/s; `None` if it is unlimited, or follows a trace.
    pub rate_bps: Option<u64>,
    /// Packets that it carried.
    pub carried_packets: u64,
    /// Bytes of the packets that it carried.
    pub carried_bytes: u64,
    /// Packets that its queue dropped.
    pub dropped_packets: u64,
    /// Packets of its direction that loss models took; zero beside the bottleneck.
    pub lost_packets: u64,
    /// Packets that wait in its queue now.
    pub queue_packets: u64,
    /// Bytes of the packets that wait there now.
    pub queue_bytes: u64,
    /// Packets that have left the queue, where their delays are measured.
    pub waited_packets: Option<u64>,
    /// How long all of them had waited there, in nanoseconds.
    pub waited_ns: Option<u64>,
    /// What it carries, in bit/s.
    pub throughput_bps: f64,
    /// The mean time in the queue of the packets that left it; `None` if none did.
    pub queue_delay_ns: Option<f64>,
}

/// How late things were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedLateness {
    /// How many were counted.
    pub count: u64,
    /// The median of how late they were, in nanoseconds.
    pub p50_ns: u64,
    /// 99 % of them were at most so late.
    pub p99_ns: u64,
    /// How late the latest was, in nanoseconds.
    pub max_ns: u64,
}

/// A script over the agents of a lab.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedScript {
    /// The name of the experiment, by which agents know it.
    pub experiment: String,
    /// What all agents are asked now: `setup`, `open`, `run`, `finish`, `close`, `report`, `teardown`, `kill`; empty before.
    pub command: String,
    /// Agents, by name.
    pub agents: Vec<ObservedAgent>,
}

/// How many blocks of a script are how far at an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObservedAgent {
    /// The agent, as the script names it.
    pub agent: String,
    /// Blocks that are set up, or about to be.
    pub set_up: u64,
    /// Blocks that were asked to run and have not ended.
    pub running: u64,
    /// Blocks that have run to their end.
    pub ran: u64,
    /// Blocks that could not do something that they were asked.
    pub failed: u64,
}

/// A warning or a note.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// When, in nanoseconds since 1970 UTC.
    pub unix_ns: u64,
    /// What was said.
    pub text: String,
}

/// The file of a run, for its own process. Nothing that fails here ends a run: it is only not seen then.
#[derive(Debug)]
pub struct RunningFile {
    folder: PathBuf,
    /// Locked as long as it is open; `None` where the file system has no locks, so that a reader could not tell a run from a dead one.
    lock: Option<File>,
}

impl RunningFile {
    /// That of the run in `folder`, which is not written yet.
    pub fn new(folder: &Path) -> RunningFile {
        let lock = File::open(folder).ok().filter(|file| file.try_lock().is_ok());
        RunningFile { folder: folder.to_owned(), lock }
    }

    /// Replaces what the file says.
    pub fn write(&self, observation: &Observation) {
        if self.lock.is_none() {
            return;
        }
        let next = self.folder.join(NEXT_FILE);
        let written = serde_json::to_vec(observation)
            .map_err(io::Error::from)
            .and_then(|text| fs::write(&next, text))
            .and_then(|()| fs::rename(&next, self.folder.join(RUNNING_FILE)));
        if written.is_err() {
            let _ = fs::remove_file(&next);
        }
    }

    /// Whether somebody asks the run to stop.
    pub fn is_stop_requested(&self) -> bool {
        self.lock.is_some() && fs::symlink_metadata(self.folder.join(STOP_FILE)).is_ok()
    }
}

impl Drop for RunningFile {
    fn drop(&mut self) {
        // None of them need be there.
        for name in [RUNNING_FILE, STOP_FILE, NEXT_FILE] {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }
}

/// What a [`RUNNING_FILE`] of these bytes says; `None` if it is none, or of a later version.
pub fn parse(text: &[u8]) -> Option<Observation> {
    serde_json::from_slice(text).ok().filter(|observation: &Observation| observation.version <= VERSION)
}

/// What the run in the unfinished folder `folder` says; `None` if none goes on there.
pub fn observe(folder: &Path) -> Option<Observation> {
    let file = regular::open(&folder.join(RUNNING_FILE)).ok()?;
    let mut text = Vec::new();
    file.take(LONGEST).read_to_end(&mut text).ok()?;
    let is_locked = matches!(File::open(folder).ok()?.try_lock_shared(), Err(TryLockError::WouldBlock));
    parse(&text).filter(|_| is_locked)
}

/// The runs that go on in `root`: in itself, its unfinished folders and those of its sweeps, by path.
pub fn running_in(root: &Path) -> Vec<(PathBuf, Observation)> {
    let mut found = Vec::new();
    look(root, DEPTH, &mut found);
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

fn look(folder: &Path, depth: usize, found: &mut Vec<(PathBuf, Observation)>) {
    found.extend(observe(folder).map(|observation| (folder.to_owned(), observation)));
    if depth == 0 {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_NAMES) {
        // No link is followed.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look(&entry.path(), depth - 1, found);
        }
    }
}

/// Asks the run in `folder` to stop and keep what it measured, as an interrupt does; whether one goes on there.
///
/// # Errors
/// Nothing may be written there.
pub fn request_stop(folder: &Path) -> io::Result<bool> {
    if observe(folder).is_none_or(|observation| observation.phase != Phase::Running) {
        return Ok(false);
    }
    // A link of that name leads nowhere that is written to.
    match File::options().write(true).create_new(true).open(folder.join(STOP_FILE)) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(true),
    }
}

/// Whether this process may ask the run in `folder` to stop: whether it may write there.
pub fn may_request_stop(folder: &Path) -> bool {
    access(folder, AccessFlags::W_OK | AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observation() -> Observation {
        Observation {
            version: VERSION,
            run: "a".to_owned(),
            target: "runs/a".to_owned(),
            driver: "sim".to_owned(),
            seed: 1,
            process: 7,
            phase: Phase::Running,
            begun_unix_ns: 1,
            observed_unix_ns: 2,
            time_ns: 3,
            links_time_ns: 3,
            window_ns: 4,
            at_most_ns: 5,
            share_done: 0.75,
            events: Some(6),
            connections: ObservedConnections::default(),
            links: vec![ObservedLink { queue_delay_ns: Some(1.5), ..ObservedLink::default() }],
            lateness: None,
            lab: None,
            verdict: "VALID".to_owned(),
            reasons: Vec::new(),
            log: vec![LogLine { unix_ns: 1, text: "text".to_owned() }],
        }
    }

    #[test]
    fn only_a_run_that_goes_on_is_seen() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("s.partial-000000/seed-1.partial-000000");
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(observe(&folder), None);
        let file = RunningFile::new(&folder);
        assert_eq!(observe(&folder), None, "it has said nothing yet");
        file.write(&observation());
        assert_eq!(observe(&folder), Some(observation()));
        assert_eq!(running_in(root.path()), [(folder.clone(), observation())]);
        assert!(may_request_stop(&folder) && !may_request_stop(&root.path().join("none")));
        assert!(!file.is_stop_requested() && request_stop(&folder).unwrap() && file.is_stop_requested());
        assert!(request_stop(&folder).unwrap(), "twice is as good as once");
        drop(file);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left");
        assert!(!request_stop(&folder).unwrap());
        // As a run leaves it that is killed.
        fs::write(folder.join(RUNNING_FILE), serde_json::to_vec(&observation()).unwrap()).unwrap();
        assert_eq!((observe(&folder), running_in(root.path())), (None, Vec::new()));
    }

    #[test]
    fn a_stop_is_written_through_no_link() {
        let root = tempfile::tempdir().unwrap();
        let (folder, other) = (root.path().join("r"), root.path().join("other"));
        fs::create_dir(&folder).unwrap();
        fs::write(&other, "kept").unwrap();
        let file = RunningFile::new(&folder);
        file.write(&observation());
        std::os::unix::fs::symlink(&other, folder.join(STOP_FILE)).unwrap();
        assert!(request_stop(&folder).unwrap() && file.is_stop_requested());
        assert_eq!(fs::read_to_string(&other).unwrap(), "kept");
    }

    #[test]
    fn a_run_that_finishes_is_not_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let file = RunningFile::new(folder.path());
        file.write(&Observation { phase: Phase::Finishing, ..observation() });
        assert!(!request_stop(folder.path()).unwrap() && !file.is_stop_requested());
    }

    #[test]
    fn strange_files_are_no_runs() {
        let folder = tempfile::tempdir().unwrap();
        let _file = RunningFile::new(folder.path());
        for text in ["", "{}", "[1]", "{\"version\":1}"] {
            fs::write(folder.path().join(RUNNING_FILE), text).unwrap();
            assert_eq!(observe(folder.path()), None, "{text}");
        }
        let newer = Observation { version: VERSION + 1, ..observation() };
        fs::write(folder.path().join(RUNNING_FILE), serde_json::to_vec(&newer).unwrap()).unwrap();
        assert_eq!(observe(folder.path()), None);
    }
}
