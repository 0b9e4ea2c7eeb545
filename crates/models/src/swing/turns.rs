//! Who speaks when in a connection: the order of requests and responses, without their sizes and times.

use std::fmt;
use std::str::FromStr;

use flowloom_core::workload::Side;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::connection::Unit;
use crate::generate::ends::MOST_ADUS;

/// Runs that are kept in their order; what follows them is counted, and taken in the order responses, pairs, requests.
const MOST_RUNS: usize = 256;

/// What an epoch has (methods A.5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Epoch {
    /// A request and its response.
    Pair,
    /// A request that nothing answers.
    Request,
    /// A response that nothing asked for.
    Response,
}

impl Epoch {
    const ALL: [(Epoch, char); 3] = [(Epoch::Pair, 'b'), (Epoch::Request, 'q'), (Epoch::Response, 'r')];
}

/// The epochs of a connection in order, equal ones counted: `b3 q1` is three requests with responses and a request without one. Of
/// concurrent connections `q` are the data units of the initiator and `r` those of the acceptor, whose order nobody knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turns(Vec<(Epoch, u32)>);

impl Turns {
    /// Those of `units`; `concurrent` if their ends do not take turns.
    pub fn of(units: &[Unit], concurrent: bool) -> Turns {
        let count = |side| units.iter().filter(|unit| unit.side == side).count() as u32;
        let mut turns = Turns::default();
        if concurrent {
            turns.push(Epoch::Request, count(Side::Initiator));
            turns.push(Epoch::Response, count(Side::Acceptor));
            return turns;
        }
        let (mut at, mut rest) = (0, [0; 3]);
        while let Some(unit) = units.get(at) {
            let answered = units.get(at + 1).is_some_and(|next| next.side == Side::Acceptor);
            let epoch = match unit.side {
                Side::Initiator if answered => Epoch::Pair,
                Side::Initiator => Epoch::Request,
                Side::Acceptor => Epoch::Response,
            };
            at += if epoch == Epoch::Pair { 2 } else { 1 };
            let is_next = turns.0.last().is_none_or(|last| last.0 != epoch);
            if rest == [0; 3] && !(is_next && turns.0.len() >= MOST_RUNS) {
                turns.push(epoch, 1);
            } else {
                rest[epoch as usize] += 1;
            }
        }
        for epoch in [Epoch::Response, Epoch::Pair, Epoch::Request] {
            // A response behind a request would be its answer.
            let blocked = epoch == Epoch::Response && turns.0.last().is_some_and(|last| last.0 == Epoch::Request);
            turns.push(if blocked { Epoch::Pair } else { epoch }, rest[epoch as usize]);
        }
        turns
    }

    /// The same number of epochs to within 1/2048 as pairs (of concurrent ends, as units of the initiator), for what is too rare
    /// to be kept.
    pub fn regular(&self, concurrent: bool) -> Turns {
        let epochs = self.epochs();
        let digits = epochs.checked_ilog2().unwrap_or(0).saturating_sub(11);
        let mut turns = Turns::default();
        turns.push(if concurrent { Epoch::Request } else { Epoch::Pair }, (epochs >> digits << digits) as u32);
        turns
    }

    fn push(&mut self, epoch: Epoch, count: u32) {
        match self.0.last_mut() {
            _ if count == 0 => {}
            Some(last) if last.0 == epoch => last.1 = last.1.saturating_add(count),
            _ => self.0.push((epoch, count)),
        }
    }

    /// numPairs: how many epochs there are, half ones included.
    pub fn epochs(&self) -> u64 {
        self.0.iter().map(|run| u64::from(run.1)).sum()
    }

    /// Whether `side` sends anything.
    pub fn sends(&self, side: Side) -> bool {
        let none = if side == Side::Initiator { Epoch::Response } else { Epoch::Request };
        self.0.iter().any(|run| run.0 != none)
    }

