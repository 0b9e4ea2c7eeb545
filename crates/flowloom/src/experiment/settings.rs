//! Values of keys that are given beside an experiment, as options of a command have them.

use std::str::FromStr;

use toml::Table;
use toml::Value;

use flowloom_core::keys::Quantity;
use flowloom_core::queue::keys::QueueKind;
use flowloom_core::units::Limit;

use super::pruned::is_in;
use super::schema::schema;
use crate::error::{Error, nearest};

/// Keys with names of their own, as `--set rate=105%` and `--rate 105%` have it.
pub const SHORT_NAMES: [(&str, &str); 12] = [
    ("rate", "network.bottleneck.rate"),
    ("delay", "network.bottleneck.delay"),
    (QUEUE, QUEUE_KEY),
    ("congestion", "tcp.congestion"),
    ("profile", "tcp.profile"),
    ("structure", "workload.structure"),
    ("wait-min", "workload.waits.min"),
    ("wait-correct", "workload.waits.correct"),
    ("duration", "measure.duration"),
    ("seeds", "run.seeds"),
    ("vary", "run.vary"),
    (REAL_LINK, REAL_LINK_KEY),
];

const QUEUE: &str = "queue";
const QUEUE_KEY: &str = "network.bottleneck.queue";

const REAL_LINK: &str = "real-link";
const REAL_LINK_KEY: &str = "measure.real-link";

/// Keys whose values may name files.
const NAMING: [&str; 5] = ["title", "workload.source", "workload.model", "network.bottleneck.trace", REAL_LINK_KEY];

/// Disciplines as `tc` calls them, where that is another word than ours, and the limit that they have there.
const OF_TC: [(&str, QueueKind, Option<&str>); 6] = [
    ("pfifo", QueueKind::DropTail, Some("1000p")),
    ("pfifo_fast", QueueKind::DropTail, Some("1000p")),
    ("bfifo", QueueKind::DropTail, None),
    ("pfifo_head_drop", QueueKind::HeadDrop, Some("1000p")),
    ("fq_codel", QueueKind::FqCodel, None),
    ("prio", QueueKind::Priority, None),
];

/// Values that replace those of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// How a command line says it: an option and its value.
    words: [String; 2],
    /// How it was given, where that was in other words: `--vary queue=codel`.
    given: Option<String>,
    /// Keys and their values, as [`Experiment::with`] takes them.
    values: Vec<(String, String)>,
}

impl Setting {
    /// The value `text` of the key that is called `short` (see [`SHORT_NAMES`]), as the option `--short text` has it.
    ///
    /// # Errors
    /// What is wrong with the text of a queue, or of a real link.
    ///
    /// # Panics
    /// No key is called so.
    pub fn of(short: &str, text: &str) -> Result<Setting, String> {
        let (short, key) = *SHORT_NAMES.iter().find(|(name, _)| *name == short).unwrap_or_else(|| panic!("{short}"));
        let values = match short {
            QUEUE => queue(text)?,
            REAL_LINK => real_link(text)?,
            _ => vec![(key.to_owned(), text.to_owned())],
        };
        Ok(Setting { words: [format!("--{short}"), text.to_owned()], given: None, values })
    }

    /// The same, and errors about it say that it was given in these words.
    #[must_use]
    pub(crate) fn given_as(self, words: impl Into<String>) -> Setting {
        Setting { given: Some(words.into()), ..self }
    }

    /// The option and its value that say this on a command line.
    pub fn words(&self) -> &[String; 2] {
        &self.words
    }

    /// Its value on a command line, without the names of files that it may have.
    pub(crate) fn without_names(&self) -> String {
        let is_of_rates = |key: &str| {
            key == "sources" || key.starts_with("sources[") && (key.ends_with(']') || key.ends_with(".rates"))
        };
        let is_name = |key: &str| is_of_rates(key) || NAMING.iter().any(|named| is_in(named, key) || is_in(key, named));
        let [_, value] = &self.words;
        match value.split_once('=') {
            _ if self.words[0] == format!("--{REAL_LINK}") => "NAME".to_owned(),
            Some((key, _)) if self.keys().any(is_name) => format!("{key}=NAME"),
            _ => value.clone(),
        }
    }

    /// Its keys and values, in their order.
    pub(super) fn values(&self) -> &[(String, String)] {
        &self.values
    }

    /// `error`, which says that this gave the value.
    pub(super) fn named(&self, error: Error) -> Error {
        match &self.given {
            Some(given) => error.note(format_args!("given by {given}")),
            None => error.note(format_args!("given by {}", self.words.join(" "))),
        }
    }

    /// The keys that it sets.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(|(key, _)| key.as_str())
    }
}

