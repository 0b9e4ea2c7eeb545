//! Tests of whole endpoints.

mod acknowledgement;
mod algorithms;
mod bursts;
mod causes;
mod close;
mod contract;
mod handshake;
mod loss;
mod marks;
mod nagle;
mod options;
pub(crate) mod pair;
mod properties;
mod reading;
mod reductions;
mod rounds;
mod sack;
mod sending;
mod transcript;
