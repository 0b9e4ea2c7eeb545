//! How fast a flow is by the share of its packets that is lost.

use flowloom_core::path::{GilbertElliott, LossModel, PacketList};
use flowloom_core::tcp::congestion::Algorithm;
use flowloom_core::tcp::{Config, Sack};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::Probability;

use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab};
use crate::profiles::{Stack, payload};

const GROUP: &str = "Loss response";
const RTT: Duration = Duration::from_millis(100);
const MSS: u32 = 1_460;

/// Recovery as the literature names it, without delayed acknowledgements and with a least timeout of 1 s.
fn tcp(recovery: &str) -> Config {
    let algorithm = if recovery == "sack" { "newreno" } else { recovery };
    let mut tcp = Config { delayed_ack: None, ..Config::default() };
    tcp.congestion = algorithm.parse().unwrap_or(tcp.congestion);
    tcp.sack = if recovery == "sack" { Sack::On } else { Sack::Off };
    tcp
}

/// The pattern by which packets are lost.
#[derive(Clone, Copy)]
pub(crate) enum Pattern {
    /// One packet is lost in each period of fixed length.
    Periodic,
    /// Each with the same probability.
    Independent,
    /// Bursts of two on average, independent of each other.
    Bursts,
}

impl Pattern {
    pub(crate) fn model(self, p: f64, packets: u64) -> LossModel {
        match self {
            Pattern::Periodic => {
                let every = (1.0 / p) as u64;
                let list = PacketList::new((1..=packets / every).map(|n| (n * every, n * every)));
                list.map_or(LossModel::None, LossModel::List)
            }
            Pattern::Independent => Probability::new(p).map_or(LossModel::None, LossModel::Bernoulli),
            Pattern::Bursts => match (Probability::new(0.5 * p / (1.0 - p)), Probability::new(0.5)) {
                (Some(begin), Some(end)) => LossModel::GilbertElliott(GilbertElliott::simple(begin, end)),
                _ => LossModel::None,
            },
        }
    }
}

/// Segments delivered per round-trip time in the steady state, over about `losses` losses of a share of `p`.
pub(crate) fn mean_window(tcp: Config, pattern: Pattern, p: f64, losses: f64) -> f64 {
    let segment = f64::from(payload(&tcp, MSS));
    let packets = losses / p;
    // What the square-root law gives, with a warm-up of a fifth.
    let seconds = packets / (1.2 / libm::sqrt(p)) * RTT.as_secs_f64();
    let model = pattern.model(p, (packets * 10.0) as u64);
    let mut lab = Lab::new(None, model, seconds * 1.2);
    lab.marks = vec![Time::ZERO + Duration::from_secs_f64(seconds * 0.2), lab.until];
    let outcome = lab.run(&[Flow::endless(RTT, tcp)]);
    outcome.between(0, 0) / segment / (seconds / RTT.as_secs_f64())
}

/// Padhye, Firoiu, Towsley and Kurose 1998, equation 30, as segments per round trip: an acknowledgement for each `b` segments,
/// and a first timeout of `timeout` seconds.
fn pftk(p: f64, b: f64, timeout: f64) -> f64 {
    let rtt = RTT.as_secs_f64();
    let fast = rtt * libm::sqrt(2.0 * b * p / 3.0);
    let slow = timeout * (3.0 * libm::sqrt(3.0 * b * p / 8.0)).min(1.0) * p * (1.0 + 32.0 * p * p);
    rtt / (fast + slow)
}

