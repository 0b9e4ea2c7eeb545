//! What is replayed of one connection vector.

use crate::play::waits::{Correction, ReplayModel};
use crate::time::{Duration, Time};
use crate::transits::delay_of;
use crate::workload::{Adu, Close, ConnectionVector, Pattern, Pause, PerSide, Side, sum};

/// One write of an ADU, mostly all of it, and the wait before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Payload bytes its sender has sent when it is over. Always more than before it.
    pub end: u64,
    /// How long its sender waits before it: after the handshake, after the whole previous ADU of the other side was
    /// received, or after the last byte of the sender's own previous ADU, or of the write before, was first transmitted.
    pub wait: Duration,
    /// Position of its epoch, half epochs counted (methods A.5.6); 0 for concurrent vectors.
    pub epoch: u32,
    /// Its sender.
    pub side: Side,
    /// It is the response of an epoch that has a request.
    pub is_response: bool,
    /// Another write of the same ADU follows.
    pub goes_on: bool,
}

/// What is replayed of one vector, shared by the players of its two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    steps: Box<[Step]>,
    /// Of steps that wait for more than their place in the order says, in their order: the index, and the payload bytes of the other end
    /// that the sender must have before its wait begins.
    #[expect(clippy::box_collection, reason = "absent in most connections, and this is held once for each")]
    heard: Option<Box<Vec<(u32, u64)>>>,
    totals: PerSide<u64>,
    close_wait: Duration,
    ending: Ending,
    close: Close,
    pattern: Pattern,
}

/// What is out of the ordinary at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// Nothing.
    Plain,
    /// The last step has no end of its own; it is over at this time.
    Endless(Time),
    /// Who closes first does so while the other end goes on sending: so long after its own last data, or after the handshake if
    /// it sends none.
    HalfClose(Duration),
}

impl Script {
    /// Derives the script of `vector` under `model`.
    ///
    /// A wait contains a transit of the side that waited where that side answered the other (methods A.5.10). So do
    /// the acceptor's lead-in (its end of the handshake lies beyond the monitor) and a close by the side that did not
    /// send the last ADU; waits of a side after itself never do.
    ///
    /// Data that waited before the monitor makes the wait before it longer and the one after it shorter, where the same end waits. Where
    /// these delays are replayed they are taken out.
    ///
    /// Where the model has times to close, a half-close is one in the replay: either end closes its direction as long after
    /// its own last data as it did.
    pub fn new(vector: &ConnectionVector, model: &ReplayModel) -> Script {
        let sequential = vector.pattern == Pattern::Sequential;
        let waits = MeasuredWaits { vector, model };
        let repairs = if model.losses { repairs(vector) } else { Vec::new() };
        let repair = |at: usize| repairs.get(at).copied().unwrap_or_default();
        let mut pauses = Side::BOTH.map(|side| vector.pauses[side].iter().filter(|_| model.writes).peekable());
        let mut steps: Vec<Step> = Vec::with_capacity(vector.adus.len());
        let mut heard: Option<Box<Vec<(u32, u64)>>> = None;
        let mut totals = PerSide::default();
        let mut previous: Option<usize> = None;
        let mut last_of: PerSide<Option<usize>> = PerSide::default();
        let mut epoch = 0;
        for (index, adu) in vector.adus.iter().enumerate().filter(|(_, adu)| adu.bytes > 0) {
            let before = if sequential { previous } else { last_of[adu.side] };
            let wait = match before {
                None => waits.lead_in(adu.side),
                Some(at) => waits.between(&vector.adus[at], repair(at), adu.side, totals[adu.side]),
            };
            let is_response = sequential
                && adu.side == Side::Acceptor
                && steps.last().is_some_and(|step| step.side == Side::Initiator);
            if sequential && !steps.is_empty() && !is_response {
                epoch += 1;
            }
            let mut step = Step { end: 0, wait, epoch, side: adu.side, is_response, goes_on: true };
            let mut written = totals[adu.side];
            let start = written;
            totals[adu.side] += adu.bytes;
            while let Some(pause) = pauses[adu.side as usize].next_if(|pause| pause.after_bytes < totals[adu.side]) {
                if pause.after_bytes > written {
                    written = pause.after_bytes;
                    steps.push(Step { end: written, ..step });
                } else if pause.after_bytes < start || pause.heard.is_none() {
                    continue;
                }
                if let Some(bytes) = pause.heard {
                    heard.get_or_insert_default().push((steps.len() as u32, bytes));
                }
                step.wait = waits.pause(pause, adu.side, written);
            }
            steps.push(Step { end: totals[adu.side], goes_on: false, ..step });
            previous = Some(index);
            last_of[adu.side] = Some(index);
        }
        Script {
            steps: steps.into(),
            heard,
            totals,
            close_wait: waits.close(&repair, &totals),
            ending: waits.half_close(&totals).map_or(Ending::Plain, Ending::HalfClose),
            close: vector.close,
            pattern: vector.pattern,
        }
    }

