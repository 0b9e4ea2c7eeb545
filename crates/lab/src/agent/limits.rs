//! What an agent lends: its keeper says so in a file, the agent holds every leaf to it, and no controller can change it.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};

use flowloom_core::extract::Prefix;
use flowloom_core::keys::Quantity;
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Rate};
use flowloom_core::wire::Address;
use serde::Deserialize;

use crate::authority::Error;
use crate::script::leaf;

/// The file that a new agent gets: it lends little, and only to itself.
pub const DEFAULT: &str = r#"# What this agent lends to experiments (docs/guide/agents.md). It reads the file when it starts.

[send]                                          # traffic of leaves here
destinations = ["127.0.0.0/8", "::1/128"]       # where to, beside the consent of the agent there
ports = ["1024-65535"]
rate = "100mbit"                                # all leaves together, as they announce it
connections = 1000                              # all leaves together
duration = "1h"                                 # each leaf

[receive]                                       # what this agent agrees to when others ask
ports = ["1024-65535"]
rate = "100mbit"                                # each sender
duration = "1h"                                 # from the consent on

[run]
experiments = 16                                # at once
leaves = 1000                                   # at once
results = "256mb"                               # kept on disk; the oldest go first

# What more it can lend, with the right to do so. Nothing of this is lent unless it stands here.
#
# [path]                                        # leaves may stand between these, as a path (CAP_NET_RAW)
# interfaces = ["eth1", "eth2"]
#
# [capture]                                     # leaves may capture from these (CAP_NET_RAW)
# interfaces = ["eth1"]
# snap = "128b"                                 # of each packet
#
# [watch]                                       # leaves may watch flows there (CAP_NET_RAW)
# interfaces = ["eth1"]
#
# [monitor]                                     # leaves may read the counters of these, and of the host
# interfaces = ["eth1"]
# host = true
#
# [commands]                                    # leaves may run these: the program, with its path, and its arguments
# routes = ["/usr/sbin/ip", "route"]
#
# [workloads]                                   # leaves may replay these: a file, with its path (root, or user namespaces)
# campus = "/srv/workloads/campus.parquet"
"#;

/// The limits of an agent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Traffic of leaves here.
    pub send: Send,
    /// What is agreed to.
    pub receive: Receive,
    /// Experiments.
    pub run: Run,
    /// What may be a path.
    #[serde(default)]
    pub path: Interfaces,
    /// What may be captured.
    #[serde(default)]
    pub capture: Capture,
    /// Where flows may be watched.
    #[serde(default)]
    pub watch: Interfaces,
    /// Whose counters may be read.
    #[serde(default)]
    pub monitor: Monitor,
    /// Programs by the names that scripts call them, with their arguments.
    #[serde(default)]
    pub commands: BTreeMap<String, Words>,
    /// Workload files by the names that scripts call them.
    #[serde(default)]
    pub workloads: BTreeMap<String, PathBuf>,
}

/// Network interfaces that are lent.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interfaces {
    interfaces: Vec<String>,
}

/// What is lent to captures.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    interfaces: Vec<String>,
    snap: Option<Written<Limit>>,
}

/// What is lent to monitors.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Monitor {
    interfaces: Vec<String>,
    host: bool,
}

/// A program, with its path, and its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Words(pub Vec<String>);

impl TryFrom<Vec<String>> for Words {
    type Error = String;

    fn try_from(words: Vec<String>) -> Result<Words, String> {
        match words.first() {
            // A name alone would be looked for in places that the one who writes it does not know.
            Some(program) if Path::new(program).is_absolute() && words.iter().all(|word| !word.contains('\0')) => {
                Ok(Words(words))
            }
            _ => {
                Err("a command is a program with its whole path, and its arguments: [\"/usr/bin/id\", \"-u\"]"
                    .to_owned())
            }
        }
    }
}

