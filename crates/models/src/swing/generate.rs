//! From a model to vectors, in the order of their starts: sessions of clients, their exchanges, their connections.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Host, Label, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::connection::{Closing, Connection, End, Unit};
use super::deck::{Deck, Exchange, Returns};
use super::law::{Law, MOST_VALUE};
use super::model::{ClassModel, ConnectionModel, SwingModel};
use super::turns::Turns;
use crate::generate::ends::{Impossible, MOST_BYTES, Merged};

/// `kind = "swing"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Swing {
    /// The model file that `flowloom fit --model swing` wrote, relative to the experiment.
    pub config: String,
    /// What is drawn.
    #[serde(default, skip_serializing_if = "Draw::is_default")]
    pub draw: Draw,
    /// Sessions of all users that start in a second; default: as many as in the workload that was fitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = 1000000), extend("exclusiveMinimum" = 0))]
    pub sessions_per_second: Option<f64>,
    /// What the file holds, once it was read.
    #[serde(skip)]
    model: Option<Arc<SwingModel>>,
}

/// What is drawn at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// Every variable for itself, from its own distribution.
    #[default]
    Independent,
    /// Whole sessions, so that what the variables have to do with each other stays.
    Sessions,
}

impl Draw {
    fn is_default(&self) -> bool {
        *self == Draw::default()
    }
}

impl Swing {
    /// The model of the file `config`, which is to be read.
    pub fn new(config: &str, draw: Draw) -> Swing {
        Swing { config: config.to_owned(), draw, sessions_per_second: None, model: None }
    }

    /// What no type can refuse.
    ///
    /// # Errors
    /// The key, and what is wrong with its value.
    pub fn check(&self) -> Result<(), Impossible> {
        match self.sessions_per_second {
            Some(rate) if !(rate > 0.0 && rate <= 1e6) => {
                Err(Impossible::new("sessions-per-second", format!("of {rate} must be above 0 and at most 1e6")))
            }
            _ => Ok(()),
        }
    }

    /// Takes what the file holds.
    ///
    /// # Errors
    /// A model that cannot be drawn from; the place in the file, and what is wrong there.
    pub fn set(&mut self, model: SwingModel) -> Result<(), String> {
        model.check()?;
        let without = model.classes.iter().position(|class| class.sessions.is_empty());
        if let Some(at) = without.filter(|_| self.draw == Draw::Sessions) {
            return Err(format!("classes[{at}].sessions: there are none to draw"));
        }
        self.model = Some(Arc::new(model));
        Ok(())
    }

    /// The connections that start in the first `duration`, in the order of their starts. Without [`Self::set`] there are none.
    pub fn vectors(&self, seed: u64, duration: Duration) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let model = self.model.clone();
        let own = model.as_ref().map_or(1.0, |model| model.sessions_per_second());
        let stretch = self.sessions_per_second.map_or(1.0, |asked| own / asked);
        let draw = self.draw;
        let mut servers = 0;
        let classes = model.into_iter().flat_map(move |model| {
            (0..model.classes.len()).map(move |class| (model.clone(), class)).collect::<Vec<_>>()
        });
        Merged::new(classes.map(move |(model, class)| {
            let first_server = servers;
            servers += model.classes[class].servers();
            ClassSource::new(model, class, first_server, draw, stretch, seed, duration)
        }))
    }
}

/// Streams of users, one for each variable.
#[derive(Clone, Copy)]
enum OfUsers {
    Sessions = 0,
    SessionsPerClient = 1,
    Returns = 2,
    NumRre = 3,
    InterRre = 4,
    WholeSessions = 5,
}

/// Streams of the units of a connection, one for each variable and end.
#[derive(Clone, Copy)]
enum OfUnits {
    Bytes = 0,
    Packets = 1,
    PacketGaps = 2,
    AfterOther = 3,
    AfterOwn = 4,
}

/// Where a variable that a connection has once finds its number in the connection's stream.
#[derive(Clone, Copy)]
enum Once {
    Transport = 0,
    Server = 1,
    Port = 2,
    Turns = 3,
    Close = 4,
    CloseWaitKnown = 5,
    CloseWait = 6,
    StatedRtt = 7,
    /// Whether something of the path is known: of both ends, or of the one of which more is.
    LatencyKnown = 8,
    WindowKnown = 9,
    MssKnown = 10,
    LossKnown = 11,
    // What follows is of the initiator, and one further of the acceptor.
    Latency = 12,
    Window = 14,
    Mss = 16,
    Loss = 18,
    LeadInKnown = 20,
    LeadIn = 22,
    Count = 24,
}

