//! What follows from the laws of a trace: means, deviations, loads. By sums and integrals, never by samples, which miss heavy tails
//! (methods E.3).

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::workload::{PerSide, Side};

use super::trace::{Concurrent, Sequential, Trace};

/// Epochs of sequential connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epochs {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
}

/// What connections send in the mean, as methods A.11 estimates it: frames of 54 bytes of headers, acknowledgements of every
/// second segment, seven packets of control.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wire {
    /// Bytes on the link.
    pub bytes: f64,
    /// Packets.
    pub packets: f64,
}

/// ADUs of one end: bytes in the mean, and segments.
#[derive(Clone, Copy, Debug, Default)]
struct Sent {
    bytes: f64,
    segments: f64,
}

impl Sequential {
    /// The share of connections of `count` epochs or more.
    pub fn at_least(&self, count: usize) -> f64 {
        match count {
            0 | 1 => 1.0,
            2 => 1.0 - self.single,
            _ => (1.0 - self.single) * self.further.ccdf((count - 2) as f64),
        }
    }

    /// Most epochs.
    fn most(&self) -> usize {
        1 + libm::ceil(self.further.max()) as usize
    }

    /// Their numbers of epochs.
    pub fn epochs(&self) -> Epochs {
        let (mean, square) = (1..=self.most()).fold((0.0, 0.0), |(first, second), count| {
            let share = self.at_least(count);
            (first + share, second + (2 * count - 1) as f64 * share)
        });
        Epochs { mean, deviation: libm::sqrt(square - mean * mean) }
    }

    /// Epochs of each kind, and waits between epochs, of a connection in the mean of all.
    pub(super) fn by_kind(&self) -> Vec<[f64; 2]> {
        let ends = self.kinds.iter().skip(1).map(|kind| kind.from).chain([self.most() + 1]);
        let of = |(from, end): (usize, usize)| {
            let beyond: f64 = (from + 1..end).map(|count| self.at_least(count)).sum();
            let begun = from as f64 * self.at_least(from) - (end - 1) as f64 * self.at_least(end);
            let epochs = begun + beyond;
            [epochs, epochs - (self.at_least(from) - self.at_least(end))]
        };
        self.kinds.iter().map(|kind| kind.from).zip(ends).map(of).collect()
    }

    /// By how much, at most, the shares that the kinds and tempos have of the parts of sizes and waits miss the parts.
    pub fn imbalance(&self) -> f64 {
        let kinds = self.by_kind();
        let all: [f64; 2] = [0, 1].map(|of| kinds.iter().map(|kind| kind[of]).sum());
        let mut worst = 0.0_f64;
        for part in 0..4 {
            for side in Side::BOTH {
                let sizes: f64 = self.kinds.iter().zip(&kinds).map(|(kind, [n, _])| n * kind.sizes[side][part]).sum();
                worst = worst.max((sizes / all[0] - self.sizes[side].parts[part]).abs());
                let of = usize::from(side == Side::Initiator);
                let of_tempo = |kind: &super::Kind| -> f64 {
                    kind.tempos.iter().zip(&self.tempos).map(|(share, tempo)| share * tempo[side][part]).sum()
                };
                let waits: f64 = self.kinds.iter().zip(&kinds).map(|(kind, n)| n[of] * of_tempo(kind)).sum();
                worst = worst.max((waits / all[of] - self.waits[side].parts[part]).abs());
            }
        }
        worst
    }
}

impl Concurrent {
    /// ADUs of each end in the mean.
    pub fn adus(&self) -> f64 {
        let most = libm::ceil(self.further.max()) as usize;
        2.0 + (1..most).map(|count| self.further.ccdf(count as f64)).sum::<f64>()
    }
}

impl Trace {
    /// What a sequential connection sends from the left and from the right of the link.
    pub fn sequential_wire(&self) -> [Wire; 2] {
        let epochs = self.sequential.epochs().mean;
        self.wire(
            epochs,
            PerSide {
                initiator: self.sent(&self.sequential.sizes.initiator.law),
                acceptor: self.sent(&self.sequential.sizes.acceptor.law),
            },
        )
    }

    /// What a concurrent connection of either class sends from the left and from the right of the link.
    pub fn concurrent_wire(&self, of: &Concurrent) -> [Wire; 2] {
        let sent = self.sent(&self.concurrent_adu);
        self.wire(of.adus(), PerSide { initiator: sent, acceptor: sent })
    }

    fn wire(&self, count: f64, sent: PerSide<Sent>) -> [Wire; 2] {
        let headers = (40 + LINK_HEADER_BYTES) as f64;
        let of_end = |side: Side, control: f64| {
            let packets = count * (sent[side].segments + 0.5 * sent[side.other()].segments) + control;
            Wire { bytes: count * sent[side].bytes + headers * packets, packets }
        };
        let ends = [of_end(Side::Initiator, 4.0), of_end(Side::Acceptor, 3.0)];
        let from = |share: f64| Wire {
            bytes: share * ends[0].bytes + (1.0 - share) * ends[1].bytes,
            packets: share * ends[0].packets + (1.0 - share) * ends[1].packets,
        };
        [from(self.from_left), from(1.0 - self.from_left)]
    }

    fn sent(&self, sizes: &Distribution) -> Sent {
        let of = self.segments.iter().map(|(share, mss)| share * segments(sizes, f64::from(*mss)));
        Sent { bytes: mean(sizes), segments: of.sum() }
    }
}

/// Segments of `mss` bytes that sizes of a law take, in the mean: the sum of P(X > k mss) over k, exact for small k.
fn segments(sizes: &Distribution, mss: f64) -> f64 {
    const EXACT: u32 = 2_000;
    let sum: f64 = (0..EXACT).map(|k| sizes.ccdf(f64::from(k) * mss)).sum();
    let end = f64::from(EXACT) * mss;
    let clipped = Law::Clipped { of: Box::new(sizes.law().clone()), min: 0.0, max: end };
    let below = Distribution::new(clipped).ok().and_then(|law| law.mean()).unwrap_or(f64::INFINITY);
    sum + (mean(sizes) - below) / mss + 0.5 * sizes.ccdf(end)
}

fn mean(law: &Distribution) -> f64 {
    law.mean().unwrap_or(f64::INFINITY)
}
