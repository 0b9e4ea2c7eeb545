//! What one flow, and two, make of a link by its buffer.

use flowloom_core::path::{Link, LossModel};
use flowloom_core::queue::{Admission, DropTail, Queue};
use flowloom_core::tcp::Config;
use flowloom_core::tcp::congestion::{Algorithm, CubicParameters};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};

use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab, Outcome};
use crate::profiles::Stack;

/// Packets of 1,514 bytes in a round trip of 100 ms.
const PRODUCT: u64 = 200;

pub(crate) fn rate() -> Rate {
    Rate::from_bits_per_second(PRODUCT * 1_514 * 8 * 10).unwrap_or(Rate::UNLIMITED)
}

fn link(packets: u64) -> Link {
    let queue = Queue::Arrival(Admission::DropTail(DropTail::new(Limit::Packets(packets))));
    Link::new(queue, rate(), Duration::ZERO, Duration::from_secs(1))
}

fn tcp(algorithm: &str) -> Config {
    let congestion = algorithm.parse().unwrap_or(Config::default().congestion);
    Config { congestion, delayed_ack: None, ..Config::default() }
}

/// The share of the link that one flow uses over whole teeth of congestion avoidance.
fn utilisation(packets: u64, seconds: f64, tcp: &Config) -> f64 {
    let lab = Lab { trace: true, ..Lab::new(Some(link(packets)), LossModel::None, seconds) };
    let outcome: Outcome = lab.run(&[Flow::endless(Duration::from_millis(100), tcp.clone())]);
    // The first losses are the overshoot of slow start.
    let Some(first) = outcome.drops.first() else { return f64::NAN };
    let after = |time: &&Time| time.since(*first) > Duration::from_secs(30);
    let (Some(start), Some(end)) = (outcome.drops.iter().find(after), outcome.drops.last()) else { return f64::NAN };
    let bytes: u64 = outcome
        .departures
        .iter()
        .filter(|(time, _)| start <= time && time < end)
        .map(|(_, bytes)| u64::from(*bytes))
        .sum();
    let possible = end.since(*start).as_secs_f64() * rate().bits_per_second().unwrap_or(1) as f64;
    bytes as f64 * 8.0 / possible
}

/// What one flow of Linux's CUBIC uses of the link with a buffer of so many bandwidth-delay products. Its window falls to 0.7 of the
/// largest, W = (1 + b) products, and is back after K = cbrt(0.3 W / 0.4) seconds (RFC 9438 section 4.2). Linux computes the
/// curve in whole segments and is back as soon as less than one is missing, cbrt(1 / 0.4) seconds earlier. The drop is noticed a
/// round trip later. The link idles while the window is below the product.
fn cubic_share(buffer: f64) -> f64 {
    let (product, round, c) = (PRODUCT as f64, 0.1, 0.4);
    let largest = (1.0 + buffer) * product;
    let whole = libm::cbrt(0.3 * largest / c);
    let idle_until = libm::cbrt(buffer * product / c).min(whole);
    let fourth = |time: f64| c * time * time * time * time / 4.0;
    let unused = fourth(whole) - fourth(idle_until) - buffer * product * (whole - idle_until);
    1.0 - unused / (product * (whole - libm::cbrt(1.0 / c) + round))
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let seconds = if full { 2_000.0 } else { 200.0 };
    let mut rows = Vec::new();
    let mut push = |name: String, source: &str, value: f64, by: f64, ours: f64| {
        rows.push(Row::new("Buffers", name, source, Expected::Within { value, by }, ours));
    };
    for stack in [Stack::plain().with(|tcp| tcp.delayed_ack = None), Stack::rfc()] {
        for (share, value) in [(0.025, 0.768), (0.1, 0.818), (0.25, 0.893), (0.5, 0.964), (1.0, 1.0)] {
            let name = format!("NewReno, buffer of {share} bandwidth-delay products: share of the link used");
            // The window falls from (1 + b) to half of that and rises by a segment a round, which takes a round-trip time up to the
            // product and longer above. A buffer of nothing, 0.75, would drop the second of every two segments that slow start or
            // two acknowledgements bring together.
            let source = "3/8 (1 + b)^2 / ((1 - b)/2 + ((1 + b)^2 - 1)/2)";
            push(stack.row(&name), source, value, 0.02, utilisation(share_of_product(share), seconds, &stack.tcp));
        }
    }
    // With fast convergence cycles of two kinds alternate.
    let repeating = CubicParameters { fast_convergence: false, ..CubicParameters::default() };
    let linux = Stack::linux().with(|tcp| tcp.congestion = Algorithm::Cubic(repeating));
    for share in [0.025, 0.1, 0.25, 0.5, 1.0] {
        let name =
            format!("CUBIC, no fast convergence, buffer of {share} bandwidth-delay products: share of the link used");
        let ours = utilisation(share_of_product(share), seconds, &linux.tcp);
        push(linux.row(&name), "W_cubic of RFC 9438 4.2 in whole segments, integrated", cubic_share(share), 0.02, ours);
    }
    let pairs = ["newreno", "cubic"].map(|algorithm| (Stack::plain().with(|stack| *stack = tcp(algorithm)), algorithm));
    let profiles = [(Stack::rfc(), "newreno"), (Stack::linux(), "cubic")];
    for (stack, algorithm) in pairs.into_iter().chain(profiles).take(if full { 4 } else { 1 }) {
        let name = format!("two flows of {algorithm}, 1.37 s apart, 300 s from the 120th on: share of the first");
        push(stack.row(&name), "symmetry", 0.5, 0.05, share_of_first(&stack.tcp));
    }
    rows
}

fn share_of_product(share: f64) -> u64 {
    (share * PRODUCT as f64) as u64
}

/// Two flows over a buffer of one product. CUBIC takes about two minutes to make good the advantage that one of them has
/// from slow start: drops meet both at once, and what they differ by shrinks with each.
fn share_of_first(tcp: &Config) -> f64 {
    let marks = [120, 420].map(|seconds| Time::ZERO + Duration::from_secs(seconds)).to_vec();
    let lab = Lab { marks, ..Lab::new(Some(link(PRODUCT)), LossModel::None, 420.0) };
    let flow = Flow::endless(Duration::from_millis(100), tcp.clone());
    let later = Flow { start: Time::ZERO + Duration::from_millis(1_370), ..flow.clone() };
    let outcome = lab.run(&[flow, later]);
    let (one, other) = (outcome.between(0, 0), outcome.between(1, 0));
    one / (one + other)
}
