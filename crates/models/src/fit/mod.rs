//! Laws fitted to values by maximum likelihood, and how far each is from them: methods E.

mod distance;
mod tail;
mod values;

use flowloom_core::distribution::{Distribution, Law, normal_below, normal_hazard};

use crate::special::digamma;

pub use distance::{anderson_darling, kolmogorov_smirnov, largest_distance};
pub use tail::{Drift, Hill, LeastSquares, Tail, hill, least_squares, samples_for_digits, swamping};
pub use values::Values;

/// What can be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// By the mean.
    Exponential,
    /// By mean and deviation of the logarithms.
    Lognormal,
    /// By a search for the shape.
    Weibull,
    /// By a search for the shape.
    Gamma,
    /// From the smallest value on, with the unbiased index (n - 2) / sum ln(x / min).
    Pareto,
    /// From the smallest to the largest value, by a search for the index.
    BoundedPareto,
    /// Cut at zero, by a search for what mean and deviation were before.
    Normal,
    /// Whole numbers from 1 on, by the mean.
    Geometric,
}

/// Why a family cannot be fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// Too few values.
    #[error("fewer than five values above zero")]
    TooFew,
    /// All values are equal.
    #[error("all values are equal")]
    NoSpread,
    /// Values are not whole.
    #[error("not all values are whole numbers from 1 on")]
    NotWhole,
    /// The values are spread too far for the family.
    #[error("the values are spread too far for a law whose mode is not at zero")]
    TooWide,
    /// Large values are too many for a tail.
    #[error("the values do not thin out towards the largest")]
    NoTail,
    /// The values are spread too little for the family.
    #[error("the values are spread too little")]
    TooNarrow,
}

/// A law and how well it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Of which family.
    pub family: Family,
    /// The law.
    pub law: Distribution,
    /// Logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Akaike's criterion: 2 parameters - 2 log-likelihood. Differences count; less is better.
    pub aic: f64,
    /// Kolmogorov-Smirnov distance to the values.
    pub ks: f64,
    /// Anderson and Darling's statistic, where the law is continuous and finds no value impossible.
    pub anderson_darling: Option<f64>,
}

impl Family {
    /// All of them.
    pub const ALL: [Family; 8] = [
        Family::Exponential,
        Family::Lognormal,
        Family::Weibull,
        Family::Gamma,
        Family::Pareto,
        Family::BoundedPareto,
        Family::Normal,
        Family::Geometric,
    ];

    /// Its name, as experiments write the kind of a law.
    pub const fn name(self) -> &'static str {
        match self {
            Family::Exponential => "exponential",
            Family::Lognormal => "lognormal",
            Family::Weibull => "weibull",
            Family::Gamma => "gamma",
            Family::Pareto => "pareto",
            Family::BoundedPareto => "bounded-pareto",
            Family::Normal => "normal",
            Family::Geometric => "geometric",
        }
    }

    /// Numbers that are taken from the values.
    const fn parameters(self) -> u32 {
        match self {
            Family::Exponential | Family::Geometric => 1,
            Family::BoundedPareto => 3,
            _ => 2,
        }
    }
}

/// Fits `family` to the values above zero.
///
/// # Errors
/// If there is no law of the family that is most likely, or none at all.
pub fn fit(family: Family, values: &Values) -> Result<Fit, Unfit> {
    let values = &values.positive();
    if values.count() < 5 {
        return Err(Unfit::TooFew);
    }
    let (law, log_density) = most_likely(family, values)?;
    let law = Distribution::new(law).map_err(|_| Unfit::TooNarrow)?;
    let log_likelihood = values.count() as f64 * values.mean_of(log_density);
    let continuous = family != Family::Geometric;
    Ok(Fit {
        family,
        log_likelihood,
        aic: 2.0 * f64::from(family.parameters()) - 2.0 * log_likelihood,
        ks: kolmogorov_smirnov(values, &law),
        anderson_darling: if continuous { anderson_darling(values, &law) } else { None },
        law,
    })
}

