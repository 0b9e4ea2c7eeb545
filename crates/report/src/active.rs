//! Active connections over time, exactly: the mean number of them in each bin of a window (methods C.4).

use flowloom_core::time::{Duration, Time};

/// Adds up for how long connections were active in each bin, in any order.
#[derive(Clone, Debug)]
pub(crate) struct ActiveTime {
    window: (Time, Time),
    bin: u64,
    /// Nanoseconds in each bin, of connections that were active in a part of it.
    parts: Vec<u128>,
    /// By how much the number of those that were active in the whole bin changes at its beginning.
    changes: Vec<i64>,
}

impl ActiveTime {
    /// None yet, in a window of bins of this width; a last, partial bin is left out, unless it is the only one.
    pub(crate) fn new(window: (Time, Time), bin: Duration) -> ActiveTime {
        let bin = bin.as_nanos().max(1);
        let bins = (window.1.since(window.0).as_nanos() / bin).max(1) as usize;
        ActiveTime { window, bin, parts: vec![0; bins], changes: vec![0; bins] }
    }

    /// Counts a connection that is active from `start` until `end`, or for ever.
    pub(crate) fn add(&mut self, start: Time, end: Option<Time>) {
        let within = |time: Time| time.clamp(self.window.0, self.window.1).since(self.window.0).as_nanos();
        let (start, end) = (within(start), end.map_or(within(self.window.1), within));
        if end <= start {
            return;
        }
        let [first, last] = [start, end].map(|time| (time / self.bin) as usize);
        if first == last {
            self.part(first, end - start);
            return;
        }
        self.part(first, self.bin - start % self.bin);
        self.part(last, end % self.bin);
        for (bin, by) in [(first + 1, 1), (last, -1)] {
            if let Some(change) = self.changes.get_mut(bin) {
                *change += by;
            }
        }
    }

    fn part(&mut self, bin: usize, nanos: u64) {
        if let Some(part) = self.parts.get_mut(bin) {
            *part += u128::from(nanos);
        }
    }

    /// The mean number of active connections in each bin.
    pub(crate) fn means(&self) -> Vec<f64> {
        let bin = self.bin.min(self.window.1.since(self.window.0).as_nanos().max(1)) as f64;
        let mut whole = 0;
        let means = self.parts.iter().zip(&self.changes).map(|(part, change)| {
            whole += change;
            whole as f64 + *part as f64 / bin
        });
        means.collect()
    }
}

/// Active connections counted second by second: at whole seconds (*instants*), and in whole seconds (*presence*: a connection counts if it
/// is open at any moment of one), as methods C.4 defines both.
#[derive(Clone, Debug)]
pub(crate) struct ActiveCounts {
    window: (Time, Time),
    /// By how much the count changes at each whole second of the window, and at the one after it.
    instants: Vec<i64>,
    /// The same of the seconds that lie wholly in the window.
    presence: Vec<i64>,
}

/// Seconds of a window that are counted, at most: a clock that jumps years must not fill the memory.
const MOST_SECONDS: u64 = 1 << 24;
const SECOND_NS: u64 = 1_000_000_000;

impl ActiveCounts {
    /// None yet.
    pub(crate) fn new(window: (Time, Time)) -> ActiveCounts {
        let [start, end] = [window.0, window.1].map(Time::as_nanos);
        let first = start.div_ceil(SECOND_NS);
        let instants = end.div_ceil(SECOND_NS).saturating_sub(first);
        let seconds = (end / SECOND_NS).saturating_sub(first);
        let counts = |many: u64| vec![0; if many > MOST_SECONDS { 0 } else { many as usize }];
        ActiveCounts { window, instants: counts(instants), presence: counts(seconds) }
    }

    /// Counts a connection that is active from `start` until before `end`, or for ever.
    pub(crate) fn add(&mut self, start: Time, end: Option<Time>) {
        let end = end.map_or(u64::MAX, Time::as_nanos);
        let (start, first) = (start.as_nanos(), self.window.0.as_nanos().div_ceil(SECOND_NS));
        if end <= start {
            return;
        }
        let change = |counts: &mut [i64], from: u64, to: u64| {
            let [from, to] = [from, to].map(|second| second.saturating_sub(first) as usize);
            if from < to {
                counts.get_mut(from).into_iter().for_each(|count| *count += 1);
                counts.get_mut(to).into_iter().for_each(|count| *count -= 1);
            }
        };
        change(&mut self.instants, start.div_ceil(SECOND_NS), end.div_ceil(SECOND_NS));
        change(&mut self.presence, start / SECOND_NS, end.div_ceil(SECOND_NS));
    }

