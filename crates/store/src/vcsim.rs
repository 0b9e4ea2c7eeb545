//! Specification files of VCSIM, the virtual-circuit simulator of Caceres 1992: names and values between blanks, blocks from `x` to
//! `x_end`, comments from `//` to the end of the line. What a block leaves out it has from the block of its kind before it; the first
//! has the defaults of the kind.
//!
//! What the study describes and its sample does not name has names of ours: see `docs/guide/cells.md`.

mod blocks;
mod checks;
mod position;
mod problem;
mod reader;
mod values;
mod words;

pub use position::Position;
pub use problem::{MOST_PROBLEMS, Problem, Problems};
pub use reader::{Reading, read};

/// No node has this number.
const NONE: u64 = u64::MAX;

/// A value and the place of the word it was read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed<T> {
    /// The value.
    pub value: T,
    /// Where its word begins.
    pub at: Position,
}

/// The number of a node that is not known yet.
const NO_NODE: Placed<u64> = Placed { value: NONE, at: Position { line: 0, column: 0 } };

/// An internetwork as a file specifies it.
#[derive(Clone, Debug, PartialEq)]
pub struct Specification {
    /// Bytes of a packet in a cell.
    pub bytes_per_cell: u32,
    /// Bytes of a cell's header on the line; the study's cells have none.
    pub header_bytes: u32,
    /// The last cell of a packet has full length on the line.
    pub padding: bool,
    /// Most bytes of data in a packet.
    pub max_packet: u32,
    /// Folder with tables of tcplib, relative to the file; without it the summaries of methods G.2 are used.
    pub tables: Option<Placed<String>>,
    /// Both odd.
    pub seeds: [u32; 2],
    /// When what happens.
    pub timer: Timer,
    /// In the order of the file, as the others.
    pub routers: Vec<Router>,
    /// Between routers.
    pub switches: Vec<Switch>,
    /// Between all of them.
    pub links: Vec<Link>,
    /// Sources and receivers.
    pub hosts: Vec<Host>,
    /// One for each conversation.
    pub routes: Vec<Route>,
}

/// Times in seconds; 0 is never.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Timer {
    /// Nothing before it is measured.
    pub log: f64,
    /// From one account of results so far to the next.
    pub checkpoint: f64,
    /// From when on the run ends at an instant at which no queue holds anything.
    pub regeneration: f64,
    /// When it ends at the latest.
    pub end: f64,
}

/// Which conversations share a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// `per_conversation`
    PerConversation,
    /// `per_type`
    PerType,
    /// `per_destination`
    PerDestination,
}

/// How queues take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queueing {
    /// `fifo`
    Fifo,
    /// `round_robin`
    RoundRobin,
}

/// Which cells are lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// `tail`: those that find no room.
    Tail,
    /// `partial`: and the rest of their packets.
    Partial,
    /// `early`: whole packets from a threshold on.
    Early,
}

/// A buffer of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// `buffer_policy` is `statistical` (shared by all circuits), not `infinite`.
    pub is_finite: bool,
    /// `buffer_size`: its cells.
    pub size: u32,
    /// `discard`
    pub discard: Discard,
    /// `discard_threshold`: cells, for `early`.
    pub threshold: u32,
}

impl Buffer {
    /// Whether it is full before it discards packets early.
    pub fn is_below_threshold(&self) -> bool {
        self.is_finite && self.discard == Discard::Early && self.size < self.threshold
    }

    /// Whether it is to discard the rest of packets, and loses no cell.
    pub fn discards_without_loss(&self) -> bool {
        !self.is_finite && self.discard == Discard::Partial
    }
}

/// A router.
#[derive(Clone, Debug, PartialEq)]
pub struct Router {
    /// Where its block begins.
    pub at: Position,
    /// `router_id`
    pub id: Placed<u64>,
    /// `vc_map`
    pub mapping: Mapping,
    /// `packet_queue`
    pub packet_queue: Queueing,
    /// `cell_queue`
    pub cell_queue: Queueing,
    /// Of its cells.
    pub buffer: Buffer,
    /// `dynamic_vc`
    pub dynamic: bool,
    /// `idle_time`, in seconds.
    pub idle_time: f64,
    /// `setup_time`, in seconds.
    pub setup_time: f64,
    /// `flow_control` of circuits: whether they have a window. Without it, they have one if there is one.
    pub has_window: Option<bool>,
    /// `vc_window` or `default_window`, in cells; 0 is none.
    pub window: u32,
    /// `maximum_window`, in cells; 0 is none.
    pub maximum_window: u32,
    /// `peak_rate` of a circuit in bits per second; 0 is none.
    pub peak_rate: f64,
    /// `meter_time`, in seconds.
    pub meter_time: f64,
    /// `report`
    pub report: bool,
}

