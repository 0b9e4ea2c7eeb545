//! One connection at the monitor.

use crate::time::{Duration, Time};
use crate::units::LINK_HEADER_BYTES;
use crate::wire::Flags;
use crate::workload::{
    Close, ConnectionVector, Endpoint, Evidence, InitiatorRule, IpVersion, LinkSide, Pattern, PerSide, Protocol,
    Segments, Side,
};

use super::acks::Acks;
use super::adus::{self, Bytes, Found, Stream};
use super::answers::Heard;
use super::boundaries::Boundaries;
use super::counts::Class;
use super::coverage::Place;
use super::doubled::OtherSpace;
use super::end::{End, LEAST_WINDOW, WINDOWS_PER_JUMP};
use super::gaps::{Gaps, MissingBytes};
use super::offload;
use super::options::Missing;
use super::rate::Rates;
use super::recovery::{ASKING, COPY_WITH_ID, Duplicate, Late, Passed, Repair};
use super::remains::Remains;
use super::seen::Seen;
use super::sequence;
use super::syns::Syns;
use super::transit::{Handshake, NEVER};
use super::writes::{Acked, Writes};

/// A jump in sequence numbers no capture gap explains (methods A.1.2).
const IMPOSSIBLE_JUMP: u64 = 1 << 30;

/// The shift assumed for judging jumps when a handshake was not captured: what common systems negotiate.
const ASSUMED_SHIFT: u8 = 7;

/// How long a connection must have been silent for a SYN with another ISN to open a new one (methods A.1.2).
const STALE: u64 = 60_000_000_000;

/// Of these flags a bare acknowledgement has ACK alone.
const BARE: u8 = Flags::SYN | Flags::FIN | Flags::RST | Flags::ACK;

/// What a segment was to its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Arrival {
    /// Payload bytes seen for the first time.
    pub new_bytes: u32,
    /// Packets that it was on the link beyond one, merged by an offload (methods A.13.10).
    pub merged: u32,
    /// Their headers, which the capture lacks, in bytes on the link.
    pub merged_bytes: u32,
    /// It belongs to the other number space of a doubled acceptor (methods A.1.2), and nothing of it counts.
    pub doubled: bool,
}

/// What a vector says of its connection that its packets do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// [`ConnectionVector::id`].
    pub id: u64,
    /// [`ConnectionVector::start`].
    pub start: Time,
    /// [`ConnectionVector::initiator_side`].
    pub initiator_side: LinkSide,
    /// [`ConnectionVector::initiator_rule`].
    pub initiator_rule: InitiatorRule,
    /// The end the monitor stood at; `None` in the middle of the path.
    pub near: Option<Side>,
    /// [`ConnectionVector::ip_version`].
    pub ip_version: Option<IpVersion>,
}

/// One connection as the monitor sees it: hand it every segment, then [`finish`](Self::finish).
///
/// It holds one small record per exchange and end, not per packet. The capture's clock is evidence, not truth: a time
/// before the latest one counts as that one, so waits are never negative.
#[derive(Clone, Debug)]
pub struct Observer {
    start: Time,
    /// Latest time seen, from the start.
    now: u64,
    /// Longest silence inside an ADU.
    quiet: u64,
    closed_at: u64,
    ends: [End; 2],
    handshake: Handshake,
    syns: Syns,
    close: Close,
    concurrent: bool,
    /// Nothing but SYNs passed.
    attempt: bool,
    /// The second number space of an end that has two.
    other_space: Option<Box<OtherSpace>>,
    /// Where its ADUs begin, if that is known: silence splits its data nowhere else.
    boundaries: Option<Box<Boundaries>>,
}

impl Observer {
    /// An observer whose first segment passes at `start`. `quiet` is the longest silence inside an ADU (methods A.5.2).
    pub fn new(start: Time, quiet: Duration) -> Observer {
        Observer {
            start,
            now: 0,
            quiet: quiet.as_nanos(),
            closed_at: 0,
            ends: [End::new(), End::new()],
            handshake: Handshake::default(),
            syns: Syns::default(),
            close: Close::NotSeen,
            concurrent: false,
            attempt: true,
            other_space: None,
            boundaries: None,
        }
    }

    /// The same for a replay of a connection whose ADUs are known: a silence inside one is the network's, and splits nothing.
    #[must_use]
    pub fn knowing(self, boundaries: Option<Box<Boundaries>>) -> Observer {
        Observer { boundaries, ..self }
    }

    /// When its first segment passed.
    pub fn start(&self) -> Time {
        self.start
    }

