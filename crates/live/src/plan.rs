//! What a run will need, worked out before anything is sent.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use flowloom_core::distribution::Distribution;
use flowloom_core::play::{Datagrams, Pacing, open_for};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Side};
use flowloom_sim::{Classed, Config, DatagramFlow, Origin};

use crate::addresses::Addressing;
use crate::host::limits::Limits;
use crate::host::settings::TIME_WAITS;

/// What connections of a run, and flows of datagrams, need at most at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Need {
    /// Connections and flows of datagrams: each has a pair of addresses.
    pub connections: u64,
    /// The most that are open at once, and with them sockets on each side.
    pub open: u64,
    /// The most that start in a minute.
    pub starts_in_a_minute: u64,
    /// The most that start in a second.
    pub starts_in_a_second: u64,
    /// Packets that cross the path in an average second, both directions.
    pub packets_per_second: f64,
    /// Bits of these packets on the link in an average second.
    pub bits_per_second: f64,
}

/// Why a run cannot be.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TooMuch {
    /// Sockets or memory.
    #[error(
        "{open} connections would be open at once, and this host has room for {room}: a process may have {descriptors} \
         descriptors, and {memory} MB of memory are free"
    )]
    Open {
        /// The most that are open at once.
        open: u64,
        /// For how many there is room.
        room: u64,
        /// What a process may have.
        descriptors: u64,
        /// What is free.
        memory: u64,
    },
    /// Workers.
    #[error("{open} connections would be open at once, which takes {needed} workers on each side, not {asked}")]
    Workers {
        /// The most that are open at once.
        open: u64,
        /// What it takes.
        needed: u16,
        /// What was asked for.
        asked: u16,
    },
    /// Packets.
    #[error(
        "about {packets_per_second} packets a second would cross the path; one emulator carries no more than {most}"
    )]
    Packets {
        /// In an average second, both directions.
        packets_per_second: u64,
        /// The most that can be.
        most: u64,
    },
    /// Addresses.
    #[error(
        "{connections} connections are more than the {most} that there are pairs of addresses for; fewer hosts (live.hosts) leave more"
    )]
    Addresses {
        /// How many.
        connections: u64,
        /// The most that can be.
        most: u64,
    },
}

/// How long a closed connection is in TIME-WAIT.
const TIME_WAIT: Duration = Duration::from_secs(60);
/// Starts are counted in seconds, too.
const SECOND: Duration = Duration::from_secs(1);
/// A connection stays open for so long after its close was seen, while its last packets pass.
const CLOSING: Duration = Duration::from_secs(1);

/// Works out a [`Need`], connection by connection in the order of their starts.
#[derive(Debug, Default)]
pub struct Planner {
    need: Need,
    /// When connections end that are open.
    ends: BinaryHeap<Reverse<Time>>,
    minute: (u64, u64),
    second: (u64, u64),
    /// Of connections, and their bytes on the link.
    packets: f64,
    bytes: f64,
    datagrams: f64,
    datagram_bytes: f64,
    /// Segments of transfers without end, as far as their windows let them; the link may not.
    bulk: f64,
}

impl Planner {
    /// Takes a connection of a run with this config in.
    pub fn add(&mut self, Classed { vector, origin, .. }: &Classed, config: &Config) {
        self.need.connections += 1;
        while self.ends.peek().is_some_and(|end| end.0 <= vector.start) {
            self.ends.pop();
        }
        let open = open_for(vector, config.unknown_rtt);
        let end = match origin {
            Origin::Source { endless_until: Some(until) } => {
                let until = (*until).min(Time::ZERO + config.window);
                self.bulk += bulk(vector, config) * until.since(vector.start).as_secs_f64();
                until + CLOSING
            }
            _ => open.map_or(Time::MAX, |open| vector.start + open + CLOSING),
        };
        self.ends.push(Reverse(end));
        self.need.open = self.need.open.max(self.ends.len() as u64);
        let started = |counted: &mut (u64, u64), length: Duration| {
            let number = vector.start.as_nanos() / length.as_nanos();
            *counted = if counted.0 == number { (number, counted.1 + 1) } else { (number, 1) };
            counted.1
        };
        self.need.starts_in_a_minute = self.need.starts_in_a_minute.max(started(&mut self.minute, TIME_WAIT));
        self.need.starts_in_a_second = self.need.starts_in_a_second.max(started(&mut self.second, SECOND));
        // Those of its life that are within the run.
        let within = (Time::ZERO + config.window).since(vector.start).as_secs_f64();
        let share = open.map_or(1.0, |open| (within / open.as_secs_f64().max(1e-9)).min(1.0));
        let packets = packets(vector);
        let payload: f64 = vector.adus.iter().map(|adu| adu.bytes as f64).sum();
        self.packets += share * packets;
        self.bytes += share * (payload + packets * HEADER_BYTES);
    }

