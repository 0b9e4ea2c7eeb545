//! How one connection is drawn from the laws of a trace.

use flowloom_core::distribution::Distribution;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{
    Adu, Close, ConnectionVector, Endpoint, Evidence, LinkSide, Pattern, PerSide, Protocol, Side,
};

use super::tabulated::Tabulated;
use super::trace::{HOUR, Trace};

/// Draws connections, each from a stream of its own in which every variable has its places: another law for one of them moves no
/// other.
pub(super) struct Connections {
    seed: u64,
    from_left: f64,
    classes: Box<[Class]>,
    tempos: Box<[Tempo]>,
    request: Tabulated,
    response: Tabulated,
    concurrent_adu: Tabulated,
    brief_server: Tabulated,
    brief_client: Tabulated,
    concurrent_wait: Tabulated,
    rtt: Tabulated,
    window: Distribution,
    segments: [(f64, u16); 2],
}

struct Class {
    share: f64,
    pattern: Pattern,
    complete: bool,
    single: f64,
    further: Tabulated,
}

struct Tempo {
    share: f64,
    /// Shares of the servers' and the clients' waits that are long.
    long: PerSide<f64>,
    lengths: PerSide<Tabulated>,
}

impl Connections {
    pub(super) fn new(trace: &Trace, seed: u64) -> Connections {
        let class = |class: &super::Class| Class {
            share: class.share,
            pattern: class.pattern,
            complete: class.complete,
            single: class.single,
            further: Tabulated::new(&class.further),
        };
        let tempo = |tempo: &super::Tempo| Tempo {
            share: tempo.share,
            long: tempo.long,
            lengths: PerSide {
                initiator: Tabulated::new(&tempo.lengths.initiator),
                acceptor: Tabulated::new(&tempo.lengths.acceptor),
            },
        };
        Connections {
            seed,
            from_left: trace.from_left,
            classes: trace.classes.iter().map(class).collect(),
            tempos: trace.tempos.iter().map(tempo).collect(),
            request: Tabulated::new(&trace.request),
            response: Tabulated::new(&trace.response),
            concurrent_adu: Tabulated::new(&trace.concurrent_adu),
            brief_server: Tabulated::new(&trace.brief_waits.acceptor),
            brief_client: Tabulated::new(&trace.brief_waits.initiator),
            concurrent_wait: Tabulated::new(&trace.concurrent_wait),
            rtt: Tabulated::new(&trace.rtt),
            window: trace.window.clone(),
            segments: trace.segments,
        }
    }

    /// Connection `id`.
    pub(super) fn vector(&self, id: u64, start: Time) -> ConnectionVector {
        let mut numbers = Stream::new(self.seed, Purpose::ReferenceConnections, id);
        // The first eight places; ADUs and waits have those behind them.
        let [of_class, of_count, of_tempo, of_side, of_rtt, of_mss, of_initiator, of_acceptor] =
            std::array::from_fn(|_| numbers.uniform());
        let class = chosen(&self.classes, of_class, |class| class.share);
        let rest = (of_count - class.single) / (1.0 - class.single);
        let count = if rest < 0.0 { 1 } else { 1 + libm::ceil(class.further.quantile(rest)) as usize };
        let mss = chosen(&self.segments, of_mss, |segment| segment.0).1;
        let end = |u| Endpoint {
            syn_seen: true,
            mss: Some(mss),
            max_window: Some(self.window.quantile(u) as u64),
            ..Endpoint::default()
        };
        let adus = match class.pattern {
            Pattern::Sequential => {
                self.epochs(count, chosen(&self.tempos, of_tempo, |tempo| tempo.share), &mut numbers)
            }
            Pattern::Concurrent => self.concurrent(count, &mut numbers),
        };
        ConnectionVector {
            id,
            protocol: Protocol::Tcp,
            evidence: Evidence::Model,
            start,
            initiator_side: if of_side < self.from_left { LinkSide::Left } else { LinkSide::Right },
            pattern: class.pattern,
            complete: class.complete,
            stated_rtt: Some(seconds(self.rtt.quantile(of_rtt) / 1e3)),
            ends: PerSide { initiator: end(of_initiator), acceptor: end(of_acceptor) },
            close: Close::Fin(adus.last().map_or(Side::Initiator, |adu| adu.side)),
            t_close: Some(Duration::ZERO),
            adus,
            ..ConnectionVector::default()
        }
    }

    /// Requests and responses by turns. Each epoch has four places.
    fn epochs(&self, count: usize, tempo: &Tempo, numbers: &mut Stream) -> Vec<Adu> {
        let longest = HOUR / (2 * count - 1) as f64;
        let wait = |side: Side, brief: &Tabulated, u: f64| {
            let rest = (u - 1.0 + tempo.long[side]) / tempo.long[side];
            let drawn = if rest < 0.0 {
                brief.quantile(u / (1.0 - tempo.long[side]))
            } else {
                tempo.lengths[side].quantile(rest)
            };
            Some(seconds(drawn.min(longest)))
        };
        let mut adus = Vec::with_capacity(2 * count);
        for epoch in 1..=count {
            let [of_request, of_response, of_server, of_client] = std::array::from_fn(|_| numbers.uniform());
            let server = wait(Side::Acceptor, &self.brief_server, of_server);
            adus.push(adu(Side::Initiator, self.request.quantile(of_request), server, Side::Acceptor));
            let (client, waiter) = if epoch < count {
                (wait(Side::Initiator, &self.brief_client, of_client), Side::Initiator)
            } else {
                (None, Side::Acceptor)
            };
            adus.push(adu(Side::Acceptor, self.response.quantile(of_response), client, waiter));
        }
        adus
    }

    /// As many ADUs from either end, each with waits of its own. The n-th of both ends have four places together.
    fn concurrent(&self, count: usize, numbers: &mut Stream) -> Vec<Adu> {
        let longest = HOUR / count.saturating_sub(1).max(1) as f64;
        let mut adus = Vec::with_capacity(2 * count);
        // Vectors tell ADUs in the order of their starts: those of the end that is ahead wait for the other's.
        let mut at = PerSide { initiator: 0.0, acceptor: 0.0 };
        let mut started = Vec::with_capacity(2 * count);
        for place in 1..=count {
            for side in Side::BOTH {
                let (of_bytes, of_wait) = (numbers.uniform(), numbers.uniform());
                let wait = self.concurrent_wait.quantile(of_wait).min(longest);
                started.push((at[side], adus.len()));
                adus.push(adu(
                    side,
                    self.concurrent_adu.quantile(of_bytes),
                    (place < count).then(|| seconds(wait)),
                    side,
                ));
                at[side] += wait;
            }
        }
        started.sort_by(|a, b| a.0.total_cmp(&b.0));
        started.into_iter().map(|(_, index)| adus[index]).collect()
    }
}

/// The one of `parts` in whose share `u` lies.
fn chosen<T>(parts: &[T], u: f64, share: impl Fn(&T) -> f64) -> &T {
    let mut sum = 0.0;
    let within = parts.iter().find(|part| {
        sum += share(part);
        u < sum
    });
    // Shares add up to 1 but for rounding.
    within.unwrap_or(&parts[parts.len() - 1])
}

fn seconds(value: f64) -> Duration {
    Duration::from_secs_f64(value)
}

fn adu(side: Side, bytes: f64, wait: Option<Duration>, waiter: Side) -> Adu {
    Adu { side, bytes: (bytes.round() as u64).max(1), missing_bytes: 0, wait, waiter, seen: None, packets: None }
}