/// Which limit of an agent does not allow something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// An interface is not lent.
    #[error("{interface} is not in this agent's {to}.interfaces")]
    Interface {
        /// Its name.
        interface: String,
        /// The part of the limits that would lend it.
        to: &'static str,
    },
    /// The counters of the host are not lent.
    #[error("this agent's monitor.host does not lend the counters of the host")]
    HostCounters,
    /// Nothing is lent under a name.
    #[error("{name} is not in this agent's {setting} ({})", if known.is_empty() { "none".to_owned() } else { known.join(", ") })]
    Name {
        /// The name.
        name: String,
        /// The setting that would lend it.
        setting: &'static str,
        /// The names that it has.
        known: Vec<String>,
    },
    /// An address is that of many hosts, or of none.
    #[error("{0} is not the address of one host")]
    NotOneHost(IpAddr),
    /// Leaves do not send to an address.
    #[error("{0} is not in this agent's send.destinations")]
    Destination(IpAddr),
    /// A port is not allowed.
    #[error("port {port} is not in this agent's {setting}")]
    Port {
        /// The port.
        port: u16,
        /// `send.ports` or `receive.ports`.
        setting: &'static str,
    },
    /// It is too much.
    #[error("{asked} {unit} is more than this agent's {limit} of {most}")]
    Above {
        /// How much would be.
        asked: u64,
        /// In what unit.
        unit: &'static str,
        /// The setting.
        limit: &'static str,
        /// How much it allows.
        most: u64,
    },
}

/// Whether an interface is among those that are lent.
///
/// # Errors
/// Which setting would lend it.
fn lent(interface: &str, lent: &[String], to: &'static str) -> Result<(), LimitError> {
    if lent.iter().any(|one| one == interface) {
        return Ok(());
    }
    Err(LimitError::Interface { interface: interface.to_owned(), to })
}

impl Limits {
    /// Whether a leaf may stand between these interfaces.
    ///
    /// # Errors
    /// Why not.
    pub fn may_be_path(&self, interfaces: &[String; 2]) -> Result<(), LimitError> {
        interfaces.iter().try_for_each(|interface| lent(interface, &self.path.interfaces, "path"))
    }

    /// Whether a leaf may capture so many bytes of each packet of an interface.
    ///
    /// # Errors
    /// Why not.
    pub fn may_capture(&self, interface: &str, snap_bytes: u64) -> Result<(), LimitError> {
        lent(interface, &self.capture.interfaces, "capture")?;
        let most = match self.capture.snap {
            Some(Written(Limit::Bytes(bytes))) => bytes,
            // Packets are no bytes.
            Some(Written(Limit::Packets(_))) => 0,
            None => leaf::Capture::HEADERS_BYTES,
        };
        within("capture.snap", snap_bytes, most, "bytes of a packet")
    }

    /// Whether a leaf may watch a flow at an interface.
    ///
    /// # Errors
    /// Why not.
    pub fn may_watch(&self, interface: &str) -> Result<(), LimitError> {
        lent(interface, &self.watch.interfaces, "watch")
    }

    /// Whether a leaf may read the counters of the host, and of an interface.
    ///
    /// # Errors
    /// Why not.
    pub fn may_monitor(&self, interface: Option<&str>) -> Result<(), LimitError> {
        if !self.monitor.host {
            return Err(LimitError::HostCounters);
        }
        interface.map_or(Ok(()), |interface| lent(interface, &self.monitor.interfaces, "monitor"))
    }

    /// The program that is lent under a name, with its arguments.
    ///
    /// # Errors
    /// Which are.
    pub fn command(&self, name: &str) -> Result<Words, LimitError> {
        by_name(name, &self.commands, "commands")
    }

    /// The workload file that is lent under a name.
    ///
    /// # Errors
    /// Which are.
    pub fn workload(&self, name: &str) -> Result<PathBuf, LimitError> {
        by_name(name, &self.workloads, "workloads")
    }
}

/// What is lent under a name.
///
/// # Errors
/// What is, by which setting.
fn by_name<T: Clone>(name: &str, lent: &BTreeMap<String, T>, setting: &'static str) -> Result<T, LimitError> {
    let unknown = || LimitError::Name { name: name.to_owned(), setting, known: lent.keys().cloned().collect() };
    lent.get(name).cloned().ok_or_else(unknown)
}

