//! The commands of `docs/recipes`, as its pages show them.

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of the pages, sorted.
pub fn pages() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("docs/recipes")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut pages: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    pages.sort();
    pages
}

/// A command of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe {
    /// The command without `sudo`, as a shell takes it.
    pub command: String,
    /// It needs root: a live run.
    pub is_live: bool,
}

/// The commands of `page` in their order: the lines in fences that begin with `$ `, a shell's comment left out. "For a quick look, add
/// `OPTIONS`" behind a fence makes its last command quicker; options that the command has get the value from there.
pub fn recipes(page: &str) -> Vec<Recipe> {
    let text = std::fs::read_to_string(root().join("docs/recipes").join(page)).unwrap();
    let mut found: Vec<Recipe> = Vec::new();
    for (place, part) in text.split("```").enumerate() {
        let is_fence = place % 2 == 1;
        if is_fence {
            let lines = part.lines().filter_map(|line| line.strip_prefix("$ "));
            found.extend(lines.map(|line| {
                let command = line.split("  # ").next().unwrap_or(line).trim();
                let live = command.strip_prefix("sudo ");
                Recipe { command: live.unwrap_or(command).to_owned(), is_live: live.is_some() }
            }));
        } else if let (Some(quick), Some(last)) = (quick_options(part), found.last_mut()) {
            last.command = with_options(&last.command, &quick);
        }
    }
    found
}

/// The options behind "For a quick look, add".
fn quick_options(text: &str) -> Option<String> {
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let behind = flowing.split_once("For a quick look, add `")?.1;
    Some(behind.split_once('`')?.0.to_owned())
}

/// `command` with these options, each with its value.
fn with_options(command: &str, options: &str) -> String {
    let mut words: Vec<&str> = command.split(' ').collect();
    let options: Vec<&str> = options.split(' ').collect();
    for pair in options.chunks(2) {
        match words.iter().position(|word| *word == pair[0]) {
            Some(place) => words[place + 1] = pair[1],
            None => words.extend(pair),
        }
    }
    words.join(" ")
}
