//! Long-range dependence of counts in equal bins (methods D).
//!
//! | file | holds |
//! |---|---|
//! | `wavelet` | wavelet coefficients and the logscale diagram (methods D.1, D.2) |
//! | `fit` | the Hurst parameter by a weighted fit of a diagram, its interval and goodness (methods D.3) |
//! | `choice` | which octaves a fit uses (methods D.4) |
//! | `aggregated` | variance-time and rescaled range, which are pictures (methods D.6) |
//! | `periodogram`, `whittle`, `local_whittle` | estimates in the frequency domain (methods D.6) |
//! | `noise` | exact fractional Gaussian noise (methods D.7) |
//! | `stationarity` | whether the parts of a series agree (methods D.8) |

mod aggregated;
mod choice;
mod fit;
mod local_whittle;
mod minimum;
mod noise;
mod periodogram;
mod stationarity;
#[cfg(test)]
mod vectors;
mod wavelet;
mod whittle;

pub use aggregated::{rescaled_range, variance_time};
pub use choice::{Fits, hurst, last_octave};
pub use fit::{Hurst, fit};
pub use local_whittle::{bandwidth, local_whittle};
pub use noise::GaussianNoise;
pub use stationarity::{Part, Stationarity};
pub use wavelet::{Octave, Wavelet, logscale};
pub use whittle::whittle;

/// The quantile of the standard normal distribution that leaves 2.5 % above it.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// An estimate of the Hurst parameter and its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The Hurst parameter.
    pub h: f64,
    /// Its standard error.
    pub standard_error: f64,
}

impl Estimate {
    /// The 95 % confidence interval.
    pub fn interval(&self) -> (f64, f64) {
        let half = NORMAL_975 * self.standard_error;
        (self.h - half, self.h + half)
    }
}
