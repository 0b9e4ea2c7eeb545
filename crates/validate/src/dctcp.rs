//! DCTCP over step marking, beside the analysis of its authors (Alizadeh et al., SIGCOMM 2010, section 3.3).
//!
//! N synchronised flows share a link of C packets a second, which marks while more than K packets wait. Each window grows by a
//! segment a round trip until N W* = C RTT + K; for one round trip every packet is marked, in which each window grows by one
//! segment more, and is then cut by alpha / 2, alpha being the share of packets that is marked. From this the paper has the
//! longest queue, K + N, and the amplitude of the queue, N (W* + 1) alpha / 2, or about sqrt(2 N (C RTT + K)) / 2.
//!
//! The formula holds for gains g below 1.386 / sqrt(2 (C RTT + K)) (equation 15), which let the estimate of alpha fall to half
//! within a cycle. Even then a sender departs from it in two ways. The first mark finds the estimate where it is lowest, just before
//! the marked window counts: at the bound that makes the amplitude a sixth smaller. And a cut of D takes D + 2 round trips to make good, not
//! D: the window does not grow while marks are echoed (RFC 3168 section 6.1.2), and it grows by whole segments. The
//! larger the window, the less that matters. So there are two paths:
//!
//! - [`LONG`]: C RTT + K = 1,000, bound 0.031, g = 1/64, the largest power of two below it. The amplitude is within 15 % of the formula.
//! - [`SHORT`]: C RTT + K = 240, bound 0.0633, g = 1/16, the default of RFC 8257. The amplitude is that of [`crate::sawtooth`], a table of the
//!   same rules; for five and ten flows it is within 15 % of the formula, too.
//!
//! Linux spreads a reduction over a round trip, in which the queue passes K only after some packets. These are marked, and the next
//! window is reduced, too. This swings a queue further than the formula, which cuts at once; [`crate::sawtooth`] has both rules.

