//! A worker: plays ends of connections over kernel TCP sockets, in a network namespace.
//!
//! One thread plays ([`engine`]); it is woken by its sockets and by time, and neither by its run's messages being long nor by
//! a full pipe is it held up: those have threads of their own ([`inbox`], [`outbox`]).
//!
//! | module | holds |
//! |---|---|
//! | `engine` | the loop: who has a turn when |
//! | `end` | one end of a connection: a player over a socket |
//! | `reading` | an end that pauses while it reads |
//! | `socket` | what kernel TCP is asked for |
//! | `datagrams`, `label` | flows of datagrams; what is written into one |
//! | `namespaces` | the namespaces in which it opens sockets |
//! | `intended` | when an end should have done what it did |
//! | `pace` | when to look again, and how long what is found may have been there |
//! | `inbox`, `outbox` | what the run says, and hears |

mod context;
mod datagrams;
mod end;
mod engine;
mod inbox;
mod intended;
pub mod label;
mod namespaces;
mod outbox;
mod pace;
mod reading;
mod socket;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

use flowloom_core::time::Time;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};

use self::datagrams::DatagramEnds;
use self::engine::{Engine, Finish};
use self::inbox::Inbox;
use self::namespaces::Namespaces;
use self::outbox::Outbox;
use self::socket::probe_congestion;
use crate::addresses;
use crate::control::{FromWorker, Orders, ToWorker};
use crate::host::turns::take_short_turns;
use context::context;

/// How late timers of this thread may ring, in nanoseconds: the kernel's default is 50 us.
const TIMER_SLACK_NANOS: u64 = 1_000;

/// The worker process of a run: with the control pipes as standard input and output, in the namespace behind the descriptor of
/// this number, which it inherited.
///
/// It does not hear of interrupts of the terminal: what becomes of them the run decides. It is killed when the thread of the run
/// that started it ends (PR_SET_PDEATHSIG).
///
/// # Errors
/// As [`run`].
pub fn process(namespace: u32) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // Threads inherit what is blocked.
    [Signal::SIGINT, Signal::SIGHUP].into_iter().collect::<SigSet>().thread_block()?;
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?;
    // Without the buffers of the standard streams: those end at each line, of which these bytes have none.
    let [input, output] = [io::stdin().as_fd(), io::stdout().as_fd()].map(|stream| stream.try_clone_to_owned());
    run(File::open(format!("/proc/self/fd/{namespace}"))?, File::from(input?), File::from(output?))
}

/// Works on the calling thread, in `namespace`, which the thread enters for good, as the messages from `input` say, and tells
/// `output` what came of it.
///
/// All is over and reported when each of its ends is, or after [`ToWorker::Stop`]; what is left open then ends without a packet.
/// It returns when the input ends: until then its sockets for datagrams take in what is still on the way, of which the kernel would
/// otherwise tell the sender that nobody has the port (ICMP, RFC 1122 4.1.3.1).
///
/// # Errors
/// The kernel's; what came is no message or makes no sense; or the run is gone: the input has ended before, or nobody reads
/// the output. The run is told, if it can be.
pub fn run(
    namespace: impl AsFd,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
) -> io::Result<()> {
    let mut outbox = Outbox::new(output)?;
    let worked = work(namespace, input, &mut outbox);
    if let Err(error) = &worked {
        outbox.send(FromWorker::Failed(error.to_string()));
    }
    let written = outbox.finish();
    let left = worked?;
    written?;
    left.map_or(Ok(()), Left::keep)
}

/// What a worker keeps when it has reported.
struct Left {
    inbox: Inbox,
    /// Open, until it is dropped.
    _datagrams: DatagramEnds,
}

impl Left {
    /// Keeps it until the run has nothing more to say.
    fn keep(mut self) -> io::Result<()> {
        while self.inbox.wait()?.is_some() {}
        Ok(())
    }
}

fn work(namespace: impl AsFd, input: impl Read + Send + 'static, outbox: &mut Outbox) -> io::Result<Option<Left>> {
    let mut inbox = Inbox::new(input)?;
    let Some(ToWorker::Begin(orders)) = inbox.wait()? else {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the first message to a worker was not how to begin"));
    };
    let mut namespaces = Namespaces::enter(namespace, &orders)?;
    let inherited = prepare(&orders)?;
    let listeners = namespaces.listen(orders.versions(), addresses::FIRST_PORT + orders.number, inherited)?;
    let datagrams =
        DatagramEnds::new(&orders, &mut namespaces).map_err(|error| context("cannot take in datagrams", &error))?;
    prctl::set_timerslack(TIMER_SLACK_NANOS)?;
    take_short_turns();
    outbox.send(FromWorker::Ready);
    let mut assignments = Vec::new();
    let mut no_more = false;
    let clock = loop {
        match inbox.wait()? {
            Some(ToWorker::Start(clock)) => break clock,
            Some(ToWorker::Assign(assignment)) => assignments.push(assignment),
            Some(ToWorker::NoMore) => no_more = true,
            Some(ToWorker::Settle(_)) => {}
            Some(ToWorker::Stop) => {
                outbox.send(FromWorker::Done(Box::default()));
                return Ok(None);
            }
            None => return Err(deserted()),
            Some(ToWorker::Begin(_)) => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a worker was told to begin twice"));
            }
        }
    };
    let mut engine = Engine::new(&orders, clock, (namespaces, listeners, inherited), datagrams, inbox, outbox)?;
    assignments.iter().try_for_each(|assignment| engine.assign(assignment))?;
    if no_more {
        engine.expect_no_more();
    }
    // The clock stands at its origin until that comes: what is due there is not due before.
    clock.sleep_until(Time::ZERO);
    let played = engine.play();
    let (report, inbox, datagrams) = engine.close();
    match played? {
        Finish::Done => outbox.send(FromWorker::Done(Box::new(report))),
        Finish::Deserted => return Err(deserted()),
    }
    Ok(Some(Left { inbox, _datagrams: datagrams }))
}

fn deserted() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "the run is gone")
}

/// Sees that the kernel has all congestion controls; which of them a listener passes on.
fn prepare(orders: &Orders) -> io::Result<Option<&str>> {
    let mut names: Vec<_> = orders.classes.iter().filter_map(|class| class.congestion.as_deref()).collect();
    names.sort_unstable();
    names.dedup();
    for name in &names {
        probe_congestion(name).map_err(|error| context(&format!("no congestion control {name:?} here"), &error))?;
    }
    let is_common = names.len() == 1 && orders.classes.iter().all(|class| class.congestion.is_some());
    Ok(names.first().copied().filter(|_| is_common))
}
