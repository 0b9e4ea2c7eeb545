//! A leaf that writes.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;

use flowloom_core::play::{BlockWriter, Late, Written};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_live::clock::Clock;
use flowloom_live::host::sys;
use flowloom_live::worker::label;
use flowloom_models::generate::Impossible;
use flowloom_models::generate::netspec::{Blocks, Leaf, Parameter, Program, Traffic};
use flowloom_models::generate::on_off::Transport;
use nix::poll::{PollFd, PollFlags};
use serde::{Deserialize, Serialize};

use super::order::{Ends, Options, Order, Todo};
use super::socket::{self, Socket};
use super::work::wait_for_start;
use flowloom_live::budget::Budget;

/// Largest write. What is written are zeros.
const CHUNK: usize = 256 << 10;
static ZEROS: [u8; CHUNK] = [0; CHUNK];

/// Writes of one connection before others have their turn.
const TURN: u32 = 64;

/// Connections that a source has at once at most: sessions that begin beyond that are not held.
const MOST_CONNECTIONS: usize = 4_096;

/// A source before and while it runs.
#[derive(Debug)]
pub struct Source {
    leaf: Leaf,
    ends: Ends,
    options: Options,
    seed: u64,
    most: Rate,
    /// Connected before the run begins, by sources that have one connection.
    first: Option<Socket>,
}

/// What a source did; times are of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SourceResults {
    /// Payload bytes that the transport took.
    pub bytes: u64,
    /// Blocks that were begun.
    pub blocks: u64,
    /// Blocks that were left out because another was being written.
    pub blocks_left_out: u64,
    /// Writes; with datagrams, how many were sent.
    pub calls: u64,
    /// Smallest and largest write.
    pub call_bytes: Option<(u64, u64)>,
    /// Connections that came to be, or flows of datagrams.
    pub connections: u64,
    /// Connections that did not, or were reset; the first says why in `failure`.
    pub failed: u64,
    /// Sessions that were not held because too many were under way.
    pub not_held: u64,
    /// Segments that the kernel sent again, until each connection was closed.
    pub retransmissions: u64,
    /// When the first and the last write were, in nanoseconds.
    pub writes_ns: Option<(u64, u64)>,
    /// Whether it was stopped before its end.
    pub stopped: bool,
    /// What failed first.
    pub failure: Option<String>,
}

/// A connection or flow under way.
struct Session {
    socket: Socket,
    is_stream: bool,
    writer: BlockWriter<Blocks>,
    is_up: bool,
    /// The kernel had no room.
    is_full: bool,
    datagrams: u64,
}

impl Source {
    /// A source of `leaf`, which sends at most at the rate `most`, headers included.
    ///
    /// # Errors
    /// The parameter to blame.
    pub fn new(leaf: Leaf, ends: Ends, options: Options, seed: u64, most: Rate) -> Result<Source, Impossible> {
        leaf.check_written()?;
        Ok(Source { leaf, ends, options, seed, most, first: None })
    }

    /// Connects, if it is a source of one connection.
    ///
    /// # Errors
    /// The kernel's, or that it took longer than `within`.
    pub fn open(&mut self, within: Duration, order: &Order) -> io::Result<()> {
        if self.leaf.has_sessions() {
            return Ok(());
        }
        let clock = Clock::starting_in(Duration::ZERO);
        let socket = Socket::bound(self.leaf.protocol, self.ends.own, &self.options)?;
        let mut is_up = socket.connect(self.ends.peer)?;
        while !is_up {
            let now = clock.now();
            if now >= Time::ZERO + within || order.todo() != Todo::GoOn {
                let peer = self.ends.peer;
                return Err(io::Error::new(io::ErrorKind::TimedOut, format!("{peer} did not answer")));
            }
            let mut polled = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
            socket::wait(&mut polled, now, Some(Time::ZERO + within))?;
            if socket::is_ready(&polled[0]) {
                if let Some(error) = socket.failure()? {
                    return Err(socket::told(error, &format!("cannot reach {}", self.ends.peer)));
                }
                is_up = true;
            }
        }
        self.first = Some(socket);
        Ok(())
    }

