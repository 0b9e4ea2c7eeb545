//! Tests of whole endpoints.

mod acknowledgement;
mod close;
mod contract;
mod handshake;
mod loss;
pub(crate) mod pair;
mod properties;
mod rounds;
mod sending;
mod transcript;
