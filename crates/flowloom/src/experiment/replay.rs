//! `[workload.replay]`: which of what vectors say of their ends, beside data units, is replayed (methods A.13).

use flowloom_core::tcp::keys::{Stated, Tcp};
use flowloom_core::transits::{Ends, TransitModel};
use flowloom_sim::AsCaptured;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[workload.replay]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Replay {
    /// Pauses of programs inside data units, writes that follow each other at once, small segments that are held back (Nagle's algorithm), and what ends of concurrent connections waited for from each other (methods A.13.1); default: true.
    pub writes: bool,
    /// Options of TCP and version of IP of each connection (methods A.13.4): SACK, timestamps, window scaling, ECN, header sizes. An
    /// option whose key in tcp is given is as that says. Default: true; where tcp.profile is given, that decides the options.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub options: Option<bool>,
    /// Window of each end at the start of a connection, where its first flight tells it (methods A.13.2); default: true. An initial window
    /// of `[tcp]` that is not the profile's wins.
    pub first_flight: bool,
    /// Rates of ends that hold back: those that pace what they send below what the path carries (methods A.13.5); default: false.
    pub rate: bool,
    /// Data segments that each end acknowledges at once, and how long its acknowledgements wait (methods A.13.3); default: true. Delays
    /// and quick acknowledgements of `[tcp]` that are not the profile's win.
    pub acks: bool,
    /// SYNs and SYN/ACKs that were sent again, and the time that passed until one was answered (methods A.13.6); default: true.
    pub syn: bool,
    /// Losses of the original, each where it was: the same segment, the same transmission, on the same side of the monitor (methods A.13.7).
    /// Default: true, but false where the experiment changes the network, which then makes losses of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub losses: Option<bool>,
    /// Pauses of ends that do not read, by which their receive window closes (methods A.13.12); default: true.
    pub reads: bool,
    /// Transit times between the monitor and each end (methods A.13.9); default: as-seen. Where the experiment changes the network, ends to the
    /// right of the monitor have the shortest: their packets may have waited for the link whose place another takes.
    pub rtt: RoundTrips,
}

/// `workload.replay.rtt`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RoundTrips {
    /// The shortest.
    Min,
    /// The median of those that no acknowledgement policy delayed.
    Median,
    /// The shortest, and the delays of data beyond that where its sender's clock tells them; of other ends the median.
    #[default]
    AsSeen,
}

impl RoundTrips {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            RoundTrips::Min => "min",
            RoundTrips::Median => "median",
            RoundTrips::AsSeen => "as seen",
        }
    }

    /// The transit times of a replay.
    pub fn model(self) -> TransitModel {
        match self {
            RoundTrips::Min => TransitModel::Minimum,
            RoundTrips::Median => TransitModel::Median(Ends::Both),
            RoundTrips::AsSeen => TransitModel::AsSeen(Ends::Both),
        }
    }
}

impl Default for Replay {
    fn default() -> Replay {
        Replay {
            writes: true,
            options: None,
            first_flight: true,
            rate: false,
            acks: true,
            syn: true,
            losses: None,
            reads: true,
            rtt: RoundTrips::default(),
        }
    }
}

impl Replay {
    /// What connections with this TCP have as their vectors say.
    pub fn as_captured(&self, tcp: &Tcp) -> AsCaptured {
        let Stated { profile, sack, timestamps, window_scaling, ecn } = tcp.stated();
        let options = self.options.unwrap_or(!profile);
        AsCaptured {
            sack: options && !sack,
            timestamps: options && !timestamps,
            window_scaling: options && !window_scaling,
            ecn: options && !ecn,
            ip_version: self.options.unwrap_or(true),
        }
    }

    pub(super) fn is_default(&self) -> bool {
        *self == Replay::default()
    }
}
