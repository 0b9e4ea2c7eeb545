//! What a virtual-circuit internetwork is made of.

use flowloom_core::cell::{Cutting, Discard, FlowControl, Lifetime, Mapping, Order, Traffic, TransportConfig};
use flowloom_core::distribution::Distribution;
use flowloom_core::time::Duration;
use flowloom_core::units::Rate;

/// An internetwork, and how long it is watched.
#[derive(Clone, Debug)]
pub struct Config {
    /// How packets are cut into cells.
    pub cutting: Cutting,
    /// The shortest a packet is on links outside of circuits, and the length of an acknowledgement: one cell's payload in the study.
    pub smallest_packet: u32,
    /// Hosts, routers and switches.
    pub nodes: Vec<Node>,
    /// Between them.
    pub links: Vec<Link>,
    /// The conversations.
    pub routes: Vec<Route>,
    /// Seed of all that is drawn.
    pub seed: u64,
    /// Nothing before it is measured.
    pub warm_up: Duration,
    /// From when on the run ends at the first instant at which no queue holds anything; `None`: it goes on to its end.
    pub regeneration: Option<Duration>,
    /// When it ends at the latest.
    pub end: Duration,
    /// From one look at the hosts to the next.
    pub look_every: Duration,
    /// From one account of results so far to the next.
    pub checkpoint_every: Option<Duration>,
}

/// A node. Its place in [`Config::nodes`] is its number here.
#[derive(Clone, Debug)]
pub enum Node {
    /// Sends or receives packets; has one link.
    Host(Host),
    /// Cuts packets into cells and puts them together.
    Router(Router),
    /// Passes cells on.
    Switch(Switch),
}

/// A host.
#[derive(Clone, Debug)]
pub struct Host {
    /// What it does.
    pub role: Role,
}

/// What a host does.
#[derive(Clone, Debug)]
pub enum Role {
    /// It has conversations, one at a time.
    Source {
        /// Of this.
        traffic: Traffic,
        /// Seconds from the end of one to the next.
        between_s: Distribution,
        /// Number of the kind of traffic, for circuits by type.
        kind: u32,
        /// Its transport, and that of the answers it gets.
        transport: TransportConfig,
    },
    /// It answers.
    Sink,
}

/// A router.
#[derive(Clone, Debug)]
pub struct Router {
    /// Which conversations share a circuit that begins here.
    pub mapping: Mapping,
    /// How packets take turns, where circuits have windows.
    pub packet_order: Order,
    /// How cells do.
    pub cell_order: Order,
    /// Cells that it holds together before a link; any number if `None`.
    pub room: Option<u32>,
    /// Which it loses when they are too many.
    pub discard: Discard,
    /// How long circuits that begin here are there.
    pub lifetime: Lifetime,
    /// Cells of a circuit that may be under way to its other end: network-level flow control.
    pub window: Option<u32>,
    /// The most cells of a circuit may leave with, headers counted.
    pub peak_rate: Option<Rate>,
    /// From one look at its queues to the next.
    pub look_every: Duration,
}

/// A switch.
#[derive(Clone, Debug)]
pub struct Switch {
    /// How cells take turns.
    pub cell_order: Order,
    /// Cells that it holds together before a link.
    pub room: Option<u32>,
    /// Which it loses when they are too many.
    pub discard: Discard,
}

/// A link, alike in both directions.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Its nodes.
    pub ends: [usize; 2],
    /// Bits per second.
    pub rate: Rate,
    /// Propagation.
    pub delay: Duration,
}

/// The way of a host's conversations: host, router, switches, router, host. Answers take it back.
#[derive(Clone, Debug)]
pub struct Route {
    /// Places in [`Config::nodes`].
    pub nodes: Vec<usize>,
}

/// What is wrong with an internetwork.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A link of a node with itself, or of nodes that are not there.
    #[error("link {link}: it must connect two nodes that are there")]
    Link {
        /// Its place.
        link: usize,
    },
    /// A link without a finite rate.
    #[error("link {link}: its rate must be finite and above zero")]
    Rate {
        /// Its place.
        link: usize,
    },
    /// A route that is not one.
    #[error("route {route}: {problem}")]
    Route {
        /// Its place.
        route: usize,
        /// The place in it of the node to blame, if there is one.
        at: Option<usize>,
        /// What is wrong.
        #[source]
        problem: RouteError,
    },
    /// A route over nodes that no link joins.
    #[error("route {route}: its nodes {} and {} are not linked", nodes[0], nodes[1])]
    NotLinked {
        /// Its place.
        route: usize,
        /// The place in it of the second node.
        at: usize,
        /// The places of the nodes.
        nodes: [usize; 2],
    },
    /// A host that cannot be.
    #[error("host {host}: {problem}")]
    Host {
        /// Its place among the nodes.
        host: usize,
        /// What is wrong.
        #[source]
        problem: HostError,
    },
    /// A time between two looks or checkpoints is nothing.
    #[error("the time between two looks at queues and between checkpoints must be above zero")]
    LookEvery,
    /// Cells that hold more than a packet may.
    #[error("a cell's payload must be at most 65535 bytes")]
    Payload,
}

