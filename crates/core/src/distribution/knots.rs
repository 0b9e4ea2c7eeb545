//! Distribution functions given by knots: linear between them (methods G.2), or linear between logarithms with a Pareto tail
//! (methods F.3).

use std::f64::consts::LN_2;

/// Where the interpolated distribution function reaches `u`: knots are (value, cumulative probability). Up to the first knot's
/// probability it is the first value; of knots with equal probability the last begins the next piece.
pub(super) fn linear_quantile(knots: &[(f64, f64)], u: f64) -> f64 {
    let next = knots.partition_point(|&(_, y)| y < u);
    match (next.checked_sub(1).map(|before| knots[before]), knots.get(next)) {
        (None, first) => first.map_or(0.0, |knot| knot.0),
        (Some(last), None) => last.0,
        (Some((x0, y0)), Some(&(x1, y1))) => x0 + (u - y0) * (x1 - x0) / (y1 - y0),
    }
}

/// The share up to `x`.
pub(super) fn linear_share(knots: &[(f64, f64)], x: f64) -> f64 {
    let next = knots.partition_point(|knot| knot.0 <= x);
    match (next.checked_sub(1).map(|before| knots[before]), knots.get(next)) {
        (None, _) => 0.0,
        (Some(_), None) => 1.0,
        (Some((x0, y0)), Some(&(x1, y1))) => y0 + (y1 - y0) * (x - x0) / (x1 - x0),
    }
}

/// The mean.
pub(super) fn linear_mean(knots: &[(f64, f64)]) -> f64 {
    let first = knots.first().map_or(0.0, |(x, y)| x * y);
    let pieces = knots.windows(2).map(|pair| 0.5 * (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0));
    // What the last knot lacks of 1, if it was written with few digits, is at the last value.
    let last = knots.last().map_or(0.0, |(x, y)| x * (1.0 - y));
    first + pieces.sum::<f64>() + last
}

/// The piece of log-log knots (v = log2 P(X > x), y = log2 x, ascending in v) at which `place` says no to a knot for the first
/// time, as (v, y, slope); the first and the last piece go on beyond their knots.
fn piece(knots: &[(f64, f64)], place: impl Fn(&(f64, f64)) -> bool) -> (f64, f64, f64) {
    let at = knots.partition_point(place).clamp(1, knots.len() - 1);
    let ((v0, y0), (v1, y1)) = (knots[at - 1], knots[at]);
    (v0, y0, (y1 - y0) / (v1 - v0))
}

/// The value above which a share 1 - `u` lies.
pub(super) fn log_log_quantile(knots: &[(f64, f64)], u: f64) -> f64 {
    let v = libm::log1p(-u) / LN_2;
    let (v0, y0, slope) = piece(knots, |knot| knot.0 < v);
    libm::exp2(y0 + (v - v0) * slope)
}

/// The share above `x`.
pub(super) fn log_log_above(knots: &[(f64, f64)], x: f64) -> f64 {
    let y = libm::log2(x);
    let (v0, y0, slope) = piece(knots, |knot| knot.1 > y);
    libm::exp2((v0 + (y - y0) / slope).min(0.0))
}

/// The tail index: by the slope of the first piece.
pub(super) fn log_log_tail(knots: &[(f64, f64)]) -> f64 {
    let (_, _, slope) = piece(knots, |_| false);
    -1.0 / slope
}