/// The tail index of a Pareto law whose smallest value is known: n / sum ln(x / min).
pub fn pareto_index(values: &Values, min: f64) -> f64 {
    1.0 / values.mean_of(|x| libm::log(x / min))
}

/// The same without bias where `min` is the smallest of the values: (n - 2) / sum ln(x / min).
pub fn unbiased_pareto_index(values: &Values) -> Option<f64> {
    let n = values.count() as f64;
    values.min().map(|min| pareto_index(values, min) * (n - 2.0) / n)
}

type LogDensity = Box<dyn Fn(f64) -> f64>;

fn most_likely(family: Family, values: &Values) -> Result<(Law, LogDensity), Unfit> {
    let mean = values.mean_of(|x| x);
    let ln_mean = values.mean_of(libm::log);
    let (min, max) = (values.min().unwrap_or(0.0), values.max().unwrap_or(0.0));
    if min == max && !matches!(family, Family::Exponential | Family::Geometric) {
        return Err(Unfit::NoSpread);
    }
    Ok(match family {
        Family::Exponential => {
            let ln_scale = libm::log(mean);
            (Law::Exponential { mean }, Box::new(move |x| -ln_scale - x / mean))
        }
        Family::Lognormal => {
            let square = values.mean_of(|x| (libm::log(x) - ln_mean) * (libm::log(x) - ln_mean));
            let sigma = libm::sqrt(square);
            let constant = -libm::log(sigma) - half_ln_tau();
            let ln_density = move |x| {
                let z = (libm::log(x) - ln_mean) / sigma;
                constant - libm::log(x) - 0.5 * z * z
            };
            (Law::LognormalMuSigma { mu: ln_mean, sigma }, Box::new(ln_density))
        }
        Family::Weibull => {
            // sum x^k ln x / sum x^k - 1/k = mean ln x, with values relative to the largest so that no power overflows.
            let top = libm::log(max);
            let excess = |shape: f64| {
                let power = |x: f64| libm::exp(shape * (libm::log(x) - top));
                let sum = values.mean_of(power);
                let weighted = values.mean_of(|x| power(x) * (libm::log(x) - top));
                weighted / sum - 1.0 / shape - (ln_mean - top)
            };
            let shape = root(1e-3, 1e3, excess).ok_or(Unfit::TooNarrow)?;
            let scale = libm::exp(top + libm::log(values.mean_of(|x| libm::exp(shape * (libm::log(x) - top)))) / shape);
            let constant = libm::log(shape / scale);
            let ln_density = move |x| {
                let ratio = libm::log(x / scale);
                constant + (shape - 1.0) * ratio - libm::exp(shape * ratio)
            };
            (Law::Weibull { shape, scale }, Box::new(ln_density))
        }
        Family::Gamma => {
            // ln k - digamma(k) = ln mean - mean ln x.
            let gap = libm::log(mean) - ln_mean;
            let shape = root(1e-4, 1e5, |shape| gap - libm::log(shape) + digamma(shape)).ok_or(Unfit::TooNarrow)?;
            let scale = mean / shape;
            let constant = -shape * libm::log(scale) - libm::lgamma(shape);
            (Law::Gamma { shape, scale }, Box::new(move |x| constant + (shape - 1.0) * libm::log(x) - x / scale))
        }
        Family::Pareto => {
            let shape = unbiased_pareto_index(values).ok_or(Unfit::TooFew)?;
            let constant = libm::log(shape) + shape * libm::log(min);
            (Law::Pareto { min, shape }, Box::new(move |x| constant - (shape + 1.0) * libm::log(x)))
        }
        Family::BoundedPareto => {
            // 1/shape - T / (e^(shape T) - 1) = mean ln(x / min), with T = ln(max / min): from T/2 downwards.
            let length = libm::log(max / min);
            let target = ln_mean - libm::log(min);
            let excess = |shape: f64| target - 1.0 / shape + length / libm::expm1(shape * length);
            let shape = root(1e-6, 1e4, excess).ok_or(Unfit::NoTail)?;
            let kept = -libm::expm1(-shape * length);
            let constant = libm::log(shape / kept) + shape * libm::log(min);
            (Law::BoundedPareto { min, max, shape }, Box::new(move |x| constant - (shape + 1.0) * libm::log(x)))
        }
        Family::Normal => {
            // Mean and variance of what is left above zero determine what was before, by h = -mean / sd: with the hazard l of the
            // normal law they are sd (l - h) and sd^2 (1 + h l - l^2).
            let square = values.mean_of(|x| (x - mean) * (x - mean)) / (mean * mean);
            let spread = |h: f64| {
                let l = normal_hazard(h);
                (1.0 + h * l - l * l) / ((l - h) * (l - h))
            };
            // From a certain spread on the mode is at zero.
            if square >= spread(0.0) {
                return Err(Unfit::TooWide);
            }
            let h = -root(1e-9, 1e9, |ratio| square - spread(-ratio)).ok_or(Unfit::TooNarrow)?;
            let sd = mean / (normal_hazard(h) - h);
            let before = -h * sd;
            let constant = -libm::log(sd) - half_ln_tau() - libm::log(normal_below(-h));
            let ln_density = move |x: f64| constant - 0.5 * ((x - before) / sd) * ((x - before) / sd);
            (Law::Normal { mean: before, sd }, Box::new(ln_density))
        }
        Family::Geometric => {
            if min < 1.0 || values.steps().iter().any(|(value, _)| value.fract() != 0.0) {
                return Err(Unfit::NotWhole);
            }
            let success = 1.0 / mean;
            let (first, next) = (libm::log(success), libm::log1p(-success));
            let ln_probability = move |x: f64| if x == 1.0 { first } else { first + (x - 1.0) * next };
            (Law::Geometric { min: 1.0, mean }, Box::new(ln_probability))
        }
    })
}

