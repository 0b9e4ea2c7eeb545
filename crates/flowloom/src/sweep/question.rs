//! What is asked: the experiment, its axes, and the variants that they make.

use std::path::{Path, PathBuf};

use flowloom_report::statistics::Looks;
use flowloom_report::sweep::{GridAxis, Objective};

use crate::context::Context;
use crate::error::{Error, KeyError, nearest};
use crate::experiment::{Axis, Experiment, LeaveOut, Point, RateOf, Setting, Sweep, Tables, is_in, last_part};
use crate::input::{self, Kind};
use crate::run::plan::Plan;
use crate::run::{Driver, RunOptions};

use super::options::SweepOptions;

/// Cells of a sweep, at most: each has a folder of its own.
const MOST_CELLS: u128 = 100_000;

/// A sweep that is possible, with all its variants.
pub struct Question {
    /// What the user named.
    pub inputs: Vec<PathBuf>,
    /// The experiment of all variants, without their settings.
    base: Experiment,
    /// The file that it was read from.
    file: Option<PathBuf>,
    /// What is varied.
    pub vary: Vec<Axis>,
    /// Where the axes were given: an option, or a key of the file.
    vary_is: &'static str,
    /// The variants; the first is the control.
    pub variants: Vec<Variant>,
    /// Whether the capture is replayed alone too, through the default network.
    pub has_baseline: bool,
    /// The seeds, as many as the last look has.
    pub seeds: Vec<u64>,
    /// When it is planned to look.
    pub looks: Looks,
    /// What the best variant has least or most of.
    pub objective: Objective,
    /// A difference that does not matter, as a share.
    pub margin: f64,
    /// What rates in percent are of.
    pub rate_of: RateOf,
    /// Tables that are kept.
    pub tables: Tables,
    /// What the sweep itself sets, of what nobody else did.
    usual: Vec<Setting>,
    /// The name of its folder, where nobody gave one.
    pub usual_folder: PathBuf,
}

/// A combination of values of all axes.
pub struct Variant {
    /// What distinguishes it from the others.
    pub name: String,
    /// Its place on each axis.
    pub points: Vec<usize>,
    /// Its values.
    settings: Vec<Setting>,
    /// What is run, with all seeds.
    pub plan: Plan,
}

impl Question {
    /// Reads what is asked, and judges every variant.
    ///
    /// # Errors
    /// What is wrong with the experiment or with a variant, of all of them at once; too many cells.
    pub fn new(inputs: &[PathBuf], options: &SweepOptions, context: Context<'_>) -> Result<Question, Error> {
        let (base, file) = read(inputs)?;
        let (base, written) = base.without_sweep();
        let sweep = asked(written.unwrap_or_default(), options)?;
        if !options.run.guests.is_empty() {
            return Err(Error::usage("a program is run once, and a sweep has many runs"));
        }
        let base = base.with_all(&options.run.settings)?;
        refuse_real_link(&base, file.as_deref())?;
        let vary: Vec<Axis> = sweep.vary.iter().map(|axis| axis.value.clone()).collect();
        if vary.is_empty() {
            return Err(Error::usage("nothing is varied").hint(
                "give an axis: --vary queue=drop-tail,fq-codel, or [sweep] with vary = [\"queue=drop-tail,fq-codel\"]",
            ));
        }
        let vary_is = if options.vary.is_empty() { "sweep.vary" } else { "--vary" };
        refuse_twice(&vary, vary_is)?;
        refuse_without_effect(&vary, vary_is, &options.run.settings)?;
        let usual = usual(&vary, vary_is, &base)?;
        let (seeds, looks) = seeds(&sweep, &base);
        let combinations = vary.iter().try_fold(1_u128, |count, axis| count.checked_mul(axis.points.len() as u128));
        let cells = combinations.and_then(|count| count.checked_mul(seeds.len() as u128));
        if cells.is_none_or(|cells| cells > MOST_CELLS) {
            let cells = cells.map_or_else(|| "too many".to_owned(), |cells| cells.to_string());
            return Err(Error::usage(format_args!("this sweep has {cells} cells (at most {MOST_CELLS})"))
                .hint("give fewer axes, values or seeds"));
        }
        let objective = sweep.objective.as_deref().unwrap_or(Objective::USUAL);
        let objective = Objective::named(objective).map_err(|known| unknown_objective(objective, &known))?;
        let stem = inputs.first().map_or_else(|| "sweep".into(), |first| stem(first));
        let keys: Vec<&str> = vary.iter().flat_map(|axis| &axis.keys).map(|key| last_part(key)).collect();
        let usual_folder = PathBuf::from(format!("runs/{stem}-{}", keys.join("-")));
        let mut question = Question {
            inputs: inputs.to_vec(),
            base,
            file,
            variants: Vec::new(),
            has_baseline: false,
            seeds,
            looks,
            objective,
            margin: sweep.margin.value.0.get(),
            rate_of: sweep.rate_of,
            tables: sweep.tables.value.clone(),
            usual,
            usual_folder,
            vary,
            vary_is,
        };
        let leave_out: Vec<LeaveOut> = sweep.leave_out.iter().map(|one| one.value.clone()).collect();
        question.variants = question.variants(&leave_out, &options.run, context)?;
        for variant in &question.variants {
            refuse_real_link(&variant.plan.experiment, None)?;
        }
        question.has_baseline = question.has_baseline(&options.run);
        Ok(question)
    }

