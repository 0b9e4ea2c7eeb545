//! How a comparison is made.

use std::str::FromStr;

use flowloom_core::time::Duration;

use crate::metric::{Metric, Unit};
use crate::statistics::{Correction, RESAMPLES, Statistic, Tolerance};

/// What a comparison can be asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Of intervals; 1 less this is the level of tests.
    pub confidence: f64,
    /// What differences are as good as none, where it is not as usual.
    pub margin: Margin,
    /// What becomes of p values where there are many.
    pub correction: Correction,
    /// How often runs are drawn for the intervals of ratios; 0: there are none.
    pub resamples: usize,
    /// Whether replications of two variants are compared run by run.
    pub pairing: Pairing,
    /// What is compared; empty: all there is.
    pub metrics: Vec<Metric>,
    /// Statistics wanted beside those of the verdicts, by metric.
    pub statistics: Vec<(Metric, Statistic)>,
    /// Each variant with each, not only with the first.
    pub all_pairs: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            confidence: 0.95,
            margin: Margin::default(),
            correction: Correction::Holm,
            resamples: RESAMPLES,
            pairing: Pairing::Auto,
            metrics: Vec::new(),
            statistics: Vec::new(),
            all_pairs: false,
        }
    }
}

impl Options {
    /// Whether `metric` is asked for.
    pub fn wants(&self, metric: Metric) -> bool {
        self.metrics.is_empty() || self.metrics.contains(&metric)
    }

    /// Differences of `metric` up to this are as good as none: max(0.5 ms, 2 %) of times, max(0.5, 2 %) of counts, 2 % else, unless
    /// [`Self::margin`] says otherwise.
    pub fn tolerance(&self, metric: Metric) -> Tolerance {
        let usual = metric.tolerance();
        let absolute = self.margin.time.filter(|_| metric.unit() == Unit::Time);
        Tolerance {
            absolute: absolute.map_or(usual.absolute, |time| time.as_nanos() as f64),
            relative: self.margin.share.unwrap_or(usual.relative),
        }
    }
}

/// Whether replications are compared run by run (common random numbers, methods L.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pairing {
    /// If both have the same seeds, and runs of one seed the same workload.
    #[default]
    Auto,
    /// Or not at all.
    Paired,
    /// Never.
    Unpaired,
}

/// Differences that are as good as none, as they are written: `5%`, `1ms`, or `1ms,5%`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Margin {
    /// Of times, whatever the share.
    pub time: Option<Duration>,
    /// Of the reference, 0 to 1.
    pub share: Option<f64>,
}

impl FromStr for Margin {
    type Err = String;

    fn from_str(text: &str) -> Result<Margin, String> {
        let mut margin = Margin::default();
        for part in text.split(',') {
            let wrong = || {
                format!(
                    "{part:?} is no margin: a share of less than 100% such as 5%, a time such as 1ms, or both: 1ms,5%"
                )
            };
            let twice = match part.trim().strip_suffix('%') {
                Some(number) => {
                    let share = number
                        .trim()
                        .parse::<f64>()
                        .ok()
                        .filter(|share| (0.0..100.0).contains(share))
                        .ok_or_else(wrong)?;
                    margin.share.replace(share / 100.0).is_some()
                }
                None => margin.time.replace(part.trim().parse().map_err(|_| wrong())?).is_some(),
            };
            if twice {
                return Err(format!("{text:?} names two margins of a kind"));
            }
        }
        Ok(margin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn margins_as_written() {
        let margin = |text: &str| text.parse::<Margin>();
        assert_eq!(margin("5%").unwrap(), Margin { time: None, share: Some(0.05) });
        assert_eq!(margin("1ms, 5 %").unwrap(), Margin { time: Some(Duration::from_millis(1)), share: Some(0.05) });
        for wrong in ["", "5", "100%", "-1%", "NaN%", "1ms,2ms", "1%,2%"] {
            assert!(margin(wrong).is_err(), "{wrong}");
        }
        let options = Options { margin: margin("1ms").unwrap(), ..Options::default() };
        let of = |metric: Metric, value: f64| options.tolerance(metric).of(value);
        assert_eq!((of(Metric::Duration, 1e6), of(Metric::Duration, 1e9)), (1e6, 2e7));
        assert_eq!((of(Metric::Goodput, 1e6), of(Metric::ActiveConnections, 10.0)), (2e4, 0.5));
    }
}
