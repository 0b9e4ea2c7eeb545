//! The command line, as users call it.

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
mod fit;
mod flows;
mod harpoon;
mod hosts;
mod literature;
mod memory;
mod models;
mod path;
mod rootless;
mod round_trip;
mod run_folders;
mod sources;
mod support;
mod swing;
mod threads;
mod topology;
