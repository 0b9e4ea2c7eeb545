//! Flows that heed delay and rate: Vegas and BBR over a deep buffer.

use flowloom_core::path::LossModel;
use flowloom_core::queue::{Admission, DropTail, Queue};
use flowloom_core::tcp::congestion::{Algorithm, BbrState, VegasParameters, WindowCause};
use flowloom_core::tcp::{Config, InitialWindow};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Limit;

use crate::aqm::{link, mean};
use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab, Outcome};
use crate::profiles::{Stack, payload};

const GROUP: &str = "Delay and rate";
const MSS: u32 = 1_460;
/// Bytes of a full segment on the link.
const FRAME: f64 = 1_514.0;

fn run(tcp: &Config, bits: u64, rtt: Duration, flows: u64, seconds: f64) -> Outcome {
    let queue = DropTail::new(Limit::Packets(100_000));
    // All at once, so that each sees the path empty.
    let flows: Vec<Flow> = (0..flows).map(|_| Flow::endless(rtt, tcp.clone())).collect();
    let marks =
        vec![Time::ZERO + Duration::from_secs_f64(seconds / 3.0), Time::ZERO + Duration::from_secs_f64(seconds)];
    let link = link(Queue::Arrival(Admission::DropTail(queue)), bits);
    Lab { trace: true, marks, ..Lab::new(Some(link), LossModel::None, seconds) }.run(&flows)
}

fn after(waits: &[(Time, Duration)], seconds: f64) -> impl Iterator<Item = f64> + '_ {
    let settled = Time::ZERO + Duration::from_secs_f64(seconds);
    waits.iter().filter(move |(time, _)| *time > settled).map(|(_, wait)| wait.as_secs_f64())
}

