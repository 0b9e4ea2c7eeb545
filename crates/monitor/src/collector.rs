//! The monitor at work: a thread for each target, which a slow one delays alone, and one that writes.

use std::collections::{BTreeSet, VecDeque};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;

use flowloom_store::FileError;
use flowloom_store::monitor::{
    Batch, GapRow, Maintainer, MonitorWriter, Reason, Retention, Series, TickError, WriterOptions,
};

use crate::agent::{self, Agent};
use crate::board::Board;
use crate::clock::{Bell, Moment, Steady};
use crate::kept;
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

/// Nothing is deleted before the clock of the host has run without a jump for so long: one that is ahead would make all tables look expired.
const STEADY_NS: u64 = 3_600 * 1_000_000_000;

/// The same where the last sample of the store is older than this: either nobody recorded, or the clock is ahead.
const LONG_STEADY_NS: u64 = 24 * STEADY_NS;

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
    /// Something in the store is damaged, or cannot be folded, merged or deleted. Nothing is lost but what is damaged, and the rest goes on.
    Store(&'a FileError),
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
        matches!(self, Report::Lost(_) | Report::Store(_) | Report::ActionFailed { .. })
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

/// What threads pass on.
enum Message {
    /// An answer of a target, or that there is none.
    Found(Found),
    /// A target is asked no longer: its last events.
    Ended(usize, Vec<Event>),
    /// Tables were not merged or deleted.
    Unmaintained(FileError),
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
/// The store cannot be opened, or cannot be written at the end; a target cannot be asked at all.
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
    if let Err(error) = kept::keep(store, registry, Moment::now().wall_ns) {
        observer(&Report::Store(&error));
    }
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
                // The thread is detached: it may still wait for an answer when the monitor ends.
                thread.spawn(move || follow(source, &counters, schedule, &sender, &bell))?;
            }
            let upkeep = Upkeep {
                maintainer: writer.maintainer(),
                retention: registry.keep.retention(),
                after_ns: steady_after(writer.last_ns(), begun.wall_ns),
            };
            let (sender, bell) = (sender.clone(), bell.clone());
            let thread = thread::Builder::new().name("maintainer".to_owned());
            thread.spawn_scoped(scope, move || upkeep.run(&sender, &bell))?;
            Ok(())
        };
        let started = follow_all();
        drop(sender);
        if started.is_err() {
            bell.ring();
        }
        let written = Hub::new(registry, writer, board).run(&receiver, bell, observer);
        // A maintainer that has something to say goes on.
        drop(receiver);
        bell.ring();
        started?;
        written.map_err(MonitorError::Store)
    })
}

/// For how long the clock must have run without a jump before something is deleted, if the store's last sample is of `last_ns`.
fn steady_after(last_ns: Option<u64>, now_ns: u64) -> u64 {
    let age = last_ns.map_or(0, |last| now_ns.saturating_sub(last));
    if age > LONG_STEADY_NS { LONG_STEADY_NS } else { STEADY_NS }
}

/// Merges tables and deletes old ones from time to time.
struct Upkeep {
    maintainer: Maintainer,
    retention: Retention,
    /// Nothing is deleted before the clock has run without a jump for so long, in nanoseconds.
    after_ns: u64,
}

impl Upkeep {
    fn run(&self, sender: &SyncSender<Message>, bell: &Bell) {
        let mut steady = Steady::new(Moment::now());
        let mut told = None;
        loop {
            let now = Moment::now();
            let kept = self.kept(steady.for_ns(now));
            let failed = self.maintainer.run(now.wall_ns, &kept, &|| !bell.has_rung()).err();
            let text = failed.as_ref().map(ToString::to_string);
            let is_new = text.is_some() && text != told;
            told = text;
            if let Some(error) = failed.filter(|_| is_new) {
                let _ = sender.send(Message::Unmaintained(error));
            }
            if bell.wait_until(now.monotonic_ns + MAINTENANCE_NS) {
                return;
            }
        }
    }

