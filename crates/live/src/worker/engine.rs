//! The loop of a worker: messages, times and events of sockets come in, and ends have their turns.

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Protocol, Side};
use flowloom_sim::events::EventQueue;
use nix::errno::Errno;
use nix::libc;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timerfd::{Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

use super::datagrams::DatagramEnds;
use super::end::{End, Outcome, State, Turn};
use super::inbox::{Inbox, Received};
use super::namespaces::Namespaces;
use super::outbox::Outbox;
use super::pace::Pace;
use super::socket::{Accepted, Listener, Socket};
use crate::addresses::{self, Addressing, Serial};
use crate::clock::Clock;
use crate::control::{Assignment, EndReport, FromWorker, Orders, ToWorker, WorkerReport};
use crate::lateness::{Counted, Lateness};

/// Events taken at once.
const EVENTS: usize = 512;
/// Wake-ups served, or connections accepted, before sockets are looked at again.
const ROUND: usize = 128;
/// How long a connection waits for its assignment, if that comes after it.
const HOLD: Duration = Duration::from_secs(5);
/// How long an acceptor is expected to be connected to: longer than SYNs are repeated (127 s, net.ipv4.tcp_syn_retries).
const EXPECT: Duration = Duration::from_secs(150);

/// Numbers under which events are told that are no end's.
const BELL: u64 = u64::MAX - 1;
const ALARM: u64 = u64::MAX - 2;
const DATAGRAMS: [u64; 2] = [u64::MAX - 3, u64::MAX - 4];
/// That of the first listener; those of the others follow.
const LISTENERS: u64 = 1 << 32;

/// How long the last datagrams of a flow may take from the emulator to their socket.
const SETTLING: Duration = Duration::from_millis(500);

/// A wake-up.
#[derive(Clone, Copy, Debug)]
enum Ring {
    /// The initiator in this slot connects.
    Connect(u32),
    /// The end in this slot has something due, if it is still the same.
    End(u32),
    /// Nobody has connected to the acceptor in this slot, if it is still the same.
    Expected(u32),
    /// Nobody has assigned this connection.
    Held(Serial),
    /// The end of this flow of datagrams has something due.
    Datagrams(Serial),
    /// All that comes of this flow of datagrams has come.
    Settle(Serial),
}

/// What is in a slot.
#[derive(Debug)]
enum Slot {
    Vacant,
    End(Box<End>),
    /// The socket of an end that was reported, and is left open.
    LeftOpen(Socket),
}

impl Slot {
    /// Takes the end out of it, if there is one.
    fn take_end(&mut self) -> Option<Box<End>> {
        match std::mem::replace(self, Slot::Vacant) {
            Slot::End(end) => Some(end),
            other => {
                *self = other;
                None
            }
        }
    }
}

/// Why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// All is over, or was cut because the run said so.
    Done,
    /// The run is gone.
    Deserted,
}

/// What ends are given to play with.
struct Surroundings {
    epoll: Epoll,
    /// Rings at times that `epoll` knows too roughly: it counts milliseconds.
    alarm: TimerFd,
    /// For when it is set.
    alarmed: Time,
    clock: Clock,
    pace: Pace,
}

impl Surroundings {
    /// Surroundings in which nothing is watched yet.
    ///
    /// # Errors
    /// The kernel's.
    fn new(clock: Clock) -> io::Result<Surroundings> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let flags = TimerFlags::TFD_CLOEXEC | TimerFlags::TFD_NONBLOCK;
        let alarm = TimerFd::new(nix::sys::timerfd::ClockId::CLOCK_MONOTONIC, flags)?;
        epoll.add(&alarm, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, ALARM))?;
        Ok(Surroundings { epoll, alarm, alarmed: Time::ZERO, clock, pace: Pace::default() })
    }

    /// Sleeps until something has happened or `deadline` has come, and fills in what has happened; how many events that are.
    ///
    /// # Errors
    /// The kernel's.
    fn wait(&mut self, deadline: Option<Time>, events: &mut [EpollEvent]) -> io::Result<usize> {
        let now = self.clock.now();
        let until = self.pace.wait(now, deadline);
        if until > now && Some(until) == deadline && until != self.alarmed {
            let time =
                TimeSpec::from_duration(std::time::Duration::from_nanos(self.clock.until(until).as_nanos().max(1)));
            self.alarm.set(Expiration::OneShot(time), TimerSetTimeFlags::empty())?;
            self.alarmed = until;
        }
        let happened = loop {
            let left = self.clock.until(until).as_nanos().div_ceil(1_000_000);
            match self.epoll.wait(events, EpollTimeout::try_from(left).unwrap_or(EpollTimeout::MAX)) {
                // As after a stop.
                Err(Errno::EINTR) => {}
                other => break other?,
            }
        };
        self.pace.look(self.clock.now(), happened);
        Ok(happened)
    }

    /// The turn of the end in `slot`, now.
    fn turn(&self, slot: u32) -> Turn<'_> {
        let now = self.clock.now();
        Turn { now, held_up: self.pace.held_up(now), epoll: &self.epoll, token: slot.into() }
    }
}

