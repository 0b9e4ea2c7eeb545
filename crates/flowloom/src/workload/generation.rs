//! Makes workloads: draws them from a model, or changes what a source holds as an experiment asks (`docs/reference/models.md`).
//!
//! A first pass, where something must be known of all connections before the first is written, learns their round-trip times and their
//! load. The second writes vectors one by one; where new starts need sorting, what does not fit in memory waits on disk.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use flowloom_core::play::TraceCut;
use flowloom_core::rng::{Purpose, Stream};
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, LinkSide, Protocol, sum};
use flowloom_models::generate::SourceModel;
use flowloom_models::lrd::Hurst;
use flowloom_models::{
    Borders, Counted, Draw, InParts, Load, LoadMeter, Method, RoundTrips, ScalingPlan, Structure, Survey, Variation,
    block_length, close_as_observed, fix_windows, offered, settle, unsettle, until, wrapped,
};
use flowloom_report::facts::{DrawnPayload, TraceCutFacts};
use flowloom_store::formats::{Sorter, Tally};
use flowloom_store::silence::ClockJumps;
use flowloom_store::workload::{
    CaptureFacts, InputFile, Provenance, TrafficFacts, WorkloadFacts, WorkloadReader, WorkloadWriter,
};
use flowloom_store::{harpoon, histogram, swing};
use serde_json::{Value, json};

use crate::context::Stop;
use crate::error::{Error, KeyError};
use crate::experiment::{DatagramModel, Workload};

use crate::bits::bits;
use crate::targets::scratch;
use crate::warning::Warning;
use crate::workload::cut::{CutTally, TRACE_CUT, Vectors, cut_vectors, trace_cut};
use crate::workload::load;
use crate::workload::source::{Source, file_name, set_aside};

/// By how much thirds of a workload may differ before it cannot be said to have one load (methods A.11).
const STATIONARY: f64 = 0.05;

/// By how much a load may miss what was asked for before that is said: the busier direction's, by which vectors are chosen.
const MISSED: f64 = 0.01;
/// The same of the other direction, as a ratio: it follows from the vectors that were chosen.
const OTHER_MISSED: f64 = 2.0;

/// How vectors get their places in what is made. Flows of datagrams keep their load: none is cut at the end without what is cut being
/// sent elsewhere (methods M.5).
struct Placement {
    starts: Starts,
    /// Where flows of datagrams are cut before their parts get starts, as where blocks are drawn.
    borders: Option<Borders>,
    /// What of a flow of datagrams lies behind the end of the part of this that it starts in is sent at the beginning of that part; a part
    /// is what comes before the begin of this, and this.
    wraps_in: Option<Range<Duration>>,
}

/// Where connections start in what is made.
enum Starts {
    /// At another load.
    Scaled(ScalingPlan),
    /// In a draw of the workload.
    Drawn(Draw),
}

impl Starts {
    /// Of connection number `index`, which started at `start`.
    fn of(&self, index: u64, start: Time) -> Vec<Time> {
        match self {
            Starts::Scaled(plan) => plan.starts(index, start),
            Starts::Drawn(draw) => draw.starts(index, start),
        }
    }
}

/// Payload bit/s from the left and from the right of the link.
type Rates = [f64; 2];

/// A workload about to be made.
pub struct Generation<'a> {
    /// What is asked for.
    pub workload: &'a Workload,
    /// What it is made of; not of models.
    pub base: Option<&'a Source>,
    /// How draws of what the source holds differ; `None` for the workload as it is.
    pub variation: Option<Variation>,
    /// What it is drawn with.
    pub seed: u64,
    /// How long connections start; `None` for as long as in the source.
    pub duration: Option<Duration>,
    /// Leaves the names of files out of what it says about itself.
    pub anonymize: bool,
    /// Stops it.
    pub stop: &'a Stop,
}

/// The blocks of a workload that draws are put together of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    /// How long one is.
    pub length: Duration,
    /// Whole blocks of the workload, at least two.
    pub count: u64,
    /// Mean active connections that draws are expected to have, over those of the workload, after a prefill.
    pub active_share: f64,
}

impl Blocks {
    /// Whether two blocks fit into a workload of this length.
    pub fn fit(length: Duration) -> bool {
        length >= block_length(length, &mut []) * 2
    }

    /// Draws without a connection that are tried before the workload is called too sparse for blocks.
    const MOST_DRAWS: usize = 1_000;