/// Limits of what leaves send.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Send {
    destinations: Vec<Written<Prefix>>,
    ports: Vec<Written<Ports>>,
    rate: Quantity<Rate>,
    connections: u64,
    duration: Written<Duration>,
}

/// Limits of what others may send here.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receive {
    ports: Vec<Written<Ports>>,
    rate: Quantity<Rate>,
    duration: Written<Duration>,
}

/// Limits of experiments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// So many at once.
    pub experiments: usize,
    /// So many leaves at once.
    pub leaves: usize,
    results: Written<Limit>,
}

/// A value in a file, written as text.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "String", bound = "T: FromStr, T::Err: Display")]
struct Written<T>(T);

impl<T: FromStr<Err: Display>> TryFrom<String> for Written<T> {
    type Error = String;

    fn try_from(text: String) -> Result<Written<T>, String> {
        text.parse().map(Written).map_err(|error: T::Err| error.to_string())
    }
}

/// `5001` or `1024-65535`.
#[derive(Clone, Debug)]
struct Ports(RangeInclusive<u16>);

impl FromStr for Ports {
    type Err = String;

    fn from_str(text: &str) -> Result<Ports, String> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        match (first.trim().parse(), last.trim().parse()) {
            (Ok(first), Ok(last)) if first <= last => Ok(Ports(first..=last)),
            _ => Err(format!("{text:?} is no port or range of ports; write it like 5001 or 1024-65535")),
        }
    }
}

/// What a leaf will do, as it announces it before anything is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// At most, in bit/s of IP packets, to all its destinations together.
    pub rate_bit_s: u64,
    /// At once.
    pub connections: u64,
    /// From its start on, in nanoseconds; what goes on for longer is stopped.
    pub duration_ns: u64,
}

impl Limits {
    /// Reads a file, and returns its text beside what it says.
    ///
    /// # Errors
    /// If it cannot be read, or does not say what the limits are.
    pub fn load(path: &Path) -> Result<(Limits, String), Error> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::File { path: path.to_owned(), error })?;
        let limits = Limits::parse(&text).map_err(|why| Error::Form { what: path.display().to_string(), why })?;
        Ok((limits, text))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn parse(text: &str) -> Result<Limits, String> {
        toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())
    }

    /// Whether a leaf may send there at all.
    ///
    /// # Errors
    /// Why not.
    pub fn may_send_to(&self, to: SocketAddr) -> Result<(), LimitError> {
        if !named(to.ip()) {
            return Err(LimitError::NotOneHost(to.ip()));
        }
        let address = Address::new(to.ip().to_canonical(), to.port());
        if !self.send.destinations.iter().any(|prefix| prefix.0.contains(address)) {
            return Err(LimitError::Destination(to.ip()));
        }
        if !holds(&self.send.ports, to.port()) {
            return Err(LimitError::Port { port: to.port(), setting: "send.ports" });
        }
        Ok(())
    }

    /// Whether this agent agrees to receive that much on a port for so long.
    ///
    /// # Errors
    /// Why not.
    pub fn may_receive(&self, port: u16, rate_bit_s: u64, duration_s: u64) -> Result<(), LimitError> {
        if !holds(&self.receive.ports, port) {
            return Err(LimitError::Port { port, setting: "receive.ports" });
        }
        within("receive.rate", rate_bit_s, most(self.receive.rate.value), "bit/s")?;
        within("receive.duration", duration_s, self.receive.duration.0.as_nanos() / 1_000_000_000, "s")
    }

    /// How long a leaf may go on, in nanoseconds.
    pub fn most_duration_ns(&self) -> u64 {
        self.send.duration.0.as_nanos()
    }
}

impl Send {
    /// What all leaves may send together, in bit/s of IP packets.
    pub fn rate_bit_s(&self) -> u64 {
        most(self.rate.value)
    }
}

impl Run {
    /// How much of results is kept.
    pub fn results_bytes(&self) -> u64 {
        match self.results.0 {
            Limit::Bytes(bytes) => bytes,
            // A count of results is none of bytes.
            Limit::Packets(_) => 0,
        }
    }
}