    /// Who sends, unit by unit.
    pub fn sides(&self) -> impl Iterator<Item = Side> + '_ {
        self.0.iter().flat_map(|&(epoch, count)| {
            let sides: &[Side] = match epoch {
                Epoch::Pair => &[Side::Initiator, Side::Acceptor],
                Epoch::Request => &[Side::Initiator],
                Epoch::Response => &[Side::Acceptor],
            };
            (0..count).flat_map(move |_| sides.iter().copied())
        })
    }

    /// Refuses turns that no connection has; `concurrent` if its ends do not take turns.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn check(&self, concurrent: bool) -> Result<(), String> {
        let refuse = |problem: &str| Err(format!("\"{self}\" {problem}"));
        let kinds: Vec<Epoch> = self.0.iter().map(|run| run.0).collect();
        if kinds.is_empty() {
            return refuse("has no turn");
        }
        if self.epochs() > MOST_ADUS as u64 {
            return refuse("has more turns than a connection may (1,048,576)");
        }
        if concurrent {
            return match kinds[..] {
                [Epoch::Request | Epoch::Response] | [Epoch::Request, Epoch::Response] => Ok(()),
                _ => refuse("is not of concurrent ends: q and r, once each, in this order"),
            };
        }
        if kinds.windows(2).any(|pair| pair == [Epoch::Request, Epoch::Response]) {
            return refuse("has a response behind a request, which are a pair: b");
        }
        Ok(())
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (epoch, count)) in self.0.iter().enumerate() {
            let letter = Epoch::ALL[*epoch as usize].1;
            write!(f, "{}{letter}{count}", if at > 0 { " " } else { "" })?;
        }
        Ok(())
    }
}

impl FromStr for Turns {
    type Err = String;

    fn from_str(text: &str) -> Result<Turns, String> {
        let mut turns = Turns::default();
        for run in text.split(' ') {
            let mut letters = run.chars();
            let epoch = letters.next().and_then(|letter| Epoch::ALL.iter().find(|(_, of)| *of == letter));
            let count = letters.as_str().parse().ok().filter(|count| *count > 0);
            let (Some(&(epoch, _)), Some(count)) = (epoch, count) else {
                return Err(format!("\"{run}\" is no turn: b, q or r and how many, as in \"b3 q1\""));
            };
            turns.push(epoch, count);
        }
        Ok(turns)
    }
}

impl Serialize for Turns {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Turns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Turns, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use Side::{Acceptor as A, Initiator as I};

    use super::*;

    fn of(sides: &[Side], concurrent: bool) -> Turns {
        let unit = |side| Unit { side, bytes: 1, wait_ns: 0, packets: 0, length_ns: 0 };
        Turns::of(&sides.iter().copied().map(unit).collect::<Vec<_>>(), concurrent)
    }

    #[test]
    fn turns_are_the_epochs_of_a_connection_and_make_it_again() {
        for (sides, wanted) in
            [(&[I, A, I, A][..], "b2"), (&[A, I, A, I], "r1 b1 q1"), (&[I, I, A, A], "q1 b1 r1"), (&[A, A, I], "r2 q1")]
        {
            let turns = of(sides, false);
            assert_eq!(turns.to_string(), wanted);
            assert_eq!(turns.sides().collect::<Vec<_>>(), sides);
            assert_eq!((turns.check(false), wanted.parse()), (Ok(()), Ok(turns)));
        }
        let turns = of(&[I, A, A, I], true);
        assert_eq!((turns.to_string().as_str(), turns.check(true)), ("q2 r2", Ok(())));
    }

    #[test]
    fn of_long_and_mixed_ones_the_number_of_epochs_stays() {
        let sides: Vec<Side> = [I, I, A, A].iter().copied().cycle().take(4_000).collect();
        let turns = of(&sides, false);
        assert!(turns.0.len() <= MOST_RUNS + 3);
        assert_eq!((turns.epochs(), turns.check(false)), (3_000, Ok(())));
    }

    #[test]
    fn what_is_no_turn_is_refused() {
        for text in ["", "b", "b0", "x3", "b-1", "b3  q1", "b4294967296"] {
            assert!(text.parse::<Turns>().unwrap_err().contains("is no turn"), "{text}");
        }
        for (text, concurrent) in [("q1 r1", false), ("r1 q1", true), ("b2", true), ("b1100000", false)] {
            assert!(text.parse::<Turns>().unwrap().check(concurrent).is_err(), "{text}");
        }
    }
}
