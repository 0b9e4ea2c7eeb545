//! A run: the workload over the network, from the first SYN to the last packet.

use std::ops::ControlFlow;

use flowloom_core::record::Recorder;
use flowloom_core::time::Time;

use crate::classed::Classed;
use crate::config::{Config, LinkNumber};
use crate::connection::Connection;
use crate::datagrams::Stream;
use crate::flow::Flow;
use crate::network::{Event, Network};
use crate::prefetch::prefetch_bytes;
use crate::progress::Progress;
use crate::starts::Starts;
use crate::summary::{Direction, RunError, Summary};

/// Events between two reports of progress: some tens of milliseconds.
const PROGRESS_EVERY: u64 = 1 << 16;

/// So many connections, of some 2 kB each, are in no cache near the processor.
const MANY: u64 = 1_000;

/// With so many events between its own and the one served a connection's first lines are near, and what they point at is asked
/// for; with so many, what that points at.
const SECOND: usize = 3;
const THIRD: usize = 1;

/// Runs `vectors`, which come in order of their start, and leaves what happened with `recorder`.
///
/// A vector starts when its SYN passes the monitor (methods A.9), so the SYN is sent before that, by the time it takes to get
/// there: at most a second before, and not before the run begins. Connections that start at the end of the window or later are not
/// run. When the window is over the run goes on until every connection has ended, at most [`Config::drain`] longer; the
/// connections still open then are recorded as unfinished, and so they are when `progress`, which is called now and
/// then and at the end, breaks off the run.
///
/// The result depends on the vectors, the config and nothing else.
///
/// # Errors
/// A [`RunError`]; what was recorded until then stays with the recorder.
pub fn run<W, R: Recorder, C: Into<Classed>>(
    vectors: impl IntoIterator<Item = Result<C, W>>,
    config: &Config,
    recorder: &mut R,
    mut progress: impl FnMut(Progress<'_>) -> ControlFlow<()>,
) -> Result<Summary, RunError<W, R::Error>> {
    config.validate()?;
    let mut simulation = Simulation {
        network: Network::new(config, recorder)?,
        starts: Starts::new(vectors.into_iter()),
        next: None,
        connections: Vec::new(),
        vacant: Vec::new(),
        active: 0,
        summary: Summary::new(config),
        now: Time::ZERO,
        slot: 0,
    };
    simulation.start_datagrams()?;
    simulation.advance_workload()?;
    let cut = Time::ZERO + config.window + config.drain;
    while !simulation.is_over() {
        let Some((now, event)) = simulation.network.events.pop_until(cut) else {
            simulation.now = cut;
            break;
        };
        simulation.now = now;
        simulation.look_ahead();
        simulation.summary.events += 1;
        simulation.serve(now, event)?;
        if simulation.summary.events.is_multiple_of(PROGRESS_EVERY) && progress(simulation.progress()).is_break() {
            simulation.summary.interrupted = true;
            break;
        }
    }
    let _ = progress(Progress { is_last: true, ..simulation.progress() });
    simulation.finish()
}

struct Simulation<'a, V, R> {
    network: Network<'a, R>,
    starts: Starts<V>,
    /// The connection whose turn is the pending [`Event::Start`].
    next: Option<Classed>,
    /// Connections and flows of datagrams by slot. An event of a slot whose connection ended is a wake-up that nobody needs
    /// any more; what finds another connection there wakes it early, which changes nothing.
    connections: Vec<Option<Occupant>>,
    vacant: Vec<u32>,
    active: u64,
    summary: Summary,
    now: Time,
    /// The slot of the event queue that was looked ahead of last.
    slot: u64,
}

/// What is in a slot.
#[expect(clippy::large_enum_variant, reason = "nearly all are connections, which every event reads")]
enum Occupant {
    Connection(Connection),
    Datagrams(Box<Stream>),
}

impl Occupant {
    fn flow(&self) -> &Flow {
        match self {
            Occupant::Connection(connection) => connection.flow(),
            Occupant::Datagrams(stream) => stream.flow(),
        }
    }

    fn flow_mut(&mut self) -> &mut Flow {
        match self {
            Occupant::Connection(connection) => connection.flow_mut(),
            Occupant::Datagrams(stream) => stream.flow_mut(),
        }
    }
}

