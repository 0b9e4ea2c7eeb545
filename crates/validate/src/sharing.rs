//! Deficit round robin against the bounds of its paper.

use flowloom_core::path::LinkEvent;
use flowloom_core::queue::{DeficitRoundRobin, Packet, Queue, Scheduler};
use flowloom_core::time::Time;
use flowloom_core::units::Limit;

use crate::aqm::{GROUP, link};
use crate::check::{Expected, Row};

const LARGE: u32 = 1_500;
const SMALL: u32 = 300;

/// Two flows that always wait, of large and of small packets: the share of the first in bytes, and the most by which what one
/// got in any interval exceeds what the other got, in bytes.
fn two_flows(quantum: u32) -> [f64; 2] {
    let Ok(drr) = DeficitRoundRobin::new(Limit::Packets(1_000), quantum) else { return [f64::NAN; 2] };
    let mut link = link(Queue::Departure(Scheduler::DeficitRoundRobin(Box::new(drr))), 10_000_000);
    let mut sent = [0i64; 2];
    let (mut ahead, mut highest, mut lowest) = (0, i64::MIN, i64::MAX);
    for n in 0..60_000u64 {
        // 0.24 ms is a small packet at the line's rate, and both flows send one then: a large one is 1.2 ms.
        let now = Time::from_nanos(n * 240_000);
        for (flow, bytes) in [(0, LARGE), (1, SMALL)] {
            let _ = link.offer(now, Packet { flow, ..Packet::new(bytes) });
        }
        while let Some(event) = link.poll() {
            let LinkEvent::Started { packet, .. } = event else { continue };
            sent[packet.flow as usize] += i64::from(packet.bytes);
            // Both wait from the tenth packet on.
            if n > 1_000 {
                ahead += if packet.flow == 0 { i64::from(packet.bytes) } else { -i64::from(packet.bytes) };
                (highest, lowest) = (highest.max(ahead), lowest.min(ahead));
            }
        }
    }
    [sent[0] as f64 / (sent[0] + sent[1]) as f64, (highest - lowest) as f64]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for quantum in [500, 1_500, 6_000] {
        let [share, unfairness] = two_flows(quantum);
        let name = format!("DRR, quantum {quantum}: share in bytes of packets of 1,500 beside packets of 300");
        let source = "Shreedhar and Varghese 1995, theorem 1: equal quanta, equal shares";
        rows.push(Row::new(GROUP, name, source, Expected::Within { value: 0.5, by: 0.001 }, share));
        let bound = f64::from(quantum + 2 * LARGE);
        let name = format!("DRR, quantum {quantum}: most by which one is ahead over any time, bytes");
        let source = "Shreedhar and Varghese 1995, theorem 2: quantum + 2 Max";
        rows.push(Row::new(GROUP, name, source, Expected::AtMost(bound), unfairness));
    }
    rows
}
