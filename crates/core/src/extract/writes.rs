//! Writes inside ADUs: where a sender could have sent and did not (methods A.13.1).
//!
//! A program that produces an ADU slowly leaves pauses in it that nothing of TCP explains. A pause that TCP or the network may have
//! caused is never taken for the program's: a replay would send by the clock what it should send by acknowledgements. So a pause counts
//! only if all sent before it had been acknowledged, up to a segment whose acknowledgement waits for another one, no acknowledgement set
//! the sender going again, its window had room, and nothing was being repaired.
//!
//! Waiting between the sender and the monitor looks the same from outside as a pause. The sender's own clock tells them apart: the
//! timestamps of two segments are as far apart as they left, however late they pass. Without timestamps a pause counts only behind a
//! segment smaller than others, since a sender that has more to send fills its segments.

use std::collections::VecDeque;

use super::clock::{Clock, Waited};
use super::nagle::{Followed, Nagle, Small};
use super::seams::{Seams, Tail};
use crate::wire::Timestamps;

/// No pause: a packet on a slow link, a turn of a scheduler.
pub(super) const SHORTEST_PAUSE: u64 = 1_000_000;

/// After a silence as long as the shortest retransmission timer, a sender may begin with its initial window again (RFC 5681 section 4.1).
const IDLE: u64 = 200_000_000;

/// What passed towards the sender, remembered for two round trips in portions of a sixteenth of one.
const MOST_HEARD: usize = 40;
const PORTIONS: u64 = 16;

/// The current round trip is judged by so many samples.
const RECENT: usize = 8;
const MANY: usize = 3;

/// Options that not all segments carry make some smaller: four SACK blocks (RFC 2018 section 3).
pub(super) const MOST_OPTIONS: u64 = 36;

/// Every TCP sends segments as large as this, if it has so much to send (RFC 9293 section 3.7.1).
pub(super) const LEAST_FULL: u64 = 536;

/// After what passes towards a sender, the answer passes within this, if nothing but the sender's TCP takes time: `transit` is the round
/// trip between the monitor and the sender, and `waited` what the answer waited beside it.
pub(super) fn answered_within(transit: u64, waited: u64) -> u64 {
    [transit, transit / 4, waited, SHORTEST_PAUSE].into_iter().fold(0, u64::saturating_add)
}

/// The latest values of something.
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    values: [u64; RECENT],
    count: u8,
    next: u8,
    /// The shortest of few; the shortest but one of many, since a single one may be wrong. It is read more often than a value comes.
    short: u64,
}

impl Recent {
    fn push(&mut self, value: u64) {
        self.values[usize::from(self.next)] = value;
        self.next = (self.next + 1) % RECENT as u8;
        self.count = (self.count + 1).min(RECENT as u8);
        let [mut shortest, mut next_to_it] = [u64::MAX; 2];
        for value in &self.values[..usize::from(self.count)] {
            next_to_it = next_to_it.min(shortest.max(*value));
            shortest = shortest.min(*value);
        }
        self.short = if usize::from(self.count) < MANY { shortest } else { next_to_it };
    }

    fn short(&self) -> Option<u64> {
        (self.count > 0).then_some(self.short)
    }
}

/// Packets that passed towards the sender soon after each other.
#[derive(Clone, Copy, Debug)]
struct Heard {
    /// When the first of them passed.
    first_at: u64,
    /// When the last did.
    at: u64,
    /// What the last acknowledged.
    ack: u64,
    /// One past the last byte that they let the sender send.
    edge: u64,
    /// The clock of the first, and of the last.
    value: Option<u32>,
    last_value: Option<u32>,
}

/// What a packet tells the sender of what it sent, or may send.
#[derive(Clone, Copy, Debug)]
pub(super) struct Acked {
    /// What is acknowledged.
    pub ack: u64,
    /// When that passed.
    pub at: u64,
    /// One past the last byte that the sender may send.
    pub edge: u64,
}

/// A pause at the byte `at` of an end's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    pub at: u64,
    pub length: u64,
}

/// Whether any data of an end was lost or sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Repairs {
    None,
    /// Of one that takes turns with the other.
    OfTurns,
    /// Of one that does not: nothing tells a pause from the repair of a loss.
    OfTwoWays,
}

/// A pause that may be the program's, for all that is known when it is over.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    pause: Pause,
    /// By how many ticks the sender's clock went on, if it shows one.
    ticks: Option<u32>,
    /// The pause is one if the sender waited for longer than this after its segment before.
    explained: u64,
    /// The segment behind it was the only one until it was acknowledged. So is one that is sent again after a timeout, of which the
    /// first copy was lost before the monitor.
    alone: bool,
    /// Its acknowledgement set the sender going again, as one does after a timeout.
    sets_going: bool,
    /// Where the segment behind it ends.
    behind: u64,
    /// That segment is as large as they come.
    is_full: bool,
}

