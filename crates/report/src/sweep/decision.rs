//! Which variant is best, at a planned look.

use serde::Serialize;

use crate::compare::FEWEST_REPLICATIONS;
use crate::statistics::{Selection, select};
use crate::verdict::Accounted;
use crate::words::separator;

use super::grid::{Grid, Variant};
use super::samples::Sample;

/// How sure decisions and intervals are, all looks together.
pub const ALPHA: f64 = 0.05;

/// What can be said of the variants by the objective.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "decision")]
pub enum Decision {
    /// This one is the best, or within the margin of the best.
    Best {
        /// Its place among the variants.
        variant: usize,
        /// Whether it is shown to be better than every other.
        is_strict: bool,
    },
    /// All are within the margin of each other.
    Same,
    /// The best is among these.
    Undecided {
        /// Their places.
        candidates: Vec<usize>,
    },
    /// Nothing can be said.
    Unknown {
        /// Why.
        why: String,
    },
}

impl Decision {
    /// Whether more seeds would decide nothing more.
    pub fn is_final(&self) -> bool {
        matches!(self, Decision::Best { .. } | Decision::Same)
    }
}

/// A planned look.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Look {
    /// Seeds of each variant.
    pub seeds: usize,
    /// The probability of a wrong decision that it may spend.
    pub alpha: f64,
    /// Whether it was taken.
    pub taken: bool,
}

/// All planned looks.
pub fn looks(grid: &Grid) -> Vec<Look> {
    let look = |(number, seeds): (usize, &usize)| Look {
        seeds: *seeds,
        alpha: grid.looks.spends(number, ALPHA),
        taken: number <= grid.look,
    };
    grid.looks.at().iter().enumerate().map(look).collect()
}

/// What this look may spend.
pub fn alpha(grid: &Grid) -> f64 {
    grid.looks.spends(grid.look, ALPHA)
}

/// The decision at the look where the sweep stands.
pub fn decision(grid: &Grid) -> Decision {
    let unknown = |why: String| Decision::Unknown { why };
    if grid.variants.len() < 2 {
        return unknown("there is one variant".to_owned());
    }
    let is_invalid =
        |variant: &&Variant| variant.present().any(|cell| cell.verdict.accounted.word == Accounted::Invalid);
    let invalid: Vec<&str> = grid.variants.iter().filter(is_invalid).map(|variant| variant.name.as_str()).collect();
    if !invalid.is_empty() {
        return unknown(format!("there are INVALID runs of {}", invalid.join(separator(&invalid))));
    }
    let Some(sample) = Sample::of(grid, &grid.objective.name) else {
        return unknown(format!("no seed has {} of every variant", grid.objective.name));
    };
    if sample.seeds() < FEWEST_REPLICATIONS {
        return unknown(format!(
            "an interval needs {FEWEST_REPLICATIONS} seeds, and {} are common to all variants",
            sample.seeds()
        ));
    }
    if grid.is_one_draw {
        return unknown("all seeds replay one workload: nothing is known of others".to_owned());
    }
    if sample.bounds.iter().all(|bound| *bound) {
        return unknown("of every variant only a lower bound is known: exchanges had not ended".to_owned());
    }
    let is_lower_better = grid.objective.is_lower_better();
    if !is_lower_better && sample.bounds.contains(&true) {
        return unknown("of some variants only a lower bound is known: exchanges had not ended".to_owned());
    }
    let sign = if is_lower_better { 1.0 } else { -1.0 };
    let signed = |values: &Vec<f64>| values.iter().map(|value| sign * value).collect();
    let values: Vec<Vec<f64>> = sample.values.iter().map(signed).collect();
    match select(&values, &sample.bounds, sample.margin(grid.margin), alpha(grid)) {
        None => unknown("there are too few values".to_owned()),
        Some(found) if found.all_alike => Decision::Same,
        Some(Selection { best: Some(variant), is_strict, .. }) => Decision::Best { variant, is_strict },
        Some(found) => Decision::Undecided { candidates: found.candidates },
    }
}
