//! What must not change, or change in a known way, when the question is changed.

use flowloom_core::path::{Link, LossModel};
use flowloom_core::queue::{Admission, DropTail, Queue};
use flowloom_core::tcp::{Config, InitialWindow};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Probability, Rate};

use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab, Outcome};
use crate::profiles::Stack;

const GROUP: &str = "Metamorphic";

/// Ten flows of different round-trip times and starts over a link of 10 Mbit/s and 60 packets, with losses; sizes and rate `scale`
/// times as large, everything `shift` later.
fn run(tcp: &Config, scale: u32, shift: Duration, seed: u64, seconds: u64) -> Outcome {
    let queue = Queue::Arrival(Admission::DropTail(DropTail::new(Limit::Packets(60))));
    let rate = Rate::from_bits_per_second(10_000_000 * u64::from(scale)).unwrap_or(Rate::UNLIMITED);
    let link = Link::new(queue, rate, Duration::ZERO, Duration::from_secs(1));
    let loss = Probability::new(0.002).map_or(LossModel::None, LossModel::Bernoulli);
    let until = Time::ZERO + shift + Duration::from_secs(seconds);
    let lab = Lab {
        header_bytes: 40 * scale,
        seed,
        marks: vec![Time::ZERO + shift, until],
        trace: true,
        ..Lab::new(Some(link), loss, 0.0)
    };
    let flows: Vec<Flow> = (0..10)
        .map(|n| Flow {
            start: Time::ZERO + shift + Duration::from_millis(137 * n),
            mss: (1_000 * scale) as u16,
            ..Flow::endless(Duration::from_millis(20 + 13 * n), tcp.clone())
        })
        .collect();
    Lab { until, ..lab }.run(&flows)
}

/// Those whose windows and segments scale: an initial window in segments, receive windows that do not begin at 65,535 bytes, and no
/// options in segments.
fn scales(tcp: &mut Config) {
    (tcp.initial_window, tcp.window_growth, tcp.timestamps) = (InitialWindow::Segments(3), false, false);
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let seconds = if effort == Effort::Full { 300 } else { 10 };
    let mut rows = Vec::new();
    for stack in Stack::all() {
        let mut same = |name: &str, source: &str, expected: f64, ours: f64| {
            rows.push(Row::new(GROUP, stack.row(name), source, Expected::Exactly(expected), ours));
        };
        as_it_is(&stack, seconds, &mut same);
        scaled(&stack.clone().with(scales).tcp, seconds, &mut same);
    }
    rows
}

fn as_it_is(stack: &Stack, seconds: u64, same: &mut impl FnMut(&str, &str, f64, f64)) {
    let (tcp, still) = (&stack.tcp, Duration::ZERO);
    let base = run(tcp, 1, still, 1, seconds);
    same("sent - lost - arrived - on the way, segments", "conservation", 0.0, {
        let counted = base.sent as f64 - base.lost as f64 - base.arrived as f64;
        counted - base.under_way as f64
    });
    let again = run(tcp, 1, still, 1, seconds);
    same("the same seed gives the same run (1: yes)", "determinism", 1.0, f64::from(u8::from(again == base)));
    let other = run(tcp, 1, still, 2, seconds);
    same("another seed gives another run (1: yes)", "determinism", 1.0, f64::from(u8::from(other != base)));
    // Timestamps count milliseconds.
    let (shift, words) = match tcp.timestamps {
        true => (12_345_000_000, "12.345 s"),
        false => (12_345_678_901, "12.345678901 s"),
    };
    let shift = Duration::from_nanos(shift);
    let late = run(tcp, 1, shift, 1, seconds);
    let moved = base.departures.iter().zip(&late.departures).all(|(early, late)| (early.0 + shift, early.1) == *late);
    let shifted = moved && base.delivered == late.delivered && base.departures.len() == late.departures.len();
    let name = format!("everything {words} later: the same run, later (1: yes)");
    same(&name, "time shift", 1.0, f64::from(u8::from(shifted)));
}

fn scaled(tcp: &Config, seconds: u64, same: &mut impl FnMut(&str, &str, f64, f64)) {
    let base = run(tcp, 1, Duration::ZERO, 1, seconds);
    for scale in [2, 7] {
        let large = run(tcp, scale, Duration::ZERO, 1, seconds);
        let times = base.departures.iter().zip(&large.departures).all(|(one, k)| (one.0, one.1 * scale) == *k);
        let scaled = times && base.departures.len() == large.departures.len();
        let name = format!("sizes and rate {scale} times as large: the same packets at the same times (1: yes)");
        same(&name, "scaling", 1.0, f64::from(u8::from(scaled)));
    }
}
