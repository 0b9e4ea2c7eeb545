//! The leaf that plays a side of an experiment whose path is emulated at its controller: a process of its own
//! ([`flowloom_live::elsewhere::side`]), to which the controller talks; where that sends to, and how much at most, the agent says.

use std::io::{self, Write};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use flowloom_live::Program;
use serde_json::json;
use tokio::io::{DuplexStream, copy, duplex, split};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::consent::Permits;
use super::leaf::{Leaf, LeafError, LeafKind, Ran, Sending, Start, Stop};
use super::limits::Demand;
use super::tools::{asked, demand};
use crate::report::Report;
use crate::rpc::Protocol;
use crate::script::format;
use crate::script::leaf::{self as script, Tool};
use crate::script::tree::Block;

/// What waits between the process and whoever talks to it, in bytes.
const WAITING: usize = 256 << 10;

/// A process whose conversation is over has so long to end.
const ENDING: Duration = Duration::from_millis(200);
/// What messages call the process.
const PROCESS: &str = "a process for the side";

/// `side`, played by processes of this program.
pub(super) struct Side(pub(super) Program);

struct Player {
    program: Program,
    asked: script::Side,
    text: String,
    /// The end of the one who commands it, until it is taken.
    theirs: Option<DuplexStream>,
    ours: Option<DuplexStream>,
    ended: Option<ExitStatus>,
}

impl LeafKind for Side {
    fn keyword(&self) -> &'static str {
        script::Side::KEYWORD
    }

    fn make(&self, block: &Block) -> Result<Box<dyn Leaf>, LeafError> {
        let Tool::Side(asked) = asked(block)? else { return Err(LeafError::OtherKind("side")) };
        let (theirs, ours) = duplex(WAITING);
        Ok(Box::new(Player {
            program: self.0.clone(),
            asked,
            text: format::block(block),
            theirs: Some(theirs),
            ours: Some(ours),
            ended: None,
        }))
    }
}

impl Player {
    /// What it may send at most; without a limit all that a number can say.
    fn rate_bit_s(&self) -> u64 {
        self.asked.rate.bits_per_second().unwrap_or(u64::MAX)
    }

    fn process(&self) -> io::Result<Child> {
        let mut command = Command::new(&self.program.path);
        command.args(&self.program.arguments).arg("--emulator").arg(self.asked.emulator.to_string());
        command.arg("--rate").arg(format!("{}bit", self.rate_bit_s()));
        // When it is killed its workers and its namespace go with it.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()
    }
}

#[tonic::async_trait]
impl Leaf for Player {
    fn demand(&self) -> Demand {
        // Its connections stay in its namespace.
        Demand { rate_bit_s: self.rate_bit_s(), ..demand(self.asked.duration) }
    }

    fn sends(&self) -> Vec<Sending> {
        vec![Sending { to: self.asked.emulator, protocol: Protocol::Udp, rate_bit_s: self.rate_bit_s() }]
    }

    async fn prepare(&mut self) -> Result<String, LeafError> {
        Ok(String::new())
    }

    async fn open(&mut self, permits: &Permits) -> Result<String, LeafError> {
        permits.to(self.asked.emulator, Protocol::Udp)?;
        Ok(String::new())
    }

    async fn run(&mut self, start: Start, mut stop: Stop) -> Result<Ran, LeafError> {
        let ours = self.ours.take().ok_or(LeafError::HasRun)?;
        let started_monotonic_ns = tokio::select! {
            started = start.wait() => started,
            () = stop.told() => return Err(LeafError::StoppedEarly),
        };
        let mut process = self.process().map_err(|cause| LeafError::Process { process: PROCESS, cause })?;
        let (Some(mut input), Some(mut output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(LeafError::Unexpected { process: PROCESS, does: "has no pipes" });
        };
        let (mut from, mut to) = split(ours);
        let listening = async {
            // Whether it ended or broke off: the process hears that there is no more.
            let _ = copy(&mut from, &mut input).await;
            drop(input);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            _ = copy(&mut output, &mut to) => {}
            () = listening => {}
            () = stop.told() => {}
        }
        drop(to);
        let ended = match timeout(ENDING, process.wait()).await {
            Ok(ended) => Some(ended.map_err(LeafError::Waiting)?),
            Err(_) => {
                process.kill().await.map_err(LeafError::Waiting)?;
                None
            }
        };
        self.ended = ended;
        match ended {
            Some(status) if !status.success() => Err(LeafError::Ended(status)),
            _ => Ok(Ran { started_monotonic_ns, text: String::new() }),
        }
    }

    fn talk(&mut self) -> Option<DuplexStream> {
        self.theirs.take()
    }

    async fn close(&mut self) -> Result<String, LeafError> {
        Ok(String::new())
    }

    fn results(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let code = self.ended.and_then(|status| status.code());
        Report::new(script::Side::KEYWORD, &json!({ "exit_code": code })).write(out)
    }

    fn describe(&self) -> String {
        self.text.clone()
    }
}
