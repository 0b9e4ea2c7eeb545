//! Nodes, the links between them, and which links packets cross on the way from one node to another.

use std::collections::VecDeque;

/// A node, by its place among the nodes of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Node(u16);

/// A link in one direction, by its place among the links of a topology.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkId(u16);

impl LinkId {
    /// Its place.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The links that packets cross, in this order.
pub type Route = Box<[LinkId]>;

/// A graph of nodes and links. Links have one direction; what joins two nodes both ways is two of them.
///
/// `L` is what a link is made of: its rate, delay and queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Topology<L> {
    nodes: Vec<String>,
    links: Vec<Joined<L>>,
    /// Ways that were written out, which come before those that are found.
    fixed: Vec<(Node, Node, Route)>,
}

/// A link and what it joins.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined<L> {
    /// Its name in results, unique.
    pub name: String,
    /// Where packets come from.
    pub from: Node,
    /// Where they go.
    pub to: Node,
    /// What it is made of.
    pub link: L,
}

/// Why a topology makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopologyError {
    /// More than can be told apart.
    #[error("more than {} {what}", u16::MAX)]
    TooMany {
        /// Nodes or links.
        what: &'static str,
    },
    /// Two things have one name.
    #[error("there are two {what} named {name}")]
    Twice {
        /// Nodes or links.
        what: &'static str,
        /// Their name.
        name: String,
    },
    /// No node has that name.
    #[error("there is no node {name} ({})", known(.nodes))]
    NoNode {
        /// The name.
        name: String,
        /// Those that there are.
        nodes: Vec<String>,
    },
    /// A link from a node to itself.
    #[error("link {name} joins {node} with itself")]
    Itself {
        /// The link.
        name: String,
        /// The node.
        node: String,
    },
    /// No links lead there.
    #[error("no way leads from {from} to {to}")]
    Unreachable {
        /// Where packets would come from.
        from: String,
        /// Where they would go.
        to: String,
    },
    /// A way that was written out takes a link that is not there.
    #[error("the route from {from} to {to} goes from {at} to {next}, and no link joins these two in that direction")]
    NoLink {
        /// Where the route begins.
        from: String,
        /// Where it ends.
        to: String,
        /// Where the link would begin.
        at: String,
        /// Where it would end.
        next: String,
    },
    /// A way was written out twice.
    #[error("there are two routes from {from} to {to}")]
    RouteTwice {
        /// Where they begin.
        from: String,
        /// Where they end.
        to: String,
    },
    /// A way that was written out comes to a node twice.
    #[error("the route from {from} to {to} comes to {node} twice")]
    Loop {
        /// Where the route begins.
        from: String,
        /// Where it ends.
        to: String,
        /// The node.
        node: String,
    },
}

fn known(nodes: &[String]) -> String {
    if nodes.is_empty() { "there are none".to_owned() } else { format!("known: {}", nodes.join(", ")) }
}

impl<L> Default for Topology<L> {
    fn default() -> Topology<L> {
        Topology { nodes: Vec::new(), links: Vec::new(), fixed: Vec::new() }
    }
}

impl<L> Topology<L> {
    /// Adds a node.
    ///
    /// # Errors
    /// There is one of that name, or there are 65,535 already.
    pub fn add_node(&mut self, name: &str) -> Result<Node, TopologyError> {
        if self.nodes.iter().any(|node| node == name) {
            return Err(TopologyError::Twice { what: "nodes", name: name.to_owned() });
        }
        let node = u16::try_from(self.nodes.len()).ok().filter(|node| *node < u16::MAX);
        let node = node.ok_or(TopologyError::TooMany { what: "nodes" })?;
        self.nodes.push(name.to_owned());
        Ok(Node(node))
    }

    /// The node named so.
    ///
    /// # Errors
    /// There is none.
    pub fn node(&self, name: &str) -> Result<Node, TopologyError> {
        let found = self.nodes.iter().position(|node| node == name);
        let missing = || TopologyError::NoNode { name: name.to_owned(), nodes: self.nodes.clone() };
        found.map(|at| Node(at as u16)).ok_or_else(missing)
    }

    /// Adds a link from one node to another.
    ///
    /// # Errors
    /// There is one of that name, both nodes are the same, or there are 65,535 already.
    pub fn add_link(&mut self, name: &str, from: Node, to: Node, link: L) -> Result<LinkId, TopologyError> {
        if self.links.iter().any(|link| link.name == name) {
            return Err(TopologyError::Twice { what: "links", name: name.to_owned() });
        }
        if from == to {
            return Err(TopologyError::Itself { name: name.to_owned(), node: self.name(from).to_owned() });
        }
        let id = u16::try_from(self.links.len()).ok().filter(|id| *id < u16::MAX);
        let id = id.ok_or(TopologyError::TooMany { what: "links" })?;
        self.links.push(Joined { name: name.to_owned(), from, to, link });
        Ok(LinkId(id))
    }

    /// Writes out the way from one node to another, by the nodes in between.
    ///
    /// # Errors
    /// It takes a link that is not there or comes to a node twice, or the way was written out before.
    pub fn fix_route(&mut self, from: Node, via: &[Node], to: Node) -> Result<(), TopologyError> {
        let stops: Vec<Node> = [from].into_iter().chain(via.iter().copied()).chain([to]).collect();
        let ends = || (self.name(from).to_owned(), self.name(to).to_owned());
        for (at, stop) in stops.iter().enumerate() {
            if stops[..at].contains(stop) {
                let (from, to) = ends();
                return Err(TopologyError::Loop { from, to, node: self.name(*stop).to_owned() });
            }
        }
        let mut route = Vec::with_capacity(stops.len() - 1);
        for pair in stops.windows(2) {
            let found = self.links.iter().position(|link| link.from == pair[0] && link.to == pair[1]);
            let missing = || {
                let (from, to) = ends();
                let (at, next) = (self.name(pair[0]).to_owned(), self.name(pair[1]).to_owned());
                TopologyError::NoLink { from, to, at, next }
            };
            route.push(LinkId(found.ok_or_else(missing)? as u16));
        }
        if self.fixed.iter().any(|(begin, end, _)| (*begin, *end) == (from, to)) {
            let (from, to) = ends();
            return Err(TopologyError::RouteTwice { from, to });
        }
        self.fixed.push((from, to, route.into()));
        Ok(())
    }