    /// A draw of `length` that holds one of the connections that started at `begun`: one that holds none is drawn anew (methods M.5).
    /// `None` if there are fewer than two blocks.
    fn draw(self, begun: &[Time], length: Duration, seed: u64, stop: &Stop) -> Result<Option<Draw>, Error> {
        let Blocks { length: block, count, .. } = self;
        // The rest behind the last whole block is in no draw.
        let is_in_block = |start: &Time| start.as_nanos() < (block * count).as_nanos();
        let tries = if begun.iter().any(is_in_block) { Blocks::MOST_DRAWS } else { 1 };
        let mut others = Stream::new(seed, Purpose::Resampling, u64::MAX);
        let seeds = std::iter::once(seed).chain(std::iter::repeat_with(|| others.bits64()));
        let holds_one = |draw: &Draw| (0..).zip(begun).any(|(id, start)| !draw.starts(id, *start).is_empty());
        for seed in seeds.take(tries) {
            if stop.is_requested() {
                return Err(Error::stopped());
            }
            match Draw::of_blocks(block * count, block, length, seed) {
                Some(draw) if !holds_one(&draw) => {}
                draw => return Ok(draw),
            }
        }
        Err(Error::new(format_args!("no draw of blocks of {block} holds a connection"))
            .hint("too few connections start to draw from: use --vary \"jitter 1s\", or --vary nothing with one seed"))
    }
}

/// Mean active connections of draws over those of a workload whose connections started at `begun` and stayed `open` for so long, or to its
/// end, both after `from`; with the lengths of the workload and of a draw (methods M.5).
fn active_share(
    begun: &[Time],
    open: &[Option<Duration>],
    block: Duration,
    from: Duration,
    [of, length]: [Duration; 2],
) -> f64 {
    let count = of.as_nanos() / block.as_nanos().max(1);
    let (mut in_workload, mut in_draws) = (0.0, 0.0);
    for (start, open) in begun.iter().zip(open) {
        let seen = (Time::ZERO + of).since(*start);
        let open = open.map_or(seen, |open| open.min(seen));
        let before = from.saturating_sub(start.since(Time::ZERO)).min(open);
        in_workload += (open - before).as_secs_f64();
        let is_in_block = start.as_nanos() < (block * count).as_nanos();
        if is_in_block {
            let within = Duration::from_nanos(start.as_nanos() % block.as_nanos().max(1));
            let open_before = |end| Draw::open_before(end, within, open, block, length);
            // Each slot of a draw is filled by one of the blocks.
            in_draws += (open_before(length) - open_before(from)) / count.max(1) as f64;
        }
    }
    let mean = |sum: f64, length: Duration| sum / length.saturating_sub(from).as_secs_f64().max(1e-9);
    if in_workload > 0.0 { mean(in_draws, length) / mean(in_workload, of) } else { 1.0 }
}

/// What a first pass over a workload learns, as far as it is asked for.
struct Surveyed {
    rtts: Vec<Duration>,
    durations: Vec<Duration>,
    meter: LoadMeter,
    survey: Survey,
    /// When connections and flows start that are a part of the load.
    begun: Vec<Time>,
    /// How long each of them is an active connection.
    open: Vec<Option<Duration>>,
    /// Flows of datagrams are among them.
    sends_datagrams: bool,
}

impl Surveyed {
    /// Nothing yet, of a workload of this length of which this part is replayed.
    fn of(length: Duration, part: Range<Duration>) -> Surveyed {
        let times = Time::ZERO + part.start..Time::ZERO + part.end;
        Surveyed {
            rtts: Vec::new(),
            durations: Vec::new(),
            meter: LoadMeter::new(part.end - part.start),
            survey: Survey::new(length).of_part(times),
            begun: Vec::new(),
            open: Vec::new(),
            sends_datagrams: false,
        }
    }

    fn begin(&mut self, vector: &ConnectionVector) {
        self.begun.push(vector.start);
        self.open.push(open_time(vector));
    }
}

/// How long a vector is an active connection; `None` if it is one to the end of its record. Flows of datagrams are none.
fn open_time(vector: &ConnectionVector) -> Option<Duration> {
    match vector.protocol {
        Protocol::Tcp => vector.end().map(|end| end.since(vector.start)),
        Protocol::Udp | Protocol::Quic => Some(Duration::ZERO),
    }
}

/// What was made.
pub struct Made {
    /// The blocks that it was drawn from, if it was.
    pub blocks: Option<Blocks>,
    /// Its payload beside what load and structure ask for.
    pub payload: DrawnPayload,
    /// What the workload says about itself.
    pub facts: WorkloadFacts,
    /// The load it had before, if that was changed.
    pub before: Option<Load>,
    /// Its load.
    pub load: Load,
    /// Payload bit/s from each side of the link that were asked for, and that it has.
    asked: Option<[Rates; 2]>,
    /// The part of the source that the load before is of, if it is not all of it.
    part: Option<Range<Duration>>,
    /// What a reader of results should know of its model.
    pub remarks: Vec<String>,
}

