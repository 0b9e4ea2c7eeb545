//! Who does what of a block: leaves at the agents of their addresses, and control blocks with an address of their own at the agent
//! there, which makes a plan of its own of what is below.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::error::ControlError;
use crate::authority::identity::Name;
use crate::leaves::announced;
use crate::rpc::{DelegatedBlock, Delegation, Protocol};
use crate::script::address::{Address, CONTROL_PORT};
use crate::script::format;
use crate::script::leaf::{Endpoint, Leaf, Replay, TEST, Tool};
use crate::script::tree::Block;

/// The agents of a lab, as its list has them: where each is.
pub type Hosts = BTreeMap<Name, String>;

/// Where an agent is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// What it is expected to be called, where that is known.
    pub name: Option<Name>,
    /// Host and port.
    pub address: String,
}

/// Where the agent of an address in a script is: the lab's list has hosts by name or by `host`; others are asked themselves, at the
/// port of agents.
pub fn place(address: &Address, hosts: &Hosts) -> Place {
    let host = address.host.to_string();
    let by_name = hosts.iter().find(|(name, _)| name.as_str() == host);
    let by_host =
        || hosts.iter().find(|(_, place)| place.rsplit_once(':').map(|(host, _)| host) == Some(host.as_str()));
    match by_name.or_else(by_host) {
        Some((name, place)) => Place { name: Some(name.clone()), address: place.clone() },
        None => Place { name: None, address: format!("{host}:{CONTROL_PORT}") },
    }
}

/// A block of the script at an agent.
#[derive(Clone)]
pub(super) struct Placed<'a> {
    pub block: &'a Block,
    /// Its numbers on the way from the outermost block: `1.2`.
    pub path: String,
    pub place: Place,
}

/// What whoever is at work on a block leaves to agents.
#[derive(Default)]
pub(super) struct Plan<'a> {
    /// Leaves.
    pub leaves: Vec<Placed<'a>>,
    /// Control blocks with an address of their own.
    pub blocks: Vec<Placed<'a>>,
    /// Leaves that have no place.
    pub problems: Vec<ControlError>,
}

impl<'a> Plan<'a> {
    /// Of `block`, which is called `path` and is done at `own`, or where the script was started.
    pub fn of(block: &'a Block, path: &str, own: Option<&Place>, hosts: &Hosts) -> Plan<'a> {
        let mut plan = Plan::default();
        if block.control().is_some() {
            plan.children(block, path, own, hosts);
        } else {
            plan.leaf(block, path, own, hosts);
        }
        plan
    }

    fn children(&mut self, block: &'a Block, path: &str, own: Option<&Place>, hosts: &Hosts) {
        for (number, child) in (1..).zip(block.body.blocks()) {
            let path = format!("{path}.{number}");
            if child.control().is_none() {
                self.leaf(child, &path, own, hosts);
                continue;
            }
            let elsewhere = address(child).map(|address| place(&address, hosts)).filter(|place| Some(place) != own);
            match elsewhere {
                Some(place) => self.blocks.push(Placed { block: child, path, place }),
                None => self.children(child, &path, own, hosts),
            }
        }
    }

    fn leaf(&mut self, block: &'a Block, path: &str, own: Option<&Place>, hosts: &Hosts) {
        let path = path.to_owned();
        // A leaf that has no address is where its own end is, or else where the block around it is.
        let own_end = || ends(block).map(|ends| Address { host: ends.own.host, port: None });
        match address(block).or_else(own_end).map(|address| place(&address, hosts)).or_else(|| own.cloned()) {
            Some(place) => self.leaves.push(Placed { block, path, place }),
            None => self.problems.push(ControlError::NoAddress { keyword: block.keyword.clone(), path }),
        }
    }
}

fn address(block: &Block) -> Option<Address> {
    block.address.as_ref()?.text.parse().ok()
}

/// The two ends of a leaf that sends or receives.
pub(super) struct Ends {
    pub own: Endpoint,
    pub peer: Endpoint,
    pub protocol: Protocol,
    /// What it sends at most, if it sends.
    pub sends_bit_s: Option<u64>,
    /// Whether it receives what others send to its own end.
    pub receives: bool,
}

/// Of a leaf that is known to have them.
pub(super) fn ends(block: &Block) -> Option<Ends> {
    if block.keyword == TEST {
        let leaf = Leaf::read(block).0?;
        let sends_bit_s = leaf.sends().then(|| announced::rate_bit_s(&leaf));
        let protocol = announced::protocol(&leaf);
        return Some(Ends { own: leaf.own, peer: leaf.peer, protocol, sends_bit_s, receives: sends_bit_s.is_none() });
    }
    let Some((Some(Tool::Replay(replay)), _)) = Tool::read(block) else { return None };
    let Replay { own, peer, rate, .. } = *replay;
    let sends_bit_s = Some(rate.bits_per_second().unwrap_or(u64::MAX));
    Some(Ends { own, peer, protocol: Protocol::Udp, sends_bit_s, receives: true })
}

/// The plans of a whole script, those of agents that command others included.
#[derive(Default)]
pub(super) struct Survey<'a> {
    /// All leaves.
    pub leaves: Vec<Placed<'a>>,
    /// What agents are to be allowed, yet without an end.
    pub delegations: Vec<Delegation>,
    /// What cannot be done.
    pub problems: Vec<ControlError>,
}

