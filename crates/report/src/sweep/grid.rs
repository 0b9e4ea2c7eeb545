//! Axes, variants and their runs.

use crate::scalars::{Better, QUANTITIES, Quantity};
use crate::statistics::Looks;

use super::cell::Cell;

/// A sweep as far as it has come.
#[derive(Clone, Debug)]
pub struct Grid {
    /// What is varied.
    pub axes: Vec<GridAxis>,
    /// The variants in the order of the axes; the first is the control.
    pub variants: Vec<Variant>,
    /// What the best one has least or most of.
    pub objective: Objective,
    /// A difference that does not matter, as a share.
    pub margin: f64,
    /// When it was planned to look.
    pub looks: Looks,
    /// At which of these it stands; the first is 0.
    pub look: usize,
    /// The capture replayed once through a network that does not hold it up; `None` without an original.
    pub baseline: Option<Cell>,
    /// Whether each seed replays the same workload, so that seeds say nothing of other ones.
    pub is_one_draw: bool,
}

/// A key that is varied, or several together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridAxis {
    /// Its keys as they were written, with `+` between.
    pub name: String,
    /// What its values are called.
    pub points: Vec<String>,
}

/// A combination of values of all axes.
#[derive(Clone, Debug)]
pub struct Variant {
    /// What distinguishes it from the others.
    pub name: String,
    /// Its place on each axis.
    pub points: Vec<usize>,
    /// Its runs in the order of seeds, with the reason of those that are missing.
    pub cells: Vec<Result<Cell, Absent>>,
}

impl Grid {
    /// Seeds of which every variant has a run.
    pub fn common_seeds(&self) -> Vec<u64> {
        let has = |variant: &Variant, seed: u64| variant.present().any(|cell| cell.seed == seed);
        let first = self.variants.iter().take(1).flat_map(Variant::present).map(|cell| cell.seed);
        first.filter(|seed| self.variants.iter().all(|variant| has(variant, *seed))).collect()
    }

    /// The runs of a variant with seeds that all variants have: others are over other traffic. All of them if there is no such seed.
    pub fn alike<'a>(&self, variant: &'a Variant) -> Vec<&'a Cell> {
        let common = self.common_seeds();
        variant.present().filter(|cell| common.is_empty() || common.contains(&cell.seed)).collect()
    }
}

/// A run that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Absent {
    /// Its seed.
    pub seed: u64,
    /// Why.
    pub why: String,
}

impl Variant {
    /// Its runs that are there.
    pub fn present(&self) -> impl Iterator<Item = &Cell> + Clone {
        self.cells.iter().filter_map(|cell| cell.as_ref().ok())
    }
}

/// A scalar by which variants are ordered.
#[derive(Clone, Debug)]
pub struct Objective {
    /// The name of the scalar: of a quantity, or of one of its directions.
    pub name: String,
    /// Its quantity.
    pub quantity: &'static Quantity,
}

impl Objective {
    /// The usual one.
    pub const USUAL: &'static str = "response_time_p50_ms";

    /// The one with this name.
    ///
    /// # Errors
    /// There is none, or neither less nor more of it is better: the names that there are.
    pub fn named(name: &str) -> Result<Objective, Vec<String>> {
        let known = || QUANTITIES.iter().filter(|quantity| quantity.better != Better::Neither);
        let found = known().find(|quantity| quantity.scalars().any(|scalar| scalar == name));
        match found {
            Some(quantity) => Ok(Objective { name: name.to_owned(), quantity }),
            None => Err(known().flat_map(Quantity::scalars).collect()),
        }
    }

    /// Whether there is a scalar of this name of which neither less nor more is better.
    pub fn is_of_neither(name: &str) -> bool {
        let mut others = QUANTITIES.iter().filter(|quantity| quantity.better == Better::Neither);
        others.any(|quantity| quantity.scalars().any(|scalar| scalar == name))
    }

    /// The names of a few objectives that are most like this name: that share the most words of it.
    pub fn nearest(name: &str) -> Vec<String> {
        const FEW: usize = 3;
        let words = |name: &str| name.split(['_', '.']).map(str::to_owned).collect::<Vec<String>>();
        let wanted = words(name);
        let known = QUANTITIES.iter().filter(|quantity| quantity.better != Better::Neither);
        let mut names: Vec<String> = known.flat_map(Quantity::scalars).collect();
        let shared = |name: &String| {
            let words = words(name);
            let first = words.iter().zip(&wanted).take_while(|(one, other)| one == other).count();
            (first, words.iter().filter(|word| wanted.contains(word)).count())
        };
        // Of equal ones the first, which is the most general.
        names.sort_by_key(|name| std::cmp::Reverse(shared(name)));
        names.truncate(FEW);
        names
    }

    /// Whether smaller values are better.
    pub fn is_lower_better(&self) -> bool {
        self.quantity.better != Better::Higher
    }
}
