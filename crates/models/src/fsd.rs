//! Fractional sum-difference variables (Cao et al. 2004; methods F.2): long-range dependent values with any marginal.

use flowloom_core::distribution::{Distribution, normal_below, normal_quantile};
use flowloom_core::rng::Stream;

use crate::fft::{Complex, Fft, times};

/// An FSD variable's dependence: z_t = s_t + n_t is normal with variance 1; n_t is white with variance theta, and
/// s_t = sigma (x_t + x_(t-1)) of a FARIMA(0, d, 0) with innovations of variance 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FsdModel {
    /// Order of the fractional difference, above 0 and below 0.5: the Hurst parameter is d + 0.5.
    pub d: f64,
    /// Share of the variance that is white noise, from 0 to 1.
    pub theta: f64,
    /// On how many past values a value of the FARIMA depends, at least 1.
    pub past: usize,
}

impl FsdModel {
    /// Standard deviation of the FARIMA's innovations, for which z_t has variance 1.
    pub fn sigma(&self) -> f64 {
        let FsdModel { d, theta, .. } = *self;
        // Gamma(1-d)^2 / Gamma(1-2d) is one over the variance of x_t; d / (1-d) is its correlation at lag 1.
        libm::sqrt((1.0 - theta) / (variance(d) * (2.0 + 2.0 * d / (1.0 - d))))
    }
}

/// Variance of a FARIMA(0, d, 0) whose innovations have variance 1: Gamma(1-2d) / Gamma(1-d)^2.
fn variance(d: f64) -> f64 {
    let gamma = libm::tgamma(1.0 - d);
    libm::tgamma(1.0 - 2.0 * d) / (gamma * gamma)
}

/// The values of an FSD variable, one after the other.
#[derive(Clone, Debug)]
pub struct Fsd {
    farima: Farima,
    sigma: f64,
    noise: f64,
    previous: f64,
    stream: Stream,
}

impl Fsd {
    /// A variable with the numbers of `stream`. This costs some `past^2` operations: the first `past` values of the FARIMA are
    /// made, each of all before it, and not used.
    pub fn new(model: FsdModel, mut stream: Stream) -> Fsd {
        let mut farima = Farima::new(model.d, model.past, || standard_normal(&mut stream));
        let previous = farima.next(|| standard_normal(&mut stream));
        Fsd { farima, sigma: model.sigma(), noise: libm::sqrt(model.theta), previous, stream }
    }

    /// The next z_t.
    pub fn normal(&mut self) -> f64 {
        let now = self.farima.next(|| standard_normal(&mut self.stream));
        let sum = now + std::mem::replace(&mut self.previous, now);
        self.sigma * sum + self.noise * standard_normal(&mut self.stream)
    }

    /// The next value of `marginal`: its quantile at Phi(z_t).
    pub fn sample(&mut self, marginal: &Distribution) -> f64 {
        marginal.quantile(normal_below(self.normal()))
    }
}

/// A standard normal number by inversion, from one number of `stream`; never infinite.
pub(crate) fn standard_normal(stream: &mut Stream) -> f64 {
    // The middle of one of 2^52 equal parts: neither 0 nor 1.
    normal_quantile(((stream.bits64() >> 12) as f64 + 0.5) / (1u64 << 52) as f64)
}

/// How many values are made between two transforms: half the length of these.
const BLOCK: usize = 256;

