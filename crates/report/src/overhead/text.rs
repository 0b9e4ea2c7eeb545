//! The answer of `flowloom overhead` for a terminal.

use std::fmt::Write as _;

use super::{Overhead, Shares, StackEfficiency};
use crate::metric::Unit;
use crate::words::thousands;

/// Lengths, then stacks with cells and all techniques, then stacks without in a row each. Efficiencies in percent.
pub fn overhead_text(overhead: &Overhead) -> String {
    let source = overhead.source.as_ref().map_or_else(String::new, |source| format!("{source}  "));
    let mut text = format!("{source}{}\n", lead(overhead));
    if let Some(packets) = overhead.left_out_packets.filter(|packets| *packets > 0) {
        let _ = writeln!(
            text,
            "  left out  {} packets that are neither TCP nor UDP, or not to be read",
            thousands(packets)
        );
    }
    let (with_cells, without): (Vec<_>, Vec<_>) =
        overhead.stacks.iter().partition(|stack| stack.cell_payload_bytes.is_some());
    let _ = writeln!(text, "\n% of the bytes on the line{:>44} {:>11} {:>7}", "application", "datagram", "frame");
    for stack in with_cells {
        cells(&mut text, stack);
    }
    if !without.is_empty() {
        let _ = writeln!(text, "without cells{:>77}", "application with DHE");
    }
    for stack in without {
        let row = |place: usize| stack.techniques.get(place).map(|technique| &technique.shares);
        if let (Some(standard), Some(encoded)) = (row(0), row(1)) {
            let _ = writeln!(text, "  {:<56}{} {:>11.1}", stack.stack, shares(standard), 100.0 * encoded.application);
        }
    }
    text
}

/// What is carried, in a line.
pub fn lead(overhead: &Overhead) -> String {
    let (tcp, udp) = (overhead.tcp, overhead.udp);
    let bytes = |tcp: u64, udp: u64| Unit::Bytes.show(tcp as f64 + udp as f64);
    format!(
        "{} TCP and {} UDP datagrams, {}, of which {} are data",
        thousands(tcp.datagrams),
        thousands(udp.datagrams),
        bytes(tcp.ip_bytes, udp.ip_bytes),
        bytes(tcp.data_bytes, udp.data_bytes)
    )
}

fn cells(text: &mut String, stack: &StackEfficiency) {
    let (payload, overhead) = (stack.cell_payload_bytes.unwrap_or(0), stack.cell_overhead_bytes.unwrap_or(0));
    let _ = writeln!(text, "{}, cells of {payload} + {overhead}", stack.stack);
    for technique in &stack.techniques {
        let _ = writeln!(text, "  {:<56}{}", technique.technique, shares(&technique.shares));
    }
    if let Some(best) = stack.best_payload() {
        let name = format!("standard, cells of {} + {overhead}: the best", best.cell_payload_bytes);
        let _ = writeln!(text, "  {name:<56}{}", shares(&best.shares));
    }
}

fn shares(shares: &Shares) -> String {
    let [application, datagram, frame] = [shares.application, shares.datagram, shares.frame].map(|share| 100.0 * share);
    format!("{application:>12.1} {datagram:>11.1} {frame:>7.1}")
}