    /// When its latest segment passed.
    pub fn last_seen(&self) -> Time {
        self.start + Duration::from_nanos(self.now)
    }

    /// Whether a FIN of each end was acknowledged or an RST passed (methods A.1.4). Stragglers may still come.
    pub fn is_closed(&self) -> bool {
        self.is_reset() || self.ends.iter().all(|end| end.fin_acked)
    }

    fn is_reset(&self) -> bool {
        self.ends.iter().any(|end| end.rst)
    }

    /// Whether nothing but SYNs passed: a scan, a server that is down, or a handshake on its way.
    pub fn is_attempt(&self) -> bool {
        self.attempt
    }

    /// Whether segments of both ends and data passed: it can be replayed, whatever follows.
    pub fn is_replayable(&self) -> bool {
        self.ends.iter().all(|end| end.packets > 0) && self.ends.iter().any(|end| !end.runs.is_empty())
    }

    /// Packets and payload bytes of another number space that were set aside.
    pub(super) fn doubled(&self) -> (u64, u64) {
        self.other_space.as_ref().map_or((0, 0), |space| (space.packets, space.payload_bytes))
    }

    /// Bytes held on the heap, those of the observer itself not counted.
    pub(super) fn heap_bytes(&self) -> usize {
        let end = |end: &End| {
            let recovery = end.recovery.as_ref().map_or(0, |recovery| recovery.heap_bytes());
            end.coverage.heap_bytes()
                + end.sent.heap_bytes()
                + end.runs.heap_bytes()
                + end.answers.as_ref().map_or(0, |answers| answers.heap_bytes())
                + end.timed.heap_bytes()
                + recovery
                + end.writes.as_ref().map_or(0, |writes| writes.heap_bytes())
                + end.rates.as_ref().map_or(0, |_| size_of::<Rates>())
                + end.flight.heap_bytes()
                + end.acks.as_ref().map_or(0, |_| size_of::<Acks>())
                + end.reads.as_ref().map_or(0, |reads| reads.heap_bytes())
                + end.undelayed.heap_bytes()
                + end.delays.as_ref().map_or(0, |delays| delays.heap_bytes())
        };
        self.ends.iter().map(end).sum::<usize>()
            + self.syns.heap_bytes()
            + self.other_space.as_ref().map_or(0, |_| size_of::<OtherSpace>())
            + self.boundaries.as_ref().map_or(0, |boundaries| boundaries.heap_bytes())
    }

    /// The larger of both ends' largest windows, at least what needs no scaling.
    fn largest_window(&self, scaled: bool) -> u64 {
        let [initiator, acceptor] = &self.ends;
        initiator.max_window(scaled).max(acceptor.max_window(scaled)).max(LEAST_WINDOW)
    }

    /// How far a sequence number may jump without both ends' numbers jumping (methods A.1.2).
    fn largest_jump(&self) -> u64 {
        let window = self.largest_window(true);
        let shift_known = self.ends.iter().all(|end| end.syn);
        WINDOWS_PER_JUMP * if shift_known { window } else { window << ASSUMED_SHIFT }
    }

    /// What must be remembered of it, once its vector is made, to know its stragglers.
    pub(super) fn remains(&self) -> Remains {
        let window = self.largest_jump() / WINDOWS_PER_JUMP;
        Remains {
            isn: self.ends.each_ref().map(|end| end.isn),
            next: self.ends.each_ref().map(|end| end.reference() as u32),
            reach: self.ends.each_ref().map(|end| end.reach(window)),
            syn: self.ends.each_ref().map(|end| end.syn),
            known: self.ends.each_ref().map(|end| end.known),
        }
    }

    /// Reads something of every cache line of it, so that what follows finds them near: for a batch of packets of
    /// different connections the waits for memory then overlap.
    pub fn touch(&self) -> u64 {
        let end = |end: &End| end.coverage.high() ^ end.last_data ^ u64::from(end.packets) ^ u64::from(end.window);
        self.now ^ self.closed_at ^ end(&self.ends[0]) ^ end(&self.ends[1])
    }

    /// Packets that were captured, both ends.
    pub fn packets(&self) -> u64 {
        self.ends.iter().map(|end| u64::from(end.packets - end.merged)).sum()
    }

