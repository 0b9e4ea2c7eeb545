//! Export messages of NetFlow and IPFIX.

use flowloom_store::flows;

/// A file of export messages, or a capture of an exporter: what is counted is what comes out.
pub fn messages(data: &[u8]) {
    let (records, facts, error) = flows::decode(data);
    assert!(error.is_none_or(|error| !error.to_string().is_empty()));
    if !facts.inputs.is_empty() {
        assert_eq!(facts.records.total(), records.len() as u64, "records without a fate");
    }
}
