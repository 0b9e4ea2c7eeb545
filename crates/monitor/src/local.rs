//! This host as a target: its interfaces and queue disciplines, by rtnetlink.

use std::io;

use flowloom_live::host::netlink::{Index, Link, Netlink, Qdisc};
use flowloom_store::monitor::Kind;

use crate::clock::Moment;
use crate::rates::Width;
use crate::registry::matches;
use crate::target::{Answer, Class, CounterInfo, PortReading, Reading};

/// Counters of interfaces: name, unit. Drops include errors.
const INTERFACE: [(&str, &str); 6] = [
    ("in", "octets"),
    ("out", "octets"),
    ("in-packets", "packets"),
    ("out-packets", "packets"),
    ("in-drops", "drops"),
    ("out-drops", "drops"),
];

/// Counters of queue disciplines: name, unit, whether it counts.
const QUEUE: [(&str, &str, Kind); 7] = [
    ("out", "octets", Kind::Counter),
    ("out-packets", "packets", Kind::Counter),
    ("out-drops", "drops", Kind::Counter),
    ("overlimits", "packets", Kind::Counter),
    ("requeues", "packets", Kind::Counter),
    ("backlog", "octets", Kind::Gauge),
    ("backlog-packets", "packets", Kind::Gauge),
];

/// The groups of counters of this host, for its tracker.
pub fn groups() -> Vec<Vec<CounterInfo>> {
    let info = |name: &str, unit: &str, kind| CounterInfo {
        name: name.to_owned(),
        unit: unit.to_owned(),
        class: Class::Own(None),
        kind: Some(kind),
    };
    vec![
        INTERFACE.iter().map(|(name, unit)| info(name, unit, Kind::Counter)).collect(),
        QUEUE.iter().map(|(name, unit, kind)| info(name, unit, *kind)).collect(),
    ]
}

/// The names of the interfaces and queue disciplines of interfaces that match one of `ports`, and how long it took to read them, in
/// nanoseconds.
///
/// # Errors
/// The kernel's.
pub fn local_ports(ports: &[String]) -> io::Result<(Vec<String>, u64)> {
    let answer = Local::open(ports)?.ask()?;
    let took = answer.received.since(&answer.asked);
    Ok((answer.ports.into_iter().map(|port| port.name).collect(), took))
}

/// Asks the kernel about the namespace of the thread that opened it.
pub struct Local {
    netlink: Netlink,
    ports: Vec<String>,
}

impl Local {
    /// One that looks at interfaces whose names match one of `ports`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open(ports: &[String]) -> io::Result<Local> {
        Ok(Local { netlink: Netlink::open()?, ports: ports.to_vec() })
    }

    /// Reads all counters.
    ///
    /// # Errors
    /// The kernel's.
    pub fn ask(&mut self) -> io::Result<Answer> {
        let asked = Moment::now();
        let mut links = self.netlink.links()?;
        let seen = Moment::now();
        links.retain(|(name, _)| self.ports.iter().any(|pattern| matches(pattern, name)));
        let qdiscs = self.netlink.qdiscs()?;
        let received = Moment::now();
        let mut ports: Vec<PortReading> = links.iter().map(|(name, link)| interface(name, link, seen)).collect();
        for qdisc in &qdiscs {
            let device = links.iter().find(|(_, link)| link.index == qdisc.device);
            ports.extend(device.map(|(name, _)| queue(name, qdisc, received)));
        }
        Ok(Answer { asked, received, uptime: None, ports, own_packets: 0 })
    }
}

fn interface(name: &str, link: &Link, received: Moment) -> PortReading {
    let counts = &link.counts;
    let values = [
        counts.received_bytes,
        counts.sent_bytes,
        counts.received_packets,
        counts.sent_packets,
        counts.received_drops,
        counts.sent_drops,
    ];
    let readings = values.into_iter().map(|count| Reading::Counts(vec![(count, Width::Bits64)])).collect();
    reading(0, name.to_owned(), link.index.to_string(), received, readings)
}

/// The name of a queue discipline: `eth0/fq_codel-8001`, its device, kind and the major part of its handle.
fn queue(device: &str, qdisc: &Qdisc, received: Moment) -> PortReading {
    let name = format!("{device}/{}-{:x}", qdisc.kind, qdisc.handle >> 16);
    let count = |count, width| Reading::Counts(vec![(count, width)]);
    let readings = vec![
        count(qdisc.bytes, Width::Bits64),
        count(qdisc.packets, Width::Bits64),
        // The kernel has 32 bits of these.
        count(qdisc.drops, Width::Bits32),
        count(qdisc.overlimits, Width::Bits32),
        count(qdisc.requeues, Width::Bits32),
        Reading::Value(qdisc.backlog_bytes),
        Reading::Value(qdisc.backlog_packets),
    ];
    reading(1, name, index_of(qdisc.device, qdisc.handle), received, readings)
}

fn index_of(device: Index, handle: u32) -> String {
    format!("{device}/{handle:x}")
}

fn reading(group: usize, name: String, index: String, received: Moment, readings: Vec<Reading>) -> PortReading {
    PortReading { group, name, index, received, discontinuity: None, speed: None, readings }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_device_is_there() {
        let mut local = Local::open(&["l?".to_owned()]).unwrap();
        let answer = local.ask().unwrap();
        let names: Vec<&str> = answer.ports.iter().map(|port| port.name.as_str()).collect();
        assert_eq!(names[0], "lo");
        let groups = groups();
        assert!(answer.ports.iter().all(|port| port.readings.len() == groups[port.group].len()));
        assert!(answer.received >= answer.asked);
    }
}