/// `KEY=VALUE`: a path of keys or one of [`SHORT_NAMES`], and its value.
impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Setting, String> {
        let Some((key, value)) = text.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
            return Err("write KEY=VALUE, such as tcp.ecn=on or queue=fq-codel".to_owned());
        };
        let is_short = SHORT_NAMES.iter().any(|(short, _)| *short == key);
        let is_path = key.contains(['.', '[']) || schema()["properties"].get(key).is_some();
        if let Some(meant) = nearest(key, &SHORT_NAMES.map(|(short, _)| short)).filter(|_| !is_short && !is_path) {
            return Err(format!("unknown key \"{key}\"; did you mean \"{meant}\"?"));
        }
        if let Some((head, rest)) = key.split_once('.')
            && let Some((_, whole)) = SHORT_NAMES.iter().find(|(short, _)| *short == head)
        {
            return Err(format!("unknown key \"{key}\"; did you mean \"{whole}.{rest}\"?"));
        }
        let values = match key {
            _ if is_short => Setting::of(key, value)?.values,
            QUEUE_KEY if !value.starts_with('{') => queue(value.trim_matches('"'))?,
            REAL_LINK_KEY if !value.starts_with('{') => real_link(value.trim_matches('"'))?,
            _ => vec![(key.to_owned(), value.to_owned())],
        };
        Ok(Setting { words: ["--set".to_owned(), format!("{key}={value}")], given: None, values })
    }
}

/// A queue in a few words: a kind, a limit, keys of the kind, one behind the other with commas: `fq-codel`, `1000p`, `codel,limit=1000p`,
/// `red,min=20p,max=60p,ecn`. A kind replaces the queue of an experiment with all its keys, and a limit alone changes the limit.
fn queue(text: &str) -> Result<Vec<(String, String)>, String> {
    let (mut kind, mut usual_limit) = (None, None);
    let mut keys = Table::new();
    let mut put = |key: &str, value: Value| match keys.insert(key.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(format!("{key} is given twice")),
    };
    for part in text.split(',').map(str::trim) {
        let typed = |value: &str| match value.parse::<Value>() {
            Ok(plain @ (Value::Integer(_) | Value::Float(_) | Value::Boolean(_))) => plain,
            _ => Value::String(value.trim_matches('"').to_owned()),
        };
        match part.split_once('=') {
            Some((key, value)) if key.trim() != "kind" => put(key.trim(), typed(value.trim()))?,
            _ => match part.trim_start_matches("kind=") {
                "" => return Err("write a kind, a limit or both: fq-codel, 500p, or codel,limit=500p".to_owned()),
                "ecn" => put("ecn", true.into())?,
                "noecn" => put("ecn", false.into())?,
                limit if limit.starts_with(|first: char| first.is_ascii_digit() || "+-.".contains(first)) => {
                    limit.parse::<Quantity<Limit>>().map_err(|error| error.to_string())?;
                    put("limit", limit.into())?;
                }
                word if kind.is_none() => {
                    let of_tc = OF_TC.iter().find(|(name, ..)| *name == word);
                    usual_limit = of_tc.and_then(|(.., limit)| *limit);
                    kind = Some(of_tc.map_or_else(|| word.to_owned(), |(_, kind, _)| kind.name().to_owned()));
                }
                word => return Err(format!("\"{word}\" is a second kind of queue, or a key without a value")),
            },
        }
    }
    let Some(kind) = kind else {
        let of = |(key, value): (String, Value)| (format!("{QUEUE_KEY}.{key}"), value.to_string());
        return Ok(keys.into_iter().map(of).collect());
    };
    if let Some(limit) = usual_limit {
        keys.entry("limit").or_insert_with(|| limit.into());
    }
    keys.insert("kind".to_owned(), kind.into());
    Ok(vec![(QUEUE_KEY.to_owned(), inline(&keys))])
}

/// A real link in a few words: the store of a monitor, and keys behind it with commas: `counters,target=core-1,port=ge-0/0/1`.
fn real_link(text: &str) -> Result<Vec<(String, String)>, String> {
    let mut keys = Table::new();
    for part in text.split(',').map(str::trim) {
        let (key, value) = match part.split_once('=') {
            Some((key, value)) => (key.trim(), value.trim().trim_matches('"')),
            None => ("store", part),
        };
        if value.is_empty() {
            return Err("write a store, a target and a port: counters,target=core-1,port=ge-0/0/1".to_owned());
        }
        if keys.insert(key.to_owned(), Value::String(value.to_owned())).is_some() {
            let table = "--set 'measure.real-link={ store = \"counters\", target = \"core-1\", port = \"a,b\" }'";
            return Err(format!("{key} is given twice; a name with a comma is written as in {table}"));
        }
    }
    Ok(vec![(REAL_LINK_KEY.to_owned(), inline(&keys))])
}

