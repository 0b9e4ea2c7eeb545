//! The schema of keys, and the checks of the forms of texts that it names: for every reader of keys.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::Value;

use flowloom_core::distribution::Distribution;
use flowloom_core::keys::walk::Checks;
use flowloom_core::keys::{AboveZero, Drawn, Optional, Quantity, Share, Size, Span, Written};
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
    schema
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

/// Whether a value has a form; the problem if not.
pub type Check = fn(&Value) -> Result<(), String>;

/// The check of a value that is read as `T`.
///
/// # Errors
/// It means nothing; why.
pub fn means<T: DeserializeOwned>(value: &Value) -> Result<(), String> {
    T::deserialize(value).map(|_| ()).map_err(|error: serde_json::Error| error.to_string())
}

/// What the values of each `format` are read as, of the keys of queues, TCP, paths and networks.
pub const FORMATS: [(&str, Check); 22] = [
    (AboveZero::FORMAT, means::<Quantity<AboveZero>>),
    (Duration::FORMAT, means::<Quantity<Duration>>),
    (Span::FORMAT, means::<Quantity<Span>>),
    (Rate::FORMAT, means::<Quantity<Rate>>),
    (Limit::FORMAT, means::<Quantity<Limit>>),
    (Size::FORMAT, means::<Quantity<Size>>),
    (Share::FORMAT, means::<Quantity<Share>>),
    (Optional::<Duration>::FORMAT, means::<Quantity<Optional<Duration>>>),
    (Optional::<Size>::FORMAT, means::<Quantity<Optional<Size>>>),
    (RateChoice::FORMAT, means::<Quantity<RateChoice>>),
    (Target::FORMAT, means::<Quantity<Target>>),
    (Gain::FORMAT, means::<Quantity<Gain>>),
    (Bytes::FORMAT, means::<Quantity<Bytes>>),
    ("drawn-time", means::<Drawn<Duration>>),
    ("drawn-span", means::<Drawn<Span>>),
    ("drawn-rate", means::<Drawn<Rate>>),
    ("drawn-size", means::<Drawn<Size>>),
    ("drawn-share", means::<Drawn<Share>>),
    ("drawn-number", means::<Distribution>),
    ("loss", means::<Loss>),
    ("flow-loss", means::<FlowLoss>),
    ("bucket", means::<Bucket>),
];

/// The checks of [`FORMATS`].
pub const CHECKS: Checks<'static> =
    &|format, value| FORMATS.iter().find(|(name, _)| *name == format).map(|(_, check)| check(value));
