//! Periods, days, correlations and bursts of a monitor, as answers.
//!
//! Rates are in units per second, values of gauges in units, as `monitor show` prints them. Points come as columns, a list for each field.

use std::ops::Range;

use flowloom_monitor::{
    Archive, Burst, Bursts, Correlation, Curve, Day, DayBegins, Days, Gap, Lag, Point, Query, Total, Unaddable, bits_of,
};
use flowloom_store::monitor::{Kind, Level, MILLIONTHS, Series};
use serde::Serialize;

use super::question::Span;
use crate::error::Error;

/// Gaps of a series in an answer at most.
const MOST_GAPS: usize = 2_000;

/// Days of an answer at most.
const MOST_DAYS: u64 = 1_100;

/// The series of a monitor, and the time that it has something of.
#[derive(Serialize)]
pub(super) struct Monitored {
    series: Vec<SeriesTold>,
    from_ns: Option<u64>,
    to_ns: Option<u64>,
    is_written: bool,
}

#[derive(Serialize)]
struct SeriesTold {
    #[serde(flatten)]
    series: Series,
    bits_per_unit: Option<u64>,
}

impl From<&Series> for SeriesTold {
    fn from(series: &Series) -> SeriesTold {
        let bits_per_unit = (series.kind == Kind::Counter).then(|| bits_of(&series.unit)).flatten();
        SeriesTold { series: series.clone(), bits_per_unit }
    }
}

/// Points as columns.
#[derive(Default, Serialize)]
struct Columns {
    start_ns: Vec<u64>,
    least: Vec<f64>,
    mean: Vec<f64>,
    most: Vec<f64>,
    covered_ns: Vec<u64>,
}

/// A value in units.
fn units(millionths: u128) -> f64 {
    millionths as f64 / MILLIONTHS as f64
}

impl Columns {
    fn of(points: &[Point]) -> Columns {
        let column = |of: fn(&Point) -> u64| points.iter().map(of).collect();
        let values = |of: fn(&Point) -> f64| points.iter().map(of).collect();
        Columns {
            start_ns: column(|point| point.start_ns),
            least: values(|point| units(point.least)),
            mean: values(Point::mean_units),
            most: values(|point| units(point.most)),
            covered_ns: column(|point| point.covered_ns),
        }
    }
}

/// All of a period in numbers.
#[derive(Serialize)]
struct Whole {
    least: Option<f64>,
    mean: Option<f64>,
    most: Option<f64>,
    covered_ns: u64,
    amount: Option<u64>,
    p95: Option<f64>,
    percentile_ns: u64,
}

impl Whole {
    fn of(whole: Option<Point>, amount: Option<u64>, p95: Option<u128>, percentile_ns: u64) -> Whole {
        Whole {
            least: whole.map(|whole| units(whole.least)),
            mean: whole.map(|whole| whole.mean_units()),
            most: whole.map(|whole| units(whole.most)),
            covered_ns: whole.map_or(0, |whole| whole.covered_ns),
            amount,
            p95: p95.map(units),
            percentile_ns,
        }
    }
}

#[derive(Serialize)]
struct CurveTold {
    series: SeriesTold,
    width_ns: u64,
    is_bound: bool,
    whole: Whole,
    points: Columns,
    gaps: Vec<Gap>,
    gaps_left_out: usize,
}

#[derive(Serialize)]
struct TotalTold {
    unit: String,
    kind: Kind,
    bits_per_unit: Option<u64>,
    width_ns: u64,
    is_bound: bool,
    whole: Whole,
    points: Columns,
    gaps: Vec<Gap>,
    gaps_left_out: usize,
}

/// Series in a period.
#[derive(Serialize)]
pub(super) struct PeriodTold {
    from_ns: u64,
    to_ns: u64,
    curves: Vec<CurveTold>,
    sum: Option<TotalTold>,
}

