//! The registry: what is monitored, how, and what hangs on it. Its keys, and what no schema can refuse about them.
//!
//! `flowloom::monitor` reads the file: it walks the text along the schema of these types, so that all errors come at once, each with its
//! line, and then asks [`Registry::problems`].

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use flowloom_core::keys::{KeyError, Quantity, Written, named};
use flowloom_core::time::Duration;
use flowloom_core::units::{ParseQuantityError, Rate};
use flowloom_store::monitor::{Retention, date_ns};
use flowloom_store::regular;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

use crate::snmp::oid::Oid;

/// SNMP targets are asked at most this often.
const LEAST_SNMP_INTERVAL: Duration = Duration::from_millis(100);

/// Runs say how they go on about once a second.
const LEAST_RUNS_INTERVAL: Duration = Duration::from_secs(2);

/// A key has at least so many characters (RFC 3414, 11.2).
const LEAST_KEY: usize = 8;

/// The registry of a monitor.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Registry {
    /// From one question to the next, for targets that name no other; default: 60s.
    #[schemars(extend("least" = "10ms", "most" = "24h"))]
    pub interval: Quantity<Duration>,
    /// How long a target may take for an answer; default: 1s.
    #[schemars(extend("least" = "10ms", "most" = "1min"))]
    pub timeout: Quantity<Duration>,
    /// How often a question is repeated at the same address; default: 1.
    #[schemars(range(max = 10))]
    pub retries: u32,
    /// How long results are kept.
    pub keep: Keep,
    /// Places.
    pub site: Vec<Site>,
    /// What is monitored.
    pub target: Vec<Target>,
    /// Connections between ports.
    pub link: Vec<Link>,
    /// Thresholds.
    pub alert: Vec<Alert>,
}

impl Default for Registry {
    fn default() -> Registry {
        Registry {
            interval: Quantity::of("60s"),
            timeout: Quantity::of("1s"),
            retries: 1,
            keep: Keep::default(),
            site: Vec::new(),
            target: Vec::new(),
            link: Vec::new(),
            alert: Vec::new(),
        }
    }
}

/// `[keep]`
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Keep {
    /// How long every sample is kept; default: for ever.
    pub samples: Option<Quantity<Duration>>,
    /// How long a row a second is kept; default: for ever.
    pub seconds: Option<Quantity<Duration>>,
    /// How long a row a minute is kept; default: for ever.
    pub minutes: Option<Quantity<Duration>>,
    /// How long a row an hour, and gaps, are kept; default: for ever.
    pub hours: Option<Quantity<Duration>>,
}

impl Keep {
    /// The same in nanoseconds.
    pub fn retention(&self) -> Retention {
        let nanos = |kept: &Option<Quantity<Duration>>| kept.as_ref().map(|kept| kept.value.as_nanos());
        Retention {
            samples_ns: nanos(&self.samples),
            seconds_ns: nanos(&self.seconds),
            minutes_ns: nanos(&self.minutes),
            hours_ns: nanos(&self.hours),
        }
    }
}

/// `[[site]]`
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Site {
    /// Its name: letters, digits, - and _.
    pub name: String,
    /// Where it is, in words.
    pub place: Option<String>,
    /// Its latitude in degrees, north of the equator.
    #[schemars(range(min = -90.0, max = 90.0))]
    pub latitude: Option<f64>,
    /// Its longitude in degrees, east of Greenwich.
    #[schemars(range(min = -180.0, max = 180.0))]
    pub longitude: Option<f64>,
}

