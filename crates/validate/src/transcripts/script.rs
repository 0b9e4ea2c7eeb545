//! What a script says, once read.

use flowloom_core::time::Duration;
use flowloom_core::wire::Ecn;

use super::lexer::Position;

/// A script as parsed.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The file it was read from, for messages.
    pub file: String,
    /// `--name=value` lines ahead of the first event.
    pub options: Vec<Setting>,
    /// Events in the order of the script.
    pub events: Vec<Event>,
}

/// A name with a value, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The position of the name.
    pub at: Position,
    /// The name of the setting.
    pub name: String,
    /// The value; empty if none was given.
    pub value: String,
}

/// One event of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The position at which the event begins.
    pub at: Position,
    /// The time at which the event happens.
    pub time: When,
    /// The action at that time.
    pub action: Action,
}

/// When an event happens. All but the first two are for packets that are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At this time after the start.
    At(Duration),
    /// So long after the event before.
    After(Duration),
    /// Between two times after the start.
    Between(Duration, Duration),
    /// Between two times after the event before.
    BetweenAfter(Duration, Duration),
    /// The event may happen at any time.
    Any,
}

/// The kinds of actions in a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// `<`: the remote end's packet arrives.
    Inbound(Packet),
    /// `>`: the endpoint sends this packet.
    Outbound(Packet),
    /// The program calls the kernel.
    Call(Call),
    /// `` `sysctl ...` ``: settings.
    Configure(Vec<Setting>),
    /// Checks of the state, written `%{ assert ... }%`.
    Assert(Vec<Assertion>),
}

/// A packet: what arrives, or what a packet sent has to look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The ECN field; `None` leaves it unchecked, and is Not-ECT in packets that arrive.
    pub ecn: Option<EcnField>,
    /// The flags, as bits of the header.
    pub flags: u8,
    /// Sequence number, 0 for the SYN.
    pub sequence: u32,
    /// The length of the payload, in bytes.
    pub payload_bytes: u32,
    /// Acknowledgement number; given if and only if the ACK flag is.
    pub acknowledgement: Option<u32>,
    /// The window field as it stands in the header; `None` leaves it unchecked.
    pub window: Option<u16>,
    /// Options; `None` (`<...>`) leaves them unchecked.
    pub options: Option<Options>,
}

/// What the ECN field has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnField {
    /// The ECN field has this value.
    Exactly(Ecn),
    /// The ECN field is ECT(0) or ECT(1).
    Capable,
}

/// TCP options. Their order and the padding between them are not kept.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// The maximum segment size, written `mss N`.
    pub mss: Option<u16>,
    /// The window scale, written `wscale N`.
    pub window_scale: Option<u8>,
    /// SACK is permitted, written `sackOK`.
    pub sack_permitted: bool,
    /// The SACK blocks, written `sack A:B C:D`.
    pub sack: Vec<(u32, u32)>,
    /// The timestamp and its echo, written `TS val N ecr N`.
    pub timestamps: Option<(u32, u32)>,
}

/// A system call that the script makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// `...TIME`: it blocks until then, in the script's kind of time.
    pub until: Option<Duration>,
    /// The name of the system call.
    pub name: String,
    /// The arguments of the system call.
    pub arguments: Vec<Argument>,
    /// The value that the call has to return.
    pub result: i64,
    /// The errno that the call has to set if it returns -1.
    pub error: Option<String>,
}

/// An argument of a system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// An argument that may be anything, written `...`.
    Anything,
    /// An argument that is a number.
    Number(i64),
    /// A constant's name, or several joined with `|`.
    Name(String),
    /// An argument in quotes.
    Text(String),
    /// An argument in brackets or braces.
    List(Vec<Argument>),
    /// `{onoff=N, linger=N}`, or any list of named fields.
    Field(String, Box<Argument>),
}

/// A comparison of two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// The position of the assertion.
    pub at: Position,
    /// The left side of the comparison.
    pub left: Operand,
    /// The sign of the comparison.
    pub comparison: Comparison,
    /// The right side of the comparison.
    pub right: Operand,
}

/// One side of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A number or a named constant.
    Number(i64),
    /// A field of what TCP tells of itself.
    Field(super::info::Field),
}

/// `==`, `!=`, `<`, `<=`, `>`, `>=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The sides are equal, `==`.
    Equal,
    /// The sides differ, `!=`.
    Unequal,
    /// The left side is less, `<`.
    Less,
    /// The left side is less or equal, `<=`.
    AtMost,
    /// The left side is greater, `>`.
    Greater,
    /// The left side is greater or equal, `>=`.
    AtLeast,
}

impl Comparison {
    /// All comparisons, those with longer signs first.
    pub(super) const ALL: [(&'static str, Comparison); 6] = [
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];

    /// Whether the comparison holds for two values.
    pub fn holds(self, left: i64, right: i64) -> bool {
        match self {
            Comparison::Equal => left == right,
            Comparison::Unequal => left != right,
            Comparison::Less => left < right,
            Comparison::AtMost => left <= right,
            Comparison::Greater => left > right,
            Comparison::AtLeast => left >= right,
        }
    }

    /// The sign as it is written.
    pub fn sign(self) -> &'static str {
        Comparison::ALL.iter().find(|(_, comparison)| *comparison == self).map_or("", |(sign, _)| sign)
    }
}
