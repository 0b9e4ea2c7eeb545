//! Tables A.1 and A.2 of Weigle (2003): twenty FTP flows over a parking lot of six queues, one way and both ways, with and
//! without delayed acknowledgements. Prints the published values beside ours, mean of five seeds, and exits with 1 if one
//! is out of its tolerance.
//!
//! `cargo run --release -p flowloom-sim --example weigle_tables [SEEDS]`
//!
//! Stated by the source: bottlenecks of 10 Mbit/s, seven links of 1 ms, drop-tail queues, TCP Reno with a delayed
//! acknowledgement timer of 100 ms, segments of 1,420 bytes in packets of 1,474. Not stated, and set so that a run of ns-2
//! gave the published drops: queues of 111 packets, round-trip times of lognormal extra delay (median 64 ms, mean 101 ms),
//! windows of 200 segments, access links of 100 Mbit/s, starts spread over 5 s. Goodput counts headers, as the published values do: they are
//! (data - data drops) x 1,474 bytes in 300 s.

use std::ops::ControlFlow;
use std::process::ExitCode;

use flowloom_core::distribution::Distribution;
use flowloom_core::path::{Rule, Rules};
use flowloom_core::queue::Discipline;
use flowloom_core::record::*;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::congestion::Algorithm;
use flowloom_core::tcp::{InitialWindow, RtoConfig};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Limit;
use flowloom_core::workload::*;
use flowloom_sim::{Config, LinkConfig, LinkNumber, RunError, Summary, Way, run};

const FLOWS: u64 = 20;
const SECONDS: u64 = 300;
const PAYLOAD_BYTES: u16 = 1_420;
const PACKET_BYTES: u64 = 1_474;
const LINKS: usize = 7;

/// What is measured at the first bottleneck, from left to right.
#[derive(Clone, Copy, Debug, Default)]
struct Measured {
    segments: f64,
    data: f64,
    acknowledgements: f64,
    drops: f64,
    data_drops: f64,
    utilisation: f64,
    goodput_kbps: f64,
}

struct Scenario {
    title: &'static str,
    two_way: bool,
    delayed_ack: bool,
    published: Measured,
    /// Drops may differ by this much, relatively.
    drop_tolerance: f64,
}

fn main() -> ExitCode {
    let seeds = std::env::args().nth(1).map_or(5, |text| text.parse().expect("a number of seeds"));
    let scenarios = [
        Scenario {
            title: "one way, no delayed acknowledgements",
            two_way: false,
            delayed_ack: false,
            published: Measured {
                segments: 260_218.0,
                data: 260_156.0,
                acknowledgements: 62.0,
                drops: 6_181.0,
                data_drops: 6_178.0,
                utilisation: 99.83,
                goodput_kbps: 9_983.11,
            },
            drop_tolerance: 0.30,
        },
        Scenario {
            title: "both ways, no delayed acknowledgements",
            two_way: true,
            delayed_ack: false,
            published: Measured {
                segments: 446_129.0,
                data: 229_021.0,
                acknowledgements: 217_108.0,
                drops: 11_169.0,
                data_drops: 7_106.0,
                utilisation: 90.30,
                goodput_kbps: 8_722.81,
            },
            drop_tolerance: 0.45,
        },
        Scenario {
            title: "both ways, delayed acknowledgements",
            two_way: true,
            delayed_ack: true,
            published: Measured {
                segments: 363_553.0,
                data: 229_778.0,
                acknowledgements: 133_775.0,
                drops: 5_685.0,
                data_drops: 4_149.0,
                utilisation: 90.59,
                goodput_kbps: 8_868.83,
            },
            drop_tolerance: 0.30,
        },
    ];
    let mut good = true;
    let mut means = Vec::new();
    for scenario in &scenarios {
        let runs: Vec<Measured> = (1..=seeds).map(|seed| measure(scenario, seed)).collect();
        let mean = |of: fn(&Measured) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
        let published = &scenario.published;
        println!("{} ({} seeds)", scenario.title, runs.len());
        let mut row = |name: &str, of: fn(&Measured) -> f64, tolerance: Option<f64>| {
            let (expected, ours) = (of(published), mean(of));
            let ends = runs.iter().map(of).fold((f64::MAX, f64::MIN), |(a, b), x| (a.min(x), b.max(x)));
            let fits = tolerance.is_none_or(|most| (ours - expected).abs() <= most);
            good &= fits;
            println!(
                "  {name:<26} {expected:>12.2} {ours:>12.2} [{:.2}, {:.2}] {}",
                ends.0,
                ends.1,
                match tolerance {
                    None => String::new(),
                    Some(most) => format!("+-{most:.2} {}", if fits { "ok" } else { "OUT" }),
                }
            );
        };
        row("segments arriving", |m| m.segments, Some(0.03 * published.segments));
        row("data", |m| m.data, None);
        row("acknowledgements", |m| m.acknowledgements, None);
        row("share of those, %", |m| 100.0 * m.acknowledgements / m.segments, Some(1.5));
        row("drops", |m| m.drops, Some(scenario.drop_tolerance * published.drops));
        row("data drops", |m| m.data_drops, None);
        row("utilisation, %", |m| m.utilisation, Some(1.5));
        row("goodput, kbit/s", |m| m.goodput_kbps, Some(0.02 * published.goodput_kbps));
        means.push((mean(|m| m.drops), mean(|m| m.drops - m.data_drops), mean(|m| m.goodput_kbps)));
    }
    let [one_way, plain, delayed] = means[..] else { unreachable!("three scenarios") };
    for (what, holds) in [
        ("drops one way < both ways without delayed acknowledgements", one_way.0 < plain.0),
        ("delayed acknowledgements cut the drops by a third or more", delayed.0 < plain.0 * 2.0 / 3.0),
        ("and those of acknowledgements too", delayed.1 < plain.1 * 2.0 / 3.0),
        ("at no loss of goodput", delayed.2 >= plain.2),
    ] {
        println!("{} {what}", if holds { "ok " } else { "OUT" });
        good &= holds;
    }
    ExitCode::from(u8::from(!good))
}

