//! What the schema of keys says of values that are written as one text.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::amount::Amount;
use super::drawn::{Drawn, Number, Share, Size, Span};
use super::form::{Optional, Written, text_or_other};
use super::quantity::Quantity;
use crate::distribution::WrittenLaw;
use crate::time::Duration;
use crate::units::{Limit, Rate};

/// A decimal number.
const NUMBER: &str = r"([0-9]+\.?[0-9]*|\.[0-9]+)";

/// A regular expression for a decimal number above zero.
pub const POSITIVE: &str = r"(0*[1-9][0-9]*\.?[0-9]*|[0-9]*\.0*[1-9][0-9]*)";

/// A number and one of these units, which spaces may separate.
fn scaled(number: &str, units: &[(String, u64)]) -> String {
    let units: Vec<&str> = units.iter().map(|(unit, _)| unit.as_str()).collect();
    format!(r"{number}\s*({})", units.join("|"))
}

/// The units of what an amount counts, as regular expressions, with how many of the smallest one they are.
pub fn units_of(amount: Amount) -> Vec<(String, u64)> {
    match amount {
        Amount::Time(_) => in_any_case(&Duration::UNITS),
        Amount::Bytes(_) => in_any_case(&Limit::UNITS),
        Amount::Packets(_) => vec![("p".to_owned(), 1)],
        Amount::Rate(_) => Rate::units(),
    }
}

/// Units as regular expressions that match them in any case.
fn in_any_case(units: &[(&str, u64)]) -> Vec<(String, u64)> {
    let any_case = |unit: &str| {
        let letters = unit.chars().map(|c| format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()));
        letters.collect::<String>()
    };
    units.iter().map(|(unit, scale)| (any_case(unit), *scale)).collect()
}

impl Written for Duration {
    const FORMAT: &'static str = "time";
    const MEANING: &'static str = "a time with its unit";
    const EXAMPLES: &'static [&'static str] = &["20ms", "1.5s", "10min"];

    fn pattern() -> String {
        scaled(NUMBER, &in_any_case(&Duration::UNITS))
    }

    fn amount(&self) -> Option<Amount> {
        Some((*self).into())
    }
}

impl Written for Span {
    const FORMAT: &'static str = "span";
    const MEANING: &'static str = Duration::MEANING;
    const EXAMPLES: &'static [&'static str] = Duration::EXAMPLES;

    fn pattern() -> String {
        Duration::pattern()
    }

    fn amount(&self) -> Option<Amount> {
        self.0.amount()
    }
}

impl Written for Rate {
    const FORMAT: &'static str = "rate";
    const MEANING: &'static str = "a bit rate with its unit";
    const EXAMPLES: &'static [&'static str] = &["496mbit", "1.5 Gbit/s"];
    const PLAIN: Option<&'static str> = Some("bit/s");

    fn pattern() -> String {
        format!("unlimited|{}", scaled(POSITIVE, &Rate::units()))
    }

    fn amount(&self) -> Option<Amount> {
        Amount::of_rate(*self)
    }
}

impl Written for Limit {
    const FORMAT: &'static str = "limit";
    const MEANING: &'static str = "a number of packets or bytes with its unit";
    const EXAMPLES: &'static [&'static str] = &["200p", "64k"];

    fn pattern() -> String {
        format!(r"\+?[0-9]+p|{}", scaled(NUMBER, &in_any_case(&Limit::UNITS)))
    }

    fn amount(&self) -> Option<Amount> {
        Some((*self).into())
    }
}

impl Written for Size {
    const FORMAT: &'static str = "size";
    const MEANING: &'static str = "a number of bytes with its unit";
    const EXAMPLES: &'static [&'static str] = &["1000b", "64k", "4m"];

    fn pattern() -> String {
        scaled(NUMBER, &in_any_case(&Limit::UNITS))
    }

    fn amount(&self) -> Option<Amount> {
        Some(Amount::Bytes(self.0))
    }
}

impl Written for Share {
    const FORMAT: &'static str = "share";
    const MEANING: &'static str = "a share of 0% to 100%";
    const EXAMPLES: &'static [&'static str] = &["0.1%", "1%"];

    fn pattern() -> String {
        r"\+?(0*[0-9]{1,2}(\.[0-9]*)?|0*100(\.0*)?|\.[0-9]+)([eE]-[0-9]+)? *%".to_owned()
    }
}

impl Written for Optional<Duration> {
    const FORMAT: &'static str = "time-or-off";
    const MEANING: &'static str = "a time with its unit, or off";
    const EXAMPLES: &'static [&'static str] = &["40ms", "off"];

    fn pattern() -> String {
        format!("off|{}", Duration::pattern())
    }

    fn amount(&self) -> Option<Amount> {
        self.0.as_ref()?.amount()
    }
}

impl Written for Optional<Size> {
    const FORMAT: &'static str = "size-or-off";
    const MEANING: &'static str = "a number of bytes with its unit, or off";
    const EXAMPLES: &'static [&'static str] = &["128k", "off"];

    fn pattern() -> String {
        format!("off|{}", Size::pattern())
    }

    fn amount(&self) -> Option<Amount> {
        self.0.as_ref()?.amount()
    }
}

/// The schema of a text, or of the plain number that may stand instead.
pub fn text<T: Written>() -> Schema {
    let mut text = json_schema!({
        "type": "string",
        "format": T::FORMAT,
        "description": T::MEANING,
        "pattern": format!("^({})$", T::pattern()),
        "examples": T::EXAMPLES,
    });
    let Some(unit) = T::PLAIN else { return text };
    text.insert("least".to_owned(), format!("1{unit}").into());
    // Half a unit is rounded up to one; 64 bits hold what is below the largest.
    let number = json_schema!({
        "type": "number",
        "minimum": 1,
        "maximum": 9_000_000_000_000_000_000_u64,
        "description": format!("a number of {unit}"),
    });
    text_or_other(T::FORMAT, T::MEANING, vec![text, number])
}

impl<T: Written> JsonSchema for Quantity<T> {
    fn schema_name() -> Cow<'static, str> {
        T::FORMAT.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        text::<T>()
    }
}

impl<T: Number> JsonSchema for Drawn<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("drawn-{}", T::FORMAT).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let forms =
            vec![generator.subschema_for::<Quantity<T>>(), generator.subschema_for::<WrittenLaw<Quantity<T>>>()];
        let meaning = format!("{}, or the distribution it is drawn from", T::MEANING);
        let mut schema = text_or_other(&Self::schema_name(), &meaning, forms);
        for (keyword, bound) in [("least", T::LEAST), ("most", T::MOST)] {
            if let Some(bound) = bound {
                schema.insert(keyword.to_owned(), bound.into());
            }
        }
        if let Some(never) = T::NEVER {
            schema.insert("allOf".to_owned(), serde_json::json!([{ "not": { "const": never } }]));
        }
        schema
    }
}
