//! The data of a vector while it is played: nobody needs it but its script, until the connection is recorded.

use crate::workload::{Adu, ConnectionVector, ExtraDelay, Pause, PerSide};

/// Vectors with more ADUs, pauses and delays are put away. Few have, and they are open for longest: of the memory that open connections of a
/// busy link take, nearly all is theirs.
const LONG: usize = 16;
/// The most bytes that an ADU, a pause or a delay takes in postcard: numbers take what they need, 64 bits at most ten.
const MOST_BYTES: usize = 62;

/// The ADUs of a vector, their pauses and delays in a fifth of the memory, if there are many; otherwise they stay with it.
#[derive(Clone, Debug, Default)]
pub struct PutAway(Option<Box<[u8]>>);

/// What is put away.
type Data = (Vec<Adu>, PerSide<Vec<Pause>>, PerSide<Vec<ExtraDelay>>);

impl PutAway {
    /// Takes the ADUs, pauses and delays out of `vector`.
    pub fn new(vector: &mut ConnectionVector) -> PutAway {
        let (pauses, delays) = (&vector.pauses, &vector.delays);
        let pauses = pauses.initiator.len() + pauses.acceptor.len();
        let items = vector.adus.len() + pauses + delays.initiator.len() + delays.acceptor.len();
        if items <= LONG {
            return PutAway(None);
        }
        let mut room = vec![0; MOST_BYTES * (1 + items)];
        let ConnectionVector { adus, pauses, delays, .. } = &mut *vector;
        let data: Data = (std::mem::take(adus), std::mem::take(pauses), std::mem::take(delays));
        let packed = postcard::to_slice(&data, &mut room).ok().map(|bytes| Box::from(&*bytes));
        if packed.is_none() {
            (vector.adus, vector.pauses, vector.delays) = data;
        }
        PutAway(packed)
    }

    /// Gives `vector` back what was taken.
    pub fn give_back(&mut self, vector: &mut ConnectionVector) {
        if let Some(bytes) = self.0.take() {
            (vector.adus, vector.pauses, vector.delays) =
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
        let pause = Pause { after_bytes: u64::MAX, length: most };
        let delay = ExtraDelay { from_bytes: u64::MAX, delay: most };
        for (many, pauses, delays) in
            [(0, 0, 0), (LONG, 0, 0), (LONG, 1, 0), (LONG, 0, 1), (LONG + 1, 0, 0), (1, LONG, 1), (5_000, 5_000, 5_000)]
        {
            let pauses = PerSide { initiator: vec![pause; pauses / 2], acceptor: vec![pause; pauses - pauses / 2] };
            let is_long = many + pauses.initiator.len() + pauses.acceptor.len() > LONG;
            let is_long = is_long || many + delays > LONG;
            let delays = PerSide { initiator: vec![delay; delays / 2], acceptor: vec![delay; delays - delays / 2] };
            let adus = (0..many).map(adu).collect();
            let whole = ConnectionVector { adus, pauses, delays, ..ConnectionVector::default() };
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
