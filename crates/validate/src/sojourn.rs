//! Sojourn times that runs record at the bottleneck, against queueing theory.

use std::convert::Infallible;
use std::ops::ControlFlow;

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::play::{Datagrams, Pacing};
use flowloom_core::queue::Discipline;
use flowloom_core::record::{Record, Recorder, SojournRecord};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{LINK_HEADER_BYTES, Limit, Rate};
use flowloom_core::workload::{ConnectionVector, LinkSide};
use flowloom_report::statistics::Estimate;
use flowloom_sim::{Config, DatagramFlow, run};

use crate::check::{Effort, Expected, Row};

const GROUP: &str = "Sojourn times";
const BITS_PER_SECOND: u64 = 10_000_000;
/// Bytes of a datagram on the link beside its payload.
const HEADERS: f64 = 28.0 + LINK_HEADER_BYTES as f64;
const RUNS: u64 = 20;

/// The bins that a run records.
#[derive(Debug, Default)]
struct Bins(Vec<SojournRecord>);

impl Recorder for Bins {
    type Error = Infallible;

    fn record(&mut self, record: Record<'_>) -> Result<(), Infallible> {
        if let Record::Sojourn { bin } = record {
            self.0.push(*bin);
        }
        Ok(())
    }
}

/// M/D/1 and M/G/1 by load: Poisson datagrams of a source, through the whole simulator. Each load has so many packets that the 99 % interval
/// of 20 runs is no wider than 1 % to either side.
pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = Vec::new();
    for (name, law) in [("M/D/1", Law::Constant(958.0)), ("M/G/1", Law::Uniform { min: 60.0, max: 1_472.0 })] {
        for (load, packets) in [(0.5, 200_000), (0.8, 1_000_000), (0.9, 4_000_000)] {
            let packets = if full { packets } else { packets / 200 };
            let Some([theory, found]) = measured(&law, load, packets) else {
                rows.push(Row::unmade(GROUP, format!("{name}, load {load}: mean sojourn time"), "Pollaczek-Khinchine"));
                continue;
            };
            let (mean, half) = (found.mean, found.half_width);
            let off = (mean - theory.mean).abs() / half;
            let source = "Pollaczek-Khinchine: rho / (1 - rho) E[S^2] / (2 E[S])";
            rows.push(Row::new(
                GROUP,
                format!("{name}, load {load}: mean sojourn time, ms"),
                source,
                Expected::Near { value: theory.mean, share: if full { 0.01 } else { 0.2 } },
                mean,
            ));
            let name_of_off = format!(
                "{name}, load {load}: distance from theory, in half widths of the 99 % interval of {RUNS} runs"
            );
            rows.push(Row::new(GROUP, name_of_off, source, Expected::AtMost(1.0), off));
            let widest = if full { 0.01 } else { 0.3 };
            let name_of_width = format!("{name}, load {load}: half width of that interval, share of the mean");
            rows.push(Row::new(GROUP, name_of_width, "target", Expected::AtMost(widest), half / mean));
        }
    }
    rows
}

/// A mean in milliseconds, and half of its 99 % interval.
#[derive(Clone, Copy, Debug)]
struct Mean {
    mean: f64,
    half_width: f64,
}

/// The mean sojourn time of theory, and that of 20 runs of so many packets each.
fn measured(law: &Law, load: f64, packets: u64) -> Option<[Mean; 2]> {
    let payload = Distribution::new(law.clone()).ok()?;
    let [mean, squares] = service(&payload);
    let theory = 1e3 * load / mean * squares / (2.0 * (1.0 - load));
    let runs: Option<Vec<f64>> = (0..RUNS).map(|seed| mean_sojourn(&payload, load, packets, seed)).collect();
    let estimate = Estimate::of_mean(&runs?)?;
    let interval = estimate.interval_from_zero(0.99);
    let found = Mean { mean: (interval.low + interval.high) / 2.0, half_width: (interval.high - interval.low) / 2.0 };
    Some([Mean { mean: theory, half_width: 0.0 }, found])
}

/// The mean sojourn time of a run, in milliseconds.
fn mean_sojourn(payload: &Distribution, load: f64, packets: u64, seed: u64) -> Option<f64> {
    let gap = Duration::from_secs_f64(service(payload)[0] / load);
    let mut config = Config::new(Rate::from_bits_per_second(BITS_PER_SECOND)?, gap * packets);
    config.bottleneck.queue = Discipline::DropTail(Limit::Packets(1 << 40));
    config.seed = seed;
    let (pacing, payload) = (Pacing::Poisson, payload.clone());
    let datagrams = Datagrams { pacing, gap, payload, start: Time::ZERO, stop: Time::MAX, answered: false };
    let rtt = Duration::from_millis(1);
    config.datagrams = vec![DatagramFlow { id: 1, class: 0, from: LinkSide::Left, rtt, ip_version: None, datagrams }];
    let mut bins = Bins::default();
    let none = std::iter::empty::<Result<ConnectionVector, Infallible>>();
    run(none, &config, &mut bins, |_| ControlFlow::Continue(())).ok()?;
    let waited: f64 = bins.0.iter().map(|bin| bin.total.as_secs_f64()).sum();
    let packets: u64 = bins.0.iter().map(|bin| bin.packets).sum();
    Some(1e3 * waited / packets as f64)
}

/// Mean and second moment of the time that a datagram takes on the link, in seconds.
fn service(payload: &Distribution) -> [f64; 2] {
    const POINTS: u32 = 100_000;
    let times = (0..POINTS).map(|n| {
        let bytes = payload.quantile((f64::from(n) + 0.5) / f64::from(POINTS)).round() + HEADERS;
        bytes * 8.0 / BITS_PER_SECOND as f64
    });
    let sums = times.fold([0.0, 0.0], |[sum, squares], time| [sum + time, squares + time * time]);
    sums.map(|sum| sum / f64::from(POINTS))
}
