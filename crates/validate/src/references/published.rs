//! The published statistics of the two traces: methods A.14, and beside it A.2, B.3, C.4 and C.9.

use flowloom_models::generate::reference::Trace;

use crate::check::{Expected, Row};

/// The published statistics of a trace.
pub(super) struct Published {
    pub(super) name: &'static str,
    pub(super) trace: Trace,
    pub(super) epochs: Epochs,
    /// In the hour, millions.
    pub(super) exchanges: f64,
    /// Median, 80 % and 90 % points, mean, in bytes: requests, responses, ADUs of concurrent connections.
    pub(super) sizes: [[f64; 4]; 3],
    /// Median, 80 % and 90 % points, mean, in seconds, and the share of 500 ms and more: within epochs, between epochs, concurrent.
    pub(super) waits: [[f64; 5]; 3],
    /// Concurrent connections in the hour, and their share of all bytes.
    pub(super) concurrent: f64,
    pub(super) concurrent_bytes: f64,
    /// Shares of all connections and of all bytes that were left out: no data, packets of one direction.
    pub(super) left_out: f64,
    pub(super) left_out_bytes: f64,
    /// Shares of all connections and of all bytes.
    pub(super) complete_sequential: [f64; 2],
    pub(super) incomplete_concurrent: [f64; 2],
    /// Mean, deviation, median, 97 % point, ms; the thirty values of the DA model, and their mean.
    pub(super) rtt: [f64; 4],
    pub(super) da: [f64; 30],
    pub(super) da_mean: f64,
    /// Of initiators, of acceptors: shares with 64 KB, below 8 KB, below 8 KB of connections above 1 MB; 0: not stated.
    pub(super) windows: [[f64; 3]; 2],
    /// What is published of whole connections; nothing of IBM's.
    pub(super) connections: Option<Connections>,
    /// Mbit/s in both directions, the larger first; thousand packets a second.
    pub(super) load: [f64; 2],
    pub(super) packets: f64,
    /// Active connections by presence: mean; before and after 32 minutes.
    pub(super) active: f64,
    pub(super) around: Option<[f64; 2]>,
    /// What this workload does not meet.
    pub(super) departs: &'static [Departure],
}

/// Rows that are off, how far at most, and why.
pub(super) struct Departure {
    /// How the names of the rows begin.
    pub(super) rows: &'static [&'static str],
    /// The largest difference, as a share of the published value. A row that is further off fails.
    pub(super) share: f64,
    pub(super) why: &'static str,
}

impl Departure {
    /// Whether `row` is off by no more than is known.
    pub(super) fn covers(&self, row: &Row) -> bool {
        let Expected::Near { value, .. } = row.expected else { return false };
        (row.ours / value - 1.0).abs() <= self.share
    }
}

/// Epochs of sequential connections.
pub(super) struct Epochs {
    pub(super) mean: f64,
    pub(super) deviation: f64,
    pub(super) single: f64,
    pub(super) at_90: f64,
    pub(super) at_97: f64,
    pub(super) twelve: f64,
    pub(super) thousand: f64,
}

/// Whole connections.
pub(super) struct Connections {
    /// Shares below 4 KB and above 1 MB; 90 % point, median, mean in bytes.
    pub(super) small: f64,
    pub(super) large: f64,
    pub(super) at_90: f64,
    pub(super) median: f64,
    pub(super) mean: f64,
    /// Times to the last byte in seconds, mean and median: below 4 KB, above 4 KB, above 1 MB; windows of 8, 16, 64 KB, measured.
    pub(super) durations: [[[f64; 2]; 4]; 3],
    /// Shares below 500 ms and over 3 s with windows of 64 KB: below 4 KB, above.
    pub(super) shares: [[f64; 2]; 2],
}

/// Of both traces.
pub(super) fn published() -> [Published; 2] {
    [campus(), enterprise()]
}

