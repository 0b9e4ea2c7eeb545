//! Specifications from text.

use std::collections::BTreeMap;

use super::{
    Buffer, Discard, Host, Law, Link, Mapping, NONE, Queueing, Route, Router, Specification, Switch, Timer, TrafficType,
};

/// A line that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct SpecificationError {
    /// Its number, from 1.
    pub line: u32,
    /// What is wrong, and what would be right.
    pub problem: String,
}

/// Reads a specification.
///
/// # Errors
/// The first line that is wrong.
pub fn read(text: &str) -> Result<Specification, SpecificationError> {
    let mut tokens = Tokens::of(text);
    let mut found = Specification::default();
    let mut kept = Kept::default();
    while let Some((line, name)) = tokens.next() {
        match name {
            // How fine the original's clock was: times here are exact.
            "ticks_per_sec" => drop(tokens.above_zero(name)?),
            "bytes_per_cell" => found.bytes_per_cell = tokens.count(name, 1..=65_535)?,
            "header_bytes" => found.header_bytes = tokens.count(name, 0..=65_535)?,
            "padding" => found.padding = tokens.switch(name)?,
            "max_pkt_size" => found.max_packet = tokens.count(name, 1..=1 << 20)?,
            "tables" => found.tables = Some(tokens.value(name)?.1.to_owned()),
            "seed" => found.seeds = tokens.seeds(line)?,
            "timer" => tokens.timer(&mut found.timer)?,
            "router" => found.routers.push(tokens.router(&mut kept.router, line)?),
            "switch" => found.switches.push(tokens.switch_node(&mut kept.switch, line)?),
            "link" => found.links.push(tokens.link(&mut kept.link, line)?),
            "host" => found.hosts.push(tokens.host(&mut kept.host, line)?),
            "route" => found.routes.push(Route { line, nodes: tokens.route(line)? }),
            _ => return Err(unknown(line, name, &GLOBAL)),
        }
    }
    found.check()?;
    Ok(found)
}

/// Most looks at a router's queues: each is kept.
const MOST_LOOKS: f64 = 1e8;
/// Bits per second.
const SPEEDS: std::ops::RangeInclusive<f64> = 1.0..=1e15;

const GLOBAL: [&str; 13] = [
    "ticks_per_sec",
    "bytes_per_cell",
    "header_bytes",
    "padding",
    "max_pkt_size",
    "tables",
    "seed",
    "timer",
    "router",
    "switch",
    "link",
    "host",
    "route",
];
const TIMER: [&str; 4] = ["log", "checkpoint", "regeneration", "end"];
const BUFFER: [&str; 4] = ["buffer_policy", "buffer_size", "discard", "discard_threshold"];
const ROUTER: [&str; 11] = [
    "router_id",
    "vc_map",
    "packet_queue",
    "cell_queue",
    "dynamic_vc",
    "idle_time",
    "setup_time",
    "vc_window",
    "peak_rate",
    "meter_time",
    "report",
];
const SWITCH: [&str; 3] = ["switch_id", "cell_queue", "report"];
const LINK: [&str; 5] = ["link_id", "connects", "speed", "delay", "report"];
const HOST: [&str; 16] = [
    "host_id",
    "function",
    "traffic_type",
    "flow_control",
    "window_limit",
    "retransmit",
    "conv_arr_dist",
    "conv_arr_mean",
    "conv_arr_std",
    "conv_len_dist",
    "conv_len_mean",
    "pkt_arr_dist",
    "pkt_arr_mean",
    "pkt_len_dist",
    "pkt_len_mean",
    "report",
];

fn unknown(line: u32, name: &str, known: &[&str]) -> SpecificationError {
    SpecificationError { line, problem: format!("there is no \"{}\" here; known: {}", shown(name), known.join(", ")) }
}

/// What of a token is shown.
fn shown(token: &str) -> String {
    token.chars().take(40).flat_map(char::escape_debug).collect()
}

