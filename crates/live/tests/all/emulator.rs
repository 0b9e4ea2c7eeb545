//! Kernel TCP across the emulator: paths, windows, and what the monitor makes of it. Needs root; without it these tests say that they
//! did nothing. Other work on the machine makes packets late and never early: that is all that is asked of times.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::mpsc::channel;
use std::thread;

use crate::built;
use flowloom_core::path::{LossModel, PacketList};
use flowloom_core::queue::Discipline;
use flowloom_core::time::Duration;
use flowloom_core::units::Limit;
use flowloom_core::workload::{Close, ConnectionVector, Endpoint, LinkSide, PerSide, Side};
use flowloom_live::addresses::{self, Serial};
use flowloom_live::clock::Clock;
use flowloom_live::emulator::{Command, Emulator, EmulatorReport, Output, Settings, commands};
use flowloom_live::host::namespace::Namespace;
use flowloom_live::host::sys;
use flowloom_live::host::testbed::{Choice, Kind};
use flowloom_sim::{Closed, Config};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, bind, connect, socket};

/// Plays `work` across a path; what the emulator said of each connection, in the order of their ends, and of itself.
fn across(
    kind: Kind,
    config: &Config,
    vectors: &[ConnectionVector],
    work: impl FnOnce([&Namespace; 2], &Clock),
) -> Option<(Vec<(Serial, Closed)>, EmulatorReport)> {
    let (testbed, devices) = built::testbed(&Choice { kind, ..Choice::default() })?;
    let clock = Clock::starting_in(Duration::ZERO);
    let ((commands, orders), (out, outputs)) = (commands().unwrap(), channel());
    for (serial, vector) in (0..).zip(vectors) {
        commands.send(Command::Open(serial, Box::new(vector.clone().into()))).unwrap();
    }
    let settings = Settings { linger: Duration::from_secs(1), ..Settings::default() };
    let emulator = Emulator::new(config.clone(), settings, devices, clock, orders, out);
    let thread = thread::spawn(move || emulator.run());
    let [left, right] = &testbed.namespaces;
    work([left, right], &clock);
    for serial in 0..vectors.len() as Serial {
        commands.send(Command::Close(serial)).unwrap();
    }
    let mut closed = Vec::new();
    while closed.len() < vectors.len() {
        if let Output::Closed(serial, one) = outputs.recv().expect("the emulator says so") {
            closed.push((serial, *one));
        }
    }
    commands.send(Command::Stop { interrupted: false }).unwrap();
    let (report, devices) = thread.join().unwrap();
    drop(devices);
    let report = report.unwrap();
    assert_eq!(report.unaccounted(), 0);
    Some((closed, report))
}

/// 40 ms, half on either side of the monitor, and these windows.
fn vector(id: u64, windows: [u64; 2]) -> ConnectionVector {
    let end = |window| Endpoint {
        min_transit: Some(Duration::from_millis(20)),
        max_window: Some(window),
        syn_seen: true,
        window_scale: Some(14),
        mss: Some(1_300),
        ..Endpoint::default()
    };
    let ends = PerSide { initiator: end(windows[0]), acceptor: end(windows[1]) };
    ConnectionVector { id, ends, ..ConnectionVector::default() }
}

/// Datagrams of 1,000 bytes on the link, from a program on the left to one on the right, all at once or each when the one before it
/// is there; which came, and when the last did.
fn datagrams([left, right]: [&Namespace; 2], clock: &Clock, count: u32, at_once: bool) -> (Vec<u32>, Duration) {
    let hosts = [LinkSide::Left, LinkSide::Right].map(addresses::host);
    let there = right.within(|| UdpSocket::bind((hosts[1], 9))).unwrap();
    let here = left.within(|| UdpSocket::bind((hosts[0], 0))).unwrap();
    there.set_read_timeout(Some(std::time::Duration::from_millis(500))).unwrap();
    let mut came = Vec::new();
    let (began, mut last) = (clock.now(), Duration::ZERO);
    let mut receive = || {
        let mut buffer = [0; 2_000];
        let length = there.recv(&mut buffer).ok()?;
        assert_eq!(length, 1_000 - 42);
        came.push(u32::from_le_bytes([buffer[0], buffer[1], buffer[2], buffer[3]]));
        last = clock.now().since(began);
        Some(())
    };
    for n in 0..count {
        let mut payload = [7; 1_000 - 42];
        payload[..4].copy_from_slice(&n.to_le_bytes());
        here.send_to(&payload, (hosts[1], 9)).unwrap();
        if !at_once {
            receive();
        }
    }
    while at_once && receive().is_some() {}
    (came, last)
}

