//! Captures from network interfaces: traffic of known size in network namespaces of their own. Needs root.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use flowloom_core::extract::{Extractor, Finished, Options};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::{Decoder, Parsed, Vlan};
use flowloom_core::workload::{LinkSide, Side};
use flowloom_needs::{Need, skip};
use flowloom_store::capture::{CaptureErrorKind, Captures, Format, InputFacts, LiveOptions, Part};
use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::{self, AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType};
use nix::unistd::gettid;

const CONNECTIONS: u64 = 20;
const REQUEST: u64 = 300;
const RESPONSE: u64 = 40_000;

fn ip(words: &str) {
    let output = Command::new("ip").args(words.split(' ')).output().expect("ip");
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Moves this thread into a network namespace of its own; false, and a skip, where that is not permitted.
fn own_network() -> bool {
    if Command::new("ip").arg("-V").output().is_err() {
        skip("store: captures from interfaces", Need::IP);
        return false;
    }
    if let Err(error) = unshare(CloneFlags::CLONE_NEWNET) {
        eprintln!("no network namespace: {error}");
        skip("store: captures from interfaces", Need::ROOT);
        return false;
    }
    ip("link set lo up");
    true
}

/// Runs `test` in a thread with a network namespace of its own.
fn in_own_network(test: impl FnOnce() + Send + 'static) {
    let thread = thread::spawn(|| {
        if own_network() {
            test();
        }
    });
    thread.join().expect("the test in its namespace");
}

/// Runs `far` and `near` in two namespaces joined by a pair of interfaces: `near0` (10.9.0.1) and `far0` (10.9.0.2).
fn between_two_networks(near: impl FnOnce() + Send + 'static, far: impl FnOnce() + Send + 'static) {
    let (tell, told) = mpsc::channel();
    let (go, ready) = mpsc::channel();
    let other = thread::spawn(move || {
        if own_network() {
            tell.send(gettid()).expect("the near end listens");
            ready.recv().expect("the near end is there");
            ip("addr add 10.9.0.2/24 dev far0");
            ip("link set far0 up");
            tell.send(gettid()).expect("the near end listens");
            ready.recv().expect("the near end is there");
            far();
        }
    });
    in_own_network(move || {
        let Ok(other) = told.recv() else { return };
        ip(&format!("link add near0 type veth peer name far0 netns {other}"));
        ip("addr add 10.9.0.1/24 dev near0");
        ip("link set near0 up");
        go.send(()).expect("the far end listens");
        told.recv().expect("the far end is up");
        go.send(()).expect("the far end listens");
        near();
    });
    other.join().expect("the far end");
}

/// Answers as many connections as there will be.
fn serve(listener: &TcpListener, connections: u64) {
    for _ in 0..connections {
        let (mut stream, _) = listener.accept().expect("a connection");
        stream.read_exact(&mut [0; REQUEST as usize]).expect("the request");
        stream.write_all(&vec![7; RESPONSE as usize]).expect("the response");
    }
}

#[expect(clippy::disallowed_methods, reason = "real sockets on a real link: the server may not listen yet")]
fn ask(server: SocketAddr, connections: u64) {
    for _ in 0..connections {
        let mut stream = (0..200)
            .find_map(|_| {
                TcpStream::connect(server).map_err(|_| thread::sleep(std::time::Duration::from_millis(10))).ok()
            })
            .expect("connects");
        stream.write_all(&[1; REQUEST as usize]).expect("the request");
        let mut response = Vec::new();
        stream.read_to_end(&mut response).expect("the response");
        assert_eq!(response.len() as u64, RESPONSE);
    }
}

/// What a test keeps of each packet.
struct Kept {
    from: Option<LinkSide>,
    vlan: Option<Vlan>,
    tcp: bool,
    bytes: Vec<u8>,
    length: u32,
}

/// A capture running beside the test.
struct Running {
    stop: Arc<AtomicBool>,
    thread: thread::JoinHandle<(Vec<Kept>, Vec<Finished>, InputFacts)>,
}

/// Captures from `interface` until stopped; the interface is open when this returns.
fn capture(interface: &'static str, options: LiveOptions) -> Running {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = stop.clone();
    let mut captures =
        Captures::live(interface, options, Box::new(move || asked.load(Ordering::Relaxed))).expect("captures");
    let thread = thread::spawn(move || {
        let mut kept = Vec::new();
        let mut decoder = Decoder::default();
        let mut extractor = Extractor::new(Options { keep_set_aside: true, ..Options::default() });
        while let Some(packet) = captures.next_packet().expect("reads") {
            let parsed = packet.decode(&mut decoder);
            let vlan = match &parsed {
                Ok(Parsed::Segment(segment)) => segment.vlan,
                _ => None,
            };
            kept.push(Kept {
                from: packet.from,
                vlan,
                tcp: matches!(parsed, Ok(Parsed::Segment(_))),
                bytes: packet.bytes.to_vec(),
                length: packet.wire_length,
            });
            extractor.begin(packet.time);
            if let Ok(Parsed::Segment(segment)) = parsed {
                extractor.handle_segment(packet.time, &segment);
            }
        }
        extractor.finish();
        let finished = std::iter::from_fn(|| extractor.poll_finished()).collect();
        (kept, finished, captures.inputs()[0].clone())
    });
    Running { stop, thread }
}

impl Running {
    fn end(self) -> (Vec<Kept>, Vec<Finished>, InputFacts) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("the capture")
    }
}

