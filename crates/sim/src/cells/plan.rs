//! What follows from an internetwork before anything happens in it: circuits, and the ways of packets.

use flowloom_core::cell::{Lifetime, Mapping};
use flowloom_core::time::Duration;

use super::config::{Config, Node, Role, Router};

/// One direction of a conversation.
#[derive(Clone, Debug)]
pub(super) struct Way {
    /// The circuit between its routers.
    pub circuit: u32,
    /// Where packets leave the router behind the circuit.
    pub last_port: usize,
}

/// One virtual circuit.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Where its cells leave: the input router's port, then each switch's.
    pub ports: Vec<usize>,
    /// The nodes whose ports these are, and the output router.
    pub nodes: Vec<usize>,
    pub lifetime: Lifetime,
    pub window: Option<u32>,
    /// How long a credit takes back.
    pub back: Duration,
}

/// Ways of all routes, there and back, and the circuits they use.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub ways: Vec<[Way; 2]>,
    pub circuits: Vec<Path>,
}

#[derive(PartialEq, Eq)]
enum Key {
    Conversation(usize),
    Type(u32),
    Destination,
}

impl Plan {
    /// Of an internetwork that was checked.
    pub fn new(config: &Config) -> Plan {
        let mut keys: Vec<(Key, Vec<usize>)> = Vec::new();
        let mut circuits = Vec::new();
        let mut way = |route: usize, kind: u32, nodes: &[usize]| {
            let inner = &nodes[1..nodes.len() - 1];
            let Node::Router(router) = &config.nodes[inner[0]] else { unreachable!("checked") };
            let key = match router.mapping {
                Mapping::PerConversation => Key::Conversation(route),
                Mapping::PerType => Key::Type(kind),
                Mapping::PerDestination => Key::Destination,
            };
            let port = |pair: &[usize]| config.port(pair[0], pair[1]).expect("checked");
            let last_port = port(&nodes[nodes.len() - 2..]);
            let key = (key, inner.to_vec());
            let circuit = keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                circuits.push(path(config, router, inner, inner.windows(2).map(port).collect()));
                keys.len() - 1
            });
            Way { circuit: circuit as u32, last_port }
        };
        let ways = config.routes.iter().enumerate().map(|(number, route)| {
            let kind = match &config.nodes[route.nodes[0]] {
                Node::Host(host) => match host.role {
                    Role::Source { kind, .. } => kind,
                    Role::Sink => 0,
                },
                _ => 0,
            };
            let back: Vec<usize> = route.nodes.iter().rev().copied().collect();
            [way(number, kind, &route.nodes), way(number, kind, &back)]
        });
        let ways = ways.collect();
        Plan { ways, circuits }
    }
}

fn path(config: &Config, router: &Router, nodes: &[usize], ports: Vec<usize>) -> Path {
    Path {
        back: ports.iter().map(|port| config.links[port / 2].delay).sum(),
        ports,
        nodes: nodes.to_vec(),
        lifetime: router.lifetime,
        window: router.window,
    }
}