/// `[[target]]`
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Target {
    /// Its name: letters, digits, - and _.
    pub name: String,
    /// How it is asked; default: snmp.
    #[serde(default)]
    pub kind: TargetKind,
    /// What it is: switch, router, host, ...
    pub r#type: Option<String>,
    /// The site where it is.
    pub site: Option<String>,
    /// One or two addresses, the second for when the first does not answer; with a port unless that is 161.
    #[serde(default)]
    pub addresses: Vec<String>,
    /// The folder with the live runs, for kind runs; relative to that of the registry.
    pub folder: Option<PathBuf>,
    /// The community of version 2c, or `file:PATH` of a file that holds it.
    pub community: Option<Secret>,
    /// The user of version 3.
    pub user: Option<User>,
    /// From one question to the next; default: that of the registry.
    #[schemars(extend("least" = "10ms", "most" = "24h"))]
    pub interval: Option<Quantity<Duration>>,
    /// How long it may take for an answer; default: that of the registry.
    #[schemars(extend("least" = "10ms", "most" = "1min"))]
    pub timeout: Option<Quantity<Duration>>,
    /// How often a question is repeated at the same address; default: that of the registry.
    #[schemars(range(max = 10))]
    pub retries: Option<u32>,
    /// Rows of a table that are asked for at once, at most; default: what the target answers in time.
    #[schemars(range(min = 1, max = 1000))]
    pub repetitions: Option<u32>,
    /// The names of the ports to record, with * and ?; default: all.
    #[serde(default = "all")]
    pub ports: Vec<String>,
    /// What is known of ports.
    #[serde(default)]
    pub port: Vec<Port>,
    /// Further counters.
    #[serde(default)]
    pub counter: Vec<Counter>,
}

fn all() -> Vec<String> {
    vec!["*".to_owned()]
}

/// `target.kind`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TargetKind {
    /// By SNMP.
    #[default]
    Snmp,
    /// This host: its interfaces and queue disciplines.
    Local,
    /// Live runs, while they go on: the links of their experiments.
    Runs,
}

/// `[target.user]`
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct User {
    /// Its name.
    pub name: String,
    /// How it proves who it is; default: sha-256.
    #[serde(default)]
    pub authentication: Authentication,
    /// The password of that, or `file:PATH`.
    pub authentication_key: Secret,
    /// How messages are encrypted; default: aes-128.
    #[serde(default)]
    pub privacy: Privacy,
    /// The password of that, or `file:PATH`; default: messages are not encrypted.
    pub privacy_key: Option<Secret>,
    /// The context; default: none.
    pub context: Option<String>,
}

/// `target.user.authentication`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "their names say all")]
pub enum Authentication {
    Md5,
    Sha1,
    #[serde(rename = "sha-224")]
    Sha224,
    #[default]
    #[serde(rename = "sha-256")]
    Sha256,
    #[serde(rename = "sha-384")]
    Sha384,
    #[serde(rename = "sha-512")]
    Sha512,
}

/// `target.user.privacy`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "their names say all")]
pub enum Privacy {
    #[serde(rename = "des")]
    Des,
    #[default]
    #[serde(rename = "aes-128")]
    Aes128,
    #[serde(rename = "aes-192")]
    Aes192,
    #[serde(rename = "aes-256")]
    Aes256,
}

impl Privacy {
    /// Whether the hash of `authentication` is too short for a key.
    fn lacks(self, authentication: Authentication) -> bool {
        use Authentication::{Md5, Sha1, Sha224};
        match self {
            Privacy::Des | Privacy::Aes128 => false,
            Privacy::Aes192 => matches!(authentication, Md5 | Sha1),
            Privacy::Aes256 => matches!(authentication, Md5 | Sha1 | Sha224),
        }
    }
}

/// `[[target.port]]`
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Port {
    /// Its name, as the target names it.
    pub name: String,
    /// From which day on this holds; default: always.
    pub since: Option<Date>,
    /// What it can carry; default: what the target says.
    pub capacity: Option<Quantity<Rate>>,
    /// What hangs on it, in words.
    pub carries: Option<String>,
}

/// `[[target.counter]]`
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Counter {
    /// What it is called in results: letters, digits, - and _.
    pub name: String,
    /// Its object identifier; of a table that of the column.
    pub oid: Oid,
    /// Its unit: octets, cells (of 53 bytes), packets, drops, or another word.
    pub unit: String,
    /// Whether it is a column of a table, of which each row is a port, path or circuit; default: false.
    #[serde(default)]
    pub table: bool,
    /// The column of the table that names the rows; default: rows are named by their index.
    pub names: Option<Oid>,
    /// Whether it counts or holds a value; default: as the type of the answer says.
    pub kind: Option<CounterKind>,
    /// Units that can come in a second; a counter of 32 bits without it cannot be told from one that was reset when it wraps.
    #[schemars(range(min = 1))]
    pub capacity: Option<u64>,
}

