//! The registry file: read, with all its errors at once.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flowloom_core::keys::Written;
use flowloom_core::keys::walk::{Checks, Problem, ProblemKind, walk};
use flowloom_core::units::Rate;
use flowloom_monitor::registry::Date;
use flowloom_monitor::snmp::oid::Oid;
use flowloom_monitor::{MonitorError, Registry, idle_alerts};
use flowloom_sim::keys::schema::{self as keys, Check, counts};
use serde_json::Value;
use toml::de::DeTable;

use crate::error::{Error, decoded};
use crate::experiment::{explain, located, page_of, placed, pruned, schema_errors};

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = keys::schema::<Registry>();
    schema["title"] = "Registry of a monitor of Flowloom".into();
    schema
});

/// The JSON Schema (2020-12) of registries: every key with its type, meaning, unit and default.
pub fn registry_schema() -> &'static Value {
    &SCHEMA
}

const HEAD: &str = "\
# All keys of a registry

For readers who look up a key of the registry of a monitor. [monitor.md](../guide/monitor.md) explains the file, with an example. This
page comes from the schema (`flowloom schema registry`, which editors also read to complete and check registries); a test holds the two
together. `cargo run -p flowloom --example keys_page -- registry > docs/reference/registry.md` writes it.

A path of a key joins tables with dots and counts lists from 0: `target[1].port[0].name`. Texts stand in quotes. Every key may be left
out unless it is marked *needed*.
";

/// The page of all keys, `docs/reference/registry.md`.
pub fn registry_page() -> String {
    page_of(registry_schema(), HEAD)
}

/// What the values of the formats are read as that only registries have.
const FORMATS: [(&str, Check); 3] =
    [(Oid::FORMAT, counts::<Oid>), (Date::FORMAT, counts::<Date>), (Rate::FORMAT, counts::<Rate>)];

const CHECKS: Checks<'static> = &|format, value| {
    let own = FORMATS.iter().find(|(name, _)| *name == format).map(|(_, check)| check(value));
    own.or_else(|| (keys::CHECKS)(format, value))
};

/// Keys whose values no message shows.
const SECRETS: [&str; 3] = ["community", "authentication-key", "privacy-key"];

/// A registry, and where it is.
#[derive(Clone, Debug)]
pub struct Registered {
    /// Its keys.
    pub registry: Registry,
    /// The folder to which its paths are relative.
    pub base: PathBuf,
}

impl Registered {
    /// Reads the registry at `path`.
    ///
    /// # Errors
    /// It cannot be read; all that is wrong with it, each with its place.
    pub fn read(path: &Path) -> Result<Registered, Error> {
        let bytes = flowloom_store::regular::read(path).map_err(|error| Error::of_file(path, &error))?;
        let name = path.display().to_string();
        let text = decoded(bytes, &name, "a registry is a TOML file")?;
        let registry = Registered::parse(&text, &name)?;
        Ok(Registered { registry, base: flowloom_monitor::base_of(path) })
    }

    /// Reads the text of the file called `name`.
    ///
    /// # Errors
    /// All that is wrong with it, each with its place.
    pub fn parse(text: &str, name: &str) -> Result<Registry, Error> {
        let document = DeTable::parse(text).map_err(|error| explain(&error, text, name))?;
        let mut refused: Vec<Problem> = walk(&placed(document.get_ref()), registry_schema(), CHECKS);
        refused.sort_by_key(|problem| problem.place);
        let mut errors = schema_errors(&refused, text, name);
        for (error, problem) in errors.iter_mut().zip(&refused) {
            hide(error, problem);
        }
        let read = toml::from_str::<Registry>(text);
        let possible = match &read {
            Ok(registry) => registry.problems().into_iter().chain(idle_alerts(registry)).collect(),
            Err(_) => {
                let rest = toml::from_str(text)
                    .ok()
                    .and_then(|table| pruned::<Registry>(table, refused, (registry_schema(), CHECKS)));
                rest.map_or_else(Vec::new, |(registry, _)| registry.problems())
            }
        };
        let told: Vec<String> = errors.iter().filter_map(|error| error.key.clone()).collect();
        // A table of which a key was refused lacks that key.
        let follows = |key: &str| told.iter().any(|told| told == key || table_of(told) == table_of(key));
        let others = possible.into_iter().filter(|error| !follows(&error.key)).map(Error::from);
        errors.extend(others.map(|error| located(error, text, name)));
        match (Error::all(errors), read) {
            (Some(error), _) => Err(error.in_order()),
            (None, Ok(registry)) => Ok(registry),
            (None, Err(error)) => Err(explain(&error, text, name)),
        }
    }
}

