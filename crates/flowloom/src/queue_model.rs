//! Cells at a queue: delay and loss of phase-modulated cells by formulas, and beside them the queue itself (methods I.1 to I.3).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::str::FromStr;

use flowloom_core::cell::delay_and_loss::Queue;
use flowloom_core::cell::phases::Phases;
use flowloom_core::cell::slot::MicroDynamics;
use flowloom_core::cell::sojourns::{Sojourns, autocorrelation};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::Duration;
use flowloom_core::units::three_digits;
use flowloom_report::words::{counted, thousands};
use flowloom_sim::cell_queue::{self, Modulated};
use serde::Serialize;

use crate::context::Context;
use crate::error::Error;
use crate::finding::PhaseFinding;
use crate::input;
use crate::rates::{RateOptions, RateSeries};
use crate::warning::Warning;

/// Phases that a simulation without a series goes through, at most: then it begins anew.
const SOJOURNS: usize = 1_000_000;
/// How long a phase is on average, where neither a series nor the user says.
const SOJOURN: Duration = Duration::from_secs(1);
/// Phases of a model, unless the user says how many.
const PHASES: u16 = 15;
/// How far the mean rate of phases may be from the series', as a share of it, before that is warned of.
const MEAN_TOLERANCE: f64 = 0.1;
/// How far shares of phases may be from 100 % in all: they are rounded by who writes them.
const SHARES_TOLERANCE: f64 = 0.01;
/// Shares of the highest load that are looked at unless the user says which.
const SHARES: [f64; 10] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.99];

/// What the formulas and the queue itself say.
#[derive(Serialize)]
pub struct QueueAnswer {
    series: Option<SeriesFacts>,
    lag_ns: u64,
    seed: u64,
    phases: Vec<PhaseModel>,
    curves: Vec<Point>,
    simulated: Vec<Simulated>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct SeriesFacts {
    kind: &'static str,
    duration_ns: u64,
    rates: usize,
    mean_cells_per_second: f64,
    least_cells_per_second: f64,
    most_cells_per_second: f64,
    autocorrelation: Option<Vec<f64>>,
}

#[derive(Serialize)]
struct PhaseModel {
    phases: usize,
    bounds_cells_per_second: Vec<f64>,
    shares: Vec<f64>,
    mean_cells_per_second: f64,
    highest_load: f64,
    mean_sojourn_ns: Option<f64>,
    autocorrelation: Option<Vec<f64>>,
    #[serde(skip)]
    model: Phases,
    #[serde(skip)]
    sojourns: Option<Sojourns>,
}

#[derive(Serialize)]
struct Point {
    phases: usize,
    gaps: &'static str,
    load: f64,
    service_cells_per_second: f64,
    overloaded: Option<String>,
    mean_delay_ns: Option<f64>,
    mean_delay_as_printed_ns: Option<f64>,
    losses: Vec<LossFound>,
}

#[derive(Serialize)]
struct LossFound {
    buffer_cells: usize,
    tail: f64,
    finite: Option<f64>,
}

#[derive(Serialize)]
struct Simulated {
    gaps: &'static str,
    load: f64,
    service_cells_per_second: f64,
    cells: u64,
    mean_delay_ns: f64,
    losses: Vec<LossSeen>,
}

#[derive(Serialize)]
struct LossSeen {
    buffer_cells: u32,
    tail: f64,
    lost: f64,
}

/// What is asked of a queue of cells.
#[derive(Clone, Debug)]
pub struct QueueModelOptions {
    /// Rates over time; `None`: phases by `pareto_shape`, `least` and `most` alone.
    pub series: Option<PathBuf>,
    /// How the series is read.
    pub rates: RateOptions,
    /// How many phases, one model for each number; empty: 15, or as many as [`Boundaries::Rates`] bound.
    pub phases: Vec<u16>,
    /// Where phases begin and end.
    pub boundaries: Boundaries,
    /// Shares of the time of each phase, which add up to 1 within a hundredth; empty: by `pareto_shape`, or as the series has them.
    pub shares: Vec<f64>,
    /// Lowest boundary rate, in cells per second; `None`: the lowest of the series.
    pub least: Option<f64>,
    /// Highest boundary rate, in cells per second; `None`: the highest of the series.
    pub most: Option<f64>,
    /// Shares of the phases by a Pareto distribution with this tail index; `None`: as the series has them.
    pub pareto_shape: Option<f64>,
    /// Mean time in a phase; `None`: as the series has it.
    pub sojourn: Option<Duration>,
    /// Distributions of the gaps between the cells of a phase.
    pub gaps: Vec<MicroDynamics>,
    /// Mean rates over service rates; empty: ten, up to where the fastest phase is all that can be served.
    pub loads: Vec<f64>,
    /// Cells that may wait beside the one in service.
    pub buffers: Vec<u32>,
    /// How many cells of the series are sent through the queue itself, if any.
    pub simulate: Option<u64>,
    /// Seed of the simulation.
    pub seed: u64,
    /// How many lags of the autocorrelation.
    pub lags: u16,
}

/// Where phases begin and end.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Boundaries {
    /// All are of equal width, between the lowest and the highest rate.
    #[default]
    EqualWidth,
    /// The series is in each for the same share of the time.
    EqualProbability,
    /// These rates, in cells per second: one more than phases.
    Rates(Vec<f64>),
}

