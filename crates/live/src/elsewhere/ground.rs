//! Other hosts as what a run stands on.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;
use flowloom_sim::Config;
use nix::poll::PollTimeout;

use super::tunnel::{Far, FarEnds};
use super::{Begun, FromSide, SideOrders, ToSide};
use crate::calibrate::{GAP, PINGS, quietest_of};
use crate::clock::Clock;
use crate::control::{SocketOptions, ToWorker, receive, send};
use crate::ground::{Ground, Standing};
use crate::guests::{Guest, Guests};
use crate::host::counters::{Counters, SideCounters};
use crate::host::settings::Settings;
use crate::run::{LiveError, Observed, Options, begin};
use crate::workers::{Ear, Heard, Program, Workers};

/// The hosts of a run.
pub struct Hosts {
    /// In any order, at least one of each side.
    pub hosts: Vec<Host>,
    /// The emulator's ends of the tunnels of the left and of the right side, where hosts were told.
    pub sockets: [UdpSocket; 2],
}

/// A host with a side process ([`super::side::process`]).
pub struct Host {
    /// What it is called.
    pub name: String,
    /// The side.
    pub side: LinkSide,
    /// Where its end of the tunnel is, whose port it says itself.
    pub address: IpAddr,
    /// What the side process says.
    pub from: Box<dyn Read + Send>,
    /// What it hears. Closed, it ends.
    pub to: Box<dyn Write + Send>,
    /// How far its monotonic clock is ahead of this host's, in nanoseconds.
    pub ahead_nanos: i64,
}

/// Side processes have so long to begin, and to answer.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);
/// A question of a tunnel that takes longer has no answer.
const ANSWER_MILLIS: u16 = 1_000;
/// Questions without an answer, of [`PINGS`].
const MOST_LOST: usize = 20;
/// Hosts whose ways differ by more than this are told of: one value is taken off all delays.
const ALIKE: Duration = Duration::from_micros(200);
/// Hosts hear of the start so long before it.
const LEAD: Duration = Duration::from_secs(1);

/// Other hosts while a run goes on.
pub(crate) struct Elsewhere {
    hosts: Vec<Talk>,
    counted: Receiver<(usize, SideCounters)>,
    /// What the ways here lost, by side.
    lost: [Arc<AtomicU64>; 2],
}

/// The run's end of the stream to a host.
struct Talk {
    name: String,
    side: LinkSide,
    to: Sender<ToSide>,
}

/// What the thread that listens to a host needs.
struct Listener {
    at: usize,
    /// The places of its workers among all, from the first on.
    places: std::ops::Range<usize>,
    first_worker: u16,
    begun: Sender<(usize, Result<Box<Begun>, String>)>,
    counted: Sender<(usize, SideCounters)>,
    workers: Sender<(usize, Heard)>,
}

/// How many workers of a side come before the one of its hosts with this number, where there are so many of both.
fn first_worker(number: usize, hosts: usize, workers: u16) -> u16 {
    (number * usize::from(workers) / hosts) as u16
}

