//! The worker processes of a run: started, spoken to, heard, and ended with it.

use std::ffi::OsString;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use flowloom_core::time::Duration;
use flowloom_core::workload::LinkSide;

use crate::control::{FromWorker, ToWorker, receive, send};
use crate::host::namespace::Namespace;

/// How a worker process is started: what is called with `--namespace N` has to end up in [`crate::worker::process`].
#[derive(Clone, Debug)]
pub struct Program {
    /// The program.
    pub path: PathBuf,
    /// What comes before `--namespace`.
    pub arguments: Vec<OsString>,
}

/// All workers of a run. Dropped, they are killed.
#[derive(Debug)]
pub struct Workers {
    all: Vec<Worker>,
    each_side: u16,
    heard: Receiver<(usize, Heard)>,
    /// So that there is somebody to wait for when all have ended.
    telling: Sender<(usize, Heard)>,
}

#[derive(Debug)]
struct Worker {
    side: LinkSide,
    number: u16,
    child: Child,
    /// `None` once it has ended.
    to: Option<Sender<ToWorker>>,
    done: bool,
}

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
        let (telling, heard) = channel();
        let mut workers = Workers { all: Vec::new(), each_side, heard, telling };
        for (side, namespace) in [LinkSide::Left, LinkSide::Right].into_iter().zip(namespaces) {
            for number in 0..each_side {
                let at = workers.all.len();
                let child = namespace.inherited_by(|descriptor| {
                    Command::new(&program.path)
                        .args(&program.arguments)
                        .arg("--namespace")
                        .arg(descriptor.to_string())
                        .stdin(Stdio::piped())
                        .stdout(Stdio::piped())
                        .spawn()
                })?;
                workers.all.push(Worker { side, number, child, to: None, done: false });
                let telling = workers.telling.clone();
                workers.all[at].attach(at, telling)?;
            }
        }
        Ok(workers)
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

    /// Tells a worker something. One that has ended does not hear it.
    pub fn tell(&self, place: usize, message: ToWorker) {
        if let Some(to) = &self.all[place].to {
            // Its thread has ended with it; that it ended is told by the other pipe.
            let _ = to.send(message);
        }
    }

    /// Tells all workers something.
    pub fn tell_all(&self, message: &ToWorker) {
        (0..self.all.len()).for_each(|place| self.tell(place, message.clone()));
    }

    /// Whether the worker at a place has ended.
    pub fn has_ended(&self, place: usize) -> bool {
        self.all[place].to.is_none()
    }

    /// Whether all have ended.
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
                let status = worker.child.wait();
                let why = match (told, status) {
                    _ if worker.done => None,
                    (Some(told), _) => Some(told),
                    (None, Ok(status)) => Some(format!("it ended with {status}")),
                    (None, Err(error)) => Some(error.to_string()),
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
    fn attach(&mut self, place: usize, telling: Sender<(usize, Heard)>) -> io::Result<()> {
        let missing = || io::Error::other("a worker has no pipes");
        let mut input = BufWriter::new(self.child.stdin.take().ok_or_else(missing)?);
        let mut output = BufReader::with_capacity(1 << 16, self.child.stdout.take().ok_or_else(missing)?);
        let (to, messages) = channel::<ToWorker>();
        self.to = Some(to);
        let name = |what: &str| format!("{what}-{}{}", self.side.word(), self.number);
        thread::Builder::new().name(name("to")).spawn(move || {
            while let Ok(first) = messages.recv() {
                let batch = std::iter::once(first).chain(messages.try_iter());
                let mut sent = Ok(());
                for message in batch {
                    sent = sent.and_then(|()| send(&mut input, &message));
                }
                // It has ended, which the other pipe tells.
                if sent.and_then(|()| input.flush()).is_err() {
                    return;
                }
            }
        })?;
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
            // One that has ended meanwhile cannot be killed, and needs not be.
            let _ = worker.child.kill();
            let _ = worker.child.wait();
        }
    }
}
