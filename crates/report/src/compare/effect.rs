//! One statistic of a metric between two variants: the difference, its interval over replications or blocks of time, its margin.

use serde::Serialize;

use super::options::Options;
use super::outcome::{Basis, Outcome};
use crate::metric::Metric;
use crate::statistics::{
    BlockEstimate, Correction, Estimate, Interval, Sample, Statistic, ratio_intervals, seeds_as_found, seeds_to_decide,
};

/// Replications of each variant that an interval over them needs (methods L.3).
pub const FEWEST_REPLICATIONS: usize = 5;
/// The shortest block of a bootstrap over time (methods L.3).
pub const BLOCK_NS: u64 = 60_000_000_000;

/// One statistic of a metric, in the unit of the metric.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// Which.
    pub statistic: Statistic,
    /// The reference's: the mean over its replications.
    pub reference: f64,
    /// The other's.
    pub other: f64,
    /// other - reference.
    pub difference: f64,
    /// The difference's interval: Student's, at the confidence asked for, for itself.
    pub interval: Interval,
    /// other / reference; null of a reference that is not above zero.
    pub ratio: Option<f64>,
    /// Its interval: over replications BCa bootstrap, over blocks that of the difference in units of the reference.
    pub ratio_interval: Option<Interval>,
    /// Differences up to this are as good as none (methods M.6).
    pub margin: f64,
    /// Probability of a difference at least as large if there is none.
    pub p_value: f64,
    /// The same with all tests of the answer in view.
    pub adjusted_p_value: f64,
    /// What follows.
    pub outcome: Outcome,
    /// Of one that cannot be told: replications of each variant that would decide it in four of five cases; null of blocks of time.
    pub seeds_to_decide: Option<u64>,
    /// The same if the true difference is the one that was found.
    pub seeds_as_found: Option<u64>,
    /// Whether replications reach unfinished values, which count as the least that they can be.
    pub at_least: bool,
    /// Whether the reference and the other are lower bounds.
    #[serde(skip)]
    pub(super) bounds: [bool; 2],
    /// What the number of seeds follows from: the estimate, and over how many replications it is; `None` of blocks of time.
    #[serde(skip)]
    pub(super) replicated: Option<(Estimate, f64)>,
}

impl Effect {
    /// Sets the outcome, and how many replications would decide what cannot be told. `tests` are those of the whole answer.
    pub(super) fn settle(&mut self, adjusted_p_value: f64, tests: usize, options: &Options) {
        self.adjusted_p_value = adjusted_p_value;
        self.outcome = match outcome(self.interval, self.margin, adjusted_p_value, options.confidence) {
            // Of bounds only that follows which a longer value makes clearer still.
            Outcome::Different if !self.bounds[usize::from(self.difference < 0.0)] => Outcome::Different,
            _ if self.at_least => Outcome::CannotTell,
            known => known,
        };
        let level = match options.correction {
            Correction::None => 1.0 - options.confidence,
            // The smallest p value of all has to be that small.
            Correction::Holm | Correction::Bh => (1.0 - options.confidence) / tests as f64,
        };
        // More seeds with unfinished values would be bounds as well.
        let undecided = self.replicated.filter(|_| self.outcome == Outcome::CannotTell && !self.at_least);
        let number = |of: fn(&Estimate, f64, f64, f64, f64) -> Option<u64>| {
            undecided.and_then(|(estimate, over)| of(&estimate, over, self.margin, options.confidence, level))
        };
        (self.seeds_to_decide, self.seeds_as_found) = (number(seeds_to_decide), number(seeds_as_found));
    }
}

/// The law: within the margin the same, else different if no difference is too improbable.
fn outcome(interval: Interval, margin: f64, adjusted_p_value: f64, confidence: f64) -> Outcome {
    match interval.lies_in(Interval { low: -margin, high: margin }) {
        true => Outcome::Same,
        // The difference of 1 and 0.95 is a little more than 0.05.
        false if adjusted_p_value <= 1.0 - confidence + 1e-12 => Outcome::Different,
        false => Outcome::CannotTell,
    }
}

/// The statistics by which a metric is judged: a median and the tail of distributions, the mean of series and of what each run has one
/// value of.
pub fn statistics_of(metric: Metric) -> &'static [Statistic] {
    match metric.is_of_means() {
        true => &[Statistic::Mean],
        false => &[Statistic::Quantile(0.5), Statistic::Quantile(0.9), Statistic::Quantile(0.99)],
    }
}

