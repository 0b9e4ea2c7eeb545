//! One edge of the control tree: commands go down with numbers, answers come up with the same.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;

use crate::rpc::down::Command;
use crate::rpc::phase::Kind;
use crate::rpc::up::Reply;
use crate::rpc::{Acknowledge, Attach, Detach, Down, Phase, Run, Setup, Signed};
use crate::transport::CallError;
use crate::transport::client::Link;

/// Parts of a report that may wait for whoever reads it; when there are more, the agent waits too.
const PARTS_WAITING: usize = 16;
/// Commands on their way.
const COMMANDS_WAITING: usize = 64;

/// What an agent answers: acknowledged, or an error's words.
pub type Answer = Result<Acknowledge, CallError>;

/// An edge to an agent, attached to an experiment. When it is dropped, the agent stops what the experiment runs there.
pub struct Edge {
    sending: tokio::sync::Mutex<Sending>,
    waiting: Arc<Mutex<Waiting>>,
    reading: JoinHandle<()>,
    /// The number of the last command that the agent had taken when this edge was attached.
    pub last_number: u64,
}

struct Sending {
    down: mpsc::Sender<Down>,
    last: u64,
}

/// Who waits for which answer; once the connection has ended, why.
#[derive(Default)]
struct Waiting {
    for_number: BTreeMap<u64, mpsc::Sender<Reply>>,
    ended: Option<CallError>,
}

impl Edge {
    /// Begins `experiment` at an agent, as its controller.
    ///
    /// # Errors
    /// Why the agent does not take it.
    pub async fn begin(link: &mut Link, experiment: &str) -> Result<Edge, CallError> {
        Edge::attach(link, 1, Attach { experiment: experiment.to_owned(), ..Attach::default() }).await
    }

    /// Takes up an experiment that has been at the agent, for its reports. `number` is higher than that of any command before.
    ///
    /// # Errors
    /// Why the agent does not take it.
    pub async fn resume(link: &mut Link, experiment: &str, number: u64) -> Result<Edge, CallError> {
        let attach = Attach { experiment: experiment.to_owned(), resume: true, ..Attach::default() };
        Edge::attach(link, number, attach).await
    }

    /// Attaches as `attach` says, with the first number of the commands that follow.
    ///
    /// # Errors
    /// Why the agent does not take it.
    pub async fn attach(link: &mut Link, number: u64, attach: Attach) -> Result<Edge, CallError> {
        let (down, commands) = mpsc::channel(COMMANDS_WAITING);
        down.send(Down { number, command: Some(Command::Attach(attach)) }).await.map_err(|_| CallError::Ended)?;
        let said = |status: tonic::Status| CallError::of(&status);
        let mut answers = link.client.control(ReceiverStream::new(commands)).await.map_err(said)?.into_inner();
        let last_number = match answers.message().await.map_err(said)?.and_then(|up| up.reply) {
            Some(Reply::Acknowledge(done)) => done.last_number,
            Some(Reply::Error(error)) => return Err(CallError::Said(error.text)),
            Some(Reply::Report(_) | Reply::Below(_) | Reply::Consented(_)) | None => return Err(CallError::Ended),
        };
        let waiting: Arc<Mutex<Waiting>> = Arc::default();
        let of_answers = Arc::clone(&waiting);
        let reading = tokio::spawn(async move {
            let why = loop {
                match answers.message().await {
                    Ok(Some(up)) => {
                        let Some(reply) = up.reply else { continue };
                        let to = {
                            let waiting = &mut lock(&of_answers).for_number;
                            match reply {
                                Reply::Acknowledge(_) | Reply::Error(_) => waiting.remove(&up.number),
                                _ => waiting.get(&up.number).cloned(),
                            }
                        };
                        // Whoever waited may have given up.
                        if let Some(to) = to {
                            let _ = to.send(reply).await;
                        }
                    }
                    Ok(None) => break CallError::Ended,
                    Err(status) => break CallError::of(&status),
                }
            };
            let mut waiting = lock(&of_answers);
            waiting.ended = Some(why);
            waiting.for_number.clear();
        });
        let sending = tokio::sync::Mutex::new(Sending { down, last: number });
        Ok(Edge { sending, waiting, reading, last_number })
    }

    /// Sends a command: what comes of it.
    ///
    /// # Errors
    /// How the connection ended.
    pub async fn ask(&self, command: Command) -> Result<Answers, CallError> {
        let mut sending = self.sending.lock().await;
        let number = sending.last + 1;
        self.send(&mut sending, number, command).await
    }

