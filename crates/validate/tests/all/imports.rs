//! Files of a crate import each other without circles: at most two files know each other.
//!
//! The graph is read from the sources. A file imports another if a path in it, in a `use` or in code, leads into the other's
//! module. A parent that re-exports a child imports it; so a child that takes a sibling's name from the parent makes a circle,
//! and takes it from the sibling instead. Tests are left out.
//!
//! Every module is found by its name: no attribute `path` brings a file into a second program.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The most files that may import each other in a circle.
const MOST_FILES: usize = 2;

#[test]
fn no_circle_of_imports_is_larger_than_two_files() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut names: Vec<_> =
        fs::read_dir(&crates).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert!(names.len() > 10, "only {names:?} were found");
    let mut complaints = String::new();
    for name in &names {
        let source = Crate::read(&crates.join(name).join("src"));
        for circle in source.circles().into_iter().filter(|circle| circle.len() > MOST_FILES) {
            let files: Vec<_> = circle.iter().map(|file| source.files[*file].name.as_str()).collect();
            writeln!(complaints, "{name}: {}{}", files.join(" "), source.arrows(&circle)).unwrap();
        }
    }
    assert!(complaints.is_empty(), "files that import each other in a circle:\n{complaints}");
}

#[test]
fn no_module_names_its_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut folders = vec![root.join("crates"), root.join("fuzz")];
    let (mut files, mut found) = (0, Vec::new());
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                // Not the build output of `fuzz`.
                folders.extend((!path.ends_with("target")).then_some(path));
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files += 1;
                found.extend(names_a_file(&fs::read_to_string(&path).unwrap()).then_some(path));
            }
        }
    }
    assert!(files > 500, "only {files} files were found");
    assert!(found.is_empty(), "#[path] in {found:?}; what tests and examples share belongs into crates/testkit");
}

/// Whether an attribute `path` is in the text of a file, also as `#[cfg_attr(.., path = ..)]`.
fn names_a_file(text: &str) -> bool {
    let tokens = tokens(text);
    let attributes = (0..tokens.len()).filter(|at| tokens[*at..].starts_with(&["#", "["]));
    attributes.map(|at| &tokens[at..after_block(&tokens, at + 1)]).any(|attribute| {
        let is_path = attribute[2] == "path" || attribute[2] == "cfg_attr";
        is_path && attribute.windows(2).any(|pair| pair == ["path", "="])
    })
}

#[test]
fn an_attribute_path_is_found() {
    assert!(names_a_file("#[path = \"a.rs\"]\nmod b;"));
    assert!(names_a_file("#[cfg_attr(unix, path = \"a.rs\")]\nmod b;"));
    assert!(!names_a_file("// #[path = \"a.rs\"]\n#[allow(unused)]\nlet path = \"#[path = 1]\";"));
}

/// A file and what it imports.
#[derive(Debug, Default)]
struct File {
    /// Its path below `src`.
    name: String,
    /// What the paths in it lead to: the file, and the first name in it.
    imports: BTreeMap<usize, BTreeSet<String>>,
}

/// A path in a file, and the module that it stands in.
type Found = (Vec<String>, Vec<String>);

/// The files of a crate.
#[derive(Debug, Default)]
struct Crate {
    files: Vec<File>,
    /// The file of each module, inline modules included.
    modules: BTreeMap<Vec<String>, usize>,
}

impl Crate {
    /// Reads the library in the folder `src`, or the program if there is none.
    fn read(src: &Path) -> Crate {
        let root = ["lib.rs", "main.rs"].iter().find(|root| src.join(root).is_file()).expect("a crate has a root");
        Crate::of(root, &|name| fs::read_to_string(src.join(name)).ok())
    }