/// Half the logarithm of 2 pi.
fn half_ln_tau() -> f64 {
    0.5 * libm::log(std::f64::consts::TAU)
}

/// Where a rising `f` passes zero between `low` and `high`, by bisection of the logarithm; `None` if it does not.
fn root(low: f64, high: f64, f: impl Fn(f64) -> f64) -> Option<f64> {
    // Rounding may hide the sign at the far ends: begin at one and double.
    let (mut low_end, mut high_end) = (1.0f64, 1.0f64);
    while f(low_end) > 0.0 {
        low_end *= 0.5;
        if low_end < low {
            return None;
        }
    }
    while f(high_end) < 0.0 {
        high_end *= 2.0;
        if high_end > high {
            return None;
        }
    }
    while high_end - low_end > 2e-15 * high_end {
        let middle = 0.5 * (low_end + high_end);
        if middle <= low_end || middle >= high_end {
            break;
        }
        *(if f(middle) < 0.0 { &mut low_end } else { &mut high_end }) = middle;
    }
    Some(0.5 * (low_end + high_end))
}

#[cfg(test)]
mod tests {
    use flowloom_core::rng::{Purpose, Stream};

    use super::values::vectors::grid;
    use super::*;

    fn near(found: f64, wanted: f64, tolerance: f64) {
        assert!((found / wanted - 1.0).abs() < tolerance, "{found}, not {wanted}");
    }

    #[test]
    fn pareto_indices_of_methods_e1() {
        near(pareto_index(&grid(), 1_000.0), 1.230_426_382_0, 1e-9);
        near(pareto_index(&grid(), grid().min().unwrap()), 1.231_042_270_5, 1e-9);
        near(unbiased_pareto_index(&grid()).unwrap(), 1.228_580_186_0, 1e-9);
        near(grid().mean_of(|x| x), 4_352.711_6, 1e-8);
        near(Distribution::new(Law::Pareto { min: 1e3, shape: 1.23 }).unwrap().mean().unwrap(), 5_347.826_1, 1e-8);
    }

    /// 20,000 values on the quantiles of `law`.
    fn on_quantiles(law: &Law) -> Values {
        let law = Distribution::new(law.clone()).unwrap();
        (0..20_000).map(|i| law.quantile((f64::from(i) + 0.5) / 2e4)).collect()
    }

