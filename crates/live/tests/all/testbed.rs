//! A testbed on this host: what crosses it, how, and what stays behind. Needs root; without it these tests say that they did
//! nothing.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use crate::built;
use flowloom_core::workload::{IpVersion, LinkSide, PerSide};
use flowloom_live::addresses::{self, Addressing};
use flowloom_live::device::Device;
use flowloom_live::host::hosts::EmulatedHost as Host;
use flowloom_live::host::ipv6::NoIpv6;
use flowloom_live::host::namespace::Namespace;
use flowloom_live::host::netlink::Metrics;
use flowloom_live::host::sys;
use flowloom_live::host::testbed::{Choice, Kind, PathDevice, Testbed};
use flowloom_needs::{Need, skip};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn, SockaddrStorage, bind, connect, recv, socket,
};

const LEFT: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
const RIGHT: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);

/// A testbed of this kind; `None`, and a skip, if there can be none here.
fn testbed(kind: Kind) -> Option<(Testbed, [PathDevice; 2])> {
    built::testbed(&Choice { kind, ..Choice::default() })
}

/// What a forwarder saw.
#[derive(Default)]
struct Seen {
    stop: AtomicBool,
    packets: AtomicU64,
    longest: AtomicU64,
    strangers: AtomicU64,
    over_ipv6: AtomicU64,
}

impl Seen {
    fn note(&self, packet: &[u8]) {
        self.packets.fetch_add(1, Ordering::Relaxed);
        self.longest.fetch_max(packet.len() as u64, Ordering::Relaxed);
        // IPv6 addresses end as the IPv4 addresses that they stand for.
        let [from, to] = if packet[0] >> 4 == 6 { [20, 36] } else { [12, 16] };
        let address = |at: usize| Ipv4Addr::new(packet[at], packet[at + 1], packet[at + 2], packet[at + 3]);
        let ours = addresses::side_of(address(from)) != addresses::side_of(address(to));
        self.over_ipv6.fetch_add(u64::from(packet[0] >> 4 == 6), Ordering::Relaxed);
        self.strangers.fetch_add(u64::from(!ours), Ordering::Relaxed);
    }
}

/// Copies packets both ways until it is told to stop and nothing comes any more: kernels answer the end of a connection when whoever
/// used it is done.
fn forward(devices: &mut [PathDevice; 2], seen: &Seen) {
    let mut buffer = [0; 65_536];
    loop {
        let (stop, patience) = if seen.stop.load(Ordering::Relaxed) { (true, 250_u8) } else { (false, 50) };
        let mut ready = devices.each_ref().map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN));
        if poll(&mut ready, PollTimeout::from(patience)).unwrap() == 0 && stop {
            return;
        }
        for from in [0, 1] {
            for _ in 0..256 {
                let Some(length) = devices[from].read(&mut buffer).unwrap() else { break };
                seen.note(&buffer[..length]);
                assert!(devices[1 - from].write(&buffer[..length]).unwrap(), "there is room");
            }
        }
    }
}

/// Does `work` while packets cross; and says what crossed.
fn across<T>(testbed: &Testbed, devices: &mut [PathDevice; 2], work: impl FnOnce([&Namespace; 2]) -> T) -> (T, Seen) {
    let seen = Seen::default();
    let [left, right] = &testbed.namespaces;
    let done = thread::scope(|scope| {
        let forwarder = scope.spawn(|| forward(devices, &seen));
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work([left, right])));
        seen.stop.store(true, Ordering::Relaxed);
        forwarder.join().unwrap();
        done.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    });
    (done, seen)
}

/// A listener on the right that takes what `bytes` says from each of so many connections, one after the other.
fn sink(right: &Namespace, connections: usize, bytes: usize) -> thread::JoinHandle<Vec<Ipv4Addr>> {
    let listener = right.within(|| TcpListener::bind((Ipv4Addr::UNSPECIFIED, addresses::FIRST_PORT))).unwrap();
    thread::spawn(move || {
        let mut initiators = Vec::new();
        for _ in 0..connections {
            let (mut connection, from) = listener.accept().unwrap();
            let mut all = Vec::new();
            connection.read_to_end(&mut all).unwrap();
            assert_eq!(all.len(), bytes);
            let std::net::IpAddr::V4(from) = from.ip() else { panic!("{from}") };
            initiators.push(from);
        }
        initiators
    })
}

