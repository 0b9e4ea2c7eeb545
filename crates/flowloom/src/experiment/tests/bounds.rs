//! Every bound that the schema states is that of the machine: a validator that is not ours and the reader of experiments accept
//! the same values on it, and refuse the same beside it.

use flowloom_core::keys::Amount;
use flowloom_core::keys::walk::{alternatives, resolve, words};
use flowloom_core::time::Duration;
use flowloom_core::units::Limit;
use serde_json::Value;
use toml::Table;

use super::schema::Validator;
use crate::experiment::{Experiment, schema, set::set};

/// Keys with their values as text, from which an experiment is made.
type Keys = Vec<(String, String)>;

/// A key with a bound, in an experiment that has what it needs.
struct Bounded<'a> {
    path: String,
    /// As the key states it.
    stated: &'a Value,
    beside: Keys,
}

/// Paths with values.
type Needed = &'static [(&'static str, &'static str)];

/// What a table needs beside what the schema says.
fn table_needs(path: &str, source: &str) -> Needed {
    if path.starts_with("network.links") {
        return &[
            ("network.topology", "graph"),
            ("network.bottleneck", r#"{ from = "a", to = "b" }"#),
            ("network.ends", r#"{ left = "a", right = "c" }"#),
            ("network.links[0]", r#"{ name = "x", from = "b", to = "c", rate = "1mbit" }"#),
        ];
    }
    match path {
        // It has a rate or a gap.
        "sources[0].rate" if source == "on-off" => &[("sources[0].on", "1s"), ("sources[0].off", "1s")],
        _ if path.starts_with("sources[0]") && source == "on-off" => {
            &[("sources[0].gap", "8ms"), ("sources[0].on", "1s"), ("sources[0].off", "1s")]
        }
        _ if path.starts_with("sources[0].payload") => &[("sources[0].gap", "8ms")],
        _ if path.starts_with("tcp.classes") => &[("tcp.classes[0].port", "80")],
        _ if path.starts_with("workload.model.sources[0]") => &[("workload.model.sources[0].speed", "1mbit")],
        _ if path.starts_with("workload.model.o") => &[("workload.model.begin", "silent")],
        _ => &[],
    }
}

/// What a key needs with a value, in its own table.
fn key_needs(key: &str, kind: &str, value: &str) -> Needed {
    match (key, kind, value) {
        ("min", "red", "1b") => &[("max", "15000b")],
        ("max", "red", "1p") => &[("min", "1p")],
        ("max", "red", "1b") => &[("min", "1b")],
        ("interval", "codel" | "fq-codel", _) => &[("target", "100ns")],
        // Computed, it is more than the queue holds.
        ("mean-packet", "adaptive-red", _) => &[("min", "5p")],
        ("a", "pi", _) => &[("b", "1e-7")],
        // Of the largest datagrams, one each microsecond.
        ("rate", _, "11776mbit" | "11776000000") => &[("payload", "1472b")],
        ("sigma", ..) => &[("mu", "0")],
        ("factor" | "target", ..) if kind.is_empty() => &[("method", "thinning")],
        ("block", ..) => &[("method", "blocks")],
        _ => &[],
    }
}

/// Values on a bound that other bounds of the same key, or other keys, exclude.
fn is_excluded(key: &str, kind: &str, value: &str) -> bool {
    match (key, kind) {
        // Of lengths one kind has packets, another time.
        ("min", "adaptive-red") => value == "1b",
        ("target", "pi" | "rem") => value == "1ns",
        ("target", _) => value == "1p",
        // Another maximum than PIE's.
        ("alpha", "rem") => value == "1000000",
        // It must be below a.
        ("b", "pi") => value == "1000000",
        // Of the largest rate, datagrams leave no time between them.
        ("rate", _) => value == "9000000000000000000",
        // The samples of its limits are one value; weights add up to 1.
        ("shape", "bounded-pareto") | ("weight", _) => true,
        _ => false,
    }
}

/// Models that need more than the schema says, or whose own bounds are of what laws draw.
fn is_without_sample(model: &str, key: &str) -> bool {
    model == "harpoon" || model == "tcplib-misc" && matches!(key, "shape" | "beta")
}

/// Keys with a bound that another one excludes: rates of delay boxes are drawn from wider laws, and messages of the model `exchanges`
/// have a byte.
fn is_barred(model: &str, path: &str) -> bool {
    path.starts_with("network.delay-box[0].rate")
        || model == "exchanges" && ["request-bytes", "response-bytes"].iter().any(|key| path.contains(key))
}

/// The kind of a table by the path of the key that says it, or none.
fn kind_at<'a>(path: &str, keys: &'a Keys) -> &'a str {
    keys.iter().rev().find(|(key, _)| key == path).map_or("", |(_, kind)| kind.trim_matches('"'))
}

/// Values on the bounds, and just outside.
fn values(stated: &Value) -> [Vec<String>; 2] {
    let (mut on, mut outside) = (Vec::new(), Vec::new());
    let whole = resolve(schema(), stated);
    for schema in [stated, whole] {
        let texts = |keyword: &str| -> Vec<String> {
            let one = schema.get(keyword);
            let listed = one.and_then(Value::as_array).into_iter().flatten();
            one.into_iter().chain(listed).filter_map(|text| Some(text.as_str()?.to_owned())).collect()
        };
        let beside = |text: &str, by: i64| {
            let word = text.split_once(' ').map_or(String::new(), |(word, _)| format!("{word} "));
            let moved = |number: u64| number.saturating_add_signed(by);
            match Amount::of_bound(text).unwrap() {
                Amount::Time(number) => format!("{word}{}ns", moved(number)),
                Amount::Bytes(number) => format!("{word}{}b", moved(number)),
                Amount::Packets(number) => format!("{word}{}p", moved(number)),
                Amount::Rate(number) => format!("{word}{}bit", moved(number)),
            }
        };
        for (keyword, by) in [("least", -1), ("most", 1)] {
            outside.extend(texts(keyword).iter().map(|text| beside(text, by)));
            on.extend(texts(keyword));
        }
        if std::ptr::eq(schema, stated) || schema.get("type").is_some() {
            numbers(schema, &mut on, &mut outside);
        }
        if std::ptr::eq(stated, whole) {
            break;
        }
    }
    [on, outside]
}

/// The same of numbers.
fn numbers(schema: &Value, on: &mut Vec<String>, outside: &mut Vec<String>) {
    let is_whole = schema["type"] == "integer";
    let step = if is_whole { 1.0 } else { 1e-6 };
    // Of a type of Rust's, and not of the key.
    let of_type = [0.0, f64::from(u8::MAX), f64::from(u16::MAX), f64::from(u32::MAX), i64::MAX as f64];
    for (keyword, by, is_inside) in [
        ("minimum", -step, true),
        ("maximum", step, true),
        ("exclusiveMinimum", step, false),
        ("exclusiveMaximum", -step, false),
    ] {
        let Some(bound) = schema.get(keyword).and_then(Value::as_f64) else { continue };
        if is_whole && bound >= i64::MAX as f64 {
            // TOML cannot say more.
            continue;
        }
        // Of a large number a millionth is lost.
        let moved = bound + by * bound.abs().max(1.0);
        let (inside, beyond) = if is_inside { (bound, moved) } else { (moved, bound) };
        outside.push(if is_whole { format!("{}", bound + by) } else { beyond.to_string() });
        if !(is_whole && of_type.contains(&bound)) {
            on.push(inside.to_string());
        }
    }
}

/// The experiment in which a key has a value, as text.
fn written(bounded: &Bounded<'_>, kind: &str, value: &str) -> String {
    let (table, key) = bounded.path.rsplit_once('.').unwrap_or(("", &bounded.path));
    let mut keys = Table::new();
    let own = |(path, value): &(&str, &str)| ((*path).to_owned(), (*value).to_owned());
    let mut all: Keys =
        table_needs(&bounded.path, kind_at("sources[0].kind", &bounded.beside)).iter().map(own).collect();
    all.extend(key_needs(key, kind, value).iter().map(|(key, value)| (format!("{table}.{key}"), (*value).to_owned())));
    match (key, bounded.path.as_str()) {
        ("hops", _) => all.push(("network.topology".to_owned(), "parking-lot".to_owned())),
        // The longest timeout of the other profiles is shorter.
        ("rto-min" | "rto-initial", _) => all.push(("tcp.profile".to_owned(), "linux".to_owned())),
        ("threshold", path) if path.ends_with(".cells.threshold") => {
            all.push((format!("{table}.discard"), "early".to_owned()));
        }
        (_, "workload.load.duration") => all.push(("workload.load.method".to_owned(), "poisson".to_owned())),
        _ => {}
    }
    all.extend(bounded.beside.iter().cloned());
    if bounded.path.starts_with("network.links") {
        all.extend(
            [("from", "b"), ("to", "c")].map(|(key, node)| (format!("network.links[0].{key}"), node.to_owned())),
        );
    }
    all.push((bounded.path.clone(), value.to_owned()));
    for (path, value) in all {
        set(&mut keys, &path, &value).unwrap_or_else(|error| panic!("{path} = {value}: {error}"));
    }
    toml::to_string(&keys).unwrap()
}

#[test]
fn the_bounds_of_the_schema_are_the_machines() {
    let validator = Validator::new();
    let mut found = Vec::new();
    visit(schema(), "", &Vec::new(), &mut Vec::new(), &mut found);
    let (mut accepted, mut refused, mut wrong) = (0, 0, Vec::new());
    for bounded in &found {
        let (table, key) = bounded.path.rsplit_once('.').unwrap_or(("", &bounded.path));
        let kind = kind_at(&format!("{table}.kind"), &bounded.beside);
        let model = kind_at("workload.model.kind", &bounded.beside);
        let [on, outside] = values(bounded.stated);
        let is_barred = is_barred(model, &bounded.path);
        for value in
            on.iter().filter(|value| !is_barred && !is_excluded(key, kind, value) && !is_without_sample(model, key))
        {
            accepted += 1;
            let text = written(bounded, kind, value);
            wrong.extend(validator.accepts(&text).err().map(|error| format!("refused by the schema: {text}{error}")));
            wrong.extend(Experiment::parse(&text, "x").err().map(|error| format!("refused: {text}{error}")));
        }
        for value in &outside {
            refused += 1;
            let text = written(bounded, kind, value);
            wrong.extend(validator.accepts(&text).ok().map(|()| format!("accepted by the schema: {text}")));
            match Experiment::parse(&text, "x") {
                Ok(_) => wrong.push(format!("accepted: {text}")),
                // What else such a model needs is told with it.
                Err(error) if error.each().count() > 1 && !is_without_sample(model, key) => {
                    wrong.push(format!("told more than once: {text}{error}"))
                }
                Err(_) => {}
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), accepted + refused, wrong.join("\n"));
    assert!(found.len() > 100 && accepted > 100 && refused > 200, "{} keys, {accepted}, {refused}", found.len());
}

/// Texts and numbers that most keys do not have: the schema and the reader of experiments accept the same of them.
#[test]
fn the_forms_of_the_schema_are_the_machines() {
    const VALUES: [&str; 17] = [
        "\"off\"",
        "\"auto\"",
        "\"usernett\"",
        "\"unlimited\"",
        "\"measured\"",
        "\"1e9\"",
        "\"\"",
        "\"1\"",
        "\"-1ms\"",
        "\"0-path\"",
        "\"1048576-path\"",
        "\"1048577-path\"",
        "\"12gbit\"",
        "\"100tbit\"",
        "0",
        "0.5",
        "4.0",
    ];
    let validator = Validator::new();
    let mut found = Vec::new();
    visit_those(&has_form, schema(), "", &Vec::new(), &mut Vec::new(), &mut found);
    let (mut agreed, mut wrong) = (0, Vec::new());
    for bounded in &found {
        let (table, _) = bounded.path.rsplit_once('.').unwrap_or(("", &bounded.path));
        let kind = kind_at(&format!("{table}.kind"), &bounded.beside);
        let model = kind_at("workload.model.kind", &bounded.beside);
        for value in VALUES {
            let text = written(bounded, kind, value);
            match (validator.accepts(&text), Experiment::parse(&text, "x")) {
                // Ours, and not serde's.
                (_, Err(error)) if error.to_string().contains("invalid type") => {
                    wrong.push(format!("told in words of serde: {text}{error}"));
                }
                (Ok(()), Err(error)) if !is_beside_others(model, &bounded.path) => {
                    wrong.push(format!("accepted by the schema: {text}{error}"));
                }
                (Err(error), Ok(_)) => wrong.push(format!("refused by the schema: {text}{error}")),
                _ => agreed += 1,
            }
        }
    }
    assert!(wrong.is_empty(), "{} beside {agreed}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(found.len() > 100 && agreed > 1_000, "{} keys, {agreed}", found.len());
}

/// Keys whose values mean something beside others only, which no schema says: parameters of laws, those of Harpoon, and the speed of a
/// source that sends as fast as it can.
fn is_beside_others(model: &str, path: &str) -> bool {
    path.starts_with("network.delay-box[0].rate.") || model == "harpoon" || path == "workload.model.sources[0].speed"
}

/// In every unit, the pattern and the machine agree on what is near a bound.
#[test]
fn patterns_are_right_in_every_unit() {
    let validator = Validator::new();
    let (times, bytes) = (&Duration::UNITS[..], &Limit::UNITS[..]);
    let mut texts = 0;
    for (key, units, bounds) in [
        ("live.tick", times, [10_000_u64, 10_000_000]),
        ("measure.drain", times, [1, 60_000_000_000]),
        ("network.bottleneck.delay", times, [1, 3_600_000_000_000]),
        ("tcp.delayed-ack", times, [1_000, 500_000_000]),
        ("tcp.receive-buffer", bytes, [4_096, 32 << 20]),
        ("workload.window", bytes, [1_024, 1_023 << 20]),
    ] {
        for (bound, (unit, scale)) in bounds.iter().flat_map(|bound| units.iter().map(move |unit| (*bound, *unit))) {
            for factor in [0.1, 0.5, 0.99, 0.999, 1.0, 1.001, 1.01, 2.0, 11.0] {
                let text = format!("{key} = \"{}{unit}\"", bound as f64 * factor / scale as f64);
                let (by_schema, by_machine) = (validator.accepts(&text), Experiment::parse(&text, "x"));
                assert_eq!(by_schema.is_ok(), by_machine.is_ok(), "{text}: {by_schema:?}");
                texts += 1;
            }
        }
    }
    assert_eq!(texts, 9 * 2 * (4 * times.len() + 2 * bytes.len()));
}

/// The value of a key that is needed, as TOML.
fn sample(stated: &Value) -> String {
    let schema = resolve(schema(), stated);
    if let Some(example) = [stated, schema].iter().find_map(|schema| schema["examples"][0].as_str()) {
        return format!("{example:?}");
    }
    if let Some(word) = words(schema).next() {
        return format!("{word:?}");
    }
    if let Some(first) = alternatives(schema).next() {
        return sample(first);
    }
    match schema["type"].as_str() {
        Some("integer") => schema["minimum"].as_u64().unwrap_or(1).max(1).to_string(),
        Some("number") => {
            let most = ["maximum", "exclusiveMaximum"].iter().find_map(|bound| schema[*bound].as_f64());
            if most.is_some_and(|most| most <= 1.0) { "0.5".to_owned() } else { "1.5".to_owned() }
        }
        Some("boolean") => "true".to_owned(),
        Some("array") => match schema["prefixItems"].as_array() {
            Some(items) => format!("[{}]", items.iter().map(sample).collect::<Vec<_>>().join(", ")),
            // Weights of the last frames, of which a process must not grow.
            None if schema["minItems"] == 2 => "[0.1, 0.1]".to_owned(),
            None => "[]".to_owned(),
        },
        Some("object") => {
            let needed = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let keys = needed.map(|key| format!("{key} = {}", sample(&schema["properties"][key])));
            format!("{{ {} }}", keys.collect::<Vec<_>>().join(", "))
        }
        // A frame that may begin a pattern of frames, and a name.
        _ => "\"I\"".to_owned(),
    }
}

/// Collects the keys with bounds of the value at `path`, which has `beside` around it.
fn visit<'a>(stated: &'a Value, path: &str, beside: &Keys, above: &mut Vec<&'a str>, found: &mut Vec<Bounded<'a>>) {
    visit_those(&has_bounds, stated, path, beside, above, found);
}

/// Whether a schema states bounds.
fn has_bounds(schema: &Value) -> bool {
    BOUNDS.iter().any(|bound| schema.get(bound).is_some())
}

/// Whether a value has a form that is checked.
fn has_form(schema: &Value) -> bool {
    schema["format"].as_str().is_some_and(|format| !format.starts_with("uint") && format != "double")
}

/// The same of keys whose schema `has` something.
fn visit_those<'a>(
    has: &dyn Fn(&Value) -> bool,
    stated: &'a Value,
    path: &str,
    beside: &Keys,
    above: &mut Vec<&'a str>,
    found: &mut Vec<Bounded<'a>>,
) {
    let reference = stated.get("$ref").and_then(Value::as_str);
    if reference.is_some_and(|name| above.contains(&name)) {
        return;
    }
    above.extend(reference);
    let root = schema();
    let schema = resolve(root, stated);
    if has(stated) || has(schema) {
        found.push(Bounded { path: path.to_owned(), stated, beside: beside.clone() });
    }
    // The bounds of a key are narrower than those of its forms.
    let is_plain = |branch: &Value| ["string", "number"].iter().any(|name| resolve(root, branch)["type"] == *name);
    let is_bounded = has_bounds(stated) || has_bounds(schema) || has(stated) || has(schema);
    for branch in alternatives(schema).filter(|branch| !(is_bounded && is_plain(branch))) {
        visit_those(has, branch, path, beside, above, found);
    }
    if let Some(items) = schema.get("items") {
        let around = beside.iter().filter(|(other, _)| other != path).cloned().collect();
        visit_those(has, items, &format!("{path}[0]"), &around, above, found);
    }
    if let Some(properties) = schema["properties"].as_object() {
        let at = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
        // Its own keys say what it is.
        let mut beside: Keys = beside.iter().filter(|(other, _)| other != path).cloned().collect();
        for key in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            beside.push((at(key), sample(&properties[key])));
        }
        for (key, value) in properties {
            for kind in kinds_with(schema, key) {
                let kind = kind.map(|kind| (at("kind"), kind.to_owned()));
                let beside = beside.iter().cloned().chain(kind).collect();
                visit_those(has, value, &at(key), &beside, above, found);
            }
        }
    }
    reference.inspect(|_| _ = above.pop());
}

/// The kinds of a table that have a key, or none if it has no kinds or all have it.
fn kinds_with<'a>(schema: &'a Value, key: &str) -> Vec<Option<&'a str>> {
    let rules: Vec<&Value> = schema["allOf"].as_array().into_iter().flatten().collect();
    let has = |rule: &&&Value| {
        let keys = rule["then"]["propertyNames"]["enum"].as_array();
        keys.is_some_and(|keys| keys.iter().any(|known| known == key))
    };
    let kinds: Vec<_> =
        rules.iter().filter(has).map(|rule| rule["if"]["properties"]["kind"]["const"].as_str()).collect();
    if kinds.is_empty() || kinds.len() == rules.len() { vec![None] } else { kinds }
}

/// Keywords of bounds.
const BOUNDS: [&str; 6] = ["least", "most", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
