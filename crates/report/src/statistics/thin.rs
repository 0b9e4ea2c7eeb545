//! Fewer points for the same curve.

use super::sample::Sample;

/// A point of a distribution function that stays level until the next point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// The value.
    pub x: f64,
    /// How many values of the sample are larger: an integer keeps both F and the far tail of 1 - F exact.
    pub above: usize,
}

/// Points of the sample's distribution function such that the step curve through them is nowhere further than
/// `error` from the true one, and in the tail nowhere further than 5 % of the remaining share, so that it can be drawn
/// on a logarithmic axis too. With an error of 0.001 that is at most about 1,000 points and 200 more for the tail.
pub fn thin_distribution(sample: &Sample, error: f64) -> Vec<CurvePoint> {
    thin_steps(sample.steps(), sample.len(), error)
}

/// The same of `n` values that come as (value, how many of it), ascending.
pub fn thin_steps(steps: impl IntoIterator<Item = (f64, usize)>, n: usize, error: f64) -> Vec<CurvePoint> {
    let mut points: Vec<CurvePoint> = Vec::new();
    let mut above = n;
    let mut steps = steps.into_iter().peekable();
    while let Some((x, count)) = steps.next() {
        above -= count;
        while let Some((_, count)) = steps.next_if(|step| step.0 == x) {
            above -= count;
        }
        // A point is needed where leaving it out would let the drawn curve, level since the last point, fall behind.
        let needed = points.last().is_none_or(|last| {
            let behind = (last.above - above) as f64;
            above == 0 || behind > error * n as f64 || behind > 0.05 * last.above as f64
        });
        if needed {
            points.push(CurvePoint { x, above });
        }
    }
    points
}

/// A series with several bins made one: what can be drawn of ten million values. NaN stands for a bin without a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ThinnedSeries {
    /// Means of the joined bins.
    pub mean: Vec<f64>,
    /// Their smallest values.
    pub low: Vec<f64>,
    /// Their largest values.
    pub high: Vec<f64>,
}

/// `values` with every `factor` of them joined, the last ones as far as they go. Every value lies between `low` and `high`
/// of its bin, and both are values: no peak is lost, and the largest and the smallest stay. NaN is no value: bins without values
/// are left out of the joined ones, and are NaN where all are.
pub fn thin_series(values: &[f64], factor: usize) -> ThinnedSeries {
    let groups = || values.chunks(factor.max(1));
    // `f64::min` and `f64::max` of NaN and a value are the value.
    ThinnedSeries {
        mean: groups().map(mean_of_known).collect(),
        low: groups().map(|group| group.iter().copied().fold(f64::NAN, f64::min)).collect(),
        high: groups().map(|group| group.iter().copied().fold(f64::NAN, f64::max)).collect(),
    }
}

/// The mean of the values that are not NaN; NaN without any.
pub fn mean_of_known(values: &[f64]) -> f64 {
    let known = || values.iter().filter(|value| !value.is_nan());
    known().sum::<f64>() / known().count() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn drawn(points: &[CurvePoint], n: usize, x: f64) -> f64 {
        let at = points.partition_point(|point| point.x <= x);
        if at == 0 { 0.0 } else { 1.0 - points[at - 1].above as f64 / n as f64 }
    }

    #[test]
    fn a_million_points_become_a_thousand() {
        let sample: Sample = (1..=1_000_000).map(f64::from).collect();
        let points = thin_distribution(&sample, 0.001);
        assert!((900..1_300).contains(&points.len()), "{}", points.len());
        assert_eq!(points[0].x, 1.0);
        assert_eq!(points.last(), Some(&CurvePoint { x: 1e6, above: 0 }));
    }

    #[test]
    fn bins_without_values_are_left_out() {
        let none = f64::NAN;
        let thinned = thin_series(&[2.0, none, none, none, none, 8.0], 2);
        for series in [&thinned.mean, &thinned.low, &thinned.high] {
            assert_eq!((series[0], series[2]), (2.0, 8.0));
            assert!(series[1].is_nan(), "{thinned:?}");
        }
    }

    proptest! {
        #[test]
        fn extremes_and_ends_of_a_distribution_stay(values in proptest::collection::vec(-1e9f64..1e9, 1..800), error in 0.001f64..0.2) {
            let sample: Sample = values.iter().copied().collect();
            let points = thin_distribution(&sample, error);
            prop_assert_eq!(points[0].x, sample.min().unwrap());
            prop_assert_eq!(points.last().map(|point| (point.x, point.above)), sample.max().map(|max| (max, 0)));
            prop_assert!(points.windows(2).all(|pair| pair[0].x < pair[1].x && pair[0].above > pair[1].above));
        }

        #[test]
        fn no_value_of_a_series_leaves_its_band(values in proptest::collection::vec(-1e9f64..1e9, 1..500), factor in 1usize..40) {
            let thinned = thin_series(&values, factor);
            prop_assert_eq!(thinned.mean.len(), values.len().div_ceil(factor));
            for (at, value) in values.iter().enumerate() {
                let bin = at / factor;
                prop_assert!(thinned.low[bin] <= *value && *value <= thinned.high[bin]);
                // How far the drawn mean can be from any value is what the band shows.
                prop_assert!((thinned.mean[bin] - value).abs() <= (thinned.high[bin] - thinned.low[bin]) * (1.0 + 1e-9) + 1e-6);
            }
            let (low, high) = (values.iter().copied().fold(f64::MAX, f64::min), values.iter().copied().fold(f64::MIN, f64::max));
            prop_assert_eq!(thinned.low.iter().copied().fold(f64::MAX, f64::min), low);
            prop_assert_eq!(thinned.high.iter().copied().fold(f64::MIN, f64::max), high);
            prop_assert!(thinned.low[0] <= values[0] && values[0] <= thinned.high[0]);
            let last = values[values.len() - 1];
            prop_assert!(*thinned.low.last().unwrap() <= last && last <= *thinned.high.last().unwrap());
        }

        #[test]
        fn the_error_is_kept(values in proptest::collection::vec(0u16..400, 1..800)) {
            let sample: Sample = values.iter().map(|&value| f64::from(value)).collect();
            let points = thin_distribution(&sample, 0.01);
            for x in 0..400 {
                let x = f64::from(x);
                prop_assert!((drawn(&points, sample.len(), x) - sample.cdf(x).unwrap()).abs() <= 0.01 + 1e-9);
            }
        }
    }
}
