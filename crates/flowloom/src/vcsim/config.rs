//! From a VCSIM specification to the internetwork that is simulated.

use std::convert::Infallible;
use std::path::{Path, PathBuf};

use flowloom_core::cell::{Cutting, Discard, FlowControl, Lifetime, Mapping, Order, Traffic, TransportConfig};
use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use flowloom_models::generate::tcplib::{Application, summarised, tabled};
use flowloom_sim::cells::{Config, ConfigError, Host, Link, Node, Role, Route, Router, Switch};
use flowloom_store::histogram;
use flowloom_store::vcsim::{self, Placed, Problem, Problems, Queueing, Reading, Specification, TrafficType};

use crate::error::{Error, Place};

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

/// The internetwork of a specification that was read from `file`.
///
/// # Errors
/// Everything that is wrong with the specification.
pub fn config(reading: &Reading, file: &Path) -> Result<(Config, Names), Error> {
    let specification = &reading.specification;
    let mut problems = reading.problems.clone();
    let (nodes, names) = nodes(specification, file, &mut problems);
    let place = |id: Placed<u64>| names.place(id.value);
    let links = specification.links.iter().map(|link| {
        let rate = Rate::from_bits_per_second(link.speed.round() as u64).unwrap_or(Rate::UNLIMITED);
        Link { ends: link.ends.map(place), rate, delay: Duration::from_secs_f64(link.delay) }
    });
    let routes = specification.routes.iter();
    let routes = routes.map(|route| Route { nodes: route.nodes.iter().map(|id| place(*id)).collect() });
    let time = |seconds: f64| (seconds > 0.0).then(|| Duration::from_secs_f64(seconds));
    let timer = &specification.timer;
    let meters = specification.routers.iter().map(|router| router.meter_time);
    let [high, low] = specification.seeds.map(u64::from);
    let config = Config {
        cutting: Cutting::new(specification.bytes_per_cell, specification.header_bytes, specification.padding)
            .expect("a cell has a byte at least"),
        smallest_packet: specification.bytes_per_cell,
        nodes,
        links: links.collect(),
        routes: routes.collect(),
        seed: (high << 32) | low,
        warm_up: Duration::from_secs_f64(timer.log),
        regeneration: time(timer.regeneration),
        end: Duration::from_secs_f64(timer.end),
        look_every: Duration::from_secs_f64(meters.reduce(f64::min).unwrap_or(0.1)),
        checkpoint_every: time(timer.checkpoint),
    };
    for error in config.problems() {
        // Routes may lead over links that have problems of their own.
        if !(reading.lacks_links && matches!(error, ConfigError::NotLinked { .. })) {
            problems.push(names.problem(specification, &error));
        }
    }
    match error(&problems, file) {
        None => Ok((config, names)),
        Some(error) => Err(error),
    }
}

/// The nodes of a specification, and the names in the file.
fn nodes(specification: &Specification, file: &Path, problems: &mut Problems) -> (Vec<Node>, Names) {
    let mut nodes = Vec::new();
    let mut named = Vec::new();
    for router in &specification.routers {
        named.push(Named { kind: "router", id: router.id.value, report: router.report });
        nodes.push(Node::Router(self::router(router)));
    }
    for switch in &specification.switches {
        named.push(Named { kind: "switch", id: switch.id.value, report: switch.report });
        nodes.push(Node::Switch(Switch {
            cell_order: order(switch.cell_queue),
            room: room(&switch.buffer),
            discard: discard(&switch.buffer),
        }));
    }
    for host in &specification.hosts {
        let kind = if host.is_source { "source" } else { "receiver" };
        named.push(Named { kind, id: host.id.value, report: host.report });
        nodes.push(Node::Host(Host { role: role(host, specification, file, problems) }));
    }
    let links = specification.links.iter().map(|link| link.ends.map(|end| end.value)).collect();
    let bits_per_cell = 8 * u64::from(specification.bytes_per_cell);
    let mut names = Names { nodes: named, links, sources: Vec::new(), bits_per_cell };
    let first = specification.routes.iter().filter_map(|route| route.nodes.first());
    names.sources = first.map(|id| names.place(id.value)).collect();
    (nodes, names)
}

