//! Fewer points for the same curve.

use super::Sample;

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

    proptest! {
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
