//! The observer decides as segments pass; here the definitions of methods A.3-A.5 are applied to whole connections by
//! brute force, and both must agree: on any segments for the concurrency test, and on connections of a small simulated
//! TCP with losses, duplicates and reordering on both sides of the monitor for ADUs and waits.

use std::collections::BTreeMap;

use flowloom_core::extract::{Identity, Missing, Observer, Seen};
use flowloom_core::time::{Duration, Time};
use flowloom_core::wire::Flags;
use flowloom_core::workload::{ConnectionVector, InitiatorRule, LinkSide, Pattern, Repeated, Side};
use proptest::prelude::*;

const QUIET_US: u64 = 500_000;

/// Round trip of the simulated path: twice the way from the monitor to an end and back.
const MIN_RTT_US: u64 = 40_000;

/// A segment past the monitor; numbers relative to the ISNs, the first data byte is 1.
#[derive(Clone, Copy, Debug)]
struct Event {
    micros: u64,
    side: Side,
    start: u64,
    len: u64,
    ack: u64,
}

fn observe(events: &[Event]) -> ConnectionVector {
    let isn = [4_294_967_000u32, 4_000_000_000];
    let mut observer = Observer::new(Time::ZERO, Duration::from_micros(QUIET_US));
    let mut hand = |event: &Event, flags: u8| {
        let seen = Seen {
            sequence: isn[event.side as usize].wrapping_add(event.start as u32),
            acknowledgement: isn[event.side.other() as usize].wrapping_add(event.ack as u32),
            flags: Flags(flags),
            window: 5000,
            payload_bytes: event.len as u32,
            ip_bytes: 40 + event.len as u32,
            ip_id: None,
            mss: None,
            window_scale: None,
            timestamps: None,
            sack: false,
            sack_blocks: [(0, 0); 3],
            options_cut: false,
        };
        observer.handle_segment(Time::from_nanos(event.micros * 1000), event.side, &seen);
    };
    let handshake = |micros, side, start, ack| Event { micros, side, start, len: 0, ack };
    hand(&handshake(0, Side::Initiator, 0, 0), Flags::SYN);
    hand(&handshake(20_000, Side::Acceptor, 0, 1), Flags::SYN | Flags::ACK);
    hand(&handshake(40_000, Side::Initiator, 1, 1), Flags::ACK);
    events.iter().for_each(|event| hand(event, Flags::ACK));
    let identity = Identity {
        id: 0,
        start: Time::ZERO,
        initiator_side: LinkSide::Left,
        initiator_rule: InitiatorRule::Syn,
        near: None,
        ip_version: None,
    };
    observer.finish(identity, Missing::All).1
}

/// A new part of a segment (methods A.3).
#[derive(Clone, Copy, Debug)]
struct Piece {
    micros: u64,
    start: u64,
    end: u64,
    ack: u64,
}

/// What brute force makes of one side: its pieces by sequence number and where quiet times split them.
struct Direction {
    pieces: Vec<Piece>,
    splits: Vec<u64>,
    /// One past the last byte known of, seen or acknowledged.
    end: u64,
}

/// One flag per byte, and every rule as written.
fn direction(events: &[Event], side: Side) -> Direction {
    let mut seen = vec![false; 1 << 17];
    let (mut pieces, mut splits) = (Vec::new(), Vec::new());
    let (mut high, mut acked, mut last_new, mut repeated) = (1u64, 1u64, None::<u64>, false);
    for event in events {
        if event.side != side {
            acked = acked.max(event.ack);
            continue;
        }
        let (start, end) = (event.start, event.start + event.len);
        let new: Vec<u64> = (start..end).filter(|byte| !seen[*byte as usize]).collect();
        let keep_alive = event.len == 1 && end == acked && end <= high;
        if event.len == 0 || keep_alive {
            continue;
        }
        if new.is_empty() {
            repeated = true;
            continue;
        }
        let repairing = (acked..high).any(|byte| !seen[byte as usize]);
        let silent = last_new.is_some_and(|last| event.micros - last > QUIET_US);
        if start >= high && silent && !repeated && !repairing {
            splits.push(high);
        }
        for byte in new {
            seen[byte as usize] = true;
            match pieces.last_mut() {
                Some(Piece { micros, end, .. }) if *end == byte && *micros == event.micros && byte > start => *end += 1,
                _ => pieces.push(Piece { micros: event.micros, start: byte, end: byte + 1, ack: event.ack }),
            }
        }
        (high, last_new, repeated) = (high.max(end), Some(event.micros), false);
    }
    pieces.sort_by_key(|piece| piece.start);
    let end = if acked > high + 1 { acked } else { high };
    Direction { pieces, splits, end }
}