    /// The roles were told wrongly until now: a SYN or SYN/ACK came after other segments.
    pub fn swap_sides(&mut self) {
        self.ends.swap(0, 1);
        self.syns.swap_sides();
        if let Some(boundaries) = &mut self.boundaries {
            boundaries.swap_sides();
        }
        if let Some(space) = &mut self.other_space {
            space.side = space.side.other();
        }
        self.close = match self.close {
            Close::Fin(side) => Close::Fin(side.other()),
            Close::Rst(side) => Close::Rst(side.other()),
            Close::NotSeen => Close::NotSeen,
        };
    }

    /// Whether the segment belongs to this connection, and not to a later one on the same addresses (methods A.1.2).
    pub fn owns(&self, time: Time, sender: Side, seen: &Seen) -> bool {
        let (own, peer) = (&self.ends[sender as usize], &self.ends[sender.other() as usize]);
        if seen.flags.rst() {
            return true;
        }
        if seen.flags.syn() {
            let is_other = |space: &OtherSpace| space.side == sender && space.isn() == seen.sequence;
            if (own.syn && seen.sequence == own.isn) || self.other_space.as_deref().is_some_and(is_other) {
                return true;
            }
            let answers = seen.flags.ack() && peer.syn && seen.acknowledgement == peer.isn.wrapping_add(1);
            if answers && (!own.syn || own.runs.is_empty()) {
                return true;
            }
            if self.is_closed() || time.since(self.last_seen()).as_nanos() >= STALE {
                return false;
            }
            if own.syn {
                // Another ISN on a young connection: one that has data is not the one this SYN opens or answers.
                return own.runs.is_empty() || answers;
            }
            if !own.runs.is_empty() {
                // It may have been overtaken by what it opens, not by anything else.
                let first = sequence::unwrap(seen.sequence, own.reference()) + 1;
                return first <= own.coverage.low() && own.coverage.low() - first <= WINDOWS_PER_JUMP * LEAST_WINDOW;
            }
        }
        if !own.known || own.packets == 0 {
            return true;
        }
        if self.is_closed() {
            return self.remains().owns(sender, seen) || self.is_doubled(sender, seen);
        }
        let jump = |number: u32, end: &End| sequence::unwrap(number, end.reference()).abs_diff(end.reference());
        let distance = jump(seen.sequence, own);
        if distance <= WINDOWS_PER_JUMP * LEAST_WINDOW {
            // Within the least limit there is.
            return true;
        }
        let limit = self.largest_jump();
        if distance <= limit.min(IMPOSSIBLE_JUMP) || self.is_doubled(sender, seen) {
            return true;
        }
        // Packets missing from the capture make one direction jump; another connection makes both.
        let other_jumped = !seen.flags.ack() || !peer.known || jump(seen.acknowledgement, peer) > limit;
        distance <= IMPOSSIBLE_JUMP && !other_jumped
    }

    /// Whether a segment belongs to the other number space of a doubled acceptor.
    fn is_doubled(&self, sender: Side, seen: &Seen) -> bool {
        self.other_space
            .as_ref()
            .is_some_and(|space| space.owns(sender, seen, self.ends[space.side as usize].space(), self.largest_jump()))
    }

    /// Sets a segment of another number space aside. The first acknowledgement decides which space counts.
    #[cold]
    fn set_aside_doubled(&mut self, sender: Side, seen: &Seen) -> bool {
        let Some(space) = &mut self.other_space else { return false };
        let end = &mut self.ends[space.side as usize];
        let undecided = end.acked == 0 && end.runs.is_empty();
        if undecided && sender != space.side && space.is_nearer(sender, seen, end.space()) {
            let isn = std::mem::replace(&mut end.isn, space.isn());
            end.begin_at(sequence::first(end.isn) + 1);
            space.change_places(isn);
        }
        let is_doubled = !seen.flags.syn() && self.is_doubled(sender, seen);
        if let Some(space) = &mut self.other_space {
            match is_doubled {
                true => space.set_aside(sender, seen),
                false => space.note_own(sender, seen),
            }
        }
        is_doubled
    }

    /// Takes note of a segment `sender` sent, passing the monitor at `time`.
    pub fn handle_segment(&mut self, time: Time, sender: Side, seen: &Seen) -> Arrival {
        match offload::largest_of_merged(self.ends[sender.other() as usize].mss, seen) {
            // Of two number spaces the packets are counted as they come.
            Some(largest) if self.other_space.is_none() => self.handle_merged(time, sender, seen, largest),
            _ => self.handle_packet(time, sender, seen),
        }
    }

