//! TOML as a tree.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};

use super::super::diagnostic::{Diagnostic, did_you_mean};
use super::super::parser::{MOST_BYTES, MOST_CALLS, MOST_DEPTH, MOST_ERRORS, MOST_ITEMS};
use super::super::place::{Files, Place};
use super::super::tree::{
    Argument, Around, Block, Body, Child, Form, Function, Include, Keyword, Let, List, Parameter, Text, Value, Word,
};
use super::super::word;
use super::write::STRING;

/// Reads a script, or a file that one includes.
///
/// The tree is what could be read; it is whole if no diagnostic is an error.
pub fn read(files: &Files, file: u32) -> (Body, Vec<Diagnostic>) {
    let mut reader = Reader { files, file, found: Vec::new(), items: 0 };
    let text = &files.get(file).text;
    if text.len() > MOST_BYTES {
        let mib = MOST_BYTES >> 20;
        reader.say(&(0..0), format!("the file is longer than {mib} MiB, the most that is read"), None);
        return (Body::default(), reader.found);
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    for error in errors.into_iter().take(MOST_ERRORS) {
        let message = error.message().lines().collect::<Vec<_>>().join(", ");
        reader.say(&error.span().unwrap_or(0..0), message, None);
    }
    if !reader.found.is_empty() {
        return (Body::default(), reader.found);
    }
    let table = table.get_ref();
    let body = match table.contains_key("block") {
        true => {
            let block = reader.block(table, &(0..0), 0);
            Body { children: block.map(Child::Block).into_iter().collect(), ..Body::default() }
        }
        false => reader.body(table, &["let", "parameters", "children"], 0, None),
    };
    (body, reader.found)
}

type Key<'a> = Spanned<DeString<'a>>;
type Item<'a> = Spanned<DeValue<'a>>;

/// Keys of a block.
const BLOCK_KEYS: [&str; 5] = ["block", "address", "let", "parameters", "children"];

struct Reader<'a> {
    files: &'a Files,
    file: u32,
    found: Vec<Diagnostic>,
    items: usize,
}

/// The entries of a table in the order in which they are written.
fn ordered<'t, 'a>(table: &'t DeTable<'a>) -> Vec<(&'t Key<'a>, &'t Item<'a>)> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