/// How long after the first segment above it each late segment passed.
fn lags(events: &[Event], side: Side) -> Vec<u64> {
    let mut passed: Vec<&Event> = Vec::new();
    let mut lags = Vec::new();
    for event in events.iter().filter(|event| event.side == side && event.len > 0) {
        let is_new = passed.iter().all(|before| before.start != event.start);
        let overtaken = passed.iter().find(|before| is_new && before.start > event.start);
        lags.extend(overtaken.map(|before| event.micros - before.micros));
        passed.push(event);
    }
    lags
}

/// Methods A.4 as written.
fn is_concurrent(initiator: &[Piece], acceptor: &[Piece]) -> bool {
    initiator.iter().any(|p| acceptor.iter().any(|q| p.end > q.ack && q.end > p.ack))
}

/// The O(n log n) form of methods A.4.
fn is_concurrent_fast(initiator: &[Piece], acceptor: &[Piece]) -> bool {
    let mut by_end: Vec<(u64, u64)> = acceptor.iter().map(|q| (q.end, q.ack)).collect();
    by_end.sort();
    let mut least = u64::MAX;
    for q in by_end.iter_mut().rev() {
        least = least.min(q.1);
        q.1 = least;
    }
    initiator.iter().any(|p| {
        let first = by_end.partition_point(|q| q.0 <= p.ack);
        by_end.get(first).is_some_and(|q| q.1 < p.end)
    })
}

/// (side, bytes, first, last) in order, by brute force.
fn reference(events: &[Event]) -> (Pattern, Vec<(Side, u64, u64, u64)>) {
    let directions = Side::BOTH.map(|side| direction(events, side));
    let concurrent = is_concurrent(&directions[0].pieces, &directions[1].pieces);
    assert_eq!(concurrent, is_concurrent_fast(&directions[0].pieces, &directions[1].pieces));
    let mut ordered: Vec<(Side, Piece)> = Vec::new();
    if concurrent {
        for side in Side::BOTH {
            ordered.extend(directions[side as usize].pieces.iter().map(|piece| (side, *piece)));
        }
    } else {
        let (mut i, mut a) = (0, 0);
        let [initiator, acceptor] = [&directions[0].pieces, &directions[1].pieces];
        while i < initiator.len() || a < acceptor.len() {
            let from_initiator = match (initiator.get(i), acceptor.get(a)) {
                // Each acknowledges the other if a copy was captured in place of the original: time decides.
                (Some(p), Some(q)) if q.ack >= p.end && p.ack >= q.end => p.micros <= q.micros,
                (Some(p), Some(q)) => q.ack >= p.end,
                (p, _) => p.is_some(),
            };
            if from_initiator {
                ordered.push((Side::Initiator, initiator[i]));
                i += 1;
            } else {
                ordered.push((Side::Acceptor, acceptor[a]));
                a += 1;
            }
        }
    }
    let mut adus: Vec<(Side, u64, u64, u64)> = Vec::new();
    let mut ends = [1u64; 2];
    for (side, piece) in ordered {
        let before = std::mem::replace(&mut ends[side as usize], piece.end);
        let split = directions[side as usize].splits.iter().any(|split| before <= *split && *split <= piece.start);
        match adus.last_mut() {
            Some(last) if last.0 == side && !split => {
                last.1 += piece.end - before;
                last.2 = last.2.min(piece.micros);
                last.3 = last.3.max(piece.micros);
            }
            _ => adus.push((side, piece.end - before, piece.micros, piece.micros)),
        }
    }
    for side in Side::BOTH {
        let unseen = directions[side as usize].end - ends[side as usize];
        if let Some(last) = adus.iter_mut().rev().find(|adu| adu.0 == side) {
            last.1 += unseen;
        }
    }
    if concurrent {
        adus.sort_by_key(|adu| adu.2);
    }
    (if concurrent { Pattern::Concurrent } else { Pattern::Sequential }, adus)
}

/// A generator whose numbers depend on the seed only.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n.max(1)
    }

    fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }
}