    /// Takes a flow of datagrams of a run with this config in: packets and a pair of addresses, and no socket.
    pub fn add_datagrams(&mut self, flow: &DatagramFlow, config: &Config) {
        self.need.connections += 1;
        let Datagrams { pacing, gap, payload, start, stop, answered } = flow.within(config.window);
        let busy = match pacing {
            Pacing::Constant | Pacing::Poisson => 1.0,
            Pacing::OnOff { on, off } => {
                let on = mean(&on).max(gap.as_nanos() as f64);
                on / (on + mean(&off))
            }
            Pacing::Runs(runs) => {
                for run in runs.iter() {
                    self.datagrams += run.packets() as f64;
                    self.datagram_bytes += run.bytes() as f64 + run.packets() as f64 * DATAGRAM_HEADER_BYTES;
                }
                return;
            }
        };
        let each = if answered { 2.0 } else { 1.0 };
        let datagrams = each * busy * stop.since(start).as_secs_f64() / gap.as_secs_f64().max(1e-9);
        self.datagrams += datagrams;
        self.datagram_bytes += datagrams * (mean(&payload) + DATAGRAM_HEADER_BYTES);
    }

    /// What they need in a run with this config.
    pub fn need(mut self, config: &Config) -> Need {
        let seconds = config.window.as_secs_f64().max(1.0);
        let most = config.bottleneck.rate.bits_per_second().map_or(f64::INFINITY, |bits| bits as f64 / 8.0);
        let bulk = 1.5 * (self.bulk / seconds).min(most / FULL_BYTES);
        // Connections wait for the link; datagrams do not.
        let carried = (2.0 * most * seconds / self.bytes.max(1.0)).min(1.0);
        self.need.packets_per_second = (carried * self.packets + self.datagrams) / seconds + bulk;
        // Of three packets of a transfer two are full and one is an acknowledgement.
        let bulk_bytes = bulk * (2.0 * FULL_BYTES + HEADER_BYTES) / 3.0;
        self.need.bits_per_second = 8.0 * ((carried * self.bytes + self.datagram_bytes) / seconds + bulk_bytes);
        self.need
    }
}

/// Headers of a segment on the link, without options.
const HEADER_BYTES: f64 = 54.0;
/// Headers of a datagram on the link.
const DATAGRAM_HEADER_BYTES: f64 = 42.0;
/// A full segment on the link.
const FULL_BYTES: f64 = 1_514.0;

/// Segments a second that a transfer without end can send: a window in each round trip, of no less than a millisecond.
fn bulk(vector: &ConnectionVector, config: &Config) -> f64 {
    let window = vector.window(Side::Acceptor).unwrap_or(1 << 16) as f64;
    let rtt = vector.min_rtt().unwrap_or(config.unknown_rtt).max(config.bottleneck.delay * 2);
    window / FULL_BYTES / rtt.max(Duration::from_millis(1)).as_secs_f64()
}

/// About the mean of a distribution, also of one that has none.
fn mean(distribution: &Distribution) -> f64 {
    (0..100).map(|n| distribution.quantile((f64::from(n) + 0.5) / 100.0)).sum::<f64>() / 100.0
}

/// Packets of a connection, both directions: full segments, an acknowledgement for every other one, three to open it, four to close.
fn packets(vector: &ConnectionVector) -> f64 {
    let segments = |side: Side| {
        let size = vector.ends[side.other()].mss.unwrap_or(1_460).max(48);
        let adus = vector.adus.iter().filter(|adu| adu.side == side);
        adus.map(|adu| adu.bytes.div_ceil(u64::from(size)) as f64).sum::<f64>()
    };
    7.0 + 1.5 * (segments(Side::Initiator) + segments(Side::Acceptor))
}

impl Need {
    /// How many workers on each side it takes, or those that are asked for.
    ///
    /// # Errors
    /// It does not fit.
    pub fn workers(&self, limits: &Limits, addressing: Addressing, asked: Option<u16>) -> Result<u16, TooMuch> {
        let (open, most) = (self.open, addressing.most_connections());
        if self.connections >= most {
            return Err(TooMuch::Addresses { connections: self.connections, most: most - 1 });
        }
        if self.packets_per_second > IMPOSSIBLE_PACKETS {
            let [packets_per_second, most] =
                [self.packets_per_second, IMPOSSIBLE_PACKETS].map(|packets| packets as u64);
            return Err(TooMuch::Packets { packets_per_second, most });
        }
        // Queues, losses and a busy host keep connections open for longer than the estimate has them.
        let Some(needed) = limits.workers(open + open / 2).filter(|_| open <= limits.connections()) else {
            let memory = limits.memory.unwrap_or(0) / 1_000_000;
            return Err(TooMuch::Open { open, room: limits.connections(), descriptors: limits.descriptors, memory });
        };
        match asked {
            Some(asked) if asked < needed => Err(TooMuch::Workers { open, needed, asked }),
            asked => Ok(asked.unwrap_or(needed)),
        }
    }

