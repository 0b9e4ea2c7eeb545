//! What is concluded from a run. It is computed once and then told in every form: run.json, terminal, report.

use crate::compare::{Comparison, compare_with_original};
use crate::run::Run;
use crate::summary::Summary;

/// What is concluded from a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// The run beside its original; `None` without a measured one.
    pub with_original: Option<Comparison>,
    /// The run in numbers, with its verdict.
    pub summary: Summary,
}

impl Run {
    /// What is concluded from it, with one comparison with its original.
    pub fn conclude(&self) -> Conclusion {
        let with_original = compare_with_original(self);
        Conclusion { summary: Summary::of(self, with_original.as_ref()), with_original }
    }

    /// The run in numbers, as its own ends and its link saw it.
    pub fn summary(&self) -> Summary {
        self.conclude().summary
    }
}
