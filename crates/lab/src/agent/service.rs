//! What one connection may ask of an agent, and who asks: the greeting first, commands from controllers, and from agents only what a
//! controller has delegated to them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::audit::Entry;
use super::session::Session;
use super::stage::Asked;
use super::{Agent, Key, consent, facts};
use crate::authority::identity::Role;
use crate::authority::statement;
use crate::rpc::down::Command;
use crate::rpc::phase::Kind;
use crate::rpc::up::Reply;
use crate::rpc::{
    Acknowledge, Attach, ClockReply, ClockRequest, ConsentRequest, Delegation, Down, Error, HelloReply, HelloRequest,
    Running, Signed, Up, agent_server,
};
use crate::transport::Version;
use crate::transport::server::Peer;

/// Answers that may wait for a slow parent; when there are more, what makes them waits too.
const ANSWERS_WAITING: usize = 64;

/// The service, for one connection.
pub(super) struct Handler {
    agent: Arc<Agent>,
    peer: Arc<Peer>,
    greeted: AtomicBool,
}

/// One edge of the control tree: a session, and where its answers go.
#[derive(Clone)]
struct Edge {
    agent: Arc<Agent>,
    peer: Arc<Peer>,
    session: Arc<Session>,
    answers: mpsc::Sender<Result<Up, Status>>,
}

