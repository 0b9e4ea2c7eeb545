//! What a program without a runtime of its own calls: an agent, the doors of a lab, its state.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use flowloom_core::workload::LinkSide;
use flowloom_live::remote::backend::Hosts;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

use crate::agent::{Agent, LIMITS_FILE, Programs, limits};
use crate::authority::Error;
use crate::authority::admission::{Admission, Asked, ask};
use crate::authority::credentials::Credentials;
use crate::authority::enrolment::{Request, join, new_key};
use crate::authority::folder::Authority;
use crate::authority::identity::{Identity, Name};
use crate::authority::token::Token;
use crate::clock::exchange::Bounds;
use crate::clock::{Clock, HostClock};
use crate::control::{Command, Part};
use crate::controller::experiment::{Experiment, Outcome, report_whole, run_whole};
use crate::controller::sides::{ClockOf, Share, Sides};
use crate::controller::{Clocks, ControlError, Place, Watcher};
use crate::rpc::{HelloReply, LogRequest};
use crate::script::tree::Block;
use crate::transport::client::Caller;
use crate::transport::{AgentError, CallError, server};

/// How often a caller is asked whether it wants an end.
const GLANCE: Duration = Duration::from_millis(50);
/// Exchanges of timestamps for a look at a clock: the shortest of them bounds it.
const EXCHANGES: usize = 16;

fn runtime() -> Result<Runtime, Error> {
    let made = Builder::new_multi_thread().enable_io().enable_time().build();
    made.map_err(|error| Error::Form { what: "threads".to_owned(), why: error.to_string() })
}

async fn until(is_over: impl Fn() -> bool) {
    while !is_over() {
        tokio::time::sleep(GLANCE).await;
    }
}

/// Runs the agent of `folder` on `address` until `is_over` says so; once it listens, `says` hears where, and what its keeper should
/// know. Leaves that are processes of their own run `programs`.
///
/// # Errors
/// If the folder is none, or the address cannot be had.
pub fn agent(
    folder: &Path,
    address: SocketAddr,
    programs: Programs,
    says: impl Fn(&Identity, SocketAddr, Vec<String>),
    is_over: impl Fn() -> bool,
) -> Result<(), Error> {
    let agent = Agent::open_with(folder.to_owned(), Arc::new(HostClock), Some(programs))?;
    let (who, notices) = (agent.identity().clone(), agent.notices());
    runtime()?.block_on(async {
        let listening = agent.listen(address, server::Bounds::default()).await?;
        says(&who, listening.address().map_err(|error| failed(address, &error))?, notices);
        let end = watch::Sender::new(false);
        let serving = tokio::spawn(listening.serve(end.subscribe()));
        until(is_over).await;
        end.send_replace(true);
        serving.await.map_err(|error| failed(address, &error))
    })
}

/// Lets in those who are invited, on `address`, until none is left who still may come, or `is_over` says so.
///
/// # Errors
/// If the address cannot be had, or the invitations not be read.
pub fn admit(
    authority: Authority,
    address: SocketAddr,
    listens: impl Fn(SocketAddr),
    asked: impl Fn(&Asked) + Clone + Send + 'static,
    is_over: impl Fn() -> bool,
) -> Result<(), Error> {
    let authority = Arc::new(authority);
    let now_unix_s = || HostClock.unix_s();
    runtime()?.block_on(async {
        let admission = Admission::listen(Arc::clone(&authority), address).await?;
        listens(admission.address().map_err(|error| failed(address, &error))?);
        let (tell, mut told) = tokio::sync::mpsc::channel(16);
        let serving = tokio::spawn(async move {
            let tell = move |one: Asked| {
                asked(&one);
                // Whoever listens looks at the invitations, not at what is said: one call is as good as several.
                let _ = tell.try_send(());
            };
            admission.serve(now_unix_s, tell).await;
        });
        loop {
            if authority.invited(now_unix_s())?.is_empty() {
                break;
            }
            tokio::select! {
                () = until(&is_over) => break,
                _ = told.recv() => {}
                () = tokio::time::sleep(Duration::from_secs(1)) => {}
            }
        }
        serving.abort();
        Ok(())
    })
}

