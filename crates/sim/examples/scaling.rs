//! Whether the cost of a packet stays what it is when connections are open by the ten thousand, and over an hour.
//!
//! `cargo run --release -p flowloom-sim --example scaling [idle|active|hour]...`
//!
//! Every figure is a ratio of CPU times per bottleneck packet, taken in turns in one run, each the least of several, so that
//! neither the machine nor what else it does decides. Exits with 1 if a bar is missed:
//!
//! - 45,000 connections that are open and silent cost at most 30 % of the rate;
//! - from 1,000 to 100,000 connections that all send, a packet costs at most twice as much;
//! - from a minute to an hour of simulated time it costs the same, within a fifth.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::process::ExitCode;

use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Limit;
use flowloom_core::workload::{Adu, Close, ConnectionVector};
use flowloom_sim::{Config, RunError, Summary, run};
use loads::*;

mod loads;

/// Runs of each of the two sides of a ratio.
const TURNS: usize = 3;

fn main() -> ExitCode {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let bars = [
        ("idle", "rate with 45,000 idle connections open : without", idle as fn() -> f64, 0.7, f64::INFINITY),
        ("active", "cost of a packet of 100,000 active connections : of 1,000", active, 0.0, 2.0),
        ("hour", "cost of a packet in an hour : in a minute", hour, 0.8, 1.2),
    ];
    let mut good = true;
    for (name, title, ratio, least, most) in bars {
        if !wanted.is_empty() && !wanted.iter().any(|one| one == name) {
            continue;
        }
        let found = ratio();
        let within = (least..=most).contains(&found);
        let bar = if most.is_finite() { format!("{least} to {most}") } else { format!("at least {least}") };
        println!("{title:<60} {found:>6.2}  ({bar}){}", if within { "" } else { "  MISSED" });
        good &= within;
    }
    ExitCode::from(u8::from(!good))
}

type Vectors = Box<dyn Iterator<Item = ConnectionVector>>;

/// CPU nanoseconds of a run and its bottleneck packets.
fn measured(vectors: Vectors, config: &Config) -> (f64, f64) {
    let before = cpu_seconds();
    let outcome: Result<Summary, RunError<Infallible, Infallible>> =
        run(vectors.map(Ok), config, &mut Counter::default(), |_| ControlFlow::Continue(()));
    let packets = outcome.unwrap_or_else(|error| panic!("{error}")).bottleneck_packets();
    (1e9 * (cpu_seconds() - before), packets as f64)
}

/// The least times of several runs, taken in turns, and the packets of each.
fn least<const N: usize>(run: impl Fn(usize) -> (f64, f64)) -> [(f64, f64); N] {
    let mut best = [(f64::INFINITY, 0.0); N];
    for _ in 0..TURNS {
        for (at, best) in best.iter_mut().enumerate() {
            let (time, packets) = run(at);
            *best = (best.0.min(time), packets);
        }
    }
    best
}

fn without_drain(rate: &str, window: Duration) -> Config {
    Config { drain: Duration::ZERO, ..config(rate, window, Limit::Packets(65_000)) }
}

/// 1,000 connections a second for 40 s, after a second in which 45,000 are opened, or not, that say no more until the end.
fn idle() -> f64 {
    let config = without_drain("500mbit", Duration::from_secs(41));
    let busy = || {
        let mut random = Stream::new(1, Purpose::Delays, 0);
        (0..40_000).map(move |id| {
            let rtt = Duration::from_secs_f64(0.01 + 0.19 * random.uniform());
            exchange(100_000 + id, Time::from_nanos(1_000_000_000 + id * 1_000_000), rtt, 500, 10_000, 1 << 16)
        })
    };
    let waiting = || {
        (0..45_000).map(|id| {
            let mut vector = exchange(id, Time::from_nanos(id * 22_000), Duration::from_millis(50), 100, 100, 1 << 16);
            vector.adus[0].wait = Some(Duration::from_secs(100));
            vector
        })
    };
    let [alone, opening, together] = least(|at| match at {
        0 => measured(Box::new(busy()), &config),
        1 => measured(Box::new(waiting()), &config),
        _ => measured(Box::new(waiting().chain(busy())), &config),
    });
    // What opening them costs is not what their being open costs.
    alone.0 / (together.0 - opening.0)
}

/// Exchanges of 300 and 3,000 bytes, 25,000 a second over so many seconds, by so many connections that are all open.
fn exchanges(connections: u64, seconds: u64) -> (f64, f64) {
    const A_SECOND: u64 = 25_000;
    let each = A_SECOND * seconds / connections;
    let gap = Duration::from_nanos(1_000_000_000 * connections / A_SECOND);
    let vectors = (0..connections).map(move |id| {
        let rtt = Duration::from_millis(10 + id % 20);
        // One after the other over the first gap; each begins again a gap after it was answered.
        let mut vector = exchange(id, Time::from_nanos(gap.as_nanos() * id / connections), rtt, 300, 3_000, 1 << 16);
        let pair = [vector.adus[0], Adu { wait: Some(gap.saturating_sub(rtt)), ..vector.adus[1] }];
        vector.adus = pair.repeat(each as usize);
        vector.close = Close::NotSeen;
        vector
    });
    measured(Box::new(vectors), &without_drain("2gbit", Duration::from_secs(seconds + 1)))
}

/// Of what comes after the first ten seconds, in which they are opened.
fn active() -> f64 {
    let [few, few_more, many, many_more] = least(|at| exchanges([1_000, 100_000][at / 2], [10, 30][at % 2]));
    let cost = |less: (f64, f64), more: (f64, f64)| (more.0 - less.0) / (more.1 - less.1);
    cost(many, many_more) / cost(few, few_more)
}

/// Twenty connections a second: sixty times a minute, and an hour.
fn hour() -> f64 {
    let of = |minutes: u64, times: u64| {
        let config = config("10mbit", Duration::from_secs(60 * minutes), Limit::Packets(1_000));
        let vectors = || -> Vectors {
            Box::new((0..1_200 * minutes).map(|id| {
                let rtt = Duration::from_millis(20 + 7 * id % 100);
                exchange(id, Time::from_nanos(id * 50_000_000), rtt, 500, 10_000, 1 << 16)
            }))
        };
        let runs = (0..times).map(|_| measured(vectors(), &config));
        runs.fold((0.0, 0.0), |sum, run| (sum.0 + run.0, sum.1 + run.1))
    };
    let [minute, hour] = least(|at| if at == 0 { of(1, 60) } else { of(60, 1) });
    (hour.0 / hour.1) / (minute.0 / minute.1)
}
