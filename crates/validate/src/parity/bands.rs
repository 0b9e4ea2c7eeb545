//! Whether the simulator is within what repetitions of the kernel allow.

use flowloom_report::statistics::{Sample, Tolerance, tolerant_ks};

use super::cells::{Cell, Load};
use super::measure::Measured;

/// Fewest repetitions of the kernel that a cell is judged by.
pub const LEAST_REPETITIONS: usize = 3;

/// The quantities that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Payload that crossed the bottleneck, in Mbit/s.
    Goodput,
    /// The packets that were dropped.
    Drops,
    /// The number of retransmission timeouts.
    Timeouts,
    /// Packets waiting, mean over time.
    Queue,
    /// Distance of the queues' distributions.
    QueueDistance,
    /// Distance of the distributions of durations.
    DurationDistance,
    /// Distance of the distributions of response times.
    ResponseDistance,
}

impl Metric {
    /// The name of the quantity in words.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Goodput => "goodput",
            Metric::Drops => "drops",
            Metric::Timeouts => "timeouts",
            Metric::Queue => "mean queue",
            Metric::QueueDistance => "KS of the queue",
            Metric::DurationDistance => "KS of durations",
            Metric::ResponseDistance => "KS of response times",
        }
    }
}

/// A metric of a cell: the kernel's repetitions, and the simulator beside them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judgement {
    /// The quantity that is compared.
    pub metric: Metric,
    /// The least and the most of the kernel's repetitions; of a distance, those between two of them.
    pub kernel: [f64; 2],
    /// What the simulator must be within.
    pub band: [f64; 2],
    /// The simulator's: the median over its seeds; of a distance, that over all pairs of a seed and a repetition.
    pub simulator: f64,
}

impl Judgement {
    /// Whether the simulator is within the band.
    pub fn is_inside(&self) -> bool {
        // Shares of a hundred values are no exact numbers.
        (self.band[0] - 1e-9..=self.band[1] + 1e-9).contains(&self.simulator)
    }

    /// How much of the way from the kernel's range to the edge of the band the simulator has gone: 0 within the range, 1 on the
    /// edge, more outside.
    pub fn used(&self) -> f64 {
        let beyond = |by: f64, margin: f64| if by > 0.0 { by / margin.max(f64::MIN_POSITIVE) } else { 0.0 };
        let below = beyond(self.kernel[0] - self.simulator, self.kernel[0] - self.band[0]);
        below.max(beyond(self.simulator - self.kernel[1], self.band[1] - self.kernel[1]))
    }
}

/// Judges the simulator's runs of a cell by the kernel's; `None` of too few.
pub fn judge(cell: &Cell, kernel: &[&Measured], simulator: &[&Measured]) -> Option<Vec<Judgement>> {
    if kernel.len() < LEAST_REPETITIONS || simulator.is_empty() {
        return None;
    }
    let goodput = if cell.loses_at_random { 1.1 } else { 1.05 };
    let compared = |metric, of: &dyn Fn(&Measured) -> f64, widened: &dyn Fn([f64; 2]) -> [f64; 2]| {
        let kernel = range(kernel.iter().map(|one| of(one)));
        Judgement { metric, kernel, band: widened(kernel), simulator: median(simulator.iter().map(|one| of(one))) }
    };
    let counts = |metric, of: fn(&Measured) -> f64| {
        let share = |one: &Measured| of(one) / one.offered_packets.max(1) as f64;
        let kernel_is_rare = kernel.iter().all(|one| share(one) < RARE);
        let rare = median(simulator.iter().map(|one| RARE * one.offered_packets as f64));
        compared(metric, &of, &|range| {
            let [least, most] = reaching(times(range, 1.5), range, 3.0);
            [least, if kernel_is_rare { most.max(rare) } else { most }]
        })
    };
    let mut judged = vec![
        compared(Metric::Goodput, &|one| one.goodput_mbit, &|range| times(range, goodput)),
        counts(Metric::Drops, |one| one.dropped_packets as f64),
        counts(Metric::Timeouts, |one| one.timeouts as f64),
        compared(Metric::Queue, &|one| one.queue_mean_packets, &|range| reaching(times(range, 1.25), range, 3.0)),
    ];
    let mut distances = |metric, tolerance, of: fn(&Measured) -> &[u64]| {
        judged.extend(distance(metric, tolerance, kernel, simulator, of));
    };
    match cell.load {
        Load::Bulk => {
            // What waits 0.5 ms, the tolerance of times (methods M.6), in packets of this line.
            let times =
                Tolerance::TIME_NS.absolute / 1e6 * median(kernel.iter().map(|one| one.packets_in_a_millisecond()));
            let tolerance = Tolerance { absolute: Tolerance::COUNT.absolute.max(times), ..Tolerance::COUNT };
            distances(Metric::QueueDistance, tolerance, |one| &one.queue_packets);
        }
        Load::Exchanges => {
            // In microseconds.
            let tolerance = Tolerance { absolute: Tolerance::TIME_NS.absolute / 1e3, ..Tolerance::TIME_NS };
            distances(Metric::DurationDistance, tolerance, |one| &one.durations_us);
            distances(Metric::ResponseDistance, tolerance, |one| &one.responses_us);
        }
    }
    Some(judged)
}

