//! What the packets of one direction of a flow met: how many there were, how long they took, and their loss events.

use crate::time::{Duration, Time};

/// The packets of one direction so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Packets that were sent and are sent again if they are lost: with payload, SYN or FIN.
    pub sent_data: u64,
    /// Packets that arrived at the other end.
    pub arrived: u64,
    /// Of them, packets with payload, without copies.
    pub data: u64,
    /// Copies that the path made of packets that were sent, with payload or without.
    pub copies: u64,
    /// Payload bytes that passed the monitor for the first time while results are measured.
    pub carried_bytes: u64,
    /// Nanoseconds that the packets that arrived were on the way, added up.
    transit: u64,
    /// Nanoseconds that the last of them was.
    last: u64,
}

impl Tally {
    /// A packet was sent, which is sent again if it is lost, or not.
    #[inline]
    pub fn send(&mut self, is_sent_again: bool) {
        self.sent_data += u64::from(is_sent_again);
    }

    /// A packet arrived after `transit` on the way.
    #[inline]
    pub fn count(&mut self, carries_data: bool, transit: Duration) {
        self.arrived += 1;
        self.data += u64::from(carries_data);
        self.last = transit.as_nanos();
        self.transit = self.transit.wrapping_add(self.last);
    }

    /// The mean time on the way of all that arrived; zero if nothing did.
    pub fn mean_transit(&self) -> Duration {
        Duration::from_nanos(self.mean_transit_since(&Tally::default()))
    }

    /// The mean time on the way since `earlier`, in nanoseconds; 0 if nothing arrived since.
    fn mean_transit_since(&self, earlier: &Tally) -> u64 {
        self.transit.wrapping_sub(earlier.transit) / (self.arrived - earlier.arrived).max(1)
    }
}

/// The loss events of one direction of a flow.
///
/// A loss event begins with a data packet that is dropped, or marked by ECN. Every such packet that was sent within [`SPAN`] round trips after it belongs to
/// the same event: a sender learns of the first one only then, and reduces its window once for all of them (RFC 5348 section 5.2 counts in the same way).
///
/// Call [`Self::note`] for each such packet when it is dropped or marked, in order of time, with the tallies of both directions at that moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossEvents {
    events: u64,
    /// When the first of them began.
    first: Time,
    /// Packets sent until then belong to the latest event.
    until: Time,
    dropped: u64,
    /// Of them, those of the first event, and data packets that had arrived before it.
    dropped_first: u64,
    arrived_before: u64,
    marked: u64,
    /// Packets that were on the way when each event began, as far as it began with a drop, and acknowledgements of such, added up.
    flights: u64,
    /// The latest drop, of either direction.
    unheard: Unheard,
    /// Nanoseconds in which the sender was shut out.
    shut_out: u64,
    /// At the beginnings of the two last events whose numbers are powers of two.
    powers: [Moment; 2],
    /// At the beginning of the latest event.
    latest: Moment,
}

/// What had been counted at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Moment {
    time: Time,
    dropped: u64,
    marked: u64,
    there: Tally,
    back: Tally,
    /// Nanoseconds times the square root of the data packets in each interval between loss events, in units of 1 / [`ROOTS`], added up.
    roots: u128,
    /// [`LossEvents::shut_out`].
    shut_out: u64,
}

/// A dropped packet, and what the sender heard until then.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Unheard {
    time: Time,
    /// Packets that had arrived at the sender.
    heard: u64,
    /// Nanoseconds that the sender's retransmission timer took the last time, if the drop is not the first of several between which the
    /// sender heard nothing; else 0.
    waited: u64,
}

/// A retransmission timer takes this many times as long as the time before, at most: it doubles (RFC 6298 section 5.5), and a tick of a
/// clock and the way are added.
const MOST_BACK_OFF: u64 = 3;

/// Square roots are kept to this part of one.
const ROOTS: f64 = 1024.0;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// It was dropped.
    Dropped,
    /// A queue marked it.
    Marked,
}

/// Round trips, in quarters, that a loss event covers. Exactly one is too short: a queue that is full drops a packet in each round trip until the sender reacts, and
/// the sender reacts one round trip and three duplicate acknowledgements after the first.
const SPAN_QUARTERS: u64 = 5;

/// Loss events that a stretch needs.
pub const LEAST_LOSS_EVENTS: u64 = 10;

