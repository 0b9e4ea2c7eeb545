//! Rates over time, from any input that has them.

use std::path::Path;

use flowloom_core::record::Series;
use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;
use flowloom_store::rates::{self, Rates};
use flowloom_store::run_folder::{RunFolder, TrafficPoint};

use crate::context::Context;
use crate::error::Error;
use crate::extraction::CaptureOptions;
use crate::input::{self, Kind};
use crate::workload::hosts::HostOptions;
use crate::workload::load;

/// Bins in which times of cells are counted, unless the user says otherwise.
const BIN: Duration = Duration::from_millis(10);
/// Bins of a series, at most.
const MOST_BINS: f64 = 16_777_216.0;

/// How a series of rates is read.
#[derive(Clone, Debug)]
pub struct RateOptions {
    /// Of captures, workloads and runs: the packets that come from this side of the link.
    pub from: LinkSide,
    /// Bytes of the link that a cell carries.
    pub cell_payload: u32,
    /// The bins in which rates are counted, and the step of the autocorrelation; `None`: 10 ms, or the width of the series' own bins.
    pub bin: Option<Duration>,
    /// How captures are read.
    pub capture: CaptureOptions,
}

/// A series of rates.
pub struct RateSeries {
    /// What it was made of.
    pub kind: &'static str,
    /// How many seconds at how many cells per second.
    pub rates: Vec<(f64, f64)>,
    /// Step of its autocorrelation, in seconds.
    pub step: f64,
    /// When the cells came, in seconds, if it was made of that.
    pub times: Option<Vec<f64>>,
}

impl RateSeries {
    /// Reads `path`.
    ///
    /// # Errors
    /// What is wrong with it; a series without cells.
    pub fn open(path: &Path, options: &RateOptions, context: Context<'_>) -> Result<RateSeries, Error> {
        let shown = path.display();
        let kind = input::kind(path);
        let is_table = is_csv(path) && !matches!(kind, Kind::RunFolder | Kind::Workload);
        let from = options.from;
        if is_table && from == LinkSide::Right {
            return Err(Error::usage(format_args!(
                "{shown}: --from is about traffic of a link, and this is a file of rates"
            ))
            .hint("leave --from out"));
        }
        match is_table {
            true => input::refuse_reading_options(&options.capture, &format!("{shown} is a file of rates"))?,
            false => input::refuse_idle_options(&options.capture, kind, path)?,
        }
        let mut series = match kind {
            _ if is_table => table(path, options, context)?,
            Kind::Experiment => {
                return Err(Error::usage(format_args!("{shown}: an experiment has no rates over time"))
                    .hint("run it and give the run folder, or leave `queue` out to make its workload"));
            }
            Kind::Specification => {
                return Err(Error::usage(format_args!("{shown}: {} has no rates over time", kind.words()))
                    .hint("its circuits share their queues by their own rules: flowloom run simulates it"));
            }
            Kind::RunFolder => of_run(path, from, options)?,
            kind => of_link(path, kind, from, options, context)?,
        };
        if let Some(bin) = options.bin {
            if series.seconds() / bin.as_secs_f64() > MOST_BINS {
                return Err(Error::usage(format_args!(
                    "{shown}: --bin {bin} makes too many bins of {:.0} s",
                    series.seconds()
                ))
                .hint("make them wider"));
            }
            series.count_in(bin, is_table, path)?;
        }
        let total: f64 = series.rates.iter().map(|(seconds, rate)| seconds * rate).sum();
        if total < 1.0 {
            let failure = Error::new(format_args!("{shown}: fewer than one cell in all of it"));
            return Err(
                failure.hint_if((!is_table).then_some("the other direction of the link may have traffic: --from"))
            );
        }
        Ok(series)
    }

    /// Makes its rates those of wider bins; of a table of rates, which hold at every instant, narrower ones are steps of the autocorrelation only.
    fn count_in(&mut self, bin: Duration, is_table: bool, path: &Path) -> Result<(), Error> {
        let (seconds, own) = (bin.as_secs_f64(), self.step);
        if !is_table && seconds < own * (1.0 - 1e-9) {
            let own = Duration::from_secs_f64(own);
            return Err(Error::usage(format_args!(
                "{}: --bin {bin}: its packets are counted in bins of {own}",
                path.display()
            ))
            .hint(format_args!("give {own} or more")));
        }
        if seconds > own * (1.0 + 1e-9) {
            self.rates = averaged(&self.rates, seconds);
        }
        self.step = seconds;
        Ok(())
    }

