//! Run folders and captures through summaries, comparison, exports and the report.

mod conversations;
mod export;
mod markup;
mod plot;
mod report;
mod scalars;
mod sweeps;
mod trust;
