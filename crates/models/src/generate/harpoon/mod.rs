//! Harpoon (Sommers and Barford 2004): sessions between addresses, each of which waits for a gap and transfers a file, again and
//! again. How many there are changes from interval to interval, and so does the load (methods K.1).
//!
//! Its parameters are laws in the experiment, or lists in the XML of Harpoon itself, which [`configure`] also finds for traffic
//! that was measured.

pub mod configure;
mod pairs;
mod plugin;
mod pool;
mod population;
mod values;

use flowloom_core::distribution::Distribution;
use flowloom_core::keys::Quantity;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Rate;
use flowloom_core::workload::ConnectionVector;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ends::{Ends, Impossible, Merged, gap};

pub use plugin::{Personality, Plugin, Traffic};
pub use pool::{Block, ParseBlockError};
pub use values::Lists;

use pool::Pool;
pub use population::Transfer;
use population::{Active, Doing, Population};
use values::Values;

/// How long an interval of Harpoon is where nothing else is said.
const INTERVAL: Duration = Duration::from_secs(60);

/// Payload of the datagrams of its constant rate.
const DATAGRAM_BYTES: u32 = 1_000;

/// Its constant rate, in bit/s.
const BITRATE: u64 = 10_000;

/// Sessions at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a number of sessions, or a list with one for each interval")]
pub enum Sessions {
    /// Always as many.
    Always(u32),
    /// So many in each interval.
    List(Vec<u32>),
}

/// Files of configurations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected the name of a file, or a list of names")]
enum Files {
    One(String),
    Many(Vec<String>),
}

/// `kind = "harpoon"`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Harpoon {
    /// Configurations of Harpoon, of clients and of servers; instead of the keys from `traffic` on.
    #[serde(skip_serializing_if = "Option::is_none")]
    config: Option<Files>,
    /// Length of a session; default: what the configuration says, or 60 s.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<Quantity<Duration>>,
    /// Whether the list of sessions begins again after its end.
    repeat: bool,
    /// Order in which the values of lists are drawn.
    lists: Lists,
    /// How a file is asked for, and which end closes; default: file.
    transfer: Transfer,
    /// Kind of traffic; default: tcp.
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic: Option<Traffic>,
    /// Sessions at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<Sessions>,
    /// Milliseconds between the starts of a session's transfers.
    #[serde(skip_serializing_if = "Option::is_none")]
    gap_ms: Option<Distribution>,
    /// Bytes of a file; of UDP that is answered, bytes of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    file_bytes: Option<Distribution>,
    /// Bytes of a datagram that is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    request_bytes: Option<Distribution>,
    /// Milliseconds between two of these datagrams, or their mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    period_ms: Option<Distribution>,
    /// Users of a session, who send these datagrams; default: 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    users: Option<u32>,
    /// Payload each second of a file in datagrams.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<Quantity<Rate>>,
    /// Payload of its datagrams.
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_bytes: Option<u32>,
    /// Addresses of clients; default: any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    clients: Vec<Block>,
    /// Addresses of servers; default: any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<Block>,
    /// Port of the servers; default: none is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    /// Ends of the connections; clients are the initiators.
    ends: Ends,
    /// What the configurations say, once they were read.
    #[serde(skip)]
    configured: Vec<Population>,
    /// What they say in vain.
    #[serde(skip)]
    remarks: Vec<String>,
}

impl Harpoon {
    /// Refuses what cannot be.
    ///
    /// # Errors
    /// The parameter to blame.
    pub fn check(&self) -> Result<(), Impossible> {
        self.ends.check()?;
        if let Some(files) = &self.config {
            if matches!(files, Files::Many(files) if files.is_empty()) {
                return Err(Impossible::new("config", "names no file"));
            }
            return match self.own_keys().find(|(_, given)| *given) {
                Some((key, _)) => Err(Impossible::new(key, "is what a config says: leave out one of them")),
                None => Ok(()),
            };
        }
        self.population()?.check().map_err(|problem| Impossible::new("sessions", format!("cannot be: {problem}")))
    }

    /// What is missing or cannot be: all that is missing at once.
    pub fn problems(&self) -> Vec<Impossible> {
        let missing = self.missing();
        if missing.is_empty() { self.check().err().into_iter().collect() } else { missing }
    }

    /// Keys that a population needs and that are not given.
    fn missing(&self) -> Vec<Impossible> {
        if self.config.is_some() {
            return Vec::new();
        }
        let needed: &[&str] = match self.traffic.unwrap_or_default() {
            Traffic::Tcp | Traffic::UdpConstant => &["sessions", "gap-ms", "file-bytes"],
            Traffic::UdpPeriodic | Traffic::UdpExponential => &["sessions", "file-bytes", "request-bytes", "period-ms"],
        };
        let missing = self.own_keys().filter(|(key, given)| needed.contains(key) && !given);
        missing.map(|(key, _)| Impossible::new(key, "is missing")).collect()
    }

    /// Keys that a configuration stands for, and whether they are given.
    fn own_keys(&self) -> impl Iterator<Item = (&'static str, bool)> {
        [
            ("traffic", self.traffic.is_some()),
            ("sessions", self.sessions.is_some()),
            ("gap-ms", self.gap_ms.is_some()),
            ("file-bytes", self.file_bytes.is_some()),
            ("request-bytes", self.request_bytes.is_some()),
            ("period-ms", self.period_ms.is_some()),
            ("users", self.users.is_some()),
            ("rate", self.rate.is_some()),
            ("payload-bytes", self.payload_bytes.is_some()),
            ("clients", !self.clients.is_empty()),
            ("servers", !self.servers.is_empty()),
            ("port", self.port.is_some()),
        ]
        .into_iter()
    }

