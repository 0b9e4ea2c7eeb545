//! The link under open load against queueing theory, at ten million packets per case.
//!
//! `cargo run --release -p flowloom-sim --example queueing_truth`
//!
//! Prints measured against expected; exits with 1 if a case is more than 1 % off (3 % at a load of 0.95, where ten
//! million packets leave a standard deviation of 1.4 % in the mean wait of M/M/1; at 0.9 they leave 0.7 %). Takes half
//! a minute.

use std::process::ExitCode;

use flowloom_core::path::Link;
use flowloom_core::queue::{Admission, DropTail, Queue};
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Rate};
use flowloom_sim::open_loop::{self, Gaps, Results, Sizes, Source};

const PACKETS: u64 = 10_000_000;
/// 125,000 bytes take 1 ms at 1 Gbit/s; whole bytes are fine enough for an exponential law.
const MILLISECOND: u32 = 125_000;

fn main() -> ExitCode {
    let mut table = Table { good: true };
    let unlimited = Limit::Packets(u64::MAX);
    println!("{:<10} {:<16} {:>12} {:>12} {:>8}", "load", "quantity", "measured", "expected", "off");
    for (rho, mm1, md1, blocking) in [
        (0.5, 1.0, 0.5, 0.000_489),
        (0.8, 4.0, 2.0, 0.023_493),
        (0.9, 9.0, 4.5, 0.050_814),
        (0.95, 19.0, 9.5, 0.069_427),
    ] {
        let tolerance = if rho > 0.94 { 0.03 } else { 0.01 };
        let results = serve(rho, Sizes::Exponential(f64::from(MILLISECOND)), unlimited, 1);
        table.check(rho, "M/M/1 wait", results.mean_wait * 1e3, mm1, tolerance);
        table.check(rho, "M/M/1 number", results.mean_number, mm1, tolerance);
        let results = serve(rho, Sizes::Constant(MILLISECOND), unlimited, 2);
        table.check(rho, "M/D/1 wait", results.mean_wait * 1e3, md1, tolerance);
        table.check(rho, "M/D/1 number", results.mean_number, rho * md1 + rho, tolerance);
        if rho == 0.8 {
            for (n, expected) in (0..).zip([0.2, 0.245_11, 0.189_41, 0.127_58, 0.083_28, 0.054_13]) {
                table.check(rho, &format!("M/D/1 P{n}"), results.found[n] as f64 / PACKETS as f64, expected, 0.01);
            }
        }
        // Of ten places one is the transmission. Drops come in clusters, so ten runs: their mean has a standard deviation
        // of 1 % at a load of 0.5, where one packet in two thousand is dropped, and of 0.2 % or less at the others.
        let runs = (0..10).map(|seed| serve(rho, Sizes::Exponential(f64::from(MILLISECOND)), Limit::Packets(9), seed));
        let blocked = runs.map(|results| results.dropped as f64).sum::<f64>() / 10.0 / PACKETS as f64;
        table.check(rho, "M/M/1/10 blocked", blocked, blocking, if rho < 0.6 { 0.03 } else { 0.01 });
    }
    // M/G/1: half of the packets have 40 bytes and half 1,500, at 10 Mbit/s and a load of 0.8.
    let mut link = link(10_000_000, unlimited);
    let gaps = Gaps::Exponential(Duration::from_secs_f64(0.000_616 / 0.8));
    let results = open_loop::run(&mut link, &[Source { gaps, sizes: Sizes::Either(40, 1_500) }], PACKETS, 4);
    table.check(0.8, "M/G/1 wait", results.mean_wait * 1e3, 2.3393, 0.01);
    ExitCode::from(u8::from(!table.good))
}

fn link(rate: u64, limit: Limit) -> Link {
    let rate = Rate::from_bits_per_second(rate).expect("a rate above zero");
    Link::new(
        Queue::Arrival(Admission::DropTail(DropTail::new(limit))),
        rate,
        Duration::ZERO,
        Duration::from_secs(1_000_000),
    )
}

fn serve(rho: f64, sizes: Sizes, limit: Limit, seed: u64) -> Results {
    let gaps = Gaps::Exponential(Duration::from_secs_f64(1e-3 / rho));
    open_loop::run(&mut link(1_000_000_000, limit), &[Source { gaps, sizes }], PACKETS, seed)
}

struct Table {
    good: bool,
}

impl Table {
    fn check(&mut self, rho: f64, quantity: &str, measured: f64, expected: f64, tolerance: f64) {
        let off = measured / expected - 1.0;
        let good = off.abs() <= tolerance;
        self.good &= good;
        let mark = if good { "" } else { "  OFF" };
        println!("{rho:<10} {quantity:<16} {measured:>12.6} {expected:>12.6} {:>7.2}%{mark}", off * 100.0);
    }
}