/// The vectors of one class.
struct ClassSource {
    model: Arc<SwingModel>,
    class: usize,
    weights: ClassWeights,
    draw: Draw,
    seed: u64,
    end: u64,
    /// Number of the class's first server among all hosts.
    first_server: u64,
    /// Number of its first client.
    first_client: u64,
    /// How much longer the times between sessions are than in the model.
    stretch: f64,
    arrivals: Stream,
    /// When the next session starts, in nanoseconds.
    next_session: f64,
    sessions_per_client: Stream,
    num_rre: Stream,
    whole_sessions: Stream,
    returns: Returns,
    deck: Deck,
    sessions: u64,
    connections: u64,
    clients: u64,
    /// Sessions by the start of their next connection.
    active: BTreeMap<(u64, u64), Session>,
    /// Clients that come back, by the time before which what they start is the same session.
    away: BinaryHeap<Reverse<(u64, Return)>>,
    /// Those that may come back now; the first is who was due first.
    ready: BinaryHeap<Reverse<Return>>,
    /// Who is due so much later comes back now, in nanoseconds: sessions start when they do, and in the mean clients shall be neither
    /// late nor early.
    ahead: f64,
}

/// A client that comes back.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Return {
    due: u64,
    client: u64,
    /// Sessions that are left.
    sessions: u64,
}

/// How much of a client's lateness is made up for by the next.
const CATCHING_UP: f64 = 1.0 / 16.0;

/// A session that goes on.
struct Session {
    client: u64,
    /// Sessions of the client after this one.
    sessions_left: u64,
    start: u64,
    course: Course,
}

/// What is to come of a session.
enum Course {
    /// Drawn: the exchange, when it started, how long after that the next starts, and how many are left after it.
    Drawn { exchange: Box<Exchange>, start: u64, next: Option<u64>, left: u64 },
    /// A whole session of the model, and its next connection.
    Whole { session: usize, next: usize },
}

/// The part of a stream's number that is the class's.
fn of_class(class: usize) -> u64 {
    (class as u64) << 56
}

impl ClassSource {
    fn new(
        model: Arc<SwingModel>,
        class: usize,
        first_server: u64,
        draw: Draw,
        stretch: f64,
        seed: u64,
        duration: Duration,
    ) -> ClassSource {
        let users = |of: OfUsers| Stream::new(seed, Purpose::SwingUsers, of_class(class) | of as u64);
        let mut source = ClassSource {
            weights: ClassWeights::new(&model.classes[class]),
            class,
            draw,
            seed,
            end: duration.as_nanos(),
            first_server,
            first_client: model.classes.iter().map(ClassModel::servers).sum::<u64>() + class as u64,
            stretch,
            arrivals: users(OfUsers::Sessions),
            next_session: 0.0,
            sessions_per_client: users(OfUsers::SessionsPerClient),
            num_rre: users(OfUsers::NumRre),
            whole_sessions: users(OfUsers::WholeSessions),
            returns: Returns::new(users(OfUsers::Returns)),
            deck: Deck::new(seed, of_class(class), users(OfUsers::InterRre)),
            sessions: 0,
            connections: 0,
            clients: 0,
            active: BTreeMap::new(),
            away: BinaryHeap::new(),
            ready: BinaryHeap::new(),
            ahead: 0.0,
            model,
        };
        // The first comes within the first gap.
        let share = source.arrivals.uniform();
        source.next_session = share * source.session_gap();
        source
    }

    fn class(&self) -> &ClassModel {
        &self.model.classes[self.class]
    }

    fn session_gap(&mut self) -> f64 {
        let u = self.arrivals.uniform();
        self.class().users.inter_session_ns.draw(u) as f64 * self.stretch
    }