/// What is remembered of an end's first data segment, as long as there is no other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct First {
    pub bytes: u64,
    /// When it passed.
    pub at: u64,
    pub stamp: Option<u32>,
    /// [`Clock::since`](super::clock::Clock::since) when it passed.
    pub since: (u64, u32),
    /// It ended a write, and what follows is another one (see [`Seams`]).
    pub ended_write: bool,
    /// How many bytes it was smaller than a full one, if that may be for its options.
    pub lacked: u8,
}

/// A segment that passes with nothing but new bytes, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub start: u64,
    pub end: u64,
    pub now: u64,
    /// What the other end had acknowledged when it passed the monitor.
    pub acked: u64,
    /// When new data passed before it.
    pub before: u64,
    /// The sender's clock, if it shows it, and what it echoes.
    pub stamp: Option<u32>,
    pub echo: Option<u32>,
    /// How long it waited on its way to the monitor, if its clock tells.
    pub waited: Option<Waited>,
    /// The shortest round trip between the monitor and the sender, and between both ends.
    pub shortest: Option<u64>,
    pub round_trip: u64,
    /// The other end did not read, at some time since the data before.
    pub shut_out: bool,
    /// It may follow a pause inside an ADU.
    pub inside: bool,
    /// What tells whether it ends a write.
    pub tail: Tail,
    /// What its sender has of the other end, as it says.
    pub heard: u32,
    /// It closes the stream.
    pub closes: bool,
}

/// What tells the pauses of one end's program from those of its TCP and the network.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    heard: VecDeque<Heard>,
    /// Round trips between the monitor and the sender, without waiting on the way back.
    transits: Recent,
    /// The echo that was last looked for.
    echoed: Option<u32>,
    /// The round trip that the packet under way gives by its echo, if its sender did not pause before it.
    by_echo: Option<u64>,
    /// The clock of the latest segment.
    stamp: Option<u32>,
    /// A loss, a retransmission or reordering is being repaired until this byte is acknowledged.
    repaired_at: u64,
    /// The same of what had not passed the monitor: until then what passes for the first time may have been sent before.
    unseen_at: u64,
    /// The latest data beyond all other had not, and when it passed.
    is_first_copy: bool,
    farthest_at: u64,
    /// The most that was on its way since the last loss or idle time: the sender's window was at least as large.
    allowed: u64,
    /// The most bytes of a segment.
    largest: u64,
    /// The latest segment was smaller than others though the window had room for more.
    ran_dry: bool,
    /// The window was closed since the last new data.
    closed: bool,
    candidates: Vec<Candidate>,
    seams: Seams,
    nagle: Nagle,
}

impl Writes {
    /// `transit` is the transit of the sender's side that is known so far, `acked` what was acknowledged, and `first` the sender's first
    /// segment.
    pub fn new(transit: Option<u64>, acked: Acked, first: First) -> Writes {
        let Acked { ack, at, edge } = acked;
        let mut transits = Recent::default();
        transit.into_iter().for_each(|transit| transits.push(transit));
        Writes {
            heard: VecDeque::from([Heard { first_at: at, at, ack, edge, value: None, last_value: None }]),
            transits,
            echoed: None,
            by_echo: None,
            stamp: first.stamp,
            repaired_at: 0,
            unseen_at: 0,
            is_first_copy: true,
            farthest_at: first.at,
            allowed: first.bytes,
            largest: LEAST_FULL.max(first.bytes),
            ran_dry: first.bytes < LEAST_FULL,
            closed: false,
            candidates: Vec::new(),
            seams: Seams::after_first(first.ended_write, first.lacked),
            nagle: Nagle::default(),
        }
    }

    /// A packet passed towards the sender: what it acknowledges, one past the last byte that it lets the sender send, and whether it
    /// `closes` the window.
    pub fn heard(&mut self, Acked { ack, at: now, edge }: Acked, closes: bool, timestamps: Option<Timestamps>) {
        self.closed |= closes;
        let portion = self.transits.short().unwrap_or(0) / PORTIONS;
        let value = timestamps.map(|stamps| stamps.value);
        match self.heard.back_mut() {
            Some(last) if now - last.first_at <= portion => {
                (last.at, last.ack, last.edge) = (now, ack.max(last.ack), edge.max(last.edge));
                last.last_value = value;
            }
            last => {
                let (ack, edge) = last.map_or((ack, edge), |last| (ack.max(last.ack), edge.max(last.edge)));
                if self.heard.len() == MOST_HEARD {
                    self.heard.pop_front();
                }
                self.heard.push_back(Heard { first_at: now, at: now, ack, edge, value, last_value: value });
            }
        }
    }

