//! The keys of the network's shape: `topology`, `hops`, `[[network.links]]`, `[[network.routes]]` and `[network.ends]`
//! (`docs/reference/topology.md`).

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::topology::{LinkId, Node, Topology as Graph, TopologyError};
use crate::{Config, LinkNumber, Monitored, Way};
use flowloom_core::keys::{KeyError, Quantity, named, nearest};
use flowloom_core::path::cell_keys::Cells;
use flowloom_core::path::keys::Bucket;
use flowloom_core::queue::keys::Queue;
use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;

use super::network::{Bottleneck, Network, RateChoice, buffer};

/// Shapes of the network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// One shared link, hosts on both sides, each connection with its own path delay.
    #[default]
    Dumbbell,
    /// Links one behind the other, all like the bottleneck, which is the first.
    ParkingLot,
    /// Links and routes as written out.
    Graph,
}

/// `[network.ends]`: the nodes at which the two sides of the workload are.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Ends {
    /// Node of the left side.
    left: String,
    /// Node of the right side.
    right: String,
}

/// `[[network.links]]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// Name of the link, which no other link has; the other direction is called `NAME-back`.
    #[schemars(regex(pattern = "^[A-Za-z0-9_-]{1,64}$"))]
    pub name: String,
    /// Node at its beginning.
    from: String,
    /// Node at its end.
    to: String,
    /// Bit rate; Ethernet bytes (IP bytes + 14) count.
    #[schemars(extend("least" = "100bit", "most" = "100tbit"))]
    pub rate: Quantity<RateChoice>,
    /// Propagation delay, one way; default: 0ms.
    #[serde(default = "no_delay")]
    #[schemars(extend("most" = "1h"))]
    pub delay: Quantity<Duration>,
    /// Leave out the other direction; default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    one_way: bool,
    /// Queue in front of the link; default: drop-tail.
    #[serde(default)]
    pub queue: Queue,
    /// Cells that carry the packets, and their buffer in place of the queue; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
    /// Token bucket that packets wait for behind the queue; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<Bucket>,
    /// Token bucket that drops packets before the queue; default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policer: Option<Bucket>,
}

fn no_delay() -> Quantity<Duration> {
    Quantity::of("0ms")
}

/// `[[network.routes]]`: a way that is taken instead of the one over the fewest links.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Route {
    /// First node.
    from: String,
    /// Last node.
    to: String,
    /// Nodes in between, in order; default: none.
    #[serde(default)]
    via: Vec<String>,
}

/// What a link of the graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Like the bottleneck, for packets from this side of it.
    Alike(LinkSide),
    /// The one at this place in `[[network.links]]`.
    Link(usize),
}

/// The network as a graph: its links are in the order of their [`LinkNumber`]s.
#[derive(Clone, Debug, PartialEq)]
pub struct Shape {
    /// Nodes, links, routes.
    pub graph: Graph<Part>,
    /// Where the two sides of the workload are.
    pub ends: [Node; 2],
}

/// A link and the link back, by the name of the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// Its name.
    pub name: String,
    there: LinkNumber,
    back: Option<LinkNumber>,
}

impl Pair {
    /// Whether it is what the results are about.
    pub fn is_bottleneck(&self) -> bool {
        self.there.is_bottleneck()
    }

    /// Whether the link of this number is one of the two.
    pub fn holds(&self, link: LinkNumber) -> bool {
        link == self.there || Some(link) == self.back
    }

    /// As the simulator measures it.
    pub fn monitored(&self) -> Monitored {
        Monitored { there: self.there, back: self.back }
    }
}

/// Links of a parking lot, at most.
const MOST_HOPS: u16 = 1_000;
/// Links of a parking lot that says nothing: the bottlenecks of Weigle's (2003) are six.
const USUAL_HOPS: u16 = 6;
/// The name of the bottleneck in the direction from left to right.
const BOTTLENECK: &str = "bottleneck";
/// The key of what it is.
const BOTTLENECK_KEY: &str = "network.bottleneck";

impl Shape {
    /// What packets cross between two nodes.
    ///
    /// # Errors
    /// No links lead there or back.
    pub fn way(&self, from: Node, to: Node) -> Result<Way, TopologyError> {
        // The bottleneck's two directions are the first links of every graph.
        let numbers = |route: &[LinkId]| route.iter().map(|link| LinkNumber(link.index() as u16)).collect();
        Ok(Way { there: numbers(&self.graph.route(from, to)?), back: numbers(&self.graph.route(to, from)?) })
    }