    /// Sends a command and waits for the end of its answer.
    ///
    /// # Errors
    /// The agent's words, or how the connection ended.
    pub async fn command(&self, command: Command) -> Answer {
        self.ask(command).await?.end().await
    }

    /// Sends a command under a number of the caller's, as one who replays a message would.
    ///
    /// # Errors
    /// The agent's words, or how the connection ended.
    pub async fn command_numbered(&self, number: u64, command: Command) -> Answer {
        let mut sending = self.sending.lock().await;
        let last = sending.last;
        let answers = self.send(&mut sending, number, command).await;
        sending.last = last;
        drop(sending);
        answers?.end().await
    }

    async fn send(&self, sending: &mut Sending, number: u64, command: Command) -> Result<Answers, CallError> {
        let Sending { down, last } = sending;
        let (to, answers) = mpsc::channel(PARTS_WAITING);
        // A number is taken when nothing keeps its command from going: whoever asks may give up until then.
        let room = down.reserve().await;
        {
            let mut waiting = lock(&self.waiting);
            if let Some(why) = &waiting.ended {
                return Err(why.clone());
            }
            waiting.for_number.insert(number, to);
        }
        *last = number;
        // If it cannot be sent, nobody will answer either, and that is what is waited for.
        if let Ok(room) = room {
            room.send(Down { number, command: Some(command) });
        }
        Ok(Answers { answers, waiting: Arc::clone(&self.waiting), end: None })
    }

    /// `setup`
    ///
    /// # Errors
    /// As [`Edge::command`].
    pub async fn setup(&self, block: &str, text: &str, consents: Vec<Signed>) -> Answer {
        let setup = Setup { block: block.to_owned(), text: text.to_owned(), consents };
        self.command(Command::Setup(setup)).await
    }

    /// `run`, from a time of the agent's monotonic clock on, or at once (0).
    ///
    /// # Errors
    /// As [`Edge::command`].
    pub async fn run(&self, block: &str, start_monotonic_ns: i64) -> Answer {
        self.command(Command::Run(Run { block: block.to_owned(), start_monotonic_ns })).await
    }

    /// A command that carries only its block, and returns no report.
    ///
    /// # Errors
    /// As [`Edge::command`].
    pub async fn phase(&self, block: &str, kind: Kind) -> Answer {
        self.command(Command::Phase(Phase { block: block.to_owned(), kind: kind.into() })).await
    }

    /// `report`
    ///
    /// # Errors
    /// As [`Edge::command`].
    pub async fn report(&self, block: &str, mut part: impl FnMut(Vec<u8>)) -> Answer {
        let phase = Phase { block: block.to_owned(), kind: Kind::Report.into() };
        let mut answers = self.ask(Command::Phase(phase)).await?;
        while let Some(reply) = answers.part().await {
            if let Reply::Report(report) = reply {
                part(report.part);
            }
        }
        answers.end().await
    }

    /// Ends the experiment at the agent.
    ///
    /// # Errors
    /// As [`Edge::command`].
    pub async fn detach(self) -> Answer {
        self.command(Command::Detach(Detach {})).await
    }
}

/// What an agent answers to one command, as it comes.
pub struct Answers {
    answers: mpsc::Receiver<Reply>,
    waiting: Arc<Mutex<Waiting>>,
    end: Option<Answer>,
}

impl Answers {
    /// The next part of the answer, which is neither acknowledgement nor error; nothing when there is no more.
    pub async fn part(&mut self) -> Option<Reply> {
        if self.end.is_some() {
            return None;
        }
        self.end = Some(match self.answers.recv().await {
            Some(Reply::Acknowledge(done)) => Ok(done),
            Some(Reply::Error(error)) => Err(CallError::Said(error.text)),
            None => Err(lock(&self.waiting).ended.clone().unwrap_or(CallError::Ended)),
            part => return part,
        });
        None
    }

    /// How the answer ends; parts that were not asked for are passed over.
    ///
    /// # Errors
    /// The agent's words, or how the connection ended.
    pub async fn end(mut self) -> Answer {
        while self.part().await.is_some() {}
        self.end.unwrap_or(Err(CallError::Ended))
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        self.reading.abort();
    }
}

fn lock(waiting: &Mutex<Waiting>) -> MutexGuard<'_, Waiting> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner)
}