    /// The sender's TCP answered within `transit`, for some of which the answer `waited`.
    pub fn sample(&mut self, transit: u64, waited: Option<Waited>) {
        self.transits.push(transit.saturating_sub(waited.unwrap_or_default().least));
    }

    /// The sender echoes a clock: the first packet that does gives a round trip, unless its program paused before it: see [`Self::sent`].
    #[inline]
    pub fn echo(&mut self, now: u64, echo: u32, clock: &Clock) {
        self.take_echo();
        if self.echoed != Some(echo) {
            self.new_echo(now, echo, clock.waited());
        }
    }

    fn new_echo(&mut self, now: u64, echo: u32, waited: Option<Waited>) {
        self.echoed = Some(echo);
        // The first packet with that value, which may be in the portion of an earlier one.
        let with_value = self.heard.iter().find(|heard| heard.value == Some(echo));
        let is_earlier = |heard: &&Heard| heard.value.is_some_and(|value| echo.wrapping_sub(value) as i32 > 0);
        if let Some(heard) = with_value.or_else(|| self.heard.iter().rev().find(is_earlier)) {
            self.by_echo = Some((now - heard.first_at).saturating_sub(waited.unwrap_or_default().least));
        }
    }

    fn take_echo(&mut self) {
        if let Some(transit) = self.by_echo.take() {
            self.transits.push(transit);
        }
    }

    /// Data up to `high` had been sent when something showed that a part of it was lost, sent again or overtaken; all of it `had_passed` the
    /// monitor, or not.
    pub fn lost(&mut self, high: u64, had_passed: bool) {
        self.repaired_at = self.repaired_at.max(high);
        self.nagle.forget();
        self.allowed = 0;
        self.ran_dry = false;
        if !had_passed {
            self.unseen_at = self.unseen_at.max(high);
        }
    }

    /// New data passed in order, of which it is known how large full segments are, or nothing tells.
    fn passed_in_order(&mut self, sent: &Sent) {
        let is_short = sent.tail.is_short(self.seams.filled());
        let has_room = is_short && self.has_room_for_full(sent);
        if is_short && sent.acked >= self.repaired_at {
            let small = Small { end: sent.end, heard: sent.heard, closes: sent.closes };
            let mut nagle = self.nagle;
            match has_room {
                true => nagle.sent(small, |before| self.followed(before, sent)),
                // A window may have cut it, and hold the next one back.
                false => nagle.forget(),
            }
            self.nagle = nagle;
        }
        self.passed_beyond(sent, self.is_first_copy(sent), has_room);
    }

    /// What passes next, beyond all that has passed, was sent before.
    pub fn sends_again(&mut self) {
        self.is_first_copy = false;
        self.seams.forget();
    }

    /// New data passed beyond all other, behind `missing` bytes that did not.
    pub fn skipped(&mut self, sent: &Sent, missing: u64) {
        let sent = &self.completed(sent);
        let is_first_copy = self.is_first_copy(sent) && self.follows_at_once(sent);
        let has_room = self.has_room_for_full(sent);
        self.seams.skipped(sent.start, missing, &sent.tail, is_first_copy, has_room);
        self.passed_beyond(sent, is_first_copy, has_room);
    }

    /// Where no SYN tells how large full segments are, the largest may; if none was larger than the smallest full ones, those do.
    fn completed(&self, sent: &Sent) -> Sent {
        let least = (self.largest <= LEAST_FULL).then_some(LEAST_FULL);
        let full = sent.tail.full.or_else(|| self.seams.likely_full(self.largest)).or(least);
        Sent { tail: Tail { full, ..sent.tail }, ..*sent }
    }

    /// Data passed beyond all other, in order or behind what is missing. A small segment of it is the end of a write only if the window
    /// `has_room` for a full one.
    fn passed_beyond(&mut self, sent: &Sent, is_first_copy: bool, has_room: bool) {
        (self.is_first_copy, self.farthest_at) = (is_first_copy, sent.now);
        self.seams.sent(sent.start, &sent.tail, is_first_copy && has_room);
    }

