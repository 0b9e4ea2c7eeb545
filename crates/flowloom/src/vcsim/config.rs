//! From a VCSIM specification to the internetwork that is simulated.

use std::path::Path;

use flowloom_core::cell::{Cutting, Discard, FlowControl, Lifetime, Mapping, Order, Traffic, TransportConfig};
use flowloom_core::model::generate::tcplib::{Application, summarised, tabled};
use flowloom_core::model::{Distribution, Law};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_sim::cells::{Config, ConfigError, Host, Link, Node, Role, Route, Router, Switch};
use flowloom_store::histogram;
use flowloom_store::vcsim::{self, Queueing, Specification, TrafficType};

use crate::error::Error;

/// What the parts are called in the file, by their places in [`Config`].
pub struct Names {
    /// Nodes.
    pub nodes: Vec<Named>,
    /// Numbers of the ends of links.
    pub links: Vec<[u64; 2]>,
    /// Places of the nodes that routes begin at.
    pub sources: Vec<usize>,
    /// Bits of packets in a cell.
    pub bits_per_cell: u64,
}

/// A node of the file.
pub struct Named {
    /// `router`, `switch`, `source` or `receiver`.
    pub kind: &'static str,
    /// Its number there.
    pub id: u64,
    /// Results are to be told.
    pub report: bool,
}

/// The internetwork of `specification`, which was read from `file`.
pub fn config(specification: &Specification, file: &Path) -> Result<(Config, Names), Error> {
    let wrong = |line: u32, problem: String| Error::usage(format_args!("{}: line {line}: {problem}", file.display()));
    let mut nodes = Vec::new();
    let bits_per_cell = 8 * u64::from(specification.bytes_per_cell);
    let links = specification.links.iter().map(|link| link.ends).collect();
    let mut names = Names { nodes: Vec::new(), links, sources: Vec::new(), bits_per_cell };
    for router in &specification.routers {
        names.nodes.push(Named { kind: "router", id: router.id, report: router.report });
        nodes.push(Node::Router(self::router(router)));
    }
    for switch in &specification.switches {
        names.nodes.push(Named { kind: "switch", id: switch.id, report: switch.report });
        nodes.push(Node::Switch(Switch {
            cell_order: order(switch.cell_queue),
            room: room(&switch.buffer),
            discard: discard(&switch.buffer),
        }));
    }
    for host in &specification.hosts {
        let kind = if host.is_source { "source" } else { "receiver" };
        names.nodes.push(Named { kind, id: host.id, report: host.report });
        nodes.push(Node::Host(Host { role: role(host, specification, file)? }));
    }
    let place = |id: u64| names.nodes.iter().position(|node| node.id == id).unwrap_or(usize::MAX);
    let links = specification.links.iter().map(|link| {
        let rate = Rate::from_bits_per_second(link.speed.round() as u64).unwrap_or(Rate::UNLIMITED);
        Link { ends: link.ends.map(place), rate, delay: Duration::from_secs_f64(link.delay) }
    });
    let links = links.collect();
    let routes = specification.routes.iter();
    let routes: Vec<Route> =
        routes.map(|route| Route { nodes: route.nodes.iter().map(|id| place(*id)).collect() }).collect();
    names.sources = specification.routes.iter().filter_map(|route| route.nodes.first()).map(|id| place(*id)).collect();
    let time = |seconds: f64| (seconds > 0.0).then(|| Duration::from_secs_f64(seconds));
    let timer = &specification.timer;
    let meters = specification.routers.iter().map(|router| router.meter_time);
    let [high, low] = specification.seeds.map(u64::from);
    let config = Config {
        cutting: Cutting::new(specification.bytes_per_cell, specification.header_bytes, specification.padding)
            .expect("a cell has a byte at least"),
        smallest_packet: specification.bytes_per_cell,
        nodes,
        links,
        routes,
        seed: (high << 32) | low,
        warm_up: Duration::from_secs_f64(timer.log),
        regeneration: time(timer.regeneration),
        end: Duration::from_secs_f64(timer.end),
        look_every: Duration::from_secs_f64(meters.reduce(f64::min).unwrap_or(0.1)),
        checkpoint_every: time(timer.checkpoint),
    };
    match config.check() {
        Ok(()) => Ok((config, names)),
        Err(error) => {
            let (line, problem) = names.locate(specification, &error);
            Err(wrong(line, problem))
        }
    }
}

impl Names {
    /// Links that begin at node `id`: place, direction, and the node at the other end.
    pub fn links_from(&self, id: u64) -> Vec<(usize, usize, u64)> {
        let way = |(link, ends): (usize, &[u64; 2])| match *ends {
            [from, to] if from == id => Some((link, 0, to)),
            [to, from] if from == id => Some((link, 1, to)),
            _ => None,
        };
        self.links.iter().enumerate().filter_map(way).collect()
    }

