//! A period of a store.

use std::path::Path;

use flowloom_core::time::Duration;
use flowloom_monitor::{Archive, Curve, Moment, Query, Selection, bits_of};
use flowloom_store::monitor::{Kind, MILLIONTHS, Series, utc_text};
use serde::Serialize;

use crate::error::Error;

/// Series of one answer at most: each is held in memory.
const MOST_SERIES: usize = 1_000;

/// Which period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Period {
    /// The last of this length.
    Last(Duration),
    /// From one time until another, in nanoseconds since 1970 UTC; without an end until now.
    Between(u64, Option<u64>),
}

/// What to ask of a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryOptions {
    /// Which series.
    pub selection: Selection,
    /// Which period.
    pub period: Period,
    /// Points of each series at most.
    pub points: usize,
    /// The width of the intervals of which the 95th percentile is; `None` for that of what the points are made of.
    pub percentile: Option<Duration>,
}

/// A period of some series.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct History {
    /// Its beginning, in nanoseconds since 1970 UTC.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
    /// The series, by target, port and counter.
    pub curves: Vec<Curve>,
}

/// All series of the store at `store`.
///
/// # Errors
/// It is no store, damaged, or cannot be read.
pub fn monitored_series(store: &Path) -> Result<Vec<Series>, Error> {
    Archive::open(store).and_then(|archive| archive.series()).map_err(Error::of)
}

/// A period of the store at `store`, which may be written meanwhile.
///
/// # Errors
/// It is no store, damaged or cannot be read; the period is none; no series is meant, or too many.
pub fn history(store: &Path, options: &HistoryOptions) -> Result<History, Error> {
    let now_ns = Moment::now().wall_ns;
    let (from_ns, to_ns) = match options.period {
        Period::Last(length) => (now_ns.saturating_sub(length.as_nanos()), now_ns),
        Period::Between(from, to) => (from, to.unwrap_or(now_ns)),
    };
    if from_ns >= to_ns {
        return Err(Error::usage(format_args!(
            "the period ends at {}, before it begins at {}",
            utc_text(to_ns),
            utc_text(from_ns)
        )));
    }
    let archive = Archive::open(store).map_err(Error::of)?;
    let all = archive.series().map_err(Error::of)?;
    let chosen: Vec<Series> = all.iter().filter(|series| options.selection.holds(series)).cloned().collect();
    if chosen.is_empty() {
        let Selection { target, port, counter } = &options.selection;
        let cause = format_args!(
            "no series of {} is of target {target:?}, port {port:?}, counter {counter:?}",
            store.display()
        );
        return Err(Error::usage(cause).hint("flowloom monitor list prints all series"));
    }
    if chosen.len() > MOST_SERIES {
        let cause =
            format_args!("{} series are meant, and at most {MOST_SERIES} can be asked for at once", chosen.len());
        return Err(Error::usage(cause).hint("name a target, port or counter"));
    }
    let percentile_ns = options.percentile.map(Duration::as_nanos);
    let query = Query { from_ns, to_ns, points: options.points, percentile_ns };
    let curves = archive.ask(&chosen, &query).map_err(Error::of)?;
    Ok(History { from_ns, to_ns, curves })
}

/// A history as CSV: a row for each point, rates in units per second, and in bit/s where octets or cells are counted.
///
/// # Errors
/// It cannot be written.
pub fn history_csv(history: &History) -> Result<String, Error> {
    let wrong = |error: csv::Error| Error::new(format_args!("CSV: {error}"));
    let mut out = csv::Writer::from_writer(Vec::new());
    out.write_record([
        "target",
        "port",
        "counter",
        "unit",
        "start_utc",
        "start_ns",
        "width_ns",
        "least",
        "mean",
        "most",
        "mean_bps",
        "covered_ns",
        "samples",
    ])
    .map_err(wrong)?;
    for curve in &history.curves {
        let Series { target, port, counter, unit, kind, .. } = &curve.series;
        let bits_per_unit = bits_of(unit).filter(|_| *kind == Kind::Counter);
        for point in &curve.points {
            let number = |millionths: u128| (millionths as f64 / MILLIONTHS as f64).to_string();
            let bits = bits_per_unit.map(|bits| (point.mean_units() * bits as f64).to_string());
            out.write_record([
                target,
                port,
                counter,
                unit,
                &utc_text(point.start_ns),
                &point.start_ns.to_string(),
                &curve.width_ns.to_string(),
                &number(point.least),
                &point.mean_units().to_string(),
                &number(point.most),
                &bits.unwrap_or_default(),
                &point.covered_ns.to_string(),
                &point.samples.to_string(),
            ])
            .map_err(wrong)?;
        }
    }
    let bytes = out.into_inner().map_err(|error| Error::new(format_args!("CSV: {error}")))?;
    String::from_utf8(bytes).map_err(|error| Error::new(format_args!("CSV: {error}")))
}
