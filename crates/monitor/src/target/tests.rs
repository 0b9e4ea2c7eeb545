//! Targets as stories: what was answered when, and what was found.

use super::*;

const S: u64 = 1_000_000_000;

fn at(seconds: u64) -> Moment {
    Moment { monotonic_ns: seconds * S, wall_ns: (1_000_000 + seconds) * S }
}

fn octets() -> Vec<Vec<CounterInfo>> {
    let info = |name: &str, class, kind| CounterInfo { name: name.to_owned(), unit: "octets".to_owned(), class, kind };
    vec![vec![info("in", Class::Octets, None)]]
}

/// Answers of one port with a counter, of which the index, the uptime and the count are given.
struct Story {
    tracker: Tracker,
    bits: Option<u64>,
    width: Width,
    /// What was counted until now, where a test keeps it.
    told: u64,
}

impl Story {
    fn new(bits: Option<u64>, width: Width) -> Story {
        let mut tracker = Tracker::new(octets());
        tracker.take();
        Story { tracker, bits, width, told: 0 }
    }

    fn answer(&mut self, seconds: u64, uptime: u32, index: &str, count: u64) -> Vec<Event> {
        let received = at(seconds);
        let port = PortReading {
            group: 0,
            name: "eth0".to_owned(),
            index: index.to_owned(),
            received,
            discontinuity: None,
            speed: self.bits.map(|bits_per_second| Speed { bits_per_second, is_stated: false }),
            readings: vec![Reading::Counts(vec![(count, self.width)])],
        };
        self.answer_with(seconds, uptime, vec![port])
    }

    fn answer_with(&mut self, seconds: u64, uptime: u32, ports: Vec<PortReading>) -> Vec<Event> {
        let received = at(seconds);
        let (asked, uptime) = (received, Some((uptime * 100, received)));
        self.tracker.answered(Answer { asked, received, uptime, ports, own_packets: 2 });
        self.found()
    }

    fn failed(&mut self, seconds: u64) -> Vec<Event> {
        self.tracker.failed(at(seconds), Reason::NoAnswer, 1);
        self.found()
    }

    /// What was found of the port and of gaps of the target.
    fn found(&mut self) -> Vec<Event> {
        let mut events = self.tracker.take();
        for event in &mut events {
            if let Event::Samples { samples, .. } = event {
                samples.retain(|(series, _)| *series > OWN_PACKETS);
            }
        }
        events.retain(|event| !matches!(event, Event::Samples { samples, .. } if samples.is_empty()));
        events
    }
}

fn sample(seconds: u64, span: u64, amount: u64) -> Event {
    Event::Samples { time_ns: at(seconds).wall_ns, span_ns: span * S, samples: vec![(2, amount)] }
}

fn gap(series: u32, from: u64, to: u64, reason: Reason, amount: Option<u64>) -> Event {
    Event::Gap { series, start_ns: at(from).wall_ns, end_ns: at(to).wall_ns, reason, amount }
}

#[test]
fn counters_are_sampled_from_the_second_answer_on() {
    let mut story = Story::new(Some(1_000_000_000), Width::Bits32);
    assert!(matches!(&story.answer(10, 500, "1", 4_294_960_000)[..], [Event::Defined { series: 2, .. }]));
    // It wraps.
    assert_eq!(story.answer(20, 510, "1", 12_000), [sample(20, 10, 19_296)]);
    assert_eq!(story.answer(31, 521, "1", 12_500), [sample(31, 11, 500)]);
}

#[test]
fn answers_that_are_missing_make_a_gap() {
    let mut story = Story::new(None, Width::Bits64);
    story.answer(10, 500, "1", 100);
    assert_eq!(story.failed(21), [gap(0, 10, 21, Reason::NoAnswer, None)]);
    assert_eq!(story.failed(31), [gap(0, 21, 31, Reason::NoAnswer, None)]);
    // What was counted meanwhile is known, and is no sample: it may have been a peak.
    let found = story.answer(40, 530, "1", 1_100);
    assert_eq!(found, [gap(0, 31, 40, Reason::NoAnswer, None), gap(2, 10, 40, Reason::NoAnswer, Some(1_000))]);
    assert_eq!(story.answer(50, 540, "1", 1_200), [sample(50, 10, 100)]);
}

