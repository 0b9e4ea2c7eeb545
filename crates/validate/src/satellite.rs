//! TCP over a LAN, a WAN and a satellite: packet by packet beside the arithmetic of the satellite studies (methods I.4; Frost et al. 1998).

use flowloom_core::path::{Link, LossModel, PacketList};
use flowloom_core::queue::{Admission, DropTail, Queue};
use flowloom_core::tcp::congestion::WindowCause;
use flowloom_core::tcp::{Config, InitialWindow, Sack, arithmetic};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Probability, Rate};

use crate::check::{Effort, Expected, Row};
use crate::figure::{Figure, Line};
use crate::lab::{Flow, Lab, Outcome};
use crate::profiles::Stack;

const GROUP: &str = "Satellite";
/// OC-12c for cells, and the segments of its AAL5 frames.
const CELLS: f64 = 599.04e6;
const MSS: u16 = 9_140;
/// A segment with its headers.
const PACKET: u64 = 9_180;
/// Round-trip times that the published recovery times belong to.
const PATHS: [(&str, Duration); 3] =
    [("LAN", Duration::from_nanos(100_300)), ("WAN", Duration::from_micros(39_010)), ("satellite", SATELLITE)];
const SATELLITE: Duration = Duration::from_millis(534);
/// A window of 10 MB, in segments.
const WINDOW: u32 = 1_148;
const ALGORITHMS: [&str; 6] = ["reno", "newreno", "sack", "vegas", "cubic", "bbr"];

/// As of 1998: from one segment on; `sack` is NewReno's window with SACK.
fn tcp(algorithm: &str) -> Config {
    let control = if algorithm == "sack" { "newreno" } else { algorithm };
    let mut tcp = Config { initial_window: InitialWindow::Segments(1), delayed_ack: None, ..Config::default() };
    tcp.congestion = control.parse().unwrap_or(tcp.congestion);
    tcp.sack = if algorithm == "sack" || algorithm == "bbr" { Sack::On } else { Sack::Off };
    tcp
}

/// A transfer with a receive window of so many segments.
fn flow(rtt: Duration, window: u32, tcp: Config) -> Flow {
    // A header expresses multiples of the scale only: with this much more no segment is held back.
    Flow { mss: MSS, window: window * u32::from(MSS) + 8_000, ..Flow::endless(rtt, tcp) }
}

/// Payload that the line carries, in bit/s.
fn usable() -> f64 {
    arithmetic::over_cells(CELLS, u64::from(MSS))
}

/// Flows over the line; headers are in its usable rate. Its queue takes the largest window.
fn lab(loss: LossModel, seconds: f64, marks: &[f64]) -> Lab {
    let rate = Rate::from_bits_per_second(usable() as u64).unwrap_or(Rate::UNLIMITED);
    let queue = Queue::Arrival(Admission::DropTail(DropTail::new(Limit::Packets(5_000))));
    let mut lab = Lab::new(Some(Link::new(queue, rate, Duration::ZERO, Duration::from_secs(1))), loss, seconds);
    lab.header_bytes = 0;
    lab.marks = marks.iter().map(|mark| Time::ZERO + Duration::from_secs_f64(*mark)).collect();
    lab
}

