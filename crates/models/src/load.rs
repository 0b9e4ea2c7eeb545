//! The load that a set of vectors offers (methods A.11), and how its connections arrive.

use flowloom_core::time::Duration;
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::workload::{ASSUMED_MSS, CONTROL_PACKETS, ConnectionVector, LinkSide, Protocol, Side, sum};

use crate::lrd::{Hurst, hurst};

/// Width of the bins in which arrivals are counted.
pub const ARRIVAL_BIN: Duration = Duration::from_millis(10);

/// Most bins of arrivals that are kept: almost two days.
const MOST_BINS: u64 = 1 << 24;

/// Connections from which on it is worth saying how they arrive: fewer leave most bins of every octave empty.
const ENOUGH: u64 = 1_000;

/// Bytes of the IP and TCP headers of a packet without options.
const HEADERS: u64 = 40;

/// Bytes and connections of one direction of the link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offered {
    /// Payload.
    pub payload: u64,
    /// Estimated bytes on the link, headers and acknowledgements included; the true ones are those of an unconstrained run.
    pub wire: u64,
}

impl Offered {
    fn add(&mut self, more: Offered) {
        self.payload = sum([self.payload, more.payload]);
        self.wire = sum([self.wire, more.wire]);
    }
}

/// What `vector` offers from the left and from the right of the link.
pub fn offered(vector: &ConnectionVector) -> [Offered; 2] {
    let mut from = [Offered::default(); 2];
    let frame = HEADERS + u64::from(LINK_HEADER_BYTES);
    for side in Side::BOTH {
        let on = if side == Side::Initiator { vector.initiator_side } else { vector.initiator_side.other() };
        let own = || vector.adus.iter().filter(|adu| adu.side == side);
        let payload = sum(own().map(|adu| adu.bytes));
        if vector.protocol != Protocol::Tcp {
            // IP and UDP headers take 28.
            let packets = sum(own().map(|adu| adu.packets.map_or(adu.bytes.div_ceil(ASSUMED_MSS), u64::from)));
            let wire = sum([payload, packets.saturating_mul(frame - 12)]);
            from[on as usize].add(Offered { payload, wire });
            continue;
        }
        let mss = vector.ends[side.other()].mss.map_or(ASSUMED_MSS, |mss| u64::from(mss.max(1)));
        let packets = sum(own().map(|adu| adu.bytes.div_ceil(mss)));
        let wire = sum([payload, sum([packets, CONTROL_PACKETS[side as usize]]).saturating_mul(frame)]);
        from[on as usize].add(Offered { payload, wire });
        // The other end acknowledges every second packet.
        from[on.other() as usize].add(Offered { payload: 0, wire: (packets / 2).saturating_mul(frame) });
    }
    from
}

/// Adds up what the vectors of a workload offer.
#[derive(Clone, Debug)]
pub struct LoadMeter {
    duration: Duration,
    connections: u64,
    from: [Offered; 2],
    thirds: [[u64; 3]; 2],
    /// Connections that start in each [`ARRIVAL_BIN`], while there are not too many bins.
    arrivals: Vec<u32>,
}

impl LoadMeter {
    /// Of a workload whose connections start for `duration`.
    pub fn new(duration: Duration) -> LoadMeter {
        LoadMeter {
            duration,
            connections: 0,
            from: Default::default(),
            thirds: Default::default(),
            arrivals: Vec::new(),
        }
    }

    /// Adds `vector`.
    pub fn add(&mut self, vector: &ConnectionVector) {
        self.connections += u64::from(vector.protocol == Protocol::Tcp);
        let start = vector.start.as_nanos();
        let third = (u128::from(start) * 3 / u128::from(self.duration.as_nanos().max(1))).min(2) as usize;
        for (place, more) in offered(vector).into_iter().enumerate() {
            self.from[place].add(more);
            self.thirds[place][third] = sum([self.thirds[place][third], more.payload]);
        }
        let bin = start / ARRIVAL_BIN.as_nanos();
        if vector.protocol == Protocol::Tcp && bin < MOST_BINS {
            let bin = bin as usize;
            if self.arrivals.len() <= bin {
                self.arrivals.resize(bin + 1, 0);
            }
            self.arrivals[bin] = self.arrivals[bin].saturating_add(1);
        }
    }

    /// What all of them offer.
    pub fn finish(mut self) -> Load {
        let bins = self.duration.as_nanos() / ARRIVAL_BIN.as_nanos();
        let counts = (bins <= MOST_BINS && self.connections >= ENOUGH).then(|| {
            self.arrivals.resize(bins as usize, 0);
            self.arrivals.iter().map(|count| f64::from(*count)).collect::<Vec<_>>()
        });
        Load {
            duration: self.duration,
            connections: self.connections,
            from: self.from,
            thirds: self.thirds,
            arrivals: counts.and_then(|counts| hurst(&counts)),
        }
    }
}

