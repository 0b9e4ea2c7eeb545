//! A pair of clouds: its connections, one after the other.

use flowloom_core::distribution::Distribution;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Close, ConnectionVector, Endpoint, Evidence, LinkSide, PerSide, Side};

use super::Http;
use super::draws::{adu, server_delay, stream, whole};
use super::marginals::{OfRate, Place, Tables, gaps, runs, server_speed};
use super::persistent::Persistent;
use crate::fsd::{Fsd, FsdModel};

/// Port of the servers.
const HTTP_PORT: u16 = 80;

/// Shares of white noise: of gaps, request sizes, and round-trip times on the clients' and on the servers' side (methods F.2).
pub(super) const THETAS: [OfRate; 4] =
    [OfRate::new(0.333, 0.414), OfRate::new(0.123, 0.494), OfRate::new(-0.445, 0.554), OfRate::new(-0.053, 0.396)];

/// Clients and their servers.
pub(super) struct Cloud {
    clients: LinkSide,
    tables: Tables,
    gaps: Distribution,
    /// Seconds from the beginning to the next start.
    next_start: f64,
    arrivals: Fsd,
    request_sizes: Fsd,
    client_rtts: Fsd,
    server_rtts: Fsd,
    responses: Responses,
    server_speed: Distribution,
    server_delays: Stream,
    /// What makes connections persistent, of HTTP/1.1.
    persistent: Option<Persistent>,
}

impl Cloud {
    pub(super) fn new(seed: u64, clients: LinkSide, index: u32, rate: f64, http: Http) -> Cloud {
        let stream = |purpose| stream(seed, purpose, clients, index, 0);
        let fsd = |purpose, d, theta, past| Fsd::new(FsdModel { d, theta, past }, stream(purpose));
        let [of_arrivals, of_requests, of_clients, of_servers] = THETAS.map(|theta| theta.at(rate));
        Cloud {
            clients,
            tables: Tables::new(),
            gaps: gaps(rate),
            next_start: 0.0,
            arrivals: fsd(Purpose::PackMimeArrivals, 0.33, of_arrivals, 1_000),
            request_sizes: fsd(Purpose::PackMimeRequests, 0.31, of_requests, 5_000),
            client_rtts: fsd(Purpose::PackMimeClientRtts, 0.31, of_clients, 1_000),
            server_rtts: fsd(Purpose::PackMimeServerRtts, 0.32, of_servers, 1_000),
            responses: Responses {
                runs: runs(rate),
                lengths: stream(Purpose::PackMimeRuns),
                sizes: stream(Purpose::PackMimeResponses),
                is_download: false,
                left: 0,
            },
            server_speed: server_speed(),
            server_delays: stream(Purpose::PackMimeServerDelays),
            persistent: (http == Http::V1_1).then(|| Persistent::new(seed, clients, index)),
        }
    }

    /// When the next connection starts.
    pub(super) fn next_start(&self) -> Time {
        Time::ZERO + Duration::from_secs_f64(self.next_start)
    }

    /// The next connection, without its number.
    pub(super) fn connection(&mut self) -> ConnectionVector {
        let start = self.next_start();
        self.next_start += self.arrivals.sample(&self.gaps);
        let tables = &self.tables;
        let request = whole(tables.request(Place::of(self.request_sizes.normal())));
        let response = self.responses.next(tables);
        let delay = server_delay(&self.server_speed, &mut self.server_delays);
        let rtts = PerSide {
            initiator: tables.client_rtt(Place::of(self.client_rtts.normal())),
            acceptor: tables.server_rtt(Place::of(self.server_rtts.normal())),
        };
        let transits = rtts.map(|millis| Duration::from_secs_f64(millis / 1e3));
        let mut adus = vec![
            adu(Side::Initiator, request, Some(delay), Side::Acceptor),
            adu(Side::Acceptor, response, None, Side::Acceptor),
        ];
        if let Some(persistent) = &mut self.persistent {
            persistent.extend(&mut adus, &self.server_speed);
        }
        // Vectors state waits as a monitor at the link sees them: with the way to who waits and back.
        for adu in &mut adus {
            adu.wait = adu.wait.map(|wait| wait + transits[adu.waiter]);
        }
        let end = |transit| Endpoint { syn_seen: true, min_transit: Some(transit), ..Endpoint::default() };
        let mut ends = transits.map(end);
        ends.acceptor.port = Some(HTTP_PORT);
        ConnectionVector {
            evidence: Evidence::Model,
            start,
            initiator_side: self.clients,
            complete: true,
            ends,
            close: Close::Fin(Side::Acceptor),
            t_close: Some(Duration::ZERO),
            adus,
            ..ConnectionVector::default()
        }
    }
}

/// Sizes of responses: runs of answers to cache validations and runs of files by turns (methods F.3).
struct Responses {
    /// Lengths of either, before they are rounded up.
    runs: [Distribution; 2],
    lengths: Stream,
    sizes: Stream,
    is_download: bool,
    left: u64,
}

impl Responses {
    fn next(&mut self, tables: &Tables) -> u64 {
        // The first run is one of files.
        while self.left == 0 {
            self.is_download = !self.is_download;
            self.left = self.runs[usize::from(self.is_download)].sample(&mut self.lengths).ceil() as u64;
        }
        self.left -= 1;
        let place = Place::at(self.sizes.uniform());
        whole(if self.is_download { tables.download(place) } else { tables.validation(place) })
    }
}
