//! Calibration: the rates at which a source model would load the bottleneck, were nothing in its way (methods F.7).

mod search;

use std::convert::Infallible;
use std::fmt::{Display, Write as _};
use std::ops::{ControlFlow, Range};
use std::path::{Path, PathBuf};

use flowloom_core::record::{EpochRecord, Record, Recorder};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::ConnectionVector;
use flowloom_models::RoundTrips;
use flowloom_models::generate::SourceModel;
use flowloom_report::statistics::{LongEnough, RunLength};
use flowloom_report::words::thousands;
use flowloom_sim::{Classed, Config, LinkConfig, Progress as SimProgress};
use flowloom_store::staged::{Naming, StagedFolder, real};
use serde_json::{Value, json};

use crate::context::{Context, Progress, Step};
use crate::error::{Error, KeyError};
use crate::experiment::{CutChoice, Experiment, Probe, Quantity, RateChoice, Shape, Source};
use crate::input::{self, Kind};
use crate::parallel::{at_once, threads};
use crate::run::{Senders, config};
use crate::targets::{check_target, is_standard_output, write_pages};
use crate::warning::Warning;
use crate::workload::generation::Generation;
use crate::workload::source;

use search::Search;

/// How much faster than the bottleneck the links of a calibration are, as in the source.
const FASTER: u64 = 10;

/// Exchanges that a run should have (methods E.4).
const EXCHANGES: f64 = 250_000.0;

/// A search that has not ended by then does not end.
const MOST_TRIES: u32 = 40;

/// Width of the bins in which throughput is measured: the ends of `measure.window` count to a second.
const BIN: Duration = Duration::from_secs(1);

/// What a load is calibrated for.
struct Job<'a> {
    experiment: &'a Experiment,
    model: &'a SourceModel,
    senders: &'a Senders<'a>,
    round_trips: &'a RoundTrips,
    /// All links fast.
    config: Config,
    /// The part of the run that counts.
    window: Range<Time>,
    /// The bottleneck's, in bit/s.
    bits_per_second: f64,
}

/// What a run carried.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Carried {
    /// From the left and from the right, as shares of the bottleneck's rate.
    loads: [f64; 2],
    /// Exchanges per second of initiators on the left and on the right.
    exchanges: [f64; 2],
    /// Whether it went on for long enough.
    run_length: LongEnough,
}

/// A row of the table.
struct Row {
    load: f64,
    model: SourceModel,
    carried: Carried,
    runs: u32,
}

/// How rates are searched for.
#[derive(Clone, Debug, Default)]
pub struct CalibrateOptions {
    /// Shares of the bottleneck's rate in its busier direction; of models with a rate for each direction, in both.
    pub loads: Vec<f64>,
    /// Replaces `measure.duration`.
    pub duration: Option<Quantity<Duration>>,
    /// Replaces the seeds of the experiment.
    pub seed: Option<u64>,
    /// How many loads are searched for at once; `None`: as many as there are cores.
    pub jobs: Option<u16>,
    /// The folder to write the table (`calibration.json`) and an experiment for each load to, if any.
    pub target: Option<PathBuf>,
    /// Write into the folder if it exists.
    pub replace: bool,
}

/// The rates that were found.
#[derive(Clone, Debug)]
pub struct Calibrated {
    /// The table for a reader.
    pub text: String,
    /// The same as JSON (`docs/reference/json.md`).
    pub json: Value,
}

/// Finds the rates at which the model of an experiment produces loads of its bottleneck (methods F.7).
///
/// # Errors
/// An experiment without a model that has rates, without a rate or a duration; loads that no rate produces.
pub fn calibrate(file: &Path, options: &CalibrateOptions, context: Context<'_>) -> Result<Calibrated, Error> {
    let name = file.display();
    if input::kind(file) != Kind::Experiment {
        return Err(Error::usage(format_args!("{name}: this is no experiment, whose name ends in .toml"))
            .hint("write the model and the link into one: `flowloom calibrate --help` has an example"));
    }
    if let Some(folder) = &options.target {
        check_folder(folder, options.replace, file, &options.loads)?;
    }
    let mut experiment = Experiment::read(file)?;
    if let Some(seed) = options.seed {
        experiment.run.seeds = vec![seed];
    }
    if options.duration.is_some() {
        experiment.measure.duration.clone_from(&options.duration);
    }
    // The load is the workload's: what sends beside it is no part of it.
    let sources = std::mem::take(&mut experiment.sources);
    let probe = experiment.probe.take();
    experiment.check()?;
    let asked = Asked::of(&experiment, &name)?;
    let shape = experiment.network.shape()?;
    let senders = Senders::new(&experiment, &shape, true, 0, &[])?;
    let job = Job::new(&experiment, &asked, &shape, &senders).map_err(|error| Experiment::locate(error, file))?;
    let rows = job.rows(&options.loads, threads(options.jobs), context)?;
    let duration = experiment.measure.duration.as_ref().map_or(Duration::ZERO, |duration| duration.value);
    for remark in asked.model.remarks(duration) {
        context.warn(&Warning::CalibratedModel { remark });
    }
    if !rises(&rows) {
        context.warn(&Warning::RunsTooShort);
    }
    if let Some(folder) = &options.target {
        job.save(&rows, (&sources, probe.as_ref()), (folder, options.replace), file)?;
    }
    Ok(Calibrated { text: job.text(&rows, file, options), json: job.object(&rows) })
}

