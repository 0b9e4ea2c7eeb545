//! One queue of cells, each served in one slot: what the formulas of `core::cell::delay_and_loss` are held against.
//!
//! Cells come at any time; a slot is as long as a service. Nothing is an event: what a cell finds follows from what the cell before it found (Lindley 1952).

use flowloom_core::cell::slot::MicroDynamics;
use flowloom_core::rng::{Purpose, Stream};

/// What became of the cells.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// Cells that came.
    pub cells: u64,
    /// Slots from the origin to the last of them.
    pub slots: f64,
    /// Mean time in the system with an infinite buffer, service included, in slots.
    pub mean_delay: f64,
    /// For each buffer: cells that found all its places taken in a queue with an infinite one.
    pub beyond: Vec<u64>,
    /// For each buffer: cells lost in a queue with that buffer.
    pub lost: Vec<u64>,
}

/// Sends cells that are `gaps` slots apart (the first counted from the origin) through queues with these `buffers`, places beside that of the cell in service.
pub fn run(gaps: impl Iterator<Item = f64>, buffers: &[u32]) -> Results {
    let mut results = Results { beyond: vec![0; buffers.len()], lost: vec![0; buffers.len()], ..Results::default() };
    let rooms: Vec<f64> = buffers.iter().map(|buffer| f64::from(*buffer)).collect();
    // Slots until each queue would be empty: with so much work, as many cells are in it, rounded up.
    let mut infinite = 0.0_f64;
    let mut finite = vec![0.0_f64; buffers.len()];
    // Sums over a thousand cells are added to the whole: it keeps its precision over any number.
    let (mut delays, mut block) = (0.0, 0.0);
    for gap in gaps {
        results.cells += 1;
        results.slots += gap;
        infinite = (infinite - gap).max(0.0);
        for (index, (work, room)) in finite.iter_mut().zip(&rooms).enumerate() {
            results.beyond[index] += u64::from(infinite > *room);
            *work = (*work - gap).max(0.0);
            if *work > *room {
                results.lost[index] += 1;
            } else {
                *work += 1.0;
            }
        }
        infinite += 1.0;
        block += infinite;
        if results.cells.is_multiple_of(1_000) {
            delays += std::mem::take(&mut block);
        }
    }
    results.mean_delay = (delays + block) / results.cells.max(1) as f64;
    results
}

/// Gaps in slots between cells whose rate follows a series of (seconds, cells per second), which it repeats for ever.
///
/// Gaps are drawn for a rate of 1 and stretched as the rate has it, also where it changes within one; of Poisson cells that is exact.
#[derive(Clone, Debug)]
pub struct Modulated<'a> {
    series: &'a [(f64, f64)],
    law: MicroDynamics,
    /// Cells that are served each second.
    service: f64,
    stream: Stream,
    /// The next of the series.
    next: usize,
    /// What is left of the one before: seconds, and cells per second.
    left: (f64, f64),
}

impl<'a> Modulated<'a> {
    /// Cells of `series`, where `service` are served each second. No cells come of a series that has none.
    pub fn new(series: &'a [(f64, f64)], law: MicroDynamics, service: f64, seed: u64) -> Modulated<'a> {
        let has_cells = series.iter().any(|(seconds, rate)| seconds * rate > 0.0);
        let series = if has_cells { series } else { &[] };
        Modulated { series, law, service, stream: Stream::new(seed, Purpose::CellGaps, 0), next: 0, left: (0.0, 0.0) }
    }
}

impl Iterator for Modulated<'_> {
    type Item = f64;

    #[inline]
    fn next(&mut self) -> Option<f64> {
        if self.series.is_empty() {
            return None;
        }
        // In cells: how many would have come by then on average.
        let mut gap = match self.law {
            MicroDynamics::Poisson => self.stream.exponential(1.0),
            MicroDynamics::Uniform => 2.0 * self.stream.uniform(),
            MicroDynamics::Even => 1.0,
        };
        let mut passed = 0.0;
        loop {
            let (seconds, rate) = self.left;
            let cells = seconds * rate;
            if gap < cells {
                let until = gap / rate;
                self.left.0 = seconds - until;
                return Some((passed + until) * self.service);
            }
            gap -= cells;
            passed += seconds;
            self.left = self.series[self.next];
            self.next = if self.next + 1 == self.series.len() { 0 } else { self.next + 1 };
        }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_core::cell::delay_and_loss::{mean_number, more_than};

    use super::*;

    fn gaps(series: &[(f64, f64)], law: MicroDynamics, service: f64) -> Modulated<'_> {
        Modulated::new(series, law, service, 1)
    }

