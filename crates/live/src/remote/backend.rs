//! Other hosts as what a run stands on.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;
use flowloom_sim::Config;
use nix::poll::PollTimeout;

use super::tunnel::{Peer, PeerEnds};
use super::{Begun, FromSide, SideOrders, ToSide};
use crate::backend::{Backend, Standing};
use crate::calibrate::{GAP, PINGS, quietest_of};
use crate::clock::Clock;
use crate::control::{SocketOptions, ToWorker, receive, send_all};
use crate::guests::{Guest, Guests};
use crate::host::counters::{Counters, SideCounters};
use crate::host::ipv6::NoIpv6;
use crate::host::settings::Settings;
use crate::observed::Observed;
use crate::options::Options;
use crate::problem::{LiveError, Warning, WorkersError};
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
pub(crate) struct RemoteBackend {
    hosts: Vec<Talk>,
    answers: Receiver<(usize, Answer)>,
    /// What the ways here lost, by side.
    lost: [Arc<AtomicU64>; 2],
}

/// A host as the run talks to it.
struct Talk {
    name: String,
    side: LinkSide,
    address: IpAddr,
    ahead_nanos: i64,
    /// The numbers of its workers, among those of its side.
    workers: Range<u16>,
    to: Sender<ToSide>,
}

/// What a host says of itself.
enum Answer {
    Begun(Box<Begun>),
    Counted(Box<SideCounters>),
    /// It says no more; why.
    Gone(String),
}

/// Why a host is heard no more.
#[derive(Debug, thiserror::Error)]
enum Parting {
    #[error("the run is over")]
    Over,
    #[error("it speaks of a worker {0} that it does not have")]
    NoSuchWorker(u16),
    /// In its own words.
    #[error("{0}")]
    Failed(String),
}

/// What the thread that listens to a host needs.
struct Listener {
    at: usize,
    /// The places of its workers among all, from the first on.
    places: Range<usize>,
    first_worker: u16,
    answers: Sender<(usize, Answer)>,
    workers: Sender<(usize, Heard)>,
}

/// How many workers of a side come before the one of its hosts with this number, where there are so many of both.
fn first_worker(number: usize, hosts: usize, workers: u16) -> u16 {
    (number * usize::from(workers) / hosts) as u16
}

impl RemoteBackend {
    /// Has the hosts make their sides and start their workers.
    pub(crate) fn stand<W, R>(
        config: &Config,
        options: &Options,
        (settings, classes): (Settings, Vec<SocketOptions>),
        Hosts { hosts, sockets }: Hosts,
    ) -> Result<Standing<RemoteBackend>, LiveError<W, R>> {
        let system = |what| move |cause| LiveError::Host { what, cause };
        let notes = settings.notes().iter().map(ToString::to_string).collect();
        let token = token().map_err(system("drawing a token"))?;
        let counts = counts(&hosts, options.workers)?;
        let (telling, answers) = channel();
        let (mut workers, hosts) =
            meet(hosts, (counts, options.workers), &settings, token, &telling).map_err(system("starting a thread"))?;
        drop(telling);
        let all_begun = all_answers(&hosts, &answers, |answer| match answer {
            Answer::Begun(begun) => Some(*begun),
            Answer::Counted(_) | Answer::Gone(_) => None,
        });
        let all_begun = all_begun?;

        let both = || hosts.iter().zip(&all_begun);
        let lost = [Arc::<AtomicU64>::default(), Arc::default()];
        let mut warnings = Vec::new();
        let mut end = |side: LinkSide, socket| {
            let far = both().filter(|(host, _)| host.side == side).map(|(host, begun)| {
                let address = SocketAddr::new(host.address, begun.port);
                (host.name.as_str(), Peer { address, token, first_worker: host.workers.start })
            });
            tunnels(socket, side, options.workers, far.collect(), Arc::clone(&lost[side as usize]), &mut warnings)
        };
        let [left, right] = sockets;
        let (left, way_left) = end(LinkSide::Left, left)?;
        let (right, way_right) = end(LinkSide::Right, right)?;
        let bias = way_left + way_right;
        let no_ipv6 = both().find_map(|(host, begun)| {
            let why = begun.no_ipv6.clone()?;
            Some(NoIpv6::Host { host: host.name.clone(), why })
        });
        workers.begin(config, classes, Default::default(), no_ipv6.is_none())?;

        warnings.extend(both().flat_map(|(host, begun)| {
            let warning = |text: &String| Warning::Host { host: host.name.clone(), text: text.clone() };
            begun.warnings.iter().map(warning)
        }));
        let kernels: Vec<String> =
            both().map(|(host, begun)| format!("{} {}", host.name, begun.provenance.kernel)).collect();
        let observed = Observed {
            notes,
            warnings,
            kernel: kernels.join(", "),
            settings: settings_of(both().map(|(host, begun)| (host.name.as_str(), &begun.provenance.settings))),
            devices: format!("tunnels to {} hosts", hosts.len()),
            workers: options.workers,
            bias,
            ..Observed::default()
        };
        let backend = RemoteBackend { hosts, answers, lost };
        Ok(Standing { backend, devices: [left, right], workers, bias, lead: LEAD, no_ipv6, observed })
    }
}

