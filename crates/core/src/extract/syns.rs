//! SYNs and SYN/ACKs that are sent again (methods A.13.6).
//!
//! What passes again within a millisecond is a copy that the network or the capture made: no TCP is that quick.

use crate::time::Duration;
use crate::workload::{Side, SynAnswer, SynRepeat};

use super::transit::NEVER;

/// The shortest time between two tries.
const SHORTEST: u64 = 1_000_000;

/// Repetitions that are kept of a connection: more than any TCP makes in its handshake.
const MOST: usize = 64;

/// The latest SYN of an end.
#[derive(Clone, Copy, Debug)]
struct Latest {
    /// When it passed; [`NEVER`] if none did.
    at: u64,
    answer: SynAnswer,
}

/// The SYNs and SYN/ACKs of a connection that is not established.
#[derive(Clone, Debug)]
pub(super) struct Syns {
    latest: [Latest; 2],
    #[expect(clippy::box_collection, reason = "absent in most connections, and this is held once per connection")]
    repeats: Option<Box<Vec<SynRepeat>>>,
}

impl Default for Syns {
    fn default() -> Syns {
        Syns { latest: [Latest { at: NEVER, answer: SynAnswer::None }; 2], repeats: None }
    }
}

impl Syns {
    /// A SYN of the initiator or a SYN/ACK of the acceptor passed.
    pub fn passed(&mut self, side: Side, now: u64) {
        let Latest { at, answer } = self.latest[side as usize];
        if at != NEVER {
            if now - at < SHORTEST {
                return;
            }
            let repeats = self.repeats.get_or_insert_default();
            if repeats.len() < MOST {
                repeats.push(SynRepeat { side, wait: Duration::from_nanos(now - at), answer });
            }
        }
        self.latest[side as usize] = Latest { at: now, answer: SynAnswer::None };
        self.latest[side.other() as usize].answer = SynAnswer::Syn;
    }

    /// `side` sent an RST.
    pub fn reset(&mut self, side: Side) {
        self.latest[side.other() as usize].answer = SynAnswer::Reset;
    }

    /// The roles were told wrongly until now.
    pub fn swap_sides(&mut self) {
        self.latest.swap(0, 1);
        for repeat in self.repeats.iter_mut().flat_map(|repeats| repeats.iter_mut()) {
            repeat.side = repeat.side.other();
        }
    }

    /// Those that were sent again.
    pub fn take(&mut self) -> Vec<SynRepeat> {
        self.repeats.take().map_or_else(Vec::new, |repeats| *repeats)
    }

    /// Bytes held on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.repeats
            .as_ref()
            .map_or(0, |repeats| size_of::<Vec<SynRepeat>>() + repeats.capacity() * size_of::<SynRepeat>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Side::{Acceptor as A, Initiator as I};

    const MS: u64 = 1_000_000;

    fn repeats(syns: &mut Syns) -> Vec<(Side, u64, SynAnswer)> {
        syns.take().into_iter().map(|SynRepeat { side, wait, answer }| (side, wait.as_nanos() / MS, answer)).collect()
    }

    #[test]
    fn each_repetition_has_its_wait_and_answer() {
        let mut syns = Syns::default();
        syns.passed(I, 0);
        syns.passed(I, 1_000 * MS);
        syns.reset(A);
        syns.passed(I, 1_500 * MS);
        syns.passed(A, 1_600 * MS);
        syns.passed(I, 3_500 * MS);
        syns.passed(A, 3_600 * MS);
        syns.passed(A, 4_600 * MS);
        assert_eq!(
            repeats(&mut syns),
            [
                (I, 1_000, SynAnswer::None),
                (I, 500, SynAnswer::Reset),
                (I, 2_000, SynAnswer::Syn),
                (A, 2_000, SynAnswer::Syn),
                (A, 1_000, SynAnswer::None),
            ]
        );
    }

    #[test]
    fn copies_are_no_repetitions() {
        let mut syns = Syns::default();
        syns.passed(I, 0);
        syns.passed(I, MS - 1);
        assert_eq!(repeats(&mut syns), []);
        syns.passed(I, MS);
        assert_eq!(repeats(&mut syns), [(I, 1, SynAnswer::None)]);
    }

    #[test]
    fn few_are_kept_of_many() {
        let mut syns = Syns::default();
        (0..1_000).for_each(|number| syns.passed(I, number * MS));
        assert_eq!(syns.take().len(), MOST);
    }
}
