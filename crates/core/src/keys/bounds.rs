//! Bounds of values that are written as texts: what the schema of keys says of them, what a reader is told, and a pattern
//! for validators that know only JSON Schema.
//!
//! The schema states them by two keywords of our own beside the form of the text: `"least": "10us"` and `"most": "10ms"`. A
//! list has bounds of different things: `"least": ["1p", "1514b"]` of a limit in packets or bytes.

use std::cmp::Ordering;

use serde_json::Value;

use super::amount::{Amount, without_word};
use super::written::units_of;

/// A bound as it is written, and the amount.
type Bound<'a> = (&'a str, Amount);

/// The bounds that a schema states.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bounds<'a> {
    least: Vec<Bound<'a>>,
    most: Vec<Bound<'a>>,
}

impl<'a> Bounds<'a> {
    /// Those of a schema; `None` if it states none.
    pub fn of(schema: &'a Value) -> Option<Bounds<'a>> {
        let stated = |keyword: &str| -> Vec<Bound<'a>> {
            let one = schema.get(keyword);
            let listed = one.and_then(Value::as_array).into_iter().flatten();
            let texts = one.into_iter().chain(listed).filter_map(Value::as_str);
            texts.filter_map(|text| Some((text, Amount::of_bound(text)?))).collect()
        };
        let bounds = Bounds { least: stated("least"), most: stated("most") };
        (bounds != Bounds::default()).then_some(bounds)
    }

    /// What an amount, written as `text`, must be if it is outside: `between 10us and 10ms`. What `text` says counts, and not
    /// the whole number that it is rounded to.
    pub fn refuse(&self, amount: Amount, text: &str) -> Option<String> {
        let (least, most) = (like(&self.least, amount), like(&self.most, amount));
        let of_text = amount.of_text(text);
        let beside = |(_, bound): Bound<'_>| amount.partial_cmp(&bound).map(|order| order.then(of_text));
        let is_outside =
            least.and_then(beside) == Some(Ordering::Less) || most.and_then(beside) == Some(Ordering::Greater);
        // A part of the smallest unit is above zero.
        is_outside.then(|| if of_text.is_eq() { said(least, most) } else { said_exactly(least, most) })
    }

    /// The same for readers who look up a key.
    pub fn in_words(&self) -> String {
        let of_least = self.least.iter().map(|least| said(Some(*least), like(&self.most, least.1)));
        let of_most = self.most.iter().filter(|most| like(&self.least, most.1).is_none());
        of_least.chain(of_most.map(|most| said(None, Some(*most)))).collect::<Vec<_>>().join(", ")
    }

    /// A regular expression (ECMA 262) that matches the texts outside the bounds, also behind a word, and none inside them.
    pub fn pattern_outside(&self) -> String {
        let below = self.least.iter().flat_map(|(_, least)| {
            let bound = least.number();
            units_of(*least).into_iter().filter_map(move |(unit, scale)| Some((below(bound, scale)?, unit)))
        });
        let above = self.most.iter().flat_map(|(_, most)| {
            let bound = most.number();
            units_of(*most).into_iter().map(move |(unit, scale)| (above(bound, scale), unit))
        });
        let outside: Vec<String> = below.chain(above).map(|(number, unit)| format!(r"({number})\s*({unit})")).collect();
        format!(r"^([a-z]+ )?\+?({})$", outside.join("|"))
    }

    /// The bounds of plain numbers of bits per second.
    pub fn of_plain_rates(&self) -> [Option<u64>; 2] {
        [&self.least, &self.most].map(|bounds| {
            bounds.iter().find_map(|(_, bound)| match bound {
                Amount::Rate(bits) => Some(*bits),
                _ => None,
            })
        })
    }

    /// A text that is inside: a bound.
    pub fn example(&self) -> Option<&'a str> {
        self.least.iter().chain(&self.most).map(|(text, _)| *text).next()
    }
}

