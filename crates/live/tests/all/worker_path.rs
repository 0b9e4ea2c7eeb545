//! Workers across the emulator: what takes a round trip to be sent, and congestion controls that pace.

use std::os::fd::AsFd;
use std::sync::mpsc::channel;
use std::{fs, thread};

use flowloom_core::path::LossModel;
use flowloom_core::time::Duration;
use flowloom_core::units::Probability;
use flowloom_core::workload::{Close, ConnectionVector, Endpoint, LinkSide, Pattern, PerSide, Side, Span};
use flowloom_live::addresses::Serial;
use flowloom_live::clock::Clock;
use flowloom_live::control::{EndReport, Ended, SocketOptions, ToWorker};
use flowloom_live::emulator::{Command, Emulator, Settings, commands};
use flowloom_live::host::testbed::Choice;
use flowloom_sim::Config;

use crate::built;
use crate::support::{Planned, Played, Sides, Worker, at, finish, orders, vector};

const I: Side = Side::Initiator;
const A: Side = Side::Acceptor;

/// A round trip of 40 ms, and windows that are no limit.
fn far(vector: ConnectionVector) -> ConnectionVector {
    let end = Endpoint { min_transit: Some(Duration::from_millis(20)), ..Endpoint::default() };
    ConnectionVector { ends: PerSide { initiator: end, acceptor: end }, ..vector }
}

/// Plays connections across the emulator, which loses packets from the right like this.
fn across(classes: &[SocketOptions], planned: &[Planned], loss: LossModel) -> Option<Played> {
    let (testbed, devices) = built::testbed(&Choice::default())?;
    let sides =
        Sides([0, 1].map(|n: usize| fs::File::from(testbed.namespaces[n].as_fd().try_clone_to_owned().unwrap())));
    let mut workers =
        [LinkSide::Left, LinkSide::Right].map(|side| Worker::start(&sides, orders(side, classes.to_vec())));
    let ((commands, orders), (out, _outputs)) = (commands().unwrap(), channel());
    for (serial, planned) in (0..).zip(planned) {
        commands.send(Command::Open(serial, Box::new(planned.vector.clone().into()))).unwrap();
        workers[planned.from as usize].tell(&planned.assignment(serial, I));
        workers[planned.from.other() as usize].tell(&planned.assignment(serial, A));
    }
    let clock = Clock::starting_in(Duration::from_millis(50));
    let mut config = Config::new("200mbit".parse().unwrap(), Duration::from_secs(60));
    config.path[LinkSide::Right as usize].loss = loss;
    let emulator = Emulator::new(config, Settings::default(), devices, clock, orders, out);
    let emulator = thread::spawn(move || emulator.run());
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::Start(clock)));
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::NoMore));
    let played = finish(workers);
    commands.send(Command::Stop { interrupted: false }).unwrap();
    emulator.join().unwrap().0.unwrap();
    Some(played)
}

fn ends(played: &Played, serial: Serial) -> [&EndReport; 2] {
    Side::BOTH.map(|side| &played.ends[&(serial, side)])
}

#[test]
fn what_takes_round_trips_to_send_is_sent_and_its_waits_begin_when_it_is() {
    use Pattern::{Concurrent, Sequential};
    let classes = ["reno", "cubic", "bbr"].map(|name| SocketOptions { congestion: Some(name.to_owned()), mss: None });
    let kinds = [
        // More than a first window, from the end that accepts, at once.
        vector(Concurrent, &[(I, 1_762, 0), (A, 17_619, 5), (A, 37_700, 0)], Close::Fin(I)),
        vector(Sequential, &[(A, 100_000, 0), (I, 50_000, 0)], Close::Fin(I)),
        // A wait of 150 ms after what takes 3 round trips or more to send, 100 ms.
        vector(Sequential, &[(I, 100, 0), (A, 200_000, 150), (A, 10, 0)], Close::Fin(A)),
        vector(Sequential, &[(I, 300_000, 20), (A, 2_000_000, 0), (I, 5, 0), (A, 5, 0)], Close::Fin(A)),
        vector(Concurrent, &[(I, 500_000, 10), (A, 400_000, 0), (I, 1, 0)], Close::NotSeen),
    ];
    let planned: Vec<_> = (0..30)
        .map(|n| Planned {
            class: (n % 3) as u16,
            ..Planned::new(at(30 * n as u64), far(kinds[n % kinds.len()].clone()))
        })
        .collect();
    let Some(played) = across(&classes, &planned, LossModel::None) else { return };
    for (serial, planned) in (0..).zip(&planned) {
        let ends = ends(&played, serial);
        for (end, side) in ends.into_iter().zip(Side::BOTH) {
            assert_eq!(end.ended, Ended::Completed, "{end:?}");
            assert_eq!(end.sent_bytes, planned.vector.bytes(side), "{end:?}");
            assert_eq!(end.received_bytes, planned.vector.bytes(side.other()), "{end:?}");
            let facts = end.kernel.unwrap();
            assert!(facts.min_rtt_micros.is_some_and(|micros| micros >= 39_000), "{facts:?}");
        }
        let handshake = ends[0].established.unwrap().since(ends[0].started.unwrap());
        assert!(handshake >= Duration::from_millis(39), "{handshake}");
        if serial % 5 == 2 {
            // Handshake, request, round trips of the response but for its last flight, the wait, half a round trip.
            let took = ends[0].last_received.unwrap().since(ends[0].first_sent.unwrap());
            assert!(took >= Duration::from_millis(40 + 2 * 40 + 150 - 1), "{took}");
            assert_eq!(ends[0].epochs.len(), 1);
        }
        assert!(ends[0].epochs.iter().all(|epoch| epoch.intended <= epoch.start && epoch.start < epoch.end));
    }
}

