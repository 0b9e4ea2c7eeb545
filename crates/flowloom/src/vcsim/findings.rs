//! Values of a specification that do nothing, and an instant of regeneration that its runs did not reach.

use std::fmt;

use flowloom_store::vcsim::{Buffer, Router, Specification};

/// What a user should know of a specification or its runs.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SpecificationFinding {
    /// Routers have a window and no flow control that uses it.
    UnusedWindow(Nodes),
    /// Routers have flow control, or a most for windows, and no window.
    MissingWindow(Nodes),
    /// Buffers are smaller than the threshold from which on they discard early.
    ThresholdAboveBuffer(Nodes),
    /// Infinite buffers are to discard the rest of packets that lost a cell.
    DiscardWithoutLoss(Nodes),
    /// Runs ended without an instant of regeneration.
    NotRegenerated {
        /// From when on one was looked for, in seconds.
        from: f64,
        /// When runs end at the latest, in seconds.
        end: f64,
        /// How many runs ended without one.
        runs: usize,
        /// How many runs there were.
        of: usize,
    },
}

/// Nodes of a specification: one at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// `router` or `switch`, and the number.
    pub names: Vec<(&'static str, u64)>,
    /// The line in which the first of them begins.
    pub line: u32,
}

impl Nodes {
    fn of(nodes: impl Iterator<Item = Node>) -> Option<Nodes> {
        let (names, lines): (Vec<_>, Vec<_>) = nodes.map(|node| (node.name, node.line)).unzip();
        lines.first().map(|&line| Nodes { names, line })
    }
}

/// "router 1, switch 3 (line 4)".
impl fmt::Display for Nodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.names.iter().map(|(kind, id)| format!("{kind} {id}")).collect();
        let first = if names.len() > 1 { "the first in " } else { "" };
        write!(f, "{} ({first}line {})", names.join(", "), self.line)
    }
}

/// Name and first line of a node.
struct Node {
    name: (&'static str, u64),
    line: u32,
}

impl SpecificationFinding {
    /// What is to be known of a specification before it is run.
    pub(super) fn of(specification: &Specification) -> Vec<SpecificationFinding> {
        let routers = |is: fn(&Router) -> bool| {
            let found = specification.routers.iter().filter(|router| is(router));
            Nodes::of(found.map(|router| Node { name: ("router", router.id.value), line: router.at.line }))
        };
        let buffers = |is: fn(&Buffer) -> bool| {
            let routers = specification.routers.iter().map(|one| ("router", one.id, one.at, &one.buffer));
            let switches = specification.switches.iter().map(|one| ("switch", one.id, one.at, &one.buffer));
            let found = routers.chain(switches).filter(|(.., buffer)| is(buffer));
            Nodes::of(found.map(|(kind, id, at, _)| Node { name: (kind, id.value), line: at.line }))
        };
        let found = [
            routers(Router::has_unused_window).map(SpecificationFinding::UnusedWindow),
            routers(Router::lacks_window).map(SpecificationFinding::MissingWindow),
            buffers(Buffer::is_below_threshold).map(SpecificationFinding::ThresholdAboveBuffer),
            buffers(Buffer::discards_without_loss).map(SpecificationFinding::DiscardWithoutLoss),
        ];
        found.into_iter().flatten().collect()
    }

    pub(crate) fn kind(&self) -> &'static str {
        match self {
            SpecificationFinding::UnusedWindow(_) | SpecificationFinding::MissingWindow(_) => "circuit_window",
            SpecificationFinding::ThresholdAboveBuffer(_) | SpecificationFinding::DiscardWithoutLoss(_) => "discard",
            SpecificationFinding::NotRegenerated { .. } => "not_regenerated",
        }
    }

