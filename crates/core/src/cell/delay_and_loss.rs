//! Delay and loss of a queue that serves one cell in each slot (methods I.2, I.3).
//!
//! Phases last long against the queue, so that it is in equilibrium in each: the results are those of phases for themselves, weighted. With Poisson cells the
//! queue of a phase is M/D/1.

use super::phases::{OverloadedPhase, Phases};
use super::slot::MicroDynamics;

/// Mean number of cells in the system, the one in service included, at `load` cells per slot with this `variance`
/// (discrete-time form of methods I.2; M/D/1 if the variance is the load).
pub fn mean_number(load: f64, variance: f64) -> f64 {
    (variance + load - load * load) / (2.0 * (1.0 - load))
}

/// The same as Frost et al. 1998 print it, which is not M/D/1: 12 % too much at a load of 0.3, 2.7 times as much at 0.95 (methods I.2).
pub fn mean_number_as_printed(load: f64, variance: f64) -> f64 {
    (variance / 2.0 + 1.5 * load * load) / (1.0 - load)
}

/// P(Q > k) for k from 0 to `most`: the number of cells in an infinite queue at `load` cells per slot, below 1 (methods I.3; Keilson and Servi in Daigle 1992,
/// rearranged so that all terms are positive).
///
/// Each is precise to a few units in its last places however small it is, where 1 minus the sum of the probabilities has nothing left below 1e-14.
pub fn more_than(law: MicroDynamics, load: f64, most: usize) -> Vec<f64> {
    let above = law.above(load);
    let none = law.none(load);
    // S_k, the sum of a_n for n > k, from the smallest on.
    let mut beyond = vec![0.0; above.len()];
    for n in (1..above.len()).rev() {
        beyond[n - 1] = beyond[n] + above[n];
    }
    let at = |values: &[f64], k: usize| values.get(k).copied().unwrap_or(0.0);
    let mut tails: Vec<f64> = Vec::with_capacity(most.saturating_add(1));
    tails.push(load);
    for k in 1..=most {
        let earlier = above.iter().enumerate().skip(1).take(k);
        let sum: f64 = earlier.map(|(n, share)| share * tails[k - n]).sum();
        tails.push(((1.0 - load) * at(&above, k) + sum + at(&beyond, k)) / none);
    }
    tails
}

/// Loss of an M/D/1 queue with a finite buffer whose infinite queue is longer than the buffer with probability `more`, at this `load` (Keilson 1966).
fn finite(load: f64, more: f64) -> f64 {
    (1.0 - load) * more / (1.0 - load * more)
}

/// A queue with the traffic of [`Phases`].
#[derive(Clone, Debug)]
pub struct Queue<'a> {
    phases: &'a Phases,
    law: MicroDynamics,
    /// Cells each second that it serves.
    service: f64,
}

impl Queue<'_> {
    /// One that serves `service` cells each second.
    ///
    /// # Errors
    /// The phase in which as many cells come as are served, or more: its queue has no equilibrium.
    pub fn new(phases: &Phases, law: MicroDynamics, service: f64) -> Result<Queue<'_>, OverloadedPhase> {
        phases.check_service(service)?;
        Ok(Queue { phases, law, service })
    }

    /// Share of the time of each phase, and its load.
    fn loads(&self) -> impl Iterator<Item = (f64, f64)> {
        self.phases.iter().map(|(share, rate)| (share, rate / self.service))
    }

    /// Cells that come each second, over those that are served.
    pub fn load(&self) -> f64 {
        self.phases.mean_rate() / self.service
    }

    /// Mean time in the system, in seconds (Little's law over the mean numbers of the phases).
    pub fn mean_delay(&self) -> f64 {
        self.delay(mean_number)
    }

    /// The same by [`mean_number_as_printed`].
    pub fn mean_delay_as_printed(&self) -> f64 {
        self.delay(mean_number_as_printed)
    }

    fn delay(&self, number: fn(f64, f64) -> f64) -> f64 {
        let numbers = self.loads().map(|(share, load)| share * number(load, self.law.variance(load)));
        numbers.sum::<f64>() / self.phases.mean_rate()
    }

    /// Estimates of the loss with room for so many waiting cells beside the one in service.
    pub fn losses(&self, buffers: &[usize]) -> Vec<Loss> {
        let most = buffers.iter().copied().max().unwrap_or(0);
        let finite_too = (self.law == MicroDynamics::Poisson).then_some(0.0);
        let mut losses: Vec<Loss> =
            buffers.iter().map(|&buffer| Loss { buffer, tail: 0.0, finite: finite_too }).collect();
        for (share, load) in self.loads() {
            let more = more_than(self.law, load, most);
            let cells = share * load / self.load();
            for loss in &mut losses {
                loss.tail += share * more[loss.buffer];
                if let Some(all) = &mut loss.finite {
                    *all += cells * finite(load, more[loss.buffer]);
                }
            }
        }
        losses
    }
}

