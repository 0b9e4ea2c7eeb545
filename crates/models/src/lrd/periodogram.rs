//! The periodogram of a series (methods D.6).

use crate::fft::{Complex, transform};

/// (l_k, I(l_k)) at the Fourier frequencies l_k = 2 pi k / n between 0 and pi: I = |sum (x_t - mean) e^(-i l t)|^2 / (2 pi n).
pub(super) fn periodogram(series: &[f64]) -> Vec<(f64, f64)> {
    let n = series.len() as f64;
    let mean = series.iter().sum::<f64>() / n;
    let mut values: Vec<Complex> = series.iter().map(|x| (x - mean, 0.0)).collect();
    transform(&mut values);
    let last = series.len().saturating_sub(1) / 2;
    let power = |value: &Complex| (value.0 * value.0 + value.1 * value.1) / (std::f64::consts::TAU * n);
    values
        .iter()
        .enumerate()
        .skip(1)
        .take(last)
        .map(|(k, value)| (std::f64::consts::TAU * k as f64 / n, power(value)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::vectors::near;
    use super::*;

    #[test]
    fn a_wave_is_at_its_frequency() {
        for n in [60usize, 61] {
            let wave: Vec<f64> =
                (0..n).map(|t| 5.0 + (std::f64::consts::TAU * 7.0 * t as f64 / n as f64).cos()).collect();
            let found = periodogram(&wave);
            assert_eq!(found.len(), (n - 1) / 2);
            for (k, (frequency, power)) in found.into_iter().enumerate() {
                near(frequency, std::f64::consts::TAU * (k + 1) as f64 / n as f64, 1e-12);
                near(power, if k == 6 { n as f64 / 4.0 / std::f64::consts::TAU } else { 0.0 }, 1e-9);
            }
        }
        assert_eq!((periodogram(&[]), periodogram(&[1.0, 2.0])), (vec![], vec![]));
    }
}