#[test]
fn a_restart_makes_no_spike() {
    for (count, uptime) in [(5, 3), (99_999, 3), (5, 505)] {
        let mut story = Story::new(Some(1_000_000_000), Width::Bits32);
        story.answer(10, 500, "1", 4_000_000_000);
        let found = story.answer(20, uptime, "1", count);
        assert_eq!(found, [gap(0, 10, 20, Reason::Restart, None), gap(2, 10, 20, Reason::Restart, None)]);
        assert_eq!(story.answer(30, uptime + 10, "1", count + 7), [sample(30, 10, 7)]);
    }
    // In a gap.
    let mut story = Story::new(None, Width::Bits64);
    story.answer(10, 500, "1", 100);
    story.failed(20);
    let found = story.answer(30, 5, "1", 2_000);
    assert_eq!(found[1..], [gap(2, 10, 30, Reason::Restart, None)]);
}

#[test]
fn a_port_with_another_index_is_another() {
    let mut story = Story::new(None, Width::Bits64);
    story.answer(10, 500, "1", 100);
    assert_eq!(story.answer(20, 510, "7", 90_000_000), [gap(2, 10, 20, Reason::IndexChange, None)]);
    assert_eq!(story.answer(30, 520, "7", 90_000_001), [sample(30, 10, 1)]);
    // It goes and comes back.
    assert_eq!(story.answer_with(40, 530, vec![]), [gap(2, 30, 40, Reason::Absent, None)]);
    assert_eq!(story.answer_with(50, 540, vec![]), [gap(2, 40, 50, Reason::Absent, None)]);
    assert_eq!(story.answer(60, 550, "7", 5), [gap(2, 50, 60, Reason::Absent, None)]);
    assert_eq!(story.answer(70, 560, "7", 6), [sample(70, 10, 1)]);
}

#[test]
fn resets_are_recognised() {
    let mut story = Story::new(Some(10_000_000), Width::Bits64);
    story.answer(10, 500, "1", 1 << 60);
    assert_eq!(story.answer(20, 510, "1", 10), [gap(2, 10, 20, Reason::Reset, None)]);
    // The agent says so, though the counter went up.
    let port = |seconds, discontinuity, count| PortReading {
        group: 0,
        name: "eth0".to_owned(),
        index: "1".to_owned(),
        received: at(seconds),
        discontinuity: Some(discontinuity),
        speed: None,
        readings: vec![Reading::Counts(vec![(count, Width::Bits64)])],
    };
    assert_eq!(story.answer_with(30, 520, vec![port(30, 0, 20)]), [sample(30, 10, 10)]);
    let found = story.answer_with(40, 530, vec![port(40, 52_500, 9_000)]);
    assert_eq!(found, [gap(2, 30, 40, Reason::Reset, None)]);
}

#[test]
fn a_wrong_answer_makes_no_spike() {
    // A gigabit port that carries 1,000 octets a second, and once says 0.
    let mut story = Story::new(Some(1_000_000_000), Width::Bits64);
    story.answer(10, 500, "1", 10_000_000_000_000);
    assert_eq!(story.answer(20, 510, "1", 0), [gap(2, 10, 20, Reason::Reset, None)]);
    assert_eq!(story.answer(30, 520, "1", 10_000_000_020_000), [gap(2, 20, 30, Reason::AboveCapacity, None)]);
    assert_eq!(story.answer(40, 530, "1", 10_000_000_030_000), [sample(40, 10, 10_000)]);
    // A true reset.
    assert_eq!(story.answer(50, 540, "1", 500), [gap(2, 40, 50, Reason::Reset, None)]);
    assert_eq!(story.answer(60, 550, "1", 2_500_000_500), [sample(60, 10, 2_500_000_000)]);
    // Later the port may be faster than its agent knows.
    assert_eq!(story.answer(70, 560, "1", 12_500_000_500), [sample(70, 10, 10_000_000_000)]);
}

#[test]
fn a_wrong_answer_of_an_unknown_port_makes_none() {
    let mut story = Story::new(None, Width::Bits64);
    story.answer(10, 500, "1", 10_000_000_000_000);
    assert_eq!(story.answer(20, 510, "1", 0), [gap(2, 10, 20, Reason::Reset, None)]);
    assert_eq!(story.answer(30, 520, "1", 10_000_000_020_000), [gap(2, 20, 30, Reason::AboveCapacity, None)]);
    assert_eq!(story.answer(40, 530, "1", 10_000_000_030_000), [sample(40, 10, 10_000)]);
    // A true reset.
    assert_eq!(story.answer(50, 540, "1", 500), [gap(2, 40, 50, Reason::Reset, None)]);
    assert_eq!(story.answer(60, 550, "1", 900), [sample(60, 10, 400)]);
    // After a restart nothing is doubted.
    assert_eq!(story.answer(70, 5, "1", 100)[1..], [gap(2, 60, 70, Reason::Restart, None)]);
    assert_eq!(story.answer(80, 15, "1", 5_000), [sample(80, 10, 4_900)]);
}