/// By what both ends of the run's tunnels know each other's datagrams.
fn token() -> io::Result<u64> {
    let mut token = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut token)?;
    Ok(u64::from_be_bytes(token))
}

/// How many hosts each side has; or that they are too many or too few for so many workers on each.
fn counts(hosts: &[Host], each_side: u16) -> Result<[usize; 2], WorkersError> {
    let of = |side| hosts.iter().filter(|host| host.side == side).count();
    let counts = [LinkSide::Left, LinkSide::Right].map(of);
    match counts.iter().all(|count| (1..=usize::from(each_side)).contains(count)) {
        true => Ok(counts),
        false => Err(WorkersError::Hosts { hosts: counts, each_side }),
    }
}

/// Shares the workers of each side out among its hosts, so many of each side, tells these to begin, and listens to them: answers go to
/// `telling`.
fn meet(
    hosts: Vec<Host>,
    (counts, each_side): ([usize; 2], u16),
    settings: &Settings,
    token: u64,
    telling: &Sender<(usize, Answer)>,
) -> io::Result<(Workers, Vec<Talk>)> {
    let mut numbers = [0; 2];
    let mut talks = Vec::with_capacity(hosts.len());
    let mut streams = Vec::with_capacity(hosts.len());
    for Host { name, side, address, from, to, ahead_nanos } in hosts {
        let number = numbers[side as usize];
        numbers[side as usize] += 1;
        let first = |number| first_worker(number, counts[side as usize], each_side);
        let (telling, messages) = channel();
        talks.push(Talk { name, side, address, ahead_nanos, workers: first(number)..first(number + 1), to: telling });
        streams.push((from, to, messages));
    }
    let of_side = |side| talks.iter().filter(move |talk| talk.side == side);
    let sides = [LinkSide::Left, LinkSide::Right];
    let ears = sides.into_iter().flat_map(of_side).flat_map(|talk| talk.workers.clone().map(|number| talk.ear(number)));
    let (workers, heard) = Workers::remote(each_side, ears);
    for ((at, talk), (from, to, messages)) in talks.iter().enumerate().zip(streams) {
        let Talk { side, workers: Range { start, end }, .. } = *talk;
        let orders = SideOrders { side, settings: settings.clone(), workers: (start, end - start), token };
        talk.say(ToSide::Begin(Box::new(orders)));
        let first = workers.place(side, start);
        let listener = Listener {
            at,
            places: first..first + talk.workers.len(),
            first_worker: start,
            answers: telling.clone(),
            workers: heard.clone(),
        };
        send_all(format!("to-{}", talk.name), to, messages)?;
        listen(&talk.name, from, listener)?;
    }
    Ok((workers, talks))
}

