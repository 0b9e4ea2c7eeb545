//! The process that plays one side of a share of a workload with another host, over the network between them: a side in a namespace with its workers,
//! as in a run ([`super::side`]), whose packets go to the other host's side in a tunnel, each connection's after a delay of its own.
//!
//! Both hosts have the same workload and the same clock to start by, so that each knows which connection begins when, and nobody
//! has to tell them. What is between them is the network as it is: what it loses, delays and carries is what the connections meet.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::{self, JoinHandle};

use flowloom_core::path::PathDelays;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::{ConnectionVector, IpVersion, LinkSide, PerSide, Side};
use flowloom_sim::{Classed, Config, RunError, Starts};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use serde::{Deserialize, Serialize};

use super::delays::Delayed;
use super::tunnel::{Losses, NearEnd};
use crate::addresses::{self, MOST_CONNECTIONS, Serial};
use crate::clock::Clock;
use crate::control::{Assignment, EndReport, Ended, FromWorker, SocketOptions, ToWorker, WorkerReport, receive, send};
use crate::host::settings::Settings;
use crate::host::testbed::{Choice, PathDevice, Side as Made};
use crate::host::turns;
use crate::lateness::{Counted, Lateness};
use crate::workers::{Heard, Program, Workers};

/// To the process. When nobody can say anything any more, that is [`ToPeer::Stop`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum ToPeer {
    /// What it is; the first message.
    Begin(Box<PeerOrders>),
    /// When the first connections may begin.
    Start(Clock),
    /// To end at once.
    Stop,
}

/// From the process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum FromPeer {
    /// Its workers listen. With it comes what makes it slower or less true, in words.
    Ready(Vec<String>),
    /// It is over.
    Done(Box<PeerReport>),
    /// It cannot go on.
    Failed(String),
}

/// What the process is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerOrders {
    /// Where its end of the tunnel is.
    pub own: SocketAddr,
    /// Where the other's is: datagrams go there and nowhere else.
    pub peer: SocketAddr,
    /// At this rate at most, in bit/s of IP packets.
    pub most_bit_s: u64,
    /// By what both ends know each other's datagrams.
    pub token: u64,
    /// Its side.
    pub side: LinkSide,
    /// The workload file.
    pub workload: PathBuf,
    /// The connections that this pair of hosts plays: of each `parts` in the order of their starts the one of this number, from 0 on.
    pub part: u32,
    /// See [`Self::part`].
    pub parts: u32,
    /// Connections that start within it are played; those that are open at its end are cut.
    pub window: Duration,
    /// Whether packets are delayed by what the workload knows of their connections' paths.
    pub delays: bool,
    /// Workers of each side.
    pub workers: u16,
    /// What the side's kernel is told.
    pub settings: Settings,
    /// What its sockets have.
    pub sockets: SocketOptions,
    /// Where the table of its ends of connections goes.
    pub table: PathBuf,
}

/// What a side of a share came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PeerReport {
    /// Connections whose ends here were over, by how.
    pub completed: u64,
    /// Reset by the other end, or by their own program as their vector says.
    pub reset: u64,
    /// The kernel gave up.
    pub failed: u64,
    /// They were open at the end, or the other end never came.
    pub cut: u64,
    /// Connections that begin in the window, and begin here.
    pub initiated: u64,
    /// Of them, those whose SYN was sent.
    pub started: u64,
    /// Flows of datagrams in the workload, which are left out.
    pub datagram_flows: u64,
    /// Payload bytes that ends here handed to the kernel.
    pub sent_bytes: u64,
    /// Payload bytes that they received.
    pub received_bytes: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Response times of epochs that begin here: from the first byte of a request to the last of the response. In microseconds, how often each.
    pub responses_us: Counted,
    /// How late SYNs were sent, likewise.
    pub starts_us: Counted,
    /// How late data and closes were sent that waited for a time, likewise.
    pub waits_us: Counted,
    /// What the network between the hosts takes there and back, as the quickest question did before the start; this is no part of the delays.
    pub round_trip_ns: u64,
    /// Packets that the network lost on their way here, or for which the side had no room.
    pub lost_packets: u64,
    /// Packets of the side that were more than it may send.
    pub unsent_packets: u64,
    /// Packets that found no room while they were delayed.
    pub left_out_packets: u64,
    /// What went wrong, in words.
    pub problems: Vec<String>,
}

