//! The packets of strangers: whole frames that pass between two interfaces of a host, which is a path to them and to nobody else.
//!
//! Every frame that comes in at one goes out at the other, whatever is in it, unless the network drops it. Frames of one conversation
//! (addresses, protocol and ports of IP; otherwise the addresses of Ethernet) keep their order, and are a flow to disciplines that tell
//! flows apart and to models of loss, as far as 4,096 can be told apart.

use std::collections::BTreeMap;
use std::io;

use flowloom_core::record::{DropReason, Record, Recorder, ThroughputBin};
use flowloom_core::tcp::Segment;
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::Ecn;
use flowloom_core::workload::{LinkSide, Side};
use flowloom_sim::emulation::{EmulationError, Slot};
use flowloom_sim::{Config, Emulation, link_bytes};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::prctl::set_timerslack;

use super::TIMER_SLACK_NANOS;
use super::buffers::Buffer;
use super::conversation::mark;
use super::counters::{DeviceCounts, EmulatorReport};
use super::crossing::{Crossing, Entering};
use super::path::{Path, PathError, Wake};
use super::records::HungUp;
use super::settings::Settings;
use crate::clock::{Clock, thread_cpu_time};
use crate::device::Device;
use crate::host::turns;

/// Flows that are told apart.
const FLOWS: usize = 4_096;

/// EtherTypes (IEEE 802 numbers).
const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLANS: [u16; 2] = [0x8100, 0x88a8];
/// Protocols whose headers begin with ports: TCP, UDP, DCCP, SCTP, UDP-Lite.
const WITH_PORTS: [u8; 5] = [6, 17, 33, 132, 136];

/// It looks at least this often whether it is over.
const GLANCE: Duration = Duration::from_millis(50);

/// Carries frames between two devices until `is_over` says so, on the thread that calls it. All that is counted is of this time; model time
/// begins with `clock`.
///
/// Where a device fails it ends with all that it has: see [`EmulatorReport::failed`].
///
/// # Errors
/// What there is does not add up, or the thread cannot wait.
pub fn carry<D: Device>(
    config: &Config,
    settings: Settings,
    devices: &mut [D; 2],
    clock: &Clock,
    is_over: impl Fn() -> bool,
) -> Result<(EmulatorReport, Series), PathError> {
    let began = thread_cpu_time();
    let turns = turns::come_first();
    let waiting = |error: nix::errno::Errno| PathError::Wait(io::Error::from(error));
    set_timerslack(TIMER_SLACK_NANOS).map_err(waiting)?;
    // Nobody rings it: it is looked at whether it is over.
    let bell = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC).map_err(waiting)?;
    let mut series = Series::default();
    let mut report = {
        let path = Path::across(config, settings, devices, &mut series, Frames::default());
        let mut path = path.map_err(|error| PathError::Network(error.into()))?;
        while !is_over() {
            let stepped = path.step(|| clock.now()).and_then(|wake| {
                let glance = clock.now() + GLANCE;
                let wake = match wake {
                    Wake::At(time) => Wake::At(time.min(glance)),
                    Wake::By(time) => Wake::By(time.min(glance)),
                    Wake::WithPacket => Wake::By(glance),
                };
                path.wait(wake, clock, &bell)
            });
            if let Err(error) = stepped {
                path.fail(error)?;
                break;
            }
        }
        path.finish(clock.now(), true)?
    };
    report.turns = turns;
    report.cpu = thread_cpu_time().saturating_sub(began);
    Ok((report, series))
}

/// What a frame says of itself, as far as a path needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Head {
    /// Where the header of IP begins, if it is of IP.
    ip: Option<usize>,
    ecn: Ecn,
    /// One of [`FLOWS`].
    flow: usize,
}

impl Head {
    /// Reads a frame; `None` if it is shorter than the header of Ethernet.
    fn read(frame: &[u8]) -> Option<Head> {
        let ethernet = frame.first_chunk::<14>()?;
        let word = |at: usize| frame.get(at..at + 2).map(|two| u16::from_be_bytes([two[0], two[1]]));
        let mut at = 12;
        while VLANS.contains(&word(at)?) {
            at += 4;
        }
        let (kind, ip) = (word(at)?, at + 2);
        let packet = &frame[ip.min(frame.len())..];
        let mut hash = Hash::new();
        let of_ip = match kind {
            IPV4 => packet.first_chunk::<20>().map(|header| {
                let length = usize::from(header[0] & 0x0f) * 4;
                // More fragments, or not the first one: the others do not have the ports.
                let is_fragment = u16::from_be_bytes([header[6], header[7]]) & 0x3fff != 0;
                hash.take(&header[12..20]);
                hash.take(&header[9..10]);
                (header[1], length, header[9], is_fragment)
            }),
            IPV6 => packet.first_chunk::<40>().map(|header| {
                hash.take(&header[8..40]);
                hash.take(&header[6..7]);
                (header[0] << 4 | header[1] >> 4, 40, header[6], false)
            }),
            _ => None,
        };
        let Some((class, length, protocol, is_fragment)) = of_ip else {
            hash.take(ethernet);
            return Some(Head { ip: None, ecn: Ecn::NotEct, flow: hash.flow() });
        };
        if WITH_PORTS.contains(&protocol) && !is_fragment {
            hash.take(packet.get(length..length + 4).unwrap_or_default());
        }
        Some(Head { ip: Some(ip), ecn: Ecn::from_traffic_class(class), flow: hash.flow() })
    }
}