#[test]
fn an_absence_is_told_while_it_lasts() {
    let mut story = Story::new(None, Width::Bits64);
    story.answer(10, 500, "1", 100);
    let (mut told, mut rows) = (10, 0);
    for seconds in (20..100_000).step_by(10) {
        for event in story.answer_with(seconds, 490 + seconds as u32, vec![]) {
            let Event::Gap { series: 2, start_ns, end_ns, reason: Reason::Absent, amount: None } = event else {
                panic!("{event:?}")
            };
            assert_eq!((start_ns, end_ns), (at(told).wall_ns, at(seconds).wall_ns));
            (told, rows) = (seconds, rows + 1);
        }
        assert!((seconds - told) * 16 < seconds, "{seconds}");
    }
    // 16 times the logarithm of the number of answers: a day is told in some hundred rows of 10,000.
    assert!(rows < 16 * 10, "{rows}");
    story.tracker.end();
    assert_eq!(story.found(), [gap(2, told, 99_990, Reason::Absent, None)]);
    // It comes back.
    assert_eq!(story.answer(100_000, 100_490, "1", 5), [gap(2, 99_990, 100_000, Reason::Absent, None)]);
}

#[test]
fn a_port_may_become_faster_and_slower() {
    // It carries all that it can: 10 Mbit/s, then 1 Gbit/s, then 10 Mbit/s again.
    let (slow, fast) = (Some(10_000_000), Some(1_000_000_000));
    let mut story = Story::new(slow, Width::Bits32);
    story.answer(10, 500, "1", 4_294_000_000);
    for (seconds, bits, octets) in [
        (20, slow, 12_500_000),
        (30, fast, 700_000_000),
        (40, fast, 1_250_000_000),
        (50, slow, 900_000_000),
        (60, slow, 12_500_000),
    ] {
        story.bits = bits;
        let before: u64 = 4_294_000_000 + story.told;
        story.told += octets;
        let count = (before + octets) % (1 << 32);
        assert_eq!(story.answer(seconds, 490 + seconds as u32, "1", count), [sample(seconds, 10, octets)]);
    }
}

#[test]
fn a_name_that_comes_twice_is_one_port() {
    let mut story = Story::new(None, Width::Bits64);
    let port = |seconds, count| PortReading {
        group: 0,
        name: "eth0".to_owned(),
        index: "1".to_owned(),
        received: at(seconds),
        discontinuity: None,
        speed: None,
        readings: vec![Reading::Counts(vec![(count, Width::Bits64)])],
    };
    story.answer_with(10, 500, vec![port(10, 1), port(10, 1_000_000)]);
    let found = story.answer_with(20, 510, vec![port(20, 3), port(20, 9_000_000)]);
    assert_eq!(found, [sample(20, 10, 2)]);
}

#[test]
fn counters_that_add_up_wrap_one_by_one() {
    use Width::{Bits32, Bits64};
    let most = u64::from(u32::MAX);
    assert_eq!(
        amount(
            &[(most, Bits32), (5, Bits32)],
            &[(1, Bits32), (7, Bits32)],
            S,
            false,
            Some(Capacity { per_second: 1_000, is_stated: false })
        ),
        Ok(4)
    );
    assert_eq!(amount(&[(1, Bits32)], &[(2, Bits64)], S, false, None), Err(Reason::Reset));
    let one_went_back = amount(&[(9, Bits32), (5, Bits32)], &[(1, Bits32), (7, Bits32)], S, false, None);
    assert_eq!(one_went_back, Err(Reason::Reset));
}

#[test]
fn a_counter_may_be_missing_for_a_while() {
    let mut story = Story::new(None, Width::Bits64);
    story.answer(10, 500, "1", 100);
    let missing = |seconds| PortReading {
        group: 0,
        name: "eth0".to_owned(),
        index: "1".to_owned(),
        received: at(seconds),
        discontinuity: None,
        speed: None,
        readings: vec![Reading::None],
    };
    assert_eq!(story.answer_with(20, 510, vec![missing(20)]), [gap(2, 10, 20, Reason::Absent, None)]);
    assert_eq!(story.answer(30, 520, "1", 300), [gap(2, 20, 30, Reason::Absent, None)]);
    assert_eq!(story.answer(40, 530, "1", 301), [sample(40, 10, 1)]);
}

