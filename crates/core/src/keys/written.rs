//! What the schema of keys says of values that are written as one text.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::drawn::{Drawn, Number, Share, Size, Span};
use super::form::{Written, text_or_other};
use super::quantity::Quantity;
use super::{AboveZero, Optional};
use crate::distribution::WrittenLaw;
use crate::time::Duration;
use crate::units::{Limit, Rate};

/// A decimal number.
const NUMBER: &str = r"([0-9]+\.?[0-9]*|\.[0-9]+)";

/// A regular expression for a decimal number above zero.
pub const POSITIVE: &str = r"(0*[1-9][0-9]*\.?[0-9]*|[0-9]*\.0*[1-9][0-9]*)";

/// A number and one of these units in any case, which spaces may separate.
fn scaled(number: &str, units: &[&str]) -> String {
    let any_case = |unit: &&str| {
        let letters = unit.chars().map(|c| format!("[{}{}]", c.to_ascii_lowercase(), c.to_ascii_uppercase()));
        letters.collect::<String>()
    };
    let units: Vec<String> = units.iter().map(any_case).collect();
    format!(r"{number}\s*({})", units.join("|"))
}

/// Units of times.
const TIMES: [&str; 6] = ["ns", "us", "ms", "s", "min", "h"];

/// Units of bytes.
const BYTES: [&str; 7] = ["b", "k", "kb", "m", "mb", "g", "gb"];

impl Written for Duration {
    const FORMAT: &'static str = "time";
    const MEANING: &'static str = "a time with its unit";
    const EXAMPLES: &'static [&'static str] = &["20ms", "1.5s", "10min"];

    fn pattern() -> String {
        scaled(NUMBER, &TIMES)
    }
}

impl Written for AboveZero {
    const FORMAT: &'static str = "time-above-zero";
    const MEANING: &'static str = "a time above zero with its unit";
    const EXAMPLES: &'static [&'static str] = Duration::EXAMPLES;

    fn pattern() -> String {
        scaled(POSITIVE, &TIMES)
    }
}

impl Written for Span {
    const FORMAT: &'static str = "span";
    const MEANING: &'static str = Duration::MEANING;
    const EXAMPLES: &'static [&'static str] = Duration::EXAMPLES;

    fn pattern() -> String {
        Duration::pattern()
    }
}

impl Written for Rate {
    const FORMAT: &'static str = "rate";
    const MEANING: &'static str = "a bit rate with its unit";
    const EXAMPLES: &'static [&'static str] = &["496mbit", "1.5 Gbit/s"];
    const PLAIN: Option<&'static str> = Some("bit/s");

    fn pattern() -> String {
        format!(r"unlimited|{POSITIVE}\s*({})", Rate::UNITS)
    }
}

impl Written for Limit {
    const FORMAT: &'static str = "limit";
    const MEANING: &'static str = "a number of packets or bytes with its unit";
    const EXAMPLES: &'static [&'static str] = &["200p", "64k"];

    fn pattern() -> String {
        format!(r"\+?[0-9]+p|{}", scaled(NUMBER, &BYTES))
    }
}

impl Written for Size {
    const FORMAT: &'static str = "size";
    const MEANING: &'static str = "a number of bytes with its unit";
    const EXAMPLES: &'static [&'static str] = &["1000b", "64k", "4m"];

    fn pattern() -> String {
        scaled(NUMBER, &BYTES)
    }
}

impl Written for Share {
    const FORMAT: &'static str = "share";
    const MEANING: &'static str = "a share of 0% to 100%";
    const EXAMPLES: &'static [&'static str] = &["0.1%", "1%"];

    fn pattern() -> String {
        // At most 100, or with an exponent, of which a pattern cannot tell.
        format!(r"\+?(0*[0-9]{{1,2}}(\.[0-9]*)?|0*100(\.0*)?|\.[0-9]+|{NUMBER}[eE][+-]?[0-9]+) *%")
    }
}

impl Written for Optional<Duration> {
    const FORMAT: &'static str = "time-or-off";
    const MEANING: &'static str = "a time with its unit, or off";
    const EXAMPLES: &'static [&'static str] = &["40ms", "off"];

    fn pattern() -> String {
        format!("off|{}", Duration::pattern())
    }
}

impl Written for Optional<Size> {
    const FORMAT: &'static str = "size-or-off";
    const MEANING: &'static str = "a number of bytes with its unit, or off";
    const EXAMPLES: &'static [&'static str] = &["128k", "off"];

    fn pattern() -> String {
        format!("off|{}", Size::pattern())
    }
}

/// The schema of a text, or of the plain number that may stand instead.
pub fn text<T: Written>() -> Schema {
    let text = json_schema!({
        "type": "string",
        "format": T::FORMAT,
        "description": T::MEANING,
        "pattern": format!("^({})$", T::pattern()),
        "examples": T::EXAMPLES,
    });
    let Some(unit) = T::PLAIN else { return text };
    let number = json_schema!({ "type": "number", "description": format!("a number of {unit}") });
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
        text_or_other(&Self::schema_name(), &format!("{}, or the distribution it is drawn from", T::MEANING), forms)
    }
}
