//! A file's keys beside the schema of keys: everything that is wrong with them, in one go.
//!
//! The walk knows the part of JSON Schema that [`schemars`] writes for types with serde's attributes: tables, lists, words,
//! numbers and texts with bounds, texts with a `format`, alternatives of which `kind` says which one is meant. What the forms of texts
//! mean ("20ms", "5%", a distribution) is asked of the types themselves ([`Checks`]).

use std::fmt::{self, Display};

use serde_json::{Map, Value};

use super::{Amount, Bounds, nearest};

/// A value of a file, with its place there.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it is, as the reader of the file counts.
    pub place: usize,
    /// What it is.
    pub value: NodeValue,
}

/// What a value of a file is.
#[derive(Clone, Debug, PartialEq)]
pub enum NodeValue {
    /// Keys with their places and values.
    Table(Vec<(String, usize, Node)>),
    /// Values in a row.
    List(Vec<Node>),
    /// Anything else, never a table or a list.
    Plain(Value),
    /// What JSON does not have: its name with an article, "a date".
    Foreign(&'static str),
}

/// The path of a key, such as `network.links[1].queue.kind`; the first of a list is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyPath(Vec<Step>);

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Into a table.
    Key(String),
    /// Into a list.
    Item(usize),
}

impl KeyPath {
    /// The steps of the path, from the outermost table on.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The last step, if that is a key, and the path without it.
    pub fn split_last(&self) -> Option<(String, KeyPath)> {
        match self.0.split_last()? {
            (Step::Key(key), table) => Some((key.clone(), KeyPath(table.to_vec()))),
            (Step::Item(_), _) => None,
        }
    }

    /// The path without items at its end: of an item, the path of the outermost list that ends in it.
    #[must_use]
    pub fn without_items(&self) -> KeyPath {
        let keys = self.0.iter().rposition(|step| matches!(step, Step::Key(_))).map_or(0, |last| last + 1);
        KeyPath(self.0[..keys].to_vec())
    }

    /// One step deeper.
    #[must_use]
    fn then(&self, step: Step) -> KeyPath {
        KeyPath(self.0.iter().cloned().chain([step]).collect())
    }

    fn key(&self, key: &str) -> KeyPath {
        self.then(Step::Key(key.to_owned()))
    }

    /// Reads `network.links[1].queue.kind`; `None` if that is no path.
    pub fn parse(text: &str) -> Option<KeyPath> {
        let mut steps = Vec::new();
        for part in text.split('.') {
            let (key, items) = part.split_at(part.find('[').unwrap_or(part.len()));
            if key.is_empty() {
                return None;
            }
            steps.push(Step::Key(key.to_owned()));
            let mut rest = items;
            while !rest.is_empty() {
                let (item, behind) = rest.strip_prefix('[')?.split_once(']')?;
                steps.push(Step::Item(item.parse().ok()?));
                rest = behind;
            }
        }
        Some(KeyPath(steps))
    }
}

impl Display for KeyPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if number == 0 => write!(f, "{key}")?,
                Step::Key(key) => write!(f, ".{key}")?,
                Step::Item(item) => write!(f, "[{item}]")?,
            }
        }
        Ok(())
    }
}

/// Something wrong with a key.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// The path of the key.
    pub path: KeyPath,
    /// Where it is, or what should hold it.
    pub place: usize,
    /// What is wrong with it.
    pub kind: ProblemKind,
}

/// What can be wrong with a key.
#[derive(Clone, Debug, PartialEq)]
pub enum ProblemKind {
    /// There is no such key.
    UnknownKey {
        /// As it was typed.
        typed: String,
        /// The keys of this table.
        known: Vec<String>,
    },
    /// It is not one of the words that are possible.
    UnknownWord {
        /// As it was typed.
        typed: String,
        /// The words that are possible.
        known: Vec<String>,
    },
    /// A key is needed and not there.
    Missing {
        /// The key that is missing.
        key: String,
    },
    /// It is a key of tables of another kind.
    OtherKind {
        /// The kind of this table.
        kind: String,
        /// The keys that tables of this kind have.
        known: Vec<String>,
    },
    /// It is of another type.
    Type {
        /// What it is.
        found: String,
        /// What is expected.
        expected: String,
    },
    /// It is a text or a table that means nothing.
    Meaningless {
        /// Why.
        problem: String,
        /// As it was typed, if it is a text.
        typed: String,
        /// Names that it can be, among others.
        known: Vec<String>,
    },
    /// It is outside of its bounds.
    Range {
        /// What it is.
        found: String,
        /// What is possible.
        bounds: String,
    },
}

