//! One experiment with its replications: what intervals are computed over (methods L.3).

use flowloom_store::run_folder::Point;

use crate::metric::Metric;
use crate::run::{Class, Run};
use crate::statistics::Sample;

/// An experiment, run once or with several seeds. Two variants of an experiment differ in something else than their seeds.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Short and unlike the names of other variants beside it: the folder's name.
    pub name: String,
    /// Its replications, one per seed, at least one. Experiments whose seeds change nothing have equal ones.
    pub runs: Vec<Run>,
}

impl Variant {
    /// The variant that was run once.
    pub fn of_run(run: Run) -> Variant {
        Variant { name: run.name.clone(), runs: vec![run] }
    }

    /// Values of `metric` at `point` of all replications together, of connections of the kinds that `of` accepts. To draw and to describe:
    /// values of one run depend on each other, so that no interval comes from these.
    pub fn pooled(&self, metric: Metric, point: Point, of: impl Fn(Class) -> bool) -> Sample {
        let samples: Vec<Sample> = self.runs.iter().map(|run| run.measurements.sample(metric, point, &of)).collect();
        Sample::pooled(&samples)
    }

    /// The seeds, in the order of the runs.
    pub fn seeds(&self) -> impl Iterator<Item = u64> {
        self.runs.iter().map(|run| run.facts.seed)
    }
}
