//! Rules files: what `compare --check RULES.toml` demands (docs/guide/comparison.md, "Rules"). An unknown key or word is refused with its line.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use serde::Deserialize;
use toml::Spanned;

use flowloom_core::time::Duration;
use flowloom_core::units::{Limit, ParseQuantityError, Rate};
use flowloom_report::compare::{Bound, Demand, Outcome, Rule, Unknown};
use flowloom_report::metric::{Metric, Unit};
use flowloom_report::statistics::Statistic;

use flowloom_store::regular;

use crate::error::{Error, decoded, nearest, place};
use crate::experiment::explain;

/// A rules file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    rule: Vec<Spanned<Written>>,
}

/// A rule as written: a metric and one or more demands.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Written {
    name: Option<String>,
    metric: Spanned<String>,
    statistic: Option<Spanned<String>>,
    verdict: Option<Wanted>,
    max_ks: Option<Spanned<f64>>,
    max_tolerant_ks: Option<Spanned<f64>>,
    max_ratio: Option<Spanned<f64>>,
    min_ratio: Option<Spanned<f64>>,
    max: Option<Spanned<Amount>>,
    min: Option<Spanned<Amount>>,
    #[serde(default)]
    cannot_tell: CannotTell,
}

/// A verdict that can be demanded.
#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Wanted {
    Same,
    Different,
}

/// What becomes of a rule of which cannot be told whether it holds.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum CannotTell {
    #[default]
    Fail,
    Pass,
}

/// A bound in a metric's unit.
#[derive(Deserialize)]
#[serde(untagged)]
enum Amount {
    Number(f64),
    Text(String),
}

/// Where in the file something is wrong, and what.
struct Wrong {
    at: usize,
    what: String,
    hint: Option<String>,
}

impl Wrong {
    fn new<T>(place: &Spanned<T>, what: impl Into<String>) -> Wrong {
        Wrong { at: place.span().start, what: what.into(), hint: None }
    }
}

/// Reads the rules file at `path`.
pub fn read(path: &Path) -> Result<Vec<Rule>, Error> {
    let name = path.display();
    let unreadable = |error| Error::new(format_args!("{name}: {error}"));
    let bytes = regular::read(path).map_err(unreadable)?;
    let name = name.to_string();
    parse(&decoded(bytes, &name, "rules are text in UTF-8")?, &name)
}

/// Reads the text of a rules file called `name`.
pub fn parse(text: &str, name: &str) -> Result<Vec<Rule>, Error> {
    let file: File = toml::from_str(text)
        .map_err(|error| Error::all(unknown_keys(text, name)).unwrap_or_else(|| explain(&error, text, name)))?;
    if file.rule.is_empty() {
        return Err(Error::usage(format_args!("{name}: there is no rule in it")).hint("begin one with [[rule]]"));
    }
    let (mut rules, mut wrong) = (Vec::new(), Vec::new());
    for written in &file.rule {
        match written.rules() {
            Ok(found) => rules.extend(found),
            Err(found) => wrong.push(Error::usage(found.what).at(place(text, found.at, name)).hint_if(found.hint)),
        }
    }
    Error::all(wrong).map_or(Ok(rules), Err)
}

/// The keys of a rule.
const KEYS: [&str; 11] = [
    "name",
    "metric",
    "statistic",
    "verdict",
    "max-ks",
    "max-tolerant-ks",
    "max-ratio",
    "min-ratio",
    "max",
    "min",
    "cannot-tell",
];

/// All keys of rules that there are not: serde stops at the first that it meets, in an order of its own.
fn unknown_keys(text: &str, name: &str) -> Vec<Error> {
    #[derive(Deserialize)]
    struct Loose {
        rule: Vec<BTreeMap<Spanned<String>, toml::Value>>,
    }
    let Ok(Loose { rule }) = toml::from_str(text) else { return Vec::new() };
    let mut unknown: Vec<Spanned<String>> =
        rule.into_iter().flat_map(BTreeMap::into_keys).filter(|key| !KEYS.contains(&key.get_ref().as_str())).collect();
    unknown.sort_by_key(|key| key.span().start);
    let refused = unknown.iter().map(|key| {
        let typed = key.get_ref();
        Error::usage(format_args!("unknown key \"{typed}\""))
            .note(format_args!("known: {}", KEYS.join(", ")))
            .hint_if(nearest(typed, &KEYS).map(|meant| format!("did you mean \"{meant}\"?")))
            .at(place(text, key.span().start, name))
    });
    refused.collect()
}

trait Rules {
    fn rules(&self) -> Result<Vec<Rule>, Wrong>;
}

