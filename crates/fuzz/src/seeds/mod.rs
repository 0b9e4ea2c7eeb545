//! Valid inputs of every target: what a fuzzer begins with.

pub mod captures;
pub mod flows;
pub mod forms;
pub mod monitor;
pub mod packets;
pub mod stored;
pub mod texts;
pub mod view;
