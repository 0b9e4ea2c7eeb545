//! The schema of keys, and the checks of the forms of texts that it names: for every reader of keys.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use flowloom_core::distribution::Distribution;
use flowloom_core::keys::walk::{Checks, resolve};
use flowloom_core::keys::{Amount, Bounds, Drawn, Number, Optional, Quantity, Share, Size, Span, Written};
use flowloom_core::path::CellFraming;
use flowloom_core::path::keys::{Bucket, Bytes, FlowLoss, Loss};
use flowloom_core::queue::keys::Target;
use flowloom_core::tcp::keys::Gain;
use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, Rate};

use super::RateChoice;

/// The JSON Schema (2020-12) of `T` as it is read. Keys without a value are left out: it has no null, which TOML lacks.
pub fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().for_deserialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    without_null(&mut schema);
    let definitions = schema.clone();
    bounded(&mut schema, &definitions);
    schema
}

/// Says the bounds of texts and of whole numbers in the words of JSON Schema, for other readers than ours, and gives examples
/// within the bounds.
fn bounded(schema: &mut Value, root: &Value) {
    if let Value::Array(items) = schema {
        return items.iter_mut().for_each(|item| bounded(item, root));
    }
    let said = Bounds::of(schema).map(|bounds| {
        let plain = bounds.of_plain_rates();
        let examples = resolve(root, schema)["examples"].as_array().map_or(&[][..], Vec::as_slice);
        let is_inside = |text: &&Value| {
            let amount = text.as_str().and_then(Amount::of_bound);
            amount.is_none_or(|amount| bounds.refuse(amount, "").is_none())
        };
        let mut inside: Vec<Value> = examples.iter().filter(is_inside).cloned().collect();
        if inside.is_empty() {
            inside.extend(bounds.example().map(Value::from));
        }
        let examples = (!examples.is_empty() && inside != examples).then_some(inside);
        (json!({ "type": "string", "pattern": bounds.pattern_outside() }), plain, examples)
    });
    let Value::Object(keys) = schema else { return };
    keys.values_mut().for_each(|value| bounded(value, root));
    if let Some((outside, [least, most], examples)) = said {
        keys.insert("not".to_owned(), outside);
        let numbers = [("minimum", least), ("maximum", most)];
        numbers
            .into_iter()
            .for_each(|(keyword, bound)| keys.extend(bound.map(|bound| (keyword.to_owned(), bound.into()))));
        keys.extend(examples.map(|examples| ("examples".to_owned(), examples.into())));
    }
    let most = match keys.get("format").and_then(Value::as_str) {
        Some("uint32") => Some(u64::from(u32::MAX)),
        // More is no number of TOML's.
        Some("uint64") => Some(i64::MAX as u64),
        _ => None,
    };
    if let Some(most) = most {
        keys.entry("maximum").or_insert_with(|| most.into());
    }
}

/// Takes out null.
fn without_null(schema: &mut Value) {
    let is_null = |schema: &Value| schema["type"] == "null";
    match schema {
        Value::Array(items) => items.iter_mut().for_each(without_null),
        Value::Object(keys) => {
            if let Some(Value::Array(types)) = keys.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    keys.insert("type".to_owned(), only);
                }
            }
            if let Some(Value::Array(branches)) = keys.get_mut("anyOf") {
                branches.retain(|branch| !is_null(branch));
                if let [Value::Object(only)] = &mut branches[..] {
                    let only = std::mem::take(only);
                    keys.remove("anyOf");
                    only.into_iter().for_each(|(key, value)| _ = keys.entry(key).or_insert(value));
                }
            }
            if keys.get("default").is_some_and(Value::is_null) {
                keys.remove("default");
            }
            keys.values_mut().for_each(without_null);
        }
        _ => {}
    }
}

/// Whether a value has a form: the amount that it is, if it is one, or the problem.
pub type Check = fn(&Value) -> Result<Option<Amount>, String>;

/// The check of a value that is read as `T`, which counts nothing.
///
/// # Errors
/// It means nothing; why.
pub fn means<T: DeserializeOwned>(value: &Value) -> Result<Option<Amount>, String> {
    read::<T>(value).map(|_| None)
}

/// The check of a quantity.
///
/// # Errors
/// It means nothing; why.
pub fn counts<T: Written>(value: &Value) -> Result<Option<Amount>, String> {
    read::<Quantity<T>>(value).map(|quantity| quantity.value.amount())
}

/// The check of a quantity that is constant or drawn.
///
/// # Errors
/// It means nothing; why.
pub fn draws<T: Number>(value: &Value) -> Result<Option<Amount>, String> {
    read::<Drawn<T>>(value).map(|drawn| drawn.amount())
}

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    T::deserialize(value).map_err(|error: serde_json::Error| error.to_string())
}

/// What the values of each `format` are read as, of the keys of queues, TCP, paths and networks.
pub const FORMATS: [(&str, Check); 22] = [
    (Duration::FORMAT, counts::<Duration>),
    (Span::FORMAT, counts::<Span>),
    (Rate::FORMAT, counts::<Rate>),
    (Limit::FORMAT, counts::<Limit>),
    (Size::FORMAT, counts::<Size>),
    (Share::FORMAT, counts::<Share>),
    (Optional::<Duration>::FORMAT, counts::<Optional<Duration>>),
    (Optional::<Size>::FORMAT, counts::<Optional<Size>>),
    (RateChoice::FORMAT, counts::<RateChoice>),
    (Target::FORMAT, counts::<Target>),
    (Gain::FORMAT, counts::<Gain>),
    (Bytes::FORMAT, counts::<Bytes>),
    (CellFraming::FORMAT, counts::<CellFraming>),
    ("drawn-time", draws::<Duration>),
    ("drawn-span", draws::<Span>),
    ("drawn-rate", draws::<Rate>),
    ("drawn-size", draws::<Size>),
    ("drawn-share", draws::<Share>),
    ("drawn-number", means::<Distribution>),
    ("loss", means::<Loss>),
    ("flow-loss", means::<FlowLoss>),
    ("bucket", means::<Bucket>),
];

/// The checks of [`FORMATS`].
pub const CHECKS: Checks<'static> =
    &|format, value| FORMATS.iter().find(|(name, _)| *name == format).map(|(_, check)| check(value));
