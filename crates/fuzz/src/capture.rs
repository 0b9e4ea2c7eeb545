//! Captures, from the stored bytes to connection vectors.

use std::io::{self, Cursor, Read};

use flowloom::core::extract::{self, Class, Extractor, Missing, Position};
use flowloom::core::wire::{Decoder, Parsed};
use flowloom::core::workload::{ConnectionVector, Protocol, Segments, Side};
use flowloom::store::capture::{Captures, Compression, Options, Truncation};

/// Hands out a few bytes at a time, so that records straddle reads.
struct Trickle(Cursor<Vec<u8>>, usize);

impl Read for Trickle {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = into.len().min(self.1);
        self.0.read(&mut into[..most])
    }
}

/// A capture file: the lowest bits of the first byte choose options and the size of reads, the rest is the file.
pub fn stored(data: &[u8]) {
    let Some((&choice, file)) = data.split_first() else { return };
    extract(file, choice);
}

/// Bytes to flip in a capture that is valid otherwise: (position, change) in four bytes each.
pub fn flipped(data: &[u8]) {
    let captures = crate::seeds::captures::valid();
    let Some((&[which, choice], flips)) = data.split_first_chunk::<2>() else { return };
    let mut file = captures[usize::from(which) % captures.len()].clone();
    for &[p0, p1, p2, change] in flips.as_chunks::<4>().0 {
        let position = u32::from_be_bytes([0, p0, p1, p2]) as usize % file.len();
        file[position] ^= change;
    }
    extract(&file, choice);
}

/// What was in a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extracted {
    /// Packets read.
    pub packets: u64,
    /// Connections that became vectors.
    pub connections: u64,
    /// Flows of datagrams that did.
    pub flows: u64,
}

