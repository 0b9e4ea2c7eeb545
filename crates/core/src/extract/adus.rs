//! ADUs and the waits between them (methods A.5).
//!
//! Segments of one end that carry the same acknowledgement were sent without hearing anything new in between, so they
//! sit next to each other in the total order of methods A.4; they are merged into a *run* as they pass, unless a quiet
//! time splits them. Memory grows with exchanges, not with packets. When the connection is over, the runs of both ends
//! are merged into that order and become ADUs.

use crate::time::Duration;
use crate::workload::{Adu, ExtraDelay, LostSegment, Pattern, Pause, PerSide, Side, Span};

use super::answers::Answer;
use super::delays;
use super::gaps::Gaps;
use super::options::Missing;
use super::recovery::Lost;
use super::writes;

/// Runs behind a late segment's place at most, for it to become one of its own: no TCP takes so many turns with a hole
/// open, and a capture crafted so would have as many moved for every packet.
const MOST_BEHIND: usize = 4096;

/// Neighbouring data segments of one end with one acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// One past the last byte; the run begins where the run before it ends, so holes count as its bytes.
    end: u64,
    /// The acknowledgement its segments carry.
    ack: u64,
    /// When the first of its bytes to pass, passed.
    first: u64,
    /// When the last did.
    last: u64,
    /// A quiet time separates it from the bytes before it.
    after_quiet: bool,
    /// Its end had nothing more to send before it.
    after_all: bool,
}

/// Where new bytes go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub start: u64,
    pub end: u64,
    pub ack: u64,
    pub now: u64,
    /// Whether the order between the two ends still matters: the connection is not known to be concurrent.
    pub ordered: bool,
    /// Their end had nothing more to send before them.
    pub after_all: bool,
}

/// The runs of one end, by sequence number.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// The last one, held in place: it is what nearly every segment extends, and often the only one.
    last: Option<Run>,
    /// Those before it.
    earlier: Vec<Run>,
    /// When the first of all bytes passed. The observer's time never decreases, so that is the first appended.
    first: u64,
}

impl Runs {
    /// Whether there is no data.
    pub fn is_empty(&self) -> bool {
        self.last.is_none()
    }

    /// When the first byte passed.
    pub fn first_seen(&self) -> Option<u64> {
        (!self.is_empty()).then_some(self.first)
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.earlier.capacity() * size_of::<Run>()
    }

    /// The runs in order.
    fn iter(&self) -> impl Iterator<Item = &Run> {
        self.earlier.iter().chain(&self.last)
    }

    /// How many there are.
    fn len(&self) -> usize {
        self.earlier.len() + usize::from(self.last.is_some())
    }

    /// Bytes above all others; `after_quiet` if a quiet time separates them from those.
    pub fn append(&mut self, bytes: Bytes, after_quiet: bool) {
        let Bytes { end, ack, now, after_all, .. } = bytes;
        match &mut self.last {
            Some(last) if !after_quiet && (!bytes.ordered || last.ack == ack) => {
                last.end = end;
                last.ack = last.ack.max(ack);
                last.last = last.last.max(now);
            }
            last => match last.replace(Run { end, ack, first: now, last: now, after_quiet, after_all }) {
                Some(before) => self.earlier.push(before),
                None => self.first = now,
            },
        }
    }

    /// Whether bytes above all others with this acknowledgement belong to the last run, if no quiet time parts them.
    pub fn continues(&self, ack: u64, ordered: bool) -> bool {
        self.last.is_some_and(|last| !ordered || last.ack == ack)
    }

    /// The acknowledgement of the bytes above all others; 0 if there are none.
    pub fn last_ack(&self) -> u64 {
        self.last.map_or(0, |last| last.ack)
    }

    /// Late bytes from a hole that began at `hole`, or from below the first byte seen.
    pub fn fill(&mut self, bytes: Bytes, hole: u64) {
        match self.last {
            Some(last) if last.end >= bytes.end => {
                self.earlier.push(last);
                fill(&mut self.earlier, bytes, hole);
                self.last = self.earlier.pop();
            }
            _ => self.append(bytes, false),
        }
    }

