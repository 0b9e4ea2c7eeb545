//! What follows from the laws of a trace: means, deviations, loads, durations. By sums and integrals, never by samples, which
//! miss heavy tails (methods E.3).

use flowloom_core::distribution::Distribution;
use flowloom_core::units::LINK_HEADER_BYTES;
use flowloom_core::workload::{LinkSide, Pattern, PerSide, Side};

use super::trace::{Class, HOUR, LONG, Trace};

/// Epochs of sequential connections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epochs {
    /// Share of the connections that have one.
    pub single: f64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub deviation: f64,
}

/// What a connection sends in the mean, as methods A.11 estimates it: frames of 54 bytes of headers, acknowledgements of every
/// second segment, seven packets of control.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Wire {
    /// Bytes on the link.
    pub bytes: f64,
    /// Packets.
    pub packets: f64,
}

/// Times of connections in seconds with the published rule of waits (those below 500 ms count nothing), where an exchange takes one
/// round-trip time and the wait of who answers (methods B.2: the lossless ideal with every ADU in a packet).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Durations {
    /// Shares of the waits that are long, of all: of clients, of servers.
    pub long: PerSide<f64>,
    /// Mean response time.
    pub response: f64,
    /// Mean duration of a connection of either pattern; of a concurrent one that of one of its ends.
    pub connection: f64,
}

impl Class {
    /// The share of those with more than `count` epochs or ADUs of each end.
    fn more_than(&self, count: usize) -> f64 {
        match count {
            0 => 1.0,
            _ => (1.0 - self.single) * self.further.ccdf((count - 1) as f64),
        }
    }

    /// Most epochs or ADUs of each end.
    fn most(&self) -> usize {
        1 + libm::ceil(self.further.max()) as usize
    }

    /// Mean, and mean of the square, of the number of epochs or of ADUs of each end.
    fn moments(&self) -> (f64, f64) {
        (0..self.most()).fold((0.0, 0.0), |(first, second), count| {
            let above = self.more_than(count);
            (first + above, second + (2 * count + 1) as f64 * above)
        })
    }
}

impl Trace {
    fn of(&self, pattern: Pattern) -> impl Iterator<Item = &Class> {
        self.classes.iter().filter(move |class| class.pattern == pattern)
    }

    /// Epochs of sequential connections.
    pub fn epochs(&self) -> Epochs {
        let classes = || self.of(Pattern::Sequential);
        let all: f64 = classes().map(|class| class.share).sum();
        let mean_of =
            |what: &dyn Fn(&Class) -> f64| classes().map(|class| class.share * what(class)).sum::<f64>() / all;
        let mean = mean_of(&|class| class.moments().0);
        let square = mean_of(&|class| class.moments().1);
        Epochs { single: mean_of(&|class| class.single), mean, deviation: libm::sqrt(square - mean * mean) }
    }

    /// What connections of `class` send from the left and from the right of the link.
    pub fn wire(&self, class: &Class) -> [Wire; 2] {
        let count = class.moments().0;
        let sizes = match class.pattern {
            Pattern::Sequential => PerSide { initiator: &self.request, acceptor: &self.response },
            Pattern::Concurrent => PerSide { initiator: &self.concurrent_adu, acceptor: &self.concurrent_adu },
        };
        let headers = (40 + LINK_HEADER_BYTES) as f64;
        let segments = sizes.map(|sizes| count * self.segments(sizes));
        let of_end = |side: Side, control: f64| {
            let packets = segments[side] + 0.5 * segments[side.other()] + control;
            Wire { bytes: count * mean(sizes[side]) + headers * packets, packets }
        };
        let ends = [of_end(Side::Initiator, 4.0), of_end(Side::Acceptor, 3.0)];
        let shares = [self.from_left, 1.0 - self.from_left];
        [LinkSide::Left, LinkSide::Right].map(|side| {
            let [own, other] = if side == LinkSide::Left { shares } else { [shares[1], shares[0]] };
            Wire {
                bytes: own * ends[0].bytes + other * ends[1].bytes,
                packets: own * ends[0].packets + other * ends[1].packets,
            }
        })
    }

    /// Segments that an ADU of these sizes takes, in the mean.
    fn segments(&self, sizes: &Distribution) -> f64 {
        self.segments.iter().map(|(share, mss)| share * segments(sizes, f64::from(*mss))).sum()
    }