/// Every connection once, every byte once, nothing lost.
fn check(finished: &[Finished], facts: &InputFacts) {
    assert_eq!(finished.len() as u64, CONNECTIONS);
    for Finished { vector, .. } in finished {
        let bytes = [vector.bytes(Side::Initiator), vector.bytes(Side::Acceptor)];
        assert_eq!(bytes, [REQUEST, RESPONSE]);
        assert!(
            Side::BOTH.iter().all(|side| vector.ends[*side]
                .segments
                .is_some_and(|segments| segments.duplicates == 0 && segments.missing_bytes == 0)),
            "a packet was seen twice: {vector:?}"
        );
        assert!(vector.complete, "{vector:?}");
    }
    assert_eq!((facts.format, facts.drops, facts.went_down), (Format::Interface, Some(0), false));
}

#[test]
fn loopback_shows_every_packet_once() {
    in_own_network(|| {
        let running = capture("lo", LiveOptions::default());
        let listener = TcpListener::bind("127.0.0.1:0").expect("listens");
        let address = listener.local_addr().expect("an address");
        let server = thread::spawn(move || serve(&listener, CONNECTIONS));
        ask(address, CONNECTIONS);
        server.join().expect("the server");
        let counted = || {
            let sent = std::fs::read_to_string("/proc/thread-self/net/dev").expect("counters");
            let line = sent.lines().find_map(|line| line.trim().strip_prefix("lo:")).expect("lo");
            line.split_whitespace().nth(1).expect("received packets").parse::<usize>().expect("a number")
        };
        // The kernel may still be closing connections.
        let before = counted();
        let (kept, finished, facts) = running.end();
        check(&finished, &facts);
        let after = counted();
        assert!((before..=after).contains(&kept.len()), "{} kept, {before} to {after} counted", kept.len());
        assert!(kept.iter().all(|packet| packet.from.is_none()), "both ends are here");
        assert!(kept.iter().all(|packet| packet.bytes.len() <= 256 && packet.bytes.len() as u32 <= packet.length));
        assert!(kept.iter().any(|packet| packet.length > 1_000), "the length on the wire, not that captured");
    });
}

#[test]
fn a_link_between_two_hosts_has_directions() {
    let server = || serve(&TcpListener::bind("10.9.0.2:80").expect("listens"), CONNECTIONS);
    between_two_networks(
        || {
            let running = capture("near0", LiveOptions::default());
            ask("10.9.0.2:80".parse().expect("an address"), CONNECTIONS);
            let (kept, finished, facts) = running.end();
            // The server may have been late, and the first SYN refused.
            let finished: Vec<Finished> =
                finished.into_iter().filter(|one| one.vector.bytes(Side::Initiator) > 0).collect();
            check(&finished, &facts);
            assert!(finished.iter().all(|one| one.vector.initiator_side == LinkSide::Left), "asked from this host");
            let from = |side| kept.iter().filter(|packet| packet.from == Some(side)).count();
            assert!(from(LinkSide::Left) > 0 && from(LinkSide::Right) > 0);
        },
        server,
    );
}