    #[test]
    fn every_family_finds_its_own_law_and_fits_it_best() {
        let laws = [
            (Family::Exponential, Law::Exponential { mean: 3e6 }),
            (Family::Lognormal, Law::LognormalMuSigma { mu: 8.0, sigma: 1.5 }),
            (Family::Weibull, Law::Weibull { shape: 0.63, scale: 305.0 }),
            (Family::Gamma, Law::Gamma { shape: 0.4, scale: 1e4 }),
            (Family::Gamma, Law::Gamma { shape: 30.0, scale: 20.0 }),
            (Family::Pareto, Law::Pareto { min: 1e3, shape: 1.23 }),
            (Family::BoundedPareto, Law::BoundedPareto { min: 1e3, max: 1e5, shape: 0.7 }),
            (Family::Normal, Law::Normal { mean: 5.0, sd: 3.0 }),
            (Family::Geometric, Law::Geometric { min: 1.0, mean: 4.0 }),
        ];
        for (family, law) in laws {
            let values = on_quantiles(&law);
            let own = fit(family, &values).unwrap();
            assert!(own.ks < 0.003, "{family:?}: {own:?}");
            assert!(own.anderson_darling.is_none_or(|statistic| statistic < 1.0), "{own:?}");
            let found = own.law.law().clone();
            let pair = match (&found, &law) {
                (Law::Exponential { mean: a }, Law::Exponential { mean: b }) => vec![(*a, *b)],
                (Law::LognormalMuSigma { mu: a, sigma: c }, Law::LognormalMuSigma { mu: b, sigma: d }) => {
                    vec![(*a, *b), (*c, *d)]
                }
                (Law::Weibull { shape: a, scale: c }, Law::Weibull { shape: b, scale: d })
                | (Law::Gamma { shape: a, scale: c }, Law::Gamma { shape: b, scale: d })
                | (Law::Normal { mean: a, sd: c }, Law::Normal { mean: b, sd: d })
                | (Law::Pareto { shape: a, min: c }, Law::Pareto { shape: b, min: d })
                | (Law::Geometric { mean: a, min: c }, Law::Geometric { mean: b, min: d })
                | (Law::BoundedPareto { shape: a, max: c, .. }, Law::BoundedPareto { shape: b, max: d, .. }) => {
                    vec![(*a, *b), (*c, *d)]
                }
                other => panic!("{other:?}"),
            };
            for (found, wanted) in pair {
                near(found, wanted, 0.01);
            }
            for other in Family::ALL.into_iter().filter(|other| *other != family) {
                if let Ok(other) = fit(other, &values) {
                    // A Pareto law is a bounded one without a bound; probabilities and densities do not compare.
                    let special = (family, other.family) == (Family::Pareto, Family::BoundedPareto);
                    let farther = if family == Family::Geometric { other.ks > own.ks } else { other.aic > own.aic };
                    assert!(farther || special, "{family:?} and {:?}", other.family);
                }
            }
        }
    }

    #[test]
    fn maximum_likelihood_in_closed_form_or_as_published() {
        let values: Values = [1.0, 2.0, 4.0, 8.0, 16.0].into_iter().collect();
        assert_eq!(fit(Family::BoundedPareto, &values), Err(Unfit::NoTail), "their logarithms are uniform");
        let exponential = fit(Family::Exponential, &values).unwrap();
        near(exponential.log_likelihood, -5.0 * (6.2f64.ln() + 1.0), 1e-12);
        near(exponential.aic, 2.0 + 10.0 * (6.2f64.ln() + 1.0), 1e-12);
        let lognormal = fit(Family::Lognormal, &values).unwrap();
        let Law::LognormalMuSigma { mu, sigma } = *lognormal.law.law() else { panic!("{lognormal:?}") };
        near(mu, 4f64.ln(), 1e-12);
        near(sigma, 2f64.sqrt() * 2f64.ln(), 1e-12);
        // At the maximum nothing near is more likely.
        let values: Values = [1.0, 1.5, 2.0, 5.0, 16.0].into_iter().collect();
        for family in [Family::Weibull, Family::Gamma, Family::BoundedPareto] {
            let (law, _) = most_likely(family, &values).unwrap();
            let at = |factor: f64| {
                let law = match law {
                    Law::Weibull { shape, scale } => Law::Weibull { shape: shape * factor, scale },
                    Law::Gamma { shape, scale } => Law::Gamma { shape: shape * factor, scale: scale / factor },
                    Law::BoundedPareto { min, max, shape } => Law::BoundedPareto { min, max, shape: shape * factor },
                    ref other => panic!("{other:?}"),
                };
                let law = Distribution::new(law).unwrap();
                // The density by a narrow difference of the distribution function, inside of the limits.
                let density = |x: f64| match x {
                    1.0 => (law.cdf(x + 1e-5) - law.cdf(x)) / 1e-5,
                    16.0 => (law.cdf(x) - law.cdf(x - 1e-5)) / 1e-5,
                    x => (law.cdf(x + 1e-5) - law.cdf(x - 1e-5)) / 2e-5,
                };
                values.mean_of(|x| density(x).ln())
            };
            assert!(at(1.0) > at(0.97) && at(1.0) > at(1.03), "{family:?} {law:?}");
        }
    }

