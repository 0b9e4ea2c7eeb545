//! What a connection costs two workers, kernel and reports included: `worker_cost [connections] [per second] [exchanges]
//! [milliseconds between them]`.
//!
//! Two namespaces with a wire between them, no emulator; requests of 500 bytes, responses of 10 KB, and the acceptor closes.
//! Needs root.

#[allow(dead_code, reason = "each user of it needs a part")]
mod built;
#[allow(dead_code, reason = "each user of it needs a part")]
mod support;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Close, LinkSide, Pattern, Side};
use flowloom_live::control::{Ended, SocketOptions};
use flowloom_live::lateness::Lateness;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;

use support::{Planned, Sides, play, vector};

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse().expect("a number"));
    let connections: u64 = arguments.next().unwrap_or(20_000);
    let rate: u64 = arguments.next().unwrap_or(2_000);
    let Some(sides) = Sides::new() else { return };
    let exchanges: usize = arguments.next().unwrap_or(1) as usize;
    let think: u64 = arguments.next().unwrap_or(0);
    let one = [(Side::Initiator, 500, 0), (Side::Acceptor, 10_000, think)];
    let exchange = vector(Pattern::Sequential, &one.repeat(exchanges), Close::Fin(Side::Acceptor));
    // Assignments come a second before their time.
    let at = |n| Time::ZERO + Duration::from_secs(2) + Duration::from_nanos(n * 1_000_000_000 / rate);
    let planned: Vec<_> = (0..connections)
        .map(|n| Planned {
            from: [LinkSide::Left, LinkSide::Right][n as usize % 2],
            ..Planned::new(at(n), exchange.clone())
        })
        .collect();
    let before = cpu();
    let played = play(&sides, &[SocketOptions { congestion: Some("cubic".to_owned()), mss: None }], &planned);
    let [user, system] = [0, 1].map(|n| (cpu()[n] - before[n]) as f64 / 1e3 / connections as f64);
    println!("{:.1} us a connection, both ends: {user:.1} user, {system:.1} system", user + system);
    let completed = played.ends.values().filter(|end| end.ended == Ended::Completed).count();
    println!("{completed} of {} ends completed", 2 * connections);
    let mut responses: Vec<_> = played.ends.values().flat_map(|end| &end.epochs).collect();
    responses.sort_by_key(|epoch| epoch.end.since(epoch.intended));
    for share in [0.5, 0.99] {
        let epoch = responses[(responses.len() as f64 * share) as usize];
        println!("intended response time, {:.0} %: {}", share * 100.0, epoch.end.since(epoch.intended));
    }
    for (side, worker) in ["left", "right"].into_iter().zip(&played.workers) {
        for (what, counted) in [("starts", &worker.starts), ("waits", &worker.waits)] {
            let late = Lateness::from(counted);
            let [half, most, nearly] = [0.5, 0.99, 0.999].map(|share| late.quantile(share));
            println!("{side} {what}: {}, late by {half} (50 %), {most} (99 %), {nearly} (99.9 %)", late.count());
        }
    }
}

/// User and system time of this process, in nanoseconds.
fn cpu() -> [i64; 2] {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("it never fails");
    [usage.user_time().num_nanoseconds(), usage.system_time().num_nanoseconds()]
}