impl Handler {
    pub(super) fn new(agent: Arc<Agent>, peer: Arc<Peer>) -> Handler {
        Handler { agent, peer, greeted: AtomicBool::new(false) }
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
            agent.take_revocations(&hello.revocations).map_err(Status::invalid_argument)?;
        }
        self.greeted.store(true, Ordering::Release);
        Ok(Response::new(HelloReply {
            version: agent.version.release.clone(),
            protocol: agent.version.protocol,
            name: agent.identity().name.to_string(),
            host: Some(facts::host(&*agent.clock)),
            limits_toml: agent.limits_toml.clone(),
            leaf_kinds: agent.kinds.iter().map(|kind| kind.keyword().to_owned()).collect(),
            experiments: agent.running(),
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

    async fn consents(&self, request: Request<ConsentRequest>) -> Result<Response<Signed>, Status> {
        self.greeted()?;
        let request = request.into_inner();
        let agent = &self.agent;
        let outcome = if self.peer.identity().role == Role::Controller {
            consent::agree(&agent.own, &agent.limits, &request, agent.clock.unix_s())
        } else {
            Err(format!("{} is no controller", self.peer.identity()))
        };
        let block = format!(
            "{} to {} port {} {} {} bit/s {} s",
            request.sender,
            request.address,
            request.port,
            request.protocol().as_str_name(),
            request.rate_bit_s,
            request.duration_s
        );
        let text = outcome.as_ref().err().map_or("", String::as_str);
        agent
            .audit
            .write(&entry(agent, &self.peer, &request.experiment, None, "consent", &block, outcome.is_ok(), text))
            .map_err(Status::internal)?;
        outcome.map(Response::new).map_err(Status::permission_denied)
    }

    type ControlStream = ReceiverStream<Result<Up, Status>>;

    async fn control(&self, request: Request<Streaming<Down>>) -> Result<Response<Self::ControlStream>, Status> {
        self.greeted()?;
        let (agent, peer) = (Arc::clone(&self.agent), Arc::clone(&self.peer));
        let commands = request.into_inner();
        let (answers, stream) = mpsc::channel(ANSWERS_WAITING);
        tokio::spawn(edge(agent, peer, commands, answers));
        Ok(Response::new(ReceiverStream::new(stream)))
    }
}

/// Serves one edge to its end; then what its experiment runs here is stopped, however it ended.
async fn edge(
    agent: Arc<Agent>,
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
    let attached = agent.attach(&peer, number, attach);
    let told = attached.as_ref().err().map_or("", String::as_str);
    let line = entry(&agent, &peer, &experiment, Some(number), "attach", "", attached.is_ok(), told);
    let written = agent.audit.write(&line);
    let (session, last_number) = match attached {
        Ok(attached) => attached,
        Err(why) => {
            let _ = answers.send(Ok(error(number, why))).await;
            return;
        }
    };
    let edge = Edge { agent: Arc::clone(&agent), peer, session: Arc::clone(&session), answers };
    match written {
        Ok(()) => {
            edge.answer(acknowledgement(number, Acknowledge { last_number, ..Acknowledge::default() })).await;
            edge.serve(&mut commands).await;
        }
        Err(why) => edge.answer(error(number, why)).await,
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
                self.answer(error(number, "the message has no command".to_owned())).await;
                continue;
            };
            if let Err(why) = self.session.take(number) {
                self.refuse(number, name(&command), why).await;
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
            self.answer(error(number, why)).await;
            return;
        }
        let outcome = self.done(number, command).await;
        let written =
            self.audit(number, what, &block, outcome.as_ref().map(|done| done.text.as_str()).map_err(String::as_str));
        self.answer(match outcome.and_then(|done| written.map(|()| done)) {
            Ok(done) => acknowledgement(number, done),
            Err(why) => error(number, why),
        })
        .await;
    }

    async fn done(&self, number: u64, command: Command) -> Result<Acknowledge, String> {
        let (agent, session) = (&*self.agent, &*self.session);
        let text = |text| Acknowledge { text, ..Acknowledge::default() };
        match command {
            Command::Setup(setup) => session.setup(agent, setup).await.map(text),
            Command::Run(run) => {
                let block = session.block(&run.block).ok_or_else(|| format!("there is no block {} here", run.block))?;
                block.run(agent, run.start_monotonic_ns).await
            }
            Command::Phase(phase) => match phase.kind() {
                Kind::Teardown => session.teardown(agent, &phase.block).await.map(text),
                Kind::Report => {
                    let kept = match session.block(&phase.block) {
                        Some(block) => block.report(agent, &session.key).await?,
                        None => {
                            let kept = session.found(agent, &phase.block);
                            kept.ok_or_else(|| {
                                format!("there is no block {} here, and there are no results of it", phase.block)
                            })?
                        }
                    };
                    self.report(number, kept).await.map(|()| Acknowledge::default())
                }
                kind => {
                    let block =
                        session.block(&phase.block).ok_or_else(|| format!("there is no block {} here", phase.block))?;
                    block.phase(agent, &session.key, kind).await.map(text)
                }
            },
            Command::Attach(_) | Command::Detach(_) => Err("the edge is attached already".to_owned()),
        }
    }

    /// Sends results as they are read, as fast as the parent takes them.
    async fn report(&self, number: u64, kept: super::store::Kept) -> Result<(), String> {
        let answers = self.answers.clone();
        let reading = tokio::task::spawn_blocking(move || {
            kept.read(|part| answers.blocking_send(Ok(Up { number, reply: Some(Reply::Report(part)) })).is_ok())
        });
        match reading.await {
            Ok(read) => read.map_err(|error| format!("the results cannot be read: {error}")),
            Err(error) => Err(format!("the results cannot be read: {error}")),
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

    fn audit(&self, number: u64, command: &str, block: &str, outcome: Result<&str, &str>) -> Result<(), String> {
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

impl Agent {
    /// Believes a newer list of revocations from now on.
    fn take_revocations(&self, list: &[u8]) -> Result<(), String> {
        let newer = self.trust.borrow().newer(list).map_err(|error| error.to_string())?;
        if let Some(newer) = newer {
            // Kept first: what is revoked stays revoked when the agent starts again.
            self.own.keep_revocations(newer.revocations()).map_err(|error| error.to_string())?;
            self.trust.send_if_modified(|trust| {
                let is_newer = newer.number() > trust.number();
                if is_newer {
                    *trust = Arc::new(newer);
                }
                is_newer
            });
        }
        Ok(())
    }

    fn running(&self) -> Vec<Running> {
        let running = |session: &Arc<Session>| Running {
            experiment: session.key.experiment.clone(),
            parent: session.key.parent.to_string(),
            blocks: session.blocks() as u32,
            attached: session.is_attached(),
        };
        self.sessions().values().map(running).collect()
    }

    /// Begins a session or takes one up again.
    fn attach(&self, peer: &Peer, number: u64, attach: Attach) -> Result<(Arc<Session>, u64), String> {
        let experiment = attach.experiment;
        let digits = |c: char| matches!(c, '0'..='9' | 'a'..='f');
        if experiment.len() != 32 || !experiment.chars().all(digits) {
            return Err("an experiment is named by 32 hexadecimal digits".to_owned());
        }
        let delegated = self.delegated(peer, &experiment, &attach.delegations)?;
        let key = Key { experiment: experiment.clone(), parent: peer.identity().clone() };
        let mut sessions = self.sessions();
        let known = self.store.knows(&experiment, &key.parent);
        if attach.resume && !known {
            return Err(format!("experiment {experiment} is not known here"));
        }
        if !attach.resume && known {
            return Err(format!("experiment {experiment} has been here before: it is not begun again"));
        }
        let attached = sessions.values().filter(|session| session.is_attached()).count();
        if attached >= self.limits.run.experiments {
            return Err(format!("{attached} experiments are at this agent, which is its run.experiments"));
        }
        // Those that are over are remembered by their results; the session only knows the last number.
        while sessions.len() > 4 * self.limits.run.experiments {
            let over = sessions.iter().find(|(_, session)| !session.is_attached()).map(|(key, _)| key.clone());
            let Some(over) = over else { break };
            sessions.remove(&over);
        }
        let session = Arc::clone(sessions.entry(key.clone()).or_insert_with(|| Arc::new(Session::new(key))));
        let last = session.attach(number, delegated)?;
        self.store.begin(&experiment, &session.key.parent).map_err(|error| {
            session.turn_away();
            format!("results cannot be kept: {error}")
        })?;
        Ok((session, last))
    }

    /// What a parent that is an agent may set up here; a controller needs no leave.
    fn delegated(
        &self,
        peer: &Peer,
        experiment: &str,
        delegations: &[Signed],
    ) -> Result<BTreeMap<String, Delegation>, String> {
        if peer.identity().role == Role::Controller {
            return Ok(BTreeMap::new());
        }
        let now_unix_s = self.clock.unix_s();
        let trust = Arc::clone(&self.trust.borrow());
        let mut delegated = BTreeMap::new();
        for signed in delegations {
            let bad = |why: &dyn std::fmt::Display| format!("a delegation is not good: {why}");
            let by = statement::verify(&trust, statement::Kind::Delegation, signed, now_unix_s)
                .map_err(|error| bad(&error))?;
            let delegation = Delegation::decode(signed.statement.as_slice()).map_err(|error| bad(&error))?;
            let for_this = delegation.experiment == experiment
                && delegation.parent == peer.identity().name.as_str()
                && delegation.child == self.identity().name.as_str();
            if by.identity.role != Role::Controller {
                return Err(bad(&format_args!("{} has signed it", by.identity)));
            }
            if !for_this {
                return Err(bad(&"it is for another experiment, parent or child"));
            }
            if delegation.until_unix_s <= now_unix_s {
                return Err(bad(&"it has ended"));
            }
            delegated.insert(delegation.block.clone(), delegation);
        }
        if delegated.is_empty() {
            return Err(format!("{} is no controller, and none has delegated anything to it here", peer.identity()));
        }
        Ok(delegated)
    }
}

#[expect(clippy::too_many_arguments, reason = "a line of the log has this much in it")]
fn entry<'a>(
    agent: &Agent,
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
    }
}

fn block_of(command: &Command) -> &str {
    match command {
        Command::Setup(setup) => &setup.block,
        Command::Phase(phase) => &phase.block,
        Command::Run(run) => &run.block,
        Command::Attach(_) | Command::Detach(_) => "",
    }
}