    /// The axes as an answer has them.
    pub fn axes(&self) -> Vec<GridAxis> {
        let shared = self.shared_parts();
        let of_axis = |axis: &Axis| GridAxis {
            name: axis.keys.join("+"),
            points: axis.points.iter().map(|point| point.name(&shared)).collect(),
        };
        self.vary.iter().map(of_axis).collect()
    }

    /// Last parts of keys that several keys have.
    fn shared_parts(&self) -> Vec<&str> {
        let parts: Vec<&str> = self.vary.iter().flat_map(|axis| &axis.keys).map(|key| last_part(key)).collect();
        parts.iter().filter(|part| parts.iter().filter(|other| other == part).count() > 1).copied().collect()
    }

    /// Every combination that is not left out, the last axis changing fastest.
    fn variants(&self, leave_out: &[LeaveOut], run: &RunOptions, context: Context<'_>) -> Result<Vec<Variant>, Error> {
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        for axis in &self.vary {
            let longer = |points: &Vec<usize>| {
                (0..axis.points.len()).map(|point| [&points[..], &[point]].concat()).collect::<Vec<_>>()
            };
            all = all.iter().flat_map(longer).collect();
        }
        let of = |points: &[usize]| -> Vec<&Point> {
            self.vary.iter().zip(points).map(|(axis, point)| &axis.points[*point]).collect()
        };
        all.retain(|points| !leave_out.iter().any(|one| one.matches(of(points).into_iter())));
        if all.is_empty() {
            return Err(Error::usage("every combination is left out").hint("take something out of leave-out"));
        }
        let shared = self.shared_parts();
        let (mut variants, mut errors): (Vec<Variant>, Vec<Error>) = (Vec::new(), Vec::new());
        for points in all {
            let values = of(&points);
            let name = values.iter().map(|point| point.name(&shared)).collect::<Vec<_>>().join(", ");
            let settings = values.iter().map(|point| settings_of(point, self.vary_is));
            let settings = settings.collect::<Result<Vec<_>, Error>>()?.concat();
            let seeds = Setting::of("seeds", &format!("{:?}", self.seeds)).map_err(Error::usage)?;
            match self.plan(&[&settings[..], &[seeds]].concat(), run, context) {
                Ok(plan) => variants.push(Variant { name, points, settings, plan }),
                // One wrong value is wrong in all variants that have it.
                Err(error) if errors.contains(&error) => {}
                Err(error) => errors.push(error),
            }
        }
        match Error::all(errors) {
            Some(error) => Err(error),
            None => Ok(variants),
        }
    }

    /// The plan of the experiment with these settings beside those of all variants.
    fn plan(&self, settings: &[Setting], run: &RunOptions, context: Context<'_>) -> Result<Plan, Error> {
        let mut options = self.run_options(settings, run);
        options.target.get_or_insert_with(|| self.usual_folder.clone());
        Plan::new(self.base.clone(), &self.inputs, self.file.as_ref(), &options, &context.interrupt())
    }

    fn run_options(&self, settings: &[Setting], run: &RunOptions) -> RunOptions {
        let settings = [&self.usual[..], &run.settings, settings].concat();
        RunOptions { settings, ..run.clone() }
    }

    /// What is run for one seed of a variant, and how; the settings in `more` go before those of the variant.
    ///
    /// # Errors
    /// Those of [`Plan::new`].
    pub fn cell(
        &self,
        variant: usize,
        seed: u64,
        more: &[Setting],
        run: &RunOptions,
        target: &Path,
        context: Context<'_>,
    ) -> Result<(Plan, RunOptions), Error> {
        let variant = &self.variants[variant];
        let one = |short: &str, text: &str| Setting::of(short, text).map_err(Error::usage);
        let mut settings = [&variant.settings[..], more].concat();
        settings.push(one("seeds", &format!("[{seed}]"))?);
        // With one seed alone nothing would be varied.
        let vary = variant.plan.experiment.run.vary.to_string();
        if vary != "auto" {
            settings.push(one("vary", &vary)?);
        }
        let run = RunOptions { target: Some(target.to_owned()), jobs: Some(1), ..run.clone() };
        Ok((self.plan(&settings, &run, context)?, self.run_options(&settings, &run)))
    }

