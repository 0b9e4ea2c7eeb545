//! What a simulated experiment is.

use std::collections::BTreeSet;
use std::sync::Arc;

use flowloom_core::cell::Mapping;
use flowloom_core::path::cell_keys::Paced;
use flowloom_core::path::{
    BucketConfig, CellParams, Impairments, Leg, Line, PathDelays, Placement, Propagation, Rules, Schedule, TokenBucket,
    Trace, Transmitter,
};
use flowloom_core::plausibility::Response;
use flowloom_core::play::{ReplayModel, Waits};
use flowloom_core::queue::keys::Per;
use flowloom_core::queue::{Discipline, ParameterError};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};
use flowloom_core::workload::{ConnectionVector, LinkSide};

use crate::classed::Origin;
use crate::datagram_flow::DatagramFlow;
use crate::events::Implementation;
use crate::limits::AsCaptured;

/// Connections on both sides of a link, each with its own delay to it; other links may stand before and behind it.
#[derive(Clone, Debug)]
pub struct Config {
    /// The link that the results are about, the same in both directions. In a dumbbell it is the only one.
    pub bottleneck: LinkConfig,
    /// The other links, each in one direction.
    pub links: Vec<LinkConfig>,
    /// What connections of each class have in common: one class at least.
    pub classes: Vec<Class>,
    /// Flows of datagrams beside the workload.
    pub datagrams: Vec<DatagramFlow>,
    /// What happens to the packets from the left and from the right before the link: at the end that sends them, as with
    /// netem there.
    pub path: [Impairments; 2],
    /// From what the delays, losses and bottlenecks of single flows are drawn (methods F.6).
    pub rules: Rules,
    /// Which waits of a vector are replayed (methods A.5.9-10, M.3).
    pub replay: ReplayModel,
    /// Where the monitor stands between the ends.
    pub placement: Placement,
    /// Round-trip time of connections whose own is not known: the median of the workload (methods A.6).
    pub unknown_rtt: Duration,
    /// Connections that start in `[0, window)` are run (methods M.4).
    pub window: Duration,
    /// What the links' statistics over time cover, `[start, end)`; `None`: the window.
    pub results: Option<[Time; 2]>,
    /// How much longer the run may go on for connections to end; at most [`Config::MAX_DRAIN`].
    pub drain: Duration,
    /// Links beside the bottleneck that are measured as it is.
    pub monitored: Vec<Monitored>,
    /// Spacing of queue samples.
    pub queue_every: Duration,
    /// Width of throughput bins.
    pub throughput_every: Duration,
    /// Whether the packets that pass the monitored links are recorded.
    pub record_packets: bool,
    /// Seed of everything random: the initial sequence numbers, the decisions of queues, what happens on the way.
    pub seed: u64,
    /// Whether the packets at the monitor are made into vectors again (methods M.1). Costs time and memory.
    pub monitor: bool,
    /// Which senders' windows are traced.
    pub traced: Traced,
    /// Longest silence within an ADU at the monitor (methods A.5.2); that of the extraction to compare with.
    pub quiet: Duration,
    /// The monitor knows where the ADUs of its vectors begin: a silence that the link makes inside one splits nothing. A capture does not
    /// tell, so that checks of what is extracted from one leave this false.
    pub knows_adus: bool,
    /// What the event queue is made of; nothing depends on it but time.
    pub events: Implementation,
}

/// A link in one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkConfig {
    /// Its rate.
    pub rate: Rate,
    /// Propagation, one way.
    pub delay: Duration,
    /// The queue in front of it, in which the packet in transmission does not count.
    pub queue: Discipline,
    /// What a discipline that has a queue for each flow takes for one; of a link of cells, which packets share a circuit.
    pub per: Grouping,
    /// Cells that carry the packets: their buffer stands in place of the queue.
    pub cells: Option<CellParams>,
    /// What sends the packets from the left and from the right: a trace instead of the rate.
    pub trace: Option<[Arc<Trace>; 2]>,
    /// A token bucket of each direction that the packets at the head of the queue wait for.
    pub shaper: Option<BucketConfig>,
    /// A token bucket of each direction without whose tokens packets are dropped before the queue.
    pub policer: Option<BucketConfig>,
}

