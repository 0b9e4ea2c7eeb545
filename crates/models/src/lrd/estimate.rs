//! An estimate of the Hurst parameter with its standard error.

/// The quantile of the standard normal distribution that leaves 2.5 % above it.
pub(super) const NORMAL_975: f64 = 1.959_963_984_540_054;

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
