//! The laws of both traces.
//!
//! Constants were fitted to the published numbers named beside them (Aikat 2010 where nothing else is said; methods A.2, A.5, B.3,
//! C.4, C.9). "Chosen" is what nothing is published of. Where published numbers contradict each other a constant lies between them:
//! `docs/evidence/references.md` says which do.

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::workload::{Pattern, PerSide};

/// Length of the traces in seconds: no connection waits longer than that in all.
pub(super) const HOUR: f64 = 3_600.0;

/// Seconds from which on a wait is long (methods A.5.9), and just below.
pub(super) const LONG: f64 = 0.5;
const BRIEF: f64 = 0.499_999;

/// Largest ADU in bytes. Chosen: tail indices near and below 1 have no mean without a largest value.
const MOST_BYTES: f64 = 250e6;

/// What the connections of a trace are drawn from.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Connections that start in a second, without those that Aikat left out (no data, or packets of one direction only).
    pub connections_per_second: f64,
    /// Share of the connections whose initiator is on the left of the link.
    pub from_left: f64,
    /// What connections are, with shares that add up to 1.
    pub classes: [Class; 4],
    /// How sequential connections wait, with shares that add up to 1.
    pub tempos: [Tempo; 3],
    /// Bytes of a request.
    pub request: Distribution,
    /// Bytes of a response.
    pub response: Distribution,
    /// Bytes of an ADU of a concurrent connection.
    pub concurrent_adu: Distribution,
    /// Waits below 500 ms in seconds: of the initiator after a response, of the acceptor after a request.
    pub brief_waits: PerSide<Distribution>,
    /// Waits of concurrent connections in seconds.
    pub concurrent_wait: Distribution,
    /// Smallest round-trip time in milliseconds.
    pub rtt: Distribution,
    /// Largest window in bytes, of each end.
    pub window: Distribution,
    /// Largest segments in bytes, of both ends, behind their shares, which add up to 1.
    pub segments: [(f64, u16); 2],
}

/// Connections that were alike in the traces.
#[derive(Clone, Debug)]
pub struct Class {
    /// Their share of all.
    pub share: f64,
    /// Whether the ends took turns.
    pub pattern: Pattern,
    /// Whether the trace had their beginning and their end.
    pub complete: bool,
    /// Share of those with a single epoch (sequential), or a single ADU of each end (concurrent).
    pub single: f64,
    /// Epochs, or ADUs of each end, beyond the first, of the others, before they are rounded up.
    pub further: Distribution,
}

/// How a sequential connection waits: that of one are alike.
#[derive(Clone, Debug)]
pub struct Tempo {
    /// Share of the sequential connections.
    pub share: f64,
    /// Shares of the waits that are long, 500 ms and more: of the initiator after a response, of the acceptor after a request.
    pub long: PerSide<f64>,
    /// How long those are, in seconds.
    pub lengths: PerSide<Distribution>,
}

impl Trace {
    /// UNC's link to the Internet, 10 January 2008, 14 to 15 h.
    pub fn campus_2008() -> Trace {
        let replayed = 1.0 - LEFT_OUT_CAMPUS;
        let sequential = 4_568_847.0 / 4_683_892.0;
        // Of all connections in the trace 70 % are complete and sequential, 0.37 % incomplete and concurrent.
        let (complete, incomplete) = (0.70 / replayed, 0.003_7 / replayed);
        let further = |shape| bounded(0.5, 690.0, shape);
        Trace {
            connections_per_second: 4_683_892.0 / HOUR,
            // 471 Mbit/s from the right, 202 from the left; which was which is chosen.
            from_left: 0.83,
            // Epochs: mean 4, deviation 22, 60 % have one; by bytes (52 % complete and sequential, 70 % sequential).
            // ADUs of concurrent connections: by bytes (21 % incomplete, 28 % in all).
            classes: [
                sequential_class(complete, true, 0.609_3, further(0.910_0)),
                sequential_class(sequential - complete, false, 0.3, further(0.246_5)),
                concurrent_class(1.0 - sequential - incomplete, true, bounded(1.0, 2_000.0, 0.751_8)),
                concurrent_class(incomplete, false, bounded(5.0, 4_000.0, 0.365_0)),
            ],
            // 16 % of the waits for a response and 44 % of those for the next request are long; response times have a mean of 2.6 s and
            // 10 % above 0.8 s, connections last 33 s in the mean, 20 % of them above 2 s and 10 % above 8 s, 45,000 are open.
            tempos: [
                tempo(0.551, (0.02, 0.01), (LONG, 30.0, 1.5), (LONG, 30.0, 1.5)),
                tempo(0.375, (0.952, 0.335), (LONG, 30.0, 1.5), (LONG, 30.0, 1.5)),
                tempo(0.074, (0.97, 0.39), (60.0, HOUR, 0.35), (12.0, HOUR, 0.5)),
            ],
            // Chosen, but for the mean: what responses leave of the bytes.
            request: sizes(&[(1.0, 40.0), (0.9, 150.0), (0.5, 350.0), (0.1, 900.0)], 1.717_3),
            // Median 420, 20 % above 4 kB, 10 % above 13 kB, mean 11 kB.
            response: sizes(&[(1.0, 20.0), (0.5, 420.0), (0.2, 4_000.0), (0.1, 13_000.0)], 1.084_8),
            // Median 208, 20 % above 1,400, 10 % above 6.8 kB, mean 5.9 kB.
            concurrent_adu: sizes(&[(1.0, 8.0), (0.5, 208.0), (0.2, 1_400.0), (0.1, 6_800.0)], 1.070_8),
            brief_waits: brief_waits(),
            concurrent_wait: concurrent_wait(),
            // Thirtieths of what is left without 1 % at each end have the means of the DA model; 3 % above 429, mean 80,
            // deviation 210.
            rtt: round_trips(
                &[
                    1.0, 6.9, 7.8, 8.8, 10.0, 11.3, 12.7, 14.0, 15.2, 16.7, 18.4, 20.3, 22.5, 25.1, 28.2, 31.9, 36.0,
                    40.2, 45.1, 49.6, 54.4, 66.9, 79.8, 81.4, 83.5, 89.7, 93.0, 104.3, 142.5, 200.3, 316.2, 470.6,
                ],
                429.0,
                (6_845.0, 0.821_9),
            ),
            window: windows(),
            segments: SEGMENTS,
        }
    }

