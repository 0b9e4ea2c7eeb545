//! What Aikat 2010 and the companion paper published of their replays, by section of the page.

use super::cells::Network;
use super::claims::{Asked, Claim, Growth, Of};

use Network::{Constrained, Unconstrained};

/// The workloads, as the publication calls their links.
pub const WORKLOADS: [(&str, &str); 2] = [("campus-2008", "UNC"), ("enterprise-2006", "IBM")];

pub(super) const CAMPUS: &str = "campus-2008";
const ENTERPRISE: &str = "enterprise-2006";

/// The structures without waits.
pub(super) const WITHOUT_WAITS: [&str; 3] = ["a-b", "block-sequential", "block-concurrent"];

/// A part of the page.
pub struct Section {
    /// The heading above it.
    pub title: &'static str,
    /// What was published, and how it is asked here.
    pub text: &'static str,
    /// What was published, statement by statement.
    pub claims: Vec<Claim>,
}

pub(super) fn value(name: String, source: &'static str, of: Of, quantity: &'static str, published: f64) -> Claim {
    let asked = Asked::Value { of, quantity, growth: Growth::None, published, tolerance: 0.1 };
    Claim { name, source, asked, why: None }
}

pub(super) fn ratio(
    name: String,
    source: &'static str,
    over: (Of, &'static str),
    under: (Of, &'static str),
    (least, most): (f64, f64),
) -> Claim {
    Claim { name, source, asked: Asked::Ratio { over, under, least, most }, why: None }
}

impl Claim {
    fn growing(mut self, by: Growth) -> Claim {
        if let Asked::Value { growth, .. } = &mut self.asked {
            *growth = by;
        }
        self
    }

    fn within(mut self, share: f64) -> Claim {
        if let Asked::Value { tolerance, .. } = &mut self.asked {
            *tolerance = share;
        }
        self
    }
}

/// All of it.
pub fn sections() -> Vec<Section> {
    vec![
        control(),
        short_waits(),
        whole_hour(),
        shares(),
        packets(),
        dependence(),
        round_trips(),
        structures(),
        queues(),
        windows(),
    ]
}

/// Table of methods C.9.
fn control() -> Section {
    // UNC without a limit, UNC with one, IBM without, IBM with.
    const ROWS: [(&str, &str, Growth, f64, [f64; 4]); 20] = [
        ("throughput, Mbit/s", "throughput_heavy_mbps", Growth::Linear, 0.02, [471.0, 485.0, 404.0, 421.0]),
        (
            "throughput, deviation in 5 s, Mbit/s",
            "throughput_sd_5s_heavy_mbps",
            Growth::Root,
            0.1,
            [34.0, 18.0, 37.0, 9.0],
        ),
        ("packets, thousands a second", "packet_rate_heavy_kpps", Growth::Linear, 0.1, [60.0, 61.0, 62.0, 64.0]),
        (
            "packets, deviation in 5 s, thousands a second",
            "packet_rate_sd_5s_heavy_kpps",
            Growth::Root,
            0.1,
            [3.0, 1.8, 3.7, 1.8],
        ),
        ("time to the last byte, median, ms", "last_byte_p50_ms", Growth::None, 0.1, [260.0, 330.0, 550.0, 790.0]),
        (
            "time to the last byte, 80 %, ms",
            "last_byte_p80_ms",
            Growth::None,
            0.1,
            [2_000.0, 2_100.0, 3_000.0, 3_900.0],
        ),
        (
            "time to the last byte, 90 %, ms",
            "last_byte_p90_ms",
            Growth::None,
            0.1,
            [8_000.0, 8_300.0, 13_500.0, 14_700.0],
        ),
        (
            "time to the last byte, mean, ms",
            "last_byte_mean_ms",
            Growth::None,
            0.1,
            [33_000.0, 33_000.0, 87_000.0, 88_000.0],
        ),
        ("response time, median, ms", "response_p50_ms", Growth::None, 0.1, [110.0, 140.0, 130.0, 187.0]),
        ("response time, 80 %, ms", "response_p80_ms", Growth::None, 0.1, [295.0, 350.0, 240.0, 320.0]),
        ("response time, 90 %, ms", "response_p90_ms", Growth::None, 0.1, [800.0, 880.0, 550.0, 660.0]),
        ("response time, mean, ms", "response_mean_ms", Growth::None, 0.1, [2_600.0, 2_600.0, 4_400.0, 4_500.0]),
        (
            "active connections (presence), mean",
            "presence_mean",
            Growth::Linear,
            0.05,
            [45_000.0, 45_000.0, f64::NAN, f64::NAN],
        ),
        (
            "active connections (presence), median",
            "presence_p50",
            Growth::Linear,
            0.05,
            [46_200.0, 46_200.0, 72_200.0, 72_680.0],
        ),
        ("queue, share of the time empty", "queue_empty_share", Growth::None, 0.1, [0.99, 0.18, 0.99, 0.07]),
        ("queue, median, packets", "queue_p50_packets", Growth::Linear, 0.1, [f64::NAN, 350.0, f64::NAN, 2_600.0]),
        ("queue, mean, packets", "queue_mean_packets", Growth::Linear, 0.1, [f64::NAN, 659.0, f64::NAN, 2_557.0]),
        ("queue, deviation, packets", "queue_sd_packets", Growth::Linear, 0.1, [f64::NAN, 992.0, f64::NAN, 2_025.0]),
        ("queue, 90 %, packets", "queue_p90_packets", Growth::Linear, 0.1, [f64::NAN, 1_460.0, f64::NAN, 5_400.0]),
        ("queue, longest, packets", "queue_max_packets", Growth::Linear, 0.1, [f64::NAN, 6_800.0, f64::NAN, 8_300.0]),
    ];
    let mut claims = Vec::new();
    for (place, (workload, link)) in WORKLOADS.into_iter().enumerate() {
        for (column, network) in [Unconstrained, Constrained].into_iter().enumerate() {
            for (what, quantity, growth, tolerance, published) in ROWS {
                let published = published[2 * place + column];
                if published.is_finite() {
                    let of = Of::control(workload, network);
                    let claim = value(format!("{link}, {network}: {what}"), "C.9", of, quantity, published);
                    claims.push(claim.growing(growth).within(tolerance));
                }
            }
        }
    }
    for (workload, link, more) in [(CAMPUS, "UNC", 1.23), (ENTERPRISE, "IBM", 1.36)] {
        let [over, under] =
            [Constrained, Unconstrained].map(|network| (Of::control(workload, network), "response_p50_ms"));
        let name = format!("{link}: median response, constrained over unconstrained, some {more} times");
        claims.push(ratio(name, "text", over, under, (1.0 + 0.5 * (more - 1.0), 1.0 + 2.0 * (more - 1.0))));
    }
    Section {
        title: "The control",
        text: "All of the structure (a-t-b-t), each connection's own round-trip time, measured windows. Deviations are taken to grow with the \
               root of the scale, and queues with the scale, as they do where connections are independent and the delay stays.",
        claims,
    }
}

/// The same with short waits, which the published replays leave out (methods A.5.9).
fn short_waits() -> Section {
    let mut claims = Vec::new();
    let rows: [(&str, &str, [f64; 2]); 5] = [
        ("response time, median, ms", "response_p50_ms", [110.0, 130.0]),
        ("response time, 80 %, ms", "response_p80_ms", [295.0, 240.0]),
        ("response time, 90 %, ms", "response_p90_ms", [800.0, 550.0]),
        ("time to the last byte, median, ms", "last_byte_p50_ms", [260.0, 550.0]),
        ("time to the last byte, 80 %, ms", "last_byte_p80_ms", [2_000.0, 3_000.0]),
    ];
    for (place, (workload, link)) in WORKLOADS.into_iter().enumerate() {
        for (words, waits) in [("all waits", "0ms none"), ("all waits without their transit time", "0ms ostt")] {
            for (what, quantity, published) in rows {
                let of = Of::control(workload, Unconstrained).waits(waits);
                claims.push(value(format!("{link}, {words}: {what}"), "C.9", of, quantity, published[place]));
            }
        }
    }
    let of = Of::control(CAMPUS, Unconstrained).rtt("mean").waits("0ms none");
    let name = "UNC, all waits, mean RTT: share of responses within 160 ms".to_owned();
    claims.push(value(name, "C.9", of, "response_within_160ms_share", 0.52));
    Section {
        title: "Short waits",
        text: "The publication says that waits below 500 ms are not replayed. Its median response time of three round trips, and the share of \
               responses within two under the mean RTT, which falls from 80 to 52 % with waits of which 16 % have 500 ms, are those of \
               replays with all waits. So the control is asked for the same numbers with them.",
        claims,
    }
}

/// The same over a whole hour, of which the middle 40 minutes count, as in the publication.
fn whole_hour() -> Section {
    let rows: [(&str, &str, Growth, f64, [f64; 2]); 5] = [
        ("time to the last byte, 80 %, ms", "last_byte_p80_ms", Growth::None, 0.1, [2_000.0, 3_000.0]),
        ("time to the last byte, 90 %, ms", "last_byte_p90_ms", Growth::None, 0.1, [8_000.0, 13_500.0]),
        ("time to the last byte, mean, ms", "last_byte_mean_ms", Growth::None, 0.1, [33_000.0, 87_000.0]),
        ("active connections (presence), median", "presence_p50", Growth::Linear, 0.05, [46_200.0, 72_200.0]),
        ("throughput, deviation in 5 s, Mbit/s", "throughput_sd_5s_heavy_mbps", Growth::Root, 0.1, [34.0, 37.0]),
    ];
    let mut claims = Vec::new();
    for (place, (workload, link)) in WORKLOADS.into_iter().enumerate() {
        for (what, quantity, growth, tolerance, published) in rows {
            let of = Of::control(workload, Unconstrained).minutes(60);
            let claim = value(format!("{link}: {what}"), "C.9", of, quantity, published[place]);
            claims.push(claim.growing(growth).within(tolerance));
        }
    }
    Section {
        title: "A whole hour",
        text: "Half an hour cuts the longest connections, and leaves out those that are silent in it. So the control is replayed for an hour, too, \
               of which the middle 40 minutes count.",
        claims,
    }
}

/// Shares of times to the last byte under block-sequential, and of responses.
fn shares() -> Section {
    let blocks = Of::control(CAMPUS, Unconstrained).structure("block-sequential");
    let at_mean = Of::control(CAMPUS, Unconstrained).rtt("mean");
    let of = |name: &str, of: Of, quantity, published| value(name.to_owned(), "C.9", of, quantity, published);
    let claims = vec![
        of(
            "block-sequential, 10 paths: share to the last byte within 160 ms",
            blocks.rtt("10-path"),
            "last_byte_within_160ms_share",
            0.40,
        ),
        of("block-sequential, mean RTT: share within 160 ms", blocks.rtt("mean"), "last_byte_within_160ms_share", 0.60),
        of("block-sequential, usernet: share within 125 ms", blocks, "last_byte_within_125ms_share", 0.50),
        of(
            "block-sequential, 10 paths: share within 125 ms",
            blocks.rtt("10-path"),
            "last_byte_within_125ms_share",
            0.32,
        ),
        of("block-sequential, mean RTT: share within 125 ms", blocks.rtt("mean"), "last_byte_within_125ms_share", 0.0),
        of(
            "a-b, mean RTT: share of responses within 160 ms",
            at_mean.structure("a-b"),
            "response_within_160ms_share",
            0.80,
        ),
        of("a-t-b-t, mean RTT: share of responses within 160 ms", at_mean, "response_within_160ms_share", 0.52),
        of(
            "block-sequential, mean RTT: share of responses within 80 ms",
            at_mean.structure("block-sequential"),
            "response_within_80ms_share",
            0.50,
        ),
    ];
    Section {
        title: "Shares by round-trip times and structure",
        text: "UNC, unconstrained. The duration of the publication contains the handshake (methods C.2).",
        claims,
    }
}

/// Table 6.2.
fn packets() -> Section {
    let rows = [
        ("block-concurrent", 48.8, 5.6, 0.1147),
        ("block-sequential", 49.0, 5.5, 0.1126),
        ("a-b", 50.3, 5.0, 0.0999),
        ("a-t-b-t", 60.2, 3.8, 0.0625),
    ];
    let control = Of::control(CAMPUS, Unconstrained);
    let mut claims = Vec::new();
    for (structure, mean, deviation, _) in rows {
        let of = control.structure(structure);
        let name = |what: &str| format!("{structure}: {what}, thousands of packets a second");
        claims.push(value(name("mean"), "6.2", of, "packet_rate_heavy_kpps", mean).growing(Growth::Linear));
        claims.push(
            value(name("deviation in 1 s"), "6.2", of, "packet_rate_sd_1s_heavy_kpps", deviation).growing(Growth::Root),
        );
    }
    // (i): more packets, and less variation.
    for pair in rows.windows(2) {
        let [(fewer, ..), (more, ..)] = pair else { continue };
        if *more == "block-sequential" {
            continue;
        }
        let [over, under] = [control.structure(more), control.structure(fewer)];
        let rate = "packet_rate_heavy_kpps";
        claims.push(ratio(
            format!("packets a second, {more} over {fewer}"),
            "6.2",
            (over, rate),
            (under, rate),
            (1.0, 2.0),
        ));
        let deviation = "packet_rate_sd_1s_heavy_kpps";
        let name = format!("their deviation in 1 s, {more} over {fewer}");
        claims.push(ratio(name, "6.2", (over, deviation), (under, deviation), (0.3, 1.0)));
    }
    Section { title: "Packets by structure", text: "UNC, unconstrained, in bins of a second.", claims }
}

/// Table 6.3 and conclusion 11.
fn dependence() -> Section {
    let control = Of::control(CAMPUS, Unconstrained);
    let rows = [("block-concurrent", 0.9636), ("block-sequential", 0.9659), ("a-b", 0.9826), ("a-t-b-t", 0.9631)];
    let hurst = "hurst_packets_heavy";
    let mut claims: Vec<Claim> = rows
        .map(|(structure, h)| {
            value(format!("{structure}: Hurst parameter of packets"), "6.3", control.structure(structure), hurst, h)
        })
        .into();
    claims.extend(WITHOUT_WAITS.map(|structure| {
        let name = format!("Hurst parameter, {structure} over a-t-b-t: alike");
        ratio(name, "11", (control.structure(structure), hurst), (control, hurst), (0.9, 1.1))
    }));
    Section {
        title: "Long-range dependence",
        text: "Conclusion 11: the structure does not change it. Our link is synthetic: what it has of dependence are its heavy tails.",
        claims,
    }
}

/// Conclusions 1, 2, 5 and 6.
fn round_trips() -> Section {
    let mut claims = Vec::new();
    for (workload, link) in WORKLOADS {
        for structure in ["a-t-b-t", "block-sequential"] {
            let of = Of::control(workload, Unconstrained).structure(structure);
            let late = if structure == "a-t-b-t" { "last_byte_q90_ms" } else { "last_byte_q99_ms" };
            let name = |what: &str| format!("{link}, {structure}: {what}, mean RTT over usernet");
            let pair = |quantity| ((of.rtt("mean"), quantity), (of, quantity));
            let (over, under) = pair("last_byte_q25_ms");
            claims.push(ratio(name("the first quarter of times to the last byte"), "1", over, under, (1.1, 10.0)));
            let (over, under) = pair(late);
            let percent = &late[11..13];
            claims.push(ratio(
                name(&format!("{percent} % of times to the last byte: no effect")),
                "1",
                over,
                under,
                (0.9, 1.11),
            ));
        }
        let of = Of::control(workload, Unconstrained);
        let pair = |rtt, quantity| ((of.rtt(rtt), quantity), (of, quantity));
        let (over, under) = pair("mean", "presence_mean");
        claims.push(ratio(
            format!("{link}: active connections (presence), mean RTT over usernet: no effect"),
            "2",
            over,
            under,
            (0.95, 1.05),
        ));
        for quantity in ["last_byte_p50_ms", "response_p50_ms", "last_byte_p90_ms"] {
            let (over, under) = pair("30-path", quantity);
            let name = format!("{link}: {quantity}, 30 paths over usernet: close");
            claims.push(ratio(name, "5", over, under, (0.8, 1.25)));
        }
        let queue = "queue_mean_packets";
        let at = Of::control(workload, Constrained);
        claims.push(ratio(
            format!("{link}, constrained: mean queue, 30 paths over usernet: heavier"),
            "5",
            (at.rtt("30-path"), queue),
            (at, queue),
            (1.0, 5.0),
        ));
    }
    let blocks = Of::control(CAMPUS, Unconstrained).structure("block-sequential");
    let duration = "last_byte_p50_ms";
    let name =
        "UNC, block-sequential: median time to the last byte, mean RTT over usernet (250 against 125 ms)".to_owned();
    claims.push(ratio(name, "companion", (blocks.rtt("mean"), duration), (blocks, duration), (1.2, 2.5)));
    for structure in WITHOUT_WAITS.into_iter().take(2) {
        let of = Of::control(CAMPUS, Constrained).structure(structure);
        let name = format!(
            "UNC, {structure}, constrained: median time to the last byte, mean RTT over usernet: no difference"
        );
        claims.push(ratio(name, "4", (of.rtt("mean"), duration), (of, duration), (0.8, 1.25)));
    }
    Section {
        title: "Round-trip times",
        text: "Conclusions 1, 2, 4, 5 and 6. They change durations and responses below 0.5 s to 1 s, and not beyond; they do not change active \
               connections.",
        claims,
    }
}

/// Conclusions 6, 7 and 9.
fn structures() -> Section {
    let mut claims = Vec::new();
    for (workload, link, presence) in [(CAMPUS, "UNC", (7.0, 14.0)), (ENTERPRISE, "IBM", (10.0, 20.0))] {
        let control = Of::control(workload, Unconstrained);
        for structure in WITHOUT_WAITS {
            let other = control.structure(structure);
            let active = "presence_mean";
            claims.push(ratio(
                format!("{link}: active connections (presence), a-t-b-t over {structure}"),
                "7",
                (control, active),
                (other, active),
                presence,
            ));
            let late = "last_byte_q80_ms";
            claims.push(ratio(
                format!("{link}: 80 % of times to the last byte, a-t-b-t over {structure}"),
                "7",
                (control, late),
                (other, late),
                (2.0, 12.0),
            ));
        }
        let late = "last_byte_q80_ms";
        let pair = |from: Of, to: Of| ((from, late), (to, late));
        let blocks = control.structure("block-sequential");
        let (over, under) = pair(control, blocks);
        let name = format!("{link}: 80 % of times to the last byte, a-t-b-t over block-sequential, about eight times");
        claims.push(ratio(name, "7", over, under, (5.0, 12.0)));
        let (over, under) = pair(control.rtt("mean"), blocks.rtt("mean"));
        let name = format!("{link}: the same under the mean RTT, which alone changes nothing there");
        claims.push(ratio(name, "6", over, under, (2.0, 12.0)));
        let (over, under) = pair(control, control.structure("a-b"));
        let name = format!("{link}: the same with waits over without (a-b): time matters as size does");
        claims.push(ratio(name, "9", over, under, (2.0, 12.0)));
    }
    Section {
        title: "Structure",
        text: "Conclusions 6, 7 and 9: structure changes durations most in the last 40 % of them, up to some 8 times; active connections rise 10 \
               times (UNC) and 14 times (IBM).",
        claims,
    }
}

/// Conclusions 3, 5, 8 and 12, and the queue by round-trip times.
fn queues() -> Section {
    let mut claims = Vec::new();
    let queue = "queue_mean_packets";
    for (workload, link) in WORKLOADS {
        let control = Of::control(workload, Constrained);
        for structure in WITHOUT_WAITS {
            let name = format!("{link}: mean queue, {structure} over a-t-b-t");
            claims.push(ratio(
                name,
                "8",
                (control.structure(structure), queue),
                (control, queue),
                (2.0, f64::INFINITY),
            ));
        }
        let response = "response_p50_ms";
        let name = format!("{link}: median response, a-b over a-t-b-t");
        claims.push(ratio(name, "8", (control.structure("a-b"), response), (control, response), (1.0, 10.0)));
        let name = format!("{link}: mean queue, usernet over mean RTT");
        claims.push(ratio(name, "3", (control, queue), (control.rtt("mean"), queue), (1.0, 5.0)));
    }
    let control = Of::control(CAMPUS, Constrained);
    let response = "response_p50_ms";
    let name = "UNC: median response, a-b over a-t-b-t, about four times".to_owned();
    claims.push(ratio(name, "companion", (control.structure("a-b"), response), (control, response), (2.5, 6.0)));
    for structure in WITHOUT_WAITS {
        let name = format!("UNC, {structure}: share of the time with more than 10,000 packets");
        claims.push(value(name, "8", control.structure(structure), "queue_from_10000_share", 0.12).within(0.5));
    }
    for (rtt, share) in [("nodelay", 0.93), ("median", 0.78), ("usernet", 0.20), ("unc-uniform", 0.04)] {
        let name = format!("UNC, {rtt}: share of the time with 1,000 packets and more");
        claims.push(value(name, "text", control.rtt(rtt), "queue_from_1000_share", share));
    }
    for (heavier, lighter) in [("nodelay", "median"), ("median", "usernet"), ("usernet", "unc-uniform")] {
        let name = format!("UNC: mean queue, {heavier} over {lighter}");
        claims.push(ratio(
            name,
            "text",
            (control.rtt(heavier), queue),
            (control.rtt(lighter), queue),
            (1.0, f64::INFINITY),
        ));
    }
    let ibm = Of::control(ENTERPRISE, Constrained);
    let early = "response_q30_ms";
    let name = "IBM: 30 % of responses, block-sequential over a-t-b-t: a-t-b-t is faster for so many".to_owned();
    claims.push(ratio(name, "companion", (ibm.structure("block-sequential"), early), (ibm, early), (1.0, 10.0)));
    claims.push(ratio("mean queue, IBM over UNC".to_owned(), "12", (ibm, queue), (control, queue), (1.0, 10.0)));
    Section {
        title: "Queues at 105 % of the load",
        text: "Conclusions 3, 5, 8 and 12. Without waits the queue is much heavier, so that responses become longer than with them. Shares of the \
               time with so many packets are of the published scale. That these queues drain in the second half of the hour only is not \
               asked: half an hour is replayed.",
        claims,
    }
}

/// Conclusion 10 and table 6.1.
fn windows() -> Section {
    let control = Of::control(CAMPUS, Unconstrained);
    let models = ["8k", "16k", "64k", "measured"];
    let mut claims = Vec::new();
    let sizes: [(&str, &str, [f64; 4]); 5] = [
        ("below 4 KB: median, ms", "below_4kb_last_byte_p50_ms", [187.0; 4]),
        ("from 4 KB: median, ms", "from_4kb_last_byte_p50_ms", [598.0, 592.0, 575.0, 603.0]),
        ("from 1 MB: median, ms", "from_1mb_last_byte_p50_ms", [50_000.0, 35_000.0, 25_000.0, 52_000.0]),
        ("from 4 KB: mean, ms", "from_4kb_last_byte_mean_ended_ms", [60_000.0, 60_000.0, 60_000.0, 62_000.0]),
        ("from 1 MB: mean, ms", "from_1mb_last_byte_mean_ended_ms", [369_000.0, 355_000.0, 350_000.0, 393_000.0]),
    ];
    for (what, quantity, published) in sizes {
        for (model, published) in models.into_iter().zip(published) {
            let name = format!("windows {model}, connections {what}");
            claims.push(value(name, "6.1", control.window(model), quantity, published));
        }
    }
    let name = |what: &str| format!("windows of 64 KB, {what}");
    let of = control.window("64k");
    let shares = [
        ("below 4 KB: share to the last byte within 500 ms", "below_4kb_last_byte_within_500ms_share", 0.78),
        ("below 4 KB: share within 3 s", "below_4kb_last_byte_within_3000ms_share", 0.92),
        ("from 4 KB: share within 500 ms", "from_4kb_last_byte_within_500ms_share", 0.47),
        ("from 4 KB: share within 3 s", "from_4kb_last_byte_within_3000ms_share", 0.72),
    ];
    claims.extend(shares.map(|(what, quantity, published)| value(name(what), "A.14", of, quantity, published)));
    for model in ["8k", "16k", "measured"] {
        let of = |model| Of::control(CAMPUS, Constrained).window(model);
        let queue = "queue_mean_packets";
        let name = format!("constrained: mean queue, windows of 64 KB over {model}");
        claims.push(ratio(name, "10", (of("64k"), queue), (of(model), queue), (1.0, 10.0)));
    }
    let median = "last_byte_p50_ms";
    for model in ["8k", "16k", "64k"] {
        let name = format!("median time to the last byte, windows of {model} over measured: no difference");
        claims.push(ratio(name, "10", (control.window(model), median), (control, median), (0.95, 1.05)));
    }
    Section {
        title: "Windows",
        text: "Conclusion 10 and table 6.1: no difference for the bulk of the connections, a large one above 1 MB; constrained, 64 KB for all make \
               the heaviest queue. Means are those of connections that ended within the run.",
        claims,
    }
}
