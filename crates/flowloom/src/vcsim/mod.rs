//! Virtual-circuit internetworks that VCSIM specifications describe.

mod config;
mod echo;
mod files;
pub(crate) mod findings;
mod results;

use std::path::{Path, PathBuf};

use flowloom_core::time::{Duration, Time};
use flowloom_sim::cells::{self, Config, Event as CellEvent, Observer, Results};
use flowloom_store::regular;
use flowloom_store::vcsim::{self, Reading};
use serde_json::Value;

use crate::context::{Context, Event, Progress, Step};
use crate::error::{Error, decoded};
use crate::parallel::{at_once, threads};
use crate::run::millis;
use crate::targets::{check_target, is_standard_output};
use crate::warning::Warning;

use config::{Names, config};
use echo::echo;
use files::{Folder, Series, Trace};
pub use findings::{Nodes, SpecificationFinding};
use results::{answer, text_of, text_of_several};

/// How a specification is run.
#[derive(Clone, Debug, Default)]
pub struct VcsimOptions {
    /// The folder of results to write, if any.
    pub target: Option<PathBuf>,
    /// Replace the folder and the trace if they exist.
    pub replace: bool,
    /// One run per seed; empty: the seed of the specification.
    pub seeds: Vec<u64>,
    /// How many seeds run at once; `None`: as many as there are cores.
    pub jobs: Option<u16>,
    /// A file for what happens to each cell, a line each.
    pub cell_trace: Option<PathBuf>,
    /// Leave the names of input files out of the results.
    pub anonymize: bool,
}

/// What runs of a specification came to.
#[derive(Clone, Debug)]
pub struct VcsimResults {
    /// As the original prints it; of several seeds means with intervals.
    pub text: String,
    /// The same as JSON (`docs/reference/json.md`).
    pub json: Value,
    /// Whether the work was stopped before the end.
    pub interrupted: bool,
}

/// Simulates the virtual-circuit internetwork that the specification in `file` describes.
///
/// # Errors
/// All problems of the specification, with lines and columns; a file that cannot be written.
pub fn run_vcsim(file: &Path, options: &VcsimOptions, context: Context<'_>) -> Result<VcsimResults, Error> {
    let inputs = [file.to_owned()];
    refuse_options(options, &inputs)?;
    let reading = read(file)?;
    let (config, names) = config(&reading, file)?;
    let folder = options.target.as_deref().map(|target| Folder::new(target, options.replace, &inputs)).transpose()?;
    let found = SpecificationFinding::of(&reading.specification);
    let mut warnings: Vec<Warning> = found.into_iter().map(Warning::Specification).collect();
    warnings.iter().for_each(|warning| context.warn(warning));
    let seeds = if options.seeds.is_empty() { vec![config.seed] } else { options.seeds.clone() };
    let progress = context.begin(Step::Simulating, Some(millis(config.end) * seeds.len() as u64));
    let runs = if let [seed] = seeds[..] {
        let series = folder.as_ref().map(Series::new).transpose()?;
        let trace = |path| Trace::new(path, options.replace, &names, context);
        let trace = options.cell_trace.as_deref().map(trace).transpose()?;
        let mut watch = Watch { names: &names, context, progress: &progress, last: 0, series, trace, failed: None };
        let config = Config { seed, ..config };
        let results = cells::run(&config, &mut watch).map_err(Error::new)?;
        watch.finish()?;
        vec![(seed, results)]
    } else {
        several(&config, &seeds, options.jobs, &names, context, &progress)?
    };
    drop(progress);
    let interrupted = context.is_stopped();
    let late = if interrupted { Some(Warning::SimulationInterrupted) } else { not_regenerated(&reading, &runs) };
    late.iter().for_each(|warning| context.warn(warning));
    warnings.extend(late);
    let mut said = echo(&reading.specification, file);
    if options.anonymize {
        said["file"] = "input".into();
        if !said["tables"].is_null() {
            said["tables"] = "tables".into();
        }
    }
    let json = answer(said, &runs, &names, interrupted, &warnings);
    let text = match &runs[..] {
        [(_, results)] => text_of(results, &names),
        _ => text_of_several(&runs, &names),
    };
    if let Some(folder) = folder {
        folder.finish(&text, &json, context)?;
    }
    Ok(VcsimResults { text, json, interrupted })
}

/// That runs ended without the instant of regeneration that they were to end at.
fn not_regenerated(reading: &Reading, runs: &[(u64, Results)]) -> Option<Warning> {
    let vcsim::Timer { regeneration: from, end, .. } = reading.specification.timer;
    let without = runs.iter().filter(|(_, results)| !results.regenerated).count();
    let found = SpecificationFinding::NotRegenerated { from, end, runs: without, of: runs.len() };
    (from > 0.0 && without > 0).then_some(Warning::Specification(found))
}

