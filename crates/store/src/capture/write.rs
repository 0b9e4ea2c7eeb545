//! Captures of a run: nanosecond pcap files of headers, made up from what the simulated ends sent.

use std::io::{self, Write};

use flowloom_core::record::PacketRecord;
use flowloom_core::wire::Flags;
use flowloom_core::workload::{IpVersion, LinkSide, Side};

use super::detect::PCAP_NANOSECONDS;

/// Bytes of the synthesised headers without TCP options.
const ETHERNET: usize = 14;
const IPV6: usize = 40;
const TCP: usize = 20;
const UDP: usize = 8;
/// Protocol numbers in IP headers.
const TCP_NUMBER: u8 = 6;
const UDP_NUMBER: u8 = 17;
/// The longest options that a header has room for.
const MOST_OPTIONS: usize = 40;
const SNAP_LENGTH: usize = ETHERNET + IPV6 + TCP + MOST_OPTIONS;

/// The port of every acceptor: reserved by IANA, so that no tool takes the traffic for a known application.
const ACCEPTOR_PORT: u16 = 1023;
/// The first port of initiators. All are above the acceptor's, which is how a monitor that missed the SYN tells who
/// is who (methods A.1.3).
const FIRST_INITIATOR_PORT: u16 = 32_768;
/// 10.0.0.1 and 172.16.0.1: where the hosts on either side of the link are numbered from (RFC 1918).
const FIRST_LEFT_HOST: u32 = 0x0a00_0001;
const FIRST_RIGHT_HOST: u32 = 0xac10_0001;
/// 2001:db8::, set aside for documentation (RFC 3849): of an IPv6 host the last 32 bits are those of its IPv4 address.
const IPV6_NETWORK: [u8; 12] = [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0];
/// Hosts on either side: 17 bits of a connection's number choose the host, the next 15 the initiator's port.
const HOST_BITS: u32 = 17;
/// Connections that can be told apart.
const MOST_CONNECTIONS: u64 = 1 << 32;

/// Writes packets as a pcap file with nanosecond time stamps that any analyser opens: Ethernet, IP and TCP headers
/// without payload (each record is cut behind its headers and states the full length); a packet without any TCP flag is a
/// datagram of UDP.
///
/// Connection `c` runs between host `c mod 2^17` on the left, numbered from 10.0.0.1, and the host of the same number
/// on the right, numbered from 172.16.0.1; the initiator's port is 32,768 + `c` / 2^17 and the acceptor's is 1,023. So
/// the first 2^32 connections of a run never share addresses and ports. The MAC addresses are those of the link's two
/// ends, 02:00:00:00:00:01 left and 02:00:00:00:00:02 right. Connections over IPv6 have the same hosts, with those numbers behind
/// 2001:db8::.
///
/// IP checksums are valid. The TCP checksum covers the payload, which does not exist: it is 0 in packets that have
/// one and valid in those without. That of UDP is 0: there is none (RFC 768).
///
/// The writer does not buffer: give it a [`std::io::BufWriter`]. [`PcapWriter::finish`] flushes it.
pub struct PcapWriter<W: Write> {
    out: W,
}

impl<W: Write> PcapWriter<W> {
    /// Writes the file header.
    pub fn new(mut out: W) -> io::Result<PcapWriter<W>> {
        let mut header = [0; 24];
        header[..4].copy_from_slice(&PCAP_NANOSECONDS.to_le_bytes());
        header[4..6].copy_from_slice(&2u16.to_le_bytes());
        header[6..8].copy_from_slice(&4u16.to_le_bytes());
        header[16..20].copy_from_slice(&(SNAP_LENGTH as u32).to_le_bytes());
        header[20..24].copy_from_slice(&1u32.to_le_bytes());
        out.write_all(&header)?;
        Ok(PcapWriter { out })
    }