/// Times at which the waits go from below `low` to above `high`.
fn rises(waits: &[(Time, Duration)], low: f64, high: f64) -> Vec<f64> {
    let (mut below, mut rises) = (false, Vec::new());
    for (time, wait) in waits {
        let wait = wait.as_secs_f64();
        if below && wait > high {
            rises.push(time.as_secs_f64());
        }
        below = wait < low || (below && wait <= high);
    }
    rises
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn gaps(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

fn vegas(push: &mut impl FnMut(&str, &str, Expected, f64), tcp: &Config, seconds: f64) {
    // Where flows begin at once, ten segments of the others in front of its first would hide from a flow how long the path is.
    let initial_window = InitialWindow::Segments(3);
    let tcp = &Config { congestion: Algorithm::Vegas(VegasParameters::default()), initial_window, ..tcp.clone() };
    let rate = 10_000_000;
    let source = "Brakmo and Peterson 1995: alpha = 2, beta = 4";
    for (flows, name) in [(1, "Vegas, one flow: mean queue, packets"), (3, "Vegas, three flows: mean queue, packets")] {
        let outcome = run(tcp, rate, Duration::from_millis(50), flows, seconds);
        let queue = mean(after(&outcome.waits, seconds / 3.0)) * rate as f64 / 8.0 / FRAME;
        let flows = flows as f64;
        push(name, source, Expected::Within { value: 3.0 * flows, by: 1.5 * flows }, queue);
        if flows == 1.0 {
            let segment = f64::from(payload(tcp, MSS));
            let used = outcome.between(0, 0) * FRAME / segment * 8.0 / (seconds * 2.0 / 3.0) / rate as f64;
            push("Vegas, one flow: share of the link used", source, Expected::AtLeast(0.99), used);
            push("Vegas, one flow: segments lost", source, Expected::Exactly(0.0), outcome.lost as f64);
        }
    }
}

fn bbr(push: &mut impl FnMut(&str, &str, Expected, f64), tcp: &Config, seconds: f64) {
    let tcp = &Config { congestion: Algorithm::Bbr, ..tcp.clone() };
    let segment = payload(tcp, MSS);
    let (rate, rtt) = (50_000_000, Duration::from_millis(100));
    let round = rtt.as_secs_f64();
    let outcome = run(tcp, rate, rtt, 1, seconds);
    let used = outcome.between(0, 0) * FRAME / f64::from(segment) * 8.0 / (seconds * 2.0 / 3.0) / rate as f64;
    let source = "draft-cardwell-iccrg-bbr-congestion-control-00 4.3.4";
    push("BBR, deep buffer: share of the link used", source, Expected::AtLeast(0.95), used);
    // A probe queues a quarter of the path's volume in a round trip and drains it in the next, which is 1/32 over eight; the
    // segments of the budget for bursts stay, and so does what a round trip with a queue is longer.
    let wait = mean(after(&outcome.waits, seconds / 3.0)) / round;
    push("BBR: mean wait, round trips", source, Expected::AtMost(0.25 / 4.0), wait);
    let most = after(&outcome.waits, seconds / 3.0).fold(0.0, f64::max) / round;
    push("BBR: longest wait, round trips", source, Expected::Within { value: 0.25, by: 0.1 }, most);
    let settled: Vec<_> =
        outcome.waits.iter().copied().filter(|(time, _)| time.as_secs_f64() > seconds / 3.0).collect();
    let cycle = median(gaps(&rises(&settled, 0.05 * round, 0.15 * round))) / round;
    push("BBR: time from probe to probe, round trips", source, Expected::Near { value: 8.0, share: 0.1 }, cycle);

    let source = "draft-cardwell-iccrg-bbr-congestion-control-00 4.3.5";
    let windows = || outcome.windows.iter().zip(&outcome.causes);
    let probing = |cause: &WindowCause| *cause == WindowCause::Bbr(BbrState::ProbeRtt);
    let least = windows().filter(|(_, cause)| probing(cause)).map(|((_, window), _)| *window).min().unwrap_or(0);
    push("BBR: window in PROBE_RTT, segments", source, Expected::Exactly(4.0), f64::from(least) / f64::from(segment));
    let small = |window: u32| window <= 4 * segment;
    let starts: Vec<f64> = outcome
        .windows
        .windows(2)
        .filter(|pair| !small(pair[0].1) && small(pair[1].1))
        .map(|pair| pair[1].0.as_secs_f64())
        .collect();
    push(
        "BBR: time from one PROBE_RTT to the next, s",
        "the same: 10 s after the last, which lasts 200 ms and a round trip",
        Expected::Near { value: 10.3, share: 0.05 },
        median(gaps(&starts)),
    );
    let ends: Vec<f64> = outcome
        .windows
        .windows(2)
        .filter(|pair| small(pair[0].1) && !small(pair[1].1))
        .map(|pair| pair[1].0.as_secs_f64())
        .collect();
    let lasting = starts.iter().filter_map(|start| Some(ends.iter().find(|end| *end > start)? - start));
    let lasted = median(lasting.collect());
    push("BBR: time in PROBE_RTT, s", source, Expected::Within { value: 0.3, by: 0.1 }, lasted);

    // A path of 826 segments, so that startup has several rounds.
    let startup = run(tcp, 100_000_000, rtt, 1, 3.0);
    let in_round = |round: u64| {
        let from = Time::ZERO + rtt * round;
        let sent = startup.departures.iter().filter(|(time, _)| *time >= from && *time < from + rtt);
        sent.map(|(_, bytes)| f64::from(*bytes)).sum::<f64>()
    };
    let source = "draft-cardwell-iccrg-bbr-congestion-control-00 4.3.2.1: gain of 2 / ln 2";
    let growth = libm::pow(in_round(5) / in_round(2), 1.0 / 3.0);
    push(
        "BBR startup: growth of what is sent, per round trip",
        source,
        Expected::Near { value: 2.0, share: 0.1 },
        growth,
    );
    // The queue that startup leaves is gone soon after it has ended.
    let ended = startup
        .windows
        .iter()
        .zip(&startup.causes)
        .find(|(_, cause)| **cause == WindowCause::Bbr(BbrState::ProbeBandwidth));
    let began =
        startup.windows.iter().zip(&startup.causes).find(|(_, cause)| **cause == WindowCause::Bbr(BbrState::Drain));
    let lasted = match (began, ended) {
        (Some(((began, _), _)), Some(((ended, _), _))) => ended.since(*began).as_secs_f64() / round,
        _ => f64::NAN,
    };
    let source = "draft-cardwell-iccrg-bbr-congestion-control-00 4.3.3: drains in about a round trip";
    push("BBR drain: how long it lasts, round trips", source, Expected::AtMost(3.0), lasted);
    let left = ended.map_or(f64::NAN, |((ended, _), _)| {
        let later = startup.waits.iter().find(|(time, _)| time > ended);
        later.map_or(f64::NAN, |(_, wait)| wait.as_secs_f64() / round)
    });
    push("BBR drain: wait that is left after it, round trips", source, Expected::AtMost(0.1), left);
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = Vec::new();
    let stacks = [Stack::plain().with(|tcp| tcp.delayed_ack = None), Stack::rfc(), Stack::linux()];
    for stack in stacks.into_iter().take(if full { 3 } else { 1 }) {
        let mut push = |name: &str, source: &str, expected, ours| {
            rows.push(Row::new(GROUP, stack.row(name), source, expected, ours));
        };
        vegas(&mut push, &stack.tcp, if full { 120.0 } else { 30.0 });
        bbr(&mut push, &stack.tcp, if full { 120.0 } else { 60.0 });
    }
    rows
}
