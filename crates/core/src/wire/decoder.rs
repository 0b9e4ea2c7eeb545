//! From a captured packet to what it carries: one header after the other.

use super::fragments::{FragmentCounts, Fragments, Lead};
use super::ip::protocol;
use super::layer::{Layer, Rest, Trail};
use super::link::LinkType;
use super::packet::{Datagram, Parsed};
use super::set_aside::SetAside;
use super::{common, cooked, ethernet, gre, ip, loopback, mpls, ppp, ring, tcp, tunnel, udp};
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
        match common::segment(link, bytes) {
            Some(segment) => Ok(Parsed::Segment(segment)),
            None => self.walk(time, link, bytes, wire_length),
        }
    }

    /// How packets that came in fragments ended so far.
    pub fn fragments(&self) -> FragmentCounts {
        self.fragments.counts()
    }

    /// Any packet.
    #[inline(never)]
    pub(super) fn walk(
        &mut self,
        time: Time,
        link: LinkType,
        bytes: &[u8],
        wire_length: u32,
    ) -> Result<Parsed, SetAside> {
        let length = wire_length.max(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
        let mut rest = Rest { bytes, length, stated: false };
        let mut trail = Trail::new(time);
        let layer = match link {
            LinkType::Ethernet => Layer::Ethernet,
            LinkType::RawIp => Layer::Ip,
            LinkType::LinuxCookedV1 => cooked::v1(&mut rest, &mut trail)?,
            LinkType::LinuxCookedV2 => cooked::v2(&mut rest, &mut trail)?,
            LinkType::Null | LinkType::Loop => loopback::open(&mut rest)?,
            LinkType::Ppp => Layer::Ppp,
            LinkType::PppHdlc => ppp::hdlc(&mut rest)?,
            LinkType::PppOverEthernet => Layer::PppOverEthernet,
            LinkType::CiscoHdlc => ppp::cisco_hdlc(&mut rest)?,
            LinkType::Fddi => ring::fddi(&mut rest, &mut trail)?,
            LinkType::TokenRing => ring::token(&mut rest, &mut trail)?,
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
            layer = match layer {
                Layer::Ethernet => ethernet::open(&mut rest, trail)?,
                Layer::EtherType(ether_type) => ethernet::follow(ether_type, &mut rest, trail)?,
                Layer::Llc => ethernet::llc(&mut rest)?,
                Layer::Ppp => ppp::open(&mut rest)?,
                Layer::PppOverEthernet => ppp::over_ethernet(&mut rest)?,
                Layer::Mpls => mpls::open(&mut rest, trail)?,
                Layer::Gre => gre::open(&mut rest)?,
                Layer::Ip => return ip::open(&mut rest).and_then(|found| self.network(&found, rest, trail)),
                Layer::Ipv4 => return ip::v4(&mut rest).and_then(|found| self.network(&found, rest, trail)),
                Layer::Ipv6 => return ip::v6(&mut rest).and_then(|found| self.network(&found, rest, trail)),
            };
        }
    }

    /// A packet behind its IP header.
    fn network(&mut self, found: &ip::Header, rest: Rest<'_>, trail: &mut Trail) -> Result<Parsed, SetAside> {
        trail.ip_headers += 1;
        trail.inside = true;
        match found.part {
            None => self.payload(found, rest, trail),
            Some(part) => self.fragment(found, part, rest, trail),
        }
    }

    /// What follows an IP header.
    fn payload(&mut self, found: &ip::Header, mut rest: Rest<'_>, trail: &mut Trail) -> Result<Parsed, SetAside> {
        let layer = match found.protocol {
            protocol::TCP => return tcp::parse(rest.bytes, rest.length, found).map(Parsed::Segment),
            protocol::UDP => {
                let datagram = udp::parse(&mut rest, found)?;
                return self.tunnelled(&datagram, rest, trail).unwrap_or(Ok(Parsed::Datagram(datagram)));
            }
            protocol::IPV4 => Layer::Ipv4,
            protocol::IPV6 => Layer::Ipv6,
            protocol::GRE => Layer::Gre,
            protocol::MPLS => Layer::Mpls,
            // Two bytes, of which the first four bits are the version, before a frame.
            protocol::ETHERNET => match rest.take::<2>()? {
                [0x30, 0] => Layer::Ethernet,
                _ => return Err(SetAside::Malformed),
            },
            other => return Err(set_aside(other)),
        };
        self.steps(layer, rest, trail)
    }

    /// What is inside a datagram if it is a tunnel's: what its port and its first bytes announce must not be malformed.
    fn tunnelled(
        &mut self,
        datagram: &Datagram,
        rest: Rest<'_>,
        trail: &mut Trail,
    ) -> Option<Result<Parsed, SetAside>> {
        let (layer, rest) = tunnel::over_udp(datagram.destination.port, rest)?;
        let ip_headers = trail.ip_headers;
        match self.steps(layer, rest, trail) {
            Err(SetAside::Malformed) => {
                trail.ip_headers = ip_headers;
                None
            }
            found => Some(found),
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
        if !protocol::is_read(found.protocol) && !protocol::is_extension(found.protocol) {
            return Err(set_aside(found.protocol));
        }
        let lead = (part.offset == 0).then(|| {
            let ip_headers = trail.ip_headers;
            let outcome = self.payload(found, rest, trail);
            Lead { outcome, direct: trail.ip_headers == ip_headers }
        });
        self.fragments.pass(trail.time, trail.vlan, found, part, lead)
    }
}

/// What a protocol behind an IP header is set aside as.
fn set_aside(protocol: u8) -> SetAside {
    match protocol {
        protocol::ICMP | protocol::ICMPV6 => SetAside::Icmp,
        protocol::ENCRYPTED => SetAside::Tunnel,
        _ => SetAside::OtherTransport,
    }
}
