//! What leaves are asked to do: here those of the kind `test`, which send and receive (methods J.4, J.5), in [`tool`] all others.
//!
//! A controller never needs this: to it parameters are text. It is for agents, which do it, and for whoever explains a script.
//! Names mean the same with any capitals, and with or without `-` and `_`. What has no published value has no default.

mod arguments;
mod capture;
mod command;
mod keys;
mod monitor;
mod path;
mod replay;
mod side;
mod sleep;
mod tcp;
mod tool;
mod traffic;
mod watch;

use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_models::generate::netspec::{Parameter as Drawn, Traffic};

use super::address::{Address, Host};
use super::diagnostic::{Diagnostic, did_you_mean};
use super::tree::{Block, Form, Function, Parameter, Value};
use arguments::{Arguments, as_function, same_name};

pub use capture::Capture;
pub use command::Command;
pub use monitor::Monitor;
pub use path::{NetworkError, Path};
pub use replay::Replay;
pub use side::Side;
pub use sleep::Sleep;
pub use tool::Tool;
pub use watch::Watch;

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

/// What is sent, or that a leaf receives.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// It sends.
    Source {
        /// What.
        traffic: Box<Traffic>,
        /// Bytes that may wait to be written, where a limit is given.
        buffer_bytes: Option<u64>,
    },
    /// It receives.
    Sink {
        /// Bytes that it asks for at a time.
        block_bytes: u64,
    },
}

/// What is sent over.
#[derive(Clone, Debug, PartialEq)]
pub enum Protocol {
    /// `tcp(window, tcpmtu or mss, nodelay, rate)`, and all keys of `[tcp]`.
    Tcp(Tcp),
    /// `udp(window, rate)`
    Udp(Udp),
}

/// What is asked of TCP; what is left out is as the host has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tcp {
    /// Size of the socket's buffers.
    pub window_bytes: Option<u64>,
    /// Largest segment, in bytes of payload.
    pub mss_bytes: Option<u16>,
    /// Nagle's algorithm is off.
    pub no_delay: Option<bool>,
    /// It is paced not to be faster.
    pub rate: Option<Rate>,
    /// Congestion control, by the kernel's name.
    pub congestion: Option<String>,
}

/// What is asked of UDP; what is left out is as the host has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Udp {
    /// Size of the socket's buffers.
    pub window_bytes: Option<u64>,
    /// It is paced not to be faster.
    pub rate: Option<Rate>,
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// The host.
    pub host: Host,
    /// The port; 0 of a source is any.
    pub port: u16,
}

impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

impl Protocol {
    /// `tcp` or `udp`.
    pub const fn name(&self) -> &'static str {
        match self {
            Protocol::Tcp(_) => "tcp",
            Protocol::Udp(_) => "udp",
        }
    }

    /// The rate that it is paced to.
    pub const fn rate(&self) -> Option<Rate> {
        match self {
            Protocol::Tcp(tcp) => tcp.rate,
            Protocol::Udp(udp) => udp.rate,
        }
    }
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
    let protocol = protocol.and_then(|parameter| self::protocol(parameter, found));
    let work = work.and_then(|parameter| traffic::work(parameter, protocol.as_ref(), found));
    let own = own.and_then(|own| endpoint(&own.name, &own.value, found));
    let peer = peer.and_then(|peer| endpoint(&peer.name, &peer.value, found));
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
        "type" => "type = burst(blocksize = 125000, period = 10000, duration = 10);",
        "protocol" => "protocol = tcp(window = 128K);",
        "own" => "own = HOST:PORT;",
        _ => "peer = HOST:PORT;",
    }
}

fn protocol(parameter: &Parameter, found: &mut Vec<Diagnostic>) -> Option<Protocol> {
    let function = named_function(parameter, found)?;
    let mut arguments = Arguments::of(&function, found);
    let protocol = if same_name(&function.name, "tcp") {
        let mss_bytes = match (arguments.optional("tcpmtu"), arguments.optional("mss")) {
            (Some(_), Some(mss)) => {
                arguments.wrong(mss.place, "tcpmtu and mss say the same of a segment", "leave one of them out");
                None
            }
            // The headers of IPv4 and TCP without options.
            (Some(mtu), None) => arguments.whole(mtu, 41..=65_535).map(|mtu| (mtu - 40) as u16),
            (None, Some(mss)) => arguments.whole(mss, 1..=65_495).map(|mss| mss as u16),
            (None, None) => None,
        };
        let no_delay = arguments.optional("nodelay").and_then(|argument| arguments.switch(argument));
        let (window_bytes, rate) = (arguments.window(), arguments.rate());
        let congestion = arguments.socket_tcp();
        Protocol::Tcp(Tcp { window_bytes, mss_bytes, no_delay, rate, congestion })
    } else if same_name(&function.name, "udp") {
        let (window_bytes, rate) = (arguments.window(), arguments.rate());
        Protocol::Udp(Udp { window_bytes, rate })
    } else {
        let error = Diagnostic::error(function.place, format!("there is no protocol {}", function.name));
        found.push(error.hint("known: tcp, udp"));
        return None;
    };
    arguments.finish();
    Some(protocol)
}

/// A parameter that is a function, or a name, which is one without arguments.
fn named_function(parameter: &Parameter, found: &mut Vec<Diagnostic>) -> Option<Function> {
    let function = as_function(&parameter.value);
    if function.is_none() {
        let message = format!("{} is a name with arguments", parameter.name);
        found.push(
            Diagnostic::error(parameter.value.place(), message).hint(example(&parameter.name.to_ascii_lowercase())),
        );
    }
    function
}

fn endpoint(name: &str, value: &Value, found: &mut Vec<Diagnostic>) -> Option<Endpoint> {
    let address = match value {
        Value::Word(word) if word.form != Form::Quantity => word.text.parse::<Address>().ok(),
        _ => None,
    };
    match address {
        Some(Address { host, port: Some(port) }) => Some(Endpoint { host, port }),
        _ => {
            let message = format!("{name} is a host and a port");
            found.push(Diagnostic::error(value.place(), message).hint("write HOST:PORT"));
            None
        }
    }
}

/// How long a leaf takes, if it is of a known kind and says so.
pub fn duration(block: &Block) -> Option<Duration> {
    match block.keyword.as_str() {
        TEST => Leaf::read(block).0.map(|leaf| leaf.duration),
        _ => Tool::read(block)?.0.map(|tool| tool.duration()),
    }
}

#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tool_tests;
