//! Datagrams by length.

use std::collections::BTreeMap;

use crate::extract::conversations::Transport;

/// Bytes of the IPv4 and transport headers without options: 40 for TCP, 28 for UDP (methods H.1).
pub const fn header_bytes(transport: Transport) -> u32 {
    match transport {
        Transport::Tcp => 40,
        Transport::Udp => 28,
    }
}

/// Datagrams of one length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Group {
    /// How many.
    pub datagrams: u64,
    /// Application bytes in all of them: less than their lengths by the headers, which may differ.
    pub data_bytes: u64,
}

/// A histogram of the lengths of IP datagrams, headers included. Sums stop at the largest number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lengths(BTreeMap<(Transport, u32), Group>);

impl Lengths {
    /// Adds `count` datagrams of `ip_bytes` of which `data_bytes` are the application's; more than the length counts as the length.
    pub fn add(&mut self, transport: Transport, ip_bytes: u32, data_bytes: u32, count: u64) {
        if count == 0 {
            return;
        }
        let group = self.0.entry((transport, ip_bytes)).or_default();
        group.datagrams = group.datagrams.saturating_add(count);
        let data = u64::from(data_bytes.min(ip_bytes)).saturating_mul(count);
        group.data_bytes = group.data_bytes.saturating_add(data);
    }

    /// Adds `count` datagrams with `data_bytes` after headers without options.
    pub fn add_data(&mut self, transport: Transport, data_bytes: u32, count: u64) {
        self.add(transport, data_bytes.saturating_add(header_bytes(transport)), data_bytes, count);
    }

    /// Transport and IP length of each group, in that order.
    pub fn groups(&self) -> impl Iterator<Item = (Transport, u32, Group)> + '_ {
        self.0.iter().map(|(&(transport, ip_bytes), &group)| (transport, ip_bytes, group))
    }

    /// How many datagrams of `transport`.
    pub fn datagrams(&self, transport: Transport) -> u64 {
        self.of(transport).fold(0, |sum, (_, group)| sum.saturating_add(group.datagrams))
    }

    /// Application bytes over `transport`.
    pub fn data_bytes(&self, transport: Transport) -> u64 {
        self.of(transport).fold(0, |sum, (_, group)| sum.saturating_add(group.data_bytes))
    }

    /// IP bytes over `transport`.
    pub fn ip_bytes(&self, transport: Transport) -> u64 {
        self.of(transport)
            .fold(0, |sum, (length, group)| sum.saturating_add(u64::from(length).saturating_mul(group.datagrams)))
    }

    /// Whether there is no datagram.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The longest datagram, in IP bytes.
    pub fn longest(&self) -> Option<u32> {
        self.0.keys().map(|(_, ip_bytes)| *ip_bytes).max()
    }

    fn of(&self, transport: Transport) -> impl Iterator<Item = (u32, Group)> + '_ {
        self.0.range((transport, 0)..=(transport, u32::MAX)).map(|(&(_, length), &group)| (length, group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_of_one_length_are_one_group() {
        let mut lengths = Lengths::default();
        lengths.add_data(Transport::Tcp, 12, 3);
        // 12 bytes of options.
        lengths.add(Transport::Tcp, 52, 0, 2);
        lengths.add_data(Transport::Udp, 12, 1);
        lengths.add(Transport::Udp, 8, 12, 1);
        lengths.add_data(Transport::Udp, 700, 0);
        let groups: Vec<_> = lengths.groups().collect();
        let group = |datagrams, data_bytes| Group { datagrams, data_bytes };
        assert_eq!(
            groups,
            [(Transport::Tcp, 52, group(5, 36)), (Transport::Udp, 8, group(1, 8)), (Transport::Udp, 40, group(1, 12)),]
        );
        assert_eq!((lengths.datagrams(Transport::Tcp), lengths.ip_bytes(Transport::Tcp)), (5, 260));
        assert_eq!((lengths.data_bytes(Transport::Udp), lengths.longest()), (20, Some(52)));
    }
}