    /// What may go wrong, and need not.
    pub fn doubts(&self) -> Vec<Doubt> {
        let waiting = self.starts_in_a_minute;
        let overflow = (waiting > TIME_WAITS).then_some(Doubt::TimeWaits { waiting });
        let packets_per_second = self.packets_per_second;
        let heavy = (packets_per_second > MOST_PACKETS).then_some(Doubt::Packets { packets_per_second });
        overflow.into_iter().chain(heavy).collect()
    }
}

/// What may go wrong on this host, and need not.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Doubt {
    /// The kernel keeps fewer connections in TIME-WAIT than there will be.
    TimeWaits {
        /// So many there will be.
        waiting: u64,
    },
    /// More packets will cross the path than have been seen to.
    Packets {
        /// So many, in both directions.
        packets_per_second: f64,
    },
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Doubt::TimeWaits { waiting } => write!(
                f,
                "{waiting} connections start in a minute, as long as they are in TIME-WAIT, of which the kernel is to keep {TIME_WAITS}: \
                 those above it have none"
            ),
            Doubt::Packets { packets_per_second } => write!(
                f,
                "about {packets_per_second:.0} packets a second will cross the path; two cores have carried {MOST_PACKETS:.0} (docs/evidence/live.md)"
            ),
        }
    }
}

