//! Programs that write blocks: NetSpec's full blast, bursts and queued bursts (methods J.4).

use crate::time::Time;

/// What becomes of a block that is due while another is being written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// It waits its turn.
    Waits,
    /// It is not sent; the next that is due keeps its time.
    IsLeftOut,
}

/// What a program wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Blocks that were begun.
    pub blocks: u64,
    /// Blocks that were left out.
    pub left_out: u64,
    /// Bytes that the transport took.
    pub bytes: u64,
    /// Of the blocks begun: the smallest and the largest, in bytes.
    pub smallest: u64,
    /// See [`Self::smallest`].
    pub largest: u64,
}

/// Writes blocks when they are due, one after the other. After each [`Self::handle_timeout`] and [`Self::handle_written`] call
/// [`Self::poll_write`].
#[derive(Debug)]
pub struct BlockWriter<I> {
    blocks: I,
    late: Late,
    /// The block that is due next.
    next: Option<(Time, u64)>,
    /// Bytes of the block under way that the transport has not taken.
    rest: u64,
    now: Time,
    written: Written,
}

impl<I: Iterator<Item = (Time, f64)>> BlockWriter<I> {
    /// The program of `blocks`, in order of when they are due. Sizes are rounded, and one byte at least.
    pub fn new(blocks: I, late: Late) -> BlockWriter<I> {
        let mut writer =
            BlockWriter { blocks, late, next: None, rest: 0, now: Time::ZERO, written: Written::default() };
        writer.advance();
        writer
    }