impl Elsewhere {
    /// Has the hosts make their sides and start their workers.
    pub(crate) fn stand<W, R>(
        config: &Config,
        options: &Options,
        (settings, classes): (Settings, Vec<SocketOptions>),
        hosts: Hosts,
    ) -> Result<Standing<Elsewhere>, LiveError<W, R>> {
        let system = |what| move |cause| LiveError::Host { what, cause };
        let notes = settings.notes().iter().map(ToString::to_string).collect();
        let Hosts { hosts, sockets } = hosts;
        let of_side = |side| hosts.iter().filter(|host| host.side == side).count();
        let counts = [of_side(LinkSide::Left), of_side(LinkSide::Right)];
        let most = counts[0].max(counts[1]);
        if counts.contains(&0) || most > usize::from(options.workers) {
            let workers = options.workers;
            return Err(LiveError::Workers(format!("{counts:?} hosts cannot have {workers} workers on each side")));
        }
        let mut token = [0; 8];
        let drawn = File::open("/dev/urandom").and_then(|mut random| random.read_exact(&mut token));
        drawn.map_err(system("drawing a token"))?;
        let token = u64::from_be_bytes(token);

        // Who is where is settled before anything is said.
        let mut numbers = [0; 2];
        let shares: Vec<(u16, u16)> = hosts
            .iter()
            .map(|host| {
                let (number, all) = (numbers[host.side as usize], counts[host.side as usize]);
                numbers[host.side as usize] += 1;
                let first = first_worker(number, all, options.workers);
                (first, first_worker(number + 1, all, options.workers) - first)
            })
            .collect();
        let (telling_begun, begun) = channel();
        let (telling_counted, counted) = channel();
        let mut talks = Vec::with_capacity(hosts.len());
        let mut streams = Vec::with_capacity(hosts.len());
        let mut facts = Vec::with_capacity(hosts.len());
        for host in hosts {
            let (to, messages) = channel();
            streams.push((host.from, host.to, messages));
            talks.push(Talk { name: host.name, side: host.side, to });
            facts.push((host.address, host.ahead_nanos));
        }
        let ear = |side: LinkSide, number: u16| -> Ear {
            let of_it = (0..talks.len()).rev().find(|at| talks[*at].side == side && shares[*at].0 <= number);
            let at = of_it.unwrap_or(0);
            let (to, ahead_nanos) = (talks[at].to.clone(), facts[at].1);
            Arc::new(move |message| {
                let message = match message {
                    ToWorker::Start(clock) => ToWorker::Start(clock.as_of_one_ahead(ahead_nanos)),
                    other => other,
                };
                // That its host is gone the other direction tells.
                let _ = to.send(ToSide::Worker(number, Box::new(message)));
            })
        };
        let (mut workers, telling) = Workers::elsewhere(options.workers, ear);
        for (at, (from, to, messages)) in streams.into_iter().enumerate() {
            let ((first_worker, count), side) = (shares[at], talks[at].side);
            let orders = SideOrders { side, settings: settings.clone(), workers: shares[at], token };
            let _ = talks[at].to.send(ToSide::Begin(Box::new(orders)));
            let first = workers.place(side, first_worker);
            let listener = Listener {
                at,
                places: first..first + usize::from(count),
                first_worker,
                begun: telling_begun.clone(),
                counted: telling_counted.clone(),
                workers: telling.clone(),
            };
            let name = &talks[at].name;
            talk(name, to, messages)
                .and_then(|()| listen(name, from, listener))
                .map_err(system("starting a thread"))?;
        }

        let mut all_begun: Vec<Option<Box<Begun>>> = talks.iter().map(|_| None).collect();
        while all_begun.iter().any(Option::is_none) {
            match begun.recv_timeout(PATIENCE) {
                Ok((at, Ok(one))) => all_begun[at] = Some(one),
                Ok((at, Err(why))) => return Err(LiveError::Workers(format!("{}: {why}", talks[at].name))),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    let missing = talks.iter().zip(&all_begun).filter(|(_, begun)| begun.is_none());
                    let missing: Vec<&str> = missing.map(|(talk, _)| talk.name.as_str()).collect();
                    return Err(LiveError::Workers(format!("{} did not begin", missing.join(", "))));
                }
            }
        }
        let all_begun: Vec<Begun> = all_begun.into_iter().flatten().map(|begun| *begun).collect();

        let lost = [Arc::<AtomicU64>::default(), Arc::default()];
        let mut warnings = Vec::new();
        let mut bias = Duration::ZERO;
        let mut devices = Vec::with_capacity(2);
        for (side, socket) in [LinkSide::Left, LinkSide::Right].into_iter().zip(sockets) {
            let far = (0..talks.len()).filter(|at| talks[*at].side == side).map(|at| {
                let address = SocketAddr::new(facts[at].0, all_begun[at].port);
                (talks[at].name.as_str(), Far { address, token, first_worker: shares[at].0 })
            });
            let lost = Arc::clone(&lost[side as usize]);
            let (ends, way) = tunnels(socket, side, options.workers, far.collect(), lost, &mut warnings)
                .map_err(LiveError::Workers)?;
            bias += way;
            devices.push(ends);
        }
        let Ok(devices) = <[FarEnds; 2]>::try_from(devices) else {
            return Err(LiveError::Workers("a run has two sides".to_owned()));
        };
        begin(&mut workers, config, classes, Default::default()).map_err(LiveError::Workers)?;

