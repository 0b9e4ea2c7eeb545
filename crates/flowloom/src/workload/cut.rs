//! Workloads of models that are cut out of longer ones, as a trace is cut out of the traffic of a link (methods B.5).

use std::iter::Peekable;
use std::path::Path;

use flowloom_core::play::TraceCut;
use flowloom_core::time::{Duration, Time};
use flowloom_core::workload::{ConnectionVector, Protocol};
use flowloom_models::cut_out;
use flowloom_report::facts::TraceCutFacts;
use flowloom_store::formats::Sorter;
use flowloom_store::workload::WorkloadFacts;

use crate::error::Error;
use crate::workload::load;

/// Round-trip time of connections in a workload without a single sample.
pub const UNKNOWN_RTT: Duration = Duration::from_millis(100);

/// Vectors in the order of their starts, or why there are no more.
pub type Vectors = Box<dyn Iterator<Item = Result<ConnectionVector, Error>>>;

/// Under this name a workload says how it was cut, beside the options that it was made with.
pub const TRACE_CUT: &str = "trace_cut";

/// How a workload was cut out of a longer one, by what it says about itself; `None` if it was not.
pub fn trace_cut(facts: &WorkloadFacts) -> Option<TraceCutFacts> {
    serde_json::from_value(facts.provenance.options.get(TRACE_CUT)?.clone()).ok()
}

/// What of `vectors`, which come in the order of their starts, passes in the part `cut`: in the order of the new starts, with dense ids.
/// Those in progress when the part begins are sorted; what does not fit in memory waits in the folder `scratch`.
///
/// # Errors
/// Those of `vectors` until the part begins; no room on disk.
pub fn cut_vectors(vectors: Vectors, cut: TraceCut, scratch: &Path) -> Result<Vectors, Error> {
    let begin = Time::ZERO + cut.after();
    let mut vectors = vectors.peekable();
    let mut in_progress = Sorter::in_folder(scratch);
    while let Some(vector) = vectors.next_if(|vector| vector.as_ref().map_or(true, |vector| vector.start < begin)) {
        if let Some(rest) = cut_out(vector?, cut, UNKNOWN_RTT) {
            in_progress.push(rest).map_err(load::unreadable)?;
        }
    }
    let earlier: Vectors = match in_progress.is_empty() {
        true => Box::new(std::iter::empty()),
        false => {
            let sorted = in_progress.finish(Time::ZERO).map_err(load::unreadable)?;
            Box::new(sorted.map(|vector| vector.map_err(load::unreadable)))
        }
    };
    let later: Vectors =
        Box::new(vectors.filter_map(move |vector| vector.map(|vector| cut_out(vector, cut, UNKNOWN_RTT)).transpose()));
    let merged = Merged { earlier: earlier.peekable(), later: later.peekable() };
    Ok(Box::new((0..).zip(merged).map(|(id, vector)| Ok(ConnectionVector { id, ..vector? }))))
}

/// Two sorted sequences as one. Of equal starts, those of the first come first.
struct Merged {
    earlier: Peekable<Vectors>,
    later: Peekable<Vectors>,
}

impl Iterator for Merged {
    type Item = Result<ConnectionVector, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let start =
            |vectors: &mut Peekable<Vectors>| Some(vectors.peek()?.as_ref().map_or(Time::ZERO, |one| one.start));
        match (start(&mut self.earlier), start(&mut self.later)) {
            (Some(earlier), Some(later)) if later < earlier => self.later.next(),
            (Some(_), _) => self.earlier.next(),
            (None, _) => self.later.next(),
        }
    }
}

/// Counts what the cuts did, before structures are changed.
pub struct CutTally {
    facts: TraceCutFacts,
}

impl CutTally {
    /// None yet, of a part that begins so long after its workload.
    pub fn new(after: Duration) -> CutTally {
        CutTally { facts: TraceCutFacts { after_ns: after.as_nanos(), ..TraceCutFacts::default() } }
    }

    /// Counts a connection as it was cut.
    pub fn add(&mut self, vector: &ConnectionVector) {
        if vector.protocol == Protocol::Tcp {
            self.facts.connections += 1;
            self.facts.opened_before += u64::from(vector.opened_before());
        }
    }

