//! Phase-modulated cells at a queue: the formulas of Frost et al. 1998 against numbers of their own, and against the queue with the traffic itself.

use flowloom_core::cell::delay_and_loss::{Queue, mean_number, more_than};
use flowloom_core::cell::phases::Phases;
use flowloom_core::cell::slot::MicroDynamics;
use flowloom_core::time::Duration;
use flowloom_models::generate::on_off::{Heavy, OnOff, Transport};
use flowloom_sim::cell_queue::{Modulated, run};

use crate::check::{Effort, Expected, Row};

const GROUP: &str = "Cell queues";
/// Sources of the trace, and what one sends while it is on, in cells per second.
const SOURCES: u32 = 50;
const RATE: f64 = 2_000.0;
/// Bins of the trace, in seconds: as a counter that is read every 10 ms would have them.
const BIN: f64 = 0.01;

/// Why the published estimate departs.
const UPPER: &str = "the published estimate is the tail of an infinite queue; at 0.99 of the service rate a finite queue loses a hundredth of that share, \
                     as the finite estimate has it";

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    [vectors(), trace(effort)].concat()
}

/// P(Q > k) by load, from the cancelling form of the recursion over decimal numbers of 120 digits.
const TAILS: [(f64, usize, f64); 6] = [
    (0.3, 10, 5.543_669_729_659_448e-10),
    (0.3, 54, 1.959_072_007_639_192_8e-49),
    (0.5, 50, 3.444_637_505_605_438e-28),
    (0.5, 90, 5.136_861_944_619_272e-50),
    (0.8, 250, 1.444_162_961_908_545e-47),
    (0.95, 1_000, 6.411_419_576_646_251e-45),
];

/// The test vectors of the formulas.
fn vectors() -> Vec<Row> {
    let mut rows = Vec::new();
    let mut push = |name: String, source: &str, value: f64, share: f64, ours: f64| {
        rows.push(Row::new(GROUP, name, source, Expected::Near { value, share }, ours));
    };
    for (load, k, value) in TAILS {
        let ours = more_than(MicroDynamics::Poisson, load, k)[k];
        let name = format!("M/D/1, load {load}: share of time with more than {k} cells, over the published");
        push(name, "Keilson-Servi recursion (Daigle 1992), in 120 digits", 1.0, 1e-12, ours / value);
    }
    for load in [0.3, 0.95] {
        let value = load + load * load / (2.0 * (1.0 - load));
        push(
            format!("M/D/1, load {load}: cells in the system, discrete-time form"),
            "Pollaczek-Khinchine",
            value,
            1e-12,
            mean_number(load, load),
        );
    }
    let bounds = vec![1_000.0, 2_000.0, 3_000.0, 4_000.0, 5_000.0];
    let phases = Phases::pareto(bounds, 1_000.0, 1.5).ok();
    let Some(queue) = phases.as_ref().and_then(|phases| Queue::new(phases, MicroDynamics::Poisson, 6_000.0).ok())
    else {
        rows.push(Row::unmade(GROUP, "four Pareto phases", "Frost et al. 1998"));
        return rows;
    };
    let source = "Frost et al. 1998, corrected";
    push("four Pareto phases: mean delay, us".to_owned(), source, 262.534_88, 2e-8, queue.mean_delay() * 1e6);
    let printed = queue.mean_delay_as_printed() * 1e6;
    push("four Pareto phases: mean delay as printed, us".to_owned(), "Frost et al. 1998", 466.806_20, 2e-8, printed);
    for (loss, value) in
        queue.losses(&[0, 10, 50]).iter().zip([0.407_038_255_9, 1.033_333_750_3e-3, 7.064_053_859_5e-10])
    {
        let name = format!("four Pareto phases: loss with a buffer of {} cells, over the published", loss.buffer);
        push(name, "Frost et al. 1998", 1.0, 1e-9, loss.tail / value);
    }
    rows
}

