//! What a figure is: lines thinned to what can be seen, the table behind them, and where its numbers come from.

use serde::{Serialize, Serializer};

use super::provenance::Provenance;
use crate::compare::Difference;
use crate::metric::Unit;

/// How far a drawn distribution may be from the true one.
pub(crate) const CURVE_ERROR: f64 = 0.001;
/// Lines up to which every distribution is drawn as exactly as [`CURVE_ERROR`] says; more share the points that so many have.
const FULL_LINES: usize = 6;
/// The probabilities in the table of a distribution.
pub(crate) const TABLE_PROBABILITIES: [f64; 11] = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.8, 0.9, 0.95, 0.99, 0.999];

/// How far each of `lines` distributions in a figure may be from the true one: a report of a hundred runs must still open.
pub(crate) fn curve_error(lines: usize) -> f64 {
    CURVE_ERROR * (lines as f64 / FULL_LINES as f64).max(1.0)
}

/// A number in six significant digits at most, whole ones without a fraction: short in the page, exact to the eye. NaN, which is
/// no value, is null there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_nan() {
            return serializer.serialize_none();
        }
        let rounded: f64 = format!("{:.5e}", self.0).parse().unwrap_or(0.0);
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

/// `values` as [`Number`]s.
pub(crate) fn numbers(values: &[f64]) -> Vec<Number> {
    values.iter().copied().map(Number).collect()
}

/// An axis, in the words of the script.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Axis {
    pub label: String,
    pub unit: &'static str,
    pub log: bool,
    /// Whether only whole numbers mean something.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub whole: bool,
}

impl Axis {
    /// A linear axis, or a logarithmic one.
    pub(crate) fn new(label: &str, unit: &'static str, log: bool) -> Axis {
        Axis { label: label.to_owned(), unit, log, whole: false }
    }
}

/// Which line it is wherever it is drawn: one role has one colour, one pattern and one marker on the whole page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Role {
    /// `original`, `run0`..., `link0`... or `aside`: what buttons hide by.
    #[serde(rename = "role")]
    pub name: String,
    /// What decides how it looks, for the style sheet.
    pub class: String,
}

impl Role {
    /// Of the original.
    pub(crate) fn original() -> Role {
        Role { name: "original".to_owned(), class: "original".to_owned() }
    }

    /// Of what the original carried and nothing replays.
    pub(crate) fn aside() -> Role {
        Role { name: "aside".to_owned(), class: "aside".to_owned() }
    }

    /// Of a real link: dashed, in the colour of words.
    pub(crate) fn real_link(index: usize) -> Role {
        Role { name: format!("link{index}"), class: format!("link dash{}", 1 + index % 5) }
    }

    /// Of run `index`: six colours and six patterns, which make 36 looks.
    pub(crate) fn run(index: usize) -> Role {
        Role { name: format!("run{index}"), class: format!("run{} dash{}", index % 6, (index + index / 6) % 6) }
    }
}

/// One line.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    pub name: String,
    #[serde(flatten)]
    pub role: Role,
    /// Of a distribution: drawn from point to point, not in steps.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub smooth: bool,
    #[serde(flatten)]
    pub points: Points,
}

/// The points of a line.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub(crate) enum Points {
    /// A distribution: how many of `n` values are above each `x`.
    Distribution { n: usize, x: Vec<Number>, above: Vec<usize> },
    /// A series of means, with the extremes where bins were joined or several seeds are one line; NaN in bins without a value, which
    /// are gaps of the line.
    Series {
        y: Vec<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        low: Option<Vec<Number>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        high: Option<Vec<Number>>,
    },
    /// A logscale diagram: energies of octaves with 95 % intervals, and the line fitted to some of them.
    Octaves {
        octave: Vec<u32>,
        energy: Vec<Number>,
        low: Vec<Number>,
        high: Vec<Number>,
        #[serde(skip_serializing_if = "Option::is_none")]
        fit: Option<FittedLine>,
    },
}

/// The straight line through the fitted octaves: its ends.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct FittedLine {
    pub from: u32,
    pub from_energy: Number,
    pub to: u32,
    pub to_energy: Number,
}