/// Refuses seeds that are given twice, and a trace that would take the place of something.
fn refuse_options(options: &VcsimOptions, inputs: &[PathBuf]) -> Result<(), Error> {
    let seeds = &options.seeds;
    if let Some(place) = (1..seeds.len()).find(|place| seeds[..*place].contains(&seeds[*place])) {
        return Err(Error::usage(format_args!("seed {} is given twice", seeds[place]))
            .hint("runs of one seed are alike: they would count for two"));
    }
    options.cell_trace.as_deref().map_or(Ok(()), |trace| refuse_trace(trace, options, inputs))
}

/// The specification in `file`, as far as it can be read.
fn read(file: &Path) -> Result<Reading, Error> {
    let bytes =
        regular::read(file).map_err(|error| Error::new(format_args!("{}: cannot read: {error}", file.display())))?;
    let text = decoded(bytes, &file.display().to_string(), "a specification is text in UTF-8")?;
    Ok(vcsim::read(&text))
}

fn refuse_trace(trace: &Path, options: &VcsimOptions, inputs: &[PathBuf]) -> Result<(), Error> {
    let shown = trace.display();
    if is_standard_output(trace) {
        return Err(Error::usage(format_args!("--cell-trace {shown}: standard output has the results"))
            .hint("name a file, or a FIFO for another program"));
    }
    if options.seeds.len() > 1 {
        return Err(Error::usage("--cell-trace follows one run, and there are several seeds"));
    }
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if options.target.as_ref().is_some_and(|folder| whole(trace).starts_with(whole(folder))) {
        return Err(Error::usage(format_args!("--cell-trace {shown} is in the folder of results, which is made anew"))
            .hint("write it beside that folder"));
    }
    check_target(trace, options.replace, inputs)
}

/// Runs of several seeds side by side; those that an interruption left.
fn several(
    config: &Config,
    seeds: &[u64],
    jobs: Option<u16>,
    names: &Names,
    context: Context<'_>,
    progress: &Progress<'_>,
) -> Result<Vec<(u64, Results)>, Error> {
    let runs = at_once(
        threads(jobs),
        seeds,
        |_| !context.is_stopped(),
        |&seed| {
            let config = Config { seed, checkpoint_every: None, ..config.clone() };
            let mut watch = Watch { names, context, progress, last: 0, series: None, trace: None, failed: None };
            let results = cells::run(&config, &mut watch).map_err(Error::new)?;
            Ok((!context.is_stopped()).then_some((seed, results)))
        },
    );
    let runs: Vec<(u64, Results)> = runs.into_iter().filter_map(Result::transpose).collect::<Result<_, Error>>()?;
    if runs.is_empty() {
        return Err(Error::new("interrupted before a run was complete"));
    }
    Ok(runs)
}

/// Follows one run.
struct Watch<'a> {
    names: &'a Names,
    context: Context<'a>,
    progress: &'a Progress<'a>,
    last: u64,
    series: Option<Series>,
    trace: Option<Trace<'a>>,
    failed: Option<Error>,
}

impl Watch<'_> {
    fn keep(&mut self, result: Result<(), Error>) {
        if let Err(failure) = result {
            self.failed.get_or_insert(failure);
        }
    }

    fn finish(self) -> Result<(), Error> {
        if let Some(failure) = self.failed {
            return Err(failure);
        }
        if let Some(trace) = self.trace {
            trace.finish(self.context)?;
        }
        self.series.map_or(Ok(()), Series::finish)
    }
}

impl Observer for Watch<'_> {
    fn watches_cells(&self) -> bool {
        self.trace.is_some()
    }

    fn cell(&mut self, event: CellEvent) {
        if let Some(trace) = &mut self.trace {
            let written = trace.add(event);
            self.keep(written);
        }
    }

    fn queue(&mut self, at: Time, router: usize, bytes: u64) {
        if let Some(series) = &mut self.series {
            let id = self.names.nodes[router].id;
            let written = series.row(0, format_args!("{},{id},{bytes}", at.as_nanos()));
            self.keep(written);
        }
    }

    fn source(&mut self, at: Time, route: usize, window: u32, last: Duration, smoothed: Duration, bytes: u64) {
        if let Some(series) = &mut self.series {
            let (at, last, smoothed) = (at.as_nanos(), last.as_nanos(), smoothed.as_nanos());
            let id = self.names.nodes[self.names.sources[route]].id;
            let written = series.row(1, format_args!("{at},{id},{window},{last},{smoothed},{bytes}"));
            self.keep(written);
        }
    }

    fn checkpoint(&mut self, results: &Results) {
        let text = text_of(results, self.names);
        self.context.event(&Event::Checkpoint { seconds: results.end.as_secs_f64(), text: &text });
    }

    fn go_on(&mut self, at: Time) -> bool {
        let now = at.as_nanos() / 1_000_000;
        self.progress.advance(now - self.last);
        self.last = now;
        !self.context.is_stopped() && self.failed.is_none()
    }
}
