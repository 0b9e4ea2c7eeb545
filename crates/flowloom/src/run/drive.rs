//! One run through its driver: the simulator, the kernel of this host, or the kernels of a lab.

use std::ops::ControlFlow;

use flowloom_core::extract::KeptPayload;
use flowloom_core::play::Placed;
use flowloom_core::record::Recorder;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Protocol, Side, sum};
use flowloom_live::remote::backend::Hosts;
use flowloom_live::{LiveError, Observed, Options, Progress as LiveProgress};
use flowloom_sim::{Classed, Config, Progress as SimProgress, Summary};
use flowloom_store::reserve::Reserve;
use flowloom_store::workload::WorkloadError;

use crate::contents::is_of_totals;
use crate::context::Progress;
use crate::run::pipeline::Read;
use crate::run::recording::Unrecorded;
use crate::run::senders::Together;
use crate::run::setup::Setup;
use crate::run::watch::Watch;
use crate::warning::Warning;
use crate::workload::load;

/// A run that is ready to begin.
pub struct Drive<'a, 'w> {
    pub setup: &'a Setup<'a>,
    pub config: &'a Config,
    /// The options of a live run.
    pub live: Option<&'a Options>,
    /// The hosts of a lab, where the run is on those.
    pub hosts: Option<Hosts>,
    /// The connections of the sources, by start.
    pub sources: Vec<Classed>,
    pub progress: &'a Progress<'a>,
    /// Observes it.
    pub watch: &'a mut Watch<'w>,
    /// The run ends where this room on the disk is needed.
    pub reserve: Reserve,
}

/// What a driver says of a run.
pub struct Driven {
    pub summary: Summary,
    /// What was observed of a live run.
    pub observed: Option<Observed>,
    /// What was noticed of it while it went on.
    pub noticed: Noticed,
}

/// What was noticed of a run while it went on; connections are those of the part that results are of.
#[derive(Default)]
pub struct Noticed {
    /// Their payload, as the run has it to send.
    pub payload: KeptPayload,
    /// Payload bytes of all connections that the run begins before the end of its window, in the window or before it.
    pub to_replay_bytes: u64,
    /// Connections of which only totals are known.
    pub totals_only: u64,
    /// Connections whose waits contain a transit that is made again.
    pub keep_transit: u64,
    /// Flows of datagrams with data units of which single datagrams are not known.
    pub evened: u64,
    /// Connections that the end of the experiment cut.
    pub cut: u64,
    /// Captures that lack packets.
    pub incomplete: Vec<Warning>,
}

impl Drive<'_, '_> {
    /// Sends what `vectors` and the sources say, from the first event to the last.
    ///
    /// # Errors
    /// The workload's, the recorder's, and what the driver cannot do.
    pub fn run(
        self,
        vectors: &mut dyn Iterator<Item = Read>,
        mut recorder: &mut dyn Recorder<Error = Unrecorded>,
    ) -> Result<Driven, LiveError<WorkloadError, Unrecorded>> {
        let Drive { setup, config, live, hosts, sources, progress, watch, reserve } = self;
        let window = setup.window(config.seed);
        let mut noticed = Noticed::default();
        // What starts behind the window changes no result.
        let until = config.window.min(Duration::from_nanos(window.end));
        let placed = setup.senders.placed(vectors, config).inspect(|placed| {
            let Ok(Placed { vector, .. }) = placed else { return };
            if vector.protocol == Protocol::Tcp && vector.start.since(Time::ZERO) < until {
                let bytes = Side::BOTH.map(|side| vector.bytes(side));
                noticed.to_replay_bytes = sum([noticed.to_replay_bytes, bytes[0], bytes[1]]);
            }
            if window.contains(&vector.start.since(Time::ZERO).as_nanos()) {
                if vector.protocol == Protocol::Tcp {
                    noticed.payload.add(vector);
                }
                noticed.totals_only += u64::from(is_of_totals(vector));
                noticed.keep_transit += u64::from(load::keeps_transit(vector, config.replay.waits));
            }
        });
        let class = |placed: Placed| {
            let class = setup.senders.class(config.seed, &placed.vector);
            Classed { class, ..placed.into() }
        };
        let together = Together::new(placed.map(|placed| placed.map(class)), sources);
        let mut reached = 0;
        let mut look_up = |at: SimProgress<'_>, live: Option<LiveProgress<'_>>| {
            watch.look(&at, live.as_ref());
            let now = millis(at.now.since(Time::ZERO).min(config.window));
            progress.advance(now - reached);
            reached = now;
            let ends = setup.context.is_stopped() || reserve.is_spent();
            if ends { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let (summary, observed) = match (live, hosts) {
            (None, _) => (flowloom_sim::run(together, config, &mut recorder, |at| look_up(at, None))?, None),
            (Some(options), Some(hosts)) => {
                let look_up = |at: LiveProgress<'_>| look_up(at.run, Some(at));
                let run = flowloom_live::run_remote(together, config, options, hosts, &mut recorder, look_up)?;
                (run.0, Some(run.1))
            }
            (Some(options), None) => {
                let _programs = (!options.guests.1.is_empty()).then(|| setup.context.stop().hold());
                let look_up = |at: LiveProgress<'_>| look_up(at.run, Some(at));
                let run = flowloom_live::run(together, config, options, &mut recorder, look_up)?;
                (run.0, Some(run.1))
            }
        };
        Ok(Driven { summary, observed, noticed })
    }
}

/// The milliseconds of a duration, in which progress is counted.
pub fn millis(duration: Duration) -> u64 {
    duration.as_nanos() / 1_000_000
}