impl Rules for Spanned<Written> {
    /// One rule per demand.
    fn rules(&self) -> Result<Vec<Rule>, Wrong> {
        let written = self.get_ref();
        let metric = Metric::from_str(written.metric.get_ref()).map_err(|what| {
            let known: Vec<&str> = Metric::ALL.into_iter().map(Metric::name).collect();
            let hint = nearest(written.metric.get_ref(), &known).map(|meant| format!("did you mean \"{meant}\"?"));
            Wrong { hint, ..Wrong::new(&written.metric, what) }
        })?;
        let statistic = match &written.statistic {
            Some(text) => text.get_ref().parse().map_err(|what: String| Wrong::new(text, what))?,
            None if metric.is_of_means() => Statistic::Mean,
            None => Statistic::Quantile(0.5),
        };
        let mut demands = Vec::new();
        demands.extend(written.verdict.map(|wanted| {
            Demand::Verdict(match wanted {
                Wanted::Same => Outcome::Same,
                Wanted::Different => Outcome::Different,
            })
        }));
        if let Some(most) = &written.max_ks {
            demands.push(Demand::Ks(within(most, "max-ks", 1.0)?));
        }
        if let Some(most) = &written.max_tolerant_ks {
            demands.push(Demand::TolerantKs(within(most, "max-tolerant-ks", 1.0)?));
        }
        if let Some(most) = &written.max_ratio {
            demands.push(Demand::Ratio(statistic, Bound::AtMost(within(most, "max-ratio", f64::MAX)?)));
        }
        if let Some(least) = &written.min_ratio {
            demands.push(Demand::Ratio(statistic, Bound::AtLeast(within(least, "min-ratio", f64::MAX)?)));
        }
        if let Some(most) = &written.max {
            demands.push(Demand::Value(statistic, Bound::AtMost(amount(most, "max", metric)?)));
        }
        if let Some(least) = &written.min {
            demands.push(Demand::Value(statistic, Bound::AtLeast(amount(least, "min", metric)?)));
        }
        if demands.is_empty() {
            let keys = "verdict, max-ks, max-tolerant-ks, max-ratio, min-ratio, max or min";
            return Err(Wrong::new(self, format!("this rule demands nothing: give it {keys}")));
        }
        if let Some(text) = &written.statistic
            && !demands.iter().any(|demand| matches!(demand, Demand::Ratio(..) | Demand::Value(..)))
        {
            return Err(Wrong::new(text, "a statistic without a bound on it: give max-ratio, min-ratio, max or min"));
        }
        let unknown = match written.cannot_tell {
            CannotTell::Fail => Unknown::Fails,
            CannotTell::Pass => Unknown::Passes,
        };
        let rule = |demand| Rule { name: written.name.clone(), metric, demand, unknown };
        Ok(demands.into_iter().map(rule).collect())
    }
}

/// A number from 0 to `most`.
fn within(number: &Spanned<f64>, key: &str, most: f64) -> Result<f64, Wrong> {
    let value = *number.get_ref();
    match value >= 0.0 && value <= most {
        true => Ok(value),
        false if most < f64::MAX => Err(Wrong::new(number, format!("{key} of {value} is not from 0 to {most}"))),
        false => Err(Wrong::new(number, format!("{key} of {value} is not above zero"))),
    }
}

