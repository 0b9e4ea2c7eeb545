//! The incomplete gamma function and its inverse: what the gamma law is made of.
//!
//! No crate is used because those there are take logarithms from the platform, and results must not depend on the machine (methods M.11).

/// Beyond this shape the series would take thousands of terms, and the law is normal for every purpose.
pub(super) const MOST_SHAPE: f64 = 1e6;

/// Share of the gamma distribution of `shape` and scale 1 below `x`, and the share above it: P(shape, x) and Q(shape, x),
/// each with its own relative accuracy (DLMF 8.7.1 below the mode, the continued fraction 8.9.2 above).
pub(super) fn shares(shape: f64, x: f64) -> (f64, f64) {
    if x <= 0.0 {
        return (0.0, 1.0);
    }
    if x == f64::INFINITY {
        return (1.0, 0.0);
    }
    let front = density_times_x(shape, x);
    if x < shape + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / shape, 1.0 / shape, shape);
        while term > sum * f64::EPSILON * 0.1 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        let below = (front * sum).min(1.0);
        (below, 1.0 - below)
    } else {
        // Lentz's method; denominators cannot vanish for x > shape.
        let mut b = x + 1.0 - shape;
        let (mut c, mut d) = (1.0 / f64::MIN_POSITIVE, 1.0 / b);
        let mut fraction = d;
        for n in 1..100_000 {
            let n = f64::from(n);
            let a = -n * (n - shape);
            b += 2.0;
            d = 1.0 / not_zero(a * d + b);
            c = not_zero(b + a / c);
            let factor = c * d;
            fraction *= factor;
            if (factor - 1.0).abs() < f64::EPSILON {
                break;
            }
        }
        let above = (front * fraction).min(1.0);
        (1.0 - above, above)
    }
}

fn not_zero(value: f64) -> f64 {
    if value.abs() < f64::MIN_POSITIVE { f64::MIN_POSITIVE } else { value }
}

/// `x` times the density at `x`.
fn density_times_x(shape: f64, x: f64) -> f64 {
    libm::exp(shape * libm::log(x) - x - libm::lgamma(shape))
}

/// The `x` with P(shape, x) = `u`.
pub(super) fn quantile(shape: f64, u: f64) -> f64 {
    if u <= 0.0 {
        return 0.0;
    }
    if u >= 1.0 {
        return f64::INFINITY;
    }
    // The first term of the series gives the left tail, Wilson and Hilferty's cube the rest.
    let left = (libm::log(u) + libm::lgamma(shape + 1.0)) / shape;
    let spread = 1.0 / (9.0 * shape);
    let cube = 1.0 - spread + super::normal::quantile(u) * libm::sqrt(spread);
    let mut at = if cube > 0.3 && shape > 0.5 {
        libm::log(shape) + 3.0 * libm::log(cube)
    } else {
        left.min(libm::log(shape + 20.0))
    };
    if at < -700.0 {
        return libm::exp(left);
    }
    // Newton on the logarithm of the smaller share against that of x, where it bends little and one way only; bisection
    // where a step leaves what is known.
    let (mut low, mut high) = (-745.0, libm::log(shape + 1e4 + 100.0 * libm::sqrt(shape)));
    let upper = u > 0.5;
    for _ in 0..200 {
        let x = libm::exp(at);
        let (below, above) = shares(shape, x);
        let (found, wanted) = if upper { (above, 1.0 - u) } else { (below, u) };
        let too_large = if upper { found < wanted } else { found > wanted };
        *(if too_large { &mut high } else { &mut low }) = at;
        let slope = density_times_x(shape, x) / found;
        let step = (libm::log(found) - libm::log(wanted)) / if upper { -slope } else { slope };
        let next = at - step;
        let next = if next.is_finite() && next > low && next < high { next } else { 0.5 * (low + high) };
        let moved = (next - at).abs();
        at = next;
        if moved <= 4.0 * f64::EPSILON * at.abs().max(1.0) {
            break;
        }
    }
    libm::exp(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, wanted: f64, tolerance: f64) {
        assert!((found / wanted - 1.0).abs() < tolerance, "{found}, not {wanted}");
    }

    /// P(1, x) = 1 - e^-x; P(1/2, x) = erf(sqrt x); for whole shapes Q is a Poisson sum; quantiles of chi-square tables.
    #[test]
    fn shares_are_those_of_closed_forms_and_tables() {
        for x in [1e-6f64, 0.1, 0.9, 1.0, 2.5, 10.0, 40.0] {
            let (below, above) = shares(1.0, x);
            near(below, -(-x).exp_m1(), 1e-14);
            near(above, (-x).exp(), 1e-13);
            near(shares(0.5, x).0, libm::erf(libm::sqrt(x)), 1e-13);
            near(shares(0.5, x).1, libm::erfc(libm::sqrt(x)), 1e-12);
            let poisson: f64 = (-x).exp() * (1.0 + x + x * x / 2.0);
            near(shares(3.0, x).1, poisson, 1e-12);
        }
        // chi-square with 10 degrees of freedom: 0.95 at 18.307038, 0.05 at 3.940299; 1 degree: 0.99 at 6.634897.
        near(2.0 * quantile(5.0, 0.95), 18.307_038_053_275_146, 1e-12);
        near(2.0 * quantile(5.0, 0.05), 3.940_299_136_119_05, 1e-10);
        near(2.0 * quantile(0.5, 0.99), 6.634_896_601_021_214, 1e-12);
        // 100 degrees: 0.99 at 135.806723.
        near(2.0 * quantile(50.0, 0.99), 135.806_723, 1e-8);
    }

    #[test]
    fn quantiles_invert_shares_everywhere() {
        for shape in [0.01, 0.1, 0.3, 0.5, 0.9, 1.0, 1.5, 3.0, 30.0, 1e3, 1e5] {
            for u in [1e-12, 1e-6, 0.01, 0.3, 0.5, 0.500_1, 0.7, 0.99, 1.0 - 1e-6, 1.0 - 1e-12] {
                let x = quantile(shape, u);
                if x < 1e-300 {
                    continue;
                }
                let (below, above) = shares(shape, x);
                let tolerance = 1e-11 * (1.0 + shape.sqrt());
                if u < 0.5 { near(below, u, tolerance) } else { near(above, 1.0 - u, tolerance) }
            }
            assert_eq!(quantile(shape, 0.0), 0.0);
        }
        assert_eq!(quantile(0.01, 1e-12), 0.0, "e^-2800 is no number");
    }
}