/// What is known of one metric of two variants.
pub(super) struct Known<'a> {
    pub metric: Metric,
    /// A sample per replication, the reference's and the other's.
    pub samples: [&'a [Sample]; 2],
    /// The first runs' series and the width of their bins; empty of metrics that are none.
    pub series: [Vec<f64>; 2],
    pub bin_ns: u64,
    /// Whether the n-th replications of both have the same seed and workload, or are a replay and its original.
    pub paired: bool,
    /// Whether the first of both replay the same workload.
    pub same_workload: bool,
    /// Whether the reference is the original.
    pub original: bool,
    /// Whether all replications of a side replay one draw of its workload: they differ by the randomness of queues, losses and hosts
    /// alone, and an interval over them says nothing of other traffic (methods M.5).
    pub one_draw: bool,
    /// Whether the sides have other seeds, and with them other draws of their workload.
    pub other_draws: bool,
}

/// Effects with what they were computed over, or why there are none.
pub(super) struct Evidence {
    pub basis: Basis,
    pub effects: Vec<Effect>,
    /// `10 paired replications`; of a mere distance why there is no more.
    pub told: String,
    /// The sides replay other draws of their workload: of single draws a distance says nothing of what was varied (methods M.5).
    pub other_draws: bool,
}

/// A statistic that was asked for beside those of the verdict, which it has no part in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Asked {
    /// Which.
    pub statistic: Statistic,
    /// Replications of the other.
    pub replications: usize,
    /// The other's: the mean over its replications.
    pub other: f64,
    /// Its Student interval over replications, if there are enough.
    pub other_interval: Option<Interval>,
    /// other / reference; `None` of a reference that is not above zero.
    pub ratio: Option<f64>,
    /// As in [`Effect`].
    pub ratio_interval: Option<Interval>,
    /// Whether the reference's and the other's are lower bounds: some replications reach unfinished values.
    pub bounds: [bool; 2],
}