/// The later part of a flow, which begins and ends with a loss event.
///
/// It begins with the event whose number is half the largest power of two among the events so far, that is after a quarter to a half of them. Before that comes what slow
/// start left behind: a window that is far too large takes several loss events to come down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Loss events of the whole flow.
    pub loss_events: u64,
    /// Loss events within the stretch, its end counted and its beginning not.
    pub intervals: u64,
    /// Data packets that arrived or were dropped meanwhile, retransmissions included.
    pub data: u64,
    /// Data packets dropped meanwhile.
    pub dropped: u64,
    /// Data packets marked meanwhile.
    pub marked: u64,
    /// Data packets marked before it.
    pub marked_before: u64,
    /// From the beginning of the first loss event to that of the stretch.
    pub before: Duration,
    /// How long it lasted.
    pub time: Duration,
    /// How long the sender was shut out meanwhile: what its timer sent again was dropped, or the acknowledgement of that, so that the next
    /// timeout was longer.
    pub shut_out: Duration,
    /// Mean round-trip time of packets: the mean times on the way there and back, added.
    pub rtt: Duration,
    /// Data packets between loss events as a window sees them: the square of the mean over time of their square root, with which windows
    /// grow. Where losses are steady it is about `data / intervals`; where they change it is far below, because a flow sends most of its
    /// packets while there are few losses and may spend most of its time while there are many.
    pub packets_over_time: f64,
}

impl Moment {
    /// The share in `roots` of the interval that begins here and ends at `now`, when so many packets had been `dropped` and `there` counts
    /// the others.
    fn root_time(&self, now: Time, dropped: u64, there: &Tally) -> u128 {
        let packets = there.data - self.there.data + dropped - self.dropped;
        u128::from(now.since(self.time).as_nanos()) * ((packets as f64).sqrt() * ROOTS) as u128
    }
}

impl LossEvents {
    /// A data packet that was sent at `sent` is dropped or marked at `now`. `there` counts the packets of its direction, `back` those of the other.
    pub fn note(&mut self, signal: Signal, sent: Time, now: Time, [there, back]: [&Tally; 2]) {
        if signal == Signal::Dropped {
            self.note_unheard(now, there, back);
        }
        if self.events == 0 || sent > self.until {
            self.events += 1;
            if signal == Signal::Dropped {
                let forward = there.sent_data.saturating_sub(there.data + self.dropped);
                let round_trip = u128::from(there.last) + u128::from(back.last);
                let flight = u128::from(forward) * round_trip / u128::from(there.last.max(1));
                self.flights = self.flights.saturating_add(u64::try_from(flight).unwrap_or(u64::MAX).max(forward));
            }
            if self.events == 1 {
                (self.first, self.arrived_before) = (now, there.data);
            }
            self.until = sent + Duration::from_nanos((there.last + back.last) * SPAN_QUARTERS / 4);
            let Self { dropped, marked, latest, shut_out, .. } = *self;
            let roots = if self.events == 1 { 0 } else { latest.roots + latest.root_time(now, dropped, there) };
            self.latest = Moment { time: now, dropped, marked, there: *there, back: *back, roots, shut_out };
            if self.events.is_power_of_two() {
                self.powers = [self.powers[1], self.latest];
            }
        }
        match signal {
            Signal::Dropped => {
                self.dropped += 1;
                self.dropped_first += u64::from(self.events == 1);
            }
            Signal::Marked => self.marked += 1,
        }
    }

    /// A packet of either direction is dropped at `now`: `there` counts the packets of this direction, `back` those that its sender heard.
    ///
    /// While every packet is dropped that would have told the sender something, its timer expires again and again, each time after twice
    /// as long. The last of these times ends with a packet that arrives.
    pub fn note_unheard(&mut self, now: Time, there: &Tally, back: &Tally) {
        let Unheard { time, heard, waited } = self.unheard;
        let (gap, round_trip) = (now.since(time).as_nanos(), there.last.saturating_add(back.last));
        let most = waited.saturating_mul(MOST_BACK_OFF);
        let waited = match back.arrived == heard && time > Time::ZERO {
            // Drops of one flight.
            true if gap <= round_trip / 4 * SPAN_QUARTERS => waited,
            true => {
                self.shut_out += if waited > 0 { gap.min(most) } else { gap };
                gap
            }
            false => {
                self.shut_out += gap.min(most);
                0
            }
        };
        self.unheard = Unheard { time: now, heard: back.arrived, waited };
    }

