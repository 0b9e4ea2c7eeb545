//! Transforms of workloads, through public interfaces only.

mod transforms;