    /// What the workload crosses.
    ///
    /// # Errors
    /// See [`Self::way`].
    pub fn workload_way(&self) -> Result<Way, TopologyError> {
        self.way(self.ends[0], self.ends[1])
    }

    /// A link that hangs together with the ends over no others, and a node of it.
    fn apart(&self) -> Option<(Part, &str)> {
        let links = self.graph.links();
        let mut joined = BTreeSet::from([self.ends[0]]);
        // Links are mostly written in the order in which they are crossed: few rounds are needed.
        loop {
            let before = joined.len();
            for link in links {
                if joined.contains(&link.from) || joined.contains(&link.to) {
                    joined.extend([link.from, link.to]);
                }
            }
            if joined.len() == before {
                break;
            }
        }
        let link = links.iter().find(|link| !joined.contains(&link.from))?;
        Some((link.link, self.graph.name(link.from)))
    }

    /// The link of this name, or back from the one of this name, with its other direction.
    ///
    /// # Errors
    /// There is none; which there are.
    pub fn pair(&self, name: &str) -> Result<Pair, UnknownLink> {
        let links = self.graph.links();
        let named = |name: &str| links.iter().zip(0..).find(|(link, _)| link.name == name);
        // What joins the same nodes in the other direction, under the name that this has with "-back" behind.
        let back = |name: &str| {
            let (there, _) = named(name)?;
            named(&format!("{name}-back")).filter(|(back, _)| (back.from, back.to) == (there.to, there.from))
        };
        let there = name.strip_suffix("-back").filter(|there| back(there).is_some()).unwrap_or(name);
        let Some((_, number)) = named(there) else {
            let known = links
                .iter()
                .map(|link| link.name.as_str())
                .filter(|name| name.strip_suffix("-back").is_none_or(|there| back(there).is_none()));
            let known = known.map(str::to_owned).collect();
            return Err(UnknownLink { name: name.to_owned(), known });
        };
        let back = back(there).map(|(_, number)| LinkNumber(number));
        Ok(Pair { name: there.to_owned(), there: LinkNumber(number), back })
    }

    /// The links beside the bottleneck that are named here, once each.
    ///
    /// # Errors
    /// See [`Self::pair`].
    pub fn monitored(&self, names: &[String]) -> Result<Vec<Monitored>, UnknownLink> {
        let mut monitored = Vec::new();
        for name in names {
            let pair = self.pair(name)?;
            if !pair.is_bottleneck() && !monitored.contains(&pair.monitored()) {
                monitored.push(pair.monitored());
            }
        }
        Ok(monitored)
    }
}

/// There is no link of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownLink {
    /// The name.
    pub name: String,
    /// The names of the links, without those of the ways back.
    pub known: Vec<String>,
}

impl fmt::Display for UnknownLink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no link {} (known: {})", self.name, self.known.join(", "))?;
        let known: Vec<&str> = self.known.iter().map(String::as_str).collect();
        nearest(&self.name, &known).map_or(Ok(()), |meant| write!(f, "; did you mean {meant}?"))
    }
}

/// Blames `key`.
fn at<T>(key: &str, result: Result<T, TopologyError>) -> Result<T, KeyError> {
    result.map_err(|error| KeyError::saying(key, error))
}

/// A network that cannot be.
#[derive(Clone, Debug, PartialEq)]
pub struct Unshaped {
    /// Everything that is wrong, at least one.
    pub problems: Vec<KeyError>,
    /// The shape with all its nodes, if it has two ends: what it lacks are links and routes.
    pub shape: Option<Shape>,
}

impl From<KeyError> for Unshaped {
    fn from(problem: KeyError) -> Unshaped {
        Unshaped { problems: vec![problem], shape: None }
    }
}

/// A graph that is drawn link by link, and what is wrong with it.
#[derive(Default)]
struct Drawing {
    graph: Graph<Part>,
    problems: Vec<KeyError>,
}

impl Drawing {
    /// What `result` has, or a problem of `key`.
    fn kept<T>(&mut self, key: &str, result: Result<T, TopologyError>) -> Option<T> {
        at(key, result).map_err(|problem| self.problems.push(problem)).ok()
    }

