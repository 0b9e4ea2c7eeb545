//! How long phases last: a Markov process whose shares of the time are those of the phases (methods I.1).
//!
//! A phase lasts exponentially long, `scale` times its share on average, and every other phase is equally likely to be next. So each is visited as often as
//! any other, and the shares of the time are those of the phases. (Drawn with their shares, the next phase would come from a process in which the shares of
//! the time go with their squares.)

use crate::rng::Stream;

use super::phases::Phases;

/// Phases that follow each other. Phases that have no share of the time are not among them.
#[derive(Clone, Debug)]
pub struct Sojourns {
    /// Shares of the time and rates in cells per second.
    phases: Vec<(f64, f64)>,
    /// Mean time in a phase over its share of the time, in seconds.
    scale: f64,
}

impl Sojourns {
    /// Phases of which one lasts `mean` seconds on average over all visits, above zero.
    pub fn new(phases: &Phases, mean: f64) -> Sojourns {
        let phases: Vec<(f64, f64)> = phases.iter().collect();
        Sojourns { scale: mean * phases.len() as f64, phases }
    }

    /// With as many changes in the same time as a series of (seconds, cells per second) sorted into `phases`; none if it has no change.
    pub fn of_series(phases: &Phases, series: &[(f64, f64)]) -> Option<Sojourns> {
        let changes = series.windows(2).filter(|pair| phases.phase_of(pair[0].1) != phases.phase_of(pair[1].1)).count();
        let seconds: f64 = series.iter().map(|(seconds, _)| seconds).sum();
        (changes > 0 && seconds > 0.0).then(|| Sojourns::new(phases, seconds / (changes + 1) as f64))
    }

    /// Mean time in a phase over its share of the time, in seconds.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// Mean time in a phase over all visits, in seconds.
    pub fn mean(&self) -> f64 {
        self.scale / self.phases.len() as f64
    }

    /// Their sequence: how many seconds at how many cells per second. It has no end; a single phase is always followed by itself.
    pub fn sequence(&self, mut stream: Stream) -> impl Iterator<Item = (f64, f64)> + '_ {
        let mut u = stream.uniform();
        // In the long run a moment is in a phase with its share; what is left of an exponential time is one like it.
        let mut now = self
            .phases
            .iter()
            .position(|(share, _)| {
                u -= share;
                u < 0.0
            })
            .unwrap_or(0);
        std::iter::from_fn(move || {
            let &(share, rate) = self.phases.get(now)?;
            let seconds = stream.exponential(self.scale * share);
            let others = self.phases.len() as u64 - 1;
            let next = stream.below(others) as usize;
            if others > 0 {
                now = if next < now { next } else { next + 1 };
            }
            Some((seconds, rate))
        })
    }

    /// Autocorrelation of the rate at these lags in seconds; none if the rate never changes.
    ///
    /// With generator Q and D the shares as a diagonal, D^(1/2) Q D^(-1/2) is symmetric: from its eigenvalues, none of which is above zero, come sums of
    /// exponentials.
    pub fn autocorrelation(&self, lags: &[f64]) -> Option<Vec<f64>> {
        let n = self.phases.len();
        let mean: f64 = self.phases.iter().map(|(share, rate)| share * rate).sum();
        let variance: f64 = self.phases.iter().map(|(share, rate)| share * (rate - mean) * (rate - mean)).sum();
        if n < 2 || variance <= 0.0 {
            return None;
        }
        let each = 1.0 / (self.scale * (n - 1) as f64);
        let entry = |i: usize, j: usize| match (self.phases[i].0, self.phases[j].0) {
            (share, _) if i == j => -1.0 / (self.scale * share),
            (one, other) => each / libm::sqrt(one * other),
        };
        let matrix = (0..n).map(|i| (0..n).map(|j| entry(i, j)).collect()).collect();
        let (values, vectors) = eigen(matrix);
        let deviations: Vec<f64> = self.phases.iter().map(|(share, rate)| libm::sqrt(*share) * (rate - mean)).collect();
        let weights = (0..n).map(|k| {
            let projection: f64 = deviations.iter().zip(&vectors).map(|(value, row)| value * row[k]).sum();
            projection * projection / variance
        });
        let weights: Vec<f64> = weights.collect();
        let at = |lag: &f64| {
            weights.iter().zip(&values).map(|(weight, value)| weight * libm::exp(value.min(0.0) * lag)).sum()
        };
        Some(lags.iter().map(at).collect())
    }
}

