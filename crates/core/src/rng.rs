//! Random streams: one per purpose and connection, so that a variant which draws more numbers for one
//! purpose shifts no other (methods L.5).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// What a stream is drawn for. The discriminants are part of what a seed means: never renumber.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Purpose {
    /// Initial sequence numbers.
    SequenceNumbers = 1,
    /// Arrival instants of synthetic sources.
    Arrivals = 2,
    /// Sizes of synthetic sources.
    Sizes = 3,
    /// Path delays.
    Delays = 4,
    /// Packet loss.
    Loss = 5,
    /// Resampling in statistics.
    Bootstrap = 6,
    /// Packet loss at the rate of a flow's own.
    OwnLoss = 20,
    /// Which packets arrive twice.
    Duplicates = 21,
    /// Which packets change places.
    Reordering = 22,
    /// Delays of single packets.
    Jitter = 23,
    /// A flow's own loss rate.
    LossRates = 24,
    /// A flow's own bottleneck.
    Bottlenecks = 25,
    /// When flows of sources begin.
    Starts = 26,
    /// Which class a connection is in.
    Classes = 27,
    /// By how much connections of a workload start earlier or later.
    StartJitter = 28,
    /// Bytes that initiators send.
    RequestSizes = 50,
    /// Bytes that acceptors answer with.
    ResponseSizes = 51,
    /// How long acceptors take before they answer.
    ThinkTimes = 52,
    /// Round-trip times of paths.
    RoundTrips = 53,
    /// Which side of the link an initiator is on.
    InitiatorSides = 54,
    /// Packet loss behind the monitor at the rate of a flow's own.
    OwnLossBehind = 55,
    /// Which round-trip time of a model a connection gets.
    RoundTripModel = 56,
    /// Which vectors of a block are kept.
    Thinning = 57,
    /// Which vectors and blocks a workload is put together of.
    Resampling = 58,
    /// Which bins of a workload change places.
    Shuffling = 59,
    /// What a congestion control draws.
    CongestionControl = 7,
    /// Decisions of a queue.
    Queue = 8,
    /// When flows of a literature model begin within their first gap.
    Phases = 70,
    /// How many items: files of a session, objects of a page, frames of a scene.
    Items = 71,
    /// Sizes of items.
    ItemBytes = 72,
    /// What is sent before an item: handshakes, requests.
    Handshakes = 73,
    /// What answers a handshake or a line.
    Replies = 74,
    /// How long sessions and busy times are.
    Durations = 75,
    /// Times between packets, objects, busy times.
    Gaps = 76,
    /// Times between sessions and pages.
    SessionGaps = 77,
    /// Which of several laws a value is of.
    Choices = 78,
    /// Sizes of video frames.
    Frames = 79,
    /// Levels of video scenes.
    Scenes = 80,
    /// How many pages are read at a server.
    Stays = 81,
    /// Which addresses and which parts of lists sessions have.
    SessionPlaces = 110,
    /// How many sessions a load needs.
    SessionCounts = 111,
    /// Gaps between connections of PackMime clouds.
    PackMimeArrivals = 60,
    /// Sizes of their requests.
    PackMimeRequests = 61,
    /// Sizes of their responses.
    PackMimeResponses = 62,
    /// Lengths of runs of alike responses.
    PackMimeRuns = 63,
    /// How long servers take.
    PackMimeServerDelays = 64,
    /// Round-trip times on the clients' side.
    PackMimeClientRtts = 65,
    /// Round-trip times on the servers' side.
    PackMimeServerRtts = 66,
    /// Which connections are persistent, and their pages and objects.
    PackMimePages = 67,
    /// Gaps between the pages of a connection.
    PackMimePageGaps = 68,
    /// Gaps between the objects of a page.
    PackMimeObjectGaps = 69,
    /// Fractional Gaussian noise.
    Noise = 120,
    /// All of a connection of a reference workload but its start.
    ReferenceConnections = 90,
    /// How many connections of a reference workload start from time to time.
    ReferenceIntensity = 91,
    /// Users of a Swing model: their sessions and exchanges.
    SwingUsers = 100,
    /// Connections of an exchange and the gaps between them.
    SwingExchanges = 101,
    /// What a connection of a Swing model has once.
    SwingConnections = 102,
    /// What it has for each unit of data.
    SwingUnits = 103,
    /// Which sessions of a workload are kept in a model.
    SwingSample = 104,
    /// Gaps between the cells of a phase.
    CellGaps = 130,
    /// How long phases last, and which comes next.
    Sojourns = 131,
}

/// A portable stream of random numbers: the same on every machine and version.
#[derive(Clone, Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of `purpose` for item `id` (a connection, a source) under the run's `seed`.
    pub fn new(seed: u64, purpose: Purpose, id: u64) -> Stream {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..10].copy_from_slice(&(purpose as u16).to_le_bytes());
        let mut generator = ChaCha8Rng::from_seed(key);
        generator.set_stream(id);
        Stream(generator)
    }

    /// Goes to number `position` of those that [`Self::bits64`] and [`Self::uniform`] give, counted from 0.
    pub fn seek(&mut self, position: u64) {
        self.0.set_word_pos(2 * u128::from(position));
    }

    /// 32 uniform bits.
    pub fn bits32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// 64 uniform bits.
    pub fn bits64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in [0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.bits64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Exponential with the given mean, by inversion with the portable logarithm (methods M.11).
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log1p(-self.uniform())
    }

    /// Uniform integer in `0..bound`, without bias; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let zone = u64::MAX - u64::MAX % bound;
        loop {
            let draw = self.bits64();
            if draw < zone {
                return draw % bound;
            }
        }
    }

    /// Puts `items` in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// Which connection this is: number of its source, and of the connection among those of its source. Both are the label of its vector,
/// and its random streams are addressed by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source(pub u64, pub u64);

impl Source {
    /// Its stream for `purpose`.
    pub fn stream(self, seed: u64, purpose: Purpose) -> Stream {
        Stream::new(seed, purpose, (self.0 << 32) | (self.1 & u64::from(u32::MAX)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_addressable_and_independent() {
        let first = |seed, purpose, id| Stream::new(seed, purpose, id).bits64();
        assert_eq!(first(1, Purpose::Loss, 7), first(1, Purpose::Loss, 7));
        assert_ne!(first(1, Purpose::Loss, 7), first(1, Purpose::Loss, 8));
        assert_ne!(first(1, Purpose::Loss, 7), first(1, Purpose::Delays, 7));
        assert_ne!(first(1, Purpose::Loss, 7), first(2, Purpose::Loss, 7));
    }

    #[test]
    fn numbers_are_addressable() {
        let mut stream = Stream::new(1, Purpose::Sizes, 3);
        let first: Vec<f64> = (0..20).map(|_| stream.uniform()).collect();
        for position in [19, 0, 7, 8] {
            stream.seek(position);
            assert_eq!(stream.uniform(), first[position as usize]);
        }
    }

    #[test]
    fn exponential_has_its_mean() {
        let mut stream = Stream::new(1, Purpose::Arrivals, 0);
        let mean = (0..100_000).map(|_| stream.exponential(2.0)).sum::<f64>() / 1e5;
        assert!((mean - 2.0).abs() < 0.03, "{mean}");
    }
}
