//! The laws of both traces.
//!
//! Constants were fitted together to the published numbers of methods A.14, in the order of precedence there: quantiles, numbers of
//! exchanges, loads, the concurrent share, means. Where these cannot all hold, `docs/evidence/references.md` has the arithmetic.
//! "Chosen" is what nothing is published of.
//!
//! Waits and sizes have the published laws over all connections. Of which parts of these laws connections of so many epochs have how
//! much (`Kind`), and how alike the waits of one connection are (the four tempos), was fitted to the published sizes and
//! durations of connections; the shares of the parts add up to the laws ([`Trace::imbalance`]).

use flowloom_core::distribution::{Distribution, Law};
use flowloom_core::workload::PerSide;

/// Length of the traces in seconds: no connection waits longer than that in all, but for the transit that its waits contain.
pub(super) const HOUR: f64 = 3_600.0;

/// Bytes from which on a connection has the windows of large ones.
pub(super) const LARGE: u64 = 1_000_000;

/// Largest ADU in bytes. Chosen: tail indices near and below 1 have no mean without a largest value.
const MOST_BYTES: f64 = 250e6;

/// What the connections of a trace are drawn from.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Connections that start in a second in the mean of the hour, without those that Aikat left out (no data, or packets of one
    /// direction only).
    pub connections_per_second: f64,
    /// How that changes within the hour.
    pub fall: Option<Fall>,
    /// Share of the connections whose initiator is on the left of the link.
    pub from_left: f64,
    /// Connections whose ends take turns.
    pub sequential: Sequential,
    /// The others: complete, incomplete.
    pub concurrent: [Concurrent; 2],
    /// Bytes of an ADU of a concurrent connection.
    pub concurrent_adu: Distribution,
    /// How far the ranks of ADUs of one concurrent connection are apart at most.
    pub concurrent_spread: f64,
    /// Waits of concurrent connections in seconds.
    pub concurrent_wait: Distribution,
    /// Smallest round-trip time in milliseconds.
    pub rtt: Distribution,
    /// Largest window in bytes, of each end: of most connections, of those above a megabyte.
    pub windows: [PerSide<Distribution>; 2],
    /// Largest segments in bytes, of both ends, behind their shares, which add up to 1.
    pub segments: [(f64, u16); 2],
}

/// A load that falls within the hour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fall {
    /// When, in seconds of the hour.
    pub at: f64,
    /// Connections that start before it, in parts of the mean of the hour.
    pub before: f64,
    /// Those that start after it.
    pub after: f64,
}

/// Connections whose ends take turns.
#[derive(Clone, Debug)]
pub struct Sequential {
    /// Their share of all.
    pub share: f64,
    /// Share of those with a single epoch.
    pub single: f64,
    /// Epochs beyond the first, of the others, before they are rounded up.
    pub further: Distribution,
    /// Share of connections of so many bytes of which the trace lacks the beginning or the end: the first times the bytes to the
    /// power of the second, at most 1.
    pub incomplete: (f64, f64),
    /// By their numbers of epochs, which ascend.
    pub kinds: [Kind; 6],
    /// Shares of the four parts of the waits that connections of each tempo have: brief ones only, below 500 ms; slow; idle; parked.
    pub tempos: [PerSide<[f64; 4]>; 4],
    /// Bytes of requests and of responses.
    pub sizes: PerSide<Cut>,
    /// How far the ranks of one connection's requests and responses are apart at most.
    pub spread: PerSide<f64>,
    /// Waits in seconds as a monitor in the middle sees them, with the transit from there and back: of the initiator after a
    /// response, of the acceptor after a request.
    pub waits: PerSide<Cut>,
}

/// A law, and its parts from the smallest values on.
#[derive(Clone, Debug)]
pub struct Cut {
    /// Of all values.
    pub law: Distribution,
    /// Shares of the values, which add up to 1.
    pub parts: [f64; 4],
}

/// Connections of some number of epochs.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Fewest epochs.
    pub from: usize,
    /// Shares of the tempos.
    pub tempos: [f64; 4],
    /// Shares of the parts of [`Sequential::sizes`].
    pub sizes: PerSide<[f64; 4]>,
}

