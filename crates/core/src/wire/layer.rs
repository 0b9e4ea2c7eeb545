//! What the walk from one header to the next keeps.

use super::packet::Vlan;
use super::set_aside::SetAside;
use crate::time::Time;
use crate::workload::LinkSide;

/// The header that comes next.
#[derive(Clone, Copy, Debug)]
pub(super) enum Layer {
    /// An Ethernet header.
    Ethernet,
    /// An LLC header.
    Llc,
    /// A PPP header.
    Ppp,
    /// A PPPoE header.
    PppOverEthernet,
    /// An MPLS label.
    Mpls,
    /// A GRE header.
    Gre,
    /// What this EtherType says.
    EtherType(u16),
    /// An IPv4 or IPv6 header, told apart by its version.
    Ip,
    /// An IPv4 header.
    Ipv4,
    /// An IPv6 header.
    Ipv6,
}

/// What is left of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest<'a> {
    /// As far as it was captured.
    pub bytes: &'a [u8],
    /// Its length on the wire.
    pub length: u32,
    /// An IP header says so, not the record, which may lie.
    pub stated: bool,
}

impl<'a> Rest<'a> {
    /// Goes past the next `N` bytes and returns them.
    #[inline(always)]
    pub fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], SetAside> {
        let Some((header, bytes)) = self.bytes.split_first_chunk::<N>() else { return Err(self.cut(N)) };
        (self.bytes, self.length) = (bytes, self.length.saturating_sub(N as u32));
        Ok(header)
    }

    /// Goes past `count` bytes.
    #[inline(always)]
    pub fn skip(&mut self, count: usize) -> Result<(), SetAside> {
        let Some(bytes) = self.bytes.get(count..) else { return Err(self.cut(count)) };
        (self.bytes, self.length) = (bytes, self.length.saturating_sub(count as u32));
        Ok(())
    }

    /// Why there are no `needed` bytes: the capture cut them off, or the packet never had them.
    #[cold]
    fn cut(&self, needed: usize) -> SetAside {
        if self.stated && (self.length as usize) < needed { SetAside::Malformed } else { SetAside::HeaderCut }
    }
}

/// What the headers passed so far told of the packet, and how many more there may be.
#[derive(Debug)]
pub(super) struct Trail {
    /// When the packet passed.
    pub time: Time,
    /// Tags of this link.
    pub vlan: Option<Vlan>,
    /// Destination and source on this link.
    pub macs: Option<[[u8; 6]; 2]>,
    /// Direction by the link header.
    pub from: Option<LinkSide>,
    /// A network header or another frame was passed: tags and addresses from here on are not this link's.
    pub inside: bool,
    /// IP headers passed.
    pub ip_headers: u32,
    /// Headers that may follow.
    pub headers_left: u32,
}

impl Trail {
    /// More headers than any packet needs, tags and labels included; a longer chain is a crafted packet.
    pub const MOST_HEADERS: u32 = 32;

    /// At the first byte of a packet.
    pub fn new(time: Time) -> Trail {
        Trail {
            time,
            vlan: None,
            macs: None,
            from: None,
            inside: false,
            ip_headers: 0,
            headers_left: Trail::MOST_HEADERS,
        }
    }

    /// Counts one more header.
    #[inline(always)]
    pub fn pass(&mut self) -> Result<(), SetAside> {
        self.headers_left = self.headers_left.checked_sub(1).ok_or(SetAside::Malformed)?;
        Ok(())
    }
}
