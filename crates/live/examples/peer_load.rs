//! A load for emulators of paths: the same program inside ours and inside others, for `make bench-live-peers`.
//!
//! ```text
//! peer_load serve                                             on one side of the path, as root
//! peer_load bulk ADDRESS CONNECTIONS SECONDS MSS              on the other: what comes, in Mbit/s and packets a second
//! peer_load ping ADDRESS DELAY_MICROS SECONDS MBIT_BESIDE     on the other: error of the delay of either way
//! ```
//!
//! What is sent the server sends, which as root may choose its congestion control (CUBIC) whatever others may. Both programs
//! are on one machine and read one clock, so that each way's delay is seen by itself.

use std::error::Error;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use nix::sys::socket::sockopt::{TcpCongestion, TcpMaxSeg};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket};
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

const PORT: u16 = 7_000;
/// Slow start is over by then.
const WARM_UP_NANOS: u64 = 2_000_000_000;
/// From one ping to the next: no multiple of any tick.
const PING_NANOS: u64 = 4_973_000;
/// What a load beside the pings sends comes in chunks, so far apart.
const CHUNK_NANOS: u64 = 10_000_000;
/// How long after the last ping answers are waited for, and for the first.
const PATIENCE_NANOS: u64 = 2_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve"] => serve(),
        ["bulk", address, connections, seconds, mss] => {
            bulk(address.parse()?, connections.parse()?, seconds.parse()?, mss.parse()?)
        }
        ["ping", address, delay, seconds, beside] => {
            ping(address.parse()?, delay.parse()?, seconds.parse()?, beside.parse()?)
        }
        _ => Err("usage: peer_load serve | bulk ADDRESS CONNECTIONS SECONDS MSS | \
                  ping ADDRESS DELAY_MICROS SECONDS MBIT_BESIDE"
            .into()),
    }
}

fn now() -> u64 {
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Linux has it");
    now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64
}

fn sleep_until(nanos: u64) {
    let time = TimeSpec::from(std::time::Duration::from_nanos(nanos));
    while now() < nanos {
        // Interrupted, it is begun again.
        let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::TIMER_ABSTIME, &time);
    }
}

/// Answers pings with the time at which they came, and sends to who connects.
fn serve() -> Result<(), Box<dyn Error>> {
    let pings = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, PORT))?;
    thread::spawn(move || {
        let mut ping = [0; 24];
        while let Ok((_, from)) = pings.recv_from(&mut ping) {
            ping[16..].copy_from_slice(&now().to_le_bytes());
            // Who has gone needs no answer.
            let _ = pings.send_to(&ping, from);
        }
    });
    for connection in listener.incoming() {
        let connection = connection?;
        thread::spawn(move || {
            // Who has enough closes.
            let _ = send(connection);
        });
    }
    Ok(())
}

/// Sends so many Mbit/s as are asked for; with 0 as many as TCP can.
fn send(mut connection: TcpStream) -> io::Result<()> {
    setsockopt(&connection, TcpCongestion, &"cubic".into())?;
    let mut mbit = [0; 8];
    connection.read_exact(&mut mbit)?;
    let (mbit, zeros) = (u64::from_le_bytes(mbit), vec![0; 1 << 16]);
    if mbit == 0 {
        loop {
            connection.write_all(&zeros)?;
        }
    }
    let chunk = vec![0; (mbit * 1_000_000 / 8 * CHUNK_NANOS / 1_000_000_000) as usize];
    for due in (now()..).step_by(CHUNK_NANOS as usize) {
        sleep_until(due);
        connection.write_all(&chunk)?;
    }
    Ok(())
}

/// Connects and asks for so many Mbit/s.
fn ask(address: Ipv4Addr, mbit: u64, mss: u32) -> Result<TcpStream, Box<dyn Error>> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    setsockopt(&socket, TcpMaxSeg, &mss)?;
    connect(socket.as_raw_fd(), &SockaddrIn::from(SocketAddrV4::new(address, PORT)))?;
    let mut connection = TcpStream::from(socket);
    connection.write_all(&mbit.to_le_bytes())?;
    Ok(connection)
}

