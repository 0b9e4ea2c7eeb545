//! Links of cells under TCP: conservation, efficiency, and the published orderings of discards and pacing.

use std::ops::ControlFlow;

use crate::common::*;
use flowloom_core::cell::framing::{Compression, Lengths, totals};
use flowloom_core::cell::{Discard, Mapping, Order};
use flowloom_core::extract::conversations::Transport;
use flowloom_core::path::cell_keys::Paced;
use flowloom_core::path::{Abr, CellCounts, CellParams};
use flowloom_core::record::*;
use flowloom_core::tcp::{self, Profile};
use flowloom_core::time::Duration;
use flowloom_core::units::{LINK_HEADER_BYTES, Rate};
use flowloom_core::wire::Flags;
use flowloom_core::workload::*;
use flowloom_sim::*;

const OC3: &str = "149.76mbit";

fn cells() -> CellParams {
    CellParams::new("aal5+atm".parse().unwrap())
}

fn config(cells: CellParams, seconds: u64) -> Config {
    let mut config = Config::new(OC3.parse().unwrap(), Duration::from_secs(seconds));
    config.bottleneck.cells = Some(cells);
    config.bottleneck.per = Grouping::Circuit(Mapping::PerConversation, Paced::Both);
    config.bottleneck.delay = ms(1);
    config
}

/// A transfer without end in segments of 9,140 bytes, as RFC 2225's 9,180 of IP have room for.
fn transfer(id: u64, until: Duration) -> Classed {
    let mut vector = ConnectionVector { adus: Vec::new(), ..exchange(id, at(7 * id), 1, 1) };
    for side in Side::BOTH {
        let end = &mut vector.ends[side];
        (end.mss, end.min_transit) = (Some(9_140), Some(ms(3)));
    }
    Classed { vector, class: 0, origin: Origin::Source { endless_until: Some(at(0) + until) } }
}

fn simulated(classed: Vec<Classed>, config: &Config) -> (Summary, Log) {
    let mut log = Log::default();
    let config = Config { record_packets: true, ..config.clone() };
    let summary = run(classed.into_iter().map(Ok::<_, ()>), &config, &mut log, |_| ControlFlow::Continue(()));
    (summary.unwrap(), log)
}

fn counts(summary: &Summary, side: LinkSide) -> CellCounts {
    *summary.directions[side as usize].link.cells().unwrap()
}

/// Cells and packets add up, and counts of packets are those of their cells.
fn check_sums(summary: &Summary, log: &Log) {
    for side in [LinkSide::Left, LinkSide::Right] {
        let (direction, cells) = (&summary.directions[side as usize], counts(summary, side));
        assert_eq!(cells.cut, cells.sent + cells.lost() + cells.waiting());
        let drops = |reason| log.drops.iter().filter(|drop| drop.from == side && drop.reason == reason).count() as u64;
        assert_eq!(
            direction.dropped.total(),
            [DropReason::QueueFull, DropReason::Early, DropReason::Spoilt].map(drops).iter().sum::<u64>()
        );
        assert_eq!(cells.spoilt, drops(DropReason::Spoilt));
        let queued = direction.offered.total() - direction.dropped.total() - cells.whole;
        assert!(queued <= cells.waiting(), "{queued} packets wait in {} cells", cells.waiting());
        assert_eq!(cells.line_bytes, 53 * cells.sent);
    }
}

/// Romanow and Floyd 1995; Ewy et al. 1995: 30 transfers in segments of 9,140 bytes, from lines of an OC-3 over 20 Mbit/s with a queue of 500
/// cells, get most through with early discard and least with tail drop, and more with the cells of each circuit paced to its share. So it is with
/// each TCP that a profile stands for.
#[test]
fn discards_and_pacing_are_in_the_published_order() {
    let length = Duration::from_secs(8);
    let access: Rate = OC3.parse().unwrap();
    let goodput = |profile: Profile, discard: Discard, peak: Rate| {
        let params = CellParams { order: Order::Fifo, room: Some(500), discard, access, peak, ..cells() };
        let mut config = config(params, 8);
        config.bottleneck.rate = "20mbit".parse().unwrap();
        config.classes[0].tcp = tcp::Config::of(profile);
        (config.results, config.drain) = (Some([at(1_000), at(8_000)]), Duration::ZERO);
        let (summary, log) = simulated((0..30).map(|id| transfer(id, length)).collect(), &config);
        check_sums(&summary, &log);
        let cells = counts(&summary, LinkSide::Left);
        let in_window = log.bins.iter().filter(|bin| bin.from == LinkSide::Left && bin.start >= at(1_000));
        let carried: u64 = in_window.map(|bin| bin.carried.payload_bytes).sum();
        (carried, cells.dead as f64 / cells.sent as f64)
    };
    // A thirtieth of the line: there are never more than 30 cells, and none is lost.
    let peak: Rate = "666666bit".parse().unwrap();
    for profile in [Profile::Plain, Profile::Rfc, Profile::Bsd2008, Profile::Linux] {
        let discards = [Discard::Tail, Discard::Partial, Discard::Early(250)];
        let [tail, partial, early] = discards.map(|discard| goodput(profile, discard, Rate::UNLIMITED));
        assert!(tail.0 < partial.0 && partial.0 < early.0, "{profile:?}: {tail:?} {partial:?} {early:?}");
        assert!(tail.1 > partial.1 && partial.1 > early.1, "{profile:?}: {tail:?} {partial:?} {early:?}");
        for (discard, unpaced) in discards.into_iter().zip([tail, partial, early]) {
            let paced = goodput(profile, discard, peak);
            assert!(paced.0 > unpaced.0 && paced.1 == 0.0, "{profile:?}, {discard:?}: {paced:?} {unpaced:?}");
        }
    }
}