    /// Reads the file `root` and all that its modules are in. `read` returns the text of a file, `None` if there is none.
    fn of(root: &str, read: &dyn Fn(&Path) -> Option<String>) -> Crate {
        let mut new = Crate::default();
        let mut waiting = vec![(PathBuf::from(root), PathBuf::new(), Vec::new())];
        let mut found: Vec<Vec<Found>> = Vec::new();
        while let Some((path, folder, module)) = waiting.pop() {
            let text = read(&path).expect("it was there before");
            let scan = Scan::of(&text, &module);
            let number = new.files.len();
            new.modules.extend(scan.inline.into_iter().chain([module]).map(|module| (module, number)));
            for child in scan.children {
                let below = child[new_depth(&folder)..].iter().fold(folder.clone(), |path, name| path.join(name));
                let places = [below.with_extension("rs"), below.join("mod.rs")];
                let place = places.into_iter().find(|place| read(place).is_some());
                waiting.push((place.unwrap_or_else(|| panic!("no file of {child:?}")), below, child));
            }
            new.files.push(File { name: path.to_str().unwrap().to_owned(), ..File::default() });
            found.push(scan.paths);
        }
        for (number, paths) in found.into_iter().enumerate() {
            for (module, path) in paths {
                if let Some((file, name)) = new.target(module, &path).filter(|(file, _)| *file != number) {
                    new.files[number].imports.entry(file).or_default().insert(name);
                }
            }
        }
        new
    }

    /// The file that `path` leads to from `module`, and the name in it; `None` if it leaves the crate.
    fn target(&self, mut module: Vec<String>, path: &[String]) -> Option<(usize, String)> {
        let mut rest = path;
        let is_child = |module: &[String], name: &String| {
            self.modules.contains_key(&[module, std::slice::from_ref(name)].concat())
        };
        match rest.first()?.as_str() {
            "crate" => (module, rest) = (Vec::new(), &rest[1..]),
            "super" | "self" => {
                while let Some(first) = rest.first().filter(|first| *first == "super" || *first == "self") {
                    if first == "super" {
                        module.pop();
                    }
                    rest = &rest[1..];
                }
            }
            _ if is_child(&module, &rest[0]) => {}
            _ => return None,
        }
        while let Some(name) = rest.first().filter(|name| is_child(&module, name)) {
            module.push(name.clone());
            rest = &rest[1..];
        }
        let name = rest.first().filter(|name| *name != "self").map_or("(module)", |name| name);
        Some((*self.modules.get(&module)?, name.to_owned()))
    }

    /// The files that `from` imports, they import, and so on.
    fn reached(&self, from: usize) -> BTreeSet<usize> {
        let mut reached = BTreeSet::new();
        let mut waiting = vec![from];
        while let Some(file) = waiting.pop() {
            waiting.extend(self.files[file].imports.keys().filter(|next| reached.insert(**next)));
        }
        reached
    }

    /// The sets of files that all reach each other, each ordered by name, of two files at least.
    fn circles(&self) -> Vec<Vec<usize>> {
        let reached: Vec<_> = (0..self.files.len()).map(|file| self.reached(file)).collect();
        let mut circles = BTreeSet::new();
        for (file, all) in reached.iter().enumerate().filter(|(file, all)| all.contains(file)) {
            let mut circle: Vec<_> = all.iter().copied().filter(|other| reached[*other].contains(&file)).collect();
            circle.sort_by_key(|file| &self.files[*file].name);
            circles.insert(circle);
        }
        circles.into_iter().collect()
    }

    /// The imports within `circle`, a line each.
    fn arrows(&self, circle: &[usize]) -> String {
        let mut lines = String::new();
        for file in circle.iter().map(|file| &self.files[*file]) {
            for (to, names) in file.imports.iter().filter(|(to, _)| circle.contains(to)) {
                let names: Vec<_> = names.iter().map(String::as_str).collect();
                write!(lines, "\n    {} -> {}: {}", file.name, self.files[*to].name, names.join(", ")).unwrap();
            }
        }
        lines
    }
}

/// How many modules deep `folder` is.
fn new_depth(folder: &Path) -> usize {
    folder.components().count()
}

/// What a file says of modules.
#[derive(Debug, Default)]
struct Scan {
    /// Modules in files of their own.
    children: Vec<Vec<String>>,
    /// Modules with their contents.
    inline: Vec<Vec<String>>,
    paths: Vec<Found>,
}

