//! One end of a connection: a player over a socket.

use std::io;
use std::num::NonZeroU32;

use flowloom_core::play::{AHEAD, Action, Pauses, Player, Script, holds_small_segments, sender_rate};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Close, IpVersion, Pattern, PerSide, Side};
use flowloom_sim::{Origin, limits};
use nix::libc;
use nix::sys::epoll::{Epoll, EpollFlags};

use super::intended::Lost;
use super::reading::Reading;
use super::socket::{Received, Socket};
use crate::addresses::Serial;
use crate::control::{Assignment, EndReport, Ended, KernelFacts, LiveEpoch, Orders, Unanswered};

/// Bytes that an end sends in its turn, before others have theirs.
const TURN_BYTES: u64 = 256 << 10;

/// An end that has received so many bytes has its window held; and again at four times as many, and so on, since the kernel
/// forgets it when segments come that are larger than those before.
///
/// While the window of Linux grows it acknowledges every segment at once (6.18: `tcp_grow_window` asks for a quick
/// acknowledgement), and our buffers let it grow for thousands of segments, beyond what the emulator lets the other end see.
const HOLD_WINDOW_FROM: u64 = 4 << 10;

/// An end from its assignment until it is reported.
#[derive(Debug)]
pub struct End {
    player: Player,
    script: Script,
    socket: Option<Socket>,
    /// The earliest wake-up that is pending; [`Time::MAX`] if there is none.
    pub rings: Time,
    /// It is among those that have more to send.
    pub is_ready: bool,
    lost: Lost,
    /// Bytes that the player wrote and the kernel has not taken.
    unwritten: u64,
    /// Bytes that the kernel took, those of them that the player knows to be transmitted, and bytes received.
    sent: u64,
    transmitted: u64,
    received: u64,
    pauses: Pauses,
    /// It pauses while it reads.
    reading: Option<Box<Reading>>,
    /// Bytes that it sends in a second at most, if it holds back.
    rate: Option<NonZeroU32>,
    /// It holds small segments back.
    nagle: bool,
    /// What is set as the mark of unsent bytes.
    mark: u32,
    /// The window that the kernel is to advertise, and when it is to be told so next: when so many bytes were received.
    window: u32,
    hold_window_at: u64,
    is_connecting: bool,
    /// It had its turn, and could go on sending.
    has_more: bool,
    /// It has closed its sending direction.
    is_shut: bool,
    is_peer_closed: bool,
    started: Option<Time>,
    established: Option<Time>,
    first_sent: Option<Time>,
    last_received: Option<Time>,
    closed: Option<Time>,
    /// The request under way.
    request: Option<Request>,
    epochs: Vec<LiveEpoch>,
    late: Vec<(u32, Duration)>,
    wants_epochs: bool,
    /// What the kernel said before the socket was given up.
    kernel: Option<KernelFacts>,
    serial: Serial,
    side: Side,
    class: u16,
    /// The hosts of its connection.
    pub hosts: PerSide<u8>,
    /// The version of IP that its packets have.
    pub version: IpVersion,
    /// TCP_MAXSEG of the initiator, which holds for both directions.
    mss: Option<u16>,
    /// When the SYN is to be sent.
    pub at: Time,
}

/// What the worker gives an end that it serves.
#[derive(Clone, Copy, Debug)]
pub struct Turn<'a> {
    /// The time, one for the whole turn.
    pub now: Time,
    /// If what has come may have been there for long: since when at most.
    pub held_up: Option<Time>,
    /// Where its events come from.
    pub epoll: &'a Epoll,
    /// Its number there.
    pub token: u64,
}

/// What an end is after its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It waits for events or for a time.
    Waits,
    /// It has more to send than one turn allows.
    HasMore,
    /// It is over.
    Over(Outcome),
}

/// How an end is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Both directions are closed, or the peer's is and nothing else can come of it.
    Closed,
    /// It has exchanged all, and its vector leaves it open.
    LeftOpen,
    /// Its own program reset it.
    Aborted,
    /// It failed with this error.
    Failed(i32),
}