/// What the next block of a kind has unless it says otherwise.
#[derive(Debug, Default)]
struct Kept {
    router: Option<Router>,
    switch: Option<Switch>,
    link: Option<Link>,
    host: Option<Host>,
}

struct Tokens<'a> {
    all: std::vec::IntoIter<(u32, &'a str)>,
    /// The line of the latest.
    line: u32,
}

impl<'a> Tokens<'a> {
    fn of(text: &'a str) -> Tokens<'a> {
        let lines = text.lines().zip(1u32..);
        let tokens = lines.flat_map(|(text, line)| {
            let said = text.split_once("//").map_or(text, |(said, _)| said);
            said.split_whitespace().map(move |token| (line, token))
        });
        Tokens { all: tokens.collect::<Vec<_>>().into_iter(), line: 1 }
    }

    fn next(&mut self) -> Option<(u32, &'a str)> {
        let (line, token) = self.all.next()?;
        self.line = line;
        Some((line, token))
    }

    fn wrong<T>(&self, problem: String) -> Result<T, SpecificationError> {
        Err(SpecificationError { line: self.line, problem })
    }

    /// The value of `name`.
    fn value(&mut self, name: &str) -> Result<(u32, &'a str), SpecificationError> {
        match self.next() {
            Some(found) => Ok(found),
            None => self.wrong(format!("{name} has no value: the file ends")),
        }
    }

    /// The next name of a block, `None` at its end.
    fn name(&mut self, block: &str, begun: u32) -> Result<Option<&'a str>, SpecificationError> {
        match self.next() {
            Some((_, name)) if name.strip_suffix("_end") == Some(block) => Ok(None),
            Some((_, name)) => Ok(Some(name)),
            None => self.wrong(format!("the {block} block of line {begun} has no {block}_end")),
        }
    }

    fn number(&mut self, name: &str) -> Result<f64, SpecificationError> {
        let (_, token) = self.value(name)?;
        match token.parse::<f64>() {
            Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
            _ => self.wrong(format!("{name} must be a number from 0 on, and is \"{}\"", shown(token))),
        }
    }

    fn above_zero(&mut self, name: &str) -> Result<f64, SpecificationError> {
        match self.number(name)? {
            number if number > 0.0 => Ok(number),
            _ => self.wrong(format!("{name} must be above 0")),
        }
    }

    /// Of seconds at most a hundred years, and no more of anything else.
    fn amount(&mut self, name: &str, unit: &str) -> Result<f64, SpecificationError> {
        match self.number(name)? {
            amount if amount <= 3.2e9 => Ok(amount),
            _ => self.wrong(format!("{name} must be at most 3.2e9 {unit}")),
        }
    }

    /// A time that is not rounded to none.
    fn seconds(&mut self, name: &str) -> Result<f64, SpecificationError> {
        match self.amount(name, "seconds")? {
            seconds if seconds == 0.0 || seconds >= 1e-9 => Ok(seconds),
            _ => self.wrong(format!("{name} must be 0, or 1e-9 seconds at least")),
        }
    }

    fn count(&mut self, name: &str, range: std::ops::RangeInclusive<u32>) -> Result<u32, SpecificationError> {
        let (_, token) = self.value(name)?;
        match token.parse::<u32>() {
            Ok(count) if range.contains(&count) => Ok(count),
            _ => self.wrong(format!(
                "{name} must be a whole number from {} to {}, and is \"{}\"",
                range.start(),
                range.end(),
                shown(token)
            )),
        }
    }

    fn id(&mut self, name: &str) -> Result<u64, SpecificationError> {
        let (_, token) = self.value(name)?;
        match token.parse() {
            Ok(id) if id != NONE => Ok(id),
            _ => self.wrong(format!("{name} must be a whole number below {NONE}, and is \"{}\"", shown(token))),
        }
    }

    fn switch(&mut self, name: &str) -> Result<bool, SpecificationError> {
        Ok(self.count(name, 0..=1)? == 1)
    }