/// A TCP socket of the calling thread's namespace, bound to an address and no port.
fn socket_from(address: impl Into<IpAddr>) -> io::Result<OwnedFd> {
    let address = address.into();
    let family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    let socket = socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    sys::set_bind_address_no_port(&socket)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::new(address, 0)))?;
    Ok(socket)
}

/// A connection between these addresses, which carries so many bytes.
fn carries(asking: &Namespace, asked: &Namespace, [from, to]: [IpAddr; 2], bytes: usize) {
    let to = SocketAddr::new(to, addresses::FIRST_PORT);
    let listener = asked.within(|| {
        let any: IpAddr = if from.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        TcpListener::bind((any, to.port()))
    });
    let connected = asking.within(|| {
        let socket = socket_from(from)?;
        connect(socket.as_raw_fd(), &SockaddrStorage::from(to))?;
        Ok::<_, io::Error>(TcpStream::from(socket))
    });
    let mut connected = connected.unwrap();
    let (mut accepted, peer) = listener.unwrap().accept().unwrap();
    assert_eq!((peer.ip(), accepted.local_addr().unwrap().ip()), (from, to.ip()));
    thread::scope(|scope| {
        scope.spawn(move || connected.write_all(&vec![1; bytes]).unwrap());
        let mut received = Vec::new();
        accepted.read_to_end(&mut received).unwrap();
        assert_eq!(received.len(), bytes);
    });
}

/// Whether connections run over IPv6 in a testbed; a skip where the kernel has none.
fn has_ipv6(testbed: &Testbed) -> bool {
    testbed.no_ipv6.iter().for_each(|why| eprintln!("no IPv6: {why}"));
    testbed.no_ipv6.is_none()
}

#[test]
fn ipv6_crosses_in_whole_packets_and_nothing_with_it() {
    for kind in [Kind::Tun, Kind::PacketSocket] {
        let Some((mut testbed, mut devices)) = testbed(kind).filter(|(testbed, _)| has_ipv6(testbed)) else { continue };
        let ((), seen) = across(&testbed, &mut devices, |[left, right]| {
            let (from, to) = addresses::of_connection(70_000, LinkSide::Left);
            carries(left, right, [from, to].map(|address| addresses::ipv6_of(address).into()), 3_000_000);
            // Whatever is not one of the two networks is nowhere.
            let out = left.within(|| {
                socket_from(addresses::ipv6_of(from)).map(|socket| {
                    let other: SocketAddr = "[2001:db8::1]:9".parse().unwrap();
                    connect(socket.as_raw_fd(), &SockaddrStorage::from(other)).unwrap_err()
                })
            });
            assert_eq!(out.unwrap(), Errno::ENETUNREACH);
        });
        let (packets, over_ipv6) = (seen.packets.into_inner(), seen.over_ipv6.into_inner());
        assert!(packets == over_ipv6 && packets > 3_000_000 / 1_440, "{kind:?}: {over_ipv6} of {packets}");
        assert_eq!((seen.longest.into_inner(), seen.strangers.into_inner()), (1_500, 0), "{kind:?}");
        let counters = testbed.counters().unwrap();
        for side in &counters.sides {
            assert_eq!((side.device.drops(), side.reader_drops, side.kernel.bad_segments), (0, 0, 0), "{side:?}");
        }
    }
}

#[test]
fn a_namespace_that_stays_without_ipv6_says_so() {
    let stays = (vec![("net/ipv6/conf/all/disable_ipv6", "1")], Metrics::default());
    let settings = postcard::from_bytes(&postcard::to_stdvec(&stays).unwrap()).unwrap();
    let Some((testbed, mut devices)) = built::testbed(&Choice { settings, hosts: 1, ..Choice::default() }) else {
        return;
    };
    if testbed.no_ipv6 == Some(NoIpv6::Kernel) {
        return;
    }
    let key = "conf.all.disable_ipv6";
    assert_eq!(testbed.no_ipv6, Some(NoIpv6::Setting { key, value: "1".to_owned() }));
    let ((), seen) = across(&testbed, &mut devices, |[left, right]| {
        let (from, to) = addresses::of_connection(7, LinkSide::Left);
        carries(left, right, [from.into(), to.into()], 10_000);
    });
    assert_eq!(seen.over_ipv6.into_inner(), 0);
}

