//! What sends a link's packets: a constant rate, a token bucket before one, or a trace of delivery opportunities.

use super::schedule::{OPPORTUNITY_BYTES, Schedule};
use super::token_bucket::TokenBucket;
use crate::time::Time;
use crate::units::{Rate, Serialiser};

/// Sends packets one after the other and says when. It has no deadlines: a link that decides at arrival asks packet after
/// packet with the times of arrival, one that decides at departure with the times at which packets come to the head of
/// its queue. Times given never decrease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transmitter {
    /// At a rate.
    Line(Line),
    /// At a rate, when the bucket has tokens for the packet: a token-bucket shaper, tc-tbf(8). The link's queue stands
    /// before it, so that its discipline sees what the shaper holds back.
    Shaper(Line, Box<TokenBucket>),
    /// At the opportunities of a trace.
    Trace(Schedule),
}

impl Transmitter {
    /// When the first bit of a packet of `bytes` goes that is ready at `ready`, with everything sent before it gone.
    #[inline]
    pub fn start(&self, ready: Time, bytes: u32) -> Time {
        match self {
            Transmitter::Line(line) => line.start(ready),
            _ => self.start_later(ready, bytes),
        }
    }

    /// [`Transmitter::start`] apart from the constant rate, which every packet of most runs meets.
    #[inline(never)]
    fn start_later(&self, ready: Time, bytes: u32) -> Time {
        match self {
            Transmitter::Line(line) => line.start(ready),
            Transmitter::Shaper(line, bucket) => bucket.ready(line.start(ready), bytes),
            Transmitter::Trace(schedule) => schedule.next(ready),
        }
    }

    /// Sends a packet of `bytes` that is ready at `ready`; when its last bit has gone.
    #[inline]
    pub fn transmit(&mut self, ready: Time, bytes: u32) -> Time {
        match self {
            Transmitter::Line(line) => line.transmit(ready, bytes),
            _ => self.transmit_later(ready, bytes),
        }
    }

    /// The bytes that a trace has room for from `from` on and before `to`; `None` where a rate decides.
    pub fn room(&self, from: Time, to: Time) -> Option<u64> {
        let Transmitter::Trace(schedule) = self else { return None };
        let before = |time| schedule.trace().opportunities_before(time);
        Some((before(to) - before(from)) * u64::from(OPPORTUNITY_BYTES))
    }

    #[inline(never)]
    fn transmit_later(&mut self, ready: Time, bytes: u32) -> Time {
        match self {
            Transmitter::Line(line) => line.transmit(ready, bytes),
            Transmitter::Shaper(line, bucket) => {
                let start = bucket.ready(line.start(ready), bytes);
                bucket.take(start, bytes);
                line.transmit(start, bytes)
            }
            Transmitter::Trace(schedule) => schedule.transmit(ready, bytes),
        }
    }
}

/// A serialiser and the time at which it is free: while it is busy a packet starts when the one before it ends, to the
/// fraction of a nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    serialiser: Serialiser,
    free: Time,
}

impl Line {
    /// An idle line.
    pub const fn new(rate: Rate) -> Line {
        Line { serialiser: Serialiser::new(rate), free: Time::ZERO }
    }

    /// What is sent from now on goes at another rate.
    pub fn change(&mut self, rate: Rate) {
        if self.serialiser.rate() != rate {
            self.serialiser = Serialiser::new(rate);
        }
    }

    /// When a packet starts that is ready at `ready`.
    #[inline]
    pub fn start(&self, ready: Time) -> Time {
        ready.max(self.free)
    }

    /// Sends a packet; when its last bit has gone.
    #[inline]
    pub fn transmit(&mut self, ready: Time, bytes: u32) -> Time {
        let start = self.start(ready);
        if start > self.free {
            self.serialiser.restart();
        }
        self.free = start + self.serialiser.occupy(bytes);
        self.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::token_bucket::BucketConfig;
    use crate::time::Duration;

    fn at(micros: u64) -> Time {
        Time::ZERO + Duration::from_micros(micros)
    }

    #[test]
    fn a_shaper_sends_the_burst_at_line_rate_and_the_rest_at_its_own() {
        // 8 Mbit/s earn a byte in a microsecond; the line takes a tenth of that.
        let bucket = BucketConfig::new("8mbit".parse().unwrap(), 3_000).unwrap();
        let line = Line::new("80mbit".parse().unwrap());
        let mut shaper = Transmitter::Shaper(line, Box::new(TokenBucket::new(bucket)));
        for (ready, start, end, why) in [
            (0, 0, 100, "burst"),
            (0, 100, 200, "behind it; 100 tokens came in"),
            (0, 200, 300, "3,000 + 200 - 2,000 are enough"),
            (0, 1_000, 1_100, "200 tokens at 200 us, 1,000 at 1,000 us"),
            (0, 2_000, 2_100, "one packet a millisecond"),
            (2_500, 3_000, 3_100, "not ready earlier"),
            (10_000, 10_000, 10_100, "full again after 3 ms"),
        ] {
            assert_eq!(shaper.start(at(ready), 1_000), at(start), "{why}");
            assert_eq!(shaper.transmit(at(ready), 1_000), at(end), "{why}");
        }
    }

    #[test]
    fn a_busy_line_loses_no_fraction_of_a_nanosecond() {
        let mut line = Transmitter::Line(Line::new("3gbit".parse().unwrap()));
        let last = (0..3_000_000).map(|_| line.transmit(Time::ZERO, 1)).last().unwrap();
        assert_eq!(last, at(8_000));
        assert_eq!(line.start(at(9_000), 1), at(9_000));
    }
}
