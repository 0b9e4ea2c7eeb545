//! `replay { own = a:43000; peer = b:43000; side = left; workload = campus; duration = 60; rate = 50M; }`: one side of a workload's
//! connections, whose other side is at another host.

use std::ops::RangeInclusive;

use flowloom_core::tcp;
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_core::workload::LinkSide;

use super::arguments::Arguments;
use super::endpoint::Endpoint;
use super::names::same_name;

/// What a `replay` is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Where it sends from.
    pub own: Endpoint,
    /// The host with the other side.
    pub peer: Endpoint,
    /// Its side.
    pub side: LinkSide,
    /// The workload, by the name that the agent's keeper gave it.
    pub workload: String,
    /// Connections that start within it are played; those that are open at its end are cut.
    pub duration: Duration,
    /// What it sends at most.
    pub rate: Rate,
    /// Of each `parts` connections the one of this number is played, from 1 on.
    pub part: u32,
    /// See [`Self::part`].
    pub parts: u32,
    /// Whether connections have the delays of their paths in the workload.
    pub delays: bool,
    /// Processes that play connections, on each side.
    pub workers: u16,
    /// The TCP of its ends.
    pub tcp: Box<tcp::Config>,
}

/// Parts of a workload.
const PARTS: RangeInclusive<u64> = 1..=1_000;
/// Processes.
const WORKERS: RangeInclusive<u64> = 1..=16;

impl Replay {
    /// What such a leaf is called.
    pub const KEYWORD: &str = "replay";

    pub(super) fn read(given: &mut Arguments<'_>) -> Option<Replay> {
        let own = given.endpoint("own", "the address and port that it sends from");
        let peer = given.endpoint("peer", "the address and port of the host with the other side");
        let side = given.needed_name("side", "left or right");
        let workload = given.needed_name("workload", "its name in workloads of the agent's limits");
        let duration = given.duration();
        let rate = given.needed_rate("rate", "bit/s that it sends at most");
        let part = given.optional("part").map_or(Some(1), |part| given.whole(part, PARTS));
        let parts = given.optional("parts").map_or(Some(1), |parts| given.whole(parts, PARTS));
        let delays = given.optional("delays").map_or(Some(true), |delays| given.switch(delays));
        let workers = given.optional("workers").map_or(Some(1), |workers| given.whole(workers, WORKERS));
        let tcp = given.own_tcp();
        let (part, parts) = (part?, parts?);
        if part > parts {
            let place = given.place();
            given.wrong(place, format!("there is no part {part} of {parts}"), "part is from 1 to parts");
            return None;
        }
        let side = match side? {
            side if same_name(&side, "left") => LinkSide::Left,
            side if same_name(&side, "right") => LinkSide::Right,
            other => {
                let place = given.place();
                given.wrong(place, format!("there is no side {other}"), "write side = left; or side = right;");
                return None;
            }
        };
        Some(Replay {
            own: own?,
            peer: peer?,
            side,
            workload: workload?,
            duration: duration?,
            rate: rate?,
            part: part as u32,
            parts: parts as u32,
            delays: delays?,
            workers: workers? as u16,
            tcp: Box::new(tcp?),
        })
    }

    pub(super) fn words(&self) -> String {
        let share = if self.parts == 1 { String::new() } else { format!(", part {} of {},", self.part, self.parts) };
        format!("replays the {} side of {}{share} with {}", self.side.word(), self.workload, self.peer)
    }
}
