//! Loss by time: RACK-TLP (RFC 8985). What was sent before something that has arrived is lost once a reordering window has
//! passed; a probe stands in for the acknowledgement that never comes when the tail of a flight is lost.

use super::scoreboard::{Delivery, Transmission};
use crate::time::{Duration, Time};

/// Recoveries for which a widened reordering window lasts (RFC 8985 section 6.2, step 4).
const PERSISTENCE: u8 = 16;

/// Worst-case delay of an acknowledgement, "WCDelAckT", for a probe of a single segment (section 7.2).
const DELAYED_ACK: Duration = Duration::from_millis(200);

/// Probe timeout before the first round-trip sample (section 7.2).
const FIRST_PROBE: Duration = Duration::from_secs(1);

/// What Linux adds to the reordering timer and to probes of several segments (`TCP_TIMEOUT_MIN_US`).
pub(super) const LINUX_SLACK: Duration = Duration::from_millis(2);

/// State of one sender. Names of the RFC in parentheses.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// The transmission sent last among those delivered ("RACK.xmit_ts", "RACK.end_seq").
    newest: Option<Transmission>,
    /// Its round-trip time ("RACK.rtt").
    rtt: Duration,
    /// Shortest round-trip time of the connection ("RACK.min_RTT").
    min_rtt: Duration,
    reordering_seen: bool,
    /// The most by which segments were overtaken, in bytes (`tp->reordering` in Linux).
    overtaken_by: u64,
    /// By how many quarters of the shortest round-trip time deliveries may be reordered ("RACK.reo_wnd_mult").
    quarters: u8,
    /// Recoveries left before that is 1 again ("RACK.reo_wnd_persist").
    persistence: u8,
    /// Until this is acknowledged a further D-SACK widens nothing ("RACK.dsack_round"); 0 for none.
    round: u64,
    /// SND.NXT after the probe that is out ("TLP.end_seq"); 0 if none is.
    probe_end: u64,
    /// It was a retransmission ("TLP.is_retrans").
    probe_resent: bool,
    /// By how much timers are late.
    slack: Duration,
}

impl Rack {
    /// RACK of a connection whose handshake took `handshake`. Its reordering timer fires `slack` after a segment is due, and a
    /// probe of several segments waits so much longer.
    pub(super) fn new(handshake: Option<Duration>, slack: Duration) -> Rack {
        Rack {
            slack,
            newest: None,
            rtt: Duration::ZERO,
            min_rtt: handshake.unwrap_or(Duration::MAX),
            reordering_seen: false,
            overtaken_by: 0,
            quarters: 1,
            persistence: PERSISTENCE,
            round: 0,
            probe_end: 0,
            probe_resent: false,
        }
    }

    /// The shortest round-trip time, if there is one.
    pub(super) fn min_rtt(&self) -> Option<Duration> {
        (self.min_rtt != Duration::MAX).then_some(self.min_rtt)
    }

    /// What arrives at `now` was sent by this time, or it cannot be the copy sent last.
    pub(super) fn since(&self, now: Time) -> Time {
        if self.min_rtt == Duration::MAX { now } else { now.before(self.min_rtt) }
    }

    /// Steps 1 to 3: the shortest round trip, the newest arrival, reordering.
    pub(super) fn take(&mut self, now: Time, delivery: &Delivery) {
        if let Some((_, last)) = delivery.unambiguous {
            self.min_rtt = self.min_rtt.min(now.since(last));
        }
        if let Some((newest, _)) = delivery.newest.filter(|(newest, _)| self.newest.is_none_or(|known| known < *newest))
        {
            self.newest = Some(newest);
            self.rtt = now.since(newest.sent);
        }
        if delivery.reordered {
            self.on_reordering(delivery.overtaken_by);
        }
    }

    /// Something was overtaken by so many bytes.
    pub(super) fn on_reordering(&mut self, bytes: u64) {
        self.reordering_seen = true;
        self.overtaken_by = self.overtaken_by.max(bytes);
    }

    /// The most by which segments were overtaken, in bytes.
    pub(super) fn overtaken_by(&self) -> u64 {
        self.overtaken_by
    }

    /// Step 4, a D-SACK: a retransmission was for nothing, so the window was too short.
    pub(super) fn on_duplicate(&mut self, unacknowledged: u64, next: u64) {
        if self.round == 0 || unacknowledged >= self.round {
            self.round = next;
            self.quarters = self.quarters.saturating_add(1);
            self.persistence = PERSISTENCE;
        }
    }

    /// Step 4, a recovery is over.
    pub(super) fn on_recovered(&mut self) {
        self.persistence = self.persistence.saturating_sub(1);
        if self.persistence == 0 {
            self.quarters = 1;
        }
    }

    /// Step 4: the reordering window. `certain` says that there is loss: in recovery, or three segments SACKed.
    fn window(&self, certain: bool, smoothed: Option<Duration>) -> Duration {
        if self.min_rtt == Duration::MAX || (!self.reordering_seen && certain) {
            return Duration::ZERO;
        }
        let window = self.min_rtt * u64::from(self.quarters) / 4;
        window.min(smoothed.unwrap_or(Duration::MAX))
    }

