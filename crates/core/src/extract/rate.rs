//! Sender rates: how fast an end sends where it sends evenly, and neither its window nor the network makes it (methods A.13.5).
//!
//! A link that is full sends evenly too, and what follows its acknowledgements is as even as they are. Three things tell them from a
//! sender that holds back:
//!
//! - A window that is full grows, by half a segment in each round trip at least. So the bytes that have passed bend away from a straight
//!   line, or packets wait longer and longer. [`Run`] is a time in which neither happens.
//! - A link that is full has packets waiting, before the monitor (which the sender's own clock shows) or behind it (which round trips
//!   to the receiver show). Of a sender that holds back no packet waits longer than by chance.
//! - BBR paces at the rate at which its data is acknowledged. It sends a quarter more in one round trip of eight, to see whether the path
//!   takes more. A run is longer than that, and so narrow that a quarter more does not fit.
//!
//! So a slow link on the sender's side is no rate: how long data waits there is part of its delays (methods A.13.9). Nor is a policer
//! that drops, because the repair of losses is not even.

use super::clock::Waited;

/// Waiting below this shows nothing: a turn of a scheduler.
const SLACK: u64 = 1_000_000;

/// The share of the shortest round trip that is as little.
const SHARE: u64 = 64;

/// Two clocks drift apart by this share at most: crystals are within 100 ppm.
const DRIFT: u64 = 5_000;

/// A receiver shows for at most so many round trips in a row that data waited: its acknowledgements may have.
const MOST_UNSHOWN: u64 = 4;

/// A run takes at least so many round trips, ...
const LEAST_ROUND_TRIPS: f64 = 16.0;
/// ... and so many for each segment that may wait unseen. A window that grows by half a segment a round trip has then grown by twice as much.
const FOR_EACH_UNSEEN: f64 = 4.0;

/// BBR's probe, a quarter of what is on the way, is wider than the band: so much must be on the way for each byte of it.
const WIDTHS_ON_THE_WAY: f64 = 4.0;

/// So many round trips' worth of bytes fit into the receiver's window at least, beside [`SPARE`] segments.
const FITTING: f64 = 1.5;
const SPARE: f64 = 4.0;

/// After a loss, CUBIC's window stays nearly the same for some seconds around that of the loss (RFC 9438 section 4.2).
const LEAST_AFTER_LOSS: u64 = 5_000_000_000;

/// Rates that differ by more than this share are two, and then the end has none.
const SAME: f64 = 0.1;

/// A segment that passes with nothing but new bytes, in order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub start: u64,
    pub end: u64,
    pub now: u64,
    /// How long it waited on its way to the monitor, and the ticks of the clock that tells.
    pub waited: Waited,
    pub tick: u64,
    /// How long the clock has been watched.
    pub watched: u64,
    /// The shortest round trip between both ends.
    pub round_trip: u64,
    /// The window that the receiver offered last.
    pub window: u64,
    /// It continues an ADU.
    pub inside: bool,
}

/// A time in which the bytes that passed stay near a straight line, and none of them waited.
#[derive(Clone, Copy, Debug)]
struct Run {
    start: u64,
    start_at: u64,
    /// First byte of the latest segment, and when it passed.
    last: u64,
    last_at: u64,
    /// The line is at least and at most as steep, in bytes a nanosecond.
    least: f64,
    most: f64,
    /// The least and the most that a packet waited.
    waited: (u64, u64),
    tick: u64,
    round_trip: u64,
    /// Since when the receiver's window has had room, by the steepness known then: first byte of that segment, and when it passed.
    roomy: u64,
    roomy_at: u64,
    /// The smallest window that the receiver has offered since.
    window: u64,
    /// When an acknowledgement showed last that nothing waits behind the monitor.
    shown_at: u64,
}

/// What was sent evenly, in bytes and nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Even {
    bytes: u64,
    time: u64,
}

impl Even {
    fn bytes_per_nano(self) -> f64 {
        self.bytes as f64 / self.time as f64
    }

    fn bits_per_second(self) -> u64 {
        (self.bytes_per_nano() * 8e9).max(1.0) as u64
    }
}

/// What tells the rate of one end.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    run: Option<Run>,
    /// All runs that are long enough.
    even: Even,
    /// Some of them have another rate.
    differ: bool,
    /// The largest segment.
    largest: u64,
    /// Something was lost, sent again, overtaken or marked.
    is_lossy: bool,
}

impl Rates {
    /// New data passed in order.
    pub fn sent(&mut self, sent: &Sent) {
        self.largest = self.largest.max(sent.end - sent.start);
        if let Some(run) = &mut self.run
            && sent.inside
            && run.goes_on(sent, self.largest)
        {
            return;
        }
        self.end_run();
        self.run = Run::new(sent);
    }

    /// Data was acknowledged `sample` after it had passed, to a receiver with this shortest transit.
    pub fn acknowledged(&mut self, now: u64, sample: u64, shortest: u64) {
        if let Some(run) = &mut self.run
            && sample <= shortest.saturating_add(SLACK + run.round_trip / SHARE)
        {
            run.shown_at = now;
        }
    }

