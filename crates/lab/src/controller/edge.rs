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
use crate::transport::client::{Link, words};

/// Parts of a report that may wait for whoever reads it; when there are more, the agent waits too.
const PARTS_WAITING: usize = 16;
/// Commands on their way.
const COMMANDS_WAITING: usize = 64;

/// What an agent answers: acknowledged, or an error's words.
pub type Answer = Result<Acknowledge, String>;

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
    ended: Option<String>,
}

impl Edge {
    /// Begins `experiment` at an agent.
    ///
    /// # Errors
    /// Why the agent does not take it.
    pub async fn begin(link: &mut Link, experiment: &str, delegations: Vec<Signed>) -> Result<Edge, String> {
        Edge::attach(link, 1, Attach { experiment: experiment.to_owned(), resume: false, delegations }).await
    }

    /// Takes up an experiment that has been at the agent, for its reports. `number` is higher than that of any command before.
    ///
    /// # Errors
    /// Why the agent does not take it.
    pub async fn resume(
        link: &mut Link,
        experiment: &str,
        number: u64,
        delegations: Vec<Signed>,
    ) -> Result<Edge, String> {
        Edge::attach(link, number, Attach { experiment: experiment.to_owned(), resume: true, delegations }).await
    }

    async fn attach(link: &mut Link, number: u64, attach: Attach) -> Result<Edge, String> {
        let (down, commands) = mpsc::channel(COMMANDS_WAITING);
        let gone = || "the connection has ended".to_owned();
        down.send(Down { number, command: Some(Command::Attach(attach)) }).await.map_err(|_| gone())?;
        let said = |status: tonic::Status| words(&status);
        let mut answers = link.client.control(ReceiverStream::new(commands)).await.map_err(said)?.into_inner();
        let last_number = match answers.message().await.map_err(said)?.and_then(|up| up.reply) {
            Some(Reply::Acknowledge(done)) => done.last_number,
            Some(Reply::Error(error)) => return Err(error.text),
            Some(Reply::Report(_)) | None => return Err(gone()),
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
                                Reply::Report(_) => waiting.get(&up.number).cloned(),
                                Reply::Acknowledge(_) | Reply::Error(_) => waiting.remove(&up.number),
                            }
                        };
                        // Whoever waited may have given up.
                        if let Some(to) = to {
                            let _ = to.send(reply).await;
                        }
                    }
                    Ok(None) => break gone(),
                    Err(status) => break words(&status),
                }
            };
            let mut waiting = lock(&of_answers);
            waiting.ended = Some(why);
            waiting.for_number.clear();
        });
        let sending = tokio::sync::Mutex::new(Sending { down, last: number });
        Ok(Edge { sending, waiting, reading, last_number })
    }

    /// Sends a command and waits for its answer; a report's parts go to `part` as they come.
    ///
    /// # Errors
    /// The agent's words, or how the connection ended.
    pub async fn command(&self, command: Command, part: impl FnMut(Vec<u8>)) -> Answer {
        let mut sending = self.sending.lock().await;
        let number = sending.last + 1;
        sending.last = number;
        let answers = self.send(&mut sending, number, command).await?;
        drop(sending);
        self.answer(answers, part).await
    }

    /// Sends a command under a number of the caller's, as one who replays a message would.
    ///
    /// # Errors
    /// The agent's words, or how the connection ended.
    pub async fn command_numbered(&self, number: u64, command: Command) -> Answer {
        let mut sending = self.sending.lock().await;
        let answers = self.send(&mut sending, number, command).await?;
        drop(sending);
        self.answer(answers, |_| {}).await
    }

    async fn send(
        &self,
        sending: &mut Sending,
        number: u64,
        command: Command,
    ) -> Result<mpsc::Receiver<Reply>, String> {
        let (to, answers) = mpsc::channel(PARTS_WAITING);
        {
            let mut waiting = lock(&self.waiting);
            if let Some(why) = &waiting.ended {
                return Err(why.clone());
            }
            waiting.for_number.insert(number, to);
        }
        // If it cannot be sent, nobody will answer either, and that is what is waited for.
        let _ = sending.down.send(Down { number, command: Some(command) }).await;
        Ok(answers)
    }

    async fn answer(&self, mut answers: mpsc::Receiver<Reply>, mut part: impl FnMut(Vec<u8>)) -> Answer {
        loop {
            match answers.recv().await {
                Some(Reply::Report(bytes)) => part(bytes),
                Some(Reply::Acknowledge(done)) => return Ok(done),
                Some(Reply::Error(error)) => return Err(error.text),
                None => {
                    return Err(lock(&self.waiting)
                        .ended
                        .clone()
                        .unwrap_or_else(|| "the connection has ended".to_owned()));
                }
            }
        }
    }

    /// `setup`
    ///
    /// # Errors
    /// As [`Edge::command`].
    pub async fn setup(&self, block: &str, text: &str, consents: Vec<Signed>) -> Answer {
        let setup = Setup { block: block.to_owned(), text: text.to_owned(), consents };
        self.command(Command::Setup(setup), |_| {}).await
    }

    /// `run`, from a time of the agent's monotonic clock on, or at once (0).
    ///
    /// # Errors
    /// As [`Edge::command`].
    pub async fn run(&self, block: &str, start_monotonic_ns: i64) -> Answer {
        self.command(Command::Run(Run { block: block.to_owned(), start_monotonic_ns }), |_| {}).await
    }

    /// A command that carries only its block, and returns no report.
    ///
    /// # Errors
    /// As [`Edge::command`].
    pub async fn phase(&self, block: &str, kind: Kind) -> Answer {
        self.command(Command::Phase(Phase { block: block.to_owned(), kind: kind.into() }), |_| {}).await
    }

    /// `report`
    ///
    /// # Errors
    /// As [`Edge::command`].
    pub async fn report(&self, block: &str, part: impl FnMut(Vec<u8>)) -> Answer {
        self.command(Command::Phase(Phase { block: block.to_owned(), kind: Kind::Report.into() }), part).await
    }

    /// Ends the experiment at the agent.
    ///
    /// # Errors
    /// As [`Edge::command`].
    pub async fn detach(self) -> Answer {
        self.command(Command::Detach(Detach {}), |_| {}).await
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
