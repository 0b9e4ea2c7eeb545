//! From a captured packet to what it carries: one header after the other.

use super::ethernet::ether_type;
use super::layer::{Layer, Rest, Trail};
use super::{LinkType, Parsed, Segment, SetAside, cooked, ethernet, ip, loopback, tcp, udp};
use crate::time::Time;

/// Decodes the packets of a capture, in its order.
///
/// One decoder reads one capture (or several merged). [`Decoder::decode`] says what each packet carries or why it is set
/// aside.
#[derive(Clone, Debug, Default)]
pub struct Decoder {}

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

    /// Any packet.
    #[inline(never)]
    fn walk(&mut self, time: Time, link: LinkType, rest: Rest<'_>) -> Result<Parsed, SetAside> {
        let _ = time;
        let (mut rest, mut trail) = (rest, Trail::new());
        let layer = match link {
            LinkType::Ethernet => Layer::Ethernet,
            LinkType::RawIp => Layer::Ip,
            LinkType::LinuxCookedV1 => cooked::v1(&mut rest, &mut trail)?,
            LinkType::LinuxCookedV2 => cooked::v2(&mut rest, &mut trail)?,
            LinkType::Null | LinkType::Loop => loopback::open(&mut rest)?,
            LinkType::Unsupported(_) => return Err(SetAside::UnsupportedLink),
        };
        let mut parsed = steps(layer, rest, &mut trail)?;
        let (vlan, from, macs) = match &mut parsed {
            Parsed::Segment(segment) => (&mut segment.vlan, &mut segment.from, &mut segment.macs),
            Parsed::Datagram(datagram) => (&mut datagram.vlan, &mut datagram.from, &mut datagram.macs),
        };
        (*vlan, *from, *macs) = (trail.vlan, trail.from, trail.macs);
        Ok(parsed)
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
    if found.protocol != ip::protocol::TCP || found.later_fragment {
        return None;
    }
    let mut segment = tcp::parse(rest.bytes, rest.length, &found).ok()?;
    segment.macs = macs;
    Some(segment)
}

/// Goes from header to header to what the packet carries.
fn steps(mut layer: Layer, mut rest: Rest<'_>, trail: &mut Trail) -> Result<Parsed, SetAside> {
    loop {
        trail.pass()?;
        layer = match layer {
            Layer::Ethernet => ethernet::open(&mut rest, trail)?,
            Layer::EtherType(ether_type) => ethernet::follow(ether_type, &mut rest, trail)?,
            Layer::Ip => Layer::Payload(ip::open(&mut rest)?),
            Layer::Ipv4 => Layer::Payload(ip::v4(&mut rest)?),
            Layer::Ipv6 => Layer::Payload(ip::v6(&mut rest)?),
            Layer::Payload(found) => return payload(&found, rest),
        };
    }
}

/// What follows an IP header.
fn payload(found: &ip::Header, mut rest: Rest<'_>) -> Result<Parsed, SetAside> {
    use ip::protocol;
    match found.protocol {
        protocol::TCP if !found.later_fragment => tcp::parse(rest.bytes, rest.length, found).map(Parsed::Segment),
        protocol::UDP if !found.later_fragment => udp::parse(&mut rest, found).map(Parsed::Datagram),
        protocol::TCP | protocol::UDP => Err(SetAside::Fragment),
        protocol::ICMP | protocol::ICMPV6 => Err(SetAside::Icmp),
        protocol::IPV4 | protocol::IPV6 | protocol::GRE => Err(SetAside::Tunnel),
        _ => Err(SetAside::OtherTransport),
    }
}
