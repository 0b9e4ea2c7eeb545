//! How traffic on the link is spread from bin to bin, by the width of the bins (methods C.6): a deviation means nothing without it.

use flowloom_core::time::Duration;
use serde::Serialize;

use crate::run::Arrivals;
use crate::statistics::Sample;

/// Widths that are looked at, in ms, if they were recorded.
const WIDTHS: [u64; 5] = [1, 10, 100, 1_000, 5_000];

/// Traffic in bins of one width.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Marginal {
    /// Width of a bin.
    pub bin_ns: u64,
    /// Bins of the window; a partial one at its end is left out.
    pub bins: usize,
    /// Bytes on the link in bit/s.
    pub bits_per_second: Spread,
    /// Packets a second.
    pub packets_per_second: Spread,
}

/// How values are spread; null where there are too few.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Mean.
    pub mean: Option<f64>,
    /// Standard deviation, with n - 1.
    pub sd: Option<f64>,
    /// Coefficient of variation: the deviation over the mean.
    pub cov: Option<f64>,
    /// Quantiles (methods C.7).
    pub p10: Option<f64>,
    /// See [`Self::p10`].
    pub p50: Option<f64>,
    /// See [`Self::p10`].
    pub p90: Option<f64>,
    /// See [`Self::p10`].
    pub p99: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

impl Spread {
    fn of(sample: &Sample) -> Spread {
        Spread {
            mean: sample.mean(),
            sd: sample.standard_deviation(),
            cov: sample.coefficient_of_variation(),
            p10: sample.quantile(0.1),
            p50: sample.quantile(0.5),
            p90: sample.quantile(0.9),
            p99: sample.quantile(0.99),
            max: sample.max(),
        }
    }
}

/// Traffic in bins of 1 ms, 10 ms, 100 ms, 1 s and 5 s, as far as they are multiples of the recorded ones and the window has one.
pub fn marginals(arrivals: &Arrivals) -> Vec<Marginal> {
    let widths = WIDTHS.map(Duration::from_millis).into_iter();
    widths.filter_map(|width| marginal(arrivals, width)).collect()
}

/// Traffic in bins of this width; `None` if it is no multiple of the recorded ones, or the window has none.
fn marginal(arrivals: &Arrivals, width: Duration) -> Option<Marginal> {
    let joined = arrivals.joined(width)?;
    let per_second = 1e9 / width.as_nanos() as f64;
    let packets: Sample = joined.packets.iter().map(|count| f64::from(*count) * per_second).collect();
    let bits: Sample = joined.bytes.iter().map(|bytes| *bytes as f64 * 8.0 * per_second).collect();
    Some(Marginal {
        bin_ns: width.as_nanos(),
        bins: packets.len(),
        bits_per_second: Spread::of(&bits),
        packets_per_second: Spread::of(&packets),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_width_has_its_own_deviation() {
        // A burst of two bins in ten.
        let bins = 2_500;
        let burst = |bin: u32| if bin % 10 < 2 { 5 } else { 0 };
        let packets: Vec<u32> = (0..bins).map(burst).collect();
        let bytes = packets.iter().map(|count| u64::from(*count) * 1_000).collect();
        let found = marginals(&Arrivals { width: Duration::from_millis(1), packets, bytes });
        assert_eq!(found.iter().map(|one| one.bin_ns / 1_000_000).collect::<Vec<_>>(), [1, 10, 100, 1_000]);
        assert_eq!(found.iter().map(|one| one.bins).collect::<Vec<_>>(), [2_500, 250, 25, 2]);
        for one in &found {
            assert_eq!(one.packets_per_second.mean, Some(1_000.0));
            assert_eq!(one.bits_per_second.mean, Some(8e6));
        }
        assert!((found[0].packets_per_second.cov.unwrap() - 2.0).abs() < 1e-3);
        assert_eq!((found[1].packets_per_second.sd, found[0].packets_per_second.p90), (Some(0.0), Some(5_000.0)));
    }

    #[test]
    fn widths_that_were_not_recorded_are_left_out() {
        let arrivals = Arrivals { width: Duration::from_millis(8), packets: vec![1; 1_000], bytes: vec![1; 1_000] };
        assert_eq!(marginals(&arrivals).iter().map(|one| one.bin_ns / 1_000_000).collect::<Vec<_>>(), [1_000, 5_000]);
    }
}
