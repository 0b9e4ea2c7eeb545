//! Queue disciplines against the laws they were published with.

use flowloom_core::path::{Link, LinkEvent, LossModel, Offered};
use flowloom_core::queue::{
    Admission, Codel, CodelParams, FqCodel, FqCodelParams, Packet, Pie, PieParams, Queue, Red, RedParams, Scheduler,
};
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::tcp::Config;
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};
use flowloom_sim::open_loop::{self, Gaps, Sizes, Source};

use crate::check::{Effort, Expected, Row};
use crate::lab::{Flow, Lab};
use crate::profiles::Stack;

pub(crate) const GROUP: &str = "Active queue management";

pub(crate) fn stream() -> Stream {
    Stream::new(1, Purpose::Loss, 77)
}

pub(crate) fn link(queue: Queue, bits: u64) -> Link {
    let rate = Rate::from_bits_per_second(bits).unwrap_or(Rate::UNLIMITED);
    Link::new(queue, rate, Duration::ZERO, Duration::from_secs(1_000_000))
}

fn pie() -> Option<Queue> {
    Pie::new(PieParams::default(), stream()).ok().map(|pie| Queue::Arrival(Admission::Pie(Box::new(pie))))
}

fn codel() -> Option<Queue> {
    Codel::new(CodelParams::default()).ok().map(|codel| Queue::Departure(Scheduler::Codel(Box::new(codel))))
}

/// The first instants at which CoDel drops under a constant load of 1.5, in seconds.
fn codel_drops() -> Vec<f64> {
    let Some(queue) = codel() else { return Vec::new() };
    // 1,000 bytes take 0.1 ms.
    let mut link = link(queue, 80_000_000);
    let mut drops = Vec::new();
    for n in 0..60_000u64 {
        let _ = link.offer(Time::from_nanos(n * 66_667), Packet::new(1_000));
        while let Some(event) = link.poll() {
            if let LinkEvent::Dropped { time, .. } = event {
                drops.push(time.as_secs_f64());
            }
        }
    }
    drops
}

/// Waits in milliseconds of ten long flows over `queue` at 10 Mbit/s, with their times, without the first third.
fn waits(queue: Queue, tcp: &Config, seconds: f64) -> Vec<(Time, f64)> {
    let flow = |n: u64| Flow {
        start: Time::ZERO + Duration::from_millis(211 * n),
        ..Flow::endless(Duration::from_millis(80 + 4 * n), tcp.clone())
    };
    waits_of(&(0..10).map(flow).collect::<Vec<_>>(), queue, 10_000_000, seconds)
}

/// The same of `flows` over a link of so many bits a second.
fn waits_of(flows: &[Flow], queue: Queue, bits: u64, seconds: f64) -> Vec<(Time, f64)> {
    let lab = Lab { trace: true, ..Lab::new(Some(link(queue, bits)), LossModel::None, seconds) };
    let outcome = lab.run(flows);
    let settled = Time::ZERO + Duration::from_secs_f64(seconds / 3.0);
    let settled = outcome.waits.iter().filter(|(time, _)| *time > settled);
    settled.map(|(time, wait)| (*time, wait.as_secs_f64() * 1e3)).collect()
}

pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) = values.into_iter().fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// The least wait of each 100 ms, which is what CoDel looks at.
fn least(waits: &[(Time, f64)]) -> Vec<f64> {
    let interval = |time: Time| time.as_nanos() / 100_000_000;
    let chunks = waits.chunk_by(|one, other| interval(one.0) == interval(other.0));
    chunks.map(|chunk| chunk.iter().map(|(_, wait)| *wait).fold(f64::INFINITY, f64::min)).collect()
}