/// The table that a key is in.
fn table_of(key: &str) -> &str {
    key.rsplit_once('.').map_or("", |(table, _)| table)
}

/// Takes what a secret is instead of a text out of an error.
fn hide(error: &mut Error, problem: &Problem) {
    let is_secret = problem.path.split_last().is_some_and(|(key, _)| SECRETS.contains(&key.as_str()));
    if is_secret && matches!(problem.kind, ProblemKind::Type { .. }) {
        error.cause = format!("{}: expected text in quotes", problem.path);
        error.hint = None;
    }
}

/// An error of the monitor.
pub(super) fn of_monitor(error: MonitorError) -> Error {
    match error {
        MonitorError::Store(error) => Error::of(error),
        MonitorError::Secret { .. } => Error::usage(error),
        other => Error::of(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::by_line;

    fn told(text: &str) -> String {
        by_line(Registered::parse(text, "r.toml").unwrap_err())
    }

    #[test]
    fn all_errors_come_at_once_with_line_and_hint() {
        let text = "\
intervall = \"60s\"
[[target]]
name = \"a\"
addresses = [\"127.0.0.1\"]
community = 47114711
interval = \"60\"
[[target]]
name = \"b\"
kind = \"locl\"
site = \"x\"
[[target]]
name = \"c\"
site = \"x\"
kind = \"local\"
[[target.counter]]
name = \"n\"
oid = \"1.3.x\"
unit = \"cells\"
";
        let said = told(text);
        for line in [
            "r.toml:1: unknown key \"intervall\"",
            "  hint: did you mean \"interval\"?",
            "r.toml:5: target[0].community: expected text in quotes",
            "r.toml:6: target[0].interval: \"60\" is not a time",
            "r.toml:9: target[1].kind: unknown word \"locl\"",
            "  hint: did you mean \"local\"?",
            "r.toml:13: target[2].site: no site is named \"x\"",
            "r.toml:17: target[2].counter[0].oid: \"1.3.x\" is not an object identifier",
        ] {
            assert!(said.contains(line), "{line}:\n{said}");
        }
        assert!(!said.contains("4711"), "{said}");
    }

    #[test]
    fn alerts_that_never_act_are_errors() {
        let said = told(
            "[[target]]\nname = \"a\"\nkind = \"local\"\n[[alert]]\nname = \"busy\"\ncounter = \"inn\"\nabove = 1\ncommand = [\"true\"]\n",
        );
        assert!(said.contains("r.toml:6: alert[0].counter: no target has a counter \"inn\""), "{said}");
    }

    #[test]
    fn secrets_are_in_no_error() {
        for text in ["community = \"hush", "community = hush", "[[target]]\nname = \"a\"\ncommunity = [\"hush\"]\n"] {
            assert!(!told(text).contains("hush"), "{}", told(text));
        }
        let user = "[[target]]\nname = \"a\"\naddresses = [\"h\"]\n[target.user]\nname = \"u\"\nauthentication-key = \"hush\"\n";
        let said = told(user);
        assert!(said.contains("authentication-key is too short") && !said.contains("hush"), "{said}");
    }

    #[test]
    fn the_page_has_every_key() {
        let page = include_str!("../../../../docs/reference/registry.md");
        let command = "cargo run -p flowloom --example keys_page -- registry > docs/reference/registry.md";
        assert_eq!(page, registry_page(), "{command}");
    }

    #[test]
    fn every_format_has_a_check() {
        fn formats(schema: &Value, found: &mut Vec<String>) {
            match schema {
                Value::Object(keys) => {
                    found.extend(keys.get("format").and_then(Value::as_str).map(str::to_owned));
                    keys.values().for_each(|value| formats(value, found));
                }
                Value::Array(items) => items.iter().for_each(|item| formats(item, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        formats(registry_schema(), &mut found);
        let known = |name: &String| {
            ["uint32", "uint64", "double"].contains(&name.as_str())
                || FORMATS.iter().chain(&keys::FORMATS).any(|(format, _)| format == name)
        };
        let unknown: Vec<&String> = found.iter().filter(|name| !known(name)).collect();
        assert!(found.len() > 5 && unknown.is_empty(), "{unknown:?}");
    }
}
