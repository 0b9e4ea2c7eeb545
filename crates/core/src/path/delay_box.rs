//! DelayBox: a delay, and optionally a bottleneck, of one connection and direction (methods F.6), and how a
//! connection's round-trip time is laid out around the monitored link (methods M.1).

use super::rules::FlowValues;
use crate::time::{Duration, Time};
use crate::transits::TransitModel;
use crate::units::{Rate, Serialiser};
use crate::workload::{ConnectionVector, LinkSide, PerSide, Side};

/// The delta queue of methods F.6 for one flow and direction. Packets keep their order; flows never delay one another.
///
/// A packet is handed on when its *first* bit starts after the delay: the flow's own bottleneck delays the packets
/// behind it, not the packet itself. Loss is not its business, and it keeps delaying after a FIN, so that the end of a
/// connection crosses the same path as the rest of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DelayBox {
    delay: Duration,
    /// When the packet last handed on started.
    tail: Time,
    /// Apart, since few flows have one and a simulator holds many flows.
    bottleneck: Option<Box<Bottleneck>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Bottleneck {
    line: Serialiser,
    /// How long it is busy with the packet last handed on.
    busy: Duration,
}

impl DelayBox {
    /// A path of `delay` whose own bottleneck has `rate` ([`Rate::UNLIMITED`] for none).
    pub fn new(delay: Duration, rate: Rate) -> DelayBox {
        let bottleneck =
            rate.bits_per_second().map(|_| Bottleneck { line: Serialiser::new(rate), busy: Duration::ZERO });
        DelayBox { delay, tail: Time::ZERO, bottleneck: bottleneck.map(Box::new) }
    }

    /// The delay.
    pub const fn delay(&self) -> Duration {
        self.delay
    }

    /// Shortens the delay by `by`, to nothing at most. To be called before the first packet.
    pub fn shorten(&mut self, by: Duration) {
        self.delay = self.delay.saturating_sub(by);
    }

    /// A packet of `bytes` enters at `now`, which never decreases; returns when it is handed on.
    pub fn pass(&mut self, now: Time, bytes: u32) -> Time {
        self.pass_after(now, Duration::ZERO, bytes)
    }

    /// The same for a packet that is delayed by `extra` beside the path's delay: those behind it do not overtake it.
    pub fn pass_after(&mut self, now: Time, extra: Duration, bytes: u32) -> Time {
        let transferred = now + self.delay + extra;
        let Some(bottleneck) = &mut self.bottleneck else {
            self.tail = self.tail.max(transferred);
            return self.tail;
        };
        let free = self.tail + bottleneck.busy;
        self.tail = if transferred < free {
            free
        } else {
            bottleneck.line.restart();
            transferred
        };
        bottleneck.busy = bottleneck.line.occupy(bytes);
        self.tail
    }
}

/// Where the monitor stands between the ends of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Placement {
    /// Where it stood: the ends' distances are their measured one-side transit times (methods M.1).
    #[default]
    Measured,
    /// In the middle: half of the round-trip time on each side (published form).
    Middle,
}

/// One-way delays between an end and the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Leg {
    /// From the end to the link.
    pub to_link: Duration,
    /// From the link to the end.
    pub from_link: Duration,
}

impl Leg {
    fn round_trip(self) -> Duration {
        self.to_link + self.from_link
    }
}

/// What the links between two ends take by themselves, without queueing or transmission, on either side of the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Propagation {
    /// Between the left end and the monitor.
    pub left: Leg,
    /// Between the right end and the monitor.
    pub right: Leg,
}

impl Propagation {
    /// Of a single link, `one_way` each way, with the monitor at its left end.
    pub fn of_link(one_way: Duration) -> Propagation {
        Propagation { left: Leg::default(), right: Leg { to_link: one_way, from_link: one_way } }
    }

    fn of(&self, side: LinkSide) -> Leg {
        match side {
            LinkSide::Left => self.left,
            LinkSide::Right => self.right,
        }
    }
}

/// The delays of a connection on either side of links with propagation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathDelays {
    legs: PerSide<Leg>,
    propagation: Propagation,
}

