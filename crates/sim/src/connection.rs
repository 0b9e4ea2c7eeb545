//! One connection of a run: its two ends, and what it leaves behind.

use flowloom_core::path::FlowValues;
use flowloom_core::play::{Action, EpochTimes, Pauses, Player, PutAway, Reader, Script, Syns, habits};
use flowloom_core::record::{
    ConnectionRecord, EpochRecord, Outcome, ProbeRecord, Record, Recorder, SourceRecord, WindowRecord,
};
use flowloom_core::tcp::congestion::{Setup, Window};
use flowloom_core::tcp::{self, Endpoint, Phase, Snapshot};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, PerSide, Side};

use crate::classed::{Classed, Origin};
use crate::config::{Config, Traced};
use crate::flight::Packets;
use crate::flow::Flow;
use crate::limits::{limits, offers};
use crate::network::{Event, Network};
use crate::plausibility::{Judged, PacketsMet, Plausibility, Sending};
use crate::prefetch::prefetch;
use crate::summary::ClassCounts;

/// A connection from its SYN until nothing more can happen to it.
///
/// Its parts are ordered by how many events need them, as those of a [`Flow`] are.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    flow: Flow,
    ends: PerSide<End>,
    script: Script,
    cold: Box<Cold>,
    established: Option<Time>,
    first_data: Option<Time>,
    last_data: Option<Time>,
    closed: Option<Time>,
}

/// One end: transport and program.
#[derive(Debug)]
#[repr(C)]
struct End {
    player: Player,
    endpoint: Endpoint,
    pauses: Pauses,
    /// The program while it reads, as long as it is to pause.
    reader: Option<Box<Reader>>,
}

/// What is needed at the start and at the end.
#[derive(Debug)]
struct Cold {
    vector: ConnectionVector,
    adus: PutAway,
    epochs: Vec<EpochRecord>,
    started: Time,
    rtt: Duration,
    origin: Origin,
    is_traced: bool,
    /// The window, the threshold and the phase of each end that were traced last.
    traced: PerSide<Option<(u32, u32, Phase)>>,
    /// SYNs that each end is to send again.
    syns: PerSide<Option<Syns>>,
}

impl Connection {
    /// So many bytes of a connection say where the rest of what an event needs is.
    pub const FIRST: usize = Flow::FIRST;

    /// The connection of `vector`, about to start at `now`, with the values that rules drew for it.
    pub fn new(classed: Classed, now: Time, config: &Config, values: &PerSide<FlowValues>) -> Connection {
        let (flow, rtt) = Flow::of_connection(&classed, config, values);
        let Classed { mut vector, class, origin } = classed;
        let tcp = config.tcp(class);
        let end = |side: Side| {
            let limits = limits(&vector, side);
            let (endpoint, parity) = match side {
                Side::Initiator => (Endpoint::connect(tcp, limits), 0),
                Side::Acceptor => (Endpoint::listen(tcp, limits), 1),
            };
            let endpoint = endpoint.offering(offers(&vector, side, config.class(class)));
            let setup = Setup { seed: config.seed, stream: vector.id.wrapping_mul(2) + parity };
            let mut endpoint =
                endpoint.with_stream(setup, tcp).with_habits(&habits(&vector, side, &config.replay), tcp);
            let reader = Reader::new(&vector, side, &config.replay);
            if let Some(reader) = &reader {
                endpoint.set_window_end(reader.window_end());
            }
            End { endpoint, player: Player::new(side), pauses: Pauses::default(), reader }
        };
        let script = origin.script(&vector, &config.replay);
        let syns = |side| Syns::of(&vector, side, &config.replay);
        let syns = PerSide { initiator: syns(Side::Initiator), acceptor: syns(Side::Acceptor) };
        Connection {
            flow,
            ends: PerSide { initiator: end(Side::Initiator), acceptor: end(Side::Acceptor) },
            script,
            established: None,
            first_data: None,
            last_data: None,
            closed: None,
            cold: Box::new(Cold {
                adus: PutAway::new(&mut vector),
                epochs: Vec::new(),
                started: now,
                rtt,
                is_traced: config.traced.includes(vector.id, origin),
                traced: PerSide::default(),
                syns,
                vector,
                origin,
            }),
        }
    }