/// Connections in which both ends send when they like.
#[derive(Clone, Debug)]
pub struct Concurrent {
    /// Their share of all.
    pub share: f64,
    /// ADUs of each end beyond the first, before they are rounded up.
    pub further: Distribution,
}

impl Trace {
    /// UNC's link to the Internet, 10 January 2008, 14 to 15 h.
    pub fn campus_2008() -> Trace {
        let all = 4_683_892.0;
        // Of all connections of the trace 70 % are complete and sequential, 0.37 % incomplete and concurrent.
        let incomplete = 0.003_7 / (1.0 - LEFT_OUT_CAMPUS);
        Trace {
            connections_per_second: all / HOUR,
            fall: None,
            // 471 Mbit/s from the right, 202 from the left; which was which is chosen.
            from_left: 0.9477,
            sequential: campus_sequential(all),
            // Numbers of ADUs by bytes: 28 % of all are of concurrent connections, 21 % of incomplete ones.
            concurrent: [
                Concurrent { share: 115_045.0 / all - incomplete, further: bounded(1.0, 300.0, 0.5113) },
                Concurrent { share: incomplete, further: bounded(100.0, 470.0, 0.4836) },
            ],
            // Median 208, 20 % above 1,400, 10 % above 6.8 kB, mean 5.9 kB.
            concurrent_adu: sizes(&[(1.0, 8.0), (0.5, 208.0), (0.2, 1_400.0), (0.1, 6_800.0)], 1.070_8),
            concurrent_spread: 0.056,
            // 99 % of 500 ms and more, median 1.1 s, 20 % above 4 s, 10 % above 14 s, mean 6.7 s.
            concurrent_wait: concurrent_waits(&[(1.0, 0.05), (0.99, 0.5), (0.5, 1.1), (0.2, 4.0), (0.1, 14.0)], 1.1241),
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
            // 64 KB: 65 % of the initiators, 25 % of the acceptors. Below 8 KB: 8.4 % and 36 %, of connections above 1 MB 9.7 % and 37 %.
            windows: [
                PerSide {
                    initiator: windows([0.084, 0.09, 0.08, 0.05, 0.046, 0.65]),
                    acceptor: windows([0.36, 0.12, 0.12, 0.08, 0.07, 0.25]),
                },
                PerSide {
                    initiator: windows([0.097, 0.09, 0.08, 0.05, 0.033, 0.65]),
                    acceptor: windows([0.37, 0.12, 0.12, 0.08, 0.06, 0.25]),
                },
            ],
            segments: SEGMENTS,
        }
    }

    /// IBM's link, 10 October 2006, from 14:20 for an hour.
    pub fn enterprise_2006() -> Trace {
        let all = 2_785_054.0;
        let incomplete = 0.006_3 / (1.0 - LEFT_OUT_ENTERPRISE);
        Trace {
            connections_per_second: all / HOUR,
            // 78,800 connections are active before 32 minutes and 68,000 after, in the mean; that connections last is why starts fall by
            // more.
            fall: Some(fall(32.0 * 60.0, 0.71)),
            // 404 Mbit/s from the right, 366 from the left; which was which is chosen.
            from_left: 0.6534,
            sequential: enterprise_sequential(all),
            // Numbers of ADUs by bytes: 15 % of all are of concurrent connections, 12 % of incomplete ones.
            concurrent: [
                Concurrent { share: 51_058.0 / all - incomplete, further: bounded(1.0, 120.0, 0.445) },
                Concurrent { share: incomplete, further: bounded(44.0, 175.0, 0.8935) },
            ],
            // Median 91, 20 % above 610, 10 % above 3.4 kB, mean 11.5 kB.
            concurrent_adu: sizes(&[(1.0, 4.0), (0.5, 91.0), (0.2, 610.0), (0.1, 3_400.0)], 0.802_2),
            concurrent_spread: 0.06,
            // 99 % of 500 ms and more, median 1.5 s, 20 % above 17 s, 10 % above 60 s, mean 16.7 s.
            concurrent_wait: concurrent_waits(&[(1.0, 0.05), (0.99, 0.5), (0.5, 1.5), (0.2, 17.0), (0.1, 60.0)], 1.976),
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
            // 64 KB: 80 % of the initiators, 50 % of the acceptors. The other shares are chosen.
            windows: [
                PerSide {
                    initiator: windows([0.05, 0.05, 0.04, 0.03, 0.03, 0.8]),
                    acceptor: windows([0.15, 0.1, 0.1, 0.09, 0.06, 0.5]),
                },
                PerSide {
                    initiator: windows([0.05, 0.05, 0.04, 0.03, 0.03, 0.8]),
                    acceptor: windows([0.15, 0.1, 0.1, 0.09, 0.06, 0.5]),
                },
            ],
            segments: SEGMENTS,
        }
    }
}

