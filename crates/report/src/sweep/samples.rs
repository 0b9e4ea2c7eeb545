//! A metric over the seeds that all variants have, and what is estimated of it.

use serde::Serialize;

use crate::compare::FEWEST_REPLICATIONS;
use crate::statistics::{Estimate, Interval};

use super::decision::alpha;
use super::grid::{Grid, Variant};

/// What is known of a metric of a variant over its seeds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimated {
    /// Mean over the seeds, in the unit of the metric.
    pub mean: f64,
    /// Interval of the mean, at the confidence of the look; null where there is none: fewer than five seeds, values that are only lower
    /// bounds or all one, or one workload for all seeds.
    pub interval: Option<Interval>,
    /// Seeds that have a value.
    pub n: usize,
    /// A seed's value is only a lower bound, and with it the mean.
    pub is_lower_bound: bool,
    /// The variant's value over the control's; null of the control, and where a value of any variant is 0.
    pub to_control: Option<Ratio>,
}

/// A ratio of geometric means over common seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// The estimate.
    pub ratio: f64,
    /// Its interval, at the confidence of the look shared among all variants; null where there is none.
    pub interval: Option<Interval>,
}

/// How values are compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scale {
    /// By their ratios: all are above zero.
    Ratio,
    /// By their differences, in units of this value.
    Difference(f64),
}

/// A metric of all variants over the seeds that all of them have, scaled so that differences are shares of a value.
pub struct Sample {
    /// For each variant a value for each seed.
    pub values: Vec<Vec<f64>>,
    /// How they were scaled.
    pub scale: Scale,
    /// Variants one of whose values is only a lower bound.
    pub bounds: Vec<bool>,
    /// The seeds.
    common: Vec<u64>,
}

impl Sample {
    /// That of the metric `name`; `None` where no seed has a value of every variant.
    pub fn of(grid: &Grid, name: &str) -> Option<Sample> {
        let seeds = common_seeds(grid, name);
        if seeds.is_empty() {
            return None;
        }
        let numbers = |variant: &Variant| {
            let cells: Vec<_> = variant.present().filter(|cell| seeds.contains(&cell.seed)).collect();
            cells.iter().filter_map(|cell| cell.numbers.get(name).copied()).collect::<Vec<_>>()
        };
        let numbers: Vec<Vec<_>> = grid.variants.iter().map(numbers).collect();
        let bounds = numbers.iter().map(|values| values.iter().any(|number| number.is_lower_bound)).collect();
        let all = || numbers.iter().flatten().map(|number| number.value);
        let scale = if all().all(|value| value > 0.0) {
            Scale::Ratio
        } else {
            let of_control = numbers[0].iter().map(|number| number.value.abs()).sum::<f64>() / seeds.len() as f64;
            let largest = all().map(f64::abs).fold(0.0, f64::max);
            Scale::Difference(if of_control > 0.0 { of_control } else { largest.max(f64::MIN_POSITIVE) })
        };
        let scaled = |value: f64| match scale {
            Scale::Ratio => libm::log(value),
            Scale::Difference(unit) => value / unit,
        };
        let values = numbers.iter().map(|values| values.iter().map(|number| scaled(number.value)).collect()).collect();
        Some(Sample { values, scale, bounds, common: seeds })
    }

    /// Whether the seed is in it.
    pub fn has(&self, seed: u64) -> bool {
        self.common.contains(&seed)
    }

    /// Seeds in it.
    pub fn seeds(&self) -> usize {
        self.common.len()
    }

    /// Whether intervals can be had of it.
    pub fn has_intervals(&self, grid: &Grid) -> bool {
        self.seeds() >= FEWEST_REPLICATIONS && !grid.is_one_draw
    }

    /// The margin on its scale.
    pub fn margin(&self, margin: f64) -> f64 {
        match self.scale {
            Scale::Ratio => libm::log1p(margin),
            Scale::Difference(_) => margin,
        }
    }

    /// A difference on its scale as a ratio; `None` where values are 0, which have none.
    pub fn ratio(&self, difference: f64) -> Option<f64> {
        (self.scale == Scale::Ratio).then(|| libm::exp(difference))
    }

    /// An interval of differences as one of ratios.
    pub fn ratios(&self, Interval { low, high }: Interval) -> Option<Interval> {
        Some(Interval { low: self.ratio(low)?, high: self.ratio(high)? })
    }

    /// The ratio of a variant to the control, with an interval of which each of all variants has its share of `alpha`.
    pub fn to_control(&self, variant: usize, grid: &Grid, alpha: f64) -> Option<Ratio> {
        let others = self.values.len().checked_sub(1).filter(|_| variant > 0)?;
        let estimate = Estimate::paired(&self.values[0], &self.values[variant]);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let ratio = self.ratio(mean(&self.values[variant]) - mean(&self.values[0]))?;
        let known = self.has_intervals(grid) && !self.bounds[0] && !self.bounds[variant];
        let interval = estimate.filter(|_| known);
        let interval = interval.and_then(|estimate| self.ratios(estimate.interval(1.0 - alpha / others as f64)));
        Some(Ratio { ratio, interval })
    }
}

/// The ratios of the metric `name` of each variant to the control's, at the look where the sweep stands; `None` of the control and where nothing
/// is known.
pub fn to_control(grid: &Grid, name: &str) -> Vec<Option<Ratio>> {
    let sample = Sample::of(grid, name);
    let ratio = |variant| sample.as_ref().and_then(|sample| sample.to_control(variant, grid, alpha(grid)));
    (0..grid.variants.len()).map(ratio).collect()
}

/// Seeds of which every variant has a value.
fn common_seeds(grid: &Grid, name: &str) -> Vec<u64> {
    let has = |variant: &Variant, seed: u64| {
        variant.present().any(|cell| cell.seed == seed && cell.numbers.contains_key(name))
    };
    let first = grid.variants.iter().take(1).flat_map(Variant::present).map(|cell| cell.seed);
    first.filter(|seed| grid.variants.iter().all(|variant| has(variant, *seed))).collect()
}

/// What is known of the metric `name` of a variant by itself, over the seeds of its `sample`, which all variants have: other seeds are other
/// traffic. Without a sample they have none in common, and it is over the variant's own.
pub fn estimated(
    grid: &Grid,
    variant: &Variant,
    name: &str,
    alpha: f64,
    sample: Option<&Sample>,
    to_control: Option<Ratio>,
) -> Option<Estimated> {
    let cells = variant.present().filter(|cell| sample.is_none_or(|sample| sample.common.contains(&cell.seed)));
    let numbers: Vec<_> = cells.filter_map(|cell| cell.numbers.get(name)).collect();
    if numbers.is_empty() {
        return None;
    }
    let values: Vec<f64> = numbers.iter().map(|number| number.value).collect();
    let is_lower_bound = numbers.iter().any(|number| number.is_lower_bound);
    // Values that are all one have no deviation to go by (methods L.3).
    let varies = values.iter().any(|value| *value != values[0]);
    let known = values.len() >= FEWEST_REPLICATIONS && !grid.is_one_draw && !is_lower_bound && varies;
    Some(Estimated {
        mean: values.iter().sum::<f64>() / values.len() as f64,
        interval: Estimate::of_mean(&values).filter(|_| known).map(|estimate| estimate.interval_from_zero(1.0 - alpha)),
        n: values.len(),
        is_lower_bound,
        to_control,
    })
}
