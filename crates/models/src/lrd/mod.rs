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
mod estimate;
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
pub use estimate::Estimate;
pub use fit::{Hurst, fit};
pub use local_whittle::{bandwidth, local_whittle};
pub use noise::GaussianNoise;
pub use stationarity::{Part, Stationarity};
pub use wavelet::{Octave, Wavelet, logscale};
pub use whittle::whittle;