/// The laws of Mathis et al. and of Ott et al. with profiles. `rfc` and `linux` count what is acknowledged, so that their delayed
/// acknowledgements do not slow them; `classic` counts acknowledgements, and delay makes half of them. Linux's CUBIC has a
/// law of its own; here it has the NewReno that it offers.
fn of_profiles(full: bool, losses: f64, push: &mut impl FnMut(String, &str, Expected, f64)) {
    let rfc = Stack::rfc();
    let linux = Stack::linux().with(|tcp| tcp.congestion = Algorithm::NewReno);
    let each = Stack::classic().with(|tcp| (tcp.delayed_ack, tcp.sack) = (None, Sack::On));
    let delayed = Stack::classic().with(|tcp| tcp.sack = Sack::On);
    for p in [3e-3, 1e-3, 3e-4].into_iter().take(if full { 3 } else { 1 }) {
        for (stack, what, acknowledged) in [
            (&rfc, "newreno", 1.0),
            (&linux, "newreno", 1.0),
            (&each, "sack, every segment acknowledged", 1.0),
            (&delayed, "sack, delayed ACKs", 2.0),
        ] {
            let name = stack.row(&format!("{what}, every {:.0}th packet lost: mean window, segments", 1.0 / p));
            let expected = Expected::Near { value: libm::sqrt(1.5 / acknowledged / p), share: 0.1 };
            let source = if acknowledged > 1.0 {
                "sqrt(3/4 / p), Mathis et al. 1997"
            } else {
                "sqrt(3/2 / p), Mathis et al. 1997"
            };
            push(name, source, expected, mean_window(stack.tcp.clone(), Pattern::Periodic, p, losses / 4.0));
        }
        for (stack, what) in [(&rfc, "newreno"), (&linux, "newreno"), (&each, "sack, every segment acknowledged")] {
            let name = stack.row(&format!("{what}, {p} lost independently: mean window, segments"));
            let expected = Expected::Near { value: 1.3098 / libm::sqrt(p), share: 0.1 };
            let source = "1.3098 / sqrt(p), Ott, Kemperman and Mathis 1996";
            push(name, source, expected, mean_window(stack.tcp.clone(), Pattern::Independent, p, losses));
        }
    }
    for p in [3e-3, 1e-2, 3e-2].into_iter().take(if full { 3 } else { 1 }) {
        for (delayed, b, what) in [(false, 1.0, "every segment acknowledged"), (true, 2.0, "delayed ACKs")] {
            let stack = Stack::classic().with(|tcp| {
                tcp.congestion = Algorithm::Reno;
                tcp.delayed_ack = tcp.delayed_ack.filter(|_| delayed);
            });
            let name = stack.row(&format!("reno, {what}, {p} lost independently: mean window, segments"));
            let expected = Expected::Near { value: pftk(p, b, 0.2), share: 0.2 };
            let source = "Padhye et al. 1998, equation 30, timeout 200 ms";
            push(name, source, expected, mean_window(stack.tcp, Pattern::Independent, p, losses));
        }
    }
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let losses = if full { 2_000.0 } else { 200.0 };
    let mut rows = Vec::new();
    // The lower the loss, the more packets it takes.
    for p in [3e-3, 1e-3, 3e-4, 1e-4].into_iter().take(if full { 4 } else { 2 }) {
        let value = libm::sqrt(1.5 / p);
        for recovery in ["newreno", "sack"] {
            let name = format!("{recovery}, every {:.0}th packet lost: mean window, segments", 1.0 / p);
            let ours = mean_window(tcp(recovery), Pattern::Periodic, p, losses / 4.0);
            rows.push(Row::new(
                GROUP,
                name,
                "sqrt(3/2 / p), Mathis et al. 1997",
                Expected::Near { value, share: 0.1 },
                ours,
            ));
        }
        let name = format!("sack, {p} lost independently: mean window, segments");
        let ours = mean_window(tcp("sack"), Pattern::Independent, p, losses);
        let source = "1.3098 / sqrt(p), Ott, Kemperman and Mathis 1996";
        let expected = Expected::Near { value: 1.3098 / libm::sqrt(p), share: 0.1 };
        rows.push(Row::new(GROUP, name, source, expected, ours));
    }
    for p in [3e-3, 1e-2, 3e-2] {
        let ours = mean_window(tcp("reno"), Pattern::Independent, p, losses);
        let name = format!("reno, {p} lost independently: mean window, segments");
        let expected = Expected::Near { value: pftk(p, 1.0, 1.0), share: 0.2 };
        rows.push(Row::new(GROUP, name, "Padhye et al. 1998, equation 30", expected, ours));
    }
    of_profiles(full, losses, &mut |name, source, expected, ours| {
        rows.push(Row::new(GROUP, name, source, expected, ours));
    });
    for p in [1e-2, 3e-3, 3e-2].into_iter().take(if full { 3 } else { 1 }) {
        let window = |recovery, pattern| mean_window(tcp(recovery), pattern, p, losses);
        let mut push = |name: &str, expected, ours| {
            rows.push(Row::new(GROUP, format!("{name} at {p}"), "Fall and Floyd 1996", expected, ours));
        };
        // The order shows where more than one packet of a window is lost.
        let [reno, newreno, sack] = ["reno", "newreno", "sack"].map(|recovery| window(recovery, Pattern::Bursts));
        push("NewReno over Reno, losses in bursts of two,", Expected::AtLeast(1.0), newreno / reno);
        push("SACK over NewReno, losses in bursts of two,", Expected::AtLeast(1.0), sack / newreno);
        // Where losses are single there is little to choose. NewReno takes a round trip per hole, and what is lost meanwhile
        // often falls into the same recovery: it halves its window less often by the packet.
        let [reno, newreno, sack] = ["reno", "newreno", "sack"].map(|recovery| window(recovery, Pattern::Independent));
        push("NewReno over Reno, independent losses,", Expected::AtLeast(1.0), newreno / reno);
        push("SACK over NewReno, independent losses,", Expected::Within { value: 1.0, by: 0.06 }, sack / newreno);
    }
    rows
}