/// The bound of what `amount` counts.
fn like<'a>(bounds: &[Bound<'a>], amount: Amount) -> Option<Bound<'a>> {
    bounds.iter().find(|(_, bound)| bound.is_like(amount)).copied()
}

fn said(least: Option<Bound<'_>>, most: Option<Bound<'_>>) -> String {
    match (least, most) {
        // Nothing is between it and zero.
        (Some((_, Amount::Time(1) | Amount::Rate(1))), None) => "above zero".to_owned(),
        (Some((_, Amount::Time(1))), Some((most, _))) => {
            format!("above zero and at most {}", without_word(most))
        }
        (least, most) => said_exactly(least, most),
    }
}

/// The same where a part of the smallest unit counts.
fn said_exactly(least: Option<Bound<'_>>, most: Option<Bound<'_>>) -> String {
    match (least, most) {
        (Some((least, _)), Some((most, _))) => format!("between {least} and {most}"),
        (Some((least, _)), None) => format!("{least} or more"),
        (None, Some((most, _))) => format!("at most {most}"),
        (None, None) => "possible".to_owned(),
    }
}

/// A quotient as a decimal number.
struct Decimal {
    whole: String,
    /// Behind the point, to twelve places, without zeros at the end.
    fraction: String,
    /// Whether these are all places.
    is_exact: bool,
}

impl Decimal {
    fn new(number: u64, divisor: u64) -> Decimal {
        const PLACES: usize = 12;
        let (mut fraction, mut rest) = (String::new(), u128::from(number % divisor));
        while rest > 0 && fraction.len() < PLACES {
            rest *= 10;
            fraction += &(rest / u128::from(divisor)).to_string();
            rest %= u128::from(divisor);
        }
        let is_exact = rest == 0;
        Decimal { whole: (number / divisor).to_string(), fraction, is_exact }
    }
}

/// A pattern of the decimal numbers below `bound / scale`, and of texts that are no numbers; `None` if there is no such number.
fn below(bound: u64, scale: u64) -> Option<String> {
    let Decimal { whole, fraction, .. } = Decimal::new(bound, scale);
    let shorter = format!("[0-9]{{0,{}}}", whole.len() - 1);
    let less = [Some(shorter), digits_below(&whole, &|more| format!("[0-9]{{{more}}}"), None)];
    let of_whole = (whole != "0").then(|| format!(r"0*({})(\.[0-9]*)?", either(less)));
    // A fraction that ends early is below one that goes on.
    let of_fraction = digits_below(&fraction, &|_| "[0-9]*".to_owned(), Some(""));
    let whole = whole.trim_start_matches('0');
    let of_fraction = of_fraction.map(|fraction| format!(r"0*{whole}(\.({fraction}))?"));
    (of_whole.is_some() || of_fraction.is_some()).then(|| either([of_whole, of_fraction]))
}

/// A pattern of the decimal numbers above `bound / scale`.
fn above(bound: u64, scale: u64) -> String {
    let Decimal { whole, fraction, is_exact } = Decimal::new(bound, scale);
    let longer = format!("[1-9][0-9]{{{},}}", whole.len());
    let more = [Some(longer), digits_above(&whole, &|more| format!("[0-9]{{{more}}}"), None)];
    let of_whole = format!(r"0*({})(\.[0-9]*)?", either(more));
    // Behind the last known place, anything but zeros is more.
    let end = is_exact.then_some("0*[1-9][0-9]*");
    let of_fraction = digits_above(&fraction, &|_| "[0-9]*".to_owned(), end);
    let whole = whole.trim_start_matches('0');
    either([Some(of_whole), of_fraction.map(|fraction| format!(r"0*{whole}\.({fraction})"))])
}

fn either(patterns: [Option<String>; 2]) -> String {
    patterns.into_iter().flatten().collect::<Vec<_>>().join("|")
}