fn measure(scenario: &Scenario, seed: u64) -> Measured {
    let mut config = Config::new("10mbit".parse().expect("a rate"), Duration::from_secs(SECONDS));
    let link = LinkConfig {
        delay: Duration::from_millis(1),
        queue: Discipline::DropTail(Limit::Packets(111)),
        ..LinkConfig::new(config.bottleneck.rate)
    };
    config.bottleneck = link.clone();
    config.links = vec![link; 2 * (LINKS - 1)];
    let behind = || (0..LINKS - 1).map(LinkNumber::other);
    let before = || (LINKS - 1..2 * (LINKS - 1)).map(LinkNumber::other);
    config.classes[0].way = Way {
        there: [LinkNumber::bottleneck(LinkSide::Left)].into_iter().chain(behind()).collect(),
        back: before().chain([LinkNumber::bottleneck(LinkSide::Right)]).collect(),
    };
    config.drain = Duration::ZERO;
    config.monitor = false;
    config.seed = seed;
    config.classes[0].tcp.congestion = Algorithm::Reno;
    config.classes[0].tcp.initial_window = InitialWindow::Segments(2);
    config.classes[0].tcp.delayed_ack = scenario.delayed_ack.then_some(Duration::from_millis(100));
    config.classes[0].tcp.rto = RtoConfig::with_margin(Duration::from_millis(200));
    config.classes[0].tcp.byte_counting = false;
    let access = Distribution::constant(1e8).expect("a rate");
    config.rules = Rules::new(vec![Rule { rate: Some(access), ..Rule::default() }]);
    let mut starts = Stream::new(seed, Purpose::Arrivals, 0);
    let flows = if scenario.two_way { 2 * FLOWS } else { FLOWS };
    let mut vectors: Vec<ConnectionVector> = (0..flows)
        .map(|id| {
            let mut delays = Stream::new(seed, Purpose::Delays, id);
            let start = Time::ZERO + Duration::from_secs_f64(5.0 * starts.uniform());
            ftp(id, start, extra_delay(&mut delays), if id < FLOWS { LinkSide::Left } else { LinkSide::Right })
        })
        .collect();
    vectors.sort_by_key(|vector| (vector.start, vector.id));
    let vectors = vectors.into_iter().map(Ok::<_, ()>);
    let outcome: Result<Summary, RunError<(), std::convert::Infallible>> =
        run(vectors, &config, &mut Nothing, |_| ControlFlow::Continue(()));
    let direction = &outcome.expect("the run succeeds").directions[0];
    let control = |counts: &flowloom_sim::PacketCounts| (counts.ack + counts.control) as f64;
    let data_through = direction.offered.data - direction.dropped.data;
    Measured {
        segments: direction.offered.total() as f64,
        data: direction.offered.data as f64,
        acknowledgements: control(&direction.offered),
        drops: direction.dropped.total() as f64,
        data_drops: direction.dropped.data as f64,
        utilisation: 100.0 * direction.link.utilisation(),
        goodput_kbps: data_through as f64 * PACKET_BYTES as f64 * 8.0 / SECONDS as f64 / 1e3,
    }
}

/// Lognormal with a median of 64 ms and a mean of 101 ms.
fn extra_delay(stream: &mut Stream) -> Duration {
    let sigma = (2.0 * (101.0f64 / 64.0).ln()).sqrt();
    let normal = (-2.0 * (1.0 - stream.uniform()).ln()).sqrt() * (std::f64::consts::TAU * stream.uniform()).cos();
    Duration::from_secs_f64(0.064 * (sigma * normal).exp())
}

/// A flow that never ends, from one side to the other; the extra delay is the sender's.
fn ftp(id: u64, start: Time, extra: Duration, side: LinkSide) -> ConnectionVector {
    let links = Duration::from_millis(2 * LINKS as u64);
    let window = Some(200 * u64::from(PAYLOAD_BYTES));
    let end = |transit| Endpoint {
        min_transit: Some(transit),
        max_window: window,
        mss: Some(PAYLOAD_BYTES),
        ..Endpoint::default()
    };
    let data = Adu {
        side: Side::Initiator,
        bytes: 1 << 40,
        missing_bytes: 0,
        wait: None,
        waiter: Side::Initiator,
        seen: Some(Span::default()),
        packets: None,
    };
    // The monitor stands at the left end of the links.
    let (initiator, acceptor) = if side == LinkSide::Left { (extra, links) } else { (extra + links, Duration::ZERO) };
    ConnectionVector {
        id,
        start,
        initiator_side: side,
        complete: true,
        ends: PerSide { initiator: end(initiator), acceptor: end(acceptor) },
        adus: vec![data],
        ..ConnectionVector::default()
    }
}

/// Nothing is kept: what is asked for stands in the summary.
struct Nothing;

impl Recorder for Nothing {
    type Error = std::convert::Infallible;

    fn record(&mut self, _: Record<'_>) -> Result<(), Self::Error> {
        Ok(())
    }
}