impl Talk {
    /// Tells it something. That it is gone the other direction tells.
    fn say(&self, message: ToSide) {
        let _ = self.to.send(message);
    }

    /// Takes what is for one of its workers, and says times by its clock.
    fn ear(&self, number: u16) -> Ear {
        let (to, ahead_nanos) = (self.to.clone(), self.ahead_nanos);
        Arc::new(move |message| {
            let message = by_a_clock_ahead(message, ahead_nanos);
            // As with whatever is said to it.
            let _ = to.send(ToSide::Worker(number, Box::new(message)));
        })
    }
}

/// What is told to a worker on a host whose clock is so far ahead of this one's.
fn by_a_clock_ahead(message: ToWorker, nanos: i64) -> ToWorker {
    match message {
        ToWorker::Start(clock) => ToWorker::Start(clock.as_of_one_ahead(nanos)),
        other => other,
    }
}

/// What all hosts answer, in their order. Answers to something else are passed over.
fn all_answers<T>(
    hosts: &[Talk],
    answers: &Receiver<(usize, Answer)>,
    wanted: impl Fn(Answer) -> Option<T>,
) -> Result<Vec<T>, WorkersError> {
    let mut all: Vec<Option<T>> = hosts.iter().map(|_| None).collect();
    while all.iter().any(Option::is_none) {
        match answers.recv_timeout(PATIENCE) {
            Ok((at, Answer::Gone(why))) => return Err(WorkersError::Gone { host: hosts[at].name.clone(), why }),
            Ok((at, answer)) => all[at] = wanted(answer).or(all[at].take()),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                let silent = hosts.iter().zip(&all).filter(|(_, answer)| answer.is_none());
                let hosts = silent.map(|(host, _)| host.name.clone()).collect();
                return Err(WorkersError::Silent { hosts, seconds: PATIENCE.as_secs() });
            }
        }
    }
    Ok(all.into_iter().flatten().collect())
}

/// The settings of the first host by their names, and with the host's name in front those in which others differ from it.
fn settings_of<'a>(
    mut hosts: impl Iterator<Item = (&'a str, &'a BTreeMap<String, String>)>,
) -> BTreeMap<String, String> {
    let Some((_, first)) = hosts.next() else { return BTreeMap::new() };
    let others = hosts.flat_map(|(host, settings)| {
        let differ = settings.iter().filter(|(name, value)| first.get(*name) != Some(value));
        differ.map(move |(name, value)| (format!("{host}: {name}"), value.clone()))
    });
    first.clone().into_iter().chain(others).collect()
}

impl Backend for RemoteBackend {
    type Device = PeerEnds;

