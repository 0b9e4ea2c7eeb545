//! The Kolmogorov-Smirnov distance, plain (methods L.2) and with a tolerance for small shifts (methods M.6).

use super::sample::{Sample, beside};

/// How far a value may move before it counts as another value: `max(absolute, relative * value)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// In the unit of the sample.
    pub absolute: f64,
    /// As a share of the value.
    pub relative: f64,
}

impl Tolerance {
    /// Times in nanoseconds: max(0.5 ms, 2 %), methods M.6.
    pub const TIME_NS: Tolerance = Tolerance { absolute: 0.5e6, relative: 0.02 };
    /// Counts (connections, packets): max(half a unit, 2 %), so that whole numbers up to 25 must agree.
    pub const COUNT: Tolerance = Tolerance { absolute: 0.5, relative: 0.02 };
    /// Rates and sizes: 2 %.
    pub const RELATIVE: Tolerance = Tolerance { absolute: 0.0, relative: 0.02 };

    /// How far `value` may move.
    pub fn of(self, value: f64) -> f64 {
        self.absolute.max(self.relative * value.abs())
    }
}

/// D = max |F - G|; `None` if a sample is empty.
pub fn ks(f: &Sample, g: &Sample) -> Option<f64> {
    tolerant_ks(f, g, Tolerance { absolute: 0.0, relative: 0.0 })
}

/// The smallest KS distance between the two samples that can be reached when each value of `reference` may move by
/// up to its tolerance; `None` if a sample is empty.
///
/// Moving all values up gives the lowest reachable distribution function, moving all down the highest, and every
/// monotone function between them can be reached (up to steps of 1/n). What `other` exceeds that band by is therefore
/// the distance. Both shifts keep the order of the values as long as the relative tolerance is below 1.
///
/// Unfinished values count as longer than any.
pub fn tolerant_ks(reference: &Sample, other: &Sample, tolerance: Tolerance) -> Option<f64> {
    let (over, under) = excesses(reference, other, tolerance)?;
    Some(over.max(under))
}

/// Between what a distance is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// However long unfinished values last, it is not less.
    pub least: f64,
    /// Nor more.
    pub most: f64,
}

/// Between what the distance of [`tolerant_ks`] is when each unfinished value is at least as long as it was seen to last; `None` if a
/// sample is empty. Without unfinished values both are that.
pub fn tolerant_ks_bounds(reference: &Sample, other: &Sample, tolerance: Tolerance) -> Option<Bounds> {
    if reference.unfinished() + other.unfinished() == 0 {
        let distance = tolerant_ks(reference, other, tolerance)?;
        return Some(Bounds { least: distance, most: distance });
    }
    // A distribution function is highest where values are shortest.
    let (least_over, most_under) = excesses(reference, &other.as_seen(), tolerance)?;
    let (most_over, least_under) = excesses(&reference.as_seen(), other, tolerance)?;
    Some(Bounds { least: least_over.max(least_under), most: most_over.max(most_under) })
}

/// By how much the reference's distribution function is above the other's somewhere, and by how much below.
fn excesses(reference: &Sample, other: &Sample, tolerance: Tolerance) -> Option<(f64, f64)> {
    if reference.is_empty() || other.is_empty() {
        return None;
    }
    let (n, m) = (reference.len() as f64, other.len() as f64);
    // How many of the reference are at most y after moving up, and after moving down.
    let (mut up, mut down) = (reference.steps().peekable(), reference.steps().peekable());
    let (mut lowest, mut highest) = (0, 0);
    let (mut over, mut under): (f64, f64) = (0.0, 0.0);
    let mut below = 0;
    for (y, count) in other.steps() {
        // Just left of y: G is still what it was before y; the band's lower edge counts values strictly left of y.
        while let Some((_, moved)) = up.next_if(|&(value, _)| value + tolerance.of(value) < y) {
            lowest += moved;
        }
        over = over.max(lowest as f64 / n - below as f64 / m);
        // At y: all values equal to y count in G; the band's upper edge counts values up to y.
        below += count;
        while let Some((_, moved)) = down.next_if(|&(value, _)| value - tolerance.of(value) <= y) {
            highest += moved;
        }
        under = under.max(below as f64 / m - highest as f64 / n);
    }
    // Right of all values: what is left of each are its unfinished ones, which are equal to each other.
    Some((over.max(reference.finished() as f64 / n - below as f64 / m), under))
}