/// Comes in by a token: makes the key and the folder of a member.
///
/// # Errors
/// If the token has no address, nobody of its lab answers there, or the lab refuses; or if there is something at `folder`.
pub fn enrol(token: &Token, folder: &Path) -> Result<Identity, Error> {
    let address = token.address.as_deref().ok_or_else(|| {
        Error::Refused("the token names no address: enrol by files, or invite with --address".to_owned())
    })?;
    // The token counts once: what can be known to fail fails before it is used.
    if folder.symlink_metadata().is_ok() {
        return Err(Error::Refused(format!("{} exists already: name a folder that does not exist", folder.display())));
    }
    let key = new_key()?;
    let answer = runtime()?.block_on(ask(token, address, &Request::new(token, &key)?))?;
    join(folder, &token.authority, &key, &answer, FILES_OF_AGENTS, HostClock.unix_s())
}

/// What a new member's folder has beside its credentials.
pub const FILES_OF_AGENTS: &[(&str, &str)] = &[(LIMITS_FILE, limits::DEFAULT)];

/// What an agent says of itself.
#[derive(Clone, Debug)]
pub struct Status {
    /// Who it is.
    pub agent: Identity,
    /// Until when its certificate counts, in seconds since 1970.
    pub certificate_ends_unix_s: i64,
    /// What it said.
    pub hello: HelloReply,
    /// How far its time of day is ahead of ours.
    pub time_of_day: Option<Bounds>,
    /// How far its monotonic clock is ahead of ours.
    pub monotonic: Option<Bounds>,
}

/// Asks agents, all at once, each by the name it is expected to have and its address: in the order they are given, what each says or
/// why it says nothing.
///
/// # Errors
/// If the folder is not that of a member.
pub fn status(folder: &Path, agents: &[(Option<Name>, String)]) -> Result<Vec<Result<Status, AgentError>>, Error> {
    let caller = Caller::new(Credentials::load(folder)?);
    let asking = agents.iter().map(|(name, address)| one_status(&caller, name.as_ref(), address));
    Ok(runtime()?.block_on(futures_util::future::join_all(asking)))
}

async fn one_status(caller: &Caller, name: Option<&Name>, address: &str) -> Result<Status, AgentError> {
    let mut link = caller.connect(address, name).await?;
    let mut clocks = Clocks::default();
    link.measure_clock(&HostClock, &mut clocks, EXCHANGES).await.map_err(|why| why.at(address))?;
    Ok(Status {
        agent: link.agent.identity.clone(),
        certificate_ends_unix_s: link.agent.not_after_unix_s,
        hello: link.hello,
        time_of_day: clocks.time_of_day.offset(HostClock.unix_ns()),
        monotonic: clocks.monotonic.offset(HostClock.monotonic_ns()),
    })
}

/// The end of an agent's log.
#[derive(Clone, Debug)]
pub struct Log {
    /// Whose.
    pub agent: Identity,
    /// How far its time of day is ahead of ours.
    pub time_of_day: Option<Bounds>,
    /// JSON, oldest first.
    pub lines: Vec<String>,
}

/// Asks agents for the last lines of their logs, so many at most, of an experiment or (empty) of all; as [`status`] does.
///
/// # Errors
/// If the folder is not that of a member.
pub fn logs(
    folder: &Path,
    agents: &[(Option<Name>, String)],
    experiment: &str,
    lines: u32,
) -> Result<Vec<Result<Log, AgentError>>, Error> {
    let caller = Caller::new(Credentials::load(folder)?);
    let request = LogRequest { experiment: experiment.to_owned(), lines };
    let asking = agents.iter().map(|(name, address)| {
        let (caller, request) = (&caller, request.clone());
        async move { one_log(caller, name.as_ref(), address, request).await }
    });
    Ok(runtime()?.block_on(futures_util::future::join_all(asking)))
}