    /// A part of the data was lost, sent again, overtaken or marked.
    pub fn lost(&mut self) {
        self.end_run();
        self.is_lossy = true;
    }

    fn end_run(&mut self) {
        if let Some(run) = self.run.take() {
            self.add(run);
        }
    }

    fn add(&mut self, run: Run) {
        let Some(even) = run.even(self.largest, self.is_lossy) else { return };
        let ratio = even.bytes_per_nano() / self.even.bytes_per_nano();
        self.differ |= self.even.time > 0 && !(1.0 - SAME..=1.0 + SAME).contains(&ratio);
        self.even.bytes += even.bytes;
        self.even.time = self.even.time.saturating_add(even.time);
    }

    /// The rate in bit/s of payload of an end that sent so many bytes; `None` if it is not known that it has one for most of them.
    pub fn finish(&self, bytes: u64) -> Option<u64> {
        let mut all = self.clone();
        all.end_run();
        let is_known = !all.differ && all.even.time > 0 && all.even.bytes.saturating_mul(2) >= bytes;
        is_known.then(|| all.even.bits_per_second())
    }
}

impl Run {
    /// One that begins with a segment; `None` if that waited.
    fn new(sent: &Sent) -> Option<Run> {
        let Sent { start, now, waited, tick, round_trip, window, .. } = *sent;
        let run = Run {
            start,
            start_at: now,
            last: start,
            last_at: now,
            least: 0.0,
            most: f64::INFINITY,
            waited: (waited.most, waited.most),
            tick,
            round_trip,
            roomy: start,
            roomy_at: now,
            window,
            shown_at: now,
        };
        (round_trip > 0 && sent.passed_at_once()).then_some(run)
    }

    /// Takes a segment in; false if the run is over before it.
    fn goes_on(&mut self, sent: &Sent, largest: u64) -> bool {
        let Sent { start, now, waited, tick, round_trip, window, .. } = *sent;
        let time = now - self.start_at;
        let waited = (self.waited.0.min(waited.most), self.waited.1.max(waited.most));
        let round_trip = self.round_trip.min(round_trip).max(1);
        let unshown = now - self.shown_at.min(now);
        if !sent.passed_at_once()
            || waited.1 - waited.0 > SLACK + tick.max(self.tick) + time / DRIFT
            || unshown > round_trip.saturating_mul(MOST_UNSHOWN)
        {
            return false;
        }
        let (mut least, mut most) = (self.least, self.most);
        let (mut roomy, mut roomy_at, mut smallest) = (self.roomy, self.roomy_at, self.window.min(window));
        if time > 0 {
            let steepness = (start - self.start) as f64 / time as f64;
            if !has_room(window, steepness * round_trip as f64, largest) {
                // Receivers make their windows larger while data comes.
                (roomy, roomy_at, smallest) = (start, now, u64::MAX);
            }
            let band = band(steepness, largest) / time as f64;
            (least, most) = (least.max(steepness - band), most.min(steepness + band));
        }
        if least > most {
            return false;
        }
        *self = Run {
            last: start,
            last_at: now,
            least,
            most,
            waited,
            tick: self.tick.max(tick),
            round_trip,
            roomy,
            roomy_at,
            window: smallest,
            ..*self
        };
        true
    }

    /// What was sent evenly if the run is long enough to show it.
    fn even(&self, largest: u64, is_lossy: bool) -> Option<Even> {
        let even = Even { bytes: self.last - self.roomy, time: self.last_at - self.roomy_at };
        if even.bytes == 0 || even.time == 0 || (is_lossy && even.time < LEAST_AFTER_LOSS) {
            return None;
        }
        let (steepness, segment, round_trip) = (even.bytes_per_nano(), largest as f64, self.round_trip as f64);
        let on_the_way = steepness * round_trip;
        let unseen = steepness * (SLACK + self.tick + self.round_trip / SHARE) as f64 / segment;
        let is_long = even.time as f64 >= round_trip * (LEAST_ROUND_TRIPS + FOR_EACH_UNSEEN * unseen);
        let is_narrow = on_the_way >= WIDTHS_ON_THE_WAY * 2.0 * band(steepness, largest);
        (is_long && is_narrow && has_room(self.window, on_the_way, largest)).then_some(even)
    }
}

/// Whether a receiver's window lets more pass than what is on the way in a round trip.
fn has_room(window: u64, on_the_way: f64, largest: u64) -> bool {
    window as f64 >= FITTING * on_the_way + SPARE * largest as f64
}

/// How far the bytes that have passed may be from a straight line of this steepness: by a segment, and by what a host hands its device at
/// once, about a millisecond's worth (Linux).
fn band(steepness: f64, largest: u64) -> f64 {
    largest as f64 + steepness * SLACK as f64
}

