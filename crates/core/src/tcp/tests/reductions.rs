//! How far the window shrinks, and what it does while it is not used: the rules of the RFCs and of Linux side by side, as the table
//! in `docs/reference/tcp.md` has them.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::pair::Pair;
use crate::rng::{Purpose, Stream};
use crate::tcp::congestion::{Algorithm, CubicParameters, DctcpParameters, WindowCause, WindowRules};
use crate::tcp::{Config, EcnEcho, Endpoint, InitialWindow, Limits, Phase, RtoConfig, Sack, SackBlocks, Segment};
use crate::time::{Duration, Time};
use crate::wire::{Ecn, Flags};

const MSS: u64 = 1000;
const MS: fn(u64) -> Duration = Duration::from_millis;

fn cubic() -> Algorithm {
    Algorithm::Cubic(CubicParameters::default())
}

fn config(congestion: Algorithm, window_rules: WindowRules, initial: u16) -> Config {
    Config {
        congestion,
        window_rules,
        initial_window: InitialWindow::Segments(initial),
        slow_start_limit: None,
        delayed_ack: None,
        sack: Sack::On,
        rack: true,
        limited_transmit: true,
        rto: RtoConfig::with_margin(MS(200)),
        ..Config::default()
    }
}

/// A sender of segments of 1,000 bytes and the acknowledgements it gets, over a round trip of 100 ms.
struct Sender {
    end: Endpoint,
    config: Config,
    now: Time,
    acknowledged: u64,
}

impl Sender {
    fn new(config: Config) -> Sender {
        let limits = Limits { mss: MSS as u16, max_window: 65_535 };
        let mut end = Endpoint::connect(&config, limits);
        while end.poll_transmit(Time::ZERO, &config).is_some() {}
        let mut sender = Sender { end, now: Time::ZERO + MS(100), acknowledged: 1, config };
        let ecn = if sender.config.ecn == EcnEcho::Off { 0 } else { Flags::ECE };
        sender.take(Segment {
            acknowledgement: 1,
            window: 65_535,
            flags: Flags(Flags::SYN | Flags::ACK | ecn),
            mss: std::num::NonZeroU16::new(1460),
            window_scale: Some(10),
            sack_permitted: true,
            ..Segment::default()
        });
        sender
    }

    fn take(&mut self, segment: Segment) -> usize {
        self.end.handle_segment(self.now, &segment, &self.config);
        self.flush()
    }

    /// Sends what may be sent; the number of segments with payload.
    fn flush(&mut self) -> usize {
        let sent = std::iter::from_fn(|| self.end.poll_transmit(self.now, &self.config));
        sent.filter(|segment| segment.payload_bytes > 0).count()
    }

    fn write(&mut self, segments: u64) -> usize {
        self.end.write(segments * MSS);
        self.flush()
    }

    /// Acknowledges up to `to` segments, with so many reported behind a hole of one; `flags` beside ACK.
    fn ack_with(&mut self, to: u64, reported: u64, flags: u8) -> usize {
        self.acknowledged = 1 + to * MSS;
        let block = (self.acknowledged + MSS, self.acknowledged + (1 + reported) * MSS);
        let sack = SackBlocks::new((reported > 0).then_some(block));
        let flags = Flags(Flags::ACK | flags);
        let (sequence, acknowledgement) = (1, self.acknowledged);
        self.take(Segment { sequence, acknowledgement, window: 4 << 20, flags, sack, ..Segment::default() })
    }

    fn ack(&mut self, to: u64) -> usize {
        self.ack_with(to, 0, 0)
    }

    fn pause(&mut self, pause: Duration) {
        self.now += pause;
        while let Some(due) = self.end.next_timeout().filter(|due| *due <= self.now) {
            let now = std::mem::replace(&mut self.now, due);
            self.end.handle_timeout(due, &self.config);
            self.flush();
            self.now = now;
        }
    }

    fn window(&self) -> u64 {
        u64::from(self.end.congestion_window()) / MSS
    }

    fn threshold(&self) -> u64 {
        u64::from(self.end.snapshot().threshold) / MSS
    }
}

