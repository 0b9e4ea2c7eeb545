//! What all answers in JSON have in common.

use serde_json::Value;

/// The version of all answers (`docs/reference/json.md`): it grows when a field is renamed, goes, or changes its meaning.
pub const JSON_VERSION: u64 = 1;

/// An answer with its version; one that is a list of answers has it in each.
pub fn versioned(mut answer: Value) -> Value {
    match &mut answer {
        Value::Object(fields) => drop(fields.insert("json_version".to_owned(), JSON_VERSION.into())),
        Value::Array(answers) => answers.iter_mut().for_each(|one| *one = versioned(one.take())),
        _ => {}
    }
    answer
}