/// Mbit/s of payload from a third of the time on.
fn throughput(flow: Flow, loss: LossModel, seconds: f64) -> f64 {
    let from = seconds / 3.0;
    let outcome = lab(loss, seconds, &[from, seconds]).run(&[flow]);
    8e-6 * outcome.between(0, 0) / (seconds - from)
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = published();
    let mut push = |name: String, source: &str, expected: Expected, ours: f64| {
        rows.push(Row::new(GROUP, name, source, expected, ours));
    };
    let near = |value: f64| Expected::Near { value, share: 0.02 };
    // Throughput against the window, and what each algorithm makes of 10 MB: figure 4.5 of the source in numbers.
    for (path, rtt) in PATHS.into_iter().filter(|(path, _)| full || *path == "satellite") {
        let seconds = if path == "satellite" { 90.0 } else { 6.0 };
        let limit = |window: u32| {
            let bytes = f64::from(window * u32::from(MSS));
            arithmetic::window_limit(bytes, rtt.as_secs_f64()).min(usable()) / 1e6
        };
        for window in [8, 64, 256, WINDOW, 3_930].into_iter().filter(|window| full || *window == 256) {
            let name = format!("{path}, sack, window {window} segments: Mbit/s");
            let ours = throughput(flow(rtt, window, tcp("sack")), LossModel::None, seconds);
            push(name, "min(8 window / round trip, line), Frost et al. 1998", near(limit(window)), ours);
        }
        // SACK with this window is among those above.
        for algorithm in ALGORITHMS.into_iter().filter(|algorithm| full && *algorithm != "sack") {
            let ours = throughput(flow(rtt, WINDOW, tcp(algorithm)), LossModel::None, seconds);
            let name = format!("{path}, {algorithm}, window {WINDOW} segments: Mbit/s");
            // BBR looks for the round-trip time with four segments in flight every ten seconds, for a round trip or two.
            let expected =
                if algorithm == "bbr" { Expected::AtLeast(0.85 * limit(WINDOW)) } else { near(limit(WINDOW)) };
            push(name, "min(8 window / round trip, line), Frost et al. 1998", expected, ours);
        }
    }
    for stack in [Stack::rfc(), Stack::linux()] {
        for window in [64, WINDOW, 3_930].into_iter().filter(|window| full || *window == 64) {
            let bytes = f64::from(window * u32::from(MSS));
            let limit = arithmetic::window_limit(bytes, SATELLITE.as_secs_f64()).min(usable()) / 1e6;
            let name = stack.row(&format!("satellite, window {window} segments: Mbit/s"));
            let ours = throughput(flow(SATELLITE, window, stack.tcp.clone()), LossModel::None, 90.0);
            push(name, "min(8 window / round trip, line), Frost et al. 1998", near(limit), ours);
        }
    }
    if !full {
        return rows;
    }
    let mut delayed = tcp("newreno");
    delayed.delayed_ack = Some(Duration::from_millis(100));
    let bytes = 102 * u64::from(WINDOW) * u64::from(MSS);
    let outcome = lab(LossModel::None, 100.0, &[]).run(&[Flow { bytes, ..flow(SATELLITE, WINDOW, delayed) }]);
    // From the first segment, a round trip after the SYN, until the last is acknowledged, half a round trip after it arrived.
    let ours = outcome.finished[0].map_or(f64::NAN, |at| at.as_secs_f64() - SATELLITE.as_secs_f64() / 2.0);
    push(
        "satellite: 102 windows of 10 MB with slow start, delayed ACKs, s".to_owned(),
        "Frost et al. 1998",
        near(63.747),
        ours,
    );
    for algorithm in ["reno", "newreno", "sack"] {
        let name = format!("satellite, {algorithm}: from half the window after a loss to 10 MB again, s");
        push(name, "Frost et al. 1998: 305.18", near(305.18), recovery(tcp(algorithm)));
    }
    let rfc = Stack::rfc();
    let name = rfc.row("satellite: from half the window after a loss to 10 MB again, s");
    push(name, "Frost et al. 1998: 305.18", near(305.18), recovery(rfc.tcp));
    let linux = Stack::linux();
    let name = linux.row("satellite: from a loss until the window is 10 MB again, round trips");
    let source = "Linux's slow start goes to twice what is used; seven tenths of that is above 10 MB";
    push(name, source, Expected::AtMost(2.0), reduced(linux.tcp) / SATELLITE.as_secs_f64());
    for (errors, seconds) in [(1e-9, 3_000.0), (1e-8, 1_500.0)] {
        let loss = arithmetic::packet_loss(errors, PACKET);
        let model = || Probability::new(loss).map_or(LossModel::None, LossModel::Bernoulli);
        let found = ALGORITHMS.map(|algorithm| throughput(flow(SATELLITE, WINDOW, tcp(algorithm)), model(), seconds));
        let value =
            1.3098 / libm::sqrt(1.5) * arithmetic::loss_limit(loss, u64::from(MSS), SATELLITE.as_secs_f64()) / 1e6;
        let mut least = 0.0;
        for (algorithm, found) in ALGORITHMS.into_iter().zip(found) {
            let name = format!("satellite, {algorithm}, bit errors {errors:e}: Mbit/s");
            if algorithm == "sack" {
                let source = "1.3098 / sqrt(loss) segments, Ott, Kemperman and Mathis 1996";
                push(name, source, Expected::Near { value, share: 0.15 }, found);
                least = found;
            } else if algorithm == "bbr" || algorithm == "cubic" {
                push(name, "no less than SACK", Expected::AtLeast(least), found);
            } else {
                push(name, "no more than the window allows", Expected::AtMost(157.2), found);
            }
        }
        for (stack, source, expected) in [
            (
                Stack::rfc(),
                "1.3098 / sqrt(loss) segments, Ott, Kemperman and Mathis 1996",
                Expected::Near { value, share: 0.15 },
            ),
            (Stack::linux(), "no less than SACK", Expected::AtLeast(least)),
        ] {
            let name = stack.row(&format!("satellite, bit errors {errors:e}: Mbit/s"));
            push(name, source, expected, throughput(flow(SATELLITE, WINDOW, stack.tcp), model(), seconds));
        }
    }
    rows
}

