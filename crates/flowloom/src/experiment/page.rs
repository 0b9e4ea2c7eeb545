//! The page of all keys, `docs/reference/keys.md`, from the schema.

use std::fmt::Write;

use serde_json::Value;

use flowloom_core::keys::Bounds;
use flowloom_core::keys::walk::{alternatives, kind_of, number_bounds, resolve, words};

use super::schema::schema;

const HEAD: &str = "\
# All keys of an experiment

For readers who look up a key. [experiment.md](experiment.md) explains the file, with an example. This page comes from the schema
(`flowloom schema experiment`, which editors also read to complete and check experiments); a test holds the two together.
`cargo run -p flowloom --example keys_page > docs/reference/keys.md` writes it.

A path of a key joins tables with dots and counts lists from 0: `network.links[1].queue.kind`. Texts stand in quotes. Every key
may be left out unless it is marked *needed*.
";

/// What a section is about: a table of keys, at a path or under a name of its own.
struct Section<'a> {
    title: String,
    schema: &'a Value,
    /// The name of its definition, if it has one: what is described once is not described again.
    definition: Option<&'a str>,
}

struct Page<'a> {
    root: &'a Value,
    sections: Vec<Section<'a>>,
}

/// The page in Markdown.
pub fn keys_page() -> String {
    page_of(schema(), HEAD)
}

/// The page of the keys of a file with the schema `root`, below `head`.
pub(crate) fn page_of(root: &Value, head: &str) -> String {
    let mut page = Page { root, sections: Vec::new() };
    page.sections.push(Section { title: "The file".to_owned(), schema: root, definition: None });
    let mut text = head.to_owned();
    let mut next = 0;
    while next < page.sections.len() {
        let (title, schema) = (page.sections[next].title.clone(), page.sections[next].schema);
        let _ = write!(text, "\n## {title}\n\n");
        if title == LAWS {
            text.push_str(
                "A *value* is written as the key that it is drawn for: a number, or a text with its unit.\n\n",
            );
        }
        page.section(&mut text, if next == 0 { "" } else { title.trim_matches('`') }, schema);
        next += 1;
    }
    text
}

impl<'a> Page<'a> {
    fn section(&mut self, text: &mut String, path: &str, schema: &'a Value) {
        let kinds: Vec<&'a Value> = self.kinds(schema).collect();
        if kinds.is_empty() {
            if let Some(rules) = schema["allOf"].as_array() {
                let _ = write!(text, "Keys of each `kind`:\n\n");
                for rule in rules {
                    let Some(kind) = rule["if"]["properties"]["kind"]["const"].as_str() else { continue };
                    let keys = rule["then"]["propertyNames"]["enum"].as_array().into_iter().flatten();
                    let keys = keys.filter_map(Value::as_str).filter(|key| *key != "kind");
                    let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
                    let _ = writeln!(text, "- `{kind}`: {}", keys.join(", "));
                }
                text.push('\n');
            }
            return self.table(text, path, schema);
        }
        for kind in kinds {
            let Some((tag, name)) = kind_of(kind) else { continue };
            let _ = write!(text, "\n### `{tag} = \"{name}\"`\n\n");
            if let Some(meaning) = kind["description"].as_str() {
                let _ = write!(text, "{}\n\n", line(meaning));
            }
            self.table(text, path, kind);
        }
    }

    fn table(&mut self, text: &mut String, path: &str, schema: &'a Value) {
        let needed: Vec<&str> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let Some(keys) = schema["properties"].as_object() else { return };
        let rows: Vec<_> = keys.iter().filter(|(_, value)| value.get("const").is_none()).collect();
        if rows.is_empty() {
            text.push_str("No further keys.\n\n");
            return;
        }
        text.push_str("| key | value | meaning |\n|---|---|---|\n");
        for (key, value) in rows {
            let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let kind = self.value(&below, value);
            let meaning = line(value["description"].as_str().unwrap_or_default());
            let needed = if needed.contains(&key.as_str()) { " *Needed.*" } else { "" };
            let _ = writeln!(text, "| `{key}` | {kind} | {meaning}{needed} |");
        }
    }

    /// The tables that a schema is one of, by their `kind`.
    fn kinds(&self, schema: &'a Value) -> impl Iterator<Item = &'a Value> + use<'a> {
        let root = self.root;
        let inner = move |branch| {
            let branch = resolve(root, branch);
            let deeper: Vec<&'a Value> = alternatives(branch).collect();
            if deeper.is_empty() { vec![branch] } else { deeper }
        };
        let all = alternatives(schema).flat_map(inner).map(move |branch| resolve(root, branch));
        all.filter(|branch| kind_of(branch).is_some())
    }

