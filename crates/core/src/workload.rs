//! Connection vectors: what the two ends of a TCP connection did, as seen by a monitor between them.
//!
//! A *workload* is a set of [`ConnectionVector`]s sorted by start time, ties by id (methods A.9).

use std::ops::{Add, AddAssign, Index, IndexMut};

use serde::{Deserialize, Serialize};

use crate::time::{Duration, Time};

/// Segment size that estimates assume where none is known, in bytes of payload.
pub const ASSUMED_MSS: u64 = 1460;

/// Packets of a connection that carry no data and acknowledge none, from the initiator and from the acceptor: those of the
/// handshake and of both closes.
pub const CONTROL_PACKETS: [u64; 2] = [4, 3];

/// An end of a connection. "Request" is what the initiator sends, "response" what the acceptor sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
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

    /// Its name.
    pub const fn word(self) -> &'static str {
        match self {
            LinkSide::Left => "left",
            LinkSide::Right => "right",
        }
    }
}

/// One value per side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
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

impl<T: Add<Output = T>> Add for PerSide<T> {
    type Output = PerSide<T>;

    fn add(self, other: PerSide<T>) -> PerSide<T> {
        PerSide { initiator: self.initiator + other.initiator, acceptor: self.acceptor + other.acceptor }
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Adu {
    /// Who sent it.
    pub side: Side,
    /// Payload bytes, each counted once.
    pub bytes: u64,
    /// Of them, those that the capture lacks and that belong to this ADU all the same (methods A.3), or that a record of a flow states
    /// beyond what its packets carried; 0 where neither is known.
    pub missing_bytes: u64,
    /// Raw quiet time after it at the monitor (methods A.5.5), `None` after the last ADU (of its side, when
    /// concurrent). Which part of it is replayed is the wait model's decision (methods A.5.9-10).
    pub wait: Option<Duration>,
    /// Who waits: the sender of the next ADU when sequential, the sender of this one when concurrent. After
    /// the last ADU it is the sender of this one.
    pub waiter: Side,
    /// When its bytes passed the monitor; `None` where no monitor saw them (vector files, flow records, models).
    pub seen: Option<Span>,
    /// Packets it was sent in, where packets are the application's own units: datagrams. `None` for TCP.
    pub packets: Option<u32>,
}

/// A pause of a program that writes or reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pause {
    /// Bytes of all ADUs of the sending end before the pause.
    pub after_bytes: u64,
    /// From the last of them to the next byte, at the monitor; where it waited for the other end, from the last byte that it
    /// waited for; of an end that does not read, how long its window was closed. Zero where one write followed another at once: a *seam*,
    /// of which a segment smaller than a full one tells (methods A.13.1).
    pub length: Duration,
    /// The end waited for so many bytes of the other end's ADUs: in concurrent connections, whose ADUs do not tell it. Such a
    /// pause may also stand before an ADU, and then is what the ADU waits for.
    pub heard: Option<u64>,
}

impl Pause {
    /// Whether the end did not wait at all: one write followed another at once.
    pub fn is_seam(&self) -> bool {
        self.length == Duration::ZERO && self.heard.is_none()
    }
}

/// A datagram of an ADU that was sent in several (methods A.13.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SeenDatagram {
    /// Its payload.
    pub bytes: u32,
    /// From the datagram before it in its ADU, at the monitor; zero for the first, which passed with the ADU's first byte.
    pub gap: Duration,
}

/// A data segment that was lost (methods A.13.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LostSegment {
    /// Bytes of all its ADUs that its sender had sent before its first byte.
    pub after_bytes: u64,
    /// Its payload.
    pub bytes: u64,
    /// Which transmission of its first byte it was, as far as the monitor can tell: 0 for the first, n for the n-th retransmission.
    pub copy: u32,
    /// It was lost before the monitor, which did not see it; else behind it.
    pub before_monitor: bool,
    /// When its next transmission passed the monitor, from the connection's start.
    pub repaired: Duration,
}

/// A SYN or SYN/ACK that its sender sent again (methods A.13.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SynRepeat {
    /// Its sender: of a SYN the initiator, of a SYN/ACK the acceptor.
    pub side: Side,
    /// Until its sender sent the next one, at the monitor.
    pub wait: Duration,
    /// What passed from the other end until then.
    pub answer: SynAnswer,
}

