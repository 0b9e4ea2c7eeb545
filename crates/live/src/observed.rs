//! How far the host kept up with a run, and what the run was made of.

use std::collections::BTreeMap;
use std::process::ExitStatus;

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;

use crate::control::WorkerReport;
use crate::emulator::EmulatorReport;
use crate::host::limits::CpuTimes;
use crate::host::turns::Turns;
use crate::lateness::Lateness;
use crate::problem::{Problem, Warning};

/// How far the host kept up, and what the run was made of.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// What of the experiment the kernel decides by itself, in words.
    pub notes: Vec<String>,
    /// What makes the run slower or less true.
    pub warnings: Vec<Warning>,
    /// What went wrong.
    pub problems: Vec<Problem>,
    /// The kernel, and its settings that replays depend on.
    pub kernel: String,
    /// See [`Self::kernel`].
    pub settings: BTreeMap<String, String>,
    /// What carried packets.
    pub devices: String,
    /// Workers on each side.
    pub workers: u16,
    /// What packets take each way beside what their paths give them, as measured before the run, which is taken off their delays.
    pub bias: Duration,
    /// How the emulator came to run.
    pub turns: Turns,
    /// How late packets were handed on.
    pub releases: Lateness,
    /// How late SYNs were sent.
    pub starts: Lateness,
    /// How late data and closes were sent that waited for a time.
    pub waits: Lateness,
    /// Connections that should have started, and those whose SYN was sent.
    pub scheduled: u64,
    /// See [`Self::scheduled`].
    pub started: u64,
    /// Ends that the kernel gave up with an error.
    pub failed: u64,
    /// Packets that devices dropped, and datagrams that sockets of workers did, outside the model.
    pub device_drops: u64,
    /// Packets of nobody.
    pub strangers: u64,
    /// Connections that listeners could not take in.
    pub listen_drops: u64,
    /// Packets that crossed the emulator.
    pub packets: u64,
    /// CPU time of the emulator, of the workers' programs, and of the kernel for them.
    pub cpu: [Duration; 3],
    /// What the workers of each side did, left first.
    pub sides: [SideObserved; 2],
    /// CPU time of this process without the emulator's thread: what takes in records and writes them.
    pub recording_cpu: Duration,
    /// How long the run went on, without the time in which it was made ready.
    pub length: Duration,
    /// What the host's cores did meanwhile.
    pub usage: CpuTimes,
    /// Whether it ended before it was over: it was interrupted, its guest ended, or its emulator could not go on.
    pub cut_short: bool,
    /// How the guest ended that the run was there for.
    pub guest: Option<ExitStatus>,
}

/// What the workers of a side did.
#[derive(Clone, Debug, Default)]
pub struct SideObserved {
    /// How late data and closes were sent that waited for a time, and datagrams.
    pub waits: Lateness,
    /// CPU time of the workers' programs, and of the kernel for them.
    pub cpu: Duration,
    /// Datagrams that found no room in a socket of the side.
    pub datagram_drops: u64,
}

impl Observed {
    /// Takes in the reports of the emulator and of the workers, each with its side.
    pub(crate) fn take(&mut self, report: &EmulatorReport, workers: &[(LinkSide, WorkerReport)]) {
        self.turns = report.turns;
        self.releases = report.lateness.clone();
        let strangers: u64 = report.devices.iter().map(|device| device.strangers + device.malformed).sum();
        self.strangers = strangers + workers.iter().map(|(_, worker)| worker.strangers).sum::<u64>();
        self.device_drops += workers.iter().map(|(_, worker)| worker.datagram_drops).sum::<u64>();
        self.packets = report.devices.iter().map(|device| device.read_packets).sum();
        let sum = |of: fn(&WorkerReport) -> u64| workers.iter().map(|(_, worker)| of(worker)).sum();
        self.cpu = [
            report.cpu,
            Duration::from_nanos(sum(|worker| worker.cpu_nanos[0])),
            Duration::from_nanos(sum(|worker| worker.cpu_nanos[1])),
        ];
        for (side, worker) in workers {
            self.starts.merge(&Lateness::from(&worker.starts));
            let side = &mut self.sides[*side as usize];
            side.waits.merge(&Lateness::from(&worker.waits));
            side.cpu += Duration::from_nanos(worker.cpu_nanos.iter().sum());
            side.datagram_drops += worker.datagram_drops;
        }
        self.sides.iter().for_each(|side| self.waits.merge(&side.waits));
    }
}