    /// Takes note of the segments of `largest` bytes that an offload made one of.
    #[cold]
    fn handle_merged(&mut self, time: Time, sender: Side, seen: &Seen, largest: u32) -> Arrival {
        let mut whole = Arrival::default();
        for piece in offload::pieces(seen, largest) {
            let arrival = self.handle_packet(time, sender, &piece);
            whole.new_bytes += arrival.new_bytes;
            whole.doubled |= arrival.doubled;
            whole.merged += 1;
        }
        whole.merged -= 1;
        whole.merged_bytes = whole.merged * (offload::header_bytes(seen) + LINK_HEADER_BYTES);
        let own = &mut self.ends[sender as usize];
        own.oversized = own.oversized.saturating_add(1);
        own.merged = own.merged.saturating_add(whole.merged);
        own.note_merged();
        whole
    }

    /// Takes note of a packet as it was on the link.
    fn handle_packet(&mut self, time: Time, sender: Side, seen: &Seen) -> Arrival {
        self.now = self.now.max(time.since(self.start).as_nanos());
        if self.other_space.is_some() && self.set_aside_doubled(sender, seen) {
            return Arrival { doubled: true, ..Arrival::default() };
        }
        let now = self.now;
        let flags = seen.flags;
        let (initiator, acceptor) = self.ends.split_at_mut(1);
        let (own, peer) = match sender {
            Side::Initiator => (&mut initiator[0], &mut acceptor[0]),
            Side::Acceptor => (&mut acceptor[0], &mut initiator[0]),
        };
        own.packets = own.packets.saturating_add(1);
        own.ip_bytes += u64::from(seen.ip_bytes);
        self.attempt &= flags.syn() && !flags.rst() && seen.payload_bytes == 0;
        if flags.rst() {
            // Neither its numbers nor its payload (methods A.1.6) are the connection's.
            own.rst = true;
            self.syns.reset(sender);
            self.note_close(Close::Rst(sender));
            return Arrival::default();
        }
        if flags.syn() {
            if own.rst || peer.rst {
                // The reset answered an earlier copy of this SYN, or of a connection long gone: this one goes on.
                (own.rst, peer.rst) = (false, false);
                self.close = Close::NotSeen;
            }
            match note_syn(own, peer, &mut self.handshake, now, seen) {
                Some(isn) => {
                    self.other_space.get_or_insert_with(|| Box::new(OtherSpace::new(sender, isn))).restart(isn);
                }
                None if !self.handshake.is_complete() => self.syns.passed(sender, now),
                None => {}
            }
        } else {
            own.window = own.window.max(seen.window);
            if !own.syn || !peer.syn || own.belies_offers(seen) {
                own.note_options(peer, seen);
            }
        }
        let first = seen.sequence.wrapping_add(u32::from(flags.syn()));
        if !own.known {
            own.begin_at(sequence::first(first));
        }
        let start = sequence::unwrap(first, own.reference());
        if let Some(stamps) = seen.timestamps {
            own.clock.note(now, stamps.value);
        }
        let acked = peer.acked;
        let ack = if flags.ack() { note_ack(own, peer, now, seen) } else { 0 };
        if seen.sack && !flags.syn() {
            peer.note_sacked(acked, own, seen, now);
        }
        if !self.handshake.is_complete() && sender == Side::Initiator && flags.ack() && !flags.syn() && peer.syn {
            let first_byte = sequence::unwrap(peer.isn.wrapping_add(1), peer.reference());
            if ack >= first_byte
                && let Some(answer) = self.handshake.acknowledged(now, seen.timestamps)
            {
                own.handshake_sample(answer);
            }
        }
        if flags.ack() && !flags.syn() {
            own.note_window(peer, now, ack, seen);
        }
        if let Some(reads) = &mut peer.reads {
            reads.heard(now);
        }
        own.last_window = seen.window;
        if seen.payload_bytes == 0 && flags.0 & BARE == Flags::ACK {
            own.bare_acks += 1;
            // What says less than was said before is old, and no probe.
            if start + 1 == own.acked && ack == peer.acked {
                own.note_probe(peer.last_window);
            }
            own.note_sent_before(start, peer);
        }
        if let (Some(writes), Some(stamps)) = (&mut own.writes, seen.timestamps) {
            writes.echo(now, stamps.echo, own.clock.waited());
        }
        let told = peer.acked_by(own);
        if let Some(writes) = &mut peer.writes {
            writes.heard(Acked { ack, at: now, ..told }, seen.window == 0, seen.timestamps);
        }
        let end = start + u64::from(seen.payload_bytes);
        let mut arrival = Arrival::default();
        if seen.payload_bytes > 0 {
            arrival = self.note_data(sender, Passed { start, end, at: now, id: seen.ip_id }, seen, ack);
        }
        if flags.fin() {
            let own = &mut self.ends[sender as usize];
            if own.fin {
                own.timed.sent_again(start, end + 1);
            } else {
                own.fin = true;
                own.fin_at = end;
                own.fin_seen = now;
                own.timed.sent(end + 1, seen.payload_bytes + 1, now, seen.ip_id);
            }
            self.note_close(Close::Fin(sender));
        }
        self.ends[sender as usize].last_id = seen.ip_id;
        arrival
    }