/// The first of too many gaps, and how many are left out.
fn listed(mut gaps: Vec<Gap>) -> (Vec<Gap>, usize) {
    let left_out = gaps.len().saturating_sub(MOST_GAPS);
    gaps.truncate(MOST_GAPS);
    (gaps, left_out)
}

impl From<Curve> for CurveTold {
    fn from(curve: Curve) -> CurveTold {
        let (gaps, gaps_left_out) = listed(curve.gaps);
        CurveTold {
            series: SeriesTold::from(&curve.series),
            width_ns: curve.width_ns,
            is_bound: curve.is_bound,
            whole: Whole::of(curve.whole, curve.amount, curve.p95, curve.percentile_ns),
            points: Columns::of(&curve.points),
            gaps,
            gaps_left_out,
        }
    }
}

impl From<Total> for TotalTold {
    fn from(total: Total) -> TotalTold {
        let (gaps, gaps_left_out) = listed(total.gaps);
        TotalTold {
            bits_per_unit: (total.kind == Kind::Counter).then(|| bits_of(&total.unit)).flatten(),
            unit: total.unit,
            kind: total.kind,
            width_ns: total.width_ns,
            is_bound: total.is_bound,
            whole: Whole::of(total.whole, total.amount, total.p95, total.percentile_ns),
            points: Columns::of(&total.points),
            gaps,
            gaps_left_out,
        }
    }
}

#[derive(Serialize)]
struct DayTold {
    start_ns: u64,
    least: f64,
    mean: f64,
    most: f64,
    covered_ns: u64,
    hours: Vec<HourTold>,
}

#[derive(Serialize)]
struct HourTold {
    start_ns: u64,
    mean: f64,
    most: f64,
}

impl From<&Point> for HourTold {
    fn from(hour: &Point) -> HourTold {
        HourTold { start_ns: hour.start_ns, mean: hour.mean_units(), most: units(hour.most) }
    }
}

impl From<Day> for DayTold {
    fn from(day: Day) -> DayTold {
        DayTold {
            start_ns: day.start_ns,
            least: units(day.whole.least),
            mean: day.whole.mean_units(),
            most: units(day.whole.most),
            covered_ns: day.whole.covered_ns,
            hours: day.hours.iter().map(HourTold::from).collect(),
        }
    }
}

#[derive(Serialize)]
struct SeriesDays {
    series: SeriesTold,
    is_bound: bool,
    days: Vec<DayTold>,
}

/// Days at a glance.
#[derive(Serialize)]
pub(super) struct DaysTold {
    series: Vec<SeriesDays>,
}

/// A correlation.
#[derive(Serialize)]
pub(super) struct CorrelationTold {
    one: SeriesTold,
    other: SeriesTold,
    width_ns: u64,
    strongest: Option<Lag>,
    lags: Vec<Lag>,
}

#[derive(Serialize)]
struct BurstTold {
    start_ns: u64,
    end_ns: u64,
    mean: f64,
    most: f64,
}

impl From<&Burst> for BurstTold {
    fn from(burst: &Burst) -> BurstTold {
        let Burst { start_ns, end_ns, mean, most } = *burst;
        BurstTold { start_ns, end_ns, mean: units(mean), most: units(most) }
    }
}

/// Times above a threshold.
#[derive(Serialize)]
pub(super) struct BurstsTold {
    series: SeriesTold,
    above: f64,
    count: u64,
    total_ns: u64,
    longest_ns: u64,
    median_ns: Option<u64>,
    interval_ns: Option<u64>,
    listed: Vec<BurstTold>,
}

/// A monitor that is asked.
pub(super) struct Asked<'a> {
    pub(super) archive: &'a Archive,
    pub(super) series: &'a [Series],
}