    fn begin_session(&mut self) {
        let start = self.next_session as u64;
        self.next_session += self.session_gap();
        // Who is due comes back; otherwise it is somebody new.
        while self.away.peek().is_some_and(|Reverse((from, _))| *from <= start) {
            self.ready.extend(self.away.pop().map(|Reverse((_, client))| Reverse(client)));
        }
        let until = start as f64 + self.ahead;
        let is_due = self.ready.peek().is_some_and(|Reverse(next)| next.due as f64 <= until);
        let (client, sessions_left) = match if is_due { self.ready.pop() } else { None } {
            Some(Reverse(next)) => {
                let late = start as f64 - next.due as f64;
                self.ahead = (self.ahead + CATCHING_UP * late).max(0.0);
                (next.client, next.sessions - 1)
            }
            None => {
                let u = self.sessions_per_client.uniform();
                let sessions = self.class().users.sessions_per_client.draw(u);
                self.clients += 1;
                (self.clients - 1, sessions.saturating_sub(1))
            }
        };
        let course = match self.draw {
            Draw::Independent => {
                let u = self.num_rre.uniform();
                let exchanges = self.class().users.num_rre.draw(u);
                self.exchange(start, exchanges.saturating_sub(1))
            }
            Draw::Sessions => {
                let u = self.whole_sessions.uniform();
                let sessions = self.class().sessions.len();
                Course::Whole { session: ((u * sessions as f64) as usize).min(sessions.saturating_sub(1)), next: 0 }
            }
        };
        self.active.insert((start, self.sessions), Session { client, sessions_left, start, course });
        self.sessions += 1;
    }

    /// An exchange that starts at `start` and has `left` others after it.
    fn exchange(&mut self, start: u64, left: u64) -> Course {
        let (exchange, next) = match left {
            0 => (self.deck.last(&self.model, self.class), None),
            _ => {
                let (exchange, time) = self.deck.followed(&self.model, self.class);
                (exchange, Some(time))
            }
        };
        Course::Drawn { exchange: Box::new(exchange), start, next, left }
    }

    /// What session `number` does after the connection that it has just started at `now`.
    fn go_on(&mut self, now: u64, number: u64, mut session: Session) {
        let class = &self.model.classes[self.class];
        let next = match &mut session.course {
            Course::Drawn { exchange, start, next, left } => match (exchange.next_gap(&class.rre.inter_conn_ns), *next)
            {
                (Some(gap), _) => Some(now.saturating_add(gap)),
                (None, Some(time)) => {
                    let least = now.saturating_add(self.model.rre_gap_ns).saturating_add(1);
                    let most = now.saturating_add(self.model.session_gap_ns).max(least);
                    let (start, left) = (start.saturating_add(time).clamp(least, most), *left - 1);
                    session.course = self.exchange(start, left);
                    Some(start)
                }
                (None, None) => None,
            },
            Course::Whole { session: whole, next } => {
                *next += 1;
                let connection = class.sessions[*whole].get(*next);
                connection.map(|connection| session.start.saturating_add(connection.at_ns))
            }
        };
        match next {
            Some(next) => {
                self.active.insert((next, number), session);
            }
            None if session.sessions_left > 0 => {
                let least = (now - session.start).saturating_add(self.model.session_gap_ns);
                let time = self.returns.next(&self.model.classes[self.class].users.return_ns, least);
                let from = session.start.saturating_add(least).saturating_add(1);
                let due = session.start.saturating_add(time);
                self.away
                    .push(Reverse((from, Return { due, client: session.client, sessions: session.sessions_left })));
            }
            None => {}
        }
    }

    /// The next connection of a session, and its number among the class's.
    fn connection(&mut self, course: &Course) -> Connection {
        let number = self.connections;
        self.connections += 1;
        match course {
            Course::Whole { session, next } => self.class().sessions[*session][*next].clone(),
            Course::Drawn { .. } => self.weights.connection(self.class(), self.seed, of_class(self.class) | number),
        }
    }
}

impl Iterator for ClassSource {
    type Item = ConnectionVector;

    fn next(&mut self) -> Option<ConnectionVector> {
        let earliest = |active: &BTreeMap<(u64, u64), Session>| active.first_key_value().map(|((at, _), _)| *at);
        while earliest(&self.active).is_none_or(|at| self.next_session < at as f64) {
            if self.next_session >= self.end as f64 {
                return None;
            }
            self.begin_session();
        }
        let ((start, number), session) = self.active.pop_first()?;
        if start >= self.end {
            // So are all others.
            return None;
        }
        let connection = self.connection(&session.course);
        let mut vector = connection.vector();
        vector.start = Time::from_nanos(start);
        vector.initiator_side = self.class().from.into();
        vector.label = Some(Label { subset: self.class as u64, id: number });
        // Clients are numbered behind all servers, by turns among the classes.
        let client = self.first_client + session.client * self.model.classes.len() as u64;
        vector.ends.initiator.host = Some(Host::Number(client as u32));
        vector.ends.acceptor.host = Some(Host::Number((self.first_server + u64::from(connection.server)) as u32));
        self.go_on(start, number, session);
        Some(vector)
    }
}

