//! The Wasserstein-1 distance, plain and of log10 values (methods L.2).

use super::sample::{Sample, beside};

/// Integral of |F - G|, in the unit of the samples: how far a value has to move on average. `None` if a sample is empty or
/// has unfinished values.
pub fn wasserstein(f: &Sample, g: &Sample) -> Option<f64> {
    if f.is_empty() || g.is_empty() || f.unfinished() + g.unfinished() > 0 {
        return None;
    }
    Some(area_between(f, g, |value| value))
}

/// The distance of the logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogWasserstein {
    /// Integral of |F - G| over log10 of the value.
    pub distance: f64,
    /// `10^distance`: the typical factor between the samples.
    pub factor: f64,
    /// Values of both samples below the floor, counted as the floor.
    pub floored: usize,
}

/// Wasserstein-1 of log10 values; values below `floor` (above zero; a clock's resolution) count as `floor`. `None` if a
/// sample is empty or has unfinished values.
pub fn wasserstein_log10(f: &Sample, g: &Sample, floor: f64) -> Option<LogWasserstein> {
    if f.is_empty() || g.is_empty() || f.unfinished() + g.unfinished() > 0 {
        return None;
    }
    let distance = area_between(f, g, |value| libm::log10(value.max(floor)));
    let below =
        |sample: &Sample| sample.steps().take_while(|&(value, _)| value < floor).map(|(_, count)| count).sum::<usize>();
    Some(LogWasserstein { distance, factor: libm::exp10(distance), floored: below(f) + below(g) })
}

/// The area between two distribution functions over the axis `scale` makes of the values; `scale` must be monotone.
fn area_between(f: &Sample, g: &Sample, scale: impl Fn(f64) -> f64) -> f64 {
    let (n, m) = (f.len() as f64, g.len() as f64);
    let (mut area, mut height) = (0.0, 0.0);
    let mut last = None;
    for (value, of_f, of_g) in beside(f, g) {
        let here = scale(value);
        area += height * (here - last.unwrap_or(here));
        height = (of_f as f64 / n - of_g as f64 / m).abs();
        last = Some(here);
    }
    area
}

#[cfg(test)]
mod tests {
    use super::super::vectors::{assert_near, x, y};
    use super::*;

    #[test]
    fn distances_of_methods_l2() {
        assert_near(wasserstein(&x(), &y()).unwrap(), 1.739, 1e-12);
        let log = wasserstein_log10(&x(), &y(), 1e-9).unwrap();
        assert_near(log.distance, 0.175_827_608_8, 1e-10);
        assert_near(log.distance * core::f64::consts::LN_10, 0.404_858_031_0, 1e-9);
        assert_near(log.factor, 1.499_09, 1e-4);
        assert_eq!(log.floored, 0);
    }

    #[test]
    fn zeros_are_floored_and_counted() {
        let log = wasserstein_log10(&Sample::new([0.0, 1.0]), &Sample::new([1.0, 1.0]), 0.001).unwrap();
        assert_eq!(log.floored, 1);
        assert_near(log.distance, 1.5, 1e-12);
        assert_eq!(wasserstein(&Sample::default(), &x()), None);
    }
}
