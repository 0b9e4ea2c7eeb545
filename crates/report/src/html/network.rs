//! The simulated network: a picture of nodes and links, and what became of packets at each link.

use std::collections::VecDeque;

use flowloom_core::units::{Rate, three_digits};
use maud::{Markup, html};

use super::elements::{heads, scrolled, value};
use super::shown::Shown;
use crate::facts::{CellFacts, LinkFacts, Topology};
use crate::words::thousands;

/// Between layers of nodes, and between nodes of a layer, in pixels.
const STEP: i64 = 220;
const ROW: i64 = 170;
/// Around the nodes: room for names and labels.
const MARGIN: [i64; 2] = [80, 64];
/// Between the middles of wires that join the same nodes.
const APART: i64 = 88;
const LINE: i64 = 14;
/// Networks with more wires than this get no labels, with more nodes no picture: the table tells the same.
const MOST_LABELS: usize = 60;
const MOST_NODES: usize = 200;

/// A link, and the one back that is drawn with it.
struct Wire<'a> {
    link: &'a LinkFacts,
    two_way: bool,
    /// Places of its nodes.
    ends: [usize; 2],
}

/// The section: each network once, and the links of every run. Empty if no run has a network.
pub(super) fn section(shown: &Shown<'_>) -> Markup {
    let mut with: Vec<(usize, &Topology)> = shown
        .firsts()
        .enumerate()
        .filter_map(|(index, (_, run))| Some((index, run.facts.topology.as_ref()?)))
        .collect();
    with.retain(|(_, topology)| !topology.links.is_empty());
    let is_new = |place: usize| !with[..place].iter().any(|(_, one)| same_network(one, with[place].1));
    html! {
        @if !with.is_empty() {
            section id="network" {
                h2 { "Network" }
                @for (place, (index, topology)) in with.iter().enumerate() {
                    (shown.heading_of_first(*index))
                    @if is_new(place) { (picture(topology)) }
                    (scrolled("Links", &table(&topology.links)))
                    @if topology.links.iter().any(|link| link.cells.is_some()) {
                        (scrolled("Cells", &cell_table(&topology.links)))
                    }
                }
                p class="from" {
                    "From " code { "run.json" } ": " code { "topology" } " (" code { "nodes" } ", " code { "ends" } ", "
                    code { "links" } ")."
                }
            }
        }
    }
}

/// Whether two networks look the same, whatever happened in them.
fn same_network(one: &Topology, other: &Topology) -> bool {
    let made_of = |link: &LinkFacts| {
        (
            link.name.clone(),
            link.from.clone(),
            link.to.clone(),
            link.rate_bits_per_second,
            link.delay_ns,
            link.queue.clone(),
        )
    };
    one.nodes == other.nodes
        && one.ends == other.ends
        && one.links.iter().map(made_of).eq(other.links.iter().map(made_of))
}

/// Links that are there in both directions are one wire.
fn wires(topology: &Topology) -> Vec<Wire<'_>> {
    let place = |name: &String| topology.nodes.iter().position(|node| node == name);
    let is_back = |link: &LinkFacts, of: &LinkFacts| {
        link.name.strip_suffix("-back") == Some(&of.name) && (&link.from, &link.to) == (&of.to, &of.from)
    };
    let links = &topology.links;
    links
        .iter()
        .filter(|link| !links.iter().any(|of| is_back(link, of)))
        .filter_map(|link| {
            let two_way = links.iter().any(|back| is_back(back, link));
            Some(Wire { link, two_way, ends: [place(&link.from)?, place(&link.to)?] })
        })
        .collect()
}