use flowloom_core::path::Link;
use flowloom_core::queue::{Admission, Queue, StepEnqueue, StepParams};
use flowloom_core::tcp::congestion::{Algorithm, DctcpParameters, WindowCause};
use flowloom_core::tcp::{Config, EcnEcho, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Limit;

use crate::aqm::{link, mean};
use crate::check::{Effort, Expected, Row};
use crate::lab::Outcome;
use crate::marks::{GROUP, begun, reductions, run};
use crate::sawtooth::{self, Swing};

/// Bytes of a full segment on the link.
const FRAME: f64 = 1_514.0;
const RATE: u64 = 1_000_000_000;
/// Seconds that a full segment takes.
const PACKET: f64 = FRAME * 8.0 / RATE as f64;
const SOURCE: &str = "Alizadeh et al. 2010, section 3.3";

/// A link of [`RATE`] that marks while more than `threshold` packets wait; none if that cannot be.
fn step(threshold: u64) -> Option<Link> {
    let params = StepParams { threshold: Limit::Packets(threshold), ..StepParams::default() };
    let step = StepEnqueue::new(params).ok()?;
    Some(link(Queue::Arrival(Admission::Step(Box::new(step))), RATE))
}

/// A round-trip time of so many full segments at [`RATE`]. To the nanosecond: with a fraction more only a part of a window
/// would find the queue above its threshold.
fn rtt(packets: u64) -> Duration {
    Duration::from_nanos(packets * 12_112)
}

/// DCTCP whose estimate has the weight 2^-`gain_shift`. Every segment is acknowledged: with delayed acknowledgements
/// segments come in pairs, of which only the second finds the queue above its threshold. Segments leave one by one: the paper knows
/// no bursts, and those of Linux are up to half a window.
fn dctcp(base: Config, gain_shift: u8) -> Config {
    let congestion = Algorithm::Dctcp(DctcpParameters { gain_shift });
    Config { congestion, ecn: EcnEcho::EachMark, delayed_ack: None, bursts: false, ..base }
}

/// The queue in packets that each segment waited for from `settled` on, and when it left.
fn queue(outcome: &Outcome, settled: Time) -> Vec<(Time, f64)> {
    let waits = outcome.waits.iter().filter(|(time, _)| *time > settled);
    waits.map(|(time, wait)| (*time, wait.as_secs_f64() / PACKET)).collect()
}

fn longest(queue: &[(Time, f64)]) -> f64 {
    queue.iter().map(|(_, packets)| *packets).fold(0.0, f64::max)
}

/// The path of the paper's figure 12: 83 packets, and marks beyond 40.
fn figure(push: &mut impl FnMut(&str, &str, Expected, f64), flows: u64, seconds: f64) {
    const THRESHOLD: f64 = 40.0;
    let (rtt, tcp) = (rtt(83), dctcp(Config::default(), 4));
    let Some(link) = step(THRESHOLD as u64) else {
        return push("DCTCP, K = 40", SOURCE, Expected::AtLeast(0.0), f64::NAN);
    };
    let outcome = run(link, &tcp, rtt, flows, seconds);
    let settled = Time::ZERO + Duration::from_secs_f64(seconds / 3.0);
    let queue = queue(&outcome, settled);
    // W*, the window of one flow when marking begins; the share of its bytes that is marked; the queue's swing.
    let count = flows as f64;
    let window = (rtt.as_secs_f64() / PACKET + THRESHOLD) / count;
    let alpha = libm::sqrt(2.0 / window);
    let swing = count * (window + 1.0) * alpha / 2.0;
    let mut push = |name: &str, source: &str, expected, ours| {
        push(&format!("DCTCP, K = 40, flows: {flows}: {name}"), source, expected, ours);
    };
    let expected = Expected::Within { value: THRESHOLD + count, by: 1.0 };
    push("longest queue, packets: K + N", SOURCE, expected, longest(&queue));
    let expected = Expected::Within { value: THRESHOLD + count - swing / 2.0, by: 3.0 };
    let packets = queue.iter().map(|(_, packets)| *packets);
    push("mean queue, packets: K + N less half of the swing", SOURCE, expected, mean(packets));
    push("segments lost", SOURCE, Expected::Exactly(0.0), outcome.lost as f64);
    let payload: f64 = (0..flows as usize).map(|flow| outcome.between(flow, 0)).sum();
    let used = payload * FRAME / 1_460.0 * 8.0 / (seconds * 2.0 / 3.0) / 1e9;
    push("share of the link used", SOURCE, Expected::AtLeast(0.99), used);
    let falls = reductions(&outcome);
    let first = falls.first().map_or(f64::NAN, |(_, left)| *left);
    push("what the first mark leaves of the window", "RFC 8257 3.3: alpha begins at 1", Expected::AtMost(0.75), first);
    let estimate = mean(falls.iter().filter(|(time, _)| *time > settled).map(|(_, left)| 2.0 * (1.0 - left)));
    if flows == 1 {
        // Of several flows not all are marked in each cycle.
        let marked = outcome.marked as f64 / outcome.sent as f64;
        let expected = Expected::Near { value: alpha, share: 0.1 };
        push("share of segments marked: sqrt(2 / W*)", "Alizadeh et al. 2010, equation 6", expected, marked);
        // A cycle is 1 / alpha round trips, one of which is marked; its first mark finds the estimate where it is lowest.
        let (gain, cycle) = (1.0 / 16.0, 1.0 / alpha);
        let lowest = gain * libm::pow(1.0 - gain, cycle - 1.0) / (1.0 - libm::pow(1.0 - gain, cycle));
        let name = "alpha, by what marks leave of the window: g (1 - g)^(T - 1) / (1 - (1 - g)^T)";
        let source = "RFC 8257 3.3, g = 1/16, one window of T = sqrt(W* / 2) marked";
        push(name, source, Expected::Near { value: lowest, share: 0.1 }, estimate);
    }
}

/// Cycles of the first flow's window, from its reduction to the next, and the longest and shortest queue in each.
fn cycles(outcome: &Outcome, queue: &[(Time, f64)]) -> Vec<(f64, f64)> {
    let mut starts: Vec<Time> = Vec::new();
    let mut rose = true;
    for (pair, cause) in outcome.windows.windows(2).zip(&outcome.causes[1..]) {
        let ((_, before), (time, after)) = (pair[0], pair[1]);
        // A reduction may be spread over many acknowledgements.
        if after < before && *cause == WindowCause::Mark && rose {
            starts.push(time);
            rose = false;
        }
        rose |= after > before;
    }
    let place = |time| queue.partition_point(|(left, _)| *left < time);
    let cycles = starts.windows(2).map(|pair| &queue[place(pair[0])..place(pair[1])]);
    // The cycle at the beginning may not be whole.
    let whole = cycles.filter(|cycle| !cycle.is_empty()).skip(1);
    whole
        .map(|cycle| (longest(cycle), cycle.iter().map(|(_, packets)| *packets).fold(f64::INFINITY, f64::min)))
        .collect()
}

/// The same TCP otherwise, as a profile has it.
const PROFILES: [(&str, Profile); 3] =
    [("plain", Profile::Plain), ("rfc", Profile::Rfc), ("linux without bursts", Profile::Linux)];

/// A path and the weight of a window in the estimate.
struct Place {
    /// The round-trip time times the capacity (C RTT), in packets.
    path: u64,
    /// The threshold K, in packets; above the paper's bound of C RTT / 7.
    threshold: u64,
    gain_shift: u8,
}

const LONG: Place = Place { path: 800, threshold: 200, gain_shift: 6 };
const SHORT: Place = Place { path: 160, threshold: 80, gain_shift: 4 };

impl Place {
    /// The largest gain for which the paper's formula is meant (equation 15, one flow).
    #[cfg(test)]
    fn largest_gain(&self) -> f64 {
        1.386 / libm::sqrt(2.0 * (self.path + self.threshold) as f64)
    }

    /// What the rules by themselves make of the queue.
    fn by_the_rules(&self, profile: Profile, flows: u64) -> Swing {
        let cell = sawtooth::Cell {
            path: self.path as usize,
            threshold: self.threshold as usize,
            flows: flows as usize,
            gain_shift: u32::from(self.gain_shift),
            rules: if profile == Profile::Linux { sawtooth::Rules::Linux } else { sawtooth::Rules::Rfc },
        };
        // Some 150 cycles.
        sawtooth::run(&cell, 4_000 * (cell.path + cell.threshold))
    }
}

/// Peak and amplitude of the queue.
fn swings(rows: &mut Vec<Row>, place: &Place, (name, profile): (&str, Profile), flows: u64, seconds: f64) {
    let count = flows as f64;
    let Place { path, threshold, gain_shift } = *place;
    let title = format!("DCTCP, {name}, g = 1/{}, C RTT = {path}, K = {threshold}, flows: {flows}", 1u64 << gain_shift);
    let Some(link) = step(threshold) else { return rows.push(Row::unmade(GROUP, title, SOURCE)) };
    let outcome = run(link, &dctcp(Config::of(profile), gain_shift), rtt(path), flows, seconds);
    let settled = Time::ZERO + Duration::from_secs_f64(seconds / 2.0);
    let queue = queue(&outcome, settled);
    let cycles = cycles(&outcome, &queue);
    let swing = mean(cycles.iter().map(|(most, least)| most - least));
    let mut push = |what: &str, source: &str, expected, ours| {
        rows.push(Row::new(GROUP, format!("{title}: {what}"), source, expected, ours));
    };
    let expected = Expected::Within { value: threshold as f64 + count, by: 1.0 };
    push("longest queue, packets: K + N", SOURCE, expected, longest(&queue));
    if gain_shift > 4 || flows >= 5 {
        let value = libm::sqrt(2.0 * count * (path + threshold) as f64) / 2.0;
        let expected = Expected::Near { value, share: 0.15 };
        push("amplitude, packets: sqrt(2 N (C RTT + K)) / 2", SOURCE, expected, swing);
    }
    if gain_shift == 4 {
        let source = match profile {
            Profile::Linux => "Linux: alpha in 1,024ths, reductions spread over a round trip (CWR)",
            _ => "RFC 8257 3.3, RFC 3168 6.1.2, RFC 5681 3.1",
        };
        let by_the_rules = place.by_the_rules(profile, flows);
        let expected = Expected::Near { value: by_the_rules.amplitude, share: 0.05 };
        push("amplitude, packets: by the rules, acknowledgement by acknowledgement", source, expected, swing);
        let count = begun(&outcome).iter().filter(|(time, _)| *time > settled).count();
        let expected = Expected::Near { value: by_the_rules.reductions, share: 0.1 };
        push("reductions in a cycle: by the rules", source, expected, count as f64 / cycles.len() as f64);
    }
    push("segments lost", SOURCE, Expected::Exactly(0.0), outcome.lost as f64);
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = Vec::new();
    let mut push = |name: &str, source: &str, expected, ours| rows.push(Row::new(GROUP, name, source, expected, ours));
    for flows in [1, 2] {
        figure(&mut push, flows, if full { 10.0 } else { 2.0 });
    }
    if !full {
        PROFILES.into_iter().for_each(|profile| swings(&mut rows, &SHORT, profile, 5, 3.0));
        return rows;
    }
    for flows in [1, 2, 5, 10] {
        for profile in PROFILES {
            if profile.1 != Profile::Linux {
                swings(&mut rows, &LONG, profile, flows, 20.0);
            }
            swings(&mut rows, &SHORT, profile, flows, 10.0);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gains_are_within_the_bound_of_the_paper() {
        let gain = |place: &Place| 1.0 / f64::from(1u32 << place.gain_shift);
        for (place, bound) in [(LONG, 0.0310), (SHORT, 0.0633)] {
            assert!((place.largest_gain() - bound).abs() < 1e-4, "{}", place.largest_gain());
            assert!(gain(&place) < bound && 2.0 * gain(&place) > bound);
        }
    }
}
