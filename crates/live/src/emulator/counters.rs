//! What the emulator's thread did, so that every packet is accounted for.

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;
use flowloom_sim::emulation::Emulated;

use crate::host::turns::Turns;
use crate::lateness::Lateness;

/// What the emulator came to.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct EmulatorReport {
    /// What links and paths did.
    pub network: Emulated,
    /// Of the device of each side, left first.
    pub devices: [DeviceCounts; 2],
    /// How late packets were handed on: when they were written, less when they were due.
    pub lateness: Lateness,
    /// How often it went around.
    pub wakes: u64,
    /// Times that going around took longer than a tick.
    pub overruns: u64,
    /// How its thread came to run.
    pub turns: Turns,
    /// CPU time of its thread.
    pub cpu: Duration,
    /// Buffers of packets that it needed, which is about the most packets that were on their way at once.
    pub buffers: u64,
    /// Why it ended before it was told to: a device is gone. All else is as of then.
    pub failed: Option<String>,
}

/// What went through the device of a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct DeviceCounts {
    /// Packets that the side sent.
    pub read_packets: u64,
    /// Their bytes.
    pub read_bytes: u64,
    /// Of them, packets that belong to no connection and to no guest, and those that are not IP: dropped.
    pub strangers: u64,
    /// Of them, packets whose lengths cannot be: dropped.
    pub malformed: u64,
    /// Packets that were handed to the side.
    pub written_packets: u64,
    /// Their bytes.
    pub written_bytes: u64,
    /// Packets for the side that its device did not take until the end.
    pub unwritten: u64,
    /// Times that its device was full, so that packets waited for it longer than they were due.
    pub full: u64,
}

impl EmulatorReport {
    /// Packets of which it is not known what became of them: zero, or this is a defect.
    pub fn unaccounted(&self) -> u64 {
        let side = |from: LinkSide| {
            let (here, there) = (&self.devices[from as usize], &self.devices[from.other() as usize]);
            let direction = &self.network.directions[from as usize];
            let taken = here.strangers + here.malformed + direction.sent;
            let handed_on = there.written_packets + there.unwritten;
            here.read_packets.abs_diff(taken) + direction.delivered.abs_diff(handed_on)
        };
        side(LinkSide::Left) + side(LinkSide::Right)
    }
}
