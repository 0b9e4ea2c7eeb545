//! Long-range dependence of a run's traffic beside its original's (methods D): logscale diagrams of packets and bytes on the link, and
//! what follows from them. `docs/reference/statistics.md` says what each number means and when not to believe it.

use std::fmt;

use flowloom_core::time::Duration;
use flowloom_models::lrd::{
    self, Fits, Hurst, Octave, Wavelet, bandwidth, fit, local_whittle, logscale, rescaled_range, variance_time, whittle,
};
use flowloom_store::run_folder::Point;
use serde::{Serialize, Serializer};

use crate::facts::HurstChoice;
use crate::metric::Unit;
use crate::run::{Arrivals, Measurements};
use crate::statistics::Interval;

/// Below this time scale traffic follows round-trip times and windows more than long memory (methods D.4).
const LONG: Duration = Duration::from_secs(1);
/// Octaves before this are biased, since counts stand for the first approximation: of 1,000 series of 16,384 values of fractional
/// Gaussian noise the intervals of fits that may begin at octave 2, 3 and 4 hold the truth in 59 to 93 %, 91 to 93 % and 93 to 94 %.
const FIRST_OCTAVE: u32 = 4;
/// Blocks that estimates in the frequency domain look at, at most: they cost time, and what is slow is in the long blocks.
const MOST_BLOCKS: usize = 1 << 15;

impl HurstChoice {
    fn wavelet(self) -> Wavelet {
        let moments = self.moments.unwrap_or_else(|| Wavelet::default().moments());
        Wavelet::ALL.into_iter().find(|wavelet| wavelet.moments() == moments).unwrap_or_default()
    }

    /// The fit to use of a diagram; `None` if it has too few octaves.
    fn fit(self, bin: Duration, octaves: &[Octave]) -> Option<Hurst> {
        if self.from_ns.is_none() && self.to_ns.is_none() {
            return Fits::new(octaves, earliest(bin)).chosen().copied();
        }
        let known = lrd::last_octave(octaves)?;
        let is_long = |octave: &u32| self.from_ns.map_or(*octave >= earliest(bin), |from| scale(bin, *octave) >= from);
        let first = (1..=known).find(is_long)?;
        let last = (1..=known).rfind(|octave| self.to_ns.is_none_or(|to| scale(bin, *octave) <= to))?;
        fit(octaves, first, last)
    }
}

/// Dependence of a run's traffic.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dependence {
    /// What the original carried; null without an original whose packets were counted over time.
    pub original: Option<TrafficDependence>,
    /// What the replay's link carried; null if nothing was counted there.
    pub replay: Option<TrafficDependence>,
}

/// Dependence of the traffic at one point, both directions added.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrafficDependence {
    /// Width of the bins in which it was counted.
    pub bin_ns: u64,
    /// Bins of the window.
    pub bins: usize,
    /// Of the numbers of packets.
    pub packets: Scaling,
    /// Of the numbers of bytes.
    pub bytes: Scaling,
}

/// How counts vary from time scale to time scale.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    /// The logscale diagram, with the wavelet of three vanishing moments where nobody chose another.
    pub octaves: Vec<OctaveEnergy>,
    /// The Hurst parameter from the octaves that were chosen; null if there are too few.
    pub hurst: Option<HurstFit>,
    /// Why there is no Hurst parameter; null if there is one.
    pub unknown: Option<String>,
    /// What to know of it, with its remedy.
    pub warnings: Vec<ScalingWarning>,
    /// The fit by the octave where it begins, all to the last octave with eight coefficients: no automatic choice is safe.
    pub fits: Vec<HurstFit>,
    /// The fit over the chosen octaves with wavelets of 1, 2 and 3 vanishing moments: they agree if there is no trend.
    pub by_vanishing_moments: Vec<MomentsFit>,
    /// Other estimates over the same time scales; null where there are too few blocks.
    pub others: Option<OtherEstimates>,
    /// Whether the parts of the window agree; null if they are too short.
    pub stationarity: Option<Stationarity>,
}

/// What to know of a Hurst parameter. In JSON it is its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScalingWarning {
    /// The octaves of the fit are short: they see round-trip times, not long memory.
    ShortOctaves {
        /// The time scale of the first one.
        first_ns: u64,
        /// The time scale of the last one.
        last_ns: u64,
    },
    /// The interval of the Hurst parameter reaches above 1.
    AboveOne,
    /// The diagram is nowhere a straight line.
    NotStraight,
    /// Parts of the window have different Hurst parameters.
    HurstDiffers,
    /// Parts of the window have different means.
    MeanDiffers,
}