impl Scan {
    /// Reads the file of `module`.
    fn of(text: &str, module: &[String]) -> Scan {
        let tokens = tokens(text);
        let mut scan = Scan::default();
        let mut here = module.to_vec();
        // The depths of braces at which inline modules end.
        let (mut depth, mut ends) = (0, Vec::new());
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let next = |ahead: usize| tokens.get(at + ahead).copied().unwrap_or_default();
            match *token {
                "#" if next(1) == "[" => at = after_attribute(&tokens, at),
                "pub" if next(1) == "(" => at = after_block(&tokens, at + 1),
                "mod" if is_word(next(1)) && next(2) == ";" => {
                    scan.children.push([&here[..], &[next(1).to_owned()]].concat());
                    at += 3;
                }
                "mod" if is_word(next(1)) && next(2) == "{" => {
                    here.push(next(1).to_owned());
                    scan.inline.push(here.clone());
                    ends.push(depth);
                    (depth, at) = (depth + 1, at + 3);
                }
                // Not the `use<..>` of a type.
                "use" if next(1) != "<" => {
                    at += 1;
                    let mut leaves = Vec::new();
                    tree(&tokens, &mut at, &[], &mut leaves);
                    scan.paths.extend(leaves.into_iter().map(|leaf| (here.clone(), leaf)));
                }
                "{" => (depth, at) = (depth + 1, at + 1),
                "}" => {
                    (depth, at) = (depth - 1, at + 1);
                    if ends.last() == Some(&depth) {
                        ends.pop();
                        here.pop();
                    }
                }
                word if is_word(word) && next(1) == "::" => {
                    let mut path = vec![word.to_owned()];
                    at += 1;
                    while let ["::", name, ..] = tokens[at..] {
                        at += 2;
                        if !is_word(name) {
                            break;
                        }
                        path.push(name.to_owned());
                    }
                    scan.paths.push((here.clone(), path));
                }
                _ => at += 1,
            }
        }
        scan
    }
}

/// Collects the paths of a tree of `use`, which `at` points to, below `prefix`.
fn tree(tokens: &[&str], at: &mut usize, prefix: &[String], leaves: &mut Vec<Vec<String>>) {
    let mut path = prefix.to_vec();
    while let Some(token) = tokens.get(*at).copied() {
        match token {
            "{" => {
                *at += 1;
                while tokens.get(*at).is_some_and(|token| !["}", ";"].contains(token)) {
                    tree(tokens, at, &path, leaves);
                    *at += usize::from(tokens.get(*at) == Some(&","));
                }
                *at += 1;
                return;
            }
            "as" => *at += 2,
            "," | "}" | ";" => break,
            word if is_word(word) => {
                path.push(word.to_owned());
                *at += 1;
            }
            _ => *at += 1,
        }
    }
    leaves.push(path);
}

/// The place behind the attribute at `at`, and behind the item that it belongs to if that is compiled for tests alone.
fn after_attribute(tokens: &[&str], at: usize) -> usize {
    let end = after_block(tokens, at + 1);
    if !matches!(tokens[at..end], [_, _, "cfg", "(", "test", ..] | [_, _, "cfg", "(", "all", "(", "test", ..]) {
        return end;
    }
    let mut at = end;
    while let Some(token) = tokens.get(at) {
        match *token {
            ";" => return at + 1,
            "{" => return after_block(tokens, at),
            "(" | "[" => at = after_block(tokens, at),
            _ => at += 1,
        }
    }
    at
}

/// The place behind the bracket that closes the one at `at`.
fn after_block(tokens: &[&str], at: usize) -> usize {
    let mut depth = 0;
    for (place, token) in tokens.iter().enumerate().skip(at) {
        match *token {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return place + 1;
        }
    }
    tokens.len()
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The words and marks of Rust code, without comments, literals and lifetimes.
fn tokens(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => string(rest),
            '\'' => quoted(rest),
            ':' if rest.starts_with("::") => push(&mut found, rest, 2),
            _ if first.is_alphanumeric() || first == '_' => {
                let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
                match (&rest[..word], rest[word..].chars().next()) {
                    ("r" | "br", Some('"' | '#')) => word + raw(&rest[word..]),
                    _ => push(&mut found, rest, word),
                }
            }
            _ if first.is_whitespace() => first.len_utf8(),
            _ => push(&mut found, rest, first.len_utf8()),
        };
        rest = &rest[length..];
    }
    found
}

