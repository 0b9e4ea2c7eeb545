//! Names in leaves: they mean the same with any capitals, and with or without `-` and `_`.

use super::super::diagnostic::Diagnostic;
use super::super::tree::{Form, Function, Parameter, Value};

/// A name without regard to capitals, `-` and `_`.
fn plain(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().filter(|byte| !b"-_".contains(byte)).map(|byte| byte.to_ascii_lowercase())
}

/// Whether two names mean the same.
pub fn same_name(one: &str, other: &str) -> bool {
    plain(one).eq(plain(other))
}

/// A value as a function: a name is one without arguments.
pub fn as_function(value: &Value) -> Option<Function> {
    match value {
        Value::Function(function) => Some(function.clone()),
        Value::Word(word) if word.form == Form::Identifier => {
            Some(Function { name: word.text.clone(), place: word.place, arguments: Vec::new() })
        }
        _ => None,
    }
}

/// A parameter that is a function, or a name, which is one without arguments; `example` shows how it is written.
pub fn named_function(parameter: &Parameter, example: &str, found: &mut Vec<Diagnostic>) -> Option<Function> {
    let function = as_function(&parameter.value);
    if function.is_none() {
        let message = format!("{} is a name with arguments", parameter.name);
        found.push(Diagnostic::error(parameter.value.place(), message).hint(example));
    }
    function
}