/// What of an experiment a calibration needs.
struct Asked {
    model: SourceModel,
    round_trips: RoundTrips,
    /// The bottleneck's rate, in bit/s.
    bits: u64,
}

impl Asked {
    fn of(experiment: &Experiment, name: &dyn Display) -> Result<Asked, Error> {
        let Some(model) = experiment.workload.model.clone() else {
            return Err(Error::usage(format_args!("{name}: [workload] names no model"))
                .hint("a capture has the load it has; docs/reference/models.md lists the models that have a rate"));
        };
        let workload = &experiment.workload;
        if workload.cut == Some(CutChoice::Trace) {
            return Err(Error::usage(format_args!(
                "{name}: workload.cut = \"trace\" adds connections that began before the run"
            ))
            .hint(
                "leave out workload.cut: calibrate finds the rates at which those that begin in the run make the load",
            ));
        }
        if workload.load.is_some() {
            return Err(Error::usage(format_args!("{name}: workload.load changes the load, and the rate decides it"))
                .hint("leave out workload.load: calibrate finds the rate of each load"));
        }
        // Of the round-trip times of a workload, which every try makes anew.
        let Some(round_trips) = workload.rtt.round_trips(&[]).filter(|_| !workload.rtt.is_fitted()) else {
            return Err(Error::usage(format_args!(
                "{name}: workload.rtt = \"{}\" is made of a workload's",
                workload.rtt
            ))
            .hint("give one that is not: rtt = \"80ms\", a list or \"unc-30-path\""));
        };
        if model.rates().is_empty() {
            return Err(Error::usage(format_args!("{name}: the model {} has no rate", model.name())));
        }
        let RateChoice::Fixed(rate) = experiment.network.bottleneck.rate.value else {
            return Err(Error::usage(format_args!("{name}: network.bottleneck.rate is not given"))
                .hint("a load is a share of a rate: rate = \"10mbit\""));
        };
        if experiment.measure.duration.is_none() {
            return Err(Error::usage(format_args!("{name}: measure.duration is missing"))
                .hint("heavy tails need long runs: duration = \"2400s\", or --duration 2400s"));
        }
        let Some(bits) = rate.bits_per_second() else {
            return Err(Error::usage(format_args!("{name}: network.bottleneck.rate is unlimited"))
                .hint("a load is a share of a rate: rate = \"10mbit\""));
        };
        Ok(Asked { model, round_trips, bits })
    }
}

