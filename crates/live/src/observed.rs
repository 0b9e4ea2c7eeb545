//! How far the host kept up with a run, and what the run was made of.

use std::collections::BTreeMap;
use std::process::ExitStatus;

use flowloom_core::time::Duration;

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
    /// What the host's cores did meanwhile.
    pub usage: CpuTimes,
    /// Whether it ended before it was over: it was interrupted, its guest ended, or its emulator could not go on.
    pub cut_short: bool,
    /// How the guest ended that the run was there for.
    pub guest: Option<ExitStatus>,
}

impl Observed {
    /// Takes in the reports of the emulator and of the workers.
    pub(crate) fn take(&mut self, report: &EmulatorReport, workers: &[WorkerReport]) {
        self.turns = report.turns;
        self.releases = report.lateness.clone();
        let strangers: u64 = report.devices.iter().map(|device| device.strangers + device.malformed).sum();
        self.strangers = strangers + workers.iter().map(|worker| worker.strangers).sum::<u64>();
        self.device_drops += workers.iter().map(|worker| worker.datagram_drops).sum::<u64>();
        self.packets = report.devices.iter().map(|device| device.read_packets).sum();
        let sum = |of: fn(&WorkerReport) -> u64| workers.iter().map(of).sum();
        self.cpu = [
            report.cpu,
            Duration::from_nanos(sum(|worker| worker.cpu_nanos[0])),
            Duration::from_nanos(sum(|worker| worker.cpu_nanos[1])),
        ];
        for worker in workers {
            self.starts.merge(&Lateness::from(&worker.starts));
            self.waits.merge(&Lateness::from(&worker.waits));
        }
    }
}
