//! What a user demands of a comparison, so that a script can tell good from bad.

use std::fmt;

use serde::Serialize;

use flowloom_core::units::three_digits;

use super::comparison::Comparison;
use super::effect::Asked;
use super::outcome::Outcome;
use crate::metric::Metric;
use crate::statistics::{Interval, Statistic};

/// One rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Rule {
    /// What it is called, by its author.
    pub name: Option<String>,
    /// What it is about.
    pub metric: Metric,
    /// What it demands.
    pub demand: Demand,
    /// What becomes of it where it cannot be told.
    pub unknown: Unknown,
}

/// What a rule demands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Demand {
    /// The metric's verdict is this one.
    Verdict(Outcome),
    /// The Kolmogorov-Smirnov distance is not larger.
    Ks(f64),
    /// The tolerant one (methods M.6).
    TolerantKs(f64),
    /// The other's statistic relative to the reference's.
    Ratio(Statistic, Bound),
    /// The other's statistic, in the metric's unit.
    Value(Statistic, Bound),
}

/// A bound, itself allowed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// So much or less.
    AtMost(f64),
    /// So much or more.
    AtLeast(f64),
}

/// What becomes of a rule where it cannot be told whether it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unknown {
    /// It fails: what is not shown is not so.
    #[default]
    Fails,
    /// It passes: only what is shown to be broken is.
    Passes,
}

/// Whether a rule holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Held {
    /// It does.
    Held,
    /// It does not.
    Broken,
    /// There is too little to tell.
    CouldNotTell,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Held::Held => "held",
            Held::Broken => "broken",
            Held::CouldNotTell => "could not tell",
        })
    }
}

/// What was found of a rule in one comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// The rule: its name, or what it demands.
    pub rule: String,
    /// What the reference is called.
    pub reference: String,
    /// What was compared with it.
    pub other: String,
    /// Whether it holds.
    pub held: Held,
    /// Whether it fails: broken, or could not tell and that counts as broken.
    pub fails: bool,
    /// What it was decided by, in words.
    pub found: String,
}

impl Rule {
    /// The statistic it needs of its metric, beside what is compared anyway.
    pub fn statistic(&self) -> Option<(Metric, Statistic)> {
        match self.demand {
            Demand::Verdict(_) | Demand::Ks(_) | Demand::TolerantKs(_) => None,
            Demand::Ratio(statistic, _) | Demand::Value(statistic, _) => Some((self.metric, statistic)),
        }
    }

    /// Whether it holds in `comparison`, which was made with [`Self::statistic`] asked for.
    pub fn check(&self, comparison: &Comparison) -> Found {
        let (held, found) = self.held(comparison);
        let fails = match held {
            Held::Held => false,
            Held::Broken => true,
            Held::CouldNotTell => self.unknown == Unknown::Fails,
        };
        Found {
            rule: self.name.clone().unwrap_or_else(|| self.to_string()),
            reference: comparison.reference.clone(),
            other: comparison.other.clone(),
            held,
            fails,
            found,
        }
    }

    fn held(&self, comparison: &Comparison) -> (Held, String) {
        let Some(difference) = comparison.difference(self.metric) else {
            let why = comparison.left_out.get(self.metric.name()).map_or("not compared", String::as_str);
            return (Held::CouldNotTell, why.to_owned());
        };
        let of_distance = |distance: [Option<f64>; 2], limit: f64| match distance {
            [_, Some(most)] if most <= limit => (Held::Held, format!("{most:.3}")),
            [Some(least), _] if least > limit => (Held::Broken, format!("{least:.3}")),
            [Some(least), Some(most)] => {
                (Held::CouldNotTell, format!("{least:.3} to {most:.3}, by how long unfinished values last"))
            }
            _ => (Held::CouldNotTell, "no distance".to_owned()),
        };
        let asked = |statistic| difference.asked.iter().find(|asked: &&Asked| asked.statistic == statistic);
        match self.demand {
            Demand::Verdict(wanted) => {
                let held = match difference.verdict.outcome {
                    found if found == wanted => Held::Held,
                    Outcome::CannotTell => Held::CouldNotTell,
                    Outcome::Same | Outcome::Different => Held::Broken,
                };
                let told = if held == Held::Held { String::new() } else { format!("{}: ", difference.verdict.outcome) };
                (held, format!("{told}{}", difference.verdict.reason))
            }
            Demand::Ks(limit) => of_distance([difference.ks, difference.ks_at_most], limit),
            Demand::TolerantKs(limit) => of_distance([difference.tolerant_ks, difference.tolerant_ks_at_most], limit),
            Demand::Ratio(statistic, bound) => match asked(statistic) {
                Some(asked) => {
                    let held = bound.held(asked.ratio, asked.ratio_interval, three_digits);
                    told_of(asked, bound.of_bounds(held, asked.bounds))
                }
                None => (Held::CouldNotTell, "too few values".to_owned()),
            },
            Demand::Value(statistic, bound) => match asked(statistic) {
                Some(asked) => {
                    let show = |value| self.metric.unit().show(value);
                    let held = bound.held(Some(asked.other), asked.other_interval, show);
                    told_of(asked, bound.of_bounds(held, [false, asked.bounds[1]]))
                }
                None => (Held::CouldNotTell, "too few values".to_owned()),
            },
        }
    }
}

/// What was found of a statistic; of several seeds it is the mean of what each has.
fn told_of(asked: &Asked, (held, found): (Held, String)) -> (Held, String) {
    match asked.replications {
        1 => (held, found),
        seeds => (held, format!("{found}, by the means over {seeds} seeds")),
    }
}

