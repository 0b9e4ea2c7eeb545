//! CSV and JSON lines: every vector comes back, and nothing wrong is taken.

use crate::support;
use flowloom_core::time::Duration;
use flowloom_core::workload::{ConnectionVector, Side};
use flowloom_store::capture::Input;
use flowloom_store::formats::csv_table::{self, CsvWriter};
use flowloom_store::formats::json_lines::{self, JsonLinesWriter};
use flowloom_store::formats::{Assumptions, Format, Rows, VectorFile, VectorWriter, head};
use flowloom_store::interrupt::Interrupt;
use flowloom_store::workload::{WorkloadFacts, WorkloadReader};
use proptest::prelude::*;

fn as_json(vectors: &[ConnectionVector]) -> Vec<u8> {
    let facts = WorkloadFacts { connections: vectors.len() as u64, ..WorkloadFacts::default() };
    let mut writer = JsonLinesWriter::new(Vec::new(), &facts).unwrap();
    vectors.iter().for_each(|vector| writer.write(vector).unwrap());
    writer.finish().unwrap().0
}

fn as_csv(vectors: &[ConnectionVector], rows: Rows) -> Vec<u8> {
    let mut writer = CsvWriter::new(Vec::new(), rows).unwrap();
    vectors.iter().for_each(|vector| writer.write(vector).unwrap());
    writer.finish().unwrap().0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_vector_comes_back(mut vectors in prop::collection::vec(support::vector(), 1..6)) {
        // Readers refuse what no connection can have sent.
        vectors.iter_mut().flat_map(|vector| &mut vector.adus).for_each(|adu| adu.bytes %= 1 << 40);
        let json = as_json(&vectors);
        prop_assert_eq!(Format::of_content(&json), Some(Format::JsonLines));
        prop_assert_eq!(&json_lines::read(&json).unwrap().0, &vectors);
        let csv = as_csv(&vectors, Rows::Connections);
        prop_assert_eq!(Format::of_content(&csv), Some(Format::Csv));
        prop_assert_eq!(&csv_table::read(&csv).unwrap(), &vectors);
        let adus = String::from_utf8(as_csv(&vectors, Rows::Adus)).unwrap();
        prop_assert_eq!(adus.lines().count(), 1 + vectors.iter().map(|vector| vector.adus.len()).sum::<usize>());
    }

    #[test]
    fn damaged_texts_never_panic(vector in support::vector(), at: prop::sample::Index, byte: u8, cut: bool) {
        for mut text in [as_json(std::slice::from_ref(&vector)), as_csv(std::slice::from_ref(&vector), Rows::Connections)] {
            let at = at.index(text.len());
            if cut { text.truncate(at) } else { text[at] = byte }
            let _ = json_lines::read(&text);
            let _ = csv_table::read(&text);
        }
    }
}

/// The text with `from` replaced, which must be there.
fn changed(text: &[u8], from: &str, to: &str) -> Vec<u8> {
    let text = String::from_utf8(text.to_vec()).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    text.replacen(from, to, 1).into_bytes()
}