#[test]
fn values_are_samples_as_they_are() {
    let info =
        CounterInfo { name: "backlog".to_owned(), unit: "octets".to_owned(), class: Class::Own(None), kind: None };
    let mut story = Story { tracker: Tracker::new(vec![vec![info]]), bits: None, width: Width::Bits64, told: 0 };
    let port = |seconds, value| PortReading {
        group: 0,
        name: "q".to_owned(),
        index: "1".to_owned(),
        received: at(seconds),
        discontinuity: None,
        speed: None,
        readings: vec![Reading::Value(value)],
    };
    story.answer_with(10, 500, vec![port(10, 7)]);
    assert_eq!(story.answer_with(20, 510, vec![port(20, 3)]), [sample(20, 10, 3)]);
}

#[test]
fn counters_that_add_up_to_more_than_any_do_not_wrap() {
    let huge = |value: u64| vec![(value, Width::Bits64); 2];
    let days = 86_400 * S;
    assert_eq!(amount(&huge(0), &huge(u64::MAX), 30 * days, false, None), Ok(u64::MAX));
    assert_eq!(amount(&huge(0), &huge(5), S, false, None), Ok(10));
}

/// Clocks that are read one after the other, and may be held up between: the real time is jittered by up to `jitter_ns`.
fn jittered(answers: u64, interval_ns: u64, jitter_ns: u64) -> Vec<(u64, u64)> {
    let mut tracker = Tracker::new(octets());
    let (mut samples, mut random) = (Vec::new(), 1_u64);
    for number in 0..answers {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let monotonic_ns = number * interval_ns;
        let wall_ns = 1_000_000 * S + monotonic_ns + (random >> 33) % jitter_ns.max(1);
        let received = Moment { monotonic_ns, wall_ns };
        let port = PortReading {
            group: 0,
            name: "eth0".to_owned(),
            index: "1".to_owned(),
            received,
            discontinuity: None,
            speed: None,
            readings: vec![Reading::Counts(vec![(number * 1_000, Width::Bits64)])],
        };
        let asked = received;
        tracker.answered(Answer { asked, received, uptime: None, ports: vec![port], own_packets: 2 });
        for event in tracker.take() {
            if let Event::Samples { time_ns, span_ns, samples: some } = event
                && some.iter().any(|(series, _)| *series == 2)
            {
                samples.push((time_ns, span_ns));
            }
        }
    }
    samples
}

/// How many samples do not begin where the one before ended.
fn apart(samples: &[(u64, u64)]) -> usize {
    samples.windows(2).filter(|pair| pair[1].0 - pair[1].1 != pair[0].0).count()
}

#[test]
fn samples_follow_each_other_whatever_the_clocks_jitter() {
    for interval_ns in [S / 100, S, 60 * S] {
        for jitter_ns in [0, 100, 10_000, 1_000_000, 50_000_000] {
            let samples = jittered(500, interval_ns, jitter_ns);
            let what = format!("{interval_ns} ns, jitter of {jitter_ns} ns");
            assert_eq!((samples.len(), apart(&samples)), (499, 0), "{what}");
            // No rate is off by more than a thousandth, no time by more than the jitter.
            let is_near = |span_ns: u64| span_ns.abs_diff(interval_ns) <= interval_ns / 1_000;
            assert!(samples.iter().all(|(_, span_ns)| is_near(*span_ns)), "{what}");
            let time = |number: u64| 1_000_000 * S + number * interval_ns;
            let off = samples.iter().zip(1..).map(|((at, _), number)| at.abs_diff(time(number)));
            assert!(off.max().unwrap() <= jitter_ns, "{what}");
        }
    }
}

#[test]
fn samples_follow_each_other_by_real_clocks() {
    let mut tracker = Tracker::new(octets());
    let mut samples = Vec::new();
    for number in 0..200 {
        let received = Moment::now();
        tracker.answered(Answer { asked: received, received, uptime: None, ports: Vec::new(), own_packets: number });
        for event in tracker.take() {
            if let Event::Samples { time_ns, span_ns, samples: some } = event
                && some.iter().any(|(series, _)| *series == OWN_PACKETS)
            {
                samples.push((time_ns, span_ns));
            }
        }
        crate::clock::Bell::default().wait_until(received.monotonic_ns + 1_000_000);
    }
    assert_eq!((samples.len(), apart(&samples)), (199, 0));
}