impl FromStr for Boundaries {
    type Err = String;

    fn from_str(text: &str) -> Result<Boundaries, String> {
        match text {
            "equal-width" => Ok(Boundaries::EqualWidth),
            "equal-probability" => Ok(Boundaries::EqualProbability),
            rates => rates
                .split(',')
                .map(|rate| rate.trim().parse())
                .collect::<Result<_, _>>()
                .map(Boundaries::Rates)
                .map_err(|_| {
                    "write equal-width, equal-probability, or rates in cells per second such as 0,1000,5000".to_owned()
                }),
        }
    }
}

/// Delay and loss of phase-modulated cells by formulas, and of the queue itself if that is asked for.
///
/// # Errors
/// What is wrong with the series or the phases; the work was stopped.
pub fn queue_model(options: &QueueModelOptions, context: Context<'_>) -> Result<QueueAnswer, Error> {
    if options.rates.bin.is_some_and(Duration::is_zero) {
        return Err(Error::usage("--bin 0s is not possible").hint("write it like 10ms"));
    }
    let series = options.series.as_ref().map(|path| RateSeries::open(path, &options.rates, context)).transpose()?;
    if series.is_none() {
        input::refuse_reading_options(&options.rates.capture, "there is no series to read")?;
    }
    let step = match &series {
        Some(series) => series.step,
        None => options.rates.bin.unwrap_or(SOJOURN).as_secs_f64(),
    };
    if options.sojourn.is_some_and(Duration::is_zero) {
        return Err(Error::usage("--sojourn 0s is not possible").hint("say how long a phase lasts, as --sojourn 1s"));
    }
    refuse_shares(&options.shares)?;
    let counts = counts(options)?;
    let mut phases: Vec<PhaseModel> =
        counts.iter().map(|count| phase_model(*count, series.as_ref(), step, options)).collect::<Result<_, _>>()?;
    let found = series.as_ref().map_or_else(Vec::new, |series| findings(&counts, &phases, series, options));
    let warnings: Vec<Warning> = found.into_iter().map(Warning::Phases).collect();
    warnings.iter().for_each(|warning| context.warn(warning));
    // Loads are those of the series; of phases alone their own.
    let mean = series.as_ref().map_or_else(|| phases[0].mean_cells_per_second, RateSeries::mean);
    phases.iter_mut().for_each(|one| one.highest_load = mean / one.model.peak_rate());
    let fastest = phases.iter().map(|one| one.model.peak_rate()).fold(0.0, f64::max);
    let loads: Vec<f64> = match options.loads[..] {
        [] => SHARES.into_iter().map(|share| share * mean / fastest).collect(),
        ref given => given.to_vec(),
    };
    let mut curves = Vec::new();
    for one in &phases {
        for (&gaps, load) in options.gaps.iter().flat_map(|gaps| loads.iter().map(move |load| (gaps, load))) {
            curves.push(point(&one.model, gaps, *load, mean, &options.buffers));
            // A point with a buffer of many thousand cells takes seconds.
            if context.is_stopped() {
                return Err(Error::stopped());
            }
        }
    }
    let simulated = match options.simulate {
        Some(cells) => simulate(series.as_ref(), &phases[0], &loads, mean, cells, options, context)?,
        None => Vec::new(),
    };
    let facts = series.as_ref().map(|series| SeriesFacts {
        kind: series.kind,
        duration_ns: Duration::from_secs_f64(series.seconds()).as_nanos(),
        rates: series.rates.len(),
        mean_cells_per_second: mean,
        least_cells_per_second: series.extremes().0,
        most_cells_per_second: series.extremes().1,
        autocorrelation: autocorrelation(&series.rates, step, usize::from(options.lags)),
    });
    let lag_ns = Duration::from_secs_f64(step).as_nanos();
    let warnings = warnings.iter().map(Warning::to_string).collect();
    Ok(QueueAnswer { series: facts, lag_ns, seed: options.seed, phases, curves, simulated, warnings })
}