    fn one_of<T: Copy>(&mut self, name: &str, known: &[(&str, T)]) -> Result<T, SpecificationError> {
        let (_, token) = self.value(name)?;
        match known.iter().find(|(known, _)| *known == token) {
            Some((_, value)) => Ok(*value),
            None => {
                let known: Vec<&str> = known.iter().map(|(known, _)| *known).collect();
                self.wrong(format!("{name} must be one of {}, and is \"{}\"", known.join(", "), shown(token)))
            }
        }
    }

    fn queueing(&mut self, name: &str) -> Result<Queueing, SpecificationError> {
        self.one_of(name, &[("fifo", Queueing::Fifo), ("round_robin", Queueing::RoundRobin)])
    }

    fn seeds(&mut self, begun: u32) -> Result<[u32; 2], SpecificationError> {
        let mut seeds = Vec::new();
        while let Some(token) = self.name("seed", begun)? {
            match token.parse::<u32>() {
                Ok(seed) if seed % 2 == 1 => seeds.push(seed),
                Ok(seed) => return self.wrong(format!("seeds must be odd, and {seed} is even: take {}", seed | 1)),
                Err(_) => {
                    return self
                        .wrong(format!("seeds must be whole numbers below 2^32, and \"{}\" is none", shown(token)));
                }
            }
        }
        let number = seeds.len();
        seeds.try_into().or_else(|_| self.wrong(format!("a seed block has two seeds, and this has {number}")))
    }

    fn timer(&mut self, timer: &mut Timer) -> Result<(), SpecificationError> {
        let begun = self.line;
        while let Some(name) = self.name("timer", begun)? {
            let place = match name {
                "log" => &mut timer.log,
                "checkpoint" => &mut timer.checkpoint,
                "regeneration" => &mut timer.regeneration,
                "end" => &mut timer.end,
                _ => return Err(unknown(self.line, name, &TIMER)),
            };
            *place = self.seconds(name)?;
        }
        let problem = match *timer {
            Timer { end: 0.0, .. } => "the timer block's end must be above 0".into(),
            Timer { log, end, .. } if log >= end => {
                format!("the timer block's log, {log} s, must be before its end, {end} s: nothing would be measured")
            }
            _ => return Ok(()),
        };
        Err(SpecificationError { line: begun, problem })
    }

