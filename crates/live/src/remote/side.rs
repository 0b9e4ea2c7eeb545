//! The side process: a side of a run, or a share of one, on a host that is not the emulator's.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use flowloom_core::time::Duration;
use flowloom_core::units::Rate;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};

use super::tunnel::NearEnd;
use super::{Begun, FromSide, SideOrders, ToSide};
use crate::control::{Orders, ToWorker, receive, send};
use crate::host::limits::MOST_WORKERS;
use crate::host::namespace::current_inode;
use crate::host::testbed::{Choice, Side};
use crate::host::turns;
use crate::workers::{Heard, Program, Workers};

/// How long the tunnel waits for packets before it looks whether it goes on.
const GLANCE: Duration = Duration::from_millis(50);
/// How long workers are waited for before it looks whether the run is over.
const LOOK: Duration = Duration::from_millis(50);

/// What the one who starts a side process allows it, whatever the run says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowed {
    /// Where the emulator is: datagrams go there and nowhere else.
    pub emulator: SocketAddr,
    /// At this rate at most, in bit/s of IP packets.
    pub most: Rate,
}

/// The side process, with what the run says as standard input and what it is told as standard output. Workers are `program`.
///
/// It is killed when the thread that started it ends (PR_SET_PDEATHSIG), its workers with it, and nothing of it is left.
///
/// # Errors
/// The kernel's; or what came is no message, or makes no sense. The run is told, if it can be.
pub fn process(program: &Program, allowed: Allowed) -> io::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    [Signal::SIGINT, Signal::SIGHUP].into_iter().collect::<SigSet>().thread_block()?;
    // Without the buffers of the standard streams: those end at each line, of which these bytes have none.
    let input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let output = BufWriter::new(File::from(io::stdout().as_fd().try_clone_to_owned()?));
    let shared = Arc::new(Shared { output: Mutex::new(output), over: OnceLock::new() });
    let worked = serve(program, allowed, input, &shared);
    if let Err(error) = &worked {
        // The run may be gone.
        let _ = shared.say(&FromSide::Failed(error.to_string()));
    }
    worked
}

/// What both threads of it need.
struct Shared {
    output: Mutex<BufWriter<File>>,
    /// The run says no more, or says what makes no sense.
    over: OnceLock<io::Result<()>>,
}

impl Shared {
    fn say(&self, message: &FromSide) -> io::Result<()> {
        let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
        send(&mut *output, message)?;
        output.flush()
    }
}

fn serve(program: &Program, allowed: Allowed, input: File, shared: &Arc<Shared>) -> io::Result<()> {
    let mut input = BufReader::with_capacity(1 << 16, input);
    let Some(ToSide::Begin(orders)) = receive(&mut input)? else {
        return Err(nonsense("the first message to a side was not how to begin"));
    };
    let SideOrders { side, settings, workers: (first, count), token } = *orders;
    if count == 0 || first.checked_add(count).is_none_or(|end| end > MOST_WORKERS) {
        return Err(nonsense("there are no such workers"));
    }
    let choice = Choice { settings, ..Choice::default() };
    let (mut made, mut device, warnings) = Side::alone(side, &choice).map_err(io::Error::other)?;
    let mut tunnel = NearEnd::new(allowed.emulator, token, allowed.most)?;
    let losses = tunnel.losses();
    let begun = Begun {
        port: tunnel.port()?,
        device: device.words().to_owned(),
        warnings: warnings.iter().map(ToString::to_string).collect(),
        provenance: made.provenance.clone(),
        no_ipv6: made.no_ipv6.as_ref().map(ToString::to_string),
    };
    let mut workers = Workers::start_some(program, &made.namespace, side, first..first + count)?;
    let ears = workers.ears();
    let host_namespace = current_inode()?;
    shared.say(&FromSide::Begun(Box::new(begun)))?;

    let of_carrier = Arc::clone(shared);
    let carrying = thread::Builder::new().name("tunnel".to_owned()).spawn(move || {
        turns::come_first();
        while of_carrier.over.get().is_none() {
            tunnel.carry(&mut device)?;
            tunnel.wait(&device, GLANCE)?;
        }
        Ok::<_, io::Error>(())
    })?;
    let of_listener = Arc::clone(shared);
    thread::Builder::new().name("run".to_owned()).spawn(move || {
        let over = loop {
            match receive(&mut input) {
                Ok(Some(ToSide::Worker(number, message))) => {
                    let place = number.checked_sub(first).map(usize::from);
                    let Some(ear) = place.and_then(|place| ears.get(place)) else {
                        break Err(nonsense("there is no such worker here"));
                    };
                    if let Some(ear) = ear {
                        ear(of_this_host(*message, host_namespace));
                    }
                }
                Ok(Some(ToSide::Count)) => {
                    let counted = made.counters().and_then(|mut counted| {
                        counted.host_drops += losses.of_others.load(Ordering::Relaxed);
                        counted.reader_drops += losses.of_its_own.load(Ordering::Relaxed);
                        of_listener.say(&FromSide::Counted(Box::new(counted)))
                    });
                    if let Err(error) = counted {
                        break Err(error);
                    }
                }
                Ok(Some(ToSide::Begin(_))) => break Err(nonsense("a side was told to begin twice")),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        // Nobody else says so.
        let _ = of_listener.over.set(over);
    })?;
    while shared.over.get().is_none() {
        if let Some((place, heard)) = workers.hear(LOOK) {
            let number = first + place as u16;
            shared.say(&match heard {
                Heard::Said(said) => FromSide::Worker(number, Box::new(said)),
                Heard::Ended(why) => FromSide::Ended(number, why),
            })?;
        }
        if carrying.is_finished() {
            let why = carrying.join().map_err(|_| io::Error::other("the tunnel's thread has ended"))?;
            return why.and_then(|()| Err(io::Error::other("the tunnel has ended")));
        }
    }
    match shared.over.get() {
        Some(Err(error)) => Err(io::Error::new(error.kind(), error.to_string())),
        Some(Ok(())) | None => Ok(()),
    }
}

/// What the run cannot know, or is not to choose: which namespaces there are on this host.
fn of_this_host(message: ToWorker, host_namespace: u64) -> ToWorker {
    match message {
        ToWorker::Begin(orders) => ToWorker::Begin(Box::new(Orders { host_namespace, hosts: Vec::new(), ..*orders })),
        other => other,
    }
}

fn nonsense(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}