    /// IBM's link, 10 October 2006, from 14:20 for an hour.
    pub fn enterprise_2006() -> Trace {
        let replayed = 1.0 - LEFT_OUT_ENTERPRISE;
        let sequential = 2_733_996.0 / 2_785_054.0;
        let (complete, incomplete) = (0.80 / replayed, 0.006_3 / replayed);
        let further = |shape| bounded(0.5, 8_800.0, shape);
        Trace {
            connections_per_second: 2_785_054.0 / HOUR,
            // 404 Mbit/s from the right, 366 from the left; which was which is chosen.
            from_left: 0.55,
            // Epochs: mean 9, deviation 123, 40 % have one; by bytes (56 % complete and sequential, 85 % sequential).
            // ADUs of concurrent connections: by bytes (12 % incomplete, 15 % in all).
            classes: [
                sequential_class(complete, true, 0.414_5, further(0.867_0)),
                sequential_class(sequential - complete, false, 0.2, further(0.531_5)),
                concurrent_class(1.0 - sequential - incomplete, true, bounded(1.0, 2_000.0, 0.840_3)),
                concurrent_class(incomplete, false, bounded(3.0, 4_000.0, 0.570_0)),
            ],
            // 16 % of the waits for a response and 20 % of those for the next request are long; response times have a mean of 4.4 s,
            // connections last 87 s in the mean, 20 % of them above 3 s and 10 % above 13.5 s, 72,200 are open.
            tempos: [
                tempo(0.64, (0.01, 0.01), (LONG, 60.0, 1.35), (LONG, 60.0, 1.35)),
                tempo(0.296, (0.638, 0.526), (LONG, 60.0, 1.35), (LONG, 60.0, 1.35)),
                tempo(0.064, (0.97, 0.58), (600.0, HOUR, 0.3), (120.0, HOUR, 0.5)),
            ],
            // Chosen, but for the mean: what responses leave of the bytes.
            request: sizes(&[(1.0, 30.0), (0.5, 200.0), (0.1, 1_200.0)], 0.931_0),
            // Median 128, 20 % above 680, 10 % above 3.3 kB, mean 9 kB.
            response: sizes(&[(1.0, 10.0), (0.5, 128.0), (0.2, 680.0), (0.1, 3_300.0)], 0.839_7),
            // Median 91, 20 % above 610, 10 % above 3.4 kB, mean 11.5 kB.
            concurrent_adu: sizes(&[(1.0, 4.0), (0.5, 91.0), (0.2, 610.0), (0.1, 3_400.0)], 0.802_2),
            brief_waits: brief_waits(),
            concurrent_wait: concurrent_wait(),
            // Thirtieths as above; 3 % above 275, mean 92, deviation 144.
            rtt: round_trips(
                &[
                    2.0, 20.4, 24.9, 29.9, 34.5, 38.7, 42.3, 44.8, 46.0, 47.3, 50.0, 52.8, 55.0, 57.2, 60.1, 63.8,
                    68.0, 72.1, 76.1, 80.1, 84.4, 88.9, 93.8, 99.1, 104.6, 110.2, 117.1, 128.1, 144.0, 162.7, 214.6,
                    425.6,
                ],
                275.0,
                (7_977.0, 1.465_9),
            ),
            window: windows(),
            segments: SEGMENTS,
        }
    }
}

