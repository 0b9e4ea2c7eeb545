//! A period of a store.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;

use flowloom_core::time::Duration;
use flowloom_monitor::{Archive, Curve, Held, Moment, Query, Selection, bits_of};
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

/// A stretch of one counter as a file of rates, which `model queue` and sources of an experiment read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRates {
    /// The file: `seconds,bits_per_second`, or `seconds,cells_per_second` of cells; in seconds from the beginning of the period.
    pub csv: String,
    /// For how long the rate is unknown, in nanoseconds: it is 0 in the file, or spread over a row of which only a part is known.
    pub unknown_ns: u64,
}

/// Samples of a file of rates at most: eleven hours at 10 ms.
const MOST_RATES: usize = 1 << 22;

/// Letters of a name in the first line of a file of rates at most, of which readers take 256 bytes.
const MOST_LETTERS: usize = 50;

/// The rates of one counter of the store in `store` over a period, each for as long as it held. Nothing is averaged: they add up to what was
/// counted. A counter whose interval or unit was changed meanwhile is several series.
///
/// # Errors
/// No counter is meant, or several; its unit has no bits; nothing is known; the store is damaged or cannot be read.
pub fn history_rates(store: &Path, options: &HistoryOptions) -> Result<StoredRates, Error> {
    let (from_ns, to_ns) = period_of(options)?;
    let archive = Archive::open(store).map_err(Error::of)?;
    let chosen = chosen(&archive, store, &options.selection)?;
    let first = &chosen[0];
    let name = |series: &Series| [&series.target, &series.port, &series.counter].map(Clone::clone);
    if chosen.iter().any(|series| name(series) != name(first)) {
        let mut names: Vec<[String; 3]> = chosen.iter().map(name).collect();
        names.sort_unstable();
        names.dedup();
        let cause = format_args!("{} counters are meant, and rates are of one", names.len());
        return Err(Error::usage(cause).hint("name its target, port and counter"));
    }
    // Cells are as many in the file as they were: who reads it decides how many bits each has.
    let in_cells = chosen.iter().all(|series| series.unit == "cells");
    let mut counted = Vec::new();
    for series in chosen {
        let Some(bits) = bits_of(&series.unit).filter(|_| series.kind == Kind::Counter) else {
            let Series { target, counter, unit, .. } = &series;
            let cause = format_args!("{counter} of {target} is in {unit}, which has no bits");
            return Err(Error::usage(cause).hint("choose a counter of octets or of cells"));
        };
        counted.push((series, if in_cells { 1 } else { bits }));
    }
    let found = archive.held(&counted, &(from_ns..to_ns), MOST_RATES).map_err(Error::of)?;
    let held = match found.map(|stretch| stretch.held) {
        Some(held) if !held.is_empty() => held,
        found => {
            let cause = match found {
                Some(_) => "nothing is known of it in this period".to_owned(),
                None => format!("it has more than {MOST_RATES} samples in this period"),
            };
            return Err(Error::usage(cause).hint("choose another period"));
        }
    };
    let cut = |name: &String| {
        let whole = name.escape_default().to_string();
        if whole.len() > MOST_LETTERS { format!("{}...", &whole[..MOST_LETTERS]) } else { whole }
    };
    let (name, from, to) = (name(&counted[0].0).each_ref().map(cut).join(" "), utc_text(from_ns), utc_text(to_ns));
    let column = if in_cells { "cells_per_second" } else { "bits_per_second" };
    let mut csv = format!("# {name}, from {from} to {to}\nseconds,{column}\n");
    let unknown_ns = write_rates(&mut csv, &held, from_ns..to_ns);
    Ok(StoredRates { csv, unknown_ns })
}

/// Writes a row for each rate, and one of rate 0 for each time between them; for how long the rate is unknown, in nanoseconds.
fn write_rates(csv: &mut String, held: &[Held], period: Range<u64>) -> u64 {
    let mut row = |start_ns: u64, rate: f64| {
        let since = start_ns - period.start;
        let _ = writeln!(csv, "{}.{:09},{rate}", since / SECOND, since % SECOND);
        (start_ns, rate)
    };
    let mut last = (period.start, 0.0);
    let (mut at, mut unknown_ns) = (period.start, 0);
    for one in held {
        if one.start_ns > at {
            row(at, 0.0);
            unknown_ns += one.start_ns - at;
        }
        last = row(one.start_ns, one.rate());
        unknown_ns += one.length_ns().saturating_sub(one.covered_ns);
        at = one.end_ns;
    }
    if at < period.end {
        last = row(at, 0.0);
        unknown_ns += period.end - at;
    }
    // The last rate holds as long as the one before it, so that it is said twice.
    row(last.0 + (period.end - last.0) / 2, last.1);
    unknown_ns
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