/// What the pages show of it: names of files, and SVG.
pub fn pictures() -> Vec<(String, String)> {
    let figures = [by_window(), from_the_start(), after_a_loss(), with_bit_errors()];
    figures.into_iter().map(|figure| (format!("frost-1998-{}.svg", figure.file), figure.drawn())).collect()
}

fn by_window() -> Figure {
    let line = |(path, rtt): (&str, Duration)| {
        let seconds = if path == "satellite" { 90.0 } else { 6.0 };
        let point = |window: u32| {
            let throughput = throughput(flow(rtt, window, tcp("sack")), LossModel::None, seconds);
            (f64::from(window * u32::from(MSS)) / 1_048_576.0, throughput, None)
        };
        Line { name: path.to_owned(), points: [8, 64, 256, 288, WINDOW, 3_930, 4_100].map(point).into() }
    };
    Figure {
        file: "windows",
        title: "Throughput by window",
        x: "window, MB",
        y: "Mbit/s",
        lines: PATHS.map(line).into(),
    }
}

fn from_the_start() -> Figure {
    let line = |(path, rtt)| over_time(path, flow(rtt, WINDOW, tcp("sack")), LossModel::None, 1);
    let title = "From the first segment on, 10 MB of window";
    Figure { file: "start", title, x: "s", y: "Mbit/s", lines: PATHS.map(line).into() }
}

fn after_a_loss() -> Figure {
    let line = |algorithm| over_time(algorithm, flow(SATELLITE, WINDOW, tcp(algorithm)), one_loss(), 20);
    let title = "One segment lost after 20 s, satellite, 10 MB of window";
    Figure { file: "loss", title, x: "s", y: "Mbit/s", lines: ALGORITHMS.map(line).into() }
}

fn with_bit_errors() -> Figure {
    let loss = Probability::new(arithmetic::packet_loss(1e-8, PACKET)).map_or(LossModel::None, LossModel::Bernoulli);
    let line = |algorithm| over_time(algorithm, flow(SATELLITE, WINDOW, tcp(algorithm)), loss.clone(), 30);
    let title = "Bit errors of 1e-8, satellite, 10 MB of window";
    Figure { file: "errors", title, x: "s", y: "Mbit/s", lines: ALGORITHMS.map(line).into() }
}