    /// How long it is, in seconds.
    pub fn seconds(&self) -> f64 {
        self.rates.iter().map(|(seconds, _)| seconds).sum()
    }

    /// Mean rate, in cells per second.
    pub fn mean(&self) -> f64 {
        self.rates.iter().map(|(seconds, rate)| seconds * rate).sum::<f64>() / self.seconds()
    }

    /// Lowest and highest rate, in cells per second.
    pub fn extremes(&self) -> (f64, f64) {
        let rates = self.rates.iter().map(|(_, rate)| *rate);
        rates.fold((f64::INFINITY, 0.0), |(least, most), rate| (least.min(rate), most.max(rate)))
    }

    /// The rate that it has for longest, in cells per second, and the share of the time.
    pub fn longest_held(&self) -> (f64, f64) {
        let mut rates = self.rates.clone();
        rates.sort_unstable_by(|one, other| one.1.total_cmp(&other.1));
        let held = rates
            .chunk_by(|one, other| one.1 == other.1)
            .map(|alike| (alike[0].1, alike.iter().map(|(seconds, _)| seconds).sum::<f64>()));
        let (rate, seconds) = held.max_by(|one, other| one.1.total_cmp(&other.1)).unwrap_or((0.0, 0.0));
        (rate, seconds / self.seconds())
    }
}

/// Whether its name says so, with or without that of a compression.
fn is_csv(path: &Path) -> bool {
    let is = |path: &Path| path.extension().is_some_and(|extension| extension == "csv");
    is(path) || path.file_stem().is_some_and(|stem| is(Path::new(stem)))
}

/// A file of rates, or of times of cells.
fn table(path: &Path, options: &RateOptions, context: Context<'_>) -> Result<RateSeries, Error> {
    let cells_of_bits = 1.0 / (8.0 * f64::from(options.cell_payload));
    let interrupt = context.interrupt();
    let read = rates::open(path, &interrupt).map_err(|error| match interrupt.has_cut() {
        true => Error::stopped(),
        false => load::unreadable(error),
    })?;
    let times = match read {
        Rates::Cells(rates) => return Ok(own_bins("rates", rates)),
        Rates::Bits(mut rates) => {
            rates.iter_mut().for_each(|(_, rate)| *rate *= cells_of_bits);
            return Ok(own_bins("rates", rates));
        }
        Rates::Times(times) => times,
    };
    let bin = options.bin.unwrap_or(BIN).as_secs_f64();
    let (first, last) = (times[0], times[times.len() - 1]);
    let bins = ((last - first) / bin).floor() + 1.0;
    if bins > MOST_BINS {
        return Err(Error::usage(format_args!("{}: {bins:.0} bins of {bin} s are too many", path.display()))
            .hint("make them wider with --bin"));
    }
    let mut counts = vec![0.0; bins as usize];
    for time in &times {
        let place = ((time - first) / bin) as usize;
        counts[place.min(bins as usize - 1)] += 1.0;
    }
    let rates = counts.into_iter().map(|count| (bin, count / bin)).collect();
    Ok(RateSeries { kind: "cells", rates, step: bin, times: Some(times) })
}

/// Means of a series in bins of `bin` seconds, the last of which may be shorter; bins of silence in a row are one entry.
fn averaged(rates: &[(f64, f64)], bin: f64) -> Vec<(f64, f64)> {
    // Sums of parts miss a bin's width by rounding.
    let least = 1e-9 * bin;
    let mut bins: Vec<(f64, f64)> = Vec::new();
    let mut push = |seconds: f64, cells: f64| match bins.last_mut() {
        Some(last) if last.1 == 0.0 && cells == 0.0 => last.0 += seconds,
        _ => bins.push((seconds, cells / seconds)),
    };
    let (mut filled, mut cells) = (0.0, 0.0);
    for &(seconds, rate) in rates {
        let mut left = seconds;
        while left > least {
            let part = left.min(bin - filled);
            (filled, cells, left) = (filled + part, cells + part * rate, left - part);
            if bin - filled <= least {
                push(bin, cells);
                (filled, cells) = (0.0, 0.0);
            }
        }
    }
    if filled > 0.0 {
        push(filled, cells);
    }
    bins
}