/// What the other end answered to a SYN or SYN/ACK before that was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum SynAnswer {
    /// Nothing: it was lost behind the monitor, or nobody listened.
    #[default]
    None,
    /// RST: it was refused.
    Reset,
    /// A SYN/ACK to the SYN, or the SYN again to the SYN/ACK.
    Syn,
}

/// How much longer than by its minimum transit an end's data took to the monitor, as its own clock tells (methods A.13.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ExtraDelay {
    /// Bytes of all its ADUs that the end sent before: this delay is that of what follows, up to the next one.
    pub from_bytes: u64,
    /// How much longer.
    pub delay: Duration,
}

/// How an end acknowledges data in order (methods A.13.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AckPolicy {
    /// Acknowledgements without data of one segment at once, before the first that came with data, waited or acknowledged several.
    pub quick: u32,
    /// Acknowledgements without data after those that did not wait.
    pub prompt: u32,
    /// Data segments that the prompt ones acknowledged.
    pub prompt_segments: u32,
    /// Acknowledgements that came with data.
    pub carried: u32,
    /// How long those without data waited in the mean that waited; `None` if none did.
    pub delay: Option<Duration>,
}

/// Points of the distribution of an end's one-side transit times, from samples that no acknowledgement policy delayed (methods A.13.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TransitQuantiles {
    /// One of ten samples is shorter.
    pub q10: Duration,
    /// The median.
    pub q50: Duration,
    /// One of ten samples is longer.
    pub q90: Duration,
}

/// When the monitor saw an ADU, from the connection's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Span {
    /// Its first byte.
    pub first: Duration,
    /// The last of its bytes to pass.
    pub last: Duration,
}

impl Span {
    /// From the first to the last byte.
    pub fn length(&self) -> Duration {
        self.last.saturating_sub(self.first)
    }

    /// The span that covers both.
    pub fn and(self, other: Span) -> Span {
        Span { first: self.first.min(other.first), last: self.last.max(other.last) }
    }
}

/// The version of IP that packets were carried in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum IpVersion {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl IpVersion {
    /// The version of an address.
    pub fn of(address: std::net::IpAddr) -> IpVersion {
        if address.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 }
    }

    /// Length of its header without options and extensions, in bytes.
    pub const fn header_bytes(self) -> u32 {
        match self {
            IpVersion::V4 => 20,
            IpVersion::V6 => 40,
        }
    }
}

/// What a vector's data were sent over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Protocol {
    /// TCP: a connection.
    #[default]
    Tcp,
    /// UDP: the datagrams of a 5-tuple. Nothing is known of losses, windows or round trips.
    Udp,
    /// QUIC, as its first datagrams say: the datagrams of a 5-tuple, sizes with QUIC's own headers and acknowledgements.
    Quic,
}

/// What a vector was inferred from, which decides what can be known of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Evidence {
    /// The packets of a capture.
    #[default]
    Packets,
    /// A vector file of another tool: waits, but not when the monitor saw what.
    VectorFile,
    /// A flow record: totals of a connection, neither waits nor an order of its data.
    FlowRecord,
    /// A model that drew it or changed what it was: waits, but no monitor ever saw it.
    Model,
}

/// The numbers a vector had in the file it came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Label {
    /// Number of its subset (Tmix: the first id, not unique).
    pub subset: u64,
    /// Its own number (Tmix: the global id).
    pub id: u64,
}

/// Who an end was, where the user asked to keep it (methods M.12): by default nothing is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Host {
    /// A dense number, the same for the same address in one workload.
    Number(u32),
    /// An address, encrypted or as captured.
    Address(std::net::IpAddr),
}

/// Whether the ends took turns (methods A.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Pattern {
    /// Every data segment is ordered: one end answers the other.
    #[default]
    Sequential,
    /// Both ends sent at once at least once: each side's ADUs and waits are independent of the other's.
    Concurrent,
}

/// How a connection ended at the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Close {
    /// First FIN, by this side.
    Fin(Side),
    /// First RST before any FIN, by this side.
    Rst(Side),
    /// The capture or the idle timeout ended it; nothing was seen.
    #[default]
    NotSeen,
}