fn initiator(serial: Serial, port: u16) -> io::Result<TcpStream> {
    let (from, to) = addresses::of_connection(serial, LinkSide::Left);
    let socket: OwnedFd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    sys::set_bind_address_no_port(&socket)?;
    bind(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(from, 0)))?;
    connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(to, port)))?;
    Ok(TcpStream::from(socket))
}

const REQUEST: usize = 500;
const RESPONSE: usize = 60_000;

/// An exchange on each connection, one after the other; how long each took from connecting to the last byte.
fn exchanges([left, right]: [&Namespace; 2], clock: &Clock, connections: usize) -> Vec<Duration> {
    let listener = right.within(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, addresses::FIRST_PORT))).unwrap();
    let server = thread::spawn(move || {
        for _ in 0..connections {
            let (mut connection, _) = listener.accept().unwrap();
            connection.read_exact(&mut [0; REQUEST]).unwrap();
            connection.write_all(&[7; RESPONSE]).unwrap();
            connection.shutdown(Shutdown::Write).unwrap();
            assert_eq!(connection.read(&mut [0; 1]).unwrap(), 0);
        }
    });
    let took = left.within(|| {
        let exchange = |serial| {
            let began = clock.now();
            let mut connection = initiator(serial, addresses::FIRST_PORT)?;
            connection.write_all(&[1; REQUEST])?;
            let mut response = Vec::new();
            connection.read_to_end(&mut response)?;
            assert_eq!(response, [7; RESPONSE]);
            Ok::<_, io::Error>(clock.now().since(began))
        };
        (0..connections as Serial).map(exchange).collect::<Result<Vec<_>, _>>()
    });
    server.join().unwrap();
    took.unwrap()
}

fn kernel_tcp(kind: Kind) {
    let mut config = Config::new("50mbit".parse().unwrap(), Duration::from_secs(60));
    config.bottleneck.delay = Duration::from_millis(2);
    let windows = [8_192, 16_384, 65_535];
    let vectors: Vec<_> = (0..).zip(windows).map(|(id, window)| vector(id, [window, 30_000])).collect();
    let mut took = Vec::new();
    let played = across(kind, &config, &vectors, |sides, clock| {
        took = exchanges(sides, clock, windows.len());
        // A guest: 2 ms each way.
        let [left, right] = sides;
        let hosts = [LinkSide::Left, LinkSide::Right].map(addresses::host);
        let there = right.within(|| UdpSocket::bind((hosts[1], 9))).unwrap();
        let here = left.within(|| UdpSocket::bind((hosts[0], 0))).unwrap();
        let began = clock.now();
        here.send_to(b"probe", (hosts[1], 9)).unwrap();
        let (length, from) = there.recv_from(&mut [0; 100]).unwrap();
        there.send_to(b"answer", from).unwrap();
        assert_eq!((length, here.recv(&mut [0; 100]).unwrap()), (5, 6));
        assert!(clock.now().since(began) >= Duration::from_millis(4));
    });
    let Some((closed, report)) = played else { return };
    assert_eq!(closed.iter().map(|closed| closed.0).collect::<Vec<_>>(), [0, 1, 2]);
    for ((_, closed), (window, took)) in closed.iter().zip(windows.into_iter().zip(took)) {
        let monitor = closed.monitor.as_ref().expect("its packets passed");
        assert_eq!((closed.id, closed.rtt), (monitor.id, Duration::from_millis(40)));
        let bytes = Side::BOTH.map(|side| monitor.bytes(side));
        assert_eq!(bytes, [REQUEST as u64, RESPONSE as u64]);
        assert_eq!(monitor.close, Close::Fin(Side::Acceptor));
        // The kernel's window is wider, so that the vector's is what counts; and so it is what the data keep to.
        assert_eq!((monitor.window(Side::Initiator), monitor.window(Side::Acceptor)), (Some(window), Some(30_000)));
        assert_eq!(monitor.ends.initiator.mss, Some(1_300));
        let rounds = 2 + (RESPONSE as u64 - 1) / window;
        assert!(took >= Duration::from_millis(40) * rounds, "{rounds} round trips of 40 ms in {took}, window {window}");
        let transits = Side::BOTH.map(|side| monitor.ends[side].min_transit.expect("data were acknowledged"));
        assert!(transits.iter().all(|transit| *transit >= Duration::from_millis(20)), "{transits:?}");
    }
    let [left, right] = report.devices;
    assert_eq!((left.malformed, right.malformed, left.unwritten + right.unwritten), (0, 0, 0));
    // Nothing else lives in these namespaces.
    assert_eq!((left.strangers, right.strangers), (0, 0));
    assert_eq!(report.network.directions.each_ref().map(|from| from.dropped.total()), [0, 0]);
    eprintln!("{kind:?}: late by {} (50 %), {} (99 %)", report.lateness.quantile(0.5), report.lateness.quantile(0.99));
}

#[test]
fn kernel_tcp_across_tun_devices() {
    kernel_tcp(Kind::Tun);
}