    /// Whether there is a capture, or a workload, of which one can say how far its replay is from it.
    fn has_baseline(&self, run: &RunOptions) -> bool {
        let control = &self.variants[0].plan;
        run.on == Driver::Sim && !control.sources.is_empty() && control.experiment.sources.is_empty()
    }

    /// The capture through the default network, once.
    ///
    /// # Errors
    /// Those of [`Plan::new`].
    pub fn baseline_plan(
        &self,
        run: &RunOptions,
        target: &Path,
        context: Context<'_>,
    ) -> Result<(Plan, RunOptions), Error> {
        let source = self.variants[0].plan.sources.first();
        let (experiment, inputs) = match (&self.file, source) {
            (Some(_), Some(source)) => (Experiment::of(source), &[][..]),
            _ => (Experiment::default(), &self.inputs[..]),
        };
        let options =
            RunOptions { settings: Vec::new(), target: Some(target.to_owned()), jobs: Some(1), ..run.clone() };
        Ok((Plan::new(experiment, inputs, None, &options, &context.interrupt())?, options))
    }
}

/// The experiment among the inputs, or one of the defaults.
fn read(inputs: &[PathBuf]) -> Result<(Experiment, Option<PathBuf>), Error> {
    let Some(first) = inputs.first() else {
        return Err(Error::usage("there is nothing to sweep").hint("name an experiment, a capture or a workload"));
    };
    let kinds: Vec<Kind> = inputs.iter().map(|path| input::kind(path)).collect();
    if kinds.contains(&Kind::Specification) {
        return Err(Error::usage("a specification of an internetwork is no experiment that can be swept"));
    }
    match (kinds.iter().filter(|kind| **kind == Kind::Experiment).count(), inputs.len()) {
        (0, _) => Ok((Experiment::default(), None)),
        (_, 1) => Ok((Experiment::read(first)?, Some(first.clone()))),
        _ => Err(Error::usage("an experiment file is swept alone").hint("it names its workload itself")),
    }
}

/// Refuses a real link: cells go by what decides their numbers, and one that is there already would show that of another time, or none.
fn refuse_real_link(experiment: &Experiment, file: Option<&Path>) -> Result<(), Error> {
    if experiment.measure.real_link.is_none() {
        return Ok(());
    }
    let error = Error::from(KeyError::new("measure.real-link", "is of single runs, and a sweep has many"))
        .hint("leave it out here, and give --real-link to a run of the variant that you want to see beside it");
    Err(match file {
        Some(file) => Experiment::locate(error, file),
        None => error,
    })
}

/// What the experiment and the options ask for together.
fn asked(mut sweep: Sweep, options: &SweepOptions) -> Result<Sweep, Error> {
    if !options.vary.is_empty() {
        sweep.vary.clone_from(&options.vary);
        sweep.leave_out = Vec::new();
    }
    sweep.leave_out.extend(options.leave_out.iter().cloned());
    sweep.seeds = options.seeds.or(sweep.seeds);
    sweep.most_seeds = options.most_seeds.or(sweep.most_seeds);
    sweep.rate_of = options.rate_of.unwrap_or(sweep.rate_of);
    sweep.objective = options.objective.clone().or(sweep.objective);
    sweep.margin = options.margin.clone().unwrap_or(sweep.margin);
    sweep.tables = options.tables.clone().unwrap_or(sweep.tables);
    Error::all(sweep.problems().into_iter().map(Error::from)).map_or(Ok(sweep), Err)
}

/// Keys that a sweep sets itself for each of its runs.
const OWN: [&str; 2] = ["run.seeds", "sweep"];

/// Structures of a model are compared over the same bytes, unless something else was asked for: how the workload begins, or another
/// model for each variant.
fn usual(vary: &[Axis], vary_is: &str, base: &Experiment) -> Result<Vec<Setting>, Error> {
    let keys = axis_keys(vary, vary_is)?;
    let varies = |key: &str| keys.iter().any(|varied| is_in(varied, key));
    let others = ["workload.cut", "workload.prefill", "workload.load", "workload.source"];
    let workload = &base.workload;
    let is_stated = workload.cut.is_some() || others.into_iter().any(varies);
    if !varies("workload.structure") || is_stated || !workload.can_be_cut() {
        return Ok(Vec::new());
    }
    let cut: Setting = "workload.cut=trace".parse().map_err(Error::usage)?;
    Ok(vec![cut.given_as("the sweep itself, which compares structures over the same bytes: workload.cut=trace")])
}