/// Which rule decided who the initiator is (methods A.1.3), most certain first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum InitiatorRule {
    /// It sent the SYN, or the source names it.
    #[default]
    Syn,
    /// The other end sent the SYN/ACK.
    SynAck,
    /// It has the larger port.
    Port,
    /// It sent the first packet seen.
    FirstPacket,
    /// The workload that this one was cut out of says so. The connection was in progress when this one begins: its handshake is not in it
    /// (methods B.5).
    Cut,
}

/// Payload sizes of the datagrams that one end sent, empty ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DatagramSizes {
    /// Of the smallest, in bytes.
    pub smallest: u32,
    /// Of the largest.
    pub largest: u32,
}

/// What is known of one end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Endpoint {
    /// Who it was, if that is kept.
    pub host: Option<Host>,
    /// Its port: the acceptor's tells the application; the initiator's is kept with addresses only.
    pub port: Option<u16>,
    /// Its SYN was seen: options that are absent below were not offered.
    pub syn_seen: bool,
    /// MSS option of its SYN.
    pub mss: Option<u16>,
    /// Largest window it advertised, in bytes, scaled (methods A.7). It limits what is sent *to* this end.
    pub max_window: Option<u64>,
    /// Largest window field it sent, as it stands in the header: what tools without window scaling call its window
    /// (methods A.7).
    pub max_window_unscaled: Option<u16>,
    /// Its window scale shift; `None` if its SYN was not seen or carried no option.
    pub window_scale: Option<u8>,
    /// Its SYN permitted selective acknowledgements (RFC 2018). Where it was not seen, the segments of a connection tell that both
    /// ends did, if one of them carries SACK blocks; `None` if nothing tells (methods A.13.4).
    pub sack: Option<bool>,
    /// Its SYN offered timestamps (RFC 7323). Where it was not seen, its later segments tell: all of them carry timestamps
    /// if both ends offered them.
    pub timestamps: Option<bool>,
    /// Its SYN asked for ECN or its SYN/ACK granted it (RFC 3168 section 6.1.1). Where that was not seen, later echoes and
    /// answers to them tell that both ends did.
    pub ecn: Option<bool>,
    /// Minimum one-side transit time: monitor to this end and back (methods A.6); `None` without a sample.
    pub min_transit: Option<Duration>,
    /// From handshake completion at the monitor to this end's first data byte; `None` if the handshake was not
    /// seen or this end sent nothing.
    pub lead_in: Option<Duration>,
    /// From this end's last data byte (from the connection's start, if it sent none) to its first FIN; `None` if it
    /// sent no FIN. An end whose FIN passed before the other's last data half-closed.
    pub fin_wait: Option<Duration>,
    /// It sent an RST, be it the first sign of the end or after a FIN.
    pub rst_seen: bool,
    /// Packets it sent past the monitor, retransmissions included; those that an offload had merged count as on the link
    /// (methods A.13.10).
    pub packets: Option<u64>,
    /// Their IP bytes, headers included.
    pub ip_bytes: Option<u64>,
    /// Of the packets, bare acknowledgements: without payload, SYN, FIN and RST. `None` where no packets were seen.
    pub bare_acks: Option<u64>,
    /// Captured segments with more payload than the other end's MSS allows, which a segmentation offload had merged
    /// (methods A.13.10); `None` if that MSS is not known.
    pub oversized: Option<u64>,
    /// Sizes of its datagrams; `None` for TCP, and if it sent none.
    pub datagram_sizes: Option<DatagramSizes>,
    /// What became of its data segments; `None` where no packets were seen.
    pub segments: Option<Segments>,
    /// Loss of its data as the source states it, in parts per million, where segments were not counted.
    pub stated_loss_ppm: Option<u32>,
    /// Bytes of the first flight of its first ADU that is larger than that: its window at that ADU (methods A.13.2); `None` if no ADU
    /// told it.
    pub first_flight: Option<u64>,
    /// How fast it sends where it sends evenly and neither its window nor the network makes it, in bit/s of payload (methods A.13.5); `None`
    /// if it is not known to have a rate.
    pub rate: Option<u64>,
    /// It holds a small segment back until what it sent before is acknowledged (Nagle's algorithm, methods A.13.1), or it does not; `None` if
    /// too few of its segments tell.
    pub nagle: Option<bool>,
    /// How it acknowledges; `None` if it sent no acknowledgement that tells.
    pub acks: Option<AckPolicy>,
    /// How its transit times were distributed; `None` with fewer than three samples.
    pub transits: Option<TransitQuantiles>,
}