/// UNC's sequential connections, of `all` in the hour.
fn campus_sequential(all: f64) -> Sequential {
    Sequential {
        share: 4_568_847.0 / all,
        // 60 % have one epoch, 10 % five or more, 3 % twelve or more, 0.01 % a thousand or more; mean 3, deviation 42; 13
        // million exchanges in the hour.
        single: 0.6,
        further: counts(
            &[
                (1.0, 0.5),
                (0.4675, 1.0),
                (0.32, 2.0),
                (0.258_75, 3.0),
                (0.195, 4.0),
                (0.075_75, 10.0),
                (0.015_5, 24.0),
                (0.001_75, 98.0),
                (0.000_272_5, 998.0),
            ],
            (0.75, 16_000.0),
        ),
        incomplete: (0.002_187_6, 0.306_64),
        kinds: [
            kind(
                1,
                [0.5763, 0.344_45, 0.006_55, 0.0727],
                [0.896_62, 0.09, 0.013_38],
                [0.471_49, 0.354_58, 0.1409, 0.033_03],
            ),
            kind(
                2,
                [0.441_47, 0.466_56, 0.006_66, 0.085_31],
                [0.896_62, 0.09, 0.013_38],
                [0.866_33, 0.004_77, 0.116_83, 0.012_07],
            ),
            kind(
                5,
                [0.02, 0.877_09, 0.052_01, 0.0509],
                [0.896_62, 0.09, 0.013_38],
                [0.591_01, 0.013_33, 0.306_06, 0.0896],
            ),
            kind(
                12,
                [0.02, 0.282_95, 0.692_68, 0.004_37],
                [0.903_31, 0.09, 0.006_69],
                [0.497_08, 0.319_08, 0.162_14, 0.0217],
            ),
            kind(100, [0.4, 0.6, 0.0, 0.0], [0.907_32, 0.09, 0.002_68], [0.760_65, 0.043_75, 0.1917, 0.0039]),
            kind(1_000, [1.0, 0.0, 0.0, 0.0], [0.908_66, 0.09, 0.001_34], [0.834_87, 0.026_25, 0.136_93, 0.001_95]),
        ],
        tempos: [
            tempo([1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
            tempo([0.979_84, 0.020_16, 0.0, 0.0], [0.5203, 0.4797, 0.0, 0.0]),
            tempo([0.240_62, 0.586_14, 0.173_24, 0.0], [0.117_36, 0.575_17, 0.307_47, 0.0]),
            tempo([0.419_67, 0.295_07, 0.043_01, 0.242_25], [0.020_04, 0.003_94, 0.0763, 0.899_72]),
        ],
        sizes: PerSide {
            // Median 460, 20 % above 1,000, 10 % above 1,600, mean 2.5 kB.
            initiator: cut(
                sizes(&[(1.0, 20.0), (0.75, 150.0), (0.5, 460.0), (0.2, 1_000.0), (0.1, 1_600.0)], 0.973),
                [0.9, 0.09, 0.01, 0.0],
            ),
            // Median 420, 20 % above 4 kB, 10 % above 13 kB, mean 11 kB.
            acceptor: cut(
                sizes(
                    &[(1.0, 10.0), (0.75, 100.0), (0.5, 420.0), (0.2, 4_000.0), (0.1, 13_000.0), (0.001_8, 500_000.0)],
                    0.8896,
                ),
                [0.65, 0.15, 0.17, 0.03],
            ),
        },
        spread: PerSide { initiator: 1.9, acceptor: 0.479 },
        waits: PerSide {
            // Median 173 ms, 44 % of 500 ms and more, 20 % above 1.5 s, 10 % above 7.5 s, mean 5.6 s.
            initiator: cut(
                waits(&[(1.0, 0.000_5), (0.479_53, 0.173), (0.437_29, 0.5), (0.199_03, 1.5), (0.1, 7.5)], 0.917_98),
                [0.5629, 0.337_41, 0.072_02, 0.027_67],
            ),
            // Median 47 ms, 20 % above 273 ms, 16 % of 500 ms and more, 10 % above 1 s, mean 3.1 s.
            acceptor: cut(
                waits(
                    &[(1.0, 0.000_5), (0.397_26, 0.047), (0.192_97, 0.273), (0.155_94, 0.5), (0.098_03, 1.0)],
                    0.629_43,
                ),
                [0.844_54, 0.115_04, 0.029_46, 0.010_96],
            ),
        },
    }
}

/// IBM's sequential connections, of `all` in the hour.
fn enterprise_sequential(all: f64) -> Sequential {
    Sequential {
        share: 2_733_996.0 / all,
        // 44 % have one epoch, 10 % fourteen or more, 13 % twelve or more, 3 % 33 or more, 0.05 % a thousand or more; mean 9,
        // deviation 123; 24 million exchanges in the hour.
        single: 0.44,
        further: counts(
            &[(1.0, 0.5), (0.491_07, 3.0), (0.232_14, 10.0), (0.181_25, 12.0), (0.053_929, 31.0), (0.001, 998.0)],
            (0.7, 20_000.0),
        ),
        incomplete: (0.015_218, 0.188_1),
        kinds: [
            kind(
                1,
                [0.53006, 0.44588, 0.01032, 0.01374],
                [0.89663, 0.09, 0.01337],
                [0.57375, 0.15307, 0.22247, 0.05072],
            ),
            kind(2, [0.02, 0.96307, 0.01091, 0.00602], [0.89663, 0.09, 0.01337], [0.64401, 0.13776, 0.17113, 0.04709]),
            kind(
                5,
                [0.62544, 0.12337, 0.01463, 0.23656],
                [0.89663, 0.09, 0.01337],
                [0.64401, 0.13776, 0.17113, 0.04709],
            ),
            kind(
                12,
                [0.7543, 0.03628, 0.20495, 0.00447],
                [0.89663, 0.09, 0.01337],
                [0.63958, 0.15307, 0.17113, 0.03623],
            ),
            kind(100, [0.02, 0.98, 0.0, 0.0], [0.90332, 0.09, 0.00668], [0.65769, 0.15307, 0.17113, 0.01811]),
            kind(1000, [1.0, 0.0, 0.0, 0.0], [0.90599, 0.09, 0.00401], [0.68205, 0.15307, 0.15401, 0.01087]),
        ],
        tempos: [
            tempo([1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]),
            tempo([0.80259, 0.19741, 0.0, 0.0], [0.67223, 0.32777, 0.0, 0.0]),
            tempo([0.00898, 0.63866, 0.35236, 0.0], [0.04933, 0.15918, 0.79149, 0.0]),
            tempo([0.28324, 0.01238, 0.24642, 0.45797], [0.17853, 0.06057, 0.06004, 0.70085]),
        ],
        sizes: PerSide {
            // Median 84, 20 % above 466, 10 % above 1,000; the mean is what the loads leave.
            initiator: cut(
                sizes(&[(1.0, 10.0), (0.75, 40.0), (0.5, 84.0), (0.2, 466.0), (0.1, 1_000.0)], 0.800_9),
                [0.9, 0.09, 0.01, 0.0],
            ),
            // Median 128, 20 % above 680, 10 % above 3.3 kB; the mean is what the loads leave.
            acceptor: cut(
                sizes(&[(1.0, 8.0), (0.75, 50.0), (0.5, 128.0), (0.2, 680.0), (0.1, 3_300.0)], 0.889_8),
                [0.65, 0.15, 0.17, 0.03],
            ),
        },
        spread: PerSide { initiator: 1.0, acceptor: 0.4 },
        waits: PerSide {
            // Median 55 ms, 20 % above 490 ms, 10 % above 3 s, mean 5.9 s.
            initiator: cut(
                waits(&[(1.0, 0.0005), (0.36935, 0.055), (0.19771, 0.49), (0.19678, 0.5), (0.099928, 3.0)], 0.69258),
                [0.80381, 0.11499, 0.06164, 0.01956],
            ),
            // Median 53 ms, 20 % above 168 ms, 16 % of 500 ms and more, 10 % above 1.1 s, mean 4.7 s.
            acceptor: cut(
                waits(&[(1.0, 0.0005), (0.35022, 0.053), (0.18209, 0.168), (0.15768, 0.5), (0.099297, 1.1)], 0.58382),
                [0.84307, 0.11104, 0.03235, 0.01354],
            ),
        },
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

/// Epochs beyond the first, by the share above them: linear between logarithms, with a tail of index `tail.0` up to `tail.1`.
fn counts(points: &[(f64, f64)], tail: (f64, f64)) -> Distribution {
    with_tail(points, tail.0, tail.1)
}

/// Waits in seconds, with a tail up to an hour.
fn waits(points: &[(f64, f64)], shape: f64) -> Distribution {
    with_tail(points, shape, HOUR)
}

/// Those of concurrent connections, which have many: none is longer than 20 minutes (chosen).
fn concurrent_waits(points: &[(f64, f64)], shape: f64) -> Distribution {
    with_tail(points, shape, HOUR / 3.0)
}

/// Sizes, with a tail up to the largest ADU.
fn sizes(points: &[(f64, f64)], shape: f64) -> Distribution {
    with_tail(points, shape, MOST_BYTES)
}

/// Values by the share above them, linear between logarithms, with a Pareto tail of index `shape` up to `most`.
fn with_tail(points: &[(f64, f64)], shape: f64, most: f64) -> Distribution {
    let logs = |&(share, value): &(f64, f64)| (libm::log2(share), libm::log2(value));
    let mut knots: Vec<(f64, f64)> = points.iter().rev().map(logs).collect();
    // One more point of the tail gives it its slope.
    let (share, value) = knots[0];
    knots.insert(0, (share - shape, value + 1.0));
    law(Law::Truncated { of: Box::new(Law::LogLog(knots)), min: 0.0, max: most })
}

/// Starts that fall `at` so many seconds to so large a part of what they were, with the published mean of the hour.
fn fall(at: f64, to: f64) -> Fall {
    let before = 1.0 / (at / HOUR + (1.0 - at / HOUR) * to);
    Fall { at, before, after: before * to }
}

fn cut(law: Distribution, parts: [f64; 4]) -> Cut {
    Cut { law, parts }
}

/// Of `from` epochs and more: shares of the tempos, of the three parts of requests, of the four of responses.
fn kind(from: usize, tempos: [f64; 4], [small, middle, large]: [f64; 3], responses: [f64; 4]) -> Kind {
    Kind { from, tempos, sizes: PerSide { initiator: [small, middle, large, 0.0], acceptor: responses } }
}

/// Shares of the parts of servers' and of clients' waits.
fn tempo(servers: [f64; 4], clients: [f64; 4]) -> PerSide<[f64; 4]> {
    PerSide { initiator: clients, acceptor: servers }
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

/// Shares of 4, 8, 16, 32, 48 and 64 KB, the sizes at which windows without scaling cluster (methods A.7); the last is 65,535 bytes.
fn windows(shares: [f64; 6]) -> Distribution {
    const SIZES: [f64; 6] = [4_096.0, 8_192.0, 16_384.0, 32_768.0, 49_152.0, 65_535.0];
    law(Law::Empirical(SIZES.into_iter().zip(shares).collect()))
}

/// As in Tmix vectors of the TCP evaluation suite: 10 % of the connections have packets of 576 bytes, 90 % of 1,500.
const SEGMENTS: [(f64, u16); 2] = [(0.1, 536), (0.9, 1_460)];
