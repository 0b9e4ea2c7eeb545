//! Stored records in; summaries, comparison and one HTML file out.

#![forbid(unsafe_code)]

pub mod answer;
pub mod class_totals;
pub mod compare;
pub mod dependence;
pub mod describe;
pub mod export;
pub mod facts;
mod fairness;
pub mod fit;
pub mod html;
mod load;
pub mod marginals;
pub mod metric;
pub mod overhead;
pub mod plausibility;
mod responses;
pub mod run;
pub mod statistics;
pub mod steady;
pub mod summary;
pub mod text;
pub mod variant;
pub mod verdict;
pub mod workload_mark;

pub use compare::{Comparison, compare_runs, compare_with_original};
pub use facts::{Facts, HostFacts, Original};
pub use load::LoadError;
pub use run::Run;
pub use summary::Summary;
pub use variant::Variant;
pub use verdict::Verdict;
