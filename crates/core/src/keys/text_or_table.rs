//! Values that an experiment file writes either as a text or as a table.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Error, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

/// What can be written either way.
pub trait TextOrTable: Sized {
    /// What a reader of the file is told when it is neither.
    const EXPECTED: &'static str;
    /// The table.
    type Table: DeserializeOwned;

    /// From the text, or what is wrong with it.
    fn of_text(text: &str) -> Result<Self, String>;

    /// From a plain number, or what is wrong with it; `None` where none may stand.
    fn of_number(_: f64) -> Option<Result<Self, String>> {
        None
    }

    /// From the table, or what is wrong with it.
    fn of_table(table: Self::Table) -> Result<Self, String>;
}

/// Reads one.
pub fn read<'de, T: TextOrTable, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    struct Either<T>(PhantomData<T>);

    impl<T: TextOrTable> Either<T> {
        fn number<E: Error>(&self, number: f64, unexpected: Unexpected<'_>) -> Result<T, E> {
            T::of_number(number).ok_or_else(|| E::invalid_type(unexpected, self))?.map_err(E::custom)
        }
    }

    impl<'de, T: TextOrTable> Visitor<'de> for Either<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(T::EXPECTED)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
            T::of_text(text).map_err(E::custom)
        }

        fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
            self.number(number as f64, Unexpected::Unsigned(number))
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
            self.number(number as f64, Unexpected::Signed(number))
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
            self.number(number, Unexpected::Float(number))
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::of_table(Deserialize::deserialize(MapAccessDeserializer::new(map))?).map_err(A::Error::custom)
        }
    }

    deserializer.deserialize_any(Either(PhantomData))
}
