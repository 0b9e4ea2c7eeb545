//! Controllers of a queue's length: BLUE, PI, REM and Adaptive RED against what their papers say they hold.

use flowloom_core::path::{Link, LinkEvent, LossModel};
use flowloom_core::queue::{
    AdaptiveRed, AdaptiveRedParams, Admission, Admit, Arrival, Backlog, Blue, BlueParams, Packet, Pi, PiParams, Queue,
    Rem, RemParams,
};
use flowloom_core::record::DropReason;
use flowloom_core::tcp::{Config, EcnEcho};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};

use crate::aqm::{GROUP, link, mean, stream};
use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab};
use crate::profiles::Stack;

/// BLUE's probability after `losses` losses and then `idle` falls idle, each 101 ms after the one before.
fn blue_after(losses: u32, idle: u32) -> f64 {
    let Ok(mut blue) = Blue::new(BlueParams { limit: Limit::Packets(10), ..BlueParams::default() }, stream()) else {
        return f64::NAN;
    };
    let at = |n: u32| Time::ZERO + Duration::from_millis(101 * u64::from(n));
    for n in 0..losses + idle {
        let now = at(n);
        let (waiting, start) = if n < losses {
            (Backlog { packets: 10, bytes: 10_000 }, now + Duration::from_millis(1))
        } else {
            (Backlog::default(), now)
        };
        let idle_since = (n >= losses).then_some(now);
        blue.arrive(&Packet::new(1_000), &Arrival { now, start, waiting, idle_since });
    }
    blue.probability()
}

/// What BLUE does with a constant load of 1.05 once it has settled: shares of what arrives that are dropped by its probability,
/// and for want of room.
fn blue_shares(packets: u64) -> [f64; 2] {
    let params = BlueParams { limit: Limit::Packets(200), ..BlueParams::default() };
    let Ok(blue) = Blue::new(params, stream()) else { return [f64::NAN; 2] };
    let mut link = link(Queue::Arrival(Admission::Blue(Box::new(blue))), 80_000_000);
    let mut dropped = [0u64; 2];
    for n in 0..packets {
        let outcome = link.offer(Time::from_nanos(n * 95_238), Packet::new(1_000));
        while let Some(LinkEvent::Started { .. } | LinkEvent::Dropped { .. }) = link.poll() {}
        if let (Err(reason), true) = (outcome, n >= packets / 2) {
            dropped[usize::from(reason != DropReason::Early)] += 1;
        }
    }
    dropped.map(|count| count as f64 / (packets - packets / 2) as f64)
}

/// Flows with ECN over `link`, and the rate at which the line sends their packets.
struct Load {
    link: Link,
    flows: u64,
    /// Round-trip time of the first, without the queue; each of the others has a five-hundredth more than the one before.
    rtt: Duration,
    mss: u16,
    /// The rate, in packets per second.
    rate: f64,
}

/// The mean queue in packets, and the share of segments that were lost, without the first third of the time.
fn held(load: Load, tcp: &Config, seconds: f64) -> [f64; 2] {
    let tcp = Config { ecn: EcnEcho::UntilAnswered, ..tcp.clone() };
    let flows: Vec<Flow> = (0..load.flows)
        .map(|n| Flow {
            start: Time::ZERO + Duration::from_millis(37 * n),
            mss: load.mss,
            ..Flow::endless(load.rtt + load.rtt / 500 * n, tcp.clone())
        })
        .collect();
    let outcome = Lab { trace: true, ..Lab::new(Some(load.link), LossModel::None, seconds) }.run(&flows);
    let settled = Time::ZERO + Duration::from_secs_f64(seconds / 3.0);
    let waits = outcome.waits.iter().filter(|(time, _)| *time > settled);
    let drops = outcome.drops.iter().filter(|time| **time > settled).count();
    let sent = waits.clone().count() + drops;
    [mean(waits.map(|(_, wait)| wait.as_secs_f64() * load.rate)), drops as f64 / sent as f64]
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = Vec::new();
    let mut push =
        |name: String, source: &str, expected, ours| rows.push(Row::new(GROUP, name, source, expected, ours));

    let source = "Feng et al. 2002: d1 = 0.02 with a loss, d2 = 0.002 with an idle line";
    for (losses, idle) in [(1, 0), (17, 0), (17, 30)] {
        let value = 0.02 * f64::from(losses) - 0.002 * f64::from(idle);
        let name = format!("BLUE: probability after {losses} losses and {idle} falls idle, 101 ms apart");
        push(name, source, Expected::Within { value, by: 1e-9 }, blue_after(losses, idle));
    }
    let [early, full_queue] = blue_shares(if full { 20_000_000 } else { 2_000_000 });
    let name = "BLUE, load 1.05: share dropped by its probability".to_owned();
    push(name, "1 - 1 / load, once it has settled", Expected::Within { value: 1.0 - 1.0 / 1.05, by: 0.005 }, early);
    let name = "BLUE, load 1.05: share dropped for want of room".to_owned();
    push(name, "Feng et al. 2002: near zero", Expected::AtMost(0.005), full_queue);

    let seconds = if full { 300.0 } else { 90.0 };
    for stack in Stack::all().into_iter().take(if full { 3 } else { 1 }) {
        lengths(&mut push, &stack, full, seconds);
    }
    rows
}

