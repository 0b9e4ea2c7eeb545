//! The truth table of a link of cells, computed by hand, and what holds of any traffic.
//!
//! Cells are AAL5's: 48 bytes and a header of 5. The line has 424 kbit/s, so that each takes a millisecond.

use proptest::prelude::*;

use super::*;
use crate::contract::{self, Machine};
use crate::path::Link;

const PROPAGATION: Duration = Duration::from_millis(7);
const MILLI: u64 = 1_000_000;

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).unwrap()
}

fn params() -> CellParams {
    CellParams::new("aal5+atm".parse().unwrap())
}

fn link(params: CellParams) -> Link {
    let line = Transmitter::Line(Line::new(rate(424_000)));
    Link::of_cells(params, line, PROPAGATION, [Time::ZERO, Time::from_nanos(1_000 * MILLI)])
}

/// A packet of `cells` cells on a circuit, with a tag.
fn packet(flow: u64, tag: u64, cells: u32) -> Packet {
    Packet { flow, tag, ..Packet::new(48 * cells - 8 + LINK_HEADER_BYTES) }
}

/// A time in tenths of a millisecond.
fn at(tenths: u64) -> Time {
    Time::from_nanos(tenths * MILLI / 10)
}

/// What became of packets: tag, and when the last cell left, or when and why it was dropped; in tenths of a millisecond.
type Said = Vec<(u64, Result<u64, (u64, DropReason)>)>;

fn said(link: &mut Link) -> Said {
    let tenths = |time: Time| time.as_nanos() / (MILLI / 10);
    let told = std::iter::from_fn(|| link.poll()).map(|event| match event {
        LinkEvent::Started { packet, passage } => {
            assert_eq!(passage.departed, passage.started + Duration::from_millis(1));
            assert_eq!(passage.arrived, passage.departed + PROPAGATION);
            (packet.tag, Ok(tenths(passage.departed)))
        }
        LinkEvent::Dropped { packet, time, reason } => (packet.tag, Err((tenths(time), reason))),
    });
    told.collect()
}

/// Offers packets (tenths of a millisecond, circuit, cells), which have their places as tags; what became of them, and the counts.
fn run(params: CellParams, offers: &[(u64, u64, u32)]) -> (Said, CellCounts) {
    let mut link = link(params);
    for (tag, (tenths, flow, cells)) in (0..).zip(offers) {
        assert_eq!(link.offer(at(*tenths), packet(*flow, tag, *cells)), Ok(crate::path::Offered::Queued));
    }
    link.handle_timeout(at(10_000));
    let told = said(&mut link);
    assert_eq!((link.backlog(), link.next_timeout()), (Backlog::default(), None));
    link.end_statistics(at(10_000));
    (told, *link.statistics().cells().unwrap())
}

use DropReason::{Early, QueueFull, Spoilt};

#[test]
fn cells_of_one_packet_leave_back_to_back() {
    let (told, counts) = run(params(), &[(0, 1, 3), (5, 1, 2), (95, 1, 1)]);
    assert_eq!(told, [(0, Ok(30)), (1, Ok(50)), (2, Ok(105))]);
    assert_eq!((counts.cut, counts.sent, counts.whole, counts.line_bytes), (6, 6, 3, 6 * 53));
    assert_eq!(counts.datagram_bytes, 136 + 88 + 40);
}

#[test]
fn circuits_take_turns_or_wait_in_line() {
    // The line takes the first cell of circuit 1 at once. In turns: 1 at 1 ms, 2 at 2 ms, 1 at 3 ms, 2 at 4 ms.
    let offers = [(0, 1, 3), (0, 2, 2)];
    assert_eq!(run(params(), &offers).0, [(0, Ok(40)), (1, Ok(50))]);
    let fifo = CellParams { order: Order::Fifo, ..params() };
    assert_eq!(run(fifo, &offers).0, [(0, Ok(30)), (1, Ok(50))]);
}