pub(crate) fn rows(effort: Effort) -> Vec<Row> {
    let full = effort == Effort::Full;
    let mut rows = Vec::new();
    let mut push =
        |name: String, source: &str, expected, ours| rows.push(Row::new(GROUP, name, source, expected, ours));

    let drops = codel_drops();
    for n in [1, 2, 5, 10, 20] {
        let ours = match (drops.get(n), drops.get(n - 1)) {
            (Some(next), Some(last)) => (next - last) * 1e3,
            _ => f64::NAN,
        };
        // A packet takes 0.1 ms: that is how late a drop may be, and the one before it.
        let expected = Expected::Within { value: 100.0 / libm::sqrt(n as f64), by: 0.2 };
        push(format!("CoDel: time from drop {n} to the next, ms"), "RFC 8289 5.4: 100 ms / sqrt(n)", expected, ours);
    }

    // A constant overload makes RED drop the share that is too much. Marks are spread evenly (method 2 of the paper): with a
    // probability b the gaps are uniform over 1 to 1/b, so that a share of 2 b / (1 + b) is dropped.
    for load in [1.01, 1.03, 1.05] {
        let share = 1.0 - 1.0 / load;
        let b = share / (2.0 - share);
        let params = RedParams {
            limit: Limit::Packets(1_000),
            min: Limit::Packets(50),
            max: Limit::Packets(150),
            max_p: 0.05,
            weight: 0.002,
            mean_packet: 1_000,
            gentle: false,
            ecn: false,
            ..RedParams::default()
        };
        let rate = 80_000_000;
        let red = Rate::from_bits_per_second(rate).and_then(|rate| Red::new(params, rate, stream()).ok());
        let ours = red.map_or(f64::NAN, |red| {
            let gaps = Gaps::Constant(Duration::from_secs_f64(1e-4 / load));
            let packets = if full { 20_000_000 } else { 1_000_000 };
            let mut link = link(Queue::Arrival(Admission::Red(Box::new(red))), rate);
            let results = open_loop::run(&mut link, &[Source { gaps, sizes: Sizes::Constant(1_000) }], packets, 1);
            results.mean_wait * 1e4
        });
        let expected = Expected::Near { value: 50.0 + 100.0 * b / 0.05, share: 0.05 };
        let source = "Floyd and Jacobson 1993: 2 b / (1 + b) dropped, b = max_p (avg - min) / (max - min)";
        push(format!("RED, thresholds 50 and 150, load {load}: mean queue, packets"), source, expected, ours);
    }

    let seconds = if full { 300.0 } else { 40.0 };
    for stack in Stack::all() {
        let source = "RFC 8033 4.2: QDELAY_REF";
        let ours =
            pie().map_or(f64::NAN, |pie| mean(waits(pie, &stack.tcp, seconds).into_iter().map(|(_, wait)| wait)));
        let name = stack.row("PIE, ten long flows at 10 Mbit/s: mean wait, ms");
        push(name, source, Expected::Near { value: 15.0, share: 0.25 }, ours);
        for flows in [5, 20, 50].into_iter().filter(|_| full) {
            let flow = |n: u64| Flow {
                start: Time::ZERO + Duration::from_millis(37 * n),
                ..Flow::endless(Duration::from_millis(40), stack.tcp.clone())
            };
            let all: Vec<Flow> = (0..flows).map(flow).collect();
            let ours = pie().map_or(f64::NAN, |pie| {
                mean(waits_of(&all, pie, 20_000_000, seconds).into_iter().map(|(_, wait)| wait))
            });
            let name = stack.row(&format!("PIE, {flows} long flows of 40 ms at 20 Mbit/s: mean wait, ms"));
            push(name, source, Expected::Near { value: 15.0, share: 0.2 }, ours);
        }
        let ours = codel().map_or(f64::NAN, |queue| mean(least(&waits(queue, &stack.tcp, seconds))));
        let name = stack.row("CoDel, ten long flows at 10 Mbit/s: mean of the least wait of each 100 ms, ms");
        push(name, "RFC 8289 4.4: TARGET", Expected::Near { value: 5.0, share: 0.25 }, ours);
    }
    // Two sources that send more than their half, one of them five times as much; and one that stays below its share.
    let fq = FqCodel::new(FqCodelParams::default(), stream());
    let seconds = if full { 60 } else { 10 };
    let (shares, wait) = fq.map_or(([f64::NAN; 3], f64::NAN), |fq| fq_codel_shares(fq, seconds));
    let fair = Expected::Within { value: 0.45, by: 0.01 };
    push(
        "FQ-CoDel: share of a source that sends at 4 times the rate".to_owned(),
        "RFC 8290 4.1, max-min",
        fair,
        shares[0],
    );
    push(
        "FQ-CoDel: share of a source that sends at 0.8 of the rate".to_owned(),
        "RFC 8290 4.1, max-min",
        fair,
        shares[1],
    );
    let thin = Expected::Within { value: 0.1, by: 0.001 };
    push(
        "FQ-CoDel: share of a source that sends a tenth of the rate".to_owned(),
        "RFC 8290 4.1, max-min",
        thin,
        shares[2],
    );
    let name = "FQ-CoDel: mean wait of that sparse source, ms, at most two packets of the others".to_owned();
    push(name, "RFC 8290 4.2, new queues first", Expected::AtMost(2.0 * 1.2), wait);
    rows
}

/// Shares of a link of 10 Mbit/s that three sources of constant rates get, and the mean wait of the last in milliseconds.
fn fq_codel_shares(fq: FqCodel, seconds: u64) -> ([f64; 3], f64) {
    const BYTES: u32 = 1_500;
    // Gaps in nanoseconds: a packet takes 1.2 ms.
    const GAPS: [u64; 3] = [300_000, 1_500_000, 12_000_000];
    let mut link = link(Queue::Departure(Scheduler::FqCodel(Box::new(fq))), 10_000_000);
    let mut next = [0, 70_000, 110_000];
    let mut carried = [0u64; 3];
    let mut waited = Duration::ZERO;
    let mut count = |flow: usize, arrived: u64, started: Time| {
        carried[flow] += 1;
        if flow == 2 {
            waited += started.since(Time::from_nanos(arrived));
        }
    };
    loop {
        let flow = (0..3).min_by_key(|flow| next[*flow]).unwrap_or(0);
        let now = next[flow];
        if now > seconds * 1_000_000_000 {
            break;
        }
        next[flow] += GAPS[flow];
        let packet = Packet { flow: flow as u64, tag: now, ..Packet::new(BYTES) };
        if let Ok(Offered::Passes(passage)) = link.offer(Time::from_nanos(now), packet) {
            count(flow, now, passage.started);
        }
        while let Some(event) = link.poll() {
            if let LinkEvent::Started { packet, passage } = event {
                count(packet.flow as usize, packet.tag, passage.started);
            }
        }
    }
    let total: u64 = carried.iter().sum();
    let sparse = carried[2].max(1) as f64;
    (carried.map(|packets| packets as f64 / total as f64), waited.as_secs_f64() * 1e3 / sparse)
}
