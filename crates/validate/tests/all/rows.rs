//! The quick forms of the checks; `make validate` runs the full ones.

use flowloom_validate::check::{Effort, Verdict};
use flowloom_validate::{GROUPS, REFERENCES, rows, table};

#[test]
fn quick_rows_hold() {
    let mut all = Vec::new();
    for group in GROUPS.into_iter().chain([REFERENCES]).filter(|group| *group != "transcripts") {
        let found = rows(group, Effort::Quick);
        assert!(!found.is_empty(), "{group} has no rows");
        all.extend(found);
    }
    let wrong: Vec<String> =
        all.iter().filter(|row| row.verdict() == Verdict::Fails).map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), all.len(), wrong.join("\n"));
    for page in [table::page(&all), table::references(&all)] {
        let told = page.lines().filter(|line| line.ends_with("| holds |") || line.ends_with("| departs |"));
        assert_eq!(told.count(), all.len());
    }
}

#[test]
fn an_unknown_group_has_no_rows() {
    assert!(rows("no such group", Effort::Quick).is_empty());
}
