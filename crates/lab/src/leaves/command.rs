//! A leaf that runs a program which the agent's keeper has put on its list. A keeper process of its own starts it and ends all that it
//! leaves ([`keep`](flowloom_live::guests::keep)); that one ends with the thread that started it.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;

use flowloom_core::time::{Duration, Time};
use flowloom_live::Program;
use flowloom_live::clock::Clock;
use nix::poll::{PollFd, PollFlags};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

use super::error::WorkError;
use super::order::{GLANCE, Order, Todo};
use super::socket;
use super::work::{Work, wait_for_start};
use crate::report::Report;
use crate::script::leaf::Command as Asked;

/// Bytes that are kept of what a program writes, of either output. More is read, counted and thrown away.
const MOST_OUTPUT: usize = 1 << 20;

/// A keeper has so long to end what it keeps before it is ended itself.
const PATIENCE: Duration = Duration::from_millis(150);

/// How often it is looked whether it has.
const LOOK: Duration = Duration::from_millis(1);

/// A command, before, while and after it runs.
#[derive(Debug)]
pub struct Commanding {
    asked: Asked,
    /// The program, with its path, and its arguments.
    words: Vec<String>,
    keeper: Program,
    results: CommandResults,
}

/// What became of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandResults {
    /// What the list calls it.
    pub name: String,
    /// Its exit code: 128 and the number of the signal that ended it, if one did; `None` if it was not started.
    pub exit_code: Option<u8>,
    /// It was ended because its time was over.
    pub timed_out: bool,
    /// It was ended because it was to stop.
    pub stopped: bool,
    /// How long it ran, in nanoseconds.
    pub ran_ns: u64,
    /// What it wrote to standard output, as far as it was kept.
    pub output: Output,
    /// What it wrote to standard error, as far as it was kept.
    pub errors: Output,
}

/// What a program wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Output {
    /// The beginning of it; what is no UTF-8 is replaced.
    pub text: String,
    /// How much it was.
    pub bytes: u64,
    #[serde(skip)]
    kept: Vec<u8>,
}

impl Output {
    /// Takes what there is; whether more may come.
    fn take(&mut self, from: &mut impl Read) -> io::Result<bool> {
        let mut bytes = [0; 16_384];
        let length = from.read(&mut bytes)?;
        let room = MOST_OUTPUT - self.kept.len();
        self.kept.extend(&bytes[..length.min(room)]);
        self.bytes += length as u64;
        Ok(length > 0)
    }

    fn finish(&mut self) {
        self.text = String::from_utf8_lossy(&std::mem::take(&mut self.kept)).into_owned();
    }
}

impl Commanding {
    /// The command `asked`, which is `words`, kept by a process of `keeper`.
    pub fn new(asked: Asked, words: Vec<String>, keeper: Program) -> Commanding {
        let results = CommandResults { name: asked.name.clone(), ..CommandResults::default() };
        Commanding { asked, words, keeper, results }
    }

    fn command(&mut self, clock: &Clock, order: &Order) -> io::Result<()> {
        let mut keeper = Command::new(&self.keeper.path);
        keeper.args(&self.keeper.arguments).args(["--parent", &std::process::id().to_string(), "--"]).args(&self.words);
        keeper.env_clear().process_group(0).current_dir("/");
        keeper.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if !wait_for_start(clock, order) {
            return Ok(());
        }
        let mut kept = Kept(keeper.spawn()?);
        let began = clock.now();
        let outcome = self.attend(&mut kept.0, clock, order);
        let status = kept.end(clock)?;
        self.results.ran_ns = clock.now().since(began).as_nanos();
        self.results.exit_code = Some(code(status));
        self.results.output.finish();
        self.results.errors.finish();
        outcome
    }

    /// Reads what it writes until it ends, or has to.
    fn attend(&mut self, child: &mut Child, clock: &Clock, order: &Order) -> io::Result<()> {
        let (Some(mut output), Some(mut errors)) = (child.stdout.take(), child.stderr.take()) else { return Ok(()) };
        let end = Time::ZERO + self.asked.duration;
        let mut open = [true, true];
        // What it started and left may hold its outputs open: they end with it.
        while open.contains(&true) {
            self.results.timed_out = clock.now() >= end;
            self.results.stopped = order.todo() != Todo::GoOn;
            if self.results.timed_out || self.results.stopped {
                return Ok(());
            }
            let mut polled = Vec::with_capacity(2);
            polled.extend(open[0].then(|| PollFd::new(output.as_fd(), PollFlags::POLLIN)));
            polled.extend(open[1].then(|| PollFd::new(errors.as_fd(), PollFlags::POLLIN)));
            socket::wait(&mut polled, clock.now(), Some(end))?;
            let mut ready = polled.iter().map(socket::is_ready).collect::<Vec<_>>().into_iter();
            if open[0] && ready.next() == Some(true) {
                open[0] = self.results.output.take(&mut output)?;
            }
            if open[1] && ready.next() == Some(true) {
                open[1] = self.results.errors.take(&mut errors)?;
            }
        }
        // It may go on without them.
        while child.try_wait()?.is_none() {
            self.results.timed_out = clock.now() >= end;
            self.results.stopped = order.todo() != Todo::GoOn;
            if self.results.timed_out || self.results.stopped {
                return Ok(());
            }
            clock.doze(clock.now() + LOOK * 10, GLANCE);
        }
        Ok(())
    }
}

/// A keeper. Dropped, it ends what it keeps.
struct Kept(Child);

impl Kept {
    /// Has it end what it keeps, if it has not; how that ended.
    fn end(&mut self, clock: &Clock) -> io::Result<ExitStatus> {
        let until = clock.now() + PATIENCE;
        if let Some(ended) = self.0.try_wait()? {
            return Ok(ended);
        }
        // It cannot have ended in the meantime so that its number is another's: it is waited for here.
        kill(Pid::from_raw(self.0.id().cast_signed()), Signal::SIGTERM)?;
        while clock.now() < until {
            if let Some(ended) = self.0.try_wait()? {
                return Ok(ended);
            }
            clock.doze(clock.now() + LOOK, LOOK);
        }
        // One that hangs.
        self.0.kill()?;
        self.0.wait()
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // There is nobody to tell if it could not be ended.
        let _ = self.end(&Clock::starting_in(Duration::ZERO));
    }
}

/// An exit code as shells have it.
fn code(status: ExitStatus) -> u8 {
    let code = status.code().or_else(|| status.signal().map(|signal| 128 + signal));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX)
}

impl Work for Commanding {
    fn prepare(&mut self) -> Result<String, WorkError> {
        let Some(program) = self.words.first() else { return Err(WorkError::EmptyCommand) };
        match std::fs::metadata(program) {
            Ok(metadata) if metadata.is_file() => Ok(String::new()),
            Ok(_) => Err(WorkError::NoProgram(program.clone())),
            Err(cause) => Err(WorkError::Named { name: program.clone(), cause }),
        }
    }

    fn run(&mut self, clock: &Clock, order: &Arc<Order>) -> Result<String, WorkError> {
        self.command(clock, order).map_err(|cause| WorkError::Named { name: self.asked.name.clone(), cause })?;
        let CommandResults { exit_code, timed_out, stopped, .. } = self.results;
        Ok(match exit_code {
            _ if stopped => "it was stopped, and ended".to_owned(),
            _ if timed_out => "its time was over, and it was ended".to_owned(),
            Some(0) | None => String::new(),
            Some(code) => format!("it ended with {code}"),
        })
    }

    fn report(&mut self) -> io::Result<Report> {
        Ok(Report::new("command", &self.results))
    }
}