/// Estimates of the share of cells that find no room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Cells that may wait, the one in service not counted.
    pub buffer: usize,
    /// P(Q > buffer) of an infinite queue, over time: the published estimate (methods I.3).
    pub tail: f64,
    /// Share of the cells that a finite buffer loses, exact within each phase (Keilson 1966); of Poisson cells only.
    pub finite: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f64, wanted: f64, share: f64) {
        assert!((found / wanted - 1.0).abs() <= share, "{found:e}, not {wanted:e}");
    }

    #[test]
    fn mean_numbers_of_methods_i2() {
        for (load, wanted, printed) in [(0.3, 0.364, 0.407), (0.5, 0.75, 1.25), (0.8, 2.4, 6.8), (0.95, 9.975, 36.6)] {
            near(mean_number(load, load), wanted, 1e-3);
            near(mean_number(load, load), load + load * load / (2.0 * (1.0 - load)), 1e-14);
            near(mean_number_as_printed(load, load), printed, 1e-3);
        }
        // Equal gaps: nothing waits.
        near(mean_number(0.9, MicroDynamics::Even.variance(0.9)), 0.9, 1e-14);
    }

    #[test]
    fn tails_of_methods_i3() {
        for (load, wanted) in [
            (
                0.5,
                &[
                    (1, 0.175_639_364_65),
                    (5, 1.235_729_730_78e-3),
                    (10, 2.309_878_709_29e-6),
                    (20, 8.071_936_74e-12),
                    (50, 3.444_637_506e-28),
                ][..],
            ),
            (
                0.8,
                &[
                    (5, 0.100_497_238_246),
                    (10, 0.011_657_108_265),
                    (20, 1.568_436_307_01e-4),
                    (50, 3.820_278_80e-10),
                    (100, 1.684_516_792e-19),
                ],
            ),
            (0.95, &[(20, 0.126_388_804_301), (100, 3.693_541_128_94e-5)]),
            (0.3, &[(10, 5.543_669_729_66e-10), (50, 7.560_887_872_9e-46)]),
        ] {
            let tails = more_than(MicroDynamics::Poisson, load, 100);
            assert_eq!(tails[0], load);
            for &(k, value) in wanted {
                near(tails[k], value, 3e-9);
            }
        }
        let tails = more_than(MicroDynamics::Poisson, 0.5, 10);
        let shares: Vec<f64> = tails.windows(2).map(|pair| pair[0] - pair[1]).collect();
        for (found, wanted) in shares.iter().zip([0.324_360_635_4, 0.122_599_961_2, 0.037_788_103_8, 0.010_908_823_57])
        {
            near(*found, wanted, 1e-9);
        }
    }

    /// From the cancelling form of the recursion over decimal numbers of 120 digits.
    #[test]
    fn tails_are_precise_however_small() {
        for (load, wanted) in [
            (
                0.3,
                [(10, 5.543_669_729_659_448e-10), (30, 6.474_180_291_497_922e-28), (54, 1.959_072_007_639_192_8e-49)],
            ),
            (0.5, [(5, 1.235_729_730_781_689_8e-3), (50, 3.444_637_505_605_438e-28), (90, 5.136_861_944_619_272e-50)]),
            (
                0.8,
                [(50, 3.820_278_801_658_038e-10), (100, 1.684_516_792_108_617_3e-19), (250, 1.444_162_961_908_545e-47)],
            ),
            (
                0.95,
                [(20, 1.263_888_043_011_715_8e-1), (100, 3.693_541_128_936_649e-5), (1_000, 6.411_419_576_646_251e-45)],
            ),
        ] {
            let tails = more_than(MicroDynamics::Poisson, load, 1_000);
            for (k, value) in wanted {
                near(tails[k], value, 1e-12);
            }
        }
    }

    #[test]
    fn mean_of_the_tails_is_the_mean_number() {
        for (name, law) in MicroDynamics::ALL {
            for load in [0.1, 0.5, 0.9] {
                let sum: f64 = more_than(law, load, 3_000).iter().rev().sum();
                near(sum, mean_number(load, law.variance(load)), 1e-12);
                assert!(more_than(law, load, 0).len() == 1, "{name}");
            }
        }
        assert!(more_than(MicroDynamics::Even, 0.99, 5)[1..].iter().all(|tail| *tail == 0.0));
    }

    fn methods() -> Phases {
        let bounds = vec![1_000.0, 2_000.0, 3_000.0, 4_000.0, 5_000.0];
        Phases::pareto(bounds, 1_000.0, 1.5).unwrap()
    }

    #[test]
    fn phases_of_methods_i2_and_i3() {
        let phases = methods();
        let queue = Queue::new(&phases, MicroDynamics::Poisson, 6_000.0).unwrap();
        near(queue.mean_delay(), 2.625_348_8e-4, 2e-8);
        near(queue.mean_delay_as_printed(), 4.668_062_0e-4, 2e-8);
        let losses = queue.losses(&[0, 10, 50]);
        for (loss, wanted) in losses.iter().zip([0.407_038_255_9, 1.033_333_750_3e-3, 7.064_053_859_5e-10]) {
            near(loss.tail, wanted, 1e-9);
        }
        // Without waiting places it is Erlang's formula.
        let erlang: f64 = phases.iter().map(|(share, rate)| share * rate * rate / (6_000.0 + rate)).sum();
        near(losses[0].finite.unwrap(), erlang / phases.mean_rate(), 1e-12);
    }

    #[test]
    fn the_number_of_phases_hardly_matters_to_the_delay() {
        let rows = [(10, 46.587, 6.98e-13), (15, 46.420, 4.47e-13), (25, 46.376, 2.66e-13), (35, 46.376, 1.98e-13)];
        for (n, micros, loss) in rows {
            let phases = Phases::pareto(Phases::equal(1_000.0, 20_000.0, n), 1_000.0, 1.5).unwrap();
            let queue = Queue::new(&phases, MicroDynamics::Poisson, 25_000.0).unwrap();
            near(queue.mean_delay() * 1e6, micros, 2e-5);
            near(queue.losses(&[50])[0].tail, loss, 0.01);
        }
        let rate = |n| Phases::pareto(Phases::equal(1_000.0, 20_000.0, n), 1_000.0, 1.5).unwrap().mean_rate();
        assert_eq!((rate(10).round(), rate(35).round()), (3_656.0, 2_663.0));
    }

    #[test]
    fn a_phase_that_is_too_fast_is_named() {
        let phases = methods();
        let error = Queue::new(&phases, MicroDynamics::Poisson, 5_000.0).unwrap_err();
        assert_eq!(error.to_string(), "phase 4 of 4 brings up to 5000 cells/s, and 5000 are served: no equilibrium");
        assert_eq!(Queue::new(&phases, MicroDynamics::Poisson, 3_000.0).unwrap_err().phase, 2);
        assert!(Queue::new(&phases, MicroDynamics::Poisson, f64::NAN).is_err());
    }
}
