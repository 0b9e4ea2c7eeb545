//! What leaves find, on its way: a line of JSON, behind which there may be a file.
//!
//! A report is bytes to whoever carries it. If its first line is an object with a `file`, as
//! `{"leaf":"capture","file":{"ending":"pcapng","bytes":9000},...}`, then so many bytes of a file follow; otherwise all of it is JSON, or
//! a text.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::{Value, json};

use crate::control::Part;

/// Endings of files that a report may have; what an agent says is not taken for a name.
const ENDINGS: [&str; 2] = ["pcapng", "csv"];

/// The file of all that is no file of its own.
const RESULTS: &str = "results.jsonl";

/// What a file is called whose leaf has no number.
const NAMELESS: &str = "report";

/// Where the file is announced.
const FILE: &str = "file";

/// What a leaf found.
#[derive(Debug)]
pub struct Report {
    /// In short.
    found: Value,
    /// At length.
    file: Option<(&'static str, File)>,
}

impl Report {
    /// What a leaf of this kind found.
    pub fn new(leaf: &str, results: &impl Serialize) -> Report {
        // What cannot be JSON, as numbers that are none, is null there.
        Report { found: json!({ "leaf": leaf, "results": results }), file: None }
    }

    /// The same with a file, whose name will have this ending.
    #[must_use]
    pub fn with_file(self, ending: &'static str, file: File) -> Report {
        Report { file: Some((ending, file)), ..self }
    }

    /// Writes it; it may be written again.
    ///
    /// # Errors
    /// If `out` does not take it, or the file cannot be read.
    pub fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let Some((ending, file)) = &mut self.file else { return writeln!(out, "{}", self.found) };
        let bytes = file.metadata()?.len();
        let mut line = self.found.clone();
        line[FILE] = json!({ "ending": ending, "bytes": bytes });
        writeln!(out, "{line}")?;
        file.seek(SeekFrom::Start(0))?;
        let copied = io::copy(&mut file.take(bytes), out)?;
        if copied == bytes { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Puts reports into a folder as they come: files under the number of their leaf, as `1.2.pcapng`, and everything else, with the
/// names of the files, into `results.jsonl` at the end.
#[derive(Debug)]
pub struct Reports {
    folder: PathBuf,
    by_node: BTreeMap<String, Coming>,
    /// What could not be written first.
    failed: Option<io::Error>,
}

/// A report that comes.
#[derive(Debug)]
enum Coming {
    /// Its first line, or all of it.
    Text(Vec<u8>),
    /// The file behind its first line.
    File { line: Value, name: String, out: BufWriter<File>, left: u64 },
}

/// Whether [`Reports`] write files of this name into their folder.
pub fn is_report(name: &str) -> bool {
    let is_node = |text: &str| text == NAMELESS || text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    name == RESULTS || name.rsplit_once('.').is_some_and(|(node, ending)| is_node(node) && ENDINGS.contains(&ending))
}

impl Reports {
    /// Into a folder.
    pub fn new(folder: &Path) -> Reports {
        Reports { folder: folder.to_owned(), by_node: BTreeMap::new(), failed: None }
    }

    /// A part of a report comes.
    pub fn take(&mut self, part: &Part) {
        if let Err(error) = self.try_take(part) {
            self.failed.get_or_insert(error);
        }
    }

    fn try_take(&mut self, part: &Part) -> io::Result<()> {
        let coming = self.by_node.entry(part.node.clone()).or_insert_with(|| Coming::Text(Vec::new()));
        let bytes = match coming {
            Coming::File { .. } => part.bytes.as_slice(),
            Coming::Text(text) => {
                // What was looked through before has no end of a line.
                let from = text.len();
                text.extend(&part.bytes);
                let Some(at) = text[from..].iter().position(|byte| *byte == b'\n').map(|at| from + at) else {
                    return Ok(());
                };
                let Some((line, ending, left)) = announced(&text[..at]) else { return Ok(()) };
                let name = format!("{}.{ending}", number(&part.node));
                let out = BufWriter::new(File::create_new(self.folder.join(&name))?);
                let begun = text.len() - (at + 1);
                *coming = Coming::File { line, name, out, left };
                &part.bytes[part.bytes.len() - begun..]
            }
        };
        if let Coming::File { out, left, .. } = coming {
            // What is more than was announced is no part of the file.
            let bytes = &bytes[..bytes.len().min(usize::try_from(*left).unwrap_or(usize::MAX))];
            out.write_all(bytes)?;
            *left -= bytes.len() as u64;
        }
        Ok(())
    }

    /// Writes `results.jsonl`: a line for each leaf that reported.
    ///
    /// # Errors
    /// What could not be written, now or before.
    pub fn finish(self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)?;
        let mut results = BufWriter::new(File::create(self.folder.join(RESULTS))?);
        for (node, coming) in self.by_node {
            let report = match coming {
                // What is no JSON is kept as the text that it is.
                Coming::Text(bytes) => {
                    serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)))
                }
                Coming::File { mut line, name, mut out, left } => {
                    out.flush()?;
                    line[FILE]["name"] = json!(name);
                    if left > 0 {
                        line[FILE]["missing_bytes"] = json!(left);
                    }
                    line
                }
            };
            writeln!(results, "{}", json!({ "node": node, "report": report }))?;
        }
        results.flush()
    }
}

