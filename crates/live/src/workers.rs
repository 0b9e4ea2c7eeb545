//! The worker processes of a run: started, or found on other hosts, spoken to, heard, and ended with it.

use std::ffi::OsString;
use std::io::{self, BufReader};
use std::ops::Range;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::LinkSide;
use flowloom_sim::Config;

use crate::clock::Clock;
use crate::control::{FromWorker, Orders, SocketOptions, ToWorker, receive, send_all};
use crate::host::namespace::{Namespace, current_inode};
use crate::problem::{WorkerName, WorkersError};

/// Workers have so long to listen.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often [`Workers::begin`] looks at the time, if no worker says anything.
const LOOK: Duration = Duration::from_millis(10);

/// How a worker process is started: what is called with `--namespace N` has to end up in [`crate::worker::process`].
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// What comes before `--namespace`.
    pub arguments: Vec<OsString>,
}

/// All workers of a run, or those of a host. Dropped, those on this host are killed.
pub struct Workers {
    all: Vec<Worker>,
    each_side: u16,
    heard: Receiver<(usize, Heard)>,
    /// So that there is somebody to wait for when all have ended.
    telling: Sender<(usize, Heard)>,
}

struct Worker {
    side: LinkSide,
    number: u16,
    /// `None` where it is another host's.
    child: Option<Child>,
    /// `None` once it has ended.
    to: Option<Ear>,
    done: bool,
}

/// Takes what is told to a worker on its way. One that has ended does not hear it.
pub type Ear = Arc<dyn Fn(ToWorker) + Send + Sync>;

/// What came from a worker.
#[derive(Debug)]
pub enum Heard {
    /// It said something.
    Said(FromWorker),
    /// It says no more; why, in words, if it had not said it was done.
    Ended(Option<String>),
}

impl Workers {
    /// Starts `each_side` workers in each namespace, left first.
    ///
    /// They are killed when the calling thread ends (PR_SET_PDEATHSIG).
    ///
    /// # Errors
    /// A process or a thread could not be started.
    pub fn start(program: &Program, namespaces: &[Namespace; 2], each_side: u16) -> io::Result<Workers> {
        let mut workers = Workers::none(each_side);
        for (side, namespace) in [LinkSide::Left, LinkSide::Right].into_iter().zip(namespaces) {
            workers.start_in(program, namespace, side, 0..each_side)?;
        }
        Ok(workers)
    }

    /// Starts those of a side that have these numbers, in its namespace; their places are in the order of their numbers.
    ///
    /// # Errors
    /// As [`Workers::start`].
    pub fn start_some(
        program: &Program,
        namespace: &Namespace,
        side: LinkSide,
        numbers: Range<u16>,
    ) -> io::Result<Workers> {
        let mut workers = Workers::none(numbers.len() as u16);
        workers.start_in(program, namespace, side, numbers)?;
        Ok(workers)
    }

    /// Those of a run on other hosts, `each_side` on each side, left first, by how each is told something; and where to say, by its
    /// place, what was heard of it.
    pub fn remote(each_side: u16, ears: impl Iterator<Item = Ear>) -> (Workers, Sender<(usize, Heard)>) {
        let mut workers = Workers::none(each_side);
        let numbered =
            [LinkSide::Left, LinkSide::Right].into_iter().flat_map(|side| (0..each_side).map(move |n| (side, n)));
        let all = numbered.zip(ears).map(|((side, number), ear)| Worker {
            side,
            number,
            child: None,
            to: Some(ear),
            done: false,
        });
        workers.all.extend(all);
        let telling = workers.telling.clone();
        (workers, telling)
    }

    fn none(each_side: u16) -> Workers {
        let (telling, heard) = channel();
        Workers { all: Vec::new(), each_side, heard, telling }
    }

    fn start_in(
        &mut self,
        program: &Program,
        namespace: &Namespace,
        side: LinkSide,
        numbers: Range<u16>,
    ) -> io::Result<()> {
        for number in numbers {
            let at = self.all.len();
            let mut child = namespace.inherited_by(|descriptor| {
                Command::new(&program.path)
                    .args(&program.arguments)
                    .arg("--namespace")
                    .arg(descriptor.to_string())
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()
            })?;
            let pipes = (child.stdin.take(), child.stdout.take());
            self.all.push(Worker { side, number, child: Some(child), to: None, done: false });
            let (Some(input), Some(output)) = pipes else { return Err(io::Error::other("a worker has no pipes")) };
            self.all[at].attach(input, output, at, self.telling.clone())?;
        }
        Ok(())
    }

