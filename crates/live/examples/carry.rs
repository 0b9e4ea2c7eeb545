//! How many packets this host carries between two namespaces: bulk TCP both ways across a loop that copies packets as fast as it
//! can and does nothing else. What an emulator does comes on top of it.
//!
//! `cargo run --release -p flowloom-live --example carry -- [tun|packet-socket] [SECONDS] [BYTES A SEGMENT]`

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use flowloom_core::time::Duration;
use flowloom_live::addresses;
use flowloom_live::clock::Clock;
use flowloom_live::device::Device;
use flowloom_live::host::limits::{CpuTimes, load_average};
use flowloom_live::host::namespace::enter_user_namespace;
use flowloom_live::host::testbed::{Choice, Kind, PathDevice, Testbed};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::{TcpCongestion, TcpMaxSeg};
use nix::time::{ClockId, clock_gettime};

/// Packets read from one device before the other has its turn.
const BATCH: usize = 64;

/// Connections in each direction.
const CONNECTIONS: u16 = 4;

#[derive(Default)]
struct Carried {
    packets: u64,
    bytes: u64,
    longest: usize,
    refused: u64,
    sleeps: u64,
    cpu_nanos: u64,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    enter_user_namespace()?;
    let mut words = std::env::args().skip(1);
    let kind = match words.next().as_deref() {
        Some("packet-socket") => Kind::PacketSocket,
        _ => Kind::Tun,
    };
    let seconds = words.next().map_or(Ok(5), |word| word.parse())?;
    let segment: Option<u32> = words.next().map(|word| word.parse()).transpose()?;
    let (mut testbed, mut devices) = Testbed::build(&Choice { kind, ..Choice::default() })?;
    testbed.warnings.iter().for_each(|warning| println!("{warning}"));
    let clock = Clock::starting_in(Duration::ZERO);
    let (stop, before) = (AtomicBool::new(false), CpuTimes::now()?);
    let carried = thread::scope(|scope| {
        let forwarder = scope.spawn(|| forward(&mut devices, &stop));
        let [left, right] = &testbed.namespaces;
        for (from, to, address) in [(left, right, [198, 19, 0, 1]), (right, left, [198, 18, 0, 1])] {
            let address = Ipv4Addr::from(address);
            for port in (0..CONNECTIONS).map(|number| addresses::FIRST_PORT + number) {
                let listener = to.within(|| TcpListener::bind((address, port))).expect("a listener");
                let stop = &stop;
                scope.spawn(move || {
                    let mut connection = listener.accept().expect("a connection").0;
                    let mut buffer = vec![0; 1 << 16];
                    while connection.read(&mut buffer).is_ok_and(|length| length > 0) {}
                });
                let connected = from.within(|| {
                    use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, socket};
                    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
                    setsockopt(&socket, TcpCongestion, &"cubic".into())?;
                    if let Some(bytes) = segment {
                        setsockopt(&socket, TcpMaxSeg, &bytes)?;
                    }
                    let to = SockaddrIn::from(std::net::SocketAddrV4::new(address, port));
                    connect(std::os::fd::AsRawFd::as_raw_fd(&socket), &to)?;
                    Ok::<_, std::io::Error>(TcpStream::from(socket))
                });
                let mut connection = connected.expect("connected");
                scope.spawn(move || {
                    let buffer = vec![0; 1 << 16];
                    while !stop.load(Ordering::Relaxed) && connection.write_all(&buffer).is_ok() {}
                });
            }
        }
        let wait = nix::sys::time::TimeSpec::new(seconds, 0);
        let _ = nix::time::clock_nanosleep(ClockId::CLOCK_MONOTONIC, nix::time::ClockNanosleepFlags::empty(), &wait);
        let taken = clock.now();
        stop.store(true, Ordering::Relaxed);
        (forwarder.join().expect("the forwarder"), taken)
    });
    let (carried, taken) = carried;
    let used = CpuTimes::now()?.since(&before);
    let seconds = taken.as_secs_f64();
    println!(
        "{kind:?}: {:.0} packets/s, {:.0} Mbit/s, forwarder {:.2} us a packet and {:.2} of a core, host {:.0} % busy, longest {} bytes, \
         {} times asleep, {} writes refused, load {:.1}",
        carried.packets as f64 / seconds,
        carried.bytes as f64 * 8e-6 / seconds,
        carried.cpu_nanos as f64 * 1e-3 / carried.packets as f64,
        carried.cpu_nanos as f64 * 1e-9 / seconds,
        100.0 * used.busy(),
        carried.longest,
        carried.sleeps,
        carried.refused,
        load_average().unwrap_or(0.0),
    );
    for (side, counts) in ["left", "right"].into_iter().zip(testbed.counters()?.sides) {
        println!(
            "{side}: dropped sent {} received {} reader {}, retransmitted {} of {}",
            counts.device.sent_drops,
            counts.device.received_drops,
            counts.reader_drops,
            counts.kernel.retransmitted_segments,
            counts.kernel.sent_segments
        );
    }
    Ok(())
}

/// Copies packets both ways, and goes on for a while after the end so that connections can close.
fn forward(devices: &mut [PathDevice; 2], stop: &AtomicBool) -> Carried {
    let mut carried = Carried::default();
    let mut buffer = [0; 2_048];
    let mut quiet = 0;
    while !stop.load(Ordering::Relaxed) || quiet < 5 {
        let before = carried.packets;
        for from in [0, 1] {
            for _ in 0..BATCH {
                let Some(length) = devices[from].read(&mut buffer).expect("the device is there") else { break };
                carried.packets += 1;
                carried.bytes += length as u64;
                carried.longest = carried.longest.max(length);
                carried.refused += u64::from(!devices[1 - from].write(&buffer[..length]).expect("the device is there"));
            }
        }
        quiet = 0;
        if carried.packets == before {
            carried.sleeps += 1;
            let mut ready = devices.each_ref().map(|device| PollFd::new(device.as_fd(), PollFlags::POLLIN));
            let ready = poll(&mut ready, PollTimeout::from(20_u8)).expect("descriptors are open");
            quiet = u8::from(ready == 0) * 5;
        }
    }
    let used = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).expect("every Linux has it");
    carried.cpu_nanos = used.tv_sec() as u64 * 1_000_000_000 + used.tv_nsec() as u64;
    carried
}
