//! Marks end to end: ECN over RED, and DCTCP over a queue that marks beyond a length.

use flowloom_core::path::{Link, LossModel};
use flowloom_core::queue::{Admission, Admit, Arrival, Packet, Queue, Red, RedParams, Verdict};
use flowloom_core::tcp::congestion::{Algorithm, DctcpParameters, WindowCause};
use flowloom_core::tcp::{Config, EcnEcho};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};

use crate::aqm::{link, mean, stream};
use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab, Outcome};
use crate::profiles::Stack;

const GROUP: &str = "Marks";
/// Bytes of a full segment on the link.
const FRAME: f64 = 1_514.0;

/// Marks what finds `threshold` packets waiting or more (RFC 8257 section 3.1, with the queue as it is and no average).
#[derive(Debug)]
struct Step {
    threshold: u64,
}

impl Admit for Step {
    fn arrive(&mut self, packet: &Packet, arrival: &Arrival) -> Verdict {
        if arrival.waiting.packets >= self.threshold { Verdict::signal(packet, true) } else { Verdict::Take }
    }
}

fn run(link: Link, tcp: &Config, rtt: Duration, flows: u64, seconds: f64) -> Outcome {
    let flows: Vec<Flow> =
        (0..flows).map(|n| Flow { start: Time::ZERO + rtt * n / 7, ..Flow::endless(rtt, tcp.clone()) }).collect();
    let until = Time::ZERO + Duration::from_secs_f64(seconds);
    let marks = vec![Time::ZERO + Duration::from_secs_f64(seconds / 3.0), until];
    Lab { trace: true, marks, ..Lab::new(Some(link), LossModel::None, seconds) }.run(&flows)
}

/// When the window of the first flow was reduced for a mark, and what was left of it.
fn reductions(outcome: &Outcome) -> Vec<(Time, f64)> {
    let steps = outcome.windows.windows(2).zip(outcome.causes.iter().skip(1));
    let falls = steps.filter(|(pair, cause)| **cause == WindowCause::Mark && pair[1].1 < pair[0].1);
    falls.map(|(pair, _)| (pair[1].0, f64::from(pair[1].1) / f64::from(pair[0].1))).collect()
}

/// When a mark began a reduction of the window of the first flow, and what the threshold then was of the window. Linux spreads a
/// reduction over a round trip.
fn begun(outcome: &Outcome) -> Vec<(Time, f64)> {
    let mut reduced_to = None;
    let steps = outcome.windows.windows(2).zip(outcome.causes.iter().zip(&outcome.thresholds).skip(1));
    let found = steps.filter_map(|(pair, (cause, threshold))| {
        if *cause != WindowCause::Mark {
            reduced_to = None;
            return None;
        }
        let begins = reduced_to.replace(*threshold) != Some(*threshold);
        begins.then(|| (pair[1].0, f64::from(*threshold) / f64::from(pair[0].1)))
    });
    found.collect()
}

/// `kept` is what a mark leaves of the window.
fn ecn(push: &mut impl FnMut(&str, &str, Expected, f64), stack: &Stack, kept: f64, seconds: f64) {
    let mut push = |name: &str, source: &str, expected, ours| push(&stack.row(name), source, expected, ours);
    let rate = 10_000_000;
    let params = RedParams {
        limit: Limit::Packets(1_000),
        min: Limit::Packets(10),
        max: Limit::Packets(100),
        max_p: 0.1,
        weight: 0.02,
        mean_packet: 1_500,
        gentle: false,
        ecn: true,
        ..RedParams::default()
    };
    let Some(red) = Rate::from_bits_per_second(rate).and_then(|rate| Red::new(params, rate, stream()).ok()) else {
        return push("ECN over RED", "RFC 3168", Expected::AtLeast(0.0), f64::NAN);
    };
    let tcp = Config { ecn: EcnEcho::UntilAnswered, ..stack.tcp.clone() };
    let rtt = Duration::from_millis(50);
    let red = link(Queue::Arrival(Admission::Red(Box::new(red))), rate);
    let outcome = run(red, &tcp, rtt, 5, seconds);
    let source = "RFC 3168 1: marks instead of drops";
    push("ECN over RED, 5 flows: segments lost", source, Expected::Exactly(0.0), outcome.lost as f64);
    push("ECN over RED: segments marked", source, Expected::AtLeast(100.0), outcome.marked as f64);
    let falls = begun(&outcome);
    let told = outcome.told.len() as f64 / falls.len() as f64;
    let source = "RFC 3168 6.1.2: CWR with the first new data after it";
    push("ECN: CWR sent per reduction", source, Expected::Within { value: 1.0, by: 0.01 }, told);
    let shortest = falls.windows(2).map(|pair| pair[1].0.since(pair[0].0).as_secs_f64()).fold(f64::INFINITY, f64::min);
    let source = "RFC 3168 6.1.2: at most once per window of data";
    let name = "ECN: shortest time between two reductions, round trips without queue";
    push(name, source, Expected::AtLeast(1.0), shortest / rtt.as_secs_f64());
    let left = mean(falls.iter().map(|(_, left)| *left));
    let (name, source) = match tcp.congestion {
        Algorithm::Cubic(_) => ("ECN, CUBIC: what a mark leaves of the window", "RFC 9438 4.6"),
        _ => ("ECN, NewReno: what a mark leaves of the window", "RFC 3168 6.1.2"),
    };
    push(name, source, Expected::Within { value: kept, by: 0.03 }, left);
}

