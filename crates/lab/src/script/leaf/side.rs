//! `side { emulator = 192.0.2.1:40000; rate = 500M; duration = 90; }`: a side of an experiment whose path is emulated by its controller,
//! which writes this leaf itself.

use std::net::SocketAddr;

use flowloom_core::time::Duration;
use flowloom_core::units::Rate;

use super::super::address::Host;
use super::arguments::Arguments;

/// What a `side` is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// Where the emulator is: datagrams go there and nowhere else.
    pub emulator: SocketAddr,
    /// At this rate at most.
    pub rate: Rate,
    /// For how long at most.
    pub duration: Duration,
}

impl Side {
    /// What such a leaf is called.
    pub const KEYWORD: &str = "side";

    pub(super) fn read(given: &mut Arguments<'_>) -> Option<Side> {
        let emulator = given.endpoint("emulator", "the address and port of the one who emulates the path");
        let rate = given.needed_rate("rate", "bit/s that it sends at most");
        let duration = given.duration();
        let (emulator, rate, duration) = (emulator?, rate?, duration?);
        let Host::Ip(ip) = emulator.host else {
            let place = given.place();
            given.wrong(place, "emulator is an address, not a name", "write emulator = ADDRESS:PORT;");
            return None;
        };
        Some(Side { emulator: SocketAddr::new(ip, emulator.port), rate, duration })
    }

    pub(super) fn words(&self) -> String {
        format!("plays a side of a run for the emulator at {}", self.emulator)
    }
}
