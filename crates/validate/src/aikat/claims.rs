//! What was published, as something that the rows can be asked: a number, or how two numbers stand to each other.

use std::fmt;

use flowloom_core::units::three_digits;
use flowloom_report::statistics::{Estimate, Interval};

use super::cells::{CellRow, Network};
use super::published::CAMPUS;
use crate::check::number;

/// Runs that differ in their seeds and in their scale only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Of {
    /// The workload, as in [`Key`](super::cells::Key).
    pub workload: &'static str,
    /// Its scale, if it is not the one that is asked for.
    pub scale: Option<f64>,
    /// Which link it crosses.
    pub network: Network,
    /// How much of the structure of connections is kept.
    pub structure: &'static str,
    /// The model of round-trip times.
    pub rtt: &'static str,
    /// The model of windows.
    pub window: &'static str,
    /// Which waits are replayed, as in [`Key`](super::cells::Key).
    pub waits: &'static str,
    /// The queue, as in [`Key`](super::cells::Key).
    pub queue: &'static str,
    /// How long is replayed.
    pub minutes: u64,
}

impl Of {
    /// The control: all of the structure, each connection's own round-trip time, measured windows.
    pub fn control(workload: &'static str, network: Network) -> Of {
        Of {
            workload,
            scale: None,
            network,
            structure: "a-t-b-t",
            rtt: "usernet",
            window: "measured",
            waits: "500ms none",
            // That of the publication, which drops nothing.
            queue: "drop-tail 65000p",
            minutes: 30,
        }
    }

    /// What is replayed instead of the workload.
    pub fn workload(self, workload: &'static str) -> Of {
        Of { workload, ..self }
    }

    /// The same at this scale, whichever is asked for.
    pub fn at_scale(self, scale: f64) -> Of {
        Of { scale: Some(scale), ..self }
    }

    /// Another structure.
    pub fn structure(self, structure: &'static str) -> Of {
        Of { structure, ..self }
    }

    /// Other round-trip times.
    pub fn rtt(self, rtt: &'static str) -> Of {
        Of { rtt, ..self }
    }

    /// The control of `examples/aikat-2010/small.toml`, of campus-2008.
    pub fn small(network: Network) -> Of {
        Of::control(CAMPUS, network).minutes(6)
    }

    /// Other waits.
    pub fn waits(self, waits: &'static str) -> Of {
        Of { waits, ..self }
    }

    /// The same runs over a link with another queue.
    pub fn queue(self, queue: &'static str) -> Of {
        Of { queue, ..self }
    }

    /// Another length.
    pub fn minutes(self, minutes: u64) -> Of {
        Of { minutes, ..self }
    }

    /// Other windows.
    pub fn window(self, window: &'static str) -> Of {
        Of { window, ..self }
    }

    /// Its mean of `quantity` at `scale`.
    pub fn estimate(self, rows: &[CellRow], scale: f64, quantity: &str) -> Option<Ours> {
        let values: Vec<f64> = self.values(rows, scale, quantity).into_iter().map(|(_, value)| value).collect();
        Ours::of(&values)
    }

    /// Its values of `quantity` at `scale`, with their seeds.
    fn values(self, rows: &[CellRow], scale: f64, quantity: &str) -> Vec<(u64, f64)> {
        let is = |row: &&CellRow| {
            let key = &row.key;
            key.workload == self.workload
                && key.scale == self.scale.unwrap_or(scale)
                && key.network == self.network
                && key.structure == self.structure
                && key.rtt == self.rtt
                && key.window == self.window
                && key.waits == self.waits
                && key.queue == self.queue
                && key.minutes == self.minutes
        };
        rows.iter().filter(is).filter_map(|row| Some((row.key.seed, *row.numbers.get(quantity)?))).collect()
    }
}

/// How a quantity grows with the share of the connections that is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It stays as it is.
    None,
    /// In proportion: loads, connections.
    Linear,
    /// As its root: deviations of sums over independent connections.
    Root,
}