    /// What it counted.
    pub fn facts(self) -> TraceCutFacts {
        self.facts
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use flowloom_core::workload::{LinkSide, Side};
    use flowloom_models::Structure;
    use flowloom_store::workload::WorkloadReader;

    use super::*;
    use crate::context::Stop;
    use crate::experiment::Experiment;
    use crate::workload::generation::Generation;

    const SECS: fn(u64) -> Duration = Duration::from_secs;

    /// Some 3 connections a second, of which many wait for minutes; cut after ten minutes.
    const CAMPUS: &str = "workload.model = { kind = \"campus-2008\", scale = 0.002 }\nmeasure.duration = \"1min\"\n";

    struct Drawn {
        vectors: Vec<ConnectionVector>,
        facts: Option<TraceCutFacts>,
    }

    fn drawn(keys: &str, structure: Structure, length: Duration) -> Drawn {
        let text = format!("{CAMPUS}workload.structure = \"{}\"\n{keys}", structure.name());
        let experiment = Experiment::parse(&text, "x.toml").unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path: PathBuf = folder.path().join("w.parquet");
        let generation = Generation {
            workload: &experiment.workload,
            base: None,
            variation: None,
            seed: 1,
            duration: Some(length),
            anonymize: false,
            stop: &Stop::new(),
        };
        let made = generation.write(&path, false).unwrap();
        let vectors = WorkloadReader::open(&path).unwrap().map(Result::unwrap).collect();
        let facts = trace_cut(&made.facts);
        Drawn { vectors, facts }
    }

    /// Payload from the left and from the right.
    fn payload(vectors: &[ConnectionVector]) -> [u64; 2] {
        let mut bytes = [0; 2];
        for vector in vectors {
            for side in Side::BOTH {
                let from = if side == Side::Initiator { vector.initiator_side } else { vector.initiator_side.other() };
                bytes[from as usize] += vector.bytes(side);
            }
        }
        bytes
    }

    #[test]
    fn structures_carry_the_same_bytes_of_a_cut() {
        let cut = |structure| drawn("workload.cut = \"trace\"\nworkload.cut-after = \"10min\"\n", structure, SECS(60));
        let control = cut(Structure::ATBT);
        let facts = control.facts.unwrap();
        let before = control.vectors.iter().filter(|vector| vector.opened_before()).count() as u64;
        assert_eq!((facts.after_ns, facts.opened_before), (SECS(600).as_nanos(), before));
        assert!(facts.opened_before > 30 && facts.connections > 150, "{facts:?}");
        assert!(control.vectors.iter().all(|vector| vector.start < Time::ZERO + SECS(60)));
        assert!(control.vectors.is_sorted_by_key(|vector| vector.start));
        assert!(control.vectors.iter().zip(0..).all(|(vector, id)| vector.id == id));
        // They are those that start in the eleventh minute, beside those in progress.
        let whole = drawn("", Structure::ATBT, SECS(660)).vectors;
        let starts = whole.iter().filter(|vector| vector.start >= Time::ZERO + SECS(600)).count() as u64;
        assert_eq!(facts.connections - facts.opened_before, starts);
        for structure in Structure::ALL {
            let Drawn { vectors, facts: of_structure } = cut(structure);
            assert_eq!(payload(&vectors), payload(&control.vectors), "{}", structure.name());
            assert_eq!(of_structure, Some(facts), "{}", structure.name());
            let before = vectors.iter().filter(|vector| vector.opened_before() && !vector.adus.is_empty()).count();
            assert!(before > 0, "{}: those in progress have no handshake", structure.name());
        }
    }

    /// Connections in progress that open anew have more left to send where nothing of them waits: methods B.5, in small.
    #[test]
    fn prefill_gives_structures_other_bytes() {
        let prefill = Experiment::parse(&format!("{CAMPUS}workload.prefill = \"10min\""), "x.toml").unwrap();
        let bytes = |structure| {
            let vectors = drawn("", structure, SECS(660)).vectors;
            let prefill = prefill.workload.prefill();
            let placed = vectors.into_iter().filter_map(|vector| prefill.place(vector, UNKNOWN_RTT));
            payload(&placed.map(|placed| placed.vector).collect::<Vec<_>>()).iter().sum::<u64>() as f64
        };
        let [control, blocks] = [Structure::ATBT, Structure::BlockConcurrent].map(bytes);
        assert!(blocks < 0.95 * control, "{blocks} of {control}");
    }

    #[test]
    fn datagrams_are_cut_too() {
        let keys = "workload.model = { kind = \"cbr\", flows = 3, rate = \"80kbit\" }\nmeasure.duration = \"20s\"\n\
                    workload.cut = \"trace\"\nworkload.cut-after = \"50s\"\n";
        let experiment = Experiment::parse(keys, "x.toml").unwrap();
        let cut = experiment.workload.trace_cut(SECS(20)).unwrap();
        let model = experiment.workload.model.unwrap();
        let whole: Vectors = Box::new(model.vectors(1, cut.end()).map(Ok));
        let folder = tempfile::tempdir().unwrap();
        let vectors: Vec<ConnectionVector> =
            cut_vectors(whole, cut, folder.path()).unwrap().map(Result::unwrap).collect();
        assert_eq!(vectors.len(), 3);
        let bytes = payload(&vectors)[LinkSide::Left as usize];
        assert!(bytes.abs_diff(600_000) <= 3_000, "{bytes}");
    }
}
