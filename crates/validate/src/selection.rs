//! What the decision of a sweep is worth: simulated values of variants, with the looks that seeds-until-decided takes.

use flowloom_core::distribution::normal_quantile;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_report::statistics::{Estimate, Looks};
use flowloom_report::sweep::{Cell, Decision, Grid, GridAxis, Objective, Variant, decision, to_control};

use crate::check::{Effort, Expected, Row};

const GROUP: &str = "Decisions of sweeps";
const SOURCE: &str = "methods L.7, 5 %";
/// Two standard errors of a share of 5 % over a thousand repetitions above it.
const MOST_FALSE: f64 = 0.064;
/// The same below 95 %.
const LEAST_COVERED: f64 = 0.936;
const MARGIN: f64 = 0.05;

/// What the values of seeds are drawn from.
#[derive(Clone, Copy, Debug)]
enum Law {
    /// Mean 100, standard deviation 10.
    Normal,
    /// Median 100, spread of its logarithm 0.3.
    Lognormal,
    /// From 100 on, with a tail of 1.5: an infinite variance.
    Pareto,
}

impl Law {
    fn name(self) -> &'static str {
        match self {
            Law::Normal => "normal",
            Law::Lognormal => "lognormal",
            Law::Pareto => "Pareto",
        }
    }

    /// The value at which a standard normal one stands.
    fn value(self, normal: f64) -> f64 {
        match self {
            Law::Normal => 100.0 + 10.0 * normal.clamp(-9.0, 9.0),
            Law::Lognormal => 100.0 * libm::exp(0.3 * normal),
            // The upper tail of the normal law, by its complementary error function.
            Law::Pareto => 100.0 * libm::pow(0.5 * libm::erfc(normal / std::f64::consts::SQRT_2), -1.0 / 1.5),
        }
    }
}

/// Variants to simulate.
#[derive(Clone, Copy, Debug)]
struct Case {
    law: Law,
    variants: usize,
    /// Of the normal values behind those of two variants with one seed.
    correlation: f64,
    /// The first is the best, and the others are by this above it, as a share.
    apart: f64,
}

/// What was false in a repetition.
#[derive(Clone, Copy, Debug, Default)]
struct Wrong {
    /// The decision.
    decision: bool,
    /// One of the intervals of ratios to the control.
    intervals: bool,
    /// What ordinary intervals, looked at after each seed, decide, where that is asked.
    naive: bool,
}

impl Case {
    fn values(&self, repetition: u64, seeds: usize) -> Vec<Vec<f64>> {
        let mut stream = Stream::new(repetition, Purpose::Durations, self.variants as u64);
        let mut normal = || normal_quantile(stream.uniform().max(1e-16));
        let mut values = vec![Vec::with_capacity(seeds); self.variants];
        for _ in 0..seeds {
            let common = normal();
            for (place, values) in values.iter_mut().enumerate() {
                let own = libm::sqrt(self.correlation) * common + libm::sqrt(1.0 - self.correlation) * normal();
                let factor = if place == 0 { 1.0 } else { 1.0 + self.apart };
                values.push(factor * self.law.value(own));
            }
        }
        values
    }

    fn grid(&self, margin: f64, looks: &Looks) -> Grid {
        let name = |place: usize| format!("v{place}");
        let objective = Objective::named(Objective::USUAL);
        Grid {
            axes: vec![GridAxis { name: "x".to_owned(), points: (0..self.variants).map(name).collect() }],
            variants: (0..self.variants)
                .map(|place| Variant { name: name(place), points: vec![place], cells: Vec::new() })
                .collect(),
            objective: objective.unwrap_or_else(|known| unreachable!("{known:?}")),
            margin,
            looks: looks.clone(),
            look: 0,
            baseline: None,
            is_one_draw: false,
        }
    }