impl LinkConfig {
    /// A link of `rate` with neither propagation nor a practical limit to its queue.
    pub fn new(rate: Rate) -> LinkConfig {
        LinkConfig {
            rate,
            delay: Duration::ZERO,
            queue: Discipline::DropTail(Limit::Packets(65_000)),
            per: Grouping::Connection,
            cells: None,
            trace: None,
            shaper: None,
            policer: None,
        }
    }

    /// What sends the packets from `side`. A trace comes before a shaper.
    pub fn transmitter(&self, side: LinkSide) -> Transmitter {
        let line = Line::new(self.rate);
        match (&self.trace, self.shaper) {
            (Some(traces), _) => Transmitter::Trace(Schedule::new(Arc::clone(&traces[side as usize]))),
            (None, Some(bucket)) => Transmitter::Shaper(line, Box::new(TokenBucket::new(bucket))),
            (None, None) => Transmitter::Line(line),
        }
    }
}

/// What packets of a link belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// Those of a connection.
    Connection,
    /// Those of a class of connections.
    Class,
    /// Those of a virtual circuit.
    Circuit(Mapping, Paced),
}

impl From<Per> for Grouping {
    fn from(per: Per) -> Grouping {
        match per {
            Per::Connection => Grouping::Connection,
            Per::Class => Grouping::Class,
        }
    }
}

/// The number of a link in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkNumber(pub u16);

impl LinkNumber {
    /// The bottleneck, for packets that come from `side` of it.
    pub const fn bottleneck(side: LinkSide) -> LinkNumber {
        LinkNumber(side as u16)
    }

    /// Whether it is one of the bottleneck's.
    pub const fn is_bottleneck(self) -> bool {
        self.0 < 2
    }

    /// The link at this place in [`Config::links`].
    ///
    /// # Panics
    /// Beyond 65,533.
    pub fn other(at: usize) -> LinkNumber {
        LinkNumber(u16::try_from(at + 2).expect("fewer than 65,534 links"))
    }

    /// The side that its packets come from; of links beside the bottleneck, which have one direction, left.
    pub(crate) fn side(self) -> LinkSide {
        if self == LinkNumber::bottleneck(LinkSide::Right) { LinkSide::Right } else { LinkSide::Left }
    }

    /// Its place among all links, the bottleneck's two directions first.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// A link beside the bottleneck at which queue, throughput and packets are measured: at its beginning, as the bottleneck's
/// are at its left end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monitored {
    /// The link.
    pub there: LinkNumber,
    /// The link back, if there is one, measured at its end.
    pub back: Option<LinkNumber>,
}

/// The links that the packets of a class of connections cross, in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// From the left end to the right end.
    pub there: Box<[LinkNumber]>,
    /// From the right end to the left end.
    pub back: Box<[LinkNumber]>,
}

impl Way {
    /// Across the bottleneck and nothing else.
    pub fn across_bottleneck() -> Way {
        let link = |side| [LinkNumber::bottleneck(side)].into();
        Way { there: link(LinkSide::Left), back: link(LinkSide::Right) }
    }

    /// The links that packets from `side` cross.
    pub fn from(&self, side: LinkSide) -> &[LinkNumber] {
        match side {
            LinkSide::Left => &self.there,
            LinkSide::Right => &self.back,
        }
    }
}

/// Connections whose congestion windows are traced, both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Traced {
    /// None.
    #[default]
    None,
    /// Those of sources beside the workload.
    Sources,
    /// These.
    Connections(BTreeSet<u64>),
    /// All.
    All,
}

impl Traced {
    pub(crate) fn includes(&self, id: u64, origin: Origin) -> bool {
        match self {
            Traced::None => false,
            Traced::Sources => matches!(origin, Origin::Source { .. }),
            Traced::Connections(ids) => ids.contains(&id),
            Traced::All => true,
        }
    }
}

/// What connections have in common.
#[derive(Clone, Debug)]
pub struct Class {
    /// The links they cross.
    pub way: Way,
    /// The parameters of both ends.
    pub tcp: tcp::Config,
    /// Which of what the original's packets had its connections have too. Default nothing.
    pub as_captured: AsCaptured,
    /// The response function that mean windows are set beside; `None` takes that of the congestion control, if it has one.
    pub response: Option<Response>,
    /// Its flows are what a study looks at, and others are their background: which circuits are paced goes by this.
    pub is_target: bool,
}

