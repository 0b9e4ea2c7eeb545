//! The workloads of a run: as they are on disk, extracted from captures, or made for an experiment.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use flowloom_core::play::Prefill;
use flowloom_core::record::Series;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, LinkSide, Protocol, sum};
use flowloom_models::{Variation, offered};
use flowloom_report::facts::{DrawnPayload, TraceCutFacts};
use flowloom_store::addresses::AddressBook;
use flowloom_store::manifest;
use flowloom_store::run_folder::stand_in;
use flowloom_store::staged::StagedFolder;
use flowloom_store::workload::{TrafficFacts, WorkloadFacts, WorkloadReader, WorkloadWriter};

use crate::context::Context;
use crate::error::Error;
use crate::experiment::DatagramModel;
use crate::extraction::{self, CaptureOptions};
use crate::input::Kind;
use crate::run::pipeline::Read;
use crate::targets::folder;
use crate::warning::Warning;
use crate::workload::cut::{UNKNOWN_RTT, trace_cut};
use crate::workload::generation::{Blocks, Generation};
use crate::workload::hosts::HostOptions;
use crate::workload::load;

/// A workload on disk, ready to be read.
pub struct Source {
    /// `None` if only sources send.
    pub path: Option<PathBuf>,
    /// What it says about itself.
    pub facts: WorkloadFacts,
    /// Name of the capture, the workload or the model for titles; empty if names are left out.
    pub name: String,
    /// Holds a workload that was made for this run until it is moved into the run folder.
    staging: Option<StagedFolder>,
    /// The user stopped its extraction.
    pub interrupted: bool,
    /// The blocks that it was drawn from, if it was.
    pub blocks: Option<Blocks>,
    /// Its payload beside what load and structure ask for, if it was made.
    pub payload: Option<DrawnPayload>,
    /// For how long packets were recorded; `None` where nobody saw packets.
    pub record: Option<Duration>,
    /// What a reader of results should know of it.
    pub warnings: Vec<Warning>,
}

/// The name of a workload in a run folder.
pub const WORKLOAD_FILE: &str = "workload.parquet";

/// What inputs are made a workload of.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// The files.
    pub paths: &'a [PathBuf],
    /// What all of them are.
    pub kind: Kind,
    /// How to read them.
    pub capture: &'a CaptureOptions,
    /// What is made is made beside this.
    pub target: &'a Path,
}

impl Source {
    /// No workload: only sources send.
    pub fn none() -> Source {
        Source {
            path: None,
            facts: WorkloadFacts::default(),
            name: String::new(),
            staging: None,
            interrupted: false,
            blocks: None,
            payload: None,
            record: None,
            warnings: Vec::new(),
        }
    }

    /// The workload as it is, or extracted from captures into a file that ends up in the run folder.
    pub fn open(inputs: Inputs<'_>, context: Context<'_>) -> Result<Source, Error> {
        let Inputs { paths, kind, capture, target } = inputs;
        let Some(first) = paths.first() else { return Ok(Source::none()) };
        let name = if capture.anonymize {
            String::new()
        } else {
            paths.iter().map(|path| file_name(path)).collect::<Vec<_>>().join(" + ")
        };
        if kind == Kind::Workload && paths.len() == 1 {
            let mut facts = WorkloadReader::open(first).map_err(Error::new)?.facts().clone();
            if capture.anonymize {
                facts.anonymize();
            }
            return Ok(Source { path: Some(first.clone()), record: record(&facts), facts, name, ..Source::none() });
        }
        let staging = staging(target)?;
        let path = staging.path().join(WORKLOAD_FILE);
        let mut writer = WorkloadWriter::create(&path).map_err(Error::new)?;
        if kind != Kind::Capture {
            let facts = other_forms(inputs, staging.path(), writer, context)?;
            let record = record(&facts);
            return Ok(Source { path: Some(path), record, facts, name, staging: Some(staging), ..Source::none() });
        }
        let mut hosts = AddressBook::default();
        let extracted = extraction::vectors(paths, capture, &mut hosts, folder(&path), context, |vector| {
            writer.write_owned(vector).map_err(Error::new)
        })?;
        let facts =
            writer.finish(extracted.provenance(), extracted.facts(), &extracted.traffic()).map_err(Error::new)?;
        if facts.connections == 0 {
            // Otherwise they are part of the answer.
            extracted.warn(context);
        }
        Ok(Source {
            path: Some(path),
            record: record(&facts),
            facts,
            name,
            staging: Some(staging),
            interrupted: extracted.interrupted,
            ..Source::none()
        })
    }

    /// A workload made for a run with this seed, in a file that ends up in its folder.
    pub fn made(generation: &Generation<'_>, target: &Path, context: Context<'_>) -> Result<Source, Error> {
        let staging = staging(target)?;
        let path = staging.path().join(WORKLOAD_FILE);
        let made = generation.write(&path, false)?;
        context.explain(|| format!("workload for seed {}:\n{}", generation.seed, made.text()));
        let interrupted = generation.base.is_some_and(|base| base.interrupted);
        let (blocks, payload, warnings) = (made.blocks, Some(made.payload), made.warnings());
        // As long as it was made, of a record of packets.
        let record = generation.base.and_then(|base| base.record).map(|_| length(&made.facts));
        Ok(Source {
            path: Some(path),
            record,
            facts: made.facts,
            name: generation.name(),
            staging: Some(staging),
            interrupted,
            blocks,
            payload,
            warnings,
        })
    }

