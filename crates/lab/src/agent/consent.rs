//! Consent: no leaf sends to an address unless the agent that has this address has agreed to it.
//!
//! The receiving agent signs what it agrees to, after looking whether it has the address and whether its own limits allow it. The
//! sending agent checks the signature and every field against what its leaf announces, by itself: who carries the consent, a
//! controller or an agent between, need not be believed. Where no agent is, there is no consent, and not one packet.

use std::net::{IpAddr, SocketAddr, UdpSocket};

use prost::Message;
use sha2::{Digest, Sha256};

use super::leaf::Sending;
use super::limits::{LimitError, Limits, named};
use crate::authority::credentials::Credentials;
use crate::authority::identity::{Identity, Name, Role};
use crate::authority::statement::{self, Kind};
use crate::authority::trust::Trust;
use crate::rpc::{Consent, ConsentRequest, Protocol, Signed};

/// Why there is no consent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConsentError {
    /// A request has no address.
    #[error("{0:?} is no IP address")]
    Address(String),
    /// A request has no port.
    #[error("{0} is no port")]
    Port(u32),
    /// A request has no sender.
    #[error("{0}")]
    Sender(String),
    /// A request has no protocol.
    #[error("the request names no protocol")]
    Protocol,
    /// The address is another host's.
    #[error("{address} is not an address of {agent}")]
    NotHere {
        /// The address.
        address: IpAddr,
        /// The agent.
        agent: Identity,
    },
    /// The agent's limits do not allow it.
    #[error(transparent)]
    Limit(#[from] LimitError),
    /// A statement cannot be signed.
    #[error(transparent)]
    Sign(#[from] crate::authority::Error),
    /// Nobody at an address has agreed.
    #[error("no agent at {to} has agreed to {}", protocol.as_str_name())]
    None {
        /// The address.
        to: SocketAddr,
        /// The protocol.
        protocol: Protocol,
    },
    /// Nobody at an address has agreed to a sender.
    #[error("no agent at {to} has agreed to {} from {sender}{}", protocol.as_str_name(), also(bad))]
    NotFrom {
        /// The address.
        to: SocketAddr,
        /// The protocol.
        protocol: Protocol,
        /// The sender.
        sender: Name,
        /// What is wrong with the consents that there are.
        bad: Vec<BadStatement>,
    },
    /// The receiver has agreed to less.
    #[error("the agent {receiver} at {to} has agreed to {agreed_bit_s} bit/s, not to {wanted_bit_s}")]
    Slower {
        /// The receiver.
        receiver: String,
        /// Its address.
        to: SocketAddr,
        /// What it has agreed to.
        agreed_bit_s: u64,
        /// What the leaf announces.
        wanted_bit_s: u64,
    },
}

/// Why a signed statement of another member does not count.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadStatement {
    /// Its certificate or its signature is not good.
    #[error(transparent)]
    Unverified(#[from] crate::authority::Error),
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] prost::DecodeError),
    /// A consent without an address.
    #[error("it names no address")]
    NoAddress,
    /// A consent that its receiver has not signed.
    #[error("{signer} has signed it for {receiver} at {address}")]
    SignedFor {
        /// Who has.
        signer: Identity,
        /// The receiver.
        receiver: String,
        /// Its address.
        address: IpAddr,
    },
    /// A member that may not has signed it.
    #[error("{0} has signed it")]
    SignedBy(Identity),
    /// It is for another experiment.
    #[error("it is for another experiment")]
    OtherExperiment,
    /// A delegation that is for something else.
    #[error("it is for another experiment, block, parent or child")]
    OtherBlock,
    /// It is for another member.
    #[error("it is for {0}")]
    For(String),
    /// Its time is over.
    #[error("it has ended")]
    Ended,
    /// Its address may be that of any host.
    #[error("{0} is an address of its own on every host")]
    Scoped(IpAddr),
}

fn also(bad: &[BadStatement]) -> String {
    bad.iter().map(|why| format!("; a consent is not good: {why}")).collect()
}

/// One destination that a leaf may send to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Permit {
    /// What was announced.
    pub sending: Sending,
    /// Until when, in seconds since 1970.
    pub until_unix_s: i64,
}

/// All destinations that a leaf may send to.
#[derive(Clone, Debug, Default)]
pub struct Permits {
    experiment: String,
    permits: Vec<Permit>,
}

impl Permits {
    /// The permit for a destination.
    ///
    /// # Errors
    /// If there is none: then nothing may be sent there.
    pub fn to(&self, to: SocketAddr, protocol: Protocol) -> Result<Permit, ConsentError> {
        let found = self.permits.iter().find(|permit| permit.sending.to == to && permit.sending.protocol == protocol);
        found.copied().ok_or(ConsentError::None { to, protocol })
    }

    /// The experiment that they are for.
    pub(super) fn experiment(&self) -> &str {
        &self.experiment
    }

    /// When the first of them ends, in seconds since 1970.
    pub(super) fn until_unix_s(&self) -> Option<i64> {
        self.permits.iter().map(|permit| permit.until_unix_s).min()
    }
}