/// Refuses shares of phases that do not add up to the whole.
fn refuse_shares(shares: &[f64]) -> Result<(), Error> {
    let sum: f64 = shares.iter().sum();
    if shares.is_empty() || (sum - 1.0).abs() <= SHARES_TOLERANCE * (1.0 + 1e-9) {
        return Ok(());
    }
    Err(Error::usage(format_args!("--shares add up to {} %, not to 100 %", three_digits(100.0 * sum)))
        .hint("give the share of the time of each phase, from the slowest to the fastest, such as 60%,30%,10%"))
}

/// The numbers of phases of the models.
fn counts(options: &QueueModelOptions) -> Result<Vec<u16>, Error> {
    match (&options.boundaries, &options.phases[..]) {
        (_, []) => Ok(vec![PHASES]),
        (Boundaries::Rates(rates), _) => Err(Error::usage(format_args!(
            "--phases is about boundaries that are computed, and --boundaries has {}",
            counted(rates.len() as u64, "rate")
        ))
        .hint("leave one of the two out")),
        (_, given) => Ok(given.to_vec()),
    }
}

/// How phases, of which `asked` were asked for, differ from `series`.
fn findings(
    asked: &[u16],
    phases: &[PhaseModel],
    series: &RateSeries,
    options: &QueueModelOptions,
) -> Vec<PhaseFinding> {
    let mut found = Vec::new();
    let (rate, share) = series.longest_held();
    let has_own_shares = !options.shares.is_empty() || options.pareto_shape.is_some();
    for (&asked, model) in asked.iter().zip(phases) {
        let (made, mean) = (model.phases, model.mean_cells_per_second);
        if made < usize::from(asked) && !matches!(options.boundaries, Boundaries::Rates(_)) {
            found.push(PhaseFinding::Fewer { asked, made, rate, share });
        }
        if (mean / series.mean() - 1.0).abs() > MEAN_TOLERANCE {
            found.push(PhaseFinding::MeanRate { phases: made, mean, series: series.mean(), has_own_shares });
        }
    }
    found
}