/// What is wrong with a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// Its packets are empty.
    #[error("its packets must have one byte at least")]
    EmptyPackets,
    /// Its flow control lets it send nothing.
    #[error("its window must be one packet at least")]
    NoWindow,
}

/// What is wrong with a route.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// It leads over a node that is not there.
    #[error("there is no node {0}")]
    NoNode(usize),
    /// It is too long.
    #[error("it has more than {MOST_NODES} nodes")]
    TooLong,
    /// It has a loop.
    #[error("it comes to a node twice")]
    Loop,
    /// Its routers are neighbours.
    #[error("there is no switch between its routers")]
    NoSwitch,
    /// A node between its routers is no switch.
    #[error("the {} of its nodes must be a switch: only switches are between routers", ordinal(*number))]
    NotSwitch {
        /// The number of the node, the first being 1.
        number: usize,
    },
    /// It does not begin at a source.
    #[error("the host it begins at must be a source")]
    NotSource,
    /// It does not end at a receiver.
    #[error("the host it ends at must be a receiver")]
    NotSink,
    /// Its nodes are of other kinds, or in another order.
    #[error("it must be a host, a router, one or more switches, a router and a host")]
    Kinds,
    /// Another route begins at its source.
    #[error("its source has another: a host has one conversation at a time")]
    SourceTaken,
}

/// Most nodes of a route: more than any has, and few enough that places fit a byte.
const MOST_NODES: usize = 200;

fn ordinal(number: usize) -> String {
    match number {
        3 => "third".into(),
        4 => "fourth".into(),
        5 => "fifth".into(),
        _ => format!("{number}th"),
    }
}

fn host_problem(host: usize, node: &Node) -> Option<ConfigError> {
    let Node::Host(Host { role: Role::Source { transport, .. } }) = node else { return None };
    let problem = match transport {
        TransportConfig { max_packet: 0, .. } => HostError::EmptyPackets,
        TransportConfig { window_limit: 0, flow_control, .. } if *flow_control != FlowControl::None => {
            HostError::NoWindow
        }
        _ => return None,
    };
    Some(ConfigError::Host { host, problem })
}

impl Router {
    /// One of the study (methods G.5): infinite buffers, permanent circuits, a look at its queues every 0.1 s.
    pub const fn new(mapping: Mapping, cell_order: Order) -> Router {
        Router {
            mapping,
            packet_order: Order::Fifo,
            cell_order,
            room: None,
            discard: Discard::Tail,
            lifetime: Lifetime::Permanent,
            window: None,
            peak_rate: None,
            look_every: Duration::from_millis(100),
        }
    }
}

impl Host {
    /// One that has conversations of `traffic`, of this kind, each as soon as the last is over.
    pub fn source(traffic: Traffic, kind: u32, transport: TransportConfig) -> Host {
        let between_s = Distribution::constant(0.0).expect("zero is a number");
        Host { role: Role::Source { traffic, between_s, kind, transport } }
    }
}

