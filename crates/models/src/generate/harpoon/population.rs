//! The sessions of one client and its server: how many there are in each interval, where they are, and what they send.

use std::sync::Arc;

use flowloom_core::rng::{Purpose, Source, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Close, ConnectionVector, Host, Label, Side};

use super::pool::{Place, Pool};
use super::values::Values;
use crate::generate::ends::{Ends, MOST_PAYLOAD, MOST_SOURCES, Merged, Sent, Talk, Vectors, datagrams, flow};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the sessions of a population do.
#[derive(Clone, Debug, PartialEq)]
pub enum Doing {
    /// After each gap a file over a connection of its own.
    Files {
        /// In seconds.
        gaps: Values,
        /// In bytes.
        sizes: Values,
        /// What a connection carries beside the file.
        transfer: Transfer,
    },
    /// After each gap a file in datagrams.
    Datagrams {
        /// In seconds.
        gaps: Values,
        /// Of files, in bytes.
        sizes: Values,
        /// Payload of a datagram, in bytes.
        payload: u32,
        /// Between two datagrams.
        every: Duration,
    },
    /// Datagrams that are answered.
    PingPong {
        /// Those of a session, each with requests of its own.
        users: u32,
        /// Between the requests of a user, in seconds: the time itself, or its mean.
        periods: Values,
        /// Whether that is the mean of an exponential law.
        exponential: bool,
        /// In bytes.
        requests: Values,
        /// In bytes.
        responses: Values,
    },
}

impl Doing {
    /// How many a session is: each has its own addresses and times.
    fn users(&self) -> u32 {
        match self {
            Doing::PingPong { users, .. } => *users,
            Doing::Files { .. } | Doing::Datagrams { .. } => 1,
        }
    }
}

/// How many sessions there are.
#[derive(Clone, Debug, PartialEq)]
pub enum Active {
    /// Always as many.
    Always(u32),
    /// As many in each interval, and none after the last.
    Once(Arc<[u32]>),
    /// As many in each interval, and after the last as in the first.
    Again(Arc<[u32]>),
}

impl Active {
    /// In interval `number`; `None` if there are no more intervals.
    fn of(&self, number: u64) -> Option<u32> {
        match self {
            Active::Always(sessions) => Some(*sessions),
            Active::Once(list) => list.get(usize::try_from(number).ok()?).copied(),
            Active::Again(list) => list.get((number % list.len().max(1) as u64) as usize).copied(),
        }
    }

    /// The most there are.
    pub fn most(&self) -> u32 {
        match self {
            Active::Always(sessions) => *sessions,
            Active::Once(list) | Active::Again(list) => list.iter().copied().max().unwrap_or(0),
        }
    }
}

/// The sessions of a client and its server.
#[derive(Clone, Debug, PartialEq)]
pub struct Population {
    /// How long a session is.
    pub interval: Duration,
    /// How many there are.
    pub active: Active,
    /// What they do.
    pub doing: Doing,
    /// Where clients are.
    pub clients: Pool,
    /// Where servers are.
    pub servers: Pool,
    /// Clients are the initiators.
    pub ends: Ends,
}

/// Populations of a model, at most: their number stands in the number of a stream.
pub const MOST_POPULATIONS: usize = 255;

impl Population {
    /// Refuses sessions that would not end.
    pub fn check(&self) -> Result<(), String> {
        if self.interval < Duration::from_millis(1) {
            return Err(format!("interval of {} is too short (at least 1ms)", self.interval));
        }
        let most = u64::from(self.active.most()) * u64::from(self.doing.users());
        if most == 0 {
            return Err("sessions of 0 send nothing".to_owned());
        }
        if most > u64::from(MOST_SOURCES) {
            return Err(format!("{most} sessions and users at once are too many (at most {MOST_SOURCES})"));
        }
        let (times, what) = match &self.doing {
            Doing::Files { gaps, .. } | Doing::Datagrams { gaps, .. } => (gaps, "gaps"),
            Doing::PingPong { periods, .. } => (periods, "periods"),
        };
        match Duration::from_secs_f64(times.max()).is_zero() {
            true => Err(format!("{what} that are all 0 have no end")),
            false => Ok(()),
        }
    }

