//! `[sweep]`: one experiment in many variants, each with the same seeds.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use flowloom_core::keys::{KeyError, Quantity, Share, Written};
use flowloom_core::units::ParseQuantityError;
use flowloom_store::run_folder::TABLES;

/// `[sweep]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Sweep {
    /// Axes, each with the values of a key or of several keys that change together: "queue=drop-tail,fq-codel",
    /// "rate+delay=10mbit+50ms,100mbit+5ms". Every value of an axis meets every value of the others. The first value of each is the control's.
    pub vary: Vec<Quantity<Axis>>,
    /// Combinations that are left out, as values of axes with spaces between: "queue=pie rate=10mbit".
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub leave_out: Vec<Quantity<LeaveOut>>,
    /// Seeds of each variant, from 1 on; default: those of run.seeds.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub seeds: Option<u16>,
    /// Seeds of each variant at most, if more are run until the best variant is decided: at planned looks with twice as many seeds each, from
    /// `seeds` on (methods L.7); default: as many as `seeds`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 10000))]
    pub most_seeds: Option<u16>,
    /// What a rate in percent is of: of the load of the control with the same seed, so that all variants have one link, or of each variant's own
    /// load; default: control.
    pub rate_of: RateOf,
    /// Metric of which the best variant has least, or most where more is better (docs/reference/metrics.md); default: response_time_p50_ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<String>,
    /// A difference that does not matter, in percent; default: 5%.
    pub margin: Quantity<Share>,
    /// Tables of runs that are kept: summary (none), all, or names such as "epochs,queue"; default: summary.
    pub tables: Quantity<Tables>,
}

impl Default for Sweep {
    fn default() -> Sweep {
        Sweep {
            vary: Vec::new(),
            leave_out: Vec::new(),
            seeds: None,
            most_seeds: None,
            rate_of: RateOf::default(),
            objective: None,
            margin: Quantity::of("5%"),
            tables: Quantity::of("summary"),
        }
    }
}

/// `sweep.rate-of`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RateOf {
    /// The load of the control, which has the first value of each axis.
    #[default]
    Control,
    /// The load of each variant itself.
    Each,
}

impl Sweep {
    /// What no type can refuse.
    pub(crate) fn problems(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        for (number, axis) in self.vary.iter().enumerate() {
            let before = self.vary[..number].iter().flat_map(|axis| &axis.value.keys);
            for key in axis.value.keys.iter().filter(|key| before.clone().any(|known| known == *key)) {
                found.push(KeyError::saying(
                    format!("sweep.vary[{number}]"),
                    format_args!("varies {key} a second time"),
                ));
            }
        }
        for (number, left_out) in self.leave_out.iter().enumerate() {
            for (key, value) in &left_out.value.values {
                let Some(axis) = self.vary.iter().find(|axis| axis.value.keys.contains(key)) else {
                    let each = if key.contains('+') {
                        ": write each key with its value, such as rate=90% queue=50p"
                    } else {
                        ""
                    };
                    let problem = format_args!("names {key}, which no axis varies{each}");
                    found.push(KeyError::saying(format!("sweep.leave-out[{number}]"), problem));
                    continue;
                };
                if !axis.value.points.iter().any(|point| point.is(key, value)) {
                    let problem = format_args!("names {key}={value}, which is no value of its axis");
                    found.push(KeyError::saying(format!("sweep.leave-out[{number}]"), problem));
                }
            }
        }
        if let (Some(seeds), Some(most)) = (self.seeds, self.most_seeds)
            && most < seeds
        {
            found.push(KeyError::saying("sweep.most-seeds", format_args!("of {most} is below sweep.seeds of {seeds}")));
        }
        found
    }
}

/// A key, or several that change together, and the values that they take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Keys as they were written: a path, or a short name.
    pub keys: Vec<String>,
    /// The values, one after the other; at least one.
    pub points: Vec<Point>,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Point {
    /// Each key of the axis with its value, as they were written.
    pub values: Vec<(String, String)>,
}

impl Point {
    /// What a variant is called by where several axes have these last parts of their keys: such keys are written whole.
    pub fn name(&self, shared: &[&str]) -> String {
        let mut name = String::new();
        for (number, (key, value)) in self.values.iter().enumerate() {
            let space = if number == 0 { "" } else { " " };
            let value = value.replace(char::is_control, " ");
            match key.as_str() {
                // Its values say themselves what they are.
                "queue" | "congestion" | "profile" | "structure" => _ = write!(name, "{space}{value}"),
                _ => {
                    let short = last_part(key);
                    let key = if shared.contains(&short) { key } else { short };
                    let _ = write!(name, "{space}{key} {value}");
                }
            }
        }
        name
    }

    fn is(&self, key: &str, value: &str) -> bool {
        self.values.iter().any(|(known, at)| known == key && at == value)
    }
}

/// What a variant is called by, in one line: `fq-codel`, `rate 105%`.
impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name(&[]))
    }
}