/// What the network does.
#[derive(Clone, Copy, Debug)]
struct Trouble {
    /// Percent lost before and after the monitor, delayed enough to be overtaken, never captured, captured early.
    before: u64,
    after: u64,
    reordered: u64,
    uncaptured: u64,
    swapped: u64,
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    Write { step: usize },
    Resend { side: Side, start: u64, len: u64, timeout: u64 },
    Pass { side: Side, start: u64, len: u64, ack: u64 },
    Receive { side: Side, start: u64, len: u64 },
}

/// A message of one side: bytes, and how long its application waits before it.
type Step = (Side, u64, u64);

/// Runs a script of messages over a crude TCP; returns what the monitor saw. In turns, a message waits for the whole
/// of the one before it if that came from the other side; else every message has its time.
fn simulate(script: &[Step], turns: bool, trouble: Trouble, seed: u64) -> Vec<Event> {
    const DELAY: u64 = 10_000;
    let mut random = Random(seed);
    let mut agenda: BTreeMap<(u64, u64), Happening> = BTreeMap::new();
    let mut serial = 0;
    let mut plan = |agenda: &mut BTreeMap<(u64, u64), Happening>, at: u64, what: Happening| {
        serial += 1;
        agenda.insert((at, serial), what);
    };
    let mut sent = [1u64; 2];
    let mut received = [[false; 1 << 15]; 2];
    let mut next = [1u64; 2];
    let mut ends = Vec::new();
    let mut started = if turns { 1 } else { script.len() };
    let mut seen = Vec::new();
    let (mut clock, mut sum) = (60_000, [1u64; 2]);
    for (step, (side, bytes, wait)) in script.iter().enumerate() {
        sum[*side as usize] += bytes;
        ends.push(sum[*side as usize]);
        clock += wait;
        if step < started {
            plan(&mut agenda, clock, Happening::Write { step });
        }
    }
    while let Some(((now, _), what)) = agenda.pop_first() {
        match what {
            Happening::Write { step } => {
                let (side, bytes, _) = script[step];
                let mut left = bytes;
                while left > 0 {
                    let len = left.min(400);
                    let start = sent[side as usize];
                    sent[side as usize] += len;
                    left -= len;
                    plan(&mut agenda, now, Happening::Resend { side, start, len, timeout: 200_000 });
                }
                if turns && step + 1 < script.len() && script[step + 1].0 == side {
                    started = step + 2;
                    plan(&mut agenda, now + script[step + 1].2, Happening::Write { step: step + 1 });
                }
            }
            // Sends, and sends again until the other side has it.
            Happening::Resend { side, start, len, timeout } => {
                if next[side as usize] >= start + len {
                    continue;
                }
                plan(&mut agenda, now + timeout, Happening::Resend { side, start, len, timeout: timeout * 2 });
                if !random.percent(trouble.before) {
                    let extra = if random.percent(trouble.reordered) { 5_000 } else { 0 };
                    let ack = next[side.other() as usize];
                    plan(&mut agenda, now + DELAY + extra, Happening::Pass { side, start, len, ack });
                }
            }
            Happening::Pass { side, start, len, ack } => {
                if !random.percent(trouble.uncaptured) {
                    seen.push(Event { micros: now, side, start, len, ack });
                }
                if !random.percent(trouble.after) {
                    plan(&mut agenda, now + DELAY, Happening::Receive { side, start, len });
                }
            }
            Happening::Receive { side, start, len } if len > 0 => {
                received[side as usize][start as usize..(start + len) as usize].fill(true);
                let from = next[side as usize];
                let more = received[side as usize][from as usize..].iter().take_while(|byte| **byte).count() as u64;
                next[side as usize] += more;
                let ack = next[side as usize];
                let start = sent[side.other() as usize];
                if !random.percent(30) {
                    plan(&mut agenda, now + DELAY, Happening::Pass { side: side.other(), start, len: 0, ack });
                }
                let complete = |step: usize| next[script[step].0 as usize] >= ends[step];
                if turns && started < script.len() && (0..started).all(complete) {
                    plan(&mut agenda, now + script[started].2, Happening::Write { step: started });
                    started += 1;
                }
            }
            Happening::Receive { .. } => {}
        }
    }
    // Backwards and forwards, so that a packet can move far.
    for at in (1..seen.len()).chain((1..seen.len()).rev()) {
        if random.percent(trouble.swapped) {
            let (one, other): (Event, Event) = (seen[at - 1], seen[at]);
            seen[at - 1] = Event { micros: one.micros, ..other };
            seen[at] = Event { micros: other.micros, ..one };
        }
    }
    seen
}

