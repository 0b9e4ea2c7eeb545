//! The schema of an experiment's keys, and everything that is wrong with a file by it.

use std::sync::LazyLock;

use serde_json::Value;
use toml::de::DeTable;

use flowloom_core::keys::walk::{Checks, KeyPath, Problem, ProblemKind, Step, walk};
use flowloom_core::keys::{Amount, Written};
use flowloom_models::generate::harpoon::Block;
use flowloom_models::generate::netspec;
use flowloom_sim::keys::schema::{self as keys, Check, counts, means};

use super::keys::Experiment;
use super::nodes::placed;
use super::rtt::{Rtt, Trim};
use super::sweep::{Axis, LeaveOut, Tables};
use super::vary::Vary;
use super::workload::WindowChoice;
use crate::error::{Error, place};

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
const FORMATS: [(&str, Check); 9] = [
    (Axis::FORMAT, counts::<Axis>),
    (LeaveOut::FORMAT, counts::<LeaveOut>),
    (Tables::FORMAT, counts::<Tables>),
    (WindowChoice::FORMAT, counts::<WindowChoice>),
    (Vary::FORMAT, counts::<Vary>),
    ("rtt", means::<Rtt>),
    (Trim::FORMAT, counts::<Trim>),
    ("netspec-function", is_function),
    ("addresses", means::<Block>),
];

/// The check of a name of NetSpec's functions.
fn is_function(name: &Value) -> Result<Option<Amount>, String> {
    match name.as_str() {
        Some(name) if netspec::is_function(name) => Ok(None),
        _ => Err(format!("{name} is no function of NetSpec")),
    }
}

/// The checks of all formats of an experiment.
pub(super) const CHECKS: Checks<'static> = &|format, value| {
    let own = FORMATS.iter().find(|(name, _)| *name == format).map(|(_, check)| check(value));
    own.or_else(|| (keys::CHECKS)(format, value))
};

/// Everything that is wrong with an experiment file by the schema, in the order of the file.
pub(super) fn problems(document: &DeTable<'_>) -> Vec<Problem> {
    let mut problems = walk(&placed(document), schema(), CHECKS);
    problems.sort_by_key(|problem| problem.place);
    problems
}

/// The same as errors with places in its text `source`.
pub(crate) fn errors(problems: &[Problem], source: &str, file: &str) -> Vec<Error> {
    let at = |problem: &Problem| place(source, problem.place, file);
    let (shown, more) = problems.split_at(problems.len().min(MOST_ERRORS));
    let shown = shown.iter().map(|problem| error(problem).at(at(problem)));
    let rest = |first| {
        let few = if more.len() == 1 { "1 more error".to_owned() } else { format!("{} more errors", more.len()) };
        Error::usage(format_args!("from here on there {} {few}", if more.len() == 1 { "is" } else { "are" }))
            .at(at(first))
    };
    shown.chain(more.first().map(rest)).collect()
}

/// Errors of a file that are told; the others are counted.
const MOST_ERRORS: usize = 20;

/// A problem as an error.
fn error(problem: &Problem) -> Error {
    let known = problem.kind.known();
    // Of several tables of one name the key alone does not say which.
    let is_item = |table: &KeyPath| table.steps().iter().any(|step| matches!(step, Step::Item(_)));
    let mut error = match problem.path.split_last() {
        Some((_, table)) if matches!(problem.kind, ProblemKind::UnknownKey { .. }) && is_item(&table) => {
            Error::usage(format_args!("{problem} in {table}"))
        }
        _ => Error::usage(problem),
    };
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