    /// What a value can be.
    fn value(&mut self, path: &str, schema: &'a Value) -> String {
        let definition = schema.get("$ref").and_then(Value::as_str);
        let (stated, schema) = (schema, resolve(self.root, schema));
        let words = words_of(self.root, schema);
        if !words.is_empty() {
            return words.join(", ");
        }
        if path.starts_with(LAWS) && schema["format"].as_str().is_some_and(|format| format != "double") {
            return "value".to_owned();
        }
        let forms: Vec<&'a Value> = alternatives(schema).collect();
        if !forms.is_empty() {
            if self.kinds(schema).next().is_some() && forms.iter().all(|form| is_table(self.root, form)) {
                return self.see(path, schema, definition);
            }
            let all: Vec<String> = forms.iter().flat_map(|form| words_of(self.root, form)).collect();
            if forms.iter().all(|form| !words_of(self.root, form).is_empty()) {
                return all.join(", ");
            }
            let mut said: Vec<String> = Vec::new();
            for form in forms {
                let form = self.value(path, form);
                if !said.contains(&form) {
                    said.push(form);
                }
            }
            narrowed(&mut said, stated);
            return said.join(", or ");
        }
        match schema["type"].as_str() {
            Some("string") => match (schema["description"].as_str(), example(stated).or_else(|| example(schema))) {
                (meaning, Some(example)) => match meaning.filter(|_| schema.get("pattern").is_some()) {
                    Some(meaning) => {
                        let bounds = Bounds::of(stated).map(|bounds| format!(", {}", bounds.in_words()));
                        format!("{meaning}{}: `\"{example}\"`", bounds.unwrap_or_default())
                    }
                    None => format!("text: `\"{example}\"`"),
                },
                (_, None) => "text".to_owned(),
            },
            // What a number of 32 or 64 bits can hold is no bound that a reader asks for.
            Some("integer") => match (
                schema["minimum"].as_i64(),
                schema["maximum"].as_i64().filter(|most| ![u32::MAX.into(), i64::MAX].contains(most)),
            ) {
                (Some(least), Some(most)) => format!("whole number, {least} to {most}"),
                (Some(least), None) => format!("whole number, {least} or more"),
                _ => "whole number".to_owned(),
            },
            Some("number") => {
                // What 64 bits can hold is no bound that a reader asks for.
                let bounds =
                    number_bounds(schema).filter(|_| schema["maximum"].as_f64().is_none_or(|most| most < 1e18));
                bounds.map_or_else(|| "number".to_owned(), |bounds| format!("number {bounds}"))
            }
            Some("boolean") => "`true`, `false`".to_owned(),
            Some("array") => match schema.get("items").filter(|items| items.is_object()) {
                Some(items) if is_table(self.root, items) => {
                    let one = self.value(&format!("{path}[]"), items);
                    format!("list of tables, {}", one.trim_start_matches("table, "))
                }
                Some(items) => format!("list: {}", self.value(path, items)),
                None => match schema["prefixItems"].as_array() {
                    Some(items) => {
                        let items: Vec<String> = items.iter().map(|item| self.value(path, item)).collect();
                        format!("list of {}: {}", items.len(), items.join(", "))
                    }
                    None => "list".to_owned(),
                },
            },
            Some("object") => self.see(path, schema, definition),
            _ => "any".to_owned(),
        }
    }

    /// Refers to the section of a table, and begins it if there is none.
    fn see(&mut self, path: &str, schema: &'a Value, definition: Option<&'a str>) -> String {
        // Distributions of all quantities have the same keys.
        let is_law = definition.is_some_and(|name| name.contains("distribution-of-"));
        let is_known = |section: &&Section<'_>| match is_law {
            true => section.title == LAWS,
            false => definition.is_some() && section.definition == definition,
        };
        let title = match self.sections.iter().find(is_known) {
            Some(section) => section.title.clone(),
            None => {
                let title = if is_law { LAWS.to_owned() } else { format!("`{path}`") };
                self.sections.push(Section { title: title.clone(), schema, definition });
                title
            }
        };
        let anchor =
            title.to_lowercase().replace(' ', "-").replace(|c: char| !(c.is_alphanumeric() || "-_".contains(c)), "");
        format!("table, see [{title}](#{anchor})")
    }
}

/// Says the bounds of a key, which are narrower than those of its forms, of its text and of its number.
fn narrowed(forms: &mut [String], key: &Value) {
    if let Some(bounds) = Bounds::of(key)
        && let Some(text) = forms.iter_mut().find(|form| form.contains(": `\""))
        && let Some((meaning, example)) = text.split_once(": `\"")
    {
        let meaning = meaning.strip_suffix(", above zero").unwrap_or(meaning);
        *text = format!("{meaning}, {}: `\"{example}", bounds.in_words());
    }
    if let Some(bounds) = number_bounds(key)
        && let Some(number) = forms.iter_mut().find(|form| form.starts_with("number"))
    {
        *number = format!("number {bounds}");
    }
}

fn example(schema: &Value) -> Option<&str> {
    schema["examples"][0].as_str()
}

/// Heading of the section of distributions.
const LAWS: &str = "Distributions";

fn words_of(root: &Value, schema: &Value) -> Vec<String> {
    words(resolve(root, schema)).map(|word| format!("`\"{word}\"`")).collect()
}

fn is_table(root: &Value, schema: &Value) -> bool {
    let schema = resolve(root, schema);
    let mut branches = alternatives(schema).peekable();
    match branches.peek() {
        Some(_) => branches.all(|branch| is_table(root, branch)),
        None => schema["type"] == "object",
    }
}

/// A text in one line, with what would end a cell escaped.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_docs_is_the_schemas() {
        let page = include_str!("../../../../docs/reference/keys.md");
        assert_eq!(page, keys_page(), "cargo run -p flowloom --example keys_page > docs/reference/keys.md");
    }
}
