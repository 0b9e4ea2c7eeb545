//! What an agent says of its host.

use rustix::system::{sysinfo, uname};

use crate::clock::Clock;
use crate::rpc::Host;

pub(super) fn host(clock: &dyn Clock) -> Host {
    let uname = uname();
    let memory = sysinfo();
    Host {
        name: uname.nodename().to_string_lossy().into_owned(),
        kernel: uname.release().to_string_lossy().into_owned(),
        machine: uname.machine().to_string_lossy().into_owned(),
        processors: std::thread::available_parallelism().map_or(0, |processors| processors.get() as u32),
        memory_bytes: (memory.totalram as u64).saturating_mul(u64::from(memory.mem_unit)),
        uptime_ns: clock.monotonic_ns().max(0).unsigned_abs(),
    }
}
