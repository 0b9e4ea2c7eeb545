//! What a monitor reads: answers of agents, its registry, its journal, what runs say of themselves.

use flowloom::Registered;
use flowloom::monitoring::snmp::oid::Oid;
use flowloom::monitoring::snmp::value::read_answer;
use flowloom::monitoring::snmp::walk::Walk;
use flowloom::monitoring::{Moment, kept_text, read_kept};
use flowloom::store::monitor::{Batch, JournalRecord, read_journal};
use flowloom::store::running;

/// An answer of an agent: no more values than bytes, and a walk that it is taken for comes to its end.
pub fn answer(data: &[u8]) {
    let columns: [Oid; 2] =
        ["1.3.6.1.2.1.2.2.1.10", "1.3.6.1.2.1.31.1.1.1.6"].map(|oid| oid.parse().expect("a column"));
    let mut page = Vec::new();
    let Some(count) = read_answer(data, &mut |name, value| page.push((name.to_vec(), value))) else { return };
    assert!(count == page.len() && count <= data.len());
    let mut walk = Walk::new(&columns);
    // An agent that says the same again names an index twice, which ends the walk.
    for _ in 0..page.len() + 8 {
        if walk.questions().is_none() {
            break;
        }
        walk.take(&page, Moment::default());
    }
    assert!(walk.questions().is_none(), "{page:?}");
    let table = walk.into_table();
    assert!(table.rows.len() <= page.len() && table.rows.values().all(|row| row.values.len() == columns.len()));
}

/// A registry: what is wrong with it is said with its name, and without its secrets.
pub fn registry(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Registered::parse(text, "fuzz.toml") {
        Ok(registry) => {
            assert_eq!(registry.problems(), []);
            assert!(!format!("{registry:?}").contains("hush-hush"));
        }
        Err(failure) => assert!(failure.to_string().starts_with("fuzz.toml"), "{failure}"),
    }
}

/// A registry that a store keeps: what is kept of it again is the same.
pub fn kept(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(registry) = read_kept(text) else { return };
    let written = kept_text(&registry).expect("a text");
    let again = read_kept(&written).expect("what was written");
    assert_eq!(kept_text(&again).expect("a text"), written);
}

/// A segment of a journal: bytes are read or left, and what is cut off it is a part of the same records.
pub fn journal(data: &[u8]) {
    let records = |bytes: &[u8]| {
        let mut found = Vec::new();
        let read = read_journal(bytes, &mut |record| found.push(record));
        assert_eq!(read.records as usize, found.len());
        assert_eq!(read.whole_bytes + read.other_bytes, bytes.len() as u64);
        found
    };
    let whole = records(data);
    let samples: usize = whole
        .iter()
        .map(|record| if let JournalRecord::Samples(Batch { samples, .. }) = record { samples.len() } else { 0 })
        .sum();
    assert!(samples <= data.len());
    let half = records(&data[..data.len() / 2]);
    assert_eq!(half[..], whole[..half.len()]);
}

/// What a run says of itself: written again it is the same.
pub fn running(data: &[u8]) {
    let Some(observation) = running::parse(data) else { return };
    let again = serde_json::to_vec(&observation).expect("it can be written");
    assert_eq!(running::parse(&again), Some(observation));
}
