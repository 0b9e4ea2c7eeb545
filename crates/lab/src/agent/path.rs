//! The leaf that is a path between two network interfaces of this host: `path { left = eth1; right = eth2; ... }`. What it does is in
//! [`crate::leaves`]; here it becomes a leaf of an agent. It carries from `open` to `close`, so that others can connect across it.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use flowloom_core::time::Time;
use flowloom_live::clock::Clock;
use serde_json::json;
use tokio::task::JoinHandle;

use super::consent::Permits;
use super::leaf::{Leaf, LeafError, LeafKind, Ran, Sending, Start, Stop};
use super::limits::{Demand, Limits};
use super::thread::in_thread;
use super::tools::{Lent, asked, demand};
use crate::clock::{Clock as _, HostClock, sleep_until};
use crate::leaves::{Carried, Carrying, Order, Todo, WorkError};
use crate::script::format;
use crate::script::leaf::{Path, Tool};
use crate::script::tree::Block;

/// Interfaces that are carried between.
type Taken = Arc<Mutex<BTreeSet<String>>>;

/// `path`
pub(super) struct PathKind {
    limits: Limits,
    room: PathBuf,
    taken: Taken,
}

impl PathKind {
    pub(super) fn new(lent: &Lent) -> PathKind {
        PathKind { limits: lent.limits.clone(), room: lent.room.clone(), taken: Taken::default() }
    }
}

struct Between {
    asked: Path,
    text: String,
    room: PathBuf,
    taken: Taken,
    is: Is,
    /// When the run began and ended, by the host's monotonic clock.
    run: Option<(i64, i64)>,
}

/// How far it is.
enum Is {
    Made,
    Open(Open),
    Over { origin_ns: i64, carried: Box<Carried> },
}

/// A path that carries. Dropped, it ends.
struct Open {
    /// The host's monotonic clock when the path's began.
    origin_ns: i64,
    order: Arc<Order>,
    carrying: JoinHandle<Result<Carried, LeafError>>,
    _claim: Claim,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.order.give(Todo::Stop);
    }
}

/// Two interfaces that one path has to itself.
struct Claim {
    taken: Taken,
    interfaces: [String; 2],
}

impl Claim {
    fn of(taken: &Taken, interfaces: &[String; 2]) -> Result<Claim, LeafError> {
        let mut all = taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(interface) = interfaces.iter().find(|interface| all.contains(*interface)) {
            return Err(LeafError::Taken(interface.clone()));
        }
        all.extend(interfaces.iter().cloned());
        Ok(Claim { taken: Arc::clone(taken), interfaces: interfaces.clone() })
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut all = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|interface| !self.interfaces.contains(interface));
    }
}

impl LeafKind for PathKind {
    fn keyword(&self) -> &'static str {
        "path"
    }

    fn make(&self, block: &Block) -> Result<Box<dyn Leaf>, LeafError> {
        let Tool::Path(asked) = asked(block)? else { return Err(LeafError::OtherKind("path")) };
        self.limits.may_be_path(&asked.interfaces)?;
        asked.played().map_err(WorkError::from)?;
        let (room, taken) = (self.room.clone(), Arc::clone(&self.taken));
        Ok(Box::new(Between { asked: *asked, text: format::block(block), room, taken, is: Is::Made, run: None }))
    }
}

#[tonic::async_trait]
impl Leaf for Between {
    fn demand(&self) -> Demand {
        demand(self.asked.duration)
    }

    fn sends(&self) -> Vec<Sending> {
        // What it hands on is others'.
        Vec::new()
    }

    async fn prepare(&mut self) -> Result<String, LeafError> {
        // Another path may have them until this one is opened: here it is only seen whether they can be had.
        let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if self.asked.interfaces.iter().any(|interface| taken.contains(interface)) {
            return Ok(String::new());
        }
        Ok(Carrying::open(&self.asked)?.1)
    }

    async fn open(&mut self, _permits: &Permits) -> Result<String, LeafError> {
        let claim = Claim::of(&self.taken, &self.asked.interfaces)?;
        let (carrying, _) = Carrying::open(&self.asked)?;
        let origin_ns = HostClock.monotonic_ns();
        let clock = Clock::starting_at(origin_ns.unsigned_abs());
        let order = Arc::new(Order::new());
        let told = Arc::clone(&order);
        let held = Arc::clone(&order);
        let carrying = tokio::spawn(async move { Ok(in_thread(&held, move || carrying.carry(&clock, &told)).await??) });
        self.is = Is::Open(Open { origin_ns, order, carrying, _claim: claim });
        Ok(String::new())
    }

    async fn run(&mut self, start: Start, mut stop: Stop) -> Result<Ran, LeafError> {
        let Is::Open(open) = &mut self.is else { return Err(LeafError::NotOpen) };
        let nanos = i64::try_from(self.asked.duration.as_nanos()).unwrap_or(i64::MAX);
        let end_ns = start.monotonic_ns.saturating_add(nanos);
        let failed = tokio::select! {
            ended = &mut open.carrying => Some(ended),
            () = sleep_until(&*start.clock, end_ns) => None,
            () = stop.told() => None,
        };
        self.run = Some((start.monotonic_ns, end_ns.min(start.clock.monotonic_ns())));
        let Some(ended) = failed else {
            return Ok(Ran { started_monotonic_ns: start.monotonic_ns, text: String::new() });
        };
        let origin_ns = open.origin_ns;
        let carried = ended.map_err(|_| LeafError::ThreadEnded("path"))??;
        let why = carried.failure().map(str::to_owned);
        self.is = Is::Over { origin_ns, carried: Box::new(carried) };
        Err(LeafError::PathEnded { why })
    }

    async fn close(&mut self) -> Result<String, LeafError> {
        let Is::Open(open) = &mut self.is else { return Ok(String::new()) };
        open.order.give(Todo::Finish);
        let origin_ns = open.origin_ns;
        let ended = (&mut open.carrying).await;
        self.is = Is::Made;
        let carried = ended.map_err(|_| LeafError::ThreadEnded("path"))??;
        let said = carried.words();
        self.is = Is::Over { origin_ns, carried: Box::new(carried) };
        Ok(said)
    }

    fn results(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Is::Over { origin_ns, carried } = &self.is else {
            return writeln!(out, "{}", json!({ "leaf": "path", "results": null }));
        };
        let since = |at: i64| Time::from_nanos(at.saturating_sub(*origin_ns).max(0).unsigned_abs());
        let run = self.run.map_or((Time::ZERO, Time::ZERO), |(start, end)| (since(start), since(end)));
        carried.report(run, &self.room)?.write(out)
    }

    fn describe(&self) -> String {
        self.text.clone()
    }
}