/// Half of a window of 20 is in flight when a segment is lost: the threshold of each algorithm and rule.
#[test]
fn a_loss_takes_a_share_of_window_or_flight() {
    let threshold = |algorithm: Algorithm, rules, flight| {
        let mut sender = Sender::new(config(algorithm, rules, 20));
        assert_eq!(sender.write(flight), flight as usize);
        sender.now += MS(100);
        sender.ack_with(0, 3, 0);
        sender.threshold()
    };
    let dctcp = || Algorithm::Dctcp(DctcpParameters::default());
    let cases = [
        (Algorithm::NewReno, WindowRules::Rfc, 10, 5),
        (Algorithm::NewReno, WindowRules::Linux, 10, 10),
        (Algorithm::NewReno, WindowRules::Linux, 20, 10),
        (cubic(), WindowRules::Rfc, 10, 7),
        // 717 / 1024 of 20 are 14.004.
        (cubic(), WindowRules::Linux, 10, 14),
        (dctcp(), WindowRules::Rfc, 10, 5),
        (dctcp(), WindowRules::Linux, 10, 10),
    ];
    for (algorithm, rules, flight, expected) in cases {
        let name = algorithm.to_string();
        assert_eq!(threshold(algorithm, rules, flight), expected, "{name}, {rules:?}, {flight} in flight");
    }
}

/// During the first recovery 12 new segments go out behind the hole. FlightSize is 30 and more then, and a second loss after it
/// must not be measured by that.
#[test]
fn what_a_recovery_sends_does_not_raise_the_next_threshold() {
    for rules in [WindowRules::Rfc, WindowRules::Linux] {
        let mut sender = Sender::new(config(cubic(), rules, 20));
        assert_eq!(sender.write(1000), 20);
        let mut thresholds = Vec::new();
        let mut una = 0;
        for _ in 0..6 {
            // Each retransmission is lost once, so that recovery goes on while everything behind the hole arrives.
            let window = sender.window();
            for step in 0..4 {
                sender.now += MS(100);
                let sent = (sender.end.snapshot().in_flight / MSS).saturating_sub(1);
                let behind = sent.max(3);
                sender.ack_with(una, behind, 0);
                if step == 0 {
                    thresholds.push((window, sender.threshold()));
                }
            }
            sender.now += MS(100);
            una += sender.end.snapshot().in_flight / MSS;
            sender.ack(una);
            sender.now += MS(100);
        }
        for (window, threshold) in &thresholds {
            assert!(*threshold <= window * 7 / 10 + 1, "{rules:?}: {thresholds:?}");
        }
        assert!(thresholds.last().unwrap().1 < 14, "{rules:?}: it falls with each loss: {thresholds:?}");
    }
}

#[test]
fn recovery_ends_at_the_threshold() {
    for rules in [WindowRules::Rfc, WindowRules::Linux] {
        let mut sender = Sender::new(config(Algorithm::NewReno, rules, 20));
        sender.write(1000);
        sender.now += MS(100);
        sender.ack_with(0, 3, 0);
        sender.now += MS(100);
        sender.ack(20);
        assert_eq!((sender.window(), sender.threshold()), (10, 10), "{rules:?}");
    }
}

/// Nothing comes back: the first timeout halves, the second does not; RFC 5681 goes on with one segment, Linux with one more than
/// what may still be on its way, which is nothing by then.
#[test]
fn a_timeout_reduces_once_an_episode() {
    for (rules, flight, threshold) in
        [(WindowRules::Rfc, 10, 5), (WindowRules::Linux, 10, 10), (WindowRules::Linux, 20, 10)]
    {
        let mut sender = Sender::new(config(Algorithm::NewReno, rules, 20));
        sender.write(flight);
        sender.pause(MS(1_500));
        assert!(sender.end.timeouts() >= 2, "{rules:?}");
        assert_eq!((sender.window(), sender.threshold()), (1, threshold), "{rules:?}, {flight} in flight");
    }
}