impl Generation<'_> {
    /// What it is called in titles.
    pub fn name(&self) -> String {
        match (&self.workload.model, self.base) {
            (Some(model), _) => format!("model {}", model.name()),
            (None, base) => base.map_or_else(String::new, |base| base.name.clone()),
        }
    }

    /// The model, with the tables it names; `None` for what has a source.
    fn model(&self) -> Result<Option<SourceModel>, Error> {
        let Some(mut model) = self.workload.model.clone() else { return Ok(None) };
        if let Some(folder) = model.tables().cloned() {
            let mut read = |table: &str| histogram::open(Path::new(&folder), table);
            model.read_tables(&mut read).map_err(|error| {
                Error::from(KeyError::saying("workload.model.tables", error))
                    .hint("docs/reference/models.md lists the tables of each model; without tables it draws from their summaries")
            })?;
        }
        if let SourceModel::Swing(model) = &mut model {
            let cannot = |problem: &dyn std::fmt::Display| {
                Error::from(KeyError::saying("workload.model.config", problem))
                    .hint("flowloom fit FILE --model swing -o swing.json writes such a file")
            };
            let read = swing::open(Path::new(&model.config)).map_err(|error| cannot(&error))?;
            model.set(read).map_err(|problem| cannot(&problem))?;
        }
        if let SourceModel::Harpoon(model) = &mut model {
            let cannot = |problem: &dyn std::fmt::Display| {
                Error::from(KeyError::saying("workload.model.config", problem))
                    .hint("docs/reference/models.md says what is read of Harpoon's XML")
            };
            let mut config = harpoon::Config::default();
            for (number, file) in (1..).zip(model.configs()) {
                let name = self.anonymize.then(|| format!("config {number}"));
                let read = harpoon::open_as(Path::new(file), name).map_err(|error| cannot(&error))?;
                config.plugins.extend(read.plugins);
                config.remarks.extend(read.remarks);
            }
            if !config.plugins.is_empty() {
                model.configure(&config.plugins, config.remarks).map_err(|problem| cannot(&problem))?;
            }
        }
        Ok(Some(model))
    }

    /// Whether it is a part of the load: flows of datagrams are if they are sent.
    fn counts(&self, vector: &ConnectionVector) -> bool {
        vector.protocol == Protocol::Tcp || self.workload.datagrams == DatagramModel::AsSeen
    }

    /// Whether connections start at other times than in the source, without the flows that are not sent.
    fn has_new_starts(&self) -> bool {
        self.workload.load.is_some() || self.variation.is_some()
    }

    /// Jumps of the source's clock, which are left out where connections get new starts: nothing is drawn from a silence of years.
    fn clock_jumps(&self) -> ClockJumps {
        let base = self.base.filter(|_| self.has_new_starts());
        base.map_or_else(ClockJumps::default, |base| base.facts.clock_jumps())
    }

    /// How long connections start before anything is changed.
    fn length(&self) -> Result<Duration, Error> {
        let base = self.base.map(|base| {
            let observed =
                Duration::from_nanos(base.facts.capture.duration_ns).saturating_sub(self.clock_jumps().total());
            // What starts with the last packet starts within.
            observed + Duration::from_nanos(1)
        });
        base.or(self.duration).ok_or_else(|| {
            Error::usage("measure.duration is missing")
                .hint("a model goes on for ever: say for how long with --duration 60s, or in the experiment")
        })
    }

    /// The part of what there is, for `length`, that is replayed where nothing is changed: a load is in parts of its load.
    fn part(&self, length: Duration) -> Range<Duration> {
        let begin = self.workload.prefill_length();
        let end = self.duration.map_or(length, |duration| duration.min(length));
        let is_of_all = self.workload.load.as_ref().is_some_and(|load| load.is_of_all());
        if is_of_all || begin >= end { Duration::ZERO..length } else { begin..end }
    }

    /// The part of what its model draws that it is, if it is cut out of that.
    fn trace_cut(&self) -> Result<Option<TraceCut>, Error> {
        Ok(self.workload.trace_cut(self.length()?).filter(|_| self.workload.model.is_some()))
    }

    /// The connections before anything is changed. What has to wait on disk does so beside `path`.
    fn vectors(&self, model: Option<&SourceModel>, path: &Path) -> Result<Vectors, Error> {
        let stop = self.stop.clone();
        let asked = move |vectors: Vectors| -> Vectors {
            Box::new(vectors.map(move |vector| if stop.is_requested() { Err(Error::stopped()) } else { vector }))
        };
        if let Some(model) = model {
            if let Some(cut) = self.trace_cut()? {
                let whole = model.vectors_after(self.seed, cut.after(), cut.end());
                return cut_vectors(asked(Box::new(whole.map(Ok))), cut, &scratch(path));
            }
            let lead_in = self.workload.prefill().shift();
            return Ok(asked(Box::new(model.vectors_after(self.seed, lead_in, self.length()?).map(Ok))));
        }
        let source = self.base.and_then(|base| base.path.as_ref());
        let source = source.ok_or_else(|| Error::usage("[workload] names no source and no model"))?;
        let reader = WorkloadReader::open(source).map_err(Error::new)?;
        let jumps = self.clock_jumps();
        let without_jumps = move |vector: ConnectionVector| {
            let start = vector.start.before(jumps.before(vector.start));
            ConnectionVector { start, ..vector }
        };
        Ok(asked(Box::new(reader.map(move |vector| vector.map(&without_jumps).map_err(Error::new)))))
    }

    /// The connections before anything is changed, flows of datagrams cut at `borders`.
    fn parts(&self, model: Option<&SourceModel>, borders: Option<Borders>, path: &Path) -> Result<Vectors, Error> {
        let vectors = self.vectors(model, path)?;
        Ok(match borders {
            Some(borders) => Box::new(InParts::new(vectors, borders)),
            None => vectors,
        })
    }

    /// Where flows of datagrams are cut if a workload of `length` is made to another load: at the borders of blocks, and of the part that
    /// is replayed, so that the old load, the new one and what is drawn count the same datagrams.
    fn borders_of_load(&self, length: Duration) -> Option<Borders> {
        let scaling = self.workload.load.as_ref()?.scaling(0.0, self.duration.unwrap_or(length));
        let part = self.part(length);
        match scaling.method {
            Method::Blocks(block) => Some(Borders::every_and_at(block, [scaling.duration, part.start, part.end])),
            Method::Thinning | Method::Poisson if part != (Duration::ZERO..length) => Some(Borders::around(&part)),
            Method::Thinning | Method::Poisson | Method::Starts => None,
        }
    }

    /// Learns what must be known of all connections before the first is written.
    fn surveyed(&self, model: Option<&SourceModel>, length: Duration, path: &Path) -> Result<Surveyed, Error> {
        let workload = self.workload;
        let part = self.part(length);
        let mut found = Surveyed::of(length, part.clone());
        if workload.load.is_none() && !workload.rtt.is_fitted() && self.variation.is_none() {
            return Ok(found);
        }
        for vector in self.parts(model, self.borders_of_load(length), path)? {
            let vector = vector?;
            if workload.rtt.is_fitted() && vector.protocol == Protocol::Tcp {
                found.rtts.extend(vector.min_rtt());
            }
            if workload.load.is_some() && self.counts(&vector) {
                found.survey.add(&vector);
                if part.contains(&vector.start.since(Time::ZERO)) {
                    match part.start {
                        Duration::ZERO => found.meter.add(&vector),
                        begin => {
                            let start = vector.start.before(begin);
                            found.meter.add(&ConnectionVector { start, ..vector.clone() });
                        }
                    }
                }
            }
            if self.variation == Some(Variation::Blocks) && self.counts(&vector) {
                found.durations.extend(vector.duration());
                found.sends_datagrams |= vector.protocol != Protocol::Tcp;
                found.begin(&vector);
            }
        }
        Ok(found)
    }

    /// Where connections start in a draw of a workload of length `of`, which lasts for `length`, and the blocks that it is made of; no
    /// placement where there are fewer than two.
    fn drawn(
        &self,
        variation: Variation,
        model: Option<&SourceModel>,
        mut found: Surveyed,
        [of, length]: [Duration; 2],
        path: &Path,
    ) -> Result<(Option<Placement>, Option<Blocks>), Error> {
        if let Variation::Jitter(by) = variation {
            let starts = Starts::Drawn(Draw::of_jitter(by, of, self.seed));
            return Ok((Some(Placement { starts, borders: None, wraps_in: Some(Duration::ZERO..of) }), None));
        }
        let block = block_length(of, &mut found.durations);
        let borders = Some(Borders::every(block));
        if found.sends_datagrams {
            (found.begun, found.open) = (Vec::new(), Vec::new());
            for vector in self.parts(model, borders, path)? {
                let vector = vector?;
                if self.counts(&vector) {
                    found.begin(&vector);
                }
            }
        }
        let Surveyed { begun, open, .. } = &found;
        let active_share = active_share(begun, open, block, self.workload.prefill_length(), [of, length]);
        let of_blocks = Blocks { length: block, count: of.as_nanos() / block.as_nanos(), active_share };
        let draw = of_blocks.draw(begun, length, self.seed, self.stop)?;
        let blocks = draw.as_ref().map(|_| of_blocks);
        Ok((draw.map(|draw| Placement { starts: Starts::Drawn(draw), borders, wraps_in: None }), blocks))
    }

    /// Writes it to `path`, in place of a file if it `replaces` one. What has to wait on disk does so beside it.
    pub fn write(&self, path: &Path, replaces: bool) -> Result<Made, Error> {
        let Generation { workload, seed, .. } = *self;
        let model = self.model()?;
        let model = model.as_ref();
        let mut length = self.length()?;
        let (mut before, mut placement, mut asked, mut blocks) = (None, None, None, None);
        let (part, mut counted_from) = (self.part(length), Time::ZERO);
        let is_part = part != (Duration::ZERO..length);
        let borders = self.borders_of_load(length);
        let mut found = self.surveyed(model, length, path)?;
        if let Some(keys) = &workload.load {
            let load = std::mem::replace(&mut found.meter, LoadMeter::new(length)).finish();
            let scaling = keys.scaling(load.payload_rate(load.busier()), self.duration.unwrap_or(length));
            let planned = ScalingPlan::new(&found.survey, &scaling, seed).map_err(|problem| {
                Error::from(KeyError::saying("workload.load", problem))
                    .hint("ask for less, for a shorter time, or by another method (docs/reference/models.md)")
            })?;
            length = planned.length();
            // What starts before the part that is replayed has a load of its own.
            if part.start < length {
                counted_from += part.start;
            }
            if scaling.counted == Counted::Bytes && scaling.method != Method::Starts {
                asked = Some([LinkSide::Left, LinkSide::Right].map(|side| scaling.factor * load.payload_rate(side)));
            }
            let wraps_in = Some(counted_from.since(Time::ZERO)..length);
            placement = Some(Placement { starts: Starts::Scaled(planned), borders, wraps_in });
            before = Some(load);
        }
        let mut rtts = std::mem::take(&mut found.rtts);
        if let Some(variation) = self.variation {
            let of = length;
            length = self.duration.map_or(length, |duration| duration.min(length));
            (placement, blocks) = self.drawn(variation, model, found, [of, length], path)?;
        }
        rtts.sort_unstable();
        let round_trips = workload.rtt.round_trips(&rtts).ok_or_else(|| without_round_trips(workload))?;
        drop(rtts);
        // What starts later is in no run.
        length = self.duration.map_or(length, |duration| duration.min(length));
        let placed = self.placed(model, placement.as_ref(), length, path)?;
        let mut writer = WorkloadWriter::stage(path, replaces).map_err(Error::new)?;
        let (mut tally, mut meter, mut id) = (Tally::default(), LoadMeter::new(length), 0);
        let (mut asked_bytes, mut drawn_bytes) = ([0; 2], [0; 2]);
        let mut cut = self.trace_cut()?.map(|cut| CutTally::new(cut.after()));
        for vector in placed {
            let vector = vector?;
            if vector.start.since(Time::ZERO) >= length {
                break;
            }
            add_payload(&mut asked_bytes, &vector);
            cut.iter_mut().for_each(|cut| cut.add(&vector));
            for mut vector in self.changed(vector, &round_trips) {
                if asked.is_none() || (vector.start >= counted_from && self.counts(&vector)) {
                    add_payload(&mut drawn_bytes, &vector);
                }
                vector.id = id;
                id += 1;
                tally.add(&vector);
                if self.counts(&vector) {
                    meter.add(&vector);
                }
                writer.write_owned(vector).map_err(Error::new)?;
            }
        }
        let load = meter.finish();
        let asked = asked.map(|rates: Rates| {
            let seconds = load.duration.saturating_sub(counted_from.since(Time::ZERO)).as_secs_f64().max(1e-9);
            asked_bytes = rates.map(|rate| (rate * seconds / 8.0).round() as u64);
            [rates, drawn_bytes.map(|bytes| 8.0 * bytes as f64 / seconds)]
        });
        let payload = DrawnPayload::new(asked_bytes, drawn_bytes);
        let mut provenance = self.provenance(before.as_ref(), &load)?;
        if let Some(cut) = cut {
            provenance.options.insert(TRACE_CUT.to_owned(), json!(cut.facts()));
        }
        let facts = tally.facts(Time::ZERO, provenance, &[]);
        let (mut capture, traffic) = self.capture(facts.capture, &load)?;
        let remarks = model.map_or_else(Vec::new, |model| model.remarks(load.duration));
        capture.warnings.extend(remarks.iter().cloned());
        let facts = writer.finish(facts.provenance, capture, &traffic).map_err(Error::new)?;
        let part = is_part.then_some(part);
        Ok(Made { blocks, payload, facts, before, load, asked, part, remarks })
    }

    /// The connections at their new starts, in the order of these, with dense ids. Where these are new, flows that are not sent are left
    /// out, and those that are sent pass before the end. Connections that the end of their record cut are open for as long as they were
    /// seen to be, if that is over within `length`.
    fn placed(
        &self,
        model: Option<&SourceModel>,
        placement: Option<&Placement>,
        length: Duration,
        path: &Path,
    ) -> Result<Vectors, Error> {
        let Some(Placement { starts, borders, wraps_in }) = placement else { return self.vectors(model, path) };
        let mut sorter = Sorter::in_folder(&scratch(path));
        let counted = self
            .parts(model, *borders, path)?
            .filter(|vector| vector.as_ref().map_or(true, |vector| self.counts(vector)));
        let record_end = self.base.map(|_| self.length()).transpose()?.map(|length| Time::ZERO + length);
        let end = Time::ZERO + length;
        let wraps_in = wraps_in.clone().unwrap_or(Duration::ZERO..Duration::MAX);
        for (index, vector) in (0..).zip(counted) {
            let vector = vector?;
            let observed = record_end.map(|end| end.since(vector.start));
            for start in starts.of(index, vector.start) {
                let mut placed = ConnectionVector { start, ..vector.clone() };
                if let Some(observed) = observed.filter(|observed| start + *observed < end) {
                    close_as_observed(&mut placed, observed);
                }
                // Where blocks are drawn what is cut at the end is as much as the last slot has no room for.
                let is_before = start < Time::ZERO + wraps_in.start;
                let part = if is_before { Duration::ZERO..wraps_in.start } else { wraps_in.clone() };
                for placed in wrapped(placed, &part).filter_map(|placed| until(placed, length)) {
                    sorter.push(placed).map_err(load::unreadable)?;
                }
            }
        }
        let sorted = sorter.finish(Time::ZERO).map_err(load::unreadable)?;
        Ok(Box::new(sorted.map(|vector| vector.map_err(load::unreadable))))
    }

    /// `vector` with structure, round-trip time and windows as asked for, under its old id.
    pub fn changed(
        &self,
        mut vector: ConnectionVector,
        round_trips: &RoundTrips,
    ) -> impl Iterator<Item = ConnectionVector> {
        let Generation { workload, seed, .. } = *self;
        let (settles, window) = (workload.settles_waits(), workload.fixed_window());
        let (connection, structure) = (vector.id, if settles { workload.structure } else { Structure::default() });
        if settles {
            settle(&mut vector, workload.waits.model());
        }
        let changed = structure.apply(vector).map(move |mut vector| {
            if settles {
                round_trips.apply(seed, connection, &mut vector);
                unsettle(&mut vector);
            }
            if let Some(bytes) = window {
                fix_windows(&mut vector, bytes);
            }
            vector
        });
        changed.collect::<Vec<_>>().into_iter()
    }

    /// What stands in the file of the original, and of its packets if it has as much load as that.
    fn capture(&self, counted: CaptureFacts, load: &Load) -> Result<(CaptureFacts, TrafficFacts), Error> {
        let offered_link_bytes = Some(load.from.map(|from| from.wire));
        let counted = CaptureFacts { duration_ns: load.duration.as_nanos(), offered_link_bytes, ..counted };
        let Some(base) = self.base else { return Ok((counted, TrafficFacts::default())) };
        let of = &base.facts.capture;
        // Flows of datagrams that are not sent are in no workload with other starts.
        let datagrams = if self.has_new_starts() { self.workload.datagrams } else { DatagramModel::AsSeen };
        let of_base = CaptureFacts {
            unknown_side_connections: of.unknown_side_connections,
            warnings: of.warnings.clone(),
            copies: of.copies,
            interrupted: of.interrupted,
            set_aside: set_aside(&base.facts, datagrams),
            set_aside_bytes: in_proportion(of, &counted),
            payload: of.payload.part(counted.payload),
            ..counted
        };
        if let Some(variation) = self.variation {
            // Every draw has the link of what it is drawn from (methods M.5): all of the original, or the part whose starts are moved.
            let [begin, end] = [self.workload.prefill_length(), load.duration].map(|time| Time::ZERO + time);
            let is_part = begin > Time::ZERO || load.duration.as_nanos() < of.duration_ns;
            let part = (variation != Variation::Blocks && is_part && begin < end).then_some(begin..end);
            let offered = base.link_load(self.workload.datagrams, part.as_ref())?;
            let offered = offered.map(|(bytes, time)| {
                let share = load.duration.as_secs_f64() / time.max(Duration::from_nanos(1)).as_secs_f64();
                bytes.map(|bytes| (bytes as f64 * share).round() as u64)
            });
            let of_base = CaptureFacts { peak_10ms_bytes: of.peak_10ms_bytes, offered_link_bytes: offered, ..of_base };
            return Ok((of_base, TrafficFacts::default()));
        }
        if self.workload.load.is_some() || load.duration.as_nanos() < of.duration_ns {
            return Ok((of_base, TrafficFacts::default()));
        }
        let whole = CaptureFacts {
            packets: of.packets,
            bytes: of.bytes,
            duration_ns: of.duration_ns,
            peak_10ms_bytes: of.peak_10ms_bytes,
            first_packet_unix_ns: of.first_packet_unix_ns,
            ..of_base
        };
        Ok((whole, base.facts.traffic.clone()))
    }

    fn provenance(&self, before: Option<&Load>, load: &Load) -> Result<Provenance, Error> {
        let mut provenance = self.base.map_or_else(Provenance::default, |base| base.facts.provenance.clone());
        provenance.tool = concat!("flowloom ", env!("CARGO_PKG_VERSION")).to_owned();
        // As resolved: where the source is on this disk is nobody's business, and what it was stands among the inputs.
        let mut workload = Workload { source: None, ..self.workload.clone() };
        for config in workload.model.iter_mut().flat_map(SourceModel::configs) {
            let input = InputFile::of(Path::new(config));
            provenance.inputs.push(input.map_err(|error| Error::new(format_args!("{config}: {error}")))?);
            *config = file_name(Path::new(config));
        }
        if self.anonymize {
            workload.anonymize();
            provenance.anonymize();
        }
        provenance.options.insert("workload".to_owned(), json!(workload));
        provenance.options.insert("seed".to_owned(), json!(self.seed));
        match self.variation {
            Some(Variation::Blocks) => _ = provenance.options.insert("vary".to_owned(), json!("blocks")),
            Some(Variation::Jitter(by)) => {
                provenance.options.insert("start_jitter_ns".to_owned(), json!(by.as_nanos()));
            }
            None => {}
        }
        provenance.options.insert("duration_ns".to_owned(), json!(load.duration.as_nanos()));
        provenance.options.insert("load".to_owned(), load_json(load));
        if let Some(before) = before {
            provenance.options.insert("load_before".to_owned(), load_json(before));
        }
        Ok(provenance)
    }
}

