//! What is replayed of one connection vector.

use crate::model::ReplayModel;
use crate::time::{Duration, Time};
use crate::workload::{Close, ConnectionVector, Pattern, PerSide, Side};

/// One ADU to send, and the wait before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Payload bytes its sender has sent when it is over. Always more than before it.
    pub end: u64,
    /// How long its sender waits before it: after the handshake, after the whole previous ADU of the other side was
    /// received, or after the last byte of the sender's own previous ADU was first transmitted.
    pub wait: Duration,
    /// Position of its epoch, half epochs counted (methods A.5.6); 0 for concurrent vectors.
    pub epoch: u32,
    /// Its sender.
    pub side: Side,
    /// It is the response of an epoch that has a request.
    pub is_response: bool,
}

/// What is replayed of one vector, shared by the players of its two ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    steps: Box<[Step]>,
    totals: PerSide<u64>,
    close_wait: Duration,
    /// When the last step, which has no end of its own, is over; `None` if it has one.
    until: Option<Time>,
    close: Close,
    pattern: Pattern,
}

impl Script {
    /// Derives the script of `vector` under `model`.
    ///
    /// A wait contains a transit of the side that waited where that side answered the other (methods A.5.10). So do
    /// the acceptor's lead-in (its end of the handshake lies beyond the monitor) and a close by the side that did not
    /// send the last ADU; waits of a side after itself never do.
    pub fn new(vector: &ConnectionVector, model: &ReplayModel) -> Script {
        let sequential = vector.pattern == Pattern::Sequential;
        let transit = |side: Side| vector.ends[side].min_transit;
        let lead_in = |side: Side| match vector.ends[side].lead_in.filter(|_| model.lead_in) {
            Some(raw) => model.waits.corrected(raw, transit(side).filter(|_| side == Side::Acceptor)),
            None => Duration::ZERO,
        };
        let mut steps: Vec<Step> = Vec::with_capacity(vector.adus.len());
        let mut totals = PerSide::default();
        let mut previous: Option<usize> = None;
        let mut last_of: PerSide<Option<usize>> = PerSide::default();
        let mut epoch = 0;
        for (index, adu) in vector.adus.iter().enumerate().filter(|(_, adu)| adu.bytes > 0) {
            let before = if sequential { previous } else { last_of[adu.side] };
            let wait = match before.map(|before| &vector.adus[before]) {
                None => lead_in(adu.side),
                Some(before) => {
                    let counted = if before.side != adu.side { transit(adu.side) } else { None };
                    model.waits.replayed(before.wait.unwrap_or_default(), counted)
                }
            };
            let is_response = sequential
                && adu.side == Side::Acceptor
                && steps.last().is_some_and(|step| step.side == Side::Initiator);
            if sequential && !steps.is_empty() && !is_response {
                epoch += 1;
            }
            totals[adu.side] += adu.bytes;
            steps.push(Step { end: totals[adu.side], wait, epoch, side: adu.side, is_response });
            previous = Some(index);
            last_of[adu.side] = Some(index);
        }
        let close_wait = match vector.t_close.filter(|_| model.t_close) {
            Some(raw) => {
                let last = vector.adus.iter().max_by_key(|adu| adu.seen.map(|seen| seen.last)).map(|adu| adu.side);
                let closer = match vector.close {
                    Close::Fin(side) | Close::Rst(side) => Some(side),
                    Close::NotSeen => None,
                };
                model.waits.corrected(raw, closer.filter(|_| closer != last).and_then(transit))
            }
            None => Duration::ZERO,
        };
        Script { steps: steps.into(), totals, close_wait, until: None, close: vector.close, pattern: vector.pattern }
    }

    /// The same, and then `sender` sends without end until `until`: bulk transfer as of a file that is never over
    /// ([`Time::MAX`]: until the connection is cut). The ends must take turns.
    #[must_use]
    pub fn then_endless(self, sender: Side, until: Time) -> Script {
        debug_assert_eq!(self.pattern, Pattern::Sequential);
        let epoch = self.steps.last().map_or(0, |step| step.epoch + 1);
        let step = Step { end: u64::MAX, wait: Duration::ZERO, epoch, side: sender, is_response: false };
        let steps = self.steps.iter().copied().chain([step]).collect();
        Script { steps, until: Some(until), ..self }
    }

    /// If step `index` has no end of its own: when it is over.
    pub fn endless_until(&self, index: usize) -> Option<Time> {
        self.until.filter(|_| index + 1 == self.steps.len())
    }

    /// The ADUs in order: all in turn when sequential, each side's own order when concurrent.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Whether the last step has no end of its own.
    pub fn is_endless(&self) -> bool {
        self.until.is_some()
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

    /// How long the closing side waits after the last data.
    pub fn close_wait(&self) -> Duration {
        self.close_wait
    }
}