/// Shares of a trace's connections that Aikat left out: without data 10 % and 7 %, with packets of one direction 16 % and 5.6 %.
const LEFT_OUT_CAMPUS: f64 = 0.10 + 0.16;
const LEFT_OUT_ENTERPRISE: f64 = 0.07 + 0.056;

fn law(law: Law) -> Distribution {
    Distribution::new(law).unwrap_or_else(|error| unreachable!("constants are possible: {error}"))
}

fn bounded(min: f64, max: f64, shape: f64) -> Distribution {
    law(Law::BoundedPareto { min, max, shape })
}

fn sequential_class(share: f64, complete: bool, single: f64, further: Distribution) -> Class {
    Class { share, pattern: Pattern::Sequential, complete, single, further }
}

fn concurrent_class(share: f64, complete: bool, further: Distribution) -> Class {
    Class { share, pattern: Pattern::Concurrent, complete, single: 0.0, further }
}

/// The client's share and length, then the server's: bounded Pareto laws from, to, of shape.
fn tempo(share: f64, long: (f64, f64), client: (f64, f64, f64), server: (f64, f64, f64)) -> Tempo {
    let of = |(min, max, shape)| bounded(min, max, shape);
    Tempo {
        share,
        long: PerSide { initiator: long.0, acceptor: long.1 },
        lengths: PerSide { initiator: of(client), acceptor: of(server) },
    }
}

/// Sizes by the share above them, linear between logarithms, with a Pareto tail of index `shape` up to the largest.
fn sizes(points: &[(f64, f64)], shape: f64) -> Distribution {
    let logs = |&(share, bytes): &(f64, f64)| (libm::log2(share), libm::log2(bytes));
    let mut knots: Vec<(f64, f64)> = points.iter().rev().map(logs).collect();
    // One more point of the tail gives it its slope.
    let (share, bytes) = knots[0];
    knots.insert(0, (share - shape, bytes + 1.0));
    law(Law::Truncated { of: Box::new(Law::LogLog(knots)), min: 0.0, max: MOST_BYTES })
}

/// Round-trip times in ms: the smallest, the 31 edges of thirty parts of equal probability between 1 % and 99 %, the 97 % point within
/// the last of them; then a bounded Pareto law up to `tail.0`, of shape `tail.1`.
fn round_trips(edges: &[f64; 32], above_3_percent: f64, tail: (f64, f64)) -> Distribution {
    let (smallest, parts) = (edges[0], &edges[1..]);
    let share = |edge: usize| (0.01 + 0.98 * edge as f64 / 30.0) / 0.99;
    let mut knots = vec![(smallest, 0.0)];
    knots.extend(parts.iter().enumerate().map(|(edge, rtt)| (*rtt, share(edge))));
    knots.insert(knots.len() - 1, (above_3_percent, 0.97 / 0.99));
    let last = parts[parts.len() - 1];
    law(Law::Mixture(vec![
        (0.99, Law::Linear(knots)),
        (0.01, Law::BoundedPareto { min: last, max: tail.0, shape: tail.1 }),
    ]))
}

/// Chosen, but for the limit of 500 ms.
fn brief_waits() -> PerSide<Distribution> {
    let below =
        |median, mean| law(Law::Truncated { of: Box::new(Law::Lognormal { median, mean }), min: 0.0, max: BRIEF });
    PerSide { initiator: below(0.05, 0.15), acceptor: below(0.01, 0.03) }
}

/// 99 % are long. How long is chosen, within what connections last.
fn concurrent_wait() -> Distribution {
    law(Law::Mixture(vec![
        (0.01, Law::Uniform { min: 0.05, max: BRIEF }),
        (0.99, Law::BoundedPareto { min: LONG, max: 120.0, shape: 1.1 }),
    ]))
}

/// Windows without scaling cluster at 4, 8, 16, 32, 48 and 64 KB, of which the last is 65,535 bytes. The shares are chosen.
fn windows() -> Distribution {
    let of = [(4_096.0, 0.02), (8_192.0, 0.04), (16_384.0, 0.08), (32_768.0, 0.06), (49_152.0, 0.04), (65_535.0, 0.76)];
    law(Law::Empirical(of.to_vec()))
}

/// As in Tmix vectors of the TCP evaluation suite: 10 % of the connections have packets of 576 bytes, 90 % of 1,500.
const SEGMENTS: [(f64, u16); 2] = [(0.1, 536), (0.9, 1_460)];
