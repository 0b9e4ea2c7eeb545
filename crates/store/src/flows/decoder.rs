//! Messages in, flow records out.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use flowloom_core::time::{Duration, Time};

use super::bytes::{u16_at, u32_at};
use super::domain::{Domain, DomainKey, Learnt, Sequence, Templates};
use super::element::Number;
use super::facts::{FlowFacts, Problem};
use super::framing::{self, IPFIX_HEADER_BYTES, Unreadable, V9_HEADER_BYTES};
use super::record::{FlowRecord, ObservationPoint, Sampling, Version};
use super::template::{Definition, Definitions, Template};
use super::v5;
use super::values::{Header, Values};

/// Exporters and their observation domains that are kept apart.
const MOST_DOMAINS: usize = 16_384;
/// Fields of all templates together; a template counts as [`TEMPLATE_COST`] more. About 16 MB.
const MOST_FIELDS: usize = 1 << 21;
const TEMPLATE_COST: usize = 16;
/// Samplers of all domains together; real exporters have a handful. Records of those beyond are of unknown sampling.
const MOST_SAMPLERS: usize = 65_536;
/// Bytes of all data sets that wait for their templates; a set counts as [`WAITING_COST`] more.
const MOST_WAITING_BYTES: usize = 16 << 20;
const WAITING_COST: usize = 128;

/// Where a message came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    /// The position of its input.
    pub input: usize,
    /// Who sent it, if known.
    pub exporter: Option<IpAddr>,
    /// Its number in the input, the first being 1.
    pub message: u64,
    /// Where its first byte is.
    pub offset: u64,
    /// The capture's snap length cut it.
    pub cut: bool,
}

/// A data set whose template has not come.
struct Waiting {
    header: Header,
    origin: Origin,
    offset: u64,
    body: Box<[u8]>,
}

/// A record whose times are in a clock of the exporter's that is not known yet.
struct Untimed {
    /// Its position in [`Decoder::records`].
    record: usize,
    domain: DomainKey,
    exported: Time,
    /// Milliseconds since the exporter's start.
    first: u64,
    last: u64,
}

/// Decodes export messages. Give it one with [`Decoder::handle_message`] and take its records with
/// [`Decoder::take_records`] before the next.
///
/// Nothing a message says can make it loop or hold much: a set's work is proportional to its bytes, and templates,
/// waiting sets, domains and samplers each have a limit; what is beyond is counted in the facts.
pub(super) struct Decoder {
    domains: BTreeMap<DomainKey, Domain>,
    waiting: BTreeMap<(DomainKey, u16), Vec<Waiting>>,
    waiting_bytes: usize,
    template_fields: usize,
    samplers: usize,
    exporters: BTreeMap<Option<IpAddr>, u32>,
    values: Values,
    records: Vec<FlowRecord>,
    untimed: Vec<Untimed>,
    pub facts: FlowFacts,
}

impl Decoder {
    pub fn new() -> Decoder {
        Decoder {
            domains: BTreeMap::new(),
            waiting: BTreeMap::new(),
            waiting_bytes: 0,
            template_fields: 0,
            samplers: 0,
            exporters: BTreeMap::new(),
            values: Values::new(),
            records: Vec::new(),
            untimed: Vec::new(),
            facts: FlowFacts::default(),
        }
    }

    /// The records of the messages since the last call.
    pub fn take_records(&mut self, into: &mut Vec<FlowRecord>) {
        into.clear();
        std::mem::swap(into, &mut self.records);
    }

    /// Decodes one message of `version`, `bytes` from its first to its last.
    pub fn handle_message(&mut self, version: Version, bytes: &[u8], origin: Origin) {
        let Some((key, observed)) = self.domain(version, bytes, origin) else {
            self.facts.messages_refused += 1;
            return;
        };
        self.facts.messages.add(version, 1);
        self.facts.messages_cut += u64::from(origin.cut);
        match version {
            Version::V5 => self.v5(bytes, key, observed),
            Version::V9 => self.v9(bytes, key, observed, origin),
            Version::Ipfix => self.ipfix(bytes, key, observed, origin),
        }
        self.time_the_untimed();
    }

