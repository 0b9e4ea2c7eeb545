//! Whether a kernel does what `[tcp]` says: looked at on the wire. Needs root, else says that it did nothing.

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::thread;

use crate::built;
use flowloom_core::tcp::{Config, EcnEcho, InitialWindow, Profile, RtoConfig, Sack};
use flowloom_core::time::{Duration, Time};
use flowloom_live::addresses;
use flowloom_live::clock::Clock;
use flowloom_live::device::Device;
use flowloom_live::host::settings::Settings;
use flowloom_live::host::testbed::{Choice, PathDevice, Testbed};
use flowloom_sim::Class;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::TcpMaxSeg;

const RIGHT: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);

/// A connection across a path that this test carries packet by packet.
struct Connection {
    _testbed: Testbed,
    devices: [PathDevice; 2],
    initiator: TcpStream,
    acceptor: TcpStream,
    /// The SYN, from its TCP header on.
    syn: Vec<u8>,
    /// Its answer, the same.
    answer: Vec<u8>,
}

/// Establishes one between kernels with this TCP; `None` where there can be no testbed.
fn connection(tcp: Config) -> Option<Connection> {
    connection_of(tcp, None)
}

/// The same, with segments no longer than these.
fn connection_of(tcp: Config, mss: Option<u32>) -> Option<Connection> {
    let (settings, _) = Settings::from_classes(&[Class { tcp, ..Class::default() }]).unwrap();
    let (testbed, mut devices) = built::testbed(&Choice { settings, ..Choice::default() })?;
    assert!(!testbed.warnings.iter().any(|warning| warning.to_string().contains("tcp_sack")));
    let [left, right] = &testbed.namespaces;
    let listener = right.within(|| TcpListener::bind((RIGHT, addresses::FIRST_PORT))).unwrap();
    if let Some(mss) = mss {
        setsockopt(&listener, TcpMaxSeg, &mss).unwrap();
    }
    let mut first: [Option<Vec<u8>>; 2] = [None, None];
    let initiator = thread::scope(|scope| {
        let connecting = scope.spawn(|| left.within(|| TcpStream::connect((RIGHT, addresses::FIRST_PORT))));
        while !connecting.is_finished() {
            for from in [0, 1] {
                for packet in waiting(&mut devices[from]) {
                    first[from].get_or_insert_with(|| packet[20..].to_vec());
                    assert!(devices[1 - from].write(&packet).unwrap());
                }
            }
            wait(&devices);
        }
        connecting.join().unwrap().unwrap()
    });
    // The last acknowledgement of the handshake.
    for packet in waiting(&mut devices[0]) {
        assert!(devices[1].write(&packet).unwrap());
    }
    let acceptor = listener.accept().unwrap().0;
    let [syn, answer] = first.map(Option::unwrap);
    Some(Connection { _testbed: testbed, devices, initiator, acceptor, syn, answer })
}

/// The packets that a device has for its reader now.
fn waiting(device: &mut PathDevice) -> Vec<Vec<u8>> {
    let mut buffer = [0; 2_048];
    let mut packets = Vec::new();
    while let Some(length) = device.read(&mut buffer).unwrap() {
        packets.push(buffer[..length].to_vec());
    }
    packets
}

/// Waits for a packet, and not for long.
fn wait(devices: &[PathDevice; 2]) {
    let mut ready = devices.each_ref().map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN));
    poll(&mut ready, PollTimeout::from(20_u8)).unwrap();
}

impl Connection {
    /// Sequence numbers of what the initiator sends of `bytes` before anything is acknowledged, until `enough` says so.
    fn unanswered(&mut self, bytes: usize, mut enough: impl FnMut(&[u32]) -> bool) -> Vec<u32> {
        self.initiator.set_nonblocking(true).unwrap();
        assert!(self.initiator.write(&vec![1; bytes]).unwrap() > 0);
        let mut sent = Vec::new();
        while !enough(&sent) {
            wait(&self.devices);
            for packet in waiting(&mut self.devices[0]) {
                let (header, data) = (&packet[20..], packet.len() - 20 - usize::from(packet[32] >> 4) * 4);
                if data > 0 {
                    sent.push(u32::from_be_bytes([header[4], header[5], header[6], header[7]]));
                }
            }
        }
        sent
    }
}

const WINDOW_SCALE: u8 = 3;

/// The options of a TCP header, each its kind and what it says. One by one, because a timestamp may be of any bytes.
fn options(header: &[u8]) -> Vec<(u8, &[u8])> {
    let mut rest = &header[20..usize::from(header[12] >> 4) * 4];
    let mut options = Vec::new();
    while let [kind, after @ ..] = rest {
        rest = match kind {
            0 => break,
            1 => after,
            _ => {
                let (option, rest) = rest.split_at(usize::from(after[0]));
                options.push((*kind, &option[2..]));
                rest
            }
        };
    }
    options
}

