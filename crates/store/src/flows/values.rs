//! From the bytes of a data record to what it says.

use flowloom_core::time::Time;
use flowloom_core::wire::{Address, Flags};
use flowloom_core::workload::Side;

use super::bytes::unsigned;
use super::domain::{Domain, Sampler};
use super::element::{Element, NUMBERS, Number};
use super::record::{Clock, Counters, EndReason, FirewallEvent, FlowRecord, ObservationPoint, Sampling, Version};
use super::template::{Template, VARIABLE};

/// Seconds from 1900 (NTP) to 1970 (Unix).
const NTP_TO_UNIX: u64 = 2_208_988_800;
/// IPv4-mapped IPv6 addresses begin so.
const MAPPED: u128 = 0xffff_0000_0000;

/// What a message's header says that its records need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub version: Version,
    /// When it was sent.
    pub exported: Time,
    /// Milliseconds since the exporter's start when it was sent; IPFIX does not say.
    pub uptime: Option<u32>,
    pub observed: ObservationPoint,
}

/// When a flow began and ended, as far as its record and header say.
enum Times {
    Known(Time, Time, Clock),
    /// Milliseconds since a start of the exporter that is not known.
    Uptime(u64, u64),
}

/// A flow record, and its times since the exporter's start if that is all there is of them.
pub(super) struct Decoded {
    pub record: FlowRecord,
    pub uptimes: Option<(u64, u64)>,
}

/// The values of one data record. One is used for many records: clearing it costs nothing.
pub(super) struct Values {
    numbers: [u64; NUMBERS],
    /// Bit per number: it is there.
    present: u64,
    /// Source and destination, IPv4 and IPv6.
    v4: [Option<[u8; 4]>; 2],
    v6: [Option<[u8; 16]>; 2],
}

impl Values {
    pub fn new() -> Values {
        Values { numbers: [0; NUMBERS], present: 0, v4: [None; 2], v6: [None; 2] }
    }

    /// Reads the record at the start of `bytes`; its length, `None` if it goes past their end.
    #[inline]
    pub fn read(&mut self, template: &Template, bytes: &[u8]) -> Option<usize> {
        self.present = 0;
        (self.v4, self.v6) = ([None; 2], [None; 2]);
        let mut at = 0;
        for field in &template.fields {
            let length = match field.length {
                VARIABLE => {
                    let (length, header) = variable_length(bytes.get(at..)?)?;
                    at += header;
                    length
                }
                length => usize::from(length),
            };
            let value = bytes.get(at..at + length)?;
            at += length;
            match field.element {
                Element::Skip => {}
                Element::Number(number) => self.note(number, value),
                Element::Source4 => self.v4[0] = value.try_into().ok(),
                Element::Destination4 => self.v4[1] = value.try_into().ok(),
                Element::Source6 => self.v6[0] = value.try_into().ok(),
                Element::Destination6 => self.v6[1] = value.try_into().ok(),
            }
        }
        Some(at)
    }

    /// Takes note of a number. Flags come in several elements and add up; of others the first counts.
    #[inline]
    fn note(&mut self, number: Number, value: &[u8]) {
        let Some(value) = unsigned(value) else { return };
        let bit = 1 << number as u32;
        let slot = &mut self.numbers[number as usize];
        if self.present & bit == 0 {
            *slot = value;
            self.present |= bit;
        } else if matches!(number, Number::Flags | Number::ReverseFlags) {
            *slot |= value;
        }
    }

    #[inline]
    pub fn get(&self, number: Number) -> Option<u64> {
        (self.present >> number as u32 & 1 == 1).then(|| self.numbers[number as usize])
    }