/// A SYN in an Ethernet frame with these tags.
fn tagged_frame(tags: &[[u8; 4]]) -> Vec<u8> {
    let mut frame = vec![0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 1];
    frame.extend(tags.concat());
    frame.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 172, 16, 0, 1]);
    frame.extend([0x80, 0, 3, 255, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 1, 0, 0, 0, 0, 0]);
    frame
}

#[test]
fn the_tag_that_the_kernel_takes_out_is_put_back() {
    let frames = || {
        [tagged_frame(&[[0x81, 0, 0, 7]]), tagged_frame(&[[0x88, 0xa8, 0x20, 9], [0x81, 0, 0, 7]]), tagged_frame(&[])]
    };
    let (ready, wait) = mpsc::channel();
    let (sent, done) = mpsc::channel();
    between_two_networks(
        move || {
            let running = capture("near0", LiveOptions::default());
            ready.send(()).expect("the far end waits");
            done.recv().expect("sent");
            let kept: Vec<Kept> = running.end().0.into_iter().filter(|packet| packet.tcp).collect();
            let bytes: Vec<&[u8]> = kept.iter().map(|packet| &packet.bytes[..]).collect();
            assert_eq!(bytes, frames());
            assert!(kept.iter().all(|packet| packet.length as usize == packet.bytes.len()));
            let vlans: Vec<Option<Vlan>> = kept.iter().map(|packet| packet.vlan).collect();
            assert_eq!(vlans, [Vlan::new([7]), Vlan::new([9, 7]), None]);
        },
        move || {
            wait.recv().expect("the near end captures");
            let interfaces = nix::ifaddrs::getifaddrs().expect("interfaces");
            let address = interfaces
                .filter(|entry| entry.interface_name == "far0")
                .find_map(|entry| entry.address.and_then(|address| address.as_link_addr().copied()))
                .expect("far0");
            let (family, flags) = (AddressFamily::Packet, SockFlag::empty());
            let socket = socket::socket(family, SockType::Raw, flags, SockProtocol::EthAll).expect("a socket");
            socket::bind(socket.as_raw_fd(), &address).expect("binds");
            for frame in frames() {
                socket::send(socket.as_raw_fd(), &frame, MsgFlags::empty()).expect("sends");
            }
            sent.send(()).expect("the near end waits");
        },
    );
}

#[test]
fn what_the_kernel_lost_is_counted() {
    in_own_network(|| {
        const SENT: u64 = 5_000;
        // As small as the kernel allows, and no one reads.
        let options = LiveOptions { buffer_bytes: 1, ..LiveOptions::default() };
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let mut captures =
            Captures::live("lo", options, Box::new(move || asked.load(Ordering::Relaxed))).expect("captures");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let to = socket.local_addr().expect("an address");
        for _ in 0..SENT {
            socket.send_to(&[1; 100], to).expect("sends");
        }
        stop.store(true, Ordering::Relaxed);
        let mut packets = 0;
        while captures.next_packet().expect("reads").is_some() {
            packets += 1;
        }
        let lost = captures.inputs()[0].drops.expect("a count");
        assert!(packets < 100 && lost > SENT, "{packets} read, {lost} lost");
        // Each is offered twice on the loopback interface, as it leaves and as it arrives; only one copy is handed out.
        assert!(2 * SENT - lost >= packets, "{packets} read, {lost} lost of {SENT} sent");
    });
}

