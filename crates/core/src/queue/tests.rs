//! What holds for every discipline: the calling contract inside a link, and that no packet is lost track of.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::contract::{self, Machine};
use crate::path::{Link, LinkEvent, LinkStatistics, Offered};
use crate::record::DropReason;
use crate::rng::{Purpose, Stream};
use crate::time::{Duration, Time};
use crate::units::{Limit, Rate};
use crate::wire::Ecn;

pub(super) fn stream() -> Stream {
    Stream::new(1, Purpose::Queue, 0)
}

/// An arrival while the line is busy and `packets` of 1,000 bytes wait.
pub(super) fn arrival(now: Time, packets: u64) -> Arrival {
    let waiting = backlog(packets);
    Arrival { now, start: now + Duration::from_micros(1 + 800 * packets), waiting, idle_since: None }
}

/// `packets` of 1,000 bytes.
pub(super) fn backlog(packets: u64) -> Backlog {
    Backlog { packets, bytes: 1_000 * packets }
}

pub(super) fn at(millis: u64) -> Time {
    Time::ZERO + Duration::from_millis(millis)
}

/// A packet that can carry a mark.
pub(super) fn capable(bytes: u32) -> Packet {
    Packet { ecn: Ecn::Ect0, ..Packet::new(bytes) }
}

/// Puts packets of one flow after the other into `queue` and takes all out; the tags as they come.
pub(super) fn served(queue: &mut dyn Serve) -> Vec<u64> {
    let mut lost = Lost::default();
    std::iter::from_fn(|| queue.dequeue(Time::ZERO, &mut lost)).map(|queued| queued.packet.tag).collect()
}

/// Every built-in discipline, eager enough to do what it can under the loads below.
fn all() -> Vec<Discipline> {
    let limit = Limit::Packets(12);
    let bytes = Limit::Bytes(9_000);
    let short = Duration::from_millis(1);
    let red = RedParams { limit, min: Limit::Packets(2), max: Limit::Packets(6), weight: 0.2, ..RedParams::default() };
    let (min, max) = (Limit::Bytes(1_500), Limit::Bytes(5_000));
    let codel = CodelParams { limit, target: short, interval: short * 4, ..CodelParams::default() };
    let rates = PieParams { limit, target: short, interval: short, max_burst: short, ..PieParams::default() };
    vec![
        Discipline::DropTail(limit),
        Discipline::DropTail(bytes),
        Discipline::HeadDrop(limit),
        Discipline::HeadDrop(bytes),
        Discipline::Step(StepParams { limit, threshold: Limit::Packets(4), at: StepPoint::Enqueue }),
        Discipline::Step(StepParams { limit: bytes, threshold: Limit::Bytes(3_000), at: StepPoint::Enqueue }),
        Discipline::Step(StepParams { limit, threshold: Limit::Packets(4), at: StepPoint::Dequeue }),
        Discipline::Step(StepParams { limit: bytes, threshold: Limit::Bytes(3_000), at: StepPoint::Dequeue }),
        Discipline::Red(red),
        Discipline::Red(RedParams { gentle: true, ecn: true, min, max, ..red }),
        Discipline::Red(RedParams { ecn: true, max: red.min, weight: 1.0, ..red }),
        Discipline::Red(RedParams { ecn: true, above_max: AboveMax::Drop, ..red }),
        Discipline::AdaptiveRed(AdaptiveRedParams {
            limit,
            min: Some(2),
            weight: Some(0.1),
            interval: short,
            ecn: true,
            ..AdaptiveRedParams::default()
        }),
        Discipline::Blue(BlueParams {
            limit,
            freeze_time: short,
            threshold: Some(Limit::Packets(8)),
            ..BlueParams::default()
        }),
        Discipline::Pi(PiParams { limit, target: 3, a: 2e-2, b: 1.9e-2, ecn: true, ..PiParams::default() }),
        Discipline::Rem(RemParams { limit, target: 3, gamma: 10.0, ..RemParams::default() }),
        Discipline::Pie(PieParams { alpha: 50.0, beta: 500.0, ..rates }),
        Discipline::Pie(PieParams {
            alpha: 50.0,
            beta: 500.0,
            limit: Limit::Packets(100),
            estimator: Estimator::DepartureRate,
            ecn: true,
            ..rates
        }),
        Discipline::Codel(codel),
        Discipline::Codel(CodelParams { ecn: true, ..codel }),
        Discipline::Codel(CodelParams { ce_threshold: Some(short / 2), ..codel }),
        Discipline::FqCodel(FqCodelParams {
            limit,
            flows: 4,
            target: codel.target,
            interval: codel.interval,
            ce_threshold: Some(short / 2),
            ..FqCodelParams::default()
        }),
        Discipline::DeficitRoundRobin { limit, quantum: 500 },
        Discipline::RoundRobin(bytes),
        Discipline::Priority { limit: Limit::Packets(5), bands: 2 },
    ]
}

