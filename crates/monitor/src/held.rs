//! A counter as rates that held for some time each, as files of rates and lines in a report have it.

use std::ops::Range;

use flowloom_store::FileError;
use flowloom_store::monitor::{Series, share};

use crate::query::Archive;
use crate::steps::Step;

/// What was counted between two answers; a row, where samples are no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its beginning, in nanoseconds since 1970 UTC.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// How much of that time is known, in nanoseconds: of a sample all.
    pub covered_ns: u64,
    /// What was counted, in billionths of a unit times the factor of its series; of a gauge, its value times the time.
    pub integral: u128,
}

/// A stretch of a counter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    /// Its parts in order. It is unknown in the times between them.
    pub held: Vec<Held>,
    /// The series that something of it is from, by their places in the question.
    pub places: Vec<usize>,
}

impl Held {
    fn of(step: &Step, factor: u64) -> Held {
        let Step { start_ns, end_ns, row, .. } = step;
        let integral = row.integral.saturating_mul(factor.into());
        Held { start_ns: *start_ns, end_ns: *end_ns, covered_ns: row.covered_ns, integral }
    }

    /// How long it is, in nanoseconds.
    pub fn length_ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }

    /// In units (per second), over its whole time: what is counted is neither more nor less, even if only a part of the time is known.
    pub fn rate(&self) -> f64 {
        self.integral as f64 / self.length_ns().max(1) as f64
    }

    /// The part of it behind `time_ns`: what a row covers, it covers evenly, as far as is known.
    fn behind(self, time_ns: u64) -> Option<Held> {
        if time_ns <= self.start_ns {
            return Some(self);
        }
        let (part, whole) = (self.end_ns.checked_sub(time_ns).filter(|part| *part > 0)?, self.length_ns());
        let covered_ns = share(self.covered_ns.into(), part, whole).try_into().unwrap_or(part);
        Some(Held { start_ns: time_ns, covered_ns, integral: share(self.integral, part, whole), ..self })
    }
}

/// Sorts what held, adds up what is known of the same row in several tables or series, and takes what two others cover from the later one.
fn in_order(held: &mut Vec<Held>) {
    held.sort_unstable_by_key(|one| (one.start_ns, one.end_ns));
    held.dedup_by(|later, kept| {
        let is_of_row = (later.start_ns, later.end_ns) == (kept.start_ns, kept.end_ns)
            && later.covered_ns.saturating_add(kept.covered_ns) <= kept.length_ns();
        if is_of_row {
            kept.covered_ns += later.covered_ns;
            kept.integral = kept.integral.saturating_add(later.integral);
        }
        is_of_row
    });
    let mut until = 0;
    held.retain_mut(|one| {
        let rest = one.behind(until);
        until = until.max(one.end_ns);
        rest.map(|rest| *one = rest).is_some()
    });
}

impl Archive {
    /// A counter in a period: samples, and rows where samples are no longer kept. It is several series if its interval or unit was changed;
    /// what each counts is multiplied by the factor beside it. `None` if there are more than `most` parts.
    ///
    /// # Errors
    /// The store is damaged or cannot be read.
    pub fn held(
        &self,
        series: &[(Series, u64)],
        period: &Range<u64>,
        most: usize,
    ) -> Result<Option<Stretch>, FileError> {
        let (all, factors): (Vec<Series>, Vec<u64>) = series.iter().cloned().unzip();
        let mut held = Vec::new();
        let mut has_some = vec![false; all.len()];
        self.visit(&all, period.clone(), 0, &mut |place, step| {
            if held.len() <= most {
                held.push(Held::of(&step, factors[place]));
                has_some[place] = true;
            }
        })?;
        if held.len() > most {
            return Ok(None);
        }
        in_order(&mut held);
        let places = (0..all.len()).filter(|place| has_some[*place]).collect();
        Ok(Some(Stretch { held, places }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(start_ns: u64, end_ns: u64, covered_ns: u64, integral: u128) -> Held {
        Held { start_ns, end_ns, covered_ns, integral }
    }

    #[test]
    fn each_time_counts_once() {
        let mut found = vec![
            held(60, 120, 60, 600),
            // The row in which the interval was changed: a part of it is known of each series.
            held(0, 60, 20, 200),
            held(0, 60, 40, 80),
            // A clock that was set back: half of it was counted before.
            held(90, 150, 60, 60),
            held(100, 110, 10, 7),
            // The same row twice cannot be parts of one.
            held(150, 160, 10, 5),
            held(150, 160, 10, 5),
        ];
        in_order(&mut found);
        let wanted = [held(0, 60, 60, 280), held(60, 120, 60, 600), held(120, 150, 30, 30), held(150, 160, 10, 5)];
        assert_eq!(found, wanted);
    }
}