#[test]
fn data_arrive_at_an_end_that_has_closed() {
    // The initiator closes with its request; the acceptor sends more 300 ms later, and closes 100 ms after that.
    let mut asks = far(vector(Pattern::Sequential, &[(I, 500, 0), (A, 100_000, 300), (A, 100_000, 0)], Close::Fin(I)));
    for (adu, millis) in asks.adus.iter_mut().zip([40, 100, 500]) {
        let at = Duration::from_millis(millis);
        adu.seen = Some(Span { first: at, last: at });
    }
    asks.ends.initiator.fin_wait = Some(Duration::ZERO);
    asks.ends.acceptor.fin_wait = Some(Duration::from_millis(100));
    asks.t_close = Some(Duration::ZERO);
    assert_eq!(asks.half_close(), Some((I, Duration::from_millis(40))));
    let planned: Vec<_> = (0..5).map(|n| Planned::new(at(7 * n), asks.clone())).collect();
    let Some(played) = across(&[SocketOptions::default()], &planned, LossModel::None) else { return };
    for serial in 0..5 {
        let [initiator, acceptor] = ends(&played, serial);
        assert_eq!([&initiator.ended, &acceptor.ended], [&Ended::Completed; 2], "{initiator:?} {acceptor:?}");
        assert_eq!((initiator.received_bytes, acceptor.received_bytes), (200_000, 500));
        let (closed, last) = (initiator.closed.unwrap(), initiator.last_received.unwrap());
        assert!(last.since(closed) >= Duration::from_millis(300), "{closed:?} {last:?}");
        assert!(acceptor.closed.unwrap().since(acceptor.last_received.unwrap()) >= Duration::from_millis(400));
    }
}

#[test]
fn bulk_transfer_of_paced_senders_ends_in_time() {
    let classes = ["reno", "bbr"].map(|name| SocketOptions { congestion: Some(name.to_owned()), mss: None });
    let nothing = far(vector(Pattern::Sequential, &[], Close::Fin(I)));
    let planned: Vec<_> = (0..4)
        .map(|n| Planned { class: n % 2, endless_until: Some(at(1_000)), ..Planned::new(at(0), nothing.clone()) })
        .collect();
    let Some(played) = across(&classes, &planned, LossModel::None) else { return };
    for serial in 0..4 {
        let [sender, receiver] = ends(&played, serial);
        assert_eq!([&sender.ended, &receiver.ended], [&Ended::Completed; 2]);
        assert_eq!(sender.sent_bytes, receiver.received_bytes);
        assert!(sender.sent_bytes > 300_000, "{sender:?}");
        assert!(receiver.last_received.unwrap() > at(900), "{receiver:?}");
    }
}

#[test]
fn what_is_lost_of_a_connection_that_is_left_open_is_sent_again() {
    let exchange = far(vector(Pattern::Sequential, &[(I, 200, 0), (A, 700, 0)], Close::NotSeen));
    let planned: Vec<_> = (0..60).map(|n| Planned::new(at(5 * n), exchange.clone())).collect();
    let loss = LossModel::Bernoulli(Probability::new(0.25).unwrap());
    let Some(played) = across(&[SocketOptions::default()], &planned, loss) else { return };
    for serial in 0..60 {
        // The responses are the last that is sent, and the end that sends them is over when it has sent them once.
        let [initiator, acceptor] = ends(&played, serial);
        assert_eq!([&initiator.ended, &acceptor.ended], [&Ended::Completed; 2], "{serial}: {initiator:?}");
        assert_eq!(initiator.received_bytes, 700);
    }
}
