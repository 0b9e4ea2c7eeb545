//! The information elements that are understood, by their numbers in IANA's registry.
//!
//! NetFlow v9 and IPFIX share the numbers up to 127; exporters use the later ones in both.

use super::record::Version;

/// Enterprise number of the reverse elements (RFC 5103).
const REVERSE: u32 = 29_305;
/// Enterprise number of CERT, who make YAF.
const CERT: u32 = 6_871;
/// Enterprise number of Ixia.
const IXIA: u32 = 3_054;

/// A number in a data record that is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Number {
    Protocol,
    SourcePort,
    DestinationPort,
    Octets,
    Packets,
    PostOctets,
    PostPackets,
    TotalOctets,
    TotalPackets,
    Flags,
    ReverseOctets,
    ReversePackets,
    ReverseTotalOctets,
    ReverseTotalPackets,
    ReverseFlags,
    InitiatorOctets,
    ResponderOctets,
    InitiatorPackets,
    ResponderPackets,
    StartUptime,
    EndUptime,
    SystemInit,
    StartSeconds,
    EndSeconds,
    StartMilliseconds,
    EndMilliseconds,
    StartMicroseconds,
    EndMicroseconds,
    StartNanoseconds,
    EndNanoseconds,
    StartDelta,
    EndDelta,
    DurationMilliseconds,
    DurationMicroseconds,
    ObservedSeconds,
    ObservedMilliseconds,
    ObservedMicroseconds,
    ObservedNanoseconds,
    EndReason,
    FirewallEvent,
    BiflowDirection,
    FlowDirection,
    Interface,
    SamplerId,
    SelectorId,
    SamplingInterval,
    SamplerRandomInterval,
    SamplingPacketInterval,
    SamplingPacketSpace,
    SamplingSize,
    SamplingPopulation,
    SamplingProbability,
}

/// How many [`Number`]s there are: fewer than a word has bits.
pub(super) const NUMBERS: usize = Number::SamplingProbability as usize + 1;
const _: () = assert!(NUMBERS <= u64::BITS as usize);

/// A field of a data record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    /// Not understood, or nothing a connection vector needs.
    Skip,
    /// A number.
    Number(Number),
    /// Source address, IPv4.
    Source4,
    /// Destination address, IPv4.
    Destination4,
    /// Source address, IPv6.
    Source6,
    /// Destination address, IPv6.
    Destination6,
}

impl Element {
    /// The element `id` of `enterprise` in templates of `version`.
    pub fn new(version: Version, enterprise: Option<u32>, id: u16) -> Element {
        match enterprise {
            None => Element::of_registry(version, id),
            Some(REVERSE) => Element::reversed(id),
            // YAF splits the flags into those of the first packet and those of the others.
            Some(CERT) => match id {
                14 | 15 => Element::Number(Number::Flags),
                0x400e | 0x400f => Element::Number(Number::ReverseFlags),
                _ => Element::Skip,
            },
            // Ixia has reverse counts of its own.
            Some(IXIA) => match id {
                176 => Element::Number(Number::ReverseOctets),
                177 => Element::Number(Number::ReversePackets),
                _ => Element::Skip,
            },
            Some(_) => Element::Skip,
        }
    }

    fn of_registry(version: Version, id: u16) -> Element {
        Element::Number(match id {
            8 => return Element::Source4,
            12 => return Element::Destination4,
            27 => return Element::Source6,
            28 => return Element::Destination6,
            1 => Number::Octets,
            2 => Number::Packets,
            4 => Number::Protocol,
            6 => Number::Flags,
            7 | 180 | 182 => Number::SourcePort,
            10 => Number::Interface,
            11 | 181 | 183 => Number::DestinationPort,
            21 => Number::EndUptime,
            22 => Number::StartUptime,
            23 => Number::PostOctets,
            24 => Number::PostPackets,
            34 => Number::SamplingInterval,
            48 => Number::SamplerId,
            50 => Number::SamplerRandomInterval,
            61 => Number::FlowDirection,
            85 => Number::TotalOctets,
            86 => Number::TotalPackets,
            136 => Number::EndReason,
            150 => Number::StartSeconds,
            151 => Number::EndSeconds,
            152 => Number::StartMilliseconds,
            153 => Number::EndMilliseconds,
            154 => Number::StartMicroseconds,
            155 => Number::EndMicroseconds,
            156 => Number::StartNanoseconds,
            157 => Number::EndNanoseconds,
            158 => Number::StartDelta,
            159 => Number::EndDelta,
            160 => Number::SystemInit,
            161 => Number::DurationMilliseconds,
            162 => Number::DurationMicroseconds,
            231 => Number::InitiatorOctets,
            232 => Number::ResponderOctets,
            233 => Number::FirewallEvent,
            // Cisco's number for it before the registry had one.
            40_005 if version == Version::V9 => Number::FirewallEvent,
            239 => Number::BiflowDirection,
            298 => Number::InitiatorPackets,
            299 => Number::ResponderPackets,
            302 => Number::SelectorId,
            305 => Number::SamplingPacketInterval,
            306 => Number::SamplingPacketSpace,
            309 => Number::SamplingSize,
            310 => Number::SamplingPopulation,
            311 => Number::SamplingProbability,
            322 => Number::ObservedSeconds,
            323 => Number::ObservedMilliseconds,
            324 => Number::ObservedMicroseconds,
            325 => Number::ObservedNanoseconds,
            _ => return Element::Skip,
        })
    }

    fn reversed(id: u16) -> Element {
        Element::Number(match id {
            1 => Number::ReverseOctets,
            2 => Number::ReversePackets,
            6 => Number::ReverseFlags,
            85 => Number::ReverseTotalOctets,
            86 => Number::ReverseTotalPackets,
            _ => return Element::Skip,
        })
    }
}
