//! An hour of PackMime's web traffic as Weigle (2003) had it at a load of 85 %: five pairs of clouds each way. Prints the Hurst
//! parameters of new connections and of packets on the link, over links of ten times the rate (nothing in the way) and of the rate
//! itself, over all time scales and over the longer ones; the published one of packets is 0.84. Exits with 1 if that of the packets of
//! either direction, over all time scales and with nothing in the way, is farther than 0.05 from it.
//!
//! `cargo run --release -p flowloom-sim --example packmime_hour [SEEDS]`

use std::cell::RefCell;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::process::ExitCode;

use flowloom_core::queue::Discipline;
use flowloom_core::record::*;
use flowloom_core::time::Duration;
use flowloom_core::units::Limit;
use flowloom_core::workload::LinkSide;
use flowloom_models::generate::{Http, PackMime};
use flowloom_models::lrd::{Hurst, Wavelet, fit, logscale};
use flowloom_sim::{Config, RunError, Summary, run};

const HOUR: Duration = Duration::from_secs(3_600);
/// Of table A.3, at 85 %.
const RATES: [f64; 2] = [24.1, 22.9];
const PUBLISHED: f64 = 0.84;
const TOLERANCE: f64 = 0.05;
const BIN: Duration = Duration::from_millis(10);
/// From 80 ms to 164 s, of which an hour has twenty; and from 2.6 s on, where a queue of 10 Mbit/s has long been empty again.
const OCTAVES: [(u32, u32); 2] = [(3, 14), (8, 14)];

fn main() -> ExitCode {
    let seeds: u64 = std::env::args().nth(1).map_or(3, |text| text.parse().expect("a number of seeds"));
    let mut good = true;
    println!("{:<34} octaves {:?} of {BIN}        {:?}", "", OCTAVES[0], OCTAVES[1]);
    for (title, rate, is_checked) in [("100 Mbit/s", "100mbit", true), ("10 Mbit/s", "10mbit", false)] {
        for seed in 1..=seeds {
            let (starts, packets) = hour(seed, rate);
            for side in [LinkSide::Left, LinkSide::Right] {
                let what = format!("{title}, seed {seed}, {}", side.word());
                let [arrivals, packets] = [&starts, &packets].map(|series| estimates(&series[side as usize]));
                println!("{what:<26} starts  {}    {}", shown(&arrivals[0]), shown(&arrivals[1]));
                println!("{:<26} packets {}    {}", "", shown(&packets[0]), shown(&packets[1]));
                good &= !is_checked || (packets[0].h - PUBLISHED).abs() <= TOLERANCE;
            }
        }
    }
    println!("published, of packets: {PUBLISHED} (tolerance {TOLERANCE})");
    ExitCode::from(u8::from(!good))
}

fn estimates(counts: &[f64]) -> [Hurst; 2] {
    let octaves = logscale(counts, Wavelet::Three);
    OCTAVES.map(|(first, last)| fit(&octaves, first, last).expect("an hour has so many octaves"))
}

fn shown(hurst: &Hurst) -> String {
    let (low, high) = hurst.interval();
    format!("H {:.3} [{low:.3}, {high:.3}]", hurst.h)
}

/// New connections of clients on either side, and packets that came from there, in each bin.
fn hour(seed: u64, rate: &str) -> ([Vec<f64>; 2], [Vec<f64>; 2]) {
    let bins = (HOUR.as_nanos() / BIN.as_nanos()) as usize;
    let empty = || [vec![0.0; bins], vec![0.0; bins]];
    let model = PackMime { rate: RATES[0], reverse_rate: Some(RATES[1]), clouds: 5, http: Http::V1_0 };
    let starts = RefCell::new(empty());
    let vectors = model.vectors(seed, HOUR).map(|vector| {
        let bin = vector.start.as_nanos() / BIN.as_nanos();
        starts.borrow_mut()[vector.initiator_side as usize][bin as usize] += 1.0;
        Ok::<_, Infallible>(vector)
    });
    let mut config = Config::new(rate.parse().expect("a rate"), HOUR);
    // Twice the product of bandwidth and mean delay, as there.
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(111));
    config.drain = Duration::ZERO;
    config.monitor = false;
    config.seed = seed;
    config.throughput_every = BIN;
    config.queue_every = HOUR;
    let mut packets = Packets(empty());
    let outcome: Result<Summary, RunError<Infallible, Infallible>> =
        run(vectors, &config, &mut packets, |_| ControlFlow::Continue(()));
    outcome.expect("the run succeeds");
    (starts.into_inner(), packets.0)
}

/// Packets that passed in each bin, from the left and from the right.
struct Packets([Vec<f64>; 2]);

impl Recorder for Packets {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        let Record::Throughput { bin } = record else { return Ok(()) };
        if let Some(place) = self.0[bin.from as usize].get_mut((bin.start.as_nanos() / BIN.as_nanos()) as usize) {
            *place += bin.carried.packets as f64;
        }
        Ok(())
    }
}