/// The data segments of one end, as the monitor saw them (methods A.3, A.8). `docs/guide/extraction.md` states the rule of
/// every class.
///
/// `duplicates` is the sum of [`repeated`](Self::repeated); `late` is [`reordered`](Self::reordered), `lost_before` and
/// `uncaptured` added; `lost_before` is the sum of [`repaired`](Self::repaired).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Segments {
    /// All of them, duplicates included, probes not.
    pub data: u64,
    /// Those all of whose bytes the monitor had seen before.
    pub duplicates: u64,
    /// Those that filled a hole.
    pub late: u64,
    /// Late ones that are losses before the monitor.
    pub lost_before: u64,
    /// Late ones whose original reached the receiver, or passed before the capture began, without being captured.
    pub uncaptured: u64,
    /// What the duplicates were.
    pub repeated: Repeated,
    /// What sent again those that were lost before the monitor.
    pub repaired: Repaired,
    /// One byte below what was acknowledged, sent to hear whether the other end is there: not data.
    pub keep_alives: u64,
    /// One repeated byte against a closed window, or that byte again once the window has opened: not data.
    pub window_probes: u64,
    /// Bytes inside holes that never filled (methods A.3). [`Adu::missing_bytes`] says how many of them count.
    pub missing_bytes: u64,
    /// Of them, those that the other end acknowledged: they arrived.
    pub missing_acked_bytes: u64,
    /// Bytes that were sent and not acknowledged when the connection was last seen: in flight where the capture cut it.
    pub unacked_bytes: u64,
}

/// What the segments were all of whose bytes the monitor had seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repeated {
    /// Sent again by the retransmission timer.
    pub timeout: u64,
    /// Sent again because three duplicate acknowledgements asked for it, or in the recovery that began so.
    pub fast: u64,
    /// Sent again sooner than a timer runs out, and not asked for three times: tail loss probes, early retransmissions.
    pub other: u64,
    /// Sent again although the receiver had it: no loss.
    pub spurious: u64,
    /// The same packet twice, made by the network or the capture: no retransmission.
    pub copies: u64,
    /// Nothing tells: when the bytes passed before is not known well enough.
    pub unknown: u64,
}

/// What sent segments again that were lost before the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Repaired {
    /// The retransmission timer.
    pub timeout: u64,
    /// Three duplicate acknowledgements, or the recovery that began so.
    pub fast: u64,
    /// Neither: sooner than a timer runs out, and not asked for three times.
    pub other: u64,
}

/// Counts added up. A file may hold any, so that the sum stops at the largest number.
pub fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// As [`sum`]; `None` if one of them is not known.
pub fn sum_of_known(counts: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    counts.into_iter().try_fold(0u64, |sum, count| Some(sum.saturating_add(count?)))
}

impl Repeated {
    /// All of them.
    pub fn total(&self) -> u64 {
        sum([self.lost(), self.spurious, self.copies])
    }

    /// Those that are losses between the monitor and the receiver, as far as anyone can tell.
    pub fn lost(&self) -> u64 {
        sum([self.timeout, self.fast, self.other, self.unknown])
    }
}

impl Repaired {
    /// All of them.
    pub fn total(&self) -> u64 {
        sum([self.timeout, self.fast, self.other])
    }
}

impl Segments {
    /// Late ones that were overtaken on their way, not lost.
    pub fn reordered(&self) -> u64 {
        self.late.saturating_sub(sum([self.lost_before, self.uncaptured]))
    }

    /// Share of the data lost on its way to the other end (methods A.8): before the monitor, after it, and both
    /// together. Duplicates that are known to be no loss, spurious ones and copies, are not counted as such; copies
    /// were not sent either. Zero without data.
    pub fn loss(&self) -> Loss {
        let sent = self.data.saturating_sub(self.duplicates);
        if sent == 0 {
            return Loss::default();
        }
        let harmless = sum([self.repeated.spurious, self.repeated.copies]);
        let before = self.lost_before as f64 / sent as f64;
        let after = self.duplicates.saturating_sub(harmless) as f64
            / self.data.saturating_sub(self.repeated.copies).max(1) as f64;
        Loss { before, after, total: 1.0 - (1.0 - before) * (1.0 - after) }
    }
}