/// In words, with the key.
impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = &self.path;
        let named = |f: &mut fmt::Formatter<'_>| if path.0.is_empty() { Ok(()) } else { write!(f, "{path}: ") };
        match &self.kind {
            ProblemKind::UnknownKey { typed, .. } => write!(f, "unknown key \"{typed}\""),
            ProblemKind::UnknownWord { typed, .. } => write!(f, "{path}: unknown word \"{typed}\""),
            ProblemKind::Missing { key } => {
                named(f)?;
                write!(f, "missing key \"{key}\"")
            }
            ProblemKind::OtherKind { kind, .. } => write!(f, "{path} is not a key of {kind}"),
            ProblemKind::Type { found, expected } => {
                named(f)?;
                write!(f, "expected {expected}, found {found}")
            }
            ProblemKind::Meaningless { problem, .. } => write!(f, "{path}: {problem}"),
            ProblemKind::Range { found, bounds } => write!(f, "{path} of {found} must be {bounds}"),
        }
    }
}

impl ProblemKind {
    /// What was probably meant, if anything is near.
    pub fn meant(&self) -> Option<&str> {
        let (ProblemKind::UnknownKey { typed, known }
        | ProblemKind::UnknownWord { typed, known }
        | ProblemKind::Meaningless { typed, known, .. }) = self
        else {
            return None;
        };
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        nearest(typed, &known)
    }

    /// What is known instead of the unknown.
    pub fn known(&self) -> &[String] {
        match self {
            ProblemKind::UnknownKey { known, .. }
            | ProblemKind::UnknownWord { known, .. }
            | ProblemKind::OtherKind { known, .. } => known,
            _ => &[],
        }
    }
}

/// Whether a value has the form that a `format` names: the amount that it is, if it is one, or the problem. `None` if the format is
/// unknown.
pub type Checks<'a> = &'a dyn Fn(&str, &Value) -> Option<Result<Option<Amount>, String>>;

/// Everything that is wrong with `node` by `schema`.
pub fn walk(node: &Node, schema: &Value, checks: Checks<'_>) -> Vec<Problem> {
    let mut walk = Walk { root: schema, checks, found: Vec::new() };
    walk.value(&KeyPath::default(), node, schema);
    walk.found
}

/// The schema of the key at `path`, if the schema has such a key: of alternatives the first that has it.
pub fn schema_at<'a>(schema: &'a Value, path: &KeyPath) -> Option<&'a Value> {
    fn down<'a>(root: &'a Value, schema: &'a Value, steps: &[Step]) -> Option<&'a Value> {
        let schema = resolve(root, schema);
        let Some((step, rest)) = steps.split_first() else { return Some(schema) };
        let next = match step {
            Step::Key(key) => schema["properties"].get(key),
            Step::Item(item) => schema["prefixItems"].get(item).or_else(|| schema.get("items")),
        };
        if let Some(found) = next.and_then(|next| down(root, next, rest)) {
            return Some(found);
        }
        alternatives(schema).find_map(|branch| down(root, branch, steps))
    }
    down(schema, schema, path.steps())
}

/// The schema that `$ref` leads to, or the schema itself.
pub fn resolve<'a>(root: &'a Value, mut schema: &'a Value) -> &'a Value {
    while let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        match root.pointer(name.trim_start_matches('#')) {
            Some(target) => schema = target,
            None => break,
        }
    }
    schema
}

/// The alternatives of a schema, none if it has none.
pub fn alternatives(schema: &Value) -> impl Iterator<Item = &Value> {
    ["anyOf", "oneOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten()
}

struct Walk<'a> {
    root: &'a Value,
    checks: Checks<'a>,
    found: Vec<Problem>,
}