/// Takes a token of `length` bytes.
fn push<'a>(found: &mut Vec<&'a str>, rest: &'a str, length: usize) -> usize {
    found.push(&rest[..length]);
    length
}

/// The length of the string that `text` begins with.
fn string(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let ends = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |(end, _)| end + 1)
}

/// The length of the raw string whose `r` stands before `text`; 0 if it is no raw string.
fn raw(text: &str) -> usize {
    let marks = text.find(|c| c != '#').unwrap_or(text.len());
    if !text[marks..].starts_with('"') {
        return 0;
    }
    let end = format!("\"{}", &text[..marks]);
    text[marks + 1..].find(&end).map_or(text.len(), |at| marks + 1 + at + end.len())
}

/// The length of the character or lifetime that `text` begins with.
fn quoted(text: &str) -> usize {
    let mut inside = text[1..].char_indices();
    match (inside.next(), inside.next()) {
        (Some((_, '\\')), _) => text[3..].find('\'').map_or(text.len(), |end| end + 4),
        (_, Some((at, '\''))) => at + 2,
        _ => 1 + text[1..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len() - 1),
    }
}

/// The circles of a crate of these files, each as the names of its files.
fn circles(files: &[(&str, &str)]) -> Vec<String> {
    let read = |path: &Path| files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned());
    let source = Crate::of("lib.rs", &read);
    let names = |circle: Vec<usize>| circle.iter().map(|file| source.files[*file].name.as_str()).collect::<Vec<_>>();
    source.circles().into_iter().map(|circle| names(circle).join(" ")).collect()
}

#[test]
fn a_made_up_circle_is_found() {
    let root = ("lib.rs", "mod one;\nmod two;\nmod three;\n");
    let open = [root, ("one.rs", "use crate::two::A;"), ("two.rs", "use super::three::B;"), ("three.rs", "struct B;")];
    assert_eq!(circles(&open), Vec::<String>::new());
    let closed = [("three.rs", "fn f() -> crate::one::C { 'x'; \"\\\"\"; r#\"\"\"# }"), root, open[1], open[2]];
    assert_eq!(circles(&closed), ["one.rs three.rs two.rs"]);
}

#[test]
fn a_name_of_the_parent_is_an_import_of_the_parent() {
    let child = |import: &'static str| {
        circles(&[
            ("lib.rs", "pub mod parent;"),
            ("parent/mod.rs", "mod one;\nmod two;\npub use one::A;\npub use two::B;"),
            ("parent/one.rs", import),
            ("parent/two.rs", "pub struct B;"),
        ])
    };
    assert_eq!(child("use super::B;"), ["parent/mod.rs parent/one.rs"]);
    assert_eq!(child("use super::two::{self, B};"), Vec::<String>::new());
    assert_eq!(child("mod inner { use super::super::B; }"), ["parent/mod.rs parent/one.rs"]);
}

#[test]
fn tests_and_comments_import_nothing() {
    let of = |text: &'static str| circles(&[("lib.rs", "mod one; use one::A;"), ("one.rs", text)]);
    assert_eq!(of("fn f<'a>(_: &'a crate::B) {}"), ["lib.rs one.rs"]);
    assert_eq!(of("// crate::B\n/* crate::B */ const C: &str = \"crate::B\";"), Vec::<String>::new());
    assert_eq!(of("#[cfg(test)]\nmod tests { use crate::B; }"), Vec::<String>::new());
    assert_eq!(of("#[cfg(test)]\nuse crate::B;\npub(in crate::b) struct A;"), Vec::<String>::new());
}
