//! The parameters of Harpoon for what an input holds (methods K.1), as its own XML.

use std::path::{Path, PathBuf};

use flowloom_core::time::Duration;
use flowloom_models::generate::InitiatorSide;
use flowloom_models::generate::harpoon::configure::{Configurator, Options, Unconfigured};
use flowloom_models::generate::harpoon::{Block, Personality, Plugin};
use flowloom_report::fit::harpoon::HarpoonFit;
use flowloom_store::harpoon;

use crate::context::Context;
use crate::error::Error;
use crate::experiment::Quantity;
use crate::extraction::CaptureOptions;
use crate::input::Kind;
use crate::targets::{check_target, is_standard_output, write_page};
use crate::warning::Warning;
use crate::workload::hosts::{HostChoice, HostOptions};
use crate::workload::load;

/// Addresses of the left and of the right side.
const POOLS: [&str; 2] = ["10.1.0.0/16", "10.2.0.0/16"];

/// How Harpoon is configured.
#[derive(Clone, Debug, Default)]
pub struct HarpoonFitOptions {
    /// Length of an interval; `None`: chosen.
    pub interval: Option<Quantity<Duration>>,
    /// A silence this long ends a session; `None`: as published.
    pub session_gap: Option<Quantity<Duration>>,
    /// Addresses of the left side; `None`: 10.1.0.0/16.
    pub left_pool: Option<Block>,
    /// Addresses of the right side; `None`: 10.2.0.0/16.
    pub right_pool: Option<Block>,
    /// Write a file for each side.
    pub per_side: bool,
    /// Seed of what is drawn.
    pub seed: Option<u64>,
    /// The file to write, if any.
    pub target: Option<PathBuf>,
    /// Replace files that exist.
    pub replace: bool,
    /// How captures are read.
    pub capture: CaptureOptions,
}

/// What was fitted.
pub struct FittedHarpoon {
    /// The parameters.
    pub fit: HarpoonFit,
    /// The files written.
    pub files: Vec<PathBuf>,
}

/// Finds the parameters of Harpoon for what `input` holds (methods K.1).
///
/// # Errors
/// What is wrong with the input; too little to configure anything; a file that could not be written.
pub fn fit_harpoon(input: &Path, wanted: &HarpoonFitOptions, context: Context<'_>) -> Result<FittedHarpoon, Error> {
    let kind = super::kind::kind(input, &wanted.capture)?;
    let options = options(wanted)?;
    let pools = pools(wanted)?;
    let targets = targets(wanted);
    if let [one, _] = &targets[..]
        && wanted.target.as_deref().is_some_and(is_standard_output)
    {
        return Err(Error::usage(format_args!(
            "--per-side writes two files, such as {}, not one stream",
            one.display()
        ))
        .hint("name a file with -o"));
    }
    let paths = [input.to_owned()];
    for path in &targets {
        check_target(path, wanted.replace, &paths)?;
    }
    // Sessions are between hosts; which ones they were is not needed.
    let hosts = HostOptions { keep: Some(HostChoice::Number), ..HostOptions::default() };
    // Harpoon's own input is flow records of one direction, as a router exports them of what comes in; a capture of one direction
    // says the same.
    let reading = CaptureOptions { one_way: true, ..wanted.capture.clone() };
    let mut loaded = load::open(&paths, kind, &reading, &hosts, &std::env::temp_dir(), context)?;
    loaded.warn(context);
    let mut configurator = Configurator::new(options);
    for vector in &mut loaded.vectors {
        configurator.add(&vector?);
    }
    let length = Duration::from_nanos(loaded.facts.capture.duration_ns);
    let found = configurator
        .finish(length)
        .map_err(|reason| Error::new(format_args!("{}: {reason}", input.display())).hint(remedy(&reason, kind)))?;
    let name = (!wanted.capture.anonymize).then(|| input.display().to_string());
    let fit = HarpoonFit::new(name, &found, &options, |direction| direction.without_address(pools));
    for warning in &fit.warnings {
        context.warn(&Warning::FittedHarpoon(warning.clone()));
    }
    let plugins: Vec<Plugin> =
        found.directions.iter().flat_map(|direction| direction.plugins(pools, options.seed)).collect();
    for (path, plugins) in targets.iter().zip(parts(wanted, plugins)) {
        write_page(path, wanted.replace, context.stop(), |out| harpoon::write(&plugins, out))?;
    }
    Ok(FittedHarpoon { fit, files: targets })
}

