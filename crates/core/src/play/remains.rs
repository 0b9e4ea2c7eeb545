//! What is left of a connection from some moment on: the rest of the data under way, and of the waits.

use crate::time::Duration;
use crate::transits::delay_of;
use crate::workload::{Close, ConnectionVector, ExtraDelay, Pattern, PerSide, Side, Span};

/// When the bytes of an ADU pass the monitor, counted from the start of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passage {
    /// When its first byte passes.
    pub first: Duration,
    /// When its last byte passes.
    pub last: Duration,
    bytes: u64,
    pace: Pace,
}

/// How the bytes between the first and the last one pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// Evenly.
    Even,
    /// In a burst every round trip, each as large as the window of its sender.
    Rounds {
        /// Bytes of the first burst. Each of the following is twice the one before.
        window: u64,
        /// Bytes of the largest burst.
        limit: u64,
        /// From one burst to the next.
        rtt: Duration,
    },
}

impl Passage {
    /// `bytes` that pass evenly from `first` to `last`.
    pub fn evenly(bytes: u64, first: Duration, last: Duration) -> Passage {
        Passage { first, last, bytes, pace: Pace::Even }
    }

    /// `bytes` that pass in bursts, the first at `first`, the next a round trip `rtt` later, and so on. A burst is twice as large as the
    /// one before, from `window` bytes up to `limit` bytes.
    pub fn in_rounds(bytes: u64, first: Duration, window: u64, limit: u64, rtt: Duration) -> Passage {
        let (window, limit) = (window.clamp(1, limit.max(1)), limit.max(1));
        let (mut rounds, mut burst, mut rest) = (1, window, bytes);
        while rest > burst && burst < limit {
            rest -= burst;
            burst = burst.saturating_mul(2).min(limit);
            rounds += 1;
        }
        rounds += rest.saturating_sub(1) / burst;
        Passage { first, last: first + rtt * (rounds - 1), bytes, pace: Pace::Rounds { window, limit, rtt } }
    }

    /// How many of its bytes pass before `time`.
    pub fn before(&self, time: Duration) -> u64 {
        let Passage { first, last, bytes, pace } = *self;
        if time <= first {
            return 0;
        }
        match pace {
            Pace::Even if time >= last => bytes,
            // Of what is under way a byte is left at least.
            Pace::Even => bytes - scaled_up(bytes, last - time, last - first),
            Pace::Rounds { .. } if time > last => bytes,
            Pace::Rounds { window, limit, rtt } => {
                let mut rounds = (time - first).as_nanos().div_ceil(rtt.as_nanos().max(1));
                let (mut passed, mut burst) = (0_u64, window);
                while rounds > 0 && burst < limit {
                    passed = passed.saturating_add(burst);
                    burst = burst.saturating_mul(2).min(limit);
                    rounds -= 1;
                }
                passed.saturating_add(rounds.saturating_mul(burst)).min(bytes)
            }
        }
    }

    /// When the first of its bytes passes that do not pass before `time`; its last byte is not among those that do.
    fn goes_on(&self, time: Duration) -> Duration {
        match self.pace {
            Pace::Rounds { rtt, .. } if time > self.first => {
                self.first + rtt * (time - self.first).as_nanos().div_ceil(rtt.as_nanos().max(1))
            }
            Pace::Even | Pace::Rounds { .. } => time.max(self.first),
        }
    }

    /// The part of it that passes before `time`; `None` if that is nothing.
    pub fn until(&self, time: Duration) -> Option<Passage> {
        let bytes = self.before(time);
        let Passage { first, last, pace, .. } = *self;
        (bytes > 0).then(|| match pace {
            Pace::Rounds { window, limit, rtt } => Passage::in_rounds(bytes, first, window, limit, rtt),
            Pace::Even => Passage::evenly(bytes, first, last.min(time)),
        })
    }
}

/// When everything of a connection passes the monitor, counted from its start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passages {
    /// One for each ADU, in their order.
    pub adus: Vec<Passage>,
    /// The first FIN or RST; `None` if none does.
    pub closes: Option<Duration>,
}

impl Passages {
    /// When the first packet with data, FIN or RST passes that does not pass before `time`; `None` if all do.
    pub fn next(&self, time: Duration) -> Option<Duration> {
        let left = self.adus.iter().filter(|adu| adu.before(time) < adu.bytes).map(|adu| adu.goes_on(time));
        left.chain(self.closes.filter(|closes| *closes > time)).min()
    }
}

