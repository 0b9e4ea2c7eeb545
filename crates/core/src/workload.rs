//! Connection vectors: what the two ends of a TCP connection did, as seen by a monitor between them.
//!
//! A *workload* is a set of [`ConnectionVector`]s sorted by start time, ties by id (methods A.9).

use std::ops::{Index, IndexMut};

use crate::time::{Duration, Time};

/// An end of a connection. "Request" is what the initiator sends, "response" what the acceptor sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Side {
    /// The end that opened the connection (methods A.1.3).
    Initiator = 0,
    /// The end that accepted it.
    Acceptor = 1,
}

impl Side {
    /// Both sides, initiator first.
    pub const BOTH: [Side; 2] = [Side::Initiator, Side::Acceptor];

    /// The opposite side.
    pub const fn other(self) -> Side {
        match self {
            Side::Initiator => Side::Acceptor,
            Side::Acceptor => Side::Initiator,
        }
    }
}

/// A side of the monitored link (methods M.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(u8)]
pub enum LinkSide {
    /// The inside, where `--inside` prefixes live; also the side of everything when sides are unknown.
    #[default]
    Left = 0,
    /// The outside.
    Right = 1,
}

impl LinkSide {
    /// The opposite side.
    pub const fn other(self) -> LinkSide {
        match self {
            LinkSide::Left => LinkSide::Right,
            LinkSide::Right => LinkSide::Left,
        }
    }
}

/// One value per side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PerSide<T> {
    /// The initiator's.
    pub initiator: T,
    /// The acceptor's.
    pub acceptor: T,
}

impl<T> PerSide<T> {
    /// Applies `f` to both values.
    pub fn map<U>(self, mut f: impl FnMut(T) -> U) -> PerSide<U> {
        PerSide { initiator: f(self.initiator), acceptor: f(self.acceptor) }
    }
}

impl<T> Index<Side> for PerSide<T> {
    type Output = T;
    fn index(&self, side: Side) -> &T {
        match side {
            Side::Initiator => &self.initiator,
            Side::Acceptor => &self.acceptor,
        }
    }
}

impl<T> IndexMut<Side> for PerSide<T> {
    fn index_mut(&mut self, side: Side) -> &mut T {
        match side {
            Side::Initiator => &mut self.initiator,
            Side::Acceptor => &mut self.acceptor,
        }
    }
}

/// An application data unit: what one end's application sent before it waited or the other end spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Adu {
    /// Who sent it.
    pub side: Side,
    /// Payload bytes, each counted once.
    pub bytes: u64,
    /// Raw quiet time after it at the monitor (methods A.5.5), `None` after the last ADU (of its side, when
    /// concurrent). Which part of it is replayed is the wait model's decision (methods A.5.9-10).
    pub wait: Option<Duration>,
    /// Who waits: the sender of the next ADU when sequential, the sender of this one when concurrent. After
    /// the last ADU it is the sender of this one.
    pub waiter: Side,
    /// When the monitor saw its first byte, from the connection's start.
    pub first_seen: Duration,
    /// When the monitor saw the last of its bytes, from the connection's start.
    pub last_seen: Duration,
}

/// Whether the ends took turns (methods A.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Pattern {
    /// Every data segment is ordered: one end answers the other.
    Sequential,
    /// Both ends sent at once at least once: each side's ADUs and waits are independent of the other's.
    Concurrent,
}

/// How a connection ended at the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// First FIN, by this side.
    Fin(Side),
    /// First RST before any FIN, by this side.
    Rst(Side),
    /// The capture or the idle timeout ended it; nothing was seen.
    NotSeen,
}

/// Which rule decided who the initiator is (methods A.1.3), most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum InitiatorRule {
    /// It sent the SYN.
    Syn,
    /// The other end sent the SYN/ACK.
    SynAck,
    /// It has the larger port.
    Port,
    /// It sent the first packet seen.
    FirstPacket,
}

/// What TCP told of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Endpoint {
    /// Its SYN was seen: options that are absent below were not offered.
    pub syn_seen: bool,
    /// MSS option of its SYN.
    pub mss: Option<u16>,
    /// Largest window it advertised, in bytes, scaled (methods A.7). It limits what is sent *to* this end.
    pub max_window: u64,
    /// Its window scale shift; `None` if its SYN was not seen or carried no option.
    pub window_scale: Option<u8>,
    /// Minimum one-side transit time: monitor to this end and back (methods A.6); `None` without a sample.
    pub min_transit: Option<Duration>,
    /// From handshake completion at the monitor to this end's first data byte; `None` if the handshake was not
    /// seen or this end sent nothing.
    pub lead_in: Option<Duration>,
    /// Packets it sent past the monitor, retransmissions included.
    pub packets: u64,
    /// Data segments of it that the monitor saw, duplicates included.
    pub data_segments: u64,
    /// Data segments all of whose bytes the monitor had seen before.
    pub duplicates: u64,
    /// Data segments that filled a hole.
    pub late: u64,
    /// Late segments that are losses before the monitor (methods A.8).
    pub lost_before: u64,
    /// Bytes inside holes that never filled, counted in `Adu::bytes` (methods A.3).
    pub missing_bytes: u64,
}