        for (talk, begun) in talks.iter().zip(&all_begun) {
            warnings.extend(begun.warnings.iter().map(|warning| format!("{}: {warning}", talk.name)));
        }
        let kernels = talks.iter().zip(&all_begun);
        let kernels: Vec<_> =
            kernels.map(|(talk, begun)| format!("{} {}", talk.name, begun.provenance.kernel)).collect();
        let observed = Observed {
            notes,
            warnings,
            kernel: kernels.join(", "),
            settings: all_begun.first().map(|begun| begun.provenance.settings.clone()).unwrap_or_default(),
            devices: format!("tunnels to {} hosts", talks.len()),
            workers: options.workers,
            bias,
            ..Observed::default()
        };
        let ground = Elsewhere { hosts: talks, counted, lost };
        Ok(Standing { ground, devices, workers, bias, lead: LEAD, observed })
    }
}

impl Ground for Elsewhere {
    type Device = FarEnds;

    fn counters(&mut self) -> io::Result<Counters> {
        for host in &self.hosts {
            // One that is gone does not answer.
            let _ = host.to.send(ToSide::Count);
        }
        let mut sides: Vec<Option<SideCounters>> = self.hosts.iter().map(|_| None).collect();
        while sides.iter().any(Option::is_none) {
            let (at, counted) = self.counted.recv_timeout(PATIENCE).map_err(|_| {
                let silent = self.hosts.iter().zip(&sides).filter(|(_, counted)| counted.is_none());
                let silent: Vec<&str> = silent.map(|(host, _)| host.name.as_str()).collect();
                io::Error::new(io::ErrorKind::TimedOut, format!("{} does not answer", silent.join(", ")))
            })?;
            sides[at] = Some(counted);
        }
        let mut sides: Vec<SideCounters> = sides.into_iter().flatten().collect();
        for side in [LinkSide::Left, LinkSide::Right] {
            let first = self.hosts.iter().position(|host| host.side == side);
            if let Some(counted) = first.and_then(|at| sides.get_mut(at)) {
                counted.reader_drops += self.lost[side as usize].load(Ordering::Relaxed);
            }
        }
        Ok(Counters { sides })
    }

    fn guests(&self, guests: &[Guest], _: &Program) -> io::Result<Guests> {
        match guests {
            [] => Ok(Guests::default()),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, "programs run inside sides on this host alone")),
        }
    }
}