#[test]
fn a_lost_end_spoils_the_next_packet_of_the_circuit() {
    // Of five cells one is on the line and two find room. The next packet of circuit 1 ends the frame, that of circuit 2 does not.
    let tail = CellParams { room: Some(2), ..params() };
    let (told, counts) = run(tail, &[(0, 1, 5), (100, 1, 2), (150, 2, 2), (200, 1, 2)]);
    assert_eq!(told, [(0, Err((0, QueueFull))), (1, Err((110, Spoilt))), (2, Ok(170)), (3, Ok(220))]);
    let expected = CellCounts {
        cut: 11,
        sent: 9,
        full: 2,
        dead: 3 + 2,
        spoilt: 1,
        whole: 2,
        datagram_bytes: 2 * 88,
        line_bytes: 9 * 53,
        ..CellCounts::default()
    };
    assert_eq!(counts, expected);
}

/// Cells come each half millisecond, and one may wait. Cells 1 to 3 of the first packet pass, the fourth finds the third waiting at 1.5 ms.
#[test]
fn discards_differ_in_what_they_let_in_of_a_broken_packet() {
    let access = |discard| CellParams { room: Some(1), access: rate(848_000), discard, ..params() };
    let offers = [(0, 1, 6), (100, 1, 1)];
    // Tail drop: the fifth takes the room of the third at 2 ms, and the sixth, the end, finds it there.
    let (told, counts) = run(access(Discard::Tail), &offers);
    assert_eq!(told, [(0, Err((15, QueueFull))), (1, Err((100, Spoilt)))]);
    assert_eq!((counts.sent, counts.full, counts.rest, counts.dead), (5, 2, 0, 5));
    // Partial discard: the fifth is refused, so that the end finds room.
    let (told, counts) = run(access(Discard::Partial), &offers);
    assert_eq!(told, [(0, Err((15, QueueFull))), (1, Ok(110))]);
    assert_eq!((counts.sent, counts.full, counts.rest, counts.dead), (5, 1, 1, 4));
    // Early discard: a packet that begins while a cell waits is refused whole; one that has begun goes as with partial discard.
    let (told, counts) = run(access(Discard::Early(1)), &[(0, 1, 2), (7, 2, 3), (100, 2, 1)]);
    assert_eq!(told, [(1, Err((7, Early))), (0, Ok(20)), (2, Ok(110))]);
    assert_eq!((counts.sent, counts.early, counts.dead), (3, 3, 0));
}

#[test]
fn a_paced_circuit_keeps_its_gaps_and_lets_others_pass() {
    // A cell each 2 ms: at 0, 2, 4 ms; the next packet's at 6 and 8 ms. The other circuit fills the gap at 1 ms.
    let paced = CellParams { peak: rate(212_000), ..params() };
    let offers = [(0, CellParams::PACED | 1, 3), (5, 1, 1), (6, CellParams::PACED | 1, 2)];
    assert_eq!(run(paced, &offers).0, [(1, Ok(20)), (0, Ok(50)), (2, Ok(90))]);
}

/// Two circuits of ten cells each. Both begin with all of the line; their shares come at 4 ms, when five cells wait. From then on each brings a cell in
/// 2 ms, and the line takes two.
#[test]
fn shares_keep_the_buffer_as_it_is() {
    let abr = Abr { every: Duration::from_millis(4), rate: rate(424_000) };
    let with = |room| CellParams { room: Some(room), abr: Some(abr), ..params() };
    let offers = [(0, 1, 10), (0, 2, 10)];
    let (told, counts) = run(with(5), &offers);
    assert_eq!((told, counts.lost()), (vec![(0, Ok(190)), (1, Ok(200))], 0));
    assert!(run(with(4), &offers).1.lost() > 0);
    assert_eq!(run(CellParams { room: Some(18), ..params() }, &offers).1.lost(), 1, "19 would wait");
}

