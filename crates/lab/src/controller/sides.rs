//! Agents as the hosts of an ordinary experiment: on each a `side` leaf ([`crate::agent`]), to whose process the experiment talks, and
//! whose packets it carries over the path that it emulates itself ([`flowloom_live::elsewhere`]).

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::Arc;

use flowloom_core::workload::LinkSide;
use flowloom_live::remote::backend::{Host, Hosts};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::ReceiverStream;

use super::clocks::Clocks;
use super::edge::Edge;
use super::error::ControlError;
use super::plan::Place;
use crate::agent::consent;
use crate::agent::leaf::Sending;
use crate::agent::limits::Limits;
use crate::clock::Clock;
use crate::clock::exchange::Bounds;
use crate::rpc::phase::Kind;
use crate::rpc::{Protocol, Word};
use crate::transport::CallError;
use crate::transport::client::{Caller, Link};

/// The block at each agent.
const BLOCK: &str = "side";
/// Exchanges of timestamps with an agent before, and again after the run.
const EXCHANGES: usize = 32;
/// No host sends more, in bit/s.
const MOST_BIT_S: u64 = 1_000_000_000_000;
/// Words on their way to or from an agent.
const WORDS: usize = 64;

/// What an experiment asks of each of its hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// For how long it is at work at most, in seconds.
    pub duration_s: u64,
}

/// The agents of an experiment. Dropped, they stop what it runs.
pub struct Sides {
    agents: Vec<Side>,
    clock: Arc<dyn Clock>,
}

struct Side {
    name: String,
    edge: Arc<Edge>,
    link: Link,
    clocks: Clocks,
    before: Option<Bounds>,
    running: JoinHandle<Result<(), CallError>>,
}

/// How far an agent's monotonic clock was ahead of this host's, before and after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockOf {
    /// The agent.
    pub agent: String,
    /// Before.
    pub before: Option<Bounds>,
    /// After.
    pub after: Option<Bounds>,
}