fn link(discipline: &Discipline) -> Link {
    let rate = Rate::from_bits_per_second(7_000_001).unwrap();
    Link::new(discipline.build(rate, stream()).unwrap(), rate, Duration::from_micros(3), Duration::from_secs(1))
}

/// A link, and what its last offer came to.
struct Contract {
    link: Link,
    offered: Option<(Result<Offered, DropReason>, Backlog, LinkStatistics)>,
}

#[derive(Debug, PartialEq)]
enum Said {
    Offered(Result<Offered, DropReason>, Backlog, Box<LinkStatistics>),
    Later(LinkEvent),
}

impl Machine for Contract {
    type Input = Packet;
    type Output = Said;

    fn input(&mut self, now: Time, &packet: &Packet) {
        let outcome = self.link.offer(now, packet);
        self.offered = Some((outcome, self.link.backlog(), *self.link.statistics()));
    }

    fn handle_timeout(&mut self, now: Time) {
        self.link.handle_timeout(now);
    }

    fn poll(&mut self, _: Time) -> Option<Said> {
        let offered =
            self.offered.take().map(|(outcome, backlog, seen)| Said::Offered(outcome, backlog, Box::new(seen)));
        offered.or_else(|| self.link.poll().map(Said::Later))
    }

    fn next_timeout(&self) -> Option<Time> {
        self.link.next_timeout()
    }
}

