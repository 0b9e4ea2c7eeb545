//! Runs: what a list shows of each.

use std::path::Path;
use std::sync::Arc;

use flowloom_store::monitor::utc_ns;
use flowloom_store::run_folder::RunFolder;
use serde::Serialize;
use serde_json::{Map, Value};

use super::folders::Folder;
use super::notes::Note;
use crate::error::Error;
use crate::results::REPORT_FILE;

/// What a list shows of a run, or of the seeds of one experiment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct RunCard {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) title: String,
    /// `sim`, `live` or `lab`.
    pub(super) driver: String,
    pub(super) source: String,
    pub(super) model: String,
    pub(super) network: String,
    pub(super) changes: Vec<String>,
    pub(super) seeds: Vec<u64>,
    pub(super) is_complete: bool,
    /// When it ran, in nanoseconds since 1970 UTC.
    pub(super) from_ns: Option<u64>,
    pub(super) to_ns: Option<u64>,
    /// The words of its verdict, the worst of all seeds.
    pub(super) accounted: Option<String>,
    pub(super) plausible: Option<String>,
    pub(super) fidelity: Option<String>,
    /// Numbers of the first seed.
    pub(super) connections: Option<u64>,
    pub(super) response_time_p50_ns: Option<f64>,
    pub(super) response_time_p99_ns: Option<f64>,
    pub(super) has_report: bool,
    pub(super) tags: Vec<String>,
    pub(super) notes: Vec<String>,
    /// Why it cannot be read.
    pub(super) problem: Option<String>,
    /// What searches look through beside the fields above.
    #[serde(skip)]
    pub(super) experiment: String,
}

/// Words of verdicts, the best first.
const WORDS: [&[&str]; 3] = [&["VALID", "DEGRADED", "INVALID"], &["yes", "doubtful"], &["same", "close", "different"]];

impl RunCard {
    /// That of the run in `folder`, without what notes say of it.
    pub(super) fn read(folder: &Folder) -> RunCard {
        let mut card = RunCard { id: folder.id.clone(), name: folder.name.clone(), ..RunCard::default() };
        if let Err(error) = card.fill(&folder.path) {
            card.problem = Some(error.cause);
        }
        card
    }

    fn fill(&mut self, path: &Path) -> Result<(), Error> {
        let runs = RunFolder::open_all(path).map_err(Error::of)?;
        self.is_complete = !runs.is_empty();
        for (number, run) in runs.iter().enumerate() {
            let facts = run.run();
            if number == 0 {
                self.take(facts);
            }
            self.seeds.extend(facts.get("seed").and_then(Value::as_u64));
            self.is_complete &= run.complete();
            let verdict = |part: &str| facts.get("summary")?.get("verdict")?.get(part)?.get("word")?.as_str();
            for (known, (part, words)) in [&mut self.accounted, &mut self.plausible, &mut self.fidelity]
                .into_iter()
                .zip(["accounted", "plausible", "fidelity"].into_iter().zip(WORDS))
            {
                let place = |word: &str| words.iter().position(|known| *known == word);
                if let Some(word) = verdict(part)
                    && known.as_deref().is_none_or(|known| place(known) < place(word))
                {
                    *known = Some(word.to_owned());
                }
            }
            if let Some((from, to)) = period_of(run.host()) {
                self.from_ns = Some(self.from_ns.map_or(from, |known| known.min(from)));
                self.to_ns = Some(self.to_ns.map_or(to, |known| known.max(to)));
            }
        }
        let report = std::fs::symlink_metadata(path.join(REPORT_FILE));
        self.has_report = report.is_ok_and(|report| report.is_file());
        Ok(())
    }

    fn take(&mut self, facts: &Map<String, Value>) {
        let text = |key: &str| facts.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        self.title = text("title");
        self.driver = text("driver");
        self.source = text("source");
        self.model = text("model");
        self.network = text("network");
        self.experiment = text("experiment");
        let changes = facts.get("changes").and_then(Value::as_array).into_iter().flatten();
        self.changes = changes.filter_map(Value::as_str).map(str::to_owned).collect();
        let summary = |part: &str, key: &str| facts.get("summary")?.get(part)?.get(key);
        self.connections = summary("connections", "started").and_then(Value::as_u64);
        self.response_time_p50_ns = summary("response_time_ns", "p50").and_then(Value::as_f64);
        self.response_time_p99_ns = summary("response_time_ns", "p99").and_then(Value::as_f64);
    }

    /// Adds what notes say of it.
    pub(super) fn note(&mut self, note: &Note) {
        if !note.text.is_empty() {
            self.notes.push(note.text.clone());
        }
        for tag in &note.tags {
            if !self.tags.contains(tag) {
                self.tags.push(tag.clone());
            }
        }
    }

    /// Whether all words of a search are found in it.
    pub(super) fn has(&self, words: &[String]) -> bool {
        let lists = [&self.changes, &self.tags, &self.notes];
        let texts = [&self.name, &self.title, &self.driver, &self.source, &self.model, &self.network, &self.experiment];
        let all: Vec<String> =
            texts.into_iter().chain(lists.into_iter().flatten()).map(|text| text.to_lowercase()).collect();
        words.iter().all(|word| all.iter().any(|text| text.contains(word)))
    }
}

/// When a run ran: its end is in host.json, and how long it took.
fn period_of(host: &Value) -> Option<(u64, u64)> {
    let to = utc_ns(host.get("date")?.as_str()?)?;
    let took = host.get("wall_ns").and_then(Value::as_u64).unwrap_or(0);
    Some((to.saturating_sub(took), to))
}

/// The words of a search, in small letters.
pub(super) fn words(search: &str) -> Vec<String> {
    search.split_whitespace().map(str::to_lowercase).collect()
}

/// Cards in the order of a list: the latest first, those without a time at the end.
pub(super) fn order(cards: &mut [Arc<RunCard>]) {
    cards.sort_by(|one, other| other.to_ns.cmp(&one.to_ns).then_with(|| one.name.cmp(&other.name)));
}
