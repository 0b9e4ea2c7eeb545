//! The lab: experiments over several hosts, as NetSpec controlled them (Frost et al. 1998, chapter 5; methods J).

pub mod leaves;
pub mod script;
