//! The blocks of a specification.

use super::position::Position;
use super::problem::{Problem, shown};
use super::reader::{Block, Parameter, Reader, set};
use super::words::{HOST, LINK, ROUTE, ROUTER, SEED, SWITCH, TIMER};
use super::{Buffer, Discard, Host, Law, Link, Mapping, NO_NODE, Placed, Queueing, Route, Timer, TrafficType};

impl Reader<'_> {
    /// Reads two odd numbers.
    pub fn seed_block(&mut self, opened: Position) {
        let mut seeds = Vec::new();
        while let Some(word) = self.number_of_block(&SEED, opened) {
            let refused = |problem: String| Problem::new(word.at, problem).about("seed");
            let seed = word.text.parse::<u32>();
            match seed {
                Ok(seed) if seed % 2 == 1 => {}
                Ok(seed) => {
                    let problem = refused(format!("seed: {seed} is even, and seeds must be odd"));
                    self.problems.push(problem.hint(format_args!("take {}", seed | 1)));
                }
                Err(_) => self
                    .problems
                    .push(refused(format!("seed: \"{}\" is not a whole number below 2^32", shown(word.text)))),
            }
            seeds.push(seed.unwrap_or(1));
        }
        match seeds[..] {
            [first, second] => self.found.seeds = [first, second],
            _ => {
                let problem = format!("seed: a seed block has two seeds, not {}", seeds.len());
                self.problems.push(Problem::new(opened, problem).about("seed"));
            }
        }
    }

    /// Reads the times of the run.
    pub fn timer_block(&mut self, opened: Position) {
        let before = self.problems.count();
        let (mut log_at, mut regeneration_at) = (None, None);
        while let Some(parameter) = self.parameter(&TIMER, opened) {
            match parameter.name {
                "log" => {
                    log_at = self.words.peek().map(|word| word.at);
                    set(self.seconds(parameter), &mut self.found.timer.log);
                }
                "checkpoint" => set(self.seconds(parameter), &mut self.found.timer.checkpoint),
                "regeneration" => {
                    regeneration_at = self.words.peek().map(|word| word.at);
                    set(self.seconds(parameter), &mut self.found.timer.regeneration);
                }
                _ => {
                    self.end_at = self.words.peek().map(|word| word.at);
                    set(self.seconds_above_zero(parameter), &mut self.found.timer.end);
                }
            }
        }
        let Timer { log, regeneration, end, .. } = self.found.timer;
        if self.problems.count() > before {
            return;
        }
        if log >= end {
            let problem = format!("timer.log of {log} s must be before timer.end, {end} s: nothing would be measured");
            self.problems.push(Problem::new(log_at.or(self.end_at).unwrap_or(opened), problem).about("timer.log"));
        } else if regeneration > 0.0 && regeneration < log {
            let problem = format!(
                "timer.regeneration of {regeneration} s must not be before timer.log, {log} s: the run could end before \
                 anything is measured"
            );
            let at = regeneration_at.or(log_at).unwrap_or(opened);
            self.problems.push(Problem::new(at, problem).about("timer.regeneration"));
        }
    }

    /// Reads a parameter of a buffer.
    fn buffer(&mut self, parameter: Parameter, buffer: &mut Buffer) {
        match parameter.name {
            "buffer_policy" => {
                let known = [("infinite", false), ("statistical", true)];
                set(self.one_of(parameter, &known), &mut buffer.is_finite);
            }
            "buffer_size" => set(self.count(parameter, 1..=u32::MAX), &mut buffer.size),
            "discard" => {
                let known = [("tail", Discard::Tail), ("partial", Discard::Partial), ("early", Discard::Early)];
                set(self.one_of(parameter, &known), &mut buffer.discard);
            }
            "discard_threshold" => set(self.count(parameter, 1..=u32::MAX), &mut buffer.threshold),
            name => unreachable!("{name} is no parameter of a buffer"),
        }
    }

    fn queueing(&mut self, parameter: Parameter) -> Option<Queueing> {
        self.one_of(parameter, &[("fifo", Queueing::Fifo), ("round_robin", Queueing::RoundRobin)])
    }

    /// Registers the number of a block that is a node. Returns whether it has a number of its own.
    fn node(&mut self, id: &Id, block: &str, opened: Position) -> bool {
        let key = format!("{block}.{block}_id");
        if matches!(id, Id::Missing) {
            let problem = format!("the {block} has no {block}_id");
            self.problems.push(Problem::new(opened, problem).about(&key));
        }
        self.register(id.read(), &key)
    }

    /// Reads a router.
    pub fn router_block(&mut self, opened: Position) {
        let before = self.problems.count();
        let mut router = self.kept.router.take().unwrap_or_default();
        router.at = opened;
        let mut id = Id::Missing;
        while let Some(parameter) = self.parameter(&ROUTER, opened) {
            match parameter.name {
                "router_id" => id = Id::Given(self.id(parameter)),
                "vc_map" => {
                    let known = [
                        ("per_conversation", Mapping::PerConversation),
                        ("per_type", Mapping::PerType),
                        ("per_destination", Mapping::PerDestination),
                    ];
                    set(self.one_of(parameter, &known), &mut router.mapping);
                }
                "packet_queue" => set(self.queueing(parameter), &mut router.packet_queue),
                "cell_queue" => set(self.queueing(parameter), &mut router.cell_queue),
                "dynamic_vc" => set(self.switch(parameter), &mut router.dynamic),
                "idle_time" => set(self.seconds(parameter), &mut router.idle_time),
                "setup_time" => set(self.seconds(parameter), &mut router.setup_time),
                "flow_control" => {
                    let known = [("none", false), ("0", false), ("fixed_window", true), ("1", true)];
                    router.has_window = self.one_of(parameter, &known).or(router.has_window);
                }
                "vc_window" | "default_window" => set(self.count(parameter, 0..=u32::MAX), &mut router.window),
                "maximum_window" => set(self.count(parameter, 0..=u32::MAX), &mut router.maximum_window),
                "peak_rate" => set(self.rate_or_none(parameter), &mut router.peak_rate),
                "meter_time" => {
                    self.kept.meter_at = self.words.peek().map(|word| word.at);
                    set(self.seconds_above_zero(parameter), &mut router.meter_time);
                }
                "report" => set(self.switch(parameter), &mut router.report),
                _ => self.buffer(parameter, &mut router.buffer),
            }
        }
        self.kept.router = Some(router.clone());
        let is_sound = self.problems.count() == before;
        let is_alone = self.node(&id, "router", opened);
        router.id = id.placed();
        let value = (router, self.kept.meter_at);
        self.routers.push(Block { value, is_sound: is_sound && is_alone });
    }

    /// Reads a switch.
    pub fn switch_block(&mut self, opened: Position) {
        let before = self.problems.count();
        let mut switch = self.kept.switch.take().unwrap_or_default();
        switch.at = opened;
        let mut id = Id::Missing;
        while let Some(parameter) = self.parameter(&SWITCH, opened) {
            match parameter.name {
                "switch_id" => id = Id::Given(self.id(parameter)),
                "cell_queue" => set(self.queueing(parameter), &mut switch.cell_queue),
                "report" => set(self.switch(parameter), &mut switch.report),
                _ => self.buffer(parameter, &mut switch.buffer),
            }
        }
        self.kept.switch = Some(switch.clone());
        let is_sound = self.problems.count() == before;
        let is_alone = self.node(&id, "switch", opened);
        switch.id = id.placed();
        self.switches.push(Block { value: switch, is_sound: is_sound && is_alone });
    }

    /// Reads a link.
    pub fn link_block(&mut self, opened: Position) {
        let before = self.problems.count();
        let mut link = self.kept.link.take().unwrap_or_default();
        (link.at, link.id) = (opened, None);
        let (mut connects, mut ends) = (false, None);
        while let Some(parameter) = self.parameter(&LINK, opened) {
            match parameter.name {
                "link_id" => link.id = self.id(parameter).map(|id| id.value),
                "connects" => {
                    connects = true;
                    ends = self.ends(parameter);
                }
                "speed" => set(self.rate(parameter), &mut link.speed),
                "delay" => set(self.seconds(parameter), &mut link.delay),
                // The study's sample has it in routers; the output has no part for a link.
                _ => drop(self.switch(parameter)),
            }
        }
        if !connects {
            let problem = Problem::new(opened, "the link has no connects").about("link.connects");
            self.problems.push(problem.hint("connects A B names the numbers of its two nodes"));
        }
        self.kept.link = Some(link.clone());
        match ends {
            Some(ends) => {
                let is_sound = self.problems.count() == before;
                self.links.push(Block { value: Link { ends, ..link }, is_sound });
            }
            None => self.lost_links = true,
        }
    }

    /// The numbers of two nodes.
    fn ends(&mut self, parameter: Parameter) -> Option<[Placed<u64>; 2]> {
        let first = self.id(parameter);
        // If the first is missing, the second is missing too.
        let is_missing = first.is_none() && self.words.peek().is_none_or(|word| word.text.parse::<u64>().is_err());
        let second = if is_missing { None } else { self.id(parameter) };
        Some([first?, second?])
    }

    /// Reads a host.
    pub fn host_block(&mut self, opened: Position) {
        let before = self.problems.count();
        let mut host = self.kept.host.take().unwrap_or_default();
        host.at = opened;
        let mut id = Id::Missing;
        while let Some(parameter) = self.parameter(&HOST, opened) {
            match parameter.name {
                "host_id" => id = Id::Given(self.id(parameter)),
                "function" => {
                    let known = [("source", true), ("receiver", false), ("sink", false)];
                    set(self.one_of(parameter, &known), &mut host.is_source);
                }
                "traffic_type" => {
                    let known = [
                        ("ftp", TrafficType::Ftp),
                        ("nntp", TrafficType::Nntp),
                        ("smtp", TrafficType::Smtp),
                        ("telnet", TrafficType::Telnet),
                        ("misc", TrafficType::Misc),
                    ];
                    set(self.one_of(parameter, &known), &mut host.traffic);
                }
                "flow_control" => {
                    let known = [("slow_start", true), ("fixed_window", false)];
                    set(self.one_of(parameter, &known), &mut host.slow_start);
                }
                "window_limit" => set(self.count(parameter, 1..=1 << 24), &mut host.window_limit),
                "retransmit" => set(self.switch(parameter), &mut host.retransmit),
                "report" => set(self.switch(parameter), &mut host.report),
                _ => self.distribution(parameter, &mut host),
            }
        }
        self.kept.host = Some(host.clone());
        let is_sound = self.problems.count() == before;
        let is_alone = self.node(&id, "host", opened);
        host.id = id.placed();
        self.hosts.push(Block { value: host, is_sound: is_sound && is_alone });
    }

    /// Reads a part of a distribution of a host.
    fn distribution(&mut self, parameter: Parameter, host: &mut Host) {
        let (which, part) = parameter.name.rsplit_once('_').unwrap_or((parameter.name, ""));
        let (law, unit): (&mut Law, &str) = match which {
            "conv_arr" => (&mut host.between, "seconds"),
            "conv_len" => (&mut host.length, "packets"),
            "pkt_arr" => (&mut host.gap, "seconds"),
            _ => (&mut host.bytes, "bytes"),
        };
        match part {
            "dist" => {
                // Of what is counted, the study says geometric.
                let known = [("constant", false), ("exponential", true), ("geometric", true)];
                set(self.one_of(parameter, &known), &mut law.is_exponential);
            }
            "mean" => set(self.amount(parameter, unit), &mut law.mean),
            // Either distribution has the deviation that its mean gives it.
            _ => drop(self.number(parameter)),
        }
    }

    /// Reads the numbers of the nodes of a route.
    pub fn route_block(&mut self, opened: Position) {
        let before = self.problems.count();
        let mut nodes = Vec::new();
        while let Some(word) = self.number_of_block(&ROUTE, opened) {
            match word.text.parse() {
                Ok(value) => nodes.push(Placed { value, at: word.at }),
                Err(_) => {
                    let problem = format!("route: \"{}\" is not the number of a node", shown(word.text));
                    self.problems.push(Problem::new(word.at, problem).about("route"));
                }
            }
        }
        let is_sound = self.problems.count() == before;
        self.routes.push(Block { value: Route { at: opened, nodes }, is_sound });
    }
}

/// The number of the node in a block.
enum Id {
    /// The block has none.
    Missing,
    /// The block has one; `None` if it is not a valid number.
    Given(Option<Placed<u64>>),
}

impl Id {
    fn read(&self) -> Option<Placed<u64>> {
        match *self {
            Id::Missing => None,
            Id::Given(id) => id,
        }
    }

    fn placed(&self) -> Placed<u64> {
        self.read().unwrap_or(NO_NODE)
    }
}