impl AddAssign for Segments {
    fn add_assign(&mut self, other: Segments) {
        let Segments {
            data,
            duplicates,
            late,
            lost_before,
            uncaptured,
            repeated,
            repaired,
            keep_alives,
            window_probes,
            missing_bytes,
            missing_acked_bytes,
            unacked_bytes,
        } = other;
        let add = |counts: &mut u64, more: u64| *counts = sum([*counts, more]);
        add(&mut self.data, data);
        add(&mut self.duplicates, duplicates);
        add(&mut self.late, late);
        add(&mut self.lost_before, lost_before);
        add(&mut self.uncaptured, uncaptured);
        add(&mut self.repeated.timeout, repeated.timeout);
        add(&mut self.repeated.fast, repeated.fast);
        add(&mut self.repeated.other, repeated.other);
        add(&mut self.repeated.spurious, repeated.spurious);
        add(&mut self.repeated.copies, repeated.copies);
        add(&mut self.repeated.unknown, repeated.unknown);
        add(&mut self.repaired.timeout, repaired.timeout);
        add(&mut self.repaired.fast, repaired.fast);
        add(&mut self.repaired.other, repaired.other);
        add(&mut self.keep_alives, keep_alives);
        add(&mut self.window_probes, window_probes);
        add(&mut self.missing_bytes, missing_bytes);
        add(&mut self.missing_acked_bytes, missing_acked_bytes);
        add(&mut self.unacked_bytes, unacked_bytes);
    }
}

impl Endpoint {
    /// Loss rate of its data, end to end: from its segments, or as stated by the source; `None` if neither is known.
    pub fn loss_rate(&self) -> Option<f64> {
        let stated = self.stated_loss_ppm.map(|ppm| f64::from(ppm) / 1e6);
        self.segments.map(|segments| segments.loss().total).or(stated)
    }

    /// Whether a segment of it is known to have been lost.
    pub fn is_lossy(&self) -> bool {
        self.loss_rate().is_some_and(|rate| rate > 0.0)
    }

    /// Bytes inside holes that never filled; zero where no packets were seen.
    pub fn missing_bytes(&self) -> u64 {
        self.segments.map_or(0, |segments| segments.missing_bytes)
    }
}

/// Payload bytes of one direction (methods A.3). What was captured and the acknowledged part of what is missing are replayed
/// unless another choice was made: then `replayed` is `captured` and `acknowledged`, or `captured` and `missing`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Payload {
    /// Bytes that passed the monitor, each counted once.
    pub captured: u64,
    /// Bytes in holes of the sequence space, which were sent and not captured.
    pub missing: u64,
    /// Of the missing ones, those that the other end acknowledged.
    pub acknowledged: u64,
    /// Bytes of the ADUs, which a replay sends.
    pub replayed: u64,
}

impl Payload {
    /// Missing bytes that are replayed.
    pub fn replayed_missing(&self) -> u64 {
        self.replayed.saturating_sub(self.captured)
    }

    /// Share of what was sent that the capture lacks.
    pub fn missing_share(&self) -> f64 {
        self.missing as f64 / sum([self.captured, self.missing]).max(1) as f64
    }
}

impl Add for Payload {
    type Output = Payload;