#[test]
fn every_discipline_keeps_the_calling_contract() {
    let micros = |n: u64| 700 * n - if n % 80 > 40 { 200 * (n % 80 - 40) } else { 0 };
    let mut offers: Vec<_> = (0..600u64)
        .map(|n| {
            let ecn = if n % 3 == 0 { Ecn::NotEct } else { Ecn::Ect0 };
            let packet = Packet { bytes: 40 + 97 * (n as u32 % 16), class: n as u8 % 3, ecn, flow: n % 5, tag: n };
            (Time::ZERO + Duration::from_micros(micros(n) + n * n % 37), packet)
        })
        .collect();
    offers.sort_by_key(|offer| offer.0);
    for discipline in all() {
        let make = || Contract { link: link(&discipline), offered: None };
        let mut machine = make();
        let mut early = 0;
        for &(now, packet) in &offers {
            machine.input(now, &packet);
            while let Some(said) = machine.poll(now) {
                early += u32::from(match said {
                    Said::Offered(Err(_), ..) | Said::Later(LinkEvent::Dropped { .. }) => true,
                    Said::Offered(Ok(Offered::Passes(passage)), ..)
                    | Said::Later(LinkEvent::Started { passage, .. }) => passage.marked,
                    Said::Offered(Ok(Offered::Queued), ..) => false,
                });
            }
        }
        assert!((1..500).contains(&early), "{early} of 600 packets dropped or marked by {discipline:?}");
        contract::check(make, &offers, Duration::from_secs(1));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(8), failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    /// Offered = departed + dropped + waiting at any time, in packets and bytes; a line is never idle while packets wait;
    /// nothing overtakes within a flow; marks are only on packets that can carry them.
    #[test]
    fn no_discipline_loses_track_of_a_packet(
        offers in prop::collection::vec((0u64..3_000, 40u32..1_514, 0u64..4, 0u8..4, any::<bool>()), 1..200),
    ) {
        for discipline in all() {
            let mut link = link(&discipline);
            let (mut now, mut free) = (Time::ZERO, Time::ZERO);
            let (mut came, mut gone, mut last) = (Backlog::default(), Backlog::default(), [0; 4]);
            // Departures told ahead of time, where the link decides at arrival.
            let mut coming: Vec<(Time, u32)> = Vec::new();
            for (tag, &(gap, bytes, flow, class, ect)) in (1..).zip(&offers) {
                now += Duration::from_micros(gap);
                // One class per flow, as nothing else keeps a flow in order.
                let class = if flow == 0 { 0 } else { class % 2 + flow as u8 };
                let class = if matches!(discipline, Discipline::Priority { .. }) { flow as u8 } else { class };
                let packet = Packet { bytes, class, ecn: if ect { Ecn::Ect0 } else { Ecn::NotEct }, flow, tag };
                came.add(bytes);
                match link.offer(now, packet) {
                    Ok(Offered::Passes(passage)) => {
                        coming.push((passage.started, bytes));
                        prop_assert!(ect || !passage.marked, "{discipline:?}");
                        prop_assert_eq!(passage.started, now.max(free), "{:?}", &discipline);
                        free = passage.departed;
                    }
                    Ok(Offered::Queued) => {}
                    Err(_) => gone.add(bytes),
                }
                while let Some(event) = link.poll() {
                    match event {
                        LinkEvent::Started { packet, passage } => {
                            gone.add(packet.bytes);
                            prop_assert!(passage.started >= free && passage.started <= now, "{discipline:?}");
                            prop_assert!(packet.tag > last[packet.flow as usize], "{discipline:?}");
                            prop_assert_eq!(packet.ecn.is_marked(), passage.marked);
                            prop_assert!(!passage.marked || packet.ecn.is_capable());
                            last[packet.flow as usize] = packet.tag;
                            free = passage.departed;
                        }
                        LinkEvent::Dropped { packet, time, .. } => {
                            gone.add(packet.bytes);
                            prop_assert!(time <= now);
                        }
                    }
                }
                coming.retain(|&(started, bytes)| {
                    if started <= now {
                        gone.add(bytes);
                    }
                    started > now
                });
                let waiting = link.backlog();
                prop_assert_eq!(waiting.packets, came.packets - gone.packets, "{:?}", &discipline);
                prop_assert_eq!(waiting.bytes, came.bytes - gone.bytes, "{:?}", &discipline);
                prop_assert!(waiting.packets == 0 || link.is_transmitting(now), "{discipline:?}");
            }
            link.handle_timeout(Time::MAX);
            prop_assert_eq!(link.backlog(), Backlog::default());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(9), failure_persistence: None, cases: 128, ..ProptestConfig::default() })]

    /// Step marking marks exactly the ECN-capable packets that exceed the threshold, and drops as drop-tail does. What waits is
    /// counted here from the passages alone: a packet waits from its arrival until its transmission starts.
    #[test]
    fn step_never_marks_at_or_below_its_threshold(
        offers in prop::collection::vec((0u64..1_500, 40u32..1_514, any::<bool>()), 1..200),
        threshold in 1u64..11,
        in_bytes in any::<bool>(),
        at_dequeue in any::<bool>(),
    ) {
        let limit = Limit::Packets(12);
        let (threshold, at) = if in_bytes {
            (Limit::Bytes(700 * threshold), StepPoint::Enqueue)
        } else {
            (Limit::Packets(threshold.min(10)), StepPoint::Enqueue)
        };
        let at = if at_dequeue { StepPoint::Dequeue } else { at };
        let mut step = link(&Discipline::Step(StepParams { limit, threshold, at }));
        let mut tail = link(&Discipline::DropTail(limit));
        // Of every packet taken: when it came, when it started, its bytes, whether it can be marked and whether it is.
        let mut taken: Vec<(Time, Time, u32, bool, bool)> = Vec::new();
        let mut came = Vec::new();
        let mut now = Time::ZERO;
        for (tag, &(gap, bytes, ect)) in (0..).zip(&offers) {
            now += Duration::from_micros(gap);
            came.push(now);
            let packet = Packet { tag, ecn: if ect { Ecn::Ect0 } else { Ecn::NotEct }, ..Packet::new(bytes) };
            let offered = step.offer(now, packet);
            prop_assert_eq!(offered.is_ok(), tail.offer(now, packet).is_ok());
            if let Ok(Offered::Passes(passage)) = offered {
                taken.push((now, passage.started, bytes, ect, passage.marked));
            }
        }
        step.handle_timeout(Time::MAX);
        while let Some(event) = step.poll() {
            let LinkEvent::Started { packet, passage } = event else { panic!("step drops nothing that waits") };
            let ect = offers[packet.tag as usize].2;
            taken.push((came[packet.tag as usize], passage.started, packet.bytes, ect, passage.marked));
        }
        for (place, &(arrived, started, _, ect, marked)) in taken.iter().enumerate() {
            let mut queue = Backlog::default();
            match at {
                // What came before or is itself, and waits beyond the arrival.
                StepPoint::Enqueue => taken[..=place].iter().filter(|other| other.1 > arrived)
                    .for_each(|other| queue.add(other.2)),
                // What came by the start, and starts later.
                StepPoint::Dequeue => taken[place + 1..].iter().filter(|other| other.0 < started)
                    .for_each(|other| queue.add(other.2)),
            }
            prop_assert_eq!(marked, ect && queue.exceeds(threshold), "{:?} {:?}", at, queue);
        }
    }
}