/// Ideal ABR keeps what waits at the ends, so that nothing is lost, and shares the link equally.
#[test]
fn abr_loses_nothing_and_shares_equally() {
    let length = Duration::from_secs(4);
    let rate: Rate = OC3.parse().unwrap();
    let abr = Some(Abr { every: ms(8), rate });
    let params = CellParams { room: Some(2_000), access: rate, abr, ..cells() };
    let mut config = config(params, 4);
    config.results = Some([at(2_000), at(4_000)]);
    let (summary, log) = simulated((0..8).map(|id| transfer(id, length)).collect(), &config);
    check_sums(&summary, &log);
    assert_eq!(counts(&summary, LinkSide::Left).lost(), 0);
    let Sharing { flows, bytes, squares } = summary.classes[0].sharing;
    let jain = (bytes as f64).powi(2) / (flows as f64 * squares as f64);
    assert!(flows == 8 && jain > 0.99, "{flows} {jain}");
}

/// Methods H.1 for what crossed the link: `overhead` of the packets of the run.
#[test]
fn efficiency_is_that_of_overhead() {
    for framing in ["aal5+atm", "llc-snap+aal5+atm", "none-sar"] {
        let params = CellParams::new(framing.parse().unwrap());
        let stack = params.framing.stack().clone();
        let vectors: Vec<_> = (0..50).map(|id| exchange(id, at(20 * id), 300 + 17 * id, 9_000 + 311 * id)).collect();
        let (summary, log) = simulated(vectors.into_iter().map(Classed::from).collect(), &config(params, 20));
        check_sums(&summary, &log);
        for side in [LinkSide::Left, LinkSide::Right] {
            let mut lengths = Lengths::default();
            for packet in log.packets.iter().filter(|packet| packet.from == side) {
                // A SYN has eight bytes of options in this profile, and nothing else has any.
                let header = if Flags(packet.flags).syn() { 48 } else { 40 };
                lengths.add(Transport::Tcp, header + packet.payload_bytes, packet.payload_bytes, 1);
            }
            let carried =
                lengths.ip_bytes(Transport::Tcp) + u64::from(LINK_HEADER_BYTES) * lengths.datagrams(Transport::Tcp);
            assert_eq!(carried, summary.directions[side as usize].carried.bytes);
            let [_, datagram, _] = totals(&stack, &lengths, Compression::NONE).efficiencies().unwrap();
            let measured = counts(&summary, side).efficiency().unwrap();
            assert!((measured - datagram).abs() < 1e-9, "{framing}: {measured} {datagram}");
        }
    }
}

/// Circuits by type are one of each port: beside four transfers to another port, one has half of the link. With a circuit of its own it has a fifth, and where
/// all share one it depends on how much of it waits.
#[test]
fn circuits_belong_to_conversations_types_or_destinations() {
    let share = |mapping| {
        let mut config = config(CellParams { room: Some(200_000), ..cells() }, 10);
        config.bottleneck.rate = "10mbit".parse().unwrap();
        config.bottleneck.per = Grouping::Circuit(mapping, Paced::Both);
        config.drain = Duration::ZERO;
        let transfers = (0..5).map(|id| {
            let mut classed = transfer(id, Duration::from_secs(10));
            classed.vector.ends.acceptor.port = Some(if id == 0 { 20 } else { 80 });
            classed
        });
        let (_, log) = simulated(transfers.collect(), &config);
        let passed = log.packets.iter().filter(|packet| packet.from == LinkSide::Left && packet.time >= at(6_000));
        let payload = |own| {
            let of = passed.clone().filter(|packet| (packet.connection == 0) == own);
            of.map(|packet| f64::from(packet.payload_bytes)).sum::<f64>()
        };
        payload(true) / (payload(true) + payload(false))
    };
    let shares = [Mapping::PerConversation, Mapping::PerType, Mapping::PerDestination].map(share);
    assert!((shares[0] - 0.2).abs() < 0.02 && (shares[1] - 0.5).abs() < 0.02, "{shares:?}");
    assert!(shares[2] < shares[1] - 0.1, "{shares:?}");
}
