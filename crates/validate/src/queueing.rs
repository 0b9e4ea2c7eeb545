//! One link under open load, against queueing theory.

use flowloom_core::path::Link;
use flowloom_core::queue::{Admission, DropTail, Queue};
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Rate};
use flowloom_sim::open_loop::{self, Gaps, Results, Sizes, Source};

use crate::check::{Effort, Expected, Row};

const GROUP: &str = "Queueing";
/// 125,000 bytes take 1 ms at 1 Gbit/s; whole bytes are fine enough for an exponential law.
const MILLISECOND: u32 = 125_000;
const UNLIMITED: Limit = Limit::Packets(u64::MAX);
/// M/D/1 at a load of 0.8: the shares of time with 0 to 5 packets, from the Pollaczek-Khinchine transform.
const OCCUPANCY: [f64; 6] = [0.2, 0.245_11, 0.189_41, 0.127_58, 0.083_28, 0.054_13];

/// M/M/1, M/D/1, M/G/1 and M/M/1/10 by load.
///
/// Ten million packets leave a standard deviation of 1.4 % in the mean wait of M/M/1 at a load of 0.95, of 0.7 % at 0.9 and
/// less below (Whitt 1989).
pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let packets = if effort == Effort::Full { 10_000_000 } else { 300_000 };
    let slack = if effort == Effort::Full { 1.0 } else { 6.0 };
    let mut rows = Vec::new();
    let mut push = |name: String, source: &str, value: f64, share: f64, ours: f64| {
        rows.push(Row::new(GROUP, name, source, Expected::Near { value, share: share * slack }, ours));
    };
    let loads = [(0.5, 0.000_488_52), (0.8, 0.023_493), (0.9, 0.050_814), (0.95, 0.069_427)];
    for (rho, blocking) in loads.into_iter().take(if effort == Effort::Full { 4 } else { 2 }) {
        let share = if rho > 0.94 { 0.03 } else { 0.01 };
        let mm1 = rho / (1.0 - rho);
        let md1 = mm1 / 2.0;
        let results = serve(rho, Sizes::Exponential(f64::from(MILLISECOND)), UNLIMITED, packets, 1);
        push(format!("M/M/1, load {rho}: wait, ms"), "rho / (1 - rho)", mm1, share, results.mean_wait * 1e3);
        push(format!("M/M/1, load {rho}: packets in the system"), "rho / (1 - rho)", mm1, share, results.mean_number);
        let results = serve(rho, Sizes::Constant(MILLISECOND), UNLIMITED, packets, 2);
        push(format!("M/D/1, load {rho}: wait, ms"), "rho / (2 (1 - rho))", md1, share, results.mean_wait * 1e3);
        let source = "rho + rho^2 / (2 (1 - rho))";
        push(format!("M/D/1, load {rho}: packets in the system"), source, rho + rho * md1, share, results.mean_number);
        if rho == 0.8 {
            for (n, (found, value)) in results.found.iter().zip(OCCUPANCY).enumerate() {
                let ours = *found as f64 / results.offered as f64;
                push(
                    format!("M/D/1, load {rho}: share of arrivals that find {n}"),
                    "Pollaczek-Khinchine",
                    value,
                    0.01,
                    ours,
                );
            }
        }
        // Of ten places one is the transmission. Drops come in clusters, and at 0.5 they are rare: ten runs.
        if effort == Effort::Full || rho > 0.6 {
            let runs = if effort == Effort::Full { 10 } else { 2 };
            let sizes = Sizes::Exponential(f64::from(MILLISECOND));
            let dropped: f64 =
                (0..runs).map(|seed| serve(rho, sizes, Limit::Packets(9), packets, seed).dropped as f64).sum();
            let ours = dropped / runs as f64 / packets as f64;
            let share = if rho < 0.6 { 0.03 } else { 0.01 };
            push(format!("M/M/1/10, load {rho}: share lost"), "(1 - rho) rho^10 / (1 - rho^11)", blocking, share, ours);
        }
    }
    // M/G/1: half of the packets have 40 bytes and half 1,500, at 10 Mbit/s and a load of 0.8.
    let gaps = Gaps::Exponential(Duration::from_secs_f64(0.000_616 / 0.8));
    let source = Source { gaps, sizes: Sizes::Either(40, 1_500) };
    let results = open_loop::run(&mut link(10_000_000, UNLIMITED), &[source], packets, 4);
    let name = "M/G/1, load 0.8, 40 and 1,500 bytes: wait, ms".to_owned();
    push(name, "Pollaczek-Khinchine", 2.3393, 0.01, results.mean_wait * 1e3);
    rows
}

fn link(rate: u64, limit: Limit) -> Link {
    let rate = Rate::from_bits_per_second(rate).unwrap_or(Rate::UNLIMITED);
    Link::new(
        Queue::Arrival(Admission::DropTail(DropTail::new(limit))),
        rate,
        Duration::ZERO,
        Duration::from_secs(1_000_000),
    )
}

fn serve(rho: f64, sizes: Sizes, limit: Limit, packets: u64, seed: u64) -> Results {
    let gaps = Gaps::Exponential(Duration::from_secs_f64(1e-3 / rho));
    open_loop::run(&mut link(1_000_000_000, limit), &[Source { gaps, sizes }], packets, seed)
}
