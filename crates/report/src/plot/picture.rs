//! Pictures before they have a size: curves with their axes, from the figures of a page.

use super::axis::{Axis, around};
use crate::html::figure::{Axis as PageAxis, Figure, Kind, Line, Points, Role};
use crate::words::in_one_line;

/// A figure as it is drawn, with its table.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What it shows, in words: for readers who do not see it.
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    /// First and last value across, and down.
    pub(super) domains: [[f64; 2]; 2],
    pub(super) curves: Vec<Curve>,
    /// A value across with a line of its own.
    pub(super) reference: Option<f64>,
    /// Whether curves need a legend.
    pub(super) has_legend: bool,
    /// Its data: the names of columns, then rows.
    pub(super) table: Vec<Vec<String>>,
}

impl Picture {
    /// Which of `names` have no curve.
    pub(super) fn lacks(&self, names: &[String]) -> Vec<String> {
        names.iter().filter(|name| self.curves.iter().all(|curve| curve.name != **name)).cloned().collect()
    }
}

/// A line or points with one look.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    pub name: String,
    pub role: Role,
    pub form: Form,
    pub points: Vec<Point>,
}

/// How points make a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Form {
    /// Steps at the points, from this level on; on to the end of the axis, or not.
    Steps { before: f64, goes_on: bool },
    /// Straight from point to point, with gaps at points without a value.
    Line,
    /// The area between the ends of intervals.
    Area,
    /// Marks with intervals upwards, and the straight line fitted to some of them.
    Marks { fit: Option<[(f64, f64); 2]> },
    /// Marks with intervals across.
    Across,
    /// Marks joined by lines.
    Joined,
}

/// A point of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Point {
    pub x: f64,
    /// NaN: it has no value, and a line has a gap here.
    pub y: f64,
    /// The ends of its interval.
    pub interval: Option<[f64; 2]>,
    /// Whether its value may be more.
    pub is_bound: bool,
}

impl Point {
    pub(super) fn new(x: f64, y: f64) -> Point {
        Point { x, y, interval: None, is_bound: false }
    }
}

fn numbers(axis: &PageAxis) -> Axis {
    Axis::Numbers { label: axis.label.clone(), unit: axis.unit, is_log: axis.log, is_whole: axis.whole }
}

fn shares(label: String, is_log: bool) -> Axis {
    Axis::Numbers { label, unit: "share", is_log, is_whole: false }
}

/// A number in the table: as short as it can be read back; empty for NaN, which is no value.
pub(super) fn plain(value: f64) -> String {
    if value.is_nan() { String::new() } else { format!("{value}") }
}

/// A figure of a page; `is_ccdf`: a distribution by the shares above its values, both axes logarithmic.
pub(super) fn of_figure(figure: &Figure, is_ccdf: bool) -> Picture {
    let curves: Vec<Curve> = figure.lines.iter().map(|line| curve(figure, line, is_ccdf)).collect();
    let (x, y) = match (figure.kind, is_ccdf) {
        (Kind::Distribution, false) => (numbers(&figure.x), shares(format!("share of {} ≤ x", figure.plural), false)),
        (Kind::Distribution, true) => (numbers(&figure.x), shares(format!("share of {} > x", figure.plural), true)),
        _ => (numbers(&figure.x), numbers(&figure.y)),
    };
    let domains = domains(figure, &curves, is_ccdf);
    Picture {
        title: figure.title.clone(),
        x,
        y,
        domains,
        has_legend: curves.len() > 1,
        curves,
        reference: None,
        table: table(figure),
    }
}

/// First and last value across, and up.
fn domains(figure: &Figure, curves: &[Curve], is_ccdf: bool) -> [[f64; 2]; 2] {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let ends = || points().flat_map(|point| point.interval.unwrap_or([point.y; 2]));
    match figure.kind {
        Kind::Distribution => {
            let across = around(points().map(|point| point.x), figure.x.log);
            let lowest = points().map(|point| point.y).filter(|share| *share > 0.0).fold(0.1, f64::min);
            [across, if is_ccdf { [lowest / 1.3, 1.0] } else { [0.0, 1.0] }]
        }
        Kind::Series => {
            let bins = curves.iter().map(|curve| curve.points.len()).max().unwrap_or(0).max(2);
            let (start, step) = (figure.start.0, figure.step.0);
            let most = ends().fold(0.0, f64::max);
            [[start, start + step * (bins - 1) as f64], [0.0, if most > 0.0 { most * 1.06 } else { 1.0 }]]
        }
        Kind::Octaves => {
            let most = points().map(|point| point.x).fold(1.0, f64::max);
            let (low, high) = ends().fold((f64::MAX, f64::MIN), |(low, high), end| (low.min(end), high.max(end)));
            [[0.5, most + 0.5], if low <= high { [low - 0.5, high + 0.5] } else { [0.0, 1.0] }]
        }
    }
}