/// Connections are assigned so long before their SYNs.
const AHEAD: Duration = Duration::from_secs(3);
/// How often it looks at the time if nobody says anything.
const LOOK: Duration = Duration::from_millis(5);
/// Workers that are told to stop have so long.
const GOODBYE: Duration = Duration::from_millis(400);
/// Between two questions of what the network takes.
const ASK_EVERY: Duration = Duration::from_millis(5);
/// How long the tunnel waits for packets before it looks whether it goes on.
const GLANCE: Duration = Duration::from_millis(20);

/// The process, with what it is told as standard input and what it says as standard output. `vectors` opens a workload file; workers are
/// `program`.
///
/// It is killed when the thread that started it ends (PR_SET_PDEATHSIG), its workers with it, and nothing of it is left.
///
/// # Errors
/// The kernel's; or what came is no message, or makes no sense. Who started it is told, if that can be.
pub fn process<V: Iterator<Item = Result<ConnectionVector, E>>, E: std::fmt::Display>(
    program: &Program,
    vectors: impl FnOnce(&Path) -> Result<V, E>,
) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    [Signal::SIGINT, Signal::SIGHUP].into_iter().collect::<SigSet>().thread_block()?;
    // Without the buffers of the standard streams: those end at each line, of which these bytes have none.
    let mut input = BufReader::new(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    let mut output = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let played = || {
        let Some(ToPeer::Begin(orders)) = receive(&mut input)? else {
            return Err(nonsense("the first message to a share was not how to begin"));
        };
        if orders.parts == 0 || orders.part >= orders.parts || orders.workers == 0 {
            return Err(nonsense("there is no such share"));
        }
        let vectors = vectors(&orders.workload).map_err(|error| io::Error::other(error.to_string()))?;
        let share = PeerSide::prepare(program, *orders, vectors)?;
        send(&mut output, &FromPeer::Ready(share.warnings.clone()))?;
        let (telling, told) = channel();
        thread::Builder::new().name("told".to_owned()).spawn(move || {
            // Whoever says no more has said stop.
            while let Ok(Some(message)) = receive::<ToPeer>(&mut input) {
                if telling.send(message).is_err() {
                    return;
                }
            }
        })?;
        let report = share.play(&told)?;
        send(&mut output, &FromPeer::Done(Box::new(report)))
    };
    let played = played();
    if let Err(error) = &played {
        // Who started it may be gone.
        let _ = send(&mut output, &FromPeer::Failed(error.to_string()));
    }
    played
}

