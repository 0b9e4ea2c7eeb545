//! Responses in the order in which they were completed: whether a run was long enough (methods E.4), and response times over time.

use flowloom_core::sketch::Sketch;
use flowloom_core::time::{Duration, Time};
use flowloom_store::run_folder::{EpochRow, Point};

use crate::statistics::{LongEnough, RunLength, Sample};

/// Responses whose order is kept, at most: 70 MB. Of more, those completed first.
const MOST: usize = 1 << 22;

/// Collects responses of the window in any order.
#[derive(Clone, Debug)]
pub(crate) struct Responses {
    window: (Time, Time),
    bin: Duration,
    /// Of how many the order is kept.
    most: usize,
    /// (completion in ns, bytes): the earliest of them, and some that are not among these.
    earliest: Vec<(u64, u64)>,
    /// Nothing that was completed from here on is among the earliest.
    cutoff: u64,
    /// Responses that were completed, and the sum of their times in nanoseconds, in each bin of the window.
    times: Vec<(u64, f64)>,
    sizes: Sketch,
    largest_begun: u64,
    long_enough: LongEnough,
}

impl Responses {
    pub(crate) fn new(window: (Time, Time), bin: Duration) -> Responses {
        Responses {
            window,
            bin,
            most: MOST,
            earliest: Vec::new(),
            cutoff: u64::MAX,
            times: Vec::new(),
            sizes: Sketch::default(),
            largest_begun: 0,
            long_enough: RunLength::default().result(),
        }
    }

    /// Takes an epoch: the ends know when responses were completed, the monitor which had begun.
    pub(crate) fn epoch(&mut self, row: &EpochRow) {
        let Some(start) = row.start else { return };
        let within = |time: Time| self.window.0 <= time && time < self.window.1;
        match (row.point, row.response, row.response_bytes) {
            (Point::Monitor, _, Some(bytes)) if within(start) => self.largest_begun = self.largest_begun.max(bytes),
            (Point::Endpoint, Some(response), Some(bytes)) if within(start + response) => {
                self.completed(start + response, response, bytes);
            }
            _ => {}
        }
    }

    fn completed(&mut self, end: Time, response: Duration, bytes: u64) {
        self.sizes.add(bytes);
        self.largest_begun = self.largest_begun.max(bytes);
        let bin = (end.since(self.window.0).as_nanos() / self.bin.as_nanos()) as usize;
        if self.times.len() <= bin {
            self.times.resize(bin + 1, (0, 0.0));
        }
        self.times[bin].0 += 1;
        self.times[bin].1 += response.as_nanos() as f64;
        let end = end.as_nanos();
        if end >= self.cutoff {
            return;
        }
        if self.earliest.len() > self.most + self.most / 4 {
            self.earliest.select_nth_unstable(self.most);
            self.cutoff = self.earliest[self.most].0;
            self.earliest.truncate(self.most);
        }
        self.earliest.push((end, bytes));
    }

    /// To be called after the last epoch: applies the rules, and forgets the order.
    pub(crate) fn finish(&mut self) {
        let mut earliest = std::mem::take(&mut self.earliest);
        earliest.sort_unstable();
        earliest.truncate(self.most);
        let mut rules = RunLength::default();
        earliest.iter().for_each(|(_, bytes)| rules.add(*bytes));
        rules.begin(self.largest_begun);
        self.long_enough = rules.result();
        let bins = self.window.1.since(self.window.0).as_nanos() / self.bin.as_nanos();
        self.times.resize(bins as usize, (0, 0.0));
    }

    /// What the rules say of the responses completed first.
    pub(crate) fn long_enough(&self) -> LongEnough {
        self.long_enough
    }

    /// Responses completed in the window, those that the rules did not see among them.
    pub(crate) fn count(&self) -> u64 {
        self.sizes.count()
    }

    /// Bytes of the responses completed.
    pub(crate) fn sizes(&self) -> Sample {
        Sample::from(&self.sizes.empirical())
    }

    /// Responses completed in each bin, and the sum of their times in nanoseconds.
    pub(crate) fn times(&self) -> &[(u64, f64)] {
        &self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(point: Point, start: u64, response: Option<u64>, bytes: u64) -> EpochRow {
        EpochRow {
            point,
            start: Some(Time::from_nanos(start)),
            response: response.map(Duration::from_nanos),
            response_bytes: Some(bytes),
            ..EpochRow::default()
        }
    }

    fn collector() -> Responses {
        Responses::new((Time::from_nanos(100), Time::from_nanos(1_100)), Duration::from_nanos(100))
    }

    #[test]
    fn responses_count_where_they_end() {
        let mut found = collector();
        for row in [
            row(Point::Endpoint, 90, Some(20), 5),
            row(Point::Endpoint, 300, Some(150), 7),
            row(Point::Endpoint, 1_000, Some(100), 1_000),
            row(Point::Endpoint, 50, Some(49), 1_000),
            row(Point::Endpoint, 500, None, 1_000),
            row(Point::Original, 500, Some(10), 1_000),
            row(Point::Monitor, 500, None, 90),
        ] {
            found.epoch(&row);
        }
        found.finish();
        assert_eq!((found.count(), found.times().len()), (2, 10));
        assert_eq!((found.times()[0], found.times()[3]), ((1, 20.0), (1, 150.0)));
        assert_eq!((found.long_enough().responses, found.long_enough().largest_bytes), (2, 90));
        assert_eq!(found.sizes().max(), Some(7.0));
    }

    #[test]
    fn of_too_many_the_earliest_are_kept() {
        let mut few = Responses { most: 100, ..collector() };
        // Sizes tell the order; the last come first.
        (0..1_000).rev().for_each(|i| few.epoch(&row(Point::Endpoint, 100 + i, Some(0), 1 + i)));
        few.finish();
        let rules = few.long_enough();
        assert_eq!((few.count(), rules.responses, rules.largest_bytes), (1_000, 100, 1_000));
        assert!((rules.p99_bytes.unwrap() - 99.01).abs() < 1e-9, "{rules:?}");
    }

    /// The rules depend on the order of completion, and not on that in which rows come.
    #[test]
    fn order_is_that_of_completion() {
        let rows: Vec<EpochRow> =
            (0..1_000).map(|i| row(Point::Endpoint, 100 + i * 997 % 1_000, Some(0), 1_000 + i * 997 % 1_000)).collect();
        let (mut shuffled, mut ordered) = (collector(), collector());
        rows.iter().for_each(|row| shuffled.epoch(row));
        let mut rows = rows;
        rows.sort_by_key(|row| row.start);
        rows.iter().for_each(|row| ordered.epoch(row));
        shuffled.finish();
        ordered.finish();
        assert_eq!(shuffled.long_enough(), ordered.long_enough());
        assert!(shuffled.long_enough().p90_cov.unwrap() > 0.1, "sizes grow");
    }
}