#[test]
fn a_circuit_that_wants_less_leaves_the_rest_to_others() {
    // 3 circuits; two bring one cell in 8 ms, 53 kbit/s. What is left, 318 kbit/s, is the third's: a cell in 4/3 ms from 8 ms to 16 ms.
    // A third of the line for each would end 4 ms later, and cells that are not held back do not find room.
    let abr = Abr { every: Duration::from_millis(8), rate: rate(424_000) };
    let params = CellParams { abr: Some(abr), room: Some(2), ..params() };
    let mut link = link(params);
    for (tenths, flow, cells) in [(0, 1, 20), (1, 2, 1), (1, 3, 1)] {
        link.offer(at(tenths), packet(flow, flow, cells)).unwrap();
    }
    link.handle_timeout(at(80));
    let Some(due) = link.next_timeout() else { panic!("cells wait") };
    assert_eq!(due, at(90), "the line");
    link.handle_timeout(at(1_000));
    let fates = said(&mut link);
    assert_eq!(fates.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(), [2, 3, 1]);
    // Cells 1 to 9 came at 0 to 8 ms, six more each 4/3 ms, the last five each ms, from 17 ms to 21 ms.
    assert_eq!(fates[2], (1, Ok(220)));
    link.end_statistics(at(1_000));
    assert_eq!(link.statistics().cells().unwrap().lost(), 0);
    assert_eq!(link.statistics().max().packets, 3);
}

#[test]
fn only_a_buffer_that_nothing_waits_before_limits_what_waits() {
    let with = |change: fn(&mut CellParams)| {
        let mut params = CellParams { room: Some(500), ..params() };
        change(&mut params);
        params.most_waiting()
    };
    assert_eq!(with(|_| {}), Some(500 * 53));
    assert_eq!(with(|params| params.room = None), None);
    assert_eq!(with(|params| params.access = rate(149_760_000)), None);
    assert_eq!(with(|params| params.peak = rate(1_000_000)), None);
    assert_eq!(with(|params| params.abr = Some(Abr { every: Duration::from_millis(8), rate: rate(424_000) })), None);
}

#[test]
fn what_leaves_at_once_has_not_waited() {
    let mut link = link(params());
    link.offer(at(0), packet(1, 0, 1)).unwrap();
    link.offer(at(20), packet(1, 1, 2)).unwrap();
    link.handle_timeout(at(100));
    assert_eq!((said(&mut link), link.statistics().max().packets), (vec![(0, Ok(10)), (1, Ok(40))], 1));
}

#[test]
fn circuits_are_forgotten() {
    let mut cells = Cells::new(CellParams { peak: rate(212_000), ..params() });
    let mut line = Transmitter::Line(Line::new(rate(424_000)));
    let mut statistics = LinkStatistics::default();
    for number in 0..1_000 {
        let now = at(100 * number);
        cells.advance(now, &mut line, PROPAGATION, &mut statistics);
        cells.offer(now, packet(CellParams::PACED | number, 0, 2), &mut statistics);
    }
    cells.advance(at(1_000_000), &mut line, PROPAGATION, &mut statistics);
    assert_eq!((cells.circuits.len(), cells.places.len(), cells.packets.len()), (1, 0, 1));
}

/// Efficiency is that of the framing, whatever the queue (methods H.1).
#[test]
fn efficiency_is_that_of_the_framing() {
    for text in ["aal5+atm", "llc-snap+aal5+atm", "smds-802.6", "xfrs-none", "none-sar", "cells:60/4"] {
        let framing: Stack = text.parse().unwrap();
        let mut link = link(CellParams::new(CellFraming::new(framing.clone()).unwrap()));
        let mut lengths = crate::cell::framing::Lengths::default();
        for ip_bytes in (20..1_500).step_by(7) {
            lengths.add(crate::extract::conversations::Transport::Udp, ip_bytes, 0, 1);
            link.offer(Time::ZERO, Packet::new(ip_bytes + LINK_HEADER_BYTES)).unwrap();
        }
        link.handle_timeout(at(1_000_000));
        link.end_statistics(at(1_000_000));
        let [_, datagram, _] =
            crate::cell::framing::totals(&framing, &lengths, Compression::NONE).efficiencies().unwrap();
        let measured = link.statistics().cells().unwrap().efficiency().unwrap();
        assert!((measured - datagram).abs() < 1e-9, "{text}: {measured} {datagram}");
    }
}

#[derive(Debug)]
struct Contract(Link);

impl Machine for Contract {
    type Input = Packet;
    type Output = LinkEvent;

    fn input(&mut self, now: Time, packet: &Packet) {
        self.0.offer(now, *packet).unwrap();
    }

    fn handle_timeout(&mut self, now: Time) {
        self.0.handle_timeout(now);
    }

    fn poll(&mut self, _now: Time) -> Option<LinkEvent> {
        self.0.poll()
    }