impl<'a> Survey<'a> {
    pub fn of(script: &'a Block, experiment: &str, hosts: &Hosts) -> Survey<'a> {
        let mut survey = Survey::default();
        let top = Plan::of(script, "1", None, hosts);
        let mut blocks = survey.take(top);
        while let Some(Placed { block, path, place }) = blocks.pop() {
            let plan = Plan::of(block, &path, Some(&place), hosts);
            let who = format!("{} {path}", block.keyword);
            survey.delegate(experiment, &who, &path, &place, &plan);
            blocks.extend(survey.take(plan));
        }
        survey
    }

    fn take(&mut self, plan: Plan<'a>) -> Vec<Placed<'a>> {
        self.leaves.extend(plan.leaves);
        self.problems.extend(plan.problems);
        plan.blocks
    }

    /// Lets the agent at `own` command those of `plan`.
    fn delegate(&mut self, experiment: &str, who: &str, above: &str, own: &Place, plan: &Plan<'_>) {
        let mut name = |place: &Place| {
            if place.name.is_none() {
                let address = place.address.clone();
                self.problems.push(ControlError::NoName { block: who.to_owned(), address });
            }
            place.name.clone()
        };
        let Some(parent) = name(own) else { return };
        let mut by_child: BTreeMap<Name, Vec<DelegatedBlock>> = BTreeMap::new();
        for Placed { block, path, place } in plan.leaves.iter().chain(&plan.blocks) {
            let Some(child) = name(place) else { continue };
            let sha256 = Sha256::digest(format::block(block)).to_vec();
            by_child.entry(child).or_default().push(DelegatedBlock { block: path.clone(), sha256 });
        }
        self.delegations.extend(by_child.into_iter().map(|(child, blocks)| Delegation {
            experiment: experiment.to_owned(),
            parent: parent.to_string(),
            above: above.to_owned(),
            child: child.to_string(),
            blocks,
            until_unix_s: 0,
        }));
    }
}

/// Whether the block `path` is within the block `above`.
pub(super) fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::parser;
    use crate::script::place::Files;

    fn surveyed(text: &str, hosts: &[&str]) -> (Vec<String>, Vec<String>, Vec<String>) {
        let mut files = Files::new();
        let file = files.add("script", text, None);
        let block = parser::block(&files, file).unwrap();
        let hosts = hosts.iter().map(|name| (name.parse().unwrap(), format!("{name}.example:1"))).collect();
        let survey = Survey::of(&block, "e", &hosts);
        let mut leaves: Vec<String> =
            survey.leaves.iter().map(|leaf| format!("{} at {}", leaf.path, leaf.place.address)).collect();
        leaves.sort();
        let delegated = |one: &Delegation| {
            let blocks: Vec<&str> = one.blocks.iter().map(|block| block.block.as_str()).collect();
            format!("{} {} -> {}: {}", one.parent, one.above, one.child, blocks.join(" "))
        };
        let problems = survey.problems.iter().map(ControlError::to_string).collect();
        (leaves, survey.delegations.iter().map(delegated).collect(), problems)
    }

    #[test]
    fn blocks_with_an_address_are_left_to_the_agent_there() {
        let text = "cluster z {
            sleep a { }
            parallel { sleep b { } serial a { sleep { } parallel a { sleep b { } } cluster b { sleep c { } sleep { } } } }
        }";
        let (leaves, delegated, problems) = surveyed(text, &["a", "b", "c"]);
        assert_eq!(problems, [""; 0]);
        let at = |agent| format!("at {agent}.example:1");
        assert_eq!(
            leaves,
            [
                ("1.1", "a"),
                ("1.2.1", "b"),
                ("1.2.2.1", "a"),
                ("1.2.2.2.1", "b"),
                ("1.2.2.3.1", "c"),
                ("1.2.2.3.2", "b")
            ]
            .map(|(path, agent)| format!("{path} {}", at(agent)))
        );
        assert_eq!(
            delegated,
            [
                "a 1.2.2 -> a: 1.2.2.1",
                "a 1.2.2 -> b: 1.2.2.2.1 1.2.2.3",
                "b 1.2.2.3 -> b: 1.2.2.3.2",
                "b 1.2.2.3 -> c: 1.2.2.3.1"
            ]
        );
    }

    #[test]
    fn who_commands_and_is_commanded_by_agents_has_to_be_known_by_name() {
        let (_, _, problems) = surveyed("parallel { cluster a { sleep b { } } sleep b { } }", &["a"]);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("cluster 1.1 is done by an agent, and b:42010 is not in the list"));
        let (_, _, problems) = surveyed("parallel { cluster c { sleep a { } } }", &["a"]);
        assert!(problems[0].contains("c:42010"), "{problems:?}");
        let (_, _, problems) = surveyed("parallel { sleep { } }", &[]);
        assert_eq!(problems, ["sleep 1.1 has no address: write sleep HOST { ... }"]);
    }

    #[test]
    fn paths_within_paths() {
        assert!(is_within("1.2.3", "1.2") && is_within("1.2", "1"));
        assert!(!is_within("1.23", "1.2") && !is_within("1.2", "1.2") && !is_within("2", "1"));
    }
}
