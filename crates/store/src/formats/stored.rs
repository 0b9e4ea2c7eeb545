//! The form of a vector in JSON lines and CSV: names with units, numbers as they are.

use std::net::IpAddr;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{
    AckPolicy, Adu, ConnectionVector, DatagramSizes, Endpoint, ExtraDelay, Host, Label, LostSegment, Pause, PerSide,
    Repaired, Repeated, SeenDatagram, Segments, Side, Span, SynRepeat, TransitQuantiles,
};
use serde::{Deserialize, Serialize};

use super::error::Flaw;
use super::limits::{MOST_ADUS, MOST_BYTES};
use crate::table::Text;

/// A record whose members after the semicolon are left out where nothing is known.
macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)?; $($option:ident: $inner:ty),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, expecting = "an object")]
        pub(super) struct $name {
            $(pub $field: $type,)*
            $(#[serde(default, skip_serializing_if = "Option::is_none")] pub $option: Option<$inner>,)*
        }
    };
}

record! {
    /// A connection vector.
    StoredVector {
        id: u64, start_ns: u64, protocol: String, evidence: String, initiator_side: String, initiator_rule: String,
        pattern: String, complete: bool, handshake_repeated: bool, close: String, initiator: StoredEnd,
        acceptor: StoredEnd, adus: Vec<StoredAdu>;
        ip_version: String, label_subset: u64, label_id: u64, syn_rtt_ns: u64, stated_rtt_ns: u64, lifetime_ns: u64, t_close_ns: u64,
        initiator_pauses: Vec<StoredPause>, acceptor_pauses: Vec<StoredPause>,
        initiator_datagrams: Vec<StoredDatagram>, acceptor_datagrams: Vec<StoredDatagram>, syn_repeats: Vec<StoredSynRepeat>,
        initiator_losses: Vec<StoredLoss>, acceptor_losses: Vec<StoredLoss>,
        initiator_read_pauses: Vec<StoredPause>, acceptor_read_pauses: Vec<StoredPause>,
        initiator_delays: Vec<StoredDelay>, acceptor_delays: Vec<StoredDelay>,
    }
}

record! {
    /// One end.
    StoredEnd {
        syn_seen: bool, rst_seen: bool;
        host_number: u32, address: IpAddr, port: u16, mss_bytes: u16, max_window_bytes: u64,
        max_window_unscaled_bytes: u16, window_scale: u8, sack: bool, timestamps: bool, ecn: bool,
        min_transit_ns: u64, lead_in_ns: u64, fin_wait_ns: u64, packets: u64, ip_bytes: u64, bare_acks: u64,
        oversized_segments: u64, smallest_datagram_bytes: u32, largest_datagram_bytes: u32, stated_loss_ppm: u32,
        first_flight_bytes: u64, rate: u64, nagle: bool, quick_acks: u32, prompt_acks: u32, prompt_ack_segments: u32, carried_acks: u32, ack_delay_ns: u64,
        transit_q10_ns: u64, transit_q50_ns: u64, transit_q90_ns: u64,
        segments: StoredSegments,
    }
}

record! {
    /// What became of the data segments of an end.
    StoredSegments {
        data_segments: u64, duplicate_segments: u64, late_segments: u64, lost_before_segments: u64,
        uncaptured_segments: u64, duplicate_timeout_segments: u64, duplicate_fast_segments: u64,
        duplicate_other_segments: u64, duplicate_spurious_segments: u64, duplicate_copy_segments: u64,
        duplicate_unknown_segments: u64, lost_before_timeout_segments: u64, lost_before_fast_segments: u64,
        lost_before_other_segments: u64, keep_alive_segments: u64, window_probe_segments: u64, missing_bytes: u64,
        missing_acked_bytes: u64, unacked_bytes: u64;
    }
}

record! {
    /// An ADU.
    StoredAdu {
        side: String, bytes: u64, waiter: String;
        missing_bytes: u64, wait_ns: u64, first_seen_ns: u64, last_seen_ns: u64, packets: u32,
    }
}

record! {
    /// A pause inside an ADU, or a wait for the other end.
    StoredPause { after_bytes: u64, length_ns: u64; heard_bytes: u64, }
}

record! {
    /// A datagram of an ADU of several.
    StoredDatagram { bytes: u32, gap_ns: u64; }
}