    /// The files of its configuration, by name.
    pub fn configs(&mut self) -> &mut [String] {
        match &mut self.config {
            Some(Files::One(file)) => std::slice::from_mut(file),
            Some(Files::Many(files)) => files,
            None => &mut [],
        }
    }

    /// Takes what its configurations say: all their plugins, and what their reader found in vain.
    ///
    /// # Errors
    /// What is missing or cannot be, with the place of the plugin.
    pub fn configure(&mut self, plugins: &[Plugin], remarks: Vec<String>) -> Result<(), String> {
        self.remarks = remarks;
        self.configured = pairs::populations(self, plugins)?;
        Ok(())
    }

    /// Sessions of a list, as its keys have them walked.
    fn active(&self, list: Vec<u32>) -> Active {
        if self.repeat { Active::Again(list.into()) } else { Active::Once(list.into()) }
    }

    /// What the experiment's keys say.
    fn population(&self) -> Result<Population, Impossible> {
        let traffic = self.traffic.unwrap_or_default();
        let wanted: &[&str] = match traffic {
            Traffic::Tcp => &["gap-ms", "file-bytes"],
            Traffic::UdpConstant => &["gap-ms", "file-bytes", "rate", "payload-bytes"],
            Traffic::UdpPeriodic | Traffic::UdpExponential => &["file-bytes", "request-bytes", "period-ms", "users"],
        };
        let of_all = ["traffic", "sessions", "clients", "servers", "port"];
        if let Some((key, _)) =
            self.own_keys().find(|(key, given)| *given && !wanted.contains(key) && !of_all.contains(key))
        {
            return Err(Impossible::new(key, "is of other traffic; this one has ".to_owned() + &wanted.join(", ")));
        }
        let law = |key: &'static str, law: &Option<Distribution>, unit| match law {
            Some(law) => Ok(Values::Law(law.clone(), unit)),
            None => Err(Impossible::new(key, "is missing")),
        };
        let gaps = || law("gap-ms", &self.gap_ms, 1e-3);
        let sizes = || law("file-bytes", &self.file_bytes, 1.0);
        let doing = match traffic {
            Traffic::Tcp => Doing::Files { gaps: gaps()?, sizes: sizes()?, transfer: self.transfer },
            Traffic::UdpConstant => {
                let payload = self.payload_bytes.unwrap_or(DATAGRAM_BYTES);
                let rate = self.rate.as_ref().map_or(Rate::from_bits_per_second(BITRATE), |rate| Some(rate.value));
                let Some(rate) = rate.filter(|rate| rate.bits_per_second().is_some()) else {
                    return Err(Impossible::new("rate", "must have a limit"));
                };
                super::on_off::check_payload("payload-bytes", payload)?;
                Doing::Datagrams { gaps: gaps()?, sizes: sizes()?, payload, every: gap(payload, rate) }
            }
            Traffic::UdpPeriodic | Traffic::UdpExponential => Doing::PingPong {
                users: self.users.unwrap_or(1),
                periods: law("period-ms", &self.period_ms, 1e-3)?,
                exponential: traffic == Traffic::UdpExponential,
                requests: law("request-bytes", &self.request_bytes, 1.0)?,
                responses: sizes()?,
            },
        };
        let active = match self.sessions.clone() {
            Some(Sessions::Always(sessions)) => Active::Always(sessions),
            Some(Sessions::List(list)) => self.active(list),
            None => return Err(Impossible::new("sessions", "is missing")),
        };
        let pool = |key: &'static str, blocks: &[Block], port: u16| {
            let blocks: Vec<Block> = blocks.iter().map(|block| Block { port, ..*block }).collect();
            Pool::new(&blocks).ok_or_else(|| Impossible::new(key, "has no address of a host"))
        };
        Ok(Population {
            interval: self.interval.as_ref().map_or(INTERVAL, |interval| interval.value),
            active,
            doing,
            clients: pool("clients", &self.clients, 0)?,
            servers: match (&self.servers[..], self.port) {
                ([], Some(port)) => pool("servers", &[Block::ANY], port)?,
                (servers, port) => pool("servers", servers, port.unwrap_or(0))?,
            },
            ends: self.ends.clone(),
        })
    }

    /// What all of its sessions do in `duration`.
    pub fn vectors(&self, seed: u64, duration: Duration) -> impl Iterator<Item = ConnectionVector> + Send + use<> {
        let populations = match &self.configured[..] {
            [] => self.population().into_iter().collect(),
            configured => configured.to_vec(),
        };
        let end = Time::ZERO + duration;
        Merged::new((0..).zip(populations).map(move |(number, population)| population.vectors(number, seed, end)))
    }

    /// What a reader of results should know: what the configurations say in vain, laws without a mean, and lists that end before `duration`.
    pub fn remarks(&self, duration: Duration) -> Vec<String> {
        let own = self.configured.is_empty().then(|| self.population().ok()).flatten();
        let ends = self.configured.iter().chain(&own).filter_map(|population| {
            let Active::Once(list) = &population.active else { return None };
            let end = population.interval * list.len() as u64;
            (end < duration)
                .then(|| format!("sessions are given for {end}: then nothing starts (repeat = true begins again)"))
        });
        let laws = [
            ("gap-ms", &self.gap_ms),
            ("file-bytes", &self.file_bytes),
            ("request-bytes", &self.request_bytes),
            ("period-ms", &self.period_ms),
        ];
        let endless = super::ends::without_mean(laws.into_iter().filter_map(|(key, law)| Some((key, law.as_ref()?))));
        let mut remarks: Vec<String> = self.remarks.iter().cloned().chain(endless).chain(ends).collect();
        remarks.dedup();
        remarks
    }
}

#[cfg(test)]
mod tests;