/// Starts the thread that says to a host what there is to say.
fn talk(name: &str, to: Box<dyn Write + Send>, messages: Receiver<ToSide>) -> io::Result<()> {
    let mut to = BufWriter::new(to);
    let saying = move || {
        while let Ok(first) = messages.recv() {
            let batch = std::iter::once(first).chain(messages.try_iter());
            let mut sent = Ok(());
            for message in batch {
                sent = sent.and_then(|()| send(&mut to, &message));
            }
            // It is gone, which the other direction tells.
            if sent.and_then(|()| to.flush()).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name(format!("to-{name}")).spawn(saying).map(drop)
}

/// Starts the thread that hears what a host says.
fn listen(name: &str, from: Box<dyn Read + Send>, listener: Listener) -> io::Result<()> {
    let mut from = BufReader::with_capacity(1 << 16, from);
    let hearing = move || {
        let why = loop {
            match receive(&mut from) {
                Ok(Some(message)) => match listener.take(message) {
                    Ok(()) => {}
                    Err(why) => break why,
                },
                Ok(None) => break "it is gone".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        // Nobody may wait for any of this.
        let _ = listener.begun.send((listener.at, Err(why.clone())));
        for place in listener.places.clone() {
            let _ = listener.workers.send((place, Heard::Ended(Some(why.clone()))));
        }
    };
    thread::Builder::new().name(format!("from-{name}")).spawn(hearing).map(drop)
}

impl Listener {
    /// Hands on what the host said; or why it says no more.
    fn take(&self, message: FromSide) -> Result<(), String> {
        let gone = |_| "the run is over".to_owned();
        let heard = |number: u16, heard| {
            let place = number.checked_sub(self.first_worker).map(|number| self.places.start + usize::from(number));
            let place = place.filter(|place| self.places.contains(place));
            let place = place.ok_or_else(|| format!("it speaks of a worker {number} that it does not have"))?;
            self.workers.send((place, heard)).map_err(|_| "the run is over".to_owned())
        };
        match message {
            FromSide::Begun(begun) => self.begun.send((self.at, Ok(begun))).map_err(gone),
            FromSide::Failed(why) => Err(why),
            FromSide::Worker(number, said) => heard(number, Heard::Said(*said)),
            FromSide::Ended(number, why) => heard(number, Heard::Ended(why)),
            FromSide::Counted(counted) => {
                self.counted.send((self.at, *counted)).map_err(|_| "the run is over".to_owned())
            }
        }
    }
}

/// The tunnels of a side, and what the way by them takes, one way.
fn tunnels(
    socket: UdpSocket,
    side: LinkSide,
    workers: u16,
    mut hosts: Vec<(&str, Far)>,
    lost: Arc<AtomicU64>,
    warnings: &mut Vec<String>,
) -> Result<(FarEnds, Duration), String> {
    let failed = |error: io::Error| format!("the tunnels of the {} side: {error}", side.word());
    // As they are in there.
    hosts.sort_by_key(|(_, far)| far.first_worker);
    let far = hosts.iter().map(|(_, far)| *far).collect();
    let mut ends = FarEnds::new(socket, side, workers, far, lost).map_err(failed)?;
    let mut took = Vec::with_capacity(hosts.len());
    for ((name, far), one) in hosts.iter().zip(round_trips(&mut ends).map_err(failed)?) {
        let address = far.address;
        took.push(one.ok_or_else(|| format!("{name}: datagrams from {address} do not come through to this host"))?);
    }
    let least = took.iter().min().copied().unwrap_or_default();
    let most = took.iter().max().copied().unwrap_or_default();
    if most.saturating_sub(least) > ALIKE {
        let side = side.word();
        warnings.push(format!(
            "the hosts of the {side} side are {least} to {most} away: half the mean is taken off delays"
        ));
    }
    let sum: u64 = took.iter().map(|took| took.as_nanos()).sum();
    Ok((ends, Duration::from_nanos(sum / took.len().max(1) as u64 / 2)))
}

/// What it takes to each host and back; `None` where too little comes back.
fn round_trips(ends: &mut FarEnds) -> io::Result<Vec<Option<Duration>>> {
    let clock = Clock::starting_in(Duration::ZERO);
    let hosts = ends.hosts();
    let mut one = |host| {
        let (mut took, mut lost) = (Vec::with_capacity(PINGS), 0);
        for number in 0..PINGS {
            match ends.ask(host, number as u64, PollTimeout::from(ANSWER_MILLIS))? {
                Some(one) => took.push(one),
                None => lost += 1,
            }
            if lost > MOST_LOST || (lost > 1 && took.is_empty()) {
                return Ok(None);
            }
            clock.sleep_until(clock.now() + GAP);
        }
        Ok(Some(quietest_of(&took)))
    };
    (0..hosts).map(&mut one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_shared_out_and_each_has_one_host() {
        for (hosts, workers) in [(1, 1), (2, 3), (3, 3), (4, 10)] {
            let firsts: Vec<u16> = (0..=hosts).map(|number| first_worker(number, hosts, workers)).collect();
            assert_eq!((firsts[0], firsts[hosts]), (0, workers));
            assert!(firsts.windows(2).all(|pair| pair[0] < pair[1]), "{firsts:?}");
        }
    }
}