    /// What the sessions of the intervals before `end` do, in the order of starts; of the population with this number.
    pub fn vectors(self, number: u64, seed: u64, end: Time) -> impl Iterator<Item = ConnectionVector> + Send {
        let interval = self.interval;
        let begins = move |at: u64| Time::from_nanos(interval.as_nanos().saturating_mul(at));
        let intervals = (0u64..).map_while(move |at| (begins(at) < end).then_some(at));
        let sessions = intervals.map_while(move |interval| {
            let slots = u64::from(self.active.of(interval)?) * u64::from(self.doing.users());
            let offsets = Key { seed, population: number, interval, slot: 0, offsets: [0.0; 4] }.offsets();
            let key = |slot| Key { seed, population: number, interval, slot, offsets };
            Some(Merged::new((0..slots).map(|slot| self.session(key(slot), begins(interval)))))
        });
        let vectors = sessions.flatten().take_while(move |vector| vector.start < end);
        vectors.zip(0..).map(move |(vector, id)| {
            let label = vector.label.map(|label| Label { id, ..label });
            ConnectionVector { label, ..vector }
        })
    }

    fn session(&self, key: Key, begin: Time) -> Vectors {
        let [client, server, of_gaps, of_sizes] = key.places();
        let (client, server) = (self.clients.pick(client), self.servers.pick(server));
        let (source, length) = (Source(key.population, 0), self.interval);
        let gaps_of = |values: &Values| values.drawn(key.stream(Purpose::Gaps), of_gaps);
        let sizes_of = |values: &Values, purpose| values.drawn(key.stream(purpose), of_sizes);
        match &self.doing {
            Doing::Files { gaps, sizes, transfer } => {
                let (mut gaps, mut sizes) = (gaps_of(gaps), sizes_of(sizes, Purpose::ItemBytes));
                let (transfer, ends) = (*transfer, self.ends.clone());
                Box::new(steps(length, move || gaps.draw()).filter_map(move |at| {
                    let mut talk = Talk::new(&ends, begin + at, server.port, source);
                    talk.send(Side::Initiator, 1.0);
                    talk.send(Side::Acceptor, sizes.draw() + transfer.header());
                    let mut vector = talk.close(Side::Acceptor)?;
                    if transfer == Transfer::Harpoon {
                        vector.close = Close::Rst(Side::Initiator);
                    }
                    Some(placed(vector, client, server))
                }))
            }
            Doing::Datagrams { gaps, sizes, payload, every } => {
                let (mut gaps, mut sizes) = (gaps_of(gaps), sizes_of(sizes, Purpose::ItemBytes));
                let (payload, every) = (*payload, *every);
                // The server sends, and nobody asks it in datagrams: it is the initiator.
                let ends = Ends { initiators: self.ends.initiators.other(), ..self.ends.clone() };
                Box::new(steps(length, move || gaps.draw()).flat_map(move |at| {
                    let mut sent = Sent::block(begin + at, sizes.draw(), payload);
                    sent.length = every * u64::from(sent.packets - 1);
                    flow(ends.clone(), client.port, source, std::iter::once(sent))
                        .map(move |vector| placed(vector, server, client))
                }))
            }
            Doing::PingPong { periods, exponential, requests, responses, .. } => {
                let period = periods.drawn(key.stream(Purpose::Choices), of_gaps).draw();
                let mut phase = Some(period * key.stream(Purpose::Phases).uniform());
                let (mut gaps, exponential) = (key.stream(Purpose::Gaps), *exponential);
                let next = move || {
                    let gap = || if exponential { gaps.exponential(period) } else { period };
                    phase.take().unwrap_or_else(gap)
                };
                let mut requests = sizes_of(requests, Purpose::RequestSizes);
                let mut responses = sizes_of(responses, Purpose::ResponseSizes);
                let sent = steps(length, next).flat_map(move |at| {
                    let request = Sent::block(begin + at, requests.draw(), MOST_PAYLOAD);
                    let response = Sent::block(begin + at, responses.draw(), MOST_PAYLOAD);
                    [(Side::Initiator, request), (Side::Acceptor, response)]
                });
                Box::new(
                    datagrams(self.ends.clone(), server.port, source, sent)
                        .map(move |vector| placed(vector, client, server)),
                )
            }
        }
    }
}