/// Where two distribution functions are furthest apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// The value.
    pub x: f64,
    /// F there.
    pub f: f64,
    /// G there.
    pub g: f64,
}

/// The value at which |F - G| is largest, the smallest such; `None` if a sample is empty.
pub fn largest_gap(f: &Sample, g: &Sample) -> Option<Gap> {
    let (n, m) = (f.len() as f64, g.len() as f64);
    if f.is_empty() || g.is_empty() {
        return None;
    }
    let mut largest: Option<Gap> = None;
    for (x, of_f, of_g) in beside(f, g) {
        let gap = Gap { x, f: of_f as f64 / n, g: of_g as f64 / m };
        if largest.is_none_or(|best| (gap.f - gap.g).abs() > (best.f - best.g).abs()) {
            largest = Some(gap);
        }
    }
    largest
}

/// The KS distance that two independent samples of `n` and `m` values from one distribution exceed with probability
/// 5 %: `1.3581 sqrt((n + m) / (n m))`.
pub fn critical_value(n: usize, m: usize) -> f64 {
    let (n, m) = (n as f64, m as f64);
    1.3581 * ((n + m) / (n * m)).sqrt()
}

/// The exact probability that two independent samples of `n` and `m` values without ties have a KS distance of at
/// least `d`. Time grows with `n m`: meant for small samples.
pub fn exact_p_value(d: f64, n: usize, m: usize) -> f64 {
    // The merged order of the samples is a lattice path from (0, 0) to (n, m), all equally likely; `row[j]` is the
    // probability that a path through (i, j) has stayed nearer than d to the diagonal so far.
    let inside = |i: usize, j: usize| (i as f64 / n as f64 - j as f64 / m as f64).abs() < d - 1e-12;
    let mut row: Vec<f64> = vec![0.0; m + 1];
    for i in 0..=n {
        for j in 0..=m {
            row[j] = match (i, j) {
                _ if !inside(i, j) => 0.0,
                (0, 0) => 1.0,
                (0, _) => row[j - 1],
                (_, 0) => row[0],
                _ => (row[j] * i as f64 + row[j - 1] * j as f64) / (i + j) as f64,
            };
        }
    }
    1.0 - row[m]
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{assert_near, x, y};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn unfinished_values_bound_a_distance() {
        let exact = Tolerance { absolute: 0.0, relative: 0.0 };
        let all = Sample::new((1..=10).map(f64::from));
        let cut = |seen: f64| Sample::new((1..=8).map(f64::from)).with_unfinished(&[seen; 2]);
        let bounds = |reference: &Sample, other: &Sample| {
            let Bounds { least, most } = tolerant_ks_bounds(reference, other, exact).unwrap();
            [least, most].map(|distance| (distance * 1e6).round() / 1e6)
        };
        assert_eq!(bounds(&all, &all), [0.0; 2]);
        assert_eq!(bounds(&all, &cut(8.5)), [0.0, 0.2], "they may have ended at 9 and 10");
        assert_eq!(bounds(&cut(8.5), &all), [0.0, 0.2]);
        assert_eq!(bounds(&all, &cut(20.0)), [0.2; 2], "10 of 10 against 8 of 10 up to 20");
        assert_eq!(bounds(&all, &cut(0.5)), [0.0, 0.2], "two at 0.5 are 0.2 off, too");
    }

    #[test]
    fn unfinished_values_are_right_of_all_others() {
        let sample =
            |n: u32, unfinished: usize| Sample::new((1..=n).map(f64::from)).with_unfinished(&vec![0.5; unfinished]);
        let close = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-12, "{a:?} is not {b}");
        close(ks(&sample(8, 2), &sample(8, 2)), 0.0);
        close(ks(&sample(10, 0), &sample(8, 2)), 0.2);
        close(ks(&sample(8, 2), &sample(10, 0)), 0.2);
        close(ks(&sample(8, 2), &sample(0, 10)), 0.8);
        close(ks(&sample(0, 10), &sample(0, 3)), 0.0);
        close(tolerant_ks(&sample(10, 0), &sample(9, 1), Tolerance { absolute: 0.5, relative: 0.0 }), 0.1);
    }

    #[test]
    fn distance_of_methods_l2() {
        assert_near(ks(&x(), &y()).unwrap(), 0.2, 1e-12);
        assert_near(ks(&y(), &x()).unwrap(), 0.2, 1e-12);
        assert_near(exact_p_value(0.2, 10, 10), 0.994_458, 1e-6);
        assert_near(critical_value(10, 10), 0.607_36, 1e-5);
        assert_eq!(ks(&x(), &Sample::default()), None);
    }

    #[test]
    fn atoms_that_moved_a_little_are_near() {
        // 40 ms and 200 ms exchanges, all 0.1 ms later: the plain distance is 1, the tolerant one 0 (methods M.6).
        let original = Sample::new([40e6; 50].into_iter().chain([200e6; 50]));
        let replay = Sample::new([40.1e6; 50].into_iter().chain([200.1e6; 50]));
        assert_eq!(ks(&original, &replay), Some(0.5));
        assert_eq!(tolerant_ks(&original, &replay, Tolerance::TIME_NS), Some(0.0));
        // 2 % of 200 ms is 4 ms: 5 ms later is another value.
        let late = Sample::new([40.1e6; 50].into_iter().chain([205e6; 50]));
        assert_eq!(tolerant_ks(&original, &late, Tolerance::TIME_NS), Some(0.5));
        assert_eq!(tolerant_ks(&late, &original, Tolerance::TIME_NS), Some(0.5));
    }

    /// max |F - G| by its definition.
    fn brute_force(f: &Sample, g: &Sample) -> f64 {
        let points = f.steps().chain(g.steps());
        points.map(|(x, _)| (f.cdf(x).unwrap() - g.cdf(x).unwrap()).abs()).fold(0.0, f64::max)
    }

    proptest! {
        #[test]
        fn without_tolerance_it_is_the_definition(
            a in proptest::collection::vec(0u8..20, 1..30), b in proptest::collection::vec(0u8..20, 1..30),
        ) {
            let (a, b): (Sample, Sample) = (a.into_iter().map(f64::from).collect(), b.into_iter().map(f64::from).collect());
            prop_assert!((ks(&a, &b).unwrap() - brute_force(&a, &b)).abs() < 1e-12);
        }

        #[test]
        fn the_largest_gap_is_the_distance(
            a in proptest::collection::vec(0u8..20, 1..30), b in proptest::collection::vec(0u8..20, 1..30),
        ) {
            let (a, b): (Sample, Sample) = (a.into_iter().map(f64::from).collect(), b.into_iter().map(f64::from).collect());
            let gap = largest_gap(&a, &b).unwrap();
            prop_assert!(((gap.f - gap.g).abs() - ks(&a, &b).unwrap()).abs() < 1e-12);
            prop_assert_eq!((a.cdf(gap.x), b.cdf(gap.x)), (Some(gap.f), Some(gap.g)));
        }

        #[test]
        fn moving_values_within_the_tolerance_costs_nothing(
            values in proptest::collection::vec((1e6f64..1e9, -1.0f64..1.0), 1..40),
        ) {
            let reference: Sample = values.iter().map(|&(value, _)| value).collect();
            let moved: Sample = values
                .iter()
                .map(|&(value, share)| value + share * 0.999 * Tolerance::TIME_NS.of(value))
                .collect();
            prop_assert_eq!(tolerant_ks(&reference, &moved, Tolerance::TIME_NS), Some(0.0));
        }

        #[test]
        fn tolerance_never_adds_distance(
            a in proptest::collection::vec(0f64..3e7, 1..30), b in proptest::collection::vec(0f64..3e7, 1..30),
        ) {
            let (a, b) = (Sample::new(a), Sample::new(b));
            prop_assert!(tolerant_ks(&a, &b, Tolerance::TIME_NS).unwrap() <= ks(&a, &b).unwrap() + 1e-12);
        }
    }
}
