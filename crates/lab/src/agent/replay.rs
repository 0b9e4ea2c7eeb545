//! The leaf that plays one side of a workload's connections, whose other side is at another host: `replay` (`script/leaf/replay.rs`). It is a process
//! of its own ([`flowloom_live::remote::peer`]), started when it is opened; where that sends to, and how much at most, the agent says.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use flowloom_live::Program;
use flowloom_live::clock::Clock;
use flowloom_live::control::{SocketOptions, receive, send};
use flowloom_live::host::settings::Settings;
use flowloom_live::remote::peer::{FromPeer, PeerOrders, PeerReport, ToPeer};
use flowloom_sim::Class;
use flowloom_store::workload::WorkloadReader;
use serde::Serialize;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::consent::Permits;
use super::leaf::{Leaf, LeafError, LeafKind, Ran, Sending, Start, Stop};
use super::limits::Demand;
use super::tools::{Lent, asked, demand};
use crate::leaves::announced;
use crate::report::Report;
use crate::rpc::Protocol;
use crate::script::format;
use crate::script::leaf::{Replay as Asked, Tool};
use crate::script::tree::Block;

/// The first connections may begin so long after the start of the leaf: its workers have to hear of that.
const LEAD_NS: i64 = 200_000_000;
/// The process has so long to make its side and to start its workers.
const BEGINNING: Duration = Duration::from_secs(20);
/// A message of the process is no longer: lists of delays.
const MOST_BYTES: u32 = 64 << 20;

/// `replay`, played by processes of this program.
pub(super) struct Replay {
    program: Program,
    lent: Lent,
}

struct Player {
    program: Program,
    asked: Asked,
    /// What its kernel is told, and what its sockets have.
    kernel: (Settings, SocketOptions),
    text: String,
    own: SocketAddr,
    peer: SocketAddr,
    workload: PathBuf,
    room: PathBuf,
    /// Of the workload file, once it was read.
    sha256: String,
    process: Option<Process>,
    table: Option<File>,
    found: Option<Box<PeerReport>>,
}

/// The process, killed when this is dropped, its workers and its namespace with it.
struct Process {
    _child: Child,
    to: ChildStdin,
    from: ChildStdout,
}

/// What a report has of it.
#[derive(Serialize)]
struct Results<'a> {
    workload: &'a str,
    workload_sha256: &'a str,
    side: &'static str,
    part: u32,
    parts: u32,
    own: SocketAddr,
    peer: SocketAddr,
    #[serde(flatten)]
    found: Option<&'a PeerReport>,
}

impl Replay {
    pub(super) fn new(program: Program, lent: &Lent) -> Replay {
        Replay { program, lent: lent.clone() }
    }
}

impl LeafKind for Replay {
    fn keyword(&self) -> &'static str {
        Asked::KEYWORD
    }

    fn make(&self, block: &Block) -> Result<Box<dyn Leaf>, LeafError> {
        let Tool::Replay(asked) = asked(block)? else { return Err(LeafError::OtherKind("replay")) };
        let workload = self.lent.limits.workload(&asked.workload)?;
        let class = Class { tcp: (*asked.tcp).clone(), ..Class::default() };
        let (settings, sockets) = Settings::from_classes(&[class])?;
        let kernel = (settings, sockets.into_iter().next().unwrap_or_default());
        Ok(Box::new(Player {
            program: self.program.clone(),
            own: announced::address(&asked.own)?,
            peer: announced::address(&asked.peer)?,
            kernel,
            asked: *asked,
            text: format::block(block),
            workload,
            room: self.lent.room.clone(),
            sha256: String::new(),
            process: None,
            table: None,
            found: None,
        }))
    }
}

impl Player {
    fn rate_bit_s(&self) -> u64 {
        self.asked.rate.bits_per_second().unwrap_or(u64::MAX)
    }

    /// By what the two ends know each other: they are of one experiment and play the same connections in the same way.
    fn token(&self, experiment: &str) -> u64 {
        let Asked { duration, part, parts, delays, workers, .. } = self.asked;
        let mut ends = [self.own, self.peer].map(|end| end.to_string());
        ends.sort();
        let (sha256, nanos) = (&self.sha256, duration.as_nanos());
        let same = format!("{experiment} {ends:?} {sha256} {nanos} {part} {parts} {delays} {workers}");
        Sha256::digest(same).iter().take(8).fold(0, |token, byte| token << 8 | u64::from(*byte))
    }

    async fn begin(&self, experiment: &str) -> Result<(Process, File, Vec<String>), LeafError> {
        let table = tempfile::NamedTempFile::new_in(&self.room).map_err(LeafError::NoRoom)?;
        let mut command = Command::new(&self.program.path);
        command.args(&self.program.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().map_err(cannot)?;
        let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(unexpected("has no pipes"));
        };
        let mut process = Process { _child: child, to, from };
        let Asked { side, part, parts, duration, delays, workers, .. } = self.asked;
        let orders = PeerOrders {
            own: self.own,
            peer: self.peer,
            most_bit_s: self.rate_bit_s(),
            token: self.token(experiment),
            side,
            workload: self.workload.clone(),
            part: part - 1,
            parts,
            window: duration,
            delays,
            workers,
            settings: self.kernel.0.clone(),
            sockets: self.kernel.1.clone(),
            table: table.path().to_owned(),
        };
        process.say(&ToPeer::Begin(Box::new(orders))).await.map_err(cannot)?;
        let answer = timeout(BEGINNING, process.hear()).await.map_err(|_| unexpected("does not begin"))?;
        match answer.map_err(cannot)? {
            // Only the two of them have the table now.
            FromPeer::Ready(words) => Ok((process, table.into_file(), words)),
            FromPeer::Failed(why) => Err(LeafError::Failed { why }),
            FromPeer::Done(_) => Err(unexpected("is over before it began")),
        }
    }
}