/// Bytes that the source set aside, by reason, in the proportion of the payload of its connections that is in the workload: a draw of half
/// of them lacks half of what was set aside.
fn in_proportion(source: &CaptureFacts, workload: &CaptureFacts) -> BTreeMap<String, u64> {
    let [all, drawn] = [source, workload].map(|facts| u128::from(facts.payload.total().captured));
    let of = |bytes: u64| match all {
        0 => bytes,
        _ => u64::try_from(u128::from(bytes) * drawn / all).unwrap_or(u64::MAX),
    };
    source.set_aside_bytes.iter().map(|(reason, bytes)| (reason.clone(), of(*bytes))).collect()
}

/// Adds the payload of `vector` to that of each side of the link.
fn add_payload(to: &mut [u64; 2], vector: &ConnectionVector) {
    to.iter_mut().zip(offered(vector)).for_each(|(bytes, more)| *bytes = sum([*bytes, more.payload]));
}

/// A load as JSON.
pub fn load_json(load: &Load) -> Value {
    let side = |side: LinkSide| {
        let offered = load.from[side as usize];
        json!({
            "payload_bytes": offered.payload,
            "payload_bits_per_second": load.payload_rate(side),
            "link_bytes": offered.wire,
            "link_bits_per_second": load.wire_rate(side),
        })
    };
    let mut object = json!({
        "duration_ns": load.duration.as_nanos(),
        "connections": load.connections,
        "from_left": side(LinkSide::Left),
        "from_right": side(LinkSide::Right),
        "thirds_payload_bytes": load.thirds[load.busier() as usize],
    });
    if let Some(hurst) = &load.arrivals {
        let (low, high) = hurst.interval();
        object["arrivals"] = json!({
            "hurst": hurst.h, "low": low, "high": high, "first_octave": hurst.octaves.0, "last_octave": hurst.octaves.1,
        });
    }
    object
}