record! {
    /// A SYN or SYN/ACK that was sent again.
    StoredSynRepeat { side: String, wait_ns: u64, answer: String; }
}

record! {
    /// A data segment that was lost.
    StoredLoss { after_bytes: u64, bytes: u64, copy: u32, before_monitor: bool, repaired_ns: u64; }
}

record! {
    /// A delay of an end's data before the monitor.
    StoredDelay { from_bytes: u64, delay_ns: u64; }
}

fn name<T: Text>(value: T) -> String {
    T::NAMES.iter().find(|(_, known)| *known == value).map_or_else(String::new, |(name, _)| (*name).to_owned())
}

pub(super) fn of_name<T: Text>(text: &str, field: &str) -> Result<T, Flaw> {
    let known = T::NAMES.iter().find(|(name, _)| *name == text).map(|(_, value)| *value);
    known.ok_or_else(|| Flaw::new(format!("{field} is \"{text}\""), "one of the names in docs/reference/formats.md"))
}

fn nanos(duration: Option<Duration>) -> Option<u64> {
    duration.map(Duration::as_nanos)
}

impl From<&ConnectionVector> for StoredVector {
    fn from(vector: &ConnectionVector) -> StoredVector {
        StoredVector {
            id: vector.id,
            label_subset: vector.label.map(|label| label.subset),
            label_id: vector.label.map(|label| label.id),
            start_ns: vector.start.as_nanos(),
            protocol: name(vector.protocol),
            ip_version: vector.ip_version.map(name),
            evidence: name(vector.evidence),
            initiator_side: name(vector.initiator_side),
            initiator_rule: name(vector.initiator_rule),
            pattern: name(vector.pattern),
            complete: vector.complete,
            handshake_repeated: vector.handshake_repeated,
            syn_rtt_ns: nanos(vector.syn_rtt),
            stated_rtt_ns: nanos(vector.stated_rtt),
            lifetime_ns: nanos(vector.lifetime),
            close: name(vector.close),
            t_close_ns: nanos(vector.t_close),
            initiator: StoredEnd::from(&vector.ends.initiator),
            acceptor: StoredEnd::from(&vector.ends.acceptor),
            adus: vector.adus.iter().map(StoredAdu::from).collect(),
            initiator_pauses: stored_pauses(&vector.pauses.initiator),
            acceptor_pauses: stored_pauses(&vector.pauses.acceptor),
            initiator_datagrams: stored_datagrams(&vector.datagrams.initiator),
            acceptor_datagrams: stored_datagrams(&vector.datagrams.acceptor),
            syn_repeats: stored_syn_repeats(&vector.syn_repeats),
            initiator_losses: stored_losses(&vector.losses.initiator),
            acceptor_losses: stored_losses(&vector.losses.acceptor),
            initiator_read_pauses: stored_pauses(&vector.read_pauses.initiator),
            acceptor_read_pauses: stored_pauses(&vector.read_pauses.acceptor),
            initiator_delays: stored_delays(&vector.delays.initiator),
            acceptor_delays: stored_delays(&vector.delays.acceptor),
        }
    }
}

impl From<&Endpoint> for StoredEnd {
    fn from(end: &Endpoint) -> StoredEnd {
        let (host_number, address) = match end.host {
            None => (None, None),
            Some(Host::Number(number)) => (Some(number), None),
            Some(Host::Address(address)) => (None, Some(address)),
        };
        StoredEnd {
            host_number,
            address,
            port: end.port,
            syn_seen: end.syn_seen,
            rst_seen: end.rst_seen,
            mss_bytes: end.mss,
            max_window_bytes: end.max_window,
            max_window_unscaled_bytes: end.max_window_unscaled,
            window_scale: end.window_scale,
            sack: end.sack,
            timestamps: end.timestamps,
            ecn: end.ecn,
            min_transit_ns: nanos(end.min_transit),
            lead_in_ns: nanos(end.lead_in),
            fin_wait_ns: nanos(end.fin_wait),
            packets: end.packets,
            ip_bytes: end.ip_bytes,
            bare_acks: end.bare_acks,
            oversized_segments: end.oversized,
            smallest_datagram_bytes: end.datagram_sizes.map(|sizes| sizes.smallest),
            largest_datagram_bytes: end.datagram_sizes.map(|sizes| sizes.largest),
            stated_loss_ppm: end.stated_loss_ppm,
            first_flight_bytes: end.first_flight,
            rate: end.rate,
            nagle: end.nagle,
            quick_acks: end.acks.map(|acks| acks.quick),
            prompt_acks: end.acks.map(|acks| acks.prompt),
            prompt_ack_segments: end.acks.map(|acks| acks.prompt_segments),
            carried_acks: end.acks.map(|acks| acks.carried),
            ack_delay_ns: nanos(end.acks.and_then(|acks| acks.delay)),
            transit_q10_ns: nanos(end.transits.map(|transits| transits.q10)),
            transit_q50_ns: nanos(end.transits.map(|transits| transits.q50)),
            transit_q90_ns: nanos(end.transits.map(|transits| transits.q90)),
            segments: end.segments.as_ref().map(StoredSegments::from),
        }
    }
}