    /// The same, and then `sender` sends without end until `until`: bulk transfer as of a file that is never over
    /// ([`Time::MAX`]: until the connection is cut). The ends must take turns.
    #[must_use]
    pub fn then_endless(self, sender: Side, until: Time) -> Script {
        debug_assert_eq!(self.pattern, Pattern::Sequential);
        let epoch = self.steps.last().map_or(0, |step| step.epoch + 1);
        let step =
            Step { end: u64::MAX, wait: Duration::ZERO, epoch, side: sender, is_response: false, goes_on: false };
        let steps = self.steps.iter().copied().chain([step]).collect();
        Script { steps, ending: Ending::Endless(until), ..self }
    }

    /// If step `index` has no end of its own: when it is over.
    pub fn endless_until(&self, index: usize) -> Option<Time> {
        match self.ending {
            Ending::Endless(until) if index + 1 == self.steps.len() => Some(until),
            _ => None,
        }
    }

    /// What its ends wait for, together: no replay is shorter, however fast the network is.
    pub fn waits(&self) -> Duration {
        if self.pattern == Pattern::Sequential {
            return self.steps.iter().map(|step| step.wait).sum();
        }
        let of =
            |side: Side| self.steps.iter().filter(|step| step.side == side).map(|step| step.wait).sum::<Duration>();
        of(Side::Initiator).max(of(Side::Acceptor))
    }

    /// The ADUs in order: all in turn when sequential, each side's own order when concurrent.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Payload bytes of the other end that the sender of step `index` must have before it begins to wait, beyond what the place of the
    /// step in the order says; 0 for none.
    pub fn heard_before(&self, index: usize) -> u64 {
        let Some(heard) = &self.heard else { return 0 };
        heard.binary_search_by_key(&index, |(step, _)| *step as usize).map_or(0, |at| heard[at].1)
    }

    /// Whether the last step has no end of its own.
    pub fn is_endless(&self) -> bool {
        matches!(self.ending, Ending::Endless(_))
    }

    /// Payload bytes the sender of step `index` has sent before it.
    pub fn start_of(&self, index: usize) -> u64 {
        let side = self.steps[index].side;
        self.steps[..index].iter().rev().find(|step| step.side == side).map_or(0, |step| step.end)
    }

    /// Payload bytes `side` sends, not counting what it sends without end.
    pub fn total(&self, side: Side) -> u64 {
        self.totals[side]
    }

    /// Whether the ends take turns.
    pub fn pattern(&self) -> Pattern {
        self.pattern
    }

    /// Who closes and how.
    pub fn close(&self) -> Close {
        self.close
    }

    /// How long `side`, if it closes its direction while the other goes on sending, waits after its own last data, or after the
    /// handshake if it sends none.
    pub fn half_close_wait(&self, side: Side) -> Option<Duration> {
        match self.ending {
            Ending::HalfClose(wait) if self.close == Close::Fin(side) => Some(wait),
            _ => None,
        }
    }

    /// Whether an end closes its direction while the other goes on sending.
    pub fn has_half_close(&self) -> bool {
        matches!(self.ending, Ending::HalfClose(_))
    }

    /// How long the end that closes when all data has passed waits after the last: who closes first, or after a half-close the
    /// other end.
    pub fn close_wait(&self) -> Duration {
        self.close_wait
    }
}

/// The waits of a vector as a replay has them: what was measured without what was the network's.
struct MeasuredWaits<'a> {
    vector: &'a ConnectionVector,
    model: &'a ReplayModel,
}

