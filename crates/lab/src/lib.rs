//! The lab: experiments over several hosts, as NetSpec controlled them (Frost et al. 1998, chapter 5; methods J).

#![forbid(unsafe_code)]

pub mod agent;
pub mod authority;
pub mod blocking;
pub mod clock;
pub mod control;
pub mod controller;
pub mod leaves;
pub mod report;
pub mod rpc;
pub mod script;
pub mod transport;