/// A table in one line.
fn inline(table: &Table) -> String {
    let pairs: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// Settings in the order in which they take effect: as they were given, but a table before the keys inside it, which it would take away.
pub(crate) fn in_order(settings: &[Setting]) -> Vec<&Setting> {
    let mut ordered: Vec<&Setting> = Vec::new();
    for setting in settings {
        let is_inside =
            |known: &&Setting| known.keys().any(|key| setting.keys().any(|table| key != table && is_in(key, table)));
        let place = ordered.iter().position(is_inside).unwrap_or(ordered.len());
        ordered.insert(place, setting);
    }
    ordered
}

/// `error`, and each beside it, with the setting that gave the value of its key.
pub(crate) fn given_by(error: &Error, settings: &[Setting]) -> Error {
    let alone = |error: &Error| Error { others: Vec::new(), ..error.clone() };
    let named = |error: Error| {
        let key = error.key.clone();
        let gives = |setting: &&Setting| {
            setting.keys().any(|set| key.as_deref().is_some_and(|key| is_in(set, key) || is_in(key, set)))
        };
        match settings.iter().rev().find(gives) {
            Some(setting) => setting.named(error),
            None => error,
        }
    };
    Error::all(error.each().map(alone).map(named)).unwrap_or_else(|| error.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;

    fn values(text: &str) -> Vec<(String, String)> {
        queue(text).unwrap()
    }

    fn set(texts: &[&str]) -> Result<Experiment, Error> {
        let settings: Vec<Setting> = texts.iter().map(|text| text.parse().unwrap()).collect();
        Experiment::of("a.pcap").with_all(&settings)
    }

    #[test]
    fn a_queue_is_a_kind_a_limit_or_both() {
        let of = |key: &str, value: &str| vec![(format!("{QUEUE_KEY}{key}"), value.to_owned())];
        assert_eq!(values("500p"), of(".limit", "\"500p\""));
        assert_eq!(values("fq-codel"), of("", "{ kind = \"fq-codel\" }"));
        assert_eq!(values("fq_codel"), values("fq-codel"));
        assert_eq!(values("pfifo"), of("", "{ kind = \"drop-tail\", limit = \"1000p\" }"));
        assert_eq!(values("pfifo,64k"), of("", "{ kind = \"drop-tail\", limit = \"64k\" }"));
        assert_eq!(values("codel,limit=1000p"), values("codel, 1000p"));
        let red = of("", "{ ecn = true, kind = \"red\", max = \"60p\", max-p = 0.1, min = \"20p\" }");
        assert_eq!(values("red,min=20p,max=60p,max-p=0.1,ecn"), red);
        for (text, wanted) in [("", "write a kind"), ("codel,red", "second kind"), ("5p,limit=6p", "given twice")] {
            assert!(queue(text).unwrap_err().contains(wanted), "{text}");
        }
    }

    #[test]
    fn every_kind_may_be_given_by_its_name() {
        for kind in QueueKind::ALL {
            let setting = Setting::of("queue", kind.name()).unwrap();
            let experiment = Experiment::of("a.pcap").with_all(&[setting]).unwrap();
            assert_eq!(experiment.network.bottleneck.queue.kind, kind);
        }
    }

    #[test]
    fn settings_are_the_keys_of_a_file() {
        let set =
            set(&["rate=105%", "tcp.profile=linux", "tcp.congestion=bbr", "queue=red,limit=90p", "run.seeds=[3, 4]"]);
        let text = "workload.source = \"a.pcap\"\nnetwork.bottleneck = { rate = \"105%\", queue = { kind = \"red\", limit = \"90p\" } }\n\
                    tcp = { profile = \"linux\", congestion = \"bbr\" }\nrun.seeds = [3, 4]\n";
        assert_eq!(set, Experiment::parse(text, "x"));
    }

    #[test]
    fn a_table_takes_no_other_setting_away() {
        let given = |texts: &[&str]| set(texts).unwrap();
        let whole = given(&["queue=codel", "delay=3ms", "network.bottleneck={ rate = \"5mbit\" }"]);
        assert_eq!(whole, given(&["rate=5mbit", "delay=3ms", "queue=codel"]));
        assert_eq!(given(&["queue=30p", "queue=fq-codel"]), given(&["queue=fq-codel,30p"]));
        assert_eq!(given(&["rate=1mbit", "rate=2mbit"]), given(&["rate=2mbit"]));
    }

    /// Neither is possible alone.
    #[test]
    fn settings_are_judged_together() {
        assert!("queue.min=20p".parse::<Setting>().unwrap_err().contains("mean \"network.bottleneck.queue.min\"?"));
        assert!(set(&["network.bottleneck.queue.min=20p"]).is_err());
        let both = ["queue=red", "network.bottleneck.queue.min=20p", "network.bottleneck.queue.max=60p"];
        assert!(set(&both).is_ok());
        assert!(set(&["network.bottleneck.queue.min=4p", "network.bottleneck.queue.kind=red"]).is_ok());
    }

    #[test]
    fn what_is_wrong_names_its_option() {
        let error = set(&["rate=105%", "queue=fqcodel"]).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("did you mean \"fq-codel\"?") && text.contains("given by --set queue=fqcodel"), "{text}");
        let error = set(&["tcp.congestoin=bbr"]).unwrap_err().to_string();
        assert!(error.contains("did you mean \"congestion\"?") && error.contains("given by --set"), "{error}");
        assert!("rate".parse::<Setting>().unwrap_err().contains("KEY=VALUE"));
        assert!("queu=codel".parse::<Setting>().unwrap_err().contains("did you mean \"queue\"?"));
    }
}
