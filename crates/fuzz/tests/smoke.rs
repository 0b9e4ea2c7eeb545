//! Every target on its seeds and on a bounded number of seeded mutations of them: what libFuzzer does, without a nightly
//! compiler and the same every time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use flowloom_fuzz::{Mutator, TARGETS, extract, valid_captures};

/// Runs the entry; a panic says with which input.
fn hand(name: &str, entry: fn(&[u8]), data: &[u8], what: &str) {
    if catch_unwind(AssertUnwindSafe(|| entry(data))).is_err() {
        let path = std::env::temp_dir().join(format!("flowloom-fuzz-{name}"));
        let kept = std::fs::write(&path, data).map_or("nowhere".to_owned(), |()| path.display().to_string());
        panic!("{name}: {what} breaks a promise; the input is in {kept}");
    }
}

#[test]
fn every_target_keeps_its_promises_on_its_seeds_and_on_mutations_of_them() {
    for target in TARGETS {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has no seeds", target.name);
        for (index, seed) in seeds.iter().enumerate() {
            hand(target.name, target.entry, seed, &format!("seed {index}"));
        }
        let mut mutator = Mutator::new(1);
        for execution in 0..target.smoke {
            hand(target.name, target.entry, &mutator.damage(&seeds), &format!("mutation {execution}"));
        }
        eprintln!("{}: {} seeds, {} mutations", target.name, seeds.len(), target.smoke);
    }
}

#[test]
fn made_captures_are_what_they_are_made_for() {
    // Seeds that no reader takes would make every test above pass without trying anything.
    for (index, (file, least)) in valid_captures().iter().zip([3, 1, 0, 0, 0, 0, 0, 0, 0, 0]).enumerate() {
        let read = extract(file, 0);
        assert!(read.connections >= least, "capture {index}: {read:?}");
        assert!(read.packets > 1, "capture {index}: {read:?}");
    }
}

#[test]
fn made_export_messages_hold_records() {
    let flows = TARGETS.iter().find(|target| target.name == "flows").expect("the target");
    let counts = (flows.seeds)().iter().map(|seed| flowloom_store::flows::decode(seed).0.len()).collect::<Vec<_>>();
    assert_eq!(counts, [2, 2, 2, 4, 4]);
}