impl Default for Class {
    /// Across the bottleneck alone, with TCP as it comes.
    fn default() -> Class {
        Class {
            way: Way::across_bottleneck(),
            tcp: tcp::Config::default(),
            as_captured: AsCaptured::default(),
            response: None,
            is_target: false,
        }
    }
}

impl Class {
    /// The response function of its connections, if there is one.
    pub fn response(&self) -> Option<Response> {
        self.response.or_else(|| Response::of(&self.tcp))
    }
}

impl Config {
    /// Longest drain (methods M.4).
    pub const MAX_DRAIN: Duration = Duration::from_secs(60);
    /// Longest window and longest delay: a hundred years, far from where a `Time` ends.
    pub const MAX_WINDOW: Duration = Duration::from_secs(100 * 365 * 86_400);
    /// Longest one-way delay of a link and longest round-trip time.
    pub const MAX_DELAY: Duration = Duration::from_secs(3_600);

    /// A run of `window` over a link of `rate` with neither propagation nor a practical limit to its queue; everything
    /// else as methods C, M.1 and M.4 have it.
    pub fn new(rate: Rate, window: Duration) -> Config {
        Config {
            bottleneck: LinkConfig::new(rate),
            links: Vec::new(),
            classes: vec![Class::default()],
            datagrams: Vec::new(),
            path: Default::default(),
            rules: Rules::default(),
            replay: ReplayModel::with_waits(Waits::CORRECTED),
            placement: Placement::Measured,
            unknown_rtt: Duration::from_millis(100),
            window,
            results: None,
            drain: Config::MAX_DRAIN,
            monitored: Vec::new(),
            queue_every: Duration::from_millis(10),
            throughput_every: Duration::from_millis(1),
            record_packets: false,
            seed: 1,
            monitor: true,
            traced: Traced::None,
            quiet: Duration::from_millis(500),
            knows_adus: false,
            events: Implementation::Wheel,
        }
    }