    /// Reads a parameter of a buffer; whether `name` is one.
    fn buffer(&mut self, name: &str, buffer: &mut Buffer) -> Result<bool, SpecificationError> {
        match name {
            "buffer_policy" => buffer.is_finite = self.one_of(name, &[("infinite", false), ("statistical", true)])?,
            "buffer_size" => buffer.size = self.count(name, 1..=u32::MAX)?,
            "discard" => {
                let known = [("tail", Discard::Tail), ("partial", Discard::Partial), ("early", Discard::Early)];
                buffer.discard = self.one_of(name, &known)?;
            }
            "discard_threshold" => buffer.threshold = self.count(name, 1..=u32::MAX)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn router(&mut self, kept: &mut Option<Router>, line: u32) -> Result<Router, SpecificationError> {
        let mut router = kept.take().unwrap_or_default();
        (router.line, router.id) = (line, NONE);
        while let Some(name) = self.name("router", line)? {
            match name {
                "router_id" => router.id = self.id(name)?,
                "vc_map" => {
                    let known = [
                        ("per_conversation", Mapping::PerConversation),
                        ("per_type", Mapping::PerType),
                        ("per_destination", Mapping::PerDestination),
                    ];
                    router.mapping = self.one_of(name, &known)?;
                }
                "packet_queue" => router.packet_queue = self.queueing(name)?,
                "cell_queue" => router.cell_queue = self.queueing(name)?,
                "dynamic_vc" => router.dynamic = self.switch(name)?,
                "idle_time" => router.idle_time = self.seconds(name)?,
                "setup_time" => router.setup_time = self.seconds(name)?,
                "vc_window" => router.window = self.count(name, 0..=u32::MAX)?,
                "peak_rate" => {
                    router.peak_rate = self.number(name)?;
                    if router.peak_rate != 0.0 && !SPEEDS.contains(&router.peak_rate) {
                        return self.wrong("peak_rate must be 0 (none), or from 1 to 1e15 bits per second".into());
                    }
                }
                "meter_time" => router.meter_time = self.seconds(name)?,
                "report" => router.report = self.switch(name)?,
                _ if self.buffer(name, &mut router.buffer)? => {}
                _ => return Err(unknown(self.line, name, &[&ROUTER[..], &BUFFER].concat())),
            }
        }
        if router.meter_time == 0.0 {
            return Err(SpecificationError { line, problem: "meter_time must be above 0".into() });
        }
        *kept = Some(router.clone());
        Ok(router)
    }

    fn switch_node(&mut self, kept: &mut Option<Switch>, line: u32) -> Result<Switch, SpecificationError> {
        let mut switch = kept.take().unwrap_or_default();
        (switch.line, switch.id) = (line, NONE);
        while let Some(name) = self.name("switch", line)? {
            match name {
                "switch_id" => switch.id = self.id(name)?,
                "cell_queue" => switch.cell_queue = self.queueing(name)?,
                "report" => switch.report = self.switch(name)?,
                _ if self.buffer(name, &mut switch.buffer)? => {}
                _ => return Err(unknown(self.line, name, &[&SWITCH[..], &BUFFER].concat())),
            }
        }
        *kept = Some(switch.clone());
        Ok(switch)
    }

    fn link(&mut self, kept: &mut Option<Link>, line: u32) -> Result<Link, SpecificationError> {
        let mut link = kept.take().unwrap_or_default();
        (link.line, link.id, link.ends) = (line, NONE, [NONE; 2]);
        while let Some(name) = self.name("link", line)? {
            match name {
                "link_id" => link.id = self.id(name)?,
                "connects" => link.ends = [self.id(name)?, self.id(name)?],
                "speed" => {
                    link.speed = self.number(name)?;
                    if !SPEEDS.contains(&link.speed) {
                        return self.wrong("speed must be from 1 to 1e15 bits per second".into());
                    }
                }
                "delay" => link.delay = self.seconds(name)?,
                // The sample says it of routers; a link has nothing to leave out.
                "report" => drop(self.switch(name)?),
                _ => return Err(unknown(self.line, name, &LINK)),
            }
        }
        if link.ends == [NONE; 2] {
            return Err(SpecificationError {
                line,
                problem: "the link has no connects: the numbers of two nodes".into(),
            });
        }
        *kept = Some(link.clone());
        Ok(link)
    }

    fn law(&mut self, name: &str, law: &mut Law, part: &str, unit: &str) -> Result<(), SpecificationError> {
        match part {
            "dist" => law.is_exponential = self.one_of(name, &[("constant", false), ("exponential", true)])?,
            "mean" => law.mean = self.amount(name, unit)?,
            // Either law has the deviation that its mean gives it.
            _ => drop(self.number(name)?),
        }
        Ok(())
    }

    fn host(&mut self, kept: &mut Option<Host>, line: u32) -> Result<Host, SpecificationError> {
        let mut host = kept.take().unwrap_or_default();
        (host.line, host.id) = (line, NONE);
        while let Some(name) = self.name("host", line)? {
            match name {
                "host_id" => host.id = self.id(name)?,
                "function" => {
                    host.is_source = self.one_of(name, &[("source", true), ("receiver", false), ("sink", false)])?;
                }
                "traffic_type" => {
                    let known = [
                        ("ftp", TrafficType::Ftp),
                        ("nntp", TrafficType::Nntp),
                        ("smtp", TrafficType::Smtp),
                        ("telnet", TrafficType::Telnet),
                        ("misc", TrafficType::Misc),
                    ];
                    host.traffic = self.one_of(name, &known)?;
                }
                "flow_control" => {
                    host.slow_start = self.one_of(name, &[("slow_start", true), ("fixed_window", false)])?;
                }
                "window_limit" => host.window_limit = self.count(name, 1..=1 << 24)?,
                "retransmit" => host.retransmit = self.switch(name)?,
                "report" => host.report = self.switch(name)?,
                _ if HOST.contains(&name) => {
                    let (which, part) = name.rsplit_once('_').unwrap_or((name, ""));
                    let (law, unit) = match which {
                        "conv_arr" => (&mut host.between, "seconds"),
                        "conv_len" => (&mut host.length, "packets"),
                        "pkt_arr" => (&mut host.gap, "seconds"),
                        _ => (&mut host.bytes, "bytes"),
                    };
                    self.law(name, law, part, unit)?;
                }
                _ => return Err(unknown(self.line, name, &HOST)),
            }
        }
        *kept = Some(host.clone());
        Ok(host)
    }

    fn route(&mut self, begun: u32) -> Result<Vec<u64>, SpecificationError> {
        let mut nodes = Vec::new();
        while let Some(token) = self.name("route", begun)? {
            match token.parse() {
                Ok(node) => nodes.push(node),
                Err(_) => return self.wrong(format!("a route has numbers of nodes, and \"{}\" is none", shown(token))),
            }
        }
        Ok(nodes)
    }
}

impl Specification {
    /// Numbers of nodes that are missing, used twice, or not there; links that no route can mean; nobody who sends; more looks than can be
    /// kept.
    fn check(&self) -> Result<(), SpecificationError> {
        let wrong = |line, problem| Err(SpecificationError { line, problem });
        let mut nodes: BTreeMap<u64, u32> = BTreeMap::new();
        let routers = self.routers.iter().map(|router| ("router", router.id, router.line));
        let switches = self.switches.iter().map(|switch| ("switch", switch.id, switch.line));
        let hosts = self.hosts.iter().map(|host| ("host", host.id, host.line));
        for (kind, id, line) in routers.chain(switches).chain(hosts) {
            if id == NONE {
                return wrong(line, format!("the {kind} has no {kind}_id"));
            }
            if let Some(first) = nodes.insert(id, line) {
                return wrong(line, format!("node {id} is there already, from line {first} on"));
            }
        }
        let mut links = BTreeMap::new();
        for link in &self.links {
            if let Some(node) = link.ends.iter().find(|node| !nodes.contains_key(node)) {
                return wrong(link.line, format!("the link connects node {node}, which is not there"));
            }
            let [a, b] = link.ends;
            if let Some(first) = links.insert((a.min(b), a.max(b)), link.line) {
                return wrong(link.line, format!("nodes {a} and {b} are linked already, from line {first} on"));
            }
        }
        for route in &self.routes {
            if let Some(node) = route.nodes.iter().find(|node| !nodes.contains_key(node)) {
                return wrong(route.line, format!("the route has node {node}, which is not there"));
            }
        }
        if let Some(router) = self.routers.iter().find(|router| self.timer.end / router.meter_time > MOST_LOOKS) {
            let problem = format!(
                "meter_time, {} s, makes more than {MOST_LOOKS:e} looks until the timer's end, {} s: take a longer one",
                router.meter_time, self.timer.end
            );
            return wrong(router.line, problem);
        }
        if self.routes.is_empty() {
            return wrong(1, "the file has no route block: nothing would be sent".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn blocks_inherit_from_the_last_of_their_kind() {
        let found = read(SMALL).unwrap();
        assert_eq!((found.seeds, found.timer.log, found.timer.end, found.max_packet), ([3091, 4917], 10.0, 120.0, 512));
        let [first, second] = &found.routers[..] else { panic!("{:?}", found.routers) };
        assert_eq!((second.mapping, second.idle_time, second.id), (Mapping::PerType, 0.2, 2));
        assert!(first.report && !second.report);
        let links: Vec<(f64, f64)> = found.links.iter().map(|link| (link.speed, link.delay)).collect();
        assert_eq!(links, [(3e6, 0.0225), (3e6, 0.0), (3e6, 0.0), (3e6, 0.0)]);
        let [source, sink] = &found.hosts[..] else { panic!("{:?}", found.hosts) };
        assert!(source.is_source && !sink.is_source && sink.traffic == TrafficType::Telnet && sink.window_limit == 16);
        assert_eq!((found.routes[0].line, &found.routes[0].nodes[..]), (13, &[10, 1, 3, 2, 110][..]));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let problem = |from: &str, to: &str| {
            let text = SMALL.replacen(from, to, 1);
            assert_ne!(text, SMALL);
            let error = read(&text).unwrap_err();
            (error.line, error.problem)
        };
        let cases = [
            ("vc_map", "vcmap", 4, "there is no \"vcmap\" here"),
            ("seed 3091", "sed 3091", 2, "there is no \"sed\" here"),
            ("4917", "4918", 2, "seeds must be odd, and 4918 is even: take 4919"),
            ("3091 4917", "3091", 2, "two seeds, and this has 1"),
            ("per_type", "per_kind", 4, "vc_map must be one of per_conversation, per_type, per_destination"),
            ("speed 3e6", "speed -1", 7, "speed must be a number from 0 on"),
            ("speed 3e6", "speed 0", 7, "speed must be from 1"),
            ("window_limit 16", "window_limit 0", 9, "window_limit must be a whole number from 1"),
            ("router_id 2", "router_id 1", 5, "node 1 is there already, from line 4 on"),
            ("switch_id 3", "", 6, "the switch has no switch_id"),
            ("connects 2 110", "connects 2 111", 12, "node 111, which is not there"),
            ("connects 2 110", "", 12, "no connects"),
            ("route 10 1", "route 10 x", 13, "\"x\" is none"),
            ("route_end", "", 13, "the route block of line 13 has no route_end"),
            ("end 120.0", "end", 3, "end must be a number from 0 on, and is \"timer_end\""),
            ("end 120.0", "end 0", 3, "end must be above 0"),
            ("end 120.0", "end 10", 3, "log, 10 s, must be before its end, 10 s: nothing would be measured"),
            ("log 10", "checkpoint 1e-12", 3, "checkpoint must be 0, or 1e-9 seconds at least"),
            ("log 10", "log 4e9", 3, "log must be at most 3.2e9 seconds"),
            ("idle_time 0.2", "meter_time 1e-12", 4, "meter_time must be 0, or 1e-9 seconds at least"),
            (
                "idle_time 0.2",
                "meter_time 1e-7",
                4,
                "meter_time, 0.0000001 s, makes more than 1e8 looks until the timer's end, 120 s",
            ),
            ("idle_time 0.2", "meter_time 0", 4, "meter_time must be above 0"),
            ("idle_time 0.2", "peak_rate 0.2", 4, "peak_rate must be 0 (none), or from 1 to 1e15 bits per second"),
            ("idle_time 0.2", "peak_rate 1e16", 4, "peak_rate must be 0 (none), or from 1"),
            ("window_limit 16", "conv_len_mean 1e10", 9, "conv_len_mean must be at most 3.2e9 packets"),
            ("window_limit 16", "pkt_len_mean 1e10", 9, "pkt_len_mean must be at most 3.2e9 bytes"),
            (
                "router_id 2",
                "router_id 18446744073709551615",
                5,
                "router_id must be a whole number below 18446744073709551615",
            ),
            ("connects 2 110", "connects 3 1", 12, "nodes 3 and 1 are linked already, from line 7 on"),
            ("route 10 1 3 2 110 route_end", "", 1, "the file has no route block"),
        ];
        for (from, to, line, wanted) in cases {
            let (at, found) = problem(from, to);
            assert!(at == line && found.contains(wanted), "{to}: line {at}: {found}");
        }
    }
}
