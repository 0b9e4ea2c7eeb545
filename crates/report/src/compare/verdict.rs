//! Same, different, or cannot tell: what follows from an interval and a margin, with the reason in words.

use serde::Serialize;

use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;

use super::effect::{Effect, Evidence};
use super::options::Options;
use super::outcome::{Basis, Judgement, Outcome};
use crate::metric::{Metric, Unit};
use crate::statistics::{Correction, Interval, Statistic, Tolerance};
use crate::words::{counted, thousands};

/// What is said of a metric.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verdict {
    /// Different if one of the statistics is, the same if all are.
    pub outcome: Outcome,
    /// What it rests on.
    pub basis: Basis,
    /// Statistic by statistic; empty of a mere distance.
    pub effects: Vec<Effect>,
    /// Of a metric that cannot be told: replications of each variant that would decide all its statistics; null where that is not known.
    pub seeds_to_decide: Option<u64>,
    /// The same if the true differences are those that were found.
    pub seeds_as_found: Option<u64>,
    /// Why, in words.
    pub reason: String,
    /// The end of the reason of a mere distance: why there is no test. Empty of all others.
    #[serde(skip)]
    pub untested: String,
}

/// Gives the p values of all effects of an answer what is due to there being many, and sets their outcomes.
pub(super) fn settle<'a>(effects: impl Iterator<Item = &'a mut Effect>, options: &Options) {
    let effects: Vec<&mut Effect> = effects.collect();
    let p_values: Vec<f64> = effects.iter().map(|effect| effect.p_value).collect();
    for (effect, adjusted) in effects.into_iter().zip(options.correction.adjust(&p_values)) {
        effect.settle(adjusted, p_values.len(), options);
    }
}

impl Verdict {
    /// Of evidence whose outcomes are set; `judgement` is what the distance means, which stands where there is nothing else.
    pub(super) fn new(metric: Metric, evidence: Evidence, judgement: Judgement, options: &Options) -> Verdict {
        let Evidence { basis, effects, told, other_draws } = evidence;
        if effects.is_empty() {
            let (outcome, reason) = match judgement {
                Judgement::Same => (Outcome::Same, "by its distance the same"),
                Judgement::Different => (Outcome::Different, "by its distance different"),
                Judgement::Close => (Outcome::CannotTell, "by its distance close, neither the same nor different"),
                Judgement::CannotTell if other_draws => (Outcome::CannotTell, "not to be told by a distance"),
                Judgement::CannotTell => (Outcome::CannotTell, "too few values that are known"),
            };
            let told = if basis == Basis::Distance { told } else { format!("{told}, each with too few values") };
            let untested = match judgement == Judgement::CannotTell && other_draws {
                true => format!(
                    "other seeds replay other draws of the workload: give both the same seeds, or five each; {told}"
                ),
                false => format!("a description, no test: {told}"),
            };
            return Verdict {
                outcome,
                basis: Basis::Distance,
                effects,
                seeds_to_decide: None,
                seeds_as_found: None,
                reason: format!("{reason}; {untested}"),
                untested,
            };
        }
        let outcome = match effects.iter().map(|effect| effect.outcome) {
            mut all if all.clone().any(|outcome| outcome == Outcome::Different) => {
                all.find(|outcome| *outcome == Outcome::Different).unwrap_or_default()
            }
            mut all if all.clone().all(|outcome| outcome == Outcome::Same) => all.next().unwrap_or_default(),
            _ => Outcome::CannotTell,
        };
        let mut reason = reason(metric, outcome, &effects, &told, options);
        let number = |of: fn(&Effect) -> Option<u64>| match outcome {
            Outcome::CannotTell => effects.iter().filter_map(of).max(),
            Outcome::Same | Outcome::Different => None,
        };
        let seeds_to_decide = number(|effect| effect.seeds_to_decide);
        // One statistic that is different makes the metric different; it is the same if all are.
        let apart = effects.iter().filter(|effect| effect.difference.abs() > effect.margin);
        let of_apart = apart.filter_map(|effect| effect.seeds_as_found).min();
        let seeds_as_found = number(|effect| effect.seeds_as_found).map(|all| of_apart.unwrap_or(all));
        if let Some(seeds) = seeds_to_decide {
            reason += &seeds_text(seeds, seeds_as_found);
        }
        // Equal means do not make equal distributions. A distance is no test: it takes a verdict away and gives none.
        let outcome = match outcome == Outcome::Same && judgement == Judgement::Different {
            true => {
                reason += "; but the values are spread differently (tolerant KS)";
                Outcome::CannotTell
            }
            false => outcome,
        };
        Verdict { outcome, basis, effects, seeds_to_decide, seeds_as_found, reason, untested: String::new() }
    }

