//! The monitor at work: a thread for each target, which a slow one delays alone, and one that writes.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;

use flowloom_store::FileError;
use flowloom_store::monitor::{Batch, GapRow, Maintainer, MonitorWriter, Reason, Retention, Series, WriterOptions};

use crate::agent::{self, Agent};
use crate::board::Board;
use crate::clock::{Bell, Moment};
use crate::local::{self, Local};
use crate::registry::{Registry, Target, TargetKind};
use crate::runs::{self, Runs};
use crate::snmp::session::{Access, Session, Trouble};
use crate::target::{ANSWERS, Event, Tracker};

/// Answers that wait to be written; targets wait when there are more.
const WAITING: usize = 1_024;

/// The stack of the thread of a target: an answer is at most 64 KiB.
const STACK: usize = 512 << 10;

/// Targets with longer intervals are all asked within this time at first.
const MOST_SPREAD_NS: u64 = 60 * 1_000_000_000;

/// How often the writer looks at the clock, and what was written is brought to the disk.
const SYNC_NS: u64 = 1_000_000_000;

/// Targets that answer when the bell rings have so long until what they said is written.
const GRACE_NS: u64 = 1_000_000_000;

/// How often tables are merged and old ones deleted.
const MAINTENANCE_NS: u64 = 300 * 1_000_000_000;