/// `target.counter.kind`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CounterKind {
    /// It counts.
    Counter,
    /// It holds a value.
    Gauge,
}

/// `[[link]]`
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Link {
    /// One end: TARGET:PORT.
    pub from: String,
    /// The other end: TARGET:PORT.
    pub to: String,
    /// The day on which it came; default: it was always there.
    pub since: Option<Date>,
    /// The day on which it went; default: it is there.
    pub until: Option<Date>,
    /// What it can carry.
    pub capacity: Option<Quantity<Rate>>,
}

/// `[[alert]]`
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Alert {
    /// Its name: letters, digits, - and _.
    pub name: String,
    /// The targets it is about, with * and ?; default: all.
    #[serde(default = "any")]
    pub target: String,
    /// The ports it is about, with * and ?; default: all.
    #[serde(default = "any")]
    pub port: String,
    /// The counter it is about: `in`, `out`, `in-drops`, ...
    pub counter: String,
    /// Units per second, or the value of a gauge, above which it is raised.
    pub above: Option<f64>,
    /// Units per second, or the value of a gauge, below which it is raised.
    pub below: Option<f64>,
    /// The rate above which it is raised, of octets and cells.
    pub rate_above: Option<Quantity<Rate>>,
    /// The rate below which it is raised, of octets and cells.
    pub rate_below: Option<Quantity<Rate>>,
    /// How long that must last; default: one sample.
    pub lasts: Option<Quantity<Duration>>,
    /// The program to run, and its arguments; it finds what happened in FLOWLOOM_ALERT_* of its environment.
    #[serde(default)]
    pub command: Vec<String>,
    /// The URL to which what happened is sent as JSON.
    pub url: Option<String>,
}

fn any() -> String {
    "*".to_owned()
}

