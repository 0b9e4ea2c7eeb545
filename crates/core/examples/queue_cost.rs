//! Cost of a packet at a link, by queue discipline, in CPU nanoseconds.
//!
//! `cargo run --release -p flowloom-core --example queue_cost [NAME [PACKETS]]`
//!
//! 64 flows offer 5 % more than the line carries, so that every discipline has to drop or mark. With a name only that
//! discipline runs, for `valgrind --tool=callgrind` or `perf stat`.

use flowloom_core::path::{Link, LinkEvent, Offered};
use flowloom_core::queue::*;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::units::{Limit, Rate};
use flowloom_core::wire::Ecn;

fn disciplines() -> Vec<(&'static str, Discipline)> {
    let limit = Limit::Packets(500);
    // The full buffer is 4 ms.
    let millisecond = Duration::from_millis(1);
    let (min, max) = (Limit::Packets(50), Limit::Packets(150));
    let red = RedParams { limit, min, max, ..RedParams::default() };
    let adaptive = AdaptiveRedParams { limit, target_delay: millisecond, ..AdaptiveRedParams::default() };
    vec![
        ("drop-tail", Discipline::DropTail(limit)),
        ("step", Discipline::Step(StepParams { limit, threshold: min, at: StepPoint::Enqueue })),
        ("step-dequeue", Discipline::Step(StepParams { limit, threshold: min, at: StepPoint::Dequeue })),
        ("red", Discipline::Red(red)),
        ("adaptive-red", Discipline::AdaptiveRed(adaptive)),
        ("blue", Discipline::Blue(BlueParams { limit, ..BlueParams::default() })),
        ("pi", Discipline::Pi(PiParams { limit, ..PiParams::default() })),
        ("rem", Discipline::Rem(RemParams { limit, ..RemParams::default() })),
        ("pie", Discipline::Pie(PieParams { limit, target: millisecond, ..PieParams::default() })),
        ("head-drop", Discipline::HeadDrop(limit)),
        ("codel", Discipline::Codel(CodelParams { limit, target: millisecond, ..CodelParams::default() })),
        ("fq-codel", Discipline::FqCodel(FqCodelParams { limit, target: millisecond, ..FqCodelParams::default() })),
        ("drr", Discipline::DeficitRoundRobin { limit, quantum: 1_514 }),
        ("round-robin", Discipline::RoundRobin(limit)),
        ("priority", Discipline::Priority { limit, bands: 3 }),
    ]
}

/// What came of the packets: carried, marked, dropped.
fn run(discipline: &Discipline, packets: u64) -> Result<[u64; 3], ParameterError> {
    let Some(rate) = Rate::from_bits_per_second(1_000_000_000) else { return Ok([0; 3]) };
    let queue = discipline.build(rate, Stream::new(1, Purpose::Queue, 0))?;
    let mut link = Link::new(queue, rate, Duration::from_millis(1), Duration::from_secs(3_600));
    let (mut now, mut state, mut counts) = (Time::ZERO, 1u64, [0u64; 3]);
    for tag in 0..packets {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        // 1,000 bytes take 8 us; gaps of 0 to 15.23 us.
        now += Duration::from_nanos((state >> 33) % 15_238);
        while !link.decides_at_arrival()
            && let Some(due) = link.next_timeout()
            && due <= now
        {
            link.handle_timeout(due);
            drain(&mut link, &mut counts);
        }
        let flow = (state >> 48) % 64;
        let packet = Packet { bytes: 1_000, class: flow as u8 % 3, ecn: Ecn::NotEct, flow, tag };
        match link.offer(now, packet) {
            Ok(Offered::Passes(passage)) => counts[usize::from(passage.marked)] += 1,
            Ok(Offered::Queued) => drain(&mut link, &mut counts),
            Err(_) => counts[2] += 1,
        }
    }
    Ok(counts)
}

fn drain(link: &mut Link, counts: &mut [u64; 3]) {
    while let Some(event) = link.poll() {
        match event {
            LinkEvent::Started { passage, .. } => counts[usize::from(passage.marked)] += 1,
            LinkEvent::Dropped { .. } => counts[2] += 1,
        }
    }
}

/// CPU time of this thread so far, in nanoseconds; `None` where the kernel does not tell.
fn cpu_nanos() -> Option<u64> {
    std::fs::read_to_string("/proc/self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

fn main() -> Result<(), ParameterError> {
    let mut args = std::env::args().skip(1);
    let wanted = args.next();
    let packets = args.next().and_then(|packets| packets.parse().ok()).unwrap_or(3_000_000);
    println!("{:<14} {:>12} {:>10} {:>10} {:>10}", "discipline", "ns/packet", "carried", "marked", "dropped");
    for (name, discipline) in disciplines() {
        if wanted.as_deref().is_some_and(|wanted| wanted != name) {
            continue;
        }
        let before = cpu_nanos();
        let [carried, marked, dropped] = run(&discipline, packets)?;
        let cost = cpu_nanos().zip(before).map(|(after, before)| (after - before) as f64 / packets as f64);
        let cost = cost.map_or("unknown".to_owned(), |cost| format!("{cost:.1}"));
        println!("{name:<14} {cost:>12} {carried:>10} {marked:>10} {dropped:>10}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_discipline_accepts_its_parameters_and_loses_no_packet() {
        for (name, discipline) in disciplines() {
            let offered = 20_000;
            let counts = run(&discipline, offered).unwrap_or_else(|error| panic!("{name}: {error}"));
            let [carried, marked, dropped] = counts;
            let queued = offered - (carried + marked + dropped);
            assert!(queued <= 501, "{name}: {queued} of {offered} are neither carried nor dropped: {counts:?}");
            assert!(dropped > 0, "{name} carried 5 % more than its line can");
        }
    }
}
