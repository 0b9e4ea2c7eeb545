//! What was observed of one end of a connection.

use std::num::NonZeroU16;

use crate::tcp::Timestamps;
use crate::wire::Flags;
use crate::workload::ASSUMED_MSS;

use super::acks::{Acknowledged, Acks};
use super::adus::Runs;
use super::answers::{self, Answer, Answers, Heard};
use super::clock::Clock;
use super::coverage::Coverage;
use super::delays::{Delay, Delays};
use super::doubled::Space;
use super::exchange::Sent;
use super::flight::{self, Flight, Transits};
use super::gaps::Gaps;
use super::rate::{self, Rates};
use super::reads::{Offered, Reads};
use super::recovery::{Passed, Recovery, Situation};
use super::remains::Reach;
use super::sacked::Blocks;
use super::seams::Tail;
use super::seen::Seen;
use super::transit::{Answered, HandshakeAnswer, NEVER, Timed};
use super::undelayed::Undelayed;
use super::writes::{self, Acked, First, Writes};

/// A jump by more than this many of the largest windows is suspicious (methods A.1.2).
pub(super) const WINDOWS_PER_JUMP: u64 = 16;

/// The largest window that needs no scaling.
pub(super) const LEAST_WINDOW: u64 = 1 << 16;

/// TCP acknowledges within this (RFC 9293 section 3.8.6.3), so a longer wait for an acknowledgement that comes with data
/// is the application's unless the path itself takes as long.
const LONGEST_ACK_DELAY: u64 = 500_000_000;

/// Who has sent no more segments than this has no rate that shows.
const FEW_SEGMENTS: u32 = 64;

/// A sender goes on within this when an acknowledgement or a window update lets it, beside a quarter of its transit.
const RELEASE: u64 = 10_000_000;

/// A sample of the handshake of which it is not known which copy it answers.
#[derive(Clone, Copy, Debug)]
struct Ambiguous {
    answer: HandshakeAnswer,
    /// [`Clock::since`] when it was taken.
    since: (u64, u32),
    /// The shortest sample after it, and [`Clock::since`] then; [`NEVER`] if there is none.
    shortest_other: (u64, (u64, u32)),
    /// One of those was an answer of the end's TCP.
    at_once: bool,
}

/// One end's share of what was observed.
#[derive(Clone, Debug)]
pub(super) struct End {
    /// Its bytes. Before its first segment, what the other end acknowledged stands in for them.
    pub coverage: Coverage,
    /// Highest of its bytes that the other end acknowledged; 0 before that.
    pub acked: u64,
    /// Its data segments, for the concurrency test.
    pub sent: Sent,
    /// Its data.
    pub runs: Runs,
    /// Its segments waiting for an acknowledgement.
    pub timed: Timed,
    /// Minimum one-side transit time; [`NEVER`] without a sample. [`End::transit`] says whether to believe it.
    pub min_transit: u64,
    /// [`Clock::since`] when that sample was taken.
    pub min_transit_since: (u64, u32),
    /// What is not known of its handshake.
    ambiguous: Option<Box<Ambiguous>>,
    /// Transit times that no acknowledgement policy delayed.
    pub undelayed: Undelayed,
    /// IP bytes of its packets.
    pub ip_bytes: u64,
    /// When its last new data passed.
    pub last_data: u64,
    /// When its data was first acknowledged further after that; [`NEVER`] if it was not.
    pub first_ack: u64,
    /// One past its last byte, once its FIN was seen.
    pub fin_at: u64,
    /// When its first FIN passed.
    pub fin_seen: u64,
    /// Loss and its repair, since the first sign of it.
    pub recovery: Option<Box<Recovery>>,
    /// Its first data segment.
    pub first: First,
    /// What tells the pauses of its program, from its second data segment on.
    pub writes: Option<Box<Writes>>,
    /// That of its timestamps.
    pub clock: Clock,
    /// How long its data waited before the monitor, from its second data segment on, if it has timestamps.
    pub delays: Option<Box<Delays>>,
    /// Its first-flight window.
    pub flight: Flight,
    /// What tells its rate, once it has sent more than a few segments.
    pub rates: Option<Box<Rates>>,
    /// What it has of the other end's data that was sent once.
    pub heard: Heard,
    /// What it waited for from the other end, once the connection is known to be concurrent.
    pub answers: Option<Box<Answers>>,
    /// Its acknowledgements without data, since the first.
    pub acks: Option<Box<Acks>>,
    /// One past the last byte that its windows let the other end send.
    pub window_edge: u64,
    /// Pauses of its program while it reads, since its window closed first.
    pub reads: Option<Box<Reads>>,
    /// When `acked` grew.
    pub acked_at: u64,
    /// The farthest that an acknowledgement passed both the one before and the highest byte seen.
    pub largest_leap: u64,
    /// Its packets as on the link.
    pub packets: u32,
    /// Those of them that an offload had merged with the one before.
    pub merged: u32,
    /// Captured segments with more payload than the other end's MSS allows.
    pub oversized: u32,
    pub bare_acks: u32,
    pub data_segments: u32,
    pub isn: u32,
    pub mss: Option<u16>,
    pub window_scale: Option<u8>,
    pub sack: Option<bool>,
    pub timestamps: Option<bool>,
    pub ecn: Option<bool>,
    /// Largest window on its SYNs, never scaled.
    pub syn_window: u16,
    /// Largest window on other segments, before scaling.
    pub window: u16,
    /// Window on its last segment, not closed before its first.
    pub last_window: u16,
    /// IP identification of its last packet.
    pub last_id: Option<NonZeroU16>,
    /// Repetitions of the acknowledgement `acked` by the other end.
    pub duplicate_acks: u8,
    /// Its sequence numbers are known.
    pub known: bool,
    /// Its SYN was seen, so its first byte is known.
    pub syn: bool,
    /// The other end's first acknowledgement since its SYN tells where its bytes begin.
    pub told: bool,
    pub fin: bool,
    pub fin_acked: bool,
    /// It sent an RST.
    pub rst: bool,
    /// A sample of its transit came from the handshake or from a segment without payload.
    pub at_once: bool,
    /// A duplicate passed after its last new data.
    pub repeated: bool,
}

