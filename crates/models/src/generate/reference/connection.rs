//! How one connection is drawn from the laws of a trace.

use flowloom_core::distribution::Distribution;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, Endpoint, Evidence, LinkSide, Pattern, PerSide, Protocol, Side,
};

use super::ranks::{Ranks, near};
use super::tabulated::Tabulated;
use super::trace::{HOUR, LARGE, Trace};

/// Draws connections, each from a stream of its own in which every variable has its places: another law for one of them moves no
/// other.
pub(super) struct Connections {
    seed: u64,
    from_left: f64,
    sequential: Sequential,
    concurrent: [Concurrent; 2],
    rtt: Tabulated,
    /// Of the others, and of connections above a megabyte.
    windows: [PerSide<Distribution>; 2],
    segments: [(f64, u16); 2],
}

struct Sequential {
    share: f64,
    single: f64,
    further: Tabulated,
    incomplete: (f64, f64),
    kinds: Box<[Kind]>,
    /// Ranks of waits.
    tempos: Box<[PerSide<Ranks>]>,
    /// Of requests and responses.
    sizes: PerSide<Tabulated>,
    spread: PerSide<f64>,
    waits: PerSide<Tabulated>,
}

/// Connections of so many epochs or more.
struct Kind {
    from: usize,
    tempos: [f64; 4],
    sizes: PerSide<Ranks>,
}

struct Concurrent {
    share: f64,
    further: Tabulated,
    sizes: Tabulated,
    spread: f64,
    wait: Tabulated,
}

impl Connections {
    pub(super) fn new(trace: &Trace, seed: u64) -> Connections {
        let tabulated = |laws: &PerSide<super::trace::Cut>| laws.clone().map(|cut| Tabulated::new(&cut.law));
        let of = &trace.sequential;
        let kind = |kind: &super::trace::Kind| Kind {
            from: kind.from,
            tempos: kind.tempos,
            sizes: PerSide {
                initiator: Ranks::new(&of.sizes.initiator.parts, &kind.sizes.initiator),
                acceptor: Ranks::new(&of.sizes.acceptor.parts, &kind.sizes.acceptor),
            },
        };
        let tempo = |tempo: &PerSide<[f64; 4]>| PerSide {
            initiator: Ranks::new(&of.waits.initiator.parts, &tempo.initiator),
            acceptor: Ranks::new(&of.waits.acceptor.parts, &tempo.acceptor),
        };
        Connections {
            seed,
            from_left: trace.from_left,
            sequential: Sequential {
                share: of.share,
                single: of.single,
                further: Tabulated::new(&of.further),
                incomplete: of.incomplete,
                kinds: of.kinds.iter().map(kind).collect(),
                tempos: of.tempos.iter().map(tempo).collect(),
                sizes: tabulated(&of.sizes),
                spread: of.spread,
                waits: tabulated(&of.waits),
            },
            concurrent: trace.concurrent.each_ref().map(|of| Concurrent {
                share: of.share,
                further: Tabulated::new(&of.further),
                sizes: Tabulated::new(&trace.concurrent_adu),
                spread: trace.concurrent_spread,
                wait: Tabulated::new(&trace.concurrent_wait),
            }),
            rtt: Tabulated::new(&trace.rtt),
            windows: trace.windows.clone(),
            segments: trace.segments,
        }
    }

    /// Connection `id`.
    pub(super) fn vector(&self, id: u64, start: Time) -> ConnectionVector {
        let mut numbers = Stream::new(self.seed, Purpose::ReferenceConnections, id);
        // The first ten places; ADUs and waits have those behind them.
        let [of_class, of_count, of_complete, of_tempo, of_size, of_side, of_rtt, of_mss, of_initiator, of_acceptor] =
            std::array::from_fn(|_| numbers.uniform());
        let transit = self.rtt.quantile(of_rtt) / 2e3;
        let is_sequential = of_class < self.sequential.share;
        let (adus, complete) = if is_sequential {
            let count = self.sequential.count(of_count);
            let adus = self.sequential.epochs(count, of_tempo, of_size, transit, &mut numbers);
            let complete = of_complete >= self.sequential.incomplete_share(adus.iter().map(|adu| adu.bytes).sum());
            (adus, complete)
        } else {
            let complete = of_class < self.sequential.share + self.concurrent[0].share;
            (self.concurrent[usize::from(!complete)].adus(of_count, of_size, &mut numbers), complete)
        };
        let mss = if of_mss < self.segments[0].0 { self.segments[0].1 } else { self.segments[1].1 };
        let bytes: u64 = adus.iter().map(|adu| adu.bytes).sum();
        let windows = &self.windows[usize::from(bytes > LARGE)];
        let end = |law: &Distribution, u| Endpoint {
            syn_seen: true,
            mss: Some(mss),
            min_transit: Some(seconds(transit)),
            max_window: Some(law.quantile(u) as u64),
            ..Endpoint::default()
        };
        ConnectionVector {
            id,
            protocol: Protocol::Tcp,
            evidence: Evidence::Model,
            start,
            initiator_side: if of_side < self.from_left { LinkSide::Left } else { LinkSide::Right },
            pattern: if is_sequential { Pattern::Sequential } else { Pattern::Concurrent },
            complete,
            ends: PerSide {
                initiator: end(&windows.initiator, of_initiator),
                acceptor: end(&windows.acceptor, of_acceptor),
            },
            close: Close::Fin(adus.last().map_or(Side::Initiator, |adu| adu.side)),
            t_close: Some(Duration::ZERO),
            adus,
            ..ConnectionVector::default()
        }
    }
}

