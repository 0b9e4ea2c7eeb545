//! Delivery rate samples (draft-cheng-iccrg-delivery-rate-estimation-00), for algorithms that ask for them.

use super::congestion::RateSample;
use super::scoreboard::{Delivery, Stamp};
use crate::time::{Duration, Time};

/// What one connection has delivered so far. Names of the draft in parentheses.
#[derive(Clone, Debug, Default)]
pub(super) struct RateSampler {
    /// Bytes ("C.delivered"), and when that last changed ("C.delivered_time").
    delivered: u64,
    delivered_at: Time,
    /// When the flight, or what was last acknowledged of it, was sent ("C.first_sent_time").
    first_sent: Time,
    /// Once more than this was delivered the application is not the limit any more ("C.app_limited"); 0 if it is not.
    application_limited: u64,
    /// Shortest round-trip time: shorter intervals are no samples (section 3.3).
    min_rtt: Option<Duration>,
}

impl RateSampler {
    /// The sampler of a connection whose handshake took `handshake`.
    pub(super) fn new(handshake: Option<Duration>) -> RateSampler {
        RateSampler { min_rtt: handshake, ..RateSampler::default() }
    }

    /// Something is sent with `pipe` bytes in flight before it (section 3.2).
    pub(super) fn on_sent(&mut self, now: Time, pipe: u64) -> Stamp {
        if pipe == 0 {
            self.first_sent = now;
            self.delivered_at = now;
        }
        Stamp {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            application_limited: self.application_limited != 0,
        }
    }

    /// There is nothing to send although the window would allow it, with `pipe` bytes in flight (section 3.4).
    pub(super) fn on_idle(&mut self, pipe: u64) {
        self.application_limited = (self.delivered + pipe).max(1);
    }

    /// Something was delivered (section 3.3); full segments have `mss` bytes.
    pub(super) fn on_delivery(&mut self, now: Time, delivery: &Delivery, mss: u16) -> Option<RateSample> {
        self.delivered += delivery.bytes;
        self.delivered_at = now;
        if self.application_limited != 0 && self.delivered > self.application_limited {
            self.application_limited = 0;
        }
        if let Some((_, last)) = delivery.unambiguous {
            let rtt = now.since(last);
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        let (newest, stamp) = delivery.newest?;
        self.first_sent = newest.sent;
        let interval = newest.sent.since(stamp.first_sent).max(now.since(stamp.delivered_at));
        let valid = self.min_rtt.is_none_or(|min| interval >= min);
        let delivered = self.delivered - stamp.delivered;
        Some(RateSample {
            delivered,
            interval: if valid { interval } else { Duration::ZERO },
            prior_delivered: stamp.delivered,
            total_delivered: self.delivered,
            application_limited: stamp.application_limited,
            // As Linux tells it (FLAG_ACK_MAYBE_DELAYED).
            ack_delayed: delivered == delivery.bytes && delivery.segments == 1 && delivered < u64::from(mss),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::scoreboard::Transmission;
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Duration::from_millis(millis)
    }

    fn deliver(sampler: &mut RateSampler, now: Time, sent: Time, stamp: Stamp) -> RateSample {
        let newest = Some((Transmission { sent, end: 1 }, stamp));
        let unambiguous = Some((sent, sent));
        let delivery = Delivery { bytes: 1000, segments: 1, newest, unambiguous, ..Delivery::default() };
        sampler.on_delivery(now, &delivery, 1000).unwrap()
    }

    /// Four segments of 1,000 bytes sent at once, over a link that takes 10 ms for each, and 100 ms back and forth.
    #[test]
    fn acknowledgements_show_the_rate_of_the_link() {
        let mut sampler = RateSampler::default();
        let stamps: Vec<Stamp> = (0..4).map(|n| sampler.on_sent(at(0), 1000 * n)).collect();
        let first = deliver(&mut sampler, at(110), at(0), stamps[0]);
        assert_eq!((first.delivered, first.interval, first.prior_delivered), (1000, Duration::from_millis(110), 0));
        // A segment that leaves as the first is acknowledged.
        let fifth = sampler.on_sent(at(110), 3000);
        let second = deliver(&mut sampler, at(120), at(0), stamps[1]);
        assert_eq!((second.delivered, second.interval), (2000, Duration::from_millis(120)));
        deliver(&mut sampler, at(130), at(0), stamps[2]);
        deliver(&mut sampler, at(140), at(0), stamps[3]);
        let last = deliver(&mut sampler, at(220), at(110), fifth);
        assert_eq!((last.delivered, last.interval), (4000, Duration::from_millis(110)), "4,000 bytes in 110 ms");
        assert_eq!((last.prior_delivered, last.total_delivered), (1000, 5000));
    }

    /// The receiver may have waited with the acknowledgement of a short segment that was alone; not with others.
    #[test]
    fn only_a_lone_short_segment_may_have_waited() {
        for (bytes, alone, delayed) in [(400, true, true), (1000, true, false), (400, false, false)] {
            let mut sampler = RateSampler::new(Some(Duration::from_millis(100)));
            let stamp = sampler.on_sent(at(0), 0);
            if !alone {
                deliver(&mut sampler, at(100), at(0), stamp);
            }
            let (newest, unambiguous) = (Some((Transmission { sent: at(0), end: 1 }, stamp)), Some((at(0), at(0))));
            let delivery = Delivery { bytes, segments: 1, newest, unambiguous, ..Delivery::default() };
            let sample = sampler.on_delivery(at(140), &delivery, 1000).unwrap();
            assert_eq!(sample.ack_delayed, delayed, "{bytes} bytes");
        }
    }

    #[test]
    fn intervals_shorter_than_the_handshake_are_no_samples() {
        let mut sampler = RateSampler::new(Some(Duration::from_millis(100)));
        let stamp = sampler.on_sent(at(0), 0);
        let newest = Some((Transmission { sent: at(0), end: 1 }, stamp));
        let delivery = Delivery { bytes: 1000, segments: 1, newest, ..Delivery::default() };
        assert_eq!(sampler.on_delivery(at(99), &delivery, 1000).unwrap().interval, Duration::ZERO);
    }

    #[test]
    fn idling_marks_samples_until_what_was_in_flight_is_delivered() {
        let mut sampler = RateSampler::default();
        let before = sampler.on_sent(at(0), 0);
        sampler.on_idle(1000);
        let during = sampler.on_sent(at(50), 1000);
        assert!(!deliver(&mut sampler, at(100), at(0), before).application_limited);
        assert!(deliver(&mut sampler, at(150), at(50), during).application_limited);
        assert!(!sampler.on_sent(at(150), 0).application_limited);
    }
}
