//! Workers that are processes: stopped, and short of descriptors.

use std::fs::File;
use std::io::{self, BufWriter, PipeReader, PipeWriter};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::{Command, Stdio};
use std::thread;

use flowloom_core::time::Duration;
use flowloom_core::workload::{Close, LinkSide, Pattern, Side};
use flowloom_live::clock::Clock;
use flowloom_live::control::{Ended, FromWorker, LiveEpoch, SocketOptions, ToWorker, settle_intended};
use flowloom_live::worker;
use nix::libc;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Planned, Sides, Worker, at, finish, orders, vector};

const I: Side = Side::Initiator;
const A: Side = Side::Acceptor;

/// Tells the process of a worker its namespace, and how many descriptors it may have.
const NAMESPACE: &str = "FLOWLOOM_TEST_NAMESPACE";
const DESCRIPTORS: &str = "FLOWLOOM_TEST_DESCRIPTORS";

/// What such a process runs. In the process of the tests it does nothing.
#[test]
fn a_worker() {
    let Ok(namespace) = std::env::var(NAMESPACE) else { return };
    if let Ok(most) = std::env::var(DESCRIPTORS) {
        let most = most.parse().unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, most, most).unwrap();
    }
    // Its standard output is the test harness's.
    worker::run(File::open(namespace).unwrap(), io::stdin(), io::stderr()).unwrap();
    std::process::exit(0);
}

fn spawn(sides: &Sides, side: LinkSide, descriptors: Option<u32>) -> (Worker, Pid) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "worker_process::a_worker", "--nocapture"]);
    command.env(NAMESPACE, format!("/proc/{}/fd/{}", std::process::id(), sides.0[side as usize].as_raw_fd()));
    command.envs(descriptors.map(|most| (DESCRIPTORS, most.to_string())));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let process = Pid::from_raw(child.id() as i32);
    let mut worker = Worker {
        orders: BufWriter::new(PipeWriter::from(OwnedFd::from(child.stdin.take().unwrap()))),
        reports: PipeReader::from(OwnedFd::from(child.stderr.take().unwrap())),
        thread: thread::spawn(move || {
            let status = child.wait()?;
            if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) }
        }),
        assigned: 0,
    };
    worker.tell(&ToWorker::Begin(Box::new(orders(side, vec![SocketOptions::default()]))));
    assert_eq!(worker.hear(), Some(FromWorker::Ready));
    (worker, process)
}

fn assign(workers: &mut [Worker; 2], planned: &[Planned]) {
    for (serial, planned) in (0..).zip(planned) {
        workers[planned.from as usize].tell(&planned.assignment(serial, I));
        workers[planned.from.other() as usize].tell(&planned.assignment(serial, A));
    }
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::NoMore));
}

/// In a steady run of 4 s a worker is stopped for half a second: of exchanges that start on a schedule an eighth is late by up to
/// that, so that a hundredth is late by 0.46 s; of exchanges that depend on each other all are that follow.
fn stop_one(stopped: LinkSide) {
    let Some(sides) = Sides::new() else { return };
    let started = [LinkSide::Left, LinkSide::Right].map(|side| spawn(&sides, side, None));
    let process = started[stopped as usize].1;
    let mut workers = started.map(|(worker, _)| worker);
    let clock = Clock::starting_in(Duration::from_millis(100));
    workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::Start(clock)));
    let exchange = vector(Pattern::Sequential, &[(I, 200, 0), (A, 1_000, 0)], Close::Fin(A));
    let mut planned: Vec<_> = (0..800).map(|n| Planned::new(at(n * 5), exchange.clone())).collect();
    let chain: Vec<_> = (0..600).map(|n| (Side::BOTH[n % 2], 100, if n % 2 == 0 { 0 } else { 10 })).collect();
    planned.push(Planned::new(at(0), vector(Pattern::Sequential, &chain, Close::Fin(A))));
    assign(&mut workers, &planned);
    clock.sleep_until(at(1_500));
    kill(process, Signal::SIGSTOP).unwrap();
    let stopped_at = clock.now();
    clock.sleep_until(at(2_000));
    kill(process, Signal::SIGCONT).unwrap();
    let stop = clock.now().since(stopped_at).as_secs_f64();
    let mut played = finish(workers);
    let late: Vec<_> =
        (0..=800).map(|serial| std::mem::take(&mut played.ends.get_mut(&(serial, A)).unwrap().late)).collect();
    let mut epochs = |serial: u32| {
        let mut epochs = std::mem::take(&mut played.ends.get_mut(&(serial, I)).unwrap().epochs);
        settle_intended(&mut epochs, &late[serial as usize]);
        epochs
    };
    let schedule: Vec<_> = (0..800).flat_map(&mut epochs).collect();
    let chain = epochs(800);
    assert_eq!((schedule.len(), chain.len()), (800, 300));
    for (what, epochs) in [("schedule", &schedule), ("chain", &chain)] {
        let [intended, measured] = p99(epochs);
        eprintln!("{stopped:?} stopped, {what}: intended {intended:.3} s, measured {measured:.3} s");
        // A busy host makes it more.
        assert!((0.8 * stop..stop + 1.0).contains(&intended), "{what}: {intended}");
        assert!(what == "schedule" || measured < 0.8 * stop, "{what}: {measured}");
    }
}

/// The delay that a hundredth of the exchanges exceed, from when they were intended and from when they began.
fn p99(epochs: &[LiveEpoch]) -> [f64; 2] {
    [|epoch: &LiveEpoch| epoch.intended, |epoch: &LiveEpoch| epoch.start].map(|from| {
        let mut times: Vec<_> = epochs.iter().map(|epoch| epoch.end.since(from(epoch)).as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        times[times.len() * 99 / 100]
    })
}

#[test]
fn a_stop_of_the_acceptors_shows_in_intended_response_times() {
    stop_one(LinkSide::Right);
}

#[test]
fn a_stop_of_the_initiators_shows_in_intended_response_times() {
    stop_one(LinkSide::Left);
}

#[test]
fn who_gets_no_descriptor_is_reported() {
    let Some(sides) = Sides::new() else { return };
    for short in [LinkSide::Left, LinkSide::Right] {
        let mut workers =
            [LinkSide::Left, LinkSide::Right].map(|side| spawn(&sides, side, (side == short).then_some(64)).0);
        let clock = Clock::starting_in(Duration::from_millis(50));
        workers.iter_mut().for_each(|worker| worker.tell(&ToWorker::Start(clock)));
        let waits = vector(Pattern::Sequential, &[(I, 100, 300), (A, 100, 0)], Close::Fin(A));
        let planned: Vec<_> = (0..100).map(|_| Planned::new(at(0), waits.clone())).collect();
        assign(&mut workers, &planned);
        if short == LinkSide::Left {
            // The acceptors would wait on.
            clock.sleep_until(at(1_000));
            workers[1].tell(&ToWorker::Stop);
        }
        let played = finish(workers);
        assert_eq!(played.ends.len(), 200);
        let (mut refused, mut completed) = (0, 0);
        for serial in 0..100 {
            let ends = Side::BOTH.map(|side| &played.ends[&(serial, side)].ended);
            match ends {
                [Ended::Completed, Ended::Completed] => completed += 1,
                // There was no connection, or it was reset.
                [Ended::Error(libc::EMFILE), Ended::Cut] if short == LinkSide::Left => refused += 1,
                [Ended::Reset, Ended::Error(libc::EMFILE)] if short == LinkSide::Right => refused += 1,
                other => panic!("{short:?} short of descriptors: {other:?}"),
            }
        }
        assert!(refused > 40 && completed > 20, "{refused} {completed}");
    }
}