/// All problems as one error.
fn error(problems: &Problems, file: &Path) -> Option<Error> {
    let file = file.display().to_string();
    let errors = problems.found().iter().map(|problem| {
        let place = Place {
            file: file.clone(),
            line: problem.at.map(|at| at.line as usize),
            column: problem.at.map(|at| at.column as usize),
        };
        let error = Error { key: problem.key.clone(), ..Error::usage(&problem.message) };
        let error = match &problem.known[..] {
            [] => error,
            known => error.note(format_args!("known: {}", known.join(", "))),
        };
        error.hint_if(problem.hint.as_ref()).at(place)
    });
    let more = (problems.more() > 0).then(|| Error::usage(format_args!("there are {} more errors", problems.more())));
    Error::all(errors.chain(more))
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

    /// The place of node `id` among the nodes.
    fn place(&self, id: u64) -> usize {
        self.nodes.iter().position(|node| node.id == id).unwrap_or(usize::MAX)
    }

    /// `error` with its place and the numbers of the file.
    fn problem(&self, specification: &Specification, error: &ConfigError) -> Problem {
        let in_route = |route: usize, at: Option<usize>| {
            let route = &specification.routes[route];
            at.and_then(|at| route.nodes.get(at)).map_or(route.at, |node| node.at)
        };
        match error {
            ConfigError::Link { link } => {
                let [_, second] = specification.links[*link].ends;
                Problem::new(second.at, "link.connects must name two different nodes").about("link.connects")
            }
            ConfigError::Rate { link } => {
                Problem::new(specification.links[*link].at, "link.speed must be one bit per second at least")
                    .about("link.speed")
            }
            ConfigError::Route { route, at, problem } => {
                Problem::new(in_route(*route, *at), format_args!("route: {problem}")).about("route")
            }
            ConfigError::NotLinked { route, at, nodes } => {
                let [from, to] = nodes.map(|node| self.nodes[node].id);
                let problem = format!("route: nodes {from} and {to} are not linked");
                let hint = format!("add a link block with connects {from} {to}");
                Problem::new(in_route(*route, Some(*at)), problem).about("route").hint(hint)
            }
            ConfigError::Host { host, problem } => {
                let before = specification.routers.len() + specification.switches.len();
                Problem::new(specification.hosts[host - before].at, format_args!("host: {problem}")).about("host")
            }
            ConfigError::LookEvery | ConfigError::Payload => Problem::new(None, error),
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
        window: Some(router.circuit_window()).filter(|window| *window > 0),
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

/// The distribution of a table of tcplib. One that cannot be read is a problem, and the summary stands in for it.
fn distribution(
    table: &'static str,
    folder: Option<&(PathBuf, vcsim::Position)>,
    problems: &mut Problems,
) -> Distribution {
    let Some((folder, at)) = folder else { return summarised(table) };
    tabled(&mut |table: &str| histogram::open(folder, table), table).unwrap_or_else(|error| {
        let problem = Problem::new(*at, format_args!("tables: {error}")).about("tables");
        // Several hosts may need it.
        if !problems.found().contains(&problem) {
            problems.push(problem);
        }
        summarised(table)
    })
}

fn role(host: &vcsim::Host, specification: &Specification, file: &Path, problems: &mut Problems) -> Role {
    if !host.is_source {
        return Role::Sink;
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
            let folder = specification.tables.as_ref().map(|tables| (file.with_file_name(&tables.value), tables.at));
            let laws = application.laws(|table| Ok::<_, Infallible>(distribution(table, folder.as_ref(), problems)));
            let Ok(laws) = laws.expect("it is no mix");
            Traffic::Application(laws)
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
    Role::Source { traffic, between_s: law(&host.between), kind: host.traffic as u32, transport }
}