    /// Writes one packet.
    ///
    /// # Errors
    /// Of the underlying writer; of kind [`io::ErrorKind::InvalidInput`] where the format has no room: a time later
    /// than 2^32 s or a connection beyond 2^32.
    pub fn write(&mut self, packet: &PacketRecord) -> io::Result<()> {
        let seconds = u32::try_from(packet.time.as_nanos() / 1_000_000_000)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "pcap has no time stamps after 2^32 s"))?;
        let nanoseconds = (packet.time.as_nanos() % 1_000_000_000) as u32;
        if packet.connection >= MOST_CONNECTIONS {
            let text = "a capture has addresses for 2^32 connections only";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let mut record = [0; 16 + SNAP_LENGTH];
        let (frame, ip_length) = frame(packet, &mut record[16..]);
        let wire_length = (ETHERNET as u32).saturating_add(ip_length);
        record[..4].copy_from_slice(&seconds.to_le_bytes());
        record[4..8].copy_from_slice(&nanoseconds.to_le_bytes());
        record[8..12].copy_from_slice(&(frame as u32).to_le_bytes());
        record[12..16].copy_from_slice(&wire_length.to_le_bytes());
        self.out.write_all(&record[..16 + frame])
    }

    /// Flushes and gives back the underlying writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

/// Fills in the headers; their length, and the length of the whole IP packet.
fn frame(packet: &PacketRecord, out: &mut [u8]) -> (usize, u32) {
    let host = (packet.connection % (1 << HOST_BITS)) as u32;
    let initiator_port = FIRST_INITIATOR_PORT + (packet.connection >> HOST_BITS) as u16;
    let (left, right) = (FIRST_LEFT_HOST + host, FIRST_RIGHT_HOST + host);
    let (source, destination, macs) = match packet.from {
        LinkSide::Left => (left, right, [2, 1]),
        LinkSide::Right => (right, left, [1, 2]),
    };
    let (source_port, destination_port) = match packet.sender {
        Side::Initiator => (initiator_port, ACCEPTOR_PORT),
        Side::Acceptor => (ACCEPTOR_PORT, initiator_port),
    };
    let is_datagram = packet.flags == 0;
    let (options, option_bytes) = options(packet);
    let ip_bytes = packet.ip_version.header_bytes() as usize;
    let headers = ip_bytes + if is_datagram { UDP } else { TCP + option_bytes };
    let ip_length = (headers as u32).saturating_add(packet.payload_bytes);

    let (ethernet, rest) = out.split_at_mut(ETHERNET);
    ethernet[..12].copy_from_slice(&[2, 0, 0, 0, 0, macs[0], 2, 0, 0, 0, 0, macs[1]]);
    let (ip, transport) = rest.split_at_mut(ip_bytes);
    let protocol = if is_datagram { UDP_NUMBER } else { TCP_NUMBER };
    let addresses = match packet.ip_version {
        IpVersion::V4 => {
            ethernet[12..].copy_from_slice(&[0x08, 0x00]);
            // A packet above 64 KiB, as segmentation offload makes them, has no length of its own.
            let total_length = u16::try_from(ip_length).unwrap_or(0);
            ip[0] = 0x45;
            ip[1] = packet.ecn as u8;
            ip[2..4].copy_from_slice(&total_length.to_be_bytes());
            ip[6] = 0x40; // don't fragment
            ip[8] = 64; // time to live
            ip[9] = protocol;
            ip[12..16].copy_from_slice(&source.to_be_bytes());
            ip[16..20].copy_from_slice(&destination.to_be_bytes());
            let checksum = !sum(0, ip);
            ip[10..12].copy_from_slice(&checksum.to_be_bytes());
            12
        }
        IpVersion::V6 => {
            ethernet[12..].copy_from_slice(&[0x86, 0xdd]);
            let length = u16::try_from(ip_length - IPV6 as u32).unwrap_or(0);
            ip[0] = 0x60;
            ip[1] = (packet.ecn as u8) << 4;
            ip[4..6].copy_from_slice(&length.to_be_bytes());
            ip[6] = protocol;
            ip[7] = 64; // hop limit
            for (at, host) in [(8, source), (24, destination)] {
                ip[at..at + 12].copy_from_slice(&IPV6_NETWORK);
                ip[at + 12..at + 16].copy_from_slice(&host.to_be_bytes());
            }
            8
        }
    };

    transport[..2].copy_from_slice(&source_port.to_be_bytes());
    transport[2..4].copy_from_slice(&destination_port.to_be_bytes());
    if is_datagram {
        let length = u16::try_from(ip_length.saturating_sub(ip_bytes as u32)).unwrap_or(0);
        transport[4..6].copy_from_slice(&length.to_be_bytes());
        return (ETHERNET + headers, ip_length);
    }
    let tcp_bytes = TCP + option_bytes;
    let tcp = &mut transport[..tcp_bytes];
    tcp[4..8].copy_from_slice(&packet.sequence.to_be_bytes());
    tcp[8..12].copy_from_slice(&packet.acknowledgement.to_be_bytes());
    tcp[12] = ((tcp_bytes / 4) as u8) << 4;
    tcp[13] = packet.flags;
    tcp[14..16].copy_from_slice(&packet.window.to_be_bytes());
    tcp[TCP..].copy_from_slice(&options[..option_bytes]);
    if packet.payload_bytes == 0 {
        // The pseudo header (RFC 9293 section 3.1): addresses, protocol, length.
        let pseudo = sum(sum(0, &ip[addresses..]), &[0, TCP_NUMBER, 0, tcp_bytes as u8]);
        let checksum = !sum(pseudo, tcp);
        tcp[16..18].copy_from_slice(&checksum.to_be_bytes());
    }
    (ETHERNET + headers, ip_length)
}