fn options(wanted: &HarpoonFitOptions) -> Result<Options, Error> {
    let default = Options::default();
    for (option, value) in [("--interval", &wanted.interval), ("--session-gap", &wanted.session_gap)] {
        if let Some(value) = value.as_ref().filter(|value| value.value.as_nanos() < 1_000_000) {
            return Err(Error::usage(format_args!("{option} of {value} is too short (at least 1ms)")));
        }
    }
    Ok(Options {
        interval: wanted.interval.as_ref().map(|interval| interval.value),
        session_gap: wanted.session_gap.as_ref().map_or(default.session_gap, |gap| gap.value),
        seed: wanted.seed.unwrap_or(default.seed),
    })
}

fn pools(wanted: &HarpoonFitOptions) -> Result<[Block; 2], Error> {
    let [left, right] = POOLS.map(|pool| pool.parse().unwrap_or_else(|error| unreachable!("default: {error}")));
    let pools = [wanted.left_pool.unwrap_or(left), wanted.right_pool.unwrap_or(right)];
    for (option, pool) in ["--left-pool", "--right-pool"].into_iter().zip(pools) {
        if pool.host(0).is_none() {
            return Err(Error::usage(format_args!("{option} {pool}: no host has such an address"))
                .hint("addresses that end in 0 or 255 are left out, as Harpoon does"));
        }
    }
    Ok(pools)
}

fn remedy(reason: &Unconfigured, kind: Kind) -> &'static str {
    match (reason, kind) {
        (Unconfigured::NoHosts, Kind::Workload | Kind::Vectors(_)) => {
            "give the capture or the flow records it was made of, or make it with --hosts number"
        }
        (Unconfigured::NoHosts, _) => "give a capture, flow records or a workload made with --hosts number",
        (Unconfigured::NoFlows, _) => "flowloom describe says what is in it",
        (Unconfigured::NoGaps, _) => "give a longer input, or a longer --session-gap",
        (Unconfigured::Short { .. }, _) => "choose a shorter --interval",
        (Unconfigured::Many { .. }, _) => {
            "choose a longer --interval; flowloom describe says how long the connections are"
        }
        (Unconfigured::Endless { .. }, _) => "choose a longer --interval, or a shorter --session-gap",
    }
}

/// The files to write: one, or those of the left and of the right side.
fn targets(wanted: &HarpoonFitOptions) -> Vec<PathBuf> {
    match &wanted.target {
        None => Vec::new(),
        Some(output) if wanted.per_side => ["left", "right"].map(|side| beside(output, side)).into(),
        Some(output) => vec![output.clone()],
    }
}

/// What is in each of them.
fn parts(wanted: &HarpoonFitOptions, plugins: Vec<Plugin>) -> Vec<Vec<Plugin>> {
    if !wanted.per_side {
        return vec![plugins];
    }
    let of = |side: InitiatorSide| {
        // A client and its server are next to each other, on opposite sides.
        let here = plugins.chunks(2).flat_map(|pair| {
            let clients = pair.iter().find_map(|plugin| plugin.client_side);
            pair.iter().filter(move |plugin| (plugin.personality == Personality::Client) == (clients == Some(side)))
        });
        here.cloned().collect::<Vec<_>>()
    };
    vec![of(InitiatorSide::Left), of(InitiatorSide::Right)]
}

/// `campus.xml` as `campus-left.xml`.
fn beside(path: &Path, side: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().map_or_else(|| "xml".to_owned(), |ending| ending.to_string_lossy().into_owned());
    path.with_file_name(format!("{stem}-{side}.{ending}"))
}