    /// A file may hold any numbers, so that sums stop at the largest one.
    fn add(self, other: Payload) -> Payload {
        Payload {
            captured: sum([self.captured, other.captured]),
            missing: sum([self.missing, other.missing]),
            acknowledged: sum([self.acknowledged, other.acknowledged]),
            replayed: sum([self.replayed, other.replayed]),
        }
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

/// One connection, or one 5-tuple's datagrams, as its applications and its path made it. The default is a connection
/// of which nothing is known.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConnectionVector {
    /// Dense number in start order: ties are replayed by it.
    pub id: u64,
    /// The numbers it had in a vector file.
    pub label: Option<Label>,
    /// What its data were sent over.
    pub protocol: Protocol,
    /// The version of IP below that; `None` where no packets were seen.
    pub ip_version: Option<IpVersion>,
    /// What it was inferred from.
    pub evidence: Evidence,
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
    /// Minimum round-trip time as the source states it, where the ends' transits were not measured.
    pub stated_rtt: Option<Duration>,
    /// From the first to the last packet at the monitor, whatever they carried; `None` where no one said.
    pub lifetime: Option<Duration>,
    /// What is known of each end.
    pub ends: PerSide<Endpoint>,
    /// How it ended.
    pub close: Close,
    /// From the last byte of the last ADU to the first FIN or RST, zero if data passed after that (the other end of a
    /// half-closed connection went on sending); `None` if no close was seen.
    pub t_close: Option<Duration>,
    /// The data, in the order of its start (a total order when sequential).
    pub adus: Vec<Adu>,
    /// Pauses of each end inside its ADUs, which it wrote in pieces, in their order (methods A.13.1): from the last byte before a pause
    /// to the next. Where a write followed another at once the pause has no length.
    pub pauses: PerSide<Vec<Pause>>,
    /// Datagrams of each end in its ADUs of several, in their order; empty for TCP and where single datagrams are not known.
    pub datagrams: PerSide<Vec<SeenDatagram>>,
    /// Data segments of each end that were lost, by the place of their first byte, then by transmission.
    pub losses: PerSide<Vec<LostSegment>>,
    /// SYNs and SYN/ACKs that were sent again before the connection was established, in the order in which they were.
    pub syn_repeats: Vec<SynRepeat>,
    /// Pauses of each end that did not read what the other sent, in their order (methods A.13.12): the bytes after which its receive
    /// window ended, and how long that window was closed.
    pub read_pauses: PerSide<Vec<Pause>>,
    /// How much longer than by its minimum transit each end's data took to the monitor, in order, from its first byte on; empty where the
    /// end's clock does not tell.
    pub delays: PerSide<Vec<ExtraDelay>>,
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
        let (request, response) = (self.request?.seen?, self.response?.seen?);
        Some(response.last.saturating_sub(request.first))
    }
}

impl ConnectionVector {
    /// Whether it was open before its start, in a workload that was cut out of a longer one: a replay has no handshake on the link
    /// (methods B.5).
    pub fn opened_before(&self) -> bool {
        self.initiator_rule == InitiatorRule::Cut
    }

    /// The largest window `side` advertised, `None` where its scale is unknown (methods A.7): window fields then hold
    /// anything from the window itself to a 16,384th of it. Scaling needs both SYNs to offer it, so one SYN seen
    /// without the option settles it. Vector files and models state windows without scaling.
    pub fn window(&self, side: Side) -> Option<u64> {
        let unscaled = matches!(self.evidence, Evidence::VectorFile | Evidence::Model)
            || Side::BOTH.into_iter().any(|side| self.ends[side].syn_seen && self.ends[side].window_scale.is_none());
        let both_seen = Side::BOTH.into_iter().all(|side| self.ends[side].syn_seen);
        self.ends[side].max_window.filter(|window| *window > 0 && (unscaled || both_seen))
    }

    /// The initial window of `side` in segments of the agreed size: its first-flight window, if its first data told it.
    pub fn initial_window_segments(&self, side: Side) -> Option<u64> {
        let window = self.ends[side].first_flight?;
        let first = self.adus.iter().find(|adu| adu.side == side)?;
        let mss = self.agreed_mss();
        // Options may take a part of each segment.
        (first.bytes > window).then(|| (window + mss / 2) / mss)
    }

    /// The smaller MSS of both ends, in bytes; [`ASSUMED_MSS`] where none is known.
    pub fn agreed_mss(&self) -> u64 {
        Side::BOTH.into_iter().filter_map(|side| self.ends[side].mss).min().map_or(ASSUMED_MSS, u64::from).max(1)
    }

    /// Payload bytes sent by `side`.
    pub fn bytes(&self, side: Side) -> u64 {
        self.adus.iter().filter(|adu| adu.side == side).map(|adu| adu.bytes).sum()
    }