impl Sent {
    /// Whether it did not wait on its way to the monitor, by what its clock shows.
    fn passed_at_once(&self) -> bool {
        self.waited.least <= SLACK + self.watched / DRIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const MSS: u64 = 1_448;
    const ROUND_TRIP: u64 = 40 * MS;

    /// An end whose segments pass one after the other.
    #[derive(Default)]
    struct Sender {
        rates: Rates,
        sent: u64,
    }

    impl Sender {
        /// A segment passes that `waited` before the monitor, and an acknowledgement of one that waited `behind` it.
        fn sends(&mut self, micros: u64, waited: u64, behind: u64) {
            self.sends_to(1 << 20, micros, waited, behind);
        }

        /// The same to a receiver with this window.
        fn sends_to(&mut self, window: u64, micros: u64, waited: u64, behind: u64) {
            let now = micros * 1_000;
            let waited = Waited { least: waited.saturating_sub(MS), most: waited };
            let (start, end) = (self.sent, self.sent + MSS);
            self.sent = end;
            self.rates.sent(&Sent {
                start,
                end,
                now,
                waited,
                tick: MS,
                watched: now,
                round_trip: ROUND_TRIP,
                window,
                inside: start > 0,
            });
            self.rates.acknowledged(now, behind, 0);
        }

        fn rate(&self) -> Option<u64> {
            self.rates.finish(self.sent)
        }
    }

    /// Segments that pass so many microseconds apart.
    fn paced(segments: u64, gap: u64) -> Sender {
        let mut sender = Sender::default();
        (0..segments).for_each(|n| sender.sends(n * gap, 0, 0));
        sender
    }

    #[test]
    fn even_segments_have_a_rate() {
        let rate = paced(600, 2_000).rate().unwrap();
        assert!(rate.abs_diff(5_792_000) < 10, "{rate}");
        let mut pairs = Sender::default();
        (0..600).for_each(|n| pairs.sends(n / 2 * 4_000, 0, 0));
        let rate = pairs.rate().unwrap();
        assert!(rate.abs_diff(5_792_000) < 20_000, "pairs: {rate}");
    }

    #[test]
    fn few_round_trips_and_few_segments_tell_nothing() {
        assert_eq!(paced(300, 2_000).rate(), None, "15 round trips");
        assert_eq!(paced(600, 20_000).rate(), None, "two segments a round trip");
    }

    /// 20 segments are on the way, and the window of a receiver has room for 27.
    #[test]
    fn a_rate_shows_while_the_window_has_room() {
        for (few, expected) in [(0, true), (50, true), (400, false), (600, false)] {
            let mut sender = Sender::default();
            let window = |n| if n < few { 27 * MSS } else { 40 * MSS };
            (0..600).for_each(|n| sender.sends_to(window(n), n * 2_000, 0, 0));
            assert_eq!(sender.rate().is_some(), expected, "{few}");
        }
    }

    #[test]
    fn a_window_that_grows_is_no_rate() {
        let mut sender = Sender::default();
        let mut at = 0;
        for round in 0..200 {
            let window = 20 + round / 2;
            (0..window).for_each(|n| sender.sends(at + n * 40_000 / window, 0, 0));
            at += 40_000;
        }
        assert_eq!(sender.rate(), None);
    }

    #[test]
    fn what_waits_is_no_rate() {
        let mut before = Sender::default();
        let mut behind = Sender::default();
        let mut growing = Sender::default();
        for n in 0..600 {
            before.sends(n * 2_000, 4 * MS, 0);
            behind.sends(n * 2_000, 0, 4 * MS);
            growing.sends(n * 2_000, n / 20 * 2_000_000 / 10, 0);
        }
        assert_eq!([before.rate(), behind.rate(), growing.rate()], [None; 3]);
    }

    #[test]
    fn a_probe_of_bbr_ends_a_run() {
        let mut sender = Sender::default();
        let mut at = 0;
        for round in 0..80 {
            let segments = match round % 8 {
                0 => 25,
                1 => 15,
                _ => 20,
            };
            (0..segments).for_each(|n| sender.sends(at + n * 40_000 / segments, 0, 0));
            at += 40_000;
        }
        assert_eq!(sender.rate(), None);
    }

    #[test]
    fn two_rates_are_none_and_so_is_one_of_few_bytes() {
        let mut sender = paced(600, 2_000);
        (0..1_400).for_each(|n| sender.sends(1_300_000 + n * 1_000, 0, 0));
        assert_eq!(sender.rate(), None);
        let sender = paced(600, 2_000);
        assert!(sender.rates.finish(sender.sent * 2 - 4 * MSS).is_some());
        assert_eq!(sender.rates.finish(sender.sent * 2), None);
    }

    #[test]
    fn after_a_loss_it_takes_longer() {
        for (segments, expected) in [(600, false), (2_600, true)] {
            let mut sender = Sender::default();
            sender.sends(0, 0, 0);
            sender.rates.lost();
            (1..segments).for_each(|n| sender.sends(n * 2_000, 0, 0));
            assert_eq!(sender.rate().is_some(), expected, "{segments}");
        }
    }

    #[test]
    fn a_clock_that_jumps_centuries_is_no_panic() {
        let mut sender = Sender::default();
        for micros in [0, 1, u64::MAX / 1_001, u64::MAX / 1_000] {
            sender.sends(micros, u64::MAX, u64::MAX);
            sender.sends(micros, 0, 0);
        }
        assert_eq!(sender.rate(), None);
    }
}