impl<'a> Job<'a> {
    fn new(
        experiment: &'a Experiment,
        asked: &'a Asked,
        shape: &Shape,
        senders: &'a Senders<'a>,
    ) -> Result<Job<'a>, Error> {
        let Asked { model, round_trips, bits } = asked;
        let bits = *bits;
        let config = config(experiment, shape, senders, &source::Source::none(), None)?;
        let fast = Rate::from_bits_per_second(bits.saturating_mul(FASTER));
        // As good as no limit where no link is that fast.
        let fast = fast.filter(|fast| fast.impossible().is_none()).unwrap_or(Rate::UNLIMITED);
        let unconstrained = |link: &LinkConfig| LinkConfig { delay: link.delay, ..LinkConfig::new(fast) };
        let [start, end] = match &experiment.measure.window {
            Some([start, end]) => [start.value, end.value],
            None => [Duration::ZERO, config.window],
        };
        let config = Config {
            bottleneck: unconstrained(&config.bottleneck),
            links: config.links.iter().map(unconstrained).collect(),
            path: Default::default(),
            rules: config.rules.delays_only(),
            drain: Duration::ZERO,
            throughput_every: BIN,
            queue_every: config.window.max(BIN),
            monitor: false,
            monitored: Vec::new(),
            seed: experiment.run.seeds[0],
            ..config
        };
        let window = Time::ZERO + start..Time::ZERO + end;
        if whole_bins(&window) == 0 {
            return Err(Error::from(KeyError::new(
                "measure.window",
                "holds no whole second: bytes are counted in seconds",
            ))
            .hint("heavy tails need long windows: [\"120s\", \"2400s\"]"));
        }
        Ok(Job { experiment, model, senders, round_trips, config, window, bits_per_second: bits as f64 })
    }

    /// The rates of all loads, in the order of these; `jobs` searches at a time.
    fn rows(&self, loads: &[f64], jobs: usize, context: Context<'_>) -> Result<Vec<Row>, Error> {
        let length = self.config.window.as_nanos() / 1_000_000;
        // One run to know what is proportional, and mostly two for each load.
        let progress = context.begin(Step::Calibrating, Some(length * (1 + 2 * loads.len() as u64)));
        let first = self.carried(self.model, &progress, context)?;
        let rows = at_once(jobs, loads, |_| true, |&load| self.row(load, &first, &progress, context));
        rows.into_iter().collect()
    }

    /// Searches the rates of a load; `first` is what the model's own make.
    fn row(&self, load: f64, first: &Carried, progress: &Progress<'_>, context: Context<'_>) -> Result<Row, Error> {
        let rates = self.model.rates();
        let start = rates.iter().zip(self.loads(first)).map(|((_, rate), found)| match found {
            // It sends so little that it tells nothing.
            0.0 => *rate,
            _ => rate * load / found,
        });
        let mut search = Search::new(load, &start.collect::<Vec<_>>());
        loop {
            let model = self.model.with_rates(&search.rates());
            let problem = |problem| {
                Error::new(format_args!("no rate makes a load of {}: model.{problem}", percent(load)))
                    .hint("it is out of what the model can do on this link")
            };
            model.check().map_err(problem)?;
            let carried = self.carried(&model, progress, context)?;
            if search.handle(&self.loads(&carried)) {
                return Ok(Row { load, model, carried, runs: search.tries() });
            }
            if search.tries() == MOST_TRIES {
                return Err(Error::new(format_args!(
                    "no rate makes a load of {}: the nearest are {:?}",
                    percent(load),
                    search.rates()
                ))
                .hint("heavy tails need longer runs: raise measure.duration"));
            }
        }
    }

    /// The load that each rate decides: of two, what the other side's servers answer; of one, the busier direction.
    fn loads(&self, carried: &Carried) -> Vec<f64> {
        let [from_left, from_right] = carried.loads;
        match self.model.rates().len() {
            1 => vec![from_left.max(from_right)],
            _ => vec![from_right, from_left],
        }
    }

    /// What this model's connections load the fast link with.
    fn carried(&self, model: &SourceModel, progress: &Progress<'_>, context: Context<'_>) -> Result<Carried, Error> {
        let prefill = self.experiment.workload.prefill();
        let duration = self.config.window + prefill.shift();
        let seed = self.config.seed;
        let generation = Generation {
            workload: &self.experiment.workload,
            base: None,
            variation: None,
            seed,
            duration: Some(duration),
            anonymize: false,
            stop: context.stop(),
        };
        let vectors = model
            .vectors_after(seed, prefill.shift(), duration)
            .flat_map(|vector| generation.changed(vector, self.round_trips))
            .zip(0..)
            .map(|(vector, id)| ConnectionVector { id, ..vector })
            .filter_map(|vector| prefill.place(vector, self.config.unknown_rtt))
            .map(|placed| {
                Ok::<_, Infallible>(Classed { class: self.senders.class(seed, &placed.vector), ..placed.into() })
            });
        let window = self.window.clone();
        let mut meter = Meter { window, bytes: [0; 2], exchanges: [0; 2], responses: RunLength::default() };
        let mut reached = 0;
        let summary = flowloom_sim::run(vectors, &self.config, &mut meter, |at: SimProgress<'_>| {
            let now = at.now.as_nanos() / 1_000_000;
            progress.advance(now - reached);
            reached = now;
            if context.is_stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })
        .map_err(Error::new)?;
        if summary.interrupted {
            return Err(Error::stopped());
        }
        let seconds = self.window.end.since(self.window.start).as_secs_f64();
        let counted = (BIN * whole_bins(&self.window)).as_secs_f64();
        Ok(Carried {
            loads: meter.bytes.map(|bytes| 8.0 * bytes as f64 / counted / self.bits_per_second),
            exchanges: meter.exchanges.map(|exchanges| exchanges as f64 / seconds),
            run_length: meter.responses.result(),
        })
    }

    /// The table as JSON.
    fn object(&self, rows: &[Row]) -> Value {
        let row = |row: &Row| {
            let [left, right] = row.carried.loads;
            let [by_left, by_right] = row.carried.exchanges;
            json!({
                "load": row.load,
                "rates": rates_of(&row.model).collect::<serde_json::Map<_, _>>(),
                "carried": { "left": left, "right": right },
                "exchanges_per_second": { "left": by_left, "right": by_right },
                "seconds_for_250000_exchanges": seconds_needed(&row.carried),
                "run_length": row.carried.run_length,
                "runs": row.runs,
            })
        };
        let span = |time: Time| time.as_nanos();
        json!({
            "model": self.model.name(),
            "bottleneck_bits_per_second": self.bits_per_second,
            "seed": self.config.seed,
            "window_ns": [span(self.window.start), span(self.window.end)],
            "loads": rows.iter().map(row).collect::<Vec<_>>(),
        })
    }

    /// The table for a reader.
    fn text(&self, rows: &[Row], file: &Path, options: &CalibrateOptions) -> String {
        let mut text = format!(
            "{}  model {}, {} of a {} link unconstrained at {FASTER} times that, seed {}\n\n  load ",
            file.display(),
            self.model.name(),
            self.window.end.since(self.window.start),
            self.experiment.network.bottleneck.rate,
            self.config.seed,
        );
        let _ = self.model.rates().iter().try_for_each(|(key, _)| write!(text, " {key:>13}"));
        text.push_str("     from left    from right  exchanges/s     250,000 take  p90 varies\n");
        for row in rows {
            let _ = write!(text, "{:>6} ", percent(row.load));
            // Each below its key, however long that is.
            let rates = row.model.rates();
            let _ = rates.iter().try_for_each(|(key, rate)| write!(text, " {rate:>0$}", key.len().max(13)));
            let [left, right] = row.carried.loads.map(|load| format!("{:.2} %", 100.0 * load));
            let _ = writeln!(
                text,
                " {left:>13} {right:>13} {:>12.1} {:>16} {:>11}",
                row.carried.exchanges.iter().sum::<f64>(),
                seconds_needed(&row.carried).map_or("-".to_owned(), |seconds| format!("{} s", thousands(seconds))),
                row.carried.run_length.p90_cov.map_or("-".to_owned(), |cov| format!("{:.1} %", 100.0 * cov)),
            );
        }
        if rows.iter().any(|row| !row.carried.run_length.long_enough) {
            text.push_str(
                "\nshorter than the published rule has it: 250,000 responses, p90 within 5 %, p99 above 66,560 bytes, one of 10 MB\n");
        }
        if let Some(folder) = &options.target {
            let _ =
                writeln!(text, "\ntable    {0}/{TABLE}        an experiment for each load beside it", folder.display());
        }
        text
    }

    /// Writes the table, and an experiment with the rates of each load: a new folder gets its name when all is in it, and files in a folder
    /// that exists get theirs together.
    fn save(
        &self,
        rows: &[Row],
        (sources, probe): (&[Source], Option<&Probe>),
        (folder, replace): (&Path, bool),
        experiment: &Path,
    ) -> Result<(), Error> {
        let mut pages = vec![(TABLE.to_owned(), format!("{:#}\n", self.object(rows)))];
        for row in rows {
            let mut loaded = self.experiment.clone();
            loaded.workload.model = Some(row.model.clone());
            loaded.sources = sources.to_vec();
            loaded.probe = probe.cloned();
            pages.push((name_of(row.load, experiment), loaded.to_toml()));
        }
        let within = |folder: &Path| -> Vec<(PathBuf, String)> {
            pages.iter().map(|(name, text)| (folder.join(name), text.clone())).collect()
        };
        if folder.is_dir() {
            return write_pages(&within(folder), replace);
        }
        let cannot = |error| Error::new(format_args!("{}: {error}", folder.display()));
        let end = real(folder).map_err(cannot)?;
        if let Some(parent) = end.parent() {
            std::fs::create_dir_all(parent).map_err(cannot)?;
        }
        let staged = StagedFolder::create(&end).map_err(cannot)?;
        write_pages(&within(staged.path()), false)?;
        staged.finish(&end, Naming::New).map(drop).map_err(cannot)
    }
}