/// FNV-1a.
struct Hash(u64);

impl Hash {
    fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    fn take(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    }

    fn flow(&self) -> usize {
        // Its low bits are the weakest.
        ((self.0 ^ self.0 >> 32) % FLOWS as u64) as usize
    }
}

/// Frames of strangers.
#[derive(Debug)]
struct Frames {
    /// Of each flow that was seen, where it is in the emulation.
    slots: Box<[Option<Slot>]>,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames { slots: vec![None; FLOWS].into() }
    }
}

impl Crossing for Frames {
    type Recorder = Series;

    fn enter(
        &mut self,
        now: Time,
        side: LinkSide,
        frame: &mut Buffer,
        emulation: &mut Emulation<'_, Series>,
        counts: &mut DeviceCounts,
    ) -> Result<Option<Entering>, EmulationError<HungUp>> {
        let Some(head) = Head::read(frame.packet()) else {
            counts.malformed += 1;
            return Ok(None);
        };
        let known = &mut self.slots[head.flow];
        let slot = match *known {
            Some(slot) => slot,
            None => *known.insert(emulation.open_stranger(now, LinkSide::Left)?),
        };
        let bytes = frame.packet().len() as u32;
        // As a datagram of IPv4: all behind its headers, and those of Ethernet.
        let segment = Segment {
            payload_bytes: bytes.saturating_sub(link_bytes(&Segment::default())),
            ecn: head.ecn,
            ..Segment::default()
        };
        let extra = i64::from(bytes) - i64::from(link_bytes(&segment));
        let sender = if side == LinkSide::Left { Side::Initiator } else { Side::Acceptor };
        let extra = extra.clamp(i16::MIN.into(), i16::MAX.into()) as i16;
        Ok(Some(Entering { slot, sender, segment, extra }))
    }

    fn mark(&self, frame: &mut [u8]) {
        let Some(ip) = Head::read(frame).and_then(|head| head.ip) else { return };
        match frame[ip] >> 4 {
            4 => mark(&mut frame[ip..]),
            // The low bits of the traffic class, which no checksum covers.
            6 => frame[ip + 1] |= 0b0011_0000,
            _ => {}
        }
    }

    fn next_timeout(&self) -> Option<Time> {
        None
    }

    fn tidy(&mut self, _now: Time, _emulation: &mut Emulation<'_, Series>) -> Result<(), HungUp> {
        Ok(())
    }

    fn end(&mut self, _emulation: &mut Emulation<'_, Series>) -> Result<(), HungUp> {
        Ok(())
    }
}

/// What a bridge did over time, in bins of [`Series::WIDTH`]. Bins in which nothing passed and nothing waited are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Series {
    /// By their beginnings; from the left and from the right.
    pub bins: BTreeMap<Time, [Bin; 2]>,
    /// Why frames were dropped, from the left and from the right.
    pub dropped: [BTreeMap<DropReason, u64>; 2],
}

/// What happened to the frames of one direction in a bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bin {
    /// Frames that reached the queue, dropped ones included.
    pub offered_packets: u64,
    /// Their bytes.
    pub offered_bytes: u64,
    /// Frames that left the link.
    pub carried_packets: u64,
    /// Their bytes.
    pub carried_bytes: u64,
    /// Frames that were dropped, before the queue and at it.
    pub dropped_packets: u64,
    /// Packets that waited, summed over the samples of the bin, of which there are [`Series::SAMPLES`].
    pub queue_sum_packets: u64,
    /// The most that waited at a sample.
    pub queue_max_packets: u64,
}

impl Series {
    /// The width of a bin.
    pub const WIDTH: Duration = Duration::from_millis(100);
    /// How often queues are looked at in that time.
    pub const SAMPLES: u64 = 100;

    /// Has an experiment measure as this wants it.
    pub fn measured(config: Config) -> Config {
        Config {
            throughput_every: Series::WIDTH,
            queue_every: Duration::from_nanos(Series::WIDTH.as_nanos() / Series::SAMPLES),
            ..config
        }
    }

    fn bin(&mut self, time: Time, from: LinkSide) -> &mut Bin {
        let width = Series::WIDTH.as_nanos();
        let start = Time::from_nanos(time.as_nanos() / width * width);
        &mut self.bins.entry(start).or_default()[from as usize]
    }
}

impl Recorder for Series {
    type Error = HungUp;

    fn record(&mut self, record: Record<'_>) -> Result<(), HungUp> {
        match record {
            Record::Queue { sample } => {
                let bin = self.bin(sample.time, sample.from);
                bin.queue_sum_packets += sample.packets;
                bin.queue_max_packets = bin.queue_max_packets.max(sample.packets);
            }
            Record::Throughput { bin: &ThroughputBin { start, from, offered, carried, .. } } => {
                let bin = self.bin(start, from);
                bin.offered_packets += offered.packets;
                bin.offered_bytes += offered.bytes;
                bin.carried_packets += carried.packets;
                bin.carried_bytes += carried.bytes;
            }
            Record::Dropped { packet } => {
                self.bin(packet.time, packet.from).dropped_packets += 1;
                *self.dropped[packet.from as usize].entry(packet.reason).or_default() += 1;
            }
            // A network knows no ends, and the rest does not appear in a series.
            _ => {}
        }
        Ok(())
    }
}