/// A way to look at a figure, in the words of the script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum View {
    /// Share of values up to x.
    Cdf,
    /// Share of values above x, both axes logarithmic.
    Ccdf,
    /// Distribution function minus that of the first line.
    Gap,
    /// Quantiles against those of the first line.
    Quantiles,
    /// Values over time.
    Series,
    /// Values over time, minus those of the first line.
    Change,
    /// A logscale diagram.
    Octaves,
}

impl View {
    /// Its name in the page's data.
    pub(crate) fn id(self) -> &'static str {
        match self {
            View::Cdf => "cdf",
            View::Ccdf => "ccdf",
            View::Gap => "gap",
            View::Quantiles => "quantiles",
            View::Series => "series",
            View::Change => "change",
            View::Octaves => "octaves",
        }
    }

    /// What its button says.
    pub(crate) fn label(self) -> &'static str {
        match self {
            View::Cdf => "CDF",
            View::Ccdf => "CCDF",
            View::Gap | View::Change => "Difference",
            View::Quantiles => "Q-Q",
            View::Series => "Values",
            View::Octaves => "Logscale",
        }
    }
}

/// What a figure's lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Kind {
    Distribution,
    Series,
    Octaves,
}

/// A picture, its words and its table.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Figure {
    pub id: String,
    pub kind: Kind,
    pub title: String,
    /// Which view is shown first.
    pub view: View,
    /// What it shows, in a sentence.
    pub finding: String,
    /// What the values are, within "share of ...".
    pub plural: &'static str,
    /// The name of the column of values in the CSV.
    pub column: &'static str,
    pub x: Axis,
    pub y: Axis,
    /// Time of the first bin of a series and between bins; the bin of a logscale diagram. In seconds.
    pub start: Number,
    pub step: Number,
    pub lines: Vec<Line>,
    #[serde(skip)]
    pub below: Below,
    #[serde(skip)]
    pub table: Table,
    #[serde(skip)]
    pub unit: Unit,
    #[serde(skip)]
    pub provenance: Provenance,
}

impl Figure {
    /// The ways to look at it; differences need a second line.
    pub(crate) fn views(&self) -> Vec<View> {
        let several = self.lines.iter().filter(|line| line.role != Role::aside()).count() > 1;
        let all: &[View] = match self.kind {
            Kind::Distribution => &[View::Cdf, View::Ccdf, View::Gap, View::Quantiles],
            Kind::Series => &[View::Series, View::Change],
            Kind::Octaves => &[View::Octaves],
        };
        let views = all.iter().copied();
        views.filter(|view| several || !matches!(view, View::Gap | View::Quantiles | View::Change)).collect()
    }
}

/// What stands beneath a picture.
#[derive(Clone, Debug, Default)]
pub(crate) enum Below {
    /// Nothing.
    #[default]
    Nothing,
    /// Distances of the lines after the first: role, name, distance.
    Distances(Vec<(Role, String, Difference)>),
    /// Numbers of each line: heads, then role, name and cells.
    Numbers(Vec<&'static str>, Vec<(Role, String, Vec<String>)>),
}

/// The data of a figure as a reader without eyes for it needs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub head: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// The name of a unit in the script.
pub(crate) fn unit_word(unit: Unit) -> &'static str {
    match unit {
        Unit::Time => "time",
        Unit::Bytes => "bytes",
        Unit::Rate => "rate",
        Unit::Count => "count",
        Unit::PacketRate => "packets",
        Unit::Share => "share",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirty_six_runs_look_unlike_each_other() {
        let mut looks: Vec<String> = (0..36).map(|index| Role::run(index).class).collect();
        looks.sort_unstable();
        looks.dedup();
        assert_eq!(looks.len(), 36);
        assert_ne!(
            Role::run(0).class.split(' ').nth(1),
            Role::run(6).class.split(' ').nth(1),
            "one colour, two patterns"
        );
    }

    #[test]
    fn many_lines_share_the_points_of_a_few() {
        assert_eq!(curve_error(1), CURVE_ERROR);
        assert_eq!(curve_error(60), 10.0 * CURVE_ERROR);
    }

    #[test]
    fn numbers_are_short() {
        let text = |value: f64| serde_json::to_string(&Number(value)).unwrap();
        assert_eq!(text(3.0), "3");
        assert_eq!(text(1_234_567.89), "1234570");
        assert_eq!(text(0.123_456_789), "0.123457");
        assert_eq!(text(f64::NAN), "null");
    }
}