    /// The flow record in it, if it has the addresses of one.
    pub fn flow(&self, header: &Header, domain: &mut Domain) -> Option<Decoded> {
        let [source, destination] = [self.address(0)?, self.address(1)?];
        let port = |number| self.get(number).unwrap_or_default() as u16;
        let protocol = self.get(Number::Protocol).unwrap_or_default() as u8;
        let event = self.get(Number::FirewallEvent).and_then(|event| match event {
            0 => None,
            1 => Some(FirewallEvent::Created),
            2 => Some(FirewallEvent::Deleted),
            3 => Some(FirewallEvent::Denied),
            _ => Some(FirewallEvent::Other),
        });
        let (forward, reverse, totals) = self.counters(header.version, event.is_some());
        let sampling = self.sampling(domain);
        let (first, last, clock, uptimes) = match self.times(header, domain) {
            Times::Known(first, last, clock) => (first, last.max(first), clock, None),
            Times::Uptime(first, last) => (header.exported, header.exported, Clock::Estimated, Some((first, last))),
        };
        let direction = self.get(Number::FlowDirection).map(|direction| direction as u8);
        let record = FlowRecord {
            version: header.version,
            protocol,
            source: Address { ip: source, port: port(Number::SourcePort) },
            destination: Address { ip: destination, port: port(Number::DestinationPort) },
            first,
            last,
            clock,
            exported: header.exported,
            forward,
            reverse,
            totals,
            source_side: self.source_side(event),
            end_reason: self.get(Number::EndReason).and_then(EndReason::new),
            event,
            sampling,
            observed: ObservationPoint { direction, ..header.observed },
        };
        Some(Decoded { record, uptimes })
    }

    /// Where a template has both kinds of address, the one not filled is zero.
    fn address(&self, end: usize) -> Option<u128> {
        let v4 = self.v4[end].map(u32::from_be_bytes);
        let v6 = self.v6[end].map(u128::from_be_bytes);
        match (v4, v6) {
            (Some(0), Some(v6)) if v6 != 0 => Some(v6),
            (Some(v4), _) => Some(MAPPED | u128::from(v4)),
            (None, v6) => v6,
        }
    }

    /// The counts of both directions, and whether they run from the start of the flow.
    fn counters(&self, version: Version, firewall: bool) -> (Counters, Option<Counters>, bool) {
        let flags = |number| self.get(number).map(|flags| Flags(flags as u8));
        let delta = Counters {
            octets: self.get(Number::Octets),
            packets: self.get(Number::Packets).or(self.get(Number::InitiatorPackets)),
            payload: self.get(Number::InitiatorOctets),
            flags: flags(Number::Flags),
        };
        let after = Counters {
            octets: self.get(Number::PostOctets),
            packets: self.get(Number::PostPackets),
            ..Counters::default()
        };
        let told = Counters {
            octets: self.get(Number::ReverseOctets),
            packets: self.get(Number::ReversePackets).or(self.get(Number::ResponderPackets)),
            payload: self.get(Number::ResponderOctets),
            flags: flags(Number::ReverseFlags),
        };
        let counted = |counters: &Counters| counters.octets.or(counters.packets).or(counters.payload).is_some();
        if counted(&delta) {
            let reverse = if !told.is_empty() {
                Some(told)
            } else if version == Version::V9 && counted(&after) && !same_counts(&delta, &after) {
                // Exporters of NetFlow v9 that count both "in" and "out" mean the two directions of the connection.
                Some(after)
            } else {
                None
            };
            return (delta, reverse, false);
        }
        let total = Counters {
            // A firewall's total is that of both directions together, which says nothing of either.
            octets: self.get(Number::TotalOctets).filter(|_| !firewall),
            packets: self.get(Number::TotalPackets).filter(|_| !firewall),
            payload: None,
            flags: delta.flags,
        };
        if counted(&total) {
            let reverse = Counters {
                octets: self.get(Number::ReverseTotalOctets),
                packets: self.get(Number::ReverseTotalPackets),
                ..told
            };
            return (total, Some(reverse).filter(|reverse| !reverse.is_empty()), true);
        }
        // Metered as it left the exporter.
        (Counters { flags: delta.flags, ..after }, Some(told).filter(|told| !told.is_empty()), false)
    }

    fn source_side(&self, event: Option<FirewallEvent>) -> Option<Side> {
        let of_connection = [Number::InitiatorOctets, Number::ResponderOctets, Number::InitiatorPackets];
        match self.get(Number::BiflowDirection) {
            Some(1) => Some(Side::Initiator),
            Some(2) => Some(Side::Acceptor),
            Some(_) => None,
            None if event.is_some() || of_connection.into_iter().any(|number| self.get(number).is_some()) => {
                Some(Side::Initiator)
            }
            None => None,
        }
    }

