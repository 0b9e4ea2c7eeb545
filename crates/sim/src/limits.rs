//! What the ends of a replayed connection bring of their own: segment size, window, options, version of IP.

use flowloom_core::tcp::{Limits, Offers};
use flowloom_core::workload::{ConnectionVector, IpVersion, Side};

use crate::config::Class;

/// Smallest MSS played, as Linux has it (TCP_MIN_SND_MSS): captures hold SYNs with an MSS of 0.
const MIN_MSS: u16 = 48;

/// What the end `side` of the connection of `vector` has as limits when it is replayed.
pub fn limits(vector: &ConnectionVector, side: Side) -> Limits {
    let (end, default) = (&vector.ends[side], Limits::default());
    Limits {
        mss: end.mss.unwrap_or(default.mss).max(MIN_MSS),
        max_window: match vector.window(side) {
            // What was advertised without a known scale is a lower bound.
            None => end.max_window.unwrap_or(0).max(u64::from(default.max_window)),
            Some(window) => window,
        }
        .try_into()
        .unwrap_or(u32::MAX),
    }
}

/// Which of what the original's packets had the connections of a class have too, where their vectors know it (methods A.13.4).
/// What is false here or not known is as [`Class::tcp`] says, over IPv4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AsCaptured {
    /// The SACK-permitted option.
    pub sack: bool,
    /// The timestamps option.
    pub timestamps: bool,
    /// The window scale option.
    pub window_scaling: bool,
    /// ECN.
    pub ecn: bool,
    /// The version of IP.
    pub ip_version: bool,
}

impl AsCaptured {
    /// All of it.
    pub const ALL: AsCaptured =
        AsCaptured { sack: true, timestamps: true, window_scaling: true, ecn: true, ip_version: true };
}

/// What the end `side` of the connection of `vector` offers in its SYN when it is replayed in `class`.
pub fn offers(vector: &ConnectionVector, side: Side, class: &Class) -> Offers {
    let (end, of_class, chosen) = (&vector.ends[side], Offers::of(&class.tcp), class.as_captured);
    let scales = match end.window_scale {
        Some(_) => Some(true),
        // A SYN whose options were captured.
        None => (end.syn_seen && end.sack.is_some()).then_some(false),
    };
    let choose = |chosen: bool, known: Option<bool>, other: bool| known.filter(|_| chosen).unwrap_or(other);
    Offers {
        window_scaling: choose(chosen.window_scaling, scales, of_class.window_scaling),
        timestamps: choose(chosen.timestamps, end.timestamps, of_class.timestamps),
        sack: choose(chosen.sack, end.sack, of_class.sack),
        ecn: choose(chosen.ecn, end.ecn, of_class.ecn),
    }
}

/// The version of IP that the packets of the connection of `vector` have when it is replayed in `class`.
pub fn ip_version(vector: &ConnectionVector, class: &Class) -> IpVersion {
    vector.ip_version.filter(|_| class.as_captured.ip_version).unwrap_or(IpVersion::V4)
}
