//! Estimates of the Hurst parameter beside the truth, on exact fractional Gaussian noise (methods D.3, D.6, D.9).

use flowloom_core::rng::{Purpose, Stream};
use flowloom_models::lrd::{
    Estimate, Fits, GaussianNoise, Stationarity, Wavelet, bandwidth, fit, hurst, last_octave, local_whittle, logscale,
    rescaled_range, variance_time, whittle,
};

use crate::check::{Effort, Expected, Row};

const GROUP: &str = "Hurst parameter";
const SEED: u64 = 2_026;

/// A row of the table of methods D.9: means of the estimates for a length and a Hurst parameter.
struct Published {
    length: usize,
    h: f64,
    wavelet: f64,
    /// Formula's standard error of it.
    wavelet_error: f64,
    whittle: f64,
    variance_time: f64,
    rescaled_range: f64,
}

const PUBLISHED: [Published; 5] = [
    published(4_096, 0.5, [0.4995, 0.0287, 0.5003, 0.4796, 0.5435]),
    published(4_096, 0.7, [0.7054, 0.0287, 0.7005, 0.6579, 0.7089]),
    published(4_096, 0.9, [0.9073, 0.0287, 0.9018, 0.8037, 0.8478]),
    published(32_768, 0.7, [0.7044, 0.0085, 0.6997, 0.6884, 0.7077]),
    published(32_768, 0.9, [0.9042, 0.0085, 0.9007, 0.8554, 0.8472]),
];

const fn published(length: usize, h: f64, means: [f64; 5]) -> Published {
    let [wavelet, wavelet_error, whittle, variance_time, rescaled_range] = means;
    Published { length, h, wavelet, wavelet_error, whittle, variance_time, rescaled_range }
}

/// Coverage of the 95 % intervals, and means and deviations of the estimates.
pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let mut rows = coverage(effort);
    let lengths = if effort == Effort::Full { 5 } else { 3 };
    PUBLISHED[..lengths].iter().for_each(|published| means(published, effort, &mut rows));
    rows
}

/// Fractional Gaussian noise: so many pairs of series.
fn series(h: f64, length: usize, pairs: u64) -> impl Iterator<Item = Vec<f64>> {
    let noise = GaussianNoise::new(h, length);
    (0..pairs).flat_map(move |id| noise.pair(&mut Stream::new(SEED, Purpose::Noise, id)))
}

/// The estimate from octave `first` to the last with eight coefficients.
fn wavelet(series: &[f64], first: u32) -> Option<Estimate> {
    let octaves = logscale(series, Wavelet::Three);
    let found = fit(&octaves, first, last_octave(&octaves)?)?;
    Some(Estimate { h: found.h, standard_error: found.standard_error })
}

/// The estimate from the octaves that are chosen, the fourth at the earliest.
fn chosen(series: &[f64]) -> Option<Estimate> {
    let fits = Fits::new(&logscale(series, Wavelet::Three), 4);
    fits.chosen().map(|found| Estimate { h: found.h, standard_error: found.standard_error })
}

/// How often the intervals hold the truth, and the stationarity of what is stationary is doubted.
fn coverage(effort: Effort) -> Vec<Row> {
    const LENGTH: usize = 4_096;
    // The share of a thousand series has a standard deviation of 0.007 itself, that of fifty 0.03.
    let (pairs, more) = if effort == Effort::Full { (500, 0.0) } else { (25, 0.065) };
    let mut rows = Vec::new();
    for h in [0.5, 0.6, 0.7, 0.8, 0.9] {
        let (mut held, mut doubted) = ([0.0; 5], [0.0; 2]);
        for series in series(h, LENGTH, pairs) {
            let parts = hurst(&series).and_then(|whole| Stationarity::new(&series, 4, &whole));
            let p = parts.map_or([None; 2], |parts| [parts.hurst_p, parts.mean_p]);
            for (doubted, p) in doubted.iter_mut().zip(p) {
                *doubted += f64::from(u8::from(p.is_none_or(|p| p < 0.05))) / (2 * pairs) as f64;
            }
            let found = [
                wavelet(&series, 4),
                wavelet(&series, 3),
                chosen(&series),
                whittle(&series),
                local_whittle(&series, bandwidth(LENGTH)),
            ];
            for (held, found) in held.iter_mut().zip(found) {
                let holds = found.is_some_and(|found| (found.interval().0..=found.interval().1).contains(&h));
                *held += f64::from(u8::from(holds)) / (2 * pairs) as f64;
            }
        }
        let names = [
            "wavelets, octaves 4-8",
            "wavelets, octaves 3-8",
            "wavelets, octaves chosen from 4 on",
            "Whittle",
            "local Whittle, 222 frequencies",
        ];
        for (name, held) in names.into_iter().zip(held) {
            rows.push(Row::new(
                GROUP,
                format!("{name}, n = {LENGTH}, H = {h}: share of 95 % intervals that hold it"),
                "90 to 97 %",
                Expected::Within { value: 0.935, by: 0.035 + more },
                held,
            ));
        }
        for (name, doubted) in ["Hurst parameters", "means"].into_iter().zip(doubted) {
            rows.push(Row::new(
                GROUP,
                format!("{name} of four parts, n = {LENGTH}, H = {h}: share of series called not stationary at 5 %"),
                "methods D.8",
                Expected::Within { value: 0.05, by: 0.03 + more },
                doubted,
            ));
        }
    }
    rows
}

/// Means of the estimates, and the deviation of the wavelets' beside the formula.
fn means(published: &Published, effort: Effort, rows: &mut Vec<Row>) {
    let Published { length, h, .. } = *published;
    let pairs = match (effort, length) {
        (Effort::Full, 4_096) => 150,
        (Effort::Full, _) => 50,
        (Effort::Quick, _) => 10,
    };
    let blocks: Vec<usize> = (0..6).map(|power| 10 << power).collect();
    let ranges: Vec<usize> = (4..=10).map(|power| 1 << power).collect();
    let (mut sums, mut squares) = ([0.0; 4], 0.0);
    let count = (2 * pairs) as f64;
    for series in series(h, length, pairs) {
        let found = [
            wavelet(&series, 3).map(|one| one.h),
            whittle(&series).map(|one| one.h),
            variance_time(&series, &blocks),
            rescaled_range(&series, &ranges),
        ];
        let found = found.map(|one| one.unwrap_or(f64::NAN));
        sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found);
        squares += found[0] * found[0];
    }
    let means = sums.map(|sum| sum / count);
    let deviation = libm::sqrt((squares - count * means[0] * means[0]) / (count - 1.0));
    let wanted = [
        ("wavelets, octaves from 3", published.wavelet),
        ("Whittle", published.whittle),
        ("variance-time, blocks of 10 to 320", published.variance_time),
        ("R/S, blocks of 16 to 1,024", published.rescaled_range),
    ];
    let more = if effort == Effort::Full { 1.0 } else { 4.0 };
    let source = "methods D.9";
    for ((name, value), ours) in wanted.into_iter().zip(means) {
        let name = format!("{name}, n = {length}, H = {h}: mean estimate");
        rows.push(Row::new(GROUP, name, source, Expected::Within { value, by: 0.01 * more }, ours));
    }
    let name = format!("wavelets, octaves from 3, n = {length}, H = {h}: standard deviation, beside the formula");
    let expected = Expected::Near { value: published.wavelet_error, share: 0.2 * more.min(2.0) };
    rows.push(Row::new(GROUP, name, "methods D.3", expected, deviation));
}
