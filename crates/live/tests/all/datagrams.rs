//! Workers send datagrams over kernel UDP, across a wire between two network namespaces.

use std::collections::{BTreeMap, BTreeSet};

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::play::{DatagramSource, Datagrams, Pacing};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, IpVersion, LinkSide, Protocol, Side};
use flowloom_live::addresses::Serial;
use flowloom_live::clock::Clock;
use flowloom_live::control::{Assignment, EndReport, Ended, FromWorker, SocketOptions, ToWorker};
use flowloom_live::lateness::Lateness;

use crate::support::{Sides, Worker, at, orders};

const SIDES: [LinkSide; 2] = [LinkSide::Left, LinkSide::Right];

fn source(pacing: Pacing, payload: Law, start: Time, stop: Time) -> Datagrams {
    let payload = Distribution::new(payload).unwrap();
    Datagrams { pacing, gap: Duration::from_millis(2), payload, start, stop, answered: false }
}

fn assignment(serial: Serial, side: Side, from: LinkSide, datagrams: &Datagrams) -> Assignment {
    let vector = ConnectionVector {
        id: 100 + u64::from(serial),
        protocol: Protocol::Udp,
        start: datagrams.start,
        initiator_side: from,
        ..ConnectionVector::default()
    };
    Assignment {
        hosts: Default::default(),
        version: IpVersion::V4,
        serial,
        side,
        class: 0,
        at: datagrams.start,
        vector,
        in_progress: false,
        endless_until: None,
        datagrams: Some(datagrams.clone()),
    }
}

/// How many datagrams of how many bytes a source sends in all.
fn all_of(serial: Serial, datagrams: &Datagrams) -> (u64, u64) {
    let mut source = DatagramSource::new(datagrams.clone(), 1, 100 + u64::from(serial));
    source.handle_timeout(Time::MAX);
    while source.poll().is_some() {}
    source.sent()
}