    /// What is kept while the clock has run without a jump for so long.
    fn kept(&self, steady_ns: u64) -> Retention {
        if steady_ns < self.after_ns { Retention::default() } else { self.retention }
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
    sender: &SyncSender<Message>,
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
            Err((Reason::NotRunning, ..)) => break,
            Err((reason, problem, packets)) => {
                tracker.failed(Moment::now(), reason, packets);
                Err(problem)
            }
        };
        let now = Moment::now().monotonic_ns;
        let late = now.saturating_sub(next) / interval_ns;
        next += interval_ns * (late + 1);
        let unread = asking.unread();
        if sender.send(Message::Found(Found { target, events: tracker.take(), state, late, unread })).is_err() {
            return;
        }
    }
    tracker.end();
    // If nobody listens any longer, it is too late.
    let _ = sender.send(Message::Ended(target, tracker.take()));
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
    /// Series that are not in the store yet, by local number.
    undefined: VecDeque<(u32, Series)>,
    is_silent: Option<bool>,
    /// Whether an earlier monitor asked it, and nothing says yet that nobody did since then.
    asked_before: bool,
    /// Whether values of its last answer could not be read.
    has_unread: bool,
    /// From when until when what was measured was not written.
    lost: Option<Range<u64>>,
}

/// Takes what the targets pass on.
struct Hub<'a> {
    writer: MonitorWriter,
    board: &'a Board,
    targets: Vec<Followed>,
    alerts: crate::alert::Alerts,
    synced_ns: u64,
    /// Why nothing is written, as it was reported last, until something is.
    told: Option<String>,
    /// Why something cannot be folded, as it was reported last.
    waiting: Option<String>,
}

