//! Workers play connections over kernel TCP, across a wire between two network namespaces.

use std::io::{self, BufWriter, Write};
use std::net::SocketAddrV4;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;

use flowloom_core::time::Duration;
use flowloom_core::workload::{Close, ConnectionVector, LinkSide, Pattern, Side};
use flowloom_live::addresses::{self, Serial};
use flowloom_live::clock::Clock;
use flowloom_live::control::{EndReport, Ended, FromWorker, Orders, SocketOptions, ToWorker};
use flowloom_live::lateness::Lateness;
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};

use crate::support::{Planned, Sides, Worker, at, finish, orders, play, vector};

const I: Side = Side::Initiator;
const A: Side = Side::Acceptor;

/// One of each kind of vector.
fn kinds() -> Vec<ConnectionVector> {
    use Pattern::{Concurrent, Sequential};
    vec![
        vector(Sequential, &[(I, 329, 5), (A, 3_403, 20), (I, 403, 0), (A, 25_821, 0)], Close::Fin(A)),
        vector(Sequential, &[(A, 100, 3), (I, 50, 2), (I, 70, 1), (A, 10, 0), (A, 20, 0)], Close::Fin(I)),
        vector(Concurrent, &[(I, 10_000, 4), (A, 200_000, 2), (I, 30_000, 1), (A, 7, 0)], Close::Fin(I)),
        vector(Sequential, &[(I, 1, 0), (A, 4_000_000, 3), (I, 2, 0)], Close::Fin(A)),
        vector(Concurrent, &[(I, 3_000_000, 0), (A, 3_000_000, 0)], Close::Fin(A)),
        vector(Sequential, &[], Close::Fin(I)),
        vector(Sequential, &[(I, 500, 0), (A, 0, 0), (A, 60_000, 0)], Close::Rst(I)),
        vector(Sequential, &[(I, 600, 0), (A, 900, 0)], Close::NotSeen),
        vector(Sequential, &[], Close::NotSeen),
    ]
}

fn check(planned: &Planned, ends: [&EndReport; 2]) {
    let script_bytes = Side::BOTH.map(|side| planned.vector.bytes(side));
    for (end, side) in ends.into_iter().zip(Side::BOTH) {
        let reset = matches!(planned.vector.close, Close::Rst(_));
        assert_eq!(end.ended, if reset { Ended::Reset } else { Ended::Completed }, "{end:?}");
        if planned.endless_until.is_none() {
            assert_eq!(end.sent_bytes, script_bytes[side as usize]);
            assert_eq!(end.received_bytes, script_bytes[side.other() as usize]);
        }
        let (started, established) = (end.started.unwrap(), end.established.unwrap());
        assert!(planned.at <= started && started <= established, "{end:?}");
        assert_eq!(end.first_sent.is_some(), end.sent_bytes > 0);
        assert_eq!(end.last_received.is_some(), end.received_bytes > 0);
        let data = [end.first_sent, end.last_received].into_iter().flatten();
        assert!(
            data.clone().all(|time| time >= established && end.closed.is_none_or(|closed| closed >= time)),
            "{end:?}"
        );
        let closes = planned.vector.close != Close::NotSeen && (!reset || side == I);
        assert_eq!(end.closed.is_some(), closes, "{end:?}");
        let facts = end.kernel.unwrap();
        assert!(facts.min_rtt_micros.is_some_and(|micros| micros < 1_000_000));
    }
    let adus: Vec<_> = planned.vector.adus.iter().filter(|adu| adu.bytes > 0).map(|adu| adu.side).collect();
    let expected = adus.windows(2).filter(|pair| pair == &[I, A]).count();
    let epochs = &ends[0].epochs;
    assert!(ends[1].epochs.is_empty());
    if planned.vector.pattern == Pattern::Sequential && planned.vector.close != Close::Rst(I) {
        assert_eq!(epochs.len(), expected, "{epochs:?}");
    }
    for (n, epoch) in epochs.iter().enumerate() {
        assert!(planned.at <= epoch.intended && epoch.intended <= epoch.start && epoch.start <= epoch.end, "{epoch:?}");
        assert!(n == 0 || (epochs[n - 1].end <= epoch.start && epochs[n - 1].epoch < epoch.epoch));
    }
}

