//! The keys that experiments have, in the language of scripts: `red(min = 50)` is `{ kind = "red", min = "50p" }`.
//!
//! A function is a table whose `kind` is the function's name; `table(...)` is one without a kind. Values become what experiment files have
//! in their place, as the schema of the keys says; then the walk that checks experiment files checks them.

use std::sync::LazyLock;

use flowloom_core::keys::KeyError;
use flowloom_core::keys::walk::{KeyPath, Node, NodeValue, Problem, Step, alternatives, plain, resolve, walk, words};
use flowloom_core::tcp::keys::TcpKeys;
use flowloom_sim::keys::Network;
use flowloom_sim::keys::schema::{CHECKS, schema};
use serde::de::DeserializeOwned;
use serde_json::{Number, Value as Json};

use super::super::diagnostic::Diagnostic;
use super::super::place::Place;
use super::super::quantity::Quantity;
use super::super::tree::{Argument, Form, Function, Value};
use super::names::{as_function, same_name};

/// The schema of `[network]`.
pub static NETWORK: LazyLock<Json> = LazyLock::new(schema::<Network>);
/// The schema of `[tcp]`.
pub static TCP: LazyLock<Json> = LazyLock::new(schema::<TcpKeys>);

/// The schema of what no schema knows.
static NULL: Json = Json::Null;

/// The function that is a table without a kind.
const TABLE: &str = "table";

/// Names that keys have here which are no identifiers in the language.
const SPELT: [(&str, &str); 2] = [("bad-loss", "1-h"), ("good-loss", "1-k")];

/// Disciplines that hold a length; the target of all others is a delay.
const HOLD_LENGTHS: [&str; 2] = ["pi", "rem"];

/// A key with its place and value.
pub type Entry = (String, usize, Node);

/// Reads keys of a schema, and remembers where they stand.
pub struct Keys {
    schema: &'static Json,
    places: Vec<Place>,
    /// Paths with the names that they have in the script where these differ: `bottleneck.rate` is `rate`.
    shorthands: Vec<(String, &'static str)>,
    /// What is wrong beside what the schema says.
    found: Vec<Diagnostic>,
}

impl Keys {
    /// Of the schema of a table that stands at `place`.
    pub fn of(schema: &'static Json, place: Place) -> Keys {
        Keys { schema, places: vec![place], shorthands: Vec::new(), found: Vec::new() }
    }

    /// The key of the outermost table that `name` means.
    pub fn key(&self, name: &str) -> Option<&'static str> {
        key_of(self.schema, name)
    }

