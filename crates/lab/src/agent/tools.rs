//! The leaves that neither send nor receive, as leaves of an agent: what they are asked for is held against the limits, and what they do
//! is done in threads of their own. What that is, is in [`crate::leaves`].

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use flowloom_core::time::Duration;
use flowloom_live::Program;

use super::consent::Permits;
use super::leaf::{Leaf, LeafError, LeafKind, Ran, Sending, Start, Stop};
use super::limits::{Demand, Limits};
use super::thread::in_thread;
use crate::leaves::{Capturing, Commanding, Monitoring, Order, Todo, Watching, Work};
use crate::report::Report;
use crate::script::format;
use crate::script::leaf::Tool;
use crate::script::tree::Block;

/// What a leaf is asked to do.
///
/// # Errors
/// What is wrong with its block.
pub(super) fn asked(block: &Block) -> Result<Tool, LeafError> {
    let (tool, found) = Tool::read(block).ok_or_else(|| LeafError::UnknownKind(block.keyword.clone()))?;
    tool.ok_or_else(|| LeafError::of_script(&found))
}

/// What a leaf demands that sends nothing.
pub(super) fn demand(duration: Duration) -> Demand {
    Demand { rate_bit_s: 0, connections: 0, duration_ns: duration.as_nanos() }
}

/// What the leaves of an agent have of it.
#[derive(Clone, Debug)]
pub(super) struct Lent {
    pub(super) limits: Limits,
    /// Where there is room for what they find.
    pub(super) room: PathBuf,
    /// What keeps commands.
    pub(super) keeper: Option<Program>,
}

/// `capture`, `watch`, `monitor` or `command`.
pub(super) struct InThread {
    keyword: &'static str,
    lent: Lent,
}

/// A leaf of these.
struct Working {
    duration: Duration,
    text: String,
    /// `None` if it was dropped while it ran.
    work: Option<Box<dyn Work>>,
}

impl InThread {
    /// All kinds.
    pub(super) fn kinds(lent: &Lent) -> impl Iterator<Item = Box<dyn LeafKind>> {
        let lent = lent.clone();
        ["capture", "watch", "monitor", "command"]
            .into_iter()
            .map(move |keyword| Box::new(InThread { keyword, lent: lent.clone() }) as Box<dyn LeafKind>)
    }
}

impl LeafKind for InThread {
    fn keyword(&self) -> &'static str {
        self.keyword
    }

    fn make(&self, block: &Block) -> Result<Box<dyn Leaf>, LeafError> {
        let Lent { limits, room, keeper } = &self.lent;
        let tool = asked(block)?;
        let duration = tool.duration();
        let work: Box<dyn Work> = match tool {
            Tool::Capture(capture) => {
                limits.may_capture(&capture.interface, capture.snap_bytes)?;
                // While it is kept there are two of it.
                Box::new(Capturing::new(capture, room, limits.run.results_bytes() / 2))
            }
            Tool::Watch(watch) => {
                limits.may_watch(&watch.interface)?;
                Box::new(Watching::new(*watch))
            }
            Tool::Monitor(monitor) => {
                limits.may_monitor(monitor.interface.as_deref())?;
                Box::new(Monitoring::new(monitor, room))
            }
            Tool::Command(command) => {
                let words = limits.command(&command.name)?;
                let keeper = keeper.clone().ok_or(LeafError::NoKeeper)?;
                Box::new(Commanding::new(command, words.0, keeper))
            }
            Tool::Sleep(_) | Tool::Path(_) | Tool::Side(_) | Tool::Replay(_) => {
                return Err(LeafError::OfItsOwn(block.keyword.clone()));
            }
        };
        Ok(Box::new(Working { duration, text: format::block(block), work: Some(work) }))
    }
}

#[tonic::async_trait]
impl Leaf for Working {
    fn demand(&self) -> Demand {
        demand(self.duration)
    }

    fn sends(&self) -> Vec<Sending> {
        Vec::new()
    }

    async fn prepare(&mut self) -> Result<String, LeafError> {
        Ok(self.work.as_mut().ok_or(LeafError::Gone)?.prepare()?)
    }

    async fn open(&mut self, _permits: &Permits) -> Result<String, LeafError> {
        Ok(self.work.as_mut().ok_or(LeafError::Gone)?.open()?)
    }

    async fn run(&mut self, start: Start, mut stop: Stop) -> Result<Ran, LeafError> {
        let mut work = self.work.take().ok_or(LeafError::Gone)?;
        let order = Arc::new(Order::new());
        let told = Arc::clone(&order);
        let clock = flowloom_live::clock::Clock::starting_at(start.monotonic_ns.unsigned_abs());
        let working = in_thread(&order, {
            let order = Arc::clone(&order);
            move || {
                let done = work.run(&clock, &order);
                (work, done)
            }
        });
        let watching = async {
            stop.told().await;
            told.give(Todo::Finish);
            std::future::pending::<()>().await;
        };
        let (work, done) = tokio::select! {
            done = working => done?,
            () = watching => return Err(LeafError::Stopped),
        };
        self.work = Some(work);
        Ok(Ran { started_monotonic_ns: start.monotonic_ns, text: done? })
    }

    async fn close(&mut self) -> Result<String, LeafError> {
        Ok(String::new())
    }

    fn results(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let report = self.work.as_mut().map(|work| work.report());
        report.unwrap_or_else(|| Ok(Report::new("none", &None::<()>)))?.write(out)
    }

    fn describe(&self) -> String {
        self.text.clone()
    }
}