impl End {
    pub fn new() -> End {
        End {
            coverage: Coverage::default(),
            acked: 0,
            sent: Sent::default(),
            runs: Runs::default(),
            timed: Timed::default(),
            min_transit: NEVER,
            min_transit_since: (0, 0),
            ambiguous: None,
            undelayed: Undelayed::default(),
            ip_bytes: 0,
            last_data: 0,
            first_ack: NEVER,
            fin_at: 0,
            fin_seen: NEVER,
            recovery: None,
            first: First::default(),
            writes: None,
            clock: Clock::default(),
            delays: None,
            flight: Flight::default(),
            rates: None,
            heard: Heard::default(),
            answers: None,
            acks: None,
            window_edge: 0,
            reads: None,
            acked_at: 0,
            largest_leap: 0,
            packets: 0,
            merged: 0,
            oversized: 0,
            bare_acks: 0,
            data_segments: 0,
            isn: 0,
            mss: None,
            window_scale: None,
            sack: None,
            timestamps: None,
            ecn: None,
            syn_window: 0,
            window: 0,
            last_window: u16::MAX,
            last_id: None,
            duplicate_acks: 0,
            known: false,
            syn: false,
            told: false,
            fin: false,
            fin_acked: false,
            rst: false,
            at_once: false,
            repeated: false,
        }
    }

    /// A segment passed that only asks the other end, which offered `window`, for an acknowledgement (methods A.3).
    #[cold]
    pub fn note_probe(&mut self, window: u16) {
        match window {
            0 => self.recovery().window_probe(),
            _ => self.recovery().keep_alive(),
        }
    }

    /// The sequence number others are unwrapped near to.
    pub fn reference(&self) -> u64 {
        self.coverage.high().max(self.acked)
    }

    /// Its number space, as on the wire.
    pub fn space(&self) -> Space {
        Space { isn: self.isn, next: self.reference() as u32 }
    }

    /// How far from that number its stragglers lie once the connection has closed, where `window` is the largest of the connection: what it
    /// sends again lies within a window and, but for what was on the way when the capture began, within what was captured of it.
    pub fn reach(&self, window: u64) -> Reach {
        let captured = self.reference().saturating_sub(self.coverage.low());
        let most = window.min(captured.saturating_add(LEAST_WINDOW));
        match self.fin_acked && self.fin_at <= self.reference() {
            true => Reach::ended(most),
            false => Reach::open(window.min(captured), most),
        }
    }