/// Which of several things, by how often each was.
#[derive(Clone, Debug)]
struct Weights(Vec<u64>);

impl Weights {
    fn new(counts: impl Iterator<Item = u64>) -> Weights {
        let mut sum = 0u64;
        let up_to = counts.map(|count| {
            sum = sum.saturating_add(count);
            sum
        });
        Weights(up_to.collect())
    }

    /// Which one `u` chooses, and where in it, from 0 to 1; `of` in all, if they are fewer than these.
    fn pick(&self, u: f64, of: u64) -> Option<(usize, f64)> {
        let rank = u * of as f64;
        let at = self.0.partition_point(|sum| *sum as f64 <= rank);
        let before = at.checked_sub(1).map_or(0, |before| self.0[before]) as f64;
        self.0.get(at).map(|sum| (at, (rank - before) / (*sum as f64 - before)))
    }

    fn sum(&self) -> u64 {
        self.0.last().copied().unwrap_or(0)
    }
}

/// The choices of a class.
struct ClassWeights {
    transports: Weights,
    servers: Weights,
    of: Vec<ConnectionWeights>,
}

/// The choices of a transport.
struct ConnectionWeights {
    ports: Weights,
    turns: Weights,
    close: Weights,
    /// Connections in which each end sends.
    send: [u64; 2],
    /// Connections that end.
    closed: u64,
}

impl ConnectionWeights {
    fn new(of: &ConnectionModel) -> ConnectionWeights {
        let send = Side::BOTH.map(|side| {
            of.turns.iter().filter(|(turns, _)| turns.sends(side)).map(|(_, count)| *count).fold(0, u64::saturating_add)
        });
        ConnectionWeights {
            ports: Weights::new(of.ports.iter().map(|of| of.1)),
            turns: Weights::new(of.turns.iter().map(|of| of.1)),
            close: Weights::new(of.close.iter().map(|of| of.1)),
            send,
            closed: of.close.iter().filter(|of| of.0 != Closing::NotSeen).map(|of| of.1).fold(0, u64::saturating_add),
        }
    }
}

/// The numbers of a connection's variables that it has once.
struct Numbers([f64; Once::Count as usize]);

impl Numbers {
    fn new(seed: u64, connection: u64) -> Numbers {
        let mut stream = Stream::new(seed, Purpose::SwingConnections, connection);
        Numbers(std::array::from_fn(|_| stream.uniform()))
    }

    fn of(&self, once: Once) -> f64 {
        self.0[once as usize]
    }

    fn of_side(&self, once: Once, side: Side) -> f64 {
        self.0[once as usize + side as usize]
    }

    /// A value of which `law` knows some of `all`.
    fn known(&self, law: &Law, all: u64, known: Once, value: f64) -> Option<u64> {
        (self.of(known) * (all as f64) < law.count() as f64).then(|| law.draw(value))
    }
}

impl ClassWeights {
    fn new(class: &ClassModel) -> ClassWeights {
        let others = class.servers.others_connections;
        ClassWeights {
            transports: Weights::new(class.connections.iter().map(|of| of.count)),
            servers: Weights::new(class.servers.popular.iter().copied().chain([others])),
            of: class.connections.iter().map(ConnectionWeights::new).collect(),
        }
    }