/// The boundary rates of a model with `count` phases: two or more.
fn bounds(count: u16, series: Option<&RateSeries>, options: &QueueModelOptions) -> Result<Vec<f64>, Error> {
    let has_limits = options.least.is_some() || options.most.is_some();
    if has_limits && options.boundaries != Boundaries::EqualWidth {
        return Err(
            Error::usage("--least and --most are about phases of equal width").hint("leave them out, or --boundaries")
        );
    }
    match (&options.boundaries, series) {
        (Boundaries::Rates(rates), _) if rates.len() < 2 => {
            Err(Error::usage("--boundaries needs two rates or more").hint("write them like 0,1000,5000"))
        }
        (Boundaries::Rates(rates), _) => Ok(rates.clone()),
        // A constant rate is one phase, whatever the number that was asked for.
        (_, Some(series)) if series.extremes().0 == series.extremes().1 && !has_limits => {
            Ok(vec![0.0, series.extremes().1])
        }
        (Boundaries::EqualProbability, Some(series)) => Ok(Phases::equally_likely(&series.rates, usize::from(count))),
        (Boundaries::EqualProbability, None) => {
            Err(Error::usage("--boundaries equal-probability is about a SERIES").hint("give one, or the rates"))
        }
        (Boundaries::EqualWidth, _) => {
            let least = options.least.or_else(|| series.map(|series| series.extremes().0));
            let most = options.most.or_else(|| series.map(|series| series.extremes().1));
            let (Some(least), Some(most)) = (least, most) else {
                return Err(Error::usage("without a SERIES nothing says where phases begin and end")
                    .hint("give --least and --most, or --boundaries"));
            };
            Ok(Phases::equal(least, most, usize::from(count)))
        }
    }
}

/// The model with `count` phases.
fn phase_model(
    count: u16,
    series: Option<&RateSeries>,
    step: f64,
    options: &QueueModelOptions,
) -> Result<PhaseModel, Error> {
    let bounds = bounds(count, series, options)?;
    let (least, most) = (bounds[0], bounds[bounds.len() - 1]);
    let found = match (&options.shares[..], options.pareto_shape, series) {
        ([], Some(shape), _) => Phases::pareto(bounds, options.least.unwrap_or(least), shape),
        ([], None, Some(series)) => Phases::histogram(bounds, &series.rates),
        ([], None, None) => {
            return Err(Error::usage("without a SERIES the shares of the phases are not known")
                .hint("give --shares, or --pareto-shape"));
        }
        (shares, ..) => Phases::new(bounds, shares.to_vec()),
    };
    let model = found.map_err(|error| {
        Error::usage(format_args!("phases from {} to {} cells/s: {error}", three_digits(least), three_digits(most)))
            .hint("--least and --most, or --boundaries, say where phases begin and end; a Pareto distribution begins above zero")
    })?;
    let sojourns = match (options.sojourn, series) {
        (Some(mean), _) => Some(Sojourns::new(&model, mean.as_secs_f64())),
        (None, Some(series)) => Sojourns::of_series(&model, &series.rates),
        (None, None) => Some(Sojourns::new(&model, SOJOURN.as_secs_f64())),
    };
    let lags: Vec<f64> = (0..=options.lags).map(|lag| f64::from(lag) * step).collect();
    Ok(PhaseModel {
        phases: model.count(),
        bounds_cells_per_second: model.bounds().to_vec(),
        shares: model.shares().to_vec(),
        mean_cells_per_second: model.mean_rate(),
        highest_load: 1.0,
        mean_sojourn_ns: sojourns.as_ref().map(|sojourns| sojourns.mean() * 1e9),
        autocorrelation: sojourns.as_ref().and_then(|sojourns| sojourns.autocorrelation(&lags)),
        sojourns,
        model,
    })
}

/// What the formulas say at one load.
fn point(model: &Phases, gaps: MicroDynamics, load: f64, mean: f64, buffers: &[u32]) -> Point {
    let service = mean / load;
    let queue = Queue::new(model, gaps, service);
    let buffers: Vec<usize> = buffers.iter().map(|buffer| *buffer as usize).collect();
    let losses = queue.as_ref().map_or_else(|_| Vec::new(), |queue| queue.losses(&buffers));
    Point {
        phases: model.count(),
        gaps: gaps.name(),
        load,
        service_cells_per_second: service,
        overloaded: queue.as_ref().err().map(ToString::to_string),
        mean_delay_ns: queue.as_ref().ok().map(|queue| queue.mean_delay() * 1e9),
        mean_delay_as_printed_ns: queue.as_ref().ok().map(|queue| queue.mean_delay_as_printed() * 1e9),
        losses: losses
            .into_iter()
            .map(|loss| LossFound { buffer_cells: loss.buffer, tail: loss.tail, finite: loss.finite })
            .collect(),
    }
}

