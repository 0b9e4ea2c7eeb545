//! What is known of one exporter's observation domain: templates, samplers, clock, sequence.

use std::collections::BTreeMap;
use std::sync::Arc;

use flowloom_core::time::{Duration, Time};

use super::record::{Sampling, Version};
use super::template::Template;

/// Domains apart: templates and sequence numbers of one mean nothing in another (RFC 7011 section 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DomainKey {
    /// Number of the exporter; all files together are one.
    pub exporter: u32,
    pub version: Version,
    /// Observation domain, source id, or engine.
    pub domain: u32,
}

/// Whose sampling an options record states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sampler {
    /// Of every record that names none.
    All,
    /// Of records that name this sampler or selector.
    Id(u64),
    /// Of records of this input interface.
    Interface(u64),
}

/// A jump of a sequence number beyond this is a restart of the exporter or another stream, not a loss.
const MOST_LOST: u32 = 1 << 20;

/// What a sequence number told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sequence {
    /// Nothing is missing, or there is nothing to compare with.
    Expected,
    /// So much was lost before this message.
    Lost(u32),
    /// Out of order, repeated, or begun anew.
    Broken,
}

/// What was said of a sampler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Learnt {
    /// What was known.
    Known,
    /// Something else than before.
    Changed,
    /// The sampler was not known.
    New,
}

/// The templates of a domain by number. Those of flows and of options are apart: four bytes of IPFIX withdraw all of
/// one kind, and must not cost a look at each of the other.
#[derive(Default)]
pub(super) struct Templates {
    kinds: [BTreeMap<u16, Arc<Template>>; 2],
}

impl Templates {
    /// The template `id`.
    pub fn get(&self, id: u16) -> Option<&Arc<Template>> {
        self.kinds.iter().find_map(|kind| kind.get(&id))
    }

    /// Keeps a template; the one that had its number.
    pub fn insert(&mut self, id: u16, template: Arc<Template>) -> Option<Arc<Template>> {
        let before = self.remove(id);
        self.kinds[usize::from(template.options)].insert(id, template);
        before
    }

    /// Forgets the template `id`.
    pub fn remove(&mut self, id: u16) -> Option<Arc<Template>> {
        self.kinds.iter_mut().find_map(|kind| kind.remove(&id))
    }

    /// Forgets all templates of one kind.
    pub fn take_all(&mut self, options: bool) -> impl Iterator<Item = Arc<Template>> + use<> {
        std::mem::take(&mut self.kinds[usize::from(options)]).into_values()
    }
}

/// One observation domain.
#[derive(Default)]
pub(super) struct Domain {
    pub templates: Templates,
    pub samplers: BTreeMap<Sampler, Sampling>,
    /// Unix milliseconds at which the exporter started, as it says (systemInitTimeMilliseconds, 160).
    pub system_init: Option<u64>,
    /// When the exporter started, as derived: from NetFlow v9 headers, or from the first records of an IPFIX exporter that does not say.
    started: Option<Time>,
    next_sequence: Option<u32>,
    /// Flow records so far.
    pub records: u64,
}

impl Domain {
    /// Compares the sequence number of a message with what was expected. `counts` is what the message adds to it,
    /// `None` if that cannot be known.
    pub fn sequence(&mut self, number: u32, counts: Option<u32>) -> Sequence {
        let expected = std::mem::replace(&mut self.next_sequence, counts.map(|counts| number.wrapping_add(counts)));
        match expected.map(|expected| number.wrapping_sub(expected)) {
            None | Some(0) => Sequence::Expected,
            Some(lost) if lost <= MOST_LOST => Sequence::Lost(lost),
            Some(_) => Sequence::Broken,
        }
    }

    /// Remembers what was said of a sampler.
    pub fn learn(&mut self, sampler: Sampler, sampling: Sampling) -> Learnt {
        match self.samplers.insert(sampler, sampling) {
            None => Learnt::New,
            Some(known) if known == sampling => Learnt::Known,
            Some(_) => Learnt::Changed,
        }
    }

    /// When a NetFlow v9 message was sent, to the millisecond. Its header states whole seconds, cut off, and the uptime
    /// in milliseconds: of the starts of the exporter that follow from its messages, the latest is right.
    pub fn sent(&mut self, seconds: Time, uptime: Duration) -> Time {
        if seconds.as_nanos() <= uptime.as_nanos() {
            // Its clock was never set.
            return seconds;
        }
        let least = seconds.before(uptime);
        let started = match self.started {
            Some(started) if least.since(started).max(started.since(least)) <= Duration::from_secs(1) => {
                started.max(least)
            }
            _ => least,
        };
        self.started = Some(started);
        started + uptime
    }

    /// Where in Unix time the uptimes of an IPFIX exporter begin that does not say so: such that nothing in the first
    /// message, whose `latest` flow end is given, ends after the message was sent. Where that is hours off, the
    /// exporter was restarted.
    pub fn estimated_start(&mut self, exported: Time, latest: Duration) -> Time {
        const EARLY: Duration = Duration::from_secs(60);
        const LATE: Duration = Duration::from_secs(7_200);
        match self.started {
            Some(started) if exported + EARLY >= started + latest && exported.since(started + latest) <= LATE => {
                started
            }
            _ => *self.started.insert(exported.before(latest)),
        }
    }
}
