//! Export messages of NetFlow and IPFIX.

use std::io::{Cursor, Read};

use flowloom::core::workload::Evidence;
use flowloom::store::capture::Truncation;
use flowloom::store::flows::{self, MergeOptions, Options, Reader, Vectors};

/// A file of export messages, or a capture of an exporter: what is counted is what comes out, decoded and merged.
pub fn messages(data: &[u8]) {
    let (records, facts, error) = flows::decode(data);
    assert!(error.is_none_or(|error| !error.to_string().is_empty()));
    if !facts.inputs.is_empty() {
        assert_eq!(facts.records.total(), records.len() as u64, "records without a fate");
    }
    merge(data);
}

/// The same records as connections, few of which may be held.
fn merge(data: &[u8]) {
    let bytes: Box<dyn Read + Send> = Box::new(Cursor::new(data.to_vec()));
    let options = Options { sha256: false, truncation: Truncation::Allow };
    let Ok(reader) = Reader::from_readers(vec![("bytes".to_owned(), bytes)], options) else { return };
    let merging = MergeOptions { allow_sampled: true, most_connections: 16, ..MergeOptions::default() };
    let mut vectors = Vectors::new(reader, merging);
    let (mut given, mut start, mut failed) = (0, None, false);
    for vector in vectors.by_ref() {
        let Ok(vector) = vector else {
            failed = true;
            continue;
        };
        assert_eq!((vector.id, vector.evidence), (given, Evidence::FlowRecord));
        assert!(Some(vector.start) >= start, "starts in order");
        assert!(!vector.adus.is_empty() && vector.adus.iter().all(|adu| adu.bytes > 0), "a vector without data");
        start = Some(vector.start);
        given += 1;
    }
    let facts = vectors.merge_facts();
    assert_eq!(facts.vectors, given);
    assert_eq!(
        facts.connections,
        given + facts.one_way + facts.no_data + facts.uncounted,
        "connections without a fate"
    );
    let records = facts.records + facts.other_protocols + facts.denied;
    assert!(records <= vectors.facts().records.total() && (failed || records == vectors.facts().records.total()));
    assert!(facts.connections <= facts.records);
}