/// A series whose autocorrelation has the width of its narrowest bin as step.
fn own_bins(kind: &'static str, rates: Vec<(f64, f64)>) -> RateSeries {
    let narrowest = rates.iter().map(|(seconds, _)| *seconds).fold(f64::INFINITY, f64::min);
    let seconds: f64 = rates.iter().map(|(seconds, _)| seconds).sum();
    RateSeries { kind, step: narrowest.max(seconds / MOST_BINS), rates, times: None }
}

/// All packets of a capture, or of that a workload was made of.
fn of_link(
    path: &Path,
    kind: Kind,
    from: LinkSide,
    options: &RateOptions,
    context: Context<'_>,
) -> Result<RateSeries, Error> {
    let paths = [path.to_owned()];
    let loaded = load::open(&paths, kind, &options.capture, &HostOptions::default(), &std::env::temp_dir(), context)?;
    loaded.warn(context);
    let traffic = &loaded.facts.traffic;
    let parts = [&traffic.sent(from, true), traffic.set_aside.from(from)];
    let both = parts.iter().map(|series| series.len()).sum::<usize>();
    if both == 0 {
        let side = if from == LinkSide::Left { "right" } else { "left" };
        return Err(Error::new(format_args!("{}: nobody counted traffic from that side over time", path.display()))
            .hint(format_args!("try --from {side}; of a workload that was made, give the folder of its run")));
    }
    // Either may be empty, with a width that means nothing.
    let width = parts.iter().filter(|series| !series.is_empty()).map(|series| series.width()).max().unwrap_or(BIN);
    let mut sum = Series::new(width);
    for part in parts {
        for &(index, traffic) in part.bins() {
            sum.add_bin(index * part.width().as_nanos() / width.as_nanos(), traffic);
        }
    }
    let kind = if kind == Kind::Capture { "capture" } else { "workload" };
    Ok(of_bins(kind, &sum, options))
}

/// What was on the bottleneck of a run.
fn of_run(path: &Path, from: LinkSide, options: &RateOptions) -> Result<RateSeries, Error> {
    let folder = RunFolder::open(path)
        .map_err(|error| Error::new(error).hint("of several seeds, give the folder of one, as runs/a/seed-1"))?;
    let mut sum: Option<Series> = None;
    for row in folder.throughput().map_err(Error::new)? {
        let row = row.map_err(Error::new)?;
        if row.point == TrafficPoint::ReplayOffered && row.link < 2 && row.from == from {
            let series = sum.get_or_insert_with(|| Series::new(row.width));
            series.add(row.start, row.traffic);
        }
    }
    let side = if from == LinkSide::Left { "left" } else { "right" };
    let sum = sum.ok_or_else(|| {
        Error::new(format_args!("{}: the run has no packets from the {side}", path.display()))
            .hint("the other direction may have some: --from")
    })?;
    Ok(of_bins("run", &sum, options))
}

/// Bytes in bins as cells per second, from the first bin to the last with traffic; a silence is one entry however long it is.
fn of_bins(kind: &'static str, series: &Series, options: &RateOptions) -> RateSeries {
    let width = series.width().as_secs_f64();
    let mut rates: Vec<(f64, f64)> = Vec::with_capacity(series.len());
    let mut next = None;
    for &(index, traffic) in series.bins() {
        let silence = next.map_or(0, |next| index - next);
        if silence > 0 {
            rates.push((silence as f64 * width, 0.0));
        }
        rates.push((width, traffic.bytes as f64 / f64::from(options.cell_payload) / width));
        next = Some(index + 1);
    }
    let seconds: f64 = rates.iter().map(|(seconds, _)| seconds).sum();
    RateSeries { kind, step: width.max(seconds / MOST_BINS), rates, times: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_bins_keep_cells() {
        let rates = [(0.01, 300.0), (0.02, 0.0), (0.01, 100.0), (0.06, 0.0), (10.0, 0.0), (0.03, 200.0)];
        let found = averaged(&rates, 0.02);
        // 3 cells and half a silence; silence and 1 cell; then 10.06 s without any.
        let wanted = [(0.02, 150.0), (0.02, 50.0), (10.06, 0.0), (0.02, 200.0), (0.01, 200.0)];
        assert_eq!(found.len(), wanted.len(), "{found:?}");
        for ((seconds, rate), (length, wanted)) in found.iter().zip(wanted) {
            assert!((seconds - length).abs() < 1e-6 && (rate - wanted).abs() < 1e-6, "{found:?}");
        }
    }
}