impl MeasuredWaits<'_> {
    fn transit(&self, side: Side) -> Option<Duration> {
        self.model.transits.transit(self.vector, side)
    }

    /// How long the byte at `place` of the data of `side` waited before the monitor, in a replay that does so too.
    fn delay(&self, side: Side, place: u64) -> Duration {
        match self.model.waits.correct {
            Correction::Ostt => delay_of(self.model.transits.delays(self.vector, side), place),
            Correction::None => Duration::ZERO,
        }
    }

    /// Before the first data of `side`.
    fn lead_in(&self, side: Side) -> Duration {
        let raw = self.vector.ends[side].lead_in.filter(|_| self.model.lead_in);
        let transit = self.transit(side).filter(|_| side == Side::Acceptor).unwrap_or_default();
        raw.map_or(Duration::ZERO, |raw| self.model.waits.corrected(raw, Some(transit + self.delay(side, 0))))
    }

    /// Before `side` goes on, which has sent so many bytes, after the ADU `before`. What was lost of that passed again `repair` after it.
    fn between(&self, before: &Adu, repair: Duration, side: Side, sent: u64) -> Duration {
        let (repair, counted, added) = match before.side == side {
            true => (Duration::ZERO, Duration::ZERO, self.delay(side, sent - 1)),
            false => (repair, self.transit(side).unwrap_or_default(), Duration::ZERO),
        };
        let raw = before.wait.unwrap_or_default().saturating_sub(repair);
        match raw < self.model.waits.min {
            true => Duration::ZERO,
            false => self.model.waits.corrected(raw + added, Some(counted + self.delay(side, sent))),
        }
    }

    /// A pause of `side`, which has written so many bytes.
    fn pause(&self, pause: &Pause, side: Side, written: u64) -> Duration {
        let waited = self.delay(side, written);
        match pause.heard {
            Some(_) => {
                let counted = self.transit(side).unwrap_or_default() + waited;
                self.model.waits.corrected(pause.length, Some(counted))
            }
            None if pause.is_seam() => Duration::ZERO,
            // Its length is that of the end's clock, unless it was shorter at the monitor.
            None => pause.length + self.delay(side, written - 1).saturating_sub(waited),
        }
    }

    /// After its own last data, of who closes first and while the other end goes on; `None` if nobody does.
    fn half_close(&self, totals: &PerSide<u64>) -> Option<Duration> {
        let (side, closed) = self.vector.half_close().filter(|_| self.model.t_close)?;
        Some(match self.vector.ends[side].fin_wait {
            Some(raw) if totals[side] > 0 => self.model.waits.corrected(raw, None),
            // From the SYN, and so with the handshake.
            _ => {
                let raw = closed.saturating_sub(self.vector.min_rtt().unwrap_or_default());
                self.model.waits.corrected(raw, self.transit(side).filter(|_| side == Side::Acceptor))
            }
        })
    }

    /// After the last data, of the end that closes then.
    fn close(&self, repair: &impl Fn(usize) -> Duration, totals: &PerSide<u64>) -> Duration {
        let vector = self.vector;
        let Some(raw) = vector.t_close.filter(|_| self.model.t_close) else { return Duration::ZERO };
        if let Some((first, _)) = vector.half_close() {
            return vector.ends[first.other()].fin_wait.unwrap_or_default();
        }
        let last = vector.adus.iter().enumerate().max_by_key(|(_, adu)| adu.seen.map(|seen| seen.last));
        let (last, repair) = last.map_or((None, Duration::ZERO), |(at, adu)| (Some(adu.side), repair(at)));
        let closer = match vector.close {
            Close::Fin(side) | Close::Rst(side) => Some(side),
            Close::NotSeen => None,
        };
        let answers = closer.filter(|_| closer != last);
        let raw = if answers.is_some() { raw.saturating_sub(repair) } else { raw };
        // Its FIN waits as its last data did.
        let counted = answers.and_then(|closer| Some(self.transit(closer)? + self.delay(closer, totals[closer])));
        self.model.waits.corrected(raw, counted)
    }
}

/// How long after the last byte of each ADU had passed the monitor the last of those passed again that had been lost behind it; none if
/// nothing was lost. What waits for the ADU waited for that too, and does so in a replay that loses them.
fn repairs(vector: &ConnectionVector) -> Vec<Duration> {
    if vector.losses.initiator.is_empty() && vector.losses.acceptor.is_empty() {
        return Vec::new();
    }
    let mut sent = PerSide::<u64>::default();
    let mut lost = Side::BOTH.map(|side| vector.losses[side].iter().filter(|lost| !lost.before_monitor).peekable());
    let repair = |adu: &Adu| {
        sent[adu.side] = sum([sent[adu.side], adu.bytes]);
        let mut repaired = Duration::ZERO;
        while let Some(lost) = lost[adu.side as usize].next_if(|lost| lost.after_bytes < sent[adu.side]) {
            repaired = repaired.max(lost.repaired);
        }
        adu.seen.map_or(Duration::ZERO, |seen| repaired.saturating_sub(seen.last))
    };
    vector.adus.iter().map(repair).collect()
}
