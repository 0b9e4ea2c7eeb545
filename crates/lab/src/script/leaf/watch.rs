//! `watch { interface = eth1; protocol = udp; from = a:40000; to = b:40000; duration = 20; }`: one flow as it passes a host.

use flowloom_core::time::Duration;
use flowloom_models::generate::on_off::Transport;

use super::arguments::Arguments;
use super::endpoint::Endpoint;
use super::names::{as_function, same_name};

/// What a `watch` is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Watch {
    /// At this network interface.
    pub interface: String,
    /// How long.
    pub duration: Duration,
    /// What the flow is of.
    pub protocol: Transport,
    /// Who sends it; port 0 is any.
    pub from: Endpoint,
    /// Who receives it.
    pub to: Endpoint,
    /// Whether its datagrams carry numbers, as those of `test` do.
    pub numbered: bool,
}

impl Watch {
    pub(super) const KEYWORD: &str = "watch";

    pub(super) fn read(given: &mut Arguments<'_>) -> Option<Watch> {
        let interface = given.needed_name("interface", "the network interface that the flow passes");
        let duration = given.duration();
        let protocol = given.needed("protocol", "tcp or udp").and_then(|protocol| {
            let name = as_function(&protocol.value).map(|function| function.name).unwrap_or_default();
            let known = [("tcp", Transport::Tcp), ("udp", Transport::Udp)];
            let found = known.into_iter().find(|known| same_name(known.0, &name)).map(|known| known.1);
            if found.is_none() {
                given.wrong(protocol.value.place(), "a flow is of tcp or of udp", "write protocol = udp;");
            }
            found
        });
        let from = given.endpoint("from", "host and port of the sender; port 0 is any");
        let to = given.endpoint("to", "host and port of the receiver");
        let numbered = given.optional("numbered").and_then(|numbered| Some((numbered, given.switch(numbered)?)));
        if let (Some((argument, true)), Some(Transport::Tcp)) = (numbered, protocol) {
            let why = "segments of TCP have numbers of their own";
            given.wrong(argument.place, why, "leave numbered out");
            return None;
        }
        Some(Watch {
            interface: interface?,
            duration: duration?,
            protocol: protocol?,
            from: from?,
            to: to?,
            numbered: numbered.is_some_and(|numbered| numbered.1),
        })
    }

    pub(super) fn words(&self) -> String {
        let protocol = if self.protocol == Transport::Tcp { "tcp" } else { "udp" };
        format!("watches {protocol} from {} to {} at {}", self.from, self.to, self.interface)
    }
}