    /// Counts bytes up to `end` that never passed into the last run.
    pub fn extend_unseen(&mut self, end: u64) {
        if let Some(last) = &mut self.last {
            last.end = last.end.max(end);
        }
    }

    /// Where their end, whose bytes begin at `low`, went on when it had heard more of `other`.
    pub fn answers(&self, low: u64, other: &Runs) -> Vec<Answer> {
        let mut answers = Vec::new();
        let mut others = other.iter().peekable();
        let mut at = low;
        for run in self.iter() {
            // Inside a run nobody knows when a byte passed, unless they all passed at once.
            while others.peek().is_some_and(|other| other.end < run.ack) {
                others.next();
            }
            let passed = others.peek().filter(|other| other.end == run.ack || other.first == other.last);
            if let Some(passed) = passed.map(|other| other.last).filter(|passed| run.after_all && *passed <= run.first)
            {
                answers.push(Answer { at, heard: run.ack, since: run.first - passed });
            }
            at = run.end;
        }
        answers
    }

    /// The connection is concurrent: only quiet times separate runs.
    pub fn forget_order(&mut self) {
        self.earlier.extend(self.last);
        self.earlier.dedup_by(|run, before| {
            if run.after_quiet {
                return false;
            }
            before.end = run.end;
            before.ack = before.ack.max(run.ack);
            before.first = before.first.min(run.first);
            before.last = before.last.max(run.last);
            true
        });
        self.last = self.earlier.pop();
    }
}

/// Late bytes into `list`, whose last run does not end below them.
fn fill(list: &mut Vec<Run>, bytes: Bytes, hole: u64) {
    let Bytes { start, end, ack, now, ordered, after_all } = bytes;
    let at = list.partition_point(|run| run.end < end);
    let before = at.checked_sub(1);
    let follows = before.is_none_or(|before| list[before].end == hole);
    let behind = list.len() - at;
    let run = &mut list[at];
    if behind > MOST_BEHIND || !ordered || run.ack == ack || !follows {
        run.first = run.first.min(now);
        run.last = run.last.max(now);
        return;
    }
    // The hole lies before all of the run's own bytes, and its filling belongs elsewhere in the order.
    if let Some(before) = before.filter(|before| start == hole && list[*before].ack == ack)
        && !list[at].after_quiet
    {
        let before = &mut list[before];
        before.end = end;
        before.last = before.last.max(now);
        return;
    }
    let after_quiet = std::mem::take(&mut list[at].after_quiet);
    list.insert(at, Run { end, ack, first: now, last: now, after_quiet, after_all });
}

/// Data of one end, from which its ADUs are made.
pub(super) struct Stream<'a> {
    pub runs: &'a Runs,
    /// Its first byte.
    pub low: u64,
    /// Bytes that the capture lacks.
    pub gaps: &'a Gaps,
    /// Choice of those that belong to their ADU.
    pub missing: Missing,
    /// Pauses of its program, and behind them where writes follow at once: of two at one place the first counts.
    pub pauses: Vec<writes::Pause>,
    /// What it waited for from the other end of a concurrent connection, by sequence number.
    pub answers: Vec<Answer>,
    /// Segments that were lost, by sequence number.
    pub lost: &'a [Lost],
    /// Pauses of the program that reads it, by the sequence number that it let pass.
    pub read_pauses: &'a [writes::Pause],
    /// How long its data waited before the monitor, by sequence number.
    pub delays: Vec<delays::Delay>,
}

/// What is made of the data of both ends.
pub(super) struct Found {
    pub adus: Vec<Adu>,
    /// Pauses inside them.
    pub pauses: PerSide<Vec<Pause>>,
    /// Pauses of each end that does not read.
    pub read_pauses: PerSide<Vec<Pause>>,
    pub losses: PerSide<Vec<LostSegment>>,
    /// How long each end's data waited before the monitor.
    pub delays: PerSide<Vec<ExtraDelay>>,
}