/// The shift that a SYN's window scale option asks for.
fn window_scale(header: &[u8]) -> Option<u8> {
    options(header).into_iter().find(|(kind, _)| *kind == WINDOW_SCALE).map(|(_, said)| said[0])
}

#[test]
fn a_syn_offers_what_is_asked_for() {
    const MSS: u8 = 2;
    const SACK_PERMITTED: u8 = 4;
    const TIMESTAMPS: u8 = 8;
    const ECE_AND_CWR: u8 = 0xc0;
    let linux = Config::of(Profile::Linux);
    let bare = Config { sack: Sack::Off, timestamps: false, window_scaling: false, ..linux.clone() };
    let ecn = Config { ecn: EcnEcho::UntilAnswered, ..bare.clone() };
    for (tcp, kinds, flags) in [
        (linux, &[MSS, WINDOW_SCALE, SACK_PERMITTED, TIMESTAMPS][..], 0),
        (Config::of(Profile::Plain), &[MSS, WINDOW_SCALE], 0),
        (bare, &[MSS], 0),
        (ecn, &[MSS], ECE_AND_CWR),
    ] {
        let Some(Connection { syn, .. }) = connection(tcp.clone()) else { return };
        let mut offered: Vec<_> = options(&syn).into_iter().map(|(kind, _)| kind).collect();
        offered.sort_unstable();
        assert_eq!((offered, syn[13] & ECE_AND_CWR), (kinds.to_vec(), flags), "{tcp:?}");
        assert!(u16::from_be_bytes([syn[14], syn[15]]) > 60_000, "a window of all that its field can say");
    }
}

#[test]
fn the_first_flight_is_the_initial_window() {
    // A lost acknowledgement of the handshake is of no matter: nothing is acknowledged here at all.
    for (window, segments) in
        [(InitialWindow::Segments(2), 2), (InitialWindow::Rfc5681, 3), (InitialWindow::Segments(10), 10)]
    {
        let linux = Config::of(Profile::Linux);
        // Nothing but a timeout sends more, and that is long.
        let rto = RtoConfig { min: Duration::from_secs(20), ..linux.rto };
        let tcp = Config { initial_window: window, rack: false, rto, ..linux };
        let Some(mut connection) = connection(tcp) else { return };
        let mut quiet = 0;
        let mut before = 0;
        let sent = connection.unanswered(100_000, |sent| {
            quiet = if sent.is_empty() || sent.len() > before { 0 } else { quiet + 1 };
            before = sent.len();
            quiet >= 5
        });
        assert_eq!(sent.len(), segments, "{window:?}");
    }
}

#[test]
fn a_timeout_is_not_less_than_asked_for() {
    const LEAST: Duration = Duration::from_millis(450);
    let linux = Config::of(Profile::Linux);
    let tcp = Config { rto: RtoConfig::with_margin(LEAST), rack: false, ..linux };
    let Some(mut connection) = connection(tcp) else { return };
    let clock = Clock::starting_in(Duration::ZERO);
    let sent = connection.unanswered(1_000, |sent| sent.len() >= 2);
    let waited = clock.now().since(Time::ZERO);
    assert_eq!(sent[0], sent[1], "it is sent again");
    assert!(waited >= LEAST, "sent again after {waited:?}");
}

#[test]
fn a_receiver_is_not_what_limits_windows() {
    const BYTES: usize = 8_000_000;
    // With segments of 200 bytes and with full ones.
    for mss in [212, 1_460] {
        let Some(Connection { mut devices, initiator, mut acceptor, answer, .. }) =
            connection_of(Config::of(Profile::Linux), Some(mss))
        else {
            return;
        };
        let scale = window_scale(&answer).unwrap();
        let reading = thread::spawn(move || std::io::copy(&mut acceptor, &mut std::io::sink()).unwrap());
        let sending = thread::spawn(move || (&initiator).write_all(&vec![1; BYTES]).unwrap());
        let mut largest = 0;
        while !reading.is_finished() {
            for from in [0, 1] {
                for packet in waiting(&mut devices[from]) {
                    if from == 1 {
                        largest = largest.max(u32::from(u16::from_be_bytes([packet[34], packet[35]])) << scale);
                    }
                    assert!(devices[1 - from].write(&packet).unwrap());
                }
            }
            wait(&devices);
        }
        sending.join().unwrap();
        assert_eq!(reading.join().unwrap(), BYTES as u64);
        assert!(largest >= 1 << 20, "segments of {mss} bytes: {largest}");
    }
}