impl Asked<'_> {
    pub(super) fn monitored(&self, is_written: bool) -> Result<Monitored, Error> {
        let extent = self.archive.extent(self.series).map_err(Error::of)?;
        Ok(Monitored {
            series: self.series.iter().map(SeriesTold::from).collect(),
            from_ns: extent.as_ref().map(|extent| extent.start),
            to_ns: extent.map(|extent| extent.end),
            is_written,
        })
    }

    /// The series of these numbers.
    fn chosen(&self, span: &Span) -> Result<Vec<Series>, Error> {
        let one = |id: &u32| {
            let unknown = || Error::usage(format_args!("the monitor has no series {id}"));
            self.series.iter().find(|series| series.id == *id).cloned().ok_or_else(unknown)
        };
        span.series.iter().map(one).collect()
    }

    pub(super) fn curves(&self, span: &Span, query: &Query) -> Result<Vec<Curve>, Error> {
        self.archive.ask(&self.chosen(span)?, query).map_err(Error::of)
    }

    pub(super) fn period(&self, span: &Span, query: &Query, is_summed: bool) -> Result<PeriodTold, Error> {
        let chosen = self.chosen(span)?;
        if is_summed {
            Unaddable::check(&chosen).map_err(|error| Error::usage(error).hint("choose series of one unit"))?;
        }
        let (curves, sum) = match is_summed {
            true => {
                let (curves, sum) = self.archive.ask_and_add(&chosen, query).map_err(Error::of)?;
                (curves, Some(sum))
            }
            false => (self.archive.ask(&chosen, query).map_err(Error::of)?, None),
        };
        Ok(PeriodTold {
            from_ns: query.from_ns,
            to_ns: query.to_ns,
            curves: curves.into_iter().map(CurveTold::from).collect(),
            sum: sum.map(TotalTold::from),
        })
    }

    pub(super) fn days(&self, span: &Span, offset_ns: i64, days_ns: &[u64]) -> Result<DaysTold, Error> {
        let Range { start, end } = span.period_ns;
        if (end - start) / (24 * Level::Hours.width_ns()) > MOST_DAYS {
            return Err(Error::usage(format_args!("at most {MOST_DAYS} days can be shown at once")));
        }
        let chosen = self.chosen(span)?;
        let begins = match days_ns {
            [] => DayBegins::After(offset_ns),
            days => DayBegins::At(days),
        };
        let days = self.archive.days_of(&chosen, span.period_ns.clone(), begins).map_err(Error::of)?;
        let of = |(series, found): (&Series, Days)| SeriesDays {
            series: SeriesTold::from(series),
            is_bound: found.is_bound,
            days: found.days.into_iter().map(DayTold::from).collect(),
        };
        Ok(DaysTold { series: chosen.iter().zip(days).map(of).collect() })
    }

    pub(super) fn correlation(&self, span: &Span, width_ns: u64, lags: u64) -> Result<CorrelationTold, Error> {
        let chosen: [Series; 2] =
            self.chosen(span)?.try_into().map_err(|_| Error::usage("a correlation is of two series"))?;
        let found = self.archive.correlation(&chosen, span.period_ns.clone(), width_ns, lags).map_err(Error::of)?;
        let Correlation { width_ns, lags, strongest } = found;
        let [one, other] = [&chosen[0], &chosen[1]].map(SeriesTold::from);
        Ok(CorrelationTold { one, other, width_ns, strongest, lags })
    }

    pub(super) fn bursts(&self, span: &Span, above: u64) -> Result<BurstsTold, Error> {
        let [series] = &self.chosen(span)?[..] else { return Err(Error::usage("bursts are of one series")) };
        let found = self.archive.bursts(series, span.period_ns.clone(), above).map_err(Error::of)?;
        let Bursts { count, total_ns, longest_ns, median_ns, interval_ns, listed } = found;
        Ok(BurstsTold {
            series: SeriesTold::from(series),
            above: units(above.into()),
            count,
            total_ns,
            longest_ns,
            median_ns,
            interval_ns,
            listed: listed.iter().map(BurstTold::from).collect(),
        })
    }
}
