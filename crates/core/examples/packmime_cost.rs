//! Cost of the numbers of PackMime-HTTP, in CPU nanoseconds: of a draw of an FSD variable, of its beginning, of a connection.
//!
//! `cargo run --release -p flowloom-core --example packmime_cost`

use flowloom_core::model::generate::PackMime;
use flowloom_core::model::{Fsd, FsdModel};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::Duration;

/// CPU time of this thread so far, in nanoseconds; zero where the kernel does not tell.
fn cpu_nanos() -> u64 {
    let told = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    told.split_whitespace().next().and_then(|nanos| nanos.parse().ok()).unwrap_or_default()
}

/// What `work` gives, and its CPU time.
fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let before = cpu_nanos();
    let done = work();
    (done, (cpu_nanos() - before) as f64)
}

fn main() {
    const DRAWS: u32 = 2_000_000;
    println!("{:>11} {:>12} {:>14} {:>9}", "past values", "ns/draw", "ms to begin", "mean");
    for past in [100, 1_000, 5_000, 20_000] {
        let model = FsdModel { d: 0.31, theta: 0.84, past };
        let (mut variable, beginning) = timed(|| Fsd::new(model, Stream::new(1, Purpose::Arrivals, 0)));
        let (sum, draws) = timed(|| (0..DRAWS).map(|_| variable.normal()).sum::<f64>());
        let (cost, mean) = (draws / f64::from(DRAWS), sum / f64::from(DRAWS));
        println!("{past:>11} {cost:>12.0} {:>14.1} {mean:>9.4}", beginning / 1e6);
    }
    println!();
    println!("{:>11} {:>12} {:>14} {:>9}", "rate", "ns/conn", "connections", "clouds");
    for (rate, clouds, reverse_rate) in [(100.0, 1, None), (24.1, 5, Some(22.9))] {
        let model = PackMime { reverse_rate, clouds, ..PackMime::new(rate) };
        let (begun, beginning) = timed(|| model.vectors(1, Duration::from_millis(1)).count());
        let (count, all) = timed(|| model.vectors(1, Duration::from_secs(3_600)).count());
        let cost = (all - beginning) / (count - begun) as f64;
        println!("{rate:>11} {cost:>12.0} {count:>14} {clouds:>9}");
    }
}