/// Refuses a folder that exists, unless it may be written into, and to replace an input in it.
fn check_folder(folder: &Path, replace: bool, file: &Path, loads: &[f64]) -> Result<(), Error> {
    let shown = folder.display();
    if is_standard_output(folder) {
        return Err(Error::usage(format_args!("{shown}: this output is a folder, not one stream"))
            .hint("-o names a folder; --json prints the table on standard output"));
    }
    let is_there = std::fs::symlink_metadata(folder).is_ok();
    if is_there && !replace {
        return Err(
            Error::new(format_args!("{shown}: exists already")).hint("--force writes into it, -o writes elsewhere")
        );
    }
    if is_there && std::fs::metadata(folder).is_ok_and(|found| !found.is_dir()) {
        return Err(Error::new(format_args!("{shown}: is no folder")).hint("give another name to -o"));
    }
    let names: Vec<String> = loads.iter().map(|load| name_of(*load, file)).chain([TABLE.to_owned()]).collect();
    if let Some(at) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
        return Err(Error::usage(format_args!("two loads would both be written to {}", names[at]))
            .hint("name loads that differ in their first three digits, or leave -o out"));
    }
    names.into_iter().try_for_each(|name| check_target(&folder.join(name), replace, &[file.to_owned()]))
}

/// The name of the experiment of a load.
fn name_of(load: f64, experiment: &Path) -> String {
    let stem = experiment.file_stem().unwrap_or_default().to_string_lossy();
    format!("{stem}-{}.toml", percent(load).replace(" %", ""))
}