    /// Whether it is known that data beyond all other has not been sent before, before the monitor lost it: nothing is missing, or it passes
    /// sooner after what was sent before it than anything is sent again.
    fn is_first_copy(&self, sent: &Sent) -> bool {
        sent.acked >= self.unseen_at || (self.is_first_copy && self.follows_at_once(sent))
    }

    /// Whether it follows what was sent before it in less time than it takes to hear that something was lost.
    fn follows_at_once(&self, sent: &Sent) -> bool {
        sent.now - self.farthest_at < sent.round_trip / 10 * 7
    }

    fn has_room_for_full(&self, sent: &Sent) -> bool {
        sent.tail.full.is_some_and(|full| self.window_had_room(sent.start + full, sent))
    }

    /// Its latest data is known to have ended a write.
    pub fn is_idle(&self) -> bool {
        self.ran_dry && self.seams.is_open()
    }

    /// The sender had no more than what it has sent, all of which was acknowledged up to `ack`, if its window had room up to `edge`.
    pub fn idle(&mut self, ack: u64, edge: u64) {
        if ack + self.largest <= edge {
            self.ran_dry = true;
            self.seams.end_write();
        }
    }

    /// The latest segment was a piece of one that an offload had merged: its size does not tell how the program wrote.
    pub fn merged(&mut self) {
        self.seams.forget();
    }

    /// Whether the latest segment was smaller than others though the window had room for more.
    pub fn ran_dry(&self) -> bool {
        self.ran_dry
    }

    /// Something was lost, sent again or overtaken until this byte is acknowledged.
    pub fn repaired_at(&self) -> u64 {
        self.repaired_at
    }

    /// The shortest and the longest of the latest round trips between the monitor and the sender.
    pub fn recent_transits(&self) -> Option<(u64, u64)> {
        let transits = &self.transits.values[..usize::from(self.transits.count)];
        Some((*transits.iter().min()?, *transits.iter().max()?))
    }

    /// New data passed in order.
    pub fn sent(&mut self, sent: &Sent) {
        let gap = sent.now - sent.before;
        let ticks = self.stamp.zip(sent.stamp).map(|(before, stamp)| stamp.wrapping_sub(before));
        let transit = self.transits.short();
        let is_free = !self.closed && !sent.shut_out && sent.acked >= self.repaired_at;
        let may_be = sent.inside && gap > SHORTEST_PAUSE && is_free;
        let known = match (ticks, sent.waited) {
            (Some(ticks), Some(waited)) => Some((Some(ticks), waited)),
            _ if sent.stamp.is_none() && self.ran_dry => Some((None, Waited::default())),
            _ => None,
        };
        let explained = known
            .filter(|_| may_be)
            .and_then(|(ticks, waited)| self.explained(sent, transit?, waited).map(|explained| (ticks, explained)));
        if let Some(last) = self.candidates.last_mut().filter(|last| last.behind == sent.start) {
            let was_acked = sent.acked >= sent.start && gap >= transit.unwrap_or(0) / 10 * 7;
            last.alone = was_acked || (!last.is_full && gap > SHORTEST_PAUSE);
            last.sets_going = last.alone && explained.is_none();
        }
        if let Some((ticks, explained)) = explained {
            // Behind a pause the echo is as old as the pause.
            self.by_echo = None;
            let pause = Pause { at: sent.start, length: gap };
            let is_full = sent.end - sent.start >= self.largest;
            let (alone, sets_going) = (true, false);
            self.candidates.push(Candidate { pause, ticks, explained, alone, sets_going, behind: sent.end, is_full });
        }
        if gap >= IDLE {
            self.allowed = 0;
        }
        self.allowed = self.allowed.max(sent.end.saturating_sub(sent.acked));
        self.largest = self.largest.max(sent.end - sent.start);
        self.ran_dry =
            sent.end - sent.start + MOST_OPTIONS < self.largest && self.window_had_room(sent.end + self.largest, sent);
        match sent.tail.full {
            Some(_) => self.passed_in_order(sent),
            None => self.passed_in_order(&self.completed(sent)),
        }
        self.stamp = sent.stamp;
        self.closed = false;
    }

    /// How `sent` follows the acknowledgement of all bytes before `end`.
    fn followed(&self, end: u64, sent: &Sent) -> Followed {
        let Some((transit, shortest)) = self.transits.short().zip(sent.shortest) else { return Followed::Unknown };
        let waited = sent.waited.unwrap_or_default();
        // What passed later cannot have reached the sender before it sent this.
        let known_by = sent.now.saturating_sub(shortest.min(transit) / 10 * 7);
        let known = self.heard.iter().rev().find(|heard| heard.first_at <= known_by);
        if known.is_some_and(|known| known.ack < end) {
            return Followed::Before;
        }
        let is_first = |heard: &&Heard| heard.ack >= end;
        match self.heard.iter().find(is_first).zip(self.heard.front()) {
            // It is older than what is remembered.
            Some((heard, oldest)) if heard.at == oldest.at && self.heard.len() == MOST_HEARD => Followed::Later,
            Some((heard, _)) if sent.now - heard.at <= answered_within(transit, waited.most) => Followed::AtOnce,
            Some(_) => Followed::Later,
            None => Followed::Unknown,
        }
    }