    /// The node named so, which is added if there is none. One with a bad name is there too, because routes may name it.
    fn node(&mut self, key: &str, name: &str) -> Option<Node> {
        if let Ok(node) = self.graph.node(name) {
            return Some(node);
        }
        self.problems.extend(named("a node", key, name).err());
        let added = self.graph.add_node(name);
        self.kept(key, added)
    }

    /// The link at `place`. One whose name is taken is there under its place, because routes may need it.
    fn link(&mut self, place: usize, link: &Link) {
        let key = format!("network.links[{place}]");
        self.problems.extend(named("a link", &format!("{key}.name"), &link.name).err());
        let (Some(from), Some(to)) = (self.node(&key, &link.from), self.node(&key, &link.to)) else { return };
        let back = (!link.one_way).then(|| (format!("{}-back", link.name), to, from));
        let mut is_told = false;
        for (name, from, to) in [(link.name.clone(), from, to)].into_iter().chain(back) {
            let added = self.graph.add_link(&name, from, to, Part::Link(place));
            if let Err(TopologyError::Twice { .. }) = added {
                _ = self.graph.add_link(&format!("{key} {name}"), from, to, Part::Link(place));
            }
            // The same is mostly wrong with the link back.
            if !is_told {
                is_told = self.kept(&key, added).is_none();
            }
        }
    }

    /// The bottleneck; whether it joins two nodes.
    fn bottleneck(&mut self, bottleneck: &Bottleneck) -> bool {
        let (Some(from), Some(to)) = (&bottleneck.from, &bottleneck.to) else {
            let problem = "needs from and to, the nodes that it joins, in a graph";
            self.problems.push(KeyError::new(BOTTLENECK_KEY, problem));
            return false;
        };
        let joined = [self.node(BOTTLENECK_KEY, from), self.node(BOTTLENECK_KEY, to)];
        let [Some(from), Some(to)] = joined else { return false };
        let added = both(&mut self.graph, BOTTLENECK, [from, to]);
        self.kept(BOTTLENECK_KEY, added).is_some()
    }

    fn route(&mut self, place: usize, route: &Route) {
        let key = format!("network.routes[{place}]");
        let names = [&route.from].into_iter().chain(&route.via).chain([&route.to]);
        let stops: Vec<Option<Node>> = names.map(|name| self.kept(&key, self.graph.node(name))).collect();
        if let Some(stops) = stops.into_iter().collect::<Option<Vec<Node>>>()
            && let [from, via @ .., to] = &stops[..]
        {
            let fixed = self.graph.fix_route(*from, via, *to);
            self.kept(&key, fixed);
        }
    }

    /// The nodes of the two sides.
    fn ends(&mut self, ends: Option<&Ends>) -> Option<[Node; 2]> {
        let Some(Ends { left, right }) = ends else {
            let problem = "is missing: name the nodes where the two sides of the workload are, as in \
                           ends = { left = \"a\", right = \"b\" }";
            self.problems.push(KeyError::new("network.ends", problem));
            return None;
        };
        let nodes = [left, right].map(|name| self.graph.node(name));
        let [from, to] = nodes;
        let nodes = [self.kept("network.ends.left", from), self.kept("network.ends.right", to)];
        if left == right {
            let problem = format_args!("is {left}, as the left one is: the network would not be crossed");
            self.problems.push(KeyError::new("network.ends.right", problem));
        }
        let [Some(left), Some(right)] = nodes else { return None };
        Some([left, right])
    }
}

/// Adds the link `name` for packets from the left and the one back for those from the right.
fn both(graph: &mut Graph<Part>, name: &str, [from, to]: [Node; 2]) -> Result<(), TopologyError> {
    graph.add_link(name, from, to, Part::Alike(LinkSide::Left))?;
    graph.add_link(&format!("{name}-back"), to, from, Part::Alike(LinkSide::Right))?;
    Ok(())
}