/// Whether higher loads have higher rates.
fn rises(rows: &[Row]) -> bool {
    let total = |row: &Row| row.model.rates().iter().map(|(_, rate)| rate).sum::<f64>();
    rows.iter().all(|row| rows.iter().all(|other| other.load <= row.load || total(other) > total(row)))
}

/// The name of a saved table.
const TABLE: &str = "calibration.json";

fn rates_of(model: &SourceModel) -> impl Iterator<Item = (String, Value)> {
    model.rates().into_iter().map(|(key, rate)| (key.to_owned(), json!(rate)))
}

/// A share as it was asked for: `85 %`.
fn percent(load: f64) -> String {
    format!("{} %", (1e4 * load).round() / 1e2)
}

/// Bins that lie in `window` as a whole.
fn whole_bins(window: &Range<Time>) -> u64 {
    let [start, end] = [window.start, window.end].map(|time| time.since(Time::ZERO).as_nanos());
    (end / BIN.as_nanos()).saturating_sub(start.div_ceil(BIN.as_nanos()))
}

/// How long it takes until enough exchanges are over, of the side with more of them; `None` where none was.
fn seconds_needed(carried: &Carried) -> Option<u64> {
    let most = carried.exchanges[0].max(carried.exchanges[1]);
    (most > 0.0).then(|| (EXCHANGES / most).ceil() as u64)
}

/// Adds up what passes in a part of the run, and keeps nothing.
struct Meter {
    window: Range<Time>,
    /// From the left and from the right.
    bytes: [u64; 2],
    /// Exchanges that ended, by the side of their initiator.
    exchanges: [u64; 2],
    responses: RunLength,
}

impl Recorder for Meter {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        match record {
            Record::Connection { original, epochs, .. } => self.add_exchanges(original, epochs),
            Record::Throughput { bin }
                if self.window.contains(&bin.start) && bin.start + BIN <= self.window.end && bin.link < 2 =>
            {
                self.bytes[bin.from as usize] += bin.carried.bytes;
            }
            _ => {}
        }
        Ok(())
    }
}

impl Meter {
    fn add_exchanges(&mut self, original: &ConnectionVector, epochs: &[EpochRecord]) {
        let responses: Vec<Option<u64>> =
            original.epochs().map(|epoch| epoch.response.map(|response| response.bytes)).collect();
        // Those that were over in time, and the one under way at the end.
        let ended_by = |time| epochs.partition_point(|epoch| epoch.end.is_some_and(|end| end < time));
        let [before, begun] = [self.window.start, self.window.end].map(ended_by);
        responses.iter().take(begun + 1).skip(before).flatten().for_each(|bytes| self.responses.begin(*bytes));
        for ended in epochs.iter().filter(|epoch| epoch.end.is_some_and(|end| self.window.contains(&end))) {
            self.exchanges[original.initiator_side as usize] += 1;
            if let Some(Some(bytes)) = responses.get(ended.epoch as usize) {
                self.responses.add(*bytes);
            }
        }
    }
}
