//! Keys of an experiment set one at a time: a path and a value, each as text.

use serde_json::Value as Json;
use toml::{Table, Value};

use flowloom_core::keys::walk::{KeyPath, Problem, ProblemKind, Step, schema_at, walk};

use super::nodes::unplaced;
use super::schema::{CHECKS, schema};
use crate::error::Error;

/// Gives the key at `path` the value that `text` means there.
///
/// # Errors
/// `path` is no path of keys, or leads into a list that is not so long.
pub fn set(table: &mut Table, path: &str, text: &str) -> Result<(), Error> {
    let wrong = |problem: &str| {
        let error = Error::usage(format_args!("{path}: {problem}"));
        Error { key: Some(path.to_owned()), ..error }
    };
    let Some(keys) = KeyPath::parse(path) else {
        return Err(wrong("this is no path of keys, such as network.bottleneck.queue.kind or sources[0].rate"));
    };
    let mut root = Value::Table(std::mem::take(table));
    let put = put(&mut root, keys.steps(), meant(&keys, text));
    if let Value::Table(whole) = root {
        *table = whole;
    }
    put.map_err(|problem| wrong(&problem))
}

/// Puts `value` where `steps` lead, and tables on the way where there are none.
fn put(place: &mut Value, steps: &[Step], value: Value) -> Result<(), String> {
    let Some((step, rest)) = steps.split_first() else {
        *place = value;
        return Ok(());
    };
    match (step, place) {
        (Step::Key(key), Value::Table(table)) => {
            let empty = || match rest.first() {
                Some(Step::Item(_)) => Value::Array(Vec::new()),
                _ => Value::Table(Table::new()),
            };
            put(table.entry(key.clone()).or_insert_with(empty), rest, value)
        }
        // What was a text becomes a table with the key.
        (Step::Key(_), place) => {
            *place = Value::Table(Table::new());
            put(place, steps, value)
        }
        (Step::Item(number), Value::Array(items)) if *number <= items.len() => {
            if *number == items.len() {
                items.push(Value::Table(Table::new()));
            }
            put(&mut items[*number], rest, value)
        }
        (Step::Item(_), Value::Array(items)) => {
            Err(format!("the list has {} items, and a new one goes behind the last", items.len()))
        }
        (Step::Item(_), _) => Err("this is no list".to_owned()),
    }
}

/// What `text` means as the value of a key: what the schema accepts of the TOML value it is, the text it is, and the table whose kind
/// it is, in this order; the first of these if it accepts none.
fn meant(path: &KeyPath, text: &str) -> Value {
    let toml = format!("x = {text}").parse::<Table>().ok().and_then(|mut table| table.remove("x"));
    let plain = Value::String(text.to_owned());
    let Some(of_key) = schema_at(schema(), path) else { return toml.unwrap_or(plain) };
    let kind = Value::Table(Table::from_iter([("kind".to_owned(), plain.clone())]));
    let mut rooted = of_key.clone();
    if let (Json::Object(rooted), Some(definitions)) = (&mut rooted, schema().get("$defs")) {
        rooted.insert("$defs".to_owned(), definitions.clone());
    }
    let problems = |value: &Value| walk(&unplaced(value), &rooted, CHECKS);
    let is_type = |problem: &Problem| matches!(problem.kind, ProblemKind::Type { .. });
    // A table that was written as one is no name of a kind, whatever is wrong in it.
    if let Some(table @ Value::Table(_)) = toml {
        return table;
    }
    let candidates: Vec<Value> = toml.into_iter().chain([plain.clone(), kind]).collect();
    let accepted = candidates.iter().find(|value| problems(value).is_empty());
    // Where none is accepted, what is said of one of the right type says more.
    let near = || candidates.iter().find(|value| !problems(value).iter().any(is_type));
    // Of a key that several kinds have, the schema of another kind may have been asked.
    accepted.or_else(near).or(candidates.first()).cloned().unwrap_or(plain)
}
