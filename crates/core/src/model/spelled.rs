//! How experiments spell a distribution of plain numbers: a number, or a table as `{ kind = "pareto", min = 1000, shape = 1.2 }`.
//! Forms that nobody reads, which do not say themselves what they hold, have the law as it is.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Distribution, Law};

/// The laws, by their names.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Table {
    Constant { value: f64 },
    Uniform { min: f64, max: f64 },
    Normal { mean: f64, sd: f64 },
    Exponential { mean: f64 },
    Lognormal { median: f64, mean: f64 },
    Pareto { min: f64, shape: f64 },
    Weibull { scale: f64, shape: f64 },
    Empirical { values: Vec<(f64, f64)> },
}

impl From<Table> for Law {
    fn from(table: Table) -> Law {
        match table {
            Table::Constant { value } => Law::Constant(value),
            Table::Uniform { min, max } => Law::Uniform { min, max },
            Table::Normal { mean, sd } => Law::Normal { mean, sd },
            Table::Exponential { mean } => Law::Exponential { mean },
            Table::Lognormal { median, mean } => Law::Lognormal { median, mean },
            Table::Pareto { min, shape } => Law::Pareto { min, shape },
            Table::Weibull { scale, shape } => Law::Weibull { shape, scale },
            Table::Empirical { values } => Law::Empirical(values),
        }
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if !serializer.is_human_readable() {
            return self.law().serialize(serializer);
        }
        match self.law().clone() {
            Law::Constant(value) => return serializer.serialize_f64(value),
            Law::Uniform { min, max } => Table::Uniform { min, max },
            Law::Normal { mean, sd } => Table::Normal { mean, sd },
            Law::Exponential { mean } => Table::Exponential { mean },
            Law::Lognormal { median, mean } => Table::Lognormal { median, mean },
            Law::Pareto { min, shape } => Table::Pareto { min, shape },
            Law::Weibull { shape, scale } => Table::Weibull { scale, shape },
            Law::Empirical(values) => Table::Empirical { values },
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Distribution, D::Error> {
        struct NumberOrTable;

        impl<'de> Visitor<'de> for NumberOrTable {
            type Value = Distribution;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, or a distribution as { kind = \"uniform\", min = ..., max = ... }")
            }

            fn visit_f64<E: Error>(self, value: f64) -> Result<Distribution, E> {
                Distribution::constant(value).map_err(E::custom)
            }

            fn visit_i64<E: Error>(self, value: i64) -> Result<Distribution, E> {
                self.visit_f64(value as f64)
            }

            fn visit_u64<E: Error>(self, value: u64) -> Result<Distribution, E> {
                self.visit_f64(value as f64)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Distribution, A::Error> {
                let table = Table::deserialize(MapAccessDeserializer::new(map))?;
                Distribution::new(table.into()).map_err(A::Error::custom)
            }
        }

        if !deserializer.is_human_readable() {
            return Distribution::new(Law::deserialize(deserializer)?).map_err(D::Error::custom);
        }
        deserializer.deserialize_any(NumberOrTable)
    }
}