    /// No more messages come: what waits, waits in vain.
    pub fn finish(&mut self) {
        for (_, sets) in std::mem::take(&mut self.waiting) {
            for set in sets {
                self.facts.sets_without_template += 1;
                self.facts.bytes_without_template += set.body.len() as u64;
            }
        }
        self.waiting_bytes = 0;
    }

    /// The domain of a message, `None` if there are too many of them or its header is cut.
    fn domain(&mut self, version: Version, bytes: &[u8], origin: Origin) -> Option<(DomainKey, ObservationPoint)> {
        let domain = match version {
            Version::V5 => u32::from(u16_at(bytes, 20)?),
            Version::V9 => u32_at(bytes, 16)?,
            Version::Ipfix => u32_at(bytes, 12)?,
        };
        let known = self.exporters.get(&origin.exporter).copied();
        let exporter = known.unwrap_or(self.exporters.len() as u32);
        let key = DomainKey { exporter, version, domain };
        if known.is_none() || !self.domains.contains_key(&key) {
            if self.domains.len() >= MOST_DOMAINS {
                return None;
            }
            if known.is_none() {
                self.exporters.insert(origin.exporter, exporter);
                self.facts.exporters.push(origin.exporter);
            }
            self.domains.insert(key, Domain::default());
        }
        let input = u32::try_from(origin.input).unwrap_or(u32::MAX);
        Some((key, ObservationPoint { input, exporter, domain, direction: None }))
    }

    fn v5(&mut self, bytes: &[u8], key: DomainKey, observed: ObservationPoint) {
        let Some((header, body)) = bytes.split_first_chunk() else { return };
        let header = v5::Header::new(header);
        self.sequence(key, header.sequence, Some(u32::from(header.count)));
        for record in body.as_chunks().0.iter().take(usize::from(header.count)) {
            let record = header.record(record, observed);
            note_record(&mut self.facts, &record);
            self.records.push(record);
        }
    }

    fn v9(&mut self, bytes: &[u8], key: DomainKey, observed: ObservationPoint, origin: Origin) {
        let Some((header, body)) = bytes.split_first_chunk::<V9_HEADER_BYTES>() else { return };
        let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let uptime = number(4);
        let seconds = Time::from_nanos(u64::from(number(8)) * 1_000_000_000);
        let exported = match self.domains.get_mut(&key) {
            Some(domain) => domain.sent(seconds, Duration::from_millis(u64::from(uptime))),
            None => seconds,
        };
        self.sequence(key, number(12), Some(1));
        let header = Header { version: Version::V9, exported, uptime: Some(uptime), observed };
        self.sets(body, V9_HEADER_BYTES, key, header, origin);
    }

    fn ipfix(&mut self, bytes: &[u8], key: DomainKey, observed: ObservationPoint, origin: Origin) {
        let Some((header, body)) = bytes.split_first_chunk::<IPFIX_HEADER_BYTES>() else { return };
        let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let exported = Time::from_nanos(u64::from(number(4)) * 1_000_000_000);
        let header = Header { version: Version::Ipfix, exported, uptime: None, observed };
        let records = self.sets(body, IPFIX_HEADER_BYTES, key, header, origin);
        self.sequence(key, number(8), records.filter(|_| !origin.cut));
    }

    fn sequence(&mut self, key: DomainKey, number: u32, counts: Option<u32>) {
        let Some(domain) = self.domains.get_mut(&key) else { return };
        match domain.sequence(number, counts) {
            Sequence::Expected => {}
            Sequence::Lost(lost) => self.facts.lost.add(key.version, u64::from(lost)),
            Sequence::Broken => self.facts.sequence_breaks += 1,
        }
    }

