//! A live run's options, and what its report says of the host.

use std::num::NonZeroU16;
use std::path::Path;

use flowloom_core::tcp;
use flowloom_core::time::Duration;
use flowloom_live::addresses::{self, Addressing};
use flowloom_live::guests::Guest;
use flowloom_live::host::limits::{self, Limits};
use flowloom_live::host::testbed::Kind;
use flowloom_live::lateness::LatenessSummary;
use flowloom_live::plan::{Need, TooMuch};
use flowloom_live::{LiveError, Observed, Options, Program};
use flowloom_report::facts::{Late, LiveFacts, TraceCutFacts};
use flowloom_report::words::thousands;
use flowloom_sim::{Config, RunError};
use flowloom_store::run_folder::{LateWhat, LatenessRow};
use flowloom_store::workload::WorkloadError;

use crate::error::Error;
use crate::experiment::{Devices, Live, MOST_HOSTS, MOST_WORKERS};
use crate::run::recording::Unrecorded;

// What an experiment may ask for is what there are addresses for.
const _: () = assert!(MOST_HOSTS == addresses::MOST_HOSTS && MOST_WORKERS == limits::MOST_WORKERS);

/// As the driver takes them, for connections that need so much. `program` answers to the hidden commands `live-worker` and
/// `live-guest`: the `flowloom` command, or one like it.
pub fn options(live: &Live, need: &Need, program: &Path, guests: Vec<Guest>) -> Result<Options, Error> {
    let hidden = |command: &str| Program { path: program.to_owned(), arguments: vec![command.into()] };
    let addressing = Addressing::over(live.hosts.unwrap_or(0));
    let workers =
        need.workers(&Limits::of_this_host(), addressing, live.workers.map(NonZeroU16::get)).map_err(|error| {
            let hint = match error {
                TooMuch::Packets { .. } => "send less, or simulate it (--on sim)",
                _ => "replay a shorter part (--duration), or raise the limit (ulimit -Hn); `flowloom doctor` says what fits",
            };
            Error::new(error).hint(hint)
        })?;
    Ok(Options {
        program: hidden("live-worker"),
        devices: match live.devices {
            Devices::Auto => Kind::Auto,
            Devices::Tun => Kind::Tun,
            Devices::PacketSockets => Kind::PacketSocket,
        },
        tick: live.tick.value,
        workers,
        addressing,
        guests: (hidden("live-guest"), guests),
    })
}

/// How late things were, as results say it.
pub fn late(lateness: &LatenessSummary) -> Late {
    let LatenessSummary { count: n, p50, p90, p99, p999, max } = *lateness;
    let [p50, p90, p99, p999, max] = [p50, p90, p99, p999, max].map(Duration::as_nanos);
    Late { n, p50, p90, p99, p999, max }
}

/// Of what was observed, what run.json says.
pub fn facts(observed: &Observed, options: &Options) -> LiveFacts {
    let [emulator, program, kernel] = observed.cpu.map(Duration::as_nanos);
    LiveFacts {
        kernel: observed.kernel.clone(),
        devices: observed.devices.to_owned(),
        workers: observed.workers,
        hosts: options.addressing.count(),
        tick_ns: options.tick.as_nanos(),
        bias_ns: observed.bias.as_nanos(),
        turns: observed.turns.to_string(),
        releases: late(&observed.releases.summary()),
        starts: late(&observed.starts.summary()),
        waits: late(&observed.waits.summary()),
        scheduled_connections: observed.scheduled,
        started_connections: observed.started,
        device_dropped_packets: observed.device_drops,
        stranger_packets: observed.strangers,
        listen_dropped_connections: observed.listen_drops,
        failed_connections: observed.failed,
        busy_share: observed.usage.busy(),
        steal_share: observed.usage.steal(),
        emulator_cpu_ns: emulator,
        worker_cpu_ns: [program, kernel],
        packets: observed.packets,
        settings: observed.settings.clone(),
        notes: observed.notes.clone(),
        problems: observed.problems.iter().map(ToString::to_string).collect(),
    }
}

/// How connections open that were open before their workload was cut out of a longer one, if there are any.
pub fn handshakes_anew(cut: TraceCutFacts) -> Option<String> {
    let connections = thousands(cut.opened_before);
    (cut.opened_before > 0).then(|| {
        format!("{connections} connections that began before the run open with a handshake on the link: a kernel has no data without one")
    })
}

/// What vectors say of the TCP of their ends and a kernel decides by itself, in words.
pub fn not_replayed(config: &Config) -> impl Iterator<Item = String> {
    let any = |allows: fn(&tcp::Config) -> bool| config.classes.iter().any(|class| allows(&class.tcp));
    [
        (
            config.replay.first_flight && any(|tcp| tcp.own_initial_windows),
            "workload.replay.first-flight = true is not the kernel's to choose: all connections begin with the window of [tcp]",
        ),
        (
            config.replay.rate,
            "workload.replay.rate = true is near: the kernel paces what is sent for the first time, in pieces of two segments at least, and \
             begins after ten segments",
        ),
        (
            config.replay.acks && any(|tcp| tcp.own_acks),
            "workload.replay.acks = true is not the kernel's to choose: it decides by itself when to acknowledge",
        ),
        (
            config.replay.syn,
            "workload.replay.syn = true in part: the kernel's timers send SYNs again, and refused ones are lost",
        ),
        (
            config.replay.reads,
            "workload.replay.reads = true is near: where a program does not read, the window closes when the kernel's buffer is full",
        ),
    ]
    .into_iter()
    .filter(|(is_so, _)| *is_so)
    .map(|(_, words)| words.to_owned())
}

/// The rows of `lateness.parquet`.
pub fn lateness(observed: &Observed) -> impl Iterator<Item = LatenessRow> {
    let all = [
        (LateWhat::Release, &observed.releases),
        (LateWhat::Start, &observed.starts),
        (LateWhat::Wait, &observed.waits),
    ];
    all.into_iter().flat_map(|(what, late)| late.counts().map(move |(late, count)| LatenessRow { what, late, count }))
}

/// Why there was no live run, for the user.
pub fn error(error: LiveError<WorkloadError, Unrecorded>) -> Error {
    match error {
        LiveError::Run(error) => stopped(error),
        LiveError::Unsupported(error) => Error::usage(error),
        error @ LiveError::Testbed(_) => Error::new(error).hint("`flowloom doctor` says what live runs need here"),
        error => Error::new(error),
    }
}

/// Why a run stopped.
fn stopped(error: RunError<WorkloadError, Unrecorded>) -> Error {
    match error {
        RunError::Workload(error) => Error::new(error),
        RunError::Recorder(Unrecorded(failure)) => failure,
        RunError::Config(error) => Error::usage(error),
        other => Error::new(other),
    }
}