/// FARIMA(0, d, 0) with innovations of variance 1 by the recursion of Durbin and Levinson, cut off at `past` values:
/// x_t = sum over j = 1..past of phi_j x_(t-j) + sqrt(v) e_t.
///
/// What values of blocks before the current one contribute to all values of this block is computed at its beginning, block by
/// block as products of spectra. The sum is the recursion's; only its order differs.
#[derive(Clone, Debug)]
struct Farima {
    /// phi_1..phi_BLOCK, of which the sum within a block is made.
    near: Box<[f64]>,
    /// Of the block `m + 1` back: the transform of phi around lag (m + 1) * BLOCK. The spectra of real sequences: half of each.
    far: Box<[Spectrum]>,
    /// Spectra of the last blocks, in a ring.
    past: Box<[Spectrum]>,
    /// Place of the latest of them.
    latest: usize,
    /// What earlier blocks contribute to each value of this one.
    carried: Box<[f64]>,
    /// This block's values so far, the latest first, at the end.
    block: Box<[f64]>,
    /// How many there are.
    filled: usize,
    /// Standard deviation of an innovation.
    innovation: f64,
    fft: Fft,
}

type Spectrum = Box<[Complex]>;

impl Farima {
    fn new(d: f64, past: usize, mut normal: impl FnMut() -> f64) -> Farima {
        let (phi, history, v) = durbin_levinson(d, past, &mut normal);
        let fft = Fft::new(2 * BLOCK);
        let blocks = past.div_ceil(BLOCK);
        let lag = |lag: usize| if lag == 0 { 0.0 } else { phi.get(lag - 1).copied().unwrap_or_default() };
        let far = (1..=blocks).map(|back| {
            // Place t is lag back * BLOCK + t, where t of the second half is t - 2 * BLOCK.
            let mut kernel: Vec<Complex> = vec![(0.0, 0.0); 2 * BLOCK];
            for t in 0..BLOCK {
                kernel[t].0 = lag(back * BLOCK + t);
                kernel[BLOCK + t].0 = if t == 0 { 0.0 } else { lag((back - 1) * BLOCK + t) };
            }
            fft.forward(&mut kernel);
            half(&kernel)
        });
        let mut farima = Farima {
            near: (1..=BLOCK).map(lag).collect(),
            far: far.collect(),
            past: vec![half(&vec![(0.0, 0.0); 2 * BLOCK]); blocks].into(),
            latest: 0,
            carried: vec![0.0; BLOCK].into(),
            block: vec![0.0; BLOCK].into(),
            filled: BLOCK,
            innovation: libm::sqrt(v),
            fft,
        };
        // The history ends where a block begins; of the oldest block the beginning may be missing, which no lag reaches.
        let mut blocks = history.rchunks(BLOCK).rev().peekable();
        while let Some(values) = blocks.next() {
            farima.block.fill(0.0);
            farima.block.iter_mut().zip(values.iter().rev()).for_each(|(place, value)| *place = *value);
            if blocks.peek().is_some() {
                farima.remember();
            }
        }
        farima
    }

    fn next(&mut self, normal: impl FnOnce() -> f64) -> f64 {
        if self.filled == BLOCK {
            self.remember();
            self.carry();
            self.filled = 0;
        }
        let earlier = &self.block[BLOCK - self.filled..];
        let value = self.carried[self.filled] + dot(&self.near, earlier) + self.innovation * normal();
        self.filled += 1;
        self.block[BLOCK - self.filled] = value;
        value
    }

    /// Takes this block, which is full, among the past ones.
    fn remember(&mut self) {
        let mut values: Vec<Complex> = self.block.iter().rev().map(|value| (*value, 0.0)).collect();
        values.resize(2 * BLOCK, (0.0, 0.0));
        self.fft.forward(&mut values);
        self.latest = (self.latest + 1) % self.past.len();
        self.past[self.latest].copy_from_slice(&values[..=BLOCK]);
    }

    /// Computes what the past blocks contribute to the next.
    fn carry(&mut self) {
        let mut sum = vec![(0.0, 0.0); 2 * BLOCK];
        let (newer, older) = self.past.split_at(self.latest + 1);
        for (spectrum, kernel) in newer.iter().rev().chain(older.iter().rev()).zip(&self.far) {
            for (sum, (a, b)) in sum.iter_mut().zip(spectrum.iter().zip(kernel)) {
                let product = times(*a, *b);
                *sum = (sum.0 + product.0, sum.1 + product.1);
            }
        }
        // The other half of a real sequence's spectrum is its mirror image, conjugate. Of that the forward transform is, but
        // for the length, the sequence backwards: of the conjugate it is the sequence.
        for k in 1..BLOCK {
            sum[2 * BLOCK - k] = sum[k];
        }
        for value in &mut sum[..=BLOCK] {
            value.1 = -value.1;
        }
        self.fft.forward(&mut sum);
        let length = (2 * BLOCK) as f64;
        self.carried.iter_mut().zip(&sum).for_each(|(carried, sum)| *carried = sum.0 / length);
    }
}

