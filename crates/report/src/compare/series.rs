//! How far two series over time are apart (methods L.4): mean and deviation per width of bins, bin by bin, and by time scale.

use serde::Serialize;

use flowloom_core::time::Duration;
use flowloom_models::lrd::{Hurst, Octave, Wavelet, fit, last_octave, logscale};

use crate::dependence::earliest;
use crate::statistics::Sample;

/// Widths of bins, in bins of the series.
const WIDTHS: [usize; 3] = [1, 10, 100];
/// The bins in which two series are set beside each other.
const SECOND_NS: u64 = 1_000_000_000;
/// Fewer bins than this have no deviation worth telling.
const FEWEST_BINS: usize = 10;

/// Two series beside each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SeriesDistance {
    /// Mean and deviation per width of bins.
    pub widths: Vec<AtWidth>,
    /// Other mean / reference mean; null of a reference without anything in it.
    pub mean_ratio: Option<f64>,
    /// Root mean square of what bins of a second (of longer ones where the series has them) differ by, in units of the reference's mean;
    /// null of series of different lengths.
    pub relative_rms: Option<f64>,
    /// The other's standard deviation over those bins / the reference's; null of a reference that does not vary.
    pub deviation_ratio: Option<f64>,
    /// Root mean square of what the bins of both differ by; null of series of different lengths.
    pub rms: Option<f64>,
    /// The largest such difference.
    pub largest: Option<f64>,
    /// Logscale diagrams, octave by octave; empty of other metrics than packet arrivals.
    pub octaves: Vec<AtOctave>,
    /// The Hurst parameters of both.
    pub hurst: Option<HurstDistance>,
}

/// Two series in bins of one width.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AtWidth {
    /// The width.
    pub bin_ns: u64,
    /// Mean of the reference's bins.
    pub reference_mean: f64,
    /// Of the other's.
    pub other_mean: f64,
    /// Standard deviation of the reference's bins, with n - 1.
    pub reference_sd: f64,
    /// Of the other's.
    pub other_sd: f64,
}

/// One octave of two logscale diagrams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AtOctave {
    /// Its time scale.
    pub scale_ns: u64,
    /// log2 of the other's energy less that of the reference's.
    pub difference: f64,
    /// The same in units of the 95 % bar of that difference: beyond 1 it is more than chance, if coefficients are Gaussian and independent.
    pub bars: f64,
}

/// Two Hurst parameters, from the same octaves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HurstDistance {
    /// The reference's.
    pub reference: f64,
    /// The other's.
    pub other: f64,
    /// Differences up to this are chance: 1.96 times the standard error of the difference.
    pub bound: f64,
    /// Whether they differ by more.
    pub differ: bool,
}

impl HurstDistance {
    /// Of two estimates as (H, half of its 95 % interval): they differ if |H1 - H2| > 1.96 sqrt(se1^2 + se2^2) (methods L.4).
    pub fn of(reference: (f64, f64), other: (f64, f64)) -> HurstDistance {
        let bound = libm::hypot(reference.1, other.1);
        HurstDistance { reference: reference.0, other: other.0, bound, differ: (reference.0 - other.0).abs() > bound }
    }
}

/// Half of an interval.
fn half((low, high): (f64, f64)) -> f64 {
    (high - low) / 2.0
}

impl SeriesDistance {
    /// Of two series in bins of one width; `None` if one has too few.
    pub(super) fn new(reference: &[f64], other: &[f64], bin_ns: u64) -> Option<SeriesDistance> {
        let widths: Vec<AtWidth> =
            WIDTHS.into_iter().filter_map(|bins| at_width(reference, other, bin_ns, bins)).collect();
        let differences = || reference.iter().zip(other).map(|(a, b)| (b - a).abs());
        let same_bins = (reference.len() == other.len()).then_some(reference.len() as f64);
        let second = (SECOND_NS / bin_ns.max(1)).max(1) as usize;
        let (a, b) = (joined(reference, second), joined(other, second));
        let ratio = |a: Option<f64>, b: Option<f64>| Some(b? / a.filter(|a| *a > 0.0)?);
        let [mean, deviation] = [Sample::mean, Sample::standard_deviation];
        let samples = [&a, &b].map(|series| Sample::new(series.iter().copied()));
        let relative_rms = || {
            let mean = mean(&samples[0]).filter(|mean| *mean > 0.0 && a.len() == b.len())?;
            let squares: f64 = a.iter().zip(&b).map(|(a, b)| (b - a) * (b - a)).sum();
            Some((squares / a.len() as f64).sqrt() / mean)
        };
        (!widths.is_empty()).then(|| SeriesDistance {
            widths,
            mean_ratio: ratio(mean(&samples[0]), mean(&samples[1])),
            relative_rms: relative_rms(),
            deviation_ratio: ratio(deviation(&samples[0]), deviation(&samples[1])),
            rms: same_bins.map(|n| (differences().map(|d| d * d).sum::<f64>() / n).sqrt()),
            largest: same_bins.map(|_| differences().fold(0.0, f64::max)),
            ..SeriesDistance::default()
        })
    }