/// The settings of a value of an axis; `vary_is` says where the axis was given, in errors about the value.
///
/// # Errors
/// It is no value of its key.
fn settings_of(point: &Point, vary_is: &str) -> Result<Vec<Setting>, Error> {
    let joined = |parts: &mut dyn Iterator<Item = &String>| parts.cloned().collect::<Vec<_>>().join("+");
    let keys = joined(&mut point.values.iter().map(|(key, _)| key));
    let given = format!("{vary_is} {keys}={}", joined(&mut point.values.iter().map(|(_, value)| value)));
    let setting = |(key, value): &(String, String)| match format!("{key}={value}").parse::<Setting>() {
        Ok(setting) => Ok(setting.given_as(given.as_str())),
        Err(problem) => Err(Error::usage(problem).note(format_args!("given by {given}"))),
    };
    point.values.iter().map(setting).collect()
}

/// The keys of all axes, with their whole names.
fn axis_keys(vary: &[Axis], vary_is: &str) -> Result<Vec<String>, Error> {
    let mut keys = Vec::new();
    for point in vary.iter().filter_map(|axis| axis.points.first()) {
        keys.extend(keys_of(&settings_of(point, vary_is)?));
    }
    Ok(keys)
}

/// The keys that settings give values, with their whole names.
fn keys_of(settings: &[Setting]) -> Vec<String> {
    settings.iter().flat_map(Setting::keys).map(ToOwned::to_owned).collect()
}

/// Refuses axes over keys that the sweep sets itself, and axes that vary one key under two names, of which only one would hold.
fn refuse_twice(vary: &[Axis], vary_is: &str) -> Result<(), Error> {
    let mut known: Vec<(String, &str)> = Vec::new();
    for axis in vary {
        let (Some(point), Some(written)) = (axis.points.first(), axis.keys.first()) else { continue };
        let keys = keys_of(&settings_of(point, vary_is)?);
        if let Some(key) = keys.iter().find(|key| OWN.iter().any(|own| is_in(key, own))) {
            return Err(Error::usage(format_args!("the axis {written} varies {key}, which the sweep sets itself"))
                .hint("--seeds says how many seeds each variant has"));
        }
        if let Some((key, before)) = known.iter().find(|(key, _)| keys.contains(key)) {
            return Err(Error::usage(format_args!("the axes {before} and {written} both vary {key}"))
                .hint("give its values to one of them"));
        }
        known.extend(keys.into_iter().map(|key| (key, written.as_str())));
    }
    Ok(())
}

/// Refuses settings of keys that an axis varies, which would have no effect.
fn refuse_without_effect(vary: &[Axis], vary_is: &str, given: &[Setting]) -> Result<(), Error> {
    let varied = axis_keys(vary, vary_is)?;
    for setting in given {
        if let Some(key) = setting.keys().find(|key| varied.iter().any(|varied| varied == key)) {
            let words = setting.words().join(" ");
            return Err(Error::usage(format_args!("{words} has no effect: an axis varies {key}"))
                .hint("leave it out, or make it a value of the axis"));
        }
    }
    Ok(())
}

/// The seeds of each variant, and when to look.
fn seeds(sweep: &Sweep, base: &Experiment) -> (Vec<u64>, Looks) {
    let first = sweep.seeds.map(usize::from);
    let counted = |count: usize| (1..=count as u64).collect::<Vec<u64>>();
    match (first, sweep.most_seeds.map(usize::from)) {
        (first, Some(most)) => (counted(most), Looks::doubling(first.unwrap_or(FIRST_LOOK).min(most), most)),
        (Some(first), None) => (counted(first), Looks::once(first)),
        (None, None) => (base.run.seeds.clone(), Looks::once(base.run.seeds.len())),
    }
}

/// Seeds at the first of several looks, where nobody says: an interval needs five, and of ten it is half as wide.
const FIRST_LOOK: usize = 10;

fn unknown_objective(name: &str, known: &[String]) -> Error {
    if Objective::is_of_neither(name) {
        let problem = format_args!("\"{name}\" cannot be the objective: neither less nor more of it is better");
        return Error::usage(problem).hint(format_args!("nearest to it are {}", Objective::nearest(name).join(", ")));
    }
    let meant = nearest(name, &known.iter().map(String::as_str).collect::<Vec<_>>())
        .map(|meant| format!("did you mean \"{meant}\"?"));
    Error::usage(format_args!("there is no objective \"{name}\""))
        .note(format_args!("known: {}", known.join(", ")))
        .hint_if(meant)
}

/// The name of an input without its endings.
fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    if stem.is_empty() || stem == "-" { "sweep".to_owned() } else { stem.to_owned() }
}
