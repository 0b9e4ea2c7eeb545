//! When connections begin: vectors in the order in which their SYNs are sent.

use std::collections::BTreeMap;

use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{Protocol, Side};

use crate::classed::Classed;
use crate::config::{Config, ConfigError};
use crate::summary::RunError;

/// The most a SYN is sent ahead of the start of its vector. Vectors are read so long before they start, because their
/// SYNs do not come in order of their starts.
const MAX_LEAD: Duration = Duration::from_secs(1);

/// The connections of a run by when they send their SYNs, read no farther ahead than that takes.
///
/// A vector starts when its SYN passes the monitor (methods A.9), so the SYN is sent before that, by the time it takes to get
/// there: at most a second before, and not before the run begins. Where the connection was opened before, that is its first data.
/// Connections that start at the end of the window or later are not run.
#[derive(Debug)]
pub struct Starts<V> {
    vectors: V,
    /// By the time of the SYN and in order of reading; boxed, since the map moves what it holds.
    within_reach: BTreeMap<(Time, u64), Box<Classed>>,
    /// Read, and its SYN may come before those of vectors that were not read yet.
    last_start: Time,
    read: u64,
    is_at_end: bool,
    datagram_flows: u64,
}

impl<V> Starts<V> {
    /// Those of `vectors`, which come in order of their start.
    pub fn new(vectors: V) -> Starts<V> {
        let (within_reach, last_start) = (BTreeMap::new(), Time::ZERO);
        Starts { vectors, within_reach, last_start, read: 0, is_at_end: false, datagram_flows: 0 }
    }

    /// Flows of datagrams among the vectors that were read, which are left out.
    pub fn datagram_flows(&self) -> u64 {
        self.datagram_flows
    }

    /// The next connection and when it sends its SYN.
    ///
    /// # Errors
    /// The workload's; or it is not in order, or in a class that there is not.
    pub fn next<W, R, C: Into<Classed>>(&mut self, config: &Config) -> Result<Option<(Time, Classed)>, RunError<W, R>>
    where
        V: Iterator<Item = Result<C, W>>,
    {
        loop {
            let sure = self.last_start.before(MAX_LEAD);
            if let Some(first) = self.within_reach.first_entry()
                && (self.is_at_end || first.key().0 <= sure)
            {
                let ((syn, _), classed) = first.remove_entry();
                return Ok(Some((syn, *classed)));
            }
            if self.is_at_end {
                return Ok(None);
            }
            self.read(config)?;
        }
    }

    fn read<W, R, C: Into<Classed>>(&mut self, config: &Config) -> Result<(), RunError<W, R>>
    where
        V: Iterator<Item = Result<C, W>>,
    {
        let Some(next) = self.vectors.next().transpose().map_err(RunError::Workload)? else {
            self.is_at_end = true;
            return Ok(());
        };
        let classed: Classed = next.into();
        let (vector, class) = (&classed.vector, classed.class);
        if usize::from(class) >= config.classes.len() {
            return Err(ConfigError::Way { class: class.into() }.into());
        }
        let (start, previous) = (vector.start, self.last_start);
        if start < previous {
            return Err(RunError::Unsorted { id: vector.id, start, previous });
        }
        if start.since(Time::ZERO) >= config.window {
            self.is_at_end = true;
            return Ok(());
        }
        self.last_start = start;
        if vector.protocol != Protocol::Tcp {
            self.datagram_flows += 1;
            return Ok(());
        }
        self.within_reach.insert((begin(&classed, config), self.read), Box::new(classed));
        self.read += 1;
        Ok(())
    }
}

/// When a connection begins: its SYN is sent so that it passes the monitor at the start of its vector. Of one that was opened before, the
/// first data is; it begins a handshake after the run does at least. A source starts when it starts: it was never seen at a monitor.
fn begin(Classed { vector, class, origin }: &Classed, config: &Config) -> Time {
    if !origin.is_workload() {
        return vector.start;
    }
    let values = config.rules.values(config.seed, vector);
    let delays = config.path_delays(vector, *class, config.unknown_rtt).with(&values);
    let first = vector.adus.first().map(|adu| adu.side).filter(|_| vector.opened_before()).unwrap_or(Side::Initiator);
    let on = if first == Side::Initiator { vector.initiator_side } else { vector.initiator_side.other() };
    let begin = vector.start.before(delays.to_monitor(first, on).min(MAX_LEAD));
    if vector.opened_before() { begin.max(Time::ZERO + delays.rtt() + delays.rtt() / 2) } else { begin }
}
