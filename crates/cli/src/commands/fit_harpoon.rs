//! `flowloom fit --model harpoon`: the parameters of Harpoon for what an input holds (methods K.1), as its own XML.

use std::path::{Path, PathBuf};

use flowloom_core::model::generate::InitiatorSide;
use flowloom_core::model::generate::harpoon::configure::{Configurator, Options, Unconfigured};
use flowloom_core::model::generate::harpoon::{Block, Personality, Plugin};
use flowloom_core::time::Duration;
use flowloom_report::fit::harpoon::HarpoonFit;
use flowloom_store::harpoon;
use serde_json::json;

use crate::args::{self, HostChoice};
use crate::failure::{Exit, Failure};
use crate::input::Kind;
use crate::load;
use crate::output::Manner;
use crate::results::write_page;

/// Addresses of the left and of the right side.
const POOLS: [&str; 2] = ["10.1.0.0/16", "10.2.0.0/16"];

/// Runs the command.
pub fn run(args: &args::Fit, kind: Kind, manner: Manner) -> Result<Exit, Failure> {
    let options = options(args)?;
    let pools = pools(&args.harpoon)?;
    let paths = [args.input.clone()];
    // Sessions are between hosts; which ones they were is not needed.
    let hosts = args::Hosts { hosts: Some(HostChoice::Number), ..args::Hosts::default() };
    let mut loaded = load::open(&paths, kind, &args.capture, &hosts, &std::env::temp_dir(), manner)?;
    loaded.warn(manner);
    let mut configurator = Configurator::new(options);
    for vector in &mut loaded.vectors {
        configurator.add(&vector?);
    }
    let length = Duration::from_nanos(loaded.facts.capture.duration_ns);
    let found = configurator.finish(length).map_err(|reason| {
        Failure::new(format_args!("{}: {reason}", args.input.display())).hint(remedy(&reason, kind))
    })?;
    let name = (!args.capture.anonymize).then(|| args.input.display().to_string());
    let fit = HarpoonFit::new(name, &found, &options, |direction| direction.without_address(pools));
    for warning in &fit.warnings {
        manner.warn(warning, "docs/reference/models.md, section harpoon, says what the parameters are made of");
    }
    let plugins: Vec<Plugin> =
        found.directions.iter().flat_map(|direction| direction.plugins(pools, options.seed)).collect();
    let files = files(args, &plugins);
    for (path, plugins) in &files {
        write_page(path, |out| harpoon::write(plugins, out))?;
    }
    let mut object = json!(fit);
    object["outputs"] = json!(files.iter().map(|(path, _)| path.display().to_string()).collect::<Vec<_>>());
    let text = || {
        let written = files.iter().map(|(path, _)| format!("\nconfiguration {}", path.display()));
        let written: String = written.collect();
        fit.text() + &written + if written.is_empty() { "" } else { "\n" }
    };
    manner.answer(|| object, text)?;
    Ok(Exit::Done)
}

fn options(args: &args::Fit) -> Result<Options, Failure> {
    let default = Options::default();
    for (option, value) in [("--interval", &args.harpoon.interval), ("--session-gap", &args.session_gap)] {
        if let Some(value) = value.as_ref().filter(|value| value.value.as_nanos() < 1_000_000) {
            return Err(Failure::usage(format_args!("{option} of {value} is too short (at least 1ms)")));
        }
    }
    Ok(Options {
        interval: args.harpoon.interval.as_ref().map(|interval| interval.value),
        session_gap: args.session_gap.as_ref().map_or(default.session_gap, |gap| gap.value),
        seed: args.harpoon.seed.unwrap_or(default.seed),
    })
}

fn pools(args: &args::HarpoonFit) -> Result<[Block; 2], Failure> {
    let [left, right] = POOLS.map(|pool| pool.parse().unwrap_or_else(|error| unreachable!("default: {error}")));
    let pools = [args.left_pool.unwrap_or(left), args.right_pool.unwrap_or(right)];
    for (option, pool) in ["--left-pool", "--right-pool"].into_iter().zip(pools) {
        if pool.host(0).is_none() {
            return Err(Failure::usage(format_args!("{option} {pool}: no host has such an address"))
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

/// The files to write, with what is in each.
fn files(args: &args::Fit, plugins: &[Plugin]) -> Vec<(PathBuf, Vec<Plugin>)> {
    let Some(output) = &args.output else { return Vec::new() };
    if !args.harpoon.per_side {
        return vec![(output.clone(), plugins.to_vec())];
    }
    let of = |side: InitiatorSide| {
        // A client and its server are next to each other, on opposite sides.
        let here = plugins.chunks(2).flat_map(|pair| {
            let clients = pair.iter().find_map(|plugin| plugin.client_side);
            pair.iter().filter(move |plugin| (plugin.personality == Personality::Client) == (clients == Some(side)))
        });
        here.cloned().collect::<Vec<_>>()
    };
    let [left, right] = ["left", "right"].map(|side| beside(output, side));
    [(left, of(InitiatorSide::Left)), (right, of(InitiatorSide::Right))].into_iter().collect()
}

/// `campus.xml` as `campus-left.xml`.
fn beside(path: &Path, side: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let ending = path.extension().map_or_else(|| "xml".to_owned(), |ending| ending.to_string_lossy().into_owned());
    path.with_file_name(format!("{stem}-{side}.{ending}"))
}