    /// Data packets that were on the way at the beginnings of loss events, all events together: an estimate, from those that had not arrived
    /// and the last times on the way.
    pub fn flights(&self) -> u64 {
        self.flights
    }

    /// Loss events so far.
    pub fn count(&self) -> u64 {
        self.events
    }

    /// Data packets dropped so far.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Of them, those of the first loss event that were among the first `window` data packets: the sender had no reason to slow down
    /// before it had sent these.
    pub fn dropped_of_first(&self, window: u64) -> u64 {
        self.dropped_first.min(window.saturating_sub(self.arrived_before))
    }

    /// The later part of the flow; `None` with fewer than [`LEAST_LOSS_EVENTS`].
    pub fn stretch(&self) -> Option<Stretch> {
        if self.events < LEAST_LOSS_EVENTS {
            return None;
        }
        let (from, to) = (&self.powers[0], &self.latest);
        let begins = 1 << (self.events.ilog2() - 1);
        let [there, back] =
            [(&to.there, &from.there), (&to.back, &from.back)].map(|(to, from)| to.mean_transit_since(from));
        let dropped = to.dropped - from.dropped;
        let time = to.time.since(from.time);
        let mean_root = (to.roots - from.roots) as f64 / ROOTS / time.as_nanos().max(1) as f64;
        Some(Stretch {
            loss_events: self.events,
            intervals: self.events - begins,
            data: to.there.data - from.there.data + dropped,
            dropped,
            marked: to.marked - from.marked,
            marked_before: from.marked,
            before: from.time.since(self.first),
            time,
            shut_out: Duration::from_nanos(to.shut_out - from.shut_out).min(time),
            rtt: Duration::from_nanos(there + back),
            packets_over_time: mean_root * mean_root,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: fn(u64) -> Duration = Duration::from_millis;

    /// A flow whose packets take 30 ms there and 10 ms back, one data packet a millisecond and one acknowledgement for it, of which
    /// those sent at the given milliseconds are dropped on leaving.
    fn flow(milliseconds: u64, dropped: &[u64]) -> LossEvents {
        let (mut there, mut back, mut events) = (Tally::default(), Tally::default(), LossEvents::default());
        for millisecond in 0..milliseconds {
            let now = Time::ZERO + MS(millisecond);
            if dropped.contains(&millisecond) {
                events.note(Signal::Dropped, now, now, [&there, &back]);
            } else {
                there.count(true, MS(30));
                back.count(false, MS(10));
            }
        }
        events
    }

    #[test]
    fn losses_of_one_round_trip_count_once() {
        let count = |dropped: &[u64]| flow(1_000, dropped).count();
        assert_eq!(count(&[]), 0);
        assert_eq!(count(&[100]), 1);
        // 1.25 round trips of 40 ms: the packet sent after 50 ms is the last of the event.
        assert_eq!(count(&[100, 101, 139, 150]), 1);
        assert_eq!(count(&[100, 151]), 2);
        // The span counts from the first loss and is not extended by later ones.
        assert_eq!(count(&[100, 130, 160]), 2);
    }

    #[test]
    fn nine_loss_events_make_no_stretch() {
        let every_100_ms = |events: u64| (1..=events).map(|n| 100 * n).collect::<Vec<_>>();
        assert_eq!(flow(2_000, &every_100_ms(9)).stretch(), None);
        let stretch = flow(2_000, &every_100_ms(10)).stretch().unwrap();
        // From the fourth event at 400 ms to 1,000 ms.
        assert_eq!((stretch.loss_events, stretch.intervals, stretch.data, stretch.dropped), (10, 6, 600, 6));
        assert_eq!((stretch.time, stretch.rtt, stretch.marked), (MS(600), MS(40), 0));
        assert_eq!((stretch.before, stretch.marked_before), (MS(300), 0));
    }

    #[test]
    fn the_stretch_begins_after_a_quarter_to_a_half() {
        for (events, begins) in [(10, 4), (15, 4), (16, 8), (31, 8), (32, 16), (40, 16)] {
            let stretch = flow(5_000, &(1..=events).map(|n| 100 * n).collect::<Vec<_>>()).stretch().unwrap();
            assert_eq!((stretch.intervals, stretch.time), (events - begins, MS(100 * (events - begins))), "{events}");
        }
    }

    #[test]
    fn packets_of_an_event_are_counted_but_open_no_other() {
        let dropped: Vec<u64> = (1..=12).flat_map(|n| [100 * n, 100 * n + 5, 100 * n + 9]).collect();
        let stretch = flow(2_000, &dropped).stretch().unwrap();
        assert_eq!((stretch.loss_events, stretch.dropped, stretch.data), (12, 24, 800));
        let events = flow(2_000, &dropped);
        assert_eq!((events.dropped(), events.dropped_of_first(u64::MAX)), (36, 3));
        assert_eq!(events.dropped_of_first(40), 0, "40 had arrived long before");
    }

    /// Losses at 100, 200, ..., 800 ms, and then every 400 ms: 100 and 400 packets between them, for a fifth and four fifths of the time.
    #[test]
    fn packets_between_losses_are_weighted_by_time() {
        let steady = flow(2_000, &(1..=12).map(|n| 100 * n).collect::<Vec<_>>()).stretch().unwrap();
        assert!((steady.packets_over_time - 100.0).abs() < 1.0, "{steady:?}");
        let times: Vec<u64> = (1..=8).map(|n| 100 * n).chain((1..=4).map(|n| 800 + 400 * n)).collect();
        let changing = flow(3_000, &times).stretch().unwrap();
        let expected = (0.2 * 10.0 + 0.8 * 20.0f64).powi(2);
        assert!((changing.packets_over_time / expected - 1.0).abs() < 0.02, "{changing:?} {expected}");
    }

    /// A data packet is lost, and then what the timer sends again after 300 and 900 ms; what it sends after 2.1 s arrives. Then two
    /// acknowledgements of such are lost, and the data arrived.
    #[test]
    fn a_sender_whose_repetitions_are_dropped_is_shut_out() {
        let (mut there, mut back, mut events) = (Tally::default(), Tally::default(), LossEvents::default());
        let at = |millis: u64| Time::ZERO + MS(millis);
        there.count(true, MS(30));
        back.count(false, MS(10));
        for millis in [1_000, 1_300, 1_900] {
            events.note(Signal::Dropped, at(millis), at(millis), [&there, &back]);
        }
        assert_eq!((events.count(), events.shut_out), (3, 900_000_000));
        back.count(false, MS(10));
        // The sender went on for longer than the third timeout, which was at most three times the second.
        events.note(Signal::Dropped, at(9_000), at(9_000), [&there, &back]);
        assert_eq!(events.shut_out, 900_000_000 + 1_800_000_000);
        for millis in [9_300, 9_900, 30_000] {
            there.count(true, MS(30));
            events.note_unheard(at(millis), &there, &back);
        }
        let more = 300_000_000 + 600_000_000 + 1_800_000_000;
        assert_eq!(events.shut_out, 2_700_000_000 + more, "no timer waits for 20 s after 600 ms");
        // Single losses shut nobody out, and drops of one flight neither.
        let single = flow(5_000, &(1..=40).map(|n| 100 * n).collect::<Vec<_>>());
        let several = flow(5_000, &(1..=40).flat_map(|n| [100 * n, 100 * n + 1, 100 * n + 2]).collect::<Vec<_>>());
        assert_eq!([single, several].map(|events| events.stretch().unwrap().shut_out), [Duration::ZERO; 2]);
    }

    /// Thirty packets in a transit of 30 ms, of which the way back is a third.
    #[test]
    fn the_flight_of_a_loss_event_is_what_is_on_the_way() {
        let (mut there, mut back, mut events) = (Tally::default(), Tally::default(), LossEvents::default());
        there.count(true, MS(30));
        back.count(false, MS(10));
        (0..31).for_each(|_| there.send(true));
        events.note(Signal::Dropped, Time::ZERO + MS(1), Time::ZERO + MS(1), [&there, &back]);
        assert_eq!(events.flights(), 40);
        events.note(Signal::Dropped, Time::ZERO + MS(2), Time::ZERO + MS(2), [&there, &back]);
        assert_eq!(events.flights(), 40, "the same event");
    }

    #[test]
    fn marks_begin_loss_events_too() {
        let (mut events, tally) = (LossEvents::default(), Tally::default());
        for n in 0..10 {
            let now = Time::ZERO + MS(1 + n);
            let signal = if n % 2 == 0 { Signal::Dropped } else { Signal::Marked };
            events.note(signal, now, now, [&tally, &tally]);
        }
        let stretch = events.stretch().unwrap();
        assert_eq!((stretch.dropped, stretch.marked), (3, 3));
        // The fourth event begins with a mark that is counted in it.
        assert_eq!((stretch.marked_before, stretch.before), (1, MS(3)));
    }
}
