//! Reads specifications from text, and recovers after errors.
//!
//! An unknown name that is near a known one is read as the known one. After any other unknown name, the reader skips to the next known
//! name. Each step takes at least one word, so that reading ends; and one mistake is reported once.

use std::collections::BTreeMap;
use std::iter::Peekable;

use flowloom_core::keys::nearest;

use super::position::Position;
use super::problem::{Problem, Problems, shown};
use super::words::{FILE, Scope, Word, Words, closes, owners};
use super::{Host, Link, Placed, Route, Router, Specification, Switch};

/// A specification as far as it could be read.
#[derive(Debug)]
pub struct Reading {
    /// The whole specification if there are no problems; otherwise its blocks without problems. Links and routes over other blocks are
    /// left out.
    pub specification: Specification,
    /// All problems.
    pub problems: Problems,
    /// Links are missing because of problems: routes may lead over them.
    pub lacks_links: bool,
}

impl Reading {
    /// The specification, if it has no problems.
    ///
    /// # Errors
    /// All problems.
    pub fn whole(self) -> Result<Specification, Problems> {
        if self.problems.is_empty() { Ok(self.specification) } else { Err(self.problems) }
    }
}

/// Reads a specification, and continues after errors.
pub fn read(text: &str) -> Reading {
    let mut reader = Reader::of(text);
    while let Some(word) = reader.words.next() {
        reader.statement(word);
    }
    reader.finish()
}

/// A block that was read.
pub(super) struct Block<T> {
    pub value: T,
    /// It has no problem.
    pub is_sound: bool,
}

/// The values that the next block of a kind inherits.
#[derive(Default)]
pub(super) struct Kept {
    pub router: Option<Router>,
    pub switch: Option<Switch>,
    pub link: Option<Link>,
    pub host: Option<Host>,
    /// Where the routers' `meter_time` was read.
    pub meter_at: Option<Position>,
}

/// The state of reading.
pub(super) struct Reader<'a> {
    pub words: Peekable<Words<'a>>,
    pub problems: Problems,
    /// The values outside blocks of nodes, links and routes.
    pub found: Specification,
    /// Where each name was given first, by the place of its block; outside of blocks by none.
    given: BTreeMap<(Option<Position>, &'static str), Position>,
    /// Where the latest `end` of a timer was read.
    pub end_at: Option<Position>,
    pub kept: Kept,
    /// Routers, each with the place of its `meter_time`.
    pub routers: Vec<Block<(Router, Option<Position>)>>,
    pub switches: Vec<Block<Switch>>,
    pub links: Vec<Block<Link>>,
    pub hosts: Vec<Block<Host>>,
    pub routes: Vec<Block<Route>>,
    /// The numbers of nodes that could be read, and where.
    pub nodes: BTreeMap<u64, Position>,
    /// There may be nodes whose numbers could not be read.
    pub lost_nodes: bool,
    /// There may be links that could not be read.
    pub lost_links: bool,
    /// There may be routes that could not be read.
    pub lost_routes: bool,
}

/// A parameter whose value comes next.
#[derive(Clone, Copy)]
pub(super) struct Parameter {
    /// The block it is in.
    pub scope: &'static Scope,
    pub name: &'static str,
    pub at: Position,
}

impl Parameter {
    /// The name of its block and its own.
    pub fn key(&self) -> String {
        match self.scope.block {
            "" => self.name.to_owned(),
            block => format!("{block}.{}", self.name),
        }
    }
}

