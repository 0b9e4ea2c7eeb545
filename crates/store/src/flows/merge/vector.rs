//! What a connection's records say of its vector.

use std::cmp::Ordering;
use std::net::{IpAddr, Ipv6Addr};

use flowloom_core::time::Time;
use flowloom_core::wire::Address;
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, Endpoint, Evidence, Host, InitiatorRule, Pattern, PerSide, Protocol, Side,
};

use super::connection::{Connection, Counted, Key};
use super::facts::{MergeFacts, MergeOptions};
use super::span::TCP;

/// Header bytes of a packet without options: Harpoon's rule (methods K.1), and what it becomes for others.
const TCP_HEADER: u64 = 20;
const UDP_HEADER: u64 = 8;
const IPV4_HEADER: u64 = 20;
const IPV6_HEADER: u64 = 40;
/// The time stamp option, in its usual place on every segment (RFC 7323).
const TIME_STAMP_OPTION: u64 = 12;
/// What else the options of a SYN may take: all that a TCP header has room for is 40.
const SYN_OPTIONS: u64 = 28;

/// The vector of a connection, starting at time 0 with id 0, and when it really starts. `None`, counted by its reason, if there is none.
pub(super) fn vector(
    key: &Key,
    connection: &Connection,
    options: &MergeOptions,
    facts: &mut MergeFacts,
) -> Option<(Time, ConnectionVector)> {
    let sent = [connection.sent(0), connection.sent(1)];
    facts.duplicates += sent.iter().flatten().map(|(_, duplicates)| duplicates).sum::<u64>();
    let [low, high] = sent.map(|sent| sent.map(|(counted, _)| counted));
    if (low.is_none() || high.is_none()) && !options.keep_one_way {
        facts.one_way += 1;
        return None;
    }
    let (initiator, rule) = initiator(key, connection, low.as_ref(), high.as_ref());
    let counted = if initiator == 0 { [low, high] } else { [high, low] };
    let mut payload = [0; 2];
    let mut acknowledgements = 0;
    for (bytes, counted) in payload.iter_mut().zip(&counted) {
        let Some(counted) = counted else { continue };
        let Some(known) = payload_of(key, counted, &mut acknowledgements) else {
            facts.uncounted += 1;
            return None;
        };
        *bytes = known;
    }
    facts.acknowledgements_only += acknowledgements;
    if payload == [0, 0] {
        facts.no_data += 1;
        return None;
    }
    facts.vectors += 1;
    facts.estimated_payload += u64::from(counted.iter().flatten().any(|counted| counted.counters.payload.is_none()));
    facts.scaled += u64::from(counted.iter().flatten().any(|counted| counted.scaled));
    match rule {
        InitiatorRule::FirstPacket => facts.initiator_first += 1,
        InitiatorRule::Port => facts.initiator_port += 1,
        InitiatorRule::Syn | InitiatorRule::SynAck | InitiatorRule::Cut => facts.initiator_named += 1,
    }
    let end = |side: Side| {
        let at = if side == Side::Initiator { initiator } else { 1 - initiator };
        let counters = counted[side as usize].map(|counted| counted.counters).unwrap_or_default();
        Endpoint {
            host: options.keep_hosts.then(|| host(key.ends[at])),
            port: (options.keep_hosts || side == Side::Acceptor).then_some(key.ends[at].port),
            packets: counters.packets,
            ip_bytes: counters.octets,
            ..Endpoint::default()
        }
    };
    let flags = [initiator, 1 - initiator].map(|end| connection.span.flags(end).unwrap_or_default());
    let any = |has: fn(&flowloom_core::wire::Flags) -> bool| flags.iter().any(has);
    let tcp = key.protocol == TCP;
    let vector = ConnectionVector {
        protocol: if tcp { Protocol::Tcp } else { Protocol::Udp },
        evidence: Evidence::FlowRecord,
        initiator_rule: rule,
        pattern: Pattern::Sequential,
        complete: tcp && any(|flags| flags.syn()) && any(|flags| flags.fin() || flags.rst()),
        lifetime: Some(connection.span.last.since(connection.span.first)),
        ends: PerSide { initiator: end(Side::Initiator), acceptor: end(Side::Acceptor) },
        close: if tcp { close(flags.map(|flags| flags.fin()), flags.map(|flags| flags.rst())) } else { Close::NotSeen },
        adus: adus(payload, counted.map(|counted| counted?.counters.packets.filter(|_| !tcp))),
        ..ConnectionVector::default()
    };
    Some((connection.span.first, vector))
}