    /// Takes what its SYN or SYN/ACK offers. That of a repeated one counts: Linux gives ECN up with it.
    pub fn note_offers(&mut self, syn: &Seen) {
        let flags = syn.flags;
        // RFC 3168 section 6.1.1: ECE and CWR ask for ECN, ECE alone grants it.
        self.ecn = Some(flags.ece() && flags.cwr() != flags.ack());
        if !syn.options_cut || syn.sack {
            self.sack = Some(syn.sack);
        }
        if !syn.options_cut || syn.timestamps.is_some() {
            self.timestamps = Some(syn.timestamps.is_some());
        }
    }

    /// Whether a segment carries timestamps although its sender's SYN did not offer them: the SYN was malformed or changed on its way, and
    /// what is used counts.
    pub fn belies_offers(&self, seen: &Seen) -> bool {
        seen.timestamps.is_some() && self.timestamps == Some(false)
    }

    /// Takes what a segment that is no SYN tells of the offers of both ends, where the SYN of one was not seen or did not tell.
    pub fn note_options(&mut self, peer: &mut End, seen: &Seen) {
        if self.belies_offers(seen) {
            self.timestamps = None;
        }
        let used = [
            (&mut self.sack, &mut peer.sack, seen.sack),
            (&mut self.timestamps, &mut peer.timestamps, seen.timestamps.is_some()),
            (&mut self.ecn, &mut peer.ecn, seen.flags.0 & (Flags::ECE | Flags::CWR) != 0),
        ];
        for (own, other, is_used) in used {
            if is_used {
                own.get_or_insert(true);
                other.get_or_insert(true);
            }
        }
        if !self.syn && !seen.options_cut && self.timestamps.is_none() {
            self.timestamps = Some(false);
        }
    }

    /// Fixes where its bytes begin.
    pub fn begin_at(&mut self, first: u64) {
        self.coverage.reset(first);
        self.known = true;
    }

    /// Its first captured data starts at `start`, and its SYN was not captured. What the capture lacks of a connection that began in it is
    /// missing, up to `largest_skip` bytes; what passed before the capture began is not.
    pub fn begin_with(&mut self, start: u64, largest_skip: u64) {
        let skipped = start.checked_sub(self.coverage.low());
        if !self.told || skipped.is_none_or(|skipped| skipped > largest_skip) {
            self.coverage.reset(start);
        }
    }

    /// Takes a transit time; `at_once` if its TCP answered, not its application.
    pub fn sample(&mut self, transit: u64, at_once: bool) {
        if transit < self.min_transit {
            (self.min_transit, self.min_transit_since) = (transit, self.clock.since());
        }
        self.at_once |= at_once;
        if let Some(ambiguous) = &mut self.ambiguous {
            ambiguous.shortest_other = ambiguous.shortest_other.min((transit, self.clock.since()));
            ambiguous.at_once |= at_once;
        }
        if let Some(writes) = self.writes.as_mut().filter(|_| at_once) {
            writes.sample(transit, self.clock.waited());
        }
    }

    /// It answered in the handshake.
    pub fn handshake_sample(&mut self, answer: HandshakeAnswer) {
        let HandshakeAnswer { since_first, since_last } = answer;
        self.sample(since_last, true);
        if since_first == since_last {
            self.undelayed.push(since_last);
        } else {
            let since = self.clock.since();
            self.ambiguous =
                Some(Box::new(Ambiguous { answer, since, shortest_other: (NEVER, since), at_once: false }));
        }
    }

    /// Settles what a repeated SYN or SYN/ACK says where no timestamp tells which copy the end answered (methods A.6). By Karn's rule it
    /// gives no sample: the time since the last copy may be too short. The time since the first is the longest that the path can take.
    ///
    /// In the round trip of the handshake the first copy counts if the end's TCP has never answered in less time, or never so soon that the
    /// last can be meant, however long acknowledgements were delayed; or else the last. Returns by how much it is longer than from the last.
    pub fn settle_handshake(&mut self) -> u64 {
        let Some(ambiguous) = self.ambiguous.take() else { return 0 };
        let Ambiguous { answer: HandshakeAnswer { since_first, since_last }, since, shortest_other, at_once } =
            *ambiguous;
        let (other, _) = shortest_other;
        (self.min_transit, self.min_transit_since) = match other {
            NEVER => shortest_other,
            _ => shortest_other.min((since_first, since)),
        };
        if !at_once || (other < since_first && other <= since_last.saturating_add(LONGEST_ACK_DELAY)) {
            return 0;
        }
        self.undelayed.push(since_first);
        since_first - since_last
    }