    fn counters(&mut self) -> io::Result<Counters> {
        self.hosts.iter().for_each(|host| host.say(ToSide::Count));
        let sides = all_answers(&self.hosts, &self.answers, |answer| match answer {
            Answer::Counted(counted) => Some(*counted),
            Answer::Begun(_) | Answer::Gone(_) => None,
        });
        let mut sides = sides.map_err(io::Error::other)?;
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

/// Starts the thread that hears what a host says.
fn listen(name: &str, from: Box<dyn Read + Send>, listener: Listener) -> io::Result<()> {
    let mut from = BufReader::with_capacity(1 << 16, from);
    let hearing = move || {
        let why = loop {
            match receive(&mut from) {
                Ok(Some(message)) => match listener.take(message) {
                    Ok(()) => {}
                    Err(why) => break why.to_string(),
                },
                Ok(None) => break "it is gone".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        // Nobody may wait for any of this.
        let _ = listener.answers.send((listener.at, Answer::Gone(why.clone())));
        for place in listener.places.clone() {
            let _ = listener.workers.send((place, Heard::Ended(Some(why.clone()))));
        }
    };
    thread::Builder::new().name(format!("from-{name}")).spawn(hearing).map(drop)
}

impl Listener {
    /// Hands on what the host said; or why it says no more.
    fn take(&self, message: FromSide) -> Result<(), Parting> {
        let answered = |answer| self.answers.send((self.at, answer)).map_err(|_| Parting::Over);
        let heard = |number: u16, heard| {
            let place = number.checked_sub(self.first_worker).map(|number| self.places.start + usize::from(number));
            let place = place.filter(|place| self.places.contains(place));
            let place = place.ok_or(Parting::NoSuchWorker(number))?;
            self.workers.send((place, heard)).map_err(|_| Parting::Over)
        };
        match message {
            FromSide::Begun(begun) => answered(Answer::Begun(begun)),
            FromSide::Failed(why) => Err(Parting::Failed(why)),
            FromSide::Worker(number, said) => heard(number, Heard::Said(*said)),
            FromSide::Ended(number, why) => heard(number, Heard::Ended(why)),
            FromSide::Counted(counted) => answered(Answer::Counted(counted)),
        }
    }
}

/// The tunnels of a side, and what the way by them takes, one way.
fn tunnels(
    socket: UdpSocket,
    side: LinkSide,
    workers: u16,
    mut hosts: Vec<(&str, Peer)>,
    lost: Arc<AtomicU64>,
    warnings: &mut Vec<Warning>,
) -> Result<(PeerEnds, Duration), WorkersError> {
    let failed = |cause| WorkersError::Tunnels { side, cause };
    // As they are in there.
    hosts.sort_by_key(|(_, far)| far.first_worker);
    let far = hosts.iter().map(|(_, far)| *far).collect();
    let mut ends = PeerEnds::new(socket, side, workers, far, lost).map_err(failed)?;
    let mut took = Vec::with_capacity(hosts.len());
    for ((name, far), one) in hosts.iter().zip(round_trips(&mut ends).map_err(failed)?) {
        let address = far.address;
        took.push(one.ok_or_else(|| WorkersError::Unreachable { host: (*name).to_owned(), address })?);
    }
    let least = took.iter().min().copied().unwrap_or_default();
    let most = took.iter().max().copied().unwrap_or_default();
    if most.saturating_sub(least) > ALIKE {
        warnings.push(Warning::HostsApart { side, least, most });
    }
    let sum: u64 = took.iter().map(|took| took.as_nanos()).sum();
    Ok((ends, Duration::from_nanos(sum / took.len().max(1) as u64 / 2)))
}

/// What it takes to each host and back; `None` where too little comes back.
fn round_trips(ends: &mut PeerEnds) -> io::Result<Vec<Option<Duration>>> {
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
    use std::sync::atomic::AtomicBool;

    use flowloom_core::units::Rate;

    use super::super::tunnel::NearEnd;
    use super::super::tunnel::tests::Queue;
    use super::*;

    #[test]
    fn workers_are_shared_out_and_each_has_one_host() {
        for (hosts, workers) in [(1, 1), (2, 3), (3, 3), (4, 10)] {
            let firsts: Vec<u16> = (0..=hosts).map(|number| first_worker(number, hosts, workers)).collect();
            assert_eq!((firsts[0], firsts[hosts]), (0, workers));
            assert!(firsts.windows(2).all(|pair| pair[0] < pair[1]), "{firsts:?}");
        }
    }

    #[test]
    fn each_side_has_hosts_and_each_of_them_workers() {
        let of = |left: usize, right: usize| -> Vec<Host> {
            let sides = [vec![LinkSide::Left; left], vec![LinkSide::Right; right]].concat();
            let host = |side| Host {
                name: String::new(),
                side,
                address: [127, 0, 0, 1].into(),
                from: Box::new(io::empty()),
                to: Box::new(io::sink()),
                ahead_nanos: 0,
            };
            sides.into_iter().map(host).collect()
        };
        assert_eq!(counts(&of(2, 1), 2).unwrap(), [2, 1]);
        for (left, right) in [(0, 1), (1, 0), (3, 1)] {
            let words = format!("{left} and {right} hosts cannot have 2 workers on each side");
            assert_eq!(counts(&of(left, right), 2).unwrap_err().to_string(), words);
        }
    }

    #[test]
    fn a_host_whose_clock_is_ahead_starts_when_this_one_does() {
        let clock = Clock::starting_at(7_000_000_000);
        let told = |nanos| by_a_clock_ahead(ToWorker::Start(clock), nanos);
        assert_eq!(told(5_000_000_000), ToWorker::Start(Clock::starting_at(12_000_000_000)));
        assert_eq!(told(-5_000_000_000), ToWorker::Start(Clock::starting_at(2_000_000_000)));
        assert_eq!(by_a_clock_ahead(ToWorker::Stop, 1), ToWorker::Stop);
    }

    #[test]
    fn what_is_taken_off_delays_is_the_way_to_a_host_not_there_and_back() {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let mut near = NearEnd::new(socket.local_addr().unwrap(), 3, Rate::UNLIMITED).unwrap();
        let far = Peer { address: ([127, 0, 0, 1], near.port().unwrap()).into(), token: 3, first_worker: 0 };
        let answered = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&answered);
        // Looks every 10 ms for questions, of which the next comes 0.5 ms after an answer.
        let host = thread::spawn(move || {
            let (clock, mut device) = (Clock::starting_in(Duration::ZERO), Queue::of([]));
            while !until.load(Ordering::Relaxed) {
                clock.sleep_until(clock.now() + Duration::from_millis(10));
                near.carry(&mut device).unwrap();
            }
        });
        let mut warnings = Vec::new();
        let found = tunnels(socket, LinkSide::Left, 1, vec![("host", far)], Arc::default(), &mut warnings);
        answered.store(true, Ordering::Relaxed);
        host.join().unwrap();
        let (ends, way) = found.unwrap();
        // There and back are 9.5 ms, and what a busy machine adds to the quietest of them.
        assert!((Duration::from_millis(4)..Duration::from_millis(8)).contains(&way), "{way}");
        assert_eq!((ends.hosts(), warnings), (1, vec![]));
    }

    #[test]
    fn settings_are_the_firsts_and_in_what_others_differ() {
        let of = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        let (a, b) = (of(&[("sack", "1"), ("dsack", "1")]), of(&[("sack", "1"), ("dsack", "0")]));
        let found = settings_of([("a", &a), ("b", &b), ("c", &a)].into_iter());
        assert_eq!(found, of(&[("sack", "1"), ("dsack", "1"), ("b: dsack", "0")]));
        assert!(settings_of([].into_iter()).is_empty());
    }

    fn talk(name: &str) -> (Talk, Receiver<ToSide>) {
        let (to, messages) = channel();
        let address = IpAddr::from([127, 0, 0, 1]);
        (Talk { name: name.to_owned(), side: LinkSide::Left, address, ahead_nanos: 0, workers: 0..1, to }, messages)
    }

    #[test]
    fn nobody_waits_for_the_answer_of_a_host_that_is_gone() {
        let (hosts, _messages): (Vec<_>, Vec<_>) = [talk("a"), talk("b")].into_iter().unzip();
        let (telling, answers) = channel();
        let mut backend = RemoteBackend { hosts, answers, lost: Default::default() };
        telling.send((0, Answer::Counted(Box::default()))).unwrap();
        telling.send((1, Answer::Counted(Box::default()))).unwrap();
        assert_eq!(backend.counters().unwrap().sides.len(), 2);
        telling.send((1, Answer::Gone("it is gone".to_owned()))).unwrap();
        assert_eq!(backend.counters().unwrap_err().to_string(), "b: it is gone");
    }
}
