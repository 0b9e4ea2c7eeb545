//! A host that is a path: what passes between hosts in namespaces of their own meets the rate, delay, queue and losses that were asked
//! for, whatever it is, and nothing is left of the path afterwards.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::thread;
use std::time::Duration as Wait;

use flowloom_core::time::{Duration, Time};
use flowloom_lab::leaves::{Carrying, Order, PathResults, Todo};
use flowloom_lab::script::leaf::Tool;
use flowloom_lab::script::parser::{self, Mode};
use flowloom_lab::script::place::Files;
use flowloom_live::clock::Clock;
use flowloom_live::host::namespace::Namespace;
use flowloom_needs::{Need, skip};

/// left - (eth1) router (eth2) - right
struct Hosts {
    left: Namespace,
    router: Namespace,
    right: Namespace,
}

fn ip(of: &Namespace, arguments: &str) {
    let done: io::Result<()> = of.within(|| {
        let status = Command::new("ip").args(arguments.split(' ')).status()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(arguments.to_owned())) }
    });
    done.unwrap();
}

impl Hosts {
    fn new() -> Option<Hosts> {
        if !nix::unistd::geteuid().is_root() {
            skip("lab: path leaves", Need::ROOT);
            return None;
        }
        let make = || Namespace::new().unwrap();
        let hosts = Hosts { left: make(), router: make(), right: make() };
        for (host, port, address) in [(&hosts.left, "eth1", 1), (&hosts.right, "eth2", 2)] {
            let router = format!(
                "/proc/{}/fd/{}",
                std::process::id(),
                std::os::fd::AsRawFd::as_raw_fd(&std::os::fd::AsFd::as_fd(&hosts.router))
            );
            ip(host, &format!("link add eth0 type veth peer name {port} netns {router}"));
            ip(host, "link set lo up");
            // Segments are cut by the sender, as a path takes them.
            ip(host, "link set eth0 gso_max_segs 1 up");
            ip(host, &format!("address add 10.7.0.{address}/24 dev eth0"));
            ip(host, &format!("address add fd07::{address}/64 dev eth0 nodad"));
            ip(&hosts.router, &format!("link set {port} up"));
        }
        Some(hosts)
    }

    /// While `work` is done in both hosts, the router is a path with these parameters.
    fn across<T>(&self, parameters: &str, work: impl FnOnce(&Hosts) -> T) -> (T, PathResults, String) {
        let text = format!("path r {{ left = eth1; right = eth2; duration = 20; {parameters} }}");
        let mut files = Files::new();
        let file = files.add("a.ns", &text, None);
        let (body, _) = parser::script(&files, file, Mode::Strict);
        let Some((Some(Tool::Path(asked)), _)) = Tool::read(body.blocks().next().unwrap()) else { panic!("{text}") };
        /// Ends the path, also if a test fails.
        struct Ends(Arc<Order>);
        impl Drop for Ends {
            fn drop(&mut self) {
                self.0.give(Todo::Finish);
            }
        }
        let order = Arc::new(Order::new());
        thread::scope(|scope| {
            let ends = Ends(Arc::clone(&order));
            let told = Arc::clone(&order);
            let (ready, is_ready) = std::sync::mpsc::channel();
            let router = scope.spawn(move || {
                self.router.enter().unwrap();
                let (path, said) = Carrying::open(&asked).unwrap();
                assert_eq!(said, "");
                ready.send(()).unwrap();
                path.carry(&Clock::starting_in(Duration::ZERO), &told).unwrap()
            });
            is_ready.recv().unwrap();
            let done = work(self);
            drop(ends);
            let carried = router.join().unwrap();
            let mut report = carried.report((Time::ZERO, Time::MAX), &std::env::temp_dir()).unwrap();
            let mut bytes = Vec::new();
            report.write(&mut bytes).unwrap();
            let text = String::from_utf8(bytes).unwrap();
            let (line, table) = text.split_once('\n').unwrap();
            let results = serde_json::from_str::<serde_json::Value>(line).unwrap()["results"].clone();
            let results: PathResults = serde_json::from_value(results).unwrap();
            assert_eq!((results.unaccounted, results.failure.as_deref()), (0, None));
            for direction in [&results.from_left, &results.from_right] {
                let gone = direction.lost + direction.dropped + direction.malformed;
                let accounted = direction.sent + gone + direction.in_flight + direction.unsent;
                assert_eq!(direction.came + direction.duplicated, accounted, "{direction:?}");
                assert_eq!(direction.dropped, direction.dropped_by_reason.iter().map(|(_, count)| count).sum::<u64>());
            }
            (done, results, table.to_owned())
        })
    }
}

fn udp(host: &Namespace, address: SocketAddr) -> UdpSocket {
    let socket: io::Result<UdpSocket> = host.within(|| UdpSocket::bind(address));
    let socket = socket.unwrap();
    socket.set_read_timeout(Some(Wait::from_secs(5))).unwrap();
    socket
}

fn v4(host: u8, port: u16) -> SocketAddr {
    SocketAddr::from(([10, 7, 0, host], port))
}