impl Made {
    /// Load and arrivals, with what they were before if they were changed: lines of the answer.
    pub fn text(&self) -> String {
        let cut = trace_cut(&self.facts).map(|cut| (cut.words(), TraceCutFacts::share_words(cut.share())));
        let mut text = cut.map_or_else(String::new, |(how, before)| format!("  workload    {how}; {before}\n"));
        let of = self.part.as_ref().map_or_else(String::new, |part| format!(" from {} to {}", part.start, part.end));
        for side in [LinkSide::Left, LinkSide::Right] {
            let was = self
                .before
                .map_or_else(String::new, |before| format!(", before {}{of}", bits(before.payload_rate(side))));
            // Of what is drawn in the part that is replayed; connections are on the link in proportion.
            let whole = self.load.payload_rate(side);
            let rate = self.asked.map_or(whole, |[_, made]| made[side as usize]);
            let on_link = self.load.wire_rate(side) * if whole > 0.0 { rate / whole } else { 1.0 };
            text.push_str(&format!(
                "  from {:<6} {} of payload{was}; about {} on the link\n",
                side.word(),
                bits(rate),
                bits(on_link),
            ));
        }
        if let Some(hurst) = &self.load.arrivals {
            let was = self.before.and_then(|before| before.arrivals);
            let was = was.map_or_else(String::new, |was| format!(", before {}", estimate(&was)));
            text.push_str(&format!("  arrivals    Hurst parameter {}{was}\n", estimate(hurst)));
        }
        text
    }

