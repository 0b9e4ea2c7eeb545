//! Pictures of a sweep's answer: a metric of each variant, what each axis does, and two axes together.

use super::axis::{Axis, around};
use super::picture::{Curve, Form, Picture, Point, plain};
use crate::html::figure::Role;
use crate::scalars::ScalarUnit;
use crate::sweep::{Matters, SweepAnswer, unit_of, words};

/// The axis of a metric, and what its values are multiplied by for it.
fn axis_of(metric: &str) -> (Axis, f64) {
    let (unit, factor) = match unit_of(metric) {
        Some(ScalarUnit::Milliseconds) => ("time", 1e6),
        Some(ScalarUnit::MegabitsPerSecond) => ("rate", 1e6),
        Some(ScalarUnit::PacketsPerSecond) => ("packets", 1.0),
        Some(ScalarUnit::Share) => ("share", 1.0),
        _ => ("count", 1.0),
    };
    (Axis::Numbers { label: words(metric), unit, is_log: false, is_whole: false }, factor)
}

/// Rows of names from the top down.
fn names(names: impl Iterator<Item = String>) -> Axis {
    Axis::Names { label: String::new(), names: names.collect() }
}

/// The domain of `count` names.
fn domain_of_names(count: usize) -> [f64; 2] {
    [-0.5, count as f64 - 0.5]
}

fn cells<const N: usize>(row: [&str; N]) -> Vec<String> {
    row.map(ToOwned::to_owned).to_vec()
}

/// A metric of all variants: means over the seeds, with intervals. `None` where no variant has it.
pub(super) fn metric(answer: &SweepAnswer, metric: &str) -> Option<Picture> {
    let (x, factor) = axis_of(metric);
    let known = answer.variants.iter().enumerate();
    let known = known.filter_map(|(place, variant)| Some((place, variant, variant.metrics.get(metric)?)));
    let curves: Vec<Curve> = known
        .clone()
        .map(|(place, variant, estimated)| Curve {
            name: variant.name.clone(),
            role: Role::run(place),
            form: Form::Across,
            points: vec![Point {
                interval: estimated.interval.map(|interval| [interval.low * factor, interval.high * factor]),
                is_bound: estimated.is_lower_bound,
                ..Point::new(estimated.mean * factor, place as f64)
            }],
        })
        .collect();
    if curves.is_empty() {
        return None;
    }
    let mut table = vec![cells(["variant", metric, "low", "high", "seeds", "is_lower_bound"])];
    table.extend(known.map(|(_, variant, estimated)| {
        let end = |of: fn(&crate::statistics::Interval) -> f64| {
            estimated.interval.as_ref().map_or_else(String::new, |interval| plain(of(interval)))
        };
        let (low, high) = (end(|interval| interval.low), end(|interval| interval.high));
        let mean = plain(estimated.mean);
        cells([&variant.name, &mean, &low, &high, &estimated.n.to_string(), &estimated.is_lower_bound.to_string()])
    }));
    let ends = curves.iter().flat_map(|curve| curve.points.iter()).flat_map(|point| {
        let [low, high] = point.interval.unwrap_or([point.x; 2]);
        [low, high, point.x]
    });
    let [low, high] = around(ends, false);
    Some(Picture {
        title: format!("{} of each variant", words(metric)),
        x,
        y: names(answer.variants.iter().map(|variant| variant.name.clone())),
        domains: [[low, high + 0.04 * (high - low)], domain_of_names(answer.variants.len())],
        curves,
        reference: None,
        has_legend: false,
        table,
    })
}

/// What each value of each axis makes of the objective, over the first value of the axis. `None` with one axis of one value.
pub(super) fn effects(answer: &SweepAnswer) -> Option<Picture> {
    let mut table = vec![cells(["axis", "value", "ratio", "low", "high", "matters"])];
    let (mut curves, mut rows, mut ends) = (Vec::new(), Vec::new(), vec![1.0]);
    for (number, effect) in answer.effects.axes.iter().enumerate() {
        for level in &effect.levels {
            let interval = level.interval.map(|interval| [interval.low, interval.high]);
            let end = |at: usize| interval.map_or_else(String::new, |ends| plain(ends[at]));
            let matters = match effect.matters {
                Matters::Yes => "yes",
                Matters::No => "no",
                Matters::InParts => "in-parts",
                Matters::Undecided => "undecided",
            };
            let ratio = level.ratio.map_or_else(String::new, plain);
            table.push(cells([&effect.axis, &level.level, &ratio, &end(0), &end(1), matters]));
            let place = rows.len() as f64;
            rows.push(level.level.clone());
            let Some(ratio) = level.ratio else { continue };
            ends.extend(interval.unwrap_or([ratio; 2]));
            ends.push(ratio);
            curves.push(Curve {
                name: effect.axis.clone(),
                role: Role::run(number),
                form: Form::Across,
                points: vec![Point { interval, ..Point::new(ratio, place) }],
            });
        }
    }
    if curves.is_empty() {
        return None;
    }
    let (low, high) = ends.iter().fold((f64::MAX, f64::MIN), |(low, high), end| (low.min(*end), high.max(*end)));
    let room = 0.06 * (high - low).max(0.05);
    let label = format!("{}, ratio to the first value", words(&answer.objective));
    let count = rows.len();
    Some(Picture {
        title: format!("What each axis makes of {}", words(&answer.objective)),
        x: Axis::Numbers { label, unit: "count", is_log: false, is_whole: false },
        y: names(rows.into_iter()),
        domains: [[low - room, high + room], domain_of_names(count)],
        curves,
        reference: Some(1.0),
        has_legend: false,
        table,
    })
}

/// The objective at each pair of values of two axes: the pair of axes with this number. `None` where there are not so many.
pub(super) fn interaction(answer: &SweepAnswer, number: usize) -> Option<Picture> {
    let interaction = answer.effects.interactions.get(number)?;
    let values = |name: &str| {
        answer.axes.iter().find(|axis| axis.axis == name).map_or_else(Vec::new, |axis| axis.values.clone())
    };
    let [lines, columns] = interaction.axes.each_ref().map(|name| values(name));
    let (y, factor) = axis_of(&answer.objective);
    let [line_axis, column_axis] = &interaction.axes;
    let mut table = vec![cells([line_axis.as_str(), column_axis.as_str(), answer.objective.as_str()])];
    let mut curves = Vec::new();
    for (place, (name, means)) in lines.iter().zip(&interaction.means).enumerate() {
        let known = || means.iter().enumerate().filter_map(|(at, mean)| Some((at, (*mean)?)));
        table.extend(known().map(|(at, mean)| cells([name, &columns[at], &plain(mean)])));
        curves.push(Curve {
            name: name.clone(),
            role: Role::run(place),
            form: Form::Joined,
            points: known().map(|(at, mean)| Point::new(at as f64, mean * factor)).collect(),
        });
    }
    if table.len() < 2 {
        return None;
    }
    let [low, high] = around(curves.iter().flat_map(|curve| &curve.points).map(|point| point.y), false);
    Some(Picture {
        title: format!("{} by {line_axis} and {column_axis}", words(&answer.objective)),
        x: Axis::Names { label: column_axis.clone(), names: columns.clone() },
        y,
        domains: [domain_of_names(columns.len()), [low, high + 0.06 * (high - low)]],
        curves,
        reference: None,
        has_legend: true,
        table,
    })
}
