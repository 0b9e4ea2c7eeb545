//! Tables of distributions, and files of models that are made of such.

use flowloom::core::cell::framing::{Compression, NAMED_STACKS, Stack, Totals, totals};
use flowloom::core::distribution::{Distribution, Law};
use flowloom::models::generate::harpoon::Harpoon;
use flowloom::models::swing::{Draw, Swing};
use flowloom::store::{harpoon, histogram, lengths, swing};
use flowloom::time::Duration;

/// A cumulative histogram: what is taken is a law, whose values rise from the first row's to the last's.
pub fn histogram(data: &[u8]) {
    let rows = match histogram::read(data) {
        Ok(rows) => rows,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("table:"), "{message}");
            return;
        }
    };
    let (first, last) = (rows[0].0, rows[rows.len() - 1].0);
    let law = Distribution::new(Law::Linear(rows)).expect("a table that was taken is a law");
    let mut before = first;
    for step in 0..64 {
        let value = law.quantile(f64::from(step) / 64.0);
        assert!(before <= value && value <= last, "{value} after {before}, at most {last}");
        before = value;
    }
}

/// A histogram of datagram lengths: what is taken can be carried, in no fewer bytes than it has.
pub fn lengths(data: &[u8]) {
    let lengths = match lengths::read(data) {
        Ok(lengths) => lengths,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("histogram:"), "{message}");
            return;
        }
    };
    for stack in NAMED_STACKS {
        let stack: Stack = stack.name.parse().expect("a stack that has a name");
        let found = totals(&stack, &lengths, Compression::NONE);
        let Totals { application, datagram, frame, line } = found;
        assert!(application <= datagram && datagram <= frame && frame <= line, "{found:?}");
        assert_eq!(found.efficiencies().is_none(), lengths.is_empty());
    }
}

/// A Swing model: what is taken can be drawn from, and what is drawn is a workload.
pub fn swing_model(data: &[u8]) {
    let model = match swing::read(data) {
        Ok(model) => model,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("model: "), "{message}");
            return;
        }
    };
    let written = serde_json::to_vec(&model).expect("a model that was taken can be written");
    assert_eq!(swing::read(&written).expect("what was written is read"), model);
    for draw in [Draw::Independent, Draw::Sessions] {
        let mut source = Swing::new("", draw);
        if source.set(model.clone()).is_err() {
            continue;
        }
        let mut last = None;
        for (vector, id) in source.vectors(1, Duration::from_secs(3_600)).zip(0..100) {
            assert!(vector.id == id && !vector.adus.is_empty(), "{vector:?}");
            assert!(last.is_none_or(|last| last <= vector.start), "{last:?} and then {:?}", vector.start);
            last = Some(vector.start);
        }
    }
}

/// A configuration of Harpoon: what is read can be written and read again, and what is a model makes connections in order.
pub fn harpoon(data: &[u8]) {
    let config = match harpoon::read(data) {
        Ok(config) => config,
        Err(error) => {
            let message = error.to_string();
            assert!(message.starts_with("config:"), "{message}");
            return;
        }
    };
    let mut written = Vec::new();
    harpoon::write(&config.plugins, &mut written).expect("memory can be written to");
    let mut again = Vec::new();
    harpoon::write(&harpoon::read(&written).expect("what was written").plugins, &mut again).expect("memory");
    assert!(written == again, "what is written is not what is read");
    let mut model = Harpoon::default();
    if model.configure(&config.plugins, config.remarks).is_ok() {
        let vectors = model.vectors(1, Duration::from_secs(2)).take(500);
        let starts: Vec<_> = vectors.map(|vector| vector.start).collect();
        assert!(starts.is_sorted());
    }
}