/// A pattern of digits that are less than `digits`, place by place. `tail` is what may follow a smaller digit that has so many
/// places behind it, `early` what may stand instead of the remaining places.
fn digits_below(digits: &str, tail: &dyn Fn(usize) -> String, early: Option<&str>) -> Option<String> {
    let (first, rest) = digits.split_at_checked(1)?;
    let smaller = match first {
        "0" => None,
        "1" => Some(format!("0{}", tail(rest.len()))),
        digit => Some(format!("[0-{}]{}", digit.parse::<u8>().unwrap_or(1) - 1, tail(rest.len()))),
    };
    let same = digits_below(rest, tail, early).map(|rest| format!("{first}({rest})"));
    let found: Vec<String> = early.map(str::to_owned).into_iter().chain(smaller).chain(same).collect();
    (!found.is_empty()).then(|| found.join("|"))
}

/// A pattern of digits that are more than `digits`, place by place; `end` is what may stand behind equal ones.
fn digits_above(digits: &str, tail: &dyn Fn(usize) -> String, end: Option<&str>) -> Option<String> {
    let Some((first, rest)) = digits.split_at_checked(1) else { return end.map(str::to_owned) };
    let larger = match first {
        "9" => None,
        "8" => Some(format!("9{}", tail(rest.len()))),
        digit => Some(format!("[{}-9]{}", digit.parse::<u8>().unwrap_or(8) + 1, tail(rest.len()))),
    };
    let same = digits_above(rest, tail, end).map(|rest| format!("{first}({rest})"));
    let found: Vec<String> = larger.into_iter().chain(same).collect();
    (!found.is_empty()).then(|| found.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_to_twelve_places() {
        for (number, divisor, whole, fraction, is_exact) in [
            (1_000, 1, "1000", "", true),
            (1, 1_000, "0", "001", true),
            (500_000_000, 60_000_000_000, "0", "008333333333", false),
            (1_514, 1_024, "1", "478515625", true),
        ] {
            let decimal = Decimal::new(number, divisor);
            assert_eq!((decimal.whole.as_str(), decimal.fraction.as_str()), (whole, fraction));
            assert_eq!(decimal.is_exact, is_exact);
        }
    }

    #[test]
    fn amounts_are_refused_in_words() {
        let schema = serde_json::json!({ "least": ["1p", "1514b"], "most": "32m" });
        let bounds = Bounds::of(&schema).unwrap();
        assert_eq!(bounds.refuse(Amount::Packets(0), "0p").as_deref(), Some("1p or more"));
        assert_eq!(bounds.refuse(Amount::Bytes(1_513), "1513b").as_deref(), Some("between 1514b and 32m"));
        // Rounded, they are inside.
        for text in ["1513.5b", "1513.99999999999999999999b", "1.4785k"] {
            assert!(bounds.refuse(Amount::Bytes(1_514), text).is_some(), "{text}");
        }
        for text in ["33554432.4b", "32768.0000001k"] {
            assert!(bounds.refuse(Amount::Bytes(32 << 20), text).is_some(), "{text}");
        }
        assert_eq!(bounds.refuse(Amount::Bytes(1_514), "1514.4b"), None);
        assert_eq!(bounds.refuse(Amount::Bytes((32 << 20) + 1), "33554433b").as_deref(), Some("between 1514b and 32m"));
        for inside in [Amount::Packets(u64::MAX), Amount::Bytes(1_514), Amount::Bytes(32 << 20), Amount::Time(0)] {
            assert_eq!(bounds.refuse(inside, ""), None);
        }
        assert_eq!(bounds.in_words(), "1p or more, between 1514b and 32m");
        let schema = serde_json::json!({ "least": "1ns" });
        assert_eq!(Bounds::of(&schema).unwrap().refuse(Amount::Time(0), "0ns").as_deref(), Some("above zero"));
        let refused = Bounds::of(&schema).unwrap().refuse(Amount::Time(1), "0.9ns");
        assert_eq!(refused.as_deref(), Some("1ns or more"));
        assert_eq!(Bounds::of(&serde_json::json!({ "minimum": 3 })), None);
    }
}