impl PathDelays {
    /// Lays out `vector`'s round-trip time, of its `transits`, around the monitor, beside the `propagation` of the links.
    ///
    /// A transit time is halved, half each way, and includes the links on that side. If one side's transit time is not
    /// known the known one is the whole round trip (methods A.6) and stays on its side, so that the waits it was measured
    /// with keep their meaning. If none is known the round-trip time that the source states, or else `unknown_rtt`, is
    /// split half and half.
    /// A side nearer than its links are long gets no delay beyond them: [`Self::rtt`] tells what came of it. Where no transit
    /// was measured the other side gives what is missing, so that the round-trip time is right unless the links alone are longer.
    pub fn new(
        vector: &ConnectionVector,
        transits: TransitModel,
        placement: Placement,
        propagation: Propagation,
        unknown_rtt: Duration,
    ) -> PathDelays {
        let transit = |side| transits.transit(vector, side);
        let measured = PerSide { initiator: transit(Side::Initiator), acceptor: transit(Side::Acceptor) };
        let is_measured = placement == Placement::Measured && measured.initiator.or(measured.acceptor).is_some();
        let transits = if is_measured {
            measured.map(Option::unwrap_or_default)
        } else {
            let both = Side::BOTH.into_iter().filter_map(transit).reduce(|near, far| near + far);
            let rtt = both.or(vector.stated_rtt).unwrap_or(unknown_rtt);
            PerSide { initiator: rtt / 2, acceptor: rtt - rtt / 2 }
        };
        let whole = transits.map(|transit| Leg { from_link: transit / 2, to_link: transit - transit / 2 });
        let side_of =
            |side| if side == Side::Initiator { vector.initiator_side } else { vector.initiator_side.other() };
        let links = |side| propagation.of(side_of(side));
        let mut legs = whole;
        for side in Side::BOTH {
            legs[side].to_link = legs[side].to_link.saturating_sub(links(side).to_link);
            legs[side].from_link = legs[side].from_link.saturating_sub(links(side).from_link);
        }
        if !is_measured {
            // The round-trip time is what is known, not where it is: what one side's links take too much the other gives.
            for (sender, receiver) in [(Side::Initiator, Side::Acceptor), (Side::Acceptor, Side::Initiator)] {
                let one_way = whole[sender].to_link + whole[receiver].from_link;
                let rest = one_way.saturating_sub(links(sender).to_link + links(receiver).from_link);
                legs[receiver].from_link = legs[receiver].from_link.min(rest);
                legs[sender].to_link = rest - legs[receiver].from_link;
            }
        }
        PathDelays { legs, propagation }
    }

    /// The same with the delays that rules drew (methods F.6): the packets of an end with such a delay are delayed by it
    /// before the link, and not behind it. The link's propagation comes on top.
    #[must_use]
    pub fn with(mut self, values: &PerSide<FlowValues>) -> PathDelays {
        for side in Side::BOTH {
            if let Some(delay) = values[side].delay {
                self.legs[side].to_link = delay;
                self.legs[side.other()].from_link = Duration::ZERO;
            }
        }
        self
    }

    /// The delays between the link and `side`.
    pub fn leg(&self, side: Side) -> Leg {
        self.legs[side]
    }

    /// From `side`, which is on the side `from` of the link, to the monitor.
    pub fn to_monitor(&self, side: Side, from: LinkSide) -> Duration {
        self.legs[side].to_link + self.propagation.of(from).to_link
    }

