//! What a configuration of Harpoon says: clients and servers, each a plugin with its lists and addresses.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pool::Block;
use crate::generate::ends::InitiatorSide;

/// The traffic of a plugin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    /// Files over TCP.
    #[default]
    Tcp,
    /// Files as datagrams at a constant rate.
    UdpConstant,
    /// Datagrams that are answered, at a fixed period.
    UdpPeriodic,
    /// Datagrams that are answered, at exponential gaps.
    UdpExponential,
}

impl Traffic {
    /// Each with the library that makes it, without its ending.
    const OBJECTS: [(Traffic, &'static str); 4] = [
        (Traffic::Tcp, "tcp_plugin"),
        (Traffic::UdpConstant, "udpcbr_plugin"),
        (Traffic::UdpPeriodic, "udpperiodic_plugin"),
        (Traffic::UdpExponential, "udpexpo_plugin"),
    ];

    /// That of the library `object`, whatever its folder and its ending (`.so`, `.dylib`, `.@SHLIB_EXT@`).
    pub fn of_object(object: &str) -> Option<Traffic> {
        let name = object.rsplit('/').next()?.split('.').next()?;
        Traffic::OBJECTS.into_iter().find(|(_, known)| *known == name).map(|(traffic, _)| traffic)
    }

    /// The library that makes it.
    pub fn object(self) -> String {
        let name = Traffic::OBJECTS.into_iter().find(|(traffic, _)| *traffic == self).map_or("", |(_, name)| name);
        format!("{name}.so")
    }
}

/// Which end of its connections a plugin is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Personality {
    /// Asks for files.
    Client,
    /// Has them.
    Server,
    /// Not said.
    #[default]
    Unknown,
}

/// A plugin, as its configuration has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// The library that makes its traffic.
    pub object: String,
    /// Sessions that run at once, at most.
    pub threads: u32,
    /// Which end it is.
    pub personality: Personality,
    /// `file:line` of its beginning, for messages.
    pub place: String,
    /// Times between the starts of a session's connections, in seconds.
    pub interconnection_times: Vec<f64>,
    /// Files, in bytes.
    pub file_sizes: Vec<f64>,
    /// Sessions of each interval.
    pub active_sessions: Vec<u32>,
    /// Where a client's sessions are.
    pub sources: Vec<Block>,
    /// Where the servers of its sessions are.
    pub destinations: Vec<Block>,
    /// Where a server is.
    pub servers: Vec<Block>,
    /// Numbers of its own, by name: `bitrate`, `virtual_users` and so on.
    pub settings: BTreeMap<String, Vec<f64>>,
    /// The side of the link on which the client is. Harpoon knows none: Flowloom writes it, for its own reading.
    pub client_side: Option<InitiatorSide>,
}

impl Plugin {
    /// Numbers of a plugin that mean something here. `interval_duration` is Flowloom's own, in seconds.
    pub const SETTINGS: [&'static str; 7] =
        ["bitrate", "datagram_size", "expo_means", "interval_duration", "tcp_mss", "uniform_period", "virtual_users"];

    /// Numbers of plugins that mean something to Harpoon, and nothing here.
    pub const IDLE: [&'static str; 2] = ["ip_tos", "max_failed_connect_attempts"];

    /// The first number of that name.
    pub fn setting(&self, name: &str) -> Option<f64> {
        self.settings.get(name)?.first().copied()
    }
}