#[test]
fn every_kind_of_connection_is_played_to_its_end() {
    let Some(sides) = Sides::new() else { return };
    let classes = ["reno", "cubic"].map(|name| SocketOptions { congestion: Some(name.to_owned()), mss: Some(1_200) });
    let kinds = kinds();
    let mut planned: Vec<_> = (0..300)
        .map(|n| Planned {
            from: [LinkSide::Left, LinkSide::Right][n / 2 % 2],
            class: (n % 2) as u16,
            ..Planned::new(at(5 * n as u64), kinds[n % kinds.len()].clone())
        })
        .collect();
    // Bulk transfer until a time, and one whose time is over when it begins.
    for until in [900, 10] {
        let nothing = vector(Pattern::Sequential, &[], Close::Fin(I));
        planned.push(Planned { endless_until: Some(at(until)), ..Planned::new(at(300), nothing) });
    }
    let played = play(&sides, &classes, &planned);
    assert_eq!(played.ends.len(), 2 * planned.len());
    for (serial, planned) in (0..).zip(&planned) {
        check(planned, Side::BOTH.map(|side| &played.ends[&(serial, side)]));
    }
    let bulk = &played.ends[&(300, A)];
    assert!(bulk.received_bytes > 1_000_000 && bulk.received_bytes == played.ends[&(300, I)].sent_bytes, "{bulk:?}");
    assert!(bulk.last_received.unwrap() > at(850));
    assert_eq!(played.ends[&(301, A)].received_bytes, 0);
    for worker in &played.workers {
        assert_eq!(worker.strangers, 0);
        assert!(Lateness::from(&worker.starts).count() > 100 && worker.cpu_nanos[0] > 0);
        assert!(Lateness::from(&worker.waits).quantile(0.5) < Duration::from_secs(1));
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_a_reason() {
    let Some(sides) = Sides::new() else { return };
    let own = std::fs::metadata("/proc/thread-self/ns/net").unwrap().ino();
    let inner = sides.within(LinkSide::Left, || Ok(std::fs::metadata("/proc/thread-self/ns/net")?.ino())).unwrap();
    assert_ne!(own, inner);
    let orders = orders(LinkSide::Left, vec![SocketOptions::default()]);
    let fails = |mut worker: Worker| {
        let said = match worker.hear() {
            Some(FromWorker::Failed(said)) => said,
            other => panic!("{other:?}"),
        };
        assert_eq!(worker.hear(), None);
        assert!(worker.thread.join().unwrap().is_err());
        said
    };
    // In the namespace of the host nothing is played, and this one is said to be that.
    let said = fails(Worker::unready(&sides, Orders { host_namespace: inner, ..orders.clone() }));
    assert!(said.contains("the network namespace of the host"), "{said}");
    let unknown = SocketOptions { congestion: Some("no-such".to_owned()), mss: None };
    let said = fails(Worker::unready(&sides, Orders { classes: vec![unknown], ..orders.clone() }));
    assert!(said.contains("no congestion control \"no-such\" here"), "{said}");

    let nothing = Planned::new(at(0), vector(Pattern::Sequential, &[], Close::Fin(I)));
    let wrong = [
        vec![ToWorker::Begin(Box::new(orders.clone()))],
        vec![ToWorker::Start(Clock::starting_in(Duration::ZERO)), ToWorker::Begin(Box::new(orders.clone()))],
        vec![
            ToWorker::Start(Clock::starting_in(Duration::ZERO)),
            Planned { class: 1, ..nothing.clone() }.assignment(0, A),
        ],
        vec![ToWorker::Start(Clock::starting_in(Duration::ZERO)), nothing.assignment(0, A), nothing.assignment(0, A)],
        vec![ToWorker::Start(Clock::starting_in(Duration::ZERO)), nothing.assignment(Serial::MAX, I)],
    ];
    for messages in wrong {
        let mut worker = Worker::start(&sides, orders.clone());
        messages.iter().for_each(|message| worker.tell(message));
        worker.orders.flush().unwrap();
        fails(worker);
    }
    // Garbage, and a message cut short.
    for bytes in [&[5, 0, 0, 0, 200, 1, 2, 3, 4][..], &[255; 4], &[100, 0, 0, 0, 3]] {
        for start in [false, true] {
            let mut worker = Worker::start(&sides, orders.clone());
            if start {
                worker.tell(&ToWorker::Start(Clock::starting_in(Duration::ZERO)));
            }
            worker.orders.write_all(bytes).unwrap();
            let Worker { orders: pipe, reports, thread, assigned } = worker;
            drop(pipe);
            fails(Worker { orders: BufWriter::new(io::pipe().unwrap().1), reports, thread, assigned });
        }
    }
}

#[test]
fn a_worker_whose_run_is_gone_ends() {
    let Some(sides) = Sides::new() else { return };
    for deaf in [false, true] {
        let mut worker = Worker::start(&sides, orders(LinkSide::Left, vec![SocketOptions::default()]));
        worker.tell(&ToWorker::Start(Clock::starting_in(Duration::ZERO)));
        if deaf {
            // The other way round: nobody hears that this one could not connect.
            let plan = Planned::new(at(0), vector(Pattern::Sequential, &[], Close::Fin(I)));
            worker.tell(&plan.assignment(0, I));
            worker.orders.flush().unwrap();
            drop(worker.reports);
            assert!(worker.thread.join().unwrap().is_err());
            drop(worker.orders);
        } else {
            drop(worker.orders);
            assert!(worker.thread.join().unwrap().is_err());
        }
    }
}

#[test]
fn what_comes_early_is_held_and_who_is_not_expected_is_a_stranger() {
    let Some(sides) = Sides::new() else { return };
    let classes = || vec![SocketOptions::default()];
    let mut workers = [LinkSide::Left, LinkSide::Right].map(|side| Worker::start(&sides, orders(side, classes())));
    // The run began a second ago, and everything is late.
    let clock = Clock::starting_in(Duration::ZERO);
    clock.sleep_until(at(1_000));
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::Start(clock)));
    let plan = Planned::new(at(100), vector(Pattern::Sequential, &[(I, 100, 0), (A, 2_000, 0)], Close::Fin(A)));
    workers[0].tell(&plan.assignment(7, I));
    workers[0].tell(&ToWorker::NoMore);
    clock.sleep_until(at(1_300));
    // From an address that connections have not, and from one whose connection nobody assigns.
    let port = addresses::port(0, 1);
    let (initiator, acceptor) = addresses::of_connection(44, LinkSide::Left);
    for from in [addresses::host(LinkSide::Left), initiator] {
        sides
            .within(LinkSide::Left, move || {
                let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None)?;
                bind(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(from, 0)))?;
                Ok(connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(acceptor, port)))?)
            })
            .unwrap();
    }
    workers[1].tell(&plan.assignment(7, A));
    workers[1].tell(&ToWorker::NoMore);
    let played = finish(workers);
    let ends = Side::BOTH.map(|side| &played.ends[&(7, side)]);
    check(&plan, ends);
    assert!(ends[0].started.unwrap() >= at(1_000), "it could not be earlier");
    // It should have been at 100 ms, and its request when the handshake was over, which took what it took.
    let handshake = ends[0].established.unwrap().since(ends[0].started.unwrap());
    assert_eq!(ends[0].epochs[0].intended, at(100) + handshake, "{:?}", ends[0]);
    assert!(Lateness::from(&played.workers[0].starts).max() >= Duration::from_millis(900));
    assert_eq!(played.workers.map(|worker| worker.strangers), [0, 2]);
}