    /// The ADUs of `side`, each with its datagrams where it has several and each of them is known; else with none.
    pub fn adus_with_datagrams(&self, side: Side) -> impl Iterator<Item = (&Adu, &[SeenDatagram])> {
        let mut rest = &self.datagrams[side][..];
        self.adus.iter().filter(move |adu| adu.side == side).map(move |adu| {
            let several = adu.packets.filter(|packets| *packets > 1).unwrap_or(0) as usize;
            let (datagrams, others) = rest.split_at_checked(several).unwrap_or_default();
            rest = others;
            // Who made the file may have changed its ADUs alone.
            let bytes = sum(datagrams.iter().map(|datagram| u64::from(datagram.bytes)));
            let is_known = adu.seen.is_some() && bytes == adu.bytes;
            (adu, if is_known { datagrams } else { &[] })
        })
    }

    /// The ADUs of `side`, those of several datagrams taken apart into them where they are known.
    pub fn single_datagrams(&self, side: Side) -> impl Iterator<Item = Adu> + '_ {
        self.adus_with_datagrams(side).flat_map(|(adu, datagrams)| {
            let seen = adu.seen.filter(|_| !datagrams.is_empty());
            let single = move |Span { first, .. }| {
                datagrams.iter().scan(first, move |at, datagram| {
                    *at += datagram.gap;
                    let seen = Some(Span { first: *at, last: *at });
                    Some(Adu { bytes: datagram.bytes.into(), seen, packets: Some(1), ..*adu })
                })
            };
            let whole = seen.is_none().then_some(*adu);
            whole.into_iter().chain(seen.into_iter().flat_map(single))
        })
    }

    /// Whether size and time of every datagram are known, of a flow of datagrams.
    pub fn knows_datagrams(&self) -> bool {
        let single = |adu: Adu| adu.seen.is_some() && adu.packets.is_none_or(|packets| packets <= 1);
        Side::BOTH.into_iter().all(|side| self.single_datagrams(side).all(single))
    }

    /// The payload of `side`: what was captured, what the capture lacks, and what a replay sends.
    pub fn payload(&self, side: Side) -> Payload {
        let own = || self.adus.iter().filter(|adu| adu.side == side);
        let replayed = sum(own().map(|adu| adu.bytes));
        let missing_of_adus = sum(own().map(|adu| adu.missing_bytes));
        // Records of flows say how much their monitor missed, and not what was acknowledged.
        let [missing, acknowledged] = match self.ends[side].segments {
            Some(Segments { missing_bytes, missing_acked_bytes, .. }) => [missing_bytes, missing_acked_bytes],
            None => [missing_of_adus, 0],
        };
        Payload { captured: replayed.saturating_sub(missing_of_adus), missing, acknowledged, replayed }
    }

    /// Minimum round-trip time: the two minimum transits added, or the known one alone (methods A.6), or what the
    /// source states.
    pub fn min_rtt(&self) -> Option<Duration> {
        match (self.ends.initiator.min_transit, self.ends.acceptor.min_transit) {
            (Some(near), Some(far)) => Some(near + far),
            (None, None) => self.stated_rtt,
            (known, None) | (None, known) => known,
        }
    }

    /// When the first and the last data byte passed the monitor; `None` without data or where no monitor saw it.
    pub fn data_span(&self) -> Option<Span> {
        self.adus.iter().filter_map(|adu| adu.seen).reduce(Span::and)
    }

    /// Whether only one side's transit is known, so that [`Self::min_rtt`] is a lower bound.
    pub fn rtt_is_half(&self) -> bool {
        self.ends.initiator.min_transit.is_some() != self.ends.acceptor.min_transit.is_some()
    }

    /// The end that closed its direction while the other went on sending (half-close), and when, from the start; `None` where no
    /// monitor saw such.
    pub fn half_close(&self) -> Option<(Side, Duration)> {
        let Close::Fin(side) = self.close else { return None };
        let last = |of: Side| {
            let seen = self.adus.iter().filter(|adu| adu.side == of).filter_map(|adu| adu.seen);
            seen.map(|seen| seen.last).max().unwrap_or_default()
        };
        let closed = last(side) + self.ends[side].fin_wait?;
        (last(side.other()) > closed).then_some((side, closed))
    }

    /// First data byte to last data byte, at the monitor (methods C.2); `None` without data or where no monitor saw it.
    pub fn duration(&self) -> Option<Duration> {
        Some(self.data_span()?.length())
    }

    /// When the first FIN or RST passed, or the last data if that passed later; `None` if no close was seen.
    pub fn end(&self) -> Option<Time> {
        let last = self.data_span().unwrap_or_default().last;
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
