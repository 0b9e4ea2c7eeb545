//! The command line, as users call it.

mod agents;
mod bad_experiments;
mod bad_input;
mod calibrate;
mod chain;
mod compare;
mod convert;
mod datagrams;
mod describe;
mod determinism;
mod documented;
mod examples;
mod fit;
mod flows;
mod formulas;
mod harpoon;
mod hosts;
mod internetworks;
mod lab;
mod literature;
mod live_worker;
mod marks;
mod memory;
mod models;
mod overhead;
mod parity;
mod path;
mod plausibility;
mod rootless;
mod round_trip;
mod run_folders;
mod sources;
mod swing;
mod threads;
mod topology;

use flowloom_testkit::command as support;