/// TCP segments that were sent so far on both sides.
fn segments(sides: &Sides) -> [u64; 2] {
    [LinkSide::Left, LinkSide::Right].map(|side| {
        let all = sides.within(side, || std::fs::read_to_string("/proc/thread-self/net/snmp")).unwrap();
        let [names, values] = [0, 1].map(|n| all.lines().filter(|line| line.starts_with("Tcp:")).nth(n).unwrap());
        let place = names.split(' ').position(|name| name == "OutSegs").unwrap();
        values.split(' ').nth(place).unwrap().parse().unwrap()
    })
}

#[test]
fn what_is_open_when_the_run_stops_is_cut_without_a_packet() {
    let Some(sides) = Sides::new() else { return };
    let mut workers = [LinkSide::Left, LinkSide::Right]
        .map(|side| Worker::start(&sides, orders(side, vec![SocketOptions::default()])));
    let clock = Clock::starting_in(Duration::ZERO);
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::Start(clock)));
    let hour = 3_600_000;
    let plans = [
        // Waits for an hour.
        vector(Pattern::Sequential, &[(I, 100, hour), (A, 2_000, 0)], Close::Fin(A)),
        // Is left open.
        vector(Pattern::Sequential, &[(I, 100, 0), (A, 2_000, 0)], Close::NotSeen),
    ];
    for (serial, vector) in (0..).zip(plans) {
        let plan = Planned::new(at(0), vector);
        workers[0].tell(&plan.assignment(serial, I));
        workers[1].tell(&plan.assignment(serial, A));
    }
    // It is reported as soon as it has exchanged all.
    workers.iter_mut().for_each(|worker| worker.orders.flush().unwrap());
    for worker in &mut workers {
        match worker.hear() {
            Some(FromWorker::Ends(ends)) => {
                assert_eq!(
                    ends.iter().map(|end| (end.serial, &end.ended)).collect::<Vec<_>>(),
                    [(1, &Ended::Completed)]
                );
            }
            other => panic!("{other:?}"),
        }
    }
    // Acknowledgements are delayed by up to 200 ms.
    clock.sleep_until(clock.now() + Duration::from_millis(400));
    let before = segments(&sides);
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::Stop));
    let played = finish(workers);
    assert_eq!(segments(&sides), before);
    assert_eq!(played.ends.len(), 2);
    for (_, end) in played.ends {
        assert_eq!((end.serial, &end.ended, end.closed), (0, &Ended::Cut, None));
        assert!(end.kernel.is_some() && end.established.is_some());
    }
}
