//! Two network namespaces with a wire between them, and workers in them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;
use std::thread::{self, JoinHandle};

use flowloom_core::play::{ReplayModel, Waits};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Adu, Close, ConnectionVector, IpVersion, LinkSide, Pattern, Side};
use flowloom_live::addresses::{self, Serial};
use flowloom_live::clock::Clock;
use flowloom_live::control::{self, Assignment, EndReport, FromWorker, Orders, SocketOptions, ToWorker, WorkerReport};
use flowloom_live::worker;
use flowloom_needs::{Need, skip};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns, unshare};

/// Two namespaces in which all addresses of a side are local, and those of the other are across a wire.
pub struct Sides(pub [File; 2]);

impl Sides {
    /// Makes them; `None`, and a skip, where that is not possible.
    pub fn new() -> Option<Sides> {
        match Sides::make() {
            Ok(sides) => Some(sides),
            Err(error) => {
                assert!(!crate::built::can_be_made(), "{error}");
                eprintln!("no network namespaces: {error}");
                skip("live: workers", Need::ROOT);
                None
            }
        }
    }

    fn make() -> io::Result<Sides> {
        let make = || {
            let made = thread::spawn(|| {
                unshare(CloneFlags::CLONE_NEWNET)?;
                File::open("/proc/thread-self/ns/net")
            });
            made.join().expect("no panic")
        };
        let sides = Sides([make()?, make()?]);
        let peer = format!("/proc/{}/fd/{}", std::process::id(), sides.0[1].as_raw_fd());
        sides.ip(LinkSide::Left, &format!("link add wire type veth peer name wire netns {peer}"))?;
        for side in [LinkSide::Left, LinkSide::Right] {
            let ((own, length), (other, _)) = (addresses::network(side), addresses::network(side.other()));
            // Both devices have the same address, and nobody asks for it.
            for command in [
                "link set lo up",
                "link set wire address 02:00:00:00:00:01 arp off",
                "link set wire up",
                &format!("address add {} dev wire", addresses::host(side)),
                &format!("route add local {own}/{length} dev lo"),
                &format!("route add {other}/{length} dev wire"),
            ] {
                sides.ip(side, command)?;
            }
            sides.within(side, || {
                std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "10000 65535")?;
                std::fs::write("/proc/sys/net/core/somaxconn", "65535")
            })?;
        }
        Ok(sides)
    }

    /// Does something in the namespace of a side.
    pub fn within<T: Send>(&self, side: LinkSide, what: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
        thread::scope(|scope| {
            let done = scope.spawn(|| {
                setns(&self.0[side as usize], CloneFlags::CLONE_NEWNET)?;
                what()
            });
            done.join().expect("no panic")
        })
    }

    fn ip(&self, side: LinkSide, command: &str) -> io::Result<()> {
        self.within(side, || {
            let output = Command::new("ip").args(command.split(' ')).output()?;
            let said = String::from_utf8_lossy(&output.stderr);
            if output.status.success() { Ok(()) } else { Err(io::Error::other(format!("ip {command}: {said}"))) }
        })
    }
}

/// A worker that is a thread.
pub struct Worker {
    pub orders: BufWriter<io::PipeWriter>,
    pub reports: io::PipeReader,
    pub thread: JoinHandle<io::Result<()>>,
    /// Ends that it was told to play.
    pub assigned: usize,
}

impl Worker {
    /// Starts one in the namespace of a side, and waits until it listens.
    pub fn start(sides: &Sides, orders: Orders) -> Worker {
        let mut worker = Worker::unready(sides, orders);
        assert_eq!(worker.hear(), Some(FromWorker::Ready));
        worker
    }

    /// Starts one.
    pub fn unready(sides: &Sides, orders: Orders) -> Worker {
        let (input, to) = io::pipe().unwrap();
        let (from, output) = io::pipe().unwrap();
        let namespace = sides.0[orders.side as usize].try_clone().unwrap();
        let thread = thread::spawn(move || worker::run(namespace, input, output));
        let mut worker = Worker { orders: BufWriter::new(to), reports: from, thread, assigned: 0 };
        worker.tell(&ToWorker::Begin(Box::new(orders)));
        worker
    }

    pub fn tell(&mut self, message: &ToWorker) {
        control::send(&mut self.orders, message).unwrap();
        match message {
            ToWorker::Assign(_) => self.assigned += 1,
            _ => self.orders.flush().unwrap(),
        }
    }