impl End {
    /// The end of an assignment.
    pub fn new(assignment: &Assignment, orders: &Orders) -> End {
        let Assignment { serial, hosts, side, class, version, at, .. } = *assignment;
        let Assignment { ref vector, in_progress, endless_until, .. } = *assignment;
        let origin = match endless_until {
            None => Origin::Workload { in_progress },
            until => Origin::Source { endless_until: until },
        };
        let class_mss = orders.classes.get(usize::from(class)).and_then(|options| options.mss);
        End {
            player: Player::new(side),
            script: origin.script(vector, &orders.replay),
            socket: None,
            rings: Time::MAX,
            is_ready: false,
            lost: Lost::default(),
            unwritten: 0,
            sent: 0,
            transmitted: 0,
            received: 0,
            pauses: Pauses::default(),
            reading: Reading::new(vector, side, &orders.replay).map(Box::new),
            rate: sender_rate(vector, side, &orders.replay),
            nagle: holds_small_segments(vector, side, &orders.replay),
            mark: 0,
            window: limits(vector, side).max_window.max(u16::MAX.into()),
            hold_window_at: HOLD_WINDOW_FROM,
            is_connecting: false,
            has_more: false,
            is_shut: false,
            is_peer_closed: false,
            started: None,
            established: None,
            first_sent: None,
            last_received: None,
            closed: None,
            request: None,
            epochs: Vec::new(),
            late: Vec::new(),
            kernel: None,
            wants_epochs: vector.pattern == Pattern::Sequential,
            serial,
            side,
            class,
            hosts,
            version,
            mss: [vector.ends.initiator.mss, vector.ends.acceptor.mss, class_mss].into_iter().flatten().min(),
            at,
        }
    }

    /// The connection, the end, and its class.
    pub fn identity(&self) -> (Serial, Side, u16) {
        (self.serial, self.side, self.class)
    }

    /// TCP_MAXSEG of an initiator.
    pub fn mss(&self) -> Option<u16> {
        self.mss
    }

    /// Whether it is an acceptor that nobody has connected to.
    pub fn is_expecting(&self) -> bool {
        self.side == Side::Acceptor && self.started.is_none()
    }

    /// When it has to be woken.
    pub fn deadline(&self) -> Option<Time> {
        let reading = self.reading.as_ref().and_then(|reading| reading.next_timeout());
        self.player.next_timeout().into_iter().chain(reading).min().filter(|_| self.socket.is_some())
    }