/// Where PI, REM and Adaptive RED hold the queue of flows of `stack`.
fn lengths(push: &mut impl FnMut(String, &str, Expected, f64), stack: &Stack, full: bool, seconds: f64) {
    let tcp = &stack.tcp;
    // 15 Mbit/s in packets of 500 bytes are 3,750 a second.
    let pi = Pi::new(PiParams { ecn: true, limit: Limit::Packets(800), ..PiParams::default() }, stream());
    let [queue, lost] = pi.map_or([f64::NAN; 2], |pi| {
        let link = link(Queue::Arrival(Admission::Pi(Box::new(pi))), 15_000_000);
        held(Load { link, flows: 60, rtt: Duration::from_millis(180), mss: 446, rate: 3_750.0 }, tcp, seconds)
    });
    let name = stack.row("PI, 60 flows, 3,750 packets per second: mean queue, packets");
    push(name, "Hollot et al. 2001: q_ref", Expected::Near { value: 200.0, share: 0.1 }, queue);
    push(stack.row("PI with marks, the same: share lost"), "Hollot et al. 2001", Expected::AtMost(0.0), lost);
    // REM's claim is that the queue does not depend on the number of flows.
    for flows in [20, 40, 80].into_iter().take(if full { 3 } else { 2 }) {
        let rem = Rem::new(RemParams { ecn: true, ..RemParams::default() }, stream());
        let [queue, _] = rem.map_or([f64::NAN; 2], |rem| {
            // 40 Mbit/s in packets of 1,000 bytes.
            let link = link(Queue::Arrival(Admission::Rem(Box::new(rem))), 40_000_000);
            held(Load { link, flows, rtt: Duration::from_millis(40), mss: 946, rate: 5_000.0 }, tcp, seconds)
        });
        let name = stack.row(&format!("REM, {flows} flows: mean queue, packets"));
        let expected = Expected::Near { value: 20.0, share: 0.25 };
        push(name, "Athuraliya et al. 2001: b*, whatever the number of flows", expected, queue);
    }
    for flows in [40, 60, 90] {
        let params = AdaptiveRedParams { min: Some(20), ecn: true, mean_packet: 1_000, ..AdaptiveRedParams::default() };
        let red = Rate::from_bits_per_second(40_000_000).and_then(|rate| AdaptiveRed::new(params, rate, stream()).ok());
        let [queue, _] = red.map_or([f64::NAN; 2], |red| {
            let link = link(Queue::Arrival(Admission::AdaptiveRed(Box::new(red))), 40_000_000);
            held(Load { link, flows, rtt: Duration::from_millis(100), mss: 946, rate: 5_000.0 }, tcp, seconds)
        });
        let name = stack.row(&format!("Adaptive RED, thresholds 20 and 60, {flows} flows: mean queue, packets"));
        let expected = Expected::Near { value: 40.0, share: 0.15 };
        let source = "Floyd, Gummadi and Shenker 2001: min + 0.4 to 0.6 of (max - min)";
        push(name, source, expected, queue);
    }
}
