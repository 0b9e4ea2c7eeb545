//! What a check is: a published value, ours, and how far apart they may be.

use std::fmt;

/// How much is spent on a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Seconds in all, in a build that is not optimised: what `cargo test` runs.
    Quick,
    /// The full checks that `make validate` runs.
    Full,
}

/// The condition that a measured value has to meet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expected {
    /// Our value equals this to the last bit.
    Exactly(f64),
    /// This, off by so large a share of it at most.
    Near {
        /// The published value.
        value: f64,
        /// The largest difference, as a share of the value.
        share: f64,
    },
    /// This, off by so much at most.
    Within {
        /// The published value.
        value: f64,
        /// The largest difference, in the unit of the value.
        by: f64,
    },
    /// Our value is at least this.
    AtLeast(f64),
    /// Our value is at most this.
    AtMost(f64),
}

/// One check: a published value beside ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// What it belongs to; a heading of the table.
    pub group: &'static str,
    /// What is measured, with its unit.
    pub name: String,
    /// Where the expected value is published, or the formula it comes from.
    pub source: String,
    /// The condition that our value has to meet.
    pub expected: Expected,
    /// The value that was calculated or measured here.
    pub ours: f64,
    /// Why it is not what it should be, where that is known and meant.
    pub departs: Option<String>,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Our value is as expected.
    Holds,
    /// Not as expected, and said to be so.
    Departs,
    /// Not as expected; or as expected, and said not to be.
    Fails,
}

impl Row {
    /// A check that is not known to depart.
    pub fn new(
        group: &'static str,
        name: impl Into<String>,
        source: impl Into<String>,
        expected: Expected,
        ours: f64,
    ) -> Row {
        Row { group, name: name.into(), source: source.into(), expected, ours, departs: None }
    }

    /// In the place of checks that could not be made: it fails, so that none goes missing unnoticed.
    pub(crate) fn unmade(group: &'static str, name: impl Into<String>, source: impl Into<String>) -> Row {
        Row::new(group, name, source, Expected::AtLeast(0.0), f64::NAN)
    }

    /// Whether our value is what it has to be. NaN never is.
    pub fn passes(&self) -> bool {
        match self.expected {
            Expected::Exactly(value) => self.ours == value,
            Expected::Near { value, share } => (self.ours - value).abs() <= share * value.abs(),
            Expected::Within { value, by } => (self.ours - value).abs() <= by,
            Expected::AtLeast(value) => self.ours >= value,
            Expected::AtMost(value) => self.ours <= value,
        }
    }

    /// The outcome of the check.
    pub fn verdict(&self) -> Verdict {
        match (self.passes(), &self.departs) {
            (true, None) => Verdict::Holds,
            (false, Some(_)) => Verdict::Departs,
            _ => Verdict::Fails,
        }
    }
}

/// Six significant digits at most, without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = libm::floor(libm::log10(value.abs())) as i32;
    let text = format!("{value:.*}", usize::try_from(5 - magnitude).unwrap_or(0));
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

impl Expected {
    /// The published value.
    pub fn value(self) -> String {
        match self {
            Expected::Exactly(value) | Expected::Near { value, .. } | Expected::Within { value, .. } => number(value),
            Expected::AtLeast(value) => format!(">= {}", number(value)),
            Expected::AtMost(value) => format!("<= {}", number(value)),
        }
    }

    /// By how much `ours` is off, in percent; `None` of bounds, and of zero.
    pub fn difference(self, ours: f64) -> Option<String> {
        match self {
            Expected::Exactly(value) | Expected::Near { value, .. } | Expected::Within { value, .. }
                if value != 0.0 =>
            {
                Some(format!("{:+.1} %", 100.0 * (ours - value) / value))
            }
            _ => None,
        }
    }

    /// How far ours may be from it.
    pub fn tolerance(self) -> String {
        match self {
            Expected::Exactly(_) => "exact".to_owned(),
            Expected::Near { share, .. } => format!("{} %", number(100.0 * share)),
            Expected::Within { by, .. } => format!("+-{}", number(by)),
            Expected::AtLeast(_) | Expected::AtMost(_) => "bound".to_owned(),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Holds => "holds",
            Verdict::Departs => "departs",
            Verdict::Fails => "FAILS",
        })
    }
}

/// Writes the check as one line for a terminal.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, tolerance) = (self.expected.value(), self.expected.tolerance());
        write!(f, "{:<58} {expected:>12} {:>12} {tolerance:>8}  {}", self.name, number(self.ours), self.verdict())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts() {
        let row = |expected, ours| Row::new("g", "n", "s", expected, ours);
        for (expected, good, bad) in [
            (Expected::Exactly(3.0), 3.0, 3.0000001),
            (Expected::Near { value: 200.0, share: 0.01 }, 202.0, 202.1),
            (Expected::Within { value: 0.5, by: 0.05 }, 0.549, 0.551),
            (Expected::AtLeast(2.0), 2.0, 1.9),
            (Expected::AtMost(2.0), 2.0, 2.1),
        ] {
            assert_eq!(row(expected, good).verdict(), Verdict::Holds, "{expected:?}");
            assert_eq!(row(expected, bad).verdict(), Verdict::Fails, "{expected:?}");
            assert_eq!(row(expected, f64::NAN).verdict(), Verdict::Fails, "{expected:?}");
            let known = |ours| Row { departs: Some("because".to_owned()), ..row(expected, ours) };
            assert_eq!(known(bad).verdict(), Verdict::Departs);
            assert_eq!(known(good).verdict(), Verdict::Fails, "what is said to depart and holds has to be said anew");
        }
    }

    #[test]
    fn differences_are_of_the_published_value() {
        let near = Expected::Near { value: 200.0, share: 0.01 };
        assert_eq!(near.difference(203.0).as_deref(), Some("+1.5 %"));
        assert_eq!(near.difference(199.0).as_deref(), Some("-0.5 %"));
        assert_eq!((Expected::Exactly(0.0).difference(1.0), Expected::AtMost(2.0).difference(1.0)), (None, None));
    }

    #[test]
    fn numbers_read_well() {
        for (value, text) in
            [(0.000_489, "0.000489"), (4.0, "4"), (1054.0, "1054"), (2.33931, "2.33931"), (1e9, "1000000000")]
        {
            assert_eq!(number(value), text);
        }
    }
}
