//! A leaf that reads.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;

use flowloom_core::play::{Datagram, DatagramSink, Delays};
use flowloom_core::time::{Duration, Time};
use flowloom_live::clock::Clock;
use flowloom_live::host::sys;
use flowloom_live::worker::label;
use flowloom_models::generate::on_off::Transport;
use nix::poll::{PollFd, PollFlags};
use serde::{Deserialize, Serialize};

use super::arrivals::Arrivals;
use super::order::{Ends, Options, Order, Todo};
use super::socket::{self, Socket};

/// Most bytes taken by one read.
const READ: usize = 1 << 20;

/// Reads of one connection before others have their turn.
const TURN: u32 = 64;

/// Connections, or flows of datagrams, that a sink takes at most. Others are reset, or not counted.
const MOST_CONNECTIONS: usize = 4_096;

/// Clocks of two hosts may differ by so much: a datagram that seems to come from the future is no older than this.
const AHEAD: Duration = Duration::from_secs(1);

/// A sink that listens.
#[derive(Debug)]
pub struct Sink {
    transport: Transport,
    ends: Ends,
    listener: Socket,
}

/// What a sink found; times are of the run.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SinkResults {
    /// Payload bytes.
    pub bytes: u64,
    /// Reads; with datagrams, how many came.
    pub calls: u64,
    /// Smallest and largest read.
    pub call_bytes: Option<(u64, u64)>,
    /// Connections that its peer opened, or flows of datagrams.
    pub connections: u64,
    /// Connections and datagrams from others, which were refused.
    pub strangers: u64,
    /// Connections that were reset.
    pub reset: u64,
    /// When data came first and last, in nanoseconds.
    pub reads_ns: Option<(u64, u64)>,
    /// Between arrivals.
    pub arrivals: Arrivals,
    /// What became of datagrams.
    pub datagrams: Option<DatagramResults>,
    /// What failed first.
    pub failure: Option<String>,
}

/// Of datagrams of all flows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DatagramResults {
    /// That came, each once.
    pub received: u64,
    /// Whose numbers were skipped. What was lost behind the last that came nobody can tell here: the source knows how many it sent.
    pub lost: u64,
    /// That came after one with a higher number.
    pub late: u64,
    /// That came again.
    pub repeated: u64,
    /// How long they took by the clocks of both hosts, of the flow with the most; RFC 3550's jitter with it.
    pub delays: Option<Delays>,
}

impl Sink {
    /// Listens at its own address.
    ///
    /// # Errors
    /// The kernel's.
    pub fn listen(transport: Transport, ends: Ends, options: &Options) -> io::Result<Sink> {
        let listener = Socket::bound(transport, ends.own, options)?;
        match transport {
            Transport::Tcp => listener.listen()?,
            // What comes while nobody looks has to wait somewhere.
            Transport::Udp if options.window.is_none() => listener.set_receive_buffer(4 << 20)?,
            Transport::Udp => {}
        }
        Ok(Sink { transport, ends, listener })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The kernel's.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.address()
    }

    /// Reads for so long, or until it is told to end. Only what its peer's host sends is taken.
    pub fn run(self, clock: &Clock, longest: Duration, order: &Order) -> SinkResults {
        let mut results = SinkResults::default();
        let ended = match self.transport {
            Transport::Tcp => self.read_streams(clock, longest, order, &mut results),
            Transport::Udp => self.read_datagrams(clock, longest, order, &mut results),
        };
        if let Err(error) = ended {
            results.failure.get_or_insert_with(|| error.to_string());
        }
        results
    }

