//! TOML as the walk along the schema takes it: with the places of a text, or without any.

use serde_json::{Number, Value as Json};
use toml::Value;
use toml::de::{DeTable, DeValue};

use flowloom_core::keys::walk::{Node, NodeValue, as_whole};

/// The keys of a file, each with its place in the text.
pub fn placed(keys: &DeTable<'_>) -> Node {
    Node { place: 0, value: placed_table(keys) }
}

fn placed_table(table: &DeTable<'_>) -> NodeValue {
    let keys = table.iter().map(|(key, value)| {
        let node = Node { place: value.span().start, value: placed_value(value.get_ref()) };
        (key.get_ref().to_string(), key.span().start, node)
    });
    NodeValue::Table(keys.collect())
}

fn placed_value(value: &DeValue<'_>) -> NodeValue {
    match value {
        DeValue::Table(inner) => placed_table(inner),
        DeValue::Array(items) => NodeValue::List(
            items.iter().map(|item| Node { place: item.span().start, value: placed_value(item.get_ref()) }).collect(),
        ),
        DeValue::String(text) => NodeValue::Plain(text.as_ref().into()),
        DeValue::Boolean(switch) => NodeValue::Plain((*switch).into()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map_or(NodeValue::Foreign("a number of more than 64 bits"), |number| NodeValue::Plain(number.into())),
        DeValue::Float(number) => number.as_str().parse().map_or(NOT_FINITE, float),
        DeValue::Datetime(_) => DATE,
    }
}

/// The same with `1.0` as `1`: JSON Schema counts it among whole numbers, and what reads a number takes either.
pub fn with_whole_numbers(value: Value) -> Value {
    match value {
        Value::Float(number) => as_whole(number).map_or(value, Value::Integer),
        Value::Array(items) => Value::Array(items.into_iter().map(with_whole_numbers).collect()),
        Value::Table(table) => {
            Value::Table(table.into_iter().map(|(key, value)| (key, with_whole_numbers(value))).collect())
        }
        other => other,
    }
}

/// A value without places.
pub fn unplaced(value: &Value) -> Node {
    let value = match value {
        Value::Table(table) => {
            NodeValue::Table(table.iter().map(|(key, value)| (key.clone(), 0, unplaced(value))).collect())
        }
        Value::Array(items) => NodeValue::List(items.iter().map(unplaced).collect()),
        Value::String(text) => NodeValue::Plain(text.as_str().into()),
        Value::Boolean(switch) => NodeValue::Plain((*switch).into()),
        Value::Integer(number) => NodeValue::Plain((*number).into()),
        Value::Float(number) => float(*number),
        Value::Datetime(_) => DATE,
    };
    Node { place: 0, value }
}

/// JSON has no such values.
const NOT_FINITE: NodeValue = NodeValue::Foreign("nan or an infinite number");
const DATE: NodeValue = NodeValue::Foreign("a date");

fn float(number: f64) -> NodeValue {
    Number::from_f64(number).map_or(NOT_FINITE, |number| NodeValue::Plain(Json::Number(number)))
}
