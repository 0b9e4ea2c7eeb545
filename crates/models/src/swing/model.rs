//! The content of a model file: what is known of users, exchanges, connections, packets and paths.

use flowloom_core::sketch::Sketch;
use flowloom_core::workload::{LinkSide, Side};
use serde::{Deserialize, Serialize};

use super::connection::{Closing, Connection, Transport};
use super::law::Law;
use super::turns::Turns;

/// Version of the file.
pub const VERSION: u32 = 1;

/// Classes, at most.
const MOST_CLASSES: usize = 256;

/// Connections of an exchange, at most.
const MOST_CONNECTIONS: u64 = 1 << 30;

/// A fitted Swing model: the object that a model file holds (`docs/reference/json.md`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwingModel {
    /// What it is: "swing".
    pub model: Name,
    /// Version of this form.
    pub version: u32,
    /// A connection that starts so long after the one before it, or sooner, belongs to the same exchange of its client.
    pub rre_gap_ns: u64,
    /// And to the same session.
    pub session_gap_ns: u64,
    /// How long the workload was.
    pub duration_ns: u64,
    /// Users, by application and side of the link: what they do is independent of each other.
    pub classes: Vec<ClassModel>,
}

/// The name of the model in its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Name {
    /// The only one.
    Swing,
}

/// Users of one application (or of all) on one side of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassModel {
    /// The application, or "all".
    pub name: String,
    /// The side of the link the clients are on.
    pub from: Clients,
    /// Whole sessions, for draws that keep what variables have to do with each other; a sample where there are many.
    pub sessions: Vec<Vec<Connection>>,
    /// Users.
    pub users: Users,
    /// Their exchanges.
    pub rre: Rre,
    /// Whom they talk to: serverIP.
    pub servers: Servers,
    /// Their connections.
    pub connections: Vec<ConnectionModel>,
}

/// A side of the link, as files spell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clients {
    /// The inside.
    Left,
    /// The outside.
    Right,
}

impl From<LinkSide> for Clients {
    fn from(side: LinkSide) -> Clients {
        match side {
            LinkSide::Left => Clients::Left,
            LinkSide::Right => Clients::Right,
        }
    }
}

impl From<Clients> for LinkSide {
    fn from(side: Clients) -> LinkSide {
        match side {
            Clients::Left => LinkSide::Left,
            Clients::Right => LinkSide::Right,
        }
    }
}

/// Users and their sessions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Users {
    /// clientIP: sessions of each client.
    pub sessions_per_client: Law,
    /// From the start of a session to the start of the next, whosesoever they are; the first follows the last, as if the workload began
    /// again at its end.
    pub inter_session_ns: Law,
    /// From the start of a client's session to the start of its next.
    pub return_ns: Law,
    /// numRRE of each session.
    pub num_rre: Law,
    /// interRRE: from the start of an exchange to the start of the next in the session.
    pub inter_rre_ns: Law,
}

/// Request-response exchanges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rre {
    /// numConn of each exchange.
    pub num_conn: Law,
    /// interConn: from the start of a connection to the start of the next in the exchange.
    pub inter_conn_ns: Law,
}

/// Which servers connections go to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Servers {
    /// Connections of each of the most popular servers, the first of which has most.
    pub popular: Vec<u64>,
    /// How many other servers there are: they are taken to be equally popular.
    pub others: u32,
    /// Connections of all of these.
    pub others_connections: u64,
}

/// Connections of one transport.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionModel {
    /// What they are sent over.
    pub transport: Transport,
    /// How many there were.
    pub count: u64,
    /// Ports of acceptors and how many connections each had; those of other connections are not known.
    pub ports: Vec<(u16, u64)>,
    /// numPairs, with who speaks when; how often each was.
    pub turns: Vec<(Turns, u64)>,
    /// How often connections ended how.
    pub close: Vec<(Closing, u64)>,
    /// From the last data to the end.
    pub close_wait_ns: Law,
    /// Round-trip times where neither latency is known.
    pub stated_rtt_ns: Law,
    /// What initiators do.
    pub initiator: EndVariables<Law>,
    /// What acceptors do.
    pub acceptor: EndVariables<Law>,
}