/// The load of a workload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// How long its connections start.
    pub duration: Duration,
    /// TCP connections.
    pub connections: u64,
    /// From the left and from the right of the link.
    pub from: [Offered; 2],
    /// Payload bytes of the connections that start in each third, from the left and from the right.
    pub thirds: [[u64; 3]; 2],
    /// The Hurst parameter of the numbers of connections that start in each [`ARRIVAL_BIN`]; `None` if there are too few, or far too many.
    pub arrivals: Option<Hurst>,
}

impl Load {
    /// The side of the link that more payload comes from.
    pub fn busier(&self) -> LinkSide {
        if self.from[1].payload > self.from[0].payload { LinkSide::Right } else { LinkSide::Left }
    }

    /// Payload bit/s from `side`.
    pub fn payload_rate(&self, side: LinkSide) -> f64 {
        rate(self.from[side as usize].payload, self.duration)
    }

    /// Estimated bit/s on the link from `side`.
    pub fn wire_rate(&self, side: LinkSide) -> f64 {
        rate(self.from[side as usize].wire, self.duration)
    }

    /// By how much the third with the most payload differs from that with the least, as a share of their mean, in the busier direction
    /// (methods A.11: above 5 % it cannot be said to have one load).
    pub fn drift(&self) -> f64 {
        let thirds = self.thirds[self.busier() as usize];
        let (most, least) = (thirds.into_iter().max().unwrap_or(0), thirds.into_iter().min().unwrap_or(0));
        let mean = thirds.iter().map(|bytes| *bytes as f64).sum::<f64>() / 3.0;
        if mean > 0.0 { (most - least) as f64 / mean } else { 0.0 }
    }
}

fn rate(bytes: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { 8.0 * bytes as f64 / time.as_secs_f64() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flowloom_core::time::Time;
    use flowloom_core::workload::Adu;

    fn vector(initiator_side: LinkSide, adus: &[(Side, u64)]) -> ConnectionVector {
        let adu =
            |&(side, bytes)| Adu { side, bytes, missing_bytes: 0, wait: None, waiter: side, seen: None, packets: None };
        ConnectionVector { initiator_side, adus: adus.iter().map(adu).collect(), ..ConnectionVector::default() }
    }

    /// Methods A.11: ADUs of 3403 and 329 bytes take 3948 on an Ethernet, one of 100000 takes 103726; the rest are
    /// acknowledgements and control packets.
    #[test]
    fn published_test_vectors() {
        let [left, right] = offered(&vector(LinkSide::Left, &[(Side::Initiator, 3_403), (Side::Initiator, 329)]));
        assert_eq!((left.payload, left.wire), (3_732, 3_948 + 4 * 54));
        assert_eq!((right.payload, right.wire), (0, (2 + 3) * 54), "two acknowledgements of four packets");
        let [left, right] = offered(&vector(LinkSide::Right, &[(Side::Initiator, 100_000)]));
        assert_eq!((right.payload, right.wire), (100_000, 103_726 + 4 * 54));
        assert_eq!(left.wire, (34 + 3) * 54);
    }

    #[test]
    fn rates_are_of_the_duration_and_thirds_tell_drift() {
        let mut meter = LoadMeter::new(Duration::from_secs(30));
        for (start, bytes) in [(0, 1_000), (9, 1_000), (10, 500), (29, 3_000)] {
            let mut vector = vector(LinkSide::Right, &[(Side::Initiator, bytes), (Side::Acceptor, 7)]);
            vector.start = Time::ZERO + Duration::from_secs(start);
            meter.add(&vector);
        }
        let load = meter.finish();
        assert_eq!((load.connections, load.busier()), (4, LinkSide::Right));
        assert_eq!(load.thirds[1], [2_000, 500, 3_000]);
        assert!((load.payload_rate(LinkSide::Right) - 5_500.0 * 8.0 / 30.0).abs() < 1e-9);
        assert!((load.drift() - 2_500.0 * 3.0 / 5_500.0).abs() < 1e-12);
        assert_eq!(load.arrivals, None, "four are too few");
    }

    #[test]
    fn datagrams_are_load_and_no_connections() {
        let mut flow = vector(LinkSide::Left, &[(Side::Initiator, 1_000)]);
        (flow.protocol, flow.adus[0].packets) = (Protocol::Udp, Some(4));
        assert_eq!(offered(&flow)[0], Offered { payload: 1_000, wire: 1_000 + 4 * 42 });
        let mut meter = LoadMeter::new(Duration::ZERO);
        meter.add(&flow);
        let load = meter.finish();
        assert_eq!((load.connections, load.payload_rate(LinkSide::Left), load.arrivals), (0, 0.0, None));
    }
}