/// The first line of a report that announces a file, with its ending and its length.
fn announced(line: &[u8]) -> Option<(Value, &'static str, u64)> {
    let line: Value = serde_json::from_slice(line).ok()?;
    let file = line.get(FILE)?;
    let told = file.get("ending")?.as_str()?;
    let ending = ENDINGS.into_iter().find(|ending| *ending == told)?;
    let bytes = file.get("bytes")?.as_u64()?;
    Some((line, ending, bytes))
}

/// The number of a leaf in the tree, which is the second word of its name: `capture 1.2 at east`.
fn number(node: &str) -> String {
    let number = node.split(' ').nth(1).unwrap_or_default();
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_number && !number.starts_with('.') { number.to_owned() } else { NAMELESS.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::RngSeed;

    use super::*;

    fn read(folder: &Path) -> Vec<Value> {
        let text = std::fs::read_to_string(folder.join("results.jsonl")).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn taken(node: &str, bytes: &[u8], cuts: &[usize]) -> (tempfile::TempDir, Vec<Value>) {
        let place = tempfile::tempdir().unwrap();
        let mut reports = Reports::new(place.path());
        let mut rest = bytes;
        for cut in cuts.iter().chain([&usize::MAX]) {
            let (part, more) = rest.split_at(rest.len().min(*cut));
            reports.take(&Part { node: node.to_owned(), bytes: part.to_vec() });
            rest = more;
        }
        reports.finish().unwrap();
        let found = read(place.path());
        (place, found)
    }

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(5), failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_file_comes_as_it_was_however_it_is_cut(
            content in prop::collection::vec(any::<u8>(), 0..200),
            cuts in prop::collection::vec(0..90_usize, 0..9),
        ) {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&content).unwrap();
            let mut report = Report::new("capture", &json!({ "packets": 3 })).with_file("pcapng", file);
            let mut bytes = Vec::new();
            report.write(&mut bytes).unwrap();
            let (place, found) = taken("capture 1.2 at east", &bytes, &cuts);
            prop_assert_eq!(std::fs::read(place.path().join("1.2.pcapng")).unwrap(), content);
            prop_assert_eq!(&found[0]["report"]["file"]["name"], "1.2.pcapng");
            prop_assert_eq!(&found[0]["report"]["results"]["packets"], 3);
            prop_assert!(found[0]["report"]["file"].get("missing_bytes").is_none());
        }
    }

    #[test]
    fn what_is_no_file_is_kept_as_it_is() {
        let table: [(&[u8], Value); 5] = [
            (b"{\"leaf\":\"sleep\"}\n", json!({ "leaf": "sleep" })),
            (b"3 beats", json!("3 beats")),
            (b"two\nlines\n", json!("two\nlines\n")),
            (b"", json!("")),
            (b"{\"file\":{\"ending\":\"../x\",\"bytes\":1}}\n", json!({ "file": { "ending": "../x", "bytes": 1 } })),
        ];
        for (bytes, wanted) in table {
            let (place, found) = taken("probe 1 at a", bytes, &[1]);
            assert_eq!(found[0]["report"], wanted);
            assert_eq!(std::fs::read_dir(place.path()).unwrap().count(), 1, "results.jsonl alone");
        }
    }

    #[test]
    fn what_is_missing_of_a_file_is_said() {
        let line = b"{\"file\":{\"ending\":\"csv\",\"bytes\":10}}\nabc";
        let (place, found) = taken("monitor 1.1 at a", line, &[]);
        assert_eq!(found[0]["report"]["file"]["missing_bytes"], 7);
        assert_eq!(std::fs::read(place.path().join("1.1.csv")).unwrap(), b"abc");
        let (place, _) = taken("../../x ../../y at a", line, &[]);
        assert!(place.path().join("report.csv").is_file());
    }
}