/// An ADU and where its bytes are among those of its end.
struct Placed {
    adu: Adu,
    start: u64,
    end: u64,
}

/// The ADUs of a connection, and what happened inside them.
pub(super) fn adus(streams: &PerSide<Stream<'_>>, pattern: Pattern) -> Found {
    let placed = match pattern {
        Pattern::Sequential => sequential(streams),
        Pattern::Concurrent => concurrent(streams),
    };
    let pauses = pauses(streams, &placed);
    let losses = PerSide {
        initiator: losses(&streams.initiator, &placed, Side::Initiator),
        acceptor: losses(&streams.acceptor, &placed, Side::Acceptor),
    };
    let read_pauses = PerSide {
        initiator: read_pauses(&streams.acceptor, Side::Acceptor, &placed),
        acceptor: read_pauses(&streams.initiator, Side::Initiator, &placed),
    };
    let delays = PerSide {
        initiator: delays(&streams.initiator, Side::Initiator, &placed),
        acceptor: delays(&streams.acceptor, Side::Acceptor, &placed),
    };
    let mut adus: Vec<Adu> = placed.into_iter().map(|placed| placed.adu).collect();
    for index in 0..adus.len() {
        let adu = adus[index];
        let next = adus[index + 1..].iter().find(|next| pattern == Pattern::Sequential || next.side == adu.side);
        if let Some(next) = next {
            let waiter = if pattern == Pattern::Sequential { next.side } else { adu.side };
            let (own, following) = (adu.seen.unwrap_or_default(), next.seen.unwrap_or_default());
            let wait = following.first.saturating_sub(own.last);
            (adus[index].wait, adus[index].waiter) = (Some(wait), waiter);
        }
    }
    Found { adus, pauses, read_pauses, losses, delays }
}

/// The segments of `side` that were lost, where they are in its `adus`.
fn losses(stream: &Stream<'_>, adus: &[Placed], side: Side) -> Vec<LostSegment> {
    let mut losses: Vec<LostSegment> = Vec::with_capacity(stream.lost.len());
    if stream.lost.is_empty() {
        return losses;
    }
    let mut own = adus.iter().filter(|placed| placed.adu.side == side).peekable();
    let mut sent = 0;
    for lost in stream.lost {
        while let Some(over) = own.next_if(|placed| placed.end <= lost.start) {
            sent += over.adu.bytes;
        }
        let Some(placed) = own.peek() else { break };
        let start = lost.start.max(placed.start);
        let (before, _) = stream.bytes(placed.start, start);
        let (bytes, _) = stream.bytes(start, lost.end.clamp(start, placed.end));
        if bytes > 0 {
            let Lost { copy, before_monitor, repaired, .. } = *lost;
            let repaired = Duration::from_nanos(repaired);
            losses.push(LostSegment { after_bytes: sent + before, bytes, copy, before_monitor, repaired });
        }
    }
    losses
}

/// The pauses inside `adus`, in their order, and those before them that wait for the other end.
fn pauses(streams: &PerSide<Stream<'_>>, adus: &[Placed]) -> PerSide<Vec<Pause>> {
    let of = |side: Side| {
        let (stream, other) = (&streams[side], &streams[side.other()]);
        let cuts = stream.cuts();
        let placed = stream.placed(side, adus, &cuts, |(pause, _)| pause.at);
        let pause = |(place, (pause, heard)): (Place, &(writes::Pause, Option<u64>))| {
            let heard = heard.map(|heard| other.bytes(other.low, heard.min(other.high()).max(other.low)).0);
            let is_one = match heard {
                None => place.within > 0,
                Some(heard) => heard > 0,
            };
            let length = Duration::from_nanos(pause.length);
            let after_bytes = place.before + place.within;
            (is_one && place.within < place.bytes).then_some(Pause { after_bytes, length, heard })
        };
        let mut pauses: Vec<Pause> = placed.filter_map(pause).collect();
        // Where bytes are missing that are not replayed, nothing is between two writes.
        pauses.dedup_by(|later, first| later.is_seam() && later.after_bytes == first.after_bytes);
        pauses
    };
    PerSide { initiator: of(Side::Initiator), acceptor: of(Side::Acceptor) }
}

