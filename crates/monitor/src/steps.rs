//! Series as functions of time: a sample holds from the answer before it until its own, so that a period is exactly what was asked for, and
//! series whose samples end at different times can be added and compared.

use std::ops::Range;

use flowloom_store::monitor::{Level, LevelRow, Piece, share};

/// A sample or a row of a level, and the time that it is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// The width of the row; 0 of a sample.
    pub(crate) row_ns: u64,
    pub(crate) row: LevelRow,
}

impl Step {
    /// What was read as a step; `None` if it covers no time.
    pub(crate) fn of(piece: &Piece) -> Option<Step> {
        let (start_ns, end_ns) = match piece.width_ns {
            0 => (piece.at_ns.saturating_sub(piece.row.covered_ns), piece.at_ns),
            width => (piece.at_ns, piece.at_ns + width),
        };
        let step = Step { start_ns, end_ns, row_ns: piece.width_ns, row: piece.row };
        (piece.row.covered_ns > 0 && start_ns < end_ns).then_some(step)
    }

    /// The part of it that lies in `period`. What a row covers, it covers evenly, as far as is known.
    pub(crate) fn within(&self, period: &Range<u64>) -> Option<Step> {
        let (start_ns, end_ns) = (self.start_ns.max(period.start), self.end_ns.min(period.end));
        if start_ns >= end_ns {
            return None;
        }
        if (start_ns, end_ns) == (self.start_ns, self.end_ns) {
            return Some(*self);
        }
        let whole = self.end_ns - self.start_ns;
        let (from, to) = (start_ns - self.start_ns, end_ns - self.start_ns);
        // Parts of parts add up to the whole.
        let part = |value: u128| share(value, to, whole) - share(value, from, whole);
        let short = |value: u64| u64::try_from(part(value.into())).unwrap_or(u64::MAX);
        let LevelRow { integral, covered_ns, samples, .. } = self.row;
        let (integral, covered_ns, samples) = (part(integral), short(covered_ns), short(samples));
        Some(Step { start_ns, end_ns, row: LevelRow { integral, covered_ns, samples, ..self.row }, ..*self })
    }

    /// Whether all of its time is known.
    pub(crate) fn is_full(&self) -> bool {
        self.row.covered_ns >= self.end_ns - self.start_ns
    }
}

/// Sorts steps, and takes what two of them cover from the later one.
pub(crate) fn in_order(steps: &mut Vec<Step>) {
    steps.sort_unstable_by_key(|step| (step.start_ns, step.end_ns));
    let mut until = 0;
    steps.retain_mut(|step| {
        let rest = step.within(&(until..u64::MAX));
        until = until.max(step.end_ns);
        rest.map(|rest| *step = rest).is_some()
    });
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
        let into = time_ns % self.width_ns;
        let behind = if into >= self.phase_ns { into - self.phase_ns } else { self.width_ns - self.phase_ns + into };
        // Before the first bin after 1970 there is a part of one.
        time_ns.saturating_sub(behind)
    }

    /// The width of the widest rows that lie in one bin each; 0 of samples.
    pub(crate) fn level_ns(&self) -> u64 {
        let fits = |level: &&Level| {
            let width = level.width_ns().max(1);
            self.width_ns.is_multiple_of(width) && self.phase_ns.is_multiple_of(width)
        };
        Level::ALL.iter().rev().find(fits).map_or(0, |level| level.width_ns())
    }
}

/// A period in bins.
pub(crate) struct Bins {
    grid: Grid,
    period: Range<u64>,
    /// The beginning of the first bin, which may lie before the period.
    first: u64,
    rows: Vec<LevelRow>,
}

impl Bins {
    pub(crate) fn new(grid: Grid, period: &Range<u64>) -> Bins {
        Bins { grid, period: period.clone(), first: grid.start(period.start), rows: Vec::new() }
    }

    /// How many bins there are in a period.
    pub(crate) fn count(grid: Grid, period: &Range<u64>) -> u64 {
        (period.end - grid.start(period.start)).div_ceil(grid.width_ns)
    }

    /// Adds a step to the bins that it crosses, each by the part that lies there.
    pub(crate) fn add(&mut self, step: &Step) {
        let Some(step) = step.within(&self.period) else { return };
        let mut at = step.start_ns;
        while at < step.end_ns {
            let place = (at - self.first) / self.grid.width_ns;
            let end = (self.first + (place + 1) * self.grid.width_ns).min(step.end_ns);
            let place = place as usize;
            if place >= self.rows.len() {
                self.rows.resize(place + 1, LevelRow::default());
            }
            if let Some(part) = step.within(&(at..end)) {
                self.rows[place].add(&part.row);
            }
            at = end;
        }
    }

    /// Bins of which something is known, by their beginnings.
    pub(crate) fn known(&self) -> impl Iterator<Item = (u64, &LevelRow)> {
        let start = |place| self.first + place as u64 * self.grid.width_ns;
        let all = self.rows.iter().enumerate();
        all.filter(|(_, row)| row.covered_ns > 0).map(move |(place, row)| (start(place), row))
    }
}

