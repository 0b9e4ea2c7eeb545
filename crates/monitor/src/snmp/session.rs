//! A target that answers by SNMP: its addresses, versions 2c and 3, timeouts, repeated questions.

use std::net::{SocketAddr, ToSocketAddrs};

use snmp2::v3::{Auth, AuthProtocol, Cipher, Security};
use snmp2::{Error as Wire, Oid as WireOid, SyncSession};

use super::oid::Oid;
use super::value::{Value, each};
use crate::clock::{Bell, Moment};
use crate::registry::{Authentication, Privacy};

/// The port of agents.
const PORT: u16 = 161;

/// How often a question is repeated because the agent named its time first (RFC 3414, 3.2.7), or another answer came first.
const ROUNDS: usize = 3;

/// The error of an agent whose answer would not fit into a packet (RFC 3416, 3).
const TOO_BIG: u32 = 1;

/// Repetitions at first, and at most.
const FIRST_REPETITIONS: u32 = 8;
const MOST_REPETITIONS: u32 = 128;

/// How a target is asked. It holds secrets, and has no text.
#[derive(Clone)]
pub enum Access {
    /// Version 2c.
    Community(String),
    /// Version 3.
    User {
        /// Its name.
        name: String,
        /// How it proves who it is, and by what.
        authentication: (Authentication, String),
        /// How messages are encrypted, and by what.
        privacy: Option<(Privacy, String)>,
        /// The context.
        context: Option<String>,
    },
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// Nothing came in time.
    #[error("no answer from {0}")]
    NoAnswer(String),
    /// The name of an address is not known.
    #[error("{0}: unknown host")]
    Unknown(String),
    /// The agent rejects the user, its keys or its rights.
    #[error("{0} rejects the user or its keys")]
    Rejected(String),
    /// What came is no answer to the question.
    #[error("{0} answered with what is no answer: {1}")]
    Malformed(String, String),
    /// The agent says that it cannot answer.
    #[error("{0} answered with error {1}")]
    Refused(String, u32),
    /// It answers for longer than anyone waits.
    #[error("{0} does not come to an end with its answers")]
    Endless(String),
    /// The bell rang meanwhile.
    #[error("the monitor ends")]
    Stopped,
}

/// A conversation with a target.
pub struct Session {
    access: Access,
    addresses: Vec<String>,
    /// The address that is asked first.
    current: usize,
    timeout: std::time::Duration,
    retries: u32,
    repetitions: u32,
    most_repetitions: u32,
    /// Names in a question for values, at most.
    most_names: usize,
    /// `None` until the next question, and after each failure: a late answer finds a closed port.
    open: Option<Box<SyncSession>>,
    /// Packets sent and received.
    packets: u64,
    request: i32,
    /// When the questions must have come to an end, on CLOCK_MONOTONIC.
    end_ns: u64,
    bell: Bell,
}

/// How a question about some names is asked.
type Question<'q> = dyn for<'a> Fn(&'a mut SyncSession, &[&WireOid<'_>]) -> Result<snmp2::Pdu<'a>, Wire> + 'q;

impl Session {
    /// One with a target at these addresses. Nothing is sent yet.
    pub fn new(access: Access, addresses: Vec<String>, timeout: std::time::Duration, retries: u32) -> Session {
        Session {
            access,
            addresses,
            current: 0,
            timeout,
            retries,
            repetitions: FIRST_REPETITIONS,
            most_repetitions: MOST_REPETITIONS,
            most_names: usize::MAX,
            open: None,
            packets: 0,
            request: (Moment::now().wall_ns & 0x3fff_ffff) as i32,
            end_ns: u64::MAX,
            bell: Bell::default(),
        }
    }

    /// The same, that asks nothing any longer when `bell` has rung.
    #[must_use]
    pub fn with_bell(self, bell: Bell) -> Session {
        Session { bell, ..self }
    }

    /// Questions from now on must come to an end within this time.
    pub fn begin_within(&mut self, limit_ns: u64) {
        self.end_ns = Moment::now().monotonic_ns.saturating_add(limit_ns);
    }

