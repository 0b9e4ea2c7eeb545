//! Body and tail of two distributions, apart (methods L.2): the few large values are not outvoted by the many small ones.

use serde::Serialize;

use super::kolmogorov_smirnov::ks;
use super::sample::Sample;

/// Two samples split at a value.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BodyAndTail {
    /// Values up to this are the body.
    pub at: f64,
    /// Share of the reference's values above it.
    pub reference_above: f64,
    /// The other's.
    pub other_above: f64,
    /// Kolmogorov-Smirnov distance between what both have up to it; null if one has nothing there.
    pub body_ks: Option<f64>,
    /// Between what both are known to have above it.
    pub tail_ks: Option<f64>,
}

/// Splits both samples at `at`; `None` if one is empty, or has unfinished values that may belong to either part.
pub fn body_and_tail(reference: &Sample, other: &Sample, at: f64) -> Option<BodyAndTail> {
    let part = |sample: &Sample, above: bool| -> Sample {
        Sample::from_steps(sample.steps().filter(|(value, _)| (*value > at) == above))
    };
    if [reference, other].into_iter().any(|sample| sample.as_seen().ccdf(at) != sample.ccdf(at)) {
        return None;
    }
    Some(BodyAndTail {
        at,
        reference_above: reference.ccdf(at)?,
        other_above: other.ccdf(at)?,
        body_ks: ks(&part(reference, false), &part(other, false)),
        tail_ks: ks(&part(reference, true), &part(other, true)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{assert_near, x, y};
    use super::*;

    #[test]
    fn the_vectors_of_methods_l2_split_at_one() {
        let split = body_and_tail(&x(), &y(), 1.0).unwrap();
        assert_near(split.reference_above, 0.4, 1e-12);
        assert_near(split.other_above, 0.5, 1e-12);
        // Body .12 .25 .31 .40 .55 .80 and .15 .30 .42 .60 .75: at .40 it is 4/6 against 2/5.
        assert_near(split.body_ks.unwrap(), 4.0 / 6.0 - 2.0 / 5.0, 1e-12);
        // Tail 1.2 2.5 4 9 and 1.1 1.9 3.8 7.5 20: at 9 it is 1 against 4/5, at 1.1 0 against 1/5, at 4 3/4 against 3/5.
        assert_near(split.tail_ks.unwrap(), 0.2, 1e-12);
    }

    #[test]
    fn a_side_without_a_tail_has_no_distance_there() {
        let split = body_and_tail(&x(), &Sample::new([0.1, 0.2]), 1.0).unwrap();
        assert_eq!((split.other_above, split.tail_ks), (0.0, None));
        assert!(split.body_ks.is_some());
        assert_eq!(body_and_tail(&x(), &Sample::default(), 1.0), None);
    }
}
