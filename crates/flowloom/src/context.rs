//! What a caller gives to long work: an observer that gets its events, and a token that stops it.
//!
//! The library prints nothing and installs no signal handler. A client observes a piece of work by an [`Observer`] and
//! stops it by a [`Stop`]; both travel in a [`Context`], which is a few references and can be copied.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use flowloom_core::time::Duration;
use flowloom_store::interrupt::Interrupt;
use flowloom_store::running::{LogLine, Observation};

use crate::capacity::limits::Tried;
use crate::clock::unix_nanos;
use crate::error::Error;
use crate::parallel::locked;
use crate::run::intervals::Interval;
use crate::warning::Warning;

/// Where events of a piece of work go, and what stops it.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    observer: &'a dyn Observer,
    stop: &'a Stop,
    log: Option<&'a Log>,
}

impl<'a> Context<'a> {
    /// Events go to `observer`; the work ends soon after `stop` is requested and keeps what it has.
    pub fn new(observer: &'a dyn Observer, stop: &'a Stop) -> Context<'a> {
        Context { observer, stop, log: None }
    }

    /// The same, whose warnings `log` keeps too, unless another does already.
    pub(crate) fn logged(self, log: &'a Log) -> Context<'a> {
        Context { log: Some(self.log.unwrap_or(log)), ..self }
    }

    /// The last warnings and notes, oldest first.
    pub(crate) fn last_lines(&self) -> Vec<LogLine> {
        self.log.map_or_else(Vec::new, Log::lines)
    }

    /// Keeps a line for those who watch.
    pub(crate) fn note(&self, text: String) {
        if let Some(log) = self.log {
            log.add(text);
        }
    }

    /// Who gets its events.
    pub(crate) fn observer(&self) -> &'a dyn Observer {
        self.observer
    }

    /// Whether the work should end.
    pub fn is_stopped(&self) -> bool {
        self.stop.is_requested()
    }

    /// Goes on unless the work should end, for a caller with several pieces of work of which each needs the one before.
    ///
    /// # Errors
    /// The stop was requested: results until now are of a part of the work.
    pub fn proceed(&self) -> Result<(), Error> {
        if self.is_stopped() { Err(Error::interrupted("interrupted: the results are not complete")) } else { Ok(()) }
    }

    /// The token that stops the work.
    pub fn stop(&self) -> &'a Stop {
        self.stop
    }

    /// What ends the reading of pipes.
    pub(crate) fn interrupt(&self) -> Interrupt {
        self.stop.interrupt()
    }

    pub(crate) fn warn(&self, warning: &Warning) {
        self.note(warning.to_string());
        self.observer.event(&Event::Warning(warning));
    }

    /// Explains decisions to an observer that wants them.
    pub(crate) fn explain(&self, text: impl FnOnce() -> String) {
        if self.observer.wants_decisions() {
            self.observer.event(&Event::Decisions(&text()));
        }
    }

    pub(crate) fn wants_intervals(&self) -> bool {
        self.observer.wants_intervals()
    }

    pub(crate) fn interval(&self, interval: &Interval) {
        self.observer.event(&Event::Interval(interval));
    }

    pub(crate) fn event(&self, event: &Event<'_>) {
        self.observer.event(event);
    }

    /// Begins a step over `total` units, if that is known.
    pub(crate) fn begin(&self, step: Step, total: Option<u64>) -> Progress<'a> {
        self.observer.event(&Event::Began { step, total });
        Progress { observer: self.observer, step, done: AtomicU64::new(0) }
    }
}

/// The last lines of what was said of a piece of work.
#[derive(Debug, Default)]
pub(crate) struct Log(Mutex<VecDeque<LogLine>>);

impl Log {
    /// Lines that are kept.
    const MOST: usize = 40;
    /// Letters of a line that are kept.
    const LONGEST: usize = 1_000;

    /// Those that are kept, oldest first.
    pub(crate) fn lines(&self) -> Vec<LogLine> {
        locked(&self.0).iter().cloned().collect()
    }