fn nonsense(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

/// The tunnel's thread, and what it and the share tell each other.
struct Tunnel {
    carrying: JoinHandle<io::Result<()>>,
    /// It asks no more.
    has_started: Arc<AtomicBool>,
    is_over: Arc<AtomicBool>,
    delays: Sender<(Serial, Duration)>,
    losses: Arc<Losses>,
    /// Half of the quickest answer, in nanoseconds; nothing as long as there was none.
    way_nanos: Arc<AtomicU64>,
    left_out: Arc<AtomicU64>,
}

impl Tunnel {
    fn begin(mut near: NearEnd, device: PathDevice) -> io::Result<Tunnel> {
        let (delays, news) = channel();
        let [has_started, is_over] = [(); 2].map(|()| Arc::<AtomicBool>::default());
        let [way_nanos, left_out] = [(); 2].map(|()| Arc::<AtomicU64>::default());
        let losses = near.losses();
        let mut device = Delayed::new(device, news, Arc::clone(&way_nanos), Arc::clone(&left_out));
        let (asks_no_more, ends, way) = (Arc::clone(&has_started), Arc::clone(&is_over), Arc::clone(&way_nanos));
        let carry = move || {
            turns::come_first();
            let clock = Clock::starting_in(Duration::ZERO);
            let mut ask_at = Time::ZERO;
            while !ends.load(Ordering::Relaxed) {
                let mut patience = GLANCE;
                if !asks_no_more.load(Ordering::Relaxed) {
                    if clock.now() >= ask_at {
                        near.ask();
                        ask_at = clock.now() + ASK_EVERY;
                    }
                    way.store(near.round_trip().map_or(0, |took| took.as_nanos() / 2), Ordering::Relaxed);
                    patience = clock.until(ask_at);
                }
                near.carry(&mut device)?;
                near.wait(&device, device.next().unwrap_or(GLANCE).min(patience))?;
            }
            Ok(())
        };
        let carrying = thread::Builder::new().name("tunnel".to_owned()).spawn(carry)?;
        Ok(Tunnel { carrying, has_started, is_over, delays, losses, way_nanos, left_out })
    }

    /// Ends it, if it has not ended; then why it has.
    fn end(self) -> io::Result<()> {
        self.is_over.store(true, Ordering::Relaxed);
        self.carrying.join().map_err(|_| io::Error::other("the tunnel's thread has ended"))?
    }
}

/// An end of a connection here.
struct Open {
    id: u64,
    initiates: bool,
}

struct PeerSide<V> {
    orders: PeerOrders,
    config: Config,
    starts: Starts<V>,
    next: Option<(Time, Classed)>,
    all_assigned: bool,
    /// Connections of the workload so far, of all parts.
    seen: u32,
    serial: Serial,
    open: BTreeMap<Serial, Open>,
    workers: Workers,
    tunnel: Tunnel,
    warnings: Vec<String>,
    table: BufWriter<File>,
    report: PeerReport,
    responses: Lateness,
    reports: Vec<WorkerReport>,
    /// The side's namespace and its devices, for as long as it plays.
    _made: Made,
}

impl<V, E> PeerSide<V>
where
    V: Iterator<Item = Result<ConnectionVector, E>>,
    E: std::fmt::Display,
{
    fn prepare(program: &Program, orders: PeerOrders, vectors: V) -> io::Result<PeerSide<V>> {
        let config = Config { drain: Duration::ZERO, ..Config::new(Rate::UNLIMITED, orders.window) };
        config.validate().map_err(io::Error::other)?;
        let choice = Choice { settings: orders.settings.clone(), ..Choice::default() };
        let (made, device, warnings) = Made::alone(orders.side, &choice).map_err(io::Error::other)?;
        let most = Rate::from_bits_per_second(orders.most_bit_s).ok_or_else(|| nonsense("a share has no rate"))?;
        let near = NearEnd::between(orders.own, orders.peer, orders.token, most)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", orders.own)))?;
        let mut workers = Workers::start_some(program, &made.namespace, orders.side, 0..orders.workers)?;
        workers.begin(&config, vec![orders.sockets.clone()], Default::default(), false).map_err(io::Error::other)?;
        let mut table = BufWriter::new(File::create(&orders.table)?);
        writeln!(
            table,
            "connection,end,started_ns,established_ns,closed_ns,sent_bytes,received_bytes,epochs,retransmissions,min_rtt_us,ended"
        )?;
        let mut share = PeerSide {
            orders,
            config,
            starts: Starts::new(vectors),
            next: None,
            all_assigned: false,
            seen: 0,
            serial: 0,
            open: BTreeMap::new(),
            workers,
            tunnel: Tunnel::begin(near, device)?,
            warnings: warnings.iter().map(ToString::to_string).collect(),
            table,
            report: PeerReport::default(),
            responses: Lateness::default(),
            reports: Vec::new(),
            _made: made,
        };
        share.next = share.read()?;
        share.assign_until(Time::ZERO + AHEAD)?;
        Ok(share)
    }

    /// Plays from when it is told to start until its window is over or it is told to stop: kernels may have to send again what is over for
    /// their programs.
    fn play(mut self, told: &Receiver<ToPeer>) -> io::Result<PeerReport> {
        let mut clock: Option<Clock> = None;
        loop {
            match told.try_recv() {
                Ok(ToPeer::Start(at)) => {
                    clock = Some(at);
                    self.tunnel.has_started.store(true, Ordering::Relaxed);
                    self.workers.tell_all(&ToWorker::Start(at));
                }
                Ok(ToPeer::Stop) | Err(TryRecvError::Disconnected) => break,
                Ok(ToPeer::Begin(_)) => return Err(nonsense("a share was told to begin twice")),
                Err(TryRecvError::Empty) => {}
            }
            if let Some(clock) = clock {
                let now = clock.now();
                self.assign_until(now + AHEAD)?;
                if now >= Time::ZERO + self.orders.window {
                    break;
                }
            }
            self.hear(LOOK)?;
            if self.tunnel.carrying.is_finished() {
                break;
            }
        }
        self.end()
    }

    /// The next connection of this share. Connections of other shares are passed over.
    fn read(&mut self) -> io::Result<Option<(Time, Classed)>> {
        loop {
            let next = self.starts.next(&self.config).map_err(|error: RunError<E, io::Error>| match error {
                RunError::Workload(error) => io::Error::other(error.to_string()),
                RunError::Recorder(error) => error,
                other => io::Error::other(other.to_string()),
            })?;
            let Some(next) = next else { return Ok(None) };
            let number = self.seen;
            self.seen = (self.seen + 1) % self.orders.parts;
            if number == self.orders.part {
                return Ok(Some(next));
            }
        }
    }

    fn assign_until(&mut self, horizon: Time) -> io::Result<()> {
        while let Some((at, classed)) = self.next.take_if(|(at, _)| *at <= horizon) {
            self.assign(at, classed)?;
            self.next = self.read()?;
        }
        if self.next.is_none() && !self.all_assigned {
            self.all_assigned = true;
            self.workers.tell_all(&ToWorker::NoMore);
        }
        Ok(())
    }

    fn assign(&mut self, at: Time, Classed { vector, class, .. }: Classed) -> io::Result<()> {
        let serial = self.serial;
        if u64::from(serial) + 1 >= MOST_CONNECTIONS {
            return Err(io::Error::other("there are more connections than pairs of addresses"));
        }
        self.serial += 1;
        let side = if vector.initiator_side == self.orders.side { Side::Initiator } else { Side::Acceptor };
        if self.orders.delays {
            // One whose packets have come already would have had none.
            let _ = self.tunnel.delays.send((serial, delay(&vector, side, &self.config)));
        }
        self.report.initiated += u64::from(side == Side::Initiator);
        self.open.insert(serial, Open { id: vector.id, initiates: side == Side::Initiator });
        let assignment = Assignment {
            serial,
            hosts: PerSide::default(),
            side,
            class,
            // What is between the hosts carries datagrams of the tunnel, whatever is in them.
            version: IpVersion::V4,
            at,
            vector,
            in_progress: false,
            endless_until: None,
            datagrams: None,
        };
        let worker = usize::from(addresses::worker(serial, self.orders.workers));
        if self.workers.has_ended(worker) {
            return self.take(&EndReport::without(serial, side, Ended::Cut));
        }
        self.workers.tell(worker, ToWorker::Assign(Box::new(assignment)));
        Ok(())
    }

    /// Takes in what workers have to say, waiting for no longer than `patience`.
    fn hear(&mut self, patience: Duration) -> io::Result<()> {
        let mut patience = patience;
        while let Some((place, heard)) = self.workers.hear(patience) {
            patience = Duration::ZERO;
            match heard {
                Heard::Said(FromWorker::Ends(ends)) => ends.iter().try_for_each(|end| self.take(end))?,
                Heard::Said(FromWorker::Done(report)) => self.reports.push(*report),
                Heard::Said(FromWorker::Failed(why)) | Heard::Ended(Some(why)) => {
                    self.report.problems.push(format!("worker {place}: {why}"));
                }
                Heard::Said(FromWorker::Ready | FromWorker::Silent(_)) | Heard::Ended(None) => {}
            }
        }
        Ok(())
    }

    /// An end is over.
    fn take(&mut self, end: &EndReport) -> io::Result<()> {
        let Some(Open { id, initiates }) = self.open.remove(&end.serial) else { return Ok(()) };
        let report = &mut self.report;
        let (count, word) = match end.ended {
            Ended::Completed => (&mut report.completed, "completed".to_owned()),
            Ended::Reset => (&mut report.reset, "reset".to_owned()),
            Ended::Error(error) => (&mut report.failed, format!("error {error}")),
            Ended::Cut => (&mut report.cut, "cut".to_owned()),
        };
        *count += 1;
        report.started += u64::from(initiates && end.started.is_some());
        report.sent_bytes += end.sent_bytes;
        report.received_bytes += end.received_bytes;
        let kernel = end.kernel.unwrap_or_default();
        report.retransmissions += u64::from(kernel.retransmissions);
        end.epochs.iter().for_each(|epoch| self.responses.record(epoch.end.since(epoch.start)));
        let nanos = |time: Option<Time>| time.map(|time| time.as_nanos().to_string()).unwrap_or_default();
        let role = if initiates { "initiator" } else { "acceptor" };
        let [started, established, closed] = [end.started, end.established, end.closed].map(nanos);
        let least = kernel.min_rtt_micros.map(|micros| micros.to_string()).unwrap_or_default();
        let (sent, received, epochs) = (end.sent_bytes, end.received_bytes, end.epochs.len());
        writeln!(
            self.table,
            "{id},{role},{started},{established},{closed},{sent},{received},{epochs},{},{least},{word}",
            kernel.retransmissions
        )
    }

    /// Cuts what is open, and adds up.
    fn end(mut self) -> io::Result<PeerReport> {
        self.workers.tell_all(&ToWorker::Stop);
        let clock = Clock::starting_in(Duration::ZERO);
        while !self.workers.have_ended() && clock.now() < Time::ZERO + GOODBYE {
            self.hear(LOOK)?;
        }
        let rest: Vec<(Serial, Side)> = self
            .open
            .iter()
            .map(|(serial, open)| (*serial, if open.initiates { Side::Initiator } else { Side::Acceptor }))
            .collect();
        for (serial, side) in rest {
            self.take(&EndReport::without(serial, side, Ended::Cut))?;
        }
        self.table.flush()?;
        let (mut starts, mut waits) = (Lateness::default(), Lateness::default());
        for worker in &self.reports {
            starts.merge(&Lateness::from(&worker.starts));
            waits.merge(&Lateness::from(&worker.waits));
        }
        let PeerSide { orders, tunnel, mut report, .. } = self;
        let way_nanos = tunnel.way_nanos.load(Ordering::Relaxed);
        if way_nanos == 0 {
            let peer = orders.peer;
            let why =
                format!("nothing came from {peer}: does its leaf run, with the same workload, parts and workers?");
            report.problems.push(why);
        }
        let (losses, left_out) = (Arc::clone(&tunnel.losses), Arc::clone(&tunnel.left_out));
        report.problems.extend(tunnel.end().err().map(|error| format!("the tunnel: {error}")));
        Ok(PeerReport {
            responses_us: Counted::from(&self.responses),
            starts_us: Counted::from(&starts),
            waits_us: Counted::from(&waits),
            round_trip_ns: 2 * way_nanos,
            lost_packets: losses.of_others.load(Ordering::Relaxed),
            unsent_packets: losses.of_its_own.load(Ordering::Relaxed),
            left_out_packets: left_out.load(Ordering::Relaxed),
            datagram_flows: self.starts.datagram_flows(),
            ..report
        })
    }
}

/// How long packets of `side` take to the other end of the connection of `vector`, as it was captured.
fn delay(vector: &ConnectionVector, side: Side, config: &Config) -> Duration {
    let delays =
        PathDelays::new(vector, config.replay.transits, config.placement, Default::default(), config.unknown_rtt);
    delays.leg(side).to_link + delays.leg(side.other()).from_link
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_sides_delay_is_the_round_trip_time_once() {
        let mut vector = ConnectionVector::default();
        vector.ends.initiator.min_transit = Some(Duration::from_millis(4));
        vector.ends.acceptor.min_transit = Some(Duration::from_millis(30));
        let config = Config::new(Rate::UNLIMITED, Duration::from_secs(1));
        let [out, back] = [Side::Initiator, Side::Acceptor].map(|side| delay(&vector, side, &config));
        // Out of the initiator's side, half of its transit, and into the other's, half of that: as the way back.
        assert_eq!([out, back], [Duration::from_millis(17); 2]);
    }
}