    /// Minimum one-side transit time. Where only data ever answered, later than TCP delays an acknowledgement, the
    /// capture lacks its acknowledgements and the time is the application's.
    pub fn transit(&self) -> Option<u64> {
        let known = self.min_transit != NEVER && (self.at_once || self.min_transit <= LONGEST_ACK_DELAY);
        known.then_some(self.min_transit)
    }

    /// New data passed in order, in one ADU with the data before it if it is `inside`: `peer` is the other end.
    pub fn note_in_order(&mut self, passed: &Passed, seen: &Seen, inside: bool, peer: &End, min_rtt: Option<u64>) {
        self.note_write(passed, seen, inside, peer);
        self.note_flight(passed, inside, peer, min_rtt);
        self.note_rate(passed, inside, peer);
    }

    /// New data passed, but not right behind all that had passed, up to `high`: some is missing before it, or it fills what was.
    #[cold]
    pub fn note_out_of_order(&mut self, passed: &Passed, seen: &Seen, high: u64, peer: &End) {
        let sent = self.sent(passed, seen, true, peer);
        self.note_repair(passed.end.max(high), false, peer);
        let writes = self.writes(peer);
        if let Some(missing) = passed.start.checked_sub(high).filter(|missing| *missing > 0) {
            writes.skipped(&sent, missing);
        } else if passed.end > high {
            // It was cut anew.
            writes.sends_again();
        }
    }

    /// A segment as the pauses of its program need it.
    fn sent(&self, passed: &Passed, seen: &Seen, inside: bool, peer: &End) -> writes::Sent {
        let Passed { start, end, at: now, .. } = *passed;
        let stamp = seen.timestamps.map(|stamps| stamps.value);
        let full = self.full_segment(peer, stamp.is_some());
        writes::Sent {
            start,
            end,
            now,
            acked: self.acked,
            before: self.last_data,
            stamp,
            echo: seen.timestamps.map(|stamps| stamps.echo),
            waited: self.clock.waited(),
            shortest: self.transit(),
            round_trip: self.transit().unwrap_or(0).saturating_add(peer.transit().unwrap_or(0)),
            shut_out: peer.reads.as_ref().is_some_and(|reads| reads.was_closed_since(self.last_data)),
            inside,
            tail: Tail { bytes: end - start, pushes: seen.flags.psh(), full },
            heard: seen.acknowledgement,
            closes: seen.flags.fin(),
        }
    }

    /// The same data, as the pauses of its program need it.
    fn note_write(&mut self, passed: &Passed, seen: &Seen, inside: bool, peer: &End) {
        let sent = self.sent(passed, seen, inside, peer);
        let writes::Sent { start, end, now, stamp, tail, .. } = sent;
        let since = self.clock.since();
        if self.data_segments < 2 {
            let (ended_write, lacked) = (tail.is_short(0), tail.lacks(0).unwrap_or(0));
            self.first = First { bytes: end - start, at: now, stamp, since, ended_write, lacked };
            return;
        }
        if stamp.is_some() {
            let first = self.first;
            let delays = self.delays.get_or_insert_with(|| Box::new(Delays::new(start - first.bytes, first.since)));
            delays.passed(start, since, self.clock.known_tick());
        }
        self.writes(peer).sent(&sent);
    }

    fn writes(&mut self, peer: &End) -> &mut Writes {
        let (transit, acked, first) = (self.transit(), self.acked_by(peer), self.first);
        self.writes.get_or_insert_with(|| Box::new(Writes::new(transit, acked, first)))
    }

    /// What `peer` has told the end of its data so far.
    pub fn acked_by(&self, peer: &End) -> Acked {
        // The window of a SYN is not scaled (RFC 7323 section 2.2).
        let edge = if peer.window_edge > 0 { peer.window_edge } else { self.acked + u64::from(peer.syn_window) };
        Acked { ack: self.acked, at: self.acked_at, edge }
    }