    /// Lets what is due by `now` be written.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = now;
    }

    /// Bytes to be written now.
    pub fn poll_write(&mut self) -> Option<u64> {
        if self.rest == 0 {
            let (_, bytes) = self.next.filter(|(due, _)| *due <= self.now)?;
            self.advance();
            self.rest = bytes;
            let Written { blocks, smallest, largest, .. } = &mut self.written;
            *smallest = if *blocks == 0 { bytes } else { bytes.min(*smallest) };
            *largest = bytes.max(*largest);
            *blocks += 1;
        }
        Some(self.rest)
    }

    /// The transport took so many bytes of those to be written.
    pub fn handle_written(&mut self, now: Time, bytes: u64) {
        self.now = now;
        self.written.bytes += bytes;
        self.rest = self.rest.saturating_sub(bytes);
        if self.rest == 0 && self.late == Late::IsLeftOut {
            while self.next.is_some_and(|(due, _)| due < now) {
                self.written.left_out += 1;
                self.advance();
            }
        }
    }

    /// When the next block is due; `None` while one is being written, or if none is left.
    pub fn next_timeout(&self) -> Option<Time> {
        self.next.map(|(due, _)| due).filter(|_| self.rest == 0)
    }

    /// Whether everything was written.
    pub fn is_over(&self) -> bool {
        self.rest == 0 && self.next.is_none()
    }

    /// What was written so far.
    pub fn written(&self) -> Written {
        self.written
    }

    fn advance(&mut self) {
        self.next = self.blocks.next().map(|(due, bytes)| (due, (bytes.round() as u64).max(1)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{self, Machine};
    use crate::time::Duration;

    fn ms(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    /// When each block was begun over a transport that takes `rate` bytes in a millisecond.
    fn begun(blocks: &[(u64, f64)], late: Late, rate: u64) -> (Vec<u64>, Written) {
        let mut writer = BlockWriter::new(blocks.iter().map(|(at, bytes)| (ms(*at), *bytes)), late);
        let (mut begun, mut now) = (Vec::new(), 0);
        while !writer.is_over() {
            if let Some(due) = writer.next_timeout() {
                now = now.max(due.since(Time::ZERO).as_nanos() / 1_000_000);
            }
            writer.handle_timeout(ms(now));
            while let Some(bytes) = writer.poll_write() {
                begun.push(now);
                now += bytes.div_ceil(rate);
                writer.handle_written(ms(now), bytes);
            }
        }
        (begun, writer.written())
    }

    #[test]
    fn bursts_keep_to_their_grid_and_leave_out_what_is_missed() {
        let grid: Vec<_> = (0..10).map(|n| (10 * n, 1_000.0)).collect();
        // 5 ms each: all of them, on time.
        let (all, written) = begun(&grid, Late::IsLeftOut, 200);
        assert_eq!(all, [0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
        assert_eq!((written.left_out, written.bytes), (0, 10_000));
        // 10 ms each: the next is due as the last is done, which is in time.
        assert_eq!(begun(&grid, Late::IsLeftOut, 100).0.len(), 10);
        // 25 ms each: two of three are missed, and the grid is kept.
        let (some, written) = begun(&grid, Late::IsLeftOut, 40);
        assert_eq!(some, [0, 30, 60, 90]);
        assert_eq!((written.blocks, written.left_out, written.bytes), (4, 6, 4_000));
    }

    #[test]
    fn queued_bursts_wait_their_turn() {
        let grid: Vec<_> = (0..4).map(|n| (10 * n, 1_000.0)).collect();
        let (all, written) = begun(&grid, Late::Waits, 40);
        assert_eq!(all, [0, 25, 50, 75]);
        assert_eq!((written.blocks, written.left_out), (4, 0));
        // A pause, and the schedule is kept again.
        assert_eq!(begun(&[(0, 1_000.0), (10, 1_000.0), (100, 400.0)], Late::Waits, 40).0, [0, 25, 100]);
    }

    #[test]
    fn what_the_transport_does_not_take_is_asked_for_again() {
        let mut writer = BlockWriter::new([(Time::ZERO, 1_000.4), (Time::ZERO, 0.0)].into_iter(), Late::Waits);
        assert_eq!(writer.poll_write(), Some(1_000));
        assert_eq!(writer.next_timeout(), None, "it waits for the transport");
        writer.handle_written(ms(1), 300);
        assert_eq!(writer.poll_write(), Some(700));
        writer.handle_written(ms(2), 700);
        assert_eq!(writer.poll_write(), Some(1), "no block is empty");
        writer.handle_written(ms(2), 1);
        assert_eq!(writer.poll_write(), None);
        assert!(writer.is_over());
        assert_eq!(writer.written(), Written { blocks: 2, left_out: 0, bytes: 1_001, smallest: 1, largest: 1_000 });
    }

    /// What it wants written it says as long as that is not taken; here once.
    struct Once {
        writer: BlockWriter<std::vec::IntoIter<(Time, f64)>>,
        is_said: bool,
    }

    impl Machine for Once {
        type Input = u64;
        type Output = u64;

        fn input(&mut self, now: Time, taken: &u64) {
            self.writer.handle_written(now, *taken);
            self.is_said = false;
        }

        fn handle_timeout(&mut self, now: Time) {
            self.writer.handle_timeout(now);
        }

        fn poll(&mut self, _: Time) -> Option<u64> {
            let bytes = self.writer.poll_write().filter(|_| !self.is_said);
            self.is_said |= bytes.is_some();
            bytes
        }

        fn next_timeout(&self) -> Option<Time> {
            self.writer.next_timeout()
        }
    }

    #[test]
    fn keeps_the_calling_contract() {
        let blocks: Vec<_> = (0..6).map(|n| (ms(10 * n), 1_000.0)).collect();
        // In parts, on time, and so late that blocks are missed.
        let taken = [(3, 400), (4, 600), (12, 1_000), (45, 1_000), (52, 1_000)].map(|(at, bytes)| (ms(at), bytes));
        for late in [Late::Waits, Late::IsLeftOut] {
            let make = || Once { writer: BlockWriter::new(blocks.clone().into_iter(), late), is_said: false };
            contract::check(make, &taken, Duration::from_millis(1));
        }
    }
}