/// Segments that TCP of this namespace sent and received.
fn segments() -> Result<u64, Box<dyn Error>> {
    let text = fs::read_to_string("/proc/thread-self/net/snmp")?;
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("Tcp: "));
    let (names, values) = (lines.next().ok_or("no counters")?, lines.next().ok_or("no counters")?);
    let counts = names.split(' ').zip(values.split(' ')).filter(|(name, _)| matches!(*name, "InSegs" | "OutSegs"));
    Ok(counts.map(|(_, value)| value.parse::<u64>()).sum::<Result<u64, _>>()?)
}

fn bulk(address: Ipv4Addr, connections: u32, seconds: u64, mss: u32) -> Result<(), Box<dyn Error>> {
    let (received, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let connections = (0..connections).map(|_| ask(address, 0, mss)).collect::<Result<Vec<_>, _>>()?;
    let (bytes, packets, took) = thread::scope(|scope| {
        for mut connection in connections {
            let (received, stop) = (&received, &stop);
            scope.spawn(move || {
                let mut buffer = vec![0; 1 << 18];
                while let Ok(length @ 1..) = connection.read(&mut buffer) {
                    received.fetch_add(length as u64, Ordering::Relaxed);
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
        }
        let seen = || Ok::<_, Box<dyn Error>>((now(), received.load(Ordering::Relaxed), segments()?));
        sleep_until(now() + WARM_UP_NANOS);
        let (from, bytes, packets) = seen()?;
        sleep_until(from + seconds * 1_000_000_000);
        let (to, more_bytes, more_packets) = seen()?;
        stop.store(true, Ordering::Relaxed);
        Ok::<_, Box<dyn Error>>((more_bytes - bytes, more_packets - packets, (to - from) as f64 * 1e-9))
    })?;
    println!("mbit {:.1} packets {:.0}", bytes as f64 * 8e-6 / took, packets as f64 / took);
    Ok(())
}

fn ping(address: Ipv4Addr, delay: u64, seconds: u64, beside: u64) -> Result<(), Box<dyn Error>> {
    if beside > 0 {
        let mut load = ask(address, beside, 1_460)?;
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while load.read(&mut buffer).is_ok_and(|length| length > 0) {}
        });
    }
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    socket.connect((address, PORT))?;
    socket.set_read_timeout(Some(std::time::Duration::from_nanos(PATIENCE_NANOS)))?;
    let receiver = socket.try_clone()?;
    let mut sent = 0;
    let answers = thread::spawn(move || {
        let (mut errors, mut answer) = ([Vec::new(), Vec::new()], [0; 24]);
        while receiver.recv(&mut answer).is_ok_and(|length| length == answer.len()) {
            let at = now();
            let number = |place| u64::from_le_bytes(answer[place..place + 8].try_into().expect("eight bytes"));
            let (there, back) = (number(16) - number(8), at - number(16));
            [there, back].into_iter().zip(&mut errors).for_each(|(took, errors)| {
                errors.push(took as f64 * 1e-3 - delay as f64);
            });
        }
        errors
    });
    let from = now() + WARM_UP_NANOS / 2;
    for due in (from..from + seconds * 1_000_000_000).step_by(PING_NANOS as usize) {
        sleep_until(due);
        let mut ping = [0; 24];
        ping[..8].copy_from_slice(&u64::to_le_bytes(sent));
        ping[8..16].copy_from_slice(&now().to_le_bytes());
        socket.send(&ping)?;
        sent += 1;
    }
    let errors = answers.join().expect("no panic");
    let answered = errors[0].len();
    let mut signed = errors.concat();
    signed.sort_by(f64::total_cmp);
    let mut absolute: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    absolute.sort_by(f64::total_cmp);
    let at =
        |sorted: &[f64], share: f64| sorted.get((sorted.len() as f64 * share) as usize).copied().unwrap_or(f64::NAN);
    println!(
        "sent {sent} answered {answered} middle {:.0} p50 {:.0} p90 {:.0} p99 {:.0}",
        at(&signed, 0.5),
        at(&absolute, 0.5),
        at(&absolute, 0.9),
        at(&absolute, 0.99)
    );
    Ok(())
}
