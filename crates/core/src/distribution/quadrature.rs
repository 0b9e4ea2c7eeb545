//! Integrals of what is smooth between known places.

/// The integral of `f` over the intervals between neighbours in `places`, which ascend: Gauss and Legendre's seven points against
/// two halves, halved until they agree.
pub(super) fn integral(places: &[f64], f: &dyn Fn(f64) -> f64) -> f64 {
    let pieces = places.windows(2).filter(|pair| pair[1] > pair[0]);
    let pieces: Vec<(f64, f64, f64)> = pieces.map(|pair| (pair[0], pair[1], seven(pair[0], pair[1], f))).collect();
    let scale: f64 = pieces.iter().map(|piece| piece.2.abs()).sum();
    pieces.into_iter().map(|(from, to, whole)| refined(from, to, whole, scale * 1e-13, 30, f)).sum()
}

fn refined(from: f64, to: f64, whole: f64, tolerance: f64, depth: u32, f: &dyn Fn(f64) -> f64) -> f64 {
    let middle = 0.5 * (from + to);
    let (left, right) = (seven(from, middle, f), seven(middle, to, f));
    if depth == 0 || (left + right - whole).abs() <= tolerance.max(1e-12 * whole.abs()) {
        return left + right;
    }
    refined(from, middle, left, tolerance * 0.5, depth - 1, f)
        + refined(middle, to, right, tolerance * 0.5, depth - 1, f)
}

fn seven(from: f64, to: f64, f: &dyn Fn(f64) -> f64) -> f64 {
    // Abscissae and weights: Abramowitz and Stegun, table 25.4.
    const SIDES: [(f64, f64); 3] = [
        (0.405_845_151_377_397_2, 0.381_830_050_505_118_9),
        (0.741_531_185_599_394_4, 0.279_705_391_489_276_7),
        (0.949_107_912_342_758_5, 0.129_484_966_168_869_7),
    ];
    const MIDDLE: f64 = 0.417_959_183_673_469_4;
    let (centre, half) = (0.5 * (from + to), 0.5 * (to - from));
    let sum = SIDES.iter().map(|(at, weight)| weight * (f(centre - half * at) + f(centre + half * at))).sum::<f64>();
    half * (sum + MIDDLE * f(centre))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_integrals() {
        let found = integral(&[0.0, 1.0, 5.0], &|x| libm::exp(-x));
        assert!((found - (1.0 - (-5.0f64).exp())).abs() < 1e-13, "{found}");
        // A kink that no place names.
        let found = integral(&[0.0, 1.0], &|x| (x - 0.3).abs());
        assert!((found - 0.29).abs() < 1e-10, "{found}");
        assert_eq!(integral(&[2.0, 2.0], &|x| x), 0.0);
    }
}