/// An amount in the smallest unit of `metric`: nanoseconds, bytes, bit/s, or a count.
fn amount(amount: &Spanned<Amount>, key: &str, metric: Metric) -> Result<f64, Wrong> {
    let unit = metric.unit();
    let wanted = match unit {
        Unit::Time => "a time such as \"20ms\"",
        Unit::Rate => "a rate such as \"10mbit\"",
        Unit::Bytes => "bytes such as \"1500b\" or \"64kb\"",
        Unit::Count | Unit::PacketRate | Unit::Share => "a number that is not below zero",
    };
    let found = match (amount.get_ref(), unit) {
        (Amount::Text(text), Unit::Time) => text.parse().ok().map(|time: Duration| time.as_nanos() as f64),
        (Amount::Text(text), Unit::Rate) => {
            let rate: Rate = text.parse().map_err(|error: ParseQuantityError| {
                Wrong::new(amount, format!("{key} of {}: {error}", metric.name()))
            })?;
            rate.bits_per_second().map(|bits| bits as f64)
        }
        (Amount::Text(text), Unit::Bytes) => match text.parse() {
            Ok(Limit::Bytes(bytes)) => Some(bytes as f64),
            Ok(Limit::Packets(_)) | Err(_) => None,
        },
        (Amount::Number(number), Unit::Rate | Unit::Count | Unit::PacketRate | Unit::Share) => {
            Some(*number).filter(|number| *number >= 0.0 && number.is_finite())
        }
        _ => None,
    };
    found.ok_or_else(|| Wrong::new(amount, format!("{key} of {} is {wanted}", metric.name())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::by_line;

    fn failure(text: &str) -> String {
        by_line(parse(text, "r.toml").unwrap_err())
    }

    #[test]
    fn all_unknown_keys_are_told_in_their_order() {
        let error = parse("[[rule]]\nmetric = \"duration\"\nmost = 1\nfoo = 2\n", "r.toml").unwrap_err();
        let told: Vec<&str> = error.each().map(|error| &*error.cause).collect();
        assert_eq!(told, ["unknown key \"most\"", "unknown key \"foo\""]);
        for key in KEYS {
            let error = parse(&format!("[[rule]]\n{key}-x = 1\n"), "r.toml").unwrap_err();
            assert!(error.notes[0].contains(key), "{error}");
            assert!(!failure(&format!("[[rule]]\n{key} = {{}}\n")).contains("unknown key"), "{key}");
        }
    }

    #[test]
    fn every_key_is_read() {
        let rules = parse(
            r#"
            [[rule]]
            name = "tail"
            metric = "response_time"
            statistic = "p99"
            max-ratio = 1.1
            max = "20ms"
            cannot-tell = "pass"
            [[rule]]
            metric = "duration"
            verdict = "same"
            max-ks = 0.05
            max-tolerant-ks = 0.02
            [[rule]]
            metric = "goodput"
            min-ratio = 0.95
            min = "1mbit"
            [[rule]]
            metric = "queue_from_left"
            max = 350
            [[rule]]
            metric = "adu_size"
            max = "64kb"
            "#,
            "r.toml",
        )
        .unwrap();
        let texts: Vec<String> = rules.iter().map(Rule::to_string).collect();
        assert_eq!(
            texts,
            [
                "response_time: ratio of p99 at most 1.1",
                "response_time: p99 at most 20.0 ms",
                "duration: verdict same",
                "duration: KS at most 0.05",
                "duration: tolerant KS at most 0.02",
                "goodput: ratio of mean at least 0.95",
                "goodput: mean at least 1.00 Mbit/s",
                "queue_from_left: mean at most 350",
                "adu_size: p50 at most 65.5 kB",
            ]
        );
        assert_eq!((rules[0].name.as_deref(), rules[0].unknown), (Some("tail"), Unknown::Passes));
        assert_eq!((rules[2].name.as_deref(), rules[2].unknown), (None, Unknown::Fails));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, wanted) in [
            ("", "r.toml:1: "),
            ("rule = []", "there is no rule in it"),
            ("[[rule]]\nmetric = \"duration\"\nmax-ration = 2", "r.toml:3: unknown key \"max-ration\""),
            ("[[rule]]\nmetric = \"durations\"\nmax-ks = 0.1", "r.toml:2: unknown metric \"durations\""),
            ("[[rule]]\nmetric = \"durations\"\nmax-ks = 0.1", "did you mean \"duration\"?"),
            ("[[rule]]\nmetric = \"duration\"", "r.toml:1: this rule demands nothing"),
            ("[[rule]]\nmetric = \"duration\"\nstatistic = \"q9\"\nmax-ratio = 1", "r.toml:3: \"q9\" is no statistic"),
            (
                "[[rule]]\nmetric = \"duration\"\nstatistic = \"p9\"\nmax-ks = 1",
                "r.toml:3: a statistic without a bound",
            ),
            ("[[rule]]\nmetric = \"duration\"\nmax-ks = 1.5", "r.toml:3: max-ks of 1.5 is not from 0 to 1"),
            ("[[rule]]\nmetric = \"duration\"\nmax-ratio = -1", "r.toml:3: max-ratio of -1 is not above zero"),
            ("[[rule]]\nmetric = \"duration\"\nmax-ratio = nan", "r.toml:3: max-ratio of NaN"),
            ("[[rule]]\nmetric = \"duration\"\nmax = 20", "r.toml:3: max of duration is a time such as \"20ms\""),
            ("[[rule]]\nmetric = \"goodput\"\nmin = \"2mbps\"", "has two readings: 2Mbit/s, and 2MB/s as in tc"),
            ("[[rule]]\nmetric = \"goodput\"\nmin = \"5p\"", "r.toml:3: min of goodput: \"5p\" is not a rate"),
            ("[[rule]]\nmetric = \"queue_from_left\"\nmax = \"5p\"", "r.toml:3: max of queue_from_left is a number"),
            (
                "[[rule]]\nmetric = \"duration\"\nverdict = \"equal\"",
                "r.toml:3: rule[0].verdict: unknown word \"equal\"",
            ),
        ] {
            let said = failure(text);
            assert!(said.contains(wanted), "{text:?}: {said}");
        }
    }
}