    /// Times of connections.
    pub fn durations(&self) -> Durations {
        let rtt = mean(&self.rtt) / 1e3;
        let lengths = self.tempos.each_ref().map(|tempo| PerSide {
            initiator: Capped::new(&tempo.lengths.initiator),
            acceptor: Capped::new(&tempo.lengths.acceptor),
        });
        // Of an end's waits that are at most so long: the share of long ones, and the mean with the others as nothing.
        let waits = |side: Side, most: f64| {
            if most < LONG {
                return (0.0, 0.0);
            }
            self.tempos.iter().zip(&lengths).fold((0.0, 0.0), |(long, mean), (tempo, lengths)| {
                let share = tempo.share * tempo.long[side];
                (long + share, mean + share * lengths[side].mean(most))
            })
        };
        let (mut epochs, mut gaps) = (0.0, 0.0);
        let (mut clients, mut servers) = ((0.0, 0.0), (0.0, 0.0));
        for class in self.of(Pattern::Sequential) {
            for count in 1..=class.most() {
                let share = class.share * (class.more_than(count - 1) - class.more_than(count));
                let most = HOUR / (2 * count - 1) as f64;
                let (client, server) = (waits(Side::Initiator, most), waits(Side::Acceptor, most));
                let (of_epochs, of_gaps) = (share * count as f64, share * (count - 1) as f64);
                (epochs, gaps) = (epochs + of_epochs, gaps + of_gaps);
                clients = (clients.0 + of_gaps * client.0, clients.1 + of_gaps * client.1);
                servers = (servers.0 + of_epochs * server.0, servers.1 + of_epochs * server.1);
            }
        }
        let concurrent = Capped::new(&self.concurrent_wait);
        let mut of_concurrent = 0.0;
        for class in self.of(Pattern::Concurrent) {
            for count in 1..=class.most() {
                let share = class.share * (class.more_than(count - 1) - class.more_than(count));
                let waits = (count - 1) as f64;
                of_concurrent += share * (rtt + waits * concurrent.mean(HOUR / waits.max(1.0)));
            }
        }
        Durations {
            long: PerSide { initiator: clients.0 / gaps, acceptor: servers.0 / epochs },
            response: rtt + servers.1 / epochs,
            connection: rtt * epochs + clients.1 + servers.1 + of_concurrent,
        }
    }
}

/// Segments of `mss` bytes that sizes of a law take, in the mean: the sum of P(X > k mss) over k, exact for small k.
fn segments(sizes: &Distribution, mss: f64) -> f64 {
    const EXACT: u32 = 2_000;
    let sum: f64 = (0..EXACT).map(|k| sizes.ccdf(f64::from(k) * mss)).sum();
    let end = f64::from(EXACT) * mss;
    let beyond = mean(sizes) - Capped::new(sizes).mean(end);
    sum + beyond / mss + 0.5 * sizes.ccdf(end)
}

fn mean(law: &Distribution) -> f64 {
    law.mean().unwrap_or(f64::INFINITY)
}

/// The mean of a law's values, larger ones than some limit counted as that limit: the integral of the share above, by Simpson's
/// rule on a grid of equal ratios.
struct Capped<'a> {
    law: &'a Distribution,
    /// Limits and the means with them.
    known: Vec<(f64, f64)>,
}

impl Capped<'_> {
    fn new(law: &Distribution) -> Capped<'_> {
        const STEPS: usize = 4_000;
        let (from, to) = (law.quantile(0.0).max(law.max() * 1e-10), law.max());
        let ratio = libm::pow(to / from, 1.0 / STEPS as f64);
        let mut known = Vec::with_capacity(STEPS + 1);
        let (mut at, mut sum) = (from, from);
        known.push((at, sum));
        for _ in 0..STEPS {
            let next = at * ratio;
            let of = |x| law.ccdf(x);
            sum += (next - at) / 6.0 * (of(at) + 4.0 * of(0.5 * (at + next)) + of(next));
            at = next;
            known.push((at, sum));
        }
        Capped { law, known }
    }

    fn mean(&self, most: f64) -> f64 {
        let place = self.known.partition_point(|(limit, _)| *limit <= most);
        match (place.checked_sub(1).map(|before| self.known[before]), self.known.get(place)) {
            (None, _) => most,
            (Some(last), None) => last.1,
            (Some((limit, mean)), Some(_)) => mean + (most - limit) * self.law.ccdf(0.5 * (limit + most)),
        }
    }
}
