//! Extraction, through public interfaces only.

mod borders;
mod extract_properties;
mod extractor;
mod flows;
mod options;
mod unseen;
