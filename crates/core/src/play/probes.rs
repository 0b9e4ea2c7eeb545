//! Probes: what an end that sends them remembers until their answers come, and what became of each.

use serde::{Deserialize, Serialize};

use super::datagrams::Datagram;
use crate::time::{Duration, Time};
use crate::workload::LinkSide;

/// How a probe measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeKind {
    /// A datagram that the far end answers with one of the same size.
    Datagram,
    /// A request over a TCP connection of its own, and the response to it.
    Request,
}

/// What became of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeRecord {
    /// Its number among those of its kind, from 0 on.
    pub number: u64,
    /// How it measures.
    pub kind: ProbeKind,
    /// The side of the bottleneck that it was sent from.
    pub from: LinkSide,
    /// When it was sent: the datagram, or the SYN.
    pub sent: Time,
    /// Of a request: from the SYN to when its end was established.
    pub connect: Option<Duration>,
    /// From the datagram to its answer, or from the first byte of the request to the last of the response; `None` without an answer.
    pub round_trip: Option<Duration>,
    /// Of it the way of the datagram, where both ends have one clock.
    pub there: Option<Duration>,
    /// Of it the way of its answer.
    pub back: Option<Duration>,
    /// It has no answer, and none can come: it or its answer was dropped, or the connection broke. A probe that has no answer and is not
    /// lost was under way when the run ended.
    pub lost: bool,
}

impl ProbeRecord {
    /// The first number of a flow or connection of probes: workloads and sources beside them have lower ones, their datagrams higher ones.
    pub const FIRST: u64 = 1 << 32;

    /// Whether the flow with this number is one of probes.
    pub const fn has(flow: u64) -> bool {
        flow >> 32 == 1
    }

    /// What the program that sent it waited for: from the datagram or the SYN to the last byte of the answer.
    pub fn total(&self) -> Option<Duration> {
        match (self.kind, self.connect) {
            (ProbeKind::Datagram, _) => self.round_trip,
            (ProbeKind::Request, connect) => Some(connect? + self.round_trip?),
        }
    }
}

/// The datagrams that a program has sent to a far end that answers each, and the answers that came.
///
/// Numbers are those of [`Datagram::number`]: 0 is the first. The far end sends its answer with the number of the datagram, and with the time
/// at which it answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probes {
    sent: Vec<Sent>,
    answered: u64,
}

/// A probe that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Sent {
    at: Time,
    /// From sending it to its answer, and of that the way there, where the far end's clock is this one's.
    answer: Option<(Duration, Option<Duration>)>,
}

impl Probes {
    /// How long an end waits for answers after its last probe, before it takes those that are missing for lost.
    pub const PATIENCE: Duration = Duration::from_secs(3);

    /// The next datagram is sent at `now`. One that is sent again, as there was no room for it, counts from then on.
    pub fn handle_sent(&mut self, datagram: &Datagram, now: Time) {
        let sent = Sent { at: now, answer: None };
        match self.sent.get_mut(datagram.number as usize) {
            Some(place) => *place = sent,
            None => self.sent.push(sent),
        }
    }

    /// The answer to probe `number` comes at `now`, which left the far end at `answered`, if that is known. Copies and answers to
    /// what was never sent change nothing.
    pub fn handle_answer(&mut self, number: u64, answered: Option<Time>, now: Time) {
        let Some(sent) = self.sent.get_mut(number as usize).filter(|sent| sent.answer.is_none()) else { return };
        sent.answer = Some((now.since(sent.at), answered.map(|answered| answered.since(sent.at))));
        self.answered += 1;
    }

    /// Whether every probe has its answer.
    pub fn are_answered(&self) -> bool {
        self.answered == self.sent.len() as u64
    }

    /// What became of each, in the order in which they were sent by an end on `from`. Where `is_over` is false, answers were on their way
    /// when the run was cut: probes behind the last that was answered are then not known to be lost.
    pub fn records(&self, from: LinkSide, is_over: bool) -> impl Iterator<Item = ProbeRecord> + '_ {
        let last = self.sent.iter().rposition(|sent| sent.answer.is_some());
        self.sent.iter().enumerate().map(move |(number, sent)| {
            let (round_trip, there) = sent.answer.map_or((None, None), |(round_trip, there)| (Some(round_trip), there));
            ProbeRecord {
                number: number as u64,
                kind: ProbeKind::Datagram,
                from,
                sent: sent.at,
                connect: None,
                round_trip,
                there,
                back: round_trip.zip(there).map(|(round_trip, there)| round_trip.saturating_sub(there)),
                lost: round_trip.is_none() && (is_over || last.is_some_and(|last| number < last)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    #[test]
    fn what_has_no_answer_is_lost_once_all_came() {
        let mut probes = Probes::default();
        for number in 0..5 {
            probes.handle_sent(&Datagram { number, sent: ms(10 * number), bytes: 64 }, ms(10 * number));
        }
        probes.handle_answer(0, Some(ms(4)), ms(10));
        probes.handle_answer(0, Some(ms(4)), ms(99));
        probes.handle_answer(2, None, ms(27));
        probes.handle_answer(7, None, ms(27));
        assert!(!probes.are_answered());
        let lost = |is_over| {
            let lost = probes.records(LinkSide::Left, is_over).filter(|probe| probe.lost).map(|probe| probe.number);
            lost.collect::<Vec<_>>()
        };
        assert_eq!((lost(true), lost(false)), (vec![1, 3, 4], vec![1]));
        let first = probes.records(LinkSide::Left, true).next().unwrap();
        let millis = Duration::from_millis;
        assert_eq!((first.round_trip, first.there, first.back), (Some(millis(10)), Some(millis(4)), Some(millis(6))));
        let third = probes.records(LinkSide::Left, true).nth(2).unwrap();
        assert_eq!((third.round_trip, third.there, third.back), (Some(millis(7)), None, None));
    }
}