/// The nodes by how many wires they are from the left end.
fn layers(topology: &Topology, wires: &[Wire<'_>]) -> Vec<Vec<usize>> {
    let mut layer = vec![None; topology.nodes.len()];
    let left = topology.nodes.iter().position(|node| *node == topology.ends[0]).unwrap_or(0);
    let mut reached = VecDeque::from([(left, 0)]);
    let mut deepest = 0;
    while let Some((node, depth)) = reached.pop_front() {
        let Some(place @ None) = layer.get_mut(node) else { continue };
        *place = Some(depth);
        deepest = depth;
        let others = wires.iter().filter_map(|wire| match wire.ends {
            [one, other] if one == node => Some(other),
            [one, other] if other == node => Some(one),
            _ => None,
        });
        reached.extend(others.map(|other| (other, depth + 1)));
    }
    let mut layers = vec![Vec::new(); deepest + 2];
    for (node, depth) in layer.into_iter().enumerate() {
        layers[depth.unwrap_or(deepest + 1)].push(node);
    }
    layers.retain(|layer| !layer.is_empty());
    layers
}

fn picture(topology: &Topology) -> Markup {
    if topology.nodes.len() > MOST_NODES {
        return Markup::default();
    }
    let wires = wires(topology);
    let layers = layers(topology, &wires);
    let rows = layers.iter().map(Vec::len).max().unwrap_or(1) as i64;
    let mut at = vec![[0, 0]; topology.nodes.len()];
    for (depth, layer) in (0..).zip(&layers) {
        // Layers are centred on each other.
        let top = MARGIN[1] + (rows - layer.len() as i64) * ROW / 2;
        for (row, node) in (0..).zip(layer) {
            at[*node] = [MARGIN[0] + depth * STEP, top + row * ROW];
        }
    }
    // Wires side by side, and those within a layer, bend out.
    let bends: Vec<i64> = wires
        .iter()
        .enumerate()
        .map(|(place, wire)| bend(&wires, place, at[wire.ends[0]][0] == at[wire.ends[1]][0]))
        .collect();
    let most = |within: bool| {
        let bent = wires.iter().zip(&bends).filter(|(wire, _)| within == (at[wire.ends[0]][0] == at[wire.ends[1]][0]));
        bent.map(|(_, bend)| bend.abs() / 2).max().unwrap_or(0)
    };
    // Labels of wires within a layer stand to the right of it.
    let (right, spare) = (2 * most(true), most(false));
    let (width, height) =
        (2 * MARGIN[0] + (layers.len() as i64 - 1) * STEP + right, 2 * MARGIN[1] + (rows - 1) * ROW + 2 * spare);
    at.iter_mut().for_each(|place| place[1] += spare);
    let names: Vec<&str> = wires.iter().map(|wire| wire.link.name.as_str()).collect();
    let [first, last] = &topology.ends;
    let described = format!("{} nodes from {first} to {last}, joined by {}", topology.nodes.len(), names.join(", "));
    let svg = html! {
        svg class="network" width=(width) height=(height) viewBox={ "0 0 " (width) " " (height) } role="img"
            aria-label=(described) {
            @for (wire, bend) in wires.iter().zip(&bends) {
                (draw(wire, wire.ends.map(|end| at[end]), *bend, wires.len() <= MOST_LABELS))
            }
            @for (name, [x, y]) in topology.nodes.iter().zip(&at) {
                @let side = ["left side", "right side"].into_iter().zip(&topology.ends).find(|(_, end)| *end == name);
                circle cx=(x) cy=(y) r="9" class=[side.map(|_| "end")] {}
                text x=(x) y=(y + 25) { (name) }
                @if let Some((side, _)) = side { text class="quiet" x=(x) y=(y + 25 + LINE) { (side) } }
            }
        }
    };
    scrolled("Picture of the network", &svg)
}

/// How far the middle of a wire is from the straight line between its ends, twice.
fn bend(wires: &[Wire<'_>], place: usize, within_layer: bool) -> i64 {
    let joins = |wire: &Wire<'_>| {
        let [one, other] = wire.ends;
        (one.min(other), one.max(other))
    };
    let alike: Vec<usize> = (0..wires.len()).filter(|other| joins(&wires[*other]) == joins(&wires[place])).collect();
    let rank = alike.iter().position(|other| *other == place).unwrap_or(0) as i64;
    if within_layer { (rank + 1) * APART } else { (2 * rank - (alike.len() as i64 - 1)) * APART }
}

fn draw(wire: &Wire<'_>, [[x0, y0], [x1, y1]]: [[i64; 2]; 2], bend: i64, labelled: bool) -> Markup {
    let link = wire.link;
    // The control point: to the right of wires within a layer, below the others.
    let (middle_x, middle_y) = ((x0 + x1) / 2, (y0 + y1) / 2);
    let (control_x, control_y) = if x0 == x1 { (middle_x + bend, middle_y) } else { (middle_x, middle_y + bend) };
    let path = format!("M{x0} {y0}Q{control_x} {control_y} {x1} {y1}");
    let within_layer = x0 == x1;
    let (x, y) = ((middle_x + control_x) / 2, (middle_y + control_y) / 2);
    // Those within a layer stand below each other.
    let (x, y, anchor) =
        if within_layer { (x + 8, y + bend / APART * 3 * LINE - LINE, "start") } else { (x, y, "middle") };
    let direction = if wire.two_way { String::new() } else { format!(" ({} \u{2192} {})", link.from, link.to) };
    let mark = if link.monitored { ", monitored" } else { "" };
    // The first parameter of a queue is its limit.
    let queue = link.queue.split(',').next().unwrap_or_default();
    let lines =
        [format!("{}{direction}{mark}", link.name), format!("{}, {}", rate(link), delay(link)), queue.to_owned()];
    html! {
        path class=(if link.monitored { "wire monitored" } else { "wire" }) d=(path) {
            title { (link.name) ": " (rate(link)) ", " (delay(link)) ", " (link.queue) }
        }
        @if labelled {
            @for (row, text) in (0..).zip(&lines) {
                @let class = match (row, link.monitored) {
                    (0, true) => "name mark",
                    (0, false) => "name",
                    _ => "quiet",
                };
                text class={ (class) " " (anchor) } x=(x) y=(y - 8 - (2 - row) * LINE) { (text) }
            }
        }
    }
}

fn rate(link: &LinkFacts) -> String {
    link.rate_bits_per_second.and_then(Rate::from_bits_per_second).unwrap_or(Rate::UNLIMITED).to_string()
}

fn delay(link: &LinkFacts) -> String {
    flowloom_core::time::Duration::from_nanos(link.delay_ns).to_string()
}

fn table(links: &[LinkFacts]) -> Markup {
    let names = [
        "link",
        "from",
        "to",
        "rate",
        "delay",
        "queue",
        "packets offered",
        "dropped",
        "utilisation",
        "waiting, mean",
        "max",
    ];
    let cells = |link: &LinkFacts| {
        [
            link.from.clone(),
            link.to.clone(),
            value(&rate(link)),
            value(&delay(link)),
            link.queue.clone(),
            thousands(link.offered_packets),
            thousands(link.dropped_packets),
            value(&format!("{} %", three_digits(100.0 * link.utilisation))),
            three_digits(link.queue_mean_packets),
            thousands(link.queue_max_packets),
        ]
    };
    html! {
        table class="numbers" {
            (heads(names))
            tbody {
                @for link in links {
                    tr {
                        th scope="row" {
                            (link.name) @if link.monitored { " " span class="quiet" { "monitored" } }
                        }
                        @for cell in cells(link) { td { (cell) } }
                    }
                }
            }
        }
    }
}

/// What became of the cells of the links that carry some.
fn cell_table(links: &[LinkFacts]) -> Markup {
    let names = [
        "cells of",
        "cut",
        "sent",
        "no room",
        "partial discard",
        "early discard",
        "waiting",
        "of dead packets",
        "whole packets",
        "spoilt packets",
        "efficiency",
    ];
    let counts = |cells: &CellFacts| {
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "-".to_owned(), |share| value(&format!("{} %", three_digits(100.0 * share))))
        };
        let [cut, sent, full, rest, early, waiting] =
            [cells.cut, cells.sent, cells.full, cells.rest, cells.early, cells.waiting].map(thousands);
        let dead = percent(cells.dead_share());
        let [whole, spoilt] = [cells.whole_packets, cells.spoilt_packets].map(thousands);
        [cut, sent, full, rest, early, waiting, dead, whole, spoilt, percent(cells.efficiency)]
    };
    html! {
        table class="numbers" {
            (heads(names))
            tbody {
                @for (link, cells) in links.iter().filter_map(|link| Some((link, link.cells.as_ref()?))) {
                    tr {
                        th scope="row" { (link.name) }
                        @for count in counts(cells) { td { (count) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(nodes: &[&str], links: &[(&str, &str, &str)]) -> Topology {
        let link = |&(name, from, to): &(&str, &str, &str)| LinkFacts {
            name: name.into(),
            from: from.into(),
            to: to.into(),
            rate_bits_per_second: Some(10_000_000),
            queue: "red 100p, max 15p".into(),
            monitored: name.starts_with("bottleneck"),
            ..LinkFacts::default()
        };
        Topology {
            nodes: nodes.iter().map(|&name| name.into()).collect(),
            ends: [nodes[0].into(), nodes[nodes.len() - 1].into()],
            links: links.iter().map(link).collect(),
        }
    }

    fn drawn(topology: &Topology) -> String {
        picture(topology).into_string()
    }

    #[test]
    fn both_directions_are_one_wire_and_the_monitored_one_is_marked() {
        let topology =
            network(&["a", "b"], &[("bottleneck", "a", "b"), ("bottleneck-back", "b", "a"), ("x", "b", "a")]);
        let html = drawn(&topology);
        assert_eq!(html.matches("<path").count(), 2);
        assert_eq!(html.matches("class=\"wire monitored\"").count(), 1);
        assert!(
            html.contains(">x (b → a)<") && html.contains(">10.0 Mbit/s, 0 s<") && html.contains(">red 100p<"),
            "{html}"
        );
        assert!(html.contains("left side") && html.contains("right side"));
        assert!(!html.contains("d=\"M80 108Q180 108"), "wires side by side bend apart: {html}");
    }

    #[test]
    fn nodes_stand_by_their_distance_from_the_left_end_and_none_upon_another() {
        let links = [("bottleneck", "a", "b"), ("l1", "b", "d"), ("l2", "a", "c"), ("l3", "c", "d"), ("l4", "c", "b")];
        let topology = network(&["a", "b", "c", "lonely", "d"], &links);
        let found = layers(&topology, &wires(&topology));
        assert_eq!(found, [vec![0], vec![1, 2], vec![4], vec![3]]);
        let html = drawn(&topology);
        let mut places: Vec<&str> =
            html.split("<circle ").skip(1).map(|rest| rest.split(" r=").next().unwrap()).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), 5, "{html}");
    }

    #[test]
    fn names_cannot_become_markup_and_large_networks_have_no_labels() {
        let html = drawn(&network(&["<a>", "b"], &[("bottleneck\"<", "<a>", "b")]));
        assert!(!html.contains("<a>") && !html.contains("\"<"), "{html}");
        let names: Vec<String> = (0..100).map(|number| format!("n{number}")).collect();
        let nodes: Vec<&str> = names.iter().map(String::as_str).collect();
        let links: Vec<_> = nodes.windows(2).map(|pair| (pair[0], pair[0], pair[1])).collect();
        let html = drawn(&network(&nodes, &links));
        assert!(html.matches("<path").count() == 99 && !html.contains("class=\"name\""));
    }
}
