//! What datagrams cost on a line: the answer of `flowloom overhead`, as JSON and as text.

pub mod text;

use std::ops::RangeInclusive;

use serde::Serialize;

use flowloom_core::cell::framing::{Compression, Lengths, Stack, Totals, totals};
use flowloom_core::extract::conversations::Transport;

/// Efficiencies of stacks for one histogram of lengths.
#[derive(Clone, Debug, Serialize)]
pub struct Overhead {
    /// The file or the built-in histogram; `None` if names are to be left out.
    pub source: Option<String>,
    /// What the lengths were taken from.
    pub lengths_of: &'static str,
    /// TCP datagrams.
    pub tcp: DatagramTotals,
    /// UDP datagrams.
    pub udp: DatagramTotals,
    /// Packets of a capture that are none of these; `None` where there are no packets.
    pub left_out_packets: Option<u64>,
    /// The stacks, in the order asked for.
    pub stacks: Vec<StackEfficiency>,
    /// What to know, with its remedy.
    pub warnings: Vec<String>,
    /// The user stopped the reading of a capture.
    pub interrupted: bool,
}

/// Datagrams of a transport.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct DatagramTotals {
    /// How many.
    pub datagrams: u64,
    /// Application bytes in them.
    pub data_bytes: u64,
    /// Their bytes, headers included.
    pub ip_bytes: u64,
}

/// Efficiencies of a stack.
#[derive(Clone, Debug, Serialize)]
pub struct StackEfficiency {
    /// As it is written.
    pub stack: String,
    /// Bytes of the frame in a cell; `None` of a stack without cells, as the next two.
    pub cell_payload_bytes: Option<u32>,
    /// Header and adaptation bytes of a cell.
    pub cell_overhead_bytes: Option<u32>,
    /// With each technique that means something for it; the first is the standard.
    pub techniques: Vec<TechniqueEfficiency>,
    /// The standard with other cells.
    pub curve: Option<Vec<PayloadEfficiency>>,
}

/// Shares of the bytes on the line.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Shares {
    /// Of applications.
    pub application: f64,
    /// Of datagrams.
    pub datagram: f64,
    /// Carried by the last framing.
    pub frame: f64,
}

/// Efficiency with a technique.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct TechniqueEfficiency {
    /// Its name in the published tables.
    pub technique: &'static str,
    /// Efficiencies.
    #[serde(flatten)]
    pub shares: Shares,
    /// Bytes on the line for a datagram, in the mean.
    pub line_bytes_per_datagram: f64,
}

/// Efficiency with cells of another payload.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct PayloadEfficiency {
    /// Bytes of the frame in a cell.
    pub cell_payload_bytes: u32,
    /// Efficiencies.
    #[serde(flatten)]
    pub shares: Shares,
}

impl Shares {
    /// Of nothing they are 0.
    fn of(totals: &Totals) -> Shares {
        let [application, datagram, frame] = totals.efficiencies().unwrap_or_default();
        Shares { application, datagram, frame }
    }
}

impl DatagramTotals {
    /// Those of `transport`.
    pub fn of(lengths: &Lengths, transport: Transport) -> DatagramTotals {
        DatagramTotals {
            datagrams: lengths.datagrams(transport),
            data_bytes: lengths.data_bytes(transport),
            ip_bytes: lengths.ip_bytes(transport),
        }
    }
}

impl StackEfficiency {
    /// What `lengths` make of `stack`, and of the same stack with cells of each of `payloads`.
    pub fn of(stack: &Stack, lengths: &Lengths, payloads: RangeInclusive<u32>) -> StackEfficiency {
        let datagrams: f64 =
            [Transport::Tcp, Transport::Udp].iter().map(|transport| lengths.datagrams(*transport) as f64).sum();
        let techniques = Compression::of_stack(stack).map(|(technique, compression)| {
            let totals = totals(stack, lengths, compression);
            let line_bytes_per_datagram = totals.line as f64 / datagrams.max(1.0);
            TechniqueEfficiency { technique, shares: Shares::of(&totals), line_bytes_per_datagram }
        });
        let with_payload = |cell_payload_bytes| {
            let stack = stack.with_cell_payload(cell_payload_bytes)?;
            let shares = Shares::of(&totals(&stack, lengths, Compression::NONE));
            Some(PayloadEfficiency { cell_payload_bytes, shares })
        };
        StackEfficiency {
            stack: stack.to_string(),
            cell_payload_bytes: stack.cells().map(|cells| cells.payload_bytes),
            cell_overhead_bytes: stack.cells().map(|cells| cells.overhead_bytes),
            techniques: techniques.collect(),
            curve: stack.cells().map(|_| payloads.filter_map(with_payload).collect()),
        }
    }

    /// The payload with the best application efficiency; the smaller of equals.
    pub fn best_payload(&self) -> Option<PayloadEfficiency> {
        let better =
            |best: PayloadEfficiency, one: PayloadEfficiency| match one.shares.application > best.shares.application {
                true => one,
                false => best,
            };
        self.curve.as_ref()?.iter().copied().reduce(better)
    }
}
