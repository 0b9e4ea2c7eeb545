//! Transforms of workloads and source models, through public interfaces only.

mod order;
mod transforms;