#[test]
fn a_clock_that_is_slewed_or_set_is_followed() {
    // 500 millionths fast, as the kernel slews at most; then it is set forward by an hour, and back by ten.
    let mut tracker = Tracker::new(octets());
    let mut times = Vec::new();
    for second in 0..4_000_u64 {
        let mut wall_ns = 1_000_000 * S + second * S + second * S / 2_000;
        wall_ns += if second >= 2_000 { 3_600 * S } else { 0 };
        wall_ns -= if second >= 3_000 { 36_000 * S } else { 0 };
        let received = Moment { monotonic_ns: second * S, wall_ns };
        tracker.answered(Answer { asked: received, received, uptime: None, ports: Vec::new(), own_packets: 1 });
        for event in tracker.take() {
            if let Event::Samples { time_ns, span_ns, samples } = event
                && samples.iter().any(|(series, _)| *series == OWN_PACKETS)
            {
                times.push((second, time_ns, span_ns));
                assert_eq!(time_ns, wall_ns, "second {second}");
                assert!(span_ns.abs_diff(S) <= S / 1_000, "second {second}: {span_ns}");
            }
        }
    }
    let apart = times.windows(2).filter(|pair| pair[1].1.abs_diff(pair[1].2) != pair[0].1).map(|pair| pair[1].0);
    assert_eq!(apart.collect::<Vec<_>>(), [2_000, 3_000]);
}

#[test]
fn wrong_answers_in_a_row_make_no_spike() {
    // 64 bits, of a port of which nothing is known, every second.
    let known = 10_000_000_000_000;
    let mut story = Story::new(None, Width::Bits64);
    story.answer(10, 500, "1", known);
    assert_eq!(story.answer(11, 501, "1", 0), [gap(2, 10, 11, Reason::Reset, None)]);
    assert_eq!(story.answer(12, 502, "1", 0), [sample(12, 1, 0)]);
    assert_eq!(story.answer(13, 503, "1", known + 1_000), [gap(2, 12, 13, Reason::AboveCapacity, None)]);
    // Again, and then one that is lower still.
    assert_eq!(story.answer(14, 504, "1", 7), [gap(2, 13, 14, Reason::Reset, None)]);
    assert_eq!(story.answer(15, 505, "1", 3), [gap(2, 14, 15, Reason::Reset, None)]);
    assert_eq!(story.answer(16, 506, "1", known + 3_000), [gap(2, 15, 16, Reason::AboveCapacity, None)]);
    assert_eq!(story.answer(17, 507, "1", known + 4_000), [sample(17, 1, 1_000)]);
    // A card that reboots: silent, then 0 for a while.
    story.failed(18);
    let found = story.answer(19, 509, "1", 0);
    assert_eq!(found[1..], [gap(2, 17, 19, Reason::Reset, None)]);
    assert_eq!(story.answer(20, 510, "1", 0), [sample(20, 1, 0)]);
    story.failed(21);
    let found = story.answer(22, 512, "1", known + 9_000);
    assert_eq!(found[1..], [gap(2, 20, 22, Reason::AboveCapacity, None)], "an amount would be a spike too");
    assert_eq!(story.answer(23, 513, "1", known + 10_000), [sample(23, 1, 1_000)]);
}

#[test]
fn a_doubt_ends_after_an_hour() {
    let mut story = Story::new(None, Width::Bits64);
    story.answer(10, 500, "1", 1_000_000);
    assert_eq!(story.answer(20, 510, "1", 10), [gap(2, 10, 20, Reason::Reset, None)]);
    for minute in 1..=61 {
        let seconds = 20 + minute * 60;
        assert_eq!(story.answer(seconds, 490 + seconds as u32, "1", 10 + minute), [sample(seconds, 60, 1)]);
    }
    assert_eq!(story.answer(3_740, 4_230, "1", 1_000_071), [sample(3_740, 60, 1_000_000)]);
}

#[test]
fn a_reset_that_is_overtaken_costs_one_sample() {
    // A counter of which nothing is known; it counts more in an interval than it had.
    let mut story = Story::new(None, Width::Bits64);
    story.answer(10, 500, "1", 700);
    assert_eq!(story.answer(20, 510, "1", 500), [gap(2, 10, 20, Reason::Reset, None)]);
    assert_eq!(story.answer(30, 520, "1", 5_500), [sample(30, 10, 5_000)]);
    assert_eq!(story.answer(40, 530, "1", 5_501), [sample(40, 10, 1)]);
}