    /// All keys of the outermost table.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.schema["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str())
    }

    /// The number of a place, as nodes have it.
    pub fn number(&mut self, place: Place) -> usize {
        self.places.push(place);
        self.places.len() - 1
    }

    fn place(&self, number: usize) -> Place {
        self.places.get(number).copied().unwrap_or_default()
    }

    /// The keys that were given of the outermost table.
    pub fn entries(&mut self, given: &[(&'static str, &Argument)]) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for (key, argument) in given {
            if entries.iter().any(|(other, _, _)| other == key) {
                self.found.push(Diagnostic::error(argument.place, format!("{} is given twice", argument.name)));
            } else {
                let entry = self.entry(&[*key], argument);
                entries.push(entry);
            }
        }
        entries
    }

    /// The value of the key at `path` of the outermost table.
    fn entry(&mut self, path: &[&str], argument: &Argument) -> Entry {
        let mut schema = self.schema;
        for key in path {
            schema = &resolve(self.schema, schema)["properties"][*key];
        }
        let place = self.number(argument.place);
        let key = path.last().copied().unwrap_or_default();
        let node = self.node(&argument.value, schema, "");
        (key.to_owned(), place, node)
    }

    /// Adds the key at `path`, which has a name of its own in the script, to the table of its first part.
    pub fn add(
        &mut self,
        entries: &mut Vec<Entry>,
        [table, key]: [&'static str; 2],
        name: &'static str,
        given: &Argument,
    ) {
        self.shorthands.push((format!("{table}.{key}"), name));
        let entry = self.entry(&[table, key], given);
        let Some((_, _, node)) = entries.iter_mut().find(|(key, _, _)| key == table) else {
            let place = entry.1;
            let value = NodeValue::Table(vec![entry]);
            entries.push((table.to_owned(), place, Node { place, value }));
            return;
        };
        match &mut node.value {
            NodeValue::Table(inner) if inner.iter().any(|(other, _, _)| other == key) => {
                let error = Diagnostic::error(given.place, format!("{name} is given twice"));
                self.found.push(error.hint(format!("{table} has {key} already")));
            }
            NodeValue::Table(inner) => inner.push(entry),
            // What it is instead the walk says.
            _ => {}
        }
    }

    /// Everything that is wrong with the outermost table.
    pub fn wrong(&mut self, entries: &[Entry]) -> Vec<Diagnostic> {
        let root = Node { place: 0, value: NodeValue::Table(entries.to_vec()) };
        let mut found = std::mem::take(&mut self.found);
        found.extend(walk(&root, self.schema, CHECKS).iter().map(|problem| self.problem(problem)));
        found
    }

    /// What the keys are, once nothing is wrong with them.
    ///
    /// # Errors
    /// What the schema did not say.
    pub fn read<T: DeserializeOwned>(&self, entries: &[Entry]) -> Result<T, String> {
        let root = Node { place: 0, value: NodeValue::Table(entries.to_vec()) };
        serde_json::from_value(plain(&root)).map_err(|error| self.named(error.to_string()))
    }

    /// Whether the key at a path was given.
    pub fn is_given(&self, entries: &[Entry], path: &str) -> bool {
        fn down(value: &NodeValue, path: &[Step]) -> bool {
            match (value, path) {
                (_, []) => true,
                (NodeValue::Table(keys), [Step::Key(key), rest @ ..]) => {
                    keys.iter().any(|(name, _, node)| name == key && down(&node.value, rest))
                }
                (NodeValue::List(items), [Step::Item(item), rest @ ..]) => {
                    items.get(*item).is_some_and(|node| down(&node.value, rest))
                }
                _ => false,
            }
        }
        KeyPath::parse(path).is_some_and(|path| down(&NodeValue::Table(entries.to_vec()), path.steps()))
    }

    fn problem(&self, problem: &Problem) -> Diagnostic {
        let error = Diagnostic::error(self.place(problem.place), self.named(problem.to_string()));
        let known: Vec<&str> = problem.kind.known().iter().map(|key| spelt(key)).collect();
        let meant = problem.kind.meant().map(|meant| format!("did you mean \"{}\"?", spelt(meant)));
        let error = if known.is_empty() { error } else { error.also(format!("known: {}", known.join(", "))) };
        error.hint_if(meant)
    }

    /// A value that is well formed and cannot be; its key is a path in `entries`, behind `table`.
    pub fn impossible(&self, entries: &[Entry], table: &str, error: &KeyError, otherwise: Place) -> Diagnostic {
        let prefix = format!("{table}.");
        let path = KeyPath::parse(error.key.strip_prefix(&prefix).unwrap_or(&error.key));
        let place = path.and_then(|path| self.locate(entries, path.steps())).unwrap_or(otherwise);
        let message = error.to_string();
        Diagnostic::error(place, self.named(message.strip_prefix(&prefix).unwrap_or(&message).to_owned()))
    }

    /// Where the key at a path stands, or the last part of the path that is there.
    pub fn locate(&self, entries: &[Entry], path: &[Step]) -> Option<Place> {
        let [Step::Key(first), rest @ ..] = path else { return None };
        let (_, place, node) = entries.iter().find(|(key, _, _)| key == first)?;
        let (mut node, mut rest) = (node, rest);
        let mut place = *place;
        while let [Step::Item(item), behind @ ..] = rest {
            let NodeValue::List(items) = &node.value else { break };
            let Some(item) = items.get(*item) else { break };
            (node, rest, place) = (item, behind, item.place);
        }
        let inner = match &node.value {
            NodeValue::Table(inner) => self.locate(inner, rest),
            _ => None,
        };
        inner.or(Some(self.place(place)))
    }

    /// A message that begins with a path, with the name that it has in the script.
    pub fn named(&self, message: String) -> String {
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '-');
        let short = self.shorthands.iter().find_map(|(path, name)| {
            let rest = message.strip_prefix(path.as_str()).filter(|rest| ends(rest))?;
            Some(format!("{name}{rest}"))
        });
        short.unwrap_or(message)
    }

    /// A value as an experiment file has it where `schema` is; `kind` is that of the table it is in.
    fn node(&mut self, value: &Value, schema: &'static Json, kind: &str) -> Node {
        let place = self.number(value.place());
        let forms = forms(self.schema, schema);
        let value = match value {
            Value::List(list) => {
                // Pairs have a schema for each place, other lists one for all.
                let of_item = |number: usize| {
                    let of = |form: &&'static Json| form["prefixItems"].get(number).or_else(|| form.get("items"));
                    forms.iter().find_map(of).unwrap_or(&NULL)
                };
                let items = list.items.iter().enumerate();
                NodeValue::List(items.map(|(number, item)| self.node(item, of_item(number), kind)).collect())
            }
            Value::Function(function) => self.table(function, &forms),
            Value::Text(text) => NodeValue::Plain(text.text.as_str().into()),
            Value::Word(word) if word.form == Form::Quantity => {
                let quantity = word.text.parse::<Quantity>().ok();
                let number = quantity.and_then(|quantity| forms.iter().find_map(|form| number(quantity, form, kind)));
                NodeValue::Plain(number.unwrap_or_else(|| word.text.as_str().into()))
            }
            Value::Word(word) => match known_word(&word.text, &forms) {
                Some(known) => NodeValue::Plain(known),
                None => match as_function(value).filter(|function| self.is_table(&function.name, &forms)) {
                    Some(function) => self.table(&function, &forms),
                    None => NodeValue::Plain(word.text.as_str().into()),
                },
            },
        };
        Node { place, value }
    }

    /// Whether a name alone is the kind of a table: where there are such, or where nothing but a table is possible.
    fn is_table(&self, name: &str, forms: &[&'static Json]) -> bool {
        let mut forms = forms.iter().copied();
        forms.clone().any(|form| self.kinds(form).any(|kind| same_name(kind, name)))
            || forms.all(|form| self.kinds(form).next().is_some())
    }

    /// The kinds that a table can be of.
    fn kinds(&self, table: &'static Json) -> impl Iterator<Item = &'static str> + use<> {
        let kind = &table["properties"]["kind"];
        let of_kind = if kind.is_null() { Vec::new() } else { forms(self.schema, kind) };
        of_kind.into_iter().flat_map(words)
    }

    fn table(&mut self, function: &Function, forms: &[&'static Json]) -> NodeValue {
        let tables: Vec<&'static Json> =
            forms.iter().copied().filter(|form| form.get("properties").is_some()).collect();
        let mut entries: Vec<Entry> = Vec::new();
        let mut kind = "";
        let mut schema = tables.first().copied();
        let of_name = |name: &str| {
            let kind = |table: &'static Json| self.kinds(table).find(|kind| same_name(kind, name));
            tables.iter().find_map(|table| Some((*table, kind(table)?)))
        };
        let has_kinds = tables.iter().any(|table| self.kinds(table).next().is_some());
        let is_table = same_name(&function.name, TABLE);
        let named = match is_table {
            true => function.arguments.iter().find_map(|argument| match &argument.value {
                Value::Word(word) if argument.name == "kind" => of_name(&word.text),
                _ => None,
            }),
            false => of_name(&function.name),
        };
        if let Some((table, name)) = named {
            (schema, kind) = (Some(table), name);
        }
        if !is_table {
            if !has_kinds && !tables.is_empty() {
                let error = Diagnostic::error(function.place, format!("there is no {} here", function.name));
                self.found.push(error.hint(format!("a table without a kind is {TABLE}(name = value, ...)")));
            }
            if has_kinds {
                let place = self.number(function.place);
                let name = if kind.is_empty() { function.name.as_str() } else { kind };
                let node = Node { place, value: NodeValue::Plain(name.into()) };
                entries.push(("kind".to_owned(), place, node));
            }
        }
        for argument in &function.arguments {
            let key = schema.and_then(|schema| key_of(schema, &argument.name));
            let place = self.number(argument.place);
            let name = key.map_or_else(|| argument.name.clone(), str::to_owned);
            if entries.iter().any(|(other, _, _)| *other == name) {
                self.found.push(Diagnostic::error(argument.place, format!("{} is given twice", argument.name)));
                continue;
            }
            let of_value = schema.zip(key).map_or(&NULL, |(schema, key)| &schema["properties"][key]);
            let node = self.node(&argument.value, of_value, kind);
            entries.push((name, place, node));
        }
        NodeValue::Table(entries)
    }
}

/// What a value can be, without alternatives.
fn forms(root: &'static Json, schema: &'static Json) -> Vec<&'static Json> {
    let schema = resolve(root, schema);
    let forms: Vec<&'static Json> = alternatives(schema).flat_map(|form| forms(root, form)).collect();
    if forms.is_empty() { vec![schema] } else { forms }
}

/// The key of a table that a name means.
fn key_of(table: &'static Json, name: &str) -> Option<&'static str> {
    let spelt = SPELT.iter().find(|(here, _)| same_name(here, name)).map(|(_, key)| *key);
    let keys = table["properties"].as_object()?;
    keys.keys().map(String::as_str).find(|key| spelt == Some(*key) || same_name(key, name))
}

/// A key as it is spelt here.
pub fn spelt(key: &str) -> &str {
    SPELT.iter().find(|(_, spelt)| *spelt == key).map_or(key, |(here, _)| *here)
}

/// A word that the forms know: one of theirs, or a switch.
fn known_word(text: &str, forms: &[&'static Json]) -> Option<Json> {
    if let Some(word) = forms.iter().flat_map(|form| words(form)).find(|word| same_name(word, text)) {
        return Some(word.into());
    }
    if !forms.iter().any(|form| form["type"] == "boolean") {
        return None;
    }
    match text.to_ascii_lowercase().as_str() {
        "true" | "on" | "yes" => Some(true.into()),
        "false" | "off" | "no" => Some(false.into()),
        _ => None,
    }
}

/// A bare number as a form has it: packets, microseconds, bytes, bit/s, a share of one.
fn number(quantity: Quantity, form: &Json, kind: &str) -> Option<Json> {
    let decimal = quantity.decimal();
    let whole = |number: f64| (number >= 0.0 && number.fract() == 0.0 && number < 9e15).then_some(number as u64);
    let packets = || whole(decimal).map(|packets| format!("{packets}p"));
    // A hundred years.
    let time = || (0.0..=3.2e15).contains(&decimal).then(|| format!("{}ns", (decimal * 1e3).round() as u64));
    let bytes = || quantity.bytes().map(|bytes| format!("{bytes}b"));
    let text = match form["type"].as_str()? {
        "integer" => {
            return Some(match whole(quantity.binary()) {
                Some(number) => number.into(),
                None => Json::Number(Number::from_f64(quantity.binary())?),
            });
        }
        "number" => return Number::from_f64(decimal).map(Json::Number),
        "boolean" => return [0.0, 1.0].contains(&decimal).then(|| (decimal == 1.0).into()),
        "string" => match form["format"].as_str() {
            Some("limit") => packets(),
            Some("target") if HOLD_LENGTHS.contains(&kind) => packets(),
            Some("time" | "time-above-zero" | "span" | "time-or-off" | "target") => time(),
            Some("rate" | "link-rate") => whole(decimal.round()).map(|bits| format!("{bits}bit")),
            Some("size" | "size-or-off" | "burst") => bytes(),
            Some("share") => percent(decimal).map(|percent| format!("{percent}%")),
            Some("gain") => Some(decimal.to_string()),
            _ => None,
        },
        _ => None,
    };
    text.map(Json::from)
}

/// A share in percent, of which the point is moved and nothing is computed: of 0.07 it is 7, and not 7.000000000000001.
fn percent(share: f64) -> Option<f64> {
    let text = format!("{share:e}");
    let (digits, exponent) = text.split_once('e')?;
    format!("{digits}e{}", exponent.parse::<i32>().ok()? + 2).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_in_percent() {
        for (share, wanted) in [(0.07, 7.0), (0.01, 1.0), (1.0, 100.0), (0.0, 0.0), (0.002, 0.2), (1e-5, 1e-3)] {
            assert_eq!(percent(share), Some(wanted));
        }
    }

    #[test]
    fn names_that_differ_are_keys() {
        let has = |schema: &Json, key: &str| schema.to_string().contains(&format!("\"{key}\""));
        for (here, key) in SPELT {
            assert!(has(&NETWORK, key) && !has(&NETWORK, here), "{here}");
        }
    }
}
