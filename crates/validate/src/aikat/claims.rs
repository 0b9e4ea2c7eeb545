//! What was published, as something that the rows can be asked: a number, or how two numbers stand to each other.

use std::fmt;

use super::cells::{CellRow, Network};
use crate::check::number;

/// Runs that differ in their seeds and in their scale only.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Of {
    /// The workload.
    pub workload: &'static str,
    /// The link.
    pub network: Network,
    /// The structure.
    pub structure: &'static str,
    /// The round-trip times.
    pub rtt: &'static str,
    /// The windows.
    pub window: &'static str,
    /// The waits.
    pub waits: &'static str,
    /// How long is replayed.
    pub minutes: u64,
}

impl Of {
    /// The control: all of the structure, each connection's own round-trip time, measured windows.
    pub fn control(workload: &'static str, network: Network) -> Of {
        Of {
            workload,
            network,
            structure: "a-t-b-t",
            rtt: "usernet",
            window: "measured",
            waits: "500ms none",
            minutes: 30,
        }
    }

    /// Another structure.
    pub fn structure(self, structure: &'static str) -> Of {
        Of { structure, ..self }
    }

    /// Other round-trip times.
    pub fn rtt(self, rtt: &'static str) -> Of {
        Of { rtt, ..self }
    }

    /// Other waits.
    pub fn waits(self, waits: &'static str) -> Of {
        Of { waits, ..self }
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
    pub fn estimate(self, rows: &[CellRow], scale: f64, quantity: &str) -> Option<Estimate> {
        let values: Vec<f64> = self.values(rows, scale, quantity).into_iter().map(|(_, value)| value).collect();
        Estimate::of(&values)
    }

    /// Its values of `quantity` at `scale`, with their seeds.
    fn values(self, rows: &[CellRow], scale: f64, quantity: &str) -> Vec<(u64, f64)> {
        let is = |row: &&CellRow| {
            let key = &row.key;
            key.workload == self.workload
                && key.scale == scale
                && key.network == self.network
                && key.structure == self.structure
                && key.rtt == self.rtt
                && key.window == self.window
                && key.waits == self.waits
                && key.minutes == self.minutes
        };
        rows.iter().filter(is).filter_map(|row| Some((row.key.seed, *row.numbers.get(quantity)?))).collect()
    }
}

/// How a quantity grows with the share of the connections that is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Growth {
    /// It does not.
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
    /// side of 1 if these do.
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
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The interval, with two seeds and more.
    pub interval: Option<(f64, f64)>,
    /// How many seeds.
    pub seeds: usize,
}

/// Whether ours is as published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// It is.
    Agrees,
    /// It is not.
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

/// Two-sided 95 % points of Student's distribution, by degrees of freedom.
const STUDENT: [f64; 9] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262];

impl Estimate {
    /// Of these values; `None` without any.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let interval = (n > 1).then(|| {
            let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / (n - 1) as f64;
            let half = STUDENT.get(n - 2).copied().unwrap_or(1.96) * libm::sqrt(variance / n as f64);
            (mean - half, mean + half)
        });
        Some(Estimate { mean, interval, seeds: n })
    }

    fn map(self, of: impl Fn(f64) -> f64) -> Estimate {
        Estimate { mean: of(self.mean), interval: self.interval.map(|(low, high)| (of(low), of(high))), ..self }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&three(self.mean))?;
        match self.interval {
            Some((low, high)) => write!(f, " [{}, {}]", three(low), three(high)),
            None => f.write_str(" (one seed)"),
        }
    }
}

/// Three digits.
fn three(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
    number(rounded)
}

impl Claim {
    /// What the runs at `scale` say.
    pub fn ours(&self, rows: &[CellRow], scale: f64) -> Option<Estimate> {
        match &self.asked {
            Asked::Value { of, quantity, growth, .. } => {
                let values = of.values(rows, scale, quantity);
                let values: Vec<f64> = values.iter().map(|(_, value)| value / growth.factor(scale)).collect();
                Estimate::of(&values)
            }
            Asked::Ratio { over, under, .. } => {
                let below = under.0.values(rows, scale, under.1);
                let of_same_seed = |(seed, above): (u64, f64)| {
                    let (_, below) = below.iter().find(|(other, _)| *other == seed)?;
                    (above > 0.0 && *below > 0.0).then(|| libm::log(above / below))
                };
                let ratios: Vec<f64> =
                    over.0.values(rows, scale, over.1).into_iter().filter_map(of_same_seed).collect();
                Estimate::of(&ratios).map(|logarithms| logarithms.map(libm::exp))
            }
        }
    }

    /// Whether that is as published.
    pub fn agreement(&self, ours: Option<Estimate>) -> Agreement {
        let Some(Estimate { mean, interval, .. }) = ours else { return Agreement::NotRun };
        let (low, high) = interval.unwrap_or((mean, mean));
        match self.asked {
            Asked::Value { published, tolerance, .. } => {
                let is_near = (mean - published).abs() <= tolerance * published.abs();
                if is_near || (interval.is_some() && (low..=high).contains(&published)) {
                    Agreement::Agrees
                } else {
                    Agreement::Differs
                }
            }
            Asked::Ratio { least, most, .. } => {
                let excludes_opposite = (least < 1.0 || low > 1.0) && (most > 1.0 || high < 1.0);
                if !(least..=most).contains(&mean) {
                    Agreement::Differs
                } else if excludes_opposite {
                    Agreement::Agrees
                } else {
                    Agreement::CannotTell
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