impl Endpoint {
    /// Share of its data segments lost on their way to the other end (methods A.8): before the monitor,
    /// after it, and both together. Zero when it sent none.
    pub fn loss(&self) -> Loss {
        let sent = self.data_segments.saturating_sub(self.duplicates);
        if sent == 0 {
            return Loss::default();
        }
        let before = self.lost_before as f64 / sent as f64;
        let after = self.duplicates as f64 / self.data_segments as f64;
        Loss { before, after, total: 1.0 - (1.0 - before) * (1.0 - after) }
    }
}

/// Estimated loss rates of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Loss {
    /// Between the sender and the monitor.
    pub before: f64,
    /// Between the monitor and the receiver.
    pub after: f64,
    /// End to end.
    pub total: f64,
}

/// One TCP connection as its applications and its path made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionVector {
    /// Dense number in start order: ties are replayed by it.
    pub id: u64,
    /// SYN, or first packet if no SYN was seen, from the first packet of the capture (methods A.9).
    pub start: Time,
    /// The side of the link the initiator is on.
    pub initiator_side: LinkSide,
    /// How the initiator was told.
    pub initiator_rule: InitiatorRule,
    /// Sequential or concurrent.
    pub pattern: Pattern,
    /// SYN and (FIN or RST) were seen.
    pub complete: bool,
    /// A SYN or SYN/ACK was repeated: the handshake's transit samples are ambiguous (methods A.6).
    pub handshake_repeated: bool,
    /// Sum of the two handshake samples, `None` if the handshake was not seen.
    pub syn_rtt: Option<Duration>,
    /// What is known of each end.
    pub ends: PerSide<Endpoint>,
    /// How it ended.
    pub close: Close,
    /// From the last byte of the last ADU to the first FIN or RST, zero if data passed after that (the other end of a
    /// half-closed connection went on sending); `None` if no close was seen.
    pub t_close: Option<Duration>,
    /// The data, in the order of its start (a total order when sequential).
    pub adus: Vec<Adu>,
}

/// One request and its response; a half epoch lacks one of them (methods A.5.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// The initiator's ADU.
    pub request: Option<Adu>,
    /// The acceptor's ADU.
    pub response: Option<Adu>,
}

impl Epoch {
    /// First byte of the request to last byte of the response, at the monitor; `None` for half epochs (methods C.3).
    pub fn response_time(&self) -> Option<Duration> {
        let (request, response) = (self.request?, self.response?);
        Some(response.last_seen.saturating_sub(request.first_seen))
    }
}

impl ConnectionVector {
    /// The largest window `side` advertised, `None` where its scale is unknown (methods A.7): window fields then hold
    /// anything from the window itself to a 16,384th of it. Scaling needs both SYNs to offer it, so one SYN seen
    /// without the option settles it.
    pub fn window(&self, side: Side) -> Option<u64> {
        let unscaled =
            Side::BOTH.into_iter().any(|side| self.ends[side].syn_seen && self.ends[side].window_scale.is_none());
        let both_seen = Side::BOTH.into_iter().all(|side| self.ends[side].syn_seen);
        (unscaled || both_seen).then_some(self.ends[side].max_window).filter(|window| *window > 0)
    }

    /// Payload bytes sent by `side`.
    pub fn bytes(&self, side: Side) -> u64 {
        self.adus.iter().filter(|adu| adu.side == side).map(|adu| adu.bytes).sum()
    }

    /// Minimum round-trip time: the two minimum transits added, or the known one alone (methods A.6).
    pub fn min_rtt(&self) -> Option<Duration> {
        match (self.ends.initiator.min_transit, self.ends.acceptor.min_transit) {
            (Some(near), Some(far)) => Some(near + far),
            (known, None) | (None, known) => known,
        }
    }

    /// Whether only one side's transit is known, so that [`Self::min_rtt`] is a lower bound.
    pub fn rtt_is_half(&self) -> bool {
        self.ends.initiator.min_transit.is_some() != self.ends.acceptor.min_transit.is_some()
    }

    /// First data byte to last data byte, at the monitor (methods C.2); `None` without data.
    pub fn duration(&self) -> Option<Duration> {
        let first = self.adus.iter().map(|adu| adu.first_seen).min()?;
        let last = self.adus.iter().map(|adu| adu.last_seen).max()?;
        Some(last.saturating_sub(first))
    }

    /// When the first FIN or RST passed, or the last data if that passed later; `None` if no close was seen.
    pub fn end(&self) -> Option<Time> {
        let last = self.adus.iter().map(|adu| adu.last_seen).max().unwrap_or_default();
        Some(self.start + last + self.t_close?)
    }

    /// The epochs of a sequential connection, in order; none for a concurrent one (methods A.5.6).
    pub fn epochs(&self) -> impl Iterator<Item = Epoch> + '_ {
        let adus = match self.pattern {
            Pattern::Sequential => &self.adus[..],
            Pattern::Concurrent => &[],
        };
        let mut index = 0;
        std::iter::from_fn(move || {
            let first = *adus.get(index)?;
            index += 1;
            if first.side == Side::Acceptor {
                return Some(Epoch { request: None, response: Some(first) });
            }
            let response = adus.get(index).copied().filter(|next| next.side == Side::Acceptor);
            index += usize::from(response.is_some());
            Some(Epoch { request: Some(first), response })
        })
    }
}