/// The receiving agent's answer.
///
/// # Errors
/// Why it does not agree.
pub(super) fn agree(
    own: &Credentials,
    limits: &Limits,
    experiment: &str,
    request: &ConsentRequest,
    now_unix_s: i64,
) -> Result<Signed, ConsentError> {
    let address: IpAddr = request.address.parse().map_err(|_| ConsentError::Address(request.address.clone()))?;
    let port = u16::try_from(request.port).ok().filter(|port| *port != 0);
    let port = port.ok_or(ConsentError::Port(request.port))?;
    let sender: Name = request.sender.parse().map_err(ConsentError::Sender)?;
    if request.protocol() == Protocol::Unspecified {
        return Err(ConsentError::Protocol);
    }
    if !named(address) || !is_here(address) {
        return Err(ConsentError::NotHere { address, agent: own.identity().clone() });
    }
    limits.may_receive(port, request.rate_bit_s, request.duration_s)?;
    let (to, protocol, rate_bit_s) = (SocketAddr::new(address, port), request.protocol(), request.rate_bit_s);
    let until_unix_s = now_unix_s.saturating_add_unsigned(request.duration_s);
    Ok(sign(own, experiment, &sender, &Sending { to, protocol, rate_bit_s }, until_unix_s)?)
}

/// Signs that `own` agrees to a sending to itself. An agent does after a look at the request ([`agree`]); a controller at the address where the
/// agent has its connection from: it has shown that it is there.
///
/// # Errors
/// If it cannot be signed.
pub(crate) fn sign(
    own: &Credentials,
    experiment: &str,
    sender: &Name,
    sending: &Sending,
    until_unix_s: i64,
) -> Result<Signed, crate::authority::Error> {
    let consent = Consent {
        experiment: experiment.to_owned(),
        sender: sender.to_string(),
        receiver: own.identity().name.to_string(),
        address: sending.to.ip().to_canonical().to_string(),
        port: u32::from(sending.to.port()),
        protocol: sending.protocol.into(),
        rate_bit_s: sending.rate_bit_s,
        until_unix_s,
        stack: stack(),
    };
    statement::sign(own, Kind::Consent, consent.encode_to_vec())
}

/// Who commands a leaf, and from where.
#[derive(Clone, Debug)]
pub(super) struct Commander {
    pub(super) identity: Identity,
    pub(super) address: IpAddr,
}

/// The sending agent's check: a permit for each of `sendings`, which are those of a leaf of `experiment` at the agent `own`.
///
/// # Errors
/// Which destination has not agreed to what is announced.
pub(super) fn check(
    trust: &Trust,
    own: &Name,
    commander: &Commander,
    experiment: &str,
    sendings: &[Sending],
    consents: &[Signed],
    now_unix_s: i64,
) -> Result<Permits, ConsentError> {
    // One that is not good is as one that is not there, but it is said why.
    let mut bad = Vec::new();
    let mut agreed = Vec::new();
    for signed in consents {
        match consent(trust, own, commander, experiment, signed, now_unix_s) {
            Ok(consent) => agreed.push(consent),
            Err(why) => bad.push(why),
        }
    }
    let mut permits = Vec::with_capacity(sendings.len());
    for sending in sendings {
        let to = sending.to;
        let of_address = agreed.iter().filter(|consent| {
            consent.address.parse() == Ok(to.ip().to_canonical())
                && consent.port == u32::from(to.port())
                && consent.protocol() == sending.protocol
        });
        let Some(consent) = of_address.max_by_key(|consent| (consent.rate_bit_s, consent.until_unix_s)) else {
            return Err(ConsentError::NotFrom { to, protocol: sending.protocol, sender: own.clone(), bad });
        };
        if sending.rate_bit_s > consent.rate_bit_s {
            return Err(ConsentError::Slower {
                receiver: consent.receiver.clone(),
                to,
                agreed_bit_s: consent.rate_bit_s,
                wanted_bit_s: sending.rate_bit_s,
            });
        }
        permits.push(Permit { sending: *sending, until_unix_s: consent.until_unix_s });
    }
    Ok(Permits { experiment: experiment.to_owned(), permits })
}

fn consent(
    trust: &Trust,
    own: &Name,
    commander: &Commander,
    experiment: &str,
    signed: &Signed,
    now_unix_s: i64,
) -> Result<Consent, BadStatement> {
    let signer = statement::verify(trust, Kind::Consent, signed, now_unix_s)?;
    let consent = Consent::decode(signed.statement.as_slice())?;
    let address: IpAddr = consent.address.parse().map_err(|_| BadStatement::NoAddress)?;
    let for_itself = signer.identity.name.as_str() == consent.receiver;
    let is_commander =
        signer.identity == commander.identity && address.to_canonical() == commander.address.to_canonical();
    if !for_itself || (signer.identity.role != Role::Agent && !is_commander) {
        return Err(BadStatement::SignedFor { signer: signer.identity, receiver: consent.receiver, address });
    }
    if consent.experiment != experiment {
        return Err(BadStatement::OtherExperiment);
    }
    if consent.sender != own.as_str() {
        return Err(BadStatement::For(consent.sender));
    }
    if consent.until_unix_s <= now_unix_s {
        return Err(BadStatement::Ended);
    }
    if scoped(address) && consent.stack != stack() {
        return Err(BadStatement::Scoped(address));
    }
    Ok(consent)
}

/// Addresses that mean another place on another host.
fn scoped(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.is_loopback() || v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_loopback() || v6.is_unicast_link_local(),
    }
}

/// Whether this host has an address: what it would send there it would send from there. Nothing is sent to find out.
fn is_here(address: IpAddr) -> bool {
    if address.to_canonical().is_loopback() {
        return true;
    }
    let any: SocketAddr = if address.is_ipv4() { ([0; 4], 0).into() } else { ([0; 16], 0).into() };
    let source = || {
        let socket = UdpSocket::bind(any)?;
        socket.connect((address, 9))?;
        socket.local_addr()
    };
    source().is_ok_and(|source| source.ip().to_canonical() == address.to_canonical())
}

/// Names this network stack: the kernel's boot and the network namespace, hashed.
fn stack() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/net").unwrap_or_default();
    let digest = Sha256::new().chain_update(boot).chain_update(namespace.as_os_str().as_encoded_bytes()).finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