fn check(events: &[Event]) -> Result<(), TestCaseError> {
    let vector = observe(events);
    check_classes(&vector)?;
    let (pattern, adus) = reference(events);
    prop_assert_eq!(vector.pattern, pattern);
    let micros = |time: Duration| time.as_nanos() / 1000;
    let ours: Vec<_> = vector
        .adus
        .iter()
        .map(|adu| (adu.side, adu.bytes, micros(adu.seen.unwrap().first), micros(adu.seen.unwrap().last)))
        .collect();
    prop_assert_eq!(&ours, &adus);
    for (at, adu) in vector.adus.iter().enumerate() {
        let next = vector.adus[at + 1..].iter().find(|next| pattern == Pattern::Sequential || next.side == adu.side);
        prop_assert_eq!(adu.wait, next.map(|next| next.seen.unwrap().first.saturating_sub(adu.seen.unwrap().last)));
    }
    Ok(())
}

/// Methods A.8: the classes of the segments of both ends are parts of a whole.
fn check_classes(vector: &ConnectionVector) -> Result<(), TestCaseError> {
    for side in Side::BOTH {
        let (end, segments) = (&vector.ends[side], vector.ends[side].segments.unwrap());
        prop_assert_eq!(segments.repeated.total(), segments.duplicates);
        prop_assert_eq!(segments.repaired.total(), segments.lost_before);
        prop_assert_eq!(segments.reordered() + segments.lost_before + segments.uncaptured, segments.late);
        prop_assert!(segments.duplicates + segments.late <= segments.data);
        prop_assert!(segments.data + segments.keep_alives + segments.window_probes <= end.packets.unwrap());
        let loss = segments.loss();
        prop_assert!([loss.before, loss.after, loss.total].iter().all(|rate| (0.0..=1.0).contains(rate)));
    }
    Ok(())
}

fn script() -> impl Strategy<Value = Vec<Step>> {
    let side = prop::bool::ANY.prop_map(|initiator| if initiator { Side::Initiator } else { Side::Acceptor });
    let wait = prop_oneof![0u64..30_000, 100_000u64..490_000, 510_000u64..3_000_000];
    prop::collection::vec((side, 2u64..1500, wait), 1..9)
}