impl Walk<'_> {
    fn problem(&mut self, path: &KeyPath, place: usize, kind: ProblemKind) {
        self.found.push(Problem { path: path.clone(), place, kind });
    }

    fn value(&mut self, path: &KeyPath, node: &Node, stated: &Value) {
        let schema = resolve(self.root, stated);
        // The bounds of a key are narrower than those of its form.
        let own = || Bounds::of(stated).or_else(|| Bounds::of(schema));
        if let Some(bounds) = refused_number(node, stated).or_else(|| refused_number(node, schema)) {
            let bounds = own().map_or(bounds, |bounds| bounds.in_words());
            return self.problem(path, node.place, ProblemKind::Range { found: shown(node), bounds });
        }
        let before = self.found.len();
        match self.branch(node, schema) {
            Branch::Itself => self.itself(path, node, schema),
            Branch::One(branch) => self.value(path, node, branch),
            Branch::NoKind { tag } => {
                self.problem(path, node.place, ProblemKind::Missing { key: tag.to_owned() });
            }
            Branch::NoWord { tag, place, found } => {
                let expected = "a word in quotes".to_owned();
                self.problem(&path.key(tag), place, ProblemKind::Type { found, expected });
            }
            Branch::Kind { tag, place, typed, known } => {
                self.problem(&path.key(tag), place, ProblemKind::UnknownWord { typed, known });
            }
            Branch::Word { typed, known } => {
                self.problem(path, node.place, ProblemKind::UnknownWord { typed, known });
            }
            Branch::None => self.wrong_type(path, node, schema),
        }
        // What its parts say is more exact than what the whole says.
        if self.found.len() > before {
            return;
        }
        let Some(format) = schema.get("format").and_then(Value::as_str) else { return };
        match (self.checks)(format, &with_whole_numbers(plain(node))) {
            Some(Err(problem)) => {
                let (typed, known) = match &node.value {
                    NodeValue::Plain(Value::String(text)) => (text.clone(), self.names(schema)),
                    _ => Default::default(),
                };
                self.problem(path, node.place, ProblemKind::Meaningless { problem, typed, known });
            }
            Some(Ok(amount)) => {
                // A key has bounds of its own beside the form that it refers to.
                let refused = amount.and_then(|amount| own()?.refuse(amount, &shown(node)));
                if let Some(bounds) = refused {
                    let found = shown(node);
                    self.problem(path, node.place, ProblemKind::Range { found, bounds });
                }
            }
            None => {}
        }
    }

    /// Names among the examples of a text: all that it can be beside numbers.
    fn names(&self, schema: &Value) -> Vec<String> {
        let schema = resolve(self.root, schema);
        let examples = schema["examples"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let names = examples.filter(|text| text.starts_with(|c: char| c.is_ascii_alphabetic())).map(str::to_owned);
        names.chain(alternatives(schema).flat_map(|branch| self.names(branch))).collect()
    }

    /// Which of the alternatives is meant.
    fn branch<'s>(&self, node: &Node, schema: &'s Value) -> Branch<'s>
    where
        Self: 's,
    {
        let branches: Vec<&'s Value> = alternatives(schema).collect();
        if branches.is_empty() {
            return Branch::Itself;
        }
        let root = self.root;
        let fitting: Vec<&'s Value> = branches.iter().copied().filter(|branch| self.fits(node, branch)).collect();
        match (&node.value, &fitting[..]) {
            (_, []) => Branch::None,
            (NodeValue::Table(keys), tables) if tables.iter().any(|table| self.kind_of(table).is_some()) => {
                let tag = tables.iter().find_map(|table| self.kind_of(table)).map_or("kind", |(tag, _)| tag);
                let Some((_, place, kind)) = keys.iter().find(|(key, _, _)| key == tag) else {
                    return Branch::NoKind { tag };
                };
                if !matches!(kind.value, NodeValue::Plain(Value::String(_))) {
                    return Branch::NoWord { tag, place: kind.place, found: in_a_word(kind) };
                }
                let typed = plain(kind);
                let kind_of = |table: &Value| self.kind_of(table).map(|(_, kind)| kind.to_owned());
                let meant = tables.iter().find(|table| kind_of(table).as_deref() == typed.as_str());
                let known = || tables.iter().filter_map(|table| kind_of(table)).collect();
                match meant {
                    Some(branch) => Branch::One(branch),
                    None => {
                        let typed = typed.as_str().map_or_else(|| typed.to_string(), str::to_owned);
                        Branch::Kind { tag, place: (*place).max(kind.place), typed, known: known() }
                    }
                }
            }
            (NodeValue::Plain(Value::String(text)), texts) => {
                let has = |branch: &&&Value| words(resolve(root, branch)).any(|word| word == text);
                match texts.iter().find(has) {
                    Some(branch) => Branch::One(branch),
                    None => match texts.iter().find(|branch| words(resolve(root, branch)).next().is_none()) {
                        Some(branch) if schema.get("format").is_none() => Branch::One(branch),
                        // The check of the whole knows best what it can be.
                        Some(_) => Branch::Itself,
                        None => Branch::Word {
                            typed: text.clone(),
                            known: texts
                                .iter()
                                .flat_map(|branch| words(resolve(root, branch)))
                                .map(str::to_owned)
                                .collect(),
                        },
                    },
                }
            }
            (_, [first, ..]) => Branch::One(first),
        }
    }

    /// The key by which a table says what it is, and the word for this one.
    fn kind_of<'s>(&self, schema: &'s Value) -> Option<(&'static str, &'s str)>
    where
        Self: 's,
    {
        kind_of(resolve(self.root, schema))
    }

    /// Whether the type of a value can be that of the schema.
    fn fits(&self, node: &Node, schema: &Value) -> bool {
        let schema = resolve(self.root, schema);
        if alternatives(schema).next().is_some() {
            return alternatives(schema).any(|branch| self.fits(node, branch));
        }
        if schema.get("const").is_some() || schema.get("enum").is_some() {
            return matches!(node.value, NodeValue::Plain(Value::String(_)));
        }
        let types: Vec<&str> = match schema.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => return true,
        };
        let has = |name: &str| types.contains(&name);
        match &node.value {
            NodeValue::Table(_) => has("object"),
            NodeValue::List(_) => has("array"),
            NodeValue::Plain(Value::String(_)) => has("string"),
            NodeValue::Plain(Value::Bool(_)) => has("boolean"),
            // JSON Schema counts 1.0 among whole numbers.
            NodeValue::Plain(Value::Number(number)) => {
                has("number")
                    || (has("integer")
                        && (!number.is_f64() || number.as_f64().is_some_and(|number| number.fract() == 0.0)))
            }
            NodeValue::Plain(_) | NodeValue::Foreign(_) => false,
        }
    }

    fn wrong_type(&mut self, path: &KeyPath, node: &Node, schema: &Value) {
        let (found, mut expected) = (in_a_word(node), self.expected(schema));
        if let NodeValue::Plain(Value::String(text)) = &node.value {
            let schema = resolve(self.root, schema);
            let of_table = words(resolve(self.root, &schema["properties"]["kind"])).map(|kind| ("kind", kind));
            let kinds: Vec<(&str, &str)> =
                alternatives(schema).filter_map(|branch| self.kind_of(branch)).chain(of_table).collect();
            let known: Vec<&str> = kinds.iter().map(|(_, kind)| *kind).collect();
            if let Some((tag, kind)) = nearest(text, &known).zip(kinds.first()).map(|(kind, (tag, _))| (tag, kind)) {
                expected = format!("a table such as {{ {tag} = \"{kind}\" }}");
            }
        }
        self.problem(path, node.place, ProblemKind::Type { found, expected });
    }

    /// What a value can be, in words.
    fn expected(&self, schema: &Value) -> String {
        let schema = resolve(self.root, schema);
        let branches: Vec<String> = alternatives(schema).map(|branch| self.expected(branch)).collect();
        if !branches.is_empty() {
            let mut said: Vec<String> = Vec::new();
            branches.into_iter().for_each(|branch| {
                if !said.contains(&branch) {
                    said.push(branch)
                }
            });
            return said.join(" or ");
        }
        let words: Vec<String> = words(schema).map(|word| format!("\"{word}\"")).collect();
        if !words.is_empty() {
            return words.join(" or ");
        }
        let name = match schema.get("type") {
            Some(Value::Array(names)) => names.first().and_then(Value::as_str),
            name => name.and_then(Value::as_str),
        };
        match (name, schema["description"].as_str(), schema["examples"][0].as_str()) {
            (Some("string"), Some(meaning), Some(example)) => format!("{meaning} in quotes, such as \"{example}\""),
            (Some("string"), _, _) => "a text in quotes".to_owned(),
            (Some("integer"), _, _) => "a whole number".to_owned(),
            (Some("number"), _, _) => "a number".to_owned(),
            (Some("boolean"), _, _) => "true or false".to_owned(),
            (Some("array"), _, _) => "a list".to_owned(),
            (Some("object"), _, _) => match self.kind_of(schema) {
                Some((tag, _)) => format!("a table such as {{ {tag} = ... }}"),
                None => "a table".to_owned(),
            },
            _ => "something else".to_owned(),
        }
    }

    /// A value that has no alternatives.
    fn itself(&mut self, path: &KeyPath, node: &Node, schema: &Value) {
        if !self.fits(node, schema) {
            return self.wrong_type(path, node, schema);
        }
        match &node.value {
            NodeValue::Table(keys) => self.table(path, node.place, keys, schema),
            NodeValue::List(items) => self.list(path, node, items, schema),
            NodeValue::Plain(Value::String(text)) => {
                let known: Vec<String> = words(schema).map(str::to_owned).collect();
                if !known.is_empty() && !known.contains(text) {
                    self.problem(path, node.place, ProblemKind::UnknownWord { typed: text.clone(), known });
                }
            }
            NodeValue::Plain(Value::Number(_)) => {
                if let Some(bounds) = refused_number(node, schema) {
                    self.problem(path, node.place, ProblemKind::Range { found: shown(node), bounds });
                }
            }
            NodeValue::Plain(_) | NodeValue::Foreign(_) => {}
        }
    }

    fn table(&mut self, path: &KeyPath, place: usize, keys: &[(String, usize, Node)], schema: &Value) {
        let none = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&none);
        let others = schema.get("additionalProperties");
        let of_kind = self.of_kind(keys, schema);
        for (key, key_place, node) in keys {
            match (properties.get(key), others) {
                (Some(_), _) if of_kind.as_ref().is_some_and(|(_, known)| !known.contains(key)) => {
                    let Some((kind, known)) = of_kind.clone() else { continue };
                    let known = known.into_iter().filter(|key| key != "kind").collect();
                    self.problem(&path.key(key), *key_place, ProblemKind::OtherKind { kind, known });
                }
                (Some(schema), _) => self.value(&path.key(key), node, schema),
                (None, Some(schema @ Value::Object(_))) => self.value(&path.key(key), node, schema),
                (None, Some(Value::Bool(false))) => {
                    let known = match &of_kind {
                        Some((_, known)) => known.clone(),
                        None => properties.keys().cloned().collect(),
                    };
                    self.problem(&path.key(key), *key_place, ProblemKind::UnknownKey { typed: key.clone(), known });
                }
                (None, _) => {}
            }
        }
        let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for needed in required {
            if !keys.iter().any(|(key, _, _)| key == needed) {
                self.problem(path, place, ProblemKind::Missing { key: needed.to_owned() });
            }
        }
    }

    /// The kind of a table whose `kind` decides on its keys, and these keys.
    fn of_kind(&self, keys: &[(String, usize, Node)], schema: &Value) -> Option<(String, Vec<String>)> {
        let rules = schema.get("allOf")?.as_array()?;
        let given = keys.iter().find(|(key, _, _)| key == "kind").map(|(_, _, node)| plain(node));
        let kind = given.as_ref().or_else(|| schema["properties"]["kind"].get("default"))?.as_str()?;
        let rule = rules.iter().find(|rule| rule["if"]["properties"]["kind"]["const"].as_str() == Some(kind))?;
        let known = rule["then"]["propertyNames"]["enum"].as_array()?;
        Some((kind.to_owned(), known.iter().filter_map(Value::as_str).map(str::to_owned).collect()))
    }

    fn list(&mut self, path: &KeyPath, node: &Node, items: &[Node], schema: &Value) {
        let first = schema["prefixItems"].as_array().map_or(&[][..], Vec::as_slice);
        let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
        let most = schema["maxItems"].as_u64().map_or(usize::MAX, |most| most as usize);
        if !(least..=most).contains(&items.len()) {
            let found =
                if items.is_empty() { "an empty list".to_owned() } else { format!("a list of {}", items.len()) };
            let expected =
                if least == most { format!("a list of {least}") } else { format!("a list of {least} or more") };
            return self.problem(path, node.place, ProblemKind::Type { found, expected });
        }
        for (number, item) in items.iter().enumerate() {
            if let Some(schema) = first.get(number).or_else(|| schema.get("items").filter(|items| items.is_object())) {
                self.value(&path.then(Step::Item(number)), item, schema);
            }
        }
    }
}