    /// Its packets.
    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    /// Its packets, to be moved.
    pub fn flow_mut(&mut self) -> &mut Flow {
        &mut self.flow
    }

    /// The first packet of `sender` on its way from the link reaches the other end.
    pub fn deliver<R: Recorder>(&mut self, slot: u32, sender: Side, now: Time, network: &mut Network<'_, R>) {
        let Some(segment) = self.flow.receive(slot, sender, now, network) else { return };
        let side = sender.other();
        if segment.flags.rst() && self.tries_again(side, now) {
            return;
        }
        let endpoint = &mut self.ends[side].endpoint;
        let before = (endpoint.is_established(), endpoint.bytes_received(), endpoint.is_peer_closed());
        endpoint.handle_segment(now, &segment, network.config.tcp(self.flow.class()));
        self.transmit(slot, side, now, network);
        self.act(slot, side, now, network);
        let endpoint = &self.ends[side].endpoint;
        let after = (endpoint.is_established(), endpoint.bytes_received(), endpoint.is_peer_closed());
        if after.0 && !before.0 {
            if side == Side::Initiator {
                self.established = Some(now);
            }
            self.ends[side].player.handle_established(now, &self.script);
            self.act(slot, side, now, network);
        }
        if after.1 > before.1 {
            self.last_data = Some(now);
            let epoch = self.ends[side].player.handle_received(now, after.1, &self.script);
            self.act(slot, side, now, network);
            if let Some(EpochTimes { epoch, start, end }) = epoch {
                self.cold.epochs.push(EpochRecord {
                    connection: self.flow.id(),
                    epoch,
                    intended: None,
                    start,
                    end: Some(end),
                });
            }
        }
        if after.2 && !before.2 {
            self.ends[side].player.handle_peer_closed(now, &self.script);
            self.act(slot, side, now, network);
        }
        self.settle(slot, side, now, network);
    }

    /// Whether `side` is refused, and sends its SYN again all the same.
    #[cold]
    fn tries_again(&self, side: Side, now: Time) -> bool {
        let syns = self.cold.syns[side].as_ref().filter(|_| side == Side::Initiator);
        !self.ends[side].endpoint.is_established() && syns.is_some_and(|syns| syns.go_on(now))
    }

    /// `side`'s wake-up rings.
    pub fn wake<R: Recorder>(&mut self, slot: u32, side: Side, now: Time, network: &mut Network<'_, R>) {
        if !self.flow.rings(side, now) {
            return;
        }
        if !self.flow.is_due(side, now) {
            // What it was for did not happen, as with nearly every retransmission: its end is not looked at.
            return self.flow.wait_on(slot, side, now, network);
        }
        let end = &mut self.ends[side];
        end.endpoint.handle_timeout(now, network.config.tcp(self.flow.class()));
        end.read_on(now);
        self.transmit(slot, side, now, network);
        self.act(slot, side, now, network);
        self.ends[side].player.handle_timeout(now);
        self.act(slot, side, now, network);
        self.settle(slot, side, now, network);
    }

    /// Asks for what `event` at `time` will need of the connection, whose first bytes are near, and for its packets.
    #[inline]
    pub fn prefetch_second(&self, time: Time, event: Event, packets: &Packets) {
        match event {
            Event::Arrival { sender, .. } => self.flow.prefetch_arrival(sender, packets),
            Event::Delivery { sender, .. } => {
                self.flow.prefetch_delivery(sender, packets);
                self.prefetch_end(sender.other());
            }
            // Of an end that waits for something else nothing more is looked at.
            Event::Timer { side, .. } if self.flow.is_due(side, time) => {
                self.flow.prefetch_sending(side);
                self.prefetch_end(side);
            }
            _ => {}
        }
    }

