//! Puts files and variables into a script (both are extensions, which is why they are marked by `@` and `$`).
//!
//! `@include "file";` stands for what is in that file. `@let name = value;` makes `$name` stand for the value, in the whole block in
//! which it stands and in the blocks within it; a block within may define it anew. A value can use what is defined before it or further out.
//! What a file defines that is included is known in the block that includes it, unless that block or a file before defines it: so a file
//! can be given values, and have its own where it is given none.

use std::collections::BTreeMap;

use flowloom_core::keys::nearest;

use super::diagnostic::Diagnostic;
use super::parser::{self, MOST_CALLS, MOST_DEPTH, MOST_ERRORS, MOST_ITEMS, Mode, one_block};
use super::place::{Files, Place};
use super::toml_form;
use super::tree::{Argument, Block, Body, Child, Form, Function, Include, Let, List, Parameter, Value, Word};
use super::word::{self, Part};

/// Most files that include each other.
pub const MOST_INCLUDES: usize = 16;
/// Most bytes of all files of a script.
pub const MOST_BYTES: usize = 32 << 20;

/// Reads a file that the file called `from` includes as `named`: its name, as errors have it, which is the same for the same file, and what
/// stands in it; or what is wrong.
pub type Read<'a> = &'a mut dyn FnMut(&str, &str) -> Result<(String, String), String>;

/// The files of a script, the script as one block without anything that is still to be put in, and what is to be said of it.
#[derive(Clone, Debug)]
pub struct Whole {
    /// The files.
    pub files: Files,
    /// The script; nothing if it has errors.
    pub block: Option<Block>,
    /// What could be read of a script that has errors.
    pub part: Body,
    /// What was found.
    pub found: Vec<Diagnostic>,
}

/// Whether a file of this name is in the form of TOML.
pub fn is_toml(name: &str) -> bool {
    name.rsplit_once('.').is_some_and(|(_, ending)| ending.eq_ignore_ascii_case("toml"))
}

/// Reads the script `text` and all that it includes. In which form a file is its name tells.
pub fn whole(name: &str, text: &str, mode: Mode, read: Read<'_>) -> Whole {
    let mut files = Files::new();
    let file = files.add(name, text, None);
    let (body, found) = read_body(&files, file, mode);
    let is_unread = body.lost.is_some() && found.len() >= MOST_ERRORS;
    let (items, scopes, bytes) = (0, Vec::new(), text.len());
    let mut expander = Expander { files, found, mode, read, items, scopes, bytes, is_unread };
    let mut body = expander.body(body, 0, None);
    let mut block = None;
    if !expander.failed() {
        let end = expander.files.place(file, text.len(), text.len());
        expander.found.extend(one_block(&body, end));
    }
    if !expander.failed() {
        block = body.children.drain(..).find_map(|child| match child {
            Child::Block(block) => Some(block),
            Child::Include(_) => None,
        });
    }
    let Expander { files, found, .. } = expander;
    Whole { files, block, part: body, found }
}

/// A file by itself.
fn read_body(files: &Files, file: u32, mode: Mode) -> (Body, Vec<Diagnostic>) {
    match is_toml(&files.get(file).name) {
        true => toml_form::read(files, file),
        false => parser::fragment(files, file, mode),
    }
}

struct Expander<'a> {
    files: Files,
    found: Vec<Diagnostic>,
    mode: Mode,
    read: Read<'a>,
    /// Blocks, parameters and arguments.
    items: usize,
    /// Variables of the blocks that are around, from the outermost on.
    /// One whose value is lost has none.
    scopes: Vec<BTreeMap<String, Option<Value>>>,
    /// Of all files.
    bytes: usize,
    /// A part of the script was not read in which any variable may be defined.
    is_unread: bool,
}