    /// Whether a model drew it: there is no original, and its times are those of no clock.
    pub fn is_of_model(&self) -> bool {
        let made_as = self.facts.provenance.options.get("workload");
        made_as.and_then(|workload| workload.get("model")).is_some_and(|model| !model.is_null())
    }

    /// How it was cut out of a longer one, if it was.
    pub fn trace_cut(&self) -> Option<TraceCutFacts> {
        trace_cut(&self.facts)
    }

    /// Whether it is a draw with `variation`: of a workload too short for two blocks, none is made.
    pub fn is_draw(&self, variation: Option<Variation>) -> bool {
        match variation {
            Some(Variation::Blocks) => self.blocks.is_some(),
            Some(Variation::Jitter(_)) => true,
            None => false,
        }
    }

    /// Its connections and flows, none if only sources send.
    pub fn vectors(&self) -> Result<impl Iterator<Item = Read> + Send + use<>, Error> {
        let reader = self.path.as_ref().map(|path| WorkloadReader::open(path)).transpose().map_err(Error::new)?;
        Ok(reader.into_iter().flatten())
    }

    /// Bytes that it brings to the link from the left and from the right: of the packets that were seen, the flows of datagrams that are
    /// sent, and what stands in for bytes that the capture lacks; else as estimated when it was made. `None` where nobody knows.
    ///
    /// # Errors
    /// A workload file that cannot be read.
    pub fn link_bytes(&self, datagrams: DatagramModel) -> Result<Option<[u64; 2]>, Error> {
        let WorkloadFacts { traffic, capture, .. } = &self.facts;
        if *traffic == TrafficFacts::default() {
            return Ok(capture.offered_link_bytes);
        }
        let is_sent = datagrams == DatagramModel::AsSeen;
        let mut bytes = [LinkSide::Left, LinkSide::Right].map(|from| traffic.sent(from, is_sent).total().bytes);
        // Few captures lack bytes, and of the others the vectors need not be read.
        if capture.payload.total().replayed_missing() > 0 {
            for vector in self.vectors()? {
                let more = stand_in(&vector.map_err(Error::new)?);
                bytes.iter_mut().zip(more).for_each(|(bytes, more)| *bytes = sum([*bytes, more.bytes]));
            }
        }
        Ok(Some(bytes))
    }

    /// Bytes that it brings to the link from the left and from the right, as [`link_bytes`](Self::link_bytes), and in which time: in all of it,
    /// without the jumps of its clock, or in a `part` of its time.
    ///
    /// # Errors
    /// A workload file that cannot be read.
    pub fn link_load(
        &self,
        datagrams: DatagramModel,
        part: Option<&Range<Time>>,
    ) -> Result<Option<([u64; 2], Duration)>, Error> {
        let Some(part) = part else {
            return Ok(self.link_bytes(datagrams)?.map(|bytes| (bytes, self.facts.observed())));
        };
        let jumps = self.facts.clock_jumps();
        let jumped = jumps.before(part.end).saturating_sub(jumps.before(part.start));
        let bytes = self.link_bytes_within(datagrams, part)?;
        Ok(bytes.map(|bytes| (bytes, part.end.since(part.start).saturating_sub(jumped))))
    }

    /// Bytes that it brings to the link in a part of its time. Where nobody saw packets, and for what stands in for missing bytes, data units
    /// pass when they were seen or, if they were not, at the times that waits and round trips give.
    fn link_bytes_within(&self, datagrams: DatagramModel, part: &Range<Time>) -> Result<Option<[u64; 2]>, Error> {
        let WorkloadFacts { traffic, capture, .. } = &self.facts;
        let (is_sent, is_seen) = (datagrams == DatagramModel::AsSeen, *traffic != TrafficFacts::default());
        if !is_seen && capture.offered_link_bytes.is_none() {
            return Ok(None);
        }
        // The last bin ends after the last packet.
        let is_to_end = part.end.as_nanos() >= capture.duration_ns;
        let bins = part.start..if is_to_end { Time::from_nanos(u64::MAX) } else { part.end };
        let seen = |from| bytes_within(&traffic.sent(from, is_sent), Some(&bins)).map(|(_, bytes)| bytes).sum();
        let mut bytes = [LinkSide::Left, LinkSide::Right].map(seen);
        if is_seen && capture.payload.total().replayed_missing() == 0 {
            return Ok(Some(bytes));
        }
        let of = |vector: &ConnectionVector| match is_seen {
            true => stand_in(vector).map(|traffic| traffic.bytes),
            false => offered(vector).map(|offered| offered.wire),
        };
        for vector in self.vectors()? {
            let vector = vector.map_err(Error::new)?;
            if vector.start >= part.end {
                break;
            }
            if vector.protocol == Protocol::Tcp || is_sent {
                let [from, to] = [part.start, part.end].map(|at| {
                    let rest = Prefill::new(at.since(Time::ZERO)).place(vector.clone(), self.unknown_rtt());
                    rest.map_or([0; 2], |rest| of(&rest.vector))
                });
                let passed = from.into_iter().zip(to).map(|(from, to): (u64, u64)| from.saturating_sub(to));
                bytes.iter_mut().zip(passed).for_each(|(bytes, more)| *bytes = sum([*bytes, more]));
            }
        }
        Ok(Some(bytes))
    }