impl From<&Segments> for StoredSegments {
    fn from(segments: &Segments) -> StoredSegments {
        let Segments { repeated, repaired, .. } = segments;
        StoredSegments {
            data_segments: segments.data,
            duplicate_segments: segments.duplicates,
            late_segments: segments.late,
            lost_before_segments: segments.lost_before,
            uncaptured_segments: segments.uncaptured,
            duplicate_timeout_segments: repeated.timeout,
            duplicate_fast_segments: repeated.fast,
            duplicate_other_segments: repeated.other,
            duplicate_spurious_segments: repeated.spurious,
            duplicate_copy_segments: repeated.copies,
            duplicate_unknown_segments: repeated.unknown,
            lost_before_timeout_segments: repaired.timeout,
            lost_before_fast_segments: repaired.fast,
            lost_before_other_segments: repaired.other,
            keep_alive_segments: segments.keep_alives,
            window_probe_segments: segments.window_probes,
            missing_bytes: segments.missing_bytes,
            missing_acked_bytes: segments.missing_acked_bytes,
            unacked_bytes: segments.unacked_bytes,
        }
    }
}

impl From<&Adu> for StoredAdu {
    fn from(adu: &Adu) -> StoredAdu {
        StoredAdu {
            side: name(adu.side),
            bytes: adu.bytes,
            missing_bytes: Some(adu.missing_bytes).filter(|bytes| *bytes > 0),
            wait_ns: nanos(adu.wait),
            waiter: name(adu.waiter),
            first_seen_ns: adu.seen.map(|seen| seen.first.as_nanos()),
            last_seen_ns: adu.seen.map(|seen| seen.last.as_nanos()),
            packets: adu.packets,
        }
    }
}

/// All of them as they are stored; nothing if there are none.
fn some_of<T, S>(all: &[T], stored: impl FnMut(&T) -> S) -> Option<Vec<S>> {
    (!all.is_empty()).then(|| all.iter().map(stored).collect())
}

fn stored_delays(delays: &[ExtraDelay]) -> Option<Vec<StoredDelay>> {
    let stored = |delay: &ExtraDelay| StoredDelay { from_bytes: delay.from_bytes, delay_ns: delay.delay.as_nanos() };
    some_of(delays, stored)
}

/// The delays of an end that sends `bytes`, which come in order and inside them.
fn delays(stored: Option<Vec<StoredDelay>>, bytes: u64) -> Result<Vec<ExtraDelay>, Flaw> {
    let delay =
        |delay: StoredDelay| ExtraDelay { from_bytes: delay.from_bytes, delay: Duration::from_nanos(delay.delay_ns) };
    let delays: Vec<ExtraDelay> = stored.unwrap_or_default().into_iter().map(delay).collect();
    let places = delays.iter().map(|delay| delay.from_bytes).chain([bytes]);
    if !delays.is_empty() && !places.is_sorted_by(|before, after| before < after) {
        return Err(Flaw::new("delays of an end outside its data or out of order", ""));
    }
    Ok(delays)
}

fn stored_pauses(pauses: &[Pause]) -> Option<Vec<StoredPause>> {
    let stored = |pause: &Pause| StoredPause {
        after_bytes: pause.after_bytes,
        length_ns: pause.length.as_nanos(),
        heard_bytes: pause.heard,
    };
    some_of(pauses, stored)
}

