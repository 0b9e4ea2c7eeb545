//! The schema of an experiment's keys, and everything that is wrong with a file by it.

use std::sync::LazyLock;

use serde_json::Value;
use toml::de::DeTable;

use flowloom_core::keys::Written;
use flowloom_core::keys::walk::{Checks, Problem, ProblemKind, walk};
use flowloom_models::generate::harpoon::Block;
use flowloom_sim::keys::schema::{self as keys, Check, counts, means};

use super::diagnosis::place;
use super::keys::Experiment;
use super::nodes::placed;
use super::rtt::Rtt;
use super::vary::Vary;
use super::workload::WindowChoice;
use crate::error::Error;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = keys::schema::<Experiment>();
    schema["title"] = "Experiment of Flowloom".into();
    schema
});

/// The JSON Schema (2020-12) of experiment files: every key with its type, meaning, unit and default.
pub fn schema() -> &'static Value {
    &SCHEMA
}

/// What the values of the formats are read as that only experiments have.
const FORMATS: [(&str, Check); 4] = [
    (WindowChoice::FORMAT, counts::<WindowChoice>),
    (Vary::FORMAT, counts::<Vary>),
    ("rtt", means::<Rtt>),
    ("addresses", means::<Block>),
];

/// The checks of all formats of an experiment.
pub(super) const CHECKS: Checks<'static> = &|format, value| {
    let own = FORMATS.iter().find(|(name, _)| *name == format).map(|(_, check)| check(value));
    own.or_else(|| (keys::CHECKS)(format, value))
};

/// Everything that is wrong with the text of an experiment file by the schema.
pub(super) fn errors(document: &DeTable<'_>, source: &str, file: &str) -> Vec<Error> {
    let root = placed(document);
    let at = |problem: &Problem| place(source, problem.place, file);
    let mut problems = walk(&root, schema(), CHECKS);
    problems.sort_by_key(|problem| problem.place);
    let shown = problems.iter().take(MOST_ERRORS).map(|problem| error(problem).at(at(problem)));
    let more = problems.len().saturating_sub(MOST_ERRORS);
    let more = (more > 0).then(|| Error::usage(format_args!("there are {more} more errors")));
    shown.chain(more).collect()
}

/// Errors of a file that are told; the others are counted.
const MOST_ERRORS: usize = 20;

/// A problem as an error.
fn error(problem: &Problem) -> Error {
    let known = problem.kind.known();
    let mut error = Error::usage(problem);
    if !known.is_empty() {
        error = error.note(format_args!("known: {}", known.join(", ")));
    }
    let key = match &problem.kind {
        ProblemKind::Missing { key } if problem.path.steps().is_empty() => key.clone(),
        ProblemKind::Missing { key } => format!("{}.{key}", problem.path),
        _ => problem.path.to_string(),
    };
    let meant = problem.kind.meant().map(|meant| format!("did you mean \"{meant}\"?"));
    Error { key: Some(key), ..error.hint_if(meant) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn formats<'a>(schema: &'a Value, found: &mut BTreeSet<&'a str>) {
        match schema {
            Value::Object(keys) => {
                found.extend(keys.get("format").and_then(Value::as_str));
                keys.values().for_each(|value| formats(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| formats(value, found)),
            _ => {}
        }
    }

    #[test]
    fn every_format_has_a_check() {
        let mut found = BTreeSet::new();
        formats(schema(), &mut found);
        // What schemars says of Rust's numbers; their bounds are in the schema.
        let rust = ["uint8", "uint16", "uint32", "uint64", "double"];
        let unchecked: Vec<&&str> = found
            .iter()
            .filter(|format| {
                !rust.contains(format) && !FORMATS.iter().chain(&keys::FORMATS).any(|(name, _)| name == *format)
            })
            .collect();
        assert!(unchecked.is_empty(), "{unchecked:?}");
    }
}