/// Shares of packets below this are alike.
const RARE: f64 = 0.001;
/// Distances that are small enough, however near the repetitions are to each other.
const NEAR: f64 = 0.1;

fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    values.fold([f64::INFINITY, f64::NEG_INFINITY], |[least, most], value| [least.min(value), most.max(value)])
}

fn times([least, most]: [f64; 2], factor: f64) -> [f64; 2] {
    [least / factor, most * factor]
}

/// The band, or what is no further than `by` from the range, where that is wider.
fn reaching(band: [f64; 2], range: [f64; 2], by: f64) -> [f64; 2] {
    [band[0].min(range[0] - by).max(0.0), band[1].max(range[1] + by)]
}

/// The median; of an even number of values the mean of the two in the middle. 0 of none.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_unstable_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n if n % 2 == 1 => values[n / 2],
        n => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}

/// The distance of the simulator's distributions from the kernel's, beside those of the kernel's from each other;
/// `None` where there is nothing in them.
fn distance(
    metric: Metric,
    tolerance: Tolerance,
    kernel: &[&Measured],
    simulator: &[&Measured],
    of: fn(&Measured) -> &[u64],
) -> Option<Judgement> {
    let samples = |runs: &[&Measured]| -> Vec<Sample> {
        runs.iter().map(|one| of(one).iter().map(|value| *value as f64).collect()).collect()
    };
    let (kernel, simulator) = (samples(kernel), samples(simulator));
    let between = |a: &Sample, b: &Sample| tolerant_ks(a, b, tolerance);
    let pairs = (0..kernel.len()).flat_map(|a| (0..a).map(move |b| [a, b]));
    let among: Option<Vec<f64>> = pairs.map(|[a, b]| between(&kernel[a], &kernel[b])).collect();
    let from: Option<Vec<f64>> =
        simulator.iter().flat_map(|one| kernel.iter().map(move |other| between(other, one))).collect();
    let among = range(among?.into_iter());
    Some(Judgement {
        metric,
        kernel: among,
        band: [0.0, NEAR.max(1.5 * among[1])],
        simulator: median(from?.into_iter()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::cells;
    use super::*;

    fn cell(name: &str) -> Cell {
        cells::all().into_iter().find(|cell| cell.name == name).unwrap()
    }

    fn measured(goodput_mbit: f64, dropped_packets: u64, queue_mean_packets: f64) -> Measured {
        Measured {
            goodput_mbit,
            dropped_packets,
            queue_mean_packets,
            offered_packets: 10_000,
            queue_packets: (0..100).collect(),
            ..Measured::default()
        }
    }

    /// The judgement of one run beside three of the kernel's: 10, 11 and 12 Mbit/s, 20, 30 and 40 drops, 8, 16 and
    /// 20 packets waiting.
    fn judged(name: &str, simulator: &Measured, metric: Metric) -> Judgement {
        let kernel = [measured(10.0, 20, 8.0), measured(11.0, 30, 16.0), measured(12.0, 40, 20.0)];
        let all = judge(&cell(name), &kernel.each_ref(), &[simulator]).unwrap();
        all.into_iter().find(|one| one.metric == metric).unwrap()
    }

    #[test]
    fn goodput_may_leave_the_range_by_a_twentieth() {
        let inside = |goodput| judged("cubic-1-pie-20m40", &measured(goodput, 20, 8.0), Metric::Goodput).is_inside();
        assert_eq!([9.5, 9.53, 12.59, 12.61].map(inside), [false, true, true, false]);
        let lossy = |goodput| judged("cubic-1-loss-20m40", &measured(goodput, 20, 8.0), Metric::Goodput).is_inside();
        assert_eq!([9.08, 9.1, 13.19, 13.21].map(lossy), [false, true, true, false]);
    }

    #[test]
    fn drops_may_leave_the_range_by_half_or_three() {
        let inside = |drops| judged("cubic-1-pie-20m40", &measured(11.0, drops, 8.0), Metric::Drops).is_inside();
        // 20 / 1.5 is 13.3, 40 x 1.5 is 60.
        assert_eq!([13, 14, 60, 61].map(inside), [false, true, true, false]);
        let few = |drops| {
            let kernel = [measured(10.0, 12, 8.0), measured(10.0, 15, 8.0), measured(10.0, 13, 8.0)];
            let simulator = measured(10.0, drops, 8.0);
            judge(&cell("cubic-1-pie-20m40"), &kernel.each_ref(), &[&simulator]).unwrap()[1].is_inside()
        };
        // 12 / 1.5 is 8, 12 - 3 is 9; 15 x 1.5 is 22.5.
        assert_eq!([7, 8, 22, 23].map(few), [false, true, true, false]);
    }

    #[test]
    fn counts_below_a_thousandth_are_alike() {
        let kernel = [0, 1, 2].map(|drops| measured(10.0, drops, 8.0));
        let inside = |drops| {
            let simulator = measured(10.0, drops, 8.0);
            judge(&cell("cubic-1-pie-20m40"), &kernel.each_ref(), &[&simulator]).unwrap()[1].is_inside()
        };
        assert_eq!([0, 10, 11].map(inside), [true, true, false]);
    }

    #[test]
    fn mean_queue_may_leave_the_range_by_a_quarter_or_three() {
        let inside = |queue| judged("cubic-1-pie-20m40", &measured(11.0, 20, queue), Metric::Queue).is_inside();
        // 8 - 3 is less than 8 / 1.25; 20 x 1.25 is more than 20 + 3.
        assert_eq!([4.9, 5.0, 25.0, 25.1].map(inside), [false, true, true, false]);
    }

    #[test]
    fn distance_may_be_half_more_than_among_repetitions() {
        let queue =
            |shift: u64| Measured { queue_packets: (0..100).map(|at| at + shift).collect(), ..measured(10.0, 0, 8.0) };
        // Values up to 25 have to agree, so that a shift of 10 packets of 100 is a distance of 0.1, less the
        // tolerance of 2 % above.
        let kernel = [queue(0), queue(0), queue(20)];
        let judged = |shift| {
            let simulator = queue(shift);
            judge(&cell("cubic-1-pie-20m40"), &kernel.each_ref(), &[&simulator]).unwrap().pop().unwrap()
        };
        assert_eq!(judged(0).metric, Metric::QueueDistance);
        assert!((judged(0).kernel[1] - 0.2).abs() < 0.03, "{:?}", judged(0));
        assert!(judged(25).is_inside() && !judged(40).is_inside());
        let near = [queue(0), queue(0), queue(0)];
        let simulator = queue(9);
        let judged = judge(&cell("cubic-1-pie-20m40"), &near.each_ref(), &[&simulator]).unwrap().pop().unwrap();
        assert!(judged.is_inside() && judged.band[1] == 0.1);
    }

    #[test]
    fn margin_is_used_up_at_the_edge() {
        let used = |simulator| {
            Judgement { metric: Metric::Goodput, kernel: [10.0, 12.0], band: [9.0, 14.0], simulator }.used()
        };
        assert_eq!([8.0, 9.0, 9.5, 10.0, 11.0, 12.0, 13.0, 16.0].map(used), [2.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.5, 2.0]);
        // Where the band is no wider than the range, what is beyond is far outside.
        let exact = Judgement { metric: Metric::Goodput, kernel: [0.0, 1.0], band: [0.0, 1.0], simulator: 1.5 };
        assert!(exact.used() > 1e300);
    }

    #[test]
    fn simulator_counts_by_its_median() {
        let kernel = [measured(10.0, 0, 8.0), measured(10.0, 0, 8.0), measured(10.0, 0, 8.0)];
        let runs = [measured(10.0, 0, 8.0), measured(1.0, 0, 8.0), measured(10.1, 0, 8.0)];
        let judged = judge(&cell("cubic-1-pie-20m40"), &kernel.each_ref(), &runs.each_ref()).unwrap();
        assert_eq!(judged[0].simulator, 10.0);
        assert!(judge(&cell("cubic-1-pie-20m40"), &kernel.each_ref()[..2], &runs.each_ref()).is_none());
    }
}