fn v6(host: u16, port: u16) -> SocketAddr {
    SocketAddr::from((Ipv6Addr::new(0xfd07, 0, 0, 0, 0, 0, 0, host), port))
}

/// Sends to itself and back: how long that takes, at the least of some times.
fn round_trip(left: &UdpSocket, right: &UdpSocket) -> Duration {
    let mut least = Duration::MAX;
    let mut bytes = [0; 100];
    for _ in 0..5 {
        let clock = Clock::starting_in(Duration::ZERO);
        left.send_to(&[7; 100], right.local_addr().unwrap()).unwrap();
        let (length, from) = right.recv_from(&mut bytes).unwrap();
        right.send_to(&bytes[..length], from).unwrap();
        assert_eq!(left.recv(&mut bytes).unwrap(), 100);
        least = least.min(clock.now().since(Time::ZERO));
    }
    least
}

#[expect(clippy::disallowed_methods, reason = "the kernel does in real time what is waited for")]
fn wait(milliseconds: u64) {
    std::thread::sleep(std::time::Duration::from_millis(milliseconds));
}

#[test]
fn packets_of_any_kind_meet_delay() {
    let Some(hosts) = Hosts::new() else { return };
    let (least, results, _) = hosts.across("rate = 100M; delay = \"20ms\";", |hosts| {
        // Addresses are asked for (ARP, neighbour discovery) across the path as well.
        let of_ipv4 = round_trip(&udp(&hosts.left, v4(1, 4_000)), &udp(&hosts.right, v4(2, 4_000)));
        let of_ipv6 = round_trip(&udp(&hosts.left, v6(1, 4_000)), &udp(&hosts.right, v6(2, 4_000)));
        [of_ipv4, of_ipv6]
    });
    for least in least {
        assert!(least >= Duration::from_millis(40), "{least:?}");
    }
    assert_eq!((results.from_left.dropped, results.from_right.dropped), (0, 0), "{results:?}");
    let is_as_it_was = || {
        let told: io::Result<String> = hosts.router.within(|| {
            let told = Command::new("ip").args(["-d", "link", "show", "eth1"]).output()?;
            Ok(String::from_utf8_lossy(&told.stdout).into_owned())
        });
        told.unwrap().contains("promiscuity 0")
    };
    // The kernel lets go of a socket when it comes to it.
    let soon = (0..50).any(|_| {
        let is_over = is_as_it_was();
        if !is_over {
            wait(100);
        }
        is_over
    });
    assert!(soon, "the interface is as it was");
}

/// How many of 50 datagrams of 1,208 bytes come that the left host sends at once.
fn came_of_fifty(hosts: &Hosts, port: u16) -> u64 {
    let (left, right) = (udp(&hosts.left, v4(1, port)), udp(&hosts.right, v4(2, port)));
    round_trip(&left, &right);
    (0..50).for_each(|_| assert!(left.send_to(&[0; 1_208], v4(2, port)).is_ok()));
    right.set_read_timeout(Some(Wait::from_millis(500))).unwrap();
    let mut bytes = [0; 2_000];
    (0..).take_while(|_| right.recv(&mut bytes).is_ok()).count() as u64
}

#[test]
fn a_queue_that_is_full_drops_the_rest() {
    let Some(hosts) = Hosts::new() else { return };
    // 50 of 1,250 bytes at once: one is sent, ten wait, and each takes 10 ms; a few more find room while they come.
    let (came, results, table) =
        hosts.across("rate = 1M; queue = drop-tail(limit = 10);", |hosts| came_of_fifty(hosts, 4_001));
    assert!((11..=14).contains(&came), "{came}");
    // Beside them hosts ask and tell of themselves now and then (neighbour discovery), which may find the queue full as well.
    let dropped = results.from_left.dropped;
    assert!((50 - came..=55 - came).contains(&dropped), "{dropped} of which {}", 50 - came);
    assert_eq!(results.from_left.dropped_by_reason, [("queue-full".to_owned(), dropped)]);
    assert_eq!(results.from_left.queue_max_packets, 10);
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|row| row.split(',').collect()).collect();
    let told: u64 = rows.iter().filter(|row| row[1] == "left").map(|row| row[6].parse::<u64>().unwrap()).sum();
    assert_eq!(told, dropped, "{table}");
    let carried: u64 = rows.iter().filter(|row| row[1] == "left").map(|row| row[4].parse::<u64>().unwrap()).sum();
    // The table is of the run, the counts are from open to close: hosts may have told of themselves before it or after, and what the
    // link has carried at the end may not be on its way yet.
    let sent = results.from_left.sent;
    assert!(sent.abs_diff(carried) <= 5, "{sent}: {table}");
}

