//! Checks of the whole file: missing nodes, nodes that are linked twice, too many looks, no route.

use std::collections::{BTreeMap, BTreeSet};

use super::position::Position;
use super::problem::Problem;
use super::reader::{Block, Reader, Reading};
use super::{Placed, Router};

/// Most looks at a router's queues: each is kept.
const MOST_LOOKS: f64 = 1e8;

impl Reader<'_> {
    /// Checks the whole file, and returns its sound parts.
    pub fn finish(mut self) -> Reading {
        self.check_links();
        self.check_routes();
        self.check_looks();
        self.reading()
    }

    /// Returns whether `node` exists. A missing one is a problem, unless it may be a node whose number could not be read.
    fn check_node(&mut self, node: Placed<u64>, key: &str) -> bool {
        let is_there = self.nodes.contains_key(&node.value);
        if !is_there && !self.lost_nodes {
            let problem = format!("{key}: there is no node {}", node.value);
            self.problems.push(Problem::new(node.at, problem).about(key));
        }
        is_there
    }

    /// Checks that links join two different nodes that exist, and each two nodes once.
    fn check_links(&mut self) {
        let mut linked = BTreeMap::new();
        let mut links = std::mem::take(&mut self.links);
        for Block { value: link, is_sound } in &mut links {
            let before = self.problems.count();
            let [a, b] = link.ends;
            let are_there = [a, b].map(|end| self.check_node(end, "link.connects"));
            let nodes = (a.value.min(b.value), a.value.max(b.value));
            let problem = if a.value == b.value {
                Some(format!("link.connects joins node {} with itself", a.value))
            } else {
                let first = linked.insert(nodes, link.at.line);
                first.map(|first| {
                    format!("link.connects: nodes {} and {} are linked already, at line {first}", a.value, b.value)
                })
            };
            if let Some(problem) = problem {
                self.problems.push(Problem::new(b.at, problem).about("link.connects"));
            }
            *is_sound &= self.problems.count() == before && are_there == [true; 2];
        }
        self.links = links;
    }

    /// Checks that the nodes of routes exist, and that there is at least one route.
    fn check_routes(&mut self) {
        let mut routes = std::mem::take(&mut self.routes);
        for Block { value: route, is_sound } in &mut routes {
            for node in &route.nodes {
                *is_sound &= self.check_node(*node, "route");
            }
        }
        if routes.is_empty() && !self.lost_routes {
            self.problems.push(Problem::new(None, "the file has no route block: nothing would be sent").about("route"));
        }
        self.routes = routes;
    }

    /// Checks the number of looks at queues. An interval that several routers inherit is one problem, at the place where it was read.
    fn check_looks(&mut self) {
        let end = self.found.timer.end;
        let too_short = |router: &Router| end / router.meter_time > MOST_LOOKS;
        let mut blamed = BTreeSet::new();
        for Block { value: (router, meter_at), is_sound } in &mut self.routers {
            if !too_short(router) {
                continue;
            }
            *is_sound = false;
            let at: Position = meter_at.or(self.end_at).unwrap_or(router.at);
            if blamed.insert(at) {
                let problem = format!(
                    "router.meter_time of {} s makes more than {MOST_LOOKS:e} looks until timer.end, {end} s",
                    router.meter_time
                );
                let problem = Problem::new(at, problem).about("router.meter_time");
                self.problems.push(problem.hint("take a longer one, or end earlier"));
            }
        }
    }

    /// The sound blocks; of links and routes only the ones between sound nodes.
    fn reading(self) -> Reading {
        let mut sound_nodes = BTreeSet::new();
        let mut specification = self.found;
        let sound = |block: &Block<(Router, Option<Position>)>| block.is_sound;
        specification.routers = self.routers.into_iter().filter(sound).map(|block| block.value.0).collect();
        specification.switches = sound_of(self.switches);
        specification.hosts = sound_of(self.hosts);
        sound_nodes.extend(specification.routers.iter().map(|router| router.id.value));
        sound_nodes.extend(specification.switches.iter().map(|switch| switch.id.value));
        sound_nodes.extend(specification.hosts.iter().map(|host| host.id.value));
        let are_sound = |nodes: &[Placed<u64>]| nodes.iter().all(|node| sound_nodes.contains(&node.value));
        let lacks_links = self.lost_links || self.links.iter().any(|link| !link.is_sound);
        specification.links = sound_of(self.links);
        specification.links.retain(|link| are_sound(&link.ends));
        specification.routes = sound_of(self.routes);
        specification.routes.retain(|route| are_sound(&route.nodes));
        Reading { specification, problems: self.problems, lacks_links }
    }
}

fn sound_of<T>(blocks: Vec<Block<T>>) -> Vec<T> {
    blocks.into_iter().filter(|block| block.is_sound).map(|block| block.value).collect()
}
