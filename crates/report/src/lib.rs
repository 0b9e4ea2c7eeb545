//! Stored records in; summaries, comparison and one HTML file out.
//!
//! | module | holds |
//! |---|---|
//! | `run`, `load`, `facts` | a run's measurements, read from its folder; what run.json says of it |
//! | `class`, `active`, `arrivals`, `exchanges`, `silent`, `sojourn` | values by kind of connection; active connections over time; traffic in bins; exchanges that did not end; flows that never sent; queue delays |
//! | `probes` | latency under load |
//! | `real_link`, `beside_link`, `beside_text` | what a real link carried; beside a run, in numbers; in words |
//! | `replications` | several seeds in one answer |
//! | `quantities`, `connections`, `summary`, `text`, `words` | a run in numbers; in words; counts in words |
//! | `scalars` | a run as numbers with stable names, for sweeps |
//! | `conclusion`, `worst` | what is concluded from a run; the verdict over several |
//! | `gates`, `verdict`, `warning` | what is checked; how far a run can be trusted; what to do about it |
//! | `loops` | which bytes were replayed in a closed loop, in an open one, and left out |
//! | `plausibility`, `other_bytes` | whether its flows are plausible; runs beside each other with other bytes to replay |
//! | `metric`, `statistics` | what is measured; distances, intervals, run lengths |
//! | `compare`, `variant` | runs against each other or their original, rules; replications of an experiment |
//! | `explain` | what each cause is worth that a replay can leave out |
//! | `describe` | captures, workloads, and what a run's records say besides (`dependence`, `steady`, `marginals`, `responses`) |
//! | `fit`, `overhead` | fitted distributions and models; what framings cost |
//! | `export` | results in other tools' forms |
//! | `html` | the page: figures, script, where numbers are from |
//! | `plot` | the same figures as SVG, PDF and PNG |

#![forbid(unsafe_code)]

mod active;
pub mod answer;
mod arrivals;
pub mod beside_link;
mod beside_text;
mod class;
pub mod class_totals;
mod columns;
pub mod compare;
pub mod conclusion;
mod connections;
pub mod dependence;
pub mod describe;
pub mod directions;
mod exchanges;
pub mod explain;
pub mod export;
pub mod facts;
mod fairness;
pub mod fit;
pub mod gates;
pub mod html;
mod load;
pub mod loops;
pub mod marginals;
pub mod metric;
pub mod other_bytes;
pub mod overhead;
pub mod plausibility;
pub mod plot;
mod probes;
pub mod quantities;
pub mod real_link;
pub mod replications;
mod responses;
pub mod run;
pub mod scalars;
mod silent;
pub mod sojourn;
pub mod statistics;
pub mod steady;
pub mod summary;
pub mod sweep;
pub mod text;
pub mod variant;
pub mod verdict;
pub mod warning;
pub mod words;
pub mod workload_mark;
pub mod worst;

pub use compare::{Comparison, compare_runs, compare_with_original};
pub use conclusion::Conclusion;
pub use connections::Connections;
pub use facts::{Facts, HostFacts, Original};
pub use load::LoadError;
pub use probes::ProbesOfKind;
pub use run::Run;
pub use summary::Summary;
pub use variant::Variant;
pub use verdict::{Accounted, Likeness, Plausible, Verdict};