impl Sides {
    /// Has the agents at `places` begin, as hosts of the run `experiment`: what is known of them for the run, and themselves.
    ///
    /// # Errors
    /// Every agent that cannot be had, or refuses, and why.
    pub async fn begin(
        caller: &Caller,
        clock: Arc<dyn Clock>,
        experiment: &str,
        places: &[(LinkSide, Place)],
        share: Share,
    ) -> Result<(Sides, Hosts), Vec<ControlError>> {
        let connecting = places.iter().map(|(_, place)| caller.connect(&place.address, place.name.as_ref()));
        let mut links = Vec::with_capacity(places.len());
        let mut problems: Vec<ControlError> = Vec::new();
        for ((side, place), link) in places.iter().zip(futures_util::future::join_all(connecting).await) {
            match link {
                Ok(link) => links.push((*side, place, link)),
                Err(why) => problems.push(why.into()),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let sockets = sockets(&links).map_err(|why| vec![why])?;
        let mut agents = Vec::with_capacity(links.len());
        let mut hosts = Vec::with_capacity(links.len());
        for (side, place, link) in links {
            let port = sockets[side as usize].local_addr().map_err(|error| vec![ControlError::Socket(error)])?.port();
            match Side::begin(caller, &*clock, experiment, side, link, port, share).await {
                Ok((agent, host)) => {
                    agents.push(agent);
                    hosts.push(host);
                }
                Err(why) => problems.push(why.of_host(&place.address)),
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok((Sides { agents, clock }, Hosts { hosts, sockets }))
    }

    /// Takes the agents' sides down after a run, and asks their clocks once more. What failed at an agent is said of it.
    pub async fn end(self) -> (Vec<ClockOf>, Vec<ControlError>) {
        let (mut clocks, mut problems) = (Vec::new(), Vec::new());
        for mut agent in self.agents {
            // One that is gone cannot be asked, and its clock stays as it was known.
            let asked = agent.link.measure_clock(&*self.clock, &mut agent.clocks, EXCHANGES).await;
            let after = agent.clocks.monotonic.offset(self.clock.monotonic_ns()).filter(|_| asked.is_ok());
            clocks.push(ClockOf { agent: agent.name.clone(), before: agent.before, after });
            let torn_down = agent.edge.phase(BLOCK, Kind::Teardown).await;
            let ran = agent.running.await.map_err(ControlError::Task).and_then(|ran| Ok(ran?));
            let all =
                [asked.map(drop).map_err(ControlError::Call), torn_down.map(drop).map_err(ControlError::Call), ran];
            problems.extend(all.into_iter().filter_map(Result::err).map(|why| why.of_host(&agent.name)));
        }
        (clocks, problems)
    }
}

/// The emulator's ends of the tunnels of both sides, at addresses of the family by which their agents are reached.
fn sockets(links: &[(LinkSide, &Place, Link)]) -> Result<[UdpSocket; 2], ControlError> {
    let socket = |wanted: LinkSide| {
        let mut families = links.iter().filter(|(side, ..)| *side == wanted).map(|(_, _, link)| link.ends[0].is_ipv4());
        let is_ipv4 = families.next().ok_or(ControlError::NoHost(wanted))?;
        if families.any(|other| other != is_ipv4) {
            return Err(ControlError::Families(wanted));
        }
        let any: IpAddr = if is_ipv4 { [0; 4].into() } else { [0; 16].into() };
        UdpSocket::bind((any, 0)).map_err(ControlError::NoSocket)
    };
    Ok([socket(LinkSide::Left)?, socket(LinkSide::Right)?])
}

impl Side {
    async fn begin(
        caller: &Caller,
        clock: &dyn Clock,
        experiment: &str,
        side: LinkSide,
        mut link: Link,
        port: u16,
        share: Share,
    ) -> Result<(Side, Host), ControlError> {
        let Share { duration_s } = share;
        // Connections send as their kernels have them: a host may use all that its agent lends.
        let rate_bit_s =
            Limits::parse(&link.hello.limits_toml).map_err(ControlError::Limits)?.send.rate_bit_s().min(MOST_BIT_S);
        let agent = link.agent.identity.name.clone();
        let mut clocks = Clocks::default();
        link.measure_clock(clock, &mut clocks, EXCHANGES).await?;
        let before = clocks.monotonic.offset(clock.monotonic_ns());
        let edge = Arc::new(Edge::begin(&mut link, experiment).await?);
        let emulator = SocketAddr::new(link.ends[0].ip(), port);
        let sending = Sending { to: emulator, protocol: Protocol::Udp, rate_bit_s };
        let until_unix_s = clock.unix_s().saturating_add_unsigned(duration_s);
        let consent = consent::sign(&caller.own, experiment, &agent, &sending, until_unix_s)?;
        let text = format!("side {{ emulator = {emulator}; rate = {rate_bit_s}; duration = {duration_s}; }}\n");
        edge.setup(BLOCK, &text, vec![consent]).await?;
        let talk = talk(&mut link, experiment).await?;
        edge.phase(BLOCK, Kind::Open).await?;
        let of_run = Arc::clone(&edge);
        let running = tokio::spawn(async move { of_run.run(BLOCK, 0).await.map(drop) });
        let host = Host {
            name: agent.to_string(),
            side,
            address: link.ends[1].ip(),
            from: Box::new(talk.0),
            to: Box::new(talk.1),
            ahead_nanos: before.map_or(0, |bounds| bounds.middle_ns()),
        };
        Ok((Side { name: agent.to_string(), edge, link, clocks, before, running }, host))
    }
}

/// Takes up the conversation with the block at an agent.
async fn talk(link: &mut Link, experiment: &str) -> Result<(Hear, Say), CallError> {
    let (say, said) = mpsc::channel(WORDS);
    let first = Word { experiment: experiment.to_owned(), block: BLOCK.to_owned(), bytes: Vec::new() };
    say.send(first).await.map_err(|_| CallError::Ended)?;
    let answers = link.client.talk(ReceiverStream::new(said)).await.map_err(|status| CallError::of(&status))?;
    let mut answers = answers.into_inner();
    let (heard, hear) = mpsc::channel(WORDS);
    tokio::spawn(async move {
        while let Ok(Some(word)) = answers.message().await {
            if heard.send(word.bytes).await.is_err() {
                return;
            }
        }
    });
    Ok((Hear { words: hear, rest: io::Cursor::default() }, Say(say)))
}

/// What an agent says, for a thread.
struct Hear {
    words: mpsc::Receiver<Vec<u8>>,
    rest: io::Cursor<Vec<u8>>,
}

impl Read for Hear {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.rest.position() == self.rest.get_ref().len() as u64 {
            let Some(word) = self.words.blocking_recv() else { return Ok(0) };
            self.rest = io::Cursor::new(word);
        }
        self.rest.read(into)
    }
}

/// What is said to an agent by a thread; dropped, there is no more.
struct Say(mpsc::Sender<Word>);

impl Write for Say {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let word = Word { bytes: bytes.to_vec(), ..Word::default() };
        self.0.blocking_send(word).map_err(|_| io::ErrorKind::BrokenPipe)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