/// Packets a second above which a host is doubted.
const MOST_PACKETS: f64 = 97_000.0;
/// Packets a second that no host is asked for: the thread that owns the path reads and writes each, which takes it 2 us and more.
const IMPOSSIBLE_PACKETS: f64 = 400_000.0;

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::workload::{Adu, Close, Evidence, LinkSide, Span};

    /// Connections that start every `every` and are open for `life`, over a link of this rate, in three times the time that they take
    /// to start.
    fn need(count: u64, every: Duration, life: Duration, rate: &str) -> Need {
        let mut planner = Planner::default();
        let config = Config::new(rate.parse().unwrap(), every * (3 * count));
        let config = Config { unknown_rtt: Duration::ZERO, ..config };
        for n in 0..count {
            let seen = Some(Span { first: Duration::ZERO, last: life });
            let adu = Adu {
                side: Side::Initiator,
                bytes: 14_600,
                missing_bytes: 0,
                wait: None,
                waiter: Side::Initiator,
                seen,
                packets: None,
            };
            let vector = ConnectionVector {
                id: n,
                start: Time::ZERO + every * n,
                adus: vec![adu],
                close: Close::Fin(Side::Initiator),
                t_close: Some(Duration::ZERO),
                ..ConnectionVector::default()
            };
            planner.add(&vector.into(), &config);
        }
        planner.need(&config)
    }

    /// 10 Mbit/s for 10 s.
    fn config() -> Config {
        Config::new("10mbit".parse().unwrap(), Duration::from_secs(10))
    }

    #[test]
    fn what_is_open_at_once_is_what_started_in_a_lifetime() {
        let lives = |rate| need(10_000, Duration::from_millis(1), Duration::from_secs(3), rate);
        let need = lives("1gbit");
        assert_eq!((need.connections, need.starts_in_a_minute, need.starts_in_a_second), (10_000, 10_000, 1_000));
        // Three seconds, and one more to close.
        assert!((3_999..=4_001).contains(&need.open), "{}", need.open);
        // 10 segments, 5 acknowledgements, 7 to open and close: 220,000 in half a minute.
        assert!((need.packets_per_second - 22_000.0 / 3.0).abs() < 1.0, "{}", need.packets_per_second);
        assert!((need.bits_per_second - 8.0 * 15_788.0 * 1_000.0 / 3.0).abs() < 1e3, "{}", need.bits_per_second);
        // Of 15,788 bytes each; both directions carry 2.5 MB a second.
        let tight = lives("10mbit").packets_per_second;
        assert!((tight - 2_500_000.0 / 15_788.0 * 22.0).abs() < 1.0, "{tight}");
    }

    #[test]
    fn of_what_goes_on_after_the_run_only_its_part_counts() {
        let need = need(1, Duration::from_secs(10), Duration::from_secs(60), "1gbit");
        // Half of it, in 30 s.
        assert!((need.packets_per_second - 11.0 / 30.0).abs() < 0.01, "{}", need.packets_per_second);
    }

    #[test]
    fn sources_count_as_connections_do() {
        let at = |millis| Time::ZERO + Duration::from_millis(millis);
        let bulk = |id, until| {
            let mut vector = ConnectionVector { id, start: at(id), ..ConnectionVector::default() };
            (vector.stated_rtt, vector.evidence) = (Some(Duration::from_millis(100)), Evidence::VectorFile);
            vector.ends.acceptor.max_window = Some(15_140);
            Classed { vector, class: 0, origin: Origin::Source { endless_until: Some(until) } }
        };
        let mut planner = Planner::default();
        planner.add(&bulk(0, at(5_000)), &config());
        planner.add(&bulk(5_000, Time::MAX), &config());
        planner.add(&bulk(5_500, at(8_000)), &config());
        let need = planner.need(&config());
        // The first is closed a second after it has stopped, and the last packets of the second come when the window is over.
        assert_eq!((need.connections, need.open), (3, 3));
        // 100 a second for 5 + 5 + 2.5 s, and an acknowledgement for every other one; 7 to open and close each.
        assert!((need.packets_per_second - 189.6).abs() < 1.0, "{}", need.packets_per_second);
        let mut many = Planner::default();
        (0..100).for_each(|n| many.add(&bulk(n, Time::MAX), &config()));
        let need = many.need(&config());
        assert!((need.packets_per_second - 1.5 * 825.6 - 70.0).abs() < 1.0, "the link's: {}", need.packets_per_second);
    }

    #[test]
    fn datagrams_are_packets_and_no_sockets() {
        let constant = |value: f64| Distribution::constant(value).unwrap();
        let flow = |pacing| DatagramFlow {
            id: 0,
            class: 0,
            from: LinkSide::Left,
            rtt: Duration::ZERO,
            ip_version: None,
            datagrams: Datagrams {
                pacing,
                gap: Duration::from_millis(1),
                payload: constant(100.0),
                start: Time::ZERO + Duration::from_secs(5),
                stop: Time::MAX,
                answered: false,
            },
        };
        let mut planner = Planner::default();
        planner.add_datagrams(&flow(Pacing::Constant), &config());
        planner.add_datagrams(&flow(Pacing::OnOff { on: constant(1e9), off: constant(3e9) }), &config());
        let need = planner.need(&config());
        assert_eq!((need.connections, need.open), (2, 0));
        assert!((need.packets_per_second - 625.0).abs() < 1.0, "{}", need.packets_per_second);
        assert!((need.bits_per_second - 625.0 * 142.0 * 8.0).abs() < 1e3, "{}", need.bits_per_second);
    }

    #[test]
    fn a_host_has_room_or_says_what_it_lacks() {
        let need = Need {
            connections: 100_000,
            open: 45_000,
            starts_in_a_minute: 78_000,
            packets_per_second: 130_000.0,
            ..Need::default()
        };
        let limits = Limits { descriptors: 20_000, files: None, processors: 2, memory: Some(8 << 30) };
        let side = Addressing::Side;
        assert_eq!(need.workers(&limits, side, None), Ok(4));
        assert_eq!(need.workers(&limits, side, Some(8)), Ok(8));
        let many = Need { connections: 1 << 18, ..need };
        assert_eq!(many.workers(&limits, Addressing::over(32), None), Ok(4));
        let addresses = many.workers(&limits, Addressing::over(33), None).unwrap_err();
        assert_eq!(addresses, TooMuch::Addresses { connections: 262_144, most: 262_143 });
        let little = need.workers(&limits, side, Some(2)).unwrap_err();
        assert_eq!(
            little.to_string(),
            "45000 connections would be open at once, which takes 4 workers on each side, not 2"
        );
        let none = need.workers(&Limits { memory: Some(100 << 20), ..limits }, side, None).unwrap_err();
        assert!(none.to_string().contains("45000 connections") && none.to_string().contains("104 MB"), "{none}");
        let most = Addressing::Side.most_connections();
        let all = Need { connections: most, ..need }.workers(&limits, Addressing::Side, None).unwrap_err();
        assert!(all.to_string().contains("pairs of addresses"), "{all}");
        let packets = Need { packets_per_second: 1_700_000.0, ..need }.workers(&limits, side, None).unwrap_err();
        assert!(packets.to_string().contains("about 1700000 packets"), "{packets}");
        assert_eq!(need.doubts().len(), 1, "the packets");
        assert_eq!(Need { starts_in_a_minute: 1_500_000, ..need }.doubts().len(), 2);
    }
}