/// A worker at work.
pub struct Engine<'a> {
    orders: &'a Orders,
    around: Surroundings,
    namespaces: Namespaces,
    addressing: Addressing,
    /// One for each version of IP, or these on each host.
    listeners: Vec<Listener>,
    /// The congestion control that accepted sockets have by themselves.
    inherited: Option<&'a str>,
    inbox: Inbox,
    outbox: &'a mut Outbox,
    rings: EventQueue<Ring>,
    /// The time of the last ring: none may be put in before it.
    rung: Time,
    slots: Vec<Slot>,
    vacant: Vec<u32>,
    /// Slots that became vacant in this round: an event of their last end may still be told.
    vacated: Vec<u32>,
    /// Ends that have more to send.
    ready: Vec<u32>,
    /// Ends that were assigned and not reported.
    active: usize,
    /// Whether sockets are left open. They are kept until the run says stop: what of their last data is lost on the way, the
    /// kernel sends again only while they are there.
    leaves_open: bool,
    /// Acceptors that nobody has connected to.
    expected: BTreeMap<Serial, u32>,
    /// Connections that nobody has assigned, and when they were accepted.
    held: BTreeMap<Serial, (Socket, Time)>,
    datagrams: DatagramEnds,
    no_more: bool,
    starts: Lateness,
    waits: Lateness,
    strangers: u64,
}

