//! What one connection may ask of an agent, and who asks: the greeting first, commands from controllers, and from agents only what a
//! controller has delegated to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::audit::{AuditError, Entry};
use super::key::Key;
use super::refusal::Refusal;
use super::session::{Block, Session, Work};
use super::sessions::Sessions;
use super::shared::Shared;
use super::stage::Asked;
use super::store::Kept;
use super::subtree::Subtree;
use super::{consent, facts};
use crate::authority::identity::Role;
use crate::control::{self, Part};
use crate::controller::wire;
use crate::rpc::agreement::Answer;
use crate::rpc::down::Command;
use crate::rpc::phase::Kind;
use crate::rpc::up::Reply;
use crate::rpc::{
    Acknowledge, Agreement, Below, ClockReply, ClockRequest, Consented, Down, Error, HelloReply, HelloRequest,
    LogRequest, Report, Signed, Up, Word, agent_server,
};
use crate::transport::Version;
use crate::transport::server::Peer;

/// Answers that may wait for a slow parent; when there are more, what makes them waits too.
const ANSWERS_WAITING: usize = 64;
/// Parts of reports from below that may wait for that.
const PARTS_WAITING: usize = 16;

/// Words of a leaf that may wait for whoever talks to it.
const WORDS_WAITING: usize = 16;
/// The longest word.
const WORD_BYTES: usize = 64 << 10;

/// Lines of the log that are kept for an answer.
const MOST_LINES: usize = 100_000;

/// The service, for one connection.
pub(super) struct Handler {
    agent: Arc<Shared>,
    sessions: Arc<Sessions>,
    peer: Arc<Peer>,
    greeted: AtomicBool,
}

/// One edge of the control tree: a session, and where its answers go.
#[derive(Clone)]
struct Edge {
    agent: Arc<Shared>,
    peer: Arc<Peer>,
    session: Arc<Session>,
    answers: mpsc::Sender<Result<Up, Status>>,
}

impl Handler {
    pub(super) fn new(agent: Arc<Shared>, sessions: Arc<Sessions>, peer: Arc<Peer>) -> Handler {
        Handler { agent, sessions, peer, greeted: AtomicBool::new(false) }
    }

    fn greeted(&self) -> Result<(), Status> {
        if self.greeted.load(Ordering::Acquire) {
            return Ok(());
        }
        Err(Status::failed_precondition("the greeting comes first"))
    }
}

#[tonic::async_trait]
impl agent_server::Agent for Handler {
    async fn hello(&self, request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
        let hello = request.into_inner();
        let agent = &self.agent;
        let theirs = Version { release: hello.version, protocol: hello.protocol };
        if theirs != agent.version {
            let (name, peer) = (&agent.identity().name, self.peer.identity());
            return Err(Status::failed_precondition(format!(
                "agent {name} runs {}, {peer} runs {theirs}",
                agent.version
            )));
        }
        if !hello.revocations.is_empty() {
            let taken = agent.take_revocations(&hello.revocations);
            taken.map_err(|why| Status::invalid_argument(why.to_string()))?;
        }
        self.greeted.store(true, Ordering::Release);
        Ok(Response::new(HelloReply {
            version: agent.version.release.clone(),
            protocol: agent.version.protocol,
            name: agent.identity().name.to_string(),
            host: Some(facts::host(&*agent.clock)),
            limits_toml: agent.limits_toml.clone(),
            leaf_kinds: agent.kinds.iter().map(|kind| kind.keyword().to_owned()).collect(),
            experiments: self.sessions.running(),
            notices: agent.notices(),
            revocations_number: agent.trust.borrow().number(),
        }))
    }

    type ClockStream = ReceiverStream<Result<ClockReply, Status>>;