    /// Keeps a line, in the place of the oldest if there are too many.
    pub(crate) fn add(&self, text: String) {
        let text = text.chars().take(Log::LONGEST).collect();
        let mut lines = locked(&self.0);
        if lines.len() == Log::MOST {
            lines.pop_front();
        }
        lines.push_back(LogLine { unix_ns: unix_nanos(), text });
    }
}

/// Passes on what is observed of runs, and nothing else.
pub(crate) struct OnlyObservations<'a>(pub(crate) Context<'a>);

impl Observer for OnlyObservations<'_> {
    fn event(&self, event: &Event<'_>) {
        if let Event::Observation(_) = event {
            self.0.event(event);
        }
    }
}

/// Gets the events of a piece of work, from any of its threads.
pub trait Observer: Sync {
    /// Takes an event, which may come from any thread.
    fn event(&self, event: &Event<'_>);

    /// Whether decisions should be explained by [`Event::Decisions`].
    fn wants_decisions(&self) -> bool {
        false
    }

    /// Whether a run should report each second of its time by [`Event::Interval`].
    fn wants_intervals(&self) -> bool {
        false
    }
}

/// A closure is an observer that wants neither decisions nor intervals.
impl<F: Fn(&Event<'_>) + Sync> Observer for F {
    fn event(&self, event: &Event<'_>) {
        self(event);
    }
}

/// Ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn event(&self, _: &Event<'_>) {}
}

/// What happens during a piece of work.
#[derive(Debug)]
pub enum Event<'a> {
    /// A step begins. One step runs at a time.
    Began {
        /// The step that begins.
        step: Step,
        /// How many units it takes; `None` if unknown.
        total: Option<u64>,
    },
    /// A step has come further.
    Advanced {
        /// The step that has come further.
        step: Step,
        /// How many units are done.
        done: u64,
    },
    /// A step has ended, completed or not.
    Ended(Step),
    /// The warnings that follow are about this one of several inputs.
    About(&'a Path),
    /// Something the user should know.
    Warning(&'a Warning),
    /// Which rules decided what: lines of text, each ended.
    Decisions(&'a str),
    /// A second of a run's time has passed.
    Interval(&'a Interval),
    /// How a run goes on, about once a second of real time, and once more when it has ended.
    Observation(&'a Observation),
    /// Live runs begin, one after the other.
    RunsLive {
        /// How many.
        runs: u64,
        /// Time in which connections start in each.
        length: Duration,
        /// Time that each takes at most, with that until its connections are done.
        at_most: Duration,
    },
    /// A load was run to find what the host can do.
    LoadTried(&'a Tried),
    /// Packets are captured from this interface until the work is stopped.
    Capturing(&'a str),
    /// What a monitor reports.
    Monitor(&'a flowloom_monitor::Report<'a>),
    /// The present state is served here as Prometheus text, under `/metrics`.
    ServesMetrics(SocketAddr),
    /// Metrics that are pushed do not reach their collector, or do again.
    Push(&'a flowloom_monitor::PushNews),
    /// Results of an internetwork at a checkpoint of its specification: lines of text.
    Checkpoint {
        /// Simulated seconds.
        seconds: f64,
        /// The results.
        text: &'a str,
    },
}

/// A step of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Extraction from captures.
    Extracting,
    /// Reading vectors of other forms.
    Reading,
    /// Simulation.
    Simulating,
    /// A live run.
    RunningLive,
    /// The search for rates that produce a load.
    Calibrating,
    /// The search for what this host can do in live runs.
    MeasuringHost,
    /// The runs of a sweep.
    Sweeping,
}

impl Step {
    /// Its name: `extracting`, `reading`, `simulating`, `running live`, `calibrating`, `measuring the host`, `sweeping`.
    pub const fn name(self) -> &'static str {
        match self {
            Step::Extracting => "extracting",
            Step::Reading => "reading",
            Step::Simulating => "simulating",
            Step::RunningLive => "running live",
            Step::Calibrating => "calibrating",
            Step::MeasuringHost => "measuring the host",
            Step::Sweeping => "sweeping",
        }
    }

    /// What it counts.
    pub const fn unit(self) -> Unit {
        match self {
            Step::Extracting | Step::Reading => Unit::Bytes,
            Step::Simulating | Step::RunningLive | Step::Calibrating | Step::MeasuringHost => {
                Unit::SimulatedMilliseconds
            }
            Step::Sweeping => Unit::Runs,
        }
    }
}

/// What a step counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Bytes of input.
    Bytes,
    /// Milliseconds of the time of all runs.
    SimulatedMilliseconds,
    /// Complete runs of a sweep.
    Runs,
}

/// The progress of a step. The step ends when this is dropped.
pub struct Progress<'a> {
    observer: &'a dyn Observer,
    step: Step,
    done: AtomicU64,
}

impl Progress<'_> {
    /// Adds `by` units.
    pub(crate) fn advance(&self, by: u64) {
        let done = self.done.fetch_add(by, Ordering::Relaxed) + by;
        self.observer.event(&Event::Advanced { step: self.step, done });
    }

    /// Sets the number of units done.
    pub(crate) fn set(&self, done: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.observer.event(&Event::Advanced { step: self.step, done });
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.observer.event(&Event::Ended(self.step));
    }
}

/// Asks work to stop and keep what it has. Clones share one state.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    requested: Arc<AtomicBool>,
    held: Arc<AtomicBool>,
}

impl Stop {
    /// Nothing is requested yet.
    pub fn new() -> Stop {
        Stop::default()
    }

    /// Requests the stop; whether it had been requested before.
    pub fn request(&self) -> bool {
        self.requested.swap(true, Ordering::Relaxed)
    }

    /// Ends the reading of pipes as soon as the stop is requested.
    pub fn interrupt(&self) -> Interrupt {
        let stop = self.clone();
        Interrupt::new(move || stop.is_requested())
    }

    /// Whether the stop was requested.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// The flag itself, for a signal handler that sets it.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.requested)
    }

    /// Whether a program of the user's has the terminal: the interrupt key is for that program then, and a client should not
    /// request a stop because of it.
    pub fn is_held(&self) -> bool {
        self.held.load(Ordering::Relaxed)
    }

    /// Holds it until the guard is dropped.
    pub(crate) fn hold(&self) -> Held {
        self.held.store(true, Ordering::Relaxed);
        Held(Arc::clone(&self.held))
    }
}

