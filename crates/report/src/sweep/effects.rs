//! What each axis does to the objective, how axes work together, and which ranks are certain.

use serde::Serialize;

use crate::statistics::{Estimate, Interval};

use super::decision::alpha;
use super::grid::{Grid, Variant};
use super::samples::Sample;

/// Effects of axes on the objective.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Effects {
    /// One for each axis with at least two values.
    pub axes: Vec<AxisEffect>,
    /// One for each pair of axes.
    pub interactions: Vec<Interaction>,
    /// One for each variant, in their order.
    pub ranks: Vec<Rank>,
}

/// What an axis does, over all values of the others.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AxisEffect {
    /// Its keys.
    pub axis: String,
    /// Whether it changes the objective by more than the margin.
    pub matters: Matters,
    /// Each value beside the first.
    pub levels: Vec<LevelEffect>,
}

/// Whether an axis changes the objective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Matters {
    /// Its values differ.
    Yes,
    /// They are within the margin of each other, whatever the values of the other axes.
    No,
    /// Neither is shown.
    Undecided,
}

/// A value of an axis beside the axis's first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelEffect {
    /// The value.
    pub level: String,
    /// The objective with it over that with the first value: geometric mean over the variants that differ in this axis alone. Null where a value
    /// is 0, which has no ratio.
    pub ratio: Option<f64>,
    /// Its interval, at the confidence of the look shared among the values of the axis; null where there is none.
    pub interval: Option<Interval>,
}

/// The objective at each pair of values of two axes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interaction {
    /// The keys of both.
    pub axes: [String; 2],
    /// For each value of the first, for each of the second: the mean over the seeds that all variants have and over those values of the other
    /// axes that no pair lacks; null where there is none.
    pub means: Vec<Vec<Option<f64>>>,
    /// The farthest that a pair is from what the effects of both values together make, as a factor of at least 1; null with pairs left out, and
    /// where a value is 0.
    pub departure: Option<f64>,
}

/// Which place a variant can have among all, the first being the best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rank {
    /// The best place.
    pub best: usize,
    /// The worst.
    pub worst: usize,
}

/// Effects at the look where the sweep stands.
pub fn effects(grid: &Grid) -> Effects {
    let Some(sample) = Sample::of(grid, &grid.objective.name) else { return Effects::default() };
    let known = sample.has_intervals(grid) && !sample.bounds.contains(&true);
    let axes = (0..grid.axes.len()).filter(|axis| grid.axes[*axis].points.len() > 1);
    let pairs = (0..grid.axes.len()).flat_map(|a| (a + 1..grid.axes.len()).map(move |b| [a, b]));
    Effects {
        axes: axes.filter_map(|axis| axis_effect(grid, &sample, axis, known)).collect(),
        interactions: pairs.map(|pair| interaction(grid, &sample, pair)).collect(),
        ranks: if known { ranks(grid, &sample) } else { Vec::new() },
    }
}

/// The variants that differ in `axis` alone, each set in the order of its values; sets that lack a value are left out.
fn strata(grid: &Grid, axis: usize) -> Vec<Vec<usize>> {
    let levels = grid.axes[axis].points.len();
    let others = |points: &[usize]| {
        points.iter().enumerate().filter(|(at, _)| *at != axis).map(|(_, point)| *point).collect::<Vec<_>>()
    };
    let starts = grid.variants.iter().filter(|variant| variant.points[axis] == 0);
    let stratum = |start: &super::grid::Variant| {
        let rest = others(&start.points);
        let at = |level| {
            grid.variants.iter().position(|variant| variant.points[axis] == level && others(&variant.points) == rest)
        };
        (0..levels).map(at).collect::<Option<Vec<usize>>>()
    };
    starts.filter_map(stratum).collect()
}

/// Seed by seed, the mean over `variants`.
fn mean_of(sample: &Sample, variants: impl Iterator<Item = usize> + Clone) -> Vec<f64> {
    let count = variants.clone().count() as f64;
    (0..sample.seeds())
        .map(|seed| variants.clone().map(|variant| sample.values[variant][seed]).sum::<f64>() / count)
        .collect()
}