    /// Payload of a full segment of it to `peer`; `None` where the SYN of the receiver does not tell.
    fn full_segment(&self, peer: &End, has_stamps: bool) -> Option<u64> {
        let mss = self.mss.map_or(peer.mss?, |mss| mss.min(peer.mss.unwrap_or(mss)));
        // The MSS counts the options of a segment (RFC 6691).
        let options = if has_stamps { Timestamps::OPTION_BYTES } else { 0 };
        Some(u64::from(mss).saturating_sub(u64::from(options)))
    }

    /// Its latest segment was a piece of one that an offload had merged.
    pub fn note_merged(&mut self) {
        self.first.ended_write = false;
        if let Some(writes) = &mut self.writes {
            writes.merged();
        }
    }

    /// The same data, as its first-flight window needs it.
    fn note_flight(&mut self, passed: &Passed, inside: bool, peer: &End, min_rtt: Option<u64>) {
        let Passed { start, end, at: now, .. } = *passed;
        let before = start - self.coverage.low();
        let mss = peer.mss.map_or(ASSUMED_MSS, u64::from);
        self.flight.sent(&flight::Sent { start, end, now, before, inside, mss, min_rtt });
    }

    /// The same data, as its rate needs it.
    fn note_rate(&mut self, passed: &Passed, inside: bool, peer: &End) {
        if self.data_segments <= FEW_SEGMENTS {
            return;
        }
        let known = self.clock.waited().zip(self.clock.known_tick()).zip(self.transit().zip(peer.transit()));
        let Some(((waited, tick), (near, far))) = known else { return };
        let Passed { start, end, at: now, .. } = *passed;
        let scale = self.window_scale.and(peer.window_scale).unwrap_or(0).min(14);
        self.rates.get_or_insert_default().sent(&rate::Sent {
            start,
            end,
            now,
            waited,
            tick,
            watched: self.clock.since().0,
            round_trip: near.saturating_add(far),
            window: u64::from(peer.last_window) << scale,
            inside,
        });
    }

    /// Its rate, in bit/s of payload.
    pub fn rate(&self) -> Option<u64> {
        self.rates.as_ref()?.finish(self.coverage.high() - self.coverage.low())
    }

    /// Something showed that the network held its data back.
    pub fn note_congestion(&mut self) {
        if let Some(rates) = &mut self.rates {
            rates.lost();
        }
    }

    /// Whether its latest segment of new data was smaller than others though the window had room for more, or there was none.
    pub fn ran_dry(&self) -> bool {
        match &self.writes {
            Some(writes) => writes.ran_dry(),
            None => self.first.bytes < writes::LEAST_FULL,
        }
    }

    /// What set it going that sends new data in order from `start` with the acknowledgement `ack`, if that was something of the other
    /// end's data.
    pub fn answer(&self, start: u64, now: u64, ack: u64) -> Option<Answer> {
        let is_repaired = self.writes.as_ref().is_none_or(|writes| self.acked >= writes.repaired_at());
        let before = Heard { up_to: self.runs.last_ack(), passed: self.last_data };
        let sent = answers::Sent { start, now, heard: self.heard, before, transit: self.transit().unwrap_or(0) };
        (self.heard.up_to == ack && is_repaired && self.ran_dry()).then(|| sent.answer())?
    }

    /// How long its data waited before the monitor.
    pub fn delays(&self) -> Vec<Delay> {
        let delays = self.delays.as_ref().zip(self.transit());
        delays.map(|(delays, transit)| delays.finish(&self.clock, transit, self.min_transit_since)).unwrap_or_default()
    }

    /// Something of its data up to `high` was lost or overtaken, which `had_passed` before, or not.
    pub fn note_repair(&mut self, high: u64, had_passed: bool, peer: &End) {
        self.writes(peer).lost(high, had_passed);
        self.flight.lost();
        self.note_congestion();
    }

    /// An acknowledgement of it says that it has sent all of its data before `next`, whether it has passed the monitor or not.
    #[inline]
    pub fn note_sent_before(&mut self, next: u64, peer: &End) {
        if next > self.coverage.high() {
            self.note_unseen(next, peer);
        }
    }

