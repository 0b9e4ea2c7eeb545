//! What each axis does to the objective, how axes work together, and which ranks are certain.

use std::collections::BTreeSet;

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
    /// They differ at some values of the other axes, and not in the mean.
    InParts,
    /// Neither is shown.
    Undecided,
}

/// A value of an axis beside the axis's first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelEffect {
    /// The value.
    pub level: String,
    /// The objective with it over that with the first value: geometric mean over the pairs of variants that differ in this axis alone. Null where
    /// a value is 0, which has no ratio, and where there is no such pair.
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

/// The pairs of variants that differ in `axis` alone, of which the first has the value `a` there and the second `b`: one for each
/// combination of the other axes that has both.
fn pairs_of(grid: &Grid, axis: usize, a: usize, b: usize) -> Vec<(usize, usize)> {
    let at = |level: usize| grid.variants.iter().enumerate().filter(move |(_, variant)| variant.points[axis] == level);
    at(a)
        .filter_map(|(one, variant)| {
            let rest = others(variant, &[axis]);
            at(b).find(|(_, other)| others(other, &[axis]) == rest).map(|(other, _)| (one, other))
        })
        .collect()
}

/// The places of a variant on all axes but these.
fn others(variant: &Variant, but: &[usize]) -> Vec<usize> {
    variant.points.iter().enumerate().filter(|(axis, _)| !but.contains(axis)).map(|(_, point)| *point).collect()
}

/// Seed by seed, the mean over `variants`.
fn mean_of(sample: &Sample, variants: impl Iterator<Item = usize> + Clone) -> Vec<f64> {
    let count = variants.clone().count() as f64;
    (0..sample.seeds())
        .map(|seed| variants.clone().map(|variant| sample.values[variant][seed]).sum::<f64>() / count)
        .collect()
}

fn axis_effect(grid: &Grid, sample: &Sample, axis: usize, known: bool) -> Option<AxisEffect> {
    let points = &grid.axes[axis].points;
    let levels = || (0..points.len()).flat_map(|a| (a + 1..points.len()).map(move |b| (a, b)));
    let pairs: Vec<Vec<(usize, usize)>> =
        levels().map(|(a, b)| pairs_of(grid, axis, a, b)).filter(|pairs| !pairs.is_empty()).collect();
    if pairs.is_empty() {
        return None;
    }
    let alpha = alpha(grid);
    let margin = sample.margin(grid.margin);
    let values = |variant: usize| &sample.values[variant][..];
    // Of two values of the axis, over all combinations of the others that have both.
    let in_the_mean = |pairs: &[(usize, usize)]| {
        let [a, b] = [0, 1].map(|which| mean_of(sample, pairs.iter().map(|pair| [pair.0, pair.1][which])));
        Estimate::paired(&a, &b)
    };
    let differs = |found: Option<Estimate>, among: usize| {
        found.is_some_and(|found| !found.interval(1.0 - alpha / among as f64).holds(0.0))
    };
    let single = || pairs.iter().flatten().map(|(a, b)| Estimate::paired(values(*a), values(*b)));
    let count = single().count();
    // Each pair is shown to be alike, so that each may take the whole probability.
    let is_alike = |(a, b): &(usize, usize)| {
        [(a, b), (b, a)]
            .into_iter()
            .all(|(a, b)| Estimate::paired(values(*a), values(*b)).is_some_and(|found| found.least(alpha) > -margin))
    };
    let matters = match known {
        true if pairs.iter().flatten().all(is_alike) => Matters::No,
        true if pairs.iter().any(|of| differs(in_the_mean(of), pairs.len())) => Matters::Yes,
        true if single().any(|found| differs(found, count)) => Matters::InParts,
        _ => Matters::Undecided,
    };
    let level = |level: usize| {
        let pairs = Some(pairs_of(grid, axis, 0, level)).filter(|pairs| !pairs.is_empty());
        let mean = |pairs: &[(usize, usize)], which: fn(&(usize, usize)) -> usize| {
            let all = mean_of(sample, pairs.iter().map(which));
            all.iter().sum::<f64>() / all.len() as f64
        };
        let estimate = pairs.as_ref().filter(|_| known).and_then(|pairs| in_the_mean(pairs));
        LevelEffect {
            level: points[level].clone(),
            ratio: pairs.and_then(|pairs| sample.ratio(mean(&pairs, |pair| pair.1) - mean(&pairs, |pair| pair.0))),
            interval: estimate
                .and_then(|estimate| sample.ratios(estimate.interval(1.0 - alpha / (points.len() - 1) as f64))),
        }
    };
    Some(AxisEffect { axis: grid.axes[axis].name.clone(), matters, levels: (1..points.len()).map(level).collect() })
}

fn interaction(grid: &Grid, sample: &Sample, [a, b]: [usize; 2]) -> Interaction {
    let (rows, columns) = (grid.axes[a].points.len(), grid.axes[b].points.len());
    let of_pair = |i: usize, j: usize| {
        let here = grid.variants.iter().enumerate();
        here.filter(move |(_, variant)| variant.points[a] == i && variant.points[b] == j)
    };
    // Means are over the same values of the other axes: those that every pair has, beside pairs that are left out altogether.
    let pairs = (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j)));
    let values =
        pairs.map(|(i, j)| of_pair(i, j).map(|(_, variant)| others(variant, &[a, b])).collect::<BTreeSet<_>>());
    let everywhere = values.filter(|values| !values.is_empty()).reduce(|all, more| &all & &more).unwrap_or_default();
    let is_everywhere = |variant: &Variant| everywhere.contains(&others(variant, &[a, b]));
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