fn trouble(percent: u64) -> impl Strategy<Value = Trouble> {
    (0..=percent, 0..=percent, 0..=percent).prop_map(|(before, after, reordered)| Trouble {
        before,
        after,
        reordered,
        uncaptured: 0,
        swapped: 0,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    /// Any segments at all, acknowledgements of unseen bytes included.
    #[test]
    fn concurrency_is_decided_as_by_brute_force(
        segments in prop::collection::vec((any::<bool>(), 1u64..60, 2u64..20, 1u64..80), 0..50),
    ) {
        let events: Vec<Event> = segments
            .iter()
            .enumerate()
            .map(|(at, (initiator, start, len, ack))| Event {
                micros: 60_000 + at as u64 * 1000,
                side: if *initiator { Side::Initiator } else { Side::Acceptor },
                start: *start,
                len: *len,
                ack: *ack,
            })
            .collect();
        let pieces = Side::BOTH.map(|side| direction(&events, side).pieces);
        let concurrent = is_concurrent(&pieces[0], &pieces[1]);
        prop_assert_eq!(concurrent, is_concurrent_fast(&pieces[0], &pieces[1]));
        let vector = observe(&events);
        prop_assert_eq!(vector.pattern == Pattern::Concurrent, concurrent);
        check_classes(&vector)?;
    }

    /// Segments that are mostly in order, so that many connections are sequential.
    #[test]
    fn near_order_is_decided_as_by_brute_force(
        segments in prop::collection::vec((any::<bool>(), 2u64..20, 0usize..12, -3i64..4), 0..40),
    ) {
        let mut sent = [1u64; 2];
        let mut events: Vec<Event> = Vec::new();
        for (at, (initiator, len, move_by, ack)) in segments.iter().enumerate() {
            let side = if *initiator { Side::Initiator } else { Side::Acceptor };
            let start = sent[side as usize];
            sent[side as usize] += len;
            let other = sent[side.other() as usize];
            let ack = if *ack == 3 { other.saturating_add_signed(-5).max(1) } else { other };
            let place = events.len() - (*move_by == 0) as usize * events.len().min(at % 4);
            events.insert(place, Event { micros: 0, side, start, len: *len, ack });
        }
        for (at, event) in events.iter_mut().enumerate() {
            event.micros = 60_000 + at as u64 * 1000;
        }
        let pieces = Side::BOTH.map(|side| direction(&events, side).pieces);
        prop_assert_eq!(observe(&events).pattern == Pattern::Concurrent, is_concurrent(&pieces[0], &pieces[1]));
    }

    #[test]
    fn turns_give_the_adus_of_brute_force(script in script(), trouble in trouble(15), seed in any::<u64>()) {
        check(&simulate(&script, true, trouble, seed))?;
    }

    #[test]
    fn both_at_once_give_the_adus_of_brute_force(script in script(), trouble in trouble(15), seed in any::<u64>()) {
        check(&simulate(&script, false, trouble, seed))?;
    }

    /// The capture itself misses packets or shifts them. Not both: where a copy is captured out of order in place of
    /// its original, no order of the ADUs is right.
    #[test]
    fn an_imperfect_capture_gives_the_adus_of_brute_force(
        script in script(),
        turns in any::<bool>(),
        imperfect in prop_oneof![(1u64..5, Just(0u64)), (Just(0u64), 1u64..60)],
        seed in any::<u64>(),
    ) {
        let (missed, swapped) = imperfect;
        let trouble = Trouble { before: 0, after: 0, reordered: 0, uncaptured: missed, swapped };
        check(&simulate(&script, turns, trouble, seed))?;
    }

    /// What is lost on one side of the monitor is counted there, and nothing on the other.
    #[test]
    fn losses_are_found_on_their_side_of_the_monitor(
        script in script(),
        turns in any::<bool>(),
        percent in 1u64..30,
        seed in any::<u64>(),
    ) {
        let none = Trouble { before: 0, after: 0, reordered: 0, uncaptured: 0, swapped: 0 };
        let both = |vector: &ConnectionVector| Side::BOTH.map(|side| vector.ends[side].segments.unwrap());
        let events = simulate(&script, turns, Trouble { before: percent, ..none }, seed);
        for (side, segments) in Side::BOTH.into_iter().zip(both(&observe(&events))) {
            // A hole that only the next message shows, sent just before the timer repairs it, looks like reordering.
            let surely_lost = lags(&events, side).into_iter().filter(|lag| *lag >= MIN_RTT_US).count() as u64;
            prop_assert!(segments.lost_before >= surely_lost);
            prop_assert_eq!(segments.lost_before + segments.reordered(), segments.late);
            // The timer also sends again what the receiver holds above a hole.
            prop_assert!(segments.late > 0 || segments.duplicates == 0);
        }
        for segments in both(&observe(&simulate(&script, turns, Trouble { after: percent, ..none }, seed))) {
            prop_assert_eq!(segments.late, 0);
            // The timer also sends again what the receiver holds above a hole: that is known where the receiver answers it with nothing new.
            let Repeated { spurious, copies, .. } = segments.repeated;
            prop_assert_eq!((segments.repeated.lost() + spurious, copies), (segments.duplicates, 0));
            prop_assert!(segments.repeated.lost() > 0 || segments.duplicates == 0);
        }
        for segments in both(&observe(&simulate(&script, turns, Trouble { reordered: percent, ..none }, seed))) {
            prop_assert_eq!((segments.lost_before, segments.duplicates), (0, 0));
        }
    }

    /// Without trouble, turns are sequential and their sizes exact.
    #[test]
    fn turns_without_trouble_are_sequential(script in script(), seed in any::<u64>()) {
        let trouble = Trouble { before: 0, after: 0, reordered: 0, uncaptured: 0, swapped: 0 };
        let vector = observe(&simulate(&script, true, trouble, seed));
        prop_assert_eq!(vector.pattern, Pattern::Sequential);
        for side in Side::BOTH {
            prop_assert_eq!(vector.bytes(side), script.iter().filter(|step| step.0 == side).map(|step| step.1).sum::<u64>());
        }
    }
}