impl Growth {
    fn factor(self, scale: f64) -> f64 {
        match self {
            Growth::None => 1.0,
            Growth::Linear => scale,
            Growth::Root => libm::sqrt(scale),
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// A number of some runs, published as `published`; it agrees if it is off by at most the share `tolerance` of that, or its interval
    /// has it.
    Value { of: Of, quantity: &'static str, growth: Growth, published: f64, tolerance: f64 },
    /// How many times as large the first is as the second: it agrees from `least` to `most`, where the interval leaves out the other
    /// side of 1, or, where 1 is between them, lies between them as well.
    Ratio { over: (Of, &'static str), under: (Of, &'static str), least: f64, most: f64 },
}

/// A statement of the publication.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// In words, with the unit.
    pub name: String,
    /// Where it is published.
    pub source: &'static str,
    /// What is asked of the rows.
    pub asked: Asked,
    /// Why ours is another, where it is, with what shows it.
    pub why: Option<&'static str>,
}

/// A mean over seeds, and the 95 % interval of it by Student's distribution; of ratios the geometric mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ours {
    /// The mean over the seeds.
    pub mean: f64,
    /// Its interval, with two seeds and more.
    pub interval: Option<Interval>,
    /// How many seeds.
    pub seeds: usize,
}

/// Whether ours is as published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Ours is as published.
    Agrees,
    /// Ours is another.
    Differs,
    /// The seeds do not tell.
    CannotTell,
    /// Not all of the runs have been made.
    NotRun,
}

impl fmt::Display for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Agreement::Agrees => "agrees",
            Agreement::Differs => "differs",
            Agreement::CannotTell => "cannot tell",
            Agreement::NotRun => "not run",
        })
    }
}

impl Ours {
    /// Of these values; `None` without any.
    pub fn of(values: &[f64]) -> Option<Ours> {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let interval = Estimate::of_mean(values).map(|estimate| estimate.interval(0.95));
        (!values.is_empty()).then_some(Ours { mean, interval, seeds: values.len() })
    }

    fn map(self, of: impl Fn(f64) -> f64) -> Ours {
        let interval = self.interval.map(|Interval { low, high }| Interval { low: of(low), high: of(high) });
        Ours { mean: of(self.mean), interval, ..self }
    }
}

impl fmt::Display for Ours {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&three_digits(self.mean))?;
        match self.interval {
            Some(Interval { low, high }) => write!(f, " [{}, {}]", three_digits(low), three_digits(high)),
            None => f.write_str(" (one seed)"),
        }
    }
}

impl Claim {
    /// What the runs at `scale` say.
    pub fn ours(&self, rows: &[CellRow], scale: f64) -> Option<Ours> {
        match &self.asked {
            Asked::Value { of, quantity, growth, .. } => {
                let values = of.values(rows, scale, quantity);
                let values: Vec<f64> = values.iter().map(|(_, value)| value / growth.factor(scale)).collect();
                Ours::of(&values)
            }
            Asked::Ratio { over, under, .. } => {
                let below = under.0.values(rows, scale, under.1);
                let of_same_seed = |(seed, above): (u64, f64)| {
                    let (_, below) = below.iter().find(|(other, _)| *other == seed)?;
                    (above > 0.0 && *below > 0.0).then(|| libm::log(above / below))
                };
                let ratios: Vec<f64> =
                    over.0.values(rows, scale, over.1).into_iter().filter_map(of_same_seed).collect();
                Ours::of(&ratios).map(|logarithms| logarithms.map(libm::exp))
            }
        }
    }

    /// Whether that is as published. One seed says nothing of others.
    pub fn agreement(&self, ours: Option<Ours>) -> Agreement {
        let Some(Ours { mean, interval, .. }) = ours else { return Agreement::NotRun };
        let Some(Interval { low, high }) = interval else { return Agreement::CannotTell };
        match self.asked {
            Asked::Value { published, tolerance, .. } => {
                let is_near = (mean - published).abs() <= tolerance * published.abs();
                if is_near || (low..=high).contains(&published) { Agreement::Agrees } else { Agreement::Differs }
            }
            Asked::Ratio { least, most, .. } => {
                let is_shown = match (least < 1.0, most > 1.0) {
                    // No difference is shown by an interval that has room for none.
                    (true, true) => low >= least && high <= most,
                    (false, _) => low > 1.0,
                    (true, false) => high < 1.0,
                };
                match (least..=most).contains(&mean) {
                    false => Agreement::Differs,
                    true if is_shown => Agreement::Agrees,
                    true => Agreement::CannotTell,
                }
            }
        }
    }

    /// What was published, in short.
    pub fn published(&self) -> String {
        match &self.asked {
            Asked::Value { published, .. } => number(*published),
            Asked::Ratio { least, most, .. } if most.is_infinite() => format!("at least {} times", number(*least)),
            Asked::Ratio { least, most, .. } if *least <= 0.0 => format!("at most {} times", number(*most)),
            Asked::Ratio { least, most, .. } => format!("{} to {} times", number(*least), number(*most)),
        }
    }
}