/// Which of the key's ends opened the connection, and how that is told: the exporter names it, it sent first, or it has
/// the larger port. Of one direction alone nobody knows which end sent first.
fn initiator(
    key: &Key,
    connection: &Connection,
    low: Option<&Counted>,
    high: Option<&Counted>,
) -> (usize, InitiatorRule) {
    if let Some(named) = connection.initiator {
        return (named, InitiatorRule::Syn);
    }
    // A finer difference is no difference: most exporters stamp in milliseconds.
    let millis = |time: Time| time.as_nanos() / 1_000_000;
    let firsts = connection.firsts().or_else(|| Some([low?.first, high?.first]));
    match firsts.map_or(Ordering::Equal, |[low, high]| millis(low).cmp(&millis(high))) {
        Ordering::Less => (0, InitiatorRule::FirstPacket),
        Ordering::Greater => (1, InitiatorRule::FirstPacket),
        Ordering::Equal => (usize::from(key.ends[1].port > key.ends[0].port), InitiatorRule::Port),
    }
}

/// Payload of one direction: as counted, or IP bytes less a header without options for each packet. A direction of TCP whose
/// packets have no more beyond that than a time stamp option, and the SYN its own, only acknowledges.
fn payload_of(key: &Key, counted: &Counted, acknowledgements: &mut u64) -> Option<u64> {
    if counted.counters.payload.is_some() {
        return counted.counters.payload;
    }
    let (octets, packets) = (counted.counters.octets?, counted.counters.packets?);
    let ip = if is_ipv4(key.ends[0]) { IPV4_HEADER } else { IPV6_HEADER };
    let transport = if key.protocol == TCP { TCP_HEADER } else { UDP_HEADER };
    let beyond = octets.saturating_sub(packets.saturating_mul(ip + transport));
    let options = packets.saturating_mul(TIME_STAMP_OPTION).saturating_add(SYN_OPTIONS);
    if key.protocol == TCP && beyond > 0 && beyond <= options {
        *acknowledgements += 1;
        return Some(0);
    }
    Some(beyond)
}

/// Who closed, where the flags of only one end say so: a union of flags has no order.
fn close(fin: [bool; 2], rst: [bool; 2]) -> Close {
    match (fin, rst) {
        ([true, false], _) => Close::Fin(Side::Initiator),
        ([false, true], _) => Close::Fin(Side::Acceptor),
        ([false, false], [true, false]) => Close::Rst(Side::Initiator),
        ([false, false], [false, true]) => Close::Rst(Side::Acceptor),
        _ => Close::NotSeen,
    }
}

/// One request and one response, without what is not known: when, and what came between.
fn adus(payload: [u64; 2], packets: [Option<u64>; 2]) -> Vec<Adu> {
    let both = payload[0] > 0 && payload[1] > 0;
    let adu = |side: Side| Adu {
        side,
        bytes: payload[side as usize],
        missing_bytes: 0,
        wait: None,
        waiter: if both { Side::Acceptor } else { side },
        seen: None,
        packets: packets[side as usize].map(|packets| u32::try_from(packets).unwrap_or(u32::MAX)),
    };
    Side::BOTH.into_iter().map(adu).filter(|adu| adu.bytes > 0).collect()
}

fn is_ipv4(address: Address) -> bool {
    Ipv6Addr::from(address.ip).to_ipv4_mapped().is_some()
}

fn host(address: Address) -> Host {
    Host::Address(IpAddr::V6(Ipv6Addr::from(address.ip)).to_canonical())
}