    /// The initiator has asked for its connection with `socket`, at `now`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn connect(&mut self, socket: Socket, turn: Turn<'_>) -> io::Result<()> {
        self.lost.connected(turn.now, self.at);
        self.started = Some(turn.now);
        self.is_connecting = true;
        let watched = self.prepare(&socket).and_then(|()| socket.watch(turn.epoll, turn.token));
        self.socket = Some(socket);
        watched
    }

    /// Gives its socket what the original's had.
    fn prepare(&mut self, socket: &Socket) -> io::Result<()> {
        if let Some(reading) = &mut self.reading {
            reading.begin(socket);
        }
        if self.nagle {
            socket.hold_small_segments()?;
        }
        self.rate.map_or(Ok(()), |rate| socket.set_rate(rate.get()))
    }

    /// It was accepted at `accepted` with `socket`.
    pub fn accept(&mut self, socket: Socket, accepted: Time, turn: Turn<'_>) -> State {
        self.started = Some(accepted);
        let prepared = self.prepare(&socket);
        let came = arrival(&socket, turn).min(accepted);
        // It has to be watched before it may have to be watched again.
        let watched = prepared.and_then(|()| socket.watch(turn.epoll, turn.token));
        self.socket = Some(socket);
        self.establish(came, turn);
        let result = watched.and_then(|()| self.drive(turn));
        self.state(result)
    }

    fn establish(&mut self, came: Time, turn: Turn<'_>) {
        self.established = Some(turn.now);
        self.lost.established(turn.now, came);
        self.player.handle_established(turn.now, &self.script);
    }

    /// Something happened to its socket.
    pub fn handle_events(&mut self, events: EpollFlags, turn: Turn<'_>) -> State {
        let result = self.take_events(events, turn);
        self.state(result)
    }

    fn take_events(&mut self, events: EpollFlags, turn: Turn<'_>) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        if events.contains(EpollFlags::EPOLLERR) {
            if self.is_connecting {
                return socket.failure().map_or(Ok(()), Err);
            }
            // What came before the reset is received, and then the error.
            self.receive(false, turn)?;
            return self.socket.as_ref().and_then(Socket::failure).map_or(Ok(()), Err);
        }
        if self.is_connecting {
            if !events.contains(EpollFlags::EPOLLOUT) {
                return Ok(());
            }
            self.is_connecting = false;
            let came = arrival(socket, turn);
            self.establish(came, turn);
            self.drive(turn)?;
        } else if self.transmitted < self.sent || self.unwritten > 0 {
            // Before the peer's answer to it is looked at.
            self.drive(turn)?;
        }
        if events.intersects(EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLHUP) {
            self.receive(events.contains(EpollFlags::EPOLLRDHUP), turn)?;
        }
        Ok(())
    }

    /// Goes on sending.
    pub fn go_on(&mut self, turn: Turn<'_>) -> State {
        let result = self.drive(turn);
        self.state(result)
    }

    /// A wake-up of it rings. By how much later than was due, if something was.
    pub fn wake(&mut self, turn: Turn<'_>) -> (State, Option<Duration>) {
        let late = self.deadline().filter(|due| *due <= turn.now).map(|due| turn.now.since(due));
        if late.is_none() {
            return (State::Waits, None);
        }
        let result = self.take_due(turn);
        (self.state(result), late)
    }

    /// Does what is due: reads on, and writes.
    fn take_due(&mut self, turn: Turn<'_>) -> io::Result<()> {
        if self.reading.as_mut().is_some_and(|reading| reading.handle_timeout(turn.now)) {
            self.receive(false, turn)?;
        }
        self.player.handle_timeout(turn.now);
        self.drive(turn)
    }

    fn state(&mut self, result: io::Result<()>) -> State {
        if let Err(error) = result {
            return State::Over(Outcome::Failed(error.raw_os_error().unwrap_or(libc::EIO)));
        }
        if self.socket.is_none() {
            return State::Over(Outcome::Aborted);
        }
        let misses_data = self.received < self.script.total(self.side.other());
        if self.is_peer_closed && (self.is_shut || misses_data) {
            return State::Over(Outcome::Closed);
        }
        if self.has_more {
            return State::HasMore;
        }
        let is_left_open = self.script.close() == Close::NotSeen && !self.script.is_endless();
        if is_left_open && !self.is_peer_closed && self.player.has_exchanged_all(&self.script) {
            return State::Over(Outcome::LeftOpen);
        }
        State::Waits
    }

    /// Does what the player wants, until it wants nothing more now.
    fn drive(&mut self, turn: Turn<'_>) -> io::Result<()> {
        let mut budget = TURN_BYTES;
        loop {
            let (due, step) = (self.player.due(), self.player.step());
            match self.player.poll_action(&self.script) {
                Some(Action::Write(bytes)) => {
                    self.pauses.wrote(turn.now, self.unwritten == 0 && self.transmitted == self.sent);
                    self.unwritten += bytes;
                    self.wrote(turn.now, due, step);
                }
                Some(Action::Close) => {
                    // Where the peer has closed, the socket is closed now, and that does it.
                    if let Some(socket) = self.socket.as_ref().filter(|_| !self.is_peer_closed) {
                        socket.shutdown()?;
                    }
                    self.is_shut = true;
                    self.closed = Some(turn.now);
                }
                Some(Action::Abort) => {
                    self.closed = Some(turn.now);
                    if let Some(socket) = self.socket.take() {
                        self.kernel = socket.facts();
                        socket.reset();
                    }
                    return Ok(());
                }
                None if self.transmit(&mut budget, turn)? => {}
                None => return Ok(()),
            }
        }
    }

    /// The player writes the ADU of a step that was due at `due`.
    fn wrote(&mut self, now: Time, due: Time, step: usize) {
        let intended = self.lost.wrote(now, due);
        if self.wants_epochs {
            let epoch = self.script.steps()[step].epoch;
            match self.side {
                Side::Initiator => self.request = Some(Request { epoch, intended, start: None }),
                Side::Acceptor => self.late.extend(self.lost.news().map(|lost| (epoch, lost))),
            }
        }
    }

    /// Hands to the kernel what it takes, and tells the player of what has been transmitted; whether there was such.
    fn transmit(&mut self, budget: &mut u64, turn: Turn<'_>) -> io::Result<bool> {
        let Some(socket) = &self.socket else { return Ok(false) };
        while self.unwritten > 0 && *budget > 0 {
            let asked = self.unwritten.min(*budget);
            let taken = socket.send(asked)?;
            if taken > 0 {
                self.first_sent.get_or_insert(turn.now);
                if let Some(request) = &mut self.request {
                    request.start.get_or_insert(turn.now);
                }
            }
            self.unwritten -= taken;
            self.sent += taken;
            *budget -= taken;
            if taken < asked {
                // Room for more is an event.
                break;
            }
        }
        self.has_more = self.unwritten > 0 && *budget == 0;
        if self.unwritten > 0 || self.transmitted == self.sent {
            return Ok(false);
        }
        let unsent = socket.unsent()?;
        let mark = match self.script.endless_until(self.player.step()) {
            Some(until) if turn.now < until => AHEAD as u32,
            _ => u32::from(unsent > 0),
        };
        if mark != self.mark {
            socket.set_unsent_mark(mark)?;
            self.mark = mark;
        }
        if unsent > 0 {
            socket.watch_again(turn.epoll, turn.token)?;
        }
        let transmitted = self.sent - unsent;
        let is_news = transmitted > self.transmitted;
        if is_news {
            self.transmitted = transmitted;
            self.pauses.transmitted(turn.now);
            let step = self.player.step();
            self.player.handle_transmitted(turn.now, transmitted, &self.script);
            if self.player.step() != step {
                self.lost.transmitted(turn.now);
            }
        }
        Ok(is_news)
    }

    /// Takes what has come; `is_all` if the peer has closed and nothing more will come.
    fn receive(&mut self, is_all: bool, turn: Turn<'_>) -> io::Result<()> {
        let Some(socket) = &self.socket else { return Ok(()) };
        let received = match &mut self.reading {
            None => socket.discard()?,
            Some(reading) => reading.receive(socket, turn.now)?,
        };
        if let Received::Bytes(bytes) = received {
            let came = arrival(socket, turn);
            self.received += bytes;
            if self.received >= self.hold_window_at {
                // A kernel that will not hold it acknowledges more often, and that is all.
                let _ = socket.hold_window(self.window);
                self.hold_window_at = 4 * self.received;
            }
            self.last_received = Some(turn.now);
            self.take_received(came, turn);
            self.drive(turn)?;
        }
        let is_over = match &self.reading {
            Some(reading) if reading.has_stopped() => false,
            Some(reading) if reading.is_over() => true,
            _ => received == Received::End || (is_all && received != Received::Nothing),
        };
        if is_over && !std::mem::replace(&mut self.is_peer_closed, true) {
            self.player.handle_peer_closed(turn.now, &self.script);
            self.drive(turn)?;
        }
        Ok(())
    }

    fn take_received(&mut self, came: Time, turn: Turn<'_>) {
        let step = self.player.step();
        let over = self.player.handle_received(turn.now, self.received, &self.script);
        if self.player.step() != step {
            self.lost.received(turn.now, came);
        }
        let request = self.request.filter(|request| over.is_some_and(|over| over.epoch == request.epoch));
        if let Some(Request { epoch, intended, start: Some(start) }) = request {
            self.epochs.push(LiveEpoch { epoch, intended, start, end: turn.now });
        }
    }

    /// What it was, and its socket if it still has one.
    pub fn finish(self, outcome: Option<Outcome>) -> (EndReport, Option<Socket>) {
        let has_exchanged_all = self.player.has_exchanged_all(&self.script) || self.script.is_endless();
        let under_way = self.player.unanswered(&self.script).filter(|_| self.wants_epochs);
        let unanswered = under_way.zip(self.request).map(|((epoch, start), request)| Unanswered {
            epoch,
            intended: request.intended,
            start: request.start.unwrap_or(start),
        });
        let report = EndReport {
            serial: self.serial,
            side: self.side,
            started: self.started,
            established: self.established,
            first_sent: self.first_sent,
            last_received: self.last_received,
            closed: self.closed,
            received_bytes: self.received,
            sent_bytes: self.sent,
            pauses: self.pauses,
            ended: match outcome {
                Some(Outcome::Closed | Outcome::LeftOpen) if has_exchanged_all => Ended::Completed,
                None | Some(Outcome::LeftOpen) => Ended::Cut,
                Some(Outcome::Closed | Outcome::Aborted | Outcome::Failed(libc::ECONNRESET | libc::EPIPE)) => {
                    Ended::Reset
                }
                Some(Outcome::Failed(error)) => Ended::Error(error),
            },
            epochs: self.epochs,
            unanswered,
            late: self.late,
            kernel: self.kernel.or_else(|| self.socket.as_ref().and_then(Socket::facts)),
            datagrams: None,
            probes: None,
        };
        (report, self.socket)
    }
}

/// A request whose response is not there yet.
#[derive(Clone, Copy, Debug)]
struct Request {
    epoch: u32,
    intended: Time,
    /// When its first byte was taken.
    start: Option<Time>,
}

/// When what has just been found at `socket` came.
fn arrival(socket: &Socket, turn: Turn<'_>) -> Time {
    // The kernel is asked only where it matters.
    match (turn.held_up, turn.held_up.and_then(|_| socket.since_data())) {
        (Some(since), Some(ago)) => turn.now.before(ago).max(since),
        _ => turn.now,
    }
}