    /// Whether the sender holds small segments back, if that is clear.
    pub fn nagle(&self) -> Option<bool> {
        self.nagle.is_on()
    }

    /// Whether the window that the sender knew of for certain when it sent `sent` let it send all bytes before `end`.
    fn window_had_room(&self, end: u64, sent: &Sent) -> bool {
        let Some(transit) = self.transits.short() else { return false };
        let late = answered_within(transit, sent.waited.unwrap_or_default().most);
        let by = sent.now.saturating_sub(late);
        // What it echoes came later.
        let is_echoed = |heard: &Heard| {
            sent.echo.zip(heard.last_value).is_some_and(|(echo, value)| echo.wrapping_sub(value) as i32 > 0)
        };
        let known = self.heard.iter().rev().find(|heard| heard.first_at <= by || is_echoed(heard));
        known.or(self.heard.front()).is_some_and(|heard| end <= heard.edge)
    }

    /// How long after the segment before the sender would have sent this one, if what it heard last had set it going; `None` if more
    /// was on its way than an acknowledgement that waits for another segment accounts for, or if its window may have been full.
    fn explained(&self, sent: &Sent, transit: u64, waited: Waited) -> Option<u64> {
        // What passed later cannot have reached the sender before it sent this.
        let known_by = sent.now.saturating_sub(waited.least).saturating_sub(transit / 10 * 7);
        // Beside the monitor times are as short as the packets themselves take.
        let known_by = known_by.saturating_add(SHORTEST_PAUSE).min(sent.now);
        let heard = self.heard.iter().rev().find(|heard| heard.at <= known_by)?;
        let flight = sent.start.saturating_sub(heard.ack);
        let gap = sent.now - sent.before;
        // A paced sender with so much room has shorter pauses.
        let is_long = gap / 5 * 4 > sent.round_trip.saturating_add(SHORTEST_PAUSE);
        let had_room = flight == 0
            || (flight < 2 * self.largest && flight + 2 * self.largest <= self.allowed && is_long)
            // Its window opens by what it hears alone, and nobody paces what has not been written.
            || self.seams.is_open();
        let explained = heard.at.saturating_add(answered_within(transit, waited.most)).saturating_sub(sent.before);
        (had_room && gap > explained).then_some(explained)
    }

    /// The first bytes of writes that followed others at once, as pauses of no length, in order.
    pub fn seams(&self) -> impl Iterator<Item = Pause> {
        self.seams.list().iter().map(|at| Pause { at: *at, length: 0 })
    }

    /// Whether a write is known to have ended before the byte `at`.
    pub fn ended_at(&self, at: u64) -> bool {
        self.seams.list().binary_search(&at).is_ok()
    }

    /// The pauses of the program, in order. `tick` is that of the sender's clock, and `repairs` what of its data was sent again. Where a
    /// write is known to have ended, what follows is no repair of it.
    pub fn finish(&self, tick: Option<u64>, repairs: Repairs) -> Vec<Pause> {
        let pause = |candidate: &Candidate| {
            let Candidate { pause, ticks, explained, alone, sets_going, is_full, .. } = *candidate;
            let length = match ticks {
                Some(ticks) => {
                    let tick = tick?;
                    let waited = u64::from(ticks).saturating_mul(tick);
                    (waited > explained.saturating_add(tick)).then(|| pause.length.min(waited.saturating_add(tick)))?
                }
                None => pause.length,
            };
            let may_be_repair = match repairs {
                Repairs::None => alone && sets_going && is_full,
                Repairs::OfTurns => alone && !self.ended_at(pause.at),
                Repairs::OfTwoWays => !self.ended_at(pause.at),
            };
            (!may_be_repair).then_some(Pause { length, ..pause })
        };
        self.candidates.iter().filter_map(pause).collect()
    }

    /// Bytes held.
    pub fn heap_bytes(&self) -> usize {
        size_of::<Writes>()
            + self.heard.capacity() * size_of::<Heard>()
            + self.candidates.capacity() * size_of::<Candidate>()
            + self.seams.heap_bytes()
    }
}
