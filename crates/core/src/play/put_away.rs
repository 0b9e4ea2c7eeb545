//! The data of a vector while it is played: nobody needs it but its script, until the connection is recorded.

use crate::workload::{Adu, ConnectionVector, ExtraDelay, LostSegment, Pause, PerSide, Side};

/// Vectors with more ADUs, pauses, losses and delays are put away. Few have, and they are open for longest: of the memory that open
/// connections of a busy link take, nearly all is theirs.
const LONG: usize = 16;
/// The most bytes that any of them takes in postcard: numbers take what they need, 64 bits at most ten.
const MOST_BYTES: usize = 62;

/// The ADUs of a vector with what is known of its ends' data in a fifth of the memory, if there is much; otherwise they stay with it.
#[derive(Clone, Debug, Default)]
pub struct PutAway(Option<Box<[u8]>>);

/// What is put away.
type Data = (Vec<Adu>, [PerSide<Vec<Pause>>; 2], PerSide<Vec<LostSegment>>, PerSide<Vec<ExtraDelay>>);

impl PutAway {
    /// Takes them out of `vector`.
    pub fn new(vector: &mut ConnectionVector) -> PutAway {
        let ConnectionVector { adus, pauses, read_pauses, losses, delays, .. } = &mut *vector;
        let of = |side: Side| pauses[side].len() + read_pauses[side].len() + losses[side].len() + delays[side].len();
        let items = adus.len() + Side::BOTH.map(of).iter().sum::<usize>();
        if items <= LONG {
            return PutAway(None);
        }
        let mut room = vec![0; MOST_BYTES * (1 + items)];
        let pauses = [pauses, read_pauses].map(std::mem::take);
        let data: Data = (std::mem::take(adus), pauses, std::mem::take(losses), std::mem::take(delays));
        let packed = postcard::to_slice(&data, &mut room).ok().map(|bytes| Box::from(&*bytes));
        if packed.is_none() {
            (vector.adus, [vector.pauses, vector.read_pauses], vector.losses, vector.delays) = data;
        }
        PutAway(packed)
    }

    /// Gives `vector` back what was taken.
    pub fn give_back(&mut self, vector: &mut ConnectionVector) {
        if let Some(bytes) = self.0.take() {
            (vector.adus, [vector.pauses, vector.read_pauses], vector.losses, vector.delays) =
                postcard::from_bytes::<Data>(&bytes).expect("what was packed can be unpacked");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Duration;
    use crate::workload::{Side, Span};

    #[test]
    fn what_is_put_away_comes_back() {
        let most = Duration::MAX;
        let adu = |n: usize| Adu {
            side: Side::BOTH[n % 2],
            bytes: if n == 3 { u64::MAX } else { 1_000 },
            missing_bytes: if n == 3 { u64::MAX } else { 0 },
            wait: [None, Some(most), Some(Duration::from_millis(20))][n % 3],
            waiter: Side::BOTH[n % 2],
            seen: (!n.is_multiple_of(5)).then_some(Span { first: Duration::from_secs(1), last: most }),
            packets: [None, Some(u32::MAX)][n % 2],
        };
        let pause = Pause { after_bytes: u64::MAX, length: most, heard: Some(u64::MAX) };
        let delay = ExtraDelay { from_bytes: u64::MAX, delay: most };
        fn of_both<T: Copy>(one: T, count: usize) -> PerSide<Vec<T>> {
            PerSide { initiator: vec![one; count / 2], acceptor: vec![one; count.div_ceil(2)] }
        }
        for (many, pauses, delays) in
            [(0, 0, 0), (LONG, 0, 0), (LONG, 1, 0), (LONG, 0, 1), (LONG + 1, 0, 0), (1, LONG, 0), (5_000, 5_000, 5_000)]
        {
            let is_long = many + pauses + delays > LONG;
            let whole = ConnectionVector {
                adus: (0..many).map(adu).collect(),
                pauses: of_both(pause, pauses / 2),
                read_pauses: of_both(pause, pauses.div_ceil(2)),
                delays: of_both(delay, delays),
                ..ConnectionVector::default()
            };
            let mut vector = whole.clone();
            let mut put_away = PutAway::new(&mut vector);
            assert_eq!(vector.adus.is_empty(), many == 0 || is_long);
            put_away.give_back(&mut vector);
            assert_eq!(vector, whole);
        }
    }

    #[test]
    fn it_takes_a_fifth() {
        let adu = Adu {
            side: Side::Acceptor,
            bytes: 12_000,
            missing_bytes: 0,
            wait: Some(Duration::from_secs(2)),
            waiter: Side::Initiator,
            seen: None,
            packets: None,
        };
        let mut vector = ConnectionVector { adus: vec![adu; 1_000], ..ConnectionVector::default() };
        let packed = PutAway::new(&mut vector).0.unwrap();
        assert!(5 * packed.len() < 1_000 * size_of::<Adu>(), "{} bytes", packed.len());
    }
}