/// `rate` of `sources[0].rate`.
pub fn last_part(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

impl Axis {
    /// Reads an axis: `KEY=VALUE,VALUE,...`, or `KEY+KEY=VALUE+VALUE,...` for keys that change together. A part with `=` belongs to the value
    /// before it, as in `queue=codel,limit=500p,fq-codel`, which has two values.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Axis, String> {
        let Some((keys, values)) = text.split_once('=') else {
            return Err(format!("\"{text}\" is no axis: write KEY=VALUE,VALUE, such as queue=drop-tail,fq-codel"));
        };
        let keys: Vec<String> = keys.split('+').map(|key| key.trim().to_owned()).collect();
        if let Some(twice) = keys.iter().enumerate().find(|(number, key)| keys[..*number].contains(key)) {
            return Err(format!("\"{text}\" names {} twice", twice.1));
        }
        let mut points: Vec<Point> = Vec::new();
        for value in values_of(values) {
            let parts = if keys.len() == 1 { vec![value] } else { split(value, '+') };
            if parts.len() != keys.len() {
                return Err(format!(
                    "\"{value}\" has {} parts, and {} keys change together: write a value for each with + between",
                    parts.len(),
                    keys.len()
                ));
            }
            let values: Vec<(String, String)> =
                keys.iter().cloned().zip(parts.iter().map(|part| part.trim().to_owned())).collect();
            if let Some((key, _)) = values.iter().find(|(_, value)| value.is_empty()) {
                return Err(format!("\"{text}\": a value of {key} is missing"));
            }
            let point = Point { values };
            if points.contains(&point) {
                return Err(format!("\"{text}\" has the value {point} twice"));
            }
            points.push(point);
        }
        Ok(Axis { keys, points })
    }
}

impl FromStr for Axis {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Axis, ParseQuantityError> {
        Axis::parse(text).map_err(|_| ParseQuantityError::Form {
            text: text.to_owned(),
            expected: Axis::MEANING,
            example: "queue=drop-tail,fq-codel",
        })
    }
}

impl Written for Axis {
    const FORMAT: &'static str = "axis";
    const MEANING: &'static str = "an axis: a key and its values, each once";
    const EXAMPLES: &'static [&'static str] = &["queue=drop-tail,fq-codel", "rate+delay=10mbit+50ms,100mbit+5ms"];

    fn pattern() -> String {
        "[^=]+=.+".to_owned()
    }
}

/// A combination of values of axes that is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaveOut {
    /// Keys as the axes have them, and their values.
    pub values: Vec<(String, String)>,
}

impl LeaveOut {
    /// Whether the variant with these values is one of those.
    pub fn matches<'a>(&self, points: impl Iterator<Item = &'a Point> + Clone) -> bool {
        self.values.iter().all(|(key, value)| points.clone().any(|point| point.is(key, value)))
    }
}

impl FromStr for LeaveOut {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<LeaveOut, ParseQuantityError> {
        let value = |part: &str| {
            let (key, value) = part.split_once('=')?;
            (!key.is_empty() && !value.is_empty()).then(|| (key.to_owned(), value.to_owned()))
        };
        let values: Option<Vec<_>> = text.split_whitespace().map(value).collect();
        let values = values.filter(|values| !values.is_empty()).ok_or_else(|| ParseQuantityError::Form {
            text: text.to_owned(),
            expected: LeaveOut::MEANING,
            example: "queue=pie rate=10mbit",
        })?;
        Ok(LeaveOut { values })
    }
}

impl Written for LeaveOut {
    const FORMAT: &'static str = "combination";
    const MEANING: &'static str = "a combination of values of axes, with spaces between";
    const EXAMPLES: &'static [&'static str] = &["queue=pie rate=10mbit"];

    fn pattern() -> String {
        r"\s*[^=\s]+=\S+(\s+[^=\s]+=\S+)*\s*".to_owned()
    }
}

/// `sweep.tables`
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tables {
    /// None: what a run came to in numbers.
    Summary,
    /// All of them.
    All,
    /// Those with these names.
    Named(Vec<String>),
}

impl Tables {
    /// Whether the table in the file with this stem is kept.
    pub fn keeps(&self, name: &str) -> bool {
        match self {
            Tables::Summary => false,
            Tables::All => true,
            Tables::Named(names) => names.iter().any(|known| known == name),
        }
    }
}

impl FromStr for Tables {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Tables, ParseQuantityError> {
        match text {
            "summary" => Ok(Tables::Summary),
            "all" => Ok(Tables::All),
            _ => {
                let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
                match names.iter().all(|name| TABLES.contains(&name.as_str())) {
                    true => Ok(Tables::Named(names)),
                    false => Err(ParseQuantityError::Form {
                        text: text.to_owned(),
                        expected: Tables::MEANING,
                        example: "summary, all or epochs,queue",
                    }),
                }
            }
        }
    }
}