    #[cold]
    fn note_unseen(&mut self, next: u64, peer: &End) {
        // Behind its FIN there is no more, and far numbers are of something else.
        if !self.fin && next - self.coverage.high() <= WINDOWS_PER_JUMP * LEAST_WINDOW {
            self.note_repair(next, false, peer);
            self.writes(peer).sends_again();
        }
    }

    /// Round trips between the monitor and the end at present.
    pub fn transits(&self) -> Transits {
        let recent = self.writes.as_ref().and_then(|writes| writes.recent_transits());
        recent.or_else(|| self.transit().map(|transit| (transit, transit)))
    }

    /// It acknowledges `bytes` of the other end while nothing is missing, with data of its own or without.
    pub fn note_ack(&mut self, answered: &Answered, bytes: u64, with_data: bool) {
        let transit = self.transit();
        let acks = self.acks.get_or_insert_default();
        if with_data {
            acks.carried();
        } else if answered.bytes == bytes {
            // What was sent again is not timed.
            acks.passed(Acknowledged { segments: answered.segments, since: answered.sample }, transit);
            if answered.segments > 1 || acks.is_quick() {
                self.undelayed.push(answered.sample);
            }
        }
    }

    pub fn recovery(&mut self) -> &mut Recovery {
        let recovery = self.recovery.get_or_insert_default();
        recovery.troubled();
        recovery
    }

    /// The other end acknowledged data selectively, and had acknowledged all below `before` until then.
    #[cold]
    pub fn note_sacked(&mut self, before: u64, peer: &End, seen: &Seen, now: u64) {
        let blocks = Blocks::of(seen.sack_blocks, self.acked, self.coverage.high());
        let is_repeated = self.recovery.get_or_insert_default().sacked(blocks, now);
        if is_repeated && before == self.acked && seen.payload_bytes == 0 && !seen.flags.fin() {
            self.answered_again(peer, seen, now);
        }
    }

    /// What a segment of it is judged by.
    pub fn situation(&self, min_rtt: Option<u64>) -> Situation {
        Situation {
            high: self.coverage.high(),
            acked: self.acked,
            duplicate_acks: self.duplicate_acks,
            last_data: self.last_data,
            last_id: self.last_id,
            transit: self.transit(),
            min_rtt,
        }
    }

    /// Whether `peer` had all of its data that it can have answered at `now`.
    pub fn had_all_answered(&self, peer: &End, now: u64) -> bool {
        let is_all_acked = |recovery: &Recovery| recovery.is_all_acked(now, peer.transit().unwrap_or(0));
        self.coverage.high() <= self.acked || self.recovery.as_deref().is_some_and(is_all_acked)
    }

    /// The other end repeated what it has of its data, with nothing of it on the way that it could have answered.
    pub fn answered_again(&mut self, peer: &End, seen: &Seen, now: u64) {
        let Some(recovery) = &mut self.recovery else { return };
        // Another window is news, and the network may copy packets.
        if seen.window == peer.last_window && (seen.ip_id.is_none() || seen.ip_id != peer.last_id) {
            recovery.answered_again(now, peer.transit().unwrap_or(0));
        }
    }

    /// The largest window it advertised (methods A.7).
    pub fn max_window(&self, scaled: bool) -> u64 {
        let shift = if scaled { self.window_scale.unwrap_or(0) } else { 0 };
        // RFC 7323 section 2.3: a shift above 14 counts as 14.
        u64::from(self.syn_window).max(u64::from(self.window) << shift.min(14))
    }

    /// By how much its window fields are shifted; `None` where that is not known.
    fn window_shift(&self, peer: &End) -> Option<u8> {
        let is_unscaled = |end: &End| end.syn && end.window_scale.is_none() && end.sack.is_some();
        match (self.window_scale, peer.window_scale) {
            // RFC 7323 section 2.3: a shift above 14 counts as 14.
            (Some(shift), Some(_)) => Some(shift.min(14)),
            _ => (is_unscaled(self) || is_unscaled(peer)).then_some(0),
        }
    }