    fn read_streams(
        self,
        clock: &Clock,
        longest: Duration,
        order: &Order,
        results: &mut SinkResults,
    ) -> io::Result<()> {
        let listener = TcpListener::from(self.listener);
        let mut connections: Vec<Socket> = Vec::new();
        let is_over = || order.todo() != Todo::GoOn || clock.now() >= Time::ZERO + longest;
        while !is_over() {
            let mut polled = vec![PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
            polled.extend(connections.iter().map(|one| PollFd::new(one.as_fd(), PollFlags::POLLIN)));
            socket::wait(&mut polled, clock.now(), Some(Time::ZERO + longest))?;
            let ready: Vec<bool> = polled.iter().map(socket::is_ready).collect();
            drop(polled);
            let mut readiness = ready[1..].iter();
            connections.retain(|one| !readiness.next().copied().unwrap_or_default() || results.read(one, clock));
            if ready[0] {
                accept(&listener, &self.ends, &mut connections, results)?;
            }
        }
        if order.todo() == Todo::Stop {
            for socket in connections {
                socket.reset_when_dropped()?;
            }
        }
        Ok(())
    }

    fn read_datagrams(
        &self,
        clock: &Clock,
        longest: Duration,
        order: &Order,
        results: &mut SinkResults,
    ) -> io::Result<()> {
        let mut flows: BTreeMap<SocketAddr, DatagramSink> = BTreeMap::new();
        while order.todo() == Todo::GoOn && clock.now() < Time::ZERO + longest {
            let mut polled = [PollFd::new(self.listener.as_fd(), PollFlags::POLLIN)];
            socket::wait(&mut polled, clock.now(), Some(Time::ZERO + longest))?;
            for _ in 0..TURN {
                let mut head = [0; label::BYTES];
                let (bytes, from) = match self.listener.receive(&mut head) {
                    Ok(received) => received,
                    Err(error) if is_transient(&error) => break,
                    Err(error) => return Err(error),
                };
                let now = clock.now();
                let Some(from) = from.filter(|from| from.ip().to_canonical() == self.ends.peer.ip()) else {
                    results.strangers += 1;
                    continue;
                };
                if flows.len() == MOST_CONNECTIONS && !flows.contains_key(&from) {
                    results.strangers += 1;
                    continue;
                }
                let flow = flows.entry(from).or_default();
                let (number, sent) = label::read(&head, bytes as u32, flow.expected(), now + AHEAD);
                match sent {
                    Some(sent) => flow.handle_datagram(now, Datagram { number, sent, bytes: bytes as u32 }),
                    None => {
                        flow.handle_undated(now, number, bytes as u32);
                    }
                }
                results.note(now, bytes as u64);
            }
        }
        results.connections = flows.len() as u64;
        let mut all = DatagramResults::default();
        for flow in flows.values() {
            all.received += flow.packets;
            all.lost += flow.expected().saturating_sub(flow.packets);
            all.late += flow.late;
            all.repeated += flow.repeated;
        }
        all.delays = flows.values().max_by_key(|flow| flow.packets).and_then(|flow| flow.delays);
        results.datagrams = Some(all);
        Ok(())
    }
}

/// Takes the connections that wait, and refuses those of others.
fn accept(
    listener: &TcpListener,
    ends: &Ends,
    connections: &mut Vec<Socket>,
    results: &mut SinkResults,
) -> io::Result<()> {
    loop {
        let (stream, from) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) if is_transient(&error) => return Ok(()),
            Err(error) => return Err(error),
        };
        let socket = Socket::try_from(stream)?;
        if from.ip().to_canonical() == ends.peer.ip() && connections.len() < MOST_CONNECTIONS {
            results.connections += 1;
            connections.push(socket);
        } else {
            results.strangers += 1;
            socket.reset_when_dropped()?;
        }
    }
}

/// Whether the same call may work the next time.
fn is_transient(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted, WouldBlock};
    matches!(error.kind(), WouldBlock | Interrupted | ConnectionAborted | ConnectionReset | ConnectionRefused)
}

impl SinkResults {
    /// Takes what there is of a connection; whether it goes on.
    fn read(&mut self, socket: &Socket, clock: &Clock) -> bool {
        for _ in 0..TURN {
            match sys::discard(socket, READ) {
                Ok(0) => return false,
                Ok(bytes) => self.note(clock.now(), bytes as u64),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.reset += 1;
                    return false;
                }
            }
        }
        true
    }

    fn note(&mut self, now: Time, bytes: u64) {
        self.bytes += bytes;
        self.calls += 1;
        let (least, most) = self.call_bytes.unwrap_or((bytes, bytes));
        self.call_bytes = Some((least.min(bytes), most.max(bytes)));
        let at = now.as_nanos();
        self.reads_ns = Some((self.reads_ns.map_or(at, |reads| reads.0), at));
        self.arrivals.add(now);
    }
}
