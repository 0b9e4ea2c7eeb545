//! Settings of the emulator.

use flowloom_core::time::Duration;

use crate::addresses::Addressing;

/// How the emulator works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How often it goes around while packets come.
    pub tick: Duration,
    /// What packets take each way beside what the path gives them: this comes off their delay.
    pub bias: Duration,
    /// How long after [`Command::Close`](super::Command::Close) packets of a connection may come: last acknowledgements, repeated FINs.
    pub linger: Duration,
    /// The longest packet, in bytes.
    pub room: usize,
    /// Which addresses connections have.
    pub addressing: Addressing,
    /// Whether connections that count as over IPv6 cross in it. Without, they cross in IPv4 and count the same.
    pub ipv6: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            tick: Duration::from_micros(100),
            bias: Duration::ZERO,
            linger: Duration::from_secs(3),
            room: 2_048,
            addressing: Addressing::Side,
            ipv6: false,
        }
    }
}