impl fmt::Display for ScalingWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScalingWarning::ShortOctaves { first_ns, last_ns } => {
                let [first, last] = [first_ns, last_ns].map(|nanos| Unit::Time.show(*nanos as f64));
                write!(
                    f,
                    "the octaves cover {first} to {last}: below some 1 s traffic follows round-trip times, not long \
                     memory; use a longer run"
                )
            }
            ScalingWarning::AboveOne => f.write_str(
                "the interval reaches above 1: the counts are not stationary, or the octaves too few; use a longer or \
                 a steadier window",
            ),
            ScalingWarning::NotStraight => {
                f.write_str("no range of octaves is a straight line: look at the diagram, not at the number")
            }
            ScalingWarning::HurstDiffers => {
                f.write_str("parts of the window have different Hurst parameters: report each by itself")
            }
            ScalingWarning::MeanDiffers => f.write_str(
                "parts of the window differ in their mean by more than long memory explains: use a steadier window",
            ),
        }
    }
}

impl Serialize for ScalingWarning {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One octave of a logscale diagram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OctaveEnergy {
    /// Its number, from 1.
    pub octave: u32,
    /// Its time scale: 2^octave bins.
    pub scale_ns: u64,
    /// Wavelet coefficients in it.
    pub coefficients: usize,
    /// log2 of their mean square, in squared counts; null if all are zero.
    pub energy_log2: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
}

/// A Hurst parameter from a straight line through octaves of a logscale diagram.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HurstFit {
    /// The Hurst parameter.
    pub h: f64,
    /// Its 95 % interval.
    pub interval: Interval,
    /// First octave of the line.
    pub first_octave: u32,
    /// Last octave of the line.
    pub last_octave: u32,
    /// Time scales of both.
    pub scales_ns: [u64; 2],
    /// The line: `intercept_log2 + (2 h - 1) octave` is its energy at an octave.
    pub intercept_log2: f64,
    /// How far the octaves are from the line: chi-square distributed with two fewer degrees of freedom than octaves.
    pub q: f64,
    /// How probable a `q` as large is on a straight line.
    pub p: Option<f64>,
}

/// The fit with another wavelet.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MomentsFit {
    /// Its vanishing moments.
    pub vanishing_moments: u32,
    /// The Hurst parameter; null if it has too few octaves.
    pub h: Option<f64>,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
}

/// Other estimates of the Hurst parameter (methods D.6), of counts in blocks of the fit's first time scale.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OtherEstimates {
    /// Width of a block.
    pub block_ns: u64,
    /// How many there are.
    pub blocks: usize,
    /// From the slope of the variance-time plot; biased low for large H.
    pub variance_time: Option<f64>,
    /// From the slope of the rescaled range; biased up at 0.5, down at 0.9.
    pub rescaled_range: Option<f64>,
    /// Whittle's, which takes the counts for fractional Gaussian noise.
    pub whittle: Option<WithInterval>,
    /// From the lowest frequencies alone (Robinson 1995).
    pub local_whittle: Option<WithInterval>,
    /// How many frequencies these are.
    pub local_whittle_frequencies: usize,
}

/// An estimate with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WithInterval {
    /// The Hurst parameter.
    pub h: f64,
    /// Its 95 % interval.
    pub interval: Interval,
}

/// Parts of the window beside each other (methods D.8).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stationarity {
    /// Equal parts of the window, in their order.
    pub parts: Vec<PartOfWindow>,
    /// How probable Hurst parameters so unlike are if all parts have one; null where a part has too few octaves.
    pub hurst_p: Option<f64>,
    /// How probable means so unlike are of counts with the Hurst parameter of the whole; null if it cannot be told.
    pub mean_p: Option<f64>,
}

/// A part of the window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PartOfWindow {
    /// Mean count per second.
    pub mean_per_second: f64,
    /// The Hurst parameter over the octaves that were chosen; null if it has too few of them.
    pub h: Option<f64>,
}

impl Dependence {
    /// That of a run's traffic, with Hurst parameters estimated so.
    pub fn of(measured: &Measurements, choice: HurstChoice) -> Dependence {
        let at = |point| measured.arrivals(point).map(|arrivals| TrafficDependence::of(arrivals, choice));
        Dependence { original: at(Point::Original), replay: at(Point::Monitor) }
    }
}