impl Expander<'_> {
    fn failed(&self) -> bool {
        self.found.iter().any(Diagnostic::is_error)
    }

    fn say(&mut self, diagnostic: Diagnostic) {
        // With many warnings the first error must still be one.
        if self.found.len() < 2 * MOST_ERRORS || (diagnostic.is_error() && !self.failed()) {
            self.found.push(diagnostic);
        }
    }

    /// Counts blocks, parameters and arguments: a few lines can stand for very many.
    fn count(&mut self, place: Place) -> bool {
        self.items += 1;
        if self.items == MOST_ITEMS + 1 {
            let message = format!("more than {MOST_ITEMS} blocks, parameters and arguments");
            self.found.push(Diagnostic::error(place, message));
        }
        self.items <= MOST_ITEMS
    }

    /// A body with everything put in; `leaf` is the kind of leaf it belongs to.
    fn body(&mut self, body: Body, depth: usize, leaf: Option<&str>) -> Body {
        let body = self.flat(body);
        let mut lost = body.lost;
        self.scopes.push(lost.iter().flatten().map(|name| (name.clone(), None)).collect());
        for one in body.lets {
            // That which is first counts: files that are included come later.
            if self.scopes.last().is_some_and(|scope| scope.contains_key(&one.name)) {
                continue;
            }
            let Let { name, value, .. } = one;
            let value = self.value(value, 0);
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(name, value);
            }
        }
        let mut names: BTreeMap<String, Place> = BTreeMap::new();
        let mut parameters = Vec::new();
        for Parameter { name, place, value, around } in body.parameters {
            if let Some(first) = names.get(&name) {
                let hint = format!("it stands at {} already", self.files.locate(*first));
                self.say(Diagnostic::error(place, format!("{name} is given twice")).hint(hint));
                continue;
            }
            names.insert(name.clone(), place);
            if !self.count(place) {
                break;
            }
            match self.value(value, 0) {
                Some(value) => parameters.push(Parameter { name, place, value, around }),
                None => drop(lost.get_or_insert_default()),
            }
        }
        let mut children = Vec::new();
        for child in body.children {
            let Child::Block(block) = child else { continue };
            if !self.count(block.place) {
                break;
            }
            if let Some(leaf) = leaf {
                let message = format!("{leaf} is a kind of leaf, and leaves hold no blocks");
                self.say(Diagnostic::error(block.place, message));
                break;
            }
            if depth == MOST_DEPTH {
                let message = format!("more than {MOST_DEPTH} blocks within each other");
                self.say(Diagnostic::error(block.place, message));
                break;
            }
            children.push(Child::Block(self.block(block, depth)));
        }
        self.scopes.pop();
        Body { lets: Vec::new(), parameters, children, end: body.end, lost }
    }

    fn block(&mut self, block: Block, depth: usize) -> Block {
        let address = block.address.clone().and_then(|address| {
            let place = address.place;
            match self.value(Value::Word(address), 0)? {
                Value::Word(word) if word.form != Form::Quantity => Some(word),
                _ => {
                    self.say(Diagnostic::error(place, "the variable stands for no address of a host"));
                    None
                }
            }
        });
        let leaf = block.control().is_none().then_some(block.keyword.as_str());
        let body = self.body(block.body, depth + 1, leaf);
        Block { address, body, ..block }
    }

    /// A body with the contents of files in place of their names.
    fn flat(&mut self, mut body: Body) -> Body {
        let mut children = Vec::new();
        for child in std::mem::take(&mut body.children) {
            match child {
                Child::Block(_) => children.push(child),
                Child::Include(include) => {
                    let Some(mut included) = self.included(&include) else {
                        body.lost.get_or_insert_default();
                        self.is_unread = true;
                        continue;
                    };
                    body.lets.append(&mut included.lets);
                    body.parameters.append(&mut included.parameters);
                    children.append(&mut included.children);
                    if let Some(mut lost) = included.lost {
                        body.lost.get_or_insert_default().append(&mut lost);
                    }
                }
            }
        }
        Body { children, ..body }
    }

    /// What stands in a file that is included.
    fn included(&mut self, include: &Include) -> Option<Body> {
        let Include { file: named, place, .. } = include;
        if !self.count(*place) {
            return None;
        }
        let (name, text) = match (self.read)(&self.files.get(place.file).name, named) {
            Ok(read) => read,
            Err(problem) => {
                self.say(Diagnostic::error(*place, problem));
                return None;
            }
        };
        let (mut depth, mut outer) = (0, Some(*place));
        while let Some(at) = outer {
            let file = self.files.get(at.file);
            if file.name == name {
                self.say(Diagnostic::error(*place, format!("{name} includes itself")));
                return None;
            }
            depth += 1;
            outer = file.included_at;
        }
        if depth > MOST_INCLUDES {
            self.say(Diagnostic::error(*place, format!("more than {MOST_INCLUDES} files include each other")));
            return None;
        }
        self.bytes += text.len();
        if self.bytes > MOST_BYTES {
            let mib = MOST_BYTES >> 20;
            self.say(Diagnostic::error(*place, format!("the files of the script have more than {mib} MiB")));
            return None;
        }
        let file = self.files.add(&name, &text, Some(*place));
        let (body, found) = read_body(&self.files, file, self.mode);
        found.into_iter().for_each(|one| self.say(one));
        Some(self.flat(body))
    }

    /// A value within `calls` functions, with everything put in.
    fn value(&mut self, value: Value, calls: usize) -> Option<Value> {
        match value {
            Value::Function(Function { name, place, arguments }) => {
                let mut expanded = Vec::new();
                for Argument { name, place, value } in arguments {
                    if !self.count(place) {
                        return None;
                    }
                    let value = self.value(value, calls + 1);
                    expanded.push(value.map(|value| Argument { name, place, value }));
                }
                let arguments = expanded.into_iter().collect::<Option<_>>()?;
                Some(Value::Function(Function { name, place, arguments }))
            }
            Value::List(List { items, place }) => {
                let mut expanded = Vec::new();
                for item in items {
                    if !self.count(place) {
                        return None;
                    }
                    expanded.push(self.value(item, calls + 1));
                }
                let items = expanded.into_iter().collect::<Option<_>>()?;
                Some(Value::List(List { items, place }))
            }
            Value::Word(word) if word.form == Form::Variable => self.variables(&word, calls),
            other => Some(other),
        }
    }

    /// What a word with variables in it stands for, within `calls` functions.
    fn variables(&mut self, word: &Word, calls: usize) -> Option<Value> {
        let parts = word::parts(&word.text).ok()?;
        if let [Part::Variable(name)] = parts.as_slice() {
            let mut value = self.variable(name, word.place)?.clone();
            self.count_value(&value, word.place, calls)?;
            // What is wrong with it is wrong here.
            match &mut value {
                Value::Word(inner) => inner.place = word.place,
                Value::Text(inner) => inner.place = word.place,
                Value::Function(_) | Value::List(_) => {}
            }
            return Some(value);
        }
        let mut text = String::new();
        for part in parts {
            match part {
                Part::Plain(plain) => text.push_str(plain),
                Part::Variable(name) => match self.variable(name, word.place)? {
                    Value::Word(inner) => text.push_str(&inner.text),
                    _ => {
                        let message = format!("${name} stands for more than a word, and must stand alone");
                        self.say(Diagnostic::error(word.place, message));
                        return None;
                    }
                },
            }
        }
        match word::form(&text).ok().filter(|form| word::is_word(&text) && *form != Form::Variable) {
            Some(form) => Some(Value::Word(Word { text, form, place: word.place })),
            None => {
                let problem = word::form(&text).err().map(|error| error.problem);
                let shown: String = text.chars().take(80).collect();
                let problem = problem.unwrap_or_else(|| format!("\"{shown}\" is no number, address or name"));
                self.say(Diagnostic::error(word.place, format!("{}: {problem}", word.text)));
                None
            }
        }
    }

    /// Counts the arguments of a value that is put in within `calls` functions.
    fn count_value(&mut self, value: &Value, place: Place, calls: usize) -> Option<()> {
        let within: Vec<&Value> = match value {
            Value::Function(function) => function.arguments.iter().map(|argument| &argument.value).collect(),
            Value::List(list) => list.items.iter().collect(),
            Value::Text(_) | Value::Word(_) => return Some(()),
        };
        if calls == MOST_CALLS {
            let message = format!("more than {MOST_CALLS} functions within each other");
            self.say(Diagnostic::error(place, message));
            return None;
        }
        for value in within {
            if !self.count(place) {
                return None;
            }
            self.count_value(value, place, calls + 1)?;
        }
        Some(())
    }

    /// What `$name` stands for at `place`.
    fn variable(&mut self, name: &str, place: Place) -> Option<&Value> {
        let found = self.scopes.iter().rposition(|scope| scope.contains_key(name));
        let Some(found) = found else {
            if self.is_unread {
                return None;
            }
            let known: Vec<&str> = self.scopes.iter().flat_map(BTreeMap::keys).map(String::as_str).collect();
            // Any letter is near to any other.
            let hint = match nearest(name, &known).filter(|_| name.len() > 1) {
                Some(meant) => format!("did you mean ${meant}?"),
                None => format!("@let {name} = value; defines it, in this block or one around it"),
            };
            self.say(Diagnostic::error(place, format!("${name} is not defined here")).hint(hint));
            return None;
        };
        self.scopes[found].get(name)?.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::super::format::format;
    use super::*;

    /// A script whose files are these, by name.
    fn expanded(files: &[(&str, &str)]) -> (String, Vec<String>) {
        let mut read = |_: &str, named: &str| {
            let file = files.iter().find(|(name, _)| *name == named);
            file.map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).ok_or(format!("{named}: no such file"))
        };
        let whole = whole(files[0].0, files[0].1, Mode::Lenient, &mut read);
        let found = whole.found.iter().map(|one| {
            let hint = one.hint.as_ref().map_or(String::new(), |hint| format!(" | {hint}"));
            format!("{}{hint}", one.summary(&whole.files))
        });
        let found = found.collect();
        let children = whole.block.map(Child::Block).into_iter().collect();
        (format(&Body { children, ..Body::default() }), found)
    }

    #[test]
    fn variables_and_files_are_put_in() {
        let main = "@let a = host-a; @let port = 42000;\ncluster {\n  @let b = ${a}2; @let work = full(duration = $d);\n  @let d = 5;\n  \
            @include \"leaf.ns\";\n  test $b { own = $b:$port; x = $a; }\n}\n";
        let leaf = "@let d = 9; @let port = 1; test $a { own = $a:$port; d = $d; }";
        let (_, found) = expanded(&[("main.ns", main), ("leaf.ns", leaf)]);
        // A value can use what is defined before it.
        assert_eq!(
            found,
            ["main.ns:3:47: $d is not defined here | @let d = value; defines it, in this block or one around it"]
        );
        let main = main
            .replace("@let d = 5;\n", "")
            .replace("@let work", "@let d = 5; @let work")
            .replace("x = $a", "x = $work");
        let (text, found) = expanded(&[("main.ns", &main), ("leaf.ns", leaf)]);
        assert_eq!(found, [""; 0]);
        let wanted = "cluster {\n  test host-a {\n    own = host-a:1;\n    d = 5;\n  }\n  test host-a2 {\n    own = host-a2:1;\n    x = \
            full(duration = 5);\n  }\n}\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn files_can_be_toml() {
        let (text, found) = expanded(&[
            ("main.ns", "@include \"all.toml\";"),
            (
                "all.toml",
                "block = \"serial\"\n[let]\nx = 1\n[[children]]\nblock = \"test\"\n[children.parameters]\ny = \"$x\"\n",
            ),
        ]);
        assert_eq!(found, [""; 0]);
        assert_eq!(text, "serial {\n  test {\n    y = 1;\n  }\n}\n");
    }

    #[test]
    fn what_is_wrong_names_the_file() {
        let one = |main: &str, other: &str| expanded(&[("main.ns", main), ("o.ns", other)]).1;
        for (main, other, wanted) in [
            (
                "cluster { @include \"o.ns\"; }",
                "x = 1;\ny = 16KK;",
                "o.ns:2:5: 16KK: a number takes one multiplier, K, M or G, not \"KK\"",
            ),
            (
                "cluster { x = 1; @include \"o.ns\"; }",
                "x = 2;",
                "o.ns:1:1: x is given twice | it stands at main.ns:1:11 already",
            ),
            ("cluster { @include \"p.ns\"; }", "", "main.ns:1:20: p.ns: no such file"),
            ("cluster { @include \"o.ns\"; }", "@include \"o.ns\";", "o.ns:1:10: o.ns includes itself"),
            (
                "cluster { @include \"o.ns\"; }",
                "cluster { @include \"main.ns\"; }",
                "o.ns:1:20: main.ns includes itself",
            ),
            (
                "cluster { test { @include \"o.ns\"; } }",
                "serial {}",
                "o.ns:1:1: test is a kind of leaf, and leaves hold no blocks",
            ),
            (
                "serial {} @include \"o.ns\";",
                "serial {}",
                "o.ns:1:1: a second block, and a script is one | put both into parallel { ... } or serial { ... }",
            ),
            (
                "@include \"o.ns\";",
                "",
                "main.ns:1:17: there is no block in the script | a script is one block: cluster { ... }, parallel { ... } or serial { ... }",
            ),
            (
                "@let p = 70000; test { own = a:$p; }",
                "",
                "main.ns:1:30: a:$p: a:70000: a port is a number from 0 to 65535, not \"70000\"",
            ),
            (
                "@let p = f(); test { own = a:$p; }",
                "",
                "main.ns:1:28: $p stands for more than a word, and must stand alone",
            ),
            ("@let port = 1; test { own = $prt; }", "", "main.ns:1:29: $prt is not defined here | did you mean $port?"),
            ("@let h = 5; test $h {}", "", "main.ns:1:18: the variable stands for no address of a host"),
        ] {
            assert_eq!(one(main, other), [wanted], "{main}");
        }
        let found = one("cluster { @include \"o.ns\"; }", "y = 16KK;");
        let whole = whole("main.ns", "cluster { @include \"o.ns\"; }", Mode::Strict, &mut |_, _| {
            Ok(("o.ns".into(), "y = 16KK;".into()))
        });
        assert_eq!(found.len(), 1);
        let included = whole.found[0].included(&whole.files);
        assert_eq!(included.iter().map(|at| whole.files.locate(*at)).collect::<Vec<_>>(), ["main.ns:1:20"]);
    }

    /// What is left out because of an error hides no other, and is the cause of none.
    #[test]
    fn errors_of_all_kinds_come_in_one_go() {
        let places = |text: &str| {
            let found = expanded(&[("a.ns", text), ("o.ns", "@let b = 16KK;")]).1;
            found.iter().map(|one| one.split(": ").next().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        for (text, wanted) in [
            // Beside a file that is not there.
            (
                "cluster {\n@include \"no\";\nx = 1KK;\n@include \"neither\";\n}",
                &["a.ns:3:5", "a.ns:2:10", "a.ns:4:10"][..],
            ),
            ("cluster {\nx = 1KK;\ny = $q;\n}", &["a.ns:2:5", "a.ns:3:5"]),
            // What a file or a line that means nothing defines is not known.
            ("cluster {\n@include \"no\";\ny = $q;\n}", &["a.ns:2:10"]),
            ("cluster {\n@let q = 1KK;\ny = $q;\n}", &["a.ns:2:10"]),
            ("cluster {\n@include \"o.ns\";\ny = $b;\n}", &["o.ns:1:10"]),
            // Arguments in one line and in several, and items of lists.
            (
                "test {\nx = f(a = 1KK, b = [2KK, 3KK], c = );\ny = 4KK;\n}",
                &["a.ns:2:11", "a.ns:2:21", "a.ns:2:26", "a.ns:2:35", "a.ns:3:5"],
            ),
            (
                "test {\nx = f(a = 1,\n b = 2KK,\n c = 3);\ny = f(a = $q, b = $r);\n}",
                &["a.ns:3:6", "a.ns:5:11", "a.ns:5:19"],
            ),
            // A block whose first line is wrong.
            (
                "cluster {\ntest a b {\nx = 1KK;\n}\ntest 5 {\ny = 2KK;\n}\n}",
                &["a.ns:2:6", "a.ns:3:5", "a.ns:5:6", "a.ns:6:5"],
            ),
        ] {
            assert_eq!(places(text), wanted, "{text}");
        }
    }

    /// A few lines that stand for more than memory holds.
    #[test]
    fn bombs_are_refused() {
        let mut variables = "@let a0 = f(x = 1);\n".to_owned();
        for n in 1..64 {
            variables += &format!("@let a{n} = f(x = $a{0}, y = $a{0});\n", n - 1);
        }
        let (_, found) = expanded(&[("main.ns", &format!("{variables} cluster {{ x = $a63; }}"))]);
        assert!(found[0].contains("more than 16 functions within each other"), "{found:?}");
        let wide = "@let w0 = f(a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8, i = 9, j = 10);\n";
        let wide = (1..12).fold(wide.to_owned(), |wide, n| {
            let arguments: Vec<String> = (0..10).map(|at| format!("a{at} = $w{}", n - 1)).collect();
            format!("{wide}@let w{n} = f({});\n", arguments.join(", "))
        });
        let (_, found) = expanded(&[("main.ns", &format!("{wide} cluster {{ x = $w11; }}"))]);
        assert!(found[0].contains("more than 500000 blocks"), "{found:?}");
        let mut words = "@let a0 = x;\n".to_owned();
        for n in 1..64 {
            words += &format!("@let a{n} = $a{0}$a{0};\n", n - 1);
        }
        let (_, found) = expanded(&[("main.ns", &format!("{words} cluster {{ }}"))]);
        assert!(found[0].contains("a word of more than 1024 letters"), "{found:?}");
        let includes: Vec<(String, String)> = (0..12)
            .map(|n| {
                (
                    format!("{n}"),
                    format!("@include \"{0}\"; @include \"{0}\"; @include \"{0}\"; @include \"{0}\";", n + 1),
                )
            })
            .chain([("12".to_owned(), "# nothing\n".repeat(100))])
            .collect();
        let files: Vec<(&str, &str)> = includes.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let (_, found) = expanded(&files);
        assert!(found[0].contains("have more than 32 MiB") || found[0].contains("more than 500000"), "{found:?}");
        let chain: Vec<(String, String)> =
            (0..40).map(|n| (format!("{n}"), format!("@include \"{}\";", n + 1))).collect();
        let files: Vec<(&str, &str)> = chain.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        assert_eq!(expanded(&files).1, ["16:1:10: more than 16 files include each other"]);
    }
}