    /// The looks of one sweep, until it is decided.
    fn repetition(&self, repetition: u64) -> Wrong {
        let looks = Looks::doubling(10, 80);
        let values = self.values(repetition, 80);
        let mut grid = self.grid(MARGIN, &looks);
        let mut wrong = Wrong { naive: self.shows_naive() && self.naive(&values), ..Wrong::default() };
        for (look, seeds) in looks.at().iter().enumerate() {
            grid.look = look;
            for (variant, values) in grid.variants.iter_mut().zip(&values) {
                let cell = |(seed, value): (usize, &f64)| {
                    Ok(Cell::made_up(seed as u64, [(Objective::USUAL.to_owned(), *value)]))
                };
                variant.cells = values[..*seeds].iter().enumerate().map(cell).collect();
            }
            let found = decision(&grid);
            wrong.decision = match &found {
                // Where all are equal, each is within the margin of the best, and none is better.
                Decision::Best { is_strict, .. } if self.apart == 0.0 => *is_strict,
                Decision::Best { variant, .. } => *variant != 0,
                Decision::Same => self.apart > 0.0,
                Decision::Undecided { candidates } if self.apart == 0.0 => candidates.is_empty(),
                Decision::Undecided { candidates } => !candidates.contains(&0),
                Decision::Unknown { .. } => true,
            };
            if found.is_final() || look + 1 == looks.at().len() {
                break;
            }
        }
        let ratio = 1.0 + self.apart;
        let is_wrong = |(place, found): (usize, &Option<flowloom_report::sweep::Ratio>)| {
            let interval = found.and_then(|found| found.interval);
            place > 0 && !interval.is_some_and(|interval| interval.holds(ratio))
        };
        wrong.intervals = to_control(&grid, Objective::USUAL).iter().enumerate().any(is_wrong);
        wrong
    }

    /// Whether it shows what planned looks are for: the pairs of many variants would take hours.
    fn shows_naive(&self) -> bool {
        self.apart == 0.0 && self.variants == 2
    }

    /// Whether one who looks at ordinary intervals after each seed from the fifth on names a best variant that is none.
    fn naive(&self, values: &[Vec<f64>]) -> bool {
        let logs: Vec<Vec<f64>> =
            values.iter().map(|values| values.iter().map(|value| libm::log(*value)).collect()).collect();
        for seeds in 5..=80 {
            let above = |a: usize, b: usize| {
                Estimate::paired(&logs[a][..seeds], &logs[b][..seeds])
                    .is_some_and(|found| found.interval(0.95).low > 0.0)
            };
            let best = (0..self.variants).find(|a| (0..self.variants).filter(|b| b != a).all(|b| above(*a, b)));
            if let Some(best) = best {
                return self.apart == 0.0 || best != 0;
            }
        }
        false
    }

    /// Shares of repetitions with a false decision, with all intervals right, and in which the naive decision is false.
    fn shares(&self, repetitions: u64) -> [f64; 3] {
        let wrong: Vec<Wrong> = (0..repetitions).map(|repetition| self.repetition(repetition)).collect();
        let share = |is: fn(&Wrong) -> bool| wrong.iter().filter(|wrong| is(wrong)).count() as f64 / repetitions as f64;
        [share(|wrong| wrong.decision), share(|wrong| !wrong.intervals), share(|wrong| wrong.naive)]
    }

    fn name(&self) -> String {
        let Case { law, variants, correlation, apart } = self;
        let apart =
            if *apart == 0.0 { "all alike".to_owned() } else { format!("others {} % above the best", 100.0 * apart) };
        format!("{variants} variants, {} values, correlation {correlation}, {apart}", law.name())
    }
}

/// False decisions and coverage, with naive looks beside them where these are worst.
pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let repetitions = if full { 1_000 } else { 200 };
    // Over two hundred, chance adds three standard errors of 1.5 %.
    let (most, least) = if full { (MOST_FALSE, LEAST_COVERED) } else { (0.096, 0.904) };
    let mut rows = Vec::new();
    let sizes: &[usize] = if full { &[2, 4, 12] } else { &[2, 4] };
    for law in [Law::Normal, Law::Lognormal, Law::Pareto] {
        for &variants in sizes {
            for correlation in if full { &[0.0, 0.9][..] } else { &[0.9] } {
                for apart in [0.0, MARGIN] {
                    let case = Case { law, variants, correlation: *correlation, apart };
                    let [wrong, covered, naive] = case.shares(repetitions);
                    let name = case.name();
                    rows.push(Row::new(
                        GROUP,
                        format!("{name}: share of false decisions"),
                        SOURCE,
                        Expected::AtMost(most),
                        wrong,
                    ));
                    rows.push(Row::new(
                        GROUP,
                        format!("{name}: share of sweeps whose intervals all hold"),
                        SOURCE,
                        Expected::AtLeast(least),
                        covered,
                    ));
                    if case.shows_naive() {
                        rows.push(Row::new(
                            GROUP,
                            format!("{name}: share of false decisions of one who looks at ordinary intervals after each seed"),
                            "what planned looks are for",
                            Expected::AtLeast(most),
                            naive,
                        ));
                    }
                }
            }
        }
    }
    rows
}