#[test]
fn what_is_wrong_in_json_lines_is_refused_with_its_line() {
    let good = as_json(&[ConnectionVector::default()]);
    let lines: Vec<&[u8]> = good.split_inclusive(|byte| *byte == b'\n').collect();
    for (text, words) in [
        (Vec::new(), "the file is empty"),
        (changed(&good, "\"version\":1", "\"version\":2"), "vectors:1: version 2, and this flowloom reads version 1"),
        (changed(&good, "\"format\":\"flowloom-vectors\"", "\"format\":\"x\""), "the format is \"x\""),
        (lines[0].to_vec(), "0 connections, and the header says 1; expected the whole file"),
        (lines[0][..40].to_vec(), "vectors:1: no header"),
        (changed(&good, "\"start_ns\":0", "\"start_ns\":-1"), "vectors:2: invalid value: integer `-1`"),
        (changed(&good, "\"start_ns\":0", "\"begin_ns\":0"), "unknown field `begin_ns`"),
        (changed(&good, "\"close\":\"not-seen\"", "\"close\":\"slammed\""), "close is \"slammed\""),
        (good[..good.len() - 5].to_vec(), "vectors:2: EOF while parsing"),
        (changed(&good, "\"adus\":[]", "\"adus\":{}"), "invalid type: map"),
        (
            changed(
                &good,
                "\"adus\":[]",
                "\"adus\":[{\"side\":\"initiator\",\"bytes\":1,\"waiter\":\"initiator\",\"first_seen_ns\":1}]",
            ),
            "an ADU was seen first or last",
        ),
        (
            changed(
                &good,
                "\"adus\":[]",
                "\"adus\":[{\"side\":\"initiator\",\"bytes\":18446744073709551615,\"waiter\":\"initiator\"}]",
            ),
            "one end sends more than 256 TiB",
        ),
    ] {
        let error = json_lines::read(&text).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn what_is_wrong_in_csv_is_refused_with_its_line() {
    let good = as_csv(&[ConnectionVector::default()], Rows::Connections);
    let header = good.iter().position(|byte| *byte == b'\n').unwrap();
    for (text, words) in [
        (Vec::new(), "the file is empty"),
        (changed(&good, "id,start_ns", "start_ns,id"), "vectors:1: other columns"),
        (as_csv(&[], Rows::Adus), "this table has a row per ADU"),
        (good[..header + 10].to_vec(), "vectors:2: "),
        (changed(&good, "\n0,0,", "\n0,x,"), "start_ns is \"x\""),
        (changed(&good, "\n0,0,", "\n0,-1,"), "start_ns is \"-1\""),
        (changed(&good, "\n0,0,", "\n,0,"), "missing field `id`"),
        (changed(&good, ",false,", ",maybe,"), "complete is \"maybe\""),
        (changed(&good, ",tcp,", ",sctp,"), "protocol is \"sctp\""),
        (changed(&good, ",tcp,", ",\"tcp,"), "fields, and the header names"),
    ] {
        let error = csv_table::read(&text).unwrap_err().to_string();
        assert!(error.contains(words), "{words}: {error}");
    }
}

#[test]
fn every_form_written_is_told_by_its_content_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let vectors: Vec<_> = support::plain(300, Duration::from_millis(7)).collect();
    let read = || Format::NAMES.into_iter().filter(|(_, format)| format.is_read());
    for (name, format) in read() {
        let path = folder.path().join(name);
        let facts = WorkloadFacts { connections: 300, ..WorkloadFacts::default() };
        let assumptions = Assumptions { rtt: Duration::from_millis(100) };
        let mut writer =
            VectorWriter::create(Some(&path), true, format, Rows::Connections, assumptions, facts, &Interrupt::never())
                .unwrap();
        vectors.iter().for_each(|vector| writer.write(vector).unwrap());
        assert!(!path.exists(), "{name}: nothing has the name before it is complete");
        assert_eq!(writer.finish().unwrap().vectors, 300);
        assert_eq!(Format::of_content(&head(&path).unwrap()), Some(format));
        let back: Vec<_> = match format {
            Format::Parquet => WorkloadReader::open(&path).unwrap().map(Result::unwrap).collect(),
            _ => VectorFile::open(&Input::File(path), None).unwrap().map(Result::unwrap).collect(),
        };
        let totals = |vectors: &[ConnectionVector]| {
            let of = |vector: &ConnectionVector| Side::BOTH.map(|side| vector.bytes(side));
            vectors.iter().map(of).collect::<Vec<_>>()
        };
        assert_eq!(totals(&back), totals(&vectors), "{name}");
        assert_eq!(back == vectors, matches!(format, Format::Parquet | Format::Csv | Format::JsonLines), "{name}");
    }
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, read().count(), "no temporary file is left");
}