    /// Adds the logscale diagrams of what arrived in fine bins of one width.
    pub(super) fn add_arrivals(&mut self, reference: &[u32], other: &[u32], width: Duration) {
        let diagram = |counts: &[u32]| {
            let counts: Vec<f64> = counts.iter().map(|&count| f64::from(count)).collect();
            logscale(&counts, Wavelet::Three)
        };
        let (a, b) = (diagram(reference), diagram(other));
        let finite = |octave: &Octave| octave.energy.is_finite();
        let both = a.iter().zip(&b).filter(|(a, b)| finite(a) && finite(b));
        self.octaves = both
            .map(|(a, b)| {
                let difference = b.energy - a.energy;
                let bar = libm::hypot(half(a.interval()), half(b.interval()));
                AtOctave { scale_ns: width.as_nanos() << a.number, difference, bars: difference / bar }
            })
            .collect();
        let first = earliest(width);
        let last = last_octave(&a).zip(last_octave(&b)).map(|(a, b)| a.min(b));
        // Three octaves at least: through two any line fits.
        let Some(last) = last.filter(|last| *last >= first + 2) else { return };
        let of = |hurst: Hurst| (hurst.h, half(hurst.interval()));
        self.hurst = fit(&a, first, last)
            .zip(fit(&b, first, last))
            .map(|(reference, other)| HurstDistance::of(of(reference), of(other)));
    }
}

/// Means of so many bins each, without a last one that is cut.
fn joined(series: &[f64], bins: usize) -> Vec<f64> {
    series.chunks_exact(bins).map(|chunk| chunk.iter().sum::<f64>() / bins as f64).collect()
}

fn at_width(reference: &[f64], other: &[f64], bin_ns: u64, bins: usize) -> Option<AtWidth> {
    let moments = |series: &[f64]| {
        let means = joined(series, bins);
        let n = means.len() as f64;
        let mean = means.iter().sum::<f64>() / n;
        let squares: f64 = means.iter().map(|value| (value - mean) * (value - mean)).sum();
        (means.len() >= FEWEST_BINS).then(|| (mean, (squares / (n - 1.0)).sqrt()))
    };
    let ((reference_mean, reference_sd), (other_mean, other_sd)) = (moments(reference)?, moments(other)?);
    Some(AtWidth { bin_ns: bin_ns * bins as u64, reference_mean, other_mean, reference_sd, other_sd })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published estimates (methods D.5) and what follows from them (L.4).
    #[test]
    fn the_four_published_hurst_parameters_do_not_differ() {
        let published =
            [(0.9636, 0.92759, 0.9996), (0.9659, 0.92991, 1.0019), (0.9826, 0.92548, 1.0396), (0.9631, 0.906, 1.0202)]
                .map(|(h, low, high): (f64, f64, f64)| (h, half((low, high))));
        for one in published {
            for other in published {
                assert!(!HurstDistance::of(one, other).differ, "{one:?} {other:?}");
            }
        }
        // Their intervals would tell 0.8 from all of them.
        assert!(HurstDistance::of(published[0], (0.8, published[0].1)).differ);
    }

    #[test]
    fn bins_are_compared_at_several_widths() {
        let reference: Vec<f64> = (0..200).map(|bin| f64::from(bin % 2)).collect();
        let other: Vec<f64> = reference.iter().map(|value| value * 2.0).collect();
        let found = SeriesDistance::new(&reference, &other, 1_000_000_000).unwrap();
        assert_eq!(found.widths.iter().map(|width| width.bin_ns).collect::<Vec<_>>(), [1_000_000_000, 10_000_000_000]);
        assert_eq!((found.widths[0].reference_mean, found.widths[0].other_mean), (0.5, 1.0));
        assert!((found.widths[0].other_sd / found.widths[0].reference_sd - 2.0).abs() < 1e-12);
        assert_eq!(found.widths[1].other_sd, 0.0, "ten bins together are always alike");
        assert_eq!((found.rms, found.largest), (Some(0.5_f64.sqrt()), Some(1.0)));
        let shorter = SeriesDistance::new(&reference, &other[1..], 1_000_000_000).unwrap();
        assert_eq!((shorter.rms, shorter.largest), (None, None));
        assert_eq!(SeriesDistance::new(&reference[..9], &other, 1), None);
        // Bins of a second: means of 0.5 and 1, and all bins 1 or 0 apart.
        assert_eq!((found.mean_ratio, found.relative_rms), (Some(2.0), Some(0.5_f64.sqrt() / 0.5)));
        assert!((found.deviation_ratio.unwrap() - 2.0).abs() < 1e-12);
        let fine = SeriesDistance::new(&reference, &other, 100_000_000).unwrap();
        assert_eq!((fine.relative_rms, fine.deviation_ratio), (Some(1.0), None), "ten bins together are always alike");
    }

    #[test]
    fn twice_the_traffic_is_two_octaves_of_energy_everywhere() {
        let counts: Vec<u32> = (0..40_000u32).map(|bin| (bin * bin + bin / 50) % 31).collect();
        let twice: Vec<u32> = counts.iter().map(|count| 2 * count).collect();
        let mut distance = SeriesDistance::default();
        distance.add_arrivals(&counts, &twice, Duration::from_millis(10));
        assert!(distance.octaves.len() > 8);
        assert!(distance.octaves.iter().all(|octave| (octave.difference - 2.0).abs() < 1e-9));
        assert!(distance.octaves[0].bars > 1.0);
        let hurst = distance.hurst.unwrap();
        assert!((hurst.reference - hurst.other).abs() < 1e-9 && !hurst.differ);
        assert_eq!(distance.octaves[0].scale_ns, 20_000_000);
    }
}
