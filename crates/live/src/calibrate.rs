//! What a packet takes from one side's kernel to the other's beside what its path gives it, measured before a run.
//!
//! It waits until the emulator is awake, and until the other side's kernel is; a few tens of microseconds each, which no model
//! knows of. The emulator takes it off the delays of paths, and where programs of the user's run, which have no paths of their own,
//! off that of the link.

use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;

use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_sim::Config;

use crate::clock::Clock;
use crate::device::Device;
use crate::emulator::{self, Command, Emulator};
use crate::host::namespace::Namespace;

/// Pings that are sent; the first ones, which find all caches cold, do not count.
pub(crate) const PINGS: usize = 150;
/// See [`PINGS`].
const COLD: usize = 50;
/// The others are taken in parts of so many, and the quietest part counts: a host may be busy with something else for a while.
const PART: usize = 20;
/// Between two pings.
pub(crate) const GAP: Duration = Duration::from_micros(500);
/// Pings that may be lost.
const MOST_LOST: usize = 5;
/// A ping that takes longer is not answered.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(200);
/// Room for a packet.
const ROOM: usize = 2_048;
/// The port of the pings.
const PORT: u16 = 9;
/// More than this is no property of the host, but what else it did meanwhile.
const MOST: Duration = Duration::from_micros(300);
/// The longest delay of a link that is waited for with pings.
pub const LONGEST_DELAY: Duration = Duration::from_millis(2);

/// The median time that a packet takes each way, beside the delay of the link, across an emulator of this tick that does nothing but
/// hand it on, from one of these addresses in its namespace to the other; and the devices.
///
/// Where the link has a delay the emulator has gone to sleep when a packet is due, and wakes up once more for it: that is what
/// a packet of a program meets that has the path for itself. With many connections it does not sleep, and meets the tick instead.
///
/// # Errors
/// The kernel's; or packets do not come back.
pub fn calibrate<D: Device + Send + 'static>(
    ends: [(&Namespace, Ipv4Addr); 2],
    devices: [D; 2],
    tick: Duration,
    delay: Duration,
) -> io::Result<(Duration, [D; 2])> {
    let clock = Clock::starting_in(Duration::ZERO);
    let (commands, orders) = emulator::commands()?;
    // Nobody listens to what is recorded of pings, but somebody must be there.
    let (out, _output) = channel();
    let mut config = Config { monitor: false, ..Config::new(Rate::UNLIMITED, Duration::from_secs(60)) };
    config.bottleneck.delay = delay;
    let settings = emulator::Settings { tick, ..emulator::Settings::default() };
    let emulator = Emulator::new(config, settings, devices, clock, orders, out);
    let emulator = thread::Builder::new().name("calibration".to_owned()).spawn(move || emulator.run())?;
    let took = ping(ends, &clock);
    let _ = commands.send(Command::Stop { interrupted: true });
    let (report, mut devices) = emulator.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    let took = took?;
    // What came too late is not the run's.
    for device in &mut devices {
        while device.read(&mut [0; ROOM])?.is_some() {}
    }
    if took.is_empty() {
        let why = report.map_or_else(|error| Some(error.to_string()), |report| report.failed);
        let why = why.unwrap_or_else(|| format!("none of {PINGS} came back within {} ms", PATIENCE.as_millis()));
        return Err(io::Error::new(io::ErrorKind::TimedOut, why));
    }
    Ok(((quietest(&took) / 2).saturating_sub(delay).min(MOST), devices))
}

/// The same, of all pings: the first ones do not count.
pub(crate) fn quietest_of(took: &[Duration]) -> Duration {
    quietest(&took[took.len().min(COLD)..])
}

/// The least of the medians of parts.
fn quietest(took: &[Duration]) -> Duration {
    let median = |part: &[Duration]| {
        let mut part = part.to_vec();
        part.sort_unstable();
        part[part.len() / 2]
    };
    took.chunks(PART).map(median).min().unwrap_or(Duration::ZERO)
}

/// The experiment as it is emulated where programs of the user's run: the bottleneck propagates in less by `bias`, or in no time.
///
/// Connections that a vector describes are the same: what their links do not take their paths do. Not so those whose delays rules
/// draw, which come on top of what links take: with rules nothing is taken off.
pub fn with_less_propagation(config: &Config, bias: Duration) -> Config {
    let mut config = config.clone();
    if !config.rules.has_table() {
        config.bottleneck.delay = config.bottleneck.delay.saturating_sub(bias);
    }
    config
}