/// A window of which a sender uses 4 of 10 segments stays; one that is full grows; Linux lets slow start grow one that is more than
/// half used.
#[test]
fn the_window_grows_while_it_is_the_limit() {
    let after = |rules, flight: u64| {
        let mut sender = Sender::new(config(Algorithm::NewReno, rules, 10));
        sender.write(flight);
        sender.now += MS(100);
        sender.ack(flight);
        sender.window()
    };
    for (rules, flight, window) in [
        (WindowRules::Linux, 4, 10),
        (WindowRules::Linux, 5, 10),
        (WindowRules::Linux, 6, 16),
        (WindowRules::Linux, 10, 20),
        (WindowRules::Rfc, 4, 10),
        (WindowRules::Rfc, 10, 20),
    ] {
        assert_eq!(after(rules, flight), window, "{rules:?}, {flight} of 10");
    }
}

/// In congestion avoidance more than half is not enough; and a flight that has filled the window once counts to its end.
#[test]
fn in_congestion_avoidance_only_a_full_window_grows() {
    let after = |flight: u64| {
        let mut sender = Sender::new(config(Algorithm::NewReno, WindowRules::Linux, 20));
        sender.write(20);
        sender.now += MS(100);
        sender.ack_with(0, 19, 0);
        sender.now += MS(100);
        sender.ack(20);
        assert_eq!((sender.window(), sender.threshold()), (10, 10));
        sender.write(flight);
        sender.now += MS(100);
        for n in 1..=flight {
            sender.ack(20 + n);
        }
        sender.window()
    };
    assert_eq!([after(9), after(10)], [10, 11]);
}

/// Writes of 12 segments every 150 ms in a window of 40: after a timeout, 300 ms here, Linux goes halfway to what is used, not below the
/// initial window. RFC 5681 says nothing of it.
#[test]
fn a_window_that_is_not_used_decays() {
    let decayed = |rules| {
        let mut sender = Sender::new(config(Algorithm::NewReno, rules, 10));
        let mut una = 0;
        for burst in [10, 20] {
            sender.write(burst);
            sender.now += MS(100);
            una += burst;
            sender.ack(una);
        }
        assert_eq!(sender.window(), 40);
        let mut seen = Vec::new();
        for _ in 0..8 {
            sender.write(12);
            sender.now += MS(100);
            una += 12;
            sender.ack(una);
            sender.now += MS(50);
            seen.push(sender.window());
        }
        seen
    };
    assert_eq!(decayed(WindowRules::Rfc), [40; 8]);
    // (40 + 12) / 2 = 26; (26 + 12) / 2 = 19, of which more than half is used, so that slow start adds 12; and again from 31 to 21.5.
    assert_eq!(decayed(WindowRules::Linux), [40, 40, 26, 26, 31, 31, 33, 33]);
}

/// Half of the window for each timeout of 300 ms that passes, down to the initial window; the threshold keeps three quarters.
#[test]
fn idling_halves_the_window_once_a_timeout() {
    let after = |rules, idle: u64| {
        let mut sender = Sender::new(config(Algorithm::NewReno, rules, 5));
        let mut una = 0;
        for burst in [5, 10, 20] {
            sender.write(burst);
            sender.now += MS(100);
            una += burst;
            sender.ack(una);
        }
        assert_eq!(sender.window(), 40);
        sender.pause(MS(idle));
        // The last segment left 100 ms before it was acknowledged.
        let sent = sender.write(1000);
        assert_eq!(sent as u64, sender.window(), "{idle} ms");
        sender.window()
    };
    let linux = [200, 201, 500, 501, 800, 801, 1_100, 1_101, 60_000].map(|idle| after(WindowRules::Linux, idle));
    assert_eq!(linux, [40, 20, 20, 10, 10, 5, 5, 5, 5]);
    assert_eq!([200, 201, 60_000].map(|idle| after(WindowRules::Rfc, idle)), [40, 5, 5]);
}