impl Known<'_> {
    /// Whether `statistic` is only a lower bound of the reference and of the other: a replication reaches unfinished values.
    fn bounds(&self, statistic: Statistic) -> [bool; 2] {
        self.samples.map(|side| side.iter().any(|sample| statistic.is_bound(sample)))
    }

    /// `statistic` by itself; `None` if a replication has too few values for it.
    pub(super) fn asked(&self, statistic: Statistic, options: &Options) -> Option<Asked> {
        let [reference, other] =
            self.samples.map(|samples| samples.iter().map(|sample| statistic.of(sample)).collect::<Option<Vec<f64>>>());
        let (reference, other) = (mean(&reference?), other?);
        let spread = other.len() >= FEWEST_REPLICATIONS && other.windows(2).any(|pair| pair[0] != pair[1]);
        let effect = self.evidence(&[statistic], options).effects.pop();
        Some(Asked {
            statistic,
            replications: other.len(),
            other: mean(&other),
            other_interval: Estimate::of_mean(&other)
                .filter(|_| spread)
                .map(|estimate| estimate.interval_from_zero(options.confidence)),
            ratio: (reference > 0.0).then(|| mean(&other) / reference),
            ratio_interval: effect.and_then(|effect| effect.ratio_interval),
            bounds: self.bounds(statistic),
        })
    }

    /// Effects of `statistics`, those that all replications have values enough for.
    pub(super) fn evidence(&self, statistics: &[Statistic], options: &Options) -> Evidence {
        let [a, b] = self.samples;
        let values = |samples: &[Sample], statistic: Statistic| -> Option<Vec<f64>> {
            samples.iter().map(|sample| statistic.of(sample)).collect()
        };
        let known: Vec<(Statistic, Vec<f64>, Vec<f64>)> = statistics
            .iter()
            .filter_map(|&statistic| Some((statistic, values(a, statistic)?, values(b, statistic)?)))
            .collect();
        let one_run = |samples: &[Sample]| samples.windows(2).all(|pair| pair[0] == pair[1]);
        let alike = one_run(a) && one_run(b);
        let enough = (self.original || a.len() >= FEWEST_REPLICATIONS) && b.len() >= FEWEST_REPLICATIONS;
        if enough && !alike && !self.one_draw {
            return self.over_replications(known, options);
        }
        let mut why = match (self.original, a.len(), b.len()) {
            _ if alike && b.len() > 1 => "the seeds change nothing".to_owned(),
            _ if self.one_draw => "all seeds replay one draw of the workload".to_owned(),
            (false, 1, 1) => "one run each".to_owned(),
            (true, _, 1) => "one run".to_owned(),
            (true, _, b) => format!("{b} replications of the {FEWEST_REPLICATIONS} that an interval needs"),
            (false, a, b) => {
                format!("{a} and {b} replications of the {FEWEST_REPLICATIONS} each that an interval needs")
            }
        };
        if (alike || self.one_draw) && self.metric.is_series() && statistics.contains(&Statistic::Mean) {
            match self.over_blocks(options) {
                Some(evidence) => return evidence,
                None => why += ", and too short or too steady a course for ten blocks of a minute",
            }
        }
        Evidence { basis: Basis::Distance, effects: Vec::new(), told: why, other_draws: self.other_draws }
    }

    fn over_replications(&self, known: Vec<(Statistic, Vec<f64>, Vec<f64>)>, options: &Options) -> Evidence {
        let [runs_a, runs_b] = self.samples.map(<[Sample]>::len);
        let (basis, told) = match (self.original, self.paired) {
            (true, _) => (Basis::ReplicationsOfReplay, format!("{runs_b} replications beside the one original")),
            (false, true) => (Basis::PairedReplications, format!("{runs_a} paired replications")),
            (false, false) if runs_a == runs_b => (Basis::Replications, format!("{runs_a} replications each")),
            (false, false) => (Basis::Replications, format!("{runs_a} and {runs_b} replications")),
        };
        let effect = |(statistic, a, b): (Statistic, Vec<f64>, Vec<f64>)| {
            let paired = self.paired;
            let estimate = if paired { Estimate::paired(&a, &b) } else { Estimate::welch(&a, &b) }?;
            let ratio = ratio_intervals(&a, &b, paired, options.confidence, options.resamples).map(|ratio| ratio.bca);
            let effect = self.effect(statistic, [mean(&a), mean(&b)], estimate, ratio, options);
            let bounds = self.bounds(statistic);
            let at_least = bounds.contains(&true);
            // Of sides of different sizes the number that, on each, gives the same standard error.
            let each = if paired { b.len() as f64 } else { 2.0 / (1.0 / a.len() as f64 + 1.0 / b.len() as f64) };
            Some(Effect { at_least, bounds, replicated: Some((estimate, each)), ..effect })
        };
        let effects = known.into_iter().filter_map(effect).collect();
        Evidence { basis, effects, told, other_draws: self.other_draws }
    }

    fn over_blocks(&self, options: &Options) -> Option<Evidence> {
        let [a, b] = &self.series;
        let paired = (self.same_workload || self.original) && a.len() == b.len();
        let bins = BLOCK_NS.div_ceil(self.bin_ns.max(1)) as usize;
        let found = BlockEstimate::of_difference(a, b, bins, paired)?;
        let reference = mean(a);
        let of_reference = |difference: f64| (1.0 + difference / reference).max(0.0);
        let interval = found.estimate.interval(options.confidence);
        let ratio =
            (reference > 0.0).then(|| Interval { low: of_reference(interval.low), high: of_reference(interval.high) });
        let effect = self.effect(Statistic::Mean, [reference, mean(b)], found.estimate, ratio, options);
        let seconds = found.length as u64 * self.bin_ns / 1_000_000_000;
        Some(Evidence {
            basis: if paired { Basis::PairedBlocks } else { Basis::Blocks },
            effects: vec![effect],
            told: format!("{} {}blocks of {seconds} s", found.blocks, if paired { "paired " } else { "" }),
            other_draws: self.other_draws,
        })
    }

    fn effect(
        &self,
        statistic: Statistic,
        [reference, other]: [f64; 2],
        estimate: Estimate,
        ratio_interval: Option<Interval>,
        options: &Options,
    ) -> Effect {
        let p_value = estimate.p_value();
        Effect {
            statistic,
            reference,
            other,
            difference: estimate.value,
            interval: estimate.interval(options.confidence),
            ratio: (reference > 0.0).then(|| other / reference),
            ratio_interval,
            margin: options.tolerance(self.metric).of(reference),
            p_value,
            adjusted_p_value: p_value,
            outcome: Outcome::CannotTell,
            seeds_to_decide: None,
            seeds_as_found: None,
            at_least: false,
            bounds: [false; 2],
            replicated: None,
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_law() {
        let of = |low, high, p| outcome(Interval { low, high }, 2.0, p, 0.95);
        assert_eq!(of(-1.0, 1.9, 0.6), Outcome::Same);
        assert_eq!(of(0.5, 1.9, 0.001), Outcome::Same, "a sure difference that is as good as none");
        assert_eq!(of(0.5, 2.1, 0.01), Outcome::Different);
        assert_eq!(of(0.5, 2.1, 0.06), Outcome::CannotTell, "one of many tests");
        assert_eq!(of(-3.0, 1.0, 0.4), Outcome::CannotTell);
        assert_eq!(of(0.5, 9.0, 0.05), Outcome::Different, "the level itself");
    }
}
