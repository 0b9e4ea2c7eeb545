//! A period of a store.

use std::fmt::Write as _;
use std::path::Path;

use flowloom_core::time::Duration;
use flowloom_monitor::{Archive, Curve, Moment, Query, Selection, bits_of};
use flowloom_store::monitor::{Kind, MILLIONTHS, SECOND, Series, utc_text};
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
    let (from_ns, to_ns) = period_of(options)?;
    let archive = Archive::open(store).map_err(Error::of)?;
    let chosen = chosen(&archive, store, &options.selection)?;
    let percentile_ns = options.percentile.map(Duration::as_nanos);
    let query = Query { from_ns, to_ns, points: options.points, percentile_ns };
    let curves = archive.ask(&chosen, &query).map_err(Error::of)?;
    Ok(History { from_ns, to_ns, curves })
}

/// A period, in nanoseconds since 1970 UTC.
fn period_of(options: &HistoryOptions) -> Result<(u64, u64), Error> {
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
    Ok((from_ns, to_ns))
}

/// The series of a store that a selection means.
fn chosen(archive: &Archive, store: &Path, selection: &Selection) -> Result<Vec<Series>, Error> {
    let all = archive.series().map_err(Error::of)?;
    let chosen: Vec<Series> = all.iter().filter(|series| selection.holds(series)).cloned().collect();
    if chosen.is_empty() {
        let Selection { target, port, counter } = selection;
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
    Ok(chosen)
}

/// A stretch of one series as a file of rates, which `model queue` and sources of an experiment read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRates {
    /// The file: `seconds,bits_per_second`, in seconds from the beginning of the period.
    pub csv: String,
    /// Which series it is of.
    pub series: Series,
    /// For how long its rate is unknown, and therefore 0 in the file, in nanoseconds.
    pub unknown_ns: u64,
}

/// Rows of a file of rates at most.
const MOST_RATES: usize = 1 << 24;

/// The rates of one series of the store in `store` over a period, each for as long as it held. Nothing is averaged: they add up to what was
/// counted.
///
/// # Errors
/// No series is meant, or several; its unit has no bits; nothing is known; the store is damaged or cannot be read.
pub fn history_rates(store: &Path, options: &HistoryOptions) -> Result<StoredRates, Error> {
    let (from_ns, to_ns) = period_of(options)?;
    let archive = Archive::open(store).map_err(Error::of)?;
    let chosen = chosen(&archive, store, &options.selection)?;
    let [series] = &chosen[..] else {
        let cause = format_args!("{} series are meant, and rates are of one", chosen.len());
        return Err(Error::usage(cause).hint("name its target, port and counter"));
    };
    let bits = match (series.kind, bits_of(&series.unit)) {
        (Kind::Counter, Some(bits)) => bits,
        _ => {
            let cause =
                format_args!("{} of {} is in {}, which has no bits", series.counter, series.target, series.unit);
            return Err(Error::usage(cause).hint("choose a counter of octets or of cells"));
        }
    };
    let held = archive.held(series, &(from_ns..to_ns), MOST_RATES / 2).map_err(Error::of)?;
    if held.is_empty() || held.len() > MOST_RATES / 2 {
        let cause = match held.len() {
            0 => "nothing is known of it in this period".to_owned(),
            _ => format!("it has more than {} samples in this period", MOST_RATES / 2),
        };
        return Err(Error::usage(cause).hint("choose another period"));
    }
    let mut rows: Vec<(u64, f64)> = Vec::with_capacity(held.len() + 2);
    let (mut at, mut unknown_ns) = (from_ns, 0);
    for one in &held {
        if one.start_ns > at {
            rows.push((at, 0.0));
            unknown_ns += one.start_ns - at;
        }
        rows.push((one.start_ns, one.rate() * bits as f64));
        unknown_ns += (one.end_ns - one.start_ns).saturating_sub(one.covered_ns);
        at = one.end_ns;
    }
    if at < to_ns {
        rows.push((at, 0.0));
        unknown_ns += to_ns - at;
    }
    // The last rate holds as long as the one before it, so that it is said twice.
    if let Some((start, rate)) = rows.last().copied() {
        rows.push((start + (to_ns - start) / 2, rate));
    }
    let Series { target, port, counter, .. } = series;
    let name = [target, port, counter].map(|part| part.escape_default().to_string()).join(" ");
    let (from, to) = (utc_text(from_ns), utc_text(to_ns));
    let mut csv = format!("# {name}, from {from} to {to}\nseconds,bits_per_second\n");
    for (start, rate) in rows {
        let since = start - from_ns;
        let _ = writeln!(csv, "{}.{:09},{rate}", since / SECOND, since % SECOND);
    }
    Ok(StoredRates { csv, series: series.clone(), unknown_ns })
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
