//! The arithmetic of payload over every shared capture: captured, missing, acknowledged and replayed bytes add up, and agree
//! with sets of intervals that know nothing of the extraction.

use std::collections::BTreeMap;
use std::path::Path;

use flowloom_core::extract::{Class, Finished, KeptPayload, Missing, Options};
use flowloom_core::wire::{Address, Decoder, Flags, Parsed, Segment};
use flowloom_core::workload::{Payload, Side};
use flowloom_store::capture::{self, Captures, Input};

use crate::real_captures::{self, Extraction};

/// One direction of an address pair, in numbers relative to its SYN.
#[derive(Default)]
struct Direction {
    base: Option<u32>,
    /// Half-open intervals that passed.
    passed: Vec<(i64, i64)>,
    acked: i64,
    fin_at: Option<i64>,
    /// Segments that a rule of its own decides about: payload on a reset, numbers that jump, single bytes.
    special: bool,
}

impl Direction {
    fn relative(&self, number: u32) -> Option<i64> {
        Some(i64::from(number.wrapping_sub(self.base?).cast_signed()))
    }

    /// Captured, missing and acknowledged bytes.
    fn payload(&mut self) -> [u64; 3] {
        self.passed.sort_unstable();
        let (mut high, mut captured, mut holes) = (0, 0, Vec::new());
        for &(start, end) in &self.passed {
            if start > high {
                holes.push((high, start));
            }
            captured += (end - start.max(high)).max(0);
            high = high.max(end);
        }
        let told = match self.fin_at {
            Some(end) => end,
            None if self.acked > high + 1 => self.acked,
            None => high,
        };
        holes.extend((told > high).then_some((high, told)));
        let acked = self.fin_at.map_or(self.acked, |end| self.acked.min(end));
        let below =
            |limit: i64| holes.iter().map(|(start, end)| ((*end).min(limit) - start).max(0)).sum::<i64>() as u64;
        [captured as u64, below(i64::MAX), below(acked)]
    }
}

/// The directions of each pair of addresses, by sender and receiver.
fn directions(path: &Path) -> BTreeMap<(Address, Address), Direction> {
    let mut captures = Captures::open(&[Input::File(path.to_owned())], capture::Options::default()).unwrap();
    let (mut decoder, mut found) = (Decoder::default(), BTreeMap::<_, Direction>::new());
    while let Some(packet) = captures.next_packet().unwrap() {
        let Ok(Parsed::Segment(segment)) = packet.decode(&mut decoder) else { continue };
        let Segment { source, destination, sequence, acknowledgement, flags, payload_bytes, .. } = segment;
        let own = found.entry((source, destination)).or_default();
        if flags.syn() {
            let base = sequence.wrapping_add(1);
            own.special |= payload_bytes > 0 || own.base.is_some_and(|known| known != base);
            own.base = Some(base);
        }
        if flags.rst() {
            own.special |= payload_bytes > 0;
            continue;
        }
        match own.relative(sequence).filter(|_| !flags.syn()) {
            Some(start) => {
                let end = start + i64::from(payload_bytes);
                own.special |= start.abs() > 1 << 28 || payload_bytes == 1;
                own.passed.extend((end > start).then_some((start, end)));
                if flags.fin() {
                    own.fin_at = own.fin_at.or(Some(end));
                }
            }
            None => own.special |= !flags.syn(),
        }
        if flags.0 & Flags::ACK != 0 {
            let peer = found.entry((destination, source)).or_default();
            match peer.relative(acknowledgement) {
                Some(ack) => {
                    peer.special |= ack > 1 << 28;
                    peer.acked = peer.acked.max(ack);
                }
                None => peer.special = true,
            }
        }
    }
    found
}

/// Compares directions, and returns their number.
fn agrees_with_intervals(path: &Path, connections: &[Finished]) -> usize {
    let mut directions = directions(path);
    let pair = |one: &Finished| {
        let (low, high) = (one.initiator.min(one.acceptor), one.initiator.max(one.acceptor));
        (low, high)
    };
    let mut of_pair = BTreeMap::<_, usize>::new();
    connections.iter().for_each(|one| *of_pair.entry(pair(one)).or_default() += 1);
    let mut compared = 0;
    for one in connections.iter().filter(|one| of_pair[&pair(one)] == 1) {
        for (side, key) in
            [(Side::Initiator, (one.initiator, one.acceptor)), (Side::Acceptor, (one.acceptor, one.initiator))]
        {
            let Some(direction) = directions.get_mut(&key).filter(|own| !own.special && own.base.is_some()) else {
                continue;
            };
            let Payload { captured, missing, acknowledged, .. } = one.vector.payload(side);
            assert_eq!([captured, missing, acknowledged], direction.payload(), "{}: {key:?}", path.display());
            compared += 1;
        }
    }
    compared
}

