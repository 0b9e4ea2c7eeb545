//! The schema of an experiment's keys, and everything that is wrong with a file by it.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;
use toml::de::{DeTable, DeValue};

use flowloom_core::distribution::Distribution;
use flowloom_core::keys::walk::{Checks, Node, NodeValue, Problem, ProblemKind, walk};
use flowloom_core::keys::{Drawn, Optional, Share, Size, Span, Written};
use flowloom_core::path::keys::{Bucket, Bytes, FlowLoss, Loss};
use flowloom_core::queue::keys::Target;
use flowloom_core::tcp::keys::Gain;
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Rate};
use flowloom_models::generate::harpoon::Block;
use flowloom_sim::keys::RateChoice;

use super::Experiment;
use super::diagnosis::place;
use super::rtt::Rtt;
use super::workload::WindowChoice;
use crate::error::Error;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let mut schema = settings.into_generator().into_root_schema_for::<Experiment>().to_value();
    without_null(&mut schema);
    schema["title"] = "Experiment of Flowloom".into();
    schema
});

/// Takes out null, which TOML does not have: a key without a value is left out.
fn without_null(schema: &mut Value) {
    let is_null = |schema: &Value| schema["type"] == "null";
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Object(keys) => {
            if let Some(Value::Array(types)) = keys.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    keys.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(branches)) = keys.get_mut("anyOf") {
                branches.retain(|branch| !is_null(branch));
                if let [Value::Object(only)] = &mut branches[..] {
                    let only = std::mem::take(only);
                    keys.remove("anyOf");
                    only.into_iter().for_each(|(key, value)| _ = keys.entry(key).or_insert(value));
                }
            }
            if keys.get("default").is_some_and(Value::is_null) {
                keys.remove("default");
            }
            keys.values_mut().for_each(without_null);
        }
        _ => {}
    }
}

/// The JSON Schema (2020-12) of experiment files: every key with its type, meaning, unit and default.
pub fn schema() -> &'static Value {
    &SCHEMA
}

fn means<T: DeserializeOwned>(value: &Value) -> Result<(), String> {
    T::deserialize(value).map(|_| ()).map_err(|error: serde_json::Error| error.to_string())
}

fn text<T: Written>(value: &Value) -> Result<(), String> {
    let text = value.as_str().unwrap_or_default();
    text.parse::<T>().map(|_| ()).map_err(|error| error.to_string())
}

/// What the values of each format of the schema are read as.
const FORMATS: [(&str, fn(&Value) -> Result<(), String>); 24] = [
    (Duration::FORMAT, text::<Duration>),
    (Span::FORMAT, text::<Span>),
    (Rate::FORMAT, text::<Rate>),
    (Limit::FORMAT, text::<Limit>),
    (Size::FORMAT, text::<Size>),
    (Share::FORMAT, text::<Share>),
    (Optional::<Duration>::FORMAT, text::<Optional<Duration>>),
    (Optional::<Size>::FORMAT, text::<Optional<Size>>),
    (RateChoice::FORMAT, text::<RateChoice>),
    (Target::FORMAT, text::<Target>),
    (WindowChoice::FORMAT, text::<WindowChoice>),
    (Gain::FORMAT, text::<Gain>),
    (Bytes::FORMAT, text::<Bytes>),
    ("drawn-time", means::<Drawn<Duration>>),
    ("drawn-span", means::<Drawn<Span>>),
    ("drawn-rate", means::<Drawn<Rate>>),
    ("drawn-size", means::<Drawn<Size>>),
    ("drawn-share", means::<Drawn<Share>>),
    ("drawn-number", means::<Distribution>),
    ("loss", means::<Loss>),
    ("flow-loss", means::<FlowLoss>),
    ("bucket", means::<Bucket>),
    ("rtt", means::<Rtt>),
    ("addresses", means::<Block>),
];

/// See [`Checks`].
pub(super) const CHECKS: Checks<'static> =
    &|format, value| FORMATS.iter().find(|(name, _)| *name == format).map(|(_, check)| check(value));

/// Everything that is wrong with the text of an experiment file by the schema.
pub(super) fn errors(document: &DeTable<'_>, source: &str, file: &str) -> Vec<Error> {
    let root = Node { place: 0, value: table(document) };
    let at = |problem: &Problem| place(source, problem.place, file);
    let mut problems = walk(&root, schema(), CHECKS);
    problems.sort_by_key(|problem| problem.place);
    problems.iter().map(|problem| error(problem).at(at(problem))).collect()
}

/// Everything that is wrong with keys by the schema, without places.
pub(super) fn errors_of(keys: &toml::Table) -> Vec<Error> {
    let root = Node { place: 0, value: super::written::node(&toml::Value::Table(keys.clone())) };
    walk(&root, schema(), CHECKS).into_iter().map(|problem| error(&problem)).collect()
}

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

fn table(table: &DeTable<'_>) -> NodeValue {
    let keys = table.iter().map(|(key, value)| {
        let node = Node { place: value.span().start, value: node(value.get_ref()) };
        (key.get_ref().to_string(), key.span().start, node)
    });
    NodeValue::Table(keys.collect())
}

fn node(value: &DeValue<'_>) -> NodeValue {
    match value {
        DeValue::Table(inner) => table(inner),
        DeValue::Array(items) => NodeValue::List(
            items.iter().map(|item| Node { place: item.span().start, value: node(item.get_ref()) }).collect(),
        ),
        DeValue::String(text) => NodeValue::Plain(text.as_ref().into()),
        DeValue::Boolean(switch) => NodeValue::Plain((*switch).into()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(NodeValue::Foreign("a number of more than 64 bits"), |number| NodeValue::Plain(number.into())),
        DeValue::Float(number) => match number.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64) {
            Some(number) => NodeValue::Plain(Value::Number(number)),
            None => NodeValue::Foreign("nan or an infinite number"),
        },
        DeValue::Datetime(_) => NodeValue::Foreign("a date"),
    }
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
            .filter(|format| !rust.contains(format) && !FORMATS.iter().any(|(name, _)| name == *format))
            .collect();
        assert!(unchecked.is_empty(), "{unchecked:?}");
    }
}
