//! Workloads: read from any form, extracted, drawn from models, changed, and kept beside a run.

pub(crate) mod cut;
pub(crate) mod generation;
pub(crate) mod hosts;
pub(crate) mod load;
pub(crate) mod source;

pub use generation::{Made, load_json};
pub use hosts::{HostChoice, HostOptions};
pub use load::{Loaded, Vectors, open, unreadable};
