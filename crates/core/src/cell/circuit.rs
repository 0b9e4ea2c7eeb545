//! Virtual circuits: what shares one, how long it is there, and how much may be under way in it.

use crate::time::{Duration, Time};

/// Which conversations share a circuit, of those between two routers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mapping {
    /// None: each has its own.
    PerConversation,
    /// Those of one kind of traffic.
    PerType,
    /// All.
    PerDestination,
}

/// How long a circuit is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Always.
    Permanent,
    /// From the first data, after a set-up, until nothing has used it for a time.
    Dynamic {
        /// How long it takes to set it up.
        setup: Duration,
        /// How long it stays without use.
        idle: Duration,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    Opening(Time),
    Open,
}

/// One circuit, as its input router keeps it.
///
/// [`Self::handle_data`] when there is something to send, [`Self::handle_sent`] when cells were cut for it, [`Self::handle_credit`] when the
/// other router says that they have come, [`Self::handle_timeout`].
#[derive(Clone, Debug)]
pub struct Circuit {
    lifetime: Lifetime,
    state: State,
    /// Cells that may be under way.
    window: Option<u32>,
    under_way: u32,
    used: Time,
    setups: u64,
}

impl Circuit {
    /// A circuit with a window of so many cells, or without one (network-level flow control: methods G.4).
    pub fn new(lifetime: Lifetime, window: Option<u32>) -> Circuit {
        let state = if lifetime == Lifetime::Permanent { State::Open } else { State::Closed };
        Circuit { lifetime, state, window, under_way: 0, used: Time::ZERO, setups: 0 }
    }

    /// There is something to send: sets it up if it is not there.
    pub fn handle_data(&mut self, now: Time) {
        self.used = now;
        if let (State::Closed, Lifetime::Dynamic { setup, .. }) = (self.state, self.lifetime) {
            self.setups += 1;
            self.state = if setup.is_zero() { State::Open } else { State::Opening(now + setup) };
        }
    }

    /// It is there.
    pub fn is_open(&self) -> bool {
        self.state == State::Open
    }

    /// Its window has room for all of a packet's cells. A packet of more cells than the window is wide goes when nothing is under way.
    pub fn admits(&self, cells: u32) -> bool {
        self.window.is_none_or(|window| self.under_way == 0 || self.under_way.saturating_add(cells) <= window)
    }

    /// Whether it has a window.
    pub fn has_window(&self) -> bool {
        self.window.is_some()
    }

    /// A packet was cut into so many cells for it.
    pub fn handle_sent(&mut self, now: Time, cells: u32) {
        self.used = now;
        self.under_way += cells;
    }

    /// So many of its cells have come, or are known to be lost.
    pub fn handle_credit(&mut self, now: Time, cells: u32) {
        self.used = now;
        self.under_way = self.under_way.saturating_sub(cells);
    }

    /// When it will be there, or will be taken down.
    pub fn next_timeout(&self) -> Option<Time> {
        match (self.state, self.lifetime) {
            (State::Opening(at), _) => Some(at),
            (State::Open, Lifetime::Dynamic { idle, .. }) => Some(self.used + idle),
            _ => None,
        }
    }

    /// Serves what is due. It is not taken down while something waits for it.
    pub fn handle_timeout(&mut self, now: Time, waiting: bool) {
        let Some(due) = self.next_timeout().filter(|&due| due <= now) else { return };
        self.state = match self.state {
            State::Opening(at) => {
                self.used = at;
                State::Open
            }
            State::Open if !waiting && self.under_way == 0 => State::Closed,
            other => {
                self.used = due;
                other
            }
        };
    }

    /// How often it was set up.
    pub const fn setups(&self) -> u64 {
        self.setups
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{self, Machine};

    struct Contract(Circuit, Option<bool>);

    impl Machine for Contract {
        type Input = ();
        type Output = bool;

        fn input(&mut self, now: Time, (): &()) {
            self.0.handle_data(now);
        }

        fn handle_timeout(&mut self, now: Time) {
            self.0.handle_timeout(now, false);
        }

        fn poll(&mut self, _now: Time) -> Option<bool> {
            let is_open = self.0.is_open();
            (self.1.replace(is_open) != Some(is_open)).then_some(is_open)
        }

        fn next_timeout(&self) -> Option<Time> {
            self.0.next_timeout()
        }
    }

    #[test]
    fn it_keeps_the_contract() {
        let lifetime = Lifetime::Dynamic { setup: Duration::from_millis(30), idle: Duration::from_millis(90) };
        let data = [10, 300, 310, 360, 700].map(|millis| (at(millis), ()));
        contract::check(|| Contract(Circuit::new(lifetime, None), None), &data, Duration::from_millis(5));
    }

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_dynamic_circuit_comes_with_data_and_goes_without_use() {
        let (setup, idle) = (Duration::from_millis(30), Duration::from_millis(90));
        let mut circuit = Circuit::new(Lifetime::Dynamic { setup, idle }, None);
        assert!(!circuit.is_open() && circuit.next_timeout().is_none());
        circuit.handle_data(at(10));
        circuit.handle_data(at(20));
        assert_eq!((circuit.is_open(), circuit.setups(), circuit.next_timeout()), (false, 1, Some(at(40))));
        circuit.handle_timeout(at(40), true);
        circuit.handle_sent(at(50), 0);
        assert_eq!((circuit.is_open(), circuit.next_timeout()), (true, Some(at(140))));
        circuit.handle_timeout(at(140), true);
        assert!(circuit.is_open(), "something waits");
        circuit.handle_timeout(at(229), false);
        assert!(circuit.is_open(), "not yet");
        circuit.handle_timeout(at(230), false);
        assert!(!circuit.is_open() && circuit.next_timeout().is_none());
        circuit.handle_data(at(300));
        assert_eq!(circuit.setups(), 2);
    }

    #[test]
    fn a_window_has_room_for_whole_packets() {
        let mut circuit = Circuit::new(Lifetime::Permanent, Some(20));
        assert!(circuit.admits(11) && circuit.admits(50), "nothing is under way");
        circuit.handle_sent(at(0), 11);
        assert!(circuit.admits(9) && !circuit.admits(10));
        circuit.handle_credit(at(1), 1);
        assert!(circuit.admits(10));
        assert!(Circuit::new(Lifetime::Permanent, None).admits(u32::MAX));
    }
}
