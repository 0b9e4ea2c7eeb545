//! The player of one end of one connection.

use super::script::Script;
use crate::time::Time;
use crate::workload::{Close, Pattern, Side};

/// What a player wants of its transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Write this many bytes: one ADU.
    Write(u64),
    /// Close the sending direction (FIN).
    Close,
    /// Drop the connection (RST).
    Abort,
}

/// An epoch that had a request and a response, as the initiator saw it (methods C.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochTimes {
    /// Position among the connection's epochs, half epochs counted.
    pub epoch: u32,
    /// First byte of the request transmitted.
    pub start: Time,
    /// Last byte of the response received.
    pub end: Time,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Phase {
    /// Before the handshake is done.
    Start,
    /// The peer's ADU `next`, or what the own one waits for, is being received.
    Receiving,
    /// The own ADU `next` is sent when `due` comes.
    Waiting,
    /// The own ADU `next` is to be handed to the transport.
    Writing,
    /// The own ADU `next` is written but not all transmitted for the first time.
    Transmitting,
    /// The own step `next` has no end of its own; it is over when `due` comes.
    Streaming,
    /// All own ADUs are transmitted; data of the peer may be missing.
    Draining,
    /// The close is made when `due` comes.
    Closing,
    /// The close is to be made now.
    CloseDue,
    /// Nothing more to do.
    Done,
}

/// The close of an end's direction while the other goes on sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum HalfClose {
    /// Not planned, or not yet.
    No,
    /// It is made when `due` comes.
    Waits,
    /// It is to be made now.
    Due,
    /// It is made.
    Made,
}

/// How much a program that sends without end keeps written ahead of what was transmitted: as a socket with so low a mark for
/// what is not sent (TCP_NOTSENT_LOWAT) lets it. This is what still goes out when its time is over.
pub const AHEAD: u64 = 32 << 10;

/// Plays one end of a connection vector over a transport.
///
/// Feed it with what the transport reports: [`Self::handle_established`], [`Self::handle_received`],
/// [`Self::handle_transmitted`], [`Self::handle_peer_closed`], [`Self::handle_timeout`]. After each, carry out every
/// [`Self::poll_action`], then read [`Self::next_timeout`]. The script is passed by reference into each call.
///
/// Waits (methods B.2): after the peer's ADU from when its last byte was received; after an own ADU from when its last
/// byte was first transmitted. An ADU that a late wake-up wrote, and that left within the same call chain (the same
/// `now`), counts as transmitted when it was due, so lateness does not add up.
///
/// Close (methods M.3): the vector's closing side closes when all data has passed in both directions and its wait is
/// over; a RST is sent on the same condition, but takes with it what the transport has to retransmit. The other side
/// closes when the peer has closed and nothing is left to send. Of a half-close each end's wait is counted from its own last
/// data, and the first to close does so whatever has arrived. Where no close was seen the connection stays open.
#[derive(Clone, Debug)]
pub struct Player {
    /// Own bytes handed to the transport.
    written: u64,
    /// The peer's bytes received in order.
    received: u64,
    /// When the wait is over; meaningful in `Waiting`, `Streaming`, `Closing` and before a half-close, and for what a wake-up just
    /// made of them.
    due: Time,
    /// The `now` of the wake-up that served `due`.
    woken: Time,
    /// When the first byte of the current request was transmitted; [`Time::MAX`] before that.
    request_start: Time,
    /// Index of the step under way.
    next: u32,
    phase: Phase,
    half_close: HalfClose,
    side: Side,
    peer_closed: bool,
}

impl Player {
    /// The player of `side`.
    pub fn new(side: Side) -> Player {
        Player {
            written: 0,
            received: 0,
            due: Time::ZERO,
            woken: Time::MAX,
            request_start: Time::MAX,
            next: 0,
            phase: Phase::Start,
            half_close: HalfClose::No,
            side,
            peer_closed: false,
        }
    }

