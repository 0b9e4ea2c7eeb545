//! What the live path asks of the host: namespaces, devices, kernel settings, counters.

pub mod sys;