async fn one_log(caller: &Caller, name: Option<&Name>, address: &str, request: LogRequest) -> Result<Log, AgentError> {
    let mut link = caller.connect(address, name).await?;
    let told = |why: CallError| why.at(address);
    let said = |status: tonic::Status| told(CallError::of(&status));
    let mut clocks = Clocks::default();
    link.measure_clock(&HostClock, &mut clocks, EXCHANGES).await.map_err(told)?;
    let mut parts = link.client.log(request).await.map_err(said)?.into_inner();
    let mut text = Vec::new();
    while let Some(part) = parts.message().await.map_err(said)? {
        text.extend(part.bytes);
    }
    let lines = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
    Ok(Log { agent: link.agent.identity, time_of_day: clocks.time_of_day.offset(HostClock.unix_ns()), lines })
}

/// Runs a script as the controller of `folder`, until it is over or `is_over` says so; `phase` hears what is asked of all, `watcher` what of each
/// block, and `report` gets the parts of reports as they come. What it came to; or everything that kept it from beginning.
///
/// # Errors
/// If the folder is not that of a member.
pub fn experiment(
    folder: &Path,
    name: &str,
    script: &Block,
    list: &BTreeMap<Name, String>,
    (phase, watcher): (impl FnMut(Command), Watcher),
    report: impl FnMut(Part),
    is_over: impl Fn() -> bool,
) -> Result<Result<Outcome, Vec<ControlError>>, Error> {
    let caller = Caller::new(Credentials::load(folder)?);
    runtime()?.block_on(async {
        match Experiment::begin(&caller, Arc::new(HostClock), name, script, list).await {
            Ok(experiment) => Ok(Ok(run_whole(experiment.watched(watcher), phase, report, until(is_over)).await)),
            Err(problems) => Ok(Err(problems)),
        }
    })
}

/// Fetches what agents found of the experiment `name`, whose controller was lost; as [`experiment`] does what it does.
///
/// # Errors
/// If the folder is not that of a member.
pub fn reports(
    folder: &Path,
    name: &str,
    script: &Block,
    list: &BTreeMap<Name, String>,
    report: impl FnMut(Part),
) -> Result<Result<Outcome, Vec<ControlError>>, Error> {
    let caller = Caller::new(Credentials::load(folder)?);
    runtime()?.block_on(async {
        match Experiment::take_up(&caller, Arc::new(HostClock), name, script, list).await {
            Ok(experiment) => Ok(Ok(report_whole(experiment, report).await)),
            Err(problems) => Ok(Err(problems)),
        }
    })
}

/// Agents that are the hosts of a run, and the threads by which they are talked to.
pub struct Lab {
    sides: Sides,
    runtime: Runtime,
}

impl Lab {
    /// Has agents begin as the hosts of the run `name`, as the controller of `folder`; or everything that keeps them from it.
    ///
    /// # Errors
    /// If the folder is not that of a member.
    pub fn begin(
        folder: &Path,
        name: &str,
        places: &[(LinkSide, Place)],
        share: Share,
    ) -> Result<Result<(Lab, Hosts), Vec<ControlError>>, Error> {
        let caller = Caller::new(Credentials::load(folder)?);
        let runtime = runtime()?;
        let begun = runtime.block_on(Sides::begin(&caller, Arc::new(HostClock), name, places, share));
        Ok(begun.map(|(sides, hosts)| (Lab { sides, runtime }, hosts)))
    }

    /// Takes the agents' sides down: how their clocks were, and what failed.
    pub fn end(self) -> (Vec<ClockOf>, Vec<ControlError>) {
        self.runtime.block_on(self.sides.end())
    }
}

fn failed(address: SocketAddr, error: &dyn std::fmt::Display) -> Error {
    Error::Form { what: address.to_string(), why: error.to_string() }
}
