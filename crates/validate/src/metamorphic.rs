//! What must not change, or change in a known way, when the question is changed.

use flowloom_core::path::{Link, LossModel};
use flowloom_core::queue::{Admission, DropTail, Queue};
use flowloom_core::tcp::Config;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Probability, Rate};

use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab, Outcome};

const GROUP: &str = "Metamorphic";

/// Ten flows of different round-trip times and starts over a link of 10 Mbit/s and 60 packets, with losses; sizes and rate `scale`
/// times as large, everything `shift` later.
fn run(scale: u32, shift: Duration, seed: u64, seconds: u64) -> Outcome {
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
            ..Flow::endless(Duration::from_millis(20 + 13 * n), config())
        })
        .collect();
    Lab { until, ..lab }.run(&flows)
}

/// An initial window in segments, so that it scales with them.
fn config() -> Config {
    Config { initial_window: flowloom_core::tcp::InitialWindow::Segments(3), ..Config::default() }
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let seconds = if effort == Effort::Full { 300 } else { 10 };
    let still = Duration::ZERO;
    let base = run(1, still, 1, seconds);
    let mut rows = Vec::new();
    let mut same = |name: &str, source: &str, expected: f64, ours: f64| {
        rows.push(Row::new(GROUP, name, source, Expected::Exactly(expected), ours));
    };
    same("sent - lost - arrived - on the way, segments", "conservation", 0.0, {
        let counted = base.sent as f64 - base.lost as f64 - base.arrived as f64;
        counted - base.under_way as f64
    });
    let again = run(1, still, 1, seconds);
    same("the same seed gives the same run (1: yes)", "determinism", 1.0, f64::from(u8::from(again == base)));
    let other = run(1, still, 2, seconds);
    same("another seed gives another run (1: yes)", "determinism", 1.0, f64::from(u8::from(other != base)));
    let shift = Duration::from_nanos(12_345_678_901);
    let late = run(1, shift, 1, seconds);
    let moved = base.departures.iter().zip(&late.departures).all(|(early, late)| (early.0 + shift, early.1) == *late);
    let shifted = moved && base.delivered == late.delivered && base.departures.len() == late.departures.len();
    same(
        "everything 12.345678901 s later: the same run, later (1: yes)",
        "time shift",
        1.0,
        f64::from(u8::from(shifted)),
    );
    for scale in [2, 7] {
        let large = run(scale, still, 1, seconds);
        let times = base.departures.iter().zip(&large.departures).all(|(one, k)| (one.0, one.1 * scale) == *k);
        let scaled = times && base.departures.len() == large.departures.len();
        let name = format!("sizes and rate {scale} times as large: the same packets at the same times (1: yes)");
        same(&name, "scaling", 1.0, f64::from(u8::from(scaled)));
    }
    rows
}