    /// Asks for what `event` at `time` will need of what the connection points at.
    #[inline]
    pub fn prefetch_third(&self, time: Time, event: Event) {
        match event {
            Event::Delivery { sender, .. } => {
                self.flow.prefetch_seen();
                self.prefetch_step(sender.other());
            }
            Event::Timer { side, .. } if self.flow.is_due(side, time) => self.prefetch_step(side),
            _ => {}
        }
    }

    fn prefetch_end(&self, side: Side) {
        prefetch(&self.ends[side]);
        prefetch(&self.script);
    }

    fn prefetch_step(&self, side: Side) {
        if let Some(step) = self.script.steps().get(self.ends[side].player.step()) {
            prefetch(step);
        }
    }

    /// Makes sure `side` is woken in time, after something happened to it.
    fn settle<R: Recorder>(&mut self, slot: u32, side: Side, now: Time, network: &mut Network<'_, R>) {
        // Mostly nothing is traced, and then what is cold is not looked at.
        if network.config.traced != Traced::None && self.cold.is_traced {
            self.trace(side, now, network);
        }
        self.ends[side].note_closed(now);
        self.flow.set_timer(slot, side, self.ends[side].deadline(), now, network);
    }

    /// Takes note of the window of `side` if it has changed.
    #[cold]
    fn trace<R: Recorder>(&mut self, side: Side, now: Time, network: &mut Network<'_, R>) {
        let endpoint = &self.ends[side].endpoint;
        let Snapshot { in_flight, threshold, timeout, phase, .. } = endpoint.snapshot();
        let window_bytes = endpoint.congestion_window();
        let state = Some((window_bytes, threshold, phase));
        if !endpoint.is_established() || std::mem::replace(&mut self.cold.traced[side], state) == state {
            return;
        }
        network.windows.push(WindowRecord {
            time: now,
            connection: self.flow.id(),
            side,
            cause: endpoint.window_cause(),
            phase,
            window_bytes,
            threshold_bytes: Some(threshold).filter(|threshold| *threshold < Window::MAX),
            in_flight_bytes: in_flight,
            smoothed_rtt: endpoint.smoothed_rtt(),
            timeout,
        });
    }

    /// Sends the SYN, or goes on where the connection was opened before.
    pub fn start<R: Recorder>(&mut self, slot: u32, now: Time, network: &mut Network<'_, R>) {
        if self.cold.vector.opened_before() {
            return self.go_on(slot, now, network);
        }
        self.transmit(slot, Side::Initiator, now, network);
        self.settle(slot, Side::Initiator, now, network);
    }

    /// Lets both ends go on that shook hands before the run began.
    #[cold]
    fn go_on<R: Recorder>(&mut self, slot: u32, now: Time, network: &mut Network<'_, R>) {
        let tcp = network.config.tcp(self.flow.class());
        let PerSide { initiator, acceptor } = &mut self.ends;
        tcp::open_before(&mut initiator.endpoint, &mut acceptor.endpoint, now, self.cold.rtt, tcp);
        self.established = Some(now);
        for side in Side::BOTH {
            self.ends[side].player.handle_established(now, &self.script);
            self.act(slot, side, now, network);
            self.settle(slot, side, now, network);
        }
    }

    /// Does what the program at `side` wants, until it wants nothing.
    fn act<R: Recorder>(&mut self, slot: u32, side: Side, now: Time, network: &mut Network<'_, R>) {
        loop {
            let End { endpoint, player, pauses, .. } = &mut self.ends[side];
            match player.poll_action(&self.script) {
                Some(Action::Write(bytes)) => {
                    pauses.wrote(now, endpoint.bytes_unsent() == 0);
                    endpoint.write(bytes);
                }
                Some(Action::Close) => endpoint.close(),
                Some(Action::Abort) => endpoint.abort(),
                None => return,
            }
            self.transmit(slot, side, now, network);
        }
    }