/// Round-trip times between two addresses.
fn ping([left, right]: [(&Namespace, Ipv4Addr); 2], clock: &Clock) -> io::Result<Vec<Duration>> {
    let socket = |(namespace, own): (&Namespace, Ipv4Addr), other: Ipv4Addr| {
        namespace.within(|| {
            let socket = UdpSocket::bind((own, PORT))?;
            socket.connect((other, PORT))?;
            socket.set_read_timeout(Some(PATIENCE))?;
            Ok::<_, io::Error>(socket)
        })
    };
    let (near, far) = (socket(left, right.1)?, socket(right, left.1)?);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let mut ping = [0; 8];
            loop {
                let received = far.recv(&mut ping);
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                // One that does not come, or cannot be answered, has no answer.
                let _ = received.and_then(|length| far.send(&ping[..length]));
            }
        });
        let took = ask(&near, clock);
        is_over.store(true, Ordering::Relaxed);
        // So that it is heard.
        let _ = near.send(&[]);
        took
    })
}

/// The same, of the side that asks. Where too many do not come back it asks no more.
fn ask(socket: &UdpSocket, clock: &Clock) -> io::Result<Vec<Duration>> {
    let (mut took, mut lost) = (Vec::with_capacity(PINGS), 0);
    for number in 0..PINGS {
        let (sent, ping, mut answer) = (clock.now(), (number as u64).to_le_bytes(), [u8::MAX; 8]);
        socket.send(&ping)?;
        // That of an earlier one may come after it was given up.
        while answer != ping {
            if socket.recv(&mut answer).is_err() {
                lost += 1;
                break;
            }
        }
        if answer == ping && number >= COLD {
            took.push(clock.now().since(sent));
        }
        if lost > MOST_LOST {
            break;
        }
        clock.sleep_until(clock.now() + GAP);
    }
    Ok(took)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::emulator::Forward;
    use flowloom_core::path::{Rule, Rules};
    use flowloom_core::tcp::Segment;
    use flowloom_core::time::Time;
    use flowloom_core::workload::{ConnectionVector, LinkSide, Side};
    use flowloom_sim::Emulation;

    #[test]
    fn what_else_the_host_did_for_a_while_is_no_bias() {
        let took = |micros: u64| (0..20).map(move |n| Duration::from_micros(micros + n % 5 * 10));
        let all: Vec<_> = took(5_000).chain(took(200)).chain(took(700)).chain(took(210)).collect();
        assert_eq!(quietest(&all), Duration::from_micros(220));
        assert_eq!(quietest(&[]), Duration::ZERO);
    }

    const BIAS: Duration = Duration::from_micros(150);

    /// When a packet of a program, and one of a connection with a round-trip time of 30 ms, have crossed a link of 10 ms.
    fn crossed(config: &Config) -> [Time; 2] {
        let (out, _output) = channel();
        let mut records = Forward::new(out);
        let mut emulation = Emulation::new(config, &mut records).unwrap().ahead_by(BIAS);
        let stated_rtt = Some(Duration::from_millis(30));
        let connection = ConnectionVector { stated_rtt, ..ConnectionVector::default() };
        let slots = [emulation.open_guest(LinkSide::Left), emulation.open(Time::ZERO, &connection.into()).unwrap()];
        slots.map(|slot| {
            let began = emulation.now();
            emulation.send(began, slot, Side::Initiator, Segment::default(), 0).unwrap();
            emulation.advance(began + Duration::from_secs(1)).unwrap();
            Time::ZERO + emulation.poll_delivery().unwrap().due.since(began)
        })
    }

    #[test]
    fn what_is_taken_off_a_program_is_not_taken_off_a_connection_twice() {
        let mut config = Config::new(Rate::UNLIMITED, Duration::from_secs(60));
        config.bottleneck.delay = Duration::from_millis(10);
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        assert_eq!(crossed(&config), [at(10), at(15).before(BIAS)]);
        for measured_loss in [false, true] {
            config.rules = Rules::default().with_measured_loss(measured_loss);
            assert_eq!(crossed(&with_less_propagation(&config, BIAS)), [at(10), at(15)].map(|time| time.before(BIAS)));
        }
        config.bottleneck.delay = Duration::from_micros(100);
        assert_eq!(with_less_propagation(&config, BIAS).bottleneck.delay, Duration::ZERO);
        config.rules = Rules::new(vec![Rule::default()]);
        assert_eq!(with_less_propagation(&config, BIAS).bottleneck, config.bottleneck);
    }
}