/// Autocorrelation of a series of (seconds, cells per second) at multiples of `step` seconds, from 0 to `lags`: of the mean rates in bins of that length,
/// with the mean and the variance of the whole series. None if it has no two bins or no variance.
pub fn autocorrelation(series: &[(f64, f64)], step: f64, lags: usize) -> Option<Vec<f64>> {
    let rates = binned(series, step);
    let n = rates.len();
    let mean = rates.iter().sum::<f64>() / n as f64;
    let variance: f64 = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum();
    if n < 2 || variance.is_nan() || variance <= 0.0 {
        return None;
    }
    let product = |lag: usize| rates.iter().zip(&rates[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>();
    Some((0..=lags.min(n - 1)).map(|lag| product(lag) / variance).collect())
}

/// Mean rates in whole bins of `width` seconds.
fn binned(series: &[(f64, f64)], width: f64) -> Vec<f64> {
    let (mut rates, mut cells, mut filled) = (Vec::new(), 0.0, 0.0);
    // Rounding must not lose a bin that is full but for its last bit.
    let full = width * (1.0 - 1e-9);
    for &(seconds, rate) in series {
        let mut left = seconds;
        while filled + left >= full {
            let part = (width - filled).min(left);
            rates.push((cells + part * rate) / width);
            left -= part;
            (cells, filled) = (0.0, 0.0);
        }
        cells += left * rate;
        filled += left;
    }
    rates
}

/// Eigenvalues of a symmetric matrix, and its eigenvectors as columns, by Jacobi's rotations (Golub and Van Loan, section 8.5).
fn eigen(mut a: Vec<Vec<f64>>) -> (Vec<f64>, Vec<Vec<f64>>) {
    let n = a.len();
    let mut vectors: Vec<Vec<f64>> = (0..n).map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect()).collect();
    // They converge quadratically: some ten sweeps are enough for any matrix.
    for _ in 0..60 {
        let mut rotated = false;
        for p in 0..n {
            for q in p + 1..n {
                if a[p][q].abs() <= 1e-17 * libm::sqrt((a[p][p] * a[q][q]).abs()) {
                    continue;
                }
                rotated = true;
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = f64::copysign(1.0, theta) / (theta.abs() + libm::hypot(theta, 1.0));
                let c = 1.0 / libm::hypot(t, 1.0);
                let s = t * c;
                for row in a.iter_mut().chain(&mut vectors) {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (above, below) = a.split_at_mut(q);
                for (x, y) in above[p].iter_mut().zip(&mut below[0]) {
                    (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                }
            }
        }
        if !rotated {
            break;
        }
    }
    ((0..n).map(|i| a[i][i]).collect(), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn phases() -> Phases {
        Phases::new(vec![0.0, 10.0, 20.0, 40.0, 50.0], vec![0.5, 0.3, 0.0, 0.2]).unwrap()
    }

    #[test]
    fn shares_of_the_time_are_those_of_the_phases() {
        let phases = phases();
        let sojourns = Sojourns::new(&phases, 2.0);
        let (mut time, mut visits) = ([0.0; 4], [0_u32; 4]);
        let mut last = f64::NAN;
        for (seconds, rate) in sojourns.sequence(Stream::new(1, Purpose::Sojourns, 0)).take(300_000) {
            let phase = phases.phase_of(rate);
            time[phase] += seconds;
            visits[phase] += 1;
            assert!(rate != last, "a phase does not follow itself");
            last = rate;
        }
        let total: f64 = time.iter().sum();
        assert!((total / 300_000.0 - 2.0).abs() < 0.02, "{total}");
        for (found, wanted) in time.iter().zip(phases.shares()) {
            assert!((found / total - wanted).abs() < 0.005, "{time:?}");
        }
        assert!(visits[0].abs_diff(visits[3]) < 1_500, "{visits:?}");
        let one = Phases::new(vec![0.0, 10.0], vec![1.0]).unwrap();
        let mut sequence = Sojourns::new(&one, 2.0);
        assert!(sequence.sequence(Stream::new(1, Purpose::Sojourns, 0)).take(3).all(|(_, rate)| rate == 10.0));
        sequence.scale = 1.0;
        assert_eq!(sequence.autocorrelation(&[1.0]), None);
    }

    /// Two phases: a telegraph process, whose autocorrelation is one exponential.
    #[test]
    fn two_phases_have_one_exponential() {
        let phases = Phases::new(vec![0.0, 10.0, 20.0], vec![0.3, 0.7]).unwrap();
        let sojourns = Sojourns::new(&phases, 1.0);
        assert_eq!(sojourns.scale(), 2.0);
        let decay = 1.0 / (2.0 * 0.3) + 1.0 / (2.0 * 0.7);
        let found = sojourns.autocorrelation(&[0.0, 0.5, 3.0]).unwrap();
        for (found, lag) in found.iter().zip([0.0, 0.5, 3.0_f64]) {
            assert!((found - (-decay * lag).exp()).abs() < 1e-13, "{found}");
        }
    }

    /// Against a long sequence of itself.
    #[test]
    fn a_sequence_has_the_autocorrelation_of_the_process() {
        let phases = phases();
        let sojourns = Sojourns::new(&phases, 1.0);
        let series: Vec<_> = sojourns.sequence(Stream::new(2, Purpose::Sojourns, 0)).take(400_000).collect();
        // Bins are short against sojourns: their means are as good as points.
        let found = autocorrelation(&series, 0.1, 30).unwrap();
        let wanted = sojourns.autocorrelation(&[0.0, 0.5, 1.0, 3.0]).unwrap();
        for (lag, wanted) in [0, 5, 10, 30].into_iter().zip(wanted) {
            assert!((found[lag] - wanted).abs() < 0.03, "{lag}: {} {wanted}", found[lag]);
        }
        let refitted = Sojourns::of_series(&phases, &series).unwrap();
        assert!((refitted.scale() / sojourns.scale() - 1.0).abs() < 0.01);
        assert!(Sojourns::of_series(&phases, &[(1.0, 5.0), (1.0, 6.0)]).is_none());
    }

    #[test]
    fn autocorrelations_of_known_series() {
        let alternating: Vec<(f64, f64)> = (0..1_000).map(|i| (0.1, f64::from(i % 2))).collect();
        let found = autocorrelation(&alternating, 0.1, 2).unwrap();
        assert!(
            (found[0] - 1.0).abs() < 1e-12 && (found[1] + 0.999).abs() < 1e-9 && (found[2] - 0.998).abs() < 1e-9,
            "{found:?}"
        );
        assert_eq!(autocorrelation(&alternating, 0.2, 2), None, "nothing varies in bins of two");
        assert_eq!(binned(&[(0.25, 4.0), (0.5, 8.0), (1.0, 0.0)], 0.5), [6.0, 4.0, 0.0]);
    }

    #[test]
    fn eigenvalues_of_a_known_matrix() {
        let (mut values, vectors) = eigen(vec![vec![2.0, -1.0, 0.0], vec![-1.0, 2.0, -1.0], vec![0.0, -1.0, 2.0]]);
        values.sort_by(f64::total_cmp);
        let root = 2.0_f64.sqrt();
        for (found, wanted) in values.iter().zip([2.0 - root, 2.0, 2.0 + root]) {
            assert!((found - wanted).abs() < 1e-13, "{values:?}");
        }
        let length: f64 = vectors.iter().map(|row| row[0] * row[0]).sum();
        assert!((length - 1.0).abs() < 1e-13);
    }
}
