//! The words of a comparison: what a distance means, what can be said of a difference, and what that rests on.

use std::fmt;

use serde::Serialize;

/// What a distance means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judgement {
    /// Shift-tolerant KS at most [`super::SAME`], or at most one value of the smaller sample.
    Same,
    /// At most [`super::CLOSE`], or at most two values.
    Close,
    /// More.
    Different,
    /// Fewer than [`super::FEWEST`] values, or so many unfinished ones that the distance may be either.
    CannotTell,
}

impl fmt::Display for Judgement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Judgement::Same => "same",
            Judgement::Close => "close",
            Judgement::Different => "different",
            Judgement::CannotTell => "cannot tell",
        })
    }
}

/// What can be said of a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The interval lies within the margin, and the distributions are not far apart.
    Same,
    /// It does not, and no difference is too improbable.
    Different,
    /// Neither.
    #[default]
    CannotTell,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Same => "same",
            Outcome::Different => "different",
            Outcome::CannotTell => "cannot tell",
        })
    }
}

/// What an interval is computed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// Replications of both; with common seeds their differences run by run.
    PairedReplications,
    /// Replications of both, which have nothing in common (Welch).
    Replications,
    /// Replications of the replay beside the one original there is, which is taken to be what it is.
    ReplicationsOfReplay,
    /// Blocks of time of one run each, of the same moments of the same workload.
    PairedBlocks,
    /// Blocks of time of one run each.
    Blocks,
    /// Nothing: there is only the distance between what was measured.
    #[default]
    Distance,
}