    /// The verdict in a word or two; where there is only a distance, what that means.
    pub fn said(&self, judgement: Judgement) -> String {
        match self.basis {
            Basis::Distance => judgement.to_string(),
            _ => self.outcome.to_string(),
        }
    }
}

/// Why, by the statistic that decides.
fn reason(metric: Metric, outcome: Outcome, effects: &[Effect], told: &str, options: &Options) -> String {
    let reach = |effect: &&Effect| effect.interval.low.abs().max(effect.interval.high.abs()) / effect.margin.max(1e-9);
    let deciding = || effects.iter().filter(|effect| effect.outcome == outcome);
    let decides = match outcome {
        Outcome::Different => deciding().min_by(|a, b| a.adjusted_p_value.total_cmp(&b.adjusted_p_value)),
        Outcome::Same | Outcome::CannotTell => deciding().max_by(|a, b| reach(a).total_cmp(&reach(b))),
    };
    let Some(effect) = decides else { return told.to_owned() };
    let change = change(metric, effect);
    let margin = margin_text(metric, options.tolerance(metric));
    match outcome {
        Outcome::Same => format!("{change}: within {margin}; {told}"),
        Outcome::Different => format!("{change}, {}; {told}", p_text(effect, options.correction)),
        Outcome::CannotTell => format!(
            "{change}: neither within {margin} nor clear of no difference ({}); {told}",
            p_text(effect, options.correction)
        ),
    }
}

/// How many seeds would decide: whatever is true, and if that is what was found.
fn seeds_text(whatever: u64, as_found: Option<u64>) -> String {
    let seeds = |count: u64| counted(two_digits(count), "seed");
    match as_found.filter(|as_found| *as_found < whatever) {
        Some(as_found) => format!(
            "; about {} would decide if the true difference is as found, {} whatever it is",
            seeds(as_found),
            thousands(two_digits(whatever))
        ),
        None => format!("; about {} would decide", seeds(whatever)),
    }
}

/// `count` rounded up to two digits: an estimate has no more.
fn two_digits(count: u64) -> u64 {
    let unit = 10u64.pow(count.max(1).ilog10().saturating_sub(1));
    count.div_ceil(unit) * unit
}

/// `p99 +12.1 % [+8.0 %, +16.2 %]`, or in the metric's unit where the reference is zero; over replications `mean p99`, the mean of the
/// quantile that each has. No quantity falls by more than all of it.
fn change(metric: Metric, effect: &Effect) -> String {
    let signed = |value: f64| {
        let sign = if value < 0.0 { "-" } else { "+" };
        match effect.reference > 0.0 {
            true => format!("{sign}{} %", three_digits((100.0 * value / effect.reference).abs())),
            false => format!("{sign}{}", metric.unit().show(value.abs())),
        }
    };
    let Interval { low, high } = effect.interval;
    let low = low.max(-effect.reference);
    let mean = match effect.statistic {
        Statistic::Quantile(_) if effect.replicated.is_some() => "mean ",
        Statistic::Quantile(_) | Statistic::Mean => "",
    };
    let at_least = if effect.at_least { " (unfinished values count as the least that they can be)" } else { "" };
    format!("{mean}{} {} [{}, {}]{at_least}", effect.statistic, signed(effect.difference), signed(low), signed(high))
}

fn p_text(effect: &Effect, correction: Correction) -> String {
    let p = match effect.adjusted_p_value {
        p if p < 0.001 => "p below 0.001".to_owned(),
        p => format!("p {p:.3}"),
    };
    match correction {
        Correction::Holm => format!("{p} after Holm"),
        Correction::Bh => format!("{p} after Benjamini-Hochberg"),
        Correction::None => p,
    }
}

/// A margin as it is written: `max(0.5 ms, 2 %)`.
pub fn margin_text(metric: Metric, tolerance: Tolerance) -> String {
    let percent = format!("{} %", (tolerance.relative * 1e6).round() / 1e4);
    let absolute = match metric.unit() {
        Unit::Time => Duration::from_nanos(tolerance.absolute as u64).to_string(),
        _ => format!("{}", tolerance.absolute),
    };
    if tolerance.absolute > 0.0 { format!("max({absolute}, {percent})") } else { percent }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_have_two_digits() {
        assert_eq!([0, 7, 40, 99, 100, 101, 1_234].map(two_digits), [0, 7, 40, 99, 100, 110, 1_300]);
    }

    #[test]
    fn margins_in_words() {
        let options = Options::default();
        let text = |metric| margin_text(metric, options.tolerance(metric));
        assert_eq!(text(Metric::Duration), "max(500 us, 2 %)");
        assert_eq!(text(Metric::ActiveConnections), "max(0.5, 2 %)");
        assert_eq!(text(Metric::Goodput), "2 %");
    }
}
