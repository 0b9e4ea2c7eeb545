//! Laws made of laws: mixtures, laws that are cut at limits, laws in whole numbers.

use super::law::{Law, Rounding};
use super::quadrature::integral;

/// The largest number below one: what a share that rounding has pushed to one is taken for.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// The part that is chosen by `u`, and where in its share `u` lies.
pub(super) fn part(parts: &[(f64, Law)], u: f64) -> Option<(usize, f64)> {
    let mut before = 0.0;
    let mut last = None;
    for (index, (weight, _)) in parts.iter().enumerate().filter(|(_, (weight, _))| *weight > 0.0) {
        last = Some((index, ((u - before) / weight).clamp(0.0, BELOW_ONE)));
        before += weight;
        if u < before {
            break;
        }
    }
    last
}

/// The quantile of a mixture: where its distribution function passes `u`.
pub(super) fn mixture_quantile(parts: &[(f64, Law)], u: f64) -> f64 {
    // Parts that lie one behind the other need no search.
    if let Some((index, share)) = part(parts, u) {
        let found = parts[index].1.quantile(share);
        let present = |range: &[(f64, Law)], fits: &dyn Fn(&Law) -> bool| {
            range.iter().filter(|(weight, _)| *weight > 0.0).all(|(_, law)| fits(law))
        };
        if present(&parts[..index], &|law| law.max() <= found)
            && present(&parts[index + 1..], &|law| law.quantile(0.0) >= found)
        {
            return found;
        }
    }
    let quantiles = || parts.iter().filter(|(weight, _)| *weight > 0.0).map(|(_, law)| law.quantile(u));
    let (mut low, mut high) = (quantiles().fold(f64::INFINITY, f64::min), quantiles().fold(0.0, f64::max));
    let passed = |x: f64| {
        let (below, above) = mixture_shares(parts, x);
        if u < 0.5 { below > u } else { above < 1.0 - u }
    };
    if low >= high || !high.is_finite() || passed(low) {
        return low;
    }
    loop {
        let middle =
            if low > 0.0 && high > 4.0 * low { libm::sqrt(low) * libm::sqrt(high) } else { low + 0.5 * (high - low) };
        if middle <= low || middle >= high {
            return high;
        }
        *(if passed(middle) { &mut high } else { &mut low }) = middle;
    }
}

/// P(X <= x) and P(X > x) of a mixture.
pub(super) fn mixture_shares(parts: &[(f64, Law)], x: f64) -> (f64, f64) {
    parts.iter().fold((0.0, 0.0), |(below, above), (weight, law)| {
        let shares = law.shares(x);
        (below + weight * shares.0, above + weight * shares.1)
    })
}

/// P(X < x) and P(X >= x).
pub(super) fn shares_before(law: &Law, x: f64) -> (f64, f64) {
    law.shares(x.next_down())
}

/// P(from <= X <= to), from whichever side loses less.
fn between(law: &Law, from: f64, to: f64) -> f64 {
    let ((before, not_before), (up_to, above)) = (shares_before(law, from), law.shares(to));
    if not_before < 0.5 { not_before - above } else { up_to - before }
}

/// The share that is left within limits.
pub(super) fn left(law: &Law, min: f64, max: f64) -> f64 {
    between(law, min, max).max(0.0)
}

/// The quantile of what is left within limits.
pub(super) fn truncated_quantile(law: &Law, min: f64, max: f64, u: f64) -> f64 {
    let before = shares_before(law, min).0;
    let share = before + u * left(law, min, max);
    law.quantile(share.min(BELOW_ONE)).clamp(min, max)
}

/// The shares of what is left within limits.
pub(super) fn truncated_shares(law: &Law, min: f64, max: f64, x: f64) -> (f64, f64) {
    if x < min || x >= max {
        return if x < min { (0.0, 1.0) } else { (1.0, 0.0) };
    }
    let left = left(law, min, max);
    ((between(law, min, x) / left).clamp(0.0, 1.0), ((law.shares(x).1 - law.shares(max).1) / left).clamp(0.0, 1.0))
}

