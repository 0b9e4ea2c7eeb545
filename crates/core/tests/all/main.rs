//! Extraction and transforms of workloads, through public interfaces only.

mod borders;
mod extract_properties;
mod extractor;
mod flows;
mod transforms;
