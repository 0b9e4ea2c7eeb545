//! Quantities as experiments spell them.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{self, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::form::Written;
use crate::units::ParseQuantityError;

/// A quantity kept with the words the user chose, so that the resolved experiment reads as it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantity<T> {
    text: String,
    /// What it means.
    pub value: T,
}

impl<T> Display for Quantity<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl<T: FromStr<Err = ParseQuantityError>> FromStr for Quantity<T> {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Quantity { text: text.to_owned(), value: text.parse()? })
    }
}

/// Reads a text, or a plain number where [`Written::PLAIN`] says what it counts.
impl<'de, T: Written> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrNumber<T>(PhantomData<T>);

        impl<T: Written> TextOrNumber<T> {
            fn number<E: de::Error>(number: impl Display, unexpected: Unexpected<'_>) -> Result<Quantity<T>, E> {
                let unit = T::PLAIN.ok_or_else(|| E::invalid_type(unexpected, &T::MEANING))?;
                format!("{number}{unit}").parse().map_err(E::custom)
            }
        }

        impl<T: Written> Visitor<'_> for TextOrNumber<T> {
            type Value = Quantity<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(T::MEANING)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Quantity<T>, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Quantity<T>, E> {
                Self::number(number, Unexpected::Unsigned(number))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Quantity<T>, E> {
                Self::number(number, Unexpected::Signed(number))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Quantity<T>, E> {
                Self::number(number, Unexpected::Float(number))
            }
        }

        deserializer.deserialize_any(TextOrNumber(PhantomData))
    }
}

impl<T> Serialize for Quantity<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.text.serialize(serializer)
    }
}

impl<T: FromStr<Err = ParseQuantityError>> Quantity<T> {
    /// A default written in this file; it parses, or the tests fail.
    pub fn of(text: impl Display) -> Quantity<T> {
        text.to_string().parse().unwrap_or_else(|error| unreachable!("default: {error}"))
    }
}