    /// Why its load is not what was asked for, or not that of every part of it, with remedies.
    pub fn warnings(&self) -> Vec<Warning> {
        let busier = self.before.as_ref().map_or(LinkSide::Left, Load::busier);
        let missed = |from: LinkSide, is_missed: fn(f64) -> bool| {
            let [asked, made] = self.asked?.map(|rates| rates[from as usize]);
            (asked > 0.0 && is_missed(made / asked)).then_some(Warning::LoadMissed { from, made, asked })
        };
        let of_busier = missed(busier, |ratio| (ratio - 1.0).abs() > MISSED);
        let of_other = missed(busier.other(), |ratio| !(1.0 / OTHER_MISSED..=OTHER_MISSED).contains(&ratio));
        let drift = Some(self.load.drift()).filter(|drift| *drift > STATIONARY && self.before.is_some());
        let drift = drift.map(|share| Warning::LoadDrifts { share });
        of_busier.into_iter().chain(of_other).chain(drift).collect()
    }
}

fn estimate(hurst: &Hurst) -> String {
    let (low, high) = hurst.interval();
    format!("{:.3} [{low:.3}, {high:.3}] (octaves {}-{} of 10 ms)", hurst.h, hurst.octaves.0, hurst.octaves.1)
}

/// The error where round-trip times are made of those of a workload that has none.
fn without_round_trips(workload: &Workload) -> Error {
    Error::usage(format_args!(
        "workload.rtt = \"{}\" is made of round-trip times, and no connection of the workload has one",
        workload.rtt
    ))
    .hint("flow records have none: give one that is not of the workload, as in rtt = \"80ms\" or \"unc-30-path\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection a second, each open to the end of a record of 100 s: beside the mean of 400 draws of blocks of 5 s.
    #[test]
    fn draws_have_the_expected_share_of_active_connections() {
        let secs = Duration::from_secs;
        let (record, block) = (secs(100), secs(5));
        let begun: Vec<Time> = (0..100).map(|second| Time::ZERO + secs(second)).collect();
        let expected = active_share(&begun, &vec![None; begun.len()], block, Duration::ZERO, [record, record]);
        let mut open = 0.0;
        for seed in 0..400 {
            let draw = Draw::of_blocks(record, block, record, seed).unwrap();
            for (index, begun) in (0..).zip(&begun) {
                let seen = (Time::ZERO + record).since(*begun);
                let starts = draw.starts(index, *begun).into_iter();
                open += starts.map(|start| (Time::ZERO + record).since(start).min(seen).as_secs_f64()).sum::<f64>();
            }
        }
        let share =
            open / 400.0 / begun.iter().map(|begun| (Time::ZERO + record).since(*begun).as_secs_f64()).sum::<f64>();
        assert!((expected / share - 1.0).abs() < 0.02, "{expected}, not {share}");
        assert!(expected < 0.7, "{expected}");
        // What is over at once is not cut.
        let short = vec![Some(Duration::from_millis(1)); begun.len()];
        assert!((active_share(&begun, &short, block, Duration::ZERO, [record, record]) - 1.0).abs() < 1e-3);
    }
}