#[test]
fn idling_keeps_three_quarters_as_the_threshold() {
    let after = |rules| {
        let mut sender = Sender::new(config(Algorithm::NewReno, rules, 20));
        sender.write(20);
        sender.now += MS(100);
        sender.ack_with(0, 19, 0);
        sender.now += MS(100);
        sender.ack(20);
        // From 10 in congestion avoidance to 16.
        let mut una = 20;
        while sender.window() < 16 {
            let burst = sender.window();
            sender.write(burst);
            sender.now += MS(100);
            una += burst;
            sender.ack(una);
        }
        assert_eq!(sender.threshold(), 10);
        sender.config.initial_window = InitialWindow::Segments(4);
        sender.pause(MS(750));
        sender.write(1);
        (sender.window(), sender.threshold())
    };
    assert_eq!(after(WindowRules::Linux), (4, 12));
    assert_eq!(after(WindowRules::Rfc), (4, 10));
}

/// A mark on a window of 20: RFC 3168 halves it at once, so that ten acknowledgements let nothing out; Linux spreads that, and every
/// second acknowledgement lets a segment out.
#[test]
fn linux_spreads_the_reduction_for_a_mark() {
    let sent = |rules| {
        let ecn = EcnEcho::UntilAnswered;
        let mut sender = Sender::new(Config { ecn, ..config(Algorithm::NewReno, rules, 20) });
        sender.write(1000);
        sender.now += MS(100);
        let sent: Vec<usize> = (1..=20).map(|n| sender.ack_with(n, 0, if n == 1 { Flags::ECE } else { 0 })).collect();
        sender.now += MS(100);
        sender.ack(21);
        ([sent[..10].iter().sum::<usize>(), sent.iter().sum()], sender.window(), sender.threshold())
    };
    assert_eq!(sent(WindowRules::Rfc), ([0, 10], 10, 10));
    assert_eq!(sent(WindowRules::Linux), ([5, 10], 10, 10));
}

/// The first of 20 segments is marked; a loss is noticed in the same flight, at its very end, or behind it. Both sets of rules reduce
/// once a window of data: to 14 with CUBIC, to 10 with NewReno. In Linux DCTCP is the exception. The mark takes it from 20 to
/// 10 (alpha is 1) over a round trip; a loss halves what the window is by then, 17 after six arrivals. A loss behind the flight is a
/// new one. A hole at the very end is new by the RFCs, and still one of the old flight in Linux.
#[test]
fn a_loss_after_a_mark_reduces_once_but_for_dctcp_of_linux() {
    let threshold = |algorithm: &Algorithm, rules, una: u64| {
        let dctcp = matches!(algorithm, Algorithm::Dctcp(_));
        let ecn = if dctcp { EcnEcho::EachMark } else { EcnEcho::UntilAnswered };
        let mut sender = Sender::new(Config { ecn, prr: true, ..config(algorithm.clone(), rules, 20) });
        sender.write(1000);
        sender.now += MS(100);
        sender.ack_with(1, 0, Flags::ECE);
        for n in 2..=una {
            sender.ack(n);
        }
        sender.ack_with(una, 1, 0);
        sender.ack_with(una, 2, 0);
        let window = sender.window();
        sender.ack_with(una, 3, 0);
        assert_eq!(sender.end.snapshot().phase, Phase::Recovery);
        (window, sender.threshold())
    };
    let dctcp = Algorithm::Dctcp(DctcpParameters::default());
    let cases = [
        (Algorithm::NewReno, WindowRules::Rfc, [10, 5, 5]),
        (Algorithm::NewReno, WindowRules::Linux, [10, 10, 5]),
        (cubic(), WindowRules::Rfc, [14, 9, 9]),
        (cubic(), WindowRules::Linux, [14, 14, 9]),
        (dctcp.clone(), WindowRules::Rfc, [10, 5, 5]),
        (dctcp, WindowRules::Linux, [8, 5, 5]),
    ];
    for (algorithm, rules, expected) in cases {
        // The flight of the mark ends with segment 20.
        let seen = [4, 20, 21].map(|una| threshold(&algorithm, rules, una));
        assert_eq!(seen.map(|(_, threshold)| threshold), expected, "{algorithm}, {rules:?}: {seen:?}");
    }
}

/// A transfer over a path that loses and marks.
#[derive(Clone, Debug)]
struct Course {
    algorithm: Algorithm,
    rules: WindowRules,
    seed: u64,
    loss: u64,
    sack: bool,
    rack: bool,
    prr: bool,
    marks: u64,
}