fn curve(figure: &Figure, line: &Line, is_ccdf: bool) -> Curve {
    let (form, points) = match &line.points {
        Points::Distribution { n, x, above } => {
            let share = |above: usize| above as f64 / *n as f64;
            let points = x
                .iter()
                .zip(above)
                .map(|(x, above)| Point::new(x.0, if is_ccdf { share(*above) } else { 1.0 - share(*above) }));
            let form = match (line.smooth, is_ccdf) {
                // On a logarithmic axis 0 has no place: a line ends before it, steps end above it.
                (true, _) => Form::Line,
                (false, false) => Form::Steps { before: 0.0, goes_on: true },
                (false, true) => Form::Steps { before: 1.0, goes_on: false },
            };
            (form, points.filter(|point| !is_ccdf || !line.smooth || point.y > 0.0).collect())
        }
        Points::Series { y, low, high } => {
            let at = |ends: &Option<Vec<_>>, bin: usize| -> Option<f64> {
                ends.as_ref().and_then(|ends: &Vec<crate::html::figure::Number>| ends.get(bin)).map(|end| end.0)
            };
            let points = y.iter().enumerate().map(|(bin, y)| Point {
                interval: at(low, bin).zip(at(high, bin)).map(|(low, high)| [low, high]),
                ..Point::new(figure.start.0 + figure.step.0 * bin as f64, y.0)
            });
            (if line.role == Role::aside() { Form::Area } else { Form::Line }, points.collect())
        }
        Points::Octaves { octave, energy, low, high, fit } => {
            let points = octave.iter().zip(energy).zip(low.iter().zip(high)).map(|((octave, energy), (low, high))| {
                Point { interval: Some([low.0, high.0]), ..Point::new(f64::from(*octave), energy.0) }
            });
            let fit = fit.map(|fit| [(f64::from(fit.from), fit.from_energy.0), (f64::from(fit.to), fit.to_energy.0)]);
            (Form::Marks { fit }, points.collect())
        }
    };
    Curve { name: line.name.clone(), role: line.role.clone(), form, points }
}

/// The table of a figure: the columns that the page's button CSV writes.
fn table(figure: &Figure) -> Vec<Vec<String>> {
    let column = figure.column;
    let head = |names: &[&str]| vec![names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>()];
    let mut rows = match figure.kind {
        Kind::Distribution => head(&["series", column, "share_at_most", "share_above"]),
        Kind::Series => head(&["series", "time_s", column, "min", "max"]),
        Kind::Octaves => head(&["series", "octave", "scale_s", column, "low_95", "high_95", "fitted"]),
    };
    for line in &figure.lines {
        let mut row = |cells: &[String]| rows.push([std::slice::from_ref(&line.name), cells].concat());
        match &line.points {
            Points::Distribution { n, x, above } => {
                for (x, above) in x.iter().zip(above) {
                    let above = *above as f64 / *n as f64;
                    row(&[plain(x.0), plain(1.0 - above), plain(above)]);
                }
            }
            Points::Series { y, low, high } => {
                let end = |ends: &Option<Vec<crate::html::figure::Number>>, bin: usize| {
                    ends.as_ref().and_then(|ends| ends.get(bin)).map_or_else(String::new, |end| plain(end.0))
                };
                for (bin, y) in y.iter().enumerate() {
                    let time = figure.start.0 + figure.step.0 * bin as f64;
                    // A sum of binary fractions has noise in its last digits.
                    let time: f64 = format!("{time:.9}").parse().unwrap_or(time);
                    row(&[plain(time), plain(y.0), end(low, bin), end(high, bin)]);
                }
            }
            Points::Octaves { octave, energy, low, high, fit } => {
                for (at, octave) in octave.iter().enumerate() {
                    let is_fitted = fit.is_some_and(|fit| (fit.from..=fit.to).contains(octave));
                    let scale = figure.step.0 * libm::exp2(f64::from(*octave));
                    let numbers = [scale, energy[at].0, low[at].0, high[at].0].map(plain);
                    row(&[&[octave.to_string()], &numbers[..], &[u8::from(is_fitted).to_string()]].concat());
                }
            }
        }
    }
    rows
}

impl Picture {
    /// Its data as CSV: a row of names, then a row for each point.
    pub fn csv(&self) -> String {
        // Names are those of folders, with whatever these have in them.
        let cell = |cell: &String| match in_one_line(cell) {
            plain if plain.contains([',', '"']) => format!("\"{}\"", plain.replace('"', "\"\"")),
            plain => plain.into_owned(),
        };
        let line = |row: &Vec<String>| row.iter().map(cell).collect::<Vec<String>>().join(",") + "\n";
        self.table.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_hold_no_character_that_acts() {
        let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
        let picture = Picture {
            title: String::new(),
            x: shares(String::new(), false),
            y: shares(String::new(), false),
            domains: [[0.0, 1.0]; 2],
            curves: Vec::new(),
            reference: None,
            has_legend: false,
            table: vec![row(&["series", "probe_ns"]), row(&["a\u{1b}[31m\u{202e}\n,b", &plain(f64::NAN)])],
        };
        assert_eq!(picture.csv(), "series,probe_ns\n\"a\\u{1b}[31m\\u{202e}\\u{a},b\",\n");
    }
}
