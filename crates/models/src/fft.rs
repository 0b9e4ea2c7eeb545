//! The fast Fourier transform.

use std::f64::consts::PI;

/// A complex number: real and imaginary part.
pub(crate) type Complex = (f64, f64);

/// The product of two complex numbers.
pub(crate) fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

/// Transforms of one length. The result is the same on every machine: sines are the portable ones.
#[derive(Clone, Debug)]
pub(crate) struct Fft {
    /// exp(-2 pi i k / n) for k below n / 2.
    roots: Vec<Complex>,
}

impl Fft {
    /// Of `length` values, a power of two.
    pub(crate) fn new(length: usize) -> Fft {
        debug_assert!(length.is_power_of_two());
        let root = |k: usize| {
            let angle = -2.0 * PI * k as f64 / length as f64;
            (libm::cos(angle), libm::sin(angle))
        };
        Fft { roots: (0..length / 2).map(root).collect() }
    }

    /// Replaces x by X, X_k = sum over t of x_t exp(-2 pi i k t / n), in place.
    pub(crate) fn forward(&self, values: &mut [Complex]) {
        let length = values.len();
        debug_assert_eq!(self.roots.len(), length / 2);
        let bits = length.trailing_zeros();
        for index in 0..length {
            let mirrored = index.reverse_bits().wrapping_shr(usize::BITS - bits);
            if bits > 0 && index < mirrored {
                values.swap(index, mirrored);
            }
        }
        let mut half = 1;
        while half < length {
            let step = length / (2 * half);
            for block in values.chunks_exact_mut(2 * half) {
                let (low, high) = block.split_at_mut(half);
                for ((low, high), root) in low.iter_mut().zip(high).zip(self.roots.iter().step_by(step)) {
                    let turned = times(*high, *root);
                    (*low, *high) = ((low.0 + turned.0, low.1 + turned.1), (low.0 - turned.0, low.1 - turned.1));
                }
            }
            half *= 2;
        }
    }
}

/// The transform of `values` of any length: of a power of two as above, of others by Bluestein's convolution with chirps.
pub(crate) fn transform(values: &mut Vec<Complex>) {
    let length = values.len();
    if length.is_power_of_two() {
        return Fft::new(length).forward(values);
    }
    if length == 0 {
        return;
    }
    // kt = (k^2 + t^2 - (k - t)^2) / 2. Squares are taken modulo 2n in integers, so that angles stay small.
    let chirp = |t: usize| {
        let square = (t as u128 * t as u128 % (2 * length as u128)) as f64;
        let angle = -PI * square / length as f64;
        (libm::cos(angle), libm::sin(angle))
    };
    let chirps: Vec<Complex> = (0..length).map(chirp).collect();
    let padded = (2 * length - 1).next_power_of_two();
    let fft = Fft::new(padded);
    let mut kernel = vec![(0.0, 0.0); padded];
    for (t, chirp) in chirps.iter().enumerate() {
        let conjugate = (chirp.0, -chirp.1);
        kernel[t] = conjugate;
        kernel[(padded - t) % padded] = conjugate;
    }
    fft.forward(&mut kernel);
    values.iter_mut().zip(&chirps).for_each(|(value, chirp)| *value = times(*value, *chirp));
    values.resize(padded, (0.0, 0.0));
    fft.forward(values);
    // The inverse transform is the forward one of the conjugate, conjugate and divided by the length.
    for (value, kernel) in values.iter_mut().zip(&kernel) {
        let product = times(*value, *kernel);
        *value = (product.0, -product.1);
    }
    fft.forward(values);
    values.truncate(length);
    for (value, chirp) in values.iter_mut().zip(&chirps) {
        *value = times((value.0 / padded as f64, -value.1 / padded as f64), *chirp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_sum_that_defines_it() {
        transform(&mut Vec::new());
        for length in [1, 2, 3, 8, 15, 31, 32, 100] {
            let given: Vec<Complex> = (0..length).map(|t| ((t * t % 7) as f64 - 2.0, (3 * t % 5) as f64)).collect();
            let mut found = given.clone();
            transform(&mut found);
            for (k, found) in found.into_iter().enumerate() {
                let wanted = given.iter().enumerate().fold((0.0, 0.0), |sum, (t, value)| {
                    let angle = -2.0 * PI * (k * t) as f64 / length as f64;
                    let term = times(*value, (angle.cos(), angle.sin()));
                    (sum.0 + term.0, sum.1 + term.1)
                });
                assert!((found.0 - wanted.0).abs() < 1e-11 && (found.1 - wanted.1).abs() < 1e-11, "{length} {k}");
            }
        }
    }
}