    /// Tells all workers how they play, with `ipv6` over IPv6 too, and waits until they listen.
    ///
    /// # Errors
    /// A worker fails, or takes too long.
    pub fn begin(
        &mut self,
        config: &Config,
        classes: Vec<SocketOptions>,
        namespaces: [Vec<PathBuf>; 2],
        ipv6: bool,
    ) -> Result<(), WorkersError> {
        let host_namespace = current_inode().map_err(WorkersError::NoProc)?;
        for place in 0..self.count() {
            let (side, number) = self.at(place);
            let orders = Orders {
                side,
                number,
                workers: self.each_side,
                host_namespace,
                hosts: namespaces[side as usize].clone(),
                ipv6,
                replay: config.replay,
                classes: classes.clone(),
                seed: config.seed,
            };
            self.tell(place, ToWorker::Begin(Box::new(orders)));
        }
        let clock = Clock::starting_in(Duration::ZERO);
        let mut waiting = self.count();
        while waiting > 0 {
            match self.hear(LOOK) {
                Some((_, Heard::Said(FromWorker::Ready))) => waiting -= 1,
                Some((place, Heard::Said(FromWorker::Failed(why)))) => {
                    return Err(WorkersError::Failed { worker: self.name(place), why });
                }
                Some((place, Heard::Ended(why))) => {
                    return Err(WorkersError::Failed { worker: self.name(place), why: why.unwrap_or_default() });
                }
                Some((_, Heard::Said(_))) => {}
                None if clock.now() > Time::ZERO + PATIENCE => {
                    return Err(WorkersError::Late { waiting, workers: self.count() });
                }
                None => {}
            }
        }
        Ok(())
    }

    /// How many there are on each side.
    pub fn each_side(&self) -> u16 {
        self.each_side
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// The place of the worker of this number on `side`.
    pub fn place(&self, side: LinkSide, number: u16) -> usize {
        usize::from(side as u16 * self.each_side + number)
    }

    /// The side and the number of the worker at a place.
    pub fn at(&self, place: usize) -> (LinkSide, u16) {
        (self.all[place].side, self.all[place].number)
    }

    /// The name of the worker at a place, for messages.
    pub fn name(&self, place: usize) -> WorkerName {
        let (side, number) = self.at(place);
        WorkerName { side, number }
    }

    /// Tells a worker something. One that has ended does not hear it.
    pub fn tell(&self, place: usize, message: ToWorker) {
        if let Some(to) = &self.all[place].to {
            to(message);
        }
    }

    /// What each of those hears by that have not ended, by place.
    pub fn ears(&self) -> Vec<Option<Ear>> {
        self.all.iter().map(|worker| worker.to.clone()).collect()
    }

    /// Tells all workers something.
    pub fn tell_all(&self, message: &ToWorker) {
        (0..self.all.len()).for_each(|place| self.tell(place, message.clone()));
    }

    /// Whether the worker at a place has reported all, or has ended without.
    pub fn has_ended(&self, place: usize) -> bool {
        self.all[place].done || self.all[place].to.is_none()
    }

    /// Whether all have.
    pub fn have_ended(&self) -> bool {
        (0..self.all.len()).all(|place| self.has_ended(place))
    }

    /// What a worker says next, and which; `None` if none says anything for so long.
    pub fn hear(&mut self, patience: Duration) -> Option<(usize, Heard)> {
        let patience = std::time::Duration::from_nanos(patience.as_nanos());
        let (place, heard) = self.heard.recv_timeout(patience).ok()?;
        let worker = &mut self.all[place];
        Some(match heard {
            Heard::Ended(told) => {
                worker.to = None;
                let status = worker.child.as_mut().map(Child::wait);
                let why = match (told, status) {
                    _ if worker.done => None,
                    (Some(told), _) => Some(told),
                    (None, Some(Ok(status))) => Some(format!("it ended with {status}")),
                    (None, Some(Err(error))) => Some(error.to_string()),
                    (None, None) => Some("it ended".to_owned()),
                };
                (place, Heard::Ended(why))
            }
            Heard::Said(said) => {
                worker.done |= matches!(said, FromWorker::Done(_));
                (place, Heard::Said(said))
            }
        })
    }
}

impl Worker {
    /// Starts the threads at its pipes.
    fn attach(
        &mut self,
        input: ChildStdin,
        output: ChildStdout,
        place: usize,
        telling: Sender<(usize, Heard)>,
    ) -> io::Result<()> {
        let mut output = BufReader::with_capacity(1 << 16, output);
        let (to, messages) = channel::<ToWorker>();
        // When its thread has ended so has the worker, which the other pipe tells.
        self.to = Some(Arc::new(move |message| drop(to.send(message))));
        let name = |what: &str| format!("{what}-{}{}", self.side.word(), self.number);
        send_all(name("to"), input, messages)?;
        thread::Builder::new().name(name("from")).spawn(move || {
            let told = loop {
                match receive(&mut output) {
                    Ok(Some(said)) => {
                        if telling.send((place, Heard::Said(said))).is_err() {
                            return;
                        }
                    }
                    Ok(None) => break None,
                    Err(error) => break Some(error.to_string()),
                }
            };
            // Nobody waits for it any more when the run is over.
            let _ = telling.send((place, Heard::Ended(told)));
        })?;
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in self.all.iter_mut().filter(|worker| worker.to.is_some()) {
            let Some(child) = &mut worker.child else { continue };
            // One that has ended meanwhile cannot be killed, and needs not be.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
