//! What an agent says of its host.

use std::ffi::OsStr;

use nix::sys::sysinfo::sysinfo;
use nix::sys::utsname::{UtsName, uname};

use crate::clock::Clock;
use crate::rpc::Host;

pub(super) fn host(clock: &dyn Clock) -> Host {
    let names = uname().ok();
    let text = |of: fn(&UtsName) -> &OsStr| {
        names.as_ref().map_or_else(String::new, |names| of(names).to_string_lossy().into_owned())
    };
    Host {
        name: text(UtsName::nodename),
        kernel: text(UtsName::release),
        machine: text(UtsName::machine),
        processors: std::thread::available_parallelism().map_or(0, |processors| processors.get() as u32),
        memory_bytes: sysinfo().map_or(0, |memory| memory.ram_total()),
        uptime_ns: clock.monotonic_ns().max(0).unsigned_abs(),
    }
}
