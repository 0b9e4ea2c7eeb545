//! Persistent connections: what HTTP/1.1 adds to a connection's first request and response. The numbers are those of ns-2;
//! there the location and the scale of both gaps are drawn once for all connections, here for each, as the model has it.

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::Duration;
use flowloom_core::workload::{Adu, LinkSide, Side};

use super::draws::{adu, server_delay, stream, whole};
use super::marginals::weibull;
use crate::fsd::standard_normal;

/// Share of the connections that are persistent.
const PERSISTENT: f64 = 0.09;
/// Share of those with one page.
const ONE_PAGE: f64 = 0.82;
/// Share of the pages with one object, where there are several pages: one page has several objects.
const ONE_OBJECT: f64 = 0.69;
/// A first response of up to so many bytes answers a cache validation, and those after it do, with the same size.
const VALIDATION_BYTES: u64 = 275;

/// A quantity whose binary logarithm is normal with a mean and a scale of each connection's own.
#[derive(Clone, Copy)]
struct Effect {
    /// Mean and variance of the mean.
    location: (f64, f64),
    /// Shape of the gamma law, with mean 1, of the scale squared.
    shape: f64,
    /// Variance at scale 1.
    variance: f64,
}

/// Seconds between a page and the next.
const PAGE_GAPS: Effect = Effect { location: (3.22, 0.73), shape: 1.85, variance: 1.21 };
/// Seconds between an object and the next of its page.
const OBJECT_GAPS: Effect = Effect { location: (-4.15, 3.12), shape: 2.35, variance: 1.57 };
/// Bytes of files after the first response.
const SIZES: Effect = Effect { location: (10.62, 0.94), shape: 3.22, variance: 2.43 };

/// An [`Effect`] on one connection.
struct Effected {
    mean: f64,
    sd: f64,
    stream: Stream,
}

impl Effect {
    fn on(self, mut stream: Stream) -> Effected {
        let scales = Distribution::new(Law::Gamma { shape: self.shape, scale: 1.0 / self.shape })
            .unwrap_or_else(|error| unreachable!("parameters in range: {error}"));
        let (mean, variance) = self.location;
        let mean = mean + libm::sqrt(variance) * standard_normal(&mut stream);
        let sd = libm::sqrt(scales.sample(&mut stream) * self.variance);
        Effected { mean, sd, stream }
    }
}

impl Effected {
    fn sample(&mut self) -> f64 {
        libm::exp2(self.mean + self.sd * standard_normal(&mut self.stream))
    }
}

/// Which connections of a pair of clouds are persistent, and what they carry.
pub(super) struct Persistent {
    seed: u64,
    clients: LinkSide,
    index: u32,
    /// Connections so far.
    connections: u64,
    /// Who is persistent.
    chosen: Stream,
}

impl Persistent {
    pub(super) fn new(seed: u64, clients: LinkSide, index: u32) -> Persistent {
        let chosen = stream(seed, Purpose::PackMimePages, clients, index, 0);
        Persistent { seed, clients, index, connections: 0, chosen }
    }

    /// Adds to the request and the response in `adus`, the next connection's, those that follow if it is persistent.
    pub(super) fn extend(&mut self, adus: &mut Vec<Adu>, server_speed: &Distribution) {
        self.connections += 1;
        if self.chosen.uniform() >= PERSISTENT {
            return;
        }
        // Counted from 1: 0 is the stream of all connections.
        let own = |purpose| stream(self.seed, purpose, self.clients, self.index, self.connections);
        let (mut page_gaps, mut object_gaps) =
            (PAGE_GAPS.on(own(Purpose::PackMimePageGaps)), OBJECT_GAPS.on(own(Purpose::PackMimeObjectGaps)));
        let mut sizes = SIZES.on(own(Purpose::PackMimeResponses));
        let mut delays = own(Purpose::PackMimeServerDelays);
        let [request, first] = [adus[0], adus[1]];
        for (page, objects) in pages(own(Purpose::PackMimePages)).into_iter().enumerate() {
            for object in 0..objects {
                let gap = match (page, object) {
                    (0, 0) => continue,
                    (_, 0) => page_gaps.sample(),
                    _ => object_gaps.sample(),
                };
                let bytes = if first.bytes > VALIDATION_BYTES { whole(sizes.sample()) } else { first.bytes };
                if let Some(last) = adus.last_mut() {
                    (last.wait, last.waiter) = (Some(Duration::from_secs_f64(gap)), Side::Initiator);
                }
                let delay = server_delay(server_speed, &mut delays);
                // All requests of a connection are of the first one's size.
                adus.push(Adu { wait: Some(delay), ..request });
                adus.push(adu(Side::Acceptor, bytes, None, Side::Acceptor));
            }
        }
    }
}

/// How many objects each page of a connection has.
fn pages(mut stream: Stream) -> Vec<u64> {
    let several = |scale: f64, stream: &mut Stream| (1.0 + weibull(1.0, scale).sample(stream)).ceil().max(2.0) as u64;
    let count = if stream.uniform() < ONE_PAGE { 1 } else { several(0.417, &mut stream) };
    let objects = |_| {
        if count > 1 && stream.uniform() < ONE_OBJECT { 1 } else { several(1.578, &mut stream) }
    };
    (0..count).map(objects).collect()
}