/// The delays of `side` in `adus`, in their order.
fn delays(stream: &Stream<'_>, side: Side, adus: &[Placed]) -> Vec<ExtraDelay> {
    let mut delays: Vec<ExtraDelay> = Vec::with_capacity(stream.delays.len());
    let placed = stream.placed(side, adus, &stream.delays, |delay| delay.at);
    for (place, delay) in placed.filter(|(place, _)| place.within < place.bytes) {
        let from_bytes = place.before + place.within;
        // Where bytes are missing that are not replayed, the later delay is that of what follows.
        delays.pop_if(|last| last.from_bytes == from_bytes);
        delays.push(ExtraDelay { from_bytes, delay: Duration::from_nanos(delay.extra) });
    }
    delays
}

/// A place in an ADU.
struct Place {
    /// Bytes of the end's ADUs before this one.
    before: u64,
    /// Bytes of this one before the place.
    within: u64,
    /// All bytes of this one.
    bytes: u64,
}

/// The pauses of who reads the data of `sender`. Those at its end hold nothing up.
fn read_pauses(stream: &Stream<'_>, sender: Side, adus: &[Placed]) -> Vec<Pause> {
    let (mut left, mut sent) = (stream.read_pauses, 0);
    let mut pauses: Vec<Pause> = Vec::with_capacity(left.len());
    for placed in adus.iter().filter(|placed| placed.adu.side == sender) {
        let within = left.partition_point(|pause| pause.at < placed.end);
        for pause in &left[..within] {
            let after_bytes = sent + stream.bytes(placed.start, pause.at.max(placed.start)).0;
            if pauses.last().map_or(0, |last| last.after_bytes) < after_bytes {
                pauses.push(Pause { after_bytes, length: Duration::from_nanos(pause.length), heard: None });
            }
        }
        left = &left[within..];
        sent += placed.adu.bytes;
    }
    pauses.retain(|pause| pause.after_bytes < sent);
    pauses
}

impl Stream<'_> {
    /// One past its last byte.
    fn high(&self) -> u64 {
        self.runs.last.map_or(self.low, |last| last.end)
    }

    /// Its pauses, those that wait for the other end with what they wait for; of two at one place the one that waits.
    fn cuts(&self) -> Vec<(writes::Pause, Option<u64>)> {
        let answers = self
            .answers
            .iter()
            .map(|answer| (writes::Pause { at: answer.at, length: answer.since }, Some(answer.heard)));
        let mut cuts: Vec<_> = answers.chain(self.pauses.iter().map(|pause| (*pause, None))).collect();
        cuts.sort_by_key(|(pause, _)| pause.at);
        cuts.dedup_by_key(|(pause, _)| pause.at);
        cuts
    }

    /// Where among the ADUs of `side` those of `items` are that lie in one. They are in order of their sequence numbers, which `at` tells.
    fn placed<'a, T>(
        &'a self,
        side: Side,
        adus: &'a [Placed],
        items: &'a [T],
        at: fn(&T) -> u64,
    ) -> impl Iterator<Item = (Place, &'a T)> {
        let (mut left, mut sent) = (items, 0);
        let own = adus.iter().filter(move |placed| placed.adu.side == side && !items.is_empty());
        own.flat_map(move |placed| {
            let first = left.partition_point(|item| at(item) < placed.start);
            let end = left.partition_point(|item| at(item) < placed.end);
            let (inside, before) = (&left[first..end], sent);
            left = &left[end..];
            sent += placed.adu.bytes;
            inside.iter().map(move |item| {
                let (within, _) = self.bytes(placed.start, at(item));
                (Place { before, within, bytes: placed.adu.bytes }, item)
            })
        })
    }

    /// The bytes from `start` to `end`, and how many of them the capture lacks.
    fn bytes(&self, start: u64, end: u64) -> (u64, u64) {
        let missing = self.gaps.within(start, end);
        let counted = if self.missing == Missing::All { missing.all } else { missing.acknowledged };
        (end - start - missing.all + counted, counted)
    }

    fn adu(&self, side: Side, run: &Run, start: u64) -> Placed {
        let (bytes, missing_bytes) = self.bytes(start, run.end);
        let adu = Adu { side, bytes, missing_bytes, wait: None, waiter: side, seen: Some(span(run)), packets: None };
        Placed { adu, start, end: run.end }
    }

    fn extend(&self, placed: &mut Placed, run: &Run) {
        let (bytes, missing_bytes) = self.bytes(placed.end, run.end);
        let adu = &mut placed.adu;
        adu.bytes += bytes;
        adu.missing_bytes += missing_bytes;
        adu.seen = adu.seen.map(|seen| seen.and(span(run)));
        placed.end = run.end;
    }
}