/// A path of 83 packets and marks from 40 on, as in the paper's figure 12.
fn dctcp(push: &mut impl FnMut(&str, &str, Expected, f64), flows: u64, seconds: f64) {
    const THRESHOLD: f64 = 40.0;
    let tcp = Config {
        congestion: Algorithm::Dctcp(DctcpParameters::default()),
        ecn: EcnEcho::EachMark,
        delayed_ack: None,
        ..Config::default()
    };
    // 83 packets, to the nanosecond: with a fraction more only a part of a window would find the queue at its threshold.
    let rtt = Duration::from_nanos(83 * 12_112);
    let packet = FRAME * 8.0 / 1e9;
    let step = link(Queue::Arrival(Admission::Custom(Box::new(Step { threshold: THRESHOLD as u64 }))), 1_000_000_000);
    let outcome = run(step, &tcp, rtt, flows, seconds);
    let settled = Time::ZERO + Duration::from_secs_f64(seconds / 3.0);
    let waits = outcome.waits.iter().filter(|(time, _)| *time > settled);
    let queue: Vec<f64> = waits.map(|(_, wait)| wait.as_secs_f64() / packet).collect();
    // W*, the window of one flow when marking begins; the share of its bytes that is marked; the queue's swing.
    let count = flows as f64;
    let window = (rtt.as_secs_f64() / packet + THRESHOLD) / count;
    let alpha = libm::sqrt(2.0 / window);
    let swing = count * (window + 1.0) * alpha / 2.0;
    let mut push = |name: &str, source: &str, expected, ours| {
        push(&format!("DCTCP, K = 40, flows: {flows}: {name}"), source, expected, ours);
    };
    let source = "Alizadeh et al. 2010, section 3.3";
    let most = queue.iter().copied().fold(0.0, f64::max);
    push("longest queue, packets: K + N", source, Expected::Within { value: THRESHOLD + count, by: 3.0 }, most);
    let expected = Expected::Within { value: THRESHOLD + count - swing / 2.0, by: 3.0 };
    push("mean queue, packets: K + N less half of the swing", source, expected, mean(queue.iter().copied()));
    push("segments lost", source, Expected::Exactly(0.0), outcome.lost as f64);
    let payload: f64 = (0..flows as usize).map(|flow| outcome.between(flow, 0)).sum();
    let used = payload * FRAME / 1_460.0 * 8.0 / (seconds * 2.0 / 3.0) / 1e9;
    push("share of the link used", source, Expected::AtLeast(0.99), used);
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

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = Vec::new();
    let mut push = |name: &str, source: &str, expected, ours| rows.push(Row::new(GROUP, name, source, expected, ours));
    for (stack, kept) in [(Stack::plain(), 0.5), (Stack::rfc(), 0.5), (Stack::linux(), 0.7)] {
        ecn(&mut push, &stack, kept, if full { 300.0 } else { 60.0 });
    }
    for flows in [1, 2] {
        dctcp(&mut push, flows, if full { 10.0 } else { 2.0 });
    }
    rows
}