fn stored_datagrams(datagrams: &[SeenDatagram]) -> Option<Vec<StoredDatagram>> {
    let stored = |datagram: &SeenDatagram| StoredDatagram { bytes: datagram.bytes, gap_ns: datagram.gap.as_nanos() };
    some_of(datagrams, stored)
}

/// The datagrams of an end with these ADUs: those of each that has several, and its bytes.
fn datagrams<'a>(
    stored: Option<Vec<StoredDatagram>>,
    adus: impl Iterator<Item = &'a Adu>,
) -> Result<Vec<SeenDatagram>, Flaw> {
    let datagram =
        |stored: StoredDatagram| SeenDatagram { bytes: stored.bytes, gap: Duration::from_nanos(stored.gap_ns) };
    let datagrams: Vec<SeenDatagram> = stored.unwrap_or_default().into_iter().map(datagram).collect();
    let mut rest = &datagrams[..];
    let several = adus.filter_map(|adu| Some((adu.bytes, adu.packets.filter(|packets| *packets > 1)?)));
    for (bytes, packets) in several.filter(|_| !datagrams.is_empty()) {
        let (own, others) = rest.split_at_checked(packets as usize).unwrap_or_default();
        if own.is_empty() || own.iter().map(|datagram| u64::from(datagram.bytes)).sum::<u64>() != bytes {
            return Err(Flaw::new("datagrams of an end that are not those of its ADUs", ""));
        }
        rest = others;
    }
    match rest {
        [] => Ok(datagrams),
        _ => Err(Flaw::new("more datagrams of an end than its ADUs have", "")),
    }
}

/// The pauses of an end that sends or reads `bytes`, while `others` pass the other way; they come in order and inside them, and only one
/// that waits for the other end may stand before all.
fn pauses(stored: Option<Vec<StoredPause>>, bytes: u64, others: u64) -> Result<Vec<Pause>, Flaw> {
    let pause = |pause: StoredPause| Pause {
        after_bytes: pause.after_bytes,
        length: Duration::from_nanos(pause.length_ns),
        heard: pause.heard_bytes,
    };
    let pauses: Vec<Pause> = stored.unwrap_or_default().into_iter().map(pause).collect();
    let is_first = pauses.first().is_some_and(|pause| pause.after_bytes > 0 || pause.heard.is_some());
    let places = pauses.iter().map(|pause| pause.after_bytes).chain([bytes]);
    if !(pauses.is_empty() || is_first && places.is_sorted_by(|before, after| before < after)) {
        return Err(Flaw::new("pauses of an end outside the data or out of order", ""));
    }
    let mut heard = pauses.iter().filter_map(|pause| pause.heard);
    if heard.any(|heard| heard == 0 || heard > others) {
        return Err(Flaw::new("an end that waits for nothing, or for more than the other end sends", ""));
    }
    Ok(pauses)
}

fn stored_syn_repeats(repeats: &[SynRepeat]) -> Option<Vec<StoredSynRepeat>> {
    let stored = |repeat: &SynRepeat| StoredSynRepeat {
        side: name(repeat.side),
        wait_ns: repeat.wait.as_nanos(),
        answer: name(repeat.answer),
    };
    some_of(repeats, stored)
}

fn stored_losses(losses: &[LostSegment]) -> Option<Vec<StoredLoss>> {
    let stored = |lost: &LostSegment| {
        let LostSegment { after_bytes, bytes, copy, before_monitor, repaired } = *lost;
        StoredLoss { after_bytes, bytes, copy, before_monitor, repaired_ns: repaired.as_nanos() }
    };
    some_of(losses, stored)
}

/// The lost segments of an end that sends `sent` bytes, which come in order and inside them.
fn losses(stored: Option<Vec<StoredLoss>>, sent: u64) -> Result<Vec<LostSegment>, Flaw> {
    let lost = |lost: StoredLoss| {
        let StoredLoss { after_bytes, bytes, copy, before_monitor, repaired_ns } = lost;
        LostSegment { after_bytes, bytes, copy, before_monitor, repaired: Duration::from_nanos(repaired_ns) }
    };
    let losses: Vec<LostSegment> = stored.unwrap_or_default().into_iter().map(lost).collect();
    let is_inside = |lost: &LostSegment| lost.after_bytes.checked_add(lost.bytes).is_some_and(|end| end <= sent);
    if !losses.is_sorted_by_key(|lost| (lost.after_bytes, lost.copy)) || !losses.iter().all(is_inside) {
        return Err(Flaw::new("losses of an end outside its data or out of order", ""));
    }
    Ok(losses)
}

