//! Exchanges of a class and the times between them, drawn independently and then put together so that they obey the grouping.
//!
//! interRRE is counted from start to start, and the next exchange begins more than 30 s after the last connection of this one, and at
//! most 300 s. An exchange and a time that are drawn independently may not fit. What does not fit waits for something it fits with:
//! no value is thrown away, so that both distributions stay what they are. An exchange that is the last of its session
//! fits with nothing to fit with.

use flowloom_core::rng::{Purpose, Stream};

use super::law::Law;
use super::model::{ClassModel, SwingModel};

/// Exchanges, and times, that wait for something that fits, at most; then the oldest of both are taken, though they do not fit.
const MOST_WAITING: usize = 64;

/// An exchange: when its connections start.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// Connections that have not started.
    left: u64,
    /// From the start of the first to the start of the last, in nanoseconds; or no more than that it is too long for any time.
    span: u64,
    /// Draws the gaps.
    gaps: Stream,
}

impl Exchange {
    /// Draws one with the numbers of `stream`: numConn, then every interConn. Nothing needs to know how much longer than `longest` it
    /// is.
    fn new(mut stream: Stream, num_conn: &Law, inter_conn: &Law, longest: u64) -> Exchange {
        let left = num_conn.draw(stream.uniform());
        let (mut ahead, mut span) = (stream.clone(), 0u64);
        for _ in 1..left {
            if span > longest {
                break;
            }
            span = span.saturating_add(inter_conn.draw(ahead.uniform()));
        }
        Exchange { left, span, gaps: stream }
    }

    /// The first connection has started: the time to the next, `None` if there is none.
    pub fn next_gap(&mut self, inter_conn: &Law) -> Option<u64> {
        self.left = self.left.saturating_sub(1);
        (self.left > 0).then(|| inter_conn.draw(self.gaps.uniform()))
    }
}

/// Draws the exchanges of a class.
#[derive(Clone, Debug)]
pub struct Deck {
    seed: u64,
    /// Which streams are those of the class.
    streams: u64,
    drawn: u64,
    times: Stream,
    waiting_exchanges: Vec<Exchange>,
    waiting_times: Vec<u64>,
}

impl Deck {
    /// The exchanges of the class whose streams begin at `streams`; `times` draws interRRE.
    pub fn new(seed: u64, streams: u64, times: Stream) -> Deck {
        Deck { seed, streams, drawn: 0, times, waiting_exchanges: Vec::new(), waiting_times: Vec::new() }
    }

    fn exchange(&mut self, model: &SwingModel, class: usize) -> Exchange {
        let stream = Stream::new(self.seed, Purpose::SwingExchanges, self.streams | self.drawn);
        self.drawn += 1;
        let ClassModel { rre, users, .. } = &model.classes[class];
        Exchange::new(stream, &rre.num_conn, &rre.inter_conn_ns, users.inter_rre_ns.max().unwrap_or(0))
    }

    /// An exchange that is the last of its session: the longest that waits, because that is the hardest to find a time for.
    pub fn last(&mut self, model: &SwingModel, class: usize) -> Exchange {
        let longest = (0..self.waiting_exchanges.len()).max_by_key(|at| self.waiting_exchanges[*at].span);
        match longest {
            Some(at) => self.waiting_exchanges.remove(at),
            None => self.exchange(model, class),
        }
    }

    /// An exchange and interRRE: how long after its start the next begins, in nanoseconds. If they do not fit, the next begins at the
    /// nearest time that does.
    pub fn followed(&mut self, model: &SwingModel, class: usize) -> (Exchange, u64) {
        let law = &model.classes[class].users.inter_rre_ns;
        let fits = |exchange: &Exchange, time: u64| {
            let idle = time.saturating_sub(exchange.span);
            idle > model.rre_gap_ns && idle <= model.session_gap_ns
        };
        let mut found = self.pair(fits);
        while found.is_none() {
            let more = [self.waiting_exchanges.len(), self.waiting_times.len()].map(|waiting| waiting < MOST_WAITING);
            if more[0] {
                let exchange = self.exchange(model, class);
                self.waiting_exchanges.push(exchange);
            }
            if more[1] && !law.is_empty() {
                self.waiting_times.push(law.draw(self.times.uniform()));
            }
            if more == [false; 2] || law.is_empty() {
                break;
            }
            found = self.pair(fits);
        }
        if let Some((exchange, time)) = found {
            return (self.waiting_exchanges.remove(exchange), self.waiting_times.remove(time));
        }
        let time = if self.waiting_times.is_empty() { 0 } else { self.waiting_times.remove(0) };
        (self.waiting_exchanges.remove(0), time)
    }

    /// The oldest exchange that fits with a time, with the oldest such.
    fn pair(&self, fits: impl Fn(&Exchange, u64) -> bool) -> Option<(usize, usize)> {
        self.waiting_exchanges
            .iter()
            .enumerate()
            .find_map(|(at, exchange)| Some((at, self.waiting_times.iter().position(|time| fits(exchange, *time))?)))
    }
}

/// The times after which a client comes back, in the order in which they are drawn; those that are too soon wait.
#[derive(Clone, Debug)]
pub struct Returns {
    times: Stream,
    waiting: Vec<u64>,
}

impl Returns {
    /// Those that `times` draws.
    pub fn new(times: Stream) -> Returns {
        Returns { times, waiting: Vec::new() }
    }

    /// From the start of a session to that of the next; above `least`.
    pub fn next(&mut self, law: &Law, least: u64) -> u64 {
        let mut found = self.waiting.iter().position(|time| *time > least);
        while found.is_none() && self.waiting.len() < MOST_WAITING && !law.is_empty() {
            let time = law.draw(self.times.uniform());
            self.waiting.push(time);
            found = (time > least).then(|| self.waiting.len() - 1);
        }
        match found {
            Some(at) => self.waiting.remove(at),
            None if self.waiting.is_empty() => least.saturating_add(1),
            None => self.waiting.remove(0).max(least.saturating_add(1)),
        }
    }
}