    /// Sends what `side` has to send, and tells the program at it of new data that went out; [`Self::act`] must follow.
    fn transmit<R: Recorder>(&mut self, slot: u32, side: Side, now: Time, network: &mut Network<'_, R>) {
        let end = &mut self.ends[side];
        let before = end.endpoint.bytes_transmitted();
        while let Some(segment) = end.endpoint.poll_transmit(now, network.config.tcp(self.flow.class())) {
            if segment.payload_bytes > 0 && self.first_data.is_none() {
                self.first_data = Some(now);
            }
            if (segment.flags.fin() || segment.flags.rst()) && self.closed.is_none() {
                self.closed = Some(now);
            }
            if segment.flags.syn()
                && let Some(syns) = &mut self.cold.syns[side]
            {
                match syns.sent(now) {
                    Some(again) => end.endpoint.repeat_syn_at(again),
                    None => end.endpoint.repeat_syn_by_timer(now),
                }
            }
            self.flow.send(slot, side, &segment, now, network);
        }
        let transmitted = end.endpoint.bytes_transmitted();
        if transmitted != before {
            end.pauses.transmitted(now);
            end.player.handle_transmitted(now, transmitted, &self.script);
        }
    }

    /// Hands what it was to the recorder, and counts it; where it came from, and how it ended.
    ///
    /// # Errors
    /// The recorder's.
    pub fn finish<R: Recorder>(
        mut self,
        counts: &mut ClassCounts,
        (plausibility, config): (&mut Plausibility, &Config),
        recorder: &mut R,
    ) -> Result<(Origin, Outcome), R::Error> {
        let sum =
            |count: fn(&Endpoint) -> u32| Side::BOTH.iter().map(|&s| u64::from(count(&self.ends[s].endpoint))).sum();
        let tallies = self.flow.tallies();
        let ended = ConnectionRecord {
            class: self.flow.class(),
            id: self.flow.id(),
            start: self.cold.started,
            outcome: self.outcome(),
            established: self.established,
            first_data: self.first_data,
            last_data: self.last_data,
            closed: self.closed,
            rtt: self.cold.rtt,
            retransmissions: sum(Endpoint::retransmissions),
            timeouts: sum(Endpoint::timeouts),
            delivered_bytes: [self.received(Side::Acceptor), self.received(Side::Initiator)],
            carried_bytes: Some(Side::BOTH.iter().map(|&side| tallies[side].carried_bytes).sum()),
        };
        if self.cold.origin == Origin::Probe {
            return self.finish_probe(&ended, counts, recorder);
        }
        let met = PacketsMet { tallies, losses: self.flow.take_losses() };
        plausibility.add_packets(ended.class, self.flow.link_side(Side::Initiator), &met.tallies, ended.rtt);
        for side in Side::BOTH.into_iter().filter(|side| met.losses[*side].is_some()) {
            let judged = Judged::new(&self.cold.vector, ended.class);
            let reader = self.ends[side.other()].reader.as_ref();
            let receiver_limited = reader.map_or(Duration::ZERO, |reader| reader.paused());
            let sending = Sending { receiver_limited, ..self.ends[side].sending(config.tcp(ended.class)) };
            plausibility.add_losses(&judged, side, &met, sending, config);
        }
        match self.cold.origin {
            Origin::Workload { .. } => {
                counts.add_connection(&ended);
                self.cold.adus.give_back(&mut self.cold.vector);
                if let Some((epoch, start)) = self.ends.initiator.player.unanswered(&self.script) {
                    self.cold.epochs.push(EpochRecord {
                        connection: ended.id,
                        epoch,
                        intended: None,
                        start,
                        end: None,
                    });
                }
                let monitor = self.flow.at_monitor(self.cold.vector.initiator_rule);
                recorder.record(Record::Connection {
                    original: &self.cold.vector,
                    ended: &ended,
                    epochs: &self.cold.epochs,
                    monitor: monitor.as_ref(),
                })?;
            }
            Origin::Probe => unreachable!("probes are finished before"),
            Origin::Source { .. } => {
                let sent = self.ends.initiator.endpoint.bytes_transmitted();
                let source = SourceRecord::of_tcp(&ended, self.flow.link_side(Side::Initiator), sent);
                counts.add(&source);
                counts.add_sharing(&ended, config.results());
                recorder.record(Record::Source { source: &source })?;
            }
        }
        Ok((self.cold.origin, ended.outcome))
    }

