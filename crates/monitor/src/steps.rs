//! Series as functions of time: a sample holds from the answer before it until its own, so that series whose samples end at different
//! times can be added and compared.

use std::collections::BTreeMap;
use std::ops::Range;

use flowloom_store::monitor::{LevelRow, Piece};

/// A rate that holds for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Step {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    pub(crate) rate: u64,
}

impl Step {
    /// A sample as a step; `None` of a row of a level.
    pub(crate) fn of(piece: &Piece) -> Option<Step> {
        let is_sample = piece.width_ns == 0 && piece.row.covered_ns > 0;
        let start_ns = piece.at_ns.saturating_sub(piece.row.covered_ns);
        is_sample.then_some(Step { start_ns, end_ns: piece.at_ns, rate: piece.row.mean })
    }

    /// The part of it that lies in `period`.
    pub(crate) fn within(self, period: &Range<u64>) -> Option<Step> {
        let (start_ns, end_ns) = (self.start_ns.max(period.start), self.end_ns.min(period.end));
        (start_ns < end_ns).then_some(Step { start_ns, end_ns, ..self })
    }

    /// As a sample that ends with it.
    pub(crate) fn row(self) -> LevelRow {
        let Step { start_ns, end_ns, rate } = self;
        LevelRow {
            least: rate,
            most: rate,
            mean: rate,
            covered_ns: end_ns - start_ns,
            samples: 1,
            ..LevelRow::default()
        }
    }
}

/// Sorts steps, and takes what two of them cover from the later one.
pub(crate) fn in_order(steps: &mut Vec<Step>) {
    steps.sort_unstable();
    let mut until = 0;
    for step in steps.iter_mut() {
        step.start_ns = step.start_ns.max(until);
        until = until.max(step.end_ns);
    }
    steps.retain(|step| step.start_ns < step.end_ns);
}

/// Beginnings of bins: whole widths, shifted by a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Grid {
    /// The width of a bin.
    pub(crate) width_ns: u64,
    /// A time at which a bin begins, less than a width after 1970.
    pub(crate) phase_ns: u64,
}

impl Grid {
    /// Where the bin begins that `time_ns` is in.
    pub(crate) fn start(&self, time_ns: u64) -> u64 {
        (time_ns + self.width_ns - self.phase_ns) / self.width_ns * self.width_ns + self.phase_ns - self.width_ns
    }

    /// Puts a row into the point that `at_ns` is in: of a sample its end, of a row of a level its beginning. It counts there once, and as a
    /// whole (methods C.6). All points are made by this function: those of series, of sums and of days.
    pub(crate) fn put(&self, at_ns: u64, row: &LevelRow, points: &mut BTreeMap<u64, LevelRow>) {
        points.entry(self.start(at_ns)).or_default().add(row);
    }

    /// Adds a step to the bins that it crosses, to each the part that lies there: for bins that are compared one by one.
    pub(crate) fn share(&self, step: Step, bins: &mut BTreeMap<u64, LevelRow>) {
        let mut at = step.start_ns;
        while at < step.end_ns {
            let start = self.start(at);
            let end = (start + self.width_ns).min(step.end_ns);
            bins.entry(start).or_default().add(&Step { start_ns: at, end_ns: end, ..step }.row());
            at = end;
        }
    }
}

/// What some series add up to, in the time in which all of them are known; each is in order.
pub(crate) fn sum(series: &[Vec<Step>]) -> Vec<Step> {
    let mut found: Vec<Step> = Vec::new();
    let mut places = vec![0; series.len()];
    let mut at = 0;
    loop {
        let (mut rate, mut until, mut from, mut is_known) = (0_u64, u64::MAX, at, true);
        for (steps, place) in series.iter().zip(&mut places) {
            while steps.get(*place).is_some_and(|step| step.end_ns <= at) {
                *place += 1;
            }
            let Some(step) = steps.get(*place) else { return found };
            if step.start_ns > at {
                (is_known, from) = (false, from.max(step.start_ns));
            }
            rate = rate.saturating_add(step.rate);
            until = until.min(step.end_ns);
        }
        if series.is_empty() {
            return found;
        }
        if is_known {
            found.push(Step { start_ns: at, end_ns: until, rate });
            at = until;
        } else {
            at = from;
        }
    }
}

/// A sample of a store, as a test writes it.
#[cfg(test)]
pub(crate) fn piece(time_ns: u64, span_ns: u64, rate: u64) -> Piece {
    let row = LevelRow { least: rate, most: rate, mean: rate, covered_ns: span_ns, samples: 1, ..LevelRow::default() };
    Piece { at_ns: time_ns, width_ns: 0, row }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(start_ns: u64, end_ns: u64, rate: u64) -> Step {
        Step { start_ns, end_ns, rate }
    }

    #[test]
    fn a_sample_holds_since_the_answer_before() {
        assert_eq!(Step::of(&piece(100, 30, 7)), Some(step(70, 100, 7)));
        let row = Piece { width_ns: 60, ..piece(100, 30, 7) };
        assert_eq!(Step::of(&row), None);
    }

    #[test]
    fn bins_have_the_part_of_a_sample_that_lies_in_them() {
        let grid = Grid { width_ns: 10, phase_ns: 3 };
        assert_eq!([0, 2, 3, 12, 13].map(|time| grid.start(time + 10) as i64 - 10), [-7, -7, 3, 3, 13]);
        let mut bins = BTreeMap::new();
        grid.share(step(8, 15, 6), &mut bins);
        grid.share(step(15, 23, 2), &mut bins);
        let found: Vec<_> = bins.iter().map(|(at, row)| (*at, row.least, row.mean, row.most, row.covered_ns)).collect();
        // From 13 on: 2 at 6 and 8 at 2.
        assert_eq!(found, [(3, 6, 6, 6, 5), (13, 2, 3, 6, 10)]);
    }

    #[test]
    fn a_sample_counts_in_the_point_in_which_it_ends() {
        let grid = Grid { width_ns: 10, phase_ns: 0 };
        let mut points = BTreeMap::new();
        // Of 7 until 12 nothing is in the first point, and what ends with a point is in the next one.
        for sample in [step(0, 5, 2), step(5, 12, 7), step(12, 20, 3), step(20, 24, 1)] {
            grid.put(sample.end_ns, &sample.row(), &mut points);
        }
        let found: Vec<_> =
            points.iter().map(|(at, row)| (*at, row.least, row.mean, row.most, row.covered_ns, row.samples)).collect();
        // From 20 on: 8 at 3 and 4 at 1, 28 in 12.
        assert_eq!(found, [(0, 2, 2, 2, 5, 1), (10, 7, 7, 7, 7, 1), (20, 1, 2, 3, 12, 2)]);
    }

    #[test]
    fn a_sum_is_known_where_all_are() {
        let one = vec![step(0, 10, 1), step(10, 20, 5), step(30, 40, 2)];
        let other = vec![step(5, 12, 10), step(12, 35, 20)];
        let expected = [step(5, 10, 11), step(10, 12, 15), step(12, 20, 25), step(30, 35, 22)];
        assert_eq!(sum(&[one.clone(), other.clone()]), expected);
        assert_eq!(sum(&[other, one.clone()]), expected);
        assert_eq!(sum(std::slice::from_ref(&one)), one);
        assert_eq!(sum(&[]), []);
    }

    #[test]
    fn overlapping_steps_count_once() {
        let mut steps = vec![step(5, 12, 2), step(0, 10, 1), step(3, 8, 9)];
        in_order(&mut steps);
        assert_eq!(steps, [step(0, 10, 1), step(10, 12, 2)]);
    }
}
