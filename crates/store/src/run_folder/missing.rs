//! The part of a replay's traffic that stands in for bytes that the capture lacks (methods M.8).
//!
//! The original's series hold what was captured, so a comparison must leave out what a replay sends beside that. Where in a
//! data unit the missing bytes were is not kept: they are spread evenly over its bytes, and pass when those pass the
//! replay's monitor.

use flowloom_core::record::Traffic;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::workload::{Adu, ConnectionVector, IpVersion, LinkSide, Side, Span};

/// Width of the bins that missing bytes are counted in.
pub(super) const WIDTH: Duration = Duration::from_millis(10);

/// Bins of a data unit, at most: those of one that takes longer (eleven minutes) are so many times as wide.
const MOST_BINS: u64 = 1 << 16;

/// `part` of `whole`, of `value`, rounded down.
fn share(value: u64, part: u64, whole: u64) -> u64 {
    (u128::from(value) * u128::from(part) / u128::from(whole.max(1))) as u64
}

/// Missing bytes among those that one end sends.
struct Missing {
    /// Bytes before each data unit and at the end of all, and how many of those are missing.
    borders: Vec<(u64, u64)>,
}

impl Missing {
    fn new(units: &[Adu]) -> Missing {
        let mut borders = vec![(0, 0)];
        let (mut bytes, mut missing) = (0u64, 0u64);
        for unit in units {
            bytes = bytes.saturating_add(unit.bytes);
            missing = missing.saturating_add(unit.missing_bytes.min(unit.bytes));
            borders.push((bytes, missing));
        }
        Missing { borders }
    }

    /// Number of missing bytes among the first `bytes` bytes.
    fn before(&self, bytes: u64) -> u64 {
        let behind = self.borders.partition_point(|(before, _)| *before <= bytes);
        let (start, missing) = self.borders[behind - 1];
        self.borders
            .get(behind)
            .map_or(missing, |(end, all)| missing + share(all - missing, bytes - start, end - start))
    }
}

/// The data units of one end.
fn units_of(vector: &ConnectionVector, side: Side) -> impl Iterator<Item = Adu> {
    vector.adus.iter().filter(move |adu| adu.side == side).copied()
}

/// The bins of a connection's replay that hold missing bytes, with the side that sent them: the start of each, and its
/// traffic on the link.
pub(super) fn missing_traffic(
    original: &ConnectionVector,
    monitor: &ConnectionVector,
) -> Vec<(LinkSide, Time, Traffic)> {
    let mut bins = Vec::new();
    for side in Side::BOTH {
        let units: Vec<Adu> = units_of(original, side).collect();
        if units.iter().all(|unit| unit.missing_bytes == 0) {
            continue;
        }
        let from = if side == Side::Initiator { original.initiator_side } else { original.initiator_side.other() };
        let missing = Missing::new(&units);
        let mut at = 0u64;
        for unit in units_of(monitor, side) {
            let Some(seen) = unit.seen else { continue };
            let before = at;
            at = at.saturating_add(unit.bytes);
            let missing_before = |part| missing.before(before.saturating_add(part));
            let mut passed = 0;
            for (start, bytes) in
                spread(monitor.start, seen, |part, whole| missing_before(share(unit.bytes, part, whole)))
            {
                // Bins cut no packet: each is counted in the bin in which its first missing byte passes.
                let counted = segments(passed, monitor);
                passed += bytes;
                bins.push((from, start, on_the_link(bytes, segments(passed, monitor) - counted, monitor)));
            }
        }
    }
    bins
}

/// What stands in for missing bytes when `vector` is replayed, by the side of the link that sends it: left, right (methods
/// M.8). An estimate: packets are full ones of each data unit.
pub fn stand_in(vector: &ConnectionVector) -> [Traffic; 2] {
    let mut from = [Traffic::default(); 2];
    for side in Side::BOTH {
        let at = if side == Side::Initiator { vector.initiator_side } else { vector.initiator_side.other() };
        for unit in units_of(vector, side).filter(|unit| unit.missing_bytes > 0) {
            let bytes = unit.missing_bytes.min(unit.bytes);
            from[at as usize].add(on_the_link(bytes, segments(bytes, vector), vector));
        }
    }
    from
}

/// Counts that grow over a span as `upto(part, whole)` says, by the bin in which they grow.
fn spread(start: Time, span: Span, upto: impl Fn(u64, u64) -> u64) -> Vec<(Time, u64)> {
    let (first, last) = (start + span.first, start + span.last);
    let whole = span.length().as_nanos();
    let mut bins = Vec::new();
    let mut counted = upto(0, 1);
    let end = upto(1, 1);
    let width = WIDTH.as_nanos() * (whole / WIDTH.as_nanos() / MOST_BINS + 1);
    // The end of time may be the end of the span.
    let last_bin = last.max(first).as_nanos() / width;
    for bin in first.as_nanos() / width..=last_bin {
        let next = Time::from_nanos((bin + 1).saturating_mul(width));
        let reached = if bin == last_bin { end } else { upto(next.since(first).as_nanos(), whole) };
        if reached > counted {
            bins.push((Time::from_nanos(bin * width), reached - counted));
        }
        counted = reached;
    }
    bins
}

/// Bytes of a TCP header without options.
const TCP_HEADER_BYTES: u32 = 20;

