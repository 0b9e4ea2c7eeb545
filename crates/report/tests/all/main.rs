//! Run folders and captures through summaries, comparison, exports and the report.

mod conversations;
mod export;
mod report;
mod support;