    /// The transport is established at this end.
    pub fn handle_established(&mut self, now: Time, script: &Script) {
        if self.phase == Phase::Start {
            self.go_on(now, now, script);
            if script.total(self.side) == 0 {
                self.plan_half_close(now, now, script);
            }
        }
    }

    /// The peer's first `total` bytes have arrived in order. Returns the epoch this completes, if it completes one
    /// (initiator of a sequential vector only).
    pub fn handle_received(&mut self, now: Time, total: u64, script: &Script) -> Option<EpochTimes> {
        self.received = self.received.max(total);
        match self.phase {
            Phase::Receiving => self.go_on(now, now, script),
            Phase::Draining => {
                self.drain(now, now, script);
                None
            }
            _ => None,
        }
    }

    /// The first `total` own bytes have been transmitted at least once.
    pub fn handle_transmitted(&mut self, now: Time, total: u64, script: &Script) {
        match self.phase {
            Phase::Transmitting => {}
            Phase::Streaming => {
                if self.written.saturating_sub(total) < AHEAD / 2 {
                    self.phase = Phase::Writing;
                }
                return;
            }
            _ => return,
        }
        if self.request_start == Time::MAX && total > script.start_of(self.next as usize) {
            self.request_start = now;
        }
        if total >= self.written {
            self.next += 1;
            let at = if now == self.woken { self.due } else { now };
            self.go_on(at, now, script);
            if self.written == script.total(self.side) {
                self.plan_half_close(at, now, script);
            }
        }
    }

    /// The peer has closed its sending direction, and all it sent has arrived.
    pub fn handle_peer_closed(&mut self, now: Time, script: &Script) {
        self.peer_closed = true;
        if self.phase == Phase::Receiving && script.endless_until(self.next as usize).is_some() {
            self.next += 1;
            self.go_on(now, now, script);
        } else if self.phase == Phase::Draining {
            self.drain(now, now, script);
        }
    }

