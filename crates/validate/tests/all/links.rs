//! Relative links between pages of the repository, and the paths of pages and sources wherever they are named, lead somewhere.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Folders without files of ours: build output, run folders, installed packages.
const SKIPPED: [&str; 6] = ["target", "runs", "node_modules", "__pycache__", "corpus", "artifacts"];
/// Endings of the files that may name a page.
const ENDINGS: [&str; 10] = ["md", "rs", "sh", "py", "toml", "js", "tcl", "proto", "service", "txt"];
/// Files without an ending that may name a page.
const NAMES: [&str; 2] = ["Makefile", "run"];
/// The folder of the pages.
const DOCS: &str = "docs/";
/// Folders whose files are named by their paths from the root of the repository.
const ROOTS: [&str; 2] = [DOCS, "crates/"];

/// A link target and the line it stands on, from 1.
type Target = (usize, String);

#[test]
fn relative_links_resolve() {
    let pages = Pages::read();
    let mut checked = 0;
    let mut broken = Vec::new();
    for (page, text) in pages.with_ending("md") {
        for (line, target) in links(text) {
            checked += 1;
            if let Err(why) = pages.follow(page, &target) {
                broken.push(format!("{}:{line}: {target}: {why}", page.display()));
            }
        }
    }
    assert!(checked > 50, "only {checked} links were found");
    assert!(broken.is_empty(), "{} broken links:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn named_paths_exist() {
    let pages = Pages::read();
    let mut checked = 0;
    let mut missing = Vec::new();
    for (file, text) in &pages.files {
        for (line, path) in named(text) {
            checked += 1;
            if let Err(why) = pages.follow(Path::new("README.md"), &path) {
                missing.push(format!("{}:{line}: {path}: {why}", file.display()));
            }
        }
    }
    assert!(checked > 100, "only {checked} paths were found");
    assert!(missing.is_empty(), "{} paths lead nowhere:\n{}", missing.len(), missing.join("\n"));
}

#[test]
fn front_page_reaches_every_page() {
    let pages = Pages::read();
    let mut reached = vec![PathBuf::from("docs/README.md")];
    let mut next = 0;
    while let Some(page) = reached.get(next).cloned() {
        next += 1;
        let Some(text) = pages.files.get(&page) else { continue };
        for (_, target) in links(text) {
            let path = target.split('#').next().unwrap_or_default();
            if let Some(path) = resolve(&page, path).filter(|path| path.starts_with(DOCS) && !reached.contains(path)) {
                reached.push(path);
            }
        }
    }
    let lost: Vec<_> = pages.with_ending("md").map(|(page, _)| page).collect();
    let lost: Vec<_> = lost.into_iter().filter(|page| page.starts_with(DOCS) && !reached.contains(page)).collect();
    assert!(lost.is_empty(), "no link leads from docs/README.md to {lost:?}");
}

#[test]
fn anchors_follow_github() {
    for (heading, anchor) in [
        ("In five minutes", "in-five-minutes"),
        ("What `describe` tells", "what-describe-tells"),
        ("`lab check`", "lab-check"),
        ("Loss, delay and *order*", "loss-delay-and-order"),
        ("[Links](a.md) and under_score", "links-and-under_score"),
        ("Bound (95 %)", "bound-95-"),
    ] {
        assert_eq!(slug(heading), anchor);
    }
    let page = "# Twice\n```sh\n# no heading\n```\n## Twice\n####### seven\n";
    assert_eq!(anchors(page), ["twice", "twice-1"]);
}

#[test]
fn links_are_found_outside_code() {
    let page = "[a](b.md) ![p](c.png \"title\")\n`[no](d.md)` [e](f.md#g)\n```\n[no](h.md)\n```\n[w](https://x.org/docs/y)\n[r]: i.md\n";
    let found: Vec<_> = links(page);
    let expected = [(1, "b.md"), (1, "c.png"), (2, "f.md#g"), (7, "i.md")];
    assert_eq!(found, expected.map(|(line, target)| (line, target.to_owned())));
}

#[test]
fn named_paths_end_where_prose_goes_on() {
    // Spelt so that this file names no page that is not there.
    let [a, b, c, d, e] = ["a.md", "b/c.md#d", "f/", "g/", "h.md"].map(|path| format!("{DOCS}{path}"));
    let text = format!("see {a}. And (`{b}`)\nhttps://x.org/{a} \"{c}{{name}}\" {d}*.svg ../{e} my{e}\n");
    assert_eq!(named(&text), [(1, a), (1, b), (2, c), (2, d), (2, e)]);
}

/// The text files of the repository that may name a page, by their paths from its root.
struct Pages {
    root: PathBuf,
    files: BTreeMap<PathBuf, String>,
}

impl Pages {
    fn read() -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut pages = Self { root, files: BTreeMap::new() };
        pages.read_folder(Path::new(""));
        pages
    }

    fn read_folder(&mut self, folder: &Path) {
        for entry in fs::read_dir(self.root.join(folder)).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let path = folder.join(&name);
            let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
            if entry.file_type().unwrap().is_dir() {
                let hidden = name.starts_with('.') && name != ".ci";
                if !hidden && !SKIPPED.contains(&name.as_str()) {
                    self.read_folder(&path);
                }
            } else if (ENDINGS.contains(&ending) || NAMES.contains(&name.as_str()))
                && let Ok(text) = fs::read_to_string(self.root.join(&path))
            {
                self.files.insert(path, text);
            }
        }
    }

    fn with_ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = (&'a PathBuf, &'a String)> {
        self.files.iter().filter(move |(path, _)| path.extension().is_some_and(|own| own == ending))
    }

    /// Checks that `target`, a link on `page`, leads to a file or folder, and its anchor to a heading there.
    fn follow(&self, page: &Path, target: &str) -> Result<(), String> {
        let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
        let path = if path.is_empty() { Some(page.to_owned()) } else { resolve(page, path) };
        let Some(path) = path else { return Err("leaves the repository".to_owned()) };
        if !self.root.join(&path).exists() {
            return Err(format!("{} does not exist", path.display()));
        }
        let Some(anchor) = anchor else { return Ok(()) };
        let Some(text) = self.files.get(&path) else { return Err(format!("{} has no anchors", path.display())) };
        let known = anchors(text).iter().any(|known| known == anchor);
        if known { Ok(()) } else { Err(format!("{} has no heading #{anchor}", path.display())) }
    }
}