impl Network {
    /// What no type can refuse: values that are well formed and impossible. Its shape; of one that is impossible, what there is
    /// ([`Unshaped::shape`]).
    pub fn problems(&self) -> (Vec<KeyError>, Result<Shape, Option<Shape>>) {
        let bottleneck = &self.bottleneck;
        let mut found: Vec<KeyError> = Vec::new();
        let mut add = |key: &str, problems: Vec<KeyError>| {
            found.extend(problems.into_iter().map(|problem| problem.within(key)));
        };
        add("network.bottleneck", link_problems(&bottleneck.rate, &bottleneck.delay, &bottleneck.queue));
        add("network.bottleneck", cell_problems(bottleneck.cells.as_ref(), &bottleneck.queue));
        for (place, link) in self.links.iter().enumerate() {
            let key = format!("network.links[{place}]");
            add(&key, link_problems(&link.rate, &link.delay, &link.queue));
            add(&key, cell_problems(link.cells.as_ref(), &link.queue));
        }
        let key = "network.bottleneck";
        if bottleneck.trace.is_some() && bottleneck.rate.value != RateChoice::Auto {
            found.push(KeyError::new(key, "has a trace, which is its rate: leave out rate or trace"));
        }
        if bottleneck.trace.is_some() && bottleneck.shaper.is_some() {
            let problem = "has a trace and a shaper, which both say when packets go: leave out one";
            found.push(KeyError::new(key, problem));
        }
        if bottleneck.trace.is_some() && bottleneck.cells.as_ref().is_some_and(|cells| cells.abr.is_some()) {
            let problem = "has a trace and cells.abr, which shares a constant rate: leave out one";
            found.push(KeyError::new(key, problem));
        }
        for (place, rule) in self.delay_box.iter().enumerate() {
            if rule.does_nothing() {
                let problem = "changes nothing: give it a delay, a loss or a rate";
                found.push(KeyError::new(format!("network.delay-box[{place}]"), problem));
            }
        }
        let shape = self.checked_shape().map_err(|Unshaped { problems, shape }| {
            found.extend(problems);
            shape
        });
        (found, shape)
    }

    /// Links of a parking lot.
    pub fn hops(&self) -> u16 {
        self.hops.unwrap_or(USUAL_HOPS)
    }

    /// As a graph.
    ///
    /// # Errors
    /// The first key that is wrong.
    pub fn shape(&self) -> Result<Shape, KeyError> {
        self.checked_shape().map_err(|mut unshaped| unshaped.problems.swap_remove(0))
    }

    fn checked_shape(&self) -> Result<Shape, Unshaped> {
        let given = [
            ("network.links", !self.links.is_empty()),
            ("network.routes", !self.routes.is_empty()),
            ("network.ends", self.ends.is_some()),
            ("network.bottleneck.from", self.bottleneck.from.is_some()),
            ("network.bottleneck.to", self.bottleneck.to.is_some()),
        ];
        let of_graphs = given.into_iter().filter(|(_, given)| *given && self.topology != Topology::Graph);
        let mut problems: Vec<KeyError> =
            of_graphs.map(|(key, _)| KeyError::new(key, "is of networks with topology = \"graph\"")).collect();
        if self.topology != Topology::ParkingLot && self.hops.is_some() {
            problems.push(KeyError::new("network.hops", "is of networks with topology = \"parking-lot\""));
        }
        if !problems.is_empty() {
            return Err(Unshaped { problems, shape: None });
        }
        match self.topology {
            Topology::Dumbbell => Ok(Network::chain(&["left".to_owned(), "right".to_owned()])?),
            Topology::ParkingLot => {
                let hops = self.hops();
                if !(1..=MOST_HOPS).contains(&hops) {
                    let problem = format_args!("of {hops} must be between 1 and {MOST_HOPS}");
                    return Err(KeyError::new("network.hops", problem).into());
                }
                let nodes: Vec<String> = (0..=hops).map(|number| format!("n{number}")).collect();
                Ok(Network::chain(&nodes)?)
            }
            Topology::Graph => self.drawn(),
        }
    }

    /// Links one behind the other, the bottleneck first.
    fn chain(names: &[String]) -> Result<Shape, KeyError> {
        let key = "network.hops";
        let mut graph = Graph::default();
        let nodes: Vec<Node> = names.iter().map(|name| at(key, graph.add_node(name))).collect::<Result<_, _>>()?;
        for (number, pair) in (1..).zip(nodes.windows(2)) {
            let name = if number == 1 { BOTTLENECK.to_owned() } else { format!("hop-{number}") };
            at(key, both(&mut graph, &name, [pair[0], pair[1]]))?;
        }
        Ok(Shape { graph, ends: [nodes[0], nodes[nodes.len() - 1]] })
    }