/// What an end of a connection does, and what its path is. Where fewer values than connections are known, so few connections that
/// are drawn have one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndVariables<T> {
    /// Payload of a request or response; of datagrams, of one datagram: the mean of those in a row.
    pub bytes: T,
    /// Datagrams in a row.
    pub packets: T,
    /// Between datagrams in a row.
    pub packet_gap_ns: T,
    /// How long it waits after the other end's data, transits not included: reqThink of initiators.
    pub wait_after_other_ns: T,
    /// How long it waits after its own.
    pub wait_after_own_ns: T,
    /// From the handshake to its first data.
    pub lead_in_ns: T,
    /// From the link to it and back.
    pub latency_ns: T,
    /// Its largest window.
    pub window_bytes: T,
    /// The largest segment it takes.
    pub mss_bytes: T,
    /// Loss of what it sends, in parts per million.
    pub loss_ppm: T,
}

/// What the values of a variable are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Counts.
    Count,
    /// Parts per million.
    PartsPerMillion,
}

/// A variable of a class with its distribution.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name, as in `num-rre`; those of connections begin with their transport.
    pub name: String,
    /// What its values are.
    pub measure: Measure,
    /// How they are distributed.
    pub law: Law,
}

impl<T> EndVariables<T> {
    /// The same of what `change` makes of each.
    pub fn map<U>(&self, change: impl Fn(&T) -> U) -> EndVariables<U> {
        EndVariables {
            bytes: change(&self.bytes),
            packets: change(&self.packets),
            packet_gap_ns: change(&self.packet_gap_ns),
            wait_after_other_ns: change(&self.wait_after_other_ns),
            wait_after_own_ns: change(&self.wait_after_own_ns),
            lead_in_ns: change(&self.lead_in_ns),
            latency_ns: change(&self.latency_ns),
            window_bytes: change(&self.window_bytes),
            mss_bytes: change(&self.mss_bytes),
            loss_ppm: change(&self.loss_ppm),
        }
    }

    /// Its variables by their names in files, with what they are called of `side`.
    fn named(&self, side: Side) -> [(&'static str, &'static str, Measure, &T); 10] {
        let of = |initiator, acceptor| if side == Side::Initiator { initiator } else { acceptor };
        [
            ("bytes", of("request-bytes", "response-bytes"), Measure::Bytes, &self.bytes),
            ("packets", of("request-packets", "response-packets"), Measure::Count, &self.packets),
            ("packet_gap_ns", of("request-packet-gap", "response-packet-gap"), Measure::Time, &self.packet_gap_ns),
            ("wait_after_other_ns", of("req-think", "server-think"), Measure::Time, &self.wait_after_other_ns),
            ("wait_after_own_ns", of("client-pause", "server-pause"), Measure::Time, &self.wait_after_own_ns),
            ("lead_in_ns", of("client-lead-in", "server-lead-in"), Measure::Time, &self.lead_in_ns),
            ("latency_ns", of("client-latency", "server-latency"), Measure::Time, &self.latency_ns),
            ("window_bytes", of("client-window", "server-window"), Measure::Bytes, &self.window_bytes),
            ("mss_bytes", of("client-mss", "server-mss"), Measure::Bytes, &self.mss_bytes),
            ("loss_ppm", of("client-loss", "server-loss"), Measure::PartsPerMillion, &self.loss_ppm),
        ]
    }
}

impl ConnectionModel {
    /// What `side` does.
    pub fn end(&self, side: Side) -> &EndVariables<Law> {
        match side {
            Side::Initiator => &self.initiator,
            Side::Acceptor => &self.acceptor,
        }
    }

    /// numPairs of its connections; of concurrent ones the ADUs of both ends.
    fn num_pairs(&self) -> Law {
        let mut steps: Vec<(u64, u64)> = self.turns.iter().map(|(turns, count)| (turns.epochs(), *count)).collect();
        steps.sort_unstable();
        Law::of_steps(steps)
    }