    async fn clock(&self, request: Request<Streaming<ClockRequest>>) -> Result<Response<Self::ClockStream>, Status> {
        self.greeted()?;
        let clock = Arc::clone(&self.agent.clock);
        let mut asked = request.into_inner();
        let (answers, stream) = mpsc::channel(1);
        tokio::spawn(async move {
            while let Ok(Some(ClockRequest { t1_ns })) = asked.message().await {
                let t2_ns = clock.monotonic_ns();
                // There is room as soon as the last answer has gone, and only then does time begin to count.
                let Ok(room) = answers.reserve().await else { return };
                let time_of_day_ns = clock.unix_ns();
                room.send(Ok(ClockReply { t1_ns, t2_ns, t3_ns: clock.monotonic_ns(), time_of_day_ns }));
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn consents(&self, request: Request<Signed>) -> Result<Response<Consented>, Status> {
        self.greeted()?;
        let (agent, signed) = (&self.agent, request.into_inner());
        let asking = self.sessions.asked(&self.peer, &signed);
        let asking = match asking {
            Ok(asking) => asking,
            Err(why) => {
                let why = why.to_string();
                let line = entry(agent, &self.peer, "", None, "consent", "", false, &why);
                agent.audit.write(&line).map_err(unwritten)?;
                return Err(Status::permission_denied(why));
            }
        };
        let mut agreements = Vec::with_capacity(asking.requests.len());
        for request in &asking.requests {
            let agreed = consent::agree(&agent.own, &agent.limits, &asking.experiment, request, agent.clock.unix_s());
            let agreed = agreed.map_err(|why| why.to_string());
            let block = format!(
                "{} to {} port {} {} {} bit/s {} s",
                request.sender,
                request.address,
                request.port,
                request.protocol().as_str_name(),
                request.rate_bit_s,
                request.duration_s
            );
            let text = agreed.as_ref().err().map_or("", String::as_str);
            let line = entry(agent, &self.peer, &asking.experiment, None, "consent", &block, agreed.is_ok(), text);
            agent.audit.write(&line).map_err(unwritten)?;
            let answer = agreed.map_or_else(Answer::Refusal, Answer::Consent);
            agreements.push(Agreement { answer: Some(answer) });
        }
        Ok(Response::new(Consented { agreements }))
    }

    type TalkStream = ReceiverStream<Result<Word, Status>>;

    async fn talk(&self, request: Request<Streaming<Word>>) -> Result<Response<Self::TalkStream>, Status> {
        self.greeted()?;
        let mut words = request.into_inner();
        let first = words.message().await?.ok_or_else(|| Status::invalid_argument("the first word names the block"))?;
        // Only a controller has leaves that talk.
        let key = Key { experiment: first.experiment, parent: self.peer.identity().clone(), above: String::new() };
        let session = self.sessions.get(&key);
        let block = session.and_then(|session| session.block(&first.block));
        let leaf = match block {
            Some(Work::Leaf(leaf)) => Some(leaf),
            Some(Work::Tree(_)) | None => None,
        };
        let talk = leaf.and_then(|leaf| leaf.talk()).ok_or_else(|| {
            Status::failed_precondition(format!(
                "there is no block {} here that has something to talk about",
                first.block
            ))
        })?;
        let line = entry(&self.agent, &self.peer, &key.experiment, None, "talk", &first.block, true, "");
        self.agent.audit.write(&line).map_err(unwritten)?;
        let (mut from, mut to) = tokio::io::split(talk);
        let (said, stream) = mpsc::channel(WORDS_WAITING);
        // Each direction ends when either end of it does.
        tokio::spawn(async move {
            while let Ok(Some(word)) = words.message().await {
                if to.write_all(&word.bytes).await.is_err() {
                    return;
                }
            }
            let _ = to.shutdown().await;
        });
        tokio::spawn(async move {
            let mut bytes = vec![0; WORD_BYTES];
            while let Ok(length @ 1..) = from.read(&mut bytes).await {
                let word = Word { bytes: bytes[..length].to_vec(), ..Word::default() };
                if said.send(Ok(word)).await.is_err() {
                    return;
                }
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    type LogStream = ReceiverStream<Result<Word, Status>>;

    async fn log(&self, request: Request<LogRequest>) -> Result<Response<Self::LogStream>, Status> {
        self.greeted()?;
        let LogRequest { experiment, lines } = request.into_inner();
        if self.peer.identity().role != Role::Controller {
            return Err(Status::permission_denied(format!("{} is no controller", self.peer.identity())));
        }
        let agent = Arc::clone(&self.agent);
        let (said, stream) = mpsc::channel(WORDS_WAITING);
        tokio::task::spawn_blocking(move || {
            let words = match agent.audit.last(&experiment, (lines as usize).min(MOST_LINES)) {
                Ok(lines) => lines.into_iter().map(|line| Ok((line + "\n").into_bytes())).collect(),
                Err(error) => vec![Err(Status::internal(format!("its log: {error}")))],
            };
            for word in words {
                let word = word.map(|bytes| Word { bytes, ..Word::default() });
                // Whoever asked has gone.
                let Ok(()) = said.blocking_send(word) else { return };
            }
        });
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    type ControlStream = ReceiverStream<Result<Up, Status>>;

    async fn control(&self, request: Request<Streaming<Down>>) -> Result<Response<Self::ControlStream>, Status> {
        self.greeted()?;
        let (agent, sessions, peer) = (Arc::clone(&self.agent), Arc::clone(&self.sessions), Arc::clone(&self.peer));
        let commands = request.into_inner();
        let (answers, stream) = mpsc::channel(ANSWERS_WAITING);
        tokio::spawn(edge(agent, sessions, peer, commands, answers));
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

/// Serves one edge to its end; then what its experiment runs here is stopped, however it ended.
async fn edge(
    agent: Arc<Shared>,
    sessions: Arc<Sessions>,
    peer: Arc<Peer>,
    mut commands: Streaming<Down>,
    answers: mpsc::Sender<Result<Up, Status>>,
) {
    let Ok(Some(Down { number, command: Some(Command::Attach(attach)) })) = commands.message().await else {
        // If nobody waits for it, that is no loss.
        let _ = answers.send(Err(Status::invalid_argument("an edge begins with its attachment"))).await;
        return;
    };
    let experiment = attach.experiment.clone();
    let attached = sessions.attach(&peer, number, attach);
    let told = attached.as_ref().err().map_or_else(String::new, Refusal::to_string);
    let line = entry(&agent, &peer, &experiment, Some(number), "attach", "", attached.is_ok(), &told);
    let written = agent.audit.write(&line);
    let (session, last_number) = match attached {
        Ok(attached) => attached,
        Err(_) => {
            let _ = answers.send(Ok(error(number, told))).await;
            return;
        }
    };
    let edge = Edge { agent: Arc::clone(&agent), peer, session: Arc::clone(&session), answers };
    match written {
        Ok(()) => {
            edge.answer(acknowledgement(number, Acknowledge { last_number, ..Acknowledge::default() })).await;
            edge.serve(&mut commands).await;
        }
        Err(why) => edge.answer(error(number, why.to_string())).await,
    }
    session.stop_all(&agent).await;
    let line = entry(&agent, &edge.peer, &experiment, None, "ended", "", true, "");
    // What it is about has happened.
    let _ = agent.audit.write(&line);
}

impl Edge {
    async fn serve(&self, commands: &mut Streaming<Down>) {
        // An error is a connection that was lost: as its end.
        while let Ok(Some(Down { number, command })) = commands.message().await {
            let Some(command) = command else {
                self.answer(error(number, Refusal::NoCommand.to_string())).await;
                continue;
            };
            if let Err(why) = self.session.take(number) {
                self.refuse(number, name(&command), why.to_string()).await;
                continue;
            }
            if matches!(command, Command::Detach(_)) {
                self.session.stop_all(&self.agent).await;
                self.answer(acknowledgement(number, Acknowledge::default())).await;
                return;
            }
            // Blocks are at work at the same time; the calls of one wait for each other.
            let edge = self.clone();
            tokio::spawn(async move { edge.command(number, command).await });
        }
    }

    async fn command(&self, number: u64, command: Command) {
        let (what, block) = (name(&command), block_of(&command).to_owned());
        if matches!(command, Command::Run(_))
            && let Err(why) = self.audit(number, "start", &block, Ok(""))
        {
            self.answer(error(number, why.to_string())).await;
            return;
        }
        let outcome = self.done(number, command).await.map_err(|why| why.to_string());
        let written =
            self.audit(number, what, &block, outcome.as_ref().map(|done| done.text.as_str()).map_err(String::as_str));
        self.answer(match outcome.and_then(|done| written.map(|()| done).map_err(|why| why.to_string())) {
            Ok(done) => acknowledgement(number, done),
            Err(why) => error(number, why),
        })
        .await;
    }

    async fn done(&self, number: u64, command: Command) -> Result<Acknowledge, Refusal> {
        let (agent, session) = (&*self.agent, &*self.session);
        let text = |text| Acknowledge { text, ..Acknowledge::default() };
        let name = block_of(&command);
        let kind = if let Command::Phase(phase) = &command { phase.kind() } else { Kind::Unspecified };
        let work = if kind == Kind::Kill { session.block_to_kill(name) } else { session.block(name) };
        let work = work.ok_or_else(|| Refusal::NoBlock(name.to_owned()));
        // It was killed before it was there: nothing is left to be done, and nothing was found.
        let never_came = work.is_err() && session.was_killed(name);
        match command {
            Command::Setup(setup) => session.setup(agent, setup).await.map(text),
            Command::Place(place) => {
                let subtree = session.place(agent, place).await?;
                self.below(number, subtree.agents().await).await;
                Ok(Acknowledge::default())
            }
            Command::Attach(_) | Command::Detach(_) => Err(Refusal::AttachedAlready),
            // What a leaf found outlives it.
            Command::Phase(phase) if kind == Kind::Report && work.is_err() => {
                match session.found(agent, &phase.block) {
                    Some(kept) => self.report(number, kept).await,
                    None if never_came => Ok(Acknowledge::default()),
                    None => Err(Refusal::NothingFound(phase.block)),
                }
            }
            _ if never_came && matches!(kind, Kind::Kill | Kind::Teardown) => Ok(Acknowledge::default()),
            _ if kind == Kind::Teardown && work.is_err() && session.is_taken_up() => Ok(Acknowledge::default()),
            command => match work? {
                Work::Leaf(block) => self.leaf(number, &block, command).await,
                Work::Tree(subtree) => self.tree(number, &subtree, command).await,
            },
        }
    }

    /// A command to a leaf.
    async fn leaf(&self, number: u64, block: &Block, command: Command) -> Result<Acknowledge, Refusal> {
        let (agent, session) = (&*self.agent, &*self.session);
        let text = |text| Acknowledge { text, ..Acknowledge::default() };
        match command {
            Command::Run(run) => block.run(agent, run.start_monotonic_ns).await,
            Command::Phase(phase) => match phase.kind() {
                Kind::Teardown => session.teardown(agent, block).await.map(text),
                Kind::Report => self.report(number, block.report(agent, &session.key).await?).await,
                kind => block.phase(agent, &session.key, kind).await.map(text),
            },
            _ => Err(Refusal::LeafOfBlock),
        }
    }

    /// A command to a control block, whose answer is what those below say.
    async fn tree(&self, number: u64, subtree: &Subtree, command: Command) -> Result<Acknowledge, Refusal> {
        let command = match command {
            Command::Run(run) => control::Command::Run {
                start_ns: u64::try_from(run.start_monotonic_ns).ok().filter(|start| *start > 0),
            },
            Command::Phase(phase) => wire::command(phase.kind()).ok_or(Refusal::NoKind)?,
            Command::Ask(ask) => {
                let consented = subtree.ask(ask.asking.unwrap_or_default()).await?;
                self.answer(Up { number, reply: Some(Reply::Consented(consented)) }).await;
                return Ok(Acknowledge::default());
            }
            Command::Agree(agree) => {
                subtree.agree(agree).await;
                return Ok(Acknowledge::default());
            }
            _ => return Err(Refusal::SetUpAlready(block_of(&command).to_owned())),
        };
        let (reports, mut parts) = mpsc::channel(PARTS_WAITING);
        let asked = async move { subtree.command(command, &reports).await };
        let sent = async {
            while let Some(Part { node, bytes: part }) = parts.recv().await {
                self.answer(Up { number, reply: Some(Reply::Report(Report { node, part })) }).await;
            }
        };
        let (reply, ()) = tokio::join!(asked, sent);
        if command == control::Command::Teardown {
            self.below(number, subtree.end().await).await;
            self.session.let_go(subtree.path(), subtree).await;
        }
        match reply {
            Ok(words) => {
                self.below(number, wire::of_words(words)).await;
                Ok(Acknowledge::default())
            }
            Err(failed) => {
                let some_failed = Refusal::SomeFailed(failed.len());
                let words = control::Acknowledgement { failed, ..Default::default() };
                self.below(number, wire::of_words(words)).await;
                Err(some_failed)
            }
        }
    }

    async fn below(&self, number: u64, below: Below) {
        for piece in wire::pieces(below) {
            self.answer(Up { number, reply: Some(Reply::Below(piece)) }).await;
        }
    }

    /// Sends results as they are read, as fast as the parent takes them.
    async fn report(&self, number: u64, kept: Kept) -> Result<Acknowledge, Refusal> {
        let answers = self.answers.clone();
        let reading = tokio::task::spawn_blocking(move || {
            kept.read(|part| {
                let report = Report { node: String::new(), part };
                answers.blocking_send(Ok(Up { number, reply: Some(Reply::Report(report)) })).is_ok()
            })
        });
        match reading.await {
            Ok(read) => read.map(|()| Acknowledge::default()).map_err(Refusal::Reading),
            Err(error) => Err(Refusal::ReadingEnded(error)),
        }
    }

    async fn refuse(&self, number: u64, what: &str, why: String) {
        // It is not done, whether that is written down or not.
        let _ = self.audit(number, what, "", Err(&why));
        self.answer(error(number, why)).await;
    }

    async fn answer(&self, up: Up) {
        // A parent that has gone needs none.
        let _ = self.answers.send(Ok(up)).await;
    }

    fn audit(&self, number: u64, command: &str, block: &str, outcome: Result<&str, &str>) -> Result<(), AuditError> {
        let (Ok(text) | Err(text)) = outcome;
        let experiment = &self.session.key.experiment;
        self.agent.audit.write(&entry(
            &self.agent,
            &self.peer,
            experiment,
            Some(number),
            command,
            block,
            outcome.is_ok(),
            text,
        ))
    }
}

/// An answer that cannot be given, because the log cannot be written.
fn unwritten(error: AuditError) -> Status {
    Status::internal(error.to_string())
}

#[expect(clippy::too_many_arguments, reason = "a line of the log has this much in it")]
fn entry<'a>(
    agent: &Shared,
    peer: &'a Peer,
    experiment: &'a str,
    number: Option<u64>,
    command: &'a str,
    block: &'a str,
    is_done: bool,
    text: &'a str,
) -> Entry<'a> {
    Entry {
        unix_ns: agent.clock.unix_ns(),
        peer: peer.identity(),
        address: peer.address,
        experiment,
        number,
        command,
        block,
        answer: if is_done { "acknowledge" } else { "error" },
        text,
    }
}

fn acknowledgement(number: u64, done: Acknowledge) -> Up {
    Up { number, reply: Some(Reply::Acknowledge(done)) }
}

fn error(number: u64, text: String) -> Up {
    Up { number, reply: Some(Reply::Error(Error { text })) }
}

fn name(command: &Command) -> &'static str {
    match command {
        Command::Attach(_) => "attach",
        Command::Setup(_) => "setup",
        Command::Phase(phase) => Asked::Phase(phase.kind()).name(),
        Command::Run(_) => Asked::Run.name(),
        Command::Detach(_) => "detach",
        Command::Place(_) => "place",
        Command::Ask(_) => "ask",
        Command::Agree(_) => "agree",
    }
}

fn block_of(command: &Command) -> &str {
    match command {
        Command::Setup(setup) => &setup.block,
        Command::Phase(phase) => &phase.block,
        Command::Run(run) => &run.block,
        Command::Place(place) => &place.block,
        Command::Ask(ask) => &ask.block,
        Command::Agree(agree) => &agree.block,
        Command::Attach(_) | Command::Detach(_) => "",
    }
}
