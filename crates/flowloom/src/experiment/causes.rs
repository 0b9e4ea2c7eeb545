//! What a replay can leave out of its original. The list is that of the schema's keys, so that a new key of `[workload.replay]` is
//! explained as soon as it exists.

use serde_json::Value;

use flowloom_core::keys::walk::{KeyPath, alternatives, schema_at};
use flowloom_report::explain::Cause;

use super::schema::schema;
use crate::error::Error;
use crate::experiment::Experiment;

/// The table whose keys are causes, each by itself.
const REPLAY: &str = "workload.replay";
/// A cause beside them.
const DATAGRAMS: &str = "workload.datagrams";

/// Everything that a replay can leave out of its original: the keys of `[workload.replay]`, and flows of datagrams.
pub fn causes() -> Vec<Cause> {
    let replay = at(REPLAY)["properties"].as_object();
    let keys = replay.into_iter().flat_map(|keys| keys.keys().map(|name| format!("{REPLAY}.{name}")));
    keys.chain([DATAGRAMS.to_owned()]).map(cause).collect()
}

/// The schema of the key at `path`.
fn at(path: &str) -> &'static Value {
    KeyPath::parse(path).and_then(|path| schema_at(schema(), &path)).unwrap_or(&Value::Null)
}

/// The cause that is the key at `key`. Words go from what leaves out most of the original to what leaves out least.
fn cause(key: String) -> Cause {
    let schema = at(&key);
    let words: Vec<&str> = alternatives(schema).filter_map(|word| word["const"].as_str()).collect();
    let (without, with) = match words[..] {
        [least, .., most] => (least, most),
        _ => ("false", "true"),
    };
    let name = key.rsplit('.').next().unwrap_or_default().to_owned();
    Cause { name, without: without.to_owned(), with: with.to_owned(), key }
}

impl Experiment {
    /// The same that replays those of `causes` that `has` accepts, and leaves out the others.
    ///
    /// # Errors
    /// The other keys forbid it.
    pub(crate) fn replaying(self, causes: &[Cause], has: impl Fn(usize) -> bool) -> Result<Experiment, Error> {
        causes.iter().enumerate().try_fold(self, |experiment, (place, cause)| {
            experiment.with(&cause.key, if has(place) { &cause.with } else { &cause.without })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(causes: &[Cause], has: bool) -> Experiment {
        Experiment::default().replaying(causes, |_| has).unwrap()
    }

    #[test]
    fn every_key_of_replay_is_a_cause() {
        let causes = causes();
        let keys = toml::Table::try_from(written(&causes, false).workload.replay).unwrap();
        let mut named: Vec<&str> =
            causes.iter().map(|cause| &*cause.name).filter(|name| *name != "datagrams").collect();
        named.sort_unstable();
        let mut known: Vec<&str> = keys.keys().map(String::as_str).collect();
        known.sort_unstable();
        assert_eq!(named, known);
    }

    /// A switch that had no effect would be a cause that explains nothing.
    #[test]
    fn each_cause_changes_its_key_alone() {
        let causes = causes();
        let all = written(&causes, true);
        for place in 0..causes.len() {
            let without = all.clone().replaying(&causes, |other| other != place).unwrap();
            let Cause { key, with, .. } = &causes[place];
            assert_ne!(without, all, "{key}");
            assert_eq!(without.with(key, with), Ok(all.clone()), "{key}");
        }
    }

    #[test]
    fn words_go_from_least_to_most() {
        let datagrams = causes().pop().unwrap();
        assert_eq!((&*datagrams.without, &*datagrams.with), ("leave-out", "as-seen"));
    }
}