#[test]
fn an_interface_that_goes_down_ends_the_capture_and_keeps_what_was_read() {
    between_two_networks(
        || {
            let mut captures = Captures::live("near0", LiveOptions::default(), Box::new(|| false)).expect("captures");
            ask("10.9.0.2:80".parse().expect("an address"), CONNECTIONS);
            ip("link set near0 down");
            let mut packets = 0;
            while captures.next_packet().expect("no error").is_some() {
                packets += 1;
            }
            assert!(packets >= 7 * CONNECTIONS, "{packets}");
            assert!(captures.inputs()[0].went_down);
        },
        || serve(&TcpListener::bind("10.9.0.2:80").expect("listens"), CONNECTIONS),
    );
}

#[test]
fn parts_end_by_the_clock_and_lose_no_packet() {
    in_own_network(|| {
        let shown = Arc::new(AtomicU64::new(50));
        let part = |end: u64| {
            let clock = shown.clone();
            let at = |seconds| Time::ZERO + Duration::from_secs(seconds);
            let clock = Box::new(move || at(clock.load(Ordering::Relaxed)));
            Part { end: at(end), earliest: Time::ZERO, grace: Duration::from_secs(5), clock }
        };
        let stop = Arc::new(AtomicBool::new(false));
        let asked = stop.clone();
        let stops = Box::new(move || asked.load(Ordering::Relaxed));
        let mut captures = Captures::live("lo", LiveOptions::default(), stops).expect("captures");
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        let to = socket.local_addr().expect("an address");
        let send = |count: u64| (0..count).for_each(|_| assert!(socket.send_to(&[1; 100], to).is_ok()));
        // The time stamps of all packets are far behind the end; the clock of the part is not, as after it was set back.
        captures.begin_part(part(100));
        send(10);
        for _ in 0..10 {
            assert!(captures.next_packet().expect("reads").is_some());
        }
        shown.store(101, Ordering::Relaxed);
        send(5);
        assert!(captures.next_packet().expect("reads").is_none() && !captures.has_ended());
        assert!(captures.waiting().is_some_and(|time| time > Time::ZERO + Duration::from_secs(1_000_000_000)));
        assert_eq!((captures.inputs()[0].packets, captures.inputs()[0].drops), (10, Some(0)));
        // What waits is in the next part, which ends after its grace where nothing comes.
        captures.begin_part(part(104));
        for _ in 0..5 {
            assert!(captures.next_packet().expect("reads").is_some());
        }
        shown.store(110, Ordering::Relaxed);
        assert!(captures.next_packet().expect("reads").is_none() && !captures.has_ended());
        assert_eq!((captures.inputs()[0].packets, captures.waiting()), (5, None));
        captures.begin_part(part(1_000));
        send(3);
        stop.store(true, Ordering::Relaxed);
        let mut packets = 0;
        while captures.next_packet().expect("reads").is_some() {
            packets += 1;
        }
        assert!(captures.has_ended());
        assert_eq!(packets, 3);
    });
}

#[test]
fn it_ends_after_so_many_packets() {
    in_own_network(|| {
        let options = LiveOptions { most_packets: Some(10), ..LiveOptions::default() };
        let running = capture("lo", options);
        let socket = UdpSocket::bind("127.0.0.1:0").expect("binds");
        for _ in 0..100 {
            socket.send_to(&[1; 100], socket.local_addr().expect("an address")).expect("sends");
        }
        let (kept, _, _) = running.thread.join().expect("ends by itself");
        assert_eq!(kept.len(), 10);
    });
}

#[test]
fn interfaces_that_cannot_be_captured_from() {
    let open = |name: &str| Captures::live(name, LiveOptions::default(), Box::new(|| true)).err().expect("an error");
    let error = open("none0");
    assert!(matches!(&error.kind, CaptureErrorKind::NoInterface(known) if known.contains(&"lo".to_owned())), "{error}");
    assert!(error.to_string().starts_with("none0: there is no such network interface; there are "), "{error}");
    in_own_network(move || {
        ip("link add idle0 type veth peer name idle1");
        let error = Captures::live("idle0", LiveOptions::default(), Box::new(|| true)).err().expect("an error");
        assert_eq!(error.to_string(), "idle0: the network interface is down");
        assert!(error.hint().expect("a hint").contains("ip link set"));
    });
}
