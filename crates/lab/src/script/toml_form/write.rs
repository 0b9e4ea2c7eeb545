//! A tree as TOML.

use std::fmt::Write;

use super::super::tree::{Argument, Block, Body, Child, Form, Value};
use super::super::word;

/// The key of a table that holds a quoted text which would otherwise be read as a word: `{ string = "udp" }`.
pub const STRING: &str = "string";

/// The TOML of a script or of a file that one includes.
pub fn write(body: &Body) -> String {
    let mut out = String::new();
    match body.children.as_slice() {
        [Child::Block(block)] if body.lets.is_empty() && body.parameters.is_empty() => write_block(&mut out, block, ""),
        _ => write_body(&mut out, body, ""),
    }
    // Headers have an empty line before them.
    match out.strip_prefix('\n') {
        Some(rest) => rest.to_owned(),
        None => out,
    }
}

/// The keys of a block; those of tables in it begin with `path`.
fn write_block(out: &mut String, block: &Block, path: &str) {
    let _ = writeln!(out, "block = {}", quoted(&block.keyword));
    if let Some(address) = &block.address {
        let _ = writeln!(out, "address = {}", quoted(&address.text));
    }
    write_body(out, &block.body, path);
}

fn write_body(out: &mut String, body: &Body, path: &str) {
    if !body.lets.is_empty() {
        let _ = writeln!(out, "\n[{path}let]");
    }
    for one in &body.lets {
        let _ = writeln!(out, "{} = {}", one.name, value(&one.value));
    }
    if !body.parameters.is_empty() {
        let _ = writeln!(out, "\n[{path}parameters]");
    }
    for parameter in &body.parameters {
        let _ = writeln!(out, "{} = {}", parameter.name, value(&parameter.value));
    }
    for child in &body.children {
        let _ = writeln!(out, "\n[[{path}children]]");
        match child {
            Child::Block(block) => write_block(out, block, &format!("{path}children.")),
            Child::Include(include) => drop(writeln!(out, "include = {}", quoted(&include.file))),
        }
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::Function(function) => {
            let argument = |argument: &Argument| format!("{} = {}", argument.name, self::value(&argument.value));
            let arguments: Vec<String> = function.arguments.iter().map(argument).collect();
            match arguments.is_empty() {
                true => format!("{{ {} = {{}} }}", function.name),
                false => format!("{{ {} = {{ {} }} }}", function.name, arguments.join(", ")),
            }
        }
        Value::List(list) => format!("[{}]", list.items.iter().map(self::value).collect::<Vec<_>>().join(", ")),
        Value::Text(text) if word::is_word(&text.text) => format!("{{ {STRING} = {} }}", quoted(&text.text)),
        Value::Text(text) => quoted(&text.text),
        Value::Word(word) if word.form == Form::Quantity && is_number(&word.text) => word.text.clone(),
        Value::Word(word) if ["true", "false"].contains(&word.text.as_str()) => word.text.clone(),
        Value::Word(word) => quoted(&word.text),
    }
}

/// Whether TOML has the number `text` as it is: no zeros before it, no multiplier, digits before the point, and no more than 64 bits.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let whole = digits.bytes().take_while(u8::is_ascii_digit).count();
    let leads = whole == 0 || whole > 18 || (whole > 1 && digits.starts_with('0'));
    !leads && digits.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