    fn note_close(&mut self, close: Close) {
        if self.close == Close::NotSeen {
            self.close = close;
            self.closed_at = self.now;
        }
    }

    fn note_data(&mut self, sender: Side, passed: Passed, seen: &Seen, ack: u64) -> Arrival {
        let Passed { start, end, at: now, id } = passed;
        let min_rtt = self.min_rtt();
        let largest_skip = if self.ends[sender as usize].told { self.largest_jump() } else { 0 };
        let (initiator, acceptor) = self.ends.split_at_mut(1);
        let (own, peer) = match sender {
            Side::Initiator => (&mut initiator[0], &mut acceptor[0]),
            Side::Acceptor => (&mut acceptor[0], &mut initiator[0]),
        };
        let single = end - start == 1;
        let may_repeat = own.coverage.high() >= end || (!own.syn && own.runs.is_empty());
        if single && end == own.acked && may_repeat {
            own.note_probe(peer.last_window);
            return Arrival::default();
        }
        if !own.syn && own.runs.is_empty() {
            own.begin_with(start, largest_skip);
        }
        let (first_seen, high) = (own.coverage.low(), own.coverage.high());
        let frontier = own.coverage.contiguous();
        let may_split = |boundaries: &Boundaries| boundaries.are_at(sender, start - first_seen);
        // Few segments follow a silence: the search among the borders comes last.
        let after_quiet = start >= high
            && own.is_after_quiet(now, self.quiet, min_rtt, peer)
            && self.boundaries.as_deref().is_none_or(may_split);
        let after_all = own.ran_dry();
        let answer = if start == high { own.answer(start, now, ack) } else { None };
        let inside = !after_quiet && own.runs.continues(ack, !self.concurrent);
        let mut arrival = Arrival::default();
        let mut late = None;
        let mut from = start;
        while let Some(piece) = own.coverage.take(from, end, now) {
            from = piece.end;
            arrival.new_bytes += (piece.end - piece.start) as u32;
            // Before the capture began nothing is known of who had heard whom.
            if !self.concurrent && piece.place != Place::Below {
                if peer.sent.is_crossed_by(piece.end, ack, frontier) {
                    self.concurrent = true;
                    become_concurrent(own, peer);
                } else {
                    own.sent.add(piece.end, ack, peer.coverage.contiguous());
                }
            }
            let bytes = Bytes { start: piece.start, end: piece.end, ack, now, ordered: !self.concurrent, after_all };
            match piece.place {
                Place::Above => own.runs.append(bytes, after_quiet),
                Place::InHole { start: hole, opened } => {
                    late = late.or(Some((hole, opened)));
                    own.runs.fill(bytes, hole);
                }
                Place::Below => {
                    late = late.or(Some((piece.start, own.runs.first_seen().unwrap_or(now))));
                    own.runs.fill(bytes, piece.start);
                }
            }
        }
        if let Some((answers, answer)) = own.answers.as_mut().zip(answer) {
            answers.add(answer);
        }
        let closed = peer.last_window == 0;
        if arrival.new_bytes == 0 {
            let refused = own.recovery.as_ref().is_some_and(|recovery| recovery.was_refused(start));
            if single && (closed || refused) {
                // Sent again when the window has opened it was not lost, but is a retransmission all the same.
                own.repeated |= !closed;
                own.recovery().window_probe();
                own.timed.sent_again(start, end);
                return Arrival::default();
            }
            own.data_segments = own.data_segments.saturating_add(1);
            own.note_repair(high, true, peer);
            let (situation, original) = (own.situation(min_rtt), own.timed.passing_of(start, end));
            if own.recovery().duplicate(passed, original, &situation) != Duplicate::Copy {
                own.repeated = true;
                own.timed.sent_again(start, end);
            }
            return arrival;
        }
        own.data_segments = own.data_segments.saturating_add(1);
        if start == high && late.is_none() {
            own.note_in_order(&passed, seen, inside, peer, min_rtt);
        } else {
            own.note_out_of_order(&passed, seen, high, peer);
        }
        if let Some((hole, opened)) = late {
            let late = Late { passed, hole, lag: now - opened, before_capture: start < first_seen };
            let situation = own.situation(min_rtt);
            own.recovery().late(late, &situation);
        }
        if single && closed {
            own.recovery().refused(start);
        }
        own.last_data = now;
        own.first_ack = NEVER;
        own.repeated = false;
        if start >= high {
            own.timed.sent(end, (end - start) as u32, now, id);
        } else {
            own.timed.sent_again(start, end);
        }
        if let Some(limit) = own.sent.overdue() {
            peer.coverage.give_up_below(limit);
        }
        arrival
    }

