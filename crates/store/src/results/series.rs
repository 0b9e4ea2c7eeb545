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

/// The longest test, in seconds: thirty years.
const LONGEST: f64 = 1e9;

/// The largest value of a rate in bit/s, a round-trip time in nanoseconds, or a count.
const LARGEST: f64 = 1e18;

impl Results {
    /// Refuses instants outside of any test, and values that a rate, a time or a count cannot have.
    pub(super) fn check(&self) -> Result<(), String> {
        for Series { name, quantity, points, .. } in &self.series {
            let is_measured = *quantity != Quantity::Other;
            for (at, value) in points {
                if !(0.0..=LONGEST).contains(at) {
                    return Err(format!("`{name}` has a value at {at:?} s: instants are from 0 to {LONGEST:e} s"));
                }
                if is_measured && !(0.0..=LARGEST).contains(value) {
                    return Err(format!(
                        "`{name}` has a value at {at:?} s that is negative or beyond anything measured: {value:?}"
                    ));
                }
            }
        }
        Ok(())
    }
}
