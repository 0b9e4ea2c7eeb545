//! How true delays are in real time: `emulator_truth [paths] [packets per second] [seconds]`.
//!
//! Datagrams go both ways between two namespaces, each pair of addresses with a delay of its own. Every one says when it was
//! sent; the program that receives it compares with the delay that was asked for, so that the kernel's part and its own waking
//! are included. What packets take by themselves is found out first and taken off, as in a run. Needs root.

use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, LinkSide, Protocol};
use flowloom_live::addresses::{self, Addressing, Serial};
use flowloom_live::calibrate::calibrate;
use flowloom_live::clock::Clock;
use flowloom_live::emulator::{Command, Emulator, Settings, commands};
use flowloom_live::host::testbed::{Choice, Testbed};
use flowloom_live::lateness::Lateness;
use flowloom_sim::{Classed, Config, Origin};
use nix::libc;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrIn, sendmsg, setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};

const INITIATORS: u16 = 40_000;
const ACCEPTORS: u16 = 5_000;
const SMALL: usize = 100;
const FULL: usize = 1_472;

/// The delay of a path, one way: 5 to 55 ms.
fn delay(serial: Serial) -> Duration {
    Duration::from_micros(5_000 + u64::from(serial) * 7_919 % 50_000)
}

fn nap(duration: Duration) {
    let request = TimeSpec::from(std::time::Duration::from_nanos(duration.as_nanos()));
    // Interrupted, it is shorter.
    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &request);
}

/// Sends `rate` datagrams a second from `side`, over all paths in turn.
fn send(side: LinkSide, socket: &UdpSocket, clock: &Clock, paths: u32, rate: u64, seconds: u64) {
    let mut payload = [0; FULL];
    for n in 0..rate * seconds {
        let due = Time::from_nanos(n * 1_000_000_000 / rate);
        if clock.now() < due {
            nap(Duration::from_micros(100));
        }
        let serial = (n % u64::from(paths)) as Serial;
        let (initiator, acceptor) = addresses::of_connection(serial, LinkSide::Left);
        let (from, to) = match side {
            LinkSide::Left => (initiator, SocketAddrV4::new(acceptor, ACCEPTORS)),
            LinkSide::Right => (acceptor, SocketAddrV4::new(initiator, INITIATORS)),
        };
        payload[..4].copy_from_slice(&serial.to_le_bytes());
        payload[4..12].copy_from_slice(&clock.now().as_nanos().to_le_bytes());
        let length = if n % 2 == 0 { FULL } else { SMALL };
        let source = libc::in_addr { s_addr: u32::from_ne_bytes(from.octets()) };
        let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: source, ipi_addr: libc::in_addr { s_addr: 0 } };
        let (part, control) = ([IoSlice::new(&payload[..length])], [ControlMessage::Ipv4PacketInfo(&info)]);
        sendmsg(socket.as_raw_fd(), &part, &control, MsgFlags::empty(), Some(&SockaddrIn::from(to)))
            .expect("it is sent");
    }
}

/// What the delay of datagrams was wrong by.
#[derive(Default)]
struct Errors {
    /// How late they were.
    late: Lateness,
    /// How late or early.
    either: Lateness,
    early: u64,
}

