//! Quantities as experiments spell them.

use std::fmt::{self, Display};
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

impl<'de, T: FromStr<Err = ParseQuantityError>> Deserialize<'de> for Quantity<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
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
