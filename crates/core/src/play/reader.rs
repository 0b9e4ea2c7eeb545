//! The program of an end while it reads: mostly at once, and where the original paused not at all for as long (methods A.13.12).

use super::ReplayModel;
use crate::time::{Duration, Time};
use crate::workload::{ConnectionVector, Pause, Side};

/// Plays the pauses of one end that does not read.
///
/// It stops reading one receive window before the byte of the next pause, so that the window ends there ([`Self::window_end`]). The
/// pause begins when the window has closed, however late a network under test made the bytes: tell it with [`Self::handle_closed`]. When
/// [`Self::handle_timeout`] says that the pause is over, the program reads all, up to the next one.
#[derive(Clone, Debug)]
pub struct Reader {
    pauses: std::vec::IntoIter<Pause>,
    /// When the current pause is over; [`Time::MAX`] before it began.
    until: Time,
    paused: Duration,
}

impl Reader {
    /// The reader at `side` of the connection of `vector`; `None` if it never pauses.
    pub fn new(vector: &ConnectionVector, side: Side, model: &ReplayModel) -> Option<Box<Reader>> {
        let total = vector.bytes(side.other());
        let mut before = 0;
        // A file may say anything.
        let mut is_next = |pause: &&Pause| {
            let is_next = pause.after_bytes > before && pause.after_bytes < total;
            before = if is_next { pause.after_bytes } else { before };
            is_next
        };
        let pauses: Vec<Pause> = match model.reads {
            true => vector.read_pauses[side].iter().filter(|pause| is_next(pause)).copied().collect(),
            false => Vec::new(),
        };
        (!pauses.is_empty())
            .then(|| Box::new(Reader { pauses: pauses.into_iter(), until: Time::MAX, paused: Duration::ZERO }))
    }

    /// The pause under way or to come.
    pub fn pause(&self) -> Option<Pause> {
        self.pauses.as_slice().first().copied()
    }

    /// Bytes of the other end that the window lets pass; `None` once the program reads all.
    pub fn window_end(&self) -> Option<u64> {
        self.pause().map(|pause| pause.after_bytes)
    }

    /// The window is closed at `now`.
    pub fn handle_closed(&mut self, now: Time) {
        if let Some(pause) = self.pause().filter(|_| self.until == Time::MAX) {
            self.until = now + pause.length;
        }
    }

    /// When [`Self::handle_timeout`] has something to do.
    pub fn next_timeout(&self) -> Option<Time> {
        (self.until < Time::MAX).then_some(self.until)
    }

    /// Ends the pause if it is over; whether it is.
    pub fn handle_timeout(&mut self, now: Time) -> bool {
        let is_over = self.next_timeout().is_some_and(|until| until <= now);
        if is_over {
            self.until = Time::MAX;
            self.paused += self.pauses.next().map_or(Duration::ZERO, |pause| pause.length);
        }
        is_over
    }

    /// How long it held the other end up so far.
    pub fn paused(&self) -> Duration {
        self.paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::play::Waits;
    use crate::workload::Adu;

    const MS: fn(u64) -> Time = |millis| Time::from_nanos(millis * 1_000_000);

    fn vector(pauses: &[(u64, u64)]) -> ConnectionVector {
        let side = Side::Acceptor;
        let adu = Adu { side, bytes: 1_000, missing_bytes: 0, wait: None, waiter: side, seen: None, packets: None };
        let mut vector = ConnectionVector { adus: vec![adu], ..ConnectionVector::default() };
        let pause = |&(after_bytes, millis)| Pause { after_bytes, length: Duration::from_millis(millis), heard: None };
        vector.read_pauses.initiator = pauses.iter().map(pause).collect();
        vector
    }

    fn reader(pauses: &[(u64, u64)]) -> Option<Box<Reader>> {
        Reader::new(&vector(pauses), Side::Initiator, &ReplayModel::with_waits(Waits::CORRECTED))
    }

    #[test]
    fn a_pause_begins_when_the_window_has_closed() {
        let mut reader = reader(&[(100, 20), (400, 30)]).unwrap();
        assert_eq!((reader.window_end(), reader.next_timeout()), (Some(100), None));
        reader.handle_closed(MS(5));
        reader.handle_closed(MS(9));
        assert_eq!(reader.next_timeout(), Some(MS(25)), "once closed it stays so");
        assert!(!reader.handle_timeout(MS(24)));
        assert!(reader.handle_timeout(MS(25)));
        assert_eq!((reader.window_end(), reader.next_timeout()), (Some(400), None));
        reader.handle_closed(MS(40));
        assert!(reader.handle_timeout(MS(75)));
        assert_eq!((reader.window_end(), reader.next_timeout()), (None, None));
        assert!(!reader.handle_timeout(MS(80)));
        assert_eq!(reader.paused(), Duration::from_millis(50));
    }

    #[test]
    fn pauses_outside_the_data_or_out_of_order_are_left_out() {
        let all = reader(&[(0, 1), (500, 1), (400, 1), (500, 1), (999, 1), (1_000, 1)]).unwrap();
        assert_eq!(all.pauses.as_slice().iter().map(|pause| pause.after_bytes).collect::<Vec<_>>(), [500, 999]);
        assert!(reader(&[(1_000, 1)]).is_none());
    }

    #[test]
    fn the_switch_leaves_them_out() {
        let model = ReplayModel { reads: false, ..ReplayModel::with_waits(Waits::CORRECTED) };
        assert!(Reader::new(&vector(&[(100, 20)]), Side::Initiator, &model).is_none());
    }
}
