//! How far variants of an experiment are apart, or a replay from its original, and what can be said of it.
//!
//! Original against replay is monitor against monitor; run against run is endpoint against endpoint (methods M.1).
//!
//! | file | holds |
//! |---|---|
//! | `of_runs` | runs beside each other or beside their original |
//! | `pair`, `group` | two sides on their way to a comparison |
//! | `comparison` | the result, metric by metric |
//! | `options` | what can be asked for: confidence, margin, pairing, correction |
//! | `difference`, `finding` | distances between two samples (methods L.2), which are no tests; the largest difference in words |
//! | `series` | distances between two series (methods L.4) |
//! | `effect` | differences of statistics with intervals over replications or blocks of time (methods L.3) |
//! | `outcome` | the words: what a distance or a test says, and what it rests on |
//! | `verdict` | same, different or cannot tell |
//! | `foreign` | results of other tools |
//! | `of_samples` | verdicts of measurements without a run folder |
//! | `comparable` | what is refused |
//! | `card`, `fidelity` | the score card; what that of a replay rests on |
//! | `rules` | what a user demands of a comparison |

mod binned;
mod card;
mod comparable;
mod comparison;
mod difference;
mod effect;
mod fidelity;
mod finding;
mod foreign;
mod group;
mod of_runs;
mod of_samples;
mod options;
mod outcome;
mod pair;
mod rules;
mod series;
mod verdict;

pub use card::{Method, Score, worst};
pub use comparable::{Incomparable, Missing, Unpaired, comparable};
pub use comparison::Comparison;
pub use difference::{CLOSE, Clean, Difference, FEWEST, FEWEST_BINS, LEAST_VARIATION, Ratio, SAME, difference};
pub use effect::{Asked, BLOCK_NS, Effect, FEWEST_REPLICATIONS, statistics_of};
pub use fidelity::Fidelity;
pub use foreign::{Party, compare_parties};
pub use group::Group;
pub use of_runs::{
    compare_group_with_original, compare_group_with_vectors, compare_groups, compare_runs, compare_with_original,
    has_one_original,
};
pub use of_samples::{Measured, verdicts};
pub use options::{Margin, Options, Pairing};
pub use outcome::{Basis, Judgement, Outcome};
pub use rules::{Bound, Demand, Found, Held, Rule, Unknown};
pub use series::{AtOctave, AtWidth, HurstDistance, SeriesDistance};
pub use verdict::{Verdict, margin_text};