    /// The line to blame for `error`, and what is wrong there in the file's own numbers.
    fn locate(&self, specification: &Specification, error: &ConfigError) -> (u32, String) {
        match error {
            ConfigError::Link { link } | ConfigError::Rate { link } => {
                let link = &specification.links[*link];
                (
                    link.line,
                    "the link must connect two different nodes, at a speed of one bit per second at least".into(),
                )
            }
            ConfigError::Route { route, problem } => (specification.routes[*route].line, problem.to_string()),
            ConfigError::NotLinked { route, nodes } => {
                let [from, to] = nodes.map(|node| self.nodes[node].id);
                (specification.routes[*route].line, format!("nodes {from} and {to} of the route are not linked"))
            }
            ConfigError::Host { host, problem } => {
                let before = specification.routers.len() + specification.switches.len();
                (specification.hosts[host - before].line, problem.to_string())
            }
            ConfigError::LookEvery | ConfigError::Payload => (1, error.to_string()),
        }
    }
}

fn order(queueing: Queueing) -> Order {
    match queueing {
        Queueing::Fifo => Order::Fifo,
        Queueing::RoundRobin => Order::RoundRobin,
    }
}

fn room(buffer: &vcsim::Buffer) -> Option<u32> {
    buffer.is_finite.then_some(buffer.size)
}

fn discard(buffer: &vcsim::Buffer) -> Discard {
    match buffer.discard {
        vcsim::Discard::Tail => Discard::Tail,
        vcsim::Discard::Partial => Discard::Partial,
        vcsim::Discard::Early => Discard::Early(buffer.threshold),
    }
}

fn router(router: &vcsim::Router) -> Router {
    Router {
        mapping: match router.mapping {
            vcsim::Mapping::PerConversation => Mapping::PerConversation,
            vcsim::Mapping::PerType => Mapping::PerType,
            vcsim::Mapping::PerDestination => Mapping::PerDestination,
        },
        packet_order: order(router.packet_queue),
        cell_order: order(router.cell_queue),
        room: room(&router.buffer),
        discard: discard(&router.buffer),
        lifetime: if router.dynamic {
            let [setup, idle] = [router.setup_time, router.idle_time].map(Duration::from_secs_f64);
            Lifetime::Dynamic { setup, idle }
        } else {
            Lifetime::Permanent
        },
        window: (router.window > 0).then_some(router.window),
        peak_rate: Rate::from_bits_per_second(router.peak_rate.round() as u64),
        look_every: Duration::from_secs_f64(router.meter_time),
    }
}

fn law(law: &vcsim::Law) -> Distribution {
    let law = match (law.is_exponential, law.mean > 0.0) {
        (true, true) => Law::Exponential { mean: law.mean },
        _ => return Distribution::constant(law.mean).expect("it is finite"),
    };
    Distribution::new(law).expect("its mean is above zero")
}

fn role(host: &vcsim::Host, specification: &Specification, file: &Path) -> Result<Role, Error> {
    if !host.is_source {
        return Ok(Role::Sink);
    }
    let application = match host.traffic {
        TrafficType::Ftp => Some(Application::Ftp),
        TrafficType::Nntp => Some(Application::Nntp),
        TrafficType::Smtp => Some(Application::Smtp),
        TrafficType::Telnet => Some(Application::Telnet),
        TrafficType::Misc => None,
    };
    let traffic = match application {
        Some(application) => {
            let tables = specification.tables.as_ref().map(|tables| file.with_file_name(tables));
            let laws = application.laws(|table| match &tables {
                Some(folder) => tabled(&mut |table: &str| histogram::open(folder, table), table),
                None => Ok(summarised(table)),
            });
            let laws = laws.expect("it is no mix");
            Traffic::Application(
                laws.map_err(|error| Error::usage(format_args!("{}: tables: {error}", file.display())))?,
            )
        }
        None => Traffic::Misc { packets: law(&host.length), gap_s: law(&host.gap), bytes: law(&host.bytes) },
    };
    let flow_control = match (host.traffic, host.slow_start) {
        (TrafficType::Misc, _) => FlowControl::None,
        (_, true) => FlowControl::SlowStart,
        (_, false) => FlowControl::Fixed,
    };
    let transport = TransportConfig {
        flow_control,
        window_limit: host.window_limit,
        retransmit: host.retransmit,
        max_packet: specification.max_packet,
    };
    Ok(Role::Source { traffic, between_s: law(&host.between), kind: host.traffic as u32, transport })
}