/// Cells of AAL5: a datagram of 1,208 bytes is 1,236 of IP, which with a trailer of 8 take 26 cells of 53 bytes.
#[test]
fn frames_cross_in_cells() {
    let Some(hosts) = Hosts::new() else { return };
    // 50 at once: the cells of one and ten more find room, and a few of others while they leave, 11 ms each.
    let (came, results, _) =
        hosts.across("rate = 1M; cells = table(buffer = 260, discard = partial);", |hosts| came_of_fifty(hosts, 4_004));
    for direction in [&results.from_left, &results.from_right] {
        let cells = direction.cells.unwrap();
        assert_eq!(cells.cut, cells.sent + cells.lost() + cells.waiting(), "{cells:?}");
        // Frames that passed are sent, or were on their way at the end.
        let most = direction.sent + direction.in_flight + direction.unsent;
        assert!((direction.sent..=most).contains(&cells.whole), "{direction:?}");
        assert_eq!(cells.line_bytes, 53 * cells.sent);
    }
    let cells = results.from_left.cells.unwrap();
    assert!((8..=14).contains(&came) && cells.whole >= came, "{came} {cells:?}");
    assert!(cells.full > 0 && cells.rest > 0 && cells.cut >= 50 * 26, "{cells:?}");
    let reasons: Vec<&str> = results.from_left.dropped_by_reason.iter().map(|(reason, _)| reason.as_str()).collect();
    assert!(reasons.contains(&"queue-full") && !reasons.contains(&"early"), "{reasons:?}");
}

#[test]
fn a_stream_is_as_fast_as_the_link_and_whole() {
    let Some(hosts) = Hosts::new() else { return };
    const BYTES: usize = 2_000_000;
    let (took, results, _) =
        hosts.across("rate = 20M; delay = 2000; queue = drop-tail(limit = 50); loss = 0.005;", |hosts| {
            let listener: io::Result<TcpListener> = hosts.right.within(|| TcpListener::bind(v4(2, 4_002)));
            let listener = listener.unwrap();
            let client: io::Result<TcpStream> = hosts.left.within(|| TcpStream::connect(v4(2, 4_002)));
            let (mut client, (mut server, _)) = (client.unwrap(), listener.accept().unwrap());
            let clock = Clock::starting_in(Duration::ZERO);
            thread::scope(|scope| {
                scope.spawn(move || {
                    let bytes: Vec<u8> = (0..BYTES).map(|at| ((at * 31) >> 3) as u8).collect();
                    client.write_all(&bytes).unwrap();
                });
                let mut all = Vec::new();
                server.read_to_end(&mut all).unwrap();
                assert_eq!(all.len(), BYTES);
                assert!(all.iter().enumerate().all(|(at, byte)| *byte == ((at * 31) >> 3) as u8));
            });
            clock.now().since(Time::ZERO)
        });
    // 2 MB take 0.8 s without headers and losses.
    assert!(took >= Duration::from_millis(800), "{took:?}");
    assert!(results.from_left.lost > 0, "{results:?}");
    assert_eq!(results.from_left.refused, Default::default());
}

#[test]
fn frames_that_nobody_cut_are_counted_and_not_carried() {
    let Some(hosts) = Hosts::new() else { return };
    ip(&hosts.left, "link set eth0 gso_max_segs 64");
    // However slow the handshake made the connection look.
    hosts.left.within(|| fs::write("/proc/sys/net/ipv4/tcp_min_tso_segs", "10")).unwrap();
    let ((), results, _) = hosts.across("rate = 100M;", |hosts| {
        let listener: io::Result<TcpListener> = hosts.right.within(|| TcpListener::bind(v4(2, 4_003)));
        let listener = listener.unwrap();
        let client: io::Result<TcpStream> = hosts.left.within(|| TcpStream::connect(v4(2, 4_003)));
        let (mut client, (mut server, _)) = (client.unwrap(), listener.accept().unwrap());
        client.write_all(&[0; 20_000]).unwrap();
        // What is sent again goes a segment at a time, and comes.
        server.set_read_timeout(Some(Wait::from_secs(5))).unwrap();
        assert!(server.read(&mut [0; 10]).unwrap() > 0);
    });
    assert!(results.from_left.refused.merged > 0, "{results:?}");
}

#[test]
fn what_cannot_be_had_is_said() {
    let Some(hosts) = Hosts::new() else { return };
    let text = "path r { left = eth1; right = eth9; duration = 1; rate = 1M; }";
    let mut files = Files::new();
    let file = files.add("a.ns", text, None);
    let (body, _) = parser::script(&files, file, Mode::Strict);
    let Some((Some(Tool::Path(asked)), _)) = Tool::read(body.blocks().next().unwrap()) else { panic!("{text}") };
    let refused: io::Result<String> = hosts.router.within(|| Ok(Carrying::open(&asked).unwrap_err().to_string()));
    let refused = refused.unwrap();
    assert!(refused.starts_with("eth9: "), "{refused}");
    ip(&hosts.router, "link set eth2 down");
    let asked = flowloom_lab::script::leaf::Path { interfaces: ["eth1".into(), "eth2".into()], ..*asked };
    let refused: io::Result<String> = hosts.router.within(|| Ok(Carrying::open(&asked).unwrap_err().to_string()));
    assert!(refused.unwrap().starts_with("eth2: network down"), "down");
}
