//! Proportional rate reduction with the slow start reduction bound (RFC 9937): how much fast recovery over SACK sends, so
//! that the window arrives at the threshold by the end of a round trip without a pause or a burst.

/// The counts of one fast recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// Bytes delivered since it began ("prr_delivered").
    delivered: u64,
    /// Bytes sent since ("prr_out").
    out: u64,
    /// What the reduction is in proportion to ("RecoverFS"; in Linux the window before it).
    before: u64,
}

/// What an acknowledgement says in recovery.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// Bytes that the acknowledgement delivered.
    pub(super) delivered: u64,
    /// Bytes in flight after the acknowledgement.
    pub(super) pipe: u64,
    /// It acknowledges new data and tells of no further loss ("SafeACK").
    pub(super) safe: bool,
}

impl Prr {
    /// Recovery begins with a reduction of `before` bytes to the threshold.
    pub(super) fn begin(before: u64) -> Prr {
        Prr { before: before.max(1), ..Prr::default() }
    }

    /// An acknowledgement arrived; returns the window. What is in proportion is rounded up to whole segments of `mss`, as where
    /// segments are counted (the examples of RFC 6937 section 3, Linux): nothing less is ever sent, and rounded to bytes every
    /// segment would wait for one acknowledgement more.
    pub(super) fn on_ack(&mut self, progress: Progress, threshold: u64, mss: u64) -> u64 {
        let Progress { delivered, pipe, safe } = progress;
        self.delivered += delivered;
        let room = if pipe > threshold {
            (self.delivered * threshold).div_ceil(self.before).next_multiple_of(mss).saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(delivered) + if safe { mss } else { 0 };
            (threshold - pipe).min(bound)
        };
        // The first retransmission goes out whatever was delivered.
        pipe + if self.out == 0 { room.max(mss) } else { room }
    }

    /// What the reduction is in proportion to.
    pub(super) fn before(&self) -> u64 {
        self.before
    }

    /// Counts `bytes` that were sent.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(delivered: u64, pipe: u64, safe: bool) -> Progress {
        Progress { delivered, pipe, safe }
    }

    /// RFC 6937 section 3, the first example: a flight of 20 segments, the first lost, a threshold of 10. From the third
    /// duplicate on PRR sends on every other acknowledgement.
    #[test]
    fn one_loss_halves_the_rate() {
        let (mut prr, mut pipe, mut sent) = (Prr::begin(20), 20 - 1 - 2, Vec::new());
        for _ in 3..20 {
            pipe -= 1;
            let room = prr.on_ack(told(1, pipe, false), 10, 1) - pipe;
            prr.on_sent(room);
            pipe += room;
            sent.push(room);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1]);
        assert_eq!(pipe, 10);
    }

    /// 15 of 20 lost, a threshold of 10: below it as much is sent as arrives (packet conservation), and a segment more with
    /// acknowledgements that advance and tell of no further loss (RFC 9937 section 6).
    #[test]
    fn heavy_loss_is_followed_by_slow_start_only_while_it_is_safe() {
        let rooms = |safe: bool| {
            let (mut prr, mut pipe, mut rooms) = (Prr::begin(20), 5, Vec::new());
            for _ in 0..5 {
                pipe -= 1;
                let room = prr.on_ack(told(1, pipe, safe), 10, 1) - pipe;
                rooms.push(room);
                pipe += room;
                prr.on_sent(room);
            }
            (rooms, pipe)
        };
        assert_eq!(rooms(true), (vec![2, 2, 2, 2, 2], 10));
        assert_eq!(rooms(false), (vec![1, 1, 1, 1, 1], 5));
    }

    #[test]
    fn the_first_retransmission_needs_no_room() {
        let mut prr = Prr::begin(20);
        assert_eq!(prr.on_ack(told(0, 18, false), 10, 1), 19);
        prr.on_sent(1);
        assert_eq!(prr.on_ack(told(0, 19, false), 10, 1), 19);
    }
}