impl Sequential {
    fn count(&self, u: f64) -> usize {
        let rest = (u - self.single) / (1.0 - self.single);
        if rest < 0.0 { 1 } else { 1 + libm::ceil(self.further.quantile(rest)) as usize }
    }

    fn incomplete_share(&self, bytes: u64) -> f64 {
        self.incomplete.0 * libm::pow(bytes as f64, self.incomplete.1)
    }

    /// Requests and responses by turns. Each epoch has four places. A wait contains the transit from the monitor to the end that
    /// waits and back, in seconds.
    fn epochs(&self, count: usize, of_tempo: f64, size: f64, transit: f64, numbers: &mut Stream) -> Vec<Adu> {
        let kind = &self.kinds[self.kinds.partition_point(|kind| kind.from <= count) - 1];
        let tempo = &self.tempos[chosen(&kind.tempos, of_tempo)];
        let mut left = HOUR;
        let mut wait = |side: Side, u: f64| {
            let wait = self.waits[side].quantile(tempo[side].of(u)).min(left).max(transit);
            left -= wait;
            Some(seconds(wait))
        };
        let bytes =
            |side: Side, u: f64| self.sizes[side].quantile(kind.sizes[side].of(near(size, self.spread[side], u)));
        let mut adus = Vec::with_capacity(2 * count);
        for epoch in 1..=count {
            let [of_request, of_response, of_server, of_client] = std::array::from_fn(|_| numbers.uniform());
            let server = wait(Side::Acceptor, of_server);
            adus.push(adu(Side::Initiator, bytes(Side::Initiator, of_request), server, Side::Acceptor));
            let (client, waiter) = if epoch < count {
                (wait(Side::Initiator, of_client), Side::Initiator)
            } else {
                (None, Side::Acceptor)
            };
            adus.push(adu(Side::Acceptor, bytes(Side::Acceptor, of_response), client, waiter));
        }
        adus
    }
}

impl Concurrent {
    /// As many ADUs from either end, each with waits of its own. The n-th of both ends have four places together.
    fn adus(&self, of_count: f64, size: f64, numbers: &mut Stream) -> Vec<Adu> {
        let count = 1 + libm::ceil(self.further.quantile(of_count)) as usize;
        let mut adus = Vec::with_capacity(2 * count);
        // Vectors tell ADUs in the order of their starts: those of the end that is ahead wait for the other's.
        let mut at = PerSide { initiator: 0.0, acceptor: 0.0 };
        let mut started = Vec::with_capacity(2 * count);
        for place in 1..=count {
            for side in Side::BOTH {
                let (of_bytes, of_wait) = (numbers.uniform(), numbers.uniform());
                let wait = self.wait.quantile(of_wait).min(HOUR - at[side]);
                started.push((at[side], adus.len()));
                let bytes = self.sizes.quantile(near(size, self.spread, of_bytes));
                adus.push(adu(side, bytes, (place < count).then(|| seconds(wait)), side));
                at[side] += wait;
            }
        }
        started.sort_by(|a, b| a.0.total_cmp(&b.0));
        started.into_iter().map(|(_, index)| adus[index]).collect()
    }
}

/// The place of the share in which `u` lies.
fn chosen(shares: &[f64; 4], u: f64) -> usize {
    let mut sum = 0.0;
    let within = shares.iter().position(|share| {
        sum += share;
        u < sum
    });
    // Shares add up to 1 but for rounding: the first is there in every kind.
    within.unwrap_or(0)
}

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

fn adu(side: Side, bytes: f64, wait: Option<Duration>, waiter: Side) -> Adu {
    Adu { side, bytes: (bytes.round() as u64).max(1), missing_bytes: 0, wait, waiter, seen: None, packets: None }
}
