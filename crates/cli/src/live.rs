//! A live run's options, and what its report says of the host.

use std::num::NonZeroU16;

use flowloom_core::time::Duration;
use flowloom_live::host::limits::Limits;
use flowloom_live::host::testbed::Kind;
use flowloom_live::plan::Need;
use flowloom_live::{LiveError, Observed, Options, Program};
use flowloom_report::facts::{Late, LiveFacts};
use flowloom_store::run_folder::{LateWhat, LatenessRow};
use flowloom_store::workload::WorkloadError;
use serde::{Deserialize, Serialize};

use crate::experiment::Quantity;
use crate::failure::Failure;
use crate::recording::Unrecorded;

/// `[live]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Live {
    /// What carries packets between kernels and the emulator.
    pub devices: Devices,
    /// The emulator looks at its devices so often.
    pub tick: Quantity<Duration>,
    /// Worker processes on each side; without it as many as descriptors need.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workers: Option<NonZeroU16>,
}

/// `live.devices`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Devices {
    /// TUN devices where they are to be had, else packet sockets.
    #[default]
    Auto,
    /// TUN devices.
    Tun,
    /// Packet sockets.
    PacketSockets,
}

impl Default for Live {
    fn default() -> Live {
        Live { devices: Devices::Auto, tick: Quantity::of("100us"), workers: None }
    }
}

/// Shortest and longest tick.
const TICKS: [Duration; 2] = [Duration::from_micros(10), Duration::from_millis(10)];

impl Live {
    /// Whether nothing was said.
    pub fn is_default(&self) -> bool {
        *self == Live::default()
    }

    /// Whether it can be.
    pub fn check(&self) -> Result<(), String> {
        if (TICKS[0]..=TICKS[1]).contains(&self.tick.value) {
            return Ok(());
        }
        Err(format!("live.tick of {} must be between {} and {}", self.tick, TICKS[0], TICKS[1]))
    }

    /// As the driver takes them, for connections that need so much.
    pub fn options(&self, need: &Need) -> Result<Options, Failure> {
        let workers = need.workers(&Limits::of_this_host(), self.workers.map(NonZeroU16::get)).map_err(|error| {
            Failure::new(error).hint(
                "replay a shorter part (--duration), or raise the limit (ulimit -Hn); `flowloom doctor` says what fits",
            )
        })?;
        let program = std::env::current_exe()
            .map_err(|error| Failure::new(format_args!("this program cannot be found again: {error}")))?;
        Ok(Options {
            program: Program { path: program, arguments: vec!["live-worker".into()] },
            devices: match self.devices {
                Devices::Auto => Kind::Auto,
                Devices::Tun => Kind::Tun,
                Devices::PacketSockets => Kind::PacketSocket,
            },
            tick: self.tick.value,
            workers,
        })
    }
}

/// Of what was observed, what run.json says.
pub fn facts(observed: &Observed, options: &Options) -> LiveFacts {
    let late = |lateness: &flowloom_live::lateness::Lateness| {
        let at = |quantile| lateness.quantile(quantile).as_nanos();
        Late {
            n: lateness.count(),
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p999: at(0.999),
            max: lateness.max().as_nanos(),
        }
    };
    let [emulator, program, kernel] = observed.cpu.map(Duration::as_nanos);
    LiveFacts {
        kernel: observed.kernel.clone(),
        devices: observed.devices.to_owned(),
        workers: observed.workers,
        tick_ns: options.tick.as_nanos(),
        bias_ns: observed.bias.as_nanos(),
        releases: late(&observed.releases),
        starts: late(&observed.starts),
        waits: late(&observed.waits),
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
        problems: observed.problems.clone(),
    }
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
pub fn failure(error: LiveError<WorkloadError, Unrecorded>) -> Failure {
    match error {
        LiveError::Run(error) => crate::commands::run::stopped(error),
        LiveError::Unsupported(error) => Failure::usage(error),
        LiveError::Datagrams => Failure::usage(error).hint("leave them out, or run with --on sim"),
        error @ LiveError::Testbed(_) => Failure::new(error).hint("`flowloom doctor` says what live runs need here"),
        error => Failure::new(error),
    }
}