impl TrafficDependence {
    /// That of the traffic in these bins.
    pub fn of(arrivals: &Arrivals, choice: HurstChoice) -> TrafficDependence {
        let packets: Vec<f64> = arrivals.packets.iter().map(|count| f64::from(*count)).collect();
        let bytes: Vec<f64> = arrivals.bytes.iter().map(|bytes| *bytes as f64).collect();
        TrafficDependence {
            bin_ns: arrivals.width.as_nanos(),
            bins: packets.len(),
            packets: Scaling::of(arrivals.width, &packets, choice),
            bytes: Scaling::of(arrivals.width, &bytes, choice),
        }
    }
}

impl Scaling {
    /// That of `counts` in bins of this width, with the Hurst parameter estimated so.
    pub fn of(bin: Duration, counts: &[f64], choice: HurstChoice) -> Scaling {
        let octaves = logscale(counts, choice.wavelet());
        let fits = Fits::new(&octaves, earliest(bin));
        let chosen = choice.fit(bin, &octaves);
        let mut scaling = Scaling {
            octaves: octaves.iter().map(|octave| OctaveEnergy::of(bin, octave)).collect(),
            hurst: chosen.as_ref().map(|hurst| HurstFit::of(bin, hurst)),
            unknown: None,
            warnings: Vec::new(),
            fits: fits.all.iter().map(|hurst| HurstFit::of(bin, hurst)).collect(),
            by_vanishing_moments: Vec::new(),
            others: None,
            stationarity: None,
        };
        let Some(hurst) = &chosen else {
            scaling.unknown = Some(why_unknown(bin, counts, choice));
            return scaling;
        };
        let of_moments = |wavelet| moments_fit(counts, wavelet, hurst, choice.wavelet());
        scaling.by_vanishing_moments = Wavelet::ALL.map(of_moments).to_vec();
        scaling.others = OtherEstimates::of(bin, counts, hurst.octaves.0);
        scaling.stationarity = Stationarity::of(bin, counts, hurst);
        let is_straight = hurst.p.is_some_and(|p| p >= REJECTED);
        scaling.warnings = warnings(bin, hurst, is_straight, scaling.stationarity.as_ref());
        scaling
    }
}

impl Arrivals {
    /// The Hurst parameter of the numbers of packets, estimated so; `None` if there are too few bins.
    pub fn hurst_of_packets(&self, choice: HurstChoice) -> Option<HurstFit> {
        hurst(self.width, &self.packets.iter().map(|packets| f64::from(*packets)).collect::<Vec<_>>(), choice)
    }

    /// The same of the bytes.
    pub fn hurst_of_bytes(&self, choice: HurstChoice) -> Option<HurstFit> {
        hurst(self.width, &self.bytes.iter().map(|bytes| *bytes as f64).collect::<Vec<_>>(), choice)
    }
}

fn hurst(bin: Duration, counts: &[f64], choice: HurstChoice) -> Option<HurstFit> {
    choice.fit(bin, &logscale(counts, choice.wavelet())).map(|hurst| HurstFit::of(bin, &hurst))
}

/// Time scale of an octave.
fn scale(bin: Duration, octave: u32) -> u64 {
    bin.as_nanos().saturating_mul(1u64.checked_shl(octave).unwrap_or(u64::MAX))
}

/// The first octave of a time scale that is long enough.
pub(crate) fn earliest(bin: Duration) -> u32 {
    (FIRST_OCTAVE..).find(|octave| scale(bin, *octave) >= LONG.as_nanos()).unwrap_or(FIRST_OCTAVE)
}

fn why_unknown(bin: Duration, counts: &[f64], choice: HurstChoice) -> String {
    if counts.iter().all(|count| *count == counts[0]) && !counts.is_empty() {
        return "all bins hold the same, so that nothing varies".to_owned();
    }
    let width = Unit::Time.show(bin.as_nanos() as f64);
    if choice.from_ns.or(choice.to_ns).is_some() {
        return format!(
            "{} bins of {width} have too few octaves with eight coefficients within measure.hurst: widen it",
            counts.len()
        );
    }
    format!(
        "{} bins of {width} have fewer than three octaves with eight coefficients: use a longer run, or finer bins",
        counts.len()
    )
}

fn interval((low, high): (f64, f64)) -> Interval {
    Interval { low, high }
}

impl OctaveEnergy {
    fn of(bin: Duration, octave: &Octave) -> OctaveEnergy {
        let energy = Some(octave.energy).filter(|energy| energy.is_finite());
        OctaveEnergy {
            octave: octave.number,
            scale_ns: scale(bin, octave.number),
            coefficients: octave.coefficients,
            energy_log2: energy,
            interval: energy.map(|_| interval(octave.interval())),
        }
    }
}