/// A program of the user's has the terminal for as long as this lives.
pub(crate) struct Held(Arc<AtomicBool>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<String>>);

    impl Observer for Kept {
        fn event(&self, event: &Event<'_>) {
            self.0.lock().unwrap().push(format!("{event:?}"));
        }
    }

    #[test]
    fn a_step_begins_advances_and_ends() {
        let (kept, stop) = (Kept::default(), Stop::new());
        let context = Context::new(&kept, &stop);
        let progress = context.begin(Step::Reading, Some(10));
        progress.advance(3);
        progress.advance(4);
        drop(progress);
        context.explain(|| unreachable!("nobody wants decisions"));
        let wanted = [
            "Began { step: Reading, total: Some(10) }",
            "Advanced { step: Reading, done: 3 }",
            "Advanced { step: Reading, done: 7 }",
            "Ended(Reading)",
        ];
        assert_eq!(*kept.0.lock().unwrap(), wanted);
    }

    #[test]
    fn a_closure_observes_and_a_stop_is_an_error() {
        let (steps, stop) = (Mutex::new(Vec::new()), Stop::new());
        let observer = |event: &Event<'_>| {
            if let Event::Ended(step) = event {
                steps.lock().unwrap().push(step.name());
            }
        };
        let context = Context::new(&observer, &stop);
        drop(context.begin(Step::Extracting, None));
        assert_eq!(*steps.lock().unwrap(), ["extracting"]);
        assert_eq!(context.proceed(), Ok(()));
        stop.request();
        assert_eq!(context.proceed().unwrap_err().kind, crate::error::ErrorKind::Interrupted);
    }

    #[test]
    fn clones_of_a_stop_share_its_state() {
        let stop = Stop::new();
        let clone = stop.clone();
        assert!(!clone.request() && clone.request());
        assert!(stop.is_requested());
        let held = stop.hold();
        assert!(clone.is_held());
        drop(held);
        assert!(!clone.is_held());
    }
}