fn bulk_and_datagrams(kind: Kind) {
    let Some((mut testbed, mut devices)) = testbed(kind) else { return };
    for warning in &testbed.warnings {
        eprintln!("{kind:?}: {warning}");
    }
    const BYTES: usize = 20_000_000;
    let ((), seen) = across(&testbed, &mut devices, |[left, right]| {
        let sink = sink(right, 1, BYTES);
        let mut connection = left.within(|| TcpStream::connect((RIGHT, addresses::FIRST_PORT))).unwrap();
        connection.write_all(&vec![7; BYTES]).unwrap();
        drop(connection);
        assert_eq!(sink.join().unwrap(), [LEFT], "the side's own address is what it sends from");

        let there = right.within(|| UdpSocket::bind((RIGHT, 9))).unwrap();
        let here = left.within(|| UdpSocket::bind((LEFT, 0))).unwrap();
        here.send_to(b"datagram", (RIGHT, 9)).unwrap();
        let mut buffer = [0; 100];
        let (length, from) = there.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..length], from), (&b"datagram"[..], here.local_addr().unwrap()));
    });
    let (packets, longest) = (seen.packets.into_inner(), seen.longest.into_inner());
    assert!(packets > (BYTES / 1_460) as u64, "{packets} packets");
    assert_eq!(longest, 1_500, "full packets and none longer: nothing merges or cuts them on the way");
    assert_eq!(seen.strangers.into_inner(), 0);
    let counters = testbed.counters().unwrap();
    let [left, right] = &counters.sides[..] else { panic!("{counters:?}") };
    assert_eq!(left.device.sent_packets + right.device.sent_packets, packets);
    for side in &counters.sides {
        assert_eq!((side.device.sent_drops, side.device.received_drops, side.reader_drops), (0, 0, 0), "{side:?}");
        assert_eq!((side.kernel.listen_drops, side.kernel.bad_segments), (0, 0), "{side:?}");
    }
    assert!(left.kernel.sent_segments > 0 && right.kernel.received_segments > 0);
    assert_eq!(testbed.provenance.settings["net.ipv4.ip_local_port_range"], "10000 65535");
}

#[test]
fn bulk_and_datagrams_cross_tun_devices_in_whole_packets() {
    bulk_and_datagrams(Kind::Tun);
}

#[test]
fn bulk_and_datagrams_cross_packet_sockets_in_whole_packets() {
    bulk_and_datagrams(Kind::PacketSocket);
}

#[test]
fn a_side_has_thousands_of_addresses() {
    let Some((testbed, mut devices)) = testbed(Kind::Auto) else { return };
    const CONNECTIONS: u32 = 2_000;
    let (ports, _) = across(&testbed, &mut devices, |[left, right]| {
        let any = (Ipv4Addr::UNSPECIFIED, addresses::FIRST_PORT);
        let listener = right.within(|| TcpListener::bind(any)).unwrap();
        let connections = left.within(|| -> io::Result<Vec<(OwnedFd, TcpStream)>> {
            let connect_one = |serial| {
                // Both ends far apart: every address of a side is one of its own.
                let (from, to) = addresses::of_connection(serial * 32_003, LinkSide::Left);
                let socket = socket_from(from)?;
                connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(to, addresses::FIRST_PORT)))?;
                let (accepted, peer) = listener.accept()?;
                assert_eq!((peer.ip(), accepted.local_addr()?.ip()), (from.into(), to.into()));
                assert!(peer.port() >= addresses::FIRST_EPHEMERAL_PORT);
                Ok((socket, accepted))
            };
            (0..CONNECTIONS).map(connect_one).collect()
        });
        connections.unwrap().iter().map(|(_, accepted)| accepted.peer_addr().unwrap().port()).collect::<BTreeSet<_>>()
    });
    assert!(ports.len() > 1_000, "ports are chosen per connection: {}", ports.len());
}

/// Counts packets of the testbed's addresses that any device of the host sees.
struct Watch(OwnedFd);

impl Watch {
    fn begin() -> io::Result<Watch> {
        let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
        let socket = socket(AddressFamily::Packet, SockType::Datagram, flags, None)?;
        const ALL_PROTOCOLS: u16 = 3;
        sys::bind_packet_socket(&socket, 0, ALL_PROTOCOLS)?;
        Ok(Watch(socket))
    }