impl Reader<'_> {
    fn place(&self, span: &Range<usize>) -> Place {
        self.files.place(self.file, span.start, span.end)
    }

    fn say(&mut self, span: &Range<usize>, message: impl Into<String>, hint: Option<String>) {
        let place = self.place(span);
        self.report(Diagnostic::error(place, message).hint_if(hint));
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        if self.found.len() < MOST_ERRORS {
            self.found.push(diagnostic);
        } else if self.found.len() == MOST_ERRORS {
            let place = diagnostic.place;
            self.found.push(Diagnostic::error(place, "so many errors that the rest is not told"));
        }
    }

    /// Counts blocks, parameters and arguments; nothing of those that are too many.
    fn count(&mut self, span: &Range<usize>) -> Option<()> {
        self.items += 1;
        if self.items == MOST_ITEMS + 1 {
            self.say(span, format!("more than {MOST_ITEMS} blocks, parameters and arguments"), None);
        }
        (self.items <= MOST_ITEMS).then_some(())
    }

    fn body(&mut self, table: &DeTable<'_>, known: &[&str], depth: usize, leaf: Option<&str>) -> Body {
        let mut body = Body::default();
        for (key, item) in ordered(table) {
            match (key.get_ref().as_ref(), item.get_ref()) {
                ("let", DeValue::Table(lets)) => self.lets(lets, &mut body),
                ("parameters", DeValue::Table(parameters)) => self.parameters(parameters, &mut body),
                ("children", DeValue::Array(children)) => {
                    body.children = children.iter().filter_map(|child| self.child(child, depth, leaf)).collect();
                }
                (name @ ("let" | "parameters"), _) => {
                    self.say(&item.span(), format!("{name} is a table"), Some(format!("write [{name}]")));
                }
                ("children", _) => {
                    self.say(&item.span(), "children are an array of tables", Some("write [[children]]".to_owned()));
                }
                (name, _) if known.contains(&name) => {}
                (name, _) => {
                    let hint = did_you_mean(name, known).unwrap_or_else(|| format!("known: {}", known.join(", ")));
                    self.say(&key.span(), format!("the key {name:?} is not known"), Some(hint));
                }
            }
        }
        body
    }

    fn child(&mut self, item: &Item<'_>, depth: usize, leaf: Option<&str>) -> Option<Child> {
        let DeValue::Table(table) = item.get_ref() else {
            self.say(&item.span(), "a child is a table", Some("write [[children]]".to_owned()));
            return None;
        };
        if let Some((key, included)) = table.get_key_value("include") {
            self.count(&key.span())?;
            for (other, _) in ordered(table).into_iter().filter(|(key, _)| key.get_ref() != "include") {
                self.say(&other.span(), "a child with include has no other keys", None);
            }
            let DeValue::String(file) = included.get_ref() else {
                self.say(&included.span(), "include takes the name of a file", None);
                return None;
            };
            let Text { text: file, place } = self.text(file, included)?;
            return Some(Child::Include(Include { file, place, around: Around::default() }));
        }
        let block = self.block(table, &item.span(), depth)?;
        if let Some(leaf) = leaf {
            let error = Diagnostic::error(block.place, format!("{leaf} is a kind of leaf, and leaves hold no blocks"));
            self.report(error.hint_if(did_you_mean(leaf, &Keyword::ALL.map(Keyword::word))));
            return None;
        }
        Some(Child::Block(block))
    }

    fn block(&mut self, table: &DeTable<'_>, span: &Range<usize>, depth: usize) -> Option<Block> {
        let Some(item) = table.get("block") else {
            self.say(
                span,
                "a child has neither block nor include",
                Some("block = \"cluster\" says what it is".to_owned()),
            );
            // What is in it may be wrong too.
            if depth < MOST_DEPTH {
                self.body(table, &BLOCK_KEYS, depth + 1, None);
            }
            return None;
        };
        self.count(&item.span())?;
        let place = self.place(&item.span());
        let keyword = match item.get_ref() {
            DeValue::String(keyword) if word::is_identifier(keyword) => keyword.to_string(),
            _ => {
                self.say(&item.span(), "block takes the name of a kind of block", None);
                return None;
            }
        };
        if depth == MOST_DEPTH {
            self.say(&item.span(), format!("more than {MOST_DEPTH} blocks within each other"), None);
            return None;
        }
        let address = table.get("address").and_then(|item| self.address(item));
        let leaf = Keyword::of(&keyword).is_none().then_some(keyword.as_str());
        let body = self.body(table, &BLOCK_KEYS, depth + 1, leaf);
        Some(Block { place, address, body, open: Vec::new(), around: Around::default(), keyword })
    }

    fn address(&mut self, item: &Item<'_>) -> Option<Word> {
        match self.value(item, 0)? {
            Value::Word(word) if word.form != Form::Quantity => Some(word),
            _ => {
                self.say(&item.span(), "that is no address of a host", None);
                None
            }
        }
    }

    fn lets(&mut self, table: &DeTable<'_>, body: &mut Body) {
        for (key, item) in ordered(table) {
            let (name, place) = (key.get_ref().to_string(), self.place(&key.span()));
            let is_named = word::is_variable(&name);
            if !is_named {
                self.say(&key.span(), format!("{name:?} cannot name a variable"), None);
            }
            let value = self.count(&key.span()).and_then(|()| self.value(item, 0)).filter(|_| is_named);
            match value {
                Some(value) => body.lets.push(Let { name, place, value, around: Around::default() }),
                None => body.lost.get_or_insert_default().push(name),
            }
        }
    }

    fn parameters(&mut self, table: &DeTable<'_>, body: &mut Body) {
        for (key, item) in ordered(table) {
            let (name, value) = (self.name(key, "a parameter"), self.value(item, 0));
            match name.zip(value) {
                Some(((name, place), value)) => {
                    body.parameters.push(Parameter { name, place, value, around: Around::default() });
                }
                None => drop(body.lost.get_or_insert_default()),
            }
        }
    }

    /// A name that is counted.
    fn name(&mut self, key: &Key<'_>, what: &str) -> Option<(String, Place)> {
        self.count(&key.span())?;
        let name = key.get_ref();
        if word::is_identifier(name) {
            return Some((name.to_string(), self.place(&key.span())));
        }
        self.say(&key.span(), format!("{name:?} cannot name {what}"), None);
        None
    }

    fn value(&mut self, item: &Item<'_>, calls: usize) -> Option<Value> {
        let place = self.place(&item.span());
        let text = match item.get_ref() {
            DeValue::String(text) if word::is_word(text) => text.to_string(),
            DeValue::String(text) => return Some(Value::Text(self.text(text, item)?)),
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().to_owned(),
            DeValue::Float(number) => number.as_str().to_owned(),
            DeValue::Boolean(value) => value.to_string(),
            DeValue::Table(table) => return self.function(table, item, calls),
            DeValue::Array(items) => return self.list(&items[..], place, calls),
            other => {
                let what = format!("a value is no {} of TOML", other.type_str());
                self.say(
                    &item.span(),
                    what,
                    Some("it is a number, a string, a list or { name = { argument = value } }".to_owned()),
                );
                return None;
            }
        };
        match word::form(&text) {
            Ok(form) => Some(Value::Word(Word { text, form, place })),
            Err(error) => {
                self.report(Diagnostic::error(place, error.problem).hint_if(error.hint));
                None
            }
        }
    }

    fn list(&mut self, items: &[Item<'_>], place: Place, calls: usize) -> Option<Value> {
        if calls == MOST_CALLS {
            self.report(Diagnostic::error(place, format!("more than {MOST_CALLS} functions within each other")));
            return None;
        }
        let items = items.iter().map(|item| {
            self.count(&item.span())?;
            self.value(item, calls + 1)
        });
        let items: Vec<Option<Value>> = items.collect();
        Some(Value::List(List { items: items.into_iter().collect::<Option<_>>()?, place }))
    }

    fn text(&mut self, text: &str, item: &Item<'_>) -> Option<Text> {
        match text.chars().find(|c| c.is_control() && !"\n\r\t".contains(*c)) {
            None => Some(Text { text: text.to_owned(), place: self.place(&item.span()) }),
            Some(c) => {
                let problem = format!("a text cannot hold the character \"{}\"", c.escape_debug());
                self.say(&item.span(), problem, None);
                None
            }
        }
    }

    /// `{ name = { argument = value } }`, or `{ string = "text" }`.
    fn function(&mut self, table: &DeTable<'_>, item: &Item<'_>, calls: usize) -> Option<Value> {
        let entries = ordered(table);
        let (key, arguments) = match entries.as_slice() {
            [(key, inner)] => match inner.get_ref() {
                DeValue::Table(arguments) => (*key, arguments),
                DeValue::String(text) if key.get_ref() == STRING => return self.text(text, inner).map(Value::Text),
                _ => return self.no_function(item),
            },
            _ => return self.no_function(item),
        };
        if calls == MOST_CALLS {
            self.say(&key.span(), format!("more than {MOST_CALLS} functions within each other"), None);
            return None;
        }
        let (name, place) = self.name(key, "a function")?;
        let arguments = ordered(arguments).into_iter().map(|(key, item)| {
            let (name, value) = (self.name(key, "an argument"), self.value(item, calls + 1));
            let ((name, place), value) = name.zip(value)?;
            Some(Argument { name, place, value })
        });
        let arguments: Vec<Option<Argument>> = arguments.collect();
        let arguments = arguments.into_iter().collect::<Option<_>>()?;
        Some(Value::Function(Function { name, place, arguments }))
    }

    fn no_function(&mut self, item: &Item<'_>) -> Option<Value> {
        let hint = "a function is { name = { argument = value } }, a text in quotes { string = \"text\" }";
        self.say(&item.span(), "this table is no value", Some(hint.to_owned()));
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::write;
    use super::*;

    fn read(text: &str) -> (Body, Vec<String>) {
        let mut files = Files::new();
        let file = files.add("a.toml", text, None);
        let (body, found) = super::read(&files, file);
        let told = found.iter().map(|one| {
            let hint = one.hint.as_ref().map_or(String::new(), |hint| format!(" | {hint}"));
            format!("{}:{}: {}{hint}", one.place.line, one.place.column, one.message)
        });
        (body, told.collect())
    }

    #[test]
    fn toml_says_the_same_as_a_script() {
        let toml = "block = \"cluster\"\n\n[let]\nport = 42005\n\n[parameters]\nx = true\n\n[[children]]\nblock = \"test\"\naddress = \
            \"a:42005\"\n\n[children.parameters]\ntype = { full = { blocksize = 32768, duration = 1.50 } }\nprotocol = { tcp = { \
            window = \"128K\" } }\nown = \"a:$port\"\nold = { f = {} }\nq = { string = \"udp\" }\nr = \"two words\"\nl = [\"a\", { f = { x = [] } }]\nz = \"007\"\n\n[[children]]\ninclude \
            = \"more.ns\"\n";
        let script = "cluster {\n  @let port = 42005;\n  x = true;\n  test a:42005 {\n    type = full(blocksize = 32768, duration = \
            1.50);\n    protocol = tcp(window = 128K);\n    own = a:$port;\n    old = f();\n    q = \"udp\";\n    r = \"two words\";\n    l = [a, f(x = [])];\n    z = 007;\n  }\n  \
            @include \"more.ns\";\n}\n";
        let (body, found) = read(toml);
        assert_eq!(found, [""; 0]);
        assert_eq!(super::super::super::format::format(&body), script);
        assert_eq!(write(&body), toml);
        let (fragment, found) = read("[let]\na = 1\n\n[[children]]\nblock = \"serial\"\n");
        assert_eq!((fragment.lets.len(), fragment.children.len(), found.len()), (1, 1, 0));
    }

    #[test]
    fn a_child_without_a_block_hides_no_other_error() {
        let text = "block = \"serial\"\n[[children]]\nblok = \"test\"\n[children.parameters]\na = \"1KK\"\nb = [\"2KK\", \"3KK\"]\n\
                    [[children]]\ninclude = \"x\"\nlet = {}\naddress = 5\n";
        let (body, found) = read(text);
        let mut places: Vec<&str> = found.iter().map(|one| one.split(": ").next().unwrap_or_default()).collect();
        places.sort_unstable();
        assert_eq!(places, ["10:1", "2:1", "3:1", "5:5", "6:13", "6:6", "9:1"], "{found:?}");
        assert_eq!(body.children.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let test = |line: &str| format!("block = \"test\"\n[parameters]\n{line}\n");
        for (text, wanted) in [
            (test("own = \"a:70000\""), "3:7: a:70000: a port is a number from 0 to 65535, not \"70000\""),
            (
                test("x = 0x10"),
                "3:5: a value is no integer of TOML | it is a number, a string, a list or { name = { argument = value } }",
            ),
            (
                test("x = [1, 1979-05-27]"),
                "3:9: a value is no datetime of TOML | it is a number, a string, a list or { name = { argument = value } }",
            ),
            (
                test("x = { a = 1 }"),
                "3:5: this table is no value | a function is { name = { argument = value } }, a text in quotes { string = \"text\" }",
            ),
            (test("\"a b\" = 1"), "3:1: \"a b\" cannot name a parameter"),
            (test("x = "), "3:5: string values must be quoted, expected literal string"),
            (
                "block = \"test\"\nadress = \"a\"".to_owned(),
                "2:1: the key \"adress\" is not known | did you mean \"address\"?",
            ),
            ("block = \"test\"\naddress = 5".to_owned(), "2:11: that is no address of a host"),
            ("block = 5".to_owned(), "1:9: block takes the name of a kind of block"),
            (
                "block = \"a\"\n[[children]]\n".to_owned(),
                "2:1: a child has neither block nor include | block = \"cluster\" says what it is",
            ),
            ("block = \"test\"\nchildren = 1".to_owned(), "2:12: children are an array of tables | write [[children]]"),
            (
                "block = \"clustr\"\n[[children]]\nblock = \"test\"".to_owned(),
                "3:9: clustr is a kind of leaf, and leaves hold no blocks | did you mean \"cluster\"?",
            ),
            ("[[children]]\ninclude = 1".to_owned(), "2:11: include takes the name of a file"),
        ] {
            assert_eq!(read(&text).1.first().map(String::as_str), Some(wanted), "{text}");
        }
    }

    #[test]
    fn depth_has_bounds() {
        let nested = |depth: usize| {
            let block = |at: usize| match at {
                0 => "block = \"serial\"\n".to_owned(),
                at => format!("[[{}]]\nblock = \"serial\"\n", vec!["children"; at].join(".")),
            };
            (0..depth).map(block).collect::<String>()
        };
        assert_eq!(read(&nested(MOST_DEPTH)).1, [""; 0]);
        assert!(read(&nested(MOST_DEPTH + 1)).1[0].contains("more than 64 blocks within each other"));
        assert!(!read(&nested(200)).1.is_empty());
        let calls = |depth: usize| {
            format!("block = \"t\"\n[parameters]\nx = {}1{}\n", "{ f = { a = ".repeat(depth), " } }".repeat(depth))
        };
        assert_eq!(read(&calls(MOST_CALLS)).1, [""; 0]);
        assert!(read(&calls(MOST_CALLS + 1)).1[0].contains("more than 16 functions within each other"));
        assert!(!read(&calls(10_000)).1.is_empty());
    }
}