/// What some series add up to, in the time in which all of them are known; each is in order, and all of its time is known.
pub(crate) fn sum(series: &[Vec<Step>], period: &Range<u64>, pass: &mut dyn FnMut(&Step)) {
    let first = |steps: &Vec<Step>| steps.partition_point(|step| step.end_ns <= period.start);
    let mut places: Vec<usize> = series.iter().map(first).collect();
    let mut at = period.start;
    loop {
        let (mut until, mut from, mut is_known) = (period.end, at, true);
        for (steps, place) in series.iter().zip(&mut places) {
            while steps.get(*place).is_some_and(|step| step.end_ns <= at) {
                *place += 1;
            }
            let Some(step) = steps.get(*place) else { return };
            if step.start_ns > at {
                (is_known, from) = (false, from.max(step.start_ns));
            }
            until = until.min(step.end_ns);
        }
        if series.is_empty() || at >= period.end {
            return;
        }
        if !is_known {
            at = from;
            continue;
        }
        let mut total = Step { start_ns: at, end_ns: until, row_ns: 0, row: LevelRow::default() };
        for part in series.iter().zip(&places).filter_map(|(steps, place)| steps[*place].within(&(at..until))) {
            total.row_ns = total.row_ns.max(part.row_ns);
            let (sum, row) = (&mut total.row, &part.row);
            sum.least = sum.least.saturating_add(row.least);
            sum.most = sum.most.saturating_add(row.most);
            sum.integral = sum.integral.saturating_add(row.integral);
            sum.samples += row.samples;
        }
        total.row.covered_ns = until - at;
        pass(&total);
        at = until;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sample at a rate in billionths of a unit a nanosecond.
    fn step(start_ns: u64, end_ns: u64, rate: u128) -> Step {
        let covered_ns = end_ns - start_ns;
        let integral = rate * u128::from(covered_ns);
        let row = LevelRow { least: rate, most: rate, integral, covered_ns, samples: 1, ..LevelRow::default() };
        Step { start_ns, end_ns, row_ns: 0, row }
    }

    fn told(step: &Step) -> (u64, u64, u128) {
        (step.start_ns, step.end_ns, step.row.integral)
    }

    #[test]
    fn a_sample_holds_since_the_answer_before() {
        let row = step(70, 100, 7).row;
        assert_eq!(Step::of(&Piece { at_ns: 100, width_ns: 0, row }), Some(step(70, 100, 7)));
        let hour = Step::of(&Piece { at_ns: 120, width_ns: 60, row }).unwrap();
        assert_eq!((hour.start_ns, hour.end_ns, hour.row_ns, hour.is_full()), (120, 180, 60, false));
        // Half of the row: half of what it covers, and of what was counted.
        let half = hour.within(&(0..150)).unwrap();
        assert_eq!((half.row.covered_ns, half.row.integral, half.row.most), (15, 105, 7));
        assert_eq!(hour.within(&(0..120)), None);
    }

    #[test]
    fn bins_have_the_part_of_a_sample_that_lies_in_them() {
        let grid = Grid { width_ns: 10, phase_ns: 3 };
        assert_eq!([3, 12, 13, 22, 23].map(|time| grid.start(time)), [3, 3, 13, 13, 23]);
        assert_eq!([0, 2].map(|time| grid.start(time)), [0, 0]);
        let mut bins = Bins::new(grid, &(4..22));
        [step(2, 15, 6), step(15, 23, 2)].iter().for_each(|step| bins.add(step));
        let found: Vec<_> =
            bins.known().map(|(at, row)| (at, row.least, row.integral, row.most, row.covered_ns)).collect();
        // From 4 to 13: 9 at 6. From 13 to 22: 2 at 6 and 7 at 2.
        assert_eq!(found, [(3, 6, 54, 6, 9), (13, 2, 26, 6, 9)]);
        assert_eq!(Bins::count(grid, &(4..22)), 2);
    }

    #[test]
    fn rows_lie_in_one_bin_each() {
        const S: u64 = 1_000_000_000;
        let level = |width_ns, phase_ns| Grid { width_ns, phase_ns }.level_ns() / S;
        assert_eq!([level(7_200 * S, 0), level(7_200 * S, 1_800 * S), level(90 * S, 0)], [3_600, 60, 1]);
        assert_eq!(level(3, 0), 0);
    }

    #[test]
    fn a_sum_is_known_where_all_are() {
        let summed = |series: &[Vec<Step>], period: Range<u64>| {
            let mut found = Vec::new();
            sum(series, &period, &mut |step| found.push(told(step)));
            found
        };
        let one = vec![step(0, 10, 1), step(10, 20, 5), step(30, 40, 2)];
        let other = vec![step(5, 12, 10), step(12, 35, 20)];
        let expected = [step(5, 10, 11), step(10, 12, 15), step(12, 20, 25), step(30, 35, 22)].map(|step| told(&step));
        assert_eq!(summed(&[one.clone(), other.clone()], 0..100), expected);
        assert_eq!(summed(&[other, one], 7..11), [told(&step(7, 10, 11)), told(&step(10, 11, 15))]);
        assert_eq!(summed(&[], 0..10), []);
    }

    #[test]
    fn overlapping_steps_count_once() {
        let mut steps = vec![step(5, 12, 2), step(0, 10, 1), step(3, 8, 9)];
        in_order(&mut steps);
        assert_eq!(steps.iter().map(told).collect::<Vec<_>>(), [(0, 10, 10), (10, 12, 4)]);
    }
}
