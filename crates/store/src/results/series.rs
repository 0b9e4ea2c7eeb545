//! Series over time, as the results of a tool have them.

/// What the values of a series are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Payload that passed, in bit/s.
    BitsPerSecond,
    /// A round-trip time in nanoseconds.
    RoundTripNanos,
    /// Segments sent again in the interval.
    Retransmissions,
    /// Something that no run of Flowloom measures.
    Other,
}

/// Which way something went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From the client: upload, Flowloom's left to right.
    Forward,
    /// To the client: download.
    Back,
}

/// A quantity over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// What the tool calls it.
    pub name: String,
    /// What its values are.
    pub quantity: Quantity,
    /// Which way, where it has one.
    pub way: Option<Way>,
    /// (end of the interval in seconds from the start, value); values that were not measured are left out.
    pub points: Vec<(f64, f64)>,
}

/// What another tool measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// Which tool.
    pub tool: &'static str,
    /// What the tool calls the test.
    pub title: String,
    /// How long it lasted, in seconds.
    pub seconds: f64,
    /// Quantities over time.
    pub series: Vec<Series>,
    /// Segments sent again in all; `None` if the tool does not say.
    pub retransmissions: Option<u64>,
}