    /// Reads the sets of a message, which begin `header_bytes` into it; how many data records they hold, `None` if that
    /// cannot be told.
    fn sets(
        &mut self,
        body: &[u8],
        header_bytes: usize,
        key: DomainKey,
        header: Header,
        origin: Origin,
    ) -> Option<u32> {
        let mut records = Some(0u32);
        let ipfix = key.version == Version::Ipfix;
        for set in framing::sets(body) {
            let set = match set {
                Ok(set) => set,
                Err(_) if origin.cut => return None,
                Err(Unreadable { at, text }) => {
                    self.note(origin, header_bytes + at, text);
                    return None;
                }
            };
            let at = header_bytes + set.at;
            match (set.id, ipfix) {
                (0, false) | (2, true) => self.definitions(false, set.body, at, key, origin),
                (1, false) | (3, true) => self.definitions(true, set.body, at, key, origin),
                (256.., _) => {
                    let found = self.data_set(set.id, set.body, at, key, header, origin);
                    records = records.zip(found).map(|(all, more)| all.saturating_add(more));
                }
                _ => self.facts.reserved_sets += 1,
            }
        }
        records
    }

    fn note(&mut self, origin: Origin, at: usize, text: String) {
        let offset = origin.offset + at as u64;
        self.facts.note(Problem { input: origin.input, message: origin.message, offset, text });
    }

    fn definitions(&mut self, options: bool, body: &[u8], at: usize, key: DomainKey, origin: Origin) {
        for definition in Definitions::new(key.version, options, body) {
            match definition {
                Ok(Definition::Is(id, template)) => self.define(id, template, key),
                Ok(Definition::Withdrawn(id)) => self.withdraw(key, |templates| templates.remove(id)),
                Ok(Definition::AllWithdrawn { options }) => self.withdraw(key, |templates| templates.take_all(options)),
                Ok(Definition::Empty(id)) => {
                    self.facts.templates += 1;
                    self.facts.templates_refused += 1;
                    self.note(origin, at, format!("the records of template {id} would have no bytes"));
                }
                Err(text) => self.note(origin, at, text),
            }
        }
    }

    /// Keeps a template, and reads the sets that waited for it.
    fn define(&mut self, id: u16, template: Template, key: DomainKey) {
        self.facts.templates += 1;
        let Some(domain) = self.domains.get_mut(&key) else { return };
        let cost = template.fields.len() + TEMPLATE_COST;
        let before = domain.templates.get(id).map_or(0, |known| known.fields.len() + TEMPLATE_COST);
        if self.template_fields - before + cost > MOST_FIELDS {
            self.facts.templates_refused += 1;
            return;
        }
        self.template_fields = self.template_fields - before + cost;
        let template = Arc::new(template);
        if let Some(known) = domain.templates.insert(id, Arc::clone(&template)) {
            self.facts.templates_redefined += u64::from(known != template);
        }
        for set in self.waiting.remove(&(key, id)).unwrap_or_default() {
            self.waiting_bytes -= set.body.len() + WAITING_COST;
            self.facts.late_sets += 1;
            let at = (set.offset - set.origin.offset) as usize;
            self.records_of(&template, &set.body, at, key, set.header, set.origin);
        }
    }

    /// Forgets the templates that `which` takes out.
    fn withdraw<W: IntoIterator<Item = Arc<Template>>>(
        &mut self,
        key: DomainKey,
        which: impl FnOnce(&mut Templates) -> W,
    ) {
        let Some(domain) = self.domains.get_mut(&key) else { return };
        for template in which(&mut domain.templates) {
            self.facts.templates_withdrawn += 1;
            self.template_fields -= template.fields.len() + TEMPLATE_COST;
        }
    }