    fn times(&self, header: &Header, domain: &mut Domain) -> Times {
        let millis = |number| self.get(number).map(|ms| ms.saturating_mul(1_000_000));
        let micros = |number| self.get(number).map(|us| us.saturating_mul(1_000));
        let seconds = |number| self.get(number).map(|s| s.saturating_mul(1_000_000_000));
        let ntp = |number| self.get(number).map(ntp_to_unix);
        let exported = header.exported.as_nanos();
        let before_export = |number| micros(number).map(|delta| exported.saturating_sub(delta));
        let first = ntp(Number::StartNanoseconds)
            .or_else(|| ntp(Number::StartMicroseconds))
            .or_else(|| millis(Number::StartMilliseconds))
            .or_else(|| before_export(Number::StartDelta))
            .or_else(|| seconds(Number::StartSeconds));
        let last = ntp(Number::EndNanoseconds)
            .or_else(|| ntp(Number::EndMicroseconds))
            .or_else(|| millis(Number::EndMilliseconds))
            .or_else(|| before_export(Number::EndDelta))
            .or_else(|| seconds(Number::EndSeconds))
            .or_else(|| millis(Number::ObservedMilliseconds))
            .or_else(|| ntp(Number::ObservedMicroseconds))
            .or_else(|| ntp(Number::ObservedNanoseconds))
            .or_else(|| seconds(Number::ObservedSeconds));
        let duration = || micros(Number::DurationMicroseconds).or(millis(Number::DurationMilliseconds));
        let stated =
            |first: u64, last: u64| Times::Known(Time::from_nanos(first), Time::from_nanos(last), Clock::Stated);
        match (first, last) {
            (Some(first), Some(last)) => return stated(first, last),
            (Some(first), None) => return stated(first, first.saturating_add(duration().unwrap_or(0))),
            (None, Some(last)) => return stated(last.saturating_sub(duration().unwrap_or(0)), last),
            (None, None) => {}
        }
        let (start, end) = (self.get(Number::StartUptime), self.get(Number::EndUptime));
        let Some(first) = start.or(end) else { return Times::Known(header.exported, header.exported, Clock::Export) };
        let last = end.unwrap_or(first);
        if let Some(uptime) = header.uptime {
            let at = |value: u64| since_start(header.exported, uptime, value as u32);
            return Times::Known(at(first), at(last), Clock::Stated);
        }
        match self.get(Number::SystemInit).or(domain.system_init) {
            Some(start) => {
                let at = |uptime: u64| start.saturating_add(uptime).saturating_mul(1_000_000);
                stated(at(first), at(last))
            }
            None => Times::Uptime(first, last),
        }
    }

    /// How much of the traffic this record stands for: what it says itself, or what was said of its sampler.
    fn sampling(&self, domain: &Domain) -> Sampling {
        if let Some(sampling) = self.stated_sampling() {
            return sampling;
        }
        let sampler = self.get(Number::SamplerId).or(self.get(Number::SelectorId));
        let interface = self.get(Number::Interface).map(Sampler::Interface);
        match sampler {
            Some(0) => Sampling::None,
            Some(id) => domain.samplers.get(&Sampler::Id(id)).copied().unwrap_or(Sampling::Unknown),
            None => {
                let of_interface = interface.and_then(|interface| domain.samplers.get(&interface));
                of_interface.or_else(|| domain.samplers.get(&Sampler::All)).copied().unwrap_or(Sampling::None)
            }
        }
    }