    /// Serves the wait that is over, if it is.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.next_timeout().is_none_or(|due| due > now) {
            return;
        }
        self.woken = now;
        if self.half_close == HalfClose::Waits {
            self.half_close = HalfClose::Due;
        } else {
            self.phase = match self.phase {
                Phase::Waiting => Phase::Writing,
                // What is written goes out, and that is the end of it. There is some: see `AHEAD`.
                Phase::Streaming => Phase::Transmitting,
                _ => Phase::CloseDue,
            };
        }
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Time> {
        match self.phase {
            Phase::Waiting | Phase::Closing => Some(self.due),
            _ if self.half_close == HalfClose::Waits => Some(self.due),
            Phase::Streaming => Some(self.due).filter(|due| *due < Time::MAX),
            _ => None,
        }
    }

    /// The next thing to do, if any.
    pub fn poll_action(&mut self, script: &Script) -> Option<Action> {
        match self.phase {
            _ if self.half_close == HalfClose::Due => {
                self.half_close = HalfClose::Made;
                Some(Action::Close)
            }
            Phase::Writing if let Some(until) = script.endless_until(self.next as usize) => {
                self.written += AHEAD;
                self.due = until;
                self.phase = Phase::Streaming;
                Some(Action::Write(AHEAD))
            }
            Phase::Writing => {
                let end = script.steps()[self.next as usize].end;
                let bytes = end - self.written;
                let before = self.next.checked_sub(1).map(|before| script.steps()[before as usize]);
                if before.is_none_or(|before| !before.goes_on) {
                    self.request_start = Time::MAX;
                }
                self.written = end;
                self.phase = Phase::Transmitting;
                Some(Action::Write(bytes))
            }
            Phase::CloseDue => {
                self.phase = Phase::Done;
                Some(if script.close() == Close::Rst(self.side) { Action::Abort } else { Action::Close })
            }
            _ => None,
        }
    }

    /// The step under way: of the steps before it the own ones were transmitted, and of those of a sequential vector the peer's
    /// have arrived.
    pub fn step(&self) -> usize {
        self.next as usize
    }

    /// When the own ADU under way is or was to be written: the end of the wait before it.
    pub fn due(&self) -> Time {
        self.due
    }

    /// The exchange under way at the initiator of a sequential connection: its epoch, and when its request began, as far as TCP took it.
    pub fn unanswered(&self, script: &Script) -> Option<(u32, Time)> {
        let steps = script.steps();
        let step = steps.get(self.next as usize)?;
        if self.side != Side::Initiator || script.pattern() != Pattern::Sequential {
            return None;
        }
        let has_part = self.next.checked_sub(1).is_some_and(|before| steps[before as usize].goes_on);
        let has_begun = step.side != self.side || self.phase == Phase::Transmitting || has_part;
        let response = steps[self.next as usize..].iter().find(|step| step.side != self.side)?;
        // What waits for a window was wanted when the program wrote it.
        let begun = if self.request_start == Time::MAX { self.due } else { self.request_start };
        (has_begun && response.is_response && response.epoch == step.epoch).then_some((step.epoch, begun))
    }

    /// All own ADUs were transmitted and all of the peer's have arrived.
    pub fn has_exchanged_all(&self, script: &Script) -> bool {
        matches!(self.phase, Phase::Draining | Phase::Closing | Phase::CloseDue | Phase::Done)
            && self.received >= script.total(self.side.other())
    }

    /// Starts step `next`, or the next own one, as of `at`; runs through all that has already arrived.
    fn go_on(&mut self, at: Time, now: Time, script: &Script) -> Option<EpochTimes> {
        let mut completed = None;
        while let Some(step) = script.steps().get(self.next as usize) {
            if step.side == self.side && self.received < script.heard_before(self.next as usize) {
                self.phase = Phase::Receiving;
                return completed;
            }
            if step.side == self.side && script.endless_until(self.next as usize).is_none_or(|until| until > now) {
                self.due = at + step.wait;
                self.phase = self.when_due(now, Phase::Waiting, Phase::Writing);
                return completed;
            }
            if script.pattern() == Pattern::Sequential && step.side != self.side {
                if self.received < step.end {
                    self.phase = Phase::Receiving;
                    return completed;
                }
                if step.is_response && !step.goes_on && self.side == Side::Initiator {
                    completed = Some(EpochTimes { epoch: step.epoch, start: self.request_start, end: now });
                }
            }
            self.next += 1;
        }
        self.phase = Phase::Draining;
        self.drain(at, now, script);
        completed
    }

    /// All own data has been transmitted at `at`: plans the close of this direction, if that does not wait for the peer's data.
    fn plan_half_close(&mut self, at: Time, now: Time, script: &Script) {
        if let Some(wait) = script.half_close_wait(self.side) {
            self.due = at + wait;
            self.half_close = if self.due > now { HalfClose::Waits } else { HalfClose::Due };
        }
    }

    /// Moves on to the close once nothing is left to send or to receive.
    fn drain(&mut self, at: Time, now: Time, script: &Script) {
        match script.close() {
            _ if script.half_close_wait(self.side).is_some() => {}
            _ if script.has_half_close() && self.peer_closed => self.close_after(at, now, script),
            Close::Fin(side) | Close::Rst(side) if side == self.side && self.received >= script.total(side.other()) => {
                self.close_after(at, now, script);
            }
            _ if self.peer_closed => self.phase = Phase::CloseDue,
            _ => {}
        }
    }

    fn close_after(&mut self, at: Time, now: Time, script: &Script) {
        self.due = at + script.close_wait();
        self.phase = self.when_due(now, Phase::Closing, Phase::CloseDue);
    }

    fn when_due(&mut self, now: Time, waiting: Phase, due: Phase) -> Phase {
        if self.due > now {
            return waiting;
        }
        self.woken = now;
        due
    }
}