impl StoredSynRepeat {
    fn repeat(self) -> Result<SynRepeat, Flaw> {
        Ok(SynRepeat {
            side: of_name(&self.side, "side")?,
            wait: Duration::from_nanos(self.wait_ns),
            answer: of_name(&self.answer, "answer")?,
        })
    }
}

impl StoredVector {
    /// The vector this says, if it can be one.
    pub(super) fn vector(self) -> Result<ConnectionVector, Flaw> {
        if self.adus.len() > MOST_ADUS {
            return Err(Flaw::new(format!("a connection of more than {MOST_ADUS} ADUs"), ""));
        }
        let time = |nanos: Option<u64>| nanos.map(Duration::from_nanos);
        let label = match (self.label_subset, self.label_id) {
            (None, None) => None,
            (subset, id) => Some(Label { subset: subset.unwrap_or_default(), id: id.unwrap_or_default() }),
        };
        let mut vector = ConnectionVector {
            id: self.id,
            label,
            protocol: of_name(&self.protocol, "protocol")?,
            ip_version: self.ip_version.map(|version| of_name(&version, "ip_version")).transpose()?,
            evidence: of_name(&self.evidence, "evidence")?,
            start: Time::from_nanos(self.start_ns),
            initiator_side: of_name(&self.initiator_side, "initiator_side")?,
            initiator_rule: of_name(&self.initiator_rule, "initiator_rule")?,
            pattern: of_name(&self.pattern, "pattern")?,
            complete: self.complete,
            handshake_repeated: self.handshake_repeated,
            syn_rtt: time(self.syn_rtt_ns),
            stated_rtt: time(self.stated_rtt_ns),
            lifetime: time(self.lifetime_ns),
            ends: PerSide { initiator: self.initiator.end(), acceptor: self.acceptor.end() },
            close: of_name(&self.close, "close")?,
            t_close: time(self.t_close_ns),
            adus: self.adus.into_iter().map(StoredAdu::adu).collect::<Result<_, _>>()?,
            pauses: PerSide::default(),
            datagrams: PerSide::default(),
            losses: PerSide::default(),
            syn_repeats: self
                .syn_repeats
                .unwrap_or_default()
                .into_iter()
                .map(StoredSynRepeat::repeat)
                .collect::<Result<_, _>>()?,
            read_pauses: PerSide::default(),
            delays: PerSide::default(),
        };
        for side in Side::BOTH {
            let own = vector.adus.iter().filter(|adu| adu.side == side);
            if own.fold(0u64, |sum, adu| sum.saturating_add(adu.bytes)) > MOST_BYTES {
                return Err(Flaw::new("one end sends more than 256 TiB", ""));
            }
        }
        let [initiator, acceptor] = Side::BOTH.map(|side| vector.bytes(side));
        vector.pauses = PerSide {
            initiator: pauses(self.initiator_pauses, initiator, acceptor)?,
            acceptor: pauses(self.acceptor_pauses, acceptor, initiator)?,
        };
        vector.read_pauses = PerSide {
            initiator: pauses(self.initiator_read_pauses, acceptor, 0)?,
            acceptor: pauses(self.acceptor_read_pauses, initiator, 0)?,
        };
        let own = |side: Side| vector.adus.iter().filter(move |adu| adu.side == side);
        vector.datagrams = PerSide {
            initiator: datagrams(self.initiator_datagrams, own(Side::Initiator))?,
            acceptor: datagrams(self.acceptor_datagrams, own(Side::Acceptor))?,
        };
        vector.losses = PerSide {
            initiator: losses(self.initiator_losses, vector.bytes(Side::Initiator))?,
            acceptor: losses(self.acceptor_losses, vector.bytes(Side::Acceptor))?,
        };
        vector.delays = PerSide {
            initiator: delays(self.initiator_delays, vector.bytes(Side::Initiator))?,
            acceptor: delays(self.acceptor_delays, vector.bytes(Side::Acceptor))?,
        };
        Ok(vector)
    }
}

