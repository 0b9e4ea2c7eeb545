//! CUBIC against the numbers of RFC 9438.

use flowloom_core::path::{LossModel, PacketList};
use flowloom_core::tcp::Config;
use flowloom_core::tcp::congestion::{Algorithm, CubicParameters};
use flowloom_core::time::Duration;

use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab};
use crate::loss_response::{Pattern, mean_window};
use crate::profiles::{Stack, payload};

const GROUP: &str = "CUBIC";
const MSS: u32 = 1_460;

fn tcp(fast_convergence: bool) -> Config {
    let congestion = Algorithm::Cubic(CubicParameters { fast_convergence, ..CubicParameters::default() });
    Config { congestion, delayed_ack: None, ..Config::default() }
}

/// One loss at about `segments`: the window before it in segments, and how long it took to come back, in seconds.
fn return_time(segments: u64, tcp: &Config) -> (f64, f64) {
    // Slow start has sent w segments when the window is w / 2; the loss is noticed a round later.
    let loss = PacketList::new([(segments, segments)]).map_or(LossModel::None, LossModel::List);
    let lab = Lab { trace: true, ..Lab::new(None, loss, 25.0) };
    let outcome = lab.run(&[Flow::endless(Duration::from_millis(100), tcp.clone())]);
    let windows = outcome.windows;
    let fall = windows.windows(2).position(|pair| pair[1].1 < pair[0].1);
    let Some(fall) = fall else { return (f64::NAN, f64::NAN) };
    let before = windows[fall].1;
    // Growth begins when recovery ends: the lowest point.
    let Some((bottom, _)) =
        windows.iter().enumerate().skip(fall).take(10 * segments as usize).min_by_key(|(_, window)| window.1)
    else {
        return (f64::NAN, f64::NAN);
    };
    let back = windows[bottom..].iter().find(|(_, window)| *window >= before);
    let start = windows[bottom].0;
    (
        f64::from(before) / f64::from(payload(tcp, MSS)),
        back.map_or(f64::NAN, |(time, _)| time.since(start).as_secs_f64()),
    )
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let mut rows = Vec::new();
    // The published windows are those of a cycle that repeats itself, without fast convergence. A flow gets there slowly: near
    // it a cycle that begins a share d too high takes 0.7 d^3 off that. Hence hundreds of cycles, which 1e-5 and 1e-6 would
    // make too many packets; with fast convergence a few suffice, but the cycle is a little lower.
    let source = "RFC 9438 5.1 and 5.2, tables 1 and 2";
    let [converging, repeating] = [true, false].map(|fast| Stack::plain().with(|stack| *stack = tcp(fast)));
    let mut push = |stack: &Stack, p: f64, fast_convergence, cycles, value, share| {
        let ours = mean_window(stack.tcp.clone(), Pattern::Periodic, p, cycles);
        let how = if fast_convergence { "" } else { ", no fast convergence" };
        let name = format!("100 ms, one packet lost in {:.0}{how}: mean window, segments", 1.0 / p);
        rows.push(Row::new(GROUP, stack.row(&name), source, Expected::Near { value, share }, ours));
    };
    push(&repeating, 1e-2, false, 400.0, 12.0, 0.1);
    push(&repeating, 1e-3, false, 400.0, 38.0, 0.1);
    if effort == Effort::Full {
        push(&repeating, 1e-4, false, 400.0, 187.0, 0.1);
        push(&converging, 1e-4, true, 50.0, 187.0, 0.12);
        push(&converging, 1e-5, true, 20.0, 1_054.0, 0.12);
        push(&converging, 1e-6, true, 10.0, 5_926.0, 0.12);
    }
    // Profiles have fast convergence.
    for stack in profiles() {
        push(&stack, 1e-2, true, 400.0, 12.0, 0.12);
        if effort == Effort::Full {
            push(&stack, 1e-3, true, 400.0, 38.0, 0.12);
            push(&stack, 1e-4, true, 50.0, 187.0, 0.12);
        }
    }
    for stack in [converging].into_iter().chain(profiles()) {
        for segments in
            [100, 833, 1_000].into_iter().take(if stack.is_profile() && effort == Effort::Quick { 1 } else { 3 })
        {
            let (before, ours) = return_time(segments, &stack.tcp);
            let value = libm::cbrt(before * 0.3 / 0.4);
            let name = stack.row(&format!("time to return to a window of {before:.0} segments after one loss, s"));
            let source = "RFC 9438 4.2: K = cbrt(W (1 - 0.7) / 0.4)";
            rows.push(Row::new(GROUP, name, source, Expected::Near { value, share: 0.05 }, ours));
        }
    }
    rows
}

/// Linux's own, and the standards track with RFC 9438.
fn profiles() -> [Stack; 2] {
    [Stack::rfc().with(|stack| stack.congestion = tcp(true).congestion), Stack::linux()]
}