/// Sends `cells` cells through the queue at each load: at the times that are known, or drawn at the rates of the series, or of the phases.
fn simulate(
    series: Option<&RateSeries>,
    phases: &PhaseModel,
    loads: &[f64],
    mean: f64,
    cells: u64,
    options: &QueueModelOptions,
    context: Context<'_>,
) -> Result<Vec<Simulated>, Error> {
    let drawn: Vec<(f64, f64)>;
    let rates = match (series, &phases.sojourns) {
        (Some(series), _) => &series.rates,
        (None, sojourns) => {
            let stream = Stream::new(options.seed, Purpose::Sojourns, 0);
            let sequence = sojourns.iter().flat_map(|sojourns| sojourns.sequence(stream.clone()).take(SOJOURNS));
            drawn = sequence.collect();
            &drawn
        }
    };
    let most: usize = usize::try_from(cells).unwrap_or(usize::MAX);
    let mut found = Vec::new();
    let mut push = |gaps, load: f64, results: cell_queue::Results| {
        let service = mean / load;
        let share = |count: u64| count as f64 / results.cells as f64;
        let losses = options.buffers.iter().zip(results.beyond.iter().zip(&results.lost));
        found.push(Simulated {
            gaps,
            load,
            service_cells_per_second: service,
            cells: results.cells,
            mean_delay_ns: results.mean_delay / service * 1e9,
            losses: losses
                .map(|(&buffer_cells, (tail, lost))| LossSeen { buffer_cells, tail: share(*tail), lost: share(*lost) })
                .collect(),
        });
    };
    // Asked once in a while: a billion cells take half a minute.
    let mut sent = 0_u64;
    let mut goes_on = |_: &f64| {
        sent += 1;
        !(sent.is_multiple_of(1 << 20) && context.is_stopped())
    };
    for &load in loads {
        let service = mean / load;
        if let Some(times) = series.and_then(|series| series.times.as_ref()) {
            let gaps = times.windows(2).map(|pair| (pair[1] - pair[0]) * service);
            let results =
                cell_queue::run(std::iter::once(0.0).chain(gaps).take(most).take_while(&mut goes_on), &options.buffers);
            push("as-seen", load, results);
        } else {
            for &law in &options.gaps {
                let gaps = Modulated::new(rates, law, service, options.seed).take(most);
                push(law.name(), load, cell_queue::run(gaps.take_while(&mut goes_on), &options.buffers));
            }
        }
        if context.is_stopped() {
            return Err(Error::stopped());
        }
    }
    Ok(found)
}