impl<W, R: Recorder, C: Into<Classed>, V: Iterator<Item = Result<C, W>>> Simulation<'_, V, R> {
    fn serve(&mut self, now: Time, event: Event) -> Result<(), RunError<W, R::Error>> {
        self.happen(now, event)?;
        self.network.report().map_err(RunError::Recorder)?;
        while let Some((slot, handle, link, event)) = self.network.poll() {
            let Some(connection) = &mut self.connections[slot as usize] else { continue };
            connection
                .flow_mut()
                .leave_queue(slot, handle, link, &event, &mut self.network)
                .map_err(RunError::Recorder)?;
            if connection.flow().is_over() {
                self.remove(slot)?;
            }
        }
        Ok(())
    }

    /// Asks for what the next events need while this one is served.
    #[inline]
    fn look_ahead(&mut self) {
        if self.active < MANY {
            return;
        }
        let events = &self.network.events;
        let is_new = events.slot() != self.slot;
        if is_new {
            self.slot = events.slot();
            for slot in events.next_slot().filter_map(Event::connection) {
                let occupant = &self.connections[slot as usize];
                prefetch_bytes(occupant, 0..Connection::FIRST);
                // What tells what is in the slot is in its last field, which is two words.
                prefetch_bytes(occupant, size_of_val(occupant) - 16..size_of_val(occupant));
            }
        }
        let coming = |after: usize| {
            let (time, &event) = events.upcoming(after)?;
            match self.connections[event.connection()? as usize].as_ref()? {
                Occupant::Connection(connection) => Some((time, event, connection)),
                Occupant::Datagrams(_) => None,
            }
        };
        for (time, event, connection) in (if is_new { 0 } else { SECOND }..=SECOND).filter_map(coming) {
            connection.prefetch_second(time, event, &self.network.packets);
        }
        for (time, event, connection) in (if is_new { 0 } else { THIRD }..=THIRD).filter_map(coming) {
            connection.prefetch_third(time, event);
        }
    }

    fn happen(&mut self, now: Time, event: Event) -> Result<(), RunError<W, R::Error>> {
        let slot = match event {
            Event::Start => return self.start(now),
            Event::Departure { link } => return self.network.depart(now, link).map_err(RunError::Recorder),
            Event::Hop { link } => return self.hop(now, link),
            Event::Arrival { connection, .. }
            | Event::Overtaking { connection, .. }
            | Event::Delivery { connection, .. }
            | Event::Timer { connection, .. } => connection,
        };
        let Some(connection) = &mut self.connections[slot as usize] else { return Ok(()) };
        match event {
            Event::Start | Event::Departure { .. } | Event::Hop { .. } => {}
            Event::Arrival { sender, .. } => {
                connection.flow_mut().arrive(slot, sender, now, &mut self.network).map_err(RunError::Recorder)?;
            }
            Event::Overtaking { sender, .. } => {
                connection.flow_mut().arrive_early(slot, sender, now, &mut self.network).map_err(RunError::Recorder)?;
            }
            Event::Delivery { sender, .. } => match connection {
                Occupant::Connection(connection) => connection.deliver(slot, sender, now, &mut self.network),
                Occupant::Datagrams(stream) => stream.deliver(slot, sender, now, &mut self.network),
            },
            Event::Timer { side, .. } => match connection {
                Occupant::Connection(connection) => connection.wake(slot, side, now, &mut self.network),
                Occupant::Datagrams(stream) => stream.wake(slot, side, now, &mut self.network),
            },
        }
        if connection.flow().is_over() {
            self.remove(slot)?;
        }
        Ok(())
    }

    /// Packets that have crossed `link` reach the next ones.
    fn hop(&mut self, now: Time, link: LinkNumber) -> Result<(), RunError<W, R::Error>> {
        while let Some(packet) = self.network.arrived(now, link) {
            let slot = packet.connection;
            let Some(connection) = &mut self.connections[slot as usize] else { continue };
            connection.flow_mut().hop(link, packet, now, &mut self.network).map_err(RunError::Recorder)?;
            if connection.flow().is_over() {
                self.remove(slot)?;
            }
        }
        Ok(())
    }

    /// Starts the connection that is due.
    fn start(&mut self, now: Time) -> Result<(), RunError<W, R::Error>> {
        let Some(classed) = self.next.take() else { return Ok(()) };
        let config = self.network.config;
        let values = self.network.open(now, &classed.vector).map_err(RunError::Recorder)?;
        self.summary.classes[usize::from(classed.class)].flows.started += 1;
        self.summary.connections.started += u64::from(classed.origin.is_workload());
        self.summary.traced += u64::from(config.traced.includes(classed.vector.id, classed.origin));
        let mut connection = Connection::new(classed, now, config, &values);
        let slot = self.slot();
        connection.start(slot, now, &mut self.network);
        self.connections[slot as usize] = Some(Occupant::Connection(connection));
        self.advance_workload()
    }

    /// Lets the flows of datagrams wait for their first.
    fn start_datagrams(&mut self) -> Result<(), RunError<W, R::Error>> {
        for params in &self.network.config.datagrams {
            self.summary.classes[usize::from(params.class)].flows.started += 1;
            let values = self.network.open(params.datagrams.start, &params.vector()).map_err(RunError::Recorder)?;
            let mut stream = Stream::new(params, self.network.config, &values);
            let slot = self.slot();
            stream.start(slot, Time::ZERO, &mut self.network);
            let is_over = stream.flow().is_over();
            self.connections[slot as usize] = Some(Occupant::Datagrams(Box::new(stream)));
            if is_over {
                // It has nothing to send before the run ends, and no event would tell.
                self.remove(slot)?;
            }
        }
        Ok(())
    }

    /// A slot for one more.
    fn slot(&mut self) -> u32 {
        self.active += 1;
        self.vacant.pop().unwrap_or_else(|| {
            self.connections.push(None);
            u32::try_from(self.connections.len() - 1).expect("fewer than 2^32 connections at once")
        })
    }

    /// Whether nothing is left to happen.
    fn is_over(&self) -> bool {
        self.active == 0 && self.next.is_none()
    }

    /// Schedules the SYN of the next connection.
    fn advance_workload(&mut self) -> Result<(), RunError<W, R::Error>> {
        if let Some((syn, classed)) = self.starts.next(self.network.config)? {
            self.network.events.push(syn.max(self.now), Event::Start);
            self.next = Some(classed);
        }
        Ok(())
    }

    /// Records a connection that ended and frees its slot.
    fn remove(&mut self, slot: u32) -> Result<(), RunError<W, R::Error>> {
        if let Some(occupant) = self.connections[slot as usize].take() {
            if let Some(flows) = &mut self.network.flows {
                flows.remove(occupant.flow().id());
            }
            let counts = &mut self.summary.classes[usize::from(occupant.flow().class())];
            let recorder = &mut *self.network.recorder;
            match occupant {
                Occupant::Connection(connection) => {
                    let judged = (&mut self.summary.plausibility, self.network.config);
                    let (origin, outcome) = connection.finish(counts, judged, recorder).map_err(RunError::Recorder)?;
                    if origin.is_workload() {
                        self.summary.connections.add(outcome);
                    }
                }
                Occupant::Datagrams(stream) => stream.finish(counts, recorder).map_err(RunError::Recorder)?,
            }
            self.vacant.push(slot);
            self.active -= 1;
        }
        Ok(())
    }

    fn progress(&self) -> Progress<'_> {
        Progress {
            now: self.now,
            active: self.active,
            events: self.summary.events,
            connections: self.summary.connections,
            links: &self.network,
            is_last: false,
        }
    }

    /// Cuts what is still open, in the order of the vectors, and adds up.
    fn finish(mut self) -> Result<Summary, RunError<W, R::Error>> {
        let end = self.now;
        let mut open: Vec<u32> =
            (0..).zip(&self.connections).filter(|(_, c)| c.is_some()).map(|(slot, _)| slot).collect();
        open.sort_unstable_by_key(|&slot| self.connections[slot as usize].as_ref().map(|c| c.flow().id()));
        for slot in open {
            if let Some(connection) = &mut self.connections[slot as usize] {
                connection.flow_mut().cut(end, &mut self.network);
            }
            self.remove(slot)?;
        }
        // A run that came to its end before the window did was idle for the rest of it.
        let window_end = Time::ZERO + self.network.config.window;
        let covered = if self.summary.interrupted { end } else { end.max(window_end) };
        self.network.finish(end, covered).map_err(RunError::Recorder)?;
        self.summary.end = end;
        self.summary.datagram_flows = self.starts.datagram_flows();
        self.summary.links = self.network.other_links();
        self.summary.directions = std::mem::take(&mut self.network.directions);
        self.summary.add_drops(&self.network.drops);
        Direction::balance(&self.summary.directions)?;
        Ok(self.summary)
    }
}