impl<'a> Engine<'a> {
    /// A worker that listens, with the congestion control `inherited`, has its sockets for datagrams, and its clock.
    ///
    /// # Errors
    /// The kernel's.
    pub fn new(
        orders: &'a Orders,
        clock: Clock,
        (namespaces, listeners, inherited): (Namespaces, Vec<Listener>, Option<&'a str>),
        datagrams: DatagramEnds,
        inbox: Inbox,
        outbox: &'a mut Outbox,
    ) -> io::Result<Engine<'a>> {
        let around = Surroundings::new(clock)?;
        for (token, listener) in (LISTENERS..).zip(&listeners) {
            listener.watch(&around.epoll, token)?;
        }
        datagrams.watch(&around.epoll, DATAGRAMS)?;
        around.epoll.add(inbox.bell(), EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, BELL))?;
        Ok(Engine {
            orders,
            around,
            namespaces,
            addressing: orders.addressing(),
            listeners,
            inherited,
            inbox,
            outbox,
            rings: EventQueue::new(),
            rung: Time::ZERO,
            slots: Vec::new(),
            vacant: Vec::new(),
            vacated: Vec::new(),
            ready: Vec::new(),
            active: 0,
            leaves_open: false,
            expected: BTreeMap::new(),
            held: BTreeMap::new(),
            datagrams,
            no_more: false,
            starts: Lateness::default(),
            waits: Lateness::default(),
            strangers: 0,
        })
    }

    /// Plays until all is over or the run says stop.
    ///
    /// # Errors
    /// What came from the run was no message or made no sense, or the kernel's, beside those of single connections.
    pub fn play(&mut self) -> io::Result<Finish> {
        let mut events = vec![EpollEvent::empty(); EVENTS];
        loop {
            if let Some(finish) = self.take_messages()? {
                return Ok(finish);
            }
            self.serve_rings()?;
            self.serve_ready();
            if let Some(silent) = self.datagrams.take_silent() {
                self.outbox.send(FromWorker::Silent(silent));
            }
            let now = self.around.clock.now();
            if !self.outbox.flush(now) {
                return Ok(Finish::Deserted);
            }
            if self.no_more && self.active == 0 && !self.leaves_open {
                return Ok(Finish::Done);
            }
            let happened = self.wait(now, &mut events)?;
            for event in &events[..happened] {
                self.serve_event(event)?;
                // What is due does not wait for all that has come.
                self.serve_rings()?;
            }
            self.vacant.append(&mut self.vacated);
        }
    }

    /// Sleeps until there is something to do, and fills in what has happened; how many events that are.
    fn wait(&mut self, now: Time, events: &mut [EpollEvent]) -> io::Result<usize> {
        let is_idle = self.ready.is_empty();
        if let Some(until) = self.around.pace.rest(now).filter(|_| is_idle) {
            // What has come can wait for more to come; what is due cannot.
            self.around.clock.sleep_until(self.rings.not_before().map_or(until, |due| due.min(until)));
        }
        let deadline = match (self.rings.not_before(), self.outbox.deadline()) {
            _ if !is_idle => Some(Time::ZERO),
            (Some(ring), Some(report)) => Some(ring.min(report)),
            (one, other) => one.or(other),
        };
        self.around.wait(deadline, events)
    }

    fn take_messages(&mut self) -> io::Result<Option<Finish>> {
        loop {
            match self.inbox.take()? {
                Received::Nothing => return Ok(None),
                Received::Over => return Ok(Some(Finish::Deserted)),
                Received::Message(ToWorker::Assign(assignment)) => self.assign(&assignment)?,
                Received::Message(ToWorker::NoMore) => self.expect_no_more(),
                Received::Message(ToWorker::Settle(serial)) => {
                    let now = self.around.clock.now();
                    self.ring(now + SETTLING, Ring::Settle(serial));
                }
                Received::Message(ToWorker::Stop) => {
                    self.cut()?;
                    return Ok(Some(Finish::Done));
                }
                Received::Message(ToWorker::Begin(_) | ToWorker::Start(_)) => {
                    return Err(invalid("a worker was told to begin when it had begun"));
                }
            }
        }
    }

    /// All ends were assigned.
    pub fn expect_no_more(&mut self) {
        self.no_more = true;
    }

    /// Takes an end to play.
    ///
    /// # Errors
    /// It makes no sense.
    pub fn assign(&mut self, assignment: &Assignment) -> io::Result<()> {
        let &Assignment { serial, side, class, at, ref vector, .. } = assignment;
        let is_mine = u64::from(serial) < self.addressing.most_connections()
            && addresses::worker(serial, self.orders.workers) == self.orders.number;
        if !is_mine || usize::from(class) >= self.orders.classes.len() || self.expected.contains_key(&serial) {
            return Err(invalid("an end was assigned twice, to the wrong worker, or in a class that there is not"));
        }
        if vector.protocol != Protocol::Tcp {
            return self.assign_datagrams(assignment);
        }
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(Slot::Vacant);
            u32::try_from(self.slots.len() - 1).expect("a worker has fewer descriptors")
        });
        self.slots[slot as usize] = Slot::End(Box::new(End::new(assignment, self.orders)));
        self.active += 1;
        match (side, self.held.remove(&serial)) {
            (Side::Initiator, _) => self.ring(at, Ring::Connect(slot)),
            (Side::Acceptor, Some((socket, accepted))) => self.begin(slot, socket, accepted),
            (Side::Acceptor, None) => {
                self.expected.insert(serial, slot);
                self.ring(at + EXPECT, Ring::Expected(slot));
            }
        }
        Ok(())
    }

    fn assign_datagrams(&mut self, assignment: &Assignment) -> io::Result<()> {
        let next = self
            .datagrams
            .assign(assignment)
            .ok_or_else(|| invalid("an end of a flow was assigned twice, or where there is no socket for it"))?;
        self.active += 1;
        next.into_iter().for_each(|next| self.ring(next, Ring::Datagrams(assignment.serial)));
        Ok(())
    }

    fn ring(&mut self, time: Time, ring: Ring) {
        self.rings.push(time.max(self.rung), ring);
    }

    fn serve_rings(&mut self) -> io::Result<()> {
        for _ in 0..ROUND {
            let Some((time, ring)) = self.rings.pop_until(self.around.clock.now()) else { break };
            self.rung = time;
            match ring {
                Ring::Connect(slot) => self.connect(slot),
                Ring::End(slot) => self.wake(slot, time),
                Ring::Expected(slot) => {
                    let is_expecting = |end: &End| end.is_expecting() && end.at + EXPECT <= time;
                    if matches!(&self.slots[slot as usize], Slot::End(end) if is_expecting(end)) {
                        self.finish(slot, None);
                    }
                }
                Ring::Held(serial) => {
                    if self.held.get(&serial).is_some_and(|(_, accepted)| *accepted + HOLD <= time) {
                        self.held.remove(&serial);
                        self.strangers += 1;
                    }
                }
                Ring::Datagrams(serial) => {
                    let turn = self.datagrams.wake(serial, self.around.clock.now());
                    turn.start.into_iter().for_each(|late| self.starts.record(late));
                    turn.waits.into_iter().for_each(|late| self.waits.record(late));
                    turn.next.into_iter().for_each(|next| self.ring(next, Ring::Datagrams(serial)));
                }
                Ring::Settle(serial) => {
                    // What has come by now may not have been looked at.
                    self.take_datagrams(usize::MAX)?;
                    let report = self.datagrams.finish(serial);
                    report.into_iter().for_each(|report| self.report(report));
                }
            }
        }
        Ok(())
    }

    fn serve_ready(&mut self) {
        for slot in std::mem::take(&mut self.ready) {
            let turn = self.around.turn(slot);
            if let Slot::End(end) = &mut self.slots[slot as usize] {
                end.is_ready = false;
                let state = end.go_on(turn);
                self.settle(slot, state);
            }
        }
    }

    fn serve_event(&mut self, event: &EpollEvent) -> io::Result<()> {
        let (token, flags) = (event.data(), event.events());
        match token {
            // These have ended the sleep; messages and times are looked at in each round.
            BELL | ALARM => {}
            token if DATAGRAMS.contains(&token) => self.take_datagrams(ROUND)?,
            LISTENERS.. => return self.accept((token - LISTENERS) as usize),
            token => {
                let slot = token as u32;
                let turn = self.around.turn(slot);
                if let Slot::End(end) = &mut self.slots[slot as usize] {
                    let state = end.handle_events(flags, turn);
                    self.settle(slot, state);
                }
            }
        }
        Ok(())
    }

    /// Takes in datagrams that came, at most so many in each role.
    ///
    /// # Errors
    /// A socket's.
    fn take_datagrams(&mut self, most: usize) -> io::Result<()> {
        let Engine { datagrams, around, .. } = self;
        Side::BOTH.into_iter().try_for_each(|role| datagrams.receive(role, most, || around.clock.now()))
    }

    fn wake(&mut self, slot: u32, time: Time) {
        let turn = self.around.turn(slot);
        let Slot::End(end) = &mut self.slots[slot as usize] else { return };
        if end.rings == time {
            end.rings = Time::MAX;
        }
        let (state, late) = end.wake(turn);
        late.into_iter().for_each(|late| self.waits.record(late));
        self.settle(slot, state);
    }

    /// Asks for the connection of the initiator in `slot`.
    fn connect(&mut self, slot: u32) {
        let turn = self.around.turn(slot);
        let Slot::End(end) = &mut self.slots[slot as usize] else { return };
        let (serial, _, class) = end.identity();
        let hosts = end.hosts;
        let (from, to) = self.addressing.of_connection(serial, self.orders.side, hosts);
        let [from, to] = [from, to].map(|address| addresses::in_version(end.version, address));
        let to = SocketAddr::new(to, addresses::port(serial, self.orders.workers));
        let congestion = self.orders.classes[usize::from(class)].congestion.as_deref();
        self.starts.record(turn.now.since(end.at));
        let arrived = self.namespaces.go(hosts.initiator);
        let connected = arrived.and_then(|()| Socket::connect(from, to, congestion, end.mss()));
        if let Err(error) = connected.and_then(|socket| end.connect(socket, turn)) {
            self.finish(slot, Some(failed(&error)));
        }
    }

    /// Accepts who is waiting at a listener.
    ///
    /// # Errors
    /// The listener's.
    fn accept(&mut self, listener: usize) -> io::Result<()> {
        for _ in 0..ROUND {
            let accepted = match self.listeners[listener].accept() {
                // Who is waiting waits on, until there is memory or a descriptor.
                Err(error) if is_shortage(&error) => Accepted::Nobody,
                other => other?,
            };
            match accepted {
                Accepted::Nobody => break,
                Accepted::Connection(socket, peer, own) => {
                    let now = self.around.clock.now();
                    match self.serial(peer, own).map(|serial| (serial, self.expected.remove(&serial))) {
                        Some((_, Some(slot))) => self.begin(slot, socket, now),
                        Some((serial, None)) => {
                            self.ring(now + HOLD, Ring::Held(serial));
                            self.strangers += u64::from(self.held.insert(serial, (socket, now)).is_some());
                        }
                        None => self.strangers += 1,
                    }
                }
                Accepted::Refused(error, peer, own) => {
                    match self.serial(peer, own).and_then(|serial| self.expected.remove(&serial)) {
                        Some(slot) => self.finish(slot, Some(failed(&error))),
                        None => self.strangers += 1,
                    }
                }
            }
        }
        Ok(())
    }

    /// The connection of this worker whose ends have these addresses.
    fn serial(&self, initiator: Ipv4Addr, acceptor: Ipv4Addr) -> Option<Serial> {
        let Orders { side, number, workers, .. } = *self.orders;
        let sides = [acceptor, initiator].map(addresses::side_of);
        self.addressing
            .serial(initiator, acceptor)
            .filter(|serial| sides == [Some(side), Some(side.other())] && addresses::worker(*serial, workers) == number)
    }

    /// The acceptor in `slot` has its connection.
    fn begin(&mut self, slot: u32, socket: Socket, accepted: Time) {
        let turn = self.around.turn(slot);
        let Slot::End(end) = &mut self.slots[slot as usize] else { return };
        let (_, _, class) = end.identity();
        let state = match self.orders.classes[usize::from(class)].congestion.as_deref() {
            Some(name) if Some(name) != self.inherited => match socket.set_congestion(name) {
                Ok(()) => end.accept(socket, accepted, turn),
                Err(error) => State::Over(failed(&error)),
            },
            _ => end.accept(socket, accepted, turn),
        };
        self.settle(slot, state);
    }

    /// Sees to it that the end in `slot` has its next turn.
    fn settle(&mut self, slot: u32, state: State) {
        if let State::Over(outcome) = state {
            return self.finish(slot, Some(outcome));
        }
        let Slot::End(end) = &mut self.slots[slot as usize] else { return };
        if state == State::HasMore && !std::mem::replace(&mut end.is_ready, true) {
            self.ready.push(slot);
        }
        if let Some(deadline) = end.deadline().map(|deadline| deadline.max(self.rung)).filter(|at| *at < end.rings) {
            end.rings = deadline;
            self.rings.push(deadline, Ring::End(slot));
        }
    }

    /// Reports the end in `slot`, and gives up its socket unless its vector leaves it open.
    fn finish(&mut self, slot: u32, outcome: Option<Outcome>) {
        let Some(end) = self.slots[slot as usize].take_end() else { return };
        let (serial, ..) = end.identity();
        if end.is_expecting() {
            self.expected.remove(&serial);
        }
        let (report, socket) = end.finish(outcome);
        self.report(report);
        match socket {
            Some(socket) if outcome == Some(Outcome::LeftOpen) => {
                self.leaves_open = true;
                self.slots[slot as usize] = Slot::LeftOpen(socket);
            }
            _ => self.vacated.push(slot),
        }
    }

    fn report(&mut self, report: EndReport) {
        self.active -= 1;
        self.outbox.report(self.around.clock.now(), report);
    }

    /// Reports what is not over.
    ///
    /// # Errors
    /// That of a socket for datagrams.
    fn cut(&mut self) -> io::Result<()> {
        self.take_datagrams(usize::MAX)?;
        for report in self.datagrams.finish_all() {
            self.report(report);
        }
        for slot in 0..self.slots.len() {
            if let Some(end) = self.slots[slot].take_end() {
                let (report, socket) = end.finish(None);
                self.report(report);
                socket.into_iter().for_each(Socket::vanish);
            }
        }
        Ok(())
    }

    /// Gives up the connections that are still open, without a packet, and says what it came to. What it heard by is left, and the
    /// sockets for datagrams.
    pub fn close(self) -> (WorkerReport, Inbox, DatagramEnds) {
        for slot in self.slots {
            match slot {
                Slot::LeftOpen(socket) => socket.vanish(),
                Slot::End(end) => end.finish(None).1.into_iter().for_each(Socket::vanish),
                Slot::Vacant => {}
            }
        }
        // It never fails with these arguments.
        let cpu_nanos = getrusage(UsageWho::RUSAGE_SELF).map_or([0; 2], |usage| {
            [usage.user_time(), usage.system_time()].map(|time| u64::try_from(time.num_nanoseconds()).unwrap_or(0))
        });
        let report = WorkerReport {
            starts: Counted::from(&self.starts),
            waits: Counted::from(&self.waits),
            cpu_nanos,
            strangers: self.strangers + self.held.len() as u64 + self.datagrams.strangers(),
            datagram_drops: self.datagrams.drops(),
        };
        (report, self.inbox, self.datagrams)
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn failed(error: &io::Error) -> Outcome {
    Outcome::Failed(error.raw_os_error().unwrap_or(libc::EIO))
}

fn is_shortage(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}