    /// Whether it says something within so many milliseconds.
    fn speaks_within(&self, millis: u16) -> bool {
        let mut reports = [PollFd::new(self.reports.as_fd(), PollFlags::POLLIN)];
        poll(&mut reports, PollTimeout::from(millis)).unwrap() > 0
    }

    pub fn hear(&mut self) -> Option<FromWorker> {
        control::receive(&mut self.reports).unwrap()
    }
}

/// How the worker of a side plays in tests.
pub fn orders(side: LinkSide, classes: Vec<SocketOptions>) -> Orders {
    let waits = Waits { min: Duration::ZERO, ..Waits::CORRECTED };
    let replay = ReplayModel::with_waits(waits);
    Orders { side, number: 0, workers: 1, host_namespace: 0, hosts: Vec::new(), ipv6: false, replay, classes, seed: 1 }
}

/// A connection to play: when, from which side.
#[derive(Clone)]
pub struct Planned {
    pub at: Time,
    pub from: LinkSide,
    pub class: u16,
    pub vector: ConnectionVector,
    pub endless_until: Option<Time>,
}

impl Planned {
    pub fn new(at: Time, vector: ConnectionVector) -> Planned {
        Planned { at, from: LinkSide::Left, class: 0, vector, endless_until: None }
    }

    /// The assignment of one end.
    pub fn assignment(&self, serial: Serial, side: Side) -> ToWorker {
        ToWorker::Assign(Box::new(Assignment {
            serial,
            hosts: Default::default(),
            version: IpVersion::V4,
            side,
            class: self.class,
            at: self.at,
            vector: self.vector.clone(),
            in_progress: false,
            endless_until: self.endless_until,
            datagrams: None,
        }))
    }
}

/// What workers of both sides said of the connections, by their numbers.
pub struct Played {
    pub ends: BTreeMap<(Serial, Side), EndReport>,
    pub workers: [WorkerReport; 2],
}

/// Plays connections to their end between two new workers, one a side.
pub fn play(sides: &Sides, classes: &[SocketOptions], planned: &[Planned]) -> Played {
    let mut workers =
        [LinkSide::Left, LinkSide::Right].map(|side| Worker::start(sides, orders(side, classes.to_vec())));
    let clock = Clock::starting_in(Duration::from_millis(20));
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::Start(clock)));
    for (serial, planned) in (0..).zip(planned) {
        workers[planned.from as usize].tell(&planned.assignment(serial, Side::Initiator));
        workers[planned.from.other() as usize].tell(&planned.assignment(serial, Side::Acceptor));
    }
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::NoMore));
    finish(workers)
}

/// Hears workers out. They are stopped when all they have to play is over, or nothing comes of it for half a minute.
pub fn finish(mut workers: [Worker; 2]) -> Played {
    let mut ends = BTreeMap::new();
    let mut done = [None, None];
    for stopping in [false, true] {
        for (worker, done) in workers.iter_mut().zip(&mut done) {
            while done.is_none() && (stopping || (worker.assigned > 0 && worker.speaks_within(30_000))) {
                match worker.hear() {
                    Some(FromWorker::Ends(reports)) => {
                        worker.assigned -= reports.len();
                        for report in reports {
                            let twice = ends.insert((report.serial, report.side), report);
                            assert_eq!(twice, None, "every end is reported once");
                        }
                    }
                    Some(FromWorker::Done(report)) => *done = Some(*report),
                    other => panic!("{other:?}"),
                }
            }
        }
        for worker in &mut workers {
            // One that has ended does not hear it.
            let _ = control::send(&mut worker.orders, &ToWorker::Stop).and_then(|()| worker.orders.flush());
        }
    }
    for Worker { orders, thread, .. } in workers {
        // It stays for what is on the way until its input ends.
        drop(orders);
        thread.join().expect("no panic").unwrap();
    }
    Played { ends, workers: done.map(|report| report.expect("it said so")) }
}

pub fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// A vector of ADUs: who sends, how much, and the wait after it in milliseconds.
pub fn vector(pattern: Pattern, adus: &[(Side, u64, u64)], close: Close) -> ConnectionVector {
    let adu = |&(side, bytes, wait): &(Side, u64, u64)| Adu {
        side,
        bytes,
        missing_bytes: 0,
        wait: Some(Duration::from_millis(wait)),
        waiter: side,
        seen: None,
        packets: None,
    };
    ConnectionVector { pattern, adus: adus.iter().map(adu).collect(), close, ..ConnectionVector::default() }
}
