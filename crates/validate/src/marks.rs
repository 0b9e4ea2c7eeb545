//! Marks end to end: ECN over RED. DCTCP is in [`crate::dctcp`].

use flowloom_core::path::{Link, LossModel};
use flowloom_core::queue::{Admission, Queue, Red, RedParams};
use flowloom_core::tcp::congestion::{Algorithm, WindowCause};
use flowloom_core::tcp::{Config, EcnEcho};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};

use crate::aqm::{link, mean, stream};
use crate::check::{Effort, Expected, Row};
use crate::dctcp;
use crate::lab::{Flow, Lab, Outcome};
use crate::profiles::Stack;

pub(crate) const GROUP: &str = "Marks";

/// Bulk transfers from all but the same time on, whose deliveries are noted at a third of the run and at its end.
pub(crate) fn run(link: Link, tcp: &Config, rtt: Duration, flows: u64, seconds: f64) -> Outcome {
    let flows: Vec<Flow> =
        (0..flows).map(|n| Flow { start: Time::ZERO + rtt * n / 7, ..Flow::endless(rtt, tcp.clone()) }).collect();
    let until = Time::ZERO + Duration::from_secs_f64(seconds);
    let marks = vec![Time::ZERO + Duration::from_secs_f64(seconds / 3.0), until];
    Lab { trace: true, marks, ..Lab::new(Some(link), LossModel::None, seconds) }.run(&flows)
}

/// When the window of the first flow was reduced for a mark, and what was left of it.
pub(crate) fn reductions(outcome: &Outcome) -> Vec<(Time, f64)> {
    let steps = outcome.windows.windows(2).zip(outcome.causes.iter().skip(1));
    let falls = steps.filter(|(pair, cause)| **cause == WindowCause::Mark && pair[1].1 < pair[0].1);
    falls.map(|(pair, _)| (pair[1].0, f64::from(pair[1].1) / f64::from(pair[0].1))).collect()
}

/// When a mark began a reduction of the window of the first flow, and what the threshold then was of the window. Linux spreads a
/// reduction over a round trip.
pub(crate) fn begun(outcome: &Outcome) -> Vec<(Time, f64)> {
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
    let (name, source, by) = match tcp.congestion {
        Algorithm::Cubic(_) => {
            ("ECN, CUBIC: what a mark leaves of the window", "RFC 9438 4.6; Linux rounds down to whole segments", 0.05)
        }
        _ => ("ECN, NewReno: what a mark leaves of the window", "RFC 3168 6.1.2", 0.03),
    };
    push(name, source, Expected::Within { value: kept, by }, left);
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = Vec::new();
    let mut push = |name: &str, source: &str, expected, ours| rows.push(Row::new(GROUP, name, source, expected, ours));
    for (stack, kept) in [(Stack::plain(), 0.5), (Stack::rfc(), 0.5), (Stack::linux(), 0.7)] {
        ecn(&mut push, &stack, kept, if full { 300.0 } else { 60.0 });
    }
    rows.extend(dctcp::rows(effort));
    rows
}
