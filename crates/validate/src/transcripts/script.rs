//! What a script says, once read.

use flowloom_core::time::Duration;
use flowloom_core::wire::Ecn;

use super::lexer::Position;

/// A script.
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
    /// Where.
    pub at: Position,
    /// The name.
    pub name: String,
    /// The value; empty if none was given.
    pub value: String,
}

/// One line of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Where it begins.
    pub at: Position,
    /// When it happens.
    pub time: When,
    /// What happens.
    pub action: Action,
}

/// When an event happens. All but the first two are for packets that are expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// So long after the start.
    At(Duration),
    /// So long after the event before.
    After(Duration),
    /// Between two times after the start.
    Between(Duration, Duration),
    /// Between two times after the event before.
    BetweenAfter(Duration, Duration),
    /// At any time.
    Any,
}

/// What happens.
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
    /// `%{ assert ... }%`.
    Assert(Vec<Assertion>),
}

/// A packet: what arrives, or what a packet sent has to look like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The ECN field; `None` leaves it unchecked, and is Not-ECT in packets that arrive.
    pub ecn: Option<EcnField>,
    /// Flags, as in the header.
    pub flags: u8,
    /// Sequence number, 0 for the SYN.
    pub sequence: u32,
    /// Payload bytes.
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
    /// This.
    Exactly(Ecn),
    /// ECT(0) or ECT(1).
    Capable,
}

/// TCP options. Their order and the padding between them are not kept.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Options {
    /// `mss N`.
    pub mss: Option<u16>,
    /// `wscale N`.
    pub window_scale: Option<u8>,
    /// `sackOK`.
    pub sack_permitted: bool,
    /// `sack A:B C:D`.
    pub sack: Vec<(u32, u32)>,
    /// `TS val N ecr N`.
    pub timestamps: Option<(u32, u32)>,
}

/// A system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// `...TIME`: it blocks until then, in the script's kind of time.
    pub until: Option<Duration>,
    /// Its name.
    pub name: String,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// What it has to return.
    pub result: i64,
    /// With -1: the errno.
    pub error: Option<String>,
}

/// An argument of a system call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// `...`: anything.
    Anything,
    /// A number.
    Number(i64),
    /// A constant's name, or several joined with `|`.
    Name(String),
    /// `"..."`.
    Text(String),
    /// `[...]` or `{...}`.
    List(Vec<Argument>),
    /// `{onoff=N, linger=N}`, or any list of named fields.
    Field(String, Box<Argument>),
}

/// A comparison of two values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assertion {
    /// Where it stands.
    pub at: Position,
    /// The left side.
    pub left: Operand,
    /// How they are compared.
    pub comparison: Comparison,
    /// The right side.
    pub right: Operand,
}

/// A side of a comparison.
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
    /// `==`
    Equal,
    /// `!=`
    Unequal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Comparison {
    /// All, longer signs first.
    pub(super) const ALL: [(&'static str, Comparison); 6] = [
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
    ];

    /// Whether it holds.
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

    /// As written.
    pub fn sign(self) -> &'static str {
        Comparison::ALL.iter().find(|(_, comparison)| *comparison == self).map_or("", |(sign, _)| sign)
    }
}