/// Receives until `stop`.
fn receive(socket: &UdpSocket, clock: &Clock, stop: &AtomicBool) -> Errors {
    let (mut errors, mut buffer) = (Errors::default(), [0; 2_048]);
    while !stop.load(Ordering::Relaxed) {
        let length = match socket.recv(&mut buffer) {
            Ok(length) => length,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => continue,
            Err(error) => panic!("{error}"),
        };
        let now = clock.now();
        let Some((serial, rest)) = buffer[..length].split_first_chunk::<4>() else { continue };
        let Some(sent) = rest.first_chunk::<8>() else { continue };
        let due = Time::from_nanos(u64::from_le_bytes(*sent)) + delay(u32::from_le_bytes(*serial));
        errors.early += u64::from(now < due);
        errors.late.record(now.since(due));
        errors.either.record(now.since(due).max(due.since(now)));
    }
    errors
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>().expect("a number"));
    let paths = arguments.next().unwrap_or(10_000) as u32;
    let rate = arguments.next().unwrap_or(50_000);
    let seconds = arguments.next().unwrap_or(5);
    let (mut testbed, devices) = match Testbed::build(&Choice::default()) {
        Ok(built) => built,
        Err(error) => return eprintln!("no testbed here: {error}"),
    };
    testbed.warnings.iter().for_each(|warning| eprintln!("{warning}"));
    let config = Config::new("10gbit".parse().expect("a rate"), Duration::from_secs(seconds));
    let ends = [LinkSide::Left, LinkSide::Right].map(|side| testbed.place(side, Addressing::Side));
    let (bias, devices) =
        calibrate(ends, devices, Settings::default().tick, Duration::ZERO).expect("packets between namespaces");
    println!("packets take {bias} each way by themselves");
    let clock = Clock::starting_in(Duration::from_millis(500));
    let ((commands, orders), (out, outputs)) = (commands().expect("an eventfd"), channel());
    for serial in 0..paths {
        let vector = ConnectionVector {
            id: serial.into(),
            protocol: Protocol::Udp,
            stated_rtt: Some(delay(serial) * 2),
            ..ConnectionVector::default()
        };
        let classed = Classed { vector, class: 0, origin: Origin::Source { endless_until: None } };
        commands.send(Command::Open(serial, Box::new(classed))).expect("it listens");
    }
    let emulator = Emulator::new(config, Settings { bias, ..Settings::default() }, devices, clock, orders, out);
    let thread = thread::spawn(move || emulator.run());
    let records = thread::spawn(move || outputs.iter().count());
    let sockets = [(LinkSide::Left, INITIATORS), (LinkSide::Right, ACCEPTORS)].map(|(side, port)| {
        let socket =
            testbed.namespace(side).within(|| UdpSocket::bind((Ipv4Addr::UNSPECIFIED, port))).expect("a socket");
        socket.set_read_timeout(Some(std::time::Duration::from_millis(50))).expect("it can");
        setsockopt(&socket, sockopt::RcvBuf, &(8 << 20)).expect("it can");
        (side, socket)
    });
    let stop = AtomicBool::new(false);
    let received = thread::scope(|scope| {
        let receivers = sockets.each_ref().map(|(_, socket)| scope.spawn(|| receive(socket, &clock, &stop)));
        nap(clock.until(Time::ZERO));
        let senders = sockets.each_ref().map(|(side, socket)| {
            let (side, clock) = (*side, &clock);
            scope.spawn(move || send(side, socket, clock, paths, rate / 2, seconds))
        });
        senders.into_iter().for_each(|sender| sender.join().expect("no panic"));
        nap(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
        receivers.map(|receiver| receiver.join().expect("no panic"))
    });
    commands.send(Command::Stop { interrupted: true }).expect("it listens");
    let (report, devices) = thread.join().expect("no panic");
    let (report, counters) = (report.expect("nothing fails"), testbed.counters().expect("devices are there"));
    drop((devices, records.join()));
    let shares = |late: &Lateness| [0.5, 0.9, 0.99, 0.999].map(|share| late.quantile(share).to_string()).join(", ");
    for (Errors { late, either, early }, side) in received.iter().zip(["right to left", "left to right"]) {
        println!("{side}: {} datagrams; error of the delay at 50, 90, 99, 99.9 %: {}", either.count(), shares(either));
        println!("{side}: {early} early; late at 50, 90, 99, 99.9 %: {}", shares(late));
    }
    let packets: u64 = report.devices.iter().map(|device| device.read_packets).sum();
    println!(
        "emulator: lateness {}; {} packets, {} unaccounted",
        shares(&report.lateness),
        packets,
        report.unaccounted()
    );
    println!(
        "emulator: {:.2} us of CPU a packet, reading and writing included; {} wakes, {} overruns, {} buffers",
        report.cpu.as_secs_f64() * 1e6 / packets.max(1) as f64,
        report.wakes,
        report.overruns,
        report.buffers
    );
    for (side, name) in counters.sides.iter().zip(["left", "right"]) {
        println!("{name}: {:?}, {} lost by the reader", side.device, side.reader_drops);
    }
    println!("load of this machine: {}", std::fs::read_to_string("/proc/loadavg").unwrap_or_default().trim());
}
