//! A histogram of datagram lengths with which every published efficiency of the Berkeley trace comes out, found by a linear programme
//! from the published description of the trace (methods H.3).
//!
//! The variables are the shares of all datagrams that each length has, TCP and UDP. They have to make the published numbers of datagrams and
//! bytes, and to lie within the published shares; the largest deviation from a published efficiency is made as small as it can be. An
//! efficiency is a ratio, which a linear programme cannot have: `100 useful - v line`, divided by the line bytes that follow from the totals and
//! the published application efficiency, is its deviation in points from `v` to within a share of v's own deviation.

use std::fmt::Write as _;

use flowloom_core::cell::framing::{Compression, Lengths, Stack, header_bytes};
use flowloom_core::extract::conversations::Transport;
use microlp::{ComparisonOp, LinearExpr, OptimizationDirection, Problem, Variable};

use crate::efficiency::{MEASURES, Site, UCB, UCB_EFFICIENCIES};

/// Data bytes of the longest datagrams: those that Ethernet carries.
const LONGEST: [(Transport, u32); 2] = [(Transport::Tcp, 1_460), (Transport::Udp, 1_472)];

/// What is published of the lengths: the percentages of the datagrams of a transport with less than so many data bytes, from and to. Where
/// one number is published, "about" and rounding are a point.
pub(crate) const DESCRIPTION: [(Transport, u32, [f64; 2]); 5] = [
    (Transport::Tcp, 1, [36.0, 40.0]),
    (Transport::Tcp, 10, [69.0, 71.0]),
    (Transport::Tcp, 256, [83.0, 85.0]),
    (Transport::Udp, 48, [79.0, 81.0]),
    (Transport::Udp, 150, [96.0, 98.0]),
];

/// Points by which the programme stays within the description, so that whole datagrams do too.
const MARGIN: f64 = 0.01;

/// What the head of the file says: the provenance.
const HEAD: &str = "\
# Lengths of the wide-area datagrams of UC Berkeley, 31 October 1989, TCP and UDP: not the trace, of which no histogram is
# published, but one that a linear programme found (crates/validate/src/lengths.rs) from what is published of it (Caceres 1992,
# chapter 5): numbers of datagrams and bytes, shares of short ones, transmission efficiencies of three stacks with and without
# compression, all of which it has within 0.1 points. Many others have them too; single lengths mean nothing. Written by
# cargo run --release -p flowloom-validate --example ucb_lengths
";

/// Runs the programme; `None` if it has no solution.
pub fn search() -> Option<Lengths> {
    let all = (UCB.tcp.datagrams + UCB.udp.datagrams) as f64;
    let mut problem = Problem::new(OptimizationDirection::Minimize);
    let deviation = problem.add_var(1.0, (0.0, f64::INFINITY));
    let mut shares: Vec<(Transport, u32, Variable)> = Vec::new();
    for (transport, longest) in LONGEST {
        shares.extend((0..=longest).map(|bytes| (transport, bytes, problem.add_var(0.0, (0.0, 1.0)))));
    }
    let sum = |weight: &dyn Fn(Transport, u32) -> f64| {
        let mut expression = LinearExpr::empty();
        for (transport, bytes, share) in &shares {
            let weight = weight(*transport, *bytes);
            if weight != 0.0 {
                expression.add(*share, weight);
            }
        }
        expression
    };
    for (transport, _) in LONGEST {
        let (of, total) = (|other: Transport| f64::from(u8::from(other == transport)), UCB.of(transport));
        problem.add_constraint(sum(&|other, _| of(other)), ComparisonOp::Eq, total.datagrams as f64 / all);
        // In units of a hundred bytes.
        let bytes = sum(&|other, bytes| of(other) * f64::from(bytes) / 100.0);
        problem.add_constraint(bytes, ComparisonOp::Eq, total.data_bytes as f64 / all / 100.0);
    }
    for (transport, below, [least, most]) in DESCRIPTION {
        let below = sum(&|other, bytes| f64::from(u8::from(other == transport && bytes < below)));
        let share = UCB.of(transport).datagrams as f64 / all / 100.0;
        problem.add_constraint(below.clone(), ComparisonOp::Ge, (least + MARGIN) * share);
        problem.add_constraint(below, ComparisonOp::Le, (most - MARGIN) * share);
    }
    for (name, techniques) in UCB_EFFICIENCIES {
        let stack: Stack = name.parse().ok()?;
        for ((_, compression), published) in Compression::PUBLISHED.into_iter().zip(techniques) {
            let Some(application) = published[0] else { continue };
            let line = 100.0 * UCB.data_bytes() as f64 / all / application;
            for (measure, value) in (0..MEASURES.len()).zip(published) {
                let Some(value) = value else { continue };
                let off = |transport, data_bytes| {
                    let handed = compression.handed_bytes(transport, data_bytes + header_bytes(transport));
                    let carried = stack.carry(u64::from(handed), compression);
                    let useful = [u64::from(data_bytes), u64::from(handed), carried.frame_bytes][measure];
                    (100.0 * useful as f64 - value * carried.line_bytes as f64) / line
                };
                for (operator, sign) in [(ComparisonOp::Le, -1.0), (ComparisonOp::Ge, 1.0)] {
                    let mut expression = sum(&off);
                    expression.add(deviation, sign);
                    problem.add_constraint(expression, operator, 0.0);
                }
            }
        }
    }
    let solution = problem.solve().ok()?.into_solution().ok()?;
    let counts = shares.iter().map(|(transport, bytes, share)| (*transport, *bytes, solution.var_value(*share) * all));
    whole(counts, &UCB)
}

/// Whole datagrams with exactly the totals of `site`: what rounding down leaves over is of its mean length.
fn whole(counts: impl Iterator<Item = (Transport, u32, f64)>, site: &Site) -> Option<Lengths> {
    let mut lengths = Lengths::default();
    for (transport, bytes, count) in counts {
        // One less, so that enough is left over to make up for the tolerance of the programme.
        lengths.add_data(transport, bytes, (count.floor() as u64).saturating_sub(1));
    }
    for (transport, _) in LONGEST {
        let total = site.of(transport);
        let datagrams = total.datagrams.checked_sub(lengths.datagrams(transport))?;
        let bytes = total.data_bytes.checked_sub(lengths.data_bytes(transport))?;
        let (mean, more) = (bytes.checked_div(datagrams)?, bytes.checked_rem(datagrams)?);
        let mean = u32::try_from(mean).ok()?;
        lengths.add_data(transport, mean, datagrams - more);
        lengths.add_data(transport, mean + 1, more);
    }
    Some(lengths)
}

/// `lengths` as the file that ships.
pub fn file(lengths: &Lengths) -> String {
    let mut text = format!("{HEAD}protocol,data_bytes,count\n");
    for (transport, ip_bytes, group) in lengths.groups() {
        let data_bytes = ip_bytes - header_bytes(transport);
        let _ = writeln!(text, "{},{data_bytes},{}", transport.name(), group.datagrams);
    }
    text
}