    fn check(&self) -> Result<(), String> {
        if self.turns.is_empty() || self.count == 0 {
            return Err("has no connection".to_owned());
        }
        for (number, (turns, count)) in (1..).zip(&self.turns) {
            turns.check(self.transport.is_concurrent()).map_err(|problem| format!(".turns: {number}: {problem}"))?;
            if *count == 0 {
                return Err(format!(".turns: {number}: \"{turns}\" was never seen"));
            }
        }
        counts(".turns", self.turns.iter().map(|of| of.1), self.count)?;
        counts(".ports", self.ports.iter().map(|of| of.1), self.count)?;
        counts(".close", self.close.iter().map(|of| of.1), self.count)?;
        for (name, law) in [("close_wait_ns", &self.close_wait_ns), ("stated_rtt_ns", &self.stated_rtt_ns)] {
            law.check().map_err(|problem| format!(".{name}: {problem}"))?;
        }
        for (end, side) in [("initiator", Side::Initiator), ("acceptor", Side::Acceptor)] {
            for (name, _, _, law) in self.end(side).named(side) {
                law.check().map_err(|problem| format!(".{end}.{name}: {problem}"))?;
            }
            let sends = self.turns.iter().any(|(turns, _)| turns.sends(side));
            let variables = self.end(side);
            let needed =
                [("bytes", &variables.bytes, true), ("packets", &variables.packets, self.transport.is_datagrams())];
            for (name, law, is_needed) in needed {
                if sends && is_needed && law.min().is_none_or(|min| min == 0) {
                    return Err(format!(".{end}.{name}: needs values from 1 on: this end sends"));
                }
            }
        }
        Ok(())
    }
}

/// Refuses more than `most` in all.
fn counts(name: &str, counts: impl Iterator<Item = u64>, most: u64) -> Result<(), String> {
    let sum = counts.fold(0u64, u64::saturating_add);
    if sum > most { Err(format!("{name}: {sum} connections of {most}")) } else { Ok(()) }
}

impl ClassModel {
    /// Sessions of its users that start in a second.
    pub fn sessions_per_second(&self) -> f64 {
        self.users.inter_session_ns.mean().map_or(0.0, |mean| 1e9 / mean)
    }

    /// How many servers it has.
    pub fn servers(&self) -> u64 {
        self.servers.popular.len() as u64 + u64::from(self.servers.others)
    }

    /// The variables that have values.
    pub fn variables(&self) -> Vec<Variable> {
        let (users, rre) = (&self.users, &self.rre);
        let of_users = [
            ("sessions-per-client", Measure::Count, &users.sessions_per_client),
            ("inter-session", Measure::Time, &users.inter_session_ns),
            ("return", Measure::Time, &users.return_ns),
            ("num-rre", Measure::Count, &users.num_rre),
            ("inter-rre", Measure::Time, &users.inter_rre_ns),
            ("num-conn", Measure::Count, &rre.num_conn),
            ("inter-conn", Measure::Time, &rre.inter_conn_ns),
        ];
        let named = |name: &str, measure, law: &Law| Variable { name: name.to_owned(), measure, law: law.clone() };
        let mut variables: Vec<Variable> = of_users.map(|(name, measure, law)| named(name, measure, law)).into();
        for of in &self.connections {
            let transport = of.transport.name();
            let mut add = |name: &str, measure, law: &Law| {
                variables.push(named(&format!("{transport} {name}"), measure, law));
            };
            add("num-pairs", Measure::Count, &of.num_pairs());
            for side in Side::BOTH {
                of.end(side).named(side).into_iter().for_each(|(_, name, measure, law)| add(name, measure, law));
            }
            add("close-wait", Measure::Time, &of.close_wait_ns);
            add("stated-rtt", Measure::Time, &of.stated_rtt_ns);
        }
        variables.retain(|variable| !variable.law.is_empty());
        variables
    }