    /// Runs from the beginning of `clock` until its sources end, after `longest` at the latest, or until it is told to.
    pub fn run(mut self, clock: &Clock, longest: Duration, order: &Order) -> SourceResults {
        let mut programs = self.leaf.written(self.seed, longest).peekable();
        let end = Time::ZERO + self.leaf.duration.map_or(longest, Duration::from_secs_f64).min(longest);
        let mut budget = Budget::new(self.most, self.at_once());
        let mut results = SourceResults::default();
        let mut sessions: Vec<Session> = Vec::new();
        wait_for_start(clock, order);
        loop {
            let now = clock.now();
            let todo = order.todo();
            if todo != Todo::GoOn || now >= end {
                results.stopped = todo != Todo::GoOn && now < end;
                for session in sessions {
                    session.close(todo == Todo::Stop, &mut results);
                }
                return results;
            }
            while let Some(program) = programs.next_if(|program| program.start <= now) {
                if sessions.len() == MOST_CONNECTIONS {
                    results.not_held += 1;
                    continue;
                }
                match self.begin(program) {
                    Ok(session) => {
                        results.connections += u64::from(session.is_up);
                        sessions.push(session);
                    }
                    Err(error) => results.fail(&error),
                }
            }
            let mut refused = false;
            for session in &mut sessions {
                refused |= session.turn(clock, &self.ends, self.options.mss, &mut budget, &mut results);
            }
            sessions = sessions.into_iter().filter_map(|session| session.unless_over(&mut results)).collect();
            if sessions.is_empty() && programs.peek().is_none() {
                return results;
            }
            let due = sessions.iter().filter(|session| !session.waits());
            let due = due.filter_map(|session| session.writer.next_timeout());
            let due = due.chain(programs.peek().map(|program| program.start));
            let due = due.chain(refused.then(|| budget.full_at())).chain([end]).min();
            let now = clock.now();
            if sessions.iter().any(|session| session.has_more(now)) && !refused {
                continue;
            }
            let waiting = sessions.iter().filter(|session| session.waits());
            let mut polled: Vec<_> =
                waiting.map(|session| PollFd::new(session.socket.as_fd(), PollFlags::POLLOUT)).collect();
            if let Err(error) = socket::wait(&mut polled, now, due) {
                results.fail(&error);
            }
            let ready: Vec<bool> = polled.iter().map(socket::is_ready).collect();
            drop(polled);
            let waiting = sessions.iter_mut().filter(|session| session.waits());
            for (session, _) in waiting.zip(ready).filter(|(_, is_ready)| *is_ready) {
                session.is_full = false;
                if !session.is_up {
                    match session.socket.failure() {
                        Ok(None) => {
                            session.is_up = true;
                            results.connections += 1;
                        }
                        Ok(Some(error)) | Err(error) => session.fail(&error, &self.ends, &mut results),
                    }
                }
            }
        }
    }

    /// The time whose share of the rate may go at once: of what is paced as little as can be; otherwise bursts that have a period go as
    /// fast as the path takes them.
    fn at_once(&self) -> Duration {
        let period = match &self.leaf.traffic {
            _ if self.options.paced => Duration::ZERO,
            Traffic::Burst { period: Parameter::Number(period), .. }
            | Traffic::Burstq { period: Parameter::Number(period), .. }
            | Traffic::Cbr { period, .. } => Duration::from_secs_f64(period / 1e6),
            Traffic::Full { .. } => Duration::ZERO,
            _ => Duration::from_millis(100),
        };
        period.clamp(Duration::from_millis(10), Duration::from_secs(1))
    }

    /// A session that begins.
    fn begin(&mut self, program: Program) -> io::Result<Session> {
        let writer = BlockWriter::new(program.blocks, program.late);
        let (socket, is_up) = match self.first.take() {
            Some(socket) => (socket, true),
            None => {
                // Several at once cannot have the same port.
                let own = SocketAddr::new(self.ends.own.ip(), 0);
                let socket = Socket::bound(self.leaf.protocol, own, &self.options)?;
                let is_up = socket.connect(self.ends.peer)?;
                (socket, is_up)
            }
        };
        let is_stream = self.leaf.protocol == Transport::Tcp;
        Ok(Session { socket, is_stream, writer, is_up, is_full: false, datagrams: 0 })
    }
}