    fn orphans(&self) -> usize {
        let mut buffer = [0; 2_048];
        let mut orphans = 0;
        while let Ok(length) = recv(self.0.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
            let packet = &buffer[..length];
            let ours = |at: usize| packet.get(at..at + 2).is_some_and(|bytes| matches!(bytes, [198, 18 | 19]));
            orphans += usize::from(packet[0] >> 4 == 4 && (ours(12) || ours(16)));
        }
        orphans
    }
}

/// The namespaces that any thread of any process is in, or holds.
fn held_namespaces() -> BTreeSet<String> {
    let links = |folder: std::path::PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| fs::read_link(entry.path()).ok()).collect::<Vec<_>>()
    };
    let mut held = BTreeSet::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        for task in fs::read_dir(process.path().join("task")).into_iter().flatten().flatten() {
            for link in links(task.path().join("ns")).into_iter().chain(links(task.path().join("fd"))) {
                held.insert(link.to_string_lossy().into_owned());
            }
        }
    }
    held
}

#[test]
fn nothing_leaves_and_nothing_stays() {
    for kind in [Kind::Tun, Kind::PacketSocket] {
        let Some((testbed, mut devices)) = testbed(kind) else { continue };
        let watch = Watch::begin().unwrap();
        let names = testbed.namespaces.each_ref().map(|namespace| format!("net:[{}]", namespace.inode()));
        assert!(names.iter().all(|name| held_namespaces().contains(name)));
        let (refused, seen) = across(&testbed, &mut devices, |[left, right]| {
            let sink = sink(right, 1, 100_000);
            let mut connection = left.within(|| TcpStream::connect((RIGHT, addresses::FIRST_PORT))).unwrap();
            connection.write_all(&[1; 100_000]).unwrap();
            drop(connection);
            sink.join().unwrap();
            // Whatever is not one of the two networks is nowhere.
            [[198, 20, 0, 1], [10, 0, 0, 1], [8, 8, 8, 8]].map(|other| {
                left.within(|| UdpSocket::bind((LEFT, 0))?.send_to(b"out", (Ipv4Addr::from(other), 9))).is_err()
            })
        });
        assert_eq!(refused, [true; 3], "there is no route");
        assert!(seen.packets.into_inner() > 60);
        assert_eq!(watch.orphans(), 0, "a device of the host saw packets of the testbed");
        drop((testbed, devices));
        // A process that another test starts has a copy of all descriptors until it is another program.
        let gone = || names.iter().all(|name| !held_namespaces().contains(name));
        assert!((0..100).any(|_| gone() || poll(&mut [], PollTimeout::from(20_u8)).is_err()), "{names:?}");
        let devices = fs::read_to_string("/proc/net/dev").unwrap();
        assert!(!devices.contains("path:"), "{devices}");
        assert!(!fs::read_to_string("/proc/net/route").unwrap().contains("12C6"), "a route to 198.18.0.0/16");
    }
}

/// Set in the process that [`a_process_that_is_killed_leaves_nothing`] kills.
const HOLDS: &str = "FLOWLOOM_TEST_HOLDS_A_TESTBED";

