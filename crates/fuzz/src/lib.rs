//! What every reader of foreign bytes promises whatever the bytes: it does not panic, does not run away, and counts no more
//! than it read.
//!
//! A [`Target`] is one such reader: a function that hands it bytes and checks the promises, and valid inputs to begin
//! with. Three users share them, so that no promise is written twice: the fuzz targets in `fuzz/` (libFuzzer, a nightly
//! compiler), the smoke test of this crate (seeded mutations for a bounded number or time, any compiler), and
//! `examples/seeds.rs`, which writes the seeds to files for the former.

#![forbid(unsafe_code)]

use std::panic;
use std::sync::Once;

mod capture;
mod flows;
mod forms;
mod links;
mod monitor;
mod mutate;
mod seeds;
mod stored;
mod tables;
mod text;
mod view;
mod wire;

pub use capture::extract;
pub use mutate::Mutator;
pub use seeds::captures::valid as valid_captures;

/// A reader of foreign bytes.
pub struct Target {
    /// Its name, also of the fuzz target and its corpus.
    pub name: &'static str,
    /// Reads the bytes and panics if a promise is broken.
    pub entry: fn(&[u8]),
    /// Inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Where more inputs are in the folder of shared data, and what an input has before the file.
    pub shared: Option<(&'static str, &'static [u8])>,
    /// How many mutations the smoke test tries if it is given no time: fewer where one takes longer.
    pub smoke: u64,
}

/// Every reader.
pub const TARGETS: &[Target] = &[
    Target { name: "wire", entry: wire::packets, seeds: seeds::packets::all, shared: None, smoke: 100_000 },
    Target {
        name: "capture",
        entry: capture::stored,
        seeds: seeds::captures::plain,
        shared: Some(("pcap", &[1])),
        smoke: 40_000,
    },
    Target {
        name: "compression",
        entry: capture::stored,
        seeds: seeds::captures::compressed,
        shared: None,
        smoke: 4_000,
    },
    Target { name: "extraction", entry: capture::flipped, seeds: seeds::captures::flips, shared: None, smoke: 4_000 },
    Target {
        name: "flows",
        entry: flows::messages,
        seeds: seeds::flows::messages,
        shared: Some(("flows/netflow", &[])),
        smoke: 20_000,
    },
    Target { name: "tmix", entry: forms::tmix, seeds: seeds::forms::tmix, shared: Some(("tmix", &[])), smoke: 40_000 },
    Target {
        name: "zeek-tsv",
        entry: forms::zeek,
        seeds: seeds::forms::zeek_tsv,
        shared: Some(("flows/zeek", &[])),
        smoke: 20_000,
    },
    Target { name: "zeek-json", entry: forms::zeek, seeds: seeds::forms::zeek_json, shared: None, smoke: 20_000 },
    Target { name: "csv", entry: forms::csv, seeds: seeds::forms::csv, shared: None, smoke: 20_000 },
    Target {
        name: "json-lines",
        entry: forms::json_lines,
        seeds: seeds::forms::json_lines,
        shared: None,
        smoke: 20_000,
    },
    Target { name: "results", entry: links::results, seeds: seeds::texts::results, shared: None, smoke: 20_000 },
    Target { name: "rates", entry: links::rates, seeds: seeds::texts::rates, shared: None, smoke: 20_000 },
    Target { name: "mahimahi", entry: links::mahimahi, seeds: seeds::texts::traces, shared: None, smoke: 20_000 },
    Target {
        name: "harpoon",
        entry: tables::harpoon,
        seeds: seeds::texts::harpoon,
        shared: Some(("harpoon", &[])),
        smoke: 20_000,
    },
    Target {
        name: "histogram",
        entry: tables::histogram,
        seeds: seeds::texts::histograms,
        shared: Some(("ns2-http-cdf", &[])),
        smoke: 20_000,
    },
    Target { name: "lengths", entry: tables::lengths, seeds: seeds::texts::lengths, shared: None, smoke: 20_000 },
    Target {
        name: "swing",
        entry: tables::swing_model,
        seeds: seeds::stored::swing_models,
        shared: None,
        smoke: 10_000,
    },
    Target { name: "workload", entry: stored::workload, seeds: seeds::stored::workloads, shared: None, smoke: 4_000 },
    Target {
        name: "run-folder",
        entry: stored::run_folder,
        seeds: seeds::stored::run_folders,
        shared: None,
        smoke: 2_000,
    },
    Target {
        name: "experiment",
        entry: text::experiment,
        seeds: seeds::texts::experiments,
        shared: None,
        smoke: 10_000,
    },
    Target { name: "rules", entry: text::rules, seeds: seeds::texts::rules, shared: None, smoke: 20_000 },
    Target {
        name: "specification",
        entry: text::specification,
        seeds: seeds::texts::specifications,
        shared: Some(("vcsim", &[])),
        smoke: 20_000,
    },
    Target {
        name: "script",
        entry: text::script,
        seeds: seeds::texts::scripts,
        shared: Some(("netspec", &[])),
        smoke: 20_000,
    },
    Target {
        name: "script-toml",
        entry: text::script_toml,
        seeds: seeds::texts::toml_scripts,
        shared: None,
        smoke: 10_000,
    },
    Target { name: "snmp", entry: monitor::answer, seeds: seeds::monitor::answers, shared: None, smoke: 40_000 },
    Target {
        name: "registry",
        entry: monitor::registry,
        seeds: seeds::monitor::registries,
        shared: None,
        smoke: 10_000,
    },
    Target { name: "kept", entry: monitor::kept, seeds: seeds::monitor::kept, shared: None, smoke: 10_000 },
    Target { name: "journal", entry: monitor::journal, seeds: seeds::monitor::journals, shared: None, smoke: 20_000 },
    Target { name: "running", entry: monitor::running, seeds: seeds::monitor::running, shared: None, smoke: 20_000 },
    Target { name: "question", entry: view::question, seeds: seeds::view::questions, shared: None, smoke: 40_000 },
    Target { name: "prefix", entry: text::prefix, seeds: seeds::texts::prefixes, shared: None, smoke: 20_000 },
    Target { name: "key", entry: stored::key, seeds: seeds::texts::keys, shared: None, smoke: 4_000 },
];

/// Hands `data` to the target called `name`, for libFuzzer.
///
/// Its hook ends the program at every panic, also at those of the Parquet crate that the reader of tables catches. So
/// it is taken away; what no reader catches still ends the program.
///
/// # Panics
/// If the target breaks a promise, or there is none of that name.
pub fn run(name: &str, data: &[u8]) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| drop(panic::take_hook()));
    let target =
        TARGETS.iter().find(|target| target.name == name).unwrap_or_else(|| panic!("no target is called {name}"));
    (target.entry)(data);
}