/// Each discipline is refused with a message that begins so.
#[track_caller]
fn refuses(cases: Vec<(Discipline, &str)>) {
    for (discipline, wanted) in cases {
        let message = discipline.build("10mbit".parse().unwrap(), stream()).unwrap_err().to_string();
        assert!(message.starts_with(wanted), "{discipline:?} gave {message}");
    }
}

#[test]
fn what_is_wrong_with_a_parameter_is_said_with_its_key() {
    let red = RedParams::default();
    let adaptive = AdaptiveRedParams::default();
    let fq = FqCodelParams::default();
    let step = StepParams::default();
    let (packets, bytes) = (Limit::Packets, Limit::Bytes);
    refuses(vec![
        (Discipline::HeadDrop(packets(0)), "limit must hold at least one packet of 1514 bytes"),
        (Discipline::RoundRobin(bytes(1_513)), "limit must hold at least one packet"),
        (Discipline::Red(RedParams { min: packets(16), ..red }), "min of 16p must not be above max of 15p"),
        (Discipline::Red(RedParams { min: packets(0), ..red }), "min must be above zero"),
        (Discipline::Red(RedParams { max: bytes(9_000), ..red }), "max of 9000b has not the unit of min, 5p"),
        (Discipline::Red(RedParams { max_p: 0.0, ..red }), "max-p of 0 must be above 0 and at most 1"),
        (Discipline::Red(RedParams { max_p: 1.1, ..red }), "max-p of 1.1 must be"),
        (Discipline::Red(RedParams { weight: f64::NAN, ..red }), "weight of NaN must be"),
        (Discipline::Red(RedParams { mean_packet: 0, ..red }), "mean-packet must be above zero"),
        (
            Discipline::AdaptiveRed(AdaptiveRedParams { interval: Duration::ZERO, ..adaptive }),
            "interval must be at least 1 us",
        ),
        (Discipline::AdaptiveRed(AdaptiveRedParams { decrease: 2.0, ..adaptive }), "decrease of 2 must be"),
        (Discipline::AdaptiveRed(AdaptiveRedParams { max_p: -0.1, ..adaptive }), "max-p of -0.1 must be"),
        (Discipline::Blue(BlueParams { increment: 0.0, ..BlueParams::default() }), "increment of 0 must be"),
        (
            Discipline::Blue(BlueParams { freeze_time: Duration::ZERO, ..BlueParams::default() }),
            "freeze-time must be above zero",
        ),
        (Discipline::Blue(BlueParams { threshold: Some(packets(0)), ..BlueParams::default() }), "threshold must be"),
        (
            Discipline::Pi(PiParams { a: 1e-5, b: 1e-5, ..PiParams::default() }),
            "a of 0.00001 must be above b of 0.00001",
        ),
        (Discipline::Pi(PiParams { frequency: f64::INFINITY, ..PiParams::default() }), "frequency of inf must be"),
        (
            Discipline::Pi(PiParams { frequency: 1e7, ..PiParams::default() }),
            "frequency of 10000000 must be above 0 and at most 1000000",
        ),
        (
            Discipline::Rem(RemParams { interval: Duration::from_nanos(1), ..RemParams::default() }),
            "interval must be at least 1 us",
        ),
        (Discipline::Rem(RemParams { phi: 1.0, ..RemParams::default() }), "phi of 1 must be above 1"),
        (Discipline::Rem(RemParams { phi: 1e300, ..RemParams::default() }), "phi of 1000"),
        (Discipline::Rem(RemParams { gamma: 1e300, ..RemParams::default() }), "gamma of 1e300"),
        (Discipline::Rem(RemParams { alpha: 0.0, ..RemParams::default() }), "alpha of 0 must be"),
        (Discipline::Pie(PieParams { target: Duration::ZERO, ..PieParams::default() }), "target must be above zero"),
        (
            Discipline::Pie(PieParams { interval: Duration::from_nanos(999), ..PieParams::default() }),
            "interval must be at least 1 us",
        ),
        (Discipline::Pie(PieParams { beta: -1.0, ..PieParams::default() }), "beta of -1 must be above 0"),
        (Discipline::Pie(PieParams { alpha: 1e308, ..PieParams::default() }), "alpha of 1e308"),
        (
            Discipline::Codel(CodelParams { target: Duration::from_secs(1), ..CodelParams::default() }),
            "target of 1.00 s must be below interval of 100 ms",
        ),
        (
            Discipline::Codel(CodelParams { ce_threshold: Some(Duration::ZERO), ..CodelParams::default() }),
            "ce-threshold must be above zero",
        ),
        (
            Discipline::FqCodel(FqCodelParams { ce_threshold: Some(Duration::ZERO), ..fq }),
            "ce-threshold must be above zero",
        ),
        (Discipline::Step(StepParams { threshold: bytes(0), ..step }), "threshold must be above zero"),
        (
            Discipline::Step(StepParams { limit: packets(20), ..step }),
            "limit of 20p is too short for threshold, which is 20p: the queue never exceeds it",
        ),
        (
            Discipline::Step(StepParams { limit: packets(21), at: StepPoint::Dequeue, ..step }),
            "limit of 21p is too short for threshold, which is 20p: no packet leaves more than that behind",
        ),
        (Discipline::FqCodel(FqCodelParams { flows: 0, ..fq }), "flows of 0 must be from 1 to 1048576"),
        (Discipline::FqCodel(FqCodelParams { quantum: 0, ..fq }), "quantum must be above zero"),
        (Discipline::FqCodel(FqCodelParams { memory: 1_000, ..fq }), "memory must hold at least one packet"),
        (Discipline::DeficitRoundRobin { limit: packets(9), quantum: 0 }, "quantum must be above zero"),
        (Discipline::Priority { limit: packets(9), bands: 0 }, "bands must be above zero"),
    ]);
}

