//! What a packet costs the emulator itself, reading and writing left out: `emulator_cost [connections] [packets per second]`.
//!
//! Many connections over a RED bottleneck between two devices that only copy, in virtual time; the clock is read as often as in
//! real time. Packets come in ticks of 100 us: half are full segments, half acknowledgements.

use std::cell::Cell;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::rc::Rc;
use std::sync::mpsc::channel;

use flowloom_core::queue::{Discipline, RedParams};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Limit;
use flowloom_core::workload::{ConnectionVector, Endpoint, LinkSide, PerSide};
use flowloom_live::addresses;
use flowloom_live::clock::{Clock, thread_cpu_time};
use flowloom_live::device::Device;
use flowloom_live::emulator::{Forward, Path, Settings};
use flowloom_sim::Config;

/// Segments of all connections in turn, as far as they are due.
struct Source {
    side: LinkSide,
    connections: u32,
    /// Packets sent so far, and those that were due by now.
    sent: u64,
    due: Rc<Cell<u64>>,
    nothing: File,
}

const FULL: usize = 1_500;
const BARE: usize = 52;

impl AsFd for Source {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.nothing.as_fd()
    }
}

impl Device for Source {
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        if self.sent == self.due.get() {
            return Ok(None);
        }
        // In an order in which no connection comes again soon.
        let serial = (self.sent.wrapping_mul(7_919) % u64::from(self.connections)) as u32;
        let round = (self.sent / u64::from(self.connections)) as u32;
        let (initiator, acceptor) = addresses::of_connection(serial, LinkSide::Left);
        let length = match self.side {
            LinkSide::Left => BARE,
            LinkSide::Right => FULL,
        };
        let (from, to, ports) = match self.side {
            LinkSide::Left => (initiator, acceptor, [40_000_u16, 5_000]),
            LinkSide::Right => (acceptor, initiator, [5_000, 40_000]),
        };
        let payload = (length - BARE) as u32;
        into[..12].copy_from_slice(&[0x45, 0, (length >> 8) as u8, length as u8, 0, 7, 0x40, 0, 64, 6, 0, 0]);
        into[12..16].copy_from_slice(&from.octets());
        into[16..20].copy_from_slice(&to.octets());
        into[20..22].copy_from_slice(&ports[0].to_be_bytes());
        into[22..24].copy_from_slice(&ports[1].to_be_bytes());
        into[24..28].copy_from_slice(&(1 + round * payload).to_be_bytes());
        into[28..32].copy_from_slice(&(1 + round * (FULL - BARE) as u32).to_be_bytes());
        into[32..40].copy_from_slice(&[0x80, 0x10, 0xff, 0xff, 0, 0, 0, 0]);
        into[40..52].copy_from_slice(&[1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 9]);
        self.sent += 1;
        Ok(Some(length))
    }

    fn write(&mut self, packet: &[u8]) -> io::Result<bool> {
        std::hint::black_box(packet);
        Ok(true)
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().expect("a number"));
    let connections: u32 = arguments.next().unwrap_or(50_000) as u32;
    let rate: u64 = arguments.next().unwrap_or(120_000);
    let seconds = 20;
    let mut config = Config::new("900mbit".parse().expect("a rate"), Duration::from_secs(seconds));
    let red = RedParams {
        limit: Limit::Packets(2_000),
        min: Limit::Packets(50),
        max: Limit::Packets(600),
        ..RedParams::default()
    };
    config.bottleneck.queue = Discipline::Red(red);
    config.bottleneck.delay = Duration::from_millis(1);
    let (now, due) = (Cell::new(Time::ZERO), Rc::new(Cell::new(0)));
    let mut devices = [LinkSide::Left, LinkSide::Right].map(|side| Source {
        side,
        connections,
        sent: 0,
        due: Rc::clone(&due),
        nothing: File::open("/dev/null").expect("every Linux has it"),
    });
    let (out, outputs) = channel();
    let records = std::thread::spawn(move || outputs.iter().count());
    let mut recorder = Forward::new(out);
    let mut path = Path::new(&config, Settings::default(), &mut devices, &mut recorder).expect("a possible experiment");
    for serial in 0..connections {
        let end = |transit| Endpoint {
            min_transit: Some(Duration::from_micros(transit)),
            max_window: Some(60_000),
            syn_seen: true,
            ..Endpoint::default()
        };
        let ends = PerSide { initiator: end(2_000), acceptor: end(10_000 + u64::from(serial % 997) * 200) };
        let vector = ConnectionVector { id: serial.into(), ends, ..ConnectionVector::default() };
        path.open(serial, Box::new(vector.into()));
    }
    let clock = Clock::starting_in(Duration::ZERO);
    let tick = Duration::from_micros(100);
    let per_tick = rate * tick.as_nanos() / 1_000_000_000 / 2;
    let mut began = Duration::ZERO;
    // Connections are opened with their first packets, which is not what is measured.
    let warm = u64::from(connections).div_ceil(per_tick) + 3_000;
    let ticks = seconds * 10_000 - 1;
    for n in 0..ticks {
        now.set(now.get() + tick);
        due.set(due.get() + per_tick);
        if n == warm {
            began = thread_cpu_time();
        }
        path.step(|| {
            std::hint::black_box(clock.now());
            now.get()
        })
        .expect("nothing fails");
    }
    let measured = thread_cpu_time().saturating_sub(began);
    let report = path.finish(now.get(), true).expect("it adds up");
    drop(recorder);
    let records = records.join().expect("no panic");
    let packets = (ticks - warm) * per_tick * 2;
    println!(
        "{:.0} ns a packet, the making of it and two readings of the clock included",
        measured.as_nanos() as f64 / packets as f64
    );
    println!(
        "{packets} packets of {connections} connections, {} buffers, {records} messages, {} unaccounted",
        report.buffers,
        report.unaccounted()
    );
    println!("{:?}", report.network.directions[1].dropped);
}