    /// The same with at most so many rows in an answer.
    #[must_use]
    pub fn with_repetitions(self, most: Option<u32>) -> Session {
        let most = most.unwrap_or(MOST_REPETITIONS);
        Session { repetitions: FIRST_REPETITIONS.min(most), most_repetitions: most, ..self }
    }

    /// Packets sent and received since this was last asked.
    pub fn take_packets(&mut self) -> u64 {
        std::mem::take(&mut self.packets)
    }

    /// The address that answered last, or will be asked first.
    pub fn address(&self) -> &str {
        &self.addresses[self.current]
    }

    /// Asks for values, and passes on each with its identifier and the time of the answer.
    ///
    /// # Errors
    /// There is no answer at any address.
    pub fn get(&mut self, names: &[Oid], visit: &mut dyn FnMut(&[u8], Value)) -> Result<Moment, Trouble> {
        self.ask(&|session, names| session.get_many(names), names, visit)
    }

    /// Asks for values, in as many questions as the target needs: each with the time of its answer. A name that it refuses alone has
    /// [`Value::Absent`], but the first of all.
    ///
    /// # Errors
    /// There is no answer at any address, or the first value is refused.
    pub fn get_all(&mut self, names: &[Oid]) -> Result<Vec<(Value, Moment)>, Trouble> {
        let mut found = Vec::with_capacity(names.len());
        // Behind what was found, how many to ask for; the next ones on top.
        let mut parts: Vec<usize> = vec![names.len()];
        // A large question that is lost once is asked again: any path loses some.
        let mut lost = None;
        while let Some(part) = parts.pop() {
            if part > self.most_names {
                let first = part.div_ceil(2);
                parts.extend([part - first, first]);
                continue;
            }
            let asked = &names[found.len()..found.len() + part];
            let mut values = Vec::with_capacity(part);
            let result = self.get(asked, &mut |_, value| values.push(value));
            match result {
                Ok(received) => {
                    values.resize(part, Value::Unread);
                    found.extend(values.into_iter().map(|value| (value, received)));
                }
                Err(Trouble::Refused(_, status)) if part > 1 => {
                    let first = part.div_ceil(2);
                    if status == TOO_BIG {
                        self.most_names = first;
                    }
                    parts.extend([part - first, first]);
                }
                Err(Trouble::NoAnswer(_)) if part > 1 && self.has_answered() => {
                    if lost.replace(found.len()) == Some(found.len()) {
                        self.most_names = part.div_ceil(2);
                    }
                    parts.push(part);
                }
                Err(Trouble::Refused(..)) if !found.is_empty() => found.push((Value::Absent, Moment::now())),
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(found)
    }

    /// Asks for what follows in several columns, as many rows as the target answers well, and passes on each value with its identifier.
    /// The time of the answer, and how many rows were asked for.
    ///
    /// # Errors
    /// There is no answer at any address.
    pub fn next_rows(
        &mut self,
        names: &[Oid],
        visit: &mut dyn FnMut(&[u8], Value),
    ) -> Result<(Moment, usize), Trouble> {
        loop {
            let rows = self.repetitions;
            let mut values = 0;
            let result = self.ask(&|session, names| session.getbulk(names, 0, rows), names, &mut |name, value| {
                values += 1;
                visit(name, value);
            });
            match result {
                Ok(moment) => {
                    // An agent sends as many as fit into a packet.
                    let answered = (values / names.len()).max(1) as u32;
                    self.repetitions = if answered < rows { answered } else { (rows * 2).min(self.most_repetitions) };
                    return Ok((moment, rows as usize));
                }
                // It may be too much for the agent, or for the path.
                Err(Trouble::NoAnswer(_) | Trouble::Refused(..)) if rows > 1 && values == 0 && self.has_answered() => {
                    self.repetitions = (rows / 4).max(1);
                    self.most_repetitions = self.most_repetitions.min((rows / 2).max(1));
                }
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Whether the agent answers small questions.
    fn has_answered(&mut self) -> bool {
        let uptime = Oid::new(&[1, 3, 6, 1, 2, 1, 1, 3, 0]).expect("it is one");
        self.get(&[uptime], &mut |_, _| {}).is_ok()
    }

    fn ask(
        &mut self,
        question: &Question<'_>,
        names: &[Oid],
        visit: &mut dyn FnMut(&[u8], Value),
    ) -> Result<Moment, Trouble> {
        let wire: Vec<WireOid<'_>> = names.iter().map(|name| WireOid::new(name.wire().into())).collect();
        let wire: Vec<&WireOid<'_>> = wire.iter().collect();
        let mut last = None;
        // One that does not answer is given up by its timeouts, and is no endless one.
        if Moment::now().monotonic_ns > self.end_ns {
            return Err(Trouble::Endless(self.address().to_owned()));
        }
        for _ in 0..self.addresses.len() {
            for _ in 0..=self.retries {
                if self.bell.has_rung() {
                    return Err(Trouble::Stopped);
                }
                match self.once(question, &wire, visit) {
                    Err(trouble @ Trouble::NoAnswer(_)) => last = Some(trouble),
                    Err(trouble @ (Trouble::Unknown(_) | Trouble::Rejected(_))) => {
                        last = Some(trouble);
                        break;
                    }
                    other => return other,
                }
            }
            self.current = (self.current + 1) % self.addresses.len();
        }
        Err(last.unwrap_or_else(|| Trouble::Unknown("no address".to_owned())))
    }

    /// Asks once, at the current address.
    fn once(
        &mut self,
        question: &Question<'_>,
        names: &[&WireOid<'_>],
        visit: &mut dyn FnMut(&[u8], Value),
    ) -> Result<Moment, Trouble> {
        let address = self.address().to_owned();
        let mut session = match self.open.take() {
            Some(session) => session,
            None => self.begin(&address)?,
        };
        for _ in 0..ROUNDS {
            self.packets += 1;
            match question(&mut session, names) {
                Ok(answer) => {
                    let moment = Moment::now();
                    self.packets += 1;
                    let status = answer.error_status;
                    if status == 0 {
                        each(answer.varbinds, visit);
                    }
                    self.open = Some(session);
                    return if status == 0 { Ok(moment) } else { Err(Trouble::Refused(address, status)) };
                }
                Err(Wire::AuthUpdated) => self.packets += 1,
                // An answer to the question before came twice: from now on each would be taken for the next question's. A new socket does
                // not have it.
                Err(Wire::RequestIdMismatch) => {
                    self.packets += 1;
                    session = self.begin(&address)?;
                }
                Err(error) => return Err(self.trouble(address, &error)),
            }
        }
        Err(Trouble::Malformed(address, "neither its time nor its answers hold still".to_owned()))
    }

    /// Opens a socket, and of version 3 learns who the agent is.
    fn begin(&mut self, address: &str) -> Result<Box<SyncSession>, Trouble> {
        let unknown = || Trouble::Unknown(address.to_owned());
        let to = resolve(address).ok_or_else(unknown)?;
        // Requests of one session have other numbers than those of the one before.
        self.request = self.request.wrapping_add(0x1_0000) & 0x3fff_ffff;
        let timeout = Some(self.timeout);
        let made = match &self.access {
            Access::Community(community) => SyncSession::new_v2c(to, community.as_bytes(), timeout, self.request),
            Access::User { name, authentication, privacy, context } => {
                let security = security(name, authentication, privacy.as_ref(), context.as_deref());
                SyncSession::new_v3(to, timeout, self.request, security)
            }
        };
        let mut session = Box::new(made.map_err(|_| unknown())?);
        if matches!(self.access, Access::User { .. }) {
            self.packets += 1;
            session.init().map_err(|error| self.trouble(address.to_owned(), &error))?;
            self.packets += 1;
        }
        Ok(session)
    }

    fn trouble(&mut self, address: String, error: &Wire) -> Trouble {
        match error {
            Wire::Send | Wire::Receive => return Trouble::NoAnswer(address),
            Wire::AuthFailure(_) | Wire::CommunityMismatch => self.packets += 1,
            other => {
                self.packets += 1;
                return Trouble::Malformed(address, other.to_string());
            }
        }
        Trouble::Rejected(address)
    }
}

fn security(
    name: &str,
    (authentication, key): &(Authentication, String),
    privacy: Option<&(Privacy, String)>,
    context: Option<&str>,
) -> Security {
    let protocol = match authentication {
        Authentication::Md5 => AuthProtocol::Md5,
        Authentication::Sha1 => AuthProtocol::Sha1,
        Authentication::Sha224 => AuthProtocol::Sha224,
        Authentication::Sha256 => AuthProtocol::Sha256,
        Authentication::Sha384 => AuthProtocol::Sha384,
        Authentication::Sha512 => AuthProtocol::Sha512,
    };
    let auth = match privacy {
        None => Auth::AuthNoPriv,
        Some((privacy, key)) => Auth::AuthPriv {
            cipher: match privacy {
                Privacy::Des => Cipher::Des,
                Privacy::Aes128 => Cipher::Aes128,
                Privacy::Aes192 => Cipher::Aes192,
                Privacy::Aes256 => Cipher::Aes256,
            },
            privacy_password: key.as_bytes().to_vec(),
        },
    };
    let security = Security::new(name.as_bytes(), key.as_bytes()).with_auth_protocol(protocol).with_auth(auth);
    match context {
        Some(context) => security.with_context_name(context),
        None => security,
    }
}

/// Host and port of an address as it is written: `HOST`, `HOST:PORT`, `[IPv6]:PORT` or an IPv6 address.
pub fn host_and_port(address: &str) -> Option<(&str, u16)> {
    let is_host = |host: &&str| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
    };
    if address.parse::<std::net::Ipv6Addr>().is_ok() {
        return Some((address, PORT));
    }
    if let Some(rest) = address.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        host.parse::<std::net::Ipv6Addr>().ok()?;
        let port = if port.is_empty() { PORT } else { port.strip_prefix(':')?.parse().ok()? };
        return Some((host, port));
    }
    match address.split_once(':') {
        None => Some(address).filter(is_host).map(|host| (host, PORT)),
        Some((host, port)) => Some(host).filter(is_host).zip(port.parse().ok().filter(|port| *port != 0)),
    }
}

fn resolve(address: &str) -> Option<SocketAddr> {
    host_and_port(address)?.to_socket_addrs().ok()?.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_host_and_port() {
        for (address, expected) in [
            ("10.0.0.1", Some(("10.0.0.1", 161))),
            ("core-1.example:1161", Some(("core-1.example", 1161))),
            ("::1", Some(("::1", 161))),
            ("[::1]:1161", Some(("::1", 1161))),
            ("[::1]", Some(("::1", 161))),
            ("a:b", None),
            ("a:0", None),
            ("", None),
            ("a b", None),
            ("[x]:1", None),
        ] {
            assert_eq!(host_and_port(address), expected, "{address}");
        }
    }

    #[test]
    fn nobody_is_no_answer() {
        let access = Access::Community("c0mmunity".to_owned());
        // A port of this host that nobody listens on.
        let free = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let at = silent.local_addr().unwrap().to_string();
        let timeout = std::time::Duration::from_millis(20);
        let mut session = Session::new(access, vec![free, at.clone()], timeout, 2);
        let uptime = Oid::new(&[1, 3, 6, 1, 2, 1, 1, 3, 0]).unwrap();
        let trouble = session.get(&[uptime], &mut |_, _| {}).unwrap_err();
        assert_eq!(trouble, Trouble::NoAnswer(at));
        assert_eq!(session.take_packets(), 6);
        assert!(!trouble.to_string().contains("c0mmunity"));
    }
}
