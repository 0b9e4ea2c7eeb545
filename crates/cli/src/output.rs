//! Standard output: the answer. A reader that went away (`flowloom ... | head`) is no error.

use std::io::{ErrorKind, IsTerminal, Write};

use serde::Serialize;
use serde_json::{Value, json};

use crate::args::Form;
use crate::failure::Failure;

/// Writes `text` as it is.
pub fn text(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::new(format_args!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// How much a command says, and in which form.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// Only errors.
    pub quiet: bool,
    /// Decisions explained.
    pub verbose: bool,
    /// The answer as JSON.
    pub form: Form,
}

impl Manner {
    /// That of a command whose answer is `object` in JSON, `text` otherwise.
    pub fn answer(self, object: impl FnOnce() -> Value, text: impl FnOnce() -> String) -> Result<(), Failure> {
        if self.form.json_stream {
            event(&json!({ "event": "end", "result": versioned(object()) }))
        } else if self.form.json {
            json(&object())
        } else if self.quiet {
            Ok(())
        } else {
            self::text(&text())
        }
    }

    /// Says that `command` begins, where that is asked for.
    pub fn start(self, command: &str) -> Result<(), Failure> {
        if !self.form.json_stream {
            return Ok(());
        }
        event(&json!({ "event": "start", "command": command, "version": env!("CARGO_PKG_VERSION") }))
    }

    /// Prints a warning with its remedy on standard error, unless quiet.
    pub fn warn(self, cause: &str, remedy: &str) {
        if !self.quiet {
            eprintln!("warning: {cause}\n  remedy: {remedy}");
        }
    }

    /// Explains decisions on standard error, if that is asked for.
    pub fn explain(self, text: impl FnOnce() -> String) {
        if self.verbose {
            eprint!("{}", text());
        }
    }
}

/// Writes `object` as one line.
pub fn event(object: &Value) -> Result<(), Failure> {
    text(&format!("{object}\n"))
}

/// The version of all answers (`docs/reference/json.md`): it grows when a field is renamed, goes, or changes its meaning.
pub const JSON_VERSION: u64 = 1;

/// Writes `object` as one indented JSON object, with the version of the answers.
pub fn json(object: &impl Serialize) -> Result<(), Failure> {
    let cannot = |error| Failure::new(format_args!("JSON: {error}"));
    let object = versioned(serde_json::to_value(object).map_err(cannot)?);
    text(&format!("{}\n", serde_json::to_string_pretty(&object).map_err(cannot)?))
}

/// An answer with its version; one that is a list of answers has it in each.
pub fn versioned(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(fields) => drop(fields.insert("json_version".to_owned(), JSON_VERSION.into())),
        Value::Array(answers) => answers.iter_mut().for_each(|one| *one = versioned(one.take())),
        _ => {}
    }
    answer
}

/// Whether text for standard output may be coloured: it goes to a terminal and NO_COLOR is not set.
pub fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
