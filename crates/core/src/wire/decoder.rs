//! From a captured packet to what it carries: one header after the other.

use super::ethernet::ether_type;
use super::fragments::{FragmentCounts, Fragments, Lead};
use super::ip::protocol;
use super::layer::{Layer, Rest, Trail};
use super::{LinkType, Parsed, Segment, SetAside, cooked, ethernet, ip, loopback, tcp, udp};
use crate::time::Time;

/// Decodes the packets of a capture, in its order.
///
/// One decoder reads one capture (or several merged). [`Decoder::decode`] says what each packet carries or why it is set
/// aside. Packets that came in fragments are put together: all fragments but the one that completes a packet are set
/// aside, and that one yields it. What waits for fragments is bounded: 4,096 packets, and 30 s of capture time.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    fragments: Fragments,
}

impl Decoder {
    /// What a captured packet carries, or why it yields nothing.
    ///
    /// `time` is the packet's, `bytes` what was captured of it, which may be cut; `wire_length` its length on the wire
    /// as the capture states it, which counts only where the IP header gives no length. `from` is filled in where the
    /// link header marks directions (Linux cooked), `macs` on Ethernet. Never panics, whatever the bytes.
    #[inline]
    pub fn decode(&mut self, time: Time, link: LinkType, bytes: &[u8], wire_length: u32) -> Result<Parsed, SetAside> {
        let length = wire_length.max(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        let rest = Rest { bytes, length, stated: false };
        match plain(link, rest) {
            Some(segment) => Ok(Parsed::Segment(segment)),
            None => self.walk(time, link, rest),
        }
    }

    /// How packets that came in fragments ended so far.
    pub fn fragments(&self) -> FragmentCounts {
        self.fragments.counts()
    }

    /// Any packet.
    #[inline(never)]
    fn walk(&mut self, time: Time, link: LinkType, mut rest: Rest<'_>) -> Result<Parsed, SetAside> {
        let mut trail = Trail::new(time);
        let layer = match link {
            LinkType::Ethernet => Layer::Ethernet,
            LinkType::RawIp => Layer::Ip,
            LinkType::LinuxCookedV1 => cooked::v1(&mut rest, &mut trail)?,
            LinkType::LinuxCookedV2 => cooked::v2(&mut rest, &mut trail)?,
            LinkType::Null | LinkType::Loop => loopback::open(&mut rest)?,
            LinkType::Unsupported(_) => return Err(SetAside::UnsupportedLink),
        };
        let mut parsed = self.steps(layer, rest, &mut trail)?;
        let (vlan, from, macs) = match &mut parsed {
            Parsed::Segment(segment) => (&mut segment.vlan, &mut segment.from, &mut segment.macs),
            Parsed::Datagram(datagram) => (&mut datagram.vlan, &mut datagram.from, &mut datagram.macs),
        };
        (*vlan, *from, *macs) = (trail.vlan, trail.from, trail.macs);
        Ok(parsed)
    }

    /// Goes from header to header to what the packet carries.
    fn steps(&mut self, mut layer: Layer, mut rest: Rest<'_>, trail: &mut Trail) -> Result<Parsed, SetAside> {
        loop {
            trail.pass()?;
            let found = match layer {
                Layer::Ethernet => {
                    layer = ethernet::open(&mut rest, trail)?;
                    continue;
                }
                Layer::EtherType(ether_type) => {
                    layer = ethernet::follow(ether_type, &mut rest, trail)?;
                    continue;
                }
                Layer::Ip => ip::open(&mut rest)?,
                Layer::Ipv4 => ip::v4(&mut rest)?,
                Layer::Ipv6 => ip::v6(&mut rest)?,
            };
            trail.ip_headers += 1;
            return match found.part {
                None => self.payload(&found, rest, trail),
                Some(part) => self.fragment(&found, part, rest, trail),
            };
        }
    }

    /// What follows an IP header.
    fn payload(&mut self, found: &ip::Header, mut rest: Rest<'_>, trail: &mut Trail) -> Result<Parsed, SetAside> {
        let _ = trail;
        match found.protocol {
            protocol::TCP => tcp::parse(rest.bytes, rest.length, found).map(Parsed::Segment),
            protocol::UDP => udp::parse(&mut rest, found).map(Parsed::Datagram),
            other => Err(set_aside(other)),
        }
    }

    /// A fragment: what its packet carries if it is the one that was lacking.
    fn fragment(
        &mut self,
        found: &ip::Header,
        part: ip::Part,
        rest: Rest<'_>,
        trail: &mut Trail,
    ) -> Result<Parsed, SetAside> {
        // Where IPv6 extension headers follow, only the first fragment shows to what they lead.
        if let reason @ (SetAside::Icmp | SetAside::OtherTransport) = set_aside(found.protocol)
            && !protocol::is_extension(found.protocol)
        {
            return Err(reason);
        }
        let lead = (part.offset == 0).then(|| {
            let ip_headers = trail.ip_headers;
            let outcome = self.payload(found, rest, trail);
            Lead { outcome, direct: trail.ip_headers == ip_headers }
        });
        self.fragments.pass(trail.time, trail.vlan, found, part, lead)
    }
}

/// The common packet: an untagged TCP segment in IPv4 or IPv6 on Ethernet or without a link header. `None` if it is
/// another or anything is wrong with it, which [`Decoder::walk`] then finds out.
#[inline(always)]
fn plain(link: LinkType, mut rest: Rest<'_>) -> Option<Segment> {
    let (macs, found) = match link {
        LinkType::Ethernet => {
            let (macs, ether_type) = ethernet::header(rest.take::<14>().ok()?);
            let found = match ether_type {
                ether_type::IPV4 => ip::v4(&mut rest).ok()?,
                ether_type::IPV6 => ip::v6(&mut rest).ok()?,
                _ => return None,
            };
            (Some(macs), found)
        }
        LinkType::RawIp => (None, ip::open(&mut rest).ok()?),
        _ => return None,
    };
    if found.protocol != protocol::TCP || found.part.is_some() {
        return None;
    }
    let mut segment = tcp::parse(rest.bytes, rest.length, &found).ok()?;
    segment.macs = macs;
    Some(segment)
}

/// What a protocol behind an IP header is set aside as.
fn set_aside(protocol: u8) -> SetAside {
    match protocol {
        protocol::ICMP | protocol::ICMPV6 => SetAside::Icmp,
        protocol::IPV4 | protocol::IPV6 | protocol::GRE | protocol::TCP | protocol::UDP => SetAside::Tunnel,
        _ => SetAside::OtherTransport,
    }
}
