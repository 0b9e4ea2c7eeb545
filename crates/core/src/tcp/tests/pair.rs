//! Two endpoints, a pipe each way, and a virtual clock.

use std::collections::BTreeMap;

use crate::tcp::{Config, Endpoint, Limits, Segment};
use crate::time::{Duration, Time};

/// What the pipe does to a segment, which it may mark: the extra delay of each copy that arrives. None: it is lost.
pub type Pipe = Box<dyn FnMut(usize, &mut Segment) -> Vec<Duration>>;

/// End 0 connects, end 1 listens.
pub struct Pair {
    pub config: Config,
    pub ends: [Endpoint; 2],
    pub now: Time,
    /// One-way delay.
    pub delay: Duration,
    /// Segments as sent: when, by which end, what.
    pub sent: Vec<(Time, usize, Segment)>,
    /// Segments as they arrived: when, at which end, what.
    pub arrived: Vec<(Time, usize, Segment)>,
    pub pipe: Option<Pipe>,
    /// In flight, by arrival and order of sending: to which end.
    flying: BTreeMap<(Time, u64), (usize, Segment)>,
    count: u64,
}

impl Pair {
    pub fn new(config: Config, limits: [Limits; 2], delay: Duration) -> Pair {
        let ends = [Endpoint::connect(&config, limits[0]), Endpoint::listen(&config, limits[1])];
        let mut pair = Pair {
            config,
            ends,
            now: Time::ZERO,
            delay,
            sent: Vec::new(),
            arrived: Vec::new(),
            pipe: None,
            flying: BTreeMap::new(),
            count: 0,
        };
        pair.kick();
        pair
    }

    /// Sends what commands have made ready.
    pub fn kick(&mut self) {
        self.drain(0);
        self.drain(1);
    }

    fn drain(&mut self, end: usize) {
        while let Some(mut segment) = self.ends[end].poll_transmit(self.now, &self.config) {
            self.sent.push((self.now, end, segment));
            let copies = match &mut self.pipe {
                Some(pipe) => pipe(end, &mut segment),
                None => vec![Duration::ZERO],
            };
            for extra in copies {
                self.count += 1;
                self.flying.insert((self.now + self.delay + extra, self.count), (1 - end, segment));
            }
        }
    }

    /// The next instant at which something happens.
    pub fn next_event(&self) -> Option<Time> {
        let arrival = self.flying.keys().next().map(|key| key.0);
        let timers = self.ends.iter().filter_map(Endpoint::next_timeout);
        timers.chain(arrival).min()
    }

    /// Serves the next event: arrivals before timers of the same instant, end 0 before end 1.
    pub fn step(&mut self) {
        let Some(now) = self.next_event() else { return };
        self.now = now;
        if let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= now) {
            let (end, segment) = entry.remove();
            self.arrived.push((now, end, segment));
            self.ends[end].handle_segment(now, &segment, &self.config);
            self.drain(end);
            return;
        }
        for end in 0..2 {
            if self.ends[end].next_timeout().is_some_and(|due| due <= now) {
                self.ends[end].handle_timeout(now, &self.config);
                self.drain(end);
                return;
            }
        }
    }

    /// Runs to `end`, or until nothing is left to happen.
    pub fn run_until(&mut self, end: Time) {
        while self.next_event().is_some_and(|next| next <= end) {
            self.step();
        }
        self.now = self.now.max(end);
    }
}
