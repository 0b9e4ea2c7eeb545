//! Vectors in the forms of other tools.

use flowloom::core::workload::{ConnectionVector, Side};
use flowloom::store::formats::tmix::{self, Assumptions, Spelling, TmixWriter};
use flowloom::store::formats::{Format, FormatError, Rows, csv_table, json_lines, zeek};
use flowloom::time::Duration;

/// More bytes than an end of a connection that was read can have sent.
const MOST_BYTES: u64 = 1 << 48;

/// Tmix vectors in either spelling: what is taken is written so that it means the same when it is read again, in both.
pub fn tmix(data: &[u8]) {
    let Some((vectors, notes)) = taken(tmix::read(data)) else { return };
    assert_eq!(notes.vectors, vectors.len() as u64);
    sane(&vectors, data);
    let told = matches!(Format::of_content(data), Some(Format::Tmix(_)));
    assert!(told || vectors.is_empty() || is_compressed(data), "what is read is told by its content");
    for spelling in [Spelling::Original, Spelling::Alternate] {
        let first = written(&vectors, spelling);
        let (again, _) = tmix::read(&first).expect("what was written is read");
        assert_eq!(again.len(), vectors.len());
        assert!(written(&again, spelling) == first, "another text the second time");
    }
}

fn written(vectors: &[ConnectionVector], spelling: Spelling) -> Vec<u8> {
    let assumptions = Assumptions { rtt: Duration::ZERO };
    let mut writer = TmixWriter::new(Vec::new(), spelling, assumptions).expect("memory");
    vectors.iter().for_each(|vector| writer.write(vector).expect("memory"));
    writer.finish().expect("memory").0
}

/// Zeek's conn.log in TSV or JSON, told apart as files are.
pub fn zeek(data: &[u8]) {
    let Some((vectors, notes)) = taken(zeek::read(data)) else { return };
    let rows = notes.vectors + notes.set_aside.values().sum::<u64>();
    let lines = data.split(|byte| *byte == b'\n').count() as u64;
    assert!(rows <= lines, "rows from nowhere");
    assert_eq!(notes.vectors, vectors.len() as u64);
    sane(&vectors, data);
    let mut writer = zeek::ZeekWriter::new(Vec::new(), None).expect("memory");
    vectors.iter().for_each(|vector| writer.write(vector).expect("memory"));
    let text = writer.finish().expect("memory").0;
    assert_eq!(zeek::read(&text).expect("what was written is read").0.len(), vectors.len());
}

/// CSV as Flowloom writes it: what is taken comes back.
pub fn csv(data: &[u8]) {
    let Some(vectors) = taken(csv_table::read(data)) else { return };
    sane(&vectors, data);
    let mut writer = csv_table::CsvWriter::new(Vec::new(), Rows::Connections).expect("memory");
    vectors.iter().for_each(|vector| writer.write(vector).expect("memory"));
    let text = writer.finish().expect("memory").0;
    assert!(csv_table::read(&text).expect("what was written is read") == vectors);
}

/// JSON lines as Flowloom writes them: what is taken comes back.
pub fn json_lines(data: &[u8]) {
    let Some((vectors, facts)) = taken(json_lines::read(data)) else { return };
    assert_eq!(facts.connections, vectors.len() as u64, "a file that was read to its end has as many as it says");
    sane(&vectors, data);
    let mut writer = json_lines::JsonLinesWriter::new(Vec::new(), &facts).expect("memory");
    vectors.iter().for_each(|vector| writer.write(vector).expect("memory"));
    let text = writer.finish().expect("memory").0;
    assert!(json_lines::read(&text).expect("what was written is read") == (vectors, facts));
}

/// What was read; an error says something.
fn taken<T>(read: Result<T, FormatError>) -> Option<T> {
    read.inspect_err(|error| {
        assert!(!error.to_string().is_empty());
        let _ = error.hint();
    })
    .ok()
}

/// No more connections and ADUs than bytes to say them in, and no end that sent what none can.
fn sane(vectors: &[ConnectionVector], data: &[u8]) {
    let said = vectors.len() + vectors.iter().map(|vector| vector.adus.len()).sum::<usize>();
    assert!(is_compressed(data) || said <= data.len(), "connections from nowhere");
    assert!(vectors.iter().all(|vector| Side::BOTH.iter().all(|side| vector.bytes(*side) <= MOST_BYTES)));
}

/// Whether `data` begins as gzip, zstd or xz do.
fn is_compressed(data: &[u8]) -> bool {
    [&[0x1f, 0x8b][..], &[0x28, 0xb5], &[0xfd, b'7']].iter().any(|magic| data.starts_with(magic))
}
