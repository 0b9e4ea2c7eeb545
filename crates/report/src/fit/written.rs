//! Laws as experiments write them.

use flowloom_core::distribution::{Law, WrittenLaw};
use flowloom_models::fit::Values;
use serde_json::Value;

use crate::metric::Unit;

/// Values of an empirical law, at most: of more different ones each stands for a hundredth of them.
const MOST_VALUES: u64 = 100;

/// The law that has these values: each with its share, or the means of hundredths of them, the smallest first. Either keeps their mean, and
/// the second is within 0.01 of their distribution function.
pub(super) fn empirical_law(values: &Values) -> Law {
    let n = values.count() as f64;
    if values.steps().len() as u64 <= MOST_VALUES {
        let mut shares: Vec<(f64, f64)> =
            values.steps().iter().map(|&(value, count)| (value, rounded(count as f64 / n))).collect();
        // What rounding has taken or added.
        let missing = 1.0 - shares.iter().map(|(_, share)| share).sum::<f64>();
        if let Some(most) = shares.iter_mut().max_by(|one, other| one.1.total_cmp(&other.1)) {
            most.1 = rounded(most.1 + missing);
        }
        return Law::Empirical(shares);
    }
    // A value that lies across a boundary counts on either side with its parts.
    let each = n / MOST_VALUES as f64;
    let (mut means, mut sum, mut room) = (Vec::new(), 0.0, each);
    for &(value, count) in values.steps() {
        let mut left = count as f64;
        while left >= room && (means.len() as u64) < MOST_VALUES - 1 {
            means.push((sum + value * room) / each);
            left -= room;
            (sum, room) = (0.0, each);
        }
        sum += value * left;
        room -= left;
    }
    means.push(sum / each);
    Law::Empirical(means.into_iter().map(|mean| (mean, 1.0 / MOST_VALUES as f64)).collect())
}

/// Six digits of a number are more than any fit knows.
pub(super) fn rounded(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Milliseconds in a nanosecond, for keys that say so in their names.
pub(super) fn smallest_in_key(unit: Unit) -> f64 {
    if unit == Unit::Time { 1e6 } else { 1.0 }
}

pub(super) fn as_numbers(law: &Law, unit: Unit) -> String {
    let scale = smallest_in_key(unit);
    inline(serde_json::to_value(WrittenLaw::of(law, &|value| value / scale, scale)).unwrap_or_default())
}

pub(super) fn as_quantities(law: &Law, unit: Unit) -> Option<String> {
    let (quantity, smallest): (fn(f64) -> String, f64) = match unit {
        Unit::Time => (time, 1e9),
        // There is nothing smaller than a byte to write, and zero bytes are no scale.
        Unit::Bytes => (|bytes| format!("{:.0}b", if bytes > 0.0 { bytes.max(1.0) } else { 0.0 }), 1.0),
        _ => return None,
    };
    Some(inline(serde_json::to_value(WrittenLaw::of(law, &quantity, smallest)).unwrap_or_default()))
}

/// A time as experiments write it, in six digits: down to nanoseconds.
pub(super) fn time(nanos: f64) -> String {
    let nanos = rounded(nanos);
    let (scale, unit) = match nanos {
        nanos if nanos >= 1e9 => (1e9, "s"),
        nanos if nanos >= 1e6 => (1e6, "ms"),
        nanos if nanos >= 1e3 => (1e3, "us"),
        _ => return format!("{:.0}ns", nanos.max(if nanos > 0.0 { 1.0 } else { 0.0 })),
    };
    let text = format!("{:.9}", nanos / scale);
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// JSON as an inline value of TOML; keys are in alphabetical order, in which `kind` comes first.
fn inline(value: Value) -> String {
    match value {
        Value::Object(keys) => {
            let kind = keys.get("kind").cloned().map(|kind| ("kind".to_owned(), kind));
            let others = keys.into_iter().filter(|(key, _)| key != "kind");
            let pairs = kind.into_iter().chain(others).map(|(key, value)| format!("{key} = {}", inline(value)));
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.into_iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Number(number) => number.as_f64().map_or_else(
            || number.to_string(),
            |value| {
                let value = rounded(value);
                if value.abs() >= 1e-4 || value == 0.0 { format!("{value}") } else { format!("{value:e}") }
            },
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_short_and_exact() {
        let law = Law::LognormalMuSigma { mu: 1e9f64.ln(), sigma: 0.5 };
        assert_eq!(as_quantities(&law, Unit::Time).unwrap(), "{ kind = \"lognormal\", mu = 0, sigma = 0.5 }");
        assert_eq!(as_numbers(&law, Unit::Time), "{ kind = \"lognormal\", mu = 6.90776, sigma = 0.5 }");
        let law = Law::Pareto { min: 1_234_567.0, shape: 1.2 };
        assert_eq!(as_quantities(&law, Unit::Time).unwrap(), "{ kind = \"pareto\", min = \"1.23457ms\", shape = 1.2 }");
        assert_eq!(as_quantities(&law, Unit::Bytes).unwrap(), "{ kind = \"pareto\", min = \"1234567b\", shape = 1.2 }");
        assert_eq!(as_numbers(&law, Unit::Bytes), "{ kind = \"pareto\", min = 1234570, shape = 1.2 }");
        assert_eq!(as_quantities(&law, Unit::Count), None);
        assert_eq!(["0ns", "1ns", "1.5us", "2s"], [0.0, 0.3, 1_500.0, 2e9].map(time).each_ref().map(String::as_str));
    }

    #[test]
    fn hundredths_keep_the_mean() {
        let values =
            Values::new([(0.0, 37), (5.0, 400)].into_iter().chain((0..150).map(|i| (100.0 + f64::from(i * i), 3))));
        let Law::Empirical(found) = empirical_law(&values) else { panic!("not empirical") };
        assert_eq!((found.len(), found[0].0), (100, 0.0));
        assert!((found[10].0 - 5.0).abs() < 1e-9, "{found:?}");
        let mean: f64 = found.iter().map(|(value, share)| value * share).sum();
        assert!((mean / values.mean_of(|value| value) - 1.0).abs() < 1e-9, "{mean}");
        // Thirds do not add up to one in six digits unless they are made to.
        let Law::Empirical(thirds) = empirical_law(&Values::new([(1.0, 1), (2.0, 1), (3.0, 1)])) else { panic!("no") };
        assert!((thirds.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-9, "{thirds:?}");
    }
}