fn span(run: &Run) -> Span {
    Span { first: Duration::from_nanos(run.first), last: Duration::from_nanos(run.last) }
}

/// In the total order of methods A.4: p before q iff q acknowledges p.
fn sequential(streams: &PerSide<Stream<'_>>) -> Vec<Placed> {
    let PerSide { initiator, acceptor } = streams;
    let mut adus: Vec<Placed> = Vec::with_capacity(initiator.runs.len() + acceptor.runs.len());
    let mut position = PerSide { initiator: initiator.low, acceptor: acceptor.low };
    let (mut left, mut right) = (initiator.runs.iter().peekable(), acceptor.runs.iter().peekable());
    loop {
        let side = match (left.peek(), right.peek()) {
            (None, None) => break,
            (Some(_), None) => Side::Initiator,
            (None, Some(_)) => Side::Acceptor,
            (Some(p), Some(q)) => match (q.ack >= p.end, p.ack >= q.end) {
                (true, false) => Side::Initiator,
                (false, true) => Side::Acceptor,
                // Each acknowledges the other: a copy was seen whose original was not. Time has to decide.
                _ if p.first <= q.first => Side::Initiator,
                _ => Side::Acceptor,
            },
        };
        let queue = if side == Side::Initiator { &mut left } else { &mut right };
        let Some(run) = queue.next() else { break };
        match adus.last_mut() {
            Some(last) if last.adu.side == side && !run.after_quiet => streams[side].extend(last, run),
            _ => adus.push(streams[side].adu(side, run, position[side])),
        }
        position[side] = run.end;
    }
    adus
}

/// Each end on its own, in the order of their starts.
fn concurrent(streams: &PerSide<Stream<'_>>) -> Vec<Placed> {
    let mut adus: Vec<Placed> = Vec::with_capacity(streams.initiator.runs.len() + streams.acceptor.runs.len());
    for side in Side::BOTH {
        let stream = &streams[side];
        let mut position = stream.low;
        let own = adus.len();
        for run in stream.runs.iter() {
            match adus[own..].last_mut() {
                Some(last) if !run.after_quiet => stream.extend(last, run),
                _ => adus.push(stream.adu(side, run, position)),
            }
            position = run.end;
        }
    }
    adus.sort_by_key(|placed| placed.adu.seen.map(|seen| seen.first));
    adus
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_segment_moves_no_more_runs_than_the_limit() {
        for (behind, runs) in [(MOST_BEHIND, MOST_BEHIND + 1), (MOST_BEHIND + 1, MOST_BEHIND + 1)] {
            let mut list = Runs::default();
            for n in 0..behind as u64 {
                // Each after something new was heard; the first has a hole of ten bytes before it.
                let (start, ack) = (11 + n, 100 + n);
                list.append(Bytes { start, end: start + 1, ack, now: n, ordered: true, after_all: true }, false);
            }
            list.fill(Bytes { start: 1, end: 6, ack: 50, now: 1 << 20, ordered: true, after_all: true }, 1);
            assert_eq!(list.len(), runs);
        }
    }
}
