//! Verdicts of measurements that come without a run folder: of other tools, or of a simulation that shows what verdicts are worth.

use flowloom_core::time::Duration;

use super::effect::{Evidence, Known, statistics_of};
use super::options::Options;
use super::outcome::Judgement;
use super::verdict::{Verdict, settle};
use crate::metric::Metric;
use crate::statistics::Sample;

/// One metric of two variants.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Which.
    pub metric: Metric,
    /// A sample per replication, at least one: of the reference and of the other.
    pub samples: [Vec<Sample>; 2],
    /// The first replications' values over time, one per bin; empty if there are none.
    pub series: [Vec<f64>; 2],
    /// The width of those bins.
    pub bin: Duration,
}

/// The verdict of each, tests of all of them counted together. With `paired`, the n-th replications of both have the same seed and
/// workload, and series are of the same moments. Where there is no interval the verdict is that one cannot tell.
pub fn verdicts(measured: &[Measured], paired: bool, options: &Options) -> Vec<Verdict> {
    let evidence = |one: &Measured| {
        let known = Known {
            metric: one.metric,
            samples: [&one.samples[0], &one.samples[1]],
            series: one.series.clone(),
            bin_ns: one.bin.as_nanos(),
            paired,
            same_workload: paired,
            original: false,
            one_draw: false,
            other_draws: false,
        };
        known.evidence(statistics_of(one.metric), options)
    };
    let mut evidence: Vec<Evidence> = measured.iter().map(evidence).collect();
    settle(evidence.iter_mut().flat_map(|one| &mut one.effects), options);
    let verdict =
        |(one, evidence): (&Measured, Evidence)| Verdict::new(one.metric, evidence, Judgement::CannotTell, options);
    measured.iter().zip(evidence).map(verdict).collect()
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};

    use super::super::{Basis, Outcome};
    use super::*;

    /// Response times of `runs` replications, all `factor` times as long, each run by up to a fiftieth longer or shorter than usual; in
    /// nanoseconds. The same seeds give the same runs.
    fn response_times(seeds: std::ops::Range<u64>, factor: f64) -> Vec<Sample> {
        let run = |seed| {
            let mut stream = Stream::new(seed, Purpose::Durations, 0);
            let of_run = factor * (0.98 + 0.04 * stream.uniform());
            (0..600).map(|_| of_run * 20e6 / (1.0 - stream.uniform()).sqrt()).collect::<Sample>()
        };
        seeds.map(run).collect()
    }

    fn verdict(reference: Vec<Sample>, other: Vec<Sample>, paired: bool) -> Verdict {
        let series = Default::default();
        let measured =
            Measured { metric: Metric::ResponseTime, samples: [reference, other], series, bin: Duration::from_secs(1) };
        verdicts(&[measured], paired, &Options::default()).remove(0)
    }

    #[test]
    fn a_tenth_longer_is_found_where_seeds_are_common() {
        let found = verdict(response_times(0..5, 1.0), response_times(0..5, 1.1), true);
        assert_eq!((found.outcome, found.basis), (Outcome::Different, Basis::PairedReplications));
        assert!(
            found.reason.contains("+10.0 % [") && found.reason.ends_with("; 5 paired replications"),
            "{}",
            found.reason
        );
        assert_eq!(found.effects.len(), 3);
        let median = &found.effects[0];
        assert!((median.ratio.unwrap() - 1.1).abs() < 1e-9);
        let interval = median.ratio_interval.unwrap();
        assert!((interval.low - 1.1).abs() < 1e-9 && (interval.high - 1.1).abs() < 1e-9, "every pair has that ratio");
        // The tail of 600 values varies more from run to run than a tenth: unpaired, five runs do not tell.
        let apart = verdict(response_times(0..5, 1.0), response_times(10..15, 1.02), false);
        assert_eq!((apart.outcome, apart.basis), (Outcome::CannotTell, Basis::Replications), "{}", apart.reason);
        assert!(
            apart.reason.contains("neither within max(500 us, 2 %) nor clear of no difference"),
            "{}",
            apart.reason
        );
        let undecided = apart.effects.iter().filter(|effect| effect.outcome == Outcome::CannotTell);
        assert_eq!(apart.seeds_to_decide, undecided.filter_map(|effect| effect.seeds_to_decide).max());
        assert!(apart.seeds_to_decide.is_some_and(|seeds| seeds > 5), "{apart:?}");
        let said = " seeds would decide if the true difference is as found, ";
        assert!(apart.reason.contains(said) && apart.reason.ends_with(" whatever it is"), "{}", apart.reason);
        assert!(apart.seeds_as_found < apart.seeds_to_decide, "{apart:?}");
    }

    #[test]
    fn a_little_longer_is_the_same() {
        let found = verdict(response_times(0..10, 1.0), response_times(0..10, 1.01), true);
        assert_eq!(found.outcome, Outcome::Same, "{}", found.reason);
        assert!(found.reason.contains(": within max(500 us, 2 %); 10 paired replications"), "{}", found.reason);
    }

    #[test]
    fn few_or_equal_replications_give_no_interval() {
        let few = verdict(response_times(0..4, 1.0), response_times(0..4, 2.0), true);
        assert_eq!((few.basis, few.effects.len()), (Basis::Distance, 0));
        assert!(few.reason.ends_with("4 and 4 replications of the 5 each that an interval needs"), "{}", few.reason);
        let one = response_times(0..1, 1.0).remove(0);
        let alike = verdict(vec![one.clone(); 6], vec![one; 6], true);
        assert!(alike.reason.ends_with("the seeds change nothing"), "{}", alike.reason);
    }

    #[test]
    fn a_long_series_of_one_run_each_is_told_by_its_blocks() {
        let series = |seed, factor: f64| -> Vec<f64> {
            let mut stream = Stream::new(seed, Purpose::Durations, 1);
            (0..1_200).map(|_| 1e6 * factor * (0.5 + stream.uniform())).collect()
        };
        let told = |other: Vec<f64>| {
            let series = [series(0, 1.0), other];
            let samples = series.each_ref().map(|series| vec![Sample::new(series.iter().copied())]);
            let measured = Measured { metric: Metric::Goodput, samples, series, bin: Duration::from_secs(1) };
            verdicts(&[measured], true, &Options::default()).remove(0)
        };
        let less = told(series(0, 0.9));
        assert_eq!((less.outcome, less.basis), (Outcome::Different, Basis::PairedBlocks), "{}", less.reason);
        assert!(less.reason.ends_with("20 paired blocks of 60 s"), "{}", less.reason);
        assert_eq!(told(series(0, 1.001)).outcome, Outcome::Same);
        assert_eq!(told(series(0, 1.0)[..500].to_vec()).basis, Basis::Distance, "too short");
    }
}