/// The mean by the integral of each piece; `None` if that of the tail is infinite.
pub(super) fn log_log_mean(knots: &[(f64, f64)]) -> Option<f64> {
    if log_log_tail(knots) <= 1.0 {
        return None;
    }
    // With u = 1 - 2^v: integral of 2^y ln 2 2^v dv, y = y0 + slope (v - v0).
    let up_to = |(v0, y0, slope): (f64, f64, f64), v: f64| libm::exp2(y0 + slope * (v - v0) + v) / (slope + 1.0);
    let between = |piece: (f64, f64, f64), from: f64, to: f64| {
        let (v0, y0, slope) = piece;
        if (slope + 1.0).abs() < 1e-9 {
            return LN_2 * (to - from) * libm::exp2(y0 - slope * v0);
        }
        up_to(piece, to) - up_to(piece, from)
    };
    let last = knots.len() - 1;
    let tail = up_to(piece(knots, |_| false), knots[1].0);
    let pieces = (2..=last).map(|at| {
        let to = if at == last { 0.0 } else { knots[at].0 };
        between(piece(knots, |knot| knot.0 < knots[at].0), knots[at - 1].0, to)
    });
    // With two knots the first piece is the last too.
    let alone = if last == 1 { between(piece(knots, |_| false), knots[1].0, 0.0) } else { 0.0 };
    Some(tail + pieces.sum::<f64>() + alone)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Methods G.2.
    const G2: [(f64, f64); 5] = [(0.0, 0.0), (10.0, 0.1), (20.0, 0.4), (100.0, 0.7), (400.0, 1.0)];

    #[test]
    fn inverse_transform_of_methods_g2() {
        for (u, x) in [(0.05, 5.0), (0.1, 10.0), (0.3, 16.666_666_7), (0.55, 60.0), (0.9, 300.0), (0.95, 350.0)] {
            let found = linear_quantile(&G2, u);
            assert!((found - x).abs() < 1e-6, "{u}: {found}");
            assert!((linear_share(&G2, found) - u).abs() < 1e-12);
        }
        assert!((linear_mean(&G2) - (0.5 + 4.5 + 18.0 + 75.0)).abs() < 1e-12);
    }

    #[test]
    fn a_first_knot_above_zero_is_an_atom_and_a_flat_part_is_skipped() {
        let knots = [(1.0, 0.2), (3.0, 0.5), (7.0, 0.5), (9.0, 1.0)];
        assert_eq!([0.0, 0.1, 0.2].map(|u| linear_quantile(&knots, u)), [1.0; 3]);
        assert_eq!(linear_quantile(&knots, 0.5), 3.0, "r up to y_i stays in the piece before");
        assert!(linear_quantile(&knots, 0.500_001) > 7.0);
        assert_eq!(
            [0.999, 1.0, 3.0, 5.0, 7.0, 8.0, 9.0].map(|x| linear_share(&knots, x)),
            [0.0, 0.2, 0.5, 0.5, 0.5, 0.75, 1.0]
        );
        assert!((linear_mean(&knots) - (0.2 + 0.6 + 4.0)).abs() < 1e-12);
    }

    /// Sizes of downloads: methods F.3.
    const F3: [(f64, f64); 18] = [
        (-18.179, 25.876),
        (-5.694, 15.739),
        (-5.143, 15.378),
        (-4.959, 15.3),
        (-4.225, 15.098),
        (-4.041, 15.004),
        (-3.674, 14.693),
        (-2.94, 13.925),
        (-2.205, 13.344),
        (-2.022, 13.148),
        (-1.838, 12.9),
        (-1.654, 12.601),
        (-1.471, 12.251),
        (-1.287, 11.854),
        (-1.103, 11.413),
        (-0.736, 10.41),
        (-0.369, 9.289),
        (-0.002, 8.108),
    ];

    #[test]
    fn response_sizes_of_methods_f3() {
        assert!((log_log_tail(&F3) - 1.2316).abs() < 5e-5, "{}", log_log_tail(&F3));
        let quantiles = [
            (0.1, 385.5),
            (0.25, 689.6),
            (0.5, 2_243.5),
            (0.75, 8_892.3),
            (0.9, 20_518.0),
            (0.95, 35_726.0),
            (0.99, 93_341.0),
        ];
        for (u, bytes) in quantiles {
            let found = log_log_quantile(&F3, u);
            assert!((found / bytes - 1.0).abs() < 1e-4, "{u}: {found}");
            assert!((log_log_above(&F3, found) - (1.0 - u)).abs() < 1e-12);
        }
        let mean = log_log_mean(&F3).unwrap();
        assert!((mean - 11_869.3).abs() < 0.1, "{mean}");
    }

    /// Sizes of large requests: methods F.4.
    #[test]
    fn request_sizes_of_methods_f4() {
        let knots = [
            (-17.779, 19.758),
            (-3.598, 10.209),
            (-3.06, 9.935),
            (-2.342, 9.769),
            (-1.983, 9.647),
            (-0.906, 8.955),
            (-0.547, 8.827),
            (-0.008, 8.728),
        ];
        assert!((log_log_tail(&knots) - 1.485).abs() < 5e-4);
        for (u, bytes) in [(0.75, 517.5), (0.9, 868.4), (0.95, 1_073.7), (0.99, 3_075.5)] {
            let found = log_log_quantile(&knots, 2.0 * u - 1.0);
            assert!((found / bytes - 1.0).abs() < 1e-4, "{u}: {found}");
        }
    }

    #[test]
    fn two_knots_are_a_pareto_law() {
        // From 2^8 with tail index 2: mean 512.
        let knots = [(-10.0, 13.0), (0.0, 8.0)];
        assert!((log_log_mean(&knots).unwrap() - 512.0).abs() < 1e-9);
        assert_eq!(log_log_mean(&[(-1.0, 9.5), (0.0, 8.0)]), None);
        assert_eq!((log_log_quantile(&knots, 0.0), log_log_above(&knots, 100.0)), (256.0, 1.0));
    }
}