impl StoredEnd {
    fn end(self) -> Endpoint {
        let datagram_sizes = match (self.smallest_datagram_bytes, self.largest_datagram_bytes) {
            (None, None) => None,
            (smallest, largest) => Some(DatagramSizes {
                smallest: smallest.or(largest).unwrap_or_default(),
                largest: largest.or(smallest).unwrap_or_default(),
            }),
        };
        let counts = [self.quick_acks, self.prompt_acks, self.prompt_ack_segments, self.carried_acks];
        let has_acks = self.ack_delay_ns.is_some() || counts.iter().any(Option::is_some);
        let [quick, prompt, prompt_segments, carried] = counts.map(Option::unwrap_or_default);
        let delay = self.ack_delay_ns.map(Duration::from_nanos);
        let acks = has_acks.then_some(AckPolicy { quick, prompt, prompt_segments, carried, delay });
        let points = [self.transit_q10_ns, self.transit_q50_ns, self.transit_q90_ns];
        let has_transits = points.iter().any(Option::is_some);
        let [q10, q50, q90] = points.map(|point| Duration::from_nanos(point.unwrap_or_default()));
        Endpoint {
            host: self.address.map(Host::Address).or(self.host_number.map(Host::Number)),
            port: self.port,
            syn_seen: self.syn_seen,
            rst_seen: self.rst_seen,
            mss: self.mss_bytes,
            max_window: self.max_window_bytes,
            max_window_unscaled: self.max_window_unscaled_bytes,
            window_scale: self.window_scale,
            sack: self.sack,
            timestamps: self.timestamps,
            ecn: self.ecn,
            min_transit: self.min_transit_ns.map(Duration::from_nanos),
            lead_in: self.lead_in_ns.map(Duration::from_nanos),
            fin_wait: self.fin_wait_ns.map(Duration::from_nanos),
            packets: self.packets,
            ip_bytes: self.ip_bytes,
            bare_acks: self.bare_acks,
            oversized: self.oversized_segments,
            datagram_sizes,
            segments: self.segments.map(StoredSegments::segments),
            stated_loss_ppm: self.stated_loss_ppm,
            first_flight: self.first_flight_bytes,
            rate: self.rate,
            nagle: self.nagle,
            acks,
            transits: has_transits.then_some(TransitQuantiles { q10, q50, q90 }),
        }
    }
}

impl StoredSegments {
    fn segments(self) -> Segments {
        Segments {
            data: self.data_segments,
            duplicates: self.duplicate_segments,
            late: self.late_segments,
            lost_before: self.lost_before_segments,
            uncaptured: self.uncaptured_segments,
            repeated: Repeated {
                timeout: self.duplicate_timeout_segments,
                fast: self.duplicate_fast_segments,
                other: self.duplicate_other_segments,
                spurious: self.duplicate_spurious_segments,
                copies: self.duplicate_copy_segments,
                unknown: self.duplicate_unknown_segments,
            },
            repaired: Repaired {
                timeout: self.lost_before_timeout_segments,
                fast: self.lost_before_fast_segments,
                other: self.lost_before_other_segments,
            },
            keep_alives: self.keep_alive_segments,
            window_probes: self.window_probe_segments,
            missing_bytes: self.missing_bytes,
            missing_acked_bytes: self.missing_acked_bytes,
            unacked_bytes: self.unacked_bytes,
        }
    }
}

impl StoredAdu {
    fn adu(self) -> Result<Adu, Flaw> {
        let seen = match (self.first_seen_ns, self.last_seen_ns) {
            (Some(first), Some(last)) => {
                Some(Span { first: Duration::from_nanos(first), last: Duration::from_nanos(last) })
            }
            (None, None) => None,
            _ => return Err(Flaw::new("an ADU was seen first or last, not both", "both times or none")),
        };
        Ok(Adu {
            side: of_name(&self.side, "side")?,
            bytes: self.bytes,
            missing_bytes: self.missing_bytes.unwrap_or(0),
            wait: self.wait_ns.map(Duration::from_nanos),
            waiter: of_name(&self.waiter, "waiter")?,
            seen,
            packets: self.packets,
        })
    }
}
