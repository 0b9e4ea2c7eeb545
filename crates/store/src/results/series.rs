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

/// Whose count of payload a series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum View {
    /// The receiver's: what arrived.
    Receiver,
    /// The sender's: what its socket took, whether or not it arrived.
    Sender,
    /// The receiver's total, spread over time as the sender sent it.
    Scaled,
}

impl View {
    /// What the values count, in words.
    pub fn text(self) -> &'static str {
        match self {
            View::Receiver => "what the receiver counted",
            View::Sender => "what the socket of the sender took, not what arrived",
            View::Scaled => "what the receiver counted in all, over time as the sender sent it",
        }
    }
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
    /// The length of the interval of each of [`Self::points`] in seconds; empty where the tool has instants alone.
    pub lengths: Vec<f64>,
    /// Whose count it is; `None` of what counts no payload, and where nobody's socket counted.
    pub view: Option<View>,
}

impl Series {
    /// The intervals in the order of time: (start, end, value), in seconds from the start. Where the tool has instants alone, each ends an
    /// interval as long as the median distance between two.
    pub fn intervals(&self) -> Vec<(f64, f64, f64)> {
        let usual = if self.lengths.is_empty() { self.median_distance() } else { 0.0 };
        let length = |place: usize| self.lengths.get(place).copied().unwrap_or(usual);
        let points = self.points.iter().enumerate();
        let mut all: Vec<(f64, f64, f64)> =
            points.map(|(place, (end, value))| (end - length(place), *end, *value)).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all
    }

    fn median_distance(&self) -> f64 {
        let mut instants: Vec<f64> = self.points.iter().map(|point| point.0).collect();
        instants.sort_by(f64::total_cmp);
        let mut distances: Vec<f64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
        distances.sort_by(f64::total_cmp);
        distances.get(distances.len() / 2).copied().unwrap_or(0.0)
    }
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
        for Series { name, quantity, points, lengths, .. } in &self.series {
            if let Some(length) = lengths.iter().find(|length| !(0.0..=LONGEST).contains(*length)) {
                return Err(format!("`{name}` has an interval of {length:?} s: they have 0 to {LONGEST:e} s"));
            }
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