/// What all leaves of an agent hold together.
#[derive(Debug)]
pub struct Reservations {
    limits: Limits,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    leaves: usize,
    rate_bit_s: u64,
    connections: u64,
}

/// What one leaf holds, as long as this lives.
#[derive(Debug)]
pub struct Reserved {
    of: Arc<Reservations>,
    demand: Demand,
}

impl Reservations {
    /// Nothing is held yet.
    pub fn new(limits: Limits) -> Reservations {
        Reservations { limits, held: Mutex::default() }
    }

    /// Holds what a leaf announces.
    ///
    /// # Errors
    /// Which limit it would pass.
    pub fn reserve(self: &Arc<Reservations>, demand: Demand) -> Result<Reserved, LimitError> {
        let send = &self.limits.send;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = held.rate_bit_s.saturating_add(demand.rate_bit_s);
        let connections = held.connections.saturating_add(demand.connections);
        within("run.leaves", held.leaves as u64 + 1, self.limits.run.leaves as u64, "leaves with those that run")?;
        within("send.rate", rate, most(send.rate.value), "bit/s with what runs")?;
        within("send.connections", connections, send.connections, "connections with those that run")?;
        within("send.duration", demand.duration_ns, send.duration.0.as_nanos(), "ns")?;
        *held = Held { leaves: held.leaves + 1, rate_bit_s: rate, connections };
        Ok(Reserved { of: Arc::clone(self), demand })
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut held = self.of.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.leaves -= 1;
        held.rate_bit_s -= self.demand.rate_bit_s;
        held.connections -= self.demand.connections;
    }
}

fn holds(ports: &[Written<Ports>], port: u16) -> bool {
    ports.iter().any(|ports| ports.0.0.contains(&port))
}

fn most(rate: Rate) -> u64 {
    rate.bits_per_second().unwrap_or(u64::MAX)
}

fn within(limit: &'static str, asked: u64, most: u64, unit: &'static str) -> Result<(), LimitError> {
    if asked > most { Err(LimitError::Above { asked, unit, limit, most }) } else { Ok(()) }
}

