//! Workloads: read from any form, extracted, drawn from models, changed, and kept beside a run.

mod contents;
pub(crate) mod generation;
pub(crate) mod hosts;
pub(crate) mod load;
pub(crate) mod source;

pub use contents::Contents;
pub use generation::{Made, load_json};
pub use hosts::{HostChoice, HostOptions};
pub use load::{Loaded, Vectors, is_of_totals, open, unreadable};
