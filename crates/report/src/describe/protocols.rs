//! Packets by what they carry, as in Cáceres' (1992) table of protocols.

use flowloom_core::wire::{Parsed, SetAside};
use serde::Serialize;

/// Packets by what they carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ProtocolShare {
    /// One of [`NAMES`].
    pub protocol: &'static str,
    /// Packets.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
}

/// The rows of the table.
const NAMES: [&str; 6] = ["tcp", "udp", "icmp", "other_ip", "not_ip", "not_read"];

/// Counts packets by what they carry.
#[derive(Clone, Debug, Default)]
pub struct Protocols([Traffic; NAMES.len()]);

#[derive(Clone, Copy, Debug, Default)]
struct Traffic {
    packets: u64,
    bytes: u64,
}

impl Protocols {
    /// Counts a packet of `wire_length` bytes, or why it could not be read.
    pub fn packet(&mut self, parsed: &Result<Parsed, SetAside>, wire_length: u32) {
        let row = match parsed {
            Ok(Parsed::Segment(_)) => 0,
            Ok(Parsed::Datagram(_)) | Err(SetAside::Udp | SetAside::UdpFragment) => 1,
            Err(SetAside::Icmp) => 2,
            Err(SetAside::OtherTransport | SetAside::Fragment | SetAside::FragmentConflict) => 3,
            Err(SetAside::NotIp) => 4,
            Err(
                SetAside::UnsupportedLink
                | SetAside::Mpls
                | SetAside::Tunnel
                | SetAside::HeaderCut
                | SetAside::Malformed,
            ) => 5,
        };
        self.0[row].packets += 1;
        self.0[row].bytes += u64::from(wire_length);
    }

    /// The rows that have packets.
    pub fn finish(self) -> Vec<ProtocolShare> {
        let rows = NAMES.into_iter().zip(self.0).filter(|(_, traffic)| traffic.packets > 0);
        rows.map(|(protocol, Traffic { packets, bytes })| ProtocolShare { protocol, packets, bytes }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_is_in_one_row() {
        let mut protocols = Protocols::default();
        for reason in SetAside::ALL {
            protocols.packet(&Err(reason), 100);
        }
        let rows = protocols.finish();
        assert_eq!(rows.iter().map(|row| row.packets).sum::<u64>(), SetAside::ALL.len() as u64);
        assert_eq!(rows.iter().map(|row| row.bytes).sum::<u64>(), 100 * SetAside::ALL.len() as u64);
        let udp = rows.iter().find(|row| row.protocol == "udp").unwrap();
        assert_eq!(udp.packets, 2, "unread datagrams and their fragments");
        assert!(rows.iter().all(|row| row.protocol != "tcp"));
    }
}