/// `target` of a link on `page`, from the root of the repository; none outside it.
fn resolve(page: &Path, target: &str) -> Option<PathBuf> {
    let mut resolved = page.parent()?.to_owned();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => resolved.push(name),
            Component::CurDir => {}
            Component::ParentDir if resolved.pop() => {}
            _ => return None,
        }
    }
    Some(resolved)
}

/// The lines of a page outside fenced code, from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then_some((index + 1, line))
    })
}

/// Relative link targets of a page: `[text](target)`, `![text](target "title")`, `[name]: target`.
fn links(text: &str) -> Vec<Target> {
    let mut found = Vec::new();
    for (line, content) in prose(text) {
        let content = without_code(content);
        let inline = content.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        let definition =
            content.starts_with('[').then(|| content.split_once("]: ")).flatten().map(|(_, rest)| rest.trim());
        let relative = |target: &&str| !target.contains("://") && !target.starts_with("mailto:");
        found.extend(inline.chain(definition).filter(relative).map(|target| (line, target.to_owned())));
    }
    found
}

/// A line without what stands between backticks.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

/// Paths below [`ROOTS`], up to the first character that is not part of a name; of a pattern its folder.
fn named(text: &str) -> Vec<Target> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (at, _) in ROOTS.iter().flat_map(|root| line.match_indices(root)) {
            let word = line[..at].rsplit([' ', '"', '`', '(', '<']).next().unwrap_or_default();
            if word.contains("://") || word.ends_with(|last: char| last.is_alphanumeric() || "-_".contains(last)) {
                continue;
            }
            let rest = &line[at..];
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || "/._-#".contains(c))).unwrap_or(rest.len());
            let path = match rest[end..].chars().next() {
                Some('{' | '*') => &rest[..=rest[..end].rfind('/').unwrap_or_default()],
                _ => rest[..end].trim_end_matches(['.', '#', '-']),
            };
            found.push((index + 1, path.to_owned()));
        }
    }
    found
}

/// The anchors that GitHub gives the headings of a page; repeated ones are numbered.
fn anchors(text: &str) -> Vec<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut anchors = Vec::new();
    for (_, line) in prose(text) {
        let level = line.bytes().take_while(|&byte| byte == b'#').count();
        let Some(heading) = line[level..].strip_prefix(' ').filter(|_| (1..=6).contains(&level)) else { continue };
        let slug = slug(heading);
        let count = counts.entry(slug.clone()).or_default();
        anchors.push(if *count == 0 { slug } else { format!("{slug}-{count}") });
        *count += 1;
    }
    anchors
}

/// A heading as GitHub spells its anchor: lower case, hyphens for spaces, without punctuation and targets of links.
fn slug(heading: &str) -> String {
    let mut text = String::new();
    let mut rest = heading.trim();
    while let Some((before, after)) = rest.split_once("](") {
        text += before;
        rest = after.split_once(')').map_or("", |(_, after)| after);
    }
    text += rest;
    let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}