fn campus() -> Published {
    Published {
        name: "campus-2008",
        trace: Trace::campus_2008(),
        epochs: Epochs {
            mean: 3.0,
            deviation: 42.0,
            single: 0.6,
            at_90: 5.0,
            at_97: 12.0,
            twelve: 0.03,
            thousand: 0.000_1,
        },
        exchanges: 13.0,
        sizes: [
            [460.0, 1_000.0, 1_600.0, 2_500.0],
            [420.0, 4_000.0, 13_000.0, 11_000.0],
            [208.0, 1_400.0, 6_800.0, 5_900.0],
        ],
        waits: [[0.047, 0.273, 1.0, 3.1, 0.16], [0.173, 1.5, 7.5, 5.6, 0.44], [1.1, 4.0, 14.0, 6.7, 0.99]],
        concurrent: 115_045.0,
        concurrent_bytes: 0.28,
        left_out: 0.26,
        left_out_bytes: 0.018,
        complete_sequential: [0.70, 0.52],
        incomplete_concurrent: [0.003_7, 0.21],
        rtt: [80.0, 210.0, 36.0, 429.0],
        da: [
            8.0, 8.0, 10.0, 10.0, 12.0, 14.0, 14.0, 16.0, 18.0, 20.0, 22.0, 24.0, 26.0, 30.0, 34.0, 38.0, 42.0, 48.0,
            52.0, 60.0, 74.0, 80.0, 82.0, 86.0, 92.0, 98.0, 124.0, 172.0, 258.0, 420.0,
        ],
        da_mean: 67.0,
        windows: [[0.65, 0.084, 0.097], [0.25, 0.36, 0.37]],
        connections: Some(Connections {
            small: 0.63,
            large: 0.006,
            at_90: 35_000.0,
            median: 2_200.0,
            mean: 62_000.0,
            durations: [
                [[17.0, 0.187]; 4],
                [[60.0, 0.598], [60.0, 0.592], [60.0, 0.575], [62.0, 0.603]],
                [[369.0, 50.0], [355.0, 35.0], [350.0, 25.0], [393.0, 52.0]],
            ],
            shares: [[0.78, 0.08], [0.47, 0.28]],
        }),
        load: [471.0, 202.0],
        packets: 60.0,
        active: 45_000.0,
        around: None,
        departs: &[
            Departure {
                rows: &["response, mean"],
                share: 0.2,
                why: "13 million exchanges of 2.5 + 11 kB are 175 GB; 471 + 202 Mbit/s are 303 GB on the link in an hour, of which 28 % are of \
                 concurrent connections and some 204 GB payload of sequential ones: 17 % more. Loads come before means",
            },
            Departure {
                rows: &["duration, < 4 KB"],
                share: 0.45,
                why: "60 % of the connections have one exchange, which with the handshake takes two round-trip times, and half of these are below \
                 36 ms: round-trip times and waits of 500 ms alone leave medians near 0.12 s. Waits of 3.1 and 5.6 s are 88 million s, 19 s for \
                 a sequential connection of any size. The fit misses these; nothing shows that no fit could meet them",
            },
            Departure {
                rows: &["duration, > 4 KB"],
                share: 0.16,
                why: "115,045 concurrent connections, whose waits of 6.7 s last some 470 s together, are 31 s for each connection \
                 above 4 KB; what waits connections below 4 KB do not have is in the others. The fit misses these, too",
            },
            Departure {
                rows: &["duration, > 1 MB"],
                share: 0.42,
                why: "the bytes of concurrent connections are 28 % of all, and those above 1 MB last as long as their waits of 6.7 s. Shares of waits \
                 were fitted to connections of all sizes first. The fit misses these, too",
            },
        ],
    }
}

fn enterprise() -> Published {
    Published {
        name: "enterprise-2006",
        trace: Trace::enterprise_2006(),
        epochs: Epochs {
            mean: 9.0,
            deviation: 123.0,
            single: 0.44,
            at_90: 14.0,
            at_97: 33.0,
            twelve: 0.13,
            thousand: 0.000_5,
        },
        exchanges: 24.0,
        sizes: [[84.0, 466.0, 1_000.0, 6_000.0], [128.0, 680.0, 3_300.0, 9_000.0], [91.0, 610.0, 3_400.0, 11_500.0]],
        waits: [[0.053, 0.168, 1.1, 4.7, 0.16], [0.055, 0.49, 3.0, 5.9, 0.2], [1.5, 17.0, 60.0, 16.7, 0.99]],
        concurrent: 51_058.0,
        concurrent_bytes: 0.15,
        left_out: 0.126,
        left_out_bytes: 0.0,
        complete_sequential: [0.80, 0.56],
        incomplete_concurrent: [0.006_3, 0.12],
        rtt: [92.0, 144.0, 68.0, 275.0],
        da: [
            22.0, 28.0, 32.0, 36.0, 40.0, 44.0, 46.0, 46.0, 48.0, 52.0, 54.0, 56.0, 58.0, 62.0, 66.0, 70.0, 74.0, 78.0,
            82.0, 86.0, 92.0, 96.0, 102.0, 108.0, 114.0, 122.0, 136.0, 154.0, 188.0, 310.0,
        ],
        da_mean: 83.4,
        windows: [[0.8, 0.0, 0.0], [0.5, 0.0, 0.0]],
        connections: None,
        load: [404.0, 366.0],
        packets: 62.0,
        active: 72_000.0,
        around: Some([78_800.0, 68_000.0]),
        departs: &[
            Departure {
                rows: &["request, mean", "response, mean"],
                share: 0.28,
                why: "24 million exchanges of 6 + 9 kB are 360 GB; 404 + 366 Mbit/s are 347 GB on the link in an hour, of which 15 % are of \
                 concurrent connections and some 276 GB payload of sequential ones: 23 % less. Loads come before means",
            },
            Departure {
                rows: &["intra-epoch wait, mean", "inter-epoch wait, mean"],
                share: 0.18,
                why: "24 million waits of 4.7 s and 21 million of 5.9 s are 85 s for each connection, and 99 s with those of concurrent ones; 72,000 \
                 active connections of which 774 start in a second last 92 s (Little's law, presence)",
            },
        ],
    }
}
