//! Leaves over the loopback device: what is written arrives, schedules and limits hold, and leaves end when they are told to.

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;

use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_lab::leaves::{Ends, Options, Order, Sink, SinkResults, Source, SourceResults, Todo};
use flowloom_live::clock::Clock;
use flowloom_models::generate::netspec::{Call, Leaf, Parameter, Traffic};
use flowloom_models::generate::on_off::Transport;

const SECOND: Duration = Duration::from_secs(1);

fn leaf(traffic: Traffic, protocol: Transport, seconds: f64) -> Leaf {
    Leaf { traffic, duration: Some(seconds), protocol, count: 1, speed: None, ends: Default::default() }
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

/// A leaf over a rate to a sink, for as long as it takes, and a little longer for what is under way.
fn played(leaf: Leaf, options: &Options, rate: Rate) -> (SourceResults, SinkResults) {
    let protocol = leaf.protocol;
    let sink = Sink::listen(protocol, Ends { own: local(0), peer: local(0) }, options).unwrap();
    let ends = Ends { own: local(0), peer: sink.address().unwrap() };
    let mut source = Source::new(leaf, ends, options.clone(), 1, rate).unwrap();
    let order = Arc::new(Order::new());
    source.open(SECOND, &order).unwrap();
    let clock = Clock::starting_in(Duration::from_millis(20));
    let reading = thread::spawn({
        let order = Arc::clone(&order);
        move || sink.run(&clock, SECOND * 60, &order)
    });
    let sent = source.run(&clock, SECOND * 30, &Order::new());
    clock.sleep_until(clock.now() + Duration::from_millis(300));
    order.give(Todo::Finish);
    (sent, reading.join().unwrap())
}

#[test]
fn full_blast_arrives_whole() {
    let window = Options {
        window: Some(131_072),
        mss: Some(536),
        nodelay: true,
        congestion: Some("reno".into()),
        ..Options::default()
    };
    for (protocol, options) in [(Transport::Tcp, Options::default()), (Transport::Tcp, window)] {
        let traffic = Traffic::Full { blocksize: 32_768 };
        let (sent, came) = played(leaf(traffic, protocol, 0.5), &options, Rate::UNLIMITED);
        assert_eq!((sent.failed, sent.failure), (0, None));
        assert!(sent.bytes > 0 && sent.blocks >= sent.bytes / 32_768, "{} bytes", sent.bytes);
        assert_eq!(came.bytes, sent.bytes);
        assert_eq!((came.connections, came.strangers, came.reset), (1, 0, 0));
    }
}

#[test]
fn bursts_are_on_their_grid() {
    let traffic = Traffic::Burst { blocksize: Parameter::Number(20_000.0), period: Parameter::Number(10_000.0) };
    for protocol in [Transport::Tcp, Transport::Udp] {
        let (sent, came) = played(leaf(traffic.clone(), protocol, 0.5), &Options::default(), Rate::UNLIMITED);
        // 50 bursts, of which a machine that is late leaves some out, or does not come to the last.
        assert!((1..=50).contains(&(sent.blocks + sent.blocks_left_out)), "{sent:?}");
        assert!((20_000 * (sent.blocks - 1) + 1..=20_000 * sent.blocks).contains(&sent.bytes), "{sent:?}");
        if protocol == Transport::Udp {
            let datagrams = came.datagrams.unwrap();
            assert_eq!(
                sent.calls,
                sent.bytes.div_ceil(20_000) * 14 - (20_000 * sent.blocks - sent.bytes).div_ceil(1_472)
            );
            assert!(datagrams.received + datagrams.lost <= sent.calls && datagrams.received > 0, "{datagrams:?}");
            assert_eq!((datagrams.late, datagrams.repeated), (0, 0));
        } else {
            assert_eq!(came.bytes, sent.bytes);
        }
        assert!(came.arrivals.deviation_ns().is_some());
    }
}

#[test]
fn no_leaf_sends_more_than_its_agent_lets_it() {
    let rate: Rate = "4mbit".parse().unwrap();
    for protocol in [Transport::Tcp, Transport::Udp] {
        let (sent, _) = played(leaf(Traffic::Full { blocksize: 9_000 }, protocol, 1.0), &Options::default(), rate);
        // A second, the bucket, and a packet: with headers less than that in payload.
        assert!(sent.bytes <= 4_000_000 / 8 * 101 / 100 + 1_500, "{} bytes", sent.bytes);
        assert!(sent.bytes >= 100_000, "{} bytes", sent.bytes);
    }
}

#[test]
fn sessions_have_connections_of_their_own() {
    let calls = Traffic::Voice { lambda: 2e-5, duration_lambda: 1e-5, blocksize: 160 };
    for protocol in [Transport::Tcp, Transport::Udp] {
        let (sent, came) = played(leaf(calls.clone(), protocol, 1.0), &Options::default(), Rate::UNLIMITED);
        assert!(sent.connections > 3, "{sent:?}");
        assert!(sent.failed == 0 && came.connections > 3, "{sent:?}, {came:?}");
        // The end of the leaf may come between: to a call that has no datagram yet, or to a connection that is not known to be up.
        match protocol {
            Transport::Tcp => assert!(came.connections >= sent.connections, "{sent:?}, {came:?}"),
            Transport::Udp => assert!(came.connections <= sent.connections, "{sent:?}, {came:?}"),
        }
        // On a host that is late, to as many as were due while it was away.
        assert!(came.connections.abs_diff(sent.connections) <= 3 + sent.connections / 2, "{sent:?}, {came:?}");
        // The end may come between the time a block is due and its bytes, in each connection.
        let due = 160 * sent.blocks;
        assert!((due.saturating_sub(160 * sent.connections)..=due).contains(&sent.bytes), "{sent:?}");
        assert_eq!(sent.bytes % 160, 0, "{sent:?}");
    }
    let web = Traffic::Burstq {
        blocksize: Parameter::Call(Call { min: Some(8.0), ..Call::new("ftpItemSize") }),
        period: Parameter::Call(Call { lambda: Some(1e-4), ..Call::new("ftpSessionInterarrival") }),
        repeats: Parameter::Number(2.0),
    };
    let (sent, came) = played(leaf(web, Transport::Tcp, 0.5), &Options::default(), Rate::UNLIMITED);
    assert_eq!((came.connections, came.bytes), (1, sent.bytes));
}

#[test]
fn a_leaf_that_is_stopped_sends_nothing_more() {
    let sink = Sink::listen(Transport::Tcp, Ends { own: local(0), peer: local(0) }, &Options::default()).unwrap();
    let ends = Ends { own: local(0), peer: sink.address().unwrap() };
    let traffic = Traffic::Full { blocksize: 100_000 };
    let mut source =
        Source::new(leaf(traffic, Transport::Tcp, 60.0), ends, Options::default(), 1, Rate::UNLIMITED).unwrap();
    let order = Arc::new(Order::new());
    source.open(SECOND, &order).unwrap();
    let clock = Clock::starting_in(Duration::ZERO);
    let (sending, reading) = (Arc::clone(&order), Arc::new(Order::new()));
    let sending = thread::spawn(move || source.run(&clock, SECOND * 60, &sending));
    let readers = Arc::clone(&reading);
    let sink = thread::spawn(move || sink.run(&clock, SECOND * 60, &readers));
    clock.sleep_until(Time::ZERO + Duration::from_millis(200));
    order.give(Todo::Stop);
    let sent = sending.join().unwrap();
    assert!(sent.stopped && sent.bytes > 0);
    clock.sleep_until(clock.now() + Duration::from_millis(200));
    reading.give(Todo::Finish);
    let came = sink.join().unwrap();
    assert_eq!(came.reset, 1, "what it had written and not sent was thrown away");
}

#[test]
fn sinks_take_nothing_from_strangers() {
    let peer = SocketAddr::from(([127, 0, 0, 9], 0));
    for protocol in [Transport::Tcp, Transport::Udp] {
        let sink = Sink::listen(protocol, Ends { own: local(0), peer }, &Options::default()).unwrap();
        let ends = Ends { own: local(0), peer: sink.address().unwrap() };
        let traffic = Traffic::Cbr { blocksize: 100, period: 10_000.0 };
        let mut source =
            Source::new(leaf(traffic, protocol, 0.3), ends, Options::default(), 1, Rate::UNLIMITED).unwrap();
        let (order, finish) = (Order::new(), Arc::new(Order::new()));
        source.open(SECOND, &order).unwrap();
        let clock = Clock::starting_in(Duration::ZERO);
        let told = Arc::clone(&finish);
        let sink = thread::spawn(move || sink.run(&clock, SECOND * 60, &told));
        source.run(&clock, SECOND, &order);
        clock.sleep_until(clock.now() + Duration::from_millis(100));
        finish.give(Todo::Finish);
        let came = sink.join().unwrap();
        assert_eq!((came.bytes, came.connections), (0, 0));
        assert!(came.strangers > 0);
    }
}

#[test]
fn what_cannot_be_is_said() {
    let nobody = Ends { own: local(0), peer: local(1) };
    let cbr = || leaf(Traffic::Cbr { blocksize: 100, period: 10_000.0 }, Transport::Tcp, 1.0);
    let mut source = Source::new(cbr(), nobody, Options::default(), 1, Rate::UNLIMITED).unwrap();
    let error = source.open(SECOND, &Order::new()).unwrap_err();
    assert!(error.to_string().starts_with("cannot reach 127.0.0.1:1: Connection refused"), "{error}");
    let elsewhere = Ends { own: SocketAddr::from(([192, 0, 2, 1], 7)), peer: local(1) };
    let mut source = Source::new(cbr(), elsewhere, Options::default(), 1, Rate::UNLIMITED).unwrap();
    let error = source.open(SECOND, &Order::new()).unwrap_err();
    assert!(error.to_string().starts_with("cannot have 192.0.2.1:7: "), "{error}");
    let unknown = Options { congestion: Some("tahoe-1988".into()), ..Options::default() };
    let mut source = Source::new(cbr(), nobody, unknown, 1, Rate::UNLIMITED).unwrap();
    let error = source.open(SECOND, &Order::new()).unwrap_err();
    assert!(error.to_string().starts_with("congestion control tahoe-1988: "), "{error}");
}
