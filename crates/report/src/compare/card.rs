//! The score card: for each metric one number that says how far two worlds are apart, and on how much it rests.

use serde::Serialize;

use super::difference::{Clean, Difference, FEWEST};
use super::outcome::Judgement;
use crate::metric::Metric;
use crate::statistics::QuantileRatio;

/// The metrics of the card, in its order.
const METRICS: [Metric; 6] = [
    Metric::ResponseTime,
    Metric::Duration,
    Metric::ActiveConnections,
    Metric::ThroughputFromLeft,
    Metric::ThroughputFromRight,
    Metric::Goodput,
];

/// How the distance of a metric is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Tolerant KS distance of two distributions (methods M.6).
    TolerantKs,
    /// |ratio of means - 1| of two series.
    RatioOfMeans,
    /// None: under ten values there is the ratio of the medians alone (of series that of the means).
    TooFewValues,
}

/// One metric of the card.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Score {
    /// Which.
    pub metric: Metric,
    /// Where both worlds were measured: `monitor` or `endpoint`.
    pub measured_at: &'static str,
    /// Values that it rests on, the smaller side's: exchanges, connections, or bins.
    pub n: usize,
    /// The share of the connections of the window that it rests on; null of other tools' results.
    pub share: Option<f64>,
    /// How the distance is measured.
    pub method: Method,
    /// 0 is the same; null with too few values, and of series that are empty in the reference alone.
    pub distance: Option<f64>,
    /// Other / reference: of medians, of series of means. Null where that has no value.
    pub ratio: Option<QuantileRatio>,
    /// What the difference means, as in the table of metrics.
    pub judgement: Judgement,
    /// Of clean connections alone; null of series and between runs.
    pub clean: Option<Clean>,
}

impl Score {
    /// Whether it has values enough and unfinished ones among them decide what the difference means.
    pub fn is_open(&self) -> bool {
        self.n >= FEWEST && self.judgement == Judgement::CannotTell
    }

    fn of(difference: &Difference, measured_at: &'static str) -> Score {
        let n = difference.n;
        let median = difference.ratios.iter().find(|ratio| ratio.p == 0.5).and_then(|ratio| ratio.ratio);
        let both_empty = difference.reference.max == Some(0.0) && difference.other.max == Some(0.0);
        let of_means = difference.mean_ratio.or(both_empty.then_some(1.0));
        let is_series = difference.metric.is_series();
        let method = match is_series {
            _ if n < FEWEST => Method::TooFewValues,
            true => Method::RatioOfMeans,
            false => Method::TolerantKs,
        };
        Score {
            metric: difference.metric,
            measured_at,
            n,
            share: difference.share,
            method,
            distance: match method {
                Method::TolerantKs => difference.tolerant_ks,
                Method::RatioOfMeans => of_means.map(|ratio| (ratio - 1.0).abs()),
                Method::TooFewValues => None,
            },
            ratio: if is_series { of_means.map(QuantileRatio::Is) } else { median },
            judgement: difference.judgement,
            clean: difference.clean,
        }
    }
}

/// The card of what was compared.
pub(super) fn card(differences: &[Difference], measured_at: &'static str) -> Vec<Score> {
    let of = |metric| differences.iter().find(|difference| difference.metric == metric);
    METRICS.into_iter().filter_map(of).map(|difference| Score::of(difference, measured_at)).collect()
}

/// The metric with the largest distance, among those with ten values and more; `None` without any.
pub fn worst(card: &[Score]) -> Option<&Score> {
    let known = card.iter().filter_map(|score| Some((score, score.distance?)));
    known.max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(score, _)| score)
}

#[cfg(test)]
mod tests {
    use super::super::difference::difference;
    use super::*;
    use crate::statistics::Sample;

    fn found(metric: Metric, values: u32, factor: f64) -> Difference {
        let sample = |factor: f64| Sample::new((1..=values).map(|value| f64::from(value) * 1e7 * factor));
        difference(metric, &sample(1.0), &sample(factor), "a", "b").unwrap()
    }

    #[test]
    fn the_worst_metric_has_ten_values() {
        let all = [
            found(Metric::ResponseTime, 9, 100.0),
            found(Metric::Duration, 100, 1.5),
            found(Metric::Goodput, 100, 1.2),
            found(Metric::RoundTripTime, 100, 9.0),
        ];
        let card = card(&all, "monitor");
        let metrics: Vec<Metric> = card.iter().map(|score| score.metric).collect();
        assert_eq!(metrics, [Metric::ResponseTime, Metric::Duration, Metric::Goodput], "round trips are an input");
        assert_eq!((card[0].method, card[0].distance), (Method::TooFewValues, None));
        assert_eq!(card[0].ratio, Some(QuantileRatio::Is(100.0)));
        assert_eq!((card[2].method, card[2].n), (Method::RatioOfMeans, 100));
        assert!((card[2].distance.unwrap() - 0.2).abs() < 1e-9);
        let worst = worst(&card).unwrap();
        assert_eq!((worst.metric, worst.distance), (Metric::Duration, all[1].tolerant_ks));
        assert!(super::worst(&card[..1]).is_none());
    }
}
