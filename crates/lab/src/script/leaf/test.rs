//! `test { type = ...; protocol = ...; own = HOST:PORT; peer = HOST:PORT; }`: a leaf that sends or receives (methods J.4, J.5).

use flowloom_core::time::Duration;
use flowloom_models::generate::netspec::{Parameter as Drawn, Traffic};

use super::super::diagnostic::{Diagnostic, did_you_mean};
use super::super::tree::{Block, Parameter};
use super::endpoint::Endpoint;
use super::names::same_name;
use super::protocol::{self, Protocol};
use super::traffic::{self, Work};

/// The kind of leaf that sends and receives.
pub const TEST: &str = "test";

/// The parameters of such a leaf.
const PARAMETERS: [&str; 4] = ["type", "protocol", "own", "peer"];

/// What a leaf does.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// What is sent, or that it receives.
    pub work: Work,
    /// For how long.
    pub duration: Duration,
    /// Over what.
    pub protocol: Protocol,
    /// Where it is.
    pub own: Endpoint,
    /// Whom it sends to or receives from.
    pub peer: Endpoint,
}

impl Leaf {
    /// What the leaf `block` is asked to do, and what is to be said of that. Parameters that are not known are warned of: they are
    /// passed on.
    ///
    /// Nothing comes of a leaf with errors.
    pub fn read(block: &Block) -> (Option<Leaf>, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let leaf = read(block, &mut found).filter(|_| !found.iter().any(Diagnostic::is_error));
        (leaf, found)
    }

    /// Whether it sends.
    pub fn sends(&self) -> bool {
        matches!(self.work, Work::Source { .. })
    }

    /// How fast it offers to send in the long run, in bit/s of payload, where nothing is drawn and it does not send as fast as it can.
    pub fn offered_bits_per_second(&self) -> Option<f64> {
        let Work::Source { traffic, .. } = &self.work else { return None };
        let (bytes, period, repeats) = match traffic.as_ref() {
            Traffic::Burst { blocksize: Drawn::Number(bytes), period: Drawn::Number(period) } => (*bytes, *period, 1.0),
            Traffic::Burstq {
                blocksize: Drawn::Number(bytes),
                period: Drawn::Number(period),
                repeats: Drawn::Number(repeats),
            } => (*bytes, *period, repeats.ceil().max(1.0)),
            Traffic::Cbr { blocksize, period } => (*blocksize as f64, *period, 1.0),
            _ => return None,
        };
        Some(8.0 * bytes * repeats / period * 1e6)
    }
}

fn read(block: &Block, found: &mut Vec<Diagnostic>) -> Option<Leaf> {
    let mut given: [Option<&Parameter>; 4] = [None; 4];
    for parameter in &block.body.parameters {
        match PARAMETERS.iter().position(|name| same_name(name, &parameter.name)) {
            Some(known) => given[known] = Some(parameter),
            None => {
                let meant = did_you_mean(&parameter.name, &PARAMETERS);
                let message = format!("{} means nothing to a {TEST}, and is passed on", parameter.name);
                found.push(Diagnostic::warning(parameter.place, message).hint_if(meant));
            }
        }
    }
    for (name, given) in PARAMETERS.iter().zip(given) {
        if given.is_none() {
            found.push(Diagnostic::error(block.place, format!("the {TEST} has no {name}")).hint(example(name)));
        }
    }
    let [work, protocol, own, peer] = given;
    let protocol = protocol.and_then(|parameter| Protocol::read(parameter, found));
    let work = work.and_then(|parameter| traffic::work(parameter, protocol.as_ref(), found));
    let own = own.and_then(|own| Endpoint::read(&own.name, &own.value, found));
    let peer = peer.and_then(|peer| Endpoint::read(&peer.name, &peer.value, found));
    let ((work, duration), protocol, own, peer) = (work?, protocol?, own?, peer?);
    let leaf = Leaf { work, duration, protocol, own, peer };
    let without_port = if leaf.sends() { ("peer", &leaf.peer) } else { ("own", &leaf.own) };
    if without_port.1.port == 0 {
        let message = format!("port 0 of {} is none that something could be sent to", without_port.0);
        found.push(Diagnostic::error(block.place, message));
    }
    Some(leaf)
}

/// How a parameter is written.
fn example(parameter: &str) -> &'static str {
    match parameter {
        "type" => traffic::EXAMPLE,
        "protocol" => protocol::EXAMPLE,
        "own" => "own = HOST:PORT;",
        _ => "peer = HOST:PORT;",
    }
}