#[test]
fn after_an_error_no_form_has_more() {
    let folder = tempfile::tempdir().unwrap();
    let texts = |format: Format| format.is_read() && format != Format::Parquet;
    for (name, format) in Format::NAMES.into_iter().filter(|(_, format)| texts(*format)) {
        let path = folder.path().join(name);
        let facts = WorkloadFacts { connections: 3, ..WorkloadFacts::default() };
        let assumptions = Assumptions { rtt: Duration::from_millis(100) };
        let mut writer =
            VectorWriter::create(Some(&path), true, format, Rows::Connections, assumptions, facts, &Interrupt::never())
                .unwrap();
        support::plain(3, Duration::from_millis(7)).for_each(|vector| writer.write(&vector).unwrap());
        writer.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let last = text.trim_end().rfind('\n').unwrap();
        std::fs::write(&path, format!("{}\nnothing known{}", &text[..last], &text[last..])).unwrap();
        let mut file = VectorFile::open(&Input::File(path), None).unwrap();
        let read = file.by_ref().take(10).collect::<Vec<_>>();
        assert!(read.len() > 1, "{name}: what stands before is read");
        assert_eq!(read.iter().position(Result::is_err), Some(read.len() - 1), "{name}: {read:?}");
        assert!(file.next().is_none(), "{name}");
    }
}

#[test]
fn a_file_that_is_not_finished_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, format) in Format::NAMES {
        let assumptions = Assumptions { rtt: Duration::ZERO };
        let path = folder.path().join(name);
        let writer = VectorWriter::create(
            Some(&path),
            true,
            format,
            Rows::Connections,
            assumptions,
            WorkloadFacts::default(),
            &Interrupt::never(),
        );
        let mut writer = writer.unwrap();
        support::plain(20, Duration::ZERO).for_each(|vector| writer.write(&vector).unwrap());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn formats_are_told_by_content_and_by_name() {
    let told = |text: &str| Format::of_content(text.as_bytes());
    let tmix = |spelling| Some(Format::Tmix(spelling));
    use flowloom_store::formats::tmix::Spelling::{Alternate, Original};
    assert_eq!(told("# c\n\n  SEQ 1 1 1 1\n"), tmix(Original));
    assert_eq!(told("C 1 1 1 1 1\nI 0 0 5"), tmix(Alternate));
    assert_eq!(told("> 300\nt 1\n"), tmix(Original));
    assert_eq!(told("#separator \\x09\n"), Some(Format::Zeek));
    assert_eq!(
        told("#path of the link\n#set_separator\nSEQ 1 1 1 1\n"),
        tmix(Original),
        "comments of Tmix, not of Zeek"
    );
    assert_eq!(told("{\"ts\":1,\"uid\":\"C\",\"id.orig_h\":\"::1\"}\n"), Some(Format::Zeek));
    assert_eq!(told(&format!("{}SEQ 1 1 1 1\n", "# a licence\n".repeat(1_000))), tmix(Original));
    assert_eq!(told("{\"version\": 1, \"format\": \"flowloom-vectors\"}\n"), Some(Format::JsonLines));
    assert_eq!(told("\"id\",\"start_ns\",\"label_subset\"\n"), Some(Format::Csv));
    let latin1 = b"# \xa9 2005\nSEQ 1 1 1 1\n> 5\n";
    assert_eq!(Format::of_content(latin1), tmix(Original));
    assert_eq!(flowloom_store::formats::tmix::read(latin1).unwrap().0.len(), 1);
    for text in ["", "these are my notes\n", "S is a letter\n", "{\"a\":1}\n", "\u{d4}\u{c3}", "I am text\n"] {
        assert_eq!(told(text), None, "{text}");
    }
    for (name, format) in [
        ("w.parquet", Some(Format::Parquet)),
        ("w.v1.cvec", tmix(Original)),
        ("1of2.cinit.tcvec", tmix(Original)),
        ("w.alt.cvec", tmix(Alternate)),
        ("w.v2.cvec", tmix(Alternate)),
        ("w.conn.log", Some(Format::Zeek)),
        ("conn.log", Some(Format::Zeek)),
        ("w.tsv", Some(Format::Zeek)),
        ("w.csv", Some(Format::Csv)),
        ("w.jsonl", Some(Format::JsonLines)),
        ("w.astf.json", Some(Format::Astf)),
        ("w.tgenrc.graphml", Some(Format::Tgen)),
        ("w.json", None),
        ("w.txt", None),
    ] {
        assert_eq!(Format::of_name(name), format, "{name}");
    }
}