    fn min_rtt(&self) -> Option<u64> {
        self.ends.iter().filter_map(End::transit).reduce(u64::saturating_add)
    }

    fn class(&self, is_empty: bool, pattern: Pattern, complete: bool) -> Class {
        match () {
            () if is_empty => Class::NoData,
            () if self.ends.iter().any(|end| end.packets == 0) => Class::OneWay,
            () => Class::Replayable { pattern, complete },
        }
    }

    /// What the connection was. Nothing is left to observe afterwards. `missing` says what becomes of bytes that never
    /// passed.
    pub fn finish(&mut self, identity: Identity, missing: Missing) -> (Class, ConnectionVector) {
        let longer: u64 = self.ends.iter_mut().map(End::settle_handshake).sum();
        self.handshake.lengthen(longer);
        let min_rtt = self.min_rtt();
        let scaled = self.ends.iter().all(|end| end.window_scale.is_some());
        let recoveries = self.ends.each_mut().map(|end| end.recovery.take().filter(|recovery| recovery.is_troubled()));
        let near = |side: Side| identity.near.map(|near| near == side);
        let transits = self.ends.each_ref().map(End::transit);
        let [initiator, acceptor] = recoveries;
        let repairs = [
            initiator.map(|recovery| recovery.finish(min_rtt, transits[1], near(Side::Initiator))),
            acceptor.map(|recovery| recovery.finish(min_rtt, transits[0], near(Side::Acceptor))),
        ];
        let window = self.largest_window(scaled);
        let closed_at = self.ends.each_ref().map(|end| end.fin_seen);
        let [initiator, acceptor] = &mut self.ends;
        let gaps = [initiator.take_gaps(window, closed_at[1]), acceptor.take_gaps(window, closed_at[0])];
        let [initiator, acceptor] = &self.ends;
        let pattern = if self.concurrent { Pattern::Concurrent } else { Pattern::Sequential };
        let streams = PerSide {
            initiator: stream(initiator, acceptor, &gaps[0], missing, repairs[0].as_ref()),
            acceptor: stream(acceptor, initiator, &gaps[1], missing, repairs[1].as_ref()),
        };
        let Found { adus, pauses, losses, read_pauses, delays } = adus::adus(&streams, pattern);
        let complete = self.ends.iter().any(|end| end.syn) && self.close != Close::NotSeen;
        let class = self.class(adus.is_empty(), pattern, complete);
        let endpoint = |side: Side, end: &End, missing: MissingBytes| Endpoint {
            host: None,
            port: None,
            syn_seen: end.syn,
            mss: end.mss,
            max_window: (end.packets > 0).then(|| end.max_window(scaled)),
            max_window_unscaled: (end.packets > 0).then(|| end.window.max(end.syn_window)),
            window_scale: end.window_scale,
            sack: end.sack,
            timestamps: end.timestamps,
            ecn: end.ecn,
            // Where the monitor stands the way is short, measured or not.
            min_transit: end
                .transit()
                .or((identity.near == Some(side) && end.packets > 0).then_some(0))
                .map(Duration::from_nanos),
            lead_in: self
                .handshake
                .established()
                .and_then(|established| Some(end.runs.first_seen()?.saturating_sub(established)))
                .map(Duration::from_nanos),
            fin_wait: (end.fin_seen != NEVER).then(|| Duration::from_nanos(end.fin_seen.saturating_sub(end.last_data))),
            rst_seen: end.rst,
            packets: Some(u64::from(end.packets)),
            ip_bytes: Some(end.ip_bytes),
            bare_acks: Some(u64::from(end.bare_acks)),
            oversized: self.ends[side.other() as usize].mss.map(|_| u64::from(end.oversized)),
            datagram_sizes: None,
            segments: Some(Segments {
                data: u64::from(end.data_segments),
                missing_bytes: missing.all,
                missing_acked_bytes: missing.acknowledged,
                unacked_bytes: if end.acked == 0 { 0 } else { end.coverage.high().saturating_sub(end.acked) },
                ..repairs[side as usize].as_ref().map(|repair| repair.segments).unwrap_or_default()
            }),
            stated_loss_ppm: None,
            first_flight: end.flight.window().filter(|_| !self.handshake.is_repeated()),
            rate: end.rate(),
            nagle: end.writes.as_ref().and_then(|writes| writes.nagle()),
            acks: end.acks.as_ref().map(|acks| acks.policy()),
            transits: end.transit().and_then(|_| end.undelayed.quantiles()),
        };
        let last_data = adus.iter().filter_map(|adu| adu.seen).map(|seen| seen.last).max().unwrap_or_default();
        let vector = ConnectionVector {
            id: identity.id,
            label: None,
            protocol: Protocol::Tcp,
            ip_version: identity.ip_version,
            evidence: Evidence::Packets,
            start: identity.start,
            initiator_side: identity.initiator_side,
            initiator_rule: identity.initiator_rule,
            pattern,
            complete,
            handshake_repeated: self.handshake.is_repeated(),
            syn_rtt: self.handshake.round_trip().map(Duration::from_nanos),
            stated_rtt: None,
            lifetime: Some(Duration::from_nanos(self.now)),
            ends: PerSide {
                initiator: endpoint(Side::Initiator, initiator, gaps[0].total()),
                acceptor: endpoint(Side::Acceptor, acceptor, gaps[1].total()),
            },
            close: self.close,
            t_close: (self.close != Close::NotSeen)
                .then(|| Duration::from_nanos(self.closed_at).saturating_sub(last_data)),
            adus,
            pauses,
            datagrams: PerSide::default(),
            losses,
            syn_repeats: self.syns.take(),
            read_pauses,
            delays,
        };
        (class, vector)
    }
}