impl HurstFit {
    fn of(bin: Duration, hurst: &Hurst) -> HurstFit {
        let (first, last) = hurst.octaves;
        HurstFit {
            h: hurst.h,
            interval: interval(hurst.interval()),
            first_octave: first,
            last_octave: last,
            scales_ns: [scale(bin, first), scale(bin, last)],
            intercept_log2: hurst.intercept,
            q: hurst.q,
            p: hurst.p,
        }
    }
}

/// The fit with another wavelet over the octaves of `hurst`, which is that of the wavelet `own`.
fn moments_fit(counts: &[f64], wavelet: Wavelet, hurst: &Hurst, own: Wavelet) -> MomentsFit {
    let found = match wavelet {
        _ if wavelet == own => Some(*hurst),
        other => fit(&logscale(counts, other), hurst.octaves.0, hurst.octaves.1),
    };
    MomentsFit {
        vanishing_moments: wavelet.moments(),
        h: found.map(|found| found.h),
        interval: found.map(|found| interval(found.interval())),
    }
}

impl OtherEstimates {
    /// Of `counts` in blocks as long as octave `first`, or longer ones if these were too many.
    fn of(bin: Duration, counts: &[f64], first: u32) -> Option<OtherEstimates> {
        const FEWEST: usize = 64;
        let octave = (first..).find(|octave| counts.len() >> octave <= MOST_BLOCKS)?;
        let blocks: Vec<f64> = counts.chunks_exact(1 << octave).map(|block| block.iter().sum()).collect();
        if blocks.len() < FEWEST {
            return None;
        }
        // By doubling, so that the largest size has eight blocks.
        let sizes = |least: usize| -> Vec<usize> {
            (0..).map(|power| least << power).take_while(|size| size * 8 <= blocks.len()).collect()
        };
        let frequencies = bandwidth(blocks.len());
        let with_interval = |found: lrd::Estimate| WithInterval { h: found.h, interval: interval(found.interval()) };
        Some(OtherEstimates {
            block_ns: scale(bin, octave),
            blocks: blocks.len(),
            variance_time: variance_time(&blocks, &sizes(1)),
            rescaled_range: rescaled_range(&blocks, &sizes(8)),
            whittle: whittle(&blocks).map(with_interval),
            local_whittle: local_whittle(&blocks, frequencies).map(with_interval),
            local_whittle_frequencies: frequencies,
        })
    }
}

impl Stationarity {
    /// Eight parts, or four if eight are too short for estimates of their own.
    fn of(bin: Duration, counts: &[f64], hurst: &Hurst) -> Option<Stationarity> {
        let of = |parts| lrd::Stationarity::new(counts, parts, hurst);
        let found = of(8).filter(|found| found.hurst_p.is_some()).or_else(|| of(4))?;
        let per_second = 1e9 / bin.as_nanos() as f64;
        let part = |part: &lrd::Part| PartOfWindow {
            mean_per_second: part.mean * per_second,
            h: part.hurst.map(|hurst| hurst.h),
        };
        Some(Stationarity {
            parts: found.parts.iter().map(part).collect(),
            hurst_p: found.hurst_p,
            mean_p: found.mean_p,
        })
    }
}

/// A probability this small speaks against what it is the probability of.
const REJECTED: f64 = 0.05;