impl Config {
    /// The internetwork of the study for 180 s (methods G.5): cells of 48 bytes without headers or padding, links of one rate, 45 ms there and back.
    /// Nodes are the input router, a switch, the output router, and then each source and its receiver.
    pub fn study(router: &Router, rate: Rate, sources: impl IntoIterator<Item = Host>) -> Config {
        let link = |a, b, delay| Link { ends: [a, b], rate, delay };
        let switch = Switch { cell_order: router.cell_order, room: router.room, discard: router.discard };
        let mut config = Config {
            cutting: Cutting::new(48, 0, false).expect("cells have a payload"),
            smallest_packet: 48,
            nodes: vec![Node::Router(router.clone()), Node::Switch(switch), Node::Router(router.clone())],
            links: vec![link(0, 1, Duration::from_micros(22_500)), link(1, 2, Duration::ZERO)],
            routes: Vec::new(),
            seed: 1,
            warm_up: Duration::ZERO,
            regeneration: None,
            end: Duration::from_secs(180),
            look_every: Duration::from_millis(100),
            checkpoint_every: None,
        };
        for source in sources {
            let host = config.nodes.len();
            config.nodes.extend([Node::Host(source), Node::Host(Host { role: Role::Sink })]);
            config.links.extend([link(host, 0, Duration::ZERO), link(2, host + 1, Duration::ZERO)]);
            config.routes.push(Route { nodes: vec![host, 0, 1, 2, host + 1] });
        }
        config
    }

    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The first part to blame.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.problems().into_iter().next().map_or(Ok(()), Err)
    }

    /// Finds all problems.
    pub fn problems(&self) -> Vec<ConfigError> {
        let mut problems = Vec::new();
        if self.cutting.payload() > u32::from(u16::MAX) {
            problems.push(ConfigError::Payload);
        }
        problems.extend(self.links.iter().enumerate().filter_map(|(place, link)| self.link_problem(place, link)));
        if self.never_looks() {
            problems.push(ConfigError::LookEvery);
        }
        problems.extend(self.nodes.iter().enumerate().filter_map(|(place, node)| host_problem(place, node)));
        let mut sources = vec![false; self.nodes.len()];
        for (place, route) in self.routes.iter().enumerate() {
            problems.extend(self.route_problems(place, route, &mut sources));
        }
        problems
    }

    fn link_problem(&self, link: usize, &Link { ends: [a, b], rate, .. }: &Link) -> Option<ConfigError> {
        if a == b || a.max(b) >= self.nodes.len() {
            Some(ConfigError::Link { link })
        } else if rate.bits_per_second().is_none() {
            Some(ConfigError::Rate { link })
        } else {
            None
        }
    }

    /// Whether an interval between looks or checkpoints is zero.
    fn never_looks(&self) -> bool {
        let mut looks = self.nodes.iter().filter_map(|node| match node {
            Node::Router(router) => Some(router.look_every),
            _ => None,
        });
        self.look_every.is_zero() || looks.any(Duration::is_zero) || self.checkpoint_every == Some(Duration::ZERO)
    }

    /// The problem of the shape of a route, or else its missing links.
    fn route_problems(&self, route: usize, way: &Route, sources: &mut [bool]) -> Vec<ConfigError> {
        if let Err((at, problem)) = self.check_route(way, sources) {
            return vec![ConfigError::Route { route, at, problem }];
        }
        let pairs = way.nodes.windows(2).enumerate();
        let unlinked = pairs.filter(|(_, pair)| self.port(pair[0], pair[1]).is_none());
        unlinked
            .map(|(place, pair)| ConfigError::NotLinked { route, at: place + 1, nodes: [pair[0], pair[1]] })
            .collect()
    }

    /// Checks the shape of a route. An error has the place in the route to blame. A host is the source of at most one route: it has one
    /// conversation at a time.
    fn check_route(&self, route: &Route, sources: &mut [bool]) -> Result<(), (Option<usize>, RouteError)> {
        let Route { nodes } = route;
        if let Some(place) = nodes.iter().position(|node| *node >= self.nodes.len()) {
            return Err((Some(place), RouteError::NoNode(nodes[place])));
        }
        if nodes.len() > MOST_NODES {
            return Err((Some(MOST_NODES), RouteError::TooLong));
        }
        if let Some(place) = (1..nodes.len()).find(|place| nodes[..*place].contains(&nodes[*place])) {
            return Err((Some(place), RouteError::Loop));
        }
        let kinds: Vec<&Node> = nodes.iter().map(|node| &self.nodes[*node]).collect();
        let [Node::Host(source), Node::Router(_), switches @ .., Node::Router(_), Node::Host(sink)] = &kinds[..] else {
            return Err((None, RouteError::Kinds));
        };
        if switches.is_empty() {
            return Err((Some(2), RouteError::NoSwitch));
        }
        if let Some(place) = switches.iter().position(|node| !matches!(node, Node::Switch(_))) {
            return Err((Some(place + 2), RouteError::NotSwitch { number: place + 3 }));
        }
        if !matches!(source.role, Role::Source { .. }) {
            return Err((Some(0), RouteError::NotSource));
        }
        if !matches!(sink.role, Role::Sink) {
            return Err((Some(nodes.len() - 1), RouteError::NotSink));
        }
        if std::mem::replace(&mut sources[nodes[0]], true) {
            return Err((Some(0), RouteError::SourceTaken));
        }
        Ok(())
    }

    /// Number of the port that leads from a node to another: twice its link's number, one more for the way from the second end.
    pub(super) fn port(&self, from: usize, to: usize) -> Option<usize> {
        self.links.iter().enumerate().find_map(|(link, &Link { ends, .. })| match ends {
            [a, b] if (a, b) == (from, to) => Some(2 * link),
            [a, b] if (b, a) == (from, to) => Some(2 * link + 1),
            _ => None,
        })
    }
}