/// Why the monitor cannot work.
#[derive(Debug, thiserror::Error)]
pub enum MonitorError {
    /// The store cannot be read or written.
    #[error("{0}")]
    Store(#[from] FileError),
    /// A community or key cannot be had.
    #[error("target \"{target}\": {problem}")]
    Secret {
        /// The target.
        target: String,
        /// Why.
        problem: String,
    },
    /// The system refuses a thread or a socket.
    #[error("{0}")]
    System(#[from] std::io::Error),
}

/// What a monitor reports while it works.
#[derive(Debug)]
pub enum Report<'a> {
    /// A target answers: at first, and again.
    Answers {
        /// The target.
        target: &'a str,
        /// Number of its ports.
        ports: usize,
    },
    /// Values of a target cannot be read: their counters are missing.
    Unread {
        /// The target.
        target: &'a str,
        /// Number of values.
        values: usize,
    },
    /// A target answers no longer.
    Silent {
        /// The target.
        target: &'a str,
        /// Why; no secret is in it.
        problem: String,
    },
    /// Something was not written.
    Lost(&'a FileError),
    /// A threshold was passed, or is no longer.
    Alert(&'a crate::alert::Raised),
    /// The action of a threshold failed.
    ActionFailed {
        /// The threshold.
        alert: &'a str,
        /// Why.
        problem: String,
    },
}

impl Report<'_> {
    /// Whether something is lost.
    pub fn is_problem(&self) -> bool {
        matches!(self, Report::Lost(_) | Report::ActionFailed { .. })
    }
}

/// Takes reports, from the thread that called [`run`].
pub type Observer<'a> = &'a mut dyn FnMut(&Report<'_>);

/// How a target is asked.
pub fn access(target: &Target, base: &Path) -> Result<Option<Access>, MonitorError> {
    let wrong = |problem| MonitorError::Secret { target: target.name.clone(), problem };
    let reveal = |secret: &crate::registry::Secret| secret.reveal(base).map_err(wrong);
    if let Some(community) = &target.community {
        return Ok(Some(Access::Community(reveal(community)?)));
    }
    let Some(user) = &target.user else { return Ok(None) };
    let key = |secret| {
        let key = reveal(secret)?;
        if key.chars().count() < 8 { Err(wrong("a key has at least 8 characters".to_owned())) } else { Ok(key) }
    };
    Ok(Some(Access::User {
        name: user.name.clone(),
        authentication: (user.authentication, key(&user.authentication_key)?),
        privacy: user
            .privacy_key
            .as_ref()
            .map(|secret| Ok::<_, MonitorError>((user.privacy, key(secret)?)))
            .transpose()?,
        context: user.context.clone(),
    }))
}

/// What asks an SNMP target; `None` of others.
///
/// # Errors
/// A community or key cannot be had.
pub fn agent(registry: &Registry, target: &Target, base: &Path) -> Result<Option<Agent>, MonitorError> {
    let Some(access) = access(target, base)? else { return Ok(None) };
    let timeout = target.timeout.as_ref().unwrap_or(&registry.timeout).value;
    let retries = target.retries.unwrap_or(registry.retries);
    let timeout = std::time::Duration::from_nanos(timeout.as_nanos());
    let session = Session::new(access, target.addresses.clone(), timeout, retries);
    let session = session.with_repetitions(target.repetitions);
    let agent = Agent::new(session, &target.ports, &target.port, &target.counter);
    Ok(Some(agent.with_interval(registry.interval_of(target).as_nanos())))
}

/// What asks a target.
enum Source {
    Agent(Box<Agent>),
    Local(Vec<String>),
    Runs(Runs),
}

/// What the thread of a target passes on.
struct Found {
    target: usize,
    events: Vec<Event>,
    /// Its state after the last question: number of ports, or why there is no answer.
    state: Result<usize, String>,
    /// Questions that were not asked because the one before took too long.
    late: u64,
    /// Values of the answer that could not be read.
    unread: usize,
}

/// Works until `bell` rings. Paths of the registry are relative to `base`.
///
/// # Errors
/// The store cannot be opened, or a target cannot be asked at all.
pub fn run(
    registry: &Registry,
    base: &Path,
    store: &Path,
    bell: &Bell,
    board: &Board,
    observer: Observer<'_>,
) -> Result<(), MonitorError> {
    let mut sources = Vec::new();
    for target in &registry.target {
        sources.push(match (target.kind, agent(registry, target, base)?) {
            (TargetKind::Snmp, Some(agent)) => Source::Agent(Box::new(agent.with_bell(bell.clone()))),
            (TargetKind::Runs, _) => {
                let folder = target.folder.as_deref().unwrap_or(Path::new("."));
                Source::Runs(Runs::new(&base.join(folder), &target.ports))
            }
            (TargetKind::Local, _) | (TargetKind::Snmp, None) => Source::Local(target.ports.clone()),
        });
    }
    let writer = MonitorWriter::open(store, WriterOptions::default(), Moment::now().wall_ns)?;
    let (sender, receiver) = sync_channel(WAITING);
    thread::scope(|scope| {
        let begun = Moment::now();
        let follow_all = || -> std::io::Result<()> {
            for (number, source) in sources.into_iter().enumerate() {
                let target = &registry.target[number];
                let interval_ns = registry.interval_of(target).as_nanos();
                // Targets are spread over the interval, the first at once.
                let phase = interval_ns.min(MOST_SPREAD_NS) / registry.target.len() as u64 * number as u64;
                let schedule = Schedule { target: number, interval_ns, first_ns: begun.monotonic_ns + phase };
                let (sender, bell, counters) = (sender.clone(), bell.clone(), target.counter.clone());
                let thread = thread::Builder::new().name(target.name.clone()).stack_size(STACK);
                // Nobody waits for the end of one that waits for an answer.
                thread.spawn(move || follow(source, &counters, schedule, &sender, &bell))?;
            }
            let (maintainer, retention, bell) = (writer.maintainer(), registry.keep.retention(), bell.clone());
            let thread = thread::Builder::new().name("maintainer".to_owned());
            thread.spawn_scoped(scope, move || maintain(&maintainer, &retention, &bell))?;
            Ok(())
        };
        let started = follow_all();
        drop(sender);
        if started.is_err() {
            bell.ring();
        }
        Hub::new(registry, writer, board).run(&receiver, bell, observer);
        bell.ring();
        started.map_err(MonitorError::System)
    })
}

/// Merges tables and deletes old ones from time to time.
fn maintain(maintainer: &Maintainer, retention: &Retention, bell: &Bell) {
    loop {
        let now = Moment::now();
        // What fails here fails where it is written too, and is told there.
        let _ = maintainer.run(now.wall_ns, retention, &|| !bell.has_rung());
        if bell.wait_until(now.monotonic_ns + MAINTENANCE_NS) {
            return;
        }
    }
}

/// When a target is asked.
#[derive(Clone, Copy)]
struct Schedule {
    target: usize,
    interval_ns: u64,
    /// The first question, on CLOCK_MONOTONIC.
    first_ns: u64,
}

/// The thread of a target.
fn follow(
    source: Source,
    counters: &[crate::registry::Counter],
    schedule: Schedule,
    sender: &SyncSender<Found>,
    bell: &Bell,
) {
    let Schedule { target, interval_ns, first_ns } = schedule;
    let (mut asking, groups) = match source {
        Source::Agent(agent) => (Asking::Agent(agent), agent::groups(counters)),
        Source::Local(ports) => (Asking::Local(None, ports), local::groups()),
        Source::Runs(found) => (Asking::Runs(found), runs::groups()),
    };
    let mut tracker = Tracker::new(groups);
    let mut next = first_ns;
    while !bell.wait_until(next) {
        let state = match asking.ask() {
            Ok(answer) => {
                tracker.answered(answer);
                Ok(tracker.ports().count())
            }
            // The monitor ended meanwhile: the next one tells of the time until then.
            Err((Reason::NotRunning, ..)) => return,
            Err((reason, problem, packets)) => {
                tracker.failed(Moment::now(), reason, packets);
                Err(problem)
            }
        };
        let now = Moment::now().monotonic_ns;
        let late = now.saturating_sub(next) / interval_ns;
        next += interval_ns * (late + 1);
        let unread = asking.unread();
        if sender.send(Found { target, events: tracker.take(), state, late, unread }).is_err() {
            return;
        }
    }
}

enum Asking {
    Agent(Box<Agent>),
    Local(Option<Local>, Vec<String>),
    Runs(Runs),
}

impl Asking {
    /// Values of the last answer that could not be read.
    fn unread(&self) -> usize {
        match self {
            Asking::Agent(agent) => agent.unread(),
            Asking::Local(..) | Asking::Runs(_) => 0,
        }
    }

    fn ask(&mut self) -> Result<crate::target::Answer, (Reason, String, u64)> {
        match self {
            Asking::Agent(agent) => agent.ask().map_err(|trouble| {
                let reason = match trouble {
                    Trouble::NoAnswer(_) | Trouble::Unknown(_) => Reason::NoAnswer,
                    Trouble::Rejected(_) | Trouble::Malformed(..) | Trouble::Refused(..) | Trouble::Endless(_) => {
                        Reason::BadAnswer
                    }
                    Trouble::Stopped => Reason::NotRunning,
                };
                (reason, trouble.to_string(), agent.take_packets())
            }),
            Asking::Local(local, ports) => {
                let open = match local.take() {
                    Some(open) => Ok(open),
                    None => Local::open(ports),
                };
                let answer = open.and_then(|mut open| {
                    let answer = open.ask()?;
                    *local = Some(open);
                    Ok(answer)
                });
                answer.map_err(|error| (Reason::NoAnswer, error.to_string(), 0))
            }
            Asking::Runs(runs) => Ok(runs.ask()),
        }
    }
}

/// What the writer knows of a target.
struct Followed {
    name: String,
    interval_ns: u64,
    /// Numbers in the store, by local number.
    series: Vec<Option<u32>>,
    is_silent: Option<bool>,
    /// Whether it answered since the monitor began.
    has_answered: bool,
    /// Whether values of its last answer could not be read.
    has_unread: bool,
}

/// Takes what the targets pass on.
struct Hub<'a> {
    writer: MonitorWriter,
    board: &'a Board,
    targets: Vec<Followed>,
    alerts: crate::alert::Alerts,
    synced_ns: u64,
}

impl<'a> Hub<'a> {
    fn new(registry: &Registry, writer: MonitorWriter, board: &'a Board) -> Hub<'a> {
        let targets = registry.target.iter().map(|target| Followed {
            name: target.name.clone(),
            interval_ns: registry.interval_of(target).as_nanos(),
            series: Vec::new(),
            is_silent: None,
            has_answered: false,
            has_unread: false,
        });
        let targets = targets.collect();
        board.begin(registry);
        Hub { writer, board, targets, alerts: crate::alert::Alerts::new(&registry.alert), synced_ns: 0 }
    }

    /// Works until all targets have ended, or the bell rang and some still wait for an answer.
    fn run(mut self, receiver: &Receiver<Found>, bell: &Bell, observer: Observer<'_>) {
        let mut end_ns = u64::MAX;
        while Moment::now().monotonic_ns < end_ns {
            if bell.has_rung() {
                end_ns = end_ns.min(Moment::now().monotonic_ns + GRACE_NS);
            }
            match receiver.recv_timeout(std::time::Duration::from_nanos(SYNC_NS)) {
                Ok(found) => self.found(found, observer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.alerts.finished(&mut |alert, problem| observer(&Report::ActionFailed { alert, problem }));
            let now = Moment::now();
            if now.monotonic_ns >= self.synced_ns + SYNC_NS {
                self.synced_ns = now.monotonic_ns;
                let written = self.writer.sync().and_then(|()| self.writer.tick(now.wall_ns));
                lost(written, observer);
            }
        }
        lost(self.writer.rotate(Moment::now().wall_ns), observer);
        self.board.end();
    }

    fn found(&mut self, found: Found, observer: Observer<'_>) {
        self.board.asked(found.target, &found.state, found.late);
        let Followed { name, is_silent, has_unread, .. } = &mut self.targets[found.target];
        match &found.state {
            Ok(ports) if *is_silent != Some(false) => observer(&Report::Answers { target: name, ports: *ports }),
            Err(problem) if *is_silent != Some(true) => {
                observer(&Report::Silent { target: name, problem: problem.clone() });
            }
            _ => {}
        }
        *is_silent = Some(found.state.is_err());
        let values = found.unread;
        if std::mem::replace(has_unread, values > 0) != *has_unread && values > 0 {
            observer(&Report::Unread { target: name, values });
        }
        for event in found.events {
            let written = self.event(found.target, event, observer);
            lost(written, observer);
        }
    }

    fn event(&mut self, target: usize, event: Event, observer: Observer<'_>) -> Result<(), FileError> {
        let of_target = &mut self.targets[target];
        match event {
            Event::Defined { series, port, counter, unit, kind } => {
                let (target, interval_ns) = (of_target.name.clone(), of_target.interval_ns);
                let defined = Series { id: 0, target, port, counter, unit, kind, interval_ns };
                let (id, is_new) = self.writer.series(defined)?;
                of_target.series.resize((series as usize + 1).max(of_target.series.len()), None);
                of_target.series[series as usize] = Some(id);
                if let Some(known) = self.writer.catalogue().get(id) {
                    self.board.defined(known);
                    self.alerts.defined(known);
                }
                if series == ANSWERS && !is_new && !std::mem::replace(&mut of_target.has_answered, true) {
                    self.not_running(id)?;
                }
                Ok(())
            }
            Event::Samples { time_ns, span_ns, samples } => {
                let numbered = samples.into_iter().filter_map(|(local, amount)| {
                    Some((of_target.series.get(local as usize).copied().flatten()?, amount))
                });
                let samples: Vec<(u32, u64)> = numbered.collect();
                self.board.sampled(time_ns, span_ns, &samples);
                self.alerts.sampled(time_ns, span_ns, &samples, &mut |raised| observer(&Report::Alert(raised)));
                self.writer.samples(Batch { time_ns, span_ns, samples })
            }
            Event::Gap { series, start_ns, end_ns, reason, amount } => {
                let Some(series) = of_target.series.get(series as usize).copied().flatten() else { return Ok(()) };
                self.board.gap(series, reason, amount);
                self.alerts.gap(series);
                self.writer.gap(GapRow { series, start_ns, end_ns, reason, amount })
            }
        }
    }

    /// The monitor did not run from the last sample in the store until now.
    fn not_running(&mut self, series: u32) -> Result<(), FileError> {
        let now_ns = Moment::now().wall_ns;
        match self.writer.last_ns().filter(|last| *last < now_ns) {
            Some(start_ns) => {
                let reason = Reason::NotRunning;
                self.writer.gap(GapRow { series, start_ns, end_ns: now_ns, reason, amount: None })
            }
            None => Ok(()),
        }
    }
}

fn lost(written: Result<(), FileError>, observer: Observer<'_>) {
    if let Err(error) = written {
        observer(&Report::Lost(&error));
    }
}

/// Where the files of a registry are: the folder of its file.
pub fn base_of(registry: &Path) -> PathBuf {
    registry.parent().map_or_else(PathBuf::new, Path::to_owned)
}