/// The counts of one extraction.
fn adds_up(file: &str, extraction: &Extraction, missing: Missing) {
    let counts = &extraction.counts;
    let is_kept = |one: &&Finished| one.vector.id != u64::MAX;
    let mut kept = KeptPayload::default();
    for one in extraction.connections.iter().filter(is_kept) {
        kept.add_with_clock(&one.vector);
    }
    for one in &extraction.connections {
        for side in Side::BOTH {
            let payload = one.vector.payload(side);
            assert!(payload.acknowledged <= payload.missing, "{file}: {payload:?}");
            let counted = match missing {
                // Without captured data there is no data unit that the bytes could be part of.
                _ if one.vector.adus.iter().all(|adu| adu.side != side) => 0,
                Missing::All => payload.missing,
                Missing::Acknowledged | Missing::Skip => payload.acknowledged,
            };
            assert_eq!(payload.replayed, payload.captured + counted, "{file}");
        }
        assert!(one.vector.adus.iter().all(|adu| adu.missing_bytes < adu.bytes), "{file}: nothing of an ADU passed");
    }
    assert_eq!(counts.kept, kept, "{file}");
    let both = |ends: flowloom_core::workload::PerSide<u64>| ends.initiator + ends.acceptor;
    let of_class = |class: Class| both(counts.class(class).payload_bytes);
    let all: u64 = Class::ALL.into_iter().map(of_class).sum();
    let set_aside = of_class(Class::NoData) + of_class(Class::OneWay) + counts.missing_left_out.payload_bytes;
    assert_eq!(both(kept.captured_bytes()) + set_aside, all, "{file}: payload of no fate");
    assert_eq!(kept.sides[0] + kept.sides[1], kept.ends.initiator + kept.ends.acceptor, "{file}");
    let packets: u64 = Class::ALL.into_iter().map(|class| counts.class(class).packets).sum();
    assert_eq!(packets + counts.doubled.packets, counts.packets, "{file}: packets of no fate");
}

#[test]
fn payload_of_every_capture_adds_up() {
    let Some(folder) = real_captures::folder() else { return };
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let (mut compared, mut with_holes) = (0, Vec::new());
    for path in
        files.iter().filter(|path| Captures::open(&[Input::File((*path).clone())], capture::Options::default()).is_ok())
    {
        let file = path.file_name().unwrap().to_string_lossy().into_owned();
        let extract = |missing| real_captures::extract(path, Options { missing, ..Options::default() });
        let [acknowledged, all, skip] = [Missing::Acknowledged, Missing::All, Missing::Skip].map(|missing| {
            let extraction = extract(missing);
            adds_up(&file, &extraction, missing);
            extraction
        });
        let total =
            |extraction: &Extraction| extraction.counts.kept.ends.initiator + extraction.counts.kept.ends.acceptor;
        let (by_default, of_all, skipped) = (total(&acknowledged), total(&all), total(&skip));
        assert_eq!(Payload { replayed: by_default.replayed, ..of_all }, by_default, "{file}");
        let left_out = skip.counts.missing_left_out;
        assert_eq!(left_out.connections, acknowledged.counts.kept.with_missing, "{file}");
        assert_eq!((skipped.captured + left_out.payload_bytes, skipped.missing), (by_default.captured, 0), "{file}");
        compared += agrees_with_intervals(path, &acknowledged.connections);
        with_holes.extend((by_default.missing_share() > 0.03).then_some(file));
    }
    assert!(compared > 1_000, "{compared} directions compared");
    for name in ["ndpi-netflix", "pcpp-tls2-dataonly", "tcptrace-ipv6_ftp_nasa", "ndpi-ultrasurf-vlan", "tcptrace-http"]
    {
        assert!(with_holes.iter().any(|file| file.starts_with(name)), "{name} is not among {with_holes:?}");
    }
    eprintln!("{compared} directions agree with sets of intervals");
}