/// Whether an address is that of one host.
pub(super) fn named(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => !(v4.is_unspecified() || v4.is_multicast() || v4.is_broadcast()),
        IpAddr::V6(v6) => !(v6.is_unspecified() || v6.is_multicast()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(from: &str, to: &str) -> Limits {
        assert!(DEFAULT.contains(from));
        Limits::parse(&DEFAULT.replace(from, to)).unwrap()
    }

    #[test]
    fn destinations_and_ports() {
        let limits = changed(r#"["127.0.0.0/8", "::1/128"]"#, r#"["10.1.0.0/16", "2001:db8::/32", "0.0.0.0/0"]"#);
        let default = Limits::parse(DEFAULT).unwrap();
        let table = [
            ("127.0.0.1:5001", true, true),
            ("127.0.0.1:80", false, false),
            ("10.1.2.3:5001", false, true),
            ("[::ffff:10.1.2.3]:5001", false, true),
            ("[2001:db8::1]:5001", false, true),
            ("[2002::1]:5001", false, false),
            ("[::1]:5001", true, false),
            ("0.0.0.0:5001", false, false),
            ("224.0.0.1:5001", false, false),
            ("255.255.255.255:5001", false, false),
            ("[ff02::1]:5001", false, false),
        ];
        for (to, by_default, wider) in table {
            let to = to.parse().unwrap();
            assert_eq!(default.may_send_to(to).is_ok(), by_default, "{to}");
            assert_eq!(limits.may_send_to(to).is_ok(), wider, "{to}");
        }
    }

    #[test]
    fn receiving() {
        let limits = Limits::parse(DEFAULT).unwrap();
        assert_eq!(limits.may_receive(5001, 100_000_000, 3600), Ok(()));
        assert!(limits.may_receive(22, 1, 1).unwrap_err().to_string().contains("receive.ports"));
        assert!(limits.may_receive(5001, 100_000_001, 1).unwrap_err().to_string().contains("receive.rate"));
        assert!(limits.may_receive(5001, 1, 3601).unwrap_err().to_string().contains("receive.duration"));
    }

    #[test]
    fn leaves_together_stay_within_the_limits() {
        let all = Arc::new(Reservations::new(changed("leaves = 1000 ", "leaves = 3 ")));
        let one = Demand { rate_bit_s: 60_000_000, connections: 400, duration_ns: 1 };
        let first = all.reserve(one).unwrap();
        assert!(all.reserve(one).unwrap_err().to_string().contains("send.rate"));
        let half = Demand { rate_bit_s: 1, connections: 601, ..one };
        assert!(all.reserve(half).unwrap_err().to_string().contains("send.connections"));
        assert!(
            all.reserve(Demand { duration_ns: 3_600_000_000_001, ..Demand::default() })
                .unwrap_err()
                .to_string()
                .contains("send.duration")
        );
        let _second = all.reserve(Demand::default()).unwrap();
        let _third = all.reserve(Demand::default()).unwrap();
        assert!(all.reserve(Demand::default()).unwrap_err().to_string().contains("run.leaves"));
        drop(first);
        assert!(all.reserve(Demand { rate_bit_s: 100_000_000, connections: 1000, duration_ns: 1 }).is_ok());
    }

    #[test]
    fn nothing_more_is_lent_than_the_file_says() {
        let default = Limits::parse(DEFAULT).unwrap();
        let both = ["eth1", "eth2"].map(str::to_owned);
        assert!(default.may_be_path(&both).unwrap_err().to_string().contains("path.interfaces"));
        assert!(default.may_capture("eth1", 14).unwrap_err().to_string().contains("capture.interfaces"));
        assert!(default.may_watch("eth1").unwrap_err().to_string().contains("watch.interfaces"));
        assert!(default.may_monitor(None).unwrap_err().to_string().contains("monitor.host"));
        assert!(default.command("routes").unwrap_err().to_string().contains("(none)"));
        // The file says how: without the marks it lends.
        let (before, more) = DEFAULT.split_once("# [path]").unwrap();
        let more = format!("# [path]{more}").replace("# [", "[").replace("\n# ", "\n").replace("\n#\n", "\n");
        let lends = Limits::parse(&format!("{before}{more}")).unwrap();
        assert_eq!(lends.may_be_path(&both), Ok(()));
        assert_eq!((lends.may_capture("eth1", 128), lends.may_watch("eth1")), (Ok(()), Ok(())));
        assert!(lends.may_capture("eth1", 129).unwrap_err().to_string().contains("capture.snap of 128"));
        assert!(lends.may_capture("lo", 128).is_err() && lends.may_watch("lo").is_err());
        assert_eq!((lends.may_monitor(None), lends.may_monitor(Some("eth1"))), (Ok(()), Ok(())));
        assert!(lends.may_monitor(Some("eth2")).unwrap_err().to_string().contains("monitor.interfaces"));
        assert_eq!(lends.command("routes").unwrap().0, ["/usr/sbin/ip", "route"]);
        assert!(lends.command("ip").unwrap_err().to_string().contains("(routes)"));
        let relative = format!("{DEFAULT}\n[commands]\nid = [\"id\"]\n");
        assert!(Limits::parse(&relative).unwrap_err().contains("with its whole path"));
    }

    #[test]
    fn what_the_file_says_wrongly_is_named() {
        for (from, to, names) in [
            (r#""100mbit""#, r#""100""#, "rate"),
            (r#""100mbit""#, r#""100mbps""#, "two readings"),
            ("127.0.0.0/8", "127.0.0.0/33", "127.0.0.0/33"),
            (r#""1024-65535""#, r#""9-8""#, "9-8"),
            ("leaves = ", "leafs = ", "leafs"),
            ("[receive]", "[recieve]", "recieve"),
        ] {
            let error = Limits::parse(&DEFAULT.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(names), "{error}");
        }
    }
}