impl Session {
    /// Writes what is due, as far as the kernel and the budget have room; whether the budget had none.
    fn turn(
        &mut self,
        clock: &Clock,
        ends: &Ends,
        mss: Option<u16>,
        budget: &mut Budget,
        results: &mut SourceResults,
    ) -> bool {
        let (most, headers) = packet(self.is_stream, ends.peer, mss);
        for _ in 0..TURN {
            let now = clock.now();
            self.writer.handle_timeout(now);
            let Some(due) = self.writer.poll_write().filter(|_| !self.waits()) else { break };
            let one = due.min(most);
            let allowed = budget.allows(now, one + headers);
            if allowed < one + headers {
                return true;
            }
            let written = if self.is_stream {
                let bytes = due.min(allowed - headers).min(CHUNK as u64);
                self.socket.send(&ZEROS[..bytes as usize])
            } else {
                self.send(one as usize, now)
            };
            match written {
                Ok(bytes) => {
                    let now = clock.now();
                    budget.spend(now, bytes + headers * bytes.div_ceil(most));
                    self.writer.handle_written(now, bytes);
                    results.wrote(now, bytes);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.is_full = true;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.fail(&error, ends, results);
                    break;
                }
            }
        }
        false
    }

    /// Sends a datagram of so many bytes.
    fn send(&mut self, bytes: usize, now: Time) -> io::Result<u64> {
        let mut payload = [0; 1_500];
        let payload = &mut payload[..bytes];
        label::write(self.datagrams, now, payload);
        let sent = self.socket.send(payload)?;
        self.datagrams += 1;
        Ok(sent)
    }

    /// Whether it waits for the kernel.
    fn waits(&self) -> bool {
        !self.is_up || self.is_full
    }

    fn has_more(&self, now: Time) -> bool {
        !self.waits() && self.writer.next_timeout().map_or(!self.writer.is_over(), |due| due <= now)
    }

    /// It has come to an end that was not its own.
    fn fail(&mut self, error: &io::Error, ends: &Ends, results: &mut SourceResults) {
        results.fail(&io::Error::new(error.kind(), format!("connection to {}: {error}", ends.peer)));
        let written = self.writer.written();
        results.take(written);
        self.writer = BlockWriter::new(Box::new(std::iter::empty()), Late::Waits);
    }

    /// Itself, unless everything was written.
    fn unless_over(self, results: &mut SourceResults) -> Option<Session> {
        if self.writer.is_over() {
            self.close(false, results);
            return None;
        }
        Some(self)
    }

    /// Ends it; with what was written and not sent, or without.
    fn close(self, reset: bool, results: &mut SourceResults) {
        results.take(self.writer.written());
        if self.is_stream {
            if let Ok(facts) = sys::tcp_info(&self.socket) {
                results.retransmissions += u64::from(facts.retransmissions);
            }
            // Both can fail only for a connection that is gone.
            let _ = if reset { self.socket.reset_when_dropped() } else { self.socket.finish() };
        }
    }
}

/// Payload of a full packet, and its headers.
fn packet(is_stream: bool, peer: SocketAddr, mss: Option<u16>) -> (u64, u64) {
    let network = if peer.is_ipv6() { 40 } else { 20 };
    match is_stream {
        // With timestamps.
        true => (mss.map_or(1_500 - network - 32, u64::from).max(1), network + 32),
        false => (1_500 - network - 8, network + 8),
    }
}

impl SourceResults {
    fn fail(&mut self, error: &io::Error) {
        self.failed += 1;
        self.failure.get_or_insert_with(|| error.to_string());
    }

    fn wrote(&mut self, now: Time, bytes: u64) {
        self.calls += 1;
        let (least, most) = self.call_bytes.unwrap_or((bytes, bytes));
        self.call_bytes = Some((least.min(bytes), most.max(bytes)));
        let at = now.as_nanos();
        self.writes_ns = Some((self.writes_ns.map_or(at, |writes| writes.0), at));
    }

    fn take(&mut self, written: Written) {
        self.bytes += written.bytes;
        self.blocks += written.blocks;
        self.blocks_left_out += written.left_out;
    }
}