    /// Reads a data set, or lets it wait for its template. The number of its records, if it is known.
    fn data_set(
        &mut self,
        id: u16,
        body: &[u8],
        at: usize,
        key: DomainKey,
        header: Header,
        origin: Origin,
    ) -> Option<u32> {
        if let Some(template) = self.domains.get(&key).and_then(|domain| domain.templates.get(id)) {
            let template = Arc::clone(template);
            return Some(self.records_of(&template, body, at, key, header, origin));
        }
        let cost = body.len() + WAITING_COST;
        if self.waiting_bytes + cost > MOST_WAITING_BYTES {
            self.facts.sets_without_template += 1;
            self.facts.bytes_without_template += body.len() as u64;
            return None;
        }
        self.waiting_bytes += cost;
        let set = Waiting { header, origin, offset: origin.offset + at as u64, body: body.into() };
        self.waiting.entry((key, id)).or_default().push(set);
        None
    }

    /// Reads the records of a data set; how many there are. What is left and is shorter than a record is padding.
    fn records_of(
        &mut self,
        template: &Template,
        body: &[u8],
        at: usize,
        key: DomainKey,
        header: Header,
        origin: Origin,
    ) -> u32 {
        let Some(domain) = self.domains.get_mut(&key) else { return 0 };
        let (mut rest, mut count) = (body, 0);
        while rest.len() >= template.least {
            let Some(length) = self.values.read(template, rest) else {
                let offset = origin.offset + (at + 4 + body.len() - rest.len()) as u64;
                let text = "a value of variable length ends beyond its set".to_string();
                self.facts.note(Problem { input: origin.input, message: origin.message, offset, text });
                break;
            };
            rest = &rest[length..];
            count += 1;
            if template.options {
                self.facts.options_records += 1;
                if let Some(init) = self.values.get(Number::SystemInit) {
                    domain.system_init = Some(init);
                }
                if let Some((sampler, sampling)) = self.values.sampler() {
                    if self.samplers >= MOST_SAMPLERS && !domain.samplers.contains_key(&sampler) {
                        continue;
                    }
                    let learnt = domain.learn(sampler, sampling);
                    self.samplers += usize::from(learnt == Learnt::New);
                    if learnt != Learnt::Known && sampling != Sampling::None {
                        self.facts.records_before_sampling += std::mem::take(&mut domain.records);
                    }
                }
                continue;
            }
            match self.values.flow(&header, domain) {
                None => self.facts.other_records += 1,
                Some(decoded) => {
                    domain.records += 1;
                    note_record(&mut self.facts, &decoded.record);
                    if let Some((first, last)) = decoded.uptimes {
                        let (record, exported) = (self.records.len(), header.exported);
                        self.untimed.push(Untimed { record, domain: key, exported, first, last });
                    }
                    self.records.push(decoded.record);
                }
            }
        }
        count
    }

    /// Gives times to the records of this message that have only their exporter's uptimes.
    fn time_the_untimed(&mut self) {
        let mut untimed = std::mem::take(&mut self.untimed);
        // All of one message, or of one set that waited: they have one domain and one time of export.
        for together in untimed.chunk_by(|one, next| one.domain == next.domain && one.exported == next.exported) {
            let Some(domain) = self.domains.get_mut(&together[0].domain) else { continue };
            let latest = together.iter().map(|untimed| untimed.last).max().unwrap_or_default();
            let started = domain.estimated_start(together[0].exported, Duration::from_millis(latest));
            for Untimed { record, first, last, .. } in together {
                let at = |uptime: &u64| started + Duration::from_millis(*uptime);
                let record = &mut self.records[*record];
                (record.first, record.last) = (at(first), at(last.max(first)));
            }
        }
        untimed.clear();
        self.untimed = untimed;
    }
}

fn note_record(facts: &mut FlowFacts, record: &FlowRecord) {
    facts.records.add(record.version, 1);
    facts.estimated_times += u64::from(record.clock == super::record::Clock::Estimated);
    facts.without_times += u64::from(record.clock == super::record::Clock::Export);
    if record.sampling != Sampling::None {
        facts.sampled_records += 1;
        match record.sampling.interval() {
            Some(interval) => facts.largest_interval = facts.largest_interval.max(interval),
            None => facts.unknown_sampling_records += 1,
        }
    }
}