/// The data of an end that `reader` reads, for its ADUs; some were lost or sent again if there is a `repair`.
fn stream<'a>(
    end: &'a End,
    reader: &'a End,
    gaps: &'a Gaps,
    missing: Missing,
    repair: Option<&'a Repair>,
) -> Stream<'a> {
    let is_lossy = repair.is_some();
    // Of ends that do not take turns nothing tells a pause from the repair of a loss.
    let is_unsure = is_lossy && end.answers.is_some();
    let pauses = |writes: &Writes| {
        let pauses = if is_unsure { Vec::new() } else { writes.finish(end.clock.tick(), is_lossy) };
        // Where a pause is, it says more than a seam.
        pauses.into_iter().chain(writes.seams()).collect()
    };
    let pauses = end.writes.as_deref().map(pauses);
    let answers = end.answers.as_ref().map_or(&[][..], |answers| answers.list(is_lossy));
    Stream {
        runs: &end.runs,
        low: end.coverage.low(),
        gaps,
        missing,
        pauses: pauses.unwrap_or_default(),
        answers,
        lost: repair.map_or(&[], |repair| &repair.lost),
        read_pauses: reader.reads.as_ref().map(|reads| reads.pauses()).unwrap_or_default(),
        delays: end.delays(),
    }
}

/// The connection of these ends is found to be concurrent: what they sent so far was in an order.
fn become_concurrent(own: &mut End, peer: &mut End) {
    let answers = [own.runs.answers(own.coverage.low(), &peer.runs), peer.runs.answers(peer.coverage.low(), &own.runs)];
    for (end, answers) in [own, peer].into_iter().zip(answers) {
        let known = end.answers.get_or_insert_default();
        answers.into_iter().for_each(|answer| known.add(answer));
        known.crossed();
        end.runs.forget_order();
        end.sent.forget();
    }
}