    /// How many are active at each whole second of the window; empty if there is none.
    pub(crate) fn instants(&self) -> Vec<f64> {
        running(&self.instants)
    }

    /// How many are active at any moment of each second that lies wholly in the window; empty if there is none.
    pub(crate) fn presence(&self) -> Vec<f64> {
        running(&self.presence)
    }
}

/// Counts from their changes.
fn running(changes: &[i64]) -> Vec<f64> {
    let counts = changes.iter().scan(0, |count, change| {
        *count += change;
        Some(*count as f64)
    });
    counts.collect()
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};

    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    fn means(window: (u64, u64), connections: &[(u64, Option<u64>)]) -> Vec<f64> {
        let mut active = ActiveTime::new((at(window.0), at(window.1)), Duration::from_secs(1));
        connections.iter().for_each(|&(start, end)| active.add(at(start), end.map(at)));
        active.means()
    }

    #[test]
    fn each_bin_has_the_mean_over_its_time() {
        assert_eq!(means((0, 3_000), &[(0, Some(180)), (2_000, Some(2_180))]), [0.18, 0.0, 0.18]);
        assert_eq!(means((0, 3_000), &[(500, Some(2_250)), (1_000, None)]), [0.5, 2.0, 1.25]);
        assert_eq!(means((10_000, 12_500), &[(0, Some(10_100)), (12_000, None), (11_500, Some(11_400))]), [0.1, 0.0]);
        assert_eq!(means((0, 400), &[(100, Some(300))]), [0.5], "the only bin is cut");
    }

    /// A periodic workload that passes half a microsecond late has the same mean.
    #[test]
    fn a_shift_of_the_clock_changes_nothing() {
        let all = |late: u64| -> f64 {
            let mut active = ActiveTime::new((at(0), at(60_000)), Duration::from_secs(1));
            for start in (0..60_000).step_by(2_000) {
                let start = at(start) + Duration::from_nanos(late);
                active.add(start, Some(start + Duration::from_millis(180)));
            }
            active.means().iter().sum::<f64>() / 60.0
        };
        assert!((all(0) - 0.09).abs() < 1e-9 && (all(464) - 0.09).abs() < 1e-9, "{} {}", all(0), all(464));
    }

    #[test]
    fn presence_counts_every_second_that_a_connection_touches() {
        let counts = |window: (u64, u64), connections: &[(u64, Option<u64>)]| {
            let mut active = ActiveCounts::new((at(window.0), at(window.1)));
            connections.iter().for_each(|&(start, end)| active.add(at(start), end.map(at)));
            [active.instants(), active.presence()]
        };
        // 10 ms within a second; a second and a bit; open at the end; over before it begins.
        let connections = [(200, Some(210)), (900, Some(2_100)), (3_000, None), (2_500, Some(2_400))];
        assert_eq!(counts((0, 4_000), &connections), [[0.0, 1.0, 1.0, 1.0], [2.0, 1.0, 1.0, 1.0]]);
        assert_eq!(counts((1_000, 3_000), &connections), [[1.0, 1.0], [1.0, 1.0]]);
        assert_eq!(counts((1_500, 3_500), &connections), [vec![1.0, 1.0], vec![1.0]]);
        let none = [const { Vec::<f64>::new() }; 2];
        assert_eq!(counts((100, 900), &connections), none);
        // The close does not count: open until 2 s, not at 2 s nor in the second from it.
        assert_eq!(counts((0, 3_000), &[(1_000, Some(2_000))]), [[0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]);
        let years = 1_000 * 3_600 * 24 * 365 * 50;
        assert_eq!(counts((0, years), &connections), none, "a clock that jumps");
    }

    #[test]
    fn means_equal_counts_at_every_millisecond() {
        let mut stream = Stream::new(5, Purpose::Sizes, 0);
        let connections: Vec<(u64, Option<u64>)> = (0..300)
            .map(|_| {
                let start = stream.below(9_000);
                (start, Some(start + stream.below(4_000)).filter(|end| *end < 9_000))
            })
            .collect();
        for (bin, mean) in means((2_000, 7_000), &connections).into_iter().enumerate() {
            let instants = 2_000 + 1_000 * bin as u64..3_000 + 1_000 * bin as u64;
            let is_open = |ms: u64, (start, end): (u64, Option<u64>)| start <= ms && end.is_none_or(|end| ms < end);
            let sum: usize = instants.map(|ms| connections.iter().filter(|one| is_open(ms, **one)).count()).sum();
            assert!((mean - sum as f64 / 1e3).abs() < 1e-9, "{bin}: {mean} {sum}");
        }
    }
}
