//! The variables that laws are fitted to.

use crate::metric::Unit;

/// A variable of TCP connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FitVariable {
    /// What an initiator sends in an epoch.
    RequestBytes,
    /// What an acceptor sends in an epoch.
    ResponseBytes,
    /// Any data unit, those of concurrent connections among them.
    AduBytes,
    /// Epochs of a sequential connection.
    Epochs,
    /// Waits of initiators after a data unit.
    InitiatorWait,
    /// Waits of acceptors after a data unit.
    AcceptorWait,
    /// From the last byte of a request to the first of its response, at the acceptor: without the transit that a monitor sees in it.
    ThinkTime,
    /// Payload of a connection, both ways.
    ConnectionBytes,
    /// First to last data byte.
    Duration,
    /// Minimum round-trip time.
    Rtt,
    /// Largest window an initiator advertised.
    InitiatorWindow,
    /// Largest window an acceptor advertised.
    AcceptorWindow,
    /// Between the starts of neighbouring connections.
    Interarrival,
}

impl FitVariable {
    /// All of them, in the order of reports.
    pub const ALL: [FitVariable; 13] = [
        FitVariable::RequestBytes,
        FitVariable::ResponseBytes,
        FitVariable::AduBytes,
        FitVariable::Epochs,
        FitVariable::InitiatorWait,
        FitVariable::AcceptorWait,
        FitVariable::ThinkTime,
        FitVariable::ConnectionBytes,
        FitVariable::Duration,
        FitVariable::Rtt,
        FitVariable::InitiatorWindow,
        FitVariable::AcceptorWindow,
        FitVariable::Interarrival,
    ];

    const fn facts(self) -> (&'static str, &'static str, &'static str, Unit) {
        match self {
            FitVariable::RequestBytes => ("request-size", "Request size", "requests", Unit::Bytes),
            FitVariable::ResponseBytes => ("response-size", "Response size", "responses", Unit::Bytes),
            FitVariable::AduBytes => ("adu-size", "ADU size", "ADUs", Unit::Bytes),
            FitVariable::Epochs => ("epochs", "Epochs per connection", "connections", Unit::Count),
            FitVariable::InitiatorWait => ("initiator-wait", "Wait of the initiator", "waits", Unit::Time),
            FitVariable::AcceptorWait => ("acceptor-wait", "Wait of the acceptor", "waits", Unit::Time),
            FitVariable::ThinkTime => ("think-time", "Think time of the acceptor", "requests", Unit::Time),
            FitVariable::ConnectionBytes => ("connection-size", "Bytes per connection", "connections", Unit::Bytes),
            FitVariable::Duration => ("duration", "Connection duration", "connections", Unit::Time),
            FitVariable::Rtt => ("rtt", "Minimum round-trip time", "connections", Unit::Time),
            FitVariable::InitiatorWindow => ("initiator-window", "Window of the initiator", "connections", Unit::Bytes),
            FitVariable::AcceptorWindow => ("acceptor-window", "Window of the acceptor", "connections", Unit::Bytes),
            FitVariable::Interarrival => ("interarrival", "Between starts of connections", "connections", Unit::Time),
        }
    }

    /// Its name, as `--variable` takes it.
    pub const fn name(self) -> &'static str {
        self.facts().0
    }

    /// The name in words.
    pub const fn words(self) -> &'static str {
        self.facts().1
    }

    /// What there is one value of, within "share of ...".
    pub const fn plural(self) -> &'static str {
        self.facts().2
    }

    /// What its values are.
    pub const fn unit(self) -> Unit {
        self.facts().3
    }
}