fn course() -> impl Strategy<Value = Course> {
    let algorithms = Algorithm::all().into_iter().filter(|algorithm| *algorithm != Algorithm::Bbr).collect::<Vec<_>>();
    let rules = prop_oneof![Just(WindowRules::Rfc), Just(WindowRules::Linux)];
    let switches = any::<[bool; 3]>();
    (prop::sample::select(algorithms), rules, any::<u64>(), 5u64..150, switches, prop_oneof![Just(0), 1u64..100])
        .prop_map(|(algorithm, rules, seed, loss, [sack, rack, prr], marks)| Course {
            algorithm,
            rules,
            seed,
            loss,
            sack,
            rack,
            prr,
            marks,
        })
}

/// Runs a course; each reduction as the window before it, the window after it and the threshold, in bytes.
fn reductions(course: &Course) -> Vec<(WindowCause, [u64; 3])> {
    let config = Config {
        sack: if course.sack { Sack::WithDuplicates } else { Sack::Off },
        rack: course.sack && course.rack,
        prr: course.prr,
        ecn: if course.marks > 0 { EcnEcho::UntilAnswered } else { EcnEcho::Off },
        ..config(course.algorithm.clone(), course.rules, 10)
    };
    let limits = Limits { mss: MSS as u16, max_window: 1 << 20 };
    let mut pair = Pair::new(config, [limits; 2], MS(20));
    let mut stream = Stream::new(course.seed, Purpose::Loss, 0);
    let (loss, marks) = (course.loss, course.marks);
    pair.pipe = Some(Box::new(move |_, segment| {
        if segment.ecn.is_capable() && stream.below(1000) < marks {
            segment.ecn = Ecn::Ce;
        }
        if stream.below(1000) < loss { Vec::new() } else { vec![Duration::ZERO] }
    }));
    pair.ends[0].write(400 * MSS);
    pair.ends[0].close();
    pair.ends[1].close();
    pair.kick();
    let mut seen = Vec::new();
    let mut before = u64::from(pair.ends[0].congestion_window());
    let mut threshold = pair.ends[0].snapshot().threshold;
    while pair.next_event().is_some_and(|next| next < Time::ZERO + Duration::from_secs(100_000)) {
        pair.step();
        let now = pair.ends[0].snapshot();
        let (window, cause) = (u64::from(pair.ends[0].congestion_window()), pair.ends[0].window_cause());
        let reduced = matches!(cause, WindowCause::Loss | WindowCause::Mark | WindowCause::Timeout);
        if reduced && now.threshold != threshold {
            seen.push((cause, [before, window, u64::from(now.threshold)]));
        }
        // A reduction that is spread, and a recovery, may be below their threshold for a while, and end at it.
        let ends_at = if matches!(now.phase, Phase::Reduced | Phase::Recovery) { u64::from(now.threshold) } else { 0 };
        (before, threshold) = (window.max(ends_at), now.threshold);
    }
    assert!(pair.ends[0].is_closed(), "it did not end: {course:?}");
    seen
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, rng_seed: RngSeed::Fixed(31), failure_persistence: None, ..ProptestConfig::default() })]

    /// No reduction raises the window, and the threshold is at most beta of the window before it, each but for a segment; two segments
    /// are always allowed.
    #[test]
    fn no_reduction_raises_the_window(course in course()) {
        let most = match (&course.algorithm, course.marks > 0) {
            (Algorithm::Cubic(_), _) => 0.7003,
            // DCTCP answers marks by their share.
            (Algorithm::Dctcp(_), true) => 1.0,
            _ => 0.5,
        };
        // Without SACK the three duplicates are added to the window (RFC 5681 section 3.2, step 3).
        let inflated = if course.sack { 0 } else { 3 * MSS };
        for (cause, [before, window, threshold]) in reductions(&course) {
            let two = 2 * MSS;
            prop_assert!(window <= (before + MSS).max(two) + inflated, "{cause}: {before} to {window}");
            let bound = (most * before as f64) as u64 + MSS;
            prop_assert!(threshold <= bound.max(two), "{cause}: threshold {threshold} of a window of {before}");
        }
    }
}
