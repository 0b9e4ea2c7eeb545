//! `[live]`: how an experiment is run with the kernel's TCP.

use std::num::NonZeroU16;

use flowloom_core::time::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flowloom_core::keys::{KeyError, Quantity};

/// `[live]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Live {
    /// Devices between the kernels and the emulator; default: auto.
    pub devices: Devices,
    /// Interval at which the emulator polls its devices, 10us to 10ms; default: 100us.
    #[schemars(extend("least" = "10us", "most" = "10ms"))]
    pub tick: Quantity<Duration>,
    /// Worker processes on each side; default: as many as file descriptors need.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub workers: Option<NonZeroU16>,
    /// Hosts on each side that ends of connections are spread over; default: one host with many addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 64))]
    pub hosts: Option<u8>,
}

/// `live.devices`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
        Live { devices: Devices::Auto, tick: Quantity::of("100us"), workers: None, hosts: None }
    }
}

/// Workers on each side, at most: each listens on a port below those of initiators.
pub const MOST_WORKERS: u16 = 100;
/// Hosts on each side, at most: each has a block of addresses of its own.
pub const MOST_HOSTS: u8 = 64;
/// Shortest and longest tick.
const TICKS: [Duration; 2] = [Duration::from_micros(10), Duration::from_millis(10)];

impl Live {
    /// Whether nothing was said.
    pub fn is_default(&self) -> bool {
        *self == Live::default()
    }

    /// What no type can refuse.
    pub fn problems(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        if let Some(workers) = self.workers.filter(|workers| workers.get() > MOST_WORKERS) {
            let problem = format_args!("of {workers} are too many (at most {MOST_WORKERS} on each side)");
            found.push(KeyError::new("live.workers", problem));
        }
        if let Some(hosts) = self.hosts.filter(|hosts| !(1..=MOST_HOSTS).contains(hosts)) {
            let problem = format_args!(
                "of {hosts} must be between 1 and {MOST_HOSTS} (on each side; without the key connections share one stack a side)"
            );
            found.push(KeyError::new("live.hosts", problem));
        }
        if !(TICKS[0]..=TICKS[1]).contains(&self.tick.value) {
            let problem = format_args!("of {} must be between {} and {}", self.tick, TICKS[0], TICKS[1]);
            found.push(KeyError::new("live.tick", problem));
        }
        found
    }
}
