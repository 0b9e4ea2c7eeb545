//! Special functions that estimates need.

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
}