/// The answer for people.
pub fn queue_text(answer: &QueueAnswer) -> String {
    let mut text = String::new();
    let rate = |cells: f64| thousands(cells.round() as u64);
    let time = |ns: f64| Duration::from_secs_f64(ns / 1e9).to_string();
    let at = |values: &Option<Vec<f64>>, lag: usize| {
        values.as_ref().and_then(|values| values.get(lag)).map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
    };
    let lags = [1, 2, 5, 10, 20];
    let correlations = |values: &Option<Vec<f64>>| lags.map(|lag| format!("{:>8}", at(values, lag))).concat();
    if let Some(series) = &answer.series {
        let _ = writeln!(
            text,
            "series      {}, mean {} cells/s, from {} to {}",
            Duration::from_nanos(series.duration_ns),
            rate(series.mean_cells_per_second),
            rate(series.least_cells_per_second),
            rate(series.most_cells_per_second)
        );
    }
    for one in &answer.phases {
        let sojourn =
            one.mean_sojourn_ns.map_or_else(String::new, |mean| format!(", one lasts {} on average", time(mean)));
        let name = format!("{:>3} {}", one.phases, noun(one.phases));
        let _ = writeln!(text, "{name:<10}  mean {} cells/s{sojourn}", rate(one.mean_cells_per_second));
    }
    let heads = lags.map(|lag| {
        let lag = Duration::from_nanos(answer.lag_ns.saturating_mul(lag as u64)).to_string();
        format!("{lag:>8}")
    });
    let _ = writeln!(text, "\nautocorrelation of the rate, lag{}", heads.concat());
    if let Some(series) = &answer.series {
        let _ = writeln!(text, "  series                        {}", correlations(&series.autocorrelation));
    }
    for one in &answer.phases {
        let name = format!("{} {}", one.phases, noun(one.phases));
        let _ = writeln!(text, "  {name:<30}{}", correlations(&one.autocorrelation));
    }
    for one in &answer.phases {
        for gaps in answer.curves.iter().map(|point| point.gaps).collect::<BTreeSet<_>>() {
            curve(&mut text, answer, one.phases, gaps);
        }
    }
    for gaps in answer.simulated.iter().map(|one| one.gaps).collect::<BTreeSet<_>>() {
        let rows = || answer.simulated.iter().filter(|one| one.gaps == gaps);
        let cells = rows().next().map_or(0, |one| one.cells);
        let _ = writeln!(text, "\nthe queue itself, {gaps} gaps, {} cells at each load", thousands(cells));
        head(
            &mut text,
            rows().next().map_or(&[][..], |one| &one.losses[..]).iter().map(|loss| loss.buffer_cells as usize),
            "",
        );
        for one in rows() {
            let _ = write!(text, "{} {:>11}", percent(one.load), time(one.mean_delay_ns));
            one.losses.iter().for_each(|loss| _ = write!(text, " {:>12.2e}", loss.lost));
            text.push('\n');
        }
    }
    text
}

fn noun(phases: usize) -> &'static str {
    if phases == 1 { "phase" } else { "phases" }
}

/// A load: of bursts the highest that can be served may be far below a percent.
fn percent(load: f64) -> String {
    format!("{:>6} %", three_digits(100.0 * load))
}

fn head(text: &mut String, buffers: impl Iterator<Item = usize>, second: &str) {
    let _ = write!(text, "    load  mean delay{second}");
    buffers.for_each(|buffer| _ = write!(text, " {:>12}", format!("loss at {buffer}")));
    text.push('\n');
}

/// One table of the formulas.
fn curve(text: &mut String, answer: &QueueAnswer, phases: usize, gaps: &str) {
    let rows = || answer.curves.iter().filter(|point| point.phases == phases && point.gaps == gaps);
    let is_finite = rows().flat_map(|point| &point.losses).any(|loss| loss.finite.is_some());
    let loss = if is_finite { "share of cells lost" } else { "tail of an infinite queue" };
    let _ = writeln!(text, "\n{phases} {}, {gaps} gaps, loss: {loss}", noun(phases));
    let buffers = rows().map(|point| &point.losses).find(|losses| !losses.is_empty());
    head(text, buffers.into_iter().flatten().map(|loss| loss.buffer_cells), "  (as printed)");
    for point in rows() {
        let _ = write!(text, "{} ", percent(point.load));
        match (&point.overloaded, point.mean_delay_ns, point.mean_delay_as_printed_ns) {
            (None, Some(mean), Some(printed)) => {
                let time = |ns: f64| Duration::from_secs_f64(ns / 1e9).to_string();
                let _ = write!(text, "{:>11} {:>13}", time(mean), format!("({})", time(printed)));
                point.losses.iter().for_each(|loss| _ = write!(text, " {:>12.2e}", loss.finite.unwrap_or(loss.tail)));
            }
            (reason, ..) => text.push_str(reason.as_deref().unwrap_or_default()),
        }
        text.push('\n');
    }
    let highest = answer.phases.iter().find(|one| one.phases == phases).map_or(0.0, |one| one.highest_load);
    if rows().any(|point| point.overloaded.is_some()) {
        let _ = writeln!(
            text,
            "loads below {} % have an equilibrium: ask for them with --load, or for phases with lower rates, by wider\n\
             bins (--bin), or by boundaries that put rare peaks into a lower phase (--most, --boundaries)",
            three_digits(100.0 * highest)
        );
    }
}