#[test]
fn limits_below_what_they_must_hold_are_refused() {
    let red = RedParams::default();
    let adaptive = AdaptiveRedParams::default();
    let (packets, bytes) = (Limit::Packets, Limit::Bytes);
    refuses(vec![
        (
            Discipline::Red(RedParams { limit: packets(14), ..red }),
            "limit of 14p is below max, which is 15p: the queue",
        ),
        (
            Discipline::Red(RedParams { limit: packets(20), min: bytes(9_000), max: bytes(1_310_981), ..red }),
            "limit of 20p is below max, which is 1310981b",
        ),
        // Of a link's and IP's headers alone 44 packets fit into 1,514 bytes.
        (
            Discipline::Red(RedParams { limit: bytes(1_514), max: packets(45), ..red }),
            "limit of 1514b is below max, which is 45p",
        ),
        // Half of 5 ms at 2,500 packets a second.
        (
            Discipline::AdaptiveRed(AdaptiveRedParams { limit: packets(5), ..adaptive }),
            "limit of 5p is below min, which is 6p",
        ),
        (
            Discipline::AdaptiveRed(AdaptiveRedParams { target_delay: Duration::ZERO, ..adaptive }),
            "target must be above zero",
        ),
        (
            Discipline::Blue(BlueParams { limit: packets(9), threshold: Some(packets(10)), ..BlueParams::default() }),
            "limit of 9p is below threshold, which is 10p",
        ),
        (
            Discipline::Pi(PiParams { limit: packets(199), ..PiParams::default() }),
            "limit of 199p is below target, which is 200p",
        ),
        (
            Discipline::Rem(RemParams { limit: packets(9), target: 10, ..RemParams::default() }),
            "limit of 9p is below target, which is 10p",
        ),
    ]);
}

#[test]
fn possible_parameters_are_taken() {
    let red = RedParams::default();
    let adaptive = AdaptiveRedParams::default();
    let step = StepParams::default();
    let (packets, bytes) = (Limit::Packets, Limit::Bytes);
    for possible in [
        Discipline::Red(RedParams { limit: packets(15), ..red }),
        Discipline::Red(RedParams { min: packets(15), ..red }),
        Discipline::Red(RedParams { min: packets(15), gentle: true, ..red }),
        Discipline::Step(StepParams { limit: packets(21), ..step }),
        Discipline::Red(RedParams { limit: bytes(1_514), max: packets(44), ..red }),
        Discipline::Red(RedParams { limit: packets(20), min: bytes(9_000), max: bytes(1_310_980), ..red }),
        Discipline::AdaptiveRed(AdaptiveRedParams { limit: packets(6), ..adaptive }),
        Discipline::Pi(PiParams { frequency: 1e6, ..PiParams::default() }),
    ] {
        possible.build("10mbit".parse().unwrap(), stream()).unwrap();
    }
    Discipline::AdaptiveRed(AdaptiveRedParams::default()).build("100gbit".parse().unwrap(), stream()).unwrap();
    let unlimited = Discipline::AdaptiveRed(adaptive).build(Rate::UNLIMITED, stream()).unwrap_err();
    assert_eq!(unlimited.key, "min");
    for discipline in all() {
        assert!(
            discipline.build(Rate::UNLIMITED, stream()).is_ok() || matches!(discipline, Discipline::AdaptiveRed(_))
        );
    }
}