/// A community or key, which nothing prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// It. Of `file:PATH`, what the file holds without the end of its line; paths are relative to `base`.
    ///
    /// # Errors
    /// The file cannot be read; the message does not hold its contents.
    pub fn reveal(&self, base: &Path) -> Result<String, String> {
        let Some(path) = self.0.strip_prefix("file:") else { return Ok(self.0.clone()) };
        let path = base.join(path);
        let bytes = regular::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = String::from_utf8(bytes).map_err(|_| format!("{}: this is not UTF-8", path.display()))?;
        Ok(text.trim_end_matches(['\n', '\r']).to_owned())
    }

    fn is_file(&self) -> bool {
        self.0.starts_with("file:")
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        // What it is instead is not told.
        let text = String::deserialize(deserializer).map_err(|_| de::Error::custom("expected text in quotes"))?;
        Ok(Secret(text))
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

/// A day in UTC, such as 2026-11-27.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(transparent)]
pub struct Date {
    text: String,
    /// Its beginning, in nanoseconds since 1970 UTC.
    #[serde(skip)]
    pub start_ns: u64,
}

impl FromStr for Date {
    type Err = ParseQuantityError;

    fn from_str(text: &str) -> Result<Date, ParseQuantityError> {
        let form = || ParseQuantityError::Form { text: text.to_owned(), expected: "a day", example: "2026-11-27" };
        Ok(Date { text: text.to_owned(), start_ns: date_ns(text).ok_or_else(form)? })
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Written for Date {
    const FORMAT: &'static str = "day";
    const MEANING: &'static str = "a day in quotes";
    const EXAMPLES: &'static [&'static str] = &["2026-11-27"];

    fn pattern() -> String {
        "[0-9]{4}-[0-9]{2}-[0-9]{2}".to_owned()
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Date, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl JsonSchema for Date {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Day".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        flowloom_core::keys::text::<Date>()
    }
}

impl Registry {
    /// Everything that is wrong with it beside what the schema refuses.
    pub fn problems(&self) -> Vec<KeyError> {
        let mut found = Vec::new();
        let sites = names("site", self.site.iter().map(|site| &site.name), &mut found);
        let targets = names("target", self.target.iter().map(|target| &target.name), &mut found);
        names("alert", self.alert.iter().map(|alert| &alert.name), &mut found);
        for (number, target) in self.target.iter().enumerate() {
            let problems = target.problems(self, &sites);
            found.extend(problems.into_iter().map(|error| error.within(format_args!("target[{number}]"))));
        }
        for (number, link) in self.link.iter().enumerate() {
            for (key, end) in [("from", &link.from), ("to", &link.to)] {
                let target = end.split_once(':').filter(|(_, port)| !port.is_empty()).map(|(target, _)| target);
                let problem = match target {
                    None => format!("{end:?} is no end of a link: write TARGET:PORT"),
                    Some(target) if !targets.contains(target) => format!("no target is named {target:?}"),
                    Some(_) => continue,
                };
                found.push(KeyError::saying(format!("link[{number}].{key}"), problem));
            }
            if let (Some(since), Some(until)) = (&link.since, &link.until)
                && since >= until
            {
                found.push(KeyError::saying(format!("link[{number}].until"), "it goes before it comes"));
            }
        }
        for (number, alert) in self.alert.iter().enumerate() {
            found.extend(alert.problems().map(|error| error.within(format_args!("alert[{number}]"))));
        }
        found
    }

    /// The interval of a target.
    pub fn interval_of(&self, target: &Target) -> Duration {
        target.interval.as_ref().unwrap_or(&self.interval).value
    }
}

/// Names, each of which may be there once.
fn names<'a>(table: &str, all: impl Iterator<Item = &'a String>, found: &mut Vec<KeyError>) -> BTreeSet<&'a str> {
    let mut known = BTreeSet::new();
    for (number, name) in all.enumerate() {
        let key = format!("{table}[{number}].name");
        if let Err(error) = named(&format!("a {table}"), &key, name) {
            found.push(error);
        } else if !known.insert(name.as_str()) {
            found.push(KeyError::saying(key, format_args!("there is another {table} {name:?}")));
        }
    }
    known
}

impl Target {
    fn problems(&self, registry: &Registry, sites: &BTreeSet<&str>) -> Vec<KeyError> {
        let mut found = Vec::new();
        if let Some(site) = self.site.as_ref().filter(|site| !sites.contains(site.as_str())) {
            found.push(KeyError::saying("site", format_args!("no site is named {site:?}")));
        }
        match self.kind {
            TargetKind::Snmp => self.snmp_problems(registry, &mut found),
            TargetKind::Local | TargetKind::Runs => {
                let has = [
                    ("addresses", !self.addresses.is_empty()),
                    ("community", self.community.is_some()),
                    ("user", self.user.is_some()),
                    ("counter", !self.counter.is_empty()),
                ];
                let keys = has.into_iter().filter(|(_, has)| *has);
                found.extend(keys.map(|(key, _)| KeyError::new(key, "is a key of SNMP targets")));
            }
        }
        match (self.kind, &self.folder) {
            (TargetKind::Runs, None) => found.push(KeyError::saying("name", "it needs the folder of its runs")),
            (TargetKind::Snmp | TargetKind::Local, Some(_)) => {
                found.push(KeyError::new("folder", "is a key of targets of kind runs"));
            }
            _ => {}
        }
        let interval = registry.interval_of(self);
        if self.kind == TargetKind::Runs && interval < LEAST_RUNS_INTERVAL {
            let least = LEAST_RUNS_INTERVAL.written();
            let problem = format_args!("of {} is too short for runs (at least {least})", interval.written());
            found.push(KeyError::new("interval", problem));
        }
        let mut counters = BTreeSet::new();
        for (number, counter) in self.counter.iter().enumerate() {
            let key = format!("counter[{number}].name");
            if let Err(error) = named("a counter", &key, &counter.name) {
                found.push(error);
            } else if !counters.insert(&counter.name) || crate::ifmib::is_counter(&counter.name) {
                found.push(KeyError::saying(key, format_args!("there is another counter {:?}", counter.name)));
            }
            let is_word = (1..=32).contains(&counter.unit.len())
                && counter.unit.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
            if !is_word {
                let problem = format_args!("{:?} is no unit: give it 1 to 32 small letters or -", counter.unit);
                found.push(KeyError::saying(format!("counter[{number}].unit"), problem));
            }
            if counter.names.is_some() && !counter.table {
                let key = format!("counter[{number}].names");
                found.push(KeyError::saying(key, "only the rows of a table have names: set table = true"));
            }
        }
        if self.ports.is_empty() && self.counter.is_empty() {
            found.push(KeyError::saying("ports", "nothing is recorded of this target"));
        }
        found
    }

    fn snmp_problems(&self, registry: &Registry, found: &mut Vec<KeyError>) {
        if !(1..=2).contains(&self.addresses.len()) {
            let problem = format_args!("{} addresses: give one or two", self.addresses.len());
            found.push(KeyError::saying("addresses", problem));
        }
        for (number, address) in self.addresses.iter().enumerate() {
            if crate::snmp::session::host_and_port(address).is_none() {
                let problem = format_args!("{address:?} is no address: write HOST or HOST:PORT");
                found.push(KeyError::saying(format!("addresses[{number}]"), problem));
            }
        }
        match (&self.community, &self.user) {
            (None, None) => found.push(KeyError::saying("name", "it needs a community or a user")),
            (Some(_), Some(_)) => found.push(KeyError::saying("community", "it has a user as well: give one of them")),
            _ => {}
        }
        if let Some(user) = &self.user {
            let keys =
                [("authentication-key", Some(&user.authentication_key)), ("privacy-key", user.privacy_key.as_ref())];
            let is_short = |key: &Secret| !key.is_file() && key.0.chars().count() < LEAST_KEY;
            for (key, _) in keys.into_iter().filter(|(_, key)| key.is_some_and(is_short)) {
                let problem = format_args!("is too short (at least {LEAST_KEY} characters)");
                found.push(KeyError::new(format!("user.{key}"), problem));
            }
            if user.privacy_key.is_some() && user.privacy.lacks(user.authentication) {
                found.push(KeyError::saying(
                    "user.privacy",
                    "the hash of this authentication is too short for it: use sha-256 or a longer one",
                ));
            }
        }
        let interval = registry.interval_of(self);
        if interval < LEAST_SNMP_INTERVAL {
            let problem = format_args!(
                "of {} is too short for SNMP (at least {})",
                interval.written(),
                LEAST_SNMP_INTERVAL.written()
            );
            found.push(KeyError::new("interval", problem));
        }
    }
}

impl Alert {
    fn problems(&self) -> impl Iterator<Item = KeyError> {
        let bounds = usize::from(self.above.is_some())
            + usize::from(self.below.is_some())
            + usize::from(self.rate_above.is_some())
            + usize::from(self.rate_below.is_some());
        let none = || KeyError::saying("name", "it needs one of above, below, rate-above and rate-below");
        let does_nothing = self.command.is_empty() && self.url.is_none();
        let nothing = || KeyError::saying("name", "it needs a command or a url");
        let is_url = self.url.as_ref().is_none_or(|url| url.starts_with("http://") || url.starts_with("https://"));
        let no_url = || KeyError::saying("url", "write http://... or https://...");
        [(bounds != 1).then(none), does_nothing.then(nothing), (!is_url).then(no_url)].into_iter().flatten()
    }
}

/// Whether `name` is one that `pattern` means: `*` stands for any letters, `?` for one.
pub fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut at, mut of) = (0, 0);
    // Where the last star is, and what was tried behind it.
    let mut star: Option<(usize, usize)> = None;
    while of < name.len() {
        if pattern.get(at) == Some(&'*') {
            star = Some((at, of));
            at += 1;
        } else if pattern.get(at).is_some_and(|letter| *letter == '?' || *letter == name[of]) {
            at += 1;
            of += 1;
        } else if let Some((behind, tried)) = star {
            star = Some((behind, tried + 1));
            at = behind + 1;
            of = tried + 1;
        } else {
            return false;
        }
    }
    pattern[at..].iter().all(|letter| *letter == '*')
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn problems(text: &str) -> Vec<String> {
        toml::from_str::<Registry>(text).unwrap().problems().iter().map(ToString::to_string).collect()
    }

    const TARGET: &str = "[[target]]\nname = \"a\"\naddresses = [\"127.0.0.1\"]\ncommunity = \"public\"\n";

    #[test]
    fn a_small_registry_is_enough() {
        assert_eq!(problems(TARGET), [""; 0]);
        assert_eq!(problems("[[target]]\nname = \"here\"\nkind = \"local\"\ninterval = \"10ms\"\n"), [""; 0]);
        let runs = "[[target]]\nname = \"r\"\nkind = \"runs\"\n";
        assert_eq!(problems(&format!("{runs}folder = \"runs\"\n")), [""; 0]);
        assert_eq!(
            problems(&format!("{runs}interval = \"1s\"\n{TARGET}folder = \"x\"\n")),
            [
                "target[0].name: it needs the folder of its runs",
                "target[0].interval of 1s is too short for runs (at least 2s)",
                "target[1].folder is a key of targets of kind runs"
            ]
        );
    }

    #[test]
    fn all_problems_are_told() {
        let text = format!(
            "interval = \"50ms\"\n{TARGET}site = \"x\"\n[[target.counter]]\nname = \"in\"\noid = \"1.3.6\"\nunit = \"Cells\"\n\
             names = \"1.3.6.1\"\n[[target]]\nname = \"a\"\naddresses = []\n[target.user]\nname = \"u\"\n\
             authentication = \"sha1\"\nauthentication-key = \"hush\"\nprivacy = \"aes-256\"\nprivacy-key = \"hushhush\"\n\
             [[link]]\nfrom = \"a\"\nto = \"b:1\"\nsince = \"2026-01-02\"\nuntil = \"2026-01-01\"\n\
             [[alert]]\nname = \"x\"\ncounter = \"in\"\nabove = 1\nbelow = 2\nurl = \"ftp://x\"\n"
        );
        let found = problems(&text);
        let expected = [
            "target[1].name: there is another target \"a\"",
            "target[0].site: no site is named \"x\"",
            "target[0].interval of 50ms is too short for SNMP",
            "target[0].counter[0].name: there is another counter \"in\"",
            "target[0].counter[0].unit: \"Cells\" is no unit",
            "target[0].counter[0].names: only the rows of a table",
            "target[1].addresses: 0 addresses",
            "target[1].user.authentication-key is too short",
            "target[1].user.privacy: the hash",
            "target[1].interval",
            "link[0].from: \"a\" is no end",
            "link[0].to: no target is named \"b\"",
            "link[0].until: it goes before",
            "alert[0].name: it needs one of",
            "alert[0].url: write http",
        ];
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{found}");
        }
        assert!(!found.concat().contains("hush"));
    }

    #[test]
    fn secrets_are_not_shown() {
        let registry: Registry = toml::from_str(TARGET).unwrap();
        assert!(!format!("{registry:?}").contains("public"));
        let error = toml::from_str::<Registry>(&TARGET.replace("\"public\"", "4711")).unwrap_err();
        assert!(!error.message().contains("4711"), "{error}");
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("key"), "hush\n").unwrap();
        let secret = Secret("file:key".to_owned());
        assert_eq!(secret.reveal(folder.path()), Ok("hush".to_owned()));
        let refused = |name: &str| Secret(format!("file:{name}")).reveal(folder.path()).unwrap_err();
        assert!(refused("none").contains("none: No such file"));
        // Nobody waits for the writer of a FIFO.
        nix::unistd::mkfifo(&folder.path().join("fifo"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert!(refused("fifo").ends_with("fifo: it is not a regular file"));
        fs::write(folder.path().join("bytes"), [0xff, 0xfe]).unwrap();
        assert!(refused("bytes").ends_with("bytes: this is not UTF-8"));
    }

    #[test]
    fn patterns_match_names() {
        for (pattern, name, expected) in [
            ("*", "", true),
            ("eth?", "eth0", true),
            ("eth?", "eth10", false),
            ("ge-*/0", "ge-0/1/0", true),
            ("*a*b", "aab", true),
            ("*a*b", "aba", false),
            ("", "a", false),
            ("a**", "a", true),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }
}