    pub(crate) fn cause(&self) -> String {
        match self {
            SpecificationFinding::UnusedWindow(nodes) => {
                format!("default_window and maximum_window have no effect without flow control, which is none: {nodes}")
            }
            SpecificationFinding::MissingWindow(nodes) => {
                format!("circuits have no limit, because flow control or maximum_window has no default_window: {nodes}")
            }
            SpecificationFinding::ThresholdAboveBuffer(nodes) => {
                format!("no packet is discarded early, because discard_threshold is above buffer_size: {nodes}")
            }
            SpecificationFinding::DiscardWithoutLoss(nodes) => {
                format!("discard partial has no effect on an infinite buffer, which loses no cell: {nodes}")
            }
            SpecificationFinding::NotRegenerated { from, end, runs, of } => {
                let runs = if *of == 1 { String::new() } else { format!("{runs} of {of} runs: ") };
                let why = if from >= end {
                    "they are looked for after timer.end"
                } else {
                    "packets were always waiting, on a link or unacknowledged"
                };
                format!("{runs}no instant of regeneration from {from} s to the end at {end} s: {why}")
            }
        }
    }

    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            SpecificationFinding::UnusedWindow(_) => "set flow_control fixed_window, or leave the windows out",
            SpecificationFinding::MissingWindow(_) => {
                "set default_window to the cells that a circuit may have under way"
            }
            SpecificationFinding::ThresholdAboveBuffer(_) => "set discard_threshold below buffer_size",
            SpecificationFinding::DiscardWithoutLoss(_) => "set buffer_policy statistical and buffer_size",
            SpecificationFinding::NotRegenerated { from, end, .. } if from >= end => {
                "set timer.regeneration before timer.end"
            }
            SpecificationFinding::NotRegenerated { .. } => {
                "raise timer.end or lower the load, if results must begin and end with an empty network"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flowloom_store::vcsim::read;

    use super::*;

    /// What is found of two routers and a switch with these values.
    fn found(routers: [&str; 2], switch: &str) -> Vec<SpecificationFinding> {
        let [first, second] = routers;
        let text = format!(
            "router router_id 1 {first} router_end\nrouter router_id 2 {second} router_end\nswitch switch_id 3 {switch} switch_end\n\
             host host_id 10 host_end host host_id 11 function sink host_end link connects 10 1 link_end\n\
             link connects 1 3 link_end link connects 3 2 link_end link connects 2 11 link_end route 10 1 3 2 11 route_end"
        );
        SpecificationFinding::of(&read(&text).whole().expect(&text))
    }

    fn causes(routers: [&str; 2], switch: &str) -> Vec<String> {
        found(routers, switch).iter().map(SpecificationFinding::cause).collect()
    }

    #[test]
    fn windows_without_effect_are_found() {
        for silent in ["", "default_window 64", "flow_control 1 vc_window 64 maximum_window 32", "flow_control none"] {
            assert_eq!(found([silent, ""], ""), [], "{silent}");
        }
        // The second router inherits the values of the first.
        let all = "(the first in line 1)";
        for values in ["flow_control none default_window 64", "flow_control 0 maximum_window 64"] {
            let [cause] = &causes([values, ""], "")[..] else { panic!("{values}") };
            assert!(cause.ends_with(&format!("which is none: router 1, router 2 {all}")), "{cause}");
        }
        for values in ["flow_control fixed_window", "maximum_window 64", "flow_control 1 default_window 0"] {
            let [cause] = &causes([values, "flow_control 0 default_window 0 maximum_window 0"], "")[..] else {
                panic!("{values}")
            };
            assert!(cause.ends_with("no default_window: router 1 (line 1)"), "{cause}");
        }
    }

    #[test]
    fn discards_without_effect_are_found() {
        let early = "buffer_policy statistical buffer_size 100 discard early";
        for silent in ["discard early", "buffer_policy statistical discard partial"] {
            assert_eq!(found(["", ""], silent), [], "{silent}");
        }
        assert_eq!(found(["", ""], &format!("{early} discard_threshold 100")), []);
        // The default threshold is 500 cells.
        let [cause] = &causes(["", early], early)[..] else { panic!() };
        assert!(cause.ends_with("above buffer_size: router 2, switch 3 (the first in line 2)"), "{cause}");
        let [cause] = &causes(["", ""], "discard partial")[..] else { panic!() };
        assert!(cause.ends_with("loses no cell: switch 3 (line 3)"), "{cause}");
    }

    #[test]
    fn an_end_without_regeneration_says_why() {
        let cause = |from, runs, of| SpecificationFinding::NotRegenerated { from, end: 20.0, runs, of }.cause();
        assert_eq!(
            cause(5.0, 1, 1),
            "no instant of regeneration from 5 s to the end at 20 s: packets were always waiting, on a link or unacknowledged"
        );
        assert!(cause(30.0, 2, 3).starts_with("2 of 3 runs: no instant"));
        assert!(cause(30.0, 2, 3).ends_with("they are looked for after timer.end"));
    }
}