#[test]
fn sources_send_what_they_draw_and_all_of_it_arrives() {
    let Some(sides) = Sides::new() else { return };
    let exponential = |mean: f64| Law::Exponential { mean };
    let busy = |millis: f64| Distribution::new(exponential(millis * 1e6)).unwrap();
    let sources = [
        source(Pacing::Constant, Law::Constant(1_472.0), at(0), at(300)),
        source(Pacing::Poisson, exponential(300.0), at(20), at(400)),
        source(Pacing::OnOff { on: busy(20.0), off: busy(10.0) }, Law::Constant(160.0), at(10), at(500)),
        // A number has little room in it, and a time none.
        source(Pacing::Constant, Law::Constant(1.0), at(50), at(350)),
        // It has stopped when it begins.
        source(Pacing::Constant, Law::Constant(100.0), at(30), at(30)),
    ];
    let flows: Vec<_> = (0..40).map(|n| (n as Serial, SIDES[n / 5 % 2], &sources[n % 5])).collect();
    let mut workers = SIDES.map(|side| Worker::start(&sides, orders(side, vec![SocketOptions::default()])));
    let clock = Clock::starting_in(Duration::from_millis(50));
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::Start(clock)));
    for &(serial, from, datagrams) in &flows {
        for side in [Side::Acceptor, Side::Initiator] {
            let on = if side == Side::Initiator { from } else { from.other() };
            workers[on as usize].tell(&ToWorker::Assign(Box::new(assignment(serial, side, from, datagrams))));
        }
    }
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::NoMore));
    // Ends say when they send nothing more, and are there for what comes until they are told that nothing does.
    for worker in &mut workers {
        let mut silent = BTreeSet::new();
        while silent.len() < flows.len() {
            match worker.hear() {
                Some(FromWorker::Silent(serials)) => {
                    serials.into_iter().for_each(|serial| assert!(silent.insert(serial), "once"));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    let mut ends: BTreeMap<(Serial, Side), EndReport> = BTreeMap::new();
    for mut worker in workers {
        for (serial, ..) in &flows {
            worker.tell(&ToWorker::Settle(*serial));
        }
        let report = loop {
            match worker.hear() {
                Some(FromWorker::Ends(reports)) => {
                    reports.into_iter().for_each(|end| assert!(ends.insert((end.serial, end.side), end).is_none()));
                }
                Some(FromWorker::Done(report)) => break report,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!((report.strangers, report.datagram_drops), (0, 0));
        // The fifth kind sends nothing.
        assert_eq!(Lateness::from(&report.starts).count(), 16);
        assert!(Lateness::from(&report.waits).count() > 1_000);
    }
    assert_eq!(ends.len(), 80);
    for (serial, _, datagrams) in flows {
        let [initiator, acceptor] = Side::BOTH.map(|side| &ends[&(serial, side)]);
        let (packets, bytes) = all_of(serial, datagrams);
        assert_eq!((&initiator.ended, &acceptor.ended), (&Ended::Completed, &Ended::Completed));
        let (sent, none) = initiator.datagrams.as_ref().unwrap();
        assert_eq!((*sent, initiator.sent_bytes, none.packets), (packets, bytes, 0));
        let (none, arrived) = acceptor.datagrams.as_ref().unwrap();
        assert_eq!((arrived.packets, arrived.bytes, *none), (packets, bytes, 0), "flow {serial}");
        assert_eq!((arrived.late, arrived.repeated), (0, 0));
        assert_eq!(arrived.delays.is_some(), bytes > packets, "of those that have room for a time");
        assert!(initiator.started.is_none_or(|started| started >= datagrams.start));
        assert_eq!(acceptor.last_received, arrived.last_came);
    }
}

#[test]
fn what_is_cut_says_what_it_has_sent_and_had() {
    let Some(sides) = Sides::new() else { return };
    let endless = source(Pacing::Constant, Law::Constant(500.0), at(0), Time::MAX);
    let mut workers = SIDES.map(|side| Worker::start(&sides, orders(side, vec![SocketOptions::default()])));
    let clock = Clock::starting_in(Duration::from_millis(20));
    for (worker, side) in workers.iter_mut().zip(Side::BOTH) {
        worker.tell(&ToWorker::Start(clock));
        worker.tell(&ToWorker::Assign(Box::new(assignment(0, side, LinkSide::Left, &endless))));
        worker.tell(&ToWorker::NoMore);
    }
    clock.sleep_until(at(200));
    let reports = workers.map(|mut worker| {
        worker.tell(&ToWorker::Stop);
        let report = loop {
            match worker.hear() {
                Some(FromWorker::Ends(mut reports)) => break reports.remove(0),
                Some(FromWorker::Silent(_)) => {}
                other => panic!("{other:?}"),
            }
        };
        // What was sent last is on the wire.
        clock.sleep_until(clock.now() + Duration::from_millis(300));
        report
    });
    let [(sent, _), (_, arrived)] = reports.each_ref().map(|end| end.datagrams.clone().unwrap());
    assert_eq!(reports[0].ended, Ended::Cut);
    assert!(sent > 10 && sent == arrived.packets, "{sent} sent, {} arrived over a wire", arrived.packets);
}

#[test]
fn a_flow_is_not_assigned_twice() {
    let Some(sides) = Sides::new() else { return };
    let endless = source(Pacing::Constant, Law::Constant(500.0), at(0), Time::MAX);
    let mut worker = Worker::start(&sides, orders(LinkSide::Left, vec![SocketOptions::default()]));
    worker.tell(&ToWorker::Start(Clock::starting_in(Duration::ZERO)));
    (0..2).for_each(|_| {
        worker.tell(&ToWorker::Assign(Box::new(assignment(0, Side::Initiator, LinkSide::Left, &endless))));
    });
    worker.tell(&ToWorker::NoMore);
    loop {
        match worker.hear() {
            Some(FromWorker::Failed(said)) => break assert!(said.contains("assigned twice"), "{said}"),
            Some(FromWorker::Ends(_) | FromWorker::Silent(_)) => {}
            other => panic!("{other:?}"),
        }
    }
}
