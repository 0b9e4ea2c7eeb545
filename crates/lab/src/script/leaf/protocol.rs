//! `protocol`: what a leaf sends over, and with which options of its sockets.

use flowloom_core::units::Rate;

use super::super::diagnostic::Diagnostic;
use super::super::tree::Parameter;
use super::arguments::Arguments;
use super::names::{named_function, same_name};

/// How the parameter is written.
pub const EXAMPLE: &str = "protocol = tcp(window = 128K);";

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

    /// The protocol that `parameter` names.
    pub(super) fn read(parameter: &Parameter, found: &mut Vec<Diagnostic>) -> Option<Protocol> {
        let function = named_function(parameter, EXAMPLE, found)?;
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
}