fn warnings(
    bin: Duration,
    hurst: &Hurst,
    is_straight: bool,
    stationarity: Option<&Stationarity>,
) -> Vec<ScalingWarning> {
    let [first_ns, last_ns] = [hurst.octaves.0, hurst.octaves.1].map(|octave| scale(bin, octave));
    let parts = stationarity.map(|parts| (parts.hurst_p, parts.mean_p));
    let is_rejected = |p: Option<f64>| p.is_some_and(|p| p < REJECTED);
    let all = [
        (first_ns < LONG.as_nanos(), ScalingWarning::ShortOctaves { first_ns, last_ns }),
        (hurst.reaches_above_one(), ScalingWarning::AboveOne),
        (!is_straight, ScalingWarning::NotStraight),
        (parts.is_some_and(|(hurst, _)| is_rejected(hurst)), ScalingWarning::HurstDiffers),
        (parts.is_some_and(|(_, mean)| is_rejected(mean)), ScalingWarning::MeanDiffers),
    ];
    all.into_iter().filter_map(|(holds, warning)| holds.then_some(warning)).collect()
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};
    use flowloom_models::lrd::GaussianNoise;

    use super::*;

    fn noise(h: f64, bins: usize) -> Vec<f64> {
        let [series, _] = GaussianNoise::new(h, bins).pair(&mut Stream::new(1, Purpose::Noise, 0));
        series.into_iter().map(|x| 100.0 + 10.0 * x).collect()
    }

    #[test]
    fn long_memory_is_found_above_a_second() {
        let found = Scaling::of(Duration::from_millis(100), &noise(0.8, 1 << 16), HurstChoice::default());
        let hurst = found.hurst.unwrap();
        assert!(hurst.first_octave >= 4 && hurst.scales_ns[0] == 100_000_000 << hurst.first_octave, "{hurst:?}");
        assert!(hurst.interval.holds(0.8) && hurst.interval.high < 0.9, "{hurst:?}");
        assert_eq!((found.warnings, found.unknown), (vec![], None));
        assert!(found.fits.contains(&hurst) && found.fits[0].first_octave == 1);
        assert_eq!(found.octaves[3].scale_ns, 1_600_000_000);
        assert!(found.octaves.iter().all(|octave| octave.interval.unwrap().holds(octave.energy_log2.unwrap())));
        let others = found.others.unwrap();
        assert_eq!((others.block_ns, others.blocks), (hurst.scales_ns[0], 1 << (16 - hurst.first_octave)));
        for estimate in [others.whittle.unwrap(), others.local_whittle.unwrap()] {
            assert!((estimate.h - 0.8).abs() < 0.1, "{others:?}");
        }
        for estimate in [others.variance_time.unwrap(), others.rescaled_range.unwrap()] {
            assert!((0.65..0.9).contains(&estimate), "{others:?}");
        }
        assert_eq!(found.stationarity.unwrap().parts.len(), 8);
        for moments in found.by_vanishing_moments {
            assert!((moments.h.unwrap() - hurst.h).abs() < 0.05, "{moments:?}");
        }
    }

    #[test]
    fn octaves_and_moments_are_chosen() {
        let counts = noise(0.8, 1 << 16);
        let of = |choice| Scaling::of(Duration::from_millis(100), &counts, choice);
        // Of bins of 100 ms octave 5 is 3.2 s, and octave 9 51.2 s.
        let choice = HurstChoice { from_ns: Some(3_000_000_000), to_ns: Some(52_000_000_000), moments: Some(1) };
        let found = of(choice).hurst.unwrap();
        assert_eq!((found.first_octave, found.last_octave), (5, 9));
        let usual = of(HurstChoice::default());
        let same = usual.fits.iter().find(|fit| fit.first_octave == 5).unwrap();
        assert!(found.h != same.h && (found.h - same.h).abs() < 0.1, "{found:?} and {same:?}");
        let three = HurstChoice { moments: Some(3), ..HurstChoice::default() };
        assert_eq!(of(three), usual);
        let none = of(HurstChoice { to_ns: Some(300_000_000), ..choice });
        assert!(none.hurst.is_none() && none.unknown.unwrap().contains("within measure.hurst"));
    }

    #[test]
    fn short_windows_and_changes_are_told() {
        let short = Scaling::of(Duration::from_millis(1), &noise(0.8, 4_096), HurstChoice::default());
        let [warning, ..] = &short.warnings[..] else { panic!() };
        assert!(warning.to_string().contains("below some 1 s"), "{warning}");
        let rising: Vec<f64> =
            noise(0.5, 1 << 15).into_iter().enumerate().map(|(t, x)| x + t as f64 / 1_000.0).collect();
        let found = Scaling::of(Duration::from_millis(100), &rising, HurstChoice::default());
        assert!(found.warnings.contains(&ScalingWarning::MeanDiffers), "{:?}", found.warnings);
        assert_eq!(
            found.hurst.unwrap().p.map(|p| p >= REJECTED),
            Some(true),
            "three moments do not see a line's slope"
        );
    }

    #[test]
    fn too_little_says_why() {
        for (counts, why) in
            [(vec![], "0 bins of 1.00 ms"), (noise(0.5, 40), "40 bins"), (vec![7.0; 5_000], "all bins hold the same")]
        {
            let found = Scaling::of(Duration::from_millis(1), &counts, HurstChoice::default());
            assert_eq!(found.hurst, None);
            let unknown = found.unknown.unwrap();
            assert!(unknown.contains(why), "{unknown}");
        }
    }
}
