//! From vectors to a model: connections are grouped by client into exchanges and sessions (methods K.2), and every variable is counted.

use std::collections::BTreeMap;

use flowloom_core::extract::conversations::{Application, Transport as Service};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::sketch::Sketch;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Evidence, Host, LinkSide, Protocol, Side};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::connection::{Closing, Connection, Transport, Unit};
use super::law::Law;
use super::model::{ClassModel, ConnectionModel, EndVariables, Name, Rre, Servers, SwingModel, Users, VERSION};
use super::turns::Turns;

/// Clients and servers that are told apart in a class, each: connections of others are left out and counted.
const MOST_HOSTS: usize = 1 << 22;

/// Servers whose popularity is known one by one; the others are taken to be equally popular.
const MOST_POPULAR: usize = 1_024;

/// Different turns that are counted one by one, of each transport; beyond them only the number of pairs is kept.
const MOST_TURNS: usize = 1 << 16;

/// Ports that are counted one by one, of each transport: those that came first.
const MOST_PORTS: usize = 1_024;

/// Sessions of a class are kept whole as long as they weigh so much together: a unit for each ADU and four for each connection.
/// Beyond that they are a random sample of all.
const MOST_KEPT: usize = 1 << 18;

/// How connections are grouped (methods K.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouping {
    /// A connection that starts so long after its client's one before, or sooner, belongs to the same exchange.
    pub rre_gap: Duration,
    /// And to the same session.
    pub session_gap: Duration,
    /// Whether sessions are of a client and an application; otherwise of a client.
    pub per_class: bool,
}

impl Default for Grouping {
    /// The published rules: 30 s and 300 s, of a client.
    fn default() -> Grouping {
        Grouping { rre_gap: Duration::from_secs(30), session_gap: Duration::from_secs(300), per_class: false }
    }
}

/// Vectors that a model says nothing of, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Who the client or the server was is not known.
    pub no_host: u64,
    /// They come from flow records, which do not tell one request from the next.
    pub flow_records: u64,
    /// Without a byte of data.
    pub no_data: u64,
    /// There were more clients or servers than are told apart.
    pub too_many_hosts: u64,
}

impl LeftOut {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.no_host + self.flow_records + self.no_data + self.too_many_hosts
    }
}

