//! What people write.

use flowloom_core::extract::Prefix;

use crate::experiment::Experiment;
use crate::rules;

/// An experiment file: one that is taken means the same when it is written out and read again.
pub fn experiment(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match Experiment::parse(text, "fuzz.toml") {
        Ok(experiment) => {
            let written = toml::to_string(&experiment).expect("an experiment can be written");
            assert_eq!(Experiment::parse(&written, "again.toml"), Ok(experiment), "{written}");
        }
        Err(failure) => assert!(failure.to_string().starts_with("error: fuzz.toml"), "{failure}"),
    }
}

/// A rules file: one that is taken has rules that can be told in words.
pub fn rules(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match rules::parse(text, "fuzz.toml") {
        Ok(rules) => assert!(rules.iter().all(|rule| rule.to_string().starts_with(rule.metric.name()))),
        Err(failure) => assert!(failure.to_string().starts_with("error: fuzz.toml"), "{failure}"),
    }
}

/// An address prefix, as `--inside` takes it.
pub fn prefix(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let _ = text.parse::<Prefix>();
}