impl<'a> Reader<'a> {
    fn of(text: &'a str) -> Reader<'a> {
        Reader {
            words: Words::of(text).peekable(),
            problems: Problems::default(),
            found: Specification::default(),
            given: BTreeMap::new(),
            end_at: None,
            kept: Kept::default(),
            routers: Vec::new(),
            switches: Vec::new(),
            links: Vec::new(),
            hosts: Vec::new(),
            routes: Vec::new(),
            nodes: BTreeMap::new(),
            lost_nodes: false,
            lost_links: false,
            lost_routes: false,
        }
    }

    /// Reads a statement outside of blocks, which begins with `word`.
    fn statement(&mut self, word: Word<'a>) {
        let Word { text, at } = word;
        if let Some(name) = FILE.names.iter().find(|name| **name == text) {
            return self.named(Parameter { scope: &FILE, name, at });
        }
        if closes(text) {
            return self.problems.push(Problem::new(at, format_args!("{text} closes no block")));
        }
        let outside = owners(text);
        if !outside.is_empty() {
            let blocks = outside.join(" or ");
            self.problems.push(
                Problem::new(at, format_args!("{text} stands outside of a block"))
                    .hint(format_args!("it is a parameter of {blocks} blocks")),
            );
            return self.skip(&FILE);
        }
        let meant = nearest(text, FILE.names);
        self.problems.push(
            Problem::new(at, format_args!("unknown name \"{}\" outside of blocks", shown(text)))
                .known(FILE.names, meant),
        );
        match meant {
            Some(name) => self.named(Parameter { scope: &FILE, name, at }),
            None => {
                (self.lost_nodes, self.lost_links, self.lost_routes) = (true, true, true);
                self.skip(&FILE);
            }
        }
    }

    /// Reads the value or the block of a name outside of blocks.
    fn named(&mut self, parameter: Parameter) {
        let at = parameter.at;
        // There can be several blocks of these kinds.
        if !["router", "switch", "link", "host", "route"].contains(&parameter.name) {
            self.note(parameter, None);
        }
        match parameter.name {
            // How fine the original's clock was: times here are exact.
            "ticks_per_sec" => drop(self.above_zero(parameter)),
            "bytes_per_cell" => set(self.count(parameter, 1..=65_535), &mut self.found.bytes_per_cell),
            "header_bytes" => set(self.count(parameter, 0..=65_535), &mut self.found.header_bytes),
            "padding" => set(self.switch(parameter), &mut self.found.padding),
            "max_pkt_size" => set(self.count(parameter, 1..=1 << 20), &mut self.found.max_packet),
            "tables" => self.found.tables = self.folder(parameter).or(self.found.tables.take()),
            "seed" => self.seed_block(at),
            "timer" => self.timer_block(at),
            "router" => self.router_block(at),
            "switch" => self.switch_block(at),
            "link" => self.link_block(at),
            "host" => self.host_block(at),
            "route" => self.route_block(at),
            name => unreachable!("{name} is no name"),
        }
    }

    /// Skips words up to the next name of `scope`, the end of a block, or a name outside of blocks.
    fn skip(&mut self, scope: &Scope) {
        let is_known =
            |word: &Word<'_>| scope.names.contains(&word.text) || closes(word.text) || FILE.names.contains(&word.text);
        while self.words.next_if(|word| !is_known(word)).is_some() {}
    }

    /// The next parameter of a block that was opened at `opened`; `None` at its end.
    pub fn parameter(&mut self, scope: &'static Scope, opened: Position) -> Option<Parameter> {
        loop {
            let Word { text, at } = self.inside(scope, opened)?;
            if let Some(name) = scope.names.iter().find(|name| **name == text) {
                let parameter = Parameter { scope, name, at };
                self.note(parameter, Some(opened));
                return Some(parameter);
            }
            let meant = nearest(text, &[scope.names, &[scope.end]].concat());
            self.problems.push(
                Problem::new(at, format_args!("unknown name \"{}\" in a {} block", shown(text), scope.block))
                    .known(scope.names, meant),
            );
            match meant {
                Some(name) if name == scope.end => return None,
                Some(name) => return Some(Parameter { scope, name, at }),
                None => self.skip(scope),
            }
        }
    }

    /// Notes that a name was given in the block that was opened at `opened`. Of two values, nobody can tell which one is meant.
    fn note(&mut self, parameter: Parameter, opened: Option<Position>) {
        let first = *self.given.entry((opened, parameter.name)).or_insert(parameter.at);
        if first != parameter.at {
            let key = parameter.key();
            let problem = Problem::new(parameter.at, format_args!("{key} is given twice")).about(key);
            self.problems.push(problem.hint(format_args!("it stands in line {} already", first.line)));
        }
    }

    /// The next number of a block of numbers that was opened at `opened`; `None` at its end.
    pub fn number_of_block(&mut self, scope: &'static Scope, opened: Position) -> Option<Word<'a>> {
        let word = self.inside(scope, opened)?;
        let meant = nearest(word.text, &[scope.end]);
        if meant.is_some() {
            self.problems.push(
                Problem::new(word.at, format_args!("unknown word \"{}\" in a {} block", shown(word.text), scope.block))
                    .known(&[], meant),
            );
            return None;
        }
        Some(word)
    }

    /// The next word inside of a block that was opened at `opened`; `None` at its end, or where another block makes clear that its end
    /// is missing.
    fn inside(&mut self, scope: &'static Scope, opened: Position) -> Option<Word<'a>> {
        match self.words.peek().copied() {
            Some(word) if word.text == scope.end => {
                self.words.next();
                None
            }
            Some(word) if closes(word.text) => {
                self.words.next();
                let Scope { block, end, .. } = scope;
                let problem = Problem::new(word.at, format_args!("{} does not close a {block} block", word.text));
                self.problems.push(problem.hint(format_args!("{end} does")));
                None
            }
            Some(word) if !FILE.names.contains(&word.text) => self.words.next(),
            _ => {
                let Scope { block, end, .. } = scope;
                self.problems.push(Problem::new(opened, format_args!("the {block} block has no {end}")));
                None
            }
        }
    }

    /// Registers the number of a node. Returns whether it is valid and no other node has it.
    pub fn register(&mut self, id: Option<Placed<u64>>, key: &str) -> bool {
        let Some(Placed { value, at }) = id else {
            self.lost_nodes = true;
            return false;
        };
        if let Some(first) = self.nodes.get(&value) {
            let problem = format!("{key}: node {value} is there already, at line {}", first.line);
            self.problems.push(Problem::new(at, problem).about(key).hint("give each node a number of its own"));
            // The number that was meant is not known.
            self.lost_nodes = true;
            return false;
        }
        self.nodes.insert(value, at);
        true
    }
}

/// Stores a value, if there is one.
pub(super) fn set<T>(value: Option<T>, place: &mut T) {
    if let Some(value) = value {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MOST_PROBLEMS, Mapping, TrafficType};
    use super::*;

    const SMALL: &str = "
seed 3091 4917 seed_end
timer log 10 end 120.0 timer_end // the rest is never
router router_id 1 vc_map per_type idle_time 0.2 router_end
router router_id 2 report 0 router_end
switch switch_id 3 switch_end
link connects 1 3 speed 3e6 delay 0.0225 link_end
link connects 3 2 delay 0 link_end
host host_id 10 traffic_type telnet window_limit 16 host_end
host host_id 110 function sink host_end
link connects 10 1 link_end
link connects 2 110 link_end
route 10 1 3 2 110 route_end
";

    fn values(numbers: &[Placed<u64>]) -> Vec<u64> {
        numbers.iter().map(|number| number.value).collect()
    }

    /// Place, message and hint of each problem of `text`.
    fn told(text: &str) -> Vec<String> {
        let told = |problem: &Problem| match &problem.hint {
            Some(hint) => format!("{problem} [{hint}]"),
            None => problem.to_string(),
        };
        read(text).problems.found().iter().map(told).collect()
    }

    #[test]
    fn blocks_inherit_from_the_last_of_their_kind() {
        let found = read(SMALL).whole().unwrap();
        assert_eq!((found.seeds, found.timer.log, found.timer.end, found.max_packet), ([3091, 4917], 10.0, 120.0, 512));
        let [first, second] = &found.routers[..] else { panic!("{:?}", found.routers) };
        assert_eq!((second.mapping, second.idle_time, second.id.value), (Mapping::PerType, 0.2, 2));
        assert!(first.report && !second.report);
        let links: Vec<(f64, f64)> = found.links.iter().map(|link| (link.speed, link.delay)).collect();
        assert_eq!(links, [(3e6, 0.0225), (3e6, 0.0), (3e6, 0.0), (3e6, 0.0)]);
        let [source, sink] = &found.hosts[..] else { panic!("{:?}", found.hosts) };
        assert!(source.is_source && !sink.is_source && sink.traffic == TrafficType::Telnet && sink.window_limit == 16);
        assert_eq!((found.routes[0].at.line, values(&found.routes[0].nodes)), (13, vec![10, 1, 3, 2, 110]));
    }

    #[test]
    fn each_kind_of_problem_has_its_place() {
        // A text of the file, its replacement, and the problem.
        let cases = [
            // Names, blocks and missing values.
            ("seed 3091", "sed 3091", "2:1: unknown name \"sed\" outside of blocks [did you mean \"seed\"?]"),
            ("seed 3091", "colour red seed 3091", "2:1: unknown name \"colour\" outside of blocks"),
            ("vc_map", "vcmap", "4:20: unknown name \"vcmap\" in a router block [did you mean \"vc_map\"?]"),
            ("vc_map per_type", "colour red", "4:20: unknown name \"colour\" in a router block"),
            ("seed 3091", "seed_end seed 3091", "2:1: seed_end closes no block"),
            (
                "seed 3091",
                "vc_map per_type seed 3091",
                "2:1: vc_map stands outside of a block [it is a parameter of router blocks]",
            ),
            ("report 0 router_end", "report 0", "5:1: the router block has no router_end"),
            ("2 110 route_end", "2 110", "13:1: the route block has no route_end"),
            ("0 router_end", "0 host_end", "5:29: host_end does not close a router block [router_end does]"),
            (
                "0 router_end",
                "0 router_edn",
                "5:29: unknown name \"router_edn\" in a router block [did you mean \"router_end\"?]",
            ),
            ("route_end", "routend", "13:20: unknown word \"routend\" in a route block [did you mean \"route_end\"?]"),
            ("end 120.0", "end", "3:14: timer.end lacks a value"),
            ("seed 3091", "tables seed 3091", "2:1: tables lacks a value"),
            ("2 110 link_end", "2 link_end", "12:6: link.connects lacks a value"),
            // Names that are given twice.
            (
                "report 0",
                "report 0 idle_time 1\nreport 1",
                "6:1: router.report is given twice [it stands in line 5 already]",
            ),
            ("end 120.0", "end 120.0 log 20", "3:24: timer.log is given twice [it stands in line 3 already]"),
            (
                "seed 3091",
                "padding 0 padding 1 seed 3091",
                "2:11: padding is given twice [it stands in line 2 already]",
            ),
            ("timer log", "seed 1 3 seed_end timer log", "3:1: seed is given twice [it stands in line 2 already]"),
            // Numbers and words.
            ("speed 3e6", "speed -1", "7:25: link.speed: \"-1\" is not a number of at least 0"),
            ("speed 3e6", "speed 0", "7:25: link.speed of 0 must be from 1 to 1e15 bits per second"),
            ("end 120.0", "end 0", "3:18: timer.end must be above 0"),
            ("seed 3091", "ticks_per_sec 0 seed 3091", "2:15: ticks_per_sec must be above 0"),
            ("log 10", "checkpoint 1e-12", "3:18: timer.checkpoint of 1e-12 must be 0, or at least 1e-9 seconds"),
            ("log 10", "log 4e9", "3:11: timer.log of 4e9 must be at most 3.2e9 seconds"),
            ("window_limit 16", "conv_len_mean 1e10", "9:51: host.conv_len_mean of 1e10 must be at most 3.2e9 packets"),
            ("window_limit 16", "pkt_len_mean 1e10", "9:50: host.pkt_len_mean of 1e10 must be at most 3.2e9 bytes"),
            (
                "idle_time 0.2",
                "peak_rate 0.2",
                "4:46: router.peak_rate of 0.2 must be 0 (none), or from 1 to 1e15 bits per second",
            ),
            (
                "window_limit 16",
                "window_limit 0",
                "9:50: host.window_limit: \"0\" is not a whole number from 1 to 16777216",
            ),
            ("report 0", "report no", "5:27: router.report: \"no\" is neither 0 nor 1"),
            ("per_type", "per_tpye", "4:27: router.vc_map: unknown word \"per_tpye\" [did you mean \"per_type\"?]"),
            ("telnet", "gopher", "9:30: host.traffic_type: unknown word \"gopher\""),
            (
                "router_id 2",
                "router_id 18446744073709551615",
                "5:18: router.router_id: \"18446744073709551615\" is not a whole number below 18446744073709551615",
            ),
            ("4917", "4918", "2:11: seed: 4918 is even, and seeds must be odd [take 4919]"),
            ("4917", "two", "2:11: seed: \"two\" is not a whole number below 2^32"),
            ("3091 4917", "3091", "2:1: seed: a seed block has two seeds, not 1"),
            ("route 10 1", "route 10 x", "13:10: route: \"x\" is not the number of a node"),
            // Blocks and the file as a whole.
            (
                "end 120.0",
                "end 10",
                "3:11: timer.log of 10 s must be before timer.end, 10 s: nothing would be measured",
            ),
            (
                "idle_time 0.2",
                "meter_time 1e-7",
                "4:47: router.meter_time of 0.0000001 s makes more than 1e8 looks until timer.end, 120 s [take a longer one, or end earlier]",
            ),
            ("switch_id 3", "", "6:1: the switch has no switch_id"),
            ("connects 2 110", "", "12:1: the link has no connects [connects A B names the numbers of its two nodes]"),
            (
                "router_id 2",
                "router_id 1",
                "5:18: router.router_id: node 1 is there already, at line 4 [give each node a number of its own]",
            ),
            ("connects 2 110", "connects 2 111", "12:17: link.connects: there is no node 111"),
            ("connects 2 110", "connects 2 2", "12:17: link.connects joins node 2 with itself"),
            ("connects 2 110", "connects 3 1", "12:17: link.connects: nodes 3 and 1 are linked already, at line 7"),
            ("route 10 1 3", "route 10 1 4", "13:12: route: there is no node 4"),
            ("route 10 1 3 2 110 route_end", "", "the file has no route block: nothing would be sent"),
        ];
        for (from, to, wanted) in cases {
            let text = SMALL.replacen(from, to, 1);
            assert_ne!(text, SMALL);
            assert_eq!(told(&text), [wanted], "{to}");
        }
    }

    #[test]
    fn all_problems_are_told_in_order() {
        let text = "
routers router_id 1 vcmap per_tipe idle_time soon router_end
router router_id 2 report 0
switch switch_id x cell_queue fifo switch_end
link connects 1 99 speed 0 link_end
host host_id 10 traffic_type fpt host_end
rout 10 1 3 1O route_end
";
        assert_eq!(
            told(text),
            [
                "2:1: unknown name \"routers\" outside of blocks [did you mean \"router\"?]",
                "2:21: unknown name \"vcmap\" in a router block [did you mean \"vc_map\"?]",
                "2:27: router.vc_map: unknown word \"per_tipe\" [did you mean \"per_type\"?]",
                "2:46: router.idle_time: \"soon\" is not a number of at least 0",
                "3:1: the router block has no router_end",
                "4:18: switch.switch_id: \"x\" is not a whole number below 18446744073709551615",
                "5:26: link.speed of 0 must be from 1 to 1e15 bits per second",
                "6:30: host.traffic_type: unknown word \"fpt\" [did you mean \"ftp\"?]",
                "7:1: unknown name \"rout\" outside of blocks [did you mean \"route\"?]",
                "7:13: route: \"1O\" is not the number of a node",
            ],
            "node 99 may be the switch whose number could not be read"
        );
    }

    #[test]
    fn problems_beyond_the_most_are_counted() {
        let text = SMALL.to_owned() + &"seed_end ".repeat(3 * MOST_PROBLEMS);
        let problems = read(&text).problems;
        assert_eq!((problems.found().len(), problems.more()), (MOST_PROBLEMS, 2 * MOST_PROBLEMS));
    }

    #[test]
    fn what_is_sound_remains_for_further_checks() {
        let Reading { specification, problems, lacks_links } =
            read(&SMALL.replace("speed 3e6", "speed 0").replace("function sink", "function sunk"));
        assert_eq!(problems.count(), 2);
        assert!(lacks_links && specification.links.len() == 2, "{:?}", specification.links);
        let hosts: Vec<u64> = specification.hosts.iter().map(|host| host.id.value).collect();
        assert_eq!((hosts, specification.routes.len()), (vec![10], 0), "the route leads to a host with a problem");
    }
}