    /// The sampling that the record states, in one of the ways there are.
    fn stated_sampling(&self) -> Option<Sampling> {
        if let Some(interval) = self.get(Number::SamplingInterval).or(self.get(Number::SamplerRandomInterval)) {
            return Some(Sampling::share(1, interval));
        }
        // RFC 5477: so many packets sampled, then so many not.
        if let Some(sampled) = self.get(Number::SamplingPacketInterval) {
            return Some(match self.get(Number::SamplingPacketSpace) {
                Some(space) => Sampling::share(sampled, sampled.saturating_add(space)),
                None if sampled <= 1 => Sampling::None,
                None => Sampling::Unknown,
            });
        }
        if let (Some(size), Some(population)) = (self.get(Number::SamplingSize), self.get(Number::SamplingPopulation)) {
            return Some(Sampling::share(size, population));
        }
        let probability = f64::from_bits(self.get(Number::SamplingProbability)?);
        Some(match probability {
            p if p >= 1.0 => Sampling::None,
            p if p > 0.0 => Sampling::share(1_000_000, (1_000_000.0 / p).round() as u64),
            _ => Sampling::Unknown,
        })
    }

    /// What an options record says of a sampler.
    pub fn sampler(&self) -> Option<(Sampler, Sampling)> {
        let sampling = self.stated_sampling()?;
        let id = self.get(Number::SamplerId).or(self.get(Number::SelectorId)).map(Sampler::Id);
        let of = id.or(self.get(Number::Interface).map(Sampler::Interface)).unwrap_or(Sampler::All);
        Some((of, sampling))
    }
}

fn same_counts(one: &Counters, other: &Counters) -> bool {
    (one.octets, one.packets) == (other.octets, other.packets)
}

/// Length and header of a variable-length value (RFC 7011 section 7).
fn variable_length(bytes: &[u8]) -> Option<(usize, usize)> {
    match *bytes.first()? {
        255 => Some((usize::from(super::bytes::u16_at(bytes, 1)?), 3)),
        short => Some((usize::from(short), 1)),
    }
}

/// The time at which the exporter's uptime was `then` milliseconds, it being `uptime` at `exported`. It wraps after 49.7 days;
/// a time up to half of that before or after `exported` is meant.
pub(super) fn since_start(exported: Time, uptime: u32, then: u32) -> Time {
    let earlier = uptime.wrapping_sub(then) as i32;
    let nanos = exported.as_nanos().saturating_add_signed(-i64::from(earlier) * 1_000_000);
    Time::from_nanos(nanos)
}

/// Nanoseconds since 1970 of a time in NTP's format: seconds since 1900 and a fraction of 2^-32 (RFC 7011 section
/// 6.1.9). Seconds before 1970 are of the era that begins in 2036.
fn ntp_to_unix(ntp: u64) -> u64 {
    let (seconds, fraction) = (ntp >> 32, ntp & 0xffff_ffff);
    let seconds = if seconds >= NTP_TO_UNIX { seconds } else { seconds + (1 << 32) } - NTP_TO_UNIX;
    // Rounded to the nearest: the fraction of a round decimal is a hair below it.
    seconds * 1_000_000_000 + ((fraction * 1_000_000_000 + (1 << 31)) >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ntp_times() {
        // RFC 5905 appendix: 1 January 1970 is 2,208,988,800 s of era 0.
        assert_eq!(ntp_to_unix(NTP_TO_UNIX << 32), 0);
        assert_eq!(ntp_to_unix((NTP_TO_UNIX + 1) << 32 | 0x8000_0000), 1_500_000_000);
        assert_eq!(ntp_to_unix(0), ((1u64 << 32) - NTP_TO_UNIX) * 1_000_000_000, "7 February 2036, 06:28:16 UTC");
        // 0.000001 s as RFC 7011 encodes it, cut to 32 bits.
        assert_eq!(ntp_to_unix(NTP_TO_UNIX << 32 | 4_295), 1_000);
        assert!(ntp_to_unix(u64::MAX) > 0);
    }

    #[test]
    fn uptimes_wrap() {
        let exported = Time::from_nanos(1_700_000_000_000_000_000);
        let ms = |ms: i64| Time::from_nanos(exported.as_nanos().saturating_add_signed(ms * 1_000_000));
        assert_eq!(since_start(exported, 10_000, 4_000), ms(-6_000));
        assert_eq!(since_start(exported, 1_000, u32::MAX - 999), ms(-2_000), "the flow began before the wrap");
        assert_eq!(since_start(exported, 1_000, 1_500), ms(500), "stamped after the header");
        assert_eq!(since_start(Time::ZERO, 10_000, 4_000), Time::ZERO, "never before the epoch");
    }
}
