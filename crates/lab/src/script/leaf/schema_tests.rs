//! The lab takes every key that experiments take: leaves are written by the schema, one for each key.

use flowloom_core::keys::walk::{alternatives, resolve, words};
use flowloom_core::queue::keys::{Queue, QueueKind};
use flowloom_sim::keys::schema::schema;
use serde_json::Value as Json;

use super::super::explain::explain;
use super::super::parser::{self, Mode};
use super::super::place::Files;
use super::keys::{NETWORK, TCP, spelt};

/// Errors of `lab check` of a leaf.
fn errors(text: &str) -> Vec<String> {
    let mut files = Files::new();
    let file = files.add("a.ns", text, None);
    let (body, found) = parser::script(&files, file, Mode::Strict);
    assert!(!found.iter().any(|one| one.is_error()), "{text}: {found:?}");
    match explain(&files, body.blocks().next().unwrap(), found) {
        Ok(_) => Vec::new(),
        Err(found) => found.iter().filter(|one| one.is_error()).map(|one| one.summary(&files)).collect(),
    }
}

/// A value that the schema allows, as the language has it.
fn value(root: &Json, schema: &Json) -> String {
    let outer = schema;
    let schema = resolve(root, schema);
    if let Some(example) = [outer, schema].iter().find_map(|schema| schema["examples"][0].as_str()) {
        return format!("\"{example}\"");
    }
    if let Some(word) = words(schema).next() {
        return word.to_owned();
    }
    if let Some(first) = alternatives(schema).next() {
        return value(root, first);
    }
    if let Some(items) = schema["prefixItems"].as_array() {
        return format!("[{}]", items.iter().map(|item| value(root, item)).collect::<Vec<_>>().join(", "));
    }
    let least = ["minimum", "default"].iter().find_map(|key| schema[*key].as_f64());
    match schema["type"].as_str() {
        Some("integer") => format!("{}", least.unwrap_or(1.0).max(1.0)),
        Some("number") => "0.5".to_owned(),
        Some("boolean") => "true".to_owned(),
        Some("string") => "name".to_owned(),
        Some("array") => match schema.get("items") {
            Some(items) => format!("[{}]", value(root, items)),
            None => "[]".to_owned(),
        },
        _ => table(root, schema, None),
    }
}

/// A table with the keys that it needs, and with `more`.
fn table(root: &Json, schema: &Json, more: Option<(&str, String)>) -> String {
    let schema = resolve(root, schema);
    let properties = &schema["properties"];
    let needed = schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
    let kind = properties["kind"]["const"].as_str();
    let mut arguments: Vec<String> = needed
        .filter(|key| *key != "kind" && more.as_ref().is_none_or(|(name, _)| name != key))
        .map(|key| format!("{} = {}", spelt(key), value(root, &properties[key])))
        .collect();
    arguments.extend(more.map(|(key, value)| format!("{} = {value}", spelt(key))));
    format!("{}({})", kind.unwrap_or("table"), arguments.join(", "))
}

/// Every value of a schema that has one of the keys below it, each of which is tried: the path of the key, and the value.
fn values(root: &Json, schema: &Json, path: &str, found: &mut Vec<(String, String)>) {
    // Distributions hold distributions without end.
    if path.matches(['.', '[']).count() > 4 {
        return;
    }
    let schema = resolve(root, schema);
    found.push((path.to_owned(), value(root, schema)));
    if schema.get("items").is_some() {
        let mut inner = Vec::new();
        values(root, &schema["items"], &format!("{path}[0]"), &mut inner);
        found.extend(inner.into_iter().map(|(path, value)| (path, format!("[{value}]"))));
    }
    for branch in alternatives(schema) {
        values(root, branch, path, found);
    }
    for (key, of_key) in schema["properties"].as_object().into_iter().flatten() {
        let mut inner = Vec::new();
        // Queues are tried by themselves, kind by kind; and a class holds all keys once more.
        if key == "queue" || key == "classes" || (key == "tcp" && path.starts_with("classes")) {
            continue;
        }
        values(root, of_key, &format!("{path}.{key}"), &mut inner);
        let within = |(path, value)| (path, table(root, schema, Some((key.as_str(), value))));
        found.extend(inner.into_iter().filter(|_| key != "kind").map(within));
    }
}

/// What says that a key is not known, or that its value has no form: nothing else is wrong with a key.
fn of_keys(errors: Vec<String>) -> Vec<String> {
    let words = ["unknown", "takes no", "expected", "is not a key", "there is no", "missing key", "means nothing"];
    errors.into_iter().filter(|error| words.iter().any(|word| error.contains(word))).collect()
}

const PATH: &str = "left = a; right = b; duration = 1;";

#[test]
fn a_path_takes_every_key_of_queues() {
    let root = schema::<Queue>();
    for kind in QueueKind::ALL {
        for key in ["limit"].iter().chain(kind.keys()) {
            let of_key = &root["properties"][*key];
            let value = match (kind, *key) {
                // What must stand in a relation to others.
                (QueueKind::Pi | QueueKind::Rem, "target") => "\"200p\"".to_owned(),
                (QueueKind::Red, "min") => "4".to_owned(),
                (QueueKind::Red, "max") => "40".to_owned(),
                (_, "limit" | "memory") => "\"1m\"".to_owned(),
                _ => value(&root, of_key),
            };
            let text = format!("path r {{ {PATH} rate = 10M; queue = {}({key} = {value}); }}", kind.name());
            assert_eq!(of_keys(errors(&text)), [""; 0], "{text}");
        }
        let text = format!("path r {{ {PATH} rate = 10M; queue = {}; }}", kind.name());
        assert_eq!(errors(&text), [""; 0], "{text}");
        let text = format!("path r {{ {PATH} rate = 10M; queue = {}(nothing-such = 1); }}", kind.name());
        assert_eq!(of_keys(errors(&text)).len(), 1, "{text}");
    }
}

#[test]
fn a_path_takes_every_key_of_networks() {
    let root = &*NETWORK;
    let mut tried = 0;
    for (key, of_key) in root["properties"].as_object().unwrap() {
        let mut found = Vec::new();
        values(root, of_key, key, &mut found);
        for (path, value) in found {
            let rate = if path == "bottleneck.rate" { "" } else { "rate = 10M;" };
            let text = format!("path r {{ {PATH} {rate} {key} = {value}; }}");
            assert_eq!(of_keys(errors(&text)), [""; 0], "{path}: {text}");
            tried += 1;
        }
    }
    assert!(tried > 100, "{tried}");
}

#[test]
fn a_protocol_takes_every_key_of_tcp() {
    let root = &*TCP;
    for (key, of_key) in root["properties"].as_object().unwrap() {
        let mut found = Vec::new();
        values(root, of_key, key, &mut found);
        for (path, value) in found {
            let protocol = format!("protocol = tcp({key} = {value});");
            let text =
                format!("test h {{ type = sink(blocksize = 1K, duration = 1); own = a:1; peer = b:2; {protocol} }}");
            assert_eq!(of_keys(errors(&text)), [""; 0], "{path}: {text}");
            let replay = "own = a:1; peer = b:2; side = left; workload = w; duration = 1; rate = 1M;";
            let text = format!("replay h {{ {replay} {key} = {value}; }}");
            assert_eq!(of_keys(errors(&text)), [""; 0], "{path}: {text}");
        }
    }
}