impl Written for Tables {
    const FORMAT: &'static str = "tables";
    const MEANING: &'static str = "summary, all, or names of tables of a run folder";
    const EXAMPLES: &'static [&'static str] = &["summary", "all", "epochs,queue"];

    fn pattern() -> String {
        let name = TABLES.join("|");
        format!("summary|all|({name})( *, *({name}))*")
    }
}

/// The values of a list with commas between, none of which is in brackets, braces or quotes; what has `=` outside of these, or is a switch of a
/// queue, belongs to the value before it.
fn values_of(text: &str) -> Vec<&str> {
    let mut values: Vec<&str> = Vec::new();
    for part in split(text, ',') {
        let belongs = !values.is_empty() && (split(part, '=').len() > 1 || matches!(part.trim(), "ecn" | "noecn"));
        match values.last_mut() {
            Some(before) if belongs => {
                let start = before.as_ptr() as usize - text.as_ptr() as usize;
                let end = part.as_ptr() as usize - text.as_ptr() as usize + part.len();
                *before = &text[start..end];
            }
            _ => values.push(part),
        }
    }
    values.into_iter().map(str::trim).collect()
}

/// The parts of `text` between separators that are not in brackets, braces or quotes.
fn split(text: &str, separator: char) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0_u32, false);
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ if c == separator && depth == 0 => {
                parts.push(&text[start..at]);
                start = at + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        Axis::parse(text).unwrap().points.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn an_axis_is_a_key_and_its_values() {
        assert_eq!(names("queue=drop-tail,fq-codel"), ["drop-tail", "fq-codel"]);
        assert_eq!(names("rate=90%, 105%"), ["rate 90%", "rate 105%"]);
        assert_eq!(names("title=\"two\nlines\""), ["title \"two lines\""]);
        assert_eq!(names("tcp.initial-window=3,10"), ["initial-window 3", "initial-window 10"]);
        assert_eq!(names("network.bottleneck.queue.limit=50p,500p"), ["limit 50p", "limit 500p"]);
    }

    #[test]
    fn keys_that_end_alike_are_written_whole() {
        let axis = Axis::parse("sources[0].rate+queue=3mbit+pie").unwrap();
        assert_eq!(axis.points[0].name(&["rate"]), "sources[0].rate 3mbit pie");
        assert_eq!(axis.points[0].name(&["delay"]), "rate 3mbit pie");
        assert_eq!(Axis::parse("rate=1mbit").unwrap().points[0].name(&["rate"]), "rate 1mbit");
    }

    #[test]
    fn keys_of_a_value_belong_to_it() {
        assert_eq!(names("queue=codel,limit=500p,fq-codel"), ["codel,limit=500p", "fq-codel"]);
        assert_eq!(names("queue=red,min=5p,max=15p,ecn,drop-tail"), ["red,min=5p,max=15p,ecn", "drop-tail"]);
        assert_eq!(names("queue={ kind = \"codel\", limit = \"9p\" },pie").len(), 2);
        assert_eq!(names("run.seeds=[1, 2],[3]"), ["seeds [1, 2]", "seeds [3]"]);
    }

    #[test]
    fn keys_may_change_together() {
        let axis = Axis::parse("rate+delay=10mbit+50ms,100mbit+5ms").unwrap();
        assert_eq!(axis.keys, ["rate", "delay"]);
        assert_eq!(axis.points[1].to_string(), "rate 100mbit delay 5ms");
        let error = Axis::parse("rate+delay=10mbit").unwrap_err();
        assert!(error.contains("has 1 parts, and 2 keys change together"), "{error}");
    }

    #[test]
    fn what_is_no_axis_is_refused_with_the_reason() {
        for (text, wanted) in [
            ("queue", "write KEY=VALUE,VALUE"),
            ("queue=", "is missing"),
            ("queue=pie,,codel", "is missing"),
            ("queue=pie,pie", "has the value pie twice"),
            ("rate+rate=1mbit+2mbit", "names rate twice"),
        ] {
            let error = Axis::parse(text).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_left_out_is_of_the_axes() {
        let sweep = |leave_out: &str| Sweep {
            vary: vec![Quantity::of("queue=drop-tail,pie"), Quantity::of("rate=1mbit,10mbit")],
            leave_out: vec![Quantity::of(leave_out)],
            ..Sweep::default()
        };
        assert!(sweep("queue=pie rate=1mbit").problems().is_empty());
        for (text, wanted) in [("delay=1ms", "which no axis varies"), ("queue=codel", "no value of its axis")] {
            let problems = sweep(text).problems();
            assert!(problems[0].to_string().contains(wanted), "{problems:?}");
        }
        let twice = Sweep { vary: vec![Quantity::of("rate=1mbit"), Quantity::of("rate=2mbit")], ..Sweep::default() };
        assert!(twice.problems()[0].to_string().contains("a second time"));
    }
}
