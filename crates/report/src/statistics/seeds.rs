//! How many replications would decide what a few cannot: a power estimate from the spread they show (methods L.3).

use flowloom_models::special::student_quantile;

use super::student::Estimate;

/// How often the number that is stated decides, at least.
const POWER: f64 = 0.8;

/// Replications of each variant after which a difference is called the same (its interval lies within the margin) or different (no
/// difference is improbable at `level`) in four of five cases, whatever the true difference is; `None` without a margin.
///
/// Let s be the spread that `replications` showed: their standard error times the root of their number. After n replications the
/// estimate of a difference d varies by e = s / sqrt(n) around d. It is called the same up to margin - t e, and different from t' e
/// on, with the quantiles t of the interval and t' of the test. Between the two lie (t + t') e - margin. What falls there is not
/// decided, most where d is in its middle: a share of 1 - power if half of that length is the quantile z of 1 - power / 2 times e.
/// So
///
/// n >= (s (t + t' - 2 z) / margin)^2, z = quantile(1 - power / 2).
///
/// The quantiles are Student's with the degrees of freedom of the spread, which is an estimate itself.
pub fn seeds_to_decide(
    estimate: &Estimate,
    replications: f64,
    margin: f64,
    confidence: f64,
    level: f64,
) -> Option<u64> {
    let quantile = |p: f64| student_quantile(p, estimate.degrees);
    let widths =
        quantile(f64::midpoint(1.0, confidence)) + quantile(1.0 - level / 2.0) - 2.0 * quantile(1.0 - POWER / 2.0);
    let spread = estimate.standard_error * replications.sqrt();
    let needed = (spread * widths / margin).powi(2).ceil().max(replications + 1.0);
    (needed < 1e15).then_some(needed as u64)
}

/// The same if the true difference is the one that was estimated: the smaller number after which it is called the same, or different, in four
/// of five cases. An estimate that can not tell is a rough one, and so is this number: it says in which order of magnitude to look.
pub fn seeds_as_found(estimate: &Estimate, replications: f64, margin: f64, confidence: f64, level: f64) -> Option<u64> {
    let quantile = |p: f64| student_quantile(p, estimate.degrees);
    let spread = estimate.standard_error * replications.sqrt();
    let found = estimate.value.abs();
    let of = |width: f64, room: f64| (room > 0.0).then(|| (spread * width / room).powi(2).ceil());
    let power = quantile(POWER);
    let different = of(quantile(1.0 - level / 2.0) + power, found);
    let same = of(quantile(f64::midpoint(1.0, confidence)) + power, margin - found);
    let needed = different.into_iter().chain(same).min_by(f64::total_cmp)?.max(replications + 1.0);
    (needed < 1e15).then_some(needed as u64)
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};

    use super::*;

    /// `n` draws with this mean and spread: sums of twelve uniforms.
    fn draws(stream: &mut Stream, n: u64, mean: f64, spread: f64) -> Vec<f64> {
        (0..n).map(|_| mean + spread * ((0..12).map(|_| stream.uniform()).sum::<f64>() - 6.0)).collect()
    }

    /// Whether an estimate is the same or different, by the law of verdicts.
    fn decides(estimate: &Estimate, margin: f64, level: f64) -> bool {
        let interval = estimate.interval(0.95);
        (interval.low >= -margin && interval.high <= margin) || estimate.p_value() <= level
    }

    /// The share of trials in which the stated number decides, of those that first could not tell.
    fn share(difference: f64, first: u64, paired: bool, level: f64) -> f64 {
        let (margin, spread) = (2.0, 3.0);
        let mut stream = Stream::new(5, Purpose::Durations, first);
        let mut trial = |n: u64| match paired {
            true => Estimate::of_mean(&draws(&mut stream, n, difference, spread)),
            false => {
                let a = draws(&mut stream, n, 100.0, spread);
                Estimate::welch(&a, &draws(&mut stream, n, 100.0 + difference, spread))
            }
        };
        let (mut decided, mut trials) = (0, 0);
        while trials < 400 {
            let estimate = trial(first).unwrap();
            if decides(&estimate, margin, level) {
                continue;
            }
            let stated = seeds_to_decide(&estimate, first as f64, margin, 0.95, level).unwrap();
            assert!(stated > first);
            trials += 1;
            decided += u32::from(decides(&trial(stated).unwrap(), margin, level));
        }
        f64::from(decided) / f64::from(trials)
    }

    #[test]
    fn the_stated_number_decides_in_four_of_five_trials() {
        // No difference; half the margin, which is about the hardest; a little within it and beyond it.
        for difference in [0.0, 1.0, 1.5, 2.5] {
            for (first, paired) in [(5, true), (10, true), (5, false), (10, false)] {
                // One test, and the first of Holm's of seven.
                for level in [0.05, 0.05 / 7.0] {
                    let share = share(difference, first, paired, level);
                    assert!(share >= 0.8, "{difference} {first} {paired} {level}: {share}");
                }
            }
        }
    }

    /// The true difference is the estimate.
    #[test]
    fn the_number_for_what_was_found_decides_that() {
        let (spread, margin, level) = (3.0, 2.0, 0.05);
        for difference in [0.2, 4.0, 8.0] {
            let estimate = Estimate { value: difference, standard_error: spread / 5f64.sqrt(), degrees: 4.0 };
            let stated = seeds_as_found(&estimate, 5.0, margin, 0.95, level).unwrap();
            let mut stream = Stream::new(7, Purpose::Durations, stated);
            let tries = |_: &u64| {
                let found = Estimate::of_mean(&draws(&mut stream, stated, difference, spread)).unwrap();
                decides(&found, margin, level)
            };
            let decided = (0..400u64).filter(tries).count();
            assert!(decided >= 320, "{difference}: {decided} of 400 with {stated}");
        }
        let on_the_margin = Estimate { value: 2.0, standard_error: 1.0, degrees: 1e9 };
        // (sqrt(5) (1.96 + 0.8416) / 2)^2 = 5 * 7.849 / 4 = 9.8
        assert_eq!(seeds_as_found(&on_the_margin, 5.0, 2.0, 0.95, 0.05), Some(10));
        let nothing = Estimate { value: 0.0, standard_error: 1.0, degrees: 9.0 };
        assert_eq!(seeds_as_found(&nothing, 5.0, 0.0, 0.95, 0.05), None);
    }

    #[test]
    fn the_formula() {
        let estimate = Estimate { value: 1.0, standard_error: 1.0, degrees: 1e9 };
        // (sqrt(5) (1.96 + 1.96 - 2 * 0.2533) / 2)^2 = 5 * 11.65 / 4 = 14.6
        assert_eq!(seeds_to_decide(&estimate, 5.0, 2.0, 0.95, 0.05), Some(15));
        assert_eq!(seeds_to_decide(&estimate, 5.0, 0.0, 0.95, 0.05), None);
        assert_eq!(seeds_to_decide(&estimate, 5.0, 1e3, 0.95, 0.05), Some(6), "more than there are");
    }
}
