//! DCTCP over step marking, beside the analysis of its authors (Alizadeh et al., SIGCOMM 2010, section 3.3).
//!
//! N synchronised flows share a link of C packets a second, which marks while more than K packets wait. Each window grows by a
//! segment a round trip until N W* = C RTT + K; for one round trip every packet is marked, in which each window grows by one
//! segment more, and is then cut by alpha / 2, alpha being the share of packets that is marked. From this the paper has the
//! longest queue, K + N, and the amplitude of the queue, N (W* + 1) alpha / 2, or about sqrt(2 N (C RTT + K)) / 2.
//!
//! A sender departs from the analysis in two ways, which [`depth`] takes into account. The first mark finds the estimate of alpha
//! where it is lowest, just before the marked window counts: the smaller the gain g, the less it matters. And windows rest
//! for two round trips of each cycle: in that with marks, and in that after the reduction, whose acknowledgements echo them.
//! The larger the window, the less it matters. With g = 1/128 and 100 segments or more each, what is left is below 15 %.

use flowloom_core::path::Link;
use flowloom_core::queue::{Admission, Queue, StepEnqueue, StepParams};
use flowloom_core::tcp::congestion::{Algorithm, DctcpParameters, WindowCause};
use flowloom_core::tcp::{Config, EcnEcho, Profile};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Limit;

use crate::aqm::{link, mean};
use crate::check::{Effort, Expected, Row};
use crate::lab::Outcome;
use crate::marks::{GROUP, reductions, run};

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
/// segments come in pairs, of which only the second finds the queue above its threshold.
fn dctcp(base: Config, gain_shift: u8) -> Config {
    let congestion = Algorithm::Dctcp(DctcpParameters { gain_shift });
    Config { congestion, ecn: EcnEcho::EachMark, delayed_ack: None, ..base }
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

/// By how many segments a sender with the weight `gain` cuts a window of `window` segments, if of the D + 2 round trips of a
/// cycle with a cut of D one is marked and the first mark finds the estimate at its lowest: alpha = r / (D + 2), D = alpha W / 2.
fn depth(window: f64, gain: f64) -> f64 {
    let lowest = |cycle: f64| {
        let left = libm::pow(1.0 - gain, cycle);
        cycle * gain * left / (1.0 - gain) / (1.0 - left)
    };
    // From the paper's depth on; each step is a tenth of what the last one was.
    (0..50).fold(libm::sqrt(window / 2.0), |depth, _| libm::sqrt(1.0 + window * lowest(depth + 2.0) / 2.0) - 1.0)
}

/// The same TCP otherwise, as a profile has it.
const PROFILES: [(&str, Profile); 3] = [("plain", Profile::Plain), ("rfc", Profile::Rfc), ("linux", Profile::Linux)];

/// What makes the queue of one or two flows of profile `linux` swing further than the paper has it.
const TWICE: &str = "Linux spreads a reduction over a round trip (proportional rate reduction), so the queue falls below K only \
                     some packets later: packets of the next window are marked, too, and the window is reduced twice in a cycle";

/// Peak and amplitude of the queue: a path of 800 packets, marks beyond 200 (more than the paper's bound of C RTT / 7).
fn sawtooth(rows: &mut Vec<Row>, (name, profile): (&str, Profile), gain_shift: u8, flows: u64, seconds: f64) {
    const PATH: u64 = 800;
    const THRESHOLD: u64 = 200;
    let count = flows as f64;
    let title = format!("DCTCP, {name}, g = 1/{}, K = {THRESHOLD}, flows: {flows}", 1u64 << gain_shift);
    let Some(link) = step(THRESHOLD) else { return rows.push(Row::unmade(GROUP, title, SOURCE)) };
    let outcome = run(link, &dctcp(Config::of(profile), gain_shift), rtt(PATH), flows, seconds);
    let queue = queue(&outcome, Time::ZERO + Duration::from_secs_f64(seconds / 2.0));
    let cycles = cycles(&outcome, &queue);
    let swing = mean(cycles.iter().map(|(most, least)| most - least));
    let mut push = |what: &str, source: &str, expected, ours, departs: Option<&str>| {
        let row = Row::new(GROUP, format!("{title}: {what}"), source, expected, ours);
        rows.push(Row { departs: departs.map(str::to_owned), ..row });
    };
    let expected = Expected::Within { value: THRESHOLD as f64 + count, by: 1.0 };
    push("longest queue, packets: K + N", SOURCE, expected, longest(&queue), None);
    let total = (PATH + THRESHOLD) as f64;
    if gain_shift >= 6 {
        let expected = Expected::Near { value: libm::sqrt(2.0 * count * total) / 2.0, share: 0.15 };
        let departs = (profile == Profile::Linux && flows <= 2).then_some(TWICE);
        push("amplitude, packets: sqrt(2 N (C RTT + K)) / 2", SOURCE, expected, swing, departs);
    } else {
        let depth = count * depth(total / count + 1.0, 1.0 / (1u64 << gain_shift) as f64);
        let source = "the same with the lowest estimate of RFC 8257 3.3, and two round trips of rest";
        push("amplitude, packets: N D", source, Expected::Near { value: depth, share: 0.15 }, swing, None);
    }
    push("segments lost", SOURCE, Expected::Exactly(0.0), outcome.lost as f64, None);
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = Vec::new();
    let mut push = |name: &str, source: &str, expected, ours| rows.push(Row::new(GROUP, name, source, expected, ours));
    for flows in [1, 2] {
        figure(&mut push, flows, if full { 10.0 } else { 2.0 });
    }
    if !full {
        sawtooth(&mut rows, PROFILES[0], 6, 10, 8.0);
        return rows;
    }
    for flows in [1, 2, 5, 10] {
        PROFILES.into_iter().for_each(|profile| sawtooth(&mut rows, profile, 7, flows, 20.0));
        sawtooth(&mut rows, PROFILES[0], 4, flows, 10.0);
        sawtooth(&mut rows, PROFILES[1], 4, flows, 10.0);
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: of a window of 1,000 segments the paper cuts sqrt(500) = 22.36. With a gain so small that the estimate does not
    /// move D (D + 2) = 500, D = 21.38; with 1/16 and D = 15.7 the estimate is 0.555 of its mean and D (D + 2) = 277.5.
    #[test]
    fn depth_of_the_cut() {
        let close = |ours: f64, expected: f64| assert!((ours - expected).abs() < 0.05, "{ours} instead of {expected}");
        close(depth(1_000.0, 1e-9), 21.38);
        close(depth(1_000.0, 1.0 / 16.0), 15.69);
    }
}