impl Bound {
    /// What follows where the reference or the other of a ratio, or a value, is only a lower bound: a value that may be larger breaks
    /// no lower limit and keeps no upper one, and a reference that may be larger the other way round.
    fn of_bounds(self, (held, found): (Held, String), [reference, other]: [bool; 2]) -> (Held, String) {
        if !reference && !other {
            return (held, found);
        }
        let stands = match (self, held) {
            (Bound::AtMost(_), Held::Broken) | (Bound::AtLeast(_), Held::Held) => !reference,
            (Bound::AtMost(_), Held::Held) | (Bound::AtLeast(_), Held::Broken) => !other,
            (_, Held::CouldNotTell) => true,
        };
        let word = match (reference, other) {
            (false, _) => "at least ",
            (true, false) => "at most ",
            (true, true) => "a ratio of lower bounds: ",
        };
        (if stands { held } else { Held::CouldNotTell }, format!("{word}{found}"))
    }

    /// Whether a value with this interval, if there is one, keeps it; and the value in words.
    fn held(self, value: Option<f64>, interval: Option<Interval>, show: impl Fn(f64) -> String) -> (Held, String) {
        let Some(value) = value else { return (Held::CouldNotTell, "the reference is zero".to_owned()) };
        let keeps = |value: f64| match self {
            Bound::AtMost(most) => value <= most,
            Bound::AtLeast(least) => value >= least,
        };
        let Some(Interval { low, high }) = interval else {
            let held = if keeps(value) { Held::Held } else { Held::Broken };
            return (held, format!("{}, without an interval", show(value)));
        };
        let held = match (keeps(low), keeps(high)) {
            (true, true) => Held::Held,
            (false, false) => Held::Broken,
            _ => Held::CouldNotTell,
        };
        (held, format!("{} [{}, {}]", show(value), show(low), show(high)))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metric = self.metric.name();
        let bound = |bound: Bound, show: &dyn Fn(f64) -> String| match bound {
            Bound::AtMost(most) => format!("at most {}", show(most)),
            Bound::AtLeast(least) => format!("at least {}", show(least)),
        };
        match self.demand {
            Demand::Verdict(outcome) => write!(f, "{metric}: verdict {outcome}"),
            Demand::Ks(most) => write!(f, "{metric}: KS at most {most}"),
            Demand::TolerantKs(most) => write!(f, "{metric}: tolerant KS at most {most}"),
            Demand::Ratio(statistic, limit) => {
                write!(f, "{metric}: ratio of {statistic} {}", bound(limit, &|value| value.to_string()))
            }
            Demand::Value(statistic, limit) => {
                let show = |value| self.metric.unit().show(value);
                write!(f, "{metric}: {statistic} {}", bound(limit, &show))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_holds_if_the_whole_interval_keeps_it() {
        let held = |bound: Bound, value, interval: Option<[f64; 2]>| {
            bound.held(value, interval.map(|[low, high]| Interval { low, high }), three_digits).0
        };
        let most = Bound::AtMost(1.1);
        assert_eq!(held(most, Some(1.05), Some([1.0, 1.1])), Held::Held);
        assert_eq!(held(most, Some(1.05), Some([1.0, 1.2])), Held::CouldNotTell);
        assert_eq!(held(most, Some(1.2), Some([1.15, 1.3])), Held::Broken);
        assert_eq!(held(most, Some(1.05), None), Held::Held);
        assert_eq!(held(Bound::AtLeast(0.9), Some(0.8), None), Held::Broken);
        assert_eq!(held(most, None, None), Held::CouldNotTell);
    }

    #[test]
    fn lower_bounds_decide_one_way_only() {
        let of = |bound: Bound, held, bounds| bound.of_bounds((held, "9.74 s".to_owned()), bounds);
        let (most, least) = (Bound::AtMost(25.0), Bound::AtLeast(25.0));
        assert_eq!(of(most, Held::Held, [false, true]), (Held::CouldNotTell, "at least 9.74 s".to_owned()));
        assert_eq!(of(most, Held::Broken, [false, true]).0, Held::Broken);
        assert_eq!(
            (of(least, Held::Held, [false, true]).0, of(least, Held::Broken, [false, true]).0),
            (Held::Held, Held::CouldNotTell)
        );
        assert_eq!(of(most, Held::Held, [true, false]), (Held::Held, "at most 9.74 s".to_owned()));
        assert_eq!(of(most, Held::Broken, [true, false]).0, Held::CouldNotTell);
        assert_eq!(of(most, Held::Broken, [true, true]).0, Held::CouldNotTell);
        assert_eq!(of(most, Held::Held, [false, false]), (Held::Held, "9.74 s".to_owned()));
    }

    #[test]
    fn rules_name_themselves() {
        let rule = |metric, demand| Rule { name: None, metric, demand, unknown: Unknown::Fails }.to_string();
        let p99 = Statistic::Quantile(0.99);
        assert_eq!(
            rule(Metric::ResponseTime, Demand::Value(p99, Bound::AtMost(20e6))),
            "response_time: p99 at most 20.0 ms"
        );
        assert_eq!(
            rule(Metric::Goodput, Demand::Ratio(Statistic::Mean, Bound::AtLeast(0.95))),
            "goodput: ratio of mean at least 0.95"
        );
        assert_eq!(rule(Metric::Duration, Demand::Verdict(Outcome::Same)), "duration: verdict same");
    }
}
