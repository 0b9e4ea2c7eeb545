//! The clock of an end, as its timestamps tell it (RFC 7323 section 5.4).

/// Ticks that are in use, in nanoseconds: of Linux and the BSDs today, of Linux with a slower timer, and of many before them.
pub(super) const TICKS: [u64; 3] = [1_000_000, 4_000_000, 10_000_000];

/// So many ticks must have passed before the clock's speed is known.
const LEAST_TICKS: u32 = 10;

/// What is estimated and what is in use differ at most by this share: waiting on the way makes intervals longer or shorter.
const TOLERANCE: f64 = 0.3;

/// What is known of the clock of an end's timestamps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// When the first packet with a timestamp passed, and what it was.
    first: Option<(u64, u32)>,
    /// How much later the latest passed, and by how many ticks its own clock was ahead.
    since: (u64, u32),
    /// For each of [`TICKS`], how much later than by the sender's clock the packet passed that passed soonest.
    soonest: [i64; TICKS.len()],
    /// Which of them it is.
    tick: Option<u8>,
    /// It is judged anew when so many ticks have passed.
    judged_at: u32,
}

/// How long a packet waited on its way from its sender to the monitor, longer than the one that passed soonest. It is known to a tick.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Waited {
    pub least: u64,
    pub most: u64,
}

impl Clock {
    /// A packet with the timestamp `value` passed.
    pub fn note(&mut self, now: u64, value: u32) {
        let (first_at, first) = *self.first.get_or_insert((now, value));
        let ticks = value.wrapping_sub(first);
        // One that is older was overtaken.
        if ticks < self.since.1 || ticks >= 1 << 31 {
            return;
        }
        self.since = (now - first_at, ticks);
        for tick in 0..TICKS.len() {
            self.soonest[tick] = self.soonest[tick].min(self.later(tick));
        }
        if ticks >= self.judged_at.max(LEAST_TICKS) {
            self.tick = self.judged();
            self.judged_at = if self.tick.is_some() { ticks.saturating_mul(2) } else { ticks + 1 };
        }
    }

    /// By how much the latest packet passed later than the first if it left when its clock says, of this one of [`TICKS`].
    fn later(&self, tick: usize) -> i64 {
        (self.since.0 as i64).wrapping_sub((u64::from(self.since.1) * TICKS[tick]) as i64)
    }

    /// Which of [`TICKS`] its ticks are like.
    fn judged(&self) -> Option<u8> {
        let estimate = self.since.0 as f64 / f64::from(self.since.1);
        let is_near = |tick: &u64| (1.0 - TOLERANCE..=1.0 + TOLERANCE).contains(&(estimate / *tick as f64));
        TICKS.iter().position(is_near).filter(|_| self.since.1 >= LEAST_TICKS).map(|tick| tick as u8)
    }

    /// The length of a tick, if it is known and in use.
    pub fn tick(&self) -> Option<u64> {
        self.judged().map(|tick| TICKS[usize::from(tick)])
    }

    /// The length of a tick, if it was known when the latest packet passed.
    pub fn known_tick(&self) -> Option<u64> {
        self.tick.map(|tick| TICKS[usize::from(tick)])
    }

    /// How much later than the first packet with a timestamp the latest passed, and by how many ticks its own clock was ahead.
    pub fn since(&self) -> (u64, u32) {
        self.since
    }

    /// How much later than by the sender's clock the packet passed that passed soonest, if the tick is known.
    pub fn soonest(&self) -> Option<i64> {
        self.judged().map(|tick| self.soonest[usize::from(tick)])
    }

    /// How long the latest packet waited, if the tick was known when it passed.
    pub fn waited(&self) -> Option<Waited> {
        let tick = usize::from(self.tick?);
        let most = self.later(tick).abs_diff(self.soonest[tick]);
        Some(Waited { least: most.saturating_sub(TICKS[tick]), most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tick that a clock of `tick` nanoseconds is taken for after `packets` that pass 20 ms apart, off by `late`.
    fn taken_for(tick: u64, packets: u64, late: fn(u64) -> u64) -> Option<u64> {
        let mut clock = Clock::default();
        for packet in 0..packets {
            let sent = packet * 20_000_000;
            clock.note(sent + late(packet), (sent / tick) as u32 ^ 0x8000_0000);
        }
        clock.tick()
    }

    #[test]
    fn clocks_in_use_are_told() {
        for tick in TICKS {
            assert_eq!(taken_for(tick, 500, |_| 0), Some(tick));
            assert_eq!(
                taken_for(tick, 500, |packet| packet % 7 * 10_000_000),
                Some(tick),
                "with up to 60 ms of waiting"
            );
        }
        assert_eq!(taken_for(1_000_000, 1, |_| 0), None, "one packet tells nothing");
        assert_eq!(taken_for(10_000_000, 5, |_| 0), None, "nor do few ticks");
        assert_eq!(taken_for(2_000_000, 500, |_| 0), None, "nobody has such a clock");
        assert_eq!(taken_for(10, 500, |_| 0), None, "nor such a one, which turns over");
    }

    #[test]
    fn a_clock_that_starts_anew_is_not_followed() {
        let mut clock = Clock::default();
        (0..100).for_each(|packet| clock.note(packet * 1_000_000, 5_000 + packet as u32));
        clock.note(100_000_000, 7);
        assert_eq!(clock.tick(), Some(1_000_000));
    }

    #[test]
    fn waiting_is_told_from_the_packet_that_passed_soonest() {
        let mut clock = Clock::default();
        // Sent every 10 ms by a clock of 1 ms; the first two and the last wait.
        for (packet, waits) in [7, 3, 0, 0, 0, 5].into_iter().enumerate() {
            let sent = packet as u64 * 10_000_000 + 400_000;
            clock.note(sent + waits * 1_000_000, 9 + (sent / 1_000_000) as u32);
        }
        let waited = clock.waited().unwrap();
        assert_eq!((waited.least, waited.most), (4_000_000, 5_000_000));
    }
}