    /// The round-trip time without any queueing or transmission.
    pub fn rtt(&self) -> Duration {
        let Propagation { left, right } = self.propagation;
        self.legs.initiator.round_trip() + self.legs.acceptor.round_trip() + left.round_trip() + right.round_trip()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{self, Machine};
    use crate::workload::{Close, InitiatorRule, Pattern};

    fn vector(initiator: Option<u64>, acceptor: Option<u64>, initiator_side: LinkSide) -> ConnectionVector {
        let mut ends: PerSide<crate::workload::Endpoint> = PerSide::default();
        ends.initiator.min_transit = initiator.map(Duration::from_nanos);
        ends.acceptor.min_transit = acceptor.map(Duration::from_nanos);
        ConnectionVector {
            id: 0,
            start: Time::ZERO,
            initiator_side,
            initiator_rule: InitiatorRule::Syn,
            pattern: Pattern::Sequential,
            complete: true,
            handshake_repeated: false,
            syn_rtt: None,
            ends,
            close: Close::Fin(Side::Initiator),
            t_close: None,
            adus: Vec::new(),
            ..ConnectionVector::default()
        }
    }

    fn delays(vector: &ConnectionVector, propagation: u64) -> PathDelays {
        PathDelays::new(
            vector,
            TransitModel::Minimum,
            Placement::Measured,
            Propagation::of_link(Duration::from_nanos(propagation)),
            Duration::from_nanos(101),
        )
    }

    fn leg(to_link: u64, from_link: u64) -> Leg {
        Leg { to_link: Duration::from_nanos(to_link), from_link: Duration::from_nanos(from_link) }
    }

    /// The test vector of methods F.6: delay 20 ms, 1 Mbit/s.
    #[test]
    fn delta_queue_with_a_bottleneck() {
        let mut path = DelayBox::new(Duration::from_millis(20), "1mbit".parse().unwrap());
        for (micros, bytes, start) in [
            (0, 40, 20_000),
            (1_000, 1_000, 21_000),
            (1_500, 1_000, 29_000),
            (3_000, 1_000, 37_000),
            (50_000, 40, 70_000),
            (50_500, 1_500, 70_500),
        ] {
            let now = Time::ZERO + Duration::from_micros(micros);
            assert_eq!(path.pass(now, bytes), Time::ZERO + Duration::from_micros(start), "arrival at {micros} us");
        }
    }

    struct Contract(DelayBox, Option<Time>);

    impl Machine for Contract {
        type Input = u32;
        type Output = Time;

        fn input(&mut self, now: Time, &bytes: &u32) {
            self.1 = Some(self.0.pass(now, bytes));
        }

        /// It answers at once and has no deadlines.
        fn handle_timeout(&mut self, _: Time) {}

        fn poll(&mut self, _: Time) -> Option<Time> {
            self.1.take()
        }

        fn next_timeout(&self) -> Option<Time> {
            None
        }
    }

    #[test]
    fn keeps_the_calling_contract() {
        let packets: Vec<_> = (0..50).map(|n| (Time::from_nanos(n * 7_000_000), 40 + 300 * (n as u32 % 5))).collect();
        let make = || Contract(DelayBox::new(Duration::from_millis(20), "1mbit".parse().unwrap()), None);
        contract::check(make, &packets, Duration::from_secs(1));
    }

    #[test]
    fn without_a_bottleneck_every_packet_takes_the_delay() {
        let mut path = DelayBox::new(Duration::from_nanos(7), Rate::UNLIMITED);
        for nanos in [0, 0, 1, 5, 1_000_000_000] {
            assert_eq!(path.pass(Time::from_nanos(nanos), 1_500), Time::from_nanos(nanos + 7));
        }
    }

    #[test]
    fn a_round_trip_time_that_is_only_stated_is_that_of_the_path() {
        let stated =
            ConnectionVector { stated_rtt: Some(Duration::from_nanos(41)), ..vector(None, None, LinkSide::Left) };
        for placement in [Placement::Measured, Placement::Middle] {
            let delays = PathDelays::new(
                &stated,
                TransitModel::Minimum,
                placement,
                Propagation::default(),
                Duration::from_nanos(101),
            );
            assert_eq!(delays.rtt(), Duration::from_nanos(41), "{placement:?}");
            assert_eq!((delays.leg(Side::Initiator), delays.leg(Side::Acceptor)), (leg(10, 10), leg(11, 10)));
        }
    }

    #[test]
    fn each_side_gets_its_own_transit_time_to_the_nanosecond() {
        let path = delays(&vector(Some(11), Some(21), LinkSide::Left), 0);
        assert_eq!(path.leg(Side::Initiator), leg(6, 5));
        assert_eq!(path.leg(Side::Acceptor), leg(11, 10));
        assert_eq!(path.rtt(), Duration::from_nanos(32));
    }

    #[test]
    fn the_links_own_propagation_is_part_of_the_right_side() {
        let left = delays(&vector(Some(11), Some(21), LinkSide::Left), 4);
        assert_eq!((left.leg(Side::Initiator), left.leg(Side::Acceptor)), (leg(6, 5), leg(7, 6)));
        let right = delays(&vector(Some(11), Some(21), LinkSide::Right), 4);
        assert_eq!((right.leg(Side::Initiator), right.leg(Side::Acceptor)), (leg(2, 1), leg(11, 10)));
        assert_eq!((left.rtt(), right.rtt()), (Duration::from_nanos(32), Duration::from_nanos(32)));
        let to_monitor = |path: &PathDelays, from| path.to_monitor(Side::Initiator, from).as_nanos();
        assert_eq!((to_monitor(&left, LinkSide::Left), to_monitor(&right, LinkSide::Right)), (6, 6));
    }

    /// 101 ns, all links on one side: right whenever the links are not longer.
    #[test]
    fn a_round_trip_time_of_no_known_place_is_kept_beside_long_links() {
        for side in [LinkSide::Left, LinkSide::Right] {
            for (one_way, rtt) in [(0, 101), (10, 101), (26, 101), (40, 101), (50, 101), (51, 102), (80, 160)] {
                let path = delays(&vector(None, None, side), one_way);
                assert_eq!(path.rtt(), Duration::from_nanos(rtt), "links of {one_way} ns, initiator on the {side:?}");
            }
        }
        let path = delays(&vector(None, None, LinkSide::Left), 40);
        assert_eq!((path.leg(Side::Initiator), path.leg(Side::Acceptor)), (leg(10, 11), leg(0, 0)));
    }

    #[test]
    fn a_drawn_delay_stands_before_the_link() {
        let drawn = |nanos| FlowValues { delay: Some(Duration::from_nanos(nanos)), ..FlowValues::UNTOUCHED };
        let path = delays(&vector(Some(11), Some(21), LinkSide::Left), 4);
        let one = path.with(&PerSide { initiator: drawn(100), acceptor: FlowValues::UNTOUCHED });
        assert_eq!((one.leg(Side::Initiator), one.leg(Side::Acceptor)), (leg(100, 5), leg(7, 0)));
        let both = path.with(&PerSide { initiator: drawn(100), acceptor: drawn(30) });
        assert_eq!((both.leg(Side::Initiator), both.leg(Side::Acceptor)), (leg(100, 0), leg(30, 0)));
        assert_eq!(both.rtt(), Duration::from_nanos(138));
    }

    #[test]
    fn a_link_longer_than_the_path_is_the_path() {
        let path = delays(&vector(Some(11), Some(21), LinkSide::Left), 50);
        assert_eq!(path.leg(Side::Acceptor), leg(0, 0));
        assert_eq!(path.rtt(), Duration::from_nanos(111));
    }

    #[test]
    fn a_known_side_keeps_its_transit_time_and_an_unknown_path_is_halved() {
        let known = delays(&vector(None, Some(21), LinkSide::Left), 0);
        assert_eq!((known.leg(Side::Initiator), known.leg(Side::Acceptor)), (leg(0, 0), leg(11, 10)));
        assert_eq!(known.rtt(), Duration::from_nanos(21));
        let unknown = delays(&vector(None, None, LinkSide::Left), 0);
        assert_eq!((unknown.leg(Side::Initiator), unknown.leg(Side::Acceptor)), (leg(25, 25), leg(26, 25)));
        assert_eq!(unknown.rtt(), Duration::from_nanos(101));
    }

    #[test]
    fn in_the_middle_keeps_the_round_trip_time() {
        let vector = vector(Some(11), Some(22), LinkSide::Left);
        let path =
            PathDelays::new(&vector, TransitModel::Minimum, Placement::Middle, Propagation::default(), Duration::ZERO);
        assert_eq!((path.leg(Side::Initiator), path.leg(Side::Acceptor)), (leg(8, 8), leg(9, 8)));
        assert_eq!(path.rtt(), Duration::from_nanos(33));
    }
}