/// Bytes of the timestamps option in each segment of a connection whose ends agreed on it, padded.
const TIMESTAMPS: u64 = 12;

/// Bytes of options in each data segment.
fn option_bytes(monitor: &ConnectionVector) -> u64 {
    let timestamps = Side::BOTH.into_iter().all(|side| monitor.ends[side].timestamps == Some(true));
    if timestamps { TIMESTAMPS } else { 0 }
}

/// The full segments that `bytes` of payload take, the last of them as far as they fill it.
fn segments(bytes: u64, monitor: &ConnectionVector) -> u64 {
    bytes.div_ceil(monitor.agreed_mss().saturating_sub(option_bytes(monitor)).max(1))
}

/// The traffic of `bytes` of payload in so many packets on the link, with the headers of data segments.
fn on_the_link(bytes: u64, packets: u64, monitor: &ConnectionVector) -> Traffic {
    let ip_header = monitor.ip_version.unwrap_or(IpVersion::V4).header_bytes();
    let headers = u64::from(LINK_HEADER_BYTES + ip_header + TCP_HEADER_BYTES) + option_bytes(monitor);
    let on_the_wire = bytes.saturating_add(packets.saturating_mul(headers));
    Traffic { packets, bytes: on_the_wire, payload_bytes: bytes }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn unit(bytes: u64, missing_bytes: u64, first: u64, last: u64) -> Adu {
        let seen = Some(Span { first: MS(first), last: MS(last) });
        let side = Side::Acceptor;
        Adu { side, bytes, missing_bytes, wait: None, waiter: side, seen, packets: None }
    }

    fn vector(adus: Vec<Adu>) -> ConnectionVector {
        ConnectionVector { start: Time::ZERO + MS(5), adus, ..ConnectionVector::default() }
    }

    #[test]
    fn missing_bytes_pass_with_their_unit() {
        // The second unit lacks half of its bytes, and its replay takes 20 ms.
        let original = vector(vec![unit(1_000, 0, 0, 1), unit(2_000, 1_000, 100, 400)]);
        let monitor = vector(vec![unit(1_000, 0, 0, 1), unit(2_000, 0, 45, 65)]);
        let bins = missing_traffic(&original, &monitor);
        let at = |millis| Time::ZERO + MS(millis);
        // One packet of 1,460 bytes holds them all.
        let [first, last] = [1, 0].map(|packets| Traffic { packets, bytes: 500 + 54 * packets, payload_bytes: 500 });
        assert_eq!(bins, [(LinkSide::Right, at(50), first), (LinkSide::Right, at(60), last)]);
    }

    /// 20 packets of 1,448 bytes with timestamps take 2 s over a slow link: headers are of packets, not of the 200 bins.
    #[test]
    fn a_slow_unit_has_its_own_packets() {
        let original = vector(vec![unit(28_960, 28_960, 0, 1)]);
        let mut slow = vector(vec![unit(28_960, 0, 0, 2_000)]);
        slow.ip_version = Some(IpVersion::V6);
        for side in Side::BOTH {
            (slow.ends[side].timestamps, slow.ends[side].mss) = (Some(true), Some(1_460));
        }
        let sum = missing_traffic(&original, &slow).into_iter().map(|(_, _, traffic)| traffic);
        let sum = sum.reduce(|all, more| Traffic {
            packets: all.packets + more.packets,
            bytes: all.bytes + more.bytes,
            payload_bytes: all.payload_bytes + more.payload_bytes,
        });
        // Link, IPv6, TCP, options.
        let bytes = 28_960 + 20 * (14 + 40 + 20 + 12);
        assert_eq!(sum, Some(Traffic { packets: 20, bytes, payload_bytes: 28_960 }));
    }

    /// A unit of years, as a jump of the clock makes them.
    #[test]
    fn the_bins_of_a_long_unit_are_wide() {
        let years = u64::MAX / 1_000_000;
        let original = vector(vec![unit(u64::MAX / 4, u64::MAX / 8, 0, 1)]);
        let bins = missing_traffic(&original, &vector(vec![unit(u64::MAX / 4, 0, 0, years)]));
        assert!((1..=MOST_BINS as usize + 1).contains(&bins.len()), "{}", bins.len());
        let sum: u64 = bins.iter().map(|(_, _, traffic)| traffic.payload_bytes).sum();
        assert_eq!(sum, u64::MAX / 8);
    }

    #[test]
    fn units_that_were_cut_differently_lack_as_much() {
        let original = vector(vec![unit(700, 333, 0, 9), unit(300, 7, 20, 30), unit(11, 0, 40, 50)]);
        for cuts in [vec![1_011], vec![500, 511], vec![1, 699, 1, 299, 11], vec![400]] {
            let units = cuts.iter().zip(0..).map(|(bytes, at)| unit(*bytes, 0, 100 * at, 100 * at + 37));
            let bins = missing_traffic(&original, &vector(units.collect()));
            let sum: u64 = bins.iter().map(|(_, _, traffic)| traffic.payload_bytes).sum();
            assert_eq!(sum, if cuts == [400] { 190 } else { 340 }, "{cuts:?}");
        }
        assert!(missing_traffic(&vector(vec![unit(700, 0, 0, 9)]), &original).is_empty());
    }
}
