//! Special functions that estimates and tests need, with portable logarithms (methods M.11).

/// The derivative of ln Gamma, for `x` above zero (DLMF 5.5.2 up to 10, 5.11.2 from there).
pub fn digamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum -= 1.0 / x;
        x += 1.0;
    }
    let square = 1.0 / (x * x);
    const TERMS: [f64; 6] = [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32_760.0];
    let series = TERMS.iter().rev().fold(0.0, |sum, term| (sum + term) * square);
    sum + libm::log(x) - 0.5 / x - series
}

/// The derivative of [`digamma`], the Hurwitz zeta function of 2 at `x` (DLMF 5.15.8).
pub fn trigamma(mut x: f64) -> f64 {
    let mut sum = 0.0;
    while x < 10.0 {
        sum += 1.0 / (x * x);
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    sum + 1.0 / x
        + r / 2.0
        + r / x * (1.0 / 6.0 - r * (1.0 / 30.0 - r * (1.0 / 42.0 - r * (1.0 / 30.0 - r * 5.0 / 66.0))))
}

/// Share of Student's law above `t`.
pub fn student_above(t: f64, degrees: f64) -> f64 {
    if t < 0.0 {
        return 1.0 - student_above(-t, degrees);
    }
    0.5 * beta_share(degrees / (degrees + t * t), degrees / 2.0, 0.5)
}

/// Quantile of Student's law, by bisection of its distribution function; symmetric, so that only the upper half is searched.
pub fn student_quantile(u: f64, degrees: f64) -> f64 {
    if u < 0.5 {
        return -student_quantile(1.0 - u, degrees);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while student_above(high, degrees) > 1.0 - u && high < 1e12 {
        high *= 2.0;
    }
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if student_above(middle, degrees) > 1.0 - u { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function I_x(a, b), by its continued fraction (DLMF 8.17.22) from the front.
pub fn beta_share(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_share(1.0 - x, b, a);
    }
    let log = a * libm::log(x) + b * libm::log1p(-x) + libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    // Convergents A / B of 1 / (1 + d1 / (1 + d2 / (1 + ...))), scaled so that B stays 1.
    let (mut above, mut below) = ((0.0, 1.0), (1.0, 1.0));
    for step in 1..500 {
        let m = f64::from(step / 2);
        let d = match step % 2 {
            0 => m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m)),
            _ => -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0)),
        };
        let next = (above.1 + d * above.0, below.1 + d * below.0);
        let scaled = (next.0 / next.1, above.1 / next.1, below.1 / next.1);
        let is_close = (scaled.0 - above.1).abs() <= 1e-15 * scaled.0.abs();
        (above, below) = ((scaled.1, scaled.0), (scaled.2, 1.0));
        if is_close {
            break;
        }
    }
    libm::exp(log) / a * above.1
}

/// P(X > x) of a gamma variable with this `shape`, above zero, and scale 1: by the series below the shape (DLMF 8.11.4), by the
/// continued fraction above it (8.9.2).
pub fn gamma_above(shape: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    if x <= 0.0 {
        return 1.0;
    }
    let front = libm::exp(shape * libm::log(x) - x - libm::lgamma(shape));
    if x < shape + 1.0 {
        let mut term = 1.0 / shape;
        let mut sum = term;
        let mut n = shape;
        while term > sum * 1e-17 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return (1.0 - front * sum).max(0.0);
    }
    let mut b = x + 1.0 - shape;
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let mut fraction = d;
    // Terms that are needed grow with the square root of the shape.
    for i in 1..10_000 {
        let i = f64::from(i);
        let a = -i * (i - shape);
        b += 2.0;
        d = 1.0 / away_from_zero(a * d + b, TINY);
        c = away_from_zero(b + a / c, TINY);
        fraction *= c * d;
        if (c * d - 1.0).abs() < 1e-16 {
            break;
        }
    }
    front * fraction
}

/// P(X > x) of a chi-square variable.
pub fn chi_square_above(x: f64, degrees: u32) -> f64 {
    gamma_above(f64::from(degrees) / 2.0, x / 2.0)
}

fn away_from_zero(x: f64, tiny: f64) -> f64 {
    if x.abs() < tiny { tiny } else { x }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, wanted: f64, tolerance: f64) {
        assert!((found / wanted - 1.0).abs() < tolerance, "{found}, not {wanted}");
    }

    #[test]
    fn known_values() {
        const EULER: f64 = 0.577_215_664_901_532_9;
        near(digamma(1.0), -EULER, 1e-14);
        near(digamma(0.5), -EULER - 2.0 * std::f64::consts::LN_2, 1e-14);
        near(digamma(10.0), 2.251_752_589_066_721, 1e-14);
        near(digamma(1e-3), -1_000.575_571_931_834, 1e-12);
        let squared = std::f64::consts::PI * std::f64::consts::PI;
        near(trigamma(1.0), squared / 6.0, 1e-12);
        near(trigamma(0.5), squared / 2.0, 1e-12);
    }

    /// Known quantiles: Cauchy's are tangents, those of two degrees a formula, those of ten from tables.
    #[test]
    fn quantiles_of_student() {
        for u in [0.05_f64, 0.3, 0.5, 0.9, 0.999] {
            let cauchy = (std::f64::consts::PI * (u - 0.5)).tan();
            let two = (2.0 * u - 1.0) / (2.0 * u * (1.0 - u)).sqrt();
            for (degrees, wanted) in [(1.0, cauchy), (2.0, two)] {
                let found = student_quantile(u, degrees);
                assert!(
                    (found - wanted).abs() <= 1e-9 * wanted.abs().max(1.0),
                    "{u}, {degrees}: {found}, not {wanted}"
                );
            }
        }
        assert!((student_quantile(0.975, 10.0) - 2.228_138_851_964_939).abs() < 1e-9);
        // Methods G.7.
        assert!((student_quantile(0.975, 9.0) - 2.262_157).abs() < 1e-6);
        assert!((student_quantile(0.975, 19.0) - 2.093_024).abs() < 1e-6);
    }

    #[test]
    fn shares_of_student() {
        for degrees in [1.0, 4.0, 7.770_663_9, 200.0] {
            for u in [0.001, 0.2, 0.5, 0.975] {
                let t = student_quantile(u, degrees);
                assert!((1.0 - student_above(t, degrees) - u).abs() < 1e-12, "{u}, {degrees}");
            }
        }
        assert!((student_above(1.0, 1.0) - 0.25).abs() < 1e-14, "Cauchy's quartile");
    }

    #[test]
    fn gamma_and_chi_square_above() {
        // Of shape 1 it is exponential; of two and four degrees of freedom there are closed forms.
        for x in [1e-3, 0.5, 1.0, 2.5, 30.0, 700.0] {
            near(gamma_above(1.0, x), libm::exp(-x), 1e-12);
            near(chi_square_above(2.0 * x, 4), (1.0 + x) * libm::exp(-x), 1e-12);
            near(gamma_above(0.5, x), libm::erfc(libm::sqrt(x)), 1e-10);
        }
        assert_eq!((gamma_above(2.0, 0.0), chi_square_above(-1.0, 3)), (1.0, 1.0));
        // From tables of quantiles.
        for (x, degrees) in
            [(3.841_458_820_694, 1), (11.070_497_693_516, 5), (67.504_806_549_541, 50), (1_074.679_449, 1_000)]
        {
            near(chi_square_above(x, degrees), 0.05, 1e-7);
        }
    }
}