/// TCP options, padded to whole words as common stacks lay them out; as many bytes as
/// [`Segment::option_bytes`](flowloom_core::tcp::Segment::option_bytes) says.
fn options(packet: &PacketRecord) -> ([u8; MOST_OPTIONS], usize) {
    let (mut bytes, mut length) = ([0; MOST_OPTIONS], 0);
    let mut push = |option: &[u8]| {
        if let Some(place) = bytes.get_mut(length..length + option.len()) {
            place.copy_from_slice(option);
            length += option.len();
        }
    };
    let syn = packet.flags & Flags::SYN != 0;
    if let Some(mss) = packet.mss.filter(|_| syn) {
        let [high, low] = mss.to_be_bytes();
        push(&[2, 4, high, low]);
    }
    match (packet.timestamps, packet.sack_permitted && syn) {
        (None, false) => {}
        (None, true) => push(&[4, 2, 1, 1]),
        (Some((value, echo)), permitted) => {
            push(if permitted { &[4, 2] } else { &[1, 1] });
            push(&[8, 10]);
            push(&value.to_be_bytes());
            push(&echo.to_be_bytes());
        }
    }
    if let Some(shift) = packet.window_scale.filter(|_| syn) {
        push(&[1, 3, 3, shift]);
    }
    let blocks = packet.sack.iter().take_while(|(start, end)| start != end);
    let count = blocks.clone().count() as u8;
    if count > 0 {
        push(&[1, 1, 5, 2 + 8 * count]);
        for (start, end) in blocks {
            push(&start.to_be_bytes());
            push(&end.to_be_bytes());
        }
    }
    (bytes, length)
}

/// The Internet checksum (RFC 1071) of `bytes`, an even number of them, on top of `start`, not yet complemented.
fn sum(start: u16, bytes: &[u8]) -> u16 {
    let words = bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])));
    let total = u32::from(start) + words.sum::<u32>();
    let folded = (total & 0xffff) + (total >> 16);
    ((folded & 0xffff) + (folded >> 16)) as u16
}
