//! The largest difference of a metric in words.

use flowloom_core::units::three_digits;

use super::difference::FEWEST;
use super::outcome::Judgement;
use crate::metric::{Metric, Unit};
use crate::statistics::{QuantileRatio, Sample, Statistic, largest_gap, quantile_ratio};
use crate::words::thousands;

/// What a sentence on a difference is made of.
pub(super) struct Finding<'a> {
    pub metric: Metric,
    pub reference: &'a Sample,
    pub other: &'a Sample,
    pub judgement: Judgement,
    /// Values to judge by.
    pub n: usize,
    /// What the two are called.
    pub names: [&'a str; 2],
}

/// The largest difference in one sentence: of times the quantile that changed most, of series the mean.
pub(super) fn finding(of: &Finding<'_>) -> String {
    let Finding { metric, reference, other, judgement, n, names: [reference_name, other_name] } = *of;
    let name = capitalised(metric.plural());
    if let (true, Some(a), Some(b)) = (metric.is_of_cells(), reference.mean(), other.mean()) {
        let [a, b] = [a, b].map(|value| metric.unit().show(value));
        return format!("{name}: {b} in {other_name}, {a} in {reference_name}");
    }
    if judgement == Judgement::CannotTell && n < FEWEST {
        let values = if metric.is_series() { "bins with anything in them" } else { "values" };
        return format!("{name}: {n} {values} are too few to tell");
    }
    let show = |value: f64| metric.unit().show(value);
    if metric.unit() == Unit::Time
        && let Some(sentence) = change_of_quantile(of)
    {
        return format!("{name}: {sentence}");
    }
    if judgement == Judgement::CannotTell {
        let (unfinished, all) = (reference.unfinished() + other.unfinished(), reference.len() + other.len());
        let of = format!("{} of {} values", thousands(unfinished as u64), thousands(all as u64));
        return format!("{name}: {of} had not ended with the run, and decide whether they are the same");
    }
    if metric.is_series()
        && let (Some(a), Some(b)) = (reference.mean(), other.mean())
        && a > 0.0
        && (b / a - 1.0).abs() > 0.01
    {
        let change = match b / a {
            ratio if ratio >= MANIFOLD => format!("{} times as high", manifold(ratio)),
            ratio if ratio > 1.0 => format!("{} % higher", three_digits((ratio - 1.0) * 100.0)),
            ratio => format!("{} % lower", three_digits((1.0 - ratio) * 100.0)),
        };
        return format!("{name}: {change} in {other_name} on average ({} against {})", show(b), show(a));
    }
    let Some(gap) = largest_gap(reference, other).filter(|gap| gap.f != gap.g) else {
        return format!("{name}: no difference");
    };
    let percent = |share: f64| format!("{} %", three_digits(share * 100.0));
    let (here, there) = (1.0 - gap.g, 1.0 - gap.f);
    let x = show(gap.x);
    if metric.is_series() {
        let (here, there) = (percent(here), percent(there));
        return format!("{name}: above {x} in {here} of the bins in {other_name}, in {there} in {reference_name}");
    }
    let change = match (here, there) {
        (_, 0.0) => "only seen".to_owned(),
        (0.0, _) => "not seen".to_owned(),
        _ if here / there >= MANIFOLD => format!("{} times as frequent", manifold(here / there)),
        _ if here > there => format!("{} more frequent", percent(here / there - 1.0)),
        _ => format!("{} rarer", percent(1.0 - here / there)),
    };
    format!("{name} above {x} are {change} in {other_name} ({} of all against {})", percent(here), percent(there))
}

/// `the median is 7.90 times as long in fq (79.0 ms against 10.0 ms)`, of the quantile whose ratio is largest; `None` if all stay within
/// the tolerance.
fn change_of_quantile(of: &Finding<'_>) -> Option<String> {
    let (p, ratio) = largest_ratio(of.metric, of.reference, of.other)?;
    let quantile = if p == 0.5 { "median".to_owned() } else { format!("{} % quantile", (p * 100.0).round()) };
    let more = if matches!(ratio, QuantileRatio::Is(_)) { "" } else { "more than " };
    let change = match ratio.value() {
        ratio if ratio >= MANIFOLD => format!("{more}{} times as long", manifold(ratio)),
        ratio if ratio > 1.0 => format!("{more}{} % longer", three_digits((ratio - 1.0) * 100.0)),
        ratio => format!("{more}{} % shorter", three_digits((1.0 - ratio) * 100.0)),
    };
    let [here, there] = [of.other, of.reference].map(|sample| sample.quantile_or_bound(p));
    let show = |quantile| of.metric.unit().show_quantile(quantile);
    Some(format!("the {quantile} is {change} in {} ({} against {})", of.names[1], show(here?), show(there?)))
}

/// The quantile of a median or tail whose ratio is farthest from 1, among those that change by more than the metric's tolerance and have
/// values enough on their far side.
pub(super) fn largest_ratio(metric: Metric, reference: &Sample, other: &Sample) -> Option<(f64, QuantileRatio)> {
    let changed = [0.5, 0.9, 0.99].into_iter().filter_map(|p| {
        let (a, b) = (Statistic::Quantile(p).of(reference)?, Statistic::Quantile(p).of(other)?);
        ((b - a).abs() > metric.tolerance().of(a)).then_some(p)
    });
    let ratios = changed.filter_map(|p| Some((p, quantile_ratio(reference, other, p)?)));
    // A bound on the near side of 1 does not say which is longer.
    let ratios = ratios.filter(|(_, ratio)| match *ratio {
        QuantileRatio::Is(_) => true,
        QuantileRatio::Above(least) => least > 1.0,
        QuantileRatio::Below(most) => most < 1.0,
    });
    ratios.max_by(|(_, a), (_, b)| weight(a.value()).total_cmp(&weight(b.value())))
}

/// How far a ratio is from 1; one half is as far as two.
pub(super) fn weight(ratio: f64) -> f64 {
    libm::log(ratio.max(1e-12)).abs()
}

/// From this ratio on a factor reads better than a percentage.
const MANIFOLD: f64 = 2.0;

/// A factor of at least [`MANIFOLD`]: `5.11`, `6,698`.
fn manifold(ratio: f64) -> String {
    if ratio < 1e3 { three_digits(ratio) } else { thousands(ratio.round() as u64) }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_tail_is_a_ratio_below_one() {
        let sample = |factor: f64| Sample::new((1..=1_000).map(|value| f64::from(value) * 1e6 * factor));
        let (p, ratio) = largest_ratio(Metric::Duration, &sample(1.0), &sample(0.5)).unwrap();
        assert_eq!(ratio, QuantileRatio::Is(0.5), "{p}");
        assert_eq!(largest_ratio(Metric::Duration, &sample(1.0), &sample(1.01)), None, "within the tolerance");
        assert!((weight(0.5) - weight(2.0)).abs() < 1e-12);
        assert_eq!(manifold(6_697.97), "6,698");
    }
}