impl Router {
    /// Cells that a circuit may have under way; 0 is no limit.
    pub fn circuit_window(&self) -> u32 {
        match (self.has_window, self.maximum_window) {
            (Some(false), _) => 0,
            (_, 0) => self.window,
            (_, most) => self.window.min(most),
        }
    }

    /// Whether it has a window, or a most of one, which its circuits do not have.
    pub fn has_unused_window(&self) -> bool {
        self.has_window == Some(false) && (self.window > 0 || self.maximum_window > 0)
    }

    /// Whether its circuits are to have a window, and none is given.
    pub fn lacks_window(&self) -> bool {
        let wants = self.has_window == Some(true) || (self.has_window.is_none() && self.maximum_window > 0);
        wants && self.window == 0
    }
}

/// A switch.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Where its block begins.
    pub at: Position,
    /// `switch_id`
    pub id: Placed<u64>,
    /// `cell_queue`
    pub cell_queue: Queueing,
    /// Of its cells.
    pub buffer: Buffer,
    /// `report`
    pub report: bool,
}

/// A link.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Where its block begins.
    pub at: Position,
    /// `link_id`, if it has one.
    pub id: Option<u64>,
    /// `connects`
    pub ends: [Placed<u64>; 2],
    /// `speed`, in bits per second.
    pub speed: f64,
    /// `delay`, in seconds.
    pub delay: f64,
}

/// What a source sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrafficType {
    /// Files.
    Ftp,
    /// Articles.
    Nntp,
    /// Messages.
    Smtp,
    /// Someone at a terminal.
    Telnet,
    /// Packets of laws that the file gives.
    Misc,
}

/// A law of the file: a constant, or an exponential distribution of this mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// It is exponential.
    pub is_exponential: bool,
    /// Its mean.
    pub mean: f64,
}

/// A host.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Where its block begins.
    pub at: Position,
    /// `host_id`
    pub id: Placed<u64>,
    /// `function` is `source`, not `receiver` or `sink`.
    pub is_source: bool,
    /// `traffic_type`
    pub traffic: TrafficType,
    /// `flow_control` is `slow_start`, not `fixed_window`.
    pub slow_start: bool,
    /// `window_limit`, in packets.
    pub window_limit: u32,
    /// `retransmit`
    pub retransmit: bool,
    /// `conv_arr_dist`, `conv_arr_mean`: seconds from the end of a conversation to the next.
    pub between: Law,
    /// `conv_len_dist`, `conv_len_mean`: packets of a `misc` conversation.
    pub length: Law,
    /// `pkt_arr_dist`, `pkt_arr_mean`: seconds between them.
    pub gap: Law,
    /// `pkt_len_dist`, `pkt_len_mean`: their bytes.
    pub bytes: Law,
    /// `report`
    pub report: bool,
}

/// A conversation's way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where its block begins.
    pub at: Position,
    /// Numbers of its nodes.
    pub nodes: Vec<Placed<u64>>,
}

impl Default for Specification {
    fn default() -> Specification {
        Specification {
            bytes_per_cell: 48,
            header_bytes: 0,
            padding: false,
            max_packet: 512,
            tables: None,
            seeds: [1, 1],
            timer: Timer { log: 0.0, checkpoint: 0.0, regeneration: 0.0, end: 180.0 },
            routers: Vec::new(),
            switches: Vec::new(),
            links: Vec::new(),
            hosts: Vec::new(),
            routes: Vec::new(),
        }
    }
}

impl Default for Buffer {
    fn default() -> Buffer {
        Buffer { is_finite: false, size: 1_000, discard: Discard::Tail, threshold: 500 }
    }
}

impl Default for Router {
    fn default() -> Router {
        Router {
            at: Position::default(),
            id: NO_NODE,
            mapping: Mapping::PerConversation,
            packet_queue: Queueing::Fifo,
            cell_queue: Queueing::RoundRobin,
            buffer: Buffer::default(),
            dynamic: false,
            idle_time: 0.09,
            setup_time: 0.0,
            has_window: None,
            window: 0,
            maximum_window: 0,
            peak_rate: 0.0,
            meter_time: 0.1,
            report: true,
        }
    }
}

impl Default for Switch {
    fn default() -> Switch {
        Switch {
            at: Position::default(),
            id: NO_NODE,
            cell_queue: Queueing::RoundRobin,
            buffer: Buffer::default(),
            report: true,
        }
    }
}

impl Default for Link {
    fn default() -> Link {
        Link { at: Position::default(), id: None, ends: [NO_NODE; 2], speed: 1.5e6, delay: 0.0 }
    }
}

impl Default for Host {
    fn default() -> Host {
        let law = |mean| Law { is_exponential: false, mean };
        Host {
            at: Position::default(),
            id: NO_NODE,
            is_source: true,
            traffic: TrafficType::Ftp,
            slow_start: true,
            window_limit: 128,
            retransmit: true,
            between: law(0.0),
            length: law(100.0),
            gap: law(0.1),
            bytes: law(512.0),
            report: true,
        }
    }
}