    /// It offers a window behind `ack` of the other end's bytes.
    #[inline]
    pub fn note_window(&mut self, peer: &End, now: u64, ack: u64, seen: &Seen) {
        let shift = self.window_shift(peer);
        let window = u64::from(seen.window) << shift.unwrap_or(0);
        let largest = u64::from(self.window) << shift.unwrap_or(0);
        self.window_edge = self.window_edge.max(ack + window);
        if ack != peer.acked {
            // Another overtook it.
            return;
        }
        if self.window_edge - ack > 2 * largest {
            // Sequence numbers began anew.
            self.window_edge = ack + window;
        }
        let room = self.window_edge - ack;
        if 2 * room < largest || self.reads.as_ref().is_some_and(|reads| reads.is_closed()) {
            let mss = self.mss.into_iter().chain(peer.mss).min().map_or(ASSUMED_MSS, u64::from);
            let is_closed = match shift {
                Some(_) => room < mss && 2 * room < largest,
                None => room == 0 && largest > 0,
            };
            if is_closed || self.reads.is_some() {
                let offered = Offered { now, edge: self.window_edge, is_closed, transit: self.transit() };
                self.reads.get_or_insert_default().offered(&offered);
            }
        }
    }

    /// Whether data that passes now waited for the program of `reader` to read.
    fn waited_for(&self, reader: &End, now: u64) -> bool {
        let transit = self.transit().unwrap_or(0);
        let release = [transit, transit / 4, RELEASE].into_iter().fold(0, u64::saturating_add);
        // Nobody tries to send into a closed window who has nothing to send.
        let since = now.saturating_sub(release).max(self.last_data);
        reader.reads.as_ref().is_some_and(|reads| reads.was_closed_since(since))
    }

    /// Whether the silence that ends `now` splits its data (methods A.5.2 and A.5.3).
    pub fn is_after_quiet(&self, now: u64, quiet: u64, min_rtt: Option<u64>, peer: &End) -> bool {
        let gap = now - self.last_data;
        if gap <= quiet || self.runs.is_empty() || self.waited_for(peer, now) {
            return false;
        }
        // TCP was repairing a loss: the silence is its own.
        if self.repeated || self.coverage.has_hole_above(self.acked) {
            return false;
        }
        !self.is_explained_by_window(now, gap, min_rtt)
    }

    /// Whether the sender had used up its window and an acknowledgement set it going again: data it had sent was first
    /// acknowledged one transit of its side before `now`, within a quarter of that transit and 10 ms. The whole gap is
    /// then no longer than about a round trip; twice the minimum is the limit (methods A.5.2).
    fn is_explained_by_window(&self, now: u64, gap: u64, min_rtt: Option<u64>) -> bool {
        let (Some(min_rtt), Some(transit)) = (min_rtt, self.transit()) else { return false };
        if self.first_ack == NEVER || gap > min_rtt.saturating_mul(2) {
            return false;
        }
        let turnaround = now - self.first_ack;
        turnaround <= transit + transit / 4 + RELEASE
    }

    /// The bytes that never passed. Those after the last one seen, of which the FIN's number or an acknowledgement tells,
    /// become part of the last ADU, if there is one. `window` is the largest of the connection: numbers far beyond it tell nothing.
    /// The other end's FIN passed at `other_closed`; [`NEVER`] if it sent none.
    pub fn take_gaps(&mut self, window: u64, other_closed: u64) -> Gaps {
        if !self.known {
            return Gaps::default();
        }
        let high = self.coverage.high();
        let told = match self.fin {
            true => self.fin_at,
            // Without its FIN one number may be the FIN's own, and is if the other end acknowledged it when it closed or later.
            false if self.acked > high + 1 => self.acked - u64::from(self.acked_at >= other_closed),
            false => high,
        };
        // Steps may lead as far as they will; a leap beyond any window is somebody else's number.
        let leap = self.largest_leap.max(told.saturating_sub(self.acked.max(high)));
        let unseen = Some(high..told).filter(|unseen| !unseen.is_empty() && leap <= WINDOWS_PER_JUMP * window);
        if !self.runs.is_empty() {
            // Bytes given up above the last one seen are this ADU's too.
            self.runs.extend_unseen(unseen.as_ref().map_or(high, |unseen| unseen.end));
        }
        Gaps::new(self.coverage.missing().chain(unseen).collect(), self.acked)
    }
}