#[test]
fn a_process_that_is_killed_leaves_nothing() {
    if std::env::var_os(HOLDS).is_some() {
        if let Some((testbed, _devices)) = testbed(Kind::Auto) {
            testbed.namespaces.iter().for_each(|namespace| println!("net:[{}]", namespace.inode()));
            let _ = io::stdin().read(&mut [0]);
        }
        return;
    }
    let this = std::env::current_exe().unwrap();
    let mut child = Command::new(this)
        .args(["--exact", "testbed::a_process_that_is_killed_leaves_nothing", "--nocapture"])
        .env(HOLDS, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // The first may stand behind the name of the test.
    let name = |line: String| line.find("net:[").map(|at| line[at..].to_owned());
    let names: Vec<String> = lines.filter_map(name).take(2).collect();
    assert!(names.len() == 2 || !built::can_be_made(), "{names:?}");
    if names.len() == 2 {
        assert!(names.iter().all(|name| held_namespaces().contains(name)));
        child.kill().unwrap();
    }
    child.wait().unwrap();
    assert!(names.iter().all(|name| !held_namespaces().contains(name)), "{names:?}");
}

#[test]
fn a_device_that_is_gone_is_an_error() {
    for kind in [Kind::Tun, Kind::PacketSocket] {
        let Some((mut testbed, mut devices)) = testbed(kind) else { continue };
        let [left, _] = &testbed.namespaces;
        let removed = left.within(|| Command::new("ip").args(["link", "delete", "path"]).status());
        if !removed.is_ok_and(|status| status.success()) {
            return skip("live: device that is gone", Need::IP);
        }
        assert!(testbed.counters().is_err(), "{kind:?}");
        assert!(devices[0].write(&[0x45; 40]).is_err(), "{kind:?}");
        assert!((0..2).any(|_| devices[0].read(&mut [0; 2_048]).is_err()), "{kind:?}");
    }
}

#[test]
fn connections_on_hosts_have_addresses_of_their_blocks() {
    let addressing = Addressing::over(3);
    let choice = Choice { hosts: 4, addressing, ..Choice::default() };
    let Some((mut testbed, mut devices)) = built::testbed(&choice) else { return };
    let before = testbed.counters().unwrap();
    let both = [IpVersion::V4, IpVersion::V6];
    let versions = if has_ipv6(&testbed) { &both[..] } else { &both[..1] };
    let [left, right] = &testbed.hosts;
    let ((), seen) = across(&testbed, &mut devices, |_| {
        for serial in [0, 1, 8, 100_000] {
            let on = addressing.hosts(serial, PerSide::default());
            let (initiator, acceptor) = addressing.of_connection(serial, LinkSide::Right, on);
            let (asking, asked) = (&right[usize::from(on.initiator)], &left[usize::from(on.acceptor)]);
            for version in versions {
                let ends = [initiator, acceptor].map(|address| addresses::in_version(*version, address));
                carries(&asking.namespace, &asked.namespace, ends, 10_000);
            }
        }
    });
    assert!(seen.packets.into_inner() > 60);
    assert_eq!((seen.over_ipv6.into_inner() > 60, seen.strangers.into_inner()), (versions.len() == 2, 0));
    let after = testbed.counters().unwrap();
    for (before, after) in before.sides.iter().zip(&after.sides) {
        assert!(after.kernel.sent_segments >= before.kernel.sent_segments + 16, "those of hosts count");
        assert_eq!(after.host_drops, before.host_drops);
    }
}

#[test]
fn hosts_of_a_side_reach_each_other_and_the_other_side() {
    let choice = Choice { hosts: 60, ..Choice::default() };
    let Some((testbed, mut devices)) = built::testbed(&choice) else { return };
    let [left, right] = &testbed.hosts;
    assert_eq!((left.len(), right.len()), (60, 60));
    let inodes: BTreeSet<u64> = left.iter().chain(right).map(|host| host.namespace.inode()).collect();
    assert_eq!(inodes.len(), 120);
    let ask = |from: &Host, to: &Host| {
        let listener = to.namespace.within(|| TcpListener::bind((to.address, 80))).unwrap();
        let mut asking = from.namespace.within(|| TcpStream::connect((to.address, 80))).unwrap();
        let (mut answering, peer) = listener.accept().unwrap();
        assert_eq!(peer.ip(), from.address);
        let sent = thread::spawn(move || asking.write_all(&[1; 300_000]));
        let mut received = Vec::new();
        answering.read_to_end(&mut received).unwrap();
        sent.join().unwrap().unwrap();
        assert_eq!(received.len(), 300_000);
    };
    let ((), seen) = across(&testbed, &mut devices, |_| {
        ask(&left[0], &right[59]);
        ask(&right[7], &left[33]);
    });
    assert!(seen.packets.into_inner() > 400);
    assert_eq!((seen.longest.into_inner(), seen.strangers.into_inner()), (1_500, 0));
    // What stays on a side does not cross.
    let ((), seen) = across(&testbed, &mut devices, |_| ask(&left[1], &left[2]));
    let packets = seen.packets.into_inner();
    // Its data alone are 206 packets; the connections before may still have some to acknowledge on a busy machine.
    assert!(packets < 100, "{packets}: the last acknowledgements of the connections before, and no more");
    // The workload's connections are the side's, with hosts as without.
    let (taken, _) = across(&testbed, &mut devices, |[left, right]| {
        let sink = sink(right, 1, 5);
        let mut connection = left.within(|| TcpStream::connect((RIGHT, addresses::FIRST_PORT))).unwrap();
        connection.write_all(b"hello").unwrap();
        drop(connection);
        sink.join().unwrap()
    });
    assert_eq!(taken, [LEFT]);
}