fn axis_effect(grid: &Grid, sample: &Sample, axis: usize, known: bool) -> Option<AxisEffect> {
    let strata = strata(grid, axis);
    let points = &grid.axes[axis].points;
    if strata.is_empty() {
        return None;
    }
    let of_level: Vec<Vec<f64>> =
        (0..points.len()).map(|level| mean_of(sample, strata.iter().map(|stratum| stratum[level]))).collect();
    let alpha = alpha(grid);
    let pairs = points.len() * (points.len() - 1) / 2;
    let between = |a: &[f64], b: &[f64]| Estimate::paired(a, b);
    let margin = sample.margin(grid.margin);
    let any_differ = || {
        (0..points.len()).any(|a| {
            (a + 1..points.len()).any(|b| {
                between(&of_level[a], &of_level[b])
                    .is_some_and(|found| !found.interval(1.0 - alpha / pairs as f64).holds(0.0))
            })
        })
    };
    // Each pair of each set is shown to be alike, so that each may take the whole probability.
    let all_alike = || {
        strata.iter().all(|stratum| {
            stratum.iter().all(|a| {
                stratum.iter().filter(|b| *b != a).all(|b| {
                    between(&sample.values[*a], &sample.values[*b]).is_some_and(|found| found.least(alpha) > -margin)
                })
            })
        })
    };
    let matters = match known {
        true if all_alike() => Matters::No,
        true if any_differ() => Matters::Yes,
        _ => Matters::Undecided,
    };
    let level = |level: usize| {
        let estimate = between(&of_level[0], &of_level[level]);
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        LevelEffect {
            level: points[level].clone(),
            ratio: sample.ratio(mean(&of_level[level]) - mean(&of_level[0])),
            interval: estimate
                .filter(|_| known)
                .and_then(|estimate| sample.ratios(estimate.interval(1.0 - alpha / (points.len() - 1) as f64))),
        }
    };
    Some(AxisEffect { axis: grid.axes[axis].name.clone(), matters, levels: (1..points.len()).map(level).collect() })
}

fn interaction(grid: &Grid, sample: &Sample, [a, b]: [usize; 2]) -> Interaction {
    let (rows, columns) = (grid.axes[a].points.len(), grid.axes[b].points.len());
    let others = |variant: &Variant| -> Vec<usize> {
        let places = variant.points.iter().enumerate().filter(|(axis, _)| *axis != a && *axis != b);
        places.map(|(_, point)| *point).collect()
    };
    let of_pair = |i: usize, j: usize| {
        let here = grid.variants.iter().enumerate();
        here.filter(move |(_, variant)| variant.points[a] == i && variant.points[b] == j)
    };
    // Means are over the same values of the other axes: those that every pair has, beside pairs that are left out altogether.
    let pairs = || (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
    let is_everywhere = |variant: &Variant| {
        let mut pairs = pairs().map(|(i, j)| of_pair(i, j).map(|(_, other)| others(other)).collect::<Vec<_>>());
        pairs.all(|pair| pair.is_empty() || pair.contains(&others(variant)))
    };
    let at = |i: usize, j: usize| of_pair(i, j).filter(|(_, variant)| is_everywhere(variant)).map(|(place, _)| place);
    let plain = |variant: usize| {
        let cells = grid.variants[variant].present().filter(|cell| sample.has(cell.seed));
        let values = cells.filter_map(|cell| cell.numbers.get(&grid.objective.name));
        let values: Vec<f64> = values.map(|number| number.value).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let mean = |i, j| {
        let values: Vec<f64> = at(i, j).filter_map(plain).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let means: Vec<Vec<Option<f64>>> = (0..rows).map(|i| (0..columns).map(|j| mean(i, j)).collect()).collect();
    let scaled = |i: usize, j: usize| {
        let places: Vec<usize> = at(i, j).collect();
        let values = mean_of(sample, places.iter().copied());
        (!places.is_empty() && !values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let all: Option<Vec<Vec<f64>>> =
        (0..rows).map(|i| (0..columns).map(|j| scaled(i, j)).collect::<Option<Vec<f64>>>()).collect();
    let departure = all.map(|all| {
        let row = |i: usize| all[i].iter().sum::<f64>() / columns as f64;
        let column = |j: usize| all.iter().map(|row| row[j]).sum::<f64>() / rows as f64;
        let whole = (0..rows).map(row).sum::<f64>() / rows as f64;
        let apart = |i: usize, j: usize| (all[i][j] - row(i) - column(j) + whole).abs();
        let farthest = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))).map(|(i, j)| apart(i, j));
        farthest.fold(0.0, f64::max)
    });
    let departure = departure.and_then(|farthest| sample.ratio(farthest));
    Interaction { axes: [a, b].map(|axis| grid.axes[axis].name.clone()), means, departure }
}

/// Places that no pair that was shown to differ rules out.
fn ranks(grid: &Grid, sample: &Sample) -> Vec<Rank> {
    let k = sample.values.len();
    let level = alpha(grid) / (k * (k - 1)).max(1) as f64;
    let sign = if grid.objective.is_lower_better() { 1.0 } else { -1.0 };
    let is_better = |a: usize, b: usize| {
        let scaled = |values: &[f64]| values.iter().map(|value| sign * value).collect::<Vec<_>>();
        let found = Estimate::paired(&scaled(&sample.values[a]), &scaled(&sample.values[b]));
        found.is_some_and(|found| found.least(level) > 0.0)
    };
    let others = |a: usize| (0..k).filter(move |b| *b != a);
    (0..k)
        .map(|a| Rank {
            best: 1 + others(a).filter(|b| is_better(*b, a)).count(),
            worst: k - others(a).filter(|b| is_better(a, *b)).count(),
        })
        .collect()
}