    fn next_timeout(&self) -> Option<Time> {
        self.0.next_timeout()
    }
}

#[test]
fn it_keeps_the_contract() {
    let offers = [(0, 1, 9), (2, 2, 4), (2, 1, 1), (60, 3, 7), (61, 1, 3), (400, 2, 2)];
    let inputs: Vec<(Time, Packet)> = (0..)
        .zip(offers)
        .map(|(tag, (tenths, flow, cells))| (at(tenths), packet(flow | (flow % 2) << 63, tag, cells)))
        .collect();
    let abr = Some(Abr { every: Duration::from_micros(3_700), rate: rate(424_000) });
    for abr in [None, abr] {
        let params = CellParams {
            room: Some(6),
            discard: Discard::Early(5),
            access: rate(1_000_000),
            peak: rate(300_000),
            abr,
            ..params()
        };
        contract::check(|| Contract(link(params.clone())), &inputs, Duration::from_millis(5));
    }
}

fn any_params() -> impl Strategy<Value = CellParams> {
    let room = prop_oneof![Just(None), (1u32..12).prop_map(Some)];
    let discard = prop_oneof![Just(Discard::Tail), Just(Discard::Partial), (1u32..8).prop_map(Discard::Early)];
    let access = prop_oneof![Just(Rate::UNLIMITED), (100_000u64..2_000_000).prop_map(rate)];
    let abr = proptest::option::of(
        (1u64..20).prop_map(|millis| Abr { every: Duration::from_millis(millis), rate: rate(424_000) }),
    );
    let order = prop_oneof![Just(Order::Fifo), Just(Order::RoundRobin)];
    (room, discard, access, 50_000u64..1_000_000, abr, order).prop_map(|(room, discard, access, peak, abr, order)| {
        CellParams { order, room, discard, access, peak: rate(peak), abr, ..params() }
    })
}

proptest! {
    /// Each cell is sent, lost or waits; each packet passes whole or is dropped, once; the line is never faster than it is.
    #[test]
    fn nothing_appears_or_disappears(
        params in any_params(),
        offers in prop::collection::vec((0u64..60, 0u64..4, any::<bool>(), 1u32..12), 1..60),
        end in 0u64..4_000,
    ) {
        let mut link = link(params.clone());
        let (mut now, mut cut, mut offered) = (0, 0, 0);
        let mut fates = vec![0u64; offers.len()];
        let count = |link: &mut Link, fates: &mut [u64]| {
            let mut whole = 0u64;
            for (tag, fate) in said(link) {
                fates[tag as usize] += 1;
                whole += u64::from(fate.is_ok());
            }
            whole
        };
        let mut whole = 0;
        for (tag, (gap, flow, is_paced, cells)) in (0..).zip(&offers) {
            now += gap;
            cut += u64::from(*cells);
            offered += 1;
            link.offer(at(now), packet(flow | u64::from(*is_paced) << 63, tag, *cells)).unwrap();
            whole += count(&mut link, &mut fates);
            prop_assert!(link.next_timeout().is_none_or(|due| due >= at(now)));
        }
        link.handle_timeout(at(now + end));
        whole += count(&mut link, &mut fates);
        let waiting = link.backlog().packets;
        link.end_statistics(at(now + end));
        let counts = *link.statistics().cells().unwrap();
        prop_assert_eq!(counts.cut, cut);
        prop_assert_eq!(counts.sent + counts.lost() + counts.waiting(), cut);
        prop_assert_eq!(counts.whole, whole);
        prop_assert_eq!(fates.iter().sum::<u64>() + waiting, offered);
        prop_assert!(fates.iter().all(|fate| *fate <= 1));
        prop_assert!(counts.sent <= (now + end) / 10 + 1);
        prop_assert!(counts.dead <= counts.sent);
        prop_assert!(counts.dead == 0 || counts.lost() > 0);
        // All goes in the end.
        link.handle_timeout(at(1_000_000));
        count(&mut link, &mut fates);
        prop_assert_eq!(link.backlog(), Backlog::default());
        prop_assert_eq!(link.next_timeout(), None);
        prop_assert!(fates.iter().all(|fate| *fate == 1));
    }
}