/// Reads the capture `file` to its end or first error and extracts what it holds. Whatever is wrong with it, every
/// packet has one fate and no count exceeds what was read. The lowest bits of `choice`: take a cut file, compute the
/// hash, read five bytes at a time, read it twice at once, tell VLANs apart, leave out incomplete connections, have no
/// memory to speak of, take the monitor to stand at the initiators.
///
/// # Panics
/// If a promise is broken.
pub fn extract(file: &[u8], choice: u8) -> Extracted {
    let truncation = if choice & 1 != 0 { Truncation::Allow } else { Truncation::LastRecord };
    let options = Options { truncation, sha256: choice & 2 != 0 };
    let chunk = if choice & 4 != 0 { 5 } else { usize::MAX };
    let reader = || Box::new(Trickle(Cursor::new(file.to_vec()), chunk)) as Box<dyn Read + Send>;
    let inputs = if choice & 8 != 0 { 2 } else { 1 };
    let readers = (0..inputs).map(|input| (input.to_string(), reader())).collect();
    let Ok(mut captures) = Captures::from_readers(readers, options) else { return Extracted::default() };
    let (mut packets, mut held) = (0, 0);
    let missing = [Missing::Acknowledged, Missing::All, Missing::Skip][usize::from(choice) % 3];
    let extraction = extract::Options {
        missing,
        vlan_key: choice & 16 != 0,
        complete_only: choice & 32 != 0,
        memory: if choice & 64 != 0 { 4_096 } else { u64::MAX },
        round: if choice & 64 != 0 { 1 } else { 2_048 },
        monitor: if choice & 128 != 0 { Position::Initiator } else { Position::Mid },
        ..extract::Options::default()
    };
    let (mut decoder, mut extractor) = (Decoder::default(), Extractor::new(extraction));
    let (mut segments, mut payload_bytes, mut link_bytes) = (0, 0, 0);
    let (mut datagrams, mut datagram_bytes, mut set_aside) = (0, 0, 0);
    loop {
        match captures.next_packet() {
            Ok(Some(packet)) => {
                packets += 1;
                // The smallest record of any format is 16 bytes beside its packet.
                held += 16 + packet.bytes.len();
                match packet.decode(&mut decoder) {
                    Ok(Parsed::Segment(segment)) => {
                        segments += 1;
                        payload_bytes += u64::from(segment.payload_bytes);
                        link_bytes += u64::from(segment.link_bytes);
                        extractor.handle_segment(packet.time, &segment);
                    }
                    Ok(Parsed::Datagram(datagram)) => {
                        datagrams += 1;
                        datagram_bytes += u64::from(datagram.payload_bytes);
                        link_bytes += u64::from(datagram.link_bytes);
                        extractor.handle_datagram(packet.time, &datagram);
                    }
                    Err(_) => set_aside += 1,
                }
            }
            Ok(None) => break,
            Err(error) => {
                assert!(!error.to_string().is_empty());
                let _ = error.hint();
                break;
            }
        }
    }
    let facts = captures.inputs();
    assert_eq!(packets, facts.iter().map(|facts| facts.packets).sum::<u64>());
    assert_eq!(packets, segments + datagrams + set_aside, "packets without a fate");
    if facts[0].compression == Compression::None {
        assert!(held <= inputs * file.len(), "packets from nowhere");
    }
    extractor.finish();
    let (mut last, mut vectors, mut of_vectors) = (None, 0, 0);
    while let Some(vector) = extractor.poll_vector() {
        assert!(last.replace((vector.start, vector.id)) < Some((vector.start, vector.id)), "out of order");
        vectors += 1;
        for side in Side::BOTH {
            if vector.protocol == Protocol::Tcp {
                check_payload(&vector, side, missing);
            }
            of_vectors += vector.ends[side].packets.unwrap_or(0);
            check_segments(&vector.ends[side].segments.unwrap_or_default());
        }
    }
    let counts = extractor.counts();
    let of_classes = Class::ALL.map(|class| *counts.class(class));
    let sum = |what: fn(&extract::ClassCounts) -> u64| of_classes.iter().map(what).sum::<u64>();
    let of_datagrams = counts.datagrams;
    assert_eq!((counts.packets, of_datagrams.packets), (segments, datagrams));
    assert_eq!(counts.link_bytes + of_datagrams.link_bytes, link_bytes);
    let flows = [of_datagrams.udp, of_datagrams.quic];
    assert_eq!(flows.iter().map(|flows| flows.packets).sum::<u64>(), datagrams, "datagrams of no flow");
    assert!(flows.iter().map(|flows| flows.flows).sum::<u64>() <= datagrams, "flows without a datagram");
    let of_flows = flows.iter().map(|flows| flows.payload_bytes.initiator + flows.payload_bytes.acceptor);
    assert!(of_flows.sum::<u64>() <= datagram_bytes, "payload from nowhere");
    assert_eq!(sum(|class| class.packets) + counts.doubled.packets, segments, "packets of no connection");
    assert!(sum(|class| class.connections) <= segments, "connections without a packet");
    assert!(sum(|class| class.began_before.max(class.not_ended)) <= sum(|class| class.connections));
    let connections = counts.connections_where(Class::is_replayable);
    let left_out = counts.incomplete_left_out.connections + counts.missing_left_out.connections;
    assert_eq!(vectors + left_out, connections + of_datagrams.kept());
    // An offload may have merged packets that are taken apart again.
    let on_link = segments + counts.merged;
    assert!(of_vectors <= on_link + datagrams, "vectors of more packets than were read");
    assert!(counts.segments.data + counts.segments.keep_alives + counts.segments.window_probes <= on_link);
    check_segments(&counts.segments);
    assert!(counts.stragglers + counts.handshake_repeated <= segments && counts.clock_backwards <= packets);
    let new = sum(|class| class.payload_bytes.initiator + class.payload_bytes.acceptor);
    assert!(new + counts.straggler_bytes + counts.doubled.payload_bytes <= payload_bytes, "payload from nowhere");
    Extracted { packets, connections, flows: of_datagrams.kept() }
}

/// The numbers of a direction's payload add up.
fn check_payload(vector: &ConnectionVector, side: Side, missing: Missing) {
    let payload = vector.payload(side);
    assert!(payload.acknowledged <= payload.missing, "{payload:?}");
    let expected = match missing {
        // A side of which nothing was captured has no data unit.
        _ if payload.captured == 0 => 0,
        Missing::All => payload.missing,
        _ => payload.acknowledged,
    };
    assert_eq!(payload.replayed, payload.captured + expected, "{payload:?}");
    assert!(vector.adus.iter().all(|adu| adu.missing_bytes < adu.bytes), "a data unit of which nothing was captured");
}

/// What became of segments does not exceed them.
fn check_segments(segments: &Segments) {
    let (repeated, repaired) = (segments.repeated, segments.repaired);
    assert!(segments.duplicates + segments.late <= segments.data, "{segments:?}");
    assert_eq!(
        repeated.timeout + repeated.fast + repeated.other + repeated.spurious + repeated.copies + repeated.unknown,
        segments.duplicates,
        "duplicates without a kind"
    );
    assert!(segments.lost_before + segments.uncaptured <= segments.late, "{segments:?}");
    assert_eq!(repaired.timeout + repaired.fast + repaired.other, segments.lost_before, "repairs without a kind");
}
