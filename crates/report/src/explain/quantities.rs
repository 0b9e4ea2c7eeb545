//! How far replays are from their original, quantity by quantity.

use serde::Serialize;

use flowloom_core::time::Duration;
use flowloom_store::run_folder::Point;

use super::cause::{Cause, UNKNOWN};
use super::replays::{Replays, Tried};
use crate::compare::{Group, Options, Score, compare_group_with_original};
use crate::metric::Metric;
use crate::run::Run;
use crate::statistics::QuantileRatio;

/// What is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Response times (methods C.3).
    ResponseTime,
    /// Durations of connections (methods C.2).
    Duration,
    /// Active connections (methods C.4).
    ActiveConnections,
    /// Throughput from left to right (methods C.6).
    ThroughputFromLeft,
    /// Throughput from right to left.
    ThroughputFromRight,
    /// Total span of ADUs: the sum of the times from first to last byte at the monitor.
    AduSpan,
}

impl Quantity {
    /// All, in the order of the score card.
    pub const ALL: [Quantity; 6] = [
        Quantity::ResponseTime,
        Quantity::Duration,
        Quantity::ActiveConnections,
        Quantity::ThroughputFromLeft,
        Quantity::ThroughputFromRight,
        Quantity::AduSpan,
    ];

    /// The metric of the score card; `None` of spans of ADUs, which are none.
    pub fn metric(self) -> Option<Metric> {
        match self {
            Quantity::ResponseTime => Some(Metric::ResponseTime),
            Quantity::Duration => Some(Metric::Duration),
            Quantity::ActiveConnections => Some(Metric::ActiveConnections),
            Quantity::ThroughputFromLeft => Some(Metric::ThroughputFromLeft),
            Quantity::ThroughputFromRight => Some(Metric::ThroughputFromRight),
            Quantity::AduSpan => None,
        }
    }

    /// Its name within a sentence, plural.
    pub fn plural(self) -> &'static str {
        self.metric().map_or("spans of ADUs", Metric::plural)
    }

    /// Its name in the head of a narrow column.
    pub fn short(self) -> &'static str {
        match self {
            Quantity::ResponseTime => "responses",
            Quantity::Duration => "durations",
            Quantity::ActiveConnections => "active",
            Quantity::ThroughputFromLeft => "from left",
            Quantity::ThroughputFromRight => "from right",
            Quantity::AduSpan => "ADU spans",
        }
    }
}

/// How far a replay is from its original.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Apart {
    /// The distance of the score card, of spans of ADUs |ratio - 1|: 0 is the same. Null under ten values.
    pub distance: Option<f64>,
    /// Replay / original: of medians, of means of series, of the sums of spans.
    pub ratio: Option<QuantileRatio>,
}

impl Apart {
    /// One number to compare replays by, 0 for the same: the distance, or how far the ratio is from 1.
    pub fn amount(&self) -> Option<f64> {
        self.distance.or_else(|| Some((self.ratio?.value() - 1.0).abs()))
    }
}

/// What a replay came to beside its original.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    card: Vec<Score>,
    adus: u64,
    /// Total span of the original's ADUs.
    pub original_adu_span: Duration,
    adu_span: Duration,
}

impl Measured {
    /// Of `run`, which has an original.
    pub fn of(run: &Run) -> Measured {
        let metrics = Quantity::ALL.into_iter().filter_map(Quantity::metric).collect();
        let options = Options { metrics, resamples: 0, ..Options::default() };
        let compared = compare_group_with_original(Group::from(run), &options);
        let (adus, original_adu_span) = run.measurements.adu_spans(Point::Original);
        let (_, adu_span) = run.measurements.adu_spans(Point::Monitor);
        Measured { card: compared.map_or_else(Vec::new, |compared| compared.card), adus, original_adu_span, adu_span }
    }

    fn score(&self, quantity: Quantity) -> Option<&Score> {
        let metric = quantity.metric()?;
        self.card.iter().find(|score| score.metric == metric)
    }

    /// On how many values a quantity rests.
    fn n(&self, quantity: Quantity) -> usize {
        match quantity {
            Quantity::AduSpan => self.adus as usize,
            _ => self.score(quantity).map_or(0, |score| score.n),
        }
    }

    fn apart(&self, quantity: Quantity) -> Apart {
        if quantity != Quantity::AduSpan {
            return self
                .score(quantity)
                .map_or_else(Apart::default, |score| Apart { distance: score.distance, ratio: score.ratio });
        }
        let ratio = (!self.original_adu_span.is_zero())
            .then(|| self.adu_span.as_secs_f64() / self.original_adu_span.as_secs_f64());
        Apart { distance: ratio.map(|ratio| (ratio - 1.0).abs()), ratio: ratio.map(QuantileRatio::Is) }
    }
}

/// What one cause is worth for a quantity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worth {
    /// Its name.
    pub cause: String,
    /// The replay that has this cause alone.
    pub alone: Apart,
    /// The replay that has all causes but this.
    pub left_out: Apart,
    /// How much nearer the cause brings the replay that has nothing; negative if it brings it farther away.
    pub worth_alone: Option<f64>,
    /// How much nearer it brings the replay that has all others.
    pub worth_left_out: Option<f64>,
}

/// A quantity, explained.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explained {
    /// Which.
    pub quantity: Quantity,
    /// Values that it rests on, the smaller side's.
    pub n: usize,
    /// The run itself.
    pub run: Apart,
    /// The replay that has no cause.
    pub nothing: Apart,
    /// The replay that has all: what is left is unknown.
    pub all: Apart,
    /// Cause by cause.
    pub causes: Vec<Worth>,
    /// The cause that is worth most, or `unknown` if more than that is left with all causes; null where nothing differs.
    pub explained_by: Option<String>,
    /// Where the replay with all causes is farther away than that without any: the cause that brings it farthest; else null.
    pub worsened_by: Option<String>,
}

impl Explained {
    /// `quantity` of the run that is `itself` and of the replays that explain it; `None` without values.
    pub(super) fn new(
        quantity: Quantity,
        causes: &[Cause],
        itself: &Measured,
        replays: &Replays<Measured>,
    ) -> Option<Explained> {
        let replays = replays.map(|measured| measured.apart(quantity));
        let amounts = replays.map(Apart::amount);
        amounts.nothing.or(amounts.all)?;
        let worths = causes.iter().zip(&replays.causes).zip(amounts.worth());
        let worths = worths.map(|((cause, &Tried { alone, left_out }), worth)| Worth {
            cause: cause.name.clone(),
            alone,
            left_out,
            worth_alone: worth.alone,
            worth_left_out: worth.left_out,
        });
        Some(Explained {
            quantity,
            n: itself.n(quantity),
            run: itself.apart(quantity),
            nothing: replays.nothing,
            all: replays.all,
            causes: worths.collect(),
            explained_by: explained_by(causes, &amounts),
            worsened_by: worsened_by(causes, &amounts),
        })
    }
}

/// The name of what explains a difference; `None` where nothing differs.
pub(super) fn explained_by(causes: &[Cause], amounts: &Replays<Option<f64>>) -> Option<String> {
    let differs = |amount: Option<f64>| amount.is_some_and(|amount| amount > 0.0);
    let Some(place) = amounts.explained_by() else {
        return (differs(amounts.nothing) || differs(amounts.all)).then(|| UNKNOWN.to_owned());
    };
    causes.get(place).map(|cause| cause.name.clone())
}

/// The name of what makes a replay worse.
pub(super) fn worsened_by(causes: &[Cause], amounts: &Replays<Option<f64>>) -> Option<String> {
    Some(causes.get(amounts.worsened_by()?)?.name.clone())
}