    /// The same of a probe, which is no traffic that anyone judges.
    fn finish_probe<R: Recorder>(
        &self,
        ended: &ConnectionRecord,
        counts: &mut ClassCounts,
        recorder: &mut R,
    ) -> Result<(Origin, Outcome), R::Error> {
        let from = self.flow.link_side(Side::Initiator);
        counts.add_connection(ended);
        let probe = ProbeRecord::of_request(ended, self.cold.epochs.first(), from);
        recorder.record(Record::Probe { probe: &probe })?;
        Ok((Origin::Probe, ended.outcome))
    }

    fn received(&self, side: Side) -> u64 {
        self.ends[side].endpoint.bytes_received()
    }

    fn outcome(&self) -> Outcome {
        use flowloom_core::workload::Close;
        let ends = || Side::BOTH.iter().map(|&side| &self.ends[side].endpoint);
        let all_arrived = Side::BOTH.iter().all(|&side| self.received(side.other()) >= self.script.total(side));
        let closed = self.script.close() == Close::NotSeen || ends().all(Endpoint::is_closed);
        // The other end of one that gave up may be told by a RST; one that a program aborts, or that is refused, is reset.
        let broken = if ends().any(Endpoint::gave_up) { Outcome::GaveUp } else { Outcome::Reset };
        if self.script.is_endless() && ends().any(Endpoint::is_reset) {
            // Of what has no end nobody can tell whether all arrived.
            return broken;
        }
        match (all_arrived, closed) {
            (true, true) => Outcome::Completed,
            (false, _) if ends().any(Endpoint::is_reset) => broken,
            _ => Outcome::Unfinished,
        }
    }
}

impl End {
    /// What it tells of its sending.
    fn sending(&self, config: &tcp::Config) -> Sending {
        Sending {
            retransmissions: self.endpoint.retransmissions().into(),
            timeout: self.endpoint.timeout_without_back_off(config),
            active: self.pauses.active(),
            paused: self.pauses.paused(),
            receiver_limited: Duration::ZERO,
        }
    }

    /// When the endpoint or the program has to be woken. A program whose connection is gone waits for nothing.
    fn deadline(&self) -> Option<Time> {
        let program = match &self.reader {
            None => self.player.next_timeout(),
            Some(reader) => self.player.next_timeout().into_iter().chain(reader.next_timeout()).min(),
        };
        match (self.endpoint.next_timeout(), program.filter(|_| !self.endpoint.is_reset())) {
            (Some(endpoint), Some(program)) => Some(endpoint.min(program)),
            (one, other) => one.or(other),
        }
    }

    /// Reads on if a pause is over.
    fn read_on(&mut self, now: Time) {
        if let Some(reader) = &mut self.reader
            && reader.handle_timeout(now)
        {
            self.endpoint.set_window_end(reader.window_end());
        }
    }

    /// Takes note of a window that closed because the program does not read.
    fn note_closed(&mut self, now: Time) {
        if let Some(reader) = &mut self.reader
            && self.endpoint.has_shut_out()
        {
            reader.handle_closed(now);
        }
    }
}