/// SYN and SYN/ACK: options, numbering, handshake. Returns where another number space of `own` begins, if two SYN/ACKs
/// with different numbers answered one SYN.
fn note_syn(own: &mut End, peer: &End, handshake: &mut Handshake, now: u64, seen: &Seen) -> Option<u32> {
    let again = own.syn && own.isn == seen.sequence;
    let answers = seen.flags.ack() && peer.syn && seen.acknowledgement == peer.isn.wrapping_add(1);
    let is_second = own.syn && !again && answers;
    // The space that was acknowledged or has data stays; until then, the latest one is taken for the connection's.
    let stays = own.acked > 0 || !own.runs.is_empty();
    let other = is_second.then_some(if stays { seen.sequence } else { own.isn });
    if !again && own.runs.is_empty() && !(is_second && stays) {
        own.isn = seen.sequence;
        // Near what was acknowledged before the SYN passed; but not once more for every new attempt, or numbers drift.
        let isn = match own.known && !own.syn {
            true => sequence::unwrap(seen.sequence, own.reference()),
            false => sequence::first(seen.sequence),
        };
        own.begin_at(isn + 1);
        own.acked = 0;
    } else if !own.syn {
        own.isn = seen.sequence;
    }
    own.syn = true;
    own.mss = own.mss.or(seen.mss);
    own.window_scale = own.window_scale.or(seen.window_scale);
    own.note_offers(seen);
    own.syn_window = own.syn_window.max(seen.window);
    let same_id = seen.ip_id.is_some() && seen.ip_id == own.last_id;
    if again && same_id && now - handshake.asked() <= COPY_WITH_ID {
        // The same packet once more, not another try.
        return None;
    }
    if !seen.flags.ack() {
        handshake.syn(now, again, seen.timestamps.map(|stamps| stamps.value));
    } else if let Some(answer) = handshake.syn_ack(now, answers, seen.timestamps) {
        own.handshake_sample(answer);
    }
    other
}

/// What `own` says it has of `peer`'s bytes. Returns the acknowledgement, without the number a FIN takes.
fn note_ack(own: &mut End, peer: &mut End, now: u64, seen: &Seen) -> u64 {
    if !peer.known {
        peer.begin_at(sequence::first(seen.acknowledgement));
        peer.told = own.syn;
    }
    if seen.flags.ece() && !seen.flags.syn() {
        peer.note_congestion();
    }
    let near = peer.reference();
    let mut ack = sequence::unwrap(seen.acknowledgement, near);
    if ack.abs_diff(near) > IMPOSSIBLE_JUMP {
        return peer.acked;
    }
    let is_first_of_fin = peer.fin && ack > peer.fin_at && !peer.fin_acked;
    if peer.fin && ack > peer.fin_at {
        peer.fin_acked = true;
        if let Some(answered) = peer.timed.acknowledged(ack, now) {
            own.sample(answered.sample, seen.payload_bytes == 0);
            // A FIN that answers one is the program's.
            if seen.payload_bytes == 0 && !seen.flags.fin() {
                own.undelayed.push(answered.sample);
            }
        }
        ack = peer.fin_at;
    }
    if ack > peer.acked {
        let is_first = peer.acked == 0;
        let (before, orderly) = (peer.acked, peer.duplicate_acks == 0 && !peer.coverage.has_hole_above(peer.acked));
        peer.largest_leap = peer.largest_leap.max(ack.saturating_sub(before.max(peer.coverage.high())));
        peer.acked = ack;
        peer.acked_at = now;
        peer.duplicate_acks = 0;
        if peer.first_ack == NEVER && !is_first {
            peer.first_ack = now;
        }
        if let Some(answered) = peer.timed.acknowledged(ack, now) {
            own.sample(answered.sample, seen.payload_bytes == 0);
            if let Some((rates, shortest)) = peer.rates.as_mut().zip(own.transit()) {
                rates.acknowledged(now, answered.sample, shortest);
            }
            own.heard = Heard { up_to: answered.end, passed: now - answered.sample };
            if orderly && !is_first && !seen.flags.fin() {
                own.note_ack(&answered, ack - before, seen.payload_bytes > 0);
            }
        }
        if let Some(recovery) = &mut peer.recovery {
            recovery.acknowledged(ack, now, peer.coverage.high());
        }
        if peer.flight.awaits(ack) {
            let transits = peer.transits();
            peer.flight.acknowledged(now, transits);
        }
    } else if ack == peer.acked && seen.payload_bytes == 0 && seen.flags.0 & (Flags::SYN | Flags::FIN) == 0 {
        // Blocks say for themselves what arrived twice.
        if !is_first_of_fin && !seen.sack && peer.had_all_answered(own, now) {
            peer.answered_again(own, seen, now);
        }
        if peer.coverage.high() <= ack {
            return ack;
        }
        peer.flight.repeated();
        if seen.window != own.last_window || (seen.ip_id.is_some() && seen.ip_id == own.last_id) {
            return ack;
        }
        peer.duplicate_acks = peer.duplicate_acks.saturating_add(1);
        if let Some(writes) = &mut peer.writes {
            writes.lost(peer.coverage.high(), !peer.coverage.has_hole_above(peer.acked));
        }
        peer.note_congestion();
        if peer.duplicate_acks == ASKING {
            peer.recovery().asked(now);
        }
    }
    ack
}