    /// The way from one node to another: as it was written out, or else over the fewest links; of several such, over the
    /// links that were added first.
    ///
    /// # Errors
    /// No links lead there. From a node to itself none are needed.
    pub fn route(&self, from: Node, to: Node) -> Result<Route, TopologyError> {
        if let Some((_, _, route)) = self.fixed.iter().find(|(begin, end, _)| (*begin, *end) == (from, to)) {
            return Ok(route.clone());
        }
        // The link over which each node was reached first.
        let mut by: Vec<Option<LinkId>> = vec![None; self.nodes.len()];
        let mut reached = VecDeque::from([from]);
        while let Some(node) = reached.pop_front() {
            if node == to {
                break;
            }
            for (link, id) in self.links.iter().zip(0..) {
                if link.from == node && link.to != from && by[usize::from(link.to.0)].is_none() {
                    by[usize::from(link.to.0)] = Some(LinkId(id));
                    reached.push_back(link.to);
                }
            }
        }
        let (mut route, mut at) = (Vec::new(), to);
        while at != from {
            let unreachable =
                || TopologyError::Unreachable { from: self.name(from).to_owned(), to: self.name(to).to_owned() };
            let id = by[usize::from(at.0)].ok_or_else(unreachable)?;
            route.push(id);
            at = self.links[id.index()].from;
        }
        route.reverse();
        Ok(route.into())
    }

    /// The name of a node.
    pub fn name(&self, node: Node) -> &str {
        &self.nodes[usize::from(node.0)]
    }

    /// All nodes, in the order in which they were added.
    pub fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// All links, in the order in which they were added; [`LinkId::index`] is the place here.
    pub fn links(&self) -> &[Joined<L>] {
        &self.links
    }

    /// The link named so.
    pub fn link(&self, name: &str) -> Option<LinkId> {
        self.links.iter().position(|link| link.name == name).map(|at| LinkId(at as u16))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Links `a-b` for every pair of names given.
    fn graph(links: &[(&str, &str)]) -> Topology<()> {
        let mut graph = Topology::default();
        for (from, to) in links {
            let [from_node, to_node] =
                [from, to].map(|name| graph.node(name).or_else(|_| graph.add_node(name)).unwrap());
            graph.add_link(&format!("{from}-{to}"), from_node, to_node, ()).unwrap();
        }
        graph
    }

    fn way(graph: &Topology<()>, from: &str, to: &str) -> Result<String, TopologyError> {
        let route = graph.route(graph.node(from)?, graph.node(to)?)?;
        Ok(route.iter().map(|link| graph.links()[link.index()].name.as_str()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn the_fewest_links_lead_there_and_of_equal_ways_the_one_written_first() {
        let graph =
            graph(&[("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("d", "e"), ("a", "x"), ("x", "y"), ("y", "d")]);
        assert_eq!(way(&graph, "a", "d").unwrap(), "a-b b-d");
        assert_eq!(way(&graph, "a", "e").unwrap(), "a-b b-d d-e");
        assert_eq!(way(&graph, "c", "e").unwrap(), "c-d d-e");
        assert_eq!(way(&graph, "a", "a").unwrap(), "");
    }

    #[test]
    fn a_way_that_was_written_out_is_taken() {
        let mut graph = graph(&[("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("d", "a")]);
        let [a, c, d] = ["a", "c", "d"].map(|name| graph.node(name).unwrap());
        graph.fix_route(a, &[c], d).unwrap();
        assert_eq!(way(&graph, "a", "d").unwrap(), "a-c c-d");
        assert_eq!(way(&graph, "a", "b").unwrap(), "a-b", "others are as they were");
        let error = graph.fix_route(a, &[d], c).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the route from a to c goes from a to d, and no link joins these two in that direction"
        );
        let error = graph.fix_route(a, &[c, d, a], d).unwrap_err();
        assert_eq!(error.to_string(), "the route from a to d comes to a twice");
        let b = graph.node("b").unwrap();
        let error = graph.fix_route(a, &[b], d).unwrap_err();
        assert_eq!(error.to_string(), "there are two routes from a to d");
        assert_eq!(way(&graph, "a", "d").unwrap(), "a-c c-d");
    }

    #[test]
    fn what_cannot_be_is_named() {
        let mut graph = graph(&[("a", "b"), ("c", "d")]);
        assert_eq!(way(&graph, "a", "d").unwrap_err().to_string(), "no way leads from a to d");
        assert_eq!(way(&graph, "b", "a").unwrap_err().to_string(), "no way leads from b to a");
        assert_eq!(way(&graph, "a", "z").unwrap_err().to_string(), "there is no node z (known: a, b, c, d)");
        let [a, b] = ["a", "b"].map(|name| graph.node(name).unwrap());
        assert_eq!(graph.add_node("a").unwrap_err().to_string(), "there are two nodes named a");
        assert_eq!(graph.add_link("a-b", b, a, ()).unwrap_err().to_string(), "there are two links named a-b");
        assert_eq!(graph.add_link("l", b, b, ()).unwrap_err().to_string(), "link l joins b with itself");
    }
}