    /// Of samples of each family 95 % are described by the law that is fitted to them, and none of a sample of two lumps.
    #[test]
    fn a_family_describes_its_own_samples() {
        let laws = [
            (Family::Exponential, Law::Exponential { mean: 3.0 }),
            (Family::Lognormal, Law::LognormalMuSigma { mu: 2.0, sigma: 1.5 }),
            (Family::Weibull, Law::Weibull { shape: 0.5, scale: 10.0 }),
            (Family::Gamma, Law::Gamma { shape: 2.0, scale: 3.0 }),
            (Family::Pareto, Law::Pareto { min: 4.0, shape: 1.2 }),
            (Family::Normal, Law::Normal { mean: 50.0, sd: 9.0 }),
        ];
        let sample = |law: &Distribution, n: u64, seed| -> Values {
            let mut stream = Stream::new(seed, Purpose::Sizes, 0);
            (0..n).map(|_| law.sample(&mut stream)).collect()
        };
        for n in [30, 83, 400] {
            let described = |family, law: &Distribution| {
                let near = |seed: &u64| fit(family, &sample(law, n, *seed)).unwrap().ks <= largest_distance(n);
                (1..=400).filter(near).count()
            };
            for (family, law) in &laws {
                let found = described(*family, &Distribution::new(law.clone()).unwrap());
                // Two standard errors of a share of 0.95.
                assert!(found >= 371, "{family:?}: {found} of 400 samples of {n}");
            }
        }
        let lumps =
            Law::Mixture(vec![(0.5, Law::Normal { mean: 10.0, sd: 1.0 }), (0.5, Law::Normal { mean: 1e4, sd: 1.0 })]);
        let values = sample(&Distribution::new(lumps).unwrap(), 83, 1);
        let nearest = Family::ALL.into_iter().filter_map(|family| fit(family, &values).ok()).map(|fit| fit.ks);
        assert!(nearest.fold(1.0, f64::min) > largest_distance(83));
    }

    #[test]
    fn what_cannot_be_fitted_says_why() {
        let why = |family, values: &[f64]| fit(family, &values.iter().copied().collect()).unwrap_err();
        assert_eq!(why(Family::Weibull, &[1.0, 2.0, 0.0, 0.0, 0.0, 3.0]), Unfit::TooFew);
        assert_eq!(why(Family::Lognormal, &[2.0; 9]), Unfit::NoSpread);
        assert_eq!(why(Family::Geometric, &[1.0, 2.0, 2.5, 3.0, 3.0]), Unfit::NotWhole);
        assert_eq!(why(Family::Normal, &[1.0, 1.0, 1.0, 1.0, 100.0]), Unfit::TooWide);
        assert_eq!(why(Family::BoundedPareto, &[1.0, 99.0, 99.0, 99.0, 100.0]), Unfit::NoTail);
        assert!(fit(Family::Geometric, &[1.0; 9].into_iter().collect()).is_ok(), "all trials succeed");
    }
}