    /// M/D/1 and M/D/1/K: what the formulas say. Two million cells leave a deviation of 1 % in the mean wait, and of some 3 % in the rarest loss.
    #[test]
    fn poisson_cells_do_as_the_formulas_say() {
        let (load, buffers) = (0.8, [0, 4, 10]);
        let results = run(gaps(&[(1.0, 800.0)], MicroDynamics::Poisson, 1_000.0).take(2_000_000), &buffers);
        let delay = mean_number(load, load) / load;
        assert!((results.mean_delay / delay - 1.0).abs() < 0.02, "{} {delay}", results.mean_delay);
        assert!((results.cells as f64 / results.slots - load).abs() < 2e-3);
        let tails = more_than(MicroDynamics::Poisson, load, 10);
        for (index, buffer) in buffers.into_iter().enumerate() {
            let tail = tails[buffer as usize];
            let beyond = results.beyond[index] as f64 / results.cells as f64;
            assert!((beyond / tail - 1.0).abs() < 0.12, "{buffer}: {beyond} {tail}");
            let lost = results.lost[index] as f64 / results.cells as f64;
            let finite = (1.0 - load) * tail / (1.0 - load * tail);
            assert!((lost / finite - 1.0).abs() < 0.12, "{buffer}: {lost} {finite}");
        }
    }

    #[test]
    fn cells_at_equal_gaps_never_wait() {
        let results = run(gaps(&[(1.0, 900.0)], MicroDynamics::Even, 1_000.0).take(10_000), &[0]);
        assert_eq!((results.mean_delay, results.lost, results.beyond), (1.0, vec![0], vec![0]));
    }

    /// The law in a slot that `MicroDynamics::Uniform` has by arithmetic.
    #[test]
    fn uniform_gaps_have_their_law_in_a_slot() {
        let load = 0.9;
        let mut counts = vec![0_u32; 1_000_000];
        let mut now = 0.0;
        for gap in gaps(&[(1.0, 900.0)], MicroDynamics::Uniform, 1_000.0) {
            now += gap;
            match counts.get_mut(now as usize) {
                Some(count) => *count += 1,
                None => break,
            }
        }
        let slots = counts.len() as f64;
        let share = |n: u32| counts.iter().filter(|count| **count > n).count() as f64 / slots;
        for (n, wanted) in MicroDynamics::Uniform.above(load).into_iter().take(4).enumerate() {
            let found = share(n as u32);
            assert!((found - wanted).abs() < 2e-3 * wanted.sqrt() + 1e-5, "{n}: {found} {wanted}");
        }
        assert!((share(0) + MicroDynamics::Uniform.none(load) - 1.0).abs() < 2e-3);
    }

    #[test]
    fn cells_follow_the_series_again_and_again() {
        let series = [(1.0, 10.0), (2.0, 0.0), (0.5, 40.0)];
        let mut now = 0.0;
        let times: Vec<f64> = gaps(&series, MicroDynamics::Even, 1.0)
            .take(90)
            .map(|gap| {
                now += gap;
                now
            })
            .collect();
        // 30 cells in each 3.5 seconds, none in the silence.
        assert!(times.iter().all(|time| !(1.0 + 1e-9..3.0 - 1e-9).contains(&(time % 3.5))), "{times:?}");
        assert!((times[59] - times[29] - 3.5).abs() < 1e-9 && (times[89] - times[59] - 3.5).abs() < 1e-9);
        assert_eq!(gaps(&[(1.0, 0.0)], MicroDynamics::Poisson, 1.0).next(), None);
        assert_eq!(gaps(&[], MicroDynamics::Poisson, 1.0).next(), None);
        assert_eq!(run(std::iter::empty(), &[1]).cells, 0);
    }

    /// Cells by hand, with one waiting place: three at once, of which the third is lost, and one that comes as the first leaves.
    #[test]
    fn a_queue_by_hand() {
        let results = run([0.0, 0.0, 0.0, 1.0].into_iter(), &[1]);
        assert_eq!((results.beyond, results.lost), (vec![2], vec![1]));
        assert_eq!(results.mean_delay, (1.0 + 2.0 + 3.0 + 3.0) / 4.0);
    }
}
