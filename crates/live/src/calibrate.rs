//! What a packet takes from one side's kernel to the other's beside what its path gives it, measured before a run.
//!
//! It waits until the emulator is awake, and until the other side's kernel is; a few tens of microseconds each, which no model
//! knows of. The emulator takes it off the delays of paths.

use std::io;
use std::net::{SocketAddrV4, UdpSocket};
use std::sync::mpsc::channel;
use std::thread;

use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::workload::LinkSide;
use flowloom_sim::Config;

use crate::addresses;
use crate::clock::Clock;
use crate::device::Device;
use crate::emulator::{self, Command, Emulator};
use crate::host::namespace::Namespace;

/// Pings that are sent; the first ones, which find all caches cold, do not count.
const PINGS: usize = 150;
/// See [`PINGS`].
const COLD: usize = 50;
/// Between two pings.
const GAP: Duration = Duration::from_micros(500);
/// A ping that takes longer is not answered.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(200);
/// The port of the pings.
const PORT: u16 = 9;
/// More than this is no property of the host, but what else it did meanwhile.
const MOST: Duration = Duration::from_micros(300);

/// The median time that a packet takes each way across an emulator of this tick that does nothing but hand it on; and the devices.
///
/// # Errors
/// The kernel's.
pub fn calibrate<D: Device + Send + 'static>(
    namespaces: &[Namespace; 2],
    devices: [D; 2],
    tick: Duration,
) -> io::Result<(Duration, [D; 2])> {
    let clock = Clock::starting_in(Duration::ZERO);
    let (commands, orders) = emulator::commands()?;
    // Nobody listens to what is recorded of pings, but somebody must be there.
    let (out, _output) = channel();
    let config = Config { monitor: false, ..Config::new(Rate::UNLIMITED, Duration::from_secs(60)) };
    let settings = emulator::Settings { tick, ..emulator::Settings::default() };
    let emulator = Emulator::new(config, settings, devices, clock, orders, out, false);
    let emulator = thread::Builder::new().name("calibration".to_owned()).spawn(move || emulator.run())?;
    let took = ping(namespaces, &clock);
    let _ = commands.send(Command::Stop { interrupted: true });
    let (_, devices) = emulator.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let mut took = took?;
    took.sort_unstable();
    let median = took.get(took.len() / 2).copied().unwrap_or(Duration::ZERO);
    Ok(((median / 2).min(MOST), devices))
}

/// Round-trip times between the hosts of the two sides.
fn ping([left, right]: &[Namespace; 2], clock: &Clock) -> io::Result<Vec<Duration>> {
    let socket = |namespace: &Namespace, side: LinkSide| {
        namespace.within(|| {
            let socket = UdpSocket::bind(SocketAddrV4::new(addresses::host(side), PORT))?;
            socket.connect(SocketAddrV4::new(addresses::host(side.other()), PORT))?;
            socket.set_read_timeout(Some(PATIENCE))?;
            Ok::<_, io::Error>(socket)
        })
    };
    let (near, far) = (socket(left, LinkSide::Left)?, socket(right, LinkSide::Right)?);
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut ping = [0; 8];
            for _ in 0..PINGS {
                let Ok(length) = far.recv(&mut ping) else { return };
                // An answer that cannot be sent is one that does not come.
                let _ = far.send(&ping[..length]);
            }
        });
        let mut took = Vec::with_capacity(PINGS);
        for number in 0..PINGS {
            let sent = clock.now();
            near.send(&(number as u64).to_le_bytes())?;
            let mut answer = [0; 8];
            if near.recv(&mut answer).is_err() {
                break;
            }
            if number >= COLD {
                took.push(clock.now().since(sent));
            }
            clock.sleep_until(clock.now() + GAP);
        }
        Ok(took)
    })
}