/// Limits of integration between which a law is smooth or nearly so: some of its quantiles.
fn places(law: &Law, from: f64, to: f64) -> Vec<f64> {
    let half = |power: i32| libm::exp2(f64::from(-power));
    let shares = (1..=40).rev().map(half).chain((2..=50).map(|power| 1.0 - half(power)));
    let inside = shares.map(|share| law.quantile(share)).filter(|place| *place > from && *place < to);
    let mut places: Vec<f64> = [from].into_iter().chain(inside).chain([to]).collect();
    places.sort_unstable_by(f64::total_cmp);
    places.dedup();
    places
}

/// The integral of P(X > x) - `level` from `from` to `to`.
fn integral_above(law: &Law, from: f64, to: f64, level: f64) -> f64 {
    integral(&places(law, from, to), &|x| law.shares(x).1 - level)
}

/// The mean of the square of a law with a largest value, `None` of others: the integral of 2 x P(X > x).
pub(super) fn mean_square(law: &Law) -> Option<f64> {
    if let Law::Empirical(values) = law {
        return Some(values.iter().map(|(value, probability)| value * value * probability).sum());
    }
    let max = law.max();
    max.is_finite().then(|| integral(&places(law, 0.0, max), &|x| 2.0 * x * law.shares(x).1))
}

/// The mean of listed values after `change`, `None` where they are not listed; a change to nothing leaves them out.
fn listed_mean(law: &Law, change: impl Fn(f64) -> Option<f64>) -> Option<f64> {
    let Law::Empirical(values) = law else { return None };
    let kept = values.iter().filter_map(|(value, probability)| Some((change(*value)?, probability)));
    let (sum, mass) =
        kept.fold((0.0, 0.0), |(sum, mass), (value, probability)| (sum + value * probability, mass + probability));
    Some(sum / mass)
}

/// The mean of a law within limits: those of the limits by the integral of the share above, without which the mean of a
/// heavy tail is missed.
pub(super) fn truncated_mean(law: &Law, min: f64, max: f64) -> Option<f64> {
    if let Some(mean) = listed_mean(law, |value| (min..=max).contains(&value).then_some(value)) {
        return Some(mean);
    }
    let max = max.min(law.max());
    let left = left(law, min, max);
    let beyond = if max.is_finite() {
        integral_above(law, min, max, law.shares(max).1)
    } else {
        law.mean()? - integral_above(law, 0.0, min, 0.0)
    };
    Some(min + beyond / left)
}

/// The mean of a law whose values are moved to the limits.
pub(super) fn clipped_mean(law: &Law, min: f64, max: f64) -> Option<f64> {
    if let Some(mean) = listed_mean(law, |value| Some(value.clamp(min, max))) {
        return Some(mean);
    }
    if max.is_finite() || law.max().is_finite() {
        return Some(min + integral_above(law, min, max.min(law.max()).max(min), 0.0));
    }
    Some(law.mean()? + integral(&places(law, 0.0, min), &|x| law.shares(x).0))
}

/// The mean in whole numbers: the sum of P(X > k), or of P(X >= k), exact up to some thousands and Euler and Maclaurin's from there.
pub(super) fn rounded_mean(law: &Law, to: Rounding) -> Option<f64> {
    const EXACT: u32 = 4_096;
    let round = match to {
        Rounding::Up => libm::ceil,
        Rounding::Down => libm::floor,
    };
    if let Some(mean) = listed_mean(law, |value| Some(round(value))) {
        return Some(mean);
    }
    let end = f64::from(EXACT);
    let sum: f64 = match to {
        Rounding::Up => (0..EXACT).map(|k| law.shares(f64::from(k)).1).sum(),
        Rounding::Down => (1..=EXACT).map(|k| shares_before(law, f64::from(k)).1).sum(),
    };
    if law.max() <= end {
        return Some(sum);
    }
    let rest = law.mean()? - integral_above(law, 0.0, end, 0.0);
    let half = 0.5 * law.shares(end).1;
    Some(sum + rest + if to == Rounding::Up { half } else { -half })
}
