//! What sources of correlated sizes need of the normal distribution.

use flowloom_core::distribution::{normal_below, normal_quantile};
use flowloom_core::rng::Stream;

/// Gaussian noise with memory: x(t) = a1 x(t-1) + a2 x(t-2) + e(t), of which e has mean 0 and standard deviation `sd`.
#[derive(Clone, Debug)]
pub struct Autoregressive {
    weights: [f64; 2],
    sd: f64,
    /// The latest and the one before.
    before: [f64; 2],
}

impl Autoregressive {
    /// From zero on.
    pub fn new(weights: [f64; 2], sd: f64) -> Autoregressive {
        Autoregressive { weights, sd, before: [0.0; 2] }
    }

    /// Whether it does not grow without bounds: the triangle of stationary processes of second order.
    pub fn is_stationary(weights: [f64; 2]) -> bool {
        let [first, second] = weights;
        second.abs() < 1.0 && first + second < 1.0 && second - first < 1.0
    }

    /// The next value: one number of `stream`.
    pub fn next(&mut self, stream: &mut Stream) -> f64 {
        let [latest, earlier] = self.before;
        let value = self.weights[0] * latest + self.weights[1] * earlier + self.sd * gauss(stream);
        self.before = [value, latest];
        value
    }
}

/// A standard normal value: one number of `stream`. The lowest number, of which the quantile is infinite, counts as half a step.
pub fn gauss(stream: &mut Stream) -> f64 {
    normal_quantile(stream.uniform().max(0.5 / (1u64 << 53) as f64))
}

/// The share of the standard normal distribution below `x`.
pub fn below(x: f64) -> f64 {
    normal_below(x)
}