    /// The round-trip time of connections that say nothing of it.
    pub fn unknown_rtt(&self) -> Duration {
        self.facts.rtt_median_ns.map_or(UNKNOWN_RTT, Duration::from_nanos)
    }

    /// Moves a workload that was made for this run into its folder.
    pub fn keep(&self, target: &Path) -> Result<(), Error> {
        let (Some(_), Some(path)) = (&self.staging, &self.path) else { return Ok(()) };
        let kept = target.join(WORKLOAD_FILE);
        let moved = std::fs::rename(path, &kept).and_then(|()| manifest::list(&kept));
        moved.map_err(|error| Error::new(format_args!("{}: {error}", kept.display())))
    }
}

/// The bytes of each bin of `series`, or of those in a `part` of its time, of which bins at its borders have their share; with the start of
/// the bin, which is not before the part.
pub fn bytes_within<'a>(series: &'a Series, part: Option<&Range<Time>>) -> impl Iterator<Item = (Time, u64)> + use<'a> {
    let part = part.cloned().unwrap_or(Time::ZERO..Time::from_nanos(u64::MAX));
    let width = series.width();
    series.bins().filter_map(move |(bin, traffic)| {
        let start = Time::from_nanos(width.as_nanos().saturating_mul(*bin));
        let (from, to) = (start.max(part.start), (start + width).min(part.end));
        let inside = to.since(from).as_nanos();
        let bytes = u128::from(traffic.bytes) * u128::from(inside) / u128::from(width.as_nanos().max(1));
        (inside > 0).then_some((from, bytes as u64))
    })
}

/// The reasons under which flows of datagrams are counted that are not sent.
const UNSENT: [&str; 2] = ["flows-udp", "flows-quic"];

/// What of a workload is not replayed, by reason: what was set aside when it was made, and flows of datagrams unless they are sent.
pub fn set_aside(facts: &WorkloadFacts, datagrams: DatagramModel) -> BTreeMap<String, u64> {
    let mut set_aside = facts.capture.set_aside.clone();
    if datagrams == DatagramModel::LeaveOut {
        let quic = &facts.capture.datagrams.quic;
        let quic = quic.flows.saturating_sub(quic.no_data).min(facts.datagram_flows);
        let flows = UNSENT.into_iter().zip([facts.datagram_flows - quic, quic]);
        flows
            .filter(|(_, count)| *count > 0)
            .for_each(|(reason, count)| *set_aside.entry(reason.to_owned()).or_default() += count);
    }
    set_aside
}

/// Flows of datagrams that are not sent, those that were left out when the workload was made among them.
pub fn unsent_flows(facts: &WorkloadFacts, datagrams: DatagramModel) -> u64 {
    let set_aside = set_aside(facts, datagrams);
    UNSENT.iter().filter_map(|reason| set_aside.get(*reason)).sum()
}

/// How long packets of a workload were recorded, if they were.
fn record(facts: &WorkloadFacts) -> Option<Duration> {
    (facts.traffic != TrafficFacts::default()).then(|| length(facts))
}

/// How long connections of a workload start: what starts with its last packet starts within.
fn length(facts: &WorkloadFacts) -> Duration {
    Duration::from_nanos(facts.capture.duration_ns) + Duration::from_nanos(1)
}

/// The last part of a path. Reports are handed on: they name files, not where they lie on somebody's disk.
pub fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// A folder on the disk of the run folder, without folders that would be left over if nothing can be replayed.
fn staging(target: &Path) -> Result<StagedFolder, Error> {
    let beside = target.ancestors().skip(1).find(|folder| folder.is_dir()).unwrap_or(Path::new("."));
    StagedFolder::create(&beside.join(".workload"))
        .map_err(|error| Error::new(format_args!("{}: {error}", target.display())))
}

/// Writes vectors of other forms as a workload.
fn other_forms(
    Inputs { paths, kind, capture, .. }: Inputs<'_>,
    scratch: &Path,
    mut writer: WorkloadWriter,
    context: Context<'_>,
) -> Result<WorkloadFacts, Error> {
    let mut loaded = load::open(paths, kind, capture, &HostOptions::default(), scratch, context)?;
    for vector in &mut loaded.vectors {
        writer.write(&vector?).map_err(Error::new)?;
    }
    if loaded.facts.connections == 0 {
        // Otherwise they are part of the answer.
        loaded.warn(context);
    }
    let facts = loaded.facts;
    writer.finish(facts.provenance, facts.capture, &facts.traffic).map_err(Error::new)
}