    fn check(&self, model: &SwingModel) -> Result<(), String> {
        let users = &self.users;
        let laws = [
            (".users.sessions_per_client", &users.sessions_per_client),
            (".users.inter_session_ns", &users.inter_session_ns),
            (".users.return_ns", &users.return_ns),
            (".users.num_rre", &users.num_rre),
            (".users.inter_rre_ns", &users.inter_rre_ns),
            (".rre.num_conn", &self.rre.num_conn),
            (".rre.inter_conn_ns", &self.rre.inter_conn_ns),
        ];
        for (name, law) in laws {
            law.check().map_err(|problem| format!("{name}: {problem}"))?;
        }
        for (name, law) in [laws[0], laws[3], laws[5]] {
            if law.min().is_none_or(|min| min == 0) {
                return Err(format!("{name}: needs values from 1 on"));
            }
        }
        // As often as the key may ask for.
        if users.inter_session_ns.mean().is_none_or(|mean| mean < 1_000.0) {
            return Err(".users.inter_session_ns: needs a mean of a microsecond or more".to_owned());
        }
        if self.rre.num_conn.max().is_some_and(|max| max > MOST_CONNECTIONS) {
            return Err(format!(".rre.num_conn: more than {MOST_CONNECTIONS} connections are not one exchange"));
        }
        if self.rre.inter_conn_ns.max().is_some_and(|max| max > model.rre_gap_ns) {
            return Err(".rre.inter_conn_ns: a value above rre_gap_ns begins another exchange".to_owned());
        }
        if users.inter_rre_ns.min().is_some_and(|min| min <= model.rre_gap_ns) {
            return Err(".users.inter_rre_ns: a value up to rre_gap_ns is of the same exchange".to_owned());
        }
        if users.return_ns.min().is_some_and(|min| min <= model.session_gap_ns) {
            return Err(".users.return_ns: a value up to session_gap_ns is of the same session".to_owned());
        }
        let servers = &self.servers;
        let connections = servers.popular.iter().copied().fold(servers.others_connections, u64::saturating_add);
        if connections == 0 || (servers.others == 0) != (servers.others_connections == 0) {
            return Err(".servers: connections without servers, or servers without connections".to_owned());
        }
        for (at, of) in self.connections.iter().enumerate() {
            of.check().map_err(|problem| format!(".connections[{at}]{problem}"))?;
        }
        if self.connections.is_empty() {
            return Err(".connections: there are none".to_owned());
        }
        for (at, session) in self.sessions.iter().enumerate() {
            let mut last = 0;
            for (number, connection) in session.iter().enumerate() {
                let place = format!(".sessions[{at}][{number}]");
                connection.check().map_err(|problem| format!("{place}: {problem}"))?;
                let gap = connection.at_ns.checked_sub(last);
                if gap.is_none_or(|gap| gap > model.session_gap_ns) || (number == 0 && connection.at_ns > 0) {
                    return Err(format!("{place}: starts at {} ns, which is another session", connection.at_ns));
                }
                if u64::from(connection.server) >= self.servers() {
                    return Err(format!("{place}: there is no server {}", connection.server));
                }
                last = connection.at_ns;
            }
            if session.is_empty() {
                return Err(format!(".sessions[{at}]: has no connection"));
            }
        }
        Ok(())
    }
}

impl SwingModel {
    /// Refuses what no workload makes.
    ///
    /// # Errors
    /// The place in the file, and what is wrong there.
    pub fn check(&self) -> Result<(), String> {
        if self.version != VERSION {
            return Err(format!("version {} is not known: this is version {VERSION}", self.version));
        }
        if self.rre_gap_ns > self.session_gap_ns {
            return Err("rre_gap_ns is above session_gap_ns".to_owned());
        }
        if self.classes.is_empty() || self.classes.len() > MOST_CLASSES {
            return Err(format!("classes: there are {} (1 to {MOST_CLASSES})", self.classes.len()));
        }
        for (at, class) in self.classes.iter().enumerate() {
            class.check(self).map_err(|problem| format!("classes[{at}]{problem}"))?;
        }
        let servers: u64 = self.classes.iter().map(ClassModel::servers).fold(0, u64::saturating_add);
        if servers > u64::from(u32::MAX) / 2 {
            return Err(format!("classes: {servers} servers are too many"));
        }
        Ok(())
    }

    /// Sessions of all classes that start in a second.
    pub fn sessions_per_second(&self) -> f64 {
        self.classes.iter().map(ClassModel::sessions_per_second).sum()
    }
}

impl From<&Sketch> for Law {
    fn from(sketch: &Sketch) -> Law {
        Law::new(&sketch.empirical())
    }
}