    /// Draws connection `number` of the class, which names its streams.
    fn connection(&self, class: &ClassModel, seed: u64, number: u64) -> Connection {
        let numbers = Numbers::new(seed, number);
        let at = self.transports.pick(numbers.of(Once::Transport), self.transports.sum()).map_or(0, |of| of.0);
        let (of, weights) = (&class.connections[at], &self.of[at]);
        let popular = class.servers.popular.len();
        let server = match self.servers.pick(numbers.of(Once::Server), self.servers.sum()) {
            Some((at, within)) if at == popular => popular + (within * f64::from(class.servers.others)) as usize,
            Some((at, _)) => at,
            None => 0,
        };
        let port = weights.ports.pick(numbers.of(Once::Port), of.count).map(|(at, _)| of.ports[at].0);
        let turns = weights.turns.pick(numbers.of(Once::Turns), weights.turns.sum()).map_or(0, |of| of.0);
        let turns = &of.turns[turns].0;
        let close =
            weights.close.pick(numbers.of(Once::Close), of.count).map_or(Closing::NotSeen, |(at, _)| of.close[at].0);
        let closes = close != Closing::NotSeen;
        let wait = numbers.known(&of.close_wait_ns, weights.closed, Once::CloseWaitKnown, numbers.of(Once::CloseWait));
        let [initiator, acceptor] = Side::BOTH.map(|side| {
            let end = of.end(side);
            let of_all = |law, known, value| numbers.known(law, of.count, known, numbers.of_side(value, side));
            let lead_in = numbers.of_side(Once::LeadInKnown, side) * (weights.send[side as usize] as f64);
            End {
                latency_ns: of_all(&end.latency_ns, Once::LatencyKnown, Once::Latency),
                lead_in_ns: (turns.sends(side) && lead_in < end.lead_in_ns.count() as f64)
                    .then(|| end.lead_in_ns.draw(numbers.of_side(Once::LeadIn, side))),
                window_bytes: of_all(&end.window_bytes, Once::WindowKnown, Once::Window),
                mss_bytes: of_all(&end.mss_bytes, Once::MssKnown, Once::Mss)
                    .map(|mss| u16::try_from(mss).unwrap_or(u16::MAX)),
                loss_ppm: of_all(&end.loss_ppm, Once::LossKnown, Once::Loss).map(|ppm| ppm.min(1_000_000) as u32),
            }
        });
        let unplaced = initiator.latency_ns.is_none() && acceptor.latency_ns.is_none() && !of.stated_rtt_ns.is_empty();
        Connection {
            at_ns: 0,
            transport: of.transport,
            server: u32::try_from(server).unwrap_or(u32::MAX),
            port,
            close,
            close_wait_ns: wait.filter(|_| closes),
            stated_rtt_ns: unplaced.then(|| of.stated_rtt_ns.draw(numbers.of(Once::StatedRtt))),
            initiator,
            acceptor,
            units: units(of, turns, seed, number),
        }
    }
}

/// Draws the data of a connection.
fn units(of: &ConnectionModel, turns: &Turns, seed: u64, number: u64) -> Vec<Unit> {
    let mut ends = Side::BOTH.map(|side| UnitStreams { seed, side, number, streams: Default::default() });
    let mut sides = turns.sides().peekable();
    let mut units = Vec::new();
    while let Some(side) = sides.next() {
        let (end, law) = (&mut ends[side as usize], of.end(side));
        let bytes = end.draw(OfUnits::Bytes, &law.bytes).max(1);
        let packets = if of.transport.is_datagrams() { end.draw(OfUnits::Packets, &law.packets).max(1) } else { 0 };
        let gap = if packets > 1 { end.draw(OfUnits::PacketGaps, &law.packet_gap_ns) } else { 0 };
        let wait_ns = match sides.peek() {
            Some(next) if *next == side => end.draw(OfUnits::AfterOwn, &law.wait_after_own_ns),
            Some(next) if !of.transport.is_concurrent() => {
                ends[*next as usize].draw(OfUnits::AfterOther, &of.end(*next).wait_after_other_ns)
            }
            _ => 0,
        };
        units.push(Unit {
            side,
            bytes: bytes.saturating_mul(packets.max(1)).min(MOST_BYTES),
            wait_ns,
            packets: u32::try_from(packets).unwrap_or(u32::MAX),
            length_ns: gap.saturating_mul(packets.saturating_sub(1)).min(MOST_VALUE - 1),
        });
    }
    units
}

/// The streams of an end's units, each made when it is first drawn from.
struct UnitStreams {
    seed: u64,
    side: Side,
    number: u64,
    streams: [Option<Stream>; 5],
}

impl UnitStreams {
    fn draw(&mut self, of: OfUnits, law: &Law) -> u64 {
        let (seed, id) = (self.seed, self.number | (2 * of as u64 + self.side as u64) << 52);
        let stream = &mut self.streams[of as usize];
        let stream = stream.get_or_insert_with(|| Stream::new(seed, Purpose::SwingUnits, id));
        law.draw(stream.uniform())
    }
}