/// Which session this is: that of a population, an interval, and a place among those of the interval.
#[derive(Clone, Copy)]
struct Key {
    seed: u64,
    population: u64,
    interval: u64,
    slot: u64,
    /// Those of the interval, see [`Key::places`].
    offsets: [f64; 4],
}

/// Steps of sequences that fill the interval from 0 to 1 evenly when whole numbers are left out (Weyl 1916): four irrational numbers
/// that small fractions come near to worst, the golden ratio and the square roots of 2, 3 and 13.
const STEPS: [f64; 4] =
    [0.618_033_988_749_894_9, 0.414_213_562_373_095_15, 0.732_050_807_568_877_2, 0.302_775_637_731_994_56];

impl Key {
    /// Its stream: with more sessions, or other ones before, it stays what it is.
    fn stream(self, purpose: Purpose) -> Stream {
        let id = self.population << 56 | (self.interval & ((1 << 36) - 1)) << 20 | self.slot & ((1 << 20) - 1);
        Stream::new(self.seed, purpose, id)
    }

    /// Four random numbers for the sessions of its interval.
    fn offsets(self) -> [f64; 4] {
        let mut stream = self.stream(Purpose::SessionPlaces);
        std::array::from_fn(|_| stream.uniform())
    }

    /// Where the session picks its client and its server, and where it begins to walk its gaps and its sizes: shares from 0 to 1,
    /// below. Each is uniform; those of the sessions of an interval are spread evenly, together and one by one, so that few sessions have
    /// the distributions of the model as well as can be, and no two of them the same two hosts without need.
    fn places(self) -> [f64; 4] {
        std::array::from_fn(|dimension| {
            let place = self.offsets[dimension] + self.slot as f64 * STEPS[dimension];
            place - place.floor()
        })
    }
}

/// Instants within `length`, each so many seconds after the one before, the first after the beginning.
fn steps(length: Duration, mut gap: impl FnMut() -> f64 + Send) -> impl Iterator<Item = Duration> + Send {
    let mut at = Duration::ZERO;
    std::iter::from_fn(move || {
        // Or an interval would hold any number of them.
        let gap = Duration::from_secs_f64(gap()).max(Duration::from_micros(1));
        (gap <= length.saturating_sub(at)).then(|| {
            at += gap;
            at
        })
    })
    .fuse()
}

/// `vector` between these places.
fn placed(mut vector: ConnectionVector, initiator: Place, acceptor: Place) -> ConnectionVector {
    for (side, place) in [(Side::Initiator, initiator), (Side::Acceptor, acceptor)] {
        vector.ends[side].host = place.address.map(|address| Host::Address(address.into()));
    }
    vector.ends.initiator.port = initiator.port;
    vector
}

/// What a connection carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transfer {
    /// A byte that asks, and the file; the server closes.
    #[default]
    File,
    /// As Harpoon's own: four bytes with its length before the file, and the client closes with a reset.
    Harpoon,
}

impl Transfer {
    /// Bytes before the file.
    const fn header(self) -> f64 {
        match self {
            Transfer::File => 0.0,
            Transfer::Harpoon => 4.0,
        }
    }
}