/// The half of a spectrum that says all of a real sequence.
fn half(spectrum: &[Complex]) -> Spectrum {
    spectrum[..=BLOCK].into()
}

/// phi_1..phi_past, the first `past` values, and the variance of the innovation of those that follow.
fn durbin_levinson(d: f64, past: usize, mut normal: impl FnMut() -> f64) -> (Vec<f64>, Vec<f64>, f64) {
    let mut phi: Vec<f64> = Vec::with_capacity(past);
    // The latest first.
    let mut values = vec![0.0; past];
    let mut v = variance(d);
    for t in 0..=past {
        if t > 0 {
            let last = d / (t as f64 - d);
            let (front, back) = phi.split_at_mut((t - 1) / 2);
            if t % 2 == 0 {
                back[0] -= last * back[0];
            }
            for (a, b) in front.iter_mut().zip(back.iter_mut().rev()) {
                (*a, *b) = (*a - last * *b, *b - last * *a);
            }
            phi.push(last);
            v *= 1.0 - last * last;
        }
        if t < past {
            values[past - 1 - t] = dot(&phi, &values[past - t..]) + libm::sqrt(v) * normal();
        }
    }
    values.reverse();
    (phi, values, v)
}

/// The sum of products over the shorter of both, in eight partial sums that a machine can make side by side.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let length = a.len().min(b.len());
    let (a, b) = (a[..length].chunks_exact(8), b[..length].chunks_exact(8));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    let sums = a.zip(b).fold([0.0; 8], |mut sums, (a, b)| {
        (0..8).for_each(|lane| sums[lane] += a[lane] * b[lane]);
        sums
    });
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::rng::Purpose;

    fn stream(id: u64) -> Stream {
        Stream::new(1, Purpose::Arrivals, id)
    }

    /// Methods F.2: the variance of s_t but for sigma, and its correlation at lag 1, at d = 0.33.
    #[test]
    fn variance_of_the_sum() {
        let d: f64 = 0.33;
        assert!((variance(d) * (2.0 + 2.0 * d / (1.0 - d)) - 4.309_580_466_8).abs() < 1e-9);
        // Correlations of x_t at lags 1 and 2: d / (1-d) and times (1+d) / (2-d).
        let one = d / (1.0 - d);
        let two = one * (1.0 + d) / (2.0 - d);
        assert!(((1.0 + 2.0 * one + two) / (2.0 + 2.0 * one) - 0.796_407_185_6).abs() < 1e-9);
        for (d, sigma) in
            [(0.31, 0.504_797_577_979_734), (0.32, 0.493_504_194_064_595_6), (0.33, 0.481_706_495_961_421_8)]
        {
            assert!((FsdModel { d, theta: 0.0, past: 1 }.sigma() - sigma).abs() < 1e-13);
        }
    }

    #[test]
    fn coefficients_are_those_of_the_closed_form() {
        // Hosking 1981: phi_tj = -C(t, j) Gamma(j-d) Gamma(t-d-j+1) / (Gamma(-d) Gamma(t-d+1)).
        let (d, t) = (0.31, 40);
        let (phi, values, v) = durbin_levinson(d, t, || 0.0);
        assert_eq!((phi.len(), values), (t, vec![0.0; t]));
        let ln = libm::lgamma;
        for (j, phi) in (1..=t).map(|j| j as f64).zip(phi) {
            let t = t as f64;
            let choose = ln(t + 1.0) - ln(j + 1.0) - ln(t - j + 1.0);
            // Gamma(-d) = -Gamma(1-d) / d.
            let wanted = d * libm::exp(choose + ln(j - d) + ln(t - d - j + 1.0) - ln(1.0 - d) - ln(t - d + 1.0));
            assert!((phi - wanted).abs() < 1e-12 * wanted, "{j}: {phi}, not {wanted}");
        }
        assert!(v > 1.0 && v < 1.003, "the innovation's variance falls to 1: {v}");
    }

    /// The blocks' sums are those of the recursion, at the borders of blocks too.
    #[test]
    fn blocks_make_what_the_recursion_makes() {
        for (d, past) in [(0.33, 1), (0.2, 255), (0.31, 256), (0.45, 257), (0.31, 700)] {
            let mut numbers = stream(past as u64);
            let (phi, mut values, v) = durbin_levinson(d, past, || standard_normal(&mut numbers));
            for _ in 0..1_500 {
                let value: f64 = phi.iter().zip(values.iter().rev()).map(|(phi, value)| phi * value).sum();
                values.push(value + v.sqrt() * standard_normal(&mut numbers));
            }
            let mut numbers = stream(past as u64);
            let mut farima = Farima::new(d, past, || standard_normal(&mut numbers));
            for (at, wanted) in values[past..].iter().enumerate() {
                let found = farima.next(|| standard_normal(&mut numbers));
                assert!((found - wanted).abs() < 1e-11, "past {past}, value {at}: {found}, not {wanted}");
            }
        }
    }

    /// Mean 0, variance 1 and the correlations of the model. Over blocks of 4,000 values long-range dependence leaves a mean
    /// with a standard deviation of about 4,000^(d - 0.5); many blocks average that out.
    #[test]
    fn values_have_variance_one_and_the_correlations_of_the_model() {
        let model = FsdModel { d: 0.3, theta: 0.4, past: 300 };
        const LENGTH: usize = 4_000;
        const STREAMS: u64 = 40;
        let (mut sum, mut products) = (0.0, [0.0; 4]);
        const LAGS: [usize; 4] = [0, 1, 5, 50];
        for id in 0..STREAMS {
            let mut variable = Fsd::new(model, stream(id));
            let values: Vec<f64> = (0..LENGTH).map(|_| variable.normal()).collect();
            sum += values.iter().sum::<f64>();
            for (product, lag) in products.iter_mut().zip(LAGS) {
                *product +=
                    values.windows(lag + 1).map(|pair| pair[0] * pair[lag]).sum::<f64>() / (LENGTH - lag) as f64;
            }
        }
        let mean = sum / (STREAMS * LENGTH as u64) as f64;
        assert!(mean.abs() < 0.03, "{mean}");
        // Of x at lag k: product over i = 1..k of (i - 1 + d) / (i - d); of s: those of three neighbours added.
        let of_x = |k: usize| (1..=k).map(|i| (i as f64 - 1.0 + model.d) / (i as f64 - model.d)).product::<f64>();
        let of_s = |k: usize| {
            (of_x(k.abs_diff(1)) + 2.0 * of_x(k) + of_x(k + 1)) / (2.0 + 2.0 * of_x(1)) * (1.0 - model.theta)
        };
        for (product, lag) in products.iter().zip(LAGS) {
            let wanted = if lag == 0 { 1.0 } else { of_s(lag) };
            let found = product / STREAMS as f64;
            assert!((found - wanted).abs() < 0.03, "lag {lag}: {found}, not {wanted}");
        }
    }

    #[test]
    fn without_dependence_there_is_noise_alone() {
        let mut variable = Fsd::new(FsdModel { d: 0.3, theta: 1.0, past: 10 }, stream(0));
        assert_eq!(variable.sigma, 0.0);
        let marginal = Distribution::constant(3.0).unwrap();
        assert_eq!(variable.sample(&marginal), 3.0);
    }
}