/// A queue with the rates of on-off sources, whose cells come as a Poisson process at each rate.
fn trace(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    // So long that the cells go through it about once: a part of it has other extremes.
    let (seconds, cells) = if full { (600.0, 30_000_000) } else { (40.0, 2_000_000) };
    let series = on_off(seconds);
    let rates = || series.iter().map(|(_, rate)| *rate);
    let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    let mean = rates().sum::<f64>() / series.len() as f64;
    let Ok(phases) = Phases::histogram(Phases::equal(least, most, 35), &series) else {
        return vec![Row::unmade(GROUP, "50 on-off Pareto sources", "Frost et al. 1998")];
    };
    let mut rows = Vec::new();
    // From far below the knee to where the highest rate is all that is served but for a hundredth.
    let highest = mean / (1.01 * most);
    let loads =
        [(0.3, &[2][..]), (0.6, &[2, 5]), (0.8, &[2, 5, 10]), (0.9, &[2, 5, 10, 20]), (1.0, &[2, 5, 10, 20, 30, 50])];
    for (share, buffers) in loads.into_iter().take(if full { 5 } else { 3 }) {
        let load = share * highest;
        let service = mean / load;
        let what = format!("50 on-off Pareto sources, load {load:.2}");
        let Ok(queue) = Queue::new(&phases, MicroDynamics::Poisson, service) else {
            rows.push(Row::unmade(GROUP, what, "Frost et al. 1998"));
            continue;
        };
        let found = run(Modulated::new(&series, MicroDynamics::Poisson, service, 1).take(cells), buffers);
        let mut push = |name: String, source: &str, expected: Expected, ours: f64, departs: Option<&str>| {
            let departs = departs.map(str::to_owned);
            rows.push(Row { departs, ..Row::new(GROUP, name, source, expected, ours) });
        };
        let delay = found.mean_delay / service;
        let expected = Expected::Within { value: 1.0, by: 0.1 };
        let ours = queue.mean_delay() / delay;
        push(format!("{what}: mean delay, model over queue"), "Frost et al. 1998, corrected", expected, ours, None);
        let places: Vec<usize> = buffers.iter().map(|buffer| *buffer as usize).collect();
        for (loss, lost) in queue.losses(&places).iter().zip(&found.lost) {
            // Without a few hundred lost cells there is nothing to compare.
            let finite = loss.finite.unwrap_or(f64::NAN);
            if !full && finite < 3e-4 {
                continue;
            }
            let lost = *lost as f64 / found.cells as f64;
            let name = |which: &str| format!("{what}, buffer {}: {which} over loss, decades", loss.buffer);
            let half = Expected::Within { value: 0.0, by: 0.5 };
            let (finite, tail) = (libm::log10(finite / lost), libm::log10(loss.tail / lost));
            push(name("finite estimate"), "Keilson 1966, within phases", half, finite, None);
            // Where a phase nearly fills the queue, the tail of an infinite one is far above what a finite one loses.
            match (share < 0.85, loss.buffer) {
                (true, _) => push(name("tail"), "Frost et al. 1998", half, tail, None),
                (false, 50) => push(name("tail"), "Frost et al. 1998", half, tail, Some(UPPER)),
                (false, _) => push(name("tail"), "upper-side estimate", Expected::AtLeast(0.0), tail, None),
            }
        }
    }
    rows
}

/// Cells per second of many sources in each of [`BIN`] seconds: their busy and silent times are those of `models::generate::on_off`.
fn on_off(seconds: f64) -> Vec<(f64, f64)> {
    let times = || "500ms".parse().map(|min| Heavy { min, shape: 1.5 });
    let payload = f64::from(48 * 8) * RATE;
    let (Ok(on), Ok(off), Ok(rate)) = (times(), times(), format!("{payload}bit").parse()) else {
        return Vec::new();
    };
    let model = OnOff {
        sources: SOURCES,
        rate,
        payload_bytes: 48,
        on,
        off,
        begin: Default::default(),
        transport: Transport::Tcp,
        ends: Default::default(),
    };
    let mut bins = vec![0.0; (seconds / BIN) as usize];
    for vector in model.vectors(1, Duration::from_secs_f64(seconds)) {
        let mut now = vector.start.as_secs_f64();
        for adu in &vector.adus {
            let mut from = now / BIN;
            let until = (now + adu.bytes as f64 * 8.0 / payload) / BIN;
            now = until * BIN + adu.wait.map_or(0.0, Duration::as_secs_f64);
            while from < until && (from as usize) < bins.len() {
                let to = until.min(libm::floor(from) + 1.0);
                bins[from as usize] += (to - from) * RATE;
                from = to;
            }
        }
    }
    bins.into_iter().map(|rate| (BIN, rate)).collect()
}
