//! Proportional rate reduction with the slow start reduction bound (RFC 6937): how much fast recovery over SACK sends, so
//! that the window arrives at the threshold by the end of a round trip without a pause or a burst.

/// One recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Prr {
    /// Bytes delivered since it began ("prr_delivered").
    delivered: u64,
    /// Bytes sent since ("prr_out").
    out: u64,
    /// Outstanding at its beginning ("RecoverFS").
    flight: u64,
    /// What may be sent now ("sndcnt").
    room: u64,
}

impl Prr {
    /// Recovery begins with `flight` bytes outstanding.
    pub(super) fn begin(flight: u64) -> Prr {
        Prr { flight: flight.max(1), ..Prr::default() }
    }

    /// An acknowledgement delivered `bytes` and left `pipe` in flight. What is in proportion is rounded up to whole segments
    /// of `mss`, as where segments are counted (the examples of section 3, Linux): nothing less is ever sent, and rounded to
    /// bytes every segment would wait for one acknowledgement more.
    pub(super) fn on_ack(&mut self, bytes: u64, pipe: u64, threshold: u64, mss: u64) {
        self.delivered += bytes;
        self.room = if pipe > threshold {
            (self.delivered * threshold).div_ceil(self.flight).next_multiple_of(mss).saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(bytes) + mss;
            (threshold - pipe).min(limit)
        };
    }

    /// `bytes` were sent.
    pub(super) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
        self.room = self.room.saturating_sub(bytes);
    }

    /// Bytes that may be sent now.
    pub(super) fn room(&self) -> u64 {
        self.room
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6937 section 3, the first example: a flight of 20 segments, the first lost, a threshold of 10. From the third
    /// duplicate on PRR sends on every other acknowledgement.
    #[test]
    fn one_loss_halves_the_rate() {
        let (mut prr, mut pipe, mut sent) = (Prr::begin(20), 20 - 1 - 2, Vec::new());
        for _ in 3..20 {
            pipe -= 1;
            prr.on_ack(1, pipe, 10, 1);
            let room = prr.room();
            prr.on_sent(room);
            pipe += room;
            sent.push(room);
        }
        assert_eq!(sent, [1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 1, 1, 1, 1]);
        assert_eq!(pipe, 10);
    }

    /// The second example: 15 of 20 lost. What is in flight is below the threshold, and grows back by slow start.
    #[test]
    fn heavy_loss_is_followed_by_slow_start() {
        let (mut prr, mut pipe, mut sent) = (Prr::begin(20), 5, Vec::new());
        for _ in 0..5 {
            pipe -= 1;
            prr.on_ack(1, pipe, 10, 1);
            sent.push(prr.room());
            pipe += prr.room();
            prr.on_sent(prr.room());
        }
        assert_eq!(sent, [2, 2, 2, 2, 2]);
        assert_eq!(pipe, 10);
    }
}