/// Leaves of `vector` what does not pass before `elapsed`; `false` if nothing is left.
///
/// Waits that are under way are counted from `from` on, which is when the rest begins; both times are counted from the start of the
/// vector. `moved` says how long after the new start that is which was so long after the old one. The start itself stays.
pub fn keep_rest(
    vector: &mut ConnectionVector,
    passages: &Passages,
    [elapsed, from]: [Duration; 2],
    moved: impl Fn(Duration) -> Duration,
) -> bool {
    let half_close = vector.half_close();
    let mut first_wait: PerSide<Option<Duration>> = PerSide::default();
    let mut adus = Vec::with_capacity(vector.adus.len());
    for (adu, passage) in vector.adus.iter().zip(&passages.adus) {
        let rest = passage.bytes - passage.before(elapsed);
        if rest == 0 {
            continue;
        }
        first_wait[adu.side].get_or_insert(passage.goes_on(elapsed).saturating_sub(from));
        let seen = adu.seen.map(|span| Span { first: moved(span.first.max(elapsed)), last: moved(span.last) });
        adus.push(crate::workload::Adu { bytes: rest, missing_bytes: adu.missing_bytes.min(rest), seen, ..*adu });
    }
    if adus.is_empty() {
        let Some(closes) = passages.closes.filter(|closes| *closes > elapsed) else { return false };
        vector.t_close = Some(closes.saturating_sub(from));
    }
    if let Some((side, closed)) = half_close.filter(|half| adus.iter().all(|adu| adu.side != half.0)) {
        // That of an end without data is told from the start.
        vector.ends[side].fin_wait = Some(moved(closed.max(elapsed)));
    }
    // Of ends that take turns only the one whose turn it is waits.
    let turn = adus.first().map(|adu| adu.side).filter(|_| vector.pattern == Pattern::Sequential);
    for side in Side::BOTH {
        let waits = turn.is_none_or(|turn| turn == side);
        vector.ends[side].lead_in = first_wait[side].filter(|_| waits);
    }
    // Of long connections little may be left.
    adus.shrink_to_fit();
    let before = Side::BOTH.map(|side| vector.bytes(side));
    (vector.adus, vector.syn_repeats) = (adus, Vec::new());
    for side in Side::BOTH {
        let over = before[side as usize] - vector.bytes(side);
        let others = vector.bytes(side.other());
        vector.pauses[side].retain_mut(|pause| {
            let heard_over = before[side.other() as usize] - others;
            pause.heard = pause.heard.map(|heard| heard.saturating_sub(heard_over)).filter(|heard| *heard > 0);
            let is_passed = pause.after_bytes < over;
            pause.after_bytes = pause.after_bytes.saturating_sub(over);
            !is_passed && (pause.after_bytes > 0 || pause.heard.is_some())
        });
        vector.read_pauses[side.other()].retain_mut(|pause| {
            pause.after_bytes = pause.after_bytes.saturating_sub(over);
            pause.after_bytes > 0
        });
        if !vector.delays[side].is_empty() {
            vector.delays[side] = delays_behind(&vector.delays[side], over, vector.bytes(side));
        }
        vector.losses[side].retain_mut(|lost| {
            let is_left = lost.after_bytes >= over;
            lost.after_bytes = lost.after_bytes.saturating_sub(over);
            lost.repaired = moved(lost.repaired.max(elapsed));
            is_left
        });
    }
    true
}

/// Leaves of `vector` what passes before `end`, counted from its start, and of `passages` the same. What is cut off is not waited for;
/// a connection that does not close by then does not close at all.
pub fn keep_until(vector: &mut ConnectionVector, passages: &mut Passages, end: Duration) {
    if passages.closes.is_none_or(|closes| closes >= end) {
        (vector.close, vector.t_close, passages.closes) = (Close::NotSeen, None, None);
        for side in Side::BOTH {
            vector.ends[side].fin_wait = None;
        }
    }
    let kept: Vec<Option<Passage>> = passages.adus.iter().map(|passage| passage.until(end)).collect();
    if kept.iter().zip(&passages.adus).all(|(kept, whole)| kept.as_ref() == Some(whole)) {
        return;
    }
    let mut places = kept.iter();
    vector.adus.retain_mut(|adu| {
        let Some(passage) = places.next().and_then(Option::as_ref) else { return false };
        adu.bytes = passage.bytes;
        adu.missing_bytes = adu.missing_bytes.min(adu.bytes);
        adu.seen = adu.seen.map(|seen| Span { last: seen.last.min(end), ..seen });
        true
    });
    passages.adus = kept.into_iter().flatten().collect();
    let last_of = |side: Side| vector.adus.iter().rposition(|adu| adu.side == side);
    let ends = match vector.pattern {
        Pattern::Sequential => [vector.adus.len().checked_sub(1), None],
        Pattern::Concurrent => Side::BOTH.map(last_of),
    };
    for index in ends.into_iter().flatten() {
        let adu = &mut vector.adus[index];
        (adu.wait, adu.waiter) = (None, adu.side);
    }
    for side in Side::BOTH {
        let [own, others] = [side, side.other()].map(|side| vector.bytes(side));
        vector.pauses[side].retain(|pause| pause.after_bytes < own && pause.heard.is_none_or(|heard| heard <= others));
        vector.read_pauses[side].retain(|pause| pause.after_bytes < others);
        vector.losses[side].retain(|lost| lost.after_bytes < own);
        vector.delays[side].retain(|delay| delay.from_bytes < own);
    }
}

/// The delays of the last `left` bytes, of which `over` are before.
fn delays_behind(delays: &[ExtraDelay], over: u64, left: u64) -> Vec<ExtraDelay> {
    let under_way = ExtraDelay { from_bytes: 0, delay: delay_of(delays, over) };
    let later = delays.iter().filter(|delay| delay.from_bytes > over);
    let later = later.map(|delay| ExtraDelay { from_bytes: delay.from_bytes - over, ..*delay });
    std::iter::once(under_way).chain(later).filter(|delay| delay.from_bytes < left).collect()
}

/// The share of `bytes` that passes in `part` of `whole`, which is not zero; rounded up.
fn scaled_up(bytes: u64, part: Duration, whole: Duration) -> u64 {
    let product = u128::from(bytes) * u128::from(part.as_nanos());
    product.div_ceil(u128::from(whole.as_nanos())) as u64
}