/// Mbit/s of payload in forty times that take as many of the satellite's round trips, of which each has a burst.
fn over_time(name: &str, flow: Flow, loss: LossModel, round_trips: u32) -> Line {
    let each = f64::from(round_trips) * SATELLITE.as_secs_f64();
    let marks: Vec<f64> = (0..=40).map(|mark| f64::from(mark) * each).collect();
    let outcome = lab(loss, 40.0 * each, &marks).run(&[flow]);
    let point = |from: usize| (marks[from] + each / 2.0, 8e-6 * outcome.between(0, from) / each, None);
    Line { name: name.to_owned(), points: (0..40).map(point).collect() }
}

/// Figures of methods I.4 as the calculator has them.
fn published() -> Vec<Row> {
    let (rtt, window) = (SATELLITE.as_secs_f64(), 10.0 * 1_048_576.0);
    let start = arithmetic::slow_start(f64::from(WINDOW), 1.5);
    let packets = (window / PACKET as f64).ceil();
    let all = [
        ("payload on OC-12c, Mbit/s", 538.052_8, 5e-5, usable() / 1e6),
        ("window that fills it, MB", 34.251, 5e-4, arithmetic::window_needed(usable(), rtt) / 1_048_576.0),
        ("10 MB each round trip, Mbit/s", 157.090, 5e-4, arithmetic::window_limit(window, rtt) / 1e6),
        ("slow start to 10 MB, round trips", 18.377_02, 5e-6, start),
        ("slow start to 10 MB, s", 9.813_33, 5e-6, start * rtt),
        ("102 windows: efficiency", 0.854_44, 5e-6, 102.0 / arithmetic::transfer(102.0, start)),
        ("102 windows, s", 63.747, 5e-4, arithmetic::transfer(102.0, start) * rtt),
        ("recovery, s", 305.18, 5e-3, arithmetic::recovery(packets) * rtt),
        ("recovery after fast recovery, s", 303.58, 5e-3, arithmetic::fast_recovery(packets) * rtt),
    ];
    let row = |(name, value, by, ours)| {
        Row::new(GROUP, format!("calculator: {name}"), "Frost et al. 1998", Expected::Within { value, by }, ours)
    };
    all.into_iter().map(row).collect()
}

/// Seconds from half of the window after one lost segment until the window is all of the receiver's again.
fn recovery(tcp: Config) -> f64 {
    let outcome: Outcome = Lab { trace: true, ..lab(one_loss(), 350.0, &[]) }.run(&[flow(SATELLITE, WINDOW, tcp)]);
    // Duplicate acknowledgements inflate the window, and without SACK recovery ends with nothing in flight, because the receive window was full:
    // what counts is when it is half and no more for the last time, and when it is not yet full.
    let last = |segments: u32| {
        let below = outcome.windows.iter().rev().find(|(_, window)| *window < segments * u32::from(MSS));
        below.map(|(at, _)| *at)
    };
    match (last(WINDOW / 2 + 1), last(WINDOW)) {
        (Some(from), Some(to)) => to.since(from).as_secs_f64(),
        _ => f64::NAN,
    }
}

/// Seconds from the reduction for one lost segment until the window is all of the receiver's again.
fn reduced(tcp: Config) -> f64 {
    let outcome: Outcome = Lab { trace: true, ..lab(one_loss(), 60.0, &[]) }.run(&[flow(SATELLITE, WINDOW, tcp)]);
    let lost = outcome.causes.iter().position(|cause| *cause == WindowCause::Loss);
    let below = outcome.windows.iter().rev().find(|(_, window)| *window < WINDOW * u32::from(MSS));
    match (lost, below) {
        (Some(lost), Some((to, _))) => to.since(outcome.windows[lost].0).as_secs_f64(),
        _ => f64::NAN,
    }
}

/// The window is full after 11 round trips: by this segment for long.
fn one_loss() -> LossModel {
    PacketList::new([(30_000, 30_000)]).map_or(LossModel::None, LossModel::List)
}