    /// As written out.
    fn drawn(&self) -> Result<Shape, Unshaped> {
        let mut drawing = Drawing::default();
        let is_joined = drawing.bottleneck(&self.bottleneck);
        for (place, link) in self.links.iter().enumerate() {
            drawing.link(place, link);
        }
        let mut ends = None;
        // Without the bottleneck its nodes are missing.
        if is_joined {
            for (place, route) in self.routes.iter().enumerate() {
                drawing.route(place, route);
            }
            ends = drawing.ends(self.ends.as_ref());
        }
        let Drawing { graph, problems } = drawing;
        let shape = ends.map(|ends| Shape { graph, ends });
        match shape {
            Some(shape) if problems.is_empty() => match shape.check_ways() {
                Ok(()) => Ok(shape),
                Err(problem) => Err(Unshaped { problems: vec![problem], shape: Some(shape) }),
            },
            shape => Err(Unshaped { problems, shape }),
        }
    }
}

impl Shape {
    /// Checks that the workload crosses the bottleneck, and that every link hangs together with it.
    fn check_ways(&self) -> Result<(), KeyError> {
        let [left, right] = self.ends.map(|end| self.graph.name(end));
        let way = at("network.ends", self.workload_way())?;
        if let Some((link, node)) = self.apart() {
            let key = match link {
                Part::Link(place) => format!("network.links[{place}]"),
                Part::Alike(_) => BOTTLENECK_KEY.to_owned(),
            };
            return Err(KeyError::saying(key, format_args!("no link joins {node} to the rest of the network")));
        }
        for (side, links, from, to) in
            [(LinkSide::Left, &way.there, left, right), (LinkSide::Right, &way.back, right, left)]
        {
            let monitored = LinkNumber::bottleneck(side);
            let crossed = links.iter().copied().filter(|link| link.is_bottleneck()).collect::<Vec<_>>();
            if crossed != [monitored] {
                let name = self.graph.links()[monitored.index()].name.as_str();
                let crossed =
                    links.iter().map(|link| self.graph.links()[link.index()].name.as_str()).collect::<Vec<_>>();
                let bottleneck = &self.graph.links()[monitored.index()];
                let [left, right] = [bottleneck.from, bottleneck.to].map(|node| self.graph.name(node));
                let problem = format!(
                    "the way from {from} to {to} is {}: it must cross {name}, which joins {left} to {right} and is what \
                     the results are about",
                    crossed.join(", "),
                );
                return Err(KeyError::saying("network.ends", problem));
            }
        }
        Ok(())
    }
}

impl Link {
    /// What packets wait in, in words.
    pub fn buffer(&self) -> String {
        buffer(&self.queue, self.cells.as_ref())
    }
}

/// What no type can refuse of the cells of a link; keys are relative to its table.
fn cell_problems(cells: Option<&Cells>, queue: &Queue) -> Vec<KeyError> {
    let Some(cells) = cells else { return Vec::new() };
    let mut found: Vec<KeyError> = cells.problems().into_iter().map(|error| error.within("cells")).collect();
    if queue.resolved() != Queue::default().resolved() {
        let problem = "is of links without cells, which have a buffer of their own: leave out queue, or give cells.buffer and cells.discard";
        found.push(KeyError::new("queue", problem));
    }
    found
}

/// What no type can refuse of a link; keys are relative to its table.
pub fn link_problems(rate: &Quantity<RateChoice>, delay: &Quantity<Duration>, queue: &Queue) -> Vec<KeyError> {
    let mut found = Vec::new();
    let mut of_queue = queue.problems();
    if let RateChoice::Fixed(bits) = rate.value {
        match bits.impossible() {
            Some(problem) => found.push(KeyError::new("rate", format_args!("of {rate} is {problem}"))),
            None if of_queue.is_empty() => of_queue.extend(queue.discipline_at(bits).err()),
            None => {}
        }
    }
    found.extend(of_queue.into_iter().map(|error| error.within("queue")));
    if delay.value > Config::MAX_DELAY {
        let problem = format_args!("of {delay} is too long (at most {})", Config::MAX_DELAY);
        found.push(KeyError::new("delay", problem));
    }
    found
}
