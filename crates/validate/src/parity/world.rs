//! One run of a cell, in either world, by the program itself.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use flowloom_store::run_folder::RunFolder;
use serde_json::Value;

use super::Problem;
use super::cells::{ACCESS, Cell, VECTORS_FILE};
use super::measure::{Measured, measure};

/// The places in which a cell can be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// The cell runs in the simulator.
    Simulator,
    /// Through the kernel's TCP, over TUN devices where the host has them.
    Kernel,
    /// Through the kernel's TCP, over pairs of virtual Ethernet devices: shows what is of a device and not of TCP.
    KernelOverVeth,
}

/// A run and what it says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The quantities that were measured.
    pub measured: Measured,
    /// Whether it can be believed: `VALID`, `DEGRADED` or `INVALID`.
    pub verdict: String,
    /// The gates that it did not pass, with what was found.
    pub reservations: Vec<String>,
    /// Whether one of those gates is about the host's having been late.
    pub was_late: bool,
    /// The day of the run: `2026-11-24`.
    pub date: String,
    /// The release of the kernel of a live run.
    pub kernel: String,
    /// Of a live run: what carried the packets.
    pub devices: String,
    /// Of a live run: by how much 99 % of the packets were late at most, in microseconds.
    pub late_p99_us: u64,
}

/// Gates that a busy host misses.
const LATENESS: [&str; 6] = [
    "packets handed on in time",
    "connections started in time",
    "waits kept",
    "starts achieved",
    "no drop outside the model",
    "listeners kept up",
];

/// Runs `cell` under `seed` with the program `flowloom`, in `folder`, which holds the experiment file and the run
/// afterwards. Without packets the peak of the flight is not known.
///
/// # Errors
/// The program cannot be run or fails, or what it left cannot be read.
pub fn run(
    flowloom: &Path,
    cell: &Cell,
    seed: u64,
    world: World,
    folder: &Path,
    with_packets: bool,
) -> Result<Run, Problem> {
    fs::create_dir_all(folder).map_err(Problem::new)?;
    let experiment = folder.join("cell.toml");
    let devices = if world == World::KernelOverVeth { "\n[live]\ndevices = \"packet-sockets\"\n" } else { "" };
    fs::write(&experiment, cell.experiment(seed) + devices).map_err(Problem::new)?;
    if let Some(vectors) = &cell.vectors {
        fs::write(folder.join(VECTORS_FILE), vectors).map_err(Problem::new)?;
    }
    let output = folder.join("run");
    let mut command = Command::new(flowloom);
    command.arg("run").arg(&experiment).arg("-o").arg(&output).args(["--force", "--json", "--quiet"]);
    if world != World::Simulator {
        command.args(["--on", "live"]);
    }
    if cell.captures && with_packets {
        command.arg(format!("--pcap={ACCESS}"));
    }
    let said = command.stdin(Stdio::null()).output().map_err(Problem::new)?;
    // 3: it ran, and cannot be believed.
    if !matches!(said.status.code(), Some(0 | 3)) {
        let words = String::from_utf8_lossy(&said.stderr);
        return Err(Problem::new(format_args!("{}: {}: {}", cell.name, said.status, words.trim())));
    }
    let run = RunFolder::open(&output).map_err(Problem::new)?;
    if !run.complete() {
        return Err(Problem::new(format_args!("{}: the run was interrupted", cell.name)));
    }
    let measured = measure(cell, &output)?;
    let date = run.host().get("date").and_then(Value::as_str).and_then(|date| date.get(..10)).unwrap_or_default();
    Ok(Run { date: date.to_owned(), ..described(measured, run.run()) })
}

/// `measured` with what `run.json` says of the run.
fn described(measured: Measured, run: &serde_json::Map<String, Value>) -> Run {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
    let gates = run.get("summary").and_then(|summary| summary.get("gates")).and_then(Value::as_array);
    let missed: Vec<(String, String)> = gates
        .into_iter()
        .flatten()
        .filter(|gate| text(gate.get("verdict")) != "VALID")
        .map(|gate| (text(gate.get("name")), text(gate.get("found"))))
        .collect();
    let live = run.get("live");
    let late = live.and_then(|live| live.get("releases")).and_then(|late| late.get("p99")).and_then(Value::as_u64);
    Run {
        measured,
        verdict: text(run.get("verdict").and_then(|verdict| verdict.pointer("/accounted/word"))),
        was_late: missed.iter().any(|(name, _)| LATENESS.contains(&name.as_str())),
        reservations: missed.into_iter().map(|(name, found)| format!("{name}: {found}")).collect(),
        date: String::new(),
        kernel: text(live.and_then(|live| live.get("kernel"))),
        devices: text(live.and_then(|live| live.get("devices"))),
        late_p99_us: late.unwrap_or(0) / 1000,
    }
}

/// The program that the variable `FLOWLOOM` names, else the one beside the program that is running.
///
/// # Errors
/// It is not there.
pub fn program() -> Result<PathBuf, Problem> {
    if let Some(path) = std::env::var_os("FLOWLOOM") {
        return Ok(path.into());
    }
    let own = std::env::current_exe().map_err(Problem::new)?;
    let path = own.with_file_name("flowloom");
    if path.exists() {
        return Ok(path);
    }
    Err(Problem::new(format_args!("{} is not there: cargo build --release -p flowloom-cli", path.display())))
}