/// Which alternative a value is.
enum Branch<'a> {
    /// There are none, or the whole is checked at once.
    Itself,
    /// One alternative is meant.
    One(&'a Value),
    /// One of several kinds, and it does not say which.
    NoKind { tag: &'static str },
    /// A kind that is no text.
    NoWord { tag: &'static str, place: usize, found: String },
    /// A kind that there is not.
    Kind { tag: &'static str, place: usize, typed: String, known: Vec<String> },
    /// A word that there is not.
    Word { typed: String, known: Vec<String> },
    /// None by its type.
    None,
}

/// The key by which tables of a schema say which of several they are, and the word for this one.
pub fn kind_of(schema: &Value) -> Option<(&'static str, &str)> {
    ["kind", "type"].into_iter().find_map(|tag| Some((tag, schema["properties"][tag].get("const")?.as_str()?)))
}

/// The words that a text can be, none if it can be others.
pub fn words(schema: &Value) -> impl Iterator<Item = &str> {
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    listed.chain(schema.get("const")).filter_map(Value::as_str)
}

/// What a number must be by `schema`, if it is one and outside its bounds.
fn refused_number(node: &Node, schema: &Value) -> Option<String> {
    let NodeValue::Plain(Value::Number(number)) = &node.value else { return None };
    let found = number.as_f64().unwrap_or(f64::NAN);
    let number_of = |key: &str| schema.get(key).and_then(Value::as_f64);
    let inside = number_of("minimum").is_none_or(|least| found >= least)
        && number_of("maximum").is_none_or(|most| found <= most)
        && number_of("exclusiveMinimum").is_none_or(|least| found > least)
        && number_of("exclusiveMaximum").is_none_or(|most| found < most);
    (!inside).then(|| number_bounds(schema)).flatten()
}

/// The bounds of a number in words, if it has any.
pub fn number_bounds(schema: &Value) -> Option<String> {
    // Whole numbers to the last digit.
    let number_of = |key: &str| {
        let bound = schema.get(key)?;
        bound.as_u64().map(|whole| whole.to_string()).or_else(|| bound.as_f64().map(|number| number.to_string()))
    };
    let above = number_of("exclusiveMinimum").map(|least| format!("above {least}"));
    let below = number_of("exclusiveMaximum").map(|most| format!("below {most}"));
    match (number_of("minimum"), number_of("maximum")) {
        (Some(least), Some(most)) => Some(format!("between {least} and {most}")),
        (Some(least), None) if below.is_none() => Some(format!("{least} or more")),
        (least, most) => {
            let least = above.or(least.map(|least| format!("at least {least}")));
            let most = below.or(most.map(|most| format!("at most {most}")));
            let stated: Vec<String> = least.into_iter().chain(most).collect();
            (!stated.is_empty()).then(|| stated.join(" and "))
        }
    }
}

/// A value without its places.
pub fn plain(node: &Node) -> Value {
    match &node.value {
        NodeValue::Table(keys) => keys.iter().map(|(key, _, node)| (key.clone(), plain(node))).collect(),
        NodeValue::List(items) => items.iter().map(plain).collect(),
        NodeValue::Plain(value) => value.clone(),
        NodeValue::Foreign(_) => Value::Null,
    }
}

/// `number` as a whole number, if it is one of 64 bits.
pub fn as_whole(number: f64) -> Option<i64> {
    const BEYOND: f64 = (1_u64 << 63) as f64;
    (number.fract() == 0.0 && number.abs() < BEYOND).then_some(number as i64)
}

/// The same with `1.0` as `1`: JSON Schema counts it among whole numbers, and what reads a number takes either.
fn with_whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) if number.is_f64() => {
            number.as_f64().and_then(as_whole).map_or(Value::Number(number), Value::from)
        }
        Value::Array(items) => items.into_iter().map(with_whole_numbers).collect(),
        Value::Object(keys) => keys.into_iter().map(|(key, value)| (key, with_whole_numbers(value))).collect(),
        other => other,
    }
}

/// A text or number as it was written, without quotes.
fn shown(node: &Node) -> String {
    match &node.value {
        NodeValue::Plain(Value::String(text)) => text.clone(),
        _ => plain(node).to_string(),
    }
}

/// A value in a word: `the number 0.01`.
fn in_a_word(node: &Node) -> String {
    match &node.value {
        NodeValue::Table(_) => "a table".to_owned(),
        NodeValue::List(_) => "a list".to_owned(),
        NodeValue::Plain(Value::String(text)) => format!("\"{text}\""),
        NodeValue::Plain(Value::Number(number)) => format!("the number {number}"),
        NodeValue::Plain(value) => value.to_string(),
        NodeValue::Foreign(what) => (*what).to_owned(),
    }
}