impl<'a> Hub<'a> {
    fn new(registry: &Registry, writer: MonitorWriter, board: &'a Board) -> Hub<'a> {
        // Whatever its interval was.
        let known: BTreeSet<String> = writer.catalogue().series().map(|series| series.target.clone()).collect();
        let targets = registry.target.iter().map(|target| Followed {
            name: target.name.clone(),
            interval_ns: registry.interval_of(target).as_nanos(),
            series: Vec::new(),
            undefined: VecDeque::new(),
            is_silent: None,
            asked_before: known.contains(&target.name),
            has_unread: false,
            lost: None,
        });
        let targets = targets.collect();
        board.begin(registry);
        let alerts = crate::alert::Alerts::new(&registry.alert);
        Hub { writer, board, targets, alerts, synced_ns: 0, told: None, waiting: None }
    }

    /// Works until all targets have ended, or the bell rang and some still wait for an answer.
    ///
    /// # Errors
    /// At the end the store cannot be written.
    fn run(mut self, receiver: &Receiver<Message>, bell: &Bell, observer: Observer<'_>) -> Result<(), FileError> {
        let mut end_ns = u64::MAX;
        self.tell_damage(observer);
        while Moment::now().monotonic_ns < end_ns {
            if bell.has_rung() {
                end_ns = end_ns.min(Moment::now().monotonic_ns + GRACE_NS);
            }
            match receiver.recv_timeout(std::time::Duration::from_nanos(SYNC_NS)) {
                Ok(message) => self.take(message, observer),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.alerts.finished(&mut |alert, problem| observer(&Report::ActionFailed { alert, problem }));
            let now = Moment::now();
            if now.monotonic_ns >= self.synced_ns + SYNC_NS {
                self.synced_ns = now.monotonic_ns;
                let synced = self.writer.sync().map_err(TickError::Unwritten);
                match synced.and_then(|()| self.writer.tick(now.wall_ns)) {
                    Ok(()) => {}
                    Err(TickError::Unwritten(error)) => self.tell_failed(&error, observer),
                    Err(TickError::Unfolded(error)) => self.tell_waiting(&error, observer),
                }
                self.tell_damage(observer);
            }
        }
        // Answers that came in time are recorded, however long the disk takes.
        while let Ok(message) = receiver.try_recv() {
            self.take(message, observer);
        }
        self.alerts.end(&mut |alert, problem| observer(&Report::ActionFailed { alert, problem }));
        let caught_up = (0..self.targets.len()).try_for_each(|target| self.catch_up(target));
        let rotated = self.writer.rotate(Moment::now().wall_ns);
        self.tell_damage(observer);
        self.board.end();
        caught_up?;
        match rotated {
            // What belongs where something is damaged stays in the journal.
            Err(TickError::Unfolded(error)) if !matches!(error, FileError::Write { .. }) => {
                self.tell_waiting(&error, observer);
                Ok(())
            }
            other => other.map_err(FileError::from),
        }
    }

    fn take(&mut self, message: Message, observer: Observer<'_>) {
        match message {
            Message::Found(found) => self.found(found, observer),
            Message::Ended(target, events) => {
                events.into_iter().for_each(|event| self.record(target, event, observer));
            }
            Message::Unmaintained(error) => observer(&Report::Store(&error)),
        }
    }

    /// Reports what cannot be folded, once: nothing is lost, it waits in the journal.
    fn tell_waiting(&mut self, error: &FileError, observer: Observer<'_>) {
        let text = error.to_string();
        if self.waiting.as_ref() != Some(&text) {
            observer(&Report::Store(error));
            self.waiting = Some(text);
        }
    }

    /// Tells what was found to be damaged.
    fn tell_damage(&mut self, observer: Observer<'_>) {
        for error in self.writer.take_damage() {
            observer(&Report::Store(&error));
        }
    }

    /// Tells why nothing is written, once until something is.
    fn tell_failed(&mut self, error: &FileError, observer: Observer<'_>) {
        let text = error.to_string();
        if self.told.as_ref() != Some(&text) {
            observer(&Report::Lost(error));
            self.told = Some(text);
        }
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
            self.record(found.target, event, observer);
        }
    }

    /// Records an event of a target. What cannot be written is a gap as soon as something can.
    fn record(&mut self, target: usize, event: Event, observer: Observer<'_>) {
        let time = match &event {
            Event::Defined { .. } => None,
            Event::Samples { time_ns, span_ns, .. } => Some(time_ns.saturating_sub(*span_ns)..*time_ns),
            Event::Gap { start_ns, end_ns, .. } => Some(*start_ns..*end_ns),
        };
        match self.event(target, event, observer) {
            Ok(()) => self.told = None,
            Err(error) => {
                if let Some(time) = time {
                    let lost = &mut self.targets[target].lost;
                    let known = lost.take().unwrap_or_else(|| time.clone());
                    *lost = Some(known.start.min(time.start)..known.end.max(time.end));
                }
                self.tell_failed(&error, observer);
            }
        }
    }

    fn event(&mut self, target: usize, event: Event, observer: Observer<'_>) -> Result<(), FileError> {
        let of_target = &mut self.targets[target];
        match event {
            Event::Defined { series, port, counter, unit, kind } => {
                let (target_name, interval_ns) = (of_target.name.clone(), of_target.interval_ns);
                let defined = Series { id: 0, target: target_name, port, counter, unit, kind, interval_ns };
                of_target.undefined.push_back((series, defined));
                self.catch_up(target)
            }
            Event::Samples { time_ns, span_ns, samples } => {
                let caught_up = self.catch_up(target);
                let of_target = &self.targets[target];
                let numbered = samples.into_iter().filter_map(|(local, amount)| {
                    Some((of_target.series.get(local as usize).copied().flatten()?, amount))
                });
                let samples: Vec<(u32, u64)> = numbered.collect();
                // They are known, written or not.
                self.board.sampled(time_ns, span_ns, &samples);
                self.alerts.sampled(time_ns, span_ns, &samples, &mut |raised| observer(&Report::Alert(raised)));
                caught_up?;
                self.writer.samples(Batch { time_ns, span_ns, samples })
            }
            Event::Gap { series, start_ns, end_ns, reason, amount } => {
                let caught_up = self.catch_up(target);
                let of_target = &self.targets[target];
                let Some(series) = of_target.series.get(series as usize).copied().flatten() else { return caught_up };
                let gap = GapRow { series, start_ns, end_ns, reason, amount };
                self.board.gap(&gap);
                self.alerts.gap(series);
                caught_up?;
                self.writer.gap(gap)
            }
        }
    }

    /// Writes what of a target could not be written: its series, when the monitor did not run, and when nothing was written.
    fn catch_up(&mut self, target: usize) -> Result<(), FileError> {
        let of_target = &mut self.targets[target];
        while let Some((local, series)) = of_target.undefined.front() {
            let (id, _) = self.writer.series(series.clone())?;
            of_target.series.resize((*local as usize + 1).max(of_target.series.len()), None);
            of_target.series[*local as usize] = Some(id);
            of_target.undefined.pop_front();
            if let Some(known) = self.writer.catalogue().get(id) {
                self.board.defined(known);
                self.alerts.defined(known);
            }
        }
        let Some(Some(series)) = of_target.series.get(ANSWERS as usize).copied() else { return Ok(()) };
        if of_target.asked_before {
            not_running(&mut self.writer, series)?;
            of_target.asked_before = false;
        }
        if let Some(Range { start: start_ns, end: end_ns }) = of_target.lost.clone() {
            let reason = Reason::NotRecorded;
            self.writer.gap(GapRow { series, start_ns, end_ns, reason, amount: None })?;
            of_target.lost = None;
        }
        Ok(())
    }
}

/// The monitor did not run from the last sample in the store until now; if records were lost, it may have run.
fn not_running(writer: &mut MonitorWriter, series: u32) -> Result<(), FileError> {
    let end_ns = Moment::now().wall_ns;
    let reason = if writer.has_lost() { Reason::NotRecorded } else { Reason::NotRunning };
    match writer.last_ns().filter(|last| *last < end_ns) {
        Some(start_ns) => writer.gap(GapRow { series, start_ns, end_ns, reason, amount: None }),
        None => Ok(()),
    }
}

/// Where the files of a registry are: the folder of its file.
pub fn base_of(registry: &Path) -> PathBuf {
    registry.parent().map_or_else(PathBuf::new, Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400 * 1_000_000_000;

    #[test]
    fn nothing_is_deleted_before_the_clock_is_steady() {
        let folder = tempfile::tempdir().unwrap();
        let writer = MonitorWriter::open(folder.path(), WriterOptions::default(), 0).unwrap();
        let retention = Retention { samples_ns: Some(DAY), ..Retention::default() };
        let upkeep = Upkeep { maintainer: writer.maintainer(), retention, after_ns: STEADY_NS };
        assert_eq!(upkeep.kept(STEADY_NS - 1), Retention::default());
        assert_eq!(upkeep.kept(STEADY_NS), retention);
        // Who has no sample, or a recent one, waits an hour, and others a day.
        for (last, expected) in [(None, STEADY_NS), (Some(10 * DAY), STEADY_NS), (Some(8 * DAY), LONG_STEADY_NS)] {
            assert_eq!(steady_after(last, 10 * DAY + 5), expected, "{last:?}");
        }
    }

    #[test]
    fn what_waits_at_the_end_is_recorded() {
        const TARGETS: usize = 150;
        let folder = tempfile::tempdir().unwrap();
        let text: String =
            (0..TARGETS).map(|number| format!("[[target]]\nname = \"t{number}\"\nkind = \"local\"\n")).collect();
        let registry: Registry = toml::from_str(&text).unwrap();
        let writer = MonitorWriter::open(folder.path(), WriterOptions::default(), 0).unwrap();
        let (sender, receiver) = sync_channel(WAITING);
        for target in 0..TARGETS {
            let mut tracker = Tracker::new(Vec::new());
            let at =
                |second: u64| Moment { monotonic_ns: second * 1_000_000_000, wall_ns: DAY + second * 1_000_000_000 };
            for second in [1, 2] {
                let (asked, received) = (at(second), at(second));
                tracker.answered(crate::target::Answer { asked, received, ..Default::default() });
            }
            let events = tracker.take();
            sender.send(Message::Found(Found { target, events, state: Ok(0), late: 0, unread: 0 })).unwrap();
        }
        // The bell has rung, a target still waits for an answer, and who hears of each answer takes longer than all may.
        let bell = Bell::default();
        bell.ring();
        let mut heard = 0;
        let mut observe = |report: &Report<'_>| {
            heard += usize::from(matches!(report, Report::Answers { .. }));
            Bell::default().wait_until(Moment::now().monotonic_ns + 2 * GRACE_NS / TARGETS as u64);
        };
        Hub::new(&registry, writer, &Board::default()).run(&receiver, &bell, &mut observe).unwrap();
        assert_eq!(heard, TARGETS);
        drop(sender);
    }
}
