//! Bursts of a series: times in which it stays above a threshold.

use std::ops::Range;

use flowloom_store::FileError;
use flowloom_store::monitor::{Level, LevelRow, Series};
use serde::Serialize;

use crate::query::{Archive, percentile};
use crate::steps::{Step, in_order};

/// Bursts that are listed at most; all are counted.
const MOST_LISTED: usize = 1_000;

/// The days in which a series can be above a threshold are found in rows of this width.
const COARSE_NS: u64 = Level::Hours.width_ns();

/// A time in which a series stays above the threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Burst {
    /// Its beginning, in nanoseconds since 1970 UTC.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// The greatest sample.
    pub most: u128,
    /// The mean.
    pub mean: u128,
}

/// The bursts of a series in a period.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bursts {
    /// How many there are.
    pub count: u64,
    /// How long they take in all, in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
    /// The median of their durations (methods C.7), in nanoseconds; `None` if there is none.
    pub median_ns: Option<u64>,
    /// The mean time from the beginning of one to that of the next, in nanoseconds; `None` if there are fewer than two.
    pub interval_ns: Option<u64>,
    /// The first of them, at most 1,000.
    pub listed: Vec<Burst>,
}

impl Archive {
    /// The times in which `series` stays above `threshold`, in millionths of a unit (per second), by all samples that are kept. A gap ends a
    /// burst. Where samples are no longer kept, rows that are wider count as their means.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn bursts(&self, series: &Series, period: Range<u64>, threshold: u64) -> Result<Bursts, FileError> {
        let series = std::slice::from_ref(series);
        let mut hours: Vec<u64> = Vec::new();
        self.visit(series, period.clone(), COARSE_NS, &mut |_, step| {
            if step.row.most > u128::from(threshold) {
                hours.extend(step.start_ns / COARSE_NS..step.end_ns.div_ceil(COARSE_NS));
            }
        })?;
        hours.sort_unstable();
        hours.dedup();
        let mut bursts: Vec<Burst> = Vec::new();
        for stretch in stretches(&hours) {
            let mut steps = Vec::new();
            let stretch = stretch.start.max(period.start)..stretch.end.min(period.end);
            self.visit(series, stretch, 0, &mut |_, step| steps.push(step))?;
            in_order(&mut steps);
            add(&steps, threshold.into(), series[0].interval_ns / 2, &mut bursts);
        }
        Ok(told(bursts))
    }
}

/// Hours that follow each other, or nearly, as periods: every period is read once.
fn stretches(hours: &[u64]) -> Vec<Range<u64>> {
    /// Hours between two stretches that are worth another reading.
    const APART: u64 = 24;
    let mut found: Vec<Range<u64>> = Vec::new();
    for hour in hours {
        match found.last_mut() {
            Some(last) if *hour <= last.end + APART => last.end = hour + 1,
            _ => found.push(*hour..hour + 1),
        }
    }
    found.into_iter().map(|hours| hours.start * COARSE_NS..hours.end * COARSE_NS).collect()
}

/// Adds the bursts in `steps`, which are in order. Steps that are no more than `slack_ns` apart follow each other.
fn add(steps: &[Step], threshold: u128, slack_ns: u64, bursts: &mut Vec<Burst>) {
    let mut sum = LevelRow::default();
    let mut last: Option<&Step> = None;
    for step in steps {
        let rate = step.row.mean();
        if rate <= threshold {
            last = None;
            continue;
        }
        let follows = last.is_some_and(|last| step.start_ns <= last.end_ns.saturating_add(slack_ns));
        if !follows {
            sum = LevelRow::default();
            bursts.push(Burst { start_ns: step.start_ns, end_ns: step.end_ns, most: 0, mean: 0 });
        }
        let Some(burst) = bursts.last_mut() else { continue };
        sum.add(&step.row);
        burst.end_ns = step.end_ns;
        burst.most = burst.most.max(rate);
        burst.mean = sum.mean();
        last = Some(step);
    }
}

fn told(mut bursts: Vec<Burst>) -> Bursts {
    let mut durations: Vec<u64> = bursts.iter().map(|burst| burst.end_ns - burst.start_ns).collect();
    let apart = bursts.last().zip(bursts.first()).map(|(last, first)| last.start_ns - first.start_ns);
    let count = bursts.len() as u64;
    bursts.truncate(MOST_LISTED);
    Bursts {
        count,
        total_ns: durations.iter().sum(),
        longest_ns: durations.iter().copied().max().unwrap_or(0),
        median_ns: percentile(&mut durations, 50),
        interval_ns: apart.filter(|_| count > 1).map(|apart| apart / (count - 1)),
        listed: bursts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample at a rate in millionths.
    fn step(start_ns: u64, end_ns: u64, rate: u64) -> Step {
        const S: u64 = 1_000_000;
        let (start_ns, end_ns) = (start_ns * S, end_ns * S);
        let covered_ns = end_ns - start_ns;
        let integral = u128::from(rate * covered_ns / S);
        let (least, most) = (rate.into(), rate.into());
        let row = LevelRow { least, most, integral, covered_ns, samples: 1, ..LevelRow::default() };
        Step { start_ns, end_ns, row_ns: 0, row }
    }

    #[test]
    fn a_burst_ends_below_the_threshold_and_at_a_gap() {
        let steps = [
            step(0, 10, 5),
            step(10, 20, 6),
            step(20, 40, 9),
            step(40, 50, 5),
            step(50, 60, 7),
            // A gap.
            step(80, 90, 8),
        ];
        let mut bursts = Vec::new();
        add(&steps, 5, 4_000_000, &mut bursts);
        let burst = |start: u64, end: u64, most, mean| Burst {
            start_ns: start * 1_000_000,
            end_ns: end * 1_000_000,
            most,
            mean,
        };
        assert_eq!(bursts, [burst(10, 40, 9, 8), burst(50, 60, 7, 7), burst(80, 90, 8, 8)]);
        let found = told(bursts.clone());
        assert_eq!((found.count, found.total_ns, found.longest_ns), (3, 50_000_000, 30_000_000));
        assert_eq!((found.median_ns, found.interval_ns), (Some(10_000_000), Some(35_000_000)));
        assert_eq!(found.listed, bursts);
        assert_eq!(told(Vec::new()), Bursts::default());
    }

    #[test]
    fn hours_are_read_together() {
        let found = stretches(&[1, 2, 20, 100, 101]);
        assert_eq!(found, [COARSE_NS..21 * COARSE_NS, 100 * COARSE_NS..102 * COARSE_NS]);
    }
}