    /// Whether the numbers can be simulated.
    ///
    /// # Errors
    /// The first one that cannot, and what would be possible.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let at_most = |name, value: Duration, most: Duration| {
            if value > most { Err(ConfigError::TooLong { name, value, most }) } else { Ok(()) }
        };
        let above_zero = |name, value: Duration| if value.is_zero() { Err(ConfigError::Zero { name }) } else { Ok(()) };
        above_zero("window", self.window)?;
        above_zero("queue_every", self.queue_every)?;
        above_zero("throughput_every", self.throughput_every)?;
        at_most("window", self.window, Config::MAX_WINDOW)?;
        at_most("drain", self.drain, Config::MAX_DRAIN)?;
        at_most("bottleneck delay", self.bottleneck.delay, Config::MAX_DELAY)?;
        at_most("unknown_rtt", self.unknown_rtt, Config::MAX_DELAY)?;
        for link in [&self.bottleneck].into_iter().chain(&self.links) {
            at_most("link delay", link.delay, Config::MAX_DELAY)?;
            link.queue.build(link.rate, Stream::new(self.seed, Purpose::Queue, 0))?;
            if let Some(problem) = link.rate.impossible() {
                return Err(ConfigError::Rate { rate: link.rate, problem });
            }
            if let Some(cells) = &link.cells {
                above_zero("period of ABR", cells.abr.map_or(Duration::MAX, |abr| abr.every))?;
            }
        }
        for flow in &self.datagrams {
            above_zero("gap of datagrams", flow.datagrams.gap)?;
            at_most("round-trip time of datagrams", flow.rtt, Config::MAX_DELAY)?;
            if usize::from(flow.class) >= self.classes.len() {
                return Err(ConfigError::Way { class: flow.class.into() });
            }
        }
        let links = self.links.len() + 2;
        let measured: Vec<LinkNumber> =
            self.monitored.iter().flat_map(|one| [Some(one.there), one.back]).flatten().collect();
        for (at, link) in measured.iter().enumerate() {
            if link.is_bottleneck() || link.index() >= links || measured[..at].contains(link) {
                return Err(ConfigError::Monitored { link: *link });
            }
        }
        let is_way = |way: &Way, from: LinkSide| {
            let way = way.from(from);
            let distinct = way.iter().enumerate().all(|(at, link)| !way[..at].contains(link));
            let wrong = LinkNumber::bottleneck(from.other());
            !way.is_empty() && distinct && way.iter().all(|link| link.index() < links && *link != wrong)
        };
        let is_good = |way: &Way| is_way(way, LinkSide::Left) && is_way(way, LinkSide::Right);
        match self.classes.iter().position(|class| !is_good(&class.way)) {
            None if !self.classes.is_empty() => Ok(()),
            wrong => Err(ConfigError::Way { class: wrong.unwrap_or(0) }),
        }
    }

    /// A class.
    pub fn class(&self, class: u16) -> &Class {
        &self.classes[usize::from(class)]
    }

    /// The parameters of TCP in a class.
    pub fn tcp(&self, class: u16) -> &tcp::Config {
        &self.class(class).tcp
    }

    /// The link of a number.
    pub fn link(&self, number: LinkNumber) -> &LinkConfig {
        number.index().checked_sub(2).map_or(&self.bottleneck, |at| &self.links[at])
    }

    /// What the links' statistics cover.
    pub fn results(&self) -> [Time; 2] {
        self.results.unwrap_or([Time::ZERO, Time::ZERO + self.window])
    }

    /// How the path of a connection of `class` lies around the monitor; `unknown_rtt` is its round-trip time if its vector says nothing.
    pub(crate) fn path_delays(&self, vector: &ConnectionVector, class: u16, unknown_rtt: Duration) -> PathDelays {
        let (transits, propagation) = (self.replay.transits, self.propagation(class));
        PathDelays::new(vector, transits, self.placement, propagation, unknown_rtt)
    }

    /// What the links between the ends of a class take, before and behind the monitor, which stands at the left end of the
    /// bottleneck; for a class that does not cross it, at the left end of its way.
    fn propagation(&self, class: u16) -> Propagation {
        let way = &self.classes[usize::from(class)].way;
        let sum = |links: &[LinkNumber]| links.iter().fold(Duration::ZERO, |sum, link| sum + self.link(*link).delay);
        let place = |from: LinkSide| way.from(from).iter().position(|link| *link == LinkNumber::bottleneck(from));
        let (before, behind) = way.there.split_at(place(LinkSide::Left).unwrap_or(0));
        let (to, from) = way.back.split_at(place(LinkSide::Right).map_or(way.back.len(), |at| at + 1));
        Propagation {
            left: Leg { to_link: sum(before), from_link: sum(from) },
            right: Leg { to_link: sum(to), from_link: sum(behind) },
        }
    }
}

/// A number that cannot be simulated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// It has to be above zero.
    #[error("{name} must be longer than 0 s")]
    Zero {
        /// Which.
        name: &'static str,
    },
    /// It is too long.
    #[error("{name} of {value} is too long (at most {most})")]
    TooLong {
        /// Which.
        name: &'static str,
        /// What was given.
        value: Duration,
        /// What is possible.
        most: Duration,
    },
    /// A way leads over no link, over one that is not there, over one twice, or over the bottleneck in the wrong direction; or
    /// there is none.
    #[error(
        "the way of class {class} leads over no link, over one that is not there, over one twice, or over the bottleneck in the \
         wrong direction"
    )]
    Way {
        /// The class.
        class: usize,
    },
    /// A monitored link is the bottleneck, is not there, or is monitored twice.
    #[error("link {} cannot be monitored: it is the bottleneck, is not there, or is monitored twice", .link.index())]
    Monitored {
        /// Which.
        link: LinkNumber,
    },
    /// A parameter of the queue discipline is wrong.
    #[error("queue of a link: {0}")]
    Queue(#[from] ParameterError),
    /// No link has such a rate.
    #[error("a link of {rate} is {problem}")]
    Rate {
        /// What was given.
        rate: Rate,
        /// See [`Rate::impossible`].
        problem: String,
    },
}