#[test]
fn kernel_tcp_across_packet_sockets() {
    kernel_tcp(Kind::PacketSocket);
}

#[test]
fn losses_are_those_of_the_model() {
    let mut config = Config::new("50mbit".parse().unwrap(), Duration::from_secs(60));
    config.path[0].loss = LossModel::List(PacketList::new([(2, 2), (5, 6)]).unwrap());
    let mut came = Vec::new();
    let played = across(Kind::Auto, &config, &[], |sides, clock| came = datagrams(sides, clock, 9, false).0);
    let Some((_, report)) = played else { return };
    assert_eq!(came, [0, 2, 3, 6, 7, 8]);
    assert_eq!(report.network.directions[0].lost.total(), 3);
}

#[test]
fn a_queue_holds_as_many_as_it_may_and_its_line_is_no_faster_than_its_rate() {
    const SENT: u32 = 200;
    let mut config = Config::new("1mbit".parse().unwrap(), Duration::from_secs(60));
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(10));
    config.bottleneck.delay = Duration::from_millis(3);
    let (mut came, mut last) = (Vec::new(), Duration::ZERO);
    let played = across(Kind::Auto, &config, &[], |sides, clock| (came, last) = datagrams(sides, clock, SENT, true));
    let Some((_, report)) = played else { return };
    // One on the line and ten that wait; later ones as far as sending them took longer than 8 ms each.
    assert_eq!(came[..11], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    assert!(came.is_sorted() && came.len() < SENT as usize, "{}", came.len());
    assert_eq!(report.network.directions[0].dropped.total(), u64::from(SENT) - came.len() as u64);
    let least = Duration::from_millis(8) * came.len() as u64 + Duration::from_millis(3);
    assert!(last >= least, "{} datagrams in {last}", came.len());
}

#[test]
fn a_program_has_the_links_rate() {
    const BYTES: usize = 1_000_000;
    let mut config = Config::new("20mbit".parse().unwrap(), Duration::from_secs(60));
    config.bottleneck.delay = Duration::from_millis(5);
    let mut took = Duration::ZERO;
    let played = across(Kind::Auto, &config, &[], |[left, right], clock| {
        let host = addresses::host(LinkSide::Right);
        let listener = right.within(|| TcpListener::bind((host, 80))).unwrap();
        let server = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            connection.write_all(&vec![7; BYTES]).unwrap();
        });
        let began = clock.now();
        let mut connection = left.within(|| TcpStream::connect((host, 80))).unwrap();
        assert_eq!(connection.read_to_end(&mut Vec::new()).unwrap(), BYTES);
        took = clock.now().since(began);
        server.join().unwrap();
    });
    let Some((_, report)) = played else { return };
    assert!(took >= Duration::from_millis(400 + 20), "1 MB at 20 Mbit/s after a handshake of 20 ms took {took}");
    let [_, back] = &report.network.directions;
    assert!(back.carried.bytes > BYTES as u64);
    assert_eq!(back.lost.total() + report.network.directions[0].lost.total(), 0);
}

#[test]
fn bulk_tcp_meets_queue_limit_and_losses_and_every_packet_is_accounted_for() {
    const BYTES: usize = 600_000;
    let mut config = Config::new("10mbit".parse().unwrap(), Duration::from_secs(60));
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(8));
    config.bottleneck.delay = Duration::from_millis(10);
    // Of the server's packets: some of the first hundred.
    config.path[1].loss = LossModel::List(PacketList::new([(20, 21), (60, 60)]).unwrap());
    let mut took = Duration::ZERO;
    let played = across(Kind::Auto, &config, &[], |[left, right], clock| {
        let host = addresses::host(LinkSide::Right);
        let listener = right.within(|| TcpListener::bind((host, 80))).unwrap();
        let server = thread::spawn(move || {
            let (mut connection, _) = listener.accept().unwrap();
            connection.write_all(&vec![7; BYTES]).unwrap();
        });
        let began = clock.now();
        let mut connection = left.within(|| TcpStream::connect((host, 80))).unwrap();
        assert_eq!(connection.read_to_end(&mut Vec::new()).unwrap(), BYTES, "what was lost is sent again");
        took = clock.now().since(began);
        server.join().unwrap();
    });
    let Some((_, report)) = played else { return };
    let [_, back] = &report.network.directions;
    assert_eq!(back.lost.total(), 3);
    // Slow start overruns a queue of 8 packets.
    assert!(back.dropped.total() > 0);
    assert_eq!(back.link.max().packets, 8);
    assert!(took >= Duration::from_millis(480 + 40), "600 kB at 10 Mbit/s after a handshake took {took}");
    let accounted = back.delivered + back.dropped.total() + back.lost.total() + back.in_flight;
    assert_eq!(accounted, back.sent);
}