/// The name of an application and what it runs over.
type Named = (&'static str, Service);

/// Takes the vectors of a workload in, in the order of their starts, and makes a model of them.
///
/// Memory: of each class, some 100 bytes for each client, 40 for each server, at most 2.3 MB for each variable (some 35), and at most
/// 50 MB for sessions that are kept whole.
#[derive(Clone, Debug)]
pub struct Survey {
    grouping: Grouping,
    /// By application, where these are told apart, and the side of the clients.
    classes: BTreeMap<(Option<Named>, LinkSide), ClassSurvey>,
    connections: u64,
    left_out: LeftOut,
}

#[derive(Clone, Debug, Default)]
struct ClassSurvey {
    clients: Numbered<Client>,
    /// Connections of each.
    servers: Numbered<u64>,
    /// Starts of the first and the last session.
    starts: Option<(Time, Time)>,
    sessions: u64,
    sessions_per_client: Sketch,
    inter_session: Sketch,
    returns: Sketch,
    num_rre: Sketch,
    inter_rre: Sketch,
    num_conn: Sketch,
    inter_conn: Sketch,
    transports: [Option<Box<TransportSurvey>>; 4],
    kept: Kept,
}

/// What a client is doing.
#[derive(Clone, Copy, Debug, Default)]
struct Client {
    sessions: u64,
    /// Number of its session in the class.
    session: u64,
    session_start: Time,
    rre_start: Time,
    last_start: Time,
    exchanges: u64,
    connections: u64,
}

/// Hosts by numbers in the order in which they came.
#[derive(Clone, Debug)]
struct Numbered<T> {
    numbers: HashMap<Host, u32, FxBuildHasher>,
    of: Vec<T>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Numbered<T> {
        Numbered { numbers: HashMap::default(), of: Vec::new() }
    }
}

impl<T: Default> Numbered<T> {
    /// Its number; `None` if there are too many others already.
    fn number(&mut self, host: Host) -> Option<u32> {
        if let Some(number) = self.numbers.get(&host) {
            return Some(*number);
        }
        let number = u32::try_from(self.of.len()).ok().filter(|_| self.of.len() < MOST_HOSTS)?;
        self.numbers.insert(host, number);
        self.of.push(T::default());
        Some(number)
    }
}

impl Survey {
    /// A survey of nothing.
    pub fn new(grouping: Grouping) -> Survey {
        Survey { grouping, classes: BTreeMap::new(), connections: 0, left_out: LeftOut::default() }
    }

    /// Takes one more vector into account.
    pub fn add(&mut self, vector: &ConnectionVector) {
        let hosts = (vector.ends.initiator.host, vector.ends.acceptor.host);
        let (Some(client), Some(server)) = hosts else {
            self.left_out.no_host += 1;
            return;
        };
        if vector.evidence == Evidence::FlowRecord && vector.protocol == Protocol::Tcp {
            self.left_out.flow_records += 1;
            return;
        }
        let connection = Connection::of(vector);
        if connection.units.is_empty() {
            self.left_out.no_data += 1;
            return;
        }
        let application = self.grouping.per_class.then(|| application(vector));
        let class = self.classes.entry((application, vector.initiator_side)).or_default();
        let numbers = class.clients.number(client).zip(class.servers.number(server));
        let Some((client, server)) = numbers else {
            self.left_out.too_many_hosts += 1;
            return;
        };
        self.connections += 1;
        class.servers.of[server as usize] += 1;
        let (session, at) = class.place(client, vector.start, self.grouping);
        let transport = class.transports[connection.transport as usize].get_or_insert_default();
        transport.add(vector, &connection);
        class.kept.add(session, Connection { at_ns: at.as_nanos(), server, ..connection });
    }

    /// Connections and flows it took into account.
    pub fn connections(&self) -> u64 {
        self.connections
    }

    /// Those it did not.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// The model of a workload of this length; at least a nanosecond.
    pub fn finish(self, duration: Duration) -> SwingModel {
        let duration = duration.max(Duration::from_nanos(1));
        let classes = self.classes.into_iter().filter(|(_, class)| class.sessions > 0);
        SwingModel {
            model: Name::Swing,
            version: VERSION,
            rre_gap_ns: self.grouping.rre_gap.as_nanos(),
            session_gap_ns: self.grouping.session_gap.as_nanos(),
            duration_ns: duration.as_nanos(),
            classes: classes
                .map(|((application, side), class)| class.finish(&name(application), side, duration))
                .collect(),
        }
    }
}

/// The application of the acceptor's port.
fn application(vector: &ConnectionVector) -> Named {
    let service = match vector.protocol {
        Protocol::Tcp => Service::Tcp,
        Protocol::Udp | Protocol::Quic => Service::Udp,
    };
    let known = vector.ends.acceptor.port.map(|port| Application::of(service, [port; 2]));
    (known.unwrap_or(Application::other(service)).name(), service)
}

fn name(application: Option<Named>) -> String {
    application.map_or_else(|| "all".to_owned(), |(name, service)| format!("{name}/{}", service.name()))
}

impl ClassSurvey {
    /// Groups a connection of `client` that starts at `start`: the number of its session, and how long after its beginning it is.
    fn place(&mut self, client: u32, start: Time, grouping: Grouping) -> (u64, Duration) {
        let client = &mut self.clients.of[client as usize];
        let since_last = start.since(client.last_start);
        client.last_start = start;
        if client.sessions > 0 && since_last <= grouping.rre_gap {
            self.inter_conn.add(since_last.as_nanos());
            client.connections += 1;
        } else if client.sessions > 0 && since_last <= grouping.session_gap {
            self.inter_rre.add(start.since(client.rre_start).as_nanos());
            self.num_conn.add(client.connections);
            (client.rre_start, client.connections) = (start, 1);
            client.exchanges += 1;
        } else {
            if client.sessions > 0 {
                self.returns.add(start.since(client.session_start).as_nanos());
                self.num_conn.add(client.connections);
                self.num_rre.add(client.exchanges);
            }
            let (first, last) = self.starts.unwrap_or((start, start));
            self.inter_session.extend((self.sessions > 0).then(|| start.since(last).as_nanos()));
            self.starts = Some((first, start));
            (client.session_start, client.rre_start) = (start, start);
            (client.connections, client.exchanges, client.session) = (1, 1, self.sessions);
            client.sessions += 1;
            self.sessions += 1;
        }
        (client.session, start.since(client.session_start))
    }

    fn finish(mut self, name: &str, side: LinkSide, duration: Duration) -> ClassModel {
        // From the last session to the end and from the beginning to the first: all times together are the workload's length, and
        // sessions start as often as they did, also where most began with the capture.
        let between = self.starts.map_or(Duration::ZERO, |(first, last)| last.since(first));
        self.inter_session.add(duration.saturating_sub(between).as_nanos());
        for client in self.clients.of.iter().filter(|client| client.sessions > 0) {
            self.num_conn.add(client.connections);
            self.num_rre.add(client.exchanges);
            self.sessions_per_client.add(client.sessions);
        }
        let (servers, ranks) = servers(&self.servers.of);
        let rank = |connection: Connection| Connection { server: ranks[connection.server as usize], ..connection };
        let sessions = self.kept.sessions.into_values();
        ClassModel {
            name: name.to_owned(),
            from: side.into(),
            sessions: sessions.map(|session| session.into_iter().map(rank).collect()).collect(),
            users: Users {
                sessions_per_client: (&self.sessions_per_client).into(),
                inter_session_ns: (&self.inter_session).into(),
                return_ns: (&self.returns).into(),
                num_rre: (&self.num_rre).into(),
                inter_rre_ns: (&self.inter_rre).into(),
            },
            rre: Rre { num_conn: (&self.num_conn).into(), inter_conn_ns: (&self.inter_conn).into() },
            servers,
            connections: self.transports.into_iter().flatten().map(|transport| transport.finish()).collect(),
        }
    }
}

/// Servers by popularity, and the rank of each.
fn servers(connections: &[u64]) -> (Servers, Vec<u32>) {
    let mut order: Vec<u32> =
        (0..).take(connections.len()).filter(|server| connections[*server as usize] > 0).collect();
    order.sort_by_key(|server| std::cmp::Reverse(connections[*server as usize]));
    let mut ranks = vec![0; connections.len()];
    (0..).zip(&order).for_each(|(rank, server)| ranks[*server as usize] = rank);
    let (popular, others) = order.split_at(order.len().min(MOST_POPULAR));
    let of = |server: &u32| connections[*server as usize];
    let servers = Servers {
        popular: popular.iter().map(of).collect(),
        others: others.len() as u32,
        others_connections: others.iter().map(of).sum(),
    };
    (servers, ranks)
}

/// Connections of one transport.
#[derive(Clone, Debug)]
struct TransportSurvey {
    transport: Transport,
    count: u64,
    ports: BTreeMap<u16, u64>,
    turns: BTreeMap<Turns, u64>,
    close: BTreeMap<Closing, u64>,
    close_wait: Sketch,
    stated_rtt: Sketch,
    ends: [EndVariables<Sketch>; 2],
}

impl Default for TransportSurvey {
    fn default() -> TransportSurvey {
        TransportSurvey {
            transport: Transport::Tcp,
            count: 0,
            ports: BTreeMap::new(),
            turns: BTreeMap::new(),
            close: BTreeMap::new(),
            close_wait: Sketch::default(),
            stated_rtt: Sketch::default(),
            ends: Default::default(),
        }
    }
}

impl TransportSurvey {
    fn add(&mut self, vector: &ConnectionVector, connection: &Connection) {
        self.transport = connection.transport;
        self.count += 1;
        if let Some(port) = connection.port
            && (self.ports.len() < MOST_PORTS || self.ports.contains_key(&port))
        {
            *self.ports.entry(port).or_default() += 1;
        }
        let turns = Turns::of(&connection.units, connection.transport.is_concurrent());
        let turns = match self.turns.len() < MOST_TURNS || self.turns.contains_key(&turns) {
            true => turns,
            false => turns.regular(connection.transport.is_concurrent()),
        };
        *self.turns.entry(turns).or_default() += 1;
        *self.close.entry(connection.close).or_default() += 1;
        if connection.close != Closing::NotSeen {
            self.close_wait.extend(connection.close_wait_ns);
        }
        self.stated_rtt.extend(connection.stated_rtt_ns);
        for (side, end) in [(Side::Initiator, &connection.initiator), (Side::Acceptor, &connection.acceptor)] {
            let variables = &mut self.ends[side as usize];
            variables.latency_ns.extend(end.latency_ns);
            variables.window_bytes.extend(end.window_bytes);
            variables.mss_bytes.extend(end.mss_bytes.map(u64::from));
            variables.loss_ppm.extend(end.loss_ppm.map(u64::from));
            if vector.adus.iter().any(|adu| adu.side == side && adu.bytes > 0) {
                variables.lead_in_ns.extend(end.lead_in_ns);
            }
        }
        self.add_units(&connection.units);
    }

    fn add_units(&mut self, units: &[Unit]) {
        for (at, unit) in units.iter().enumerate() {
            let variables = &mut self.ends[unit.side as usize];
            match u64::from(unit.packets) {
                0 => variables.bytes.add(unit.bytes),
                packets => {
                    variables.bytes.add((unit.bytes / packets).max(1));
                    variables.packets.add(packets);
                    if packets > 1 {
                        variables.packet_gap_ns.add(unit.length_ns / (packets - 1));
                    }
                }
            }
            let Some(next) = units.get(at + 1) else { continue };
            let variables = &mut self.ends[next.side as usize];
            match next.side == unit.side {
                true => variables.wait_after_own_ns.add(unit.wait_ns),
                // The units of the other end, which do not wait for these.
                false if self.transport.is_concurrent() => {}
                false => variables.wait_after_other_ns.add(unit.wait_ns),
            }
        }
    }

    fn finish(self) -> ConnectionModel {
        let [initiator, acceptor] = self.ends.map(|end| end.map(|sketch| Law::from(sketch)));
        ConnectionModel {
            transport: self.transport,
            count: self.count,
            ports: self.ports.into_iter().collect(),
            turns: self.turns.into_iter().collect(),
            close: self.close.into_iter().collect(),
            close_wait_ns: (&self.close_wait).into(),
            stated_rtt_ns: (&self.stated_rtt).into(),
            initiator,
            acceptor,
        }
    }
}

/// Whole sessions: a sample of all in which each is as likely, the smaller the more there are.
#[derive(Clone, Debug, Default)]
struct Kept {
    /// By a random number and the session's own, which is unique.
    sessions: BTreeMap<(u64, u64), Vec<Connection>>,
    weight: usize,
    /// Sessions from this number on are none of the sample.
    limit: Option<(u64, u64)>,
}

impl Kept {
    fn weight(connection: &Connection) -> usize {
        4 + connection.units.len()
    }

    fn add(&mut self, session: u64, connection: Connection) {
        let key = (Stream::new(0, Purpose::SwingSample, session).bits64(), session);
        if self.limit.is_some_and(|limit| key >= limit) {
            return;
        }
        self.weight += Kept::weight(&connection);
        self.sessions.entry(key).or_default().push(connection);
        while self.weight > MOST_KEPT {
            let Some((key, session)) = self.sessions.pop_last() else { break };
            self.weight -= session.iter().map(Kept::weight).sum::<usize>();
            self.limit = Some(key);
        }
    }
}