/// What messages call the process.
const PROCESS: &str = "the process of the replay";

fn cannot(cause: io::Error) -> LeafError {
    LeafError::Process { process: PROCESS, cause }
}

fn unexpected(does: &'static str) -> LeafError {
    LeafError::Unexpected { process: PROCESS, does }
}

impl Process {
    async fn say(&mut self, message: &ToPeer) -> io::Result<()> {
        let mut bytes = Vec::new();
        send(&mut bytes, message)?;
        self.to.write_all(&bytes).await?;
        self.to.flush().await
    }

    async fn hear(&mut self) -> io::Result<FromPeer> {
        let mut bytes = vec![0; 4];
        self.from.read_exact(&mut bytes).await?;
        let length = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        if length > MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "its message is too long"));
        }
        bytes.resize(4 + length as usize, 0);
        self.from.read_exact(&mut bytes[4..]).await?;
        receive(&bytes[..])?.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

/// The SHA-256 of a workload file that can be read, in hexadecimal.
fn digest(path: &Path) -> Result<String, LeafError> {
    WorkloadReader::open(path)?;
    let read = || {
        let (mut file, mut sha256) = (File::open(path)?, Sha256::new());
        let mut bytes = vec![0; 1 << 16];
        loop {
            match file.read(&mut bytes)? {
                0 => return Ok(sha256.finalize()),
                length => sha256.update(&bytes[..length]),
            }
        }
    };
    let sha256 = read().map_err(|cause: io::Error| LeafError::File { path: path.to_owned(), cause })?;
    Ok(sha256.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[tonic::async_trait]
impl Leaf for Player {
    fn demand(&self) -> Demand {
        // Its connections stay in its namespace.
        Demand { rate_bit_s: self.rate_bit_s(), ..demand(self.asked.duration) }
    }

    fn sends(&self) -> Vec<Sending> {
        vec![Sending { to: self.peer, protocol: Protocol::Udp, rate_bit_s: self.rate_bit_s() }]
    }

    async fn prepare(&mut self) -> Result<String, LeafError> {
        let path = self.workload.clone();
        let read = tokio::task::spawn_blocking(move || digest(&path)).await;
        self.sha256 = read??;
        Ok(String::new())
    }

    async fn open(&mut self, permits: &Permits) -> Result<String, LeafError> {
        permits.to(self.peer, Protocol::Udp)?;
        let (process, table, words) = self.begin(permits.experiment()).await?;
        (self.process, self.table) = (Some(process), Some(table));
        let notes = self.kernel.0.notes().iter().map(ToString::to_string);
        Ok(notes.chain(words).collect::<Vec<_>>().join("; "))
    }

    async fn run(&mut self, start: Start, mut stop: Stop) -> Result<Ran, LeafError> {
        let process = self.process.as_mut().ok_or(LeafError::NotOpen)?;
        let began_ns = start.monotonic_ns.saturating_add(LEAD_NS);
        let clock = Clock::starting_at(began_ns.max(0).unsigned_abs());
        process.say(&ToPeer::Start(clock)).await.map_err(cannot)?;
        let said = tokio::select! {
            said = process.hear() => said,
            () = stop.told() => {
                process.say(&ToPeer::Stop).await.map_err(cannot)?;
                process.hear().await
            }
        };
        self.process = None;
        match said.map_err(cannot)? {
            FromPeer::Done(found) => {
                let text = found.problems.join("; ");
                let met_nobody = found.round_trip_ns == 0;
                self.found = Some(found);
                if met_nobody {
                    Err(LeafError::Failed { why: text })
                } else {
                    Ok(Ran { started_monotonic_ns: start.monotonic_ns, text })
                }
            }
            FromPeer::Failed(why) => Err(LeafError::Failed { why }),
            FromPeer::Ready(_) => Err(unexpected("began twice")),
        }
    }

    async fn close(&mut self) -> Result<String, LeafError> {
        self.process = None;
        Ok(String::new())
    }

    fn results(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Asked { side, part, parts, ref workload, .. } = self.asked;
        let results = Results {
            workload,
            workload_sha256: &self.sha256,
            side: side.word(),
            part,
            parts,
            own: self.own,
            peer: self.peer,
            found: self.found.as_deref(),
        };
        let report = Report::new(Asked::KEYWORD, &results);
        match &self.table {
            Some(table) => report.with_file("csv", table.try_clone()?),
            None => report,
        }
        .write(out)
    }

    fn describe(&self) -> String {
        self.text.clone()
    }
}