    /// Step 5: the newest arrival, and how long after its sending a transmission before it is lost.
    pub(super) fn horizon(&self, certain: bool, smoothed: Option<Duration>) -> Option<(Transmission, Duration)> {
        self.newest.map(|newest| (newest, self.rtt + self.window(certain, smoothed)))
    }

    /// How long after something was sent, or acknowledged, the probe follows (section 7.2).
    pub(super) fn probe_after(&self, smoothed: Option<Duration>, single_segment: bool) -> Duration {
        let Some(smoothed) = smoothed else { return FIRST_PROBE };
        smoothed * 2 + if single_segment { DELAYED_ACK } else { self.slack }
    }

    /// When the reordering timer fires for a segment that is lost at `due`.
    pub(super) fn timer(&self, due: Time) -> Time {
        due + self.slack
    }

    pub(super) fn probe_is_out(&self) -> bool {
        self.probe_end != 0
    }

    /// The probe went out; `end` is SND.NXT after it.
    pub(super) fn on_probe(&mut self, end: u64, resent: bool) {
        (self.probe_end, self.probe_resent) = (end, resent);
    }

    pub(super) fn forget_probe(&mut self) {
        self.probe_end = 0;
    }

    /// An acknowledgement up to `ack`, with a D-SACK of the probe or as a duplicate without SACK. Returns whether the probe
    /// has repaired a loss that the window has to answer for (section 7.4.2).
    pub(super) fn probe_answered(&mut self, ack: u64, duplicated: bool, bare_duplicate: bool) -> bool {
        if self.probe_end == 0 || ack < self.probe_end {
            return false;
        }
        let repaired = self.probe_resent && !duplicated && ack > self.probe_end;
        if !self.probe_resent || duplicated || bare_duplicate || ack > self.probe_end {
            self.probe_end = 0;
        }
        repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    fn rack_with_min(rtt: Duration) -> Rack {
        let mut rack = Rack::new(None, Duration::ZERO);
        let (sent, now) = (Time::ZERO + MS(1), Time::ZERO + MS(1) + rtt);
        let newest = Some((Transmission { sent, end: 10 }, Default::default()));
        rack.take(now, &Delivery { unambiguous: Some((sent, sent)), newest, ..Delivery::default() });
        rack
    }

    #[test]
    fn the_reordering_window_is_a_quarter_of_the_shortest_round_trip_until_duplicates_widen_it() {
        let mut rack = rack_with_min(MS(80));
        assert_eq!(rack.window(false, None), MS(20));
        assert_eq!(rack.window(true, None), Duration::ZERO, "three duplicates are a loss where nothing was reordered");
        rack.reordering_seen = true;
        assert_eq!(rack.window(true, None), MS(20));
        rack.on_duplicate(50, 100);
        rack.on_duplicate(60, 200);
        assert_eq!(rack.window(true, None), MS(40), "once a round trip");
        (0..4).for_each(|round| rack.on_duplicate(100 + 100 * round, 200 + 100 * round));
        assert_eq!(rack.window(true, Some(MS(90))), MS(90), "a smoothed round trip at most");
        (0..15).for_each(|_| rack.on_recovered());
        assert_eq!(rack.window(true, None), MS(120));
        rack.on_recovered();
        assert_eq!(rack.window(true, None), MS(20), "after 16 recoveries");
    }

    #[test]
    fn a_probe_that_repaired_a_loss_is_noticed_by_what_follows_it() {
        let answer = |resent, ack, duplicated, bare| {
            let mut rack = rack_with_min(MS(80));
            rack.on_probe(100, resent);
            (rack.probe_answered(ack, duplicated, bare), rack.probe_is_out())
        };
        assert_eq!(answer(true, 90, false, false), (false, true));
        assert_eq!(answer(true, 100, false, false), (false, true), "the original or the probe");
        assert_eq!(answer(true, 100, false, true), (false, false), "both arrived");
        assert_eq!(answer(true, 100, true, false), (false, false));
        assert_eq!(answer(true, 110, false, false), (true, false));
        assert_eq!(answer(false, 110, false, false), (false, false), "new data is no repair");
    }

    #[test]
    fn probes_wait_two_round_trips_and_for_a_delayed_acknowledgement_of_one_segment() {
        let rack = rack_with_min(MS(80));
        assert_eq!(rack.probe_after(Some(MS(80)), false), MS(160));
        assert_eq!(rack.probe_after(Some(MS(80)), true), MS(360));
        assert_eq!(rack.probe_after(None, true), MS(1000));
        let slow = Rack { slack: LINUX_SLACK, ..rack };
        assert_eq!(slow.probe_after(Some(MS(80)), false), MS(162));
        assert_eq!(slow.probe_after(Some(MS(80)), true), MS(360));
        assert_eq!(slow.timer(Time::ZERO + MS(5)), Time::ZERO + MS(7));
    }
}
